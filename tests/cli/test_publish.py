# SPDX-License-Identifier: ISC
"""keyveto-publish: the folder that it makes, read by served.py."""

import functools
import json
import lzma
import os
import random
import re
import shutil
import signal
import stat
import subprocess
import threading

import blocklist
import pkbf
import pytest
from filter_runs import names
from program import PATIENCE, PUBLISH, attempt, contains, equal, keyveto, lacks, wait_until
from publisher import SOURCES, records
from runs import nothing_raw, tool
from served import Served, Torn, seconds, sha256
from update_place import Signer

EPOCH = 1795402800      # 2026-11-23T03:00:00Z
DAY = 86400
PATCH = re.compile(r".+\.from-[0-9a-f]{16}\.zst")


@functools.cache
def revision(number, entries=300, p=16, k=10):
    """Revision number of a filter: each has a few bits more than the one before."""
    made = pkbf.Filter.create(k, p, revision=number, time=1700000000 + number * DAY)
    made.entries = entries + 2 * number
    rnd = random.Random("filter")
    for _ in range(k * made.entries):
        bit = rnd.randrange(2 ** p)
        made.bits[bit // 8] |= 1 << (7 - bit % 8)
    return made.to_bytes()


@functools.cache
def a_list(number, n=500):
    """Version number of a list: each has lost a record and has got three."""
    rnd = random.Random("list")
    all_records = [rnd.randbytes(15) + b"\x07" for _ in range(n + 3 * number)]
    made = blocklist.Blocklist()
    made.records = set(all_records[number:])
    return made.encode()


def manifest_of(data, **members):
    return json.dumps({"bkformat": 0, "date": "2026-11-20T10:00:00+00:00", "blocklists": SOURCES,
                       "blocklist_url": "https://update.example.org/v0/blocklist.dat.xz",
                       "blocklist_sha256": sha256(data), **members}).encode()


class Publication:
    """A folder, files to publish there, and the publisher's key."""

    def __init__(self, scratch, kind="ed25519"):
        self.scratch = scratch
        self.folder, self.old = scratch / "pub", scratch / "pub.old"
        self.signer = Signer(scratch, f"key-{kind}", kind)
        self.signers = f"publisher {self.signer.public}\n"
        self.now = EPOCH

    def put(self, name, data):
        path = self.scratch / name
        path.write_bytes(data)
        return path

    def environment(self):
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.now)}

    def words(self, *words):
        return [self.folder, *words, "--sign", self.signer.key]

    def run(self, *words, status=0, sign=True, **environment):
        """Publishes: (standard output, messages without "keyveto-publish: ")."""
        done = keyveto(*(self.words(*words) if sign else (self.folder, *words)), program=PUBLISH, status=status,
                       env={**self.environment(), **environment})
        nothing_raw(done.stdout.encode())
        nothing_raw(done.stderr.encode())
        lines = done.stderr.splitlines()
        assert all(line.startswith("keyveto-publish: ") for line in lines), done.stderr
        temporary = [name for folder in (self.folder, self.old) if folder.is_dir() for name in names(folder)
                     if name.startswith(".")]
        equal(temporary, [], "what the run left")
        return done.stdout, [line.removeprefix("keyveto-publish: ") for line in lines]

    def publish(self, *words, **options):
        """Publishes without a message, and reads the folder: (it, standard output)."""
        out, messages = self.run(*words, **options)
        equal(messages, [])
        return Served(self.folder, self.signers), out

    def snapshot(self):
        return {path: (path.stat().st_ino, path.read_bytes()) for path in self.folder.rglob("*") if path.is_file()}

    def refuse(self, *words, **options):
        """The message of a run that changes nothing that is served."""
        before = self.snapshot()
        out, messages = self.run(*words, status=2, **options)
        equal((out, len(messages)), ("", 1), str(messages))
        equal(self.snapshot(), before)
        return messages[0]

    def traced(self, options, *words):
        done = attempt("strace", "-qq", "-o", self.scratch / "trace", *options, "/usr/bin/python3", PUBLISH,
                       *self.words(*words), env=self.environment())
        return done.returncode, done.stderr


@pytest.fixture(name="pub")
def fixture_pub(scratch):
    return Publication(scratch)


def test_a_filter_and_a_list_are_published_whole_and_signed(pub):
    f, blocks = pub.put("filter.pkbf", revision(1)), pub.put("own.dat", a_list(1))
    pub.put("own.dat.sources", b"# date 2026-11-20\n7 own\n9 more owner/repo main/keys\n")
    old = os.umask(0o077)
    try:
        now, out = pub.publish(f, blocks)
    finally:
        os.umask(old)
    equal(now.contents, {"filter.pkbf": revision(1), "own.json": a_list(1)})
    equal(now.surplus(), set())
    equal(now.manifests["own.json"], {
        "bkformat": 0, "date": "2026-11-20T00:00:00Z", "expires": "2026-12-23T03:00:00Z",
        "blocklist_url": f"own-{sha256(a_list(1))[:16]}.dat.xz", "blocklist_sha256": sha256(a_list(1)),
        "blocklists": [{"id": 7, "name": "own"}, {"id": 9, "name": "more", "repo": "owner/repo", "path": "main/keys"}]})
    equal([stat.S_IMODE(folder.stat().st_mode) for folder in (pub.folder, pub.old)], [0o755, 0o700])
    contains(out, f"{pub.folder}: filter.pkbf: published, revision 1; signed with ED25519 key SHA256:",
             f"{pub.folder}: own.json: published, 502 records of 2026-11-20T00:00:00Z, expires 2026-12-23T03:00:00Z; "
             "signed with ED25519 key SHA256:")


