# SPDX-License-Identifier: ISC
"""keyveto update where two of its ways meet: a URL and a folder, a rollback and an ETag, two files of an index."""

import json
import lzma
import time

import pytest

from follow_publisher import BASE, DAY, FollowListPlace, FollowPlace, digest, packed_name, stamp
from program import contains, equal, lacks
from publisher import records
from test_update_follow import grown
from test_update_hostile import notes_of, publish, updates_in_doctor
from update_place import Place, a_filter, large
from website import Page

LAST = 2 ** 32 - 1


@pytest.fixture(name="place")
def fixture_place(scratch):
    made = FollowPlace(scratch)
    yield made
    made.close()


@pytest.fixture(name="plain")
def fixture_plain(scratch):
    made = Place(scratch)
    yield made
    made.close()


@pytest.fixture(name="lists")
def fixture_lists(scratch):
    made = FollowListPlace(scratch)
    yield made
    made.close()


def test_a_filter_that_came_from_a_url_is_not_taken_for_the_folders(place):
    """The SHA-256 in the notes is of the folder's file, which the URL's has replaced."""
    place.put(grown(2))
    place.update()
    folder = {name: place.lines[name] for name in ("URL", "Index", "AllowedSigners")}
    place.lines |= {"URL": place.site.url(), "Index": None, "AllowedSigners": None}
    place.page.body = grown(1)
    contains(place.update("--force"), "updated, revision 2 -> 1")
    place.lines |= folder
    contains(place.update(), "updated, revision 1 -> 2")
    place.holds(grown(2))


def test_another_file_of_an_index_that_has_not_changed_is_fetched(place):
    for name, revision in (("one.pkbf", 1), ("two.pkbf", 2)):
        place.name = name
        place.put(grown(revision))
    place.lines["File"] = "one.pkbf"
    place.update()
    equal(place.update(), "already current, revision 1")
    place.lines["File"] = "two.pkbf"
    contains(place.update(), "updated, revision 1 -> 2")
    place.holds(grown(2))
    equal(place.update(), "already current, revision 2")
    equal(place.site.requests[-1].headers["If-None-Match"], place.page_of("index").etag)


def test_a_list_of_the_future_of_an_index_freezes_nothing(lists):
    """Nor does a date that the index gives to the list that is installed."""
    now = int(time.time())
    lists.put(records(500), date=stamp(now - 3 * DAY))
    lists.update()
    for data in (records(500), records(510)):
        lists.put(data, date=stamp(now + 1000 * DAY))
        contains(lists.refuse(), "its date is in the future; compare the clock of this machine with its publisher's")
    lists.put(records(520), date=stamp(now))
    contains(lists.update(), "updated, 500 -> 520 records")


def test_a_list_whose_date_is_lost_is_rolled_back_aloud(lists):
    """An index that has not changed is no reason to say that all is current."""
    lists.put(records(500), date="2026-11-01T00:00:00Z")
    lists.update()
    lists.put(records(510), date="2026-11-02T00:00:00Z")
    lists.update()
    lists.sources.unlink()
    contains(lists.update("--rollback", "--source", "badkeys"), "rolled back, 510 -> 500 records")
    for _ in range(2):
        contains(lists.refuse(), "still has the list of 2026-11-02 that was rolled back here")
    equal(notes_of(lists)["rolled_back"], 1)


def test_a_rollback_by_an_older_keyveto_is_not_silent(plain):
    """Its notes have the ETag of the revision that was rolled back, and no hash of it."""
    for revision in (1, LAST):
        publish(plain, a_filter(revision))
        plain.update("--force")
    plain.update("--rollback")
    path = plain.state / ".filter.pkbf.keyveto-update"
    newer = ("unwanted_sha256", "rolled_back", "highest", "most", "lost", "lost_of")
    path.write_text(json.dumps({name: value for name, value in notes_of(plain).items() if name not in newer}),
                    encoding="ascii")
    for _ in range(2):
        contains(plain.refuse(), f"still has the revision {LAST} that was rolled back here")
    publish(plain, a_filter(2))
    contains(plain.update(), "updated, revision 1 -> 2")
    equal(plain.update(), "already current, revision 2")


def test_a_message_about_a_folder_says_what_to_correct_there(place):
    place.put(grown(2))
    del place.site.pages["/kv/" + packed_name(grown(2))]
    said = place.refuse()
    contains(said, "HTTP status 404", "run this again")
    lacks(said, "correct URL")
    del place.site.pages["/kv/index"]
    said = place.refuse()
    contains(said, "HTTP status 404; correct Index")
    for bad in (b"no filter, but long enough for a header" * 9, b"pkbf", bytes(16) * 40):
        place.put(bad, revision=1)
        said = place.refuse(kept=None)
        contains(said, "filter", "ask its publisher")
        lacks(said, "correct URL")
    place.folder.write(place.state.parent / "mirror")
    place.lines["Index"] = place.state.parent / "mirror"
    (place.state.parent / "mirror" / packed_name(bad)).unlink()
    place.part.unlink()
    contains(place.refuse(), ": No such file or directory; the folder may have changed meanwhile: run this again")
    place.lines["Index"] = place.state
    contains(place.refuse(), f"{place.state}/index: No such file or directory; correct Index")


def test_a_folder_that_changes_under_an_update_is_no_harm(place):
    """The publisher puts a new index between the fetch of the old one and of its file, and prunes that."""
    place.put(grown(1))
    old = place.page_of("index").body
    place.put(grown(2))
    place.folder.names.pop(packed_name(grown(1)))
    place.serve()
    new = place.page_of("index")
    body, new.body = new.body, old
    contains(place.refuse(), "HTTP status 404", "run this again")
    new.body = body
    contains(place.update(), "installed, revision 2")
    place.holds(grown(2))


