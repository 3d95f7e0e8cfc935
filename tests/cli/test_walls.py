# SPDX-License-Identifier: ISC
"""What others wrote is read by a process that has nothing.

A parser that an attacker has taken over is played by exploit.c, which is loaded into keyveto and into the programs that
it starts. It tries what the process could do as soon as the process has read a marked byte.
"""

import base64
import gzip
import hashlib
import itertools
import json
import lzma
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys

import pytest

from hostile import PRELUDE, each_user, need_root, no_asan
from program import KEYVETO, ROOT, STARTED, attempt, keyveto, make_library, mount_namespace, on_a_machine, preload
from runs import as_nobody
from samples import empty_filter, listing, made, write

MARK = b"\xa5marked by somebody else\xa5"
POWERS = {1: "reads a file", 2: "writes a file", 4: "runs a program", 8: "opens a socket", 16: "is root",
          32: "attacks the front", 64: "maps code", 128: "writes elsewhere", 256: "asks for paths",
          512: "makes new calls", 1024: "signals by a descriptor", 2048: "shares memory", 4096: "talks by IPC",
          8192: "outlives its parent", 16384: "can be traced"}
ENTRY = struct.Struct("32sII")

# The commands, and where what reads for them what others wrote is played. A new command belongs here, and there.
PLAYED = {
    "test_walls.py": {"allow", "audit", "check", "confirm", "deny", "filter", "list", "proof", "spki", "why"},
    "test_walls_brake.py": {"filter", "list", "update"},
    "test_walls_confirm.py": {"confirm"},
    "test_walls_journal.py": {"audit"},
    "test_walls_lists.py": {"list"},
    "test_walls_lookup.py": {"audit", "check", "config", "confirm", "disable", "enable", "scan", "setup", "status",
                             "why"},
    "test_walls_network.py": {"scan"},
    "test_walls_weak.py": {"audit", "scan", "why"},
    "test_update_walls.py": {"update"},
}


def test_each_command_is_in_the_table():
    listed = re.findall(r"^  (\w+) ", keyveto("--help", status=0).stdout, re.MULTILINE)
    assert set().union(*PLAYED.values()) == set(listed) - {"help", "version"}
    assert all((ROOT / "tests/cli" / name).exists() for name in PLAYED)


class Exploit:
    """A folder with the programs, and what they do when a parser of theirs is taken over."""

    def __init__(self, folder, *flags):
        self.folder, self.results = folder, folder / "results"
        self.secret = write(folder / "secret", "secret\n")
        self.library = folder / "exploit.so"
        write(folder / "open" / "old", "old\n")
        (folder / "open").chmod(0o777)
        (folder / "open/old").chmod(0o666)
        make_library(self.library, "-O1", "-D_GNU_SOURCE", f'-DRESULTS="{self.results}"',
                     f'-DSECRET="{self.secret}"', f'-DFOLDER="{folder}/open"', *flags,
                     ROOT / "tests/cli/exploit.c")
        self.program = folder / "keyveto"
        shutil.copy(KEYVETO, self.program)
        for started in STARTED:
            # A program starts those beside its file.
            real = folder / "real" / started.name
            real.mkdir(parents=True)
            shutil.copy(started, real)
            for other in set(STARTED) - {started}:
                (real / other.name).symlink_to(folder / other.name)
            # keyveto gives no variable to the programs that it starts.
            write(folder / started.name, f"#!/bin/sh\nLD_PRELOAD={shlex.quote(str(self.library))} "
                                         f"exec {shlex.quote(str(real / started.name))} \"$@\"\n").chmod(0o755)
        folder.chmod(0o755)

    def filters(self):
        """A filter that lists nothing, which everybody may read."""
        path = self.folder / "empty.pkbf"
        shutil.copy(empty_filter(), path)
        path.chmod(0o644)
        return path

    def run(self, *words, user=False, data=None, env=None):
        """What keyveto's programs that read the mark could do: {(name, power)}, and the names."""
        return self.run_program(self.program, *words, user=user, data=data, env=env)

    def has_none(self, *words, user, data=None):
        """The mark is read by keyveto-reader alone, which could do nothing."""
        could, names, done = self.run(*words, user=user, data=data)
        assert names == {"keyveto-reader"}, f"{words}: the exploit ran in {names}: {done}"
        assert could == set(), f"{words}"
        return done

    def run_program(self, *words, user=False, data=None, env=None):
        write(self.results, bytes(4 + 64 * ENTRY.size)).chmod(0o666)
        self.secret.chmod(0o600)
        os.chown(self.secret, 65534 if user else 0, -1)
        words = [str(word) for word in words]
        if user:
            words = as_nobody(*words)
        done = attempt("env", f"LD_PRELOAD={self.library}", *words, text=False, input=data or b"", env=env)
        found = self.results.read_bytes()
        count = struct.unpack_from("I", found)[0]
        entries = [ENTRY.unpack_from(found, 4 + i * ENTRY.size) for i in range(count + 1)]
        names = {name.rstrip(b"\0").decode() for name, tried, _ in entries if tried}
        could = {(name.rstrip(b"\0").decode(), text) for name, _, powers in entries for bit, text in POWERS.items()
                 if powers & bit}
        return could, names, done


def exploit_in(folder, *flags):
    for parent in [folder, *folder.parents]:
        if parent.stat().st_uid == os.getuid() and len(parent.parts) > 2:
            parent.chmod(0o755)
    return Exploit(folder, *flags)


@pytest.fixture(scope="module", name="exploit")
def fixture_exploit(tmp_path_factory):
    return exploit_in(tmp_path_factory.mktemp("exploit"))


