# SPDX-License-Identifier: ISC
"""keyveto update installs a filter, or finds that it is current; options; the systemd units."""

import os
import re
import stat
import time

import pytest

from program import ROOT, contains, equal
from runs import run
from samples import write
from update_place import a_filter, revision_of, untouched


def test_the_first_filter_is_installed_for_all_to_read(place):
    """No other file is left."""
    said = place.update()
    assert re.fullmatch(r"installed, revision 1, 200 entries, 3\.\d+% of the bits set, false positives [\d.]+e-\d+",
                        said), said
    equal(place.target.read_bytes(), a_filter())
    equal(stat.S_IMODE(place.target.stat().st_mode), 0o644)
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf"])
    contains(run("filter", "verify", place.target, status=0).out.decode(), "ok: k 10, p 16, revision 1, 200 entries")


def test_a_current_filter_is_not_fetched_again_by_its_etag(place):
    place.update()
    before = untouched(place.target)
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')
    equal(untouched(place.target), before)
    # The remembered ETag does not count for another file than the installed one.
    place.put(a_filter(revision=1))
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-None-Match"], None)
    os.utime(place.target)
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], None)
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')


@pytest.mark.serves(etag=None)
def test_a_current_filter_is_not_fetched_again_by_last_modified(place):
    place.page.modified = "Sat, 21 Nov 2026 09:00:00 GMT"
    place.update()
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-Modified-Since"], place.page.modified)


@pytest.mark.serves(etag=None)
def test_without_etag_and_last_modified_a_filter_is_fetched_and_compared(place):
    place.update()
    before = untouched(place.target)
    equal(place.update(), "already current, revision 1")
    equal(untouched(place.target), before)
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf"])


def test_a_newer_filter_replaces_the_old_one_which_is_kept(place):
    for revision in (1, 2, 5):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        said = place.update()
    contains(said, "updated, revision 2 -> 5, 200 entries, ")
    equal((revision_of(place.target), revision_of(place.previous)), (5, 2))
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_the_next_lookup_uses_the_new_filter_and_owner_and_mode_stay(place):
    demo = (ROOT / "testdata/demo/demo.pkbf").read_bytes()
    place.put(a_filter(revision=0, entries=3))
    place.target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(place.target, 0, 65534)
    before = place.target.stat()
    listed = ["check", "--filter", place.target, ROOT / "testdata/demo/compromised.pub"]
    run(*listed, status=0)
    place.page.body = demo
    place.update()
    run(*listed, status=1)
    after = place.target.stat()
    equal((after.st_uid, after.st_gid, after.st_mode), (before.st_uid, before.st_gid, before.st_mode))


def test_the_filter_is_the_first_of_keyveto_conf(place):
    config = write(place.settings.with_name("keyveto.conf"),
                   f"Filter {place.target}\nFilter {place.state}/other.pkbf\n", mode=0o644)
    # What logins consult is compared with the accounts of this machine, whose sshd may not answer.
    place.lines["HoldIfRefused"] = "never"
    place.write_settings()
    run("update", "--settings", place.settings, "--config", config, status=0)
    equal(revision_of(place.target), 1)
    config.write_text("Filtre x\n", encoding="utf-8")
    result = run("update", "--settings", place.settings, "--config", config, status=2)
    equal(result.problems, [f'{config}:1: unknown keyword "Filtre"; correct it, or name the filter with --filter'])


def test_the_argument_may_be_a_path_or_a_file_url(place):
    place.lines["URL"] = None
    source = place.state.parent / "a file.pkbf"
    for revision, url in ((1, source), (2, f"file://{str(source).replace(' ', '%20')}"),
                          (3, f"file://localhost{str(source).replace(' ', '%20')}")):
        source.write_bytes(a_filter(revision))
        place.update(url)
        equal(revision_of(place.target), revision)
    contains(place.refuse(f"file://elsewhere{source}", early=True), "what is given as URL is not one")
    source.unlink()
    contains(place.refuse(source), f"{source}: No such file or directory")
    os.mkfifo(source)
    contains(place.refuse(source), f"{source}: not a regular file")


