# SPDX-License-Identifier: ISC
"""What others wrote of what is published, and private keys of others, are read by a process that has nothing.

test_walls.py tells how a parser that an attacker has taken over is played, and test_walls_lists.py has programs in the
worker's place, which are none of ours, for the tasks that keyveto update has, too.
"""

import json
import lzma
import os
import subprocess

import blocklist
import pkbf
import pytest

from program import PATIENCE, STARTED, contains, copy_programs
from published import Published, sha256
from runs import run
from test_publish import Publication, a_list, manifest_of, revision
from test_walls import MARK, exploit_in, fixture_exploit, is_printable, no_asan  # noqa: F401 (the fixture)
from test_walls_lists import ANY, UNPACKED, put_task

NAMESPACE = "keyveto-index"


def marked_filter(number):
    """A revision with the mark among its bits; the next one has all bits of it."""
    made = pkbf.Filter.from_bytes(revision(number))
    # The mark sets bits, too.
    made.entries += 20
    bits = made.to_bytes()
    return bits[:1000] + MARK + bits[1000 + len(MARK):]


def marked_list(number):
    """A list with the mark in its first two records, which it fills together with 7 bytes before them."""
    made = blocklist.Blocklist()
    others = {bytes([record[0] | 0x80]) + record[1:] for record in blocklist.Blocklist(a_list(number)).records}
    made.records = {bytes(7) + MARK[:9], MARK[9:], *others}
    return made.encode()


class Marked(Publication):
    """A published folder with the first revisions, which everybody may read."""

    def __init__(self, scratch):
        super().__init__(scratch)
        scratch.chmod(0o755)
        self.publish(self.put("f", revision(1)), self.put("l", a_list(1)))

    def resign(self, **members):
        """The index with more members."""
        text = Published(self.folder, self.signers).text
        text = json.dumps({**json.loads(text), **members}, separators=(",", ":")).encode() + b"\n"
        (self.folder / "index").write_bytes(text + self.signer.sign(text, NAMESPACE))

    def hand_to_nobody(self):
        for path in (self.scratch, *self.scratch.rglob("*")):
            os.chown(path, 65534, 65534)


@pytest.fixture(name="pub")
def fixture_pub(scratch):
    if os.geteuid() != 0:
        pytest.fail("this test needs root, who has most to lose")
    return Marked(scratch)


@pytest.fixture(scope="module", name="front")
def fixture_front(tmp_path_factory):
    """The exploit in keyveto-publish alone: the workers that it starts do their work."""
    made = exploit_in(tmp_path_factory.mktemp("front"))
    for started in STARTED:
        link = made.folder / "real/keyveto-publish" / started.name
        if link.is_symlink():
            link.unlink()
            link.symlink_to(started)
    return made


def mark_signature(pub):
    with open(pub.folder / "index", "ab") as out:
        out.write(MARK)
    return [pub.put("f", revision(2))]


def mark_index(pub):
    pub.resign(**{"marked JSON": 1})
    return [pub.put("f", revision(2))]


def mark_sources(pub):
    pub.put("l.sources", b"# " + MARK + b"\n7 own\n")
    return [pub.put("l", a_list(2))]


def mark_manifest(pub):
    pub.put("blocklist.dat", a_list(2))
    return [pub.put("badkeysdata.json", manifest_of(a_list(2), **{"marked JSON": 1}))]


def mark_list_beside(pub):
    pub.put("blocklist.dat", marked_list(2))
    return [pub.put("badkeysdata.json", manifest_of(marked_list(2)))]


def mark_packed_beside(pub):
    """liblzma needs no mark."""
    pub.put("blocklist.dat.xz", lzma.compress(a_list(2)))
    return [pub.put("badkeysdata.json", manifest_of(a_list(2)))]


MARKS = {
    "signature": mark_signature,
    "index": mark_index,
    "filter": lambda pub: [pub.put("f", marked_filter(2))],
    "list": lambda pub: [pub.put("l", marked_list(2))],
    "json that is a list": lambda pub: [pub.put("l.json", marked_list(2))],
    "sources": mark_sources,
    "manifest": mark_manifest,
    "list beside a manifest": mark_list_beside,
    "packed list beside a manifest": mark_packed_beside,
    "what is packed": lambda pub: [pub.put("f", revision(2))],
    "what is published": lambda pub: [pub.scratch / "f"],
}


@pytest.mark.sample(5)
@no_asan
@pytest.mark.parametrize("user", (False, True), ids=("root", "user"))
@pytest.mark.parametrize("what", MARKS)
def test_a_parser_of_publish_that_is_taken_over_has_no_power(exploit, pub, what, user):
    words = MARKS[what](pub)
    before = (pub.folder / "index").read_bytes()
    if user:
        pub.hand_to_nobody()
    could, names, done = exploit.run("publish", "--sign", pub.signer.key, pub.folder, *words, user=user)
    assert names == {"keyveto-worker"}, f"the exploit ran in {names}: {done}"
    # It has the result's socket, and the files that it was handed.
    assert could <= {("keyveto-worker", "writes elsewhere"), ("keyveto-worker", "asks for paths")}
    assert done.returncode == 2, done
    assert b": cannot be read: the worker " in done.stderr, done
    assert (pub.folder / "index").read_bytes() == before


