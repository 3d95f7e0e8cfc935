# SPDX-License-Identifier: ISC
"""Exact lists with a real sshd: alone, beside a filter, damaged, and for keys that a filter cannot know."""

import base64
import subprocess
import sys
from pathlib import Path

import pytest

import keys
from openssh import dsa_only
from test_key_types import every_type

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
import sshkey  # noqa: E402

pytestmark = pytest.mark.throwaway

TAKE_DSA = dsa_only("PubkeyAcceptedAlgorithms +ssh-dss,ssh-dss-cert-v01@openssh.com", "CASignatureAlgorithms +ssh-dss")

# The order of P-256's group (SEC 2, section 2.4.2).
P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551


def clean_then_listed(bench, deploy, account, identity, listed, part="key"):
    """Logs in with the same identity before and after an exact list has its key."""
    path = bench.blocklist(bench.key())
    path.with_name(f"{path.name}.sources").write_text("13 debianssl\n", encoding="ascii")
    sshd = bench.server(deploy(bench.config(f"Blocklist {path}")).adding(*TAKE_DSA))
    bench.must_enter(bench.login(sshd, account, identity), "not listed yet")
    bench.must_be_silent(account)
    keys.write_blocklist(path, [getattr(listed, "key", listed)], 13)
    bench.must_not_enter(bench.login(sshd, account, identity), "listed now")
    decision = bench.decision(account, verdict="listed", action="deny", part=part)
    assert (decision.list, decision.source) == (str(path), "debianssl"), decision
    assert decision.filter is None, decision
    return decision


@every_type
def test_a_key_of_each_type_is_refused_by_an_exact_list(bench, deploy, kind):
    account, identity = bench.account(), bench.key(*kind)
    account.authorize(identity.key)
    decision = clean_then_listed(bench, deploy, account, identity, identity)
    assert decision.key_fp == identity.key.fingerprint, decision


def test_a_certificate_is_refused_for_its_key_and_for_its_ca(bench, deploy):
    for part in ("key", "ca"):
        account, ca, identity = bench.account(), bench.key(), bench.key("ecdsa", 256)
        account.authorize(f"cert-authority {ca.key}")
        listed = identity if part == "key" else ca
        clean_then_listed(bench, deploy, account, keys.certify(ca, identity, account.name), listed, part)


def pem(name, der):
    text = base64.encodebytes(der).decode("ascii")
    return f"-----BEGIN {name}-----\n{text}-----END {name}-----\n"


def numbers(text):
    """The hexadecimal numbers of an openssl -text output, by their names."""
    found, name = {}, None
    for line in text.splitlines():
        if not line.startswith(" "):
            name = line.partition(":")[0]
            found[name] = ""
        else:
            found[name] += line.strip().replace(":", "")
    return {name: int(digits, 16) for name, digits in found.items() if digits}


def rsa_with(numbers_of_key, e):
    """The private key with these primes and the exponent e, in PEM."""
    p, q = numbers_of_key["prime1"], numbers_of_key["prime2"]
    d = pow(e, -1, (p - 1) * (q - 1))
    values = (0, p * q, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))
    return pem("RSA PRIVATE KEY", sshkey.der_seq(*(sshkey.der_int(value) for value in values)))


def test_an_rsa_key_is_refused_under_any_exponent(bench, deploy):
    """Debian's broken OpenSSL made keys with exponent 3 too; old ssh-keygen used 35."""
    made = ""
    while not made:
        text = subprocess.run(["openssl", "genrsa", "-3", "2048"], check=True, capture_output=True, text=True).stdout
        shown = subprocess.run(["openssl", "rsa", "-noout", "-text"], input=text, check=True,
                               capture_output=True, text=True).stdout
        primes = numbers(shown)
        # 35 and 65537 must have an inverse, too.
        if all((primes[prime] - 1) % factor for prime in ("prime1", "prime2") for factor in (5, 7, 65537)):
            made = text
    listed = keys.from_pem(bench.folder, rsa_with(primes, 65537))
    for e in (3, 35):
        account, identity = bench.account(), keys.from_pem(bench.folder, rsa_with(primes, e))
        account.authorize(identity.key)
        assert identity.key.fingerprint != listed.key.fingerprint
        clean_then_listed(bench, deploy, account, identity, listed)


def p256_with(secret):
    """The P-256 key of this secret number, in PEM: RFC 5915."""
    return pem("EC PRIVATE KEY", sshkey.der_seq(
        sshkey.der_int(1), sshkey.der(0x04, secret.to_bytes(32, "big")),
        sshkey.der(0xa0, sshkey.der_oid("1.2.840.10045.3.1.7"))))


def test_a_key_with_the_negated_point_is_refused(bench, deploy):
    """Whoever knows the private key of a point knows that of its negative."""
    account, secret = bench.account(), int.from_bytes(bench.key().path.read_bytes()[-64:], "big") % P256_ORDER
    listed = keys.from_pem(bench.folder, p256_with(secret))
    identity = keys.from_pem(bench.folder, p256_with(P256_ORDER - secret))
    assert identity.key.blob != listed.key.blob
    account.authorize(identity.key)
    clean_then_listed(bench, deploy, account, identity, listed)


DAMAGES = {
    "cut short": lambda data: data[:-1],
    "one byte more": lambda data: data + b"\0",
    "empty": lambda data: b"",
    "unsorted": lambda data: data[16:] + data[:16],
    "missing": None,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_list_is_an_error_and_on_error_decides(bench, deploy, damage):
    account, identity = bench.someone()
    path = bench.blocklist(bench.key(), bench.key(), bench.key())
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()
    for on_error, enters in (("deny", False), ("allow", True)):
        sshd = bench.server(deploy(bench.config(f"Blocklist {path}", f"OnError {on_error}")))
        bench.expect(bench.login(sshd, account, identity), enters, f"OnError {on_error}")
        decision = bench.decision(account, verdict="error", action=on_error)
        assert str(path) in decision.reason, decision
