# SPDX-License-Identifier: ISC
"""keyveto update sees each way in by which an administrator comes: the real sshd says which there are."""

import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import keys
import sshkey
from audit_machine import CONFIG
from openssh import has_dsa, takes_wildcards
from private_logins import comes_in, listening, settle
from program import contains, equal, lacks
from publisher import ListPlace, listing
from sshd_machine import GUARD

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys", "installed")]

GUARD_LINE = f"AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t --key %k"


@pytest.fixture(name="place")
def fixture_place(scratch):
    made = ListPlace(scratch)
    made.config.write_text(f"Blocklist {made.target}\n", encoding="utf-8")
    yield made
    made.close()


@pytest.fixture(name="bad")
def fixture_bad(scratch, world):
    """The identity of the key that the new list has."""
    made = keys.generate(scratch)
    world.bad = made.key
    return made


def serve(place, *listed):
    """Has a list in use, and serves one that has these keys, too."""
    place.update()
    made = [sshkey.parse_line(str(key).encode()) for key in listed]
    place.publisher.serve(listing(*made, source=1, n=1000), "2026-11-02T00:00:00Z")


def of_root(world, name, *lines):
    path = world.folder / "root" / name
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return path


# Each gives root the key in "there", or does not.
ORIGINS = {
    "address": ["Match Address 127.0.0.2", " AuthorizedKeysFile there"],
    "address-of-nobody": ["Match Address 127.0.0.2 User nobody", " AuthorizedKeysFile there"],
    "all-but-an-address": ["Match Address *,!127.0.0.1", " AuthorizedKeysFile there"],
    "local-port": ["Match LocalPort {other}", " AuthorizedKeysFile there"],
    "local-address": ["Match LocalAddress 127.0.0.3", " AuthorizedKeysFile there"],
    "host": ["Match Host 127.0.0.2", " AuthorizedKeysFile there"],
    "with-user": ["Match User r*t Address 127.0.0.2", " AuthorizedKeysFile there"],
    "with-another-user": ["Match User *,!root Address 127.0.0.2", " AuthorizedKeysFile there"],
    "with-group": ["Match Address 127.0.0.2 Group roo?", " AuthorizedKeysFile there"],
    "with-another-group": ["Match Group *,!root Address 127.0.0.2", " AuthorizedKeysFile there"],
    "equals-signs": ["match user=root address=127.0.0.2", "\tauthorizedkeysfile=there"],
    "quotes": ['Match User "root" Address "127.0.0.2"', ' AuthorizedKeysFile "there"'],
    "after-one-that-always-matches": ["Match User root", " AuthorizedKeysFile .ssh/authorized_keys",
                                      "Match Address 127.0.0.2", " AuthorizedKeysFile there"],
    "after-one-that-never-matches": ["Match User nobody", " AuthorizedKeysFile .ssh/authorized_keys",
                                     "Match Address 127.0.0.2", " AuthorizedKeysFile there"],
    "hidden-from-this-machine": ["AuthorizedKeysFile there", "Match Address 127.0.0.1,127.0.0.3",
                                 " AuthorizedKeysFile .ssh/authorized_keys"],
    "a-later-block-hidden-from-this-machine": ["Match Address 127.0.0.1,127.0.0.3", " AuthorizedKeysFile none",
                                               "Match User root", " AuthorizedKeysFile there"],
    "several-files": ["Match Address 127.0.0.2", " AuthorizedKeysFile .ssh/authorized_keys %h/there"],
    "included": ["Match Address 127.0.0.2", " Include /etc/ssh/inner"],
    "all": ["Match all", " AuthorizedKeysFile there"],
    "guard": ["Match Address 127.0.0.2", " AuthorizedKeysFile none", f" {GUARD_LINE} --file there",
              " AuthorizedKeysCommandUser root"],
    "guard-with-its-configuration": [
        "Match Address 127.0.0.2", " AuthorizedKeysFile none", f" {GUARD_LINE} --config /etc/keyveto/there.conf",
        " AuthorizedKeysCommandUser root"],
    "guard-of-all-with-files-by-origin": [
        "AuthorizedKeysFile none", f"{GUARD_LINE} --file .ssh/authorized_keys", "AuthorizedKeysCommandUser root",
        "Match LocalPort {other}", " AuthorizedKeysFile there"],
    "no-keys-at-all": ["Match Address 127.0.0.2", " AuthorizedKeysFile none"],
}
if not takes_wildcards():
    # OpenSSH 10.6 refuses the line.
    ORIGINS["none-beside-a-file"] = ["Match Address 127.0.0.2", " AuthorizedKeysFile none there"]


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", ORIGINS)
def test_a_list_is_held_if_root_comes_in_with_its_key_from_anywhere(place, world, bad, scratch, name):
    of_root(world, ".ssh/authorized_keys", world.clean)
    there = of_root(world, "there", world.bad)
    # Else only libnss_systemd knows it, which a keyveto of another architecture cannot load.
    world.append("/etc/group", "root:x:0:")
    Path("/etc/ssh/inner").write_text("Match User root\n AuthorizedKeysFile there\n", encoding="ascii")
    Path("/etc/keyveto/keyveto.conf").write_text("OnError allow\n", encoding="ascii")
    Path("/etc/keyveto/there.conf").write_text("OnError allow\nAuthorizedKeysFile there\n", encoding="ascii")
    ports = settle(*ORIGINS[name], ports=2)
    with listening(scratch):
        came = {(client, server, port) for port in ports for client in ("127.0.0.1", "127.0.0.2")
                for server in ("127.0.0.1", "127.0.0.3") if comes_in(bad, "root", port, client, server)}
    if came:
        serve(place, world.bad)
        contains("\n".join(place.run(status=2).problems),
                 f"{there}:1: root's key {world.bad.fingerprint} is newly listed",
                 "the new one would refuse a key of root", "the old one stays in use")
        return
    serve(place, world.bad)
    lacks("\n".join(place.run("--dry-run", status=0).problems), "root")


