# SPDX-License-Identifier: ISC
"""An sshd by this throw-away root's own sshd_config, and logins to it."""

import contextlib
import itertools
import subprocess
import time
from pathlib import Path

from audit_machine import CONFIG
from openssh import without_penalties
from program import PATIENCE, SSHD, attempt
from server import free_port

# What these settings say holds wherever a test says nothing else, as sshd uses the first value.
BASE = ("UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "UseDNS no", "PrintMotd no",
        "LogLevel VERBOSE", "MaxAuthTries 20", "MaxStartups 100")
_numbers = itertools.count(1)


def settle(*lines, ports=1):
    """Writes sshd_config with these lines and ports where nobody listens yet: the ports.

    A port stands in the lines as {port} and {other}.
    """
    found = [free_port() for _ in range(ports)]
    named = {"port": found[0], "other": found[-1]}
    CONFIG.write_text("\n".join((*(f"Port {port}" for port in found), *without_penalties(), *BASE,
                                 *(line.format(**named) for line in lines))) + "\n", encoding="utf-8")
    return found


@contextlib.contextmanager
def listening(folder, *arguments, program=SSHD):
    """Runs an sshd with these arguments while the block runs."""
    Path("/run/sshd").mkdir(mode=0o755, parents=True, exist_ok=True)
    log = folder / f"sshd{next(_numbers)}.log"
    with open(log, "wb") as file, subprocess.Popen([program, "-D", "-e", *map(str, arguments)],
                                                   stdin=subprocess.DEVNULL, stdout=file, stderr=file) as process:
        try:
            end = time.monotonic() + PATIENCE
            while "Server listening" not in log.read_text(errors="replace"):
                assert process.poll() is None and time.monotonic() < end, log.read_text(errors="replace")
                time.sleep(0.005)
            yield process
        finally:
            process.terminate()


def comes_in(identity, name, port, client="127.0.0.1", server="127.0.0.1"):
    """Whether the key gets this account a shell with a terminal."""
    dss = "ssh-dss," if "dsa" in identity.key.type or identity.key.type == "ssh-dss" else ""
    done = attempt("ssh", "-F", "none", "-tt", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o",
                   "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none", "-o",
                   f"PubkeyAcceptedAlgorithms=+{dss}ssh-rsa",
                   *identity.options, "-b", client, "-p", port, f"{name}@{server}",
                   "test -t 0 && test -z \"$SSH_ORIGINAL_COMMAND\" && echo came-$((1+1))-in")
    return "came-2-in" in done.stdout
