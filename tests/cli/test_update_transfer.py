# SPDX-License-Identifier: ISC
"""keyveto update: a server that truncates, stalls or redirects."""

import contextlib
import hashlib
import json
import os
import re
import socket
import threading
from pathlib import Path

import pytest

from program import contains, equal
from update_place import a_filter, large, redirect_to
from website import Page, Site


@pytest.mark.serves(body=large())
def test_a_download_that_was_cut_short_begins_anew(place):
    """Nothing of it stays, and the server is not asked for a part."""
    place.put(a_filter(0))
    place.page.cut = 400_000
    for _ in range(2):
        contains(place.refuse(), f"{place.site.url()}: ", "; try again later")
        equal([name for name in place.names() if name != ".filter.pkbf.keyveto-update"], ["filter.pkbf"])
    place.page.cut = None
    contains(place.update(), "updated, revision 0 -> 1, 2000 entries")
    equal({request.headers["Range"] for request in place.site.requests}, {None})
    equal(place.target.read_bytes(), large())
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


@pytest.mark.serves(body=large())
def test_what_an_older_keyveto_left_is_neither_used_nor_kept(place):
    """Its notes say that the next run may go on there, and have more numbers."""
    place.put(a_filter(0))
    place.update()
    notes = place.state / ".filter.pkbf.keyveto-update"
    now = json.loads(notes.read_text(encoding="ascii"))
    older = {name: value for name, value in now.items() if name != "asked"} | {
        "most": 2 ** 40, "lost": 10 ** 6, "lost_of": 10 ** 6, "part_etag": '"two"',
        "part_source": hashlib.sha256(place.site.url().encode()).hexdigest(),
        "part_boot": Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()}
    notes.write_text(json.dumps(older), encoding="ascii")
    for left in (place.part, place.state / ".filter.pkbf.xz.keyveto-part"):
        left.write_bytes(large(9)[:400_000])
        left.chmod(0o600)
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])
    equal(sorted(json.loads(notes.read_text(encoding="ascii"))), sorted(now))
    notes.write_text(json.dumps(older), encoding="ascii")
    place.part.write_bytes(large(2)[:400_000])
    place.page.body, place.page.etag = large(2), '"two"'
    contains(place.update(), "updated, revision 1 -> 2")
    equal(place.site.requests[-1].headers["Range"], None)
    equal(place.target.read_bytes(), large(2))


@pytest.mark.long
@pytest.mark.serves(body=large())
def test_a_server_that_is_silent_is_given_up_by_stalltimeout(place):
    """Timeout ends the wait, too."""
    def give_up(keyword, seconds):
        """Runs an update against a silent server: whether it had received something."""
        over = threading.Event()
        place.page.pause = (300_000, over)
        place.lines = {**lines, keyword: seconds}
        before = len(place.site.requests)
        messages = place.refuse()
        over.set()
        assert re.search(r"(too slow|timed out|connection timeout)", messages), messages
        return len(place.site.requests) > before

    place.put(a_filter(0))
    lines = place.lines
    for keyword in ("StallTimeout", "Timeout"):
        # On a busy machine the TLS handshake may take some seconds.
        assert any(give_up(keyword, seconds) for seconds in (2, 10, 50)), f"{keyword}: nothing was received"
    place.lines = lines
    place.page.pause = None
    place.update()


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
        # The head is asked for, and then all of it.
        equal(len(place.site.requests) - before, 12)
        contains(place.refuse(other.url(), early=True), "files are fetched over https, not over http")
        equal(other.requests, [])
    finally:
        other.close()
