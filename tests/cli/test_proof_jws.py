# SPDX-License-Identifier: ISC
"""keyveto proof verify: proofs that are a JSON Web Signature, good and bad."""

import base64
import hashlib
import json

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

import sshkey
from program import ROOT, contains, equal
from proofs import ALGORITHM, HALF, ORDER_P256, Key, b64url, hmac_of, jws, members, proved, verify, write

PUBLISHED = ROOT / "testdata/demo/publisher-examples.pub"


@pytest.fixture(scope="module", name="keys")
def fixture_keys():
    return {kind: Key(kind) for kind in ALGORITHM}


@pytest.mark.parametrize("kind", ALGORITHM)
def test_a_proof_by_the_key_proves_it(keys, kind, scratch):
    key = keys[kind]
    done = verify(write(scratch / "proof", jws(key)), key.public_file(scratch), status=0)
    equal(proved(done), [(key.fingerprint, "JWS", key.id)])


@pytest.mark.parametrize("kind", HALF)
def test_a_proof_may_name_the_key_by_its_compressed_point(keys, kind, scratch):
    key = keys[kind]
    proof = jws(key, kid=hashlib.sha256(key.compressed_spki()).hexdigest())
    equal(proved(verify(write(scratch / "proof", proof), key.public_file(scratch), status=0)),
          [(key.fingerprint, "JWS", key.id)])


def test_blanks_between_members_and_a_line_end_are_no_matter(keys, scratch):
    proof = json.dumps(members(keys["p256"]), indent=8).encode() + b" \r\n"
    verify(write(scratch / "proof", proof), keys["p256"].public_file(scratch), status=0)


def test_a_payload_of_1024_bytes_is_read(keys, scratch):
    proof = jws(keys["p256"], payload=b"key is pwned".ljust(1024))
    verify(write(scratch / "proof", proof), keys["p256"].public_file(scratch), status=0)


def with_signature(made, change):
    return lambda data: change(made.signature(data))


def spliced(key, r=None, s=None):
    """Signs, and puts other bytes in the place of r or s."""
    half = HALF[key.kind]
    return lambda data: (lambda made: (r if r is not None else made[:half]) + (s if s is not None else made[half:]))(
        key.signature(data))


def order(add=0):
    return (ORDER_P256 + add).to_bytes(32, "big")


def pss(key):
    return lambda data: key.private.sign(data, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())


def changed(key, **more):
    return json.dumps({**members(key), **more}).encode()


def padded(key, name):
    made = members(key, payload=b"key is pwned ")       # 13 bytes: two characters of padding
    made[name] += "=" * (-len(made[name]) % 4)
    assert made[name].endswith("=")
    return json.dumps(made).encode()


def spare_bits(key):
    """Another last character that decodes to the same bytes."""
    made = members(key, payload=b"key is pwned ")
    last = made["payload"][-1]
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    made["payload"] = made["payload"][:-1] + alphabet[alphabet.index(last) + 1]
    return json.dumps(made).encode()


def doubled(key, name):
    made = members(key)
    return ("{" + ", ".join(json.dumps(n) + ": " + json.dumps(v) for n, v in [*made.items(), (name, made[name])])
            + "}").encode()


def doubled_header(key, other):
    return jws(key, header=json.dumps({"alg": ALGORITHM[key.kind], "kid": other.id}).encode()[:-1]
               + f', "kid": "{key.id}"}}'.encode())


