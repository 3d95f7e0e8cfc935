# SPDX-License-Identifier: ISC
"""keyveto update follows a published folder: what it asks for, what it believes, what it installs."""

import functools
import hashlib
import json
import os
import shutil
import time

import pytest

import sshkey
from blocklist import Blocklist
from follow_publisher import (BASE, DAY, FollowListPlace, FollowPlace, delta_name, digest, pack, packed_name, stamp)
from program import contains, equal, lacks
from publisher import MANIFEST, records
from runs import run
from update_place import Signer, a_filter, large, redirect_to, revision_of, untouched, update_findings, \
    with_signers
from website import Page


@pytest.fixture(name="place")
def fixture_place(scratch):
    made = FollowPlace(scratch)
    yield made
    made.close()


@functools.cache
def grown(revision=1):
    """A filter that has all bits of the revisions before, and some more."""
    bits = bytearray(a_filter(1, entries=500, p=16))
    bits[6:10] = revision.to_bytes(4, "big")
    bits[18:22] = (500 + 2 * (revision - 1)).to_bytes(4, "big")
    for step in range(2, revision + 1):
        for turn in range(20):
            at = 24 + int.from_bytes(hashlib.sha256(b"%d %d" % (step, turn)).digest()[:4], "big") % (len(bits) - 24)
            bits[at] |= 1 << (turn % 8)
    return bytes(bits)


def fetched(message):
    """(bytes fetched, bytes instead of which) of an outcome line."""
    words = message.rpartition("; fetched ")[2].split()
    return int(words[0]), int(words[4])


# --- what is asked for -----------------------------------------------------------

def test_the_first_run_takes_the_whole_file(place):
    place.put(grown())
    message = place.update()
    contains(message, "installed, revision 1, ")
    place.holds(grown())
    equal(place.asked(), ["index", packed_name(grown())])
    sent = len(place.folder.names["index"]) + len(place.folder.names[packed_name(grown())])
    equal(fetched(message), (sent, len(grown())))
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf"])


def test_an_index_that_has_not_changed_costs_one_request(place):
    place.put(grown())
    place.update()
    before = untouched(place.target)
    place.asked()
    for _ in range(2):
        equal(place.update(), "already current, revision 1")
        equal(place.site.requests[-1].headers["If-None-Match"], place.page_of("index").etag)
        equal(place.asked(), ["index"])
    # A new index with the same file costs no more than the index.
    place.index()
    equal(place.update(), "already current, revision 1")
    equal(place.asked(), ["index"])
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-None-Match"], place.page_of("index").etag)
    equal(untouched(place.target), before)


def test_one_delta_is_all_that_is_fetched(place):
    place.put(grown())
    place.update()
    place.put(grown(2))
    place.asked()
    message = place.update()
    contains(message, "updated, revision 1 -> 2, ")
    place.holds(grown(2))
    equal(place.asked(), ["index", delta_name(grown(), grown(2))])
    names = place.folder.names
    equal(fetched(message), (len(names["index"]) + len(names[delta_name(grown(), grown(2))]), len(grown())))
    equal(place.previous.read_bytes() == grown(), True, "the old one is kept")
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_a_chain_of_deltas_leads_from_an_older_revision(place):
    place.put(grown())
    place.update()
    for revision in (2, 3, 4):
        place.put(grown(revision))
    place.asked()
    contains(place.update(), "updated, revision 1 -> 4, ")
    place.holds(grown(4))
    equal(place.asked(), ["index", *(delta_name(grown(n), grown(n + 1)) for n in (1, 2, 3))])
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_the_cheapest_way_is_taken(place):
    """Not the one with the fewest steps; and no deltas if the whole file is cheaper."""
    place.put(grown())
    place.update()
    place.put(grown(2))
    place.put(grown(3))
    entry = place.folder.entries["filter.pkbf"]
    direct = {"from": digest(grown()), "to": digest(grown(3)), "size": sum(d["size"] for d in entry["deltas"]) + 1}
    # A circle, and a way that leads nowhere.
    back = {"from": digest(grown(2)), "to": digest(grown()), "size": 1}
    entry["deltas"] = [direct, back, {"from": digest(grown()), "to": "0" * 64, "size": 1}, *entry["deltas"]]
    place.index()
    place.asked()
    place.update()
    equal(place.asked(), ["index", delta_name(grown(), grown(2)), delta_name(grown(2), grown(3))])
    place.put(grown(4))
    place.folder.entries["filter.pkbf"]["deltas"][-1]["size"] = len(place.folder.names[packed_name(grown(4))])
    place.index()
    place.asked()
    place.update()
    equal(place.asked(), ["index", packed_name(grown(4))])
    place.holds(grown(4))


