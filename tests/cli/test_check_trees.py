# SPDX-License-Identifier: ISC
"""keyveto check of trees of many small files: any number of threads, and few system calls."""

import base64
import collections
import gzip
import hashlib
import json
import lzma
import os
import random
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import sshkey
from check_runs import check, mixed_text
from program import KEYVETO, equal, mount_namespace
from runs import as_nobody
from samples import ed25519_line, empty_filter, listing, made, write

NAMES = ("authorized_keys", "config", "known_hosts", "id_ed25519.pub", "a b", "-", "\n", "\x1b[m", "\u00e4", "z" * 200)
JOBS = (2, 3, 16)


def odd_file(rnd, path, line):
    """Writes a file, or something else: the numbers of the lines where it has the key."""
    kind = rnd.randrange(24)
    text = b"".join(line if rnd.randrange(3) else b"# no key\n" for _ in range(rnd.randrange(6)))
    if kind == 0:
        path.symlink_to(rnd.choice(("/etc/passwd", "..", "nowhere")))
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.touch()
    elif kind == 3:     # larger than what a worker reads
        text = (text or line) * rnd.choice((700, 3000))
        path.write_bytes(text)
    elif kind == 4:     # much larger, unpacked
        text = (text or line) * rnd.choice((1, 10, 2000))
        path.write_bytes(rnd.choice((gzip.compress, lzma.compress))(text))
    elif kind == 5:     # many findings
        text = line * 1100
        path.write_bytes(text)
    else:
        path.write_bytes(text)
    if kind in (0, 1, 2):
        return []
    return [number for number, one in enumerate(text.split(b"\n"), 1) if one + b"\n" == line]


def random_tree(rnd, root, line):
    """The (path, line) of every key, in the order of the names' bytes."""
    found = []
    folders = [(root, 0)]
    while folders:
        folder, depth = folders.pop()
        folder.mkdir()
        names = {f"{rnd.choice(NAMES)}{rnd.choice(('', rnd.randrange(30)))}" for _ in range(rnd.randrange(12))} - {"-"}
        for name in names:
            if depth < 3 and rnd.randrange(4) == 0:
                folders.append((folder / name, depth + 1))
            else:
                found += [((folder / name), number) for number in odd_file(rnd, folder / name, line)]
    found.sort(key=lambda one: ([os.fsencode(part) for part in one[0].parts], one[1]))
    return found


def shown(path):
    """A path as keyveto prints it."""
    return "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02x}" for byte in os.fsencode(path))


@pytest.mark.parametrize("seed", range(6))
def test_any_number_of_jobs_finds_the_same_in_a_random_tree(scratch, seed):
    """Every key where it was put, in the order of the names, once."""
    rnd = random.Random(f"tree {seed}")
    bad = made()["ed25519"]
    listed = listing(scratch / "bad.pkbf", bad)
    wanted = random_tree(rnd, scratch / "tree", bad.line.encode() + b"\n")
    one = check(scratch / "tree", filters=[listed])
    places = [re.match(r"(.*):(\d+): listed: ", line).groups() for line in one.lines]
    equal(one.status, 1 if wanted else 0, "status")
    equal(places, [(shown(path), f"{number}") for path, number in wanted], "places")
    for words in (("--json",), ("--all",)):
        one = check(*words, scratch / "tree", filters=[listed])
        for jobs in JOBS:
            same = check(*words, "--jobs", jobs, scratch / "tree", filters=[listed])
            assert (same.out, same.err, same.status) == (one.out, one.err, one.status), f"{words} --jobs {jobs}"


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(4))
def test_any_number_of_jobs_gives_the_same_problems(scratch, seed):
    """Files of every form of line, and folders and files that nobody may read."""
    rnd = random.Random(f"problems {seed}")
    for number in range(200):
        path = write(scratch / "tree" / f"{rnd.randrange(12)}" / f"{rnd.randrange(4)}" / f"{number}",
                     mixed_text(rnd, rnd.choice((0, 200, 4000, 200_000))))
        if rnd.randrange(8) == 0:
            path.chmod(0)
        if rnd.randrange(20) == 0:
            path.parent.chmod(rnd.choice((0, 0o100, 0o644)))
    write(scratch / "named", mixed_text(rnd, 3000))
    paths = [scratch / "tree", scratch / "named", scratch / "missing", scratch / "tree"]
    scratch.chmod(0o755)
    for words in ((), ("--all", "--json")):
        runs = [subprocess.run(as_nobody(KEYVETO, "check", *words, f"--jobs={jobs}", "--filter", empty_filter(),
                                         *paths),
                               capture_output=True, check=False) for jobs in (1, *JOBS)]
        for jobs, done in zip((1, *JOBS), runs):
            assert (done.stdout, done.stderr, done.returncode) == (runs[0].stdout, runs[0].stderr, 2), f"{jobs} jobs"
    if os.geteuid() == 0:
        assert b"Permission denied" in runs[0].stderr


