# SPDX-License-Identifier: ISC
"""keyveto filter info, verify and explain."""

import hashlib
import json
import math
import os
import random
import re
import shutil
import struct
from pathlib import Path

import pkbf
import pytest
from filter_runs import (EPOCH, MEMORY_TIMES, PUBLISHED, any_line, information, key_lines, listed, make, names, parse,
                         peak_memory, run, some_filter, start)
from program import PATIENCE, check, equal

KNOWN_POSITIONS = {     # k, p: RSA, P-256 uncompressed, P-256 compressed
    (2, 4): ([8, 9], [5, 10], [1, 6]),
    (3, 6): ([40, 41, 43], [53, 42, 32], [1, 38, 12]),
    (5, 12): ([3560, 873, 2283, 3695, 1014], [565, 3114, 1568, 24, 2579],
              [961, 3814, 2572, 1332, 95]),
}


@pytest.mark.long
def test_the_rate_has_a_floor_that_no_number_of_bits_goes_below(scratch):
    """info and verify show the floor: two keys may have the same pattern."""
    rnd = random.Random(13)
    lines = key_lines(rnd, 1_000_000)
    for k, p, n in ((29, 9, 5), (4, 10, 20)):
        run("create", scratch / "f", "--hashes", k, "--length", p, "--force")
        run("add", scratch / "f", stdin="".join(key_lines(rnd, n)).encode())
        seen, wrong = information(scratch / "f"), listed(scratch / "f", lines) / len(lines)
        for name in ("fpr_by_header", "fpr_by_bits"):
            check(0.7 * seen[name] < wrong < 2.5 * seen[name],
                  f"k {k} p {p} n {n}: {name} {seen[name]}, measured {wrong}")
        said = float(re.search(r"lists a clean key with a chance of ([-\de.]+)$", run("verify", scratch / "f")[0])[1])
        check(math.isclose(said, seen["fpr_by_bits"], rel_tol=0.01), f"k {k} p {p} n {n}: verify says {said}")


