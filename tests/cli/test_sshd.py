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
import random
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cases import PATIENCE, ROOT, SSHD, case, contains, equal, keyveto, lacks, make_filter, run_in_sandbox
import keys
from openssh import version

MODULE = Path(os.environ.get("KEYVETO_PAM_MODULE", ROOT / "build/pam_keyveto.so")).resolve()
GUARD = "/usr/libexec/keyveto-authorized-keys"
NO_ID = 0xffffffff
PAM_FOLDER = Path(glob.glob("/usr/lib/*/security/pam_unix.so")[0]).parent
# As the local sshd has them: Debian's lets an account's own group write its files.
STRICTMODES, WILDCARDS = "private-group", "yes" if version() >= (10, 0) else "no"
# The client's address, which sshd gives from 9.4 on.
CONNECTION = " --connection %C" if version() >= (9, 4) else ""
FILES_COMMAND = f"{GUARD} --user %u --home %h --type %t --key %k{CONNECTION}"
DEFAULT_FILES = ".ssh/authorized_keys .ssh/authorized_keys2"


def by_files(patterns, strictmodes=STRICTMODES, wildcards=WILDCARDS):
    """The guard in front of these files."""
    return FILES_COMMAND + "".join(f" --file {one}" for one in patterns.split()) + (
        f" --strictmodes {strictmodes} --wildcards {wildcards}")


CHAIN = f"{GUARD} --user %u --type %t --key %k{CONNECTION} -- "
DROP_IN = "/etc/ssh/sshd_config.d/00-keyveto.conf"
MODULE_LINE, ALONE = "session requisite pam_keyveto.so", " disconnect=always"
INCLUDE = "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\n"
# What enable may change of what sshd says.
CHANGED = ("authorizedkeysfile", "authorizedkeyscommand", "authorizedkeyscommanduser", "authorizedprincipalscommand",
           "authorizedprincipalscommanduser")
STOCK_CONFIG = Path("/etc/ssh/sshd_config").read_text(encoding="utf-8")
STOCK_STACK = Path("/etc/pam.d/sshd").read_text(encoding="utf-8")
FIRST_TRIP = int(os.environ.get("FIRST_TRIP", "0"))
TRIPS = int(os.environ.get("TRIPS", "40"))
ROOT_ROUNDS = int(os.environ.get("ROOT_ROUNDS", "40"))
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
        self.write(GUARD, (MODULE.parent / "keyveto-authorized-keys").read_bytes(), 0o711)
        self.write(PAM_FOLDER / "pam_keyveto.so", MODULE.read_bytes())
        self.path("/etc/ssh/sshd_config.d").mkdir(parents=True)
        for program in ("env", "printf"):
            self.write(f"/usr/bin/{program}", b"#!/bin/sh\n", 0o755)
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
        path = self.path(path)
        while path.is_symlink():        # an image's links lead to places in it
            path = self.path(path.parent.relative_to(self.root) / os.readlink(path)
                             if not os.readlink(path).startswith("/") else os.readlink(path))
        return path.read_text(encoding="utf-8")

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
        who = ["-C", f"user={user},host=localhost,addr={address},laddr=127.0.0.1,lport=22" if user else "lport=65533"]
        done = self.sshd("-T", *who)
        equal(done.returncode, 0, done.stderr)
        rows = {}
        for line in done.stdout.splitlines():
            keyword, _, value = line.partition(" ")
            keyword = keyword.lower()       # mixed case from OpenSSH 10.5 on
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
    kept.mkdir(parents=True)
    for number, folder in enumerate(folders):
        subprocess.run(["cp", "-a", folder, kept / str(number)], check=True)
    try:
        yield Machine(scratch, "/", **settings)
    finally:
        for number, folder in enumerate(folders):
            shutil.rmtree(folder)
            subprocess.run(["cp", "-a", kept / str(number), folder], check=True)


def leftovers():
    """Copies of configurations that stay behind; a run that was killed has them removed in a moment."""
    deadline = time.monotonic() + PATIENCE
    while (found := glob.glob("/tmp/keyveto-sshd.*")) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


# Round trips: (title, sshd_config, more files, what is expected). "options" go to
# enable; other keys are what sshd -T says afterwards, for all or for a user.

EMPTY = ""
WITHOUT_INCLUDE = "Port 22\nUsePAM yes\nPermitRootLogin no\nSubsystem sftp /usr/lib/openssh/sftp-server\n"
COMMAND = "/usr/bin/env true"
BY_GUARD = {"authorizedkeysfile": "none", "authorizedkeyscommanduser": "root"}
CHAINED = {"authorizedkeyscommand": CHAIN + COMMAND, "authorizedkeyscommanduser": "nobody"}
WITH_COMMAND = f"AuthorizedKeysCommand {COMMAND}\nAuthorizedKeysCommandUser nobody\n"


class Shape:
    def __init__(self, title, config, *options, files=None, after=None, users=None, place=DROP_IN, status=0, conf=None,
                 prepare=None, pam=True, alone=False):
        self.title, self.config, self.options, self.files = title, config, options, files
        self.after, self.users, self.place = BY_GUARD if after is None else after, users or {}, place
        self.status, self.conf, self.prepare, self.pam = status, conf, prepare, pam
        self.alone = alone      # the module does the work without a guard


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


def loosen(path):
    """Root's group may write it: Debian's sshd runs it, the guard does not."""
    def prepare(machine):
        machine.path(path).chmod(0o775)
    return prepare


# 10.5 and later take "none" only alone.
NONE_BESIDE = "" if version() >= (10, 1) else " none"
MANY_FILES = " ".join(f".ssh/keys{number}" for number in range(200))


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
    Shape("a 00-keyveto.conf of the administrator's with a Match block", INCLUDE, files={
        DROP_IN: "Match User daemon\nAuthorizedKeysFile /etc/ssh/daemon_keys\n"}, place=TOP, conf=DEFAULT_FILES, users={
            "daemon": {"authorizedkeysfile": "/etc/ssh/daemon_keys", "authorizedkeyscommand": "none"},
            "root": BY_GUARD}),
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
          "AuthorizedPrincipalsCommandUser daemon\n", after={}, alone=True),
    Shape("an AuthorizedPrincipalsCommand and TrustedUserCAKeys, the guard by name",
          INCLUDE + f"TrustedUserCAKeys /etc/ssh/ca.pub\nAuthorizedPrincipalsCommand {COMMAND} %i\n"
          "AuthorizedPrincipalsCommandUser daemon\n", "--guard", conf=DEFAULT_FILES, pam=False,
          after={**BY_GUARD, "authorizedprincipalscommand": f"{CHAIN}{COMMAND} %i",
                 "authorizedprincipalscommanduser": "daemon"}),
    Shape("an AuthorizedPrincipalsCommand, and keys by a command alone",
          INCLUDE + f"TrustedUserCAKeys /etc/ssh/ca.pub\nAuthorizedPrincipalsCommand {COMMAND}\n"
          f"AuthorizedPrincipalsCommandUser daemon\nAuthorizedKeysFile none\n{WITH_COMMAND}",
          after={**CHAINED, "authorizedprincipalscommand": f"{CHAIN}{COMMAND}",
                 "authorizedprincipalscommanduser": "daemon"}),
    Shape("TrustedUserCAKeys", INCLUDE + "TrustedUserCAKeys /etc/ssh/ca.pub\n", after={}, alone=True),
    Shape("TrustedUserCAKeys in a Match block", INCLUDE + "Match User daemon\n  TrustedUserCAKeys /etc/ssh/ca.pub\n",
          after={}, alone=True),
    Shape("TrustedUserCAKeys, the guard alone", INCLUDE + "TrustedUserCAKeys /etc/ssh/ca.pub\n", "--guard",
          conf=DEFAULT_FILES, after={**BY_GUARD, "authorizedprincipalscommand": "none"}, pam=False, status=1),
    Shape("a file with a blank in its name", INCLUDE + 'AuthorizedKeysFile ".ssh/my keys"\n', "--yes", after={},
          alone=True),
    Shape("two hundred files", INCLUDE + f"AuthorizedKeysFile {MANY_FILES}\n", conf=MANY_FILES),
    Shape("none beside other files", INCLUDE + f"AuthorizedKeysFile{NONE_BESIDE.upper()} .ssh/one{NONE_BESIDE}\n",
          conf=".ssh/one"),
    Shape("a file with a token that sshd does not know there", INCLUDE + "AuthorizedKeysFile .ssh/one .ssh/%k\n", "--yes", after={},
          alone=True),
    Shape("files with wildcards", INCLUDE + "AuthorizedKeysFile .ssh/*.pub\n", conf=".ssh/*.pub"),
    Shape("an AuthorizedKeysCommand without arguments",
          INCLUDE + "AuthorizedKeysFile none\nAuthorizedKeysCommand /usr/bin/env\nAuthorizedKeysCommandUser nobody\n",
          after={"authorizedkeyscommand": CHAIN + "/usr/bin/env %u", "authorizedkeyscommanduser": "nobody"}),
    Shape("an AuthorizedKeysCommand that others may write",
          INCLUDE + "AuthorizedKeysFile none\nAuthorizedKeysCommand /etc/ssh/keys %u\nAuthorizedKeysCommandUser nobody\n",
          files={"/etc/ssh/keys": "#!/bin/sh\n"}, prepare=loosen("/etc/ssh/keys"), after={}, alone=True),
    Shape("a Match block with a command, but no user to run it as",
          INCLUDE + f"Match Address 192.0.2.0/24\nAuthorizedKeysCommand {COMMAND}\n", after={}, alone=True),
    Shape("a Match block with a user for no command",
          INCLUDE + "Match Address 192.0.2.0/24\nAuthorizedKeysCommandUser nobody\n", after={}, alone=True),
    Shape("Match blocks that set files and commands by themselves",
          INCLUDE + f"Match User a\nAuthorizedKeysFile .ssh/a\nMatch User b\n{WITH_COMMAND}", after={}, alone=True),
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
    Shape("a Match block with a principals command that sshd overlooks",
          INCLUDE + f"Match User daemon\n{WITH_COMMAND}AuthorizedPrincipalsCommand {COMMAND} p\n"
          "AuthorizedPrincipalsCommandUser daemon\n", conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": DEFAULT_FILES, "authorizedkeyscommand": COMMAND,
                         "authorizedprincipalscommand": "none" if version() < (10, 0) else f"{COMMAND} p"},
              "root": BY_GUARD}),
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
        if expected == BY_GUARD:
            equal(said["authorizedkeyscommand"], after["authorizedkeyscommand"], f"of {user}")
    if shape.alone:
        equal(differences(before, after), set())
    else:
        contains(machine.read(shape.place), "# BEGIN keyveto", "# END keyveto")
    if shape.conf and shape.after.get("authorizedkeyscommand") != "none":
        equal(after["authorizedkeyscommand"], by_files(shape.conf, "no" if before["strictmodes"] == "no" else STRICTMODES))
    lacks(machine.read("/etc/keyveto/keyveto.conf"), "# BEGIN keyveto")
    equal(machine.first_session_line() == MODULE_LINE + (ALONE if shape.alone else ""), shape.pam)


