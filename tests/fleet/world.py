# SPDX-License-Identifier: ISC
"""What the parts share: logins of all people, commands of the administrator, and what Ansible says of each host."""

import concurrent.futures
import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from bench import check
from box import ENVIRONMENT
from readme import PACKAGES, ROOT, Readme
from shapes import SILENT

HERE = Path(__file__).resolve().parent
# A file system in memory is mounted here, in a mount namespace of this run.
SCRATCH = ROOT / "build/fleet"


@dataclass
class Said:
    """What Ansible printed, and the result of each task on each host."""
    status: int
    text: str
    results: list

    def of(self, host, *outcomes):
        return [one for one in self.results if one["host"] == host and (not outcomes or one["outcome"] in outcomes)]

    def changed(self):
        """The hosts on which a task has changed something, or would."""
        return {one["host"] for one in self.results if one["result"].get("changed")}

    def hosts(self, *outcomes):
        return {one["host"] for one in self.results if one["outcome"] in outcomes}

    def failures(self, host):
        """Why a host failed."""
        return [one["result"].get("msg", one["result"]) for one in self.of(host, "failed", "unreachable")]

    def diffs(self, host):
        """What changes on a host, as --diff tells."""
        return [one["result"]["diff"] for one in self.of(host) if one["result"].get("diff")]


class World:
    """What the parts share."""

    def __init__(self, fleet, build):
        self.fleet, self.build = fleet, build
        self.before = {}        # what each visit saw before the rollout
        self.etc = {}           # what each host had then, of sshd and PAM
        self.admin = {}         # and of root's keys
        self.readme = Readme()
        self.folder = ROOT      # on the controller: a clone of keyveto

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

    def prepare_controller(self):
        """What an administrator has before README's first command: the inventory, the variables, the list."""
        box = self.fleet.controller
        lines = [*(f"{shape.name} {shape.inventory}".strip() for shape in self.fleet.shapes.values()),
                 "", "[all:vars]", "ansible_user=root", "ansible_python_interpreter=/usr/bin/python3", ""]
        box.path(f"{self.folder}/hosts.ini").write_text("\n".join(lines), encoding="ascii")
        box.run(f"dpkg -i {PACKAGES} >/dev/null")
        keys = " ".join(str(one.key.path) for one in (self.fleet.listed, self.fleet.leaked_admin))
        box.run(f"mkdir -p lists && keyveto list create lists/badkeys.dat --id 1 --name leaks {keys}")
        self.set_variables(self.readme.variables)

    def set_variables(self, text):
        path = self.fleet.controller.path(f"{self.folder}/{self.readme.variables_file}")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def of_fate(self, *fates):
        return [name for name, shape in self.fleet.shapes.items() if shape.fate in fates]

    def ansible(self, command, status=None, *more):
        """Runs a command on the controller, as the administrator there. Returns a Said. status is what it must be."""
        results = SCRATCH / "results"
        results.unlink(missing_ok=True)
        environment = (*ENVIRONMENT, "LC_ALL=C.UTF-8", "ANSIBLE_NOCOLOR=1", f"ANSIBLE_CALLBACK_PLUGINS={HERE}/callback",
                       "ANSIBLE_CALLBACKS_ENABLED=kvresults", "ANSIBLE_LOAD_CALLBACK_PLUGINS=1",
                       f"KV_FLEET_RESULTS={results}", *more)
        done = self.fleet.controller.attempt(command, environment)
        check(status in (None, done.returncode), f"{command}: status {done.returncode}: {done.stdout[:4000]}")
        lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
        return Said(done.returncode, done.stdout, [json.loads(line) for line in lines])
