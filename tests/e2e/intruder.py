#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Runs as an account, and stops or traces every process that the kernel lets it.

    intruder.py stop|trace NAME

The guard lives for a millisecond. So this tries the process IDs that follow the last one. Prints the ID of each
process called NAME that it stopped or traced. With trace it ends after the first process it traced.
"""

import ctypes
import os
import signal
import sys

PTRACE_SEIZE, AHEAD = 0x4206, 8

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def stop(pid):
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:
        return False
    return True


def trace(pid):
    return _libc.ptrace(PTRACE_SEIZE, pid, None, None) == 0


def is_called(pid, name):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read().strip() == name[:15]
    except OSError:
        return False


def main():
    attempt, name = {"stop": stop, "trace": trace}[sys.argv[1]], sys.argv[2]
    mine = {os.getpid()}
    print("ready", flush=True)
    with open("/proc/loadavg", encoding="ascii") as load:
        while True:
            load.seek(0)
            last = int(load.read().split()[4])
            for pid in range(last, last + AHEAD):
                if pid not in mine and attempt(pid):
                    mine.add(pid)
                    if is_called(pid, name):
                        print(pid, flush=True)
                    if attempt is trace:
                        return      # or else the parent of the traced process would wait for it for ever


main()
