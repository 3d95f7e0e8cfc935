# SPDX-License-Identifier: ISC
"""Neighbours of the process: limits, arguments, environments, descriptors, ptrace and core dumps."""

import contextlib
import fcntl
import itertools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import termios
import time

import pytest
import tracer
from logbook import Malformed, read_decision
from neighbourhood import PYTHON, QUICK_SECONDS, SECRET
from patience import PATIENCE
from stage import ENVIRONMENT, as_account, run

pytestmark = pytest.mark.throwaway

KIB, MIB = 1024, 1024 * 1024
# Texts that must be escaped in log lines and on terminals.
NASTY = ("x\nJan  1 00:00:00 host sshd[1]: Accepted publickey for root", "x\r\n<38>verdict=clean action=allow",
         'x" verdict=allowed action=allow user="root', "x verdict=clean", "\x1b[2J\x1b]0;title\x07", "\x01\x02\x7f\t",
         "\\x0a\\n", "%s%n%x%1000000d", "é\u2028\u202e", "\udcff\udc80", "'; id; '", "$(id)`id`", "../../etc/shadow",
         "-", "--", "root", "a" * 1_000, "b" * 100_000, "\n" * 5_000)


# Limits

LIMITS = {
    "RLIMIT_NOFILE": list(range(13)),
    "RLIMIT_AS": [n * 256 * KIB for n in range(1, 57)],
    "RLIMIT_DATA": [n * 64 * KIB for n in range(33)],
    "RLIMIT_STACK": [n * 4 * KIB for n in range(1, 33)],
    "RLIMIT_FSIZE": [0, 1, 100],
    "RLIMIT_NPROC": [0, 1],
    "RLIMIT_MEMLOCK": [0],
    "RLIMIT_CORE": [0],
    "RLIMIT_CPU": [1],
}


def _limited(limit, value):
    """The words that start a program under a limit."""
    option = {"RLIMIT_FSIZE": "fsize"}.get(limit, limit.removeprefix("RLIMIT_").lower())
    return ["prlimit", f"--{option}={value}:{value}", "--"]


