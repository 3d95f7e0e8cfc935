# SPDX-License-Identifier: ISC
"""The fixtures world and bench, and the table of ways in at the end."""

import contextlib
import itertools

import pytest

import product
import server
from bench import Bench, World
from clients import Clients
from kinds import EXACT_LIST
from logbook import Logbook
from machine import Machine

_numbers = itertools.count()


@pytest.fixture(scope="module", name="world")
def fixture_world(build, pytestconfig):
    """A machine with keyveto's programs installed, its log, and clients."""
    try:
        product.check_machine(build)
    except product.CannotRun as reason:
        pytest.fail(str(reason), pytrace=False)
    scratch = product.make_scratch(pytestconfig.getoption("--keep"))
    machine = Machine()
    with contextlib.closing(Logbook()) as log:
        product.install(machine, build, scratch)
        yield World(machine, log, Clients(scratch), scratch)


@pytest.fixture(name="bench")
def fixture_bench(world, request):
    """The accounts, keys, filters and servers of one test. Everything ends with the test."""
    exact = getattr(request, "param", None) == EXACT_LIST
    with contextlib.closing(Bench(world, next(_numbers), exact)) as bench:
        yield bench


@pytest.fixture(name="deploy", params=["guard", "PAM session"])
def fixture_deploy(request):
    """What makes a deployment of a configuration."""
    return {"guard": server.guard, "PAM session": server.pam_session}[request.param]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """Adds the servers' configurations and logs, and the accounts' lines in syslog, to a failure."""
    report = (yield).get_result()
    if report.failed and "bench" in getattr(item, "funcargs", {}):
        report.sections.append(("servers and syslog", item.funcargs["bench"].evidence()))


def pytest_terminal_summary(terminalreporter):
    """Writes a table of the ways in against the deployments."""
    cells = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            _, found, cell = report.nodeid.partition("::test_ways_in[")
            if found:
                cells[cell[:-1]] = dict(report.user_properties).get("words", "FAILED")
    if not cells:
        return
    from test_ways_in import CELLS      # pylint: disable=import-outside-toplevel
    ways, names = (list(dict.fromkeys(column)) for column in zip(*CELLS))
    rows = [("way in", *names)]
    rows += [(way, *(cells.get(f"{way} x {name}", "not run") for name in names)) for way in ways]
    widths = [max(map(len, column)) for column in zip(*rows)]
    terminalreporter.write_line("\nA listed key, or a key by a listed CA, where clean ones get in:\n")
    for row in rows:
        terminalreporter.write_line("  " + "   ".join(map(str.ljust, row, widths)).rstrip())
    terminalreporter.write_line("")
