# SPDX-License-Identifier: ISC
"""keyveto audit --since: the keys that are new since an older audit of this host, and whether they came in."""

import json
import random
import socket
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import pytest

import keys
import weak_keys
from hostile import put_worker
from program import PATIENCE, contains, copy_programs, equal, keyveto

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

NOW = "2026-11-23T13:20:00Z"
SECONDS = int(datetime.fromisoformat(NOW.replace("Z", "+00:00")).timestamp())


def objects(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def keep(world, *words, name="old.json", status=None):
    """An audit of now, in a file."""
    path = world.folder / name
    path.write_text(world.audit("--json", "--all", *words, status=status).stdout)
    return path


def write(path, lines):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    return path


def new_of(done):
    return [one for one in objects(done) if one.get("new")]


def lines_of(done):
    """What stands behind the table."""
    return [line for line in done.stdout.splitlines() if line.startswith(("new: ", "no new key "))]


def login_log(world, *logins):
    path = world.folder / "log"
    path.write_text("".join(f"{when} host sshd[{number}]: Accepted publickey for {user} from {addr} port 22 ssh2: "
                            f"ED25519 {key.fingerprint}\n" for number, (when, user, addr, key) in enumerate(logins, 1)))
    return path


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(6))
def test_new_keys_are_those_that_an_account_did_not_have(world, seed):
    """Against the files as they were written: random accounts and keys, then random changes."""
    rnd = random.Random(seed)
    pool = [world.bad, world.clean, *(keys.generate(world.folder).key for _ in range(4))]
    accounts = [world.account(f"user{n}") for n in range(4)]

    def rewrite():
        placed = {}
        for account in accounts:
            for name in (".ssh/authorized_keys", ".ssh/authorized_keys2"):
                chosen = rnd.choices(pool, k=rnd.randrange(4))
                account.write(name, *(f"{key} comment{rnd.randrange(9)}" for key in chosen))
                for line, key in enumerate(chosen, 1):
                    placed.setdefault((account.name, key.fingerprint), (str(account.home / name), line))
        return placed

    before = rewrite()
    old = keep(world)
    after = rewrite()
    wanted = {who: place for who, place in after.items() if who not in before}
    done = world.audit("--json", "--since", old)
    found = new_of(done)
    equal({(one["account"], one["fingerprint"]): (one["file"], one["line"]) for one in found}, wanted)
    equal(len(found), len(wanted))
    for one in found:
        verdict = "listed" if one["fingerprint"] == world.bad.fingerprint else "clean"
        equal([one[name] for name in ("verdict", "type", "bits", "part", "logins", "last_seconds", "last", "from")],
              [verdict, "ssh-ed25519", 256, "key", None, None, None, None])
    equal(done.returncode, int(any(key == world.bad.fingerprint for _, key in after)))
    equal(len(lines_of(world.audit("--since", old))), max(1, len(wanted)))
    equal(new_of(world.audit("--json", "--since", keep(world, name="same.json"))), [])


def test_text_names_the_account_the_place_the_key_and_its_verdict(world):
    alice, bob = world.account("alice"), world.account("bob")
    alice.authorize(f"{world.clean} a")
    old = keep(world, status=0)
    when = json.loads(old.read_text().splitlines()[0])["time"]
    done = world.audit("--since", old, status=0)
    equal((done.stdout.splitlines()[-1], done.stdout.splitlines()[-2]), (f"no new key since {when}", ""))
    alice.authorize("# moved", f"{world.clean} another comment")
    equal(lines_of(world.audit("--since", old, status=0)), [f"no new key since {when}"])
    alice.authorize(f"{world.clean} a", f"{world.bad} x\x1b[2J")
    bob.authorize("", f"{world.clean}")
    done = world.audit("--since", old, status=1)
    equal(lines_of(done),
          [f"new: alice: {alice.keys_path}:2: listed: ssh-ed25519 256 {world.bad.fingerprint} x\\x1b[2J",
           f"new: bob: {bob.keys_path}:2: clean: ssh-ed25519 256 {world.clean.fingerprint}"])
    assert done.stdout.index("\naccount ") < done.stdout.index("\nnew: ")
    equal(world.audit("--since", old, "--quiet", status=1).stdout, "")
    equal(world.audit("--since", "-", status=1, input=old.read_text()).stdout, done.stdout)


