# SPDX-License-Identifier: ISC
"""keyveto sshd: in and out of many a configuration, judged by sshd itself.

    python3 tests/cli/test_sshd.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto), KEYVETO_PAM_MODULE the module
(default build/pam_keyveto.so, with the guard beside it). Needs root.
"""

import contextlib
import glob
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from cases import PATIENCE, ROOT, SSHD, case, contains, equal, keyveto, lacks, make_filter, run_in_sandbox
import keys

MODULE = Path(os.environ.get("KEYVETO_PAM_MODULE", ROOT / "build/pam_keyveto.so")).resolve()
GUARD = "/usr/libexec/keyveto-authorized-keys"
PAM_FOLDER = Path(glob.glob("/usr/lib/*/security/pam_unix.so")[0]).parent
FILES_COMMAND = f"{GUARD} --user %u --home %h --type %t --key %k"
CHAIN = f"{GUARD} --user %u --type %t --key %k -- "
DROP_IN = "/etc/ssh/sshd_config.d/00-keyveto.conf"
INCLUDE = "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\n"
DEFAULT_FILES = ".ssh/authorized_keys .ssh/authorized_keys2"
# What enable may change of what sshd says.
CHANGED = ("authorizedkeysfile", "authorizedkeyscommand", "authorizedkeyscommanduser", "authorizedprincipalscommand",
           "authorizedprincipalscommanduser")
STOCK_CONFIG = Path("/etc/ssh/sshd_config").read_text(encoding="utf-8")
STOCK_STACK = Path("/etc/pam.d/sshd").read_text(encoding="utf-8")
WATCHED = ("etc", "var/lib/keyveto")


class Machine:
    """A machine's files below a folder, or in this throw-away root."""

    def __init__(self, scratch, root, config=STOCK_CONFIG, files=None):
        self.scratch, self.root = scratch, Path(root)
        self.here = str(root) == "/"
        if not self.here:
            self._furnish()
        self.write("/etc/ssh/sshd_config", config)
        for path, content in (files or {}).items():
            self.write(path, content)
        self.write("/etc/keyveto/keyveto.conf", (ROOT / "etc/keyveto.conf").read_bytes())
        self.write("/var/lib/keyveto/filter.pkbf", filter_of(scratch).read_bytes())

    def _furnish(self):
        """What an image has that enable asks for."""
        for name in ("passwd", "group", "pam.d", "nsswitch.conf"):
            source, target = Path("/etc") / name, self.path(f"/etc/{name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)
        (self.root / "lib").symlink_to("usr/lib")
        self.write(GUARD, (MODULE.parent / "keyveto-authorized-keys").read_bytes(), 0o755)
        self.write(PAM_FOLDER / "pam_keyveto.so", MODULE.read_bytes())
        self.path("/etc/ssh/sshd_config.d").mkdir(parents=True)
        for folder, _, _ in os.walk(self.root):
            os.chmod(folder, 0o755)

    def path(self, path):
        return self.root / str(path).lstrip("/")

    def write(self, path, content, mode=0o644):
        path = self.path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path

    def read(self, path):
        return self.path(path).read_text(encoding="utf-8")

    def run(self, *words, status=None, **options):
        where = [] if self.here else ["--root", self.root]
        done = keyveto("sshd", *words, *where, **options)
        if status is not None:
            equal(done.returncode, status, f"keyveto sshd {words}\n{done.stdout}{done.stderr}")
        return done

    def sshd(self, *arguments):
        """What this machine's sshd says, from its own place in the file system."""
        argv = [SSHD, *arguments]
        if not self.here:
            # Host keys are the real machine's: those of an image need not be there.
            argv = ["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc && shift && exec "$@"', "sh",
                    self.path("/etc"), *argv, "-h", host_key(self.scratch)]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE)

    def settings(self, user=None, address="127.0.0.1"):
        """What sshd -T says, by keyword."""
        who = ["-C", f"user={user},host=localhost,addr={address}"] if user else []
        done = self.sshd("-T", *who)
        equal(done.returncode, 0, done.stderr)
        rows = {}
        for line in done.stdout.splitlines():
            keyword, _, value = line.partition(" ")
            if keyword != "hostkey":
                rows.setdefault(keyword, []).append(value)
        return {keyword: " | ".join(values) for keyword, values in rows.items()}

    def must_start(self):
        done = self.sshd("-t")
        equal((done.returncode, done.stdout), (0, ""), done.stderr)

    def snapshot(self):
        """Names, kinds, modes, owners and contents of all files."""
        found = {}
        for top in WATCHED:
            for path in sorted(self.path(top).rglob("*")):
                info = path.lstat()
                if path.is_symlink():
                    content = os.readlink(path)
                else:
                    content = path.read_bytes() if stat.S_ISREG(info.st_mode) else ""
                found[str(path)] = (oct(info.st_mode), info.st_uid, info.st_gid, content)
        return found

    def first_session_line(self):
        lines = re.findall(r"^(-?session\s.*|@include.*)$", self.read("/etc/pam.d/sshd"), re.MULTILINE)
        return lines[0]


