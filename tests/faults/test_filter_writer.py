# SPDX-License-Identifier: ISC
"""keyveto filter add, create and merge: killed at each system call, and with each call failing.

The command is two processes: keyveto (the front), which opens and replaces the
filter, and keyveto-worker, which reads and writes what is in it. Each has its
faults on its own.

Afterwards the filter is the old one or the new one, byte for byte. A killed
run may leave only the files that cli/host/replace.h names, and the next run
removes them. A run that fails prints a message that names a file, ends with
status 2, keeps the old filter, and leaves no other file. If the new one was
in place already when it failed, the message says so.
"""

import base64
import hashlib
import os
import random
import re
import shutil
import signal
from dataclasses import dataclass, replace
from subprocess import DEVNULL, check_call

import pytest
import tracer
from stage import ENVIRONMENT, run

pytestmark = pytest.mark.throwaway

FILTER = "filter.pkbf"
LOCK, NEW = f".{FILTER}.lock", f".{FILTER}.keyveto-new"

KILL = tracer.kill_by("SIGKILL")
ENDING = [tracer.kill_by(name) for name in ("SIGTERM", "SIGINT", "SIGHUP")]
ERRORS = [tracer.error(name) for name in ("EIO", "ENOSPC", "ENOMEM", "EINTR", "EACCES")]
NOT_SURE = b"written, but not sure to survive a crash"
IN_PLACE, AS_IT_WAS = b": the new one is in place, but ", b": is as it was: "
# How often the front waits, and for how much at a time, is another number in each run.
VARYING = {"clock_nanosleep", "poll", "read", "waitid", "write"}

WITHOUT_O_TMPFILE = ", without O_TMPFILE"
SIZE = ["--hashes", "5", "--length", "16"]
# The arguments, and whether the filter exists.
COMMANDS = {
    "filter add": (["filter", "add", FILTER, "keys.pub"], True),
    "filter add, keys kept in a file": (["filter", "add", FILTER, "many.pub"], True),
    "filter create": (["filter", "create", FILTER, *SIZE], False),
    "filter create --force": (["filter", "create", FILTER, *SIZE, "--force"], True),
    "filter merge, a new one": (["filter", "merge", FILTER, "second.pkbf", "third.pkbf"], False),
    "filter merge, one of its own": (["filter", "merge", FILTER, FILTER, "third.pkbf"], True),
}
# Each run of the large filter compares 64 MiB: make check has it with O_TMPFILE alone.
TITLES = [pytest.param(title + more, id=title + more,
                       marks=[pytest.mark.campaign] if "kept in" in title and more else [])
          for title in COMMANDS for more in ("", WITHOUT_O_TMPFILE)]
ADD = [title for title in TITLES if title.id.startswith("filter add")]

INPUTS = ("second.pkbf", "third.pkbf", "keys.pub", "many.pub")
# More keys than a batch, and a filter larger than a window of 64 MiB: the keys are kept in a file beside it
# (cli/sets/additions.h).
MANY, LARGE_SIZE = 17_000, ["--hashes", "1", "--length", "30"]

TIME = {**ENVIRONMENT, "SOURCE_DATE_EPOCH": "1700000000"}


@dataclass
class Scenario:
    """A command, and the folder it finds."""
    title: str
    large: bool             # a run takes a second
    arguments: list         # FILTER and the names of its neighbours stand for paths in the folder
    template: object        # a folder
    named: bool             # the file system has no O_TMPFILE

    def argv_of(self, stage, folder, program=None):
        words = [str(folder / word) if (folder / word).exists() or word == FILTER else word for word in self.arguments]
        return [program or stage.keyveto, *words]