@pytest.mark.parametrize("limit", LIMITS)
def test_under_a_limit_the_guard_lets_no_listed_key_in_or_fails(hood, check_runs, limit):
    """If it fails, sshd refuses the key."""
    stage = hood.stage
    values = LIMITS[limit]

    def one(value):
        whys = []
        for how in ({}, as_account(hood.account)):
            done, _ = hood.ask(hood.listed, prefix=_limited(limit, value), **how)
            if done.hung or done.stdout:
                whys.append(f"{value}: a listed key: {done}")
            done, _ = hood.ask(hood.clean, prefix=_limited(limit, value), **how)
            if done.hung or done.returncode == 0 and done.stdout != hood.lines:
                whys.append(f"{value}: a clean key: {done}")
        return whys

    check_runs(stage.each(one, values if stage.long else values[::max(1, len(values) // 6)]))


def test_output_that_is_cut_off_by_rlimit_fsize_is_no_success(hood):
    """The guard writes to a file that may not grow."""
    for size in (0, 10, len(hood.lines) - 1):
        for ignore in (False, True):        # SIGXFSZ
            path = hood.stage.path("output")
            prefix = _limited("RLIMIT_FSIZE", size)
            if ignore:
                prefix = ["sh", "-c", "trap '' XFSZ; exec \"$@\"", "sh", *prefix]
            with open(path, "wb") as output:
                done, _ = hood.ask(hood.clean, prefix=prefix, stdout=output)
            assert done.returncode != 0, f"{size} bytes, SIGXFSZ ignored: {ignore}: success"


# Arguments

def _check_lines(what, lines):
    """Fails if a line was forged, or has a byte that is not printable."""
    for line in lines:
        if "verdict=" not in line.text:
            continue
        try:
            decision = read_decision(line)
        except Malformed as why:
            pytest.fail(f"{what}: {why}")
        bad = re.search(r"[^\x20-\x7e]", line.text)
        assert not bad, f"{what}: a log line with {bad and bad[0]!r}"
        assert decision.verdict not in ("clean", "allowed"), f"{what}: {line.text[:200]}"
        assert decision.via == "guard", f"{what}: via {decision.via}"


# Which arguments have the text.
PLACES = {
    "--user": lambda text: {"user": text}, "--home": lambda text: {"home": text},
    "--home, absolute": lambda text: {"home": "/" + text}, "--type": lambda text: {"type": text},
    "--key": lambda text: {"key": text}, "--connection": lambda text: {"connection": text},
    "--connection, the client": lambda text: {"connection": f"192.0.2.1 22 {text} 22"},
    "--uid": lambda text: {"uid": text}, "--config": lambda text: {"config": text},
    "--config, absolute": lambda text: {"config": "/" + text},
}


@pytest.mark.parametrize("place", PLACES)
def test_no_text_in_an_argument_forges_a_log_line_or_a_verdict(hood, check_runs, place):
    """An ordinary user runs the guard by hand, with control bytes and the like in one argument."""
    stage = hood.stage
    stage.log.take_rest()

    def one(text):
        name = stage.name_run()
        done = run(hood.argv(hood.listed, name, **PLACES[place](text)), **as_account(hood.account))
        what = f"{place} {text[:40]!r}"
        assert not done.hung and done.returncode >= 0, f"{what}: {done}"
        assert done.stdout == b"", f"{what}: printed for a listed key: {done}"
        _check_lines(what, stage.log.about(name))
        return []

    check_runs(stage.each(one, NASTY))
    _check_lines(place, stage.log.take_rest())


def test_no_text_in_a_word_that_is_no_option_forges_a_log_line(hood):
    """An ordinary user runs the guard by hand."""
    stage = hood.stage
    stage.log.take_rest()
    for text in NASTY:
        done = run([stage.guard, text], **as_account(hood.account))
        assert (done.returncode, done.stdout) == (2, b""), f"{text[:40]!r}: {done}"
    _check_lines("a word", stage.log.take_rest())


def test_run_by_hand_it_reads_no_file_that_its_user_may_not(hood):
    stage, account, other = hood.stage, hood.account, hood.other
    stage.log.take_rest()
    private_filter = stage.write("private", hood.filter.read_bytes(), 0o600)
    tries = {
        "another's home": {"user": other.name, "home": other.home},
        "another's home under one's own name": {"home": other.home},
        "root's home": {"user": "root", "home": "/root"},
        "a private configuration": {"config": hood.secret},
        "/etc/shadow as the configuration": {"config": "/etc/shadow"},
        "a private filter": {"config": stage.config(f"Filter {private_filter}")},
        "/etc/shadow as the filter": {"config": stage.config("Filter /etc/shadow")},
        "a private file as authorized keys": {"config": stage.config(f"AuthorizedKeysFile {hood.secret}",
                                                                     listed=[hood.listed])},
    }
    for what, instead in tries.items():
        name = stage.name_run()
        done = run(hood.argv(hood.clean, name, **instead), **as_account(account))
        logged = "".join(line.text for line in stage.log.about(name))
        assert done.stdout == b"", f"{what}: {done}"
        for secret in (SECRET.decode().strip(), "root:", "pkbfv1"):
            assert secret not in done.stderr.decode("latin1") + logged, f"{what}: {secret!r} is told"


def test_run_by_hand_it_refuses_a_configuration_of_the_user(hood):
    account = hood.account
    own_config = account.write("keyveto.conf", f"Filter {hood.filter}\nOnHit warn\nOnError allow\n", 0o644)
    link = account.home / "link.conf"
    link.symlink_to(hood.config)
    os.chown(link, account.uid, account.gid, follow_symlinks=False)
    for path in (own_config, link):
        done, said = hood.ask(hood.listed, instead={"config": path})
        assert (done.returncode, done.stdout) == (1, b""), f"{path}: {done}"
        assert [one.verdict for one in said] == ["error"], f"{path}: logged {said}"


def test_a_command_behind_the_guard_must_belong_to_root(hood):
    """So must the folders above it."""
    stage, account = hood.stage, hood.account
    echo = "#!/bin/sh\necho ran\n"
    good = stage.write("command", echo, 0o755)
    own = account.write("command", echo, 0o755)
    open_folder = stage.make_folder("open", 0o777)
    in_open_folder = open_folder / "command"
    in_open_folder.write_text(echo, encoding="ascii")
    in_open_folder.chmod(0o755)
    link = account.home / "link"
    link.symlink_to(good)
    os.chown(link, account.uid, account.gid, follow_symlinks=False)
    done, _ = hood.ask(hood.clean, "--", good)
    assert (done.returncode, done.stdout) == (0, b"ran\n"), f"a good one: {done}"
    for command in (own, in_open_folder, link, stage.write("command", echo, 0o775),
                    stage.write("command", echo, 0o757)):
        done, said = hood.ask(hood.clean, "--", command)
        assert (done.returncode, done.stdout) == (1, b""), f"{command}: {done}"
        assert [one.verdict for one in said] == ["error"], f"{command}: logged {said}"


# Environment

ENVIRONMENTS = (
    {"LANG": "tr_TR.UTF-8", "LC_ALL": "xx_XX"}, {"TZ": ":/etc/shadow"}, {"TZ": "../../../etc/shadow"},
    {"HOME": "/nonexistent"}, {"HOME": ""}, {"PATH": "/nonexistent"}, {"PATH": ""}, {"TMPDIR": "/nonexistent"},
    {"IFS": "/"}, {"POSIXLY_CORRECT": "1"}, {"CHARSET": "x"}, {"RES_OPTIONS": "debug"}, {"HOSTALIASES": "/etc/shadow"},
    {"MALLOC_PERTURB_": "165"}, {"MALLOC_ARENA_MAX": "1"}, {"GLIBC_TUNABLES": "glibc.malloc.check=3"},
    {"GCONV_PATH": "/tmp"}, {"LOCPATH": "/tmp"}, {"NLSPATH": "/tmp/%N"}, {"LD_BIND_NOW": "1"},
    {"LD_LIBRARY_PATH": "/tmp"}, {"LD_PRELOAD": "/nonexistent.so"}, {"LD_AUDIT": "/nonexistent.so"},
    {"LD_DEBUG": "files"}, {"SHELL": "/bin/false", "ENV": "/etc/shadow", "BASH_ENV": "/etc/shadow"},
    {"KEYVETO_CONFIG": "/dev/null", "SSH_AUTH_INFO_0": "publickey x"}, {"x" * 1000: "y" * 100_000},
)


def test_no_environment_changes_a_verdict_or_the_output(hood):
    for extra in ({}, *ENVIRONMENTS):
        hood.check_both(f"{str(extra)[:60]}", env={**ENVIRONMENT, **extra})
    hood.check_both("an empty environment", env={})


# Descriptors

def test_closed_standard_descriptors_change_no_verdict_and_no_file(hood):
    """No file that the guard opens may get the number of a standard descriptor."""
    kept = (hood.config, hood.filter, hood.account.authorized_keys)
    before = [path.read_bytes() for path in kept]
    for closed in itertools.chain.from_iterable(itertools.combinations((0, 1, 2), n) for n in range(4)):
        for how in ({}, as_account(hood.account)):
            script = 'exec "$@"' + "".join(f" {fd}>&-" for fd in closed)
            prefix = ["sh", "-c", script, "sh"]
            done, _ = hood.ask(hood.clean, prefix=prefix, **how)
            expected = b"" if 1 in closed else hood.lines
            assert done.returncode in (0, 1) and done.stdout == expected, f"{closed} closed: {done}"
            assert 1 not in closed or not done.stderr, f"{closed} closed: {done}"
            done, said = hood.ask(hood.listed, prefix=prefix, **how)
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), f"{closed} closed: {done}"
            assert [one.verdict for one in said] == ["listed"], f"{closed} closed: logged {said}"
            done, _ = hood.ask(hood.clean, "--", "/bin/sh", "-c", "ls /proc/self/fd >&2; ls /proc/self/fd",
                               prefix=prefix, **how)
            shown = (done.stdout or done.stderr).split()
            assert shown in ([], [b"0", b"1", b"2", b"3"]), f"{closed} closed, -- COMMAND sees {shown}"
    assert [path.read_bytes() for path in kept] == before, "a file was written"


def test_the_command_behind_the_guard_gets_no_descriptor_of_the_guard(hood):
    """The command inherits the standard descriptors alone, whatever the guard has opened."""
    stage = hood.stage
    filters = [stage.filter(hood.listed) for _ in range(5)]
    broken = stage.write("broken", b"pkbfv1 but short")
    configs = {
        "one filter": hood.config,
        "an exact list": stage.config(f"Blocklist {stage.blocklist(hood.listed)}"),
        "five filters": stage.config(*(f"Filter {path}" for path in filters)),
        "a broken filter": stage.config(f"Filter {filters[0]}", f"Filter {broken}", "OnError allow"),
        "a missing filter": stage.config(f"Filter {filters[0]}", "Filter /nonexistent", "OnError allow"),
        "a mistake": stage.config("Nonsense yes", "OnError allow", listed=[hood.listed]),
        "a hit that is let in": stage.config("OnHit warn", listed=[hood.listed]),
    }
    for what, config in configs.items():
        for key in (hood.clean, hood.listed):
            for how in ({}, as_account(hood.account)):
                done, _ = hood.ask(key, "--", "/bin/ls", "/proc/self/fd", instead={"config": config}, **how)
                # ls itself opens the folder that it lists.
                assert done.stdout.split() in ([], [b"0", b"1", b"2", b"3"]), f"{what}: {done}"
                assert key is hood.listed or done.stdout, f"{what}: the command did not run: {done}"


@pytest.fixture(name="no_log")
def fixture_no_log(hood):
    """Moves /dev/log away. Its value is the name that is free."""
    path = hood.stage.log.path
    away = f"{path}.away"
    os.rename(path, away)
    yield path
    os.rename(away, path)


@pytest.mark.parametrize("nobody_reads", [pytest.param(False, id="no /dev/log"), pytest.param(True, id="nobody reads")])
def test_without_a_log_daemon_verdicts_stay(hood, no_log, nobody_reads):
    stage = hood.stage
    with contextlib.ExitStack() as ends:
        if nobody_reads:
            ends.enter_context(_deaf_daemon(no_log))
        done = run(hood.argv(hood.clean, stage.name_run()))
        assert (done.returncode, done.stdout) == (0, hood.lines), f"a clean key: {done}"
        assert done.seconds < QUICK_SECONDS, f"a clean key waits {done.seconds:.1f} s"
        done = run(hood.argv(hood.listed, stage.name_run()), 2 if nobody_reads else PATIENCE)
        # syslog(3) waits for a daemon that does not read, in sshd as in the guard.
        assert done.stdout == b"" and (nobody_reads or done.returncode == 0), f"a listed key: {done}"


@contextlib.contextmanager
def _deaf_daemon(path):
    """A log daemon that does not read. Any local user can fill its queue."""
    with contextlib.ExitStack() as ends:
        daemon = ends.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        daemon.bind(path)
        ends.callback(os.unlink, path)
        os.chmod(path, 0o666)
        sent = 1
        while sent:         # each sender has its own limit; the queue is full if a new sender cannot send
            sender, sent = ends.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)), 0
            sender.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                while True:
                    sender.sendto(b"<15>nothing", path)
                    sent += 1
        yield


# ptrace, memory, core dumps

# Run by the account: tries to look into a process of the same uid, and prints what succeeded.
PRYING = """
import ctypes, json, os, sys
pid = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
got = []
def attempt(what, function):
    try:
        if function():
            got.append(what)
    except OSError:
        pass
def read(name):
    with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:
        file.seek(int(sys.argv[2], 16) if name == "mem" else 0)
        return file.read(1) is not None
class Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("len", ctypes.c_size_t)]
def readv():
    buffer = ctypes.create_string_buffer(8)
    local, remote = Iovec(ctypes.addressof(buffer), 8), Iovec(int(sys.argv[2], 16), 8)
    return libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) > 0
def take_descriptor():
    PIDFD_GETFD = 438
    return libc.syscall(PIDFD_GETFD, os.pidfd_open(pid), 1, 0) >= 0
PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
for name in ("mem", "environ", "maps", "auxv", "syscall", "stack"):
    attempt(name, lambda: read(name))
attempt("list of descriptors", lambda: os.listdir(f"/proc/{pid}/fd"))
attempt("a descriptor", lambda: os.open(f"/proc/{pid}/fd/0", os.O_RDONLY) >= 0)
attempt("program", lambda: os.readlink(f"/proc/{pid}/exe"))
attempt("folder", lambda: os.readlink(f"/proc/{pid}/cwd"))
attempt("process_vm_readv", readv)
attempt("pidfd_getfd", take_descriptor)
attempt("PTRACE_SEIZE", lambda: libc.ptrace(PTRACE_SEIZE, pid, None, None) == 0)
attempt("PTRACE_ATTACH", lambda: libc.ptrace(PTRACE_ATTACH, pid, None, None) == 0)
print(json.dumps(got))
"""


@contextlib.contextmanager
def blocked_guard(hood, **how):
    """A guard that waits in the middle of its output, as nobody reads the pipe."""
    account = hood.stage.account()
    account.write(".ssh/authorized_keys", hood.lines + b"#" * MIB)
    folder = hood.stage.make_folder("cwd", 0o777)
    started_as = as_account(account) if how.get("by_hand") else {}
    reader, writer = os.pipe()
    argv = list(map(os.fspath, hood.argv(hood.clean, hood.stage.name_run(), user=account.name, home=account.home)))
    prefix = ["prlimit", "--core=unlimited", "--"]
    process = subprocess.Popen([*prefix, *argv], stdout=writer, stdin=subprocess.DEVNULL, cwd=folder, env=ENVIRONMENT,
                               **started_as)
    os.close(writer)
    try:
        deadline = time.monotonic() + PATIENCE
        while struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, struct.pack("i", 0)))[0] < 60 * KIB:
            if time.monotonic() > deadline or process.poll() is not None:
                raise AssertionError(f"it does not fill the pipe: status {process.returncode}")
            time.sleep(0.01)
        yield process, account, folder
    finally:
        process.kill()
        process.wait()
        os.close(reader)


