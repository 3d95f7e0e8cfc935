# SPDX-License-Identifier: ISC
"""keyveto check: large texts, and a gigabyte in bounded memory."""

import fcntl
import itertools
import os
import random
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

import nosecret
import sshkey
from check_runs import check, check_all, mixed_text, pem_blocks, sixty_megabytes, started
from program import ADDRESS_SANITIZER, KEYVETO, TRACED, attempt, contains, equal, wait_until_read
from runs import findings
from samples import MIB, ed25519_line, empty_filter, listing, made, random_blob, write


def ppk():
    """A PuTTY key file."""
    ed = made()["ed25519"]
    text = ed.base64
    return (f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: c\n"
            f"Public-Lines: 2\n{text[:64]}\n{text[64:]}\nPrivate-Lines: 1\nAAAA\nPrivate-MAC: 00\n").encode()


def test_sixty_megabytes_are_read_to_the_last_line(scratch):
    """The last PEM block and the last line are seen at their numbers, so the count of lines is right."""
    path = sixty_megabytes()
    bad = listing(scratch / "bad.pkbf", *(made()[name] for name in ("rsa", "ed25519", "p521")))
    result = check(path, filters=[bad], status=1)
    text = path.read_bytes()
    counts = result.summary
    assert counts["keys"] > 500_000 and counts["listed"] > 500 and counts["problems"] > 1000, f"{counts}"
    seen = [found.line for found in findings(result, path)]
    equal(seen[-1], text.count(b"\n") + 1, "the last line")
    for begin in (b"\n-----BEGIN PUBLIC KEY", b"\n---- BEGIN SSH2 PUBLIC KEY", b"\n-----BEGIN OPENSSH PRIVATE"):
        place = text.rindex(begin)
        number = text.count(b"\n", 0, place) + 2
        assert number in seen, f"{begin} in line {number} was not seen"


def test_listed_keys_are_not_looked_up_by_system_calls(scratch):
    """20 reads of the filter for each of 1000 listed keys took ten times as long as the rest."""
    bad = listing(scratch / "bad.pkbf", made()["ed25519"], made()["rsa"])
    path = write(scratch / "file", f"{made()['ed25519'].line}\n{made()['rsa'].line}\n" * 500)
    trace = scratch / "trace"
    for words in ((), ("--all",)):
        done = attempt("strace", "-f", "-e", "trace=pread64", "-o", trace, KEYVETO, "check", *words, "--filter", bad,
                       path, text=False, env=TRACED)
        equal((done.returncode, done.stdout.count(b": listed: ")), (1, 1000), f"{words}")
        reads = trace.read_text(encoding="utf-8").count("pread64(")
        assert reads < 50, f"{words}: {reads} reads"


def test_a_pipe_gives_the_same_as_a_file(scratch):
    """With --all, and as JSON."""
    rnd = random.Random(9)
    data = b"".join(mixed_text(rnd, 100_000) for _ in range(50))
    path = write(scratch / "file", data)
    for words in (("--all",), ("--all", "--json")):
        wanted = check(*words, path)
        piped = check(*words, stdin=data)
        equal(piped.out.count(b"\n"), wanted.out.count(b"\n"), f"{words}: lines")
        equal(piped.summary, wanted.summary, f"{words}: totals")


def test_many_files_and_directories_come_out_in_their_order(scratch):
    """As they were named, a folder's by their names, and what each gives alone."""
    rnd = random.Random(10)
    for number in range(300):
        write(scratch / "d" / f"{number % 7}" / f"{number}", mixed_text(rnd, rnd.choice((100, 3000, 30000))))
    for number in range(4):
        write(scratch / f"large{number}", mixed_text(rnd, 2 * MIB))
    paths = [scratch / "large0", scratch / "d", scratch / "large1", scratch / "missing", scratch / "large2",
             scratch / "large3"]
    wanted = check("--all", *paths)
    alone = [check("--all", path) for path in paths]
    assert wanted.out == b"".join(one.out for one in alone), "another output"
    equal(wanted.summary, {name: sum(one.summary[name] for one in alone) for name in wanted.summary}, "totals")


