# SPDX-License-Identifier: ISC
"""Runs the keyveto program, and compares its output.

KEYVETO names the program (default build/keyveto).
"""

import fcntl
import os
import shutil
import resource
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

import keys
from patience import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
KEYVETO = Path(os.environ.get("KEYVETO", ROOT / "build/keyveto")).resolve()
# The program that reads files for it, from the same folder.
READER = KEYVETO.parent / "keyveto-reader"
WORKER = KEYVETO.parent / "keyveto-worker"
# The program that speaks to servers for it.
NETWORK = KEYVETO.parent / "keyveto-network"
# What joins audits, in Python.
REPORT = KEYVETO.parent / "keyveto-report"
# What publishes, in Python.
PUBLISH = KEYVETO.parent / "keyveto-publish"
# All that it starts: programs behind the wall.
STARTED = tuple(KEYVETO.parent / f"keyveto-{name}" for name in ("reader", "worker", "network"))
# Built with AddressSanitizer: it needs more memory and time, and its shadow memory more than any limit.
ADDRESS_SANITIZER = b"__asan_init" in KEYVETO.read_bytes()
SSHD = "/usr/sbin/sshd"
# The environment of what strace runs, where LeakSanitizer cannot work.
TRACED = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}


def copy_programs(folder):
    """A copy of keyveto there that every account can run."""
    program = Path(shutil.copy(KEYVETO, folder))
    for started in STARTED:
        shutil.copy(started, folder)
    program.chmod(0o755)
    return program


def keyveto(*arguments, status=None, program=KEYVETO, **options):
    """Runs the program. The result also has .seconds (elapsed) and .cpu_seconds (of the processor)."""
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = attempt(program, *arguments, **{"errors": "surrogateescape", **options})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done.seconds = time.monotonic() - started
    done.cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status is not None:
        equal(done.returncode, status, done.stderr)
    return done


def attempt(*words, **options):
    """Runs any command, which may fail. Its output is text, unless text is False."""
    return subprocess.run([word if isinstance(word, bytes) else str(word) for word in words], check=False, **{
        "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": PATIENCE,
        "stdin": None if "input" in options else subprocess.DEVNULL, **options})


def make_library(path, *words):
    """Makes a library for LD_PRELOAD. It has the C library of the program that loads it, be it glibc or musl."""
    subprocess.run(["cc", "-shared", "-fPIC", "-nostdlib", "-o", path, *words], check=True)


def preload(folder, source):
    """The environment in which the first program has the functions of this C source."""
    (folder / "preload.c").write_text(source, encoding="ascii")
    make_library(folder / "preload.so", folder / "preload.c")
    return {**os.environ, "LD_PRELOAD": str(folder / "preload.so"), "ASAN_OPTIONS": "verify_asan_link_order=0"}


def wait_until(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.001)


def wait_until_read(pipe):
    """Waits until the reader of a pipe has read everything that was written to it."""
    def is_empty():
        return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, struct.pack("i", 0)))[0] == 0
    wait_until(is_empty, "what was written is read")


def mount_namespace():
    """The words that run a command in a mount namespace. Skips the test if the machine allows none."""
    words = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    done = attempt(*words, "true")
    if done.returncode != 0:
        pytest.skip(f"no mount namespace is possible here: {done.stderr.strip()}")
    return words


def on_a_machine(test):
    """A test in a throw-away root that has host keys."""
    return pytest.mark.throwaway(pytest.mark.usefixtures("host_keys")(test))


def check(condition, sentence):
    __tracebackhide__ = True
    assert condition, sentence


def equal(actual, expected, more=""):
    __tracebackhide__ = True
    assert actual == expected, f"expected {expected!r}, got {actual!r}\n{more}"


def contains(text, *parts):
    __tracebackhide__ = True
    for part in parts:
        assert part in text, f"{part!r} is not in\n{text}"


def lacks(text, *parts):
    __tracebackhide__ = True
    for part in parts:
        assert part not in text, f"{part!r} is in\n{text}"


def make_filter(path, *listed):
    return keys.write_filter(path, listed)
