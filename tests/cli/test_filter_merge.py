# SPDX-License-Identifier: ISC
"""keyveto filter merge."""

import functools
import os
import random
import struct

import pkbf
from filter_runs import EPOCH, MEMORY_TIMES, information, key_lines, make, names, peak_memory, run, some_filter
from program import check, equal


def fold(f, p):
    """The bits of an oracle filter, folded to 2**p."""
    size = 2 ** p // 8
    out = bytearray(size)
    for at, byte in enumerate(f.bits):
        out[at % size] |= byte
    return out


def test_the_union_of_the_bits_entries_summed_the_next_revision(scratch):
    rnd = random.Random(30)
    for p in (3, 10, 16, 24):
        parts = [some_filter(rnd, scratch / name, 4, p, 30, revision=revision, time=5)
                 for name, revision in (("a", 3), ("b", 11), ("c", 0))]
        run("merge", scratch / "out", scratch / "a", scratch / "b", scratch / "c", "--force")
        out = pkbf.Filter.read(scratch / "out")
        wanted = bytes(a | b | c for a, b, c in zip(*(f.bits for f, _ in parts)))
        check(bytes(out.bits) == wanted, f"p {p}: the bits differ")
        equal((out.k, out.p, out.revision, out.time, out.entries),
              (4, p, 12, EPOCH, sum(f.entries for f, _ in parts)), "header")
        check(all(out.contains(spki) for _, spkis in parts for spki in spkis), "a key is missing")


def test_fold_makes_all_as_short_as_the_shortest(scratch):
    rnd = random.Random(31)
    for lengths in ((16, 10), (3, 16), (24, 25, 22), (25, 3), (23, 24), (12, 12, 11)):
        parts = [some_filter(rnd, scratch / f"f{n}", 3, p, 10) for n, p in enumerate(lengths)]
        paths = [scratch / f"f{n}" for n in range(len(lengths))]
        _, err = run("merge", scratch / "out", *paths, "--force", status=2)
        check("--fold" in err, f"no way out: {err}")
        run("merge", scratch / "out", *paths, "--force", "--fold")
        out = pkbf.Filter.read(scratch / "out")
        equal(out.p, min(lengths), "p")
        wanted = bytes(functools.reduce(int.__or__, column) for column in zip(*(fold(f, out.p) for f, _ in parts)))
        check(bytes(out.bits) == wanted, f"{lengths}: the bits differ")
        check(all(out.contains(spki) for _, spkis in parts for spki in spkis), "a key is missing")
        (scratch / "out").unlink()


def test_an_input_that_is_the_output_counts_once(scratch):
    """The output is one of the inputs, and is named several times."""
    rnd = random.Random(32)
    a, _ = some_filter(rnd, scratch / "a", 4, 12, 9, revision=1)
    b, _ = some_filter(rnd, scratch / "b", 4, 12, 9, revision=1)
    (scratch / "link").symlink_to("a")
    (scratch / "hard").hardlink_to(scratch / "b")
    run("merge", scratch / "a", scratch / "a", scratch / "b", scratch / "link", scratch / "a", scratch / "hard")
    out = pkbf.Filter.read(scratch / "a")
    check(bytes(out.bits) == bytes(x | y for x, y in zip(a.bits, b.bits)), "the bits differ")
    equal(out.entries, a.entries + b.entries, "entries")
    equal(pkbf.Filter.read(scratch / "b").to_bytes(), b.to_bytes(), "the other input")
    equal(names(scratch), ["a", "b", "hard", "link"], "files")


def test_an_out_that_is_not_among_the_inputs_needs_force(scratch):
    rnd = random.Random(33)
    for name in ("a", "b", "out"):
        some_filter(rnd, scratch / name, 4, 12, 9)
    before = (scratch / "out").read_bytes()
    _, err = run("merge", scratch / "out", scratch / "a", scratch / "b", status=2)
    check("--force" in err and str(scratch / "out") in err, err)
    equal((scratch / "out").read_bytes(), before, "the file")
    run("merge", scratch / "out", scratch / "a", scratch / "b", "--force")
    check((scratch / "out").read_bytes() != before, "not replaced")


def test_another_k_and_files_that_are_not_filters_are_refused(scratch):
    rnd = random.Random(34)
    some_filter(rnd, scratch / "a", 4, 12, 9)
    some_filter(rnd, scratch / "k", 5, 12, 9)
    (scratch / "cut").write_bytes((scratch / "a").read_bytes()[:-1])
    os.mkfifo(scratch / "fifo")
    for words in (["a", "k"], ["a", "k", "--fold"], ["k", "a"], ["a", "cut"], ["a", "fifo"], ["a", "missing"],
                  ["a", "."]):
        _, err = run("merge", scratch / "out", *(word if word.startswith("--") else scratch / word for word in words),
                     status=2)
        check(str(scratch / words[1]) in err or str(scratch) in err, err)
        check(not (scratch / "out").exists(), "a result was written")
    for words in ([], [scratch / "out"]):
        run("merge", *words, status=2)
    equal(names(scratch), ["a", "cut", "fifo", "k"], "files")


def test_entries_and_revision_stop_at_the_highest_number(scratch):
    for name, header in (("a", (2 ** 32 - 1, 0, 2 ** 32 - 2)), ("b", (1, 0, 2))):
        (scratch / name).write_bytes(struct.pack(">6sIQIBB", b"pkbfv1", *header, 3, 10) + bytes(128))
    run("merge", scratch / "out", scratch / "a", scratch / "b")
    out = pkbf.Filter.read(scratch / "out")
    equal((out.revision, out.entries), (2 ** 32 - 1, 2 ** 32 - 1), "revision and entries")


def test_large_filters_merge_in_bounded_memory_and_keep_their_holes(scratch):
    for name in ("a", "b"):
        run("add", make(scratch / name, 4, 33), stdin="".join(key_lines(random.Random(name), 50)).encode())
    # A filter without holes as an input does not change that.
    with open(scratch / "full", "wb") as out:
        out.write(struct.pack(">6sIQIBB", b"pkbfv1", 1, 1, 9 ** 9, 4, 29))
        for _ in range(64):
            out.write(b"\x10" * 2 ** 20)
    for words, words_len in ((["sparse", "a", "b"], 33), (["folded", "a", "b", "full", "--fold"], 29)):
        peak = peak_memory("merge", *(word if word.startswith("--") else scratch / word for word in words))
        check(peak < 24 * 1024 * MEMORY_TIMES, f"{peak} KiB")
        equal(information(scratch / words[0])["length"], words_len, "p")
    check((scratch / "sparse").stat().st_blocks * 512 < 2 ** 21, "the holes were filled")
