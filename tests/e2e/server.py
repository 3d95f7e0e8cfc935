# SPDX-License-Identifier: ISC
"""A private sshd, with its own name, port, configuration and PAM stack."""

import functools
import itertools
import re
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from openssh import without_penalties
from patience import PATIENCE

SSHD = "/usr/sbin/sshd"
STOCK_STACK = Path("/etc/pam.d/sshd")

GUARD = "/usr/libexec/keyveto-authorized-keys"

# These lines follow the test's own in the file. sshd uses the first value of a keyword.
BASE = """\
ListenAddress 127.0.0.1
StrictModes yes
UsePAM yes
KbdInteractiveAuthentication no
PasswordAuthentication no
UseDNS no
PrintMotd no
PrintLastLog no
LoginGraceTime 240
MaxAuthTries 20
MaxStartups 100
LogLevel VERBOSE
Subsystem sftp /usr/lib/openssh/sftp-server
"""

_numbers = itertools.count(1)
_ports = itertools.count(20000)     # below the range that the kernel gives to clients


def stock_stack():
    """The PAM stack of sshd as the distribution ships it."""
    return STOCK_STACK.read_text(encoding="utf-8")


def insert_before(stack, pattern, line):
    """The stack with line inserted before the first line that matches pattern."""
    changed, count = re.subn(f"^(?={pattern})", line + "\n", stack, count=1, flags=re.MULTILINE)
    if count != 1:
        raise RuntimeError(f"{STOCK_STACK}: no line like {pattern!r}")
    return changed


@dataclass(frozen=True)
class Deployment:
    """One way to deploy keyveto: options for sshd, and a PAM stack."""
    options: tuple = ()
    stack: str = ""

    def adding(self, *options):
        """The same with more sshd options, which take precedence."""
        return Deployment((*options, *self.options), self.stack)


def vanilla():
    """sshd without keyveto."""
    return Deployment((), stock_stack())


def guard(config=None, run_as="root", command="", connection=False):
    """The guard, which prints the accounts' files or executes another command."""
    named = f"--config {config} " if config else ""
    chained = f" -- {command}" if command else ""
    return Deployment((
        "AuthorizedKeysFile none",
        f"AuthorizedKeysCommand {GUARD} {named}--user %u --home %h --type %t --key %k"
        f"{' --connection %C' if connection else ''}{chained}",
        f"AuthorizedKeysCommandUser {run_as}",
    ), stock_stack())


def module_line(phase, config=None, *arguments):
    """The module's line in a PAM stack."""
    named = [f"config={config}"] if config else []
    return " ".join((phase, "requisite pam_keyveto.so", *named, *arguments))


def pam_session(config=None, *arguments):
    """The module as the first session line of the stock stack."""
    line = module_line("session", config, *arguments)
    return Deployment((), insert_before(stock_stack(), "session", line))


def pam_auth(config, method="publickey", password=False):
    """The module in the auth phase, which a second, keyboard-interactive step reaches.

    Without a password that step asks nothing. pam_permit replaces it, because a stack needs a module that returns
    success and keyveto never does.
    """
    stack = insert_before(stock_stack(), "@include common-auth", module_line("auth", config))
    if not password:
        stack = stack.replace("@include common-auth", "auth required pam_permit.so", 1)
    return Deployment((
        "KbdInteractiveAuthentication yes",
        f"AuthenticationMethods {method},keyboard-interactive:pam",
    ), stack)


def pam_account(config):
    """The module in the account phase, which sees the keys of all steps but the last."""
    return Deployment((), insert_before(stock_stack(), "account", module_line("account", config)))


class Server:
    """A running sshd.

    sshd uses the name it is started under as its PAM service. So a link gives each server its own stack.
    """

    def __init__(self, machine, folder, host_key, deployment):
        folder = Path(folder)
        self.service = f"sshd-kvt-{next(_numbers)}"
        self.port = free_port()
        self.log = folder / f"{self.service}.log"
        self.program = folder / self.service
        self.program.symlink_to(SSHD)
        machine.write(f"/etc/pam.d/{self.service}", deployment.stack)
        self.config = folder / f"{self.service}.conf"
        self.config.write_text("\n".join((
            *deployment.options, *_own_service(self.service, host_key), f"Port {self.port}",
            f"HostKey {host_key}", f"PidFile {folder / self.service}.pid", *without_penalties(), BASE)),
            encoding="utf-8")
        self._process = None

    def start(self):
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen([self.program, "-D", "-e", "-f", self.config],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while "Server listening" not in self.read_log():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"sshd did not start: {self.read_log()}")
            time.sleep(0.005)
        return self

    def stop(self):
        if self._process:
            self._process.terminate()
            self._process.wait()

    def children(self):
        """The processes of its connections."""
        found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(self._process.pid)],
                               capture_output=True, text=True)
        return found.stdout.splitlines()

    def read_log(self):
        return self.log.read_text(encoding="utf-8", errors="replace")


def free_port():
    """A port that is not in use."""
    while True:
        port = next(_ports)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


def _own_service(name, host_key):
    """The option that names the PAM service. A newer sshd needs it: its own name no longer counts."""
    return [f"PAMServiceName {name}"] if _knows_service_name(host_key) else []


@functools.cache
def _knows_service_name(host_key):
    shown = subprocess.run([SSHD, "-T", "-f", "/dev/null", "-h", host_key], capture_output=True, text=True)
    return "pamservicename" in shown.stdout.lower()     # mixed case from 10.5 on
