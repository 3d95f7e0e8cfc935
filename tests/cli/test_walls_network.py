# SPDX-License-Identifier: ISC
"""What speaks to servers is a process that has nothing but its connections.

test_walls.py tells how a process that an attacker has taken over is played. Here it is keyveto-network, as soon as it
has received a byte from a server. A hostile program in its place must not get keyveto to install anything.
"""

import contextlib
import ctypes
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import test_scan
from hostile import PRELUDE, each_user, need_root
from program import KEYVETO, PATIENCE, READER, ROOT, WORKER, attempt, keyveto, wait_until
from runs import as_nobody, tool
from samples import empty_filter, write
from test_scan import keys_and_filter, name, sshd
from test_walls import (SETRESUID, SHORT_WAITS, fixture_exploit, is_printable, no_asan,  # noqa: F401 (the fixture)
                        preload)
from update_place import Place, a_filter, authority

# As root, sshd and accounts of the machine are used.
pytestmark = test_scan.pytestmark

# A connection is its job: it needs sockets to write to, and files that tell where hosts are.
ITS_JOB = {"opens a socket", "writes elsewhere", "asks for paths"}


def powers(exploit, *words, user):
    """What keyveto-network could do beside its job."""
    could, names, done = exploit.run(*words, user=user)
    assert names == {"keyveto-network"}, f"{words}: the exploit ran in {names}: {done}"
    return {text for _, text in could} - ITS_JOB, done


@each_user
def test_a_fetch_that_is_taken_over_has_no_power(exploit, place, user):
    need_root()
    place.write_settings()
    os.chmod(place.state.parent, 0o755)
    authority().certificate.parent.chmod(0o755)
    if user:
        os.chown(place.state, 65534, 65534)
    could, done = powers(exploit, *place.arguments(), user=user)
    assert could == set()
    # What it does besides is right: the exploit changes nothing of that.
    assert done.returncode == 0, done
    assert place.target.read_bytes() == a_filter()


@pytest.mark.long
@each_user
def test_a_scan_that_is_taken_over_has_no_power(exploit, scratch, user):
    identities, bad = keys_and_filter(scratch)
    scratch.chmod(0o755)
    bad.chmod(0o644)
    with sshd(scratch, identities) as (port, _):
        could, done = powers(exploit, "scan", "--timeout", str(PATIENCE), "--filter", bad, name(port), user=user)
    assert could == set()
    assert done.returncode == 1, done


@no_asan
def test_without_the_wall_a_fetch_that_is_taken_over_has_each_power(exploit, place):
    """The attack is one: where the system refuses the walls, it succeeds, and keyveto says so."""
    refused = ["-e", "inject=seccomp,/^setres[ug]id(32)?$,capset,landlock_create_ruleset:error=EPERM",
               "-e", "inject=prctl:error=EPERM:when=3+"]
    place.write_settings()
    done = subprocess.run(["strace", "-f", "-qq", "-o", "/dev/null", *refused, "true"], check=False)
    assert done.returncode == 0
    program, exploit.program = exploit.program, exploit.folder / "traced"
    write(exploit.program, "#!/bin/sh\nexec strace -f -qq -E LD_PRELOAD -o /dev/null "
                           f"{shlex.join(refused)} {shlex.quote(str(program))} \"$@\"\n").chmod(0o755)
    try:
        could, done = powers(exploit, *place.arguments(), user=False)
    finally:
        exploit.program = program
    assert could >= {"reads a file", "is root", "runs a program"}, done
    assert b"keyveto-network runs without the wall account" in done.stderr


# What a program in the place of keyveto-network says: lines of Python, after these.
HOSTILE = PRELUDE + """
orders = socket.socket(fileno=0)
def hello(version=4, walls=15): record(1, number(version), number(walls))
def place(kind=1, where="https://localhost/f", shown="https://localhost/f", scheme=""):
    record(2, number(kind), text(where), text(shown), text(scheme))
def head(status=200, wait=0, etag="", modified="", encoding="", type="", more=b""):
    record(3, number(status), number(wait), *map(text, (etag, modified, encoding, type)), more)
def arrived(n, more=b""): record(4, number(n), more)
def data(b):
    arrived(len(b))
    while b: b = b[os.write(fd, b):]
def end(cause=0, why="", more=b""): record(5, number(cause), text(why), more)
fd = os.open("/dev/null", os.O_WRONLY)
def order():
    global fd
    while True:
        packet, fds, _, _ = socket.recv_fds(orders, 1 << 17, 4)
        if not packet: sys.exit(0)
        if packet[4] == 5: fd = fds[0]
        if packet[4] > 3: return packet[4]
GOOD = open({good!r}, "rb").read()
def asked():
    while order() == 4: place()
hello()
order(); place()
"""

