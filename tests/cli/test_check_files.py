# SPDX-License-Identifier: ISC
"""keyveto check: directories, FIFOs, missing and unreadable files."""

import os
import random
import re
import shutil
import socket
import subprocess
import threading

import sshkey
from check_runs import check, check_all, objects, only
from program import KEYVETO, PATIENCE, contains, equal
from runs import as_nobody, findings, problems
from samples import listing, made, write


def test_a_directory_is_walked_and_hidden_files_are_read(scratch):
    """Links, FIFOs and sockets in a directory are passed over."""
    home, elsewhere = scratch / "home", scratch / "elsewhere"
    keys = [made()[name] for name in ("ed25519", "rsa", "p256", "p384")]
    names = (".ssh/authorized_keys", ".ssh/known_hosts", "a/b/c/.d/key.pub", "id_ecdsa")
    write(home / ".ssh" / "authorized_keys", keys[0].line, "\n")
    write(home / ".ssh" / "known_hosts", f"host {keys[1].plain}\n")
    write(home / "a" / "b" / "c" / ".d" / "key.pub", keys[2].line)
    shutil.copy(keys[3].path, home / "id_ecdsa")
    (home / "empty").mkdir()
    write(elsewhere / "secret.pub", made()["other"].line, "\n")
    (home / "link.pub").symlink_to(elsewhere / "secret.pub")
    (home / "linked").symlink_to(elsewhere)
    (home / "loop").symlink_to(home)
    (home / "dangling").symlink_to("nowhere")
    os.mkfifo(home / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(home / "socket"))
        for root in (f"{home}", f"{home}/"):
            result = check("--all", root, status=0)
            seen = sorted(re.match(r"(\S+): clean: \S+ \d+ (\S+)", line).groups() for line in result.lines)
            equal(seen, sorted((f"{home}/{name}:1", key.fingerprint) for name, key in zip(names, keys)), root)
            equal((result.problems, result.summary["files"]), ([], 4), root)
    # A link given as an argument is followed, to a file and to a directory.
    for name, label in (("link.pub", "link.pub"), ("linked", "linked/secret.pub")):
        contains(check("--all", home / name, status=0).out.decode(), f"{home}/{label}:1: clean: ")


# Files of home directories that hold no key.
NO_KEYS = {
    "text": b"Dear Sir,\nthis is \"a letter.\n-----\n@home\n",
    "numbers": b"2024 11 20 backup done\n1 2 3\n12 34 56 78\n",
    "table": b"a,b,c\n1,2,3\n1 2 3\n4 5 6\n",
    "config": b"Host *\n  HostKeyAlgorithms ssh-rsa\n  PubkeyAcceptedAlgorithms +ssh-rsa,ssh-dss\n  Port 22\n",
    "random": random.Random(5).randbytes(3 << 20),
    "html": b"<html><body class=\"x y\">&nbsp;</body></html>\n",
    "script": b"#!/bin/sh\nset -eu\necho \"$@\" 'x\n",
    "empty": b"", "newline": b"\n",
}


def test_files_without_keys_are_silent_in_a_directory(scratch):
    for name, data in NO_KEYS.items():
        write(scratch / name / "file", data)
        result = check("--all", scratch / name)
        equal((result.status, result.out, result.problems), (0, b"", []), name)
        equal((result.summary["keys"], result.summary["files"]), (0, 1), name)


def test_prose_that_names_key_types_is_silent_in_a_directory(scratch):
    write(scratch / "walked" / "README", "ssh-rsa is old\nuse ssh-ed25519 keys instead\nThe ssh-dss type is gone.\n")
    result = check("--all", scratch / "walked")
    equal((result.status, result.problems), (0, []), "README")
    # A line with a broken key must still be reported.
    for line in (f"ssh-ed25519 {made()['ed25519'].base64[:-3]}", f"no-pty ssh-rsa {made()['rsa'].base64[:200]}"):
        write(scratch / "walked" / "README", line, "\n")
        check("--all", scratch / "walked", status=2)