def test_logins_tell_whether_and_when_new_keys_came_in(world):
    """Of any verdict; the logins that are told besides are those of listed keys, as ever."""
    alice, bob = world.account("alice"), world.account("bob")
    other = keys.generate(world.folder).key
    alice.authorize(world.clean)
    old = keep(world, status=0)
    alice.authorize(world.clean, world.bad)
    bob.authorize(f"{world.clean} by bob", other)
    log = login_log(world, ("2026-11-22T01:00:00Z", "bob", "192.0.2.1", world.clean),
                    (NOW, "bob", "192.0.2.2", world.clean), ("2026-11-24T00:00:00Z", "alice", "192.0.2.3", world.clean),
                    (NOW, "carol", "192.0.2.4", other))
    done = world.audit("--since", old, "--json", "--logins", log, status=1)
    equal({(one["account"], one["fingerprint"]): [one[name] for name in ("logins", "last_seconds", "last", "from")]
           for one in new_of(done)},
          {("alice", world.bad.fingerprint): [0, None, None, None],
           ("bob", world.clean.fingerprint): [2, SECONDS, NOW, "192.0.2.2"],
           ("bob", other.fingerprint): [0, None, None, None]})
    equal([(one["account"], one["fingerprint"]) for one in objects(done) if one.get("login")],
          [("alice", world.bad.fingerprint)])
    equal(lines_of(world.audit("--since", old, "--logins", log, status=1)),
          [f"new: alice: {alice.keys_path}:2: listed: ssh-ed25519 256 {world.bad.fingerprint}: no login",
           f"new: bob: {bob.keys_path}:1: clean: ssh-ed25519 256 {world.clean.fingerprint}: 2 logins, "
           f"the last {NOW} from 192.0.2.2: by bob",
           f"new: bob: {bob.keys_path}:2: clean: ssh-ed25519 256 {other.fingerprint}: no login"])


def test_a_login_of_the_older_audit_is_no_key_of_it(world):
    """Only files count: a key that came in before, and is in a file now, is new."""
    alice = world.account("alice")
    log = login_log(world, (NOW, "alice", "192.0.2.1", world.bad))
    known = write(world.folder / "known", [{"verdict": "listed", "fingerprint": world.bad.fingerprint}])
    old = keep(world, "--logins", log, "--known", known, status=0)
    contains(old.read_text(), '"login":true,"account":"alice"')
    alice.authorize(world.bad)
    equal([one["account"] for one in new_of(world.audit("--json", "--since", old, status=1))], ["alice"])


def test_new_host_keys_and_cas_are_rows_without_account(world):
    old = keep(world, status=0)
    authority, host = keys.generate(world.folder), keys.generate(world.folder)
    Path("/etc/ssh/ca.pub").write_text(f"{authority.key}\n", encoding="ascii")
    world.sshd_config("TrustedUserCAKeys /etc/ssh/ca.pub", f"HostKey {host.path}",
                      "HostKey /etc/ssh/ssh_host_ed25519_key")
    log = login_log(world)
    with log.open("a", encoding="ascii") as file:
        file.write(f"{NOW} host sshd[9]: Accepted publickey for root from 192.0.2.9 port 22 ssh2: ED25519-CERT "
                   f"{world.clean.fingerprint} ID x (serial 0) CA ED25519 {authority.key.fingerprint}\n")
    found = new_of(world.audit("--json", "--since", old, "--logins", log, status=0))
    equal({(one["account"], one["fingerprint"], one["part"], one["logins"], one["from"]) for one in found},
          {(None, authority.key.fingerprint, "ca", 1, "192.0.2.9"), (None, host.key.fingerprint, "key", 0, None)})
    lines = lines_of(world.audit("--since", old, status=0))
    equal(sorted(line.split(": ")[1] for line in lines), ["(host keys)", "(user CA keys)"])
    contains("\n".join(lines), f"{authority.key.fingerprint} (CA)")


