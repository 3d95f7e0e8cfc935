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
from pathlib import Path

import pytest

import sshkey
from check_runs import check, mixed_text
from program import KEYVETO, TRACED, attempt, equal, mount_namespace
from runs import as_nobody, peak_of
from samples import ed25519_line, empty_filter, listing, made, write

NAMES = ("authorized_keys", "config", "known_hosts", "id_ed25519.pub", "a b", "-", "\n", "\x1b[m", "\u00e4", "z" * 200)


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
def test_each_key_of_a_random_tree_is_found_once(scratch, seed):
    """Every key where it was put, in the order of the names, once."""
    rnd = random.Random(f"tree {seed}")
    bad = made()["ed25519"]
    listed = listing(scratch / "bad.pkbf", bad)
    wanted = random_tree(rnd, scratch / "tree", bad.line.encode() + b"\n")
    one = check(scratch / "tree", filters=[listed])
    places = [re.match(r"(.*):(\d+): listed: ", line).groups() for line in one.lines]
    equal(one.status, 1 if wanted else 0, "status")
    equal(places, [(shown(path), f"{number}") for path, number in wanted], "places")
    rows = [json.loads(line) for line in check("--json", scratch / "tree", filters=[listed]).out.splitlines()]
    equal([row["line"] for row in rows if row["verdict"] == "listed"], [number for _, number in wanted], "JSON")


@pytest.mark.sample(4)
@pytest.mark.parametrize("seed", range(4))
def test_a_tree_gives_what_its_files_give(scratch, seed):
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
        whole, *parts = [attempt(*as_nobody(KEYVETO, "check", *words, "--filter", empty_filter(), *some), text=False)
                         for some in (paths, *([path] for path in paths))]
        equal(whole.returncode, 2, "status")
        assert whole.stdout == b"".join(part.stdout for part in parts), f"{words}"
        # The last line has the totals.
        said = [line for part in parts for line in part.stderr.splitlines() if b" keys in " not in line]
        equal([line for line in whole.stderr.splitlines() if b" keys in " not in line], said, f"{words}")
    if os.geteuid() == 0:
        assert b"Permission denied" in whole.stderr


@pytest.mark.parametrize("most", (64, 128))
def test_more_folders_than_files_may_be_open(scratch, most):
    """Each file is in a directory of its own, which stays open until it is read; 50 above them are open, too."""
    lines = [ed25519_line(bytes([number % 256, 1 + number // 256] * 16)).encode() for number in range(600)]
    deep = scratch / "/".join("d" * 50)
    for number, line in enumerate(lines):
        write(deep / f"{number}" / "key.pub", line, b"\n")
    done = check(scratch, status=0, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
    equal((done.summary["clean"], done.problems), (600, []), "keys")


def peak_memory(listed, tree):
    # AddressSanitizer would keep what is freed.
    few = f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
    peak, printed = peak_of(KEYVETO, "check", "--filter", listed, tree, statuses=(1,),
                            env={**os.environ, "ASAN_OPTIONS": few})
    return peak, len(printed)


def test_memory_does_not_grow_with_what_is_found(scratch):
    """A key causes a message with a long path: 60 MB for 30 small files."""
    bad = made()["ed25519"]
    listed = listing(scratch / "bad.pkbf", bad)
    deep = scratch / "tree" / "/".join(["d" * 250] * 8)
    for number in range(30):
        write(deep / f"{number}" / "keys", f"{bad.line}\n" * 1000)
    (few, little), (many, printed) = (peak_memory(listed, tree) for tree in (deep / "0", scratch / "tree"))
    assert printed > 60_000_000 > 20 * little
    assert many < few + 4 * 1024, f"{few} KiB, {many} KiB for 30 files"


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
    done = attempt(*mount_namespace(), "sh", "-euc", script, "sh", KEYVETO, "check", "--json", "--all", "--filter",
                   empty_filter(), "tree", text=False, cwd=scratch, env=TRACED)
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
                done = check(scratch / "tree")
                equal((done.status, done.problems, done.summary["clean"]), (0, [], 50), "result")
        finally:
            # Not by a signal: what the shell has started then would go on.
            end.touch()


def test_a_reader_that_goes_away_ends_it(scratch):
    line = made()["ed25519"].line
    for number in range(3000):
        write(scratch / "tree" / f"{number}", f"{line}\n" * 10)
    with subprocess.Popen([KEYVETO, "check", "--all", "--filter", empty_filter(), scratch / "tree"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() != 0


def calls(*words):
    """How often keyveto made each system call, by strace."""
    log = words[-1].parent / "calls"
    done = attempt("strace", "-f", "-qq", "-o", log, KEYVETO, *words, text=False, env=TRACED)
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


def test_finds_the_keys_of_private_files_and_known_hosts(scratch):
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
    result = check(scratch / "tree", filters=[listed], status=1)
    seen = [re.match(r".*/(\S+):1: listed: \S+ \d+ (\S+)", line).groups() for line in result.lines]
    equal(sorted(seen), sorted(wanted), "listed")
    equal(result.summary["clean"], 2 * len(keys) - len(wanted), "clean keys")
