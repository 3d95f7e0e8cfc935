# SPDX-License-Identifier: ISC
"""Fleets of two weeks, made at random, and a second implementation of keyveto-report --since."""

import json
from collections import Counter

from fleet_audits import (WORST, clean, fp_of, iso, key_object, last_login, random_fleet, random_key, random_lines,
                          read_host)


def own_part(lines):
    """How many lines are of the host itself: a second header ends them."""
    return next((at for at, one in enumerate(lines[1:], 1) if one.get("header")), len(lines))


def settle(lines):
    """Has the last line count the listed keys that are left."""
    for one in lines[:own_part(lines)]:
        if one.get("end"):
            one["listed"] = sum(other.get("verdict") == "listed" and not other.get("login")
                                for other in lines[:own_part(lines)])


def change_keys(rnd, lines):
    """Takes keys away, adds some, and judges others anew."""
    places = [one for one in lines[:own_part(lines)] if one.get("fingerprint") is not None and not one.get("login")]
    for one in rnd.sample(places, min(len(places), rnd.randrange(4))):
        if rnd.random() < 0.5:
            lines.remove(one)
        else:
            one["verdict"] = rnd.choice(["clean", "listed", "allowed"])
    for number in range(rnd.randrange(3)):
        account = rnd.choice(["user1", "user7", "newcomer", None])
        lines.insert(1, key_object(rnd, random_key(rnd), rnd.choice(["clean", "listed", "allowed"]), account, number))


def use_keys(rnd, lines, now):
    """Somebody comes in by a key that is there."""
    places = [one for one in lines[:own_part(lines)] if one.get("fingerprint") is not None and not one.get("login")]
    for one in rnd.sample(places, min(len(places), rnd.randrange(3))):
        lines.insert(1, {"login": True, "account": one.get("account"), "fingerprint": one["fingerprint"],
                         "spki_sha256": one["spki_sha256"], "type": one["type"], "verdict": one["verdict"],
                         "last_seconds": rnd.choice([now - 5, None]), "from": "192.0.2.1", "logins": 1,
                         "log": "journal", "in_file": True})


def next_week(rnd, lines, now):
    """Changes the lines of an audit, at times in nothing but time."""
    lines[0]["time_seconds"] += 7 * 86400
    if rnd.random() < 0.3:
        return
    if "sshd" not in lines[0] or rnd.random() < 0.1:
        keys = [random_key(rnd)]
        lines[:] = random_lines(rnd, lines[0]["host"], keys, {keys[0]: "listed"}, now)
        return
    lines[0]["sshd"]["guarded"] = rnd.choice([None, True, False])
    lines[0]["all"] = rnd.random() < 0.8
    lines[0]["whole"] = rnd.random() < 0.8
    change_keys(rnd, lines)
    use_keys(rnd, lines, now)
    if rnd.random() < 0.1:
        lines.insert(1, {"file": "/home/user1/x", "line": 0, "verdict": "error", "fingerprint": None,
                         "account": rnd.choice(["user1", "user7"]), "reason": "no"})
    if rnd.random() < 0.1:
        lines[:] = [one for one in lines if not one.get("end")]
    settle(lines)


def write(path, lines):
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), encoding="utf-8")
    return path


def random_weeks(rnd, folder, now):
    """Writes the audits of two weeks: the folder of the older, and that of the newer."""
    older, newer = folder / "older", folder / "newer"
    older.mkdir()
    newer.mkdir()
    paths, hosts = random_fleet(rnd, older, now)
    hosts.unlink()
    for path in paths:
        lines = [json.loads(one) for one in path.read_text(encoding="utf-8").split("\n")[:-1]]
        for one in lines:
            if one.get("header") and rnd.random() < 0.2:
                one["all"] = False
                one["whole"] = rnd.random() < 0.5
        write(path, lines)
        next_week(rnd, lines, now)
        if rnd.random() < 0.9:
            write(newer / path.name, lines)
    keys = [random_key(rnd) for _ in range(5)]
    for number in range(rnd.randrange(3)):
        lines = random_lines(rnd, rnd.choice(["fresh", "localhost"]), keys, dict.fromkeys(keys, "listed"), now)
        write(newer / f"extra-{number}.json", lines)
    if not list(newer.iterdir()):
        write(newer / "last.json", random_lines(rnd, "last", keys, dict.fromkeys(keys, "clean"), now))
    (older / "notes.txt").write_text("no audit\n", encoding="ascii")
    return older, newer


# --- a second implementation ------------------------------------------------

ANSWERED = "the host did not answer before"


def is_whole(host):
    return host.header.get("whole", False)


def has_all(host):
    return host.header.get("all", False)


def accounts(host):
    """The accounts that an audit tells of; None is that of the host itself."""
    return {one.get("account") for one in host.places} | set(host.count) | {
        one["account"] for one in host.logins if one["last_seconds"] is not None}


def used(host):
    return {(one["account"], fp_of(one)) for one in host.logins if one["last_seconds"] is not None}