def test_a_host_key_that_becomes_a_user_ca_is_new(world):
    """Whoever has a copy of it comes in as anybody by it. It was of no account before, too."""
    host, ca = keys.generate(world.folder), Path("/etc/ssh/ca.pub")
    ca.write_text("\n", encoding="ascii")
    world.sshd_config(f"HostKey {host.path}", f"TrustedUserCAKeys {ca}")
    old = keep(world)
    ca.write_text(f"{host.key}\n", encoding="ascii")
    now = keep(world, name="now.json")
    equal([(one["account"], one["file"], one["fingerprint"], one["part"])
           for one in new_of(world.audit("--json", "--since", old))],
          [(None, str(ca), host.key.fingerprint, "ca")])
    contains(world.audit("--since", old).stdout,
             f"\nnew: (user CA keys): {ca}:1: clean: ssh-ed25519 256 {host.key.fingerprint} (CA)")
    contains(keyveto("report", "--since", old, now, status=None).stdout, host.key.fingerprint, str(ca))
    equal(new_of(world.audit("--json", "--since", now)), [])
    contains(keyveto("report", "--since", now, now, status=None).stdout, "Nothing changed since the older audits.")
    gone = keyveto("report", "--csv", "--since", now, old, status=None).stdout
    equal([line.split(",")[0] for line in gone.splitlines() if host.key.fingerprint in line], ['"gone"'])


def test_keys_of_unknown_types_are_said_not_to_be_compared(world):
    """No audit has a fingerprint of them. Such a key may be new, or another one with the same type."""
    alice, unknown = world.account("alice"), "ssh-of-tomorrow AAAAD3NzaC1vZi10b21vcnJvdwAAAAEB"
    alice.authorize(world.clean)
    old = keep(world, status=0)
    when = json.loads(old.read_text().splitlines()[0])["time"]
    alice.authorize(world.clean, f"{unknown} evil")
    equal(world.audit("--since", old, status=2).stdout.splitlines()[-3:],
          ["", f"no new key of a known type since {when}", "not compared: 1 key of an unknown type"])
    alice.authorize(world.clean, world.bad, unknown, f"{unknown[:-1]}C")
    done = world.audit("--since", old, status=1)
    equal(done.stdout.splitlines()[-2:], [f"new: alice: {alice.keys_path}:2: listed: ssh-ed25519 256 "
                                          f"{world.bad.fingerprint}", "not compared: 2 keys of unknown types"])


def test_a_host_key_of_an_unknown_type_is_not_compared(world):
    """A file that SSH does not read may have a key that filters can be asked about, and no fingerprint."""
    path, old = Path("/etc/ssh/host.pub"), keep(world, status=0)
    subprocess.run(f"openssl genpkey -algorithm x25519 | openssl pkey -pubout -out {path}", shell=True, check=True,
                   capture_output=True)
    world.sshd_config(f"HostKey {path}", "HostKey /etc/ssh/ssh_host_ed25519_key")
    done = world.audit("--all", "--since", old, status=None)
    contains(done.stdout, "no new key of a known type since ", "not compared: 1 key of an unknown type\n")


def test_names_of_accounts_that_are_no_utf8_are_known_again(world):
    """JSON has another name for them than the system."""
    with open("/etc/passwd", "ab") as file:
        file.write(b"caf\xe9:x:30000:30000::%s:/bin/sh\n" % bytes(world.folder / "cafe"))
    with open("/etc/group", "ab") as file:
        file.write(b"cafe:x:30000:\n")
    path = world.folder / "cafe/.ssh/authorized_keys"
    path.parent.mkdir(parents=True)
    path.write_text(f"{world.clean}\n")
    old = keep(world)
    contains(old.read_text(), r'"account":"caf\\xe9"')
    equal(new_of(world.audit("--json", "--since", old)), [])
    path.write_text(f"{world.clean}\n{keys.generate(world.folder).key}\n")
    equal([one["account"] for one in new_of(world.audit("--json", "--since", old))], [r"caf\xe9"])