def test_no_key_becomes_clean_unnoticed(plain):
    """Also a loss that is small enough is told."""
    old = a_filter(1, entries=500, p=16)
    publish(plain, old)
    plain.update()
    fresh = bytearray(old)
    fresh[9] = 2
    at = next(i for i in range(24, len(fresh)) if fresh[i] != 0)
    fresh[at] &= fresh[at] - 1
    publish(plain, bytes(fresh))
    result = plain.run("--quiet", status=0)
    contains(result.err.decode(), "warning: ", ": 1 of the ", " bits of the installed one are no longer set: ")
    publish(plain, a_filter(1, entries=500, p=16)[:9] + b"\3" + bytes(fresh)[10:])
    equal(plain.update().split(",")[0], "updated")


def test_no_record_of_a_list_goes_unnoticed(lists):
    """The outcome says how many of the old ones are not in the new list."""
    old = records(1000)
    lists.put(old, date="2026-11-01T00:00:00Z")
    lists.update()
    lists.put(old[:16 * 500] + old[16 * 503:], date="2026-11-02T00:00:00Z")
    contains(lists.update(), "updated, 1000 -> 997 records of 2026-11-02; without 3 of the old ones; fetched ")
    lists.put(old, date="2026-11-03T00:00:00Z")
    lacks(lists.update(), "without")


@pytest.mark.parametrize("kind", ("place", "lists"))
def test_a_rollback_that_was_killed_does_not_ban_the_installed_file(request, kind):
    """It had noted the file as unwanted before the exchange, which was never made."""
    place = request.getfixturevalue(kind)
    data = grown(2) if kind == "place" else records(500)
    place.put(data, date="2026-11-01T00:00:00Z")
    place.update()
    path = place.state / f".{place.target.name}.keyveto-update"
    path.write_text(json.dumps(notes_of(place) | {"rolled_back": 1, "unwanted_sha256": digest(data)}),
                    encoding="ascii")
    contains(place.update(), "already current, ")
    place.target.unlink()
    contains(place.update(), "installed, ")
    equal(place.target.read_bytes() == data, True)


def test_what_keeps_updates_away_for_days_is_a_finding_of_doctor(place, scratch):
    """Such as an index whose serial is too low, of which no other note tells."""
    place.put(grown(1))
    place.index(serial=2 ** 53)
    place.update()
    equal(notes_of(place)["failed_since"], 0)
    place.index(serial=7)
    place.refuse("--dry-run")
    equal(notes_of(place)["failed_since"], 0)
    started = int(time.time())
    place.refuse()
    since = notes_of(place)["failed_since"]
    assert started <= since <= time.time(), since
    equal([one["status"] for one in updates_in_doctor(scratch, "Filter", place.target)], ["ok"])
    path = place.state / ".filter.pkbf.keyveto-update"
    long_ago = since - 3 * DAY
    path.write_text(json.dumps(notes_of(place) | {"failed_since": long_ago}), encoding="ascii")
    place.refuse()
    equal(notes_of(place)["failed_since"], long_ago)
    found = updates_in_doctor(scratch, "Filter", place.target)
    equal([one["status"] for one in found], ["warning"])
    equal(found[0]["found"], f"{place.target}: no update of it has succeeded since one failed at {stamp(long_ago)}")
    contains(found[0]["remedy"], "keyveto update --dry-run")
    place.index(serial=2 ** 53)
    place.update("--force")
    equal(notes_of(place)["failed_since"], 0)
    equal([one["status"] for one in updates_in_doctor(scratch, "Filter", place.target)], ["ok"])


def test_a_part_that_is_longer_than_the_file_is_no_hole_in_a_bound(place):
    """The publisher packed the file better; the server goes on where the part ended, without end."""
    place.put(large())
    page = place.page_of(packed_name(large()))
    page.cut = len(page.body) - 1
    place.run(status=2)
    equal(place.packed.stat().st_size, page.cut)
    less = lzma.compress(large(), preset=9)[:page.cut - 100]
    place.folder.entries["filter.pkbf"]["packed_size"] = len(less)
    place.index()
    endless = place.site.pages[BASE + packed_name(large())] = Page(page.body * 4, page.etag)
    contains(place.refuse(), f"is longer than the {len(less)} bytes that the index says")
    lacks(str(place.site.requests[-1].headers), "Range")
    equal([name for name in place.names() if "part" in name], [])
    place.folder.names[packed_name(large())] = endless.body = page.body
    place.folder.entries["filter.pkbf"]["packed_size"] = len(page.body)
    place.index()
    place.update()
    place.holds(large())


def test_a_download_from_a_url_does_not_go_on_in_a_file_of_a_folder(place):
    """A folder's file that was refused stays as the part, of which the notes had the ETag of the URL."""
    place.put(grown(1))
    place.update()
    folder = {name: place.lines[name] for name in ("URL", "Index", "AllowedSigners")}
    url = {"URL": place.site.url(), "Index": None, "AllowedSigners": None}
    place.lines |= url
    place.page.body, place.page.etag, place.page.cut = grown(5), '"five"', len(grown(5)) // 2
    place.run(status=2)
    equal(place.part.stat().st_size, place.page.cut)
    place.lines |= folder | {"MaxFalsePositives": "1e-9"}
    place.put(grown(2))
    contains(place.refuse(kept=True), "more than MaxFalsePositives allows")
    place.lines |= url | {"MaxFalsePositives": None}
    place.page.cut = None
    contains(place.update(), "updated, revision 1 -> 5")
    place.holds(grown(5))
