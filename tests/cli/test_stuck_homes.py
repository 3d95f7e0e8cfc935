# SPDX-License-Identifier: ISC
"""Accounts whose home gives no answer: processes that look inside survive SIGKILL, and hold up nobody else."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

import fuse_home
from audit_machine import row_of
from program import KEYVETO, PATIENCE, TRACED, contains, equal, lacks, wait_until
from publisher import ListPlace
from sshd_machine import GUARD, INCLUDE, this_machine

REMEDY = "; if a file system that it has mounted itself gives no answer: umount -l PLACE"

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
                          env=TRACED) as process:
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


@pytest.mark.long
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


@pytest.mark.long
@pytest.mark.usefixtures("installed")
def test_enable_can_leave_out_an_account_that_gives_no_answer(world, scratch):
    """With --yes, and by name. The messages say how to take its file system away."""
    mallory, zoe = world.account("mallory"), world.account("zoe")
    zoe.authorize(world.clean)
    with this_machine(scratch, config=INCLUDE) as machine, stuck(mallory):
        enable = ["sshd", "enable", "--timeout", 1]
        done, pipes = run_in_pipes(*enable)
        must_hold_nothing_of(pipes)
        equal(done.returncode, 1, done.stderr)
        contains(done.stderr, REMEDY)
        done, _ = run_in_pipes(*enable, "--warn")
        equal(done.returncode, 2, done.stderr)
        contains(done.stderr, f"mallory: its authorized keys files cannot be read as sshd reads them{REMEDY}; "
                 "--yes goes on without this account; nothing was changed")
        done, pipes = run_in_pipes(*enable, "--yes")
        must_hold_nothing_of(pipes)
        equal(done.returncode, 0, done.stderr)
        contains(done.stderr, "note: mallory: left out, since its authorized keys files cannot be read")
        lacks(done.stderr, "zoe")
        contains(machine.settings("zoe")["authorizedkeyscommand"], GUARD)
        subprocess.run(["umount", "-l", mallory.home / ".ssh"], check=True)
        machine.run("enable", status=0)


@pytest.mark.sample(4)
@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("group, settings", [("sudo", None), ("ops", "HoldIfRefused 5 ops"),
                                             ("ops", "Source badkeys\nHoldIfRefused 0 ops"), (None, "No Such Line")])
def test_enable_leaves_no_administrator_out(world, scratch, group, settings):
    """Nor anybody if update.conf, which names their groups, cannot be read."""
    mallory = world.account("mallory")
    if group:
        world.append("/etc/group", f"{group}:x:29999:mallory")
    with this_machine(scratch, config=INCLUDE) as machine, stuck(mallory):
        if settings:
            machine.write("/etc/keyveto/update.conf", settings)
        before = machine.snapshot()
        done, _ = run_in_pipes("sshd", "enable", "--timeout", 1, "--yes")
        equal(done.returncode, 2, done.stderr)
        contains(done.stderr, REMEDY, "cannot be read as sshd reads them", "; nothing was changed")
        lacks(done.stderr, "left out", "--yes goes on")
        equal(machine.snapshot(), before)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("victim, reason", [("keyveto", "its authorized keys files cannot be read"),
                                            ("keyveto-authori", "the guard was killed")])
def test_an_account_that_kills_what_reads_its_files_is_left_out(world, scratch, victim, reason):
    """Such a process has all ids of the account."""
    mallory = world.account("mallory")
    (mallory.home / ".ssh").mkdir()

    def kill(process):
        comm = Path(f"/proc/{process}/comm")
        if process and comm.exists() and comm.read_text(encoding="utf-8").strip() == victim:
            os.kill(process, signal.SIGKILL)
    with this_machine(scratch, config=INCLUDE), contextlib.ExitStack() as stack:
        try:
            stack.enter_context(fuse_home.mounted(mallory.home / ".ssh", b"authorized_keys", b"", mallory.uid,
                                                  mallory.gid, kill))
        except OSError as error:
            pytest.skip(f"no FUSE on this machine: {error}")
        done, _ = run_in_pipes("sshd", "enable", "--yes")
        equal(done.returncode, 0, done.stderr)
        contains(done.stderr, f"note: mallory: left out, since {reason}")


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
        # Also the file of the account itself, once it is open, and its copy.
        names = {name for name in files.values() if not name.startswith((str(alice.home), "/memfd:"))}
        equal((len(names), len(names & pipes)), (2, 0), files)
