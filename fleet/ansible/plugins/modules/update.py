#!/usr/bin/python
# SPDX-License-Identifier: ISC
"""Runs keyveto update."""

DOCUMENTATION = r"""
module: update
short_description: Gets newer filters and lists by keyveto update
version_added: 1.0.0
author: The keyveto authors (@keyveto)
description:
  - Runs C(keyveto update) with the settings of the host, C(/etc/keyveto/update.conf). It needs root on the host.
  - A newer list that would refuse too many keys, or an administrator's, is held back there (HoldIfRefused). The host
    fails then, and nothing is changed.
options:
  command:
    description: The program on the host.
    type: str
    default: keyveto
  sources:
    description: Only these sources of update.conf.
    type: list
    elements: str
    default: []
  lookup:
    description: Fetch the files that say where private halves lie, too.
    type: bool
    default: false
  timeout:
    description: Seconds that C(keyveto) may take.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Fetches and verifies, and changes nothing. Whether anything would change is told by what was fetched.
    support: full
"""

EXAMPLES = r"""
- name: Update the list of badkeys now
  keyveto.keyveto.update:
    sources: [badkeys]
  become: true
"""

RETURN = r"""
newly_listed:
  description: What it prints of keys in use that a newer list has.
  returned: always
  type: str
output:
  description: What it prints.
  returned: always
  type: str
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.keyveto.keyveto.plugins.module_utils.engine import (
    STATE, Engine, EngineError, consulted, last_words, read_text)


def stamps():
    """What changes whenever a filter or list is replaced."""
    text = read_text("/etc/keyveto/keyveto.conf") or ""
    names = set(consulted(text))
    if os.path.isdir(STATE):
        names |= {os.path.join(STATE, name) for name in os.listdir(STATE) if name.endswith((".pkbf", ".dat"))}
    found = {}
    for name in names:
        if os.path.exists(name):
            info = os.stat(name)
            found[name] = (info.st_ino, info.st_size, info.st_mtime)
    return found


def main():
    module = AnsibleModule(argument_spec={
        "command": {"type": "str", "default": "keyveto"},
        "sources": {"type": "list", "elements": "str", "default": []},
        "lookup": {"type": "bool", "default": False},
        "timeout": {"type": "int", "default": 3600},
    }, supports_check_mode=True)
    words = [word for source in module.params["sources"] for word in ("--source", source)]
    words += ["--lookup"] * module.params["lookup"] + ["--dry-run"] * module.check_mode
    try:
        if os.geteuid() != 0:
            raise EngineError("only root can do this: set become")
        before = stamps()
        status, out, err = Engine(module.params["command"], module.params["timeout"]).run("update", *words)
    except (EngineError, OSError) as error:
        module.fail_json(msg=str(error))
    result = {"changed": stamps() != before, "output": out + err, "newly_listed": err if status == 1 else ""}
    if module.check_mode:
        # It prints a line for each file, and says so of those that are current.
        result["changed"] = any(line.strip() and "already current" not in line for line in out.splitlines())
    if status not in (0, 1):
        module.fail_json(msg="keyveto update: %s" % last_words(out + err), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
