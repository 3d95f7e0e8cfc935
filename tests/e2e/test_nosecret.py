# SPDX-License-Identifier: ISC
"""Keys for which nobody needs a private half: in at sshd, out with the guard alone and with the module alone."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import nosecret_keys
import server
import sshkey
from nosecret_keys import (certified, certify_identity, dsa, ecdsa, ed25519, rsa_exponent_of_1, rsa_prime_modulus,
                           rsa_small_factor, sk_ecdsa, sk_ed25519, small_order_encodings)
from oddcerts import odd_curve, odd_name, padded
from openssh import has_dsa, takes_short_names
from patience import PATIENCE
from test_key_types import TAKE_DSA

pytestmark = pytest.mark.throwaway

CONFIG = Path("/etc/keyveto/keyveto.conf")
NEUTRAL = bytes([1, *bytes(31)])

KEYS = {
    "RSA, exponent 1": rsa_exponent_of_1,
    "RSA, 3 times a prime": rsa_small_factor(3),
    "RSA, 997 times a prime": rsa_small_factor(997),
    **{title: ed25519(encoded) for title, encoded in small_order_encodings()},
    "Ed25519 in hardware": sk_ed25519(NEUTRAL),
    "ECDSA P-256, G": ecdsa("nistp256", 1),
    "ECDSA P-256, -G": ecdsa("nistp256", -1),
    "ECDSA P-256, 8 G": ecdsa("nistp256", 8),
    "ECDSA P-384, G": ecdsa("nistp384", 1),
    "ECDSA P-521, -2 G": ecdsa("nistp521", -2),
    "ECDSA in hardware, G": sk_ecdsa(1),
    "DSA, y = 1": dsa(lambda p, q, g, y: (p, q, g, 1)),
    "DSA, y = p - 1": dsa(lambda p, q, g, y: (p, q, g, p - 1)),
    "DSA, y = p + 1": dsa(lambda p, q, g, y: (p, q, g, p + 1)),
    "DSA, y = 1 and many p": dsa(lambda p, q, g, y: (p, q, g, p * 2**15000 + 1)),
    "DSA, g = 1": dsa(lambda p, q, g, y: (p, q, 1, y)),
}
AUTHORITIES = ("RSA, exponent 1", "Ed25519, 1 T as", "ECDSA P-256, G", "DSA, y = 1")


def parameters(titles):
    return [pytest.param(KEYS[title], id=title, marks=pytest.mark.skipif(
        title.startswith("DSA") and not has_dsa(), reason="left out, since there is no DSA here"))
            for title in KEYS if any(title.startswith(wanted) for wanted in titles)]


def serve(bench, key):
    """The key as an identity, which an agent signs for."""
    agent = nosecret_keys.Agent(bench.folder, key)
    bench.at_end(agent.close)
    return agent


def in_and_out(bench, deploy, account, identity, key, *options):
    """In at bare sshd; out with keyveto, although its filter lists another key, and the log says why."""
    bare = bench.server(server.vanilla().adding(*options, *TAKE_DSA))
    bench.must_enter(bench.login(bare, account, identity), "sshd alone lets it in")
    bench.must_be_silent(account)
    sshd = bench.server(deploy(bench.config(listed=[bench.key()])).adding(*options, *TAKE_DSA))
    bench.must_not_enter(bench.login(sshd, account, identity), "keyveto refuses it")
    decision = bench.decision(account, verdict="listed", action="deny", list="built-in")
    assert (decision.source, decision.key_fp) == (key.source, key.fingerprint)
    return decision


@pytest.mark.sample(3)
@pytest.mark.parametrize("make", parameters(KEYS))
def test_nosecret_a_key_is_refused(bench, deploy, make):
    account, key = bench.account(), make(bench.folder)
    account.authorize(key)
    decision = in_and_out(bench, deploy, account, serve(bench, key), key)
    assert (decision.part, decision.key_type) == ("key", key.type)


@pytest.mark.parametrize("make", parameters(AUTHORITIES))
def test_nosecret_a_certificate_of_such_a_key_is_refused(bench, deploy, make):
    account, ca, key = bench.account(), bench.key(), make(bench.folder)
    account.authorize(f"cert-authority {ca.key}")
    identity = serve(bench, certified(key, ca, bench.folder, account.name))
    assert in_and_out(bench, deploy, account, identity, key).part == "key"


@pytest.mark.parametrize("make", parameters(AUTHORITIES))
def test_nosecret_a_certificate_by_such_a_ca_is_refused(bench, deploy, make):
    account, ca = bench.account(), make(bench.folder)
    account.authorize(f"cert-authority {ca}")
    identity = certify_identity(bench.key(), ca, account.name)
    assert in_and_out(bench, deploy, account, identity, ca).part == "ca"


# What sshd reads in a certificate and does not write: of the key inside, and of its CA's.
ODD_KEYS = {
    "RSA, exponent 1": [padded(1), padded(2049 - 257), odd_name(b"rsa-sha2-512-cert-v01@openssh.com"),
                        odd_name(b"ssh-rsa-cert-v01@openssh.com\0")],
    "ECDSA P-256, G": [odd_curve(b"nistp256\0")],
}
ODD_AUTHORITIES = {
    "RSA, exponent 1": [padded(1), padded(2049 - 257), odd_name(b"rsa-sha2-256"), odd_name(b"ssh-rsa\0"),
                        odd_name(b"rSa")],
    "Ed25519, 1 T as c717..7a": [odd_name(b"eD25519"), odd_name(b"ssh-ed25519\0")],
    "ECDSA P-256, G": [odd_curve(b"nistp256\0")],
}
SHORT_NAMES = (b"rSa", b"eD25519")
BLOB = sshkey.string(b"a name") + sshkey.string(b"a curve") + sshkey.string(b"a number")


def odd_parameters(forms):
    for title, changes in forms.items():
        for number, change in enumerate(changes):
            short = sshkey.Reader(change(BLOB)).string() in SHORT_NAMES
            yield pytest.param(KEYS[title], change, id=f"{title}, {number}", marks=pytest.mark.skipif(
                short and not takes_short_names(), reason="left out, since there are no short names here"))


def in_and_out_if_undecided(bench, deploy, account, identity, key):
    """In at bare sshd; out with keyveto, although it lets in what it does not understand."""
    bench.must_enter(bench.login(bench.server(server.vanilla()), account, identity), "sshd alone lets it in")
    sshd = bench.server(deploy(bench.config("OnError allow", "OnUnsupported allow", listed=[])))
    bench.must_not_enter(bench.login(sshd, account, identity), "keyveto refuses it")
    bench.decision(account, verdict="listed", action="deny", list="built-in", source=key.source)


@pytest.mark.sample(3)
@pytest.mark.parametrize("make, change", odd_parameters(ODD_KEYS))
def test_nosecret_an_unusual_encoding_in_a_certificate_hides_no_key(bench, deploy, make, change):
    account, ca, key = bench.account(), bench.key(), make(bench.folder)
    account.authorize(f"cert-authority {ca.key}")
    identity = serve(bench, certified(key, ca, bench.folder, account.name, change))
    in_and_out_if_undecided(bench, deploy, account, identity, key)


@pytest.mark.sample(3)
@pytest.mark.parametrize("make, change", odd_parameters(ODD_AUTHORITIES))
def test_nosecret_an_unusual_encoding_of_a_ca_hides_no_ca(bench, deploy, make, change):
    account, ca = bench.account(), make(bench.folder)
    account.authorize(f"cert-authority {ca}")
    identity = certify_identity(bench.key(), ca, account.name, change)
    in_and_out_if_undecided(bench, deploy, account, identity, ca)


@pytest.mark.parametrize("make", parameters(AUTHORITIES))
def test_nosecret_the_module_refuses_a_ca_of_trustedusercakeys(bench, make):
    account, ca = bench.account(), make(bench.folder)
    trusted = f"TrustedUserCAKeys {bench.write('ca', f'{ca}')}"
    identity = certify_identity(bench.key(), ca, account.name)
    assert in_and_out(bench, server.pam_session, account, identity, ca, trusted).part == "ca"


# A place and a bit of the key's fields, with which it is in no class any more: 1 becomes 3, or a point another one.
BESIDE = {
    "RSA, exponent 1": (4, 1),
    "Ed25519, 1 T as": (4 + 12, 4),
    "ECDSA P-256, G": (-40, 0),
    "DSA, y = 1": (-1, 1),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("make, place, bit", [
    pytest.param(*p.values, *BESIDE[title], id=p.id, marks=p.marks)
    for title in BESIDE for p in parameters([title])])
def test_nosecret_a_key_one_bit_beside_is_left_to_sshd(bench, deploy, make, place, bit):
    """sshd refuses it, since the signature does not fit; keyveto says nothing."""
    account, sound, key = bench.account(), bench.key(), make(bench.folder).beside(place, bit)
    account.authorize(key, sound.key)
    identity = serve(bench, key)
    for deployment in server.vanilla(), deploy(bench.config(listed=[bench.key()])):
        sshd = bench.server(deployment.adding(*TAKE_DSA))
        bench.must_not_enter(bench.login(sshd, account, identity), "sshd refuses the signature")
        bench.must_enter(bench.login(sshd, account, sound))
    bench.must_be_silent(account)


def deny_by_the_document(build, config):
    """Types the line of docs/no-secret.md, with this keyveto.conf in its place: its end, and the DenyKey lines."""
    text = (Path(__file__).resolve().parents[2] / "docs/no-secret.md").read_text(encoding="utf-8")
    line, = re.findall(r"^    (keyveto audit --json \|.*\n(?:        .*\n)*)", text, re.MULTILINE)
    CONFIG.parent.mkdir(exist_ok=True)
    shutil.copy(config, CONFIG)
    done = subprocess.run(["sh", "-c", line], env={**os.environ, "PATH": f"{build}:{os.environ['PATH']}"},
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False)
    lines = re.findall("^DenyKey.*$", CONFIG.read_text(encoding="utf-8"), re.MULTILINE)
    CONFIG.unlink()
    return done, lines


def test_nosecret_a_prime_modulus_is_refused_after_the_line_of_the_document(bench, build, deploy):
    """To see that a modulus is a prime takes an exponentiation, so no login sees it before: docs/no-secret.md."""
    account, sound, key = bench.account(), bench.key("rsa", 2048), rsa_prime_modulus(bench.folder)
    account.authorize(key, sound.key)
    identity, before = serve(bench, key), bench.config(listed=[])
    bench.must_enter(bench.login(bench.server(server.vanilla()), account, identity), "sshd alone lets it in")
    bench.must_enter(bench.login(bench.server(deploy(before)), account, identity), "no login sees a prime")
    bench.must_be_silent(account)
    done, lines = deny_by_the_document(build, before)
    assert done.returncode == 0 and sum(key.fingerprint in line for line in lines) == 1, (done, lines)
    sshd = bench.server(deploy(bench.config(*lines, listed=[])))
    bench.must_not_enter(bench.login(sshd, account, identity), "the line names it")
    decision = bench.decision(account, verdict="listed", action="deny", list="keyveto.conf", source="DenyKey",
                              via="guard" if deploy is server.guard else "pam")
    assert (decision.part, decision.key_fp) == ("key", key.fingerprint)
    bench.must_enter(bench.login(sshd, account, sound), "its neighbour is none of them")
    # A second time, and where there is no such key, it says so, and no line comes.
    done, again = deny_by_the_document(build, bench.config(*lines, listed=[]))
    assert (done.returncode, again) == (2, lines) and "no SSH key and no fingerprint in it" in done.stderr, done
    # The next audit must not find it.
    account.authorize()
