# SPDX-License-Identifier: ISC
"""An account tries to avoid the module's refusal with ~/.pam_environment.

The stock stack of Debian 12 reads that file in its session phase. A variable in the file replaces the one that sshd
put into the PAM environment.
"""

import pytest

import server

pytestmark = pytest.mark.throwaway


class Liar:
    """An account with a listed key, whose ~/.pam_environment names a clean one."""

    def __init__(self, bench):
        self.account = bench.account()
        self.key, clean = bench.key(), bench.key()
        self.account.authorize(self.key.key)
        self.account.write(".pam_environment", f'SSH_AUTH_INFO_0 OVERRIDE="publickey {clean.key}"\n', 0o644)
        self.config = bench.config(listed=[self.key])


def test_pam_environment_does_not_change_the_modules_verdict(bench):
    liar = Liar(bench)
    sshd = bench.server(server.pam_session(liar.config))
    bench.must_not_enter(bench.login(sshd, liar.account, liar.key))
    bench.decision(liar.account, verdict="listed", key_fp=liar.key.key.fingerprint)


def test_pam_environment_fools_a_module_placed_behind_pam_env_as_docs_by_hand_md_warns(bench):
    liar = Liar(bench)
    # Debian 12 has such a line; Debian 13 does not.
    stack = f"{server.stock_stack()}session required pam_env.so user_readenv=1\n"
    stack += server.module_line("session", liar.config) + "\n"
    sshd = bench.server(server.Deployment((), stack))
    bench.must_enter(bench.login(sshd, liar.account, liar.key), "a module behind pam_env sees the clean key")
    bench.must_be_silent(liar.account)
    (liar.account.home / ".pam_environment").unlink()
    bench.must_not_enter(bench.login(sshd, liar.account, liar.key), "the module itself must work there")


def test_pam_service_a_server_under_another_name_has_a_stack_of_its_own(bench):
    account, key = bench.someone()
    bench.must_enter(bench.login(bench.server(server.vanilla()), account, key))
    denying = server.insert_before(server.stock_stack(), "session", "session requisite pam_deny.so")
    bench.must_not_enter(bench.login(bench.server(server.Deployment((), denying)), account, key))
