#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The README's server steps, followed to the letter on a stock sshd.

Takes the marked shell blocks out of README.md and runs them in a throw-away
copy of this machine, whose sshd listens on port 22 of a network of its own;
between the steps, people log in.  At the end, /etc must be what it was.  Once
by `keyveto sshd enable`, once by hand.
"""

import os
import re
import shutil
import subprocess
import sys
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
from stock import PID_FILE, StockServer, snapshot

DATA = ROOT / "testdata" / "demo"
TOUCHED = ("/etc/ssh", "/etc/pam.d")
STEP = re.compile(r"<!-- step: ([a-z]+) -->\n```sh\n(.*?)```", re.DOTALL)


def read_steps():
    return dict(STEP.findall((ROOT / "README.md").read_text(encoding="utf-8")))


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
        shutil.copyfile(DATA / "compromised", path)
        shutil.copy(DATA / "compromised.pub", f"{path}.pub")
        path.chmod(0o600)
        return keys.Identity(path)

    def follow(self, name, change="", status=0):
        """Run a step, with words added to its last line; what it printed."""
        if name == "reload" and not Path("/run/systemd/system").exists():
            self.server.reload()
            printed = ""
        else:
            environment = {**os.environ, "FILTER": str(DATA / "demo.pkbf")}
            environment.pop("MAKEFLAGS", None)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", self.steps[name].rstrip() + change], cwd=ROOT,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            printed = done.stdout
            check(done.returncode == status, f"step {name}: status {done.returncode}: {printed}")
            if "--reload" in self.steps[name] and status == 0:
                self.server.wait()
        self.ok(f"step {name}{change}" + (f": status {status}" if status else ""))
        return printed

    def expect(self, when, mallory_enters):
        """Alice always gets in; the one with the leaked key as told."""
        outcome = self.clients.login(self.server, self.alice, [self.clean])
        check(outcome.entered, f"{when}: the clean key was refused: {outcome}")
        outcome = self.clients.login(self.server, self.mallory, [self.leaked])
        check(outcome.entered == mallory_enters, f"{when}: the leaked key: {outcome}")
        self.ok(f"{when}: clean key in, leaked key {'in' if mallory_enters else 'out'}")

    def expect_logged(self, **pairs):
        self.log.expect(self.mallory, **pairs)
        self.ok(f"logged: {pairs}")

    def ok(self, what):
        self.passed += 1
        print(f"ok     {what}", flush=True)


def follow_command(reader):
    """`keyveto sshd enable`, and back."""
    before = snapshot(*TOUCHED)
    reader.expect("before keyveto", mallory_enters=True)
    for name in ("install", "filter"):
        reader.follow(name)
    installed = snapshot(*TOUCHED, "/etc/keyveto", "/var/lib/keyveto")
    said = reader.follow("warn")
    check(reader.mallory.name in said and reader.alice.name not in said, f"it does not tell who: {said}")
    reader.expect("rehearsal", mallory_enters=True)
    reader.expect_logged(verdict="listed", action="warn", via="guard", authorized="yes")
    reader.expect_logged(verdict="listed", action="warn", via="pam")
    check("uid=" in reader.follow("try"), "the demo's key does not get in")
    reader.follow("clean")
    rehearsed = snapshot(*TOUCHED, "/etc/keyveto")
    check(reader.mallory.name in reader.follow("enable", status=1), "it does not tell who")
    check(snapshot(*TOUCHED, "/etc/keyveto") == rehearsed, "it stopped, but has changed something")
    reader.follow("enable", " --yes")
    reader.expect("enforced", mallory_enters=False)
    reader.expect_logged(verdict="listed", action="deny", via="guard", authorized="yes")
    said = reader.follow("try")
    check(said.rstrip().endswith("refused") and "Permission denied" in said, f"the demo's key: {said}")
    reader.follow("clean")
    reader.follow("disable")
    reader.expect("after the way back", mallory_enters=True)
    check(snapshot(*TOUCHED, "/etc/keyveto", "/var/lib/keyveto") == installed, "something is not what it was")
    reader.follow("uninstall")
    check(snapshot(*TOUCHED) == before, "the way back does not lead to where it began")
    reader.ok("/etc/ssh, /etc/pam.d, /etc/keyveto and /var/lib/keyveto are what they were")


def follow_by_hand(reader):
    """Line by line, and back."""
    before = snapshot(*TOUCHED)
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
    check(snapshot(*TOUCHED) == before, "the way back does not lead to where it began")
    reader.ok("/etc/ssh and /etc/pam.d are what they were")


def play(throwaway):
    machine, scratch, log = Machine(throwaway), suite.make_scratch(), Logbook()
    passed = failed = 0
    machine.make_folder("/run/sshd")
    try:
        StockServer().start()
        for way in (follow_command, follow_by_hand):
            print(f"# {way.__doc__}")
            reader = Reader(machine, log, scratch)
            try:
                way(reader)
            finally:
                passed += reader.passed
    except AssertionError as reason:
        print(f"FAILED {reason}")
        failed = 1
    finally:
        StockServer.stop()
        log.close()
        machine.restore()
        shutil.rmtree(scratch)
    print(f"{passed} passed, {failed} failed")
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
