# SPDX-License-Identifier: ISC
"""keyveto publish: the folder that it makes, read by published.py."""

import functools
import json
import lzma
import os
import random
import re
import signal
import stat
import subprocess
import threading

import blocklist
import delta
import pkbf
import pytest
from filter_runs import names
from program import KEYVETO, PATIENCE, contains, equal, lacks, wait_until
from published import BEGIN, Published, sha256
from publisher import SOURCES, records
from runs import run, tool
from update_place import Signer

EPOCH = 1795402800      # 2026-11-23T03:00:00Z
DAY = 86400


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


class Publication:
    """A folder, files to publish there, and the publisher's key."""

    def __init__(self, scratch):
        self.scratch = scratch
        self.folder = scratch / "pub"
        self.signer = Signer(scratch, "key")
        self.signers = f"publisher {self.signer.public}\n"
        self.now = EPOCH

    def put(self, name, data):
        path = self.scratch / name
        path.write_bytes(data)
        return path

    def environment(self):
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.now)}

    def words(self, *words):
        return ["publish", "--sign", self.signer.key, *words]

    def run(self, *words, status=0, sign=True):
        """Publishes: (standard output, messages without "keyveto: ")."""
        done = run(*self.words(self.folder, *words) if sign else ("publish", self.folder, *words), status=status,
                   env=self.environment())
        return done.out.decode(), [line.removeprefix("keyveto: ") for line in done.err.decode().splitlines()]

    def publish(self, *words):
        """Publishes without a message, and reads the folder: (it, standard output)."""
        out, messages = self.run(*words)
        equal(messages, [])
        return Published(self.folder, self.signers), out

    def refuse(self, *words, sign=True):
        """The message of a run that changes nothing that the index names."""
        before = Published(self.folder, self.signers).text if (self.folder / "index").exists() else None
        out, messages = self.run(*words, status=2, sign=sign)
        equal(out, "")
        if before is not None:
            equal(Published(self.folder, self.signers).text, before, "the index")
        else:
            assert not (self.folder / "index").exists()
        return "\n".join(messages)

    def traced(self, options, *words):
        done = subprocess.run(["strace", "-qq", "-o", self.scratch / "trace", *options, KEYVETO,
                               *map(str, self.words(self.folder, *words))], capture_output=True, text=True,
                              timeout=PATIENCE, check=False,
                              # LeakSanitizer does not work under strace, so it is off.
                              env={**self.environment(), "ASAN_OPTIONS": "detect_leaks=0"})
        return done.returncode, done.stderr


@pytest.fixture(name="pub")
def fixture_pub(scratch):
    return Publication(scratch)


def test_a_filter_and_a_list_are_published_whole_and_signed(pub):
    f, blocks = pub.put("filter.pkbf", revision(1)), pub.put("own.list", a_list(1))
    pub.put("own.list.sources", b"# date 2026-11-20\n7 own\n")
    old = os.umask(0o077)
    try:
        now, out = pub.publish(f, blocks)
    finally:
        os.umask(old)
    equal(now.serial, 1)
    equal((now.index["date"], now.index["expires"]), ("2026-11-23T03:00:00Z", "2026-12-23T03:00:00Z"))
    equal(now.contents, {"filter.pkbf": revision(1), "own.list": a_list(1)})
    equal(now.files["filter.pkbf"]["date"], "2023-11-15T22:13:20Z")
    equal(now.files["own.list"]["date"], "2026-11-20T00:00:00Z")
    equal(now.companion("own.list", "sources"), b"# date 2026-11-20\n7 own\n")
    lacks(str(now.files["filter.pkbf"]), "sources", "manifest")
    equal(now.surplus(), set())
    for folder in (pub.folder, pub.folder / "files", pub.folder / "deltas"):
        equal(stat.S_IMODE(folder.stat().st_mode), 0o755, str(folder))
    equal(stat.S_IMODE((pub.folder / "index").stat().st_mode), 0o644)
    contains(out, f"{pub.folder}: filter.pkbf: published, revision 1, 8216 bytes, ",
             f"{pub.folder}: own.list: published, 8032 bytes, ", "index: written, serial 1, expires "
             "2026-12-23T03:00:00Z, signed with ED25519 key SHA256:")


