"""Keys that need no secret, by definition and without a table.

A second implementation of lib/kv_nosecret.c.  The curves' parameters are those
of RFC 8032 section 5.1 and FIPS 186-4 appendix D.1.2; points are computed from
them.  An Ed25519 key is decoded as OpenSSH does (y of p and more, and x = 0
with a sign, stand for points too) and multiplied by 8.

    nosecret.py keys             keys of each class and others: SOURCE TYPE BASE64,
                                 where SOURCE is - for a key that needs its secret
    nosecret.py table            the points as arrays in C: nosecret_table.h of the proofs
    nosecret.py judge KEYFILE    SOURCE SHA256:… of each line's key; of a certificate
                                 a line for the key inside, then one for its CA
"""

import argparse
import base64
import math
import random
import sys

import sshkey

# --- Ed25519 -----------------------------------------------------------------

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
L = 2**252 + 27742317777372353535851937790883648493
NEUTRAL = (0, 1)
SIGN = 1 << 255


def ed_add(a, b):
    product = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + product, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, P)
    return x % P, y % P


def ed_multiply(k, point):
    result = NEUTRAL
    while k:
        if k & 1:
            result = ed_add(result, point)
        point, k = ed_add(point, point), k >> 1
    return result


def ed_decode(encoded):
    """The point that 32 bytes stand for in OpenSSH, or None."""
    number = int.from_bytes(encoded, "little")
    y = (number & ~SIGN) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square:
        return None
    return (-x % P if x & 1 != number >> 255 else x), y


def ed_encodings(point):
    """Every encoding of a point that OpenSSH decodes: with y or y + p, and of x = 0 with either sign."""
    x, y = point
    signs = (0, 1) if x == 0 else (x & 1,)
    return [(y + extra | sign << 255).to_bytes(32, "little")
            for sign in signs for extra in (0, P) if y + extra < SIGN]


def small_order_points():
    """The eight points whose order divides 8, as multiples of L times some point."""
    for y in range(2, 100):
        point = ed_decode(y.to_bytes(32, "little"))
        torsion = point and ed_multiply(L, point)
        if torsion and ed_multiply(4, torsion) != NEUTRAL:
            return [ed_multiply(k, torsion) for k in range(8)]
    raise AssertionError("no point of order 8")


def is_small_order(encoded):
    point = ed_decode(encoded)
    return point is not None and ed_multiply(8, point) == NEUTRAL


# --- ECDSA -------------------------------------------------------------------

CURVES = {  # p, b, x and y of G; a is -3
    "nistp256": (
        2**256 - 2**224 + 2**192 + 2**96 - 1,
        0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b,
        0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296,
        0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5),
    "nistp384": (
        2**384 - 2**128 - 2**96 + 2**32 - 1,
        0xb3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875ac656398d8a2ed19d2a85c8edd3ec2aef,
        0xaa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7,
        0x3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f),
    "nistp521": (
        2**521 - 1,
        0x0051953eb9618e1c9a1f929a21a0b68540eea2da725b99b315f3b8b489918ef109e156193951ec7e937b1652c0bd3bb1bf073573df883d2c34f1ef451fd46b503f00,  # noqa: E501
        0x00c6858e06b70404e9cd9e3ecb662395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe75928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66,  # noqa: E501
        0x011839296a789a3bc0045c8a5fb42c7d1bd998f54449579b446817afbd17273e662c97ee72995ef42640c550b9013fad0761353c7086a272c24088be94769fd16650),  # noqa: E501
}
MULTIPLES = 8


def ec_multiples(curve):
    """G, 2G and so on, as (x, y)."""
    p, _, *g = CURVES[curve]
    points = [tuple(g)]
    while len(points) < MULTIPLES:
        (x1, y1), (x2, y2) = points[-1], points[0]
        slope = ((3 * x1 * x1 - 3) * pow(2 * y1, -1, p) if (x1, y1) == (x2, y2) else
                 (y2 - y1) * pow(x2 - x1, -1, p))
        x = (slope * slope - x1 - x2) % p
        points.append((x, (slope * (x1 - x) - y1) % p))
    return points


def ec_is_on_curve(curve, x, y):
    p, b, *_ = CURVES[curve]
    return (y * y - x * x * x + 3 * x - b) % p == 0


_GENERATED = {curve: {x for x, _ in ec_multiples(curve)} for curve in CURVES}

# --- all types ---------------------------------------------------------------

PRIMES = [n for n in range(2, 1000) if all(n % d for d in range(2, n))]


def rsa_source(e, n):
    if e < 2 or e % 2 == 0:
        return "rsa-exponent"
    return "rsa-factor" if any(n % prime == 0 for prime in PRIMES) else None


def dsa_source(p, _q, g, y):
    if any(value in (0, 1) if p == 0 else value % p in (0, 1 % p, p - 1) for value in (y, g)):
        return "dsa-group"
    return None


