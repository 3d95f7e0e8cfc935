# SPDX-License-Identifier: ISC
"""Logs in with keys that need no secret to the sshd of another system: in without keyveto, out with it.

    python3 tests/e2e/nosecret_elsewhere.py [--build DIR] FOLDER...    as root, after make

A folder is a system as tests/differential/roots makes them. Its sshd runs in a throw-away root. Prints a line for each
key. The exit status is 1 if a key got in with keyveto, or was refused without it or for another reason, or if a sound
key was refused, or if keyveto told of a key one bit beside, for which the signature does not fit.
"""

import argparse
import contextlib
import encodings.idna               # noqa: F401    imported now, as it cannot be loaded later in another root
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "oracle")]

import nosecret_keys                # noqa: E402
import openssh                      # noqa: E402
import product                      # noqa: E402
import sandbox                      # noqa: E402
import server                       # noqa: E402
import sshkey                       # noqa: E402
import test_nosecret                # noqa: E402
from bench import Bench, World      # noqa: E402
from clients import Clients         # noqa: E402
from logbook import Logbook         # noqa: E402
from machine import Machine         # noqa: E402

# How a key is tried. A source "out" stands for a key that sshd itself refuses.
FORMS = "a key", "the key in a certificate", "a CA", "a CA of TrustedUserCAKeys"
# sshd 10.6 takes no composite CA unless it is told to.
TAKE_COMPOSITE = f"CASignatureAlgorithms +{sshkey.MLDSA}"


def make_keys():
    """Every key but DSA, which these systems have no more, and which ssh-keygen of this one would have to make."""
    with tempfile.TemporaryDirectory() as folder:
        makers = {"RSA, a prime": nosecret_keys.rsa_prime_modulus, **test_nosecret.KEYS}
        return {title: make(Path(folder)) for title, make in makers.items() if not title.startswith("DSA")}


def identity_of(form, bench, account, key):
    """The identity in that form, and options for sshd."""
    if form == "a key":
        account.authorize(key)
        return test_nosecret.serve(bench, key), ()
    if form == "the key in a certificate":
        ca = bench.key()
        account.authorize(f"cert-authority {ca.key}")
        return test_nosecret.serve(bench, nosecret_keys.certified(key, ca, bench.folder, account.name)), ()
    identity = nosecret_keys.certify_identity(bench.key(), key, account.name)
    composite = [TAKE_COMPOSITE] if key.type == sshkey.MLDSA else []
    if form == "a CA":
        account.authorize(f"cert-authority {key}")
        return identity, composite
    return identity, [f"TrustedUserCAKeys {bench.write('ca', f'{key}')}", *composite]


def outcome(bench, sshd, account, identity, via=None):
    """"in"; or the source for which the guard, or the module, refused it; or "out" for another reason."""
    if bench.login(sshd, account, identity).entered:
        return "in"
    return next((one.source for one in bench.log.decisions(account)
                 if (one.via, one.verdict, one.action) == (via, "listed", "deny")), "out")


def outcomes(bench, build, empty_filter, form, key):
    """What bare sshd, the guard and the module do with it."""
    account = bench.account()
    identity, options = identity_of(form, bench, account, key)
    lines = [f"Filter {bench.write('filter', empty_filter)}"]
    yield "sshd", outcome(bench, bench.server(server.vanilla().adding(*options)), account, identity)
    if key.source is None:
        lines += test_nosecret.deny_by_the_document(build, bench.config(*lines))[1]
    config = bench.config(*lines)
    for via, deployment in (("guard", server.guard(config)), ("pam", server.pam_session(config))):
        # The guard is not asked about certificates of a CA of TrustedUserCAKeys.
        if via == "pam" or form != FORMS[-1]:
            yield via, outcome(bench, bench.server(deployment.adding(*options)), account, identity, via)


def sound_outcomes(bench, empty_filter, kind):
    """The same of a key that ssh-keygen has made."""
    account, identity = bench.account(), bench.key(kind)
    account.authorize(identity.key)
    config = bench.config(f"Filter {bench.write('filter', empty_filter)}")
    for name, deployment in (("sshd", server.vanilla()), ("guard", server.guard(config)),
                             ("pam", server.pam_session(config))):
        yield name, outcome(bench, bench.server(deployment), account, identity)


def composites(folder):
    """Composite keys, if this system's OpenSSH has them."""
    has = subprocess.run(["ssh", "-Q", "key"], capture_output=True, text=True, check=True).stdout.split()
    if sshkey.MLDSA not in has:
        return {}
    return {f"a composite with {title}": nosecret_keys.composite(encoded)(folder)
            for title, encoded in nosecret_keys.small_order_encodings()}


def run(build, all_keys, empty_filter):
    print(subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr.strip(), flush=True)
    # They were asked about this system's OpenSSH.
    openssh.version.cache_clear()
    openssh.has_dsa.cache_clear()
    scratch = product.make_scratch()
    machine, done = Machine(), []
    of_here = composites(scratch)
    tried = [(f"{title}, as {form}", form, key) for form in FORMS for title, key in {**all_keys, **of_here}.items()
             if key.source is not None or form == FORMS[0]]
    tried += [(f"{title}, one bit beside", FORMS[0], replace(key.beside(*test_nosecret.BESIDE[start]), source="out"))
              for title, key in all_keys.items() for start in test_nosecret.BESIDE if title.startswith(start)]
    sound = ["ed25519", "ecdsa", "rsa", *["mldsa44-ed25519"] * bool(of_here)]
    with contextlib.closing(Logbook()) as log:
        product.install(machine, build, scratch)
        world = World(machine, log, Clients(scratch), scratch)
        tried += [(f"a sound key, {kind}", None, kind) for kind in sound]
        for number, (title, form, key) in enumerate(tried):
            with contextlib.closing(Bench(world, number)) as bench:
                found = dict(outcomes(bench, build, empty_filter, form, key) if form else
                             sound_outcomes(bench, empty_filter, key))
            wanted = (key.source or "DenyKey") if form else "in"
            bare = "out" if wanted == "out" else "in"
            done.append(found == {name: bare if name == "sshd" else wanted for name in found})
            print(f"{'ok' if done[-1] else 'BAD'}      {title}: {found}", flush=True)
    print(f"{sum(done)} passed, {len(done) - sum(done)} failed", flush=True)
    return not all(done)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=HERE.parent.parent / "build", help="where the built programs are")
    parser.add_argument("roots", nargs="+", metavar="FOLDER", help="a system as tests/differential/roots makes them")
    options = parser.parse_args()
    all_keys, bad, build = make_keys(), False, options.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, HERE.parent / "oracle/pkbf.py", "create", f"{folder}/filter", "--hashes", "20",
                        "--length", "16"], check=True)
        empty_filter = Path(f"{folder}/filter").read_bytes()
    for root in options.roots:
        print(f"{root}: ", end="", flush=True)
        pid = os.fork()
        if pid == 0:
            os._exit(sandbox.call(lambda: run(build, all_keys, empty_filter), [str(build)], root))
        bad |= os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    return bad


if __name__ == "__main__":
    sys.exit(main())
