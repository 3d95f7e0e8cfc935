# SPDX-License-Identifier: ISC
"""A program on a terminal of its own."""

import contextlib
import os
import pty
import select
import time

from patience import PATIENCE


def read_to_end(fd):
    """What is shown on a terminal until nobody has its other end open. Closes this one."""
    shown = b""
    with contextlib.suppress(OSError):      # EIO, when the other end is closed
        while data := os.read(fd, 65536):
            shown += data
    os.close(fd)
    return shown


class Terminal:
    """text is what it has shown so far."""

    def __init__(self, *argv, cwd=".", env=None):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(argv[0], list(map(str, argv)), os.environ if env is None else env)

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, wanted):
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.text:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {wanted!r} in\n{self.text}"
            self.text += os.read(self.fd, 4096).decode(errors="replace")

    def end(self):
        """The status of a program that ends by itself."""
        self.text += read_to_end(self.fd).decode(errors="replace")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self):
        """Hangs up."""
        os.close(self.fd)
        os.waitpid(self.pid, 0)
