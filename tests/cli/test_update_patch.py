# SPDX-License-Identifier: ISC
"""keyveto update: filters and lists by zstd's patches, and what is no patch."""

import base64
import contextlib
import filecmp
import functools
import hashlib
import http.server
import os
import resource
import ssl
import threading
import time

import pytest

import pkbf
import sshkey
from blocklist import Blocklist
from patches import no_patches, patch, patch_path, patches_by_hand, serve_patch
from program import KEYVETO, PUBLISH, attempt, contains, equal, lacks, mount_namespace, on_a_machine
from publisher import LIST, MANIFEST, records
from runs import tool
from samples import write
from test_walls import no_asan
from update_place import Signer, authority, grown, redirect_to, with_signers
from website import Page

FILTER, SIGNATURE = "/filter.pkbf", "/filter.pkbf.sig"


def asked(place):
    """(method, path) of each request since the last call."""
    site = getattr(place, "publisher", place).site
    made = list(zip((request.command for request in site.requests), site.paths))
    site.requests.clear()
    site.paths.clear()
    return made


@pytest.fixture(name="signer")
def fixture_signer(place):
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    return signer


def publish(place, body, signer=None, old=None, *words):
    """The server has this filter now, perhaps with a signature, and a patch from old."""
    name = hashlib.sha256(body).hexdigest()[:8]
    place.page.body, place.page.etag = body, f'"{name}"'
    if signer:
        place.site.pages[SIGNATURE] = Page(signer.sign(body), f'"sig-{name}"')
    if old:
        return serve_patch(place.site, FILTER, old, body, *words)
    return None


def install(place, signer):
    """Revision 1 of the filter is installed."""
    publish(place, grown(), signer)
    place.update()


# --- what is asked for -----------------------------------------------------------

def test_of_a_signed_filter_the_signature_tells_what_is_new(place, signer):
    publish(place, grown(), signer)
    contains(place.update(), "installed, revision 1, ")
    equal(asked(place), [("GET", SIGNATURE), ("GET", FILTER)])
    for _ in range(2):
        equal(place.update(), "already current, revision 1")
        equal(place.site.requests[-1].headers["If-None-Match"], place.site.pages[SIGNATURE].etag)
        equal(asked(place), [("GET", SIGNATURE)])
    page = publish(place, grown(2), signer, grown())
    contains(place.update(), "updated, revision 1 -> 2, ", f"; by a patch of {len(page.body)} bytes")
    equal(place.target.read_bytes() == grown(2), True)
    equal(place.previous.read_bytes() == grown(), True)
    equal(asked(place), [("GET", SIGNATURE), ("GET", patch_path(FILTER, grown()))])
    equal(place.update(), "already current, revision 2")
    equal(asked(place), [("GET", SIGNATURE)])
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_of_an_unsigned_filter_the_head_tells_what_is_new(place):
    publish(place, grown())
    place.update()
    equal(asked(place), [("GET", FILTER)])
    for _ in range(2):
        equal(place.update(), "already current, revision 1")
        equal(place.site.requests[-1].headers["If-None-Match"], place.page.etag)
        equal(asked(place), [("HEAD", FILTER)])
    page = publish(place, grown(2), None, grown())
    contains(place.update(), f"; by a patch of {len(page.body)} bytes")
    equal(place.target.read_bytes() == grown(2), True)
    equal(asked(place), [("HEAD", FILTER), ("GET", patch_path(FILTER, grown()))])
    equal(place.update(), "already current, revision 2")
    equal(asked(place), [("HEAD", FILTER)])
    # By its date, where the server has no ETag.
    publish(place, grown(3), None, grown(2))
    place.page.etag, place.page.modified = None, "Sat, 28 Nov 2026 10:00:00 GMT"
    place.update()
    asked(place)
    equal(place.update(), "already current, revision 3")
    equal(place.site.requests[-1].headers["If-Modified-Since"], place.page.modified)
    equal(asked(place), [("HEAD", FILTER)])


