# SPDX-License-Identifier: ISC
"""keyveto update: a server that truncates, stalls or redirects, and parts that are resumed."""

import contextlib
import json
import os
import re
import socket
import stat
import threading
from pathlib import Path

import pytest

from program import contains, equal
from update_place import a_filter, large, redirect_to
from website import Page, Site


@pytest.mark.serves(body=large())
def test_the_next_run_resumes_a_download_that_was_cut_short(place):
    place.put(a_filter(0))
    place.page.cut = 400_000
    contains(place.refuse(kept=True), f"{place.site.url()}: ", "; try again later")
    received = place.part.stat().st_size
    assert 24 < received <= 400_000, received
    equal(stat.S_IMODE(place.part.stat().st_mode), 0o600)
    # A second run gets further.
    contains(place.refuse(kept=True), "; try again later")
    asked = place.site.requests[-1].headers
    equal((asked["Range"], asked["If-Range"]), (f"bytes={received - 1}-", '"one"'))
    received = place.part.stat().st_size
    assert received > 500_000, received
    place.page.cut = None
    contains(place.update(), "updated, revision 0 -> 1, 2000 entries")
    equal(place.site.requests[-1].headers["Range"], f"bytes={received - 1}-")
    equal(place.target.read_bytes(), large())
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


@pytest.mark.serves(body=large())
def test_a_part_of_another_file_is_not_resumed(place):
    """The file on the server was replaced."""
    place.page.cut = 400_000
    place.refuse(kept=True)
    place.page.cut, place.page.etag, place.page.body = None, '"two"', large(2)
    place.update()
    equal(place.site.requests[-1].headers["If-Range"], '"one"')
    equal(place.target.read_bytes(), large(2))


