# SPDX-License-Identifier: ISC
"""The fixtures stage, hood and check_runs, and the number of runs with a fault."""

import contextlib
import random
import shutil
import tempfile
from pathlib import Path

import pytest

# So that their assertions, too, show the compared values.
pytest.register_assert_rewrite("neighbourhood")

from machine import Machine
from stage import PROGRAMS, Journal, Stage

SCRATCH_PARENT = "/var/lib"     # root owns it and every folder above; every account can enter it
TOOLS = ("strace", "cc", "useradd", "userdel", "ssh-keygen")
WHYS_SHOWN = 12
SEED = 1


@pytest.fixture(scope="module", name="stage")
def fixture_stage(build, pytestconfig):
    """The accounts, keys, log and helpers of a file."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    missing += [str(build / program) for program in PROGRAMS if not (build / program).exists()]
    if missing:
        pytest.fail(f"missing: {', '.join(missing)}", pytrace=False)
    folder = Path(tempfile.mkdtemp(prefix="kvt-faults-", dir=SCRATCH_PARENT))
    folder.chmod(0o755)
    machine = Machine()
    # So that every machine makes the same system calls, whatever its name services are.
    machine.write("/etc/nsswitch.conf", "passwd: files\ngroup: files\n")
    with contextlib.closing(Journal()) as log:
        yield Stage(build, machine, folder, log, pytestconfig.getoption("--campaign"))
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", name="hood")
def fixture_hood(stage):
    """What hostile neighbours live with."""
    from neighbourhood import Neighbourhood
    return Neighbourhood(stage)


@pytest.fixture(autouse=True)
def fixture_sample(stage, request):
    """Each test takes the same sample of the faults whenever it runs, alone or with others."""
    stage.random = random.Random(f"{SEED} {request.node.name}")


@pytest.fixture(name="check_runs")
def fixture_check_runs(record_property):
    """A function that fails with the complaints about runs with a fault. It takes a list of complaints for each run."""
    def check(complaints):
        complaints = list(complaints)
        record_property("runs", len(complaints))
        whys = [why for run in complaints for why in run]
        shown = whys[:WHYS_SHOWN] + ([f"and {len(whys) - WHYS_SHOWN} more"] if len(whys) > WHYS_SHOWN else [])
        if shown:
            pytest.fail("\n".join(shown), pytrace=False)
    return check


def pytest_terminal_summary(terminalreporter):
    """Writes how many runs had a fault."""
    runs = sum(dict(report.user_properties).get("runs", 0) for outcome in ("passed", "failed")
               for report in terminalreporter.stats.get(outcome, ()))
    if runs:
        terminalreporter.write_line(f"{runs} runs with a fault")
