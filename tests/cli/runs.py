# SPDX-License-Identifier: ISC
"""Runs keyveto check, spki and update, and parses their output."""

import os
import re
import subprocess
import sys
from typing import NamedTuple

import sshkey
from program import KEYVETO, attempt, equal

JSON_KEYS = ["file", "line", "verdict", "type", "bits", "fingerprint", "spki_sha256", "part", "comment", "filters",
             "lists", "source", "sources", "reason"]


class Run(NamedTuple):
    """How keyveto ended."""
    out: bytes
    err: bytes
    status: int

    @property
    def lines(self):
        return self.out.decode("ascii").splitlines()

    @property
    def warnings(self):
        """The warnings about filters that a login would not trust. Filters that root does not own are such."""
        return [line for line in self.err.decode("ascii").splitlines() if line.startswith("keyveto: warning: ")]

    @property
    def messages(self):
        """The lines on standard error that are no such warnings."""
        return [line for line in self.err.decode("ascii").splitlines() if not line.startswith("keyveto: warning: ")]

    @property
    def problems(self):
        """The messages, without "keyveto: " and without the summary."""
        lines = [line.removeprefix("keyveto: ") for line in self.messages]
        return [line for line in lines if not re.match(r"\d+ keys? in ", line)]

    @property
    def said(self):
        return "\n".join(self.messages)

    @property
    def trouble(self):
        return "\n".join(self.problems)

    @property
    def summary(self):
        """The counts in the summary, by name: keys, files, listed, clean..."""
        last = self.messages[-1]
        match = re.fullmatch(r"keyveto: (\d+) keys? in (\d+) files?: (\d+) listed, (\d+) clean"
                             r"(?:, (\d+) allowed)?(?:, (\d+) of a type unknown here)?(?:, (\d+) problems?)?", last)
        assert match, f"no summary: {last!r}"
        names = ("keys", "files", "listed", "clean", "allowed", "unknown", "problems")
        return {name: int(count or 0) for name, count in zip(names, match.groups())}


def run(*words, status=None, stdin=b"", **options):
    """Runs keyveto with arguments (str, bytes, Path, int). Fails if it prints a raw control character."""
    argv = (KEYVETO, *words)
    try:
        done = attempt(*argv, text=False, input=stdin, **options)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"keyveto {words} hangs") from None
    result = Run(done.stdout, done.stderr, done.returncode)
    if status is not None:
        equal(result.status, status, f"status of {argv}\n{result.out[-2000:]!r}\n{result.err[-2000:]!r}")
    assert result.status in (0, 1, 2), f"status {result.status} of {argv}: {result.err[-2000:]!r}"
    if "--json" not in words and "--der" not in words:
        nothing_raw(result.out)
    nothing_raw(result.err)
    return result


def nothing_raw(text):
    raw = sorted(set(text) - {10, *range(32, 127)})
    assert not raw, f"raw bytes {bytes(raw)!r} in {text[:2000]!r}"


def tool(*words, text=False, **options):
    """Standard output of another program, which must succeed."""
    done = attempt(*words, text=text, **options)
    assert done.returncode == 0, f"{words} failed: {done.stderr}"
    return done.stdout


SPAWN = """
import os, sys
pid = os.fork() or os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
sys.stderr.write(f"\\n{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss}")
"""


def peak_of(*words, statuses=(0,), **options):
    """The memory that a command needs at its peak, in KiB, and its standard output.

    The kernel starts a child's count at the memory of its parent, so a small process starts it.
    """
    done = attempt(sys.executable, "-ISc", SPAWN, *words, text=False, **options)
    status, peak = map(int, done.stderr.rpartition(b"\n")[2].split())
    assert status in statuses, done.stderr
    return peak, done.stdout


def as_nobody(*words):
    """The arguments that run a command as somebody without privileges."""
    if os.geteuid() != 0:
        return list(words)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words]


class Found(NamedTuple):
    """A finding: the parts of its line."""
    line: int
    verdict: str
    type: str
    bits: int
    fingerprint: str
    rest: str           # comment, (CA), [filters], (reason)


def findings(result, path):
    """The findings in a run's output. Fails if one is in another file."""
    pattern = re.compile(rf"{re.escape(str(path))}:(\d+): (\w+): (\S+) (\d+) (SHA256:\S{{43}}|-)(?: (.*))?")
    found = []
    for line in result.lines:
        match = pattern.fullmatch(line)
        assert match, f"odd line {line!r}"
        number, verdict, kind, bits, fingerprint, rest = match.groups()
        found.append(Found(int(number), verdict, kind, int(bits), fingerprint, rest or ""))
    return found


def problems(result, path):
    """(line, reason) of each message. Fails if one is about another file."""
    found = []
    for message in result.problems:
        match = re.fullmatch(rf"{re.escape(str(path))}:(\d+): (.+)", message)
        assert match, f"odd message {message!r}"
        found.append((int(match[1]), match[2]))
    return found


def ssh_keygen_reads(data):
    """(bits, fingerprint) that ssh-keygen -l sees in the line, or None."""
    done = attempt("ssh-keygen", "-l", "-f", "-", text=False, input=data)
    match = re.match(rb"(\d+) (SHA256:\S+)", done.stdout)
    return (int(match[1]), match[2].decode()) if match and done.returncode == 0 else None


def oracle_reads(line):
    """The oracle's key in a line of bytes, or None."""
    try:
        return sshkey.parse_line(line)
    except sshkey.BadKey:
        return None
