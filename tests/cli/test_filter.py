# SPDX-License-Identifier: ISC
"""keyveto filter, from the outside: create, add, merge, info, verify, explain.

    python3 tests/cli/test_filter.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto). Prints a line for each case;
the exit status is 1 if any failed. What a case cannot do fails, too.
"""

import fcntl
import functools
import hashlib
import itertools
import json
import math
import os
import pty
import random
import re
import resource
import shlex
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from cases import KEYVETO, PATIENCE, case, check, equal, run_all, wait_until, wait_until_read
import pkbf  # noqa: E402  (cases has set the path)
import sshkey  # noqa: E402

EPOCH = 1555799917

PUBLISHED = """\
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCdjWIIuoUy+RGCPtkPGcZtZSk437aUFB2CgIkvfiA5H3iB+mg6yk8yotIf0tVVYMy16h7Yr1zmyLAngTIUpoBzuQg5E66wn70QxkB065sy3FYM8D4wkMW9OP2J91SoeoYnkwJ0nu8LHTF/T9GpTvxJCVvSMoYEsF1GHFFCwl4YQOYPscerqxr7dfP/mwlulLrwBxYmbXcDRtukf8eANy6Xo8ckesGhJ9ndhe/W600n6xZTNToBXiWyI1/jWkzvRj3NvgAvPH2ypJm6AQD1wkNVFp+yNVqoL9xZJS+LLh2Nu3cwGucS9QI7Rg4f4M/naL065eDYLxEFegSM5ZfAp9cn
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBB1cUco3MYNAAsJnijrjErO+nmYcbp3KvL2DyX7tBDc2LRzEgW2/9DvIO9z2waIgAHxiQXpnadjchiy3DzmaSfk=
"""
KNOWN_FILTERS = {
    (2, 4): "2940693fc9323eb32c667a815f509cbd8a1ea76db19a4c81360ccabfe7a23b9b",
    (3, 6): "ff43f04da5688bec98f26f3753ca4493200fc89129b96d4b39893be22a1bfe8b",
    (5, 12): "f0c0b0c9ddd052ceea4b95adbfd39d5c56ffc2136e3a4f0d095079757d287f34",
    (12, 18): "9186b2081855bf9c2942c8a6ae7466c8aee9ffa8a20126901a9589f8323a51c3",
}
KNOWN_POSITIONS = {     # k, p: RSA, P-256 uncompressed, P-256 compressed
    (2, 4): ([8, 9], [5, 10], [1, 6]),
    (3, 6): ([40, 41, 43], [53, 42, 32], [1, 38, 12]),
    (5, 12): ([3560, 873, 2283, 3695, 1014], [565, 3114, 1568, 24, 2579],
              [961, 3814, 2572, 1332, 95]),
}


# --- running it ------------------------------------------------------------

def environment(epoch):
    env = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    if epoch is not None:
        env["SOURCE_DATE_EPOCH"] = str(epoch)
    return env


