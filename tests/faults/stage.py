# SPDX-License-Identifier: ISC
"""What all fault tests share: accounts, keys, filters, the log by run, and runs with a fault.

conftest.py makes a Stage for each file, in the throw-away root of that file.
"""

import concurrent.futures
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import keys
from logbook import Syslog, read_decision
from patience import PATIENCE

HERE = Path(__file__).resolve().parent
DEFAULT_FILTER = "/var/lib/keyveto/filter.pkbf"
# What keyveto starts.
STARTED = ("keyveto-reader", "keyveto-worker")
PROGRAMS = ("keyveto", "keyveto-authorized-keys", "pam_keyveto.so")
LIBRARIES = ("failalloc.c", "shortio.c")
SHORT_COUNT = 60

# The environment that sshd gives to the guard (auth2-pubkey.c, subprocess).
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/games", "LANG": "C.UTF-8"}


class Journal(Syslog):
    """Sorts the lines by the run that they are about.

    Each run has its own client address, and every line about a decision names
    that address.
    """

    def __init__(self, path="/dev/log"):
        self._runs, self._rest, self._marks = {}, [], set()
        super().__init__(path)

    def take(self, line):
        run = re.search(r" rhost=(run[0-9]+)", line.text)
        if line.text.startswith("mark "):
            self._marks.add(line.text)
        else:
            (self._runs.setdefault(run[1], []) if run else self._rest).append(line)

    def flush(self):
        """Returns once all lines that were sent before are sorted."""
        mark = self.send_mark()
        with self._arrived:
            if not self._arrived.wait_for(lambda: mark in self._marks, PATIENCE):
                raise AssertionError("our own log line does not come through")
            self._marks.discard(mark)

    def about(self, run):
        """The lines about a run, which has ended."""
        self.flush()
        with self._arrived:
            return self._runs.pop(run, [])

    def take_rest(self):
        """The lines that name no run."""
        self.flush()
        with self._arrived:
            rest, self._rest = self._rest, []
        return rest

    def decisions(self, run):
        """keyveto's decisions in a run; Malformed if a line is not one whole line."""
        return [found for found in map(read_decision, self.about(run)) if found]


class Done:
    """How a program ended."""

    def __init__(self, returncode, stdout, stderr, seconds):
        self.returncode, self.stdout, self.stderr, self.seconds = returncode, stdout, stderr, seconds

    @property
    def hung(self):
        return self.returncode is None

    def __str__(self):
        how = "hung" if self.hung else f"status {self.returncode}"
        return f"{how}, output {_shorten(self.stdout)}, errors {_shorten(self.stderr)}"


def _shorten(data):
    return f"{data[:120]!r}… ({len(data)} bytes)" if len(data) > 120 else repr(data)


def run(argv, seconds=PATIENCE, **options):
    """Runs a program, and kills it after that many seconds."""
    options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
               "env": ENVIRONMENT, "cwd": "/", "start_new_session": True, **options}
    started = time.monotonic()
    with subprocess.Popen([os.fspath(word) for word in argv], **options) as process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return Done(None, out or b"", err or b"", time.monotonic() - started)
    return Done(process.returncode, out or b"", err or b"", time.monotonic() - started)


class Stage:
    """What the tests of a file work with. conftest.py gives each test a random of its own."""

    def __init__(self, build, machine, folder, log, long):
        self.machine, self.folder, self.log, self.long = machine, folder, log, long
        self.random = None
        self._names, self._runs = itertools.count(1), itertools.count(1)
        binaries = folder / "bin"
        binaries.mkdir(mode=0o755)
        for program in PROGRAMS:
            shutil.copy(build / program, binaries / program)
        for program in STARTED:
            shutil.copy(build / program, binaries / program)
        self.keyveto, self.guard, self.module = (binaries / program for program in PROGRAMS)
        # With xdist several tests run at a time.
        self.workers = max(1, 2 * (os.cpu_count() or 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
        self._libraries, self._building = {}, threading.Lock()

    # Things

    def path(self, stem):
        """A new path in a folder that root owns, as every folder above."""
        return self.folder / f"{stem}{next(self._names)}"

    def write(self, stem, content, mode=0o644):
        path = self.path(stem)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)
        return path

    def make_folder(self, stem, mode=0o755, owner=None):
        path = self.path(stem)
        path.mkdir()
        path.chmod(mode)
        if owner:
            os.chown(path, owner.uid, owner.gid)
        return path

    def account(self):
        return self.machine.add_account()

    def key(self):
        return keys.generate(self.folder)

    def filter(self, *listed):
        return keys.write_filter(self.path("filter"), [getattr(one, "key", one) for one in listed])

    def blocklist(self, *listed, others=5000):
        """An exact list that has these keys and random records, and the name of their source, which is 1."""
        path = keys.write_blocklist(self.path("blocklist"), [getattr(one, "key", one) for one in listed])
        own, random_bytes = path.read_bytes(), random.Random(1).randbytes(16 * others)
        records = [data[i:i + 16] for data in (own, random_bytes) for i in range(0, len(data), 16)]
        path.write_bytes(b"".join(sorted(records)))
        Path(f"{path}.sources").write_text("1 badkeys\n", encoding="ascii")
        return path

    def config(self, *lines, listed=None):
        if listed is not None:
            lines = (f"Filter {self.filter(*listed)}", *lines)
        return self.write("keyveto.conf", "".join(f"{line}\n" for line in lines))

    def compile(self, source, *more):
        """Compiles C: a program, or a library for LD_PRELOAD, by the name of the source."""
        target = self.folder / "bin" / Path(source).stem
        kind = ["-shared", "-fPIC"] if source in LIBRARIES else []
        done = run(["cc", "-O2", "-Wall", "-Wextra", *kind, "-o", target, HERE / source, *more], env=None)
        if done.returncode != 0:
            raise RuntimeError(f"{source}: {done.stderr.decode()}")
        return target

    # Runs

    def name_run(self):
        """A client address for one run. The log names it."""
        return f"run{next(self._runs)}"

    def run_preloaded(self, source, argv, settings, **options):
        """Runs argv with a preloaded library of faults: (how it ended, what the library reports)."""
        with self._building:
            if source not in self._libraries:
                self._libraries[source] = self.compile(source)
        reader, writer = os.pipe()
        settings = {**settings, "FD": writer}
        environment = {f"{Path(source).stem.upper()}_{name}": str(value) for name, value in settings.items()}
        environment |= {**ENVIRONMENT, "LD_PRELOAD": str(self._libraries[source])}
        with os.fdopen(reader, "rb") as report:
            try:
                done = run(argv, env=environment, pass_fds=(writer,), **options)
            finally:
                os.close(writer)
            return done, report.read().decode()

    def each(self, function, items):
        """The results of function for each item, in order. Runs several at a time."""
        with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(function, items))

    def until_unhit(self, function):
        """The results of function(1), function(2) and so on, which are pairs, until one had no hit.

        The short form also ends after SHORT_COUNT.
        """
        found = []
        while all(hit for hit, _ in found) and (self.long or len(found) < SHORT_COUNT):
            found += self.each(function, range(len(found) + 1, len(found) + 1 + 4 * self.workers))
        count = next((n for n, (hit, _) in enumerate(found) if not hit), len(found))
        if count == 0:
            raise AssertionError("never hit")
        return found[:count]

    def some(self, items, share):
        """All items in the long form; in the short form, a sample of about one in share."""
        items = list(items)
        if self.long or share <= 1:
            return items
        return self.random.sample(items, (len(items) + share - 1) // share) if items else []


def as_account(account):
    """Options of subprocess that start a program as an account."""
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
