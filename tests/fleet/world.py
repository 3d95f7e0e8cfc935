# SPDX-License-Identifier: ISC
"""What the parts share: logins of all people, commands of the administrator, and what Ansible says of each host."""

import concurrent.futures
import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from box import ENVIRONMENT
from shapes import SILENT

HERE = Path(__file__).resolve().parent
# A file system in memory is mounted here, in a mount namespace of this run.
SCRATCH = HERE.parent.parent / "build/fleet"
UNREACHABLE = 4        # the exit status of ansible


@dataclass
class Said:
    """What Ansible printed, and the result of each task on each host."""
    text: str
    results: list

    def of(self, host, *outcomes):
        return [one for one in self.results if one["host"] == host and (not outcomes or one["outcome"] in outcomes)]

    def changed(self):
        """The hosts on which a task has changed something, or would."""
        return {one["host"] for one in self.results if one["result"].get("changed")}

    def hosts(self, *outcomes):
        return {one["host"] for one in self.results if one["outcome"] in outcomes}

    def diffs(self, host):
        """What changes on a host, as --diff tells."""
        return [one["result"]["diff"] for one in self.of(host) if one["result"].get("diff")]


class World:
    """What the parts share."""

    def __init__(self, fleet, build):
        self.fleet, self.build = fleet, build
        self.before = {}        # what each visit saw before the rollout

    def visit_all(self, hosts):
        """Makes all visits of these hosts: a dict from (host, title) to what was seen. Hosts are visited at once."""
        def of_host(name):
            return [((name, visit.title), visit.act()) for visit in self.fleet.hosts[name].visits]
        with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
            return dict(pair for pairs in pool.map(of_host, hosts) for pair in pairs)

    @contextlib.contextmanager
    def silence(self):
        """Meanwhile the sshd of the silent hosts is frozen: it accepts connections, and says nothing."""
        silent = [self.fleet.hosts[name] for name, shape in self.fleet.shapes.items() if shape.fate == SILENT]
        for host in silent:
            host.freeze_sshd(True)
        try:
            yield
        finally:
            for host in silent:
                host.freeze_sshd(False)

    def write_inventory(self):
        lines = ["[servers]", *(f"{shape.name} {shape.inventory}".strip() for shape in self.fleet.shapes.values()),
                 "", "[servers:vars]", "ansible_user=root", "ansible_python_interpreter=/usr/bin/python3", ""]
        self.fleet.controller.path("/etc/ansible").mkdir(exist_ok=True)
        self.fleet.controller.path("/etc/ansible/hosts").write_text("\n".join(lines), encoding="ascii")

    def ansible(self, command, status=0, *more):
        """Runs a command on the controller, as the administrator there. Returns a Said."""
        results = SCRATCH / "results"
        results.unlink(missing_ok=True)
        environment = (*ENVIRONMENT, "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", f"ANSIBLE_CALLBACK_PLUGINS={HERE}/callback",
                       "ANSIBLE_CALLBACKS_ENABLED=kvresults", f"KV_FLEET_RESULTS={results}", *more)
        text = self.fleet.controller.run(command, status, environment)
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
        return Said(text, [json.loads(line) for line in lines])
