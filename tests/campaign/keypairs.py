# SPDX-License-Identifier: ISC
"""Key pairs of every type that some sshd takes, in plain Python.

The keys come from a seeded generator, so that a seed gives the same keys everywhere.
They can sign, so that certificates and logins are real.  The code is slow, and has
side channels: these keys protect nothing.
"""

import base64
import hashlib
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
import nosecret  # noqa: E402
import sshkey  # noqa: E402
from sshkey import mpint, string  # noqa: E402

RSA_EXPONENT = 65537
RSA_DIGESTS = {     # signature algorithm: hash, DER before the digest (RFC 8017 §9.2)
    "ssh-rsa": ("sha1", "3021300906052b0e03021a05000414"),
    "rsa-sha2-256": ("sha256", "3031300d060960864801650304020105000420"),
    "rsa-sha2-512": ("sha512", "3051300d060960864801650304020305000440"),
}
WEBAUTHN = "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"
WEBAUTHN_ORIGIN = b"https://example.org"
USER_PRESENT = 1    # PROTOCOL.u2f: the flag for a touched security key


class KeyPair:
    """The base of all types. A type adds its name, fields(), and sign(data, algorithm)."""

    type = None

    @property
    def blob(self):
        """The public key in its canonical form."""
        return sshkey.build_plain(self.type, self.fields())

    @property
    def algorithms(self):
        """The signature algorithms of this type, the usual one first."""
        return (self.type,)

    def fields(self):
        """The bytes after the type's name in the blob."""
        raise NotImplementedError

    @property
    def can_sign(self):
        return hasattr(self, "sign")


# --- RSA and DSA -------------------------------------------------------------

