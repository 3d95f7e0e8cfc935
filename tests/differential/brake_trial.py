# SPDX-License-Identifier: ISC
"""One draw of brake.py: logins before and after a command that lists keys."""

import hashlib
import json
import lzma
import os
import re
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

import brake_grammar
import grammar
import observe
import openssh
import policy
import world
from clients import PLAIN
from compare import Difference
from experiment import Result, Snapshots, reason_of
from machine import write_as_root
from server import SSHD
from stock import StockServer

INPUTS = Path("/srv/kvd-brake")
SECOND_CONFIG = "/etc/ssh/second_config"
APPLIED, HELD = (0, 1), 2
REPEATED = 60                   # added to the number of a client whose login is made again

SSH_CONFIG = PLAIN + """\
    HostKeyAlgorithms ssh-ed25519
    PasswordAuthentication no
    PubkeyAcceptedAlgorithms +ssh-rsa
    LogLevel ERROR
"""

ROOT, ADMINISTRATOR, CA, NUMBER, FILES = LAWS = (
    "a key of root is refused", "a key of an administrator is refused", "a CA is refused",
    "more accounts than HoldIfRefused", "a key in the files of root or of an administrator is refused")


@dataclass
class BrakeResult(Result):
    """The result of a draw, with what the command did."""
    command: str = ""
    outcome: str = "failed"     # applied, held or failed
    holds: list = field(default_factory=list)   # (the reason, whether somebody would have been locked out)


class Observer(observe.Observer):
    """Logs clients in that want a command and a terminal."""
    config_text = SSH_CONFIG

    def command_line(self, number, client):
        argv = ["ssh", "-F", str(self.config), "-tt", "-b", observe.address(number, client), "-p", str(client["port"]),
                "-l", client["account"]]
        for identity in client["identities"]:
            argv += self.identities.options(identity)
        return [*argv, client["to"], f"{grammar.PROBE} asked"]


def got_in(record):
    return bool(record.ran)


