# SPDX-License-Identifier: ISC
"""A publisher with the v1 API of pwnedkeys.com, over real TLS, and keys to ask it about.

Its proofs are those of proofs.py.
"""

import contextlib
import ssl

import pkbf
from proofs import Key, b64url as encode  # noqa: F401
from update_place import authority
from website import Page, Site

JSON = {"Content-Type": "application/json"}
HTML = {"Content-Type": "text/html; charset=utf-8"}


def rsa_key():
    return Key("rsa")


def p_key(bits):
    return Key(f"p{bits}")


def small_filter(*listed, k=1, p=8):
    """A filter of these keys that lists one other key in 256, too."""
    made = pkbf.Filter.create(k, p, revision=1, time=1700000000)
    for key in listed:
        made.add(key.spki)
    return made


def false_positive(made, make=Key):
    """Grinds a key that the filter lists although nobody added it."""
    while True:
        key = make()
        if made.contains(key.spki):
            return key


def clean_key(made):
    while made.contains((key := Key()).spki):
        pass
    return key


class Api:
    """The API. It has the keys given to have(), and 404 for others. A test changes .site.pages and .site.missing."""

    def __init__(self):
        self.site = Site(authority().server)
        self.url = self.site.url("")
        self.site.missing = page(b'{"error": "no such key"}', 404)

    def have(self, *keys):
        for key in keys:
            self.site.pages[f"/{key.id}"] = page(key.proof())

    def asked(self):
        """The ids that were asked about since the last call."""
        paths = self.site.paths[:]
        self.site.paths.clear()
        return [path.removeprefix("/") for path in paths]

    def close(self):
        self.site.close()


def page(body, status=200, headers=None):
    """A Page with another status. Content-Type is that of the API unless headers say otherwise."""
    made = Page(body)
    made.answer = lambda handler: answer(handler, status, JSON if headers is None else headers, body)
    return made


def answer(handler, status, headers, body):
    handler.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        handler.wfile.write(body)