def test_quiet_prints_no_success_and_dry_run_changes_nothing(place):
    equal(place.run("--quiet", "--dry-run", status=0).out, b"")
    contains(place.update("--dry-run"), "would be updated, revision 1, ")
    equal(place.names(), [])
    equal(place.run("--quiet", status=0).out, b"")
    place.page.body, place.page.etag = a_filter(2), '"two"'
    before = place.snapshot()
    contains(place.update("--dry-run"), "would be updated, revision 1 -> 2, ")
    equal(place.snapshot(), before)
    place.update()
    equal(place.run("--quiet", status=0).out, b"")
    contains(place.update("--dry-run", "--rollback"), "would be rolled back, revision 2 -> 1, ")
    equal(revision_of(place.target), 2)


def test_a_filter_from_the_future_is_not_fresh_for_ever(place):
    """MaxAge is set."""
    body = bytearray(a_filter())
    body[10:18] = (int(time.time()) + 3 * 86400).to_bytes(8, "big")
    place.page.body = bytes(body)
    contains(place.refuse(), "its header's time is in the future; compare the clock", "use --force")
    place.update("--force")
    place.update()
    place.lines["MaxAge"] = 30
    contains(place.run(status=2).problems[0], f"{place.target}: its header's time is in the future, so MaxAge",
             "compare the clock")


def test_a_filter_older_than_maxage_is_a_failure_and_stays(place):
    """The server has no newer filter."""
    days = 100

    def aged(revision):
        body = bytearray(a_filter(revision))
        # Half a day more, so that no day ends while this runs.
        body[10:18] = (int(time.time()) - days * 86400 - 43200).to_bytes(8, "big")
        return bytes(body)

    place.page.body = aged(1)
    place.update()
    place.lines["MaxAge"] = days + 1
    place.update()
    place.lines["MaxAge"] = days - 1
    for etag in ('"one"', None):
        place.page.etag = etag
        equal(place.run(status=2).problems, [
            f"{place.target}: is {days} days old, more than MaxAge allows ({days - 1}), and the server has no newer "
            "one: ask its publisher"])
    equal(revision_of(place.target), 1)
    # A newer filter is installed although it is too old: the installed one is older. It fails all the same.
    place.page.body = aged(2)
    result = place.run(status=2)
    contains(result.out.decode(), "updated, revision 1 -> 2, ")
    contains(result.problems[0], f"{place.target}: is {days} days old, more than MaxAge allows ({days - 1})")
    equal(revision_of(place.target), 2)


def test_a_symbolic_link_is_followed_and_stays(place):
    link = place.state.parent / "link.pkbf"
    link.symlink_to(place.target)
    place.write_settings()
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        if revision == 1:
            place.put(a_filter(0))
        run("update", "--settings", place.settings, "--filter", link, status=0)
    assert link.is_symlink()
    equal((revision_of(place.target), revision_of(place.previous)), (2, 1))


def test_bad_usage_is_reported(place):
    for words, reason in ((("a", "b"), "give one URL"), (("--rollback", "a"), "--rollback takes no URL"),
                          (("--filter", "x", "a"), "give one filter"), (("--nonsense",), "bad option --nonsense")):
        contains(place.run(*words, status=2).err.decode(), reason, "usage: keyveto update ")
    result = run("update", "--settings", place.settings, "--filter", place.state, place.site.url(), status=2)
    contains(result.problems[0], f"{place.state}: not a regular file")


UNITS = ROOT / "packaging/systemd"


def test_the_units_and_the_cron_line_run_an_existing_command():
    service = (UNITS / "keyveto-update.service").read_text(encoding="utf-8")
    cron = (ROOT / "packaging/cron/keyveto-update").read_text(encoding="utf-8")
    words = re.search(r"^ExecStart=/usr/bin/keyveto (.*)$", service, re.MULTILINE)[1].split()
    for found in (words, re.search(r"^\d.* root .*\bkeyveto (update[^;|\n]*)", cron, re.MULTILINE)[1].split()):
        contains(run(*found, "--help", status=0).out.decode(), "usage: keyveto update ")
