# SPDX-License-Identifier: ISC
"""Runs commands, waits for daemons, and installs packages, as an administrator."""

import os
import subprocess
import time
from pathlib import Path

from bench import check
from machine import write_as_root
from patience import PATIENCE

# Filled by `scripts/deps neighbours`, as the throw-away root has no network.
DOWNLOADED = Path(__file__).resolve().parent.parent.parent / "build/neighbours"
NO_SERVICE = "#!/bin/sh\nexit 101\n"


def attempt(*argv, **options):
    return subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **options)


def run(*argv, **options):
    """The standard output of a command that succeeds."""
    done = attempt(*argv, **options)
    check(done.returncode == 0, f"{argv} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def wait_until(holds, what):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        check(time.monotonic() < deadline, f"waited in vain until {what}")
        time.sleep(0.02)


def install(*packages):
    """Installs packages with apt, and starts no service."""
    write_as_root("/usr/sbin/policy-rc.d", NO_SERVICE, 0o755)
    Path("/var/lib/man-db/auto-update").unlink(missing_ok=True)     # man-db's update is slow
    done = attempt("apt-get", "install", "-q", "-y", "--no-install-recommends", "--no-download",
                   "-o", f"Dir::Cache::Archives={DOWNLOADED}", "-o", "Dpkg::Options::=--force-unsafe-io", *packages,
                   env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    check(done.returncode == 0, f"apt-get install {' '.join(packages)} failed; scripts/deps neighbours downloads what "
          f"it needs:\n{done.stdout}{done.stderr}")
