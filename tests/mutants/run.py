#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Runs the tests on mutants of the login path, and tells which mutants no test notices.

    tests/mutants/run.py [--files WORD]... [--sample N] [--only NUMBER]... [--stages unit,...] [--list]

README.md says what the stages are, and how to read the table. Needs root: the mutants run in a throw-away root.
"""

import argparse
import difflib
import functools
import hashlib
import json
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import near
import rules
import trial
from trial import FOLDERS, ROOT

sys.path.insert(0, str(ROOT / "tests/e2e"))
import sandbox

STAGES = ("unit", "sanitized", "rest", "near", "far")
COLUMNS = ("mutants", "refused", "same", *STAGES, "equivalent", "survived", "not run", "killed of real")


def all_mutants(words):
    """The mutants of all files with one of these words in their names, in the order of the words."""
    flags = ["-std=c11", "-D_GNU_SOURCE", *(f"-I{ROOT / folder}" for folder in FOLDERS), '-DKEYVETO_VERSION="0"',
             *(f'-DKV_{name}="/"' for name in ("SYSCONFDIR", "STATEDIR", "LIBEXECDIR", "PAMDIR")),
             "-DKV_STRICTMODES_DEFAULT=KV_STRICTMODES_YES"]
    paths = trial.sources()
    if words:
        paths = list(dict.fromkeys(path for word in words for path in paths if word in path))
    return [mutant for path in paths for mutant in rules.of_file(ROOT, path, flags)]


@functools.cache
def shown_equivalent():
    """{number: why} of equivalent.txt."""
    lines = (Path(__file__).parent / "equivalent.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if line and line[0] != "#")


class Results:
    """What is known of each mutant and stage: a line of JSON for each that was tried.

    A mutant that was killed is tried again when the file that it is of changes; one that survived also when
    a test does.
    """

    def __init__(self, path):
        self.path, self.known, self.versions = path, {}, {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                one = json.loads(line)
                self.known[one["number"], one["stage"]] = one

    def version(self, mutant, stage, outcome):
        key = mutant.path, stage, outcome == "survived"
        if key not in self.versions:
            total = hashlib.sha256(mutant.text)
            if outcome == "survived":
                for path in near.files_of(mutant.path, stage):
                    total.update(path.read_bytes())
            self.versions[key] = total.hexdigest()[:16]
        return self.versions[key]

    def of(self, mutant, stage):
        one = self.known.get((mutant.number, stage))
        return one if one and one["version"] == self.version(mutant, stage, one["outcome"]) else None

    def add(self, mutant, stage, outcome, by):
        one = {"number": mutant.number, "stage": stage, "outcome": outcome, "by": by,
               "version": self.version(mutant, stage, outcome), "mutant": str(mutant)}
        self.known[mutant.number, stage] = one
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(one) + "\n")

    def end(self, mutant):
        """(column, by what) for a mutant: how its last stage ended. ("not run", "") if no stage tried it."""
        last = "not run", ""
        for stage in STAGES:
            one = self.of(mutant, stage)
            if one and one["outcome"] == "killed":
                return stage, one["by"]
            if one:
                last = one["outcome"], f"{stage}: {one['by']}"
        return last


def in_root(work, folder, mutants, results, stage):
    """Calls work(mutant) for each in a throw-away root, and adds what it returns.

    A mutant that ends the root is killed.
    """
    left = list(mutants)
    while left:
        reader, writer = os.pipe()

        def serve():
            os.close(reader)
            for mutant in left:
                os.write(writer, (json.dumps(work(mutant)) + "\n").encode())
            return 0
        root = sandbox.start(serve, [str(folder)])
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as said:
            done = 0
            for line in said:
                results.add(left[done], stage, *json.loads(line))
                tell(left[done], results)
                done += 1
        status = sandbox.wait(root)
        if status == 1:
            raise SystemExit("this is no fault of a mutant")
        if status != 0 and done < len(left):
            results.add(left[done], stage, "killed", "it ended what runs the tests")
            done += 1
        left = left[done:]


def tell(mutant, results):
    column, by = results.end(mutant)
    if column == "survived" and mutant.number not in shown_equivalent():
        print(f"survived {by}: {mutant}", flush=True)


def run_stages(mutants, shown, options, results):
    """Equivalent mutants are tried by the unit tests only, in case that they are not."""
    folder = options.build / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    stages = Stages(folder)
    for stage in options.stages.split(","):
        todo = [mutant for mutant in mutants if not results.of(mutant, stage) and
                results.end(mutant)[0] in ("not run", "survived") and
                (stage == "unit" or mutant.number not in shown)]
        print(f"{stage}: {len(todo)} mutants", flush=True)
        if todo:
            getattr(stages, f"run_{stage}")(todo, results)


class Stages:
    """How the mutants of each stage are tried."""

    def __init__(self, folder):
        self.folder, self.unit = folder, None

    def _prepared(self, stage):
        """The tests run in a throw-away root, so a child prepares the Trial there."""
        one = trial.Trial(self.folder, stage)
        if sandbox.call(one.prepare, [str(self.folder)]) != 0:
            raise SystemExit(f"the stage {stage} cannot be prepared")
        return one.read()

    def run_unit(self, mutants, results):
        self.unit = self.unit or self._prepared("unit")
        in_root(self.unit.try_mutant, self.folder, mutants, results, "unit")

    def run_rest(self, mutants, results):
        self.unit = self.unit or self._prepared("unit")
        rest = trial.Trial(self.folder, "unit", rest=True).read()
        in_root(rest.try_mutant, self.folder, mutants, results, "rest")

    def run_sanitized(self, mutants, results):
        self.unit = self.unit or self._prepared("unit")
        in_root(self._prepared("sanitized").try_mutant, self.folder, mutants, results, "sanitized")

    def _run_programs(self, mutants, results, stage):
        self.unit = self.unit or self._prepared("unit")
        programs = near.Programs(self.unit.build, self.folder / "programs")
        programs.check(stage, sorted({mutant.path for mutant in mutants}))
        for mutant in mutants:
            results.add(mutant, stage, *programs.try_mutant(mutant, stage))
            tell(mutant, results)

    def run_near(self, mutants, results):
        self._run_programs(mutants, results, "near")

    def run_far(self, mutants, results):
        self._run_programs(mutants, results, "far")


def print_table(mutants, results, shown):
    """A row for each file: how many mutants ended in which stage, and the share of killed ones that could be."""
    counts = defaultdict(Counter)
    for mutant in mutants:
        column = results.end(mutant)[0]
        if mutant.number in shown and column not in STAGES:
            column = "equivalent"
        counts[mutant.path][column] += 1
    print("| file | " + " | ".join(COLUMNS) + " |")
    print("|---|" + "---:|" * len(COLUMNS))
    total = Counter()
    for path in sorted(counts):
        total.update(counts[path])
        _print_row(path, counts[path])
    return _print_row("all", total)


def _print_row(title, counts):
    killed = sum(counts[stage] for stage in STAGES)
    real = killed + counts["survived"]
    share = killed / real if real else 1
    cells = [sum(counts.values()), *(counts[column] for column in COLUMNS[1:-1]), f"{share:.1%}" if real else ""]
    print(f"| {title} | " + " | ".join(map(str, cells)) + " |")
    return share


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build",
                        help="what is built is in mutants/ there, and results.jsonl")
    parser.add_argument("--files", action="append", default=[], metavar="WORD", help="only files with this in the name")
    parser.add_argument("--only", action="append", default=[], metavar="NUMBER", help="only this mutant")
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every Nth mutant")
    parser.add_argument("--stages", default="unit,sanitized,rest,near",
                        help="of unit, sanitized, rest, near and far; none: table")
    parser.add_argument("--list", action="store_true", help="print the mutants, and try none")
    parser.add_argument("--diff", action="store_true", help="print the mutants as patches, and try none")
    parser.add_argument("--again", action="store_true", help="forget what is known")
    parser.add_argument("--goal", type=float, default=0.98, help="fail below this share (default 0.98)")
    options = parser.parse_args()
    options.build = options.build.resolve()
    mutants = [one for one in all_mutants(options.files) if not options.only or one.number in options.only]
    mutants = mutants[::options.sample]
    gone = shown_equivalent().keys() - {mutant.number for mutant in mutants}
    if gone and not options.files and not options.only and options.sample == 1:
        raise SystemExit(f"equivalent.txt names mutants that are none: {' '.join(sorted(gone))}")
    if options.list:
        print(*mutants, sep="\n")
        return 0
    if options.diff:
        for mutant in mutants:
            texts = [text.decode().splitlines(keepends=True) for text in (mutant.text, mutant.apply())]
            sys.stdout.writelines(difflib.unified_diff(*texts, mutant.path, mutant.number, n=1))
        return 0
    shown = shown_equivalent()
    kept = options.build / "mutants/results.jsonl"
    if options.again:
        kept.unlink(missing_ok=True)
    results = Results(kept)
    if options.stages != "none":
        run_stages(mutants, shown, options, results)
    wrong = 0
    for mutant in mutants:
        column, by = results.end(mutant)
        if mutant.number in shown and column in STAGES:
            print(f"not equivalent, {by} kills it: {mutant}")
            wrong += 1
        elif mutant.number not in shown and column == "survived":
            print(f"survived: {mutant}")
    share = print_table(mutants, results, shown)
    return 0 if share >= options.goal and wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
