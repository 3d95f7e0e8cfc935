# SPDX-License-Identifier: ISC
"""keyveto scan: what servers may cost it, and what it costs them.

    python3 tests/cli/test_scan_hostile.py [TITLE-PART...]
"""

import os
import sys
from pathlib import Path

import cases
from cases import PATIENCE, case, contains, equal, keyveto, lacks, run_in_sandbox, wait_until
from test_scan import FOUR_TYPES, Server, fixture, name, offer, sshd


def test_a_line_without_end_is_refused_at_once(scratch):
    """Nobody reads it until the time is over."""
    def talk(connection):
        while True:
            connection.sendall(65536 * b"x")
    _, bad = fixture(scratch, kinds=FOUR_TYPES[:2])
    with Server(talk) as server:
        done = keyveto("scan", "--filter", bad, "--timeout", PATIENCE, name(server.port), status=2, timeout=2 * PATIENCE)
    contains(done.stderr, f"keyveto: {name(server.port)}: asking which keys it has: ", "1 problem")
    lacks(done.stderr, "no answer within")


def test_a_key_is_a_connection_and_so_is_the_question_which_there_are(scratch):
    identities, bad = fixture(scratch, kinds=(("ed25519", None), ("ecdsa", 256), ("rsa", 3072)))
    with sshd(scratch, identities) as (port, log):
        done = keyveto("scan", "--all", "--timeout", PATIENCE, "--filter", bad, name(port), status=1)
        # The first one only waited for sshd to answer.
        wait_until(lambda: log.read_text().count("Connection from") >= 5, "sshd has logged each connection")
        equal(log.read_text().count("Connection from"), 5)
    equal(len(done.stdout.splitlines()), 3)


def test_offers_too_long_to_be_read_are_a_problem(scratch):
    names = b",".join(b"type%d@example.com" % number for number in range(100))
    _, bad = fixture(scratch, kinds=FOUR_TYPES[:2])
    with Server(offer(names)) as server:
        done = keyveto("scan", "--timeout", PATIENCE, "--filter", bad, name(server.port), status=2)
    contains(done.stderr, "the server offers more algorithms than can be read", "unknown key type type0@example.com")


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[2])
    cases._cases.clear()    # those of test_scan  # pylint: disable=protected-access
    for title, function in list(globals().items()):
        if title.startswith("test_"):
            case(title)(function)
    sys.exit(run_in_sandbox(needs_root=False))