def marked(folder):
    """Files in forms that check reads, each with the mark or with a compressed body: {name: path}."""
    line = made()["ed25519"].line.encode() + b"\n"
    text = b"# " + MARK + b"\n" + line
    forms = {
        "lines": text,
        "gzip": gzip.compress(text),
        "xz": lzma.compress(text),
        "json": b'{"title": "' + MARK + b'", "key": "' + line.strip() + b'"}',
        "utf16": b"\xff\xfe" + line.decode().encode("utf-16-le") + MARK,
        "pem": b"-----BEGIN PUBLIC KEY-----\n" + MARK + b"\n-----END PUBLIC KEY-----\n",
        "binary": b"\0" * 5000 + MARK + b"\n" + line,
        "long": text + 20000 * line,
    }
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    for name, data in forms.items():
        write(folder / name, data).chmod(0o644)
    return {name: folder / name for name in forms}


FORMS = ("lines", "gzip", "xz", "json", "utf16", "pem", "binary", "long")


@each_user
@pytest.mark.parametrize("form", FORMS)
def test_a_parser_of_check_that_is_taken_over_has_no_power(exploit, form, user):
    need_root()
    path = marked(exploit.folder / "marked")[form]
    base = ("check", "--all", "--filter", exploit.filters())
    for words, data in (((path,), None), ((path.parent,), None), (("-",), path.read_bytes()), (("--weak", path), None)):
        exploit.has_none(*base, *words, user=user, data=data)


@each_user
@pytest.mark.parametrize("form", FORMS)
def test_a_parser_of_other_commands_that_is_taken_over_has_no_power(exploit, form, user):
    path = marked(exploit.folder / "marked")[form]
    for words, data in ((("spki", path), None), (("spki",), path.read_bytes()),
                        (("why", "--filter", exploit.filters(), path), None), (("allow", path, "--remove"), None)):
        exploit.has_none(*words, user=user, data=data)
    # A worker looks for fingerprints first, in what is packed in vain.
    for word, data in ((path, None), ("-", path.read_bytes())):
        could, names, done = exploit.run("deny", "--remove", word, user=user, data=data)
        assert names and names <= {"keyveto-worker", "keyveto-reader"}, f"the exploit ran in {names}: {done}"
        assert could <= {("keyveto-worker", "writes elsewhere"), ("keyveto-worker", "asks for paths")}


def of_sets(folder, marked_keys):
    """Each command of filters and lists with each file of its own that may have the mark: words, whether it sees it."""
    key = write(folder / "key.pub", made()["ed25519"].line + "\n")
    empty = empty_filter().read_bytes()
    # Filters have a header of 24 bytes, and lists records of 16.
    plain = {"filter": empty, "list": bytes(16)}
    mark = {"filter": empty[:24] + MARK + empty[24 + len(MARK):], "list": MARK.ljust(32, b"\xff")}

    def file(name, content):
        write(folder / name, content).chmod(0o666)
        return folder / name

    for kind, size in (("filter", ("--hashes", 2, "--length", 10)), ("list", (key,))):
        def has_mark(name="marked", kind=kind):
            return file(name, mark[kind])

        def has_none(kind=kind):
            return file("plain", plain[kind])

        # A filter that is replaced has its header read, and one that explains a few bits.
        yield (kind, "create", has_mark(), "--force", *size), kind == "list"
        yield (kind, "explain", has_mark(), key), kind == "list"
        yield (kind, "explain", has_none(), marked_keys), True
        yield (kind, "add", has_mark(), key), True
        yield (kind, "add", has_none(), marked_keys), True
        yield (kind, "info", has_mark()), True
        yield (kind, "verify", has_mark()), True
        yield (kind, "merge", folder / "new", has_none(), has_mark()), True
        yield (kind, "merge", has_mark(), has_mark(), has_none()), True
    yield ("list", "create", folder / "new", marked_keys), True
    file("plain.sources", MARK)
    yield ("list", "explain", file("plain", plain["list"]), key), True
    yield ("list", "add", folder / "plain", "--name", "badkeys", key), True
    for kind in ("filter", "list"):
        yield (kind, "add", file("plain", plain[kind]), "--proofs", file("proof.json", MARK)), True


def test_each_command_of_sets_is_played(scratch):
    played = {words[:2] for words, _ in of_sets(scratch, scratch / "keys")}
    for kind in ("filter", "list"):
        listed = re.findall(r"^  (\w+) ", keyveto(kind, "--help", status=0).stdout, re.MULTILINE)
        assert {words[1] for words in played if words[0] == kind} == set(listed), kind


@each_user
def test_a_command_that_is_taken_over_has_no_power(exploit, user):
    """A worker writes into what it is handed: of that, only what it promised is kept."""
    folder = exploit.folder / "work"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    keys = marked(exploit.folder / "marked")["lines"]
    audit = write(folder / "audit.json", b'{"host": "' + MARK + b'"}\n')
    files = ((("proof", "verify", audit), None), (("proof", "verify", folder), None),
             (("proof", "verify", "-"), audit.read_bytes()))
    # Each writes its files when it is asked for.
    for words, data, seen in itertools.chain(((words, data, True) for words, data in files),
                                             ((words, None, seen) for words, seen in of_sets(folder, keys))):
        could, names, done = exploit.run(*words, user=user, data=data)
        assert names == ({"keyveto-worker"} if seen else set()), f"{words}: the exploit ran in {names}: {done}"
        # Where its descriptor 5 leads, and an unnamed file, the front has no more of it than of any.
        assert could <= {("keyveto-worker", "writes elsewhere"), ("keyveto-worker", "asks for paths")}, f"{words}"


