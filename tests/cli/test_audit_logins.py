# SPDX-License-Identifier: ISC
"""keyveto audit --logins: when each listed key last came in, by text logs and by the journal."""

import base64
import bz2
import contextlib
import gzip
import json
import lzma
import os
import random
import shutil
import subprocess
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import keys
import sshd_logs
import weak_keys
from audit_machine import row_of
from config_machine import day
from logbook import Logbook
from openssh import without_penalties
from program import ADDRESS_SANITIZER, KEYVETO, PATIENCE, SSHD, attempt, contains, equal, lacks, wait_until
from runs import peak_of, tool
from sshd_logs import JOURNALCTL, entry, fake_journalctl, no_journal

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

UTC = timezone.utc
DAY = timedelta(days=1)
JOURNALD = "/lib/systemd/systemd-journald"
NOBODY = 65534


@pytest.fixture(name="utc", autouse=True)
def fixture_utc(monkeypatch):
    """Lines without an offset are in the local time of the program: UTC, unless a test says otherwise."""
    monkeypatch.setenv("TZ", "UTC")


def fingerprint(number):
    """That of a key that nobody has."""
    digest = random.Random(number).randbytes(32)
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def denied(folder, *fingerprints):
    """A keyveto.conf that denies these keys."""
    path = folder / "deny.conf"
    path.write_text("".join(f"DenyKey {one}\n" for one in fingerprints), encoding="ascii")
    return path


def write_log(path, *lines, at=None, pack=None):
    """A text log. at is when it was written last; pack is gzip.compress or the like."""
    data = b"".join((line if isinstance(line, bytes) else line.encode()) + b"\n" for line in lines)
    path.write_bytes(pack(data) if pack else data)
    if at is not None:
        os.utime(path, (at.timestamp(), at.timestamp()))
    return path


def accepted(user, key, *, addr="192.0.2.7", kind="ED25519"):
    return f"Accepted publickey for {user} from {addr} port 50022 ssh2: {kind} {key}"


def line_of(when, message, program="sshd[4242]"):
    """A line with RFC 3339's time."""
    return f"{when.strftime('%Y-%m-%dT%H:%M:%S.%f%z')[:-2]}:00 host {program}: {message}"


def old_line(when, message, program="sshd[4242]"):
    """A line with syslog's traditional time, which has no year."""
    return f"{sshd_logs.MONTHS[when.month - 1]} {when.day:2} {when.strftime('%H:%M:%S')} host {program}: {message}"


def told(world, *arguments, **options):
    """The objects of --json with "login": true, and standard error."""
    done = world.audit("--json", *arguments, **options)
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    return [one for one in objects if one.get("login")], done.stderr


def summary(objects):
    """As sshd_logs.summary, of keyveto's objects that have a login."""
    return {(one["fingerprint"], one["account"]): (one["logins"], one["last_seconds"], one["from"])
            for one in objects if one["logins"]}


def expected(*paths):
    """The same of logs, by the reader in Python. A set has the addresses of logins at the same second."""
    found = sshd_logs.summary([event for path in paths for event in sshd_logs.read_log(path)])
    return {(key, user.decode()): (one.logins, one.last, one.addrs) for (key, user), one in found.items()}


def agree(seen, wanted):
    equal(sorted(seen), sorted(wanted))
    for key, (logins, last, addr) in seen.items():
        equal((key, logins, last), (key, *wanted[key][:2]))
        assert addr in wanted[key][2], (key, addr, wanted[key])


# What is told

NOW = datetime(2026, 11, 23, 13, 20, tzinfo=UTC)


def test_each_listed_key_is_told_with_its_account_time_address_and_number(world):
    alice, bob = world.account("alice"), world.account("bob")
    alice.authorize(world.bad, world.clean)
    bob.authorize(world.bad)
    log = write_log(world.folder / "log",
                    line_of(NOW - 2 * DAY, accepted("alice", world.bad.fingerprint)),
                    line_of(NOW - DAY, accepted("alice", world.bad.fingerprint, addr="2001:db8::7")),
                    line_of(NOW - DAY, accepted("alice", world.clean.fingerprint)),
                    line_of(NOW - 3 * DAY, accepted("alice", world.bad.fingerprint)))
    rows, err = told(world, "--logins", log, status=1)
    equal(rows, [
        {"login": True, "account": "alice", "fingerprint": world.bad.fingerprint, "type": "ED25519",
         "verdict": "listed", "last_seconds": int((NOW - DAY).timestamp()), "last": "2026-11-22T13:20:00Z",
         "from": "2001:db8::7", "logins": 3, "log": str(log), "method": "publickey", "in_file": True, "ca": False,
         "refused": 0, "connected": []},
        {"login": True, "account": "bob", "fingerprint": world.bad.fingerprint, "type": "ED25519",
         "verdict": "listed", "last_seconds": None, "last": None, "from": None, "logins": 0, "log": None,
         "method": None, "in_file": True, "ca": False, "refused": 0, "connected": []}])
    contains(err, f"keyveto: logins: 3 with these keys since 2026-11-20T13:20:00Z, in {log}\n")
    done = world.audit("--logins", log, status=1)
    contains(done.stdout,
             f"\nalice: listed: ED25519 {world.bad.fingerprint}: 3 logins, the last 2026-11-22T13:20:00Z "
             "from 2001:db8::7\n",
             f"\nbob: listed: ED25519 {world.bad.fingerprint}: no login\n")
    lacks(done.stdout, world.clean.fingerprint)
    equal(row_of(done.stdout, "alice")[2], 1)


def test_with_all_every_key_is_told(world):
    world.account("alice").authorize(world.bad, world.clean)
    log = write_log(world.folder / "log", line_of(NOW, accepted("alice", world.clean.fingerprint)))
    rows, _ = told(world, "--all", "--logins", log, status=1)
    rows = {one["fingerprint"]: one for one in rows if one["account"] == "alice"}
    equal((rows[world.clean.fingerprint]["logins"], rows[world.clean.fingerprint]["verdict"]), (1, "clean"))
    equal((rows[world.bad.fingerprint]["logins"], rows[world.bad.fingerprint]["verdict"]), (0, "listed"))


def test_the_objects_stand_between_the_keys_and_the_summaries(world):
    world.account("alice").authorize(world.bad)
    done = world.audit("--json", "--logins", write_log(world.folder / "log"), status=1)
    kinds = [("login" if one.get("login") else "summary" if one.get("summary") else "key")
             for one in map(json.loads, done.stdout.splitlines()) if "account" in one or one.get("summary")]
    equal(kinds[:2], ["key", "login"])
    equal(set(kinds[2:]), {"summary"})


def test_an_account_whose_files_do_not_have_the_key_is_told_as_well(world):
    """Another command than the files may have let it in, or its file had the key before."""
    world.account("alice").authorize(world.bad)
    world.account("bob").authorize(world.clean)
    log = write_log(world.folder / "log", line_of(NOW, accepted("bob", world.bad.fingerprint)))
    rows, _ = told(world, "--logins", log, status=1)
    equal([(one["account"], one["logins"], one["in_file"]) for one in rows], [("bob", 1, False), ("alice", 0, True)])
    contains(world.audit("--logins", log, status=1).stdout,
             f"bob: listed: ED25519 {world.bad.fingerprint}: in no file of this account: 1 login")


