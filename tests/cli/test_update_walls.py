# SPDX-License-Identifier: ISC
"""What a published folder has is read by keyveto-worker, one task a process.

test_walls.py tells how a parser that an attacker has taken over is played. Here are also programs in the worker's
place: whatever they say, keyveto believes and installs nothing that the publisher did not sign.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from follow_publisher import BASE, FollowPlace, delta_name, digest, packed_name
from hostile import WORKER
from program import KEYVETO, PATIENCE, ROOT, STARTED
from samples import write
from test_update_follow import grown
from test_walls import MARK, Exploit, is_printable, no_asan
from update_place import authority


@pytest.fixture(name="place")
def fixture_place(scratch):
    made = FollowPlace(scratch)
    yield made
    made.close()


@pytest.fixture(scope="module", name="exploit")
def fixture_exploit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exploit")
    for parent in [folder, *folder.parents]:
        if parent.stat().st_uid == os.getuid() and len(parent.parts) > 2:
            parent.chmod(0o755)
    return Exploit(folder)


def sign_marked(place):
    place.folder.index(**{"marked JSON": 1})
    place.serve()


def mark_signature(place):
    place.page_of("index").body = place.folder.text() + MARK


# Other tasks read what is marked before, but do not parse it. liblzma needs no mark.
MARKED = {"unsigned": mark_signature, "index": sign_marked, "packed": lambda place: None}


def run_exploit(exploit, place, user):
    """What keyveto-worker could do, and what became of the update."""
    os.chmod(place.state.parent, 0o755)
    authority().certificate.parent.chmod(0o755)
    if user:
        os.chown(place.state, 65534, 65534)
        for path in place.state.iterdir():
            os.chown(path, 65534, 65534)
    could, names, done = exploit.run(*place.arguments(), user=user)
    assert names == {"keyveto-network", "keyveto-worker"}, f"the exploit ran in {names}: {done}"
    return {text for name, text in could if name == "keyveto-worker"}, done


@no_asan
@pytest.mark.parametrize("user", (False, True), ids=("root", "user"))
@pytest.mark.parametrize("what", MARKED)
def test_a_parser_of_a_folder_that_is_taken_over_has_no_power(exploit, place, what, user):
    if os.geteuid() != 0:
        pytest.fail("this test needs root, who has most to lose")
    place.put(grown())
    MARKED[what](place)
    could, done = run_exploit(exploit, place, user)
    # It writes into the files that it got.
    assert could <= {"writes elsewhere", "asks for paths"}
    where = f"/kv/{packed_name(grown()) if what == 'packed' else 'index'}"
    assert f"{where}: cannot be read: the worker ".encode() in done.stderr, done
    assert not place.target.exists()


# --- a program in the worker's place ---------------------------------------------

def number_of(name):
    """The number of a question in wire/working.h."""
    text = (ROOT / "cli/wire/working.h").read_text(encoding="ascii")
    names = re.findall(r"^\t(WORKING_\w+)", text[text.index("enum working_question"):], re.MULTILINE)
    return names.index(name) + 1


# What it says: lines of Python, after these. It does one task; ours does the others.
HOSTILE = WORKER + """
def result(*fields): tell({result}, *fields)
data = front.recv(1 << 17, socket.MSG_PEEK)
if data[9:].split(b"\\0")[0] != b"TASK": os.execv("{worker}", ["keyveto-worker"])
data, fds, _, _ = socket.recv_fds(front, 1 << 17, 64)
front.recv(1 << 17)
def hello(): tell(1, number(2), number(15))
A, B, C = 64 * "a", 64 * "b", 64 * "c"
NOW, SIZE = {now}, {size}
def head(serial=1, date=NOW, expires=NOW + 1000, n=1, more=b""):
    result(number(serial), number(date), number(expires), number(n), more)
