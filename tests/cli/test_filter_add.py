# SPDX-License-Identifier: ISC
"""keyveto filter add."""

import hashlib
import os
import pty
import random
import struct
import time

import pkbf
import pytest
import sshkey
from filter_runs import (EPOCH, MEMORY_TIMES, PUBLISHED, any_line, ed25519_blob, environment, information, key_lines,
                         make, names, parse, peak_memory, published, run, start, without_proc)
from program import KEYVETO, attempt, check, equal
from terminal import read_to_end

KNOWN_FILTERS = {
    (2, 4): "2940693fc9323eb32c667a815f509cbd8a1ea76db19a4c81360ccabfe7a23b9b",
    (3, 6): "ff43f04da5688bec98f26f3753ca4493200fc89129b96d4b39893be22a1bfe8b",
    (5, 12): "f0c0b0c9ddd052ceea4b95adbfd39d5c56ffc2136e3a4f0d095079757d287f34",
    (12, 18): "9186b2081855bf9c2942c8a6ae7466c8aee9ffa8a20126901a9589f8323a51c3",
}


def test_the_published_filters_are_made_byte_for_byte(scratch):
    (scratch / "keys").write_text(PUBLISHED)
    for (k, p), digest in KNOWN_FILTERS.items():
        make(scratch / "f", k, p, scratch / "keys")
        equal(hashlib.sha256((scratch / "f").read_bytes()).hexdigest(), digest, f"k {k} p {p}")


def test_keys_of_every_type_as_the_oracle_adds_them(scratch):
    """Several runs add to the same filter."""
    rnd = random.Random(3)
    for k, p in ((1, 3), (2, 10), (7, 16), (20, 21), (255, 13)):
        mine, oracle = make(scratch / f"f{p}", k, p), pkbf.Filter.create(k, p)
        for turn in range(4):
            lines = [any_line(rnd) for _ in range(30)]
            lines += rnd.sample(lines, 5)
            now = EPOCH + turn
            run("add", mine, epoch=now, stdin="".join(lines).encode())
            oracle.add_run(published(lines), now)
            check(mine.read_bytes() == oracle.to_bytes(), f"k {k} p {p}: differ after run {turn + 1}")


def test_add_continues_a_filter_of_the_oracle(scratch):
    """The oracle reads the result."""
    rnd = random.Random(4)
    lines = [any_line(rnd) for _ in range(60)]
    oracle = pkbf.Filter.create(6, 15, revision=7, time=12345)
    for spki in published(lines[:30]):
        oracle.add(spki)
    oracle.write(scratch / "f")
    (scratch / "keys").write_text("".join(lines))
    run("add", scratch / "f", scratch / "keys")
    both = pkbf.Filter.read(scratch / "f")
    check(all(both.contains_key(parse(line)) for line in lines), "a key is missing")
    equal((both.revision, both.time), (8, EPOCH), "revision and time")
    oracle.add_run(published(lines), EPOCH)
    check(both.to_bytes() == oracle.to_bytes(), "differs from the oracle's")


def test_a_run_that_adds_nothing_leaves_the_file_alone(scratch):
    """The message says that nothing was added."""
    (scratch / "keys").write_text(PUBLISHED)
    make(scratch / "f", 5, 12, scratch / "keys")
    before = os.stat(scratch / "f")
    for words in ([scratch / "keys"], ["/dev/null"], []):
        _, err = run("add", scratch / "f", *words, epoch=None)
        check("nothing added" in err, f"does not say so: {err}")
    after = os.stat(scratch / "f")
    equal((after.st_ino, after.st_mtime_ns, after.st_ctime_ns),
          (before.st_ino, before.st_mtime_ns, before.st_ctime_ns), "the file")
    equal(names(scratch), ["f", "keys"], "files")


def test_says_how_many_were_added_and_how_many_were_there(scratch):
    lines = key_lines(random.Random(5), 10)
    make(scratch / "f", 5, 20)
    run("add", scratch / "f", stdin="".join(lines[:4]).encode())
    _, err = run("add", scratch / "f", stdin="".join(lines).encode())
    equal(err, f"keyveto: {scratch}/f: 6 added, 4 there already; now revision 2 with 10 entries\n", "message")