@no_asan
@pytest.mark.parametrize("user", (False, True), ids=("root", "user"))
def test_publish_itself_reads_nothing_that_others_wrote(front, pub, user):
    """The mark is in all that it hands over, and what comes of it is published."""
    manifest = pub.put("badkeysdata.json", manifest_of(marked_list(1), **{"marked JSON": 1}))
    pub.put("blocklist.dat.xz", lzma.compress(marked_list(1)))
    pub.put("own.list.sources", b"# date 2026-11-20\n# " + MARK + b"\n7 own\n")
    if user:
        pub.hand_to_nobody()
    for number in (1, 2):
        words = pub.put("own.filter", marked_filter(number)), pub.put("own.list", marked_list(number)), manifest
        pub.resign(**{"marked JSON": 1})
        os.chown(pub.folder / "index", 65534 if user else 0, -1)
        could, names, done = front.run("publish", "--sign", pub.signer.key, pub.folder, *words, user=user)
        assert (could, names) == (set(), set()), f"the exploit ran in {names}: {done}"
        assert done.returncode == 0, done
        now = Published(pub.folder, pub.signers)
        assert now.contents == {"f": revision(1), "l": a_list(1), "own.filter": marked_filter(number),
                                "own.list": marked_list(number), "blocklist.dat": marked_list(1)}
        assert MARK in now.companion("own.list", "sources")
    assert now.follow("own.filter", marked_filter(1)) == marked_filter(2)
    assert now.follow("own.list", marked_list(1)) == marked_list(2)


# --- a program in the worker's place --------------------------------------------

