#!/usr/bin/python
# SPDX-License-Identifier: ISC
"""Brings a host to the wanted state in one call. The action plugin of the same name calls it."""

DOCUMENTATION = r"""
module: host
short_description: Brings keyveto's lists, configuration and guard to a host, and proves by logins that it works
version_added: 1.0.0
author: The keyveto authors (@keyveto)
description:
  - Does in one call, and in this order, whatever of it is asked for. Brings filters and exact lists from the
    controller; writes C(update.conf) and runs C(keyveto update); writes C(keyveto.conf); rehearses; enables or disables
    keyveto in sshd; proves by logins from the controller that whoever got in gets in, and that a listed key does not.
  - All verdicts are those of the program C(keyveto) on the host.
  - Nothing is enabled on a host where somebody would be refused, unless I(accept_refused) says so, and never if that is
    the account that Ansible itself logs in as.
  - If the proof fails, or nothing is heard from the controller for I(probe_timeout) seconds, the host takes keyveto out
    of sshd again by itself.
  - It needs root on the host (C(become)).
options:
  command:
    description: The program on the host.
    type: str
    default: keyveto
  lists:
    description:
      - Filters and exact lists on the controller, which root will own on the host. Each is verified there, and takes
        the place of the old one in one step. A file I(src) with C(.sources) appended goes with it.
      - On a host where keyveto is enabled, a list that would refuse keys that are let in now is not installed, unless
        I(accept_refused) says so.
    type: list
    elements: dict
    default: []
    suboptions:
      src:
        description: The file on the controller.
        type: path
        required: true
      dest:
        description: Its name on the host. The default is the same name in C(/var/lib/keyveto).
        type: path
  config:
    description:
      - The text of C(keyveto.conf), without the lines that C(keyveto enable) writes, which stay. It is saved by
        C(keyveto config edit), which refuses mistakes and what would lock people out.
      - Without it, the file stays as it is, and gets lines for distributed lists that it does not name.
    type: str
  update_config:
    description:
      - The text of C(/etc/keyveto/update.conf). C(keyveto update) runs if it changed, if one of its targets is missing,
        or if it failed the last time.
      - Passwords in its URLs, and what follows a question mark in them, are in no log and in no diff.
    type: str
  allowed_signers:
    description: The text of C(/etc/keyveto/allowed_signers).
    type: str
  update_ca:
    description: The text of C(/etc/keyveto/ca.pem), for C(CAFile) in update.conf.
    type: str
  update_timer:
    description:
      - Whether the timer C(keyveto-update.timer) is enabled and runs; where systemd does not run, whether
        C(/etc/cron.d/keyveto-update) has cron run C(keyveto update). Without it, that stays as it is.
    type: bool
  update_schedule:
    description:
      - With I(update_timer=true), when C(keyveto update) runs. Without it, that is once a day, and what an earlier run
        wrote is removed.
    type: dict
    suboptions:
      calendar:
        description: C(OnCalendar) of the timer, such as V(*:0/5), as systemd.time(7) has it.
        type: str
      cron:
        description: The same for cron, where systemd does not run. Five fields of crontab(5), such as V(*/5 * * * *),
          of numbers.
        type: str
      delay:
        description: Each run is put off by a random time of up to so many seconds, so that hosts do not all ask at
          once.
        type: int
        required: true
  state:
    description:
      - V(unchanged) leaves sshd as it is.
      - V(rehearsed) also finds out who would be refused, and fails if that is anybody.
      - V(enabled) puts keyveto into sshd and PAM, and reloads sshd.
      - V(disabled) takes it out again.
    type: str
    choices: [unchanged, rehearsed, enabled, disabled]
    default: unchanged
  warn:
    description: Only log listed keys, C(keyveto enable --warn).
    type: bool
    default: false
  parts:
    description: The guard, the PAM module, or both. None stands for what C(keyveto enable) finds best.
    type: list
    elements: str
    choices: [guard, pam]
    default: []
  accept_refused:
    description: Go on although accounts would be refused, or could not be judged. That does not count accounts which
      keyveto refuses already.
    type: bool
    default: false
  account:
    description: The account that Ansible logs in as. By default who called sudo, or else who runs the module.
    type: str
  sshd:
    description: The sshd of the host.
    type: path
    default: /usr/sbin/sshd
  probe:
    description: Whether to prove it by logins after enabling; V(always) proves it also if nothing was changed.
    type: str
    choices: ['true', 'false', always]
    default: 'true'
  probe_required:
    description: Do not enable keyveto where it cannot be proved, and take it out where the logins fail to prove it.
    type: bool
    default: true
  probe_listed_key:
    description: A private key without a passphrase on the controller, which a list of the hosts has. Without it, a
      throw-away key on a list of its own stands in.
    type: path
  probe_key_type:
    description: The type of the throw-away keys.
    type: str
    choices: [ed25519, ecdsa, rsa]
    default: ed25519
  probe_timeout:
    description: Seconds after which the host takes keyveto out by itself if the controller is not heard.
    type: int
    default: 90
  timeout:
    description: Seconds that one call of C(keyveto) may take, and all of this, too, unless the task has the keyword
      C(timeout).
    type: int
    default: 300
  variables:
    description:
      - Options that the task does not set, but variables of the host may, C(keyveto_NAME) for each I(NAME); but
        C(keyveto_conf) for I(config), and C(keyveto_update_conf) for I(update_config). The roles do so.
      - With many hosts, that costs the controller much less than a template for each option.
    type: list
    elements: str
    default: []
  staged:
    description: Where the action plugin put files; not for playbooks.
    type: dict
    default: {}
  probe_keys:
    description: What the action plugin proves with; not for playbooks.
    type: dict
    default: {}
attributes:
  check_mode:
    description: Predicts what would change, and changes nothing. Nothing can be predicted about sshd before keyveto and
      its lists are on the host.
    support: full
  diff_mode:
    description: Shows the lines that would change in each file.
    support: full
seealso:
  - module: keyveto.keyveto.facts
  - module: keyveto.keyveto.doctor
"""

