# SPDX-License-Identifier: ISC
"""The keys that an AuthorizedKeysCommand of another program prints are judged before a change, where that can be."""

import contextlib
import json
import re
import subprocess
from pathlib import Path

import pytest

import keys
import sshkey
from brake_machine import GUARD, LIST, machine
from private_logins import comes_in, listening, settle
from program import contains, equal, keyveto, lacks
from publisher import fixture_named_list, listing  # noqa: F401 (the fixture)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys", "installed")]

PROGRAM, SERVED = Path("/usr/lib/keys-of-others"), Path("/srv/keys-of-others")
CALLS = SERVED / "calls"
PRINTS = f'cat {SERVED}/keys/"$1"'
CHAIN = f"AuthorizedKeysCommand {GUARD} --user %u --type %t --key %k -- "


@pytest.fixture(name="here")
def fixture_here(scratch):
    with machine(scratch) as made, contextlib.ExitStack() as undo:
        undo.callback(subprocess.run, ["rm", "-rf", PROGRAM, SERVED], check=True)
        (SERVED / "keys").mkdir(parents=True)
        CALLS.touch()
        CALLS.chmod(0o666)
        yield made


def serve(name, *lines):
    (SERVED / "keys" / name).write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def install(body, mode=0o755):
    PROGRAM.write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
    PROGRAM.chmod(mode)


def ask(here, command, user="nobody"):
    here.world.sshd_config("AuthorizedKeysFile none",
                           command if command.startswith("Auth") else f"AuthorizedKeysCommand {command}",
                           f"AuthorizedKeysCommandUser {user}")


def offer(place, *listed):
    place.run(status=0)
    place.publisher.serve(listing(*(sshkey.parse_line(str(key).encode()) for key in listed), source=1, n=1000),
                          "2026-11-02T00:00:00Z")


# In which form sshd has the command.
FORMS = {
    "with an argument": f"{PROGRAM} %u",
    "without arguments": f"{PROGRAM}",
    "behind the guard": f"{CHAIN}{PROGRAM} %u",
    "with other arguments": f"{PROGRAM} %u %h %U %%",
}


@pytest.mark.parametrize("name", ("root", "alice"))
@pytest.mark.parametrize("form", FORMS)
def test_a_key_that_the_command_prints_for_root_or_an_administrator_holds(here, place, name, form):
    """deny, list add, update and enable stop; a user's key stops none but enable's."""
    install(f"{PRINTS}\necho $1 >>{CALLS}")
    here.administrator()
    here.world.account("bob")
    bad = here.world.bad
    for other in ("root", "alice", "bob"):
        serve(other, here.world.clean)
    serve(name, "# comment", f"{bad} laptop")
    ask(here, FORMS[form])
    what = FORMS[form].replace(CHAIN, "")
    place_of_key = f"AuthorizedKeysCommand {what}:2"
    for words in (("deny", bad.fingerprint), ("list", "add", LIST, here.write("bad.pub", bad))):
        contains(here.is_held(*words), f"{name}'s key ({place_of_key}) will be refused: ssh-ed25519 {bad.fingerprint}",
                 f"would refuse a key of {name}")
    offer(place, bad)
    contains(place.run(status=2).trouble, f"{name}'s key ({place_of_key}) will be", "the old one stays in use")
    keyveto("list", "add", "--yes", LIST, here.write("bad.pub", bad), status=0)
    if form != "behind the guard":
        done = keyveto("sshd", "enable", status=1)
        contains(done.stdout + done.stderr, f"{place_of_key}: listed: ", f"would be refused of: {name}\n", "--yes")
        lacks(done.stderr, "nobody can know")
    asked = set(CALLS.read_text(encoding="ascii").split())
    equal(asked, {"root", "alice"})


def test_what_the_command_prints_for_a_user_is_not_asked(here):
    install(f"{PRINTS}\necho $1 >>{CALLS}")
    here.world.account("bob")
    serve("root", here.world.clean)
    serve("bob", here.world.bad)
    ask(here, f"{PROGRAM} %u")
    lacks(keyveto("deny", here.world.bad.fingerprint, status=0).stderr, "bob", "note")
    equal(CALLS.read_text(encoding="ascii"), "root\n")