@pytest.mark.parametrize("most", (64, 128))
def test_more_jobs_than_files_may_be_open(scratch, most):
    """Each file is in a directory of its own, which stays open until it is read; 50 above them are open, too."""
    lines = [ed25519_line(bytes([number % 256, 1 + number // 256] * 16)).encode() for number in range(600)]
    deep = scratch / "/".join("d" * 50)
    for number, line in enumerate(lines):
        write(deep / f"{number}" / "key.pub", line, b"\n")
    done = check("--jobs", 256, scratch, status=0,
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
    equal((done.summary["clean"], done.problems), (600, []), "keys")


def peak_memory(jobs, listed, tree):
    """In KiB, and what it printed. A small process starts it: a child's count starts at its parent's memory."""
    spawn = ("import os, resource, sys\n"
             "pid = os.fork() or os.execv(sys.argv[1], sys.argv[1:])\n"
             "sys.stderr.write(f'{os.wait4(pid, 0)[2].ru_maxrss}')")
    done = subprocess.run([sys.executable, "-ISc", spawn, KEYVETO, "check", "--jobs", f"{jobs}", "--filter",
                           listed, tree], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    return int(done.stderr.rpartition(b"\n")[2]), done.stdout + done.stderr.rpartition(b"\n")[0]


def test_memory_does_not_grow_with_what_is_found(scratch):
    """A key causes a message with a long path: 60 MB for 30 small files. Workers may not keep them all."""
    bad = made()["ed25519"]
    listed = listing(scratch / "bad.pkbf", bad)
    deep = scratch / "tree" / "/".join(["d" * 250] * 8)
    for number in range(30):
        write(deep / f"{number}" / "keys", f"{bad.line}\n" * 1000)
    (one, printed), (many, same) = (peak_memory(jobs, listed, scratch / "tree") for jobs in (1, 16))
    assert len(printed) > 60_000_000
    assert printed == same
    # Each worker has a buffer of 1 MiB, and a stack.
    assert many < one + 40 * 1024, f"{one} KiB, {many} KiB with --jobs 16"


def test_a_device_that_is_mounted_on_a_file_is_not_opened(scratch):
    """The directory calls it a file. A file that is mounted on something else is read."""
    line = made()["ed25519"].line
    write(scratch / "below", line, "\n")
    for name in ("file", "device", "fifo"):
        (scratch / "tree").mkdir(exist_ok=True)
        (os.mkfifo if name == "fifo" else Path.touch)(scratch / "tree" / name)
    script = """
        mount --bind /dev/full tree/device
        mount --bind below tree/file
        mount --bind below tree/fifo
        exec strace -f -qq -e trace=open,openat,openat2 -o log "$@"
    """
    for jobs in ("1", "2"):
        done = subprocess.run([*mount_namespace(), "sh", "-euc", script, "sh", KEYVETO, "check", "--json", "--all",
                               "--jobs", jobs, "--filter", empty_filter(), "tree"], cwd=scratch, capture_output=True,
                              check=False, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        seen = [json.loads(one)["file"] for one in done.stdout.splitlines()]
        equal((done.returncode, seen), (0, ["tree/fifo", "tree/file"]), done.stderr.decode())
        opened = re.findall(r'"device".*= (.*)', (scratch / "log").read_text(encoding="latin-1"))
        assert not [result for result in opened if not result.startswith("-1 ")], f"{opened}"


def test_files_and_folders_that_vanish_meanwhile(scratch):
    """No deadlock, and no message but of what was still there."""
    script = ('while test ! -e "$2"; do rm -rf "$1"; mkdir -p "$1"/a/b "$1"/c; echo x >"$1"/a/b/f; echo x >"$1"/c/f; '
              "done")
    end = scratch / "end"
    for number in range(50):
        write(scratch / "tree" / f"{number}" / "f", made()["ed25519"].line)
    with subprocess.Popen(["sh", "-c", script, "sh", scratch / "tree" / "5x", end], stderr=subprocess.DEVNULL):
        try:
            for _ in range(20):
                done = check("--jobs", 4, scratch / "tree")
                equal((done.status, done.problems, done.summary["clean"]), (0, [], 50), "result")
        finally:
            # Not by a signal: what the shell has started then would go on.
            end.touch()


def test_a_reader_that_goes_away_ends_it(scratch):
    line = made()["ed25519"].line
    for number in range(3000):
        write(scratch / "tree" / f"{number}", f"{line}\n" * 10)
    with subprocess.Popen([KEYVETO, "check", "--all", "--jobs", "4", "--filter", empty_filter(), scratch / "tree"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() != 0


def calls(*words):
    """How often keyveto made each system call, by strace."""
    log = words[-1].parent / "calls"
    done = subprocess.run(["strace", "-f", "-qq", "-o", log, KEYVETO, *words], capture_output=True, check=False,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    equal(done.returncode, 0, done.stderr.decode())
    names = re.findall(r"^\d+ +(\w+)\(", Path(log).read_text(encoding="latin-1"), re.MULTILINE)
    return collections.Counter(names)


def test_a_small_file_takes_few_system_calls(scratch):
    """Two fstat, open and close here; read and close in the reader. A key of known_hosts takes one more there."""
    rnd = random.Random(3)
    kinds = ((ed25519_line(rnd.randbytes(32)), 6), (f"host {ed25519_line(rnd.randbytes(32))}", 7))
    for number, (line, most) in enumerate(kinds):
        counts = []
        for files in (10, 110):
            tree = scratch / f"{number}-{files}"
            for name in range(files):
                write(tree / f"{name}", line, "\n")
            counts.append(calls("check", "--filter", empty_filter(), tree))
        more = counts[1] - counts[0]
        for name in ("brk", "mmap", "munmap", "futex"):     # of the allocator, and its build
            del more[name]
        # Up to 64 files are handed over at a time.
        assert more.total() <= 100 * most + 20, f"{more}"
        # AddressSanitizer reads /proc, not each time as often.
        assert abs(more["read"] - 100) <= 10 and more["pread64"] <= 10, f"{more}"


def test_any_number_of_jobs_finds_the_keys_of_private_files_and_known_hosts(scratch):
    """What no plain line holds: listed and clean keys of every type."""
    keys = list(made().values())
    listed = listing(scratch / "bad.pkbf", *keys[::2])
    for number, key in enumerate(keys):
        write(scratch / "tree" / f"{number}.hosts", f"host {key.plain}\n")
        write(scratch / "tree" / f"{number}.private", key.path.read_bytes())
    wanted = []
    for number, key in enumerate(keys):
        blob = base64.b64decode(key.base64)
        equal(sshkey.parse(blob).fingerprint, key.fingerprint, key.fingerprint)
        digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
        if number % 2 == 0:
            wanted += [(f"{number}.hosts", f"SHA256:{digest}"), (f"{number}.private", f"SHA256:{digest}")]
    for jobs in (1, 2):
        result = check("--jobs", jobs, scratch / "tree", filters=[listed], status=1)
        seen = [re.match(r".*/(\S+):1: listed: \S+ \d+ (\S+)", line).groups() for line in result.lines]
        equal(sorted(seen), sorted(wanted), f"--jobs {jobs}")
        equal(result.summary["clean"], 2 * len(keys) - len(wanted), "clean keys")
