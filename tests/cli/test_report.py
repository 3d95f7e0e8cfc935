# SPDX-License-Identifier: ISC
"""keyveto-report joins audits as a second implementation does, in all forms, and stands hostile ones."""

import csv
import html
import io
import json
import os
import random
import re
import subprocess
import time
from collections import Counter

import pytest

from fleet_audits import (COLUMNS, Join, cell, key_object, random_fleet, random_fingerprint, random_header, random_key,
                          random_owners)
from fleet_weeks import Weeks, random_weeks
from program import PATIENCE, REPORT, attempt, contains, equal, keyveto, lacks
from runs import nothing_raw, peak_of

HEADER = {"header": True, "format": 1, "host": "web1", "time": "2026-11-23T13:20:00Z", "whole": True, "all": False,
          "versions": {"keyveto": "0.1.0", "sshd": None, "os": None}, "lists": [], "doctor": None,
          "sshd": {"path": "/usr/sbin/sshd", "answered": False, "guarded": None, "ways": []}}
END = {"end": True, "status": 0, "accounts": 1, "files": 1, "keys": 0, "listed": 0, "allowed": 0, "clean": 0,
       "unsupported": 0, "problems": 0, "reason": None}


def write_audit(path, *lines):
    """An audit of objects, and of bytes as they are."""
    path.write_bytes(b"".join(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in lines))
    return path


def header(**more):
    return {**HEADER, "time_seconds": int(time.time()), **more}


def listed(account="alice", line=1, rnd=None, **more):
    rnd = rnd or random.Random(1)
    return {**key_object(rnd, random_key(rnd), "listed", account, line), "fingerprint": random_fingerprint(rnd), **more}


def report(*words, **options):
    return keyveto(*words, program=REPORT, **options)


def rows_of(*words, status=None):
    done = report("--csv", "-", *words, status=status)
    return list(csv.DictReader(io.StringIO(done.stdout, newline="")))