@pytest.mark.parametrize("words", [["--logins", "{}"], ["--logins={}"], ["{}", "--logins"], ["--logins", "--", "{}"]],
                         ids=["operand", "value", "before", "dashes"])
def test_a_log_is_an_operand_or_the_value(world, words):
    world.account("alice").authorize(world.bad)
    log = write_log(world.folder / "log", line_of(NOW, accepted("alice", world.bad.fingerprint)))
    rows, _ = told(world, *[word.format(log) for word in words], status=1)
    equal([one["logins"] for one in rows], [1])


def test_several_logs_are_read_and_each_file_once(world):
    world.account("alice").authorize(world.bad)
    one = write_log(world.folder / "one", line_of(NOW - DAY, accepted("alice", world.bad.fingerprint)))
    two = write_log(world.folder / "two", line_of(NOW - 2 * DAY, accepted("alice", world.bad.fingerprint, addr="::1")))
    (world.folder / "again").symlink_to(one)
    rows, err = told(world, f"--logins={one}", two, f"--logins={world.folder / 'again'}", two, status=1)
    equal([(row["logins"], row["from"], row["log"]) for row in rows], [(2, "192.0.2.7", str(one))])
    contains(err, f"in {one} and others")


def test_standard_input_is_a_log(world):
    world.account("alice").authorize(world.bad)
    text = line_of(NOW, accepted("alice", world.bad.fingerprint))
    rows, _ = told(world, "--logins", "-", input=text, status=1)
    equal([(row["logins"], row["log"]) for row in rows], [(1, "-")])


def test_usage(world):
    contains(world.audit("alice", status=2).stderr, "audit takes no argument alice")


def test_quiet_prints_nothing_and_the_status_tells(world):
    world.account("alice").authorize(world.clean)
    log = write_log(world.folder / "log", line_of(NOW, accepted("alice", world.clean.fingerprint)))
    done = world.audit("--quiet", "--logins", log, status=0)
    equal(done.stdout + done.stderr, "")
    contains(world.audit("--quiet", "--logins", world.folder / "none", status=2).stderr, "cannot be read")


def test_a_log_that_cannot_be_read_is_a_problem(world):
    world.account("alice").authorize(world.clean)
    missing, cut = world.folder / "missing", world.folder / "cut.gz"
    cut.write_bytes(gzip.compress(random.Random(1).randbytes(99999))[:2000])
    packed = write_log(world.folder / "log.bz2", "x", pack=bz2.compress)
    done = world.audit("--json", "--logins", missing, cut, packed, status=2)
    contains(done.stderr, f"keyveto: {missing}: cannot be read: No such file or directory",
             f"keyveto: {cut}: its gzip data is cut short", f"keyveto: {packed}: packed in a form",
             "no line of a log that was read tells when it was written")
    equal([one["file"] for one in map(json.loads, done.stdout.splitlines()) if one.get("verdict") == "error"],
          [str(missing), str(cut), str(packed)])


@pytest.mark.long
def test_a_key_that_the_tests_find_has_one_row_for_each_account(world):
    """It is judged a second time, behind all accounts, when --all has noted it."""
    _, weak = weak_keys.weak()[0]
    for name in ("alice", "bob"):
        world.account(name).authorize(weak.line)
    log = write_log(world.folder / "log", line_of(NOW, accepted("bob", weak.fingerprint, kind="RSA")))
    rows, _ = told(world, "--all", "--logins", log, status=1)
    equal([(one["account"], one["verdict"], one["logins"]) for one in rows if one["type"] == "RSA" and one["in_file"]],
          [("bob", "listed", 1), ("alice", "listed", 0)])


# Keys that DenyKey has

def test_a_denied_key_is_told_in_a_file_or_not(world):
    """Once a file has it, its type is known, and it is told as any other."""
    log = write_log(world.folder / "log", line_of(NOW, accepted("alice", world.clean.fingerprint)))
    config = denied(world.folder, world.clean.fingerprint, fingerprint(1))
    for has, type_name, text in ((False, None, f"alice: listed: {world.clean.fingerprint}: in no file: 1 login"),
                                 (True, "ED25519", f"alice: listed: ED25519 {world.clean.fingerprint}: 1 login")):
        if has:
            world.account("alice").authorize(world.clean)
        rows, _ = told(world, "--logins", log, "--config", config, status=int(has))
        equal([(one["account"], one["fingerprint"], one["type"], one["verdict"], one["in_file"], one["logins"])
               for one in rows], [("alice", world.clean.fingerprint, type_name, "listed", has, 1)])
        contains(world.audit("--logins", log, "--config", config, status=int(has)).stdout, text)


def test_a_key_that_is_denied_some_day_is_not_denied_yet(world):
    log = write_log(world.folder / "log", line_of(NOW, accepted("alice", fingerprint(1))))
    config = denied(world.folder, f"{fingerprint(1)} since={day(1)}")
    equal(told(world, "--logins", log, "--config", config, status=0)[0], [])
    config.write_text(f"DenyKey {fingerprint(1)} since={day()}\n", encoding="ascii")
    equal([one["logins"] for one in told(world, "--logins", log, "--config", config, status=0)[0]], [1])


# Times

def truth(rng, first, last, numbers, *, step=timedelta(days=12), old=True, dated=True):
    """A random log from first to last: its lines, and what they tell.

    Some clocks go back a little. old and dated: which forms of time.
    """
    when, lines, events = first, [], []
    while when < last:
        if rng.random() < 0.05:
            when -= timedelta(minutes=rng.randrange(90))
        key, user = fingerprint(rng.choice(numbers)), rng.choice(("alice", "bob", "carol"))
        addr = rng.choice(("192.0.2.1", "2001:db8::1", "fe80::1%eth0", "UNKNOWN"))
        message = accepted(user, key, addr=addr)
        form = old_line if old and (not dated or rng.random() < 0.5) else line_of
        if rng.random() < 0.7:
            lines.append(form(when, message, rng.choice(("sshd[1]", "sshd-session[99]", "sshd"))))
            events.append((int(when.timestamp()), sshd_logs.Login(user.encode(), addr, key)))
        else:
            lines.append(form(when, "session opened for user root", "CRON[7]"))
        when += rng.random() ** 3 * step
    return lines, events


@pytest.mark.long
@pytest.mark.parametrize("forms", [{}, {"dated": False}, {"old": False}], ids=["mixed", "traditional", "rfc3339"])
def test_times_of_random_logs_over_years(world, forms):
    """The years come from the date of the file, through the turns of years and leap days, also when packed."""
    config = denied(world.folder, *map(fingerprint, range(6)))
    for seed in range(12):
        rng = random.Random(seed)
        first = datetime(rng.randrange(2009, 2026), rng.randrange(1, 13), rng.randrange(1, 29), 12, tzinfo=UTC)
        last = first + timedelta(days=rng.randrange(3, 1500))
        lines, events = truth(rng, first, last, range(6), **forms)
        times = [seconds for seconds, _ in events] or [0]
        at = datetime.fromtimestamp(max(times) + rng.choice((0, 60, 86400 * 25)), UTC)
        if forms != {"old": False} and lines and "CRON" in lines[-1]:
            lines.append(line_of(at, "x", "CRON[1]") if forms == {} else old_line(at, "x", "CRON[1]"))
        log = write_log(world.folder / f"log{seed}", *lines, at=at,
                        pack=rng.choice((None, gzip.compress, lzma.compress)))
        rows, _ = told(world, "--logins", log, "--config", config, status=0)
        agree(summary(rows), expected(log))
        wanted = sshd_logs.summary(events)
        agree(summary(rows), {(key, user.decode()): (one.logins, one.last, one.addrs)
                              for (key, user), one in wanted.items()})


