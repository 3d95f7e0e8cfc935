# SPDX-License-Identifier: ISC
"""A publisher of folders that keyveto update follows, which shares no code with keyveto publish.

json writes the index, ssh-keygen signs it, lzma packs the files, and the oracle makes the deltas.
"""

import functools
import hashlib
import json
import lzma
import time

import delta
from program import equal
from publisher import SOURCES, ListPlace
from update_place import Place, Signer, with_signers
from website import Page

NAMESPACE = "keyveto-index"
DAY = 86400
BASE = "/kv/"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


@functools.cache
def pack(data):
    return lzma.compress(data, preset=1)


@functools.cache
def make_delta(old, new):
    """None if new is no successor of old."""
    try:
        return delta.diff(old, new)
    except (delta.BadDelta, delta.NoSuccessor):
        return None


def packed_name(data):
    return f"files/{digest(data)}.xz"


def delta_name(old, new):
    return f"deltas/{digest(old)[:32]}-{digest(new)[:32]}.delta"


class Folder:
    """What a publisher's folder holds: .names has the bytes of each file in it, by its path.

    A test changes .entries (the index's files) and .names as it likes, and calls index().
    """

    def __init__(self, signer):
        self.signer, self.serial = signer, 0
        self.names, self.entries, self.last = {}, {}, {}

    def put(self, name, data, kind="pkbf", **members):
        """Publishes the next revision of a file, with a delta from the one before."""
        entry = {"name": name, "type": kind, "size": len(data), "sha256": digest(data)}
        packed = self.names[packed_name(data)] = pack(data)
        entry["packed_size"] = len(packed)
        if kind == "pkbf":
            entry["revision"] = int.from_bytes(data[6:10], "big")
        entry["deltas"] = self.entries.get(name, {}).get("deltas", [])
        old = self.last.get(name)
        made = make_delta(old, data) if old not in (None, data) else None
        if made:
            self.names[delta_name(old, data)] = made
            entry["deltas"] = [*entry["deltas"], {"from": digest(old), "to": digest(data), "size": len(made)}]
        self.entries[name], self.last[name] = entry | members, data
        self.index()

    def companion(self, data):
        """Adds a companion: its member of an entry."""
        self.names[f"files/{digest(data)}"] = data
        return {"sha256": digest(data), "size": len(data)}

    def text(self, **members):
        now = int(time.time())
        made = {"format": "keyveto-index-1", "serial": self.serial, "date": stamp(now),
                "expires": stamp(now + 30 * DAY), "files": list(self.entries.values())} | members
        return json.dumps({name: value for name, value in made.items() if value is not None},
                          separators=(",", ":")).encode() + b"\n"

    def index(self, serial=None, **members):
        """Writes the index, with the next serial or this one."""
        self.serial = self.serial + 1 if serial is None else serial
        text = self.text(**members)
        self.names["index"] = text + self.signer.sign(text, NAMESPACE)
        return self.names["index"]

    def write(self, path):
        for name, data in self.names.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)


def serve(site, folder):
    """Serves the folder as it is now."""
    for path in [path for path in site.pages if path.startswith(BASE)]:
        del site.pages[path]
    for name, data in folder.names.items():
        site.pages[BASE + name] = Page(data, f'"{digest(data)[:16]}"')


def asked(site):
    """The names that were asked for since the last call, below the folder."""
    paths = [path.removeprefix(BASE) for path in site.paths]
    site.requests.clear()
    site.paths.clear()
    return paths


class FollowPlace(Place):
    """A filter whose settings follow a folder on a web server."""

    def __init__(self, scratch, name="filter.pkbf"):
        super().__init__(scratch)
        self.signer = Signer(scratch, "publisher")
        self.allowed = with_signers(self, f'keyveto namespaces="{NAMESPACE}" {self.signer.public}')
        self.folder = Folder(self.signer)
        self.name = name
        self.packed = self.state / ".filter.pkbf.xz.keyveto-part"
        self.lines |= {"URL": None, "Index": self.site.url(BASE)}

    def put(self, data, **members):
        self.folder.put(self.name, data, **members)
        self.serve()

    def put_by_hand(self, data):
        super().put(data)

    def index(self, **members):
        self.folder.index(**members)
        self.serve()

    def serve(self):
        serve(self.site, self.folder)

    def page_of(self, name):
        return self.site.pages[BASE + name]

    def asked(self):
        return asked(self.site)

    def holds(self, data):
        equal(self.target.read_bytes() == data, True, "the target is the publisher's file")


class FollowListPlace(ListPlace):
    """An exact list whose settings follow a folder on a web server."""

    def __init__(self, scratch):
        super().__init__(scratch)
        self.site = self.publisher.site
        self.signer = Signer(scratch, "publisher")
        self.allowed = scratch / "allowed_signers"
        self.allowed.write_text(f"keyveto {self.signer.public}\n", encoding="ascii")
        self.allowed.chmod(0o644)
        self.folder = Folder(self.signer)
        self.section = {"Index": self.site.url(BASE), "Target": self.target, "AllowedSigners": self.allowed}

    def put(self, data, name="badkeys.dat", **members):
        self.folder.put(name, data, kind="blocklist", **members)
        self.serve()

    def mirror(self, data, date):
        """Puts a list with the manifest that badkeys published of it."""
        manifest = json.dumps({"bkformat": 0, "date": date, "blocklists": SOURCES,
                               "blocklist_url": "https://update.badkeys.info/v0/blocklist.xz",
                               "blocklist_sha256": digest(data)}).encode()
        self.put(data, date=date, manifest=self.folder.companion(manifest))
        return f"files/{digest(manifest)}"

    def serve(self):
        serve(self.site, self.folder)

    def asked(self):
        return asked(self.site)
