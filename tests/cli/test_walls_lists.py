# SPDX-License-Identifier: ISC
"""What keyveto update reads of lists and filters is read by a process that has nothing.

test_walls.py tells how a parser that an attacker has taken over is played.
"""

import lzma
import os
import re
import sys

import pytest

from hostile import WORKER, each_user, need_root
from program import ROOT, STARTED, attempt, contains, copy_programs
from publisher import ListPlace, records
from samples import write
from test_walls import MARK, fixture_exploit, is_printable, no_asan  # noqa: F401 (the fixture)
from update_place import Place, a_filter, authority


@pytest.fixture(name="place")
def fixture_place(scratch):
    made = ListPlace(scratch)
    scratch.chmod(0o755)
    authority().certificate.parent.chmod(0o755)
    yield made
    made.close()


@pytest.fixture(name="filter_place")
def fixture_filter_place(scratch):
    made = Place(scratch)
    scratch.chmod(0o755)
    authority().certificate.parent.chmod(0o755)
    yield made
    made.close()


def powers(exploit, place, user, *words):
    """What could be done where the mark was read, beside the network's program, which test_walls_network.py has."""
    if user:
        os.chown(place.state, 65534, 65534)
    could, names, done = exploit.run(*place.arguments(*words), user=user)
    assert names - {"keyveto-network"} == {"keyveto-worker"}, f"the exploit ran in {names}: {done}"
    # It has the result's socket, and the files that it was handed.
    return {one for one in could if one[0] != "keyveto-network"} - {
        ("keyveto-worker", "writes elsewhere"), ("keyveto-worker", "asks for paths")}, done


@each_user
def test_a_parser_of_manifests_that_is_taken_over_has_no_power(exploit, place, user):
    need_root()
    page = place.publisher.site.pages["/v0/badkeysdata.json"]
    page.body = page.body.replace(b'"new"', b'"' + MARK + b'"')
    could, done = powers(exploit, place, user)
    assert could == set()
    assert done.returncode == 2, done


@each_user
@pytest.mark.parametrize("form", (bytes, lzma.compress), ids=("plain", "xz"))
def test_a_parser_of_lists_that_is_taken_over_has_no_power(exploit, place, form, user):
    """One that is received, and the installed one, which others wrote once."""
    data = records()[:-16] + MARK[:16]
    place.publisher.serve(data + MARK[16:].ljust(16, b"\xff"), "2026-11-20T10:00:00+00:00")
    place.publisher.list.body = form(lzma.decompress(place.publisher.list.body))
    could, done = powers(exploit, place, user)
    assert could == set()
    if form is bytes:
        place.target.write_bytes(lzma.decompress(lzma.compress(data + MARK[16:].ljust(16, b"\xff"))))
        could, done = powers(exploit, place, user)
        assert could == set(), done


def marked_filter(revision):
    bits = a_filter(revision)
    return bits[:1000] + MARK + bits[1000 + len(MARK):]


@each_user
def test_a_parser_of_filters_that_is_taken_over_has_no_power(exploit, filter_place, user):
    """One that is received, and the installed one, which others wrote once."""
    filter_place.page.body = marked_filter(2)
    could, done = powers(exploit, filter_place, user)
    assert could == set(), done
    filter_place.put(marked_filter(2))
    filter_place.page.body = a_filter(3)
    could, done = powers(exploit, filter_place, user)
    assert could == set(), done


WIRE = (ROOT / "cli/wire/working.h").read_text(encoding="ascii")


def tag(enum, name):
    """The number of a record."""
    names = re.findall(r"\bWORKING_\w+(?=,| = 1,)", WIRE[WIRE.index(f"enum {enum} {{"):].partition("};")[0])
    return 1 + names.index(name)


# What a program in the worker's place says about one task: lines of Python, after these. Ours does the others.
HOSTILE = WORKER + """
def result(*fields): tell({result}, *fields)
name = struct.pack(">I", len({task!r})) + {task!r}
if not front.recv(1 << 17, socket.MSG_PEEK)[5:].startswith(name): os.execv({worker!r}, [{worker!r}])
def start():
    global fds
    while True:
        data, got, _, _ = socket.recv_fds(front, 1 << 17, 64)
        fds = got or fds
        if data[4] == {start}: break
fds = []
start()
tell(1, number({version}), number(15))
"""


