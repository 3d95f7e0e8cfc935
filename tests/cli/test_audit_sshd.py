# SPDX-License-Identifier: ISC
"""keyveto audit reads the files that sshd and the guard name, in a throw-away root."""

import os
import shutil
from pathlib import Path

import pytest

import keys
from audit_machine import CONFIG, DROP_INS, places, row_of
from program import ROOT, SSHD, contains, equal, lacks, make_filter
from runs import tool

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

GUARD = "/usr/libexec/keyveto-authorized-keys"
GUARD_ARGUMENTS = "--user %u --home %h --type %t --key %k"


def test_match_user_with_another_authorizedkeysfile(world):
    judy, ken = world.account("judy"), world.account("ken")
    for account in (judy, ken):
        account.authorize(world.clean)
        account.write("elsewhere", world.bad)
    world.sshd_config("Match User judy", "  AuthorizedKeysFile elsewhere")
    findings, summaries, _ = world.findings(status=1)
    equal(places(findings), [f"{judy.home}/elsewhere:1"])
    equal(summaries["ken"]["keys"], 1)


def test_match_group_in_a_file_that_is_included(world):
    """Match Group in a file that is included, and AuthorizedKeysFile none."""
    lea, mia = world.account("lea"), world.account("mia")
    world.append("/etc/group", "locked:x:30001:mia")
    for account in (lea, mia):
        account.authorize(world.bad)
    (DROP_INS / "50-locked.conf").write_text('match group "lock*"\n\tauthorizedkeysfile none\n')
    findings, summaries, _ = world.findings(status=1)
    equal(places(findings), [f"{lea.keys_path}:1"])
    assert "mia" not in summaries, summaries


def test_with_match_blocks_the_files_are_those_that_sshd_names(world):
    """First for a client of this machine, then for clients elsewhere."""
    names = ("ann", "anna", "ab", "abc", "b", "ba", "bab", "x1", "x12", "y", "star", "z1", "z2")
    accounts = [world.account(name) for name in names]
    world.append("/etc/group", "wheel:x:30010:ann,ba,y", "web1:x:30011:anna,ba", "web22:x:30012:ab,y",
                 "deny:x:30013:y,x1")
    for index, account in enumerate(accounts):
        for number in range(9):
            account.write(f"k{number}", world.clean)
    world.sshd_config("AuthorizedKeysFile k0",
                      "Match User ann,!anna,ab*", " AuthorizedKeysFile k1 k2",
                      "Match User a*,!a*b*", " AuthorizedKeysFile k3",
                      "match GROUP=web?,!deny", " authorizedkeysfile k4",
                      "Match Group w*,!deny User *", " AuthorizedKeysFile k5",
                      'Match User "x?" Address 10.0.0.0/8', " AuthorizedKeysFile k6",
                      "Match Address 127.0.0.0/8 User x*,y", " AuthorizedKeysFile k7",
                      "Match User *a?,*b", " AuthorizedKeysFile k8",
                      "Match User s?a*r Group star", " AuthorizedKeysFile k1",
                      "Match User z*,!z2", " AuthorizedKeysFile k2",
                      "Match all", " X11Forwarding no")
    findings, _, errors = world.findings(status=0)
    contains(errors, "test where a client connects from")
    for account in accounts:
        patterns = []
        for address in ("127.0.0.1", "10.0.0.1", "192.0.2.1"):
            said = tool(SSHD, "-T", "-C", f"user={account.name},host=localhost,addr={address}", text=True)
            patterns += [line.split()[1:] for line in said.splitlines()
                         if line.lower().startswith("authorizedkeysfile ")][0]
        equal([one["file"] for one in findings if one.get("account") == account.name],
              [f"{account.home}/{pattern}" for pattern in dict.fromkeys(patterns)], account.name)


def test_sshd_is_asked_about_every_account_if_a_match_line_is_unknown(world):
    nina, olga = world.account("nina"), world.account("olga")
    nina.write("a", world.bad)
    olga.write("b", world.bad)
    world.sshd_config(r'Match User "n\ina,nina"', " AuthorizedKeysFile a", "Match User olga", " AuthorizedKeysFile b")
    equal(places(world.findings(status=1)[0]), [f"{nina.home}/a:1", f"{olga.home}/b:1"])


