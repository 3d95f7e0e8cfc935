#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Follow: many clients follow a published filter and a published list through trouble.

    python3 tests/campaign/follow.py [--build DIR] [--long] [--revisions N] [--clients N]
                                     [--length P] [--keys N] [--records N] [--seed TEXT]
    python3 tests/campaign/follow.py --month [--revisions DAYS] [--length P] [--records N]

Each revision of both files is published in a folder, and each client begins at a
revision of its own.  Between two revisions some clients update: most in peace,
the others are killed, or have a full disk, or meet a server that truncates,
exchanges files of two revisions, replays an old revision, has the signatures of
the one before, or sends another's patch.  One client is killed at each system
call that changes a file.  After each run both files of a client are, byte for
byte, what they were before the run, or the newest ones of the publisher; with an
old revision that the client has not seen before, later ones than they were.  At
the end every client has the newest.

--month follows 1000 new keys a day (--keys) for 31 days, and counts each byte
that the server sends. With fewer days, it says what 30 updates would cost at
that rate. Half of the filter's bits are set.
"""

import argparse
import bisect
import collections
import concurrent.futures
import contextlib
import hashlib
import http.server
import math
import os
import random
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / name) for name in ("cli", "e2e", "oracle")]
from patience import PATIENCE  # noqa: E402
from pkbf import HEADER, MAGIC  # noqa: E402
from website import Authority  # noqa: E402

BUILD = HERE.parent.parent / "build"
HASHES = 20
RECORD = 16
NAMES = {"filter": "keys.pkbf", "list": "keys.dat"}
URLS = {"filter": "keys.pkbf", "list": "keys.json"}
# What tells whether there is something new.
SMALL = ("keys.pkbf.sig", "keys.json", "keys.json.sig")
# The most that a month may cost, as a part of 30 whole files.
MONTH = {"filter": 0.003, "list": 0.001}
CHANGING = "openat,write,pwrite64,ftruncate,fsync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,chmod,fchmod"
LIES = ("cut", "short", "flip", "other", "replay", "torn", "gone", "busy")
FAILURES_SHOWN = 20


class Publisher:
    """Two files that grow, and the folder where each revision is published."""

    def __init__(self, scratch, keyveto, options):
        self.scratch, self.keyveto, self.options = scratch, keyveto, options
        self.random = random.Random(f"{options.seed} publisher")
        self.program = keyveto.with_name("keyveto-publish")
        self.site, self.archive, self.work = (scratch / name for name in ("site", "archive", "work"))
        for folder in (self.site, self.archive, self.work):
            folder.mkdir()
        self.key = scratch / "signing_key"
        run_tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        self.allowed = scratch / "allowed_signers"
        self.allowed.write_text(f"keyveto {self.key.with_suffix('.pub').read_text(encoding='ascii')}", encoding="ascii")
        self.allowed.chmod(0o644)
        self.revision, self.old = 0, []         # the files of each revision, by their names
        # SHA-256 of each revision, by the kind of the file: number of the revision.
        self.known = {kind: {} for kind in NAMES}
        self.began = int(time.time()) - 3600
        size = 2 ** options.length // 8
        self.bits = bytearray(self.random.randbytes(size))
        self.entries = int(2 ** options.length * math.log(2) / HASHES)
        self.records = sorted({self.random.randbytes(RECORD - 1) for _ in range(options.records)})

    def grow(self):
        """The next revision: new keys in both files, and a few records fewer."""
        self.revision += 1
        for _ in range(self.options.keys if self.revision > 1 else 0):
            for _ in range(HASHES):
                n = self.random.randrange(2 ** self.options.length)
                self.bits[n // 8] |= 1 << (7 - n % 8)
            bisect.insort(self.records, self.random.randbytes(RECORD - 1))
        if self.revision > 1:
            self.entries += self.options.keys
            for _ in range(self.options.keys // 20):
                del self.records[self.random.randrange(len(self.records))]
        path = self.work / NAMES["filter"]
        header = HEADER.pack(MAGIC, self.revision, self.began + self.revision, self.entries, HASHES,
                             self.options.length)
        path.write_bytes(header + self.bits)
        (self.work / NAMES["list"]).write_bytes(b"".join(record + b"\1" for record in self.records))

    def publish(self):
        self.grow()
        files = [self.work / name for name in NAMES.values()]
        run_tool(self.program, "--quiet", "--sign", self.key, self.site, *files)
        for kind, path in zip(NAMES, files):
            self.known[kind][digest(path)] = self.revision
        if self.options.month:
            return
        archive = self.archive / str(self.revision)
        archive.mkdir()
        for path in self.site.iterdir():
            os.link(path, archive / path.name)
        self.old.append(archive)

    def another(self, name):
        """A file of the same kind: of another revision, or a patch that leads elsewhere."""
        return self.random.choice(sorted(self.archive.glob(f"*/*{Path(name).suffix}"))).read_bytes()


class Server(http.server.ThreadingHTTPServer):
    """The published folder over TLS.  The first part of a path is the client, whose lie is in .lies."""
    daemon_threads = True

    def __init__(self, publisher, certificate):
        super().__init__(("127.0.0.1", 0), Handler)
        self.publisher, self.lies, self.replayed = publisher, {}, {}
        self.sent = collections.Counter()       # bytes of bodies and heads, by client
        self.random = random.Random(f"{publisher.options.seed} server")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def handle_error(self, *_):
        """Prints nothing: clients are killed."""

    def body(self, client, path):
        """(bytes or None, how many of them are sent, status) of a path, with the client's lie."""
        publisher, lie = self.publisher, self.lies.get(client)
        file = publisher.site / path
        if lie == "replay":
            file = self.replayed[client] / path
        elif lie == "torn" and path.endswith(".sig"):
            file = publisher.old[-2] / path
        body = file.read_bytes() if file.is_file() else None
        if lie == "busy":
            return b"", 0, 503
        if body is None or (lie == "gone" and path not in SMALL):
            return None, 0, 404
        if lie == "other" and path not in SMALL:
            body = publisher.another(path)
        elif lie == "flip":
            body = flipped(self.random, body)
        sent = len(body)
        if lie in ("cut", "short") and body and self.random.random() < 0.7:
            sent = self.random.randrange(len(body))
            body = body if lie == "cut" else body[:sent]
        return body, sent, 200


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        _, client, path = self.path.split("/", 2)
        body, sent, status = self.server.body(client, path)
        etag = f'"{hashlib.sha256(body or b"").hexdigest()[:16]}"'
        if status == 200 and self.headers.get("If-None-Match") == etag:
            body, sent, status = b"", 0, 304
        head = [("Content-Length", str(len(body or b"")))] if status != 304 else []
        if status == 200:
            head.append(("ETag", etag))
        with contextlib.suppress(OSError):
            self.send_response(status)
            for name, value in head:
                self.send_header(name, value)
            self.server.sent[client] += sum(map(len, self._headers_buffer)) + 2 + sent
            self.end_headers()
            self.wfile.write((body or b"")[:sent])
            if sent < len(body or b""):
                self.close_connection = True

    def log_message(self, *_):
        pass