def test_a_server_that_answers_no_head_is_asked_for_all(place):
    def answer(handler):
        if handler.command == "HEAD":
            handler.send_error(405)
        else:
            place.page.answer = None
            place.page.send(handler)
            place.page.answer = answer

    publish(place, grown())
    place.update()
    place.page.answer = answer
    publish(place, grown(2), None, grown())
    asked(place)
    lacks(place.update(), "patch")
    equal(asked(place), [("HEAD", FILTER), ("GET", FILTER)])
    equal(place.update(), "already current, revision 2")
    equal(place.site.requests[-1].headers["If-None-Match"], place.page.etag)


def test_a_signature_that_was_made_anew_costs_no_more_than_itself(place, signer, scratch):
    install(place, signer)
    other = Signer(scratch, "next")
    with_signers(place, f"keyveto {signer.public}", f"keyveto {other.public}")
    for etag in ('"new"', None, None):
        asked(place)
        place.site.pages[SIGNATURE] = Page(other.sign(grown()), etag)
        equal(place.update(), "already current, revision 1")
        equal(asked(place), [("GET", SIGNATURE)])
    # So it is for a filter that did not come from here.
    place.clear()
    place.put(grown())
    equal(place.update(), "already current, revision 1")
    equal(asked(place), [("GET", SIGNATURE)])


@pytest.mark.parametrize("signed", (True, False), ids=("signed", "unsigned"))
def test_after_a_404_all_of_it_is_fetched(place, signed, scratch):
    signer = Signer(scratch, "publisher") if signed else None
    if signed:
        with_signers(place, f"keyveto {signer.public}")
    install(place, signer)
    publish(place, grown(2), signer)
    asked(place)
    lacks(place.update(), "patch")
    equal(asked(place)[1:], [("GET", patch_path(FILTER, grown())), ("GET", FILTER)])
    equal(place.target.read_bytes() == grown(2), True)


def test_force_fetches_all_of_it(place, signer):
    install(place, signer)
    publish(place, grown(2), signer, grown())
    asked(place)
    lacks(place.update("--force"), "patch")
    equal(asked(place), [("GET", SIGNATURE), ("GET", FILTER)])


def test_a_dry_run_with_a_patch_changes_nothing(place, signer):
    install(place, signer)
    publish(place, grown(2), signer, grown())
    before = {path.name: path.read_bytes() for path in place.state.iterdir()}
    contains(place.update("--dry-run"), "would be updated, revision 1 -> 2, ", "; by a patch of ")
    equal({path.name: path.read_bytes() for path in place.state.iterdir()}, before)


def test_the_patch_is_where_the_file_is_also_with_a_query(place, signer):
    secret = "?token=top-secret"
    for path in (FILTER, SIGNATURE):
        place.site.pages[path + secret] = place.site.pages.setdefault(path, Page())
    place.lines["URL"] = place.site.url(FILTER + secret)
    publish(place, grown(), signer)
    place.site.pages[SIGNATURE + secret] = place.site.pages[SIGNATURE]
    place.update()
    page = publish(place, grown(2), signer, grown())
    place.site.pages[SIGNATURE + secret] = place.site.pages[SIGNATURE]
    place.site.pages[patch_path(FILTER, grown()) + secret] = page
    asked(place)
    contains(place.update(), "; by a patch of ")
    equal(asked(place), [("GET", SIGNATURE + secret), ("GET", patch_path(FILTER, grown()) + secret)])


@pytest.mark.parametrize("signed", (True, False), ids=("signed", "unsigned"))
def test_a_folder_of_this_machine_has_patches_too(place, signed, scratch):
    signer = Signer(scratch, "publisher")
    source = scratch / "filter?.pkbf"           # a path has no query
    place.lines["URL"] = source
    if signed:
        with_signers(place, f"keyveto {signer.public}")
    for revision in (1, 2):
        source.write_bytes(grown(revision))
        source.with_name(f"{source.name}.sig").write_bytes(signer.sign(grown(revision)))
        (scratch / patch_path(source.name, grown(revision - 1))).write_bytes(
            patch(grown(revision - 1), grown(revision)))
        made = place.update()
    contains(made, "updated, revision 1 -> 2, ", "; by a patch of ")
    equal(place.target.read_bytes() == grown(2), True)
    equal(place.update(), "already current, revision 2")


# --- what is no patch ------------------------------------------------------------

