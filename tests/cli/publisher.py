# SPDX-License-Identifier: ISC
"""A publisher of exact lists, as badkeys is one, and a place that fetches from it."""

import contextlib
import hashlib
import json
import lzma
import os
import random

import pytest

import blocklist
from program import equal
from runs import run
from samples import write
from update_place import Place, authority
from website import Page, Site

MANIFEST, LIST, LOOKUP = "/v0/badkeysdata.json", "/v0/blocklist.xz", "/v0/lookup.xz"
SOURCES = [{"id": 1, "name": "debianssl", "type": "git", "repo": "badkeys/debianopenssl", "path": "main"},
           {"id": 13, "name": "git", "type": "git", "repo": "badkeys/gitkeys", "path": "main/keys"},
           {"id": 99, "name": "new"}]


def records(n=1000, seed=0):
    """A list of that many records of random hashes, of which lists with other seeds have all but the last."""
    rnd = random.Random("list")
    made = blocklist.Blocklist()
    while len(made.records) < n:
        if len(made.records) == n - 1:
            rnd = random.Random(f"list {n} {seed}")
        made.records.add(rnd.randbytes(blocklist.HASH) + bytes([rnd.choice((1, 13, 99))]))
    return made.encode()


def listing(*keys, source=13, n=100, seed=0):
    """A list that has these keys among others."""
    made = blocklist.Blocklist(records(n, seed))
    for key in keys:
        made.add(key, source)
    return made.encode()


class Publisher:
    """Serves a manifest and what it names. A test changes .manifest and the pages, and calls publish()."""

    def __init__(self, data=None, date="2026-11-01T10:00:00+00:00", site=None):
        self.site = site or Site(authority().server)
        for path in (MANIFEST, LIST, LOOKUP):
            self.site.pages[path] = Page()
        self.list, self.lookup = self.site.pages[LIST], self.site.pages[LOOKUP]
        self.manifest = {"bkformat": 0, "blocklists": SOURCES}
        self.serve(data if data is not None else records(), date)
        self.serve_lookup(b"0123456789abcdef;some/key.pem\n" * 1000)

    def serve(self, data, date):
        """Serves a list of that date."""
        self.list.body = lzma.compress(data)
        self.manifest |= {"date": date, "blocklist_url": self.site.url(LIST),
                          "blocklist_sha256": hashlib.sha256(data).hexdigest()}
        self.publish()

    def serve_lookup(self, data):
        self.lookup.body = lzma.compress(data)
        self.manifest |= {"lookup_url": self.site.url(LOOKUP), "lookup_sha256": hashlib.sha256(data).hexdigest()}
        self.publish()

    def publish(self, **members):
        """Publishes the manifest with other members; None: without that one."""
        made = {name: value for name, value in (self.manifest | members).items() if value is not None}
        self.site.pages[MANIFEST].body = json.dumps(made).encode()

    def asked(self):
        """The paths that were asked for since the last call."""
        paths = [request.path for request in self.site.requests]
        self.site.requests.clear()
        return paths


class ListPlace:
    """Settings for a list, and its publisher."""

    def __init__(self, scratch, **publisher):
        self.publisher = Publisher(**publisher)
        self.state = scratch / "state"
        self.state.mkdir(mode=0o755)
        self.target = self.state / "badkeys.dat"
        self.sources = self.state / "badkeys.dat.sources"
        self.lookup = self.state / "badkeys.dat.lookup"
        self.previous = self.state / "badkeys.dat.previous"
        self.settings = scratch / "update.conf"
        self.config = scratch / "keyveto.conf"
        # No login consults the list, so that no account of this machine is audited with it.
        write(self.config, "Filter /nonexistent\n").chmod(0o644)
        self.top = {"CAFile": authority().certificate, "Proxy": "none"}
        self.section = {"URL": self.publisher.site.url(MANIFEST), "Target": self.target}

    def arguments(self, *words):
        write(self.settings, "".join(f"{name} {value}\n" for name, value in self.top.items()) +
                             "Source badkeys\n" +
                             "".join(f"\t{name} {value}\n" for name, value in self.section.items()
                                     if value is not None)).chmod(0o644)
        return ["update", "--settings", self.settings, "--config", self.config, *words]

    def run(self, *words, status=None, **options):
        return run(*self.arguments(*words), status=status, **options)

    def update(self, *words, **options):
        """Runs an update that must succeed and print nothing on standard error: its standard output."""
        result = self.run(*words, status=0, **options)
        equal([line for line in result.messages if not line.startswith("keyveto: note: no login consults")], [])
        return result.out.decode().replace(f"{self.target}: ", "").rstrip("\n")

    def refuse(self, *words, **options):
        """Runs an update that must fail and change nothing: its messages, without the last."""
        before = self.snapshot()
        result = self.run(*words, status=2, **options)
        equal(result.out, b"")
        equal(self.snapshot(), before)
        messages = result.problems
        last = messages.pop()
        assert last.startswith(f"{self.target}: stays as it is, " if self.target.exists() else
                               f"{self.target}: there is still no list"), last
        assert not any("part" in name or "lock" in name for name in os.listdir(self.state)), os.listdir(self.state)
        return "\n".join(messages)

    def snapshot(self):
        """The files of the list, without what keyveto remembers for itself."""
        return {name: (self.state / name).read_bytes() for name in sorted(os.listdir(self.state))
                if not name.startswith(".")}

    clear = Place.clear

    def close(self):
        self.publisher.site.close()


@pytest.fixture(name="place")
def fixture_list_place(scratch):
    with contextlib.closing(ListPlace(scratch)) as made:
        yield made


@pytest.fixture(name="place")
def fixture_named_list(scratch):
    """A list that the keyveto.conf names."""
    with contextlib.closing(ListPlace(scratch)) as made:
        made.config.write_text(f"Blocklist {made.target}\n", encoding="utf-8")
        yield made
