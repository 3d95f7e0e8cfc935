# SPDX-License-Identifier: ISC
"""RSA keys of others are tested by a process that has nothing: of why, audit and scan by keyveto-worker.

test_walls.py tells how a process that an attacker has taken over is played. Hostile programs are in the place of
keyveto-worker, too.
"""

import os
import pty
import random
import re
import subprocess
import threading
import time

import pytest

import weak_keys
from hostile import each_user, put_worker
from program import attempt, contains, copy_programs, equal, keyveto, lacks, on_a_machine
from samples import empty_filter, write
from test_walls import FAST_CLOCK, MARK, fixture_exploit, is_printable, no_asan, preload  # noqa: F401 (the fixture)


# It has a file in memory that nobody reads again.
HARMLESS = {("keyveto-worker", "writes elsewhere"), ("keyveto-worker", "asks for paths")}


def marked_key():
    """A key whose modulus has the mark and no factor below 1000."""
    rnd = random.Random(1)
    while True:
        n = int.from_bytes(MARK + rnd.randbytes(256 - len(MARK)), "big") | 1
        if all(n % small for small in range(2, 1000)):
            return weak_keys.key("marked", n)


@each_user
def test_tests_of_moduli_that_are_taken_over_have_no_power(exploit, user):
    key = write(exploit.folder / "key.pub", f"{marked_key().line}\n")
    could, names, done = exploit.run("why", "--filter", exploit.filters(), key, user=user)
    equal(names, {"keyveto-worker"}, done)
    assert could <= HARMLESS, done


@pytest.mark.long
@no_asan
@on_a_machine
def test_tests_of_moduli_of_an_audit_have_no_power(exploit, world):
    world.folder.chmod(0o755)
    alice = world.account("alice")
    (world.folder / "home").chmod(0o755)
    alice.authorize(marked_key().line, weak_keys.weak()[0][1].line)
    could, names, done = exploit.run("audit", "--filter", world.filter, "--user", "alice")
    equal(names, {"keyveto-worker"}, done)
    assert could <= HARMLESS, done


@pytest.mark.long
def test_why_names_what_is_wrong_with_a_key(scratch):
    for source, key in weak_keys.weak():
        done = keyveto("why", "--filter", empty_filter(), write(scratch / "key.pub", f"{key.line}\n"), status=0)
        contains(done.stdout, "Anybody computes its private half", f"{source}\n")
        equal(done.stderr, "")
    done = keyveto("why", "--filter", empty_filter(), write(scratch / "key.pub", f"{weak_keys.sound()[2].line}\n"),
                   status=0)
    contains(done.stdout, "No filter and no list has this key")


# The file has one modulus, 0, and one exponent, 1 among what is tested.
FOUND = "def found(i, kind, *more): tell(16, number(i), number(kind), *more)\n"
FACTOR, PRIME, SQUARE, FERMAT, ROCA, SMALL_D = range(1, 7)
PROGRESS = "while True: tell(15, text('x'), number(0), number(1), number(2))"
REFUSED = {
    "says nothing": "",
    "ends with a status": "hello(); sys.exit(2)",
    "is killed": "hello(); os.kill(os.getpid(), signal.SIGKILL)",
    "is killed behind an answer": f"hello(); found(0, {PRIME}); os.kill(os.getpid(), signal.SIGKILL)",
    "opens a file": "hello(); opened(b'/etc/passwd')",
    "sends half an answer": "hello(); tell(16, number(0)); answer()",
    "sends more than an answer": f"hello(); found(0, {PRIME}, b'x'); answer()",
    "finds nothing": "hello(); found(0, 0); answer()",
    "finds an unknown class": "hello(); found(0, 7); answer()",
    "finds a huge class": f"hello(); found(0, {(1 << 32) + PRIME}); answer()",
    "finds a private exponent of a modulus": f"hello(); found(0, {SMALL_D}); answer()",
    "finds a prime of an exponent": f"hello(); found(1, {PRIME}); answer()",
    "finds more than was asked": f"hello(); found(2, {PRIME}); answer()",
    "finds one twice": f"hello(); found(0, {PRIME}); found(0, {SQUARE}); answer()",
    "finds them in disorder": f"hello(); found(1, {SMALL_D}); found(0, {PRIME}); answer()",
    # There is no terminal: it is asked for no progress.
    "tells of progress for ever": f"hello()\n{PROGRESS}",
}