# Nothing is installed after any of these.
REFUSED = {
    "ends": "sys.exit(0)",
    "ends with a status": "sys.exit(3)",
    "is killed": "os.kill(os.getpid(), signal.SIGSEGV)",
    "greets twice": "hello(); asked(); head(); data(GOOD); end()",
    "sends noise": "say(os.urandom(100000)); asked()",
    "sends an empty record": 'say(struct.pack(">I", 0)); asked()',
    "sends a huge record": 'say(struct.pack(">I", 1 << 31)); asked()',
    "ends within a record": 'asked(); head(); say(struct.pack(">IB", 100, 4) + b"x")',
    "closes its pipe and stays": "asked(); head(); os.close(1); signal.pause()",
    "sends data before a head": "asked(); data(GOOD); head(); end()",
    "sends two heads": "asked(); head(); head(); data(GOOD); end()",
    "sends no head": "asked(); end()",
    "sends a long status": "asked(); head(status=1000); data(GOOD); end()",
    "sends a header with a line end": 'asked(); head(etag="\\"a\\r\\nX: y\\""); data(GOOD); end()',
    "sends a long header": "asked(); head(etag=256 * 'a'); data(GOOD); end()",
    "sends more than a head": "asked(); head(more=b'x'); data(GOOD); end()",
    "sends empty data": "asked(); head(); data(b''); data(GOOD); end()",
    "sends an unknown cause": "asked(); head(); data(GOOD); end(cause=8)",
    "sends a cause of the front's": "asked(); head(); data(GOOD); end(cause=9)",
    "sends more than an end": "asked(); head(); data(GOOD); end(more=b'x')",
    "sends a long reason": "asked(); head(); end(cause=7, why=5000 * 'x')",
    "sends a reason with controls": "asked(); end(cause=7, why=b'\\x1b[2J\\n\\xff')",
    "sends a reason with a NUL": "asked(); end(cause=7, why=b'a\\0b')",
    "says more than the end": "asked(); head(); data(GOOD); say(2 * packed(5, number(0), text('')))",
    "ends before the end": "asked(); head(); data(GOOD); sys.exit(0)",
    "sends a place again": "asked(); place()",
    "sends half of the file": "asked(); head(); data(GOOD[:100]); end()",
    "sends another file": "asked(); head(); data(os.urandom(100)); end()",
    "sends data without end": "asked(); head()\nwhile True: data(65536 * b'x')",
    "says that it did not change": "asked(); head(status=304); end()",
    "sends a part that nobody asked for": "asked(); head(status=206); data(GOOD); end()",
}
# The same, in place of the first answers.
REFUSED_FIRST = {
    "says nothing and ends": "",
    "does not greet": "order(); place()",
    "greets with another version": "hello(version=1); order(); place()",
    "greets with walls that are none": "hello(walls=16); order(); place()",
    "finds a path": "hello(); order(); place(where='/etc/shadow')",
    "finds another protocol": "hello(); order(); place(where='http://localhost/f')",
    "finds a place with a control": "hello(); order(); place(shown='https://a/\\x1b[2J')",
    "finds a scheme with a control": "hello(); order(); place(kind=2, scheme='\\x1b[2J')",
    "finds a kind that is none": "hello(); order(); place(kind=3)",
    "finds half a place": "hello(); order(); record(2, number(1), text('https://a/'))",
    "answers what nobody asked": "hello(); order(); head(); data(b'x'); end()",
}
# These are answers as our program gives them, or none: what is wrong is seen later.
PLAUSIBLE = {"ends", "ends with a status", "is killed", "ends within a record", "closes its pipe and stays",
             "sends noise", "sends a reason with controls", "ends before the end", "sends half of the file",
             "sends another file", "sends data without end", "says that it did not change",
             "sends a part that nobody asked for", "says nothing and ends"}


