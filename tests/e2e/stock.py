# SPDX-License-Identifier: ISC
"""This machine's own sshd on port 22, with its stock configuration and stack."""

import os
import subprocess
import time
from pathlib import Path

from bench import check
from patience import PATIENCE
from server import SSHD

PID_FILE = Path("/run/sshd.pid")


def snapshot(*tops):
    """Everything below these folders: names, modes, owners, contents."""
    found = {}
    for top in tops:
        for path in sorted(Path(top).rglob("*")):
            info = path.lstat()
            found[str(path)] = (info.st_mode, info.st_uid, info.st_gid, path.read_bytes() if path.is_file() else b"")
    return found


class StockServer:
    """Where there is no systemd; clients.py wants to know the port."""
    port = 22

    def __init__(self):
        self._known = _open_pid_file()

    def start(self):
        subprocess.run([SSHD], check=True)
        self.wait()

    def reload(self):
        """As `systemctl reload ssh` does."""
        os.kill(int(PID_FILE.read_text(encoding="ascii")), 1)
        self.wait()

    def restart(self):
        self.stop()
        self.start()

    def wait(self):
        """Until it listens, by what it has read since it was started, or was told to reload.

        Before it reads its files it removes its PID file, and when it listens it
        writes one. Until then, the one that answers goes by what it read before.
        """
        deadline = time.monotonic() + PATIENCE
        while not self._has_begun():
            check(time.monotonic() < deadline, "the stock sshd does not begin anew")
            time.sleep(0.01)

    def _has_begun(self):
        """Whether there is another PID file than the one we know, which keeps its number while it is open."""
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
