# SPDX-License-Identifier: ISC
"""Keys and proofs of compromise, made and verified with Python's cryptography and not with keyveto."""

import base64
import hashlib
import hmac
import json
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

import sshkey
from program import keyveto

PAYLOAD = b"This key is pwned!"
SUBJECT = "kca=v1 This Key Is Compromised"
NO_SECURITY_AFFORDED = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.23")
TRUE = b"\x01\x01\xff"
DER, PEM = serialization.Encoding.DER, serialization.Encoding.PEM
MAKE = {
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "p384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "p521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "ed448": ed448.Ed448PrivateKey.generate,
}
ALGORITHM = {"rsa": "RS256", "p256": "ES256", "p384": "ES384", "p521": "ES512"}
HASH = {"rsa": hashes.SHA256(), "p256": hashes.SHA256(), "p384": hashes.SHA384(), "p521": hashes.SHA512()}
HALF = {"p256": 32, "p384": 48, "p521": 66}
ORDER_P256 = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Key:
    """A private key, and its public half in the forms that keyveto reads."""

    def __init__(self, kind="p256", private=None):
        self.kind, self.private = kind, private if private is not None else MAKE[kind]()

    @property
    def spki(self):
        return self.private.public_key().public_bytes(DER, serialization.PublicFormat.SubjectPublicKeyInfo)

    def compressed_spki(self):
        """The SPKI of an elliptic curve key with its point compressed."""
        point = self.private.public_key().public_bytes(serialization.Encoding.X962,
                                                       serialization.PublicFormat.CompressedPoint)
        spki = self.spki
        start = spki[2 if spki[1] < 0x80 else 3:]
        algorithm = start[:2 + start[1]]
        bits = b"\x03" + bytes([1 + len(point)]) + b"\0" + point
        return b"\x30" + bytes([len(algorithm) + len(bits)]) + algorithm + bits

    @property
    def id(self):
        return hashlib.sha256(self.spki).hexdigest()

    @property
    def line(self):
        """The line of a .pub file."""
        return self.private.public_key().public_bytes(serialization.Encoding.OpenSSH,
                                                      serialization.PublicFormat.OpenSSH).decode()

    @property
    def oracle(self):
        return sshkey.parse_line(self.line.encode())

    @property
    def fingerprint(self):
        return self.oracle.fingerprint

    def public_file(self, folder, name=None):
        path = folder / (name or f"{self.kind}.pub")
        path.write_bytes((self.line.encode() if self.kind != "ed448" else
                          self.private.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
                         + b"\n")
        return path

    def private_bytes(self, form=serialization.PrivateFormat.OpenSSH, encoding=PEM, passphrase=None):
        how = serialization.BestAvailableEncryption(passphrase) if passphrase else serialization.NoEncryption()
        return self.private.private_bytes(encoding, form, how)

    def pem(self):
        return self.private_bytes().decode()

    def der_signature(self, data, digest=None):
        """The signature as OpenSSL has it: of an elliptic curve key, r and s in DER."""
        if self.kind == "rsa":
            return self.private.sign(data, padding.PKCS1v15(), digest or HASH["rsa"])
        return self.private.sign(data, ec.ECDSA(digest or HASH[self.kind]))

    def signature(self, data):
        """The signature as a JWS has it: of an elliptic curve key, r and s of fixed width."""
        made = self.der_signature(data)
        if self.kind == "rsa":
            return made
        return b"".join(number.to_bytes(HALF[self.kind], "big") for number in decode_dss_signature(made))

    def verify(self, signature, data):
        """Fails unless this is the key's signature of a JWS."""
        public = self.private.public_key()
        if self.kind == "rsa":
            public.verify(signature, data, padding.PKCS1v15(), HASH["rsa"])
            return
        half = HALF[self.kind]
        assert len(signature) == 2 * half
        r, s = (int.from_bytes(part, "big") for part in (signature[:half], signature[half:]))
        public.verify(encode_dss_signature(r, s), data, ec.ECDSA(HASH[self.kind]))

    def proof(self, payload=PAYLOAD, **changed):
        """The text of a JWS, of which kid or alg may be changed."""
        return jws(self, payload, **changed)


def members(key, payload=PAYLOAD, header=None, sign=None, **changed):
    """The members of a JWS by the key. sign makes the signature from the signed bytes."""
    protected = header if header is not None else {"alg": ALGORITHM[key.kind], "kid": key.id, **changed}
    if isinstance(protected, dict):
        protected = json.dumps(protected).encode()
    signed = {"protected": b64url(protected), "payload": b64url(payload)}
    data = f"{signed['protected']}.{signed['payload']}".encode()
    return {**signed, "signature": b64url((sign or key.signature)(data))}


def jws(key, *words, **more):
    return json.dumps(members(key, *words, **more)).encode()


def hmac_of(secret):
    """Signs as HS256 does."""
    return lambda data: hmac.new(secret, data, hashlib.sha256).digest()


def request(key, subject=SUBJECT, extensions=((NO_SECURITY_AFFORDED, TRUE, True),), more_names=(), attributes=(),
            digest=hashes.SHA256(), encoding=PEM):
    """A PKCS#10 request by the key: an attestation, unless something is changed."""
    names = [x509.NameAttribute(x509.NameOID.COMMON_NAME, subject), *more_names]
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    for oid, value, critical in extensions:
        builder = builder.add_extension(x509.UnrecognizedExtension(oid, value), critical)
    for oid, value in attributes:
        builder = builder.add_attribute(oid, value)
    signed = builder.sign(key.private, None if key.kind.startswith("ed") else digest)
    return signed.public_bytes(encoding)


def verify(*words, status):
    """Runs keyveto proof verify: its result."""
    done = keyveto("proof", "verify", *words, status=status)
    assert (done.stdout != "") == ("proved compromised" in done.stdout), done.stdout
    return done


def proved(done):
    """(fingerprint, form, SHA-256 of the SPKI) of each line that keyveto proof verify printed."""
    found = []
    for line in done.stdout.splitlines():
        words = line.split()
        assert words[1:3] == ["proved", "compromised:"] and words[-3:-1] == ["SPKI", "SHA-256"], line
        found.append((words[5], words[6].strip("(,"), words[-1].rstrip(")")))
    return found


def write(path, data, mode=0o644):
    Path(path).write_bytes(data)
    Path(path).chmod(mode)
    return path