class Hostile:
    def __init__(self, folder):
        self.folder = folder
        shutil.copy(KEYVETO, folder / "keyveto")
        shutil.copy(READER, folder / "keyveto-reader")
        shutil.copy(WORKER, folder / "keyveto-worker")
        self.good = folder / "good.pkbf"
        self.good.write_bytes(a_filter())
        self.place = Place(folder)

    def become(self, says, first=False):
        base = HOSTILE.format(python=sys.executable, good=str(self.good))
        if first:
            base = base[:base.rindex("hello()")]
        write(self.folder / "keyveto-network", base + says + "\n").chmod(0o755)

    def run(self, *words, **options):
        return attempt(self.folder / "keyveto", *words, text=False, **options)


@pytest.fixture(name="hostile")
def fixture_hostile(scratch):
    made = Hostile(scratch)
    yield made
    made.place.close()


def test_an_obedient_program_in_its_place_is_believed(hostile):
    """So that what the others do is what is refused."""
    hostile.become("asked(); head(); data(GOOD[:1000]); data(GOOD[1000:]); end(); asked()")
    done = hostile.run(*hostile.place.arguments())
    assert done.returncode == 0, done
    assert hostile.place.target.read_bytes() == a_filter()


@pytest.mark.sample(10)
@pytest.mark.parametrize("case", [*REFUSED, *REFUSED_FIRST])
def test_a_program_that_is_none_of_ours_has_nothing_installed(hostile, case):
    hostile.become({**REFUSED, **REFUSED_FIRST}[case], case in REFUSED_FIRST)
    done = hostile.run(*hostile.place.arguments())
    assert done.returncode == 2, done
    assert is_printable(done.stderr) and done.stdout == b"", done
    assert case in PLAUSIBLE or b"keyveto-network sent what it never sends\n" in done.stderr, done
    assert done.stderr.startswith(b"keyveto: "), done
    assert not hostile.place.target.exists()


@no_asan
@pytest.mark.parametrize("says", ("signal.pause()", "asked(); head(); data(GOOD[:100]); signal.pause()"),
                         ids=("before its answer", "within its answer"))
def test_a_program_that_stops_is_ended(hostile, says):
    """Waits pass in a thousandth of their time."""
    hostile.become('open("/proc/self/comm", "w").write("kvstopping"); ' + says)
    done = hostile.run(*hostile.place.arguments(), env=preload(hostile.folder, SHORT_WAITS))
    assert done.returncode == 2, done
    assert b": keyveto-network did not end in time\n" in done.stderr
    assert not hostile.place.target.exists()
    assert subprocess.run(["pgrep", "kvstopping"], capture_output=True, check=False).stdout == b""


def test_a_network_that_misses_is_named_with_its_path(hostile):
    if os.path.exists("/usr/libexec/keyveto/keyveto-network"):
        pytest.fail("keyveto is installed here: this test cannot see what its lack does")
    done = hostile.run(*hostile.place.arguments())
    assert done.returncode == 2
    assert b"cannot start /usr/libexec/keyveto/keyveto-network: No such file or directory" in done.stderr


