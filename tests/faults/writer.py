#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""keyveto filter add, create and merge: killed at each system call, and with each call failing.

Afterwards the filter is the old one or the new one, byte for byte. A killed
run may leave only the files that cli/host/replace.h names, and the next run
removes them. A run that fails prints a message that names a file, ends with
status 2, keeps the old filter, and leaves no other file.
"""

import os
import shutil
import signal
import sys
from dataclasses import dataclass

import tracer
from stage import ENVIRONMENT, play, run

FILTER = "filter.pkbf"
LOCK, NEW = f".{FILTER}.lock", f".{FILTER}.keyveto-new"

KILL = tracer.kill_by("SIGKILL")
ENDING = [tracer.kill_by(name) for name in ("SIGTERM", "SIGINT", "SIGHUP")]
ERRORS = [tracer.error(name) for name in ("EIO", "ENOSPC", "ENOMEM", "EINTR", "EACCES")]
NOT_SURE = b"written, but not sure to survive a crash"

TIME = {**ENVIRONMENT, "SOURCE_DATE_EPOCH": "1700000000"}


@dataclass
class Scenario:
    """A command, and the folder it finds."""
    title: str
    arguments: list         # FILTER and the names of its neighbours stand for paths in the folder
    template: object        # a folder
    named: bool             # the file system has no O_TMPFILE

    def argv_of(self, stage, folder):
        words = [str(folder / word) if (folder / word).exists() or word == FILTER else word for word in self.arguments]
        return [stage.keyveto, *words]


def make_scenarios(stage):
    """Each command, on file systems with and without O_TMPFILE."""
    old, added = [stage.key() for _ in range(3)], [stage.key() for _ in range(2)]
    with_filter, without = stage.make_folder("with"), stage.make_folder("without")
    for folder in (with_filter, without):
        shutil.copy(stage.filter(*old), folder / "second.pkbf")
        shutil.copy(stage.filter(*added), folder / "third.pkbf")
        (folder / "keys.pub").write_text("".join(f"{one.key}\n" for one in added), encoding="ascii")
    shutil.copy(stage.filter(*old), with_filter / FILTER)
    size = ["--hashes", "5", "--length", "16"]
    commands = {
        "filter add": (["filter", "add", FILTER, "keys.pub"], with_filter),
        "filter create": (["filter", "create", FILTER, *size], without),
        "filter create --force": (["filter", "create", FILTER, *size, "--force"], with_filter),
        "filter merge, a new one": (["filter", "merge", FILTER, "second.pkbf", "third.pkbf"], without),
        "filter merge, one of its own": (["filter", "merge", FILTER, FILTER, "third.pkbf"], with_filter),
    }
    return [Scenario(title + (", without O_TMPFILE" if named else ""), arguments, template, named)
            for title, (arguments, template) in commands.items() for named in (False, True)]


def state(folder):
    """(the filter or None, the other files that were not there before)."""
    path = folder / FILTER
    known = {FILTER, "second.pkbf", "third.pkbf", "keys.pub"}
    return path.read_bytes() if path.exists() else None, set(os.listdir(folder)) - known


class Baseline:
    """What the command does when nothing fails."""

    def __init__(self, stage, scenario):
        self.stage, self.scenario = stage, scenario
        folder = self.fresh_folder()
        self.also = []
        if scenario.named:
            _, calls = tracer.list_calls(stage.path("trace"), scenario.argv_of(stage, folder), env=TIME)
            asked = next(call for call in calls if '"/proc/self/fd"' in call.text)
            self.also = ["-e", tracer.expression(asked, tracer.error("ENOENT"))]
            folder = self.fresh_folder()
        self.old, _ = state(folder)
        self.done, self.calls = tracer.list_calls(stage.path("trace"), scenario.argv_of(stage, folder), *self.also,
                                                  env=TIME)
        self.new, left = state(folder)
        if self.done.returncode != 0 or left or self.new == self.old:
            raise AssertionError(f"without any fault: {self.done}, left {left}")
        # A second run: what is expected after a run that was killed at its very end.
        self.again = run(scenario.argv_of(stage, folder), env=TIME)
        self.newer, _ = state(folder)
        self.main = next(call.index for call in self.calls if call.name == "rt_sigaction" and "SIGHUP" in call.text)
        self._find_lock_calls()
        shutil.rmtree(folder)

    def _find_lock_calls(self):
        """Finds the calls that make, lock and remove the lock file."""
        named = [call for call in self.calls if f'"{LOCK}"' in call.text]
        made, held, checked, removed = named[0], named[1], named[-2], named[-1]
        if (made.name, removed.name) != ("openat", "unlinkat"):
            raise AssertionError(f"not as expected: {made}, {removed}")
        self.lock = made.index
        # The signal handler removes the lock file, but not during these calls.
        self.taking = self.calls[made.index:held.index + 1]
        self.giving_up = self.calls[checked.index - 1:removed.index + 1]

    def fresh_folder(self):
        folder = self.stage.path("folder")
        shutil.copytree(self.scenario.template, folder)
        return folder

    def plan(self, first=0):
        """The calls that a fault makes sense for."""
        asked = next((call for call in self.calls if '"/proc/self/fd"' in call.text), None)
        # Both cannot be done to calls of one name.
        spoilt = asked.name if asked and self.scenario.named else None
        return [call for call in self.calls[max(first, 1):] if call.name != spoilt]


def attempt(baseline, call, fault):
    """One run with a fault: (the folder afterwards, how the run ended)."""
    folder = baseline.fresh_folder()
    argv = baseline.scenario.argv_of(baseline.stage, folder)
    done, _ = tracer.inject(baseline.stage.path("trace"), argv, call, fault, also=baseline.also, env=TIME)
    return folder, argv, done


def try_signal(baseline, call, fault, leftovers):
    """One run that a signal ends: the reasons why its outcome is not allowed."""
    folder, argv, done = attempt(baseline, call, fault)
    content, left = state(folder)
    whys = []
    if done.returncode != -getattr(signal, fault.title):
        # The command was about to exit, or blocks the signal until it has finished.
        whys += [] if done.returncode == 0 and content == baseline.new else ["it was not killed"]
    if content not in (baseline.old, baseline.new):
        whys.append("neither the old filter nor the new one")
    may_stay = {LOCK, NEW} if fault is KILL else {LOCK} if call in baseline.taking + baseline.giving_up else set()
    if left - may_stay:
        whys.append(f"leaves {sorted(left)} behind")
    for name in left:
        leftovers[name] = leftovers.get(name, 0) + 1
    whys += _next_run(baseline, folder, argv, content)
    shutil.rmtree(folder)
    return [f"{fault} at {call}: {why}: {done}" for why in whys]


def _next_run(baseline, folder, argv, before):
    """Runs the command again. It must succeed, and remove the files that the killed run left."""
    again = run(argv, env=TIME)
    content, left = state(folder)
    usual = (baseline.done.returncode, baseline.new) if before == baseline.old else (baseline.again.returncode,
                                                                                     baseline.newer)
    whys = []
    if (again.returncode, content) != usual:
        whys.append(f"the next run does not do its work: {again}")
    if left:
        whys.append(f"the next run leaves {sorted(left)} behind")
    return whys


def try_error(baseline, call, fault):
    """One run with an error: the reasons why its outcome is not allowed."""
    folder, argv, done = attempt(baseline, call, fault)
    content, left = state(folder)
    whys = []
    if done.hung or done.returncode < 0 and call.index >= baseline.main:
        whys.append("it hangs" if done.hung else "it crashed")
    elif done.returncode == 0:
        whys += [] if content == baseline.new else ["not the new filter, and success"]
    else:
        whys += _failed_run(baseline, call, done, content)
    may_stay = {LOCK} if call in baseline.giving_up else set()
    if NEW in call.text and call.name == "unlinkat":
        may_stay.add(NEW)
    if left - may_stay:
        whys.append(f"leaves {sorted(left)} behind")
    whys += _next_run(baseline, folder, argv, content) if content in (baseline.old, baseline.new) else []
    shutil.rmtree(folder)
    return [f"{fault} at {call}: {why}: {done}" for why in whys]


def _failed_run(baseline, call, done, content):
    if call.index < baseline.main:
        return [] if content == baseline.old else ["it did not start, and the filter is another"]
    whys = []
    if done.returncode != 2:
        whys.append("not status 2")
    if content != baseline.old and not (content == baseline.new and NOT_SURE in done.stderr):
        whys.append("failed, and the filter is not the old one")
    speechless = call.name == "write" and call.text.startswith("2,")
    names = (FILTER, "keys.pub", "second.pkbf", "third.pkbf")
    if not speechless and not any(name.encode() in done.stderr for name in names):
        whys.append("the message names no file")
    return whys


def try_scenario(stage, report, scenario):
    baseline = Baseline(stage, scenario)
    share = 2 if scenario.arguments[1] == "add" else 4
    leftovers = {}
    with report.case(f"writer: {scenario.title}: killed at every call") as case:
        plan = stage.some(baseline.plan(baseline.lock), share) + stage.some(baseline.plan()[:baseline.lock - 1], 30)
        report.count(case, stage.each(lambda call: try_signal(baseline, call, KILL, leftovers), plan))
        case.note += "".join(f", {name} left behind by {count}" for name, count in sorted(leftovers.items()))
    with report.case(f"writer: {scenario.title}: ended by SIGTERM, SIGINT or SIGHUP at every call") as case:
        plan = [(call, fault) for call in baseline.plan(baseline.lock) for fault in ENDING]
        plan, leftovers = stage.some(plan, 8), {}
        report.count(case, stage.each(lambda one: try_signal(baseline, *one, leftovers), plan))
        case.note += "".join(f", {name} left behind by {count}" for name, count in sorted(leftovers.items()))
    with report.case(f"writer: {scenario.title}: every call fails") as case:
        plan = [(call, fault) for call in baseline.plan(0 if stage.long else baseline.main) for fault in ERRORS
                if tracer.applies(fault, call) and call not in baseline.taking[1:]]
        plan = stage.some(plan, 12)
        report.count(case, stage.each(lambda one: try_error(baseline, *one), plan))
    if scenario.arguments[1] == "add":
        try_lock(stage, report, scenario, baseline)


def try_lock(stage, report, scenario, baseline):
    """The lock file is removed if it cannot be locked, as on a file system without locks."""
    with report.case(f"writer: {scenario.title}: the lock file is not left behind when it cannot be used") as case:
        plan = [(call, fault) for call in baseline.taking[1:] for fault in (*ERRORS, tracer.error("ENOLCK"))
                if tracer.applies(fault, call) and call.name != "newfstatat" or fault is ERRORS[0]]
        report.count(case, stage.each(lambda one: try_error(baseline, *one), plan))


def cases(stage, report):
    for scenario in make_scenarios(stage):
        if report.wants(scenario.title):
            try_scenario(stage, report, scenario)


if __name__ == "__main__":
    sys.exit(play(__doc__, cases))