def test_a_request_names_nothing_but_the_file(place):
    place.put(grown())
    place.update(env={**os.environ, "LANG": "xx", "USER": "somebody"})
    place.put(grown(2))
    place.update()
    for request in place.site.requests:
        names = {name.lower() for name in request.headers}
        equal(names - {"host", "user-agent", "accept", "if-none-match"}, set())
        equal(request.headers["User-Agent"], "keyveto")
        equal(request.headers["Accept"], "*/*")


def test_the_installed_file_is_hashed_once(place):
    """A file that came otherwise is recognized by its SHA-256."""
    place.put(grown(2))
    place.target.write_bytes(grown(2))
    place.target.chmod(0o644)
    equal(place.update(), "already current, revision 2")
    equal(place.asked(), ["index"])
    contains((place.state / ".filter.pkbf.keyveto-update").read_text(encoding="ascii"), digest(grown(2)))
    # The notes are about that file only.
    place.target.write_bytes(grown())
    os.utime(place.target, ns=(1, 1))
    contains(place.update(), "updated, revision 1 -> 2")


# --- deltas that do not fit ------------------------------------------------------

def truncate(data):
    return data[:-7]


def flip_the_middle(data):
    return data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1:]


@pytest.mark.parametrize("damage", [truncate, flip_the_middle, lambda data: data + b"x", lambda data: b"",
                                    lambda data: b"\xff" * len(data), lambda data: bytes(len(data)), None],
                         ids=["short", "flipped", "long", "empty", "ones", "zeros", "missing"])
def test_a_delta_that_is_no_good_is_no_matter(place, damage):
    place.put(grown())
    place.update()
    place.put(grown(2))
    name = delta_name(grown(), grown(2))
    if damage is None:
        del place.site.pages[BASE + name]
    else:
        place.page_of(name).body = damage(place.page_of(name).body)
    place.asked()
    contains(place.update(), "updated, revision 1 -> 2, ")
    place.holds(grown(2))
    equal(place.asked(), ["index", name, packed_name(grown(2))])
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_the_delta_of_another_pair_is_no_matter(place):
    for revision in (1, 2, 3):
        place.put(grown(revision))
        place.update()
    place.target.write_bytes(grown(2))
    names = [delta_name(grown(n), grown(n + 1)) for n in (1, 2)]
    place.page_of(names[1]).body = place.page_of(names[0]).body
    place.folder.entries["filter.pkbf"]["deltas"][-1]["size"] = len(place.page_of(names[0]).body)
    body = place.page_of(names[0]).body
    place.index()
    place.page_of(names[1]).body = body
    place.asked()
    contains(place.update(), "updated, revision 2 -> 3, ")
    equal(place.asked(), ["index", names[1], packed_name(grown(3))])
    place.holds(grown(3))


def test_a_later_delta_of_the_chain_that_is_no_good_is_no_matter(place):
    place.put(grown())
    place.update()
    place.put(grown(2))
    place.put(grown(3))
    del place.site.pages[BASE + delta_name(grown(2), grown(3))]
    contains(place.update(), "updated, revision 1 -> 3, ")
    place.holds(grown(3))


# --- the whole file --------------------------------------------------------------

def test_a_whole_file_that_is_not_the_indexs_is_refused(place):
    place.put(grown(2))
    good = place.page_of(packed_name(grown(2))).body
    liar = pack(grown(1))
    for body, why in ((good[:-40], "cut short; try again later"), (good + b"x", "is longer than the "),
                      (flip_the_middle(good), ""), (liar[:len(good)].ljust(len(good), b"\0"), ""),
                      (b"", "ends after 0 of the "), (bytes(len(good)), "its SHA-256 is not the one in the index")):
        place.page_of(packed_name(grown(2))).body = body
        messages = place.refuse(kept=False)
        contains(messages, why, place.site.url(BASE + packed_name(grown(2))))
        equal([name for name in place.names() if "part" in name or "lock" in name], [], messages)
    del place.site.pages[BASE + packed_name(grown(2))]
    contains(place.refuse(), "HTTP status 404")
    place.serve()
    place.update()
    place.holds(grown(2))


