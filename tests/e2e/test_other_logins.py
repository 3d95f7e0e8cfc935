# SPDX-License-Identifier: ISC
"""Logins without a key, or with a key as one of two steps."""

import pytest

import openssh
import server
from kinds import with_either_kind

pytestmark = pytest.mark.throwaway

PASSWORD = "correct horse battery"
PASSWORDS = ("PasswordAuthentication yes", "KbdInteractiveAuthentication yes")

DEPLOYMENTS = {
    "guard": server.guard,
    "PAM session": server.pam_session,
    "PAM auth": lambda config: server.pam_auth(config, password=True),
    "PAM account": server.pam_account,
}
METHODS = ("password", "keyboard-interactive")

# sshd 9.2 runs the auth phase for a password without the keys of earlier steps.
UNSEEN = () if openssh.password_step_shows_key() else ("PAM auth", "password")


def by_password(bench, sshd, account, method, password=PASSWORD, identities=()):
    """Logs in with the password as the second or the only step."""
    steps = f"publickey,{method}" if identities else method
    return bench.login(sshd, account, *identities, options=["-o", f"PreferredAuthentications={steps}"],
                       environment=bench.clients.password(password))


@pytest.mark.sample(4)
@pytest.mark.parametrize("config", ("Filter /nonexistent/filter.pkbf", "NoSuchKeyword yes"),
                         ids=("without a filter", "with a broken configuration"))
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("deploy", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_password_login_works(bench, deploy, method, config):
    """A password works without a good filter, and a wrong password does not."""
    account = bench.account(PASSWORD)
    deployment = deploy(bench.config(config))
    # The password is the only step, even with the module in the auth phase.
    sshd = bench.server(deployment.adding(*PASSWORDS, "AuthenticationMethods any"))
    bench.must_enter(by_password(bench, sshd, account, method))
    bench.must_not_enter(by_password(bench, sshd, account, method, password="wrong"))
    bench.must_be_silent(account)


@pytest.mark.sample(3)
@with_either_kind
@pytest.mark.parametrize("deploy, method", [
    pytest.param(deploy, method, id=f"{name}-publickey,{method}")
    for name, deploy in DEPLOYMENTS.items() for method in METHODS if (name, method) != UNSEEN])
def test_two_steps_a_clean_key_passes_on_and_a_listed_one_does_not(bench, deploy, method):
    """With a key and a password: a clean key passes, a listed one does not."""
    account = bench.account(PASSWORD)
    clean, listed = bench.key(), bench.key()
    account.authorize(clean.key, listed.key)
    steps = "keyboard-interactive:pam" if method == "keyboard-interactive" else method
    sshd = bench.server(deploy(bench.config(listed=[listed])).adding(
        *PASSWORDS, f"AuthenticationMethods publickey,{steps}"))
    bench.must_enter(by_password(bench, sshd, account, method, identities=[clean]))
    bench.must_not_enter(by_password(bench, sshd, account, method, "wrong", [clean]))
    bench.must_be_silent(account)
    bench.must_not_enter(by_password(bench, sshd, account, method, identities=[listed]))
    bench.decision(account, verdict="listed", action="deny", key_fp=listed.key.fingerprint)


@pytest.mark.skipif(not UNSEEN, reason="left out, since there is no password step that hides the key here")
def test_two_steps_pam_auth_does_not_see_the_key_in_publickey_password(bench):
    account, listed = bench.account(PASSWORD), bench.key()
    account.authorize(listed.key)
    sshd = bench.server(server.pam_auth(bench.config(listed=[listed]), password=True).adding(
        *PASSWORDS, "AuthenticationMethods publickey,password"))
    bench.must_enter(by_password(bench, sshd, account, "password", identities=[listed]), "PAM auth should not see it")


def test_two_steps_pam_auth_refuses_before_the_password_is_asked_for(bench):
    account, listed = bench.account(PASSWORD), bench.key()
    account.authorize(listed.key)
    sshd = bench.server(server.pam_auth(bench.config(listed=[listed]), password=True))
    # A client that gives its password to any prompt.
    asked = bench.path("asked")
    askpass = bench.script(f"echo asked >> {asked}; echo '{PASSWORD}'")
    bench.must_not_enter(bench.login(sshd, account, listed, environment={
        "SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force"}))
    assert not asked.exists(), "the password was asked for"