def test_revisions_are_followed_by_deltas_from_the_last_seven(pub):
    for number in range(1, 13):
        now, out = pub.publish(pub.put("filter.pkbf", revision(number)), pub.put("l", a_list(number)))
        equal(now.serial, number)
    contains(out, "updated, revision 11 -> 12, ", "; a delta of ")
    for number in range(1, 13):
        expected = number >= 5
        equal(now.follow("filter.pkbf", revision(number)) == revision(12), expected, f"revision {number}")
        equal(now.follow("l", a_list(number)) == a_list(12), expected, f"list {number}")
    # Byte for byte the second implementation's, which was written from pkbf-delta(5).
    for name, made in (("filter.pkbf", revision), ("l", a_list)):
        equal(now.read(now.delta_path(now.files[name]["deltas"][-1])), delta.diff(made(11), made(12)), name)
    # The files of the index before stay: two files, and the oldest delta of each.
    equal(len(now.surplus()), 4)
    equal({f"files/{sha256(revision(11))}.xz", f"files/{sha256(a_list(11))}.xz"} - now.surplus(), set())
    now, out = pub.publish()
    contains(out, "index: renewed, no file has changed, serial 13,", "; 4 old files removed")
    equal(now.surplus(), set())


@pytest.mark.parametrize("keep", (0, 1, 3))
def test_keep_says_how_many_deltas_there_are(pub, keep):
    for number in range(1, 6):
        now, _ = pub.publish("--keep", keep, pub.put("f", revision(number)))
    equal(len(now.files["f"]["deltas"]), keep)
    pub.publish("--keep", keep)
    now, _ = pub.publish("--keep", 0)
    equal(now.files["f"]["deltas"], [])
    equal(len(names(pub.folder / "deltas")), keep)
    pub.publish()
    equal(names(pub.folder / "deltas"), [])


def test_deltas_that_together_are_no_cheaper_are_left_out(pub):
    """Each revision has half as many bits more."""
    for number in range(1, 8):
        now, out = pub.publish(pub.put("f", revision(number, entries=100 * number)))
    # Published checks that the chain is cheaper.
    assert 0 < len(now.files["f"]["deltas"]) < 6, out


def test_an_index_is_renewed_each_day(pub):
    path = pub.put("f", revision(1))
    pub.publish(path)
    before = (pub.folder / "files" / f"{sha256(revision(1))}.xz").stat()
    for day in range(1, 4):
        pub.now = EPOCH + day * DAY
        now, out = pub.publish("--expires", 5, *([path] if day % 2 else []))
        equal((now.serial, now.index["date"]), (day + 1, f"2026-11-{23 + day}T03:00:00Z"))
        equal(now.index["expires"], f"2026-{'12-01' if day == 3 else f'11-{28 + day}'}T03:00:00Z")
        contains(out, "index: renewed, no file has changed")
    after = (pub.folder / "files" / f"{sha256(revision(1))}.xz").stat()
    equal((after.st_ino, after.st_mtime_ns), (before.st_ino, before.st_mtime_ns), "the packed file")
    pub.now = EPOCH
    contains(pub.refuse(path), "is of 2026-11-26T03:00:00Z, which is later than now by the clock of this machine")
    equal(Published(pub.folder, pub.signers).serial, 4)
    out, _ = pub.run("--force", path)
    contains(out, "serial 5, expires 2026-12-23")


def test_each_index_has_a_second_of_its_own(pub):
    """A web server's ETag is often size and second of modification; rsync compares these, too."""
    pub.put("a.pkbf", revision(1))
    seen = []
    for number in range(4):
        pub.now += 1
        pub.publish(pub.scratch / "a.pkbf")
        status = os.stat(pub.folder / "index")
        seen.append((status.st_size, int(status.st_mtime)))
        if number == 2:             # the clock was wrong
            os.utime(pub.folder / "index", (2 ** 31, 2 ** 31))
    equal(len({size for size, _ in seen}), 1, "sizes")
    assert seen[0][1] < seen[1][1] < seen[2][1], seen
    equal(seen[3][1], 2 ** 31 + 1)