WRONG = tuple(no_patches(records(40), records(41)))


@pytest.mark.sample(6)
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("signed", (True, False), ids=("signed", "unsigned"))
def test_what_is_no_patch_of_a_filter_is_no_matter(place, signed, wrong, scratch):
    signer = Signer(scratch, "publisher") if signed else None
    if signed:
        with_signers(place, f"keyveto {signer.public}")
    install(place, signer)
    publish(place, grown(2), signer, grown()).body = no_patches(grown(), grown(2))[wrong]
    asked(place)
    lacks(place.update(), "patch")
    equal(place.target.read_bytes() == grown(2), True)
    equal(asked(place)[1:], [("GET", patch_path(FILTER, grown())), ("GET", FILTER)])
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


@pytest.mark.parametrize("made", tuple(patches_by_hand(records(40), records(41))))
def test_what_has_nothing_of_that_is_a_patch(place, lists, made):
    publish(place, grown())
    place.update()
    page = publish(place, grown(2), None, grown())
    page.body = patches_by_hand(grown(), grown(2))[made]
    contains(place.update(), f"; by a patch of {len(page.body)} bytes")
    old, new = records(1000), records(1100)
    lists.update()
    lists.publisher.serve(new, "2026-11-02T10:00:00+00:00")
    page = serve_patch(lists.publisher.site, LIST, old, new)
    page.body = patches_by_hand(old, new)[made]
    contains(lists.update(), f"; by a patch of {len(page.body)} bytes")


@pytest.mark.parametrize("revision", (1, 3))
def test_a_patch_to_what_is_not_signed_is_no_matter(place, signer, revision):
    """The publisher was killed, or somebody serves what is old."""
    install(place, signer)
    publish(place, grown(2), signer, grown()).body = patch(grown(), grown(revision))
    asked(place)
    lacks(place.update(), "patch")
    equal(place.target.read_bytes() == grown(2), True)
    equal(asked(place), [("GET", SIGNATURE), ("GET", patch_path(FILTER, grown())), ("GET", FILTER)])


def test_a_patch_that_is_longer_than_the_file_is_not_received(place):
    sent = []

    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        with contextlib.suppress(OSError):
            while len(sent) < 100_000:
                handler.wfile.write(bytes(65536))
                sent.append(1)

    publish(place, grown())
    place.update()
    publish(place, grown(2), None, grown()).answer = endless
    lacks(place.update(), "patch")
    assert len(sent) < 1000, f"{len(sent)} blocks were taken"


def test_a_patch_that_is_cut_off_or_elsewhere_is_no_matter(place, signer):
    install(place, signer)
    for revision, change in enumerate((lambda page: setattr(page, "cut", 40),
                                       lambda page: setattr(page, "answer", redirect_to("http://localhost/x")),
                                       lambda page: setattr(page, "answer", redirect_to("file:///etc/passwd")),
                                       lambda page: page.headers.update({"Content-Encoding": "br"})), 2):
        change(publish(place, grown(revision), signer, grown(revision - 1)))
        lacks(place.update(), "patch")
        equal(place.target.read_bytes() == grown(revision), True)


def test_of_a_folder_nothing_but_a_regular_file_is_opened(place, scratch):
    source = scratch / "filter.pkbf"
    place.lines["URL"] = source
    source.write_bytes(grown())
    place.update()
    for revision, make in enumerate((os.mkfifo, lambda path: path.symlink_to("/dev/zero"), os.mkdir,
                                     lambda path: path.symlink_to(path.name)), 2):
        path = scratch / patch_path(source.name, grown(revision - 1))
        make(path)
        source.write_bytes(grown(revision))
        lacks(place.update(), "patch")
        equal(place.target.read_bytes() == grown(revision), True)