@each_user
@on_a_machine
def test_a_parser_of_accounts_files_that_is_taken_over_has_no_power(exploit, world, user):
    world.folder.chmod(0o755)
    alice = world.account("alice", **({"uid": 65534, "gid": 65534} if user else {}))
    (world.folder / "home").chmod(0o755)
    alice.authorize(b"# " + MARK + b"\n", world.clean, b"restrict,command=\"" + MARK + b"\" ", world.clean)
    base = ("audit", "--filter", world.filter)
    for words in ((*base, "--user", "alice"), (*base, "--json", "--all", "--user", "alice"),
                  *(() if user else (base, ("why", "SHA256:" + 43 * "A")))):
        exploit.has_none(*words, user=user)


LOG_FORMS = {"plain": bytes, "gzip": gzip.compress, "xz": lzma.compress}


@each_user
@on_a_machine
@pytest.mark.parametrize("form", LOG_FORMS)
def test_a_parser_of_logs_that_is_taken_over_has_no_power(exploit, world, form, user):
    """And the login in the log comes back."""
    world.folder.chmod(0o755)
    alice = world.account("alice", **({"uid": 65534, "gid": 65534} if user else {}))
    (world.folder / "home").chmod(0o755)
    alice.authorize(world.bad)
    log = world.folder / "log"
    message = f"publickey for alice from 192.0.2.7 port 22 ssh2: ED25519 {world.bad.fingerprint}\n"
    log.write_bytes(LOG_FORMS[form](b"2026-11-23T10:00:00Z host x: " + MARK + b"\n"
                                    b"2026-11-23T11:00:00Z host sshd[1]: Accepted " + message.encode() +
                                    b"2026-11-23T11:00:00Z host sshd[1]: verdict=listed key_fp=" + MARK + b"\n"))
    log.chmod(0o644)
    audit = ("audit", "--filter", world.filter, "--user", "alice", "--logins")
    rows = [((*audit, log), None), ((*audit, "-"), log.read_bytes())]
    if not user:
        words = ("confirm", "--filter", world.filter, "--url", "https://[::1]:1", "--dry-run", "--log", log)
        rows.append((words, None))
    for words, data in rows:
        done = exploit.has_none(*words, user=user, data=data)
        assert words[0] != "audit" or b": 1 login, the last 2026-11-23T11:00:00Z from 192.0.2.7" in done.stdout, done


@no_asan
def test_without_the_wall_the_exploit_has_each_power(exploit):
    """The attack is one: a process that reads for itself has all of it."""
    path = marked(exploit.folder / "marked")["lines"]
    could, names, _ = exploit.run_program("head", path)
    assert names == {"head"}
    # Files in /proc are root's, be it traced or not.
    assert {text for _, text in could} >= set(POWERS.values()) - {"attacks the front", "can be traced"}


# What a program in the reader's place says: lines of Python, after these.
HOSTILE = PRELUDE + """
orders = socket.socket(fileno=0)
first = orders.recv(1 << 17, socket.MSG_PEEK)
flags, after_setup = struct.unpack(">Q", first[13:21])[0], first[4 + struct.unpack(">I", first[:4])[0]:]
judges, asked_for_keys = not flags & 32 or flags & 1024, flags & 512
# Of one empty filter.
HEADER = b"pkbfv1" + struct.pack(">IQIBB", 1, 0, 0, 3, 6)
def facts(*said): record(21, *(said or (text(""), number(1), text(HEADER))))
def greet(version=10, walls=15): record(1, number(version), number(walls))
def hello(*args, **named):
    greet(*args, **named)
    if judges: facts()
def verdict(verdict=1, action=0, filters=0, lists=0, denied=0, built_in=1, source=b"s", named=b"", reason=b""):
    return number(verdict) + number(action) + number(filters) + number(lists) + number(denied) + number(built_in) + \
        text(source) + named + text(reason)
def found(path=b"p", line=1, part=0, type=b"ssh-ed25519", bits=256, fingerprint=b"", digest=32 * b"d", comment=b"",
          more=b"", **said):
    record(2, text(path), number(line), number(part), text(type), number(bits), text(fingerprint), text(digest),
           text(comment), verdict(**said), more)
def problem(path=b"p", line=1, unknown=0, type=b"", reason=b"r", tag=3):
    record(tag, text(path), number(line), number(unknown), text(type), text(reason))
def totals(*n, tested=1): record(7, *map(number, (list(n) + 11 * [0])[:11]), number(tested))
def drain():
    while orders.recv(1 << 17): pass
def records():
    while True:
        data, fds, _, _ = socket.recv_fds(orders, 1 << 17, 64)
        if not data: return
        while data:
            size, tag = struct.unpack(">IB", data[:5])
            yield tag, data[5:4 + size], fds
            data = data[4 + size:]
# The files that are handed over to be read: those of the judge are closed.
def files():
    for tag, said, fds in records():
        failed = said[4 + struct.unpack(">I", said[:4])[0]:][:8] if tag == 4 else b"x"
        if failed == bytes(8): os.close(fds.pop(0))
        if tag == 9: yield fds.pop(0)
"""