ANOTHER = Key("rsa")
ANOTHER_P256 = Key("p256")
BAD = {     # name: (kind of key, the proof, what the reason says)
    "alg none": ("rsa", lambda k: jws(k, alg="none", sign=lambda data: b""), "signed with none"),
    "alg none, signed": ("rsa", lambda k: jws(k, alg="none"), "signed with none"),
    "HS256 with the SPKI as secret": ("rsa", lambda k: jws(k, alg="HS256", sign=hmac_of(k.spki)),
                                      "signed with HS256"),
    "HS256 with the line of the key as secret": ("rsa", lambda k: jws(k, alg="HS256", sign=hmac_of(k.line.encode())),
                                                 "signed with HS256"),
    "RS256, but an HMAC": ("rsa", lambda k: jws(k, sign=hmac_of(k.spki)), "did not make"),
    "RS256 by another key": ("rsa", lambda k: jws(k, sign=ANOTHER.signature), "did not make"),
    "RS256 by another key, which it names": ("rsa", lambda k: jws(ANOTHER), "another key"),
    "the right signature over another kid": ("rsa", lambda k: jws(k, kid=ANOTHER.id), "another key"),
    "ES256 over another kid": ("p256", lambda k: jws(k, kid=ANOTHER_P256.id), "another key"),
    "PS256": ("rsa", lambda k: jws(k, alg="PS256", sign=pss(k)), "signed with PS256"),
    "RS256, but PSS": ("rsa", lambda k: jws(k, sign=pss(k)), "did not make"),
    "RS256 of an EC key": ("p256", lambda k: jws(k, alg="RS256", sign=ANOTHER.signature), "not of the type"),
    "ES256 of an RSA key": ("rsa", lambda k: jws(k, alg="ES256", sign=ANOTHER_P256.signature), "not of the type"),
    "ES256 of a P-384 key": ("p384", lambda k: jws(k, alg="ES256", sign=with_signature(k, lambda made: made[:64])),
                             "not of the type"),
    "RS256 in lower case": ("rsa", lambda k: jws(k, alg="rs256"), "signed with rs256"),
    "RS256 with SHA-512": ("rsa", lambda k: jws(k, sign=lambda data: k.der_signature(data, hashes.SHA512())),
                           "did not make"),
    "signature in DER": ("p256", lambda k: jws(k, sign=k.der_signature), "not the 64"),
    "signature in DER of 64 bytes": (
        "p256", lambda k: jws(k, sign=lambda data: encode_dss_signature(1 << 200, 1 << 240).ljust(64, b"\0")),
        "did not make"),
    "r short": ("p256", lambda k: jws(k, sign=with_signature(k, lambda made: made[1:])), "not the 64"),
    "s short": ("p256", lambda k: jws(k, sign=with_signature(k, lambda made: made[:-1])), "not the 64"),
    "a byte more": ("p521", lambda k: jws(k, sign=with_signature(k, lambda made: made + b"\0")), "not the 132"),
    "no signature": ("p256", lambda k: jws(k, sign=lambda data: b""), "not the 64"),
    "r zero": ("p256", lambda k: jws(k, sign=spliced(k, r=bytes(32))), "did not make"),
    "s zero": ("p256", lambda k: jws(k, sign=spliced(k, s=bytes(32))), "did not make"),
    "both zero": ("p256", lambda k: jws(k, sign=lambda data: bytes(64)), "did not make"),
    "r the order": ("p256", lambda k: jws(k, sign=spliced(k, r=order())), "did not make"),
    "s beyond the order": ("p256", lambda k: jws(k, sign=spliced(k, s=order(1))), "did not make"),
    "r and s all ones": ("p384", lambda k: jws(k, sign=lambda data: b"\xff" * 96), "did not make"),
    "r and s exchanged": ("p256", lambda k: jws(k, sign=with_signature(k, lambda made: made[32:] + made[:32])),
                          "did not make"),
    "RSA signature of zeroes": ("rsa", lambda k: jws(k, sign=lambda data: bytes(256)), "did not make"),
    "RSA signature with a zero before it": ("rsa", lambda k: jws(k, sign=with_signature(k, lambda made: b"\0" + made)),
                                            "did not make"),
    "bytes behind the JSON": ("rsa", lambda k: jws(k) + b"x", "not JSON"),
    "a second object behind it": ("rsa", lambda k: jws(k) + b"{}", "not JSON"),
    "a NUL behind the JSON": ("rsa", lambda k: jws(k) + b"\0", ""),
    "a line behind the JSON": ("rsa", lambda k: jws(k) + b"\nx\n", "no proof, no key and no comment"),
    "signature twice": ("rsa", lambda k: doubled(k, "signature"), "duplicate"),
    "payload twice": ("rsa", lambda k: doubled(k, "payload"), "duplicate"),
    "kid twice": ("rsa", lambda k: doubled_header(k, ANOTHER), "duplicate"),
    "padded payload": ("rsa", lambda k: padded(k, "payload"), "base64url"),
    "padded signature": ("p256", lambda k: padded(k, "signature"), "base64url"),
    "base64 of the usual alphabet": ("p256", lambda k: changed(k, payload="+/+/"), "base64url"),
    "blanks in the base64url": ("p256", lambda k: changed(k, payload=" " + members(k)["payload"]), "base64url"),
    "spare bits": ("p256", spare_bits, "base64url"),
    "a length that base64 has not": ("p256", lambda k: changed(k, payload="AAAAA"), "base64url"),
    "payload of 1025 bytes": ("p256", lambda k: jws(k, payload=b"key is pwned".ljust(1025)), "1025"),
    "payload without the words": ("p256", lambda k: jws(k, payload=b"This key is fine."), "another purpose"),
    "payload in capitals": ("p256", lambda k: jws(k, payload=b"THIS KEY IS PWNED"), "another purpose"),
    "empty payload": ("p256", lambda k: jws(k, payload=b""), "another purpose"),
    "another payload than the signed one": ("p256", lambda k: changed(k, payload=b64url(b"my key is pwned")),
                                            "did not make"),
    "an unprotected header": ("p256", lambda k: changed(k, header={"kid": k.id}), "no other"),
    "the general form": ("p256", lambda k: json.dumps({"payload": members(k)["payload"],
                                                       "signatures": [members(k)]}).encode(), "no other"),
    "a key of its own": ("p256", lambda k: jws(k, jwk={"kty": "oct", "k": "AA"}), "no other"),
    "crit": ("p256", lambda k: jws(k, crit=["b64"], b64=False), "no other"),
    "no kid": ("p256", lambda k: jws(k, header={"alg": "ES256", "typ": "JWT"}), "no member kid"),
    "a kid in capitals": ("p256", lambda k: jws(k, kid=k.id.upper()), "lower-case"),
    "a kid that is too long": ("p256", lambda k: jws(k, kid=k.id + "0"), "lower-case"),
    "a kid that is a number": ("p256", lambda k: jws(k, kid=5), "no text"),
    "an alg that is a list": ("p256", lambda k: jws(k, alg=["ES256"]), "no text"),
    "a signature that is null": ("p256", lambda k: changed(k, signature=None), "no text"),
    "a header that is no JSON": ("p256", lambda k: jws(k, header=b"alg=ES256"), "not JSON"),
    "a header with bytes behind it": (
        "p256", lambda k: jws(k, header=json.dumps({"alg": "ES256", "kid": k.id}).encode() + b"{}"), "not JSON"),
    "a header with an escaped NUL": (
        "p256", lambda k: jws(k, header=b'{"alg": "ES256\\u0000", "kid": "' + k.id.encode() + b'"}'), "not JSON"),
    "an empty object": ("p256", lambda k: b"{}", "no other"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_proof_proves_nothing(keys, name, scratch):
    kind, make, reason = BAD[name]
    key = keys[kind]
    done = verify(write(scratch / "proof", make(key)), key.public_file(scratch), status=1)
    contains(done.stderr, "proves nothing: ", reason)
    if name != "a line behind the JSON":
        equal(done.stdout, "")


def rsa_public_file(path, n, e):
    """A .pub file with any numbers, and the kid of that key."""
    blob = sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(e, n))
    write(path, b"ssh-rsa " + base64.b64encode(blob) + b"\n")
    return path, hashlib.sha256(sshkey.parse(blob).spkis[0]).hexdigest()


def pkcs1(data, size):
    """What an RSA signature is the root of."""
    info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(data).digest()
    return b"\0\1" + b"\xff" * (size - 3 - len(info)) + b"\0" + info


def test_a_modulus_with_exponent_1_proves_nothing(keys, scratch):
    """With e = 1 anybody signs for any modulus, and exact lists look at the modulus alone."""
    n = keys["rsa"].private.public_key().public_numbers().n
    size = (n.bit_length() + 7) // 8
    public, kid = rsa_public_file(scratch / "forged.pub", n, 1)
    proof = jws(keys["rsa"], kid=kid, sign=lambda data: pkcs1(data, size))
    contains(verify(write(scratch / "proof", proof), public, status=1).stderr, "no sound RSA key")


def test_a_modulus_that_can_be_factored_proves_nothing(scratch):
    """As long as the x coordinate of a P-521 key, which an exact list would take for the modulus."""
    small = Key("rsa", rsa.generate_private_key(65537, 521 + 7))
    done = verify(write(scratch / "proof", jws(small)), small.public_file(scratch), status=1)
    contains(done.stderr, "below 1024 bits")


def test_a_prime_modulus_proves_nothing(keys, scratch):
    p = next(n for n in range(keys["rsa"].private.private_numbers().p | 1, 1 << 1100, 2) if pow(2, n - 1, n) == 1)
    e, size = 65537, (p.bit_length() + 7) // 8
    d = pow(e, -1, p - 1)
    public, kid = rsa_public_file(scratch / "prime.pub", p, e)

    def sign(data):
        signature = pow(int.from_bytes(pkcs1(data, size), "big"), d, p).to_bytes(size, "big")
        equal(pow(int.from_bytes(signature, "big"), e, p).to_bytes(size, "big"), pkcs1(data, size))
        return signature
    contains(verify(write(scratch / "proof", jws(keys["rsa"], kid=kid, sign=sign)), public, status=1).stderr,
             "no sound RSA key")


def test_a_proof_of_another_key_does_not_prove_the_published_ones(keys, scratch):
    done = verify(write(scratch / "proof", jws(keys["rsa"])), PUBLISHED, status=1)
    contains(done.stderr, "about another key", keys["rsa"].id)
