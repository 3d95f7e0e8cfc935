# SPDX-License-Identifier: ISC
"""What the connection plugins kvrecord and kvreplay share: which module is sent to a host, with which arguments.

kvrecord goes over ssh, and keeps what each module and each sha256sum answered. kvreplay gives these answers for any
host, without one. So a rollout over many hosts costs the controller what it costs over ssh, but for ssh itself, and
costs no host anything. Both append a line for each thing that is sent to KV_FLEET_SENT: HOST KIND BYTES NAME.
"""

import ast
import hashlib
import json
import os
import re

ANSWERS, SENT = "KV_FLEET_ANSWERS", "KV_FLEET_SENT"
_MODULE = re.compile(rb"mod_name='([^']+)'")
_PARAMETERS = re.compile(rb"ANSIBALLZ_PARAMS = (.*)\n")
_TEMPORARY = re.compile(r"/[^ \"]*/ansible-tmp-[0-9.]+-[0-9]+-[0-9]+")
_MADE = re.compile(r"echo (ansible-tmp-[0-9.]+-[0-9]+-[0-9]+)=")
_CHECKSUM = re.compile(r"sha256sum -- ([\w./ -]+)")
_RUN = re.compile(r"(\S*/ansible-tmp-\S+/AnsiballZ_\S+\.py)")


class Unknown(Exception):
    """Something was sent for which there is no answer."""


def module_in(payload):
    """The module's name in a program that Ansible sends."""
    found = _MODULE.search(payload)
    if found is None:
        raise Unknown(f"no module in {payload[:200]!r}")
    return found[1].decode()


def key_of(payload, host):
    """What tells one call of a module from another, whatever host and temporary folder it is for."""
    parameters = json.loads(ast.literal_eval(_PARAMETERS.search(payload)[1].decode()))["ANSIBLE_MODULE_ARGS"]
    # account is as whom the connection logs in. Without a host, nobody does.
    arguments = {name: value for name, value in parameters.items() if name != "account" and
                 (not name.startswith("_ansible_") or name == "_ansible_check_mode")}
    text = _TEMPORARY.sub("TMP", json.dumps(arguments, sort_keys=True)).replace(host, "HOST")
    return f"{module_in(payload)}-{hashlib.sha256(text.encode()).hexdigest()[:16]}", text


class Wire:
    """What one connection has sent so far, and what it sends now."""

    def __init__(self, host):
        self.host, self.files = host, {}

    def note(self, kind, size, name):
        if SENT in os.environ:
            with open(os.environ[SENT], "a", encoding="utf-8") as log:
                log.write(f"{self.host} {kind} {size} {name}\n")

    def put(self, source, target):
        """A file is sent. Programs are kept until they are run."""
        name = os.path.basename(target)
        if name.startswith("AnsiballZ_"):
            with open(source, "rb") as file:
                self.files[target] = file.read()
            self.note("program", len(self.files[target]), name)
        else:
            self.note("file", os.path.getsize(source), name)

    def program(self, command, data):
        """The program of a module that this command runs, or None."""
        if data:
            self.note("program", len(data), module_in(data))
            return data
        found = _RUN.search(command)
        return self.files.get(found[1]) if found and " rm " not in command and "chmod " not in command else None

    def shell(self, command):
        """What a shell of a host would print."""
        made = _MADE.search(command)
        if made:
            return f"{made[1]}=/root/.ansible/tmp/{made[1]}\n"
        if "echo ~" in command:
            return "/root\n"
        if "chmod " in command or "rm -f " in command:
            return ""
        raise Unknown(f"no answer to the command {command}")


def answer_file(payload, host):
    """Where the answer of this module is kept, and of what it is one."""
    key, text = key_of(payload, host)
    return os.path.join(os.environ[ANSWERS], key), text


def checksum_file(command):
    """Where the answer of this command is kept, and the command; None if it is no sha256sum."""
    found = _CHECKSUM.search(command)
    return found and (os.path.join(os.environ[ANSWERS], "sha256sum-" + found[1].strip().replace("/", "_")), found[0])