def round_trip(machine, shape):
    if shape.prepare:
        shape.prepare(machine)
    before, snapshot = machine.settings(), machine.snapshot()
    said = {user: machine.settings(user) for user in ("root", "daemon")}
    machine.run("status", status=1)
    dry = machine.run("enable", "--dry-run", *shape.options, status=0)
    contains(dry.stdout, "pam_keyveto.so" if shape.alone else "AuthorizedKeysCommand ")
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


def sshd_of_version(folder, name):
    """This machine's sshd, which calls itself another version."""
    path = folder / "sshd"
    path.write_text(f'#!/bin/sh\n[ "$1" = -V ] && {{ echo "{name}, OpenSSL" >&2; exit 0; }}\nexec {SSHD} "$@"\n',
                    encoding="ascii")
    path.chmod(0o755)
    return path


@case("the guard is told the client's address, and of wildcards, where the local sshd has them")
def _(scratch):
    for number, (name, connection, wildcards) in enumerate((
            ("OpenSSH_9.3p2 Debian-1", False, False), ("OpenSSH_9.4p1", True, False), ("OpenSSH_9.9p2", True, False),
            ("OpenSSH_10.0p2 Debian-7", True, True), ("OpenSSH_11.1", True, True), ("another sshd", False, False))):
        folder = scratch / str(number)
        folder.mkdir()
        image = Machine(folder, folder / "image", INCLUDE)
        image.run("enable", "--sshd", sshd_of_version(folder, name), status=0)
        equal(" --connection %C" in image.settings()["authorizedkeyscommand"], connection, name)
        equal(image.settings()["authorizedkeyscommand"].endswith(f" --wildcards {'yes' if wildcards else 'no'}"), True, name)


# Before anything is changed.

class Image(Machine):
    """An image with a clean account, one with a leaked key, and one with both."""

    def __init__(self, scratch, config=INCLUDE, **settings):
        super().__init__(scratch, scratch / "image", config, **settings)
        for path in ("/etc/passwd", "/etc/group"):
            self.path(path).write_text("", encoding="ascii")
        self.write("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n"
                   "sshd:x:103:65534::/run/sshd:/bin/false\n")
        self.write("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
        self._uid = 20000

    def account(self, name, *lines, where=".ssh/authorized_keys"):
        self._uid += 1
        for path, line in (("/etc/passwd", f"{name}:x:{self._uid}:{self._uid}::/home/{name}:/bin/sh\n"),
                           ("/etc/group", f"{name}:x:{self._uid}:\n")):
            self.write(path, self.read(path) + line)
        home = self.path(f"/home/{name}")
        home.mkdir(parents=True)
        self.path("/home").chmod(0o755)
        path = self.write(where if where.startswith("/") else f"/home/{name}/{where}",
                          "".join(f"{line}\n" for line in lines), 0o600)
        while path != self.path("/home") and home in (path, *path.parents):
            os.chown(path, self._uid, self._uid)
            path = path.parent
        return home


def must_refuse(machine, *options, status=2, says=()):
    """enable does nothing, and says why."""
    snapshot = machine.snapshot()
    done = machine.run("enable", *options, status=status)
    contains(done.stdout + done.stderr, *says)
    restored(snapshot, machine.snapshot())
    equal(leftovers(), [])
    return done


@case("the rehearsal names who would be refused and who locked out, and goes no further")
def _(scratch):
    image = Image(scratch)
    filter_of(scratch)
    image.account("alice", _made["clean"])
    image.account("mallory", "# comment", _made["leaked"])
    image.account("bob", _made["leaked"], _made["clean"])
    done = must_refuse(image, status=1, says=(
        "/home/mallory/.ssh/authorized_keys:2: listed: ", "locked out, with no key left that is not listed: mallory\n",
        "refused with a listed key, let in with another: bob\n", "2 accounts with a listed key, 1 of them", "--yes"))
    lacks(done.stdout, "alice")
    image.run("enable", "--dry-run", status=0)
    image.run("enable", "--yes", status=0)
    image.run("disable", status=0)


@case("an account that cannot be judged is no clean one")
def _(scratch):
    image = Image(scratch)
    filter_of(scratch)
    home = image.account("alice", _made["clean"])
    (home / ".ssh/authorized_keys").unlink()
    (home / ".ssh/authorized_keys").symlink_to("nothing")
    done = must_refuse(image, status=1, says=("could not all be judged: alice\n", "--yes"))
    lacks(done.stdout, "refused")
    image.run("enable", "--dry-run", status=0)
    for option in ("--warn", "--yes"):
        image.run("enable", option, status=0)
        image.run("disable", status=0)


@case("where sshd does not tell an account's files, nobody is said to be safe")
def _(scratch):
    image = Image(scratch, INCLUDE + "Match User *\nX11Forwarding no\nMatch Group nogroup\nAuthorizedKeysFile .ssh/a\n")
    odd = scratch / "odd"
    odd.write_text(f'#!/bin/sh\ncase "$*" in *user=nobody,*) echo gone; exit 255;; esac\nexec {SSHD} "$@"\n',
                   encoding="ascii")
    odd.chmod(0o755)
    must_refuse(image, "--sshd", odd, status=1, says=("gone", "--yes"))


@case("a listed CA stops the rehearsal, since all its certificates would be refused")
def _(scratch):
    filter_of(scratch)
    image = Image(scratch, INCLUDE + "Match User nobody\nTrustedUserCAKeys /etc/ssh/ca.pub\n")
    image.write("/etc/ssh/ca.pub", f"{_made['clean']}\n")
    image.run("enable", "--dry-run", status=0)
    image.write("/etc/ssh/ca.pub", f"{_made['clean']}\n{_made['leaked']}\n")
    must_refuse(image, status=1, says=("/etc/ssh/ca.pub:2: listed: ", "1 listed CA in TrustedUserCAKeys", "--yes"))
    image.run("enable", "--yes", status=0)


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@case("on a full disk nothing is half done")
def _(scratch):
    with small_disk(scratch / "image", "16m"):
        image = Image(scratch, INCLUDE + "Match User nobody\nAuthorizedKeysFile .ssh/n\n")
        snapshot, filler = image.snapshot(), image.path("/filler")
        ends = set()
        for pages in range(0, 24):
            with open(filler, "wb", buffering=0) as out:
                with contextlib.suppress(OSError):
                    while out.write(bytes(4096)):
                        pass
            os.truncate(filler, filler.stat().st_size - pages * 4096)
            done = image.run("enable")
            ends.add(done.returncode)
            image.must_start()
            if done.returncode == 0:
                filler.unlink()
                image.run("status", status=0)
                image.run("disable", status=0)
            else:
                contains(done.stderr, "No space left on device")
                filler.unlink()
            restored(snapshot, image.snapshot())
        equal(ends, {0, 2})


@case("--warn goes on whoever has a listed key, and enable without it enforces, if nobody has")
def _(scratch):
    image = Image(scratch)
    filter_of(scratch)
    image.account("mallory", _made["leaked"])
    snapshot = image.snapshot()
    image.run("enable", "--warn", status=0)
    contains(image.read("/etc/keyveto/keyveto.conf"), "\nOnHit warn\nOnError allow\n")
    contains(image.run("status", status=1).stderr, "OnHit warn")
    image.run("enable", status=1)
    contains(image.read("/etc/keyveto/keyveto.conf"), "\nOnHit warn\n")
    image.path("/home/mallory/.ssh/authorized_keys").write_text(f"{_made['clean']}\n", encoding="ascii")
    image.run("enable", status=0)
    lacks(re.sub("^#.*", "", image.read("/etc/keyveto/keyveto.conf"), flags=re.MULTILINE), "OnHit")
    image.run("status", status=0)
    image.run("disable", status=0)
    restored(snapshot, image.snapshot())


@case("the rehearsal reads the files of each account that sshd would, and an allowed key is one")
def _(scratch):
    filter_of(scratch)
    image = Image(scratch, INCLUDE + "AuthorizedKeysFile /etc/ssh/keys/%u\n")
    image.account("mallory", _made["leaked"], where="/etc/ssh/keys/mallory")
    image.path("/etc/ssh/keys/mallory").chmod(0o644)
    os.chown(image.path("/etc/ssh/keys"), 0, 0)
    image.path("/etc/ssh/keys").chmod(0o755)
    must_refuse(image, status=1, says=("/etc/ssh/keys/mallory:1: listed: ", ": mallory\n"))
    image.write("/etc/keyveto/keyveto.conf", f"AllowKey {_made['leaked'].fingerprint} for now\n")
    image.run("enable", status=0)
    image.run("disable", status=0)


@case("an image's links to folders lead to places in it, for Include too")
def _(scratch):
    image = Image(scratch, "Include /etc/ssh/site/*.conf\nUsePAM yes\n")
    outside = f"/tmp/site-{os.getpid()}"
    image.path("/etc/ssh/site").symlink_to(outside)
    image.write(f"{outside}/10-in.conf", "AuthorizedKeysFile .ssh/in\n")
    Path(outside).mkdir()
    try:
        Path(outside, "10-out.conf").write_text("AuthorizedKeysFile .ssh/out\n", encoding="ascii")
        image.run("enable", "--guard", status=0)
    finally:
        shutil.rmtree(outside)
    equal(image.settings()["authorizedkeyscommand"], by_files(".ssh/in"))


@case("an image's links lead nowhere out of it")
def _(scratch):
    filter_of(scratch)
    image = Image(scratch)
    outside = scratch / "outside"
    outside.write_text(f"{_made['leaked']}\n", encoding="ascii")
    outside.chmod(0o644)
    home = image.account("mallory", _made["clean"])
    (home / ".ssh/authorized_keys").unlink()
    (home / ".ssh/authorized_keys").symlink_to(outside)
    # Of the image such a link leads to nothing, which cannot be read.
    contains(image.run("enable", "--dry-run", status=0).stderr, "symbolic link to nothing")
    (scratch / "sshd.conf").write_text(INCLUDE)
    image.path(TOP).unlink()
    image.path(TOP).symlink_to(scratch / "sshd.conf")
    contains(image.run("enable", status=2).stderr, f"{TOP}: No such file or directory")


def broken_guard(image):
    image.path(GUARD).unlink()


def loose_guard(image):
    image.path(GUARD).chmod(0o775)


def loose_folder(image):
    image.path(GUARD).parent.chmod(0o777)


def no_module(image):
    image.path(PAM_FOLDER / "pam_keyveto.so").unlink()


def no_filter(image):
    image.path("/var/lib/keyveto/filter.pkbf").unlink()


def loose_filter(image):
    image.path("/var/lib/keyveto/filter.pkbf").chmod(0o666)


def short_filter(image):
    image.path("/var/lib/keyveto/filter.pkbf").write_bytes(b"pkbf")


def bad_config(image):
    image.write("/etc/keyveto/keyveto.conf", "OnHit perhaps\n")


def no_config(image):
    image.path("/etc/keyveto/keyveto.conf").unlink()


def bad_stack(image):
    image.write("/etc/pam.d/sshd", "session whatever pam_unix.so\n")


def bad_sshd_config(image):
    image.write(TOP, INCLUDE + "NoSuchKeyword yes\n")


def mark_without_end(image):
    image.write(TOP, INCLUDE + "# BEGIN keyveto\nPort 22\n")


for prepare, says in ((broken_guard, f"{GUARD}: No such file"), (loose_guard, GUARD),
                      (loose_folder, "/usr/libexec"), (no_module, "pam_keyveto.so: No such file"),
                      (no_filter, "filter.pkbf: No such file"), (loose_filter, "filter.pkbf"),
                      (short_filter, "filter.pkbf"), (bad_config, "/etc/keyveto/keyveto.conf:1:"),
                      (no_config, "/etc/keyveto/keyveto.conf: not there"),
                      (bad_stack, "/etc/pam.d/sshd:1:"), (bad_sshd_config, f"{TOP}: line 3: Bad configuration option"),
                      (mark_without_end, f"{TOP}:3: a mark of keyveto's without the other")):
    def _(scratch, prepare=prepare, says=says):
        image = Image(scratch)
        prepare(image)
        must_refuse(image, says=(says,))
    case(f"enable does nothing with: {prepare.__name__.replace('_', ' ')}")(_)


@case("enable does nothing where the guard could not take over what sshd does")
def _(scratch):
    for number, (config, options, says) in enumerate((
            (INCLUDE + WITH_COMMAND, ("--guard",), "only the PAM module sees both"),
            (INCLUDE.replace("yes", "no"), ("--pam",), "UsePAM is no"),
            (INCLUDE.replace("yes", "no") + "TrustedUserCAKeys /etc/ssh/ca\n", (), "TrustedUserCAKeys is set"),
            (INCLUDE + 'AuthorizedKeysFile ".ssh/my keys"\n', ("--guard",), "a file with a blank"),
            (INCLUDE + "Include ~/.ssh/more\n", (), "sshd_config:3: Include ~/.ssh/more: not an absolute path"),
            (INCLUDE + "AuthorizedKeysFile .ssh/my\\ keys\n", ("--guard", "--pam"), "a file with a blank"),
            (INCLUDE + 'AuthorizedKeysFile ".ssh/a" "#b"\n', ("--guard",), "a file with a blank"),
            (INCLUDE + f"Match User a\nAuthorizedKeysFile .ssh/a\nMatch User b\n{WITH_COMMAND}", ("--guard",),
             "this Match block and another one set one of"),
            (INCLUDE + WITH_COMMAND.replace("nobody", "no-such-user"), (), "no-such-user: there is none"))):
        (scratch / str(number)).mkdir()
        must_refuse(Image(scratch / str(number), config), *options, says=(says,))


SUFFICIENT = "session sufficient pam_succeed_if.so quiet user = alice\n"
WITHOUT_SESSION = "@include common-auth\n@include common-account\n"
# The stack of sshd, and what is said of it.
UNDECIDED = (
    (SUFFICIENT, "no session line is sure to decide"),
    ("session optional pam_permit.so\n", "no session line is sure to decide"),
    ("session required pam_loginuid.so\n", "no session line is sure to decide"),
    ("session substack common-session\n", "no session line is sure to decide"),
    ("session [success=1 default=ignore] pam_env.so\nsession required pam_permit.so\n", "no session line is sure to"),
    (WITHOUT_SESSION, "has no session line, so that PAM opens sessions by /etc/pam.d/other"),
    (None, "not there, so that PAM opens sessions by /etc/pam.d/other"),
)


@case("the module is not put into a PAM stack that its line would decide")
def _(scratch):
    for number, (stack, says) in enumerate(UNDECIDED):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number))
        if stack is None:
            image.path("/etc/pam.d/sshd").unlink()
        else:
            image.write("/etc/pam.d/sshd", stack)
        snapshot = image.snapshot()
        must_refuse(image, "--pam", says=(says, "/etc/pam.d/sshd", "nothing was changed"))
        must_refuse(image, "--pam", "--guard", says=(says,))
        # Without a word the guard does the work alone; with one it always did.
        contains(image.run("enable", status=0).stderr, f"note: the PAM module is left out: {image.root}", says)
        lacks(image.run("enable", "--guard", status=0).stderr, says)
        equal(image.path("/etc/pam.d/sshd").exists() and image.read("/etc/pam.d/sshd"), stack or False)
        contains(image.read(DROP_IN), "AuthorizedKeysCommand")
        image.run("disable", status=0)
        restored(snapshot, image.snapshot())
        # Nothing is put in where the guard cannot be either.
        image.write(TOP, INCLUDE + "TrustedUserCAKeys /etc/ssh/ca.pub\n")
        must_refuse(image, says=("TrustedUserCAKeys is set", "nor can the PAM module: ", says))
        image.write(TOP, INCLUDE + "AuthorizedKeysFile none\n")
        must_refuse(image, says=(says, "nothing was changed"))