def data_of(path):
    """What a browser takes for the text of the page's data."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(encoding="utf-8"),
                      re.DOTALL)
    return json.loads(found[1])


@pytest.mark.parametrize("seed", range(40))
def test_all_forms_say_what_a_second_implementation_says(scratch, seed):
    rnd = random.Random(seed)
    now = int(time.time())
    paths, hosts = random_fleet(rnd, scratch, now)
    join = Join(paths, hosts, now)
    owners = random_owners(rnd, scratch / "owners", list(join.owners))
    join = Join(paths, hosts, now, owners=owners)
    page, table = scratch / "page.html", scratch / "table.csv"
    everything = ["--all"] if seed % 2 else []
    words = ["--hosts", hosts, "--owners", owners, *paths]
    done = report("--csv", table, "--html", page, *everything, *words, status=join.status)
    equal(done.stdout, "")
    parsed = list(csv.reader(io.StringIO(table.read_bytes().decode(), newline="")))
    equal(parsed[0], COLUMNS)
    expected = Counter(tuple(cell(row.get(name)) for name in COLUMNS) for row in join.rows())
    same(Counter(map(tuple, parsed[1:])), expected)
    compare_pages(data_of(page), join.page(bool(everything)))
    text = report(*words).stdout
    nothing_raw(text.encode())
    compare_text(text, join)


@pytest.mark.parametrize("seed", range(40))
def test_what_changed_is_what_a_second_implementation_says(scratch, seed):
    older, newer = random_weeks(random.Random(seed), scratch, int(time.time()))
    audits = sorted(newer.glob("*.json"))
    page = scratch / "page.html"
    done = report("--since", older, "--csv", "-", "--html", page, *audits)
    rows = list(Weeks(older, newer).rows())
    parsed = list(csv.reader(io.StringIO(done.stdout, newline="")))
    same(Counter(map(tuple, parsed[1:])), Counter(tuple(cell(row.get(name)) for name in COLUMNS) for row in rows))
    changes = data_of(page)["changes"]
    same(Counter((one[0], one[2], one[3], one[4], one[12]) for one in changes),
         Counter((row["finding"], row["host"], row.get("account"), row.get("fingerprint"), row["message"])
                 for row in rows))
    text = report("--since", older, *audits).stdout
    nothing_raw(text.encode())
    equal("\nNothing changed since the older audits.\n" in text, not rows)
    for row in rows:
        if row.get("verdict") == "listed":
            contains(text, row["fingerprint"])


def compare_pages(actual, expected):
    del actual["made"], actual["version"]
    actual["keys"].sort(key=lambda one: one["fp"])
    expected["keys"].sort(key=lambda one: one["fp"])
    for one in [*actual["keys"], *expected["keys"]]:
        one["places"].sort(key=str)
    for one, other in zip(actual["hosts"], expected["hosts"]):
        equal(one, other)
    equal(actual["keys"], expected["keys"])
    actual["gone"].sort(key=str)
    expected["gone"].sort(key=str)
    equal(actual, expected)


def same(actual, expected):
    """Compares Counters, and shows only what differs."""
    equal((list(actual - expected), list(expected - actual)), ([], []))


def on_hosts(entries):
    accounts, hosts = sum(map(len, entries)), sum(map(bool, entries))
    return f"{accounts} account{'s' * (accounts != 1)} on {hosts} host{'s' * (hosts != 1)}"


def compare_text(text, join):
    """Its first lines have the totals. Each listed key is in it, with host, account, file and line."""
    places = [row for row in join.rows() if row["finding"] == "listed"]
    verdicts = list(join.verdict.values())
    every = f"{len(verdicts)} key{'s' * (len(verdicts) != 1)}, {verdicts.count(4)} listed, in {len(places)} place"
    contains(text, every if len(verdicts) > verdicts.count(4) else f"), in {len(places)} place")
    uncovered = sum(host.uncovered for host in join.hosts)
    equal(f"{uncovered} that no list in use could know\n" in text.partition("\n\n")[0] + "\n", uncovered > 0)
    entered, unsure = ([join.entries(host, guarded) for host in join.hosts] for guarded in (False, None))
    equal(text.splitlines()[0], f"{on_hosts(entered)} can be entered now, by listed keys" +
          (f"; not known of {on_hosts(unsure)}" if any(unsure) else ""))
    unguarded = sum(host.guarded is False for host in join.hosts)
    equal(f", {unguarded} not guarded" in text.splitlines()[1], unguarded > 0)
    if places:
        block = re.search(r"^Listed keys\n((?:  .*\n)+)", text, re.MULTILINE)[1]
        equal(len([line for line in block.splitlines() if line.startswith("    ")]), len(places))
    for row in places:
        place = f"{row['file']}:{row['line']}" if row["line"] else row["file"]
        contains(text, f"    {row['account'] or '(host)'} {place}: {row['type']} {row['bits']} {row['fingerprint']}")
    owned = text.partition("\nListed keys by owner\n")[2].partition("\n\n")[0]
    equal(len(re.findall(r"^    ", owned, re.MULTILINE)), len(places) if join.owners_file.lines else 0)
    names = {row.get("owner") or "(no line of --owners)" for row in places} if join.owners_file.lines else set()
    equal({re.sub(r"(?<=\S) \(team \d\)$", "", line) for line in re.findall(r"^  (\S.*)$", owned, re.MULTILINE)}, names)


def test_one_audit_of_one_host(scratch):
    """The text, as the manual shows it."""
    key = listed(comment="work laptop", sources=["debianssl"], part="key", type="ssh-rsa", bits=2048, line=3)
    audit = write_audit(scratch / "a.json", header(), key,
                        {"summary": True, "what": "account", "account": "alice", "files": 1, "keys": 2, "listed": 2,
                         "allowed": 0, "clean": 0, "unsupported": 0, "problems": 0, "usable": 0},
                        {"login": True, "account": "alice", "fingerprint": key["fingerprint"], "type": "RSA",
                         "verdict": "listed", "last_seconds": 1795000000, "from": "192.0.2.7", "logins": 3,
                         "log": "journal", "in_file": True}, {**END, "listed": 1, "status": 1})
    done = report(audit, status=1)
    contains(done.stdout, "0 accounts on 0 hosts can be entered now, by listed keys; not known of 1 account on "
             "1 host\n1 host audited, 1 with listed keys\n1 listed key (clean keys are not in this audit), in 1 place, "
             "1 seen nowhere else\n",
             "\nAccounts whose last key is listed\n  web1\n    alice: 2 of 2 keys are listed, and no other lets in\n",
             f"\nListed keys\n  web1\n    alice /home/alice/.ssh/authorized_keys:3: ssh-rsa 2048 {key['fingerprint']} "
             "[debianssl] work laptop; last came in 2026-11-18T11:06:40Z from 192.0.2.7\n")
    equal(done.stderr, "keyveto-report: 1 host: 1 listed key in 1 place of 1 host, 0 without a whole audit\n")


@pytest.mark.parametrize("guarded, first, heading, fate", [
    (False, "1 account on 1 host can be entered now, by listed keys", "web1 (not guarded)", ": it would be locked out"),
    (True, "0 accounts on 0 hosts can be entered now, by listed keys", "web1 (guarded)", ": it is locked out"),
    (None, "0 accounts on 0 hosts can be entered now, by listed keys; not known of 1 account on 1 host", "web1", "")],
    ids=["open", "guarded", "unknown"])
def test_who_gets_in_now_comes_first(scratch, guarded, first, heading, fate):
    sshd = {**HEADER["sshd"], "guarded": guarded}
    keys = [listed(), listed(line=2, rnd=random.Random(2)), listed(account=None, part="key", rnd=random.Random(3))]
    audit = write_audit(scratch / "a.json", header(sshd=sshd), *keys,
                        {"summary": True, "account": "alice", "keys": 2, "listed": 2, "usable": 0},
                        {**END, "listed": 3, "status": 1})
    out = report(audit, status=1).stdout
    equal(out.splitlines()[0], first)
    contains(out, f"\nListed keys\n  {heading}\n", f"    alice: 2 of 2 keys are listed, and no other lets in{fate}\n")
    equal("\nAccounts that listed keys get into now\n  web1 (not guarded)\n    alice: /home/alice/.ssh/authorized_keys"
          ": 2 listed keys get in: this host is not guarded, or only logs\n" in out, guarded is False)
    rows = rows_of(audit, status=1)
    equal([(row["account"], row["file"]) for row in rows if row["finding"] == "unguarded"],
          [("alice", "/home/alice/.ssh/authorized_keys")] * (guarded is False))
    equal({row["guarded"] for row in rows}, {{False: "no", True: "yes", None: ""}[guarded]})
    groups = [row["group"] for row in rows]
    equal(groups, sorted(groups))


def test_nothing_listed_and_nothing_missing_is_status_0(scratch):
    audit = write_audit(scratch / "a.json", header(), {**listed(), "verdict": "clean"}, END)
    out = report(audit, status=0).stdout
    contains(out, "1 host audited\n1 key, 0 listed, in 0 places, 1 seen nowhere else\n",
             "\nKeys seen nowhere else\n  clean: ")
    equal(out.count("\n\n"), 1)
    hosts = scratch / "hosts"
    hosts.write_text("WEB1\n", encoding="ascii")
    report("--hosts", hosts, audit, status=0)
    hosts.write_text("a\n", encoding="ascii")
    report("--hosts", hosts, audit, status=0)
    hosts.write_text("web1\nweb2\n", encoding="ascii")
    contains(report("--hosts", hosts, audit, status=2).stdout, "\nHosts without an audit\n  web2: ")


@pytest.mark.parametrize("audit, expected", [
    ([], "cut off"),
    ([header(), listed(verdict="clean")], "cut off"),
    ([header(answered=False, reason="no route")], "  web1 (AUDIT): no route"),
    ([listed(verdict="clean"), END], "no first line"),
    ([header(format=2), END], "its format is unknown here"),
    ([header(), {**END, "listed": 2}], "another number of listed keys"),
    ([header(), {**END, "status": 2, "reason": "no key was judged"}], "no key was judged"),
    ([header(), {**END, "problems": 1, "status": 2}], "1 host audited"),
    ([header(), {**END, "unsupported": 1, "status": 2}], "1 host audited"),
    ([header(), END, listed(verdict="clean")], "follows the last line")],
    ids=["empty", "cut", "unanswered", "headless", "format", "lost", "unjudged", "problems", "unknown-types", "after"])
def test_what_is_missing_is_told_and_is_status_2(scratch, audit, expected):
    path = write_audit(scratch / "a.json", *audit)
    contains(report(path, status=2).stdout, expected.replace("AUDIT", str(path)))


LONG = b'{"file":"' + b"x" * (3 << 20) + b'"}\n'


@pytest.mark.parametrize("line, why", [
    (b"\x00\x01\x02\n", "is no JSON object"), (b'{"a":1\n', "is no JSON object"), (b"[1]\n", "is no JSON object"),
    (b'{"a":1,"a":2}\n', "a name twice"), (b'{"verdict":"listed"}\n', "without fingerprint"),
    (b'{"verdict":"good"}\n', "its verdict is unknown"), (b'{"a":' + b"[" * 100000 + b"\n", "65536 values"),
    (b'{"a":' + b"[" * 3000 + b"\n", "is no JSON object"), (b'{"a":[' + b"1," * 100000 + b"1]}\n", "65536 values"),
    (b'{"verdict":"listed","line":1' + b"0" * 400 + b"}\n", "is no JSON object"), (b'{"x":"\xff\xfe"}\n', "no JSON"),
    (b'{"x": \x1b[2J}\n', "is no JSON object"), (b'{"x": \x01}\n', "is no JSON object"),
    (b'{"x":"\\ud800"}\n', "no JSON"), (b'{"x":NaN}\n', "is no JSON object"), (b'{"x":-Infinity}\n', "no JSON"),
    (b'{"x":1e999}\n', "too big"), (b'\xef\xbb\xbf{}\n', "no JSON"), (b"{'x':1}\n", "no JSON"),
    (b"nonsense\n", "is no JSON object"), (b"{}\n", "is no line of keyveto audit"),
    (LONG, "is longer than 2 MiB"), (b'{"login":true}\n', "a login without"),
    (b'{"verdict":"error","fingerprint":null}\n', "a problem without file"),
    (json.dumps({**listed(), "fingerprint": "SHA256:\x1b[2J"}).encode() + b"\n", "without fingerprint"),
    (json.dumps({**listed(), "fingerprint": "SHA256:" + "A" * 44}).encode() + b"\n", "without fingerprint")],
    ids=range(26))
def test_a_line_that_cannot_be_used_is_named_and_the_rest_is_read(scratch, line, why):
    clean = listed(verdict="clean")
    path = write_audit(scratch / "odd\x1b.json", header(), line, clean, END)
    done = report("--csv", "-", path, status=2)
    contains(done.stderr, f"{scratch}/odd\\x1b.json:2: ", why)
    rows = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
    equal([(row["finding"], row["line"]) for row in rows], [("problem", "2"), ("unique", "1")])
    contains(rows[0]["message"], why)
    lacks(done.stdout + done.stderr, "\x01", "\x1b")
    data = scratch / "p.html"
    report("--html", data, path, status=2)
    equal([one["line"] for one in data_of(data)["hosts"][0]["problems"]], [2])


@pytest.mark.parametrize("number", [-1, 2**53, 2**63 - 1, 1.5, "7", None, True, [], {}, -2**63])
def test_numbers_that_no_audit_has_are_none(scratch, number):
    """They are unknown, or 0."""
    lists = [{"kind": "filter", "file": "/f", "revision": number, "time_seconds": number, "entries": number,
              "sha256": ""}]
    path = write_audit(scratch / "a.json", header(lists=lists, time_seconds=number),
                       listed(line=number, bits=number), {**END, "listed": 1, "accounts": number})
    page = scratch / "p.html"
    report("--html", page, path, status=1)
    data = data_of(page)
    equal([data["hosts"][0]["time"], data["hosts"][0]["lists"][0]["revision"], data["keys"][0]["places"][0][3]],
          [None, None, 0])
    report(path, status=1)


def test_many_bad_lines_are_counted_and_not_all_printed(scratch):
    path = write_audit(scratch / "a.json", header(), b"x\n" * 500, END)
    page = scratch / "p.html"
    done = report("--html", page, path, status=2)
    equal(len(done.stderr.splitlines()), 12)
    contains(done.stderr, f"{path}: 490 more lines cannot be used")
    host = data_of(page)["hosts"][0]
    equal([len(host["problems"]), host["more_problems"]], [100, 400])


def test_an_audit_that_differs_in_time_only_has_not_changed(scratch):
    then, now = (write_audit(scratch / name, header(time_seconds=seconds), listed(),
                             {"login": True, "account": "alice", "fingerprint": listed()["fingerprint"],
                              "type": "RSA", "verdict": "listed", "last_seconds": seconds, "from": "192.0.2.7",
                              "log": "journal", "in_file": True}, {**END, "listed": 1})
                 for name, seconds in (("a.json", 1795000000), ("b.json", 1795600000)))
    equal(rows_of("--since", then, now, status=1), [])
    equal(report("--since", then, now, status=1).stdout.splitlines()[3:], ["Nothing changed since the older audits."])


def test_older_audits_are_files_and_folders(scratch):
    """Each --since adds one. The newest audit of a host counts."""
    for folder in ("old", "older"):
        (scratch / folder).mkdir()
    key, other = listed(), listed(line=2, rnd=random.Random(2))
    write_audit(scratch / "older/web1.json", header(time_seconds=1), key, other, {**END, "listed": 2})
    write_audit(scratch / "old/web1.json", header(time_seconds=2), key, {**END, "listed": 1})
    file = write_audit(scratch / "db1", header(host="db1"), key, {**END, "listed": 1})
    now = write_audit(scratch / "now.json", header(), key, other, {**END, "listed": 2})

    def changes(*words):
        return [(row["finding"], row["host"], row["line"]) for row in rows_of(*words, now, status=1)]
    again = [("new", "web1", "2")]
    equal(changes("--since", scratch / "old"), again)
    equal(changes("--since", scratch / "older"), [])
    for order in (("old", "older"), ("older", "old")):
        equal(changes(*(word for name in order for word in ("--since", scratch / name))), again)
    both = write_audit(scratch / "both.json", header(host="db1"), END)
    equal(changes("--since", scratch / "old", "--since", file, both), [*again, ("gone", "db1", "1")])


@pytest.mark.parametrize("name", ["none.json", "odd.json", "empty"])
def test_an_older_audit_that_cannot_be_read_is_status_2(scratch, name):
    (scratch / "odd.json").write_bytes(b"\x00\xff\n")
    (scratch / "empty").mkdir()
    now = write_audit(scratch / "web1.json", header(), END)
    done = report("--since", scratch / name, now, status=2)
    contains(done.stderr, f"{scratch}/{name}")


@pytest.mark.parametrize("whole, n", [(True, 1), (False, 0)])
def test_an_account_that_was_not_looked_at_has_lost_no_key(scratch, whole, n):
    then = write_audit(scratch / "a.json", header(all=True), listed(), {**END, "listed": 1})
    now = write_audit(scratch / "b.json", header(all=True, whole=whole), listed("bob", verdict="clean"), END)
    rows = rows_of("--since", then, now, status=0)
    equal([row["account"] for row in rows if row["finding"] == "gone"], ["alice"] * n)


def test_hosts_of_one_name_are_told_apart_by_their_files(scratch):
    """A host that takes the name of another hides no change of it."""
    for folder in ("old", "new"):
        (scratch / folder).mkdir()
    key = listed()
    write_audit(scratch / "old/web1.json", header(), END)
    write_audit(scratch / "old/evil.json", header(host="evil"), END)
    write_audit(scratch / "new/web1.json", header(), key, {**END, "listed": 1})
    write_audit(scratch / "new/evil.json", header(time_seconds=9), END)
    rows = rows_of("--since", scratch / "old", *(scratch / "new").iterdir(), status=1)
    equal([(row["finding"], row["host"]) for row in rows if row["fingerprint"]], [("new", "web1")])
    equal({(row["finding"], row["host"]) for row in rows if not row["fingerprint"]},
          {("gone", "evil"), ("new", "web1")})
    done = report("--since", scratch / "old", *(scratch / "new").iterdir(), status=1)
    contains(done.stderr, "each older audit needs its own --since")


def test_older_audits_of_a_host_in_files_of_several_names_are_told_of(scratch):
    """Which of them is the host's is not known: the file of the new one has another name, too."""
    said = "is known again only by the name of its file"
    folder = scratch / "old"
    folder.mkdir()
    write_audit(folder / "web1-1.json", header(time_seconds=1), END)
    now = write_audit(scratch / "web1-3.json", header(time_seconds=3), END)
    lacks(report("--since", folder, now, status=0).stderr, said)
    write_audit(folder / "web1-2.json", header(time_seconds=2), END)
    done = report("--since", folder, now, status=0)
    contains(done.stderr, said)
    contains(done.stdout, "the host has no older audit")