@pytest.mark.parametrize("kind", ("line", "PEM", "OpenSSH", "PuTTY"))
def test_a_key_across_the_border_of_two_blocks_is_found(scratch, kind):
    """The key is put at every offset around the end of the read buffer."""
    ed = made()["ed25519"]
    data = {"line": ed.line.encode() + b"\n", "PEM": pem_blocks()[0], "OpenSSH": pem_blocks()[3], "PuTTY": ppk()}[kind]
    size = len(data)
    places = sorted({0, 1, 2, size - 2, size - 1, size, size + 1, *range(0, size + 5, max(1, size // 12))})
    fingerprint = made()["rsa"].fingerprint if kind == "PEM" else ed.fingerprint
    pad = b"# " + b"." * 97 + b"\n"
    for place in places:
        before = pad * ((MIB - place) // len(pad))
        before += b"#" * (MIB - place - len(before) - 1) + b"\n" if len(before) < MIB - place else b""
        equal(len(before), MIB - place, "length")
        path = write(scratch / "file", before, data, pad * 12000)
        found, wrong = check_all(path)
        where = f"{place} bytes before the border"
        equal(wrong, [], f"problems, {where}")
        equal([(one.line, one.fingerprint) for one in found], [(before.count(b"\n") + 1, fingerprint)], where)


GIGABYTE = 1 << 30
FACTOR = 8 if ADDRESS_SANITIZER else 1
MEMORY = FACTOR * 64 << 10      # KiB
SECONDS = FACTOR * 25


def large_stream(parts, *words, filters):
    """Writes parts to keyveto's standard input: its findings. Fails if it takes too much memory or time.

    The limit is on processor time, as the machine may be busy.
    """
    argv = [KEYVETO, "check", *(word for path in filters for word in ("--filter", path)), *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with started(argv, stdin=subprocess.PIPE, stdout=out, stderr=err) as process:
            fcntl.fcntl(process.stdin, fcntl.F_SETPIPE_SZ, MIB)
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[os.write(process.stdin.fileno(), view):]
            # A pipe takes a megabyte before keyveto reads.
            wait_until_read(process.stdin)
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            process.stdin.close()
            _, code, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(code)
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
        out.seek(0), err.seek(0)
        seconds = usage.ru_utime + usage.ru_stime
        assert peak < MEMORY, f"{peak} KiB of memory"
        assert seconds < SECONDS, f"{seconds} s"
        return process.returncode, out.read().decode(), err.read().decode()


@pytest.mark.long
def test_1_gb_of_keys_through_a_pipe_in_bounded_memory_and_time(scratch):
    rnd = random.Random(11)
    last = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", last)
    lines = [sshkey.key_line(random_blob(rnd), comment=f"c{number}") for number in range(200)]
    lines += [ed25519_line(rnd.randbytes(32), f"c{number}") for number in range(5000)]
    numbers = [nosecret.sound_number(rnd, 2048) for _ in range(3000)]
    lines += [sshkey.key_line(sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(65537, n))) for n in numbers]
    rnd.shuffle(lines)
    chunk = "".join(f"{line}\n" for line in lines).encode()
    times = GIGABYTE // len(chunk) + 1
    clean = times * len(lines)
    parts = itertools.chain(itertools.repeat(chunk, times), [last.line.encode()])
    status, out, err = large_stream(parts, filters=[bad])
    equal(status, 1, err)
    equal(out, f"-:{clean + 1}: listed: {last.type} {last.bits} {last.fingerprint} {last.comment} [{bad}]\n", "finding")
    contains(err, f"keyveto: {clean + 1} keys in 1 file: 1 listed, {clean} clean\n")


@pytest.mark.long
def test_a_line_of_1_gb_takes_bounded_memory(scratch):
    """The key on the line after it is found."""
    last = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", last)
    chunk = b"ssh-ed25519 AAAA" * (MIB // 4)
    line = last.line.encode()
    parts = itertools.chain([line, b"\n"], itertools.repeat(chunk, GIGABYTE // len(chunk)), [b"\n", line])
    status, out, err = large_stream(parts, filters=[bad])
    equal(status, 1, err)
    equal([line.split(": ")[0] for line in out.splitlines()], ["-:1", "-:3"], "findings")
    contains(err, "keyveto: -:2: line too long\n", "2 listed, 0 clean, 1 problem\n")


def test_nothing_but_problems_bounded_memory():
    for words in ((), ("--json",)):
        large_stream([b"y\n" * (MIB // 2)], *words, filters=[empty_filter()])


def test_several_threads_take_bounded_memory():
    """Also for PEM without an end, and for blank lines."""
    plain = b"".join(ed25519_line(bytes([n % 256, 1 + n // 256] * 16)).encode() + b"\n" for n in range(10000))
    bad = [empty_filter()]
    large_stream(itertools.repeat(plain, 100), filters=bad)
    large_stream(itertools.repeat(b"\n" * MIB, 20), filters=bad)
    endless = itertools.repeat((b"A" * 64 + b"\n") * 10_000, 50)
    large_stream(itertools.chain([b"-----BEGIN PUBLIC KEY-----\n"], endless), filters=bad)


def test_a_long_line_of_utf_16_ends(scratch):
    """Characters of one to three bytes of UTF-8 leave less room at the end of the buffer than one of them may need."""
    ed = made()["ed25519"]
    for text in ("\0", "é", "xé", "字", "x字", "\U0001f511x"):
        lines = f"{ed.line}\n{text * (3 * MIB // len(text.encode()))}\n{ed.line}\n"
        path = write(scratch / "file", lines.encode("utf-16"))
        done = attempt("prlimit", "--cpu=60", KEYVETO, "check", "--all", "--filter", empty_filter(), path)
        assert [line.split(" ")[0] for line in done.stdout.splitlines()] == [f"{path}:1:", f"{path}:3:"], done.stderr
