# SPDX-License-Identifier: ISC
"""Reads sshd's logs a second time, and writes random ones, for the tests of keyveto audit --logins."""

import contextlib
import gzip
import json
import lzma
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

UTC = timezone.utc
JOURNALCTL = Path("/usr/bin/journalctl")
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
ESCAPES = {"n": 10, "r": 13, "b": 8, "a": 7, "v": 11, "t": 9, "f": 12, "0": 0}

CLOCK = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d):(?P<second>[0-5]\d|60)"
HEADER = re.compile(
    rf"(?:(?P<name>{'|'.join(MONTHS)}) (?P<mday> [1-9]|[0-3]\d) {CLOCK}"
    rf"|(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)[T ]{CLOCK.replace('P<', 'P<d')}"
    r"(?:[.,]\d*)?(?P<offset>[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?)"
    r" (?P<rest>.*)", re.DOTALL | re.ASCII)
PROGRAM = re.compile(r"[^ ]+ sshd(?:-session)?(?:\[\d*\])?: (?P<message>.*)", re.DOTALL | re.ASCII)

SHA = r"SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]"
MD5 = r"MD5:[0-9a-f:]{47}"
PRINT = rf"(?:{SHA}|{MD5})"
KIND = r"[A-Z0-9-]{1,40}"
ORIGIN = (r" from (?P<addr>[0-9A-Za-z.:%_-]{1,63}) port \d{1,5} ssh2: ")
ENDS = {"publickey": r"(?:, signature count = \d{1,10})?\Z", "hostbased": r'(?:\Z|, client user ".*)'}
CA = rf" \(serial \d{{1,20}}\) CA (?P<catype>{KIND}) (?P<ca>{PRINT})"


@dataclass
class Login:
    user: bytes
    addr: str
    key: str = None
    ca: str = None


def unescape(text):
    """Undoes strnvis. None if the text ends within an escape."""
    done, text = bytearray(), text.encode("latin-1")
    while text:
        octal = re.match(rb"\\([0-7]{3})", text)
        if octal:
            done.append(int(octal[1], 8) & 255)
            text = text[4:]
        elif text[:1] != b"\\":
            done += text[:1]
            text = text[1:]
        elif len(text) == 1:
            return None
        else:
            letter = text[1:2].decode("latin-1")
            done.append(ESCAPES.get(letter, text[1]))
            text = text[2:]
    return bytes(done)


def read_key(method, text, cut):
    """(key, CA) of the text after "ssh2: "; None if it is not of that form. MD5 counts as no fingerprint."""
    end = ENDS[method]
    plain = re.match(rf"(?P<kind>{KIND}) (?P<key>{PRINT}){end}", text, re.DOTALL)
    if plain and not plain["kind"][1:].endswith("-CERT"):
        return plain["key"], None
    signed = re.match(rf"[A-Z0-9-]{{1,35}}-CERT (?:(?P<key>{PRINT}) )?ID ", text)
    if signed is None:
        return None
    found = []
    if not cut:
        # Behind every " (serial ": publickey believes the last of these, hostbased the first that is whole.
        places = [m.start() for m in re.finditer(r"(?= \(serial )", text) if m.start() >= signed.end()]
        if method == "publickey":
            places = places[-1:]
        for place in places:
            match = re.match(CA + end, text[place:], re.DOTALL)
            if match and not match["catype"][1:].endswith("-CERT"):
                found.append(match["ca"])
    key, ca = signed["key"], found[0] if found else None
    return (key, ca) if key or ca else None


def read_message(message):
    """The Login of a message of sshd's, or None."""
    start = re.match(r"(?:Accepted|Partial) (publickey|hostbased) for ", message)
    if start is None:
        return None
    for place in (m.start() for m in re.finditer(r"(?= from )", message[start.end():])):
        origin = re.match(ORIGIN, message[start.end() + place:])
        keys = origin and read_key(start[1], message[start.end() + place + origin.end():], len(message) >= 500)
        if keys:
            name = unescape(message[start.end():start.end() + place])
            if not name or len(name) > 100 or b"\0" in name:
                return None
            key, ca = (one if one and one.startswith("SHA") else None for one in keys)
            return Login(name, origin["addr"], key, ca)
    return None


