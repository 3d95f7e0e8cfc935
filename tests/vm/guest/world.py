# SPDX-License-Identifier: ISC
"""The guest: its accounts and keys, its journal, its services, keyveto's files."""

import contextlib
import json
import os
import pwd
import re
import shutil
import subprocess
import time
from pathlib import Path

import keys
from clients import Clients
from steps import call, check

DISK = Path("/mnt")
SCRATCH = Path("/var/tmp/keyveto-vm")
CONFIG = Path("/etc/keyveto/keyveto.conf")
FILTER = Path("/var/lib/keyveto/filter.pkbf")
GUARD = Path("/usr/libexec/keyveto-authorized-keys")
STACK = Path("/etc/pam.d/sshd")
SHARE = Path("/usr/share/keyveto")
STEP = re.compile(r"<!-- step: ([a-z]+) -->\n```sh\n(.*?)```", re.DOTALL)
SLOWER = int(re.search(r"keyveto\.slower=(\d+)|$", Path("/proc/cmdline").read_text(encoding="ascii"))[1] or 1)


class Server:
    """The machine's own sshd."""
    port = 22


class Account:
    """An account that logs in, with its authorized_keys file."""

    def __init__(self, name):
        self.name = name
        try:
            pwd.getpwnam(name)
        except KeyError:
            call("useradd", "-m", "-s", "/bin/bash", name)
        self.home = Path(pwd.getpwnam(name).pw_dir)

    def authorize(self, *public):
        folder = self.home / ".ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "authorized_keys").write_text("".join(f"{key}\n" for key in public), encoding="ascii")
        (folder / "authorized_keys").chmod(0o600)
        for path in (folder, folder / "authorized_keys"):
            shutil.chown(path, self.name, self.name)
        if Path("/sys/fs/selinux/enforce").exists():
            call("restorecon", "-R", folder)


class World:
    """Two accounts: alice has a clean key, mallory a leaked one."""

    def __init__(self, part, fresh=True):
        self.part, self.ok = part, part.ok
        SCRATCH.mkdir(exist_ok=True)
        (SCRATCH / "home").mkdir(exist_ok=True)
        self.clients = Clients(SCRATCH)
        self.alice, self.mallory = Account("alice"), Account("mallory")
        self.clean = self._clean_key()
        shutil.copy(DISK / "demo/compromised", SCRATCH / "leaked")
        shutil.copy(DISK / "demo/compromised.pub", SCRATCH / "leaked.pub")
        (SCRATCH / "leaked").chmod(0o600)
        self.leaked = keys.Identity(SCRATCH / "leaked")
        self.alice.authorize(self.clean.key)
        self.mallory.authorize(self.leaked.key)
        if fresh and not GUARD.exists():
            self.install()
        if fresh and Path("/etc/ssh/sshd_config.d/00-keyveto.conf").exists():
            with reloaded():
                call("keyveto", "sshd", "disable", "--reload")
        self.steps = {}
        for name in ("operations.md", "by-hand.md", "README.md"):
            self.steps.update(STEP.findall((DISK / name).read_text(encoding="utf-8")))

    @staticmethod
    def _clean_key():
        path = SCRATCH / "clean"
        if not path.exists():
            call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path)
        return keys.Identity(path)

    def login(self, account, identity):
        return self.clients.login(Server, account, [identity])

    def expect(self, when, alice=True, mallory=False):
        """Logs in with both keys. Fails unless the results are as expected."""
        for account, key, enters in ((self.alice, self.clean, alice), (self.mallory, self.leaked, mallory)):
            outcome = self.login(account, key)
            check(outcome.entered == enters, f"{when}: {account.name}: {outcome}")
            check(outcome.entered or outcome.refused, f"{when}: {account.name}: {outcome}")
        self.ok(f"{when}: clean key {'in' if alice else 'out'}, leaked key {'in' if mallory else 'out'}")

    def follow(self, name, **environment):
        """Runs a step of a document to the letter."""
        with reloaded() if name == "reload" else contextlib.nullcontext():
            said = call("bash", "-euo", "pipefail", "-c", self.steps[name], env={**os.environ, **environment})
        self.ok(f"step {name}")
        return said

    # --- packages, filter -----------------------------------------------------

    @staticmethod
    def install():
        return call("apt-get", "install", "-y", "-q", "--no-install-recommends", *sorted((DISK / "debs").glob("*.deb")),
                    env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})

    @staticmethod
    def put_filter(path=DISK / "demo/demo.pkbf"):
        call("install", "-o", "root", "-g", "root", "-m", "0644", path, FILTER.with_name(".new"))
        FILTER.with_name(".new").rename(FILTER)
        if not CONFIG.exists():
            CONFIG.write_text(f"Filter {FILTER}\n", encoding="ascii")


# --- systemd ----------------------------------------------------------------------


def unit(name, *properties):
    said = call("systemctl", "show", name, *(f"--property={word}" for word in properties))
    return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)


def wait_for(what, condition, seconds=30):
    end = time.monotonic() + seconds * SLOWER
    while not condition():
        check(time.monotonic() < end, f"not in {seconds} seconds: {what}")
        time.sleep(0.1)


@contextlib.contextmanager
def reloaded():
    """A block that reloads sshd. Waits at its end, as sshd is not ready when systemctl returns."""
    pid_file = Path("/run/sshd.pid")
    listens = unit("ssh.service", "ActiveState")["ActiveState"] == "active"
    before = pid_file.stat().st_mtime_ns if listens else None

    def done():
        return pid_file.exists() and pid_file.stat().st_mtime_ns != before
    yield
    if listens:
        wait_for("sshd to read its configuration", done)


class Journal:
    """The entries of the journal from now on."""

    def __init__(self):
        marker = f"mark {time.monotonic_ns()}"
        self.cursor = None
        subprocess.run(["logger", "-t", "keyveto-vm", marker], check=True)

        def marked():
            said = call("journalctl", "-t", "keyveto-vm", "-o", "json", "-n", "5", "-q")
            for line in said.splitlines():
                entry = json.loads(line)
                if entry["MESSAGE"] == marker:
                    self.cursor = entry["__CURSOR"]
            return self.cursor is not None
        wait_for("a line of ours in the journal", marked)

    def entries(self, **fields):
        """The entries with these fields. Selected here: systemd 252 loses an entry after a cursor if it selects."""
        call("journalctl", "--sync")
        said = call("journalctl", "-q", "-o", "json", "--all", f"--after-cursor={self.cursor}")
        return [entry for entry in map(json.loads, said.splitlines())
                if all(entry.get(name) == value for name, value in fields.items())]

    def messages(self, **fields):
        return [str(entry.get("MESSAGE")) for entry in self.entries(**fields)]

    def decisions(self, *wanted):
        """keyveto's log lines that have all of these pairs."""
        return [text for text in self.messages() if "verdict=" in text and all(pair in text.split() for pair in wanted)]

    def expect(self, *wanted):
        found = self.decisions(*wanted)
        check(found, f"no line with {' '.join(wanted)}: {self.messages()[-20:]}")
        return found


@contextlib.contextmanager
def changed(path, text=None):
    """Gives a file another content, or removes it, for the time of the block."""
    path = Path(path)
    before = path.read_bytes() if path.exists() else None
    mode = path.stat().st_mode & 0o7777 if before is not None else 0o644
    try:
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(mode)
        yield
    finally:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(before)
            path.chmod(mode)