def start(*words, epoch=EPOCH, **more):
    """A running keyveto filter, all three streams pipes."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([KEYVETO, "filter", *map(str, words)], env=environment(epoch),
                            **{**streams, **more})


def run(*words, status=0, stdin=b"", epoch=EPOCH):
    """(standard output, standard error) of a run that must end with status."""
    process = start(*words, epoch=epoch)
    try:
        out, err = process.communicate(stdin, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{words} hangs") from None
    for text in (out, err):
        check(all(byte == 10 or 32 <= byte < 127 for byte in text), f"{words} prints raw bytes: {text!r}")
    out, err = out.decode(), err.decode()
    check(all(line.startswith(("keyveto: ", "usage: ", "  ", "'")) or not line for line in err.split("\n")),
          f"{words}: odd message {err!r}")
    check(process.returncode == status, f"{words}: status {process.returncode}, not {status}: {err.strip()}")
    return out, err


def make(path, k, p, *inputs):
    run("create", path, "--hashes", k, "--length", p, "--force")
    if inputs:
        run("add", path, *inputs)
    return path


def information(path):
    return json.loads(run("info", "--json", path)[0])


def wait_until_later(path):
    """Until a change of the file has another time than its last one: they are counted in milliseconds."""
    with tempfile.NamedTemporaryFile(dir=path.parent.parent) as other:
        def is_later():
            os.utime(other.name)
            return os.stat(other.name).st_ctime_ns > os.stat(path).st_ctime_ns
        wait_until(is_later, "the clock goes on")


def names(folder):
    return sorted(os.listdir(folder))


def has_open(process, path):
    """Whether a process has this file open: then it is past taking the lock."""
    for fd in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            # Not by name: a process in another mount namespace has others.
            if os.path.samefile(fd, path):
                return True
        except FileNotFoundError:       # closed by now
            pass
    return False


def peak_memory(*words):
    """Peak memory of a keyveto filter that must succeed, in KiB.

    A child's count starts with what its parent has at the time, so the parent
    is a small one.
    """
    spawn = ("import os, resource, sys\n"
             "pid = os.fork() or os.execv(sys.argv[1], sys.argv[1:])\n"
             "_, status, usage = os.wait4(pid, 0)\n"
             "print(usage.ru_maxrss)\n"
             "sys.exit(os.waitstatus_to_exitcode(status))")
    done = subprocess.run([sys.executable, "-ISc", spawn, KEYVETO, "filter", *map(str, words)], check=False,
                          capture_output=True, env=environment(EPOCH), timeout=PATIENCE)
    equal(done.returncode, 0, f"status ({done.stderr})")
    return int(done.stdout.split()[-1])


def lock_of(path):
    return path.with_name(f".{path.name}.lock")


def new_of(path):
    return path.with_name(f".{path.name}.keyveto-new")


def in_mount_namespace(script):
    """Runs a shell script where mounting harms nobody."""
    who = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(["unshare", "--mount", *who, "sh", "-euc", script], capture_output=True,
                          env=environment(EPOCH), timeout=PATIENCE, check=False)
    check(done.returncode == 0, f"in a mount namespace: status {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode()


# --- keys ------------------------------------------------------------------

def ed25519_blob(data):
    return sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(data))


def key_lines(rnd, n):
    """Lines of n different Ed25519 keys, which are 32 bytes of anything."""
    return [sshkey.key_line(ed25519_blob(rnd.randbytes(32))) + "\n" for _ in range(n)]


def parse(line):
    return sshkey.parse_line(line.encode().rstrip(b"\n"))


def any_blob(rnd):
    """A blob of a random type with random fields."""
    def number(bits):
        return rnd.getrandbits(bits) | 1 << (bits - 1) | 1

    def point(curve):
        size = sshkey.CURVES[curve][1]
        return b"\4" + rnd.randbytes(2 * size)

    kind = rnd.randrange(8)
    if kind == 0:
        return sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(65537, number(rnd.choice((1024, 2048, 3071, 4096)))))
    if kind == 1:
        return sshkey.build_plain("ssh-dss", sshkey.fields_dsa(number(1024), number(160), number(1023), number(1022)))
    if kind in (2, 3):
        curve = rnd.choice(list(sshkey.CURVES))
        return sshkey.build_plain(f"ecdsa-sha2-{curve}", sshkey.fields_ecdsa(curve, point(curve)))
    if kind == 4:
        return sshkey.build_plain(sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point("nistp256")))
    if kind == 5:
        return sshkey.build_plain(sshkey.SK_ED25519, sshkey.fields_sk_ed25519(rnd.randbytes(32)))
    if kind == 6:
        return sshkey.build_plain(sshkey.MLDSA, sshkey.fields_raw(rnd.randbytes(1344)))
    return sshkey.build_plain("ssh-ed448", sshkey.fields_raw(rnd.randbytes(57)))


def any_line(rnd):
    """A line with a key of any type, sometimes in a certificate."""
    if rnd.randrange(5) > 0:
        return sshkey.key_line(any_blob(rnd), comment="c", options=rnd.choice(("", 'command="a b"'))) + "\n"
    fields = sshkey.fields_raw(rnd.randbytes(32))
    name = sshkey.cert_name("ssh-ed25519")
    blob = sshkey.build_cert(name, fields, any_blob(rnd), principals=(b"u",))
    return sshkey.key_line(blob) + "\n"


def published(lines):
    return [spki for line in lines for spki in parse(line).published]


# --- create ----------------------------------------------------------------

@case("create: the parameters are those of the rule")
def _(tmp):
    for n, rate, k, p in ((42, 0.1, 2, 8), (1000, 0.01, 3, 14), (1200000, 0.01, 3, 24)):
        run("create", tmp / "f", "--entries", n, "--fpr", rate, "--force")
        seen = information(tmp / "f")
        equal((seen["hashes"], seen["length"]), (k, p), f"n {n} r {rate}")


@case("create: the parameters are the oracle's, also where the first p has no k")
def _(tmp):
    rnd = random.Random(1)
    wishes = [(1709, 0.01), (1, 0.5), (1, 0.999), (3, 1e-9), (10, 1e-9), (20, 1e-21), (200000, 1e-9)]
    wishes += [(int(10 ** rnd.uniform(0, 6)), round(10 ** rnd.uniform(-9, -0.1), 12)) for _ in range(60)]
    for n, rate in wishes:
        run("create", tmp / "f", "--entries", n, "--fpr", repr(rate), "--force")
        seen = information(tmp / "f")
        equal((seen["hashes"], seen["length"]), pkbf.parameters(n, rate), f"n {n} r {rate}")


def listed(f, lines):
    """How many of these keys a filter lists."""
    path = f.with_name("lines")
    path.write_text("".join(lines))
    done = subprocess.run([KEYVETO, "check", "--json", "--filter", f, path], capture_output=True, check=False,
                          timeout=PATIENCE)
    check(done.returncode in (0, 1), f"status {done.returncode}: {done.stderr[:500]}")
    return done.stdout.count(b'"verdict":"listed"')


@case("create: of a million clean keys none is listed where a billionth was allowed")
def _(tmp):
    rnd = random.Random(12)
    run("create", tmp / "f", "--entries", 10, "--fpr", "1e-9")
    mine = key_lines(rnd, 10)
    run("add", tmp / "f", stdin="".join(mine).encode())
    equal(listed(tmp / "f", mine), 10, "keys that were added")
    equal(listed(tmp / "f", key_lines(rnd, 1_000_000)), 0, "clean keys that are listed")
    seen = information(tmp / "f")
    check(seen["fpr_by_header"] < 1e-9 and seen["fpr_by_bits"] < 1e-9, f"{seen}")


@case("info, verify: the rate has a floor that no number of bits for a key goes below")
def _(tmp):
    rnd = random.Random(13)
    lines = key_lines(rnd, 1_000_000)
    for k, p, n in ((29, 9, 5), (4, 10, 20)):
        run("create", tmp / "f", "--hashes", k, "--length", p, "--force")
        run("add", tmp / "f", stdin="".join(key_lines(rnd, n)).encode())
        seen, wrong = information(tmp / "f"), listed(tmp / "f", lines) / len(lines)
        for name in ("fpr_by_header", "fpr_by_bits"):
            check(0.7 * seen[name] < wrong < 2.5 * seen[name], f"k {k} p {p} n {n}: {name} {seen[name]}, measured {wrong}")
        said = float(re.search(r"lists a clean key with a chance of ([-\de.]+)$", run("verify", tmp / "f")[0])[1])
        check(math.isclose(said, seen["fpr_by_bits"], rel_tol=0.01), f"k {k} p {p} n {n}: verify says {said}")


@case("create: an empty filter is revision 0, time 0, no entries, no bits")
def _(tmp):
    run("create", tmp / "f", "--hashes", 3, "--length", 14)
    equal((tmp / "f").read_bytes(), pkbf.Filter.create(3, 14).to_bytes(), "the file")
    equal(names(tmp), ["f"], "files")


@case("create: an existing file is replaced only with --force")
def _(tmp):
    make(tmp / "f", 3, 10)
    before = (tmp / "f").read_bytes()
    _, err = run("create", tmp / "f", "--hashes", 3, "--length", 14, status=2)
    check("--force" in err and str(tmp / "f") in err, f"no way out: {err}")
    equal((tmp / "f").read_bytes(), before, "the file")
    run("create", tmp / "f", "--hashes", 3, "--length", 14, "--force")
    equal(pkbf.Filter.read(tmp / "f").p, 14, "the length")
    equal(names(tmp), ["f"], "files")


@case("create: the largest filter takes no space, and can be added to")
def _(tmp):
    big, rnd = tmp / "big", random.Random(2)
    run("create", big, "--hashes", 9, "--length", 40)
    equal(big.stat().st_size, 24 + 2 ** 37, "size")
    lines = key_lines(rnd, 5)
    run("add", big, stdin="".join(lines).encode())
    check(big.stat().st_blocks < 1000, f"{big.stat().st_blocks} blocks: the holes were filled")
    with open(big, "rb") as file:
        for line in lines:
            for bit in pkbf.positions(parse(line).spkis[0], 9, 40):
                file.seek(24 + bit // 8)
                check(file.read(1)[0] & 0x80 >> bit % 8, f"bit {bit} is not set")
    seen = information(big)
    equal((seen["entries"], seen["set_bits"]), (5, 45), "entries and bits")
    run("verify", big)


@case("create: bad options are refused with a sentence, and make nothing")
def _(tmp):
    f = tmp / "f"
    for words in ([], [f], [f, "--entries", 5], [f, "--fpr", 0.1], [f, "--hashes", 3], [f, "--length", 9],
                  [f, "--entries", 5, "--length", 9], [f, "--entries", 5, "--fpr", 0.1, "--hashes", 3, "--length", 9],
                  [f, "--entries", 5, "--fpr", 0.1, "--hashes", 3],
                  ["--entries", 5, "--fpr", 0.1], [f, f, "--entries", 5, "--fpr", 0.1],
                  *([f, "--entries", 5, "--fpr", bad] for bad in
                    ("0", "1", "-0.5", "2", "nan", "inf", "0x1p-3", "0.1x", "", "1%", ".", "1e-9999")),
                  *([f, "--entries", bad, "--fpr", 0.1] for bad in
                    ("0", "-1", "4294967296", "1e3", "", " 5", "5 ", "18446744073709551621")),
                  *([f, "--hashes", bad, "--length", 9] for bad in ("0", "256", "x", "-3")),
                  *([f, "--hashes", 3, "--length", bad] for bad in ("2", "41", "0", "\x1b[2J")),
                  [f, "--entries", 4294967295, "--fpr", "1e-300"], [f, "--entries", 20, "--fpr", "1e-60"],
                  [f, "--hashes", 3, "--length", 9, "--bogus"], [f, "-x"], [f, "--force=yes"], [f, "--hashes"]):
        _, err = run("create", *words, status=2)
        check(len(err) > 20, f"{words}: says only {err!r}")
    equal(names(tmp), [], "files")
    run("create", tmp / "none" / "f", "--hashes", 3, "--length", 9, status=2)
    run("create", tmp, "--hashes", 3, "--length", 9, "--force", status=2)
    run("create", f"{tmp}/", "--hashes", 3, "--length", 9, "--force", status=2)
    run("create", "", "--hashes", 3, "--length", 9, status=2)
    run("create", tmp / ("n" * 250), "--hashes", 3, "--length", 9, status=2)
    equal(names(tmp), [], "files")


# --- add -------------------------------------------------------------------

@case("add: the publisher's filters, byte for byte")
def _(tmp):
    (tmp / "keys").write_text(PUBLISHED)
    for (k, p), digest in KNOWN_FILTERS.items():
        make(tmp / "f", k, p, tmp / "keys")
        equal(hashlib.sha256((tmp / "f").read_bytes()).hexdigest(), digest, f"k {k} p {p}")


@case("add: keys of every type, as the oracle adds them, run after run")
def _(tmp):
    rnd = random.Random(3)
    for k, p in ((1, 3), (2, 10), (7, 16), (20, 21), (255, 13)):
        mine, oracle = make(tmp / f"f{p}", k, p), pkbf.Filter.create(k, p)
        for turn in range(4):
            lines = [any_line(rnd) for _ in range(30)]
            lines += rnd.sample(lines, 5)
            now = EPOCH + turn
            run("add", mine, epoch=now, stdin="".join(lines).encode())
            oracle.add_run(published(lines), now)
            check(mine.read_bytes() == oracle.to_bytes(), f"k {k} p {p}: differ after run {turn + 1}")


@case("add: goes on from a filter of the oracle's, which reads the result")
def _(tmp):
    rnd = random.Random(4)
    lines = [any_line(rnd) for _ in range(60)]
    oracle = pkbf.Filter.create(6, 15, revision=7, time=12345)
    for spki in published(lines[:30]):
        oracle.add(spki)
    oracle.write(tmp / "f")
    (tmp / "keys").write_text("".join(lines))
    run("add", tmp / "f", tmp / "keys")
    both = pkbf.Filter.read(tmp / "f")
    check(all(both.contains_key(parse(line)) for line in lines), "a key is missing")
    equal((both.revision, both.time), (8, EPOCH), "revision and time")
    oracle.add_run(published(lines), EPOCH)
    check(both.to_bytes() == oracle.to_bytes(), "differs from the oracle's")


@case("add: a run that adds nothing says so and leaves the file alone")
def _(tmp):
    (tmp / "keys").write_text(PUBLISHED)
    make(tmp / "f", 5, 12, tmp / "keys")
    before = os.stat(tmp / "f")
    for words in ([tmp / "keys"], ["/dev/null"], []):
        _, err = run("add", tmp / "f", *words, epoch=None)
        check("nothing added" in err, f"does not say so: {err}")
    after = os.stat(tmp / "f")
    equal((after.st_ino, after.st_mtime_ns, after.st_ctime_ns),
          (before.st_ino, before.st_mtime_ns, before.st_ctime_ns), "the file")
    equal(names(tmp), ["f", "keys"], "files")


@case("add: says how many were added and how many were there")
def _(tmp):
    lines = key_lines(random.Random(5), 10)
    make(tmp / "f", 5, 20)
    run("add", tmp / "f", stdin="".join(lines[:4]).encode())
    _, err = run("add", tmp / "f", stdin="".join(lines).encode())
    equal(err, f"keyveto: {tmp}/f: 6 added, 4 there already; now revision 2 with 10 entries\n", "message")


@case("add: SOURCE_DATE_EPOCH stands for now, and must be a number")
def _(tmp):
    line = key_lines(random.Random(6), 1)[0].encode()
    for epoch in ("", None):
        earliest = int(time.time())
        run("add", make(tmp / "f", 5, 12), stdin=line, epoch=epoch)
        check(earliest <= pkbf.Filter.read(tmp / "f").time <= time.time(), "time is not now")
    for epoch in (0, 1, 253402300799):
        run("add", make(tmp / "f", 5, 12), stdin=line, epoch=epoch)
        equal(pkbf.Filter.read(tmp / "f").time, epoch, "time")
    make(tmp / "f", 5, 12)
    before = (tmp / "f").read_bytes()
    for epoch in ("x", "-1", "1.5", "99999999999999999999", "253402300800", " 1"):
        _, err = run("add", tmp / "f", stdin=line, epoch=epoch, status=2)
        check("SOURCE_DATE_EPOCH" in err, f"does not name it: {err}")
    equal((tmp / "f").read_bytes(), before, "the file")


@case("add: --no-compressed adds elliptic curve keys once")
def _(tmp):
    rnd = random.Random(7)
    lines = [any_line(rnd) for _ in range(40)]
    run("add", make(tmp / "f", 5, 18), "--no-compressed", stdin="".join(lines).encode())
    oracle = pkbf.Filter.create(5, 18)
    oracle.add_run([spki for line in lines for spki in parse(line).spkis], EPOCH)
    check((tmp / "f").read_bytes() == oracle.to_bytes(), "differs from the oracle's")


@case("add: a certificate's CA is added only with --ca")
def _(tmp):
    rnd = random.Random(8)
    ca = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(rnd.randbytes(32)))
    blob = sshkey.build_cert(sshkey.cert_name("ssh-ed25519"), sshkey.fields_raw(rnd.randbytes(32)), ca)
    line, key = sshkey.key_line(blob).encode() + b"\n", sshkey.parse(blob)
    for words, has_ca in ((["--ca"], True), ([], False)):
        run("add", make(tmp / "f", 5, 18), *words, stdin=line)
        f = pkbf.Filter.read(tmp / "f")
        check(f.contains_key(key), "the key is missing")
        equal(f.contains_key(key.ca), has_ca, f"CA with {words}")


@case("add: --spki adds what is there, byte for byte, several in a file too")
def _(tmp):
    rnd = random.Random(9)
    spkis = published([any_line(rnd) for _ in range(40)])
    spkis.append(sshkey.der_seq(sshkey.der_seq(sshkey.der_oid("1.2.3.4")), sshkey.der(3, b"\0", rnd.randbytes(70000))))
    for number, spki in enumerate(spkis[:10]):
        (tmp / f"s{number}").write_bytes(spki)
    run("add", make(tmp / "f", 5, 18), "--spki", *(tmp / f"s{n}" for n in range(10)), "-",
        stdin=b"".join(spkis[10:]))
    oracle = pkbf.Filter.create(5, 18)
    oracle.add_run(spkis, EPOCH)
    check((tmp / "f").read_bytes() == oracle.to_bytes(), "differs from the oracle's")


@case("add: --spki refuses all that is no SPKI, and adds the rest")
def _(tmp):
    rnd = random.Random(10)
    good = [sshkey.spki_raw("ed25519", rnd.randbytes(32)) for _ in range(3)]
    bit = sshkey.der(3, b"\0", bytes(32))
    algorithm = sshkey.der_seq(sshkey.der_oid("1.3.101.112"))
    bad = [b"0", b"0\x80", b"0\x84\x7f\xff\xff\xff", b"0\x83\xff\xff\xff", b"0\x81\x10" + bytes(16), b"0\x82\0\x90",
           b"-----BEGIN PUBLIC KEY-----\n", PUBLISHED.encode(), bytes(100), b"\xff" * 100, b"0\0",
           sshkey.der_seq(algorithm), sshkey.der_seq(bit), sshkey.der_seq(algorithm, bit, bit),
           sshkey.der_seq(algorithm, sshkey.der(3)), sshkey.der_seq(algorithm, sshkey.der(3, b"\0")),
           sshkey.der_seq(algorithm, sshkey.der(3, b"\x08" + bytes(8))), sshkey.der_seq(sshkey.der_seq(), bit),
           sshkey.der_seq(sshkey.der(0x30, b"\x06\x7f"), bit), sshkey.der_seq(sshkey.der(0x30, b"\6\0"), bit)]
    for number, junk in enumerate(bad):
        (tmp / "bad").write_bytes(good[0] + junk + good[1])
        (tmp / "good").write_bytes(good[2])
        _, err = run("add", make(tmp / "f", 5, 18), "--spki", tmp / "bad", tmp / "good", status=2)
        check(f"keyveto: {tmp}/bad: " in err, f"number {number}: {err}")
        f = pkbf.Filter.read(tmp / "f")
        check(f.contains(good[0]) and f.contains(good[2]), f"number {number}: a good one is missing")
        check(f.entries == 2, f"number {number}: {f.entries} entries")
    (tmp / "cut").write_bytes(good[0][:-1])
    for missing in (tmp / "none", tmp, tmp / "cut"):
        _, err = run("add", make(tmp / "f", 5, 18), "--spki", missing, tmp / "good", status=2)
        check(f"keyveto: {missing}: " in err, err)
        equal(pkbf.Filter.read(tmp / "f").entries, 1, "entries")


@case("add: broken lines are reported with file and line, the rest is added")
def _(tmp):
    rnd = random.Random(11)
    good = key_lines(rnd, 3)
    text = [good[0], "# comment\n", "ssh-ed25519 AAAAC3Nz\x1b[31m comment\n", good[1], "ssh-rsa AAAA\n", "\n", good[2]]
    (tmp / "keys").write_text("".join(text))
    _, err = run("add", make(tmp / "f", 5, 18), tmp / "keys", tmp / "missing\n", status=2)
    for line in (3, 5):
        check(f"keyveto: {tmp}/keys:{line}: " in err, f"line {line} is not named: {err}")
    check(f"keyveto: {tmp}/missing\\x0a: " in err, f"the missing file is not named: {err}")
    f = pkbf.Filter.read(tmp / "f")
    equal(f.entries, 3, "entries")
    check(all(f.contains_key(parse(line)) for line in good), "a good key is missing")


@case("add: a directory of thousands of files")
def _(tmp):
    lines = key_lines(random.Random(12), 3000)
    for number, line in enumerate(lines):
        folder = tmp / "keys" / f"{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"id{number}.pub").write_text(line)
    run("add", make(tmp / "f", 10, 20), tmp / "keys")
    f = pkbf.Filter.read(tmp / "f")
    equal((f.entries, f.revision), (3000, 1), "entries and revision")
    check(all(f.contains_key(parse(line)) for line in lines), "a key is missing")


@case("add: a filter that cannot count any further is left alone")
def _(tmp):
    line = key_lines(random.Random(13), 1)[0].encode()
    for field, header in (("entries", (1, 5, 2 ** 32 - 1)), ("revision", (2 ** 32 - 1, 5, 1))):
        data = struct.pack(">6sIQIBB", b"pkbfv1", *header, 3, 10) + bytes(128)
        (tmp / "f").write_bytes(data)
        _, err = run("add", tmp / "f", stdin=line, status=2)
        check(field in err or "count" in err, err)
        equal((tmp / "f").read_bytes(), data, f"the file ({field})")
        equal(names(tmp), ["f"], "files")
    (tmp / "f").write_bytes(struct.pack(">6sIQIBB", b"pkbfv1", 2 ** 32 - 2, 5, 2 ** 32 - 2, 3, 10) + bytes(128))
    run("add", tmp / "f", stdin=line)
    f = pkbf.Filter.read(tmp / "f")
    equal((f.revision, f.entries), (2 ** 32 - 1, 2 ** 32 - 1), "the last revision and entry")


@case("add: without a filter it names the way out")
def _(tmp):
    _, err = run("add", tmp / "f", stdin=PUBLISHED.encode(), status=2)
    check("filter create" in err and f"{tmp}/f" in err, err)
    run("add", status=2)
    equal(names(tmp), [], "files")


@case("add: a million keys in bounded memory")
def _(tmp):
    keys, blob = tmp / "keys", ed25519_blob(bytes(32))
    line = sshkey.key_line(blob)
    rnd = random.Random(14)
    with open(keys, "w", encoding="ascii") as out:
        for _ in range(1000):
            # The last characters of the line belong to the key alone.
            out.write("".join(line[:-40] + rnd.randbytes(30).hex()[:40].upper() + "\n" for _ in range(1000)))
    make(tmp / "f", 3, 24)
    # With the map of the filter itself, 2 MiB.
    peak = peak_memory("add", tmp / "f", keys)
    check(peak < 24 * 1024, f"{peak} KiB")
    check(information(tmp / "f")["entries"] > 990000, "keys are missing")


@case("add: progress on a terminal, none in a pipe")
def _(tmp):
    (tmp / "keys").write_text("".join(key_lines(random.Random(15), 30000)))
    check("\r" not in run("add", make(tmp / "f", 9, 24), tmp / "keys")[1], "progress in a pipe")
    make(tmp / "f", 9, 24)
    ours, theirs = pty.openpty()
    process = start("add", tmp / "f", tmp / "keys", stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while more := os.read(ours, 4096):
            seen += more
    except OSError:     # how a terminal ends
        pass
    os.close(ours)
    process.communicate()
    equal(process.returncode, 0, "status")
    check(b"\radding" in seen.replace(b"\x1b[K", b"") and b"MiB" in seen, f"no progress: {seen!r}")
    check(b"30000 added" in seen, f"no summary: {seen!r}")


# --- writing safely --------------------------------------------------------

@case("writing: two hundred at once lose nothing, and readers see whole filters")
def _(tmp):
    lines = key_lines(random.Random(20), 200)
    f = make(tmp / "f", 20, 18)
    stop, broken, seen = threading.Event(), [], []

    def read():
        while not stop.is_set():
            try:
                now = pkbf.Filter.read(f)
                if now.revision != now.entries or (seen and now.entries < seen[-1]):
                    broken.append(f"revision {now.revision}, entries {now.entries}, before {seen[-1:]}")
                seen.append(now.entries)
            except (pkbf.BadFilter, OSError, struct.error) as error:
                broken.append(repr(error))

    reader = threading.Thread(target=read)
    reader.start()
    writers = []
    try:
        # Group by group: else they could come to their end before the reader comes to read.
        for first in range(0, len(lines), 40):
            before = seen[-1] if seen else 0
            group = [start("add", f, stdout=subprocess.DEVNULL) for _ in lines[first:first + 40]]
            for writer, line in zip(group, lines[first:]):
                writer.stdin.write(line.encode())
                writer.stdin.close()
            writers += group
            wait_until(lambda before=before: broken or seen and seen[-1] > before, "the reader sees what they write")
        errors = [writer.stderr.read() for writer in writers]
        statuses = {writer.wait(PATIENCE) for writer in writers}
    finally:
        stop.set()
        reader.join()
    equal(statuses, {0}, f"statuses ({[error for error in errors if b'1 added' not in error][:3]})")
    oracle = pkbf.Filter.create(20, 18)
    for line in lines:
        oracle.add_run(published([line]), EPOCH)
    check(f.read_bytes() == oracle.to_bytes(), f"differs from the oracle's: {information(f)}")
    check(not broken, f"a reader saw {broken[:3]}")
    check(len(set(seen)) > 3, f"the reader saw too little to tell: {set(seen)}")
    equal(names(tmp), ["f"], "files")


def kill_at_random(tmp, rnd, prefix):
    """Kills adds at random moments; each leaves the old filter or the new."""
    keys = tmp / "keys"
    keys.write_text("".join(key_lines(rnd, 2000)))
    f = make(tmp / "f", 10, 26)
    old = f.read_bytes()
    began = time.monotonic()
    run("add", f, keys)
    whole, new = time.monotonic() - began, f.read_bytes()
    outcomes = {"old": 0, "new": 0}
    for turn in range(30):
        f.write_bytes(old)
        process = subprocess.Popen([*prefix, KEYVETO, "filter", "add", f, keys], env=environment(EPOCH),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0)
        time.sleep(whole * 1.3 * turn / 29)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        data = f.read_bytes()
        check(data in (old, new), f"killed in turn {turn}: the filter is neither old nor new")
        outcomes["old" if data == old else "new"] += 1
        check(set(names(tmp)) <= {"f", "keys", ".f.lock", ".f.keyveto-new"}, f"files {names(tmp)}")
    f.write_bytes(old)
    run("add", f, keys)
    check(f.read_bytes() == new, "the run after all differs")
    equal(names(tmp), ["f", "keys"], "files after the next run")
    check(outcomes["old"] > 0, f"nothing was killed in time: {outcomes}")


@case("writing: killed at any moment, the filter is the old or the new one")
def _(tmp):
    kill_at_random(tmp, random.Random(21), [])


# Where /proc is missing a file without a name is of no use: the other way to
# write has to do, as it has on file systems without O_TMPFILE.
WITHOUT_PROC = ["sh", "-euc", 'mount -t tmpfs none /proc; exec "$@"', "sh"]


def without_proc():
    who = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", "--mount", *who, *WITHOUT_PROC]


@case("writing: the same where the new file has a name from the start")
def _(tmp):
    kill_at_random(tmp, random.Random(22), without_proc())


@case("writing: what a killed run left is removed, a lock file too")
def _(tmp):
    (tmp / "f").write_bytes(pkbf.Filter.create(3, 10).to_bytes())
    new_of(tmp / "f").write_bytes(b"half a fil")
    lock_of(tmp / "f").touch(0o600)
    run("add", tmp / "f", stdin=PUBLISHED.encode())
    equal(names(tmp), ["f"], "files")
    equal(pkbf.Filter.read(tmp / "f").entries, 3, "entries")


@case("writing: a signal ends it cleanly, whichever way it writes")
def _(tmp):
    line = key_lines(random.Random(23), 1)[0].encode()
    f = make(tmp / "f", 3, 10)
    before = f.read_bytes()
    for prefix in ([], without_proc()):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            process = subprocess.Popen([*prefix, KEYVETO, "filter", "add", f], stdin=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=environment(EPOCH))
            process.stdin.write(line)
            process.stdin.flush()
            wait_until(lambda: has_open(process, f), "it has opened the filter")
            if prefix:
                wait_until(new_of(f).exists, "it writes")
            process.send_signal(number)
            process.wait(PATIENCE)
            process.stdin.close()
            process.stderr.close()
            equal(process.returncode, -number, "status")
            equal(names(tmp), ["f"], f"files after signal {number}")
            equal(f.read_bytes(), before, "the filter")


@case("writing: a hang-up is ignored where it was, as under nohup")
def _(tmp):
    f = make(tmp / "f", 3, 10)
    process = start("add", f, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_until(lock_of(f).exists, "it runs")
    process.send_signal(signal.SIGHUP)
    process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
    equal((process.returncode, pkbf.Filter.read(f).entries), (0, 3), "status and entries")


@case("writing: one who may only read the filter cannot keep writers out")
def _(tmp):
    f = make(tmp / "f", 3, 10)
    with open(f, "rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        fcntl.lockf(os.open(f, os.O_RDWR), fcntl.LOCK_EX)
        run("add", f, stdin=PUBLISHED.encode())
    process = start("add", f)
    wait_until(lock_of(f).exists, "the lock file is there")
    mode = lock_of(f).stat().st_mode
    process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
    equal(stat.S_IMODE(mode), 0o600, "mode of the lock file")


@case("writing: a lock file that is a trap is refused")
def _(tmp):
    f = make(tmp / "f", 3, 10)
    lock, before = lock_of(f), f.read_bytes()

    def link():
        (tmp / "victim").touch()
        lock.symlink_to("victim")

    def readable():
        lock.touch()
        lock.chmod(0o644)

    traps = [link, lambda: os.mkfifo(lock, 0o600), lambda: lock.mkdir(0o700), readable]
    if os.geteuid() == 0:
        traps.append(lambda: (lock.touch(0o600), os.chown(lock, 12345, 12345)))
    for trap in traps:
        trap()
        was = os.lstat(lock)
        _, err = run("add", f, stdin=PUBLISHED.encode(), status=2)
        check(lock.name in err, f"does not name it: {err}")
        equal((os.lstat(lock).st_ino, os.lstat(lock).st_mode), (was.st_ino, was.st_mode), "the trap")
        equal(f.read_bytes(), before, "the filter")
        if lock.is_dir() and not lock.is_symlink():
            lock.rmdir()
        else:
            lock.unlink()
    run("add", f, stdin=PUBLISHED.encode())


@case("writing: what another program did meanwhile is not lost")
def _(tmp):
    f, line = make(tmp / "f", 3, 10), key_lines(random.Random(24), 1)[0].encode()
    other = pkbf.Filter.create(3, 10, revision=99).to_bytes()

    def replace():
        (tmp / "other").write_bytes(other)
        (tmp / "other").replace(f)

    for meddle, expected in ((replace, other), (lambda: f.write_bytes(other), other), (f.unlink, None),
                             (lock_of(f).unlink, pkbf.Filter.create(3, 10).to_bytes())):
        make(f, 3, 10)
        wait_until_later(f)
        process = start("add", f)
        process.stdin.write(line)
        process.stdin.flush()
        # Then it knows the filter, of which it may have no more than opened the file before.
        wait_until_read(process.stdin)
        meddle()
        _, err = process.communicate(b"", timeout=PATIENCE)
        equal(process.returncode, 2, f"status ({err})")
        check(any(word in err for word in (b"again", b"cannot be", b"cut short")), err)
        equal(f.read_bytes() if f.exists() else None, expected, "the filter")
        equal(names(tmp), ["f"] if expected else [], "files")


@case("writing: a filter that is cut short under it is an error, no crash")
def _(tmp):
    f = tmp / "f"
    for bits in (bytes(2 ** 17), b"\x11" * 2 ** 17):     # with holes and without
        f.write_bytes(struct.pack(">6sIQIBB", b"pkbfv1", 1, EPOCH, 9, 9, 20) + bits)
        process = start("add", f)
        wait_until(lambda: has_open(process, f), "it has opened the filter")
        # It waits for input now, whether it has mapped the filter yet or not.
        os.truncate(f, 24)
        _, err = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
        equal(process.returncode, 2, f"status ({err})")
        check(err.count(b"\n") == 1 and str(f).encode() in err, err)
        equal((f.stat().st_size, names(tmp)), (24, ["f"]), "the file as it was left")


@case("writing: through a symbolic link its target is replaced, beside itself")
def _(tmp):
    (tmp / "a").mkdir()
    (tmp / "b").mkdir()
    make(tmp / "b" / "real", 3, 10)
    (tmp / "a" / "middle").symlink_to("../b/real")
    (tmp / "link").symlink_to("a/middle")
    for k in (3, 4):
        run("add", tmp / "link", stdin=PUBLISHED.encode())
        check((tmp / "link").is_symlink() and (tmp / "a" / "middle").is_symlink(), "a link was replaced")
        f = pkbf.Filter.read(tmp / "b" / "real")
        equal((f.k, f.entries), (k, 3), "the target")
        equal((names(tmp), names(tmp / "a"), names(tmp / "b")), (["a", "b", "link"], ["middle"], ["real"]), "files")
        make(tmp / "link", 4, 10)
    (tmp / "dangling").symlink_to("b/nothing")
    for words in (["create", "--hashes", 3, "--length", 10, "--force"], ["add"]):
        _, err = run(words[0], tmp / "dangling", *words[1:], status=2)
        check("symbolic link" in err, err)
    equal(names(tmp / "b"), ["real"], "files")


@case("writing: owner and mode stay, a new file heeds the umask")
def _(tmp):
    f = make(tmp / "f", 3, 10)
    for mode in (0o600, 0o640, 0o644, 0o444):
        f.chmod(mode)
        if os.geteuid() == 0:
            os.chown(f, 0, 12346)
        elif mode == 0o444:
            continue
        for name, *rest in (["add"], ["merge", f], ["create", "--hashes", 3, "--length", 10, "--force"]):
            before = f.stat()
            run(name, f, *rest, stdin=PUBLISHED.encode())
            after = f.stat()
            check(after.st_ino != before.st_ino, f"{name} wrote in place")
            equal((after.st_mode, after.st_uid, after.st_gid), (before.st_mode, before.st_uid, before.st_gid), name)
    for mask, prefix in ((0o022, []), (0o077, []), (0o002, []), (0o027, without_proc())):
        f.unlink()
        subprocess.run([*prefix, KEYVETO, "filter", "create", f, "--hashes", "3", "--length", "10"], check=True,
                       umask=mask, stderr=subprocess.DEVNULL)
        equal(stat.S_IMODE(f.stat().st_mode), 0o644 & ~mask, f"mode with umask {mask:o}")


FORCED = (["create", "--hashes", 3, "--length", 10, "--force"], ["merge", "--force"])


def forced(words, target, other):
    """The arguments that have a filter made at target, whatever is there; other is a filter."""
    return [words[0], target, *([other] if words[0] == "merge" else []), *words[1:]]


@case("writing: what is no filter is never replaced; with --force it is kept beside")
def _(tmp):
    other = make(tmp / "other", 3, 10)
    damaged = other.read_bytes()[:-1]
    for words in FORCED:
        for content in (b"127.0.0.1 localhost\n", b"", b"pkbf", damaged):
            folder = tmp / "folder"
            folder.mkdir()
            f = folder / "f"
            f.write_bytes(content)
            f.chmod(0o640)
            before = f.stat()
            unforced = forced(words, f, other)[:-1]
            for bad in (unforced, ["add", f], ["merge", f, f]):
                _, err = run(*bad, status=2, stdin=PUBLISHED.encode())
                equal((f.read_bytes(), f.stat().st_ino, names(folder)), (content, before.st_ino, ["f"]), err)
            _, err = run(*unforced, status=2)
            check(f"{f}: is not a filter" in err and "--force" in err, err)
            _, err = run(*forced(words, f, other))
            check(f"{f}: what was there is kept beside it as f.kept" in err, err)
            kept = folder / "f.kept"
            equal((kept.read_bytes(), kept.stat().st_ino, kept.stat().st_mode), (content, before.st_ino, before.st_mode))
            pkbf.Filter.read(f)
            f.write_bytes(b"another")
            _, err = run(*forced(words, f, other))
            check("as f.kept2" in err, err)
            equal((names(folder), kept.read_bytes(), (folder / "f.kept2").read_bytes()),
                  (["f", "f.kept", "f.kept2"], content, b"another"), "files")
            # A filter is just replaced.
            _, err = run(*forced(words, f, other))
            equal((names(folder), "kept" in err), (["f", "f.kept", "f.kept2"], False), err)
            shutil.rmtree(folder)


def needs_root():
    check(os.geteuid() == 0, "needs root")


NOBODY = 65534


class Victim:
    """Root's files, which must stay as they are."""

    def __init__(self, tmp):
        self.folder = tmp / "victim"
        self.folder.mkdir(mode=0o755)
        self.secret = self.folder / "shadow"
        self.secret.write_bytes(b"root:*:19000:0:99999:7:::\n")
        self.secret.chmod(0o600)
        self.filter = make(self.folder / "filter", 3, 12)
        self.before = self.state()

    def state(self):
        return {path.name: (path.read_bytes(), path.lstat()[:6], path.lstat().st_mtime_ns, path.lstat().st_ctime_ns)
                for path in self.folder.iterdir()}

    def check_untouched(self, what):
        equal(self.state(), self.before, what)


