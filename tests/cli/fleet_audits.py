# SPDX-License-Identifier: ISC
"""Audits of many hosts, made at random, and a second implementation of keyveto-report that joins them."""

import json
import re
import shlex
from collections import defaultdict
from datetime import datetime, timezone
from typing import NamedTuple

DAY = 86400
BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
WORST = ["clean", "allowed", "unsupported", "error", "listed"]
COLUMNS = ["finding", "host", "account", "file", "line", "fingerprint", "type", "bits", "verdict", "sources", "part",
           "comment", "accounts", "hosts", "last_login", "login_from", "message", "guarded", "group",
           "owner", "team"]
PROBLEMS_KEPT = 100
NASTY = ["", "work laptop", "=1+1", " +cmd|'/C calc'!A0", "x;=SUM(A1)", 'x; "@y', "-2", "\u202eevil\u202c", "a\tb\nc\r",
         "\x1b[2J\x07", "</script><!--", "&amp;&lt;", "\u2028\u2029", "\x00nul", "\ufeffbom", "＝1", "\U0001f511 key",
         "[link](http://example.org) {0} \\", '"quoted", "twice"', "\U000e0041tag", "é" * 300, "\x9b31m", "l" * 600,
         "zero\u200bwidth", "\\x1b"]


def random_fingerprint(rnd):
    return "SHA256:" + "".join(rnd.choices(BASE64, k=42)) + rnd.choice("AEIMQUYcgkosw048")


class Key(NamedTuple):
    fingerprint: str
    type: str
    bits: int
    spki: str


def random_key(rnd):
    if rnd.random() < 0.1:
        return Key("", "NONE", 512, f"{rnd.getrandbits(256):064x}")
    kind, bits = rnd.choice((("ssh-rsa", 2048), ("ssh-ed25519", 256), ("ecdsa-sha2-nistp384", 384)))
    return Key(random_fingerprint(rnd), kind, bits, f"{rnd.getrandbits(256):064x}")


def key_object(rnd, key, verdict, account, number):
    sources = rnd.sample(["debianssl", "pkg", "git", "id13"], rnd.randrange(3)) if verdict == "listed" else []
    one = {"file": f"/home/{account}/.ssh/authorized_keys" if account else "/etc/ssh/ssh_host_rsa_key", "line": number,
           "verdict": verdict, "type": key.type, "bits": key.bits, "fingerprint": key.fingerprint,
           "spki_sha256": key.spki, "part": rnd.choice(["key", "key", "ca"]), "comment": rnd.choice(NASTY),
           "filters": ["/var/lib/keyveto/filter.pkbf"] if verdict == "listed" and rnd.random() < 0.5 else [],
           "lists": ["/var/lib/keyveto/badkeys"] if sources else [], "source": sources[0] if sources else None,
           "sources": sources, "reason": "ours until spring" if verdict == "allowed" else ""}
    if account:
        one["account"] = account
    return one


def random_header(rnd, name, now):
    checks = [{"check": rnd.choice(["guard", "filter-age", "pam"]), "status": rnd.choice(["ok", "warning", "broken"]),
               "found": rnd.choice(NASTY) or "x", "remedy": rnd.choice([None, "do it"])}
              for _ in range(rnd.randrange(4))]
    lists = []
    for kind, file in (("filter", "/var/lib/keyveto/filter.pkbf"), ("list", "/var/lib/keyveto/badkeys"),
                       ("filter", f"/srv/{rnd.randrange(3)}")):
        if rnd.random() < 0.8:
            lists.append({"kind": kind, "file": file, "revision": rnd.choice([3, 4, 5]) if kind == "filter" else None,
                          "time_seconds": rnd.choice([None, now - rnd.choice([1, 29, 31, 119, 121, 400]) * DAY - 900,
                                                      now + 40 * DAY]),
                          "entries": 7, "sha256": f"{rnd.getrandbits(256):064x}"})
    worst = max((["ok", "warning", "broken"].index(one["status"]) for one in checks), default=0)
    return {"header": True, "format": 1, "host": name, "time": "2026-11-23T13:20:00Z",
            "time_seconds": now - rnd.choice([0, 1, 40]) * DAY - 900, "whole": True, "all": True,
            "versions": {"keyveto": "0.1.0", "sshd": "OpenSSH_9.2p1", "os": rnd.choice([None, "Debian"])},
            "lists": lists, "sshd": {"path": "/usr/sbin/sshd", "answered": True,
                                     "guarded": rnd.choice([None, True, False]),
                                     "ways": [{"way": way, "open": rnd.random() < 0.7, "guard": False, "pam": False,
                                               "guarded": False}
                                              for way in ("authorized_keys", "TrustedUserCAKeys")]},
            "doctor": rnd.choice([None, {"status": ["ok", "warning", "broken"][worst], "checks": checks}])}


