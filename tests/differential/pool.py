# SPDX-License-Identifier: ISC
"""The keys of all draws, made once in a run."""

import base64
import hashlib
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("e2e", "oracle")]

import grammar
import keys

NAMES = (*grammar.CLEAN_KEYS, *grammar.CLEAN_CAS, *grammar.LISTED_KEYS, grammar.LISTED_CA)
ECDSA = ("clean3", "listed2")


class Key:
    """A key pair, held in memory."""

    def __init__(self, identity):
        self.private = identity.path.read_text(encoding="ascii")
        self.type, self.blob = identity.key.type, identity.key.blob
        self.fingerprint = identity.key.fingerprint

    @property
    def line(self):
        return f"{self.type} {self.blob}"


class Pool:
    """The keys by their names in the grammar, or by these names. kinds: types that are not ed25519."""

    def __init__(self, names=NAMES, kinds=dict.fromkeys(ECDSA, "ecdsa")):
        with tempfile.TemporaryDirectory() as scratch:
            self.keys = {name: Key(keys.generate(scratch, kinds.get(name, "ed25519"))) for name in names}

    def name_of(self, fingerprint):
        """The name of a key in the grammar, or the fingerprint itself if the key is not in the pool."""
        for name, key in self.keys.items():
            if key.fingerprint == fingerprint:
                return name
        return fingerprint


def fingerprint_of(blob):
    """The fingerprint, in the form of sshd's %f."""
    digest = hashlib.sha256(base64.b64decode(blob)).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
