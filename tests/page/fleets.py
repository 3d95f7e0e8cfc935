# SPDX-License-Identifier: ISC
"""Fleets for the page of keyveto-report: the data as it writes it, and the page with it.

Everything comes from a seed, so a failure can be looked at again.
"""

import base64
import datetime
import functools
import hashlib
import json
import random
import re
import runpy
from pathlib import Path

MADE = 1795440000  # 2026-11-23 13:20 UTC
DAY = 86400

# Comments that would do something if the page believed them, or would hide something.
HOSTILE = [
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<!--<script>window.pwned=1",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1><style>*{display:none}</style>",
    "\"><b onmouseover='window.pwned=1'>x",
    "javascript:window.pwned=1",
    "{{data}}{{hosts}}${window.pwned=1}",
    "]]><a href=http://127.0.0.1:9/>x</a>",
    "alice\u202egpj.exe\u202c",
    "\u2066\u2067\u2068hidden\u2069\u2069\u2069\u200b\u200d\ufeff\u00ad",
    "tags \U000e0041\U000e0042 and \u3164filler\u2800",
    "a\x00b\x01\x1b[31mred\x07\x7f\x85\u2028\u2029\r\n\ttab",
    "half \ud800 pair \udc00 end\ud83d",
    "Z\u0351\u0352\u0353\u0354\u0355\u0356\u0357\u0358\u0359\u035a" * 20,
    "שלום עליכם مرحبا",
    "x" * 100000,
    "\U0001f600" * 400,
    " leading\u00a0and trailing\u3000 ",
    "__proto__",
    "constructor",
    "&lt;b&gt; &amp; &#60;",
    "\\u{202E} typed by hand",
]


def fingerprint(text):
    """The fingerprint of the key with this name."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


def host(name, **known):
    """A host that answered, and has nothing wrong. known is what is different."""
    made = {
        "name": name, "file": f"audits/{name}.json", "answered": True, "reason": None, "complete": True, "whole": True,
        "time": MADE - 3600, "keyveto": "0.1.0", "sshd": "OpenSSH_9.2p1 Debian-2+deb12u3",
        "os": "Debian GNU/Linux 12 (bookworm)", "guarded": True, "user_ca": False,
        "lists": [{"kind": "list", "file": "/var/lib/keyveto/badkeys.list", "revision": 41, "time": MADE - 2 * DAY,
                   "sha256": hashlib.sha256(b"list 41").hexdigest()}],
        "old": False, "stale": [], "doctor": "ok", "findings": [], "accounts": 12, "keys": 30, "listed": 0,
        "unchecked": 0, "uncovered": 0, "locked": [], "problems": [], "more_problems": 0,
    }
    assert known.keys() <= made.keys(), known.keys() - made.keys()
    return made | known


def silent(name, reason="Connection timed out after 30 seconds"):
    """A host that did not answer."""
    return host(name, answered=False, reason=reason, complete=False, whole=False, keyveto=None, sshd=None, os=None,
                guarded=None, lists=[], doctor=None, accounts=0, keys=0)


def place(index, account, file=None, line=1, comment="", last=None, part=None, owner=None, verdict=None):
    """A place of a key, as the data has it. owner is its number in "owners"; verdict differs from the key's."""
    if file is None:
        file = f"/home/{account}/.ssh/authorized_keys" if account else "/etc/ssh/ssh_host_rsa_key.pub"
    return [index, account, file, line, comment, part, last, "192.0.2.7" if last is not None else None,
            *([] if owner is verdict is None else [owner]), *([] if verdict is None else [verdict])]


def is_listed(entry, place_):
    """Whether the place's own host says so."""
    return (place_[9] if len(place_) > 9 else entry["verdict"]) == "listed"


def key(name, places, verdict="listed", sources=("badkeys:debianweak",), kind="RSA", bits=2048):
    """A key at these places."""
    return {"fp": fingerprint(name), "type": kind, "bits": bits, "verdict": verdict,
            "sources": list(sources) if verdict in ("listed", "allowed") else [],
            "lists": ["/var/lib/keyveto/badkeys.list"] if verdict in ("listed", "allowed") else [],
            "reason": None, "places": places}


