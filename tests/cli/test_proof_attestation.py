# SPDX-License-Identifier: ISC
"""keyveto proof verify: proofs that are a PKCS#10 request, good and bad."""

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization

from pem_keys import der_items
from program import contains, equal
from proofs import DER, MAKE, NO_SECURITY_AFFORDED, PEM, SUBJECT, TRUE, Key, proved, request, verify, write
from runs import tool

# cryptography warns of SHA-1 and MD5, which bad proofs are signed with.
pytestmark = pytest.mark.filterwarnings("ignore::cryptography.utils.CryptographyDeprecationWarning")

CONFIG = """[req]
distinguished_name = name
req_extensions = extensions
prompt = no
string_mask = utf8only
[name]
CN = kca=v1 This Key Is Compromised
[extensions]
1.3.6.1.5.5.7.1.23 = critical, DER:01:01:ff
"""


@pytest.fixture(scope="module", name="keys")
def fixture_keys():
    return {kind: Key(kind) for kind in MAKE}


@pytest.mark.parametrize("kind", MAKE)
def test_a_request_of_cryptography_proves_its_key(keys, kind, scratch):
    key = keys[kind]
    expected = [(key.fingerprint, "PKCS#10", key.id)] if kind != "ed448" else None
    for encoding in (PEM, DER):
        proof = write(scratch / "proof", request(key, encoding=encoding))
        for words in ((proof,), (proof, key.public_file(scratch))):
            found = proved(verify(*words, status=0))
            equal(found[0][1:], ("PKCS#10", key.id))
            if expected:
                equal(found, expected)


@pytest.mark.parametrize("kind", ["rsa", "p256", "p384", "p521", "ed25519"])
def test_a_request_of_openssl_proves_its_key(keys, kind, scratch):
    private = write(scratch / "key", keys[kind].private_bytes(serialization.PrivateFormat.PKCS8))
    config = write(scratch / "config", CONFIG.encode())
    for words in (("-newhdr",), ("-outform", "DER")):
        proof = write(scratch / "proof", tool("openssl", "req", "-new", "-key", private, "-config", config, *words))
        equal(proved(verify(proof, status=0)), [(keys[kind].fingerprint, "PKCS#10", keys[kind].id)])


@pytest.mark.parametrize("kind", ["p256", "p384", "p521"])
def test_a_compressed_point_is_normalised(keys, kind, scratch):
    key = keys[kind]
    private = write(scratch / "key", key.private_bytes(serialization.PrivateFormat.TraditionalOpenSSL))
    private.write_bytes(tool("openssl", "ec", "-in", private, "-conv_form", "compressed"))
    config = write(scratch / "config", CONFIG.encode())
    proof = write(scratch / "proof", tool("openssl", "req", "-new", "-key", private, "-config", config,
                                          "-outform", "DER"))
    assert key.compressed_spki() in proof.read_bytes()
    equal(proved(verify(proof, key.public_file(scratch), status=0)), [(key.fingerprint, "PKCS#10", key.id)])


def test_sha1_is_good_enough_for_fixed_contents(keys, scratch):
    """The draft refuses a weak hash only together with contents that somebody chose."""
    verify(write(scratch / "proof", request(keys["rsa"], digest=hashes.SHA1())), status=0)


@pytest.mark.parametrize("kind", ["rsa", "p256", "ed25519"])
def test_a_proof_of_another_key_does_not_prove_this_one(keys, kind, scratch):
    other = Key(kind)
    done = verify(write(scratch / "proof", request(keys[kind])), other.public_file(scratch), status=1)
    contains(done.stderr, "about another key", keys[kind].id)


def joined(*parts):
    """A SEQUENCE of encoded elements."""
    body = b"".join(parts)
    return element(0x30, body)


def element(tag, body):
    size = len(body)
    head = bytes([size]) if size < 0x80 else bytes([0x81, size]) if size < 0x100 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + head + body


def parts(key, **more):
    """The encoded elements of a request: version, subject, SPKI, attributes; algorithm, signature."""
    outer = next(der_items(request(key, encoding=DER, **more)))[1]
    info, *rest = [element(tag, body) for tag, body in der_items(outer)]
    return [element(tag, body) for tag, body in der_items(next(der_items(info))[1])], rest


def resigned(key, change):
    """A request whose signed part was changed before it was signed."""
    elements, (algorithm, _) = parts(key)
    info = joined(*change(*elements))
    return joined(info, algorithm, element(3, b"\0" + key.der_signature(info, hashes.SHA256())))


def other_signature(key, algorithm_of=None):
    """The contents of one request with the signature of another."""
    elements, (algorithm, signature) = parts(key)
    if algorithm_of is not None:
        algorithm = algorithm_of
    _, (_, other) = parts(Key(key.kind))
    return joined(joined(*elements), algorithm, other if algorithm_of is None else signature)


