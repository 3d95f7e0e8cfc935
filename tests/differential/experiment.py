# SPDX-License-Identifier: ISC
"""One draw from beginning to end: logins before, after each form of enable, and after disable."""

import os
import re
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

import observe
import policy
import world
from compare import Claims, Difference, judge, reduced, refused_ways, same
from server import SSHD
from stock import StockServer

PHASES = ("warn", "enable", "guard", "pam", "marks")
_FLAGS = {"enable": (), "guard": ("--guard",), "pam": ("--pam",)}
WATCHED = ("/etc", "/var/lib/keyveto")
KEEP_IN, KEEP_OUT = 6, 1         # of the clients that got in at first, and of the others, how many are tried further
REDUCED = 60                    # added to the number of a client for its login without the keys to refuse


@dataclass
class Result:
    """The result of a draw."""
    invalid: str = ""           # why sshd refuses the configuration
    differences: list = field(default_factory=list)
    refusals: dict = field(default_factory=dict)        # phase: enable's reason
    logins: int = 0             # all logins
    entered: int = 0            # logins before enable that got in
    refused: int = 0            # those of them by a key or CA that the policy refuses
    clients: int = 0
    remade: int = 0             # whether enable or disable went on after marks were taken out
    unsteady: list = field(default_factory=list)        # logins that differed once, and not again


class Snapshots:
    """Everything below the watched folders: names, modes, owners, contents.

    A file is not read again if its inode and times are unchanged.
    """

    def __init__(self):
        self._known = {}

    def take(self):
        found, known = {}, {}
        for top in WATCHED:
            for folder, folders, files in os.walk(top):
                for path in (os.path.join(folder, name) for name in (*folders, *files)):
                    info = os.lstat(path)
                    sign = (info.st_ino, info.st_mtime_ns, info.st_ctime_ns, info.st_size)
                    was = self._known.get(path)
                    content = was[1] if was and was[0] == sign else _content(path, info.st_mode)
                    known[path] = sign, content
                    found[path] = info.st_mode, info.st_uid, info.st_gid, content
        self._known = known
        return found


def _content(path, mode):
    if stat.S_ISLNK(mode):
        return os.fsencode(os.readlink(path))
    if not stat.S_ISREG(mode):
        return b""
    with open(path, "rb") as source:
        return source.read()