@pytest.mark.parametrize("patched", (True, False), ids=("patched", "whole"))
def test_a_full_disk_keeps_the_old_file(place, patched, scratch):
    """With more room the next run succeeds."""
    source, old, small = scratch / "source", scratch / "old", scratch / "small"
    old.write_bytes(grown())
    source.write_bytes(grown(2))
    if patched:
        (scratch / patch_path("source", grown())).write_bytes(patch(grown(), grown(2)))
    small.mkdir()
    place.lines["URL"], place.target = source, small / "filter.pkbf"
    quoted = " ".join(f"'{word}'" for word in (KEYVETO, *place.arguments()))
    script = (f"mount -t tmpfs -o size={len(grown()) * 2 // 4096 * 4096},mode=755 none {small}; "
              f"install -m 644 {old} {small}/filter.pkbf; "
              f"{quoted}; echo status $?; cmp {old} {small}/filter.pkbf && echo kept; ls {small}; "
              f"mount -o remount,size=10m {small}; {quoted} --quiet; echo status $?; "
              f"cat {small}/filter.pkbf >{old}.now")
    done = attempt(*mount_namespace(), "sh", "-c", script)
    contains(done.stderr, "No space left on device", f"{place.target}: stays as it is, revision 1")
    equal(done.stdout, "status 2\nkept\nfilter.pkbf\nstatus 0\n")
    equal((scratch / "old.now").read_bytes() == grown(2), True)


# --- a filter that a patch gives is judged as any other ----------------------------

def test_a_patch_leads_to_no_older_revision_and_to_none_far_above(place, signer):
    publish(place, grown(2), signer)
    place.update()
    publish(place, grown(), signer, grown(2))
    asked(place)
    contains(place.refuse(), "is revision 1, older than the revision 2 that is installed")
    equal(asked(place), [("GET", SIGNATURE), ("GET", patch_path(FILTER, grown(2)))])
    far = grown(2)[:6] + (2 ** 31).to_bytes(4, "big") + grown(2)[10:]
    publish(place, far, signer, grown(2))
    contains(place.refuse(), f"is revision {2 ** 31}, more than 100000000 above the latest so far, 2")


def test_a_patch_takes_no_bits_away(place, signer):
    install(place, signer)
    lost = bytearray(grown(2))
    for at in range(24, 24 + 2000):
        lost[at] = 0
    publish(place, bytes(lost), signer, grown())
    contains(place.refuse(), "are no longer set, a tenth or more")
    publish(place, grown(2)[:10] + (2 ** 63).to_bytes(8, "big") + grown(2)[18:], signer, grown())
    contains(place.refuse(), "its header's time is in the future")
    full = grown(2)[:24] + b"\xff" * (len(grown()) - 24)
    publish(place, full, signer, grown())
    contains(place.refuse(), "every bit is set, so that every key would be listed")


def test_what_was_rolled_back_does_not_return_by_a_patch(place, signer):
    for revision in (1, 2):
        publish(place, grown(revision), signer, grown(revision - 1) if revision > 1 else None)
        place.update()
    contains(place.update("--rollback"), "rolled back, revision 2 -> 1")
    asked(place)
    contains(place.refuse(), "still has the revision 2 that was rolled back here, ")
    equal(asked(place), [("GET", SIGNATURE)])
    # Also if the server says it by another ETag, or by none.
    for etag in ('"other"', None):
        place.site.pages[SIGNATURE].etag = etag
        contains(place.refuse(), "still has the revision 2 that was rolled back here, ")
        equal(asked(place), [("GET", SIGNATURE)])
    (place.state / ".filter.pkbf.keyveto-update").unlink()
    equal(place.update().partition(";")[0].partition(",")[0], "updated")
    publish(place, grown(3), signer, grown(2))
    contains(place.update(), "updated, revision 2 -> 3, ", "; by a patch of ")


def test_a_key_that_is_never_listed_does_not_come_by_a_patch(place, signer, scratch):
    key = signer.public.split()
    made = pkbf.Filter.from_bytes(grown(2))
    made.add(sshkey.spkis(base64.b64decode(key[1]))[0])
    made.revision += 1
    mine = scratch / "mine"
    write(mine, signer.public + "\n").chmod(0o644)
    place.lines["NeverListed"] = mine
    publish(place, grown(2), signer)
    place.update()
    publish(place, made.to_bytes(), signer, grown(2))
    contains(place.refuse(), "mine:1")


# --- both are fetched once more ----------------------------------------------------