def random_lines(rnd, name, keys, verdicts, now):
    """The lines of one audit."""
    if rnd.random() < 0.1:
        return [{"header": True, "format": 1, "host": name, "time_seconds": now, "time": "x", "answered": False,
                 "reason": rnd.choice(["ssh: connect to host: No route to host", "\x1b[31mtimed out"])}]
    lines, counts = [random_header(rnd, name, now)], defaultdict(int)
    summaries = []
    for account in [*(f"user{n}" for n in rnd.sample(range(9), rnd.randrange(5))), None]:
        row = defaultdict(int)
        for number in range(rnd.randrange(5)):
            key = rnd.choice(keys)
            verdict = verdicts[key]
            row["keys"] += 1
            row[verdict] += 1
            row["usable"] += verdict in ("clean", "allowed")
            lines.append(key_object(rnd, key, verdict, account, number))
            if rnd.random() < 0.03:
                lines[-1].update(rnd.choice(({"type": "ssh-dss"}, {"bits": 1024}, {"type": "x509", "bits": 0})))
        if rnd.random() < 0.2:
            verdict, kind = rnd.choice((("error", None), ("unsupported", "ssh-xmss\x1b"), ("unsupported", None)))
            row["problems" if verdict == "error" else "unsupported"] += 1
            lines.append({"file": f"/home/{account}/x", "line": 3, "verdict": verdict, "type": kind, "bits": None,
                          "fingerprint": None, "spki_sha256": None, "part": None, "comment": None, "filters": [],
                          "lists": [], "source": None, "sources": [], "reason": "no key\x07",
                          **({"account": account} if account else {})})
        if row:
            summaries.append({"summary": True, "what": "account" if account else "host keys", "account": account,
                              "files": 1, **{name: row[name] for name in ("keys", "listed", "allowed", "clean",
                                                                          "unsupported", "problems", "usable")}})
            for field in ("keys", "listed", "allowed", "clean", "unsupported", "problems"):
                counts[field] += row[field]
    lines += summaries
    for line in [one for one in lines if one.get("verdict") == "listed"]:
        if rnd.random() < 0.5:
            came = rnd.random() < 0.8
            lines.append({"login": True, "account": line.get("account", "user3"), "fingerprint": line["fingerprint"],
                          "spki_sha256": line["spki_sha256"], "type": line["type"], "verdict": "listed",
                          "last_seconds": now - rnd.randrange(10**6) if came else None,
                          "from": f"192.0.2.{rnd.randrange(9)}" if came else None, "logins": 2 * came,
                          "log": "journal" if came else None, "in_file": rnd.random() < 0.8})
    if rnd.random() < 0.9:
        status = 1 if counts["listed"] else 2 if counts["problems"] + counts["unsupported"] else 0
        lines.append({"end": True, "status": status, "accounts": len(summaries) + 3, "files": 2, "reason": None,
                      **{name: counts[name] for name in ("keys", "listed", "allowed", "clean", "unsupported",
                                                         "problems")}})
    return lines


