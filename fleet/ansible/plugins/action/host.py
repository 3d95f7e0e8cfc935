# SPDX-License-Identifier: ISC
"""Brings files to the host, calls the module, and proves by new logins that it did what it should."""

import contextlib
import gc
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
import uuid

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.text.converters import to_text
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import connection_loader, module_loader
from ansible_collections.keyveto.keyveto.plugins.modules.host import ARGUMENTS
from ansible_collections.keyveto.keyveto.plugins.plugin_utils.this_run import (
    incomplete, note, note_incomplete, of_this_run, once)

STATE = "/var/lib/keyveto"
# The controller loads this file once, and then forks for each task on each host. What Ansible finds out here about the
# module, it need not find out in each of these processes; and what is there now, none of them has to copy only because
# it looks for garbage, see gc.freeze in Python's documentation.
module_loader.find_plugin("keyveto.keyveto.host")
gc.freeze()
# What the option variables may name: {option: variable of the host}.
VARIABLES = {name: "keyveto_" + name for name in (
    "command", "lists", "allowed_signers", "warn", "parts", "accept_refused", "sshd", "probe", "probe_required",
    "probe_listed_key", "probe_key_type", "probe_timeout", "timeout", "update_ca", "update_timer", "update_schedule")}
VARIABLES.update(config="keyveto_conf", update_config="keyveto_update_conf")
# A variable that does nothing any more would be trusted.
GONE = {name: "%s is gone: remove it; docs/no-secret.md of keyveto says how to refuse such keys by hand" % name
        for name in ("keyveto_deny_weak", "keyveto_weak_timer")}
TYPES = {variable: ARGUMENTS[name]["type"] for name, variable in VARIABLES.items()}
# What their values must be.
CHECKED = ArgumentSpecValidator({variable: {
    key: ARGUMENTS[name][key] for key in ("type", "elements", "choices", "options") if key in ARGUMENTS[name]
} for name, variable in VARIABLES.items()})
# After a reload, sshd may for a moment not listen yet, or still go by what it read before.
PAUSES = (0, 0.3, 0.7, 1.5, 3, 5)
# A line of sha256sum.
CHECKSUM = re.compile(r"^([0-9a-f]{64}) [ *](.+)$", re.MULTILINE)


class OutOfTime(BaseException):
    """The task has taken as long as it may. No handler of errors on the way catches this."""


@contextlib.contextmanager
def at_most(seconds):
    """OutOfTime is raised in it after that many seconds, as Ansible does for the keyword timeout of a task."""
    def end(number, frame):
        raise OutOfTime()
    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def facts_of(path):
    """The SHA-256 and the kind of a file, read once in a run."""
    info = os.stat(path)

    def read():
        digest = hashlib.sha256()
        with open(path, "rb") as file:
            start = file.read(6)
            digest.update(start)
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
        return json.dumps([digest.hexdigest(), "filter" if start == b"pkbfv1" else "blocklist"])

    name = hashlib.sha256(repr((path, info.st_ino, info.st_size, info.st_mtime_ns)).encode()).hexdigest()
    return json.loads(once(name, read))