def test_what_is_not_given_stays_until_it_is_removed(pub):
    pub.publish(pub.put("f", revision(1)), pub.put("l", a_list(1)))
    now, _ = pub.publish(pub.put("f", revision(2)))
    equal(now.contents, {"f": revision(2), "l": a_list(1)})
    contains(pub.refuse("--remove", "x"), "names no x to remove")
    now, out = pub.publish("--remove", "l")
    equal(set(now.contents), {"f"})
    contains(out, "l: removed\n", "index: written")
    # Whoever read the index before can still fetch it, until the next run.
    assert (pub.folder / "files" / f"{sha256(a_list(1))}.xz").exists()
    now, _ = pub.publish()
    equal(now.surplus(), set())
    contains(pub.refuse("--remove", "f"), "nothing to publish")
    # Removed and given: it begins anew, as another kind of file, too.
    now, _ = pub.publish("--remove", "f", pub.put("f", a_list(1)))
    equal(now.contents, {"f": a_list(1)})


def manifest_of(data, **members):
    return json.dumps({"bkformat": 0, "date": "2026-11-20T10:00:00+00:00", "blocklists": SOURCES,
                       "blocklist_url": "https://update.example.org/v0/blocklist.dat.xz",
                       "blocklist_sha256": sha256(data), **members}).encode()


@pytest.mark.parametrize("packed", (False, True))
def test_a_manifest_of_badkeys_is_mirrored(pub, packed):
    versions = [records(700, 1), blocklist.Blocklist(records(700, 1) + records(5, 2)).encode()]
    for data in versions:
        path = pub.put("badkeysdata.json", manifest_of(data))
        pub.put("blocklist.dat.xz" if packed else "blocklist.dat", lzma.compress(data) if packed else data)
        now, out = pub.publish(path)
        equal(now.contents, {"blocklist.dat": data})
        equal(now.companion("blocklist.dat", "manifest"), path.read_bytes())
        equal(now.files["blocklist.dat"]["date"], "2026-11-20T10:00:00Z")
        contains(out, f"; its publisher's SHA-256 {sha256(data)} holds")
    equal(now.follow("blocklist.dat", versions[0]), versions[1])
    # Another manifest of the same list.
    path = pub.put("badkeysdata.json", manifest_of(data, date="2026-11-21T10:00:00Z"))
    now, out = pub.publish(path)
    equal(now.companion("blocklist.dat", "manifest"), path.read_bytes())
    equal(len(now.files["blocklist.dat"]["deltas"]), 1)
    contains(out, "blocklist.dat: updated, ", "index: written")


def test_a_manifest_without_its_list_is_refused(pub):
    data = records(50)
    path = pub.put("badkeysdata.json", manifest_of(data))
    contains(pub.refuse(path), "the list that it names, blocklist.dat or blocklist.dat.xz, is not beside it")
    pub.put("blocklist.dat", records(50, 5))
    contains(pub.refuse(path), "blocklist.dat: is not the list that the manifest names (SHA-256 ")
    pub.put("blocklist.dat.xz", lzma.compress(data)[:-9])
    contains(pub.refuse(path), "blocklist.dat.xz: ends within the packed data")
    pub.put("blocklist.dat.xz", lzma.compress(data))
    equal(pub.publish(path)[0].contents, {"blocklist.dat": data})
    for members, reason in (({"bkformat": 1}, "is in format 1"),
                            ({"date": "2026-11-19", "blocklist_sha256": sha256(records(50, 5))}, "older than the"),
                            ({"blocklist_url": "https://x/"}, "cannot be published under this name"),
                            ({"blocklist_url": "https://x/.hidden?a/b"}, ".hidden: cannot be published under")):
        contains(pub.refuse(pub.put("badkeysdata.json", manifest_of(data, **members))), reason)
    contains(pub.refuse(pub.put("badkeysdata.json", b"[" * 5000)), "not JSON")


def test_the_list_beside_a_manifest_is_a_regular_file(pub):
    data = records(50)
    path = pub.put("badkeysdata.json", manifest_of(data))
    for name in ("blocklist.dat.xz", "blocklist.dat"):
        os.mkfifo(pub.scratch / name)
        message = pub.refuse(path)
        contains(message, f"{name}: not a regular file")
        lacks(message, "is not beside it")
        # Beside the other one, a good list.
        pub.put("new", lzma.compress(data)).rename(pub.scratch / "blocklist.dat.xz")