@pytest.mark.parametrize("first", (FILTER, SIGNATURE))
def test_a_filter_and_a_signature_of_two_revisions_are_fetched_once_more(place, signer, first):
    """The publisher replaces the one, and then the other."""
    install(place, signer)
    pages = place.site.pages
    old = {FILTER: grown(), SIGNATURE: pages[SIGNATURE].body}
    publish(place, grown(2), signer)
    page, late = pages[FILTER], [path for path in old if path != first][0]
    new, pages[late].body = pages[late].body, old[late]
    if late == SIGNATURE:
        pages[late].etag = '"another"'      # not what the notes have
        pages[late].body = signer.sign(b"of another filter")

    def answer(handler):
        page.answer = None
        page.send(handler)
        pages[late].body, pages[late].etag = new, '"late"'

    page.answer = answer
    asked(place)
    contains(place.update(), "updated, revision 1 -> 2, ")
    patched = patch_path(FILTER, grown())
    equal([path for _, path in asked(place)], [SIGNATURE, patched, FILTER] * 2)


def test_what_does_not_fit_is_fetched_once_more_and_not_oftener(place, signer):
    install(place, signer)
    publish(place, grown(2), signer, grown())
    place.site.pages[SIGNATURE].body = signer.sign(grown(3))
    asked(place)
    begun = time.monotonic()
    contains(place.refuse(), "no good signature by keyveto for this filter (ssh-keygen: ")
    assert time.monotonic() - begun >= 2
    equal(asked(place), [("GET", SIGNATURE), ("GET", patch_path(FILTER, grown())), ("GET", FILTER)] * 2)


# --- lists -------------------------------------------------------------------------

def test_a_list_comes_by_a_patch(lists):
    old, new = records(1000), records(1100)
    lists.update()
    lists.publisher.serve(new, "2026-11-02T10:00:00+00:00")
    page = serve_patch(lists.publisher.site, LIST, old, new)
    asked(lists)
    contains(lists.update(), "updated, 1000 -> 1100 records of 2026-11-02",
             f"; by a patch of {len(page.body)} bytes")
    equal(lists.target.read_bytes() == new, True)
    equal(asked(lists), [("GET", MANIFEST), ("GET", patch_path(LIST, old))])
    equal(lists.update(), "already current, 1100 records of 2026-11-02")
    equal(asked(lists), [("GET", MANIFEST)])
    contains(lists.sources.read_text(encoding="ascii"), hashlib.sha256(new).hexdigest())
    # Back by a patch to a shorter one, which is older.
    lists.publisher.serve(old, "2026-11-01T10:00:00+00:00")
    serve_patch(lists.publisher.site, LIST, new, old)
    contains(lists.refuse(), "older than the one of 2026-11-02")
    equal(asked(lists), [("GET", MANIFEST)])
    lists.publisher.serve(records(100), "2026-11-03T10:00:00+00:00")
    serve_patch(lists.publisher.site, LIST, new, records(100))
    contains(lists.refuse(), "1001 of the 1100 records of the installed one are not in its list, a tenth or more")
    equal(asked(lists), [("GET", MANIFEST), ("GET", patch_path(LIST, new))])
    shorter = new[:-16]
    lists.publisher.serve(shorter, "2026-11-03T10:00:00+00:00")
    serve_patch(lists.publisher.site, LIST, new, shorter)
    contains(lists.update(), "; without 1 of the old ones; by a patch of ")


@on_a_machine
def test_a_list_that_came_by_a_patch_is_held_as_any_other(lists, world):
    """HoldIfRefused judges it each time, and nothing of it stays."""
    lists.config.write_text(f"Blocklist {lists.target}\n", encoding="utf-8")
    world.account("alice").authorize(world.clean, world.bad)
    lists.top["HoldIfRefused"] = 0
    lists.update()
    fresh = Blocklist(records())
    fresh.add(sshkey.parse_line(str(world.bad).encode()), 13)
    lists.publisher.serve(fresh.encode(), "2026-11-02T10:00:00Z")
    serve_patch(lists.publisher.site, LIST, records(), fresh.encode())
    asked(lists)
    for words in ((), ("--dry-run",), ()):
        contains(lists.run(*words, status=2).trouble, "would refuse keys of 1 accounts, more than HoldIfRefused allows")
        equal(lists.target.read_bytes() == records(), True)
        equal(asked(lists), [("GET", MANIFEST), ("GET", patch_path(LIST, records()))])
        equal([name for name in os.listdir(lists.state) if "part" in name], [])
    contains(lists.run("--yes", status=1).out.decode(), "updated, 1000 -> 1001 records of 2026-11-02; by a patch of ")
    equal(lists.target.read_bytes() == fresh.encode(), True)
    contains(lists.run("--rollback", "--source", "badkeys", status=0).out.decode(), "rolled back, 1001 -> 1000 records")
    equal(lists.target.read_bytes() == records(), True)


