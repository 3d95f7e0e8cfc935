# SPDX-License-Identifier: ISC
"""The collection's audit, lists, facts and doctor, over ssh."""

import json
from pathlib import Path

import pytest

import keys
from ansible_machine import authorize
from program import contains, equal, keyveto
from sshd_machine import leaked_key

pytestmark = pytest.mark.throwaway
STATE = Path("/var/lib/keyveto")
CONFIG = Path("/etc/keyveto/keyveto.conf")


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_host_has_a_file_also_one_that_does_not_answer(machine):
    with open(machine.inventory, "a", encoding="ascii") as inventory:
        inventory.writelines(f"{name} ansible_host=127.0.0.1 ansible_port=9 ansible_user=root\n"
                             for name in ("gone", "../../odd"))
    folder = machine.scratch / "audits"
    authorize("root", "/root", machine.admin.key, leaked_key())
    done = machine.run("audit", keyveto_audit_dir=str(folder), keyveto_report_command="/bin/true")
    equal(done.status, 2, done.text)
    equal({path.name for path in folder.iterdir()}, {"here.json", "gone.json", "%2e.%2f..%2fodd.json"})
    header, *found = lines_of(folder / "here.json")
    equal((header["header"], header["format"], header["host"], "answered" in header), (True, 1, "here", False))
    same = [json.loads(line) for line in keyveto("audit", "--json", status=1).stdout.splitlines()]
    places = [(one["file"], one["line"]) for one in same if one.get("verdict") == "listed"]
    equal([(one["file"], one["line"]) for one in found if one.get("verdict") == "listed"], places)
    equal(done.last()["file"] if "file" in done.last() else None, None)
    only, = lines_of(folder / "gone.json")
    equal((only["header"], only["host"], only["answered"]), (True, "gone", False))
    contains(only["reason"], "127.0.0.1")


def test_a_list_that_would_refuse_somebody_is_not_installed_on_a_guarded_host(machine):
    authorize("root", "/root", machine.admin.key)
    other = keys.generate(machine.scratch)
    lists = {name: machine.scratch / f"{name}.dat" for name in ("old", "new", "bad")}
    for name, of in (("old", [leaked_key()]), ("new", [leaked_key(), machine.admin.key, other.key])):
        keyveto("list", "create", lists[name], "--id", "1", "--name", name, *(key.path for key in of), status=0)
    lists["bad"].write_bytes(b"x" * 17)
    wanted = {name: [{"src": str(path), "dest": "/var/lib/keyveto/ours.dat"}] for name, path in lists.items()}
    machine.ok("rollout", keyveto_lists=wanted["old"])
    equal((STATE / "ours.dat").read_bytes(), lists["old"].read_bytes())
    contains(CONFIG.read_text(encoding="ascii"), "Blocklist /var/lib/keyveto/ours.dat\n")
    facts = machine.scratch / "facts.yml"
    facts.write_text("- hosts: all\n  gather_facts: false\n  tasks:\n    - keyveto.keyveto.facts:\n", encoding="ascii")
    told = machine.ok(str(facts)).last()["ansible_facts"]["keyveto"]
    equal((told["installed"], told["guarded"]), (True, True))
    contains(json.dumps(told["proved"]), "own=True,clean=True,listed=False")
    equal({one["file"]: one["kind"] for one in told["lists"]},
          {"/var/lib/keyveto/filter.pkbf": "filter", "/var/lib/keyveto/ours.dat": "list"})
    contains(machine.fails("rehearse", keyveto_lists=wanted["new"]), "would refuse keys that are let in now",
             "/root/.ssh/authorized_keys:1:")
    contains(machine.fails("rehearse", keyveto_lists=wanted["bad"]), "ours.dat was not installed")
    equal((STATE / "ours.dat").read_bytes(), lists["old"].read_bytes())
    contains(machine.fails("rehearse", keyveto_conf="Nonsense yes\n"), "was not changed", "Nonsense")
    assert machine.enters(machine.admin)


def test_keyveto_conf_is_replaced_but_for_the_lines_of_enable(machine):
    """Its own text is there, and a second run changes nothing."""
    machine.ok("rollout", keyveto_warn=True, keyveto_probe=False)
    text = "Filter /var/lib/keyveto/filter.pkbf\nMessage no\n"
    assert machine.ok("rehearse", "--check", keyveto_warn=True, keyveto_conf=text).changed
    assert machine.ok("rehearse", keyveto_warn=True, keyveto_conf=text).changed
    now = CONFIG.read_text(encoding="ascii")
    contains(now, "# BEGIN keyveto", "OnHit warn\n", text)
    assert not machine.ok("rollout", keyveto_warn=True, keyveto_conf=text, keyveto_probe=False).changed
    machine.ok("doctor")
    CONFIG.write_text(now + "Nonsense\n", encoding="ascii")
    contains(machine.fails("doctor"), "broken: config")