def test_what_followers_would_refuse_is_refused(pub):
    pub.publish(pub.put("f", revision(5)), pub.put("l", a_list(5)))
    other = bytearray(revision(5))
    other[-1] ^= 1
    contains(pub.refuse(pub.put("f", bytes(other))), "is revision 5, and differs from the published revision 5; those "
             "who follow would refuse it.", "--force")
    contains(pub.refuse(pub.put("f", revision(4))), "is revision 4, and differs from the published revision 5")
    contains(pub.refuse(pub.put("f", a_list(5))), "is an exact list, and the published f is a filter")
    contains(pub.refuse(pub.put("l", revision(5))), "is a filter, and the published l is an exact list")
    for data, reason in ((revision(6)[:-1], "cut short"), (b"", "is neither a filter nor an exact list"),
                         (a_list(5)[::-1], "not in order"), (a_list(5)[:16] * 2, "record 1 is there twice"),
                         (lzma.compress(a_list(5)), "is packed; unpack it"),
                         (pkbf.Filter.create(3, 8).to_bytes(), "no bit is set"),
                         (b"\0" * 32, "is neither a filter nor an exact list")):
        contains(pub.refuse(pub.put("x", data)), reason)
    f = pkbf.Filter.from_bytes(revision(6))
    f.revision = 5 + 100000001
    contains(pub.refuse(pub.put("f", f.to_bytes())), "is revision 100000006, more than 100000000 above the published "
             "revision 5; those who follow would refuse it. ", "--force")
    f.revision, f.time = 6, pub.now + DAY + 1
    for name in ("f", "new"):
        contains(pub.refuse(pub.put(name, f.to_bytes())), "is of 2026-11-24T03:00:01Z, which is in the future; those "
                 "who follow would refuse it. ", "--force")
    pub.put("l.sources", b"# date 2027-01-01\n")
    contains(pub.refuse(pub.put("l", a_list(6))), "is of 2027-01-01T00:00:00Z, which is in the future")
    (pub.scratch / "l.sources").unlink()
    for name in ("a b", ".hidden", "ä", "x" * 129):
        contains(pub.refuse(pub.put(name, revision(6))), "cannot be published under this name")
    contains(pub.refuse(pub.scratch / "none"), "none: cannot be opened: No such file")
    contains(pub.refuse(pub.scratch), "not a regular file")
    (pub.scratch / "other").mkdir()
    twice = pub.put("other/f", revision(6))
    contains(pub.refuse(pub.put("f", revision(6)), twice), "is given already under this name, f; give it once, or "
             "rename one")
    contains(pub.refuse("--sign", pub.scratch / "none"), "none: the index cannot be signed with it")
    now, out = pub.publish("--force", pub.put("f", bytes(other)))
    contains(out, "revision 5 -> 5, ")
    equal(now.contents["f"], bytes(other))


def test_a_filter_that_lost_bits_has_no_delta(pub):
    now, _ = pub.publish(pub.put("f", revision(1)))
    lost = bytearray(revision(2))
    lost[24:2000] = bytes(1976)
    now, out = pub.publish(pub.put("f", bytes(lost)))
    contains(out, "; no delta, all fetch the full file: ")
    equal(now.files["f"]["deltas"], [])


def test_a_list_that_goes_back_and_forth_keeps_a_chain(pub):
    for number in (1, 2, 1, 2, 1):
        now, _ = pub.publish(pub.put("l", a_list(number)))
        equal(now.contents["l"], a_list(number))
    equal(now.follow("l", a_list(2)), a_list(1))


def test_an_index_without_a_signature_is_warned_of(pub):
    path = pub.put("f", revision(1))
    out, messages = pub.run(path, sign=False)
    equal(messages, [f"warning: {pub.folder}/index: gets no signature, and those who follow refuse such an index; give "
                     "--sign KEY"])
    equal(Published(pub.folder).signature, b"")
    lacks(out, "signed")
    pub.publish("--force")
    contains(pub.refuse(sign=False), "is signed, and those who follow refuse an index without a signature; give --sign")
    pub.run("--force", sign=False)
    equal((Published(pub.folder).serial, Published(pub.folder).signature), (3, b""))


