# SPDX-License-Identifier: ISC
"""keyveto update sees each way in by which an administrator comes: the real sshd says which there are."""

from pathlib import Path

import pytest

import keys
import sshkey
from audit_machine import CONFIG
from openssh import takes_wildcards
from private_logins import comes_in, listening, settle
from program import contains, equal, lacks
from publisher import fixture_named_list, listing  # noqa: F401 (the fixture)
from sshd_machine import GUARD

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys", "installed")]

GUARD_LINE = f"AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t --key %k"


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
        contains(place.run(status=2).trouble, f"root's key ({there}:1) will be refused: ", world.bad.fingerprint,
                 "the new one would refuse a key of root", "the old one stays in use")
        return
    serve(place, world.bad)
    lacks(place.run("--dry-run", status=0).trouble, "root")


@pytest.mark.parametrize("match", ["Address 192.0.2.0/24", "LocalPort 2222", "RDomain red",
                                   "Address 192.0.2.1 User root"])
def test_a_listed_ca_that_is_trusted_by_origin_holds_the_list(place, world, match):
    ca = Path("/etc/ssh/elsewhere_ca")
    ca.write_text(f"{world.bad}\n", encoding="ascii")
    CONFIG.write_text(f"TrustedUserCAKeys none\nMatch {match}\n TrustedUserCAKeys {ca}\n", encoding="ascii")
    place.update()
    serve(place, world.bad)
    contains(place.run(status=2).trouble, f"CA ({ca}:1) will be refused: ssh-ed25519 {world.bad.fingerprint}",
             "the new one would refuse all certificates of 1 CA in TrustedUserCAKeys")


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
    contains(place.run(status=2).trouble, "too many Match blocks",
             "not all keys that sshd lets in could be compared with the new one")