EXAMPLES = r"""
- name: Bring the list of badkeys, and say who would be refused
  keyveto.keyveto.host:
    lists:
      - src: lists/badkeys.dat
    state: rehearsed
  become: true

- name: Refuse listed keys
  keyveto.keyveto.host:
    state: enabled
    probe_listed_key: ~/.ssh/keyveto-probe
  become: true
"""

RETURN = r"""
refused:
  description: The accounts that would be refused.
  returned: when it was rehearsed
  type: list
  elements: dict
  contains:
    account:
      description: The name of the account.
      type: str
    locked_out:
      description: Each key in its files would be refused.
      type: bool
    keys:
      description: Where its listed keys are, and which ones.
      type: list
      elements: str
proof:
  description: What the logins proved.
  returned: when state is enabled
  type: dict
  contains:
    proved:
      description: Whether all was proved.
      type: bool
    own:
      description: Whether a new login of Ansible's own account worked.
      type: bool
    clean:
      description: Whether the clean throw-away key got in.
      type: bool
    listed:
      description: Whether the listed throw-away key got in.
      type: bool
    reason:
      description: Why it was not proved.
      type: str
guard:
  description: Whether the guard has lines in sshd's configuration.
  returned: when state is rehearsed or enabled
  type: bool
pam:
  description: Whether the module has a line in PAM's.
  returned: when state is rehearsed or enabled
  type: bool
incomplete:
  description: In check mode, why nothing can be told about sshd yet.
  returned: when that is so
  type: str
state:
  description: The option I(state).
  returned: always
  type: str
proved_before:
  description: Whether a login has proved what is enabled already.
  returned: when state is rehearsed
  type: bool
to_enable:
  description: Whether I(state=enabled) has something to do here, a proof included. The lookup
    C(keyveto.keyveto.to_enable) has all hosts of the run where it has.
  returned: when state is rehearsed
  type: bool
warnings:
  description: What deserves a look.
  returned: always
  type: list
  elements: str
"""

