# SPDX-License-Identifier: ISC
"""Accounts, keys and an sshd_config in a throw-away root, for the tests of keyveto audit."""

import contextlib
import json
import os
from pathlib import Path

import keys
from program import equal, keyveto, make_filter

SYSTEM_FILES = [Path(f"/etc/{name}") for name in ("passwd", "group", "ssh/sshd_config")]
NEEDED = ("daemon", "nobody", "sshd", "nogroup")
CONFIG = Path("/etc/ssh/sshd_config")
DROP_INS = Path("/etc/ssh/sshd_config.d")
NOTES = Path("/var/lib/keyveto/.refused-accounts")
FIRST_ID = 20000


class Account:
    def __init__(self, name, number, home):
        self.name, self.uid, self.gid, self.home = name, number, number, home

    def own(self, path):
        os.chown(path, self.uid, self.gid, follow_symlinks=False)
        return path

    @property
    def keys_path(self):
        return self.home / ".ssh/authorized_keys"

    def write(self, path, *lines, mode=0o600):
        """Writes a file that the account owns, and the folders above it."""
        path = self.home / path
        for folder in reversed(path.parents):
            if not folder.exists():
                folder.mkdir(mode=0o700)
                self.own(folder)
        path.write_bytes(b"".join(line if isinstance(line, bytes) else f"{line}\n".encode() for line in lines))
        path.chmod(mode)
        return self.own(path)

    def authorize(self, *lines, **options):
        return self.write(self.keys_path, *lines, **options)


class World:
    """The accounts and the sshd_config of one test."""

    def __init__(self, folder):
        self.folder = folder
        self.bad, self.clean = keys.generate(folder).key, keys.generate(folder).key
        self.filter = make_filter(folder / "bad.pkbf", self.bad)
        self._number = FIRST_ID

    def account(self, name, home=None, shell="/bin/sh", **fields):
        self._number += 1
        made = Account(name, self._number, Path(home or self.folder / "home" / name))
        made.uid, made.gid = fields.get("uid", made.uid), fields.get("gid", made.gid)
        made.home.parent.mkdir(exist_ok=True)
        if home is None:
            made.home.mkdir(mode=0o755)
            made.own(made.home)
        self.append("/etc/passwd", f"{name}:x:{made.uid}:{made.gid}::{made.home}:{shell}")
        self.append("/etc/group", f"{name}:x:{made.gid}:")
        return made

    @staticmethod
    def append(path, *lines):
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def sshd_config(self, *lines):
        self.append(CONFIG, *lines)

    def audit(self, *arguments, status=None, **options):
        return keyveto("audit", "--filter", self.filter, *arguments, status=status, **options)

    def findings(self, *arguments, status=None, **options):
        """The output of --json --all: (findings, summaries by name of account or kind, standard error)."""
        done = self.audit("--json", "--all", *arguments, status=status, **options)
        objects = [json.loads(line) for line in done.stdout.splitlines()]
        summaries = {one["account"] or one["what"]: one for one in objects if one.get("summary")}
        return [one for one in objects if "verdict" in one], summaries, done.stderr


@contextlib.contextmanager
def world(folder):
    """A World without the machine's own settings and accounts; the accounts that sshd needs stay.

    Restores the system files at the end.
    """
    kept = {path: path.read_bytes() for path in SYSTEM_FILES}
    clear_drop_ins()
    for path in SYSTEM_FILES[:2]:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if line.split(":")[0] in NEEDED), encoding="utf-8")
    World.append("/etc/passwd", f"root:x:0:0::{folder}/root:/bin/sh")
    CONFIG.write_text(f"Include {DROP_INS}/*.conf\n")
    try:
        yield World(folder)
    finally:
        for path, content in kept.items():
            path.write_bytes(content)
        clear_drop_ins()
        # Accounts that it names are looked up in the next test, too.
        NOTES.unlink(missing_ok=True)


def clear_drop_ins():
    DROP_INS.mkdir(exist_ok=True)
    for path in DROP_INS.glob("*.conf"):
        path.unlink()


def places(findings, verdict="listed"):
    return [f"{one['file']}:{one['line']}" for one in findings if one["verdict"] == verdict]


def row_of(stdout, name):
    """The numbers in an account's row of the table, in this order: files keys listed allowed unknown problems."""
    rows = [line[len(name):].split() for line in stdout.splitlines() if line.startswith(f"{name} ")]
    equal(len(rows), 1, stdout)
    return [int(number) for number in rows[0]]