def test_dev_null_for_a_file_is_said_once(world):
    """With the line of sshd_config, and the accounts: it is no problem of theirs."""
    for name in ("alice", "bob"):
        world.account(name)
    world.account("mallory").authorize(world.bad)
    world.sshd_config("AuthorizedKeysFile /dev/null", "Match User mallory", "AuthorizedKeysFile .ssh/authorized_keys")
    done = world.audit(status=1)
    equal(done.stderr.count("/dev/null"), 1, done.stderr)
    number = CONFIG.read_text(encoding="utf-8").split("\n").index("AuthorizedKeysFile /dev/null") + 1
    contains(done.stderr, f"note: {CONFIG}:{number}: AuthorizedKeysFile /dev/null holds no key for: ",
             " alice bob\n", "1 listed, 3 clean\n")


def test_tokens_in_authorizedkeysfile(world):
    pat = world.account("pat")
    pat.write("k%/pat", world.bad)
    world.sshd_config("AuthorizedKeysFile %h/k%%/%u")
    equal(places(world.findings(status=1)[0]), [f"{pat.home}/k%/pat:1"])
    CONFIG.write_text("AuthorizedKeysFile '/etc/my keys/%u' k\n")
    contains(world.audit(status=2).stderr, "names a file with a blank")


def test_a_listed_user_ca_and_host_keys_with_a_host_certificate(scratch, world):
    ca, host = keys.generate(scratch), keys.generate(scratch, "rsa", 2048)
    made = keys.generate(scratch)
    certified = keys.certify(ca, made, "host")
    world.filter = make_filter(scratch / "more.pkbf", ca.key, host.key)
    cas = scratch / "user_ca"
    cas.write_text(f"# ours\n{world.clean}\n{ca.key} the old one\n")
    CONFIG.write_text(f"HostKey {host.path}\nHostKey {made.path}\nHostCertificate {certified.certificate.path}\n"
                      f"TrustedUserCAKeys {cas}\nMatch User x\n TrustedUserCAKeys {cas}\n")
    done = world.audit(status=1)
    contains(done.stdout, f"{cas}:3: listed: ssh-ed25519 256 {ca.key.fingerprint} the old one (CA)",
             f"{host.path}:1: listed: ssh-rsa 2048 {host.key.fingerprint}",
             f"{certified.certificate.path}:1: listed: ssh-ed25519 256 {ca.key.fingerprint}")
    equal(row_of(done.stdout, "(user CA keys)"), [1, 2, 1, 0, 0, 0])
    equal(row_of(done.stdout, "(host keys)"), [3, 4, 2, 0, 0, 0])


def test_host_key_with_a_passphrase_or_without_its_public_file(scratch, world):
    plain, locked, alone = (keys.generate(scratch) for _ in range(3))
    tool("ssh-keygen", "-q", "-p", "-N", "secret", "-f", locked.path)
    alone.key.path.unlink()
    world.filter = make_filter(scratch / "more.pkbf", locked.key, plain.key)
    CONFIG.write_text("".join(f"HostKey {one.path}\n" for one in (plain, locked, alone)))
    done = world.audit(status=1)
    equal(row_of(done.stdout, "(host keys)")[1:], [3, 2, 0, 0, 0], done.stderr)


@pytest.mark.parametrize("home", ("srv-of-keyveto/app", "x-of-keyveto", "~", "./srv-of-keyveto/../y-of-keyveto"))
def test_a_home_that_is_no_absolute_path_is_taken_from_the_root(world, home):
    """As sshd does, and wherever the audit is called."""
    ann = world.account("ann")
    place = Path("/", home)
    Path("/srv-of-keyveto").mkdir(exist_ok=True)
    shutil.move(ann.home, place)
    text = Path("/etc/passwd").read_text(encoding="utf-8")
    Path("/etc/passwd").write_text(text.replace(f":{ann.home}:", f":{home}:"), encoding="utf-8")
    ann.home = place
    ann.authorize(world.bad)
    decoy = world.folder / home / ".ssh/authorized_keys"
    decoy.parent.mkdir(parents=True)
    decoy.write_text(f"{world.clean}\n", encoding="ascii")
    try:
        for folder in (world.folder, "/", "/usr"):
            findings, summaries, said = world.findings(status=1, cwd=folder)
            equal((places(findings), summaries["ann"]["keys"]), ([f"/{home}/.ssh/authorized_keys:1"], 1), said)
            equal(world.findings("--user", "ann", status=1, cwd=folder)[1]["ann"]["listed"], 1)
    finally:
        shutil.rmtree(place)


def test_a_missing_trustedusercakeys_file_is_a_problem(world):
    world.sshd_config("TrustedUserCAKeys /etc/ssh/none-such")
    contains(world.audit(status=2).stderr, "keyveto: /etc/ssh/none-such: No such file or directory")