def test_a_packed_bomb_ends_at_the_size_of_the_index(place):
    place.put(grown())
    bomb = pack(bytes(len(grown()) * 50))
    place.folder.names[packed_name(grown())] = bomb
    place.folder.entries["filter.pkbf"]["packed_size"] = len(bomb)
    place.index()
    contains(place.refuse(), f"has more than the {len(grown())} bytes that the index says, when unpacked")
    place.folder.entries["filter.pkbf"]["size"] = 2 ** 62
    place.index()
    contains(place.refuse(), f"filter.pkbf has {2 ** 62} bytes, packed {len(bomb)}, which is more than MaxSize allows "
                             f"({4 * 2 ** 30}); if that is right, raise MaxSize")
    place.put(grown(2))
    place.lines["MaxSize"] = len(grown()) - 25
    place.asked()
    contains(place.refuse(), "which is more than MaxSize allows")
    equal(place.asked(), ["index"])
    place.lines["MaxSize"] = len(grown()) - 24
    place.update()


def test_a_download_goes_on_where_it_ended(place):
    place.put(large())
    page = place.page_of(packed_name(large()))
    page.cut = len(page.body) // 2
    place.run(status=2)
    equal(place.packed.stat().st_size, page.cut)
    cut, page.cut = page.cut, None
    message = place.update()
    equal(place.site.requests[-1].headers["Range"], f"bytes={cut - 1}-")
    equal(fetched(message)[0], len(place.folder.names["index"]) + len(page.body) - cut + 1)
    place.holds(large())
    lacks(" ".join(place.names()), "part")


def test_a_dry_run_changes_nothing(place):
    place.put(grown())
    contains(place.update("--dry-run"), "would be updated, revision 1, ")
    equal(place.names(), [])
    place.update()
    before = place.snapshot(), (place.state / ".filter.pkbf.keyveto-update").read_bytes()
    place.put(grown(2))
    contains(place.update("--dry-run"), "would be updated, revision 1 -> 2, ")
    equal((place.snapshot(), (place.state / ".filter.pkbf.keyveto-update").read_bytes()), before)
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf"])


# --- the index -------------------------------------------------------------------

def test_an_index_without_a_good_signature_is_not_read(place):
    place.put(grown())
    stranger = Signer(place.settings.parent, "stranger")
    text = place.folder.text()
    place.asked()
    for bad, why in ((text, "has no signature at its end"), (b"", "has no signature at its end"),
                     (text + stranger.sign(text, "keyveto-index"), "no good signature by keyveto for this index"),
                     (text + place.signer.sign(text, "keyveto-filter"), "no good signature by keyveto"),
                     (text + b"\n" + place.signer.sign(text, "keyveto-index"), "no good signature by keyveto"),
                     (b"{\n" + place.signer.sign(text, "keyveto-index"), "no good signature by keyveto"),
                     (b"x" * (1 << 20) + b"x", "longer than 1 MiB: not the index of a published folder")):
        place.page_of("index").body = bad
        for words in ((), ("--force",), ("--dry-run",)):
            contains(place.refuse(*words), why)
    equal(set(place.asked()), {"index"})
    # A good signature of something that is no index.
    for text in (b"[]\n", b"{}\n", b"\0\n", place.folder.text(format="keyveto-index-2"), place.folder.text(serial="1")):
        place.page_of("index").body = text + place.signer.sign(text, "keyveto-index")
        contains(place.refuse(), f"{place.site.url(BASE)}index: ", "ask its publisher")
    equal(set(place.asked()), {"index"})


def lose_nothing(_place):
    pass


def lose_the_target(place):
    place.target.unlink()


def truncate_the_target(place):
    os.truncate(place.target, 30)


@pytest.mark.parametrize("lose", [lose_nothing, lose_the_target, truncate_the_target])
def test_an_older_index_is_a_replay(place, lose):
    """Also if the installed file was removed or damaged."""
    place.put(grown())
    old = place.folder.names["index"]
    place.put(grown(2))
    place.update()
    lose(place)
    place.asked()
    place.page_of("index").body, place.page_of("index").etag = old, '"old"'
    result = place.run(status=2)
    contains(result.err.decode(), "index: has serial 1, but serial 2 was seen before; somebody may want old keys to be "
                                  "accepted again. If it is right, use --force")
    lacks(" ".join(place.asked()), "xz")
    place.serve()
    place.run(status=0)
    place.holds(grown(2))


