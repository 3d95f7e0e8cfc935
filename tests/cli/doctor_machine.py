# SPDX-License-Identifier: ISC
"""A throw-away root that is set up as the README says, and runs of keyveto status on it."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import keys
from program import KEYVETO, PATIENCE, ROOT, SSHD, TRACED, attempt, contains, equal, keyveto, wait_until
from runs import tool

MODULE_SOURCE = Path(os.environ.get("KEYVETO_PAM_MODULE", ROOT / "build/pam_keyveto.so")).resolve()
GUARD_SOURCE = MODULE_SOURCE.with_name("keyveto-authorized-keys")
GUARD = Path("/usr/libexec/keyveto-authorized-keys")
CONFIG = Path("/etc/keyveto/keyveto.conf")
FILTER = Path("/var/lib/keyveto/filter.pkbf")
CANARIES = Path("/etc/keyveto/canaries")
SSHD_CONFIG = Path("/etc/ssh/sshd_config")
DROP_IN = Path("/etc/ssh/sshd_config.d/00-keyveto.conf")
STACK = Path("/etc/pam.d/sshd")
DEFAULTS = Path("/etc/default/ssh")
# Debian 12's stack ends with this line, Debian 13's lacks it.
STOCK_STACK = (STACK.read_text(encoding="utf-8").rstrip("\n") +
               "\nsession required pam_env.so user_readenv=1\n") if STACK.exists() else ""
GUARDED = ("AuthorizedKeysFile none",
           f"AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t --key %k",
           "AuthorizedKeysCommandUser root")
SESSION = "session requisite pam_keyveto.so\n"
CHECKS = ["config", "policy", "exceptions", "filter", "filter-age", "filter-rate", "list", "list-age", "update",
          "canaries", "sshd", "service",
          "guard", "guard-path", "guard-user", "match", "user-ca", "hostbased", "tunnel", "pam", "pam-control",
          "pam-order", "pam-module", "syslog", "walls"]
RANK = {"ok": 0, "warning": 1, "broken": 2}
DAY = 86400


def module_path():
    """The path of the PAM module that the build compiled in."""
    found = re.search(rb"(/[\w/.-]+/security)/pam_keyveto\.so|(/[\w/.-]+/security)/\0", KEYVETO.read_bytes())
    assert found, "the program does not know where PAM modules are"
    return Path((found[1] or found[2]).decode()) / "pam_keyveto.so"


class Machine:
    """A machine set up by the steps of the README."""

    def __init__(self, folder):
        self.folder = folder
        self.listed, self.clean = keys.generate(folder).key, keys.generate(folder).key
        self.module = module_path()
        for path in (CONFIG, FILTER, DROP_IN, GUARD, self.module):
            path.parent.mkdir(parents=True, exist_ok=True)
        for source, path in ((GUARD_SOURCE, GUARD), (MODULE_SOURCE, self.module)):
            shutil.copy(source, path)
            path.chmod(0o755)
            os.chown(path, 0, 0)
        CONFIG.write_text("# all by default\n", encoding="utf-8")
        self.make_filter()
        SSHD_CONFIG.write_text(f"Include {DROP_IN.parent}/*.conf\nUsePAM yes\n", encoding="utf-8")
        self.sshd_config(*GUARDED)
        self.pam(SESSION + STOCK_STACK)

    def make_filter(self, *options, path=FILTER, hashes=20, length=16):
        """Makes a filter that lists one key. Its time is now, unless an option for the oracle names another."""
        tool(sys.executable, keys.ORACLE, "create", path, "--hashes", hashes, "--length", length, "--revision", "7",
             "--time", int(time.time()), *options, self.listed.path)
        path.chmod(0o644)

    @staticmethod
    def sshd_config(*lines):
        DROP_IN.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        DROP_IN.chmod(0o644)

    @staticmethod
    def pam(text):
        STACK.write_text(text, encoding="utf-8")

    @staticmethod
    def config(*lines):
        CONFIG.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    @staticmethod
    def canaries(*found):
        CANARIES.write_text("".join(Path(f"{key.path}").read_text(encoding="utf-8") for key in found), encoding="utf-8")


def remove(path):
    path = Path(path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def listen_to_log():
    """A /dev/log that a thread reads until shutdown: sshd waits if the log is full."""
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    remove("/dev/log")
    log.bind("/dev/log")

    def read():
        with log:
            while log.recv(65536):
                pass
    threading.Thread(target=read, daemon=True).start()
    return log


@contextlib.contextmanager
def machine(folder):
    """A Machine. Restores its files at the end."""
    kept = {path: path.read_bytes() if path.exists() else None
            for path in (SSHD_CONFIG, STACK, DEFAULTS, Path("/etc/passwd"))}
    for path in DROP_IN.parent.glob("*.conf"):
        path.unlink()
    log = listen_to_log()
    made = Machine(folder)
    try:
        yield made
    finally:
        log.shutdown(socket.SHUT_RDWR)
        for path, content in kept.items():
            if content is None:
                remove(path)
            else:
                path.write_bytes(content)
        for path in (CONFIG.parent, FILTER.parent, DROP_IN, GUARD, made.module, "/dev/log"):
            remove(path)


def doctor(*arguments, **options):
    """The output of --json: (findings by name of check, the whole object). Fails unless all statuses agree."""
    done = keyveto("doctor", "--json", *arguments, **options)
    report = json.loads(done.stdout)
    worst = max(RANK[one["status"]] for one in report["checks"])
    equal(RANK[report["status"]], worst, done.stdout)
    # Something that is broken is 1 where logins get a verdict, and 2 where they get none.
    assert done.returncode in ({0} if worst == 0 else {1, 2}), done.stdout
    found = {}
    for one in report["checks"]:
        equal(set(one), {"check", "status", "found", "remedy"})
        assert (one["remedy"] is None) or one["status"] != "ok", one
        found.setdefault(one["check"], []).append(one)
    equal(list(found), CHECKS)
    return found, report


def expect(check, status, *parts, arguments=(), others=()):
    """Fails unless only this check and others report something, and this check's findings contain the parts."""
    found, _ = doctor(*arguments)
    equal(max((one["status"] for one in found[check]), key=RANK.get), status, str(found[check]))
    contains(" / ".join(f"{one['found']}" for one in found[check]), *parts)
    bad = {name for name, ones in found.items() if any(one["status"] != "ok" for one in ones)}
    equal(bad - {check}, set(others), str({name: found[name] for name in bad}))
    return found


def expect_all_well():
    found, report = doctor()
    equal(report["status"], "ok", str(found))
    return found


def injected(*words):
    """The checks of --json by name, under an strace with these options, which make system calls fail."""
    done = attempt("strace", "-qq", "-o", "/dev/null", *words, KEYVETO, "doctor", "--json", env=TRACED)
    found = {}
    for one in json.loads(done.stdout)["checks"]:
        found.setdefault(one["check"], []).append(one)
    return found


@contextlib.contextmanager
def running_sshd(folder, *arguments, executable=SSHD, **options):
    """A real sshd with these arguments. It listens, and its process title says so."""
    pid_file = folder / "sshd.pid"
    argv = [executable, "-D", "-p", "20022", "-o", f"PidFile={pid_file}", *arguments]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options) as process:
        try:
            title = f"{Path(executable).name}: ".encode()
            wait_until(lambda: process.poll() is not None or pid_file.exists() and
                       Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(title), f"{argv} listens")
            equal(process.poll(), None, f"{argv} has ended")
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)
            pid_file.unlink(missing_ok=True)
