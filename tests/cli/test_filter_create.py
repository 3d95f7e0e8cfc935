# SPDX-License-Identifier: ISC
"""keyveto filter create, and what all commands of keyveto filter share."""

import random

import pkbf
import pytest
from filter_runs import PUBLISHED, information, key_lines, listed, make, names, parse, run, start
from program import PATIENCE, check, equal


def test_the_parameters_are_those_of_the_rule(scratch):
    for n, rate, k, p in ((42, 0.1, 2, 8), (1000, 0.01, 3, 14), (1200000, 0.01, 3, 24)):
        run("create", scratch / "f", "--entries", n, "--fpr", rate, "--force")
        seen = information(scratch / "f")
        equal((seen["hashes"], seen["length"]), (k, p), f"n {n} r {rate}")


def test_the_parameters_are_the_oracles(scratch):
    """Also where no k fits the first p."""
    rnd = random.Random(1)
    wishes = [(1709, 0.01), (1, 0.5), (1, 0.999), (3, 1e-9), (10, 1e-9), (20, 1e-21), (200000, 1e-9)]
    wishes += [(int(10 ** rnd.uniform(0, 6)), round(10 ** rnd.uniform(-9, -0.1), 12)) for _ in range(60)]
    for n, rate in wishes:
        run("create", scratch / "f", "--entries", n, "--fpr", repr(rate), "--force")
        seen = information(scratch / "f")
        equal((seen["hashes"], seen["length"]), pkbf.parameters(n, rate), f"n {n} r {rate}")


@pytest.mark.long
def test_none_of_a_million_clean_keys_is_listed(scratch):
    """The filter was made for a rate of a billionth."""
    rnd = random.Random(12)
    run("create", scratch / "f", "--entries", 10, "--fpr", "1e-9")
    mine = key_lines(rnd, 10)
    run("add", scratch / "f", stdin="".join(mine).encode())
    equal(listed(scratch / "f", mine), 10, "keys that were added")
    equal(listed(scratch / "f", key_lines(rnd, 1_000_000)), 0, "clean keys that are listed")
    seen = information(scratch / "f")
    check(seen["fpr_by_header"] < 1e-9 and seen["fpr_by_bits"] < 1e-9, f"{seen}")


def test_an_empty_filter_is_revision_0_time_0_no_entries_no_bits(scratch):
    run("create", scratch / "f", "--hashes", 3, "--length", 14)
    equal((scratch / "f").read_bytes(), pkbf.Filter.create(3, 14).to_bytes(), "the file")
    equal(names(scratch), ["f"], "files")


def test_an_existing_file_is_replaced_only_with_force(scratch):
    make(scratch / "f", 3, 10)
    before = (scratch / "f").read_bytes()
    _, err = run("create", scratch / "f", "--hashes", 3, "--length", 14, status=2)
    check("--force" in err and str(scratch / "f") in err, f"no way out: {err}")
    equal((scratch / "f").read_bytes(), before, "the file")
    run("create", scratch / "f", "--hashes", 3, "--length", 14, "--force")
    equal(pkbf.Filter.read(scratch / "f").p, 14, "the length")
    equal(names(scratch), ["f"], "files")


def test_the_largest_filter_takes_no_space_and_can_be_added_to(scratch):
    big, rnd = scratch / "big", random.Random(2)
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


def test_bad_options_are_refused_and_make_nothing(scratch):
    """No file is made."""
    f = scratch / "f"
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
    equal(names(scratch), [], "files")
    run("create", scratch / "none" / "f", "--hashes", 3, "--length", 9, status=2)
    run("create", scratch, "--hashes", 3, "--length", 9, "--force", status=2)
    run("create", f"{scratch}/", "--hashes", 3, "--length", 9, "--force", status=2)
    run("create", "", "--hashes", 3, "--length", 9, status=2)
    run("create", scratch / ("n" * 250), "--hashes", 3, "--length", 9, status=2)
    equal(names(scratch), [], "files")


def test_without_a_subcommand_or_with_an_unknown_one_it_fails():
    for name in ("create", "add", "merge", "info", "verify", "explain"):
        _, usage = run(name, "--nonsense", status=2)
        check(f"usage: keyveto filter {name} " in usage and "--nonsense" in usage, usage)
    run(status=2)
    _, err = run("b\x1bogus", status=2)
    check("b\\x1bogus" in err, err)


def test_a_full_standard_output_is_an_error(scratch):
    f = make(scratch / "f", 3, 10)
    for words in (["info", f], ["info", "--json", f], ["verify", f], ["explain", f, "-"], ["--help"]):
        with open("/dev/full", "wb") as full:
            process = start(*words, stdout=full)
            _, err = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
        equal(process.returncode, 2, f"{words[0]}: status ({err})")