@case("the line that is advised for a stack without session lines makes one that the module can be put into")
def _(scratch):
    image = Image(scratch)
    image.write("/etc/pam.d/sshd", WITHOUT_SESSION + "session include other\n")
    image.run("enable", "--pam", status=0)
    equal(image.first_session_line(), MODULE_LINE + ALONE)


@case("a module in a stack that its line decides is told of, and taken out by the next enable")
def _(scratch):
    image = Image(scratch)
    image.run("enable", status=0)
    lacks(image.run("status", status=0).stderr, "decides the stack")
    image.write("/etc/pam.d/sshd", image.read("/etc/pam.d/sshd").replace(STOCK_STACK, SUFFICIENT))
    contains(image.run("status", status=0).stderr, "/etc/pam.d/sshd:2: this line decides the stack")
    must_refuse(image, "--pam", says=("no session line is sure to decide",))
    contains(image.run("enable", status=0).stderr, "the PAM module is left out")
    equal(image.read("/etc/pam.d/sshd"), SUFFICIENT)
    image.run("status", status=0)


@case("a filter that a chained command's user cannot read is refused")
def _(scratch):
    image = Image(scratch, INCLUDE + "AuthorizedKeysFile none\n" + WITH_COMMAND)
    image.path("/var/lib/keyveto/filter.pkbf").chmod(0o600)
    must_refuse(image, says=("filter.pkbf", "read as nobody"))
    image.path("/var/lib/keyveto/filter.pkbf").chmod(0o644)
    image.run("enable", status=0)


@case("an sshd that is not there is named")
def _(scratch):
    for verb in ("enable", "status"):
        contains(Image(scratch / verb).run(verb, "--sshd", "/no/sshd", status=2).stderr, "/no/sshd: No such file")


@case("only root may do it, and options are checked")
def _(scratch):
    image = Image(scratch)
    for words in (("enable", "--reload"), ("status", "--yes"), ("disable", "--guard"), ("enable", "thing"),
                  ("enable", "--sshd", "sshd"), ("enable", "--timeout", "0"), ("sing",), ()):
        image.run(*words, status=2)
    done = keyveto("sshd", "status", "--root", scratch / "nothing", status=2)
    contains(done.stderr, "No such file or directory")
    done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", shutil.copy(
        os.environ.get("KEYVETO", ROOT / "build/keyveto"), "/usr/bin/keyveto"), "sshd", "status"], capture_output=True,
                          text=True, check=False)
    os.unlink("/usr/bin/keyveto")
    equal(done.returncode, 2)
    contains(done.stderr, "only root")


# What goes wrong on the way.

def wrapper(scratch, body):
    """An sshd that counts how often it is asked to test its configuration."""
    path = scratch / "odd-sshd"
    path.write_text(f'#!/bin/sh\ncase " $* " in *" -t "*) echo >>{scratch}/asked;; esac\n'
                    f'n=$(wc -l <{scratch}/asked 2>/dev/null || echo 0)\n{body}\nexec {SSHD} "$@"\n', encoding="ascii")
    path.chmod(0o755)
    (scratch / "asked").write_text("", encoding="ascii")
    return path


@case("if sshd refuses what was written, everything is put back by itself")
def _(scratch):
    image = Image(scratch, WITHOUT_INCLUDE)
    sshd = wrapper(scratch, 'case " $* " in *" -t "*) [ $n -lt 2 ] || { echo no such thing; exit 255; };; esac')
    must_refuse(image, "--sshd", sshd, says=("no such thing", "everything was put back as it was"))
    # The same when it was on before: then that is what stays.
    image.run("enable", "--warn", status=0)
    (scratch / "asked").write_text("", encoding="ascii")
    must_refuse(image, "--sshd", sshd, says=("everything was put back as it was",))
    image.run("status", status=1)


@case("a file that comes while the others are written is not overlooked")
def _(scratch):
    image = Image(scratch)
    sshd = wrapper(scratch, f'[ $n -lt 1 ] || echo "AuthorizedKeysFile .ssh/late" '
                   f'>{image.path("/etc/ssh/sshd_config.d/00-a.conf")}')
    done = image.run("enable", "--guard", "--sshd", sshd, status=2)
    contains(done.stderr, "was changed meanwhile", "everything was put back as it was")
    lacks(image.read("/etc/keyveto/keyveto.conf"), "# BEGIN keyveto")


@case("what was not put in is not put in by the next run either")
def _(scratch):
    image = Image(scratch)
    image.run("enable", "--guard", status=0)
    sshd = wrapper(scratch, 'case " $* " in *" -t "*) [ $n -lt 2 ] || { echo no such thing; exit 255; };; esac')
    image.run("enable", "--pam", "--sshd", sshd, status=2)
    image.run("enable", "--guard", status=0)
    equal(image.first_session_line(), "@include common-auth")


@case("what is on stays on, though the state is lost")
def _(scratch):
    image = Image(scratch)
    image.run("enable", "--pam", status=0)
    shutil.rmtree(image.path("/var/lib/keyveto/sshd-state"))
    image.run("enable", "--guard", status=0)
    equal(image.first_session_line(), "session requisite pam_keyveto.so")
    contains(image.read(DROP_IN), "AuthorizedKeysCommand")


@case("a file that cannot be replaced stops it, and the others are put back")
def _(scratch):
    image = Image(scratch)
    snapshot = image.snapshot()
    # A bind mount has no other name that a rename could give it.
    for path in ("/etc/pam.d/sshd", "/etc/keyveto/keyveto.conf"):
        target = str(image.path(path))
        subprocess.run(["mount", "--bind", target, target], check=True)
        try:
            done = image.run("enable", "--warn", status=2)
            contains(done.stderr, "cannot be replaced", "everything was put back")
            restored(snapshot, image.snapshot())
        finally:
            subprocess.run(["umount", target], check=True)
    image.run("enable", status=0)


CALLS = ("mkdirat", "linkat", "renameat", "renameat2", "unlinkat", "fsync")


def kills(image, verb):
    """Kills a run with SIGKILL at each call that names, makes or removes something; how often that was."""
    count = 0
    for call in CALLS:
        number = 1
        while killed_at(image, verb, call, number):
            # Until what it started has ended, it may still hold the lock.
            equal(leftovers(), [])
            yield count
            count += 1
            number += 1
        yield None


