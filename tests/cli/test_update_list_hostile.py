# SPDX-License-Identifier: ISC
"""keyveto update of exact lists: hostile manifests, places and moments."""

import contextlib
import hashlib
import itertools
import lzma
import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from program import KEYVETO, attempt, contains, equal, lacks
from publisher import LIST, MANIFEST, fixture_list_place, records  # noqa: F401 (the fixture)
from runs import run
from update_place import traced
from website import Page, Site


# --- the manifest ------------------------------------------------------------

ODD = (('"bkformat": 0', '"bkformat": 0.0', "has no bkformat"),
       ('"bkformat": 0', '"bkformat": 1e999', "not JSON"),
       ('"bkformat": 0', '"bkformat": 99999999999999999999', "not JSON"),
       ('"bkformat": 0', '"bkformat": 9223372036854775807', "is in format 9223372036854775807"),
       ('"bkformat": 0', '"bkformat": true', "has no bkformat"),
       ('"bkformat": 0', '"\\u0062kformat": 0, "bkformat": 0', "not JSON"),
       ('"bkformat": 0', '"bk\\u0000": 1, "bkformat": 0', "not JSON"),
       ('"bkformat": 0', '"x": ' + "[" * 3000 + "]" * 3000 + ', "bkformat": 0', "not JSON"),
       ('"bkformat": 0', '"x": "\\ud800", "bkformat": 0', "not JSON"),
       ("{", "\ufeff{", "not JSON"), ("{", "{} {", "not JSON"))


@pytest.mark.parametrize("case", range(len(ODD)))
def test_an_odd_manifest_is_refused(place, case):
    old, new, why = ODD[case]
    page = place.publisher.site.pages[MANIFEST]
    made = page.body.decode().replace(old, new, 1)
    assert made != page.body.decode()
    page.body = made.encode()
    contains(place.refuse(), why)
    equal(place.publisher.asked(), [MANIFEST])


def test_sources_in_any_form_do_no_harm(place):
    for sources in ({}, "text", 5, [[]], [{"id": 1, "name": "a"}] * 10_000, [{"id": 2 ** 62, "name": "a"}]):
        place.publisher.publish(blocklists=sources)
        place.run(status=0)
        assert place.sources.stat().st_size < 16384
    # The longest names of all ids: logins read no more than 16 KiB of the file.
    many = [{"id": i, "name": f"{i:063}", "repo": "r" * 80, "path": "p" * 80} for i in range(256)]
    place.publisher.publish(blocklists=many)
    place.run(status=0)
    assert 15000 < place.sources.stat().st_size <= 16384


def test_hashes_in_upper_case_are_the_same(place):
    for name in ("blocklist_sha256", "lookup_sha256"):
        place.publisher.manifest[name] = place.publisher.manifest[name].upper()
    place.publisher.publish()
    place.run("--lookup", status=0)
    equal(place.update(), "already current, 1000 records of 2026-11-01")


def test_a_long_farewell_of_the_publisher_is_cut(place):
    place.publisher.publish(deprecated="\x1b]0;x\x07" + "long " * 150_000)
    text = place.run(status=0).err.decode()
    contains(text, "will no longer serve this format: \\x1b]0;x\\x07long long",
             "; install a newer keyveto")
    assert len(text) < 4000, len(text)
    for other in ({"a": 1}, [1, 2], 1, ""):
        place.publisher.publish(deprecated=other)
        contains(place.run(status=0).err.decode(), "will no longer serve this format")


def test_a_blocklist_url_leads_only_to_the_server_of_the_manifest(place):
    """With other words than a host: a user, a port, a network path, a file, a script."""
    site = place.publisher.site
    elsewhere = Site()
    elsewhere.pages["/v0/blocklist.xz"] = elsewhere.pages["/blocklist.xz"] = place.publisher.list
    try:
        for url in (f"https://localhost:{site.port}@127.0.0.1:{elsewhere.port}/v0/blocklist.xz",
                    f"//127.0.0.1:{elsewhere.port}/blocklist.xz",
                    f"https://user:pass@localhost:{elsewhere.port}/blocklist.xz",
                    f"http://localhost:{site.port}/v0/blocklist.xz",
                    f"file://localhost{place.settings.parent}/blocklist.xz",
                    f"HTTPS://LOCALHOST:{site.port}/v0/blocklist.xz", "ftp://localhost/blocklist.xz",
                    f"https://user:pass@localhost:{site.port}/v0/blocklist.xz", "/v0/blocklist.xz",
                    "./blocklist.xz"):
            place.publisher.publish(blocklist_url=url)
            result = place.run("--dry-run", status=0)
            lacks(result.err.decode(), "pass")
            equal(place.publisher.asked(), [MANIFEST, LIST], url)
        for url in ("data:,x", "javascript:alert(1)", "https://", "//", "https://[::1/x/", "?x", "#x", "..", "."):
            place.publisher.publish(blocklist_url=url)
            messages = place.refuse()
            assert messages, url
            site.requests.clear()
        equal(elsewhere.requests, [])
    finally:
        elsewhere.close()