def test_there_are_patches_from_the_last_seven_revisions(pub):
    for number in range(1, 13):
        now, out = pub.publish(pub.put("filter.pkbf", revision(number)), pub.put("l", a_list(number)))
    contains(out, "filter.pkbf: updated, revision 11 -> 12; 7 patches of ", "l.json: updated, 524 records of ",
             "; 7 patches of ")
    for number in range(1, 12):
        expected = (revision(12), a_list(12)) if number >= 5 else (None, None)
        equal((now.follow("filter.pkbf", revision(number)), now.follow("l.json", a_list(number))), expected,
              f"revision {number}")
    equal(len(now.patch("l.json", a_list(11))) < 200, True)
    # Whoever read an older manifest finds its list, and a patch to that.
    equal(now.surplus(), {f"l-{sha256(a_list(number))[:16]}.dat.xz" for number in range(5, 12)})
    before = f"l-{sha256(a_list(11))[:16]}.dat.from-{sha256(a_list(10))[:16]}.zst"
    assert (pub.folder / before).exists()
    assert not list(pub.folder.glob(f"l-{sha256(a_list(4))[:16]}*")), names(pub.folder)
    equal(sorted(names(pub.old)), sorted([f"filter.pkbf.{sha256(revision(number))[:16]}" for number in range(5, 13)] +
                                         [f"l.{sha256(a_list(number))[:16]}" for number in range(5, 13)]))


def test_patches_that_together_exceed_half_of_the_file_are_left_out(pub):
    """Each revision has as many bits more."""
    for number in range(1, 8):
        now, out = pub.publish(pub.put("f", revision(number, entries=300 + 30 * number)))
    sizes = [path.stat().st_size for path in now.patches("f")]
    assert 0 < len(sizes) < 6 and sum(sizes) <= len(revision(1)) // 2, sizes
    contains(out, f"; {len(sizes)} patch", f" of {sum(sizes)} bytes;")
    # They are those from the newest.
    equal([now.follow("f", revision(number, entries=300 + 30 * number)) is not None for number in range(1, 7)],
          [False] * (6 - len(sizes)) + [True] * len(sizes))
    # None of an unlike one: what an older one leads to is another file now.
    now, out = pub.publish(pub.put("f", revision(8, entries=1500, k=9)))
    equal(now.patches("f"), [])
    lacks(out, "patch")


def test_a_manifest_is_renewed_each_day(pub):
    paths = pub.put("f", revision(1)), pub.put("l", a_list(1))
    pub.put("l.sources", b"# date 2026-11-20\n")
    pub.publish(*paths)
    before = pub.snapshot()
    for day in range(1, 4):
        pub.now = EPOCH + day * DAY
        now, out = pub.publish("--expires", 5, *paths)
        equal((now.manifests["l.json"]["date"], seconds(now.manifests["l.json"]["expires"])),
              ("2026-11-20T00:00:00Z", pub.now + 5 * DAY))
        contains(out, "f: unchanged, revision 1;", "l.json: unchanged, 502 records of 2026-11-20T00:00:00Z, expires ")
    after = pub.snapshot()
    same = {path for path in after if before[path][0] == after[path][0] or before[path][1] == after[path][1]}
    equal({path.name for path in after} - {path.name for path in same}, {"l.json", "l.json.sig"})
    # The time that keyveto update writes says more than the day.
    pub.put("l.sources", b"# date 2026-11-20\n# time 2026-11-20T10:00:00Z\n# sha256 0\n")
    equal(pub.publish(*paths)[0].manifests["l.json"]["date"], "2026-11-20T10:00:00Z")
    # A list without a date has that of the run.
    (pub.scratch / "l.sources").unlink()
    equal(pub.publish(*paths)[0].manifests["l.json"]["date"], "2026-11-26T03:00:00Z")


def test_each_revision_has_a_second_of_its_own(pub):
    """A web server's ETag is often size and second of modification; rsync compares these, too."""
    seen = []
    for number in range(1, 5):
        pub.publish(pub.put("f", revision(number)), pub.put("l", a_list(number)))
        status = [(pub.folder / name).stat() for name in ("f", "f.sig", "l.json", "l.json.sig")]
        seen.append([(one.st_size, int(one.st_mtime)) for one in status])
        if number == 3:             # the clock was wrong
            for name in ("f", "f.sig", "l.json", "l.json.sig"):
                os.utime(pub.folder / name, (2 ** 31, 2 ** 31))
    for one in zip(*seen):
        equal(len({size for size, _ in one}), 1, "sizes")
        assert one[0][1] < one[1][1] < one[2][1], one
        equal(one[3][1], 2 ** 31 + 1)


@pytest.mark.parametrize("kind", ("rsa", "ecdsa"))
def test_other_kinds_of_keys_sign(scratch, kind):
    """Also those with another signature each time: one that still holds stays, or all would fetch the filter again."""
    pub = Publication(scratch, kind)
    path = pub.put("f", revision(1))
    pub.publish(path)
    before = (pub.folder / "f.sig").read_bytes()
    contains(pub.publish(path)[1], f"; signed with {kind.upper()} key SHA256:")
    equal((pub.folder / "f.sig").read_bytes(), before)
    # A new key.
    pub.signer = Signer(scratch, "other")
    pub.signers = f"publisher {pub.signer.public}\n"
    pub.publish(path)