@pytest.mark.parametrize("match", ["Address 192.0.2.0/24", "LocalPort 2222", "RDomain red",
                                   "Address 192.0.2.1 User root"])
def test_a_listed_ca_that_is_trusted_by_origin_holds_the_list(place, world, match):
    ca = Path("/etc/ssh/elsewhere_ca")
    ca.write_text(f"{world.bad}\n", encoding="ascii")
    CONFIG.write_text(f"TrustedUserCAKeys none\nMatch {match}\n TrustedUserCAKeys {ca}\n", encoding="ascii")
    place.update()
    serve(place, world.bad)
    contains("\n".join(place.run(status=2).problems), f"{ca}:1: CA {world.bad.fingerprint} is newly listed",
             "the new one would refuse all certificates of 1 CA in TrustedUserCAKeys")


def test_a_key_that_works_from_elsewhere_is_no_other_way_in_here(place, world, scratch):
    """alice comes from everywhere with one key, and from 192.0.2.0/24 with another one; one of them is listed."""
    alice, other = world.account("alice"), keys.generate(scratch).key
    world.append("/etc/group", "wheel:x:29999:alice")
    CONFIG.write_text("Match Address 192.0.2.0/24\n AuthorizedKeysFile there\n", encoding="ascii")
    serve(place, world.bad)
    for here, there, held in (([world.bad], [other], True), ([other], [world.bad], True),
                              ([world.bad, other], [world.bad, other], False), ([world.bad, other], [other], False)):
        alice.authorize(*here)
        alice.write("there", *there)
        messages = "\n".join(place.run("--dry-run", status=2 if held else 1).problems)
        equal("would refuse the last key of alice" in messages, held, f"{here} {there}\n{messages}")


