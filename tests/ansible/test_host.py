# SPDX-License-Identifier: ISC
"""The task keyveto.keyveto.host: options from variables, its time, and what is on the host already."""

import json
import os
import re
from pathlib import Path

import pytest

import keys
from program import contains, equal, keyveto

pytestmark = pytest.mark.throwaway

STATE = Path("/var/lib/keyveto")


def playbook(machine, **options):
    """A playbook with one task, and its path."""
    path = machine.scratch / "one.yml"
    path.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "become": True,
                                 "tasks": [{"keyveto.keyveto.host": options}]}]), encoding="ascii")
    return path


def parts(machine, options, **variables):
    """Whether the guard and the module would come."""
    done = machine.ok(playbook(machine, state="rehearsed", **options), **variables)
    return done.last()["guard"], done.last()["pam"]


def test_options_come_from_variables(machine):
    """As a template in the task would give them; what the task says counts more."""
    both = parts(machine, {})
    assert both[0]
    module = (False, True)
    for value in (["pam"], "pam", '["pam"]', "{{ ['p' ~ 'am'] }}", "{{ more }}"):
        equal(parts(machine, {"variables": "warn, parts"}, keyveto_parts=value, more=["pam"]), module)
    equal(parts(machine, {"variables": ["parts"]}, keyveto_parts=["pam"]), module)
    for value in ([], "{{ omit }}"):
        equal(parts(machine, {"variables": ["parts"]}, keyveto_parts=value), both)
    equal(parts(machine, {"variables": ["parts"], "parts": ["pam"]}, keyveto_parts=["guard"]), module)
    equal(parts(machine, {"variables": ["warn"]}, keyveto_parts=["pam"]), both)


def test_a_variable_that_no_option_has(machine):
    contains(machine.fails(playbook(machine, variables="warn, accept_refusd")), "variables: there is none for accept_r")
    contains(machine.fails(playbook(machine, variables="timeout"), keyveto_timeout="soon"), "keyveto_timeout")


def test_a_host_that_the_inventory_does_not_name(machine):
    """Ansible knows localhost without it. It is enabled, too."""
    done = machine.ok("rollout", keyveto_hosts="localhost", keyveto_probe=False)
    assert done.last("ok", "localhost")["changed"], done.text
    assert machine.guarded()


def test_it_ends_when_its_time_is_over(machine):
    """Also where nothing of keyveto's has begun on the host."""
    slow = machine.scratch / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 20\n", encoding="ascii")
    slow.chmod(0o755)
    said = machine.fails("rollout", keyveto_timeout=1, ansible_python_interpreter=str(slow))
    contains(said, "this took longer than timeout allows, 1 seconds")


def make_list(machine, name):
    path = machine.scratch / name
    key = keys.generate(machine.scratch).key.path
    keyveto("list", "create", "--force", path, "--id", "1", "--name", "own", key, status=0)
    return {"src": str(path)}


def sent(machine, lists):
    """The numbers of the files that a rehearsal sends, .sources too. An sftp of ours notes that."""
    notes, sftp = machine.scratch / "notes", machine.scratch / "sftp"
    notes.write_text("", encoding="ascii")
    sftp.write_text(f'#!/bin/sh\ntee -a {notes} | sftp "$@"\n', encoding="ascii")
    sftp.chmod(0o755)
    done = machine.ok("rehearse", keyveto_lists=lists, ansible_sftp_executable=str(sftp))
    numbers = [int(number) for number in re.findall("/keyveto-([0-9]+)$", notes.read_text("ascii"), re.MULTILINE)]
    equal(done.changed, bool(numbers))
    for one in lists:
        path = Path(one["src"])
        equal((STATE / path.name).read_bytes(), path.read_bytes())
    return numbers


@pytest.mark.parametrize("tool", ["with sha256sum", "without sha256sum"])
def test_only_lists_that_are_not_there_are_sent(machine, tool):
    lists = [make_list(machine, name) for name in ("one.dat", "a list with 'quotes'.dat")]
    if tool.startswith("without"):
        os.rename("/usr/bin/sha256sum", "/usr/bin/sha256sum.away")
    try:
        equal(sent(machine, lists), [0, 1, 2, 3])
        equal(sent(machine, lists), [])
        lists[1] = make_list(machine, Path(lists[1]["src"]).name)
        equal(sent(machine, lists)[0], 2)
    finally:
        if tool.startswith("without"):
            os.rename("/usr/bin/sha256sum.away", "/usr/bin/sha256sum")


def test_a_pipe_in_the_place_of_a_list(machine):
    """Nobody waits for its writer."""
    os.mkfifo(STATE / "one.dat")
    contains(machine.fails("rehearse", keyveto_lists=[make_list(machine, "one.dat")]),
             "/var/lib/keyveto/one.dat is not a regular file")
    assert (STATE / "one.dat").is_fifo()