@pytest.mark.long
def test_weak_keys_are_new_with_the_verdict_that_the_tests_find(world):
    """They are tested behind all accounts. Each account has one row of logins then."""
    alice, bob = world.account("alice"), world.account("bob")
    (_, weak), (_, second) = weak_keys.weak()[:2]
    alice.authorize(weak.line)
    old = keep(world, status=1)
    alice.authorize(weak.line, second.line)
    bob.authorize(weak.line, second.line)
    log = login_log(world, (NOW, "bob", "192.0.2.1", weak))
    done = world.audit("--json", "--all", "--since", old, "--logins", log, status=1)
    equal([(one["account"], one["fingerprint"], one["verdict"], one["logins"]) for one in new_of(done)],
          [("alice", second.fingerprint, "listed", 0), ("bob", weak.fingerprint, "listed", 1),
           ("bob", second.fingerprint, "listed", 0)])
    rows = [(one["account"], one["fingerprint"]) for one in objects(done) if one.get("login")]
    equal(sorted(rows), sorted((name, key.fingerprint) for name in ("alice", "bob") for key in (weak, second)))


def damaged(lines):
    """Each damage of an audit, and what is said of it."""
    first, last, end = lines[0], lines[-1], len(lines)
    key = next(line for line in lines if "fingerprint" in line)
    return {
        "without-all": ([{**first, "all": False}, *lines[1:]], ":1: was made without --all"),
        "format": ([{**first, "format": 2}, *lines[1:]], ":1: its format is unknown here"),
        "host": ([{**first, "host": "other.example"}, *lines[1:]],
                 f": is an audit of the host other.example, and this is {socket.gethostname()}\n"),
        "user": ([{**first, "whole": False}, *lines[1:]], ": was made with --user"),
        "time": ([{**first, "time_seconds": -1}, *lines[1:]], ":1: does not tell when"),
        "silent": ([{**first, "answered": False}], ":1: the host did not answer"),
        "headless": (lines[1:], ":1: is no first line"),
        "cut": (lines[:-1], f":{end - 1}: has no last line: it was cut off"),
        "empty": ([], ": has no last line: it was cut off"),
        "lost": ([line for line in lines if line is not key], f":{end - 1}: counts another number of keys"),
        "added": ([*lines[:-1], key, last], f":{end + 1}: counts another number of keys"),
        "unjudged": ([first, {**last, "keys": 0, "reason": "\x1b no list"}],
                     ":2: judged no key: \\x1b no list\n"),
        "twice": (lines + lines, f":{end + 1}: a second header"),
        "behind": ([*lines, key], f":{end + 1}: follows the last line"),
        "fingerprint": ([first, {**key, "fingerprint": "MD5:00"}, *lines[1:]], ":2: fingerprint is not SHA256:"),
    }


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", damaged([{}, {"fingerprint": ""}, {}]))
def test_an_audit_that_is_not_whole_is_an_error_and_nothing_is_audited(world, name):
    world.account("alice").authorize(world.bad)
    lines, said = damaged([json.loads(line) for line in keep(world, status=1).read_text().splitlines()])[name]
    path = write(world.folder / "damaged", lines)
    done = world.audit("--json", "--since", path, status=2)
    contains(done.stderr, f"keyveto: {path}{said}")
    equal(done.stdout, "")


@pytest.mark.parametrize("text, said", [(b"x\n", ":1: no JSON object"), (b"\n[1]\n", ":2: no JSON object"),
                                        (b'{"a":1,"a":2}\n', ":1: no JSON object"), (b"[" * 100000, ":1: no JSON"),
                                        (b'{"a":"' + b"x" * (2 << 20) + b'"}\n', ":1: ")],
                         ids=["word", "array", "twice", "deep", "long"])
def test_a_file_of_another_kind_is_one_error(world, text, said):
    path = world.folder / "hostile"
    path.write_bytes(text * 3)
    done = world.audit("--since", path, status=2)
    contains(done.stderr, f"keyveto: {path}{said}")
    equal((done.stdout, done.stderr.count("\n")), ("", 1))
    missing = world.folder / "missing"
    contains(world.audit("--since", missing, status=2).stderr, f"keyveto: {missing}: No such file or directory\n")


def test_audits_of_one_account_are_compared_with_each_other(world):
    alice = world.account("alice")
    alice.authorize(world.clean)
    old = keep(world, "--user", "alice", status=0)
    alice.authorize(world.clean, world.bad)
    found = new_of(world.audit("--json", "--user", "alice", "--since", old, status=1))
    equal([(one["account"], one["fingerprint"]) for one in found], [("alice", world.bad.fingerprint)])
    equal(len(new_of(world.audit("--json", "--user", "alice", "--since", keep(world, name="whole.json")))), 0)


