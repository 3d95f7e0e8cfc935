# SPDX-License-Identifier: ISC
"""Visits: logins by people with a key, and their results.

A visit describes what it saw in text that is equal if sshd treats it equally:
the account, the command that runs, its environment, the restrictions.
"""

import itertools
import re
from dataclasses import dataclass, field

from clients import GREETING, REFUSED_SESSION

# Commands that print what a session has. Values that differ from login to login are left out.
LOOK_AROUND = ("id -un; id -Gn; pwd; printf 'asked for: %s\\n' \"$SSH_ORIGINAL_COMMAND\"; "
               "env | grep -v -e '^SSH_C' -e '^XDG_' -e '^_=' | sort; "
               f"echo {GREETING}")
# The lines of ssh -v about the restrictions of a key.
_RESTRICTION = re.compile(r"key options: .*|remote port forwarding failed|remote forward success")
# A client's message when sshd refuses. The last two are from sftp and git: they take the
# first word of the refusal, "This", for a part of their protocol.
_NO = re.compile(r"Permission denied \([a-z,-]+\)|Connection (?:closed|reset) by [0-9.]+ port "
                 r"|Connection to [0-9.]+ closed by remote host|client_loop: send disconnect: "
                 r"|Read from remote host [0-9.]+: |Received message too long 1416128883"
                 r"|bad line length character: This")
# The lines of ssh -v about any connection.
_CHATTER = ("debug", "OpenSSH_", "Authenticated to", "Transferred:", "Bytes per second:", "Allocated port",
            "Warning: Permanently", "Warning: remote port forwarding failed")

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Seen:
    """The result of a visit: whether sshd let it in, and what it saw."""
    entered: bool
    what: str
    refused: bool = False       # sshd refused the key, and nothing else failed
    client: str = field(default="", compare=False)     # the client's last message


@dataclass(frozen=True)
class Visit:
    """Somebody with a key."""
    title: str
    account: str
    act: object                 # returns a Seen
    listed: bool = False
    known: bool = True          # whether the account lists this key
    past_guard: bool = False    # enters by a way that bypasses the guard


def _last_words(outcome):
    lines = [line for line in outcome.stderr.splitlines() if not line.startswith(_CHATTER)]
    return " / ".join(line.strip() for line in lines if line.strip())


def outcome_seen(outcome, entered, what):
    """The result of a client that has ended."""
    if entered:
        return Seen(True, what, client=_last_words(outcome))
    words = f"status {outcome.status}: {_last_words(outcome)}"
    refused = outcome.status == REFUSED_SESSION or (outcome.status != 0 and _NO.search(outcome.stderr) is not None)
    return Seen(False, words, refused, words)


class Person:
    """The account, in the form that the clients of tests/e2e need."""

    def __init__(self, name):
        self.name = name


def shell(world, account, identity, sign=GREETING, command=LOOK_AROUND):
    """Asks for a command and a port to listen on: what sshd grants."""
    outcome = world.clients.login(world.server, Person(account), [identity], ["-v", "-R", "0:127.0.0.1:9"], (command,))
    restrictions = sorted(set(_RESTRICTION.findall(outcome.stderr)))
    return outcome_seen(outcome, sign in outcome.stdout,
                        "\n".join([f"status {outcome.status}", outcome.stdout, *restrictions]))


def sftp(world, account, identity, folder):
    """Puts a file by sftp, and gets it back."""
    number = next(_numbers)
    sent, got = world.scratch / f"sent{number}", world.scratch / f"got{number}"
    sent.write_text(f"{account} {number}\n", encoding="ascii")
    outcome = world.clients.sftp(world.server, Person(account), identity,
                                 f"pwd\nput {sent} {folder}/file\nget {folder}/file {got}\nrm {folder}/file\nls -1 /\n")
    entered = outcome.status == 0 and got.exists() and got.read_bytes() == sent.read_bytes()
    shown = outcome.stdout.replace(str(sent), "SENT").replace(str(got), "GOT")
    return outcome_seen(outcome, entered, shown)
