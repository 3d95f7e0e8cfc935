# SPDX-License-Identifier: ISC
"""Exact lists that are replaced or cut while logins read them."""

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import threading
import time

import pam_runs
import pytest
import tracer
from patience import PATIENCE
from stage import ENVIRONMENT, run

pytestmark = pytest.mark.throwaway

LOGINS = 500
VERSIONS = 12
RECORDS = 20000


class Lists:
    """Versions of a list. Each has one key, every other one a second key, none a third."""

    def __init__(self, stage):
        self.stage, self.account = stage, stage.account()
        self.always, self.sometimes, self.never = (stage.key() for _ in range(3))
        self.account.authorize("a line")
        # Of different lengths, so that no record keeps its place.
        self.versions = [stage.blocklist(*(self.always, self.sometimes)[:1 + number % 2], others=RECORDS + 37 * number)
                         for number in range(VERSIONS)]
        self.path = stage.path("current")
        shutil.copy(self.versions[0], self.path)
        self.config = stage.config(f"Blocklist {self.path}")
        self.driver = stage.compile("pamdriver.c", "-lpam")
        self.services = pam_runs.make_stack(stage, self.config)

    def guard_argv(self, key, name):
        return [self.stage.guard, "--config", self.config, "--user", self.account.name, "--home", self.account.home,
                "--type", key.key.type, "--key", key.key.blob, "--connection", f"192.0.2.1 22 {name} 22"]

    def pam_argv(self, key, name):
        return [self.driver, self.services, "kvt", self.account.name, name, f"publickey {key.key}\n", "session"]


@pytest.fixture(scope="module", name="lists")
def fixture_lists(stage):
    return Lists(stage)


@contextlib.contextmanager
def replacing(lists):
    """Renames version after version to the list's name, until the block ends."""
    enough, turns = threading.Event(), itertools.count()

    def work():
        for version in itertools.cycle(lists.versions):
            if enough.is_set():
                return
            new = lists.path.with_name("new")
            # A rename between two names of one file does nothing.
            new.unlink(missing_ok=True)
            os.link(version, new)
            new.replace(lists.path)
            next(turns)
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()
    assert next(turns) > VERSIONS, "the list was not replaced"


@pytest.mark.sample(2)
@pytest.mark.parametrize("how", ("guard", "PAM"))
def test_of_500_logins_none_is_wrong_while_the_list_is_replaced(stage, lists, how):
    outcomes = {lists.always: set(), lists.sometimes: set(), lists.never: set()}

    def one(number):
        key, name = list(outcomes)[number % 3], stage.name_run()
        done = run(lists.guard_argv(key, name) if how == "guard" else lists.pam_argv(key, name))
        said = {decision.verdict for decision in stage.log.decisions(name)}
        if how == "guard":
            entered = {(0, b"a line\n"): True, (0, b""): False}.get((done.returncode, done.stdout))
        else:
            entered = {0: True, pam_runs.PERM_DENIED: False}.get(pam_runs.read_codes(done).get("session"))
        outcomes[key].add(entered)
        right = said == (set() if entered else {"listed"})
        return [] if right and entered is not None else [f"{done}, logged {said}"]

    with replacing(lists):
        whys = [why for found in stage.each(one, range(LOGINS)) for why in found]
    assert whys == []
    assert outcomes == {lists.always: {False}, lists.sometimes: {True, False}, lists.never: {True}}


def stop_at(lists, when, key, name, change):
    """Stops the guard behind a system call about its list, makes the change, and lets it go on: (output, status)."""
    trace = lists.stage.path("trace")
    _, calls = tracer.list_calls(trace, lists.guard_argv(key, name))
    opened = next(call for call in calls if call.name == "openat" and f'"{lists.path.name}"' in call.text)
    # The size is asked for at last before the first read.
    first_read = next(call for call in calls if call.name == "pread64" and call.index > opened.index)
    measured = [call for call in calls if "fstat" in call.name and opened.index < call.index < first_read.index][-1]
    call = {"opened": opened, "measured": measured}[when]
    trace.touch()
    argv = ["strace", "-f", "-e", f"trace={call.name}", "-e", f"inject={call.name}:signal=SIGSTOP:when={call.nth}",
            "-o", trace, "--", *lists.guard_argv(key, name)]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=ENVIRONMENT) as process:
        deadline = time.monotonic() + PATIENCE
        while not (stopped := re.search(r"^([0-9]+) +--- stopped by SIGSTOP", trace.read_text(), re.MULTILINE)):
            assert process.poll() is None and time.monotonic() < deadline, f"never stopped: {trace.read_text()}"
            time.sleep(0.005)
        try:
            change()
        finally:
            os.kill(int(stopped[1]), signal.SIGCONT)
        out, _ = process.communicate(timeout=PATIENCE)
    return out, process.returncode


def cut_to(length):
    return lambda lists: os.truncate(lists.path, length)


def replace_with_another(lists):
    """By a list without the key."""
    lists.stage.blocklist(lists.never).replace(lists.path)


CHANGES = {
    "cut to nothing": (cut_to(0), (b"", 1), "error"),
    "cut to half a record": (cut_to(8), (b"", 1), "error"),
    "replaced": (replace_with_another, (b"", 0), "listed"),
}


@pytest.mark.parametrize("when", ("opened", "measured"))
@pytest.mark.parametrize("change, expected, verdict", CHANGES.values(), ids=CHANGES)
def test_a_list_that_changes_after_it_was_opened_makes_no_listed_key_clean(stage, lists, change, expected, verdict,
                                                                           when):
    name = stage.name_run()
    stage.blocklist(lists.always, others=RECORDS).replace(lists.path)
    assert stop_at(lists, when, lists.always, name, lambda: change(lists)) == expected
    assert stage.log.decisions(name)[-1].verdict == verdict
