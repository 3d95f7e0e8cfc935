# SPDX-License-Identifier: ISC
"""Executes the marked shell blocks of README.md and docs/by-hand.md exactly."""

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
from bench import check
from clients import Clients
from patience import PATIENCE
from stock import StockServer

DATA = ROOT / "testdata" / "demo"
VISITOR = "kvtry"       # the account in the steps try and clean
DOCUMENTS = ("README.md", "docs/by-hand.md")
STEP = re.compile(r"<!-- step: ([a-z]+) -->\n```sh\n(.*?)```", re.DOTALL)


def read_steps():
    """A dict from each step's name to its commands."""
    found = [step for name in DOCUMENTS for step in STEP.findall((ROOT / name).read_text(encoding="utf-8"))]
    steps = dict(found)
    check(len(steps) == len(found), "two steps have the same name")
    return steps


class Reader:
    """Follows the documents. Meanwhile alice and mallory log in."""

    def __init__(self, machine, log, scratch):
        self.machine, self.log, self.scratch = machine, log, scratch
        self.steps = read_steps()
        self.server, self.clients = StockServer(), Clients(scratch)
        self.alice, self.mallory = machine.add_account(), machine.add_account()
        self.clean, self.leaked = keys.generate(scratch), self.published_key()
        self.alice.authorize(self.clean.key)
        self.mallory.authorize(self.leaked.key)

    def published_key(self):
        path = self.scratch / "leaked"
        shutil.copyfile(DATA / "compromised", path)
        shutil.copy(DATA / "compromised.pub", f"{path}.pub")
        path.chmod(0o600)
        return keys.Identity(path)

    def follow(self, name, change="", status=0):
        """Runs a step, with change appended to its last line. Returns what it printed."""
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
        """Alice, with the clean key, gets in. Mallory, with the leaked key, as mallory_enters says."""
        outcome = self.clients.login(self.server, self.alice, [self.clean])
        check(outcome.entered, f"{when}: the clean key was refused: {outcome}")
        outcome = self.clients.login(self.server, self.mallory, [self.leaked])
        check(outcome.entered == mallory_enters, f"{when}: the leaked key: {outcome}")
        self.ok(f"{when}: clean key in, leaked key {'in' if mallory_enters else 'out'}")

    def expect_logged(self, **pairs):
        self.log.expect(self.mallory, **pairs)
        self.ok(f"logged: {pairs}")

    def login_as_visitor(self, *options):
        """Logs in with the key that the step try authorizes."""
        return self.clients.login(self.server, Visitor, [self.leaked], options=options)

    def try_from_elsewhere(self):
        """The key of the step try is public: it must work from this machine only, and for id only."""
        outcome = self.login_as_visitor()
        check("uid=" in outcome.stdout, f"the demo's key does not get in, or runs anything but id: {outcome}")
        outcome = self.login_as_visitor("-o", "BindAddress=127.0.0.2")
        check(outcome.refused and "uid=" not in outcome.stdout, f"the demo's key from another address: {outcome}")
        self.ok("while the account of the step try is there, its key is of no use from another address")

    def clean_while_logged_in(self):
        """The step clean deletes the account's key first. It deletes the account even while somebody is logged in."""
        first, rest = self.steps["clean"].split("\n", 1)
        with self.clients.connection(self.server, Visitor, self.leaked, (), self.scratch / "visitor") as visitor:
            visitor.wait_for("Entering interactive session")
            wait_for_process_of(VISITOR)
            self.steps["interrupted"] = first
            self.follow("interrupted")
            outcome = self.login_as_visitor()
            check(outcome.refused, f"the step clean, interrupted, leaves a key in the account: {outcome}")
            self.steps["goes on"] = rest
            self.follow("goes on")
            visitor.wait_for_end()
        check(f"\n{VISITOR}:" not in Path("/etc/passwd").read_text(encoding="utf-8"), f"{VISITOR} is still there")
        check(not Path("/home", VISITOR).exists() and not Path("/root/compromised").exists(), "clean leaves files")
        self.ok("step clean, while somebody is logged in with the demo's key")

    def ok(self, what):
        """pytest shows this output if the test fails."""
        print(f"ok     {what}", flush=True)


def wait_for_process_of(name):
    """Waits until sshd's process has become the account, which is after the client got its answer."""
    deadline = time.monotonic() + PATIENCE
    while subprocess.run(["pgrep", "-u", name], stdout=subprocess.DEVNULL, check=False).returncode != 0:
        check(time.monotonic() < deadline, f"no process of {name}")
        time.sleep(0.01)


class Visitor:      # pylint: disable=too-few-public-methods
    """The account for clients.py."""
    name = VISITOR
