# SPDX-License-Identifier: ISC
"""keyveto config check: its findings compared with what the guard does."""

import os
import random
import re
from pathlib import Path

import pytest

from config_machine import BAD_LINES, CONFIG, FILTER, FINGERPRINT, FOLDER, GUARD, NOBODY, STATE, World, day
from list_runs import hashes, write_list
from program import attempt, contains, equal, keyveto
from samples import write

pytestmark = pytest.mark.throwaway


def test_the_sample_has_no_findings_and_its_actions_are_printed(scratch):
    """The filters that a login uses are printed, too."""
    world = World(scratch)
    done = keyveto("config", "check", status=0)
    contains(done.stdout, f"{CONFIG}: each key gets a verdict\n", "refused (OnHit deny)", "refused (OnError deny)",
             "let in (OnUnsupported allow)", f"{FILTER}: revision 1, 1 entry\n",
             "AuthorizedKeysFile   .ssh/authorized_keys\n")
    equal(done.stderr, "")
    assert world.lets_in(world.clean) and not world.lets_in(world.leaked)


GOOD_LINES = ("OnHit warn", "onhit DENY", "OnError=allow", "# OnHitt", "", "AllowKey " + FINGERPRINT,
              f"AllowKey {FINGERPRINT} until=2030-12-31 some \"words # here\"", f"Filter {FILTER}",
              "StrictModes no", "Message \"a \\\" b\"", "SyslogFacility LOCAL7", "AuthorizedKeysFile none",
              "AuthorizedKeysFile .ssh/%u /etc/%%", "OnUnsupported deny\r")


def test_every_mistake_is_named_by_its_line(scratch):
    """The guard refuses exactly the texts in which config check finds a mistake."""
    world, rnd = World(scratch), random.Random(1)
    seen = {True: 0, False: 0}
    for _ in range(150):
        lines = [rnd.choice(BAD_LINES if rnd.random() < 0.1 else GOOD_LINES) for _ in range(rnd.randrange(8))]
        wrong = [number for number, line in enumerate(lines, 1) if line in BAD_LINES]
        # The first OnError counts. With deny, the guard's exit status shows whether it had a verdict.
        world.write("\n".join(["OnError deny", *lines]).encode("utf-8") + rnd.choice((b"", b"\n")))
        done = keyveto("config", "check")
        named = [int(n) for n in re.findall(rf"^keyveto: {CONFIG}:(\d+): (?!this )", done.stderr, re.MULTILINE)]
        equal(named, [number + 1 for number in wrong], f"{lines}\n{done.stderr}")
        equal(done.returncode == 2, bool(wrong), f"{lines}\n{done.stderr}")
        verdict = attempt(GUARD, "--config", CONFIG, "--user", "root", "--home", world.home, "--type", world.clean.type,
                          "--key", world.clean.blob, text=False)
        equal(verdict.returncode, 1 if wrong else 0, f"the guard says otherwise of {lines}")
        seen[bool(wrong)] += 1
    assert min(seen.values()) > 30, seen


def test_a_filter_that_a_login_cannot_use_is_named(scratch):
    """The status is 2."""
    world = World(scratch)
    for spoil in (lambda: FILTER.unlink(), lambda: FILTER.write_bytes(FILTER.read_bytes()[:100]),
                  lambda: FILTER.chmod(0o666), lambda: os.chown(FILTER, NOBODY, NOBODY), lambda: STATE.chmod(0o777)):
        good = FILTER.read_bytes()
        spoil()
        done = keyveto("config", "check", status=2)
        contains(done.stderr, str(STATE), "a login has no verdict without this filter")
        contains(done.stdout, "no key gets a verdict, so each login by key is refused (OnError deny)")
        assert not world.lets_in(world.clean)
        FILTER.unlink(missing_ok=True)
        write(FILTER, good).chmod(0o644)
        os.chown(FILTER, 0, 0)
        STATE.chmod(0o755)
    keyveto("config", "check", status=0)


def test_a_list_that_switches_the_default_filter_off_is_told(scratch):
    """The guard shows that the filter is off."""
    world = World(scratch)
    path = write_list(STATE / "own.dat", [(hashes(f"{world.clean}")[0], 1)])
    path.chmod(0o644)
    world.write(f"Blocklist {path}\n")
    done = keyveto("config", "check", status=1)
    contains(done.stderr, f"{CONFIG}: no login consults {FILTER}: with a Blocklist line it needs a line of its own, "
                          f"Filter {FILTER}")
    assert world.lets_in(world.leaked) and not world.lets_in(world.clean)
    world.write(f"Blocklist {path}\nFilter {FILTER}\n")
    equal(keyveto("config", "check", status=0).stderr, "", "with both")
    assert not world.lets_in(world.leaked) and not world.lets_in(world.clean)
    world.write(f"Blocklist {path}\nFilter {FILTER}\nOnProbable warn\nOnProbable deny\n")
    contains(keyveto("config", "check", status=1).stderr, f"{CONFIG}:4: this OnProbable has no effect: line 3 has one")