def test_what_no_list_in_use_could_know_is_not_clean(scratch):
    """A key of a type that keyveto does not know, and any key where no list is in use."""
    lists = [{"kind": "filter", "file": "/f", "revision": 1, "time_seconds": None, "entries": 1, "sha256": ""}]
    unknown = {**dict.fromkeys(listed()), "file": "/home/bob/.ssh/authorized_keys", "line": 7, "verdict": "unsupported",
               "type": "ssh-xmss@openssh.com", "account": "bob", "reason": "unknown type of key"}
    other = listed(verdict="unsupported", reason="its type has no SPKI")
    covered = write_audit(scratch / "a.json", header(lists=lists), listed(verdict="clean"), {**END, "clean": 9})
    part = write_audit(scratch / "b.json", header(host="web2", lists=lists), unknown, other,
                       {**END, "clean": 9, "unsupported": 2})
    none = write_audit(scratch / "c.json", header(host="web3"), {**END, "clean": 4})
    lacks(report(covered, status=0).stdout, "no list in use could know")
    out = report(covered, part, none, status=2).stdout
    contains(out, ", 6 that no list in use could know\n", "\nKeys that no list in use could know\n  web2\n    bob: "
             "/home/bob/.ssh/authorized_keys:7: unknown type of key\n    alice: ",
             "  web3\n    no list is in use: 4 keys were compared with none\n")
    rows = [row for row in rows_of(covered, part, none, status=2) if row["finding"] == "uncovered"]
    equal([(row["host"], row["account"], row["type"], row["verdict"]) for row in rows],
          [("web2", "bob", "ssh-xmss@openssh.com", "unsupported"), ("web2", "alice", rows[1]["type"], "unsupported"),
           ("web3", "", "", "")])


