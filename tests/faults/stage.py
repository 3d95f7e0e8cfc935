# SPDX-License-Identifier: ISC
"""What all fault tests share: a throw-away root, accounts, keys, the log, and the report.

A script calls play(), which starts the script again in the sandbox of tests/e2e,
builds the helpers in C, and runs the script's cases.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import keys  # noqa: E402
import product  # noqa: E402
import sandbox  # noqa: E402
from logbook import Line, Malformed, read_decision  # noqa: E402,F401
from machine import Machine  # noqa: E402
from patience import PATIENCE  # noqa: E402

SCRATCH_PARENT = "/var/lib"     # root owns it and every folder above; every account can enter it
DEFAULT_FILTER = "/var/lib/keyveto/filter.pkbf"
PROGRAMS = ("keyveto", "keyveto-authorized-keys", "pam_keyveto.so")
LIBRARIES = ("failalloc.c", "shortio.c")
TOOLS = ("strace", "cc", "useradd", "userdel", "ssh-keygen")
WHYS_SHOWN = 12
SHORT_COUNT = 60

# The environment that sshd gives to the guard (auth2-pubkey.c, subprocess).
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/games", "LANG": "C.UTF-8"}


class Case:
    """One line of the report. A case fails if a check fails, or by an exception."""

    def __init__(self, title):
        self.title, self.note = title, ""
        self.whys = []

    def check(self, condition, why):
        if not condition:
            self.whys.append(why)
        return bool(condition)


class Report:
    """The cases of a script, and their totals."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.passed = self.failed = self.runs = 0

    def wants(self, title):
        return self.wanted in title

    def count(self, case, whys, what="runs"):
        """Adds the number of runs to a case, and the complaints of each run."""
        whys = list(whys)
        self.runs += len(whys)
        case.note = f"{len(whys)} {what}"
        case.whys += [why for one in whys for why in one]

    @contextlib.contextmanager
    def case(self, title):
        case = Case(title)
        try:
            yield case
        except Exception:       # a case may fail in any way; the next one must still run
            case.whys.append(traceback.format_exc().strip())
        self._print(case)

    def _print(self, case):
        if not case.whys:
            self.passed += 1
            print(f"ok {case.title}" + (f" ({case.note})" if case.note else ""), flush=True)
            return
        self.failed += 1
        shown = [why.replace("\n", "\n       ") for why in case.whys[:WHYS_SHOWN]]
        if len(case.whys) > WHYS_SHOWN:
            shown.append(f"and {len(case.whys) - WHYS_SHOWN} more")
        print(f"FAILED {case.title}: " + "\n       ".join(shown), flush=True)

    def end(self):
        if self.runs:
            print(f"{self.runs} runs with a fault")
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.passed and not self.failed else 1


class Journal:
    """A syslog daemon that sorts the lines by the run that they are about.

    Each run has its own client address, and every line about a decision names
    that address.
    """

    def __init__(self, path="/dev/log"):
        self.path = path
        self._runs, self._rest, self._marks = {}, [], set()
        self._arrived = threading.Condition()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(path)
        os.chmod(path, 0o666)
        threading.Thread(target=self._collect, daemon=True).start()

    def close(self):
        os.unlink(self.path)

    def _collect(self):
        while True:
            self._take(self._socket.recv(1 << 18))

    def _take(self, data):
        priority, _, text = data.rstrip(b"\n\0").decode("utf-8", "backslashreplace").partition(">")
        number = int(priority.lstrip("<") or 0)
        run = re.search(r" rhost=(run[0-9]+)", text)
        with self._arrived:
            if text.startswith("mark "):
                self._marks.add(text)
            elif run:
                self._runs.setdefault(run[1], []).append(Line(number >> 3, number & 7, text))
            else:
                self._rest.append(Line(number >> 3, number & 7, text))
            self._arrived.notify_all()

    def flush(self):
        """Returns once all lines that were sent before are sorted."""
        mark = f"mark {time.monotonic_ns()} {threading.get_ident()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(f"<15>{mark}".encode(), self.path)
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
    """What the cases of a script work with."""

    def __init__(self, options, machine, scratch, log):
        self.long, self.machine, self.folder, self.log = options.long, machine, scratch, log
        self.random = random.Random(options.seed)
        self._names, self._runs = itertools.count(1), itertools.count(1)
        binaries = scratch / "bin"
        binaries.mkdir(mode=0o755)
        for program in PROGRAMS:
            shutil.copy(options.build / program, binaries / program)
        self.keyveto, self.guard, self.module = (binaries / program for program in PROGRAMS)
        self.workers = os.cpu_count() or 1
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
        """The results of function for each item, in order. Runs as many at a time as there are processors."""
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


def _parse_arguments(description):
    parser = argparse.ArgumentParser(description=description.split("\n", 1)[0])
    parser.add_argument("--long", action="store_true", help="every fault, not a sample")
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the built programs are")
    parser.add_argument("--seed", type=int, default=1, help="chooses the sample of the short form")
    parser.add_argument("-k", metavar="SUBSTRING", default="", help="only scenarios whose title contains this")
    options = parser.parse_args()
    options.build = options.build.resolve()
    return options


def _check_machine(build):
    if os.geteuid() != 0:
        raise product.CannotRun("these tests make accounts: run them as root")
    for tool in TOOLS:
        if shutil.which(tool) is None:
            raise product.CannotRun(f"{tool} is not installed")
    for program in PROGRAMS:
        if not (build / program).exists():
            raise product.CannotRun(f"{build / program} does not exist")


def _perform(options, cases):
    """Runs the cases. This process is in the throw-away root."""
    machine = Machine(throwaway=True)
    scratch = Path(tempfile.mkdtemp(prefix="kvt-faults-", dir=SCRATCH_PARENT))
    scratch.chmod(0o755)
    log = Journal()
    report = Report(options.k)
    try:
        # So that every machine makes the same system calls, whatever its name services are.
        machine.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\n")
        cases(Stage(options, machine, scratch, log), report)
    finally:
        log.close()
        shutil.rmtree(scratch, ignore_errors=True)
    return report.end()


def play(description, cases):
    """Run a script's cases(stage, report) in a throw-away root; the exit status."""
    options = _parse_arguments(description)
    try:
        _check_machine(options.build)
        if not sandbox.inside():
            return sandbox.run([sys.executable, *sys.argv])
        return _perform(options, cases)
    except sandbox.Refused as reason:
        print(f"FAILED {Path(sys.argv[0]).name}: no throw-away root is possible here: {reason}\n0 passed, 1 failed")
        return 1
    except product.CannotRun as reason:
        print(f"FAILED {Path(sys.argv[0]).name}: {reason}\n0 passed, 1 failed")
        return 1