@pytest.mark.parametrize("packed", (False, True))
def test_a_manifest_of_badkeys_is_mirrored(pub, packed):
    versions = [records(700, 1), blocklist.Blocklist(records(700, 1) + records(5, 2)).encode()]
    for data in versions:
        path = pub.put("badkeysdata.json", manifest_of(data))
        pub.put("blocklist.dat.xz" if packed else "blocklist.dat", lzma.compress(data) if packed else data)
        now, out = pub.publish(path)
        equal(now.contents, {"badkeysdata.json": data})
        equal((pub.folder / "badkeysdata.json").read_bytes(), path.read_bytes())
        if packed:
            equal((pub.folder / "blocklist.dat.xz").read_bytes(), lzma.compress(data))
        contains(out, f"{len(data) // 16} records of 2026-11-20T10:00:00Z;")
    equal(now.follow("badkeysdata.json", versions[0]), versions[1])
    equal(now.surplus(), set())
    before = pub.snapshot()
    contains(pub.publish(path)[1], "badkeysdata.json: unchanged, 701 records")
    equal([data for _, data in pub.snapshot().values()], [data for _, data in before.values()])
    # Another manifest of the same list.
    now, _ = pub.publish(pub.put("badkeysdata.json", manifest_of(data, date="2026-11-21T10:00:00Z")))
    equal((now.manifests["badkeysdata.json"]["date"], len(now.patches("badkeysdata.json"))),
          ("2026-11-21T10:00:00Z", 1))


def test_a_mirror_goes_through_with_its_own_signature(pub):
    """Of another publisher who signs, whose followers' keys then hold, too."""
    other = Signer(pub.scratch, "other")
    data = records(50)
    path = pub.put("badkeysdata.json", manifest_of(data))
    pub.put("blocklist.dat", data)
    out, messages = pub.run(path, sign=False)
    equal(messages, [])
    lacks(out, "signed")
    equal(names(pub.folder), ["badkeysdata.json", "blocklist.dat.xz"])
    pub.put("badkeysdata.json.sig", other.sign(path.read_bytes(), "keyveto-list"))
    for sign in (False, True):
        pub.run(path, sign=sign)
        Served(pub.folder, f"publisher {other.public}\n")
    for bad in (other.sign(path.read_bytes()), other.sign(b"another", "keyveto-list"), b"none"):
        pub.put("badkeysdata.json.sig", bad)
        contains(pub.refuse(path), "badkeysdata.json: its signature is no good one in the namespace keyveto-list")


def test_a_manifest_without_its_list_is_refused(pub):
    data = records(50)
    path = pub.put("badkeysdata.json", manifest_of(data))
    contains(pub.refuse(path), "the list that it names, blocklist.dat.xz or blocklist.dat, is not beside it")
    pub.put("blocklist.dat", records(50, 5))
    contains(pub.refuse(path), "blocklist.dat: is not the list that the manifest names (SHA-256 ")
    for bad in (lzma.compress(data)[:-9], lzma.compress(data + b"x"), b""):
        pub.put("blocklist.dat.xz", bad)
        contains(pub.refuse(path), "blocklist.dat.xz: is not the list that the manifest names")
    pub.put("blocklist.dat.xz", lzma.compress(data))
    equal(pub.publish(path)[0].contents, {"badkeysdata.json": data})
    for members, reason in (({"bkformat": 1}, "is in format 1"), ({"bkformat": False}, "is in format False"),
                            ({"bkformat": None}, "is in format None"),
                            ({"date": "2026-11-19"}, "older than the published one of 2026-11-20T10:00:00Z"),
                            ({"date": "2026-13-19"}, "its date is not"), ({"date": 7}, "its date is not"),
                            ({"date": "2026-02-30"}, "its date is not"),
                            ({"date": "2026-11-25T00:00:00Z"}, "is in the future"),
                            ({"blocklist_sha256": sha256(data)[1:]}, "names no list with a SHA-256"),
                            ({"blocklist_url": 7}, "names no list with"),
                            ({"blocklist_url": "https://x/"}, "cannot be published under this name"),
                            ({"blocklist_url": "https://x/l.dat"}, "'l.dat': cannot be published under this name"),
                            ({"blocklist_url": "https://x/.h.xz?a/b"}, "'.h.xz': cannot be published under"),
                            ({"blocklist_url": "../blocklist.dat.xz"}, "names a list that is not beside it: ../bl"),
                            ({"blocklist_url": "/v0/blocklist.dat.xz"}, "names a list that is not beside it")):
        contains(pub.refuse(pub.put("badkeysdata.json", manifest_of(data, **members))), reason)
    for text in (b"[" * 100000, b"{", b"\xff", b"[]", b'"x"', b""):
        contains(pub.refuse(pub.put("badkeysdata.json", text)), "badkeysdata.json: ", "manifest of badkeys")
    contains(pub.refuse(pub.put("badkeysdata.json", b" " * (1 << 20) + b"{}")), "more than 1048576 bytes")
    for date, shown in (("2026-11-20 12:00", "12:00:00"), ("2026-11-21T10:00:07.5+02:30", "07:30:07"),
                        ("2026-11-21T23:00-0030", "23:30:00"), ("2026-11-22", "00:00:00")):
        contains(pub.publish(pub.put("badkeysdata.json", manifest_of(data, date=date)))[1], f"T{shown}Z;")