def flipped(rnd, body):
    at = rnd.randrange(len(body))
    return body[:at] + bytes([body[at] ^ 1 << rnd.randrange(8)]) + body[at + 1:]


def run_tool(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          timeout=20 * PATIENCE, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{words[0]} {words[1]}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def digest(path):
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return None


class Client:
    """A folder with a filter and a list, and the settings by which they are kept current."""

    def __init__(self, scratch, name, publisher, place, authority):
        self.publisher, self.name = publisher, name
        self.folder = scratch / "clients" / name
        self.folder.mkdir(parents=True, mode=0o755)
        self.files = {kind: self.folder / file for kind, file in NAMES.items()}
        common = f"    AllowedSigners {publisher.allowed}\n    CAFile {authority.certificate}\n    Proxy none\n"
        self.settings = self.folder / "update.conf"
        self.settings.write_text(
            f"Source filter\n    URL {place}{URLS['filter']}\n    Target {self.files['filter']}\n{common}"
            f"Source list\n    Format badkeys\n    URL {place}{URLS['list']}\n    Target {self.files['list']}\n"
            f"{common}",
            encoding="utf-8")
        # Nothing of this machine's own settings.
        self.config = self.folder / "keyveto.conf"
        self.config.write_text(f"Filter {self.folder}/none.pkbf\n", encoding="utf-8")

    def words(self):
        return [self.publisher.keyveto, "update", "--settings", self.settings, "--config", self.config]

    def update(self, prefix=(), kill_after=None):
        """(status, messages) of a run; a killed one has a status below 0 or 128 and more."""
        with subprocess.Popen([str(word) for word in (*prefix, *self.words())], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, errors="replace",
                              env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}) as process:
            try:
                out, problems = process.communicate(timeout=kill_after or 20 * PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                out, problems = process.communicate()
        return process.returncode, out + problems

    def digests(self):
        return {kind: digest(path) for kind, path in self.files.items()}


class Campaign:
    """The clients, their runs, and what was wrong."""

    def __init__(self, scratch, options):
        self.options = options
        self.random = random.Random(f"{options.seed} campaign")
        self.publisher = Publisher(scratch, Path(options.build).resolve() / "keyveto", options)
        authority = Authority(scratch, "ca")
        authority.certificate.chmod(0o644)
        self.server = Server(self.publisher, authority.issue("localhost"))
        self.clients = []
        for number in range(options.clients):
            name = f"c{number}"
            # Every fourth one has the folder itself: a mirror on this machine.
            place = f"{self.publisher.site}/" if number % 4 == 3 else \
                f"https://localhost:{self.server.server_address[1]}/{name}/"
            self.clients.append(Client(scratch, name, self.publisher, place, authority))
        self.begins = {client: self.random.randrange(1, options.revisions + 1) for client in self.clients}
        self.trace = scratch / "trace"
        self.passed, self.failures, self.torn = 0, [], 0
        self.table = collections.Counter()
        self.lock = threading.Lock()

    def check(self, condition, sentence):
        with self.lock:
            if condition:
                self.passed += 1
            else:
                self.failures.append(sentence)

    def run_client(self, client, trouble, seed):
        """Updates a client that meets this trouble, and compares its files."""
        rnd = random.Random(seed)
        before, newest = client.digests(), self.newest()
        prefix, kill_after = (), None
        trace = f"{self.trace}-{client.name}"
        if trouble in LIES:
            self.server.replayed[client.name] = rnd.choice(self.publisher.old)
            self.server.lies[client.name] = trouble
        elif trouble == "killed":
            if rnd.random() < 0.5:
                kill_after = rnd.random() * 0.2
            else:
                # Its helpers, ssh-keygen among them, are not followed.
                prefix = ("strace", "-qq", "-o", trace, "-e", f"trace={CHANGING}", "-e",
                          f"inject={CHANGING}:signal=SIGKILL:when={rnd.randrange(1, 120)}")
        elif trouble == "full":
            prefix = ("strace", "-qq", "-o", trace, "-e", "trace=write,pwrite64", "-e",
                      f"inject=write,pwrite64:error=ENOSPC:when={rnd.randrange(1, 30)}+")
        status, messages = client.update(prefix, kill_after)
        self.server.lies.pop(client.name, None)
        after = client.digests()
        where = f"{client.name} at revision {self.publisher.revision}, {trouble}"
        said = f"{where}: status {status}\n{messages}"
        for kind, known in self.publisher.known.items():
            whole = after[kind] in (before[kind], newest[kind])
            if trouble == "replay" and after[kind] in known:
                whole = known[after[kind]] >= known.get(before[kind], 0)
            with self.lock:
                self.torn += not whole
            self.check(whole, f"{said}{kind}: neither what it was nor the newest: {after[kind]}")
        if trouble == "peace":
            self.check(status == 0 and after == newest, f"{said}it has not the newest files")
        elif status == 0 and trouble not in ("killed", "full", "replay", "torn"):
            self.check(after == newest, f"{said}status 0 without the newest files")
        with self.lock:
            self.table[trouble, "the newest" if after == newest else "as before" if after == before else "one of two"] \
                += 1

    def newest(self):
        return {kind: next(reversed(known)) for kind, known in self.publisher.known.items()}

    def kill_at_each_call(self, client):
        """Kills a client's update at each of its calls that change a file; in the short form at a sample of them."""
        kept = client.folder.with_name(f"{client.name}-kept")
        shutil.copytree(client.folder, kept)
        before, newest = client.digests(), self.newest()
        for n in range(1, 2000, 1 if self.options.long else 4):
            prefix = ("strace", "-qq", "-o", f"{self.trace}-each", "-e", f"trace={CHANGING}", "-e",
                      f"inject={CHANGING}:signal=SIGKILL:when={n}")
            status, messages = client.update(prefix)
            after = client.digests()
            for kind in NAMES:
                self.check(after[kind] in (before[kind], newest[kind]),
                           f"{client.name} killed at call {n}: {kind} is {after[kind]}\n{messages}")
            killed = status in (-9, 137)
            self.table["killed at each call", "the newest" if after == newest else "as before"
                       if after == before else "one of two"] += killed
            if not killed:
                break
            status, messages = client.update()
            self.check(status == 0 and client.digests() == newest,
                       f"{client.name}, after it was killed at call {n}: status {status}\n{messages}")
            shutil.rmtree(client.folder)
            shutil.copytree(kept, client.folder)
        self.check(n > 20, f"{client.name} was killed {n - 1} times only")
        shutil.rmtree(kept)

    def run(self):
        troubles = ("peace",) * 4 + ("killed", "full") * 2 + LIES
        share = 0.12 if self.options.long else 0.6      # of the clients at each revision
        early = min(self.clients, key=lambda client: self.begins[client])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
            for revision in range(1, self.options.revisions + 1):
                self.publisher.publish()
                jobs = [pool.submit(self.run_client, client, "peace", revision)
                        for client in self.clients if self.begins[client] == revision]
                # One is several revisions behind at the end.
                kept = early if revision == self.options.revisions else None
                for client in self.clients:
                    if client != kept and self.begins[client] < revision and self.random.random() < share:
                        jobs.append(pool.submit(self.run_client, client, self.random.choice(troubles),
                                                f"{self.options.seed} {client.name} {revision}"))
                for job in jobs:
                    job.result()
                if kept:
                    self.kill_at_each_call(kept)
                progress(f"revision {revision} of {self.options.revisions}")
            for job in [pool.submit(self.run_client, client, "peace", "end") for client in self.clients]:
                job.result()
        for client in self.clients:
            left = [name for name in os.listdir(client.folder) if "part" in name or name.endswith(".new")]
            self.check(left == [], f"{client.name}: left behind: {left}")
        self.report()

    def report(self):
        ends = ("the newest", "as before", "one of two")
        print(f"{'clients of each run':<22}" + "".join(f"{end:>12}" for end in ends))
        for trouble in dict.fromkeys(trouble for trouble, _ in self.table):
            print(f"{trouble:<22}" + "".join(f"{self.table[trouble, end]:>12}" for end in ends))
        print(f"{self.options.revisions} revisions, {len(self.clients)} clients, "
              f"{sum(n for (t, _), n in self.table.items() if t != 'peace')} runs with trouble, {self.torn} torn")

    def month(self):
        """A client that updates once a day: what 30 updates cost, beside one full file."""
        client, server = self.clients[0], self.server
        full = {kind: 0 for kind in NAMES}
        sent = {kind: 0 for kind in NAMES}
        days = self.options.revisions
        for day in range(days):
            self.publisher.publish()
            for kind in NAMES:
                before = server.sent[client.name]
                run_tool(*client.words(), "--source", kind)
                sent[kind] += server.sent[client.name] - before if day else 0
                full[kind] = client.files[kind].stat().st_size
            self.check(client.digests() == self.newest(), f"day {day}: not the newest files")
            progress(f"day {day}")
        for kind in NAMES:
            sent[kind] = sent[kind] * 30 // (days - 1)
            share = sent[kind] / full[kind] / 30
            said = f"a month of a {kind} of {full[kind]} bytes: {sent[kind]} bytes, {share:.3%} of 30 whole files"
            print(said)
            self.check(share < MONTH[kind] or self.options.keys > 1000, said)


def progress(text):
    if sys.stderr.isatty():
        print(f"\r{text} ", end="", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=BUILD)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--month", action="store_true")
    parser.add_argument("--revisions", type=int)
    parser.add_argument("--clients", type=int)
    parser.add_argument("--length", type=int, help="log2 of the filter's bits")
    parser.add_argument("--keys", type=int, help="that come with each revision")
    parser.add_argument("--records", type=int, help="of the list")
    parser.add_argument("--seed", default="keyveto follow")
    options = parser.parse_args()
    defaults = {"revisions": 5, "clients": 12, "length": 17, "keys": 40, "records": 5000}
    if options.long:
        defaults = {"revisions": 50, "clients": 200, "length": 28, "keys": 1000, "records": 3_750_000}
    elif options.month:
        defaults = {"revisions": 31, "clients": 1, "length": 28, "keys": 1000, "records": 3_750_000}
    for name, value in defaults.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="keyveto-follow-") as folder:
        os.chmod(folder, 0o755)
        campaign = Campaign(Path(folder), options)
        campaign.month() if options.month else campaign.run()
    for failure in campaign.failures[:FAILURES_SHOWN]:
        print(f"FAILED  {failure}")
    print(f"{campaign.passed} passed, {len(campaign.failures)} failed in {time.monotonic() - started:.0f} s")
    return 1 if campaign.failures or campaign.passed == 0 else 0


if __name__ == "__main__":
    raise SystemExit(main())
