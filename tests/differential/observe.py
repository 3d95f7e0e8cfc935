# SPDX-License-Identifier: ISC
"""Logs in the clients of a draw, and records who gets in and what runs.

A login is one ssh that asks for everything at once: a command, a terminal, an
agent, X11, a port that sshd listens on, one that the client listens on, and a
tunnel. The program in the session (probe) prints what sshd gave it, and uses the
client's port. Each login comes from its own address. By this address, sshd's log
shows what sshd accepted, and by which line.
"""

import concurrent.futures
import concurrent.futures.thread       # noqa: F401    imported now, as it cannot be loaded later in another root
import os
import re
import signal
import socket
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path

import grammar
import world
from clients import PLAIN
from logbook import Logbook
from patience import PATIENCE

TOGETHER = 3                    # logins at a time
LISTEN = 31000                  # the first port that clients listen on
REFUSED_SESSION = 254
# Without a terminal, nothing runs for an expired password. Of internal-sftp the first of these, sshd's, gets lost.
NO_CHANGE = ("Password change required but no TTY available.", "You are required to change your password")
STAYS, HANGS = "stays connected", "hangs"

SSH_CONFIG = PLAIN + f"""\
    NumberOfPasswordPrompts 1
    HostKeyAlgorithms ssh-ed25519
    XAuthLocation /nonexistent
    ForwardX11 yes
    ForwardX11Trusted yes
    ForwardAgent yes
    LogLevel INFO
    RemoteForward 0 127.0.0.1:{grammar.ECHO_PORT}
"""


@dataclass
class Record:
    """The result of a login. Equal records are equal results."""
    status: object              # ssh's, or STAYS, or HANGS
    ran: tuple                  # the output of probe; empty: it did not run
    words: tuple                # all other output of the client and of sshd
    listening: bool             # whether sshd listens for the client
    tunnel: bool
    accepted: tuple = field(compare=False, default=())      # what sshd accepted, by its log

    @property
    def is_nothing(self):
        """Whether the login got nothing at all."""
        return not (self.ran or self.listening or self.tunnel or any("assword:" in word for word in self.words)) and (
            self.status in (255, REFUSED_SESSION, STAYS) or any(word.startswith(NO_CHANGE) for word in self.words))

    def describe(self):
        lines = [f"status {self.status}" + (", sshd listens for it" if self.listening else "") + (
            ", a tunnel is open" if self.tunnel else "")]
        lines += [f"ran: {line}" for line in self.ran] + [f"said: {line}" for line in self.words]
        return "".join(f"    {line}\n" for line in [*lines, *(str(one) for one in self.accepted)])


@dataclass(frozen=True)
class Accepted:
    """A key or certificate that sshd accepted, and the place that allows it."""
    fingerprints: tuple
    way: str                    # its name in `keyveto status`

    def __str__(self):
        return f"sshd accepted {' by '.join(self.fingerprints)} through {self.way}"


# Texts that differ from login to login.
_VARIABLE = (
    # The client's message about the end of a connection depends on what it is doing.
    (re.compile(r"^(client_loop: send disconnect: .*|Connection (closed|reset) by .*|Connection to .* closed.*"
                r"|.*: Broken pipe|.*: Connection reset by peer)$"), ""),
    (re.compile(r"Allocated port \d+"), "Allocated port N"),
    (re.compile(r"\bport \d{5}\b"), "port N"),
    (re.compile(r"^(Warning: Permanently added|debug\d).*"), ""),
    (re.compile(r"/run/kvd-keys/[^ :']*"), "KEY"),
    (re.compile(r"channel \d+:"), "channel N:"),
)


def _normal(text):
    lines = []
    for line in text.replace("\r", "").split("\n"):
        for pattern, instead in _VARIABLE:
            line = pattern.sub(instead, line)
        if line.strip():
            lines.append(line.rstrip())
    return lines


class Echo:
    """The far ends of forwardings: a port that greets, and an agent without keys."""

    def __init__(self):
        self.agent = "/run/kvd-agent"
        for made, address, answer in ((socket.socket(), ("127.0.0.1", grammar.ECHO_PORT), b"greeting\n"),
                                      (socket.socket(socket.AF_UNIX), self.agent, b"\0\0\0\1\5")):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen(64)
            threading.Thread(target=self._serve, args=(made, answer), daemon=True).start()

    @staticmethod
    def _serve(listener, answer):
        while True:
            connection = listener.accept()[0]
            try:
                connection.sendall(answer)
                connection.close()
            except OSError:
                pass


