#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The README's server steps, followed to the letter on a stock sshd.

Takes the marked shell blocks out of README.md and runs them in a throw-away
copy of this machine, whose sshd listens on port 22 of a network of its own;
between the steps, people log in.  At the end, /etc must be what it was.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

# pylint: disable=wrong-import-position
import keys
import product
import run as suite
import sandbox
from bench import check
from clients import Clients
from logbook import Logbook
from machine import Machine
from server import SSHD

DATA = ROOT / "testdata" / "demo"
TOUCHED = (Path("/etc/ssh"), Path("/etc/pam.d"))
PID_FILE = Path("/run/sshd.pid")
STEP = re.compile(r"<!-- step: ([a-z]+) -->\n```sh\n(.*?)```", re.DOTALL)


def read_steps():
    return dict(STEP.findall((ROOT / "README.md").read_text(encoding="utf-8")))


def snapshot():
    """Everything below the touched folders: names, modes, owners, contents."""
    found = {}
    for top in TOUCHED:
        for path in sorted(top.rglob("*")):
            info = path.lstat()
            content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            found[str(path)] = (info.st_mode, info.st_uid, info.st_gid, content)
    return found


class StockServer:
    """What clients.py wants to know of a server: the port."""
    port = 22

    def start(self):
        subprocess.run([SSHD], check=True)
        self.wait_for_greeting()

    def reload(self):
        """As `systemctl reload ssh` does, where there is no systemd."""
        os.kill(int(PID_FILE.read_text(encoding="ascii")), 1)
        time.sleep(0.05)        # until the old process has closed its socket
        self.wait_for_greeting()

    def wait_for_greeting(self):
        deadline = time.monotonic() + 15
        while subprocess.run(["ssh-keyscan", "-T", "1", "-t", "ed25519", "127.0.0.1"],
                             capture_output=True, check=False).stdout == b"":
            check(time.monotonic() < deadline, "the stock sshd does not answer")

    def stop(self):
        os.kill(int(PID_FILE.read_text(encoding="ascii")), 15)


class Reader:
    """Somebody who follows the README, and those who log in meanwhile."""

    def __init__(self, machine, log, scratch):
        self.machine, self.log, self.scratch = machine, log, scratch
        self.steps = read_steps()
        self.server, self.clients = StockServer(), Clients(scratch)
        self.alice, self.mallory = machine.add_account(), machine.add_account()
        self.clean, self.leaked = keys.generate(scratch), self.published_key()
        self.alice.authorize(self.clean.key)
        self.mallory.authorize(self.leaked.key)
        self.passed = 0

    def published_key(self):
        path = self.scratch / "leaked"
        shutil.copy(DATA / "compromised", path)
        shutil.copy(DATA / "compromised.pub", f"{path}.pub")
        path.chmod(0o600)
        return keys.Identity(path)

    def follow(self, name):
        if name == "reload" and not Path("/run/systemd/system").exists():
            self.server.reload()
        else:
            environment = {**os.environ, "FILTER": str(DATA / "demo.pkbf")}
            environment.pop("MAKEFLAGS", None)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", self.steps[name]], cwd=ROOT,
                                  env=environment, capture_output=True, text=True, check=False)
            check(done.returncode == 0, f"step {name}: {done.stdout}{done.stderr}")
        self.ok(f"step {name}")

    def expect(self, when, mallory_enters):
        """Alice always gets in; the one with the leaked key as told."""
        outcome = self.clients.login(self.server, self.alice, [self.clean])
        check(outcome.entered, f"{when}: the clean key was refused: {outcome}")
        outcome = self.clients.login(self.server, self.mallory, [self.leaked])
        check(outcome.entered == mallory_enters, f"{when}: the leaked key: {outcome}")
        self.ok(f"{when}: clean key in, leaked key {'in' if mallory_enters else 'out'}")

    def expect_logged(self, **pairs):
        found = self.log.decisions(self.mallory)
        wanted = any(all(getattr(d, k) == v for k, v in pairs.items()) for d in found)
        check(wanted, f"no decision with {pairs} in {found}")
        self.ok(f"logged: {pairs}")

    def ok(self, what):
        self.passed += 1
        print(f"ok     {what}", flush=True)


def follow_all(reader):
    before = snapshot()
    reader.server.start()
    reader.expect("before keyveto", mallory_enters=True)
    for name in ("install", "filter", "rehearse", "guard", "pam", "validate", "reload"):
        reader.follow(name)
    reader.expect("rehearsal", mallory_enters=True)
    reader.expect_logged(verdict="listed", action="warn", via="guard", authorized="yes")
    reader.expect_logged(verdict="listed", action="warn", via="pam")
    reader.follow("enforce")
    reader.expect("enforced", mallory_enters=False)
    reader.expect_logged(verdict="listed", action="deny", via="guard")
    for name in ("back", "reload", "uninstall"):
        reader.follow(name)
    reader.expect("after the way back", mallory_enters=True)
    check(snapshot() == before, "the way back does not lead to where it began")
    reader.ok("/etc/ssh and /etc/pam.d are what they were")


def play(throwaway):
    machine, scratch, log = Machine(throwaway), suite.make_scratch(), Logbook()
    reader = None
    failed = 0
    machine.make_folder("/run/sshd")
    try:
        reader = Reader(machine, log, scratch)
        follow_all(reader)
    except AssertionError as reason:
        print(f"FAILED {reason}")
        failed = 1
    finally:
        if PID_FILE.exists():
            StockServer().stop()
        log.close()
        machine.restore()
        shutil.rmtree(scratch)
    print(f"{reader.passed if reader else 0} passed, {failed} failed")
    return failed


def main():
    try:
        product.check_machine(ROOT / "build")
        if sandbox.inside():
            return play(throwaway=True)
        try:
            return sandbox.run([sys.executable, __file__])
        except sandbox.Refused as reason:
            print(f"no throw-away root can be had ({reason}): working on the machine itself")
        product.check_untouched()
        check(not PID_FILE.exists(), "an sshd runs here: these tests would use its port")
        return play(throwaway=False)
    except (product.CannotRun, AssertionError) as reason:
        print(f"README: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
