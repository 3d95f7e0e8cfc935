# SPDX-License-Identifier: ISC
"""Every way to log in with a key, in every deployment: the table of README.md."""

from dataclasses import dataclass
from pathlib import Path

import pytest

import keys
import server
from kinds import EXACT_LIST

pytestmark = pytest.mark.throwaway

STOPPED, NOT_SEEN, CLEAN_KEY = "stopped", "not seen", "in, by the clean key"

# Substitutes for an administrator's helpers: one prints an account's keys, one its principals.
LIST_KEYS = 'cat "/home/$1/.ssh/authorized_keys"'
LIST_PRINCIPALS = 'echo "$1"'

HOST_KEYS = {"ed25519": "ssh-ed25519", "ecdsa": "ecdsa-sha2-nistp256"}


@dataclass
class Route:
    """One way in, prepared for an account.

    Each entry of refused has what the client offers, the listed public key, and which part of the offer that key is.
    """
    clean: object
    refused: list
    options: tuple = ()
    keys_command: Path = None
    principals_command: Path = None
    method: str = "publickey"


# The deployments. Each adds keyveto, with this configuration, to a route.

def guard(config, route):
    command = f"{route.keys_command} %u" if route.keys_command else ""
    return server.guard(config, command=command).adding(*route.options, *_principals_behind_guard(config, route))


def _principals_behind_guard(config, route):
    if not route.principals_command:
        return ()
    return (f"AuthorizedPrincipalsCommand {server.GUARD} --config {config} --user %u --type %t --key %k"
            f" -- {route.principals_command} %u", "AuthorizedPrincipalsCommandUser root")


def pam_session(config, route):
    return server.pam_session(config).adding(*_without_guard(route))


def pam_auth(config, route):
    return server.pam_auth(config, route.method).adding(*_without_guard(route))


def _without_guard(route):
    options = list(route.options)
    for keyword, command in (("AuthorizedKeysCommand", route.keys_command),
                             ("AuthorizedPrincipalsCommand", route.principals_command)):
        if command:
            options += [f"{keyword} {command} %u", f"{keyword}User root"]
    if route.keys_command:
        options.append("AuthorizedKeysFile none")
    return options


DEPLOYMENTS = {"guard": guard, "PAM session": pam_session, "PAM auth": pam_auth}


# The ways in.

def keys_file(bench, account):
    clean, listed = bench.key(), bench.key()
    account.authorize(clean.key, listed.key)
    return Route(clean, [(listed, listed.key, "key")])


def keys_command(bench, account):
    route = keys_file(bench, account)
    route.keys_command = bench.script(LIST_KEYS)
    return route


def cert_authority_line(bench, account):
    route, authorities = _certificates(bench, account)
    account.authorize(*(f"cert-authority {ca}" for ca in authorities))
    return route


def trusted_ca(bench, account):
    route, authorities = _certificates(bench, account)
    trusted = bench.write("cas", "".join(f"{ca}\n" for ca in authorities))
    route.options = (f"TrustedUserCAKeys {trusted}",)
    return route


def trusted_ca_principals(bench, account):
    route = trusted_ca(bench, account)
    route.principals_command = bench.script(LIST_PRINCIPALS)
    return route


def _certificates(bench, account):
    ca, listed_ca, listed = bench.key(), bench.key(), bench.key()
    route = Route(keys.certify(ca, bench.key(), account.name), [
        (keys.certify(ca, listed, account.name), listed.key, "key"),
        (keys.certify(listed_ca, bench.key(), account.name), listed_ca.key, "ca"),
    ])
    return route, [ca.key, listed_ca.key]


class HostIdentity:
    """A client whose host authenticates with its host key of one kind."""

    def __init__(self, kind):
        self.key = keys.PublicKey(f"/etc/ssh/ssh_host_{kind}_key.pub")
        self.options = ["-o", "HostbasedAuthentication=yes", "-o", "PubkeyAuthentication=no",
                        "-o", "EnableSSHKeysign=yes", "-o", f"HostbasedAcceptedAlgorithms={HOST_KEYS[kind]}",
                        "-o", "PreferredAuthentications=hostbased,keyboard-interactive"]


def hostbased(_bench, account):
    clean, listed = HostIdentity("ed25519"), HostIdentity("ecdsa")
    # The client of these tests is root on the host 127.0.0.1.
    account.write(".shosts", "127.0.0.1 root\n")
    account.write(".ssh/known_hosts", f"127.0.0.1 {clean.key}\n127.0.0.1 {listed.key}\n")
    return Route(clean, [(listed, listed.key, "key")], method="hostbased",
                 options=("HostbasedAuthentication yes", "IgnoreRhosts no"))


