# SPDX-License-Identifier: ISC
"""keyveto doctor on a throw-away machine that is set up as the README says, and then broken.

    python3 tests/cli/test_doctor.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto); the guard and the module are
those beside KEYVETO_PAM_MODULE (default build/). Needs root.
"""

import contextlib
import ctypes
import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from cases import KEYVETO, PATIENCE, ROOT, SSHD, case, contains, equal, keyveto, lacks, run_in_sandbox, wait_until
import keys

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
# Debian 12 has the last line of its own, Debian 13 has not.
STOCK_STACK = (STACK.read_text(encoding="utf-8").rstrip("\n") +
               "\nsession required pam_env.so user_readenv=1\n") if STACK.exists() else ""
GUARDED = ("AuthorizedKeysFile none",
           f"AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t --key %k",
           "AuthorizedKeysCommandUser root")
SESSION = "session requisite pam_keyveto.so\n"
CHECKS = ["config", "policy", "exceptions", "filter", "filter-age", "filter-rate", "canaries", "sshd", "service",
          "guard", "guard-path", "guard-user", "match", "user-ca", "hostbased", "tunnel", "pam", "pam-control",
          "pam-order", "pam-module", "syslog"]
RANK = {"ok": 0, "warning": 1, "broken": 2}
DAY = 86400


def module_path():
    """Where the build was told that libpam looks."""
    found = re.search(rb"(/[\w/.-]+/security)/pam_keyveto\.so|(/[\w/.-]+/security)/\0", KEYVETO.read_bytes())
    assert found, "the program does not know where PAM modules are"
    return Path((found[1] or found[2]).decode()) / "pam_keyveto.so"


class Machine:
    """All that keyveto needs, as the README puts it there."""

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
        """One that lists a key; made now, unless an option of the oracle's says when."""
        subprocess.run([sys.executable, keys.ORACLE, "create", path, "--hashes", str(hashes), "--length", str(length),
                        "--revision", "7", "--time", str(int(time.time())), *map(str, options), self.listed.path],
                       check=True, capture_output=True)
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
        CANARIES.write_text("".join(Path(f"{key.path}").read_text(encoding="utf-8") for key in found),
                            encoding="utf-8")


def remove(path):
    path = Path(path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def listen_to_log():
    """A log that is read, since sshd waits where it is full; ended by shutdown."""
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
    """The machine, put back at the end of a case."""
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
    """What --json says: the checks' findings by name, and all of it; the statuses agree."""
    done = keyveto("doctor", "--json", *arguments, **options)
    report = json.loads(done.stdout)
    worst = max(RANK[one["status"]] for one in report["checks"])
    equal((done.returncode, RANK[report["status"]]), (worst, worst), done.stdout)
    found = {}
    for one in report["checks"]:
        equal(set(one), {"check", "status", "found", "remedy"})
        assert (one["remedy"] is None) or one["status"] != "ok", one
        found.setdefault(one["check"], []).append(one)
    equal(list(found), CHECKS)
    return found, report


def expect(check, status, *parts, arguments=(), others=()):
    """Only this check, and those named, has something to say; its findings hold the parts."""
    found, _ = doctor(*arguments)
    equal(max((one["status"] for one in found[check]), key=RANK.get), status, str(found[check]))
    contains(" / ".join(f"{one['found']}" for one in found[check]), *parts)
    bad = {name for name, ones in found.items() if any(one["status"] != "ok" for one in ones)}
    equal(bad - {check}, set(others), str({name: found[name] for name in bad}))
    return found


def well():
    found, report = doctor()
    equal(report["status"], "ok", str(found))
    return found


# What is said, and how.

@case("a machine set up by the README is well")
def _(folder):
    with machine(folder):
        found = well()
        contains(found["filter"][0]["found"], str(FILTER), "revision 7", "1 entries")
        contains(found["guard"][0]["found"], "AuthorizedKeysFile is none")
        contains(found["pam"][0]["found"], "session")


@case("the screen has a line for each check, and an arrow for what is to be done")
def _(folder):
    with machine(folder) as m:
        done = keyveto("doctor", status=0)
        equal([line.split()[:2] for line in done.stdout.splitlines() if line[0] != " "],
              [["ok", name] for name in CHECKS if name != "policy" for _ in range(1)][:1]
              + [["ok", "policy"]] * 2 + [["ok", name] for name in CHECKS[2:]])
        lacks(done.stdout, "->")
        m.config("OnHit warn")
        done = keyveto("doctor", status=1)
        contains(done.stdout, "warning  policy       OnHit warn: ", "\n                      -> ")
        equal(done.stderr, "")


@case("one form at a time, no arguments, and numbers in their bounds")
def _(folder):
    for words in (("--json", "--prometheus"), ("x",), ("--max-age", "-1"), ("--max-age", "x"), ("--sshd", "sshd"),
                  ("--canary",)):
        done = keyveto("doctor", *words, status=2)
        equal(done.stdout, "")
        contains(done.stderr, "keyveto: ")
    assert folder.exists()


@case("nothing raw comes out of hostile names")
def _(folder):
    with machine(folder) as m:
        path = folder / "odd\x1b[2J\n\"q\\ \xe4.pkbf"
        m.make_filter(path=path)
        done = keyveto("doctor", "--filter", path, status=0)
        contains(done.stdout, "odd\\x1b[2J\\x0a\"q\\ \\xc3\\xa4.pkbf")
        equal([line for line in done.stdout.splitlines() if "\x1b" in line], [])
        _, report = doctor("--filter", path)
        equal(report["filters"][0]["file"], str(path))
        samples = prometheus("--filter", path)
        equal([dict(labels) for name, labels in samples if name == "keyveto_filter_revision"],
              [{"filter": str(folder) + "/odd\\x1b[2J\\x0a\"q\\ \\xc3\\xa4.pkbf"}])


@case("somebody who is not root is told so, and sees the rest")
def _(folder):
    with machine(folder):
        # Where others can reach it, too.
        mine = shutil.copy(KEYVETO, folder)
        found, report = doctor(executable=mine, preexec_fn=lambda: os.setuid(65534))
        equal(report["status"], "warning", str(found))
        contains(found["sshd"][0]["found"], "only root")
        contains(found["service"][0]["found"], "only root")
        equal(found["filter"][0]["status"], "ok")


# Prometheus: a reader of the text format of its own.

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\}})? (\S+)')


