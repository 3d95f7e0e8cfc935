"""Deltas of filters and exact lists, as pkbf-delta(5) describes them, in memory.

Written from that page, without the C code.

    delta.py diff OLD NEW DELTA
    delta.py patch OLD DELTA NEW
"""

import argparse
import collections
import hashlib
import math
import struct
import sys

MAGIC = b"pkbfd1"
FILTER, LIST = 1, 2
PKBF = struct.Struct(">6sIQIBB")
RECORD = 16
MOST_RECORDS = 2 ** 28
MOST = 2 ** 64


class BadDelta(ValueError):
    """Bytes that are no delta, or not of this file."""


class NoSuccessor(ValueError):
    """Two files that have no delta."""


# Bits, as strings of 0 and 1.

def to_bytes(bits):
    bits += "0" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big") if bits else b""


class Bits:
    """The bits of bytes, one after the other."""

    def __init__(self, data):
        self.text = "".join(f"{byte:08b}" for byte in data)
        self.at = 0

    def take(self, n):
        if n > len(self.text) - self.at:
            raise BadDelta("codes end early")
        self.at += n
        return int(self.text[self.at - n:self.at] or "0", 2)

    def end(self):
        rest = self.text[self.at:]
        if len(rest) >= 8 or "1" in rest:
            raise BadDelta("more than the codes")


def split(m):
    """b and c of the page."""
    b = 0
    while m > 2 ** b:
        b += 1
    return b, 2 ** b - m


def binary(value, n):
    return f"{value:b}".zfill(n) if n else ""


def code(gap, m):
    b, c = split(m)
    q, r = divmod(gap, m)
    return "1" * q + "0" + (binary(r, b - 1) if r < c else binary(r + c, b))


def read_gap(bits, m, most):
    b, c = split(m)
    q = 0
    while bits.take(1):
        q += 1
        if q * m > most:
            raise BadDelta("a gap that leads beyond the end")
    r = 0
    if b > 0:
        r = bits.take(b - 1)
        if r >= c:
            r = 2 * r + bits.take(1) - c
    if q * m + r > most:
        raise BadDelta("a gap that leads beyond the end")
    return q * m + r


def gaps(numbers):
    last = -1
    for number in numbers:
        yield number - last - 1
        last = number