def test_a_large_file_of_zeros_is_silent_in_a_directory(scratch):
    # A line ends at its first NUL, so this long line is empty.
    write(scratch / "walked" / "image", bytes(3 << 20))
    result = check("--all", scratch / "walked")
    equal((result.status, result.problems), (0, []), "image")


def test_broken_keys_in_a_directory_are_reported(scratch):
    ed = made()["ed25519"]
    path = write(scratch / "walked" / "file", f"{ed.line}\nssh-rsa {ed.base64}\nssh-ed25519 {ed.base64[:-2]}\n",
                 f"2048 35 {2**2047 + 1}\n", sshkey.key_line(sshkey.build_plain("ssh-new", b"")), "\n")
    result = check("--all", scratch / "walked", status=2)
    equal([number for number, _ in problems(result, path)], [2, 3, 4, 5], "problems")
    equal([one.line for one in findings(result, path)], [1], "keys")


def test_directories_too_deep_or_files_gone_do_not_end_the_walk(scratch):
    deep = scratch / "walked"
    for _ in range(80):
        deep = deep / "d"
    write(deep / "key.pub", made()["ed25519"].line)
    write(scratch / "walked" / "z.pub", made()["rsa"].line)
    result = check("--all", scratch / "walked", status=2)
    contains(result.out.decode(), made()["rsa"].fingerprint)
    equal(len(result.problems), 1, f"problems {result.problems}")


def for_anybody(tmp):
    """A copy of the program that every account can run."""
    program = tmp / "keyveto"
    shutil.copy(KEYVETO, program)
    program.chmod(0o755)
    return program


def check_as_nobody(program, *words):
    """Runs keyveto check without privileges: (status, standard output, standard error)."""
    done = subprocess.run(as_nobody(str(program), "check", *map(str, words)), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout.decode("ascii"), done.stderr.decode("ascii")


def test_files_and_directories_that_may_not_be_read_are_problems(scratch):
    program, home = for_anybody(scratch), scratch / "home"
    bad = listing(scratch / "bad.pkbf", made()["ed25519"])
    write(home / "open.pub", made()["ed25519"].line)
    write(home / "secret" / "key.pub", made()["rsa"].line)
    closed = write(home / "closed.pub", made()["p256"].line)
    closed.chmod(0)
    (home / "secret").chmod(0)
    try:
        status, out, err = check_as_nobody(program, "--filter", bad, home)
        equal(status, 1, err)
        contains(out, f"{home}/open.pub:1: listed: ")
        contains(err, f"keyveto: {home}/closed.pub: Permission denied\n",
                 f"keyveto: {home}/secret: Permission denied\n", "2 problems\n")
        for path in (closed, home / "secret", home / "secret" / "key.pub"):
            status, out, err = check_as_nobody(program, "--filter", bad, path)
            equal((status, out), (2, ""), f"{path}: {err}")
            contains(err, f"keyveto: {path}: Permission denied\n")
        status, _, err = check_as_nobody(program, "--filter", closed, home / "open.pub")
        equal(status, 2, err)
        contains(err, str(closed), "Permission denied")
    finally:
        (home / "secret").chmod(0o755)


def test_a_missing_file_is_a_problem_and_the_others_are_checked(scratch):
    ed = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", ed)
    good = write(scratch / "good", ed.line)
    for jobs in (1, 2):
        result = check("--jobs", jobs, scratch / "missing", good, "", scratch / "good" / "x", filters=[bad], status=1)
        equal(len(result.lines), 1, "findings")
        equal(result.problems, [f"{scratch}/missing: No such file or directory", ": No such file or directory",
                                f"{scratch}/good/x: Not a directory"], "problems")
    check(scratch / "missing", status=2)
    row, = objects(check("--json", scratch / "missing", status=2))
    equal((row["file"], row["line"], row["verdict"], row["reason"]),
          (f"{scratch}/missing", 0, "error", "No such file or directory"), "JSON")


def test_a_fifo_that_is_named_is_read(scratch):
    os.mkfifo(scratch / "fifo")
    threading.Thread(target=write, args=(scratch / "fifo", made()["ed25519"].line, "\n"), daemon=True).start()
    equal(only(check_all(scratch / "fifo", status=0)[0], "fifo").fingerprint, made()["ed25519"].fingerprint, "key")