def test_a_mirrors_password_is_sent_for_all_of_its_files(place):
    """Whether the manifest names the files by the mirror's own URLs, or by the publisher's."""
    site = place.publisher.site
    place.section["URL"] = site.url(MANIFEST).replace("https://", "https://user:secret@")
    for url in (site.url(LIST), "https://elsewhere.example/v0/blocklist.xz", "blocklist.xz"):
        place.publisher.publish(blocklist_url=url)
        lacks(place.run("--dry-run", status=0).err.decode(), "secret")
        equal([request.headers["Authorization"] for request in site.requests], ["Basic dXNlcjpzZWNyZXQ="] * 2, url)
        site.requests.clear()


# --- the transfer ------------------------------------------------------------

@pytest.mark.parametrize("path", (MANIFEST, LIST))
def test_a_server_that_drips_is_given_up(place, path):
    over = threading.Event()

    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        with contextlib.suppress(OSError):
            while not over.wait(0.05):
                handler.wfile.write(b"\xfd")
                handler.wfile.flush()

    place.top["StallTimeout"] = 1
    place.publisher.site.pages[path].answer = drip
    try:
        contains(place.refuse(), "try again later")
    finally:
        over.set()


def test_a_list_that_changes_after_its_manifest_was_read_is_refused(place):
    """The server replaces the list between the two requests."""
    old = place.publisher.list.body

    def manifest(handler):
        place.publisher.list.body = lzma.compress(records(1000, seed=9))
        page = Page(made)
        page.send(handler)

    place.publisher.serve(records(), "2026-11-02T00:00:00Z")
    made = place.publisher.site.pages[MANIFEST].body
    place.publisher.site.pages[MANIFEST].answer = manifest
    contains(place.refuse(), "its SHA-256 is not the one in the manifest")
    place.publisher.site.pages[MANIFEST].answer = None
    place.publisher.list.body = old
    place.update()


def test_xz_in_odd_pieces(place):
    """Empty streams, padding between streams, and what is no whole stream."""
    data = records()
    packed = lzma.compress(data)
    for body in (lzma.compress(b"") + packed, packed + bytes(8), packed + bytes(4) + lzma.compress(b""),
                 lzma.compress(data, check=lzma.CHECK_NONE)):
        place.publisher.list.body = body
        contains(place.run("--dry-run", status=0).out.decode(), "would be updated, 1000 records")
    for body in (packed + bytes(3), packed + packed[:20], packed[:12], b"\xfd7zXZ",
                 lzma.compress(data, lzma.FORMAT_ALONE), packed + lzma.compress(b"x")):
        place.publisher.list.body = body
        assert place.refuse()


# --- places ------------------------------------------------------------------

@pytest.mark.throwaway
def test_a_target_that_is_something_else_stays(place, scratch):
    """A file of the system is never replaced, whatever the list: it is no list."""
    other = scratch / "folder"
    other.mkdir()
    for target in ("/etc/passwd", "/etc/shadow", place.config, place.settings, "/etc/ssh/sshd_config"):
        place.section["Target"] = target
        place.arguments()
        before = Path(target).read_bytes(), os.stat(target).st_ino, sorted(os.listdir(Path(target).parent))
        contains(place.run(status=2).trouble, f"{target}: is not an exact list", "stays as it is")
        place.run("--lookup", "--yes", status=2)
        place.run("--rollback", status=2)
        equal((Path(target).read_bytes(), os.stat(target).st_ino, sorted(os.listdir(Path(target).parent))), before)
    fifo = scratch / "fifo"
    os.mkfifo(fifo)
    for target, why in ((other, "not a regular file"), (f"{other}/", "not the name of a file"),
                        ("/dev/null", "not a regular file"), (fifo, "not a regular file"),
                        (scratch / "missing/list", "No such file or directory"),
                        ("/proc/self/environ", ""), (f"{scratch}/{'x' * 255}", "the name is too long")):
        place.section["Target"] = target
        contains(place.run(status=2).trouble, why)
    equal(os.listdir(other), [])
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    loose = scratch / "loose"
    loose.mkdir()
    loose.chmod(0o777)
    place.section["Target"] = loose / "list"
    contains(place.run(status=2).trouble, "its directory is somebody else's, or others may write there")
    equal(os.listdir(loose), [])


def test_two_sources_with_one_target_are_a_mistake(place):
    place.arguments()
    text = place.settings.read_text(encoding="utf-8")
    for more in (f"Source two\nURL /x\nTarget {place.target}\n",
                 f"Source two\nFormat badkeys\nTarget {place.target}\n"):
        place.settings.write_text(text + more, encoding="utf-8")
        contains(run("update", "--settings", place.settings, "--config", place.config, status=2).problems[0],
                 f"Source two has the Target of another source, {place.target}")
    equal(place.publisher.asked(), [])


