# SPDX-License-Identifier: ISC
"""What a rollout to 200 hosts costs the controller, compared with Ansible's own ping and copy of the same list.

The hosts are simulated (stub.py): what a host answers is recorded on one host, over ssh, and played to 200. So the
processor time is the controller's alone. It is compared within one run, in turns. How many programs and files are sent
to each host does not depend on the machine at all.
"""

import collections
import json
import random
import resource

from bench import check
from world import HERE, SCRATCH

HOSTS, FORKS, ROUNDS = 200, 10, 3
RECORDS = 250_000       # of the list: 4 MB
LIST = SCRATCH / "cost.dat"
ROLLOUT = "keyveto.keyveto.rollout"
BASELINE = f"""\
- hosts: all
  gather_facts: false
  become: true
  tasks:
    - ansible.builtin.ping:
    - ansible.builtin.copy:
        src: {LIST}
        dest: /var/lib/copied.dat
        mode: "0644"
"""


def make_list(path, n):
    """An exact list of that many random records."""
    draw = random.Random("cost")
    path.write_bytes(b"".join(sorted(draw.randbytes(15) + b"\1" for _ in range(n))))


class Simulation:
    """One playbook, recorded on one host and played to many."""

    def __init__(self, world, name, playbook, *more):
        self.world, self.name = world, name
        self.command = f"ansible-playbook {playbook} {' '.join(more)}"
        self.answers, self.sent = SCRATCH / f"{name}.answers", SCRATCH / f"{name}.sent"
        self.answers.mkdir()

    def environment(self, connection):
        return (f"ANSIBLE_CONNECTION_PLUGINS={HERE}/connection", f"ANSIBLE_TRANSPORT={connection}",
                "ANSIBLE_CALLBACKS_ENABLED=",
                f"ANSIBLE_FORKS={FORKS}", f"KV_FLEET_ANSWERS={self.answers}", f"KV_FLEET_SENT={self.sent}")

    def record(self, host):
        """Runs it on a real host, and keeps what that answers."""
        said = self.world.ansible(f"{self.command} -i hosts.ini --limit {host}", 0, *self.environment("kvrecord"))
        self.sent.unlink()
        return said

    def play(self):
        """Processor seconds of the controller, and what was sent to each host: {host: {kind: [size of each]}}."""
        inventory = SCRATCH / "simulated.ini"
        inventory.write_text("".join(f"sim{number:03}\n" for number in range(HOSTS)) + "[all:vars]\n"
                             "ansible_user=root\nansible_python_interpreter=/usr/bin/python3\n", encoding="ascii")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = self.world.ansible(f"{self.command} -i {inventory}", 0, *self.environment("kvreplay"))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        sent = collections.defaultdict(lambda: collections.defaultdict(list))
        for line in self.sent.read_text(encoding="utf-8").splitlines():
            host, kind, size, _ = line.split(" ", 3)
            sent[host][kind].append(int(size))
        self.sent.unlink()
        check(len(sent) == HOSTS, f"{self.name}: only {len(sent)} hosts: {said.text[-2000:]}")
        return seconds, sent


class Sent:
    """What one host was sent. All hosts must have been sent the same."""

    def __init__(self, sent):
        kinds = {(len(one["program"]), len(one["file"]), sum(one["file"])) for one in sent.values()}
        check(len(kinds) == 1, f"not every host was sent the same: {kinds}")
        self.programs, self.files, self.size = kinds.pop()

    def __str__(self):
        return f"{self.programs} modules and {self.files} files ({self.size} bytes) a host"


def cost(part, world):
    """Both playbooks, on 200 hosts; and the rollout again, when there is nothing to do."""
    make_list(LIST, RECORDS)
    # Below the same group_vars, so that both have the same variables.
    playbook, variables = f"{world.folder}/baseline.yml", SCRATCH / "variables.json"
    world.fleet.controller.path(playbook).write_text(BASELINE, encoding="ascii")
    variables.write_text(json.dumps({
        "keyveto_lists": [{"src": str(LIST)}], "keyveto_accept_refused": True,
        # There is nobody to log in to.
        "keyveto_probe": False}), encoding="ascii")
    seconds, sent, simulations = collections.Counter(), {}, {}
    for name, words in (("ping and copy", (playbook,)), ("the rollout", (ROLLOUT, "-e", f"@{variables}")),
                        ("the rollout, again", (ROLLOUT, "-e", f"@{variables}"))):
        simulations[name] = Simulation(world, name.replace(" ", "-").replace(",", ""), *words)
        simulations[name].record("plain")
    # In turns, since other programs on this machine cost processor time, too.
    for _ in range(ROUNDS):
        for name, simulation in simulations.items():
            once, said = simulation.play()
            seconds[name] += once
            sent[name] = Sent(said)
    for name, said in sent.items():
        part.ok(f"{name}, {HOSTS} hosts: {seconds[name] / ROUNDS:.1f} s of the controller's processors, {said}")
    base, first, again = sent.values()
    check(first.programs <= base.programs and first.files <= base.files and first.size <= base.size,
          f"the rollout sends more than ping and copy: {first}, not {base}")
    check(again.programs < first.programs and again.files == 0, f"a second rollout sends {again}")
    share = seconds["the rollout"] / seconds["ping and copy"]
    # On an idle machine it is at most 1. Other programs make it vary.
    check(share < 1.1, f"a rollout costs the controller {share:.2f} of what ping and copy cost")
    part.ok(f"a rollout costs the controller {share:.2f} of what ping and copy cost, and again "
            f"{seconds['the rollout, again'] / seconds['ping and copy']:.2f}")