def sparse_filter(path, k, p, entries, revision=1, when=0):
    """A sparse file: a filter of any size without a set bit."""
    with open(path, "wb") as out:
        out.write(struct.pack(">6sIQIBB", b"pkbfv1", revision, when, entries, k, p))
        out.truncate(24 + 2 ** p // 8)
    return path


def test_info_the_rates_of_the_header_are_the_published_ones(scratch):
    for p, k, n, rate in ((4, 2, 1, 0.01466), (32, 20, 440_000_000, 0.0633), (32, 20, 220_000_000, 0.000137),
                          (32, 20, 110_000_000, 1.14e-8), (32, 20, 80_000_000, 7.2e-11)):
        seen = information(sparse_filter(scratch / "f", k, p, n))["fpr_by_header"]
        check(math.isclose(seen, rate, rel_tol=0.01), f"p {p} k {k} n {n}: {seen}, not {rate}")
    for k, p, n in ((1, 3, 0), (1, 3, 5), (255, 40, 1), (255, 40, 2 ** 32 - 1), (7, 30, 1000)):
        seen = information(sparse_filter(scratch / "f", k, p, n))["fpr_by_header"]
        check(math.isclose(seen, pkbf.predicted_rate(k, p, n), rel_tol=1e-9), f"k {k} p {p} n {n}: {seen}")


def test_info_json_tells_header_size_fill_and_rates(scratch):
    rnd = random.Random(40)
    for k, p in ((2, 4), (5, 12), (7, 16), (20, 22)):
        f, _ = some_filter(rnd, scratch / "f", k, p, 40, revision=3, time=EPOCH)
        seen, share = information(scratch / "f"), f.set_bits() / 2 ** p
        equal({name: seen[name] for name in ("file", "revision", "time", "time_seconds", "entries", "hashes", "length",
                                             "bits", "size", "set_bits", "fill")},
              {"file": str(scratch / "f"), "revision": 3, "time": "2019-04-20T22:38:37Z", "time_seconds": EPOCH,
               "entries": f.entries, "hashes": k, "length": p, "bits": 2 ** p, "size": 24 + 2 ** p // 8,
               "set_bits": f.set_bits(), "fill": share}, "facts")
        check(math.isclose(seen["fpr_by_header"], f.rate(), rel_tol=1e-9), "rate by the header")
        check(math.isclose(seen["fpr_by_bits"], pkbf.rate_by_bits(k, p, share), rel_tol=1e-9), "rate by the bits")
        if share == 1:
            equal(seen["entries_by_bits"], None, "entries by the bits")
        else:
            check(math.isclose(seen["entries_by_bits"], math.log1p(-share) / (k * math.log1p(-2.0 ** -p))),
                  "entries by the bits")


def test_info_without_json_says_the_same(scratch):
    (scratch / "keys").write_text(PUBLISHED)
    out, _ = run("info", make(scratch / "f", 5, 12, scratch / "keys"))
    facts = dict(line.strip().split("  ", 1) for line in out.splitlines() if "  " in line.strip())
    facts = {name.strip(): value.strip() for name, value in facts.items()}
    for name, value in (("file", str(scratch / "f")), ("revision", "1"), ("time", "2019-04-20T22:38:37Z"),
                        ("entries", "3"), ("hashes (k)", "5"), ("length (p)", "12"), ("bits", "4096"),
                        ("size in bytes", "536"), ("bits set", "15 (0.3662%)"), ("entries by bits", "3")):
        equal(facts.get(name), value, name)
    for name, rate in (("by the header", pkbf.predicted_rate(5, 12, 3)),
                       ("by the bits", pkbf.rate_by_bits(5, 12, 15 / 4096))):
        equal(facts.get(name), f"{rate:.4g}", name)


def test_info_odd_paths_and_times_make_no_bad_json(scratch):
    f, _ = some_filter(random.Random(41), scratch / "f", 3, 10, 5)
    for name in (b"new\nline", b"quote\"", b"\xff\xfe", "é".encode(), b"\x1b[2J"):
        path = os.fsencode(scratch) + b"/" + name
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
        sparse_filter(scratch / "f", 3, 10, 0, when=when)
        seen = information(scratch / "f")
        equal((seen["time"], seen["time_seconds"]), (text, when if when < 2 ** 63 else None), f"time {when}")
        run("info", scratch / "f")


def test_info_reads_a_large_filter_in_bounded_memory(scratch):
    sparse_filter(scratch / "f", 3, 31, 0)
    with open(scratch / "f", "r+b") as out:
        out.seek(2 ** 27)
        out.write(b"\xff" * 2 ** 26)
    equal(information(scratch / "f")["set_bits"], 2 ** 29, "bits set")
    peak = peak_memory("info", scratch / "f")
    check(peak < 24 * 1024 * MEMORY_TIMES, f"{peak} KiB")


def test_verify_good_filters_are_ok_in_one_line(scratch):
    rnd = random.Random(42)
    run("create", scratch / "f", "--hashes", 3, "--length", 14)
    for _ in range(5):
        out, err = run("verify", scratch / "f")
        check(out.startswith(f"{scratch}/f: ok: k 3, p 14, ") and out.count("\n") == 1 and not err, f"{out!r} {err!r}")
        run("add", scratch / "f", stdin="".join(any_line(rnd) for _ in range(30)).encode())
    some_filter(rnd, scratch / "g", 3, 14, 40)
    run("merge", scratch / "h", scratch / "f", scratch / "g")
    shutil.copy(scratch / "h", scratch / "i")
    run("merge", scratch / "j", scratch / "h", scratch / "i")       # merge counts these entries twice
    for name in "ghij":
        run("verify", scratch / name)


def test_verify_says_whether_a_login_would_trust_the_file(scratch):
    f = make(scratch / "f", 3, 14)
    f.chmod(0o666)
    out, _ = run("verify", f)
    check("would not trust" in out and out.count("\n") == 1, out)
    if os.geteuid() == 0:
        f.chmod(0o644)
        check("trust" not in run("verify", f)[0], "a good file is not trusted")


def test_verify_names_a_bad_filter_with_the_reason(scratch):
    f, _ = some_filter(random.Random(43), scratch / "f", 4, 12, 40, revision=1, time=EPOCH)
    good = f.to_bytes()

    def header(revision=1, when=EPOCH, entries=f.entries, k=4, p=12):
        return struct.pack(">6sIQIBB", b"pkbfv1", revision, when, entries, k, p) + good[24:]

    for data, word in ((b"", "shorter"), (good[:23], "shorter"), (good[:-1], "cut short"), (good[:24], "cut short"),
                       (good + b"\0", "damaged"), (b"pkbfv2" + good[6:], "pkbfv1"), (bytes(600), "pkbfv1"),
                       (header(k=0), "0 hash"), (header(p=0), "between"), (header(p=2), "between"),
                       (header(p=41), "between"), (header(p=255), "between"), (header(p=11), "damaged"),
                       (header(p=40), "cut short"), (header(entries=0), "0 entries"),
                       (header(entries=1), "1 entry, "), (header(entries=10 ** 6), "1000000 entries"),
                       (good[:24] + bytes(512), "look like 0"), (good[:24] + b"\xff" * 512, "every"),
                       (header(when=2 ** 64 - 1), "date")):
        (scratch / "f").write_bytes(data)
        out, err = run("verify", scratch / "f", status=2)
        check(word in err and f"{scratch}/f: " in err, f"not {word!r}: {err}")
        equal((out, err.count("\n")), ("", 1), f"more than one line ({err})")


@pytest.mark.long
def test_verify_survives_every_flipped_bit_and_cut_of_a_header(scratch):
    """verify does not crash."""
    f, _ = some_filter(random.Random(44), scratch / "f", 4, 6, 10, revision=1, time=EPOCH)
    good = f.to_bytes()
    mutants = [good[:n] for n in range(len(good))]
    for bit in range(24 * 8):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        mutants.append(bytes(data))
    for data in mutants:
        (scratch / "f").write_bytes(data)
        for name in ("verify", "info", "add", "merge"):
            words = [name, scratch / "f", *([scratch / "f", "--fold"] if name == "merge" else [])]
            process = start(*words)
            out, err = process.communicate(timeout=PATIENCE)
            check(process.returncode in (0, 2), f"{name} {data[:24].hex()}: status {process.returncode}")
            check(name == "info" or out.count(b"\n") + err.count(b"\n") == 1, f"{name}: {out} {err}")
            if process.returncode == 2:
                equal((scratch / "f").read_bytes(), data, "the filter")
            elif name == "merge":
                (scratch / "f").write_bytes(data)


def test_verify_refuses_at_once_what_is_not_a_regular_file(scratch):
    os.mkfifo(scratch / "fifo")
    line = PUBLISHED.encode()
    for path in (scratch / "fifo", scratch, "/dev/null", "/dev/zero", scratch / "missing", ""):
        for name in ("verify", "info", "add"):
            run(name, path, status=2, stdin=line)
        run("explain", path, "-", status=2, stdin=line)
        run("merge", scratch / "out", path, status=2)
        if str(path) and path != scratch / "missing":
            run("create", path, "--hashes", 3, "--length", 9, "--force", status=2)
    equal(names(scratch), ["fifo"], "files")


def explained(*words, **more):
    """The output of explain: (a list with the rows of each SPKI, the last line)."""
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


def test_explain_the_published_positions_and_hashes(scratch):
    keys = PUBLISHED.splitlines(keepends=True)
    spkis = [parse(keys[0]).spkis[0], parse(keys[1]).spkis[0], parse(keys[1]).compressed[0]]
    hashes = [(0x7f41d67420810de8, 0x89f7fb41341d0581), (0x890fd1597a06a235, 0xf70bde4c65a7a9f5),
              (0x473f7d4c2d70f3c1, 0xbb9ca61f8da6db25)]
    for (k, p), positions in KNOWN_POSITIONS.items():
        f = make(scratch / "f", k, p)
        for spki, wanted, h in zip(spkis, positions, hashes):
            (tables, verdicts) = explained("--spki", f, "-", stdin=spki)
            equal(([row[1] for row in tables[0]["rows"]], tables[0]["h"], verdicts), (wanted, h, ["not listed"]),
                  f"k {k} p {p}")
            equal(tables[0]["sha256"], hashlib.sha256(spki).hexdigest(), "SHA-256")
        equal([[row[1] for row in table["rows"]] for table in explained(f, "-", stdin=PUBLISHED.encode())[0]],
              list(positions[:2]), "from lines")


def test_explain_has_the_oracles_positions_and_masks(scratch):
    """The bytes and the verdict are the oracle's, too."""
    rnd = random.Random(50)
    for k, p, n in ((3, 8, 10), (7, 12, 40), (255, 16, 5), (20, 24, 20)):
        f, _ = some_filter(rnd, scratch / "f", k, p, n)
        data = f.to_bytes()
        for line in [any_line(rnd) for _ in range(12)]:
            key = parse(line)
            tables, verdicts = explained(scratch / "f", "-", stdin=line.encode())
            parts = [part for part in (key, key.ca) if part]
            wanted = [spki for part in parts for spki in part.spkis]
            equal([table["sha256"] for table in tables], [hashlib.sha256(spki).hexdigest() for spki in wanted], "SPKIs")
            for table, spki in zip(tables, wanted):
                rows = [(i, bit, 24 + bit // 8, 0x80 >> bit % 8, bool(data[24 + bit // 8] & 0x80 >> bit % 8))
                        for i, bit in enumerate(f.positions(spki))]
                equal(table["rows"], rows, "table")
            equal(verdicts, ["listed" if f.contains_key(part) else "not listed" for part in parts], "verdict")


def test_explain_names_file_line_type_and_fingerprint(scratch):
    """After filter add, the verdict is listed."""
    (scratch / "keys").write_text("# x\n" + PUBLISHED)
    out, _ = run("explain", make(scratch / "f", 5, 20, scratch / "keys"), scratch / "keys")
    check(out.startswith(f"{scratch}/keys:2: ssh-rsa 2048 {parse(PUBLISHED.splitlines()[0]).fingerprint}\n"), out)
    check(out.endswith("yes\nlisted\n") and " no\n" not in out, out)


def test_explain_an_input_without_a_key_is_an_error(scratch):
    f = make(scratch / "f", 5, 12)
    for stdin in (b"", b"# nothing\n", b"ssh-rsa AAAA\n"):
        run("explain", f, "-", stdin=stdin, status=2)
    run("explain", f, scratch / "missing", status=2)
    run("explain", f, status=2)
    run("explain", f, "-", "-", status=2)