def test_behind_the_guard_the_files_of_its_keyveto_conf_count(scratch, world):
    """If sshd runs the guard, AuthorizedKeysFile of keyveto.conf names the files."""
    quinn = world.account("quinn")
    quinn.authorize(world.clean)
    quinn.write("guarded", world.bad)
    conf = scratch / "keyveto.conf"
    conf.write_text("AuthorizedKeysFile guarded\n")
    world.sshd_config("AuthorizedKeysFile none", "AuthorizedKeysCommandUser root",
                      f"AuthorizedKeysCommand {GUARD} --config {conf} {GUARD_ARGUMENTS}")
    findings, _, errors = world.findings(status=1)
    equal(places(findings), [f"{quinn.home}/guarded:1"])
    lacks(errors, "note", "warning: AuthorizedKeysFile")
    conf.unlink()
    contains(world.audit(status=2).stderr, f"keyveto: {conf}: No such file or directory")


def test_behind_the_guard_its_arguments_come_before_keyveto_conf(scratch, world):
    tess = world.account("tess")
    tess.authorize(world.bad)
    tess.write("guarded", world.bad)
    tess.write("k*", world.bad)
    tess.write("kk", world.bad)
    conf = scratch / "keyveto.conf"
    conf.write_text("AuthorizedKeysFile .ssh/authorized_keys\n")

    base = CONFIG.read_text()

    def found(*arguments):
        command = " ".join((GUARD, "--config", str(conf), GUARD_ARGUMENTS, *arguments))
        CONFIG.write_text(f"{base}AuthorizedKeysFile none\nAuthorizedKeysCommandUser root\n"
                          f"AuthorizedKeysCommand {command}\n")
        return places(world.findings(status=1)[0])
    equal(found("--file", "guarded"), [f"{tess.home}/guarded:1"])
    equal(found("--file", "%h/k*", "--wildcards", "no"), [f"{tess.home}/k*:1"])
    equal(found("--file", "%h/k*", "--wildcards", "yes"), [f"{tess.home}/k*:1", f"{tess.home}/kk:1"])


def test_a_file_that_is_read_with_and_without_wildcards_counts_once(world):
    """For an account whose home has a wildcard, these are two files."""
    uma, od = world.account("uma"), world.account("od", "/home/o[d]")
    other = world.account("other", "/home/od", uid=od.uid)
    for account in (uma, od, other):
        account.authorize(world.bad)
    guard = f"AuthorizedKeysCommand {GUARD} {GUARD_ARGUMENTS} --file .ssh/authorized_keys --wildcards"
    world.sshd_config("AuthorizedKeysFile none", "AuthorizedKeysCommandUser root",
                      "Match Address 192.0.2.1", f"{guard} no", "Match all", f"{guard} yes")
    equal(sorted(places(world.findings(status=1)[0])), sorted(f"{one.keys_path}:1" for one in (uma, od, other, other)))


def test_behind_the_guard_the_default_files_count(world):
    """keyveto.conf sets no AuthorizedKeysFile."""
    rita = world.account("rita")
    rita.authorize(world.bad)
    world.sshd_config("AuthorizedKeysFile none", "AuthorizedKeysCommandUser root",
                      f"AuthorizedKeysCommand {GUARD} {GUARD_ARGUMENTS}")
    equal(places(world.findings(status=1)[0]), [f"{rita.keys_path}:1"])


def test_files_and_commands_beside_the_guard_are_pointed_out(world):
    """A warning names the files that sshd reads without the guard, a note the commands."""
    world.account("sam").authorize(world.clean)
    base = CONFIG.read_text()
    world.sshd_config("AuthorizedKeysCommandUser root", f"AuthorizedKeysCommand {GUARD} {GUARD_ARGUMENTS}")
    contains(world.audit(status=0).stderr, "warning: AuthorizedKeysFile is not none", "without asking the guard")
    for guard, command in (("", "/usr/bin/sss_ssh_authorizedkeys %u"),
                           (f"{GUARD} {GUARD_ARGUMENTS} -- ", "/usr/bin/userdbctl %u")):
        CONFIG.write_text(f"{base}AuthorizedKeysCommandUser root\nAuthorizedKeysCommand {guard}{command}\n")
        contains(world.audit(status=0).stderr,
                 f"note: sshd also asks AuthorizedKeysCommand {command}: the keys it prints")


def test_without_an_sshd_keyveto_conf_tells_the_files(scratch, world):
    tina = world.account("tina")
    tina.write("mine", world.bad)
    conf = scratch / "keyveto.conf"
    conf.write_text("AuthorizedKeysFile mine\n")
    findings, summaries, errors = world.findings("--sshd", "/none/sshd", "--config", conf, status=1)
    equal(places(findings), [f"{tina.home}/mine:1"])
    equal(summaries["host keys"]["keys"], 3)
    contains(errors, "warning: /none/sshd: No such file or directory: the accounts' files are taken from keyveto.conf")


