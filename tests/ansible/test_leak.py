# SPDX-License-Identifier: ISC
"""The playbook leak: a key that leaked is refused on a host. tests/fleet/drill.py has a hundred, and a publisher."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import keys
from ansible_machine import authorize
from program import contains, equal, keyveto

pytestmark = pytest.mark.throwaway
CONFIG = Path("/etc/keyveto/keyveto.conf")


@pytest.fixture(name="leaked")
def fixture_leaked(machine):
    """A key that dora has beside that of the administrator. keyveto is enabled."""
    keyveto("sshd", "enable", "--reload", status=0)
    leaked = keys.generate(machine.scratch)
    for name in ("dora", "bob"):
        if not Path(f"/home/{name}").exists():
            subprocess.run(["useradd", "-m", name], check=True)
        authorize(name, f"/home/{name}")
    authorize("dora", "/home/dora", machine.admin.key, leaked.key)
    assert machine.enters(leaked, "dora")
    return leaked


def leak(machine, key, *words, **variables):
    """Runs the playbook. Returns what Ansible told, and what the report says of the host."""
    folder = machine.scratch / "leak"
    shutil.rmtree(folder, ignore_errors=True)
    done = machine.run("leak", *words, keyveto_leak_key=str(key), keyveto_leak_dir=str(folder), **variables)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    lines = (folder / "report.txt").read_text(encoding="utf-8").splitlines()
    contains(done.text, *lines)
    return done, {one["host"]: one for one in report["hosts"]}["here"]


@pytest.mark.parametrize("form", ["public", "private", "fingerprint"])
def test_a_key_in_any_form_is_refused(machine, leaked, form):
    key = {"public": leaked.key.path, "private": leaked.path, "fingerprint": leaked.key.fingerprint}[form]
    before = CONFIG.read_bytes()
    done, told = leak(machine, key, "--check")
    equal((told["outcome"], told["accounts"]), ("asked", [{"account": "dora", "locked_out": False}]))
    assert CONFIG.read_bytes() == before and machine.enters(leaked, "dora")
    done, told = leak(machine, key, keyveto_leak_reason="found in a log")
    equal((told["outcome"], told["listed"], told["guarded"], told["keys"]), (
        "refused", True, True, [leaked.key.fingerprint]))
    contains(CONFIG.read_text(encoding="ascii"), f"DenyKey {leaked.key.fingerprint} found in a log\n")
    assert not machine.enters(leaked, "dora") and machine.enters(machine.admin)
    assert leaked.path.read_text(encoding="ascii").splitlines()[1] not in done.text
    assert not leak(machine, key, keyveto_leak_reason="found in a log")[0].changed


def test_nobody_is_locked_out_unasked(machine, leaked):
    """Neither bob nor root unless somebody accepts it, and never the account that Ansible comes as."""
    for name, home, lines, reason in (("bob", "/home/bob", [leaked.key], "bob would be locked out"),
                                      ("root", "/root", [machine.admin.key, leaked.key], "root has the key")):
        authorize(name, home, *lines)
        done, told = leak(machine, leaked.key.path)
        equal((done.status, told["outcome"], told["reason"]), (
            2, "stopped", f"{reason}; keyveto_accept_refused goes on"))
        assert machine.enters(leaked, name)
        done, told = leak(machine, leaked.key.path, keyveto_accept_refused=True)
        equal((done.status, told["outcome"]), (0, "refused"))
        assert not machine.enters(leaked, name)
        keyveto("deny", "--remove", leaked.key.fingerprint, status=0)
        authorize(name, home, machine.admin.key)
    done, told = leak(machine, machine.admin.key.path, keyveto_accept_refused=True)
    equal((done.status, told["outcome"]), (2, "stopped"))
    contains(told["reason"], "root, the account that Ansible logs in as, would be locked out")
    assert machine.enters(machine.admin)


def test_a_claim_needs_a_proof_where_that_is_asked_for(machine, leaked):
    other = keys.generate(machine.scratch)
    for one in (leaked, other):
        keys.prove_leak(one)
    both = machine.scratch / "both.pub"
    both.write_text(f"{leaked.key}\n{machine.admin.key}\n", encoding="ascii")
    proof, of_another = (f"{one.path}.proof.pem" for one in (leaked, other))
    for key, proofs in ((leaked.key.path, []), (leaked.key.path, [of_another]), (both, [proof]),
                        (leaked.key.fingerprint, [proof])):
        done, told = leak(machine, key, keyveto_leak_proof_required=True, keyveto_leak_proofs=proofs)
        equal((done.status, told["outcome"]), (2, "failed"), done.text)
        assert machine.enters(leaked, "dora") and machine.enters(machine.admin)
    _, told = leak(machine, leaked.key.path, keyveto_leak_proof_required=True, keyveto_leak_proofs=[proof])
    equal(told["outcome"], "refused")
    assert not machine.enters(leaked, "dora") and machine.enters(machine.admin)


def test_a_host_that_is_not_guarded_is_told(machine, leaked):
    keyveto("sshd", "disable", "--reload", status=0)
    done, told = leak(machine, leaked.key.path)
    equal((done.status, told["outcome"], told["listed"], told["refused"]), (2, "failed", True, False))
    contains(told["reason"], "not enabled in sshd")