def test_source_date_epoch_stands_for_now_and_must_be_a_number(scratch):
    line = key_lines(random.Random(6), 1)[0].encode()
    for epoch in ("", None):
        earliest = int(time.time())
        run("add", make(scratch / "f", 5, 12), stdin=line, epoch=epoch)
        check(earliest <= pkbf.Filter.read(scratch / "f").time <= time.time(), "time is not now")
    for epoch in (0, 1, 253402300799):
        run("add", make(scratch / "f", 5, 12), stdin=line, epoch=epoch)
        equal(pkbf.Filter.read(scratch / "f").time, epoch, "time")
    make(scratch / "f", 5, 12)
    before = (scratch / "f").read_bytes()
    for epoch in ("x", "-1", "1.5", "99999999999999999999", "253402300800", " 1"):
        _, err = run("add", scratch / "f", stdin=line, epoch=epoch, status=2)
        check("SOURCE_DATE_EPOCH" in err, f"does not name it: {err}")
    equal((scratch / "f").read_bytes(), before, "the file")


def test_no_compressed_adds_elliptic_curve_keys_once(scratch):
    rnd = random.Random(7)
    lines = [any_line(rnd) for _ in range(40)]
    run("add", make(scratch / "f", 5, 18), "--no-compressed", stdin="".join(lines).encode())
    oracle = pkbf.Filter.create(5, 18)
    oracle.add_run([spki for line in lines for spki in parse(line).spkis], EPOCH)
    check((scratch / "f").read_bytes() == oracle.to_bytes(), "differs from the oracle's")


def test_a_certificates_ca_is_added_only_with_ca(scratch):
    rnd = random.Random(8)
    ca = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(rnd.randbytes(32)))
    blob = sshkey.build_cert(sshkey.cert_name("ssh-ed25519"), sshkey.fields_raw(rnd.randbytes(32)), ca)
    line, key = sshkey.key_line(blob).encode() + b"\n", sshkey.parse(blob)
    for words, has_ca in ((["--ca"], True), ([], False)):
        run("add", make(scratch / "f", 5, 18), *words, stdin=line)
        f = pkbf.Filter.read(scratch / "f")
        check(f.contains_key(key), "the key is missing")
        equal(f.contains_key(key.ca), has_ca, f"CA with {words}")


def test_spki_adds_the_bytes_of_the_file(scratch):
    """A file may hold several SPKIs."""
    rnd = random.Random(9)
    spkis = published([any_line(rnd) for _ in range(40)])
    spkis.append(sshkey.der_seq(sshkey.der_seq(sshkey.der_oid("1.2.3.4")), sshkey.der(3, b"\0", rnd.randbytes(70000))))
    for number, spki in enumerate(spkis[:10]):
        (scratch / f"s{number}").write_bytes(spki)
    run("add", make(scratch / "f", 5, 18), "--spki", *(scratch / f"s{n}" for n in range(10)), "-",
        stdin=b"".join(spkis[10:]))
    oracle = pkbf.Filter.create(5, 18)
    oracle.add_run(spkis, EPOCH)
    check((scratch / "f").read_bytes() == oracle.to_bytes(), "differs from the oracle's")


def test_spki_refuses_what_is_not_an_spki_and_adds_the_rest(scratch):
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
        (scratch / "bad").write_bytes(good[0] + junk + good[1])
        (scratch / "good").write_bytes(good[2])
        _, err = run("add", make(scratch / "f", 5, 18), "--spki", scratch / "bad", scratch / "good", status=2)
        check(f"keyveto: {scratch}/bad: " in err, f"number {number}: {err}")
        f = pkbf.Filter.read(scratch / "f")
        check(f.contains(good[0]) and f.contains(good[2]), f"number {number}: a good one is missing")
        check(f.entries == 2, f"number {number}: {f.entries} entries")
    (scratch / "cut").write_bytes(good[0][:-1])
    for missing in (scratch / "none", scratch, scratch / "cut"):
        _, err = run("add", make(scratch / "f", 5, 18), "--spki", missing, scratch / "good", status=2)
        check(f"keyveto: {missing}: " in err, err)
        equal(pkbf.Filter.read(scratch / "f").entries, 1, "entries")