def fleet(hosts, keys=(), gone=(), changes=None, owners=(), made="2026-11-23T13:20:00Z"):
    """The data of a page."""
    return {"made": made, "version": "0.1.0", "hosts": list(hosts), "keys": list(keys), "gone": list(gone),
            **({} if changes is None else {"changes": list(changes)}),
            **({"owners": list(owners)} if owners else {})}


KINDS = ["no-longer-guarded", "newly-guarded", "new", "newly-used", "gone"]


def change(kind, index, name, account=None, key_name=None, verdict="listed", comment="", last=None, message=None):
    """What changed of a host, or of a key if there is one."""
    of_key = [None] * 8
    if key_name is not None:
        of_key = [fingerprint(key_name), verdict, "RSA", f"/home/{account}/.ssh/authorized_keys", 3, comment, last,
                  "192.0.2.7" if last is not None else None]
    return [kind, index, name, account, *of_key, message]


SOURCES = ["badkeys:debianweak", "badkeys:rapid7", "badkeys:hostkeys", "leaks:github-2025", "own:offboarded", "roca"]
ACCOUNTS = ["root", "deploy", "backup", "git", "alice", "bob", "carol", "dave", "postgres", "www-data", "ansible"]
STATES = ["fine"] * 60 + ["listed"] * 14 + ["locked"] * 2 + ["silent"] * 3 + ["cut"] * 2 + ["old"] * 6 + \
    ["problem"] * 4 + ["warning"] * 4 + ["unguarded"] * 3 + ["part", "unchecked"]


def _large_host(draw, number):
    """A host of a random state. Its counts are filled in later."""
    name = f"{draw.choice(['web', 'db', 'mail', 'build', 'edge'])}{number:04}.{draw.choice(['ams', 'fra', 'nyc'])}" \
           ".example.net"
    state = draw.choice(STATES)
    if state == "silent":
        return silent(name, draw.choice(["Connection timed out after 30 seconds", "No route to host",
                                         "keyveto: command not found", "sudo: a password is required"])), state
    made = host(name, accounts=draw.randrange(3, 60), keys=draw.randrange(5, 200))
    if state == "cut":
        made["complete"] = False
    if state in ("old", "problem"):
        made["old"] = True
        made["lists"][0].update(revision=17, time=MADE - 200 * DAY)
    if state in ("problem", "warning"):
        made["doctor"] = state
        made["findings"] = [{"check": "update", "status": state, "found": "the last update failed: 404 Not Found",
                             "remedy": "Look at journalctl -u keyveto-update"}]
    if state == "old" and draw.random() < 0.5:
        made["stale"] = draw.choice([[[None, "the audit is 31 days old"]], [["/var/lib/x", "is 200 days old"]],
                                     [["/var/lib/x", "is 200 days old"], [None, "the audit is 40 days old"]]])
    if state == "unguarded":
        made["guarded"] = False
    if state in ("locked", "listed"):
        made["guarded"] = draw.choice([True, False, None])
    if state == "part":
        made["whole"] = False
    if state == "unchecked":
        made["unchecked"] = 1
        made["problems"] = [{"account": "bob", "file": "/home/bob/.ssh/authorized_keys", "line": 7,
                             "reason": "The line is longer than sshd reads."}]
    return made, state


def large(hosts=1000, keys=50000, seed=1, hostile=True):
    """Many hosts and keys: one key in twenty is listed, some keys are on hundreds of hosts."""
    draw = random.Random(seed)
    made = [_large_host(draw, number) for number in range(hosts)]
    where = {state: [i for i, (_, has) in enumerate(made) if has == state] for _, state in made}
    answered = [i for i, (one, _) in enumerate(made) if one["answered"]]
    suspects = where.get("listed", []) + where.get("locked", []) or answered
    entries = []
    for number in range(keys):
        listed = number % 20 == 0
        often = min(len(answered), 300 if number in (0, 1, 20) else draw.choice([1, 1, 2, 2, 3, 8]) if not listed
                    else draw.choice([1, 1, 1, 2, 6]))
        places = []
        for index in draw.sample(suspects if listed else answered, min(often, len(suspects if listed else answered))):
            account = draw.choice(ACCOUNTS)
            comment = draw.choice(HOSTILE) if hostile and draw.random() < 0.02 else f"{account}@laptop{number % 97}"
            last = MADE - draw.randrange(400 * DAY) if draw.random() < 0.3 else None
            places.append(place(index, account, line=1 + number % 40, comment=comment[:2000], last=last))
        if places and draw.random() < 0.1:
            # Another account of one of the hosts, or another line of the same file.
            index, account, *_ = draw.choice(places)
            places.append(place(index, draw.choice([account, *ACCOUNTS[:3]]), line=99))
        kind, bits = draw.choice([("RSA", 2048), ("RSA", 4096), ("ED25519", 256), ("ECDSA", 256)])
        entries.append(key(f"{seed} {number}", places, "listed" if listed else "allowed" if number % 5001 == 7 else
                           "clean", draw.sample(SOURCES, draw.choice([1, 1, 1, 2])), kind, bits))
    fleet_hosts = [one for one, _ in made]
    _count(fleet_hosts, entries, where.get("locked", []))
    return fleet(fleet_hosts, entries)


