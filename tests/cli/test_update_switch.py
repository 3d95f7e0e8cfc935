# SPDX-License-Identifier: ISC
"""keyveto update where two of its ways meet: two URLs, a rollback and an ETag; and what doctor finds in its notes."""

import hashlib
import json
import re
import time

import pytest

from program import ROOT, contains, equal, lacks
from publisher import MANIFEST, records
from runs import run, tool
from samples import write
from test_update_hostile import notes_of, publish, updates_in_doctor
from update_place import Signer, a_filter, grown
from website import Page

DAY = 86400
LAST = 2 ** 32 - 1


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def test_what_one_url_has_is_not_taken_for_what_another_has(place):
    """Although both servers give it the same ETag."""
    place.page.body = grown(2)
    place.update()
    other = place.site.pages["/other.pkbf"] = Page(grown(1), place.page.etag)
    url, place.lines["URL"] = place.lines["URL"], place.site.url("/other.pkbf")
    contains(place.update("--force"), "updated, revision 2 -> 1")
    equal(other.etag, place.page.etag)
    place.lines["URL"] = url
    contains(place.update(), "updated, revision 1 -> 2")
    equal(place.target.read_bytes() == grown(2), True)


def test_a_list_of_the_future_freezes_nothing(lists):
    """Nor does a date that the manifest gives to the list that is installed."""
    now = int(time.time())
    lists.publisher.serve(records(500), stamp(now - 3 * DAY))
    lists.update()
    for data in (records(500), records(510)):
        lists.publisher.serve(data, stamp(now + 1000 * DAY))
        contains(lists.refuse(), "its date is in the future; compare the clock of this machine with its publisher's")
    lists.publisher.serve(records(520), stamp(now))
    contains(lists.update(), "updated, 500 -> 520 records")


def test_a_list_whose_date_is_lost_is_rolled_back_aloud(lists):
    lists.publisher.serve(records(500), "2026-11-01T00:00:00Z")
    lists.update()
    lists.publisher.serve(records(510), "2026-11-02T00:00:00Z")
    lists.update()
    lists.sources.unlink()
    contains(lists.update("--rollback", "--source", "badkeys"), "rolled back, 510 -> 500 records")
    for _ in range(2):
        contains(lists.refuse(), "still has the list of 2026-11-02 that was rolled back here")
    equal(notes_of(lists)["rolled_back"], 1)


def test_a_rollback_by_an_older_keyveto_is_not_silent(place):
    """Its notes have the ETag of the revision that was rolled back, and no hash of it."""
    for revision in (1, LAST):
        publish(place, a_filter(revision))
        place.update("--force")
    place.update("--rollback")
    path = place.state / ".filter.pkbf.keyveto-update"
    newer = ("unwanted_sha256", "rolled_back", "highest", "asked")
    path.write_text(json.dumps({name: value for name, value in notes_of(place).items() if name not in newer}),
                    encoding="ascii")
    for _ in range(2):
        contains(place.refuse(), f"still has the revision {LAST} that was rolled back here")
    publish(place, a_filter(2))
    contains(place.update(), "updated, revision 1 -> 2")
    equal(place.update(), "already current, revision 2")


def test_no_key_becomes_clean_unnoticed(place):
    """Also a loss that is small enough is told."""
    old = a_filter(1, entries=500, p=16)
    publish(place, old)
    place.update()
    fresh = bytearray(old)
    fresh[9] = 2
    at = next(i for i in range(24, len(fresh)) if fresh[i] != 0)
    fresh[at] &= fresh[at] - 1
    publish(place, bytes(fresh))
    result = place.run("--quiet", status=0)
    contains(result.err.decode(), "warning: ", ": 1 of the ", " bits of the installed one are no longer set: ")
    publish(place, a_filter(1, entries=500, p=16)[:9] + b"\3" + bytes(fresh)[10:])
    equal(place.update().split(",")[0], "updated")


def test_no_record_of_a_list_goes_unnoticed(lists):
    """The outcome says how many of the old ones are not in the new list."""
    old = records(1000)
    lists.publisher.serve(old, "2026-11-01T00:00:00Z")
    lists.update()
    lists.publisher.serve(old[:16 * 500] + old[16 * 503:], "2026-11-02T00:00:00Z")
    contains(lists.update(), "updated, 1000 -> 997 records of 2026-11-02; without 3 of the old ones")
    lists.publisher.serve(old, "2026-11-03T00:00:00Z")
    lacks(lists.update(), "without")