@pytest.mark.parametrize("stamp, modified, wanted", [
    ("Dec 31 23:59:59", datetime(2026, 1, 1, tzinfo=UTC), datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ("Jan  1 00:00:00", datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
    ("Feb 29 12:00:00", datetime(2024, 2, 29, 12, tzinfo=UTC), datetime(2024, 2, 29, 12, tzinfo=UTC)),
    ("Feb 29 12:00:00", datetime(2027, 1, 1, tzinfo=UTC), datetime(2024, 2, 29, 12, tzinfo=UTC)),
    ("Feb 29 12:00:00", datetime(2103, 1, 1, tzinfo=UTC), datetime(2096, 2, 29, 12, tzinfo=UTC)),
    ("Nov 23 23:00:00", datetime(2026, 11, 23, 13, tzinfo=UTC), datetime(2026, 11, 23, 23, tzinfo=UTC)),
    ("Nov 25 23:00:00", datetime(2026, 11, 23, 13, tzinfo=UTC), datetime(2025, 11, 25, 23, tzinfo=UTC)),
], ids=["new year's eve", "new year", "leap day", "old leap day", "a century without", "a zone ahead", "last year"])
def test_the_year_of_a_line_is_the_last_one_before_the_file_was_written(world, stamp, modified, wanted):
    config = denied(world.folder, fingerprint(1))
    log = write_log(world.folder / "log", f"{stamp} host sshd[1]: {accepted('alice', fingerprint(1))}", at=modified)
    rows, err = told(world, "--logins", log, "--config", config, status=0)
    equal([one["last_seconds"] for one in rows], [int(wanted.timestamp())])
    contains(err, f"since {wanted.strftime('%Y-%m-%dT%H:%M:%SZ')}")


def test_lines_out_of_order_at_new_year_keep_their_years(world):
    """A line that is a second late does not take the lines before it into another year."""
    config = denied(world.folder, *map(fingerprint, range(5)))
    stamps = ("Dec 31 23:59:59", "Jan  1 00:00:00", "Dec 31 23:59:59", "Jan  1 00:00:01", "Jan  2 00:00:00")
    log = write_log(world.folder / "log",
                    *(f"{stamp} host sshd[1]: {accepted('alice', fingerprint(n))}" for n, stamp in enumerate(stamps)),
                    at=datetime(2026, 1, 3, tzinfo=UTC))
    rows, _ = told(world, "--logins", log, "--config", config, status=0)
    years = {one["fingerprint"]: one["last"][:4] for one in rows}
    equal([years[fingerprint(n)] for n in range(5)], ["2025", "2026", "2025", "2026", "2026"])


def test_a_clock_that_was_wrong_gives_no_login_in_the_future(world):
    """A machine without a battery starts in February; then its clock is set."""
    config = denied(world.folder, *map(fingerprint, range(3)))
    stamps = ("Nov 20 10:00:00", "Feb 14 10:12:00", "Nov 23 10:00:00")
    log = write_log(world.folder / "log",
                    *(f"{stamp} host sshd[1]: {accepted('alice', fingerprint(n))}" for n, stamp in enumerate(stamps)),
                    at=datetime(2026, 11, 23, 10, tzinfo=UTC))
    rows, _ = told(world, "--logins", log, "--config", config, status=0)
    last = {one["fingerprint"]: one["last"] for one in rows}
    equal([last[fingerprint(n)][:10] for n in range(3)], ["2026-11-20", "2026-02-14", "2026-11-23"])


def test_local_time_and_offsets(world, monkeypatch):
    """Traditional lines are in local time, in summer, too; others say their offset."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    config = denied(world.folder, *map(fingerprint, range(6)))
    stamps = ("Jul  1 12:00:00", "Nov 20 12:00:00", "2026-11-20T12:00:00.5+05:30", "2026-11-20T12:00:00-0800",
              "2026-11-20 12:00:00", "2026-07-01T12:00:00Z")
    log = write_log(world.folder / "log",
                    *(f"{stamp} host sshd[1]: {accepted('alice', fingerprint(n))}" for n, stamp in enumerate(stamps)),
                    at=NOW)
    rows, _ = told(world, "--logins", log, "--config", config, status=0)
    last = {one["fingerprint"]: one["last"] for one in rows}
    equal([last[fingerprint(n)] for n in range(6)],
          ["2026-07-01T10:00:00Z", "2026-11-20T11:00:00Z", "2026-11-20T06:30:00Z", "2026-11-20T20:00:00Z",
           "2026-11-20T11:00:00Z", "2026-07-01T12:00:00Z"])


def test_local_time_is_that_of_the_machine_without_tz(world, monkeypatch):
    """The process that reads logs cannot open /etc/localtime any more, and has no TZ of its own."""
    monkeypatch.delenv("TZ")
    config = denied(world.folder, fingerprint(1))
    log = write_log(world.folder / "log", f"Jul  1 12:00:00 host sshd[1]: {accepted('alice', fingerprint(1))}", at=NOW)
    local = Path("/etc/localtime")
    kept = local.readlink() if local.is_symlink() else None
    local.unlink(missing_ok=True)
    local.symlink_to("/usr/share/zoneinfo/Europe/Berlin")
    try:
        rows, _ = told(world, "--logins", log, "--config", config, status=0)
    finally:
        local.unlink()
        if kept is not None:
            local.symlink_to(kept)
    equal([one["last"] for one in rows], ["2026-07-01T10:00:00Z"])


def test_lines_without_a_year_from_a_pipe_are_a_problem(world):
    """But only if one is about a key that is looked for."""
    config = denied(world.folder, fingerprint(1))
    text = old_line(NOW, accepted("alice", fingerprint(1)))
    done = world.audit("--logins", "-", "--config", config, input=text, status=2)
    contains(done.stderr, "keyveto: -: its lines have no year, and a pipe has no date: name the file itself")
    world.audit("--logins", "-", "--config", config, input=old_line(NOW, accepted("alice", fingerprint(2))), status=0)


@pytest.mark.parametrize("stamp", [
    "Nov 31 12:00:00", "Feb 30 12:00:00", "Nov 00 12:00:00", "Nov  0 12:00:00", "Nov 3 12:00:00", "nov 20 12:00:00",
    "Nov 20 24:00:00", "Nov 20 12:60:00", "Nov 20 12:00:61", "Nov 20 12:00", "2026-02-29T12:00:00Z",
    "2026-13-01T12:00:00Z", "1969-12-31T12:00:00Z", "2026-11-20T12:00:00+24:00", "2026-11-20T12:00:00+1",
    "20261120T120000Z", " Nov 20 12:00:00", "", "<38>Nov 20 12:00:00"])
def test_a_line_without_a_valid_time_is_no_line(world, stamp):
    config = denied(world.folder, fingerprint(1))
    log = write_log(world.folder / "log", f"{stamp} host sshd[1]: {accepted('alice', fingerprint(1))}", at=NOW)
    rows, err = told(world, "--logins", log, "--config", config, status=0)
    equal(rows, [])
    contains(err, "no line of a log that was read tells when")


# Hostile lines

KEY, OTHER, AUTHORITY = (fingerprint(n) for n in (1, 2, 3))
AT = "2026-11-20T12:00:00Z host"
CERT, SIGNED = "ED25519-CERT", f" (serial 7) CA ED25519 {OTHER}"


def logins_of(world, *lines, looked_for=(KEY, OTHER, AUTHORITY), status=0):
    """{(fingerprint, account): number} of the lines of a text log."""
    log = write_log(world.folder / "log", *lines)
    rows, err = told(world, "--logins", log, "--config", denied(world.folder, *looked_for), status=status)
    return {(one["fingerprint"], one["account"]): one["logins"] for one in rows}, err


@pytest.mark.sample(7)
@pytest.mark.parametrize("line", [
    f"{AT} sshd[1]: Failed publickey for invalid user x from 192.0.2.1 port 1 ssh2: ED25519 {KEY}",
    f"{AT} sshd[1]: Failed publickey for root from 192.0.2.1 port 1 ssh2: ED25519 {KEY}",
    f"{AT} sshd[1]: Failed password for invalid user Accepted publickey for root from 192.0.2.1 port 1 ssh2: "
    f"ED25519 {KEY} from 192.0.2.1 port 9 ssh2",
    f"{AT} sshd[1]: Invalid user {accepted('root', KEY)} from 192.0.2.1 port 1",
    f"{AT} sshd[1]: Invalid user x\\n{AT} sshd[1]: {accepted('root', KEY)}",
    f"{AT} sshd[1]: Invalid user x {AT} sshd[1]: {accepted('root', KEY)}",
    f"{AT} sshd[1]: {accepted('root', KEY)} [preauth]",
    f"{AT} sshd[1]: Postponed publickey for root from 192.0.2.1 port 1 ssh2: ED25519 {KEY}",
    f"{AT} sshd[1]: Accepted key ED25519 {KEY} found at /root/.ssh/authorized_keys:1",
    f"{AT} sshd[1]: debug1: {accepted('root', KEY)}",
    f"{AT} su[1]: {accepted('root', KEY)}",
    f"{AT} mysshd[1]: {accepted('root', KEY)}", f"{AT} sshd-other[1]: {accepted('root', KEY)}",
    f"{AT} sshd[x]: {accepted('root', KEY)}", f"{AT} sshd[1] {accepted('root', KEY)}",
    f"{AT} kernel: x sshd[1]: {accepted('root', KEY)}", f"sshd[1]: {accepted('root', KEY)}",
    f"{AT} sshd[1]: {accepted('', KEY)}", f"{AT} sshd[1]: {accepted('x' * 101, KEY)}",
    f"{AT} sshd[1]: {accepted('root', KEY, addr='192.0.2.1 x')}",
    f"{AT} sshd[1]: {accepted('root', KEY, addr='1' * 64)}",
    f"{AT} sshd[1]: {accepted('root', KEY[:-1])}", f"{AT} sshd[1]: {accepted('root', KEY + 'A')}",
    f"{AT} sshd[1]: {accepted('root', KEY, kind='ed25519')}",
    f"{AT} sshd[1]: Accepted publickey for root from 192.0.2.1 port 1 ssh1: ED25519 {KEY}",
    f"{AT} sshd[1]: Accepted publickey/x for root from 192.0.2.1 port 1 ssh2: ED25519 {KEY}",
    f"{AT} sshd[1]: Accepted password for root from 192.0.2.1 port 1 ssh2: ED25519 {KEY}",
    f"{AT} sshd[1]: Accepted publickey for invalid from 192.0.2.1 port 1 ssh2",
    f"{AT} sshd[1]: {accepted('root', KEY)}, signature count = x", f"{AT} sshd[1]: {accepted('root', KEY)}x",
    f"{AT} sshd[1]: {accepted('a', KEY)} {'x' * 20000}"], ids=range(31))
def test_a_line_of_another_kind_is_no_login(world, line):
    equal(logins_of(world, line)[0], {})


@pytest.mark.sample(5)
@pytest.mark.parametrize("line, wanted", [
    (f"sshd[1]: {accepted('alice', KEY)}", {(KEY, "alice"): 1}),
    (f"sshd: {accepted('alice', KEY)}", {(KEY, "alice"): 1}),
    (f"sshd-session[1]: {accepted('alice', KEY)}", {(KEY, "alice"): 1}),
    (f"sshd[1]: {accepted('alice', KEY)}, signature count = 17", {(KEY, "alice"): 1}),
    (f"sshd[1]: {accepted('alice', KEY, addr='UNKNOWN')}", {(KEY, "alice"): 1}),
    (f"sshd[1]: Partial{accepted('alice', KEY)[8:]}", {(KEY, "alice"): 1}),
    ("sshd[1]: " + accepted("DOM\\\\Jos\\303\\251 B.", KEY), {(KEY, "DOM\\Jos\u00e9 B."): 1}),
    (f"sshd[1]: {accepted('a from b port 1 ssh2: x', KEY)}", {(KEY, "a from b port 1 ssh2: x"): 1}),
    ("sshd[1]: " + accepted("a\\tb", KEY), {(KEY, "a\tb"): 1}),
    (f"sshd[1]: Accepted hostbased for alice from ::1 port 1 ssh2: RSA {KEY}, client user \"x\", client host \"y\"",
     {(KEY, "alice"): 1}),
    # A certificate: the key, and the CA behind the last "(serial ".
    (f"sshd[1]: {accepted('alice', KEY, kind=CERT)} ID x y (serial 7) CA RSA {AUTHORITY}",
     {(KEY, "alice"): 1, (AUTHORITY, "alice"): 1}),
    (f"sshd[1]: {accepted('alice', KEY, kind=CERT)} ID  (serial 18446744073709551615) CA RSA {AUTHORITY}",
     {(KEY, "alice"): 1, (AUTHORITY, "alice"): 1}),
    (f"sshd[1]: Accepted publickey for alice from ::1 port 1 ssh2: RSA-CERT ID x (serial 0) CA RSA {AUTHORITY}",
     {(AUTHORITY, "alice"): 1}),
    (f"sshd[1]: {accepted('alice', KEY, kind=CERT)} ID x (serial 7) CA RSA {OTHER} (serial 7) CA RSA {AUTHORITY}",
     {(KEY, "alice"): 1, (AUTHORITY, "alice"): 1}),
    # The ID is an account's own choice, if its file has a cert-authority line.
    (f"sshd[1]: {accepted('alice', KEY, kind=CERT)} ID x from ::1 port 1 ssh2: RSA {OTHER} (serial 7) CA RSA "
     f"{AUTHORITY}", {(KEY, "alice"): 1, (AUTHORITY, "alice"): 1}),
    (f"sshd[1]: {accepted('alice', KEY, kind=CERT)} ID x (serial 7) CA RSA {OTHER}, signature count = 1 (serial x",
     {(KEY, "alice"): 1}),
    # sshd cuts a message off after 500 bytes: what looks like the CA may be the ID.
    (f"sshd[1]: {(accepted('alice', KEY, kind=CERT) + ' ID ' + 'x' * 500)[:500 - len(SIGNED)]}{SIGNED}",
     {(KEY, "alice"): 1}),
    (f"sshd[1]: {(accepted('alice', KEY, kind=CERT) + ' ID ' + 'x' * 500)[:499 - len(SIGNED)]}{SIGNED}",
     {(KEY, "alice"): 1, (OTHER, "alice"): 1}),
    # The client of a trusted host chooses what stands behind the CA of hostbased, and the CA the ID before it.
    (f"sshd[1]: Accepted hostbased for alice from ::1 port 1 ssh2: {CERT} {KEY} ID x (serial 7) CA RSA {AUTHORITY}, "
     f"client user \"u (serial 7) CA RSA {OTHER}, client user \"", {(KEY, "alice"): 1}),
    (f"sshd[1]: Accepted hostbased for alice from ::1 port 1 ssh2: {CERT} {KEY} ID x (serial 7) CA RSA {AUTHORITY}, "
     f"client user \"u\", client host \"h\"", {(KEY, "alice"): 1, (AUTHORITY, "alice"): 1}),
    (f"sshd[1]: Accepted hostbased for alice from ::1 port 1 ssh2: RSA {KEY}, client user \"x from ::1 port 1 ssh2: "
     f"RSA {OTHER}\", client host \"y\"", {(KEY, "alice"): 1}),
    (f"sshd[1]: Accepted hostbased for alice from ::1 port 1 ssh2: RSA {KEY} (serial 7) CA RSA {OTHER}", {}),
    (f"\0\0sshd[1]: {accepted('alice', KEY)}", {}),
], ids=range(23))
def test_what_a_line_says(world, line, wanted):
    equal(logins_of(world, f"{AT} {line}")[0], wanted)


def test_nuls_before_a_line_and_lines_that_are_too_long_hide_no_other(world):
    line = f"{AT} sshd[1]: {accepted('alice', KEY)}"
    seen, _ = logins_of(world, "x" * 300000, line, "\0" * 99999, line, b"\xff\xfe\0\n" * 9, line, "\r", line + "\0x")
    equal(seen, {(KEY, "alice"): 3})


def test_md5_fingerprints_are_counted_in_a_note(world):
    seen, err = logins_of(world, f"{AT} sshd[1]: {accepted('alice', 'MD5:' + ':'.join(['0f'] * 16))}",
                          old_line(NOW, accepted("alice", "MD5:" + ":".join(["0e"] * 16))))
    equal(seen, {})
    contains(err, "note: 2 logins with an MD5 fingerprint (FingerprintHash of sshd_config); not counted")


def random_messages(rng, number):
    """Messages of sshd's, each about a key of its own, of which most are damaged a little."""
    tails = ("", ", signature count = 12", ", client user \"x\", client host \"y\"", " [preauth]")
    pieces = (" from ", "(serial 1) CA RSA ", " ID ", "\\", "\\012", " port ", "ssh2: ", "-CERT", "SHA256:", " ", ",",
              "MD5:" + "0:" * 24, '"', "Accepted ", "\x80", "x" * 450)
    for n in range(number):
        key, authority = fingerprint(2 * n), fingerprint(2 * n + 1)
        user = rng.choice(("alice", "a b", "\\303\\244", "a\\\\b", "x" * 100))
        text = accepted(user, key, addr=rng.choice(("192.0.2.1", "fe80::1%eth0")))
        if rng.random() < 0.5:
            own = "" if rng.random() < 0.2 else f"{key} "
            text = text.replace(f"ED25519 {key}", f"RSA-CERT {own}ID {rng.choice(('x', 'a (serial 1) CA RSA b', ''))} "
                                                  f"(serial {rng.randrange(9)}) CA ED25519 {authority}")
        text = text.replace("publickey", rng.choice(("publickey", "hostbased"))) + rng.choice(tails)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 5))):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice((*pieces, "", "")) + text[at + rng.choice((0, 0, 1, 1, 3)):]
        yield text