class Observer:
    """Logs clients in."""
    config_text = SSH_CONFIG

    def __init__(self, draw, pool):
        self.draw, self.pool = draw, pool
        self.log = Logbook()
        self.echo = Echo()
        self.identities = world.Identities(pool)
        self.config, self.askpass = Path("/run/kvd-ssh-config"), Path("/run/kvd-askpass")
        self.config.write_text(self.config_text, encoding="ascii")
        self.askpass.write_text('#!/bin/sh\nprintf "%s\\n" "$KVD_PASSWORD"\n', encoding="ascii")
        self.askpass.chmod(0o755)

    def observe(self, numbered):
        """The record of each login in numbered: (number, client). The number determines the address."""
        self.log.flush()
        before = len(self._log_lines())
        with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
            records = list(pool.map(lambda one: self._login(*one), numbered))
        for place in self._clashed(before, records):
            records[place] = self._login(*numbered[place])
        accepted = self._accepted(before)
        for (number, client), record in zip(numbered, records):
            record.accepted = tuple(accepted.get(address(number, client), ()))
        return records

    def command_line(self, number, client):
        """The command line of a client."""
        argv = ["ssh", "-F", str(self.config), "-b", address(number, client), "-p", str(client["port"]),
                "-l", client["account"], "-o", f"RequestTTY={'auto' if client['tty'] else 'no'}",
                "-L", f"127.0.0.1:{LISTEN + number}:127.0.0.1:{grammar.ECHO_PORT}"]
        for identity in client["identities"]:
            argv += self.identities.options(identity)
        if not client["identities"]:
            argv += ["-o", "PubkeyAuthentication=no"]
        if client["password"] is None:
            argv += ["-o", "PasswordAuthentication=no"]
        if client["tunnel"]:
            argv += ["-N", "-w", "any:any", "-o", "LogLevel=DEBUG1"]
        else:
            # With this option, ssh goes on if it gets no terminal.
            argv += ["-o", f"RemoteCommand={grammar.PROBE} asked {LISTEN + number}"]
        return [*argv, client["to"]]

    def _login(self, number, client):
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "DISPLAY": "127.0.0.1:77", "TERM": "xterm",
                       "SSH_AUTH_SOCK": self.echo.agent, "KVD_CLIENT": "sent"}
        environment |= {"SSH_ASKPASS": str(self.askpass), "SSH_ASKPASS_REQUIRE": "force", "KVD_PASSWORD": {
            "good": world.PASSWORD, "wrong": "wrong-one", None: ""}[client["password"]]}
        argv = self.command_line(number, client)
        argv[1:1] = ["-o", "SendEnv=KVD_CLIENT"]
        if client["tunnel"]:
            return _dig(argv, environment)
        return _talk(argv, environment, client["tty"])

    # sshd's log

    def _log_lines(self):
        with self.log._arrived:
            return list(self.log._lines)

    def _clashed(self, start, records):
        """The places of the logins that may have got no display because of each other.

        If two sshd bind the same X11 port at the same time, listen(2) of the second
        one fails, and sshd tries no other port: x11_create_display_inet, channels.c.
        """
        self.log.flush()
        if not any("listen: Address already in use" in line.text for line in self._log_lines()[start:]):
            return []
        return [place for place, record in enumerate(records)
                if any("X11 forwarding request failed" in word for word in record.words)]

    def _accepted(self, start):
        """What sshd accepted from each address, by its log from line number start on."""
        self.log.flush()
        origin, candidate, found = {}, {}, {}
        for line in self._log_lines()[start:]:
            said = _FROM_SSHD.search(line.text)
            if not said:
                continue
            pid, text = said.groups()
            if match := _CONNECTION.match(text):
                origin[pid] = match.group(1)
            elif match := _CANDIDATE.match(text):
                candidate[pid] = _way(match.group(1), match.group(2))
            elif (match := _ACCEPTED.match(text)) and pid in origin:
                prints = tuple(self.pool.name_of(one)
                               for one in re.findall(r"SHA256:[A-Za-z0-9+/]{43}", match.group(1)))
                found.setdefault(origin[pid], []).append(Accepted(prints, candidate.get(pid, "unknown")))
        return found


_FROM_SSHD = re.compile(r"sshd(?:-session|-auth)?\[(\d+)\]: (.*)")
_CONNECTION = re.compile(r"Connection from (\S+) port")
_CANDIDATE = re.compile(r"Accepted (key|certificate) .* (found at .*|via .*)")
_ACCEPTED = re.compile(r"(?:Accepted|Partial) publickey for .* ssh2: (.*)")


def _way(kind, where):
    """The way in that belongs to the place in sshd's log."""
    if where.startswith("via "):
        return "TrustedUserCAKeys"
    if kind == "certificate":
        return "cert-authority line"
    return "AuthorizedKeysCommand" if where.startswith(f"found at {grammar.HOME}/") else "authorized_keys"


def address(number, client):
    return f"127.0.{client['net']}.{number + 1}"


def _talk(argv, environment, tty):
    """The record of a client that runs something.

    With a terminal on standard input, the client asks sshd for a terminal. If sshd asks
    for a new password, the client answers with the end of the file.
    """
    ours, its = os.openpty() if tty else (None, None)
    with subprocess.Popen(argv, stdin=its if tty else subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE,
                          start_new_session=True, env=environment) as client:
        late = threading.Timer(PATIENCE, client.kill)
        late.start()
        told = []
        listener = threading.Thread(target=lambda: told.append(client.stderr.read()))
        listener.start()
        shown = b""
        while chunk := client.stdout.read1():
            shown += chunk
            if tty and b"assword:" in chunk:
                os.write(ours, b"\4")
        listener.join()
        status = client.wait()
        late.cancel()
    for end in (ours, its) if tty else ():
        os.close(end)
    return _record(HANGS if status == -signal.SIGKILL else status, shown, told[0])


def _dig(argv, environment):
    """The record of a client that wants a tunnel and runs nothing (ssh -N), by its debug output."""
    talk, tunnel, status = [], False, None
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          start_new_session=True, env=environment) as client:
        late = threading.Timer(PATIENCE, client.kill)
        late.start()
        for line in client.stderr:
            talk.append(line)
            if b"tunnel forward established" in line:
                tunnel = True
            if tunnel or b"open failed" in line:
                status = STAYS
                break
        late.cancel()
        client.kill()
    record = _record(status or client.returncode, b"", b"".join(talk))
    record.tunnel = tunnel
    return record


def _record(status, stdout, stderr):
    """The record in a client's output."""
    shown, told = _normal(stdout.decode(errors="replace")), _normal(stderr.decode(errors="replace"))
    ran = tuple(re.sub(r"\b31\d{3}\b", "PORT", line) for line in shown if line.startswith("kvd "))
    words = [line for line in (*shown, *told) if not line.startswith(("kvd ", "Allocated port"))]
    return Record(status, ran, tuple(words), any(line.startswith("Allocated port") for line in told), False)