def test_a_bomb_beside_a_manifest_ends(pub):
    """256 MiB in 40 KiB: no list, which is said after the first record that is out of order."""
    zeros = subprocess.run("head -c 256M /dev/zero | xz -zc0", shell=True, capture_output=True, check=True).stdout
    pub.put("blocklist.dat.xz", zeros)
    path = pub.put("badkeysdata.json", manifest_of(b""))
    contains(pub.refuse(path), "is not the list that the manifest names")


def test_the_list_beside_a_manifest_is_a_regular_file(pub):
    data = records(50)
    path = pub.put("badkeysdata.json", manifest_of(data))
    pub.put("blocklist.dat", data)
    for name in ("badkeysdata.json.sig", "blocklist.dat.xz"):
        os.mkfifo(pub.scratch / name)
        contains(pub.refuse(path), f"{name}: not a regular file")
        (pub.scratch / name).unlink()
    pub.publish(path)


def test_what_followers_would_refuse_is_refused(pub):
    pub.publish(pub.put("f", revision(5)), pub.put("l", a_list(5)))
    other = bytearray(revision(5))
    other[-1] ^= 1
    contains(pub.refuse(pub.put("f", bytes(other))), "is revision 5, and differs from the published revision 5; those "
             "who follow want a later one", "--force")
    contains(pub.refuse(pub.put("f", revision(4))), "is revision 4, and differs from the published revision 5")
    wrong = pkbf.Filter.from_bytes(revision(6))
    wrong.entries = 5
    many = pkbf.Filter.from_bytes(revision(6))
    many.entries = 50000
    full = pkbf.Filter.from_bytes(revision(6))
    full.bits[:] = b"\xff" * len(full.bits)
    for data, reason in ((revision(6)[:-1], "cut short"), (revision(6)[:20], "cut short"), (b"", "is neither a filter"),
                         (revision(6)[:22] + b"\0" + revision(6)[23:], "damaged filter"),
                         (a_list(5)[::-1], "is neither a filter nor an exact list: "),
                         (a_list(5)[:16] * 2, f"{a_list(5)[:16].hex()} follows {a_list(5)[:16].hex()}"),
                         (lzma.compress(a_list(5)), "is neither a filter"), (a_list(5)[:-1], "records have 16"),
                         (pkbf.Filter.create(3, 8).to_bytes(), "no bit is set"), (wrong.to_bytes(), "says 5 entries"),
                         (many.to_bytes(), "says 50000 entries"), (full.to_bytes(), "65536 bits that are set"),
                         (b"\0" * 32, "is neither a filter nor an exact list")):
        contains(pub.refuse(pub.put("x", data)), reason)
    f = pkbf.Filter.from_bytes(revision(6))
    f.revision = 5 + 100000001
    contains(pub.refuse(pub.put("f", f.to_bytes())), "is revision 100000006, and differs from the published revision "
             "5; those who follow want a later one, at most 100000000 above", "--force")
    f.revision, f.time = 6, pub.now + DAY + 1
    for name in ("f", "new"):
        contains(pub.refuse(pub.put(name, f.to_bytes())), "is of 2026-11-24T03:00:01Z, which is in the future; those "
                 "who follow would refuse it. ", "--force")
    f.time = 2 ** 64 - 1
    contains(pub.refuse(pub.put("f", f.to_bytes())), "is in the future")
    path = pub.put("l", a_list(6))
    for lines, reason in ((b"# date 2027-01-01\n", "is of 2027-01-01T00:00:00Z, which is in the future"),
                          (b"# date 2026-11-22\n", "older than the published one of 2026-11-23T03:00:00Z"),
                          (b"# date 22.11.2026\n", "l.sources: '# date 22.11.2026' has no date"),
                          (b"7\n", "l.sources: '7' is no line"), (b"256 own\n", "is no line"),
                          (b"7 \xc3\xa4\n", "is no line"), (b"#" * 16385, "more than 16384 bytes")):
        pub.put("l.sources", lines)
        contains(pub.refuse(path), reason)
    (pub.scratch / "l.sources").unlink()
    for name in ("a b", ".hidden", "ä", "x" * 129, "x.zst", "f.sig", "x.xz"):
        contains(pub.refuse(pub.put(name, revision(6))), "cannot be published under this name")
    for name in ("a b", ".dat", "ä.dat", "x" * 120):
        contains(pub.refuse(pub.put(name, a_list(6))), "cannot be published under this name")
    contains(pub.refuse(pub.scratch / "none"), "none: No such file")
    contains(pub.refuse(pub.scratch), "not a regular file")
    os.mkfifo(pub.scratch / "fifo")
    contains(pub.refuse(pub.scratch / "fifo"), "fifo: not a regular file")
    (pub.scratch / "other").mkdir()
    twice = pub.put("other/f", revision(6))
    contains(pub.refuse(pub.put("f", revision(6)), twice), "is published under this name, f, too; give it once")
    contains(pub.refuse(path, pub.put("l.dat", a_list(6))), "is published under this name, l.json, too")
    now, out = pub.publish("--force", pub.put("f", bytes(other)))
    contains(out, "f: updated, revision 5 -> 5; 1 patch of ")
    equal(now.contents["f"], bytes(other))
    # Back by force: the patch to what was there leads to another file now.
    now, _ = pub.publish("--force", pub.put("f", revision(5)))
    equal((now.follow("f", bytes(other)), now.follow("f", revision(5))), (revision(5), None))


