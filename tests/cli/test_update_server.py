# SPDX-License-Identifier: ISC
"""keyveto update: a server with older or bad filters; certificates, secrets and proxies."""

import contextlib
import os
import tempfile
import threading

import pytest

import pkbf
from program import ADDRESS_SANITIZER, ROOT, contains, equal, lacks
from runs import run
from update_place import a_filter, all_ones, authority, large, redirect_to, revision_of, traced
from website import Authority, Page, Proxy, Site


@pytest.mark.serves(body=large(4))
def test_an_older_revision_is_refused_before_it_is_received(place):
    """With --force it is installed."""
    place.put(a_filter(5, entries=1500, p=20))
    over = threading.Event()
    place.page.pause = (200_000, over)
    contains(place.refuse(), f"{place.site.url()}: is revision 4, older than the revision 5 that is installed",
             "use --force")
    over.set()
    place.page.pause = None
    contains(place.update("--force"), "updated, revision 5 -> 4, ")
    equal((revision_of(place.target), revision_of(place.previous)), (4, 5))


def test_the_same_revision_with_other_content_is_refused(place):
    """The message says that the content differs."""
    place.put(a_filter(1, seed="ours"))
    contains(place.refuse(), "is revision 1, as the one that is installed, but differs from it", "use --force")
    place.put(a_filter(1, p=17))
    contains(place.refuse(), "is revision 1, as the one that is installed, but differs from it")
    contains(place.update("--force"), "updated, revision 1 -> 1, ")
    equal(place.target.read_bytes(), a_filter(1))


def test_an_update_does_not_lose_keys_that_were_added_here(place):
    place.update()
    run("filter", "add", place.target, ROOT / "testdata/demo/publisher-examples.pub", status=0)
    place.page.body, place.page.etag = a_filter(2), '"two"'
    contains(place.refuse(), "Either keys were added to that one here")


def test_a_newer_revision_that_has_lost_most_entries_is_refused(place):
    place.put(a_filter(1, entries=1000))
    place.page.body = a_filter(2, entries=400)
    contains(place.refuse(), "bits of the installed one are no longer set, a tenth or more: keys would be accepted")
    contains(place.update("--force"), "updated, revision 1 -> 2, 400 entries")
    # Fewer keys that are all among the old ones: the bits of the others are lost.
    place.page.body, place.page.etag = a_filter(3, entries=300), '"three"'
    contains(place.refuse(), "bits of the installed one are no longer set, a tenth or more: keys would be accepted")


def test_a_filter_that_lists_every_key_or_none_is_refused(place):
    """Also with --force."""
    place.put(a_filter(1))
    nearly = bytearray(all_ones())
    nearly[-1] = 0
    dense = a_filter(9, entries=20_000, k=3, p=16)
    short = pkbf.Filter.create(10, 5, revision=9, time=1700000000)
    short.add(b"one")       # few bits are set, but there are only 512 patterns
    for words in ((), ("--force",)):
        for body, why in ((all_ones(), "every bit is set, so that every key would be listed"),
                          (bytes(nearly), "would refuse 0.99"),
                          (dense, "which is more than MaxFalsePositives allows (0.001)"),
                          (short.to_bytes(), "would refuse 0.00177 of all keys by chance"),
                          (a_filter(9, entries=0), "no bit is set, so that no key would be listed"),
                          (a_filter(9)[:18] + b"\0\0\0\1" + a_filter(9)[22:], "the header says 1 entry"),
                          (b"pkbfv1" + bytes(16) + b"\0\20" + bytes(8192), "not a filter; correct URL")):
            place.page.body = body
            contains(place.refuse(*words), why)
    place.page.body = dense
    place.lines["MaxFalsePositives"] = 0.5
    contains(place.update(), "updated, revision 1 -> 9, ")


