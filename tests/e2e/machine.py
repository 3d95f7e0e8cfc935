# SPDX-License-Identifier: ISC
"""Changes to the machine: accounts and system files.

Nothing is undone, because everything vanishes with the throw-away root. Machine() refuses to work outside of one.
"""

import grp
import itertools
import os
import pwd
import subprocess
import threading
from pathlib import Path

import sandbox

ACCOUNT_PREFIX = "kvt-"


class Account:
    """An account with a home directory, made for one test."""

    def __init__(self, name):
        entry = pwd.getpwnam(name)
        self.name, self.uid, self.gid = name, entry.pw_uid, entry.pw_gid
        self.home = Path(entry.pw_dir)

    @property
    def ssh(self):
        return self.home / ".ssh"

    @property
    def authorized_keys(self):
        return self.ssh / "authorized_keys"

    def write(self, name, content, mode=0o600):
        """Writes a file below the home, and its folder. The account owns both."""
        path = self.home / name
        if not path.parent.exists():
            path.parent.mkdir(mode=0o700)
            os.chown(path.parent, self.uid, self.gid)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.chown(path, self.uid, self.gid)
        path.chmod(mode)
        return path

    def authorize(self, *lines):
        """Writes ~/.ssh/authorized_keys. A key stands for its line."""
        return self.write(".ssh/authorized_keys", "".join(f"{line}\n" for line in lines))


def write_as_root(path, content, mode=0o644):
    """Writes a file that root owns."""
    path = Path(path)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.chown(path, 0, 0)
    path.chmod(mode)
    return path


class Machine:
    """The throw-away root that the tests change."""

    def __init__(self):
        if not sandbox.inside():
            raise sandbox.Refused("this process is not in a throw-away root, and would change the machine itself")
        self._accounts = itertools.count(1)
        # useradd and usermod lock /etc/passwd, and fail if it is locked.
        self._passwd = threading.Lock()

    def write(self, path, content, mode=0o644):
        """Writes a system file, and makes the folders above it."""
        path = Path(path)
        self.make_folder(path.parent)
        return write_as_root(path, content, mode)

    def make_folder(self, path):
        """Makes a folder that root owns, and the ones above it."""
        path = Path(path)
        if path.is_dir():
            return path
        self.make_folder(path.parent)
        path.mkdir()
        path.chmod(0o755)
        return path

    def add_account(self, name=None, password=None, as_root=False):
        """Adds an account. name may be one that useradd rejects; as_root sets the uid 0."""
        odd = ["--badname"] if name else []
        name = name or f"{ACCOUNT_PREFIX}{os.getpid()}-{next(self._accounts):04}"
        uid = ("--non-unique", "--uid", "0") if as_root else ()
        with self._passwd:
            _system("useradd", "--create-home", "--user-group", "--shell", "/bin/sh", *odd, *uid, name)
            if password is not None:
                _system("chpasswd", input=f"{name}:{password}\n")
        return Account(name)

    def set_home(self, account, home):
        """Sets the home in /etc/passwd, which may be one that usermod rejects. The files stay where they are."""
        with self._passwd:
            path = Path("/etc/passwd")
            lines = [line.split(":") for line in path.read_text(encoding="utf-8").splitlines()]
            path.write_text("".join(":".join((*words[:5], home, words[6]) if words[0] == account.name else words) + "\n"
                                    for words in lines), encoding="utf-8")

    def add_group(self, *members):
        """Adds a group of these members and returns its number."""
        name = f"{ACCOUNT_PREFIX}{os.getpid()}-g{next(self._accounts):04}"
        with self._passwd:
            _system("groupadd", "--users", ",".join(account.name for account in members), name)
        return grp.getgrnam(name).gr_gid

    def add_to_group(self, gid, account):
        """Adds the account to the private group of another one."""
        with self._passwd:
            _system("gpasswd", "--add", account.name, grp.getgrgid(gid).gr_name)


def _system(*argv, **options):
    done = subprocess.run(argv, stdin=None if "input" in options else subprocess.DEVNULL,
                          capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip()}")
