# SPDX-License-Identifier: ISC
"""keyveto update fetches exact lists: what it installs, what it refuses, going back, mirrors."""

import hashlib
import lzma
import os
import re
import stat
import struct
import time
import zlib

import pytest

import sshkey
from patches import patch_path
from program import ROOT, contains, equal, lacks, on_a_machine
from publisher import LIST, LOOKUP, MANIFEST, fixture_list_place, listing, records  # noqa: F401 (the fixture)
from runs import run
from samples import write
from update_place import Signer, a_filter, redirect_to, untouched, update_findings
from website import Page, Site

DEMO = ROOT / "testdata/demo/compromised.pub"


def demo_key():
    return sshkey.parse_line(DEMO.read_bytes())


def test_a_list_is_installed_unpacked_with_the_names_of_its_sources(place):
    data = listing(demo_key())
    place.publisher.serve(data, "2026-11-20T10:00:00+00:00")
    equal(place.update(), f"installed, {len(data) // 16} records of 2026-11-20")
    equal(place.target.read_bytes(), data)
    equal([stat.S_IMODE(path.stat().st_mode) for path in (place.target, place.sources)], [0o644, 0o644])
    equal(sorted(os.listdir(place.state)), [".badkeys.dat.keyveto-update", "badkeys.dat", "badkeys.dat.sources"])
    equal(place.publisher.asked(), [MANIFEST, LIST])
    lines = place.sources.read_text(encoding="ascii").splitlines()
    equal([line for line in lines if not line.startswith("#")],
          ["1 debianssl badkeys/debianopenssl main", "13 git badkeys/gitkeys main/keys", "99 new"])
    for line in ("# date 2026-11-20", "# time 2026-11-20T10:00:00Z", f"# sha256 {hashlib.sha256(data).hexdigest()}"):
        assert line in lines, lines
    found = run("check", "--blocklist", place.target, DEMO, status=1).out.decode()
    contains(found, f"[{place.target} git]")


def test_a_current_list_is_not_fetched_again(place):
    place.update()
    before = untouched(place.target), untouched(place.sources)
    place.publisher.asked()
    equal(place.update(), "already current, 1000 records of 2026-11-01")
    equal(place.publisher.asked(), [MANIFEST])
    equal((untouched(place.target), untouched(place.sources)), before)
    # A later manifest with the same list only changes the date that is known.
    place.publisher.publish(date="2026-11-02T00:00:00Z")
    equal(place.update(), "already current, 1000 records of 2026-11-02")
    equal(place.publisher.asked(), [MANIFEST])
    contains(place.sources.read_text(encoding="ascii"), "# time 2026-11-02T00:00:00Z")
    equal(untouched(place.target), before[0])


def test_a_newer_list_replaces_the_old_one_which_is_kept(place):
    place.update()
    old = place.snapshot()
    place.publisher.serve(records(1200, seed=1), "2026-11-02T00:00:00Z")
    equal(place.update(), "updated, 1000 -> 1200 records of 2026-11-02; without 1 of the old ones")
    new = place.snapshot()
    equal(new["badkeys.dat"], records(1200, seed=1))
    equal((new["badkeys.dat.previous"], new["badkeys.dat.sources.previous"]),
          (old["badkeys.dat"], old["badkeys.dat.sources"]))


def test_a_rollback_exchanges_list_and_sources_and_holds(place):
    place.update()
    old = place.snapshot()
    equal(place.run("--rollback", status=2).problems[0].rpartition(": ")[2],
          "there is no previous one (badkeys.dat.previous beside it)")
    place.publisher.serve(records(1200, seed=1), "2026-11-02T00:00:00Z")
    place.update()
    contains(place.update("--source", "badkeys", "--rollback"), "rolled back, 1200 -> 1000 records")
    equal(place.snapshot()["badkeys.dat"], old["badkeys.dat"])
    equal(place.snapshot()["badkeys.dat.sources"], old["badkeys.dat.sources"])
    # The list that was rolled back stays away, until there is another one.
    for _ in range(2):
        contains(place.refuse(), "still has the list of 2026-11-02 that was rolled back here, ", "use --force")
    place.publisher.serve(records(1300, seed=2), "2026-11-03T00:00:00Z")
    equal(place.update(), "updated, 1000 -> 1300 records of 2026-11-03; without 1 of the old ones")
    place.update("--source", "badkeys", "--rollback")
    contains(place.update("--force"), "updated, 1000 -> 1300 records")


