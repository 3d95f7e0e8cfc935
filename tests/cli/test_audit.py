# SPDX-License-Identifier: ISC
"""keyveto audit of a throw-away machine, with accounts and an sshd_config of our own.

    python3 tests/cli/test_audit.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto). Needs root.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from cases import ROOT, SSHD, case, contains, equal, keyveto, lacks, make_filter, run_in_sandbox
import keys

SYSTEM_FILES = [Path(f"/etc/{name}") for name in ("passwd", "group", "ssh/sshd_config")]
NEEDED = ("daemon", "nobody", "sshd", "nogroup")
HOST_KEY_TYPES = ("rsa", "ecdsa", "ed25519")
CONFIG = Path("/etc/ssh/sshd_config")
DROP_INS = Path("/etc/ssh/sshd_config.d")
GUARD = "/usr/libexec/keyveto-authorized-keys"
GUARD_ARGUMENTS = "--user %u --home %h --type %t --key %k"
FIRST_ID = 20000
MANY_PATIENCE = 900         # on a machine that has other things to do
# Of one processor, for 10,000 accounts: who asks sshd about each of them needs twice as many. Beside other work, the
# same work takes more of them than alone. An instrumented program may take longer.
SECONDS_FOR_MANY = 60 * int(os.environ.get("KEYVETO_SLOWER", "1"))


class Account:
    def __init__(self, name, number, home):
        self.name, self.uid, self.gid, self.home = name, number, number, home

    def own(self, path):
        os.chown(path, self.uid, self.gid, follow_symlinks=False)
        return path

    @property
    def keys_path(self):
        return self.home / ".ssh/authorized_keys"

    def write(self, path, *lines, mode=0o600):
        """A file of the account's, with the folders it needs."""
        path = self.home / path
        for folder in reversed(path.parents):
            if not folder.exists():
                folder.mkdir(mode=0o700)
                self.own(folder)
        path.write_bytes(b"".join(line if isinstance(line, bytes) else f"{line}\n".encode() for line in lines))
        path.chmod(mode)
        return self.own(path)

    def authorize(self, *lines, **options):
        return self.write(self.keys_path, *lines, **options)


class World:
    """Accounts, their keys and what sshd is told; taken back at the end of a case."""

    def __init__(self, folder):
        self.folder = folder
        self.bad, self.clean = keys.generate(folder).key, keys.generate(folder).key
        self.filter = make_filter(folder / "bad.pkbf", self.bad)
        self._number = FIRST_ID

    def account(self, name, home=None, shell="/bin/sh", **fields):
        self._number += 1
        made = Account(name, self._number, Path(home or self.folder / "home" / name))
        made.uid, made.gid = fields.get("uid", made.uid), fields.get("gid", made.gid)
        made.home.parent.mkdir(exist_ok=True)
        if home is None:
            made.home.mkdir(mode=0o755)
            made.own(made.home)
        self.append("/etc/passwd", f"{name}:x:{made.uid}:{made.gid}::{made.home}:{shell}")
        self.append("/etc/group", f"{name}:x:{made.gid}:")
        return made

    @staticmethod
    def append(path, *lines):
        with open(path, "a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def sshd_config(self, *lines):
        self.append(CONFIG, *lines)

    def audit(self, *arguments, status=None, **options):
        return keyveto("audit", "--filter", self.filter, *arguments, status=status, **options)

    def findings(self, *arguments, status=None):
        """What --json --all says: findings, and summaries by name of account (or kind)."""
        done = self.audit("--json", "--all", *arguments, status=status)
        objects = [json.loads(line) for line in done.stdout.splitlines()]
        summaries = {one["account"] or one["what"]: one for one in objects if one.get("summary")}
        return [one for one in objects if not one.get("summary")], summaries, done.stderr


@contextlib.contextmanager
def world(folder):
    """The machine's own accounts and settings make room, but for those that sshd needs."""
    kept = {path: path.read_bytes() for path in SYSTEM_FILES}
    for path in SYSTEM_FILES[:2]:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if line.split(":")[0] in NEEDED), encoding="utf-8")
    World.append("/etc/passwd", f"root:x:0:0::{folder}/root:/bin/sh")
    CONFIG.write_text(f"Include {DROP_INS}/*.conf\n")
    try:
        yield World(folder)
    finally:
        for path, content in kept.items():
            path.write_bytes(content)
        clear_drop_ins()


