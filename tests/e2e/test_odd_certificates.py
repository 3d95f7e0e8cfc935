# SPDX-License-Identifier: ISC
"""A certificate in an unusual encoding still has the same keys."""

import pytest

import openssh
import oddcerts
from oddcerts import odd_curve, odd_name, padded, unchanged
from test_key_types import clean_then_listed

pytestmark = pytest.mark.throwaway


def lacks(title):
    """What this variant needs and later versions of OpenSSH dropped."""
    if title.startswith("DSA") and not openssh.has_dsa():
        return "DSA"
    return "short names" if "short name" in title and not openssh.takes_short_names() else ""


# Kind and size of a key, and the change of its encoding: of the key inside the certificate, or of the CA's key.
KEYS = {
    "RSA, one zero byte more": ("rsa", 2048, padded(1)),
    "RSA, integers of 2049 bytes": ("rsa", 2048, padded(2049 - 257)),
    "RSA, signature algorithm as name": ("rsa", 2048, odd_name(b"rsa-sha2-512-cert-v01@openssh.com")),
    "RSA, NUL behind the name": ("rsa", 2048, odd_name(b"ssh-rsa-cert-v01@openssh.com\0")),
    "DSA, one zero byte more": ("dsa", None, padded(1)),
    "ECDSA, NUL behind the curve": ("ecdsa", 256, odd_curve(b"nistp256\0")),
}
AUTHORITIES = {
    "RSA, one zero byte more": ("rsa", 2048, padded(1)),
    "RSA, integers of 2049 bytes": ("rsa", 2048, padded(2049 - 257)),
    "RSA, short name": ("rsa", 2048, odd_name(b"rSa")),
    "RSA, signature algorithm as name": ("rsa", 2048, odd_name(b"rsa-sha2-256")),
    "RSA, NUL behind the name": ("rsa", 2048, odd_name(b"ssh-rsa\0")),
    "DSA, one zero byte more": ("dsa", None, padded(1)),
    "ECDSA, NUL behind the curve": ("ecdsa", 521, odd_curve(b"nistp521\0")),
    "DSA, short name": ("dsa", None, odd_name(b"dsa")),
    "Ed25519, short name": ("ed25519", None, odd_name(b"ED25519")),
}


def variants(written):
    """Parameters: kind, bits and change. Those that this machine's OpenSSH dropped are skipped."""
    return [pytest.param(*how, id=title, marks=pytest.mark.skipif(
        bool(lacks(title)), reason=f"left out, since there is no {lacks(title)} here"))
            for title, how in written.items()]


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind, bits, change", variants(KEYS))
def test_odd_certificates_an_unusual_encoding_of_a_key_is_the_same_key(bench, deploy, kind, bits, change):
    account, ca, identity = bench.account(), bench.key(), bench.key(kind, bits)
    account.authorize(f"cert-authority {ca.key}")
    certified = oddcerts.certify(bench.folder, ca, identity, account.name, change, unchanged)
    clean_then_listed(bench, deploy, account, certified, identity)


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind, bits, change", variants(AUTHORITIES))
def test_odd_certificates_an_unusual_encoding_of_a_ca_is_the_same_ca(bench, deploy, kind, bits, change):
    account, ca, identity = bench.account(), bench.key(kind, bits), bench.key()
    account.authorize(f"cert-authority {ca.key}")
    certified = oddcerts.certify(bench.folder, ca, identity, account.name, unchanged, change)
    clean_then_listed(bench, deploy, account, certified, ca)