BASIC = (x509.ObjectIdentifier("2.5.29.19"), b"\x30\0", True)
GOOD = (NO_SECURITY_AFFORDED, TRUE, True)
CHALLENGE = (x509.oid.AttributeOID.CHALLENGE_PASSWORD, b"password")
ORGANIZATION = x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "Example")
WANTED = "one extension NoSecurityAfforded"
BAD = {     # name: (kind of key, the request, what the reason says)
    "a second attribute": ("rsa", lambda k: request(k, attributes=[CHALLENGE]), WANTED),
    "a second extension": ("rsa", lambda k: request(k, extensions=[GOOD, BASIC]), WANTED),
    "a second extension before it": ("rsa", lambda k: request(k, extensions=[BASIC, GOOD]), WANTED),
    "no attribute": ("rsa", lambda k: request(k, extensions=[]), WANTED),
    "another extension": ("rsa", lambda k: request(k, extensions=[BASIC]), WANTED),
    "extension not critical": ("rsa", lambda k: request(k, extensions=[(*GOOD[:2], False)]), WANTED),
    "extension FALSE": ("rsa", lambda k: request(k, extensions=[(GOOD[0], b"\1\1\0", True)]), WANTED),
    "extension TRUE in BER": ("rsa", lambda k: request(k, extensions=[(GOOD[0], b"\1\1\1", True)]), WANTED),
    "extension NULL": ("rsa", lambda k: request(k, extensions=[(GOOD[0], b"\5\0", True)]), WANTED),
    "extension with bytes behind it": ("rsa", lambda k: request(k, extensions=[(GOOD[0], TRUE + b"\0", True)]),
                                       WANTED),
    "another subject": ("rsa", lambda k: request(k, subject="example.com"), "another purpose"),
    "the subject in capitals": ("rsa", lambda k: request(k, subject=SUBJECT.upper()), "another purpose"),
    "more of a subject": ("rsa", lambda k: request(k, more_names=[ORGANIZATION]), "another purpose"),
    "a longer subject": ("rsa", lambda k: request(k, subject=SUBJECT + " not"), "another purpose"),
    "a normal request": ("rsa", lambda k: request(k, subject="example.com", extensions=[BASIC]), "another purpose"),
    "SHA-1 with more of a subject": ("rsa", lambda k: request(k, more_names=[ORGANIZATION], digest=hashes.SHA1()),
                                     "another purpose"),
    "SHA-1 with a second attribute": ("rsa", lambda k: request(k, attributes=[CHALLENGE], digest=hashes.SHA1()),
                                      WANTED),
    "SHA-1 with a second extension": ("p256", lambda k: request(k, extensions=[GOOD, BASIC], digest=hashes.SHA1()),
                                      WANTED),
    "MD5": ("rsa", lambda k: request(k, digest=hashes.MD5()), "algorithm"),
    "signed by another key": ("rsa", other_signature, "did not make"),
    "signed by another EC key": ("p256", other_signature, "did not make"),
    "signed by another Ed25519 key": ("ed25519", other_signature, "did not make"),
    "the signature of Ed25519 called another's": (
        "ed25519", lambda k: other_signature(k, parts(Key("p256"))[1][0]), "algorithm"),
    "an algorithm of EC keys": ("rsa", lambda k: other_signature(k, parts(Key("p256"))[1][0]), "algorithm"),
    "version 2": ("rsa", lambda k: resigned(k, lambda version, *rest: (b"\2\1\1", *rest)), "version 1"),
    "the subject as PrintableString": (
        "rsa", lambda k: resigned(k, lambda v, subject, *rest: (v, subject.replace(b"\x0c\x1e", b"\x13\x1e"), *rest)),
        "another purpose"),
    "the attributes twice": ("rsa", lambda k: resigned(k, lambda *all_of: (*all_of, all_of[-1])), WANTED),
    "attributes without a tag": ("rsa", lambda k: resigned(k, lambda v, s, p, a: (v, s, p)), WANTED),
    "a byte behind the request": ("rsa", lambda k: request(k, encoding=DER) + b"\0", "1 bytes follow"),
    "a byte behind the signature": ("rsa", lambda k: joined(*(e for e in (
        joined(*parts(k)[0]), *parts(k)[1], b"\0"))), "cannot decode"),
    "lengths that are not the shortest": ("p256", lambda k: resigned(k, lambda v, s, p, a: (
        v, s, b"\x30\x81" + p[1:], a)), "no public key"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_attestation_proves_nothing(keys, name, scratch):
    kind, make, reason = BAD[name]
    for words in ((), (keys[kind].public_file(scratch),)):
        done = verify(write(scratch / "proof", make(keys[kind])), *words, status=1)
        contains(done.stderr, "proves nothing: ", reason)
        equal(done.stdout, "")


def test_keys_of_other_types_are_refused(scratch):
    """DSA's parameters, and a curve's own, can be chosen so that anybody signs for a given public number."""
    config = write(scratch / "config", CONFIG.encode())
    tool("openssl", "dsaparam", "-out", scratch / "param", "1024")
    tool("openssl", "gendsa", "-out", scratch / "dsa", scratch / "param")
    tool("openssl", "ecparam", "-genkey", "-name", "prime256v1", "-param_enc", "explicit", "-out", scratch / "own")
    tool("openssl", "ecparam", "-genkey", "-name", "secp256k1", "-out", scratch / "k1")
    tool("openssl", "genpkey", "-algorithm", "RSA-PSS", "-out", scratch / "pss")
    for name, reason in (("dsa", "type ssh-dss cannot be proved"), ("own", "encoded in no usual form"),
                         ("k1", "type EC-secp256k1 cannot be proved"), ("pss", "type RSA-PSS cannot be proved")):
        proof = write(scratch / "proof", tool("openssl", "req", "-new", "-key", scratch / name, "-config", config))
        contains(verify(proof, status=1).stderr, reason)


def test_damaged_requests_cannot_be_read(keys, scratch):
    good = request(keys["p256"]).decode()
    lines = good.splitlines(keepends=True)
    for proof in ("".join(lines[:-1]), good.replace("MII", "M*I", 1), good.replace(lines[1], lines[1][:-3] + "\n")):
        if proof != good:
            equal(verify(write(scratch / "proof", proof.encode()), status=2).stdout, "")