@case("writing: root follows no link that is not root's, anybody else follows theirs")
def _(tmp):
    needs_root()
    victim = Victim(tmp)
    other = make(tmp / "other", 3, 10)
    theirs, mine, sticky = tmp / "theirs", tmp / "mine", tmp / "sticky"
    for folder in (theirs, mine, sticky):
        folder.mkdir()
    sticky.chmod(0o1777)
    os.chown(theirs, NOBODY, NOBODY)

    def plant(folder, target, owner):
        link = folder / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        os.chown(link, owner, owner, follow_symlinks=False)
        return link

    # A link of root's in a folder of somebody else's may have been moved there.
    for folder, owner in ((theirs, NOBODY), (sticky, NOBODY), (mine, NOBODY), (theirs, 0)):
        for target, below in ((victim.secret, ""), (victim.filter, ""), (victim.folder, "shadow"), (victim.folder, "filter"),
                              (victim.folder, "new"), (tmp, "victim/filter"), ("../victim", "filter")):
            link = plant(folder, target, owner)
            (tmp / "root-link").unlink(missing_ok=True)
            (tmp / "root-link").symlink_to(link)
            for path in (link / below, Path(os.path.relpath(link)) / below, tmp / "root-link" / below):
                for words in (*(forced(words, path, other) for words in FORCED), ["add", path]):
                    _, err = run(*words, status=2, stdin=PUBLISHED.encode())
                    check("root does not follow the symbolic link" in err and "'link'" in err, f"{words}: {err}")
                    victim.check_untouched(f"{words}")
            equal(names(folder), ["link"], "files")
    # Links of root's, in a folder of root's or a sticky one, lead on.
    for folder in (mine, sticky):
        for words in FORCED:
            run(*forced(words, plant(folder, victim.filter, 0), other))
            check(victim.state() != victim.before, "nothing was written")
            check((folder / "link").is_symlink(), "the link was replaced")
        run(*forced(FORCED[0], plant(folder, tmp, 0) / "victim" / "filter", other))
    # Nobody may follow their own.
    os.chmod(tmp, 0o755)
    os.chown(victim.folder, NOBODY, NOBODY)
    os.chown(victim.filter, NOBODY, NOBODY)
    status, err = as_nobody("create", plant(theirs, victim.filter, NOBODY), "--hashes", 4, "--length", 11, "--force")
    equal((status, pkbf.Filter.read(victim.filter).p), (0, 11), err)