def test_broken_lines_are_reported_with_file_and_line(scratch):
    """The other lines are added."""
    rnd = random.Random(11)
    good = key_lines(rnd, 3)
    text = [good[0], "# comment\n", "ssh-ed25519 AAAAC3Nz\x1b[31m comment\n", good[1], "ssh-rsa AAAA\n", "\n", good[2]]
    (scratch / "keys").write_text("".join(text))
    _, err = run("add", make(scratch / "f", 5, 18), scratch / "keys", scratch / "missing\n", status=2)
    for line in (3, 5):
        check(f"keyveto: {scratch}/keys:{line}: " in err, f"line {line} is not named: {err}")
    check(f"keyveto: {scratch}/missing\\x0a: " in err, f"the missing file is not named: {err}")
    f = pkbf.Filter.read(scratch / "f")
    equal(f.entries, 3, "entries")
    check(all(f.contains_key(parse(line)) for line in good), "a good key is missing")


def test_a_directory_of_thousands_of_files(scratch):
    lines = key_lines(random.Random(12), 3000)
    for number, line in enumerate(lines):
        folder = scratch / "keys" / f"{number % 7}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"id{number}.pub").write_text(line)
    run("add", make(scratch / "f", 10, 20), scratch / "keys")
    f = pkbf.Filter.read(scratch / "f")
    equal((f.entries, f.revision), (3000, 1), "entries and revision")
    check(all(f.contains_key(parse(line)) for line in lines), "a key is missing")


def test_a_filter_that_cannot_count_any_further_is_left_alone(scratch):
    line = key_lines(random.Random(13), 1)[0].encode()
    for field, header in (("entries", (1, 5, 2 ** 32 - 1)), ("revision", (2 ** 32 - 1, 5, 1))):
        data = struct.pack(">6sIQIBB", b"pkbfv1", *header, 3, 10) + bytes(128)
        (scratch / "f").write_bytes(data)
        _, err = run("add", scratch / "f", stdin=line, status=2)
        check(field in err or "count" in err, err)
        equal((scratch / "f").read_bytes(), data, f"the file ({field})")
        equal(names(scratch), ["f"], "files")
    (scratch / "f").write_bytes(struct.pack(">6sIQIBB", b"pkbfv1", 2 ** 32 - 2, 5, 2 ** 32 - 2, 3, 10) + bytes(128))
    run("add", scratch / "f", stdin=line)
    f = pkbf.Filter.read(scratch / "f")
    equal((f.revision, f.entries), (2 ** 32 - 1, 2 ** 32 - 1), "the last revision and entry")


def test_without_a_filter_add_says_what_to_type(scratch):
    _, err = run("add", scratch / "f", stdin=PUBLISHED.encode(), status=2)
    check("filter create" in err and f"{scratch}/f" in err, err)
    run("add", status=2)
    equal(names(scratch), [], "files")


def test_a_million_keys_in_bounded_memory(scratch):
    keys, blob = scratch / "keys", ed25519_blob(bytes(32))
    line = sshkey.key_line(blob)
    rnd = random.Random(14)
    with open(keys, "w", encoding="ascii") as out:
        for _ in range(1000):
            # The last 40 characters of the line are all of the key itself.
            out.write("".join(line[:-40] + rnd.randbytes(30).hex()[:40].upper() + "\n" for _ in range(1000)))
    make(scratch / "f", 3, 24)
    # The filter is 2 MiB of this.
    peak = peak_memory("add", scratch / "f", keys)
    check(peak < 24 * 1024 * MEMORY_TIMES, f"{peak} KiB")
    check(information(scratch / "f")["entries"] > 990000, "keys are missing")