def clear_drop_ins():
    DROP_INS.mkdir(exist_ok=True)
    for path in DROP_INS.glob("*.conf"):
        path.unlink()


def prepare_machine(folder):
    """What every case takes for granted; an image may come without host keys."""
    clear_drop_ins()
    for kind in HOST_KEY_TYPES:
        path = Path(f"/etc/ssh/ssh_host_{kind}_key")
        if not path.exists():
            made = keys.generate(folder, kind)
            shutil.copy(made.path, path)
            shutil.copy(made.key.path, f"{path}.pub")


def places(findings, verdict="listed"):
    return [f"{one['file']}:{one['line']}" for one in findings if one["verdict"] == verdict]


def row_of(stdout, name):
    """The numbers in an account's row of the table: files keys listed allowed unknown problems."""
    rows = [line[len(name):].split() for line in stdout.splitlines() if line.startswith(f"{name} ")]
    equal(len(rows), 1, stdout)
    return [int(number) for number in rows[0]]


@case("a machine without listed keys: status 0, and a row for the host keys")
def _(folder):
    with world(folder) as w:
        done = w.audit(status=0)
        equal(row_of(done.stdout, "(host keys)")[1:], [3, 0, 0, 0, 0])
        lacks(done.stdout, "listed:", "root")
        contains(done.stderr, "0 listed")


@case("a listed key is found, in the table and in JSON")
def _(folder):
    with world(folder) as w:
        alice, bob = w.account("alice"), w.account("bob", shell="/usr/sbin/nologin")
        alice.authorize("# mine", f'command="x y",restrict {w.clean} a', f"{w.bad} work laptop")
        bob.authorize(w.clean)
        done = w.audit(status=1)
        contains(done.stdout, f"{alice.keys_path}:3: listed: ssh-ed25519 256 {w.bad.fingerprint} work laptop [{w.filter}]\n")
        equal(row_of(done.stdout, "alice"), [1, 2, 1, 0, 0, 0])
        equal(row_of(done.stdout, "bob"), [1, 1, 0, 0, 0, 0])
        findings, summaries, _ = w.findings(status=1)
        listed = [one for one in findings if one["verdict"] == "listed"]
        equal([(one["account"], one["file"], one["line"], one["comment"], one["part"]) for one in listed],
              [("alice", str(alice.keys_path), 3, "work laptop", "key")])
        equal({key: summaries["alice"][key] for key in ("files", "keys", "listed", "clean", "problems")},
              {"files": 1, "keys": 2, "listed": 1, "clean": 1, "problems": 0})
        equal(summaries["host keys"]["account"], None)
        equal(w.audit("--quiet", status=1).stdout, "")


@case("locked accounts, shared homes and shared numbers are audited, and sshd's second file")
def _(folder):
    with world(folder) as w:
        one = w.account("one")
        two = w.account("two", home=one.home, uid=one.uid, gid=one.gid, shell="/bin/false")
        one.authorize(w.clean)
        one.write(".ssh/authorized_keys2", w.bad)
        done = w.audit(status=1)
        equal(row_of(done.stdout, "one"), [2, 2, 1, 0, 0, 0])
        equal(row_of(done.stdout, two.name), [2, 2, 1, 0, 0, 0])


@case("links lead nowhere that the owner may not read")
def _(folder):
    with world(folder) as w:
        secret, hidden = folder / "secret", folder / "hidden"
        secret.write_text(f"{w.bad}\n")
        secret.chmod(0o600)
        hidden.mkdir(mode=0o700)
        shutil.copy(secret, hidden / "file")
        (hidden / "file").chmod(0o644)
        mallory, eve = w.account("mallory"), w.account("eve")
        for account, target in ((mallory, secret), (eve, hidden / "file")):
            account.write(".ssh/other", w.clean)
            account.keys_path.symlink_to(target)
        findings, summaries, errors = w.findings(status=2)
        equal(places(findings), [])
        for account in (mallory, eve):
            contains(errors, f"keyveto: {account.keys_path}: Permission denied\n")
            equal((summaries[account.name]["keys"], summaries[account.name]["problems"]), (0, 1))