def test_only_an_index_of_ones_own_is_continued(pub):
    """Whoever may write in the folder could have what they put there signed, or use up the serials."""
    path = pub.put("l", a_list(1))
    pub.publish(pub.put("f", revision(1)), path)
    index = pub.folder / "index"
    own = index.read_bytes()
    text = Published(pub.folder).text
    other = Signer(pub.scratch, "other").sign(text, "keyveto-index")
    for planted in (text, text.replace(b'"serial":1', b'"serial":9') + own[len(text):], text + other,
                    text + pub.signer.sign(text, "keyveto-filter"), text + BEGIN):
        for words in ((), (path,)):
            index.write_bytes(planted)
            out, messages = pub.run(*words, status=2)
            equal((out, index.read_bytes()), ("", planted))
            contains(messages[-1], f"{index}: has no good signature by {pub.signer.key}, ED25519 key SHA256:",
                     "--force")
    equal(pub.publish("--force")[0].serial, 2)
    equal(pub.publish()[0].serial, 3)


def test_the_agent_may_have_the_key(pub):
    agent = subprocess.run(["ssh-agent", "-c"], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    socket, pid = re.search(r"SSH_AUTH_SOCK (\S+);", agent)[1], int(re.search(r"SSH_AGENT_PID (\d+);", agent)[1])
    try:
        env = {**os.environ, "SSH_AUTH_SOCK": socket}
        subprocess.run(["ssh-add", "-q", pub.signer.key], env=env, check=True, timeout=PATIENCE)
        pub.signer.key.unlink()
        run("publish", "--sign", f"{pub.signer.key}.pub", pub.folder, pub.put("f", revision(1)), status=0, env=env)
    finally:
        os.kill(pid, signal.SIGTERM)
    equal(Published(pub.folder, pub.signers).serial, 1)


def test_an_index_that_cannot_be_read_is_an_error(pub):
    path = pub.put("f", revision(1))
    pub.publish(path)
    for data, reason in ((b"", "not JSON"), (b"{}", "not an index"), (b" " * (1 << 20) + b"{}", "longer than 1 MiB"),
                         (Published(pub.folder).text.replace(b'"serial":1', b'"serial":-1'), "serial")):
        (pub.folder / "index").write_bytes(data)
        out, messages = pub.run(path, status=2)
        equal((out, (pub.folder / "index").read_bytes()), ("", data))
        contains(messages[0], "is no index that can be continued", reason, "add --serial with a number above all")
    surplus = pub.folder / "files" / ("0" * 64)
    surplus.write_bytes(b"")
    now, _ = pub.publish("--serial", 77, path)
    equal(now.serial, 77)
    # Nobody knows what the old index named.
    equal(now.surplus(), {f"files/{'0' * 64}"})
    contains(pub.refuse("--serial", 77), "has serial 77, and those who follow never go back; give a greater --serial")
    equal(pub.publish("--serial", 2 ** 53)[0].serial, 2 ** 53)
    contains(pub.refuse(), "publish in another folder")


def test_files_that_are_missing_are_made_again_or_asked_for(pub):
    paths = pub.put("f", revision(2)), pub.put("l", a_list(2))
    pub.put("l.sources", b"7 own\n")
    pub.publish(pub.put("f", revision(1)))
    pub.publish(pub.put("f", revision(2)), paths[1])
    for name in os.listdir(pub.folder / "files"):
        (pub.folder / "files" / name).unlink()
    out, messages = pub.run(status=2)
    contains(messages[1], "l is published there, and its files are missing", "--remove l")
    now, _ = pub.publish(*paths)
    equal(now.contents, {"f": revision(2), "l": a_list(2)})
    equal(len(now.files["f"]["deltas"]), 1)
    # Damaged ones of the same size, and a damaged one from which there would be a delta.
    for path in (pub.folder / "files").iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    equal(pub.publish(*paths)[0].contents, {"f": revision(2), "l": a_list(2)})
    equal(Published(pub.folder, pub.signers).companion("l", "sources"), b"7 own\n")
    packed = pub.folder / "files" / f"{sha256(revision(2))}.xz"
    packed.write_bytes(packed.read_bytes()[:-12] + bytes(12))
    out, messages = pub.run(pub.put("f", revision(3)))
    contains(out, f"; no delta: files/{sha256(revision(2))}.xz ")
    for name in os.listdir(pub.folder / "deltas"):
        (pub.folder / "deltas" / name).unlink()
    equal(pub.publish()[0].files["f"]["deltas"], [])


def test_nothing_but_its_own_files_is_removed(pub):
    pub.publish(pub.put("f", revision(1)))
    old = "f" * 64
    stay = ["robots.txt", "files/index.html", "files/" + "F" * 64, f"files/{old[1:]}", f"files/{old}0",
            f"files/{old}.xz.sig", f"deltas/{old}", f"deltas/{old[:32]}-{old[:31]}.delta", f"files/{old}.xz~",
            f"{old}.xz"]
    for name in stay:
        (pub.folder / name).write_bytes(b"")
    (pub.folder / "files" / ("e" * 64)).mkdir()
    (pub.folder / "files" / ("d" * 64)).symlink_to("/etc/passwd")
    gone = [f"files/{old}", f"files/{old}.xz", f"deltas/{old[:32]}-{old[32:]}.delta"]
    for name in gone:
        (pub.folder / name).write_bytes(b"")
    now, out = pub.publish()
    contains(out, "; 3 old files removed")
    equal(now.surplus(), {*stay, "files/" + "d" * 64})
    assert (pub.folder / "files" / ("e" * 64)).is_dir()


def test_no_link_in_the_folder_is_followed(pub):
    elsewhere = pub.scratch / "elsewhere"
    elsewhere.mkdir()
    victim = pub.put("victim", b"as it was")
    pub.folder.mkdir()
    path = pub.put("f", revision(1))
    for name in ("files", "deltas"):
        (pub.folder / name).symlink_to(elsewhere)
        contains(pub.run(path, status=2)[1][0], f"{pub.folder}/{name}: cannot be opened as a directory")
        (pub.folder / name).unlink()
    (pub.folder / "index").symlink_to(victim)
    contains(pub.run(path, status=2)[1][0], "index: not a regular file")
    (pub.folder / "index").unlink()
    for name in (".keyveto-new", f"{sha256(revision(1))}.xz"):
        (pub.folder / "files" / name).symlink_to(victim)
    now, _ = pub.publish(path)
    equal(now.surplus(), set())
    equal((victim.read_bytes(), names(elsewhere)), (b"as it was", []))


def test_a_dry_run_writes_nothing(pub):
    path = pub.put("f", revision(1))
    out, _ = pub.run("--dry-run", path)
    contains(out, "f: would be published, revision 1, 8216 bytes\n", "index: would be written, serial 1, expires ")
    # A packed list has to be unpacked somewhere.
    pub.put("blocklist.dat.xz", lzma.compress(records(50)))
    manifest = pub.put("badkeysdata.json", manifest_of(records(50)))
    contains(pub.run("--dry-run", manifest)[0], "blocklist.dat: would be published, 800 bytes; ")
    assert not pub.folder.exists()
    pub.folder.mkdir()
    contains(pub.run("--dry-run", manifest)[0], "blocklist.dat: would be published, 800 bytes; ")
    equal(names(pub.folder), [])
    pub.publish(path)
    before = {name: name.stat() for name in pub.folder.rglob("*")}
    out, _ = pub.run("--dry-run", pub.put("f", revision(2)))
    contains(out, "f: would be updated, revision 1 -> 2, ", "serial 2")
    equal({name: name.stat() for name in pub.folder.rglob("*")}, before)
    contains(pub.refuse("--dry-run", pub.put("f", revision(0))), "those who follow would refuse it")


def test_quiet_prints_nothing(pub):
    equal(pub.publish("--quiet", pub.put("f", revision(1)))[1], "")


def test_wrong_arguments_are_refused(pub):
    for words, reason in (((), "give a folder"), (("--keep", "257", "d"), "--keep takes a number from 0 to 256"),
                          (("--expires", "0", "d"), "--expires takes a number"), (("--serial", "0", "d"), "--serial"),
                          (("--x",), "bad option --x"), ((pub.scratch / "none/d",), "cannot be opened as a directory"),
                          ((pub.folder,), "nothing to publish")):
        contains(run("publish", *words, status=2).err.decode(), reason)


def test_two_publishers_wait_for_each_other(pub):
    """All serials are there, and each index is whole."""
    pub.publish(pub.put("f", revision(0)))
    files = [pub.put("f", revision(1)), pub.put("l", a_list(1))]
    stop, wrong = threading.Event(), []

    def serial():
        return json.loads((pub.folder / "index").read_bytes().split(BEGIN)[0])["serial"]

    def watch():
        while not stop.is_set():
            before = serial()
            try:
                Published(pub.folder)
            except (AssertionError, OSError, ValueError, lzma.LZMAError) as error:
                # Two runs may have ended since it read the index.
                if serial() < before + 2:
                    wrong.append(repr(error))

    watcher = threading.Thread(target=watch)
    watcher.start()
    running = [subprocess.Popen([KEYVETO, *map(str, pub.words(pub.folder, files[number % 2]))],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=pub.environment())
               for number in range(8)]
    try:
        outs = [process.communicate(timeout=PATIENCE) for process in running]
    finally:
        stop.set()
        watcher.join()
    equal([process.returncode for process in running], [0] * 8, str(outs))
    equal(sorted(int(re.search(r"serial (\d+)", out)[1]) for out, _ in outs), list(range(2, 10)))
    equal(wrong, [])
    now = Published(pub.folder, pub.signers)
    equal((now.serial, now.contents), (9, {"f": revision(1), "l": a_list(1)}))
    equal(names(pub.folder), ["deltas", "files", "index"])


def test_a_signal_leaves_no_lock(pub):
    """While ssh-keygen waits for a passphrase that nobody types."""
    fifo = pub.scratch / "fifo"
    os.mkfifo(fifo)
    pub.publish(pub.put("f", revision(1)))
    with subprocess.Popen([KEYVETO, "publish", "--sign", fifo, pub.folder, pub.put("f", revision(2))],
                          stderr=subprocess.PIPE) as process:
        # The delta is there before the index is signed.
        wait_until(lambda: any(name.endswith(".delta") for name in names(pub.folder / "deltas")), "it signs")
        assert ".index.lock" in names(pub.folder)
        process.terminate()
        process.communicate(timeout=PATIENCE)
    equal(process.returncode, -signal.SIGTERM)
    equal(names(pub.folder), ["deltas", "files", "index"])
    equal(Published(pub.folder, pub.signers).contents["f"], revision(1))
    equal(pub.publish(pub.scratch / "f")[0].contents["f"], revision(2))


def system_calls(pub, prepare, words):
    """(name, number) of each system call of a run after it has opened the folder."""
    prepare()
    equal(pub.traced([], *words)[0], 0)
    calls = re.findall(r"^(\w+)\((.*)$", (pub.scratch / "trace").read_text(encoding="utf-8", errors="replace"),
                       re.MULTILINE)
    begun = next(number for number, (name, what) in enumerate(calls) if name == "mkdir" and f'"{pub.folder}"' in what)
    counts, found = {}, []
    for number, (name, _) in enumerate(calls):
        counts[name] = counts.get(name, 0) + 1
        # What the C library calls for memory and threads never fails with EIO.
        if number >= begun and not re.match("futex|brk|m(un)?map|mprotect|madvise|mremap|rt_sig|exit|sched", name):
            found.append((name, counts[name]))
    return found


def at_each_call(pub, injected, judge, every):
    """Publishes the second revisions over the first, with a fault in another call each time: the serials then."""
    saved = pub.scratch / "saved"
    pub.publish(pub.put("f", revision(1)), pub.put("l", a_list(1)))
    pub.put("l.sources", b"7 own\n")
    pub.publish(pub.scratch / "l")
    pub.folder.rename(saved)
    words = pub.put("f", revision(2)), pub.put("l", a_list(2))
    before, after = [{"f": revision(number), "l": a_list(number)} for number in (1, 2)]

    def prepare():
        tool("rm", "-rf", pub.folder)
        tool("cp", "-a", saved, pub.folder)

    calls = system_calls(pub, prepare, words)
    assert len(calls) > 150, calls
    if "EIO" in injected:
        # A close that strace lets fail leaves the pipe open, for whose end the run waits. A real one does not.
        calls = [call for call in calls if call[0] != "close"]
    if not every:
        naming = {"renameat", "unlinkat", "linkat", "flock"}
        calls = [call for number, call in enumerate(calls) if number % 97 == 0 or call[0] in naming]
    seen = set()
    for name, number in calls:
        prepare()
        status, messages = pub.traced(["-e", f"trace={name}", "-e", f"inject={name}:{injected}:when={number}"], *words)
        what = f"{name} {number}: status {status}: {messages}"
        now = Published(pub.folder, pub.signers)
        assert now.contents in (before, after), what
        judge(status, messages, now.contents == after, what)
        seen.add(now.serial)
        now, _ = pub.publish(*words)
        assert now.contents == after, what
        followed = now.follow("f", revision(1))
        # A run that could not read the old file, or the delta, does without it.
        assert followed == revision(2) or (followed is None and status == 0 and "EIO" in injected), what
        now, _ = pub.publish()
        equal(now.surplus(), set(), what)
    return seen


@pytest.mark.long
def test_killed_at_each_system_call_the_folder_is_whole(pub, request):
    """With --campaign at each one, else at some, and at all that give or take a name. The next run succeeds."""
    def judge(status, _messages, new, what):
        # 0: this run made fewer such calls, for memory.
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL) or (status == 0 and new), what

    equal(at_each_call(pub, "signal=KILL", judge, request.config.getoption("--campaign")), {2, 3})