# Records of a scan, and what must be said of each.
SCANS = {
    "ends": ("sys.exit(0)", b"the scan of it ended while "),
    "is killed": ("os.kill(os.getpid(), signal.SIGSEGV)", b"the scan of it ended while "),
    "ends in a phase": ("record(6, text('\\x1b[2J'))", b"the scan of it ended while \\x1b[2J"),
    "sends a blob that is none": ("record(7, text('x')); record(10)", b"1 problem"),
    "sends half a record": ("record(8); record(10)", b"sent what it never sends"),
    "sends an unknown record": ("record(11); record(10)", b"sent what it never sends"),
    "sends an answer of a fetch": ("head(); record(10)", b"sent what it never sends"),
    "goes on after its end": ("record(10); record(8, text('x'))", b"sent what it never sends"),
    "greets twice": ("hello(); record(10)", b"sent what it never sends"),
    "sends noise": ("say(os.urandom(100000))", b"sent what it never sends|ended while|sent too much"),
    "sends too much": ("while True: record(8, text(1000 * 'x'))", b"the server sent too much"),
    "sends a long problem": ("record(8, text(100000 * 'x')); record(10)", b"sent what it never sends"),
    "sends a problem with controls": ("record(8, text(b'\\x1b[2J\\n\\xff')); record(10)", b"1 problem"),
    "sends a type with controls": ("record(9, text(b'\\x1b[2J\\n\\xff')); record(10)", b"unknown"),
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("says, expected", SCANS.values(), ids=SCANS)
@pytest.mark.parametrize("words", ((), ("--json", "--all")), ids=("text", "json"))
def test_a_scan_by_a_program_that_is_none_of_ours(hostile, says, expected, words):
    hostile.become("hello(); order()\n" + says, first=True)
    done = hostile.run("scan", "--filter", empty_filter(), *words, "localhost")
    assert done.returncode in (0, 2), done
    assert is_printable(done.stdout) and is_printable(done.stderr), done
    if not words:
        assert re.search(expected.replace(b"[", b"\\[").replace(b"\\x", b"\\\\x"), done.stderr), done


@no_asan
def test_walls_that_cannot_stand_stop_no_fetch(place):
    """It is said once, and not for each source."""
    place.write_settings()
    for call, wall in ((SETRESUID, "account"), ("capset", "privileges"), ("landlock_restrict_self", None)):
        place.target.unlink(missing_ok=True)
        done = attempt("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:error=EPERM", KEYVETO,
                       *place.arguments())
        assert done.returncode == 0, done.stderr
        warnings = re.findall(r"keyveto-network runs without the wall (\w+), which this system refuses", done.stderr)
        assert warnings == ([wall] if wall else []), done.stderr
        assert place.target.read_bytes() == a_filter()


@pytest.mark.throwaway
def test_a_name_is_asked_of_a_server_behind_the_wall(scratch):
    """By the resolver of the C library that the program has."""
    questions = []

    def answer(server):
        with contextlib.suppress(OSError):
            while True:
                question, client = server.recvfrom(512)
                questions.append(question)
                server.sendto(question[:2] + b"\x81\x83" + question[4:], client)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.99", 53))
        threading.Thread(target=answer, args=(server,), daemon=True).start()
        write(Path("/etc/resolv.conf"), "nameserver 127.0.0.99\n")
        keyveto("scan", "--filter", empty_filter(), "host.example.test", status=2)
    assert any(b"\4host\7example\4test\0" in question for question in questions)


# Tells, before and behind the wall, whether it reaches an abstract socket of another process, and may signal that.
REACHES = """
#include "wall/enter.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
static void tell(const char *pid, const char *name)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(at.sun_path + 1, name);
    printf("%d%d ", connect(s, (struct sockaddr *)&at, sizeof(sa_family_t) + 1 + strlen(name)) == 0,
        kill(atoi(pid), 0) == 0);
}
int main(int argc, char **argv)
{
    tell(argv[1], argv[2]);
    (void)wall_enter(&(struct wall_kept){ .connects = true, .memory = 1 << 30 });
    tell(argv[1], argv[2]);
    return argc != 3;
}
"""


@no_asan
def test_behind_landlock_no_process_of_the_same_account_is_reached(scratch, build):
    """From its sixth version on, as in Linux 6.12."""
    version = ctypes.CDLL(None).syscall(444, None, 0, 1)
    scratch.chmod(0o755)
    tool("cc", "-D_GNU_SOURCE", f"-I{ROOT / 'lib'}", f"-I{ROOT / 'cli'}", "-o", scratch / "reaches",
         write(scratch / "reaches.c", REACHES), build / "libcommand.a", build / "libkeyveto.a")
    with socket.socket(socket.AF_UNIX) as listener, \
            subprocess.Popen(as_nobody("sleep", "1000"), stdin=subprocess.DEVNULL) as other:
        abstract = f"keyveto-{os.getpid()}"
        listener.bind(f"\0{abstract}")
        listener.listen()
        wait_until(lambda: os.stat(f"/proc/{other.pid}").st_uid == 65534, "it is nobody's")
        said = tool(*as_nobody(scratch / "reaches", other.pid, abstract), text=True)
        other.kill()
    assert said == ("11 00 " if version >= 6 else "11 11 ")