@pytest.mark.parametrize("kind", ("place", "lists"))
def test_a_rollback_that_was_killed_does_not_ban_the_installed_file(request, kind):
    """It had noted the file as unwanted before the exchange, which was never made."""
    place = request.getfixturevalue(kind)
    data = grown(2) if kind == "place" else records(500)
    if kind == "place":
        place.page.body = data
    else:
        place.publisher.serve(data, "2026-11-01T00:00:00Z")
    place.update()
    path = place.state / f".{place.target.name}.keyveto-update"
    # They are about the previous one.
    path.write_text(json.dumps(notes_of(place) | {"rolled_back": 1, "mtime": 1,
                                                  "unwanted_sha256": hashlib.sha256(data).hexdigest()}),
                    encoding="ascii")
    contains(place.update(), "already current, ")
    place.target.unlink()
    contains(place.update(), "installed, ")
    equal(place.target.read_bytes() == data, True)


def test_a_source_that_was_not_asked_for_30_days_is_a_finding_of_doctor(place, scratch):
    """No news are a success, too. Notes of an older keyveto do not say when that was."""
    path = place.state / ".filter.pkbf.keyveto-update"
    publish(place, grown(2))
    for _ in range(2):
        started = int(time.time())
        place.update()
        asked = notes_of(place)["asked"]
        assert started <= asked <= time.time(), asked
        path.write_text(json.dumps(notes_of(place) | {"asked": started - 40 * DAY}), encoding="ascii")
    place.update("--dry-run")
    publish(place, grown(1))
    place.refuse()
    equal(notes_of(place)["asked"], started - 40 * DAY)
    now = int(time.time())
    older = {name: value for name, value in notes_of(place).items() if name != "asked"} | {"failed_since": 0}
    for asked, warned in ((now - 30 * DAY - 60, True), (now - 30 * DAY + 600, False), (now + 90 * DAY, False),
                          (None, False)):
        path.write_text(json.dumps(older | ({} if asked is None else {"asked": asked})), encoding="ascii")
        found = updates_in_doctor(scratch, "Filter", place.target)
        equal([one["status"] for one in found], ["warning" if warned else "ok"], asked)
        if warned:
            equal(found[0]["found"], f"{place.target}: its source was last asked for a newer one at {stamp(asked)}, "
                                     "30 days ago or more")
            contains(found[0]["remedy"], "run keyveto update")
    # It fails, which is said instead.
    path.write_text(json.dumps(older | {"asked": now - 90 * DAY, "failed_since": now - 3 * DAY}), encoding="ascii")
    found = updates_in_doctor(scratch, "Filter", place.target)
    equal(len(found), 1)
    contains(found[0]["found"], "no update of it has succeeded since one failed")


def test_a_source_of_the_settings_that_never_answered_is_noted(place):
    """One that was only tried is not."""
    del place.site.pages["/filter.pkbf"]
    place.refuse(place.site.url())
    equal(place.names(), [])
    started = int(time.time())
    place.refuse()
    assert notes_of(place)["failed_since"] >= started
    equal(notes_of(place)["asked"], 0)


def test_what_keeps_updates_away_for_days_is_a_finding_of_doctor(place, scratch):
    """Such as an older revision, of which no other note tells."""
    publish(place, grown(2))
    place.update()
    equal(notes_of(place)["failed_since"], 0)
    publish(place, grown(1))
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
    publish(place, grown(2))
    place.update()
    equal(notes_of(place)["failed_since"], 0)
    equal([one["status"] for one in updates_in_doctor(scratch, "Filter", place.target)], ["ok"])


def test_a_host_changes_from_index_to_url_as_the_page_says(lists, scratch):
    """The lines of docs/operations.md, on a host that an older keyveto set up."""
    text = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    steps = re.search(r"<!-- step: switched -->\n```sh\n(.*?)```", text, re.DOTALL)[1].splitlines()
    equal(steps.pop(), "keyveto update")
    signer = Signer(scratch, "publisher")
    allowed = write(scratch / "allowed_signers", f'keyveto namespaces="keyveto-index" {signer.public}\n', mode=0o644)
    folder = lists.publisher.site.url("/v0")
    manifest = lists.publisher.site.pages["/v0/own.json"] = lists.publisher.site.pages[MANIFEST]
    lists.publisher.site.pages["/v0/own.json.sig"] = Page(signer.sign(manifest.body, "keyveto-list"))
    for keyword, index in (("Index", folder), ("Index", f"{folder}/"), ("index", f'"{folder}/"'),
                           ("Index", f"{folder}/index ")):
        lists.section = {keyword: index, "File": "own.dat", "AllowedSigners": allowed, "Target": lists.target}
        words = lists.arguments()
        result = run(*words, status=2)
        contains(result.problems[0], f"{lists.settings}:4: Index is gone: write the URL of the file in that folder")
        for step in steps:
            tool("sh", "-c", step.replace("/etc/keyveto/", f"{scratch}/").replace(
                f"{scratch}/update.conf", str(lists.settings)))
        run(*words, status=0)
        equal(lists.target.read_bytes() == records(), True)