def test_random_damage_is_read_as_the_second_reader_reads_it(world):
    """Each line has keys of its own, so that each is compared by itself."""
    number = 4000
    config = denied(world.folder, *map(fingerprint, range(2 * number)))
    for seed in range(3):
        rng = random.Random(seed)
        lines = [line_of(NOW + timedelta(seconds=n), text).encode("latin-1")
                 for n, text in enumerate(random_messages(rng, number))]
        log = write_log(world.folder / "log", *lines)
        rows, _ = told(world, "--logins", log, "--config", config, status=0)
        wanted = sshd_logs.summary(sshd_logs.read_log(log))
        assert len(wanted) > number / 3, "hardly a line is a login"
        equal(sorted((one["fingerprint"], one["last_seconds"], one["from"]) for one in rows if one["logins"]),
              sorted((key, one.last, *one.addrs) for (key, _), one in wanted.items()))


def test_a_log_full_of_forged_accounts_costs_bounded_memory(world):
    """Any account can write such lines with logger(1). The accounts of the files are told all the same."""
    world.account("alice").authorize(world.bad)
    lines = [line_of(NOW - DAY, accepted("alice", world.bad.fingerprint))]
    lines += [line_of(NOW, accepted(f"forged-{n}-{'x' * 80}", world.bad.fingerprint)) for n in range(60000)]
    log = write_log(world.folder / "log", *lines, pack=gzip.compress)
    rows, err = told(world, "--logins", log, status=1)
    names = [one["account"] for one in rows]
    equal((len(names), rows[names.index("alice")]["logins"]), (1025, 1))
    assert names.count(f"forged-59999-{'x' * 80}") == 1
    contains(err, f"note: {60000 - 1024} logins of accounts beyond the first 1024")