REFUSED = {
    "says nothing": "",
    "ends with a status": "hello(); drain; totals(); sys.exit(3)",
    "is killed": "hello(); os.kill(os.getpid(), signal.SIGSEGV)",
    "ends after its greeting": "hello()",
    "ends before the totals": "hello(); found()",
    "ends within a record": 'hello(); say(struct.pack(">IB", 100, 2) + b"x")',
    "closes its pipe and stays": "os.close(1); drain()",
    "greets with another version": "hello(version=1); drain(); totals()",
    "greets with walls that are none": "hello(walls=16); drain(); totals()",
    "greets twice": "hello(); hello(); drain(); totals()",
    "tells no facts": "greet(); totals()",
    "tells half of them": "greet(); facts(text('')); drain(); totals()",
    "tells of a filter more": "greet(); facts(text(''), number(0), text('x'), number(0), text('x')); drain(); totals()",
    "tells of a header that is none": "greet(); facts(text(''), number(1), text(24 * b'z')); drain(); totals()",
    "tells of half a header": "greet(); facts(text(''), number(1), text(HEADER[:-1])); drain(); totals()",
    "tells them twice": "hello(); facts(); drain(); totals()",
    "has it listed nowhere": "hello(); found(built_in=0); drain(); totals(1, 1, 1)",
    "does not greet": "found(); totals(1, 1, 1)",
    "sends an empty record": 'hello(); say(struct.pack(">I", 0)); drain(); totals()',
    "sends a huge record": 'hello(); say(struct.pack(">I", 1 << 31)); drain(); totals()',
    "sends more than a record may have": 'hello(); say(struct.pack(">I", 2 << 20)); say(b"x" * (2 << 20)); totals()',
    "sends noise": "say(os.urandom(100000)); drain()",
    "sends an unknown record": "hello(); record(99); drain(); totals()",
    "sends an order": "hello(); record(0); drain(); totals()",
    "sends an empty finding": "hello(); record(2); drain(); totals()",
    "sends an unknown verdict": "hello(); found(verdict=5); drain(); totals(1, 1, 1)",
    "sends an unknown action": "hello(); found(action=3); drain(); totals(1, 1, 1)",
    "sends an unknown part": "hello(); found(part=2); drain(); totals(1, 1, 1)",
    "sends too many bits": "hello(); found(bits=1 << 32); drain(); totals(1, 1, 1)",
    "sends no true fingerprint": 'hello(); found(fingerprint=b"SHA256:" + 42 * b"A" + b"\\n"); totals(1, 1, 1)',
    "sends a long fingerprint": 'hello(); found(fingerprint=b"SHA256:" + 4000 * b"A"); totals(1, 1, 1)',
    "sends a short digest": 'hello(); found(digest=b"d"); totals(1, 1, 1)',
    "names a filter that is none": "hello(); found(filters=2); totals(1, 1, 1)",
    "names a list that is none": "hello(); found(lists=1); totals(1, 1, 1)",
    "sends a source with a control": 'hello(); found(built_in=1, source=b"\\x1b[2J"); totals(1, 1, 1)',
    "sends a long source": 'hello(); found(built_in=1, source=64 * b"a"); totals(1, 1, 1)',
    "sends more than a finding": 'hello(); found(more=b"x"); totals(1, 1, 1)',
    "sends half a problem": 'hello(); record(3, text("p"), number(1)); totals()',
    "waits for a stream that is none": "hello(); drain(); record(6); totals()",
    "draws with its progress": 'hello(); record(5, text(b"\\x1b[2J"), number(0), number(1), number(2)); totals()',
    "says a progress of its own": 'hello(); record(5, text(40 * "a"), number(0), number(1), number(2)); totals()',
    "denies what it found": "hello(); found(); drain(); totals(1, 1, 0)",
    "goes on after the totals": "hello(); drain(); totals(); found()",
    "sends half of the totals": "hello(); drain(); record(7, number(1)); ",
    "stays": "hello(); drain(); totals(); signal.pause()",
    "could not compare": "hello(); drain(); totals(tested=0)",
}


class Hostile:
    def __init__(self, folder):
        self.folder = folder
        shutil.copy(KEYVETO, folder / "keyveto")
        self.key = write(folder / "key.pub", made()["ed25519"].line)

    def check(self, says, *words, **options):
        return self.run(says, "check", "--filter", empty_filter(), *words, self.key, **options)

    def run(self, says, *words, text=False, **options):
        """Runs keyveto with a reader that says this."""
        write(self.folder / "keyveto-reader", HOSTILE.format(python=sys.executable), says, "\n").chmod(0o755)
        return attempt(self.folder / "keyveto", *words, text=text, **options)


@pytest.fixture(name="hostile")
def fixture_hostile(scratch):
    return Hostile(scratch)


def is_printable(text):
    return all(0x20 <= byte <= 0x7e or byte == 0x0a for byte in text)


