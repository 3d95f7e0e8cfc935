# SPDX-License-Identifier: ISC
"""Writes what each task said of each host into the file KV_FLEET_RESULTS, a JSON object a line."""

import json
import os

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: kvresults
type: notification
short_description: results as JSON
description: Writes what each task said of each host into a file, a JSON object a line.
author: keyveto
"""


class CallbackModule(CallbackBase):
    """What each task said of each host."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "kvresults"
    CALLBACK_NEEDS_ENABLED = True

    def _write(self, outcome, result):
        line = {"host": result._host.get_name(), "outcome": outcome, "task": result._task.get_name(),
                "action": result._task.action, "result": result._result}
        with open(os.environ["KV_FLEET_RESULTS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(line, default=str) + "\n")

    def v2_runner_on_ok(self, result):
        self._write("ok", result)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._write("ignored" if ignore_errors else "failed", result)

    def v2_runner_on_unreachable(self, result):
        self._write("unreachable", result)

    def v2_runner_on_skipped(self, result):
        self._write("skipped", result)