def test_a_file_that_is_not_a_filter_is_refused(place):
    place.put(a_filter(1))
    for body, why in ((b"", "has 0 bytes, fewer than the header of a filter"),
                      (b"pkbfv1", "has 6 bytes, fewer than the header of a filter"),
                      (b"<html>" + b"x" * 100_000, "not a filter; correct URL"),
                      (a_filter(9) + b"x", "is longer than the 8216 bytes that its header says"),
                      (a_filter(9)[:-1], "ends after 8215 of the 8216 bytes that its header says"),
                      (b"pkbfv1" + bytes(16) + b"\1\2" + bytes(64), "not a filter; correct URL"),
                      (b"pkbfv1" + bytes(16) + b"\1\xff" + bytes(64), "not a filter; correct URL")):
        place.page.body = body
        contains(place.refuse(), f"{place.site.url()}: ", why)


@pytest.mark.serves(etag=None)
def test_an_endless_file_is_cut_at_the_length_in_its_header(place):
    """A file that is too large by its header is not received."""
    sent = []

    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(a_filter(9))
        with contextlib.suppress(OSError):
            while len(sent) < 100_000:
                handler.wfile.write(bytes(65536))
                sent.append(1)

    def huge(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(2 ** 37 + 24))
        handler.end_headers()
        handler.wfile.write(pkbf.HEADER.pack(b"pkbfv1", 9, 1, 10 ** 9, 10, 40))
        with contextlib.suppress(OSError):
            while True:
                handler.wfile.write(bytes(65536))

    place.put(a_filter(1))
    place.page.answer = endless
    contains(place.refuse(), "is longer than the 8216 bytes that its header says")
    assert len(sent) < 1000, f"{len(sent)} blocks were taken"
    place.page.answer = huge
    contains(place.refuse(), "would have 137438953496 bytes, which is more than MaxSize allows (4294967296)")
    place.page.answer = None
    place.page.body = a_filter(9)
    place.lines["MaxSize"] = 8191
    contains(place.refuse(), "would have 8216 bytes, which is more than MaxSize allows (8191)")
    place.lines["MaxSize"] = "8k"
    place.update()