@pytest.fixture(scope="module", name="scenarios")
def fixture_scenarios(stage):
    """Each command, on file systems with and without O_TMPFILE, by its title."""
    old, added = [stage.key() for _ in range(3)], [stage.key() for _ in range(2)]
    with_filter, without, large = (stage.make_folder(name) for name in ("with", "without", "large"))
    for folder in (with_filter, without, large):
        shutil.copy(stage.filter(*old), folder / "second.pkbf")
        shutil.copy(stage.filter(*added), folder / "third.pkbf")
        (folder / "keys.pub").write_text("".join(f"{one.key}\n" for one in added), encoding="ascii")
        (folder / "many.pub").write_bytes(many_keys())
    shutil.copy(stage.filter(*old), with_filter / FILTER)
    check_call([stage.keyveto, "filter", "create", large / FILTER, *LARGE_SIZE], stderr=DEVNULL)
    stage.traced_worker = stage.write("traced-worker", TRACED_WORKER, 0o755)
    made = {}
    for title, (arguments, exists) in COMMANDS.items():
        template = large if "many.pub" in arguments else with_filter if exists else without
        for more in ("", WITHOUT_O_TMPFILE):
            made[title + more] = Scenario(title + more, template is large, arguments, template, bool(more))
    return made


def many_keys():
    """MANY lines of Ed25519 keys (RFC 8709), the same in each run."""
    rng, head = random.Random(MANY), b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
    return b"".join(b"ssh-ed25519 " + base64.b64encode(head + rng.randbytes(32)) + b"\n" for _ in range(MANY))


@pytest.fixture(name="baseline")
def fixture_baseline(stage, scenarios, title):
    return Baseline(stage, scenarios[title])


def state(folder):
    """(the SHA-256 of the filter or None, the other files that were not there before)."""
    path, digest = folder / FILTER, None
    if path.exists():
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    return digest, set(os.listdir(folder)) - {FILTER, *INPUTS}


@dataclass(frozen=True)
class Step:
    """A system call of the front or the worker."""
    call: tracer.Call
    is_front: bool

    def __str__(self):
        return f"{'front' if self.is_front else 'worker'}: {self.call}"


# In the place of keyveto-worker: it traces it, with the faults that are named in a file beside it.
TRACED_WORKER = """#!/bin/sh
folder=${0%/*}
read -r faults <"$folder/faults"
exec strace -D -s 512 -o "$folder/trace" $faults -- "$folder/real-worker"
"""


