# SPDX-License-Identifier: ISC
"""Fixtures of several files: machines in a throw-away root, and the place of an update.

What only some tests need is imported by the fixture, so that the others run without it.
"""

import os
import resource
import subprocess
from pathlib import Path

import pytest

# Their assertions, too, show the values that were compared.
pytest.register_assert_rewrite("audit_machine", "check_runs", "config_machine", "documents", "doctor_machine",
                               "filter_runs", "pem_keys", "runs", "samples", "sshd_machine", "update_place")


def pytest_configure(config):
    config.addinivalue_line("markers", "serves(body, etag): what the server has for the fixture place")


@pytest.fixture(scope="session", autouse=True)
def fixture_surroundings():
    """Programs that are killed leave no core files; paths in messages are those from the root of the tree."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(Path(__file__).resolve().parents[2])


@pytest.fixture(scope="module", name="host_keys")
def fixture_host_keys():
    """Host keys, without which sshd -T gives no answer. An image may come without."""
    for kind in ("rsa", "ecdsa", "ed25519"):
        path = Path(f"/etc/ssh/ssh_host_{kind}_key")
        if not path.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path], check=True)


@pytest.fixture(scope="module", name="installed")
def fixture_installed():
    """The guard and the module are in their places, without settings."""
    from sshd_machine import prepare_machine
    prepare_machine()


@pytest.fixture(name="world")
def fixture_world(scratch):
    """Accounts, their keys and what sshd is told, for keyveto audit."""
    from audit_machine import world
    with world(scratch) as made:
        yield made


@pytest.fixture(name="machine")
def fixture_machine(scratch):
    """All that keyveto needs, as the README puts it there, for keyveto doctor."""
    from doctor_machine import machine
    with machine(scratch) as made:
        yield made


@pytest.fixture(name="place")
def fixture_place(request, scratch):
    """A filter with settings, and a server that has what the marker serves says."""
    from update_place import Place
    marker = request.node.get_closest_marker("serves")
    made = Place(scratch, **(marker.kwargs if marker else {}))
    yield made
    made.close()
