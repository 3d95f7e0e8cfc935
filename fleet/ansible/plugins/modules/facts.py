#!/usr/bin/python
# SPDX-License-Identifier: ISC
"""What keyveto says of a host, as facts."""

DOCUMENTATION = r"""
module: facts
short_description: Tells which lists a host has, which ways in are open and guarded, and how keyveto is
version_added: 1.0.0
author: The keyveto authors (@keyveto)
description:
  - Returns C(ansible_facts.keyveto). It changes nothing, and needs root on the host.
options:
  command:
    description: The program on the host.
    type: str
    default: keyveto
  sshd:
    description: The sshd of the host.
    type: path
    default: /usr/sbin/sshd
  doctor:
    description: Whether to tell all that C(keyveto status) finds.
    type: bool
    default: true
  timeout:
    description: Seconds that one call of C(keyveto) may take.
    type: int
    default: 300
attributes:
  check_mode:
    description: Changes nothing anyhow.
    support: full
"""

EXAMPLES = r"""
- name: See what is guarded
  keyveto.keyveto.facts:
  become: true

- name: Name hosts whose list is older than revision 12
  ansible.builtin.debug:
    msg: "{{ ansible_facts.keyveto.lists }}"
  when: ansible_facts.keyveto.lists | selectattr('revision', 'defined') | selectattr('revision', 'lt', 12) | list
"""

RETURN = r"""
ansible_facts:
  description: What is known of keyveto on this host.
  returned: always
  type: dict
  contains:
    keyveto:
      description: All of it.
      type: dict
      contains:
        installed:
          description: Whether the program is there.
          type: bool
        version:
          description: Its version, or null.
          type: str
        lists:
          description: The filters and exact lists of keyveto.conf, with what C(keyveto status --json) says of them,
            with C(kind) and with C(sha256).
          type: list
          elements: dict
        ways:
          description: The ways in, as C(keyveto status --json) tells them.
          type: list
          elements: dict
        guarded:
          description: Whether each open way in is guarded, and listed keys are refused; null if that cannot be told.
          type: bool
        doctor:
          description: What C(keyveto status --json) prints, or null.
          type: dict
        proved:
          description: When the last login from a controller proved it (C(time)), and what (C(proof)); or null.
          type: dict
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.keyveto.keyveto.plugins.module_utils.engine import Engine, EngineError, read_text, sha256
from ansible_collections.keyveto.keyveto.plugins.module_utils.probe import PROVED


def look(engine, sshd, doctor):
    """The facts."""
    found = {"installed": False, "version": engine.version(), "lists": [], "ways": [], "guarded": None, "doctor": None,
             "proved": None}
    if found["version"] is None:
        return found
    found["installed"] = True
    told = engine.status(sshd)
    found["ways"], found["guarded"] = told["ways"], told["guarded"]
    if doctor:
        found["doctor"] = told
        for kind in ("filters", "lists"):
            for one in told[kind]:
                found["lists"].append(dict(one, kind=kind[:-1], sha256=sha256(one["file"])))
    proved = read_text(PROVED)
    if proved:
        try:
            found["proved"] = json.loads(proved)
        except ValueError:
            pass
    return found


def main():
    module = AnsibleModule(argument_spec={
        "command": {"type": "str", "default": "keyveto"},
        "sshd": {"type": "path", "default": "/usr/sbin/sshd"},
        "doctor": {"type": "bool", "default": True},
        "timeout": {"type": "int", "default": 300},
    }, supports_check_mode=True)
    try:
        if os.geteuid() != 0:
            raise EngineError("only root can do this: set become")
        engine = Engine(module.params["command"], module.params["timeout"])
        facts = look(engine, module.params["sshd"], module.params["doctor"])
    except (EngineError, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, ansible_facts={"keyveto": facts})


if __name__ == "__main__":
    main()