class Trial:
    """A machine, its logins, and the command."""

    def __init__(self, draw, pool, binaries, settings, yes=False):
        self.yes = ("--yes",) if yes else ()
        self.draw, self.pool, self.change = draw, pool, draw["change"]
        self.keyveto = str(binaries / "keyveto")
        self.result = BrakeResult(command=self.change["command"])
        world.build(draw, pool, binaries, settings)
        self.write_rest()
        self.server, self.observer = StockServer(), None
        self.clients = dict(enumerate(draw["clients"]))
        self.uids = {one["name"]: one["uid"] for one in draw["accounts"]}
        self.lost_accounts, self.so_far = set(), draw
        self.snapshots = Snapshots()

    def write_rest(self):
        INPUTS.mkdir(parents=True)
        if "link" in self.change:
            os.symlink(self.change["target"], self.change["link"])
        write_as_root("/etc/keyveto/update.conf", _lines(self.draw["settings"]))
        if self.draw["printed"]:
            self.write_printer(**self.draw["printed"])
        if self.draw["revoked"]:
            self.write_revoked(**self.draw["revoked"])
        if self.draw["second"]:
            frame = "".join(line for line in world.FRAME.splitlines(True) if not line.startswith("Port "))
            lines = [*(self.draw["second"]["file"] or []), ["PasswordAuthentication", "no"], ["UsePAM", "yes"]]
            write_as_root(SECOND_CONFIG, _lines(lines) + frame +
                          "".join(f"{line}\n" for line in openssh.without_penalties()))

    def write_printer(self, arguments, fails, lines):
        """The program prints a file of its own for the account that is its first argument."""
        del arguments
        folder = INPUTS / "printed"
        folder.mkdir()
        for name, mine in lines.items():
            words = [(",".join(one["options"]), self.pool.keys[one["key"]].line, one["comment"]) for one in mine]
            write_as_root(folder / name, "".join(" ".join(filter(None, line)) + "\n" for line in words))
        write_as_root(brake_grammar.PRINTER, f'#!/bin/sh\ncat "{folder}/$1" 2>/dev/null\nexit {3 if fails else 0}\n')
        os.chmod(brake_grammar.PRINTER, 0o755)

    def write_revoked(self, path, kind, keys):
        lines = "".join(f"{self.pool.keys[name].line}\n" for name in keys)
        if kind == "text":
            write_as_root(path, f"# gone\n{lines}")
        elif kind == "krl":
            write_as_root(INPUTS / "revoked", lines)
            subprocess.run(["ssh-keygen", "-q", "-k", "-f", path, INPUTS / "revoked"], check=True)
        elif kind == "folder":
            os.mkdir(path)
        elif kind == "null":
            os.symlink("/dev/null", path)

    def run(self, _phases=()):
        """Runs the draw. The differences are in the result."""
        for config in ("/etc/ssh/sshd_config", *([SECOND_CONFIG] if self.draw["second"] else [])):
            checked = subprocess.run([SSHD, "-t", "-f", config], capture_output=True, text=True, check=False)
            if checked.returncode != 0:
                self.result.invalid = checked.stderr.strip()
                return self.result
        self.observer = Observer(self.draw, self.pool)
        self.server.start()
        if second := self.draw["second"]:
            argv = [SSHD] if second["file"] is None else [SSHD, "-f", SECOND_CONFIG]
            options = [f"-o{name}={value}" for name, value in [*second["options"], ["PidFile", "/run/second.pid"]]]
            subprocess.run([*argv, "-p", str(brake_grammar.SECOND_PORT), *options], check=True)
        self.enable()
        self.before = self.observe(self.clients)
        self.clients = {number: one for number, one in self.clients.items() if got_in(self.before[number])}
        self.result.clients, self.result.entered = len(self.draw["clients"]), len(self.clients)
        for night, keys in enumerate(self.change["nights"]):
            self.so_far = {**self.draw, "change": {**self.change, "nights": self.change["nights"][:night + 1]}}
            if not self.try_night(night, keys):
                break
        self.server.stop()
        return self.result

    def enable(self):
        if self.draw["enable"] is None:
            return
        done = self.call("sshd", "enable", "--yes", *self.draw["enable"])
        if done.returncode != 0:
            self.result.refusals["enable"] = reason_of(done.stderr, self.draw)
        self.server.reload()

    def call(self, *words, **environment):
        return subprocess.run([self.keyveto, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", check=False, env={**os.environ, **environment})

    def observe(self, clients):
        self.result.logins += len(clients)
        return dict(zip(clients, self.observer.observe(list(clients.items()))))

    # The command

    def try_night(self, night, keys):
        """Runs the command once. Whether it took effect."""
        words, environment = Commands(self.draw, self.pool, self.call).prepare(night, keys)
        files = self.snapshots.take()
        done = self.call(*words, *self.yes, **environment)
        if done.returncode in APPLIED:
            self.result.outcome = "applied"
            self.judge(self.observe(self.clients), done)
            return not self.result.differences
        changed = self.changes(files)
        if changed:
            self.add(f"{words[0]} ended with {done.returncode}, and changed files", None, _output(done) + changed)
        self.judge_hold(done, words, environment)
        return False

    def changes(self, files):
        """The files that are not as they were. keyveto's own notes, whose names begin with a dot, do not count."""
        now = self.snapshots.take()
        return "".join(f"    {path}\n" for path in sorted(now.keys() | files.keys())
                       if now.get(path) != files.get(path) and not Path(path).name.startswith(".")
                       and path != "/var/lib/keyveto" and not path.endswith("/.keyveto"))

    # The law

    def losses(self, after):
        """{number: record} of the clients that got in before and do not now. A login that fails is made twice."""
        lost = {number: self.clients[number] for number in self.clients if not got_in(after[number])}
        again = self.observe({number + REPEATED: one for number, one in lost.items()})
        for number in list(lost):
            if got_in(again[number + REPEATED]):
                self.result.unsteady.append(f"client {number} was refused once:\n{after[number].describe()}")
                del lost[number]
        return {number: after[number] for number in lost}

    def breaches(self, after):
        """[(the law, the client's number, text)]: who is locked out."""
        found, lost = [], self.losses(after)
        denied = set(sum(self.change["nights"], []))
        administrators = brake_grammar.administrators(self.draw)
        lost = {number: record for number, record in lost.items() if not self.is_unknown(self.clients[number])}
        for number, record in lost.items():
            client = self.clients[number]
            text = f"before:\n{_brief(self.before[number])}after:\n{_brief(record)}"
            certificate = client["identities"][0].get("certificate")
            if self.uids[client["account"]] == 0:
                found.append((ROOT, number, text))
            elif not certificate and client["account"] in administrators:
                found.append((ADMINISTRATOR, number, text))
            elif certificate and certificate["ca"] in denied and any(
                    one.way == "TrustedUserCAKeys" for one in self.before[number].accepted):
                found.append((CA, number, text))
        self.lost_accounts |= {self.clients[number]["account"] for number in lost}
        if len(self.lost_accounts) > brake_grammar.limit(self.draw):
            found.append((NUMBER, None,
                          f"{len(self.lost_accounts)}: {' '.join(sorted(self.lost_accounts))}\n"))
        return found

    def is_unknown(self, client):
        """Whether only a command prints the client's key, and keyveto does not ask that, or cannot."""
        key, name = (client["identities"][0].get("certificate") or {"ca": client["identities"][0]["key"]})["ca"], \
            client["account"]
        account = next(one for one in self.draw["accounts"] if one["name"] == name)
        printed = (self.draw["printed"] or {"lines": {}})["lines"].get(name, [])
        asked = account["uid"] == 0 or name in brake_grammar.administrators(self.draw)
        if asked and brake_grammar.sure_lines(self.draw, account):
            return False
        return key in [line["key"] for line in printed] and not any(
            line.get("key") == key for one in self.draw["files"] if one["account"] == name for line in one["lines"])

    def judge(self, after, done):
        for law, number, text in self.breaches(after):
            self.add(law, number, _output(done) + text)
        for name, key in sorted(must_hold(self.so_far)):
            self.add(FILES, None, f"{_output(done)}{key} of {name}\n")

    # Holding

    def judge_hold(self, done, words, environment):
        """Whether it was right to hold: what --yes does, and who might be concerned."""
        reasons = hold_reasons(done.stderr, self.draw)
        forced = self.call(*words, "--yes", **environment)
        if forced.returncode not in APPLIED:
            self.result.refusals["command"] = f"{self.change['command']}: {reason_of(forced.stderr, self.draw)}"
            return
        self.result.outcome = "held"
        locked_out = bool(self.breaches(self.observe(self.clients)))
        self.result.holds += [(reason, locked_out) for reason in reasons]
        if not locked_out and not any("judged" in one or "compared" in one for one in reasons) and not concerned(
                self.so_far):
            self.add("held for nothing", None, _output(done))

    def add(self, kind, client, text):
        self.result.differences.append(Difference(kind, self.change["command"], client, text))


def hold_reasons(stderr, draw):
    """The reasons of a hold, without names and numbers. For what could not be judged, the problems that were named."""
    reasons, problems = [], []
    for line in stderr.splitlines():
        if re.search(r"would refuse|HoldIfRefused", line):
            reasons.append(reason_of(line, draw))
        elif "could be compared" in line:
            reasons += [f"not judged: {reason_of(one, draw)}" for one in problems] or [reason_of(line, draw)]
        elif ") will be " not in line:
            problems.append(line)
    return list(dict.fromkeys(reasons)) or [reason_of(stderr, draw)]


def _brief(record):
    """The record without what does not matter here."""
    ran = [line for line in record.ran if line.startswith(("kvd runs", "kvd tty"))]
    return observe.Record(record.status, tuple(ran), record.words, False, False, record.accepted).describe()


def _output(done):
    return f"status {done.returncode}\n{done.stdout}{done.stderr}"


def must_hold(draw):
    """{(account, key)}: keys that the change refuses newly, in files that an sshd is sure to read for root or an
    administrator, from some client. What RevokedKeys, options of a line or DenyUsers say does not matter.
    """
    if "--warn" in (draw["enable"] or ()):
        return set()
    after, used = changed(draw), sorted(brake_grammar.configs(draw))
    before, rules = ([policy.Policy(one, path) for path in used] for one in (draw, after))
    refused = {name for name in brake_grammar.NAMES for old, new in zip(before, rules)
               if old.actions([name]) == {policy.ENTER} and new.actions([name]) == {policy.DENY}}
    roots = {one["name"] for one in draw["accounts"] if one["uid"] == 0}
    found = set()
    for account in draw["accounts"]:
        if account["name"] not in roots | set(brake_grammar.administrators(draw)):
            continue
        paths = [grammar.file_of(pattern, account) for pattern in brake_grammar.sure_patterns(draw)]
        lines = sum((one["lines"] for one in draw["files"] if one["path"] in paths), [])
        lines = lines + brake_grammar.sure_lines(draw, account)
        found |= {(account["name"], line["key"]) for line in lines if line.get("key") in refused}
    return found


def concerned(draw):
    """Whether the change may refuse a key of root, of an administrator, a CA, or keys of too many accounts.

    This is more than what must hold: it does not ask which file an sshd reads.
    """
    after, used = changed(draw), sorted(brake_grammar.configs(draw))
    before, rules = ([policy.Policy(one, path) for path in used] for one in (draw, after))
    refused = {name for name in brake_grammar.NAMES if any(one.may_deny([name]) for one in rules)}
    refused -= {name for name in refused if all(one.actions([name]) == {policy.DENY} for one in before)}
    # Logins may consult a file below /var/lib/keyveto soon.
    target = draw["change"].get("target", "")
    if target.startswith(brake_grammar.STATE) and not any(target in one.filters + one.lists_named for one in before):
        refused |= set(sum(draw["change"]["nights"], []))
    if any(name in refused for names in draw["cas"].values() for name in names):
        return True
    printed = (draw["printed"] or {"lines": {}})["lines"]
    holders = {one["account"] for one in draw["files"] if any(line.get("key") in refused for line in one["lines"])}
    holders |= {name for name, lines in printed.items() if any(line.get("key") in refused for line in lines)}
    roots = {one["name"] for one in draw["accounts"] if one["uid"] == 0}
    return bool(holders & (roots | set(brake_grammar.administrators(draw)))) or len(holders) > brake_grammar.limit(draw)


def changed(draw):
    """The draw with the lists and policies that the change makes."""
    after, change = deepcopy(draw), draw["change"]
    keys = sum(change["nights"], [])
    for one in after["lists"]:
        if one["path"] == change.get("target"):
            one["keys"] = [] if change["command"] == "filter create" else one["keys"] + keys
    for one in after["policies"]:
        if one["path"] == change.get("config"):
            one["lines"] = edited(one["lines"], change)
    return after


def edited(lines, change):
    """The lines of a configuration after config edit or allow --remove."""
    if change["command"] == "allow --remove":
        return [line for line in lines if not line[1].startswith(f"<{change['nights'][0][0]}>")]
    return [line for line in lines if line[0] != change.get("drop")] + change.get("lines", [])


class Commands:
    """Makes the inputs of the command."""

    def __init__(self, draw, pool, call):
        self.draw, self.pool, self.change, self.call = draw, pool, draw["change"], call
        self.target = self.change.get("target")
        self.named = self.change.get("link", self.target)

    def prepare(self, night, keys):
        """(words, environment) of the command."""
        self.night, self.keys = night, keys
        self.old = next((one for one in self.draw["lists"] if one["path"] == self.target), None)
        found = COMMANDS[self.change["command"]](self)
        return found if isinstance(found[-1], dict) else (found, {})

    def write(self, name, content):
        path = INPUTS / name
        write_as_root(path, content)
        return str(path)

    def file_of_keys(self, names):
        return self.write("keys", "".join(f"{self.pool.keys[name].line}\n" for name in names))

    def all_keys(self):
        """The keys that the new file lists."""
        return list(dict.fromkeys(self.old["keys"] + sum(self.change["nights"][:self.night + 1], [])))

    def made(self, names):
        """A file with these keys, of the target's kind."""
        suffix = Path(self.target).suffix
        return self.write(f"made{suffix}", policy.list_bytes(
            {"path": self.target, "keys": names, "state": "good", "revision": self.night + 2}, self.pool))

    def update_list(self):
        data = Path(self.made(self.all_keys())).read_bytes()
        self.write("blocklist.xz", lzma.compress(data))
        manifest = {"bkformat": 0, "blocklists": [{"id": 1, "name": "ours", "type": "git", "repo": "a/b", "path": "c"}],
                    "date": f"2026-11-{self.night + 1:02}T00:00:00+00:00",
                    "blocklist_url": "https://ours.example/blocklist.xz",
                    "blocklist_sha256": hashlib.sha256(data).hexdigest()}
        place = self.write("badkeysdata.json", json.dumps(manifest))
        write_as_root("/etc/keyveto/update.conf", _lines([*self.draw["settings"], ["Source", "ours"],
                                                          ["Format", "badkeys"], ["URL", place],
                                                          ["Target", self.named]]))
        return "update", "--source", "ours"

    def previous(self):
        """Makes the file before, which has the keys."""
        write_as_root(f"{self.target}.previous", Path(self.made(self.all_keys())).read_bytes())
        return self

    def config_edit(self):
        path = Path(self.change["config"])
        one = next(one for one in self.draw["policies"] if one["path"] == str(path))
        text = path.read_text(encoding="utf-8")
        old, new = (policy.config_text({**one, "lines": lines}, self.pool)
                    for lines in (one["lines"], edited(one["lines"], self.change)))
        place = text.rindex(old)
        self.write("edited", text[:place] + new + text[place + len(old):])
        editor = self.write("editor", f'#!/bin/sh\nexec cp {INPUTS}/edited "$1"\n')
        os.chmod(editor, 0o755)
        return ("config", "edit", "--config", str(path)), {"EDITOR": editor, "VISUAL": editor}


# The words of each command; and with those of config edit, its environment.
COMMANDS = {
    "list add": lambda one: ("list", "add", one.named, one.file_of_keys(one.keys)),
    "list create": lambda one: ("list", "create", "--force", one.named, one.file_of_keys(one.all_keys())),
    "list merge": lambda one: ("list", "merge", one.named, one.named, one.made(one.keys)),
    "filter add": lambda one: ("filter", "add", one.named, one.file_of_keys(one.keys)),
    "filter create": lambda one: ("filter", "create", "--force", "--hashes", str(policy.HASHES), "--length",
                                  str(policy.LENGTH), one.named),
    "filter merge": lambda one: ("filter", "merge", one.named, one.named, one.made(one.keys)),
    "update filter": lambda one: ("update", one.made(one.all_keys()), "--filter", one.named),
    "update list": Commands.update_list,
    "rollback filter": lambda one: ("update", "--rollback", "--filter", one.previous().named),
    "rollback list": lambda one: ("update", "--rollback", *one.previous().update_list()[1:]),
    "config edit": Commands.config_edit,
    "allow --remove": lambda one: ("allow", "--remove", "--config", one.change["config"],
                                   one.pool.keys[one.keys[0]].fingerprint),
}


def _lines(settings):
    return "".join(f"{keyword} {value}\n" for keyword, value in settings)


def count_holds(results):
    """{(reason, whether somebody would have been locked out): how often}."""
    return Counter(hold for result in results for hold in result.holds)
