# SPDX-License-Identifier: ISC
"""Whether a new list or filter has a key of this machine, or of NeverListed, is looked up behind the wall.

test_walls.py tells how a process that an attacker has taken over is played. Here it reads a record of a list, or the
header of a filter, whichever list or filter that is. Hostile programs are in the place of keyveto-reader, too.
"""

import os
import sys

import pytest

import blocklist
import sshkey
from brake_machine import FILTER, LIST, machine
from hostile import need_root
from program import STARTED, attempt, contains, copy_programs, equal, keyveto, lacks
from publisher import ListPlace, records
from samples import made, write
from test_walls import HOSTILE, exploit_in, is_printable, no_asan
from update_place import Place, a_filter, authority

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

# The fifteen bytes of a hash, and the start of every filter.
MARKS = {"list": b"\xa5of others, too", "filter": b"pkbfv1"}
# A filter is asked for its size when its header is read, and with that call for paths, as a worker may.
POWERS = {"list": set(), "filter": {("keyveto-reader", "asks for paths")}}


@pytest.fixture(name="exploits", scope="module")
def fixture_exploits(tmp_path_factory):
    """In keyveto and keyveto-reader: what others read and make of the file, other tests play."""
    exploits = {}
    for kind, mark in MARKS.items():
        flag = '-DMARK="' + "".join(f"\\{byte:03o}" for byte in mark) + '"'
        exploit = exploits[kind] = exploit_in(tmp_path_factory.mktemp(kind), flag)
        for started in STARTED:
            if started.name != "keyveto-reader":
                (exploit.folder / started.name).unlink()
                (exploit.folder / started.name).symlink_to(started)
    return exploits


@pytest.fixture(name="here")
def fixture_here(scratch):
    need_root()
    with machine(scratch) as here:
        here.authorize_root(here.world.clean, here.world.bad)
        yield here


def candidate(here, path):
    """Another list or filter that refuses root, with the mark."""
    new = here.scratch / f"new{path.suffix}"
    if path == LIST:
        bad = blocklist.Blocklist(path.read_bytes())
        bad.records.add(MARKS["list"] + b"\1")
        bad.add(sshkey.parse_line(str(here.world.bad).encode()), 1)
        new.write_bytes(bad.encode())
    else:
        new.write_bytes(path.read_bytes())
        keyveto("filter", "add", new, here.write("bad.pub", here.world.bad), status=0)
    return new


@no_asan
@pytest.mark.parametrize("kind, path", (("list", LIST), ("filter", FILTER)), ids=("list", "filter"))
def test_a_lookup_of_the_brake_that_is_taken_over_has_no_power(here, exploits, kind, path):
    """Of a file that somebody else made."""
    could, names, done = exploits[kind].run(kind, "merge", path, path, candidate(here, path))
    equal((names, could), ({"keyveto-reader"}, POWERS[kind]), done)
    contains(done.stderr.decode(), f"will be refused: ssh-ed25519 {here.world.bad.fingerprint}",
             "the new one would refuse a key of root")
    equal(done.returncode, 2)


def place_of(kind, scratch):
    """A place from which root or nobody may update, and a new file of that kind with the mark."""
    scratch.chmod(0o755)
    authority().certificate.parent.chmod(0o755)
    if kind == "filter":
        return Place(scratch, a_filter())
    marked = blocklist.Blocklist(records(100))
    marked.records.add(MARKS["list"] + b"\1")
    return ListPlace(scratch, data=marked.encode())


@no_asan
@pytest.mark.parametrize("kind", MARKS)
@pytest.mark.parametrize("user", (False, True), ids=("root", "user"))
def test_a_lookup_of_never_listed_that_is_taken_over_has_no_power(scratch, exploits, kind, user):
    place = place_of(kind, scratch)
    never = write(scratch / "never_listed", made()["ed25519"].line + "\n")
    never.chmod(0o644)
    (place.lines if kind == "filter" else place.top)["NeverListed"] = never
    if user:
        os.chown(place.state, 65534, 65534)
    try:
        could, names, done = exploits[kind].run(*place.arguments(), user=user)
    finally:
        place.close()
    equal((names, could), ({"keyveto-reader"}, POWERS[kind]), done)
    equal(done.returncode, 0, done)


@no_asan
@pytest.mark.parametrize("kind", MARKS)
def test_a_lookup_of_what_update_fetched_that_is_taken_over_has_no_power(scratch, world, exploits, kind):
    world.account("alice").authorize(world.clean)
    place = place_of(kind, scratch)
    config = write(scratch / "keyveto.conf", f"{'Filter' if kind == 'filter' else 'Blocklist'} {place.target}\n")
    config.chmod(0o644)
    words = () if kind == "list" else ("--config", config)
    try:
        could, names, done = exploits[kind].run(*place.arguments(*words))
    finally:
        place.close()
    equal((names, could), ({"keyveto-reader"}, POWERS[kind]), done)
    equal(done.returncode, 0, done)


