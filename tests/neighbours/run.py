#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Logins beside SSSD, userdbctl, gitolite and a chrooted sftp group; an update from nginx; the keys in slapd.

    python3 tests/neighbours/run.py [--build DIR] [NEIGHBOUR...]

Each runs in a throw-away copy of this machine, where Debian's packages of the
neighbour are installed, and the machine's own sshd listens on port 22.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import chroot
import directory
import gitolite
import host
import keys
import nginx
import product
import sandbox
import sssd
import userdb
from clients import Clients
from logbook import Logbook
from machine import Machine
from stock import StockServer
from switch import Switch

NEIGHBOURS = {"sssd": sssd, "userdb": userdb, "gitolite": gitolite, "chroot": chroot}
ALONE = {"directory": directory, "nginx": nginx}    # make the roots that they need
FILTER = "/var/lib/keyveto/filter.pkbf"
CLOSING = re.compile(r"(\d+) passed, (\d+) failed\s*\Z")


class World:
    """What a neighbour's tests use, and the counts of passed and failed cases."""

    def __init__(self, scratch, build, log):
        self.machine, self.log, self.scratch = Machine(), log, scratch
        self.server, self.clients = StockServer(), Clients(scratch)
        self.keyveto = build / "keyveto"
        self.clean, self.listed, self.stranger = (keys.generate(scratch) for _ in range(3))
        self.passed = self.failed = 0
        self._noted = set()

    def expect(self, holds, title, otherwise):
        """Counts a case by holds. A failure does not end the run."""
        if holds:
            self.passed += 1
            print(f"ok     {title}")
        else:
            self.failed += 1
            print(f"FAILED {title}\n       {otherwise}")
        sys.stdout.flush()

    def note(self, *words):
        """Prints what a person sees, once."""
        if words not in self._noted:
            self._noted.add(words)
            print(f"seen   {'; '.join(words)}")

    def sshd(self, *words):
        """Runs `keyveto sshd`: (exit status, all output)."""
        done = self._run("sshd", *words)
        return done.returncode, done.stdout + done.stderr

    def status(self):
        return json.loads(self._run("status", "--json").stdout)

    def _run(self, *words):
        return subprocess.run([self.keyveto, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)


def play(name, build):
    """Plays one neighbour. This process is in its throw-away root."""
    neighbour = NEIGHBOURS[name]
    scratch, log = product.make_scratch(), Logbook()
    world = None
    try:
        host.install(*neighbour.PACKAGES)
        product.install(Machine(), build, scratch)
        world = World(scratch, build, log)
        keys.write_filter(FILTER, [world.listed.key])
        shutil.copy(ROOT / "etc/keyveto.conf", "/etc/keyveto/keyveto.conf")
        for path in Path("/etc/ssh/sshd_config.d").glob("*"):
            path.unlink()
        world.server.start()
        for arrangement in neighbour.arrange(world):
            Switch(world, arrangement).play()
    except Exception:
        print(f"FAILED {name}: the tests did not come to their end\n{traceback.format_exc()}")
        print(f"{world.passed if world else 0} passed, {(world.failed if world else 0) + 1} failed")
        return 1
    print(f"{world.passed} passed, {world.failed} failed")
    return world.failed != 0


def play_in_root(name, build):
    """The output of one neighbour, from a process whose root is thrown away."""
    done = subprocess.run([sys.executable, str(HERE / "run.py"), "--build", str(build), "--inside", name],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return name, done


def play_all(names, build):
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, done in pool.map(lambda name: play_in_root(name, build), names):
            print(done.stdout, end="", flush=True)
            counted = CLOSING.search(done.stdout)
            if counted is None or (done.returncode != 0 and counted[2] == "0"):
                print(f"FAILED {name}: ended with {done.returncode}, without a count")
                failed += 1
            else:
                passed, failed = passed + int(counted[1]), failed + int(counted[2])
    print(f"{passed} passed, {failed} failed")
    return failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=lambda path: Path(path).resolve(), default=ROOT / "build")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("neighbours", metavar="NEIGHBOUR", nargs="*", default=[*NEIGHBOURS, *ALONE],
                        help=", ".join((*NEIGHBOURS, *ALONE)))
    options = parser.parse_args()
    unknown = set(options.neighbours) - {*NEIGHBOURS, *ALONE}
    if unknown:
        parser.error(f"no such neighbour: {', '.join(sorted(unknown))}")
    try:
        product.check_machine(options.build)
        if not options.inside:
            return play_all(options.neighbours, options.build)
        if options.neighbours[0] in ALONE:
            return ALONE[options.neighbours[0]].play()
        if sandbox.inside():
            return play(options.neighbours[0], options.build)
        return sandbox.run([sys.executable, __file__, *sys.argv[1:]])
    except (product.CannotRun, sandbox.Refused) as reason:
        print(f"neighbours: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