def killed_at(image, verb, call, number):
    """Whether the run was killed, or came to its end before."""
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                           f"inject={call}:signal=KILL:when={number}", os.environ.get("KEYVETO", ROOT / "build/keyveto"),
                           "sshd", verb, "--root", image.root], capture_output=True, check=False, timeout=PATIENCE,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})     # which cannot be with strace
    assert done.returncode in (0, -9, 137), done
    return done.returncode != 0


def remove_litter(image):
    """What a killed run may leave: its lock, those of files, and what was not finished; none does harm."""
    equal(leftovers(), [])
    for path in image.path("/").rglob(".*.lock"):
        path.unlink()
    for path in image.path("/").rglob(".*.keyveto-new"):
        path.unlink()
    shutil.rmtree(image.path("/var/lib/keyveto/sshd-state.new"), ignore_errors=True)


@case("killed anywhere, disable leads back and enable leads on")
def _(scratch):
    image = Image(scratch, INCLUDE + "Match User nobody\nAuthorizedKeysFile .ssh/n\n")
    snapshot = image.snapshot()
    image.run("enable", status=0)
    enabled = image.snapshot()
    image.run("disable", status=0)
    restored(snapshot, image.snapshot())
    most = 0
    for number in kills(image, "enable"):
        image.must_start()
        if number is None:              # it came through
            restored(enabled, image.snapshot())
        elif number % 2:
            image.run("enable", status=0)
            remove_litter(image)
            restored(enabled, image.snapshot())
        most = max(most, number or 0)
        image.run("disable", status=0)
        remove_litter(image)
        restored(snapshot, image.snapshot())
    assert most > 20, f"killed only {most} times"
    most = 0
    image.run("enable", status=0)
    for number in kills(image, "disable"):
        image.must_start()
        if number is not None:
            image.run("disable" if number % 2 else "enable", status=0)
            image.run("disable", status=0)
        most = max(most, number or 0)
        remove_litter(image)
        restored(snapshot, image.snapshot())
        image.run("enable", status=0)
    assert most > 12, f"killed only {most} times"


@case("killed while it removes what it kept, in whatever order, disable can be run again")
def _(scratch):
    image = Image(scratch)
    state = image.path("/var/lib/keyveto/sshd-state")
    for number in range(1, 20):
        image.run("enable", "--warn", status=0)
        # Some file systems list the oldest file first, others the newest: another one than the manifest, here.
        manifest = state / "manifest.json"
        for path in sorted(state.iterdir(), key=lambda path: path != manifest, reverse=next(state.iterdir()) != manifest):
            content = path.read_bytes()
            path.unlink()
            path.write_bytes(content)
        assert next(state.iterdir()) != manifest
        came_through = not killed_at(image, "disable", "unlinkat", number)
        image.run("disable", status=0)
        assert not state.exists()
        if came_through:
            break
    assert number > 5


@contextlib.contextmanager
def systemd(scratch, active):
    """A systemctl that notes what it is told; by it these units are active."""
    program, folder = Path("/usr/bin/systemctl"), Path("/run/systemd/system")
    kept = program.read_bytes() if program.exists() else None
    program.write_text(f'#!/bin/sh\necho "$*" >>{scratch}/told\n'
                       f'[ "$1" != --quiet ] || case " {active} " in *" $3 "*) ;; *) exit 3;; esac\n', encoding="ascii")
    program.chmod(0o755)
    (scratch / "told").write_text("", encoding="ascii")
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield lambda: (scratch / "told").read_text(encoding="ascii").splitlines()
    finally:
        if kept is None:
            program.unlink()
        else:
            program.write_bytes(kept)
        if made:
            folder.rmdir()


@case("--reload asks systemd for the unit that is active, before keyveto.conf changes on the way back")
def _(scratch):
    with this_machine(scratch, config=INCLUDE + "AuthorizedKeysFile .ssh/k\n") as machine:
        snapshot = machine.snapshot()
        for active, last in (("ssh.service", "reload ssh.service"), ("sshd.service", "reload sshd.service"),
                             # A reload would end it; and where none runs, there is nothing to reload.
                             ("ssh.service ssh.socket", "try-restart ssh.service"),
                             ("ssh.socket", "is-active ssh.socket"), ("sshd.socket", "is-active sshd.socket")):
            with systemd(scratch, active) as told:
                contains(machine.run("enable", "--reload", status=0).stdout, "sshd goes by it now")
                equal(told()[-1], f"--quiet {last}")
                lacks(machine.run("disable", "--reload", status=0).stdout, "reload")
                equal(told()[-1], f"--quiet {last}")
                restored(snapshot, machine.snapshot())
        # Neither systemd knows of one, nor is there a PID file.
        with systemd(scratch, "") as told:
            done = machine.run("enable", "--reload", status=2)
            contains(done.stderr, "names no running sshd; nothing was reloaded")
            contains(done.stdout, "lines put into", "once it is reloaded")
            lacks("".join(told()), "reload", "restart")
            done = machine.run("disable", "--reload", status=2)
            contains(done.stderr, "names no running sshd", "stay for now")
            equal(machine.settings()["authorizedkeysfile"], ".ssh/k")
            equal(machine.first_session_line(), "session requisite pam_keyveto.so")
            # Though nothing of sshd's is left to take out, it still runs the guard.
            contains(machine.run("disable", "--reload", status=2).stderr, "names no running sshd", "stay for now")
            equal(machine.first_session_line(), "session requisite pam_keyveto.so")
            contains(machine.run("disable", status=0).stdout, "until it is reloaded")
            restored(snapshot, machine.snapshot())
            done = machine.run("disable", "--reload", status=2)
            contains(done.stderr, "names no running sshd", "sshd was not reloaded")


@contextlib.contextmanager
def unit(text):
    """A systemd that shows this for ssh.service, as `systemctl show --property=ExecStart` does."""
    program, folder = Path("/usr/bin/systemctl"), Path("/run/systemd/system")
    kept = program.read_bytes() if program.exists() else None
    program.write_text(f"#!/bin/sh\ncase $* in\n*is-active*) exit 3;;\n*' ssh.service') cat <<'EOF'\n{text}\nEOF\nesac\n",
                       encoding="ascii")
    program.chmod(0o755)
    folder.mkdir(parents=True)
    try:
        yield
    finally:
        folder.rmdir()
        program.unlink()
        if kept is not None:
            program.write_bytes(kept)
            program.chmod(0o755)


@contextlib.contextmanager
def defaults(text):
    path = Path("/etc/default/ssh")
    kept = path.read_bytes() if path.exists() else None
    path.write_text(text, encoding="ascii")
    try:
        yield
    finally:
        path.unlink()
        if kept is not None:
            path.write_bytes(kept)


EIC = '"AuthorizedKeysCommand /usr/share/eic/run %u %f" -o "AuthorizedKeysCommandUser eic"'


@case("options that sshd is started with stop enable, and status does not vouch for what they lead past")
def _(scratch):
    start = "ExecStart={{ path=/usr/sbin/sshd ; argv[]=/usr/sbin/sshd -D -o {} $SSHD_OPTS ; ignore_errors=no ; pid=0 }}"
    with this_machine(scratch) as machine:
        image = Image(scratch / "image", STOCK_CONFIG)
        wholes = [(unit(start.format(words)), "ssh.service", parts)
                  for words, parts in ((EIC, ("AuthorizedKeysCommand=/usr/share/eic/run", "AuthorizedKeysCommandUser=eic")),
                                       (EIC.replace('"', ""), ("AuthorizedKeysCommand=/usr/share/eic/run",)),
                                       (EIC.replace('"', "'"), ("AuthorizedKeysCommand=/usr/share/eic/run",)))]
        wholes += [(defaults(f'SSHD_OPTS="-4 -o {keyword}={value}"\n'), "/etc/default/ssh", (f"{keyword}={value}",))
                   for keyword, value in (("authorizedkeysfile", "/etc/keys/%u"), ("UsePAM", "no"), ("StrictModes", "no"),
                                          ("Include", "/etc/ssh/more"), ("AuthenticationMethods", "publickey"),
                                          ("TrustedUserCAKeys", "/etc/ssh/ca"), ("PubkeyAuthentication", "no"),
                                          ("AuthorizedPrincipalsFile", "none"), ("HostbasedAuthentication", "yes"))]
        for number, (where, place, parts) in enumerate(wholes):
            with where:
                before = machine.snapshot()
                for options in (("--warn", "--yes"), ("--dry-run",))[:1 if number else 2]:
                    done = machine.run("enable", *options, status=2)
                    contains(done.stderr, *(f"{place}: -o {part} counts before" for part in parts), "nothing was changed",
                             "at the top of /etc/ssh/sshd_config")
                    restored(before, machine.snapshot())
                if number:
                    continue
                # Without keyveto there is an open way, which is the worse of the two.
                contains(machine.run("status", status=1).stderr, f"{place}: -o {parts[0]} counts before")
                # Nothing of this machine counts below another root.
                lacks(image.run("enable", status=0).stderr, "counts before")
                lacks(image.run("status", status=0).stderr, "counts before")
        with defaults("SSHD_OPTS='-o UsePAM=yes -o StrictModes=yes -o LogLevel=VERBOSE -4'\n"):
            machine.run("enable", status=0)
            machine.run("status", status=0)
        with defaults("SSHD_OPTS=-oUsePAM=no\n"):
            contains(machine.run("status", status=2).stderr, "cannot be told", "keyveto sshd disable --reload")
            contains(machine.run("status", "--json", status=2).stderr, "cannot be told")
            contains(machine.run("enable", status=2).stderr, "run 'keyveto sshd disable --reload'")
            machine.run("disable", status=0)


@case("a unit that starts sshd with another file stops enable if that includes keyveto's lines, or cannot be read")
def _(scratch):
    other = scratch / "other"
    with this_machine(scratch) as machine:
        for text, part in ((None, "No such file"), ("Include sshd_config.d/*.conf\n", "includes /etc/ssh/sshd_config.d/00"),
                           ("Include /etc/ssh/sshd_config\n", "includes /etc/ssh/sshd_config"),
                           ("Include ~/x\n", "cannot be told")):
            if text is not None:
                other.write_text(text, encoding="ascii")
            with defaults(f"SSHD_OPTS='-f {other}'\n"):
                before = machine.snapshot()
                contains(machine.run("enable", "--warn", status=2).stderr,
                         f"/etc/default/ssh: its configuration is {other}", part)
                restored(before, machine.snapshot())
                # The module alone writes none of sshd's files.
                machine.run("enable", "--pam", status=2 if part in ("No such file", "cannot be told") else 0)
                machine.run("disable", status=0)
        with defaults("SSHD_OPTS='-f other'\n"):
            contains(machine.run("enable", status=2).stderr, "nobody can tell where that is")
        link = scratch / "link"
        link.symlink_to("/etc/ssh/sshd_config")
        for path in ("/etc/ssh/sshd_config", "/etc/ssh/../ssh/sshd_config", link):
            with defaults(f"SSHD_OPTS='-f {path}'\n"):
                machine.run("enable", status=0)
                machine.run("status", status=0)
                machine.run("disable", status=0)
        other.write_text("UsePAM no\n", encoding="ascii")
        for path in (other, "none"):
            with defaults(f"SSHD_OPTS='-o UsePAM=no -f {path}'\n"):
                contains(machine.run("enable", status=0).stderr, f"note: /etc/default/ssh: its configuration is {path}")
                contains(machine.run("status", status=2).stderr, f"its configuration is {path}, and not looked at")
                machine.run("disable", status=0)


