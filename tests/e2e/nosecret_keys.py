# SPDX-License-Identifier: ISC
"""Keys that need no secret, and an ssh-agent that signs for them.

Nothing here has a private half: each signature is a formula of the public one. Points and orders come from
tests/oracle/nosecret.py, which finds such keys by definition.
"""

import base64
import contextlib
import hashlib
import random
import socket
import struct
import subprocess
import threading
from dataclasses import dataclass, replace
from typing import Callable

import nosecret
import oddcerts
import sshkey
from keys import Identity, PublicKey, generate
from sshkey import string

# The ssh-agent protocol (draft-ietf-sshm-ssh-agent)
FAILURE, REQUEST_IDENTITIES, IDENTITIES, SIGN_REQUEST, SIGN_RESPONSE = 5, 11, 12, 13, 14
SIGN_WITH_SHA256, SIGN_WITH_SHA512 = 2, 4

SK_FLAGS = b"\1"            # a person touched the security key
SK_COUNTER = struct.pack(">I", 1)
APPLICATION = b"ssh:"

# The orders of the generators (FIPS 186-4 appendix D.1.2), and the hash of each curve (RFC 5656 section 6.2.1)
ORDERS = {
    "nistp256": (0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551, hashlib.sha256),
    "nistp384": (0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973,
                 hashlib.sha384),
    "nistp521": (0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409,  # noqa: E501
                 hashlib.sha512),
}
# What the hash stands behind in a signature (RFC 8017 section 9.2)
DIGEST_INFO = {
    "rsa-sha2-256": (hashlib.sha256, bytes.fromhex("3031300d060960864801650304020105000420")),
    "rsa-sha2-512": (hashlib.sha512, bytes.fromhex("3051300d060960864801650304020305000440")),
}


@dataclass(frozen=True)
class Key:
    """A public key, its class, and how to sign for it: sign(data, algorithm) returns a signature blob."""
    type: str
    fields: bytes
    source: str
    sign: Callable
    certificate: bytes = b""        # the certificate to offer instead

    @property
    def plain(self):
        return sshkey.build_plain(self.type, self.fields)

    @property
    def blob(self):
        return base64.b64encode(self.plain).decode()

    @property
    def fingerprint(self):
        return sshkey.fingerprint(self.plain)

    def __str__(self):
        return f"{self.type} {self.blob}"

    def beside(self, place, bit):
        """The key with one bit changed in the byte at this place. Signatures are made as before."""
        changed = bytearray(self.fields)
        changed[place] ^= 1 << bit
        return replace(self, fields=bytes(changed))


# --- RSA -------------------------------------------------------------------------------------------------------------

def _padded_hash(data, algorithm, size):
    """EMSA-PKCS1-v1_5 (RFC 8017 section 9.2)"""
    make, info = DIGEST_INFO[algorithm]
    tail = info + make(data).digest()
    return b"\0\1" + b"\xff" * (size - len(tail) - 3) + b"\0" + tail


def _rsa(e, n, d, source):
    size = (n.bit_length() + 7) // 8

    def sign(data, algorithm):
        algorithm = algorithm if algorithm in DIGEST_INFO else "rsa-sha2-512"
        number = pow(int.from_bytes(_padded_hash(data, algorithm, size), "big"), d, n)
        return string(algorithm.encode()) + string(number.to_bytes(size, "big"))
    return Key("ssh-rsa", sshkey.fields_rsa(e, n), source, sign)


def _prime(bits):
    return int(subprocess.run(["openssl", "prime", "-generate", "-bits", str(bits)], capture_output=True, text=True,
                              check=True).stdout)


def rsa_exponent_of_1(_folder):
    """Of a real modulus, whose factors nobody knows here."""
    p, q = _prime(1024), _prime(1024)
    return _rsa(1, p * q, 1, "rsa-exponent")


def rsa_small_factor(small):
    """A small prime times a large one: phi follows from n."""
    def make(_folder):
        while True:
            large = _prime(1024)
            phi = (small - 1) * (large - 1)
            if phi % 65537:
                return _rsa(65537, small * large, pow(65537, -1, phi), "rsa-factor")
    return make


def rsa_prime_modulus(_folder):
    """d follows from n, too; but to see that n is a prime takes an exponentiation, so no login sees it."""
    while True:
        n = _prime(1024)
        if (n - 1) % 65537:
            return _rsa(65537, n, pow(65537, -1, n - 1), None)


# --- Ed25519 ---------------------------------------------------------------------------------------------------------

_BASE = nosecret.ed_decode((4 * pow(5, -1, nosecret.P) % nosecret.P).to_bytes(32, "little"))