def test_a_file_that_a_login_does_not_read_is_named(scratch):
    """Its mistakes are named, too."""
    world = World(scratch, "OnError allow\n")
    for spoil in (lambda: CONFIG.chmod(0o666), lambda: os.chown(CONFIG, NOBODY, NOBODY), lambda: FOLDER.chmod(0o777)):
        world.write("OnError allow\n")
        os.chown(CONFIG, 0, 0)
        FOLDER.chmod(0o755)
        keyveto("config", "check", status=1)
        spoil()
        done = keyveto("config", "check", status=2)
        contains(done.stderr, "a login does not read this file")
        contains(done.stdout, "refused (OnError deny)")
        assert not world.lets_in(world.clean)
    FOLDER.chmod(0o755)
    fifo = scratch / "fifo"
    os.mkfifo(fifo)
    contains(keyveto("config", "check", fifo, status=2).stderr, "not a regular file")
    contains(keyveto("config", "check", scratch, status=2).stderr, "directory")
    contains(keyveto("config", "check", scratch / "none", status=2).stderr, "No such file or directory")


def test_a_warning_in_a_file_that_works_is_status_1(scratch):
    world = World(scratch)
    for text, message in (("OnHit warn\n", "OnHit warn: a listed key is let in"),
                          ("OnError allow\n", "OnError allow: listed keys are let in while"),
                          (f"AllowKey {FINGERPRINT} until={day(-1)} x\n",
                           f"{CONFIG}:1: this AllowKey line is past its date"),
                          ("OnHit deny\n\nonhit warn\n",
                           f"{CONFIG}:3: this OnHit has no effect: line 1 has one"),
                          ("Message a b\nMessage a  c\n", f"{CONFIG}:2: this Message has no effect: line 1 has one")):
        world.write(text)
        contains(keyveto("config", "check", status=1).stderr, message)
        assert world.lets_in(world.clean)
    for text in ("OnHit deny\nonhit DENY\n", f"AllowKey {FINGERPRINT} until={day()}\n",
                 f"AllowKey {FINGERPRINT}\n" * 2):
        world.write(text)
        equal(keyveto("config", "check", status=0).stderr, "")


def test_the_user_whom_sshd_runs_the_guard_as_must_be_able_to_read(scratch):
    """AuthorizedKeysCommandUser must be able to read keyveto.conf and the filters."""
    world = World(scratch)
    sshd_config = Path("/etc/ssh/sshd_config")
    good = sshd_config.read_text(encoding="utf-8")
    guard = f"AuthorizedKeysCommand {GUARD} --user %u --type %t --key %k -- /bin/true\n"
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        for settings, concerned in ((f"{guard}AuthorizedKeysCommandUser nobody\n", True),
                                    (f"{guard}AuthorizedKeysCommandUser %u\n", True),
                                    (f"Match User nobody\n{guard}AuthorizedKeysCommandUser nobody\n", True),
                                    (f"{guard}AuthorizedKeysCommandUser root\n"
                                     "Match User nobody\nAuthorizedKeysCommandUser nobody\n", True),
                                    (f"{guard}AuthorizedKeysCommandUser root\n", False),
                                    ("AuthorizedKeysCommand /bin/true\nAuthorizedKeysCommandUser nobody\n", False),
                                    ("", False)):
            sshd_config.write_text(good + settings, encoding="utf-8")
            for path in (FILTER, CONFIG):
                equal(keyveto("config", "check", status=0).stderr, "")
                path.chmod(0o600)
                done = keyveto("config", "check", status=2 if concerned else 0)
                if concerned:
                    contains(done.stderr, f"{path}: Permission denied",
                             "as whom sshd runs the guard: a login has no verdict")
                    assert not world.lets_in(world.clean, **as_nobody)
                # A draft may be readable for root only.
                draft = scratch / "draft"
                write(draft, "OnHit deny\n").chmod(0o600)
                keyveto("config", "check", draft, status=2 if concerned and path is FILTER else 0)
                path.chmod(0o644)
    finally:
        sshd_config.write_text(good, encoding="utf-8")
