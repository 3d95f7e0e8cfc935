# SPDX-License-Identifier: ISC
"""What a stranger sends as a proof costs little processor time, however it was made.

Each limit is many times what keyveto takes, and a small part of what it took when it tested a modulus before it looked
at the signature.
"""

import base64
import gzip
import lzma
import os
import random
import resource

import pytest

from program import contains, keyveto
from proofs import DER, Key, jws, proved, request, verify, write
from raw_rsa import RawKey, element, integer, primes

BITS_MAX = 16384
# Seconds of processor time. KEYVETO_SLOWER is for instrumented and emulated programs.
LIMIT = 8 * int(os.environ.get("KEYVETO_SLOWER", "1"))


@pytest.fixture(scope="module", name="factors")
def fixture_factors():
    return primes(33)


def run_within(seconds, *words, status):
    """Runs keyveto proof verify. The kernel kills it if it takes more processor time."""
    done = keyveto("proof", "verify", *words,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)))
    assert done.returncode == status, done.stderr[-2000:]
    return done


def odd_number(bits):
    return random.Random(bits).getrandbits(bits) | 1 << (bits - 1) | 1


def test_a_modulus_is_not_tested_before_the_signature_is_verified(scratch):
    """Anybody can write such a request. The test of its modulus takes a second, or more if it is prime."""
    composite, prime = RawKey([odd_number(BITS_MAX)]), RawKey([2**11213 - 1])
    proofs = [composite.request_pem(b"\1" * composite.size)] * 50 + [prime.request_pem(b"\1" * prime.size)] * 50
    done = run_within(LIMIT, write(scratch / "proofs", b"".join(proofs)), status=1)
    assert done.stderr.count("proves nothing: the key did not make this signature") == 100


def test_a_modulus_is_tested_once(scratch, factors):
    """Of both forms, and with any exponent."""
    key = RawKey(factors[:32])
    other = RawKey(factors[:32], next(e for e in (257, 269, 271, 277) if all(p % e != 1 for p in factors)))
    assert key.n.bit_length() > BITS_MAX - 32
    text = key.pem + b"".join(key.jws(payload=f"key is pwned {n}".encode()) for n in range(10))
    text += key.jws() * 10 + key.request_pem() * 10 + other.request_pem()
    done = run_within(LIMIT, write(scratch / "proofs", text), status=0)
    assert len(proved(done)) == 31


@pytest.mark.parametrize("make", [
    lambda p: [p[0], p[0]], lambda p: [p[0]] * 3, lambda p: [p[0], p[1], 751], lambda p: [2**2203 - 1]],
    ids=["square", "cube", "small-factor", "prime"])
def test_a_modulus_that_anybody_can_factor_proves_nothing(scratch, factors, make):
    """Whoever knows that it is one can sign, too."""
    found = make(factors)
    key = RawKey(found) if len(set(found)) == len(found) else PowerKey(found)
    contains(verify(write(scratch / "proof", key.request_pem()), status=1).stderr, "no sound RSA key")


class PowerKey(RawKey):
    """The modulus is a power of a prime."""

    def power(self, message):
        p = self.factors[0]
        return pow(message, pow(self.e, -1, self.n // p * (p - 1)), self.n)


def test_a_sound_modulus_of_several_primes_proves(scratch, factors):
    for n in (2, 3, 5):
        key = RawKey(factors[:n])
        assert [one[2] for one in proved(verify(write(scratch / "proof", key.request_pem()), status=0))] == [key.id]


def test_after_a_thousand_bad_proofs_no_signature_is_looked_at(scratch):
    """They may differ in a byte, so that they cost nothing to make."""
    key = Key("p256")
    forged = request(key, encoding=DER)
    proofs = [pem(forged[:-4] + n.to_bytes(4, "big")) for n in range(1, 1003)]
    path = write(scratch / "proofs", b"".join(proofs) + request(key))
    done = run_within(LIMIT, path, status=1)
    assert (done.stdout, done.stderr.count("proves nothing")) == ("", 1000)
    assert done.stderr.count("not verified: 1000 proofs before it were bad") == 3
    line = 1 + (b"".join(proofs)).count(b"\n")
    contains(done.stderr, f"{path}:{line}: not verified")


def pem(der):
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{text}-----END CERTIFICATE REQUEST-----\n".encode()


def test_keys_and_proofs_do_not_multiply(scratch):
    """100,000 of one key, and 30,000 proofs of it that are the same."""
    key = Key("p256")
    text = (jws(key) + b"\n") * 30000 + (key.line.encode() + b"\n") * 100000
    done = run_within(LIMIT, write(scratch / "proofs", text), status=0)
    assert len(proved(done)) == 30000


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gzip", "xz"])
def test_what_unpacks_to_much_more_than_its_size_is_not_read(scratch, pack):
    """Also where the keys are looked for."""
    key = Key("p256")
    path = write(scratch / "proofs", pack((jws(key) + b"\n") * 3000 + key.line.encode()))
    done = run_within(LIMIT, path, status=2)
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    contains(done.stderr, f"{path}: unpacks to more than 32 times its size")
    proof = write(scratch / "proof", jws(key))
    contains(run_within(LIMIT, proof, write(scratch / "key", pack(b"# no key\n" * 40000 + key.line.encode())),
                        status=2).stderr, "key: unpacks to more than 32 times its size")
    # A small file may be packed as well as it can be.
    few = write(scratch / "few", pack((jws(key) + b"\n") * 500 + key.line.encode()))
    assert len(proved(verify(few, status=0))) == 500


@pytest.mark.long
def test_braces_in_a_directory_are_passed_over_once(scratch):
    (scratch / "d").mkdir()
    write(scratch / "d/source", b"{\n" * 8000000)
    key = Key("p256")
    write(scratch / "d/proof", b"{}\n" * 10000 + jws(key) + b"\n" + key.line.encode())
    assert len(proved(run_within(LIMIT, scratch / "d", status=0))) == 1


def test_a_private_dsa_key_of_a_stranger_is_not_computed_with(scratch):
    """Its public half is g^x mod p, and x may be as long as p. That of a real key has at most 256 bits."""
    p, g = odd_number(5300), odd_number(5299)
    text = jws(Key("p256")) + b"\n" + b"".join(private_dsa(p, g, odd_number(5300) - n) for n in range(200))
    done = run_within(LIMIT, write(scratch / "proof", text), status=2)
    contains(done.stderr, "for lack of the key")


def private_dsa(p, g, x):
    dsa = element(6, bytes.fromhex("2a8648ce380401"))
    der = element(0x30, integer(0), element(0x30, dsa, element(0x30, integer(p), integer(x), integer(g))),
                  element(4, integer(x)))
    return f"-----BEGIN PRIVATE KEY-----\n{base64.encodebytes(der).decode()}-----END PRIVATE KEY-----\n".encode()
