# SPDX-License-Identifier: ISC
"""keyveto filter diff and patch, list diff and patch, with the oracle's deltas beside them."""

import hashlib
import os
import random
import re
import signal
import struct
import subprocess

import pytest

import delta
import pkbf
from filter_runs import names, peak_memory
from list_runs import random_records, write_list
from program import ADDRESS_SANITIZER, KEYVETO, PATIENCE, ROOT, contains, equal, wait_until
from runs import run

CALLS = ("openat", "flock", "fstat", "newfstatat", "pread64", "pwrite64", "ftruncate", "fchmod", "fchown", "fsync",
         "linkat", "unlinkat", "renameat", "write", "close")


def filter_bytes(rnd, k, p, revision, bits, base=None):
    """A filter in which so many bits are set at random, beside those of base."""
    made = pkbf.Filter(k, p, revision, 1_555_799_917 + revision, bits // k, base and bytearray(base[24:]))
    for bit in (rnd.randrange(2 ** p) for _ in range(bits)):
        made.bits[bit // 8] |= 128 >> bit % 8
    return made.to_bytes()


def two_filters(rnd, k=3, p=10, before=60, added=30):
    old = filter_bytes(rnd, k, p, 1, before)
    return old, filter_bytes(rnd, k, p, 2, added, old)


def two_lists(rnd, before=300, gone=7, came=25):
    """As bytes. Some records stand there twice, and some hashes under two sources."""
    pool = [digest + bytes([number]) for digest, number in random_records(rnd, before, ids=(1, 2, 200))]
    pool += rnd.choices(pool, k=before // 30)
    left = rnd.sample(pool, max(len(pool) - gone, 0))
    new = left + [rnd.randbytes(15) + b"\7" for _ in range(came)] + [one[:15] + b"\x09" for one in left[:came // 5]]
    return b"".join(sorted(pool)), b"".join(sorted(new))


def put(folder, **files):
    """Writes files, and returns their paths."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return [folder / name for name in files]


def keyveto(verb, *words, status=0):
    """Runs keyveto filter or list: its messages."""
    return run(*verb.split(), *words, status=status).messages


def made_by(verb, folder, old, new):
    """The delta that keyveto makes."""
    a, b = put(folder, a=old, b=new)
    keyveto(f"{verb} diff", a, b, folder / "made", "--force")
    return (folder / "made").read_bytes()


def patched_by(verb, folder, old, change):
    a, d = put(folder, a=old, d=change)
    keyveto(f"{verb} patch", a, d, folder / "patched", "--force")
    return (folder / "patched").read_bytes()


def agree(verb, folder, old, new, what):
    """keyveto and the oracle make the same delta, and each makes the new file of it."""
    ours, theirs = made_by(verb, folder, old, new), delta.diff(old, new)
    equal(ours, theirs, f"the delta of {what}")
    equal(delta.patch(old, ours), new, f"patched by the oracle: {what}")
    equal(patched_by(verb, folder, old, theirs), new, f"patched: {what}")
    return ours


def test_deltas_of_random_filters_are_those_of_the_oracle(scratch):
    rnd = random.Random(50)
    cases = [(1, p, rnd.randrange(2 ** p // 2), added) for p in range(3, 8) for added in (1, 2 ** p // 2, 2 ** p * 8)]
    cases += [(rnd.randrange(1, 256), rnd.randrange(8, 17), rnd.randrange(6000), added)
              for added in (0, *(rnd.randrange(6000) for _ in range(20)))]
    for k, p, before, added in cases:
        old, new = two_filters(rnd, k, p, before, added)
        agree("filter", scratch, old, new, (k, p, before, added))


def test_bits_in_heaps_get_another_parameter(scratch):
    """All gaps are 0 or 1: a power of two takes fewer bits than what suits scattered bits."""
    old = pkbf.Filter(5, 18, 1).to_bytes()
    new = pkbf.Filter(5, 18, 2)
    new.bits[:1024] = b"\xef" * 1024
    made = agree("filter", scratch, old, new.to_bytes(), "heaps")
    zeros, n = 2 ** 18, 7 * 1024
    equal(struct.unpack(">QQ", made[119:135]), (n, 1), "n and m")
    assert (45426 * (zeros - n) + 55481 * n) // (65536 * n) > 20, "the guess is no other one"


def test_deltas_of_random_lists_are_those_of_the_oracle(scratch):
    rnd = random.Random(51)
    for before, gone, came in [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 1, 0), (30, 0, 1), (2, 1, 0), (300, 310, 0),
                               *((rnd.randrange(1, 2000), rnd.randrange(20), rnd.randrange(200)) for _ in range(15))]:
        old, new = two_lists(rnd, before, gone, came)
        try:
            agree("list", scratch, old, new, (before, gone, came))
        except delta.NoSuccessor:
            a, b = put(scratch, a=old, b=new)
            contains(keyveto("list diff", a, b, scratch / "no", status=2)[0], "not a successor")
    extremes = b"".join(sorted([b"\0" * 16, b"\xff" * 16, b"\0" * 8 + b"\1" * 8, b"\xff" * 8 + b"\1" * 8]))
    agree("list", scratch, b"\5" * 16, b"".join(sorted([extremes[i:i + 16] for i in range(0, 64, 16)] + [b"\5" * 16])),
          "extremes")


def test_the_example_of_the_manual_page(scratch):
    page = (ROOT / "man/pkbf-delta.5").read_text(encoding="utf-8")
    shown = bytes.fromhex(re.search(r"^\.Bd -literal -offset indent\n((?:[0-9a-f]{2}[ \n])+)\.Ed$", page,
                                    re.MULTILINE)[1])
    facts = re.findall(r"(revision|the time|bits|,) ((?:[0-9a-f]{2} )?[0-9a-f]+)(?: entries)?",
                       page.split(".Sh EXAMPLES", 1)[1].split(".Bd", 1)[0])
    values = [value for _, value in facts]
    equal(values, ["1", "1555799917", "3", "46 e0", "2", "1555886317", "4", "46 e9"], "the page")
    old, new = (pkbf.Filter(2, 4, int(revision), int(time), int(entries), bytearray.fromhex(bits)).to_bytes()
                for revision, time, entries, bits in (values[:4], values[4:]))
    equal(agree("filter", scratch, old, new, "the example"), shown, "the example")


@pytest.mark.long
def test_within_two_percent_of_the_entropy_bound(scratch):
    """Of all that 1000 to 200,000 keys add, the header included."""
    rnd = random.Random(52)
    for k, p, before, keys in ((12, 20, 30_000, 1000), (20, 22, 500_000, 1000), (12, 24, 4_000_000, 20_000),
                               (12, 24, 2_000_000, 200_000)):
        old, new = two_filters(rnd, k, p, before, k * keys)
        size = len(made_by("filter", scratch, old, new))
        bound = delta.entropy_bytes(old, new)
        assert size <= 1.02 * bound, f"k {k}, p {p}, {keys} keys: {size} bytes, {size / bound:.4f} times the bound"
        equal(patched_by("filter", scratch, old, (scratch / "made").read_bytes()), new, "patched")


def test_what_is_no_successor_has_no_delta(scratch):
    rnd = random.Random(53)
    old, new = two_filters(rnd)
    other_k, other_p = filter_bytes(rnd, 4, 10, 2, 0, old), filter_bytes(rnd, 3, 11, 2, 60)
    unrelated = filter_bytes(rnd, 3, 10, 2, 60)
    a, b, *others = put(scratch, a=old, b=new, k=other_k, p=other_p, unrelated=unrelated)
    for path, why in ((others[0], "k is 3, and in the new filter 4"), (others[1], "p is 10, and in the new filter 11"),
                      (others[2], "bits of the old filter are not set in the new one")):
        equal(keyveto("filter diff", a, path, scratch / "out", status=2),
              [f"keyveto: {path}: not a successor of {a}: {why}"], "messages")
    keyveto("filter diff", b, a, scratch / "out", status=2)
    lists = put(scratch, l=two_lists(rnd)[0], m=two_lists(rnd)[1], disorder=b"\2" * 16 + b"\1" * 16, cut=b"\1" * 17)
    contains(keyveto("list diff", *lists[:2], scratch / "out", status=2)[0], "not a successor", "no record in common")
    contains(keyveto("list diff", lists[0], lists[2], scratch / "out", status=2)[0], "below the one before it")
    contains(keyveto("list diff", lists[0], lists[3], scratch / "out", status=2)[0], "no whole records")
    contains(keyveto("list diff", a, b, scratch / "out", status=2)[0], "keyveto filter diff")
    for pair in ((a, lists[0]), (lists[0], a), (a, scratch), (a, scratch / "none"), (scratch / "none", a)):
        keyveto("filter diff", *pair, scratch / "out", status=2)
    assert not (scratch / "out").exists(), "something was written"


def test_a_delta_applies_to_one_file_only(scratch):
    rnd = random.Random(54)
    old, new = two_filters(rnd)
    twin = bytearray(old)
    twin[30] ^= 1
    d, *others = put(scratch, d=delta.diff(old, new), new=new, twin=twin, short=old[:-1], header=new[:24] + old[24:],
                     other=filter_bytes(rnd, 3, 10, 1, 60), larger=filter_bytes(rnd, 3, 11, 1, 60))
    for path in others:
        before = path.read_bytes()
        for words in ((path, d), (path, d, scratch / "out")):
            contains(keyveto("filter patch", *words, status=2)[-1], f"{d}: does not apply to {path}: ")
        equal(path.read_bytes(), before, "the old file")
    old, new = two_lists(rnd)
    changed = bytearray(old)
    changed[-1] ^= 1
    e, *others = put(scratch, e=delta.diff(old, new), made=new, longer=old + b"\xff" * 16, changed=changed)
    for path in others:
        contains(keyveto("list patch", path, e, scratch / "out", status=2)[-1], f"{e}: does not apply to {path}: ")
    contains(keyveto("filter patch", others[0], e, scratch / "out", status=2)[-1], "type 'keyveto list patch'")
    contains(keyveto("list patch", others[0], d, scratch / "out", status=2)[-1], "type 'keyveto filter patch'")
    for path in (others[0], scratch, scratch / "none"):
        keyveto("list patch", others[0], path, scratch / "out", status=2)
    assert not (scratch / "out").exists(), "something was written"


def test_without_new_the_old_file_is_replaced(scratch):
    rnd = random.Random(55)
    for verb, (old, new) in (("filter", two_filters(rnd)), ("list", two_lists(rnd))):
        a, d = put(scratch, a=old, d=delta.diff(old, new))
        a.chmod(0o640)
        before = a.stat().st_ino
        with a.open("rb") as reader:
            keyveto(f"{verb} patch", a, d)
            equal(reader.read(), old, "who had it open")
        equal((a.read_bytes(), a.stat().st_mode & 0o777), (new, 0o640), "the file")
        assert a.stat().st_ino != before, "written in place"
        contains(keyveto(f"{verb} patch", a, d, status=2)[-1], "does not apply to")
        equal(a.read_bytes(), new, "the file")
        a.write_bytes(old)
        (scratch / "link").symlink_to("a")
        keyveto(f"{verb} patch", a, d, scratch / "link")
        equal((a.read_bytes(), (scratch / "link").is_symlink()), (new, True), "the file through a link")
        equal(names(scratch), ["a", "d", "link"], "files")
        (scratch / "link").unlink()


def test_only_force_replaces_another_file(scratch):
    rnd = random.Random(56)
    for verb, (old, new) in (("filter", two_filters(rnd)), ("list", two_lists(rnd))):
        a, b, d, out = put(scratch, a=old, b=new, d=delta.diff(old, new), out=old)
        other = delta.diff(old, old)
        for words, there, kept in ((("diff", a, b, out), other, False), (("diff", a, b, out), b"precious", True),
                                   (("patch", a, d, out), old, False), (("patch", a, d, out), b"precious", True)):
            out.write_bytes(there)
            contains(keyveto(f"{verb} {words[0]}", *words[1:], status=2)[-1], f"{out}: ", "--force")
            equal(out.read_bytes(), there, "the file that is there")
            keyveto(f"{verb} {words[0]}", *words[1:], "--force")
            equal(out.read_bytes(), d.read_bytes() if words[0] == "diff" else new, words)
            equal(out.with_name("out.kept").exists(), kept, "kept")
            if kept:
                equal(out.with_name("out.kept").read_bytes(), there, "kept")
                out.with_name("out.kept").unlink()


def test_what_is_no_regular_file_is_refused(scratch):
    rnd = random.Random(57)
    for verb, (old, new) in (("filter", two_filters(rnd)), ("list", two_lists(rnd))):
        a, b, d = put(scratch, a=old, b=new, d=delta.diff(old, new))
        fifo = scratch / f"fifo-{verb}"
        os.mkfifo(fifo)
        for words in (("diff", fifo, b, "out"), ("diff", a, fifo, "out"), ("diff", a, b, fifo), ("patch", fifo, d),
                      ("patch", a, fifo), ("patch", a, d, fifo), ("diff", a, b, "/dev/stdout"),
                      ("patch", a, d, "/dev/stdout")):
            done = run(verb, *words, "--force", status=2, cwd=scratch)
            equal(done.out, b"", words)
        equal(sorted(set(names(scratch)) - {"a", "b", "d", "fifo-filter", "fifo-list"}), [], "files")


@pytest.mark.long
def test_a_damaged_delta_never_makes_a_file(scratch):
    """Each cut and each changed byte of small deltas, and bytes behind them."""
    rnd = random.Random(58)
    step = 5 if ADDRESS_SANITIZER else 1
    for verb, (old, new) in (("filter", two_filters(rnd, p=7, before=20, added=12)),
                             ("list", two_lists(rnd, 40, 3, 4))):
        good = delta.diff(old, new)
        bad = [good[:cut] for cut in range(0, len(good), step)]
        bad += [good + more for more in (b"\0", b"\xff", good)]
        for at in range(0, len(good), step):
            for flip in (1, 0x80, 0xff):
                bad.append(good[:at] + bytes([good[at] ^ flip]) + good[at + 1:])
        a, d = put(scratch, a=old, d=good)
        for number, change in enumerate(bad):
            d.write_bytes(change)
            with pytest.raises((delta.BadDelta, delta.NoSuccessor)):
                delta.patch(old, change)
            keyveto(f"{verb} patch", a, d, scratch / "out", status=2)
            assert not (scratch / "out").exists(), f"{verb}, number {number}"
        equal((a.read_bytes(), names(scratch)), (old, ["a", "d"]), "files")


def forged(kind, old, new, body):
    """A delta whose SHA-256 are right, whatever its body says."""
    return b"pkbfd1" + bytes([kind]) + hashlib.sha256(old).digest() + hashlib.sha256(new).digest() + body


def test_forms_that_are_not_canonical_are_refused(scratch):
    """They would give the right file."""
    rnd = random.Random(59)
    old, new = two_filters(rnd, p=7, before=20, added=12)
    good = delta.diff(old, new)
    n, m = struct.unpack(">QQ", good[119:135])
    codes = good[135:]

    def filters(m=m, codes=codes, n=n, heads=good[71:119], old=old, new=new):
        return forged(1, old, new, heads + struct.pack(">QQ", n, m) + codes)
    used = sum(delta.bits_for([gap], m) for gap in delta.gaps(
        i for i, bit in enumerate(delta.bit_numbers(old[24:], 0)) if new[24 + bit // 8] >> 7 - bit % 8 & 1))
    assert used % 8 != 0, "no bits fill the last byte"
    equal(filters(), good, "the helper")
    same = old[:24] * 2
    bad = [("filter", old, filters(codes=codes[:-1] + bytes([codes[-1] | 1]))),
           ("filter", old, filters(codes=codes + b"\0")),
           ("filter", old, filters(m=0)),
           ("filter", old, forged(1, old, old, same + struct.pack(">QQ", 0, 2))),
           ("filter", old, forged(1, old, old, same + struct.pack(">QQ", 0, 1) + b"\0"))]
    old, new = two_lists(rnd, 40, 3, 0)
    good = delta.diff(old, new)
    fields = list(struct.unpack(">6Q", good[71:119]))
    codes = good[119:]
    equal((fields[2], fields[4], fields[5]), (3, len(codes), 1), "the fields")

    def lists(*changes, codes=codes):
        for at, value in changes:
            assert fields[at] != value
        changed = [dict(changes).get(at, value) for at, value in enumerate(fields)]
        return forged(2, old, new, struct.pack(">6Q", *changed) + codes)
    equal(lists(), good, "the helper")
    bad += [("list", old, lists((5, 2))), ("list", old, lists((4, len(codes) - 1))),
            ("list", old, lists((4, len(codes) + 1), codes=codes + b"\0")), ("list", old, lists(codes=codes + b"\0"))]
    for number, (verb, before, change) in enumerate(bad):
        a, d = put(scratch, a=before, d=change)
        with pytest.raises(delta.BadDelta):
            delta.patch(before, change)
        contains(keyveto(f"{verb} patch", a, d, scratch / "out", status=2)[-1], f"{d}: ")
        assert not (scratch / "out").exists(), f"number {number}"


def test_records_that_came_out_of_order_are_refused(scratch):
    old = b"\1" * 16
    new = old + b"\2" * 8 + b"\5" * 8 + b"\2" * 8 + b"\4" * 8
    leading = int.from_bytes(b"\2" * 8, "big")
    m = 2 ** 60
    codes = delta.to_bytes(delta.code(leading, m) + delta.binary(int.from_bytes(b"\5" * 8, "big"), 64)
                           + delta.code(0, m) + delta.binary(int.from_bytes(b"\4" * 8, "big"), 64))
    a, d = put(scratch, a=old, d=forged(2, old, new, struct.pack(">6Q", 1, 3, 0, 1, 0, m) + codes))
    with pytest.raises(delta.BadDelta):
        delta.patch(old, d.read_bytes())
    contains(keyveto("list patch", a, d, scratch / "out", status=2)[-1], "a damaged delta")
    assert not (scratch / "out").exists(), "something was written"


def test_an_adversarys_delta_costs_no_more_than_its_header_says(scratch):
    """Large numbers, and files full of ones: refused at once, in a few MiB of memory."""
    rnd = random.Random(60)
    old, new = two_filters(rnd)
    heads = delta.diff(old, new)[71:119]
    lists = two_lists(rnd)
    most = 2 ** 64 - 1
    bodies = [("filter", old, new, heads + struct.pack(">QQ", n, m) + codes)
              for n, m in ((most, 1), (2 ** 10, 1), (2 ** 10, 2 ** 63), (2 ** 10 + 1, 1), (1, most), (30, 1), (30, 2))
              for codes in (b"", b"\xff" * 1000, b"\0" * 100, b"\xff" * 128)]
    bodies += [("list", *lists, struct.pack(">6Q", *fields) + codes)
               for fields in ((310, most, 0, 1, 0, 1), (most, most, most, 1, 0, 1), (310, 400, 310, 1, most, 1),
                              (310, 2 ** 28, 0, 1, 0, 1), (310, 2 ** 28, 0, 1, 0, 2 ** 63),
                              (310, 400, 311, 1, 39, 1), (310, 10, 20, 1, 39, 1), (310, 309, 1, 1, 39, 1))
               for codes in (b"", b"\xff" * 1000)]
    a, d, out = scratch / "a", scratch / "d", scratch / "out"
    for number, (verb, before, after, body) in enumerate(bodies):
        a.write_bytes(before)
        d.write_bytes(forged(1 if verb == "filter" else 2, before, after, body))
        keyveto(f"{verb} patch", a, d, out, status=2)
        assert not out.exists(), f"number {number}"
    # 4 GiB of ones, without a byte on disk.
    with d.open("wb") as file:
        file.write(forged(1, old, new, heads + struct.pack(">QQ", 30, 1)))
        file.truncate(2 ** 32)
    a.write_bytes(old)
    contains(keyveto("filter patch", a, d, out, status=2)[-1], "its header contradicts itself or its size")


def test_a_large_filter_takes_a_few_mib_of_memory(scratch):
    if ADDRESS_SANITIZER:
        pytest.skip("AddressSanitizer has more memory")
    rnd = random.Random(61)
    a, b, d, out = (scratch / name for name in ("a", "b", "d", "out"))
    block = rnd.randbytes(1 << 20)
    with a.open("wb") as old, b.open("wb") as new:
        old.write(struct.pack(">6sIQIBB", b"pkbfv1", 1, 1, 1, 12, 29))
        new.write(struct.pack(">6sIQIBB", b"pkbfv1", 2, 2, 2, 12, 29))
        for number in range(64):
            old.write(block)
            changed = bytearray(block)
            for _ in range(5000):
                changed[rnd.randrange(len(block))] |= 1 << rnd.randrange(8)
            new.write(changed if number % 2 else block)
    small = [scratch / name for name in ("c", "e")]
    for path, data in zip(small, two_filters(rnd)):
        path.write_bytes(data)
    least = peak_memory("diff", *small, scratch / "f")
    assert peak_memory("diff", a, b, d) < least + 4096, "diff"
    assert peak_memory("patch", a, d, out) < least + 4096, "patch"
    equal(subprocess.run(["cmp", b, out], check=False).returncode, 0, "the new filter")


def test_a_sparse_filter_stays_sparse(scratch):
    a, b, d, out = (scratch / name for name in ("a", "b", "d", "out"))
    for path, revision, bits in ((a, 1, ()), (b, 2, (5, 2 ** 27 + 9, 2 ** 29 - 1))):
        with path.open("wb") as file:
            file.write(struct.pack(">6sIQIBB", b"pkbfv1", revision, 1, len(bits), 12, 29))
            file.truncate(24 + 2 ** 26)
            for bit in bits:
                file.seek(24 + bit // 8)
                file.write(bytes([128 >> bit % 8]))
    keyveto("filter diff", a, b, d)
    keyveto("filter patch", a, d, out)
    equal(subprocess.run(["cmp", b, out], check=False).returncode, 0, "the new filter")
    if b.stat().st_blocks < 1000:       # this file system has holes
        assert out.stat().st_blocks < 1000, out.stat().st_blocks


def traced(folder, options, *words):
    """Runs keyveto under strace, with those options: (status, messages)."""
    done = subprocess.run(["strace", "-f", "-qq", "-o", folder / "trace", *options, KEYVETO, *words],
                          capture_output=True, check=False, timeout=PATIENCE, text=True)
    return done.returncode, done.stderr


def at_each_call(scratch, injected, judge):
    """Patches with a fault in another system call each time."""
    rnd = random.Random(62)
    turns = 0
    place = scratch / "place"
    place.mkdir()
    for verb, (old, new) in (("filter", two_filters(rnd, 12, 24, 100_000, 12_000)),
                             ("list", two_lists(rnd, 140_000, 10, 300))):
        a, = put(place, a=old)
        d, = put(scratch, d=made_by(verb, scratch, old, new))
        words = (verb, "patch", a, d)
        equal(traced(scratch, ["-e", "trace=" + ",".join(CALLS)], *words)[0], 0, "the status")
        calls = re.findall(r"^\d+ +(\w+)\(", (scratch / "trace").read_text(errors="replace"), re.MULTILINE)
        begun = calls.index("flock") - 1
        for name in dict.fromkeys(calls[begun:]):
            mine = range(calls[:begun].count(name) + 1, calls.count(name) + 1)
            for number in sorted({*mine[::max(1, len(mine) // 5)], *mine[-5:]}):
                put(place, a=old)
                ended = traced(scratch, ["-e", f"trace={name}", "-e", f"inject={name}:{injected}:when={number}"],
                               *words)
                judge(f"{verb}, {name} {number}: {ended}", place, ended, old, new)
                turns += 1
                if a.read_bytes() == old:
                    keyveto(f"{verb} patch", a, d)
                equal((a.read_bytes(), names(place)), (new, ["a"]), f"{name} {number}: the next run")
    assert turns > 60, f"only {turns} faults"


@pytest.mark.skipif(ADDRESS_SANITIZER, reason="its leak check does not run under strace")
@pytest.mark.parametrize("changed", ("old", "new"))
def test_no_delta_is_made_of_a_file_that_changes(scratch, changed):
    old, new = two_filters(random.Random(65), 12, 24, 100_000, 12_000)
    a, b = put(scratch, old=old, new=new)
    trace = scratch / "trace"
    # Stopped in the middle: the third block of both is being read.
    with subprocess.Popen(["strace", "-qq", "-f", "-o", trace, "-e", "trace=pread64", "-e",
                           "inject=pread64:signal=SIGSTOP:when=9", KEYVETO, "filter", "diff", a, b, scratch / "d"],
                          stderr=subprocess.PIPE) as process:
        wait_until(lambda: trace.exists() and b"stopped by SIGSTOP" in trace.read_bytes(), "it is stopped")
        with open(scratch / changed, "r+b") as file:
            file.seek(100)
            file.write(b"\xff")
        stopped, = re.findall(rb"^(\d+) .*stopped by SIGSTOP", trace.read_bytes(), re.MULTILINE)
        os.kill(int(stopped), signal.SIGCONT)
        message = process.communicate(timeout=PATIENCE)[1].decode()
        equal((process.returncode, message),
              (2, f"keyveto: {scratch / changed}: was changed while it was read; try again\n"))
    assert not (scratch / "d").exists()


@pytest.mark.long
@pytest.mark.skipif(ADDRESS_SANITIZER, reason="its leak check does not run under strace")
def test_killed_at_any_system_call_the_file_is_old_or_new(scratch):
    found = set()

    def judge(what, place, ended, old, new):
        data = (place / "a").read_bytes()
        assert data in (old, new), f"torn: {what}"
        found.add((ended[0], data == new))
        # What a killed run leaves is hidden; the next one removes it.
        for path in place.iterdir():
            if path.name != "a":
                assert path.name.startswith(".a."), what
        if data == new:
            for path in place.iterdir():
                if path.name != "a":
                    path.unlink()
    at_each_call(scratch, "signal=KILL", judge)
    assert {new for _, new in found} == {False, True}, found


@pytest.mark.long
@pytest.mark.skipif(ADDRESS_SANITIZER, reason="its leak check does not run under strace")
def test_a_system_call_that_fails_leaves_the_old_file(scratch):
    def judge(what, place, ended, old, new):
        data = (place / "a").read_bytes()
        assert data in (old, new), f"torn: {what}"
        assert ended[0] in (0, 2) and (ended[0] == 2 or data == new), what
        for path in place.iterdir():
            if path.name != "a":
                path.unlink()
    at_each_call(scratch, "error=ENOSPC", judge)


def test_list_diff_takes_one_form_of_answer(scratch):
    rnd = random.Random(63)
    a, b = put(scratch, a=two_lists(rnd)[0], b=two_lists(rnd)[0])
    for words in ((a, b, "d", "--all"), (a, b, "d", "--json"), (a, b, "--all", "--json"), (a,), (a, b, "d", "e")):
        run("list", "diff", *words, status=2, cwd=scratch)
    contains(run("list", "diff", a, b, status=0).out.decode(), " gone, ")
    write_list(scratch / "c", [(b"x" * 15, 1)])
    equal(names(scratch), ["a", "b", "c"], "files")
