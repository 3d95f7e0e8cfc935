# SPDX-License-Identifier: ISC
"""No connection at all: gives the answers that kvrecord has kept. See ../stub.py."""

import json
import os
import sys

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import stub

DOCUMENTATION = """
name: kvreplay
short_description: answers that were recorded
description: Gives the answers that kvrecord has kept, for any host.
author: keyveto
options:
  remote_user:
    description: As whom one would log in.
    vars:
      - name: ansible_user
extends_documentation_fragment:
  - connection_pipelining
"""


class Connection(ConnectionBase):
    """A host that always answers as the recorded one."""

    transport = "kvreplay"
    has_pipelining = True

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.wire = stub.Wire(self._play_context.remote_addr)

    def _connect(self):
        self._connected = True
        return self

    def exec_command(self, cmd, in_data=None, sudoable=True):
        super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        program = self.wire.program(cmd, in_data)
        kept = stub.answer_file(program, self.wire.host) if program else stub.checksum_file(cmd)
        if not kept:
            return 0, self.wire.shell(cmd).encode(), b""
        path, text = kept
        try:
            with open(path, encoding="utf-8") as file:
                answer = json.load(file)
        except FileNotFoundError:
            raise AnsibleConnectionFailure(f"nothing was recorded of {os.path.basename(path)}: {text}") from None
        return answer["status"], answer["out"].encode(), answer["err"].encode()

    def put_file(self, in_path, out_path):
        super().put_file(in_path, out_path)
        self.wire.put(in_path, out_path)

    def fetch_file(self, in_path, out_path):
        super().fetch_file(in_path, out_path)
        raise AnsibleConnectionFailure(f"{in_path} was fetched")

    def close(self):
        self._connected = False