def _count(hosts, keys, lock):
    """Fills in the numbers of listed keys, and locks an account of these hosts out."""
    for entry in keys:
        if entry["verdict"] != "listed":
            continue
        for index, account, *_ in entry["places"]:
            hosts[index]["listed"] += 1
            if index in lock and not hosts[index]["locked"] and account:
                hosts[index]["locked"].append(account)


def few():
    """Eleven hosts, each in another state: what a first rollout shows."""
    locked = host("web01.example.net", listed=2, locked=["deploy"], accounts=4, keys=9)
    twice = host("web02.example.net", guarded=False, listed=1, accounts=4, keys=7)
    cut = host("db01.example.net", complete=False)
    filter_7 = {"kind": "filter", "file": "/var/lib/keyveto/badkeys.pkbf", "revision": 7, "time": MADE - 210 * DAY,
                "sha256": hashlib.sha256(b"filter 7").hexdigest()}
    old = host("db02.example.net", old=True, lists=[filter_7], stale=[[filter_7["file"], "is 210 days old"]])
    unwell = host("mail.example.net", doctor="problem", findings=[
        {"check": "sshd guard", "status": "problem", "found": "sshd does not run the guard for Match User git.",
         "remedy": "Type keyveto enable"}])
    warned = host("build.example.net", doctor="warning", findings=[
        {"check": "update", "status": "warning", "found": "the timer is not enabled", "remedy": None}])
    partly = host("edge.example.net", whole=False)
    odd = host("git.example.net", unchecked=2, uncovered=1, problems=[
        {"account": "git", "file": "/srv/git/.ssh/authorized_keys", "line": 812, "reason": "unknown key type"},
        {"account": None, "file": "/etc/ssh/ca.pub", "line": 0, "reason": "cannot be opened: Permission denied"}])
    hosts = [locked, twice, silent("nas.example.net"), cut, old, unwell, warned, partly, odd,
             host("fine.example.net"), host("late.example.net", time=MADE - 45 * DAY, old=True,
                                            stale=[[None, "the audit is 45 days old"]])]
    keys = [
        key("everywhere", [place(0, "deploy", line=3, comment="deploy@ci", last=MADE - 2 * DAY, owner=1),
                           place(1, "backup", line=1, comment="deploy@ci", last=MADE - 90 * DAY, owner=0)],
            sources=["badkeys:debianweak", "leaks:github-2025"]),
        key("host key", [place(0, None)], sources=["badkeys:hostkeys"]),
        key("allowed", [place(8, "git", comment="appliance, replaced in March")], verdict="allowed"),
        key("shared", [place(1, "alice", comment="alice@work"), place(9, "alice", comment="alice@work")],
            verdict="clean", kind="ED25519", bits=256),
    ]
    changes = [change("no-longer-guarded", 1, twice["name"], message="is not guarded any more, or only logs"),
               change("newly-guarded", 0, locked["name"], message="was not guarded, or only logged"),
               change("new", 9, "fine.example.net", message="the host has no older audit"),
               change("new", 1, twice["name"], "backup", "everywhere", comment="deploy@ci"),
               change("newly-used", 0, locked["name"], "deploy", "everywhere", last=MADE - 2 * DAY),
               change("gone", None, "retired.example.net", message="the host has no audit any more"),
               change("gone", 9, "fine.example.net", "alice", "alice's first key", "clean", "alice@old-laptop")]
    return fleet(hosts, keys, [[9, "carol", fingerprint("carol's old key"), "RSA", MADE - 30 * DAY, "198.51.100.4"]],
                 changes, [["Alice Example", "platform"], ["Carol Example", None]])


