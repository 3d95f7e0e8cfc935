# SPDX-License-Identifier: ISC
"""This machine's own sshd on port 22, with its stock configuration and stack."""

import os
import subprocess
import time
from pathlib import Path

from bench import check
from server import SSHD, STARTUP_SECONDS

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

    @staticmethod
    def wait():
        """Until it answers; a reload closes the socket for a moment."""
        time.sleep(0.05)
        deadline = time.monotonic() + STARTUP_SECONDS
        while subprocess.run(["ssh-keyscan", "-T", "1", "-t", "ed25519", "127.0.0.1"], capture_output=True,
                             check=False).stdout == b"":
            check(time.monotonic() < deadline, "the stock sshd does not answer")

    @staticmethod
    def stop():
        if not PID_FILE.exists():
            return
        pid = int(PID_FILE.read_text(encoding="ascii"))
        os.kill(pid, 15)
        while Path(f"/proc/{pid}").exists():
            time.sleep(0.005)
