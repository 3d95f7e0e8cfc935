# SPDX-License-Identifier: ISC
"""What a guard can do that an attacker has taken over, by a key or by a file of the account; and that whatever is
refused to it changes nothing of what it answers."""

import errno
import os
import platform
import re
import shutil
import signal
import struct
import subprocess
import sys

import pytest
from program import KEYVETO, ROOT, attempt, make_library
from runs import tool
from samples import empty_filter, made, write
from test_walls import ENTRY, MARK, POWERS, no_asan

GUARD = KEYVETO.parent / "keyveto-authorized-keys"
ACCOUNT = "nobody"
# It writes to sshd and syslogd, by descriptors that are open.
LEFT = {"writes elsewhere", "maps code", "shares memory"}
ALL_POWERS = set(POWERS.values()) - {"is root", "attacks the front", "can be traced"}


class Guard:
    """An account whose file has the mark, a filter that lists a key, and libraries that play the exploit."""

    def __init__(self, folder):
        self.folder, self.results = folder, folder / "results"
        self.secret = write(folder / "secret", "secret\n")
        self.secret.chmod(0o600)
        shutil.chown(self.secret, ACCOUNT)
        write(folder / "open/old", "old\n").chmod(0o666)
        (folder / "open").chmod(0o777)
        self.clean, self.listed = made()["ed25519"], made()["rsa"]
        filters = folder / "filter.pkbf"
        shutil.copy(empty_filter(), filters)
        filters.chmod(0o644)
        tool(KEYVETO, "filter", "add", filters, write(folder / "listed", self.listed.line))
        self.program = folder / GUARD.name
        shutil.copy(GUARD, self.program)
        self.program.chmod(0o755)
        self.config = write(folder / "keyveto.conf", f"Filter {filters}\nOnProbable warn\n")
        self.keys = write(folder / "home/.ssh/authorized_keys",
                          b"# " + MARK + b"\n" + f"{self.listed.line}\n{self.clean.line}\n".encode())
        for path in (folder, folder / "home", folder / "home/.ssh"):
            path.chmod(0o755)
        for path in (self.config, self.keys):
            path.chmod(0o644)

    def library(self, *flags):
        made_of = self.folder / f"exploit{len(flags)}.so"
        if not made_of.exists():
            make_library(made_of, "-O1", "-D_GNU_SOURCE", f'-DRESULTS="{self.results}"',
                         f'-DSECRET="{self.secret}"', f'-DFOLDER="{self.folder}/open"', *flags,
                         ROOT / "tests/cli/exploit.c")
        return made_of

    def argv(self, key, *more):
        kind, blob = key.line.split()[:2]
        return [str(word) for word in (self.program, "--config", self.config, "--user", ACCOUNT, "--home",
                                       self.folder / "home", "--type", kind, "--key", blob, *more)]

    def run(self, key, *more, before=(), **settings):
        return attempt(*before, *self.argv(key, *more), text=False, **settings)

    def exploited(self, key, *more, flags=()):
        """What the guard could do once it had read the mark, and how it ended."""
        write(self.results, bytes(4 + 64 * ENTRY.size)).chmod(0o666)
        done = self.run(key, *more, before=("env", f"LD_PRELOAD={self.library(*flags)}"))
        found = self.results.read_bytes()
        entries = [ENTRY.unpack_from(found, 4 + i * ENTRY.size) for i in range(struct.unpack_from("I", found)[0] + 1)]
        assert any(tried for _, tried, _ in entries), f"the mark was not read: {done}"
        return {text for _, _, powers in entries for bit, text in POWERS.items() if powers & bit}, done


