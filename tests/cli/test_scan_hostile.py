# SPDX-License-Identifier: ISC
"""keyveto scan: what a hostile server can cost it, and how many connections it makes."""

import test_scan
from program import PATIENCE, contains, equal, keyveto, lacks, wait_until
from test_scan import FOUR_TYPES, Server, keys_and_filter, name, offer, sshd

pytestmark = test_scan.pytestmark


def test_a_line_without_end_is_refused_at_once(scratch):
    """keyveto scan does not go on reading until --timeout ends."""
    def talk(connection):
        while True:
            connection.sendall(65536 * b"x")
    _, bad = keys_and_filter(scratch, kinds=FOUR_TYPES[:2])
    with Server(talk) as server:
        done = keyveto("scan", "--filter", bad, "--timeout", PATIENCE, name(server.port), status=2,
                       timeout=2 * PATIENCE)
    contains(done.stderr, f"keyveto: {name(server.port)}: asking which keys it has: ", "1 problem")
    lacks(done.stderr, "no answer within")


def test_scan_makes_one_connection_for_the_list_and_one_for_each_key(scratch):
    identities, bad = keys_and_filter(scratch, kinds=(("ed25519", None), ("ecdsa", 256), ("rsa", 3072)))
    with sshd(scratch, identities) as (port, log):
        done = keyveto("scan", "--all", "--timeout", PATIENCE, "--filter", bad, name(port), status=1)
        # One for the list, three for the keys, and one by which sshd() saw that the server answers.
        wait_until(lambda: log.read_text().count("Connection from") >= 5, "sshd has logged each connection")
        equal(log.read_text().count("Connection from"), 5)
    equal(len(done.stdout.splitlines()), 3)


def test_offers_too_long_to_be_read_are_a_problem(scratch):
    names = b",".join(b"type%d@example.com" % number for number in range(100))
    _, bad = keys_and_filter(scratch, kinds=FOUR_TYPES[:2])
    with Server(offer(names)) as server:
        done = keyveto("scan", "--timeout", PATIENCE, "--filter", bad, name(server.port), status=2)
    contains(done.stderr, "the server offers more algorithms than can be read", "unknown key type type0@example.com")