def test_owners_by_key_comment_and_account(scratch):
    """The first line that matches counts. Each owner has a list."""
    one, two, three = (listed(account, line, random.Random(line), comment=comment, sources=[], part="key", bits=2048,
                              type="ssh-rsa")
                       for account, line, comment in (("deploy", 1, "ci"), ("alice", 2, "me@laptop"), ("bob", 3, "")))
    audit = write_audit(scratch / "a.json", header(sshd={**HEADER["sshd"], "guarded": True}), one, two, three,
                        {**END, "listed": 3})
    owners = scratch / "owners"
    owners.write_text(f'# whose keys\nkey {one["fingerprint"]} "Alice Example" platform # her old one\n'
                      'comment *@laptop "Alice Example" platform\naccount deploy Nobody\naccount b*@web? Bob\n',
                      encoding="ascii")
    block = report("--owners", owners, audit, status=1).stdout.partition("\nListed keys by owner\n")[2]
    place = "    web1 (guarded) {0} /home/{0}/.ssh/authorized_keys:{1}: ssh-rsa 2048 {2}"
    equal(block.splitlines()[:5],
          ["  Bob", place.format("bob", 3, three["fingerprint"]), "  Alice Example (platform)",
           place.format("alice", 2, two["fingerprint"]) + " me@laptop",
           place.format("deploy", 1, one["fingerprint"]) + " ci"])
    rows = rows_of("--owners", owners, "--since", write_audit(scratch / "b.json", header(), END), audit, status=1)
    equal({row["account"]: (row["owner"], row["team"]) for row in rows if row["account"]},
          {"bob": ("Bob", ""), "alice": ("Alice Example", "platform"), "deploy": ("Alice Example", "platform")})