@pytest.mark.sample(34)
@pytest.mark.parametrize("says", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("words", ((), ("--json", "--all"), ("--quiet",)), ids=("text", "json", "quiet"))
def test_a_reader_that_is_none_of_ours_is_an_error(hostile, says, words):
    done = hostile.check(says, *words)
    assert done.returncode == 2, done
    assert re.search(rb"^keyveto: the (reader of files|moduli) ", done.stderr, re.MULTILINE), done
    assert b" listed, " not in done.stderr, "there are totals of a check that failed"
    assert is_printable(done.stdout) and is_printable(done.stderr), done


def test_what_a_reader_says_is_printed_without_its_controls(hostile):
    evil = rb'b"\x1b[2J\n\x7f\xff\x00" * 3'
    says = f"""evil = {evil.decode()}
hello(); drain()
found(path=evil, type=evil, comment=evil, reason=evil)
problem(path=evil, unknown=1, type=evil, reason=evil); problem(path=evil, reason=evil, tag=4)
totals(1, 1, 1)"""
    for words in ((), ("--json", "--all")):
        done = hostile.check(says, *words)
        assert done.returncode == 1, done
        assert is_printable(done.stdout) and is_printable(done.stderr), done
        assert b"1 listed" in done.stderr


# As REFUSED, where the keys themselves are asked for.
REFUSED_KEYS = {
    "ends after its greeting": "hello()",
    "sends a report": "hello(); drain(); found(); totals(1, 1, 1)",
    "sends a blob that is none": 'hello(); drain(); key(blob=b"\\0\\0\\0\\7ssh-rsa"); record(11)',
    "sends a blob and an SPKI": "hello(); drain(); key(blob=BLOB, spki=b'x'); record(11)",
    "sends neither": "hello(); drain(); key(); record(11)",
    "sends a part of a hash": "hello(); drain(); key(spki=b'x', hash=b'x'); record(11)",
    "sends a path with a NUL": "hello(); drain(); key(blob=BLOB, path=b'a\\0b'); record(11)",
    "sends a long type": "hello(); drain(); key(blob=BLOB, type=100 * b'a'); record(11)",
    "names a file with a NUL": "hello(); drain(); record(9, text(b'a\\0b')); record(11)",
    "goes on after the end": "hello(); drain(); record(11); key(blob=BLOB)",
}
KEYS = """
def key(path=b"p", line=1, part=0, blob=b"", spki=b"", hash=b"", type=b"", bits=0, comment=b""):
    record(8, text(path), number(line), number(part), text(blob), text(spki), text(hash), text(type), number(bits),
           text(comment))
BLOB = text("ssh-ed25519") + text(32 * b"k")
"""


@pytest.mark.parametrize("says", REFUSED_KEYS.values(), ids=REFUSED_KEYS)
def test_keys_of_a_reader_that_is_none_of_ours_are_an_error(hostile, says):
    done = hostile.run(KEYS + says, "spki", hostile.key)
    assert done.returncode == 2, done
    assert re.fullmatch(rb"keyveto: [^\n]*key.pub: the reader of files [^\n]*\n", done.stderr), done
    assert is_printable(done.stdout), done


# After three seconds, a day passes within one.
FAST_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *t)
{
    int (*real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    static time_t start;
    const int r = real(clock, t);
    if (start == 0)
        start = t->tv_sec;
    if (t->tv_sec - start >= 3)
        t->tv_sec = t->tv_sec * 100000 + t->tv_nsec / 10000;
    return r;
}
"""


@no_asan
def test_a_reader_that_reads_for_ever_is_ended_after_a_day(hostile):
    done = hostile.run("hello()\nwhile True: record(10)", "spki", hostile.key, env=preload(hostile.folder, FAST_CLOCK))
    assert done.returncode == 2, done
    assert re.fullmatch(rb"keyveto: [^\n]*key.pub: the reader of files took too long\n", done.stderr), done


# As REFUSED, where lines of accounts are asked for.
REFUSED_LINES = {
    "says nothing": "",
    "ends after its greeting": "hello()",
    "is killed": "hello(); orders.recv(1 << 17); os.kill(os.getpid(), signal.SIGSEGV)",
    "ends before the end of the file": "hello(); orders.recv(1 << 17); line()",
    "ends the run at once": "hello(); record(11)",
    "ends one file more": "hello(); orders.recv(1 << 17); record(15); record(15)",
    "goes on after the end": "hello(); orders.recv(1 << 17); record(15); drain(); record(11); line()",
    "sends keys of another kind": "hello(); record(8); record(15)",
    "sends a blob that is none": "hello(); line(blob=b'x'); record(15)",
    "sends a CA that is none": "hello(); line(ca=b'x'); record(15)",
    "sends unknown flags": "hello(); line(flags=2); record(15)",
    "sends more than a line": "hello(); line(more=b'x'); record(15)",
    "sends no verdict": "hello(); record(12, number(1), number(0), text(BLOB), text(''), text('')); record(15)",
    "sends an unknown verdict": "hello(); line(said={**CLEAN, 'verdict': 5}); record(15)",
    "has it listed nowhere": "hello(); line(said={**CLEAN, 'verdict': 1}); record(15)",
    "has it in a filter that is none": "hello(); line(said={**CLEAN, 'verdict': 1, 'filters': 2}); record(15)",
    "sends an unknown type without a name": "hello(); record(13, number(1), text('')); record(15)",
    "sends an unknown error": "hello(); record(14, number(1), number(99), number(0)); record(15)",
    "sends no error": "hello(); record(14, number(1), number(0), number(0)); record(15)",
    "sends an errno that is none": "hello(); record(14, number(0), number(3), number(1 << 40)); record(15)",
    "sends an empty end": "hello(); record(15, b'x')",
}
LINES = KEYS + """
CLEAN = dict(verdict=4, action=2, built_in=0, source=b"")
def line(n=1, flags=0, blob=BLOB, ca=b"", comment=b"", said=CLEAN, more=b""):
    record(12, number(n), number(flags), text(blob), text(ca), text(comment), verdict(**said),
           verdict(**said) if ca else b"", more)
# Ours says what the files of the judge are.
if asked_for_keys: os.execv("READER", ["READER"])
""".replace("READER", str(STARTED[0]))


def audit_with(hostile, world, says, *words):
    """What keyveto audit says with this program in the reader's place."""
    return hostile.run(LINES + says, "audit", "--filter", world.filter, *words)


@pytest.mark.sample(5)
@on_a_machine
@pytest.mark.parametrize("says", REFUSED_LINES.values(), ids=REFUSED_LINES)
def test_lines_of_a_reader_that_is_none_of_ours_are_an_error(hostile, world, says):
    world.account("alice").authorize(world.bad)
    done = audit_with(hostile, world, says, "--user", "alice")
    assert done.returncode == 2, done
    assert re.search(rb"^keyveto: (alice|the files of accounts): the reader of files ", done.stderr, re.MULTILINE), done
    assert b", 1 problem\n" in done.stderr, done
    assert is_printable(done.stdout) and is_printable(done.stderr), done


@on_a_machine
def test_what_a_reader_says_of_lines_is_printed_without_its_controls(hostile, world):
    world.account("alice").authorize(world.clean)
    done = audit_with(hostile, world, r"""evil = b"\x1b[2J\n\x7f\xff" * 3
hello(); orders.recv(1 << 17); line(comment=evil); record(13, number(1 << 63), text(evil)); record(15)
drain(); record(11)""", "--all", "--user", "alice")
    assert is_printable(done.stdout) and is_printable(done.stderr), done
    assert b"1 clean, 1 of a type unknown here" in done.stderr, done


# Ends, or waits for ever, at the file of one account.
CHOOSY = """
hello()
for fd in files():
    if b"poison" in os.read(fd, 1 << 17):
        {does}
    os.close(fd); line(); record(15)
record(11)"""


@on_a_machine
@pytest.mark.parametrize(("does", "why"), (
    ("os.kill(os.getpid(), signal.SIGSEGV)", rb"the reader of files was ended by signal 11 \(Segmentation fault\)"),
    ("signal.pause()", rb"reading its files took too long \(--timeout\); [^\n]*PLACE"),
    ("record(99)", rb"the reader of files sent what it never sends"),
), ids=("ends", "hangs", "lies"))
def test_a_reader_that_fails_at_a_file_spoils_only_its_account(hostile, world, does, why):
    names = [f"a{number:03}" for number in range(200)]
    for name in names:
        world.account(name).authorize(*(["# poison"] if name in ("a000", "a100") else []), world.clean)
    done = audit_with(hostile, world, CHOOSY.format(does=does), "--timeout", "5",
                      *[word for name in names for word in ("--user", name)])
    assert done.returncode == 2, done.stderr
    problems = re.findall(rb"^keyveto: (a\d+): ([^\n]*)$", done.stderr, re.MULTILINE)
    assert [name for name, _ in problems] == [b"a000", b"a100"], done.stderr
    assert all(re.fullmatch(why, reason) for _, reason in problems), done.stderr
    assert b"198 clean" in done.stderr


# As REFUSED, where a log is asked for.
REFUSED_LOGS = {
    "says nothing": "",
    "ends after its greeting": "hello()",
    "is killed": "hello(); orders.recv(1 << 17); os.kill(os.getpid(), signal.SIGSEGV)",
    "ends before the end of the log": "hello(); orders.recv(1 << 17); login()",
    "ends the run at once": "hello(); record(11)",
    "ends the log twice": "hello(); orders.recv(1 << 17); log_end(); log_end(); record(11)",
    "goes on after the log": "hello(); orders.recv(1 << 17); log_end(); login(); record(11)",
    "goes on after the end": "hello(); orders.recv(1 << 17); log_end(); drain(); record(11); login()",
    "sends an unknown record": "hello(); record(99); log_end()",
    "sends keys of another kind": "hello(); record(8); log_end()",
    "sends an empty login": "hello(); record(16); log_end()",
    "sends more than a login": "hello(); login(more=b'x'); log_end()",
    "sends unknown flags": "hello(); login(undated=2); log_end()",
    "sends no user": "hello(); login(user=b''); log_end()",
    "sends a long user": "hello(); login(user=101 * b'u'); log_end()",
    "sends a user with a NUL": "hello(); login(user=b'a\\0b'); log_end()",
    "sends no address": "hello(); login(addr=b''); log_end()",
    "sends a long address": "hello(); login(addr=64 * b'1'); log_end()",
    "sends an address with a control": "hello(); login(addr=b'1\\x1b[2J'); log_end()",
    "sends a port that is none": "hello(); login(port=100000); log_end()",
    "sends a short digest": "hello(); login(key=b'd'); log_end()",
    "sends a time before all": "hello(); login(seconds=(1 << 64) - 1); log_end()",
    "sends a time that no clock has": "hello(); login(seconds=1 << 62); log_end()",
    "sends no outcome": "hello(); record(17, number(1), number(1), number(0)); log_end()",
    "sends an unknown outcome": "hello(); record(17, number(1), number(1), number(4)); log_end()",
    "sends a first line before all": "hello(); record(19, number(1 << 63)); log_end()",
    "sends a reason with a control": "hello(); log_end(why=b'\\x1b[2J')",
    "sends a long reason": "hello(); log_end(why=256 * b'w')",
    "sends half an end": "hello(); record(20, number(0))",
    "waits for a stream that is none": "hello(); record(6); log_end()",
}
LOGS = LINES + """
# READING_SETUP has READING_LOGS.
if not flags & 256: os.execv("READER", ["READER"])
def login(process=1, seconds=1, undated=0, user=b"alice", addr=b"::1", port=7, key=32 * b"d", more=b""):
    record(16, number(process), number(seconds), text(user), text(addr), number(port), number(undated), number(0),
           number(0), number(0), number(1), number(0), text(key), text(bytes(32)), more)
def log_end(stderr=0, unknown=0, why=b""):
    record(20, number(stderr), number(unknown), text(why))
"""


class HostileLog:
    """Where no log is read, ours is in the reader's place."""

    def __init__(self, hostile, world):
        self.hostile, self.world = hostile, world
        self.log = write(world.folder / "log", "")

    def audit(self, says, *words):
        return self.hostile.run(LOGS.replace("READER", str(STARTED[0])) + says, "audit", "--filter", self.world.filter,
                                "--user", "alice", "--logins", self.log, *words)


@pytest.fixture(name="hostile_log")
def fixture_hostile_log(hostile, world):
    world.account("alice").authorize(world.clean)
    return HostileLog(hostile, world)


@pytest.mark.sample(7)
@on_a_machine
@pytest.mark.parametrize("says", REFUSED_LOGS.values(), ids=REFUSED_LOGS)
def test_a_log_of_a_reader_that_is_none_of_ours_is_an_error(hostile_log, says):
    done = hostile_log.audit(says)
    assert done.returncode == 2, done
    assert re.search(rb"^keyveto: [^\n]*/log: cannot be read: the reader of files ", done.stderr, re.MULTILINE), done
    assert is_printable(done.stdout) and is_printable(done.stderr), done


@on_a_machine
def test_what_a_reader_says_of_logs_is_printed_without_its_controls(hostile_log):
    digest = hashlib.sha256(base64.b64decode(hostile_log.world.clean.blob)).digest()
    says = f"""evil = b"\\x1b[2J\\n\\x7f\\xff"
hello(); orders.recv(1 << 17); record(19, number(1)); login(user=evil, key={digest!r}); log_end(1 << 63, 1 << 63)
drain(); record(11)"""
    done = hostile_log.audit(says, "--all")
    assert is_printable(done.stdout) and is_printable(done.stderr), done
    assert b": 1 login, the last 1970-01-01T00:00:01Z from ::1" in done.stdout, done
    assert done.returncode == 0, done


def test_a_log_that_is_not_read_is_none_without_keys_for_confirm(hostile):
    log = write(hostile.folder / "log", "")
    os.symlink(KEYVETO.parent / "keyveto-network", hostile.folder / "keyveto-network")
    done = hostile.run(LINES + "hello()", "confirm", "--filter", empty_filter(), "--dry-run", "--log", "--url",
                       "https://[::1]:1", log, text=True)
    assert done.returncode == 2, done
    assert f"keyveto: {log}: cannot be read: the reader of files ended too early\n" in done.stderr, done


def test_a_long_comment_of_a_reader_is_printed_whole(hostile):
    done = hostile.check('hello(); drain(); found(comment=1000000 * b"c"); totals(1, 1, 1)')
    assert done.returncode == 1, done.stderr
    assert done.stdout.count(b"c") >= 1000000


def test_a_reader_that_misses_is_named_with_its_path(hostile):
    (hostile.folder / "real").mkdir()
    shutil.move(hostile.folder / "keyveto", hostile.folder / "real/keyveto")
    if os.path.exists("/usr/libexec/keyveto/keyveto-reader"):
        pytest.fail("keyveto is installed here: this test cannot see what its lack does")
    done = attempt(hostile.folder / "real/keyveto", "check", "--filter", empty_filter(), hostile.key, text=False)
    assert done.returncode == 2
    assert b"cannot start /usr/libexec/keyveto/keyveto-reader: No such file or directory" in done.stderr


# Shortens each wait of poll(2), so that ten minutes pass at once.
SHORT_WAITS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
int poll(struct pollfd *p, nfds_t n, int ms)
{
    int (*real)(struct pollfd *, nfds_t, int) = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    return real(p, n, ms >= 1000 ? ms / 1000 : ms);
}
/* What is called with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *p, nfds_t n, int ms, unsigned long bytes)
{
    (void)bytes;
    return poll(p, n, ms);
}
"""
# The first wait has passed in vain when it begins, as in a process that was stopped for so long.
STOPPED = """
#include <poll.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <time.h>
int poll(struct pollfd *p, nfds_t n, int ms)
{
    static int once;
    struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
    if (ms >= 1000 && !once++)
        return 0;
    return (int)syscall(SYS_ppoll, p, n, ms < 0 ? NULL : &t, NULL, 0);
}
/* What is called with _FORTIFY_SOURCE. */
int __poll_chk(struct pollfd *p, nfds_t n, int ms, unsigned long bytes)
{
    (void)bytes;
    return poll(p, n, ms);
}
"""


@no_asan
def test_a_reader_that_says_nothing_is_ended(hostile):
    done = hostile.check('hello(); open("/proc/self/comm", "w").write("kvhanging"); drain(); signal.pause()',
                         env=preload(hostile.folder, SHORT_WAITS))
    assert done.returncode == 2
    assert b"the reader of files said nothing for ten minutes: not everything was checked" in done.stderr
    assert subprocess.run(["pgrep", "kvhanging"], capture_output=True, check=False).stdout == b""


@no_asan
def test_a_check_that_was_stopped_goes_on(scratch):
    """^Z stops both processes, for hours perhaps: that is no silence of the reader."""
    keys = listing(scratch / "bad.pkbf", made()["rsa"])
    done = keyveto("check", "--filter", keys, write(scratch / "rsa.pub", made()["rsa"].line),
                   env=preload(scratch, STOPPED))
    assert done.returncode == 1, done.stderr
    assert "1 listed" in done.stderr


def test_descriptors_under_way_do_not_hold_up_the_answers(scratch):
    """The kernel refuses a user's descriptors when many are under way; the reader waits for its answers to be read."""
    bad = listing(scratch / "bad.pkbf", made()["rsa"])
    line = f"{made()['rsa'].line}\n"
    for number in range(400):
        write(scratch / "tree" / f"{number}", 12 * line)
    done = attempt(*as_nobody("prlimit", "--nofile=128:128", KEYVETO, "check", "--filter", bad, scratch / "tree"))
    assert done.returncode == 1, done.stderr
    assert "4800 keys in 400 files: 4800 listed" in done.stderr


def test_a_configuration_may_be_a_pipe(scratch):
    bad = listing(scratch / "bad.pkbf", made()["rsa"])
    key = write(scratch / "rsa.pub", made()["rsa"].line)
    command = f"(sleep 0.2; echo Filter {bad}) | '{KEYVETO}' check --config /dev/stdin {key}"
    done = attempt("/bin/sh", "-c", command)
    assert done.returncode == 1, done.stderr
    assert "1 listed" in done.stderr


def test_files_are_read_where_dev_is_empty(scratch):
    """In a chroot of a rescue system, say."""
    bad = listing(scratch / "bad.pkbf", made()["rsa"])
    key = write(scratch / "rsa.pub", made()["rsa"].line)
    done = attempt(*mount_namespace(), "sh", "-c", 'mount -t tmpfs none /dev && exec "$@"', "sh", KEYVETO, "check",
                   "--filter", bad, key)
    assert done.returncode == 1, done.stderr
    assert "1 listed" in done.stderr


@pytest.mark.long
@no_asan
def test_large_files_are_no_silence(scratch):
    """Ten minutes pass in 2 seconds. The files need more."""
    (scratch / "tree").mkdir()
    with gzip.open(scratch / "tree/0", "wb", compresslevel=1) as file:
        for _ in range(80):
            file.write(40000 * (250 * b"#" + b"\n"))
    for number in range(1, 4):
        os.link(scratch / "tree/0", scratch / f"tree/{number}")
    done = keyveto("check", "--filter", empty_filter(), scratch / "tree",
                   env=preload(scratch, SHORT_WAITS.replace("ms / 1000", "ms / 300")))
    assert done.stderr == "keyveto: 0 keys in 4 files: 0 listed, 0 clean\n"


@pytest.mark.long
@no_asan
def test_a_reader_may_unpack_what_the_next_file_needs(scratch):
    """Each of eight files needs 96 MiB twice."""
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 96 << 20}]
    packed = lzma.compress(40_000_000 // 100 * (99 * b"#" + b"\n"), filters=filters)
    twice = lzma.compress(packed, filters=filters)
    for number in range(8):
        write(scratch / f"tree/{number}", twice)
    done = keyveto("check", "--filter", empty_filter(), scratch / "tree")
    assert done.stderr == "keyveto: 0 keys in 8 files: 0 listed, 0 clean\n"
    assert done.returncode == 0


@no_asan
def test_no_thread_is_needed(scratch):
    bad = listing(scratch / "bad.pkbf", made()["rsa"])
    for number in range(40):
        write(scratch / "tree" / f"{number}" / "key.pub", made()["rsa"].line)
    for limits in (("--nproc=1:1",), ("--nofile=1024",)):
        done = attempt("prlimit", *limits, KEYVETO, "check", "--filter", bad, scratch / "tree")
        assert done.returncode == 1, done.stderr
        assert "40 keys in 40 files: 40 listed" in done.stderr


def doctors_walls(*before):
    done = attempt(*before, KEYVETO, "doctor", "--json", text=False)
    return [(one["status"], one["found"]) for one in json.loads(done.stdout)["checks"] if one["check"] == "walls"]


@no_asan
def test_doctor_names_the_walls(scratch):
    assert doctors_walls() == [("ok", "files of others are read behind account, privileges, seccomp, landlock")]
    refused = doctors_walls("strace", "-f", "-qq", "-o", scratch / "trace", "-e", "inject=capset:error=EPERM")
    assert refused == [("warning", "files of others are read without privileges, which this system refuses")]
    refused = doctors_walls("strace", "-f", "-qq", "-o", scratch / "trace", "-e",
                            "inject=landlock_restrict_self:error=ENOSYS")
    assert refused == [("ok", "files of others are read behind account, privileges, seccomp; "
                              "this kernel has no landlock")]


# What the kernel, or the filter of a container, may refuse, and the wall that is missing then.
# By its name on 32-bit systems, too.
SETRESUID = "/^setresuid(32)?$"
REFUSALS = (("seccomp", "seccomp"), (SETRESUID, "account"), ("capset", "privileges"),
            ("landlock_create_ruleset", None), ("landlock_restrict_self", None))


@no_asan
@pytest.mark.parametrize("call, wall", REFUSALS)
@pytest.mark.parametrize("error", ("ENOSYS", "EPERM"))
def test_a_wall_that_cannot_stand_stops_nothing(scratch, call, wall, error):
    bad = listing(scratch / "bad.pkbf", made()["rsa"])
    inject = ["-e", f"inject={call}:error={error}"]
    if call == "seccomp":
        # libseccomp falls back to prctl(2): that is refused, too, where it asks for a filter (22).
        inject += ["-e", f"inject=prctl:error={error}:when=5+"]
    done = attempt("strace", "-f", "-qq", "-o", scratch / "trace", *inject, KEYVETO, "check", "--filter", bad,
                   write(scratch / "rsa.pub", made()["rsa"].line))
    assert done.returncode == 1, done.stderr
    assert ": listed: " in done.stdout
    warnings = re.findall(r"runs without the wall (\w+), which this system refuses", done.stderr)
    # Where prctl(2) is refused, privileges are kept, too.
    assert set(warnings) - ({"privileges"} if call == "seccomp" else set()) == ({wall} if wall else set()), done.stderr
