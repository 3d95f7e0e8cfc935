# SPDX-License-Identifier: ISC
"""keyveto filter add, create and merge: killed at each system call, and with each call failing.

Afterwards the filter is the old one or the new one, byte for byte. A killed
run may leave only the files that cli/host/replace.h names, and the next run
removes them. A run that fails prints a message that names a file, ends with
status 2, keeps the old filter, and leaves no other file.
"""

import base64
import hashlib
import os
import random
import re
import shutil
import signal
from dataclasses import dataclass
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
TITLES = [title + more for title in COMMANDS for more in ("", WITHOUT_O_TMPFILE)]
ADD = [title for title in TITLES if title.startswith("filter add")]

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

    def argv_of(self, stage, folder):
        words = [str(folder / word) if (folder / word).exists() or word == FILTER else word for word in self.arguments]
        return [stage.keyveto, *words]


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
        check_call(["cp", "-a", self.scenario.template, folder])   # this keeps the holes of a large filter
        return folder

    def with_what_was_read(self, call, done):
        """The filter with the first keys of an input, as many as done says; None if call does not read an input.

        What cannot be read is reported, and the rest is added."""
        counts = re.search(rb"(\d+) added, (\d+) there already", done.stderr)
        if call.name != "read" or "ssh-ed25519" not in call.text or not counts:
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
        return 5 * usual if self.scenario.large else usual

    def plan(self, first=0):
        """The calls that a fault makes sense for. Of many in a row by one name (a write for each page), a few."""
        asked = next((call for call in self.calls if '"/proc/self/fd"' in call.text), None)
        # Both cannot be done to calls of one name.
        spoilt = asked.name if asked and self.scenario.named else None
        first = max(first, 1)
        again = {call.index for before, call in zip(self.calls, self.calls[1:]) if before.name == call.name}
        return [call for call in self.calls[first:] if call.name != spoilt and
                (call.name != "pwrite64" or call.index not in again or call.index % 1000 == 0)]


def attempts(stage, function, plan):
    """function(one) for each of the plan: why its outcome is not allowed.

    The command and keyveto-worker speak to each other, and wait more or less often each time: some calls are made in
    one run, and not in the next. Most have to be hit.
    """
    def one(item):
        try:
            return function(item)
        except tracer.NeverHit:
            return None

    results = stage.each(one, plan)
    missed = results.count(None)
    assert missed * 3 <= len(plan), f"{missed} of {len(plan)} calls were not hit"
    return [whys for whys in results if whys is not None]


def attempt(baseline, call, fault):
    """One run with a fault: (the folder afterwards, how the run ended)."""
    folder = baseline.fresh_folder()
    argv = baseline.scenario.argv_of(baseline.stage, folder)
    done, _ = tracer.inject(baseline.stage.path("trace"), argv, call, fault, also=baseline.also, env=TIME)
    return folder, argv, done


def try_signal(baseline, call, fault):
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
    if content != baseline.old and not (content == baseline.new and NOT_SURE in done.stderr) and \
            content != baseline.with_what_was_read(call, done):
        whys.append("failed, and the filter is not the old one")
    speechless = call.name == "write" and call.text.startswith("2,")
    if not speechless and not any(name.encode() in done.stderr for name in (FILTER, *INPUTS)):
        whys.append("the message names no file")
    return whys


@pytest.mark.parametrize("title", TITLES)
def test_killed_at_any_call_it_leaves_the_old_filter_or_the_new_one(stage, baseline, check_runs):
    share = baseline.share(2 if baseline.scenario.arguments[1] == "add" else 4)
    early = baseline.plan()[:baseline.lock - 1]
    plan = stage.some(baseline.plan(baseline.lock), share) + stage.some(early, 15 * share)
    check_runs(attempts(stage, lambda call: try_signal(baseline, call, KILL), plan))


@pytest.mark.parametrize("title", TITLES)
def test_ended_by_a_signal_at_any_call_it_leaves_nothing_behind(stage, baseline, check_runs):
    plan = [(call, fault) for call in baseline.plan(baseline.lock) for fault in ENDING]
    check_runs(attempts(stage, lambda one: try_signal(baseline, *one), stage.some(plan, baseline.share(8))))


@pytest.mark.parametrize("title", TITLES)
def test_if_any_call_fails_it_keeps_the_old_filter_and_says_why(stage, baseline, check_runs):
    plan = [(call, fault) for call in baseline.plan(0 if stage.long else baseline.main) for fault in ERRORS
            if tracer.applies(fault, call) and call not in baseline.taking[1:]]
    check_runs(attempts(stage, lambda one: try_error(baseline, *one), stage.some(plan, baseline.share(12))))


@pytest.mark.parametrize("title", ADD)
def test_a_lock_file_that_cannot_be_locked_is_removed(stage, baseline, check_runs):
    """As on a file system without locks."""
    plan = [(call, fault) for call in baseline.taking[1:] for fault in (*ERRORS, tracer.error("ENOLCK"))
            if tracer.applies(fault, call) and call.name != "newfstatat" or fault is ERRORS[0]]
    check_runs(attempts(stage, lambda one: try_error(baseline, *one), plan))