class Baseline:
    """What the command does when nothing fails."""

    def __init__(self, stage, scenario):
        self.stage, self.scenario = stage, scenario
        self.also = []
        if scenario.named:
            _, calls = self._list_front()
            self.asked = next(call for call in calls if '"/proc/self/fd"' in call.text)
            self.also = ["-e", tracer.expression(self.asked, tracer.error("ENOENT"))]
        self.done, self.front = self._list_front()
        self.worker = self._list_worker()
        # A second run: what is expected after a run that was killed at its very end.
        folder = self.fresh_folder()
        self.old, _ = state(folder)
        run(scenario.argv_of(stage, folder), env=TIME)
        self.new, _ = state(folder)
        self.again = run(scenario.argv_of(stage, folder), env=TIME)
        self.newer, _ = state(folder)
        shutil.rmtree(folder)
        # Where each reaches its main().
        self.front_main = next(call.index for call in self.front
                               if call.name == "rt_sigaction" and "SIGCHLD" in call.text)
        self.worker_main = next(call.index for call in self.worker
                                if call.name == "rt_sigaction" and "SIGXFSZ" in call.text)
        # Where the front knows which file will be replaced.
        self.promise = next(call.index for call in self.worker if call.name == "sendmsg" and FILTER in call.text)
        self._find_lock_calls()

    def _list_front(self):
        folder = self.fresh_folder()
        old, _ = state(folder)
        done, calls = tracer.list_calls(self.stage.path("trace"), self.scenario.argv_of(self.stage, folder),
                                        *self.also, follow=False, env=TIME)
        self._check(done, old, folder)
        return done, calls

    def _list_worker(self):
        folder = self.fresh_folder()
        old, _ = state(folder)
        done, text = self.run_worker(folder, [])
        self._check(done, old, folder)
        return tracer.parse(text)

    @staticmethod
    def _check(done, old, folder):
        new, left = state(folder)
        shutil.rmtree(folder)
        if done.returncode != 0 or left or new == old:
            raise AssertionError(f"without any fault: {done}, left {left}")

    def run_worker(self, folder, faults):
        """Runs the command with faults of the worker: (how it ended, the worker's trace)."""
        programs = self.stage.make_folder("programs")
        os.link(self.stage.keyveto, programs / "keyveto")
        os.link(self.stage.keyveto.with_name("keyveto-worker"), programs / "real-worker")
        # A script that was written a moment ago may be open in a child of another thread: no such can be run.
        os.link(self.stage.traced_worker, programs / "keyveto-worker")
        (programs / "faults").write_text(" ".join(faults) + "\n", encoding="ascii")
        argv = self.scenario.argv_of(self.stage, folder, programs / "keyveto")
        if self.also:
            done, _ = tracer.trace(programs / "front", argv, *self.also, follow=False, env=TIME)
        else:
            done = run(argv, env=TIME)
        text = (programs / "trace").read_text(encoding="utf-8", errors="replace")
        shutil.rmtree(programs)
        return done, text

    def _find_lock_calls(self):
        """Finds the calls that make, lock and remove the lock file."""
        named = [call for call in self.front if f'"{LOCK}"' in call.text]
        made, held, checked, removed = named[0], named[1], named[-2], named[-1]
        if (made.name, removed.name) != ("openat", "unlinkat"):
            raise AssertionError(f"not as expected: {made}, {removed}")
        self.lock = made.index
        # The signal handler removes the lock file, but not during these calls.
        self.taking = [Step(call, True) for call in self.front[made.index:held.index + 1]]
        self.giving_up = [Step(call, True) for call in self.front[checked.index - 1:removed.index + 1]]

    def is_before_main(self, step):
        return step.call.index < (self.front_main if step.is_front else self.worker_main)

    def is_before_promise(self, step):
        """Whether the front may not know yet that the filter will be replaced."""
        return step.call.index < self.lock if step.is_front else step.call.index <= self.promise

    def fresh_folder(self):
        folder = self.stage.path("folder")
        check_call(["cp", "-a", self.scenario.template, folder])   # this keeps the holes of a large filter
        return folder

    def with_what_was_read(self, step, done):
        """The filter with the first keys of an input, as many as done says; None if the step does not read one.

        What cannot be read is reported, and the rest is added."""
        counts = re.search(rb"(\d+) added, (\d+) there already", done.stderr)
        if step.is_front or step.call.name != "read" or "ssh-ed25519" not in step.call.text or not counts:
            return None
        folder = self.fresh_folder()
        name = self.scenario.arguments[-1]
        lines = (folder / name).read_bytes().splitlines(keepends=True)
        (folder / name).write_bytes(b"".join(lines[:sum(map(int, counts.groups()))]))
        run(self.scenario.argv_of(self.stage, folder), env=TIME)
        content, _ = state(folder)
        shutil.rmtree(folder)
        return content

    def share(self, usual):
        """For stage.some: one in so many of the runs."""
        return 12 * usual if self.scenario.large else usual

    def plan(self, first=0, worker_first=0):
        """The calls that a fault makes sense for. Of many in a row by one name (a write for each page), a few."""
        # Both cannot be done to calls of one name.
        spoilt = self.asked.name if self.also else None
        return [Step(call, is_front) for calls, first, is_front in ((self.front, first, True),
                                                                    (self.worker, worker_first, False))
                for before, call in zip(calls[max(first, 1) - 1:], calls[max(first, 1):])
                if not (is_front and call.name == spoilt) and
                (call.name != "pwrite64" or before.name != call.name or call.index % 1000 == 0)]


def some(stage, baseline, plan, share):
    """A sample of a plan, of one in so many; and what the front does with the filter's files by their names.

    Of the latter all, or one in six of a large filter."""
    steps = [(one, one if isinstance(one, Step) else one[0]) for one in plan]
    chosen = [one for one, step in steps if step.is_front and step.call.name != "execve" and FILTER in step.call.text]
    rest = [one for one in plan if one not in chosen]
    return stage.some(chosen, 6 if baseline.scenario.large else 1) + stage.some(rest, baseline.share(share))