def test_two_indexes_with_one_serial_are_a_lie(place):
    place.put(grown())
    place.update()
    place.index(serial=1, more=1)
    contains(place.refuse(), "has serial 1, as the index that was seen before, but differs from it; ask its publisher")
    place.update("--force")
    equal(place.update(), "already current, revision 1")


def test_force_believes_an_older_index(place):
    place.put(grown())
    place.index(serial=2 ** 53)
    place.update()
    place.index(serial=7)
    contains(place.refuse(), f"has serial 7, but serial {2 ** 53} was seen before")
    equal(place.update("--force"), "already current, revision 1")
    place.index(serial=8)
    equal(place.update(), "already current, revision 1")


def test_the_serial_is_of_the_signers_or_of_the_place(place):
    place.put(grown())
    place.index(serial=9)
    place.update()
    # A mirror of the same publisher.
    other = place.state.parent / "mirror"
    place.folder.index(serial=8)
    place.folder.write(other)
    place.lines["Index"] = other
    contains(place.refuse(), f"{other}/index: has serial 8, but serial 9 was seen before")
    # The same place, with another key as well.
    place.serve()
    stranger = Signer(place.settings.parent, "stranger")
    place.lines["Index"] = place.site.url(BASE)
    with_signers(place, f"keyveto {place.signer.public}", f"keyveto {stranger.public}")
    contains(place.refuse(), "has serial 8, but serial 9 was seen before")
    # Another publisher at another place.
    place.lines["Index"] = other
    equal(place.update(), "already current, revision 1")


def test_an_expired_index_is_a_failure(place):
    now = int(time.time())
    place.put(grown())
    place.index(date=stamp(now - 20 * DAY), expires=stamp(now - 60))
    contains(place.refuse(), f"index: expired at {stamp(now - 60)}, and there is no newer one: somebody may be holding "
                             "newer ones back; ask its publisher")
    contains(place.refuse("--force"), "expired at")
    equal(set(place.asked()), {"index"})
    # Its serial was seen all the same.
    place.index(serial=1)
    contains(place.refuse(), "has serial 1, but serial 2 was seen before")
    place.index(serial=3)
    place.update()


def test_an_index_expires_also_if_the_server_says_that_it_has_not_changed(place):
    place.put(grown())
    place.index(expires=stamp(int(time.time()) + 3))
    place.update()
    notes = place.state / ".filter.pkbf.keyveto-update"
    text = notes.read_text(encoding="ascii")
    known = json.loads(text)
    known["index_expires"] = int(time.time()) - 1
    notes.write_text(json.dumps(known), encoding="ascii")
    contains(place.refuse(), "index: expired at ")
    equal(place.site.requests[-1].headers["If-None-Match"], place.page_of("index").etag)