@contextlib.contextmanager
def listener(scratch, *words, root=None):
    """A process of root's that shows what an sshd shows that was started with these words, and listens."""
    program = scratch / "sshd"
    shutil.copy("/bin/sleep", program)
    title = " ".join(("sshd: /usr/sbin/sshd -D", *words, "[listener] 0 of 10-100 startups"))
    with subprocess.Popen([title, "1000"], executable=program, preexec_fn=root and (lambda: os.chroot(root))) as process:
        try:
            yield f"sshd, process {process.pid}"
        finally:
            process.kill()


@case("words in an option's value that look like options hide no option of a running sshd")
def _(scratch):
    with this_machine(scratch) as machine:
        for words in (("-o AuthorizedKeysCommand /opt/keys -t %t -u %u",), ("-o ForceCommand=/bin/x -t", "-o UsePAM=no"),
                      ("-o AuthorizedKeysCommand=/opt/keys -f /etc/ssh/moduli %u",), ("-o AuthorizedKeysFile\\t/etc/keys",),
                      ("-o ForceCommand /bin/x -f /etc/ssh/moduli", "-oStrictModes=no")):
            with listener(scratch, *words) as place:
                contains(machine.run("enable", "--warn", status=2).stderr, f"{place}: -o ", "counts before", "nothing was changed")
                contains(machine.run("status", status=1).stderr, f"{place}: -o ", "counts before")
        with listener(scratch, "-o ForceCommand=/bin/x -t", "-oCiphers=aes256-ctr"):
            lacks(machine.run("enable", "--dry-run", status=0).stderr, "sshd, process")


@case("an sshd in a chroot with an sshd_config of its own is noted, one with this machine's counts")
def _(scratch):
    room = scratch / "room"
    (room / "etc/ssh").mkdir(parents=True)
    # The loader, the library and the program, by the names that they have here.
    for place in ("usr", "lib", "lib64", scratch.relative_to("/")):
        (room / place).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", f"/{place}", room / place], check=True)
    with this_machine(scratch / "here") as machine, contextlib.ExitStack() as mounts:
        for place in (scratch.relative_to("/"), "lib64", "lib", "usr"):
            mounts.callback(subprocess.run, ["umount", "--lazy", room / place], check=True)
        (room / "etc/ssh/sshd_config").write_text("Port 2222\n", encoding="ascii")
        with listener(scratch, "-o UsePAM=no", root=room) as place:
            contains(machine.run("enable", "--dry-run", status=0).stderr, f"note: {place}: it runs in a chroot")
        (room / "etc/ssh/sshd_config").unlink()
        os.link("/etc/ssh/sshd_config", room / "etc/ssh/sshd_config")
        with listener(scratch, "-o UsePAM=no", root=room) as place:
            contains(machine.run("enable", "--dry-run", status=2).stderr, f"{place}: -o UsePAM=no counts before")


@case("the shell's ways to write /etc/default/ssh: comments, export, lines that go on")
def _(scratch):
    with this_machine(scratch) as machine:
        for text, status in (('SSHD_OPTS="-4" # such as -o UsePAM=no\n', 0), ("SSHD_OPTS= # -o UsePAM=no\n", 0),
                             ('SSHD_OPTS="-4 # -o UsePAM=no"\n', 2), ("export SSHD_OPTS=-oUsePAM=no\n", 2),
                             ('SSHD_OPTS="-4 \\\n -o UsePAM=no"\n', 2), ('SSHD_OPTS+=" -o UsePAM=no"\n', 2),
                             ("SSHD_OPTS=-o\\ UsePAM=no\n", 2), ("A=\0\nSSHD_OPTS=-oUsePAM=no\n", 2),
                             ("exported=-oUsePAM=no\nexport\n", 0)):
            with defaults(text):
                done = machine.run("enable", "--dry-run", status=status)
                (contains if status else lacks)(done.stderr, "/etc/default/ssh: -o UsePAM=no counts before")
        with defaults('SSHD_OPTS="$MORE"\n'):
            contains(machine.run("enable", "--dry-run", status=0).stderr, "note: /etc/default/ssh: it takes options from elsewhere")
        with defaults("#" * 70000):
            contains(machine.run("enable", "--dry-run", status=0).stderr, "note: /etc/default/ssh: File too large")


@case("a line of NIS in /etc/passwd is no account, and no hindrance")
def _(scratch):
    passwd = Path("/etc/passwd")
    kept = passwd.read_text(encoding="utf-8")
    with this_machine(scratch) as machine:
        image = Image(scratch / "image", STOCK_CONFIG)
        image.write("/etc/passwd", kept + "-guest::::::\n+::::::\n")
        lacks(image.run("enable", "--dry-run", status=0).stderr, "+", "-guest")
        try:
            passwd.write_text(kept + "-guest::::::\n+::::::\n", encoding="utf-8")
            machine.run("enable", status=0)
            machine.run("status", status=0)
        finally:
            passwd.write_text(kept, encoding="utf-8")


@case("what cannot be seen of sshd's arguments is noted, and no hindrance")
def _(scratch):
    with this_machine(scratch) as machine:
        for path, call in (("/proc", "getdents64"), ("/etc/default/ssh", "read")):
            with defaults("SSHD_OPTS=-4\n"):
                done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-P", path, "-e", f"trace={call}", "-e",
                                       f"inject={call}:error=EIO", os.environ.get("KEYVETO", ROOT / "build/keyveto"), "sshd",
                                       "enable"], capture_output=True, text=True, check=False, timeout=PATIENCE,
                                      env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
                equal(done.returncode, 0, done.stderr)
                contains(done.stderr, f"note: {path}: Input/output error: what sshd is started with cannot be seen there")
                machine.run("status", status=0)
                machine.run("disable", status=0)


@case("two at a time do not get in each other's way")
def _(scratch):
    image = Image(scratch)
    sshd = wrapper(scratch, 'sleep 0.2')
    argv = [os.environ.get("KEYVETO", str(ROOT / "build/keyveto")), "sshd", "enable", "--root", str(image.root), "--sshd",
            str(sshd)]
    runs = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    ends = [(one.communicate()[1], one.returncode) for one in runs]
    assert any(status == 0 for _, status in ends), ends
    for text, status in ends:
        assert status == 0 or "another keyveto sshd is at work" in text, text
    image.run("status", status=0)


@case("access control lists stay")
def _(scratch):
    image = Image(scratch, WITHOUT_INCLUDE)
    # Version 2; the owner rw, user 2 r, the group r, the mask r, others r.
    entries = ((1, 6, NO_ID), (2, 4, 2), (4, 4, NO_ID), (16, 4, NO_ID), (32, 4, NO_ID))
    wanted = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)
    os.setxattr(image.path(TOP), "system.posix_acl_access", wanted)
    for verb in ("enable", "disable"):
        image.run(verb, status=0)
        equal(os.getxattr(image.path(TOP), "system.posix_acl_access"), wanted)


# What others do in between.

@case("what the administrator changed since stays, and only keyveto's lines go")
def _(scratch):
    image = Image(scratch, WITHOUT_INCLUDE)
    image.run("enable", status=0)
    config = image.read(TOP)
    image.write(TOP, config + "PrintMotd no\n", 0o600)
    image.write("/etc/pam.d/sshd", "# on top\n" + image.read("/etc/pam.d/sshd"))
    done = image.run("disable", status=0)
    contains(done.stderr, f"{TOP}: was changed since", "/etc/pam.d/sshd: was changed since")
    equal(image.read(TOP), WITHOUT_INCLUDE + "PrintMotd no\n")
    equal(stat.S_IMODE(image.path(TOP).stat().st_mode), 0o600)
    equal(image.read("/etc/pam.d/sshd"), "# on top\n" + STOCK_STACK)


@case("lines that were added to keyveto's own file stay in it")
def _(scratch):
    image = Image(scratch)
    image.run("enable", status=0)
    image.write(DROP_IN, image.read(DROP_IN) + "PrintMotd no\n")
    contains(image.run("disable", status=0).stderr, f"{DROP_IN}: has other lines")
    equal(image.read(DROP_IN), "PrintMotd no\n")


@case("lines that were added between keyveto's marks stay, and keep out whom they kept out")
def _(scratch):
    image = Image(scratch, INCLUDE)
    image.run("enable", "--warn", status=0)
    conf = "/etc/keyveto/keyveto.conf"
    kept = {DROP_IN: "AllowUsers root\n", "/etc/pam.d/sshd": "account required pam_access.so\n",
            conf: f"AllowKey SHA256:{'A' * 43} until=2999-01-01 mine\n"}
    for path, line in kept.items():
        image.write(path, image.read(path).replace("# END keyveto", f"{line}# END keyveto"))
    for words, before in ((("enable",), True), (("enable", "--warn"), True), (("disable",), False)):
        image.run(*words, status=0)
        equal(image.settings()["allowusers"], "root")
        for path, line in kept.items():
            contains(re.sub("(?ms)^# BEGIN keyveto.*?^# END keyveto\n", "", image.read(path)), line)
            equal("# BEGIN keyveto" in image.read(path), before and (path != conf or "--warn" in words))


@case("AuthorizedKeysFile none that was moved out of the marks does not stay alone")
def _(scratch):
    none = "AuthorizedKeysFile none\n"
    image = Image(scratch, INCLUDE)
    for options in ((), ("--warn",)):
        image.run("enable", *options, status=0)
        drop_in, top = image.read(DROP_IN), image.read(TOP)
        for place, text in ((DROP_IN, none + drop_in.replace(none, "")), (TOP, top + none)):
            image.write(place, text)
            snapshot = image.snapshot()
            for words in (("disable",), ("enable",), ("enable", "--pam")):
                contains(image.run(*words, status=2).stderr, f"{place}: AuthorizedKeysFile is none here", "nothing was changed")
                restored(snapshot, image.snapshot())
            image.write(TOP, top)
            image.write(DROP_IN, drop_in)
        image.run("disable", status=0)
    # Where sshd takes no keys anyhow, that is no hindrance.
    image.write(TOP, INCLUDE + none)
    image.run("enable", "--pam", status=0)
    image.run("disable", status=0)


@case("files that went, and blocks that were taken out by hand, are no hindrance")
def _(scratch):
    image = Image(scratch)
    image.run("enable", status=0)
    image.path(DROP_IN).unlink()
    image.write("/etc/pam.d/sshd", STOCK_STACK)
    image.run("status", status=1)
    contains(image.run("disable", status=0).stderr, "/etc/pam.d/sshd: keyveto's lines were not in it any more")
    contains(image.run("disable", status=0).stdout, "no keyveto lines found")


@case("without the state the marks are enough to lead back")
def _(scratch):
    image = Image(scratch)
    snapshot = image.snapshot()
    image.run("enable", status=0)
    shutil.rmtree(image.path("/var/lib/keyveto/sshd-state"))
    image.run("disable", status=0)
    restored(snapshot, image.snapshot())


