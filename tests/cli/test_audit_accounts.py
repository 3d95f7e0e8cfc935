# SPDX-License-Identifier: ISC
"""keyveto audit: accounts and the lines of their files, in a throw-away root."""

import contextlib
import os
import shutil

import pytest

import fuse_home
import keys
import sshkey
from audit_machine import FIRST_ID, Account, places, row_of
from program import REPORT, contains, equal, keyveto, lacks, make_filter

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

MANY_PATIENCE = 900         # seconds, on a busy machine
# Processor time for 10,000 accounts. It takes twice as long to ask sshd about each account. On a busy machine the
# same work takes more processor time. KEYVETO_SLOWER is for instrumented programs.
SECONDS_FOR_MANY = 60 * int(os.environ.get("KEYVETO_SLOWER", "1"))


def test_a_machine_without_listed_keys_is_clean(world):
    """The status is 0, and the table has a row for the host keys."""
    done = world.audit(status=0)
    equal(row_of(done.stdout, "(host keys)")[1:], [3, 0, 0, 0, 0])
    lacks(done.stdout, "listed:", "root")
    contains(done.stderr, "0 listed")


def test_a_listed_key_is_found_in_the_table_and_in_json(world):
    alice, bob = world.account("alice"), world.account("bob", shell="/usr/sbin/nologin")
    alice.authorize("# mine", f'command="x y",restrict {world.clean} a', f"{world.bad} work laptop")
    bob.authorize(world.clean)
    done = world.audit(status=1)
    contains(done.stdout,
             f"{alice.keys_path}:3: listed: ssh-ed25519 256 {world.bad.fingerprint} work laptop [{world.filter}]\n")
    equal(row_of(done.stdout, "alice"), [1, 2, 1, 0, 0, 0])
    equal(row_of(done.stdout, "bob"), [1, 1, 0, 0, 0, 0])
    findings, summaries, _ = world.findings(status=1)
    listed = [one for one in findings if one["verdict"] == "listed"]
    equal([(one["account"], one["file"], one["line"], one["comment"], one["part"]) for one in listed],
          [("alice", str(alice.keys_path), 3, "work laptop", "key")])
    equal({key: summaries["alice"][key] for key in ("files", "keys", "listed", "clean", "problems")},
          {"files": 1, "keys": 2, "listed": 1, "clean": 1, "problems": 0})
    equal(summaries["host keys"]["account"], None)
    equal(world.audit("--quiet", status=1).stdout, "")


def test_a_key_that_needs_no_secret_is_found_as_a_key_and_as_a_ca(world):
    """No filter has it. The report of such audits names its source."""
    key = sshkey.key_line(sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(bytes([1, *bytes(31)]))))
    alice, bob = world.account("alice"), world.account("bob")
    alice.authorize(world.clean, f"{key} door")
    bob.authorize(f"cert-authority {key}")
    done = world.audit(status=1)
    contains(done.stdout, f"{alice.keys_path}:2: listed: ssh-ed25519 256 ", " door [built-in ed25519-order]\n",
             f"{bob.keys_path}:1: listed: ", "[built-in ed25519-order]\n")
    findings, _, _ = world.findings(status=1)
    equal([(one["account"], one["lists"], one["source"]) for one in findings if one["verdict"] == "listed"],
          [("alice", ["built-in"], "ed25519-order"), ("bob", ["built-in"], "ed25519-order")])
    audit = world.audit("--json", status=1).stdout
    report = keyveto("-", input=audit, status=1, program=REPORT).stdout
    contains(report, "ed25519-order", "alice")


def test_locked_accounts_and_shared_homes_are_audited(world):
    """Also accounts with a shared uid, and the second file of AuthorizedKeysFile."""
    one = world.account("one")
    two = world.account("two", home=one.home, uid=one.uid, gid=one.gid, shell="/bin/false")
    one.authorize(world.clean)
    one.write(".ssh/authorized_keys2", world.bad)
    done = world.audit(status=1)
    equal(row_of(done.stdout, "one"), [2, 2, 1, 0, 0, 0])
    equal(row_of(done.stdout, two.name), [2, 2, 1, 0, 0, 0])


def test_a_link_to_what_the_owner_may_not_read_is_not_followed(scratch, world):
    secret, hidden = scratch / "secret", scratch / "hidden"
    secret.write_text(f"{world.bad}\n")
    secret.chmod(0o600)
    hidden.mkdir(mode=0o700)
    shutil.copy(secret, hidden / "file")
    (hidden / "file").chmod(0o644)
    mallory, eve = world.account("mallory"), world.account("eve")
    for account, target in ((mallory, secret), (eve, hidden / "file")):
        account.write(".ssh/other", world.clean)
        account.keys_path.symlink_to(target)
    findings, summaries, errors = world.findings(status=2)
    equal(places(findings), [])
    for account in (mallory, eve):
        contains(errors, f"keyveto: {account.keys_path}: Permission denied\n")
        equal((summaries[account.name]["keys"], summaries[account.name]["problems"]), (0, 1))


