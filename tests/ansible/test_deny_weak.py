# SPDX-License-Identifier: ISC
"""RSA keys that anybody factors: the collection puts them into a list, and sets the timer that does so each day."""

import subprocess
from pathlib import Path

import pytest

import blocklist
import weak_keys
from ansible_machine import authorize
from program import contains, equal, lacks
from test_update import systemd

pytestmark = pytest.mark.throwaway

STATE, CONFIG = Path("/var/lib/keyveto"), Path("/etc/keyveto/keyveto.conf")
LIST, LINE = STATE / "weak.dat", f"Blocklist {STATE}/weak.dat\n"
TIMER = "keyveto-weak.timer"


@pytest.fixture(name="mallory")
def fixture_mallory():
    """Sets the keys of an account: an RSA key with a prime modulus, or what is given."""
    subprocess.run(["useradd", "-m", "-s", "/bin/sh", "mallory"], check=True)
    yield lambda *lines: authorize("mallory", "/home/mallory", *lines)
    subprocess.run(["userdel", "-r", "mallory"], check=True, capture_output=True)


def test_a_key_that_anybody_factors_is_denied(machine, mallory):
    (_, prime), sound = weak_keys.weak()[0], weak_keys.sound()[0]
    # By default nobody looks.
    mallory(sound.line, prime.line)
    machine.ok("rehearse", keyveto_accept_refused=True)
    assert not LIST.exists()
    # Without such a key there is no list.
    mallory(sound.line)
    machine.ok("rehearse", keyveto_deny_weak=True)
    assert not LIST.exists()
    lacks(CONFIG.read_text(encoding="utf-8"), LINE)
    mallory(sound.line, prime.line)
    wanted = {"keyveto_deny_weak": True, "keyveto_accept_refused": True}
    done = machine.ok("rehearse", "--check", **wanted)
    assert done.changed, done.text
    equal(done.last()["incomplete"], f"{LIST} is not made yet")
    assert not LIST.exists()
    done = machine.ok("rehearse", **wanted)
    assert done.changed, done.text
    contains("\n".join(done.last()["warnings"]), "anybody factors the key", prime.fingerprint)
    equal(LIST.read_bytes(), blocklist.hashes(prime.oracle)[0] + b"\2")
    assert CONFIG.read_text(encoding="utf-8").endswith(LINE)
    # The default filter is consulted as before.
    contains(CONFIG.read_text(encoding="utf-8"), f"\nFilter {STATE}/filter.pkbf\n")
    assert not machine.ok("rehearse", **wanted).changed
    assert not machine.ok("rehearse", "--check", **wanted).changed


def test_a_key_of_root_holds_the_list(machine):
    authorize("root", "/root", machine.admin.key, weak_keys.weak()[0][1].line)
    for accept in (False, True):
        said = machine.fails("rehearse", keyveto_deny_weak=True, keyveto_accept_refused=accept)
        contains(said, f"{LIST} stays as it is", "would refuse a key of root")
        assert not LIST.exists()


def test_a_text_of_keyveto_conf_without_the_list_is_told_of(machine, mallory):
    mallory(weak_keys.weak()[0][1].line)
    text = f"Filter {STATE}/filter.pkbf\n"
    wanted = {"keyveto_deny_weak": True, "keyveto_accept_refused": True}
    done = machine.ok("rehearse", keyveto_conf=text, **wanted)
    contains("\n".join(done.last()["warnings"]), f"keyveto.conf does not name {LIST}")
    equal(CONFIG.read_text(encoding="utf-8"), text)
    again = machine.ok("rehearse", keyveto_conf=text + LINE, **wanted).last()
    lacks("\n".join(again.get("warnings", [])), "does not name")


def test_the_timer_is_enabled_and_disabled(machine):
    with systemd(machine.scratch) as told:
        machine.ok("rehearse", keyveto_deny_weak=True)
        equal(told(), [])
        for wanted, word in ((True, "enable"), (False, "disable")):
            assert machine.ok("rehearse", keyveto_weak_timer=wanted).changed
            equal(told()[-1], f"{word} --now {TIMER}")
            assert not machine.ok("rehearse", keyveto_weak_timer=wanted).changed
        equal(len(told()), 2)
