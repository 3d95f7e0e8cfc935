# SPDX-License-Identifier: ISC
"""keyveto audit and scan look for RSA keys that anybody factors."""

import math
import os
import random
import re
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

import blocklist
import keys
import weak_keys
from audit_machine import Account, row_of
from config_machine import BUILT_GUARD, MODULE
from program import KEYVETO, PATIENCE, ROOT, contains, equal, keyveto, lacks
from samples import write
from test_scan import name, scan, sshd

STATE = Path("/var/lib/keyveto")

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def sources(findings):
    return {(one["account"], one["line"], one["source"]) for one in findings if one["verdict"] == "listed"}


def test_an_audit_names_them_and_counts_them_as_listed(world):
    alice, bob = world.account("alice"), world.account("bob")
    alice.authorize(world.clean, *(key.line for _, key in weak_keys.weak()))
    first, second, _ = weak_keys.sharing()
    bob.authorize(first.line, weak_keys.sound()[0].line)
    alice.write(".ssh/authorized_keys2", second.line)
    done = world.audit(status=1)
    number = len(weak_keys.weak())
    equal(row_of(done.stdout, "alice"), [2, number + 2, number + 1, 0, 0, 0])
    equal(row_of(done.stdout, "bob"), [1, 2, 1, 0, 0, 0])
    contains(done.stdout, f"{alice.keys_path}:2: listed: ssh-rsa 2048 {weak_keys.weak()[0][1].fingerprint} prime "
                          "[built-in rsa-prime]\n",
             f"{bob.keys_path}:1: listed: ssh-rsa 2048 {first.fingerprint} pq [built-in rsa-shared-prime] "
             f"({alice.keys_path}2:1 has the same prime)\n")
    findings, summaries, _ = world.findings(status=1)
    equal(sources(findings),
          {("alice", line + 2, source) for line, (source, _) in enumerate(weak_keys.weak())} |
          {("bob", 1, "rsa-shared-prime"), ("alice", 1, "rsa-shared-prime")})
    equal([summaries["alice"][what] for what in ("keys", "listed", "clean")], [number + 2, number + 1, 1])
    equal([summaries["bob"][what] for what in ("keys", "listed", "clean")], [2, 1, 1])


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