def unpacked(path):
    data = Path(path).read_bytes()
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    return lzma.decompress(data) if data.startswith(b"\xfd7zXZ\0") else data


def candidates(month, day, clock):
    for year in range(1971, 2100):
        try:
            yield datetime(year, month, day, *clock[:2], min(clock[2], 59), tzinfo=UTC)
        except ValueError:
            pass


def read_log(path):
    """[(seconds since 1970, Login)] of a text log, in its order. TZ is UTC.

    The time of a line without a year is found from the last line back: of all years the one that is nearest to the
    line behind it.
    """
    rows = []
    for line in unpacked(path).split(b"\n"):
        text = line.replace(b"\0", b" ").decode("latin-1")
        header = HEADER.fullmatch(text)
        if header is None or len(text) >= 16384:
            continue
        if header["name"]:
            month, day, year = MONTHS.index(header["name"]) + 1, int(header["mday"]), None
            clock = tuple(int(header[part]) for part in ("hour", "minute", "second"))
        else:
            year, month, day = (int(header[part]) for part in ("year", "month", "day"))
            clock = tuple(int(header[part]) for part in ("dhour", "dminute", "dsecond"))
            if year < 1970:
                continue
        try:
            datetime(year or 2000, month, day)
        except ValueError:
            continue
        program = PROGRAM.fullmatch(header["rest"])
        rows.append((year, month, day, clock, header["offset"], program and read_message(program["message"])))
    modified = datetime.fromtimestamp(int(Path(path).stat().st_mtime), UTC)
    return list(reversed(list(dated(reversed(rows), modified))))


def dated(rows, modified):
    behind = None
    for year, month, day, clock, offset, login in rows:
        if year:
            written = datetime(year, month, day, *clock[:2], 0, tzinfo=UTC)
            behind = written
            hours = 0 if not offset or offset in "Zz" else int(offset[:3]) * 60 + int(offset[0] + offset[-2:])
            time = written + timedelta(seconds=clock[2]) - timedelta(minutes=hours)
        else:
            days = list(candidates(month, day, clock))
            if behind is None:
                time = max(one for one in days if one <= modified + timedelta(days=1))
            else:
                time = min(days, key=lambda one: abs(one - behind))
            behind = time
            time += timedelta(seconds=clock[2] - min(clock[2], 59))
        if login:
            yield int(time.timestamp()), login


@dataclass
class Last:
    """What is told of a key and an account."""
    logins: int = 0
    last: int = None
    addrs: set = field(default_factory=set)

    def count(self, seconds, addr):
        self.logins += 1
        if self.last is None or seconds > self.last:
            self.last, self.addrs = seconds, set()
        if seconds == self.last:
            self.addrs.add(addr)


def summary(events):
    """{(fingerprint, account as bytes): Last} of [(seconds, Login)]."""
    found = {}
    for seconds, login in events:
        for key in {login.key, login.ca} - {None}:
            found.setdefault((key, login.user), Last()).count(seconds, login.addr)
    return found


@contextlib.contextmanager
def no_journal():
    """As on a machine without journald, or whose journal is not kept on disk."""
    kept = JOURNALCTL.with_name("journalctl.kept")
    JOURNALCTL.rename(kept)
    try:
        yield
    finally:
        kept.rename(JOURNALCTL)


@contextlib.contextmanager
def fake_journalctl(script):
    with no_journal():
        JOURNALCTL.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        JOURNALCTL.chmod(0o755)
        try:
            yield
        finally:
            JOURNALCTL.unlink()


def entry(message, when, **fields):
    """An entry of the journal, as journald writes one of sshd's."""
    entry_fields = {"MESSAGE": message, "_UID": "0", "SYSLOG_IDENTIFIER": "sshd", "_COMM": "sshd",
                    "_EXE": "/usr/sbin/sshd", "_TRANSPORT": "syslog",
                    "__REALTIME_TIMESTAMP": str(int(when.timestamp()) * 1000000 + 999999)}
    return json.dumps({name: value for name, value in (entry_fields | fields).items() if value is not None})
