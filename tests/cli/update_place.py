# SPDX-License-Identifier: ISC
"""A filter with settings and a server to fetch it from, for the tests of keyveto update."""

import contextlib
import functools
import hashlib
import json
import os
import random
import subprocess
import tempfile
from pathlib import Path

import pkbf
from program import KEYVETO, TRACED, attempt, equal, keyveto
from runs import run, tool
from samples import write
from website import Authority, Page, Site


@functools.cache
def a_filter(revision=1, entries=200, k=10, p=16, seed=0):
    """The bytes of a filter that has as many bits set as that many entries set."""
    made = pkbf.Filter.create(k, p, revision=revision, time=1700000000)
    made.entries = entries
    rnd = random.Random(f"{seed}")
    for _ in range(k * entries):
        n = rnd.randrange(2 ** p)
        made.bits[n // 8] |= 1 << (7 - n % 8)
    return made.to_bytes()


@functools.cache
def grown(revision=1, p=16):
    """A filter that has all bits of the revisions before, and some more."""
    bits = bytearray(a_filter(1, entries=500, p=p))
    bits[6:10] = revision.to_bytes(4, "big")
    bits[18:22] = (500 + 2 * (revision - 1)).to_bytes(4, "big")
    for step in range(2, revision + 1):
        for turn in range(20):
            at = 24 + int.from_bytes(hashlib.sha256(b"%d %d" % (step, turn)).digest()[:4], "big") % (len(bits) - 24)
            bits[at] |= 1 << (turn % 8)
    return bytes(bits)


def large(revision=1):
    """A filter of a megabyte, which needs more than one read."""
    return a_filter(revision, entries=2000, p=23, seed="large")


@functools.cache
def authority():
    folder = tempfile.TemporaryDirectory(prefix="keyveto-ca-")
    made = Authority(folder.name, "test-ca")
    made.keep = folder
    made.server = made.issue("localhost")
    return made


class Place:
    """A filter with settings, and a server to fetch it from."""

    def __init__(self, scratch, body=None, etag='"one"'):
        self.state = scratch / "state"
        self.state.mkdir(mode=0o755)
        self.target = self.state / "filter.pkbf"
        self.previous = self.state / "filter.pkbf.previous"
        self.part = self.state / ".filter.pkbf.keyveto-part"        # the lock
        self.old = self.state / ".filter.pkbf.keyveto-old"
        self.settings = scratch / "update.conf"
        self.site = Site(authority().server)
        self.page = self.site.pages["/filter.pkbf"] = Page(body if body is not None else a_filter(), etag)
        self.lines = {"URL": self.site.url(), "CAFile": authority().certificate, "Proxy": "none"}

    def write_settings(self):
        self.settings.write_text("".join(f'{name} "{value}"\n' for name, value in self.lines.items()
                                         if value is not None), encoding="utf-8")

    def arguments(self, *words):
        self.write_settings()
        return ["update", "--settings", self.settings, "--filter", self.target, *words]

    def clear(self):
        """Empties the folder of the filter, in which another process may write."""
        for path in self.state.iterdir():
            path.unlink(missing_ok=True)

    def run(self, *words, status=None, **options):
        return run(*self.arguments(*words), status=status, **options)

    def start(self, *words, **options):
        return subprocess.Popen([KEYVETO, *map(str, self.arguments(*words))], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def update(self, *words, **options):
        """Runs an update that must succeed and print nothing on standard error: its standard output."""
        result = self.run(*words, status=0, **options)
        equal(result.messages, [])
        return result.out.decode().removeprefix(f"{self.target}: ").rstrip("\n")

    def refuse(self, *words, early=False, **options):
        """Runs an update that must fail, change nothing and leave nothing: its messages.

        early: the update fails before it opens the filter.
        """
        before = self.snapshot()
        result = self.run(*words, status=2, **options)
        equal(result.out, b"")
        equal(self.snapshot(), before)
        messages = result.problems
        if not early:
            last = messages.pop()
            if self.target.exists():
                equal(last, f"{self.target}: stays as it is, revision {revision_of(self.target)}")
            else:
                equal(last, f"{self.target}: there is still no filter")
        equal([name for name in self.names() if "part" in name or "patch" in name], [], "what was received is kept")
        return "\n".join(messages)

    def snapshot(self):
        return tuple(path.read_bytes() if path.exists() else None for path in (self.target, self.previous))

    def put(self, body):
        """Installs a filter by hand."""
        write(self.target, body).chmod(0o644)

    def names(self):
        return sorted(os.listdir(self.state))

    def close(self):
        self.site.close()


def received(process):
    """How many bytes an update has in a file without a name."""
    most = 0
    for fd in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            if str(fd.readlink()).endswith("(deleted)") and "memfd" not in str(fd.readlink()):
                most = max(most, fd.stat().st_size)
    return most


def revision_of(path):
    return pkbf.Filter.read(path).revision


def untouched(path):
    """Values of a file that change if somebody writes or replaces it."""
    seen = path.stat()
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns


def redirect_to(where, status=302):
    def answer(handler):
        handler.send_response(status)
        handler.send_header("Location", where)
        handler.send_header("ETag", '"of the redirect"')
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    return answer


def all_ones(revision=9, entries=10_000):
    return pkbf.Filter(3, 13, revision, 1700000000, entries, bytearray(b"\xff" * 1024)).to_bytes()


class Signer:
    def __init__(self, folder, name, kind="ed25519"):
        self.key = folder / name
        tool("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", self.key)
        self.public = self.key.with_suffix(".pub").read_text(encoding="ascii").strip()

    def sign(self, data, namespace="keyveto-filter"):
        return tool("ssh-keygen", "-q", "-Y", "sign", "-f", self.key, "-n", namespace, input=data)


def with_signers(place, *lines):
    allowed = place.settings.with_name("allowed_signers")
    write(allowed, "".join(f"{line}\n" for line in lines)).chmod(0o644)
    place.lines["AllowedSigners"] = allowed
    return allowed


def traced(place, options, *words):
    """Runs an update under strace with these options: (status, messages)."""
    done = attempt("strace", "-qq", "-o", place.settings.with_name("trace"), *options, KEYVETO,
                   *place.arguments(*words), env=TRACED)
    return done.returncode, done.stderr


def update_findings(config):
    """What doctor finds of updates, but for what starts them: here nothing does."""
    checks = json.loads(keyveto("doctor", "--json", "--config", config).stdout)["checks"]
    found = [one for one in checks if one["check"] == "update"]
    others = [one for one in found if "nobody keeps" not in one["found"]]
    return others or [{"status": "ok", "found": "", "remedy": None}]
