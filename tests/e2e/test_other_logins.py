# SPDX-License-Identifier: ISC
"""Logins that keyveto has no business with, or only half of it: passwords and two steps."""

import pytest

import openssh
import server

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

# sshd 9.2 runs the auth phase for a password without telling it about earlier steps.
UNSEEN = () if openssh.password_step_shows_key() else ("PAM auth", "password")


def by_password(bench, sshd, account, method, password=PASSWORD, identities=()):
    """Log in with the password as the second or the only step."""
    steps = f"publickey,{method}" if identities else method
    return bench.login(sshd, account, *identities, options=["-o", f"PreferredAuthentications={steps}"],
                       environment=bench.clients.password(password))


@pytest.mark.parametrize("config", ("Filter /nonexistent/filter.pkbf", "NoSuchKeyword yes"),
                         ids=("without a filter", "with a broken configuration"))
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("deploy", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_password_login_works(bench, deploy, method, config):
    """A password is enough, whatever state the filter is in; a wrong one is not."""
    account = bench.account(PASSWORD)
    deployment = deploy(bench.config(config))
    # Here the password is the only step, also where the module sits in auth.
    sshd = bench.server(deployment.adding(*PASSWORDS, "AuthenticationMethods any"))
    bench.must_enter(by_password(bench, sshd, account, method))
    bench.must_not_enter(by_password(bench, sshd, account, method, password="wrong"))
    bench.must_be_silent(account)


@pytest.mark.parametrize("deploy, method", [
    pytest.param(deploy, method, id=f"{name}-publickey,{method}")
    for name, deploy in DEPLOYMENTS.items() for method in METHODS if (name, method) != UNSEEN])
def test_two_steps_a_clean_key_passes_on_and_a_listed_one_does_not(bench, deploy, method):
    """A key and then a password: a clean key passes on, a listed one does not."""
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
def test_two_steps_publickey_password_pam_auth_the_key_is_not_seen(bench):
    account, listed = bench.account(PASSWORD), bench.key()
    account.authorize(listed.key)
    sshd = bench.server(server.pam_auth(bench.config(listed=[listed]), password=True).adding(
        *PASSWORDS, "AuthenticationMethods publickey,password"))
    bench.must_enter(by_password(bench, sshd, account, "password", identities=[listed]), "thought to be unseen")


def test_two_steps_pam_auth_refuses_before_the_password_is_asked_for(bench):
    account, listed = bench.account(PASSWORD), bench.key()
    account.authorize(listed.key)
    sshd = bench.server(server.pam_auth(bench.config(listed=[listed]), password=True))
    # A client that hands over its password to anybody who asks.
    asked = bench.path("asked")
    askpass = bench.script(f"echo asked >> {asked}; echo '{PASSWORD}'")
    bench.must_not_enter(bench.login(sshd, account, listed, environment={
        "SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force"}))
    assert not asked.exists(), "the password was asked for"
