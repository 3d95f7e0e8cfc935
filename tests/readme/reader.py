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
from badkeys import Badkeys
from bench import check
from clients import Clients
from patience import PATIENCE
from stock import StockServer

DATA = ROOT / "testdata" / "demo"
NEWER = "2026-11-20T10:00:00+00:00"     # the date of the second list
WEAK_KEY_PATH = "rsa2048/x86/1234-rnd.key"
UNIT = Path("/lib/systemd/system/keyveto-update.service")
TIMER = UNIT.with_suffix(".timer")
SYSTEMD = Path("/run/systemd/system").exists()
VISITOR = "kvtry"       # the account in the steps try and clean
DOCUMENTS = ("README.md", "docs/by-hand.md", "docs/operations.md")
UPDATE = "build/keyveto update"     # gets the list, in the first lines
PRINTED = re.compile(r"<!-- printed: first -->\n```\n(.*?)```", re.DOTALL)
STEP = re.compile(r"<!-- step: ([a-z]+) -->\n```sh\n(.*?)```", re.DOTALL)


def read_steps():
    """A dict from each step's name to its commands."""
    found = [step for name in DOCUMENTS for step in STEP.findall((ROOT / name).read_text(encoding="utf-8"))]
    steps = dict(found)
    check(len(steps) == len(found), "two steps have the same name")
    return steps


def listed_by(name, source):
    return {"list": f"/var/lib/keyveto/{name}", "source": source}