def run(*words):
    """What a program prints; AnsibleActionFail if it fails."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise AnsibleActionFail("%s: %s" % (words[0], done.stderr.decode("utf-8", "replace").strip()))
    return done.stdout.decode("utf-8", "replace").strip()


def make_key(name, *words):
    """The path of a throw-away private key, made once in a run."""
    path = of_this_run(name)
    once(name + ".made", lambda: run("ssh-keygen", "-q", "-N", "", "-C", "keyveto-probe", "-f", path, *words) or "made")
    return path


def public_half(path):
    """The public key of a private key without a passphrase."""
    return once("public-" + hashlib.sha256(path.encode()).hexdigest(),
                lambda: run("ssh-keygen", "-y", "-P", "", "-f", path))


def is_template(value):
    """Whether Ansible makes something else of a value: by a template, or of text that looks like a list."""
    return "{" + "{" in repr(value) or isinstance(value, str) and value.startswith(("[", "{"))


def check_variables(task_vars):
    """AnsibleActionFail if a variable cannot be what it is for, also one that only a later task takes.

    What has a template is known later, and the module looks at it.
    """
    plain = {name: task_vars[name] for name in VARIABLES.values()
             if task_vars.get(name) is not None and not is_template(task_vars[name])}
    # Ansible would take the Python text of a list for text.
    wrong = ["%s must be text" % name for name, value in plain.items()
             if isinstance(value, (list, dict)) and TYPES[name] in ("str", "path")]
    wrong += [GONE[name] for name in GONE if name in task_vars]
    if "keyveto_probe" in plain:
        plain["keyveto_probe"] = str(plain["keyveto_probe"]).lower()
    wrong += CHECKED.validate(plain).error_messages
    if wrong:
        raise AnsibleActionFail("nothing was changed: %s" % "; ".join(wrong))


class ActionModule(ActionBase):
    """The action of the task keyveto.keyveto.host."""

    TRANSFERS_FILES = True

    def run(self, tmp=None, task_vars=None):
        # Before the host is asked for anything.
        arguments = self._arguments(task_vars)
        result = super().run(tmp, task_vars)
        if self._task.timeout:
            return self._act(arguments, result, task_vars)
        try:
            seconds = int(arguments.get("timeout") or 300)
        except (TypeError, ValueError) as error:
            raise AnsibleActionFail("timeout is no number of seconds: %s" % arguments["timeout"]) from error
        try:
            with at_most(seconds):
                return self._act(arguments, result, task_vars)
        except OutOfTime:
            raise AnsibleActionFail("this took longer than timeout allows, %d seconds" % seconds) from None

    def _arguments(self, task_vars):
        """The options of the task, and those that variables of the host set."""
        arguments = {name: value for name, value in self._task.args.items() if value is not None}
        if set(arguments) & {"staged", "probe_keys"}:
            raise AnsibleActionFail("staged and probe_keys are for this plugin itself")
        names = arguments.pop("variables", ())
        if names:
            check_variables(task_vars)
        for name in names.replace(",", " ").split() if isinstance(names, str) else names:
            if name not in VARIABLES:
                raise AnsibleActionFail("variables: there is none for %s" % name)
            value = task_vars.get(VARIABLES[name])
            if name in arguments or value is None:
                continue
            # A template costs the controller a compilation on each host, more than anything else here. So there is one
            # only for text that Ansible would take for a list.
            listed = isinstance(value, str) and value.startswith(("[", "{"))
            value = self._templar.template("{{ %s }}" % VARIABLES[name] if listed else value)
            if value is not None and value != task_vars.get("omit"):
                arguments[name] = value
        return arguments

    def _act(self, arguments, result, task_vars):
        """Does all of it."""
        rehearses = arguments.get("state") == "rehearsed"
        host, checks = task_vars["inventory_hostname"], self._play_context.check_mode
        if rehearses:
            note(host, False)
        if checks and arguments.get("state") == "enabled" and incomplete(host):
            result.update(changed=True, state="enabled", incomplete=incomplete(host),
                          msg="what changes in sshd is not known yet: %s" % incomplete(host))
            return result
        files = self._find_files(arguments)
        proves = arguments.get("state") == "enabled" and not checks and (
            str(arguments.get("probe", True)).lower() not in ("false", "no", "off", "0"))
        keys = self._make_keys(arguments) if proves else None
        arguments["probe_keys"] = {name: value for name, value in keys.items() if name != "private"} if keys else {}
        if "probe" in arguments:
            arguments["probe"] = str(arguments["probe"]).lower()
        # The connecting account, where the inventory names it: sudo need not tell.
        if not arguments.get("account") and self._remote_user():
            arguments["account"] = self._remote_user()
        missing = self._missing(arguments["lists"])
        arguments["staged"] = self._bring(files, missing) if missing else {}
        answer = self._call(arguments, task_vars)
        if answer.get("needs"):
            arguments["staged"] = self._bring(files, answer["needs"])
            answer = self._call(arguments, task_vars)
        if answer.get("probe") and not answer.get("failed"):
            self._prove(answer, keys, arguments, task_vars)
        result.update(answer)
        result["state"] = arguments.get("state", "unchanged")
        result.pop("needs", None)
        result.pop("probe", None)
        self._remove_tmp_path(self._connection._shell.tmpdir)
        # Ansible prints a warning without the host, and once for all hosts.
        if result.get("warnings"):
            result["warnings"] = ["%s: %s" % (host, one) if isinstance(one, str) else one for one in result["warnings"]]
        if checks and result.get("incomplete"):
            note_incomplete(host, result["incomplete"])
        elif rehearses and not result.get("failed") and result.get("to_enable", True):
            note(host, True)
        return result

    def _remote_user(self):
        try:
            return self._connection.get_option("remote_user")
        except KeyError:
            return None

    def _call(self, arguments, task_vars):
        return self._execute_module("keyveto.keyveto.host", module_args=arguments, task_vars=task_vars)

    def _find_files(self, arguments):
        """Replaces lists by what the module needs to know of them. Returns the paths here."""
        paths, wanted = [], []
        for one in arguments.get("lists") or []:
            if not isinstance(one, dict) or not isinstance(one.get("src"), str):
                raise AnsibleActionFail("lists: an item must have src, the file on the controller: %s" % (one,))
            source = self._find_file(one["src"])
            for path, end in ((source, ""), (source + ".sources", ".sources")):
                if end and not os.path.isfile(path):
                    continue
                digest, kind = facts_of(path)
                paths.append(path)
                dest = one.get("dest") or os.path.join(STATE, os.path.basename(source))
                if not os.path.isabs(dest):
                    raise AnsibleActionFail("lists: dest must be absolute: %s" % dest)
                wanted.append({"dest": dest + end, "sha256": digest, "kind": kind})
        arguments["lists"] = wanted
        return paths

    def _missing(self, lists):
        """The numbers of those files that the host does not have, as sha256sum there says.

        That saves a call of the module. Where there is no sha256sum, the module says what it needs.
        """
        if not lists:
            return []
        looks = ["test -f {0} && sha256sum -- {0};".format(shlex.quote(one["dest"])) for one in lists]
        done = self._low_level_execute_command("command -v sha256sum >/dev/null && { %s true; }" % " ".join(looks))
        if done["rc"] != 0:
            return []
        there = set(CHECKSUM.findall(done["stdout"].replace("\r\n", "\n")))
        return [number for number, one in enumerate(lists) if (one["sha256"], one["dest"]) not in there]

    def _find_file(self, name):
        """A file where Ansible looks for files, or below where ansible-playbook runs."""
        try:
            return self._find_needle("files", name)
        except AnsibleError:
            path = os.path.abspath(os.path.expanduser(name))
            if os.path.isfile(path):
                return path
            raise

    def _bring(self, paths, numbers):
        """Sends those files. Returns where they are, by number."""
        if not self._connection._shell.tmpdir:
            self._make_tmp_path()
        staged = {}
        for number in numbers:
            place = self._connection._shell.join_path(self._connection._shell.tmpdir, "keyveto-%d" % number)
            staged[str(number)] = self._transfer_file(paths[number], place)
        self._fixup_perms2([self._connection._shell.tmpdir] + list(staged.values()), execute=False)
        return staged

    # The proof

    def _make_keys(self, arguments):
        """The keys of the proof: clean and listed, public; private, their files; nonce."""
        if not self._is_ssh():
            return {"unable": "the connection is not ssh"}
        own = arguments.get("probe_listed_key")
        if own:
            listed = os.path.abspath(os.path.expanduser(own))
            words = public_half(listed).split()
            # Of the same type, so that sshd cannot refuse one of them for its type alone.
            bits = run("ssh-keygen", "-l", "-f", listed).split()[0]
            kind = {"ssh-ed25519": "ed25519", "ssh-rsa": "rsa"}.get(words[0])
            kind = kind or ("ecdsa" if words[0].startswith("ecdsa-sha2-") else None)
            if kind is None:
                return {"unable": "probe_listed_key is of the type %s" % words[0]}
            clean = make_key("clean-%s-%s" % (kind, bits), "-t", kind, *([] if kind == "ed25519" else ["-b", bits]))
        else:
            kind = arguments.get("probe_key_type") or "ed25519"
            listed, clean = (make_key(name + "-" + kind, "-t", kind) for name in ("listed", "clean"))
        return {"clean": public_half(clean), "listed": public_half(listed), "own_list": not own,
                "nonce": uuid.uuid4().hex, "private": {"clean": clean, "listed": listed}}

    def _is_ssh(self):
        try:
            self._connection.get_option("ssh_args")
        except (KeyError, AnsibleError):
            return False
        return True

    def _login(self, command, keys=None):
        """Logs in over a new connection, with the keys alone, or as Ansible does.

        Returns (status, output); the status is None if it was refused or the host did not answer.
        """
        new = connection_loader.get(self._connection.ansible_name if hasattr(self._connection, "ansible_name")
                                    else self._connection._load_name, self._play_context, "/dev/null")
        new._options = dict(self._connection._options)
        new._shell, new.become = self._connection._shell, None
        first = ["-o", "ControlMaster=no", "-o", "ControlPath=none"]
        if keys:
            for option in ("IdentitiesOnly=yes", "IdentityAgent=none", "PreferredAuthentications=publickey",
                           "BatchMode=yes"):
                first += ["-o", option]
            for key in keys:
                first += ["-o", 'IdentityFile="%s"' % key]
            new.set_option("private_key_file", None)
            new.set_option("password", None)
            new._play_context = self._play_context.copy()
            new._play_context.password = None
        new.set_option("ssh_args", " ".join(shlex.quote(word) for word in first) + " " + (
            self._connection.get_option("ssh_args") or ""))
        new.set_option("reconnection_retries", 0)
        try:
            status, out, _ = new.exec_command(command, sudoable=False)
            return status, to_text(out)
        except AnsibleConnectionFailure:
            return None, ""
        finally:
            new.close()

    def _prove(self, answer, keys, arguments, task_vars):
        """Logs in, and tells the host whether keyveto stays."""
        proof = {"proved": False, "own": False, "clean": None, "listed": None, "reason": None}
        warn = boolean(arguments.get("warn", False))
        folder, planted = answer["probe"]["folder"], answer["probe"]["keys"]
        proof["reason"] = (answer.get("proof") or {}).get("reason")
        for pause in PAUSES:
            # Without the keys, nothing tells whether sshd has read its files again.
            time.sleep(pause if planted else 2 + pause)
            if planted:
                self._try_keys(proof, keys)
            known = planted and proof["clean"] and proof["listed"] == warn
            if known or not planted:
                proof["own"] = self._own_login()
                if proof["own"]:
                    proof["proved"] = known
                    break
        proof["own"] = proof["own"] or self._own_login()
        good = proof["proved"] or (proof["own"] and not planted)
        if not good:
            proof["reason"] = "; ".join(
                ["a new login of Ansible's own account does not work any more"] * (not proof["own"]) +
                ["the clean key does not get in"] * (planted and not proof["clean"]) +
                ["the listed key gets in"] * bool(proof["listed"] and not warn) +
                ["the listed key is refused, in spite of --warn"] * (planted and warn and not proof["listed"]))
        said = self._tell(folder, "keep own=%s,clean=%s,listed=%s" % (
            proof["own"], proof["clean"], proof["listed"]) if good else "undo", int(arguments.get("timeout") or 300))
        answer["proof"] = proof
        answer.setdefault("warnings", []).extend(said.get("wrong", []))
        if good and said.get("kept"):
            return
        answer["failed"] = True
        if said.get("kept") is not False:
            # Nobody knows what became of that process: as disable, which changes nothing if that is done already.
            same = {name: arguments[name] for name in ("command", "sshd", "timeout") if name in arguments}
            done = self._call({**same, "state": "disabled"}, task_vars)
            said["kept"] = False if not done.get("failed") and not done.get("unreachable") else None
        # A run that took keyveto out again changed nothing in the end.
        answer["changed"] = said.get("kept") is not False
        as_before = self._own_login()
        answer["msg"] = "%s: %s; %s" % (
            "not proved" if not good else "proved too late", proof["reason"] or "the host waited no longer",
            "keyveto was taken out again, and a new login works" if said.get("kept") is False and as_before else
            "keyveto was taken out again, but a new login does not work: KEEP THIS CONNECTION, and look at the host"
            if said.get("kept") is False else
            "whether keyveto was taken out is not known: the host does so by itself within %s seconds" %
            arguments.get("probe_timeout", 90))

    def _own_login(self):
        """Whether Ansible's own account gets in over a new connection."""
        return self._login("echo keyveto-probe:own")[0] == 0

    def _try_keys(self, proof, keys):
        """Whether the clean and the listed key get in. Both are offered in one login, the listed one first."""
        marks = {name: "keyveto-probe:%s:%s" % (name, keys["nonce"]) for name in ("clean", "listed")}
        both = [keys["private"]["listed"], keys["private"]["clean"]]
        status, out = self._login("true", both)
        proof["clean"] = marks["clean"] in out
        # Whoever is let in without a mark came with the listed key, by another line of the account's.
        proof["listed"] = marks["listed"] in out or (status == 0 and not proof["clean"])
        if not proof["clean"]:
            # The module ends the connection of a listed key that sshd has accepted; and with warn, it gets in.
            proof["clean"] = marks["clean"] in self._login("true", both[1:])[1]

    def _tell(self, folder, word, seconds):
        """Tells the process on the host, and returns what it did."""
        folder = shlex.quote(folder)
        command = "timeout 20 sh -c %s && timeout %d cat %s/result" % (
            shlex.quote("test -p %s/verdict && echo %s >%s/verdict" % (folder, word, folder)), seconds, folder)
        try:
            done = self._low_level_execute_command(command)
        except AnsibleConnectionFailure:
            return {}
        for line in done.get("stdout", "").splitlines():
            if line.startswith("{"):
                return json.loads(line)
        return {"kept": False, "wrong": []} if done.get("rc") == 1 else {}
