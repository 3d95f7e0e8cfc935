"""XXH64 in pure Python.

Follows the XXH64 part of the xxHash specification ("xxHash fast digest
algorithm", version 0.1.1): four 64-bit lanes over 32-byte stripes, then the
tail by eights, fours and ones, then the avalanche.  Slow and obvious.
"""

MASK = (1 << 64) - 1

P1 = 0x9E3779B185EBCA87
P2 = 0xC2B2AE3D27D4EB4F
P3 = 0x165667B19E3779F9
P4 = 0x85EBCA77C2B2AE63
P5 = 0x27D4EB2F165667C5


def _rotl(x, n):
    return ((x << n) | (x >> (64 - n))) & MASK


def _round(acc, lane):
    return _rotl((acc + lane * P2) & MASK, 31) * P1 & MASK


def _merge(acc, lane):
    return ((acc ^ _round(0, lane)) * P1 + P4) & MASK


def xxh64(data, seed=0):
    """The XXH64 of data under seed, as an integer below 2**64."""
    pos = 0

    def take(size):
        nonlocal pos
        pos += size
        return int.from_bytes(data[pos - size:pos], "little")

    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK,
                 seed, (seed - P1) & MASK]
        while len(data) - pos >= 32:
            lanes = [_round(acc, take(8)) for acc in lanes]
        h = sum(_rotl(acc, n) for acc, n in zip(lanes, (1, 7, 12, 18))) & MASK
        for acc in lanes:
            h = _merge(h, acc)
    else:
        h = (seed + P5) & MASK

    h = (h + len(data)) & MASK
    while len(data) - pos >= 8:
        h = (_rotl(h ^ _round(0, take(8)), 27) * P1 + P4) & MASK
    if len(data) - pos >= 4:
        h = (_rotl(h ^ (take(4) * P1 & MASK), 23) * P2 + P3) & MASK
    while pos < len(data):
        h = _rotl(h ^ (take(1) * P5 & MASK), 11) * P1 & MASK

    h = (h ^ (h >> 33)) * P2 & MASK
    h = (h ^ (h >> 29)) * P3 & MASK
    return h ^ (h >> 32)