@case("a link to what the owner may read is followed")
def _(folder):
    with world(folder) as w:
        carol = w.account("carol")
        target = carol.write("dotfiles/keys", w.bad)
        carol.write(".ssh/other", w.clean)
        carol.keys_path.symlink_to(target)
        equal(places(w.findings(status=1)[0]), [f"{carol.keys_path}:1"])


@case("FIFOs, devices, directories and dead links are problems, and hold nothing up")
def _(folder):
    with world(folder) as w:
        names = {"fifo": "not a regular file", "device": "not a regular file", "directory": "not a regular file",
                 "dead": "symbolic link to nothing", "loop": "Too many levels of symbolic links"}
        for name in names:
            account = w.account(name)
            account.write(".ssh/other", w.clean)
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
        w.account("zoe").authorize(w.clean)
        done = w.audit(status=2)
        for name, reason in names.items():
            contains(done.stderr, f"/home/{name}/.ssh/authorized_keys: {reason}")
            equal(row_of(done.stdout, name)[1:], [0, 0, 0, 0, 1])
        equal(row_of(done.stdout, "zoe"), [1, 1, 0, 0, 0, 0])
        lacks(done.stderr, "took too long")


@case("files that cannot be read to their end in time are given up")
def _(folder):
    with world(folder) as w:
        endless = w.account("endless")
        with open(endless.authorize(), "r+b") as file:
            file.truncate(1 << 38)
        w.account("zoe").authorize(w.bad)
        # On a machine with other things to do, all the others' files may take a second, too.
        for seconds in (1, 8, 30):
            done = w.audit("--timeout", seconds)
            contains(done.stderr, "keyveto: endless: reading its files took too long (--timeout)\n")
            equal(row_of(done.stdout, "endless")[-1], 1)
            if done.stderr.count("took too long") == 1:
                break
        equal(done.returncode, 1, done.stderr)
        equal(row_of(done.stdout, "zoe")[2], 1)


@case("files that sshd will not use are noted, and read all the same")
def _(folder):
    with world(folder) as w:
        dave = w.account("dave")
        dave.authorize(w.bad, mode=0o666)
        done = w.audit(status=1)
        contains(done.stderr, f"keyveto: note: bad ownership or modes for file {dave.keys_path}: sshd does not use")
        contains(done.stdout, f"{dave.keys_path}:1: listed")
        equal(row_of(done.stdout, "dave"), [1, 1, 1, 0, 0, 0])
        w.sshd_config("StrictModes no")
        lacks(w.audit(status=1).stderr, "note")


@case("a file is read with the groups of its owner")
def _(folder):
    with world(folder) as w:
        frank = w.account("frank")
        w.append("/etc/group", "readers:x:30000:frank")
        (folder / "keys").mkdir(mode=0o755)
        path = folder / "keys/frank"
        path.write_text(f"{w.bad}\n")
        os.chown(path, 0, 30000)
        path.chmod(0o640)
        w.sshd_config(f"AuthorizedKeysFile {folder}/keys/%u")
        findings, _, errors = w.findings(status=1)
        equal(places(findings), [f"{path}:1"], errors)


@case("lines as sshd reads them: what hides a key from a person hides none here")
def _(folder):
    with world(folder) as w:
        grace = w.account("grace")
        grace.authorize("-----BEGIN OPENSSH PRIVATE KEY-----", w.bad, f"0 {w.bad}", f"{w.bad} a\r", f'environment="A=b"\t{w.bad}')
        findings, _, _ = w.findings()
        equal([int(place.rsplit(":", 1)[1]) for place in places(findings)][:2], [2, 3])
        equal(len(places(findings)), 4)


@case("broken lines and unknown types are problems, shown harmlessly")
def _(folder):
    with world(folder) as w:
        heidi = w.account("heidi")
        unknown = "ssh-new AAAAB3NzaC1uZXcAAAAA"
        heidi.authorize("ssh-ed25519 AAAA", b"\x1b[31m junk\n", unknown, 400000 * "x", f"{w.clean} \x1b[31m\x07")
        done = w.audit("--all", status=2)
        lacks(done.stdout + done.stderr, "\x1b", "\x07")
        for number in (1, 2, 3, 4):
            contains(done.stderr, f"keyveto: {heidi.keys_path}:{number}: ")
        contains(done.stderr, "ssh-new")
        equal(row_of(done.stdout, "heidi"), [1, 1, 0, 0, 1, 3])
        contains(done.stdout, f"{heidi.keys_path}:5: clean")


