# SPDX-License-Identifier: ISC
"""keyveto enable and disable, after somebody took some of keyveto's marks out.

Lines without marks are his own, and stay. Without those that go, sshd must take nobody's keys from other places.
"""

import re
import subprocess

import pytest

import keys
from private_logins import comes_in, listening
from program import contains, equal, lacks
from server import free_port
from sshd_machine import (COMMAND, DROP_IN, GUARD, INCLUDE, TOP, WITH_COMMAND, Image, clean_key, host_key, restored,
                          this_machine)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]

VERBS = {"enable": 2, "disable": 1}         # the exit status of each if it stops
ADVICE = {"enable": "So that keyveto leaves its lines as they are, delete keyveto's marks",
          "disable": "or go on with --yes"}
MINE = "AuthorizedKeysFile .ssh/my_keys\n"
COUNTS, NO_MORE = "would count, which do not now", "would count no more"
BOB = "the keys in .ssh/authorized_keys " + COUNTS


def delete_marks(image, path):
    text = image.read(path)
    image.write(path, "".join(line for line in text.splitlines(keepends=True)
                              if not re.match("# (BEGIN|END) keyveto", line)))


def must_stop(image, verb, *says):
    """Fails unless it stops there and changes nothing: its messages."""
    snapshot = image.snapshot()
    said = image.run(verb, status=VERBS[verb]).stderr
    contains(said, *says, "nothing was changed", ADVICE[verb])
    restored(snapshot, image.snapshot())
    return said


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("criteria", ["User bob", "Address 192.0.2.0/24", "User not-in-the-list", "Group elsewhere"])
def test_a_block_keeps_its_own_files_when_the_guard_stays_by_hand(scratch, verb, criteria):
    """sshd -T is asked about no other address, and about no account that is in no list."""
    image = Image(scratch, f"{INCLUDE}Match {criteria}\n{MINE}")
    image.account("bob", clean_key())
    image.run("enable", status=0)
    delete_marks(image, DROP_IN)
    user, address = criteria.startswith("User") and criteria.split()[1] or "bob", "192.0.2.1"
    before = image.settings(user, address)
    said = must_stop(image, verb, f"{TOP}:3: Match {criteria}: {BOB}",
                     f"(# BEGIN keyveto, # END keyveto), and no line, in: {TOP}")
    equal(f"keyveto: bob: {BOB}\n" in said, criteria == "User bob", said)
    # What the advice leads to.
    delete_marks(image, TOP)
    image.run(verb, status=0)
    equal(image.settings(user, address), before)
    contains(image.read(TOP), "AuthorizedKeysCommand none")


def test_with_yes_disable_goes_on_and_with_dry_run_it_only_tells(scratch):
    image = Image(scratch, f"{INCLUDE}Match User bob\n{MINE}")
    image.account("bob", clean_key())
    config = image.read(TOP)
    image.run("enable", status=0)
    delete_marks(image, DROP_IN)
    snapshot = image.snapshot()
    done = image.run("disable", "--dry-run", status=0)
    contains(done.stderr, f"bob: {BOB}")
    contains(done.stdout, TOP)
    restored(snapshot, image.snapshot())
    contains(image.run("disable", "--yes", status=0).stderr, f"bob: {BOB}")
    equal(image.read(TOP), config)
    contains(image.settings("bob")["authorizedkeyscommand"], GUARD)


@pytest.mark.parametrize("verb", VERBS)
def test_a_block_keeps_the_files_beside_its_own_command(scratch, verb):
    image = Image(scratch, f"{INCLUDE}Match User bob\n{WITH_COMMAND}")
    image.account("bob", clean_key())
    image.run("enable", status=0)
    delete_marks(image, DROP_IN)
    must_stop(image, verb, f"bob: the keys in .ssh/authorized_keys {NO_MORE}", f"{TOP}:3: Match User bob: ")


@pytest.mark.parametrize("verb", VERBS)
def test_a_block_keeps_its_own_files_beside_a_command_that_took_the_guards_place(scratch, verb):
    """With enable, the guard would stand in front of that command, for bob, too."""
    image = Image(scratch, f"{INCLUDE}Match User bob\n{MINE}")
    image.account("bob", clean_key())
    image.run("enable", status=0)
    image.write(DROP_IN, "AuthorizedKeysFile none\n" + WITH_COMMAND)
    must_stop(image, verb, f"bob: the keys of AuthorizedKeysCommand {COMMAND} {COUNTS}")


def test_files_that_the_guard_judges_by_hand_do_not_lose_it_by_enable(scratch):
    """For disable that is what it is there for."""
    image = Image(scratch)
    image.run("enable", "--guard", status=0)
    guard = re.search("(?m)^AuthorizedKeysCommand .*\nAuthorizedKeysCommandUser.*\n", image.read(DROP_IN))[0]
    image.write("/etc/ssh/sshd_config.d/50-mine.conf", guard)
    said = must_stop(image, "enable", "the keys in .ssh/authorized_keys would count without the guard",
                     f"in: {DROP_IN}; then")
    lacks(said, COUNTS, NO_MORE)
    lacks(image.run("disable", status=0).stderr, "would count")