@pytest.mark.skipif(ADDRESS_SANITIZER, reason="its memory is that of the sanitizer")
def test_memory_does_not_grow_with_the_log(world):
    world.account("alice").authorize(world.bad)
    base = (KEYVETO, "audit", "--filter", world.filter, "--logins")
    few = write_log(world.folder / "few", line_of(NOW, accepted("alice", world.bad.fingerprint)))
    line = line_of(NOW, accepted("alice", world.bad.fingerprint)) + "\n" + old_line(NOW, "x" * 5000) + "\n"
    many = world.folder / "many.gz"
    with gzip.open(many, "wb", compresslevel=1) as file:
        for _ in range(20):
            file.write(line.encode() * 1000)
    (peak, _), (least, _) = (peak_of(*base, log, statuses=(0, 1)) for log in (many, few))
    assert peak < least + 4096


# The logs of this machine

@pytest.fixture(name="var_log")
def fixture_var_log():
    """/var/log without sshd's logs, at the end, too."""
    def clear():
        for pattern in ("auth.log*", "secure*"):
            for path in Path("/var/log").glob(pattern):
                path.unlink()
    clear()
    yield Path("/var/log")
    clear()


def test_without_a_journal_the_text_logs_and_their_rotated_files_are_read(world, var_log):
    world.account("alice").authorize(world.bad)
    names = ("auth.log", "auth.log.1", "auth.log.2.gz", "auth.log.10.xz", "auth.log-20261101",
             "secure-20261101-1793.gz")
    others = ("auth.log.old", "auth.logx", "myauth.log", "auth.log.1.bak", "auth.log.d", "securetty", "secure.log")
    for n, name in enumerate(names + others):
        pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(name[-3:])
        write_log(var_log / name, line_of(NOW - n * DAY, accepted("alice", world.bad.fingerprint)), pack=pack)
    os.mkfifo(var_log / "auth.log.3")
    with no_journal():
        rows, err = told(world, "--logins", status=1)
        equal([(one["logins"], one["log"]) for one in rows], [(len(names), "/var/log/auth.log")])
        contains(err, f"since {(NOW - 5 * DAY).strftime('%Y-%m-%dT%H:%M:%SZ')}, in /var/log/auth.log and others")
        write_log(var_log / "auth.log.4.zst", "x", pack=lambda data: b"\x28\xb5\x2f\xfd" + data)
        contains(told(world, "--logins", status=1)[1], "/var/log/auth.log.4.zst: packed in a form")
    for other in others:
        (var_log / other).unlink(missing_ok=True)