def test_an_audit_of_other_accounts_does_not_tell_what_is_new(world):
    """An older audit of the same accounts, or of more, does. It names them as JSON does."""
    alice, bob = world.account("alice"), world.account("bob")
    alice.authorize(world.clean)
    bob.authorize(world.clean)
    both = keep(world, "--user", "bob", "--user", "alice", name="both.json", status=0)
    old = keep(world, "--user", "alice", status=0)
    for users in (["bob"], ["alice", "bob"], ["bob", "alice"]):
        words = [word for user in users for word in ("--user", user)]
        done = world.audit("--since", old, *words, status=2)
        equal((done.stdout, done.stderr),
              ("", f"keyveto: {old}: was made with --user: it does not tell which keys bob had\n"))
        equal(len(lines_of(world.audit("--since", both, *words, status=0))), 1)
    lines = [json.loads(line) for line in old.read_text().splitlines()]
    for users in (None, [], ["x" * 2000, 1, None, "alice\0", ""], "alice", {"alice": 1}):
        path = write(world.folder / "changed", [{**lines[0], "users": users}, *lines[1:]])
        contains(world.audit("--since", path, "--user", "alice", status=2).stderr, "which keys alice had")
    equal(json.loads(both.read_text().splitlines()[0])["users"], ["bob", "alice"])
    equal(json.loads(keep(world, status=0).read_text().splitlines()[0])["users"], None)


def test_there_is_one_older_audit(world):
    old = keep(world)
    contains(world.audit("--since", old, "--since", old, status=2).stderr, "more than 1 audit for --since")


@pytest.mark.parametrize("tells", ["tell(16, number(5), text('SHA256'), text(''), number(0))",
                                   "tell(16, number(5), text(32 * b'k'), text('alice'), number(0))",
                                   "tell(16, number(1), text(32 * b'k'), text('ssh-rsa'), number(1), number(0))",
                                   "tell(16, number(3), text('h'), number(2**63), number(1))",
                                   "tell(16, number(4), text('alice'))",
                                   "tell(16, number(0))"],
                         ids=["digest", "headless", "known", "time", "user", "empty"])
def test_a_worker_that_tells_what_it_never_does_is_an_error(world, scratch, tells):
    program = copy_programs(scratch)
    put_worker(scratch / "keyveto-worker", f"hello()\n{tells}\ntime.sleep(5)")
    path = keep(world)
    done = subprocess.run([program, "audit", "--filter", world.filter, "--since", path], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=PATIENCE, text=True)
    contains(done.stderr, f"keyveto: {path}: the worker says what it never says\n")
    equal((done.returncode, done.stdout), (2, ""))


def test_report_reads_audits_with_new_keys(world):
    """They say nothing of a host that its keys do not say."""
    alice = world.account("alice")
    old = keep(world, status=0)
    alice.authorize(world.clean, world.bad)
    seen = world.folder / "new.json"
    seen.write_text(world.audit("--json", "--all", "--since", old, status=1).stdout)
    contains(seen.read_text(), '{"new":true,"account":"alice"')
    (world.folder / "plain").mkdir()
    plain = write(world.folder / "plain/new.json",
                  [one for one in map(json.loads, seen.read_text().splitlines()) if not one.get("new")])
    done, other = keyveto("report", "--csv", seen), keyveto("report", "--csv", plain)
    equal((done.stdout.replace(str(seen), ""), done.returncode),
          (other.stdout.replace(str(plain), ""), other.returncode))
    equal(done.stderr.replace(str(seen), ""), other.stderr.replace(str(plain), ""))


def test_an_audit_with_new_keys_can_be_the_next_older_one(world):
    alice = world.account("alice")
    old = keep(world, status=0)
    alice.authorize(world.clean)
    second = keep(world, "--since", old, name="second.json", status=0)
    equal(new_of(world.audit("--json", "--since", second, status=0)), [])


def test_the_time_of_the_older_audit_is_told_in_utc(world):
    lines = [json.loads(line) for line in keep(world, status=0).read_text().splitlines()]
    old = write(world.folder / "dated", [{**lines[0], "time_seconds": SECONDS}, *lines[1:]])
    equal(lines_of(world.audit("--since", old, status=0)), [f"no new key since {NOW}"])
    assert datetime.fromtimestamp(SECONDS, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") == NOW
