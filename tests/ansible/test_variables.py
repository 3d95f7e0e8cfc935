# SPDX-License-Identifier: ISC
"""Each variable of each role and of rollout, with a value of a wrong type: the host fails before anything can change.

Each wrong value is on a host of its own, where nothing listens. So a task that would go there cannot pass for one that
refuses the value.
"""

import json

import pytest
import yaml

from ansible_machine import COLLECTION, Machine
from program import equal

ROLES = sorted(path.name for path in (COLLECTION / "roles").iterdir())
WRONG = {"str": {"no": "text"}, "path": ["no", "path"], "bool": "perhaps", "int": "soon", "list": {"no": "list"},
         "dict": "no mapping"}


def options_of(role):
    specs = yaml.safe_load((COLLECTION / "roles" / role / "meta/argument_specs.yml").read_text(encoding="utf-8"))
    return specs["argument_specs"]["main"]["options"]


def wrong_values(variable, option):
    """Some values that are wrong for the variable: [(name of a host, value)]."""
    yield variable, WRONG[option["type"]]
    if "choices" in option:
        yield f"{variable}-choice", ["nothing"] if option["type"] == "list" else "nothing"
    if option["type"] == "list":
        yield f"{variable}-element", [WRONG[option["elements"]]]
    if option["type"] == "dict":
        yield f"{variable}-unknown", {"delay": 1, "often": True}
        yield f"{variable}-inner", {"delay": "soon"}


def run(scratch, play, options):
    """Runs the play on a host for each wrong value. Returns what became of each: {host: (outcome, result)}."""
    hosts = {name: {name.partition("-")[0]: value} for variable, option in options.items()
             for name, value in wrong_values(variable, option)}
    made = Machine(scratch)
    made.inventory = scratch / "hosts.json"
    made.inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": {
        "ansible_host": "127.0.0.1", "ansible_port": 9, "ansible_python_interpreter": "/usr/bin/python3"}}}),
        encoding="ascii")
    path = scratch / "play.json"
    path.write_text(json.dumps(play), encoding="ascii")
    done = made.run(path)
    equal({name for name, _, _ in done.results}, set(hosts), done.text)
    return {name: (outcome, str(result)) for name, outcome, result in done.results}


def refused(ends):
    """Each host has failed, and its result names the variable."""
    equal([(name, outcome, result) for name, (outcome, result) in ends.items()
           if outcome != "failed" or name.partition("-")[0] not in result], [])


@pytest.mark.parametrize("role", ROLES)
def test_a_variable_of_a_wrong_type_is_refused_by_its_role(scratch, role):
    play = [{"hosts": "all", "gather_facts": False, "become": True, "roles": [f"keyveto.keyveto.{role}"]}]
    refused(run(scratch, play, options_of(role)))


def test_a_variable_of_a_wrong_type_is_refused_by_the_rollout(scratch):
    """Also those that only its second play takes."""
    options = {**options_of("rehearse"), **options_of("enable")}
    refused(run(scratch, [{"ansible.builtin.import_playbook": "keyveto.keyveto.rollout"}], options))
