# SPDX-License-Identifier: ISC
"""Calls the module, and writes the audit, or why there is none, to a file on the controller."""

import base64
import binascii
import json
import os
import re
import tempfile
import time
import zlib

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.text.converters import to_text
from ansible.plugins.action import ActionBase

BLOCK = 1 << 20


def file_name(host):
    """A file name for any name of a host; different names have different ones."""
    return (re.sub(r"^[.-]|[^A-Za-z0-9._-]", lambda found: "%%%02x" % ord(found.group()), host) or "%") + ".json"


def timestamp():
    now = int(time.time())
    return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)), "time_seconds": now}


def no_answer(host, reason):
    """The file of a host that did not answer: one line."""
    return [json.dumps(dict({"header": True, "format": 1, "host": host, "answered": False, "reason": reason},
                            **timestamp())).encode() + b"\n"]


def unpacked(text, limit):
    """The blocks of what the module has packed. A hostile host cannot fill memory or disk with it."""
    unpacker, total = zlib.decompressobj(), 0
    data = base64.b64decode(text, validate=True)
    while not unpacker.eof:
        block = unpacker.decompress(data, BLOCK)
        data = unpacker.unconsumed_tail
        if not block and not data and not unpacker.eof:
            raise ValueError("the audit was cut off")
        total += len(block)
        if total > limit:
            raise ValueError("the audit has more than %d bytes" % limit)
        yield block


def with_host(blocks, host):
    """The audit with the inventory's name of the host in its header; an older keyveto writes no header."""
    blocks, start = iter(blocks), b""
    for block in blocks:
        start += block
        if b"\n" in start or len(start) > BLOCK:
            break
    line, newline, rest = start.partition(b"\n")
    try:
        header = json.loads(line.decode("utf-8"))
        if not isinstance(header, dict):
            raise ValueError("the audit is no JSON")
    except UnicodeDecodeError as error:
        raise ValueError(str(error)) from error
    if header.get("header") is not True:
        header, rest = dict({"header": True, "format": 1, "host": host, "whole": True}, **timestamp()), start
    elif header.get("host") != host:
        header["hostname"], header["host"] = header.get("host"), host
    # Only this plugin says that a host did not answer.
    header.pop("answered", None)
    yield json.dumps(header).encode() + b"\n" + rest
    yield from blocks


def write(path, blocks):
    """Replaces the file in one step."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".keyveto-audit-", dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            for block in blocks:
                file.write(block)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


class ActionModule(ActionBase):
    """The action of the task keyveto.keyveto.audit."""

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        arguments = dict(self._task.args)
        host = task_vars["inventory_hostname"]
        folder = os.path.abspath(os.path.expanduser(arguments.get("directory") or "keyveto-audit"))
        path = os.path.join(folder, file_name(host))
        if self._play_context.check_mode:
            result.update(changed=False, file=path, skipped=True, msg="nothing is audited in check mode")
            return result
        try:
            answer = self._execute_module(module_args=arguments, task_vars=task_vars)
        except BaseException as error:
            # Also the end of the time that the task may take, which Ansible raises wherever this is.
            write(path, no_answer(host, to_text(error) or type(error).__name__))
            raise
        packed = answer.pop("audit", None)
        result.update(answer, file=path, changed=False)
        if answer.get("failed") or packed is None:
            write(path, no_answer(host, to_text(answer.get("msg") or answer.get("module_stderr") or "no answer")))
            return result
        try:
            limit = int(arguments.get("max_bytes") or 1 << 28)
            write(path, with_host(unpacked(packed, limit), host))
        except (ValueError, binascii.Error, zlib.error) as error:
            write(path, no_answer(host, to_text(error)))
            raise AnsibleActionFail("what %s sent is no audit: %s" % (host, error)) from error
        return result