def test_dry_run_changes_nothing(place):
    equal(place.update("--dry-run", "--lookup"), "would be updated, 1000 records of 2026-11-01")
    equal(os.listdir(place.state), [])
    equal(place.publisher.asked(), [MANIFEST, LIST, LOOKUP])
    place.publisher.manifest["blocklist_sha256"] = "0" * 64
    place.publisher.publish()
    contains(place.refuse("--dry-run"), "its SHA-256 is not the one in the manifest")


def test_the_source_badkeys_needs_no_settings():
    """Without a section its URL and its target are those of badkeys."""
    contains(run("update", "--source", "badkeys", "--settings", "/nonexistent", status=2).err.decode(),
             "/nonexistent: No such file")
    contains(run("update", "--help", status=0).out.decode(), "--source", "--lookup")


def test_a_login_consults_the_list_only_if_keyveto_conf_names_it(place):
    messages = place.run(status=0).problems
    equal(messages, [f"note: no login consults {place.target} yet: add the line \"Blocklist {place.target}\" to "
                     f"{place.config}, with keyveto config edit"])


# --- the lies of a publisher ---------------------------------------------------

def test_another_hash_than_in_the_manifest_is_refused(place):
    place.publisher.publish(blocklist_sha256="0" * 64)
    contains(place.refuse(), f"{place.publisher.site.url(LIST)}: its SHA-256 is not the one in the manifest")
    place.publisher.publish()
    place.update()
    place.publisher.serve(records(1100, seed=3), "2026-11-02T00:00:00Z")
    place.publisher.list.body = lzma.compress(records(1100, seed=4))
    contains(place.refuse(), "its SHA-256 is not the one in the manifest")


DAMAGED = {
    "unsorted": (lambda data: data[16:32] + data[:16] + data[32:], "record 1 is not in order"),
    "unsorted at the end": (lambda data: data[:-32] + data[-16:] + data[-32:-16], "record 999 is not in order"),
    "twice": (lambda data: data[:160] + data[144:], "record 10 is there twice"),
    "a byte more": (lambda data: data + b"x", "no exact list: it is empty, or not whole records of 16 bytes"),
    "a byte less": (lambda data: data[:-1], "no exact list: it is empty, or not whole records of 16 bytes"),
    "empty": (lambda data: b"", "no exact list: it is empty, or not whole records of 16 bytes"),
    "a page": (lambda data: b"<html>Not found</html>" * 100, "is not in order"),
}


@pytest.mark.parametrize("damage", DAMAGED, ids=str)
def test_what_is_not_a_list_is_refused_although_the_manifest_has_its_hash(place, damage):
    change, why = DAMAGED[damage]
    place.publisher.serve(change(records()), "2026-11-02T00:00:00Z")
    refused = place.refuse()
    contains(refused, "damaged, or not an exact list; ask its publisher")
    contains(place.refuse("--force"), why)


