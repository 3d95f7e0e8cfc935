# SPDX-License-Identifier: ISC
"""People at the door: what each does, and what comes of it.

A visit tells what was seen in words that are the same for the same treatment:
who somebody is there, the command that runs, its environment, the restrictions.
"""

import itertools
import re
from dataclasses import dataclass, field

from clients import GREETING, REFUSED_SESSION

# What a shell shows of itself. What differs from login to login is left out.
LOOK_AROUND = ("id -un; id -Gn; pwd; printf 'asked for: %s\\n' \"$SSH_ORIGINAL_COMMAND\"; "
               "env | grep -v -e '^SSH_C' -e '^XDG_' -e '^_=' | sort; "
               f"echo {GREETING}")
# What ssh says, with -v, of the restrictions that a key comes with.
_RESTRICTION = re.compile(r"key options: .*|remote port forwarding failed|remote forward success")
# How a client puts sshd's no. The last two are from sftp and git: they take the
# first word of the refusal, "This", for a part of their protocol.
_NO = re.compile(r"Permission denied \([a-z,-]+\)|Connection closed by 127\.0\.0\.1|Connection reset by 127\.0\.0\.1"
                 r"|Connection to 127\.0\.0\.1 closed by remote host|client_loop: send disconnect: "
                 r"|Read from remote host 127\.0\.0\.1: |Received message too long 1416128883"
                 r"|bad line length character: This")
# What ssh -v tells of every connection.
_CHATTER = ("debug", "OpenSSH_", "Authenticated to", "Transferred:", "Bytes per second:", "Allocated port",
            "Warning: Permanently", "Warning: remote port forwarding failed")

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Seen:
    """What came of a visit: whether it was let in, and what it then saw."""
    entered: bool
    what: str
    refused: bool = False       # by sshd, and nothing else went wrong
    client: str = field(default="", compare=False)     # the client's own last words


@dataclass(frozen=True)
class Visit:
    """Somebody with a key."""
    title: str
    account: str
    act: object                 # returns a Seen
    listed: bool = False
    known: bool = True          # whether the account has this key
    past_guard: bool = False    # comes in by a way that the guard does not watch


def _refused(outcome):
    return outcome.status == REFUSED_SESSION or (outcome.status != 0 and _NO.search(outcome.stderr) is not None)


def _last_words(outcome):
    lines = [line for line in outcome.stderr.splitlines() if not line.startswith(_CHATTER)]
    return " / ".join(line.strip() for line in lines if line.strip())


def outcome_seen(outcome, entered, what):
    """What came of a client that ended; what it saw, if it was let in."""
    if entered:
        return Seen(True, what, client=_last_words(outcome))
    words = f"status {outcome.status}: {_last_words(outcome)}"
    return Seen(False, words, _refused(outcome), words)


class Person:
    """The account that the clients of tests/e2e want to know the name of."""

    def __init__(self, name):
        self.name = name


def shell(world, account, identity, sign=GREETING, command=LOOK_AROUND):
    """A command and a port to listen on: what is had of these, and by whom."""
    outcome = world.clients.login(world.server, Person(account), [identity],
                                  ["-v", "-R", "0:127.0.0.1:9"], (command,))
    restrictions = sorted(set(_RESTRICTION.findall(outcome.stderr)))
    return outcome_seen(outcome, sign in outcome.stdout,
                        "\n".join([f"status {outcome.status}", outcome.stdout, *restrictions]))


def sftp(world, account, identity, folder):
    """A file put, and got back."""
    number = next(_numbers)
    sent, got = world.scratch / f"sent{number}", world.scratch / f"got{number}"
    sent.write_text(f"{account} {number}\n", encoding="ascii")
    outcome = world.clients.sftp(world.server, Person(account), identity,
                                 f"pwd\nput {sent} {folder}/file\nget {folder}/file {got}\nrm {folder}/file\nls -1 /\n")
    entered = outcome.status == 0 and got.exists() and got.read_bytes() == sent.read_bytes()
    shown = outcome.stdout.replace(str(sent), "SENT").replace(str(got), "GOT")
    return outcome_seen(outcome, entered, shown)