def test_a_list_that_goes_back_and_forth(pub):
    for number in (1, 2, 1, 2, 1):
        now, _ = pub.publish(pub.put("l", a_list(number)))
        equal(now.contents["l.json"], a_list(number))
    equal(now.follow("l.json", a_list(2)), a_list(1))


def test_what_is_not_signed_is_warned_of(pub):
    paths = pub.put("f", revision(1)), pub.put("l.dat", a_list(1))
    out, messages = pub.run(*paths, sign=False)
    equal(messages, [f"warning: {pub.folder}/{name}: gets no signature; give --sign KEY" for name in ("f", "l.json")])
    equal([name for name in names(pub.folder) if name.endswith(".sig")], [])
    lacks(out, "signed")
    pub.publish(*paths)
    for path, name in zip(paths, ("f", "l.json")):
        contains(pub.refuse(path, sign=False), f"{pub.folder}/{name}.sig: is there, and those who follow want a "
                 "signature; give --sign KEY, or --force")
    pub.run("--force", *paths, sign=False)
    equal([name for name in names(pub.folder) if name.endswith(".sig")], [])
    contains(pub.refuse(pub.scratch / "f", "--sign", pub.scratch / "none", sign=False), "none: cannot sign with it: ")


def test_the_agent_may_have_the_key(pub):
    agent = subprocess.run(["ssh-agent", "-c"], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    socket, pid = re.search(r"SSH_AUTH_SOCK (\S+);", agent)[1], int(re.search(r"SSH_AGENT_PID (\d+);", agent)[1])
    try:
        tool("ssh-add", "-q", pub.signer.key, env={**os.environ, "SSH_AUTH_SOCK": socket})
        pub.signer.key.unlink()
        pub.run(pub.put("f", revision(1)), "--sign", f"{pub.signer.key}.pub", sign=False, SSH_AUTH_SOCK=socket)
    finally:
        os.kill(pid, signal.SIGTERM)
    equal(Served(pub.folder, pub.signers).contents, {"f": revision(1)})


def test_what_is_there_and_cannot_be_read_is_an_error(pub):
    paths = pub.put("f", revision(1)), pub.put("l.dat", a_list(1))
    pub.publish(*paths)
    for data in (b"", b"{}", b"[" * 100000, b" " * (1 << 20) + b"{}"):
        (pub.folder / "l.json").write_bytes(data)
        contains(pub.refuse(paths[1]), f"{pub.folder}/l.json: ")
    for data in (b"", b"other", b"pkbfv1"):
        (pub.folder / "f").write_bytes(data)
        contains(pub.refuse(paths[0]), f"{pub.folder}/f: is there, and is no filter; move it away")
    for name in ("f", "l.json"):
        (pub.folder / name).unlink()
    pub.publish(*paths)


def test_what_is_missing_or_damaged_is_made_again(pub):
    paths = pub.put("f", revision(2)), pub.put("l.dat", a_list(2))
    pub.publish(pub.put("f", revision(1)), pub.put("l.dat", a_list(1)))
    pub.put("l.dat", a_list(2))
    pub.publish(pub.put("f", revision(2)), paths[1])
    served = names(pub.folder)
    for name in served:
        if not name.endswith(".json"):
            (pub.folder / name).unlink()
    now, _ = pub.publish(*paths)
    equal(now.contents, {"f": revision(2), "l.json": a_list(2)})
    equal((now.follow("f", revision(1)), now.follow("l.json", a_list(1))), (revision(2), a_list(2)))
    for path in pub.folder.iterdir():
        if path.name != "l.json":
            path.write_bytes(revision(1) if path.name == "f" else bytes(path.stat().st_size))
    equal(pub.publish(*paths)[0].contents, {"f": revision(2), "l.json": a_list(2)})
    # From a damaged old file there is no patch.
    for path in pub.old.iterdir():
        path.write_bytes(path.read_bytes()[:-16] + b"\xff" * 16)
    now, _ = pub.publish(pub.put("f", revision(3)), pub.put("l.dat", a_list(3)))
    equal((now.patches("f"), now.patches("l.json")), ([], []))
    shutil.rmtree(pub.old)
    now, _ = pub.publish(pub.put("f", revision(4)), pub.put("l.dat", a_list(4)))
    equal((now.patches("f"), now.patches("l.json")), ([], []))


def test_nothing_but_its_own_files_is_removed(pub):
    pub.publish(pub.put("f", revision(1)), pub.put("l.dat", a_list(1)), pub.put("l-x.dat", a_list(1)))
    old = "f" * 16
    stay = ["robots.txt", f"f.from-{old}.zs", f"f.from-{old[1:]}.zst", f"f.from-{old.upper()}.zst",
            f"ff.from-{old}.zst", f"l-{old}.dat", f"l-{old}.dat.xz.sig", f"l-{old}0.dat.xz", f"ll-{old}.dat.xz",
            f"f-{old}.dat.xz"]
    gone = [f"f.from-{old}.zst", f"l-{old}.dat.xz", f"l-{old}.dat.from-{old}.zst", ".keyveto-new-x"]
    for name in stay + gone:
        (pub.folder / name).write_bytes(b"")
    (pub.folder / f"l-{'e' * 16}.dat.xz").mkdir()
    (pub.old / "other").write_bytes(b"")
    pub.publish(pub.put("f", revision(2)), pub.put("l.dat", a_list(2)))
    equal([name for name in stay + gone if (pub.folder / name).exists()], stay)
    assert (pub.folder / f"l-{'e' * 16}.dat.xz").is_dir() and (pub.old / "other").exists()


def test_no_link_in_the_folder_is_written_through(pub):
    victim = pub.put("victim", revision(1))
    pub.folder.mkdir()
    for name in ("f", "f.sig", ".keyveto-new-", f"f.from-{sha256(revision(1))[:16]}.zst"):
        (pub.folder / name).symlink_to(victim)
    now, _ = pub.publish(pub.put("f", revision(2)))
    equal(now.contents, {"f": revision(2)})
    equal(victim.read_bytes(), revision(1))


def test_the_folder_may_be_a_link(pub):
    (pub.scratch / "there").mkdir()
    pub.folder.symlink_to(pub.scratch / "there")
    pub.publish(pub.put("f", revision(1)))
    assert (pub.scratch / "there.old").is_dir() and not pub.old.exists()


def test_quiet_prints_nothing(pub):
    equal(pub.publish("--quiet", pub.put("f", revision(1)))[1], "")


def test_a_report_that_cannot_be_written_is_an_error(pub):
    words = pub.words(pub.put("l", a_list(2)))
    with open("/dev/full", "wb") as full:
        done = attempt("env", "-i", f"PATH={os.environ['PATH']}", PUBLISH, *words, text=False, stdout=full)
    equal((done.returncode, done.stderr), (2, b"keyveto-publish: standard output: No space left on device\n"))


def test_wrong_arguments_are_refused(pub):
    path = pub.put("f", revision(1))
    for words, reason in (((), "the following arguments are required"), (("d",), "required: FILE"),
                          (("d", path, "--expires", "0"), "'0' is not a number of days from 1 to 3650"),
                          (("d", path, "--expires", "x"), "'x' is not a number of days"),
                          (("d", path, "--x"), "unrecognized arguments: --x"),
                          ((pub.scratch / "none/d", path), "none/d.old: cannot be made: No such file or directory"),
                          ((path, path), "f: Not a directory")):
        done = keyveto(*words, program=PUBLISH, status=2, cwd=pub.scratch)
        contains(done.stderr, reason)
        equal((done.stdout, done.stderr.count("\n")), ("", 1), done.stderr)
    contains(keyveto("--version", program=PUBLISH, status=0).stdout, "keyveto-publish ")


@pytest.mark.parametrize("missing", ("zstd", "xz", "ssh-keygen"))
def test_a_program_that_is_missing_is_named(pub, missing):
    tools = pub.scratch / "bin"
    tools.mkdir()
    for name in {"zstd", "xz", "ssh-keygen"} - {missing}:
        (tools / name).symlink_to(shutil.which(name))
    pub.publish(pub.put("l", a_list(1)))
    before = pub.snapshot()
    done = attempt("/usr/bin/python3", PUBLISH, *pub.words(pub.put("l", a_list(2))),
                   env={**pub.environment(), "PATH": str(tools)})
    equal((done.returncode, done.stdout, pub.snapshot()), (2, "", before))
    contains(done.stderr, f"keyveto-publish: {missing}: cannot be started: No such file or directory; install it\n")


@pytest.mark.parametrize("program, reason", (("zstd", "does not give it again"), ("xz", "is not what was read")))
def test_what_does_not_give_the_file_again_is_not_published(pub, program, reason):
    tools = pub.scratch / "bin"
    tools.mkdir()
    pub.publish(pub.put("l", a_list(1)))
    script = f'#!/bin/sh\ncase "$*" in *-dc*) exec {shutil.which(program)} "$@" ;; esac\n' \
             f'head -c 1000 /dev/zero | {shutil.which(program)} -c\n'
    pub.put(f"bin/{program}", script.encode()).chmod(0o755)
    contains(pub.refuse(pub.put("l", a_list(2)), PATH=f"{tools}:{os.environ['PATH']}"), reason)


def zstd_calls(pub, *paths):
    """The words of each call of zstd that makes a patch."""
    tools = pub.scratch / "bin"
    tools.mkdir(exist_ok=True)
    pub.put("calls", b"")
    script = f'#!/bin/sh\necho "$@" >>{pub.scratch}/calls\nexec {shutil.which("zstd")} "$@"\n'
    pub.put("bin/zstd", script.encode())
    (tools / "zstd").chmod(0o755)
    pub.publish(*paths, PATH=f"{tools}:{os.environ['PATH']}", ZSTD_CLEVEL="1", XZ_OPT="--bad")
    lines = (pub.scratch / "calls").read_text(encoding="ascii").splitlines()
    return [line.split() for line in lines if "-dc" not in line]


def test_the_level_and_the_window_go_with_the_file(pub):
    for number in (1, 2):
        calls = zstd_calls(pub, pub.put("f", revision(number)), pub.put("l", a_list(number)))
    equal([[word for word in words if re.match("-[0-9]|--long|--check", word)] for words in calls],
          [["-19", "--check", "--long=14"], ["-3", "--check", "--long=13"]])


@pytest.mark.long
def test_large_filters_are_patched_fast(pub):
    """Of 64 MiB with level 19, of 128 MiB with 3. Each needs a window of the next power of two, for its header."""
    for p, wanted in ((29, ["-19", "--check", "--long=27"]), (30, ["-3", "--check", "--long=28"])):
        for number in (1, 2):
            made = pkbf.Filter.create(3, p, revision=number, time=1700000000)
            made.entries = number
            made.bits[number * 1000000] = 0x80
            calls = zstd_calls(pub, pub.put(f"f{p}", made.to_bytes()))
        equal([word for word in calls[0] if re.match("-[0-9]|--long|--check", word)], wanted)
        now = Served(pub.folder, pub.signers)
        assert now.patches(f"f{p}")[0].stat().st_size < 10000


def test_two_publishers_wait_for_each_other(pub):
    """At each moment what is served is whole."""
    paths = [pub.put("f", revision(1)), pub.put("l", a_list(1))]
    pub.publish(*paths)
    stop, wrong, seen = threading.Event(), [], []

    def watch():
        while not stop.is_set():
            try:
                # Reads the names last: whoever waits for a while finds a pair.
                seen.append(Served(pub.folder, pub.signers).contents)
            except (Torn, FileNotFoundError):
                pass
            except (AssertionError, OSError, ValueError, lzma.LZMAError) as error:
                wrong.append(repr(error))

    watcher = threading.Thread(target=watch)
    watcher.start()
    running = [subprocess.Popen(["/usr/bin/python3", PUBLISH, *pub.words("--force", *paths)], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=pub.environment()) for _ in range(6)]
    try:
        outs = [process.communicate(timeout=PATIENCE) for process in running]
    finally:
        stop.set()
        watcher.join()
    equal([process.returncode for process in running], [0] * 6, str(outs))
    equal((wrong, Served(pub.folder, pub.signers).contents), ([], {"f": revision(1), "l.json": a_list(1)}))
    assert seen


def test_a_signal_leaves_nothing_behind(pub):
    """While ssh-keygen waits for a key that nobody writes."""
    fifo = pub.scratch / "fifo"
    os.mkfifo(fifo)
    pub.publish(pub.put("f", revision(1)))
    before = pub.snapshot()
    words = "--sign", fifo, pub.folder, pub.put("f", revision(2))
    with subprocess.Popen(["/usr/bin/python3", PUBLISH, *words], stderr=subprocess.PIPE) as process:
        # The patch is there before the filter is signed; the empty file is for the signature.
        wait_until(lambda: any(path.stat().st_size == 0 and len(names(pub.folder)) > 4
                               for path in pub.folder.glob(".keyveto-new-*")), "it signs")
        children = tool("pgrep", "-P", process.pid).split()
        process.terminate()
        equal(process.communicate(timeout=PATIENCE)[1], b"")
    equal((process.returncode, pub.snapshot()), (2, before))
    assert not any(os.path.exists(f"/proc/{child.decode()}") for child in children), children
    equal(pub.publish(pub.scratch / "f")[0].contents, {"f": revision(2)})


def states(pub):
    """What a host that follows can meet: for the filter and for the list the number it gets whole, or "torn"."""
    found = []
    for name, made in (("f", revision), ("l.json", a_list)):
        keep = {path.name for path in pub.folder.iterdir()}
        other = pub.scratch / "one"
        shutil.rmtree(other, ignore_errors=True)
        other.mkdir()
        stem = "f" if name == "f" else "l"
        for path in keep:
            if path.startswith(stem):
                shutil.copy2(pub.folder / path, other)
        try:
            now = Served(other, pub.signers)
        except Torn:
            # The file and the signature before it.
            found.append("torn")
            continue
        number = next(number for number in (1, 2) if now.contents[name] == made(number))
        for base in (1, 2):
            # A patch is of the file that is signed, or of the one that is to come.
            assert now.patch(name, made(base)) is None or base == number or \
                zstd_gives(now, name, made(base)) in (made(1), made(2)), (name, base, number)
        found.append(number)
    return tuple(found)


def zstd_gives(now, name, old):
    base = now.folder.with_name("base")
    base.write_bytes(old)
    return tool("zstd", "-q", "-dc", "--long=31", f"--patch-from={base}", input=now.patch(name, old))


def system_calls(pub, prepare, words):
    """(name, number) of each system call of a run after it has made a folder."""
    prepare()
    equal(pub.traced([], *words)[0], 0)
    calls = re.findall(r"^(\w+)\((.*)$", (pub.scratch / "trace").read_text(encoding="utf-8", errors="replace"),
                       re.MULTILINE)
    begun = next(number for number, (name, what) in enumerate(calls) if name == "mkdir" and f'"{pub.old}"' in what)
    counts, found = {}, []
    for number, (name, _) in enumerate(calls):
        counts[name] = counts.get(name, 0) + 1
        # What the C library and Python call for memory, signals and time never fails with EIO.
        if number >= begun and not re.match("futex|brk|m(un)?map|mprotect|madvise|mremap|rt_sig|exit|sched|getrandom",
                                            name):
            found.append((name, counts[name]))
    return found


def at_each_call(pub, injected, judge, every):
    """Publishes the second revisions over the first, with a fault in another call each time: what was served then."""
    pub.publish(pub.put("f", revision(1)), pub.put("l", a_list(1)))
    saved = pub.scratch / "saved"
    saved.mkdir()
    tool("cp", "-a", pub.folder, pub.old, saved)
    words = pub.put("f", revision(2)), pub.put("l", a_list(2))

    def prepare():
        tool("rm", "-rf", pub.folder, pub.old)
        tool("cp", "-a", saved / "pub", saved / "pub.old", pub.scratch)

    calls = system_calls(pub, prepare, words)
    assert len(calls) > 150, calls
    if "EIO" in injected:
        # A close that strace lets fail leaves the pipe open, for whose end the run waits. A real one does not.
        calls = [call for call in calls if call[0] not in ("close", "close_range", "wait4", "poll")]
    if not every:
        some = "rename", "unlink", "fsync"
        calls = [call for number, call in enumerate(calls) if number % 97 == 0 or call[0] in some]
    seen = set()
    for name, number in calls:
        prepare()
        status, messages = pub.traced(["-e", f"trace={name}", "-e", f"inject={name}:{injected}:when={number}"], *words)
        what = f"{name} {number}: status {status}: {messages}"
        now = states(pub)
        judge(status, messages, now, what)
        seen.add(now)
        now, _ = pub.publish(*words)
        assert now.contents == {"f": revision(2), "l.json": a_list(2)}, what
        assert (now.follow("f", revision(1)), now.follow("l.json", a_list(1))) == (revision(2), a_list(2)), what
        assert {name for name in now.surplus() if name != f"l-{sha256(a_list(1))[:16]}.dat.xz"} == set(), what
    return seen


@pytest.mark.long
def test_killed_at_each_system_call_it_serves_what_was_or_what_is(pub, request):
    """With --campaign at each one, else at some, and at all that give or take a name. The next run mends the rest.

    Torn is only a file whose signature had not followed yet.
    """
    def judge(status, _messages, _now, what):
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL) or status == 0, what

    seen = at_each_call(pub, "signal=KILL", judge, request.config.getoption("--campaign"))
    assert seen >= {(1, 1), ("torn", 1), (2, 1), (2, "torn"), (2, 2)}, seen
    assert not seen & {(1, 2), ("torn", 2), (1, "torn"), ("torn", "torn")}, seen


