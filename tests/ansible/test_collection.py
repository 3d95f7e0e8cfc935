# SPDX-License-Identifier: ISC
"""The summary at the end of a run, variables that are wrong, an OpenSSH that is too old, and what the tarball has."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from ansible_machine import COLLECTION, authorize
from program import contains, equal
from sshd_machine import leaked_key

ROLES = sorted(path.name for path in (COLLECTION / "roles").iterdir())


def summary(done):
    """The lines after the heading of the summary."""
    head, _, rest = done.text.partition("KEYVETO *")
    assert head and rest, done.text
    return [line for line in rest.splitlines()[1:] if line]


@pytest.mark.throwaway
def test_a_run_ends_with_a_line_for_each_host(machine):
    with open(machine.inventory, "a", encoding="ascii") as inventory:
        inventory.write("gone ansible_host=127.0.0.1 ansible_port=9 ansible_user=root\n")
    authorize("root", "/root", machine.admin.key, leaked_key())
    here, total = summary(machine.run("rollout", "--limit", "here"))
    contains(here, "here: refused: sshd stays as it is: root")
    equal(total, "1 host: 1 refused")
    authorize("root", "/root", machine.admin.key)
    gone, here, total = summary(machine.run("rollout"))
    contains(gone, "gone: unreachable: ", "127.0.0.1 port 9")
    equal((here, total), ("here: enabled, proved", "2 hosts: 1 enabled, 1 proved, 1 unreachable"))
    equal(summary(machine.run("rollout", "--limit", "here")), [
        "here: enabled, proved: as it was", "1 host: 1 enabled, 1 proved"])
    gone, total = summary(machine.run("doctor", "--limit", "gone"))
    equal((gone.split(":")[:2], total), (["gone", " unreachable"], "1 host: 1 unreachable"))
    equal(summary(machine.run("disable", "--limit", "here")), ["here: disabled", "1 host: 1 disabled"])


@pytest.mark.throwaway
@pytest.mark.parametrize(("playbook", "variables", "words"), [
    # Only the second play of rollout takes these.
    ("rollout", {"keyveto_probe_key_type": "dsa"}, ("keyveto_probe_key_type", "ed25519, ecdsa, rsa")),
    ("rollout", {"keyveto_probe_timeout": "soon"}, ("keyveto_probe_timeout", "int")),
    ("rollout", {"keyveto_probe": "perhaps"}, ("keyveto_probe", "always")),
    ("rollout", {"keyveto_warn": "perhaps"}, ("keyveto_warn", "bool")),
    ("rollout", {"keyveto_weak_timer": False}, ("keyveto_weak_timer is gone: remove it",)),
    ("rehearse", {"keyveto_deny_weak": True}, ("keyveto_deny_weak is gone: remove it",)),
    ("audit", {"keyveto_report_sarif": "keys.sarif"}, ("keyveto_report_sarif is gone; remove it",)),
    ("rehearse", {"keyveto_parts": ["gaurd"]}, ("keyveto_parts", "guard, pam")),
    ("doctor", {"keyveto_doctor_fail_on": "brokn"}, ("keyveto_doctor_fail_on", "warning, broken, never")),
    ("install", {"keyveto_disable_gpg_check": "perhaps"}, ("keyveto_disable_gpg_check", "bool")),
    ("audit", {"keyveto_timeout": "soon", "keyveto_report_command": "/bin/true"}, ("keyveto_timeout", "int")),
])
def test_a_wrong_variable_is_told_before_anything_changes(machine, playbook, variables, words):
    before = Path("/etc/keyveto/keyveto.conf").read_bytes()
    done = machine.run(playbook, keyveto_conf="Message no\n", **variables)
    equal(done.status, 2, done.text)
    contains(" ".join(str(result) for _, outcome, result in done.results if outcome == "failed"), *words)
    equal(Path("/etc/keyveto/keyveto.conf").read_bytes(), before)
    assert not machine.guarded()


@pytest.mark.throwaway
@pytest.mark.parametrize("playbook", ["install", "rollout"])
def test_an_older_openssh_is_refused(machine, playbook):
    """The sshd of EL 9 knows no -V, and tells its version with its usage."""
    old = machine.scratch / "sshd"
    old.write_text("#!/bin/sh\necho unknown option -- V >&2\necho OpenSSH_8.7p1, OpenSSL 3.0.7 >&2\nexit 1\n",
                   encoding="ascii")
    old.chmod(0o755)
    contains(machine.fails(playbook, keyveto_sshd=str(old)), "OpenSSH 8.7", "9.2 or later", "EL")
    machine.ok("install")


@pytest.mark.throwaway
def test_defaults_of_the_group_reach_a_module(machine):
    playbook = machine.scratch / "defaults.yml"
    playbook.write_text(json.dumps([{
        "hosts": "all", "gather_facts": False,
        "module_defaults": {"group/keyveto.keyveto.keyveto": {"command": "/nowhere/keyveto"}},
        "tasks": [{f"keyveto.keyveto.{name}": {}} for name in ("doctor",)]}]), encoding="ascii")
    contains(machine.fails(playbook), "/nowhere/keyveto cannot be run")


def test_the_tarball_has_what_galaxy_shows(tmp_path):
    subprocess.run(["ansible-galaxy", "collection", "build", "--output-path", tmp_path, COLLECTION], check=True,
                   capture_output=True, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C.UTF-8"})
    tarball, = tmp_path.glob("*.tar.gz")
    with tarfile.open(tarball) as tar:
        files = {one.name: tar.extractfile(one).read() for one in tar.getmembers() if one.isfile()}
    equal(files["LICENSE"], (COLLECTION.parents[1] / "LICENSE").read_bytes())
    for role in ROLES:
        contains(files[f"roles/{role}/README.md"].decode(), f"keyveto.keyveto.{role}")
    contains(files["CHANGELOG.md"].decode(), json.loads(files["MANIFEST.json"])["collection_info"]["version"])
