# SPDX-License-Identifier: ISC
"""A list and a filter that logins consult, and accounts whose keys a change would refuse: for tests of the brake."""

import contextlib
import shutil
import stat
from pathlib import Path

import keys
from audit_machine import world
from program import equal, keyveto

FOLDER, STATE, OURS = Path("/etc/keyveto"), Path("/var/lib/keyveto"), Path("/srv/lists-of-keyveto")
CONFIG, SETTINGS = FOLDER / "keyveto.conf", FOLDER / "update.conf"
LIST, FILTER = OURS / "own.dat", OURS / "own.pkbf"
GUARD = "/usr/libexec/keyveto-authorized-keys"


class Machine:
    """keyveto.conf names a list and a filter, which have a key that nobody uses."""

    def __init__(self, made, scratch):
        self.world, self.scratch = made, scratch
        for folder in (FOLDER, STATE, OURS):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o755)
        self.unused = self.write("unused.pub", keys.generate(scratch).key)
        self.configure(f"Blocklist {LIST}", f"Filter {FILTER}")
        keyveto("list", "create", LIST, self.unused, status=0)
        keyveto("filter", "create", FILTER, "--entries", 1000, "--fpr", "1e-6", status=0)
        keyveto("filter", "add", FILTER, self.unused, status=0)

    def write(self, name, *lines):
        """Writes a file of these lines below the scratch folder: its path."""
        path = self.scratch / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        return path

    @staticmethod
    def configure(*lines, path=CONFIG):
        """Writes a keyveto.conf that a login trusts."""
        path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        path.chmod(0o644)
        return path

    def authorize_root(self, *lines):
        path = self.world.folder / "root/.ssh/authorized_keys"
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        return path

    def administrator(self, name="alice"):
        """An account in a group of HoldIfRefused."""
        account = self.world.account(name)
        self.world.append("/etc/group", f"wheel:x:29999:{name}")
        return account

    @staticmethod
    def snapshot():
        """The files whose change must be asked about, and all that lies beside them."""
        found = {}
        for top in (FOLDER, STATE, OURS):
            for path in sorted(top.rglob("*")):
                info = path.lstat()
                # A lock comes and goes: that changes the time of a folder.
                found[str(path)] = (oct(info.st_mode), info.st_ino, 0 if path.is_dir() else info.st_mtime_ns,
                                    path.read_bytes() if stat.S_ISREG(info.st_mode) else None)
        return found

    def is_held(self, *words):
        """Runs a command that must be held, and change nothing: its messages."""
        before = self.snapshot()
        done = keyveto(*words, status=2)
        equal(self.snapshot(), before, done.stderr)
        return done.stderr

    @staticmethod
    def lists(key, path):
        """Whether the list or filter has the key of that file."""
        what = "--filter" if path.suffix == ".pkbf" else "--blocklist"
        return keyveto("check", what, path, key).returncode == 1


@contextlib.contextmanager
def machine(scratch):
    stack = Path("/etc/pam.d/sshd")
    kept = stack.read_bytes()
    try:
        with world(scratch) as made:
            yield Machine(made, scratch)
    finally:
        stack.write_bytes(kept)
        for folder in (FOLDER, STATE, OURS):
            shutil.rmtree(folder, ignore_errors=True)
