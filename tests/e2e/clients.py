# SPDX-License-Identifier: ISC
"""ssh, sftp and scp, configured to ask nothing and to remember nothing."""

import contextlib
import os
import subprocess
import time
from dataclasses import dataclass

from openssh import dsa_only
from patience import PATIENCE

GREETING = "let in"

# How a client ends when sshd refuses: in the session phase; and what it prints when sshd refuses the key, the password
# or the account.
REFUSED_SESSION = 254
REFUSED_WORDS = ("Permission denied (", "Connection closed by 127.0.0.1",
                 # After the key was accepted, the message depends on what is in progress.
                 "closed by remote host", "client_loop: send disconnect: Broken pipe", "Connection reset by")

_DSA = "    PubkeyAcceptedAlgorithms +ssh-dss,ssh-dss-cert-v01@openssh.com\n"
# What every client of tests has.
PLAIN = """\
Host *
    IdentitiesOnly yes
    GSSAPIAuthentication no
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    GlobalKnownHostsFile /dev/null
    UpdateHostKeys no
    ControlMaster no
    KexAlgorithms curve25519-sha256
    Ciphers aes128-gcm@openssh.com
"""
_CONFIG = PLAIN + """\
    HostName 127.0.0.1
    IdentityAgent none
    NumberOfPasswordPrompts 1
    XAuthLocation /nonexistent
"""


@dataclass
class Outcome:
    """How a client ended."""
    status: int
    stdout: str
    stderr: str

    @property
    def entered(self):
        """Whether the account's shell ran the command."""
        return self.status == 0 and GREETING in self.stdout

    @property
    def refused(self):
        """Whether sshd refused the login, and nothing else failed."""
        return self.status == REFUSED_SESSION or (
            self.status == 255 and any(words in self.stderr for words in REFUSED_WORDS))


class Clients:
    """Starts client processes for all tests of a file."""

    def __init__(self, folder):
        self.config = folder / "ssh_config"
        self.config.write_text("".join((_CONFIG, *dsa_only(_DSA))), encoding="ascii")
        self.askpass = folder / "askpass"
        self.askpass.write_text('#!/bin/sh\nprintf "%s\\n" "$KVT_PASSWORD"\n', encoding="ascii")
        self.askpass.chmod(0o755)

    def _argv(self, program, server, identities, options):
        argv = [program, "-F", str(self.config), "-o", f"Port={server.port}"]
        argv += options
        if not identities:
            argv += ["-o", "PubkeyAuthentication=no"]
        for identity in identities:
            argv += identity.options
        return argv

    def ssh_argv(self, server, account, identities, options=(), command=()):
        return self._argv("ssh", server, identities, options) + [f"{account.name}@127.0.0.1", *command]

    def login(self, server, account, identities=(), options=(), command=(f"echo {GREETING}",), **how):
        """Logs in and runs a command. The default command prints the greeting."""
        return self.run(self.ssh_argv(server, account, identities, options, command), **how)

    def sftp(self, server, account, identity, batch):
        """Runs sftp commands, one on each line."""
        argv = self._argv("sftp", server, [identity], ["-b", "-"])
        return self.run([*argv, f"{account.name}@127.0.0.1"], stdin=batch)

    def scp(self, server, account, identity, source, target, options=()):
        """Copies a local file into the account."""
        argv = self._argv("scp", server, [identity], list(options))
        return self.run([*argv, str(source), f"{account.name}@127.0.0.1:{target}"])

    def password(self, password):
        """The environment in which ssh uses this password."""
        return {"SSH_ASKPASS": str(self.askpass), "SSH_ASKPASS_REQUIRE": "force", "KVT_PASSWORD": password}

    def run(self, argv, stdin="", environment=None):
        # Without a terminal in its session, the client cannot ask and wait.
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, errors="replace",
                              timeout=PATIENCE, start_new_session=True,
                              env={**_environment(), **(environment or {})})
        return Outcome(done.returncode, done.stdout, done.stderr)

    @contextlib.contextmanager
    def connection(self, server, account, identity, options, errors):
        """A client that stays connected (ssh -N) during the block. Its messages go to the file errors."""
        argv = self.ssh_argv(server, account, [identity], ["-vv", "-N", *options])
        with open(errors, "wb") as stderr:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=stderr, env=_environment())
        try:
            yield Connection(process, errors)
        finally:
            process.kill()
            process.wait()


def _environment():
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}


class Connection:
    """A client that stays connected."""

    def __init__(self, process, errors):
        self._process = process
        self._errors = errors

    @property
    def stays(self):
        return self._process.poll() is None

    def wait_for_end(self, seconds=PATIENCE):
        """Waits until the client has ended by itself."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the client stays connected: {self.words()}") from None

    def words(self):
        return self._errors.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, *texts, seconds=PATIENCE):
        """Waits until the client has printed one of the texts."""
        deadline = time.monotonic() + seconds
        while not any(text in self.words() for text in texts):
            if not self.stays or time.monotonic() > deadline:
                raise AssertionError(f"the client never said any of {texts}: {self.words()}")
            time.sleep(0.01)
