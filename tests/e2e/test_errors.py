# SPDX-License-Identifier: ISC
"""Without a verdict OnError decides, and the log says what is wrong and where."""

import os

import pytest

import logbook
from guard import run, run_guard

pytestmark = pytest.mark.throwaway


# Mistakes. Each takes the bench and an OnError line. It returns a configuration and what the log's reason must name.

def in_line(number, *lines):
    """A mistake in that line of the configuration. {} stands for OnError's line."""
    def mistake(bench, on_error):
        path = bench.config(*(line.format(on_error) for line in lines), listed=[bench.key()])
        return path, f"{path}:{number}"
    return mistake


def missing_argument(bench, on_error):
    path = bench.config(on_error, "Filter")
    return path, f"{path}:2"


def about_the_filter(arrange):
    """A mistake in the filter. arrange damages a good filter, or returns another path for it."""
    def mistake(bench, on_error):
        path = bench.filter(bench.key())
        elsewhere = arrange(bench, path)
        configured = elsewhere or path
        # If a folder cannot be trusted, the reason names that folder.
        return bench.config(on_error, f"Filter {configured}"), str(elsewhere.parent if elsewhere else path)
    return mistake


def about_the_config(arrange):
    """The same of the configuration."""
    def mistake(bench, on_error):
        path = bench.config(on_error, listed=[bench.key()])
        elsewhere = arrange(bench, path)
        return elsewhere or path, str(elsewhere.parent if elsewhere else path)
    return mistake


# What is done to a filter or a configuration.

def missing(_bench, path):
    path.unlink()


def rewritten(change):
    """Writes what change makes of the bytes of the file."""
    def arrange(_bench, path):
        path.write_bytes(change(path.read_bytes()))
    return arrange


def with_mode(mode):
    return lambda _bench, path: path.chmod(mode)


def of_an_account(bench, path):
    account = bench.account()
    os.chown(path, account.uid, account.gid)


def a_folder(_bench, path):
    path.unlink()
    path.mkdir()


def a_fifo(_bench, path):
    path.unlink()
    os.mkfifo(path, 0o644)


def in_open_folder(bench, path):
    return path.rename(_open_folder(bench) / "file")


def behind_open_folder(bench, path):
    """A good file, reached through a folder that all may write."""
    link = _open_folder(bench) / "link"
    link.symlink_to(path)
    return link


def _open_folder(bench):
    folder = bench.path("open")
    folder.mkdir()
    folder.chmod(0o777)
    return folder


ON_ERROR_DECIDES = {
    "unknown keyword": in_line(3, "{}", "NoSuchKeyword yes"),
    "a mistake in front of OnError": in_line(2, "NoSuchKeyword yes", "{}"),
    "bad value": in_line(3, "{}", "OnHit maybe"),
    "bad AllowKey": in_line(3, "{}", "AllowKey MD5:00:11"),
    "missing argument": missing_argument,
    "unterminated quote": in_line(3, "{}", 'Message "half'),
    "missing filter": about_the_filter(missing),
    "filter one byte short": about_the_filter(rewritten(lambda data: data[:-1])),
    "filter without bits": about_the_filter(rewritten(lambda data: data[:24])),
    "filter with half a header": about_the_filter(rewritten(lambda data: data[:11])),
    "empty filter": about_the_filter(rewritten(lambda _: b"")),
    "filter one byte long": about_the_filter(rewritten(lambda data: data + b"\0")),
    "filter with a wrong marker": about_the_filter(rewritten(lambda data: data[:5] + b"2" + data[6:])),
    "filter without hash functions": about_the_filter(rewritten(lambda data: data[:22] + b"\0" + data[23:])),
    "filter with another length": about_the_filter(rewritten(lambda data: data[:23] + b"\x11" + data[24:])),
    "filter writable by all": about_the_filter(with_mode(0o666)),
    "filter writable by a group": about_the_filter(with_mode(0o664)),
    "filter of an account": about_the_filter(of_an_account),
    "filter is a folder": about_the_filter(a_folder),
    "filter is a FIFO": about_the_filter(a_fifo),
    "filter in a folder that all may write": about_the_filter(in_open_folder),
    "filter behind a folder that all may write": about_the_filter(behind_open_folder),
}
# Of these OnError does not count, because its own file cannot be trusted.
ALWAYS_DENIED = {
    "configuration writable by all": about_the_config(with_mode(0o666)),
    "configuration writable by a group": about_the_config(with_mode(0o664)),
    "configuration of an account": about_the_config(of_an_account),
    "configuration in a folder that all may write": about_the_config(in_open_folder),
    "no configuration where one is named": about_the_config(missing),
    "configuration is a folder": about_the_config(a_folder),
    "configuration is a FIFO": about_the_config(a_fifo),
}


def no_verdict(bench, deploy, mistake, setting, action):
    """Logs in with a key that is not listed, while the mistake prevents a verdict."""
    account, key = bench.someone()
    config, named = mistake(bench, f"OnError {setting}")
    sshd = bench.server(deploy(config))
    bench.expect(bench.login(sshd, account, key), action == "allow", f"OnError {setting}")
    decision = bench.decision(account, verdict="error")
    assert decision.action == action, f"wrong action: {decision}"
    assert named in (decision.reason or ""), f"the reason should name {named}: {decision}"
    assert decision.line.severity == logbook.ERR, f"not logged as an error: {decision}"


@pytest.mark.parametrize("mistake", ON_ERROR_DECIDES.values(), ids=ON_ERROR_DECIDES)
def test_errors_onerror_decides(bench, deploy, mistake):
    for setting in ("deny", "allow"):
        no_verdict(bench, deploy, mistake, setting, action=setting)


@pytest.mark.parametrize("mistake", ALWAYS_DENIED.values(), ids=ALWAYS_DENIED)
def test_errors_refused_whatever_onerror_says(bench, deploy, mistake):
    no_verdict(bench, deploy, mistake, "allow", action="deny")


def test_errors_refused_without_onerror(bench, deploy):
    mistake = in_line(3, "# OnError is not set", "NoSuchKeyword yes")
    no_verdict(bench, deploy, mistake, "unset", action="deny")


def test_a_hit_counts_beside_a_broken_filter_whatever_onerror_says(bench, deploy):
    account, key = bench.someone()
    broken = bench.path("nonexistent")
    for filters in ((broken, bench.filter(key)), (bench.filter(key), broken)):
        config = bench.config("OnError allow", *(f"Filter {path}" for path in filters))
        bench.must_not_enter(bench.login(bench.server(deploy(config)), account, key))
    bench.decision(account, verdict="listed", action="deny")


def test_errors_the_guard_does_not_become_its_command_when_the_verdict_is_missing(bench):
    account, key = bench.account(), bench.key()
    for setting, status, output in (("deny", 1, b""), ("allow", 0, b"ran\n")):
        config = bench.config(f"OnError {setting}", "Filter /nonexistent")
        done = run_guard(account, key, config, "--", "/bin/echo", "ran")
        assert (done.returncode, done.stdout) == (status, output), f"OnError {setting}: {done}"


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