@case("certificate authorities and certificates in an account's file")
def _(folder):
    with world(folder) as w:
        ivan = w.account("ivan")
        ca = keys.generate(folder)
        certified = keys.certify(ca, keys.generate(folder), "ivan")
        w.filter = make_filter(folder / "ca.pkbf", ca.key)
        ivan.authorize(f'cert-authority,principals="a" {ca.key}', certified.certificate)
        findings, _, _ = w.findings(status=1)
        equal([(one["line"], one["part"], one["verdict"]) for one in findings if one.get("account") == "ivan"],
              [(1, "ca", "listed"), (2, "key", "clean"), (2, "ca", "listed")])


@case("Match User with another AuthorizedKeysFile")
def _(folder):
    with world(folder) as w:
        judy, ken = w.account("judy"), w.account("ken")
        for account in (judy, ken):
            account.authorize(w.clean)
            account.write("elsewhere", w.bad)
        w.sshd_config("Match User judy", "  AuthorizedKeysFile elsewhere")
        findings, summaries, _ = w.findings(status=1)
        equal(places(findings), [f"{judy.home}/elsewhere:1"])
        equal(summaries["ken"]["keys"], 1)


@case("Match Group in a file that is included, and AuthorizedKeysFile none")
def _(folder):
    with world(folder) as w:
        lea, mia = w.account("lea"), w.account("mia")
        w.append("/etc/group", "locked:x:30001:mia")
        for account in (lea, mia):
            account.authorize(w.bad)
        (DROP_INS / "50-locked.conf").write_text('match group "lock*"\n\tauthorizedkeysfile none\n')
        findings, summaries, _ = w.findings(status=1)
        equal(places(findings), [f"{lea.keys_path}:1"])
        assert "mia" not in summaries, summaries