def _ed25519_sign(public, data):
    """R = rB and S = r: SB = R + hA whenever hA is the neutral element, for an h modulo L."""
    torsion = nosecret.ed_decode(public) or nosecret.NEUTRAL
    for r in range(1, 1000):
        x, y = nosecret.ed_multiply(r, _BASE)
        encoded = (y | (x & 1) << 255).to_bytes(32, "little")
        h = int.from_bytes(hashlib.sha512(encoded + public + data).digest(), "little")
        if nosecret.ed_multiply(h % nosecret.L, torsion) == nosecret.NEUTRAL:
            break
    return encoded + r.to_bytes(32, "little")


def ed25519(encoded):
    def make(_folder):
        return Key("ssh-ed25519", sshkey.fields_raw(encoded), "ed25519-order",
                   lambda data, _: string(b"ssh-ed25519") + string(_ed25519_sign(encoded, data)))
    return make


def _sk_message(data):
    """What a security key signs (OpenSSH's PROTOCOL.u2f)."""
    return hashlib.sha256(APPLICATION).digest() + SK_FLAGS + SK_COUNTER + hashlib.sha256(data).digest()


def sk_ed25519(encoded):
    def make(_folder):
        return Key(sshkey.SK_ED25519, sshkey.fields_sk_ed25519(encoded, APPLICATION), "ed25519-order",
                   lambda data, _: string(sshkey.SK_ED25519.encode()) +
                   string(_ed25519_sign(encoded, _sk_message(data))) + SK_FLAGS + SK_COUNTER)
    return make


# What both halves of a composite signature stand for (draft-ietf-lamps-pq-composite-sigs, section 3.2).
COMPOSITE = b"CompositeAlgorithmSignatures2025" + b"COMPSIG-MLDSA44-Ed25519-SHA512" + b"\0"
MLDSA44_PUBLIC, MLDSA44_SIGNATURE = 1312, 2420


def composite(encoded):
    """The ML-DSA half is a real one, for which ssh-agent signs. The Ed25519 half is of small order, and has no secret.

    It takes a system whose OpenSSH makes such keys.
    """
    def make(folder):
        identity = generate(folder, "mldsa44-ed25519")
        reader = sshkey.Reader(base64.b64decode(identity.key.blob))
        name, real = reader.name(), reader.string()

        def sign(data, _):
            with contextlib.closing(oddcerts.Agent(folder, identity)) as agent:
                _, signature = oddcerts.split_string(agent.sign(data))
            half = oddcerts.split_string(signature)[0][:MLDSA44_SIGNATURE]
            message = COMPOSITE + hashlib.sha512(data).digest()
            return string(name.encode()) + string(half + _ed25519_sign(encoded, message))
        return Key(name, sshkey.fields_raw(real[:MLDSA44_PUBLIC] + encoded), "ed25519-order", sign)
    return make


def small_order_encodings():
    """The 14 encodings by names."""
    for number, point in enumerate(nosecret.small_order_points()):
        for encoded in nosecret.ed_encodings(point):
            yield f"Ed25519, {number} T as {encoded.hex()[:4]}..{encoded.hex()[-2:]}", encoded


# --- ECDSA -----------------------------------------------------------------------------------------------------------

def _ecdsa_sign(curve, secret, data):
    n, make = ORDERS[curve]
    points = nosecret.ec_multiples(curve)
    digest = int.from_bytes(make(data).digest(), "big")
    digest >>= max(0, make().digest_size * 8 - n.bit_length())
    k = 5                           # the nonce, which hides no secret here
    r = points[k - 1][0] % n
    s = pow(k, -1, n) * (digest + r * secret) % n
    return string(sshkey.mpint(r) + sshkey.mpint(s))


def _ecdsa_point(curve, multiple):
    x, y = nosecret.ec_multiples(curve)[abs(multiple) - 1]
    return sshkey.ec_point(curve, x, y if multiple > 0 else nosecret.CURVES[curve][0] - y)


def ecdsa(curve, multiple):
    name = "ecdsa-sha2-" + curve

    def make(_folder):
        return Key(name, sshkey.fields_ecdsa(curve, _ecdsa_point(curve, multiple)), "ecdsa-generator",
                   lambda data, _: string(name.encode()) + _ecdsa_sign(curve, multiple, data))
    return make


def sk_ecdsa(multiple):
    def make(_folder):
        point = _ecdsa_point("nistp256", multiple)
        return Key(sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point, APPLICATION), "ecdsa-generator",
                   lambda data, _: string(sshkey.SK_ECDSA.encode()) +
                   _ecdsa_sign("nistp256", multiple, _sk_message(data)) + SK_FLAGS + SK_COUNTER)
    return make