_made = {}


def filter_of(_scratch):
    """Lists one key, and that is .leaked."""
    if "filter" not in _made:
        folder = Path(tempfile.mkdtemp())
        _made["leaked"], _made["clean"] = keys.generate(folder).key, keys.generate(folder).key
        _made["filter"] = make_filter(folder / "filter.pkbf", _made["leaked"])
    return _made["filter"]


def host_key(_scratch):
    if "host" not in _made:
        _made["host"] = keys.generate(Path(tempfile.mkdtemp()))
    return _made["host"].path


def restored(before, after):
    for path in sorted(set(before) | set(after)):
        equal(after.get(path), before.get(path), f"{path} is not what it was")


@contextlib.contextmanager
def this_machine(scratch, **settings):
    """The throw-away root itself; what is changed comes back whole at the end."""
    folders = [Path("/etc/ssh"), Path("/etc/pam.d"), Path("/etc/keyveto"), Path("/var/lib/keyveto")]
    kept = scratch / "kept"
    kept.mkdir()
    for number, folder in enumerate(folders):
        subprocess.run(["cp", "-a", folder, kept / str(number)], check=True)
    try:
        yield Machine(scratch, "/", **settings)
    finally:
        for number, folder in enumerate(folders):
            shutil.rmtree(folder)
            subprocess.run(["cp", "-a", kept / str(number), folder], check=True)


def leftovers():
    return glob.glob("/tmp/keyveto-sshd.*")


# Round trips: (title, sshd_config, more files, what is expected). "options" go to
# enable; other keys are what sshd -T says afterwards, for all or for a user.

EMPTY = ""
WITHOUT_INCLUDE = "Port 22\nUsePAM yes\nPermitRootLogin no\nSubsystem sftp /usr/lib/openssh/sftp-server\n"
COMMAND = "/usr/bin/env true"
BY_GUARD = {"authorizedkeysfile": "none", "authorizedkeyscommand": FILES_COMMAND, "authorizedkeyscommanduser": "root"}
CHAINED = {"authorizedkeyscommand": CHAIN + COMMAND, "authorizedkeyscommanduser": "nobody"}
WITH_COMMAND = f"AuthorizedKeysCommand {COMMAND}\nAuthorizedKeysCommandUser nobody\n"


class Shape:
    def __init__(self, title, config, *options, files=None, after=None, users=None, place=DROP_IN, status=0, conf=None,
                 prepare=None, pam=True):
        self.title, self.config, self.options, self.files = title, config, options, files
        self.after, self.users, self.place = BY_GUARD if after is None else after, users or {}, place
        self.status, self.conf, self.prepare, self.pam = status, conf, prepare, pam


TOP = "/etc/ssh/sshd_config"


def link_config(target):
    def prepare(machine):
        path = machine.path("/etc/ssh/sshd_config")
        real = machine.path("/etc/site/sshd_config.real")
        real.parent.mkdir(exist_ok=True)
        path.rename(real)
        path.symlink_to(target)
    return prepare


def protect(mode, uid, gid):
    def prepare(machine):
        path = machine.path("/etc/ssh/sshd_config")
        os.chown(path, uid, gid)
        path.chmod(mode)
    return prepare