@pytest.mark.long
def test_a_failed_system_call_is_reported_or_does_not_matter(pub, request):
    def judge(status, messages, now, what):
        assert status in (0, 2), what
        assert status == 0 or messages.startswith("keyveto-publish: ") and messages.count("\n") == 1, what
        assert status == 2 or now == (2, 2), f"success without the new one: {what}"

    at_each_call(pub, "error=EIO", judge, request.config.getoption("--campaign"))


def test_all_is_on_disk_before_it_has_its_name(pub):
    pub.publish(pub.put("f", revision(1)), pub.put("l", a_list(1)))
    words = pub.put("f", revision(2)), pub.put("l", a_list(2))
    equal(pub.traced(["-y", "-e", "trace=rename,fsync,unlink"], *words)[0], 0)
    calls = re.findall(r"^(\w+)\((.*)\) += 0$", (pub.scratch / "trace").read_text(encoding="utf-8"), re.MULTILINE)
    synced, named = set(), []
    for call, what in calls:
        found = re.findall(r'[<"]([^<>"]*)[>"]', what)
        if call == "fsync":
            synced.add(found[0])
            named.append(None if found[0] == str(pub.folder) else "")
        elif call == "rename":
            assert found[0] in synced, f"{what} before it is on disk"
            if found[1].startswith(f"{pub.folder}/"):
                named.append(found[1].rpartition("/")[2])
    f, lists = (sha256(made(1))[:16] for made in (revision, a_list))
    new = f"l-{sha256(a_list(2))[:16]}.dat"
    # None: the folder is on disk.
    equal([name for name in named if name != ""],
          [f"f.from-{f}.zst", "f", None, "f.sig", None,
           f"{new}.from-{lists}.zst", f"{new}.xz", None, "l.json", "l.json.sig", None])