def test_without_an_sshd_the_host_key_of_openssh_10_6_is_read_too(scratch, world):
    """ssh-keygen -A of OpenSSH 10.6 makes this host key."""
    key = keys.PublicKey(ROOT / "testdata/openssh-10.6/composite.pub")
    place = Path("/etc/ssh/ssh_host_mldsa44_ed25519_key.pub")
    before = world.findings("--sshd", "/none/sshd", status=0)[1]["host keys"]["keys"]
    shutil.copy(key.path, place)
    try:
        bad = make_filter(scratch / "composite.pkbf", key)
        findings, summaries, _ = world.findings("--sshd", "/none/sshd", "--filter", bad, status=1)
    finally:
        place.unlink()
    equal(summaries["host keys"]["keys"], before + 1)
    equal(places(findings), [f"{place}:1"])
    equal([one["fingerprint"] for one in findings if one["verdict"] == "listed"],
          ["SHA256:YVP+is6TTsDTh/h4QOxOCMCDm7ywita4ZM4CT4mO6pU"])


def test_an_sshd_that_gives_no_answer_is_a_problem(world):
    world.account("uma").authorize(world.clean)
    world.sshd_config("NonsenseKeyword yes")
    done = world.audit(status=2)
    contains(done.stderr, f"keyveto: {SSHD}: sshd -T: ", "NonsenseKeyword", "until 'sshd -T' works here")
    equal(row_of(done.stdout, "uma")[1], 1)


def test_accounts_are_asked_about_at_the_port(world):
    """sshd is asked with the port and the address where it listens."""
    uta = world.account("uta")
    uta.write("there", world.bad)
    for place, match in (("Port 2222", "LocalPort 2222"), ("ListenAddress 192.0.2.7:2222", "LocalPort 2222"),
                         ("ListenAddress 192.0.2.7", "LocalAddress 192.0.2.7"),
                         ("ListenAddress [2001:db8::7]:22", "LocalAddress 2001:db8::/32")):
        CONFIG.write_text(f"{place}\nMatch {match}\n AuthorizedKeysFile there\n")
        equal(places(world.findings(status=1)[0]), [f"{uta.home}/there:1"], place)
    # Another port may lead here, or another sshd may read this file.
    CONFIG.write_text("Match LocalPort 2222\n AuthorizedKeysFile there\n")
    equal(places(world.findings(status=1)[0]), [f"{uta.home}/there:1"])
    CONFIG.write_text("Port 2222\nMatch LocalPort 2222\n AuthorizedKeysFile none\n")
    uta.authorize(world.bad)
    equal(places(world.findings(status=1)[0]), [f"{uta.keys_path}:1"])


@pytest.mark.long
def test_an_sshd_that_would_wait_for_a_fifo_is_not_asked(scratch, world):
    """An sshd that hangs is asked only once."""
    for number in range(60):
        world.account(f"u{number}").authorize(world.clean)
    fifo = scratch / "fifo"
    os.mkfifo(fifo)
    CONFIG.write_text(f"HostKey {fifo}\n")
    done = world.audit(status=2)
    contains(done.stderr, f"{CONFIG}:1: HostKey {fifo} is a FIFO", "the accounts' files are taken from keyveto.conf")
    assert done.seconds < 9, f"{done.seconds} seconds"
    CONFIG.write_text("Match User *0\n AuthorizedKeysFile a\n"
                      + "".join(f"Match User u{number}\n AuthorizedKeysFile b\n" for number in range(60)))
    sshd, asked = scratch / "sshd", scratch / "asked"
    sshd.write_text(f'#!/bin/sh\ncase "$*" in *user=u*) echo >>{asked}; exec sleep 1000;; esac\nexec {SSHD} "$@"\n')
    sshd.chmod(0o755)
    done = world.audit("--sshd", sshd, "--sshd-config", CONFIG, status=2)
    contains(done.stderr, "no answer within 10 seconds")
    assert len(asked.read_text()) <= 16, "sshd was asked again and again"


def test_sshd_config_names_another_configuration(scratch, world):
    vera = world.account("vera")
    vera.write("mine", world.bad)
    config = scratch / "sshd_config"
    config.write_text("AuthorizedKeysFile mine\n")
    equal(places(world.findings("--sshd-config", config, status=1)[0]), [f"{vera.home}/mine:1"])
    # sshd is started in /.
    equal(places(world.findings("--sshd-config", config.name, status=1, cwd=scratch)[0]), [f"{vera.home}/mine:1"])
    contains(world.audit("--sshd", "sshd", status=2).stderr, "absolute path")