@case("what is kept is for root alone, and is what was there")
def _(scratch):
    image = Image(scratch, WITHOUT_INCLUDE)
    image.run("enable", "--warn", status=0)
    state = image.path("/var/lib/keyveto/sshd-state")
    equal((state.stat().st_uid, stat.S_IMODE(state.stat().st_mode)), (0, 0o700))
    kept = {one["path"]: one for one in json.loads((state / "manifest.json").read_text(encoding="utf-8"))["files"]}
    equal(set(kept), {TOP, "/etc/pam.d/sshd", "/etc/keyveto/keyveto.conf"})
    equal((state / kept[TOP]["bytes"]).read_text(encoding="utf-8"), WITHOUT_INCLUDE)
    equal((kept[TOP]["mode"], kept[TOP]["uid"]), (0o644, 0))
    (state / "manifest.json").write_text("{", encoding="ascii")
    contains(image.run("disable", status=2).stderr, "manifest.json: damaged")


@case("guard and PAM may be put in one after the other")
def _(scratch):
    image = Image(scratch)
    snapshot = image.snapshot()
    image.run("enable", "--guard", status=0)
    equal(image.first_session_line(), "@include common-auth")
    image.run("enable", "--pam", status=0)
    equal(image.first_session_line(), "session requisite pam_keyveto.so")
    equal(image.settings()["authorizedkeyscommand"], by_files(DEFAULT_FILES))
    image.run("disable", status=0)
    restored(snapshot, image.snapshot())


@case("that keyveto.conf only warns, by a line that is not keyveto's, is said")
def _(scratch):
    image = Image(scratch)
    conf = image.read("/etc/keyveto/keyveto.conf")
    lacks(image.run("enable", status=0).stderr, "OnHit")
    image.write("/etc/keyveto/keyveto.conf", conf + "OnHit warn\n")
    contains(image.run("enable", status=0).stderr, "/etc/keyveto/keyveto.conf says OnHit warn: listed keys are let in")
    lacks(image.run("enable", "--warn", status=0).stderr, "says OnHit")
    image.run("disable", status=0)


@case("what was put in by hand is left as it is")
def _(scratch):
    image = Image(scratch, INCLUDE + f"AuthorizedKeysFile none\nAuthorizedKeysCommand {FILES_COMMAND}\n"
                  "AuthorizedKeysCommandUser root\n")
    image.write("/etc/pam.d/sshd", "session requisite pam_keyveto.so\n" + STOCK_STACK)
    snapshot = image.snapshot()
    image.run("status", status=0)
    contains(image.run("enable", status=0).stderr, "is the guard already", "is its first session line already")
    equal(image.settings()["authorizedkeyscommand"], FILES_COMMAND)
    image.run("disable", status=0)
    restored(snapshot, image.snapshot())


def without_marks(text):
    return "".join(line for line in text.splitlines(keepends=True) if not re.match("# (BEGIN|END) keyveto", line))


@case("disable does not leave a module that refuses what was only logged")
def _(scratch):
    image = Image(scratch)
    image.run("enable", "--pam", "--warn", status=0)
    stack, line = image.read("/etc/pam.d/sshd"), MODULE_LINE + ALONE
    for text, place in ((f"{line}\n" + stack.replace(f"{line}\n", ""), 1),
                        (stack + "account required /lib/security/pam_keyveto.so\n", len(stack.splitlines()) + 1)):
        image.write("/etc/pam.d/sshd", text)
        snapshot = image.snapshot()
        done = image.run("disable", status=2)
        contains(done.stderr, f"/etc/pam.d/sshd:{place}: pam_keyveto.so stays", "refuse the keys that are only logged",
                 "nothing was changed")
        restored(snapshot, image.snapshot())
    # Another keyveto.conf stays as it is.
    image.write("/etc/pam.d/sshd", stack + "account required pam_keyveto.so config=/etc/other.conf\n")
    done = image.run("disable", status=0)
    contains(done.stderr, f"note: {image.root}/etc/pam.d/sshd:{len(STOCK_STACK.splitlines()) + 1}: pam_keyveto.so stays")
    lacks(image.read("/etc/keyveto/keyveto.conf"), "\nOnHit warn\n")


@case("disable sees the module in other services, too, and keyveto's lines by another name")
def _(scratch):
    image = Image(scratch)
    image.path("/etc/pam.d/alias").symlink_to("sshd")
    snapshot = image.snapshot()
    image.run("enable", "--pam", "--warn", status=0)
    equal(image.run("disable", status=0).stderr, "")
    restored(snapshot, image.snapshot())
    image.write("/etc/pam.d/shared", "session required pam_permit.so\nsession requisite pam_keyveto.so\n")
    for service in ("sshd2", "sshd3"):
        image.write(f"/etc/pam.d/{service}", "session include shared\n")
    for options, status in (("--warn",), 2), ((), 0):
        image.run("enable", "--pam", *options, status=0)
        snapshot = image.snapshot()
        said = image.run("disable", status=status).stderr
        equal(said.count("/etc/pam.d/shared:2: pam_keyveto.so stays"), 1, said)
        if status == 2:
            restored(snapshot, image.snapshot())
    equal(image.read("/etc/pam.d/sshd"), STOCK_STACK)


@case("what disable advises for a module that stays keeps what it does")
def _(scratch):
    image = Image(scratch)
    image.run("enable", "--pam", "--warn", status=0)
    image.write("/etc/pam.d/sshd", without_marks(image.read("/etc/pam.d/sshd")))
    image.run("disable", status=2)
    conf = without_marks(image.read("/etc/keyveto/keyveto.conf"))
    image.write("/etc/keyveto/keyveto.conf", conf)
    contains(image.run("disable", status=0).stderr, "note: ", "/etc/pam.d/sshd:1: pam_keyveto.so stays")
    contains("\n" + conf, "\nOnHit warn\n")
    equal(image.read("/etc/keyveto/keyveto.conf"), conf)
    # Enforced, a module that stays does what it did.
    image.write("/etc/keyveto/keyveto.conf", (ROOT / "etc/keyveto.conf").read_bytes())
    image.write("/etc/pam.d/sshd", STOCK_STACK)
    image.run("enable", "--pam", status=0)
    image.write("/etc/pam.d/sshd", without_marks(image.read("/etc/pam.d/sshd")))
    contains(image.run("disable", status=0).stderr, "/etc/pam.d/sshd:1: pam_keyveto.so stays")


@case("disable does not leave a guard that refuses what was only logged")
def _(scratch):
    image = Image(scratch, INCLUDE + "AuthorizedKeysFile .ssh/k\n")
    image.run("enable", "--guard", "--warn", status=0)
    image.write(DROP_IN, without_marks(image.read(DROP_IN)))
    snapshot = image.snapshot()
    done = image.run("disable", status=2)
    contains(done.stderr, f"{DROP_IN}:2: the guard stays", "refuse the keys that are only logged",
             "nothing was changed")
    restored(snapshot, image.snapshot())
    conf = without_marks(image.read("/etc/keyveto/keyveto.conf"))
    image.write("/etc/keyveto/keyveto.conf", conf)
    contains(image.run("disable", status=0).stderr, f"{DROP_IN}:2: the guard stays")
    equal(image.read("/etc/keyveto/keyveto.conf"), conf)


# What sshd is asked.

@case("where a Match LocalPort stands, sshd is told a port, and none that such a line names")
def _(scratch):
    far = "".join(f"Match LocalPort {port}\nAuthorizedKeysFile .ssh/far\n" for port in (65534, 65535, 22))
    image = Image(scratch, INCLUDE + far)
    image.account("alice", _made["clean"])
    image.run("status", status=1)
    image.run("enable", "--guard", status=0)
    equal(image.settings()["authorizedkeyscommand"], by_files(DEFAULT_FILES))
    image.run("disable", status=0)
    with this_machine(scratch, config=INCLUDE + far) as machine:
        before = machine.snapshot()
        machine.run("status", status=1)
        machine.run("enable", "--pam", status=0)
        machine.run("status", status=0)
        machine.run("disable", status=0)
        restored(before, machine.snapshot())


@case("an account's name with a comma is not asked about, and that is said")
def _(scratch):
    image = Image(scratch, INCLUDE + "Match User *b\nAuthorizedKeysFile .ssh/b\n")
    image.account("a,b", _made["clean"])
    contains(must_refuse(image, status=1).stderr, "a,b: sshd cannot be asked about a name with a comma")


def other_sshd(scratch, config):
    """An sshd of another prefix: without -f it reads another file."""
    path = scratch / "other-sshd"
    path.write_text(f'#!/bin/sh\ncase " $* " in *" -f "*) exec {SSHD} "$@";; esac\nexec {SSHD} -f {config} "$@"\n',
                    encoding="ascii")
    path.chmod(0o755)
    return path


@case("an sshd that reads another file than /etc/ssh/sshd_config is refused")
def _(scratch):
    config = scratch / "sshd_config"
    with this_machine(scratch, config=INCLUDE) as machine:
        config.write_text(INCLUDE, encoding="ascii")    # it says the same, today
        other = other_sshd(scratch, config)
        before = machine.snapshot()
        for verb in ("status", "enable"):
            done = machine.run(verb, "--sshd", other, status=2)
            contains(done.stderr, f"{other} reads {config}", "put keyveto in by hand there")
            lacks(done.stdout, "way in")
        silent = wrapper(scratch, f'case " $* " in *" -dd "*) {SSHD} "$@" 2>/dev/null; exit;; esac')
        contains(machine.run("enable", "--sshd", silent, status=2).stderr, "does not tell (sshd -dd -T)")
        restored(before, machine.snapshot())
        config.unlink()
        config.symlink_to("/etc/ssh/sshd_config")       # another name for the same file
        machine.run("status", "--sshd", other, status=1)


@case("a HostKey that would hold sshd up is named with its line, and sshd is not asked")
def _(scratch):
    os.mkfifo(scratch / "fifo")
    os.mkfifo(scratch / "half.pub")
    for number, name in enumerate(("fifo", "half")):
        line = f"HostKey {scratch}/{name}"
        image = Image(scratch / str(number), INCLUDE,
                      files={"/etc/ssh/sshd_config.d/50-keys.conf": f"# keys\n{line}\n"})
        for verb in ("status", "enable"):
            done = image.run(verb, status=2)
            contains(done.stderr, f"/etc/ssh/sshd_config.d/50-keys.conf:2: {line}", "is a FIFO or a device")
            assert done.seconds < 9, f"{done.seconds} seconds"
        with this_machine(scratch / str(number), config=f"{line}\n{INCLUDE}") as machine:
            for verb in ("status", "enable"):
                contains(machine.run(verb, status=2).stderr, f"/etc/ssh/sshd_config:1: {line}")