@pytest.mark.usefixtures("var_log")
def test_without_any_log_it_says_so(world):
    with no_journal():
        contains(world.audit("--logins", status=2).stderr,
                 "--logins: there is no journal, no /var/log/auth.log and no /var/log/secure: name the file of the log")


@pytest.mark.sample(5)
@pytest.mark.parametrize("fields, counts", [
    ({}, True), ({"SYSLOG_IDENTIFIER": "sshd-session", "_COMM": "sshd-session",
                  "_EXE": "/usr/lib/openssh/sshd-session"}, True),
    ({"_COMM": None, "_EXE": None}, False), ({"_EXE": "/usr/sbin/sshd (deleted)"}, True),
    ({"_UID": "1000"}, False), ({"_UID": None}, False), ({"_UID": 0}, False), ({"_UID": ["0", "1000"]}, False),
    ({"SYSLOG_IDENTIFIER": "su"}, False), ({"SYSLOG_IDENTIFIER": ["sshd", "su"]}, False),
    ({"SYSLOG_IDENTIFIER": None}, False), ({"_COMM": "logger"}, False), ({"_EXE": "/usr/bin/logger"}, False),
    ({"_EXE": "/home/x/sshd (deleted) x"}, False), ({"_TRANSPORT": "stdout"}, False),
    ({"_TRANSPORT": "journal"}, False), ({"_TRANSPORT": None}, False), ({"__REALTIME_TIMESTAMP": None}, False),
    ({"__REALTIME_TIMESTAMP": "-1"}, False), ({"__REALTIME_TIMESTAMP": "9" * 30}, False),
    ({"MESSAGE": None}, False), ({"MESSAGE": [65, 99]}, False)], ids=range(22))
def test_only_what_the_kernel_says_is_roots_sshd_counts(world, fields, counts):
    """journald writes the fields with "_"; any account can choose the others."""
    message = accepted("alice", KEY)
    text = entry(message, NOW, **fields)
    if "MESSAGE" in fields:
        text = text[:-1] + f', "X": {json.dumps(message)}}}'
    seen, err = logins_of(world, text)
    equal(seen, {(KEY, "alice"): 1} if counts else {})
    if fields.get("_TRANSPORT") == "stdout":
        contains(err, "1 login from the standard error of sshd -e, where the ID of a certificate can hold such a line")


@pytest.mark.parametrize("fields, counts", [
    ({"_COMM": None}, True), ({"_EXE": None}, False), ({"_EXE": None, "_SYSTEMD_UNIT": "session-1.scope"}, False),
    ({"_COMM": None, "_EXE": None, "_SYSTEMD_UNIT": "ssh.service"}, False),
    ({"_EXE": None, "_SYSTEMD_UNIT": "ssh.service"}, True), ({"_EXE": None, "_SYSTEMD_UNIT": "sshd@1-2.service"}, True),
    ({"_EXE": None, "_SYSTEMD_UNIT": "user@1000.service"}, False)], ids=range(7))
def test_an_entry_of_roots_without_a_program_needs_proof(world, fields, counts):
    """A setuid program can be started under any name, as by a link, and may log what its user likes."""
    seen, err = logins_of(world, entry(accepted("alice", KEY), NOW, **fields))
    equal(seen, {(KEY, "alice"): 1} if counts else {})
    equal("1 login by root, of which the journal does not tell the program; not counted" in err, not counts)


def test_the_journal_is_read_by_journalctl_with_a_clean_environment(world, monkeypatch):
    world.account("alice").authorize(world.bad)
    monkeypatch.setenv("SYSTEMD_PAGER", "touch /tmp/evil")
    monkeypatch.setenv("LD_PRELOAD_X", "x")
    with fake_journalctl('(echo "$@"; env | sort) >&2\n'
                         f"cat <<'EOF'\n{entry(accepted('alice', world.bad.fingerprint), NOW)}\nEOF"):
        rows, err = told(world, "--logins", "journal", status=1)
        equal([(one["logins"], one["log"], one["last"]) for one in rows], [(1, "journal", "2026-11-23T13:20:00Z")])
        contains(err, "1 with these keys since 2026-11-23T13:20:00Z, in journal\n")
    words, *variables = (line for line in err.splitlines() if not line.startswith("keyveto: "))
    contains(words, "--output=json", "_UID=0", "SYSLOG_IDENTIFIER=sshd SYSLOG_IDENTIFIER=sshd-session")
    equal({one.split("=")[0] for one in variables} - {"PWD", "_", "SHLVL", "OLDPWD"}, {"PATH", "LC_ALL"})


@pytest.mark.parametrize("script, reason", [("exit 1", "journalctl fails"), ("kill -9 $$", "journalctl fails")])
def test_a_journalctl_that_fails_is_a_problem(world, script, reason):
    world.account("alice").authorize(world.clean)
    with fake_journalctl(script):
        contains(world.audit("--logins=journal", status=2).stderr, f"keyveto: journal: /usr/bin/{reason}")


def test_no_journalctl_is_a_problem_if_it_is_named(world):
    with no_journal():
        contains(world.audit("--logins=journal", status=2).stderr,
                 "journal: /usr/bin/journalctl fails: No such file or directory")


# Logins that PAM refuses

SESSION = "error: PAM: pam_open_session(): Permission denied"
DENIED = "fatal: Access denied for user alice by PAM account configuration [preauth]"
WRONG = "error: PAM: Authentication failure for alice from 192.0.2.7"
CUT = ("pam_keyveto(sshd:session): verdict=listed action=deny user=alice rhost=192.0.2.7 via=pam part=key "
       "disconnected=yes")
