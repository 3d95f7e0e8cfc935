#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Follows README.md by packages on other Debians, from a fresh clone to the purge: `make check-readme`.

    python3 tests/readme/debian.py ROOT...      as root

ROOT is a system as tests/differential/roots makes it. What README installs there comes from Debian's archive, and goes
with the throw-away root. Prints a line for each step. The exit status is 1 if a step failed.
"""

import encodings.idna               # noqa: F401    imported now, as it cannot be loaded later in another root
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]

import paths                        # noqa: E402
import product                      # noqa: E402
import reader                       # noqa: E402
import sandbox                      # noqa: E402
from logbook import Logbook         # noqa: E402
from machine import Machine         # noqa: E402


def pack_clone():
    """An open tar file with what a fresh clone has, more or less."""
    packed = tempfile.TemporaryFile()       # pylint: disable=consider-using-with
    subprocess.run(["tar", "-c", "--exclude-vcs", "--exclude=./build", "--exclude=__pycache__", "."], cwd=reader.ROOT,
                   stdout=packed, check=True)
    packed.seek(0)
    return packed


def follow(packed):
    """In the root of that Debian."""
    reader.ROOT.mkdir(parents=True)
    subprocess.run(["tar", "-x", "--no-same-owner", "-C", reader.ROOT], stdin=packed, check=True)
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    reader.SYSTEMD = False
    print(subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr.strip(), flush=True)
    machine, log = Machine(), Logbook()
    newcomer = reader.Reader(machine, log, product.make_scratch())
    try:
        before = paths.install_packages(newcomer)
        sandbox.leave_network()
        newcomer.server.start()
        newcomer.start_badkeys(1000)
        paths.follow_from_packages(newcomer, before)
    except Exception:               # pylint: disable=broad-exception-caught
        traceback.print_exc()
        return 1
    return 0


def main():
    if not sys.argv[1:]:
        print(__doc__)
        return 2
    failed = []
    for root in sys.argv[1:]:
        print(f"== README.md by packages in {root}", flush=True)
        with pack_clone() as packed:
            if sandbox.call(lambda: follow(packed), template=root, network=True) != 0:      # noqa: B023
                failed.append(root)
    passed = len(sys.argv) - 1 - len(failed)
    print(f"{passed} passed, {len(failed)} failed" + "".join(f" {root}" for root in failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