@case("whatever Match says, the files are those that sshd names for each account")
def _(folder):
    with world(folder) as w:
        names = ("ann", "anna", "ab", "abc", "b", "ba", "bab", "x1", "x12", "y", "star", "z1", "z2")
        accounts = [w.account(name) for name in names]
        w.append("/etc/group", "wheel:x:30010:ann,ba,y", "web1:x:30011:anna,ba", "web22:x:30012:ab,y", "deny:x:30013:y,x1")
        for index, account in enumerate(accounts):
            for number in range(9):
                account.write(f"k{number}", w.clean)
        w.sshd_config("AuthorizedKeysFile k0",
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
        findings, _, errors = w.findings(status=0)
        contains(errors, "look at where a client is")
        for account in accounts:
            said = subprocess.run([SSHD, "-T", "-C", f"user={account.name},host=localhost,addr=127.0.0.1"], check=True,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
            patterns = [line.split()[1:] for line in said.splitlines() if line.lower().startswith("authorizedkeysfile ")][0]
            equal([one["file"] for one in findings if one.get("account") == account.name],
                  [f"{account.home}/{pattern}" for pattern in patterns], account.name)


@case("a Match line that is not understood: every account is asked about")
def _(folder):
    with world(folder) as w:
        nina, olga = w.account("nina"), w.account("olga")
        nina.write("a", w.bad)
        olga.write("b", w.bad)
        w.sshd_config(r'Match User "n\ina,nina"', " AuthorizedKeysFile a", "Match User olga", " AuthorizedKeysFile b")
        equal(places(w.findings(status=1)[0]), [f"{nina.home}/a:1", f"{olga.home}/b:1"])


@case("tokens in AuthorizedKeysFile")
def _(folder):
    with world(folder) as w:
        pat = w.account("pat")
        pat.write("k%/pat", w.bad)
        w.sshd_config("AuthorizedKeysFile %h/k%%/%u")
        equal(places(w.findings(status=1)[0]), [f"{pat.home}/k%/pat:1"])
        CONFIG.write_text("AuthorizedKeysFile '/etc/my keys/%u' k\n")
        contains(w.audit(status=2).stderr, "names a file with a blank")


@case("a listed user CA, and host keys with a host certificate")
def _(folder):
    with world(folder) as w:
        ca, host = keys.generate(folder), keys.generate(folder, "rsa", 2048)
        made = keys.generate(folder)
        certified = keys.certify(ca, made, "host")
        w.filter = make_filter(folder / "more.pkbf", ca.key, host.key)
        cas = folder / "user_ca"
        cas.write_text(f"# ours\n{w.clean}\n{ca.key} the old one\n")
        CONFIG.write_text(f"HostKey {host.path}\nHostKey {made.path}\nHostCertificate {certified.certificate.path}\n"
                          f"TrustedUserCAKeys {cas}\nMatch User x\n TrustedUserCAKeys {cas}\n")
        done = w.audit(status=1)
        contains(done.stdout, f"{cas}:3: listed: ssh-ed25519 256 {ca.key.fingerprint} the old one (CA)",
                 f"{host.path}:1: listed: ssh-rsa 2048 {host.key.fingerprint}",
                 f"{certified.certificate.path}:1: listed: ssh-ed25519 256 {ca.key.fingerprint}")
        equal(row_of(done.stdout, "(user CA keys)"), [1, 2, 1, 0, 0, 0])
        equal(row_of(done.stdout, "(host keys)"), [3, 4, 2, 0, 0, 0])


@case("a host key with a passphrase, or without the file beside it")
def _(folder):
    with world(folder) as w:
        plain, locked, alone = (keys.generate(folder) for _ in range(3))
        subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", locked.path], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        alone.key.path.unlink()
        w.filter = make_filter(folder / "more.pkbf", locked.key, plain.key)
        CONFIG.write_text("".join(f"HostKey {one.path}\n" for one in (plain, locked, alone)))
        done = w.audit(status=1)
        equal(row_of(done.stdout, "(host keys)")[1:], [3, 2, 0, 0, 0], done.stderr)


@case("TrustedUserCAKeys that is not there is a problem")
def _(folder):
    with world(folder) as w:
        w.sshd_config("TrustedUserCAKeys /etc/ssh/none-such")
        contains(w.audit(status=2).stderr, "keyveto: /etc/ssh/none-such: No such file or directory")


@case("behind the guard, the files are those of its keyveto.conf")
def _(folder):
    with world(folder) as w:
        quinn = w.account("quinn")
        quinn.authorize(w.clean)
        quinn.write("guarded", w.bad)
        conf = folder / "keyveto.conf"
        conf.write_text("AuthorizedKeysFile guarded\n")
        w.sshd_config("AuthorizedKeysFile none", "AuthorizedKeysCommandUser root",
                      f"AuthorizedKeysCommand {GUARD} --config {conf} {GUARD_ARGUMENTS}")
        findings, _, errors = w.findings(status=1)
        equal(places(findings), [f"{quinn.home}/guarded:1"])
        lacks(errors, "note", "warning: AuthorizedKeysFile")
        conf.unlink()
        contains(w.audit(status=2).stderr, f"keyveto: {conf}: No such file or directory")


@case("behind the guard, the files are those of its arguments before those of keyveto.conf")
def _(folder):
    with world(folder) as w:
        tess = w.account("tess")
        tess.authorize(w.bad)
        tess.write("guarded", w.bad)
        tess.write("k*", w.bad)
        tess.write("kk", w.bad)
        conf = folder / "keyveto.conf"
        conf.write_text("AuthorizedKeysFile .ssh/authorized_keys\n")

        base = CONFIG.read_text()

        def found(*arguments):
            command = " ".join((GUARD, "--config", str(conf), GUARD_ARGUMENTS, *arguments))
            CONFIG.write_text(f"{base}AuthorizedKeysFile none\nAuthorizedKeysCommandUser root\n"
                              f"AuthorizedKeysCommand {command}\n")
            return places(w.findings(status=1)[0])
        equal(found("--file", "guarded"), [f"{tess.home}/guarded:1"])
        equal(found("--file", "%h/k*", "--wildcards", "no"), [f"{tess.home}/k*:1"])
        equal(found("--file", "%h/k*", "--wildcards", "yes"), [f"{tess.home}/k*:1", f"{tess.home}/kk:1"])


@case("behind the guard with its default configuration, the default files")
def _(folder):
    with world(folder) as w:
        rita = w.account("rita")
        rita.authorize(w.bad)
        w.sshd_config("AuthorizedKeysFile none", "AuthorizedKeysCommandUser root",
                      f"AuthorizedKeysCommand {GUARD} {GUARD_ARGUMENTS}")
        equal(places(w.findings(status=1)[0]), [f"{rita.keys_path}:1"])


@case("files beside the guard, and keys from other commands, are pointed out")
def _(folder):
    with world(folder) as w:
        w.account("sam").authorize(w.clean)
        base = CONFIG.read_text()
        w.sshd_config("AuthorizedKeysCommandUser root", f"AuthorizedKeysCommand {GUARD} {GUARD_ARGUMENTS}")
        contains(w.audit(status=0).stderr, "warning: AuthorizedKeysFile is not none", "without asking the guard")
        for command in ("/usr/bin/sss_ssh_authorizedkeys %u", f"{GUARD} {GUARD_ARGUMENTS} -- /usr/bin/userdbctl %u"):
            CONFIG.write_text(f"{base}AuthorizedKeysCommandUser root\nAuthorizedKeysCommand {command}\n")
            contains(w.audit(status=0).stderr, f"note: sshd also asks AuthorizedKeysCommand {command}: the keys it prints")


@case("without an sshd, keyveto.conf tells the files")
def _(folder):
    with world(folder) as w:
        tina = w.account("tina")
        tina.write("mine", w.bad)
        conf = folder / "keyveto.conf"
        conf.write_text("AuthorizedKeysFile mine\n")
        findings, summaries, errors = w.findings("--sshd", "/none/sshd", "--config", conf, status=1)
        equal(places(findings), [f"{tina.home}/mine:1"])
        equal(summaries["host keys"]["keys"], 3)
        contains(errors, "warning: /none/sshd: No such file or directory: the accounts' files are taken from keyveto.conf")


@case("without an sshd, the host key that ssh-keygen -A of OpenSSH 10.6 makes is read too")
def _(folder):
    key = keys.PublicKey(ROOT / "testdata/openssh-10.6/composite.pub")
    place = Path("/etc/ssh/ssh_host_mldsa44_ed25519_key.pub")
    with world(folder) as w:
        before = w.findings("--sshd", "/none/sshd", status=0)[1]["host keys"]["keys"]
        shutil.copy(key.path, place)
        try:
            bad = make_filter(folder / "composite.pkbf", key)
            findings, summaries, _ = w.findings("--sshd", "/none/sshd", "--filter", bad, status=1)
        finally:
            place.unlink()
        equal(summaries["host keys"]["keys"], before + 1)
        equal(places(findings), [f"{place}:1"])
        equal([one["fingerprint"] for one in findings if one["verdict"] == "listed"],
              ["SHA256:YVP+is6TTsDTh/h4QOxOCMCDm7ywita4ZM4CT4mO6pU"])


@case("an sshd that cannot tell is a problem")
def _(folder):
    with world(folder) as w:
        w.account("uma").authorize(w.clean)
        w.sshd_config("NonsenseKeyword yes")
        done = w.audit(status=2)
        contains(done.stderr, f"keyveto: {SSHD}: sshd -T: ", "NonsenseKeyword", "until 'sshd -T' works here")
        equal(row_of(done.stdout, "uma")[1], 1)


@case("accounts are asked about at the port and the address where sshd listens")
def _(folder):
    with world(folder) as w:
        uta = w.account("uta")
        uta.write("there", w.bad)
        for place, match in (("Port 2222", "LocalPort 2222"), ("ListenAddress 192.0.2.7:2222", "LocalPort 2222"),
                             ("ListenAddress 192.0.2.7", "LocalAddress 192.0.2.7"),
                             ("ListenAddress [2001:db8::7]:22", "LocalAddress 2001:db8::/32")):
            CONFIG.write_text(f"{place}\nMatch {match}\n AuthorizedKeysFile there\n")
            equal(places(w.findings(status=1)[0]), [f"{uta.home}/there:1"], place)
        CONFIG.write_text("Match LocalPort 2222\n AuthorizedKeysFile there\n")
        equal(places(w.findings(status=0)[0]), [])


@case("an sshd that would wait for a FIFO is not asked, and one that hangs only once")
def _(folder):
    with world(folder) as w:
        for number in range(60):
            w.account(f"u{number}").authorize(w.clean)
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        CONFIG.write_text(f"HostKey {fifo}\n")
        done = w.audit(status=2)
        contains(done.stderr, f"{CONFIG}:1: HostKey {fifo} is a FIFO", "the accounts' files are taken from keyveto.conf")
        assert done.seconds < 9, f"{done.seconds} seconds"
        CONFIG.write_text("Match User *0\n AuthorizedKeysFile a\n"
                          + "".join(f"Match User u{number}\n AuthorizedKeysFile b\n" for number in range(60)))
        sshd, asked = folder / "sshd", folder / "asked"
        sshd.write_text(f'#!/bin/sh\ncase "$*" in *user=u*) echo >>{asked}; exec sleep 1000;; esac\nexec {SSHD} "$@"\n')
        sshd.chmod(0o755)
        done = w.audit("--sshd", sshd, "--sshd-config", CONFIG, status=2)
        contains(done.stderr, "no answer within 10 seconds")
        assert len(asked.read_text()) <= 16, "sshd was asked again and again"


@case("--sshd-config names another configuration")
def _(folder):
    with world(folder) as w:
        vera = w.account("vera")
        vera.write("mine", w.bad)
        config = folder / "sshd_config"
        config.write_text("AuthorizedKeysFile mine\n")
        equal(places(w.findings("--sshd-config", config, status=1)[0]), [f"{vera.home}/mine:1"])
        contains(w.audit("--sshd", "sshd", status=2).stderr, "absolute path")


@case("--user audits these accounts alone")
def _(folder):
    with world(folder) as w:
        for name in ("will", "xena", "yves"):
            w.account(name).authorize(w.bad)
        findings, summaries, _ = w.findings("--user", "will", "--user", "yves", status=1)
        equal(sorted(one["account"] for one in findings), ["will", "yves"])
        equal(sorted(summaries), ["will", "yves"])
        contains(w.audit("--user", "none-such", status=2).stderr, "account none-such: there is none of that name")


@case("without root, only the own account")
def _(folder):
    with world(folder) as w:
        zara = w.account("zara")
        zara.authorize(w.bad)
        w.account("other").authorize(w.bad)
        own = w.audit("--user", "zara", status=1, user=zara.uid, group=zara.gid, extra_groups=[])
        contains(own.stdout, f"{zara.keys_path}:1: listed")
        for arguments in ((), ("--user", "other"), ("--user", "zara", "--user", "other")):
            done = w.audit(*arguments, status=2, user=zara.uid, group=zara.gid, extra_groups=[])
            contains(done.stderr, "only root can audit the accounts of others")
            equal(done.stdout, "")


@case("an account that is there twice counts once")
def _(folder):
    with world(folder) as w:
        w.account("dup").authorize(w.bad)
        w.append("/etc/passwd", f"dup:x:999:999::{folder}:/bin/sh")
        equal(row_of(w.audit(status=1).stdout, "dup"), [1, 1, 1, 0, 0, 0])


@case("bad usage is a status of 2")
def _(folder):
    with world(folder) as w:
        for arguments in (("alice",), ("--timeout", "0"), ("--user",), ("--nonsense",)):
            done = w.audit(*arguments, status=2)
            equal(done.stdout, "")
            assert done.stderr, arguments
        contains(keyveto("audit", "--help", status=0).stdout, "--user NAME", "Exit status")


def make_many(w, count):
    """Accounts with a group, a home and a key each; every thousandth has a listed one, too."""
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


@case("ten thousand accounts, in time and in order")
def _(folder):
    with world(folder) as w:
        listed = make_many(w, 10000)
        done = w.audit(status=1, timeout=MANY_PATIENCE)
        equal([line.split(": ")[0] for line in done.stdout.splitlines() if ": listed: " in line], listed)
        equal(done.stdout.count("\nmany"), 10000)
        assert done.cpu_seconds < SECONDS_FOR_MANY, f"it took {done.cpu_seconds} s"
        print(f"10,000 accounts: {done.seconds:.1f} s, {done.cpu_seconds:.1f} s of them work")
        w.sshd_config("Match User many20*,!many20000,root Group many*", " AuthorizedKeysFile none")
        done = w.audit(status=1, timeout=MANY_PATIENCE)
        equal([line.split(": ")[0] for line in done.stdout.splitlines() if ": listed: " in line], listed)
        equal(done.stdout.count("\nmany"), 9001)
        assert done.cpu_seconds < 2 * SECONDS_FOR_MANY, f"with Match it took {done.cpu_seconds} s"
        print(f"with Match: {done.seconds:.1f} s, {done.cpu_seconds:.1f} s of them work")


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[2])
    sys.exit(run_in_sandbox(needs_root=True, prepare=prepare_machine))