@pytest.mark.parametrize("line, why", [
    (b"host web1 Bob\n", "KIND is key, comment or account"), (b"account bob\n", "not KIND PATTERN PERSON"),
    (b"account bob Bob team more\n", "not KIND PATTERN PERSON"), (b'account "bob Bob\n', "unterminated quote"),
    (b"account " + b"x" * 5000 + b" Bob\n", ":2: "), (b"account a\0b Bob\n", ":2: "),
    (b"account a A\n" * 10001, ":10002: more than 10000 lines")],
    ids=["kind", "short", "long", "quote", "bytes", "nul", "lines"])
def test_a_line_of_owners_that_is_none_is_an_error(scratch, line, why):
    owners = scratch / "owners"
    owners.write_bytes(b"# owners\n" + line)
    done = report("--owners", owners, write_audit(scratch / "a.json", header(), END), status=2)
    contains(done.stderr, f"keyveto-report: {owners}:", why)
    equal(done.stdout, "")


def test_a_file_is_the_audit_of_one_host(scratch):
    """A host that writes a second header speaks for itself only."""
    hosts = scratch / "hosts"
    hosts.write_text("web1\nweb2\n", encoding="ascii")
    first = [header(host="web1"), listed(line=1), {**END, "listed": 1}]
    second = [header(host="web2"), listed(line=2), {**END, "listed": 1}]
    for lines, number in ((first + second, 4), (first[:2] + second + second, 3)):
        path = write_audit(scratch / "a.json", *lines)
        text = path.read_text(encoding="utf-8")
        for done, name in ((report("--csv", "-", "--hosts", hosts, path, status=1), path),
                           (report("--csv", "-", "--hosts", hosts, "-", input=text, status=1), "-")):
            assert f"keyveto-report: {name}:{number}: a second header: a file is the audit of one host" in done.stderr
            rows = list(csv.DictReader(io.StringIO(done.stdout, newline="")))
            assert [(row["host"], row["line"]) for row in rows if row["finding"] == "listed"] == [("web1", "1")]
            assert [row["host"] for row in rows if row["finding"] == "missing"] == ["web2"]
            assert [row["host"] for row in rows if row["finding"] == "cut-off"] == ["web1"] * (number == 3)
    report(write_audit(scratch / "b.json", header(), END, header(host="web2"), END), status=2)


