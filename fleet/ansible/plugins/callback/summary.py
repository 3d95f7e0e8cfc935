# SPDX-License-Identifier: ISC
"""One line for each host at the end of a run: what became of keyveto there; and the report of a leak."""

DOCUMENTATION = r"""
name: summary
type: aggregate
short_description: Tells at the end of a run what became of each host
version_added: 2.0.0
author: The keyveto authors (@keyveto)
description:
  - Prints a line for each host on which a task of this collection ran, or that could not be reached, and the totals.
  - After M(keyveto.keyveto.leak) it also writes C(report.json) and C(report.txt) into the folder I(directory) of that
    task.
  - The playbooks of this collection have it. For your own playbooks, name it in C(callbacks_enabled) of
    C(ansible.cfg).
"""

import json
import os
import time

from ansible.plugins.callback import CallbackBase

OURS = "keyveto.keyveto."
# Of a leak: the key is refused; a host was only asked; the publisher; a host that would have locked somebody out.
TOTALS = ("enabled", "proved", "to be enabled", "disabled", "done", "refused", "asked", "published", "stopped",
          "failed", "unreachable")
LEAK_FOLDER = "keyveto-leak"


def plain(text, limit=300):
    """A text of a host on one line, without what a terminal would obey."""
    line = " ".join(str(text).split())
    line = "".join(letter if letter.isprintable() else "?" for letter in line)
    return line if len(line) <= limit else line[:limit - 3] + "..."


class Host:
    """What became of one host."""

    def __init__(self):
        self.kinds, self.notes, self.leak = [], [], {}

    def set(self, kinds, note=""):
        self.kinds, self.notes = list(kinds), [note] if note else []

    def task(self, result, failed):
        """Goes by the result of a task of this collection, or by any that failed."""
        self.leak.update(result.get("leak") or {})
        if failed and self.leak:
            self.set(["stopped" if self.leak.get("stopped") else "failed"], plain(result.get("msg", "")))
        elif failed:
            self.set(["refused" if result.get("refused") else "failed"], plain(result.get("msg", "no reason is told")))
        elif result.get("state") == "disabled":
            self.set(["disabled"])
        elif result.get("state") == "enabled" and not result.get("incomplete"):
            proof = result.get("proof") or {}
            self.set(["enabled"] + ["proved"] * bool(proof.get("proved")), proof.get("reason") or "")
        elif result.get("state") == "rehearsed" and result.get("to_enable") is False:
            self.set(["enabled"] + ["proved"] * bool(result.get("proved_before")), "as it was")
        elif result.get("to_enable") or result.get("incomplete"):
            self.set(["to be enabled"])
        elif self.leak:
            self.set([next((kind for kind in ("refused", "published") if self.leak.get(kind)), "asked")])
        elif not self.kinds:
            self.set(["done"])

    def unreachable(self, result):
        self.set(["unreachable"], plain(result.get("msg", "")))

    def text(self):
        return ": ".join([", ".join(self.kinds), *self.notes])

    def leak_text(self):
        """The line of the report of a leak."""
        parts = [self.text()]
        lost = [one["account"] for one in self.leak.get("accounts", ()) if one["locked_out"]]
        has = [one["account"] for one in self.leak.get("accounts", ()) if not one["locked_out"]]
        parts += ["%s has no other key" % plain(name) for name in lost] + ["%s has it" % plain(name) for name in has]
        # A certificate's key and its CA's are two rows of one connection.
        sessions = {one.get("pid") for one in self.leak.get("sessions", ())}
        if sessions:
            parts.append("%d session%s %s" % (
                len(sessions), "s" * (len(sessions) > 1), "ended" if self.leak.get("ended") else "open"))
        parts += ["open sessions are not all known"] * ("sessions_unknown" in self.leak)
        return "; ".join(parts)


class CallbackModule(CallbackBase):
    """What became of each host."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "keyveto.keyveto.summary"
    CALLBACK_NEEDS_ENABLED = True
    # Both the one of the playbooks and the one of ansible.cfg may be there.
    in_charge = None

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.hosts, self.folder, self.leaks = {}, LEAK_FOLDER, False
        CallbackModule.in_charge = self

    def host(self, result):
        return self.hosts.setdefault(result._host.get_name(), Host())

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.leaks = self.leaks or task.action == OURS + "leak"

    def v2_runner_on_ok(self, result):
        if result._task.action.startswith(OURS):
            self.folder = result._result.get("directory", self.folder)
            self.host(result).task(result._result, False)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if not ignore_errors:
            self.folder = result._result.get("directory", self.folder)
            self.host(result).task(result._result, True)

    def v2_runner_on_unreachable(self, result):
        self.host(result).unreachable(result._result)

    def v2_playbook_on_stats(self, stats):
        if CallbackModule.in_charge is not self or not self.hosts:
            return
        self._display.banner("KEYVETO")
        lines = ["%s: %s" % (name, host.leak_text() if self.leaks else host.text())
                 for name, host in sorted(self.hosts.items())]
        kinds = [kind for host in self.hosts.values() for kind in host.kinds]
        totals = {kind: kinds.count(kind) for kind in TOTALS if kind in kinds}
        lines.append("%d host%s: %s" % (len(self.hosts), "s" * (len(self.hosts) != 1), ", ".join(
            "%d %s" % (count, kind) for kind, count in totals.items())))
        for line in lines:
            self._display.display(line)
        if self.leaks:
            self.write_report(lines, totals)

    def write_report(self, lines, totals):
        """What was done about a leak, for people and for programs."""
        told = [dict(host.leak, host=name, outcome=host.kinds[0], reason=" ".join(host.notes))
                for name, host in sorted(self.hosts.items())]
        report = {"format": 1, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "hosts": told,
                  "totals": totals}
        os.makedirs(self.folder, exist_ok=True)
        for name, text in (("report.json", json.dumps(report, indent=1, sort_keys=True)),
                           ("report.txt", "\n".join(lines))):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text + "\n")
        self._display.display("written: %s" % ", ".join(
            os.path.join(self.folder, name) for name in ("report.json", "report.txt")))