IN, PARTLY = accepted("alice", KEY), f"Partial{accepted('alice', KEY)[8:]}"
THEN = "Accepted keyboard-interactive/pam for alice from 192.0.2.7 port 50022 ssh2"


@pytest.mark.sample(4)
@pytest.mark.parametrize("events, logins, refused", [
    ([(1, 0, IN), (1, 0, SESSION)], 0, 1), ([(1, 0, IN), (1, 9, CUT)], 0, 1), ([(1, 0, IN), (2, 0, SESSION)], 1, 0),
    ([(1, 0, IN), (2, 0, IN), (1, 0, SESSION)], 1, 1), ([(1, 0, IN), (1, 700, SESSION)], 1, 0),
    ([(1, 0, SESSION), (1, 1, IN)], 1, 0), ([(1, 0, IN), (1, 5, IN), (1, 5, SESSION)], 1, 1),
    ([(1, 0, IN), (1, 0, WRONG)], 1, 0), ([(1, 0, IN), (1, 0, f"x {SESSION}")], 1, 0),
    ([(1, 0, IN), (1, 0, CUT.replace("deny", "allow"))], 1, 0), ([(1, 0, IN), (1, 0, CUT[:-17])], 1, 0),
    ([(1, 0, IN), (1, 0, CUT.replace("user=alice", 'user="): verdict=x action=deny "').replace("=deny u", "=warn u"))],
     1, 0),
    ([(1, 0, PARTLY), (1, 0, DENIED)], 0, 1), ([(1, 0, PARTLY), (1, 0, WRONG)], 0, 1), ([(1, 0, PARTLY)], 1, 0),
    ([(1, 0, PARTLY), (1, 3, WRONG), (1, 5, THEN)], 1, 0), ([(1, 0, PARTLY), (1, 5, THEN), (1, 5, SESSION)], 0, 1),
    ([(1, 0, PARTLY), (1, 1, IN), (1, 1, SESSION)], 0, 2),
    ([(number, 0, IN) for number in range(1, 600)] + [(599, 0, SESSION), (598, 0, CUT)], 597, 2)],
    ids=range(19))
def test_a_login_that_pam_refuses_did_not_come_in(world, events, logins, refused):
    """Joined by the process of sshd, in text logs and in the journal."""
    config = denied(world.folder, KEY)
    times = [(process, NOW + timedelta(seconds=after), text) for process, after, text in events]
    for lines in ([line_of(when, text, f"sshd[{process}]") for process, when, text in times],
                  [old_line(when, text, f"sshd[{process}]") for process, when, text in times],
                  [entry(text, when, _PID=str(process)) for process, when, text in times]):
        log = write_log(world.folder / "log", *lines, at=NOW + DAY)
        rows, err = told(world, "--logins", log, "--config", config, status=0)
        equal([(one["logins"], one["refused"]) for one in rows], [(logins, refused)])
        equal(f"logins: PAM refused {refused} more, after sshd had accepted the key" in err, refused > 0)
    text = world.audit("--logins", log, "--config", config, status=0).stdout
    equal(f"; PAM refused {refused} more\n" in text, refused > 0)
    equal(": no login" in text, logins == 0)


# Real logins: sshd, journald

class Daemon:
    """A process, from "with" on."""

    def __init__(self, *words):
        self.words, self.process = words, None

    def __enter__(self):
        self.process = subprocess.Popen([str(word) for word in self.words], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)


@contextlib.contextmanager
def real_sshd(world, *lines, before=(), arguments=()):
    """sshd on a port of its own, which logs to /dev/log unless it gets -e."""
    port = 2200
    config = world.folder / "sshd_config"
    config.write_text("\n".join((*lines, f"Port {port}", "ListenAddress 127.0.0.1", "UsePAM no", "LogLevel INFO",
                                 "PidFile none", "PasswordAuthentication no", *without_penalties(), "")))
    Path("/run/sshd").mkdir(exist_ok=True)
    with Daemon(*before, SSHD, "-D", "-f", config, *arguments) as daemon:
        def listens():
            assert daemon.process.poll() is None, "sshd does not start"
            done = subprocess.run(["ssh-keyscan", "-p", str(port), "127.0.0.1"], capture_output=True, check=False)
            return done.returncode == 0 and done.stdout
        wait_until(listens, "sshd listens")
        yield port


def ssh(port, name, identity, *words):
    return ["ssh", "-F", "none", "-p", str(port), "-o", "StrictHostKeyChecking=no", "-o", "IdentitiesOnly=yes",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", "-o", "IdentityAgent=none",
            *identity.options, f"{name}@127.0.0.1", *words]


def try_to_log_in(port, name, identity):
    return attempt(*ssh(port, name, identity, "exit 7"))


def log_in(port, name, identity):
    """Logs in. The account has no shell to speak of."""
    done = try_to_log_in(port, name, identity)
    equal(done.returncode, 7, done.stderr)


def log_in_until(port, name, identity, text, times=1):
    """Logs in, and stays until the journal has the text.

    journald asks the kernel which program wrote an entry. It finds none if that has ended before, as on a busy machine.
    """
    words = ssh(port, name, identity, "read -r end; exit 7")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            journal_has(text, times)
        finally:
            process.stdin.close()
        equal(process.wait(PATIENCE), 7)


def people(world):
    """Accounts with a listed key, a clean one, and a listed CA."""
    listed, clean, authority = (keys.generate(world.folder) for _ in range(3))
    world.filter = world.folder / "listed.pkbf"
    keys.write_filter(world.filter, [listed.key, authority.key])
    alice, bob, carol = (world.account(name) for name in ("alice", "bob", "carol"))
    for account, line in ((alice, listed.key), (bob, clean.key), (carol, f"cert-authority {authority.key}")):
        account.authorize(line)
    signed = keys.certify(authority, keys.generate(world.folder), "carol")
    return {"alice": listed, "bob": clean, "carol": signed}, listed.key.fingerprint, authority.key.fingerprint