def parse_prometheus(text):
    """{(name, labels): value}; every sample after its HELP and TYPE, together, and once."""
    assert text.endswith("\n") and text.isascii(), text
    samples, helped, typed, current = {}, set(), set(), None
    for line in text.splitlines():
        comment = re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line)
        if comment:
            kind, name, rest = comment.groups()
            done = helped if kind == "HELP" else typed
            assert name not in done, f"{name} twice"
            assert kind == "HELP" or (rest == "gauge" and name == current), line
            done.add(name)
            current = name
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, f"odd line {line!r}"
        name, labels, value = sample.groups()
        assert name == current and name in helped and name in typed, f"{line!r} is out of place"
        pairs = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")
        read = tuple((key, re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), text)) for key, text in pairs)
        assert (name, read) not in samples, f"{line!r} twice"
        samples[name, read] = float(value)
    equal(helped, typed)
    return samples


def prometheus(*arguments, status=None):
    return parse_prometheus(keyveto("doctor", "--prometheus", *arguments, status=status).stdout)


@case("--prometheus says what --json says")
def _(folder):
    with machine(folder) as m:
        m.config("OnHit warn", f"Filter {FILTER}", f"Filter {FILTER}")
        made = int(time.time()) - 3 * DAY
        m.make_filter("--time", made)
        found, report = doctor()
        samples = prometheus(status=1)
        equal({dict(labels)["check"]: value for (name, labels), value in samples.items()
               if name == "keyveto_check_status"},
              {name: max(RANK[one["status"]] for one in ones) for name, ones in found.items()})
        equal(samples["keyveto_status", ()], RANK[report["status"]])
        facts = json.loads(keyveto("filter", "info", "--json", FILTER, status=0).stdout)
        of = (("filter", str(FILTER)),)
        equal(samples["keyveto_filter_revision", of], facts["revision"])
        equal(samples["keyveto_filter_timestamp_seconds", of], made)
        equal(samples["keyveto_filter_entries", of], 1)
        equal(samples["keyveto_filter_fill_ratio", of], facts["fill"])
        equal(samples["keyveto_filter_false_positive_rate", of], facts["fpr_by_bits"])
        assert 0 <= samples["keyveto_filter_age_seconds", of] - 3 * DAY < 100, samples
        assert abs(samples["keyveto_checked_timestamp_seconds", ()] - time.time()) < 100
        equal(len(report["filters"]), 1)
        equal(report["filters"][0]["revision"], 7)


# The configuration and the filters.

@case("config: missing, mistaken, or writable by others")
def _(folder):
    with machine(folder) as m:
        m.canaries(m.listed)
        unseen = ["policy", "exceptions", "filter", "filter-age", "filter-rate", "canaries"]
        CONFIG.chmod(0o666)
        expect("config", "broken", "writable by group or others", others=unseen)
        CONFIG.chmod(0o644)
        m.config("OnHit deny", "Nonsense")
        expect("config", "broken", f"{CONFIG}:2: ", others=unseen)
        CONFIG.unlink()
        expect("config", "broken", "No such file", others=[*unseen, "guard-user"])
        # Only what a login makes of the mistake is known.
        m.config("OnHit deny", "OnError deny", "Nonsense")
        found = expect("policy", "warning", "not looked at", "OnError deny: no key is let in",
                       others=["config", *unseen[1:]])
        lacks(str(found["policy"]), "OnHit deny: ")
        m.config("OnError allow", "Nonsense")
        expect("policy", "warning", "OnError allow: listed keys are let in", others=["config", *unseen[1:]])
        CONFIG.unlink()
        other = folder / "other.conf"
        other.write_text("", encoding="utf-8")
        expect("guard", "warning", str(CONFIG), str(other), arguments=("--config", other), others=["pam-module"])


@case("policy: a rehearsal, and letting in without a verdict, are warnings")
def _(folder):
    with machine(folder) as m:
        m.config("OnHit warn")
        expect("policy", "warning", "OnHit warn")
        m.config("OnError allow")
        expect("policy", "warning", "OnError allow")


@case("exceptions: those past their date are named")
def _(folder):
    with machine(folder) as m:
        digest = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
        m.config(f"AllowKey {digest} until=2020-01-01 over")
        expect("exceptions", "warning", "1 of 1")
        m.config(f"AllowKey {digest} until=9999-01-01 not yet")
        contains(well()["exceptions"][0]["found"], "1 AllowKey", "0 of them")


@case("filter: missing, truncated, insecure, empty, full")
def _(folder):
    with machine(folder) as m:
        gone = ["filter-age", "filter-rate"]
        FILTER.chmod(0o664)
        expect("filter", "broken", "writable by group", others=gone)
        FILTER.chmod(0o644)
        whole = FILTER.read_bytes()
        FILTER.write_bytes(whole[:-1])
        expect("filter", "broken", str(FILTER), others=gone)
        FILTER.unlink()
        expect("filter", "broken", "No such file", others=[*gone, "guard-user"])
        FILTER.write_bytes(whole[:18] + bytes(4) + whole[22:24] + bytes(len(whole) - 24))
        expect("filter", "broken", "is empty: it lists no key")
        FILTER.write_bytes(b"")
        expect("filter", "broken", str(FILTER), others=gone)
        FILTER.write_bytes(whole + b"x")
        expect("filter", "broken", str(FILTER), others=gone)
        FILTER.write_bytes(whole[:24] + bytes(len(whole) - 24))
        expect("filter", "broken", str(FILTER))
        FILTER.write_bytes(whole[:24] + b"\xff" * (len(whole) - 24))
        expect("filter", "broken", "every bit is set", others=["filter-rate"])
        FILTER.write_bytes(whole)
        well()
        assert m.listed


@case("filter: of several, each counts")
def _(folder):
    with machine(folder) as m:
        m.config(f"Filter {FILTER}", "Filter /var/lib/keyveto/other.pkbf")
        found = expect("filter", "broken", "other.pkbf", others=["guard-user"])
        equal([one["status"] for one in found["filter"]], ["ok", "broken"])
        m.make_filter(path=FILTER.with_name("other.pkbf"))
        well()


@case("filter-age: too old, undated, from the future")
def _(folder):
    with machine(folder) as m:
        now = int(time.time())
        m.make_filter("--time", now - 31 * DAY)
        expect("filter-age", "warning", "31 days old")
        expect("filter-age", "ok", arguments=("--max-age", "32"))
        expect("filter-age", "ok", arguments=("--max-age", "0"))
        m.make_filter("--time", now - 29 * DAY)
        expect("filter-age", "ok")
        expect("filter-age", "warning", "29 days old", arguments=("--max-age", "28"))
        m.make_filter("--time", now + 3 * DAY)
        expect("filter-age", "warning", "future")
        m.make_filter("--time", 0)
        expect("filter-age", "warning", "when it was made")


