#!/usr/bin/python
# SPDX-License-Identifier: ISC
"""The health check."""

DOCUMENTATION = r"""
module: doctor
short_description: Fails where keyveto status finds something broken
version_added: 1.0.0
author: The keyveto authors (@keyveto)
description:
  - Runs C(keyveto status --json). It changes nothing, and needs root on the host.
  - A proof by logins that was begun and has not ended is V(broken), too, such as after a power cut.
options:
  command:
    description: The program on the host.
    type: str
    default: keyveto
  sshd:
    description: The sshd of the host.
    type: path
    default: /usr/sbin/sshd
  fail_on:
    description: The status from which on the host fails; V(never) only tells.
    type: str
    choices: [warning, broken, never]
    default: broken
  max_age:
    description: Warn of a filter or list that was made more days ago.
    type: int
  timeout:
    description: Seconds that C(keyveto) may take.
    type: int
    default: 300
attributes:
  check_mode:
    description: Changes nothing anyhow.
    support: full
"""

EXAMPLES = r"""
- name: Be told of warnings, too
  keyveto.keyveto.doctor:
    fail_on: warning
  become: true
"""

RETURN = r"""
status:
  description: The worst of all checks, V(ok), V(warning) or V(broken).
  returned: always
  type: str
findings:
  description: What is not V(ok), in words.
  returned: always
  type: list
  elements: str
doctor:
  description: What C(keyveto status --json) prints.
  returned: always
  type: dict
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.keyveto.keyveto.plugins.module_utils.engine import Engine, EngineError
from ansible_collections.keyveto.keyveto.plugins.module_utils.probe import unfinished

ORDER = ("ok", "warning", "broken", "never")


def main():
    module = AnsibleModule(argument_spec={
        "command": {"type": "str", "default": "keyveto"},
        "sshd": {"type": "path", "default": "/usr/sbin/sshd"},
        "fail_on": {"type": "str", "default": "broken", "choices": ["warning", "broken", "never"]},
        "max_age": {"type": "int"},
        "timeout": {"type": "int", "default": 300},
    }, supports_check_mode=True)
    days = module.params["max_age"]
    try:
        if os.geteuid() != 0:
            raise EngineError("only root can do this: set become")
        told = Engine(module.params["command"], module.params["timeout"]).status(
            module.params["sshd"], *([] if days is None else ["--max-age", str(days)]))
    except EngineError as error:
        module.fail_json(msg=str(error))
    findings = ["%s: %s: %s%s" % (one["status"], one["check"], one["found"],
                                  " -> %s" % one["remedy"] if one["remedy"] else "")
                for one in told["checks"] if one["status"] != "ok"]
    status = told["status"]
    if unfinished():
        status = "broken"
        findings.append("broken: proof: a rollout has not proved by logins that keyveto works, and its throw-away keys "
                        "and list are still there -> run keyveto.keyveto.rollout again")
    result = {"changed": False, "status": status, "findings": findings, "doctor": told}
    if ORDER.index(status) >= ORDER.index(module.params["fail_on"]):
        module.fail_json(msg="keyveto status: %s\n%s" % (status, "\n".join(findings)), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