def put_task(path, task, says):
    """Writes a worker that does what the lines say about one task."""
    real = str([path for path in STARTED if path.name == "keyveto-worker"][0])
    start = HOSTILE.format(python=sys.executable, task=task.encode(), worker=real,
                           result=tag("working_question", "WORKING_RESULT"),
                           start=tag("working_order", "WORKING_START"),
                           version=re.search(r"WORKING_VERSION (\d+)", WIRE)[1])
    write(path, f"{start}{says}\n").chmod(0o755)


class Hostile:
    def __init__(self, place, scratch):
        self.place = place
        (scratch / "programs").mkdir()
        self.program = copy_programs(scratch / "programs")
        self.worker = scratch / "programs/keyveto-worker"
        self.worker.unlink()

    def run(self, task, says, *words):
        put_task(self.worker, task, says)
        environment = {name: value for name, value in os.environ.items() if name not in ("TZ", "SOURCE_DATE_EPOCH")}
        done = attempt(self.program, *self.place.arguments(*words), text=False, env=environment)
        assert is_printable(done.stdout) and is_printable(done.stderr), done
        return done


@pytest.fixture(name="hostile")
def fixture_hostile(place, scratch):
    return Hostile(place, scratch)


def refused(hostile, task, says):
    """It is an error of the worker, and nothing is installed."""
    before = hostile.place.snapshot()
    done = hostile.run(task, says)
    assert done.returncode == 2, done
    assert b": cannot be read: the worker " in done.stderr, done
    assert hostile.place.snapshot() == before


# Tasks that say what none says, whatever the task is.
ANY = {
    "says nothing": "",
    "ends with a status": "sys.exit(3)",
    "is killed": "os.kill(os.getpid(), signal.SIGSEGV)",
    "asks for a file": "tell(3, text('/etc/shadow'), number(0))",
    "sends an empty part": "result()",
    "sends noise": "result(os.urandom(1000))",
    "sends a huge part": "result(text(60000 * b'x'))",
}

MANIFEST = """
def source(id=1, name="n", repo="r", path="p", more=b""): result(number(id), text(name), text(repo), text(path), more)
def rest(ok=1, why="", url="https://x/y", sha=64 * "a", lookup="", lookup_sha="", time=1, expires=0, deprecated=0,
         words="", left_out=0, more=b""):
    result(number(256), number(ok), text(why), text(url), text(sha), text(lookup), text(lookup_sha), number(time),
           number(expires), number(deprecated), text(words), number(left_out), more)
"""
REFUSED_MANIFESTS = ANY | {
    "sends a source of no id": "source(id=257); rest()",
    "sends a source twice": "source(); source(); rest()",
    "sends a name with a control": "source(name='a\\x1b[2J'); rest()",
    "sends no name": "source(name=''); rest()",
    "sends a long name": "source(name=64 * 'n'); rest()",
    "sends a path with a line end": "source(path='p\\n2 evil'); rest()",
    "sends a long path": "source(path=81 * 'p'); rest()",
    "sends more than a source": "source(more=b'x'); rest()",
    "sends sources for ever": "while True: source()",
    "sends no end": "source()",
    "sends its end twice": "rest(); rest()",
    "sends a source behind the end": "rest(); source()",
    "is good for a reason": "rest(why='a reason')",
    "is bad for none": "rest(ok=0)",
    "is half good": "rest(ok=2, why='a reason')",
    "sends no URL": "rest(url='')",
    "sends a URL with a control": "rest(url='https://x/\\x1b[2J')",
    "sends a long URL": "rest(url=1025 * 'u')",
    "sends a short hash": "rest(sha=63 * 'a')",
    "sends a lookup file without a hash": "rest(lookup='https://x/y')",
    "sends a time that no clock has": "rest(time=1 << 60)",
    "sends a time before all": "rest(time=1 << 63)",
    "expires when no clock does": "rest(expires=1 << 60)",
    "expires before all": "rest(expires=1 << 63)",
    "is deprecated twice": "rest(deprecated=2)",
    "sends a long reason": "rest(deprecated=1, words=501 * 'w')",
    "leaves more out than there is": "rest(left_out=1 << 40)",
    "sends more than the rest": "rest(more=b'x')",
}


