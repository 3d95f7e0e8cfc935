#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Differential logins: who gets in, and what runs, before and after `keyveto enable`.

    python3 tests/differential/run.py [--draws N] [--seed N] [--seconds S] [--root DIR]

Each draw is a machine in a throw-away root. README.md here says what
is drawn, and which rules must hold. --seed N --draws 1 repeats one draw.
"""

import argparse
import collections
import concurrent.futures
import json
import multiprocessing
import os
import pickle
import re
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("e2e", "oracle", "differential")]

import encodings.idna               # noqa: F401    imported now, as it cannot be loaded later in another root

import policy
import sandbox
import world
from compare import Difference
from experiment import PHASES, Experiment, Result
from observe import STAYS           # noqa: F401
from pool import Pool
from product import CannotRun
from shrink import shrink

FIRST_SEED = 1
GLOB_SINCE = (10, 0)
SHRINK_KINDS = 6                    # so many kinds of failure are cut down; the others are only named


class Rooms:
    """Runs draws in throw-away roots."""
    phases = PHASES
    work = Experiment
    result = Result

    def __init__(self, options):
        self.build, self.template = options.build, options.root
        self.settings = (ROOT / "etc/keyveto.conf").read_bytes()
        self.pool = self.make_pool()
        self.version = self.call(sshd_version)
        self.has_glob = tuple(map(int, re.search(r"OpenSSH_(\d+)\.(\d+)", self.version).groups())) >= GLOB_SINCE

    def call(self, work):
        """Calls work in a throw-away root: its result."""
        reader, writer = os.pipe()

        def send():
            with os.fdopen(writer, "wb") as out:
                pickle.dump(work(), out)
            return 0
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            status = 1
            try:
                status = sandbox.call(send, [str(self.build)], str(self.template))
            except sandbox.Refused as reason:
                print(f"no throw-away root is possible here: {reason}", file=sys.stderr)
            finally:
                os._exit(status)
        os.close(writer)
        with os.fdopen(reader, "rb") as source:
            answer = source.read()
        os.waitpid(pid, 0)
        if not answer:
            raise CannotRun("a draw ended without an answer; what it said is above")
        return pickle.loads(answer)

    def play(self, draw, phases=None):
        """Runs a draw: its result."""
        return self.call(lambda: self.work(draw, self.pool, self.build, self.settings).run(phases or self.phases))

    @staticmethod
    def make_pool():
        return Pool()

    @staticmethod
    def add_options(parser):
        pass

    def draw(self, seed):
        return policy.make(seed, self.has_glob)


def sshd_version():
    import subprocess
    return subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr.strip()


# These run in the workers, which are forked from the process that made the Rooms.

_rooms = None


def play_seed(seed):
    draw = _rooms.draw(seed)
    try:
        return seed, _rooms.play(draw)
    except CannotRun as reason:
        return seed, _rooms.result(differences=[Difference("the draw did not end", "harness", None, str(reason))])
    except Exception:
        return seed, _rooms.result(differences=[
            Difference("the draw did not end", "harness", None, traceback.format_exc())])


def shrink_seed(seed, difference, seconds):
    """(the smallest draw with that kind of difference in that phase, its difference)."""
    phases = [difference.phase] if difference.phase in PHASES else _rooms.phases
    last = [difference]

    def fails(draw):
        try:
            found = _rooms.play(draw, phases).differences
        except CannotRun:
            return False
        same = [one for one in found if (one.kind, one.phase) == (difference.kind, difference.phase)]
        last[0] = same[0] if same else last[0]
        return bool(same)
    small = shrink(_rooms.draw(seed), difference.client, fails, seconds)
    return seed, small, last[0]


class Report:
    """Counts the results, and prints the differences."""

    def __init__(self, rooms):
        self.rooms, self.results = rooms, {}

    def add(self, seed, result):
        self.results[seed] = result
        for difference in result.differences:
            client = "" if difference.client is None else f", client {difference.client}"
            print(f"FAILED seed {seed}: {difference.phase}: {difference.kind}{client}", flush=True)
        if result.invalid:
            print(f"FAILED seed {seed}: sshd does not take the configuration: {result.invalid}", flush=True)

    def show(self, seed, draw, difference):
        """Prints a failing draw as files."""
        print(f"\n---- seed {seed}, {difference.phase}: {difference.kind}; the smallest draw that does it:")
        print(world.describe(draw, self.rooms.pool, ""), end="")
        for client in draw["clients"]:
            print(f"== client\n{json.dumps(client)}")
        self.show_more(draw, difference)
        print(f"== what happened\n{difference.text}----\n", flush=True)

    @staticmethod
    def show_more(draw, difference):
        if difference.phase == "warn":
            print(f"== enabled with {' '.join(draw['warn'])}")
        if difference.phase == "marks":
            print(f"== marks\n{json.dumps(draw['marks'])}")

    def failed(self):
        return sum(bool(result.differences or result.invalid) for result in self.results.values())

    def summary(self, seconds):
        results = self.results.values()

        def total(name):
            return sum(getattr(result, name) for result in results)
        print(f"\n{self.rooms.version}: {len(results)} draws in {seconds:.0f} s, {total('logins')} logins; of "
              f"{total('clients')} clients {total('entered')} got in before, {total('refused')} by something to refuse")
        refused = collections.Counter((phase, reason)
                                      for result in results for phase, reason in result.refusals.items())
        for phase in PHASES:
            count = sum(n for (which, _), n in refused.items() if which == phase)
            print(f"refused by enable, {phase}: {count} of {len(results)} draws "
                  f"({100 * count / max(1, len(results)):.0f}%)")
        print(f"enable or disable went on after marks were taken out by hand: {total('remade')} of {len(results)} "
              "draws")
        for (phase, reason), count in refused.most_common():
            print(f"  {count:4} {phase:7} {reason}")
        self.show_unsteady()

    def show_unsteady(self):
        unsteady = [(seed, text) for seed, result in self.results.items() for text in result.unsteady]
        print(f"logins that differed once, and not when repeated: {len(unsteady)}")
        for seed, text in unsteady:
            print(f"seed {seed}: {text}")


def play_all(options, report):
    """Runs draws until --draws or --seconds is reached."""
    started, seed, failures = time.monotonic(), options.seed, []
    last = options.seed + options.draws
    with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as workers:
        running = set()
        while True:
            in_time = not options.seconds or time.monotonic() - started < options.seconds
            while in_time and seed < last and len(running) < options.jobs:
                running.add(workers.submit(play_seed, seed))
                seed += 1
            if not running:
                break
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                number, result = future.result()
                report.add(number, result)
                failures += [(number, difference) for difference in result.differences]
        took = time.monotonic() - started
        shrink_some(options, report, failures, workers)
    return took


def shrink_some(options, report, failures, workers):
    """Cuts down and prints one failure of each kind, up to SHRINK_KINDS. A failure outside a draw is only printed."""
    chosen = {}
    for seed, difference in failures:
        chosen.setdefault((difference.kind, difference.phase), (seed, difference))
    jobs = []
    for seed, difference in list(chosen.values())[:options.shrink_kinds]:
        if difference.phase == "harness" or not options.shrink_seconds:
            report.show(seed, report.rooms.draw(seed), difference)
        else:
            jobs.append(workers.submit(shrink_seed, seed, difference, options.shrink_seconds))
    for job in concurrent.futures.as_completed(jobs):
        report.show(*job.result())


def main(description, rooms=Rooms, report=Report, draws=60):
    """Runs a campaign: the exit status."""
    parser = argparse.ArgumentParser(description=description.split("\n", 1)[0])
    parser.add_argument("--build", type=lambda path: Path(path).resolve(), default=ROOT / "build")
    parser.add_argument("--draws", type=int, default=draws, metavar="N", help=f"how many (default {draws})")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, metavar="N", help="the first draw's; the others follow")
    parser.add_argument("--seconds", type=int, default=0, metavar="S", help="begin no draw after that time")
    parser.add_argument("--at-least", type=int, metavar="N", help="fewer draws are a failure (default: all)")
    parser.add_argument("--root", type=lambda path: Path(path).resolve(), default=Path("/"), metavar="DIR",
                        help="a folder with another system, as ./roots makes them: its sshd is the one that is tried")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="draws at a time")
    parser.add_argument("--shrink-seconds", type=int, default=150, metavar="S", help="for each failure; 0: not at all")
    parser.add_argument("--shrink-kinds", type=int, default=SHRINK_KINDS, metavar="N",
                        help="kinds of failure to cut down")
    rooms.add_options(parser)
    options = parser.parse_args()
    global _rooms
    try:
        if os.geteuid() != 0:
            raise CannotRun("these tests make accounts and start sshd: run them as root")
        _rooms = rooms(options)
    except CannotRun as reason:
        print(f"differential logins: {reason}", file=sys.stderr)
        return 1
    results = report(_rooms)
    took = play_all(options, results)
    results.summary(took)
    failed = results.failed()
    passed = len(results.results) - failed
    wanted = options.draws if options.at_least is None else options.at_least
    if len(results.results) < wanted:
        print(f"FAILED {len(results.results)} draws within {options.seconds} s, and {wanted} were wanted")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(__doc__))
