# SPDX-License-Identifier: ISC
"""keyveto update, from the outside: against an HTTPS server that lies, stalls,
truncates, redirects and rewinds, from files, with signatures, and back again.

    python3 tests/cli/test_update.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto). Filters are made without it;
ssh-keygen makes the signatures, openssl the certificates.
"""

import contextlib
import fcntl
import functools
import itertools
import json
import os
import pty
import random
import re
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from cases import KEYVETO, PATIENCE, ROOT, case, contains, equal, lacks, run_all, wait_until
from clilib import run, tool
from website import Authority, Page, Proxy, Site

import pkbf  # noqa: E402  (clilib has set the path)


# --- filters -----------------------------------------------------------------

@functools.cache
def a_filter(revision=1, entries=200, k=10, p=16, seed=0):
    """The bytes of a filter whose bits look like that many entries."""
    made = pkbf.Filter.create(k, p, revision=revision, time=1700000000)
    made.entries = entries
    rnd = random.Random(f"{seed}")
    for _ in range(k * entries):
        n = rnd.randrange(2 ** p)
        made.bits[n // 8] |= 1 << (7 - n % 8)
    return made.to_bytes()


def large(revision=1):
    """A megabyte: not done in one read."""
    return a_filter(revision, entries=2000, p=23, seed="large")


# --- the place of a case -------------------------------------------------------

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
        self.part = self.state / ".filter.pkbf.keyveto-part"
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

    def run(self, *words, status=None, **options):
        return run(*self.arguments(*words), status=status, **options)

    def start(self, *words, **options):
        return subprocess.Popen([KEYVETO, *map(str, self.arguments(*words))], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def update(self, *words, **options):
        """One that succeeds without a word on standard error: what it printed."""
        result = self.run(*words, status=0, **options)
        equal(result.messages, [])
        return result.out.decode().removeprefix(f"{self.target}: ").rstrip("\n")

    def refuse(self, *words, kept=False, early=False, **options):
        """One that fails and changes nothing: its messages.

        kept: what was received stays for the next run (None: it may); early:
        before it looks at the filter.
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
                equal(last, f"{self.target}: there still is no filter")
        if kept is not None:
            equal(self.part.exists(), kept, "what was received is kept")
        return "\n".join(messages)

    def snapshot(self):
        return tuple(path.read_bytes() if path.exists() else None for path in (self.target, self.previous))

    def put(self, body):
        """Installs a filter by hand."""
        self.target.write_bytes(body)
        self.target.chmod(0o644)

    def names(self):
        return sorted(os.listdir(self.state))

    def close(self):
        self.site.close()


def placed(title, **how):
    """A case that gets a Place."""
    def register(function):
        @case(title)
        def _(scratch):
            place = Place(scratch, **how)
            try:
                function(place)
            finally:
                place.close()
        return function
    return register


def revision_of(path):
    return pkbf.Filter.read(path).revision


def untouched(path):
    """What only stays if nobody writes the file, or replaces it."""
    seen = path.stat()
    return seen.st_ino, seen.st_mtime_ns, seen.st_ctime_ns


# --- what works ------------------------------------------------------------------

@placed("the first filter is installed, for all to read, and nothing else is left")
def _(place):
    said = place.update()
    assert re.fullmatch(r"installed, revision 1, 200 entries, 3\.\d+% of the bits set, false positives [\d.]+e-\d+",
                        said), said
    equal(place.target.read_bytes(), a_filter())
    equal(stat.S_IMODE(place.target.stat().st_mode), 0o644)
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf"])
    contains(run("filter", "verify", place.target, status=0).out.decode(), "ok: k 10, p 16, revision 1, 200 entries")


@placed("what is current is not fetched again: ETag")
def _(place):
    place.update()
    before = untouched(place.target)
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')
    equal(untouched(place.target), before)
    # What the server says of another file than the one there counts for nothing.
    place.put(a_filter(revision=1))
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-None-Match"], None)
    os.utime(place.target)
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], None)
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')


@placed("what is current is not fetched again: Last-Modified", etag=None)
def _(place):
    place.page.modified = "Sat, 21 Nov 2026 09:00:00 GMT"
    place.update()
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-Modified-Since"], place.page.modified)


@placed("without either it is fetched and compared", etag=None)
def _(place):
    place.update()
    before = untouched(place.target)
    equal(place.update(), "already current, revision 1")
    equal(untouched(place.target), before)
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf"])


@placed("a newer one replaces it, and the one before is kept")
def _(place):
    for revision in (1, 2, 5):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        said = place.update()
    contains(said, "updated, revision 2 -> 5, 200 entries, ")
    equal((revision_of(place.target), revision_of(place.previous)), (5, 2))
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


@placed("the next look-up is in the new one; owner and mode stay")
def _(place):
    demo = (ROOT / "testdata/demo/demo.pkbf").read_bytes()
    place.put(a_filter(revision=0, entries=3))
    place.target.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(place.target, 0, 65534)
    before = place.target.stat()
    listed = ["check", "--filter", place.target, ROOT / "testdata/demo/compromised.pub"]
    run(*listed, status=0)
    place.page.body = demo
    place.update()
    run(*listed, status=1)
    after = place.target.stat()
    equal((after.st_uid, after.st_gid, after.st_mode), (before.st_uid, before.st_gid, before.st_mode))


@placed("the filter is the first of keyveto.conf")
def _(place):
    config = place.settings.with_name("keyveto.conf")
    config.write_text(f"Filter {place.target}\nFilter {place.state}/other.pkbf\n", encoding="utf-8")
    config.chmod(0o644)
    place.write_settings()
    run("update", "--settings", place.settings, "--config", config, status=0)
    equal(revision_of(place.target), 1)
    config.write_text("Filtre x\n", encoding="utf-8")
    result = run("update", "--settings", place.settings, "--config", config, status=2)
    equal(result.problems, [f'{config}:1: unknown keyword "Filtre"; correct it, or name the filter with --filter'])


@placed("a path and a file URL will do, given as an argument")
def _(place):
    place.lines["URL"] = None
    source = place.state.parent / "a file.pkbf"
    for revision, url in ((1, source), (2, f"file://{str(source).replace(' ', '%20')}"),
                          (3, f"file://localhost{str(source).replace(' ', '%20')}")):
        source.write_bytes(a_filter(revision))
        place.update(url)
        equal(revision_of(place.target), revision)
    contains(place.refuse(f"file://elsewhere{source}", early=True), "what is given as URL is not one")
    source.unlink()
    contains(place.refuse(source), f"{source}: No such file or directory")
    os.mkfifo(source)
    contains(place.refuse(source), f"{source}: not a regular file")


@placed("--quiet says nothing of what went well, --dry-run changes nothing")
def _(place):
    equal(place.run("--quiet", "--dry-run", status=0).out, b"")
    contains(place.update("--dry-run"), "would be updated, revision 1, ")
    equal(place.names(), [])
    equal(place.run("--quiet", status=0).out, b"")
    place.page.body, place.page.etag = a_filter(2), '"two"'
    before = place.snapshot()
    contains(place.update("--dry-run"), "would be updated, revision 1 -> 2, ")
    equal(place.snapshot(), before)
    place.update()
    equal(place.run("--quiet", status=0).out, b"")
    contains(place.update("--dry-run", "--rollback"), "would be rolled back, revision 2 -> 1, ")
    equal(revision_of(place.target), 2)


@placed("with MaxAge, a filter from the future is not fresh for ever")
def _(place):
    body = bytearray(a_filter())
    body[10:18] = (int(time.time()) + 3 * 86400).to_bytes(8, "big")
    place.page.body = bytes(body)
    place.update()
    place.update()
    place.lines["MaxAge"] = 30
    contains(place.run(status=2).problems[0], f"{place.target}: is from the future, by its header, so that MaxAge",
             "compare the clocks")


@placed("a filter that has been the newest for longer than MaxAge is a failure, and stays")
def _(place):
    days = 100

    def aged(revision):
        body = bytearray(a_filter(revision))
        # So many, and a half: none ends while this runs.
        body[10:18] = (int(time.time()) - days * 86400 - 43200).to_bytes(8, "big")
        return bytes(body)

    place.page.body = aged(1)
    place.update()
    place.lines["MaxAge"] = days + 1
    place.update()
    place.lines["MaxAge"] = days - 1
    for etag in ('"one"', None):
        place.page.etag = etag
        equal(place.run(status=2).problems, [
            f"{place.target}: is {days} days old, more than MaxAge allows ({days - 1}), and the server has no newer "
            "one: ask its publisher"])
    equal(revision_of(place.target), 1)
    # It is not held against a newer one, since the old one is no better.
    place.page.body = aged(2)
    place.update()


@placed("a symbolic link is followed, and stays")
def _(place):
    link = place.state.parent / "link.pkbf"
    link.symlink_to(place.target)
    place.write_settings()
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        if revision == 1:
            place.put(a_filter(0))
        run("update", "--settings", place.settings, "--filter", link, status=0)
    assert link.is_symlink()
    equal((revision_of(place.target), revision_of(place.previous)), (2, 1))


# --- rollback --------------------------------------------------------------------

@placed("--rollback exchanges the filter and the one before it")
def _(place):
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    contains(place.update("--rollback"), "rolled back, revision 2 -> 1, ")
    equal((revision_of(place.target), revision_of(place.previous)), (1, 2))
    contains(place.update("--rollback"), "rolled back, revision 1 -> 2, ")
    equal((revision_of(place.target), revision_of(place.previous)), (2, 1))
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


@placed("what was rolled back from does not come back by itself, a later one does")
def _(place):
    for etag in ('"same"', None):
        place.page.etag = etag
        for revision in (1, 2):
            place.page.body = a_filter(revision)
            place.update("--force")
        place.update("--rollback")
        for _ in range(2):
            contains(place.update(), "stays at revision 1: revision 2 was rolled back, ")
        equal(place.site.requests[-1].headers["If-None-Match"], etag)
        equal((revision_of(place.target), revision_of(place.previous)), (1, 2))
        contains(place.update("--force"), "updated, revision 1 -> 2, ")
        place.update("--rollback")
        place.page.body, place.page.etag = a_filter(3), etag and '"third"'
        contains(place.update(), "updated, revision 1 -> 3, ")
        place.page.body = a_filter(1)


@placed("what was rolled back from stays away, whatever else happens meanwhile")
def _(place):
    def publish(revision):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'

    def waits(revision, unwanted):
        contains(place.update(), f"stays at revision {revision}: revision {unwanted} was rolled back, ")

    for revision in (1, 5):
        publish(revision)
        place.update()
    place.update("--rollback")
    # --force that came to nothing.
    place.page.cut = 4000
    place.refuse("--force", kept=True)
    place.page.cut = None
    waits(1, 5)
    # The file was touched, and changed.
    os.utime(place.target)
    waits(1, 5)
    run("filter", "add", place.target, ROOT / "testdata/demo/publisher-examples.pub", status=0)
    waits(2, 5)
    # Only a later one comes by itself.
    publish(4)
    waits(2, 5)
    contains(place.update("--force"), "updated, revision 2 -> 4, ")
    publish(5)
    waits(4, 5)
    place.update("--rollback")
    waits(2, 5)
    publish(6)
    contains(place.update(), "updated, revision 2 -> 6, ")
    contains(place.update(), "already current, revision 6")


@placed("a rollback to a later revision does not take what the server has for it")
def _(place):
    for revision, words in ((5, ()), (4, ("--force",))):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update(*words)
    contains(place.update("--rollback"), "rolled back, revision 4 -> 5, ")
    contains(place.refuse(), "is revision 4, older than the revision 5 that is installed")
    equal(place.site.requests[-1].headers["If-None-Match"], None)


@placed("a rollback to nothing, or to something bad, is refused")
def _(place):
    place.update()
    contains(place.refuse("--rollback"), "there is no previous one (filter.pkbf.previous beside it)")
    for bad, why in ((b"", "shorter than a filter header"), (a_filter()[:-1], "cut short or damaged"),
                     (all_ones(), "every bit is set")):
        place.previous.write_bytes(bad)
        place.previous.chmod(0o644)
        contains(place.refuse("--rollback"), why)
    place.previous.write_bytes(a_filter(0))
    place.previous.chmod(0o666)
    contains(place.refuse("--rollback"), "others may write it")
    place.previous.unlink()
    os.link(place.target, place.previous)
    contains(place.refuse("--rollback"), "the previous one is the same file")
    contains(place.run("--rollback", "--force", status=2).err.decode(), "--rollback takes no URL")


@placed("where two files cannot be exchanged, a rollback says how it can be done")
def _(place):
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    before = place.snapshot()
    status, messages = traced(place, ["-e", "trace=renameat2", "-e", "inject=renameat2:error=EINVAL"], "--rollback")
    equal((status, place.snapshot()), (2, before), messages)
    contains(messages, "the file system cannot exchange it with the previous one; move that over it: ", "stays as it")


@placed("a rollback brings a filter back where there is none, or a damaged one")
def _(place):
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    place.target.unlink()
    contains(place.update("--rollback"), "rolled back, revision 1, ")
    equal((revision_of(place.target), place.previous.exists()), (1, False))
    place.page.body = a_filter(3)
    place.update("--force")
    place.put(a_filter(3)[:-5])
    result = place.run("--rollback", status=0)
    contains(result.out.decode(), "rolled back, revision 1, ")


# --- a server that truncates and stalls ----------------------------------------------

@placed("a download that is cut short is gone on with by the next run", body=large())
def _(place):
    place.put(a_filter(0))
    place.page.cut = 400_000
    contains(place.refuse(kept=True), f"{place.site.url()}: ", "; try again later")
    received = place.part.stat().st_size
    assert 24 < received <= 400_000, received
    equal(stat.S_IMODE(place.part.stat().st_mode), 0o600)
    # Again, and further.
    contains(place.refuse(kept=True), "; try again later")
    asked = place.site.requests[-1].headers
    equal((asked["Range"], asked["If-Range"]), (f"bytes={received - 1}-", '"one"'))
    received = place.part.stat().st_size
    assert received > 500_000, received
    place.page.cut = None
    contains(place.update(), "updated, revision 0 -> 1, 2000 entries")
    equal(place.site.requests[-1].headers["Range"], f"bytes={received - 1}-")
    equal(place.target.read_bytes(), large())
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


@placed("a part is not gone on with if the file is another one by now", body=large())
def _(place):
    place.page.cut = 400_000
    place.refuse(kept=True)
    place.page.cut, place.page.etag, place.page.body = None, '"two"', large(2)
    place.update()
    equal(place.site.requests[-1].headers["If-Range"], '"one"')
    equal(place.target.read_bytes(), large(2))


@placed("a part is not gone on with from another URL, or after the machine was started anew", body=large())
def _(place):
    def state():
        return json.loads((place.state / ".filter.pkbf.keyveto-update").read_text(encoding="utf-8"))

    place.page.cut = 400_000
    place.refuse(kept=True)
    equal(state()["part_boot"], Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
    place.site.pages["/other"] = place.page
    place.refuse(place.site.url("/other"), kept=True)
    equal(place.site.requests[-1].headers["Range"], None)
    place.refuse(place.site.url("/other"), kept=True)
    assert place.site.requests[-1].headers["Range"]
    changed = {**state(), "part_boot": "another"}
    (place.state / ".filter.pkbf.keyveto-update").write_text(json.dumps(changed), encoding="utf-8")
    place.page.cut = None
    place.update(place.site.url("/other"))
    equal(place.site.requests[-1].headers["Range"], None)
    equal(place.target.read_bytes(), large())


@placed("without an ETag that vouches for equal bytes nothing is gone on with", body=large())
def _(place):
    for etag in (None, 'W/"weak"'):
        place.page.etag, place.page.cut = etag, 400_000
        contains(place.refuse(), "; try again later")
        place.page.cut = None
        place.update("--force")
        equal(place.site.requests[-1].headers["Range"], None)


@placed("a server that knows no ranges sends it all", body=large())
def _(place):
    place.page.cut, place.page.ranges = 400_000, False
    place.refuse(kept=True)
    place.page.cut = None
    place.update()
    assert place.site.requests[-1].headers["Range"]
    equal(place.target.read_bytes(), large())


@placed("a part that was all there is taken without fetching it again", body=large())
def _(place):
    place.page.cut = len(large()) - 1
    place.refuse(kept=True)
    place.page.cut = None
    with open(place.part, "ab") as file:
        file.write(large()[place.part.stat().st_size:])
    place.update()
    equal(place.site.requests[-1].headers["Range"], f"bytes={len(large()) - 1}-")


@placed("a part that somebody spoilt does not become the filter", body=large())
def _(place):
    place.page.cut = 400_000
    place.refuse(kept=True)
    with open(place.part, "r+b") as file:
        file.write(b"junk")
    place.page.cut = None
    contains(place.refuse(), "not a filter; correct URL")
    place.update()
    equal(place.target.read_bytes(), large())


@placed("a server that is silent is given up, by StallTimeout and by Timeout", body=large())
def _(place):
    def give_up(keyword, seconds):
        """Whether anything was received before."""
        over = threading.Event()
        place.page.pause = (300_000, over)
        place.lines = {**lines, keyword: seconds}
        place.part.unlink(missing_ok=True)
        messages = place.refuse(kept=None)
        over.set()
        assert re.search(r"(too slow|timed out|connection timeout)", messages), messages
        return place.part.exists() and place.part.stat().st_size > 200_000

    place.put(a_filter(0))
    lines = place.lines
    for keyword in ("StallTimeout", "Timeout"):
        # A machine with other things to do may take longer than a few seconds to shake hands.
        assert any(give_up(keyword, seconds) for seconds in (2, 10, 50)), f"{keyword}: what was received is not kept"
    place.lines = lines
    place.page.pause = None
    place.update()
    assert place.site.requests[-1].headers["Range"]


@placed("a server that does not even shake hands is given up")
def _(place):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        place.lines["URL"] = f"https://localhost:{silent.getsockname()[1]}/f"
        place.lines["Timeout"] = 2
        contains(place.refuse(), "timed out")
        del place.lines["Timeout"]
    with contextlib.closing(socket.socket()) as deaf:
        # Nobody else can have the port, and nobody listens on it.
        deaf.bind(("127.0.0.1", 0))
        place.lines["URL"] = f"https://localhost:{deaf.getsockname()[1]}/f"
        contains(place.refuse(), "Failed to connect", "check the network, URL and Proxy")
    place.lines["URL"] = "https://name.invalid/f"
    # Where no name server answers, the resolver's own patience would outlast that of the connection.
    contains(place.refuse(env={**os.environ, "RES_OPTIONS": "timeout:1 attempts:1"}),
             "Could not resolve host: name.invalid; check the network")


@placed("a file without a length that ends early is cut short", body=large(), etag=None)
def _(place):
    def until_close(handler):
        handler.send_response(200)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(large()[:500_000])
        # Said to be the end, by TLS.
        handler.connection = handler.connection.unwrap()

    place.page.answer = until_close
    contains(place.refuse(), "ends after 500000 of the 1048600 bytes that its header says: cut short")
    source = place.state.parent / "short"
    source.write_bytes(large()[:-1])
    contains(place.refuse(source), "ends after 1048599 of the 1048600 bytes")


# --- a server that redirects ---------------------------------------------------------

def redirect_to(where, status=302):
    def answer(handler):
        handler.send_response(status)
        handler.send_header("Location", where)
        handler.send_header("ETag", '"of the redirect"')
        handler.send_header("Content-Length", "0")
        handler.end_headers()
    return answer


@placed("a redirect to https is followed, and its validators are not the file's")
def _(place):
    for number, status in enumerate((301, 302, 303, 307, 308)):
        place.site.pages["/moved"] = Page()
        place.site.pages["/moved"].answer = redirect_to("/filter.pkbf", status)
        place.page.body, place.page.etag = a_filter(number), f'"{number}"'
        place.update(place.site.url("/moved"))
        equal(place.update(place.site.url("/moved")), f"already current, revision {number}")
        equal(place.site.requests[-1].headers["If-None-Match"], f'"{number}"')


@placed("a redirect to http, to a file or in circles is refused")
def _(place):
    place.put(a_filter(0))
    other = Site()
    other.pages["/filter.pkbf"] = Page(a_filter(5))
    secret = place.state.parent / "secret.pkbf"
    secret.write_bytes(a_filter(6))
    try:
        for where in (other.url(), f"file://{secret}", f"ftp://localhost:{other.port}/", "//\x7f/", "gopher://x/"):
            place.page.answer = redirect_to(where)
            place.refuse()
        place.page.answer = redirect_to(other.url())
        contains(place.refuse(), "it redirects to something else than https")
        equal(other.requests, [])
        place.page.answer = redirect_to("/filter.pkbf")
        before = len(place.site.requests)
        contains(place.refuse(), "Maximum (5) redirects followed; correct URL")
        equal(len(place.site.requests) - before, 6)
        contains(place.refuse(other.url(), early=True), "a filter is fetched over https, not over http")
        equal(other.requests, [])
    finally:
        other.close()


# --- a server that rewinds -----------------------------------------------------------

@placed("an older revision is refused before it is received; --force takes it", body=large(4))
def _(place):
    place.put(a_filter(5, entries=1500, p=20))
    over = threading.Event()
    place.page.pause = (200_000, over)
    contains(place.refuse(), f"{place.site.url()}: is revision 4, older than the revision 5 that is installed",
             "use --force")
    over.set()
    place.page.pause = None
    contains(place.update("--force"), "updated, revision 5 -> 4, ")
    equal((revision_of(place.target), revision_of(place.previous)), (4, 5))


@placed("the same revision with other content is refused, and said to be odd")
def _(place):
    place.put(a_filter(1, seed="ours"))
    contains(place.refuse(), "is revision 1, as the one that is installed, but differs from it", "use --force")
    place.put(a_filter(1, p=17))
    contains(place.refuse(), "is revision 1, as the one that is installed, but differs from it")
    contains(place.update("--force"), "updated, revision 1 -> 1, ")
    equal(place.target.read_bytes(), a_filter(1))


@placed("keys that were added here are not lost to an update")
def _(place):
    place.update()
    run("filter", "add", place.target, ROOT / "testdata/demo/publisher-examples.pub", status=0)
    place.page.body, place.page.etag = a_filter(2), '"two"'
    contains(place.refuse(), "Either keys were added to that one here")


@placed("a newer revision that has lost most entries is refused")
def _(place):
    place.put(a_filter(1, entries=1000))
    place.page.body = a_filter(2, entries=400)
    contains(place.refuse(), "its bits look like 40", "entries, those of the installed one like 100")
    contains(place.update("--force"), "updated, revision 1 -> 2, 400 entries")
    place.page.body, place.page.etag = a_filter(3, entries=300), '"three"'
    contains(place.update(), "updated, revision 2 -> 3, 300 entries")


# --- a server that lies --------------------------------------------------------------

def all_ones(revision=9, entries=10_000):
    return pkbf.Filter(3, 13, revision, 1700000000, entries, bytearray(b"\xff" * 1024)).to_bytes()


@placed("a filter that would lock everybody out, or nobody, is refused whatever the options")
def _(place):
    place.put(a_filter(1))
    nearly = bytearray(all_ones())
    nearly[-1] = 0
    dense = a_filter(9, entries=20_000, k=3, p=16)
    short = pkbf.Filter.create(10, 5, revision=9, time=1700000000)
    short.add(b"one")       # few bits, but one of 512 patterns
    for words in ((), ("--force",)):
        for body, why in ((all_ones(), "every bit is set, so that every key would be listed"),
                          (bytes(nearly), "would refuse 0.99"),
                          (dense, "which is more than MaxFalsePositives allows (0.001)"),
                          (short.to_bytes(), "would refuse 0.00177 of all keys by chance"),
                          (a_filter(9, entries=0), "no bit is set, so that no key would be listed"),
                          (a_filter(9)[:18] + b"\0\0\0\1" + a_filter(9)[22:], "the header says 1 entries"),
                          (b"pkbfv1" + bytes(16) + b"\0\20" + bytes(8192), "not a filter; correct URL")):
            place.page.body = body
            contains(place.refuse(*words), why)
    place.page.body = dense
    place.lines["MaxFalsePositives"] = 0.5
    contains(place.update(), "updated, revision 1 -> 9, ")


@placed("what is no filter is refused")
def _(place):
    place.put(a_filter(1))
    for body, why in ((b"", "has 0 bytes, fewer than the header of a filter"),
                      (b"pkbfv1", "has 6 bytes, fewer than the header of a filter"),
                      (b"<html>" + b"x" * 100_000, "not a filter; correct URL"),
                      (a_filter(9) + b"x", "is longer than the 8216 bytes that its header says"),
                      (a_filter(9)[:-1], "ends after 8215 of the 8216 bytes that its header says"),
                      (b"pkbfv1" + bytes(16) + b"\1\2" + bytes(64), "not a filter; correct URL"),
                      (b"pkbfv1" + bytes(16) + b"\1\xff" + bytes(64), "not a filter; correct URL")):
        place.page.body = body
        contains(place.refuse(), f"{place.site.url()}: ", why)


@placed("an endless file is stopped where its header says, a huge one before it comes", etag=None)
def _(place):
    sent = []

    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(a_filter(9))
        with contextlib.suppress(OSError):
            while len(sent) < 100_000:
                handler.wfile.write(bytes(65536))
                sent.append(1)

    def huge(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(2 ** 37 + 24))
        handler.end_headers()
        handler.wfile.write(pkbf.HEADER.pack(b"pkbfv1", 9, 1, 10 ** 9, 10, 40))
        with contextlib.suppress(OSError):
            while True:
                handler.wfile.write(bytes(65536))

    place.put(a_filter(1))
    place.page.answer = endless
    contains(place.refuse(), "is longer than the 8216 bytes that its header says")
    assert len(sent) < 1000, f"{len(sent)} blocks were taken"
    place.page.answer = huge
    contains(place.refuse(), "would have 137438953496 bytes, which is more than MaxSize allows (4294967296)")
    place.page.answer = None
    place.page.body = a_filter(9)
    place.lines["MaxSize"] = 8191
    contains(place.refuse(), "would have 8216 bytes, which is more than MaxSize allows (8191)")
    place.lines["MaxSize"] = "8k"
    place.update()


@placed("endless headers and a status that says nothing are refused")
def _(place):
    def headers(handler):
        with contextlib.suppress(OSError):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
            while True:
                handler.wfile.write(b"X-Filler: " + b"x" * 1000 + b"\r\n")

    def raw(data):
        def answer(handler):
            handler.wfile.write(data)
            handler.close_connection = True
        return answer

    place.put(a_filter(1))
    body = a_filter(2)
    for answer in (headers, raw(b""), raw(b"\0" * 1000), raw(b"HTTP/1.1 200 OK\r\n"), raw(body),
                   raw(b"HTTP/1.1 304 Not Modified\r\n\r\n"), raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
                   raw(b"HTTP/1.1 206 P\r\nContent-Length: 8216\r\nContent-Range: bytes 0-8215/8216\r\n\r\n" + body),
                   raw(b"HTTP/1.1 206 P\r\nContent-Length: 8216\r\n\r\n" + body),
                   raw(b"HTTP/1.1 300 Choose\r\nContent-Length: 8216\r\n\r\n" + body),
                   raw(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n" + body),
                   raw(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8216\r\n\r\n" + body)):
        place.page.answer = answer
        place.refuse("--force")
    place.page.answer = None
    place.page.body = body
    place.update()


@placed("a status is told, with what to do")
def _(place):
    for status, hint in ((401, "correct the user and password"), (403, "correct the user and password"),
                         (404, "correct URL"), (410, "correct URL"), (429, "try again later"),
                         (500, "try again later"), (503, "try again later"), (418, "look at URL in a browser")):
        place.page.answer = lambda handler, status=status: handler.send_error(status)
        equal(place.refuse(), f"{place.site.url()}: HTTP status {status}; " + (
            "correct the user and password, or the token, in URL or Proxy" if "password" in hint else hint))


@placed("a part that the server answers with another part is not glued together", body=large())
def _(place):
    good = place.page
    for content_range, etag in (("bytes 5-1048599/1048600", '"one"'), ("bytes */1048600", '"one"'),
                                ("junk", '"one"'), (None, '"one"'), ("right", '"other"'), ("right", None)):
        good.cut = 400_000
        place.refuse(kept=True)
        start = place.part.stat().st_size - 1
        good.cut = None

        def answer(handler, start=start, content_range=content_range, etag=etag):
            if handler.headers["Range"]:
                handler.send_response(206)
                if content_range:
                    handler.send_header("Content-Range", content_range if content_range != "right" else
                                        f"bytes {start}-{len(large()) - 1}/{len(large())}")
                if etag:
                    handler.send_header("ETag", etag)
                handler.send_header("Content-Length", str(len(large()) - start))
                handler.end_headers()
                handler.wfile.write(bytes(len(large()) - start))
            else:
                good.answer = None
                good.send(handler)

        good.answer = answer
        place.update("--force")
        equal(place.target.read_bytes() == large(), True, f"{content_range}, ETag {etag}")
        place.target.unlink()


@placed("killed while a part is begun anew, the next run does not glue two files together", body=large())
def _(place):
    calls = ("ftruncate", "fsync", "rename,renameat,renameat2", "unlinkat", "fallocate", "pwrite64")
    for call, number in [(call, number) for call in calls for number in range(1, 4)]:
        place.page.body, place.page.etag, place.page.cut = large(), '"one"', 400_000
        place.refuse(kept=True)
        place.page.body, place.page.etag = large(2), '"two"'
        traced(place, ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"])
        place.page.cut = None
        place.update()
        equal(place.target.read_bytes() == large(2), True, f"killed at {call} {number}")
        for path in place.state.iterdir():
            path.unlink()


@placed("what cannot be remembered of a part ends it, before there is one", body=large())
def _(place):
    place.page.cut = 400_000
    place.refuse(kept=True)
    place.page.body, place.page.etag = large(2), '"two"'
    renames = "rename,renameat,renameat2"
    status, messages = traced(place, ["-e", f"trace={renames}", "-e", f"inject={renames}:error=EIO"])
    equal(status, 2, messages)
    contains(messages, ".filter.pkbf.keyveto-update beside it: Input/output error", "there still is no filter")
    assert not place.part.exists()


@placed("killed in --dry-run, it leaves no part that bears the name of another", body=large())
def _(place):
    place.page.cut = 400_000
    place.refuse(kept=True)
    place.page.body, place.page.etag, place.page.cut = large(2), '"two"', None
    over = threading.Event()
    place.page.pause = (600_000, over)
    with place.start("--dry-run") as process:
        wait_until(lambda: len(place.site.requests) == 2, "it asks")
        time.sleep(0.3)
        process.kill()
        over.set()
        process.communicate(timeout=PATIENCE)
    place.page.body, place.page.etag, place.page.pause = large(), '"one"', None
    place.update()
    equal(place.target.read_bytes() == large(), True)


@placed("a range that the server cannot satisfy leads to all of it", body=large())
def _(place):
    place.page.cut = 400_000
    place.refuse(kept=True)
    place.page.cut = None
    before = len(place.site.requests)

    def answer(handler):
        if handler.headers["Range"]:
            handler.send_error(416)
        else:
            place.page.answer = None
            place.page.send(handler)

    place.page.answer = answer
    place.update()
    equal(len(place.site.requests) - before, 2)
    equal(place.target.read_bytes(), large())


@placed("a server whose certificate is not good is not listened to")
def _(place):
    place.put(a_filter(0))
    with tempfile.TemporaryDirectory() as folder:
        stranger = Authority(folder, "stranger")
        for certificate, host in ((stranger.issue("localhost"), "localhost"),
                                  (authority().issue("elsewhere", hosts="DNS:elsewhere.example"), "localhost"),
                                  (authority().issue("past", days="-1"), "localhost"),
                                  (authority().server, "127.0.0.1")):
            site = Site(certificate)
            site.pages["/filter.pkbf"] = Page(a_filter(5))
            try:
                contains(place.refuse(site.url(host=host)), "; the server is not who it claims to be, or CAFile lacks")
                equal(site.requests, [])
            finally:
                site.close()
    place.lines["CAFile"] = None
    contains(place.refuse(), "the server is not who it claims to be")
    place.lines["CAFile"] = place.state / "missing"
    contains(place.refuse(early=True), "missing: No such file or directory")
    equal(place.site.requests, [])


@placed("what is secret in a URL is not repeated, and is sent")
def _(place):
    place.lines["URL"] = place.site.url("/filter.pkbf?token=hidden", host="alice:hidden@localhost")
    messages = place.refuse()
    lacks(messages, "hidden", "alice")
    contains(messages, f"{place.site.url()}: HTTP status 404")
    equal(place.site.requests[-1].headers["Authorization"], "Basic YWxpY2U6aGlkZGVu")
    place.site.pages["/filter.pkbf?token=hidden"] = place.page
    place.update()
    for name in place.names():
        lacks((place.state / name).read_bytes().decode("latin-1"), "hidden")
    other = Site(authority().server)
    other.pages["/filter.pkbf"] = Page(a_filter(2))
    place.page.answer = redirect_to(other.url())
    try:
        place.update()
        equal(other.requests[-1].headers["Authorization"], None)
    finally:
        other.close()
    for bad in ("https://", "https://al ice:hidden@x/", "https://alice:hidden@[/", "://hidden"):
        place.lines["URL"] = bad
        messages = place.refuse(early=True)
        lacks(messages, "hidden")


@placed("a proxy is used: Proxy, the environment, or none")
def _(place):
    proxy = Proxy()
    host = f"localhost:{place.site.port}"
    environment = {**os.environ, "https_proxy": f"http://127.0.0.1:{proxy.port}", "no_proxy": ""}
    try:
        place.update(env=environment)
        equal(proxy.asked, [])
        place.lines["Proxy"] = f"http://127.0.0.1:{proxy.port}"
        place.update("--force")
        equal(proxy.asked, [host])
        place.lines["Proxy"] = None
        place.update("--force", env=environment)
        equal(proxy.asked, [host, host])
    finally:
        proxy.close()
    place.lines["Proxy"] = f"http://127.0.0.1:{proxy.port}"
    contains(place.refuse("--force"), "check the network, URL and Proxy")


@placed("what is secret in Proxy is not repeated")
def _(place):
    for bad in ("htp://alice:hidden@localhost:1", "http://alice:hidden@local host:1", "http://alice:hidden@[::1",
                "http://alice:hidden@localhost:99999", "http://alice:hidden@127.0.0.1:1"):
        place.lines["Proxy"] = bad
        messages = place.refuse()
        lacks(messages, "hidden", "alice")
        contains(messages, f"{place.site.url()}: ", "check the network, URL and Proxy")
        place.lines["Proxy"] = None
        lacks(place.refuse(env={**os.environ, "https_proxy": bad, "no_proxy": ""}), "hidden", "alice")


# --- signatures ----------------------------------------------------------------------

class Signer:
    def __init__(self, folder, name):
        self.key = folder / name
        tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", self.key)
        self.public = self.key.with_suffix(".pub").read_text(encoding="ascii").strip()

    def sign(self, data, namespace="keyveto-filter"):
        return tool("ssh-keygen", "-q", "-Y", "sign", "-f", self.key, "-n", namespace, stdin=data)


def with_signers(place, *lines):
    allowed = place.settings.with_name("allowed_signers")
    allowed.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    allowed.chmod(0o644)
    place.lines["AllowedSigners"] = allowed
    return allowed


@placed("a filter with a good signature is installed", body=large())
def _(place):
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f'keyveto namespaces="keyveto-filter" {signer.public}')
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(large()))
    place.update()
    equal(place.target.read_bytes(), large())
    equal(place.update(), "already current, revision 1")
    # Found by itself with a query, and with a path.
    place.site.pages["/filter.pkbf?a=b"] = place.page
    place.site.pages["/filter.pkbf.sig?a=b"] = place.site.pages["/filter.pkbf.sig"]
    place.update("--force", place.site.url("/filter.pkbf?a=b"))
    source = place.state.parent / "file"
    source.write_bytes(large(2))
    source.with_name("file.sig").write_bytes(signer.sign(large(2)))
    contains(place.update(source), "updated, revision 1 -> 2")


@placed("SignatureURL and Identity say where the signature is, and whose")
def _(place):
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"filters@example.org {signer.public}")
    place.site.pages["/elsewhere"] = Page(signer.sign(a_filter()))
    place.lines["SignatureURL"] = place.site.url("/elsewhere")
    contains(place.refuse(), "no good signature by keyveto for this filter")
    place.lines["Identity"] = "filters@example.org"
    place.update()


@placed("a missing or bad signature is a failure, whatever the options")
def _(place):
    folder = place.settings.parent
    signer, stranger = Signer(folder, "publisher"), Signer(folder, "stranger")
    with_signers(place, f"keyveto {signer.public}")
    place.put(a_filter(0))
    contains(place.refuse(kept=True), f"{place.site.url('/filter.pkbf.sig')}: HTTP status 404; correct URL",
             f"{place.site.url()}: has no signature that could be checked, and AllowedSigners asks for one")
    good = signer.sign(a_filter())
    for bad in (stranger.sign(a_filter()), signer.sign(a_filter(), "file"), signer.sign(a_filter(2)), b"", b"junk",
                good[:-40], good.replace(b"SIGNATURE", b"SIGNATUER"), b"\0" * 1000, b"-----BEGIN SSH SIGNATURE-----\n"):
        place.site.pages["/filter.pkbf.sig"] = Page(bad)
        for words in ((), ("--force",), ("--dry-run",)):
            contains(place.refuse(*words), "no good signature by keyveto for this filter (ssh-keygen: ")
    place.site.pages["/filter.pkbf.sig"] = Page(good + b"\n" * 70_000)
    contains(place.refuse(kept=True), "too long for a signature; correct SignatureURL")
    place.site.pages["/filter.pkbf.sig"] = Page(good)
    with_signers(place, f'keyveto namespaces="file" {signer.public}')
    contains(place.refuse(), "no good signature")
    with_signers(place, f'keyveto valid-before="20200101" {signer.public}')
    contains(place.refuse(), "no good signature")
    with_signers(place)
    contains(place.refuse(), "no good signature")
    with_signers(place, f"keyveto {signer.public}")
    place.update()


@placed("the file of allowed signers must be there, and nobody else's to write")
def _(place):
    signer = Signer(place.settings.parent, "publisher")
    allowed = with_signers(place, f"keyveto {signer.public}")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    allowed.chmod(0o666)
    result = place.run(status=2)
    contains(result.problems[0], "writable by group or others; correct owner and mode")
    allowed.unlink()
    contains(place.run(status=2).problems[0], f"{allowed}: No such file or directory")
    assert not place.target.exists()
    equal(place.site.requests, [])


@placed("what was installed without a signature is fetched again once one is asked for")
def _(place):
    place.update()
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    place.refuse(kept=True)
    equal(place.site.requests[-2].headers["If-None-Match"], None)
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    equal(place.update(), "already current, revision 1")
    equal(place.update(), "already current, revision 1")
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')


@placed("when AllowedSigners or Identity changes, what is installed is judged anew, and stays in any case")
def _(place):
    def asks_for_all():
        return place.site.requests[-2].headers["If-None-Match"] is None

    signer, next_signer = (Signer(place.settings.parent, name) for name in ("publisher", "next"))
    with_signers(place, f"keyveto {signer.public}")
    signature = place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    place.update()
    before = untouched(place.target)
    # Others who still vouch for it.
    for lines, identity in (([f"keyveto {next_signer.public}", f"keyveto {signer.public}"], None),
                            ([f"keyveto,other {signer.public}"], None), ([f"keyveto,other {signer.public}"], "other")):
        with_signers(place, *lines)
        place.lines["Identity"] = identity
        equal(place.update(), "already current, revision 1")
        equal((place.site.requests[-1].path, asks_for_all()), ("/filter.pkbf.sig", True))
        equal(place.update(), "already current, revision 1")
        equal(place.site.requests[-1].headers["If-None-Match"], '"one"')
    # One who does not, as often as it is asked, until the publisher signs it anew.
    with_signers(place, f"other {next_signer.public}")
    for _ in range(2):
        contains(place.refuse(), "no good signature by other for this filter",
                 f"{place.target}: what is installed is that very filter, so the same holds of it; ask its publisher")
        equal(asks_for_all(), True)
    del place.site.pages["/filter.pkbf.sig"]
    contains(place.refuse(kept=True), "has no signature that could be checked", "what is installed is that very filter")
    # Of another one the same cannot be said.
    place.page.body, place.page.etag = a_filter(2), '"two"'
    lacks(place.refuse(kept=True), "what is installed")
    place.page.body, place.page.etag = a_filter(), '"one"'
    signature.body = next_signer.sign(a_filter())
    place.site.pages["/filter.pkbf.sig"] = signature
    equal(place.update(), "already current, revision 1")
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')
    # It is vouched for by those who are asked now, whatever its signature's server does.
    place.page.etag = None
    place.update()
    del place.site.pages["/filter.pkbf.sig"]
    lacks(place.refuse(), "what is installed")
    place.page.etag = '"one"'
    place.site.pages["/filter.pkbf.sig"] = signature
    place.update()
    equal(untouched(place.target), before)
    # Where nobody is asked, nobody has changed.
    place.lines["AllowedSigners"] = place.lines["Identity"] = None
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')


@placed("a signature is checked, too, where the end of children is ignored")
def _(place):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter(2)))
    contains(place.refuse(preexec_fn=ignore), "no good signature by keyveto")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    place.update(preexec_fn=ignore)


@placed("an Identity that looks like an option is a name")
def _(place):
    signer = Signer(place.settings.parent, "publisher")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    for name in ("-h", "--", "-Y", "-Overify-time=20200101", "*", "key*", "!keyveto", "a,keyveto"):
        place.lines["Identity"] = name
        with_signers(place, f"keyveto {signer.public}")
        contains(place.refuse(), f"no good signature by {name} for this filter (ssh-keygen: ")
    for name in ("-h", "--", "-Overify-time=20200101"):
        place.lines["Identity"] = name
        with_signers(place, f"{name} {signer.public}")
        place.update("--force")


@placed("when ssh-keygen is killed, the signature is not called a bad one")
def _(place):
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(a_filter()))
    # Only the child that is to become it makes this call.
    status, messages = traced(place, ["-f", "-e", "trace=close_range", "-e", "inject=close_range:signal=KILL"])
    equal(status, 2, messages)
    contains(messages, "/usr/bin/ssh-keygen was ended by signal 9; run this again", "there still is no filter")
    lacks(messages, "no good signature")


@placed("ssh-keygen gets the files it needs, and nothing else of keyveto's", body=large())
def _(place):
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(large()))
    log = place.settings.with_name("trace")
    done = subprocess.run(["strace", "-f", "-e", "trace=execve,close_range", "-o", log, KEYVETO,
                           *map(str, place.arguments())], capture_output=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    equal(done.returncode, 0, done.stderr)
    text = log.read_text(encoding="utf-8", errors="replace")
    contains(text, 'execve("/usr/bin/ssh-keygen", ["ssh-keygen", "-Y", "verify", "-f", "/proc/self/fd/4", "-I", "keyveto", '
             '"-n", "keyveto-filter", "-s", "/proc/self/fd/3"]')
    contains(text, "close_range(5, 4294967295, 0)")


# --- trouble on this machine -----------------------------------------------------------

@placed("a mistake in the settings is told by file, line and reason, and nothing is fetched")
def _(place):
    for line, reason in (("Nonsense x", 'unknown keyword "Nonsense"'), ("URL", "URL needs an argument"),
                         ("url a b", "URL takes one argument"), ('URL ""', "URL needs a URL"),
                         ('URL "x', "unterminated quote"), ("CAFile ca.pem", "CAFile needs an absolute path"),
                         ("MaxSize 12Q", "MaxSize needs a number of bytes, K, M, G or T after it"),
                         ("MaxSize 99999999T", "MaxSize needs a number of bytes, K, M, G or T after it"),
                         ("Timeout 0", "Timeout needs seconds, 1 to 604800"),
                         ("StallTimeout 1h", "StallTimeout needs seconds, 1 to 604800"),
                         ("MaxFalsePositives 1", "MaxFalsePositives needs a number between 0 and 1"),
                         ("MaxFalsePositives nan", "MaxFalsePositives needs a number between 0 and 1")):
        place.settings.write_text(f"# first\n{line}\n", encoding="utf-8")
        result = run("update", "--settings", place.settings, "--filter", place.target, place.site.url(), status=2)
        equal(result.problems, [f"{place.settings}:2: {reason}"])
    place.settings.write_bytes(b"URL \0\n")
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    equal(result.problems, [f"{place.settings}:1: NUL byte"])
    place.settings.write_bytes(b"#" * 70_000)
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    equal(result.problems, [f"{place.settings}:1: file too large"])
    place.settings.write_bytes(b"")
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    equal(result.problems, [f"no URL to fetch a filter from: give one, or set URL in {place.settings}"])
    place.settings.unlink()
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    equal(result.problems, [f"{place.settings}: No such file or directory"])
    equal(place.site.requests, [])


@placed("CAs that others may write are refused")
def _(place):
    own = place.settings.with_name("ca.pem")
    own.write_bytes(authority().certificate.read_bytes())
    own.chmod(0o666)
    place.lines["CAFile"] = own
    contains(place.refuse(early=True), "ca.pem: writable by group or others; correct owner and mode")
    equal(place.site.requests, [])
    own.chmod(0o644)
    place.update()


@placed("settings, or a place, that others may write are refused")
def _(place):
    place.write_settings()
    place.settings.chmod(0o666)
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    contains(result.problems[0], "update.conf: writable by group or others; correct owner and mode")
    place.settings.chmod(0o600)
    place.state.chmod(0o777)
    contains(place.run(status=2).problems[0], "its directory is somebody else's, or others may write there")
    place.state.chmod(0o1777)
    place.run(status=0)


@placed("what lies where the part belongs is not written through, nor trusted", body=large())
def _(place):
    victim = place.state.parent / "victim"
    victim.write_bytes(b"untouched")
    victim.chmod(0o600)
    place.part.symlink_to(victim)
    place.update()
    os.link(victim, place.part)
    place.update("--force")
    place.part.write_bytes(large())
    place.part.chmod(0o666)
    place.update("--force")
    os.mkfifo(place.part)
    place.update("--force")
    equal(victim.read_bytes(), b"untouched")
    place.part.mkdir()
    equal(place.run("--force", status=2).problems[0],
          f"{place.target}: cannot make .filter.pkbf.keyveto-part beside it: Is a directory")


@placed("a state that is damaged, or somebody's trick, does no harm")
def _(place):
    state = place.state / ".filter.pkbf.keyveto-update"
    place.update()
    good = json.loads(state.read_text(encoding="utf-8"))
    equal(stat.S_IMODE(state.stat().st_mode), 0o600)
    for bad in (b"", b"{", b"[]", b"\xff\xfe", b"null", b"x" * 100_000, b'{"etag": 5, "size": "x", "mtime": []}',
                json.dumps({**good, "etag": '"one"\r\nX-Evil: 1'}).encode(),
                json.dumps({**good, "etag": "x" * 5000}).encode(),
                json.dumps({**good, "size": good["size"] + 1}).encode()):
        state.write_bytes(bad)
        place.update()
        asked = place.site.requests[-1].headers
        equal((asked["If-None-Match"], asked["X-Evil"]), (None, None))
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')


@placed("a full disk fails cleanly, and leaves no part behind", body=large())
def _(place):
    # From a file without settings: in a namespace of their own, other users than root are not trusted with any.
    who = [] if os.geteuid() == 0 else ["--map-root-user"]
    small, old, source = (place.state / name for name in ("small", "old", "source"))
    small.mkdir()
    old.write_bytes(a_filter(0))
    source.write_bytes(large())
    script = (f"mount -t tmpfs -o size=600k,mode=755 none {small}; install -m 644 {old} {small}/f; "
              f"{KEYVETO} update --filter {small}/f {source} >{place.state}/said 2>&1 && exit 7; "
              f"cmp {old} {small}/f; ls -A {small} >{place.state}/left")
    done = subprocess.run(["unshare", "--mount", *who, "sh", "-euc", script], capture_output=True, timeout=PATIENCE,
                          check=False)
    said = (place.state / "said").read_text(encoding="utf-8")
    equal(done.returncode, 0, f"{done.stderr} {said}")
    contains(said, "No space left on device; it needs 1048600 bytes", "stays as it is, revision 0")
    equal((place.state / "left").read_text(encoding="utf-8").split(), [".f.keyveto-update", "f"])


@placed("a limit on the size of files fails cleanly", body=large())
def _(place):
    place.put(a_filter(0))
    arguments = " ".join(f"'{word}'" for word in place.arguments())
    done = subprocess.run(["bash", "-c", f"ulimit -f 300; '{KEYVETO}' {arguments}"], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    equal(done.returncode, 2, done.stderr)
    contains(done.stderr, "File too large; it needs 1048600 bytes", "stays as it is, revision 0")
    assert not place.part.exists()


@placed("on a terminal, progress is shown, and is gone before a message", body=large())
def _(place):
    def on_terminal():
        shown = b""
        pid, fd = pty.fork()
        if pid == 0:
            os.execv(KEYVETO, [str(KEYVETO), *map(str, place.arguments())])
        with contextlib.suppress(OSError):      # the end, for a terminal
            while data := os.read(fd, 65536):
                shown += data
        os.close(fd)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown

    over = threading.Event()
    place.page.cut = 700_000
    place.page.pause = (400_000, over)
    threading.Timer(1, over.set).start()
    status, shown = on_terminal()
    equal(status, 2)
    assert re.search(rb"\rfetching|\033\[Kfetching \d\.\d MiB of 1\.0 MiB ", shown), shown
    assert re.search(rb"\r\033\[Kkeyveto: https", shown), shown
    place.page.cut = place.page.pause = None
    status, shown = on_terminal()
    equal(status, 0, shown)
    assert shown.endswith(b"false positives 5.68e-11\r\n"), shown


@placed("two at a time: the second gives way", body=large())
def _(place):
    over = threading.Event()
    place.page.pause = (300_000, over)
    with place.start() as first:
        wait_until(lambda: place.part.exists() and place.part.stat().st_size > 1000, "the first receives")
        second = place.run(status=2)
        equal(second.problems[0], f"{place.target}: another keyveto update of it is running; wait for its end")
        over.set()
        first.communicate(timeout=PATIENCE)
        equal(first.returncode, 0)
    equal(place.target.read_bytes(), large())


@placed("what another program does to the filter meanwhile is not lost", body=large(7))
def _(place):
    place.put(a_filter(0))
    over = threading.Event()
    place.page.pause = (300_000, over)
    with place.start() as process:
        wait_until(lambda: place.part.exists() and place.part.stat().st_size > 1000, "it receives")
        run("filter", "add", place.target, ROOT / "testdata/demo/publisher-examples.pub", status=0)
        changed = place.target.read_bytes()
        over.set()
        _, messages = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 2, messages)
    contains(messages, "another program changed it meanwhile; nothing was written, run this again")
    equal(place.target.read_bytes(), changed)
    place.page.pause = None
    place.update()


@placed("the lock of those who write the filter is waited for")
def _(place):
    place.put(a_filter(0))
    lock = place.state / ".filter.pkbf.lock"
    lock.touch(mode=0o600)
    with open(lock, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with place.start() as process:
            wait_until(lambda: len(place.site.requests) == 1, "it asks")
            time.sleep(0.3)
            equal(process.poll(), None)
            equal(revision_of(place.target), 0)
            fcntl.flock(held, fcntl.LOCK_UN)
            process.communicate(timeout=PATIENCE)
            equal(process.returncode, 0)
    equal(revision_of(place.target), 1)


@placed("a signal ends it as signals do; what was received is kept if it can be gone on with", body=large())
def _(place):
    place.put(a_filter(0))
    for etag, sig in (('"one"', signal.SIGTERM), (None, signal.SIGINT), (None, signal.SIGHUP)):
        over = threading.Event()
        place.part.unlink(missing_ok=True)
        place.page.etag, place.page.pause = etag, (300_000, over)
        # Also where a killed run is to be ended, which is done under the lock and its way with signals.
        os.link(place.target, place.old)
        with place.start() as process:
            wait_until(lambda: place.part.exists() and place.part.stat().st_size > 1000, "it receives")
            process.send_signal(sig)
            _, messages = process.communicate(timeout=PATIENCE)
            over.set()
            equal(process.returncode, -sig, messages)
        contains(messages, "interrupted", "stays as it is, revision 0")
        equal(place.part.exists(), etag is not None)
        equal(revision_of(place.target), 0)


@placed("killed at any moment, the filter is the old one or the new one, and the next run succeeds")
def _(place):
    old, new = large(1), large(2)
    source = place.state.parent / "source"
    rnd = random.Random(6)
    wrong, stop = [], threading.Event()

    def watch():
        while not stop.is_set():
            with contextlib.suppress(FileNotFoundError):
                if place.target.read_bytes() not in (old, new, large(3)):
                    wrong.append("none of them")

    place.put(old)
    source.write_bytes(new)
    watcher = threading.Thread(target=watch)
    watcher.start()
    started = time.monotonic()
    place.update(source)
    whole = time.monotonic() - started
    seen = set()
    try:
        for turn in range(60):
            source.write_bytes(new if turn % 2 == 0 else old)
            with place.start("--force", source) as process:
                time.sleep(rnd.random() * whole * 1.2)
                process.kill()
                process.communicate(timeout=PATIENCE)
            seen.add((process.returncode, revision_of(place.target)))
            surplus = [name for name in place.names() if name not in (
                "filter.pkbf", "filter.pkbf.previous") and not name.startswith(".filter.pkbf.")]
            equal(surplus, [])
            if place.previous.exists():
                assert place.previous.read_bytes() in (old, new)
        source.write_bytes(large(3))
        place.update(source)
    finally:
        stop.set()
        watcher.join()
    equal(wrong, [])
    equal(place.target.read_bytes(), source.read_bytes())
    assert any(status == -signal.SIGKILL for status, _ in seen), f"none was killed in time: {seen}"
    lacks(" ".join(place.names()), "keyveto-part", "keyveto-new", "keyveto-old", "update-new", ".lock")


CALLS = ("umask", "openat", "flock", "fstat", "newfstatat", "statx", "pwrite64", "pread64", "fallocate", "ftruncate", "fchmod",
         "fsync", "linkat", "unlinkat", "rename", "renameat", "renameat2", "write", "close", "memfd_create", "pipe2",
         "vfork", "fork", "clone", "clone3", "wait4", "execve")


def traced(place, options, *words):
    """(status, messages) of an update under strace."""
    done = subprocess.run(["strace", "-qq", "-o", place.settings.with_name("trace"), *options, KEYVETO,
                           *map(str, place.arguments(*words))], capture_output=True, text=True,
                          timeout=PATIENCE, check=False, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    return done.returncode, done.stderr


def numbers_of_calls(place, source):
    """The numbers of the calls that keyveto makes once it has been loaded, by name: some, the last ones all.

    By the names that are seen: strace's when= counts each for itself, and which of them are made is the C library's
    affair (fstat is newfstatat for glibc 2.36, and a call of its own for 2.41).
    """
    equal(traced(place, ["-e", "trace=" + ",".join(CALLS)], "--force", source), (0, ""))
    names = re.findall(r"^(\w+)\(", place.settings.with_name("trace").read_text(encoding="utf-8", errors="replace"),
                       re.MULTILINE)
    begun = names.index("umask")
    found = {}
    for name in dict.fromkeys(names[begun:]):
        mine = range(names[:begun].count(name) + 1, names.count(name) + 1)
        found[name] = sorted({*mine[::max(1, len(mine) // 6)], *mine[-8:]})
    return found


def at_each_call(place, injected, judge):
    """Updates from 1 to 2, with something injected into one system call after the other; how many."""
    older, old, new = large(0), large(1), large(2)
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    source = place.state.parent / "source"
    source.write_bytes(new)
    source.with_name("source.sig").write_bytes(signer.sign(new))

    def reset():
        for path in place.state.iterdir():
            path.unlink()
        place.put(old)
        place.previous.write_bytes(older)
        place.previous.chmod(0o644)

    reset()
    turns = 0
    for call, numbers in numbers_of_calls(place, source).items():
        for number in numbers:
            reset()
            status, messages = traced(place, ["-e", f"trace={call}", "-e", f"inject={call}:{injected}:when={number}"],
                                      "--force", source)
            turns += 1
            what = f"{call} {number}: status {status}: {messages}"
            now, before = place.target.read_bytes(), place.previous.read_bytes()
            assert now in (old, new) and before in (older, old), what
            assert now == new or before == older, f"the older one is lost: {what}"
            assert now != new or before == old or place.old.read_bytes() == old, f"the old one is lost: {what}"
            judge(status, messages, now == new, what)
            place.update("--force", source)
            equal((place.target.read_bytes() == new, place.previous.read_bytes() == old), (True, True), what)
            # Where nothing had to be written any more, the lock file of the dead stays for the next who writes.
            left = set(place.names()) - ({".filter.pkbf.lock"} if now == new else set())
            equal(left, {".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"}, what)
    return turns


@placed("killed at each of its system calls, it leaves the old filter or the new one")
def _(place):
    def judge(status, _messages, _new, what):
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL), what

    turns = at_each_call(place, "signal=KILL", judge)
    assert turns > 60, f"only {turns} calls"


PLACING = ("linkat", "renameat", "renameat2", "unlinkat", "fsync")


def killed_while_placing(place, prepare, *words):
    """After each kill of an update at a call that names files, or makes names last; what the kill was at."""
    for call in PLACING:
        for number in itertools.count(1):
            for path in place.state.iterdir():
                path.unlink()
            prepare()
            status, messages = traced(place, ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"],
                                      *words)
            assert status in (0, -signal.SIGKILL, 128 + signal.SIGKILL), messages
            if status == 0:
                break
            yield f"{call} {number}"


def three_revisions(place):
    """Installs 1 and 2; the server has 3."""
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    place.page.body, place.page.etag = a_filter(3), '"3"'


@placed("killed while it puts the new one in place, a rollback leads back by one")
def _(place):
    seen = set()
    for what in killed_while_placing(place, lambda: three_revisions(place)):
        now = revision_of(place.target)
        contains(place.update("--rollback"), f"rolled back, revision {now} -> {now - 1}, ")
        equal((revision_of(place.target), revision_of(place.previous)), (now - 1, now), what)
        lacks(" ".join(place.names()), "keyveto-old")
        seen.add(now)
    equal(seen, {2, 3})


@placed("the older one before is given up only once the new filter is on disk")
def _(place):
    place.put(a_filter(0))
    equal(traced(place, ["-y", "-e", "trace=linkat,renameat,fsync"]), (0, ""))
    calls = re.findall(r"^(\w+)\((.*)\) += 0$", place.settings.with_name("trace").read_text(encoding="utf-8"), re.MULTILINE)
    steps = [(call, *(re.findall(r'"(.*?)"', what) or [what[:-1].rpartition("/")[2]])) for call, what in calls]
    equal([step for step in steps if not any("keyveto-update" in name for name in step)], [
        ("renameat", ".filter.pkbf.keyveto-part", ".filter.pkbf.keyveto-new"),
        ("fsync", ".filter.pkbf.keyveto-new"),
        ("linkat", "filter.pkbf", ".filter.pkbf.keyveto-old"),
        ("renameat", ".filter.pkbf.keyveto-new", "filter.pkbf"),
        ("fsync", "state"),
        ("renameat", ".filter.pkbf.keyveto-old", "filter.pkbf.previous"),
        ("fsync", "state")])


@placed("killed while it puts the new one in place, what it remembers is of the one that is there")
def _(place):
    seen = set()
    for what in killed_while_placing(place, lambda: three_revisions(place)):
        now = revision_of(place.target)
        place.update()
        asked = place.site.requests[-1].headers["If-None-Match"]
        assert asked in (None, f'"{now}"'), f"{what}: revision {now}, {asked}"
        equal((revision_of(place.target), revision_of(place.previous)), (3, 2), what)
        seen.add((now, asked))
    equal(seen, {(2, '"2"'), (3, None)})


@placed("of what a killed run left, only a filter that was replaced becomes the one before")
def _(place):
    def make_fifo():
        os.mkfifo(place.old)

    def give_away():
        place.old.write_bytes(a_filter(7))
        os.chown(place.old, 65534, 65534)

    three_revisions(place)
    place.update()
    for leave in (lambda: os.link(place.target, place.old), lambda: place.old.symlink_to(place.previous), make_fifo,
                  *([give_away] if os.geteuid() == 0 else [])):
        leave()
        equal(place.update(), "already current, revision 3")
        equal((revision_of(place.target), revision_of(place.previous)), (3, 2))
        lacks(" ".join(place.names()), "keyveto-old", ".lock")
    # A replacement that did not happen, and then one by others, who keep none.
    os.link(place.target, place.old)
    run("filter", "add", place.target, ROOT / "testdata/demo/publisher-examples.pub", status=0)
    equal((revision_of(place.target), revision_of(place.previous)), (4, 2))
    lacks(" ".join(place.names()), "keyveto-old")
    place.old.mkdir()
    contains(place.refuse("--force", early=True), "cannot make .filter.pkbf.keyveto-old beside it, left by a run that "
             "was killed, filter.pkbf.previous: Is a directory")


@placed("the one before may be another name of the one installed")
def _(place):
    three_revisions(place)
    place.previous.unlink()
    os.link(place.target, place.previous)
    place.update()
    equal((revision_of(place.target), revision_of(place.previous)), (3, 2))
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


@placed("killed in a rollback, the two are exchanged or not, and what was rolled back from stays away")
def _(place):
    def two_revisions():
        three_revisions(place)
        place.page.body, place.page.etag = a_filter(2), '"2"'

    seen = set()
    for what in killed_while_placing(place, two_revisions, "--rollback"):
        both = (revision_of(place.target), revision_of(place.previous))
        contains(place.update(), {(2, 1): "already current, revision 2",
                                  (1, 2): "stays at revision 1: revision 2 was rolled back, "}[both])
        equal((revision_of(place.target), revision_of(place.previous)), both, what)
        seen.add(both)
    equal(seen, {(1, 2), (2, 1)})


@placed("when one of its system calls fails, it says so, and leaves the old filter or the new one")
def _(place):
    def judge(status, messages, new, what):
        assert status in (0, 2), what
        assert status == 0 or messages.startswith("keyveto: "), what
        assert status != 0 or new, f"success without the new one: {what}"
        assert "stays as it is" not in messages or not new, what

    turns = at_each_call(place, "error=EIO", judge)
    assert turns > 60, f"only {turns} calls"


@placed("a filter that is damaged is replaced, and does not push out the one before")
def _(place):
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    place.put(a_filter(2)[:-9])
    result = place.run(status=0)
    contains(result.out.decode(), "installed, revision 2")
    contains(result.err.decode(), "what is installed is no good filter")
    equal((revision_of(place.target), revision_of(place.previous)), (2, 1))


# --- root's hands ----------------------------------------------------------------

NOBODY = 65534


def look_at(path):
    """All that a file is, without following a link."""
    seen = path.lstat()
    return path.read_bytes(), seen.st_ino, seen.st_mode, seen.st_uid, seen.st_mtime_ns, seen.st_ctime_ns


def needs_root():
    assert os.geteuid() == 0, "needs root"


@placed("root follows no link that is not root's")
def _(place):
    needs_root()
    secret, theirs = place.state.parent / "shadow", place.state.parent / "theirs"
    secret.write_bytes(b"root:*:19000:0:99999:7:::\n")
    secret.chmod(0o600)
    place.put(a_filter(0))
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    for folder, owner in ((theirs, NOBODY), (theirs, 0), (place.state, NOBODY)):
        for target, below in ((secret, ""), (place.target, ""), (place.state, "filter.pkbf"), (place.state, "new.pkbf")):
            link = folder / "link"
            link.symlink_to(target)
            os.chown(link, owner, owner, follow_symlinks=False)
            place.write_settings()
            before = look_at(secret), look_at(place.target), place.names()
            for words in ((), ("--force",), ("--dry-run",), ("--rollback",)):
                result = run("update", "--settings", place.settings, "--filter", link / below, *words, status=2)
                contains(result.problems[0], "root does not follow the symbolic link 'link' on the way")
                equal((look_at(secret), look_at(place.target), place.names()), before, f"{words}")
            equal(os.listdir(theirs), ["link"] if folder == theirs else [])
            link.unlink()


@placed("a file that is no filter is not replaced; with --force it is kept beside")
def _(place):
    content = b"127.0.0.1 localhost\n"
    for content in (content, b"", b"pkbf"):
        place.target.write_bytes(content)
        before = look_at(place.target)
        for words in ((), ("--dry-run",), ("--rollback",)):
            result = place.run(*words, status=2)
            contains(result.problems[0], f"{place.target}: is not a filter, and stays as it is; name the filter, or give --force")
            equal((look_at(place.target), place.names()), (before, ["filter.pkbf"]))
        place.run("--force", "--dry-run", status=0)
        equal((look_at(place.target)[0], place.names()), (content, ["filter.pkbf"]))
        result = place.run("--force", status=0)
        contains(result.err.decode(), f"{place.target}: what was there is kept beside it as filter.pkbf.kept")
        kept = place.state / "filter.pkbf.kept"
        equal((kept.read_bytes(), kept.stat().st_ino), (content, before[1]))
        equal(place.target.read_bytes(), a_filter())
        equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.kept"])
        for path in place.state.iterdir():
            path.unlink()


@placed("as root, the filter gets nobody else's owner, nor a mode that lets others write")
def _(place):
    needs_root()
    place.state.chmod(0o1777)
    for revision, (uid, gid, mode, expected, told) in enumerate((
            (NOBODY, NOBODY, 0o666, (0, 0, 0o644), f"belonged to user {NOBODY}, and belongs to root now"),
            (0, NOBODY, 0o660, (0, NOBODY, 0o640), "had mode 0660, and has 0640 now"))):
        place.put(a_filter(revision))
        os.chown(place.target, uid, gid)
        place.target.chmod(mode)
        place.page.body, place.page.etag = a_filter(revision + 1), f'"{revision}"'
        contains(place.run(status=0).err.decode(), told)
        seen = place.target.stat()
        equal((seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)), expected)
        equal(revision_of(place.target), revision + 1)


@placed("a link and a file exchanged all the time lead root nowhere else")
def _(place):
    needs_root()
    secret, source = place.state.parent / "shadow", place.state.parent / "source"
    secret.write_bytes(b"root:*:19000:0:99999:7:::\n")
    secret.chmod(0o600)
    source.write_bytes(a_filter(5))
    before = look_at(secret)
    place.state.chmod(0o1777)

    def exchange():
        new = place.state / ".new"
        for make_it in (lambda: new.symlink_to(secret), lambda: new.write_bytes(a_filter(1)),
                        lambda: new.write_bytes(b"text")):
            with contextlib.suppress(OSError):      # it is root's for now
                new.unlink(missing_ok=True)
                make_it()
                os.rename(new, place.target)
            time.sleep(rnd.random() * 0.02)     # now and then an update fits in between

    rnd = random.Random(7)
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        while True:
            exchange()
    seen = set()
    try:
        for turn in range(300):
            result = place.run(*(("--force",) if turn % 2 else ()), source)
            seen.add(result.status)
            equal(look_at(secret), before, f"{result.err}")
            for path in place.state.iterdir():
                path.unlink(missing_ok=True)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    equal(seen, {0, 2})


@placed("standard descriptors that are closed are not mistaken for the filter")
def _(place):
    for closed in range(8):
        for old in (None, a_filter(0), b"text"):
            for path in place.state.iterdir():
                path.unlink()
            if old is not None:
                place.put(old)
            redirection = " ".join(f"{fd}>&-" for fd in range(3) if closed & 1 << fd)
            done = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", KEYVETO,
                                   *map(str, place.arguments("--force"))],
                                  capture_output=True, timeout=PATIENCE, check=False)
            # What could not be printed is an error, though the filter is the new one.
            equal(done.returncode, 2 if closed & 2 else 0, f"{redirection}: {done.stderr}")
            equal(place.target.read_bytes(), a_filter(), redirection)
            kept = {None: [], a_filter(0): ["filter.pkbf.previous"], b"text": ["filter.pkbf.kept"]}[old]
            equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", *kept], redirection)
            equal((place.state / kept[0]).read_bytes() if kept else None, old)


@placed("bad usage is told")
def _(place):
    for words, reason in ((("a", "b"), "give one URL"), (("--rollback", "a"), "--rollback takes no URL"),
                          (("--filter", "x", "a"), "give one filter"), (("--nonsense",), "bad option --nonsense")):
        contains(place.run(*words, status=2).err.decode(), reason, "usage: keyveto update ")
    result = run("update", "--settings", place.settings, "--filter", place.state, place.site.url(), status=2)
    contains(result.problems[0], f"{place.state}: not a regular file")


# --- the units -----------------------------------------------------------------------

UNITS = ROOT / "packaging/systemd"
@case("the units and the cron line run a command that there is")
def _(_scratch):
    service = (UNITS / "keyveto-update.service").read_text(encoding="utf-8")
    cron = (ROOT / "packaging/cron/keyveto-update").read_text(encoding="utf-8")
    words = re.search(r"^ExecStart=/usr/bin/keyveto (.*)$", service, re.MULTILINE)[1].split()
    for found in (words, re.search(r"^\d.* root .*\bkeyveto (update[^;|\n]*)", cron, re.MULTILINE)[1].split()):
        contains(run(*found, "--help", status=0).out.decode(), "usage: keyveto update ")


if __name__ == "__main__":
    sys.exit(run_all())