def speak_for_another(rnd, lines, now):
    """Inserts the header of a host that has no audit, and often an end."""
    at = rnd.randrange(1, len(lines) + 1)
    lines[at:at] = [random_header(rnd, "absent1", now),
                    *([{"end": True, "status": 0, "accounts": 0, "files": 0, "reason": None, "keys": 0, "listed": 0,
                        "allowed": 0, "clean": 0, "unsupported": 0, "problems": 0}] if rnd.random() < 0.7 else [])]


def random_fleet(rnd, folder, now):
    """Writes audits: their paths, and the file of names for --hosts."""
    keys = [random_key(rnd) for _ in range(rnd.randrange(1, 25))]
    verdicts = {key: rnd.choices(["clean", "listed", "allowed"], [5, 3, 1])[0] for key in keys}
    paths, names = [], []
    for number in range(rnd.randrange(1, 12)):
        name = rnd.choice([f"host{number}", f"host{number}.example.org", "localhost", f"odd\x1b{number}"])
        path = folder / f"audit-{number}.json"
        # The list of some hosts is older, and some let the key in.
        own = {key: rnd.choice(["clean", "allowed"]) if one == "listed" and rnd.random() < 0.2 else one
               for key, one in verdicts.items()}
        lines = random_lines(rnd, name, keys, own, now)
        if rnd.random() < 0.1:
            speak_for_another(rnd, lines, now)
        path.write_text("".join(json.dumps(one, ensure_ascii=rnd.random() < 0.5) + "\n" for one in lines),
                        encoding="utf-8")
        paths.append(path)
        if rnd.random() < 0.7:
            both = [name.upper().replace("\x1b", "\\x1B"), f"audit-{number}"]
            names += both if rnd.random() < 0.1 else [rnd.choice(both)]
    hosts = folder / "hosts"
    hosts.write_text("# all\n\n" + "".join(f"  {name} # here\n" for name in [*names, "absent2", "absent1"]),
                     encoding="utf-8")
    return paths, hosts


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def random_owners(rnd, file, fingerprints):
    """Writes a file for --owners."""
    lines = ["# whose keys", ""]
    for number in range(rnd.randrange(12)):
        kind = rnd.choice(["key", "comment", "account"])
        pattern = {"key": rnd.choice([*fingerprints, "SHA256:none"]),
                   "comment": rnd.choice(["*laptop*", "", "=*", "?2", "*\\x1b*", "l*", '*"twice"']),
                   "account": rnd.choice(["user1", "user?", "u*@host*", "*@localhost", "user3@odd*", "*@no*"])}[kind]
        person = rnd.choice(["Alice", "Bob \x1b", "=1+1", "</script>"])
        team = rnd.choice([[], [quoted(f"team {number % 2}")]])
        lines.append(" ".join([kind, quoted(pattern), quoted(person), *team, *rnd.choice([[], ["# why"]])]))
    file.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return file


# --- a second implementation ------------------------------------------------

HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff"
                     "\U000e0000-\U000e0fff]")


def clean(text, cap=1024):
    """As the program shows a string of an audit, in less than cap bytes."""
    pieces = []
    for one in text:
        if HARMFUL.match(one):
            one = f"\\x{ord(one):02x}" if ord(one) < 0x80 else f"\\u{ord(one):04x}"
        pieces.append(one.encode())
    if sum(map(len, pieces)) < cap:
        return b"".join(pieces).decode()
    kept = b""
    for piece in pieces:
        if len(kept) + len(piece) + 4 > cap:
            break
        kept += piece
    return (kept + b"...").decode()


SECOND_HEADER = "a second header: a file is the audit of one host, and what follows is not believed"
DISPUTED = "audits disagree about the type or the size of this key"


