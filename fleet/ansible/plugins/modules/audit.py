#!/usr/bin/python
# SPDX-License-Identifier: ISC
"""Runs keyveto audit. The action plugin of the same name writes what it prints to a file on the controller."""

DOCUMENTATION = r"""
module: audit
short_description: Audits the keys of a host, and keeps the audit in a file on the controller
version_added: 1.0.0
author: The keyveto authors (@keyveto)
description:
  - Runs C(keyveto audit --json) on the host, and writes what it prints to I(directory) on the controller, for
    C(keyveto-report). It changes nothing on the host, and needs root there.
  - A host that cannot be reached, fails, or takes longer than the task may, has a file, too. It has one line, with
    C("answered":false) and the reason.
  - The name of the host in the file is that of the inventory.
options:
  directory:
    description: The folder on the controller. It is made if it is not there.
    type: path
    default: keyveto-audit
  options:
    description: More options of C(keyveto audit), such as C(--all) or C(--logins).
    type: list
    elements: str
    default: []
  command:
    description: The program on the host.
    type: str
    default: keyveto
  timeout:
    description: Seconds that C(keyveto) may take.
    type: int
    default: 280
  max_bytes:
    description: An audit that is larger is not kept, and the host has failed.
    type: int
    default: 268435456
attributes:
  check_mode:
    description: Runs nothing and writes nothing.
    support: full
"""

EXAMPLES = r"""
- name: Audit all keys, and when they last came in
  keyveto.keyveto.audit:
    directory: keyveto-audit
    options: [--all, --logins]
  become: true
  timeout: 300
"""

RETURN = r"""
file:
  description: The file on the controller.
  returned: always
  type: str
status:
  description: The exit status of C(keyveto audit). 0, nothing is listed; 1, something is; 2, something could not be
    checked.
  returned: if it ran
  type: int
listed:
  description: How many places of listed keys it found.
  returned: if it ran
  type: int
"""

import base64
import os
import signal
import subprocess
import tempfile
import zlib

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.keyveto.keyveto.plugins.module_utils.engine import PATHS, last_words


def audit(module, spool):
    """The exit status and standard error of the audit, whose output goes to spool."""
    words = [module.params["command"], "audit", "--json"] + module.params["options"]
    environment = dict(os.environ, LC_ALL="C.UTF-8", PATH=os.environ.get("PATH", "") + PATHS)
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=spool, stderr=subprocess.PIPE,
                                   env=environment, preexec_fn=os.setsid)
    except OSError as error:
        module.fail_json(msg="%s cannot be run: %s; is it installed?" % (module.params["command"], error.strerror))
    try:
        err = process.communicate(timeout=module.params["timeout"])[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        module.fail_json(msg="keyveto audit did not end within %d seconds" % module.params["timeout"])
    return process.returncode, err.decode("utf-8", "replace")


def main():
    module = AnsibleModule(argument_spec={
        "directory": {"type": "path", "default": "keyveto-audit"},
        "options": {"type": "list", "elements": "str", "default": []},
        "command": {"type": "str", "default": "keyveto"},
        "timeout": {"type": "int", "default": 280},
        "max_bytes": {"type": "int", "default": 1 << 28},
    }, supports_check_mode=True)
    if module.check_mode:
        module.exit_json(changed=False, skipped=True)
    if os.geteuid() != 0:
        module.fail_json(msg="only root can do this: set become")
    with tempfile.TemporaryFile() as spool:
        status, err = audit(module, spool)
        size = spool.seek(0, os.SEEK_END)
        if size > module.params["max_bytes"]:
            module.fail_json(msg="the audit has %d bytes; max_bytes is %d" % (size, module.params["max_bytes"]))
        spool.seek(0)
        packer, packed, listed = zlib.compressobj(6), [], 0
        for line in spool:
            listed += b'"verdict": "listed"' in line or b'"verdict":"listed"' in line
            packed.append(packer.compress(line))
        packed.append(packer.flush())
    if size == 0 or status not in (0, 1, 2):
        module.fail_json(msg="keyveto audit printed nothing, with the status %d: %s" % (status, last_words(err)))
    module.exit_json(changed=False, status=status, listed=listed, stderr=last_words(err, 50),
                     audit=base64.b64encode(b"".join(packed)).decode("ascii"))


if __name__ == "__main__":
    main()