def test_an_index_of_the_future_is_a_failure(place):
    now = int(time.time())
    place.put(grown())
    place.index(date=stamp(now + 2 * DAY), expires=stamp(now + 30 * DAY))
    for words in ((), ("--force",)):
        contains(place.refuse(*words), "its date is in the future; compare the clock of this machine with its "
                                       "publisher's")
    place.index(serial=1, date=stamp(now + DAY // 2))
    place.update()


# --- the entry -------------------------------------------------------------------

def test_the_file_of_the_index_is_found(place):
    """By File, by the name of the target, or because there is one only."""
    place.name = "keys.pkbf"
    place.put(grown())
    place.update()
    place.name = "more.pkbf"
    place.put(grown(2))
    contains(place.refuse(), "index: has several: keys.pkbf, more.pkbf; set File to one of them")
    place.lines["File"] = "none.pkbf"
    contains(place.refuse(), "index: has no file none.pkbf; correct File, or ask its publisher")
    place.lines["File"] = "more.pkbf"
    contains(place.update(), "updated, revision 1 -> 2")
    del place.lines["File"]
    place.name = "filter.pkbf"
    place.put(grown(3))
    contains(place.update(), "updated, revision 2 -> 3")
    place.folder.entries = {}
    place.folder.put("list.dat", bytes(range(16)) * 1, kind="blocklist")
    place.serve()
    contains(place.refuse(), "index: has no filter; correct Index or Format")
    place.lines["File"] = "list.dat"
    contains(place.refuse(), "list.dat is an exact list there; correct File or Format")


def test_settings_of_a_folder_are_checked(place):
    place.put(grown())
    path = place.settings

    def mistake(*lines):
        place.lines = {}
        path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        return run("update", "--settings", path, "--filter", place.target, status=2).problems[0]

    signers = f"AllowedSigners {place.allowed}"
    equal(mistake("Index /mnt/usb"), f"{path}:1: Index needs AllowedSigners, the file of the publisher's signing keys")
    for other in ("URL https://localhost/", "SignatureURL https://localhost/", "Lookup yes"):
        equal(mistake("", signers, "Index /mnt/usb", other),
              f"{path}:4: URL, SignatureURL and Lookup do not go with Index (line 3): keep one of them")
    equal(mistake(signers, "File x", "URL https://localhost/x"),
          f"{path}:2: File names a file of an index: set Index, too")
    for name in ("../x", ".x", "a/b", "x y", "", "x" * 129):
        contains(mistake(signers, "Index /x", f'File "{name}"'), f"{path}:3: File needs the plain name of a file")
    for where in ("http://localhost/", "relative", ""):
        contains(mistake(signers, f'Index "{where}"'), f"{path}:2: Index needs an https URL, or an absolute path")
    equal(mistake("", "Source ours", "Index /mnt/usb", "Target /x"),
          f"{path}:3: Index needs AllowedSigners, the file of the publisher's signing keys")


# --- the same rules as of any update ---------------------------------------------

def test_a_filter_that_would_not_be_installed_is_not(place):
    place.put(grown(2))
    place.update()
    place.put(grown(1))
    contains(place.refuse(kept=None), "revision 1, older than the revision 2 that is installed")
    place.put(b"pkbfv2" + grown(3)[6:])
    contains(place.refuse(kept=None), "not a filter")
    place.put(a_filter(5, entries=490, p=16, seed=1))
    contains(place.refuse(kept=None), "keys would be accepted again")
    # What was refused is not fetched again.
    place.asked()
    contains(place.refuse(kept=None), "keys would be accepted again")
    equal(place.asked(), ["index"])
    place.put(grown(4))
    place.lines["MaxFalsePositives"] = "1e-9"
    contains(place.refuse(kept=None), "more than MaxFalsePositives allows")
    del place.lines["MaxFalsePositives"]
    place.update()
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_a_file_that_was_rolled_back_stays_away(place):
    """Until the index has another one. It is not even fetched."""
    for revision in (1, 2):
        place.put(grown(revision))
        place.update()
    contains(place.update("--rollback"), "rolled back, revision 2 -> 1, ")
    place.holds(grown(1))
    place.asked()
    for _ in range(2):
        contains(place.refuse(), "still has the revision 2 that was rolled back here, ")
        equal(place.asked(), ["index"])
    place.index()
    contains(place.refuse(), "still has the revision 2 that was rolled back here, ")
    equal(place.asked(), ["index"])
    place.put(grown(3))
    contains(place.update(), "updated, revision 1 -> 3, ")
    place.holds(grown(3))
    place.update("--rollback")
    contains(place.update("--force"), "updated, revision 1 -> 3, ")
    equal(place.update(), "already current, revision 3")


# --- exact lists -----------------------------------------------------------------

@pytest.fixture(name="lists")
def fixture_lists(scratch):
    made = FollowListPlace(scratch)
    yield made
    made.close()


def test_a_mirror_of_badkeys_has_its_manifest(lists):
    manifest = lists.mirror(records(1000), "2026-11-01T10:00:00Z")
    contains(lists.update(), "installed, 1000 records of 2026-11-01; fetched ")
    equal(lists.target.read_bytes(), records(1000))
    equal(lists.asked(), ["index", manifest, packed_name(records(1000))])
    lines = lists.sources.read_text(encoding="ascii").splitlines()
    equal([line for line in lines if not line.startswith("#")],
          ["1 debianssl badkeys/debianopenssl main", "13 git badkeys/gitkeys main/keys", "99 new"])
    for line in ("# date 2026-11-01", "# time 2026-11-01T10:00:00Z", f"# sha256 {digest(records(1000))}"):
        assert line in lines, lines
    equal(lists.update(), "already current, 1000 records of 2026-11-01")
    equal(lists.asked(), ["index"])
    manifest = lists.mirror(records(1010), "2026-11-02T10:00:00Z")
    message = lists.update()
    contains(message, "updated, 1000 -> 1010 records of 2026-11-02; without 1 of the old ones; fetched ")
    equal(lists.asked(), ["index", manifest, delta_name(records(1000), records(1010))])
    equal(lists.target.read_bytes(), records(1010))
    # The sources are written again if they are lost.
    kept = lists.sources.read_bytes()
    lists.sources.unlink()
    contains(lists.update(), "already current, 1010 records")
    equal(lists.sources.read_bytes(), kept)
    equal(lists.asked(), ["index", manifest])
    lists.update()
    equal(lists.asked(), ["index"])


def test_an_own_list_has_its_sources(lists):
    sources = lists.folder.companion(b"# ours\n# sha256 0000\n1 laptops\n13 servers\n")
    lists.put(records(500), date="2026-11-05T00:00:00Z", sources=sources)
    contains(lists.update(), "installed, 500 records of 2026-11-05")
    lines = lists.sources.read_text(encoding="ascii").splitlines()[1:]
    equal(lines, ["# date 2026-11-05", "# time 2026-11-05T00:00:00Z", f"# sha256 {digest(records(500))}", "# ours",
                  "1 laptops", "13 servers"])
    equal(lists.asked(), ["index", f"files/{sources['sha256']}", packed_name(records(500))])
    lists.update()
    equal(lists.asked(), ["index"])
    contains(lists.run("--lookup", status=2).problems[0], "a published folder has no lookup file; leave out --lookup")
    # Without sources, and without a date.
    lists.folder.entries.clear()
    lists.put(records(510))
    lists.update()
    equal(lists.target.read_bytes(), records(510))
    contains(lists.update("--rollback", "--source", "badkeys"), "rolled back, 510 -> 500 records of 2026-11-05")
    contains(lists.sources.read_text(encoding="ascii"), "1 laptops")


def test_of_long_sources_as_much_is_kept_as_logins_read(lists):
    sources = lists.folder.companion(b"1 laptops\n" + b"# a comment\n" * 80000 + b"13 servers\n")
    lists.put(records(500), date="2026-11-05T00:00:00Z", sources=sources)
    contains(lists.update(), "installed, 500 records of 2026-11-05")
    kept = lists.sources.read_bytes()
    contains(kept, b"\n1 laptops\n")
    assert 16000 < len(kept) <= 16384, len(kept)


def test_a_companion_that_is_not_the_indexs_is_refused(lists):
    manifest = lists.mirror(records(1000), "2026-11-01T10:00:00Z")
    page = lists.site.pages[BASE + manifest]
    good = page.body
    for body, why in ((good + b" ", "its SHA-256 is not the one in the index"),
                      (b"x" * (1 << 20) + b"x", "longer than it may be")):
        page.body = body
        contains(lists.refuse(), f"{lists.site.url(BASE + manifest)}: {why}")
    del lists.site.pages[BASE + manifest]
    contains(lists.refuse(), "HTTP status 404")
    # A manifest of another list, and a list that is none, signed by a publisher who errs.
    lists.mirror(records(1000), "2026-11-01T10:00:00Z")
    entry = lists.folder.entries["badkeys.dat"]
    lists.put(records(1010), manifest=entry["manifest"])
    contains(lists.refuse(), "the manifest of badkeys.dat is of another list; ask its publisher")
    lists.put(b"no list at all")
    result = lists.run(status=2)
    contains(result.problems[0], "not an exact list; ask its publisher")
    lists.mirror(records(1020), "2026-11-03T10:00:00Z")
    lists.update()
    equal(lists.target.read_bytes(), records(1020))


@pytest.mark.throwaway
@pytest.mark.usefixtures("host_keys")
def test_a_list_that_is_held_is_not_fetched_again(lists, world):
    """HoldIfRefused judges a list of a folder as any other."""
    lists.config.write_text(f"Blocklist {lists.target}\n", encoding="utf-8")
    world.account("alice").authorize(world.clean, world.bad)
    lists.top["HoldIfRefused"] = 0
    lists.mirror(records(1000), "2026-11-01T10:00:00Z")
    lists.update()
    fresh = Blocklist(records(1000))
    fresh.add(sshkey.parse_line(str(world.bad).encode()), 13)
    lists.mirror(fresh.encode(), "2026-11-02T10:00:00Z")
    lists.asked()
    contains("\n".join(lists.run(status=2).problems), "would refuse keys of 1 accounts, more than HoldIfRefused allows")
    equal(lists.target.read_bytes(), records(1000))
    equal(lists.asked()[2:], [delta_name(records(1000), fresh.encode())])
    contains("\n".join(lists.run(status=2).problems), "would refuse keys of 1 accounts")
    contains("\n".join(lists.run("--dry-run", status=2).problems), "would refuse keys of 1 accounts")
    equal([name for name in lists.asked() if name.startswith("deltas/") or name.endswith(".xz")], [])
    contains(lists.run("--yes", status=1).out.decode(), "updated, 1000 -> 1001 records of 2026-11-02")
    equal([name for name in lists.asked() if name.startswith("deltas/") or name.endswith(".xz")], [])
    equal(lists.target.read_bytes(), fresh.encode())
    equal([name for name in os.listdir(lists.state) if "part" in name], [])


@pytest.mark.throwaway
@pytest.mark.usefixtures("host_keys")
def test_doctor_finds_an_expired_index(lists):
    lists.config.write_text(f"Blocklist {lists.target}\n", encoding="utf-8")
    lists.mirror(records(1000), "2026-11-01T10:00:00Z")
    lists.update()

    def found():
        return update_findings(lists.config)

    equal([check["status"] for check in found()], ["ok"])
    expired = int(time.time()) - 60
    lists.folder.index(expires=stamp(expired), date=stamp(expired - DAY))
    lists.serve()
    contains(lists.refuse(), "expired at")
    check = found()[0]
    equal(check["status"], "warning")
    contains(check["found"], f"{lists.target}: the index of its publisher expired at {stamp(expired)}")
    # Nobody follows that folder any more.
    lists.section |= {"Index": None, "URL": lists.publisher.site.url(MANIFEST), "AllowedSigners": None}
    lists.publisher.serve(records(1000), "2026-11-01T10:00:00Z")
    lists.update()
    equal([check["status"] for check in found()], ["ok"])


# --- places ----------------------------------------------------------------------

def test_a_folder_of_this_machine_is_as_good(place):
    """By its path, by a file URL, by the path of its index, or on the command line."""
    mirror = place.state.parent / "usb" / "keyveto"
    place.folder.put("filter.pkbf", grown())
    place.folder.write(mirror)
    place.lines["Index"] = mirror
    contains(place.update(), "installed, revision 1")
    for revision, where in ((2, f"file://{mirror}/"), (3, mirror / "index"), (4, f"{mirror}/")):
        place.folder.put("filter.pkbf", grown(revision))
        place.folder.write(mirror)
        place.lines["Index"] = where
        contains(place.update(), f"updated, revision {revision - 1} -> {revision}, ")
        place.holds(grown(revision))
    place.folder.put("filter.pkbf", grown(5))
    place.folder.write(mirror)
    del place.lines["Index"]
    contains(place.update(mirror), "updated, revision 4 -> 5")
    del place.lines["AllowedSigners"]
    result = place.run(mirror, status=2)
    contains(result.problems[0], f"{mirror}/index: a published folder needs AllowedSigners in {place.settings}")


def test_nothing_but_a_regular_file_of_a_folder_is_opened(place):
    mirror = place.state.parent / "mirror"
    place.folder.put("filter.pkbf", grown())
    place.folder.write(mirror)
    place.lines["Index"] = mirror
    packed = mirror / packed_name(grown())
    kept = place.state.parent / "kept"
    shutil.move(packed, kept)
    os.mkfifo(packed)
    contains(place.refuse(), f"{packed}: not a regular file")
    packed.unlink()
    packed.symlink_to("/dev/zero")
    contains(place.refuse(), f"{packed}: not a regular file")
    packed.unlink()
    packed.symlink_to(packed.name)
    contains(place.refuse(), f"{packed}: Too many levels of symbolic links")
    packed.unlink()
    # A link to a file is a file: a mirror may keep them elsewhere.
    packed.symlink_to(kept)
    place.update()
    place.holds(grown())


def test_redirects_lead_to_the_same_file(place):
    place.put(grown())
    moved = place.page_of(packed_name(grown()))
    place.site.pages["/cdn"] = moved
    page = place.site.pages[BASE + packed_name(grown())] = Page()
    page.answer = redirect_to(place.site.url("/cdn"))
    place.update()
    place.holds(grown())
    equal(revision_of(place.target), 1)