def test_a_link_to_what_the_owner_may_read_is_followed(world):
    carol = world.account("carol")
    target = carol.write("dotfiles/keys", world.bad)
    carol.write(".ssh/other", world.clean)
    carol.keys_path.symlink_to(target)
    equal(places(world.findings(status=1)[0]), [f"{carol.keys_path}:1"])


def test_a_home_that_only_processes_of_its_owner_may_read(world):
    """Not the effective ids alone, which are all that sshd sets: the guard runs with all ids of the account."""
    ann, bob = world.account("ann"), world.account("bob")
    bob.write("authorized_keys", world.clean)
    world.sshd_config("AuthorizedKeysFile authorized_keys")
    with contextlib.ExitStack() as stack:
        content = f"{world.bad}\n".encode()
        try:
            stack.enter_context(fuse_home.mounted(ann.home, b"authorized_keys", content, ann.uid, ann.gid))
        except OSError as error:
            pytest.skip(f"no FUSE on this machine: {error}")
        # Root is a stranger here.
        with pytest.raises(PermissionError):
            os.listdir(ann.home)
        findings, summaries, errors = world.findings(status=1)
    equal(places(findings), [f"{ann.home}/authorized_keys:1"])
    equal([(summaries[name]["keys"], summaries[name]["problems"]) for name in ("ann", "bob")], [(1, 0), (1, 0)])
    lacks(errors, "Permission denied")


def test_fifos_devices_directories_and_dead_links_are_problems(world):
    """keyveto audit does not wait for a FIFO or a device."""
    names = {"fifo": "not a regular file", "device": "not a regular file", "directory": "not a regular file",
             "dead": "symbolic link to nothing", "loop": "Too many levels of symbolic links"}
    for name in names:
        account = world.account(name)
        account.write(".ssh/other", world.clean)
        if name == "fifo":
            os.mkfifo(account.keys_path)
        elif name == "device":
            account.keys_path.symlink_to("/dev/zero")
        elif name == "directory":
            account.keys_path.mkdir()
        elif name == "dead":
            account.keys_path.symlink_to("nothing")
        else:
            account.keys_path.symlink_to("authorized_keys")
        with contextlib.suppress(OSError):
            account.own(account.keys_path)
    world.account("zoe").authorize(world.clean)
    done = world.audit(status=2)
    for name, reason in names.items():
        contains(done.stderr, f"/home/{name}/.ssh/authorized_keys: {reason}")
        equal(row_of(done.stdout, name)[1:], [0, 0, 0, 0, 1])
    equal(row_of(done.stdout, "zoe"), [1, 1, 0, 0, 0, 0])
    lacks(done.stderr, "took too long")


def test_files_that_cannot_be_read_in_time_are_given_up(world):
    """A file that cannot be read to its end in time is a problem."""
    endless = world.account("endless")
    with open(endless.authorize(), "r+b") as file:
        file.truncate(1 << 38)
    world.account("zoe").authorize(world.bad)
    # On a busy machine the other files, too, may take a second.
    for seconds in (1, 8, 30):
        done = world.audit("--timeout", seconds)
        contains(done.stderr, "keyveto: endless: reading its files took too long (--timeout); ")
        equal(row_of(done.stdout, "endless")[-1], 1)
        if done.stderr.count("took too long") == 1:
            break
    equal(done.returncode, 1, done.stderr)
    equal(row_of(done.stdout, "zoe")[2], 1)


def test_files_that_sshd_will_not_use_are_noted(world):
    """keyveto audit reads such files all the same."""
    dave = world.account("dave")
    dave.authorize(world.bad, mode=0o666)
    done = world.audit(status=1)
    contains(done.stderr, f"keyveto: note: bad ownership or modes for file {dave.keys_path}: sshd does not use")
    contains(done.stdout, f"{dave.keys_path}:1: listed")
    equal(row_of(done.stdout, "dave"), [1, 1, 1, 0, 0, 0])
    world.sshd_config("StrictModes no")
    lacks(world.audit(status=1).stderr, "note")


def test_a_file_is_read_with_the_groups_of_its_owner(scratch, world):
    world.account("frank")
    world.append("/etc/group", "readers:x:30000:frank")
    (scratch / "keys").mkdir(mode=0o755)
    path = scratch / "keys/frank"
    path.write_text(f"{world.bad}\n")
    os.chown(path, 0, 30000)
    path.chmod(0o640)
    world.sshd_config(f"AuthorizedKeysFile {scratch}/keys/%u")
    findings, _, errors = world.findings(status=1)
    equal(places(findings), [f"{path}:1"], errors)


def test_nothing_that_sshd_reads_is_hidden(world):
    """keyveto audit finds each key that sshd reads, also where a person would overlook it."""
    grace = world.account("grace")
    grace.authorize("-----BEGIN OPENSSH PRIVATE KEY-----", world.bad, f"0 {world.bad}", f"{world.bad} a\r",
                    f'environment="A=b"\t{world.bad}')
    findings, _, _ = world.findings()
    equal([int(place.rsplit(":", 1)[1]) for place in places(findings)][:2], [2, 3])
    equal(len(places(findings)), 4)


