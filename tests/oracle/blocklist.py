"""The exact list of compromised keys, as badkeys publishes it, in memory.

Records of 16 bytes, sorted: 15 bytes of hash, 1 byte of list id.  The hash is
SHA-256, cut to 120 bits, of one number of the key in big endian without leading
zero bytes: n of RSA, y of DSA, the x coordinate of ECDSA, the public key of
Ed25519 and Ed448.  Of ML-DSA-44 it is of the public key as it is.

    blocklist.py create FILE --id N [KEYFILE...]    new, or with these keys added
    blocklist.py contains FILE KEYFILE    "listed ID" or "clean", then SHA256:…, a
                                          line a key; a certificate gives one for
                                          the key inside and one for its CA
    blocklist.py hashes FILE KEYFILE      SHA256:… of the key, then its hashes

Key files hold authorized_keys or .pub lines.  A line that is no key is named
on standard error and makes the exit status 2.
"""

import argparse
import hashlib
import os
import sys

import sshkey
from pkbf import Keys

HASH = 15
RECORD = 16


class BadList(ValueError):
    """Bytes that are not a list."""


def hash_number(value):
    """The hash of a number, which is not negative."""
    return hashlib.sha256(value.to_bytes((value.bit_length() + 7) // 8, "big")).digest()[:HASH]


def hashes(key):
    """The hashes of an sshkey.Key: two for a composite key, one for others."""
    fields = sshkey.Reader(key.blob)
    name = fields.name()
    if name == "ssh-rsa":
        _, n = fields.mpint(), fields.mpint()
        return [hash_number(n)]
    if name == "ssh-dss":
        return [hash_number([fields.mpint() for _ in range(4)][3])]
    if name in (sshkey.MLDSA, sshkey.MLDSA_OLD):
        both = fields.string()
        mldsa, ed25519 = both[:sshkey.RAW_SIZES["mldsa44"]], both[sshkey.RAW_SIZES["mldsa44"]:]
        return [hashlib.sha256(mldsa).digest()[:HASH], hash_number(int.from_bytes(ed25519, "big"))]
    if "ecdsa" in name:
        _, point = fields.point()
        return [hash_number(int.from_bytes(point[1:1 + len(point) // 2], "big"))]
    return [hash_number(int.from_bytes(fields.string(), "big"))]


class Blocklist:
    """A list in memory: a set of records, so that their order is no matter."""

    def __init__(self, data=b""):
        if len(data) % RECORD:
            raise BadList("not whole records")
        self.records = {data[i:i + RECORD] for i in range(0, len(data), RECORD)}

    def add(self, key, source):
        self.records.update(h + bytes([source]) for h in hashes(key))

    def source(self, key):
        """The lowest id that a hash of the key is listed under, or None."""
        for h in hashes(key):
            for source in range(256):
                if h + bytes([source]) in self.records:
                    return source
        return None

    def encode(self):
        return b"".join(sorted(self.records))


def cmd_create(args, keys, data):
    made = Blocklist(data)
    for key in keys:
        made.add(key, args.id)
    with open(args.file, "wb") as file:
        file.write(made.encode())


def cmd_contains(args, keys, data):
    made = Blocklist(data)
    for key in keys:
        for part in filter(None, (key, key.ca)):
            source = made.source(part)
            print("clean" if source is None else f"listed {source}", part.fingerprint)


def cmd_hashes(args, keys, data):
    for key in keys:
        for part in filter(None, (key, key.ca)):
            print(part.fingerprint, *(h.hex() for h in hashes(part)))


COMMANDS = {"create": cmd_create, "contains": cmd_contains, "hashes": cmd_hashes}


def main():
    top = argparse.ArgumentParser(description="exact lists, for tests")
    top.add_argument("command", choices=COMMANDS)
    top.add_argument("file", metavar="FILE")
    top.add_argument("keyfiles", metavar="KEYFILE", nargs="*")
    top.add_argument("--id", type=int, default=0)
    args = top.parse_intermixed_args()
    keys = Keys(args.keyfiles)
    try:
        data = b""
        if os.path.exists(args.file):
            with open(args.file, "rb") as file:
                data = file.read()
        COMMANDS[args.command](args, keys, data)
    except (BadList, OSError) as error:
        top.exit(2, f"{args.file}: {error}\n")
    return 2 if keys.bad else 0


if __name__ == "__main__":
    sys.exit(main())
