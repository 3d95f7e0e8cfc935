# SPDX-License-Identifier: ISC
"""Cases with titles, and what those of scan and audit share."""

import fcntl
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/oracle")]
import keys  # noqa: E402
from patience import PATIENCE  # noqa: E402
import sandbox  # noqa: E402

KEYVETO = Path(os.environ.get("KEYVETO", ROOT / "build/keyveto")).resolve()
SSHD = "/usr/sbin/sshd"

_cases = []


def case(title):
    """Register a function; it fails by raising."""
    def register(function):
        _cases.append((title, function))
        return function
    return register


def _failure_of(function):
    """None, or why it failed."""
    scratch = tempfile.TemporaryDirectory(prefix="keyveto-cli-")
    os.chmod(scratch.name, 0o755)
    try:
        with scratch:
            function(Path(scratch.name))
    except AssertionError as error:
        return str(error) or traceback.format_exc()
    except Exception:       # pylint: disable=broad-except
        return traceback.format_exc()
    return None


def run_all():
    """Run the cases whose titles hold an argument; the exit status."""
    # A shell has its background jobs ignore it, and they their children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # nohup has its children ignore it.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    wanted = sys.argv[1:]
    results = []
    for title, function in _cases:
        if wanted and not any(part in title for part in wanted):
            continue
        started = time.monotonic()
        failure = _failure_of(function)
        seconds = time.monotonic() - started
        print(f"FAILED {title}: {failure}" if failure else f"ok {title} ({seconds:.1f} s)", flush=True)
        results.append(failure is None)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if results and all(results) else 1


def run_in_sandbox(needs_root, prepare=None):
    """Run the cases in a throw-away root, as root; the exit status.

    Anybody else runs them here, unless they need root. prepare is called once
    in the throw-away root, with a folder.
    """
    for tool in (KEYVETO, SSHD):
        if not os.access(tool, os.X_OK):
            print(f"FAILED to start: {tool} cannot be run\n0 passed, 1 failed")
            return 1
    if os.geteuid() != 0:
        if not needs_root:
            return run_all()
        print("FAILED to start: these tests make accounts, run them as root\n0 passed, 1 failed")
        return 1
    if sandbox.inside():
        with tempfile.TemporaryDirectory() as folder:
            if prepare:
                prepare(folder)
        return run_all()
    try:
        return sandbox.run([sys.executable, *sys.argv])
    except sandbox.Refused as reason:
        print(f"FAILED to start: no throw-away root can be had: {reason}\n0 passed, 1 failed")
        return 1


def keyveto(*arguments, status=None, **options):
    """Run the program; .seconds tells how long it took, .cpu_seconds how much work that was."""
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in (KEYVETO, *arguments)], capture_output=True, text=True,
                          errors="surrogateescape", check=False,
                          **{"timeout": PATIENCE, "stdin": None if "input" in options else subprocess.DEVNULL, **options})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done.seconds = time.monotonic() - started
    done.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status is not None:
        equal(done.returncode, status, done.stderr)
    return done


def wait_until(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.001)


def wait_until_read(pipe):
    """Until what was written to a pipe has been taken out at its other end."""
    def is_empty():
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, struct.pack("i", 0)))[0] == 0
    wait_until(is_empty, "what was written is read")


def check(condition, sentence):
    assert condition, sentence


def equal(actual, expected, more=""):
    assert actual == expected, f"expected {expected!r}, got {actual!r}\n{more}"


def contains(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is not in\n{text}"


def lacks(text, *parts):
    for part in parts:
        assert part not in text, f"{part!r} is in\n{text}"


def make_filter(path, *listed):
    return keys.write_filter(path, listed)