def test_broken_lines_and_unknown_types_are_problems(world):
    """The messages escape the text of such a line."""
    heidi = world.account("heidi")
    unknown = "ssh-new AAAAB3NzaC1uZXcAAAAA"
    heidi.authorize("ssh-ed25519 AAAA", b"\x1b[31m junk\n", unknown, 400000 * "x", f"{world.clean} \x1b[31m\x07")
    done = world.audit("--all", status=2)
    lacks(done.stdout + done.stderr, "\x1b", "\x07")
    for number in (1, 2, 3, 4):
        contains(done.stderr, f"keyveto: {heidi.keys_path}:{number}: ")
    contains(done.stderr, "ssh-new")
    equal(row_of(done.stdout, "heidi"), [1, 1, 0, 0, 1, 3])
    contains(done.stdout, f"{heidi.keys_path}:5: clean")


def test_authorities_and_certificates_of_an_account_are_judged(scratch, world):
    ivan = world.account("ivan")
    ca = keys.generate(scratch)
    certified = keys.certify(ca, keys.generate(scratch), "ivan")
    world.filter = make_filter(scratch / "ca.pkbf", ca.key)
    ivan.authorize(f'cert-authority,principals="a" {ca.key}', certified.certificate)
    findings, _, _ = world.findings(status=1)
    equal([(one["line"], one["part"], one["verdict"]) for one in findings if one.get("account") == "ivan"],
          [(1, "ca", "listed"), (2, "key", "clean"), (2, "ca", "listed")])


def test_user_audits_these_accounts_alone(world):
    for name in ("will", "xena", "yves"):
        world.account(name).authorize(world.bad)
    findings, summaries, _ = world.findings("--user", "will", "--user", "yves", status=1)
    equal(sorted(one["account"] for one in findings), ["will", "yves"])
    equal(sorted(summaries), ["will", "yves"])
    contains(world.audit("--user", "none-such", status=2).stderr, "account none-such: there is none of that name")


def test_without_root_only_the_own_account(world):
    zara = world.account("zara")
    zara.authorize(world.bad)
    world.account("other").authorize(world.bad)
    own = world.audit("--user", "zara", status=1, user=zara.uid, group=zara.gid, extra_groups=[])
    contains(own.stdout, f"{zara.keys_path}:1: listed")
    for arguments in ((), ("--user", "other"), ("--user", "zara", "--user", "other")):
        done = world.audit(*arguments, status=2, user=zara.uid, group=zara.gid, extra_groups=[])
        contains(done.stderr, "only root can audit the accounts of others")
        equal(done.stdout, "")


def test_an_account_that_is_there_twice_counts_once(scratch, world):
    world.account("dup").authorize(world.bad)
    world.append("/etc/passwd", f"dup:x:999:999::{scratch}:/bin/sh")
    equal(row_of(world.audit(status=1).stdout, "dup"), [1, 1, 1, 0, 0, 0])


def test_bad_usage_is_status_2(world):
    for arguments in (("alice",), ("--timeout", "0"), ("--user",), ("--nonsense",)):
        done = world.audit(*arguments, status=2)
        equal(done.stdout, "")
        assert done.stderr, arguments
    contains(keyveto("audit", "--help", status=0).stdout, "--user NAME", "Exit status")


def make_many(w, count):
    """Makes accounts with a group, a home and a key each. Every thousandth also has a listed key."""
    listed = []
    passwd, group = [], []
    (w.folder / "many").mkdir()
    for number in range(FIRST_ID, FIRST_ID + count):
        name = f"many{number}"
        home = w.folder / "many" / name
        passwd.append(f"{name}:x:{number}:{number}::{home}:/bin/sh")
        group.append(f"{name}:x:{number}:")
        account = Account(name, number, home)
        bad = number % 1000 == 0
        account.authorize(w.clean, *([w.bad] if bad else []))
        listed += [f"{account.keys_path}:2"] if bad else []
    w.append("/etc/passwd", *passwd)
    w.append("/etc/group", *group)
    return listed


@pytest.mark.long
def test_ten_thousand_accounts_in_time_and_in_order(world):
    listed = make_many(world, 10000)
    done = world.audit(status=1, timeout=MANY_PATIENCE)
    equal([line.split(": ")[0] for line in done.stdout.splitlines() if ": listed: " in line], listed)
    equal(done.stdout.count("\nmany"), 10000)
    assert done.cpu_seconds < SECONDS_FOR_MANY, f"it took {done.cpu_seconds} s"
    print(f"10,000 accounts: {done.seconds:.1f} s, {done.cpu_seconds:.1f} s of them work")
    world.sshd_config("Match User many20*,!many20000,root Group many*", " AuthorizedKeysFile none")
    done = world.audit(status=1, timeout=MANY_PATIENCE)
    equal([line.split(": ")[0] for line in done.stdout.splitlines() if ": listed: " in line], listed)
    equal(done.stdout.count("\nmany"), 9001)
    assert done.cpu_seconds < 2 * SECONDS_FOR_MANY, f"with Match it took {done.cpu_seconds} s"
    print(f"with Match: {done.seconds:.1f} s, {done.cpu_seconds:.1f} s of them work")