SHAPES = [
    Shape("Debian's own", STOCK_CONFIG, conf=DEFAULT_FILES),
    Shape("no Include", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES),
    Shape("an empty file", EMPTY, place=TOP, conf=DEFAULT_FILES, pam=False),
    Shape("Include after AuthorizedKeysFile", "AuthorizedKeysFile .ssh/one\n" + INCLUDE, place=TOP, conf=".ssh/one"),
    Shape("Include after other settings", "Port 22\nPermitRootLogin no\n" + INCLUDE, conf=DEFAULT_FILES),
    Shape("Include within a Match block", "Port 22\nUsePAM yes\nMatch User daemon\n" + INCLUDE.split("\n", maxsplit=1)[0] + "\n", place=TOP, conf=DEFAULT_FILES),
    Shape("several files with tokens",
          INCLUDE + "AuthorizedKeysFile /etc/ssh/keys/%u %h/.ssh/authorized_keys .ssh/%u-100%%\n",
          conf="/etc/ssh/keys/%u %h/.ssh/authorized_keys .ssh/%u-100%%"),
    Shape("a drop-in that comes before ours", INCLUDE, files={
        "/etc/ssh/sshd_config.d/00-first.conf": "AuthorizedKeysFile .ssh/first\n",
        "/etc/ssh/sshd_config.d/50-later.conf": "AuthorizedKeysFile .ssh/later\n"}, place=TOP, conf=".ssh/first"),
    Shape("a drop-in that comes after ours", INCLUDE, files={
        "/etc/ssh/sshd_config.d/50-cloud.conf": "PasswordAuthentication no\nAuthorizedKeysFile .ssh/cloud\n"},
          conf=".ssh/cloud"),
    Shape("a 00-keyveto.conf of the administrator's", INCLUDE, files={DROP_IN: "# mine\nPermitRootLogin no\n"},
          conf=DEFAULT_FILES),
    Shape("an empty 00-keyveto.conf", INCLUDE, files={DROP_IN: ""}, conf=DEFAULT_FILES),
    Shape("an AuthorizedKeysCommand, no files", INCLUDE + "AuthorizedKeysFile none\n" + WITH_COMMAND,
          after={"authorizedkeysfile": "none", **CHAINED}),
    Shape("an AuthorizedKeysCommand and files", INCLUDE + WITH_COMMAND, "--guard", "--pam",
          after={"authorizedkeysfile": DEFAULT_FILES, **CHAINED}),
    Shape("an AuthorizedKeysCommand with quotes and tokens, as %u",
          INCLUDE + 'AuthorizedKeysFile none\nAuthorizedKeysCommand /usr/bin/printf "%%s\\n" "%u of %h" %f\n'
          "AuthorizedKeysCommandUser %u\n",
          after={"authorizedkeysfile": "none", "authorizedkeyscommanduser": "%u",
                 "authorizedkeyscommand": CHAIN + '/usr/bin/printf "%%s\\n" "%u of %h" %f'}),
    Shape("an AuthorizedPrincipalsCommand and TrustedUserCAKeys",
          INCLUDE + f"TrustedUserCAKeys /etc/ssh/ca.pub\nAuthorizedPrincipalsCommand {COMMAND} %i\n"
          "AuthorizedPrincipalsCommandUser daemon\n", conf=DEFAULT_FILES,
          after={**BY_GUARD, "authorizedprincipalscommand": f"{CHAIN}{COMMAND} %i",
                 "authorizedprincipalscommanduser": "daemon"}),
    Shape("TrustedUserCAKeys alone", INCLUDE + "TrustedUserCAKeys /etc/ssh/ca.pub\n", "--guard", conf=DEFAULT_FILES,
          after={**BY_GUARD, "authorizedprincipalscommand": CHAIN + "/bin/echo %u",
                 "authorizedprincipalscommanduser": "nobody"}, pam=False),
    Shape("TrustedUserCAKeys and AuthorizedPrincipalsFile, the guard alone",
          INCLUDE + "TrustedUserCAKeys /etc/ssh/ca.pub\nAuthorizedPrincipalsFile .ssh/principals\n", "--guard",
          conf=DEFAULT_FILES, status=1, pam=False),
    Shape("TrustedUserCAKeys in a Match block, the guard alone",
          INCLUDE + "Match User daemon\n  TrustedUserCAKeys /etc/ssh/ca.pub\n", "--guard", conf=DEFAULT_FILES,
          status=1, pam=False),
    Shape("AuthenticationMethods", INCLUDE + "AuthenticationMethods publickey,password publickey,publickey\n",
          conf=DEFAULT_FILES),
    Shape("UsePAM no, the guard alone", INCLUDE.replace("yes", "no"), "--guard", conf=DEFAULT_FILES, pam=False),
    Shape("StrictModes no", INCLUDE + "StrictModes no\n", conf=DEFAULT_FILES),
    Shape("hostbased, the guard alone", INCLUDE + "HostbasedAuthentication yes\n", "--guard", conf=DEFAULT_FILES,
          status=1, pam=False),
    Shape("hostbased, guard and PAM", INCLUDE + "HostbasedAuthentication yes\n", conf=DEFAULT_FILES),
    Shape("Match blocks about other things",
          INCLUDE + "Match User daemon\n  ForceCommand internal-sftp\n  ChrootDirectory /srv\nMatch Address 10.0.0.0/8\n"
          "  PasswordAuthentication no\n", conf=DEFAULT_FILES, users={"daemon": BY_GUARD, "root": BY_GUARD}),
    Shape("a Match block with AuthorizedKeysFile",
          INCLUDE + "Match User daemon\n\tAuthorizedKeysFile /etc/ssh/daemon_keys\nMatch Group root\n\tX11Forwarding no\n",
          conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": "/etc/ssh/daemon_keys", "authorizedkeyscommand": "none"},
              "root": BY_GUARD}),
    Shape("a Match block with AuthorizedKeysFile, no Include",
          WITHOUT_INCLUDE + "Match User daemon\n\tAuthorizedKeysFile /etc/ssh/daemon_keys\n", place=TOP,
          conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": "/etc/ssh/daemon_keys", "authorizedkeyscommand": "none"},
              "root": BY_GUARD}),
    Shape("a Match block with AuthorizedKeysCommand",
          INCLUDE + "AuthorizedKeysFile .ssh/k\nMatch User daemon\n" + WITH_COMMAND, conf=".ssh/k", users={
              "daemon": {"authorizedkeysfile": ".ssh/k", "authorizedkeyscommand": COMMAND}, "root": BY_GUARD}),
    Shape("a Match block with both", INCLUDE + "Match User daemon\nAuthorizedKeysFile none\n" + WITH_COMMAND,
          conf=DEFAULT_FILES, users={"daemon": {"authorizedkeysfile": "none", "authorizedkeyscommand": COMMAND},
                                     "root": BY_GUARD}),
    Shape("a Match block in an included file", INCLUDE, files={
        "/etc/ssh/sshd_config.d/70-sftp.conf": "Match User daemon\n    AuthorizedKeysFile /etc/ssh/daemon_keys"},
          conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": "/etc/ssh/daemon_keys", "authorizedkeyscommand": "none"},
              "root": BY_GUARD}),
    Shape("two Match blocks for one account", INCLUDE + "Match User daemon\nAuthorizedKeysFile .ssh/a\n"
          "Match User dae*\nAuthorizedKeysFile .ssh/b\n", conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": ".ssh/a", "authorizedkeyscommand": "none"}, "root": BY_GUARD}),
    Shape("Match all at the end", INCLUDE + "Match all\nAuthorizedKeysFile .ssh/all\n", conf=".ssh/all",
          after={"authorizedkeysfile": ".ssh/all", "authorizedkeyscommand": "none"}),
    Shape("CR LF", (INCLUDE + "PermitRootLogin no\nAuthorizedKeysFile .ssh/x\n").replace("\n", "\r\n"), conf=".ssh/x"),
    Shape("CR LF, no Include", "UsePAM yes\r\nPermitRootLogin no\r\nAuthorizedKeysFile .ssh/x\r\n", conf=".ssh/x", place=TOP),
    Shape("no newline at the end", "UsePAM yes\nPermitRootLogin no\nAuthorizedKeysFile .ssh/x", conf=".ssh/x", place=TOP),
    Shape("a link, relative", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES,
          prepare=link_config("../site/sshd_config.real")),
    Shape("a link, absolute", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES,
          prepare=link_config("/etc/site/sshd_config.real")),
    Shape("mode 0400", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES, prepare=protect(0o400, 0, 0)),
    Shape("mode 0640 and another group", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES, prepare=protect(0o640, 0, 2)),
    Shape("Include written in other ways",
          'usePAM = yes\ninclude="sshd_config.d/*.conf" # not this: Include nowhere\nINCLUDE sshd_config.d/../more/a.conf /etc/none/*\n',
          files={"/etc/ssh/more/a.conf": "Include /etc/ssh/more/b*\n", "/etc/ssh/more/b 1": "AuthorizedKeysFile .ssh/b\n",
                 "/etc/ssh/more/b2": "AuthorizedKeysFile .ssh/c\n"}, conf=".ssh/b"),
    Shape("no such folder as sshd_config.d", INCLUDE, place=TOP, conf=DEFAULT_FILES,
          prepare=lambda machine: shutil.rmtree(machine.path("/etc/ssh/sshd_config.d"))),
]