@case("filter-rate: by the bits that are set")
def _(folder):
    with machine(folder) as m:
        m.make_filter(hashes=1, length=12)      # 1 bit of 4096: 2.4e-4
        expect("filter-rate", "warning", "0.000244")
        m.make_filter(hashes=1, length=4)       # 1 of 16
        expect("filter-rate", "broken", "0.0625")
        m.make_filter(hashes=2, length=12)      # 2 of 4096, squared
        expect("filter-rate", "ok", "2.38e-07")
        m.make_filter(hashes=12, length=6)      # one of 2^11 patterns, whatever the bits
        expect("filter-rate", "warning", "chance of 0.000")


@case("canaries: each key in the file must be listed")
def _(folder):
    with machine(folder) as m:
        contains(well()["canaries"][0]["found"], f"no {CANARIES}")
        CANARIES.symlink_to("missing")
        expect("canaries", "warning", "No such file")
        CANARIES.unlink()
        m.canaries(m.listed)
        contains(well()["canaries"][0]["found"], "1 of 1 keys")
        m.canaries(m.listed, m.clean)
        expect("canaries", "broken", f"{CANARIES}:2: ", m.clean.fingerprint, "not listed")
        m.canaries()
        expect("canaries", "warning", "no key")
        CANARIES.write_text("ssh-ed25519 AAAA\n", encoding="utf-8")
        expect("canaries", "warning", f"{CANARIES}:1: ")
        expect("canaries", "ok", arguments=("--canary", m.listed.path))
        expect("canaries", "broken", arguments=("--canary", m.clean.path))
        expect("canaries", "warning", "No such file", arguments=("--canary", folder / "missing"))
        for path in ("/dev/zero", folder, folder / "fifo"):
            if not Path(path).exists():
                os.mkfifo(path)
            expect("canaries", "warning", "not a regular file", arguments=("--canary", path))
        # AllowKey does not hide that a filter lists it.
        CANARIES.unlink()
        m.config(f"AllowKey {m.listed.fingerprint}")
        expect("canaries", "ok", arguments=("--canary", m.listed.path))


# sshd.

@case("sshd: a configuration that it does not take, or no sshd")
def _(folder):
    rest = ["guard", "guard-path", "guard-user", "match", "user-ca", "hostbased", "tunnel"]
    with machine(folder) as m:
        m.sshd_config(*GUARDED, "Nonsense yes")
        expect("sshd", "broken", "Nonsense", others=rest)
        m.sshd_config(*GUARDED)
        expect("sshd", "broken", "No such file", arguments=("--sshd", "/nowhere/sshd"), others=rest)
        other = folder / "sshd_config"
        other.write_text("UsePAM yes\n", encoding="utf-8")
        expect("guard", "ok", "the PAM module alone judges keys", arguments=("--sshd-config", other))


@case("guard: absent, without its arguments, or with AuthorizedKeysFile beside it")
def _(folder):
    with machine(folder) as m:
        m.sshd_config()
        expect("guard", "ok", "the PAM module alone judges keys")
        m.pam(STOCK_STACK)
        expect("guard", "broken", "neither the guard nor the module", others=["pam"])
        m.sshd_config(*GUARDED[1:])
        found = expect("guard", "broken", "neither the guard nor the module", others=["pam"])
        lacks(str(found), "AuthorizedKeysFile none")
        m.pam(SESSION + STOCK_STACK)
        expect("guard", "ok", "the PAM module judges the keys in AuthorizedKeysFile")
        m.sshd_config(GUARDED[0], f"AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t", GUARDED[2])
        expect("guard", "broken", "lacks --key")
        m.sshd_config(GUARDED[0], f"AuthorizedKeysCommand {GUARD} --user %u --type %t --key %k", GUARDED[2])
        expect("guard", "broken", "lacks --home")
        m.sshd_config(GUARDED[0], f"AuthorizedKeysCommand {GUARD} --user %u --type %t --key %k -- /bin/cat /dev/null",
                      GUARDED[2])
        expect("guard", "ok", "before another command")
        m.sshd_config(GUARDED[0], f"AuthorizedKeysCommand {GUARD} --user %u --type %t -- /bin/echo --key %k",
                      GUARDED[2])
        expect("guard", "broken", "lacks --key")
        m.sshd_config(GUARDED[0], "AuthorizedKeysCommand /bin/echo %u", GUARDED[2])
        expect("guard", "ok", "the PAM module alone judges keys")


@case("guard: its own --config is compared with the one looked at")
def _(folder):
    with machine(folder) as m:
        m.sshd_config(GUARDED[0], f"{GUARDED[1]} --config /etc/keyveto/other.conf", GUARDED[2])
        expect("guard", "warning", "/etc/keyveto/other.conf")


@case("guard-path: what sshd itself would refuse to run")
def _(folder):
    with machine(folder) as m:
        os.chown(GUARD, 0, 65534)
        GUARD.chmod(0o775)
        expect("guard-path", "broken", f"{GUARD} is writable by group")
        os.chown(GUARD, 0, 0)
        expect("guard-path", "warning", f"{GUARD} is writable by root's group")
        GUARD.chmod(0o755)
        os.chown(GUARD, 65534, 0)
        expect("guard-path", "broken", f"{GUARD} is not owned by root")
        os.chown(GUARD, 0, 0)
        GUARD.parent.chmod(0o777)
        expect("guard-path", "broken", f"{GUARD.parent} is writable")
        # sshd makes no exception for a sticky folder, as there is for filters.
        GUARD.parent.chmod(0o1777)
        expect("guard-path", "broken", f"{GUARD.parent} is writable")
        GUARD.parent.chmod(0o775)
        expect("guard-path", "warning", f"{GUARD.parent} is writable by root's group")
        GUARD.parent.chmod(0o755)
        well()
        moved = GUARD.with_name("moved")
        GUARD.rename(moved)
        expect("guard-path", "broken", "No such file", others=["guard-user"])
        found = expect("guard-user", "warning", f"root has no {GUARD} to execute", others=["guard-path"])
        lacks(str(found["guard-user"]), "can run the guard")
        GUARD.symlink_to(moved)
        well()
        moved.chmod(0o757)
        expect("guard-path", "broken", f"{moved} is writable")
        moved.unlink()
        GUARD.unlink()
        assert m.listed


@case("guard-user: it must exist, run the guard, and read the files")
def _(folder):
    with machine(folder) as m:
        m.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser nobody")
        well()
        FILTER.chmod(0o600)
        expect("guard-user", "broken", f"nobody cannot read {FILTER}")
        FILTER.chmod(0o644)
        CONFIG.parent.chmod(0o700)
        expect("guard-user", "broken", f"nobody cannot read {CONFIG}")
        m.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser %u")
        expect("guard-user", "broken", f"nobody cannot read {CONFIG}")
        m.sshd_config(*GUARDED)
        well()
        CONFIG.parent.chmod(0o755)
        m.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser missing")
        expect("guard-user", "broken", "no such account")
        m.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser nobody")
        GUARD.chmod(0o700)
        expect("guard-user", "broken", f"nobody cannot execute {GUARD}")