# What a program in the place of the reader that judges by the new list says: lines of Python, after these. Ours does
# the rest.
JUDGE = """
READER = {reader!r}
if not flags & 1024 or after_setup[4] not in (2, 3): os.execv(READER, [READER])
import base64
def hello():
    greet(); facts(text(""), number(1), number(100), number(0), number(0))
def keys(fd):
    with open(fd, "rb") as lines: words = lines.read().split()
    return [base64.b64decode(word) for word in words if word[:4] == b"AAAA"]
def tell(blob=text("ssh-ed25519") + text(32 * b"k"), n=1, **said):
    record(12, number(n), number(0), text(blob), text(b""), text(b""), verdict(**{{**CLEAN, **said}}))
CLEAN = dict(verdict=4, action=2, built_in=0, source=b"")
def asked():
    for fd in files(): return keys(fd)
def answer(**said):
    hello()
    for fd in files():
        for n, blob in enumerate(keys(fd)): tell(blob, n + 1, **said)
        record(15)
    record(11)
"""

REFUSED = {
    "says nothing": "",
    "is killed": "hello(); os.kill(os.getpid(), signal.SIGSEGV)",
    "ends after its greeting": "hello()",
    "ends when it is asked": "hello(); asked()",
    "ends at once": "hello(); record(11)",
    "tells no facts": "greet(); asked(); tell(); record(15)",
    "tells them twice": "hello(); facts(); asked(); tell(); record(15)",
    "answers twice": "hello(); asked(); tell(); record(15); record(15); drain()",
    "sends half an answer": 'hello(); asked(); say(struct.pack(">IB", 100, 12))',
    "sends an unknown verdict": "answer(verdict=5)",
    "sends an unknown action": "answer(verdict=4, action=3)",
    "has it listed nowhere": "answer(verdict=1)",
    "has it in a list that is none": "answer(verdict=1, lists=2, source=b'x', named=number(1) + text(b'x'))",
    "has it in a filter that is none": "answer(verdict=1, filters=1)",
    "sends a source with a control": "answer(verdict=1, lists=1, source=b'\\x1b[2J', named=number(1) + text(b'x'))",
    "sends a key": "hello(); asked(); record(8)",
    "sends noise": "say(os.urandom(100000)); asked()",
    "tells of progress for ever": "hello(); asked()\n"
                                  "while True: record(5, text(b'x'), number(0), number(1), number(2))",
    "waits for a stream for ever": "hello(); asked()\nwhile True: record(6)",
    "ends badly": "answer(); sys.exit(3)",
    "says that it cannot, and ends badly": "answer(verdict=0, action=0, reason=b'it cannot'); sys.exit(3)",
}


@pytest.fixture(name="merge")
def fixture_merge(here):
    """Runs a merge of the list with one that refuses root, and the reader that does what the lines say."""
    words = ("list", "merge", LIST, LIST, candidate(here, LIST))
    programs = here.scratch / "programs"
    programs.mkdir()
    program = copy_programs(programs)
    (programs / "keyveto-reader").unlink()
    real = str([path for path in STARTED if path.name == "keyveto-reader"][0])

    def run(says):
        start = HOSTILE.format(python=sys.executable) + JUDGE.format(reader=real)
        write(programs / "keyveto-reader", f"{start}{says}\n").chmod(0o755)
        done = attempt(program, *words, text=False)
        assert is_printable(done.stdout) and is_printable(done.stderr), done
        return done.returncode, done.stderr.decode()
    return run


@pytest.mark.sample(5)
@pytest.mark.parametrize("says", REFUSED.values(), ids=REFUSED)
def test_a_change_is_held_if_the_reader_is_none_of_ours(merge, says):
    before = LIST.read_bytes()
    status, said = merge(says)
    contains(said, ": the reader of files ", f"{LIST}: the old one stays in use")
    equal((status, LIST.read_bytes()), (2, before), said)


def test_a_reader_can_lie_about_keys_and_no_more(here, merge):
    """It can say of any key that it is in the new list; or not, and then that takes effect."""
    before = LIST.read_bytes()
    status, said = merge("answer(verdict=1, action=0, lists=1, source=b'own', named=number(1) + text(b'own'), "
                         "reason=b'\\x1b[2J')")
    contains(said, f"will be refused: ssh-ed25519 {here.world.clean.fingerprint}, listed by own",
             f"will be refused: ssh-ed25519 {here.world.bad.fingerprint}, listed by own", "would refuse a key of root")
    equal((status, LIST.read_bytes()), (2, before), said)
    status, said = merge("answer(verdict=0, reason=b'\\x1b[2J')")
    contains(said, ":1: \\x1b[2J", "not all keys of root could be compared")
    equal((status, LIST.read_bytes()), (2, before), said)
    status, said = merge("answer(verdict=4, action=2)")
    lacks(said, "root")
    equal((status, LIST.read_bytes() == before), (0, False), said)