def test_the_audit_shows_the_keys_of_files_by_origin_once(world):
    tom, ann = world.account("tom"), world.account("ann")
    for account in (tom, ann):
        account.authorize(world.clean)
        account.write("there", world.bad)
    CONFIG.write_text("Match Address 192.0.2.0/24 User tom\n AuthorizedKeysFile .ssh/authorized_keys there\n"
                      "Match Address 198.51.100.0/24 User tom\n AuthorizedKeysFile there\n", encoding="ascii")
    findings, summaries, errors = world.findings(status=1)
    equal([(one["account"], one["file"], one["verdict"]) for one in findings if "account" in one],
          [("tom", str(tom.keys_path), "clean"), ("tom", f"{tom.home}/there", "listed"),
           ("ann", str(ann.keys_path), "clean")])
    equal((summaries["tom"]["keys"], summaries["tom"]["files"], summaries["ann"]["keys"]), (2, 2, 1))
    contains(errors, "note: Match blocks of sshd's configuration test where a client connects from")


def test_too_many_blocks_by_origin_count_as_unjudged(place, world):
    of_root(world, ".ssh/authorized_keys", world.clean)
    place.update()
    CONFIG.write_text("".join(f"Match Address 192.0.2.{i}\n AuthorizedKeysFile there{i}\n" for i in range(20)),
                      encoding="ascii")
    place.publisher.serve(listing(n=1000, seed=5), "2026-11-02T00:00:00Z")
    contains("\n".join(place.run(status=2).problems), "too many Match blocks",
             "not all keys that sshd lets in could be compared with the new one")


# --- the last key -----------------------------------------------------------------

def in_days(days):
    return (datetime.now() + timedelta(days=days)).strftime("%Y%m%d")


# Options of the other key: whether it counts although sshd lets it in (None: as sshd does).
OPTIONS = {
    "": None,
    f'expiry-time="{in_days(-2)}"': None,
    f'expiry-time="{in_days(400)}"': None,
    f'expiry-time="{in_days(400)}1200Z"': None,
    f'expiry-time="{in_days(2)}"': False,
    'expiry-time="nonsense"': None,
    'command="/bin/true"': None,
    'command="/bin/echo",pty': None,
    "restrict": None,
    "restrict,pty": None,
    "Restrict,PTY,agent-forwarding": None,
    "pty,restrict": None,
    "no-pty": None,
    "no-pty,pty": None,
    ",no-agent-forwarding,,no-X11-forwarding": None,
    'from="192.0.2.1"': None,
    'from="127.0.0.1"': None,
    'from="*"': None,
    'from="*",from="*"': None,
    'from="192.0.2.1,*"': None,
    'from="*,!127.0.0.2"': None,
    "cert-authority": None,
    'principals="root"': False,
    'environment="A=b"': None,
    'environment="A"': None,
    "no-such-option": None,
    "no-restrict": None,
    'from=*': None,
}


def holds(place):
    messages = "\n".join(place.run("--dry-run").problems)
    return "the new one would refuse the last key of alice, who is in a group of HoldIfRefused" in messages, messages


def enters(other, scratch, ports):
    with listening(scratch):
        return all(comes_in(other, "alice", ports[0], client) for client in ("127.0.0.1", "127.0.0.2"))


@pytest.fixture(name="alice")
def fixture_alice(world, place):
    made = world.account("alice")
    world.append("/etc/group", "wheel:x:29999:alice")
    serve(place, world.bad)
    return made


@pytest.mark.long
def test_the_last_key_is_the_last_that_sshd_lets_in_to_a_shell(place, world, alice, scratch):
    other = keys.generate(scratch)
    ports = settle()
    with listening(scratch):
        for options, counts in OPTIONS.items():
            alice.authorize(world.bad, f"{options} {other.key}")
            came = all(comes_in(other, "alice", ports[0], client) for client in ("127.0.0.1", "127.0.0.2"))
            held, messages = holds(place)
            equal(held, not came if counts is None else not counts, f"{options}: {came}\n{messages}")