class Experiment:
    def __init__(self, draw, pool, binaries, settings):
        self.draw, self.clients = draw, dict(enumerate(draw["clients"]))
        self.keyveto = str(binaries / "keyveto")
        self.result = Result()
        world.build(draw, pool, binaries, settings)
        self.server, self.observer = StockServer(), None
        self.pool, self.rules, self.by_hand = pool, policy.Policy(draw), policy.configs_by_hand(draw)
        self.all_clients, self.first = dict(self.clients), {}
        self.before, self.without, self.seen = {}, {}, {}
        self.snapshots = Snapshots()
        self.consent = ()

    def run(self, phases=PHASES):
        """Runs all phases. The differences are in the result."""
        checked = subprocess.run([SSHD, "-t"], capture_output=True, text=True, check=False)
        if checked.returncode != 0:
            self.result.invalid = checked.stderr.strip()
            return self.result
        self.observer = observe.Observer(self.draw, self.pool)
        self.server.start(*self.draw["options"])
        self.record_before()
        self.etc = self.snapshots.take()
        for phase in phases:
            if phase != "marks":
                self.try_phase(phase)
        self.server.reload()
        self.compare("disabled", self.observe(), False, None)
        # This comes last, since it leaves lines behind.
        if "marks" in phases:
            self.try_marks(self.draw["marks"])
        self.server.stop()
        return self.result

    def observe(self, clients=None):
        clients = self.clients if clients is None else clients
        self.result.logins += len(clients)
        return dict(zip(clients, self.observer.observe(list(clients.items()))))

    def record_before(self):
        self.before = self.observe()
        self.first = dict(self.before)
        entered = [number for number, record in self.before.items() if not record.is_nothing]
        others = [number for number in self.clients if number not in entered]
        self.clients = {number: self.clients[number] for number in sorted(entered[:KEEP_IN] + others[:KEEP_OUT])}
        self.steady_before()
        again = [(number + REDUCED, reduced(client, self.rules)) for number, client in self.clients.items()
                 if refused_ways(self.before[number], self.rules)]
        again = [(number, client) for number, client in again if client]
        self.result.logins += len(again)
        for (number, _), record in zip(again, self.observer.observe(again)):
            self.without[number - REDUCED] = _as_if(record, number)
        self.result.clients = len(self.clients)
        self.result.entered = sum(number in entered for number in self.clients)
        self.result.refused = sum(bool(refused_ways(self.before[number], self.rules)) for number in self.clients)

    def steady_before(self):
        """All later logins are compared with these, so each is made twice, and a third time if it differs."""
        for number, second in self.observe().items():
            first = self.before[number]
            if first != second:
                self.result.logins += 1
                third = self.observer.observe([(number, self.clients[number])])[0]
                self.result.unsteady.append(f"before, client {number}\nonce:\n{first.describe()}"
                                            f"again:\n{second.describe()}and then:\n{third.describe()}")
                self.before[number] = second if second == third else first

    # keyveto

    def switch(self, *words):
        return subprocess.run([self.keyveto, "sshd", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", check=False)

    def try_phase(self, phase):
        flags = self.draw["warn"] if phase == "warn" else _FLAGS[phase]
        done = self.switch("enable", *flags, *self.consent)
        if done.returncode == 1:
            self.expect_etc(phase, "a refusal changed things")
            # Later forms use --yes at once: without it, enable would refuse them, too.
            self.consent = ("--yes",)
            done = self.switch("enable", *flags, *self.consent)
        if done.returncode != 0:
            self.result.refusals[phase] = reason_of(done.stderr, self.draw)
            if any(mask["path"] in done.stderr for mask in self.draw["masks"]):
                self.add(phase, "a masked file stops enable", text=done.stderr)
            self.expect_etc(phase, "a refusal changed things")
            return
        self.record_enabled(phase)
        done = self.switch("disable")
        if done.returncode != 0:
            self.add(phase, "disable fails", text=done.stderr)
        self.expect_etc(phase, "disable leaves a difference")

    # Marks that are taken out by hand

    def try_marks(self, marks):
        """Some of the lines that enable wrote become the administrator's. Then enable or disable, without --yes."""
        done = self.switch("enable", *marks["enable"], *self.consent)
        if done.returncode == 1:
            done = self.switch("enable", *marks["enable"], "--yes")
        if done.returncode != 0:
            self.result.refusals["marks"] = reason_of(done.stderr, self.draw)
            return
        if not take_marks(marks["taken"]):
            return
        self.server.reload()
        before, again = self.observe(self.all_clients), self.observe(self.all_clients)
        self.etc = self.snapshots.take()
        # --yes lets enable refuse keys, and nothing else.
        done = self.switch(marks["then"], *(["--yes"] if marks["then"] == "enable" else []))
        if done.returncode != 0:
            self.result.refusals["marks"] = f"{marks['then']}: {reason_of(done.stderr, self.draw)}"
            self.expect_etc("marks", "a refusal changed things")
            return
        self.result.remade += 1
        self.server.reload()
        after = self.observe(self.all_clients)
        for number, client in self.all_clients.items():
            # A login that is not the same each time says nothing.
            kind = self.judge_marks(number, client, before[number], after[number])
            if kind and before[number] == again[number] and after[number] == self.observe({number: client})[number]:
                self.add("marks", kind, number,
                         f"before:\n{before[number].describe()}{marks['then']}:\n{after[number].describe()}"
                         f"{done.stdout}{done.stderr}")

    def judge_marks(self, number, client, before, after):
        """The error in a login after that command. None if it obeys the rules."""
        if same(before, after):
            return None
        policies = [self.rules, *(policy.Policy(self.draw, path) for path in self.by_hand)]
        may_change = any(one.may_deny(policy.names_of(identity))
                         for identity in client["identities"] for one in policies)
        if before.is_nothing and not after.is_nothing:
            # disable lets in again whom keyveto refused, and nobody else.
            again = self.draw["marks"]["then"] == "disable" and may_change and not self.first[number].is_nothing
            return None if again else "let in"
        if may_change:
            return None
        return "locked out" if after.is_nothing and not before.is_nothing else "changed"

    def record_enabled(self, phase):
        """If two forms of enable write the same bytes, the logins are made once."""
        state = repr(sorted((path, entry) for path, entry in self.snapshots.take().items()
                            if entry != self.etc.get(path) and "sshd-state" not in path))
        if state not in self.seen:
            self.server.reload()
            status = self.switch("status", "--json")
            claims = Claims(status.stdout)
            if not claims.rows:
                self.add(phase, "status fails", text=status.stdout)
            self.seen[state] = (self.observe(), claims)
        records, claims = self.seen[state]
        self.compare(phase, records, phase != "warn", claims)

    def expect_etc(self, phase, kind):
        """Adds a difference if the files are not those before."""
        now, files = self.snapshots.take(), self.etc
        changed = [path for path in sorted(now.keys() | files.keys()) if now.get(path) != files.get(path)]
        if changed:
            self.add(phase, kind, text="".join(f"    {path}\n" for path in changed))
        self.etc = now

    # Differences

    def add(self, phase, kind, client=None, text=""):
        self.result.differences.append(Difference(kind, phase, client, text))

    def compare(self, phase, records, enforced, claims):
        """A login that differs is made again. It counts if it differs twice."""
        for number, client in list(self.clients.items()):
            def wrong(record, n=number, who=client):
                return judge(who, self.before[n], self.without.get(n), record, enforced, claims, self.rules,
                             self.by_hand)
            kind = wrong(records[number])
            if not kind:
                continue
            self.result.logins += 1
            again = self.observer.observe([(number, client)])[0]
            if wrong(again) != kind:
                self.result.unsteady.append(f"{phase}, client {number}: {kind}\nonce:\n{records[number].describe()}"
                                            f"again:\n{again.describe()}")
                records[number] = again
                continue
            self.add(phase, kind, number, f"before:\n{self.before[number].describe()}{phase}:\n{again.describe()}")


def take_marks(taken):
    """Takes out the pairs of marks with these numbers: whether there was any. The guard's lines have number 0."""
    places, found, number = [Path(policy.DROP_IN), Path("/etc/ssh/sshd_config")], False, 0
    places += sorted(path for path in Path("/etc/ssh").rglob("*.conf") if path not in places)
    for path in (*places, Path("/etc/pam.d/sshd"), Path(policy.CONFIG)):
        if not path.is_file():      # a mask may be a folder
            continue
        kept = []
        for line in path.read_bytes().splitlines(keepends=True):
            is_mark = re.match(rb"# (BEGIN|END) keyveto", line)
            found = found or bool(is_mark) and number in taken
            kept.append(b"" if is_mark and number in taken else line)
            if line.startswith(b"# END keyveto"):
                number += 1
        path.write_bytes(b"".join(kept))
    return found


def _as_if(record, number):
    """The record with the address and port of the client with that number."""
    def renamed(words):
        return tuple(re.sub(rf"\b(127\.0\.\d)\.{number + 1}\b", rf"\1.{number - REDUCED + 1}", word) for word in words)
    return observe.Record(record.status, renamed(record.ran), renamed(record.words), record.listening, record.tunnel)


def reason_of(stderr, draw):
    """The message with the reason, without the names and numbers of the draw."""
    lines = [line for line in stderr.splitlines() if line and "note: " not in line]
    # Findings in the files come first, the reason is the last message.
    line = lines[-1] if lines else "no message"
    line = re.sub(r"^keyveto( sshd)?( enable)?: ", "", line)
    for account in sorted(draw["accounts"], key=lambda one: -len(one["name"])):
        line = re.sub(rf"(?<![\w/]){re.escape(account['name'])}(?!\w)", "NAME", line)
    line = re.sub(r"/opt/kvd/command\d+( [^;:,]*)?", "COMMAND", line)
    line = re.sub(r"(/etc/[\w./*-]+|%h\S*|\.ssh/\S+)(:\d+)?", "FILE", line)
    line = re.sub(r"FILE[^ :;,]*( FILE[^ :;,]*)+", "FILES", line)
    return re.sub(r"\d+", "N", line)[:160]
