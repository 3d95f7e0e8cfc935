# SPDX-License-Identifier: ISC
"""For every type of key that this machine's sshd accepts: clean keys get in, listed ones do not."""

import pytest

import keys
from openssh import dsa_only, has_dsa

pytestmark = pytest.mark.throwaway


# Kind and size for ssh-keygen.
TYPES = {
    "RSA 1024": ("rsa", 1024),
    "RSA 2048": ("rsa", 2048),
    "RSA 3072": ("rsa", 3072),
    "DSA": ("dsa", None),
    "ECDSA P-256": ("ecdsa", 256),
    "ECDSA P-384": ("ecdsa", 384),
    "ECDSA P-521": ("ecdsa", 521),
    "Ed25519": ("ed25519", None),
}
every_type = pytest.mark.parametrize("kind", [
    pytest.param(kind, id=name, marks=pytest.mark.skipif(name == "DSA" and not has_dsa(),
                                                         reason="left out, since there is no DSA here"))
    for name, kind in TYPES.items()])
# sshd accepts DSA only with these options.
TAKE_DSA = dsa_only("PubkeyAcceptedAlgorithms +ssh-dss,ssh-dss-cert-v01@openssh.com", "CASignatureAlgorithms +ssh-dss")


def clean_then_listed(bench, deploy, account, identity, listed):
    """Logs in with the same identity before and after its key is listed."""
    path = bench.filter(bench.key())
    sshd = bench.server(deploy(bench.config(f"Filter {path}")).adding(*TAKE_DSA))
    bench.must_enter(bench.login(sshd, account, identity), "not listed yet")
    bench.must_be_silent(account)
    bench.filter(listed).rename(path)
    bench.must_not_enter(bench.login(sshd, account, identity), "listed now")
    decision = bench.decision(account, verdict="listed", action="deny", key_fp=listed.key.fingerprint)
    assert decision.key_type == listed.key.type, f"wrong type: {decision}"


def plain(bench, deploy, kind):
    account, identity = bench.account(), bench.key(*kind)
    account.authorize(identity.key)
    clean_then_listed(bench, deploy, account, identity, identity)


def certified(bench, deploy, kind):
    """A key of this type inside a certificate, by a CA of another type."""
    account, ca, identity = bench.account(), bench.key(), bench.key(*kind)
    account.authorize(f"cert-authority {ca.key}")
    clean_then_listed(bench, deploy, account, keys.certify(ca, identity, account.name), identity)


def certifying(bench, deploy, kind):
    """A CA with a key of this type."""
    account, ca, identity = bench.account(), bench.key(*kind), bench.key()
    account.authorize(f"cert-authority {ca.key}")
    clean_then_listed(bench, deploy, account, keys.certify(ca, identity, account.name), ca)


@every_type
@pytest.mark.parametrize("attempt", (plain, certified, certifying), ids=("a key", "the key in a certificate", "a CA"))
def test_key_types_clean_in_and_listed_out(bench, deploy, attempt, kind):
    attempt(bench, deploy, kind)