def days_since_1970(days):
    return (datetime.now() - datetime(1970, 1, 1)).days + days


# sshd_config, and the rest of alice's line in /etc/shadow.
SETTINGS = {
    "nothing": ([], None),
    "another-type": (["PubkeyAcceptedAlgorithms -ssh-ed25519"], None),
    "this-type": (["PubkeyAcceptedAlgorithms ssh-ed25519"], None),
    "patterns-of-types": (["PubkeyAcceptedAlgorithms ssh-*"], None),
    "denied": (["DenyUsers bob al?ce"], None),
    "denied-from-somewhere": (["DenyUsers alice@127.0.0.2"], None),
    "another-denied": (["DenyUsers bob root@*"], None),
    "allowed": (["AllowUsers bob al*"], None),
    "allowed-from-everywhere": (["AllowUsers alice@*"], None),
    "allowed-from-somewhere": (["AllowUsers alice@127.0.0.1"], None),
    "another-allowed": (["AllowUsers bob"], None),
    "group-denied": (["DenyGroups whee?"], None),
    "group-allowed": (["AllowGroups nobody", "AllowGroups wheel"], None),
    "another-group-allowed": (["AllowGroups nobody"], None),
    "no-keys": (["PubkeyAuthentication no"], None),
    "two-keys-needed": (["AuthenticationMethods publickey,publickey"], None),
    "one-key-needed": (["AuthenticationMethods hostbased publickey"], None),
    "expired": ([], f"x:{days_since_1970(-400)}:0:99999:7::{days_since_1970(-1)}:"),
    "not-expired": ([], f"x:{days_since_1970(-400)}:0:99999:7::{days_since_1970(30)}:"),
    "locked": ([], f"!:{days_since_1970(-400)}:0:99999:7:::"),
    "denied-in-a-block": (["Match User alice", " PubkeyAuthentication no"], None),
    "another-denied-in-a-block": (["Match User bob", " PubkeyAuthentication no"], None),
    "denied-by-origin": (["Match Address 127.0.0.2", " PubkeyAuthentication no"], None),
    "denied-by-origin-in-another-block": (["Match Address 127.0.0.2 User bob", " DenyUsers alice"], None),
}


# Here sshd refuses alice's listed key already, so that a list takes nothing from her.
CLOSED = {"denied", "another-allowed", "group-denied", "another-group-allowed"}


@pytest.mark.sample(12)
@pytest.mark.parametrize("name", SETTINGS)
def test_the_last_key_of_who_may_log_in(place, world, alice, scratch, name):
    lines, rest = SETTINGS[name]
    shadow = Path("/etc/shadow")
    kept = shadow.read_bytes()
    other = keys.generate(scratch)
    ports = settle(*lines)
    alice.authorize(world.bad, other.key)
    try:
        if rest is not None:
            world.append(shadow, f"alice:{rest}")
        came = enters(other, scratch, ports)
        held, messages = holds(place)
    finally:
        shadow.write_bytes(kept)
    assert not (came and name in CLOSED)
    equal(held, not came and name not in CLOSED, messages)


@pytest.mark.long
def test_the_last_key_of_who_has_no_shell(place, world, alice, scratch):
    passwd = Path("/etc/passwd")
    other = keys.generate(scratch)
    ports = settle()
    alice.authorize(world.bad, other.key)
    text = passwd.read_text(encoding="utf-8")
    for shell in ("/bin/sh", "/usr/sbin/nologin", "/nonexistent", ""):
        passwd.write_text(text.replace(f"{alice.home}:/bin/sh", f"{alice.home}:{shell}"), encoding="utf-8")
        came = enters(other, scratch, ports)
        held, messages = holds(place)
        equal(held, not came, f"{shell}\n{messages}")


