#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Runs a command in a throw-away copy of this machine, or of the system in the folder --root.

    python3 sandbox.py [--root DIR] [--share DIR] -- COMMAND [ARG...]

COMMAND sees the machine's files through an overlay, so it may create accounts, edit /etc/pam.d or install under /usr.
The changes are kept in memory and vanish with it. It has its own /run, /dev and /dev/log, so it reaches no daemon of
the machine and writes nothing to the machine's log. It has its own network, with a loopback only, its own host name,
and its own process namespace, so every process inside ends with it. The working directory and the exit status are
kept. The directories of --share (none below /run) are the real ones: what COMMAND writes there stays.

Needs root and the right to mount (CAP_SYS_ADMIN). Exit status 125 means that no sandbox could be made; the reason is
on standard error.
"""

import argparse
import ctypes
import fcntl
import os
import shutil
import signal
import socket
import struct
import sys
import traceback

EXIT_REFUSED = 125
MARKER = "/run/keyveto-sandbox"    # exists only inside, in a /run of its own

# linux/sched.h, linux/mount.h, linux/prctl.h, linux/sockios.h
CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
PR_SET_PDEATHSIG = 1
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

# Made anew inside, never copied from the machine.
OWN_TREES = ("/proc", "/sys", "/dev", "/run")
# The overlays are mounted here. Nothing inside needs the machine's /run, so no folder of the machine has to be
# made, and nothing is left if this process is killed.
BASE = "/run"
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
MAYBE = ("net/tun", "fuse")         # without the first there is no ssh -w
DEVICE_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
                "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """No sandbox can be made here; the text says what was refused."""


def _check(result, what):
    if result != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, f"{what}: {os.strerror(errno)}")


def _mount(source, target, kind=None, flags=0, data=None):
    def encode(text):
        return None if text is None else os.fsencode(text)
    _check(_libc.mount(encode(source), encode(target), encode(kind), ctypes.c_ulong(flags),
                       encode(data)), f"mount {kind or 'bind'} on {target}")


def _mount_tmpfs(target, mode):
    os.makedirs(target, exist_ok=True)
    _mount("tmpfs", target, "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode:o}")


def _machine_mounts():
    """The machine's mount points below /, without the own trees, parents first."""
    points = set()
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            point = line.split()[4].encode().decode("unicode_escape")
            below_own_tree = any(point == tree or point.startswith(tree + "/") for tree in OWN_TREES)
            if point != "/" and not below_own_tree:
                points.add(point)
    return sorted(points)


class _Root:
    """The root inside: an overlay for each file system of the machine, or for the folder template."""

    def __init__(self, template):
        self.path = os.path.join(BASE, "root")
        self.layers = 0
        self.template = template
        self.machine_mounts = _machine_mounts() if template == "/" else []
        _mount("tmpfs", BASE, "tmpfs", 0, "mode=0755")
        os.mkdir(self.path)

    def inside(self, path):
        return self.path + path

    def overlay(self, lower, target):
        layer = os.path.join(BASE, str(self.layers))
        self.layers += 1
        upper, work = os.path.join(layer, "upper"), os.path.join(layer, "work")
        os.makedirs(upper)
        os.makedirs(work)
        # An overlay shows the mode and owner of its upper directory.
        shutil.copystat(lower, upper)
        info = os.stat(lower)
        os.chown(upper, info.st_uid, info.st_gid)
        _mount("overlay", target, "overlay", 0, f"lowerdir={lower},upperdir={upper},workdir={work}")

    def add_machine_files(self):
        self.overlay(self.template, self.path)
        for point in self.machine_mounts:
            self.add_mount_point(point)

    def add_mount_point(self, point):
        """Adds an overlay for a mount point, because the overlay above does not cross it."""
        target = self.inside(point)
        if not os.path.exists(point) or not os.path.exists(target):
            return                      # hidden below another mount
        if not os.path.isdir(point):
            if os.path.isfile(point):
                shutil.copy2(point, target)
            return
        try:
            self.overlay(point, target)
        except OSError:                 # this file system cannot be overlaid: mount it read-only
            _mount(point, target, None, MS_BIND)
            _mount(None, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY)

    def name_localhost(self):
        """Adds localhost to /etc/hosts if it is missing: there is no DNS inside."""
        hosts = self.inside("/etc/hosts")
        lines = []
        if os.path.exists(hosts):
            with open(hosts, encoding="utf-8", errors="surrogateescape") as table:
                lines = table.read().splitlines()
        if not any("localhost" in line.partition("#")[0].split()[1:] for line in lines):
            with open(hosts, "w", encoding="utf-8", errors="surrogateescape") as table:
                table.write("\n".join([*lines, "127.0.0.1 localhost", "::1 localhost", ""]))

    def add_own_trees(self):
        os.makedirs(self.inside("/proc"), exist_ok=True)
        _mount("proc", self.inside("/proc"), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        os.makedirs(self.inside("/sys"), exist_ok=True)
        _mount("/sys", self.inside("/sys"), None, MS_BIND | MS_REC)
        _mount_tmpfs(self.inside("/run"), 0o755)
        os.makedirs(self.inside("/run/sshd"), mode=0o755)
        os.makedirs(self.inside("/run/lock"))
        os.chmod(self.inside("/run/lock"), 0o1777)
        with open(self.inside(MARKER), "w", encoding="ascii"):
            pass
        self.add_devices()

    def add_devices(self):
        dev = self.inside("/dev")
        os.makedirs(dev, exist_ok=True)
        _mount("tmpfs", dev, "tmpfs", MS_NOSUID, "mode=0755")
        os.mkdir(f"{dev}/net")
        for name in (*DEVICES, *(name for name in MAYBE if os.path.exists(f"/dev/{name}"))):
            with open(f"{dev}/{name}", "w", encoding="ascii"):
                pass
            _mount(f"/dev/{name}", f"{dev}/{name}", None, MS_BIND)
        for name, target in DEVICE_LINKS.items():
            os.symlink(target, f"{dev}/{name}")
        os.mkdir(f"{dev}/pts")
        _mount("devpts", f"{dev}/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620,gid=5")
        _mount_tmpfs(f"{dev}/shm", 0o1777)

    def add_shared(self, directory):
        os.makedirs(self.inside(directory), exist_ok=True)
        _mount(directory, self.inside(directory), None, MS_BIND)


def _raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        request = struct.pack("16sh", b"lo", 0).ljust(40, b"\0")
        _, flags = struct.unpack_from("16sh", fcntl.ioctl(sock, SIOCGIFFLAGS, request))
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | IFF_UP).ljust(40, b"\0"))


