# SPDX-License-Identifier: ISC
"""The files of a machine, in this throw-away root or an image that lies over it, for the tests of keyveto sshd."""

import atexit
import contextlib
import functools
import glob
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import keys
from doctor_machine import listen_to_log
from openssh import strictmodes, version
from program import KEYVETO, PATIENCE, ROOT, SSHD, attempt, contains, equal, keyveto, make_filter
from samples import write

MODULE = Path(os.environ.get("KEYVETO_PAM_MODULE", ROOT / "build/pam_keyveto.so")).resolve()
GUARD = "/usr/libexec/keyveto-authorized-keys"
PAM_FOLDER = Path(glob.glob("/usr/lib/*/security/pam_unix.so")[0]).parent
# The values that fit the local sshd.
STRICTMODES, WILDCARDS = strictmodes(), "yes" if version() >= (10, 0) else "no"
# sshd can pass the client's address since 9.4.
CONNECTION = " --connection %C" if version() >= (9, 4) else ""
FILES_COMMAND = f"{GUARD} --user %u --home %h --type %t --key %k{CONNECTION}"
DEFAULT_FILES = ".ssh/authorized_keys .ssh/authorized_keys2"


def by_files(patterns, strictmodes=STRICTMODES, wildcards=WILDCARDS):
    """The AuthorizedKeysCommand that enable writes where AuthorizedKeysFile has these patterns."""
    return FILES_COMMAND + "".join(f" --file {one}" for one in patterns.split()) + (
        f" --strictmodes {strictmodes} --wildcards {wildcards}")


DROP_IN = "/etc/ssh/sshd_config.d/00-keyveto.conf"
MODULE_LINE, ALONE = "session requisite pam_keyveto.so", " disconnect=always"
INCLUDE = "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\n"
STOCK_CONFIG = Path("/etc/ssh/sshd_config").read_text(encoding="utf-8")
STOCK_STACK = Path("/etc/pam.d/sshd").read_text(encoding="utf-8")
WATCHED = ("etc", "var/lib/keyveto")
MOUNT = 'while [ "$1" != -- ]; do mkdir -p "$2" && mount --rbind "$1" "$2" || exit 125; shift 2; done; shift; exec "$@"'


def with_mounts(mounts, *words):
    """The words that run a command in a mount namespace, where the first folder of each pair lies over the second."""
    words = ("unshare", "--mount", "sh", "-c", MOUNT, "sh", *(place for pair in mounts for place in pair), "--", *words)
    return [str(word) for word in words]


