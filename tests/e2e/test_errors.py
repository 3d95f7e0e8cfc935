# SPDX-License-Identifier: ISC
"""Without a verdict OnError decides, and the log says what is wrong and where."""

import os

import pytest

import logbook
import server
from guard import run, run_guard

pytestmark = pytest.mark.throwaway

DEPLOYMENTS = {"guard": server.guard, "PAM session": server.pam_session}


# Mistakes. Each takes the bench and an OnError line. It returns a configuration and what the log's reason must name.

def unknown_keyword(bench, on_error):
    path = bench.config(on_error, "NoSuchKeyword yes", listed=[bench.key()])
    return path, f"{path}:3"


def mistake_before_on_error(bench, on_error):
    path = bench.config("NoSuchKeyword yes", on_error, listed=[bench.key()])
    return path, f"{path}:2"


def without_on_error(bench, _on_error):
    return unknown_keyword(bench, "# OnError is not set")


def bad_value(bench, on_error):
    path = bench.config(on_error, "OnHit maybe", listed=[bench.key()])
    return path, f"{path}:3"


def bad_allow_key(bench, on_error):
    path = bench.config(on_error, "AllowKey MD5:00:11", listed=[bench.key()])
    return path, f"{path}:3"


def missing_argument(bench, on_error):
    path = bench.config(on_error, "Filter")
    return path, f"{path}:2"


def unterminated_quote(bench, on_error):
    path = bench.config(on_error, 'Message "half', listed=[bench.key()])
    return path, f"{path}:3"


def about_the_filter(arrange):
    """A mistake in the filter. arrange damages a good filter, or returns another path for it."""
    def mistake(bench, on_error):
        path = bench.filter(bench.key())
        elsewhere = arrange(bench, path)
        configured = elsewhere or path
        # If a folder cannot be trusted, the reason names that folder.
        return bench.config(on_error, f"Filter {configured}"), str(elsewhere.parent if elsewhere else path)
    return mistake


def missing_filter(_bench, path):
    path.unlink()


def truncated_filter(_bench, path):
    os.truncate(path, path.stat().st_size - 1)


def header_only(_bench, path):
    os.truncate(path, 24)


def half_a_header(_bench, path):
    os.truncate(path, 11)


def empty_filter(_bench, path):
    os.truncate(path, 0)


def filter_with_a_tail(_bench, path):
    path.write_bytes(path.read_bytes() + b"\0")


def overwritten(offset, value):
    """Changes one byte of the header."""
    def arrange(_bench, path):
        data = bytearray(path.read_bytes())
        data[offset] = value
        path.write_bytes(data)
    return arrange


def filter_mode(mode):
    return lambda _bench, path: path.chmod(mode)


def filter_of_an_account(bench, path):
    account = bench.account()
    os.chown(path, account.uid, account.gid)


def filter_is_a_folder(_bench, path):
    path.unlink()
    path.mkdir()


def filter_is_a_fifo(_bench, path):
    path.unlink()
    os.mkfifo(path, 0o644)


def filter_in_open_folder(bench, path):
    return path.rename(_open_folder(bench) / "filter")


def filter_behind_open_folder(bench, path):
    """A good filter, reached through a folder that all may write."""
    link = _open_folder(bench) / "link"
    link.symlink_to(path)
    return link


def _open_folder(bench):
    folder = bench.path("open")
    folder.mkdir()
    folder.chmod(0o777)
    return folder


# Mistakes for which OnError does not count, because its own file cannot be trusted.

def config_mode(mode):
    def mistake(bench, on_error):
        path = bench.config(on_error, listed=[bench.key()])
        path.chmod(mode)
        return path, str(path)
    return mistake


def config_of_an_account(bench, on_error):
    path = bench.config(on_error, listed=[bench.key()])
    account = bench.account()
    os.chown(path, account.uid, account.gid)
    return path, str(path)


def config_in_open_folder(bench, on_error):
    path = bench.config(on_error, listed=[bench.key()])
    folder = _open_folder(bench)
    return path.rename(folder / "keyveto.conf"), str(folder)


def missing_config(bench, _on_error):
    path = bench.path("nonexistent")
    return path, str(path)


def config_is_a_folder(bench, _on_error):
    path = bench.path("folder")
    path.mkdir()
    return path, str(path)


def config_is_a_fifo(bench, _on_error):
    path = bench.path("fifo")
    os.mkfifo(path, 0o644)
    return path, str(path)


ON_ERROR_DECIDES = {
    "unknown keyword": unknown_keyword,
    "a mistake in front of OnError": mistake_before_on_error,
    "bad value": bad_value,
    "bad AllowKey": bad_allow_key,
    "missing argument": missing_argument,
    "unterminated quote": unterminated_quote,
    "missing filter": about_the_filter(missing_filter),
    "filter one byte short": about_the_filter(truncated_filter),
    "filter without bits": about_the_filter(header_only),
    "filter with half a header": about_the_filter(half_a_header),
    "empty filter": about_the_filter(empty_filter),
    "filter one byte long": about_the_filter(filter_with_a_tail),
    "filter with a wrong marker": about_the_filter(overwritten(5, ord("2"))),
    "filter without hash functions": about_the_filter(overwritten(22, 0)),
    "filter with another length": about_the_filter(overwritten(23, 17)),
    "filter writable by all": about_the_filter(filter_mode(0o666)),
    "filter writable by a group": about_the_filter(filter_mode(0o664)),
    "filter of an account": about_the_filter(filter_of_an_account),
    "filter is a folder": about_the_filter(filter_is_a_folder),
    "filter is a FIFO": about_the_filter(filter_is_a_fifo),
    "filter in a folder that all may write": about_the_filter(filter_in_open_folder),
    "filter behind a folder that all may write": about_the_filter(filter_behind_open_folder),
}
ALWAYS_DENIED = {
    "configuration writable by all": config_mode(0o666),
    "configuration writable by a group": config_mode(0o664),
    "configuration of an account": config_of_an_account,
    "configuration in a folder that all may write": config_in_open_folder,
    "no configuration where one is named": missing_config,
    "configuration is a folder": config_is_a_folder,
    "configuration is a FIFO": config_is_a_fifo,
}