@pytest.fixture(name="hostile")
def fixture_hostile(scratch):
    """Runs why on a key with a long exponent."""
    program = copy_programs(scratch)
    path = write(scratch / "file", f"{weak_keys.sound()[2].line}\n")

    def run(says):
        put_worker(scratch / "keyveto-worker", f"{FOUND}{says}\n")
        return attempt(program, "why", "--filter", empty_filter(), path, text=False)
    return run


@pytest.mark.sample(5)
@pytest.mark.parametrize("says", REFUSED.values(), ids=REFUSED)
def test_answers_that_no_test_gives_are_an_error(hostile, says):
    done = hostile(says)
    equal(done.returncode, 2, done)
    assert re.search(rb"^keyveto: [^\n]*/file:1: the worker [^\n]*\n\Z", done.stderr, re.MULTILINE), done
    equal(done.stdout, b"")


@pytest.mark.parametrize("says, source", ((f"found(0, {PRIME})", "rsa-prime"), (f"found(1, {SMALL_D})", "rsa-small-d"),
                                          (f"found(0, {PRIME}); found(1, {ROCA})", "rsa-roca"),
                                          (f"found(1, {FACTOR})", "rsa-factor")))
def test_what_it_finds_is_told(hostile, says, source):
    """It may lie about the keys that it tests, and about nothing else."""
    done = hostile(f"hello(); {says}")
    equal(done.returncode, 0, done)
    contains(done.stdout.decode(), f"{source}\n", "Anybody computes its private half")
    assert is_printable(done.stdout) and is_printable(done.stderr), done


def why_on_a_terminal(scratch, says, **options):
    """What why says whose worker does what the lines say, and its status."""
    program = copy_programs(scratch)
    put_worker(scratch / "keyveto-worker", f"hello()\n{says}\n")
    path = write(scratch / "file", f"{weak_keys.sound()[2].line}\n")
    terminal, other = pty.openpty()
    said = []
    reading = threading.Thread(target=lambda: said.extend(iter(lambda: os.read(terminal, 1 << 16), b"")), daemon=True)
    reading.start()
    done = attempt(program, "why", "--filter", empty_filter(), path, text=False, stdout=subprocess.DEVNULL,
                   stderr=other, **options)
    os.write(other, b"the end")
    while b"the end" not in b"".join(said)[-100:]:
        time.sleep(0.01)
    return b"".join(said), done.returncode


@no_asan
@pytest.mark.parametrize("says", (PROGRESS, "while True: os.write(2, b'x\\n')"), ids=("progress", "messages"))
def test_a_task_that_talks_for_ever_is_ended_after_a_day(scratch, says):
    """On a terminal, where it may tell of progress."""
    said, status = why_on_a_terminal(scratch, says, env=preload(scratch, FAST_CLOCK))
    contains(said[-1000:].decode(), "file:1: the worker was interrupted")
    equal(status, 2)


def test_progress_that_draws_is_an_error(scratch):
    said, status = why_on_a_terminal(scratch, "tell(15, text(b'a\\x1b[2J'), number(0), number(1), number(2)); answer()")
    contains(said.decode(), "file:1: the worker says what it never says")
    equal((status, b"\x1b[2J" in said), (2, False))


@on_a_machine
def test_an_audit_whose_tests_fail_names_nothing(world, scratch):
    program = copy_programs(scratch)
    put_worker(scratch / "keyveto-worker", f"{FOUND}hello(); found(0, {PRIME}); sys.exit(2)\n")
    world.account("alice").authorize(weak_keys.weak()[0][1].line)
    config = write(scratch / "keyveto.conf", f"Filter {world.filter}\n")
    done = attempt(program, "audit", "--config", config)
    equal(done.returncode, 2, done)
    contains(done.stderr, "keyveto: the moduli cannot be tested: the worker could not do it\n")
    lacks(done.stdout, "listed")