@pytest.mark.long
def test_a_failed_system_call_leaves_the_folder_whole(pub, request):
    """It is reported, unless the new index is there."""
    def judge(status, messages, new, what):
        assert status in (0, 2), what
        assert status == 0 or messages.startswith("keyveto: "), what
        assert status == 2 or new, f"success without the new one: {what}"

    equal(at_each_call(pub, "error=EIO", judge, request.config.getoption("--campaign")), {2, 3})


def test_all_that_the_index_names_is_on_disk_before_it(pub):
    pub.publish(pub.put("f", revision(1)))
    equal(pub.traced(["-y", "-e", "trace=renameat,fsync,unlinkat"], pub.put("f", revision(2)))[0], 0)
    calls = re.findall(r"^(\w+)\((.*)\) += 0$", (pub.scratch / "trace").read_text(encoding="utf-8"), re.MULTILINE)
    steps = [(call, (re.findall(r'"(.*?)"', what) or [what[:-1].rpartition("/")[2]])[-1]) for call, what in calls]
    steps = [(call, what) for call, what in steps if what != ".index.lock"]
    packed = f"{sha256(revision(2))}.xz"
    step = f"{sha256(revision(1))[:32]}-{sha256(revision(2))[:32]}.delta"
    index = steps.index(("renameat", "index"))
    equal(steps[:2], [("fsync", ".keyveto-new"), ("renameat", packed)])
    equal(steps[2:4], [("fsync", ".keyveto-new"), ("renameat", step)])
    equal(steps[4:7], [("fsync", "files"), ("fsync", "deltas"), ("fsync", "pub")])
    equal(steps[index + 1:], [("fsync", "pub")])
    pub.traced(["-y", "-e", "trace=renameat,unlinkat"])
    trace = (pub.scratch / "trace").read_text(encoding="utf-8")
    assert trace.index(f'"{sha256(revision(1))}.xz"') > trace.index('"index")'), trace


