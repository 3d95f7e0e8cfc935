# SPDX-License-Identifier: ISC
"""Runs in the guest: the stages that the kernel command line names. Reports on the second serial port."""

import os
import subprocess
import sys
import traceback
from pathlib import Path

PORT = "/dev/ttyS1"


def main():
    port = os.open(PORT, os.O_WRONLY | os.O_NOCTTY)
    os.dup2(port, 1)
    os.dup2(port, 2)
    said = Path("/proc/cmdline").read_text(encoding="ascii").split()
    words = dict(word.split("=", 1) for word in said if "=" in word)
    try:
        import stages
        from steps import Part
        part = Part()
        # The tests look for denials in the kernel's log, so it must have all of them.
        subprocess.run(["sysctl", "-q", "-w", "kernel.printk_ratelimit=0"], check=True)
        for name in words["keyveto.stages"].split(","):
            print(f"note   stage {name}", flush=True)
            part.run(getattr(stages, name))
        print("note   end of the tests", flush=True)
    except Exception:
        print(f"FAILED the tests themselves: {traceback.format_exc()}", flush=True)
    sys.stdout.flush()
    os.sync()


if __name__ == "__main__":
    main()