@pytest.fixture(scope="module", name="guard")
def fixture_guard(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.fail("this test needs root: sshd starts the guard as root")
    folder = tmp_path_factory.mktemp("guard")
    for parent in folder.parents:
        if parent.stat().st_uid == 0 and len(parent.parts) > 2:
            parent.chmod(0o755)
    return Guard(folder)


@no_asan
@pytest.mark.parametrize("which", ("clean", "listed"))
def test_a_guard_that_is_taken_over_can_open_and_start_nothing(guard, which):
    could, _ = guard.exploited(getattr(guard, which))
    assert could <= LEFT


@no_asan
@pytest.mark.parametrize("which", ("clean", "listed"))
def test_without_seccomp_it_can_do_all_that_the_account_can(guard, which):
    """The attack is one."""
    could, _ = guard.exploited(getattr(guard, which), flags=("-DNO_SECCOMP",))
    assert could >= ALL_POWERS


@no_asan
def test_where_the_kernel_refuses_the_answer_is_the_same(guard):
    for key in (guard.clean, guard.listed):
        plain = guard.run(key)
        assert (plain.returncode, plain.stdout) == (0, guard.keys.read_bytes())
        without = guard.run(key, before=("env", f"LD_PRELOAD={guard.library('-DNO_SECCOMP')}"))
        assert (without.returncode, without.stdout) == (plain.returncode, plain.stdout)


@no_asan
def test_walls_are_told(guard):
    assert tool(guard.program, "--walls") == b"seccomp\n"
    assert tool("env", f"LD_PRELOAD={guard.library('-DNO_SECCOMP')}", guard.program, "--walls") == b"none\n"


# The calls below FIRST_REFUSED that a guard keeps, on x86-64: it has what is open, memory, time, and itself.
KEPT = """
_sysctl afs_syscall alarm arch_prctl brk capget clock_getres clock_gettime clock_nanosleep close copy_file_range
create_module dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_wait epoll_wait_old
eventfd eventfd2 exit exit_group fadvise64 fallocate fdatasync fgetxattr flistxattr fstat fstatfs fsync futex
get_kernel_syms get_mempolicy get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid geteuid getgid
getgroups getitimer getpeername getpgid getpgrp getpid getpmsg getppid getpriority getrandom getresgid getresuid
getrlimit getrusage getsid getsockname getsockopt gettid gettimeofday getuid inotify_rm_watch io_cancel io_destroy
io_getevents io_pgetevents io_setup io_submit ioprio_get lookup_dcookie lseek madvise mbind membarrier mincore mlock
mlock2 mlockall mmap mprotect mq_getsetattr mq_notify mq_timedreceive mq_timedsend mremap msync munlock munlockall
munmap nanosleep nfsservctl pause pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll ppoll pread64 preadv preadv2
pselect6 putpmsg pwrite64 pwritev pwritev2 query_module read readahead readv recvfrom recvmmsg recvmsg
remap_file_pages restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend
rt_sigtimedwait sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
sched_getscheduler sched_rr_get_interval sched_yield seccomp security select sendfile sendto set_mempolicy
set_robust_list set_thread_area set_tid_address setitimer setrlimit setsockopt shmdt shutdown sigaltstack signalfd
signalfd4 splice sync sync_file_range syncfs sysfs sysinfo tee time timer_create timer_delete timer_getoverrun
timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime times tuxcall umask uname uprobe uretprobe
ustat vmsplice vserver wait4 waitid write writev""".split()
FIRST_REFUSED = 424
# Makes each call of these numbers with arguments that none can use, and prints the errno.
CALLS = """
import ctypes, sys
walls = ctypes.CDLL(sys.argv[1], use_errno=True)
libc = ctypes.CDLL(None, use_errno=True)
if sys.argv[2] == "refuse" and not walls.guard_refuse_calls():
    sys.exit("no seccomp")
bad = [ctypes.c_long(-1)] * 6
for number in map(int, sys.argv[3:]):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), *bad)
    print(number, ctypes.get_errno(), flush=True)
"""
# These end, stop or change the process that tries them, or take no argument that is bad.
NOT_TRIED = {"exit", "exit_group", "pause", "rt_sigreturn", "restart_syscall", "sync", "set_tid_address", "alarm",
             "brk", "uretprobe", "uprobe", "munmap", "futex", "umask"}


def errnos_of_calls(library, how, numbers):
    said = tool(sys.executable, "-c", CALLS, library, how, *numbers, text=True)
    return {int(number): int(error) for number, error in (line.split() for line in said.splitlines())}


# A datagram goes where the socket is connected to, and nowhere else; and the calls of i386 are no way around.
SENDS = """
import ctypes, errno, socket, sys
walls = ctypes.CDLL(sys.argv[1])
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
other.bind("\\0" + sys.argv[1])
assert walls.guard_refuse_calls()
ours.send(b"line")
assert theirs.recv(9) == b"line"
for send in (lambda: ours.sendto(b"line", "\\0" + sys.argv[1]), lambda: ours.sendmsg([b"line"])):
    try:
        sys.exit(f"sent {send()} bytes")
    except OSError as why:
        assert why.errno == errno.ENOSYS
print("other", walls.getpid_by_i386(), flush=True)
"""
I386 = "int getpid_by_i386(void) { int r = 20; __asm__ volatile(\"int $0x80\" : \"+a\"(r) : : \"memory\"); return r; }"


@no_asan
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the calls of i386 are made by x86-64")
def test_a_guard_sends_to_syslogd_alone(scratch):
    library = scratch / "calls.so"
    tool("cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, ROOT / "sshd-helper/calls.c",
         write(scratch / "i386.c", I386))
    done = attempt(sys.executable, "-c", SENDS, library)
    # A kernel without them kills the process.
    assert (done.returncode, done.stdout) in ((0, f"other -{errno.ENOSYS}\n"), (-signal.SIGSEGV, "")), done


@no_asan
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the table of calls is that of x86-64")
def test_each_call_that_there_is_is_kept_or_refused(scratch):
    """The kernel's header has the calls. A filter that forgets one, or takes one more, fails."""
    library = scratch / "calls.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, ROOT / "sshd-helper/calls.c"], check=True)
    header = tool("cc", "-E", "-dM", "-include", "sys/syscall.h", "-xc", "/dev/null", text=True)
    calls = {name: int(number) for name, number in re.findall(r"^#define __NR_(\w+) (\d+)$", header, re.MULTILINE)}
    assert len(calls) > 300
    kept = {name: number for name, number in calls.items() if name in KEPT}
    refused = {name: number for name, number in calls.items() if name not in KEPT}
    found = errnos_of_calls(library, "refuse", refused.values())
    assert {name for name, number in refused.items() if found[number] != errno.ENOSYS} == set()
    # What a kernel of tomorrow has, and those of x32.
    later = [FIRST_REFUSED, 500, 600, 0x3fffffff, 0x40000000, 0x40000002, 0x7fffffff]
    assert set(errnos_of_calls(library, "refuse", later).values()) == {errno.ENOSYS}
    tried = [number for name, number in kept.items() if name not in NOT_TRIED | {"sendto"}]
    assert errnos_of_calls(library, "refuse", tried) == errnos_of_calls(library, "keep", tried)


def test_more_files_than_are_opened_ahead_are_printed_as_ever(guard):
    """Also where the limit of open files is lower than their number."""
    folder = guard.folder / "home/many"
    for i in range(200):
        write(folder / f"keys{i:03}", f"# {i}\n").chmod(0o644)
    folder.chmod(0o755)
    for before in ((), ("sh", "-c", 'ulimit -n 16; exec "$@"', "sh")):
        done = guard.run(guard.clean, "--file", "many/keys*", "--wildcards", "yes", before=before)
        assert (done.returncode, done.stdout) == (0, b"".join(b"# %d\n" % i for i in range(200)))
    done = guard.run(guard.clean, "--file", "many/keys00?", "--wildcards", "yes",
                     before=("sh", "-c", 'ulimit -n 10; exec "$@"', "sh"))
    assert (done.returncode, done.stdout) == (0, b"".join(b"# %d\n" % i for i in range(10)))