def injected(*words):
    """The checks by name, as --json says them under an strace that spoils something."""
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", *words, KEYVETO, "doctor", "--json"], timeout=PATIENCE,
                          capture_output=True, text=True, check=False,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    found = {}
    for one in json.loads(done.stdout)["checks"]:
        found.setdefault(one["check"], []).append(one)
    return found


@case("a parent that ignores the end of its children changes nothing")
def _(folder):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    with machine(folder) as m:
        equal(doctor(preexec_fn=ignore)[1]["status"], "ok")
        m.sshd_config(*GUARDED, "Nonsense yes")
        found, _ = doctor(preexec_fn=ignore)
        equal(found["sshd"][0]["status"], "broken", str(found["sshd"]))


@case("a child that dies, or cannot be heard, has not found all well")
def _(folder):
    with machine(folder) as m:
        m.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser nobody")
        # setgroups is for the look-up as an account; the module's loader maps the module.
        for call, what, check in (("setgroups", "signal=KILL", "guard-user"),
                                  ("setresuid", "error=EPERM", "guard-user"),
                                  ("setresuid", "signal=SEGV", "guard-user"),
                                  ("close_range", "error=EPERM", "guard-user"),
                                  ("close_range", "signal=KILL", "pam-module")):
            found = injected("-f", "-e", f"trace={call}", "-e", f"inject={call}:{what}")[check]
            assert all(one["status"] != "ok" for one in found), f"{call} {what}: {found}"


@case("match: accounts and clients that get past the guard")
def _(folder):
    with machine(folder) as m:
        with open("/etc/passwd", "a", encoding="utf-8") as file:
            file.write("backup2:x:21000:21000::/nonexistent:/bin/sh\n")
        m.sshd_config(*GUARDED, "Match User backup2", " AuthorizedKeysFile .ssh/authorized_keys")
        expect("match", "ok")
        m.pam(STOCK_STACK)
        expect("match", "broken", "1 account can be entered with a key that nothing judges: backup2")
        m.sshd_config(*GUARDED, "Match User backup2", " AuthorizedKeysCommand none")
        well()      # neither files nor a command: no key gets in at all
        m.sshd_config(*GUARDED, "Match User backup2", " AuthorizedKeysFile none # as ever")
        well()
        # The first block counts, which is what sshd says; the words alone would not tell.
        m.sshd_config(*GUARDED, "Match User backup2", " AuthorizedKeysFile none", "Match User backup2",
                      " AuthorizedKeysFile .ssh/authorized_keys")
        well()
        m.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", " AuthorizedKeysFile .ssh/authorized_keys")
        expect("match", "broken", f"{DROP_IN}:5: ", "for some clients")
        m.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", " X11Forwarding no")
        well()
        m.sshd_config(*GUARDED, "Match User backup2", " TrustedUserCAKeys /etc/ssh/ca.pub")
        expect("match", "broken", "backup2")
        m.pam(SESSION + STOCK_STACK)
        well()


@case("match: a guard that is only in Match blocks leaves the others unguarded")
def _(folder):
    with machine(folder) as m:
        with open("/etc/passwd", "a", encoding="utf-8") as file:
            file.write("backup2:x:21000:21000::/nonexistent:/bin/sh\n")
        m.pam(STOCK_STACK)
        guarded = [f" {line}" for line in GUARDED]
        m.sshd_config("Match User *,!backup2", *guarded)
        expect("match", "broken", "1 account can be entered with a key that nothing judges: backup2")
        m.sshd_config("Match User root", *guarded)
        expect("match", "broken", " accounts can be entered with a key that nothing judges: ", "...")
        # Whoever comes from elsewhere than this machine is not in the block.
        m.sshd_config("Match Address 127.0.0.1,::1", *guarded)
        expect("match", "broken", f"{DROP_IN}:2: the guard is set for some clients only")
        m.sshd_config("Match all", *guarded)
        well()
        m.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", GUARDED[0])
        well()
        m.pam(SESSION + STOCK_STACK)
        m.sshd_config("Match Address 127.0.0.1,::1", *guarded)
        well()


HIDING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pwd.h>
#include <string.h>
struct passwd *getpwent(void)
{
	struct passwd *(*next)(void) = (struct passwd *(*)(void))dlsym(RTLD_NEXT, "getpwent"), *pw;

