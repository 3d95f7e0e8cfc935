# SPDX-License-Identifier: ISC
"""A controller and eleven hosts: throw-away roots, each with an address behind one bridge.

The bridge is in the controller's network. Nothing of the machine's own network, accounts or files has a part in it.
"""

import datetime
import os
import re
import shutil
import socket
import time
from pathlib import Path

import keys
from bench import check
from box import Box
from clients import Clients
from patience import PATIENCE
from visits import shell

ROOT = Path(__file__).resolve().parent.parent.parent
CONTROLLER, PREFIX = "192.0.2.1", 24
FIRST_HOST = 11
BRIDGE = "kv-fleet"
SYSLOG, PID_FILE = "/var/log/auth.log", "/run/sshd.pid"
HOST_KEYS = ("ed25519", "ecdsa")
FIRST_UID = 20001
# Programs that `apt` and `dpkg` start. No service may start in a throw-away root, and man-db's update is slow.
NO_SERVICE = "#!/bin/sh\nexit 101\n"
QUICK = 'APT::Install-Recommends "false";\nDPkg::Options { "--force-unsafe-io"; };\n'


def keep_syslog():
    """Does what rsyslog does, until the root ends: /var/log/auth.log of what comes to /dev/log."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as book, open(SYSLOG, "ab", buffering=0) as log:
        book.bind("/dev/log")
        os.chmod("/dev/log", 0o666)
        name = socket.gethostname().encode()
        while True:
            # "<86>Nov 23 13:20:00 sshd[17]: text"; the name of the host follows the time in the file.
            text = re.sub(rb"^<\d+>", b"", book.recv(1 << 16).rstrip(b"\n\0"))
            log.write(text[:15] + b" " + (name or b"host") + text[15:] + b"\n")


class Server:
    """The sshd of a host, for clients.py and visits.py."""
    port = 22


class FromController(Clients):
    """Clients that run on the controller, and connect to the address of one host."""

    def __init__(self, folder, controller, address):
        super().__init__(folder)
        self.controller, self.address = controller, address

    def _argv(self, program, server, identities, options):
        return super()._argv(program, server, identities, ["-o", f"HostName={self.address}", *options])

    def run(self, argv, stdin="", environment=None):
        return super().run([*self.controller.entry, *argv], stdin, environment)


class Host(Box):
    """A host with its own sshd. A shape (shapes.py) gives it accounts and a configuration."""

    def __init__(self, name, address):
        super().__init__(name, keep_syslog)
        self.address, self.visits = address, ()
        self.server, self.clients = Server(), None      # as the visits want a world
        self._accounts = 0
        self.run(f"hostname {name}; echo {name} >/etc/hostname; rm -f /etc/ssh/ssh_host_* /etc/ssh/sshd_config.d/*; "
                 + "; ".join(f"ssh-keygen -q -t {kind} -N '' -C root@{name} -f /etc/ssh/ssh_host_{kind}_key"
                             for kind in HOST_KEYS))
        with open(self.path("/etc/hosts"), "a", encoding="ascii") as hosts:
            hosts.write(f"{address} {name}\n")
        self.write("/usr/sbin/policy-rc.d", NO_SERVICE, 0o755)
        self.write("/etc/apt/apt.conf.d/99fleet", QUICK)
        self.path("/var/lib/man-db/auto-update").unlink(missing_ok=True)

    # Files and accounts

    def write(self, name, content, mode=0o644, owner=(0, 0)):
        """Writes a file, and makes the folders above it."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.chown(path, *owner)
        path.chmod(mode)
        return path

    def add_account(self, name, *lines, group=None):
        """Adds an account, and its authorized_keys of these lines (str or bytes)."""
        uid = FIRST_UID + self._accounts
        self._accounts += 1
        home = f"/home/{name}"
        for table, line in (("passwd", f"{name}:x:{uid}:{uid}::{home}:/bin/sh"), ("group", f"{name}:x:{uid}:"),
                            ("shadow", f"{name}:*:19000:0:99999:7:::")):
            with open(self.path(f"/etc/{table}"), "a", encoding="ascii") as file:
                file.write(f"{line}\n")
        if group:
            self.run(f"groupadd -f {group} && gpasswd -a {name} {group}")
        for folder, mode in ((home, 0o755), (f"{home}/.ssh", 0o700)):
            self.path(folder).mkdir()
            os.chown(self.path(folder), uid, uid)
            self.path(folder).chmod(mode)
        if lines:
            self.authorize(name, *lines)
        return name

    def authorize(self, name, *lines):
        """Writes an account's authorized_keys."""
        home = "/root" if name == "root" else f"/home/{name}"
        folder = self.path(f"{home}/.ssh")
        folder.mkdir(exist_ok=True)
        info = self.path(home).stat()
        os.chown(folder, info.st_uid, info.st_gid)
        folder.chmod(0o700)
        text = b"".join((line if isinstance(line, bytes) else str(line).encode()) + b"\n" for line in lines)
        self.write(f"{home}/.ssh/authorized_keys", text, 0o600, (info.st_uid, info.st_gid))

    def host_keys(self):
        """Lines for known_hosts."""
        for kind in HOST_KEYS:
            words = self.path(f"/etc/ssh/ssh_host_{kind}_key.pub").read_text(encoding="ascii").split()
            yield f"{self.name},{self.address} {words[0]} {words[1]}\n"

    # sshd

    def start_sshd(self, config):
        self.write("/etc/ssh/sshd_config", config)
        # A daemon must not keep the pipe of run() open.
        self.run("mkdir -p /run/sshd && /usr/sbin/sshd >/dev/null 2>&1")
        self.wait(lambda: self.sshd_pid() is not None, "sshd listens")

    def sshd_pid(self):
        """The number of the listening sshd in the root, or None."""
        try:
            text = self.path(PID_FILE).read_text(encoding="ascii")
        except FileNotFoundError:
            return None
        return int(text) if text.endswith("\n") else None

    def freeze_sshd(self, frozen):
        """Makes sshd accept connections and say nothing, or lets it go on."""
        self.run(f"kill -{'STOP' if frozen else 'CONT'} {self.sshd_pid()}")

    def wait(self, holds, what):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            check(time.monotonic() < deadline, f"{self.name}: waited in vain until {what}")
            time.sleep(0.02)

    # Logins

    def visit(self, visit):
        return visit.act()

    def shell(self, account, identity, **how):
        return shell(self, account, identity, **how)

    def snapshot(self, *tops):
        """Kind, mode, owner and content of each file below these folders."""
        found = {}
        for top in tops:
            root = self.path(top)
            for folder, folders, files in os.walk(root):
                for name in [*folders, *files]:
                    path = Path(folder, name)
                    found[f"{top}/{path.relative_to(root)}"] = _described(path)
        return found


