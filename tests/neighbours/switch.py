# SPDX-License-Identifier: ISC
"""Every deployment that `keyveto enable` offers: before, enabled, and disabled.

The rules: with --warn, each login is as before. Enforced, each login is as before,
except one by a listed key. After disable, each login and /etc are as before.
"""

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stock import snapshot
from visits import Person

CONFIG = Path("/etc/ssh/sshd_config")
STATE = Path("/var/lib/keyveto/sshd-state")
WATCHED = ("/etc", "/var/lib/keyveto")
DEPLOYMENTS = {"default": (), "--pam": ("--pam",), "--guard": ("--guard",)}
# Beside a command, the guard does not see the keys in the files. enable offers it
# only with the module.
NO_GUARD_ALONE = "--guard"
BOTH = ("--guard", "--pam")
NOT_DONE_LISTED, NOT_DONE = 1, 2
# Advice that would lock people out if another program supplies the keys.
LOCKS_OUT = re.compile(r"AuthorizedKeys(?:File|Command) none")
# doctor's checks of the ways in. The others are about this machine.
WAYS = {"sshd", "guard", "guard-path", "guard-user", "match", "user-ca", "pam", "pam-control", "pam-order",
        "pam-module"}


@dataclass(frozen=True)
class Arrangement:
    """A configuration of sshd, and its visits."""
    title: str
    config: str
    visits: tuple
    rehearsed: str = ""         # an account that `enable` without --yes must name
    refuses: str = ""           # the deployment that enable refuses here


class Switch:
    """Plays one arrangement through all deployments."""

    def __init__(self, world, arrangement):
        self.world, self.arrangement = world, arrangement
        self.before = {}

    def play(self):
        CONFIG.write_text(self.arrangement.config, encoding="utf-8")
        self.world.server.restart()
        self._visit_before()
        for name, words in DEPLOYMENTS.items():
            self._deploy(name, words)
        if self.arrangement.refuses == NO_GUARD_ALONE:
            self._deploy(" ".join(BOTH), BOTH)

    # Visits, and the log

    def _title(self, name, stage, what):
        return f"{self.arrangement.title}, {name}, {stage}: {what}"

    def _visit_before(self):
        for visit in self.arrangement.visits:
            seen = self.before[visit.title] = visit.act()
            self.world.expect(seen.entered == visit.known, f"{self.arrangement.title}, before: {visit.title} is "
                              f"{'let in' if visit.known else 'refused'}", seen)

    def _visit_all(self, name, stage):
        for visit in self.arrangement.visits:
            watched = visit.listed and visit.known and stage != "disabled" and \
                not (visit.past_guard and name == "--guard")
            had = len(self._decisions(visit, stage))
            seen, before = visit.act(), self.before[visit.title]
            if watched and stage == "enforced":
                self.world.expect(seen.refused and not seen.entered,
                                  self._title(name, stage, f"{visit.title} is refused"), seen)
                self.world.note(self.arrangement.title, name, visit.title, seen.client)
            else:
                self.world.expect(seen == before, self._title(name, stage, f"{visit.title} is treated as before"),
                                  f"before: {before}\nnow:    {seen}")
            if watched:
                self._check_log(name, stage, visit, self._decisions(visit, stage)[had:])

    def _decisions(self, visit, stage):
        action = {"warn": "warn", "enforced": "deny"}.get(stage)
        found = self.world.log.decisions(Person(visit.account))
        return [one for one in found if one.verdict == "listed" and one.action == action]

    def _check_log(self, name, stage, visit, decisions):
        self.world.expect(decisions, self._title(name, stage, f"{visit.title} is in the log"), "no decision was logged")
        if name == "--pam" and stage == "enforced":
            self.world.expect(any("disconnected=yes" in one.line.text for one in decisions),
                              self._title(name, stage, f"{visit.title} is disconnected"),
                              [one.line.text for one in decisions])

    # Deployments

    def _deploy(self, name, words):
        etc = snapshot(*WATCHED)
        kept = Kept()
        if self.arrangement.rehearsed:
            self._rehearse(name, words, etc)
        if self._enable(name, "warn", (*words, "--warn"), etc):
            self._visit_all(name, "warn")
            self._advice(name, "warn")
            if self._enable(name, "enforced", (*words, "--yes"), etc):
                self._visit_all(name, "enforced")
                self._advice(name, "enforced")
            self._disable(name)
        now = snapshot(*WATCHED)
        changed = sorted(path for path in {*etc, *now} if etc.get(path) != now.get(path))
        self.world.expect(not changed, self._title(name, "disabled", "/etc is what it was"), changed)
        if changed or STATE.exists():
            kept.put_back()
            self.world.server.restart()

    def _rehearse(self, name, words, etc):
        if name == self.arrangement.refuses:
            return
        status, said = self.world.sshd("enable", *words)
        self.world.expect(status == NOT_DONE_LISTED and self.arrangement.rehearsed in said,
                          self._title(name, "rehearsed", "whoever would be refused is named"), f"{status}: {said}")
        self.world.expect(snapshot(*WATCHED) == etc, self._title(name, "rehearsed", "nothing is changed"), said)

    def _enable(self, name, stage, words, etc):
        """Runs enable: whether it went on."""
        status, said = self.world.sshd("enable", *words)
        self.world.expect(not LOCKS_OUT.search(said), self._title(name, stage, "enable advises nothing that locks out"),
                          said)
        if name == self.arrangement.refuses:
            self.world.expect(status == NOT_DONE and snapshot(*WATCHED) == etc,
                              self._title(name, stage, "enable says no, and changes nothing"), f"{status}: {said}")
            return False
        self.world.expect(status == 0, self._title(name, stage, "enable does it"), f"{status}: {said}")
        if status == 0:
            self.world.server.reload()
        return status == 0

    def _disable(self, name):
        status, said = self.world.sshd("disable")
        self.world.expect(status == 0, self._title(name, "disabled", "disable does it"), f"{status}: {said}")
        if status == 0:
            self.world.server.reload()
        self._visit_all(name, "disabled")

    def _advice(self, name, stage):
        """`status` must tell it, and must not advise a lock-out."""
        open_way = name == "--guard" and any(visit.past_guard for visit in self.arrangement.visits)
        told = self.world.status()
        if stage == "enforced":
            self.world.expect((told["guarded"] is not True) == open_way,
                              self._title(name, stage, "status tells whether all is guarded"), told)
        checks = [one for one in told["checks"] if one["check"] in WAYS]
        broken = [one for one in checks if one["status"] == "broken"]
        self.world.expect(bool(broken) == open_way, self._title(name, stage, "doctor agrees"), broken)
        advice = [one["remedy"] or "" for one in checks]
        locks_out = [one for one in advice if LOCKS_OUT.search(one)]
        self.world.expect(not locks_out, self._title(name, stage, "no advice locks anybody out"), locks_out)


class Kept:
    """A copy of /etc and of keyveto's files, to restore after a deployment that left files behind."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="kvt-etc-"))
        for number, top in enumerate(WATCHED):
            subprocess.run(["cp", "-a", top, self.folder / str(number)], check=True)

    def put_back(self):
        for number, top in enumerate(WATCHED):
            shutil.rmtree(top)
            subprocess.run(["cp", "-a", self.folder / str(number), top], check=True)
