# SPDX-License-Identifier: ISC
"""The parts of the rollout, in their order. Each takes the counts of the run, and the world."""

from bench import check
from shapes import SILENT
from world import UNREACHABLE


def plain_ssh(part, world):
    """Before the rollout, each login does what its account's keys say."""
    world.before = world.visit_all(world.fleet.hosts)
    for name, host in world.fleet.hosts.items():
        for visit in host.visits:
            seen = world.before[name, visit.title]
            check(seen.entered == visit.known, f"{name}: {visit.title}: {seen}")
        part.ok(f"{name} ({world.fleet.shapes[name].about}): {len(host.visits)} logins as before keyveto")


def ping(part, world):
    """Ansible reaches every host but the one that says nothing, and waits no longer for it than it is told."""
    with world.silence():
        said = world.ansible("ansible all -m ping", UNREACHABLE)
    for name, shape in world.fleet.shapes.items():
        word = "UNREACHABLE!" if shape.fate == SILENT else "SUCCESS"
        check(f"{name} | {word}" in said.text, f"ping of {name} is not {word}: {said.text}")
    part.ok(f"Ansible's ping: {len(world.fleet.hosts) - 1} answer, one does not")