def test_what_an_administrator_wrote_behind_keyvetos_lines_is_named_before_it_counts(scratch):
    image = Image(scratch)
    image.account("carol", clean_key())
    image.run("enable", status=0)
    config = image.read(TOP)
    for line, says in (("AuthorizedKeysFile .ssh/other .ssh/authorized_keys .ssh/authorized_keys2\n",
                        f", and 3 more: the keys in .ssh/other {COUNTS}"),
                       (f"Match User carol\n{MINE}", f"carol: the keys in .ssh/authorized_keys {NO_MORE}"),
                       (f"Match User carol\n{WITH_COMMAND}", f"carol: {BOB}")):
        image.write(TOP, config + line)
        must_stop(image, "disable", says)
    # These change nothing.
    for line in ("AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2\n",
                 f"Match User carol\n{MINE}{WITH_COMMAND}", "Match User carol\nX11Forwarding no\n"):
        image.write(TOP, config + line)
        lacks(image.run("disable", "--dry-run", status=0).stderr, "would count")


@pytest.mark.parametrize("was, by_now, counts", [(COMMAND, f"{COMMAND} %u", True), (COMMAND, "/usr/bin/env", True),
                                                 ("/usr/bin/env", "/usr/bin/env %u", False)])
def test_the_command_behind_the_guard_is_the_one_that_counts_without_it(scratch, was, by_now, counts):
    """To a program without arguments, sshd gives the account's name."""
    files, user = INCLUDE + "AuthorizedKeysFile none\n", "AuthorizedKeysCommandUser nobody\n"
    image = Image(scratch, f"{files}AuthorizedKeysCommand {was}\n{user}")
    image.run("enable", "--yes", status=0)
    image.write(TOP, f"{files}AuthorizedKeysCommand {by_now}\n{user}")
    if counts:
        must_stop(image, "disable", f": the keys of AuthorizedKeysCommand {by_now} {COUNTS}")
    else:
        lacks(image.run("disable", status=0).stderr, "would count")


def test_where_sshd_gives_no_answer_disable_goes_on_and_says_so(scratch):
    image = Image(scratch, f"{INCLUDE}Match User bob\n{MINE}")
    for sshd, odd in ((None, "NoSuchKeyword yes\n"), ("/nowhere/sshd", "")):
        snapshot, config = image.snapshot(), image.read(TOP)
        image.run("enable", status=0)
        image.write(TOP, odd + image.read(TOP))
        words = () if sshd is None else ("--sshd", sshd)
        contains(image.run("disable", *words, status=0).stderr, "was not compared")
        equal(image.read(TOP), odd + config)
        image.write(TOP, config)
        restored(snapshot, image.snapshot())
    # An answer about the one, and none about the other: enable's lines are broken.
    image.run("enable", status=0)
    image.write(DROP_IN, image.read(DROP_IN).replace("AuthorizedKeysCommandUser root\n", ""))
    contains(image.run("disable", status=0).stderr, "was not compared")
    restored(snapshot, image.snapshot())


@pytest.fixture(name="bob")
def fixture_bob(scratch):
    """This machine, with an account that has a key in its own file, and one in a file that does not count for it."""
    port = free_port()
    config = f"{INCLUDE}Port {port}\nListenAddress 127.0.0.1\nMatch User kvt-bob\n{MINE}"
    with this_machine(scratch / "machine", config=config) as machine:
        subprocess.run(["useradd", "--create-home", "--user-group", "--shell", "/bin/sh", "kvt-bob"], check=True)
        machine.path("/home/kvt-bob").chmod(0o755)
        found = {}
        for name in ("my_keys", "authorized_keys"):
            found[name] = keys.generate(scratch)
            machine.write(f"/home/kvt-bob/.ssh/{name}", f"{found[name].key}\n", 0o600)
        subprocess.run(["chown", "-R", "kvt-bob:kvt-bob", "/home/kvt-bob/.ssh"], check=True)

        def who_comes_in():
            with listening(scratch, "-h", host_key()):
                return [name for name, identity in found.items() if comes_in(identity, "kvt-bob", port)]
        yield machine, who_comes_in
        subprocess.run(["userdel", "--force", "--remove", "kvt-bob"], capture_output=True, check=True)


@pytest.mark.parametrize("verb", VERBS)
def test_no_key_gets_in_that_did_not(bob, verb):
    machine, who_comes_in = bob
    equal(who_comes_in(), ["my_keys"])
    machine.run("enable", status=0)
    delete_marks(machine, DROP_IN)
    equal(who_comes_in(), ["my_keys"])
    must_stop(machine, verb, f"kvt-bob: {BOB}")
    equal(who_comes_in(), ["my_keys"])
    delete_marks(machine, TOP)
    machine.run(verb, status=0)
    equal(who_comes_in(), ["my_keys"])


def test_without_the_hold_a_key_gets_in_that_did_not(bob):
    """The test above can fail."""
    machine, who_comes_in = bob
    machine.run("enable", status=0)
    delete_marks(machine, DROP_IN)
    machine.run("disable", "--yes", status=0)
    equal(who_comes_in(), ["my_keys", "authorized_keys"])
