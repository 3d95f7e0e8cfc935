#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""A rollout over eleven hosts of different shape, by the collection's README, with Debian's Ansible over ssh.

    python3 tests/fleet/run.py [--build DIR] [PART...]

Each host is a throw-away root with its own sshd, and so is the controller. Nothing of them is left when this process
ends, even if it is killed: see bed.py.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("e2e", "neighbours", "packaging", "cli")]

import cost
import drill
import killed
import page
import product
import rollout
import sandbox
from bed import Fleet
from shapes import SHAPES
from steps import Part
from world import SCRATCH, World

TOOLS = ("ip", "nsenter", "unshare", "ansible", "ansible-playbook", "ansible-galaxy")
PARTS = {function.__name__: function for function in (
    rollout.plain_ssh, rollout.ping, rollout.install, rollout.told_before, rollout.rollout, rollout.again,
    rollout.rebooted, page.audit, page.page, rollout.disable, cost.cost,
    killed.killed)}
ALWAYS = (rollout.plain_ssh,)
# It has a fleet of its own.
DRILL = drill.drill.__name__


def with_fleet(part, shapes, work):
    """Makes a fleet, and calls work with it."""
    fleet, started = Fleet(SCRATCH, shapes), time.monotonic()
    try:
        fleet.start()
        part.ok(f"{len(fleet.hosts)} hosts and a controller, in {time.monotonic() - started:.0f} s")
        work(fleet)
    finally:
        fleet.close()


def run_part(part, name, function, world):
    began = time.monotonic()
    part.run(function, world)
    print(f"       {name}: {time.monotonic() - began:.0f} s", flush=True)


def play(part, fleet, build, wanted, stay):
    """The parts of the rollout; or stays until it is killed."""
    if stay:
        signal.pause()
    world = World(fleet, build)
    world.prepare_controller()
    for name, function in PARTS.items():
        if name in wanted or function in ALWAYS:
            run_part(part, name, function, world)


def in_own_mounts():
    """Goes on in a mount namespace with a scratch folder in memory, so that nothing is left if it is killed."""
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, __file__, "--inside",
                          *sys.argv[1:]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=lambda path: Path(path).resolve(), default=ROOT / "build")
    parser.add_argument("--hosts", type=lambda text: text.split(","), default=[shape.name for shape in SHAPES],
                        help="some of the hosts, separated by commas; plain must be one")
    parser.add_argument("--followers", type=int, default=drill.HOSTS, help="hosts of the drill")
    parser.add_argument("--stay", action="store_true", help="make the hosts, and stay until it is killed")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("parts", metavar="PART", nargs="*", default=[*PARTS, DRILL], help=", ".join([*PARTS, DRILL]))
    options = parser.parse_args()
    unknown = set(options.parts) - {*PARTS, DRILL}
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    try:
        product.check_machine(options.build)
        missing = [tool for tool in TOOLS if not any(os.access(f"{folder}/{tool}", os.X_OK) for folder in
                                                     ("/usr/sbin", "/usr/bin", "/sbin", "/bin"))]
        if missing:
            raise product.CannotRun(f"{', '.join(missing)} not installed: type scripts/deps fleet")
        if not options.inside:
            in_own_mounts()
        SCRATCH.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", SCRATCH], check=True)
        part = Part()
        if options.stay or set(options.parts) != {DRILL}:
            with_fleet(part, [shape for shape in SHAPES if shape.name in options.hosts],
                       lambda fleet: play(part, fleet, options.build, options.parts, options.stay))
        if DRILL in options.parts and not options.stay:
            with_fleet(part, drill.shapes(options.followers), lambda fleet: run_part(
                part, DRILL, drill.drill, World(fleet, options.build)))
        return part.status()
    except (product.CannotRun, sandbox.Refused) as reason:
        print(f"fleet: {reason}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