# --- DSA -------------------------------------------------------------------------------------------------------------

def _dsa_signature(p, q, g, y, data):
    """Tries r and s for which r = g^(H / s) * y^(r / s) (FIPS 186-4 section 4.7), since there are only few values."""
    digest = int.from_bytes(hashlib.sha1(data).digest(), "big")
    for s in range(1, 100):
        w = pow(s, -1, q)
        for value in (1, p - 1):
            r = pow(g, digest * w % q, p) * value % p % q
            if r and pow(g, digest * w % q, p) * pow(y, r * w % q, p) % p % q == r:
                return r, s
    # With g = 1, y^(r / s) = r for s = r and r = y.
    return (y % p % q,) * 2


def dsa(change):
    """The p, q, g and y of a key that ssh-keygen made, changed. What is changed needs no x any more."""
    def make(folder):
        fields = sshkey.Reader(base64.b64decode(generate(folder, "dsa").key.blob))
        fields.name()
        p, q, g, y = change(*(fields.mpint() for _ in range(4)))

        def sign(data, _):
            return string(b"ssh-dss") + string(b"".join(n.to_bytes(20, "big") for n in
                                                        _dsa_signature(p, q, g, y, data)))
        return Key("ssh-dss", sshkey.fields_dsa(p, q, g, y), "dsa-group", sign)
    return make


# --- certificates ----------------------------------------------------------------------------------------------------

def certified(key, ca, folder, principal, change=oddcerts.unchanged):
    """The key with a certificate by a real CA. change makes other bytes of its name and fields."""
    blob = _certificate(sshkey.cert_name(key.type), key.fields, base64.b64decode(ca.key.blob), principal,
                        _real_signer(ca, folder), change)
    return replace(key, certificate=blob)


def certify_identity(identity, ca, principal, change=oddcerts.unchanged):
    """A real key with a certificate by a CA that needs no secret. change makes other bytes of the CA's blob."""
    plain = sshkey.Reader(base64.b64decode(identity.key.blob))
    name = sshkey.cert_name(plain.name())
    blob = _certificate(name, plain.rest, change(ca.plain), principal, lambda body: ca.sign(body, "rsa-sha2-512"))
    path = identity.path.with_name(f"{identity.path.name}-by-nobody-cert.pub")
    path.write_text(f"{name} {base64.b64encode(blob).decode()}\n", encoding="ascii")
    return Identity(identity.path, PublicKey(path))


def _certificate(name, fields, ca_blob, principal, sign, change=oddcerts.unchanged):
    inside, fields = oddcerts.split_string(change(string(name.encode()) + fields))
    return sshkey.build_cert(inside.decode("latin-1"), fields, ca_blob, principals=[principal.encode()], sign=sign)


def _real_signer(ca, folder):
    def sign(body):
        with contextlib.closing(oddcerts.Agent(folder, ca)) as agent:
            return agent.sign(body)
    return sign


# --- the agent -------------------------------------------------------------------------------------------------------

class Agent:
    """An ssh-agent with one key, as an identity that the clients of the tests take."""

    def __init__(self, folder, key):
        self.key = key
        self.path = folder / f"agent-{random.getrandbits(64):x}"
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(self.path))
        self._socket.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def options(self):
        """Options for the ssh command line. They come before those of its file."""
        return ["-o", f"IdentityAgent={self.path}", "-o", "IdentitiesOnly=no", "-o", "IdentityFile=none",
                "-o", "PubkeyAcceptedAlgorithms=+ssh-dss,ssh-dss-cert-v01@openssh.com"
                if self.key.type == "ssh-dss" else "PubkeyAuthentication=yes"]

    def close(self):
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, client.makefile("rb") as requests:
            while len(head := requests.read(4)) == 4:
                request = requests.read(int.from_bytes(head, "big"))
                client.sendall(string(self._answer(request[0], request[1:])))

    def _answer(self, kind, rest):
        blob = self.key.certificate or self.key.plain
        if kind == REQUEST_IDENTITIES:
            return bytes([IDENTITIES]) + struct.pack(">I", 1) + string(blob) + string(b"nobody's")
        if kind != SIGN_REQUEST:
            return bytes([FAILURE])
        reader = sshkey.Reader(rest)
        reader.string()
        data = reader.string()
        flags = int.from_bytes(reader.take(4), "big")
        algorithm = "rsa-sha2-512" if flags & SIGN_WITH_SHA512 else "rsa-sha2-256"
        return bytes([SIGN_RESPONSE]) + string(self.key.sign(data, algorithm))