@pytest.mark.sample(6)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_patch_of_a_list_is_no_matter(lists, wrong):
    old, new = records(1000), records(1100)
    lists.update()
    lists.publisher.serve(new, "2026-11-02T10:00:00+00:00")
    serve_patch(lists.publisher.site, LIST, old, new).body = no_patches(old, new)[wrong]
    asked(lists)
    lacks(lists.update(), "patch")
    equal(lists.target.read_bytes() == new, True)
    equal(asked(lists), [("GET", MANIFEST), ("GET", patch_path(LIST, old)), ("GET", LIST)])
    equal(sorted(os.listdir(lists.state)), [".badkeys.dat.keyveto-update", "badkeys.dat", "badkeys.dat.previous",
                                            "badkeys.dat.sources", "badkeys.dat.sources.previous"])


@pytest.mark.parametrize("new", (records(2001), records(1100)[:-8], bytes(16016)), ids=("twice", "half", "zeroes"))
def test_a_patch_to_another_list_is_no_matter(lists, new):
    old, right = records(1000), records(1100)
    lists.update()
    lists.publisher.serve(right, "2026-11-02T10:00:00+00:00")
    serve_patch(lists.publisher.site, LIST, old, new)
    lacks(lists.update(), "patch")
    equal(lists.target.read_bytes() == right, True)


def test_a_manifest_and_a_signature_of_two_revisions_are_fetched_once_more(lists, scratch):
    signer = Signer(scratch, "publisher")
    allowed = scratch / "allowed_signers"
    write(allowed, f"keyveto {signer.public}\n").chmod(0o644)
    lists.section["AllowedSigners"] = allowed
    pages = lists.publisher.site.pages
    old = pages[MANIFEST].body
    lists.publisher.serve(records(1100), "2026-11-02T10:00:00+00:00")
    signature = pages[f"{MANIFEST}.sig"] = Page(signer.sign(old, "keyveto-list"))
    asked(lists)
    begun = time.monotonic()
    contains(lists.refuse(), "no good signature by keyveto for this list")
    assert time.monotonic() - begun >= 2
    equal(asked(lists), [("GET", MANIFEST), ("GET", f"{MANIFEST}.sig")] * 2)

    def late(handler):
        signature.answer = None
        signature.send(handler)
        signature.body = signer.sign(pages[MANIFEST].body, "keyveto-list")

    signature.answer = late
    contains(lists.update(), "installed, 1100 records of 2026-11-02")


# --- memory ------------------------------------------------------------------------

@no_asan
@pytest.mark.long
def test_a_patch_needs_no_memory_in_proportion_to_the_file(place, scratch):
    """The limit is a quarter of the file. zstd -d asks for a window of all of it."""
    source, size = scratch / "filter.pkbf", 2 ** 26
    header = pkbf.HEADER.pack(pkbf.MAGIC, 1, 1700000000, 10, 3, 29)
    for path, revision in ((place.target, 1), (source, 2)):
        path.write_bytes(header[:9] + bytes([revision]) + header[10:])
        os.truncate(path, 24 + size)
        with path.open("r+b") as file:
            for number in range(10 * revision):
                file.seek(24 + number * 1000003)
                file.write(b"\1")
    place.target.chmod(0o644)
    old = hashlib.sha256(place.target.read_bytes()).hexdigest()[:16]
    made = scratch / f"{source.name}.from-{old}.zst"
    tool("zstd", "-q", "-3", "--long=27", f"--patch-from={place.target}", source, "-o", made)
    place.lines["URL"] = source
    contains(place.update(preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (size // 4, size // 4))),
             "updated, revision 1 -> 2, ", f"; by a patch of {made.stat().st_size} bytes")
    equal(filecmp.cmp(place.target, source, shallow=False), True)


# --- behind python3 -m http.server ---------------------------------------------------

class Folder(http.server.SimpleHTTPRequestHandler):
    """As python3 -m http.server, with TLS. It has no ETag, and the date of a file has seconds."""

    def log_request(self, code="-", size="-"):
        self.server.asked.append((self.command, self.path, int(code)))

    def log_message(self, *_):
        pass


@pytest.fixture(name="folder")
def fixture_folder(scratch):
    (scratch / "www").mkdir()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Folder, directory=str(scratch / "www")))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority().server)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.asked, server.folder = [], scratch / "www"
    server.url = f"https://localhost:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def answers(server):
    made, server.asked[:] = server.asked[:], []
    return made


