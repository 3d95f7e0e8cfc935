# SPDX-License-Identifier: ISC
"""The guard's identity, and the command behind --. tests/unit/test_guard.c has what is refused."""

import pytest

import keys
import server
from guard import run, run_guard, start
from kinds import with_either_kind

pytestmark = pytest.mark.throwaway


def run_as(account):
    """Options that start the guard as an account."""
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


# AuthorizedKeysCommandUser

def logins(bench, run_as_name, world_readable):
    """A clean key gets in and a listed one does not, whoever the guard is started as."""
    account, clean, listed = bench.account(), bench.key(), bench.key()
    account.authorize(clean.key, listed.key)
    if world_readable:
        for path, mode in ((account.home, 0o755), (account.ssh, 0o755), (account.authorized_keys, 0o644)):
            path.chmod(mode)
    sshd = bench.server(server.guard(bench.config(listed=[listed]), run_as=run_as_name))
    bench.must_enter(bench.login(sshd, account, clean))
    bench.must_be_silent(account)
    bench.must_not_enter(bench.login(sshd, account, listed))
    bench.decision(account, verdict="listed", action="deny", authorized="yes")


@with_either_kind
def test_guard_identity_authorizedkeyscommanduser_root(bench):
    logins(bench, "root", world_readable=False)


@with_either_kind
def test_guard_identity_authorizedkeyscommanduser_the_account(bench):
    logins(bench, "%u", world_readable=False)


@with_either_kind
def test_guard_identity_a_dedicated_authorizedkeyscommanduser_for_files_that_all_may_read(bench):
    logins(bench, bench.account().name, world_readable=True)


def test_guard_identity_a_dedicated_authorizedkeyscommanduser_cannot_read_private_files(bench):
    account, clean = bench.someone()
    sshd = bench.server(server.guard(bench.config(listed=[bench.key()]), run_as=bench.account().name))
    bench.must_not_enter(bench.login(sshd, account, clean))


def test_guard_identity_the_guard_reads_as_the_account_not_as_root(bench):
    account = bench.account()
    account.ssh.mkdir()
    account.authorized_keys.symlink_to(bench.write("secret", "secret\n", 0o600))
    done = run_guard(account, bench.key(), bench.config("StrictModes no", listed=[bench.key()]))
    assert (done.returncode, done.stdout) == (0, b""), f"it read what only root may read: {done}"


# -- COMMAND

def chained(bench, *command, start_as=None):
    """What a command behind -- prints for a clean key."""
    account = bench.account()
    done = run_guard(account, bench.key(), bench.config(listed=[bench.key()]), "--", *command,
                     **(run_as(start_as) if start_as else {}))
    assert done.returncode == 0, f"{command}: {done}"
    return done.stdout.decode()


def test_guard_command_keeps_the_identity_the_guard_was_started_with(bench):
    assert chained(bench, "/usr/bin/id", "-u").strip() == "0", "not root any more"
    somebody = bench.account()
    assert chained(bench, "/usr/bin/id", "-u", start_as=somebody).strip() == str(somebody.uid), "not that account"
    assert chained(bench, "/usr/bin/id", "-G", start_as=somebody).split() == [str(somebody.gid)], "not its groups"


def test_guard_command_gets_its_arguments_as_they_are(bench):
    words = ["", "a b", "--user", "--", "%u", "*", "é", "'\"\\"]
    said = chained(bench, bench.script("""printf '<%s>\\n' "$@" """), *words)
    assert said == "".join(f"<{word}>\n" for word in words), f"not the arguments: {said!r}"


# What a process passes on through exec. The guard must change none of it.
STATE = """
umask; pwd; env | sort
grep -E '^(Sig|Shd|Cap|Groups|Uid|Gid|NoNewPrivs|Seccomp)' /proc/self/status | grep -v SigQ
grep '^Max' /proc/self/limits
python3 -c 'import ctypes; n = ctypes.c_int(-1); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print("dies by", n.value)'
"""


def test_guard_command_finds_signals_limits_environment_and_folder_as_they_were(bench):
    script = bench.script(STATE)
    account = bench.account()
    alone = start([script]).stdout.decode().splitlines()
    behind = run_guard(account, bench.key(), bench.config(listed=[bench.key()]), "--", script)
    behind = behind.stdout.decode().splitlines()
    assert len(alone) > 10 and behind == alone, f"changed: {sorted(set(behind) ^ set(alone))}"


def test_guard_command_output_and_exit_status_become_the_guards(bench):
    done = run_guard(bench.account(), bench.key(), bench.config(listed=[bench.key()]),
                     "--", bench.script("echo out; exit 7"))
    assert (done.returncode, done.stdout) == (7, b"out\n"), f"{done}"


def test_guard_command_that_cannot_be_run_is_an_error(bench):
    account = bench.account()
    config = bench.config("OnError allow", listed=[bench.key()])
    for command in ("/nonexistent", "/etc", "relative", bench.write("plain", "#!/bin/sh\n")):
        done = run_guard(account, bench.key(), config, "--", command)
        assert done.returncode == 1 and done.stdout == b"", f"{command}: {done}"


@with_either_kind
def test_guard_command_home_and_user_are_not_needed_for_principals(bench):
    account, ca, listed = bench.account(), bench.key(), bench.key()
    config = bench.config(listed=[listed])
    for inside, output in ((bench.key(), b"principal\n"), (listed, b"")):
        certificate = keys.certify(ca, inside, account.name).certificate
        done = run(["--config", config, "--user", account.name, "--type", certificate.type,
                    "--key", certificate.blob, "--", "/bin/echo", "principal"])
        assert (done.returncode, done.stdout) == (0, output), f"{done}"
