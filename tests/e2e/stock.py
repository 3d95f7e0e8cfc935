# SPDX-License-Identifier: ISC
"""This machine's own sshd on port 22, with its stock configuration and PAM stack."""

import os
import subprocess
import time
from pathlib import Path

import openssh
from bench import check
from patience import PATIENCE
from server import SSHD

PID_FILE = Path("/run/sshd.pid")


def snapshot(*tops):
    """The name, mode, owner and content of everything below these folders."""
    found = {}
    for top in tops:
        for path in sorted(Path(top).rglob("*")):
            info = path.lstat()
            found[str(path)] = (info.st_mode, info.st_uid, info.st_gid, path.read_bytes() if path.is_file() else b"")
    return found


class StockServer:
    """The stock sshd, without systemd. clients.py reads port."""
    port = 22

    def __init__(self):
        self._known = _open_pid_file()

    def start(self, *options):
        """Starts it with these values of -o."""
        more = [word for option in options for word in ("-o", option)]
        subprocess.run([SSHD, *(f"-o{option}" for option in openssh.without_penalties()), *more], check=True)
        self.wait()

    def reload(self):
        """Does what `systemctl reload ssh` does."""
        os.kill(int(PID_FILE.read_text(encoding="ascii")), 1)
        self.wait()

    def restart(self):
        self.stop()
        self.start()

    def wait(self):
        """Waits until sshd listens with the configuration that a start or reload made it read.

        sshd removes its PID file before it reads its configuration, and writes a new one when it listens. Until then
        the old configuration is in force.
        """
        deadline = time.monotonic() + PATIENCE
        while not self._listens_again():
            check(time.monotonic() < deadline, "the stock sshd does not listen again")
            time.sleep(0.01)

    def _listens_again(self):
        """Whether there is a new PID file. The old one is kept open, so that no new file gets its inode number."""
        found = _open_pid_file()
        if found is None or (self._known and os.path.sameopenfile(found.fileno(), self._known.fileno())):
            return False
        if not found.read().endswith("\n"):
            return False
        self._known = found
        return True

    @staticmethod
    def stop():
        if not PID_FILE.exists():
            return
        pid = int(PID_FILE.read_text(encoding="ascii"))
        os.kill(pid, 15)
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.005)


def _open_pid_file():
    try:
        return open(PID_FILE, encoding="ascii")     # pylint: disable=consider-using-with
    except FileNotFoundError:
        return None
