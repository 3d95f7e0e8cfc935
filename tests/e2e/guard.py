# SPDX-License-Identifier: ISC
"""Runs the guard without sshd."""

import subprocess
import threading
from dataclasses import dataclass

from patience import PATIENCE
from server import GUARD

# The environment that sshd gives to a command (auth2-pubkey.c: subprocess).
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/games", "LANG": "C.UTF-8"}


@dataclass
class Done:
    """How the guard ended."""
    pid: int
    returncode: int
    stdout: object
    stderr: bytes


def offer(account, key, config):
    """The arguments for an offered key or certificate."""
    public = getattr(key, "certificate", None) or getattr(key, "key", key)
    return ["--config", str(config), "--user", account.name, "--home", str(account.home),
            "--type", public.type, "--key", public.blob]


def run_guard(account, key, config, *more, **how):
    """Runs the guard as sshd does for this key."""
    return run([*offer(account, key, config), *more], **how)


def run(arguments, prefix=(), **how):
    """Runs the guard with any arguments. prefix is a program that starts it."""
    return start([*prefix, GUARD, *map(str, arguments)], **how)


def start(argv, collect=None, stdout=subprocess.PIPE, **options):
    """Runs any program in the environment that sshd gives to the guard.

    collect reads the output if it may not fit into memory.
    """
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                          env=ENVIRONMENT, cwd="/", **options) as process:
        too_long = threading.Timer(PATIENCE, process.kill)
        too_long.start()
        try:
            if collect is None:
                output, errors = process.communicate()
            else:
                output = collect(process.stdout)
                errors = process.stderr.read()
            process.wait()
        finally:
            too_long.cancel()
    return Done(process.pid, process.returncode, output, errors)
