# SPDX-License-Identifier: ISC
"""What a process with the guard's uid can do to the guard, on a real sshd."""

import concurrent.futures
import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from patience import PATIENCE
from server import GUARD, Deployment, guard, stock_stack

pytestmark = pytest.mark.throwaway

INTRUDER = Path(__file__).with_name("intruder.py").read_text(encoding="utf-8")
NAME = Path(GUARD).name
LOGINS = 20
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")


class Intruder:
    """A process of the account. pids are the processes it has stopped or traced."""

    def __init__(self, bench, account, what):
        self.output = bench.path("intruder.log")
        script = bench.write("intruder", INTRUDER, 0o755)
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen([script, what, NAME], stdout=output,
                                            user=account.uid, group=account.gid, extra_groups=[])
        bench.at_end(self.end)
        _wait_for(lambda: "ready" in self.output.read_text(encoding="ascii"), "the intruder does not begin")

    def end(self):
        self.process.kill()
        self.process.wait()

    @property
    def pids(self):
        return [int(line) for line in self.output.read_text(encoding="ascii").splitlines()[1:] if line]


def _wait_for(condition, what, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def _state(pid):
    """The state of a process as ps shows it. None if the process is gone or a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else state


def _program(bench, mode):
    """A copy of the guard with this mode."""
    watched = Path(f"{GUARD}.watched")      # the program that TEST_WRAPPER runs
    folder = bench.path("libexec")
    folder.mkdir()
    return bench.write(f"{folder.name}/{NAME}", (watched if watched.exists() else Path(GUARD)).read_bytes(), mode)


def traced(bench, mode, logins):
    """How many guards with this mode a process of the same uid traced."""
    account, somebody, clean = bench.account(), bench.account(), bench.key()
    account.authorize(clean.key)
    for path, readable in ((account.home, 0o755), (account.ssh, 0o755), (account.authorized_keys, 0o644)):
        path.chmod(readable)
    program = _program(bench, mode)
    sshd = bench.server(Deployment((
        "AuthorizedKeysFile none",
        f"AuthorizedKeysCommand {program} --config {bench.config(listed=[bench.key()])}"
        " --user %u --home %h --type %t --key %k",
        f"AuthorizedKeysCommandUser {somebody.name}"), stock_stack()))
    intruder = Intruder(bench, somebody, "trace")
    entered = 0
    for _ in range(logins):
        entered += bench.login(sshd, account, clean).entered
        if intruder.pids:
            break
    assert intruder.pids or entered == logins, f"only {entered} of {logins} logins"
    return len(intruder.pids)


@pytest.mark.skipif(YAMA.exists() and YAMA.read_text(encoding="ascii").strip() != "0",
                    reason="left out, since there is no ptrace without Yama here")
def test_guard_neighbours_a_readable_guard_is_traced_by_a_process_of_its_uid(bench):
    assert traced(bench, 0o755, 500), "the intruder cannot trace anything: it proves nothing"


@pytest.mark.long
def test_guard_neighbours_the_installed_mode_prevents_tracing(bench):
    mode = Path(GUARD).stat().st_mode & 0o777
    if not Path(f"{GUARD}.watched").exists():
        assert mode == 0o711, f"installed with mode {mode:o}"
    assert traced(bench, 0o711, 2 * LOGINS) == 0, "it was traced"


@pytest.mark.long
@pytest.mark.skipif("TEST_WRAPPER" in os.environ, reason="left out, since there is no guard without a wrapper here")
def test_guard_neighbours_a_stopped_guard_ends_with_its_sshd(bench):
    """The account stops the guard as soon as the kernel permits. No guard may be left."""
    account = bench.account()
    account.authorize(bench.key().key)
    offered = [bench.key() for _ in range(6)]
    sshd = bench.server(guard(bench.config(listed=[bench.key()])).adding("LoginGraceTime 4"))
    intruder = Intruder(bench, account, "stop")
    with contextlib.ExitStack() as ends:
        pool = ends.enter_context(concurrent.futures.ThreadPoolExecutor(LOGINS))
        deadline = time.monotonic() + PATIENCE
        while len(intruder.pids) < LOGINS:
            assert time.monotonic() < deadline, f"stopped only {intruder.pids}"
            list(pool.map(lambda _: bench.login(sshd, account, *offered), range(LOGINS)))
    _wait_for(lambda: not sshd.children(), "sshd does not end its connections")
    left = []

    def none_is_left():
        left[:] = [(pid, _state(pid)) for pid in intruder.pids if _state(pid)]
        return not left
    with contextlib.suppress(AssertionError):
        _wait_for(none_is_left, "", seconds=10)
    for pid, _ in left:
        os.kill(pid, 9)
    assert not left, f"of {len(intruder.pids)} that were stopped these outlived their sshd: {left}"
