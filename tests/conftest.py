# SPDX-License-Identifier: ISC
"""What every test in Python has: options, the fixture scratch, signals, and a line for each file at the end."""

import os
import signal
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytest_plugins = ["throwaway"]


def pytest_addoption(parser):
    parser.addoption("--build", metavar="DIR", default="build", help="where the built programs are (build)")


def pytest_configure():
    # A shell has its background jobs ignore SIGINT, and nohup SIGHUP. Their
    # children would inherit that, and the tests send both.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", name="build")
def fixture_build(pytestconfig):
    """The folder of the built programs. They have to be there."""
    build = (pytestconfig.rootpath / pytestconfig.getoption("build")).resolve()
    if not os.access(build / "keyveto", os.X_OK):
        pytest.fail(f"{build}/keyveto cannot be run: call make first", pytrace=False)
    return build


@pytest.fixture(name="scratch")
def fixture_scratch():
    """A fresh folder that every account can look into."""
    with tempfile.TemporaryDirectory(prefix="keyveto-test-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def pytest_terminal_summary(terminalreporter):
    """One line for each file: how its tests went, and how long they took."""
    files = defaultdict(lambda: defaultdict(int))
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            files[report.nodeid.partition("::")[0]][outcome] += 1
    seconds = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            seconds[getattr(report, "nodeid", "").partition("::")[0]] += getattr(report, "duration", 0)
    for file, counts in sorted(files.items()):
        word = "FAILED" if counts.keys() & {"failed", "error"} else "ok"
        went = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        terminalreporter.write_line(f"{word:7} {file} ({seconds[file]:.0f} s): {went}")
