# SPDX-License-Identifier: ISC
"""keyveto check steps over the holes of a sparse file, and says what it says of the same bytes without holes."""

import gzip
import os
import random
import resource
import subprocess

import pytest

from check_runs import pem_blocks
from program import KEYVETO, attempt, keyveto
from samples import MIB, listing, made

STEP = 128 * 1024       # keys/input.c reads so much at once, and twice as much for other threads
LIMIT = 8               # seconds of processor time


def key_line(name="ed25519"):
    return made()[name].line.encode()


def make_sparse(path, pieces):
    """Writes bytes, and for numbers leaves holes of that many."""
    with path.open("wb") as file:
        for piece in pieces:
            if isinstance(piece, int):
                file.seek(piece, os.SEEK_CUR)
            else:
                file.write(piece)
        file.truncate(file.tell())
    return path


def run_check(path, filters, *words, stdin=False):
    argv = [KEYVETO, "check", *words, "--filter", filters, "-" if stdin else path]
    with path.open("rb") as file:
        done = attempt(*argv, text=False, stdin=file if stdin else subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


RUNS = [((), False), (("--all",), False), (("--all", "--json"), True)]


def compare(path, filters):
    """Reads the file, and then the same bytes under the same name without a hole. Returns what was printed."""
    holes = path.stat().st_size - 512 * path.stat().st_blocks
    sparse = [run_check(path, filters, *words, stdin=stdin) for words, stdin in RUNS]
    dense = path.with_name("dense")
    dense.write_bytes(path.read_bytes())
    dense.rename(path)
    assert holes >= MIB > path.stat().st_size - 512 * path.stat().st_blocks, "the file system has no holes"
    assert [run_check(path, filters, *words, stdin=stdin) for words, stdin in RUNS] == sparse
    return sparse[1][1]


def edges():
    """Lengths around those that the reader cuts at."""
    return [base + more for base in (2 * MIB, 2 * MIB + STEP, 2 * MIB + 2 * STEP) for more in (-1, 0, 100)]


@pytest.mark.parametrize("length", edges())
def test_a_key_right_behind_a_hole_is_found(scratch, length):
    filters = listing(scratch / "bad.pkbf", made()["ed25519"])
    path = make_sparse(scratch / "file", [b"# first\n", key_line("rsa") + b"\n", length, key_line() + b"\n",
                                          key_line() + b"\n"])
    out = compare(path, filters)
    assert made()["ed25519"].fingerprint.encode() in out and f"{path}:4: listed:".encode() in out


TEXTS = {
    "hole-alone": [5 * MIB],
    "hole-at-the-end": [b"x\n", 5 * MIB],
    "newline-at-the-end": [3 * MIB, b"\n"],
    "several": [key_line(), 2 * MIB, b"\n", 2 * MIB, key_line(), b"\n", 3 * MIB, b"\n" + key_line("p521")],
    "within-a-key": [key_line()[:40], 2 * MIB, key_line()[40:], b"\n"],
    "json": [b'{"keys": ["', 2 * MIB, b'", "' + key_line() + b'"]}\n'],
    "json-behind": [2 * MIB, b'{"keys": ["' + key_line() + b'"]}\n'],
    "pem": [b"a\n", 2 * MIB, pem_blocks()[0], 2 * MIB],
    "within-pem": [pem_blocks()[0][:60], 2 * MIB, pem_blocks()[0][60:], b"\n" + key_line()],
    "utf-16": ["\ufeff".encode("utf-16-le") + key_line().decode().encode("utf-16-le"), 2 * MIB,
               f"\n{key_line().decode()}\n".encode("utf-16-le")],
    "gzip": [gzip.compress(key_line() + b"\n"), 2 * MIB],
    "gzip-of-a-hole": [gzip.compress(b"\0" * 3 * MIB + key_line()), 2 * MIB],
    "der": [b"\x30\x82\x01\x22", 2 * MIB, key_line()],
    "comment": [key_line() + b" of ", 2 * MIB, b" and\n" + key_line()],
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_hole_in_any_form_is_as_its_nuls(scratch, name):
    compare(make_sparse(scratch / "file", TEXTS[name]), listing(scratch / "bad.pkbf", made()["ed25519"]))


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(8))
def test_holes_at_random(scratch, seed):
    rnd = random.Random(seed)
    pieces = [2 * MIB]
    for _ in range(rnd.randrange(2, 8)):
        pieces.append(rnd.choice([key_line(), b"\n" + key_line() + b"\n", b"x" * rnd.randrange(2 * STEP), b"\n",
                                  b'"' + key_line() + b'",', pem_blocks()[1], rnd.randbytes(rnd.randrange(3000)),
                                  b"A" * rnd.randrange(MIB), b" ", b"{", (key_line() + b"\n") * rnd.randrange(3000)]))
        pieces.append(rnd.choice([rnd.randrange(4 * MIB), rnd.randrange(1, 30) * STEP, MIB, 4096]))
    compare(make_sparse(scratch / "file", pieces), listing(scratch / "bad.pkbf", made()["ed25519"]))


def test_twenty_gigabytes_of_holes_take_no_time(scratch):
    filters = listing(scratch / "bad.pkbf", made()["ed25519"])
    path = make_sparse(scratch / "file", [b"# first\n", 10 << 30, b"\n", 10 << 30, b"\n" + key_line() + b"\n"])
    done = keyveto("check", "--filter", filters, path,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, LIMIT)))
    assert (done.returncode, done.stdout.split(" ")[0]) == (1, f"{path}:4:"), done.stderr


def test_a_pipe_has_no_holes_and_is_read(scratch):
    filters = listing(scratch / "bad.pkbf", made()["ed25519"])
    done = attempt(KEYVETO, "check", "--filter", filters, "-", text=False, input=b"\0" * 3 * MIB + b"\n" + key_line())
    assert (done.returncode, done.stdout.split(b" ")[0]) == (1, b"-:2:"), done.stderr


def test_a_file_that_was_read_in_part_goes_on_there(scratch):
    """Standard input may stand anywhere in a file."""
    filters = listing(scratch / "bad.pkbf", made()["ed25519"])
    path = make_sparse(scratch / "file", [key_line() + b"\n", 5 * MIB, b"\n" + key_line()])
    with path.open("rb") as file:
        os.lseek(file.fileno(), 3 * MIB, os.SEEK_SET)
        done = attempt(KEYVETO, "check", "--filter", filters, "-", text=False, stdin=file)
    assert done.stdout.count(b"listed:") == 1 and done.stdout.startswith(b"-:2: "), done.stdout