def bits_for(values, m):
    b, c = split(m)
    return sum(value // m + 1 + b - (value % m < c) for value in values)


def choose(values, guess=None):
    """The parameter with which the codes of the gaps take the fewest bits."""
    if not values:
        return 1
    powers = [2 ** k for k in range(64)]
    candidates = powers if guess is None else [guess, *powers]
    return min(candidates, key=lambda m: bits_for(values, m))


def check_parameter(m, n):
    if not 1 <= m <= 2 ** 63 or (n == 0 and m != 1):
        raise BadDelta("parameter")


# Filters

def filter_header(raw):
    """k and p of a filter's header, or None."""
    if len(raw) < PKBF.size:
        return None
    marker, _, _, _, k, p = PKBF.unpack(raw[:PKBF.size])
    return (k, p) if marker == b"pkbfv1" and k >= 1 and 3 <= p <= 40 else None


def bit_numbers(data, wanted):
    """The numbers of the bits that are wanted (0 or 1)."""
    return [8 * i + j for i, byte in enumerate(data) for j in range(8) if byte >> (7 - j) & 1 == wanted]


def diff_filters(old, new):
    if filter_header(new) != filter_header(old) or len(old) != len(new):
        raise NoSuccessor("another k or p")
    a, b = old[PKBF.size:], new[PKBF.size:]
    if any(x & ~y for x, y in zip(a, b)):
        raise NoSuccessor("cleared bits")
    zeros = bit_numbers(a, 0)
    fresh = [i for i, bit in enumerate(zeros) if b[bit // 8] >> (7 - bit % 8) & 1]
    n, z, found = len(fresh), len(zeros), list(gaps(fresh))
    guess = max(1, (45426 * (z - n) + 55481 * n) // (65536 * n)) if n else 1
    m = choose(found, guess)
    return (old[:PKBF.size] + new[:PKBF.size] + struct.pack(">QQ", n, m)
            + to_bytes("".join(code(gap, m) for gap in found)))


def patch_filter(old, rest):
    if len(rest) < 2 * PKBF.size + 16:
        raise BadDelta("shorter than a header")
    heads = rest[:PKBF.size], rest[PKBF.size:2 * PKBF.size]
    n, m = struct.unpack(">QQ", rest[2 * PKBF.size:2 * PKBF.size + 16])
    if filter_header(heads[0]) is None or filter_header(heads[0]) != filter_header(heads[1]):
        raise BadDelta("headers of filters")
    check_parameter(m, n)
    if old[:PKBF.size] != heads[0] or len(old) != PKBF.size + 2 ** filter_header(heads[0])[1] // 8:
        raise BadDelta("another old file")
    zeros, made = bit_numbers(old[PKBF.size:], 0), bytearray(old[PKBF.size:])
    if n > len(zeros):
        raise BadDelta("more bits than there are zeros")
    bits, at = Bits(rest[2 * PKBF.size + 16:]), -1
    for _ in range(n):
        at += 1 + read_gap(bits, m, len(zeros) - at - 2)
        made[zeros[at] // 8] |= 1 << (7 - zeros[at] % 8)
    bits.end()
    return heads[1] + bytes(made)


# Exact lists

def records_of(data):
    if len(data) % RECORD:
        raise NoSuccessor("no list")
    found = [data[i:i + RECORD] for i in range(0, len(data), RECORD)]
    if found != sorted(found):
        raise NoSuccessor("no list")
    return found


def diff_lists(old, new):
    a, b = records_of(old), records_of(new)
    here, there = collections.Counter(a), collections.Counter(b)
    if a and b and not here & there:
        raise NoSuccessor("no record in common")
    came = sorted((there - here).elements())
    gone = []
    left = here & there
    for number, record in enumerate(a):
        if left[record]:
            left[record] -= 1
        else:
            gone.append(number)
    leading = [int.from_bytes(record[:8], "big") for record in came]
    steps = [y - x for x, y in zip([0, *leading], leading)]
    found = list(gaps(gone))
    m, came_m = choose(found), choose(steps)
    codes = to_bytes("".join(code(gap, m) for gap in found))
    return (struct.pack(">6Q", len(a), len(b), len(gone), m, len(codes), came_m) + codes
            + to_bytes("".join(code(step, came_m) + binary(int.from_bytes(record[8:], "big"), 64)
                               for step, record in zip(steps, came))))


def patch_list(old, rest):
    if len(rest) < 48:
        raise BadDelta("shorter than a header")
    n_old, n_new, n, m, size, came_m = struct.unpack(">6Q", rest[:48])
    n_came = n_new - (n_old - n)
    if max(n_old, n_new) > MOST_RECORDS or n > n_old or n_came < 0 or size > len(rest) - 48:
        raise BadDelta("numbers of records")
    check_parameter(m, n)
    check_parameter(came_m, n_came)
    if len(old) != n_old * RECORD:
        raise BadDelta("another old file")
    kept, bits, at = records_of(old), Bits(rest[48:48 + size]), -1
    for _ in range(n):
        at += 1 + read_gap(bits, m, n_old - at - 2)
        kept[at] = None
    bits.end()
    came, bits, leading = [], Bits(rest[48 + size:]), 0
    for _ in range(n_came):
        leading += read_gap(bits, came_m, MOST - 1 - leading)
        came.append(leading.to_bytes(8, "big") + bits.take(64).to_bytes(8, "big"))
    bits.end()
    if came != sorted(came):
        raise BadDelta("order")
    return b"".join(sorted([record for record in kept if record is not None] + came))


# Both

def diff(old, new):
    """The delta that makes new of old, all of them bytes."""
    is_filter = filter_header(old) is not None
    body = diff_filters(old, new) if is_filter else diff_lists(old, new)
    return (MAGIC + bytes([FILTER if is_filter else LIST]) + hashlib.sha256(old).digest()
            + hashlib.sha256(new).digest() + body)


def patch(old, delta):
    """The new file, of the old one and a delta."""
    if delta[:6] != MAGIC or len(delta) < 71:
        raise BadDelta("no delta")
    if hashlib.sha256(old).digest() != delta[7:39]:
        raise BadDelta("another old file")
    if delta[6] == FILTER:
        made = patch_filter(old, delta[71:])
    elif delta[6] == LIST:
        made = patch_list(old, delta[71:])
    else:
        raise BadDelta("another kind")
    if hashlib.sha256(made).digest() != delta[39:71]:
        raise BadDelta("another new file")
    return made


def entropy_bytes(old, new):
    """log2 C(z, n) of two filters, in bytes."""
    zeros = 8 * (len(old) - PKBF.size) - sum(byte.bit_count() for byte in old[PKBF.size:])
    n = sum((y & ~x & 255).bit_count() for x, y in zip(old[PKBF.size:], new[PKBF.size:]))
    return (math.lgamma(zeros + 1) - math.lgamma(n + 1) - math.lgamma(zeros - n + 1)) / math.log(2) / 8


def main():
    top = argparse.ArgumentParser(description="deltas, for tests")
    top.add_argument("command", choices=("diff", "patch"))
    top.add_argument("files", metavar="FILE", nargs=3)
    args = top.parse_args()
    try:
        first, second = (open(name, "rb").read() for name in args.files[:2])
        made = (diff if args.command == "diff" else patch)(first, second)
        with open(args.files[2], "wb") as file:
            file.write(made)
    except (BadDelta, NoSuccessor, OSError) as error:
        top.exit(2, f"{error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