def file(name="filter.pkbf", kind=0, size=1, sha256=A, packed=1, revision=0, dated=0, date=0, manifest=("", 0),
         sources=("", 0), deltas=(), n=None, more=b""):
    result(text(name), number(kind), number(size), text(sha256), number(packed), number(revision), number(dated),
           number(date), text(manifest[0]), number(manifest[1]), text(sources[0]), number(sources[1]),
           number(len(deltas) if n is None else n), *(text(a) + text(b) + number(c) for a, b, c in deltas), more)
def unpacked(end=1, error=0): result(number(end), number(error), text(""))
def good(): result(text(""), text(A))
def parsed(): hello(); good(); head()
"""
DIES = {
    "says nothing": "",
    "says nothing of it": "hello()",
    "is killed": "hello(); os.kill(os.getpid(), signal.SIGSEGV)",
    "ends with a status": "hello(); sys.exit(3)",
    "does not do it": "hello(); sys.exit(2)",
    "asks for a file": "hello(); tell(3, text('/etc/shadow'), number(0)); front.recv(1)",
    "sends noise": "hello(); front.send(os.urandom(100)); front.recv(1)",
    "sends an empty result": "hello(); result(); front.recv(1)",
    "sends a huge record": "hello(); front.send(struct.pack('>I', 1 << 31) + b'x'); front.recv(1)",
}
SPLIT = {
    "finds a longer text than there is": "hello(); result(number(1 << 40))",
    "finds two": "hello(); result(number(1)); result(number(2))",
    "says more": "hello(); result(number(1), b'x')",
    # What is no text of the publisher's is not signed.
    "finds none": "hello(); result(number(0))",
    "finds half": "hello(); result(number(100))",
    "finds all": "hello(); result(number(os.fstat(fds[0]).st_size))",
}
INDEX = {
    "has no SHA-256": "hello(); result(text(''), text('a')); head(); file()",
    "has a SHA-256 in capitals": "hello(); result(text(''), text(A.upper())); head(); file()",
    "has a reason with controls": "hello(); result(text(b'\\x1b[2J\\n\\xff'), text(A))",
    "has a long reason": "hello(); result(text(600 * 'a'), text(A))",
    "has a reason, and goes on": "hello(); result(text('no'), text(A)); head(); file()",
    "says more than why": "hello(); result(text(''), text(A), b'x'); head(); file()",
    "has no head": "hello(); good()",
    "has a file first": "hello(); good(); file()",
    "has two heads": "parsed(); head(); file()",
    "has serial 0": "hello(); good(); head(serial=0); file()",
    "has a serial above all": "hello(); good(); head(serial=(1 << 53) + 1); file()",
    "expires before its date": "hello(); good(); head(expires=NOW - 1); file()",
    "has a date that no calendar has": "hello(); good(); head(date=1 << 50, expires=1 << 50); file()",
    "has a time before all": "hello(); good(); head(expires=(1 << 64) - 1); file()",
    "has 65 files": "hello(); good(); head(n=65); [file('f%d' % i) for i in range(65)]",
    "says more than a head": "hello(); good(); head(more=b'x'); file()",
    "has fewer files than it says": "hello(); good(); head(n=2); file()",
    "has more files than it says": "parsed(); file(); file('other')",
    "has a file twice": "hello(); good(); head(n=2); file(); file()",
    "names a path": "parsed(); file('../filter.pkbf')",
    "names a hidden file": "parsed(); file('.filter')",
    "names a control": "parsed(); file(b'\\x1b[2J')",
    "has a long name": "parsed(); file(129 * 'a')",
    "has an unknown type": "parsed(); file(kind=2)",
    "has an empty file": "parsed(); file(size=0)",
    "has a file below zero": "parsed(); file(size=1 << 63)",
    "has a packed file below zero": "parsed(); file(packed=1 << 63)",
    "has a path for a SHA-256": "parsed(); file(sha256=60 * 'a' + '/../')",
    "has a short SHA-256": "parsed(); file(sha256=63 * 'a')",
    "has a revision above all": "parsed(); file(revision=1 << 32)",
    "has a list with a revision": "parsed(); file(kind=1, revision=1)",
    "is dated twice": "parsed(); file(dated=2)",
    "has a date without one": "parsed(); file(date=1)",
    "has a filter with a manifest": "parsed(); file(manifest=(A, 1))",
    "has a large companion": "parsed(); file(kind=1, manifest=(A, (1 << 20) + 1))",
    "has an empty companion": "parsed(); file(kind=1, sources=(A, 0))",
    "has no companion with a size": "parsed(); file(kind=1, sources=('', 1))",
    "has a companion elsewhere": "parsed(); file(kind=1, sources=(61 * 'a' + '../', 1))",
    "has a delta to itself": "parsed(); file(deltas=((A, A, 1),))",
    "has a delta twice": "parsed(); file(deltas=((A, B, 1), (B, C, 1), (A, B, 2)))",
    "has an empty delta": "parsed(); file(deltas=((A, B, 0),))",
    "has a delta of nothing": "parsed(); file(deltas=(('', B, 1),))",
    "has 257 deltas": "parsed(); file(deltas=[(A, '%064x' % i, 1) for i in range(257)])",
    "has fewer deltas than it says": "parsed(); file(deltas=((A, B, 1),), n=2)",
    "has more deltas than it says": "parsed(); file(deltas=((A, B, 1),), n=0)",
    "says more than a file": "parsed(); file(more=b'x')",
}
# test_walls_lists.py has what else the task may say.
UNPACK = {
    "cannot write": "hello(); unpacked(end=5, error=28)",
    "writes nothing": "hello(); unpacked()",
    "writes another file": "hello(); os.write(fds[1], bytes(SIZE)); unpacked()",
    "writes a long file": "hello()\ntry: os.pwrite(fds[1], b'x', 1 << 30)\nexcept OSError: unpacked()",
    "writes the packed file": "hello(); os.pwrite(fds[0], b'x', 0); os.sendfile(fds[1], fds[0], 0, SIZE); unpacked()",
}
PATCH = {
    "says more": "hello(); result(number(1), b'x')",
    "says two": "hello(); result(number(2))",
    "says it twice": "hello(); result(number(1)); result(number(1))",
    "writes nothing": "hello(); result(number(1))",
    "writes another file": "hello(); os.write(fds[2], bytes(SIZE)); result(number(1))",
    "writes a long file": "hello()\ntry: os.pwrite(fds[2], b'x', 1 << 30)\nexcept OSError: result(number(1))",
    "writes what is installed": "hello()\ntry: os.pwrite(fds[0], b'x', 0)\n"
                                "except OSError: result(number(0))\nelse: result(number(1))",
}
CASES = {
    **{f"split {name}": ("split", says) for name, says in {**DIES, **SPLIT}.items()},
    **{f"index {name}": ("index", says) for name, says in {**DIES, **INDEX}.items()},
    **{f"unpack {name}": ("unpack", says) for name, says in {**DIES, **UNPACK}.items()},
}


class Hostile:
    """A folder with the programs, and a place that is to be updated from revision 1."""

    def __init__(self, folder, place):
        self.folder, self.place = folder / "bin", place
        self.folder.mkdir()
        shutil.copy(KEYVETO, self.folder)
        for started in STARTED:
            (self.folder / started.name).symlink_to(started)
        place.put(grown())
        place.put_by_hand(grown())
        place.put(grown(2))

    def run(self, task, says):
        start = HOSTILE.format(python=sys.executable, worker=STARTED[1], result=number_of("WORKING_RESULT"),
                               now=int(time.time()), size=len(grown(2))).replace("TASK", task)
        if task == "unpack":
            # There is no delta to the new one.
            self.place.target.unlink()
        (self.folder / "keyveto-worker").unlink()
        write(self.folder / "keyveto-worker", start + says + "\n").chmod(0o755)
        environment = {name: value for name, value in os.environ.items() if name not in ("TZ", "SOURCE_DATE_EPOCH")}
        return subprocess.run([self.folder / "keyveto", *map(str, self.place.arguments())], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=PATIENCE, env=environment)


@pytest.fixture(name="hostile")
def fixture_hostile(scratch, place):
    return Hostile(scratch, place)


@pytest.mark.sample(21)
@pytest.mark.parametrize("case", CASES)
def test_a_worker_that_is_none_of_ours_has_nothing_installed(hostile, case):
    done = hostile.run(*CASES[case])
    before = None if case.startswith("unpack") else grown()
    assert done.returncode == 2, done
    assert is_printable(done.stderr) and done.stdout == b"", done
    assert done.stderr.startswith(f"keyveto: {hostile.place.site.url('/kv/')}".encode()) or \
        b"Traceback" in done.stderr, done
    assert hostile.place.snapshot() == (before, None)
    names = [name for name in hostile.place.names() if "part" in name]
    assert names == [], "the next run goes on with it"


FILLS = """hello()
size = 0
try:
    while True: size += os.pwrite(fds[{file}], bytes(65536), size)