@pytest.mark.long
def test_a_key_of_a_kind_that_sshd_refuses_is_no_other_way_in(place, world, alice, scratch):
    made = [("rsa", 2048, [], True), ("rsa", 2048, ["PubkeyAcceptedAlgorithms -rsa-sha2-*,ssh-rsa"], False),
            ("rsa", 2048, ["RequiredRSASize 3072"], False), ("rsa", 2048, ["RequiredRSASize 2048"], True),
            ("ecdsa", 256, ["PubkeyAcceptedAlgorithms rsa-sha2-*"], False)]
    if has_dsa():
        made += [("dsa", None, [], False), ("dsa", None, ["PubkeyAcceptedAlgorithms +ssh-dss"], True)]
    for kind, bits, lines, enough in made:
        other = keys.generate(scratch, kind, bits)
        ports = settle(*lines)
        alice.authorize(world.bad, other.key)
        equal(enters(other, scratch, ports), enough, f"{kind} {lines}")
        held, messages = holds(place)
        equal(held, not enough, f"{kind} {lines}\n{messages}")


def test_a_key_in_a_file_that_sshd_refuses_is_no_other_way_in(place, world, alice, scratch):
    other = keys.generate(scratch)
    ports = settle()
    alice.authorize(world.bad)
    for mode in (0o600, 0o666):
        alice.write(".ssh/authorized_keys2", other.key, mode=mode)
        came = enters(other, scratch, ports)
        equal(came, mode == 0o600)
        held, messages = holds(place)
        equal(held, not came, messages)


@pytest.mark.long
def test_a_revoked_key_is_no_other_way_in(place, world, alice, scratch):
    """In RevokedKeys as a file of keys or as a KRL, or if that cannot be read."""
    kinds = {kind: keys.generate(scratch, kind, bits)
             for kind, bits in (("ed25519", None), ("rsa", 2048), ("ecdsa", 256))}
    stranger = keys.generate(scratch).key
    krl, text = scratch / "krl", scratch / "revoked"
    for kind, other in kinds.items():
        alice.authorize(world.bad, other.key)
        for name, listed in (("none", []), ("text", [stranger]), ("text", [stranger, other.key]), ("krl", [stranger]),
                             ("krl", [stranger, other.key]), ("missing", [])):
            if name == "text":
                text.write_text("# ours\n" + "".join(f"{key} somebody\n" for key in listed), encoding="ascii")
            elif name == "krl":
                krl.unlink(missing_ok=True)
                subprocess.run(["ssh-keygen", "-q", "-k", "-f", krl, *(key.path for key in listed)], check=True)
            path = {"none": "none", "text": text, "krl": krl, "missing": scratch / "missing"}[name]
            ports = settle(f"RevokedKeys {path}")
            came = enters(other, scratch, ports)
            equal(came, name != "missing" and other.key not in listed, f"{kind} {name} {listed}")
            held, messages = holds(place)
            # If it cannot be read, sshd refuses the listed key already.
            equal(held, not came and name != "missing", f"{kind} {name} {listed}\n{messages}")


def test_a_certificate_in_a_file_lets_nobody_in(place, world, alice, scratch):
    other = keys.certify(keys.generate(scratch), keys.generate(scratch), "alice")
    ports = settle()
    alice.authorize(world.bad, other.certificate)
    equal(enters(other, scratch, ports), False)
    held, messages = holds(place)
    equal(held, True, messages)


def test_who_had_no_proper_way_in_before_keeps_what_there_was(place, world, alice):
    """A key that counts for no other way in is still the last one; one that was listed before holds nothing up."""
    settle()
    alice.authorize(f'command="/bin/true" {world.bad}')
    equal(holds(place)[0], True)
    place.run("--yes", status=1)
    place.publisher.serve(listing(sshkey.parse_line(str(world.bad).encode()), source=1, n=1100),
                          "2026-11-03T00:00:00Z")
    contains(place.update(), "updated, ")