def differences(before, after):
    return {keyword for keyword in before.keys() | after.keys() if before.get(keyword) != after.get(keyword)}


def expect_enabled(machine, shape, before):
    machine.must_start()
    after = machine.settings()
    for keyword, value in shape.after.items():
        equal(after[keyword], value, keyword)
    surplus = differences(before, after) - set(CHANGED)
    assert not surplus, f"enable changed {surplus}"
    for user, expected in shape.users.items():
        said = machine.settings(user)
        for keyword, value in expected.items():
            equal(said[keyword], value, f"{keyword} of {user}")
    contains(machine.read(shape.place), "# BEGIN keyveto", "# END keyveto")
    conf = machine.read("/etc/keyveto/keyveto.conf")
    if shape.conf:
        contains(conf, f"\nAuthorizedKeysFile {shape.conf}\n")
        equal("\nStrictModes no\n" in conf, before["strictmodes"] == "no")
    else:
        lacks(conf, "# BEGIN keyveto")
    equal(machine.first_session_line() == "session requisite pam_keyveto.so", shape.pam)


def round_trip(machine, shape):
    if shape.prepare:
        shape.prepare(machine)
    before, snapshot = machine.settings(), machine.snapshot()
    said = {user: machine.settings(user) for user in ("root", "daemon")}
    machine.run("status", status=1)
    dry = machine.run("enable", "--dry-run", *shape.options, status=0)
    contains(dry.stdout, "AuthorizedKeysCommand ")
    restored(snapshot, machine.snapshot())
    machine.run("enable", *shape.options, status=0)
    expect_enabled(machine, shape, before)
    machine.run("status", status=shape.status)
    enabled = machine.snapshot()
    # Once more: nothing is put in twice, and the way back is not lost.
    machine.run("enable", *shape.options, status=0)
    restored(enabled, machine.snapshot())
    machine.run("disable", status=0)
    restored(snapshot, machine.snapshot())
    equal(machine.settings(), before)
    for user, settings in said.items():
        equal(machine.settings(user), settings)
    equal(leftovers(), [])


def add_shape(shape):
    @case(f"there and back, an image: {shape.title}")
    def _(scratch):
        round_trip(Machine(scratch, scratch / "image", shape.config, shape.files), shape)

    @case(f"there and back, this machine: {shape.title}")
    def _(scratch):
        with this_machine(scratch, config=shape.config, files=shape.files) as machine:
            round_trip(machine, shape)


for one in SHAPES:
    add_shape(one)


def prepare_machine(_folder):
    """The programs in their places; what is there of keyveto makes room."""
    Path("/run/sshd").mkdir(exist_ok=True)
    for path, source in ((Path(GUARD), MODULE.parent / "keyveto-authorized-keys"),
                         (PAM_FOLDER / "pam_keyveto.so", MODULE)):
        path.parent.mkdir(exist_ok=True)
        shutil.copy(source, path)
        path.chmod(0o755)
    for path in Path("/etc/ssh/sshd_config.d").glob("*"):
        path.unlink()
    for folder in ("/etc/keyveto", "/var/lib/keyveto", "/etc/ssh/sshd_config.d"):
        Path(folder).mkdir(exist_ok=True)


if __name__ == "__main__":
    sys.exit(run_in_sandbox(needs_root=True, prepare=prepare_machine))
