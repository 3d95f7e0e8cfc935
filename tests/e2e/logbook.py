# SPDX-License-Identifier: ISC
"""Receives what programs write to syslog, on /dev/log."""

import os
import re
import socket
import threading
import time
from dataclasses import dataclass, field

from patience import PATIENCE

AUTHPRIV, LOCAL3 = 10, 19
ERR, WARNING, NOTICE, DEBUG = 3, 4, 5, 7

_WORD = r'(?:[A-Za-z0-9._:/@+=,-]+|"[\x20\x21\x23-\x7e]*")'
# The pairs of a decision's line, in their order.
_PAIRS = (
    ("verdict", "(?:listed|allowed|unsupported|error)", True),
    ("action", "(?:deny|warn|allow)", True),
    ("user", _WORD, False),         # missing if the guard's usage is wrong
    ("rhost", _WORD, False),
    ("via", _WORD, True),
    ("key_type", _WORD, False),
    ("key_fp", r"SHA256:[A-Za-z0-9+/]{43}", False),
    ("part", "(?:key|ca)", False),
    ("authorized", "(?:yes|no)", False),
    ("filter", _WORD, False),
    ("revision", "[0-9]+", False),
    ("list", _WORD, False),
    ("source", _WORD, False),
    ("reason", _WORD, False),
    ("disconnected", "yes", False),
)


def _pattern():
    parts = []
    for name, value, required in _PAIRS:
        lead = "" if not parts else " "
        pair = f"{lead}{name}=(?P<{name}>{value})"
        parts.append(pair if required else f"(?:{pair})?")
    return re.compile("".join(parts) + "$")


DECISION = _pattern()


@dataclass
class Line:
    """A datagram to syslog: its facility, its severity, its text."""
    facility: int
    severity: int
    text: str


def line_of(data):
    """The line of a datagram."""
    priority, _, text = data.rstrip(b"\n\0").decode("utf-8", "backslashreplace").partition(">")
    number = int(priority.lstrip("<") or 0)
    return Line(number >> 3, number & 7, text)


@dataclass
class Decision:
    """keyveto's line about a decision, parsed."""
    line: Line
    pairs: dict = field(default_factory=dict)

    def __getattr__(self, name):
        """A pair's value without its quotes, or None if the pair is missing."""
        if name not in DECISION.groupindex:
            raise AttributeError(name)
        value = self.pairs.get(name)
        return value.strip('"') if value else value


class Malformed(AssertionError):
    """A line with a verdict that does not have the form of a log line."""


def read_decision(line):
    """The decision in a line, or None if the line is about something else."""
    start = line.text.find("verdict=")
    if start < 0:
        return None
    match = DECISION.match(line.text, start)
    if match is None:
        raise Malformed(f"not the form of a log line: {line.text!r}")
    return Decision(line, match.groupdict())


class Syslog:
    """A syslog daemon. take(line) does something with each line."""

    def __init__(self, path="/dev/log"):
        self.path = path
        self._arrived = threading.Condition()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        os.chmod(path, 0o666)
        threading.Thread(target=self._collect, daemon=True).start()

    def close(self):
        os.unlink(self.path)

    def _collect(self):
        while True:
            line = line_of(self._socket.recv(1 << 18))
            with self._arrived:
                self.take(line)
                self._arrived.notify_all()

    def send_mark(self):
        """Sends a line of our own, and returns it. The socket is a queue: what was sent before comes before it."""
        mark = f"mark {time.monotonic_ns()} {threading.get_ident()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(f"<15>{mark}".encode(), self.path)
        return mark


class Logbook(Syslog):
    """Every line since it started, in order."""

    def __init__(self, path="/dev/log"):
        self._lines = []
        super().__init__(path)

    def take(self, line):
        self._lines.append(line)

    def flush(self):
        """Returns when everything that was sent before this call has been received."""
        mark = self.send_mark()
        self.wait(lambda line: line.text == mark, f"our own line {mark!r}")

    def wait(self, wanted, what, seconds=PATIENCE):
        """The first line for which wanted(line) holds. Waits for it."""
        deadline = time.monotonic() + seconds
        seen = 0
        with self._arrived:
            while True:
                for line in self._lines[seen:]:
                    if wanted(line):
                        return line
                seen = len(self._lines)
                if not self._arrived.wait(deadline - time.monotonic()):
                    raise AssertionError(f"no log line within {seconds} s: {what}")

    def about(self, name):
        """The lines so far that contain this name."""
        self.flush()
        with self._arrived:
            return [line for line in self._lines if name in line.text]

    def decisions(self, account):
        """keyveto's decisions about an account so far."""
        found = [read_decision(line) for line in self.about(account.name)]
        return [decision for decision in found if decision and decision.user == account.name]

    def expect(self, account, **pairs):
        """Asserts that a decision about the account has these pairs."""
        found = self.decisions(account)
        if not any(all(getattr(one, name) == value for name, value in pairs.items()) for one in found):
            raise AssertionError(f"no decision with {pairs} in {found}")