def test_a_full_disk_leaves_the_old_index(pub):
    """With ever more room, until all fits."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    pub.publish(pub.put("f", revision(1, p=18)), pub.put("l", a_list(1, 3000)))
    pub.put("f", revision(2, p=18))
    pub.put("l", a_list(2, 3000))
    script = f"""
        cd {pub.scratch}
        cp -a pub whole
        mount -t tmpfs -o size=1m,mode=755 none pub
        for free in 0 1 2 4 8 16 24 32 40 48 56 64 80; do
            find pub -mindepth 1 -delete
            cp -a whole/. pub
            left=$(df --output=avail -B4k pub | tail -n 1)
            dd if=/dev/zero of=pub/fill bs=4k count=$((left - free)) status=none
            if "{KEYVETO}" publish --quiet --sign key pub f l 2>message; then
                echo all >>ends
            else
                echo "$(cat message)" >>ends
            fi
            rm -f pub/fill message
            mkdir after$free
            cp -a pub/. after$free
        done
    """
    tool("unshare", "-m", "sh", "-euc", script)
    ends = (pub.scratch / "ends").read_text(encoding="ascii").splitlines()
    contains(ends[0], "No space left on device")
    equal(ends[-1], "all")
    for free, end in zip((0, 1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 80), ends):
        now = Published(pub.scratch / f"after{free}", pub.signers)
        number = 2 if end == "all" else 1
        assert now.contents == {"f": revision(number, p=18), "l": a_list(number, 3000)}, f"{free} free: {end}"
        equal([name for name in names(now.folder / "files") if name.startswith(".")], [], end)
        if end != "all":
            contains(end, "No space left on device")
