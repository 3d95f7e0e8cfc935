# SPDX-License-Identifier: ISC
"""keyveto audit and scan look for RSA keys that anybody factors."""

import math
import random

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import keys
import weak_keys
from audit_machine import row_of
from config_machine import MODULE
from program import ROOT, contains, equal, lacks
from runs import tool
from test_scan import name, scan, sshd

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def sources(findings):
    return {(one["account"], one["line"], one["source"]) for one in findings if one["verdict"] == "listed"}


def test_an_audit_names_them_and_counts_them_as_listed(world):
    alice, bob = world.account("alice"), world.account("bob")
    alice.authorize(world.clean, *(key.line for _, key in weak_keys.weak()))
    first, second, _ = weak_keys.sharing()
    bob.authorize(first.line, weak_keys.multiple().line)
    alice.write(".ssh/authorized_keys2", second.line)
    done = world.audit(status=1)
    number = len(weak_keys.weak())
    equal(row_of(done.stdout, "alice"), [2, number + 2, number, 0, 0, 0])
    equal(row_of(done.stdout, "bob"), [1, 2, 0, 0, 0, 0])
    contains(done.stdout, f"{alice.keys_path}:2: listed: ssh-rsa 2048 {weak_keys.weak()[0][1].fingerprint} prime "
                          "[built-in rsa-prime]\n")
    findings, summaries, _ = world.findings(status=1)
    equal(sources(findings), {("alice", line + 2, source) for line, (source, _) in enumerate(weak_keys.weak())})
    equal([summaries["alice"][what] for what in ("keys", "listed", "clean")], [number + 2, number, 2])
    equal([summaries["bob"][what] for what in ("keys", "listed", "clean")], [2, 0, 2])


def test_nobody_holds_up_an_audit_with_moduli(world):
    """Of one account only so many are tested for being prime. Another account's are, and the first one is told of."""
    alice, bob = world.account("alice"), world.account("bob")
    # 1009 more than a multiple of the primes below 1000: none of these divides it.
    small, rnd = math.prod(p for p in range(2, 1000) if weak_keys.is_prime(p)), random.Random(8192)
    bits = 8192 - small.bit_length()
    many = [weak_keys.key(f"number-{i}", (rnd.getrandbits(bits) | 1 << (bits - 1)) * small + 1009) for i in range(40)]
    prime = weak_keys.weak()[0][1]
    alice.authorize(*(key.line for key in many), prime.line)
    bob.authorize(weak_keys.key("another", weak_keys.prime(2048, 1)).line)
    findings, _, messages = world.findings(status=1)
    assert ("bob", 1, "rsa-prime") in sources(findings)
    assert ("alice", 41, "rsa-prime") not in sources(findings)
    contains(messages, f"keyveto: {alice.keys_path}:", ": this account has more RSA keys than are tested for primes\n")
    lacks(messages, f"{bob.keys_path}")


def test_a_scan_finds_a_host_key_that_anybody_factors(scratch):
    p = weak_keys.prime(1024, 40)
    q = weak_keys.next_prime(p + (1 << 510))
    d = pow(65537, -1, (p - 1) * (q - 1))
    private = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p),
                                    rsa.RSAPublicNumbers(65537, p * q)).private_key()
    identity = keys.from_pem(scratch, private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode())
    sound = keys.generate(scratch)
    empty = scratch / "empty.pkbf"
    keys.write_filter(empty, [])
    with sshd(scratch, [identity, sound]) as (port, _log):
        done = scan("--filter", empty, name(port), status=1)
    equal(done.stdout, f"{name(port)}: listed: ssh-rsa 2048 {identity.key.fingerprint} [built-in rsa-fermat]\n")
    contains(done.stderr, "1 listed, 1 clean")


UNITS = ROOT / "packaging/systemd"


def test_the_units_are_installed_on_demand_and_no_timer_is_enabled(scratch):
    there = scratch / "units"

    def make(target):
        tool("make", "-s", "-C", ROOT, "-o", "all", f"BUILD={MODULE.parent}", target, f"DESTDIR={scratch}",
             "PREFIX=/opt/kv", "SYSTEMDUNITDIR=/units")
    make("install")
    equal(sorted(path.name for path in there.iterdir()), sorted(path.name for path in UNITS.iterdir()))
    contains((there / "keyveto-update.service").read_text(encoding="utf-8"), "\nExecStart=/opt/kv/bin/keyveto update\n")
    equal([path for path in scratch.rglob("*.wants")], [])
    make("uninstall")
    equal(list(there.iterdir()), [])