def attempts(stage, function, plan):
    """function(one) for each of the plan: why its outcome is not allowed.

    Some calls of the front are made in one run, and not in the next. Most have to be hit.
    """
    def one(item):
        try:
            return function(item)
        except tracer.NeverHit:
            step = item if isinstance(item, Step) else item[0]
            if not step.is_front or step.call.name not in VARYING:
                raise
            return None

    results = stage.each(one, plan)
    missed = results.count(None)
    assert missed * 10 <= len(plan), f"{missed} of {len(plan)} calls were not hit"
    return [whys for whys in results if whys is not None]


def attempt(baseline, step, fault):
    """One run with a fault: (the folder afterwards, the step as it was made, how the run ended)."""
    folder, call = baseline.fresh_folder(), step.call
    faults = ["-e", tracer.expression(call, fault)]
    if step.is_front:
        argv = baseline.scenario.argv_of(baseline.stage, folder)
        done, text = tracer.trace(baseline.stage.path("trace"), argv, *baseline.also, *faults, follow=False, env=TIME)
    else:
        done, text = baseline.run_worker(folder, faults)
    made = next((later for later in tracer.parse(text) if (later.name, later.nth) == (call.name, call.nth)), None)
    if made is None or not fault.is_signal and "(INJECTED)" not in made.text:
        raise tracer.NeverHit(f"{fault} at {step}: never hit: {done}")
    if call.name == "write":
        # What it writes, and where to, is another thing in each run.
        step = replace(step, call=replace(call, text=made.text))
    return folder, step, done


def try_signal(baseline, step, fault):
    """One run in which a signal ends a process: the reasons why its outcome is not allowed."""
    folder, step, done = attempt(baseline, step, fault)
    content, left = state(folder)
    whys = []
    if not step.is_front and step.call.name == "exit_group" and done.returncode == 0:
        # It had exited when the signal came.
        whys += [] if content == baseline.new else ["not the new filter, and success"]
    elif not step.is_front:
        whys += _failed_run(baseline, step, done, content)
    elif done.returncode != -getattr(signal, fault.title):
        # The command was about to exit, or blocks the signal until it has finished.
        whys += [] if done.returncode == 0 and content == baseline.new else ["it was not killed"]
    if content not in (baseline.old, baseline.new):
        whys.append("neither the old filter nor the new one")
    may_stay = {LOCK} if step in baseline.taking + baseline.giving_up else set()
    if step.is_front and fault is KILL:
        may_stay = {LOCK, NEW}
    if left - may_stay:
        whys.append(f"leaves {sorted(left)} behind")
    whys += _next_run(baseline, folder, content)
    shutil.rmtree(folder)
    return [f"{fault} at {step}: {why}: {done}" for why in whys]


def _next_run(baseline, folder, before):
    """Runs the command again. It must succeed, and remove the files that the killed run left."""
    again = run(baseline.scenario.argv_of(baseline.stage, folder), env=TIME)
    content, left = state(folder)
    usual = (baseline.done.returncode, baseline.new) if before == baseline.old else (baseline.again.returncode,
                                                                                     baseline.newer)
    whys = []
    if (again.returncode, content) != usual:
        whys.append(f"the next run does not do its work: {again}")
    if left:
        whys.append(f"the next run leaves {sorted(left)} behind")
    return whys