def hostile():
    """Every text of the data is one that would do something, or hide something."""
    hosts, keys = [], []
    for index, text in enumerate(HOSTILE):
        hosts.append(host(text, file=text, sshd=text, os=text, keyveto=text, listed=1, locked=[text], doctor="problem",
                          findings=[{"check": text, "status": "problem", "found": text, "remedy": text}], unchecked=1,
                          lists=[{"kind": text, "file": text, "revision": 1e300, "time": -1e300, "sha256": text}],
                          old=True, stale=[[text, text]],
                          problems=[{"account": text, "file": text, "line": -7, "reason": text}]))
        entry = key(f"hostile {index}", [[index, text, text, 1, text, text, 1e300, text, index]], sources=[text])
        keys.append(entry | {"type": text, "reason": text, "lists": [text]})
    keys.append(key("verdict", [place(0, "root")]) | {"verdict": "__proto__", "fp": HOSTILE[1]})
    hosts.append(silent("silent", HOSTILE[0]))
    return fleet(hosts, keys, [[index, text, text, text, -1e300, text] for index, text in enumerate(HOSTILE)],
                 [[kind, index, text, text, text, text, text, text, -7, text, -1e300, text, text]
                  for index, text in enumerate(HOSTILE) for kind in (*KINDS, text)],
                 [[text, text] for text in HOSTILE])


def entered(data, guarded):
    """The accounts that listed keys get into if "guarded" is this: {(host, account)}."""
    listed = [one for entry in data["keys"] for one in entry["places"] if is_listed(entry, one)]
    return {(index, account) for index, account, _, _, _, part, *_ in listed
            if data["hosts"][index]["answered"] and data["hosts"][index]["guarded"] is guarded
            and (account is not None or (part == "ca" and data["hosts"][index]["user_ca"]))}


def numbers(data):
    """What the slots of page.h say of this data, counted here once more."""
    listed = [entry for entry in data["keys"] if entry["verdict"] == "listed"]
    hosts = data["hosts"]
    now, unsure = entered(data, False), entered(data, None)
    return {
        "hosts": len(hosts),
        "entered": len(now),
        "entered_hosts": len({index for index, _ in now}),
        "unsure": len(unsure),
        "unsure_hosts": len({index for index, _ in unsure}),
        "locked": sum(len(one["locked"]) for one in hosts),
        "listed_keys": len(listed),
        "listed_places": sum(is_listed(entry, one) for entry in listed for one in entry["places"]),
        "listed_hosts": sum(one["listed"] > 0 for one in hosts),
        "silent": sum(not one["answered"] for one in hosts),
        "cut": sum(one["answered"] and not one["complete"] for one in hosts),
        "old": sum(one["old"] for one in hosts),
        "unguarded": sum(one["guarded"] is False for one in hosts),
        "unwell": sum(one["doctor"] == "problem" for one in hosts),
        "uncovered": sum(one["uncovered"] for one in hosts),
        "warned": sum(one["doctor"] == "warning" for one in hosts),
    }


def as_json(data):
    """The data as it stands in the page: no character that HTML or old JavaScript would take for its own."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    text = re.sub("[<>&\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)
    return text.replace("\x7f", "\\u007f")


@functools.lru_cache
def pieces(build):
    """The page without its data: text, and between two texts the name of what comes there."""
    return runpy.run_path(str(Path(build) / "keyveto-report"))["page_pieces"]()


def page(build, data):
    """The page, as bytes."""
    made = datetime.datetime.fromisoformat(data["made"].replace("Z", "+00:00"))
    slots = numbers(data) | {"data": as_json(data), "made": made.strftime("%Y-%m-%d %H:%M UTC"),
                             "version": data["version"]}

    def fill(piece):
        name, *forms = piece.split("|")
        return forms[0 if slots[name] == 1 else 1] if forms else str(slots[name])
    return "".join(fill(piece) if number % 2 else piece for number, piece in enumerate(pieces(build))).encode()