@case("an sshd that does not answer for one account is not asked about all the others")
def _(scratch):
    image = Image(scratch, INCLUDE + "".join(f"Match User u{n}\nAuthorizedKeysFile .ssh/{n}\n" for n in range(40)))
    for number in range(40):
        image.account(f"u{number}", _made["clean"])
    for verb, status in (("status", 2), ("enable", 1)):
        sshd = wrapper(scratch, f'case "$*" in *user=u[0-9]*) echo >>{scratch}/hung; exec sleep 1000;; esac')
        (scratch / "hung").write_text("", encoding="ascii")
        done = image.run(verb, "--sshd", sshd, status=status)
        contains(done.stderr, "no answer within 10 seconds")
        assert len((scratch / "hung").read_text(encoding="ascii")) <= 16, "sshd was asked again and again"


MIXED = {name.lower(): name for name in """AuthorizedKeysFile AuthorizedKeysCommand AuthorizedKeysCommandUser
AuthorizedPrincipalsCommand AuthorizedPrincipalsCommandUser AuthorizedPrincipalsFile HostKey TrustedUserCAKeys UsePAM
StrictModes ListenAddress Port PubkeyAuthentication HostbasedAuthentication""".split()}


def mixed_case_sshd(folder):
    """It prints keywords as that of OpenSSH 10.5 and later does."""
    path = folder / "sshd"
    words = ";".join(f"s/^{lower} /{name} /I" for lower, name in MIXED.items())
    path.write_text(f'#!/bin/sh\nout=$({SSHD} "$@" 2>&1); status=$?\nprintf "%s\\n" "$out" | sed "{words}"\n'
                    "exit $status\n", encoding="ascii")
    path.chmod(0o755)
    return path


@case("an sshd that prints keywords in mixed case is understood")
def _(scratch):
    with this_machine(scratch, config=INCLUDE + "Port 2222\nAuthorizedKeysFile .ssh/mine\n") as machine:
        before = machine.snapshot()
        sshd = mixed_case_sshd(scratch)
        contains(subprocess.run([sshd, "-T"], capture_output=True, text=True, check=True).stdout, "AuthorizedKeysFile .ssh/mine")
        machine.run("enable", "--sshd", sshd, status=0)
        equal(machine.settings()["authorizedkeyscommand"], by_files(".ssh/mine"))
        machine.run("status", "--sshd", sshd, status=0)
        machine.run("disable", "--sshd", sshd, status=0)
        restored(before, machine.snapshot())


@case("the steps by hand take over sshd's settings, whatever case it prints them in")
def _(scratch):
    steps = dict(re.findall(r"<!-- step: (guard|validate) -->\n```sh\n(.*?)```",
                            (ROOT / "docs/by-hand.md").read_text("utf-8"), re.DOTALL))
    config = INCLUDE + ("AuthorizedKeysFile .ssh/mine\nTrustedUserCAKeys /etc/ssh/ca.pub\nAuthorizedPrincipalsCommand "
                        "/bin/echo %u\nAuthorizedPrincipalsCommandUser nobody\nMatch LocalPort 2222\nX11Forwarding no\n")
    mixed_case_sshd(scratch)
    for search in (os.environ["PATH"], f"{scratch}:{os.environ['PATH']}"):
        with this_machine(scratch / str(len(search)), config=config) as machine:
            before = {name: value for name, value in machine.settings("root").items()}
            subprocess.run(["bash", "-euo", "pipefail", "-c", steps["guard"]], env={**os.environ, "PATH": search}, check=True)
            contains(machine.read("/etc/keyveto/keyveto.conf"), "\nAuthorizedKeysFile .ssh/mine\n")
            after = machine.settings("root")
            equal(after["authorizedkeyscommand"], FILES_COMMAND)
            for keyword in ("authorizedprincipalscommand", "authorizedprincipalscommanduser"):
                equal(after[keyword], before[keyword])
            last = steps["validate"].rstrip().splitlines()[-1]
            subprocess.run(["bash", "-euo", "pipefail", "-c", last], env={**os.environ, "PATH": search}, check=True,
                           stdout=subprocess.DEVNULL)


# Below another root.

EXCHANGER = """
import ctypes, random, sys, time
libc = ctypes.CDLL(None, use_errno=True)
one, other = (name.encode() for name in sys.argv[1:])
print(flush=True)
while True:
    if libc.renameat2(-100, one, -100, other, 2):
        raise OSError(ctypes.get_errno(), "renameat2")
    time.sleep(random.choice((0, 0, 0.0001, 0.001, 0.01)))
"""


@case("--root is refused if it stands for this machine's root directory, whatever its name")
def _(scratch):
    with this_machine(scratch, config=INCLUDE) as machine:
        before = machine.snapshot()
        link, bind = scratch / "link", scratch / "bind"
        link.symlink_to("/")
        bind.mkdir()
        subprocess.run(["mount", "--bind", "/", bind], check=True)
        try:
            for root in ("/", "//", link, f"{link}/", bind, f"{bind}/.", "/proc/self/root", "/etc/.."):
                for verb in ("status", "enable", "disable"):
                    done = keyveto("sshd", verb, "--root", root, status=2)
                    contains(done.stderr, "the root directory of this machine itself, which is meant without --root")
                    equal(done.stdout, "")
        finally:
            subprocess.run(["umount", bind], check=True)
        restored(before, machine.snapshot())


@case("a folder that is exchanged for a link to / while --root works below it does not change this machine")
def _(scratch):
    with this_machine(scratch, config=INCLUDE) as machine:
        before = machine.snapshot()
        folder = scratch / "there"
        folder.mkdir()
        image = Image(folder)
        image.account("alice", _made["clean"])
        pristine = image.snapshot()
        link = folder / "link"
        link.symlink_to("/")
        ends = {"done": 0, "refused": 0}
        with subprocess.Popen([sys.executable, "-c", EXCHANGER, image.root, link], stdout=subprocess.PIPE) as exchanger:
            try:
                exchanger.stdout.readline()
                for number in range(ROOT_ROUNDS):
                    verb = ("enable", "disable")[number % 2]
                    done = keyveto("sshd", verb, "--root", image.root)
                    restored(before, machine.snapshot())
                    assert done.returncode in (0, 2), done.stdout + done.stderr
                    ends["done" if done.returncode == 0 else "refused"] += 1
            finally:
                exchanger.kill()
        assert ends["done"] and ends["refused"], f"no race: {ends}"
        if link.is_dir() and not link.is_symlink():
            image.root.unlink()
            link.rename(image.root)
        image.run("disable", status=0)
        restored(pristine, image.snapshot())


# What status tells.

def ways(image, status):
    """By account ("" for all) and way: open, guard, pam."""
    found = {}
    for line in image.run("status", "--json", status=status).stdout.splitlines():
        one = json.loads(line)
        for name in one["accounts"] or [""]:
            found[name, one["way"]] = (one["open"], one["guard"], one["pam"])
        equal(one["guarded"], not one["open"] or one["guard"] or one["pam"])
    return found


@case("status tells each way in, for each kind of account")
def _(scratch):
    image = Image(scratch, INCLUDE + "TrustedUserCAKeys /etc/ssh/ca\nHostbasedAuthentication yes\n"
                  "Match User mallory\nAuthorizedKeysFile .ssh/m\nMatch User bob\nPubkeyAuthentication no\n"
                  "HostbasedAuthentication no\n")
    for name in ("alice", "bob", "mallory"):
        image.account(name)
    found = ways(image, 1)
    equal(found["alice", "authorized_keys"], (True, False, False))
    equal(found["bob", "authorized_keys"], (False, False, False))
    image.run("enable", "--guard", status=0)
    found = ways(image, 1)
    equal(found["alice", "authorized_keys"], (True, True, False))
    equal(found["alice", "cert-authority line"], (True, True, False))
    equal(found["alice", "TrustedUserCAKeys"], (True, False, False))
    equal(found["alice", "hostbased"], (True, False, False))
    equal(found["bob", "hostbased"], (False, False, False))
    equal(found["mallory", "authorized_keys"], (True, False, False))
    image.run("enable", "--pam", status=0)
    found = ways(image, 0)
    equal(found["mallory", "authorized_keys"], (True, False, True))
    equal(found["alice", "hostbased"], (True, False, True))


@case("status tells of Match blocks for addresses, which it does not ask about")
def _(scratch):
    image = Image(scratch, INCLUDE + "Match Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n")
    image.run("enable", "--guard", status=0)
    equal(image.settings("root", "192.0.2.1")["authorizedkeysfile"], ".ssh/far")
    contains(image.run("status", status=1).stderr, "sshd_config:7: not guarded: Match Address 192.0.2.0/24")
    image.run("enable", "--pam", status=0)
    image.run("status", status=0)


# In a Match block for addresses, each opens a way that the guard does not see; it cannot be asked about.
CA = "TrustedUserCAKeys /etc/ssh/ca\n"
ESCAPES = {
    "a quote in a keyword": (INCLUDE + 'Mat"ch" Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n', {}),
    "an equals sign before a keyword": (INCLUDE + "=Match Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n", {}),
    "an empty word before a keyword": (INCLUDE + '"" Match Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n', {}),
    "an Include with a quote": (INCLUDE + 'Inc"lude" /etc/ssh/far\n', {
        "/etc/ssh/far": "Match Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n"}),
    "a Match block within one": (INCLUDE + "Match Address 192.0.2.0/24\nInclude /etc/ssh/far\n", {
        "/etc/ssh/far": "Match User root\nAuthorizedKeysFile .ssh/far\n"}),
    "principals by the name alone": (
        f"{INCLUDE}{CA}AuthorizedPrincipalsCommand {COMMAND}\nAuthorizedPrincipalsCommandUser nobody\n"
        "Match Address 192.0.2.0/24\nAuthorizedPrincipalsCommand none\n", {}),
    "hostbased": (INCLUDE + "Match Host far\nHostbasedAuthentication yes\n", {}),
}


@case("status overlooks no Match block for addresses, however it is written")
def _(scratch):
    for number, (title, (config, files)) in enumerate(ESCAPES.items()):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number), config, files=files)
        contains(image.run("enable", "--guard", status=0).stderr, ", which bypasses the guard")
        done = image.run("status")
        equal(done.returncode, 1, f"{title}\n{done.stdout}{done.stderr}")
        contains(done.stderr, "not guarded: Match ")
        image.run("enable", "--pam", status=0)
        image.run("status", status=0)


@case("a name that sounds like an origin is none, and closing a way opens none")
def _(scratch):
    image = Image(scratch, INCLUDE + "Match User hostmaster\nAuthorizedKeysFile \"none\" # by nobody\n"
                  "Match Address 192.0.2.0/24\nAuthorizedKeysFile none\nHostbasedAuthentication \"no\"\n"
                  "AuthorizedPrincipalsFile .ssh/principals\n")
    image.account("hostmaster")
    image.run("enable", "--guard", status=0)
    equal(image.run("status", status=0).stderr, "")


@case("a Match block for an account that no name service lists is not taken for closed")
def _(scratch):
    for number, lines in enumerate(("AuthorizedKeysFile .ssh/far", "HostbasedAuthentication yes",
                                    "TrustedUserCAKeys /etc/ca", f"AuthorizedKeysFile none\n{WITH_COMMAND}")):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number), f"{INCLUDE}Match User far*\n{lines}\n")
        image.run("enable", "--guard", status=0)
        contains(image.run("status", status=2).stderr, "not guarded, for accounts that are not listed: Match User far*")
        image.account("faraway")
        lacks(image.run("status", status=1).stderr, "not listed")
        image.run("enable", "--pam", status=0)
        image.run("status", status=0)