class Host:
    def __init__(self, path):
        self.file, self.name = str(path), path.name.removesuffix(".json")
        self.alias = self.name
        self.answered, self.complete, self.missing, self.reason = True, False, False, ""
        self.header, self.end, self.stale = {}, None, []
        self.places, self.logins, self.problems, self.bad = [], [], [], []
        self.listed, self.usable, self.count = defaultdict(int), defaultdict(int), defaultdict(int)

    @property
    def guarded(self):
        return self.header.get("sshd", {}).get("guarded")

    @property
    def has_no_list(self):
        return self.header.get("lists") == []

    @property
    def clean(self):
        return self.end["clean"] if self.end else sum(one["verdict"] == "clean" for one in self.places)

    @property
    def uncovered(self):
        """How many keys no list in use could know."""
        return sum(one["verdict"] == "unsupported" for one in self.problems) + self.has_no_list * self.clean

    @property
    def user_ca(self):
        return any(way["way"] == "TrustedUserCAKeys" and way["open"]
                   for way in self.header.get("sshd", {}).get("ways", []))


def read_host(path):
    host = Host(path)
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1], 1):
        one = json.loads(line)
        if one.get("header") and host.header:
            host.bad.append({"file": host.file, "line": number, "reason": SECOND_HEADER})
            break
        if one.get("header"):
            host.header, host.name = one, clean(one["host"], 256)
            host.answered = one.get("answered", True)
            host.reason = "" if host.answered else clean(one["reason"], 512)
        elif one.get("end"):
            host.end, host.complete = one, True
        elif one.get("summary"):
            host.count[one["account"]] += one["keys"]
            host.listed[one["account"]] += one["listed"]
            host.usable[one["account"]] += one["usable"]
        elif one.get("login"):
            host.logins.append(one)
        elif one["fingerprint"] is None:
            host.problems.append(one)
        else:
            host.places.append(one)
    return host


def fp_of(one):
    return one["fingerprint"] or "SPKI:" + one["spki_sha256"]


def last_login(host, one):
    """When somebody last came in by the key of a place, and from where."""
    found = [(login["last_seconds"], login["from"]) for login in host.logins
             if fp_of(login) == fp_of(one) and one.get("account") in (login["account"], None)
             and login["last_seconds"] is not None]
    return max(found, key=lambda pair: pair[0]) if found else (None, None)


def wild(pattern, text):
    """Whether a text is like a pattern with * and ?."""
    parts = (".*" if one == "*" else "." if one == "?" else re.escape(one) for one in pattern)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


class Owners:
    """The lines of a file for --owners. The first that matches counts."""

    def __init__(self, file=None):
        lines = file.read_text(encoding="utf-8").splitlines() if file else []
        words = [shlex.split(line, comments=True) for line in lines]
        self.lines = [(kind, clean(pattern, 512), clean(person, 256), clean(team[0], 256) if team else None)
                      for kind, pattern, person, *team in filter(None, words)]

    def find(self, fp, comment, account, host):
        """The number of a line, or None."""
        for number, (kind, pattern, *_) in enumerate(self.lines):
            name, at, where = pattern.rpartition("@")
            if {"key": fp == pattern, "comment": comment is not None and wild(pattern, comment),
                "account": account is not None and (wild(name, account) and wild(where, host) if at else
                                                    wild(pattern, account))}[kind]:
                return number
        return None

    def row(self, fp, comment, account, host):
        """The columns of --csv."""
        number = self.find(fp, comment, account, host)
        return {} if number is None else dict(zip(("owner", "team"), self.lines[number][2:]))


