#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The demonstration of `make demo`: real logins, with and without a leaked key.

Everything happens in a throw-away copy of this machine (tests/e2e/sandbox.py): the accounts, the two sshd and the
changed files under /etc vanish with it. Where no such copy is possible, the demonstration leaves out the logins.
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

# pylint: disable=wrong-import-position
import keys
import product
import sandbox
import server
from bench import Bench, World
from clients import Clients
from logbook import Logbook
from machine import Machine

DATA = ROOT / "testdata" / "demo"


def title(text):
    print(f"\n== {text}", flush=True)


def show(name, text):
    for line in text.strip().splitlines() or ["(nothing)"]:
        print(f"   {name}: {line}", flush=True)


class Demo:
    """One account, its two keys, and a server with a configuration for it."""

    def __init__(self, world):
        self.bench = Bench(world, 0)
        self.account = self.bench.account()
        self.clean = self.bench.key()
        self.leaked = self.published_key()
        self.account.authorize(self.clean.key, self.leaked.key)
        self.config = self.bench.config(f"Filter {self.bench.write('demo.pkbf', (DATA / 'demo.pkbf').read_bytes())}")

    def published_key(self):
        """ssh refuses a private key that others can read, so this copy is mode 600."""
        path = self.bench.folder / "leaked"
        shutil.copy(DATA / "compromised", path)
        shutil.copy(DATA / "compromised.pub", f"{path}.pub")
        path.chmod(0o600)
        return keys.Identity(path)

    def start(self, deployment):
        started = self.bench.server(deployment)
        show("sshd", f"listens on 127.0.0.1:{started.port}, PAM service {started.service}")
        return started

    def try_login(self, sshd, identity, entered):
        outcome = self.bench.login(sshd, self.account, identity)
        show("the person sees", said(outcome))
        self.bench.expect(outcome, entered, "the demonstration went wrong")
        print(f"   -> {'let in' if entered else 'refused'}", flush=True)

    def show_log(self, via):
        show("the log says", self.bench.decision(self.account, via=via, verdict="listed").line.text)


def said(outcome):
    """What ssh printed, without its remark about an unknown host."""
    lines = (outcome.stdout + outcome.stderr).splitlines()
    return "\n".join(line for line in lines if "Permanently added" not in line)


def demonstrate(demo):
    title("A private sshd with the guard and the PAM module, and a filter of published keys")
    sshd = demo.start(server.Deployment(server.guard(demo.config).options, server.pam_session(demo.config).stack))

    title(f"{demo.account.name} logs in with a clean key")
    demo.try_login(sshd, demo.clean, entered=True)

    title("the same account, the same authorized_keys, but a key whose private half is public")
    demo.try_login(sshd, demo.leaked, entered=False)
    demo.show_log("guard")

    title("a second sshd reads authorized_keys itself: only the PAM module refuses, and says why")
    sshd = demo.start(server.pam_session(demo.config))
    demo.try_login(sshd, demo.clean, entered=True)
    demo.try_login(sshd, demo.leaked, entered=False)
    demo.show_log("pam")


def find_keys(build):
    """Shows what keyveto check finds, which needs no root."""
    title("compromised keys in a home directory: keyveto check testdata/demo/home")
    command = [build / "keyveto", "check", "--filter", DATA / "demo.pkbf", DATA / "home"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    show("keyveto", done.stdout + done.stderr)
    if done.returncode != 1:
        raise AssertionError(f"keyveto check ended with status {done.returncode}, not with 1")


def play(build):
    machine, scratch, log = Machine(), product.make_scratch(), Logbook()
    product.install(machine, build, scratch)
    demo = Demo(World(machine, log, Clients(scratch), scratch))
    try:
        demonstrate(demo)
    except AssertionError:
        print(demo.bench.evidence(), file=sys.stderr)
        raise
    finally:
        demo.bench.close()
    find_keys(build)
    title("Done. Everything started here is stopped. Packages were installed, if this named any at its "
          "beginning; nothing else of this machine was changed.")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, required=True, help="where the built programs are")
    build = parser.parse_args().build.resolve()
    try:
        product.check_machine(build)
        if sandbox.inside():
            return play(build)
        return sandbox.run([sys.executable, __file__, "--build", str(build)])
    except sandbox.Refused as reason:
        find_keys(build)
        title(f"The logins are skipped: no throw-away root is possible here ({reason}).")
        print("   Type make demo as root in a virtual machine, or in a privileged container.")
        return 0
    except product.CannotRun as reason:
        print(f"demo: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
