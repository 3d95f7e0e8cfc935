# SPDX-License-Identifier: ISC
"""A certificate written oddly is still a certificate of the same keys."""

import openssh
import oddcerts
import server
from bench import add_case
from oddcerts import odd_curve, odd_name, padded, unchanged
from test_key_types import clean_then_listed

def lacks(title):
    """What a variant needs that later versions dropped."""
    if title.startswith("DSA") and not openssh.has_dsa():
        return "DSA"
    return "short names" if "short name" in title and not openssh.takes_short_names() else ""


DEPLOYMENTS = {"guard": server.guard, "PAM session": server.pam_session}

# Kind and size of the odd key, and how it is written: as the key inside the
# certificate, which stands under the certificate's name, or as the CA's.
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


def odd_key(bench, deploy, kind, bits, change):
    account, ca, identity = bench.account(), bench.key(), bench.key(kind, bits)
    account.authorize(f"cert-authority {ca.key}")
    certified = oddcerts.certify(bench.folder, ca, identity, account.name, change, unchanged)
    clean_then_listed(bench, deploy, account, certified, identity)


def odd_authority(bench, deploy, kind, bits, change):
    account, ca, identity = bench.account(), bench.key(kind, bits), bench.key()
    account.authorize(f"cert-authority {ca.key}")
    certified = oddcerts.certify(bench.folder, ca, identity, account.name, unchanged, change)
    clean_then_listed(bench, deploy, account, certified, ca)


for _name, _deploy in DEPLOYMENTS.items():
    for _part, _attempt, _variants in (("key", odd_key, KEYS), ("CA", odd_authority, AUTHORITIES)):
        for _title, _how in _variants.items():
            add_case(f"odd certificates: {_part} {_title} × {_name}",
                     lambda bench, attempt=_attempt, deploy=_deploy, how=_how: attempt(bench, deploy, *how),
                     lacks=lacks(_title))