def test_damaged_xz_is_refused(place):
    packed = place.publisher.list.body
    for body, why in ((packed[:-1], "cut short"), (packed[:40], "cut short"),
                      (packed + b"more bytes than that", "xz data is damaged"),
                      (packed[:100] + bytes(8) + packed[108:], "xz data is damaged")):
        place.publisher.list.body = body
        contains(place.refuse(), why)
    place.publisher.list.body = packed[:len(packed) // 2]
    place.publisher.list.cut = None
    contains(place.refuse(), "cut short")
    # Two streams, one behind the other, are one file.
    data = records()
    place.publisher.list.body = lzma.compress(data[:800]) + lzma.compress(data[800:])
    place.update()
    equal(place.target.read_bytes(), data)


@pytest.mark.long
def test_an_xz_bomb_ends_at_maxsize_and_leaves_nothing(place):
    """What is unpacked is bounded, in memory and on disk, whatever the file says of itself."""
    place.top["MaxSize"] = "1M"
    bomb = lzma.LZMACompressor(preset=1)
    zeros = bytes(1 << 20)
    place.publisher.list.body = b"".join(bomb.compress(zeros) for _ in range(512)) + bomb.flush()
    contains(place.refuse(), "record 1 is there twice")
    # In order, it comes as far as MaxSize.
    data = b"".join(struct.pack(">QQ", i, 0) for i in range(200_000))
    place.publisher.serve(data, "2026-11-02T00:00:00Z")
    contains(place.refuse(), "has more than 1048576 bytes when unpacked, which is more than MaxSize allows")
    # A packed file that is too large.
    place.publisher.list.body = lzma.compress(b"") * 50_000
    contains(place.refuse(), "has more than 1048576 bytes, which is more than MaxSize allows")
    place.top["MaxSize"] = "8M"
    place.publisher.serve(data, "2026-11-02T00:00:00Z")
    place.update()
    equal(place.target.read_bytes(), data)


def test_xz_that_needs_much_memory_is_refused(place):
    # In the header of a block, 40 stands for a dictionary of 4 GiB. The CRC of the header follows.
    packed = bytearray(place.publisher.list.body)
    size = (packed[12] + 1) * 4
    header = bytearray(packed[12:12 + size - 4])
    header[header.index(b"\x21\x01") + 2] = 40
    packed[12:12 + size] = bytes(header) + struct.pack("<I", zlib.crc32(bytes(header)))
    place.publisher.list.body = bytes(packed)
    contains(place.refuse(), "needs more than 128 MiB of memory to be unpacked")


def test_a_list_that_is_served_unpacked_is_taken(place):
    place.publisher.list.body = records()
    place.update()
    equal(place.target.read_bytes(), records())


BAD_MANIFESTS = {
    "no JSON": (b"<html>", "not JSON"),
    "empty": (b"", "not JSON"),
    "a list": (b"[]", "has no bkformat"),
    "a member twice": (b'{"bkformat": 0, "bkformat": 0}', "not JSON"),
    "deep": (b"[" * 100_000, "not JSON"),
    "NUL": (b'{"bkformat": 0, "blocklist_url": "a\\u0000b"}', "not JSON"),
    "not UTF-8": (b'{"bkformat": "\xff"}', "not JSON"),
    "large": (b" " * (1 << 20) + b"{}", "longer than 1 MiB: not a manifest"),
}


@pytest.mark.parametrize("case", BAD_MANIFESTS, ids=str)
def test_what_is_not_a_manifest_is_refused(place, case):
    body, why = BAD_MANIFESTS[case]
    place.publisher.site.pages[MANIFEST].body = body
    contains(place.refuse(), place.publisher.site.url(MANIFEST), why)
    equal(place.publisher.asked(), [MANIFEST])


MEMBERS = (({"bkformat": 1}, "is in format 1, and this keyveto knows format 0 only; install a newer keyveto"),
           ({"bkformat": None}, "has no bkformat"), ({"bkformat": "0"}, "has no bkformat"),
           ({"blocklist_url": None}, "the publisher no longer serves this format"),
           ({"blocklist_url": 5}, "blocklist_url is not a URL"),
           ({"blocklist_url": "https://x/\x1b[2J"}, "blocklist_url is not a URL"),
           ({"blocklist_url": "x" * 5000}, "blocklist_url is not a URL"),
           ({"blocklist_sha256": None}, "blocklist_sha256 is not a SHA-256"),
           ({"blocklist_sha256": "0" * 63}, "blocklist_sha256 is not a SHA-256"),
           ({"blocklist_sha256": "0" * 63 + "g"}, "blocklist_sha256 is not a SHA-256"),
           ({"lookup_sha256": None}, "lookup_sha256 is not a SHA-256"),
           ({"date": None}, "date is not a date"), ({"date": "yesterday"}, "date is not a date"),
           ({"date": "2026-02-30T00:00:00Z"}, "date is not a date"), ({"date": 5}, "date is not a date"),
           ({"expires": "soon"}, "expires is not a date"), ({"expires": 5}, "expires is not a date"),
           ({"expires": ""}, "expires is not a date"), ({"expires": "1970-01-01"}, "expires is not a date"),
           ({"expires": []}, "expires is not a date"),
           ({"date": "2999-01-01T00:00:00Z"}, "its date is in the future"))


def test_members_of_a_manifest_that_make_no_sense_are_refused(place):
    for members, why in MEMBERS:
        place.publisher.publish(**members)
        contains(place.refuse(), why)
        equal(place.publisher.asked(), [MANIFEST])


def test_an_endless_manifest_is_cut(place):
    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(100_000):
            handler.wfile.write(b" " * 65536)

    place.publisher.site.pages[MANIFEST].answer = endless
    contains(place.refuse(), "longer than 1 MiB: not a manifest")


def test_an_older_list_is_refused(place):
    place.publisher.serve(records(1200, seed=1), "2026-11-10T00:00:00Z")
    place.update()
    place.publisher.serve(records(1300, seed=2), "2026-11-09T00:00:00Z")
    contains(place.refuse(), "its list is of 2026-11-09, older than the one of 2026-11-10 that is installed", "--force")
    contains(place.update("--force"), "updated, 1200 -> 1300 records of 2026-11-09")
    # An older manifest of the same list does not turn the clock back.
    place.publisher.publish(date="2026-11-01T00:00:00Z")
    equal(place.update(), "already current, 1300 records of 2026-11-09")
    place.publisher.serve(records(1300, seed=5), "2026-11-08T00:00:00Z")
    contains(place.refuse(), "older than the one of 2026-11-09")


def test_a_list_that_has_lost_most_records_is_refused(place):
    place.update()
    place.publisher.serve(records(499, seed=1), "2026-11-02T00:00:00Z")
    contains(place.refuse(), "of the 1000 records of the installed one are not in its list, a tenth or more", "--force")
    contains(place.update("--force"), "updated, 1000 -> 499 records")


def test_maxage_is_about_the_date_of_the_list(place):
    place.top["MaxAge"] = 30
    place.publisher.serve(records(), "2020-01-01T00:00:00Z")
    contains(place.run(status=2).out.decode(), "installed, 1000 records of 2020-01-01")
    contains(place.run(status=2).problems[0], "days old, more than MaxAge allows (30), and the server has no newer one")


def test_a_redirect_to_plain_http_is_refused(place):
    plain = Site()
    plain.pages["/x"] = Page(records())
    try:
        place.publisher.list.answer = redirect_to(plain.url("/x"))
        contains(place.refuse(), "it redirects to another protocol than https")
        place.publisher.site.pages[MANIFEST].answer = redirect_to(plain.url("/x"))
        contains(place.refuse(), "it redirects to another protocol than https")
        equal(plain.requests, [])
    finally:
        plain.close()


def test_a_manifest_leads_to_no_other_host_and_no_other_protocol(place):
    """A mirror holds unchanged copies: the file of that name beside the manifest is meant."""
    other = Site()
    other.pages["/files/blocklist.xz"] = Page(records())
    try:
        for url in (other.url("/files/blocklist.xz"), "https://update.badkeys.info/v0/blocklist.xz?x#y",
                    "file:///etc/blocklist.xz", "blocklist.xz", "../v0/blocklist.xz"):
            place.publisher.publish(blocklist_url=url)
            place.update("--dry-run")
            equal(place.publisher.asked(), [MANIFEST, LIST])
        for url in ("https://elsewhere.example/", "https://elsewhere.example/..", "file:///etc/.hidden",
                    "https://elsewhere.example/%2e%2e%2fx"):
            place.publisher.publish(blocklist_url=url)
            contains(place.refuse(), "names a file that cannot be beside it")
        equal(other.requests, [])
    finally:
        other.close()


def test_sources_that_cannot_be_used_are_left_out_with_a_warning(place):
    data = listing(demo_key(), source=7)
    place.publisher.serve(data, "2026-11-02T00:00:00Z")
    place.publisher.publish(blocklists=[
        {"id": 300, "name": "beyond"}, {"id": -1, "name": "below"}, {"id": "1", "name": "text"},
        {"id": 1.5, "name": "x"}, {"id": 7, "name": "\x1b[31mred"}, {"id": 7, "name": "two words"},
        {"id": 7, "name": "x" * 64}, {"id": 7, "name": "a\nline"}, {"name": "none"}, 5, None, [],
        {"id": 8, "name": "good", "repo": "\x1b[2J"}, {"id": 8, "name": "second"}])
    result = place.run(status=0)
    contains(result.err.decode(),
             "warning: ", "12 of its sources have no id from 0 to 255, or no name that can be used")
    equal([line for line in place.sources.read_text(encoding="ascii").splitlines() if not line.startswith("#")],
          ["8 good"])
    contains(run("check", "--blocklist", place.target, DEMO, status=1).out.decode(), f"[{place.target} id7]")


def test_what_the_publisher_says_of_the_format_is_shown_safely(place):
    place.publisher.publish(deprecated="ends \x1b[31m in 2027\n")
    contains(place.run(status=0).err.decode(), "warning: ", "will no longer serve this format: ends \\x1b[31m in 2027")
    place.publisher.publish(deprecated=True, blocklist_url=None)
    contains(place.run(status=2).err.decode(), "will no longer serve this format; install a newer keyveto")
    place.publisher.publish(deprecated=False)
    lacks(place.run(status=0).err.decode(), "no longer")


# --- places ----------------------------------------------------------------------

def test_a_folder_serves_as_a_mirror(place, scratch):
    """It holds the publisher's files unchanged. Nothing is asked over the network."""
    mirror = scratch / "mirror"
    mirror.mkdir()
    for path in (MANIFEST, LIST, LOOKUP):
        (mirror / path.rpartition("/")[2]).write_bytes(place.publisher.site.pages[path].body)
    for url in (mirror / "badkeysdata.json", f"file://{mirror}/badkeysdata.json"):
        place.section["URL"] = url
        place.update("--lookup")
        equal(place.target.read_bytes(), records())
        place.target.unlink()
    equal(place.publisher.asked(), [])
    place.section["URL"] = None
    equal(place.update(mirror / "badkeysdata.json", "--source", "badkeys"), "installed, 1000 records of 2026-11-01")


def test_what_is_no_list_is_not_replaced_without_force(place):
    place.target.write_bytes(b"something else of mine")
    contains(place.run(status=2).problems[0], "is not an exact list (", "--force")
    equal(place.target.read_bytes(), b"something else of mine")
    place.run("--force", status=0)
    equal((place.state / "badkeys.dat.kept").read_bytes(), b"something else of mine")


def test_a_damaged_list_is_replaced_and_not_kept(place):
    place.update()
    place.target.write_bytes(records()[:-5])
    contains(place.run(status=0).err.decode(), "warning: ", "what is installed is no good list")
    equal(place.target.read_bytes(), records())
    equal(place.previous.exists(), False)


def test_names_that_somebody_removed_are_written_again(place):
    place.update()
    for damage in (place.sources.unlink, lambda: place.sources.write_text("1 other\n", encoding="ascii")):
        damage()
        equal(place.update(), "already current, 1000 records of 2026-11-01")
        contains(place.sources.read_text(encoding="ascii"), "1 debianssl")


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def test_a_manifest_counts_until_it_expires(place):
    place.publisher.publish(expires=stamp(time.time() + 60))
    place.update()
    equal(place.update(), "already current, 1000 records of 2026-11-01")
    expired = stamp(time.time() - 60)
    for data in (records(), records(1100)):
        place.publisher.serve(data, "2026-11-02T10:00:00+00:00")
        place.publisher.publish(expires=expired)
        place.publisher.asked()
        for words in ((), ("--force",), ("--yes",), ("--dry-run",)):
            contains(place.refuse(*words), f"expired at {expired}, and there is no newer one: somebody may be holding "
                                           "newer ones back")
        equal(set(place.publisher.asked()), {MANIFEST})
    place.publisher.publish(expires="9999-12-31")
    contains(place.update(), "updated, 1000 -> 1100 records of 2026-11-02")


@on_a_machine
def test_doctor_finds_an_expired_manifest(place):
    """Also if update was not run since it has expired."""
    place.config.write_text(f"Blocklist {place.target}\n", encoding="utf-8")
    notes = place.state / ".badkeys.dat.keyveto-update"
    place.publisher.publish(expires=stamp(time.time() + 60))
    place.update()
    equal([check["status"] for check in update_findings(place.config)], ["ok"])
    expired = int(time.time()) - 60
    for turn in range(2):
        if turn == 0:
            notes.write_text(re.sub(r'(expires": )\d+', rf"\g<1>{expired}", notes.read_text(encoding="ascii")),
                             encoding="ascii")
        else:
            place.publisher.publish(expires=stamp(expired))
            contains(place.refuse(), "expired at")
        check, = update_findings(place.config)
        equal(check["status"], "warning")
        contains(check["found"], f"{place.target}: the manifest of its publisher expired at {stamp(expired)}: somebody "
                                 "may be holding newer files back")
    # A publisher whose manifests do not expire.
    place.publisher.publish()
    place.update()
    equal([check["status"] for check in update_findings(place.config)], ["ok"])


def test_the_lookup_file_is_fetched_with_lookup_only(place):
    place.update()
    equal(place.lookup.exists(), False)
    contains(place.run("--lookup", status=0).out.decode(), f"{place.lookup}: installed")
    equal(hashlib.sha256(place.lookup.read_bytes()).hexdigest(), place.publisher.manifest["lookup_sha256"])
    place.publisher.asked()
    place.run("--lookup", status=0)
    equal(place.publisher.asked(), [MANIFEST])
    place.publisher.serve_lookup(b"fedcba9876543210;other\n")
    place.section["Lookup"] = "yes"
    contains(place.run(status=0).out.decode(), f"{place.lookup}: updated")
    place.publisher.publish(lookup_sha256="0" * 64)
    before = place.lookup.read_bytes()
    contains(place.run(status=2).problems[0], "its SHA-256 is not the one in the manifest")
    equal(place.lookup.read_bytes(), before)
    place.publisher.publish(lookup_url=None)
    contains(place.run(status=2).problems[0], "names no lookup file")


def test_a_signed_manifest_of_a_mirror_is_verified(place, scratch):
    signer, other = Signer(scratch, "publisher"), Signer(scratch, "other")
    allowed = write(scratch / "allowed_signers", f"keyveto {signer.public}\n", mode=0o644)
    place.section["AllowedSigners"] = allowed
    contains(place.refuse(), "has no signature that could be checked, and AllowedSigners asks for one")
    pages = place.publisher.site.pages
    for signature in (other.sign(pages[MANIFEST].body, "keyveto-list"), signer.sign(pages[MANIFEST].body),
                      signer.sign(b"{}", "keyveto-list"), b"rubbish"):
        pages[MANIFEST + ".sig"] = Page(signature)
        contains(place.refuse(), "no good signature by keyveto for this list")
    pages[MANIFEST + ".sig"] = Page(signer.sign(pages[MANIFEST].body, "keyveto-list"))
    place.update()


# --- several sources ---------------------------------------------------------------

def test_each_source_has_its_section_and_a_failure_of_one_does_not_stop_the_others(place, scratch):
    place.publisher.site.pages["/filter.pkbf"] = Page(a_filter())
    place.arguments()
    text = place.settings.read_text(encoding="utf-8")
    target = scratch / "state/other.pkbf"
    text += f"Source other\nURL {place.publisher.site.url()}\nTarget {target}\n"
    text += f"Source gone\nURL {place.publisher.site.url('/gone')}\nTarget {target}2\n"
    place.settings.write_text(text, encoding="utf-8")
    result = run("update", "--settings", place.settings, "--config", place.config, status=2)
    equal(place.target.read_bytes(), records())
    equal(target.read_bytes(), a_filter())
    contains(result.trouble, "/gone: HTTP status 404", "there is still no filter")
    place.publisher.asked()
    run("update", "--settings", place.settings, "--config", place.config, "--source", "other", status=0)
    equal(place.publisher.asked(), ["/filter.pkbf", patch_path("/filter.pkbf", a_filter()), "/filter.pkbf"])
    for words, why in ((("--rollback",), "--rollback needs one --source NAME"),
                       (("--source", "nobody"), "has no Source nobody"),
                       (("--source", "other", "--blocklist", "/x"),
                        "source other is of a filter: name it with --filter"),
                       (("--source", "badkeys", "--filter", "/x"),
                        "source badkeys is of an exact list: name it with --blocklist"),
                       (("--blocklist", "/x"), "--blocklist needs --source NAME"),
                       (("--source", "a", "--source", "b", "/x"), "goes with one --source only")):
        contains(run("update", "--settings", place.settings, *words, status=2).err.decode(), why)