def test_real_lines_of_sshd_in_both_forms_of_time(world):
    identities, listed, authority = people(world)
    with contextlib.closing(Logbook()) as logbook:
        with real_sshd(world) as port:
            for name, identity in identities.items():
                log_in(port, name, identity)
            log_in(port, "alice", identities["alice"])
            logbook.wait(lambda _: len([one for one in logbook.about("Accepted ")]) == 4, "four logins")
        sent = [one.text for one in logbook.about("")]
    # glibc's form is "Nov 23 13:20:00 sshd[1]: ..."; a syslog daemon adds the name of the host.
    lines = [f"{one[:16]}host {one[16:]}" for one in sent]
    old = write_log(world.folder / "old", *lines)
    new = write_log(world.folder / "new", *(f"2026-11-20T12:00:00.123456+01:00 {one[16:]}" for one in lines))
    for log in (old, new):
        rows, _ = told(world, "--logins", log, status=1)
        seen = {(one["fingerprint"], one["account"]): (one["logins"], one["from"], one["ca"]) for one in rows}
        equal(seen, {(listed, "alice"): (2, "127.0.0.1", False), (authority, "carol"): (1, "127.0.0.1", True)})
        wanted = expected(log)
        equal(len(wanted), 4)       # those of bob, and carol's own key, too
        for one in rows:
            equal(one["last_seconds"], wanted[one["fingerprint"], one["account"]][1])
    now = time.time()
    assert all(abs(one["last_seconds"] - now) < 86400 for one in told(world, "--logins", old, status=1)[0])


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("control", ["pam_keyveto.so", "pam_keyveto.so disconnect=always", "pam_deny.so"])
def test_real_logins_that_pam_refuses(world, control):
    """sshd says "Accepted" before it opens PAM's session."""
    identities, listed, authority = people(world)
    Path("/var/lib/keyveto/filter.pkbf").write_bytes(world.filter.read_bytes())
    Path("/etc/keyveto/keyveto.conf").write_text("Filter /var/lib/keyveto/filter.pkbf\n", encoding="utf-8")
    stack = Path("/etc/pam.d/sshd")
    Path("/dev/log").unlink(missing_ok=True)
    kept, logbook = stack.read_bytes(), Logbook()
    stack.write_text("auth required pam_permit.so\naccount required pam_permit.so\n"
                     f"session requisite {control}\nsession required pam_permit.so\n", encoding="utf-8")
    try:
        with real_sshd(world, "UsePAM yes") as port:
            for name, identity in identities.items():
                try_to_log_in(port, name, identity)
            last = "disconnected=yes" if "=" in control else "error: PAM: pam_open_session"
            logbook.wait(lambda _: len(logbook.about(last)) >= (3 if control == "pam_deny.so" else 2), "the refusals")
        sent = [one.text for one in logbook.about("")]
    finally:
        logbook.close()
        stack.write_bytes(kept)
    log = write_log(world.folder / "log", *(f"2026-11-20T12:00:00.123456+01:00 host {one[16:]}" for one in sent))
    rows, _ = told(world, "--logins", log, status=1)
    equal({(one["fingerprint"], one["account"]): (one["logins"], one["refused"]) for one in rows},
          {(listed, "alice"): (0, 1), (authority, "carol"): (0, 1)})


@contextlib.contextmanager
def journald():
    """A real journald, which has /dev/log, but not the machine's kernel log or audit."""
    for path in ("/run/systemd/journal", "/run/log/journal"):
        shutil.rmtree(path, ignore_errors=True)
        Path(path).mkdir(parents=True)
    Path("/etc/systemd").mkdir(exist_ok=True)
    if not Path("/etc/machine-id").exists() or not Path("/etc/machine-id").read_text().strip():
        Path("/etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")
    Path("/etc/systemd/journald.conf").write_text(
        "[Journal]\nStorage=volatile\nReadKMsg=no\nAudit=\nRateLimitIntervalSec=0\nForwardToSyslog=no\n")
    # journald ends at once where no cgroups are mounted, as in a chroot.
    if not any(Path("/sys/fs/cgroup", name).exists() for name in ("cgroup.procs", "systemd")):
        if not Path("/sys/fs/cgroup").exists():
            subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
        subprocess.run(["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"], check=True)
    sockets = [Path("/run/systemd/journal", name) for name in ("dev-log", "socket", "stdout")]
    with Daemon(JOURNALD) as daemon:
        wait_until(lambda: all(path.exists() for path in sockets), "journald listens")
        Path("/dev/log").unlink(missing_ok=True)
        Path("/dev/log").symlink_to(sockets[0])
        try:
            yield
            assert daemon.process.poll() is None, "journald has ended"
        finally:
            Path("/dev/log").unlink()


def journal_has(text, times=1):
    """Waits until the journal has this text."""
    def is_there():
        subprocess.run([JOURNALCTL, "--sync"], capture_output=True, check=False)
        done = subprocess.run([JOURNALCTL, "-o", "cat"], capture_output=True, text=True, errors="replace", check=True)
        return done.stdout.count(text) == times
    wait_until(is_there, f"the journal has {text}")


def test_the_real_journal_of_real_logins(world):
    """Also as a folder, a file and what journalctl printed. What others wrote with logger(1) does not count."""
    identities, listed, authority = people(world)
    wanted = {(listed, "alice"): (2, "127.0.0.1"), (authority, "carol"): (1, "127.0.0.1")}
    forged = accepted("bob", listed, addr="203.0.113.9")
    with journald():
        with real_sshd(world) as port:
            for number, name in enumerate(("alice", "bob", "carol", "alice"), 1):
                log_in_until(port, name, identities[name], "Accepted publickey for", number)
        for words in (("logger", "-t", "sshd", forged), ("logger", "-t", "sshd", "--journald"),
                      ("systemd-cat", "-t", "sshd", "echo", forged)):
            tool("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *words,
                 input=f"MESSAGE={forged}\nSYSLOG_IDENTIFIER=sshd\n_UID=0\n_TRANSPORT=syslog\n", text=True)
        # By root, but not by sshd. journald can see that as long as the process is there.
        with subprocess.Popen(["logger", "-t", "sshd"], stdin=subprocess.PIPE, text=True) as logger:
            logger.stdin.write(f"{forged}\n")
            logger.stdin.flush()
            journal_has(forged, 4)
        journal_has("Accepted publickey for", 8)
        folder = next(Path("/run/log/journal").glob("?*"))
        exported = world.folder / "export.json"
        with open(exported, "wb") as out:
            subprocess.run([JOURNALCTL, "-o", "json"], stdout=out, check=True)
        for log in ("journal", folder, next(folder.glob("system.journal")), exported):
            rows, err = told(world, "--logins", log, status=1)
            seen = {(one["fingerprint"], one["account"]): (one["logins"], one["from"]) for one in rows}
            equal((log, seen), (log, wanted))
            assert all(abs(one["last_seconds"] - time.time()) < 86400 for one in rows)
            equal({one["log"] for one in rows}, {str(log)})
            contains(err, f", in {log}\n")


def test_a_line_that_a_client_makes_sshd_e_write_does_not_count(world):
    """sshd -e writes a line end in a certificate's ID as it is, and journald takes the rest as an entry of its own."""
    identities, listed, _ = people(world)
    authority, identity = keys.generate(world.folder), keys.generate(world.folder)
    world.account("dave").authorize(f"cert-authority {authority.key}")
    forged = accepted("root", listed)
    tool("ssh-keygen", "-q", "-s", authority.path, "-I", f"x\n{forged}\n", "-n", "dave", identity.key.path)
    certificate = identity.key.path.with_name(f"{identity.path.name}-cert.pub")
    signed = keys.Identity(identity.path, keys.PublicKey(certificate))
    with journald():
        with real_sshd(world, before=("systemd-cat", "-t", "sshd"), arguments=("-e",)) as port:
            log_in_until(port, "dave", signed, f"\n{forged}\n")
            log_in_until(port, "bob", identities["bob"], "Accepted publickey for bob")
        rows, err = told(world, "--logins", "journal", status=1)
        equal([one for one in rows if one["logins"]], [])
        contains(err, "note: journal: 3 logins from the standard error of sshd -e, where the ID of a certificate can "
                      "hold such a line; not counted")
    with journald():
        with real_sshd(world) as port:
            log_in_until(port, "dave", signed, f"\\n{forged}\\n")
        equal([one for one in told(world, "--logins", "journal", status=1)[0] if one["logins"]], [])