@pytest.mark.parametrize("user", ("nobody", "root", "%u"))
def test_the_command_runs_as_under_sshd(here, scratch, user):
    """Who it is, what it is told, its folder and its descriptors: compared with a login."""
    facts = '{ id; env | sort; echo "$@"; umask; ls -l /proc/self/fd | sed "s/.* //"; tty; }'
    install(f"{facts} >>{CALLS} 2>&1\necho --- >>{CALLS}\n{PRINTS}")
    other = keys.generate(scratch)
    serve("root", other.key)
    ports = settle()
    ask(here, f"{PROGRAM} %u %h %U a%%b", user)
    with listening(scratch):
        assert comes_in(other, "root", ports[0])
    by_sshd = CALLS.read_text(encoding="ascii").split("---\n")[0]
    CALLS.write_text("", encoding="ascii")
    keyveto("deny", here.world.bad.fingerprint, status=0)
    # Distributions build sshd with a PATH of their own; keyveto's has those of all.
    plain = re.compile(r"/proc/\d+/fd|pipe:\[\d+\]|^(PATH|PWD|OLDPWD|_)=.*\n|^\d+\n", re.MULTILINE)
    mine, theirs = (plain.sub("", one) for one in (CALLS.read_text(encoding="ascii").split("---\n")[0], by_sshd))
    equal(mine, theirs)


# The command's arguments and what it does, and what is said of it.
UNKNOWN = {
    "the key": ("%u %k", PRINTS, "it is asked with more than the account"),
    "a fingerprint": ("%f %u", PRINTS, "it is asked with more than the account"),
    "a type": ("%u %t", PRINTS, "it is asked with more than the account"),
    "quotes": ('"%u"', PRINTS, "keyveto cannot run it as sshd"),
    "a failure": ("%u", f"{PRINTS}; exit 3", "of root: it failed (status 3)"),
    "a signal": ("%u", f"{PRINTS}; kill -9 $$", "of root: it failed (status 9)"),
    "too much": ("%u", "yes", "of root: it failed: File too large"),
    "no end": ("%u", f"{PRINTS}; exec sleep 600", "of root: it failed: Connection timed out"),
    "no program": ("%u", None, "it is not there, or not root's alone"),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_where_nobody_can_know_enable_stops_and_the_brake_goes_on(here, place, what):
    arguments, body, said = UNKNOWN[what]
    if body is not None:
        install(body)
    serve("root", here.world.bad)
    ask(here, f"{PROGRAM} {arguments}")
    sentence = (f"AuthorizedKeysCommand {PROGRAM} {arguments}: {said}", "so nobody can know beforehand which of the "
                "keys it prints would be refused")
    bad = here.write("bad.pub", here.world.bad)
    contains(keyveto("list", "add", LIST, bad, status=0).stderr, *(f"note: {sentence[0]}", sentence[1]))
    offer(place, here.world.bad)
    contains(place.run(status=0).trouble, f"note: {sentence[0]}")
    if body is None:
        return      # sshd does not start a guard in front of what is not there
    done = keyveto("sshd", "enable", status=1)
    contains(done.stderr, *sentence, "go on with --yes")
    # enable also compares what the command prints with and without the guard: one without an end stops that.
    for option in ("--warn", "--yes"):
        keyveto("sshd", "enable", "--dry-run", option, status=2 if what in ("too much", "no end") else 0)
    status = "\n".join(one["found"] for one in json.loads(keyveto("status", "--json").stdout)["checks"])
    equal(f"AuthorizedKeysCommand {PROGRAM} {arguments}: the keys it prints are not judged before a change: "
          in status, "of root" not in said, status)


def test_each_account_is_asked_about_as_its_own_user(here):
    """A Match block that sets the user alone counts, too."""
    install(f"{PRINTS}\necho $1 $(id -un) >>{CALLS}")
    here.administrator()
    ask(here, f"{PROGRAM} %u")
    here.world.sshd_config("Match User alice", "AuthorizedKeysCommandUser root")
    keyveto("deny", here.world.bad.fingerprint, status=0)
    equal(sorted(CALLS.read_text(encoding="ascii").splitlines()), ["alice root", "root nobody"])


def test_a_program_that_others_may_write_is_not_run(here):
    install(f"{PRINTS}\necho $1 >>{CALLS}", 0o777)
    serve("root", here.world.bad)
    ask(here, f"{PROGRAM} %u")
    contains(keyveto("deny", here.world.bad.fingerprint, status=0).stderr, "it is not there, or not root's alone")
    equal(CALLS.read_text(encoding="ascii"), "")


def test_a_command_for_some_clients_is_named_alone(here):
    install(f"{PRINTS}\necho $1 >>{CALLS}")
    serve("root", here.world.bad)
    here.world.sshd_config("Match Address 192.0.2.0/24", f"AuthorizedKeysCommand {PROGRAM} %u",
                           "AuthorizedKeysCommandUser nobody")
    contains(keyveto("deny", here.world.bad.fingerprint, status=0).stderr, "sshd asks it for some clients alone")
    equal(CALLS.read_text(encoding="ascii"), "")
