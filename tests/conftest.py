# SPDX-License-Identifier: ISC
"""Options, the fixtures build, scratch and host_keys, signals, and a summary line for each file."""

import os
import signal
import subprocess
import tempfile
import zlib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytest_plugins = ["throwaway"]


def pytest_addoption(parser):
    parser.addoption("--build", metavar="DIR", default="build", help="where the built programs are (build)")
    parser.addoption("--long", action="store_true", help="only the tests that make check leaves to make check-long")
    parser.addoption("--all", action="store_true", help="these, and those of make check")
    parser.addoption("--campaign", action="store_true", help="all tests, in their longest forms: every fault, not a "
                     "sample")
    parser.addoption("--share", metavar="I/N", type=_share, help="only the I-th (from 0) of N shares of the tests, "
                     "drawn by their names")
    parser.addoption("--keep", metavar="DIR", type=_folder_of_root, help="where the end-to-end tests keep "
                     "configurations and logs")


def _folder_of_root(path):
    """Makes the folder and returns its absolute path. sshd takes commands only from folders of root."""
    os.makedirs(path, mode=0o755, exist_ok=True)
    return os.path.abspath(path)


def _share(text):
    index, number = (int(word) for word in text.split("/"))
    if not 0 <= index < number:
        raise ValueError(f"{text}: I is 0 to N - 1")
    return index, number


def pytest_configure():
    # A shell starts background jobs with SIGINT and SIGQUIT ignored, and nohup ignores SIGHUP. The programs under test
    # would inherit that, and the tests send all three.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def _beyond_samples(items):
    """The rows that make check leaves to make check-long, of tests with the mark sample(n): it has one row in n.

    Which ones is drawn by their names, so that a matrix is not always met in the same column.
    """
    rows = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sample"):
            rows[item.nodeid.partition("[")[0]].append(item)
    for row in rows.values():
        row.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        yield from row[-(-len(row) // row[0].get_closest_marker("sample").args[0]):]


def pytest_collection_modifyitems(config, items):
    """Leaves out tests that other commands run, and those of other shares, and counts them as deselected."""
    campaign, share = config.getoption("--campaign"), config.getoption("--share")
    left = {item for item in items if item.get_closest_marker("long")} | set(_beyond_samples(items))

    def runs(item):
        if item.get_closest_marker("campaign") and not campaign:
            return False
        if not campaign and not config.getoption("--all") and config.getoption("--long") != (item in left):
            return False
        return share is None or zlib.crc32(item.nodeid.encode()) % share[1] == share[0]

    left_out = [item for item in items if not runs(item)]
    items[:] = [item for item in items if runs(item)]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="module", name="host_keys")
def fixture_host_keys():
    """Host keys: sshd -T fails without them, and an image may have none."""
    for kind in ("rsa", "ecdsa", "ed25519"):
        path = Path(f"/etc/ssh/ssh_host_{kind}_key")
        if not path.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)


@pytest.fixture(scope="session", name="build")
def fixture_build(pytestconfig):
    """The folder of the built programs. Fails if they are missing."""
    build = (pytestconfig.rootpath / pytestconfig.getoption("build")).resolve()
    if not os.access(build / "keyveto", os.X_OK):
        pytest.fail(f"{build}/keyveto cannot be run. First type make", pytrace=False)
    return build


@pytest.fixture(scope="session", name="one_in")
def fixture_one_in(pytestconfig):
    """Which part of a long row of like things a test tries: one in this many, and each with --campaign."""
    return 1 if pytestconfig.getoption("--campaign") else 5


@pytest.fixture(name="scratch")
def fixture_scratch():
    """A fresh folder that every account can read."""
    with tempfile.TemporaryDirectory(prefix="keyveto-test-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def pytest_terminal_summary(terminalreporter):
    """Writes a line for each file, and one for each reason why tests are skipped. tests/run prints both."""
    files = defaultdict(Counter)
    seconds = Counter()
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                file = report.nodeid.partition("::")[0]
                seconds[file] += report.duration
                if outcome:
                    files[file][outcome] += 1
    for file, counts in sorted(files.items()):
        word = "FAILED" if counts["failed"] + counts["error"] else "ok"
        went = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
        terminalreporter.write_line(f"{word:7} {file} ({seconds[file]:.0f} s): {went}")
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in skipped)
    for reason, count in reasons.items():
        terminalreporter.write_line(f"{count} skipped: {reason}")