import io
import os
import re
import subprocess
import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.keyveto.keyveto.plugins.module_utils.engine import (
    CONFIG, DEFAULT_FILTER, STATE, Engine, EngineError, check_config, consulted, describe_key, kind_of,
    last_words, read_text, replace, save_config, sha256, with_block, with_lines_for, words_of)
from ansible_collections.keyveto.keyveto.plugins.module_utils.probe import (
    CONFIG_BLOCK, PROVED, CannotProve, Probe, clean_leftovers, connecting_account, disarm, end_probe)
from ansible_collections.keyveto.keyveto.plugins.module_utils.timers import (
    CRON, DROP_IN, UPDATE_TIMER, check_schedule, cron_text, drop_in, systemctl, systemd_runs, timer_states)

ARGUMENTS = {
    "command": {"type": "str", "default": "keyveto"},
    "lists": {"type": "list", "elements": "dict", "default": []},
    "config": {"type": "str"},
    "update_config": {"type": "str", "no_log": True},
    "allowed_signers": {"type": "str"},
    "update_ca": {"type": "str"},
    "update_timer": {"type": "bool"},
    "update_schedule": {"type": "dict", "options": {
        "calendar": {"type": "str"}, "cron": {"type": "str"}, "delay": {"type": "int", "required": True}}},
    "state": {"type": "str", "default": "unchanged",
              "choices": ["unchanged", "rehearsed", "enabled", "disabled"]},
    "warn": {"type": "bool", "default": False},
    "parts": {"type": "list", "elements": "str", "default": [], "choices": ["guard", "pam"]},
    "accept_refused": {"type": "bool", "default": False},
    "account": {"type": "str"},
    "sshd": {"type": "path", "default": "/usr/sbin/sshd"},
    "probe": {"type": "str", "default": "true", "choices": ["true", "false", "always"]},
    "probe_required": {"type": "bool", "default": True},
    "probe_listed_key": {"type": "path", "no_log": False},
    "probe_key_type": {"type": "str", "default": "ed25519", "choices": ["ed25519", "ecdsa", "rsa"],
                       "no_log": False},
    "probe_timeout": {"type": "int", "default": 90},
    "timeout": {"type": "int", "default": 300},
    "variables": {"type": "list", "elements": "str", "default": []},
    "staged": {"type": "dict", "default": {}},
    "probe_keys": {"type": "dict", "default": {}, "no_log": False},
}
# What keyveto enable notes of ways in that stay open.
OPEN_WAY = re.compile("bypass|neither the guard nor the module")
UPDATE_CONFIG = "/etc/keyveto/update.conf"
ALLOWED_SIGNERS = "/etc/keyveto/allowed_signers"
UPDATE_CA = "/etc/keyveto/ca.pem"
# This file is there from before update.conf is written until keyveto update has ended well.
UPDATE_DUE = STATE + "/ansible-update-due"
BADKEYS = "/var/lib/keyveto/badkeys.dat"
# keyveto is made for this OpenSSH and later ones. EL 8 has 8.0, and EL 9 has 8.7.
OLDEST_OPENSSH = (9, 2)
# In a URL, what may be a secret: the user with the password, and the query.
SECRET = re.compile(r"(?<=://)[^/\s]*(?=@)|(?<=\?)[^\s\"]+")


def masked(text):
    """The text without the secrets in its URLs."""
    return SECRET.sub("********", text)


