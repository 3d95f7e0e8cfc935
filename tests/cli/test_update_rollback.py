# SPDX-License-Identifier: ISC
"""keyveto update --rollback, and the filter that was rolled back from."""

import os

from program import ROOT, contains, equal
from runs import run
from samples import write
from update_place import a_filter, all_ones, revision_of, traced


def test_rollback_exchanges_the_filter_and_the_previous_one(place):
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    contains(place.update("--rollback"), "rolled back, revision 2 -> 1, ")
    equal((revision_of(place.target), revision_of(place.previous)), (1, 2))
    contains(place.update("--rollback"), "rolled back, revision 1 -> 2, ")
    equal((revision_of(place.target), revision_of(place.previous)), (2, 1))
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_an_update_does_not_reinstall_what_was_rolled_back_from(place):
    """An update says so and fails, until the server has another one."""
    for etag in ('"same"', None):
        place.page.etag = etag
        for revision in (1, 2):
            place.page.body = a_filter(revision)
            place.update("--force")
        place.update("--rollback")
        for _ in range(2):
            contains(place.refuse(), "still has the revision 2 that was rolled back here, ", "use --force")
        equal(place.site.requests[-1].headers["If-None-Match"], etag)
        equal((revision_of(place.target), revision_of(place.previous)), (1, 2))
        contains(place.update("--force"), "updated, revision 1 -> 2, ")
        place.update("--rollback")
        place.page.body, place.page.etag = a_filter(3), etag and '"third"'
        contains(place.update(), "updated, revision 1 -> 3, ")
        place.page.body = a_filter(1)


def test_what_was_rolled_back_from_stays_away(place):
    """Also after other updates, failures and changes of the file."""
    def publish(revision):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'

    def waits(revision):
        contains(place.refuse(), "that was rolled back here, which is not installed again")
        equal(revision_of(place.target), revision)

    for revision in (1, 5):
        publish(revision)
        place.update()
    place.update("--rollback")
    # An update with --force that fails.
    place.page.cut = 4000
    place.refuse("--force")
    place.page.cut = None
    waits(1)
    # The file was touched, and changed.
    os.utime(place.target)
    waits(1)
    run("filter", "add", place.target, ROOT / "testdata/demo/publisher-examples.pub", status=0)
    waits(2)
    # Any other file is installed that is later than the installed one.
    publish(4)
    contains(place.update(), "updated, revision 2 -> 4, ")
    publish(5)
    waits(4)
    place.update("--rollback")
    publish(4)
    waits(2)
    publish(6)
    contains(place.update(), "updated, revision 2 -> 6, ")
    contains(place.update(), "already current, revision 6")


def test_a_rollback_to_a_later_revision_is_not_the_servers(place):
    """The server's file of that revision counts as another file."""
    for revision, words in ((5, ()), (4, ("--force",))):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update(*words)
    contains(place.update("--rollback"), "rolled back, revision 4 -> 5, ")
    contains(place.refuse(), "is revision 4, older than the revision 5 that is installed")
    equal(place.site.requests[-1].headers["If-None-Match"], None)


def test_a_rollback_to_a_missing_or_bad_filter_is_refused(place):
    place.update()
    contains(place.refuse("--rollback"), "there is no previous one (filter.pkbf.previous beside it)")
    for bad, why in ((b"", "shorter than a filter header"), (a_filter()[:-1], "cut short or damaged"),
                     (all_ones(), "every bit is set")):
        write(place.previous, bad).chmod(0o644)
        contains(place.refuse("--rollback"), why)
    write(place.previous, a_filter(0)).chmod(0o666)
    contains(place.refuse("--rollback"), "others may write it")
    place.previous.unlink()
    os.link(place.target, place.previous)
    contains(place.refuse("--rollback"), "the previous one is the same file")
    contains(place.run("--rollback", "--force", status=2).err.decode(), "--rollback takes no URL")


def test_a_rollback_says_how_where_files_cannot_be_exchanged(place):
    """The message has the commands."""
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    before = place.snapshot()
    status, messages = traced(place, ["-e", "trace=renameat2", "-e", "inject=renameat2:error=EINVAL"], "--rollback")
    equal((status, place.snapshot()), (2, before), messages)
    contains(place.update(), "already current, revision 2")
    contains(messages, "the file system cannot exchange it with the previous one; move that over it: ", "stays as it")


def test_a_rollback_replaces_a_missing_or_damaged_filter(place):
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    place.target.unlink()
    contains(place.update("--rollback"), "rolled back, revision 1, ")
    equal((revision_of(place.target), place.previous.exists()), (1, False))
    place.page.body = a_filter(3)
    place.update("--force")
    place.put(a_filter(3)[:-5])
    result = place.run("--rollback", status=0)
    contains(result.out.decode(), "rolled back, revision 1, ")
