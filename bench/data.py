# SPDX-License-Identifier: ISC
"""The data to measure with: lines of keys, and half-full filters, made once from fixed seeds."""

import base64
import math
import random
import shutil
import struct
import time

SEED = 5
MIXTURE = (("ed25519", 0.55), ("rsa2048", 0.20), ("rsa4096", 0.25))
HASHES = 20
CHUNK = 1 << 24
RECORD = 16
_SMALL_PRIMES = math.prod(n for n in range(2, 1000) if all(n % d for d in range(2, n)))


def _string(data):
    return struct.pack(">I", len(data)) + data


def _modulus(rng, size):
    """A number that no prime below 1000 divides: keyveto takes it for the product of two large ones."""
    while True:
        number = rng.getrandbits(8 * size) | 1 << 8 * size - 1 | 1
        if math.gcd(number, _SMALL_PRIMES) == 1:
            return b"\0" + number.to_bytes(size, "big")


def _blob(rng, kind):
    """A public key of random numbers."""
    if kind == "ed25519":
        return b"ssh-ed25519", _string(b"ssh-ed25519") + _string(rng.randbytes(32))
    modulus = _modulus(rng, int(kind.removeprefix("rsa")) // 8)
    return b"ssh-rsa", _string(b"ssh-rsa") + _string(b"\1\0\1") + _string(modulus)


def lines(rng, count, mixture=MIXTURE):
    """Lines of an authorized_keys file, with the kinds of keys in random order."""
    kinds, weights = zip(*mixture)
    for number, kind in enumerate(rng.choices(kinds, weights, k=count)):
        name, blob = _blob(rng, kind)
        yield b"%s %s user%d@example.org\n" % (name, base64.b64encode(blob), number)


def write_once(path, make):
    """Writes the file under another name first, so that it is either whole or missing."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with open(part, "wb") as file:
            make(file)
        part.rename(path)
    return path


def key_file(folder, count, mixture=MIXTURE, name="mixed"):
    """A file of authorized_keys lines, which are the same for the same count."""
    def make(file):
        rng = random.Random(f"{SEED} {name} {count}")
        file.writelines(lines(rng, count, mixture))
    return write_once(folder / f"{name}-{count}.sound.keys", make)


def filter_file(folder, length, hashes=HASHES):
    """A filter of 2**length bits, of which about half are set."""
    def make(file):
        rng = random.Random(f"{SEED} filter {length}")
        file.write(b"pkbfv1" + struct.pack(">IQIBB", 1, int(time.time()), (1 << length) // 29, hashes, length))
        left = 1 << (length - 3)
        while left > 0:
            file.write(rng.randbytes(min(left, CHUNK)))
            left -= CHUNK
    return write_once(folder / f"half-{length}.pkbf", make)


def empty_file(folder, length, hashes=HASHES):
    """A filter of 2**length bits, of which none is set."""
    def make(file):
        file.write(b"pkbfv1" + struct.pack(">IQIBB", 0, 0, 0, hashes, length))
        file.truncate(24 + (1 << (length - 3)))
    return write_once(folder / f"empty-{length}.pkbf", make)


def list_file(folder, count):
    """An exact list of about so many records: random hashes and ids, in order."""
    def make(file):
        rng = random.Random(f"{SEED} list {count}")
        tops, tail = 1 << 16, RECORD - 2
        for top in range(tops):
            # As many as begin with these two bytes among random hashes.
            data = rng.randbytes(tail * max(1, round(rng.gauss(count / tops, math.sqrt(count / tops)))))
            records = sorted(data[at:at + tail] for at in range(0, len(data), tail))
            file.write(top.to_bytes(2, "big").join([b"", *records]))
    return write_once(folder / f"list-{count}.dat", make)


def ed25519_file(folder, count):
    """A file of so many Ed25519 keys without comments. Making it takes a tenth of key_file's time."""
    blob = _blob(random.Random(SEED), "ed25519")[1]
    fixed = b"ssh-ed25519 " + base64.b64encode(blob[:18])

    def make(file):
        rng = random.Random(f"{SEED} ed25519 {count}")
        for start in range(0, count, 100_000):
            n = min(100_000, count - start)
            # The last byte of the key's length, and the key: 33 bytes are 44 characters.
            data = bytearray(rng.randbytes(33 * n))
            data[::33] = blob[18:19] * n
            text = base64.b64encode(data)
            file.write(b"".join(fixed + text[at:at + 44] + b"\n" for at in range(0, len(text), 44)))
    return write_once(folder / f"ed25519-{count}.keys", make)


def homes(folder, count):
    """A tree of so many homes, with five small files in each .ssh."""
    tree = folder / f"homes-{count}"
    if not tree.exists():
        rng = random.Random(f"{SEED} homes {count}")
        part = tree.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for number in range(count):
            home = part / f"user{number:06}/.ssh"
            home.mkdir(parents=True)
            (home / "authorized_keys").write_bytes(b"".join(lines(rng, rng.randint(1, 5))))
            (home / "known_hosts").write_bytes(b"".join(b"host " + line for line in lines(rng, rng.randint(1, 5))))
            (home / "config").write_bytes(b"Host *\n  ForwardAgent no\n")
            (home / "id_ed25519.pub").write_bytes(b"".join(lines(rng, 1, (("ed25519", 1),))))
            (home / "id_rsa.pub").write_bytes(b"".join(lines(rng, 1, (("rsa2048", 1),))))
        part.rename(tree)
    return tree