@case("keys that are taken from some clients only are a way in")
def _(scratch):
    image = Image(scratch, INCLUDE + "PubkeyAuthentication no\n")
    image.run("status", status=0)
    image.write(TOP, image.read(TOP) + "Match Address 192.0.2.0/24\nPubkeyAuthentication yes\n")
    equal(ways(image, 1)["", "authorized_keys"], (True, False, False))
    image.run("enable", status=0)
    image.run("status", status=0)


@case("status looks at the keyveto.conf that a guard, or the module, is told to read, and as whom")
def _(scratch):
    image = Image(scratch)
    image.write("/etc/other.conf", "OnHit warn\n")
    image.run("enable", status=0)
    for path, old, new in ((DROP_IN, " --key %k", " --key\t%k\t--config /etc/other.conf"),
                           ("/etc/pam.d/sshd", "keyveto.so", "keyveto.so debug config=/etc/other.conf"),
                           ("/etc/pam.d/sshd", "keyveto.so", "keyveto.so [config=/etc/other.conf]"),
                           ("/etc/pam.d/sshd", "keyveto.so",
                            "keyveto.so config=/etc/keyveto/keyveto.conf config=/etc/other.conf")):
        content = image.read(path)
        image.write(path, content.replace(old, new, 1))
        contains(image.run("status", status=1).stderr, "/etc/other.conf: OnHit warn")
        image.write(path, content)
        image.run("status", status=0)
    # Behind another command the guard is whom that one is to be.
    image.run("disable", status=0)
    image.write(TOP, f"{INCLUDE}AuthorizedKeysFile none\n{WITH_COMMAND}")
    image.write("/etc/keyveto/keyveto.conf", "OnError allow\n")
    image.run("enable", "--guard", status=0)
    image.run("status", status=0)
    image.path("/var/lib/keyveto/filter.pkbf").chmod(0o600)
    contains(image.run("status", status=2).stderr, "(read as nobody)")


@case("a guard, or a module, in another place is looked at there")
def _(scratch):
    image = Image(scratch)
    other = "/opt/keyveto-authorized-keys"
    image.run("enable", "--guard", status=0)
    image.write(DROP_IN, image.read(DROP_IN).replace(GUARD, other))
    contains(image.run("status", status=2).stderr, f"{other}: No such file")
    image.run("disable", status=0)
    image.run("enable", "--pam", status=0)
    image.write("/etc/pam.d/sshd", image.read("/etc/pam.d/sshd").replace("pam_keyveto.so", "/opt/pam_keyveto.so"))
    contains(image.run("status", status=1).stderr, "/opt/pam_keyveto.so: No such file")


@case("a Match block's PAM service, which newer ones have, is the one that counts")
def _(scratch):
    image = Image(scratch)
    image.account("alice")
    image.account("bob")
    image.write("/etc/pam.d/other", STOCK_STACK)
    image.run("enable", "--pam", status=0)
    # 9.2 knows no such keyword: it is taken out of the copy, and put into the answer.
    odd = scratch / "odd"
    odd.write_text(f"""#!/bin/sh
for word; do case $word in */0.conf) sed -i /PAMServiceName/d "${{word%/*}}"/*.conf;; esac; done
case "$*" in *user=bob,*) echo pamservicename other;; *-T*) echo pamservicename sshd;; esac
exec {SSHD} "$@"
""", encoding="ascii")
    odd.chmod(0o755)
    image.run("status", status=0)
    image.write(TOP, image.read(TOP) + "Match User bob\nPAMServiceName other\n")
    done = image.run("status", "--json", "--sshd", odd, status=1)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    equal({tuple(row["accounts"]): row["pam"] for row in rows if row["way"] == "authorized_keys"},
          {("root", "nobody", "sshd", "alice"): True, ("bob",): False})


@case("a module that is not the first session line, or not requisite, does not count")
def _(scratch):
    image = Image(scratch)
    for stack, says in (("session optional pam_env.so user_readenv=1\nsession requisite pam_keyveto.so\n",
                         "/etc/pam.d/sshd:2: pam_keyveto.so is not the first session line"),
                        ("session required pam_keyveto.so\n", "/etc/pam.d/sshd:1: pam_keyveto.so is not requisite"),
                        ("account requisite pam_keyveto.so\n", "")):
        image.write("/etc/pam.d/sshd", stack)
        contains(image.run("status", status=1).stderr, says)
    image.write("/etc/pam.d/sshd", "@include other\n")
    image.write("/etc/pam.d/other", "session requisite pam_keyveto.so\n")
    image.run("status", status=0)


@case("guarded by what does not work is nothing that status can vouch for")
def _(scratch):
    image = Image(scratch)
    image.run("enable", status=0)
    image.run("status", status=0)
    filter_path = image.path("/var/lib/keyveto/filter.pkbf")
    kept = filter_path.read_bytes()
    filter_path.unlink()
    contains(image.run("status", status=2).stderr, "filter.pkbf: No such file")
    filter_path.write_bytes(kept)
    image.path(GUARD).chmod(0o777)
    contains(image.run("status", status=2).stderr, GUARD)


@case("groups below another root are not guessed at")
def _(scratch):
    image = Image(scratch, INCLUDE + "Match Group staff\nAuthorizedKeysFile .ssh/s\n")
    contains(image.run("enable", status=0).stderr, "sshd_config:3: Match Group is answered by the groups of this machine")
    contains(image.run("status", status=2).stderr, "Match Group")


@case("an image without host keys and without accounts can be asked about")
def _(scratch):
    image = Image(scratch)
    equal(list(image.path("/etc/ssh").glob("ssh_host*")), [])
    image.path("/etc/passwd").unlink()
    contains(image.run("enable", "--pam", status=0).stderr, "/etc/passwd: not there")
    image.run("status", status=0)


# Configurations by chance.

def random_settings(rnd):
    """Some lines that count, and some that do not."""
    pool = ("PermitRootLogin no", "# a comment", "", "\tX11Forwarding  yes", "AuthorizedKeysFile .ssh/a .ssh/b",
            "authorizedkeysfile=/etc/keys/%u", 'AuthorizedKeysFile "%h/.ssh/c"', "AuthorizedKeysFile none",
            "=AuthorizedKeysFile .ssh/d", 'Authorized"KeysFile".ssh/e', ' "AuthorizedKeysFile" .ssh/f \f',
            WITH_COMMAND.rstrip("\n"), "AuthorizedKeysCommand none", "TrustedUserCAKeys /etc/ssh/ca",
            "AuthorizedPrincipalsFile .ssh/principals",
            f"AuthorizedPrincipalsCommand {COMMAND} p\nAuthorizedPrincipalsCommandUser daemon", "PasswordAuthentication no")
    return [rnd.choice(pool) for _ in range(rnd.randrange(4))]


def random_config(rnd, names=()):
    """A file that may include some of these, at its top, in its middle, or in a Match block."""
    lines = random_settings(rnd)
    for _ in range(rnd.randrange(3)):
        match = rnd.choice(("Match ", "Match ", "Match=", "=Match ", 'Mat"ch" ', '"" match\t'))
        lines.append(match + rnd.choice(("User daemon", "User root,nobody", "Group root", "all", "Address 127.0.0.0/8",
                                        "User !root,*", 'User "daemon"', "Address 192.0.2.0/24")))
        lines += random_settings(rnd)
    for name in names:
        include = rnd.choice(("Include", "include", "\tInclude ", " = Include", 'Incl"ude"'))
        lines.insert(rnd.randrange(len(lines) + 1), f"{include} {name}")
    end = rnd.choice(("\n", "\r\n"))
    return end.join("\n".join(lines).split("\n")) + rnd.choice((end, ""))


def sources(settings):
    """Where sshd gets keys and principals for an account, the guard seen through."""
    files, command = settings["authorizedkeysfile"], settings["authorizedkeyscommand"]
    user = settings["authorizedkeyscommanduser"]
    if command.startswith(CHAIN):
        command = command.removeprefix(CHAIN)
    elif command.startswith(FILES_COMMAND):
        equal(files, "none", "the guard hands out files, and sshd reads some too")
        files, command = " ".join(re.findall(" --file ([^ ]*)", command)), "none"
    principals = settings["authorizedprincipalscommand"].removeprefix(CHAIN)
    if principals == "/bin/echo %u":
        equal(settings["authorizedprincipalsfile"], "none", "names by themselves beside a file")
        principals = "none"
    return (files, command, user if command != "none" else "", principals,
            settings["authorizedprincipalscommanduser"] if principals != "none" else "")


def all_text(machine):
    return "\n".join(f"--- {path}\n{path.read_text(encoding='utf-8')}" for path in
                     (machine.path(TOP), *sorted(machine.path("/etc/ssh/sshd_config.d").glob("*")),
                      machine.path("/etc/ssh/other")))


REFUSALS = ("this Match block and another one", "this Match block sets AuthorizedKeysCommand", "sshd would overlook this line", "only the PAM module sees both",
            "nothing for the guard to do")


def random_trip(machine, rnd):
    """Whether it was enabled: then nobody's keys come from elsewhere than before."""
    folder = machine.path("/etc/ssh/sshd_config.d")
    for path in folder.glob("*"):
        path.unlink()
    for name in rnd.sample(("00-a.conf", "10-b.conf", "zz.conf"), rnd.randrange(4)):
        machine.write(folder / name, random_config(rnd))
    machine.write("/etc/ssh/other", random_config(rnd))
    machine.write(TOP, "UsePAM yes\n" + random_config(rnd, rnd.sample(
        ("/etc/ssh/sshd_config.d/*.conf", "other", "sshd_config.d/zz* /nowhere/*"), rnd.randrange(3))))
    if machine.sshd("-t").returncode != 0:
        return False
    users = ("root", "daemon", "nobody")
    where = [(user, address) for user in users for address in ("127.0.0.1", "192.0.2.9")]
    before, snapshot = [machine.settings(*one) for one in where], machine.snapshot()
    done = machine.run("enable", "--pam", "--guard")
    if done.returncode != 0:
        assert any(words in done.stderr for words in REFUSALS), done.stderr
        restored(snapshot, machine.snapshot())
        return False
    machine.must_start()
    for one, was in zip(where, before):
        now = machine.settings(*one)
        equal(sources(now), sources(was), f"{one}\n{all_text(machine)}\n{done.stderr}")
        surplus = differences(was, now) - set(CHANGED)
        assert not surplus, f"enable changed {surplus} for {one}"
    machine.run("status", status=0)
    machine.run("disable", status=0)
    restored(snapshot, machine.snapshot())
    return True


@case("configurations by chance: each account keeps the sources of its keys, and the way back is exact")
def _(scratch):
    with this_machine(scratch) as machine:
        enabled = sum(random_trip(machine, random.Random(seed)) for seed in range(FIRST_TRIP, FIRST_TRIP + TRIPS))
    assert enabled > TRIPS / 4, f"only {enabled} of {TRIPS} were enabled"


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
