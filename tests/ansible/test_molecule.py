# SPDX-License-Identifier: ISC
"""The scenario of molecule that the collection has, without molecule: its playbooks in the order of molecule test.

Its two hosts are in a network of their own. The collection is the one of the tarball.
"""

import json
import os
import re
import subprocess

import pytest
import yaml

from ansible_machine import COLLECTION
from program import ROOT, contains, equal


@pytest.fixture(name="network")
def fixture_network():
    """The words that start a program in a network that has nothing but a loopback."""
    with subprocess.Popen(["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"],
                          stdout=subprocess.PIPE) as holder:
        equal(holder.stdout.readline(), b"up\n")
        yield ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
        holder.kill()


def packages():
    found = [path for name in ("keyveto", "libpam-keyveto") for path in (ROOT / "build/deb").glob(f"{name}_*.deb")]
    equal(len(found), 2, "type make deb first")
    return found


class Molecule:
    """What molecule does for a scenario: the environment, the inventory, and one playbook for each step."""

    def __init__(self, folder, network):
        self.network, self.ephemeral = network, folder / "ephemeral"
        self.ephemeral.mkdir()
        self.instances = self.ephemeral / "instance_config.yml"
        self._install(folder)
        self.scenario = folder / "ansible_collections/keyveto/keyveto/extensions/molecule/default"
        self.settings = yaml.safe_load((self.scenario / "molecule.yml").read_text(encoding="utf-8"))
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_COLLECTIONS_PATH": str(folder), "ANSIBLE_HOST_KEY_CHECKING": "0",
            "ANSIBLE_SSH_CONTROL_PATH_DIR": str(folder / "cp"),
            "MOLECULE_FILE": str(self.scenario / "molecule.yml"), "MOLECULE_INSTANCE_CONFIG": str(self.instances),
            "MOLECULE_EPHEMERAL_DIRECTORY": str(self.ephemeral),
            "KEYVETO_PACKAGES": " ".join(map(str, packages()))}

    @staticmethod
    def _install(folder):
        """Makes the tarball, and unpacks it."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8"}

        def galaxy(*words):
            subprocess.run(["ansible-galaxy", "collection", *words], check=True, capture_output=True, env=environment)

        galaxy("build", "--output-path", folder, COLLECTION)
        galaxy("install", "-p", folder, *folder.glob("*.tar.gz"))

    def inventory(self):
        """As molecule writes it, from what create.yml said."""
        said = yaml.safe_load(self.instances.read_text(encoding="utf-8")) if self.instances.exists() else []
        more = self.settings["provisioner"]["inventory"]["host_vars"]
        hosts = {one["instance"]: {
            "ansible_host": one["address"], "ansible_port": one["port"], "ansible_user": one["user"],
            "ansible_private_key_file": one["identity_file"],
            "ansible_ssh_common_args": "-o UserKnownHostsFile=/dev/null -o ControlMaster=auto -o ControlPersist=60s "
                                       "-o IdentitiesOnly=yes -o StrictHostKeyChecking=no",
            **{f"ansible_{name}": one[name] for name in ("become_method", "become_pass") if name in one},
            **more.get(one["instance"], {})} for one in said}
        path = self.ephemeral / "hosts.json"
        path.write_text(json.dumps({"all": {"hosts": hosts}}), encoding="ascii")
        return path

    def step(self, name, *options):
        """Runs the playbook of a step. Returns its status and what it printed."""
        playbook = {"idempotence": "converge"}.get(name, name)
        done = subprocess.run([*self.network, "ansible-playbook", "-i", self.inventory(), *options,
                               self.scenario / f"{playbook}.yml"], env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
        return done.returncode, done.stdout

    def ok(self, name, *options):
        status, said = self.step(name, *options)
        equal(status, 0, f"{name}: {said}")
        return said

    def processes(self):
        """The processes of the hosts."""
        found = subprocess.run(["pgrep", "-f", self.scenario / "files/host"], stdout=subprocess.PIPE, check=False)
        return found.stdout.split()


@pytest.fixture(name="molecule")
def fixture_molecule(tmp_path, network):
    made = Molecule(tmp_path, network)
    yield made
    made.step("destroy")


def test_the_scenario_of_the_tarball(molecule):
    """Two hosts of different shape: one that Ansible enters as root; sudo with a password, PyPy and no PAM."""
    steps = molecule.settings["scenario"]["test_sequence"]
    equal(steps, ["destroy", "syntax", "create", "prepare", "converge", "idempotence", "verify", "cleanup", "destroy"])
    for name in sorted(set(steps) - {"syntax", "idempotence"}):
        molecule.ok(name, "--syntax-check")
    for name in steps[2:4]:
        molecule.ok(name)
    equal(len(molecule.processes()), 4)
    # Before the rollout, it must find that the key gets in.
    status, said = molecule.step("verify")
    equal(status, 2, said)
    said = molecule.ok("converge")
    for host in ("plain", "other"):
        contains(said, f"{host}: enabled, proved")
    equal(re.findall("changed=[1-9]", molecule.ok("idempotence")), [])
    for name in steps[6:]:
        molecule.ok(name)
    equal(molecule.processes(), [])
    equal(molecule.ok("destroy").count("changed=0"), 1)