def openssh_version(sshd):
    """(9, 2) for OpenSSH 9.2; None if it is not told. An sshd that does not know -V tells it with its usage."""
    try:
        done = subprocess.run([sshd, "-V"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"OpenSSH_(\d+)\.(\d+)", done.stdout.decode("utf-8", "replace"))
    return found and (int(found.group(1)), int(found.group(2)))


class Host:
    """One run of the module."""

    def __init__(self, module):
        self.module, self.wanted, self.check = module, module.params, module.check_mode
        self.engine = Engine(self.wanted["command"], self.wanted["timeout"])
        self.result = dict({"changed": False}, **({"diff": []} if module._diff else {}))
        self.incomplete = None     # why check mode cannot look further
        self.warned = set()        # the notes that are warnings, too
        self.to_come = {}          # in check mode, what a login would read: {its path: where it is now}
        self.hide_secrets()

    def hide_secrets(self):
        """Ansible replaces these in what this module returns. The option itself has no_log, for the log of the host."""
        text = self.wanted["update_config"] or ""
        secrets = set(SECRET.findall(text))
        if not secrets:
            # The diff may show this text.
            self.module.no_log_values.discard(text)
        # Ansible would replace a short one inside of words.
        self.module.no_log_values.update(one for one in secrets if len(one) > 3)

    def changed(self, path, before, after):
        """Notes a change of a text file; what stands in it is for --diff."""
        self.result["changed"] = True
        if self.module._diff:
            self.result["diff"].append({"before_header": path, "after_header": path, "before": before or "",
                                        "after": after or ""})

    def run(self):
        """Does all that is asked for. EngineError if it cannot."""
        if self.wanted["state"] in ("rehearsed", "enabled"):
            self.look_at_openssh()
        version = self.engine.version()
        if version is None:
            if self.check:
                self.result.update(changed=True, incomplete="keyveto is not installed",
                                   msg="keyveto is not installed: what would change is not known yet")
                return
            raise EngineError("%s is not installed on this host: run keyveto.keyveto.install first" %
                              self.wanted["command"])
        self.result["version"] = version
        check_schedule(self.wanted["update_timer"], self.wanted["update_schedule"])
        missing = self.missing_files()
        if [number for number in missing if str(number) not in self.wanted["staged"]]:
            self.result["needs"] = missing
            return
        self.bring_files(missing)
        self.write_update_config()
        self.write_config()
        self.set_update_timer()
        if self.check and self.incomplete:
            self.result["incomplete"] = self.incomplete
        if self.wanted["state"] == "disabled":
            self.disable()
        elif self.wanted["state"] != "unchanged":
            self.enable()

    def look_at_openssh(self):
        """EngineError if sshd is too old."""
        found = openssh_version(self.wanted["sshd"])
        if found is not None and found < OLDEST_OPENSSH:
            raise EngineError("sshd stays as it is: it is of OpenSSH %d.%d, and keyveto needs %d.%d or later; EL 8 and "
                              "EL 9 have older ones" % (found + OLDEST_OPENSSH))

    # Lists

    def missing_files(self):
        """The numbers of the files to bring whose bytes are not on the host."""
        return [number for number, one in enumerate(self.wanted["lists"]) if sha256(one["dest"]) != one["sha256"]]

    def bring_files(self, numbers):
        """Verifies the files, and puts them in their places."""
        for number in numbers:
            one = self.wanted["lists"][number]
            self.changed(one["dest"], "sha256 %s\n" % (sha256(one["dest"]) or "-"), "sha256 %s\n" % one["sha256"])
            staged = self.wanted["staged"].get(str(number))
            if not staged or sha256(staged) != one["sha256"]:
                raise EngineError("%s was changed on its way to the host" % one["dest"])
            if not one["dest"].endswith(".sources"):
                self.verify(staged, one["dest"])
                self.brake(staged, one["dest"])
            if self.check:
                self.incomplete = self.incomplete or "%s is not on the host yet" % one["dest"]
                self.to_come[one["dest"]] = staged
                continue
            folder = os.path.dirname(one["dest"])
            if not os.path.isdir(folder):
                os.makedirs(folder, mode=0o755)
            with open(staged, "rb") as source:
                replace(one["dest"], source, digest=one["sha256"])

    def verify(self, staged, dest):
        """EngineError if keyveto finds the file wrong."""
        kind = kind_of(staged)
        status, out, err = self.engine.run("filter" if kind == "filter" else "list", "verify", staged)
        if status != 0:
            raise EngineError("%s was not installed: %s" % (dest, last_words(out + err).replace(staged, dest)))

    def listed(self, path):
        """The keys of accounts that a file lists: {(account, fingerprint): description}."""
        status, found, err = self.engine.objects("audit", "--json", "--" + kind_of(path), path)
        if status not in (0, 1, 2):
            raise EngineError("keyveto audit: %s" % last_words(err))
        return {(one.get("account"), one.get("fingerprint")): describe_key(one) for one in found
                if one.get("verdict") == "listed" and (one.get("account") or one.get("part") == "ca")}

    def brake(self, staged, dest):
        """EngineError if the file is in use, and the new one would refuse keys that are let in now."""
        if self.wanted["accept_refused"] or not self.in_use():
            return
        in_place = dest in consulted(read_text(CONFIG) or "") or dest == DEFAULT_FILTER
        # Without the option config, keyveto.conf gets a line for the file.
        comes = self.wanted["config"] is None or dest in consulted(self.wanted["config"])
        if not in_place and not (comes and self.enforces()):
            return
        new = self.listed(staged)
        if new and in_place and os.path.exists(dest):
            for known in self.listed(dest):
                new.pop(known, None)
        for known in self.refused_already() if new else ():
            new.pop(known, None)
        if new:
            raise EngineError("%s was not installed, since it would refuse keys that are let in now:\n%s" % (
                dest, "\n".join(sorted(new.values()))))

    def in_use(self):
        """Whether a way into this host is guarded, or may be."""
        found = self.engine.status(self.wanted["sshd"])["ways"]
        return not found or any(one["guard"] or one["pam"] for one in found)

    def enforces(self):
        """Whether each way into this host is guarded, and listed keys are refused."""
        return self.engine.status(self.wanted["sshd"])["guarded"] is True

    # Configuration

    def write_text(self, path, text, mode):
        """Replaces a text file, or removes it if text is None. Whether that is a change."""
        before = read_text(path)
        if before == text:
            return False
        self.changed(path, masked(before or ""), masked(text or ""))
        if self.check:
            return True
        if text is None:
            os.unlink(path)
            return True
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        replace(path, io.BytesIO(text.encode("utf-8", "surrogateescape")), mode)
        return True

    def targets(self):
        """The files that keyveto update would write, by update.conf."""
        text = self.wanted["update_config"] or ""
        found, target, source = [], None, None
        for line in text.splitlines() + ["Source end"]:
            words = words_of(line)
            if words[:1] == ["target"] and len(words) > 1:
                target = words[1]
            if words[:1] == ["source"] and len(words) > 1:
                if target or source == "badkeys":
                    found.append(target or BADKEYS)
                target, source = None, words[1]
        return found

    def write_update_config(self):
        """Writes update.conf and the files that it names, and runs keyveto update if that is due."""
        config = self.wanted["update_config"]
        secret = config is not None and re.search(r"://[^/\s]*@|\?", config)
        files = [(path, text, mode) for path, text, mode in (
            (ALLOWED_SIGNERS, self.wanted["allowed_signers"], 0o644), (UPDATE_CA, self.wanted["update_ca"], 0o644),
            (UPDATE_CONFIG, config, 0o600 if secret else 0o644)) if text is not None]
        due = config is not None and (
            os.path.exists(UPDATE_DUE) or any(read_text(path) != text for path, text, _ in files) or
            not all(os.path.exists(path) for path in self.targets()))
        if due and not self.check:
            os.makedirs(STATE, mode=0o755, exist_ok=True)
            replace(UPDATE_DUE, io.BytesIO(b""))
        for path, text, mode in files:
            self.write_text(path, text, mode)
        if not due:
            return
        if self.check:
            self.incomplete = "keyveto update has not run yet"
            return
        before = [sha256(path) for path in self.targets()]
        status, out, err = self.engine.run("update", timeout=max(self.wanted["timeout"], 3600))
        if status == 2:
            raise EngineError("keyveto update: %s" % last_words(out + err))
        if status == 1:
            self.module.warn("keyveto update: %s" % last_words(out + err))
        os.unlink(UPDATE_DUE)
        if [sha256(path) for path in self.targets()] != before:
            self.result["changed"] = True

    def set_update_timer(self):
        """When keyveto update runs, by the timer or, where systemd does not run, by cron."""
        wanted, schedule = self.wanted["update_timer"], self.wanted["update_schedule"]
        if wanted is None:
            return
        if not systemd_runs():
            self.write_text(CRON, cron_text(schedule) if wanted else None, 0o644)
            return
        changes = self.write_text(DROP_IN, drop_in(schedule) if wanted else None, 0o644)
        if changes and not self.check:
            systemctl("daemon-reload")
        if not self.set_timer(UPDATE_TIMER, wanted) and changes and wanted and not self.check:
            systemctl("restart", UPDATE_TIMER)

    def set_timer(self, timer, wanted):
        """Enables and starts a timer of keyveto's, or stops and disables it. Whether it was otherwise."""
        states = timer_states(timer)
        if states == [wanted, wanted]:
            return False
        words = ["%s\n%s\n" % (("enabled" if enabled else "disabled"), ("active" if active else "inactive"))
                 for enabled, active in (states, (wanted, wanted))]
        self.changed(timer, *words)
        if not self.check:
            systemctl("enable" if wanted else "disable", "--now", timer)
        return True

    def write_config(self):
        """Saves keyveto.conf, by keyveto config edit."""
        lists = {}
        for one in self.wanted["lists"]:
            if not one["dest"].endswith(".sources"):
                lists[one["dest"]] = one["kind"]
        now = read_text(CONFIG)
        if self.wanted["config"] is not None:
            text = with_block(self.wanted["config"], now)
            for path in sorted(set(lists) - set(consulted(text)) - {DEFAULT_FILTER}):
                self.module.warn("keyveto.conf does not name %s, so that no login consults it" % path)
        else:
            lists.update((path, kind_of(path)) for path in self.targets() if os.path.exists(path))
            text = with_lines_for(CONFIG_BLOCK.sub("\n", now or ""), lists)
        self.next_config = text
        if text == CONFIG_BLOCK.sub("\n", now or ""):
            return
        self.changed(CONFIG, now, text)
        if not self.check:
            # Nobody is refused where no way in is guarded yet; enable asks about that.
            save_config(self.engine, text, yes=self.wanted["accept_refused"] or not self.in_use())
        elif self.incomplete is None:
            check_config(self.engine, text)
            self.incomplete = "keyveto.conf is not saved yet"

    # sshd

    def foresee(self):
        """In check mode, before the lists are there: EngineError if the lists to come would refuse somebody."""
        words, fetched = [], set(self.targets())
        for path, kind in sorted((consulted(self.next_config) or {DEFAULT_FILTER: "filter"}).items()):
            # What keyveto update has not fetched yet cannot be judged by.
            if path in self.to_come or os.path.exists(path) or path not in fetched:
                words += ["--" + kind, self.to_come.get(path, path)]
        if not words:
            return
        with tempfile.NamedTemporaryFile("w", prefix="keyveto-check-", suffix=".conf") as file:
            file.write(self.next_config)
            file.flush()
            _, found, err = self.engine.objects("audit", "--json", "--config", file.name, *words)
        if not [one for one in found if one.get("end") and one.get("reason") is None]:
            raise EngineError("who would be refused is not known: keyveto audit says\n%s" % last_words(err))
        known = self.refused_already()
        new = [one for one in found if one.get("verdict") == "listed" and (
            one.get("account"), one.get("fingerprint")) not in known]
        rows = [one for one in found if one.get("summary") and one["listed"] and (
            one["what"] != "account" or one["account"] in [key.get("account") for key in new])]
        cas = [one for one in rows if one["what"] == "user CA keys"]
        refused = {"accounts": [{"account": one["account"], "locked_out": one["usable"] == 0} for one in rows
                                if one["what"] == "account"], "listed_cas": len(cas)}
        refused["stops"] = bool(refused["accounts"] or cas)
        self.decide(refused, new, err)

    def refused_already(self):
        """The listed keys of accounts that this host refuses now: {(account, fingerprint)}."""
        if not self.enforces():
            return set()
        _, found, _ = self.engine.objects("audit", "--json")
        return {(one.get("account"), one.get("fingerprint")) for one in found if one.get("verdict") == "listed"}

    def words(self):
        """The options of keyveto enable."""
        return ["--" + part for part in self.wanted["parts"]] + (["--warn"] if self.wanted["warn"] else []) + [
            "--sshd", self.wanted["sshd"]]

    def rehearse(self):
        """Finds out what enable would do. EngineError if somebody would be refused."""
        plan = self.engine.sshd("enable", "--dry-run", *self.words())
        if plan["status"] != 0:
            raise EngineError("keyveto cannot be enabled here, and sshd stays as it is:\n%s" %
                              last_words(plan["stderr"]))
        self.tell(plan)
        # Where enable would change nothing, whoever is refused is refused already.
        self.decide(plan["refused"] or {}, plan["keys"], plan["stderr"], already=not plan["changed"])
        return plan

    def decide(self, refused, keys, stderr, already=False):
        """Notes who would be refused, or is already. EngineError if that may not be."""
        self.result["refused"] = [{
            "account": one["account"], "locked_out": one["locked_out"],
            "keys": [describe_key(key) for key in keys if key.get("account") == one["account"]],
        } for one in refused.get("accounts", [])]
        account = connecting_account(self.wanted["account"])
        self.result["account"] = account
        own = [one for one in self.result["refused"] if one["account"] == account]
        if self.wanted["warn"]:
            for one in self.result["refused"]:
                self.module.warn("%s has a listed key: %s" % (one["account"], "; ".join(one["keys"])))
            return
        if already:
            for one in self.result["refused"]:
                self.module.warn("%s has a listed key, and nothing changes for it: %s" % (
                    one["account"], "; ".join(one["keys"])))
            return
        if own:
            raise EngineError("sshd stays as it is: %s, the account that Ansible logs in as, has a listed key: %s; "
                              "replace that key first" % (account, "; ".join(own[0]["keys"])))
        unjudged = refused.get("unjudged", [])
        if account in unjudged or refused.get("unjudged_settings"):
            raise EngineError("sshd stays as it is: not all keys of %s, the account that Ansible logs in as, could be "
                              "judged:\n%s" % (account, last_words(stderr)))
        if refused.get("stops") and not self.wanted["accept_refused"]:
            why = ["%s would be %s: %s" % (
                one["account"], "locked out" if one["locked_out"] else "refused with a listed key",
                "; ".join(one["keys"])) for one in self.result["refused"]]
            why += ["not all keys of %s could be judged" % name for name in unjudged]
            why += ["a CA in TrustedUserCAKeys is listed"] * (refused.get("listed_cas", 0) > 0)
            raise EngineError("sshd stays as it is: %s" % ("; ".join(why) or last_words(stderr)))

    def tell(self, told):
        self.result.update(guard=told["guard"], pam=told["pam"])
        self.result["notes"] = [line[len("keyveto: note: "):] for line in told["stderr"].splitlines()
                                if line.startswith("keyveto: note: ")]
        for note in self.result["notes"]:
            if OPEN_WAY.search(note) and note not in self.warned:
                self.warned.add(note)
                self.module.warn(note)

    def note_files(self, told):
        for one in told["files"]:
            self.changed(one["path"], one["before"], one["after"])

    def enable(self):
        """Rehearses and, if that is wanted, enables; with the throw-away keys in place."""
        if self.check and self.incomplete:
            told = self.engine.status(self.wanted["sshd"])
            if not told["ways"]:
                raise EngineError("keyveto cannot be enabled here, and sshd stays as it is:\n%s" % "\n".join(
                    one["found"] for one in told["checks"] if one["check"] == "sshd"))
            if self.to_come:
                self.foresee()
            self.result["msg"] = "sshd cannot be looked at before that is done: %s" % self.incomplete
            return
        if not self.check:
            for one in clean_leftovers(self.engine):
                self.module.warn(one)
        plan = self.rehearse()
        proves = self.wanted["probe"] == "always" or (
            self.wanted["probe"] == "true" and (plan["changed"] or not os.path.exists(PROVED)))
        if self.wanted["state"] == "rehearsed":
            self.result.update(would_change=plan["changed"], to_enable=plan["changed"] or proves,
                               proved_before=not plan["changed"] and os.path.exists(PROVED))
        elif self.check:
            self.note_files(plan)
        elif plan["changed"] or proves:
            self.switch_on(plan, self.prepare_probe() if proves else None)
        if not self.check and not proves:
            disarm()

    def prepare_probe(self):
        """The throw-away keys in place; None if the host is enabled without a proof."""
        keys, probe, wrong = self.wanted["probe_keys"], None, None
        try:
            if "unable" in keys:
                raise CannotProve(keys["unable"])
            probe = Probe(self.engine, self.result["account"], self.wanted["probe_timeout"], keys["nonce"],
                          self.wanted["sshd"])
            probe.begin()
            probe.prepare(keys["clean"], keys["listed"], keys["own_list"])
            return probe
        except (CannotProve, EngineError, OSError) as error:
            wrong = str(error)
        if probe is not None and probe.lock is not None:
            for one in probe.clean():
                self.module.warn(one)
        else:
            probe = None
        self.result["proof"] = {"proved": False, "reason": wrong}
        if self.wanted["probe_required"]:
            raise EngineError("sshd stays as it is: no login can prove that a listed key is refused (%s); with "
                              "probe_required: false keyveto is enabled all the same" % wrong)
        self.module.warn("not proved by a login that a listed key is refused: %s" % wrong)
        # Ansible's own login is tried all the same, and the host takes keyveto out if nobody comes.
        return probe

    def undo(self):
        """Takes keyveto out of sshd again."""
        told = self.engine.sshd("disable", "--yes", "--reload", "--sshd", self.wanted["sshd"])
        if told["status"] != 0:
            raise EngineError("keyveto disable: %s" % last_words(told["stderr"]))

    def switch_on(self, plan, probe):
        """Starts the process that would switch it off, then switches it on."""
        folder = probe.watch(self.undo) if probe is not None else None
        told = {"status": 0, "changed": plan["changed"]}
        try:
            if plan["changed"]:
                yes = ["--yes"] if self.wanted["accept_refused"] else []
                told = self.engine.sshd("enable", "--reload", *(self.words() + yes))
                self.tell(told)
                self.note_files(told)
                if told["status"] != 0:
                    raise EngineError("keyveto enable: %s" % last_words(told["stderr"]))
            if probe is not None and probe.keys:
                probe.plant()
        except (EngineError, CannotProve, OSError):
            if folder is not None:
                ended = end_probe(folder, "undo" if told["changed"] else "leave")
                for one in ended["wrong"]:
                    self.module.warn(one)
                if told["changed"] and not ended["kept"]:
                    self.result["changed"] = False
            elif told["changed"]:
                self.undo()
            raise
        if folder is not None:
            self.result["probe"] = {"folder": folder, "keys": probe.state["planted"] is not None}

    def disable(self):
        """Takes keyveto out of sshd and PAM."""
        words = ["--sshd", self.wanted["sshd"]]
        plan = self.engine.sshd("disable", "--dry-run", *words)
        if plan["status"] != 0:
            raise EngineError("keyveto disable: %s" % last_words(plan["stderr"]))
        if not plan["changed"]:
            return
        self.note_files(plan)
        if self.check:
            return
        told = self.engine.sshd("disable", "--reload", *words)
        if told["status"] != 0:
            raise EngineError("keyveto disable: %s" % last_words(told["stderr"]))
        disarm()
        if os.path.exists(PROVED):
            os.unlink(PROVED)


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    host = Host(module)
    try:
        if os.geteuid() != 0:
            raise EngineError("only root can do this: set become")
        host.run()
    except (EngineError, CannotProve, OSError) as error:
        host.result["failed"] = True
        host.result["msg"] = str(error)
    if host.result.pop("failed", False):
        module.fail_json(**host.result)
    module.exit_json(**host.result)


if __name__ == "__main__":
    main()
