# SPDX-License-Identifier: ISC
"""Installs the programs under test as docs/by-hand.md does."""

import glob
import os
import shutil
import tempfile
from pathlib import Path

import keys
from server import GUARD, SSHD, STOCK_STACK

CONFIG_FOLDER, FILTER_FOLDER = Path("/etc/keyveto"), Path("/var/lib/keyveto")
SSH_CONFIG = Path("/etc/ssh/ssh_config")
SCRATCH_PARENT = "/var/lib"     # sshd takes commands only from folders of root
HOST_KEY_KINDS = ("ed25519", "ecdsa")

TOOLS = (SSHD, "ssh", "ssh-keygen", "sftp", "scp", "/usr/lib/openssh/ssh-keysign",
         "/usr/lib/openssh/sftp-server", "ssh-agent", "ssh-add", "git", "useradd", "userdel", "groupadd", "groupdel",
         "gpasswd", "chpasswd")


class CannotRun(Exception):
    """The tests cannot run here; the text says why."""


def check_machine(build):
    """Raises CannotRun if a tool or file is missing: no test is skipped for that."""
    if os.geteuid() != 0:
        raise CannotRun("these tests make accounts and start sshd: run them as root")
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise CannotRun(f"{tool} is not installed")
    for path in (STOCK_STACK, SSH_CONFIG, keys.ORACLE, *_built(build)):
        if not path.exists():
            raise CannotRun(f"{path} does not exist")
    _pam_folder()


def make_scratch(parent=None):
    """A folder that sshd trusts and every account can read."""
    scratch = Path(tempfile.mkdtemp(prefix="kvt-e2e-", dir=parent or SCRATCH_PARENT))
    scratch.chmod(0o755)
    return scratch


def _built(build):
    return build / "keyveto-authorized-keys", build / "pam_keyveto.so"


def _pam_folder():
    """The folder of this machine's PAM modules."""
    found = glob.glob("/usr/lib/*/security/pam_unix.so") + glob.glob("/lib*/security/pam_unix.so")
    if not found:
        raise CannotRun("there are no PAM modules on this machine")
    return Path(found[0]).parent


def install(machine, build, scratch):
    """Installs the programs, and what some ways in need."""
    guard, module = _built(build)
    wrapper = os.environ.get("TEST_WRAPPER")
    if wrapper:
        machine.write(f"{GUARD}.watched", guard.read_bytes(), 0o755)
        machine.write(GUARD, f'#!/bin/sh\nexec {wrapper} {GUARD}.watched "$@"\n', 0o755)
    else:
        machine.write(GUARD, guard.read_bytes(), 0o711)
    machine.write(_pam_folder() / module.name, module.read_bytes())
    machine.make_folder(CONFIG_FOLDER)
    machine.make_folder(FILTER_FOLDER)
    machine.make_folder("/run/sshd")
    # ssh-keysign reads EnableSSHKeysign from this file only.
    machine.write(SSH_CONFIG, "EnableSSHKeysign yes\n" + SSH_CONFIG.read_text(encoding="utf-8"))
    _make_host_keys(machine, scratch)


def _make_host_keys(machine, scratch):
    """Makes the host keys that a hostbased login offers, if the machine lacks them."""
    for kind in HOST_KEY_KINDS:
        path = Path(f"/etc/ssh/ssh_host_{kind}_key")
        if not path.exists():
            made = keys.generate(scratch, kind)
            machine.write(path, made.path.read_bytes(), 0o600)
            machine.write(f"{path}.pub", made.key.path.read_bytes())
