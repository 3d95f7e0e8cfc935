# SPDX-License-Identifier: ISC
"""The collection in packaging/ansible, from Debian's ansible-playbook to a real sshd, over ssh."""

import pytest

from ansible_machine import WATCHED, authorize
from program import contains, equal
from sshd_machine import leaked_key, restored
from stock import snapshot

pytestmark = pytest.mark.throwaway


def test_a_rollout_guards_the_host_and_proves_it(machine):
    done = machine.ok("rollout", "--diff")
    proof = done.last()["proof"]
    equal((proof["proved"], proof["own"], proof["clean"], proof["listed"]), (True, True, True, False), done.text)
    assert machine.guarded()
    assert machine.enters(machine.admin)
