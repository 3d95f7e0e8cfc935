# SPDX-License-Identifier: ISC
"""The programs under test, and the machine they are put on, as docs/by-hand.md has it."""

import glob
import os
import shutil
import tempfile
from pathlib import Path

import keys
from server import GUARD, SSHD, STOCK_STACK

CONFIG_FOLDER, FILTER_FOLDER = Path("/etc/keyveto"), Path("/var/lib/keyveto")
SSH_CONFIG = Path("/etc/ssh/ssh_config")
SCRATCH_PARENT = "/var/lib"     # root's all the way up, as sshd wants it for commands
HOST_KEY_KINDS = ("ed25519", "ecdsa")

TOOLS = (SSHD, "ssh", "ssh-keygen", "sftp", "scp", "/usr/lib/openssh/ssh-keysign",
         "/usr/lib/openssh/sftp-server", "ssh-agent", "ssh-add", "git", "useradd", "userdel", "groupadd", "groupdel",
         "gpasswd", "chpasswd")


class CannotRun(Exception):
    """The suite cannot run here; the text says what is in the way."""


def check_machine(build):
    """No case may be skipped, so whatever is missing stops the suite."""
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
    """A folder that sshd trusts and every account can look into."""
    scratch = Path(tempfile.mkdtemp(prefix="kvt-e2e-", dir=parent or SCRATCH_PARENT))
    scratch.chmod(0o755)
    return scratch


def check_untouched():
    """Outside the sandbox, keep away from anything that is somebody's own."""
    for path in (Path("/dev/log"), CONFIG_FOLDER, FILTER_FOLDER, Path(GUARD), _pam_folder() / "pam_keyveto.so"):
        if path.exists():
            raise CannotRun(f"no throw-away root can be had here, and {path} exists: "
                            "run the tests in a virtual machine or a privileged container")


def _built(build):
    return build / "keyveto-authorized-keys", build / "pam_keyveto.so"


def _pam_folder():
    """Where this machine keeps its PAM modules."""
    found = glob.glob("/usr/lib/*/security/pam_unix.so") + glob.glob("/lib*/security/pam_unix.so")
    if not found:
        raise CannotRun("there are no PAM modules on this machine")
    return Path(found[0]).parent


def install(machine, build, scratch):
    """Put the programs in their places, and add what some ways to log in need."""
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
    # ssh-keysign has no other way to be told that it may speak for the host.
    machine.write(SSH_CONFIG, "EnableSSHKeysign yes\n" + SSH_CONFIG.read_text(encoding="utf-8"))
    _make_host_keys(machine, scratch)


def _make_host_keys(machine, scratch):
    """The host's own keys, which a hostbased login offers; an image may lack them."""
    for kind in HOST_KEY_KINDS:
        path = Path(f"/etc/ssh/ssh_host_{kind}_key")
        if not path.exists():
            made = keys.generate(scratch, kind)
            machine.write(path, made.path.read_bytes(), 0o600)
            machine.write(f"{path}.pub", made.key.path.read_bytes())