def large_filter(path, rnd, k, p):
    """A filter whose first half has random bits, and whose second half is a hole: as the oracle's."""
    bits = bytearray(rnd.randbytes(2 ** p // 16) + bytes(2 ** p // 16))
    oracle = pkbf.Filter(k, p, revision=4, time=5, entries=6, bits=bits)
    with open(path, "wb") as file:
        file.write(oracle.to_bytes()[:24 + 2 ** p // 16])
        file.truncate(24 + 2 ** p // 8)
    return oracle


def many_lines(rnd, n):
    """Lines of n different keys, then some of them again: in all, three batches (ADDITIONS_BATCH)."""
    lines = key_lines(rnd, n)
    return lines + lines[:n // 2] + key_lines(rnd, n) + lines[n // 2:]


@pytest.mark.long
def test_a_filter_larger_than_the_window_as_the_oracle_adds_to_it(scratch):
    """In bounded memory, with keys that are there already, also those of an earlier batch; WINDOW_BYTES is 64 MiB."""
    rnd = random.Random(16)
    f, keys = scratch / "f", scratch / "keys"
    oracle, lines = large_filter(f, rnd, 3, 30), many_lines(rnd, 12000)
    keys.write_text("".join(lines))
    oracle.add_run(published(lines), EPOCH)
    peak = peak_memory("add", f, keys)
    check(f.read_bytes() == oracle.to_bytes(), f"differs from the oracle's: {information(f)}")
    check(peak < 96 * 1024 * MEMORY_TIMES, f"{peak} KiB")
    before = os.stat(f)
    _, err = run("add", f, keys)
    check(f"nothing added, {len(lines)} there already" in err, err)
    after = os.stat(f)
    equal((after.st_ino, after.st_ctime_ns), (before.st_ino, before.st_ctime_ns), "the file")
    # One key more: the first of its bits may be in any of the windows.
    for line in key_lines(rnd, 3):
        keys.write_text("".join(lines) + line)
        run("add", f, keys)
        oracle.add_run(published([line]), EPOCH)
    check(f.read_bytes() == oracle.to_bytes(), f"differs from the oracle's: {information(f)}")
    equal(names(scratch), ["f", "keys"], "files")


def test_many_keys_without_o_tmpfile(scratch):
    """The file for the keys has a name for a moment."""
    rnd = random.Random(17)
    f, lines = make(scratch / "f", 2, 30), key_lines(rnd, 17000)
    done = attempt(*without_proc(), KEYVETO, "filter", "add", f, text=False, input="".join(lines).encode(),
                   env=environment(EPOCH))
    equal(done.returncode, 0, done.stderr)
    check(b": 17000 added, 0 there already" in done.stderr, done.stderr)
    equal(names(scratch), ["f"], "files")


def test_a_sparse_filter_stays_sparse(scratch):
    """8 GiB: each bit takes a page of the disk at most."""
    rnd = random.Random(18)
    f, lines, k, p = make(scratch / "f", 5, 36), key_lines(rnd, 200), 5, 36
    run("add", f, stdin="".join(lines[:100]).encode())
    run("add", f, stdin="".join(lines).encode())
    bits = {bit for spki in published(lines) for bit in pkbf.positions(spki, k, p)}
    with open(f, "rb") as file:
        for bit in bits:
            byte = os.pread(file.fileno(), 1, 24 + bit // 8)[0]
            check(byte & 0x80 >> bit % 8, f"bit {bit} is not set")
    about = information(f)
    equal((about["set_bits"], about["entries"]), (len(bits), 200), "bits and entries")
    # And some for the blocks that say where the data are.
    check(f.stat().st_blocks * 512 < (len(bits) + 100) * 4096, f"{f.stat().st_blocks} blocks")


def test_progress_is_shown_on_a_terminal_and_not_in_a_pipe(scratch):
    (scratch / "keys").write_text("".join(key_lines(random.Random(15), 30000)))
    check("\r" not in run("add", make(scratch / "f", 9, 24), scratch / "keys")[1], "progress in a pipe")
    make(scratch / "f", 9, 24)
    ours, theirs = pty.openpty()
    process = start("add", scratch / "f", scratch / "keys", stderr=theirs)
    os.close(theirs)
    seen = read_to_end(ours)
    process.communicate()
    equal(process.returncode, 0, "status")
    check(b"\radding" in seen.replace(b"\x1b[K", b"") and b"MiB" in seen, f"no progress: {seen!r}")
    check(b"30000 added" in seen, f"no summary: {seen!r}")
