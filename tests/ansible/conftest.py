# SPDX-License-Identifier: ISC
"""The fixture machine: this throw-away root as Ansible's controller and host."""

import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))
pytest.register_assert_rewrite("ansible_machine", "sshd_machine")


@pytest.fixture(name="machine")
def fixture_machine(scratch, host_keys):    # pylint: disable=unused-argument
    from ansible_machine import machine
    os.chdir(Path(__file__).resolve().parents[2])
    with machine(scratch) as made:
        yield made
