#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Pipes random keys to keyveto check: none of them may need no secret.

    tests/campaign/sound_keys.py [--keys N] [--seed N] [--build DIR]

A third are Ed25519 points, a third points of NIST's curves, a third RSA moduli of 1024 to 4096 bits. The points are
random bytes: sshd would refuse most as points, but nothing here looks at that. A modulus is a multiple of all primes
below 1000, plus a number that none of them divides: to find two large primes for each would take years. So it is as
random as a product of two primes to what is tried, which is whether a small prime divides it.
"""

import argparse
import base64
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/oracle"))

import sshkey                       # noqa: E402  pylint: disable=wrong-import-position

PRIMES = [n for n in range(2, 1000) if all(n % d for d in range(2, n))]
PRODUCT = math.prod(PRIMES)         # of 1396 bits
SHORT = math.prod(PRIMES[:-60])     # for moduli of 1024 bits, to which the last 60 primes are added one by one
BATCH = 10_000


def coprime(rng, product, limit):
    while True:
        n = rng.randrange(1, limit)
        if math.gcd(n, product) == 1:
            return n


def modulus(rng, bits):
    product = PRODUCT if bits > 1500 else SHORT
    while True:
        n = rng.randrange(2**(bits - 1) // product + 1, 2**bits // product) * product + coprime(rng, product, 2**64)
        if product == PRODUCT or math.gcd(n, PRODUCT) == 1:
            return n


def line(rng):
    kind = rng.randrange(3)
    if kind == 0:
        name, fields = "ssh-ed25519", sshkey.fields_raw(rng.randbytes(32))
    elif kind == 1:
        curve = rng.choice(list(sshkey.CURVES))
        name = "ecdsa-sha2-" + curve
        fields = sshkey.fields_ecdsa(curve, b"\4" + rng.randbytes(2 * sshkey.CURVES[curve][1]))
    else:
        name = "ssh-rsa"
        fields = sshkey.fields_rsa(rng.choice((3, 5, 17, 35, 37, 257, 65537)),
                                   modulus(rng, rng.choice((1024, 2048, 2048, 2048, 3072, 4096))))
    return f"{name} {base64.b64encode(sshkey.build_plain(name, fields)).decode()}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--build", type=Path, default=TOP / "build")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "empty.pkbf"
        subprocess.run([options.build / "keyveto", "filter", "create", empty, "--hashes", "20", "--length", "10"],
                       check=True, stdout=subprocess.DEVNULL)
        with subprocess.Popen([options.build / "keyveto", "check", "--filter", empty, "-"], stdin=subprocess.PIPE,
                              text=True) as check:
            for start in range(0, options.keys, BATCH):
                check.stdin.writelines(line(rng) for _ in range(min(BATCH, options.keys - start)))
            check.stdin.close()
            status = check.wait()
    print(f"seed {options.seed}: {options.keys} keys, {'none is' if status == 0 else 'some are'} listed")
    return status


if __name__ == "__main__":
    sys.exit(main())
