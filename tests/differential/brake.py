#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The brake: who still gets in after a command that changes what logins refuse.

    python3 tests/differential/brake.py [--draws N] [--seed N] [--seconds S] [--root DIR]

Each draw is a machine in a throw-away root, and one command without --yes. README.md here has the
law. --seed N --draws 1 repeats one draw.
"""

import collections
import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("e2e", "oracle", "differential")]

import brake_grammar
import run
from brake_trial import LAWS, BrakeResult, Trial, count_holds
from pool import Pool


class Rooms(run.Rooms):
    phases = ("command",)
    result = BrakeResult

    def __init__(self, options):
        super().__init__(options)
        self.planted = options.planted

    @staticmethod
    def add_options(parser):
        parser.add_argument("--planted", action="store_true", help="give --yes, which is a brake that holds nothing: "
                            "the campaign fails unless the draws break each law")

    def work(self, *arguments):
        return Trial(*arguments, yes=self.planted)

    @staticmethod
    def make_pool():
        return Pool(brake_grammar.NAMES, brake_grammar.KINDS)

    def draw(self, seed):
        return brake_grammar.make(seed)


class Report(run.Report):
    def __init__(self, rooms):
        super().__init__(rooms)
        self.broken = set()

    @staticmethod
    def show_more(draw, difference):
        for name in ("settings", "enable", "second", "change"):
            print(f"== {name}\n{json.dumps(draw[name])}")

    def add(self, seed, result):
        if not self.rooms.planted:
            super().add(seed, result)
            return
        self.results[seed] = result
        self.broken |= {one.kind for one in result.differences}
        result.differences = [one for one in result.differences if one.kind not in LAWS]

    def failed(self):
        unbroken = [law for law in LAWS if law not in self.broken] if self.rooms.planted else []
        for law in unbroken:
            print(f"FAILED with --yes, no draw finds: {law}")
        return super().failed() + len(unbroken)

    def summary(self, seconds):
        results = self.results.values()
        print(f"\n{self.rooms.version}: {len(results)} draws in {seconds:.0f} s, "
              f"{sum(one.logins for one in results)} logins; of {sum(one.clients for one in results)} clients "
              f"{sum(one.entered for one in results)} got in before")
        for (command, outcome), count in sorted(collections.Counter(
                (one.command, one.outcome) for one in results).items()):
            print(f"  {count:4} {command}: {outcome}")
        for (reason, locked_out), count in count_holds(results).most_common():
            print(f"  {count:4} held, {'and somebody' if locked_out else 'and nobody'} would be locked out: {reason}")
        refused = collections.Counter(item for one in results for item in one.refusals.items())
        for (what, reason), count in refused.most_common():
            print(f"  {count:4} {what} refuses: {reason}")
        self.show_unsteady()


if __name__ == "__main__":
    sys.exit(run.main(__doc__, Rooms, Report, 60))