def test_a_mirror_that_is_a_folder_may_hold_anything(place, scratch):
    mirror = scratch / "mirror"
    mirror.mkdir()
    place.section["URL"] = mirror / "badkeysdata.json"
    contains(place.refuse(), "No such file or directory")
    (mirror / "badkeysdata.json").write_bytes(place.publisher.site.pages[MANIFEST].body)
    listed = mirror / "blocklist.xz"
    contains(place.refuse(), "No such file or directory")
    for make in (lambda: os.mkfifo(listed), listed.mkdir, lambda: listed.symlink_to("/dev/zero"),
                 lambda: listed.symlink_to(listed)):
        make()
        assert place.refuse()
        listed.rmdir() if listed.is_dir() else listed.unlink()
    listed.symlink_to("/dev/null")
    contains(place.refuse(), "not a regular file")


def test_a_full_disk_leaves_the_old_list(place):
    """At any size of the disk the list is the old or the new one, whole, and the next run repairs the rest."""
    place.update()
    new = records(30_000, seed=3)
    for blocks in (1, 50, 117, 118, 119, 120):
        place.publisher.serve(new, "2026-11-02T00:00:00Z")
        place.arguments()
        before = place.snapshot()
        # ulim -f is in blocks of 512 bytes or 1024 bytes: bash takes 1024.
        done = attempt("bash", "-c", f'ulimit -f {blocks * 4}; exec "$@"', "bash", KEYVETO, *place.arguments(),
                       text=False)
        if done.returncode == 2:
            equal(place.snapshot(), before)
            contains(done.stderr.decode(), "File too large")
            equal([name for name in os.listdir(place.state) if "part" in name or "lock" in name], [])
        else:
            equal(place.target.read_bytes(), new)
            break
    else:
        raise AssertionError("no limit was large enough")


# --- moments -----------------------------------------------------------------

def serve_next(place, seed):
    data = records(1000 + seed, seed=seed)
    place.publisher.serve(data, f"2026-11-{2 + seed:02}T00:00:00Z")
    return data


def names_agree(place):
    """Whether the names beside the list are those of this list, by its SHA-256."""
    return hashlib.sha256(place.target.read_bytes()).hexdigest() in place.sources.read_text(encoding="ascii")


def previous_agree(place):
    text = place.sources.with_name("badkeys.dat.sources.previous").read_text(encoding="ascii")
    return hashlib.sha256(place.previous.read_bytes()).hexdigest() in text


def test_a_rollback_of_a_rollback_returns_to_the_new_list(place):
    place.update()
    serve_next(place, 1)
    place.update()
    for _ in range(3):
        before = place.snapshot()
        place.update("--rollback")
        place.update("--rollback")
        equal(place.snapshot(), before)
        contains(place.update(), "already current, 1001 records")


def killed(place, call, number, *words):
    """Runs an update that is killed at this call of that name, if it makes so many: (status, messages)."""
    return traced(place, ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"], *words)


PLACING = ("linkat", "renameat", "unlinkat", "fsync")


@pytest.mark.sample(4)
@pytest.mark.parametrize("call", PLACING)
def test_killed_at_each_call_that_places_a_file_the_next_run_repairs_all(place, call):
    """List and names agree after the next run, and those of the list before agree, too."""
    old = records()
    kills = 0
    for number in itertools.count(1):
        place.clear()
        place.publisher.serve(old, "2026-11-01T00:00:00Z")
        place.update()
        place.publisher.serve(records(1001, seed=1), "2026-11-02T00:00:00Z")
        place.update()
        new = serve_next(place, 2)
        status, messages = killed(place, call, number)
        if status == 0:
            break
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL), messages
        kills += 1
        assert place.target.read_bytes() in (records(1001, seed=1), new), (call, number)
        place.run(status=0)
        equal(place.target.read_bytes(), new)
        assert names_agree(place) and previous_agree(place), (call, number)
        equal(place.previous.read_bytes(), records(1001, seed=1))
        # The next run that writes notes removes those that were not finished.
        left = set(os.listdir(place.state)) - {".badkeys.dat.lock", ".badkeys.dat.keyveto-update-new"}
        equal(left, {".badkeys.dat.keyveto-update", "badkeys.dat", "badkeys.dat.previous", "badkeys.dat.sources",
                     "badkeys.dat.sources.previous"}, f"{call} {number}")
    assert kills > 0, call


@pytest.mark.sample(4)
@pytest.mark.parametrize("call", ("renameat", "renameat2", "fsync", "unlinkat"))
def test_killed_in_a_rollback_the_names_agree_after_the_next_run(place, call):
    for number in itertools.count(1):
        place.clear()
        place.publisher.serve(records(), "2026-11-01T00:00:00Z")
        place.update()
        new = serve_next(place, 1)
        place.update()
        status, messages = killed(place, call, number, "--rollback")
        if status == 0:
            break
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL), messages
        assert place.target.read_bytes() in (records(), new)
        for words in ((), ("--rollback",), ("--rollback",), ()):
            # The server still has what was rolled back.
            place.run(*words, status=2 if not words and place.target.read_bytes() != new else 0)
            assert names_agree(place) and previous_agree(place), (call, number, words)
