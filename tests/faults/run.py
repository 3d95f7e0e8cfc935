#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Faults and hostile neighbours: every script in this folder, two at a time.

    python3 tests/faults/run.py [--long] [--build DIR]

Prints the output of each script when it ends, and a summary. Exits with 1 if
a case failed. Needs root, strace and a C compiler. Without --long it tries a
sample of the faults, which is the same in each run.
"""

import concurrent.futures
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = ("neighbours", "guard", "writer", "memory", "pam")        # the longest first


def run_script(name):
    """A script's output, its status and its time."""
    begin = time.monotonic()
    done = subprocess.run([sys.executable, HERE / f"{name}.py", *sys.argv[1:]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="backslashreplace")
    return name, done.stdout, done.returncode, time.monotonic() - begin


def main():
    if "-h" in sys.argv or "--help" in sys.argv:
        print(__doc__)
        return 0
    passed = failed = runs = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for one in concurrent.futures.as_completed([pool.submit(run_script, name) for name in SCRIPTS]):
            name, output, status, seconds = one.result()
            print(f"{name} ({seconds:.0f} s)\n{output}", flush=True)
            counts = re.search(r"^([0-9]+) passed, ([0-9]+) failed$", output, re.MULTILINE)
            passed += int(counts[1]) if counts else 0
            failed += int(counts[2]) if counts and status else int(status != 0)
            faults = re.search(r"^([0-9]+) runs with a fault$", output, re.MULTILINE)
            runs += int(faults[1]) if faults else 0
    print(f"{runs} runs with a fault\n{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
