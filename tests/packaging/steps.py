# SPDX-License-Identifier: ISC
"""Steps that depend on one another: the first failure ends its part."""

import hashlib
import os
import shutil
import stat
import subprocess
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The folders into which packages install. Elsewhere other users may work meanwhile,
# and their changes would show.
TOPS = ("/bin", "/boot", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/srv", "/usr", "/var")
FOREIGN = {"/var/tmp", str(ROOT)}
SCRATCH = "kvt-"        # begins the names of other tests' folders in /var/lib
# dpkg's records, and caches of other packages that name ours.
RECORDS = {"/var/lib/dpkg", "/var/log", "/var/cache/apt", "/var/cache/man", "/var/cache/debconf",
           "/var/cache/ldconfig", "/etc/ld.so.cache", "/var/lib/apt"}


def refusal(tools):
    """Why this cannot run: a tool is missing, or it is not run as root. Empty if it can."""
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        return f"missing: {' '.join(missing)}"
    return "run this as root" if os.geteuid() != 0 else ""


class Part:
    """One part of the suite. It counts and prints its steps."""

    def __init__(self):
        self.passed = self.failed = 0

    def ok(self, what):
        self.passed += 1
        print(f"ok     {what}", flush=True)

    def run(self, function, *arguments):
        try:
            function(self, *arguments)
        except AssertionError as reason:
            self.fail(function, reason)
        except Exception:
            self.fail(function, traceback.format_exc())

    def fail(self, function, reason):
        self.failed += 1
        print(f"FAILED {function.__name__}: {reason}", flush=True)

    def status(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def check(condition, sentence):
    if not condition:
        raise AssertionError(sentence)


def call(*argv, status=0, **options):
    """Run a program; what it printed, both streams together."""
    done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          **{"timeout": 900, **options})
    as_expected = done.returncode != 0 if status == "failure" else done.returncode == status
    check(as_expected, f"{' '.join(map(str, argv))}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def clean_environment(**more):
    """Without what a calling make, or a test of another kind, has set."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {"LC_ALL": "C.UTF-8", **kept, **more}


def snapshot(*tops):
    """Each file below the tops: kind, mode, owner, and for small ones the content."""
    found = {}
    for top in tops or TOPS:
        found.update(_walk(top))
    return found


def _walk(top):
    found = {}
    for folder, folders, files in os.walk(top):
        folders[:] = [name for name in folders if os.path.join(folder, name) not in FOREIGN | RECORDS
                      and not (folder == "/var/lib" and name.startswith(SCRATCH))]
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            if path not in RECORDS:
                found[path] = _describe(path)
    return found


def _describe(path):
    info = os.lstat(path)
    what = (stat.S_IFMT(info.st_mode), stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid)
    if stat.S_ISLNK(info.st_mode):
        return (*what, os.readlink(path))
    if not stat.S_ISREG(info.st_mode):
        return what
    if path.startswith(("/etc/", "/var/lib/pam/")):
        return (*what, hashlib.sha256(Path(path).read_bytes()).hexdigest())
    return (*what, info.st_size, info.st_mtime_ns)


def difference(before, after):
    """What was added, taken away or changed, a line each."""
    names = sorted({*before, *after})
    return [f"{'-' if name not in after else '+' if name not in before else '!'} {name}"
            for name in names if before.get(name) != after.get(name)]


def same(before, after, what):
    found = difference(before, after)
    check(not found, f"{what}:\n" + "\n".join(found[:40]))