def which_of(one):
    """By what a key is known again. A host key that becomes a user CA lets anybody in."""
    account = one.get("account")
    return account, fp_of(one), account is None and one["part"] == "ca"


def worst(host):
    """The worst of several verdicts, by what which_of says."""
    found = {}
    for one in host.places:
        which = which_of(one)
        found[which] = max(found.get(which, "clean"), one["verdict"], key=WORST.index)
    return found


class Weeks:
    """What keyveto-report must say that changed between two folders of audits."""

    def __init__(self, older, newer):
        old, self.new = ([read_host(path) for path in sorted(folder.glob("*.json"))] for folder in (older, newer))
        twins = {name for week in (old, self.new)
                 for name, n in Counter(name for name, _ in {(host.name, host.alias) for host in week}).items()
                 if n > 1}
        self.identity = lambda host: (host.name, host.alias if host.name in twins else "")
        self.old = {}
        for host in sorted(old, key=lambda host: host.header.get("time_seconds") or 0):
            self.old[self.identity(host)] = host

    def rows(self):
        seen = {self.identity(host) for host in self.new}
        for identity, host in self.old.items():
            if identity not in seen:
                yield row("gone", host, None, message="the host has no audit any more")
        for host in self.new:
            before = self.old.get(self.identity(host))
            yield from host_rows(host, before)
            yield from new_rows(host, before)
            yield from used_rows(host, before)
            if before:
                yield from gone_rows(host, before)


def row(kind, host, guarded, **fields):
    return {"finding": kind, "host": host.name, "group": "change",
            "guarded": {True: "yes", False: "no", None: None}[guarded], **fields}


def key_row(kind, host, one, message):
    return row(kind, host, host.guarded, account=one.get("account"), file=one["file"], line=one["line"] or None,
               fingerprint=fp_of(one), type=one["type"], bits=one["bits"], verdict=one["verdict"],
               sources=", ".join(one["sources"]), part=one["part"], comment=clean(one["comment"], 512),
               message=message)


def host_rows(host, before):
    if not before:
        yield row("new", host, host.guarded, message="the host has no older audit")
    elif host.answered and not before.answered:
        yield row("new", host, host.guarded, message=ANSWERED)
    elif before.answered and not host.answered:
        yield row("gone", host, None, message="the host does not answer any more")
    elif host.answered and (host.guarded is True) != (before.guarded is True):
        message = {True: {False: "was not guarded, or only logged", None: "was not known before"}.get(before.guarded),
                   False: "is not guarded any more, or only logs",
                   None: "was guarded, and now that is not known"}[host.guarded]
        yield row("newly-guarded" if host.guarded else "no-longer-guarded", host, host.guarded, message=message)


def may_lack(before, account):
    """Why an older audit may not have what a new one has."""
    if not before:
        return "the host has no older audit"
    if not before.answered:
        return ANSWERED
    if not before.complete:
        return "the older audit was cut off"
    if not is_whole(before) and account not in accounts(before):
        return "the older audit did not look at this account"
    return None


def new_rows(host, before):
    had = worst(before) if before else {}
    for one in host.places:
        was = had.get(which_of(one))
        if was:
            if one["verdict"] != "listed" or was == "listed":
                continue
            message = "was allowed before" if was == "allowed" else "was here before, and not listed"
        else:
            if one["verdict"] in ("clean", "allowed") and before and before.answered and not has_all(before):
                continue
            message = may_lack(before, one.get("account")) or (
                None if has_all(before) else "or it was here, and not listed: the older audit has only listed keys")
        last, source = last_login(host, one)
        yield {**key_row("new", host, one, message), "last_login": iso(last), "login_from": source}


def used_rows(host, before):
    for one in host.logins:
        if one["last_seconds"] is None or (before and (one["account"], fp_of(one)) in used(before)):
            continue
        message = may_lack(before, one["account"]) or (
            None if before.logins else "the older audit tells of no logins")
        yield row("newly-used", host, host.guarded, account=one["account"], file=one["log"], fingerprint=fp_of(one),
                  type=one["type"], verdict=one["verdict"], last_login=iso(one["last_seconds"]),
                  login_from=one["from"], message=message)


def gone_rows(host, before):
    if not host.answered or not host.complete:
        return
    has = worst(host)
    for one in before.places:
        account = one.get("account")
        now = has.get(which_of(one))
        if now:
            if one["verdict"] != "listed" or now == "listed":
                continue
            message = "is allowed now" if now == "allowed" else "is here, and not listed any more"
        elif (one["verdict"] != "listed" and not has_all(host)) or not (is_whole(host) or account in accounts(host)):
            continue
        elif host.bad:
            message = "lines of the new audit cannot be used"
        elif any(problem.get("account") == account for problem in host.problems):
            message = "something of this account could not be read or judged"
        else:
            message = None if has_all(host) else \
                "or it is here, and not listed any more: the new audit has only listed keys"
        yield {**key_row("gone", before, one, message), "host": host.name,
               "guarded": {True: "yes", False: "no", None: None}[host.guarded]}