def try_error(baseline, step, fault):
    """One run with an error: the reasons why its outcome is not allowed."""
    folder, step, done = attempt(baseline, step, fault)
    content, left = state(folder)
    whys = []
    if done.hung or done.returncode < 0 and not (step.is_front and baseline.is_before_main(step)):
        whys.append("it hangs" if done.hung else "it crashed")
    elif done.returncode == 0:
        whys += [] if content == baseline.new else ["not the new filter, and success"]
        said = baseline.done.stderr.rpartition(FILTER.encode())[2]
        whys += [] if said in done.stderr or is_speechless(step) else ["success, and does not say what it did"]
    else:
        whys += _failed_run(baseline, step, done, content)
    may_stay = {LOCK} if step in baseline.giving_up else set()
    if NEW in step.call.text and step.call.name == "unlinkat":
        may_stay.add(NEW)
    if left - may_stay:
        whys.append(f"leaves {sorted(left)} behind")
    whys += _next_run(baseline, folder, content) if content in (baseline.old, baseline.new) else []
    shutil.rmtree(folder)
    return [f"{fault} at {step}: {why}: {done}" for why in whys]


def can_fail(step, fault):
    """Whether the call may fail so. The kernel closes a descriptor even if close(2) fails, but strace leaves it open:
    the front would wait for the end of a pipe that it holds itself."""
    return tracer.applies(fault, step.call) and not (step.is_front and step.call.name == "close")


def is_speechless(step):
    return step.call.name == "write" and step.call.text.startswith("2,")


def _failed_run(baseline, step, done, content):
    if step.is_front and baseline.is_before_main(step):
        return [] if content == baseline.old else ["it did not start, and the filter is another"]
    whys = []
    if done.returncode != 2:
        whys.append("not status 2")
    says_new = NOT_SURE in done.stderr or IN_PLACE in done.stderr
    if content != baseline.old and not (content == baseline.new and says_new) and \
            content != baseline.with_what_was_read(step, done):
        whys.append("failed, and the filter is not the old one")
    if content == baseline.old and says_new or content == baseline.new and AS_IT_WAS in done.stderr:
        whys.append("says that the filter is another than it is")
    names = (FILTER, *INPUTS, *(["the worker", "keyveto-worker"] if baseline.is_before_promise(step) else []))
    if not is_speechless(step) and not any(name.encode() in done.stderr for name in names):
        whys.append("the message names no file")
    return whys


@pytest.mark.sample(4)
@pytest.mark.parametrize("title", TITLES)
def test_killed_at_any_call_it_leaves_the_old_filter_or_the_new_one(stage, baseline, check_runs):
    share = 7 if baseline.scenario.arguments[1] == "add" else 14
    late = baseline.plan(baseline.lock, baseline.worker_main)
    early = [step for step in baseline.plan() if step not in late]
    plan = some(stage, baseline, late, share) + stage.some(early, baseline.share(15 * share))
    check_runs(attempts(stage, lambda step: try_signal(baseline, step, KILL), plan))


@pytest.mark.sample(4)
@pytest.mark.parametrize("title", TITLES)
def test_ended_by_a_signal_at_any_call_it_leaves_nothing_behind(stage, baseline, check_runs):
    plan = [(step, fault) for step in baseline.plan(baseline.lock, baseline.worker_main) for fault in ENDING]
    check_runs(attempts(stage, lambda one: try_signal(baseline, *one), stage.some(plan, baseline.share(30))))


@pytest.mark.sample(4)
@pytest.mark.parametrize("title", TITLES)
def test_if_any_call_fails_it_keeps_the_old_filter_and_says_why(stage, baseline, check_runs):
    first = (0, 0) if stage.long else (baseline.front_main, baseline.worker_main)
    plan = [(step, fault) for step in baseline.plan(*first) for fault in ERRORS
            if can_fail(step, fault) and step not in baseline.taking[1:]]
    check_runs(attempts(stage, lambda one: try_error(baseline, *one), some(stage, baseline, plan, 44)))


@pytest.mark.sample(3)
@pytest.mark.parametrize("title", ADD)
def test_a_lock_file_that_cannot_be_locked_is_removed(stage, baseline, check_runs):
    """As on a file system without locks."""
    plan = [(step, fault) for step in baseline.taking[1:] for fault in (*ERRORS, tracer.error("ENOLCK"))
            if can_fail(step, fault) and step.call.name != "newfstatat" or fault is ERRORS[0]]
    check_runs(attempts(stage, lambda one: try_error(baseline, *one), plan))