def _pry(process, account):
    """What the account can read of a process, or do to it."""
    with open(f"/proc/{process.pid}/maps", encoding="ascii") as maps:
        address = next(line.split("-")[0] for line in maps if " rw-p " in line)
    done = run([PYTHON, "-c", PRYING, str(process.pid), address], **as_account(account))
    if done.returncode != 0:
        raise AssertionError(f"it could not try: {done}")
    return json.loads(done.stdout)


BY_HAND = pytest.mark.parametrize("by_hand", [pytest.param(False, id="started by root"),
                                              pytest.param(True, id="started by the account")])


@BY_HAND
def test_the_account_cannot_look_into_the_guard(hood, by_hand):
    with blocked_guard(hood, by_hand=by_hand) as (process, account, _):
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            uids = next(line.split()[1:] for line in status if line.startswith("Uid:"))
        assert set(uids) == {str(account.uid)}
        assert _pry(process, account) == []


@BY_HAND
def test_the_guard_leaves_no_core(hood, by_hand):
    with blocked_guard(hood, by_hand=by_hand) as (process, account, folder):
        run(["kill", "-SEGV", str(process.pid)], **as_account(account))
        _, status = os.waitpid(process.pid, 0)
        process.returncode = status
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV, f"status {status:#x}"
        assert not os.WCOREDUMP(status)
        assert os.listdir(folder) == []