def guard_prints(config, account, key):
    """What the guard prints for a key, as sshd runs it."""
    words = ["--user", account.name, "--home", account.home, "--type", "ssh-rsa", "--key", key.base64]
    done = subprocess.run([BUILT_GUARD, "--config", config, *words], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    equal(done.returncode, 0, done.stderr)
    return done.stdout


@pytest.fixture(name="state")
def fixture_state():
    """The state folder without a list of weak keys, before and after."""
    STATE.mkdir(parents=True, exist_ok=True)
    yield STATE / "weak.dat"
    for path in STATE.glob("weak.dat*"):
        path.unlink()


def test_denied_keys_are_refused_from_the_next_login_on(world, scratch, state):
    alice = world.account("alice")
    (_, prime), (_, square) = weak_keys.weak()[:2]
    alice.authorize(prime.line, square.line, weak_keys.sound()[0].line)
    config = write(scratch / "keyveto.conf", f"Filter {world.filter}\n")
    config.chmod(0o644)
    assert prime.plain in guard_prints(config, alice, prime)
    old = os.umask(0o077)
    try:
        done = keyveto("audit", "--deny-weak", "--config", config, status=1)
    finally:
        os.umask(old)
    contains(done.stderr, f"keyveto: {state}: 2 keys added\n", f'add the line "Blocklist {state}" to {config}')
    equal(state.stat().st_mode & 0o7777, 0o644)
    equal(state.read_bytes(), b"".join(sorted(blocklist.hashes(key.oracle)[0] + bytes([number])
                                              for number, key in ((2, prime), (3, square)))))
    config.write_text(f"Filter {world.filter}\nBlocklist {state}\n", encoding="ascii")
    equal(guard_prints(config, alice, prime), "")
    assert prime.plain in guard_prints(config, alice, weak_keys.sound()[0])
    # The next audit finds them by the list, with the names of the classes, and has nothing to add.
    done = keyveto("audit", "--deny-weak", "--config", config, status=1)
    contains(done.stdout, f"[{state} rsa-prime]", f"[{state} rsa-square]")
    lacks(done.stderr, "added", "no login consults")
    contains(keyveto("why", "--config", config, f"{alice.keys_path}:1", status=0).stdout, "rsa-prime",
             "Its modulus is a prime")


def test_a_key_of_root_holds_the_list(world, scratch, state):
    _, prime = weak_keys.weak()[0]
    root = Account("root", 0, world.folder / "root")
    root.home.mkdir(exist_ok=True)
    root.authorize(prime.line)
    config = write(scratch / "keyveto.conf", f"Filter {world.filter}\n")
    config.chmod(0o644)
    done = keyveto("audit", "--deny-weak", "--config", config, status=2)
    contains(done.stderr, "would refuse a key of root", "--yes")
    equal(list(STATE.glob("*weak*")), [])
    done = keyveto("audit", "--deny-weak", "--yes", "--config", config, status=1)
    contains(done.stderr, f"keyveto: {state}: 1 key added\n")


def test_without_such_a_key_no_list_is_made(world, scratch, state):
    world.account("alice").authorize(world.clean)
    config = write(scratch / "keyveto.conf", f"Filter {world.filter}\n")
    keyveto("audit", "--deny-weak", "--config", config, status=0)
    assert not state.exists()
    keyveto("audit", "--yes", status=2)


UNITS = ROOT / "packaging/systemd"


def setting(unit, name):
    return re.search(f"^{name}=(.*)$", (UNITS / unit).read_text(encoding="utf-8"), re.MULTILINE).group(1)


@pytest.mark.parametrize("home_mode", (0o755, 0o700))
def test_the_timers_service_denies_what_it_finds(world, scratch, state, home_mode):
    """By its own command, and with its capabilities, with which root reads no file of another account."""
    words, capabilities = setting("keyveto-weak.service", "ExecStart").split(), setting(
        "keyveto-weak.service", "CapabilityBoundingSet").lower().split()
    equal(words[0], "/usr/bin/keyveto")
    alice, (_, prime) = world.account("alice"), weak_keys.weak()[0]
    alice.authorize(prime.line, weak_keys.sound()[0].line)
    alice.home.chmod(home_mode)
    config = write(scratch / "keyveto.conf", f"Filter {world.filter}\n")
    config.chmod(0o644)
    names = ",".join(f"+{name.removeprefix('cap_')}" for name in capabilities)

    def run():
        done = subprocess.run(["setpriv", "--bounding-set", f"-all,{names}", "--inh-caps", "-all", KEYVETO, *words[1:],
                               "--config", config], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=PATIENCE)
        # A listed key is no failure of the unit.
        assert str(done.returncode) in ("0", setting("keyveto-weak.service", "SuccessExitStatus")), done.stderr
        return done
    done = run()
    contains(done.stderr, f"keyveto: {state}: 1 key added\n", f'add the line "Blocklist {state}" to {config}')
    equal(done.stdout, "")
    equal(state.read_bytes(), blocklist.hashes(prime.oracle)[0] + b"\2")
    # A night later nothing is new, and once no such key is left it ends with 0.
    lacks(run().stderr, "added")
    alice.authorize(weak_keys.sound()[0].line)
    equal(run().returncode, 0)


def test_the_units_are_installed_on_demand_and_no_timer_is_enabled(scratch):
    there = scratch / "units"

    def make(target):
        subprocess.run(["make", "-s", "-C", ROOT, "-o", "all", f"BUILD={MODULE.parent}", target,
                        f"DESTDIR={scratch}", "PREFIX=/opt/kv", "SYSTEMDUNITDIR=/units"], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    make("install")
    equal(sorted(path.name for path in there.iterdir()), sorted(path.name for path in UNITS.iterdir()))
    contains((there / "keyveto-weak.service").read_text(encoding="utf-8"),
             "\nExecStart=/opt/kv/bin/keyveto audit --quiet --deny-weak\n")
    equal([path for path in scratch.rglob("*.wants")], [])
    make("uninstall")
    equal(list(there.iterdir()), [])