def _described(path):
    info = path.lstat()
    what = (info.st_mode, info.st_uid, info.st_gid)
    if path.is_symlink():
        return (*what, os.readlink(path))
    return (*what, path.read_bytes()) if path.is_file() else what


class Fleet:
    """The controller, the hosts, and the keys with which people log in."""

    def __init__(self, scratch, shapes):
        self.scratch, self.boxes, self.hosts = scratch, [], {}
        self.clean, self.listed, self.stranger, self.admin, self.leaked_admin, self.ca = (
            keys.generate(scratch) for _ in range(6))
        self.shapes = {shape.name: shape for shape in shapes}

    def start(self):
        """Makes the roots, joins them, and starts each host as its shape says."""
        self.controller = Box("controller", shared=(str(self.scratch),), folder=ROOT)
        self.boxes.append(self.controller)
        self.controller.run("hostname controller")
        self.controller.ip("link", "add", BRIDGE, "type", "bridge")
        self.controller.ip("address", "add", f"{CONTROLLER}/{PREFIX}", "dev", BRIDGE)
        self.controller.ip("link", "set", BRIDGE, "up")
        for number, (name, shape) in enumerate(self.shapes.items()):
            host = Host(name, f"192.0.2.{FIRST_HOST + number}")
            self.boxes.append(host)
            self.hosts[name] = host
            self._join(host, number)
            host.clients = FromController(self.scratch, self.controller, host.address)
            host.authorize("root", f"{self.admin.key} admin@controller")
            host.visits = tuple(shape.prepare(host, self))
        self._introduce()

    def _join(self, host, number):
        port = f"kv-{number}"
        self.controller.ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", host.pid)
        self.controller.ip("link", "set", port, "master", BRIDGE, "up")
        host.ip("address", "add", f"{host.address}/{PREFIX}", "dev", "eth0")
        host.ip("link", "set", "eth0", "up")

    def _introduce(self):
        """Root on the controller has a key, and knows the hosts."""
        ssh = self.controller.path("/root/.ssh")
        shutil.rmtree(ssh, ignore_errors=True)
        ssh.mkdir(mode=0o700)
        for name, identity in (("id_ed25519", self.admin), ("leaked", self.leaked_admin)):
            shutil.copyfile(identity.path, ssh / name)
            (ssh / name).chmod(0o600)
            shutil.copyfile(identity.key.path, ssh / f"{name}.pub")
        with open(self.controller.path("/etc/hosts"), "a", encoding="ascii") as hosts, \
                open(ssh / "known_hosts", "w", encoding="ascii") as known:
            for host in self.hosts.values():
                hosts.write(f"{host.address} {host.name}\n")
                known.writelines(host.host_keys())

    def close(self):
        for box in self.boxes:
            box.close()


def long_ago(days):
    """A time so many days ago, for os.utime."""
    then = datetime.datetime.now(tz=datetime.timezone.utc) - datetime.timedelta(days=days)
    return (then.timestamp(), then.timestamp())