def test_another_process_of_the_account_can_be_looked_into(hood):
    """This shows that the attempts work on an ordinary process."""
    account = hood.account
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT,
                          **as_account(account)) as process:
        try:
            process.stdin.write(b"begun\n")
            process.stdin.flush()
            process.stdout.readline()
            assert {"mem", "PTRACE_SEIZE"} <= set(_pry(process, account))
        finally:
            process.kill()


def test_the_guard_cannot_be_traced_or_left_over_from_when_it_becomes_the_account(hood):
    """A change of the effective IDs sets the dumpable flag to fs.suid_dumpable, which is 1 or 2 on some machines.

    It also clears the parent-death signal.
    """
    _, calls = tracer.list_calls(hood.stage.path("trace"), hood.argv(hood.clean, hood.stage.name_run()))
    changes = [call.index for call in calls
               if call.name in ("setresuid", "setresgid") and call.text.endswith("= 0")]
    assert len(changes) == 3, f"not the group, the effective uid and the others: {changes}"
    # Until the last change, which does not change the effective IDs, the account cannot touch the guard.
    for flag in ("PR_SET_DUMPABLE", "PR_SET_PDEATHSIG"):
        set_at = [call.index for call in calls if call.name == "prctl" and flag in call.text]
        assert set_at and changes[-2] < set_at[-1] < changes[-1], f"{flag} is set at {set_at}, IDs at {changes}"