@pytest.mark.sample(8)
@pytest.mark.parametrize("says", REFUSED_MANIFESTS.values(), ids=REFUSED_MANIFESTS)
def test_a_manifest_of_a_worker_that_is_none_of_ours_is_an_error(hostile, says):
    refused(hostile, "manifest", MANIFEST + says)


def test_what_a_worker_says_of_a_manifest_is_printed_without_its_controls(hostile):
    evil = r"'\x1b[2J\n\x7f'"
    done = hostile.run("manifest", f"{MANIFEST}rest(ok=0, why={evil}, deprecated=1, words={evil})")
    contains(done.stderr.decode(), r"no longer serve this format: \x1b[2J\x0a\x7f; install a newer keyveto",
             r"badkeysdata.json: \x1b[2J\x0a\x7f")


def test_a_worker_cannot_have_another_list_installed(hostile):
    """A lie about the hash is one about which list is wanted, and what is installed has it."""
    done = hostile.run("manifest", f"{MANIFEST}rest(url='{hostile.place.publisher.manifest['blocklist_url']}')")
    contains(done.stderr.decode(), "its SHA-256 is not the one in the manifest")
    assert hostile.place.snapshot() == {}


FOUND = """
def records(n=1000, why="", sha=64 * "a", more=b""): result(number(n), text(why), text(sha), more)
"""
REFUSED_RECORDS = ANY | {
    "has more records than bytes": "records(n=1001)",
    "has more records than a list": "records(n=1 << 40)",
    "has no records": "records(n=0)",
    "sends no hash": "records(sha='')",
    "sends a short hash": "records(sha=63 * 'a')",
    "sends a hash with a control": "records(sha=63 * 'a' + chr(27))",
    "sends a long reason": "records(why=128 * 'w')",
    "tells it twice": "records(); records()",
    "prints, too": "os.write(1, b'forged'); records()",
    "sends more": "records(more=b'x')",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("says", REFUSED_RECORDS.values(), ids=REFUSED_RECORDS)
def test_a_list_of_a_worker_that_is_none_of_ours_is_an_error(hostile, says):
    hostile.place.update()
    hostile.place.publisher.serve(records(1000, seed=1), "2026-11-20T10:00:00+00:00")
    refused(hostile, "records", FOUND + says)


def test_a_list_is_known_by_the_hash_of_another_process_than_the_one_that_parsed_it(hostile):
    wanted = hostile.place.publisher.manifest["blocklist_sha256"]
    hostile.place.publisher.list.body = lzma.compress(records(999, seed=7))
    done = hostile.run("records", f"{FOUND}records(n=999, sha='{wanted}')")
    contains(done.stderr.decode(), "its SHA-256 is not the one in the manifest")
    assert done.returncode == 2 and not hostile.place.target.exists(), done


UNPACKED = """
def unpacked(end=1, error=0, why="", more=b""): result(number(end), number(error), text(why), more)
"""
REFUSED_UNPACKED = ANY | {
    "ends as none does": "unpacked(end=6)",
    "is damaged for no reason": "unpacked(end=0)",
    "is done for a reason": "unpacked(why='a reason')",
    "has no such error": "unpacked(end=5, error=1 << 20)",
    "sends a long reason": "unpacked(end=0, why=128 * 'w')",
    "ends twice": "unpacked(); unpacked()",
    "sends more": "unpacked(more=b'x')",
}


@pytest.mark.parametrize("says", REFUSED_UNPACKED.values(), ids=REFUSED_UNPACKED)
def test_what_unpacks_and_is_none_of_ours_is_an_error(hostile, says):
    refused(hostile, "unpack", UNPACKED + says)


LIES = {
    "an empty file": ("", "damaged, or not an exact list"),
    "another list": ("os.pwrite(fds[1], bytes(range(16)), 0)", "its SHA-256 is not the one in the manifest"),
    "a file that is too large": ("try: os.ftruncate(fds[1], 1 << 40)\nexcept OSError: pass",
                                 "damaged, or not an exact list"),
}


@pytest.mark.parametrize("says, message", LIES.values(), ids=LIES)
def test_what_was_unpacked_is_known_by_what_another_process_reads(hostile, says, message):
    done = hostile.run("unpack", f"{UNPACKED}{says}\nunpacked()")
    contains(done.stderr.decode(), message)
    assert hostile.place.snapshot() == {}


@pytest.mark.sample(5)
@pytest.mark.parametrize("says", [*ANY.values(), "result(number(1001))", "result(number(1), b'x')",
                                  "result(number(1)); result(number(1))"])
def test_losses_of_a_worker_that_is_none_of_ours_are_an_error(hostile, says):
    hostile.place.update()
    hostile.place.publisher.serve(records(1000, seed=1), "2026-11-20T10:00:00+00:00")
    refused(hostile, "lost-records", says)


HEAD = """
def head(whole=0, error=0, err=0, revision=1, hashes=10, length=16, more=b""):
    raw = b"pkbfv1" + struct.pack(">IQIBB", revision, 1700000000, 200, hashes, length)
    result(number(whole), number(error), number(err), *([text(raw)] if err == 0 else []), more)
"""
REFUSED_HEADS = ANY | {
    "has no such error": "head(whole=99)",
    "has no such errno": "head(whole=3, error=1 << 20)",
    "has no such error of a header": "head(whole=1, err=99)",
    "is good without a header": "head(err=1)",
    "has no hash function": "head(hashes=0)",
    "has more bits than any": "head(length=41)",
    "has fewer bits than a byte": "head(length=2)",
    "has more bits than its file": "head(length=17)",
    "sends half a header": "result(number(0), number(0), number(0), text(b'pkbfv1'))",
    "sends no header": "result(number(0), number(0), number(0))",
    "sends it twice": "head(); head()",
    "sends more": "head(more=b'x')",
}


@pytest.mark.parametrize("says", REFUSED_HEADS.values(), ids=REFUSED_HEADS)
def test_a_header_of_a_worker_that_is_none_of_ours_is_an_error(filter_place, scratch, says):
    filter_place.put(a_filter())
    refused(Hostile(filter_place, scratch), "filter-head", HEAD + says)


JUDGED = """
def judged(ok=1, hashes=10, length=16, set=1000, old=1000, lost=0, more=b""):
    raw = b"pkbfv1" + struct.pack(">IQIBB", 2, 1700000000, 200, hashes, length)
    result(number(ok), text(raw), number(set), number(old), number(lost), more)
"""
REFUSED_JUDGED = ANY | {
    "is half good": "judged(ok=2)",
    "is no good, and has facts": "judged(ok=0)",
    "has no hash function": "judged(hashes=0)",
    "has another size": "judged(length=17)",
    "has no bits": "judged(set=0)",
    "has more bits set than there are": "judged(set=65537)",
    "has more bits of the old one than there are": "judged(old=65537)",
    "lost more than there was": "judged(lost=1001)",
    "tells it twice": "judged(); judged()",
    "sends more": "judged(more=b'x')",
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("says", REFUSED_JUDGED.values(), ids=REFUSED_JUDGED)
def test_a_filter_of_a_worker_that_is_none_of_ours_is_an_error(filter_place, scratch, says):
    filter_place.put(a_filter())
    filter_place.page.body = a_filter(2)
    refused(Hostile(filter_place, scratch), "judge-filter", JUDGED + says)


def test_a_worker_that_says_no_more_than_no_installs_nothing(filter_place, scratch):
    filter_place.put(a_filter())
    filter_place.page.body = a_filter(2)
    done = Hostile(filter_place, scratch).run("judge-filter", "result(number(0))")
    assert done.returncode == 2, done
    assert filter_place.target.read_bytes() == a_filter()