class Reader:
    """Follows the documents. Meanwhile alice logs in with a clean key, and others with listed ones.

    mallory's key is that of the demo. With badkeys' list there is debora, too: her key is like one of Debian's weak
    keys of 2008, which have the exponent 3 too.
    """
    # What the log says of mallory's key.
    by = {"list": "keyveto.conf", "source": "DenyKey"}

    def __init__(self, machine, log, scratch):
        self.machine, self.log, self.scratch = machine, log, scratch
        self.steps = read_steps()
        self.server, self.clients = StockServer(), Clients(scratch)
        self.alice, self.mallory = machine.add_account(), machine.add_account()
        self.clean, self.leaked = keys.generate(scratch), self.published_key()
        # Each with its key, and what the log says of it.
        self.listed = [(self.mallory, self.leaked, self.by)]
        self.badkeys = self.debora = self.weak = None
        self.alice.authorize(self.clean.key)
        self.mallory.authorize(self.leaked.key)

    def published_key(self):
        path = self.scratch / "leaked"
        shutil.copyfile(DATA / "compromised", path)
        shutil.copy(DATA / "compromised.pub", f"{path}.pub")
        path.chmod(0o600)
        return keys.Identity(path)

    def weak_key(self):
        made = subprocess.run(["openssl", "genrsa", "-3", "2048"], check=True, capture_output=True, text=True)
        return keys.from_pem(self.scratch, made.stdout)

    def start_badkeys(self, records, direct=True):
        """Plays badkeys' server. Its list has so many records. One is debora's key."""
        self.debora, self.weak = self.machine.add_account(), self.weak_key()
        self.debora.authorize(self.weak.key)
        self.listed.append((self.debora, self.weak, listed_by("badkeys.dat", "debianssl")))
        self.badkeys = Badkeys(self.scratch, {str(self.weak.key): WEAK_KEY_PATH}, records, direct)

    def close(self):
        if self.badkeys:
            self.badkeys.close()

    def follow(self, name, change="", status=0):
        """Runs a step, with change appended to its last line. Returns what it printed."""
        if name == "reload" and not SYSTEMD:
            self.server.reload()
            printed = ""
        else:
            commands = self.steps[name].rstrip()
            if not SYSTEMD:
                commands = re.sub("^systemctl .*timer$", f"test -f {TIMER}", commands, flags=re.MULTILINE)
            environment = {**os.environ}
            environment.pop("MAKEFLAGS", None)
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", commands + change], cwd=ROOT,
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            printed = done.stdout
            check(done.returncode == status, f"step {name}: status {done.returncode}: {printed}")
            if "--reload" in self.steps[name] and status == 0:
                self.server.wait()
        self.ok(f"step {name}{change}" + (f": status {status}" if status else ""))
        return printed

    def expect(self, when, listed_enter):
        """alice, with the clean key, gets in. The accounts with listed keys do, if listed_enter says so."""
        outcome = self.clients.login(self.server, self.alice, [self.clean])
        check(outcome.entered, f"{when}: the clean key was refused: {outcome}")
        for account, key, _ in self.listed:
            outcome = self.clients.login(self.server, account, [key])
            check(outcome.entered == listed_enter, f"{when}: a listed key: {outcome}")
        self.ok(f"{when}: clean key in, listed keys {'in' if listed_enter else 'out'}")

    def expect_logged(self, **pairs):
        for account, _, by in self.listed:
            self.log.expect(account, verdict="listed", **by, **pairs)
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

    def probe_without_lists(self):
        """The step probe, which asks the guard, while a list cannot be read."""
        path = Path("/var/lib/keyveto/badkeys.dat")
        kept = path.read_bytes()
        path.write_bytes(kept[:-1])
        said = self.follow("probe", status=1)
        check(said == "the guard reaches no verdict: keyveto status says why\n", f"a broken list: {said}")
        check(str(path) in self.keyveto("status", status=2).stdout, "keyveto status does not say why")
        path.write_bytes(kept)
        check(self.follow("probe") == "the guard reaches a verdict\n", "the whole list again")

    def first_minute(self, update=""):
        """debora, who is not root, follows the first lines: they print what the document says, but for names.

        update: what she types instead to get the list.
        """
        home = Path("/home", self.debora.name)
        folder = home / "keyveto"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(home / ".cache", ignore_errors=True)
        folder.mkdir()
        shutil.chown(folder, self.debora.name)
        shutil.copytree(ROOT / "build", folder / "build", ignore=lambda _, names: [
            name for name in names if name not in {"build", "keyveto"} and not name.startswith("keyveto-")])
        for name, text in (("id_rsa", self.weak.path.read_text(encoding="ascii")),
                           ("id_rsa.pub", f"{self.weak.key}\n"),
                           ("authorized_keys", f"{self.weak.key}\n{self.clean.key}\n")):
            path = home / ".ssh" / name
            path.write_text(text, encoding="ascii")
            path.chmod(0o600)
            shutil.chown(path, self.debora.name)
        # make ran before the tests.
        commands = "".join(f"{line}\n" for line in self.steps["first"].splitlines() if line != "make")
        check(UPDATE in commands, f"the first lines are {commands}")
        commands = commands.replace(UPDATE, update or UPDATE)
        started = time.monotonic()
        done = subprocess.run(["setpriv", "--reuid", self.debora.name, "--clear-groups", "bash", "-uc", commands],
                              cwd=folder, env={"PATH": os.environ["PATH"], "HOME": str(home)}, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        check(done.returncode == 1, f"the first lines: status {done.returncode}: {done.stdout}")
        check(time.monotonic() - started < 60, "the first lines take more than a minute")
        said = done.stdout.replace(str(home), "/home/debora")
        said = re.sub(r"installed, \d+ records", "installed, 3700000 records", said)
        said = re.sub(r" SHA256:\S{43}( \S+@\S+)?", " SHA256:", said)
        printed = re.sub(r" SHA256:\S{43}", " SHA256:", PRINTED.search(
            (ROOT / "README.md").read_text(encoding="utf-8"))[1])
        check(sorted(said.splitlines()) == sorted(printed.splitlines()), f"the first lines print\n{done.stdout}")
        self.ok(f"the first lines, as an ordinary user:\n{done.stdout}")

    def tell_why(self):
        """debora's administrator has the fingerprint from the log. The answer says where the private half lies."""
        done = self.keyveto("why", self.weak.key.fingerprint)
        for words in ("debianssl", NEWER[:10], f"https://github.com/badkeys/debianopenssl/blob/main/{WEAK_KEY_PATH}"):
            check(words in done.stdout, f"keyveto why does not say {words}: {done.stdout}{done.stderr}")
        self.ok(f"keyveto why: {done.stdout}")

    def stay_current(self):
        """The timer's service fetches a newer list, and nothing if there is none."""
        self.follow_service("already current")
        newer = keys.generate(self.scratch)
        self.badkeys.add(str(newer.key), NEWER)
        said = self.follow_service("updated")
        check(NEWER[:10] in said, f"the newer list is not installed: {said}")
        said = self.keyveto("check", newer.key.path, status=1).stdout
        check("[/var/lib/keyveto/badkeys.dat debianssl]" in said, f"the newer list is not consulted: {said}")

    def follow_service(self, says):
        """Does what the timer's service does. Returns what it printed."""
        self.steps["service"] = re.search("^ExecStart=(.*)$", UNIT.read_text(encoding="ascii"), re.MULTILINE)[1]
        said = self.follow("service")
        check(says in said, f"{says} is not what the service says: {said}")
        return said

    @staticmethod
    def keyveto(*words, status=None):
        done = subprocess.run(["/usr/bin/keyveto", *map(str, words)], capture_output=True, text=True, check=False)
        check(status in (None, done.returncode), f"keyveto {words}: status {done.returncode}: {done.stderr}")
        return done

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
