#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Which lines of each parser the corpus reaches: fuzz/coverage.py BUILD

Builds all targets by fuzz/build, as OSS-Fuzz does, runs each once over its seed corpus, and prints how much of each
file of fuzz/parsers.txt all of them reach. All functions of a file count but those that fuzz/parsers.txt leaves out,
with a reason. Fails if that is less than 90% of a file's lines; if a function that is left out is not there, or a
target calls it; or if a target fails.
"""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEAST = 90
COVERAGE = "-fprofile-instr-generate -fcoverage-mapping"


def build(folder):
    """Returns the targets."""
    for name in ("out", "work"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    subprocess.run([HERE / "build"], check=True, stdout=subprocess.DEVNULL, env={
        **os.environ, "CC": "clang", "CXX": "clang++", "CFLAGS": f"-O1 -g -fsanitize=fuzzer-no-link {COVERAGE}",
        "CXXFLAGS": COVERAGE, "LIB_FUZZING_ENGINE": "-fsanitize=fuzzer", "OUT": str(folder / "out"),
        "WORK": str(folder / "work")})
    return sorted(path for path in (folder / "out").glob("fuzz_*") if not path.suffix and os.access(path, os.X_OK))


def run(target, folder):
    """Runs the target over its seed corpus. Returns the file of counts."""
    seeds, counts = folder / target.name, folder / f"{target.name}.profraw"
    with zipfile.ZipFile(f"{target}_seed_corpus.zip") as packed:
        packed.extractall(seeds)
    done = subprocess.run([target, "-runs=0", seeds], check=False, capture_output=True, text=True,
                          env={**os.environ, "LLVM_PROFILE_FILE": str(counts)})
    if done.returncode:
        sys.exit(f"{target.name}: failed over its seeds:\n{done.stderr[-2000:]}")
    return counts


def told(targets, counts, merged):
    """What llvm-cov says of all targets together, in lcov's form."""
    subprocess.run(["llvm-profdata", "merge", "-o", merged, *counts], check=True)
    objects = [word for target in targets[1:] for word in ("-object", target)]
    return subprocess.run(["llvm-cov", "export", "-format=lcov", f"-instr-profile={merged}", targets[0], *objects],
                          check=True, stdout=subprocess.PIPE, text=True).stdout


def functions(text):
    """By file, of each function how many lines it has, and how many of them are reached."""
    found, starts, counts = {}, {}, {}
    for line in text.splitlines():
        kind, _, rest = line.partition(":")
        if kind == "SF":
            file, starts, counts = os.path.relpath(rest, HERE.parent), {}, {}
        elif kind == "FN":
            starts[int(rest.split(",")[0])] = rest.split(",", 1)[1].split(":")[-1]
        elif kind == "DA":
            number, count = map(int, rest.split(",")[:2])
            counts[number] = max(count, counts.get(number, 0))
        elif line == "end_of_record":
            found[file] = by_function = {}
            begins = sorted(starts)
            for begin, end in zip(begins, begins[1:] + [sys.maxsize]):
                own = [count for number, count in counts.items() if begin <= number < end]
                by_function[starts[begin]] = (len(own), sum(map(bool, own)))
    return found


def parsers(text):
    """By file, the functions that are left out."""
    left_out, file = {}, ""
    for line in text.splitlines():
        if line.startswith("\t"):
            names, _, reason = line.partition(":")
            if not reason:
                sys.exit(f"fuzz/parsers.txt: no reason: {line.strip()}")
            left_out[file] += names.split()
        elif not line.startswith("#"):
            file = line
            left_out[file] = []
    return left_out


def judge(by_function, left_out):
    """How many lines a parser has, the part of them that is reached, in percent, and what is wrong."""
    stale = [name for name in left_out if by_function.get(name, (0, 1))[1]]
    counted = [counts for name, counts in by_function.items() if name not in left_out]
    lines, reached = (sum(column) for column in zip((0, 0), *counted))
    percent = 100 * reached / max(1, lines)
    if stale:
        return lines, percent, f"no such function, or a target calls it: {' '.join(stale)}"
    return lines, percent, f"less than {LEAST}%" if percent < LEAST else ""


def main():
    folder = Path(sys.argv[1]).resolve()
    targets = build(folder)
    found = functions(told(targets, [run(target, folder) for target in targets], folder / "merged"))
    failed = 0
    print("lines reached")
    rows = parsers((HERE / "parsers.txt").read_text(encoding="ascii"))
    for file, left_out in rows.items():
        lines, percent, wrong = judge(found.get(file, {}), left_out)
        failed += bool(wrong)
        print(f"{lines:5} {percent:6.1f}%  {file}{wrong and ': ' + wrong}")
    print(f"{len(targets)} targets\n{len(rows) - failed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