class Hostile:
    """Does one task; ours does the others."""

    def __init__(self, folder):
        folder.mkdir()
        self.program, self.worker = copy_programs(folder), folder / "keyveto-worker"
        self.worker.unlink()

    def run(self, task, says, *words):
        put_task(self.worker, task, says)
        environment = {name: value for name, value in os.environ.items() if name not in ("TZ", "SOURCE_DATE_EPOCH")}
        done = subprocess.run([self.program, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=PATIENCE, env=environment)
        assert is_printable(done.stdout) and is_printable(done.stderr), done
        return done


@pytest.fixture(name="hostile")
def fixture_hostile(scratch):
    return Hostile(scratch / "programs")


def publish(hostile, pub, task, says):
    words = pub.put("f", revision(2)), pub.put("badkeysdata.json", manifest_of(a_list(2)))
    pub.put("blocklist.dat.xz", lzma.compress(a_list(2)))
    return hostile.run(task, says, "publish", "--sign", pub.signer.key, pub.folder, *words)


JUDGED = """
def judged(good=1, revision=2, dated=0, date=0, more=b""):
    result(number(good), number(revision), number(dated), number(date), more)
"""
MADE = """
def made(end=1, why="", more=b""): result(number(end), text(why), more)
def write_delta(): os.pwrite(fds[2], b"x", 0)
def write_new(): os.sendfile(fds[3], fds[1], 0, os.fstat(fds[1]).st_size)
"""
REFUSED = {
    "judge": (JUDGED, {
        "is half good": "judged(good=2)",
        "has a revision above all": "judged(revision=1 << 32)",
        "is dated twice": "judged(dated=2)",
        "tells it twice": "judged(); judged()",
        "sends more": "judged(more=b'x')",
    }),
    "pack": ("", {
        "is half good": "result(number(2))",
        "says it twice": "result(number(1)); result(number(1))",
        "sends more": "result(number(1), b'x')",
    }),
    "delta": (MADE, {
        "ends as none does": "made(end=3)",
        "writes nothing": "made()",
        "sends a long reason": "made(end=2, why=256 * 'w')",
        "ends twice": "write_delta(); made(); made()",
        "sends more": "write_delta(); made(more=b'x')",
    }),
    "split": ("", {"finds more than there may be": "result(number(1 << 40))"}),
    "filter-head": ("", {}),
    "index": ("", {}),
    "manifest": ("", {}),
    "hash": ("", {
        "has no SHA-256": "result(number(0), text(''))",
        "has half a SHA-256": "result(number(0), text(32 * 'a'))",
    }),
    "unpack": (UNPACKED, {"ends as none does": "unpacked(end=6)"}),
}
CASES = [(task, name) for task, (_, says) in REFUSED.items() for name in {**ANY, **says}]
# make check has every third: what is checked is the same code for all tasks.
CASES = [pytest.param(*case, marks=[pytest.mark.campaign] if number % 3 else []) for number, case in enumerate(CASES)]


@pytest.mark.sample(6)
@pytest.mark.parametrize("task, name", CASES)
def test_a_worker_that_is_none_of_ours_has_nothing_published(hostile, pub, task, name):
    start, says = REFUSED[task]
    before = (pub.folder / "index").read_bytes()
    done = publish(hostile, pub, task, start + {**ANY, **says}[name])
    assert (done.returncode, done.stdout) == (2, b""), done
    assert b": cannot be read: the worker " in done.stderr, done
    assert (pub.folder / "index").read_bytes() == before
    Published(pub.folder, pub.signers)


LIES = {
    "packs nothing": ("pack", "result(number(1))", "what was packed is not what was read (another SHA-256); "),
    "packs something else": ("pack", "import lzma; os.write(fds[1], lzma.compress(b'else')); result(number(1))",
                             "what was packed is not what was read (another SHA-256); "),
    "packs more": ("pack", "import lzma; os.write(fds[1], lzma.compress(bytes(100000))); result(number(1))",
                   "what was packed is not what was read (unpacks to more than its 8216 bytes); "),
    "unpacks something else": ("unpack", UNPACKED + "os.pwrite(fds[1], b'else', 0); unpacked()",
                               "blocklist.dat.xz: is not the list that the manifest names (SHA-256 "),
    # The system lets no file grow beyond what is made of it.
    "packs for ever": ("pack", "while os.write(fds[1], bytes(1 << 20)): pass", "f: cannot be read: the worker "),
    "makes a delta for ever": ("delta", "while os.write(fds[2], bytes(1 << 20)): pass",
                               "f: cannot be read: the worker "),
    "makes another file": ("delta", MADE + "write_delta(); made()",
                           "the delta does not give the file again (another SHA-256); "),
    "finds another SHA-256": ("hash", "result(number(0), text(64 * 'a'))", "is not the list that the manifest names"),
    "cannot read": ("hash", f"result(number(5), text('{64 * 'a'}'))", "cannot be read: Input/output error"),
    "has no revision": ("judge", JUDGED + "judged(revision=0)", "is revision 0, and differs from the published"),
    "is of the future": ("judge", JUDGED + "judged(dated=1, date=1 << 37)", "which is in the future"),
    "says no more than no": ("judge", JUDGED + "judged(good=0)", ""),
    "finds no signature": ("split", "result(number(os.fstat(fds[0]).st_size))", "is no index that can be continued: "),
    "finds no index": ("index", "result(text(b'\\x1b[2J'), text(64 * 'a'))",
                       r"is no index that can be continued: \x1b[2J; to start again"),
    "writes another text": ("index", "try: os.pwrite(fds[0], b'x', 0)\nexcept PermissionError: sys.exit(2)",
                            "index: cannot be read: the worker could not do it"),
    "has another signer": ("signer", "result(number(0), number(0), text(b'Good \"keyveto-index\" signature with X'))",
                           ": has no good signature by "),
    "has no signer": ("signer", "result(number(0), number(256), text(b'\\x1b[2J'))",
                      r"ssh-keygen does not verify the signature that it made: \x1b[2J"),
    "is no ssh-keygen": ("signer", "sys.exit(2)", ": its signature cannot be verified: the worker "),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("task, says, message", LIES.values(), ids=LIES)
def test_what_a_worker_says_is_known_by_what_another_reads(hostile, pub, task, says, message):
    before = (pub.folder / "index").read_bytes()
    if message == ": has no good signature by ":
        # It says so of the new index, too.
        (pub.folder / "index").write_bytes(before.replace(b'"serial":1', b'"serial":9'))
        before = (pub.folder / "index").read_bytes()
        says = "import subprocess\n" + says.replace("with X", "with ' + who + b'").replace(
            "result(", "who = b'X' if b'\"serial\":9' in os.pread(fds[0], 1 << 20, 0) else b'Y'\nresult(", 1)
    done = publish(hostile, pub, task, says)
    assert (done.returncode, done.stdout) == (2, b""), done
    contains(done.stderr.decode().replace("I/O error", "Input/output error"), message)     # musl's text
    assert (pub.folder / "index").read_bytes() == before


def test_an_empty_file_is_not_published_whatever_a_worker_says_of_it(hostile, pub):
    """With it, the index would be one that nobody reads."""
    before = (pub.folder / "index").read_bytes()
    done = hostile.run("judge", JUDGED + "judged()", "publish", "--sign", pub.signer.key, pub.folder,
                       pub.put("empty", b""))
    assert (done.returncode, done.stdout) == (2, b""), done
    contains(done.stderr.decode(), "empty: cannot be read: the worker says what it never says")
    assert (pub.folder / "index").read_bytes() == before


def test_a_damaged_file_of_the_folder_is_not_believed_to_be_whole(hostile, pub):
    """The packed file may be anybody's: whatever the worker makes of it, it is packed again."""
    packed = pub.folder / "files" / f"{sha256(revision(1))}.xz"
    packed.write_bytes(b"damaged")
    done = hostile.run("unpack", UNPACKED + "unpacked()", "publish", "--sign", pub.signer.key, pub.folder,
                       pub.put("f", revision(1)))
    assert done.returncode == 2, done
    run("publish", "--sign", pub.signer.key, pub.folder, pub.scratch / "f", status=0)
    assert Published(pub.folder, pub.signers).contents["f"] == revision(1)