	do
		pw = next();
	while (pw != NULL && strcmp(pw->pw_name, "backup2") == 0);
	return pw;
}
"""


@case("match: accounts that the name service does not list, but knows")
def _(folder):
    (folder / "hide.c").write_text(HIDING, encoding="ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "hide.so", folder / "hide.c", "-ldl"], check=True)
    hidden = {"env": {**os.environ, "LD_PRELOAD": str(folder / "hide.so"),
                      "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}}
    groups = Path("/etc/group").read_bytes()
    with machine(folder) as m:
        with open("/etc/passwd", "a", encoding="utf-8") as file:
            file.write("backup2:x:21000:21000::/nonexistent:/bin/sh\n")
        with open("/etc/group", "a", encoding="utf-8") as file:
            file.write("backups:x:21001:backup2\n")
        for criterion in ("User backup2", "User nobody,backup2", "Group backups"):
            m.sshd_config(*GUARDED, f"Match {criterion}", " AuthorizedKeysFile .ssh/authorized_keys")
            m.pam(STOCK_STACK)
            found, _ = doctor(**hidden)
            contains(str(found["match"]), "can be entered with a key that nothing judges: ", "backup2")
        m.sshd_config(*GUARDED, "Match User absent", " AuthorizedKeysCommand none")
        equal(doctor(**hidden)[1]["status"], "ok")
    Path("/etc/group").write_bytes(groups)


@case("match: what cannot be seen is not well")
def _(folder):
    with machine(folder) as m:
        another = folder / "sshd"
        shutil.copy(SSHD, another)
        expect("match", "warning", "Match blocks cannot be seen", arguments=("--sshd", another))
        expect("match", "ok", arguments=("--sshd", another, "--sshd-config", SSHD_CONFIG))
        assert m.listed


@case("match: with LocalPort, too, sshd is asked about those for whom no block is")
def _(folder):
    with machine(folder) as m:
        m.sshd_config(*GUARDED, "Match LocalPort 65535", " AuthorizedKeysFile none")
        well()
        m.sshd_config("Match LocalPort 22", *(f" {line}" for line in GUARDED))
        well()
        m.pam(STOCK_STACK)
        expect("match", "broken", "the guard is set for some clients only")
        assert m.listed


@case("sshd: a HostKey that is a FIFO is named with its line")
def _(folder):
    with machine(folder) as m:
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        m.sshd_config(*GUARDED, f"HostKey {fifo}")
        found, _ = doctor()
        contains(found["sshd"][0]["found"], f"{DROP_IN}:{len(GUARDED) + 1}: HostKey {fifo} is a FIFO")


@case("match: a block ends with its file")
def _(folder):
    with machine(folder) as m:
        m.sshd_config("Match Address 192.0.2.1", " X11Forwarding no")
        SSHD_CONFIG.write_text(f"Include {DROP_IN}\nUsePAM yes\n" + "".join(f"{line}\n" for line in GUARDED)
                               + "AuthorizedKeysFile .ssh/authorized_keys\n", encoding="utf-8")
        well()
        assert m.listed


@case("user-ca and hostbased: what neither guard nor module sees")
def _(folder):
    with machine(folder) as m:
        guarded = (*GUARDED, "TrustedUserCAKeys /etc/ssh/ca.pub")
        m.sshd_config(*guarded)
        contains(well()["user-ca"][0]["found"], "the module judges")
        # A module that can be got around is none.
        m.pam(STOCK_STACK + SESSION)
        expect("user-ca", "broken", "nothing judges", others=["pam-order"])
        m.pam(SESSION.replace("requisite", "optional") + STOCK_STACK)
        expect("user-ca", "broken", "nothing judges", others=["pam-control"])
        m.pam(STOCK_STACK)
        expect("user-ca", "broken", "nothing judges")
        principals = (f"AuthorizedPrincipalsCommand {GUARD} --user %u --type %t --key %k -- /bin/echo %u",
                      "AuthorizedPrincipalsCommandUser nobody")
        m.sshd_config(*principals, *guarded)
        contains(well()["user-ca"][0]["found"], "the guard judges")
        for command, lack in ((f"{GUARD} --user %u --type %t -- /bin/echo %u --key", "--key"),
                              (f"{GUARD} --user %u --home %h --type %t --key %k", "--")):
            m.sshd_config(f"AuthorizedPrincipalsCommand {command}", principals[1], *guarded)
            expect("user-ca", "broken", f"lacks {lack}: sshd takes no such certificate")
        m.sshd_config(principals[0], "AuthorizedPrincipalsCommandUser missing", *guarded)
        expect("guard-user", "broken", "AuthorizedPrincipalsCommandUser missing: there is no such account")
        m.sshd_config(principals[0].replace(str(GUARD), f"/nowhere{GUARD}"), principals[1], *guarded)
        expect("guard-path", "broken", f"/nowhere{GUARD}: No such file", others=["guard-user"])
        m.sshd_config(*principals, *guarded, "AuthorizedPrincipalsFile .ssh/principals")
        expect("user-ca", "broken", "nothing judges")
        m.sshd_config(*GUARDED, "HostbasedAuthentication yes")
        expect("hostbased", "broken", "nothing judges")
        m.pam(SESSION + STOCK_STACK)
        contains(well()["hostbased"][0]["found"], "the module judges")


@case("tunnel: what a refused session leaves open")
def _(folder):
    with machine(folder) as m:
        m.sshd_config("PermitTunnel ethernet")
        contains(well()["tunnel"][0]["found"], "no connection of root's outlives a refusal")
        m.pam(SESSION.replace(".so", ".so disconnect=never") + STOCK_STACK)
        expect("tunnel", "broken", "although PAM refuses")
        m.sshd_config(*GUARDED, "PermitTunnel yes")
        expect("tunnel", "warning", "PermitTunnel is on")
        m.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", " PermitTunnel point-to-point")
        expect("tunnel", "warning", "PermitTunnel is on")
        m.sshd_config(*GUARDED, "Match User root", " PermitTunnel yes")
        expect("tunnel", "warning", "PermitTunnel is on")
        m.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", " PermitTunnel no")
        well()
        m.sshd_config("PermitTunnel yes", "KbdInteractiveAuthentication yes",
                      "AuthenticationMethods publickey,keyboard-interactive:pam")
        m.pam("auth requisite pam_keyveto.so\n" + SESSION.replace(".so", ".so disconnect=never") + STOCK_STACK)
        expect("tunnel", "warning")


# PAM.

@case("pam: the phases that see the key")
def _(folder):
    with machine(folder) as m:
        m.pam(STOCK_STACK)
        contains(well()["pam"][0]["found"], "does not run the module")
        m.pam("account requisite pam_keyveto.so\n" + STOCK_STACK)
        expect("pam", "warning", "only in account")
        m.pam("auth requisite pam_keyveto.so\n" + STOCK_STACK)
        expect("pam", "warning", "only in auth")
        m.sshd_config(*GUARDED, "KbdInteractiveAuthentication yes",
                      "AuthenticationMethods publickey,keyboard-interactive:pam")
        contains(well()["pam"][0]["found"], "AuthenticationMethods")
        for methods in ("publickey,keyboard-interactive:pam publickey", "publickey,keyboard-interactive:pam,publickey",
                        "keyboard-interactive:pam,publickey"):
            m.sshd_config(*GUARDED, "KbdInteractiveAuthentication yes", f"AuthenticationMethods {methods}")
            expect("pam", "warning", "only in auth")
        m.sshd_config(*GUARDED, "KbdInteractiveAuthentication yes", "HostbasedAuthentication yes",
                      "AuthenticationMethods publickey,keyboard-interactive:pam,hostbased")
        expect("pam", "warning", "only in auth", others=["hostbased"])
        m.sshd_config()
        m.pam("account requisite pam_keyveto.so\n" + STOCK_STACK)
        expect("pam", "broken", "only in account", others=["guard"])


@case("pam: UsePAM no, and a stack that PAM does not take")
def _(folder):
    with machine(folder) as m:
        m.sshd_config("UsePAM no", *GUARDED)
        expect("pam", "warning", "UsePAM is no")
        m.sshd_config("UsePAM no")
        expect("pam", "broken", "UsePAM is no", others=["guard"])
        m.sshd_config(*GUARDED)
        m.pam(SESSION + STOCK_STACK + "@include missing\n")
        expect("pam", "broken", f"{STACK}:", "/etc/pam.d/missing: No such file")
        m.pam(SESSION + "sesion required pam_permit.so\n")
        expect("pam", "broken", f"{STACK}:2: unknown type sesion")


@case("pam-control: what becomes of a refusal")
def _(folder):
    with machine(folder) as m:
        for control, status in (("requisite", "ok"), ("required", "warning"), ("optional", "broken"),
                                ("sufficient", "broken"), ("[success=ok default=die]", "ok"),
                                ("[success=ok ignore=ignore default=bad]", "warning"), ("[success=ok]", "warning"),
                                ("[success=ok default=ignore]", "broken"),
                                ("[perm_denied=die session_err=die default=ignore]", "ok"),
                                ("[perm_denied=die default=ignore]", "broken"),
                                ("[perm_denied=die session_err=bad default=ignore]", "warning")):
            m.pam(f"session {control} pam_keyveto.so\n{STOCK_STACK}")
            expect("pam-control", status, control)
        m.pam(f"-session requisite pam_keyveto.so\n{STOCK_STACK}")
        expect("pam-control", "warning", "does not log that a module is missing")


@case("pam-control: a stack that the module's line decides")
def _(folder):
    with machine(folder) as m:
        permit = "session required pam_permit.so\n"
        for stack, status, says in ((permit, "ok", "a refusal ends the stack"),
                                    ("session include other\n", "ok", "a refusal ends the stack"),
                                    ("", "warning", "PAM would use /etc/pam.d/other"),
                                    ("session optional pam_permit.so\n", "warning", f"{STACK}:1: this line decides"),
                                    (f"session [success=1 default=ignore] pam_env.so\n{permit}", "warning",
                                     "PAM may let in whom it would refuse")):
            m.pam(SESSION + stack)
            expect("pam-control", status, says)


@case("pam-order: Debian's own stack, with the line in the wrong place")
def _(folder):
    with machine(folder) as m:
        m.pam(STOCK_STACK + SESSION)
        found = expect("pam-order", "broken", "user_readenv=1")
        place = next(number for number, line in enumerate(STOCK_STACK.splitlines(), 1)
                     if re.match(r"session.*pam_env\.so.*user_readenv=1", line))
        contains(str(found["pam-order"]), f"{STACK}:{place}: ")
        lacks(str(found["pam-order"]), "pam_loginuid")


@case("pam-order: lines that set the environment, or keep the module from running")
def _(folder):
    with machine(folder) as m:
        for line, status in (("required pam_loginuid.so", "ok"), ("required pam_env.so", "warning"),
                             ("required pam_env.so user_readenv=1", "broken"),
                             ("required pam_env.so user_readenv=0", "warning"),
                             ("required pam_env.so readenv=0 user_readenv=2", "broken"),
                             ("required pam_env.so [user_readenv=1]", "broken"),
                             ("SUFFICIENT pam_permit.so", "broken"),
                             ("required pam_exec.so /bin/true", "warning"),
                             ("sufficient pam_permit.so", "broken"),
                             ("[success=1 default=ignore] pam_permit.so", "broken"),
                             ("[success=done default=ignore] pam_permit.so", "broken"),
                             ("[success=ok ignore=ignore default=bad] pam_selinux.so close", "ok")):
            m.pam(f"session {line}\n{SESSION}{STOCK_STACK}")
            expect("pam-order", status)
        m.pam(f"session [success=1 default=ignore] pam_permit.so\nsession required pam_loginuid.so\n"
              f"{SESSION}{STOCK_STACK}")
        well()
        # In a file that is included, too; and lines of another phase do not matter.
        (STACK.parent / "earlier").write_text("session required pam_env.so user_readenv=1\n", encoding="utf-8")
        m.pam(f"@include earlier\n{SESSION}{STOCK_STACK}")
        expect("pam-order", "broken", "/etc/pam.d/earlier:1: ")
        m.pam(f"auth include earlier\n{SESSION}{STOCK_STACK}")
        well()
        (STACK.parent / "earlier").unlink()


@case("pam-module: missing, insecure, or not to be loaded")
def _(folder):
    with machine(folder) as m:
        content = m.module.read_bytes()
        m.module.unlink()
        expect("pam-module", "broken", "No such file")
        m.module.write_bytes(content)
        m.module.chmod(0o666)
        expect("pam-module", "broken", "writable by group or others")
        m.module.chmod(0o644)
        well()
        m.module.write_bytes(content[:4096])
        expect("pam-module", "broken", str(m.module))
        m.module.write_bytes(content)
        m.pam(SESSION.replace("\n", " config=/etc/keyveto/other.conf\n") + STOCK_STACK)
        expect("pam-module", "warning", "/etc/keyveto/other.conf")
        m.pam(SESSION.replace("\n", " [config=/etc/keyveto/other.conf]\n") + STOCK_STACK)
        expect("pam-module", "warning", "/etc/keyveto/other.conf")
        m.pam(SESSION.replace("\n", " config=/etc/keyveto/keyveto.conf config=/etc/keyveto/other.conf\n") + STOCK_STACK)
        expect("pam-module", "warning", "/etc/keyveto/other.conf")
        m.pam(f"auth requisite pam_keyveto.so config=/etc/keyveto/other.conf\n{SESSION}{STOCK_STACK}")
        expect("pam-module", "warning", f"{STACK}:1: the module reads /etc/keyveto/other.conf")
        m.pam(f"auth requisite /nowhere/pam_keyveto.so\n{SESSION}{STOCK_STACK}")
        expect("pam-module", "broken", "/nowhere: No such file")


# The same questions put to libpam, with modules that answer what they are told.

class Conversation(ctypes.Structure):
    _fields_ = [("function", ctypes.c_void_p), ("data", ctypes.c_void_p)]


class Message(ctypes.Structure):
    _fields_ = [("style", ctypes.c_int), ("text", ctypes.c_char_p)]


CONVERSE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.POINTER(Message)),
                            ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)


def open_session(folder, *lines):
    """(whether libpam lets a session with this stack open, what pam_echo said in it)."""
    folder = folder / "pam"
    folder.mkdir(exist_ok=True)
    (folder / "doctor").write_text("".join(f"session {line}\n" for line in lines), encoding="utf-8")
    libpam, libc = ctypes.CDLL("libpam.so.0"), ctypes.CDLL(None)
    libc.calloc.restype = ctypes.c_void_p
    said = []

    @CONVERSE
    def converse(count, messages, answers, _):
        said.extend(messages[number][0].text for number in range(count))
        answers[0] = libc.calloc(ctypes.c_size_t(count), ctypes.c_size_t(16))
        return 0
    conversation = Conversation(ctypes.cast(converse, ctypes.c_void_p), None)
    handle = ctypes.c_void_p()
    status = libpam.pam_start_confdir(b"doctor", b"root", ctypes.byref(conversation), os.fsencode(folder),
                                      ctypes.byref(handle))
    equal(status, 0)
    status = libpam.pam_open_session(handle, 0)
    libpam.pam_end(handle, status)
    return status == 0, said


CONTROLS = ["requisite", "required", "optional", "sufficient", "[default=die]", "[default=bad]", "[success=ok]",
            "[success=ok default=ignore]", "[success=done default=bad]", "[perm_denied=die default=ignore]",
            "[session_err=die perm_denied=die default=ok]", "[perm_denied=bad session_err=die default=die]",
            "[success=ok new_authtok_reqd=ok ignore=ignore default=1]", "[default=1 perm_denied=2 session_err=bad]"]


@case("pam-control says what libpam makes of each control")
def _(folder):
    with machine(folder) as m:
        seen = set()
        for control in CONTROLS:
            outcomes = [open_session(folder, f"{control} pam_debug.so open_session={refusal}",
                                     "optional pam_echo.so later", *["required pam_permit.so"] * 4)
                        for refusal in ("perm_denied", "session_err")]
            opened, went_on = any(one[0] for one in outcomes), any(b"later" in one[1] for one in outcomes)
            status = "broken" if opened else "warning" if went_on else "ok"
            m.pam(f"session {control} pam_keyveto.so\nsession optional pam_echo.so x\nsession required pam_permit.so\n")
            expect("pam-control", status, control)
            seen.add(status)
        equal(seen, set(RANK))


@case("pam-order knows the lines that keep libpam from running the module")
def _(folder):
    with machine(folder) as m:
        seen = set()
        for control in [*CONTROLS, "[success=2]", "[success=1]", "[success=3 default=ignore]", "[success=ok]"]:
            status = "ok"
            for answer in ("success", "perm_denied", "session_err", "new_authtok_reqd", "ignore"):
                opened, said = open_session(folder, f"{control} pam_debug.so open_session={answer}",
                                            "optional pam_permit.so", "required pam_echo.so the module",
                                            *["required pam_permit.so"] * 4)
                if opened and b"the module" not in said:
                    status = "broken"
            earlier = [f"{control} pam_permit.so", "optional pam_permit.so"]
            m.pam("".join(f"session {line}\n" for line in earlier) + SESSION + "session required pam_permit.so\n")
            found, _ = doctor()
            equal(max((one["status"] for one in found["pam-order"]), key=RANK.get), status, f"{control}: {found}")
            seen.add(status)
        equal(seen, {"ok", "broken"})


# The same question put to sshd: does it run the guard?

def can_log_in(folder, key, name):
    """Whether a real sshd takes a key for an account by the guard, and what it logs."""
    log = folder / "sshd.log"
    log.unlink(missing_ok=True)
    with running_sshd(folder, "-E", str(log), "-o", "LogLevel=VERBOSE", "-o", "UsePAM=no"):
        done = subprocess.run(["ssh", "-F", "none", "-p", "20022", "-i", str(key), "-o", "BatchMode=yes",
                               "-o", "IdentitiesOnly=yes", "-o", "StrictHostKeyChecking=no",
                               "-o", "UserKnownHostsFile=/dev/null", "-o", "PreferredAuthentications=publickey",
                               f"{name}@127.0.0.1", "true"], capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=PATIENCE, check=False)
    return done.returncode == 0, log.read_text(encoding="utf-8", errors="replace")


@case("what guard, guard-path and guard-user call broken, a real sshd refuses")
def _(folder):
    with machine(folder) as m:
        home = folder / "home"
        (home / ".ssh").mkdir(parents=True)
        made = keys.generate(folder)
        shutil.copy(made.key.path, home / ".ssh/authorized_keys")
        for path in (home, home / ".ssh", home / ".ssh/authorized_keys"):
            os.chown(path, 21001, 65534)
        with open("/etc/passwd", "a", encoding="utf-8") as file:
            file.write(f"keyowner:x:21001:65534::{home}:/bin/sh\n")

        def compare(check, status):
            found, _ = doctor()
            equal(max((one["status"] for one in found[check]), key=RANK.get), status, str(found[check]))
            logged_in, log = can_log_in(folder, made.path, "keyowner")
            equal(logged_in, status == "ok", f"{check} is {found[check]}, but sshd says:\n{log}")

        def change(check, path, **new):
            before = os.stat(path)
            os.chown(path, new.get("uid", 0), new.get("gid", 0))
            os.chmod(path, new.get("mode", before.st_mode & 0o7777))
            compare(check, "broken")
            os.chown(path, before.st_uid, before.st_gid)
            os.chmod(path, before.st_mode & 0o7777)

        compare("guard", "ok")
        change("guard-path", GUARD, mode=0o775, gid=65534)
        change("guard-path", GUARD, mode=0o757)
        change("guard-path", GUARD, uid=65534)
        change("guard-path", GUARD.parent, mode=0o1777)
        change("guard-path", GUARD.parent.parent, mode=0o775, gid=1)
        m.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser missing")
        compare("guard-user", "broken")
        m.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser keyowner")
        compare("guard-user", "ok")
        change("guard-user", FILTER, mode=0o600)
        m.sshd_config(GUARDED[0], GUARDED[1].replace("--key %k", ""), GUARDED[2])
        compare("guard", "broken")
        m.sshd_config(*GUARDED)
        compare("guard", "ok")


# What runs.

@contextlib.contextmanager
def running_sshd(folder, *arguments, executable=SSHD, **options):
    """A real sshd with these arguments, once it listens and bears the title of one that does."""
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


@case("service: arguments of a running sshd that lead past the guard")
def _(folder):
    with machine(folder):
        contains(well()["service"][0]["found"], "no sshd listens")
        with running_sshd(folder):
            contains(well()["service"][0]["found"], "1 sshd listens")
        for words, status, part in ((("-o", "AuthorizedKeysFile=.ssh/x"), "broken", "AuthorizedKeysFile=.ssh/x"),
                                    (("-oAuthorizedKeysFile .ssh/x",), "broken", "AuthorizedKeysFile=.ssh/x"),
                                    (("-o", "authorizedkeysfile none"), "ok", ""),
                                    (("-o", "UsePAM=no"), "broken", "UsePAM=no"),
                                    (("-o", "UsePAM=yes"), "ok", ""),
                                    (("-o", f"AuthorizedKeysCommand={GUARD} --user %u"), "ok", ""),
                                    (("-o", "AuthorizedKeysCommand=none"), "broken", "none"),
                                    (("-o", "PermitTunnel=yes"), "warning", "PermitTunnel=yes"),
                                    (("-4o", "UsePAM=no"), "broken", "UsePAM=no"),
                                    (("-4oUsePAM=no",), "broken", "UsePAM=no"),
                                    (("-4f", str(SSHD_CONFIG)), "ok", ""),
                                    (("-E", f"{folder}/-oUsePAM=no"), "ok", ""),
                                    (("-o", "LogLevel=VERBOSE", "-o", "PermitTunnel yes"), "warning", "PermitTunnel")):
            with running_sshd(folder, *words) as process:
                expect("service", status, part)
                if status != "ok":
                    expect("service", status, f"process {process.pid}")


@case("service: the advice about an option takes keyveto's lines out before the option moves")
def _(folder):
    with machine(folder), running_sshd(folder, "-o", "AuthorizedKeysCommand /usr/bin/eic %u %f"):
        remedy = doctor()[0]["service"][0]["remedy"]
        steps = ("keyveto sshd disable --reload", "take the option out", "at the top of sshd_config", "restart sshd",
                 "keyveto sshd enable")
        places = [remedy.find(step) for step in steps]
        assert -1 not in places and places == sorted(places), remedy


@case("service: an sshd that is only asked something is not one that listens")
def _(folder):
    with machine(folder):
        fifo, other = folder / "included", folder / "asked"
        os.mkfifo(fifo)
        other.write_text(f"Include {fifo}\n", encoding="ascii")
        for question in ("-T", "-t", "-4T"):
            # It waits for what it is to include.
            with subprocess.Popen([SSHD, question, "-o", "UsePAM=no", "-f", other], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as process:
                try:
                    wait_until(lambda process=process: Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(
                        SSHD.encode()), "sshd is started")
                    contains(well()["service"][0]["found"], "no sshd listens")
                    equal(process.poll(), None, f"sshd {question} has ended")
                finally:
                    process.kill()


@case("service: another configuration file, and the defaults of the service")
def _(folder):
    with machine(folder):
        other = folder / "sshd_config"
        other.write_text("UsePAM yes\n" + "".join(f"{line}\n" for line in GUARDED), encoding="utf-8")
        with running_sshd(folder, "-f", str(other)):
            expect("service", "warning", str(other))
            expect("service", "ok", arguments=("--sshd-config", other))
        DEFAULTS.write_text("# SSHD_OPTS=-oUsePAM=no\nSSHD_OPTS='-oUsePAM=no -4'\n", encoding="utf-8")
        expect("service", "broken", f"{DEFAULTS}: -o UsePAM=no")
        DEFAULTS.write_text("SSHD_OPTS=\"-4\"\n", encoding="utf-8")
        well()


@case("service: an sshd by another name has another PAM service")
def _(folder):
    with machine(folder):
        alias = folder / "other-sshd"
        alias.symlink_to(SSHD)
        with running_sshd(folder, executable=alias) as process:
            expect("service", "warning", f"process {process.pid}: goes by the name of other-sshd")


@case("service: a process that only calls itself sshd says nothing about sshd")
def _(folder):
    with machine(folder) as m:
        mine, theirs = folder / "mine", folder / "theirs"
        for place, owner in ((mine, 0), (theirs, 65534)):
            place.mkdir(mode=0o755)
            shutil.copy("/bin/sleep", place / "sshd")
            os.chown(place / "sshd", owner, owner)
        words = ["sshd: /usr/sbin/sshd -o UsePAM=no -o AuthorizedKeysCommand=/tmp/x [listener] 0 of 10-100 startups", "1000"]
        # A file of root's, run by an account; an account's file, run by root.
        for place, user in ((mine, 65534), (theirs, 65534), (theirs, 0)):
            with subprocess.Popen(words, executable=place / "sshd", user=user, group=user) as process:
                try:
                    equal(Path(f"/proc/{process.pid}/comm").read_text(encoding="ascii"), "sshd\n")
                    contains(well()["service"][0]["found"], "no sshd listens")
                finally:
                    process.kill()
        assert m.listed


@case("service: what cannot be read is told")
def _(folder):
    def spoilt(path, call, error):
        return injected("-P", path, "-e", f"trace={call}", "-e", f"inject={call}:error={error}")["service"]

    def unseen(path, call, error):
        found = spoilt(path, call, error)
        assert all(one["status"] == "warning" for one in found), f"{path}, {call}: {found}"
        contains(str(found), os.strerror(getattr(errno, error)))

    with machine(folder), running_sshd(folder) as process:
        well()
        for path, calls in (("/proc", ("openat", "getdents64")), (f"/proc/{process.pid}/cmdline", ("openat", "read")),
                            (DEFAULTS, ("openat", "read")), ("/etc/sysconfig/sshd", ("openat",))):
            DEFAULTS.write_text("SSHD_OPTS=-4\n", encoding="utf-8")
            for call in calls:
                unseen(path, call, "EIO")
        for link in ("exe", "ns/pid"):
            unseen(f"/proc/{process.pid}/{link}", "readlink", "EACCES")
        # One that has gone meanwhile is no news.
        contains(str(spoilt(f"/proc/{process.pid}/exe", "readlink", "ENOENT")), "no sshd listens")


@case("service: a listener whose title is cut off is one all the same")
def _(folder):
    with machine(folder), running_sshd(folder, "-o", "UsePAM=no", env={}) as process:
        lacks(Path(f"/proc/{process.pid}/cmdline").read_text(encoding="utf-8"), "[listener]")
        expect("service", "warning", f"process {process.pid}: its arguments are cut off: sshd: {SSHD} -D")


@case("syslog: nobody listens")
def _(folder):
    with machine(folder):
        Path("/dev/log").unlink()
        expect("syslog", "warning", "/dev/log: No such file")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.bind("/dev/log")
        expect("syslog", "warning", "/dev/log: Connection refused")
        Path("/dev/log").unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as log:
            log.bind("/dev/log")
            log.listen()
            well()


@case("nothing is changed, and nothing is sent to the log")
def _(folder):
    with machine(folder):
        Path("/dev/log").unlink()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.bind("/dev/log")
            log.setblocking(False)
            before = {path: os.stat(path).st_mtime_ns for path in (CONFIG, FILTER, STACK, SSHD_CONFIG, DROP_IN)}
            well()
            equal(before, {path: os.stat(path).st_mtime_ns for path in before})
            try:
                raise AssertionError(f"logged: {log.recv(4096)!r}")
            except BlockingIOError:
                pass


def prepare_machine(folder):
    """Host keys, without which sshd -T gives no answer."""
    assert folder
    for kind in ("rsa", "ecdsa", "ed25519"):
        path = Path(f"/etc/ssh/ssh_host_{kind}_key")
        if not path.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_in_sandbox(needs_root=True, prepare=prepare_machine))
