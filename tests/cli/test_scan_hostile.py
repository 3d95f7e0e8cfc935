# SPDX-License-Identifier: ISC
"""keyveto scan: what a hostile server can cost it, and how many connections it makes."""

import shlex
import struct

import test_scan
from program import NETWORK, PATIENCE, attempt, contains, copy_programs, equal, keyveto, lacks, make_library, wait_until
from samples import write
from test_scan import fingerprints, keys_and_filter, name, offer, packet, problem_of, sshd, string

pytestmark = test_scan.pytestmark


def test_a_line_without_end_is_refused_at_once(scratch):
    """keyveto scan does not go on reading until --timeout ends."""
    def talk(connection):
        while True:
            connection.sendall(65536 * b"x")
    done, host = problem_of(scratch, talk, timeout=2 * PATIENCE)
    contains(done.stderr, f"keyveto: {host}: asking which keys it has: ", "1 problem")
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
    done, _ = problem_of(scratch, offer(names))
    contains(done.stderr, "the server offers more algorithms than can be read", "unknown key type type0@example.com")


REWORDED = """
/* For LD_PRELOAD: a libssh whose log says nothing. */
int ssh_set_log_callback(void *callback) { (void)callback; return 0; }
"""


def test_without_libsshs_list_every_type_is_asked_for(scratch):
    """All keys are found, one problem says why there is no list, and each type takes one connection."""
    identities, bad = keys_and_filter(scratch, kinds=(("ed25519", None), ("ecdsa", 256), ("rsa", 3072)))
    (scratch / "reworded.c").write_text(REWORDED)
    library = scratch / "reworded.so"
    make_library(library, scratch / "reworded.c")
    program = copy_programs(scratch)
    # keyveto gives no such variable to the programs that it starts.
    write(scratch / "keyveto-network", f"#!/bin/sh\nexport LD_PRELOAD={shlex.quote(str(library))} "
                                       "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0\n"
                                       f"exec {shlex.quote(str(NETWORK))}\n").chmod(0o755)
    with sshd(scratch, identities) as (port, log):
        done = attempt(program, "scan", "--all", "--timeout", PATIENCE, "--filter", bad, name(port))
        equal(done.returncode, 1, done.stderr)
        # One for each of the eight types (libssh may lack DSA), and one by which sshd() saw that the server answers.
        wait_until(lambda: log.read_text().count("Connection from") >= 8, "sshd has logged each connection")
        assert log.read_text().count("Connection from") <= 9, log.read_text()
    equal(fingerprints(done.stdout), sorted(one.key.fingerprint for one in identities))
    contains(done.stderr, f"keyveto: {name(port)}: asking which keys it has: ", "3 keys of 1 server", "1 problem\n")


def test_a_server_that_sends_us_away_gets_one_connection(scratch):
    """It is not asked for the other types."""
    connections = []

    def talk(connection):
        connections.append(connection)
        connection.recv(4096)
        connection.sendall(b"SSH-2.0-made-up\r\n" +
                           packet(b"\x01" + struct.pack(">I", 11) + string(b"go") + string(b"")))
        connection.recv(4096)
    problem_of(scratch, talk)
    equal(len(connections), 1)
