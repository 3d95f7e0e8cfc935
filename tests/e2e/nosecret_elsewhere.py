# SPDX-License-Identifier: ISC
"""Logs in with keys that need no secret to the sshd of another system: in without keyveto, out with it.

    python3 tests/e2e/nosecret_elsewhere.py FOLDER...      as root, after make

A folder is a system as tests/differential/roots makes them. Its sshd runs in a throw-away root. Prints a line for each
key. The exit status is 1 if a key got in with keyveto, or was refused without.
"""

import contextlib
import encodings.idna               # noqa: F401    imported now, as it cannot be loaded later in another root
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "oracle")]

import nosecret_keys                # noqa: E402
import openssh                      # noqa: E402
import product                      # noqa: E402
import sandbox                      # noqa: E402
import server                       # noqa: E402
import test_nosecret                # noqa: E402
from bench import Bench, World      # noqa: E402
from clients import Clients         # noqa: E402
from logbook import Logbook         # noqa: E402
from machine import Machine         # noqa: E402

BUILD = HERE.parent.parent / "build"
FORMS = "a key", "the key in a certificate", "a CA", "a CA of TrustedUserCAKeys"


def make_keys():
    """Every key but DSA, which these systems have no more, and which ssh-keygen of this one would have to make."""
    with tempfile.TemporaryDirectory() as folder:
        return {title: make(Path(folder)) for title, make in test_nosecret.KEYS.items() if not title.startswith("DSA")}


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
    if form == "a CA":
        account.authorize(f"cert-authority {key}")
        return identity, ()
    return identity, (f"TrustedUserCAKeys {bench.write('ca', f'{key}')}",)


def outcomes(bench, empty_filter, form, key):
    """Who lets it in: bare sshd, the guard, the module."""
    account = bench.account()
    identity, options = identity_of(form, bench, account, key)
    config = bench.config(f"Filter {bench.write('filter', empty_filter)}")
    for name, deployment in (("sshd", server.vanilla()), ("guard", server.guard(config)),
                             ("module", server.pam_session(config))):
        if name == "guard" and options:
            continue
        yield name, bench.login(bench.server(deployment.adding(*options)), account, identity).entered


def run(all_keys, empty_filter):
    print(subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr.strip(), flush=True)
    # They were asked about this system's OpenSSH.
    openssh.version.cache_clear()
    openssh.has_dsa.cache_clear()
    scratch = product.make_scratch()
    machine, bad = Machine(), 0
    with contextlib.closing(Logbook()) as log:
        product.install(machine, BUILD, scratch)
        world = World(machine, log, Clients(scratch), scratch)
        for number, (form, title) in enumerate((form, title) for form in FORMS for title in all_keys):
            with contextlib.closing(Bench(world, number)) as bench:
                found = dict(outcomes(bench, empty_filter, form, all_keys[title]))
            good = found.pop("sshd") and not any(found.values())
            bad += not good
            print(f"{'ok' if good else 'BAD'}      {title}, as {form}: {found}", flush=True)
    print(f"{bad} of {len(FORMS) * len(all_keys)} are not as they must be", flush=True)
    return bad > 0


def main(folders):
    all_keys, bad = make_keys(), False
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, HERE.parent / "oracle/pkbf.py", "create", f"{folder}/filter", "--hashes", "20",
                        "--length", "16"], check=True)
        empty_filter = Path(f"{folder}/filter").read_bytes()
    for root in folders:
        print(f"{root}: ", end="", flush=True)
        pid = os.fork()
        if pid == 0:
            os._exit(sandbox.call(lambda: run(all_keys, empty_filter), [str(BUILD)], root))
        bad |= os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
