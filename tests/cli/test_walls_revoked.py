# SPDX-License-Identifier: ISC
"""RevokedKeys, a list or a KRL that somebody made, are read by a process that has nothing.

test_walls.py tells how a process that an attacker has taken over is played; here it is keyveto-worker. Of a KRL it is
ssh-keygen with the walls that test_walls_keygen.py plays. Hostile programs are in the worker's place, too.
"""

import json
import os
import subprocess

import pytest

from hostile import put_worker
from program import PATIENCE, copy_programs, equal
from sshd_machine import INCLUDE, TOP, leaked_key, this_machine
from test_sshd_enable import already_refused
from test_walls import MARK, fixture_exploit, no_asan  # noqa: F401 (the fixture)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]

DRY = ("sshd", "enable", "--dry-run", "--json")


@pytest.fixture(name="revoked")
def fixture_revoked(scratch):
    """This machine with an account whose listed key RevokedKeys have. Yields that file."""
    if os.geteuid() != 0:
        pytest.fail("this test needs root, who has most to lose")
    with this_machine(scratch) as machine:
        subprocess.run(["useradd", "--create-home", "--user-group", "kvt-gone"], check=True)
        try:
            machine.write("/home/kvt-gone/.ssh/authorized_keys", f"{leaked_key()}\n", 0o600)
            subprocess.run(["chown", "-R", "kvt-gone:kvt-gone", "/home/kvt-gone"], check=True)
            machine.path("/home/kvt-gone").chmod(0o755)
            machine.write(TOP, INCLUDE + already_refused(scratch, machine, "a list"))
            yield machine.path("/etc/ssh/revoked")
        finally:
            subprocess.run(["userdel", "--remove", "kvt-gone"], check=False, capture_output=True)


def stops(done):
    """Whether enable stops for the account's sake."""
    plan = json.loads(done.stdout.splitlines()[-1])["refused"]
    equal(plan["unchanged"], [] if plan["stops"] else ["kvt-gone"], done.stderr)
    return plan["stops"]


@no_asan
def test_a_parser_of_revoked_keys_that_is_taken_over_has_no_power(revoked, exploit):
    revoked.write_bytes(b"# " + MARK + b"\n" + revoked.read_bytes())
    could, names, done = exploit.run(*DRY)
    equal(names, {"keyveto-worker"}, done)
    # Its descriptors are a file in memory and one that is open for reading.
    equal(could, set(), done)
    equal(stops(done), False)


ANSWERS = {
    "it is not": ("hello(); tell(16, number(0))", True),
    "it is": ("hello(); tell(16, number(1))", False),
    "it is not known": ("hello(); tell(16, number(2))", True),
    "nothing": ("hello()", True),
    "more": ("hello(); tell(16, number(1), b'x')", True),
    "no answer": ("hello(); tell(16, number(3))", True),
    "it twice": ("hello(); tell(16, number(1)); tell(16, number(1))", True),
    "it is, and fails": ("hello(); tell(16, number(1)); sys.exit(2)", True),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("says, expected", ANSWERS.values(), ids=ANSWERS)
def test_where_a_worker_says(revoked, scratch, says, expected):
    """Without an answer the key may come in, so enable stops."""
    assert revoked.exists()
    (scratch / "programs").mkdir()
    program = copy_programs(scratch / "programs")
    put_worker(scratch / "programs/keyveto-worker", says)
    done = subprocess.run([program, *DRY], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=PATIENCE, text=True)
    equal(stops(done), expected)
