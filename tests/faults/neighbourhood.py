# SPDX-License-Identifier: ISC
"""What the tests of hostile neighbours share: accounts, keys, a filter, and files that only root may read."""

import contextlib
import os
import subprocess
from pathlib import Path

from stage import ENVIRONMENT, as_account, run

PYTHON = "/usr/bin/python3"     # every account may run this one
SECRET = b"nobody but root may read this\n"
# A guard that waits for a lock, or for the end of an endless file, takes longer:
# the kernel takes a lease away after 45 seconds.
QUICK_SECONDS = 40


class Neighbourhood:
    """A clean and a listed key, an account that lists both, and ways to ask the guard about them."""

    def __init__(self, stage):
        self.stage, self.swapper = stage, stage.compile("swapper.c")
        self.clean, self.listed = stage.key(), stage.key()
        self.account, self.other = stage.account(), stage.account()
        self.lines = f"{self.clean.key}\n{self.listed.key}\n".encode()
        for account in (self.account, self.other):
            account.write(".ssh/authorized_keys", self.lines)
        self.config = stage.config(listed=[self.listed])
        self.filter = Path(self.config.read_text(encoding="ascii").split()[1])
        self.secret = stage.write("secret", SECRET, 0o600)

    def argv(self, offered, name, *more, **instead):
        """The guard's arguments as sshd gives them; instead replaces their values."""
        values = {"config": self.config, "user": self.account.name, "home": self.account.home,
                  "type": offered.key.type, "key": offered.key.blob, "connection": f"192.0.2.1 22 {name} 22", **instead}
        words = [word for option, value in values.items() if value is not None for word in (f"--{option}", value)]
        return [self.stage.guard, *words, *more]

    def ask(self, key, *more, prefix=(), instead=None, **options):
        """One run of the guard: (how it ended, what it logged)."""
        name = self.stage.name_run()
        done = run([*prefix, *self.argv(key, name, *more, **instead or {})], **options)
        return done, self.stage.log.decisions(name)

    def check_both(self, what, seconds=QUICK_SECONDS, output=None, **how):
        """Fails unless the guard soon prints all lines for a clean key, and nothing for a listed one."""
        output = self.lines if output is None else output
        done, _ = self.ask(self.clean, **how)
        assert (done.returncode, done.stdout) == (0, output), f"{what}: a clean key: {done}"
        assert done.seconds < seconds, f"{what}: a clean key waits {done.seconds:.1f} s"
        done, said = self.ask(self.listed, **how)
        assert (done.returncode, done.stdout) == (0, b""), f"{what}: a listed key: {done}"
        assert [one.verdict for one in said] == ["listed"], f"{what}: a listed key, logged: {said}"
        assert done.seconds < seconds, f"{what}: a listed key waits {done.seconds:.1f} s"


@contextlib.contextmanager
def neighbour(account, code, *arguments, **environment):
    """Runs a program in Python as an account until the block ends. Yields the words of its first line."""
    argv = [PYTHON, "-c", code, *map(os.fspath, arguments)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, cwd="/",
                          env={**ENVIRONMENT, **environment}, **as_account(account)) as process:
        try:
            yield process.stdout.readline().decode().split()
        finally:
            process.kill()
