# SPDX-License-Identifier: ISC
"""A throw-away root that stays until close(), as a host that commands are run on."""

import os
import signal
import subprocess
from pathlib import Path

import sandbox
from bench import check

ENVIRONMENT = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "DEBIAN_FRONTEND=noninteractive")
PATIENCE_OF_COMMANDS = 900


class Box:
    """A throw-away root with a network and a name of its own, and commands in it.

    It ends with this process, even if this process is killed. Only the main thread may make one: the kernel ends a
    box with the thread that made it.
    """

    def __init__(self, name, work=signal.pause, shared=(), folder="/"):
        self.name, self.folder = name, folder
        self._outer = sandbox.start(work, shared)
        # The first process of the root has a number out here, too.
        self.pid = int(Path(f"/proc/{self._outer}/task/{self._outer}/children").read_text(encoding="ascii"))

    def path(self, name):
        """Where a file of the root is for this process."""
        return Path(f"/proc/{self.pid}/root{name}")

    @property
    def entry(self):
        """The words that start a program in the root, for a command line."""
        return ("nsenter", f"--target={self.pid}", "--mount", "--net", "--ipc", "--uts", "--pid", "--root",
                f"--wd={self.path(str(self.folder))}")

    def run(self, text, status=0, env=None):
        """Runs shell commands in the root; returns all that they print, both streams together."""
        done = self.attempt(text, env)
        check(done.returncode == status, f"{self.name}: {text}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def attempt(self, text, env=None):
        argv = (*self.entry, "env", "-i", *(env or ENVIRONMENT), "bash", "-euo", "pipefail", "-c", text)
        return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False, timeout=PATIENCE_OF_COMMANDS)

    def ip(self, *words):
        """Runs ip(8) in the network of the root, with the programs of this machine."""
        done = subprocess.run(["nsenter", f"--target={self.pid}", "--net", "ip", *map(str, words)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        check(done.returncode == 0, f"{self.name}: ip {words}: {done.stdout}")

    def close(self):
        os.kill(self._outer, signal.SIGKILL)
        sandbox.wait(self._outer)