@pytest.mark.parametrize("signed", (True, False), ids=("signed", "unsigned"))
def test_a_filter_of_keyveto_publish_is_followed_behind_http_server(place, folder, signed, scratch):
    signer = Signer(scratch, "publisher")
    if signed:
        with_signers(place, f"keyveto {signer.public}")
    place.lines["URL"] = f"{folder.url}/filter.pkbf"
    small = ("GET", SIGNATURE, 200) if signed else ("HEAD", FILTER, 304)
    changed = small if signed else ("HEAD", FILTER, 200)
    for revision in (1, 2, 3):
        source = scratch / "new" / "filter.pkbf"
        source.parent.mkdir(exist_ok=True)
        source.write_bytes(grown(revision))
        tool(PUBLISH, "--quiet", "--sign", signer.key, folder.folder, source)
        # As days later: the dates that the server tells have seconds.
        for path in folder.folder.iterdir():
            os.utime(path, (1.7e9 + 1e5 * revision,) * 2)
        made = place.update()
        equal(place.target.read_bytes() == grown(revision), True)
        if revision == 1:
            equal(answers(folder), [*[small] * signed, ("GET", FILTER, 200)])
        else:
            contains(made, f"updated, revision {revision - 1} -> {revision}, ", "; by a patch of ")
            equal(answers(folder), [changed, ("GET", patch_path(FILTER, grown(revision - 1)), 200)])
        equal(place.update(), f"already current, revision {revision}")
        equal(answers(folder), [small])
    # After a rollback, until there is another one.
    place.update("--rollback")
    contains(place.refuse(), "still has the revision 3 that was rolled back here, ")
    equal(answers(folder), [small])
    for path in folder.folder.glob("*.zst"):
        path.unlink()
    contains(place.update("--force"), "updated, revision 2 -> 3")
    os.truncate(place.target, 30)
    place.run(status=0)
    equal(place.target.read_bytes() == grown(3), True)


def test_a_list_of_keyveto_publish_is_followed_behind_http_server(lists, folder, scratch):
    signer = Signer(scratch, "publisher")
    allowed = scratch / "allowed_signers"
    write(allowed, f"keyveto {signer.public}\n").chmod(0o644)
    lists.section |= {"URL": f"{folder.url}/own.json", "AllowedSigners": allowed}
    source = scratch / "own.dat"
    small = [("GET", "/own.json", 200), ("GET", "/own.json.sig", 200)]
    before = b""
    for number in (1000, 1100, 1200):
        data = records(number)
        source.write_bytes(data)
        source.with_name("own.dat.sources").write_text(f"# date 2026-11-{number // 100}\n13 git\n", encoding="ascii")
        tool(PUBLISH, "--quiet", "--sign", signer.key, folder.folder, source)
        made = lists.update()
        equal(lists.target.read_bytes() == data, True)
        name = f"/own-{hashlib.sha256(data).hexdigest()[:16]}.dat"
        if not before:
            equal(answers(folder), [*small, ("GET", f"{name}.xz", 200)])
        else:
            contains(made, f"-> {number} records of 2026-11-{number // 100}", "; by a patch of ")
            equal(answers(folder), [*small, ("GET", patch_path(name, before), 200)])
        contains(lists.update(), f"already current, {number} records")
        equal(answers(folder), small)
        before = data
