"""The pkbfv1 Bloom filter of compromised keys, held in memory.

Header, big endian: "pkbfv1", u32 revision, u64 time, u32 entries, u8 k, u8 p;
then 2**p bits, bit n under the mask 1 << (7 - n % 8) of byte n // 8.  A key is
its SubjectPublicKeyInfo in DER; its k positions come from two XXH64 values by
enhanced double hashing.

    pkbf.py create FILE --hashes K --length P [--time T] [--revision R]
                   [--no-compressed] [KEYFILE...]
    pkbf.py info FILE
    pkbf.py contains FILE KEYFILE    listed|clean SHA256:…, a line a key; a
                                     certificate gives one for the key inside
                                     and one for its CA
    pkbf.py positions FILE KEYFILE   SHA256:… of the key, SHA-256 of the SPKI,
                                     positions: a line an SPKI, compressed too

Key files hold authorized_keys or .pub lines.  A line that is no key is named
on standard error and makes the exit status 2.
"""

import argparse
import hashlib
import math
import struct
import sys
import time as clock

import sshkey
from xxh64 import xxh64

MAGIC = b"pkbfv1"
HEADER = struct.Struct(">6sIQIBB")


class BadFilter(ValueError):
    """Bytes that are not a filter, or parameters that cannot be one."""


