# SPDX-License-Identifier: ISC
"""Logins that keyveto has no business with, or only half of it: passwords and two steps."""

import openssh
import server
from bench import add_case, case, check

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


def password_login(bench, deploy, method, *config):
    """A password is enough, whatever state the filter is in; a wrong one is not."""
    account = bench.account(PASSWORD)
    deployment = deploy(bench.config(*config))
    # Here the password is the only step, also where the module sits in auth.
    sshd = bench.server(deployment.adding(*PASSWORDS, "AuthenticationMethods any"))
    bench.must_enter(by_password(bench, sshd, account, method))
    bench.must_not_enter(by_password(bench, sshd, account, method, password="wrong"))
    bench.must_be_silent(account)


def two_steps(bench, deploy, method):
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


def key_unseen_by_auth(bench):
    account, listed = bench.account(PASSWORD), bench.key()
    account.authorize(listed.key)
    sshd = bench.server(server.pam_auth(bench.config(listed=[listed]), password=True).adding(
        *PASSWORDS, "AuthenticationMethods publickey,password"))
    bench.must_enter(by_password(bench, sshd, account, "password", identities=[listed]), "thought to be unseen")


def _add_cases():
    for name, deploy in DEPLOYMENTS.items():
        for method in METHODS:
            add_case(f"{method} login × {name}: works, even without a filter",
                     lambda bench, deploy=deploy, method=method:
                     password_login(bench, deploy, method, "Filter /nonexistent/filter.pkbf"))
            add_case(f"{method} login × {name}: works, even with a broken configuration",
                     lambda bench, deploy=deploy, method=method:
                     password_login(bench, deploy, method, "NoSuchKeyword yes"))
            if (name, method) != UNSEEN:
                add_case(f"two steps: publickey,{method} × {name}",
                         lambda bench, deploy=deploy, method=method: two_steps(bench, deploy, method))
    if UNSEEN:
        add_case(f"two steps: publickey,{UNSEEN[1]} × {UNSEEN[0]}: the key is not seen", key_unseen_by_auth)


_add_cases()


@case("two steps: PAM auth refuses before the password is asked for")
def refused_before_password(bench):
    account, listed = bench.account(PASSWORD), bench.key()
    account.authorize(listed.key)
    sshd = bench.server(server.pam_auth(bench.config(listed=[listed]), password=True))
    # A client that hands over its password to anybody who asks.
    asked = bench.path("asked")
    askpass = bench.script(f"echo asked >> {asked}; echo '{PASSWORD}'")
    bench.must_not_enter(bench.login(sshd, account, listed, environment={
        "SSH_ASKPASS": str(askpass), "SSH_ASKPASS_REQUIRE": "force"}))
    check(not asked.exists(), "the password was asked for")