def test_no_host_decides_what_the_key_of_another_is(scratch):
    key = listed(verdict="clean", type="ssh-ed25519", bits=256)
    liar = write_audit(scratch / "a.json", header(host="a"), {**key, "type": "ssh-rsa", "bits": 1024}, END)
    honest = [write_audit(scratch / f"{name}.json", header(host=name), key, END) for name in ("b", "c")]
    page = scratch / "page.html"
    text = report(liar, *honest, status=0).stdout
    fp = key["fingerprint"]
    assert f"  clean: {fp} (audits disagree about it): 3 accounts on 3 hosts\n" in text
    assert (f"\nKeys about which audits disagree\n  {fp}\n    a: ssh-rsa 1024\n    b: ssh-ed25519 256\n"
            "    c: ssh-ed25519 256\n") in text
    for order in ([liar, *honest], [*honest, liar]):
        report("--html", page, *order, status=0)
        shown = data_of(page)["keys"][0]
        assert (shown["type"], shown["bits"]) == ("ssh-ed25519 or ssh-rsa", None)
    assert "disagree" not in report(*honest, status=0).stdout


def test_a_key_that_any_audit_lists_is_not_headed_clean(scratch):
    key = listed()
    clean_audit = write_audit(scratch / "a.json", header(host="a"), {**key, "verdict": "clean"}, END)
    audit = write_audit(scratch / "b.json", header(host="b"), key, {**END, "listed": 1})
    text = report(clean_audit, audit, status=1).stdout
    block = text[text.index("\nKeys of several accounts\n"):].splitlines()[2:]
    assert block[0].startswith(f"  listed: {key['type']} ") and block[0].endswith(": 2 accounts on 2 hosts"), block
    assert [line.split(" /")[0] for line in block[1:3]] == ["    clean there: a alice", "    b alice"]


def test_max_age_is_of_lists_and_audits(scratch):
    now = int(time.time())
    lists = [{"kind": kind, "file": f"/{kind}", "revision": None, "time_seconds": now - 40 * 86400, "entries": 1,
              "sha256": ""} for kind in ("filter", "list")]
    path = write_audit(scratch / "a.json", header(lists=lists, time_seconds=now - 20 * 86400), END)
    for words, expected in (((), ["/filter"]), (("--max-age", "0"), []), (("--max-age", "39"), ["/filter", "/list"]),
                            (("--max-age", "10"), ["/filter", "/list", ""])):
        equal([row["file"] for row in rows_of(*words, path, status=0)], expected, str(words))


def test_a_csv_cell_is_no_formula_to_a_spreadsheet(scratch):
    comments = ["=1+1", "@x", "+1", "-1", " =1", '"=1', "a;=1", "a; =1", "＝1", "\t=1", "\r\n=1", "a=b", "x@y", "1-1"]
    path = write_audit(scratch / "a.json", header(), *(listed(line=n, comment=one) for n, one in
                                                       enumerate(comments, 1)), {**END, "listed": len(comments)})
    out = report("--csv", "-", path, status=1).stdout
    shown = [row["comment"] for row in csv.DictReader(io.StringIO(out, newline="")) if row["finding"] == "listed"]
    equal(shown, ["'=1+1", "'@x", "'+1", "'-1", " '=1", "\"'=1", "a;'=1", "a; '=1", "'＝1", "\\x09=1", "\\x0d\\x0a=1",
                  "a=b", "x@y", "1-1"])
    # Where ; parts cells, quotes within a cell do not keep it from being parted.
    for line in out.split("\n"):
        for one in re.split("[;,]", line):
            assert re.match(r"[\s\"]*[=+@-]", one) is None, line


def test_the_page_holds_no_byte_of_a_key_that_html_could_take_for_its_own(scratch):
    hostile = "</script><script>alert(1)</script><!-- & \u2028 \ud83d\ude00"
    path = write_audit(scratch / "a.json", header(host=hostile, versions={"keyveto": hostile}), b"no line\n",
                       listed(comment=hostile, account=hostile, file=hostile, sources=[hostile], type=hostile),
                       {**END, "listed": 1})
    page = scratch / "p.html"
    report("--html", page, path, status=1)
    text = page.read_text(encoding="utf-8")
    block = text[text.index('id="data">') + 10:]
    block = block[:block.index("</script>")]
    lacks(block, "<", ">", "&", "\u2028")
    assert block.isascii()
    key = data_of(page)["keys"][0]
    equal([key["places"][0][4], key["sources"]], [hostile.replace("\u2028", "\\u2028").encode("utf-16", "surrogatepass")
                                                  .decode("utf-16")] * 1 + [[key["places"][0][4]]])
    assert html.unescape(block) == block