@case("writing: root's filters never get another owner, nor a mode that lets others write")
def _(tmp):
    needs_root()
    other = make(tmp / "other", 3, 10)
    sticky = tmp / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    f = sticky / "f"
    for uid, gid, mode, expected, told in ((NOBODY, NOBODY, 0o666, (0, 0, 0o644), f"belonged to user {NOBODY}"),
                                           (NOBODY, 0, 0o600, (0, 0, 0o644), f"belonged to user {NOBODY}"),
                                           (0, 12346, 0o660, (0, 12346, 0o640), "had mode 0660, and has 0640 now"),
                                           (0, 0, 0o4755, (0, 0, 0o755), "had mode 4755"),
                                           (0, 12346, 0o640, (0, 12346, 0o640), None)):
        for words in (*(forced(words, f, other) for words in FORCED), ["merge", f, f], ["add", f]):
            shutil.copy(other, f)
            os.chown(f, uid, gid)
            f.chmod(mode)
            _, err = run(*words, stdin=PUBLISHED.encode())
            seen = f.stat()
            equal((seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)), expected, f"{words}: {err}")
            check(told in err if told else "mode" not in err and "owner" not in err, f"{words}: {err}")
            check("trust" not in run("verify", f)[0], "a login would not trust it")
    f.unlink()
    run("create", f, "--hashes", 3, "--length", 10)
    equal((f.stat().st_uid, stat.S_IMODE(f.stat().st_mode)), (0, 0o644), "a new one")