def _build(shared, template):
    """Makes the root and moves into it."""
    cwd = os.getcwd() if template == "/" else "/"
    umask = os.umask(0o022)
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    root = _Root(template)
    root.add_machine_files()
    root.name_localhost()
    root.add_own_trees()
    for directory in shared:
        root.add_shared(directory)
    os.umask(umask)
    os.chroot(root.path)
    os.chdir(cwd)


def _exec(argv):
    """Executes argv. Returns 127 if it cannot be started."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        print(f"sandbox: {argv[0]}: {error.strerror}", file=sys.stderr)
    return 127


def _spawn(work):
    """Calls work in a child, which ends with the status that work returns, or with 1."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = work()
        except BaseException:       # pylint: disable=broad-exception-caught
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    return pid


def _reap_until(pid):
    """As init, collects every orphan, and returns the status of pid when it ends."""
    while True:
        ended, status = os.wait()
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def _exit_status(code):
    return code if code >= 0 else 128 - code


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def leave_network():
    """Inside a sandbox: leaves the network for one of its own, with a loopback only."""
    _check(_libc.unshare(CLONE_NEWNET), "unshare")
    _raise_loopback()


def _run_init(place, network, work, report):
    """The first process of the new namespaces."""
    _die_with_parent()
    if not network:
        leave_network()
    _build(*place)
    os.close(report)
    return _reap_until(_spawn(work))


def _run_outer(place, network, work, report):
    """Leaves the machine's namespaces and waits for the process in the new ones.

    A process cannot enter a new process namespace; only its children do.
    """
    _die_with_parent()
    _check(_libc.unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWIPC), "unshare")
    init = _fork(_run_init, place, network, work, report)
    os.close(report)
    return os.waitstatus_to_exitcode(os.waitpid(init, 0)[1])


def _fork(function, *arguments):
    """Calls function in a child, which ends with the status that function returns."""
    pid = os.fork()
    if pid == 0:
        status = EXIT_REFUSED
        try:
            status = _exit_status(function(*arguments))
        except OSError as error:
            os.write(arguments[-1], f"{error.strerror}\n".encode())
        finally:
            os._exit(status)
    return pid


def inside():
    """Whether this process is in a sandbox."""
    return os.path.exists(MARKER)


def run(argv, shared=(), template="/"):
    """Runs argv in a sandbox and returns its exit status. Raises Refused if no sandbox can be made."""
    return call(lambda: _exec(argv), shared, template)


def call(work, shared=(), template="/", network=False):
    """Calls work in a sandbox and returns the exit status that work returns. Raises Refused if no sandbox can be made.

    template is the folder whose system the sandbox copies. If it is not this machine's /, work must have imported
    all it needs, because the Python inside is another one. With network, the sandbox has the machine's network until
    work calls leave_network.
    """
    # ^C reaches the whole foreground group. The command decides what it does; this process waits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return wait(start(work, shared, template, network))
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def start(work, shared=(), template="/", network=False):
    """Starts to call work in a sandbox, as call does. Returns the process for wait()."""
    if os.geteuid() != 0:
        raise Refused("only root can make a throw-away root")
    reader, writer = os.pipe()
    outer = _fork(_run_outer, (shared, template), network, work, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as report:
        reason = report.read().decode().strip()
    if reason:
        wait(outer)
        raise Refused(reason)
    return outer


def wait(outer):
    """Waits until the sandbox of this process has ended, and returns the exit status of work."""
    return _exit_status(os.waitstatus_to_exitcode(os.waitpid(outer, 0)[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--root", metavar="DIR", type=os.path.abspath, default="/", help="a folder with another system")
    parser.add_argument("--share", metavar="DIR", action="append", default=[],
                        help="a directory that is the real one inside")
    parser.add_argument("command", metavar="-- COMMAND", nargs="+")
    options = parser.parse_args()
    try:
        return run(options.command, [os.path.abspath(path) for path in options.share], options.root)
    except Refused as reason:
        print(f"sandbox: cannot make a throw-away root: {reason}", file=sys.stderr)
        return EXIT_REFUSED


if __name__ == "__main__":
    sys.exit(main())