@pytest.mark.serves(body=large())
def test_a_part_is_not_resumed_from_another_url_or_after_a_reboot(place):
    def state():
        return json.loads((place.state / ".filter.pkbf.keyveto-update").read_text(encoding="utf-8"))

    place.page.cut = 400_000
    place.refuse(kept=True)
    equal(state()["part_boot"], Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    place.site.pages["/other"] = place.page
    place.refuse(place.site.url("/other"), kept=True)
    equal(place.site.requests[-1].headers["Range"], None)
    place.refuse(place.site.url("/other"), kept=True)
    assert place.site.requests[-1].headers["Range"]
    changed = {**state(), "part_boot": "another"}
    (place.state / ".filter.pkbf.keyveto-update").write_text(json.dumps(changed), encoding="utf-8")
    place.page.cut = None
    place.update(place.site.url("/other"))
    equal(place.site.requests[-1].headers["Range"], None)
    equal(place.target.read_bytes(), large())


@pytest.mark.serves(body=large())
def test_without_a_strong_etag_no_part_is_resumed(place):
    """A weak ETag does not promise equal bytes."""
    for etag in (None, 'W/"weak"'):
        place.page.etag, place.page.cut = etag, 400_000
        contains(place.refuse(), "; try again later")
        place.page.cut = None
        place.update("--force")
        equal(place.site.requests[-1].headers["Range"], None)


@pytest.mark.serves(body=large())
def test_a_server_without_ranges_sends_the_whole_file(place):
    place.page.cut, place.page.ranges = 400_000, False
    place.refuse(kept=True)
    place.page.cut = None
    place.update()
    assert place.site.requests[-1].headers["Range"]
    equal(place.target.read_bytes(), large())


@pytest.mark.serves(body=large())
def test_a_part_that_is_complete_is_not_fetched_again(place):
    place.page.cut = len(large()) - 1
    place.refuse(kept=True)
    place.page.cut = None
    with open(place.part, "ab") as file:
        file.write(large()[place.part.stat().st_size:])
    place.update()
    equal(place.site.requests[-1].headers["Range"], f"bytes={len(large()) - 1}-")


@pytest.mark.serves(body=large())
def test_a_part_that_somebody_changed_does_not_become_the_filter(place):
    place.page.cut = 400_000
    place.refuse(kept=True)
    with open(place.part, "r+b") as file:
        file.write(b"junk")
    place.page.cut = None
    contains(place.refuse(), "not a filter; correct URL")
    place.update()
    equal(place.target.read_bytes(), large())


@pytest.mark.long
@pytest.mark.serves(body=large())
def test_a_server_that_is_silent_is_given_up_by_stalltimeout(place):
    """Timeout ends the wait, too."""
    def give_up(keyword, seconds):
        """Runs an update against a silent server: whether it had received something."""
        over = threading.Event()
        place.page.pause = (300_000, over)
        place.lines = {**lines, keyword: seconds}
        place.part.unlink(missing_ok=True)
        messages = place.refuse(kept=None)
        over.set()
        assert re.search(r"(too slow|timed out|connection timeout)", messages), messages
        return place.part.exists() and place.part.stat().st_size > 200_000

    place.put(a_filter(0))
    lines = place.lines
    for keyword in ("StallTimeout", "Timeout"):
        # On a busy machine the TLS handshake may take some seconds.
        assert any(give_up(keyword, seconds) for seconds in (2, 10, 50)), f"{keyword}: what was received is not kept"
    place.lines = lines
    place.page.pause = None
    place.update()
    assert place.site.requests[-1].headers["Range"]


def test_a_server_that_does_not_even_shake_hands_is_given_up(place):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        place.lines["URL"] = f"https://localhost:{silent.getsockname()[1]}/f"
        place.lines["Timeout"] = 2
        contains(place.refuse(), "timed out")
        del place.lines["Timeout"]
    with contextlib.closing(socket.socket()) as deaf:
        # The port is bound, so nobody else can listen on it, and this socket does not listen.
        deaf.bind(("127.0.0.1", 0))
        place.lines["URL"] = f"https://localhost:{deaf.getsockname()[1]}/f"
        contains(place.refuse(), "Failed to connect", "check the network, URL and Proxy")
    place.lines["URL"] = "https://name.invalid/f"
    # If no name server answers, the resolver would wait longer than the connection may take.
    contains(place.refuse(env={**os.environ, "RES_OPTIONS": "timeout:1 attempts:1"}),
             "Could not resolve host: name.invalid; check the network")


@pytest.mark.serves(body=large(), etag=None)
def test_a_file_without_a_length_that_ends_early_is_cut_short(place):
    def until_close(handler):
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(large()[:500_000])
        # A TLS close_notify: the end of the data.
        handler.connection = handler.connection.unwrap()

    place.page.answer = until_close
    contains(place.refuse(), "ends after 500000 of the 1048600 bytes that its header says: cut short")
    source = place.state.parent / "short"
    source.write_bytes(large()[:-1])
    contains(place.refuse(source), "ends after 1048599 of the 1048600 bytes")


def test_a_redirect_to_https_is_followed(place):
    """The validators of the redirect are not those of the file."""
    for number, status in enumerate((301, 302, 303, 307, 308)):
        place.site.pages["/moved"] = Page()
        place.site.pages["/moved"].answer = redirect_to("/filter.pkbf", status)
        place.page.body, place.page.etag = a_filter(number), f'"{number}"'
        place.update(place.site.url("/moved"))
        equal(place.update(place.site.url("/moved")), f"already current, revision {number}")
        equal(place.site.requests[-1].headers["If-None-Match"], f'"{number}"')


def test_a_redirect_to_http_to_a_file_or_in_circles_is_refused(place):
    place.put(a_filter(0))
    other = Site()
    other.pages["/filter.pkbf"] = Page(a_filter(5))
    secret = place.state.parent / "secret.pkbf"
    secret.write_bytes(a_filter(6))
    try:
        for where in (other.url(), f"file://{secret}", f"ftp://localhost:{other.port}/", "//\x7f/", "gopher://x/"):
            place.page.answer = redirect_to(where)
            place.refuse()
        place.page.answer = redirect_to(other.url())
        contains(place.refuse(), "it redirects to another protocol than https")
        equal(other.requests, [])
        place.page.answer = redirect_to("/filter.pkbf")
        before = len(place.site.requests)
        contains(place.refuse(), "Maximum (5) redirects followed; correct URL")
        equal(len(place.site.requests) - before, 6)
        contains(place.refuse(other.url(), early=True), "files are fetched over https, not over http")
        equal(other.requests, [])
    finally:
        other.close()