def source(blob):
    """The class of a canonical plain blob, or None if the key needs its secret."""
    r = sshkey.Reader(blob)
    name = r.name()
    if name == "ssh-rsa":
        return rsa_source(r.mpint(), r.mpint())
    if name == "ssh-dss":
        return dsa_source(*(r.mpint() for _ in range(4)))
    if "ecdsa" in name:
        curve, point = r.point()
        x = int.from_bytes(point[1:1 + len(point) // 2], "big")
        return "ecdsa-generator" if x in _GENERATED[curve] else None
    if "ed25519" in name:
        return "ed25519-order" if is_small_order(r.string()[-32:]) else None
    return None


# --- keys to test with -------------------------------------------------------

def sound_number(rng, bits):
    """A modulus of so many bits that no prime below 1000 divides. It need not be a product of two primes."""
    product = math.prod(PRIMES)
    while True:
        n = rng.getrandbits(bits) | 1 << bits - 1 | 1
        if math.gcd(n, product) == 1:
            return n


def _ed25519_keys(encoded):
    """Each type of key that has these 32 bytes of Ed25519 in it."""
    mldsa = bytes(range(251)) * 6
    yield "ssh-ed25519", sshkey.fields_raw(encoded)
    yield sshkey.SK_ED25519, sshkey.fields_sk_ed25519(encoded)
    for name in (sshkey.MLDSA, sshkey.MLDSA_OLD):
        yield name, sshkey.fields_raw(mldsa[:sshkey.RAW_SIZES["mldsa44"]] + encoded)


def _ecdsa_keys(curve, x, y):
    point = sshkey.ec_point(curve, x, y)
    yield "ecdsa-sha2-" + curve, sshkey.fields_ecdsa(curve, point)
    if curve == "nistp256":
        yield sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point)


def _rsa_keys(rng):
    n = sound_number(rng, 2048)
    even = [2, 4, 6, 2**16, 2**16 + 2, 2**64, n - 1]
    odd = [3, 5, 17, 35, 257, 2**16 + 1, 2**32 + 1, 2**64 + 1, n - 2]
    for e in (0, 1, *even, *odd):
        yield e, n
    for bits in range(1015, 1050):
        yield 65537, sound_number(rng, bits)
    for prime in (*PRIMES, 1009, 1013, 2003):
        rest = sound_number(rng, rng.randrange(1000, 2100))
        yield 65537, prime
        yield 65537, prime * rest
        yield 65537, prime * rest + 2
        yield 65537, prime * prime * rest
    for power in (1, 8, 31, 32, 33, 1023, 2047):
        yield 65537, 2**power
        yield 65537, 2**power - 1
        yield 65537, 2**power + 1
    # The lowest word is a product of primes, the next one is 0, and no other prime divides it.
    for product in (3 * 5 * 7, 11 * 13 * 17, 983 * 991 * 997):
        yield 65537, product * next(m for m in (1 + (rng.getrandbits(1024) << 64) for _ in range(1000))
                                    if math.gcd(m, math.prod(PRIMES)) == 1)
    yield 65537, math.prod(PRIMES[1:])
    yield 65537, math.prod(PRIMES[1:]) * n
    yield 65537, n * n


def _dsa_keys(rng):
    p, q = rng.getrandbits(1024) | 1 << 1023 | 1, rng.getrandbits(160) | 1 << 159 | 1
    sound = rng.randrange(2, p - 1)
    for p in (p, p - 1, 2**16383 + 2**8192 + 1, 2**1023 + 2**40, 2**1023 + 2**31,
              2**32 + 1, 2**24 + 1, 65537, 257, 5, 3, 2, 1, 0):
        for value in (0, 1, 2, 3, p - 2, p - 1, p, p + 1, p + 2, 2 * p - 2, 2 * p - 1, 2 * p + 1, 7 * p, 7 * p + 5,
                      2**1024 + p, p << 32, (p << 32) - 1, (p << 32) + 2, (p << 8000) + 1, (p << 8000) + 9,
                      1 << 1024, 1 << 64, 1 << 63, 255, 256, 2**31 + 1, 2**32 + 1, 2**64 + 1, p ^ 1 << 20):
            if 0 <= value < 2**16384:
                yield p, q, value, sound
                yield p, q, sound, value


def keys(rng):
    """(type, fields after the name) of keys of each class and of others, in canonical form."""
    small = [e for point in small_order_points() for e in ed_encodings(point)]
    others = [n.to_bytes(32, "little") for n in (2, 3, 19, P - 2, P + 2, P + 18, SIGN + 2, 2**256 - 1)]
    for encoded in small + others + [rng.randbytes(32) for _ in range(8)]:
        for name, fields in _ed25519_keys(encoded):
            yield name, fields
    for curve, (p, *_) in CURVES.items():
        for x, y in ec_multiples(curve):
            for point in (x, y), (x, p - y), (x ^ 1, y), (x ^ 1 << 200, y), (y, x), (x, 0):
                yield from _ecdsa_keys(curve, *point)
        yield from _ecdsa_keys(curve, 0, 0)
    for e, n in _rsa_keys(rng):
        yield "ssh-rsa", sshkey.fields_rsa(e, n)
    for numbers in _dsa_keys(rng):
        yield "ssh-dss", sshkey.fields_dsa(*numbers)


def table():
    """The 14 encodings, and the x coordinates of the multiples, for prove/kv_nosecret.c."""
    tables = {"ed25519": sorted(e for point in small_order_points() for e in ed_encodings(point))}
    for curve in CURVES:
        tables[curve] = [x.to_bytes(sshkey.CURVES[curve][1], "big") for x, _ in ec_multiples(curve)]
    lines = []
    for name, points in tables.items():
        rows = ", ".join("{ " + ", ".join(map(str, point)) + " }" for point in points)
        lines.append(f"static const uint8_t table_{name}[{len(points)}][{len(points[0])}] = {{ {rows} }};")
    return "".join(f"{line}\n" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("keys")
    commands.add_parser("table")
    commands.add_parser("judge").add_argument("keyfile")
    options = parser.parse_args()
    if options.command == "table":
        print(table(), end="")
        return
    if options.command == "keys":
        for name, fields in keys(random.Random(29)):
            blob = sshkey.build_plain(name, fields)
            print(source(blob) or "-", name, base64.b64encode(blob).decode())
        return
    with open(options.keyfile, "rb") as file:
        for line in file:
            key = sshkey.parse_line(line)
            while key is not None:
                print(source(key.blob) or "-", key.fingerprint)
                key = key.ca


if __name__ == "__main__":
    sys.exit(main())