class RSA(KeyPair):
    type = "ssh-rsa"

    def __init__(self, rng, bits=2048):
        while True:
            p, q = _prime(rng, bits // 2), _prime(rng, bits // 2)
            if (p * q).bit_length() == bits and (p - 1) * (q - 1) % RSA_EXPONENT:
                break
        self.p, self.q, self.n = p, q, p * q
        self.inverse = pow(q, -1, p)
        self.d = pow(RSA_EXPONENT, -1, (p - 1) * (q - 1))

    @property
    def algorithms(self):
        return ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")

    def integers(self):
        return RSA_EXPONENT, self.n

    def fields(self):
        return sshkey.fields_rsa(RSA_EXPONENT, self.n)

    def sign(self, data, algorithm=None):
        algorithm = algorithm or "rsa-sha2-512"
        name, prefix = RSA_DIGESTS[algorithm]
        size = (self.n.bit_length() + 7) // 8
        tail = b"\0" + bytes.fromhex(prefix) + hashlib.new(name, data).digest()
        padded = b"\0\1" + b"\xff" * (size - 2 - len(tail)) + tail
        message = int.from_bytes(padded, "big")
        one, other = pow(message, self.d % (self.p - 1), self.p), pow(message, self.d % (self.q - 1), self.q)
        signature = other + (one - other) * self.inverse % self.p * self.q
        return string(algorithm.encode()) + string(signature.to_bytes(size, "big"))

    def private_fields(self):
        return (mpint(self.n) + mpint(RSA_EXPONENT) + mpint(self.d)
                + mpint(self.inverse) + mpint(self.p) + mpint(self.q))


class PublicRSA(KeyPair):
    """A modulus of any size with unknown factors. It cannot sign, so it cannot log in."""

    type = "ssh-rsa"
    algorithms = RSA.algorithms

    def __init__(self, rng, bits):
        self.n = nosecret.sound_number(rng, bits)

    integers, fields = RSA.integers, RSA.fields


class DSA(KeyPair):
    type = "ssh-dss"

    def __init__(self, rng):
        self.q = _prime(rng, 160)
        while True:
            p = rng.getrandbits(1024) | 3 << 1022
            p -= p % (2 * self.q) - 1
            if p.bit_length() == 1024 and _is_prime(p):
                break
        self.p = p
        self.g = pow(2, (p - 1) // self.q, p)
        self.x = rng.randrange(1, self.q)
        self.y = pow(self.g, self.x, p)

    def integers(self):
        return self.p, self.q, self.g, self.y

    def fields(self):
        return sshkey.fields_dsa(*self.integers())

    def sign(self, data, algorithm=None):
        digest = hashlib.sha1(data).digest()
        k = _nonce(self.x, data, self.q)
        r = pow(self.g, k, self.p) % self.q
        s = pow(k, -1, self.q) * (int.from_bytes(digest, "big") + self.x * r) % self.q
        return string(b"ssh-dss") + string(r.to_bytes(20, "big") + s.to_bytes(20, "big"))

    def private_fields(self):
        return b"".join(mpint(value) for value in (self.p, self.q, self.g, self.y, self.x))


_SMALL_PRIMES = math.prod(n for n in range(3, 2000) if all(n % d for d in range(2, int(n ** 0.5) + 1)))


def _prime(rng, bits):
    while True:
        candidate = rng.getrandbits(bits) | 3 << bits - 2 | 1
        if _is_prime(candidate):
            return candidate


def _is_prime(n):
    """Whether n is probably prime. The bases are fixed, as n is random."""
    if math.gcd(n, _SMALL_PRIMES) != 1:
        return False
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5):
        power = pow(base, odd, n)
        if power in (1, n - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % n
            if power == n - 1:
                break
        else:
            return False
    return True


def _nonce(secret, data, order):
    """A number below order that depends on all of the key and the data."""
    seed = hashlib.sha512(b"%d " % secret + data).digest()
    return int.from_bytes(seed + hashlib.sha512(seed).digest(), "big") % (order - 1) + 1


# --- elliptic curves ---------------------------------------------------------

class Curve:
    """A curve y² = x³ - 3x + b over a prime field (SP 800-186), and its hash
    (RFC 5656 §6.2.1)."""

    def __init__(self, name, order, digest):
        self.prime, _, *generator = nosecret.CURVES[name]
        self.generator, self.order, self.digest = tuple(generator), int(order, 16), digest

    def add(self, one, other):
        """The sum of two points; None is the point at infinity."""
        if one is None or other is None:
            return one or other
        (x1, y1), (x2, y2) = one, other
        if x1 == x2 and (y1 + y2) % self.prime == 0:
            return None
        if one == other:
            slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, self.prime)
        else:
            slope = (y2 - y1) * pow(x2 - x1, -1, self.prime)
        x = (slope * slope - x1 - x2) % self.prime
        return x, (slope * (x1 - x) - y1) % self.prime

    def multiply(self, factor, point=None):
        total, power = None, point or self.generator
        while factor:
            if factor & 1:
                total = self.add(total, power)
            power, factor = self.add(power, power), factor >> 1
        return total


CURVES = {name: Curve(name, order, digest) for name, order, digest in (
    ("nistp256", "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", "sha256"),
    ("nistp384", "ffffffffffffffffffffffffffffffffffffffffffffffff"
     "c7634d81f4372ddf581a0db248b0a77aecec196accc52973", "sha384"),
    ("nistp521", "1ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"
     "fa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409", "sha512"))}


class ECDSA(KeyPair):
    def __init__(self, rng, curve="nistp256"):
        self.type, self.curve = f"ecdsa-sha2-{curve}", curve
        self.secret = rng.randrange(1, CURVES[curve].order)
        self.public = CURVES[curve].multiply(self.secret)

    def point(self, form="uncompressed"):
        return sshkey.ec_point(self.curve, *self.public, form)

    def fields(self):
        return sshkey.fields_ecdsa(self.curve, self.point())

    def sign_raw(self, data):
        """The two numbers of a signature, as fields."""
        curve = CURVES[self.curve]
        digest = int.from_bytes(hashlib.new(curve.digest, data).digest(), "big")
        k = _nonce(self.secret, data, curve.order)
        r = curve.multiply(k)[0] % curve.order
        s = pow(k, -1, curve.order) * (digest + self.secret * r) % curve.order
        return mpint(r) + mpint(s)

    def sign(self, data, algorithm=None):
        return string(self.type.encode()) + string(self.sign_raw(data))

    def private_fields(self):
        return string(self.curve.encode()) + string(self.point()) + mpint(self.secret)


_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_BASE_Y = 4 * pow(5, -1, _P) % _P
_BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_BASE = _BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P


def _edwards_add(one, other):
    """RFC 8032 §5.1.4."""
    (x1, y1, z1, t1), (x2, y2, z2, t2) = one, other
    a, b = (y1 - x1) * (y2 - x2) % _P, (y1 + x1) * (y2 + x2) % _P
    c, d = 2 * t1 * t2 * _D % _P, 2 * z1 * z2 % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _edwards_multiply_base(factor):
    total, power = (0, 1, 1, 0), _BASE
    while factor:
        if factor & 1:
            total = _edwards_add(total, power)
        power, factor = _edwards_add(power, power), factor >> 1
    x, y, z, _ = total
    inverse = pow(z, -1, _P)
    return (y * inverse % _P | (x * inverse % _P & 1) << 255).to_bytes(32, "little")


class Ed25519(KeyPair):
    type = "ssh-ed25519"

    def __init__(self, rng):
        self.seed = rng.randbytes(32)
        digest = hashlib.sha512(self.seed).digest()
        self.scalar = int.from_bytes(digest[:32], "little") & (1 << 254) - 8 | 1 << 254
        self.prefix = digest[32:]
        self.public = _edwards_multiply_base(self.scalar)

    def fields(self):
        return sshkey.fields_raw(self.public)

    def sign_raw(self, data):
        def number(text):
            return int.from_bytes(hashlib.sha512(text).digest(), "little") % _L
        r = number(self.prefix + data)
        point = _edwards_multiply_base(r)
        s = (r + number(point + self.public + data) * self.scalar) % _L
        return point + s.to_bytes(32, "little")

    def sign(self, data, algorithm=None):
        return string(self.type.encode()) + string(self.sign_raw(data))

    def private_fields(self):
        return string(self.public) + string(self.seed + self.public)


# --- security keys (PROTOCOL.u2f), in software -------------------------------

_COUNTER = (7).to_bytes(4, "big")
_PRESENCE = bytes([USER_PRESENT])


class SecurityEd25519(KeyPair):
    type = sshkey.SK_ED25519

    def __init__(self, rng, application=b"ssh:"):
        self.inner, self.application = Ed25519(rng), application

    def fields(self):
        return sshkey.fields_sk_ed25519(self.inner.public, self.application)

    def sign(self, data, algorithm=None):
        signed = _sha256(self.application) + _PRESENCE + _COUNTER + _sha256(data)
        return string(self.type.encode()) + string(self.inner.sign_raw(signed)) + _PRESENCE + _COUNTER


class SecurityECDSA(KeyPair):
    type = sshkey.SK_ECDSA

    def __init__(self, rng, application=b"ssh:"):
        self.inner, self.application = ECDSA(rng), application

    @property
    def algorithms(self):
        return (self.type, WEBAUTHN)

    def fields(self):
        return sshkey.fields_sk_ecdsa(self.inner.point(), self.application)

    def sign(self, data, algorithm=None):
        if algorithm == WEBAUTHN:
            return self._sign_webauthn(data)
        signed = _sha256(self.application) + _PRESENCE + _COUNTER + _sha256(data)
        return string(self.type.encode()) + string(self.inner.sign_raw(signed)) + _PRESENCE + _COUNTER

    def _sign_webauthn(self, data):
        """As a browser does it: ssh-ecdsa-sk.c, webauthn_check_prepare_hash."""
        challenge = base64.urlsafe_b64encode(data).rstrip(b"=")
        client_data = (b'{"type":"webauthn.get","challenge":"' + challenge + b'","origin":"'
                       + WEBAUTHN_ORIGIN + b'"}')
        signed = _sha256(self.application) + _PRESENCE + _COUNTER + _sha256(client_data)
        return (string(WEBAUTHN.encode()) + string(self.inner.sign_raw(signed)) + _PRESENCE + _COUNTER
                + string(WEBAUTHN_ORIGIN) + string(client_data) + string(b""))


def _sha256(data):
    return hashlib.sha256(data).digest()


# --- files -------------------------------------------------------------------

def private_key_file(pair):
    """The key as ssh reads it from a file (PROTOCOL.key), without a passphrase."""
    check = bytes(4)
    secret = check + check + string(pair.type.encode()) + pair.private_fields() + string(b"")
    secret += bytes(range(1, 1 + -len(secret) % 8))
    body = (b"openssh-key-v1\0" + string(b"none") + string(b"none") + string(b"")
            + (1).to_bytes(4, "big") + string(pair.blob) + string(secret))
    text = base64.encodebytes(body).decode()
    return f"-----BEGIN OPENSSH PRIVATE KEY-----\n{text}-----END OPENSSH PRIVATE KEY-----\n"
