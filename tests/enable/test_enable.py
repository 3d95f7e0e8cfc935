# SPDX-License-Identifier: ISC
"""Logins before and after `keyveto enable` and `disable`.

They run in a throw-away copy of this machine, whose own sshd listens on port 22 of a network of its own.
"""

import contextlib
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import keys
import openssh
import product
from clients import Clients
from logbook import Logbook
from machine import Machine, write_as_root
from patience import PATIENCE
from server import GUARD, SSHD
from stock import StockServer, snapshot

pytestmark = pytest.mark.throwaway

ROOT = Path(__file__).resolve().parent.parent.parent
CONFIG = Path("/etc/ssh/sshd_config")
STACK = Path("/etc/pam.d/sshd")
OTHER = Path("/etc/pam.d/other")
CONF = Path("/etc/keyveto/keyveto.conf")
STATE = Path("/var/lib/keyveto/sshd-state")
WATCHED = ("/etc/ssh", "/etc/pam.d", "/etc/keyveto", "/var/lib/keyveto")
STOCK_HEAD = "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nKbdInteractiveAuthentication no\n"


def module_path():
    return next(Path("/usr/lib").glob("*/security/pam_keyveto.so"))


class World:
    def __init__(self, machine, log, scratch, keyveto):
        self.machine, self.log, self.scratch, self.keyveto = machine, log, scratch, keyveto
        self.server, self.clients = StockServer(), Clients(scratch)
        self.clean, self.leaked = keys.generate(scratch), keys.generate(scratch)
        keys.write_filter("/var/lib/keyveto/filter.pkbf", [self.leaked.key])
        shutil.copy(ROOT / "etc/keyveto.conf", "/etc/keyveto/keyveto.conf")
        self.config, self.accounts = CONFIG.read_text(encoding="utf-8"), []

    def account(self, *identities):
        """An account with these keys, up to the end of the test."""
        self.accounts.append(self.machine.add_account())
        self.accounts[-1].authorize(*(one.key for one in identities))
        return self.accounts[-1]

    def run(self, *words, status=0):
        done = subprocess.run([self.keyveto, "sshd", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        assert done.returncode == status, \
            f"keyveto sshd {words} ended with {done.returncode}, not {status}:\n" f"{done.stdout}{done.stderr}"
        if "--reload" in words and status == 0:
            self.server.wait()
        return done.stdout + done.stderr

    def expect(self, when, account, identity, enters):
        outcome = self.clients.login(self.server, account, [identity])
        assert outcome.entered == enters, f"{when}: {outcome}"
        if not enters:
            assert outcome.refused, f"{when}: not refused, but {outcome}"
        self.ok(f"{when}: {'in' if enters else 'out'}")

    def expect_session(self, when, account, identity, enters):
        """As expect(). After a refusal by PAM, the output of the client does not matter."""
        outcome = self.clients.login(self.server, account, [identity])
        assert outcome.entered == enters, f"{when}: {outcome}"
        self.ok(f"{when}: {'in' if enters else 'out'}")

    def expect_logged(self, account, **pairs):
        self.log.expect(account, **pairs)
        self.ok(f"logged: {pairs}")

    @staticmethod
    def ok(what):
        """pytest shows this output if the test fails."""
        print(f"ok     {what}", flush=True)

    def configure(self, config):
        """Restarts sshd with this configuration, without keyveto."""
        CONFIG.write_text(config, encoding="utf-8")
        self.server.restart()


@pytest.fixture(scope="module", name="world")
def fixture_world(build):
    """The machine with keyveto installed and its own sshd running."""
    try:
        product.check_machine(build)
    except product.CannotRun as reason:
        pytest.fail(str(reason), pytrace=False)
    machine, scratch = Machine(), product.make_scratch()
    with contextlib.closing(Logbook()) as log:
        product.install(machine, build, scratch)
        for path in Path("/etc/ssh/sshd_config.d").glob("*"):
            path.unlink()
        world = World(machine, log, scratch, build / "keyveto")
        world.server.start()
        yield world
        StockServer.stop()


@pytest.fixture(name="w")
def fixture_w(world):
    """The world. After the test, keyveto must be disabled. Then sshd gets its own configuration back."""
    yield world
    left = STATE.exists()
    if left:
        world.run("disable")
    world.configure(world.config)
    while world.accounts:
        world.accounts.pop().authorize()
    assert not left, "disable leaves its state behind"


def test_debians_own_configuration_from_rehearsal_to_the_way_back(w):
    alice, mallory = w.account(w.clean), w.account(w.leaked)
    before = snapshot(*WATCHED)
    w.expect("before, a clean key", alice, w.clean, True)
    w.expect("before, a leaked key", mallory, w.leaked, True)
    assert f": {mallory.name}\n" in w.run("enable", "--reload", status=1), "nobody is named"
    assert snapshot(*WATCHED) == before, "a rehearsal changed something"
    w.expect("after the rehearsal, a leaked key", mallory, w.leaked, True)
    w.run("status", status=1)
    w.run("enable", "--warn", "--reload")
    w.expect("--warn, a clean key", alice, w.clean, True)
    w.expect("--warn, a leaked key", mallory, w.leaked, True)
    w.expect_logged(mallory, verdict="listed", action="warn", via="guard", authorized="yes")
    w.expect_logged(mallory, verdict="listed", action="warn", via="pam")
    w.run("enable", "--yes")
    w.expect("enforced, a clean key", alice, w.clean, True)
    w.expect("enforced, a leaked key", mallory, w.leaked, False)
    w.expect_logged(mallory, verdict="listed", action="deny", via="guard", authorized="yes")
    w.run("status", status=0)
    w.run("disable", "--reload")
    w.expect("disabled, a leaked key", mallory, w.leaked, True)
    assert snapshot(*WATCHED) == before, "disable does not restore the files"
    w.ok("everything is what it was")


# For each keyword of keyveto.conf(5) the value that lets in the fewest keys.
STRICT = {
    "AllowKey": "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU until=2020-01-01", "AuthorizedKeysFile": "none",
    "AuthorizedKeysFileWildcards": "yes", "Blocklist": "/var/lib/keyveto/own.dat", "DenyKey": "{clean}",
    "Filter": "/var/lib/keyveto/filter.pkbf", "Message": "no", "OnError": "deny", "OnHit": "deny",
    "OnProbable": "deny", "OnUnsupported": "deny", "StrictModes": "yes", "SyslogFacility": "AUTHPRIV",
}


@pytest.mark.long
def test_a_rehearsal_refuses_nobody_whatever_keyveto_conf_says(w):
    """enable --warn: keys of a filter, of a list, of an unknown type, and keys without a verdict get in as before."""
    manual = (ROOT / "man/keyveto.conf.5").read_text(encoding="utf-8")
    assert sorted(STRICT) == sorted(set(re.findall(r"^\.It Cm ([A-Z]\w+)", manual, re.MULTILINE))), "the keywords"
    conf = CONF.read_text(encoding="utf-8")
    clean, probable, certain = w.clean, w.leaked, keys.generate(w.scratch)
    own, its_filter = Path(STRICT["Blocklist"]), Path(STRICT["Filter"])
    keys.write_blocklist(own, [certain.key])
    listed = {path: path.read_bytes() for path in (own, its_filter)}
    alice = w.account(clean, probable, certain)
    # Debian's sshd accepts a file that the account's own group may write; StrictModes yes would not.
    alice.authorized_keys.chmod(0o664 if openssh.strictmodes() == "private-group" else 0o644)
    w.configure(STOCK_HEAD)
    for keyword, value in [*STRICT.items(), ("all of them", None)]:
        lines = "".join(f"{one} {STRICT[one]}\n" for one in (STRICT if value is None else (
            "Blocklist", "Filter", keyword))).format(clean=clean.key.fingerprint)
        CONF.write_text(conf + lines, encoding="utf-8")
        w.run("enable", "--warn", *(("--reload",) if value is None else ()))
        for what, identity, key_type in (("a clean key", clean, None), ("a key of a filter", probable, None),
                                         ("a key of a list", certain, None),
                                         ("an unknown type", clean, "ssh-of-the-future@example.com")):
            assert guard_prints(alice, identity.key, key_type), f"--warn with {keyword}: {what} is refused"
        for path in listed:
            path.write_bytes(b"broken")
        assert guard_prints(alice, clean.key), f"--warn with {keyword}: a key without a verdict is refused"
        if value is None:
            w.expect("--warn, a broken filter", alice, clean, True)
        for path, content in listed.items():
            path.write_bytes(content)
        if value is None:
            for what, identity in (("of a filter", probable), ("of a list", certain)):
                w.expect(f"--warn, a key {what}", alice, identity, True)
                w.expect_logged(alice, verdict="listed", action="warn", via="pam")
        w.run("disable", *(("--reload",) if value is None else ()))
        assert CONF.read_text(encoding="utf-8") == conf + lines, "keyveto.conf is not restored"
    CONF.write_text(conf, encoding="utf-8")
    own.unlink()


BY_HAND = (f"AuthorizedKeysFile none\nAuthorizedKeysCommand {GUARD} --user %u --home %h --type %t --key %k\n"
           "AuthorizedKeysCommandUser root\n")


def test_a_rehearsal_lets_in_nobody_whom_a_guard_by_hand_refuses(w):
    """enable --warn refuses there. Each of its two advices lets in who got in before, and nobody else."""
    alice, mallory = w.account(w.clean), w.account(w.leaked)
    w.configure(STOCK_HEAD + BY_HAND)
    before = snapshot(*WATCHED)

    def same_logins(when):
        w.expect(f"{when}, a clean key", alice, w.clean, True)
        w.expect(f"{when}, a leaked key", mallory, w.leaked, False)

    same_logins("by hand")
    said = w.run("enable", "--warn", "--reload", status=2)
    assert f"{CONFIG}:5: this line is not one of keyveto's, and its guard goes by {CONF}: " in said, said
    assert snapshot(*WATCHED) == before, "a refusal changed something"
    same_logins("after the refusal")
    # First: without --warn.
    assert f": {mallory.name}\n" in w.run("enable", "--reload", status=1), "nobody is named"
    mallory.authorize()
    w.run("enable", "--reload")
    mallory.authorize(w.leaked.key)
    same_logins("enforced")
    w.run("disable", "--reload")
    assert snapshot(*WATCHED) == before, "disable does not restore the files"
    # Then: a keyveto.conf of its own for the guard.
    copy, words, place = re.search(r": (cp -pi \S+ \S+); write (--config \S+) behind (\S+),", said).groups()
    subprocess.run(copy.split(), stdin=subprocess.DEVNULL, check=True)
    w.configure(CONFIG.read_text(encoding="utf-8").replace(place, f"{place} {words}"))
    before = snapshot(*WATCHED)
    same_logins("with its own keyveto.conf")
    w.run("enable", "--warn", "--reload")
    same_logins("--warn")
    w.run("disable", "--reload")
    same_logins("disabled")
    assert snapshot(*WATCHED) == before, "disable does not restore the files"
    Path(words.split()[1]).unlink()


def test_a_rehearsal_goes_on_where_a_guard_by_hand_refuses_nobody(w):
    """The way back is open, too."""
    conf = CONF.read_text(encoding="utf-8")
    mallory = w.account(w.leaked)
    CONF.write_text(conf + "OnHit warn\nOnError allow\n", encoding="utf-8")
    w.configure(STOCK_HEAD + BY_HAND)
    before = snapshot(*WATCHED)
    w.expect("by hand, a leaked key", mallory, w.leaked, True)
    for words in (("enable", "--warn"), ("enable", "--warn"), ("disable",)):
        w.run(*words, "--reload")
        w.expect(f"{' '.join(words)}, a leaked key", mallory, w.leaked, True)
    assert snapshot(*WATCHED) == before, "disable does not restore the files"
    CONF.write_text(conf, encoding="utf-8")


def guard_prints(account, key, key_type=None):
    """Whether the guard, as sshd -T shows it, prints the account's file for the key."""
    dump = subprocess.run([SSHD, "-T", "-C", f"user={account.name},host=a,addr=192.0.2.1,laddr=192.0.2.2,lport=22"],
                          capture_output=True, text=True, check=True).stdout
    tokens = {"u": account.name, "h": str(account.home), "t": key_type or key.type, "k": key.blob, "C": "a 1 b 2"}
    command = re.search(r"^authorizedkeyscommand (.+)$", dump, re.MULTILINE | re.IGNORECASE)[1]
    done = subprocess.run([re.sub("%(.)", lambda found: tokens[found[1]], word) for word in command.split()],
                          capture_output=True, check=False)
    return (done.returncode, done.stdout) == (0, account.authorized_keys.read_bytes())


def test_pam_alone_needs_no_reload(w):
    alice, mallory = w.account(w.clean), w.account(w.leaked)
    w.configure(STOCK_HEAD)
    w.run("enable", "--pam", "--yes")
    w.expect("PAM alone, a clean key", alice, w.clean, True)
    w.expect("PAM alone, a leaked key", mallory, w.leaked, False)
    w.expect_logged(mallory, verdict="listed", action="deny", via="pam")
    w.run("disable")
    w.expect("PAM taken out, a leaked key", mallory, w.leaked, True)


@pytest.mark.long
def test_whom_pam_refuses_stays_out_in_stacks_that_the_modules_line_would_decide(w):
    """In a stack that the module's line would decide, enable leaves PAM out, and PAM refuses whom it refused before."""
    alice, bob = w.account(w.clean, w.leaked), w.account(w.clean, w.leaked)
    w.configure(STOCK_HEAD)
    stock_stack, other = STACK.read_text(encoding="utf-8"), OTHER.read_text(encoding="utf-8")
    head = "@include common-auth\n@include common-account\n"
    for title, lines, others, enters in (
            ("a sufficient line for one account",
             f"session sufficient pam_succeed_if.so quiet user = {alice.name}\n", other, True),
            ("no session line, and other refuses", "", "session required pam_deny.so\n", False)):
        STACK.write_text(head + lines, encoding="utf-8")
        OTHER.write_text(others, encoding="utf-8")
        before = snapshot(*WATCHED)
        for options in (None, ("--pam", "--warn"), ("--pam", "--yes"), ("--warn",), ("--guard", "--warn")):
            refused = options is not None and "--pam" in options
            if options is not None:
                said = w.run("enable", *options, *(() if refused else ("--reload",)), status=2 if refused else 0)
                assert "the PAM module is left out" in said or options != ("--warn",), said
                assert not refused or snapshot(*WATCHED) == before, "a refusal changed something"
            when = f"{title}, {'before' if options is None else ' '.join(options)}"
            w.expect_session(when, alice, w.clean, enters)
            w.expect_session(when, bob, w.clean, False)
        w.run("disable", "--reload")
        assert snapshot(*WATCHED) == before, "disable does not restore the files"
    STACK.write_text(stock_stack, encoding="utf-8")
    OTHER.write_text(other, encoding="utf-8")


def test_a_line_moved_out_of_the_marks_goes_on_logging_only(w):
    """After a PAM line was moved out of the marks, keys that were only logged are still only logged."""
    mallory = w.account(w.leaked)
    w.configure(STOCK_HEAD)
    stack, conf = STACK.read_text(encoding="utf-8"), CONF.read_text(encoding="utf-8")
    w.run("enable", "--pam", "--warn")
    line = "session requisite pam_keyveto.so disconnect=always\n"
    enabled = STACK.read_text(encoding="utf-8")
    assert line in enabled, enabled
    STACK.write_text(line + enabled.replace(line, ""), encoding="utf-8")
    w.expect("a line moved by hand, --warn, a leaked key", mallory, w.leaked, True)
    assert f"{STACK}:1: pam_keyveto.so stays" in w.run("disable", status=2), "the line is not named"
    w.expect("a line moved by hand, after disable, a leaked key", mallory, w.leaked, True)
    # disable gives this advice: then the lines in keyveto.conf belong to the administrator.
    kept = [one for one in CONF.read_text(encoding="utf-8").splitlines(keepends=True)
            if not one.startswith(("# BEGIN keyveto", "# END keyveto"))]
    CONF.write_text("".join(kept), encoding="utf-8")
    assert f"{STACK}:1: pam_keyveto.so stays" in w.run("disable"), "the line is not named"
    w.expect("a line moved by hand, the marks deleted, a leaked key", mallory, w.leaked, True)
    STACK.write_text(stack, encoding="utf-8")
    CONF.write_text(conf, encoding="utf-8")


def test_what_another_sshd_only_logs_is_still_only_logged_after_disable(w):
    """With another sshd's own lines, written after enable --warn, disable still lets in what is only logged there."""
    mallory = w.account(w.leaked)
    w.configure(STOCK_HEAD)
    alias, service, config = w.scratch / "sshd2", Path("/etc/pam.d/sshd2"), Path("/etc/ssh/sshd2")
    alias.symlink_to(SSHD)
    base = "PasswordAuthentication no\nUsePAM yes\n"
    stock_stack = STACK.read_text(encoding="utf-8")
    for which, lines, module in (("module", "", "session requisite pam_keyveto.so\n"), ("guard", "", "")):
        w.run("enable", "--warn", "--reload")
        if which == "guard":
            drop_in = Path("/etc/ssh/sshd_config.d/00-keyveto.conf").read_text(encoding="utf-8")
            lines = "".join(line for line in drop_in.splitlines(keepends=True) if not line.startswith("#"))
        service.write_text(module + stock_stack, encoding="utf-8")
        config.write_text(base + lines, encoding="utf-8")
        with OtherSshd(w, "-f", config, program=alias) as other:
            for when, status in ("--warn", None), ("disable", 2):
                if status is not None:
                    said = w.run("disable", "--reload", status=status)
                    assert "refuse the keys that are only logged now" in said, said
                assert w.clients.login(other, mallory, [w.leaked]).entered, f"{when}, another sshd's {which}: out"
                w.ok(f"{when}, another sshd's {which}: in")
        for path in (service, config):
            path.unlink()
        w.run("disable", "--reload")
    alias.unlink()


def test_another_authorizedkeyscommand_goes_on_behind_the_guard(w):
    """The guard executes another AuthorizedKeysCommand, which prints both keys for every account."""
    alice = w.machine.add_account()
    printed = write_as_root(w.scratch / "printed", f"{w.clean.key}\n{w.leaked.key}\n")
    lines = f"AuthorizedKeysCommand /bin/cat {printed}\nAuthorizedKeysCommandUser nobody\n"
    w.configure(f"{STOCK_HEAD}AuthorizedKeysFile none\n{lines}")
    w.expect("a command, a leaked key", alice, w.leaked, True)
    # The leaked key is one of root's, too.
    w.run("enable", "--guard", "--reload", status=1)
    w.run("enable", "--guard", "--yes", "--reload")
    w.expect("in front of a command, a clean key", alice, w.clean, True)
    w.expect("in front of a command, a leaked key", alice, w.leaked, False)
    w.expect_logged(alice, verdict="listed", action="deny", via="guard")
    w.run("disable", "--reload")
    w.expect("a command again, a leaked key", alice, w.leaked, True)
    bob = w.account(w.leaked)
    printed.write_text(f"{w.clean.key}\n", encoding="ascii")
    w.configure(STOCK_HEAD + lines)
    w.run("enable", "--yes", "--reload")
    w.expect("a command beside files, its key", bob, w.clean, True)
    w.expect("a command beside files, a leaked key of the files", bob, w.leaked, False)
    w.expect_logged(bob, verdict="listed", action="deny", via="pam")
    w.run("disable", "--reload")


def test_files_beside_a_command_without_pam_stay_as_they_are(w):
    """enable refuses: a guard that printed the files before the command would make them depend on the command."""
    alice, head = w.account(w.clean), STOCK_HEAD.replace("UsePAM yes", "UsePAM no")
    # Without PAM, sshd refuses an account whose password is locked by a "!".
    subprocess.run(["usermod", "-p", "*", alice.name], check=True)
    program = write_as_root(w.scratch / "directory", f"#!/bin/sh\ncat {alice.authorized_keys}\nexit 1\n", 0o755)
    lines = f"AuthorizedKeysCommand {program}\nAuthorizedKeysCommandUser root\n"
    w.configure(head + lines)
    w.expect("files, and a command that fails", alice, w.clean, True)
    refused(w, "and reads .ssh/authorized_keys", "With UsePAM yes it can")
    w.expect("after what was refused", alice, w.clean, True)
    # The same lines from the command alone, as a guard in front of it would print them.
    w.configure(f"{head}AuthorizedKeysFile none\n{lines}")
    w.expect("the files' lines from a command that fails", alice, w.clean, False)


def trust_ca(w):
    """A CA, and the line TrustedUserCAKeys that names it."""
    ca = keys.generate(w.scratch)
    trusted = write_as_root(w.scratch / f"{ca.path.name}.trusted", f"{ca.key}\n")
    return ca, f"TrustedUserCAKeys {trusted}\n"


def test_trustedusercakeys_is_guarded_by_the_module_alone(w):
    """With TrustedUserCAKeys only the module checks keys."""
    alice = w.machine.add_account()
    ca, line = trust_ca(w)
    good, bad = (keys.certify(ca, one, alice.name) for one in (w.clean, w.leaked))
    other = keys.certify(ca, w.clean, "somebody")
    w.configure(STOCK_HEAD + line)
    before = snapshot("/etc/ssh")
    w.expect("a certificate, a leaked key", alice, bad, True)
    assert "the guard is left out: TrustedUserCAKeys is set" in w.run("enable", "--reload"), "nobody is told"
    assert snapshot("/etc/ssh") == before, "sshd's files were changed"
    w.run("status", status=0)
    w.expect("guarded certificates, a clean key", alice, good, True)
    w.expect("guarded certificates, a clean key for somebody else", alice, other, False)
    w.expect("guarded certificates, a leaked key", alice, bad, False)
    w.expect_logged(alice, verdict="listed", action="deny", via="pam", disconnected="yes")
    w.run("disable")    # sshd's own files were not changed
    w.expect("certificates again, a leaked key", alice, bad, True)


def test_a_certificate_stays_restricted_by_its_cert_authority_line(w):
    """A certificate is restricted by its cert-authority line although TrustedUserCAKeys accepts it too."""
    alice = w.account()
    ca, line = trust_ca(w)
    mine = keys.certify(ca, w.clean, alice.name)
    alice.authorize(f'cert-authority,restrict,command="echo forced" {ca.key}')
    w.configure(STOCK_HEAD + line)

    def runs(when):
        outcome = w.clients.login(w.server, alice, [mine])
        assert (outcome.status, outcome.stdout) == (0, "forced\n"), f"{when}: {outcome}"
        w.ok(f"a forced command of a cert-authority line, {when}")
    runs("before")
    for options in (("--warn",), (), ("--pam",)):
        w.run("enable", *options, "--reload")
        runs(f"enable {' '.join(options)}")
        w.run("disable")
    # --yes consents to refusals. It must not consent to more rights for somebody.
    before = snapshot(*WATCHED)
    for options in (("--guard",), ("--guard", "--yes"), ("--guard", "--pam", "--yes"), ("--guard", "--warn", "--yes")):
        said = w.run("enable", *options, "--reload", status=2)
        assert "loses the restrictions of its cert-authority line; use --pam, or leave out --guard" in said, said
        assert snapshot(*WATCHED) == before, f"enable {options} changed something"
        runs(f"enable {' '.join(options)}, which goes no further")
    w.configure(STOCK_HEAD.replace("UsePAM yes", "UsePAM no") + line)
    said = w.run("enable", "--guard", "--yes", status=2)
    assert "UsePAM is no" in said and "use --pam" not in said, f"advice that enable refuses: {said}"


def test_certificates_of_accounts_with_blanks_in_their_names_stay_valid(w):
    """A principals command would print these names as something other than a principal."""
    ca, line = trust_ca(w)
    alice = w.machine.add_account()
    odd = [w.machine.add_account(name) for name in ("restrict alice", "john smith")]
    w.configure(STOCK_HEAD + line)
    for when in ("before", "--warn", "enabled", "disabled"):
        if when in ("--warn", "enabled"):
            w.run("enable", *(("--warn",) if when == "--warn" else ()), "--reload")
        elif when == "disabled":
            w.run("disable")
        for account in odd:
            own = keys.certify(ca, w.clean, account.name)
            w.expect(f"{account.name}, {when}, its own certificate", account, own, True)
        w.expect(f"{odd[0].name}, {when}, the certificate of alice", odd[0], keys.certify(ca, w.clean, "alice"), False)
        w.expect(f"another account, {when}", alice, keys.certify(ca, w.clean, alice.name), True)


def test_a_command_without_arguments_gets_the_name_as_from_sshd(w):
    """AuthorizedKeysCommand without arguments, as in SSSD's manual."""
    alice, bob = w.machine.add_account(), w.account(w.clean)
    program = write_as_root(w.scratch / "keys_of", f'#!/bin/sh\n[ "$#" = 1 ] && [ "$1" = {alice.name} ] && echo '
                            f'"{w.clean.key}\n{w.leaked.key}"\nexit 0\n', 0o755)
    w.configure(f"{STOCK_HEAD}AuthorizedKeysCommand {program}\nAuthorizedKeysCommandUser nobody\n")
    for when, options in (("before", None), ("--warn", ("--warn",)), ("enabled", ()), ("disabled", None)):
        if options is not None:
            w.run("enable", *options, "--reload")
        elif when == "disabled":
            w.run("disable", "--reload")
        w.expect(f"a command without arguments, {when}, its key", alice, w.clean, True)
        w.expect(f"a command without arguments, {when}, a leaked key", alice, w.leaked, when != "enabled")
        w.expect(f"a command without arguments, {when}, a key in a file", bob, w.clean, True)
        if when == "enabled":
            doctor = subprocess.run([w.keyveto, "doctor"], capture_output=True, text=True, check=False)
            assert "AuthorizedKeysFile none" not in doctor.stdout and "broken" not in doctor.stdout, doctor.stdout
            w.run("status", status=0)
    # The guard would refuse to execute this command, so only the module checks its keys.
    program.chmod(0o775)
    assert "the guard is left out: AuthorizedKeysCommand" in w.run("enable", "--yes", "--reload"), "nobody is told"
    w.expect("a command that root's group may write, its key", alice, w.clean, openssh.strictmodes() == "private-group")
    w.expect("a command that root's group may write, a leaked key", alice, w.leaked, False)
    w.run("disable")


def test_what_cannot_work_is_found_before_the_first_byte_is_written(w):
    """enable finds a guard, a module or a command that cannot work before it writes anything."""
    w.account(w.clean)
    w.configure(STOCK_HEAD)
    before = snapshot(*WATCHED)
    for path, words in ((Path(GUARD), "cannot be run by root"), (module_path(), "PAM opens no session with it")):
        content, mode = path.read_bytes(), path.stat().st_mode & 0o7777
        path.write_bytes(b"\x7fELF nothing\n")
        said = w.run("enable", "--warn", status=2)
        assert words in said, f"{words!r} is not said: {said}"
        assert snapshot(*WATCHED) == before, f"{path} cannot work, and something was changed"
        path.write_bytes(content)
        path.chmod(mode)
        w.ok(f"{path.name}, which cannot work, is found before anything is written")
    path = module_path()
    content = path.read_bytes()
    # This module loads, and refuses every key.
    shutil.copy(path.with_name("pam_deny.so"), path)
    assert "PAM opens no session with it" in w.run("enable", "--pam", "--warn", status=2), "a module that refuses"
    path.write_bytes(content)
    w.ok("a module that refuses a clean key is found before anything is written")
    w.configure(f"{STOCK_HEAD}AuthorizedKeysFile none\nAuthorizedKeysCommand /bin/cat /proc/sys/kernel/random/uuid\n"
                "AuthorizedKeysCommandUser nobody\n")
    before = snapshot(*WATCHED)
    assert "prints something else behind the guard" in w.run("enable", "--warn", status=2), "another output"
    assert snapshot(*WATCHED) == before, "another output, and something was changed"
    w.ok("a command that prints something else behind the guard is found before anything is written")


def test_what_a_match_block_closes_is_not_opened_by_the_guard(w):
    """The guard does not let in what a Match block excludes."""
    mine, else_where = keys.generate(w.scratch), keys.generate(w.scratch)
    carol, alice = w.account(else_where), w.account(else_where)
    listed = write_as_root(w.scratch / "carol_keys", f"{mine.key}\n{w.leaked.key}\n")
    w.configure(f"{STOCK_HEAD}Match User {carol.name}\nAuthorizedKeysFile {listed}\n")
    for when in ("before", "enabled", "disabled"):
        if when == "enabled":
            w.run("enable", "--yes", "--reload")
        elif when == "disabled":
            w.run("disable", "--reload")
        w.expect(f"a Match block, {when}, its key", carol, mine, True)
        w.expect(f"a Match block, {when}, the key in the home", carol, else_where, False)
        w.expect(f"a Match block, {when}, a leaked key", carol, w.leaked, when != "enabled")
        w.expect(f"a Match block, {when}, somebody else", alice, else_where, True)
    w.expect_logged(carol, verdict="listed", action="deny", via="pam")


def test_lines_at_the_top_of_sshd_config_and_files_in_another_place(w):
    """Without an Include, the lines go to the top of sshd_config. The account's files are in another folder."""
    alice, mallory = w.machine.add_account(), w.machine.add_account()
    alice.write(".ssh/mine", f"{w.clean.key}\n")
    mallory.write(".ssh/mine", f"{w.leaked.key}\n")
    mallory.authorize(w.clean.key)
    w.configure(STOCK_HEAD.replace("Include", "#Include") + "AuthorizedKeysFile %h/.ssh/mine")
    w.run("enable", "--guard", "--yes", "--reload")
    w.expect("no Include, a clean key", alice, w.clean, True)
    w.expect("no Include, a leaked key", mallory, w.leaked, False)
    w.expect("no Include, a key in a file that sshd does not use", mallory, w.clean, False)
    w.run("disable", "--reload")
    w.expect("no Include, disabled, a leaked key", mallory, w.leaked, True)


@pytest.mark.long
def test_before_sshd_is_reloaded_the_same_logins_succeed(w):
    """Until sshd is reloaded, it uses what it read before. Whatever is typed, the same logins succeed."""
    alice, mallory, mine = w.account(w.clean), w.account(w.clean), keys.generate(w.scratch)
    folder = Path("/etc/ssh/keys-of")
    folder.mkdir()
    for account, key in ((alice, mine), (mallory, w.leaked)):
        write_as_root(folder / account.name, f"{key.key}\n")
    w.configure(f"{STOCK_HEAD}AuthorizedKeysFile {folder}/%u\n")

    def same(when, leaked):
        w.expect(f"{when}, the key of sshd's own file", alice, mine, True)
        w.expect(f"{when}, a key in the home", alice, w.clean, False)
        w.expect(f"{when}, a leaked key", mallory, w.leaked, leaked)
    same("before", True)
    w.run("enable", "--guard", "--yes", "--reload")
    same("enabled", False)
    w.run("disable")
    same("disabled and not reloaded", False)
    w.run("enable", "--guard", "--warn")
    same("--warn", True)
    w.run("disable", "--reload")
    same("disabled", True)
    w.run("enable", "--guard", "--yes", "--reload")
    CONFIG.write_text(CONFIG.read_text(encoding="utf-8") + trust_ca(w)[1], encoding="utf-8")
    w.run("enable", "--yes")
    same("TrustedUserCAKeys since, enabled again, not reloaded", False)
    w.server.reload()
    same("and reloaded", False)
    w.run("disable")
    shutil.rmtree(folder)


def test_tokens_of_authorizedkeysfile_in_odd_names(w):
    """Tokens of AuthorizedKeysFile work in names with a token, a blank or a special character."""
    names = ("per%ucent", "mary jane", "hash#tag", "star*", "dom\\erin")
    folder = Path("/etc/ssh/keys-of")
    folder.mkdir()
    accounts = [w.machine.add_account(name) for name in names]
    for account in accounts:
        write_as_root(folder / account.name, f"{w.clean.key}\n{w.leaked.key}\n")
    w.configure(f"{STOCK_HEAD}AuthorizedKeysFile .ssh/none {folder}/%u\n")
    before = {account: w.clients.login(w.server, account, [w.clean]).entered for account in accounts}
    assert sum(before.values()) >= 4, f"too few of them come in at all: {before}"
    w.run("enable", "--guard", "--yes", "--reload")
    for account, entered in before.items():
        w.expect(f"{account.name}, a clean key", account, w.clean, entered)
        w.expect(f"{account.name}, a leaked key", account, w.leaked, False)
    w.run("disable", "--reload")
    shutil.rmtree(folder)


class OtherSshd:
    """Another sshd, with these arguments, on a port of its own."""

    def __init__(self, w, *arguments, program=SSHD):
        self.port, self._pid_file = 2202, w.scratch / "other.pid"
        self._pid_file.unlink(missing_ok=True)
        self._argv = [program, "-D", "-p", str(self.port), "-o", f"PidFile={self._pid_file}", *map(str, arguments)]
        self._process = None

    def __enter__(self):
        self._process = subprocess.Popen(self._argv, stderr=subprocess.DEVNULL)     # pylint: disable=R1732
        deadline = time.monotonic() + PATIENCE
        while not self._listens():
            assert time.monotonic() < deadline, f"{self._argv} does not listen"
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()

    def _listens(self):
        assert self._process.poll() is None, f"{self._argv} has ended"
        return self._pid_file.exists() and self._pid_file.read_text(encoding="ascii").endswith("\n")


def refused(w, *parts, guard=("--guard", "--yes")):
    """With each of these options enable refuses, names the parts, and changes nothing."""
    before = snapshot(*WATCHED)
    for options in (("--warn", "--yes"), ("--yes",), guard, ("--dry-run",)):
        said = w.run("enable", *options, status=2)
        missing = [part for part in parts if part not in said]
        assert not missing, f"enable {options} does not say {missing}: {said}"
        assert snapshot(*WATCHED) == before, f"enable {options} changed something"
    w.ok(f"refused: {parts[0]}")


def test_an_option_o_of_a_running_sshd_prevents_enable(w):
    """An option -o of a running sshd overrides its files."""
    alice = w.account(keys.generate(w.scratch))
    mine = w.scratch / "mine"
    mine.mkdir(mode=0o755)
    write_as_root(mine / alice.name, f"{w.clean.key}\n")
    ca, trusted = trust_ca(w)
    certificate = keys.certify(ca, w.clean, alice.name)
    program = write_as_root(w.scratch / "eic", f"#!/bin/sh\necho '{w.clean.key}'\n", 0o755)
    w.configure(STOCK_HEAD)
    for arguments, identity in (
            (("-o", f"AuthorizedKeysCommand {program} %u %f", "-o", "AuthorizedKeysCommandUser nobody"), w.clean),
            (("-o", f"AuthorizedKeysFile={mine}/%u"), w.clean),
            (("-o", trusted.strip().replace(" ", "=")), certificate)):
        with OtherSshd(w, *arguments) as other:
            def enters(when, other=other, identity=identity, arguments=arguments):
                outcome = w.clients.login(other, alice, [identity])
                assert outcome.entered, f"{arguments}, {when}: {outcome}"
                w.ok(f"{arguments[1]}, {when}: in")
            enters("before")
            refused(w, f"-o {arguments[1].split()[0].split('=')[0]}=", "counts before /etc/ssh/sshd_config",
                    "at the top of /etc/ssh/sshd_config")
            enters("after what was refused")
    with OtherSshd(w, "-o", "UsePAM=yes", "-o", "strictmodes yes"):
        w.run("enable", "--yes")
        w.run("disable", "--reload")
        w.ok("an option that repeats sshd_config does not prevent enable")


def test_a_running_sshd_with_usepam_no_is_reported_and_prevents_enable(w):
    """With -o UsePAM=no a running sshd bypasses the module, which is the only part that is enabled."""
    alice = w.machine.add_account()
    # Without PAM, sshd refuses an account whose password is locked by a "!".
    subprocess.run(["usermod", "-p", "*", alice.name], check=True)
    ca, line = trust_ca(w)
    bad = keys.certify(ca, w.leaked, alice.name)
    w.configure(STOCK_HEAD + line)
    w.run("enable", "--reload")
    w.run("status", status=0)
    with OtherSshd(w, "-o", "UsePAM=no") as other:
        assert w.clients.login(other, alice, [bad]).entered, "the option does not bypass the module"
        said = " ".join(w.run("status", status=2).split())
        assert "-o UsePAM=no bypasses keyveto" in said and "keyveto disable --reload" in said, said
        # With TrustedUserCAKeys, --guard is refused for another reason.
        refused(w, "-o UsePAM=no", "keyveto disable --reload", guard=("--pam", "--yes"))
        w.run("disable")    # sshd's own files were not changed
        w.ok("status reports -o UsePAM=no, and disable works")


@pytest.mark.long
def test_another_sshd_with_its_own_file_is_not_locked_out(w):
    """An sshd with its own file, which includes keyveto's file or does not."""
    alice = w.account(w.clean)
    mine = write_as_root(w.scratch / "of_other", f"{w.clean.key}\n")
    other_config, folder = Path("/etc/ssh/sshd2"), Path("/etc/ssh/alias.d")
    base = f"PasswordAuthentication no\nUsePAM yes\nAuthorizedKeysFile {mine}\n"
    bob = w.machine.add_account()
    folder.symlink_to("sshd_config.d")
    w.configure(STOCK_HEAD)
    nested = Path("/etc/ssh/nested")
    for include in ("Include /etc/ssh/sshd_config.d/*.conf\n", "Include nested\n", "Include alias.d/*.conf\n"):
        nested.write_text("Include /etc/ssh/sshd_config.d/*\n", encoding="ascii")
        other_config.write_text(include + base, encoding="ascii")
        with OtherSshd(w, "-f", other_config) as other:
            refused(w, str(other_config), "includes /etc/ssh/sshd_config.d/00-keyveto.conf", "use --pam alone")
            assert w.clients.login(other, bob, [w.clean]).entered, "bob has been locked out"
    with OtherSshd(w, "-f", other_config):
        other_config.unlink()
        refused(w, str(other_config), "cannot be told")
    other_config.write_text(f"{base}AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t --key %k\n"
                            "AuthorizedKeysCommandUser root\n", encoding="ascii")
    with OtherSshd(w, "-f", other_config):
        refused(w, f"{other_config}:4: the guard is called here")
    other_config.write_text(base, encoding="ascii")
    with OtherSshd(w, "-f", other_config, "-o", "StrictModes=no") as other:
        said = w.run("enable", "--reload")
        assert "note: sshd, process" in said and f"its configuration is {other_config}" in said, said
        assert w.clients.login(other, bob, [w.clean]).entered, "bob has been locked out"
        w.expect("beside another sshd", alice, w.clean, True)
        said = w.run("status", status=1)
        assert f"its configuration is {other_config}" in " ".join(said.split()), said
        w.server.stop()
        said = w.run("status", status=2)
        assert "no sshd listens that reads /etc/ssh/sshd_config" in " ".join(said.split()), said
        w.server.start()
        w.run("disable", "--reload")
        assert w.clients.login(other, bob, [w.clean]).entered, "bob has been locked out"
    w.ok("an sshd whose file includes none of keyveto's is left alone")
    alias = w.scratch / "other-sshd"
    alias.symlink_to(SSHD)
    with OtherSshd(w, program=alias):
        other_service = not openssh.has_service_name()
        said = w.run("enable", "--reload")
        assert ("its PAM service is other-sshd" in said) == other_service, said
        said = " ".join(w.run("status", status=2 if other_service else 0).split())
        assert ("its PAM service is other-sshd" in said) == other_service, said
    w.ok("status reports an sshd with another name where that is another PAM service")
    w.run("status", status=0)
    w.run("disable", "--reload")
    for path in (other_config, folder, nested):
        path.unlink()