@case("writing: root is told that others can exchange the filter")
def _(tmp):
    needs_root()
    theirs = tmp / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    _, err = run("create", theirs / "f", "--hashes", 3, "--length", 10)
    check(f"warning: {theirs}: directory is not owned by root: a login would not trust this file" in err, err)
    equal((names(theirs), (theirs / "f").stat().st_uid), (["f"], 0), "files")


@case("writing: what is not a regular file is refused, not waited for, and stays")
def _(tmp):
    other = make(tmp / "other", 3, 10)
    os.mkfifo(tmp / "fifo")
    (tmp / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp / "socket"))
        if os.geteuid() == 0:
            os.mknod(tmp / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        before = {path.name: path.lstat()[:2] for path in tmp.iterdir()}
        for name in sorted(before.keys() - {"other"}):
            for words in (*(forced(words, tmp / name, other) for words in FORCED), ["add", tmp / name]):
                _, err = run(*words, status=2, stdin=PUBLISHED.encode())
                check(f"{tmp / name}: not a regular file" in err, err)
        equal({path.name: path.lstat()[:2] for path in tmp.iterdir()}, before, "files")


@case("writing: of a file with two names, the other one stays as it was")
def _(tmp):
    other, f = make(tmp / "other", 4, 10), make(tmp / "f", 3, 10)
    for content in (f.read_bytes(), b"no filter"):
        for words in FORCED:
            for name in ("f", "second", "f.kept"):
                (tmp / name).unlink(missing_ok=True)
            f.write_bytes(content)
            os.link(f, tmp / "second")
            run(*forced(words, f, other))
            equal(((tmp / "second").read_bytes(), pkbf.Filter.read(f).p), (content, 10), "the other name")
            check(f.stat().st_ino != (tmp / "second").stat().st_ino, "written in place")


def exchanging(steps, owner=NOBODY):
    """A process of that user's that makes these steps, each a function, over and over; to be killed."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(owner, owner, owner)
            os.setresuid(owner, owner, owner)
            os.write(told, b"x")
            while True:
                # Now and then it rests, after any of the steps: a command comes to an end undisturbed, too.
                last = random.choice((None, None, *steps))
                for step in steps:
                    try:
                        step()
                    except OSError:     # it is somebody else's for now
                        pass
                    if step is last:
                        time.sleep(0.02)
        finally:
            os._exit(1)
    os.close(told)
    os.read(ready, 1)
    os.close(ready)
    return child


@case("writing: a link and a file exchanged all the time lead root nowhere else")
def _(tmp):
    needs_root()
    victim, other = Victim(tmp), make(tmp / "other", 3, 10)
    content = other.read_bytes()
    sticky, theirs = tmp / "sticky", tmp / "theirs"
    for folder in (sticky, theirs, theirs / "way"):
        folder.mkdir()
        os.chown(folder, NOBODY, NOBODY)
    os.chown(sticky, 0, 0)
    sticky.chmod(0o1777)
    shutil.copy(other, theirs / "way" / "filter")

    def put(folder, name, make_it):
        def step():
            new = folder / ".new"
            new.unlink(missing_ok=True)
            make_it(new)
            os.rename(new, folder / name)
        return step

    def swap_folder(target):
        def step():
            os.rename(theirs / "way", theirs / "real")
            os.symlink(target, theirs / "way")
            (theirs / "way").unlink()
            os.rename(theirs / "real", theirs / "way")
        return step

    seen = set()
    for folder, f, steps in (
            (sticky, sticky / "f", [put(sticky, "f", lambda new: new.symlink_to(victim.secret)),
                                    put(sticky, "f", lambda new: new.symlink_to(victim.filter)),
                                    put(sticky, "f", lambda new: new.write_bytes(content)),
                                    put(sticky, "f", lambda new: new.write_bytes(b"text"))]),
            (theirs, theirs / "way" / "filter", [swap_folder(victim.folder), swap_folder("../victim")])):
        child, deadline = exchanging(steps), time.monotonic() + PATIENCE
        try:
            for turn in itertools.count():
                ends = sum(name == folder.name for name, _ in seen)
                if turn >= 300 and (ends == 2 or time.monotonic() > deadline):
                    break
                words = (*(forced(words, f, other) for words in FORCED), ["add", f])[turn % 3]
                with start(*words) as process:
                    _, err = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
                check(process.returncode in (0, 2), f"{words}: status {process.returncode}: {err}")
                seen.add((folder.name, process.returncode))
                if folder == sticky:
                    for path in sticky.iterdir():
                        path.unlink(missing_ok=True)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        victim.check_untouched(f"{f}")
    check(len(seen) == 4, f"not each of them came to both ends: {seen}")


@case("writing: standard descriptors that are closed are not mistaken for the filter")
def _(tmp):
    (tmp / "keys").write_text(PUBLISHED)
    other = make(tmp / "other", 3, 12, tmp / "keys")
    f = tmp / "f"
    for words in (["create", f, "--hashes", 3, "--length", 12], ["create", f, "--hashes", 3, "--length", 12, "--force"],
                  ["add", f, tmp / "keys"], ["merge", f, other, f], ["merge", f, other, other], ["add", f]):
        for closed in range(8):
            make(f, 3, 12)
            before = f.read_bytes()
            if "--force" not in words and f not in words[2:] and words[0] != "add":
                f.unlink()
            stdin = PUBLISHED.encode() if len(words) == 2 else b""
            redirection = " ".join(f"{fd}>&-" for fd in range(3) if closed & 1 << fd)
            done = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", KEYVETO, "filter", *map(str, words)],
                                  input=stdin, capture_output=True, env=environment(EPOCH), timeout=PATIENCE, check=False)
            content = f.read_bytes()
            if len(words) == 2 and closed & 1:
                expected = (2, before)      # there was nothing to read from
            elif closed == 0:
                good, expected = content, (0, content)
            else:
                expected = (0, good)
            equal((done.returncode, content), expected, f"{words} {redirection}: {done.stderr}")
            equal(done.stdout, b"", "standard output")
            check(bool(done.stderr) != bool(closed & 4), f"{words} {redirection}: {done.stderr}")
            pkbf.Filter.read(f)
            equal(names(tmp), ["f", "keys", "other"], "files")


def as_nobody(*words):
    """Status and messages for a user without rights: nobody, or oneself."""
    who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*who, KEYVETO, "filter", *map(str, words)], input=PUBLISHED.encode(),
                          capture_output=True, check=False, timeout=PATIENCE)
    return done.returncode, done.stderr.decode()


@case("writing: what the user may not write is refused with the reason")
def _(tmp):
    f = make(tmp / "f", 3, 10)
    before = f.read_bytes()
    f.chmod(0o444)
    tmp.chmod(0o777)    # a directory where the file could be replaced
    status, err = as_nobody("add", f)
    equal((status, "ermission denied" in err), (2, True), err)
    tmp.chmod(0o555)
    f.chmod(0o666)
    if os.geteuid() == 0:
        status, err = as_nobody("add", f)
        equal((status, lock_of(f).name in err), (2, True), err)
        # A file of root's in a directory of the user's: it would change hands.
        tmp.chmod(0o777)
        status, err = as_nobody("add", f)
        equal((status, "owner" in err), (2, True), err)
    tmp.chmod(0o755)
    equal(f.read_bytes(), before, "the filter")
    equal(names(tmp), ["f"], "files")


@case("writing: a full disk is reported, and leaves the old filter and nothing else")
def _(tmp):
    lines = key_lines(random.Random(25), 5000)
    (tmp / "keys").write_text("".join(lines))
    make(tmp / "half", 3, 20, tmp / "keys")       # 128 KiB, and no holes
    make(tmp / "other", 3, 20)
    make(tmp / "sparse", 3, 34)                   # 2 GiB of holes
    program = shlex.quote(str(KEYVETO))
    script = f"""
    disk={shlex.quote(str(tmp))}/disk
    mkdir "$disk"
    mount -t tmpfs -o size=200k none "$disk"
    fails() {{
        status=0
        "$@" 2>message || status=$?
        [ $status = 2 ] || {{ echo "$*: status $status"; cat message; }}
        grep -qi 'no space left' message || {{ echo "$*: no reason"; cat message; }}
        grep -q "$disk" message || {{ echo "$*: no name"; cat message; }}
        rm message
    }}
    run() {{
        cp --sparse=always half sparse "$disk"
        # Copying, setting bits in a hole, merging, writing a new one.
        fails {program} filter add "$disk/half" more
        fails {program} filter add "$disk/sparse" keys
        fails {program} filter merge "$disk/half" "$disk/half" other
        fails {program} filter merge "$disk/new" "$disk/half"
        [ "$(ls -A "$disk" | tr '\\n' ' ')" = 'half sparse ' ] || ls -lA "$disk"
        cmp half "$disk/half"
        [ "$(du -k "$disk/sparse" | cut -f1)" -lt 8 ] || echo 'the sparse one was filled'
        {program} filter info --json "$disk/sparse" | grep -q '"set_bits": 0,' || echo 'bits were set'
    }}
    cd {shlex.quote(str(tmp))}
    printf '%s\\n' {shlex.quote(key_lines(random.Random(26), 1)[0].strip())} > more
    run
    mount -t tmpfs none /proc
    run
    """
    equal(in_mount_namespace(script), "", "complaints")


@case("writing: a file size limit is reported")
def _(tmp):
    f = make(tmp / "f", 3, 20)
    before = f.read_bytes()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    for words in (["add", f], ["create", tmp / "g", "--hashes", "3", "--length", "20"]):
        process = start(*words, preexec_fn=limit)
        _, err = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
        equal(process.returncode, 2, f"status ({err})")
        check(b"File too large" in err, err)
    equal((names(tmp), f.read_bytes()), (["f"], before), "the filter")


@case("writing: the same inputs and time make the same bytes")
def _(tmp):
    (tmp / "keys").write_text("".join(any_line(random.Random(27)) for _ in range(50)))
    for name in ("a", "b"):
        make(tmp / name, 9, 16, tmp / "keys")
        run("merge", tmp / f"{name}{name}", tmp / name)
    equal((tmp / "a").read_bytes(), (tmp / "b").read_bytes(), "add")
    equal((tmp / "aa").read_bytes(), (tmp / "bb").read_bytes(), "merge")


# --- merge -----------------------------------------------------------------

def fold(f, p):
    """The bits of an oracle filter, folded to 2**p."""
    size = 2 ** p // 8
    out = bytearray(size)
    for at, byte in enumerate(f.bits):
        out[at % size] |= byte
    return out


def some_filter(rnd, path, k, p, n, **header):
    f = pkbf.Filter.create(k, p, **header)
    spkis = published([any_line(rnd) for _ in range(n)])
    for spki in spkis:
        f.add(spki)
    f.write(path)
    return f, spkis


@case("merge: the union of the bits, entries summed, the next revision")
def _(tmp):
    rnd = random.Random(30)
    for p in (3, 10, 16, 24):
        parts = [some_filter(rnd, tmp / name, 4, p, 30, revision=revision, time=5)
                 for name, revision in (("a", 3), ("b", 11), ("c", 0))]
        run("merge", tmp / "out", tmp / "a", tmp / "b", tmp / "c", "--force")
        out = pkbf.Filter.read(tmp / "out")
        wanted = bytes(a | b | c for a, b, c in zip(*(f.bits for f, _ in parts)))
        check(bytes(out.bits) == wanted, f"p {p}: the bits differ")
        equal((out.k, out.p, out.revision, out.time, out.entries),
              (4, p, 12, EPOCH, sum(f.entries for f, _ in parts)), "header")
        check(all(out.contains(spki) for _, spkis in parts for spki in spkis), "a key is missing")


@case("merge: --fold makes all as short as the shortest")
def _(tmp):
    rnd = random.Random(31)
    for lengths in ((16, 10), (3, 16), (24, 25, 22), (25, 3), (23, 24), (12, 12, 11)):
        parts = [some_filter(rnd, tmp / f"f{n}", 3, p, 10) for n, p in enumerate(lengths)]
        paths = [tmp / f"f{n}" for n in range(len(lengths))]
        _, err = run("merge", tmp / "out", *paths, "--force", status=2)
        check("--fold" in err, f"no way out: {err}")
        run("merge", tmp / "out", *paths, "--force", "--fold")
        out = pkbf.Filter.read(tmp / "out")
        equal(out.p, min(lengths), "p")
        wanted = bytes(functools.reduce(int.__or__, column) for column in zip(*(fold(f, out.p) for f, _ in parts)))
        check(bytes(out.bits) == wanted, f"{lengths}: the bits differ")
        check(all(out.contains(spki) for _, spkis in parts for spki in spkis), "a key is missing")
        (tmp / "out").unlink()


@case("merge: into one of the inputs, which counts once however often it is named")
def _(tmp):
    rnd = random.Random(32)
    a, _ = some_filter(rnd, tmp / "a", 4, 12, 9, revision=1)
    b, _ = some_filter(rnd, tmp / "b", 4, 12, 9, revision=1)
    (tmp / "link").symlink_to("a")
    (tmp / "hard").hardlink_to(tmp / "b")
    run("merge", tmp / "a", tmp / "a", tmp / "b", tmp / "link", tmp / "a", tmp / "hard")
    out = pkbf.Filter.read(tmp / "a")
    check(bytes(out.bits) == bytes(x | y for x, y in zip(a.bits, b.bits)), "the bits differ")
    equal(out.entries, a.entries + b.entries, "entries")
    equal(pkbf.Filter.read(tmp / "b").to_bytes(), b.to_bytes(), "the other input")
    equal(names(tmp), ["a", "b", "hard", "link"], "files")


@case("merge: an OUT that is not among the inputs needs --force")
def _(tmp):
    rnd = random.Random(33)
    for name in ("a", "b", "out"):
        some_filter(rnd, tmp / name, 4, 12, 9)
    before = (tmp / "out").read_bytes()
    _, err = run("merge", tmp / "out", tmp / "a", tmp / "b", status=2)
    check("--force" in err and str(tmp / "out") in err, err)
    equal((tmp / "out").read_bytes(), before, "the file")
    run("merge", tmp / "out", tmp / "a", tmp / "b", "--force")
    check((tmp / "out").read_bytes() != before, "not replaced")


@case("merge: refuses another k, and whatever is no filter")
def _(tmp):
    rnd = random.Random(34)
    some_filter(rnd, tmp / "a", 4, 12, 9)
    some_filter(rnd, tmp / "k", 5, 12, 9)
    (tmp / "cut").write_bytes((tmp / "a").read_bytes()[:-1])
    os.mkfifo(tmp / "fifo")
    for words in (["a", "k"], ["a", "k", "--fold"], ["k", "a"], ["a", "cut"], ["a", "fifo"], ["a", "missing"],
                  ["a", "."]):
        _, err = run("merge", tmp / "out", *(word if word.startswith("--") else tmp / word for word in words), status=2)
        check(str(tmp / words[1]) in err or str(tmp) in err, err)
        check(not (tmp / "out").exists(), "a result was written")
    for words in ([], [tmp / "out"]):
        run("merge", *words, status=2)
    equal(names(tmp), ["a", "cut", "fifo", "k"], "files")


@case("merge: entries and revision stop at the highest number")
def _(tmp):
    for name, header in (("a", (2 ** 32 - 1, 0, 2 ** 32 - 2)), ("b", (1, 0, 2))):
        (tmp / name).write_bytes(struct.pack(">6sIQIBB", b"pkbfv1", *header, 3, 10) + bytes(128))
    run("merge", tmp / "out", tmp / "a", tmp / "b")
    out = pkbf.Filter.read(tmp / "out")
    equal((out.revision, out.entries), (2 ** 32 - 1, 2 ** 32 - 1), "revision and entries")


@case("merge: large filters in bounded memory, holes kept")
def _(tmp):
    for name in ("a", "b"):
        run("add", make(tmp / name, 4, 33), stdin="".join(key_lines(random.Random(name), 50)).encode())
    # And one without holes: its neighbour's size on disk is no matter.
    with open(tmp / "full", "wb") as out:
        out.write(struct.pack(">6sIQIBB", b"pkbfv1", 1, 1, 9 ** 9, 4, 29))
        for _ in range(64):
            out.write(b"\x10" * 2 ** 20)
    for words, words_len in ((["sparse", "a", "b"], 33), (["folded", "a", "b", "full", "--fold"], 29)):
        peak = peak_memory("merge", *(word if word.startswith("--") else tmp / word for word in words))
        check(peak < 24 * 1024, f"{peak} KiB")
        equal(information(tmp / words[0])["length"], words_len, "p")
    check((tmp / "sparse").stat().st_blocks * 512 < 2 ** 21, "the holes were filled")


# --- info, verify, explain -------------------------------------------------

def sparse_filter(path, k, p, entries, revision=1, when=0):
    """A filter without a bit set, of any size."""
    with open(path, "wb") as out:
        out.write(struct.pack(">6sIQIBB", b"pkbfv1", revision, when, entries, k, p))
        out.truncate(24 + 2 ** p // 8)
    return path


@case("info: the rates of the header are the published ones")
def _(tmp):
    for p, k, n, rate in ((4, 2, 1, 0.01466), (32, 20, 440_000_000, 0.0633), (32, 20, 220_000_000, 0.000137),
                          (32, 20, 110_000_000, 1.14e-8), (32, 20, 80_000_000, 7.2e-11)):
        seen = information(sparse_filter(tmp / "f", k, p, n))["fpr_by_header"]
        check(math.isclose(seen, rate, rel_tol=0.01), f"p {p} k {k} n {n}: {seen}, not {rate}")
    for k, p, n in ((1, 3, 0), (1, 3, 5), (255, 40, 1), (255, 40, 2 ** 32 - 1), (7, 30, 1000)):
        seen = information(sparse_filter(tmp / "f", k, p, n))["fpr_by_header"]
        check(math.isclose(seen, pkbf.predicted_rate(k, p, n), rel_tol=1e-9), f"k {k} p {p} n {n}: {seen}")


@case("info: --json tells header, size, fill and rates")
def _(tmp):
    rnd = random.Random(40)
    for k, p in ((2, 4), (5, 12), (7, 16), (20, 22)):
        f, _ = some_filter(rnd, tmp / "f", k, p, 40, revision=3, time=EPOCH)
        seen, share = information(tmp / "f"), f.set_bits() / 2 ** p
        equal({name: seen[name] for name in ("file", "revision", "time", "time_seconds", "entries", "hashes", "length",
                                             "bits", "size", "set_bits", "fill")},
              {"file": str(tmp / "f"), "revision": 3, "time": "2019-04-20T22:38:37Z", "time_seconds": EPOCH,
               "entries": f.entries, "hashes": k, "length": p, "bits": 2 ** p, "size": 24 + 2 ** p // 8,
               "set_bits": f.set_bits(), "fill": share}, "facts")
        check(math.isclose(seen["fpr_by_header"], f.rate(), rel_tol=1e-9), "rate by the header")
        check(math.isclose(seen["fpr_by_bits"], pkbf.rate_by_bits(k, p, share), rel_tol=1e-9), "rate by the bits")
        if share == 1:
            equal(seen["entries_by_bits"], None, "entries by the bits")
        else:
            check(math.isclose(seen["entries_by_bits"], math.log1p(-share) / (k * math.log1p(-2.0 ** -p))),
                  "entries by the bits")


@case("info: the same in words")
def _(tmp):
    (tmp / "keys").write_text(PUBLISHED)
    out, _ = run("info", make(tmp / "f", 5, 12, tmp / "keys"))
    facts = dict(line.strip().split("  ", 1) for line in out.splitlines() if "  " in line.strip())
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    for name, value in (("file", str(tmp / "f")), ("revision", "1"), ("time", "2019-04-20T22:38:37Z"),
                        ("entries", "3"), ("hashes (k)", "5"), ("length (p)", "12"), ("bits", "4096"),
                        ("size in bytes", "536"), ("bits set", "15 (0.3662%)"), ("entries by bits", "3")):
        equal(facts.get(name), value, name)
    for name, rate in (("by the header", pkbf.predicted_rate(5, 12, 3)),
                       ("by the bits", pkbf.rate_by_bits(5, 12, 15 / 4096))):
        equal(facts.get(name), f"{rate:.4g}", name)


@case("info: odd paths and times make no bad JSON")
def _(tmp):
    f, _ = some_filter(random.Random(41), tmp / "f", 3, 10, 5)
    for name in (b"new\nline", b"quote\"", b"\xff\xfe", "é".encode(), b"\x1b[2J"):
        path = os.fsencode(tmp) + b"/" + name
        Path(os.fsdecode(path)).write_bytes(f.to_bytes())
        for words in (["--json"], []):
            process = start("info", *words, os.fsdecode(path))
            out, _ = process.communicate(timeout=PATIENCE)
            equal(process.returncode, 0, "status")
            check(all(byte == 10 or 32 <= byte < 127 for byte in out), f"raw bytes: {out!r}")
            if words:
                seen = json.loads(out)["file"]
                text = name.decode(errors="strict") if name != b"\xff\xfe" else "\\xff\\xfe"
                check(seen.endswith("/" + text), f"file {seen!r}")
    for when, text in ((2 ** 64 - 1, None), (2 ** 63 - 1, None), (253402300800, None),
                       (253402300799, "9999-12-31T23:59:59Z"), (0, "1970-01-01T00:00:00Z")):
        sparse_filter(tmp / "f", 3, 10, 0, when=when)
        seen = information(tmp / "f")
        equal((seen["time"], seen["time_seconds"]), (text, when if when < 2 ** 63 else None), f"time {when}")
        run("info", tmp / "f")


@case("info: a large filter in bounded memory")
def _(tmp):
    sparse_filter(tmp / "f", 3, 31, 0)
    with open(tmp / "f", "r+b") as out:
        out.seek(2 ** 27)
        out.write(b"\xff" * 2 ** 26)
    equal(information(tmp / "f")["set_bits"], 2 ** 29, "bits set")
    peak = peak_memory("info", tmp / "f")
    check(peak < 24 * 1024, f"{peak} KiB")


@case("verify: good filters are ok, in one line")
def _(tmp):
    rnd = random.Random(42)
    run("create", tmp / "f", "--hashes", 3, "--length", 14)
    for _ in range(5):
        out, err = run("verify", tmp / "f")
        check(out.startswith(f"{tmp}/f: ok: k 3, p 14, ") and out.count("\n") == 1 and not err, f"{out!r} {err!r}")
        run("add", tmp / "f", stdin="".join(any_line(rnd) for _ in range(30)).encode())
    some_filter(rnd, tmp / "g", 3, 14, 40)
    run("merge", tmp / "h", tmp / "f", tmp / "g")
    shutil.copy(tmp / "h", tmp / "i")
    run("merge", tmp / "j", tmp / "h", tmp / "i")       # entries counted twice
    for name in "ghij":
        run("verify", tmp / name)


@case("verify: says whether a login would trust the file")
def _(tmp):
    f = make(tmp / "f", 3, 14)
    f.chmod(0o666)
    out, _ = run("verify", f)
    check("would not trust" in out and out.count("\n") == 1, out)
    if os.geteuid() == 0:
        f.chmod(0o644)
        check("trust" not in run("verify", f)[0], "a good file is not trusted")


@case("verify: a file that is no good filter is named with the reason")
def _(tmp):
    f, _ = some_filter(random.Random(43), tmp / "f", 4, 12, 40, revision=1, time=EPOCH)
    good = f.to_bytes()

    def header(revision=1, when=EPOCH, entries=f.entries, k=4, p=12):
        return struct.pack(">6sIQIBB", b"pkbfv1", revision, when, entries, k, p) + good[24:]

    for data, word in ((b"", "shorter"), (good[:23], "shorter"), (good[:-1], "cut short"), (good[:24], "cut short"),
                       (good + b"\0", "damaged"), (b"pkbfv2" + good[6:], "pkbfv1"), (bytes(600), "pkbfv1"),
                       (header(k=0), "0 hash"), (header(p=0), "between"), (header(p=2), "between"),
                       (header(p=41), "between"), (header(p=255), "between"), (header(p=11), "damaged"),
                       (header(p=40), "cut short"), (header(entries=0), "0 entries"),
                       (header(entries=1), "1 entries"), (header(entries=10 ** 6), "1000000 entries"),
                       (good[:24] + bytes(512), "look like 0"), (good[:24] + b"\xff" * 512, "every"),
                       (header(when=2 ** 64 - 1), "date")):
        (tmp / "f").write_bytes(data)
        out, err = run("verify", tmp / "f", status=2)
        check(word in err and f"{tmp}/f: " in err, f"not {word!r}: {err}")
        equal((out, err.count("\n")), ("", 1), f"more than one line ({err})")


@case("verify: every flipped bit and cut of a header is survived")
def _(tmp):
    f, _ = some_filter(random.Random(44), tmp / "f", 4, 6, 10, revision=1, time=EPOCH)
    good = f.to_bytes()
    mutants = [good[:n] for n in range(len(good))]
    for bit in range(24 * 8):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        mutants.append(bytes(data))
    for data in mutants:
        (tmp / "f").write_bytes(data)
        for name in ("verify", "info", "add", "merge"):
            words = [name, tmp / "f", *([tmp / "f", "--fold"] if name == "merge" else [])]
            process = start(*words)
            out, err = process.communicate(timeout=PATIENCE)
            check(process.returncode in (0, 2), f"{name} {data[:24].hex()}: status {process.returncode}")
            check(name == "info" or out.count(b"\n") + err.count(b"\n") == 1, f"{name}: {out} {err}")
            if process.returncode == 2:
                equal((tmp / "f").read_bytes(), data, "the filter")
            elif name == "merge":
                (tmp / "f").write_bytes(data)


@case("verify: what is no regular file is refused, not waited for")
def _(tmp):
    os.mkfifo(tmp / "fifo")
    line = PUBLISHED.encode()
    for path in (tmp / "fifo", tmp, "/dev/null", "/dev/zero", tmp / "missing", ""):
        for name in ("verify", "info", "add"):
            run(name, path, status=2, stdin=line)
        run("explain", path, "-", status=2, stdin=line)
        run("merge", tmp / "out", path, status=2)
        if str(path) and path != tmp / "missing":
            run("create", path, "--hashes", 3, "--length", 9, "--force", status=2)
    equal(names(tmp), ["fifo"], "files")


def explained(*words, **more):
    """explain's output: a list of (rows of one SPKI), and the last words."""
    out, _ = run("explain", *words, **more)
    tables, verdicts = [], []
    for line in out.splitlines():
        if line.startswith("spki sha256 "):
            tables.append({"sha256": line.split()[2], "rows": []})
        elif line.startswith("h1 "):
            tables[-1]["h"] = tuple(int(word, 16) for word in line.split()[1::2])
        elif line in ("listed", "not listed"):
            verdicts.append(line)
        elif line.startswith(" "):
            i, bit, byte, mask, is_set = line.split()
            tables[-1]["rows"].append((int(i), int(bit), int(byte), int(mask, 16), is_set == "yes"))
    return tables, verdicts


@case("explain: the published positions and hashes")
def _(tmp):
    keys = PUBLISHED.splitlines(keepends=True)
    spkis = [parse(keys[0]).spkis[0], parse(keys[1]).spkis[0], parse(keys[1]).compressed[0]]
    hashes = [(0x7f41d67420810de8, 0x89f7fb41341d0581), (0x890fd1597a06a235, 0xf70bde4c65a7a9f5),
              (0x473f7d4c2d70f3c1, 0xbb9ca61f8da6db25)]
    for (k, p), positions in KNOWN_POSITIONS.items():
        f = make(tmp / "f", k, p)
        for spki, wanted, h in zip(spkis, positions, hashes):
            (tables, verdicts) = explained("--spki", f, "-", stdin=spki)
            equal(([row[1] for row in tables[0]["rows"]], tables[0]["h"], verdicts), (wanted, h, ["not listed"]),
                  f"k {k} p {p}")
            equal(tables[0]["sha256"], hashlib.sha256(spki).hexdigest(), "SHA-256")
        equal([[row[1] for row in table["rows"]] for table in explained(f, "-", stdin=PUBLISHED.encode())[0]],
              list(positions[:2]), "from lines")


@case("explain: positions, bytes, masks and verdict as the oracle has them")
def _(tmp):
    rnd = random.Random(50)
    for k, p, n in ((3, 8, 10), (7, 12, 40), (255, 16, 5), (20, 24, 20)):
        f, _ = some_filter(rnd, tmp / "f", k, p, n)
        data = f.to_bytes()
        for line in [any_line(rnd) for _ in range(12)]:
            key = parse(line)
            tables, verdicts = explained(tmp / "f", "-", stdin=line.encode())
            parts = [part for part in (key, key.ca) if part]
            wanted = [spki for part in parts for spki in part.spkis]
            equal([table["sha256"] for table in tables], [hashlib.sha256(spki).hexdigest() for spki in wanted], "SPKIs")
            for table, spki in zip(tables, wanted):
                rows = [(i, bit, 24 + bit // 8, 0x80 >> bit % 8, bool(data[24 + bit // 8] & 0x80 >> bit % 8))
                        for i, bit in enumerate(f.positions(spki))]
                equal(table["rows"], rows, "table")
            equal(verdicts, ["listed" if f.contains_key(part) else "not listed" for part in parts], "verdict")


@case("explain: names file, line, type, fingerprint; listed after add")
def _(tmp):
    (tmp / "keys").write_text("# x\n" + PUBLISHED)
    out, _ = run("explain", make(tmp / "f", 5, 20, tmp / "keys"), tmp / "keys")
    check(out.startswith(f"{tmp}/keys:2: ssh-rsa 2048 {parse(PUBLISHED.splitlines()[0]).fingerprint}\n"), out)
    check(out.endswith("yes\nlisted\n") and " no\n" not in out, out)


@case("explain: an input without a key is an error")
def _(tmp):
    f = make(tmp / "f", 5, 12)
    for stdin in (b"", b"# nothing\n", b"ssh-rsa AAAA\n"):
        run("explain", f, "-", stdin=stdin, status=2)
    run("explain", f, tmp / "missing", status=2)
    run("explain", f, status=2)
    run("explain", f, "-", "-", status=2)


# --- the rest --------------------------------------------------------------

@case("--help of each subcommand; usage of none and of an unknown one")
def _(tmp):
    out, err = run("--help")
    for name in ("create", "add", "merge", "info", "verify", "explain"):
        check(f"\n  {name} " in out, f"{name} is not in the list")
        text, nothing = run(name, "--help")
        check(text.startswith(f"usage: keyveto filter {name} ") and not nothing, text)
        check(all(len(line) <= 80 for line in text.splitlines()[1:]), "a line over 80 characters")
        _, usage = run(name, "--nonsense", status=2)
        check(f"usage: keyveto filter {name} " in usage and "--nonsense" in usage, usage)
    check(not err, err)
    run(status=2)
    _, err = run("b\x1bogus", status=2)
    check("b\\x1bogus" in err, err)


@case("a full standard output is an error")
def _(tmp):
    f = make(tmp / "f", 3, 10)
    for words in (["info", f], ["info", "--json", f], ["verify", f], ["explain", f, "-"], ["--help"]):
        with open("/dev/full", "wb") as full:
            process = start(*words, stdout=full)
            _, err = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
        equal(process.returncode, 2, f"{words[0]}: status ({err})")


if __name__ == "__main__":
    sys.exit(run_all())