def test_a_report_replaces_a_report_alone(scratch):
    audit = write_audit(scratch / "a.json", header(), END)
    page, table = scratch / "p.html", scratch / "t.csv"
    for option, path, other in (("--html", page, table), ("--csv", table, page)):
        path.write_bytes(b"")       # as mktemp makes it
        path.chmod(0o640)
        for _ in range(2):
            report(option, path, audit, status=0)
            assert path.stat().st_size > 0 and path.stat().st_mode & 0o777 == 0o640
        (scratch / "link").unlink(missing_ok=True)
        (scratch / "link").symlink_to(path)
        report(option, scratch / "link", audit, status=0)
        assert (scratch / "link").is_symlink()
        foreign = scratch / "foreign"
        for content in (b"x\n", b"<!DOCTYPE html>\n<title>another</title>", b"finding,host\r\n", audit.read_bytes(),
                        *([other.read_bytes()] if other.exists() else [])):
            foreign.write_bytes(content)
            done = report(option, foreign, audit, status=2)
            contains(done.stderr, f"keyveto-report: {foreign}: is no such report, and is as it was")
            equal(foreign.read_bytes(), content)
        os.unlink(foreign)
        for none in (scratch, "/dev/null"):
            contains(report(option, none, audit, status=2).stderr, f"{none}: is no regular file")
    equal(sorted(one.name for one in scratch.iterdir()), ["a.json", "link", "p.html", "t.csv"])


def test_the_files_are_written_whole_or_not_at_all(scratch):
    path = write_audit(scratch / "a.json", header(), END)
    page = scratch / "p.html"
    report("--html", page, "--csv", scratch / "no/such", path, status=2)
    equal(sorted(one.name for one in scratch.iterdir()), ["a.json", "p.html"])
    equal(report("--html", page, path, status=0).stdout, "")
    for words in ((), ("--csv", "-"), ("--html", "-")):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(["env", "-i", REPORT, *words, path], stdout=full, stderr=subprocess.PIPE, check=False)
        equal((done.returncode, done.stderr.decode().splitlines()[-1]),
              (2, "keyveto-report: standard output: No space left on device"))


def test_a_full_disk_leaves_the_old_page(scratch):
    path, page = write_audit(scratch / "a.json", header(), END), scratch / "p.html"
    report("--html", page, path, status=0)
    old = page.read_bytes()
    limit = ["prlimit", "--fsize=4096", str(REPORT), "--html", str(page), str(path)]
    done = attempt("sh", "-c", 'trap "" XFSZ; exec "$@"', "sh", *limit)
    equal((done.returncode, page.read_bytes()), (2, old), done.stderr)
    equal(sorted(one.name for one in scratch.iterdir()), ["a.json", "p.html"])


def test_bad_usage(scratch):
    path = write_audit(scratch / "a.json", header(), END)
    for words in ((), ("--max-age", "x", path), ("--hosts", scratch / "none", path),
                  ("--owners", scratch / "none", path), ("--nonsense", path),
                  ("--html", scratch, path)):
        done = report(*words, status=2)
        contains(done.stderr, "keyveto-report: ")
        equal(done.stdout, "")


def test_an_audit_that_cannot_be_opened_is_a_host_that_is_not_known(scratch):
    good = write_audit(scratch / "a.json", header(), END)
    done = report(scratch, scratch / "web7.json", good, status=2)
    contains(done.stderr, f"keyveto-report: {scratch}/web7.json: No such file or directory", "Is a directory")
    contains(done.stdout, f"  web7 ({scratch}/web7.json): its audit cannot be read")


def report_peak(*words):
    return peak_of(REPORT, *words, statuses=(0, 1, 2))[0]


@pytest.mark.long
def test_memory_does_not_grow_with_the_hosts(scratch):
    """1200 hosts need no more than 8 MiB more than 400, in all forms; their audits have 20 MiB more."""
    rnd = random.Random(7)
    shared = [key_object(rnd, random_key(rnd), "listed", f"user{n}", n) for n in range(200)]
    one_key = listed(comment="x" * 500)
    paths = []
    for number in range(1200):
        keys = [{**one_key, "account": f"user{n}", "fingerprint": random_fingerprint(rnd)} for n in range(20)]
        keys += rnd.sample(shared, 4)
        summaries = [{"summary": True, "what": "account", "account": one["account"], "keys": 1, "listed": 1,
                      "usable": 0} for one in keys]
        paths.append(write_audit(scratch / f"{number}.json", header(host=f"host{number}"), *keys, *summaries,
                                 {**END, "listed": 24}))
    words = ["--csv", scratch / "t.csv", "--html", scratch / "p.html"]
    few, many = report_peak(*words, *paths[:400]), report_peak(*words, *paths)
    assert many - few < 8 * 1024, (few, many)
    equal(len(data_of(scratch / "p.html")["hosts"]), 1200)


