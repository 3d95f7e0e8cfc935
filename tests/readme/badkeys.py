# SPDX-License-Identifier: ISC
"""badkeys' server, played on loopback under its own name: a list of many records, and where each key lies."""

import hashlib
import json
import lzma
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "tests" / "cli"), str(ROOT / "tests" / "oracle")]

# pylint: disable=wrong-import-position
import blocklist
import sshkey
from website import Authority, Page, Site

HOST, MIRROR = "update.badkeys.info", "mirror.example.com"
FOLDER = "/v0"
SOURCES = [{"id": 1, "name": "debianssl", "type": "git", "repo": "badkeys/debianopenssl", "path": "main"},
           {"id": 13, "name": "git", "type": "git", "repo": "badkeys/gitkeys", "path": "main/keys"}]
SYSTEM_CAS = Path("/etc/ssl/certs/ca-certificates.crt")


def records_of(line):
    """The records of a public key, from source 1."""
    return [found + b"\x01" for found in blocklist.hashes(sshkey.parse_line(line.encode()))]


def name_host(name):
    """From now on it is on loopback."""
    with open("/etc/hosts", "a", encoding="ascii") as hosts:
        hosts.write(f"127.0.0.1 {name}\n")


class Badkeys:
    """Must run in a throw-away root with a network of its own."""

    def __init__(self, scratch, listed, records, direct=True):
        """A list of so many records.

        listed: each public key (its line) that the list has as debianssl, and the path of its private half. Unless
        direct, only a proxy knows where the server is.
        """
        own = {record: path for text, path in listed.items() for record in records_of(text)}
        noise = random.Random("badkeys").randbytes(blocklist.HASH * (records - len(own)))
        made = sorted([*own, *(noise[at:at + blocklist.HASH] + b"\x0d"
                               for at in range(0, len(noise), blocklist.HASH))])
        lookup = b"".join(f"{record[:8].hex()};{own.get(record, 'x')}\n".encode() for record in made)
        authority = Authority(scratch, "badkeys-ca")
        with open(SYSTEM_CAS, "ab") as trusted:
            trusted.write(authority.certificate.read_bytes())
        if direct:
            name_host(HOST)
        self.site = Site(authority.issue(HOST, f"DNS:{HOST},DNS:{MIRROR}"), port=443)
        self.manifest = {"bkformat": 0, "date": "2026-11-01T10:00:00+00:00", "blocklists": SOURCES}
        self.list = b"".join(made)
        self.serve("blocklist", self.list)
        self.serve("lookup", lookup)

    def add(self, text, date):
        """Publishes a list of that date which has this key, too."""
        records = {self.list[at:at + blocklist.RECORD] for at in range(0, len(self.list), blocklist.RECORD)}
        self.manifest["date"] = date
        self.serve("blocklist", b"".join(sorted(records.union(records_of(text)))))

    def serve(self, kind, data):
        """Serves this blocklist or lookup, and a manifest that names it."""
        path = f"{FOLDER}/{kind}.xz"
        self.site.pages[path] = Page(lzma.compress(data, preset=0))
        self.manifest |= {f"{kind}_url": f"https://{HOST}{path}",
                          f"{kind}_sha256": hashlib.sha256(data).hexdigest()}
        self.site.pages[f"{FOLDER}/badkeysdata.json"] = Page(json.dumps(self.manifest).encode())

    def serve_folder(self, folder, place):
        """Serves the files below folder, as the mirror, and badkeys' own no more."""
        self.site.pages = {f"{place}{path.relative_to(folder)}": Page(path.read_bytes())
                           for path in folder.rglob("*") if path.is_file()}

    def close(self):
        self.site.close()