class Join:
    """What keyveto-report must say of these audits."""

    def __init__(self, paths, hosts_file=None, now=0, max_age=(30, 120), owners=None):
        self.hosts = [read_host(path) for path in paths]
        self.owners_file = Owners(owners)
        self.now, self.max_age = now, max_age
        self.verdict, self.owners, self.on = defaultdict(int), defaultdict(set), defaultdict(set)
        self.claims = defaultdict(set)
        for number, host in enumerate(self.hosts):
            for one in host.places:
                fp = fp_of(one)
                self.verdict[fp] = max(self.verdict[fp], WORST.index(one["verdict"]))
                self.owners[fp].add((number, one.get("account")))
                self.on[fp].add(number)
                self.claims[fp].add((host, one["type"], one["bits"]))
        self.add_missing(hosts_file)
        self.find_old()

    def add_missing(self, hosts_file):
        lines = hosts_file.read_text(encoding="utf-8").splitlines() if hosts_file else []
        names = {name.lower(): name for name in reversed([line.split("#")[0].strip() for line in lines]) if name}
        known = {host.alias.lower() if host.alias.lower() in names else host.name.lower() for host in self.hosts}
        for name in sorted(set(names) - known):
            host = Host(hosts_file)
            host.name, host.file, host.answered, host.missing = names[name], "", False, True
            host.reason = "no audit of it was given"
            self.hosts.append(host)

    def find_old(self):
        groups = defaultdict(list)
        for number, host in enumerate(self.hosts):
            for one in host.header.get("lists", []):
                if one["time_seconds"] is None or one["time_seconds"] <= self.now + DAY:
                    groups[one["kind"], one["file"]].append((number, one))
        for host in self.hosts:
            for one in host.header.get("lists", []):
                limit, time = self.max_age[one["kind"] == "list"], one["time_seconds"]
                if time is not None and limit and self.now - time > limit * DAY:
                    host.stale.append((one["file"], f"is {(self.now - time) // DAY} days old"))
                group = groups[one["kind"], one["file"]]
                if not group:
                    continue
                number, newest = max(group, key=lambda pair: (pair[1]["revision"] or 0, pair[1]["time_seconds"] or 0,
                                                              -pair[0]))
                name = self.hosts[number].name
                if one["revision"] is not None and one["revision"] < newest["revision"]:
                    host.stale.append((one["file"], f"has revision {one['revision']}, and {name} has revision "
                                                    f"{newest['revision']}"))
                elif (one["revision"] == newest["revision"] and time is not None
                      and newest["time_seconds"] is not None and time < newest["time_seconds"]):
                    host.stale.append((one["file"], f"is older than that of {name}, by its date"))
            time = host.header.get("time_seconds")
            if host.answered and time is not None and self.max_age[0] and self.now - time > self.max_age[0] * DAY:
                host.stale.append((None, f"the audit is {(self.now - time) // DAY} days old"))

    def place_row(self, kind, host, one):
        fp = fp_of(one)
        last, source = last_login(host, one)
        return self.row(kind, host, account=one.get("account"), file=one["file"], line=one["line"] or None,
                        fingerprint=fp, type=one["type"], bits=one["bits"], verdict=one["verdict"],
                        sources=", ".join(one["sources"]), part=one["part"], comment=clean(one["comment"], 512),
                        accounts=len(self.owners[fp]), hosts=len(self.on[fp]), last_login=iso(last),
                        login_from=source, **self.owner_of(host, fp, one.get("account"), one["comment"]))

    def owner_of(self, host, fp, account, comment=None):
        comment = None if comment is None else clean(comment, 512)
        return self.owners_file.row(fp, comment, account, host.name)

    def type_of(self, fp):
        """Its type as the page and the row of an account have it."""
        return " or ".join(sorted({kind for _, kind, _ in self.claims[fp]})[:3])

    def bits_of(self, fp):
        return None if self.is_disputed(fp) else next(iter(self.claims[fp]))[2]

    @staticmethod
    def entries(host, guarded):
        """The accounts that listed keys get into if "guarded" is this, and these keys."""
        found = defaultdict(list)
        for one in host.places if host.guarded is guarded else ():
            if one["verdict"] == "listed" and ("account" in one or (one["part"] == "ca" and host.user_ca)):
                found[one.get("account")].append(one)
        return found

    def entry_row(self, host, account, places):
        fps, files = {fp_of(one) for one in places}, {one["file"] for one in places}
        logins = [(one["last_seconds"], one["from"]) for one in host.logins
                  if one["account"] == account and one["in_file"] and one["last_seconds"] is not None]
        last, source = max(logins, key=lambda pair: pair[0]) if logins else (None, None)
        only = fps.pop() if len(fps) == 1 else None
        comments = {clean(one["comment"], 512) for one in places}
        comment = comments.pop() if len(comments) == 1 else None
        n = "1 listed key gets in" if only else f"{len(fps)} listed keys get in"
        return self.row("unguarded", host, account=account, file=files.pop() if len(files) == 1 else None,
                        fingerprint=only, type=only and self.type_of(only), bits=only and self.bits_of(only),
                        verdict="listed", last_login=iso(last), login_from=source, comment=comment,
                        **self.owners_file.row(only, comment, account, host.name),
                        message=f"{n}{'' if account else ' as any account, by certificates'}: this host is not "
                                "guarded, or only logs")

    def rows(self):
        """The rows of --csv, without their order."""
        for host in self.hosts:
            yield from self.rows_of(host)
        for fp, claims in self.claims.items():
            once = {(host.name, host.guarded, kind, bits): host for host, kind, bits in claims}
            for (_, _, kind, bits), host in once.items() if self.is_disputed(fp) else ():
                yield self.row("disputed", host, fingerprint=fp, type=kind, bits=bits, accounts=len(self.owners[fp]),
                               hosts=len(self.on[fp]), message=DISPUTED)

    def is_disputed(self, fp):
        return len({claim[1:] for claim in self.claims[fp]}) > 1

    def rows_of(self, host):
        names = [other.name for other in self.hosts]
        for one in host.places:
            if one["verdict"] == "listed":
                yield self.place_row("listed", host, one)
            yield self.place_row("shared" if len(self.owners[fp_of(one)]) > 1 else "unique", host, one)
        for account in host.listed:
            if account is not None and host.listed[account] and not host.usable[account]:
                n, of = host.listed[account], host.count[account]
                owner = self.owner_of(host, None, account)
                then = {True: ": it is locked out", False: ": it would be locked out", None: ""}[host.guarded]
                yield self.row("locked", host, account=account, message=f"{n} of {of} "
                               f"{'key is' if of == 1 else 'keys are'} listed, and no other lets in{then}", **owner)
        for account, places in self.entries(host, False).items():
            yield self.entry_row(host, account, places)
        for one in host.logins:
            if not one["in_file"] and one["last_seconds"] is not None:
                yield self.row("gone", host, account=one["account"], file=one["log"], fingerprint=fp_of(one),
                               type=one["type"], verdict="listed", last_login=iso(one["last_seconds"]),
                               login_from=one["from"], **self.owner_of(host, fp_of(one), one["account"]))
        for file, message in host.stale:
            yield self.row("old", host, file=file, message=message)
        for one in (host.header.get("doctor") or {"checks": []})["checks"]:
            if one["status"] != "ok":
                yield self.row("doctor", host, message=f"{one['check']}: {clean(one['found'])}")
        if not host.answered:
            yield self.row("missing" if host.missing else "unanswered", host, file=host.file, message=host.reason)
        elif not host.complete:
            yield self.row("cut-off", host, file=host.file,
                           message="the audit was cut off, or is none: its last line is missing")
        if names.count(host.name) > 1:
            yield self.row("twice", host, file=host.file, message="another audit is of a host of this name, too")
        for one in host.problems + host.bad:
            fields = {"account": one.get("account"), "file": one["file"], "line": one["line"],
                      "message": clean(one["reason"], 512)}
            if one.get("verdict") == "unsupported":
                fields.update(type=clean(one["type"] or ""), verdict="unsupported")
            yield self.row("uncovered" if "type" in fields else "problem", host, **fields)
        if host.has_no_list and host.clean:
            yield self.row("uncovered", host, message=f"no list is in use: {host.clean} "
                           f"{'key was' if host.clean == 1 else 'keys were'} compared with none")

    @staticmethod
    def row(kind, host, **fields):
        return {"finding": kind, "host": host.name, "guarded": {True: "yes", False: "no", None: None}[host.guarded],
                "group": "inventory" if kind in ("shared", "unique") else "finding", **fields}

    @property
    def status(self):
        if any(one["verdict"] == "listed" for host in self.hosts for one in host.places):
            return 1
        names = [host.name for host in self.hosts]
        unwell = any(not host.answered or not host.complete or host.problems or host.bad for host in self.hosts)
        return 2 if unwell or len(set(names)) < len(names) else 0

    def page(self, everything):
        """The data of --html, but for "made" and "version"."""
        return {"hosts": [self.page_host(host) for host in self.hosts],
                "keys": [self.page_key(fp) for fp in self.owners
                         if everything or self.verdict[fp] > 0 or len(self.owners[fp]) > 1
                         or self.type_of(fp).startswith("ssh-rsa") and 0 < (self.bits_of(fp) or 0) < 2048],
                "gone": [[number, one["account"], fp_of(one), one["type"], one["last_seconds"], one["from"]]
                         for number, host in enumerate(self.hosts) for one in host.logins
                         if not one["in_file"] and one["last_seconds"] is not None],
                **({"owners": [list(line[2:]) for line in self.owners_file.lines]} if self.owners_file.lines else {})}

    def page_host(self, host):
        header, end = host.header, host.end or {}
        versions, doctor = header.get("versions", {}), header.get("doctor") or {}
        named = {"ok": "ok", "warning": "warning", "broken": "problem"}
        return {"name": host.name, "file": host.file, "answered": host.answered, "reason": host.reason or None,
                "complete": host.complete, "whole": header.get("whole", False), "time": header.get("time_seconds"),
                "keyveto": versions.get("keyveto"), "sshd": versions.get("sshd"), "os": versions.get("os"),
                "guarded": host.guarded, "user_ca": host.user_ca,
                "lists": [{"kind": one["kind"], "file": one["file"], "revision": one["revision"],
                           "time": one["time_seconds"], "sha256": one["sha256"]} for one in header.get("lists", [])],
                "old": bool(host.stale), "stale": [list(one) for one in host.stale],
                "doctor": named[doctor["status"]] if doctor else None,
                "findings": sorted(({"check": one["check"], "status": named[one["status"]],
                                     "found": clean(one["found"]), "remedy": one["remedy"]}
                                    for one in doctor.get("checks", []) if one["status"] != "ok"),
                                   key=lambda one: one["status"] != "problem"),
                "accounts": 0 if host.missing else end.get("accounts", len(host.count)),
                "keys": 0 if host.missing else end.get("keys", len(host.places)),
                "listed": sum(one["verdict"] == "listed" for one in host.places),
                "uncovered": host.uncovered,
                "unchecked": end["problems"] + end["unsupported"] if end else len(host.problems),
                "locked": sorted(name for name in host.listed
                                 if name is not None and host.listed[name] and not host.usable[name]),
                "problems": [{"account": one.get("account"), "file": one["file"], "line": one["line"],
                              "reason": clean(one["reason"], 512)}
                             for one in (host.problems + host.bad)[:PROBLEMS_KEPT]],
                "more_problems": max(0, len(host.problems + host.bad) - PROBLEMS_KEPT)}

    def page_key(self, fp):
        places, sources, lists, reasons = [], set(), set(), set()
        for number, host in enumerate(self.hosts):
            for one in host.places:
                if fp_of(one) != fp:
                    continue
                sources |= set(one["sources"])
                lists |= {*one["filters"], *one["lists"]}
                owner = self.owners_file.find(fp, clean(one["comment"], 512), one.get("account"), host.name)
                differs = one["verdict"] != WORST[self.verdict[fp]]
                if not differs:
                    reasons.add(one["reason"])
                places.append([number, one.get("account"), one["file"], one["line"], clean(one["comment"], 512),
                               one["part"], *last_login(host, one), *([owner] if differs or owner is not None else []),
                               *([one["verdict"]] if differs else [])])
        return {"fp": fp, "type": self.type_of(fp), "bits": self.bits_of(fp), "verdict": WORST[self.verdict[fp]],
                "sources": sorted(sources), "lists": sorted(lists), "reason": (reasons - {""} or {None}).pop(),
                "places": places}


def iso(seconds):
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def cell(value):
    """A cell of --csv that no spreadsheet takes for a formula."""
    return re.sub("(^|;)([ \"']*)(?=[=+\\-@＝＋－＠])", r"\1\2'", "" if value is None else str(value))
