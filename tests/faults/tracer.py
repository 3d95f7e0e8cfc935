# SPDX-License-Identifier: ISC
"""strace: lists the system calls of a program, and makes one of them fail."""

import os
import re
from dataclasses import dataclass, field

from stage import PATIENCE, Done, run

_CALL = re.compile(r"^(?:\d+ +)?([a-z_0-9]+)\((.*)$")
_RESUMED = re.compile(r"^\d+ +<\.\.\. ")

# The kernel never returns an error from these (from futex: when it wakes others).
# So no fault is injected there: the outcome would prove nothing.
NEVER_FAIL = frozenset("""
    exit_group exit getpid gettid getppid getuid geteuid getgid getegid umask
    rt_sigreturn rt_sigprocmask set_tid_address futex
""".split())


@dataclass(frozen=True)
class Call:
    """A system call: the nth of its name, the index-th of all."""
    name: str
    nth: int
    index: int
    text: str = field(compare=False)

    def __str__(self):
        return f"{self.name} #{self.nth} {self.text[:90]}"


def parse(trace):
    """The calls of a trace, in order. When the kernel goes on with a call that it broke off is chance."""
    counts, calls = {}, []
    for line in trace.splitlines():
        found = _CALL.match(line)
        if not found or _RESUMED.match(line) or found[1] == "restart_syscall":
            continue
        name = found[1]
        counts[name] = counts.get(name, 0) + 1
        calls.append(Call(name, counts[name], len(calls), found[2]))
    return calls


class Fault:
    """What happens at one call: an error, a result without the work, or a signal."""

    def __init__(self, title, action):
        self.title, self.action = title, action

    def __str__(self):
        return self.title

    @property
    def is_signal(self):
        return self.action.startswith("signal=")


class NeverHit(AssertionError):
    """The run did not make that call so often."""


def error(name):
    return Fault(name, f"error={name}")


def result(value):
    return Fault(f"result {value}", f"retval={value}")


def kill_by(name):
    return Fault(name, f"signal={name}")


def applies(fault, call):
    """Whether the fault makes sense for the call."""
    return fault.is_signal or call.name not in NEVER_FAIL


def expression(call, fault, onwards=False):
    """The expression for strace's -e inject=."""
    action = fault.action
    if call.name == "brk" and not fault.is_signal:
        action = "retval=0"     # brk reports failure by an address, not by an error
    # strace does not count the execve that it starts the program with.
    nth = call.nth - (call.name == "execve")
    return f"inject={call.name}:{action}:when={nth}{'+' if onwards else ''}"


def trace(path, argv, *more, user=None, follow=True, seconds=PATIENCE, **options):
    """Runs argv under strace, with its children if follow: (how it ended, the trace). Removes the file of the trace.

    strace counts the calls of each process on its own: with follow, a fault is for the program and each child.
    """
    command = ["strace", *["-f"] * follow, "-s", "512", "-o", path, *more]
    if user:
        command += ["-u", user]
    done = run([*command, "--", *argv], seconds, **options)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        os.unlink(path)
    except FileNotFoundError:
        text = ""
    return done, text


def list_calls(path, argv, *more, **options):
    """Runs argv without a fault: (how it ended, its calls)."""
    done, text = trace(path, argv, *more, **options)
    return done, parse(text)


def inject(path, argv, call, fault, onwards=False, also=(), **options):
    """Runs argv with the fault, and with the faults in also. Raises AssertionError if the fault was not hit."""
    done, text = trace(path, argv, *also, "-e", expression(call, fault, onwards), **options)
    if fault.is_signal:
        hit = any(later.name == call.name and later.nth == call.nth for later in parse(text))
    else:
        hit = "(INJECTED)" in text or "(DELAYED)" in text
    if not hit:
        raise NeverHit(f"{fault} at {call}: never hit: {done}")
    return done, text


__all__ = ["Call", "Done", "Fault", "NeverHit", "applies", "error", "expression", "inject", "kill_by", "list_calls",
           "parse", "result", "trace"]