def pattern(h1, h2, k, p):
    """The k bit numbers that follow from two hashes, the second one odd."""
    return [(h1 + i * h2 + (i ** 3 - i) // 6) % 2 ** p for i in range(k)]


def positions(spki, k, p):
    """The k bit numbers of a key in a filter of 2**p bits."""
    h1, h2 = xxh64(spki, 0), xxh64(spki, 1)
    return pattern(h1, h2 + (h2 % 2 == 0), k, p)


def bits_rate(k, p, n):
    """Rate of keys that are listed because other keys set each of their bits."""
    return (-math.expm1(k * n * math.log1p(-2.0 ** -p))) ** k if n else 0.0


def patterns_rate(p, n):
    """Rate of keys that are listed because one entry has the same pattern.

    A pattern is (h1 mod 2**p, h2 mod 2**p), and h2 is odd.
    """
    return min(1.0, n / (2 ** p * 2 ** (p - 1)))


def predicted_rate(k, p, n):
    """Expected rate of false positives after n entries, within a factor of about 2."""
    return max(bits_rate(k, p, n), patterns_rate(p, n))


def rate_by_bits(k, p, share):
    """The same of a filter in which this share of the bits is set."""
    if share == 1:
        return 1.0
    return max(share ** k, patterns_rate(p, math.log1p(-share) / (k * math.log1p(-2.0 ** -p))))


def rate_at_most(k, p, n):
    """What the rate of a filter stays below; test_oracle.py counts it out."""
    return bits_rate(k, p, n) + 2 * patterns_rate(p, n)


def parameters(n, rate):
    """(k, p) for n entries at a false positive rate below rate.

    Now and then no k will do for the first p, because k is a whole number: the
    reference gives up there (1709 entries at 0.01), this takes the next p.
    And where patterns are too few for the rate, more bits a key are no help.
    """
    if n < 1 or not 0 < rate < 1:
        raise BadFilter("need at least one entry and a rate between 0 and 1")
    p = max(3, math.ceil(math.log2(-n * math.log(rate) / math.log(2) ** 2)))
    while True:
        most = math.ceil(math.log(2) * 2 ** p / n)
        for k in range(1, min(most, 255) + 1):
            if rate_at_most(k, p, n) < rate:
                return k, p
        p += 1
        if p > 40:
            raise BadFilter("no filter is large enough")


class Filter:
    def __init__(self, k, p, revision=0, time=0, entries=0, bits=None):
        if not 1 <= k <= 255 or not 3 <= p <= 255:
            raise BadFilter("k or p out of range")
        if bits is None and p > 36:
            raise BadFilter("too large to hold in memory")
        self.k, self.p = k, p
        self.revision, self.time, self.entries = revision, time, entries
        self.bits = bytearray(2 ** p // 8) if bits is None else bits

    @classmethod
    def create(cls, k, p, revision=0, time=0):
        """An empty filter."""
        return cls(k, p, revision, time)

    @classmethod
    def from_bytes(cls, data):
        if len(data) < HEADER.size:
            raise BadFilter("shorter than a header")
        magic, revision, time, entries, k, p = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise BadFilter("not a pkbfv1 file")
        if k == 0 or p < 3:
            raise BadFilter("k or p out of range")
        if len(data) != HEADER.size + 2 ** p // 8:
            raise BadFilter("length is not what the header says")
        return cls(k, p, revision, time, entries, bytearray(data[HEADER.size:]))

    @classmethod
    def read(cls, path):
        with open(path, "rb") as file:
            return cls.from_bytes(file.read())

    def to_bytes(self):
        return HEADER.pack(MAGIC, self.revision, self.time, self.entries, self.k, self.p) + bytes(self.bits)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.to_bytes())

    def positions(self, spki):
        return positions(spki, self.k, self.p)

    def _is_set(self, n):
        return self.bits[n // 8] & 1 << (7 - n % 8) != 0

    def contains(self, spki):
        return all(self._is_set(n) for n in self.positions(spki))

    def contains_key(self, key):
        """Whether any lookup form of an sshkey.Key is listed (its CA's not)."""
        return any(self.contains(spki) for spki in key.spkis)

    def add(self, spki):
        """Add unless probably there already; whether it was added."""
        if self.contains(spki):
            return False
        for n in self.positions(spki):
            self.bits[n // 8] |= 1 << (7 - n % 8)
        self.entries += 1
        return True

    def add_run(self, spkis, now=None):
        """Add many as one run of the reference does: if any was new, the time
        is now and the revision grows by one.  How many were new."""
        added = sum(self.add(spki) for spki in spkis)
        if added:
            self.revision += 1
            self.time = int(clock.time()) if now is None else now
        return added

    def set_bits(self):
        return sum(byte.bit_count() for byte in self.bits)

    def rate(self):
        return predicted_rate(self.k, self.p, self.entries)


class Keys:
    """The keys in files; .bad counts the lines that are none."""

    def __init__(self, paths):
        self.paths, self.bad = paths, 0

    def __iter__(self):
        for path in self.paths:
            with open(path, "rb") as file:
                lines = file.read().split(b"\n")
            for number, line in enumerate(lines, 1):
                try:
                    key = sshkey.parse_line(line)
                except sshkey.BadKey as error:
                    print(f"{path}:{number}: {error}", file=sys.stderr)
                    self.bad += 1
                else:
                    if key is not None:
                        yield key


def cmd_create(args, keys):
    out = Filter.create(args.hashes, args.length, args.revision, args.time)
    for key in keys:
        for spki in key.spkis if args.no_compressed else key.published:
            out.add(spki)
    out.write(args.file)


def cmd_info(args, keys):
    f = Filter.read(args.file)
    print(f"revision {f.revision}\ntime {f.time}\nentries {f.entries}\n"
          f"k {f.k}\np {f.p}\nset {f.set_bits()}\nrate {f.rate():.6g}")


def cmd_contains(args, keys):
    f = Filter.read(args.file)
    for key in keys:
        for part in filter(None, (key, key.ca)):
            print("listed" if f.contains_key(part) else "clean", part.fingerprint)


def cmd_positions(args, keys):
    f = Filter.read(args.file)
    for key in keys:
        for part in filter(None, (key, key.ca)):
            for spki in part.published:
                print(part.fingerprint, hashlib.sha256(spki).hexdigest(), *f.positions(spki))


COMMANDS = {"create": cmd_create, "info": cmd_info, "contains": cmd_contains,
            "positions": cmd_positions}


def main():
    top = argparse.ArgumentParser(description="pkbfv1 filters, for tests")
    top.add_argument("command", choices=COMMANDS)
    top.add_argument("file", metavar="FILE")
    top.add_argument("keyfiles", metavar="KEYFILE", nargs="*")
    make = top.add_argument_group("create")
    make.add_argument("--hashes", metavar="K", type=int)
    make.add_argument("--length", metavar="P", type=int)
    make.add_argument("--time", metavar="T", type=int, default=int(clock.time()))
    make.add_argument("--revision", metavar="R", type=int, default=1)
    make.add_argument("--no-compressed", action="store_true")
    args = top.parse_intermixed_args()
    if args.command == "create" and None in (args.hashes, args.length):
        top.error("create needs --hashes and --length")
    keys = Keys(args.keyfiles)
    try:
        COMMANDS[args.command](args, keys)
    except (BadFilter, OSError, struct.error) as error:
        top.exit(2, f"{args.file}: {error}\n")
    return 2 if keys.bad else 0


if __name__ == "__main__":
    sys.exit(main())