except OSError as error: print("wrote", size, os.strerror(error.errno), file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("task, file, most", (("unpack", 1, len(grown(2))), ("unpack", 0, len(grown(2))),
                                              ("index", 0, 0), ("split", 0, 0), ("patch", 2, len(grown(2)))))
def test_a_worker_fills_no_disk(hostile, task, file, most):
    """It writes no more than the signed index says, even where the files that it gets are open for writing."""
    done = hostile.run(task, FILLS.format(file=file))
    assert f"wrote {most} File too large\n" in done.stderr.decode(), done
    if task == "patch":
        hostile.place.holds(grown(2))
    else:
        assert done.returncode == 2, done
        assert hostile.place.snapshot() == (None if task == "unpack" else grown(), None)
    assert [name for name in hostile.place.names() if "part" in name] == []


def patched(place):
    """Whether the delta was asked for, and the whole file: then it was not used."""
    asked = place.asked()
    return delta_name(grown(), grown(2)) in asked, packed_name(grown(2)) in asked


# It says what ours says of another delta.
PLAUSIBLE = {"writes nothing", "writes another file", "writes a long file", "writes what is installed"}


@pytest.mark.sample(4)
@pytest.mark.parametrize("case", {**DIES, **PATCH})
def test_a_worker_that_is_none_of_ours_applies_no_delta(hostile, case):
    done = hostile.run("patch", {**DIES, **PATCH}[case])
    assert done.returncode == 0, done
    assert is_printable(done.stderr) and done.stdout.endswith(b"\n"), done
    warning = f"keyveto: warning: {hostile.place.site.url('/kv/')}index: a delta is not used: the worker ".encode()
    assert (warning in done.stderr) == (case not in PLAUSIBLE), done
    hostile.place.holds(grown(2))
    assert hostile.place.previous.read_bytes() == grown()
    assert patched(hostile.place) == (True, True)


@no_asan
@pytest.mark.parametrize("user", (False, True), ids=("root", "user"))
def test_a_parser_of_a_delta_that_is_taken_over_has_no_power(exploit, place, user):
    place.put(grown())
    place.put_by_hand(grown())
    place.put(grown(2))
    page = place.page_of(delta_name(grown(), grown(2)))
    page.body = page.body[:7] + MARK + page.body[7 + len(MARK):]
    del place.site.pages[BASE + packed_name(grown(2))]
    could, done = run_exploit(exploit, place, user)
    assert could <= {"writes elsewhere", "asks for paths"}
    assert b": a delta is not used: the worker " in done.stderr, done
    place.holds(grown())


def test_an_obedient_worker_in_its_place_is_believed(hostile):
    """So that what the others do is what is refused."""
    entry = json.loads(hostile.place.folder.text())["files"][0]
    says = f"hello(); good(); head(); file(size={entry['size']}, sha256={entry['sha256']!r}, " \
           f"packed={entry['packed_size']}, revision=2, dated=1, date=NOW, deltas=((A, B, 1), (B, A, 1)))"
    done = hostile.run("index", says)
    assert (done.returncode, done.stderr) == (0, b""), done
    hostile.place.holds(grown(2))
    assert digest(grown(2)) == entry["sha256"]