def test_endless_headers_and_odd_statuses_are_refused(place):
    def headers(handler):
        with contextlib.suppress(OSError):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                handler.wfile.write(b"X-Filler: " + b"x" * 1000 + b"\r\n")

    def raw(data):
        def answer(handler):
            handler.wfile.write(data)
            handler.close_connection = True
        return answer

    place.put(a_filter(1))
    body = a_filter(2)
    for answer in (headers, raw(b""), raw(b"\0" * 1000), raw(b"HTTP/1.1 200 OK\r\n"), raw(body),
                   raw(b"HTTP/1.1 304 Not Modified\r\n\r\n"), raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
                   raw(b"HTTP/1.1 206 P\r\nContent-Length: 8216\r\nContent-Range: bytes 0-8215/8216\r\n\r\n" + body),
                   raw(b"HTTP/1.1 206 P\r\nContent-Length: 8216\r\n\r\n" + body),
                   raw(b"HTTP/1.1 300 Choose\r\nContent-Length: 8216\r\n\r\n" + body),
                   raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n" + body),
                   raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8216\r\n\r\n" + body)):
        place.page.answer = answer
        place.refuse("--force")
    place.page.answer = None
    place.page.body = body
    place.update()


def test_an_http_status_is_reported_with_what_to_do(place):
    for status, hint in ((401, "correct the user and password"), (403, "correct the user and password"),
                         (404, "correct URL"), (410, "correct URL"), (429, "try again later"),
                         (500, "try again later"), (503, "try again later"), (418, "look at URL in a browser")):
        place.page.answer = lambda handler, status=status: handler.send_error(status)
        equal(place.refuse(), f"{place.site.url()}: HTTP status {status}; " + (
            "correct the user and password, or the token, in URL or Proxy" if "password" in hint else hint))


def test_a_server_with_a_bad_certificate_is_refused(place):
    place.put(a_filter(0))
    with tempfile.TemporaryDirectory() as folder:
        stranger = Authority(folder, "stranger")
        for certificate, host in ((stranger.issue("localhost"), "localhost"),
                                  (authority().issue("elsewhere", hosts="DNS:elsewhere.example"), "localhost"),
                                  (authority().issue("past", days="-1"), "localhost"),
                                  (authority().server, "127.0.0.1")):
            site = Site(certificate)
            site.pages["/filter.pkbf"] = Page(a_filter(5))
            try:
                contains(place.refuse(site.url(host=host)), "; the server is not who it claims to be, or CAFile lacks")
                equal(site.requests, [])
            finally:
                site.close()
    place.lines["CAFile"] = None
    contains(place.refuse(), "the server is not who it claims to be")
    place.lines["CAFile"] = place.state / "missing"
    contains(place.refuse(early=True), "missing: No such file or directory")
    equal(place.site.requests, [])


@pytest.mark.skipif(ADDRESS_SANITIZER, reason="its leak check does not run under strace")
def test_a_ca_file_that_cannot_be_handed_over_is_an_error(place):
    """Without it, the system's CAs would be trusted instead."""
    place.update()
    traced(place, ["-e", "trace=sendmsg"], "--force")
    trace = place.settings.with_name("trace").read_text(encoding="ascii")
    sent = [line for line in trace.splitlines() if line.startswith("sendmsg")]
    # Those of tasks have a name. The next one is the request.
    nth, _ = (n for n, line in enumerate(sent, 1) if "SCM_RIGHTS" in line and "filter" not in line)
    status, messages = traced(place, ["-e", "trace=sendmsg", "-e", f"inject=sendmsg:error=ETOOMANYREFS:when={nth}"],
                              "--force")
    equal(status, 2, messages)
    contains(messages, f"{place.lines['CAFile']}: cannot be handed to keyveto-network: Too many references")


def test_a_secret_in_a_url_is_sent_and_never_printed(place):
    place.lines["URL"] = place.site.url("/filter.pkbf?token=hidden", host="alice:hidden@localhost")
    messages = place.refuse()
    lacks(messages, "hidden", "alice")
    contains(messages, f"{place.site.url()}: HTTP status 404")
    equal(place.site.requests[-1].headers["Authorization"], "Basic YWxpY2U6aGlkZGVu")
    place.site.pages["/filter.pkbf?token=hidden"] = place.page
    place.update()
    for name in place.names():
        lacks((place.state / name).read_bytes().decode("latin-1"), "hidden")
    other = Site(authority().server)
    other.pages["/filter.pkbf"] = Page(a_filter(2))
    place.page.answer = redirect_to(other.url())
    try:
        place.update()
        equal(other.requests[-1].headers["Authorization"], None)
    finally:
        other.close()
    for bad in ("https://", "https://al ice:hidden@x/", "https://alice:hidden@[/", "://hidden"):
        place.lines["URL"] = bad
        messages = place.refuse(early=True)
        lacks(messages, "hidden")


def test_the_proxy_comes_from_proxy_or_the_environment(place):
    proxy = Proxy()
    host = f"localhost:{place.site.port}"
    environment = {**os.environ, "https_proxy": f"http://127.0.0.1:{proxy.port}", "no_proxy": ""}
    try:
        place.update(env=environment)
        equal(proxy.asked, [])
        place.lines["Proxy"] = f"http://127.0.0.1:{proxy.port}"
        place.update("--force")
        equal(proxy.asked, [host])
        place.lines["Proxy"] = None
        place.update("--force", env=environment)
        equal(proxy.asked, [host, host])
    finally:
        proxy.close()
    place.lines["Proxy"] = f"http://127.0.0.1:{proxy.port}"
    contains(place.refuse("--force"), "check the network, URL and Proxy")


def test_a_secret_in_proxy_is_never_printed(place):
    for bad in ("htp://alice:hidden@localhost:1", "http://alice:hidden@local host:1", "http://alice:hidden@[::1",
                "http://alice:hidden@localhost:99999", "http://alice:hidden@127.0.0.1:1"):
        place.lines["Proxy"] = bad
        messages = place.refuse()
        lacks(messages, "hidden", "alice")
        contains(messages, f"{place.site.url()}: ", "check the network, URL and Proxy")
        place.lines["Proxy"] = None
        lacks(place.refuse(env={**os.environ, "https_proxy": bad, "no_proxy": ""}), "hidden", "alice")
