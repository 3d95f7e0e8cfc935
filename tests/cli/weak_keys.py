# SPDX-License-Identifier: ISC
"""RSA keys that anybody factors, made from their formulas, and sound ones beside them.

The primes are OpenSSL's, or are tested here by Miller and Rabin's method: nothing of this is GMP's.
"""

import functools
import math
import random

import sshkey
from runs import tool
from samples import Key

E = 65537


@functools.cache
def prime(bits, number=0):
    """A prime with its two highest bits set; another one for each number."""
    del number
    while True:
        found = int(tool("openssl", "prime", "-generate", "-bits", bits, "-hex").strip(), 16)
        if found >> (bits - 2) == 3:
            return found


def is_prime(n, rnd=random.Random(20)):
    """Miller and Rabin's test, with 20 random bases."""
    if n < 4 or n % 2 == 0:
        return n in (2, 3)
    if any(n % small == 0 for small in range(3, min(2000, math.isqrt(n) + 1), 2)):
        return False
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(20):
        x = pow(rnd.randrange(2, n - 1), odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def next_prime(n):
    n += 1 + n % 2
    while not is_prime(n):
        n += 2
    return n


def key(name, n, e=E):
    return Key(name, sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(e, n)), comment=name)


def roca_prime(rnd, bits):
    """A prime k * M + (65537^a mod M), as Infineon's library made it for keys of 1024 bits."""
    product = math.prod(p for p in range(2, 354) if is_prime(p))
    while True:
        k = rnd.getrandbits(bits - product.bit_length()) | 1 << (bits - product.bit_length() - 1)
        found = k * product + pow(E, rnd.getrandbits(62), product)
        if found.bit_length() == bits and is_prime(found):
            return found


def small_d(p, q, bits, group):
    """The public exponent to a private one of so many bits, modulo the group's order."""
    d = next_prime(3 << (bits - 2))
    while math.gcd(d, group) != 1:
        d = next_prime(d)
    return key(f"small-d-{bits}", p * q, pow(d, -1, group))


@functools.cache
def weak():
    """Pairs of a source and a key that --weak must call by it."""
    p, q = prime(1024), prime(1024, 1)
    phi, rnd = (p - 1) * (q - 1), random.Random(17)
    return [
        ("rsa-prime", key("prime", prime(2048))),
        ("rsa-square", key("square", p * p)),
        ("rsa-square", key("fifth-power", prime(410) ** 5)),
        ("rsa-fermat", key("neighbours", p * next_prime(p))),
        ("rsa-fermat", key("after-some-steps", p * next_prime(p + (1 << 514)))),
        ("rsa-fermat", key("half", p * next_prime(p // 2))),
        ("rsa-fermat", key("three-quarters", p * next_prime(3 * p // 4))),
        ("rsa-factor", key("times-1009", 1009 * prime(2038))),
        ("rsa-factor", key("times-65521", 65521 * prime(1016) * q)),
        ("rsa-roca", key("roca", roca_prime(rnd, 512) * roca_prime(rnd, 512))),
        ("rsa-small-d", small_d(p, q, 64, phi)),
        ("rsa-small-d", small_d(p, q, 500, phi)),
        ("rsa-small-d", small_d(p, q, 499, phi // math.gcd(p - 1, q - 1))),
        ("rsa-small-d", small_d(p, q, 2, phi)),
        ("rsa-small-d", small_d(p, q, 2, phi // math.gcd(p - 1, q - 1))),
        # The private exponent is 1, so that the padded hash is a signature.
        ("rsa-small-d", key("small-d-1", p * q, phi + 1)),
        ("rsa-small-d", key("small-d-1-common", p * q, phi // math.gcd(p - 1, q - 1) + 1)),
    ]


@functools.cache
def sound():
    """Keys beside the weak ones that nothing is wrong with."""
    p, q = prime(1024, 30), prime(1024, 31)
    return [
        key("sound", p * q),
        key("exponent-3", prime(1024, 3) * prime(1024, 4), 3),
        key("large-exponent", prime(1024, 5) * prime(1024, 6), prime(2000)),
        key("far-apart", prime(1024, 7) * next_prime(prime(1024, 7) ^ 1 << 930)),
        key("times-65537", 65537 * prime(1016, 8) * prime(1015, 8)),
        key("four-thousand", prime(2048, 9) * prime(2048, 10)),
    ]


@functools.cache
def sharing():
    """Two keys with one prime, and a third with both primes of the first two's others."""
    p, q, r = prime(1024, 20), prime(1024, 21), prime(1024, 22)
    return [key("pq", p * q), key("pr", p * r), key("qr", q * r)]


def multiple():
    """A key whose modulus is that of the first of these times a prime, as anybody can make it."""
    return key("multiple", prime(1024, 20) * prime(1024, 21) * prime(1024, 23))
