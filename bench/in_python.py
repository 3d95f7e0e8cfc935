# SPDX-License-Identifier: ISC
"""Looks keys up in a filter as a script would, with Debian's xxhash and cryptography.

    in_python.py FILTER FILE

Prints how many keys in the lines of FILE the filter lists.
"""

import mmap
import struct
import sys

import xxhash
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_public_key

MASK = (1 << 64) - 1


def listed(bits, hashes, length, spki):
    first, step = xxhash.xxh64_intdigest(spki, 0), xxhash.xxh64_intdigest(spki, 1) | 1
    for number in range(hashes):
        place = (first + number * step + (number ** 3 - number) // 6) & MASK & ((1 << length) - 1)
        if not bits[24 + place // 8] & 0x80 >> place % 8:
            return False
    return True


def main():
    with open(sys.argv[1], "rb") as file:
        bits = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    hashes, length = struct.unpack_from("BB", bits, 22)
    found = 0
    with open(sys.argv[2], "rb") as lines:
        for line in lines:
            key = load_ssh_public_key(line)
            found += listed(bits, hashes, length, key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
    print(found)


if __name__ == "__main__":
    main()
