# SPDX-License-Identifier: ISC
"""RSA keys of any modulus and exponent, and proofs by them, which no library makes: computed with Python's integers."""

import base64
import hashlib
import json
from functools import reduce

from cryptography.hazmat.primitives.asymmetric import rsa

from pem_keys import der_items
from proofs import DER, PAYLOAD, Key, b64url, request

# DigestInfo of SHA-256 (RFC 8017 section 9.2).
DIGEST_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
RSA_ENCRYPTION = bytes.fromhex("300d06092a864886f70d0101010500")
SHA256_RSA = bytes.fromhex("300d06092a864886f70d01010b0500")


def element(tag, *parts):
    body = b"".join(parts)
    size = len(body)
    head = bytes([size]) if size < 0x80 else bytes([0x81, size]) if size < 0x100 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + head + body


def integer(number):
    return element(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def fixed_parts():
    """Of a request: the version and the subject, and the attributes."""
    outer = next(der_items(request(Key("p256"), encoding=DER)))[1]
    version, subject, _, attributes = [element(tag, body) for tag, body in der_items(next(der_items(outer))[1])]
    return version + subject, attributes


BEFORE_KEY, AFTER_KEY = fixed_parts()


def primes(count):
    """Distinct primes of 512 bits."""
    found = set()
    while len(found) < count:
        numbers = rsa.generate_private_key(65537, 1024).private_numbers()
        found |= {numbers.p, numbers.q}
    return sorted(found)[:count]


class RawKey:
    """The modulus is the product of the factors. Whoever knows them signs fast, also with many bits."""

    def __init__(self, factors, e=65537):
        self.factors, self.e = factors, e
        self.n = reduce(lambda a, b: a * b, factors)
        self.size = (self.n.bit_length() + 7) // 8

    @property
    def spki(self):
        return element(0x30, RSA_ENCRYPTION, element(3, b"\0", element(0x30, integer(self.n), integer(self.e))))

    @property
    def id(self):
        return hashlib.sha256(self.spki).hexdigest()

    @property
    def pem(self):
        text = base64.encodebytes(self.spki).decode()
        return f"-----BEGIN PUBLIC KEY-----\n{text}-----END PUBLIC KEY-----\n".encode()

    def sign(self, data):
        info = DIGEST_INFO + hashlib.sha256(data).digest()
        message = int.from_bytes(b"\0\1" + b"\xff" * (self.size - len(info) - 3) + b"\0" + info, "big")
        return self.power(message).to_bytes(self.size, "big")

    def power(self, message):
        """The message to the power of the private exponent."""
        made = 0
        for p in self.factors:
            rest = self.n // p
            made += pow(message, pow(self.e, -1, p - 1), p) * rest * pow(rest, -1, p)
        return made % self.n

    def request(self, signature=None):
        """A request in DER. signature: instead of the key's own."""
        info = element(0x30, BEFORE_KEY, self.spki, AFTER_KEY)
        return element(0x30, info, SHA256_RSA, element(3, b"\0", signature or self.sign(info)))

    def request_pem(self, signature=None):
        text = base64.encodebytes(self.request(signature)).decode()
        return f"-----BEGIN CERTIFICATE REQUEST-----\n{text}-----END CERTIFICATE REQUEST-----\n".encode()

    def jws(self, payload=PAYLOAD, signature=None):
        header = json.dumps({"alg": "RS256", "kid": self.id}).encode()
        signed = {"protected": b64url(header), "payload": b64url(payload)}
        data = f"{signed['protected']}.{signed['payload']}".encode()
        return json.dumps({**signed, "signature": b64url(signature or self.sign(data))}).encode() + b"\n"
