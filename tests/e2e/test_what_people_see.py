# SPDX-License-Identifier: ISC
"""What ssh, sftp, scp and git show after a refusal. docs/troubleshooting.md quotes it."""

import re
from pathlib import Path

import pytest

import server

pytestmark = pytest.mark.throwaway

TROUBLESHOOTING = Path(__file__).resolve().parents[2] / "docs/troubleshooting.md"


def quotes():
    """The messages that the table of symptoms quotes."""
    section = TROUBLESHOOTING.read_text(encoding="utf-8").split("\n## What the person sees\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return [quote for row in rows for quote in re.findall(r"`([^`]+)`", row)]


class Refused:
    """An account with a listed key, and the output of each client."""

    def __init__(self, bench, deploy, *lines, key=None):
        self.bench = bench
        self.account, self.key = bench.account(), key or bench.key()
        self.account.authorize(self.key.key)
        config = bench.config(*lines) if lines else bench.config(listed=[self.key])
        self.server = bench.server(deploy(config))

    def ssh(self, *options):
        return self._text(self.bench.login(self.server, self.account, self.key, options=options))

    def sftp(self):
        return self._text(self.bench.clients.sftp(self.server, self.account, self.key, "ls\n"))

    def scp(self):
        source = self.bench.write("source", "text\n")
        return self._text(self.bench.clients.scp(self.server, self.account, self.key, source, "arrived"))

    def git(self):
        command = " ".join(self.bench.clients.ssh_argv(self.server, self.account, [self.key])[:-1])
        return self._text(self.bench.clients.run(["git", "ls-remote", f"{self.account.name}@127.0.0.1:repository"],
                                                 environment={"GIT_SSH_COMMAND": command}))

    def _text(self, outcome):
        assert outcome.status != 0, f"it works with a listed key: {outcome}"
        return (outcome.stdout + outcome.stderr).replace(self.key.key.fingerprint, "SHA256:…")


def says(text, quote):
    assert quote in quotes(), f"docs/troubleshooting.md does not quote {quote!r}"
    assert quote in text, f"nobody sees {quote!r}, but {text!r}"


def test_what_people_see_from_the_guard_permission_denied(bench):
    refused = Refused(bench, server.guard)
    for text in (refused.ssh(), refused.sftp(), refused.scp(), refused.git()):
        says(text, "Permission denied (publickey).")


def test_what_people_see_from_a_refused_session_is_message_which_sftp_scp_and_git_misread(bench):
    refused = Refused(bench, server.pam_session)
    for text in (refused.ssh(), refused.ssh("-tt")):
        says(text, "This SSH key is refused: ssh-ed25519 SHA256:… is publicly known to be compromised.")
    for text in (refused.sftp(), refused.scp()):
        says(text, "Received message too long 1416128883")
    says(refused.git(), "fatal: protocol error: bad line length character: This")


def test_what_people_see_of_a_key_that_is_denied_does_not_call_it_compromised(bench):
    key = bench.key()
    refused = Refused(bench, server.pam_session, f"DenyKey {key.key.fingerprint}", key=key)
    says(refused.ssh(), "This SSH key is refused: this server does not accept ssh-ed25519 SHA256:….")


def test_what_people_see_without_a_verdict_is_pams_other_message(bench):
    refused = Refused(bench, server.pam_session, "Filter /nowhere.pkbf")
    text = refused.ssh()
    says(text, "keyveto could not check your SSH key, so this login is refused.")
    assert "nowhere" not in text, f"details are shown: {text!r}"
    for text in (refused.sftp(), refused.scp()):
        says(text, "Received message too long 1801812342")
    says(refused.git(), "fatal: protocol error: bad line length character: keyv")


def test_what_people_see_if_the_module_ends_the_connection_is_only_its_end(bench):
    refused = Refused(bench, lambda config: server.pam_session(config, "disconnect=always"))
    ended = ("Connection to server closed by remote host.", "client_loop: send disconnect: Broken pipe")
    for client, more in ((refused.ssh, ""), (lambda: refused.ssh("-N"), ""), (lambda: refused.ssh("-tt"), ""),
                         (refused.sftp, "Connection closed"), (refused.scp, "Connection closed"),
                         (refused.git, "fatal: Could not read from remote repository.")):
        text = client().replace("Connection to 127.0.0.1 ", "Connection to server ")
        # Whether the client is reading or writing at that moment is a matter of chance.
        says(text, next((quote for quote in ended if quote in text), ended[0]))
        if more:
            says(text, more)
        assert "This SSH key is refused" not in text, f"Message is shown: {text!r}"
    bench.decision(refused.account, verdict="listed", action="deny", disconnected="yes")