def test_a_full_disk_leaves_what_was(pub):
    """With ever more room, until all fits."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    pub.publish(pub.put("f", revision(1, p=18)), pub.put("l", a_list(1, 3000)))
    pub.put("f", revision(2, p=18))
    pub.put("l", a_list(2, 3000))
    script = f"""
        cd {pub.scratch}
        mkdir whole disk
        cp -a pub pub.old whole
        mount -t tmpfs -o size=2m,mode=755 none disk
        for free in 0 4 8 16 32 48 64 80 100 120 200; do
            find disk -mindepth 1 -delete
            cp -a whole/. disk
            left=$(df --output=avail -B4k disk | tail -n 1)
            dd if=/dev/zero of=disk/fill bs=4k count=$((left - free)) status=none
            if /usr/bin/python3 {PUBLISH} --quiet --sign {pub.signer.key} disk/pub f l 2>message; then
                echo all >>ends
            else
                echo "$(cat message)" >>ends
            fi
            rm -f disk/fill message
            mkdir after$free
            cp -a disk/. after$free
        done
    """
    tool("unshare", "-m", "sh", "-euc", script)
    ends = (pub.scratch / "ends").read_text(encoding="ascii").splitlines()
    contains(ends[0], "No space left on device")
    equal(ends[-1], "all")
    for free, end in zip((0, 4, 8, 16, 32, 48, 64, 80, 100, 120, 200), ends):
        now = Served(pub.scratch / f"after{free}" / "pub", pub.signers)
        got = now.contents["f"] == revision(2, p=18), now.contents["l.json"] == a_list(2, 3000)
        if end == "all":
            equal(got, (True, True))
            continue
        assert got in ((False, False), (True, False)), f"{free} free: {end}"
        contains(end, "No space left on device")
        equal([name for name in names(now.folder) if name.startswith(".")], [], end)
