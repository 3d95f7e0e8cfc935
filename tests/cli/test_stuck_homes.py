# SPDX-License-Identifier: ISC
"""Accounts whose home gives no answer: processes that look inside survive SIGKILL, and hold up nobody else."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

import fuse_home
from audit_machine import row_of
from program import KEYVETO, PATIENCE, contains, equal, wait_until
from publisher import ListPlace
from sshd_machine import INCLUDE, this_machine

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


@contextlib.contextmanager
def stuck(account):
    """Over the account's ~/.ssh, mounted as by the account itself. Yields the event that somebody has asked."""
    folder = account.home / ".ssh"
    folder.mkdir(exist_ok=True)
    account.own(folder)
    with contextlib.ExitStack() as stack:
        try:
            asked = stack.enter_context(fuse_home.stuck(folder, account.uid, account.gid))
        except OSError as error:
            pytest.skip(f"no FUSE on this machine: {error}")
        yield asked


def left_behind():
    """The folders in /proc of processes of keyveto that hang in the kernel."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            lines = dict(line.split(":\t", 1) for line in status.read_text(encoding="utf-8").splitlines())
            if lines["Name"] == KEYVETO.name and lines["State"].startswith("D"):
                found.append(status.parent)
    return found


def files_of(process):
    found = {}
    for fd in process.glob("fd/*"):
        with contextlib.suppress(OSError):
            found[int(fd.name)] = os.readlink(fd)
    return found


def must_hold_nothing_of(pipes):
    """Somebody hangs, and has of all descriptors but /dev/null and a pipe whose other end is closed."""
    hanging = left_behind()
    assert hanging, "nobody hangs: the test shows nothing"
    for process in hanging:
        files = files_of(process)
        equal({files.pop(number) for number in (0, 1, 2)}, {"/dev/null"})
        assert not set(files.values()) & pipes, files
        equal(len(files), 1, files)


def run_in_pipes(*arguments, before=()):
    """As keyveto(), whose end is the end of its output. Also returns the names of the pipes."""
    words = [str(word) for word in (*before, KEYVETO, *arguments)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}) as process:
        pipes = {os.readlink(f"/proc/self/fd/{one.fileno()}")
                 for one in (process.stdin, process.stdout, process.stderr)}
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError([files_of(one) for one in left_behind()]) from None
    return subprocess.CompletedProcess(words, process.returncode, out, err), pipes


def test_audit_ends_with_its_output(world):
    mallory, zoe = world.account("mallory"), world.account("zoe")
    zoe.authorize(world.bad)
    with stuck(mallory) as asked:
        done, pipes = run_in_pipes("audit", "--timeout", 1, "--filter", world.filter)
        assert asked.is_set()
        must_hold_nothing_of(pipes)
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, "keyveto: mallory: reading its files took too long (--timeout)")
        equal((row_of(done.stdout, "mallory")[-1], row_of(done.stdout, "zoe")[2]), (1, 1))
    wait_until(lambda: not left_behind(), "those that hung go on")


def test_an_update_ends_with_its_output(world, scratch):
    """The list takes effect: the one who hangs is no administrator."""
    mallory = world.account("mallory")
    with contextlib.closing(ListPlace(scratch)) as place:
        place.config.write_text(f"Blocklist {place.target}\n", encoding="utf-8")
        with stuck(mallory):
            done, pipes = run_in_pipes(*place.arguments())
            must_hold_nothing_of(pipes)
        equal(done.returncode, 0, done.stderr)
        contains(done.stderr, "keyveto: mallory: reading its files took too long (--timeout)")


@pytest.mark.usefixtures("installed")
def test_doctor_status_and_config_check_do_not_look_inside(world, scratch):
    mallory = world.account("mallory")
    with this_machine(scratch, config=INCLUDE) as machine:
        machine.run("enable", status=0)
        with stuck(mallory) as asked:
            for words in (["doctor"], ["sshd", "status"], ["config", "check"]):
                done, _ = run_in_pipes(*words)
                assert done.stdout, words
            assert not asked.is_set()


@pytest.mark.parametrize("error", [None, "ENOSYS", "EPERM"])
def test_a_child_has_no_descriptors_but_its_own_pipe(world, error):
    """Also where close_range(2) is missing, and where a filter of system calls refuses it."""
    alice = world.account("alice")
    world.sshd_config("AuthorizedKeysFile authorized_keys")
    tracer = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject=close_range:error={error}"] if error else []
    seen = []

    def look(process):
        # The kernel itself asks as process 0, and releases a file for a process that may have ended.
        if files := files_of(Path(f"/proc/{process}")):
            seen.append(files)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(fuse_home.mounted(
                alice.home, b"authorized_keys", f"{world.bad}\n".encode(), alice.uid, alice.gid, look))
        except OSError as problem:
            pytest.skip(f"no FUSE on this machine: {problem}")
        done, pipes = run_in_pipes("audit", "--filter", world.filter, before=tracer)
    equal(done.returncode, 1, done.stderr)
    assert seen
    for files in seen:
        equal([files[number] for number in (0, 1, 2)], 3 * ["/dev/null"])
        # Also the file of the account itself, once it is open.
        names = {name for name in files.values() if not name.startswith(str(alice.home))}
        equal((len(names), len(names & pipes)), (2, 0), files)