WAYS = {
    "AuthorizedKeysFile": keys_file,
    "AuthorizedKeysCommand": keys_command,
    "cert-authority line": cert_authority_line,
    "TrustedUserCAKeys": trusted_ca,
    "TrustedUserCAKeys and AuthorizedPrincipalsCommand": trusted_ca_principals,
    "hostbased": hostbased,
}

# sshd shows the key of these ways to neither deployment.
UNSEEN = {("TrustedUserCAKeys", "guard"), ("hostbased", "guard")}


def must_be_stopped(bench, sshd, account, offered, listed, part):
    """The login fails, and the log names this key."""
    bench.must_not_enter(bench.login(sshd, account, *offered), f"a listed {part} must stay out")
    decision = bench.decision(account, verdict="listed", key_fp=listed.fingerprint)
    assert decision.action == "deny" and decision.part == part, f"wrong log line: {decision}"


def try_route(bench, prepare, deploy, seen):
    """A clean key gets in. A listed key is refused, or gets in if the deployment does not see it."""
    account = bench.account()
    route = prepare(bench, account)
    config = bench.config(listed=[key for _, key, _ in route.refused])
    sshd = bench.server(deploy(config, route))
    bench.must_enter(bench.login(sshd, account, route.clean), "a clean key must get in")
    bench.must_be_silent(account)
    for identity, listed, part in route.refused:
        if seen:
            must_be_stopped(bench, sshd, account, [identity], listed, part)
        else:
            bench.must_enter(bench.login(sshd, account, identity), "this deployment should not see the key of this way")
            bench.must_be_silent(account)
    return STOPPED if seen else NOT_SEEN


def listed_first(bench, deploy):
    """A client that offers a listed key before a clean one."""
    account = bench.account()
    clean, listed = bench.key(), bench.key()
    account.authorize(clean.key, listed.key)
    sshd = bench.server(deploy(bench.config(listed=[listed]), Route(clean, [])))
    if deploy is guard:
        bench.must_enter(bench.login(sshd, account, listed, clean), "the clean key is enough")
        bench.decision(account, verdict="listed", key_fp=listed.key.fingerprint)
        return CLEAN_KEY
    # sshd has accepted the first key, so the client does not offer the second.
    must_be_stopped(bench, sshd, account, [listed, clean], listed.key, "key")
    return STOPPED


def clean_first(bench, deploy):
    """A client that offers a clean key before a listed one."""
    account = bench.account()
    clean, listed = bench.key(), bench.key()
    account.authorize(clean.key, listed.key)
    sshd = bench.server(deploy(bench.config(listed=[listed]), Route(clean, [])))
    bench.must_enter(bench.login(sshd, account, clean, listed), "the clean key is enough")
    bench.must_be_silent(account)
    return CLEAN_KEY


def both_required(bench, deploy):
    """sshd requires two keys. Each of them is judged."""
    account = bench.account()
    clean, other, listed = bench.key(), bench.key(), bench.key()
    account.authorize(clean.key, other.key, listed.key)
    methods = "publickey,publickey"
    options = () if deploy is pam_auth else (f"AuthenticationMethods {methods}",)
    route = Route(clean, [], options=options, method=methods)
    sshd = bench.server(deploy(bench.config(listed=[listed]), route))
    bench.must_enter(bench.login(sshd, account, clean, other), "two clean keys must get in")
    bench.must_be_silent(account)
    for offered in ([listed, clean], [clean, listed]):
        must_be_stopped(bench, sshd, account, offered, listed.key, "key")
    return STOPPED


SEVERAL_KEYS = {
    "two keys offered, listed first": listed_first,
    "two keys offered, clean first": clean_first,
    "two keys required, one listed": both_required,
}


# Each test is a cell of the table, which shows what it returns. conftest.py prints the table.

CELLS = [(way, name) for name in DEPLOYMENTS for way in (*WAYS, *SEVERAL_KEYS)]
every_cell = pytest.mark.parametrize("way, name", CELLS, ids=[f"{way} x {name}" for way, name in CELLS])


def try_cell(bench, way, name):
    deploy = DEPLOYMENTS[name]
    if way in WAYS:
        return try_route(bench, WAYS[way], deploy, (way, name) not in UNSEEN)
    return SEVERAL_KEYS[way](bench, deploy)


@every_cell
def test_ways_in(bench, record_property, way, name):
    record_property("words", try_cell(bench, way, name))


@every_cell
@pytest.mark.parametrize("bench", [EXACT_LIST], indirect=True)
def test_ways_in_with_an_exact_list_alone(bench, way, name):
    try_cell(bench, way, name)
    decisions = [one for account in bench.accounts for one in bench.log.decisions(account)]
    found = {(bool(one.list), one.source, one.filter) for one in decisions}
    assert found <= {(True, "badkeys", None)}, f"not by the list: {decisions}"
