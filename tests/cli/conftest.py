# SPDX-License-Identifier: ISC
"""Fixtures of several test files: machines in a throw-away root, and a filter with its server.

Each fixture imports its own module. So a test runs even if another fixture's module cannot be imported.
"""

import contextlib
import os
import resource
from pathlib import Path

import pytest

# So that their assertions, too, show the compared values.
pytest.register_assert_rewrite("audit_machine", "brake_machine", "check_runs", "config_machine", "documents",
                               "doctor_machine", "filter_runs", "pem_keys", "published", "runs", "samples",
                               "served", "sshd_machine", "update_place")


def pytest_configure(config):
    config.addinivalue_line("markers", "serves(body, etag): what the server has for the fixture place")


@pytest.fixture(scope="session", autouse=True)
def fixture_surroundings():
    """No core files of killed programs, and the root of the tree as working directory, as messages name paths in it."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(Path(__file__).resolve().parents[2])


@pytest.fixture(scope="module", name="installed")
def fixture_installed():
    """Installs the guard and the module, without settings."""
    from sshd_machine import prepare_machine
    prepare_machine()
    yield
    Path("/dev/log").unlink(missing_ok=True)


@pytest.fixture(name="world")
def fixture_world(scratch):
    """Accounts, their keys and an sshd_config, for keyveto audit."""
    from audit_machine import world
    with world(scratch) as made:
        yield made


@pytest.fixture(name="here")
def fixture_here(scratch):
    """A keyveto.conf with a list and a filter, and accounts, for what holds a change."""
    from brake_machine import machine
    with machine(scratch) as made:
        yield made


@pytest.fixture(name="machine")
def fixture_machine(scratch):
    """A machine set up by the steps of the README, for keyveto status."""
    from doctor_machine import machine
    with machine(scratch) as made:
        yield made


@pytest.fixture(name="place")
def fixture_place(request, scratch):
    """A filter with settings, and a server with the content that the marker "serves" names."""
    from update_place import Place
    marker = request.node.get_closest_marker("serves")
    with contextlib.closing(Place(scratch, **(marker.kwargs if marker else {}))) as made:
        yield made


@pytest.fixture(name="lists")
def fixture_lists(scratch):
    """An exact list with settings, and its publisher."""
    from publisher import ListPlace
    (scratch / "lists").mkdir()
    with contextlib.closing(ListPlace(scratch / "lists")) as made:
        yield made
