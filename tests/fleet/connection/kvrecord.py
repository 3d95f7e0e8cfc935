# SPDX-License-Identifier: ISC
"""ssh, which keeps what each module answered: see ../stub.py."""

import json
import os
import sys

from ansible.plugins.connection.ssh import DOCUMENTATION as OF_SSH
from ansible.plugins.connection.ssh import Connection as Ssh

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import stub

DOCUMENTATION = OF_SSH.replace("name: ssh\n", "name: kvrecord\n", 1)


class Connection(Ssh):
    """ssh, which keeps what each module answered."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.wire = stub.Wire(self._play_context.remote_addr)

    def exec_command(self, cmd, in_data=None, sudoable=True):
        status, out, err = super().exec_command(cmd, in_data, sudoable)
        program = self.wire.program(cmd, in_data)
        kept = stub.answer_file(program, self.wire.host) if program else stub.checksum_file(cmd)
        if kept:
            path, text = kept
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"status": status, "out": out.decode(), "err": err.decode(), "arguments": text}, file)
        return status, out, err

    def put_file(self, in_path, out_path):
        self.wire.put(in_path, out_path)
        return super().put_file(in_path, out_path)