@pytest.mark.long
def test_a_long_line_needs_no_memory(scratch):
    """A GiB of one line, without room on disk for it."""
    path = scratch / "long.json"
    with path.open("wb") as file:
        file.write(json.dumps(header()).encode() + b'\n{"a":"')
        os.truncate(file.fileno(), 1 << 30)
        file.seek(1 << 30)
        file.write(b'"}\n' + json.dumps(END).encode() + b"\n")
    small = write_audit(scratch / "small.json", header(), END)
    done = report(path, status=2)
    contains(done.stderr, f"{path}:2: is longer than 2 MiB")
    lacks(done.stdout, "cut off")
    peaks = [report_peak(one) for one in (small, path)]
    assert peaks[1] - peaks[0] < 8192, peaks


def test_no_type_of_a_value_breaks_a_report(scratch):
    """Each member of each line with each of these: the others are still told, and nothing raw comes out."""
    wrong = (None, True, -1, 1.5, 2**60, "", "\0\u202e\u2066=1\x1b[2J</script>", [], [[], {}, "a", 1], {}, {"a": 1})
    whole = random_header(random.Random(1), "a", int(time.time()))
    whole.update(lists=[{"kind": "list", "file": "/f", "revision": 1, "time_seconds": 1, "sha256": ""}], doctor={
        "status": "broken", "checks": [{"check": "a", "status": "broken", "found": "b", "remedy": "c"}]})
    lines = [listed(), {"summary": True, "account": "alice", "keys": 1, "listed": 1, "usable": 0},
             {"login": True, "account": "alice", "fingerprint": listed()["fingerprint"], "type": "RSA", "from": "x",
              "verdict": "listed", "last_seconds": 1, "log": "journal", "in_file": False},
             {"file": "/f", "line": 1, "verdict": "error", "fingerprint": None, "reason": "x"}]
    paths = [write_audit(scratch / "good.json", header(host="good"), listed(), {**END, "listed": 1})]

    def spoilt(one):
        """Every copy in which a member, also one further in, is something else."""
        for name, value in one.items():
            yield from ({**one, name: other} for other in wrong)
            for inner in spoilt(value) if isinstance(value, dict) else ():
                yield {**one, name: inner}
            for inner in spoilt(value[0]) if isinstance(value, list) and value and isinstance(value[0], dict) else ():
                yield {**one, name: [inner]}
    for one in (one for at in (whole, END) for one in spoilt(at)):
        ends = [whole, *lines, one] if "end" in one else [one, *lines, END]
        paths.append(write_audit(scratch / f"{len(paths)}.json", *ends))
    paths.append(write_audit(scratch / "lines.json", whole, *(other for one in lines for other in spoilt(one)), END))
    page, table = scratch / "p.html", scratch / "t.csv"
    done = report("--html", page, "--csv", table, "--all", "--since", paths[-1], *paths, status=1)
    lacks(done.stderr, "Traceback")
    nothing_raw(done.stderr.encode())
    equal(len(data_of(page)["hosts"]), len(paths))
    # What differs from no character that a reader sees comes out nowhere.
    for text in (page.read_text(encoding="utf-8"), table.read_text(encoding="utf-8")):
        assert not re.search("[\0-\x08\x0b-\x1f\u202e\u2066]", text.replace("\r\n", "\n"))
    texts = [text for host in data_of(page)["hosts"] for text in (host["name"], host["reason"] or "", host["os"] or "")]
    assert not re.search("[\0-\x1f\u202e\u2066]", "".join(texts))
    nothing_raw(report(*paths, status=1).stdout.encode())


def test_a_host_cannot_make_the_report_take_for_ever(scratch):
    """30,000 places of a key with as many logins of others, lists from the future, and hosts of one name."""
    key = "SHA256:" + "A" * 43
    future = [{"kind": "filter", "file": "/f", "revision": 2**32, "time_seconds": 2**50, "sha256": ""}] * 50
    others = [write_audit(scratch / f"{number}.json", header(lists=future), END) for number in range(1000)]
    lines = [json.dumps(header(lists=future))]
    for number in range(30000):
        lines.append(f'{{"verdict":"listed","fingerprint":"{key}","type":"x","file":"/f","account":"a{number}"}}')
        lines.append(f'{{"login":true,"account":"b{number}","fingerprint":"{key}","verdict":"listed",'
                     f'"last_seconds":{number}}}')
    path = write_audit(scratch / "a.json", "\n".join(lines).encode())
    equal(sum(row["finding"] == "listed" for row in rows_of(path, *others, status=1)), 30000)


@pytest.mark.long
def test_a_host_cannot_make_the_comparison_take_for_ever(scratch):
    """50,000 lines of an account have the same key, which was listed then, and is clean now."""
    then, now = (write_audit(scratch / f"{verdict}.json", header(all=True), *[listed(verdict=verdict)] * 50000,
                             {**END, "listed": 50000 * (verdict == "listed")}) for verdict in ("listed", "clean"))
    began = time.monotonic()
    rows = rows_of("--since", then, now, status=0)
    assert time.monotonic() - began < PATIENCE / 2
    equal(Counter((row["finding"], row["message"]) for row in rows),
          {("gone", "is here, and not listed any more"): 50000})