class Machine:
    """The files of a machine, in this throw-away root or in a folder, an image, that lies over it."""

    def __init__(self, scratch, root, config=STOCK_CONFIG, files=None):
        self.scratch, self.root = scratch, Path(root)
        self.here = str(root) == "/"
        # Not the whole of /home or /root: the programs may be there.
        self.over = ["/etc", "/root/.ssh", "/var/lib/keyveto", str(Path(GUARD).parent), str(PAM_FOLDER)]
        if not self.here:
            self._furnish()
        self.write("/etc/ssh/sshd_config", config)
        for path, content in (files or {}).items():
            self.write(path, content)
        self.write("/etc/keyveto/keyveto.conf", (ROOT / "etc/keyveto.conf").read_bytes())
        self.write("/var/lib/keyveto/filter.pkbf", leaked_filter())

    def _furnish(self):
        """Writes the files that enable needs into an image."""
        for name in ("passwd", "group", "pam.d", "nsswitch.conf"):
            source, target = Path("/etc") / name, self.path(f"/etc/{name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, target)
        self.write(HOST_KEY, Path(host_key()).read_bytes(), 0o600)
        self.write(GUARD, (MODULE.parent / "keyveto-authorized-keys").read_bytes(), 0o711)
        shutil.copytree(PAM_FOLDER, self.path(PAM_FOLDER))
        self.write(PAM_FOLDER / "pam_keyveto.so", MODULE.read_bytes())
        for folder in ("/etc/ssh/sshd_config.d", "/root/.ssh"):
            self.path(folder).mkdir(parents=True)
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
        while path.is_symlink():        # an absolute link of an image leads to a place in the image
            path = self.path(path.parent.relative_to(self.root) / os.readlink(path)
                             if not os.readlink(path).startswith("/") else os.readlink(path))
        return path.read_text(encoding="utf-8")

    def inside(self, *words):
        """The words that run a command on this machine."""
        if self.here:
            return [str(word) for word in words]
        return with_mounts([(self.path(place), place) for place in self.over], *words)

    def run(self, *words, status=None, **options):
        program, *rest = self.inside(KEYVETO, "sshd", *words)
        done = keyveto(*rest, program=program, **options)
        if status is not None:
            equal(done.returncode, status, f"keyveto sshd {words}\n{done.stdout}{done.stderr}")
        return done

    def sshd(self, *arguments):
        """Runs sshd on this machine's configuration."""
        argv = self.inside(SSHD, *arguments)
        return attempt(*argv)

    def settings(self, user=None, address="127.0.0.1"):
        """The output of sshd -T, by keyword."""
        who = ["-C", f"user={user},host=localhost,addr={address},laddr=127.0.0.1,lport=22" if user else "lport=65533"]
        done = self.sshd("-T", *who)
        equal(done.returncode, 0, done.stderr)
        rows = {}
        for line in done.stdout.splitlines():
            keyword, _, value = line.partition(" ")
            keyword = keyword.lower()       # OpenSSH 10.5 and later print mixed case
            if keyword != "hostkey":
                rows.setdefault(keyword, []).append(value)
        return {keyword: " | ".join(values) for keyword, values in rows.items()}

    def must_start(self):
        done = self.sshd("-t")
        equal((done.returncode, done.stdout), (0, ""), done.stderr)

    def way_back(self, snapshot):
        """disable restores what was."""
        self.run("disable", status=0)
        restored(snapshot, self.snapshot())

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


@functools.cache
def key_folder():
    """The folder of the keys of all tests. It is removed when the tests end."""
    path = tempfile.mkdtemp(prefix="keyveto-keys-")
    atexit.register(shutil.rmtree, path)
    return Path(path)


@functools.cache
def leaked_key():
    return keys.generate(key_folder()).key


@functools.cache
def clean_key():
    return keys.generate(key_folder()).key


@functools.cache
def leaked_filter():
    """The bytes of a filter that lists leaked_key() alone."""
    return make_filter(key_folder() / "filter.pkbf", leaked_key()).read_bytes()


@functools.cache
def host_key():
    """The path of a private key for sshd."""
    return keys.generate(key_folder()).path


def restored(before, after):
    for path in sorted(set(before) | set(after)):
        equal(after.get(path), before.get(path), f"{path} is not what it was")


@contextlib.contextmanager
def this_machine(scratch, **settings):
    """The throw-away root itself as a Machine. Restores all changed files at the end."""
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
    """The copies of configurations that stay behind.

    The copies of a killed run are removed by another process, so this waits for it.
    """
    deadline = time.monotonic() + PATIENCE
    while (found := glob.glob("/tmp/keyveto-*.??????")) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


WITHOUT_INCLUDE = "Port 22\nUsePAM yes\nPermitRootLogin no\nSubsystem sftp /usr/lib/openssh/sftp-server\n"
COMMAND = "/usr/bin/env true"
WITH_COMMAND = f"AuthorizedKeysCommand {COMMAND}\nAuthorizedKeysCommandUser nobody\n"
TOP = "/etc/ssh/sshd_config"
HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"


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
        self.over.append(f"/home/{name}")
        self.path("/home").chmod(0o755)
        path = self.write(where if where.startswith("/") else f"/home/{name}/{where}",
                          "".join(f"{line}\n" for line in lines), 0o600)
        while path != self.path("/home") and home in (path, *path.parents):
            os.chown(path, self._uid, self._uid)
            path = path.parent
        return home


def must_refuse(machine, *options, status=2, says=()):
    """Fails unless enable changes nothing, leaves nothing behind, and prints says."""
    snapshot = machine.snapshot()
    done = machine.run("enable", *options, status=status)
    contains(done.stdout + done.stderr, *says)
    restored(snapshot, machine.snapshot())
    equal(leftovers(), [])
    return done


def wrapper(scratch, body):
    """An sshd that counts its calls with -t, then runs body, then is sshd."""
    path = write(scratch / "odd-sshd",
                 f'#!/bin/sh\ncase " $* " in *" -t "*) echo >>{scratch}/asked;; esac\n'
                 f'n=$(wc -l <{scratch}/asked 2>/dev/null || echo 0)\n{body}\nexec {SSHD} "$@"\n', mode=0o755)
    (scratch / "asked").write_text("", encoding="ascii")
    return path


def prepare_machine():
    """Installs the guard and the module, and a log; removes what else of keyveto is there."""
    listen_to_log()
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