def no_verdict(bench, deploy, mistake, setting, action):
    """Logs in with a key that is not listed, while the mistake prevents a verdict."""
    account, key = bench.account(), bench.key()
    account.authorize(key.key)
    config, named = mistake(bench, f"OnError {setting}")
    sshd = bench.server(deploy(config))
    bench.expect(bench.login(sshd, account, key), action == "allow", f"OnError {setting}")
    decision = bench.decision(account, verdict="error")
    assert decision.action == action, f"wrong action: {decision}"
    assert named in (decision.reason or ""), f"the reason should name {named}: {decision}"
    assert decision.line.severity == logbook.ERR, f"not logged as an error: {decision}"


@pytest.mark.parametrize("mistake", ON_ERROR_DECIDES.values(), ids=ON_ERROR_DECIDES)
@pytest.mark.parametrize("deploy", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_errors_onerror_decides(bench, deploy, mistake):
    for setting in ("deny", "allow"):
        no_verdict(bench, deploy, mistake, setting, action=setting)


@pytest.mark.parametrize("mistake", ALWAYS_DENIED.values(), ids=ALWAYS_DENIED)
@pytest.mark.parametrize("deploy", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_errors_refused_whatever_onerror_says(bench, deploy, mistake):
    no_verdict(bench, deploy, mistake, "allow", action="deny")


@pytest.mark.parametrize("deploy", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_errors_refused_without_onerror(bench, deploy):
    no_verdict(bench, deploy, without_on_error, "unset", action="deny")


@pytest.mark.parametrize("deploy", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_filter_replaced_between_logins_the_new_one_counts(bench, deploy):
    account, key = bench.account(), bench.key()
    account.authorize(key.key)
    path = bench.filter(bench.key())
    sshd = bench.server(deploy(bench.config(f"Filter {path}")))
    bench.must_enter(bench.login(sshd, account, key))
    bench.filter(key).rename(path)
    bench.must_not_enter(bench.login(sshd, account, key), "the new filter lists the key")
    bench.filter(bench.key()).rename(path)
    bench.must_enter(bench.login(sshd, account, key), "the third filter does not")


@pytest.mark.parametrize("deploy", DEPLOYMENTS.values(), ids=DEPLOYMENTS)
def test_a_hit_counts_beside_a_broken_filter_whatever_onerror_says(bench, deploy):
    account, key = bench.account(), bench.key()
    account.authorize(key.key)
    broken = bench.path("nonexistent")
    for filters in ((broken, bench.filter(key)), (bench.filter(key), broken)):
        config = bench.config("OnError allow", *(f"Filter {path}" for path in filters))
        bench.must_not_enter(bench.login(bench.server(deploy(config)), account, key))
    bench.decision(account, verdict="listed", action="deny")


def test_errors_the_guards_exit_status_and_output(bench):
    account, key = bench.account(), bench.key()
    account.authorize("line")
    for setting, status, output in (("deny", 1, b""), ("allow", 0, b"line\n")):
        config = bench.config(f"OnError {setting}", "Filter /nonexistent")
        done = run_guard(account, key, config)
        assert (done.returncode, done.stdout) == (status, output), f"OnError {setting}: {done}"


def test_errors_the_guard_does_not_become_its_command_when_the_verdict_is_missing(bench):
    account, key = bench.account(), bench.key()
    for setting, status, output in (("deny", 1, b""), ("allow", 0, b"ran\n")):
        config = bench.config(f"OnError {setting}", "Filter /nonexistent")
        done = run_guard(account, key, config, "--", "/bin/echo", "ran")
        assert (done.returncode, done.stdout) == (status, output), f"OnError {setting}: {done}"


def test_errors_a_key_that_cannot_be_parsed_is_an_error_under_onerror(bench):
    account, key = bench.account(), bench.key()
    account.authorize("line")
    for blob in ("AAAA", "!!!!", key.key.blob[:-8], key.key.blob + "AAAA"):
        for setting, status, output in (("deny", 1, b""), ("allow", 0, b"line\n")):
            config = bench.config(f"OnError {setting}", listed=[bench.key()])
            arguments = ["--config", config, "--user", account.name, "--home", account.home,
                         "--type", key.key.type, "--key", blob]
            done = run(arguments)
            assert (done.returncode, done.stdout) == (status, output), f"{blob}, OnError {setting}: {done}"


def test_errors_an_unknown_key_type_is_unsupported_and_onunsupported_decides(bench):
    account, key = bench.account(), bench.key()
    account.authorize("line")
    for setting, status, output in (("deny", 0, b""), ("allow", 0, b"line\n")):
        config = bench.config(f"OnUnsupported {setting}", "OnError deny", listed=[bench.key()])
        arguments = ["--config", config, "--user", account.name, "--home", account.home,
                     "--type", "ssh-of-the-future@example.com", "--key", key.key.blob]
        done = run(arguments)
        assert (done.returncode, done.stdout) == (status, output), f"OnUnsupported {setting}: {done}"
        bench.decision(account, verdict="unsupported", action=setting)
