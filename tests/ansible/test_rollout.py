# SPDX-License-Identifier: ISC
"""The collection in fleet/ansible, from Debian's ansible-playbook to a real sshd, over ssh."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import keys
from ansible_machine import ADMIN, COLLECTION, WATCHED, authorize
from openssh import version
from patience import PATIENCE
from program import contains, equal, keyveto, lacks
from sshd_machine import leaked_key, restored
from stock import snapshot

pytestmark = pytest.mark.throwaway

STATE = Path("/var/lib/keyveto")
CONFIG = Path("/etc/keyveto/keyveto.conf")
ROOT_KEYS = Path("/root/.ssh/authorized_keys")


def state_of_host():
    """Everything that a failed rollout must leave as it was. Locks, and the folder of proofs, may stay."""
    return {path: seen for path, seen in snapshot(*WATCHED).items()
            if not path.endswith(".lock") and "ansible-p" not in path and "/sshd-state" not in path}


def files_of(done):
    """The files that change, by --diff."""
    return [one["before_header"] for one in done.last()["diff"]]


def proof_of(done):
    return {name: done.last()["proof"][name] for name in ("proved", "own", "clean", "listed")}


def nothing_is_left():
    """No throw-away key, no line of the proof, no list of it, no process."""
    lacks(ROOT_KEYS.read_text(encoding="ascii"), "keyveto-probe")
    lacks(CONFIG.read_text(encoding="ascii"), "probe")
    equal([path.name for path in STATE.glob("ansible-probe*")], ["ansible-probe"])
    equal([path.name for path in (STATE / "ansible-probe").iterdir()], ["lock"])


def test_a_rollout_guards_the_host_and_proves_it(machine):
    """Check mode predicts it, and a second run changes nothing."""
    keys_before, before = ROOT_KEYS.read_bytes(), state_of_host()
    check = machine.ok("rollout", "--check", "--diff")
    assert not machine.ok("rehearse").changed
    restored(before, state_of_host())
    done = machine.ok("rollout", "--diff")
    equal(proof_of(done), {"proved": True, "own": True, "clean": True, "listed": False})
    equal(files_of(check), files_of(done))
    assert check.last()["diff"] == done.last()["diff"], "--check did not predict the text of these files"
    after = state_of_host()
    changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
    equal(set(files_of(done)), {path for path in changed if Path(path).is_file()})
    assert machine.guarded() and machine.enters(machine.admin)
    equal(ROOT_KEYS.read_bytes(), keys_before)
    nothing_is_left()
    for again in (("--check",), ()):
        guarded = snapshot(*WATCHED)
        done = machine.ok("rollout", *again)
        assert not done.changed
        lacks(done.text, "Could not match", "TASK [Enable")
        restored(guarded, snapshot(*WATCHED))
    machine.ok("disable", "--check")
    assert machine.guarded()
    machine.ok("disable")
    restored(before, state_of_host())
    assert not machine.ok("disable").changed


def test_a_listed_key_of_the_connecting_account_stops_it(machine):
    """Whatever keyveto_accept_refused says, as Ansible would be locked out, or might be."""
    authorize("root", "/root", machine.admin.key, leaked_key())
    before = state_of_host()
    for accept in (False, True):
        said = machine.fails("rollout", keyveto_accept_refused=accept)
        contains(said, "root, the account that Ansible logs in as", "/root/.ssh/authorized_keys:2:", "SHA256:")
        restored(before, state_of_host())
    done = machine.ok("rollout", keyveto_warn=True)
    equal(proof_of(done), {"proved": True, "own": True, "clean": True, "listed": True})
    nothing_is_left()


def test_check_tells_whom_a_list_that_is_not_there_yet_would_refuse(machine):
    own = keys.generate(machine.scratch)
    keyveto("list", "create", machine.scratch / "own.dat", "--id", "1", "--name", "own", own.key.path, status=0)
    lists = [{"src": str(machine.scratch / "own.dat")}]
    authorize("root", "/root", machine.admin.key, own.key)
    before = state_of_host()
    for playbook in ("rehearse", "rollout"):
        said = machine.fails(playbook, "--check", keyveto_lists=lists)
        contains(said, "root, the account that Ansible logs in as", "/root/.ssh/authorized_keys:2:",
                 own.key.fingerprint)
    authorize("root", "/root", machine.admin.key)
    done = machine.ok("rehearse", "--check", "--diff", keyveto_lists=lists)
    contains(done.last()["msg"], "/var/lib/keyveto/own.dat is not on the host yet")
    contains(" ".join(files_of(done)), "/var/lib/keyveto/own.dat", str(CONFIG))
    authorize("root", "/root", machine.admin.key, own.key)
    restored(before, state_of_host())


def test_check_tells_of_an_sshd_that_cannot_be_enabled(machine):
    """Also where keyveto.conf is not saved yet, and nobody would be refused."""
    with open("/etc/ssh/sshd_config", "a", encoding="ascii") as config:
        config.write("NoSuchKeyword yes\n")
    before, wanted = state_of_host(), {"keyveto_conf": "Message no\n", "keyveto_accept_refused": True}
    contains(machine.fails("rollout", "--check", **wanted), "sshd stays as it is", "NoSuchKeyword")
    restored(before, state_of_host())
    contains(machine.fails("rollout", **wanted), "sshd stays as it is", "NoSuchKeyword")


def test_check_judges_by_a_default_filter_that_is_not_there_yet(machine):
    """No line of keyveto.conf names it. The name of another list begins with its name."""
    own = keys.generate(machine.scratch)
    lists = []
    for name, key in (("filter.pkbf", own), ("filter.pkbf2", keys.generate(machine.scratch))):
        keyveto("filter", "create", machine.scratch / name, "--hashes", "20", "--length", "20", status=0)
        keyveto("filter", "add", machine.scratch / name, key.key.path, status=0)
        lists.append({"src": str(machine.scratch / name), "dest": f"/var/lib/keyveto/{name}"})
    CONFIG.write_text("", encoding="ascii")
    (STATE / "filter.pkbf").unlink(missing_ok=True)
    machine.ok("rehearse", "--check", keyveto_lists=lists[:1])
    authorize("root", "/root", machine.admin.key, own.key)
    before = state_of_host()
    for some in (lists[:1], lists):
        contains(machine.fails("rehearse", "--check", keyveto_lists=some), own.key.fingerprint)
    restored(before, state_of_host())


def test_check_of_a_host_without_any_list_that_nobodys_key_stops(machine):
    """Nothing is told about sshd then. The roles, one after the other, tell the same."""
    own = keys.generate(machine.scratch)
    keyveto("list", "create", machine.scratch / "own.dat", "--id", "1", "--name", "own", own.key.path, status=0)
    (STATE / "filter.pkbf").unlink()
    before = state_of_host()
    lists = {"keyveto_lists": [{"src": str(machine.scratch / "own.dat")}]}
    fetched = {"keyveto_update_conf": f"Source own\nFormat blocklist\nTarget {STATE}/fetched.dat\n"
                                      f"URL {machine.scratch}/own.dat\n"}
    both = {**lists, **fetched,
            "keyveto_conf": f"Blocklist {STATE}/fetched.dat\nBlocklist {STATE}/own.dat\n"}
    roles = machine.scratch / "roles.yml"
    roles.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [
        {"import_role": {"name": f"keyveto.keyveto.{role}"}} for role in ("lists", "enable")]}]), encoding="ascii")
    for wanted in (lists, fetched, both):
        done = machine.ok("rollout", "--check", "--diff", **wanted)
        assert done.changed
        contains(done.last()["msg"], "sshd cannot be looked at before that is done")
        lacks(done.text, "TASK [Enable")
        contains(machine.ok(roles, "--check", **wanted).last()["msg"], "what changes in sshd is not known yet")
        restored(before, state_of_host())
    # A list that nothing brings is still missed.
    contains(machine.fails("rehearse", "--check", keyveto_conf=f"Blocklist {STATE}/none.dat\n"), "none.dat")
    equal(proof_of(machine.ok("rollout", **lists))["proved"], True)


def test_a_listed_key_that_is_refused_already_fails_no_later_rollout(machine):
    """An administrator has accepted that once."""
    subprocess.run(["useradd", "-m", "-s", "/bin/sh", ADMIN], check=True)
    try:
        path = authorize(ADMIN, Path("/home") / ADMIN, leaked_key())
        contains(machine.fails("rollout"), f"{ADMIN} would be locked out", f"{path}:1:")
        machine.ok("rollout", keyveto_accept_refused=True)
        own = keys.generate(machine.scratch)
        keyveto("list", "create", machine.scratch / "own.dat", "--id", "1", "--name", "own", own.key.path, status=0)
        lists = {"keyveto_lists": [{"src": str(machine.scratch / "own.dat")}]}
        for more in ({}, {"keyveto_probe": "always"}, lists):
            for check in (["--check"], []):
                done = machine.ok("rollout", *check, **more)
                if more is not lists or not check:
                    contains(done.text, f"[WARNING]: here: {ADMIN} has a listed key, and nothing changes for it")
        # Whom a new list would refuse still stops it.
        other = keys.generate(machine.scratch)
        path.write_text(f"{leaked_key()}\n{other.key}\n", encoding="ascii")
        keyveto("list", "create", machine.scratch / "new.dat", "--id", "1", "--name", "new", other.key.path, status=0)
        for check in (["--check"], []):
            contains(machine.fails("rehearse", *check, keyveto_lists=[{"src": str(machine.scratch / "new.dat")}]),
                     "new.dat was not installed, since it would refuse", f"{path}:2:")
            lacks(CONFIG.read_text(encoding="ascii"), "new.dat")
    finally:
        subprocess.run(["userdel", "-rf", ADMIN], check=True, capture_output=True)


def test_a_way_that_bypasses_the_guard_is_a_warning(machine):
    """Without -v, with the host's name, in each run."""
    with open("/etc/ssh/sshd_config", "a", encoding="ascii") as config:
        config.write("Match User nobody\n\tAuthorizedKeysFile .ssh/n\n\tAuthorizedKeysCommand none\n")
    machine.server.reload()
    for more in (("--check",), (), ()):
        text = " ".join(machine.ok("rollout", *more).text.split())
        contains(text, "[WARNING]: here: /etc/ssh/sshd_config:", "which bypasses the guard")


@pytest.mark.parametrize("playbook", ["rehearse", "rollout"])
def test_a_list_without_src_is_a_mistake_in_words(machine, playbook):
    for wrong, words in (({"dest": "/var/lib/keyveto/x.dat"}, "src"), ("x.dat", "dict"), ({"src": None}, "src")):
        contains(machine.fails(playbook, keyveto_lists=[wrong]), "lists", words)


def test_where_a_listed_key_gets_in_keyveto_is_taken_out_again(machine):
    """An administrator's own OnHit warn lets it in: enabled, but not guarded."""
    CONFIG.write_text("OnHit warn\n" + CONFIG.read_text(encoding="ascii"), encoding="ascii")
    before = state_of_host()
    done = machine.run("rollout")
    contains(done.last("failed")["msg"], "not proved: the listed key gets in", "keyveto was taken out again",
             "a new login works")
    equal(done.last("failed")["proof"]["listed"], True)
    assert not done.last("failed")["changed"]
    restored(before, state_of_host())
    nothing_is_left()
    assert machine.enters(machine.admin)


def test_keys_of_a_command_alone_cannot_be_proved(machine):
    """sshd stays as it is, unless probe_required says otherwise. Then Ansible's own login is proved."""
    script = Path("/usr/libexec/some-keys")
    script.write_text(f"#!/bin/sh\necho '{machine.admin.key}'\n", encoding="ascii")
    script.chmod(0o755)
    with open("/etc/ssh/sshd_config", "a", encoding="ascii") as config:
        config.write("AuthorizedKeysFile none\nAuthorizedKeysCommand /usr/libexec/some-keys %u\n"
                     "AuthorizedKeysCommandUser nobody\n")
    machine.server.reload()
    before = state_of_host()
    contains(machine.fails("rollout"), "sshd stays as it is: no login can prove", "has no file of keys")
    restored(before, state_of_host())
    done = machine.ok("rollout", keyveto_probe_required=False)
    equal(proof_of(done), {"proved": False, "own": True, "clean": None, "listed": None})
    contains(done.text, "not proved by a login")
    assert machine.guarded() and machine.enters(machine.admin)


def test_with_user_cas_the_module_alone_is_proved(machine):
    Path("/etc/ssh/ca.pub").write_text(f"{keys.generate(machine.scratch).key}\n", encoding="ascii")
    with open("/etc/ssh/sshd_config", "a", encoding="ascii") as config:
        config.write("TrustedUserCAKeys /etc/ssh/ca.pub\n")
    machine.server.reload()
    done = machine.ok("rollout")
    equal(proof_of(done), {"proved": True, "own": True, "clean": True, "listed": False})
    equal((done.last()["guard"], done.last()["pam"]), (False, True))
    nothing_is_left()


def test_a_variable_may_be_text(machine):
    """As -e keyveto_warn=false on the command line makes it."""
    done = machine.ok("rollout", keyveto_warn="false", keyveto_accept_refused="no", keyveto_probe_timeout="90")
    equal(proof_of(done), {"proved": True, "own": True, "clean": True, "listed": False})


def test_a_key_of_ones_own_list_needs_no_change_of_keyveto_conf(machine):
    own = keys.generate(machine.scratch)
    keyveto("list", "create", machine.scratch / "own.dat", "--id", "1", "--name", "own", own.key.path, status=0)
    lists = [{"src": str(machine.scratch / "own.dat")}]
    done = machine.ok("rollout", keyveto_lists=lists, keyveto_probe_listed_key=str(own.path))
    equal(proof_of(done), {"proved": True, "own": True, "clean": True, "listed": False})
    contains(CONFIG.read_text(encoding="ascii"), "Blocklist /var/lib/keyveto/own.dat\n",
             "Filter /var/lib/keyveto/filter.pkbf\n")
    # With a key that no list has, it is not proved.
    done = machine.run("rollout", keyveto_probe="always", keyveto_probe_listed_key=str(machine.admin.path))
    contains(done.last("failed")["msg"], "the listed key gets in", "taken out again")


def test_an_account_that_becomes_root(machine):
    """By su, with a password. Its own keys prove it, and only its listed key stops it."""
    subprocess.run(["useradd", "-m", "-s", "/bin/sh", ADMIN], check=True)
    subprocess.run(["chpasswd"], input="root:secret\n", text=True, check=True)
    home = Path("/home") / ADMIN
    path = authorize(ADMIN, home, f'command="$SSH_ORIGINAL_COMMAND" {keys.generate(machine.scratch).key}',
                     machine.admin.key)
    before = path.read_bytes()
    how = {"ansible_user": ADMIN, "ansible_become_method": "su", "ansible_become_password": "secret"}
    done = machine.ok("rollout", **how)
    equal(proof_of(done), {"proved": True, "own": True, "clean": True, "listed": False})
    equal((done.last()["account"], path.read_bytes(), path.stat().st_uid), (ADMIN, before, home.stat().st_uid))
    nothing_is_left()
    machine.ok("disable", **how)
    path.write_bytes(before + f"{leaked_key()}\n".encode())
    contains(machine.fails("rollout", **how), f"{ADMIN}, the account that Ansible logs in as", f"{path}:3:")
    subprocess.run(["userdel", "-rf", ADMIN], check=True, capture_output=True)


class Module:
    """The module itself, without the controller that would end the proof."""

    def __init__(self, machine):
        self.machine = machine
        self.clean, self.listed = (keys.generate(machine.scratch) for _ in range(2))

    def run(self, **wanted):
        both = {"clean": str(self.clean.key), "listed": str(self.listed.key), "own_list": True, "nonce": "0" * 32}
        arguments = {"state": "enabled", "account": "root", "probe_timeout": 600, "lists": [], "probe_keys": both,
                     **wanted}
        done = subprocess.run(
            [sys.executable, COLLECTION / "plugins/modules/host.py"],
            input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}), capture_output=True, text=True, check=False,
            timeout=10 * PATIENCE, env={**os.environ, "PYTHONPATH": str(self.machine.scratch / "collections")})
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def begin(self, **wanted):
        """Enables keyveto, with the throw-away keys in place."""
        told = self.run(**wanted)
        assert "failed" not in told, told["msg"]
        return told


def watcher():
    """The number of the process of the proof, or None."""
    done = subprocess.run(["fuser", "/var/lib/keyveto/ansible-probe/lock"], capture_output=True, text=True, check=False)
    return int(done.stdout.split()[0]) if done.stdout.strip() else None


def wait_until_it_ends():
    deadline = time.monotonic() + PATIENCE
    while watcher() is not None or list((STATE / "ansible-probe").glob("*/verdict")):
        assert time.monotonic() < deadline, "the proof does not end"
        time.sleep(0.05)


@pytest.mark.parametrize("how", ["its time is over", "it is ended"])
def test_if_nobody_comes_the_host_is_as_before(machine, how):
    before = state_of_host()
    Module(machine).begin(probe_timeout=1 if how == "its time is over" else 600)
    if how == "it is ended":
        assert machine.guarded()
        lines = ROOT_KEYS.read_text(encoding="ascii").splitlines()
        equal([line.split(" ", 1)[0].split(",")[0] for line in lines[-2:]], ["restrict", "restrict"])
        equal(all("expiry-time=" in line for line in lines[-2:]), version() >= (7, 7))
        os.kill(watcher(), signal.SIGTERM)
    wait_until_it_ends()
    restored(before, state_of_host())
    nothing_is_left()
    assert machine.enters(machine.admin)


def test_what_a_killed_process_left_is_removed_by_the_next_run(machine):
    """Until then it does no harm: the list that keyveto.conf names is there."""
    keys_before = ROOT_KEYS.read_bytes()
    module = Module(machine)
    module.begin()
    os.kill(watcher(), signal.SIGKILL)
    contains(CONFIG.read_text(encoding="ascii"), "ansible-probe.dat")
    lacks(keyveto("status").stdout, "every login by key")
    assert machine.enters(machine.admin)
    done = machine.ok("rollout")
    equal(proof_of(done), {"proved": True, "own": True, "clean": True, "listed": False})
    nothing_is_left()
    equal(ROOT_KEYS.read_bytes(), keys_before)


def at_boot():
    """Starts what systemd would start with the host, and returns the names of these units."""
    names = [path for path in Path("/etc/systemd/system/multi-user.target.wants").glob("keyveto*")]
    for path in names:
        unit = path.read_text(encoding="ascii")
        contains(unit, "Before=ssh.service sshd.service\n", "Type=oneshot\n", "WantedBy=multi-user.target\n")
        subprocess.run(re.search("^ExecStart=(.*)$", unit, re.MULTILINE)[1].split(), check=True,
                       env={"PATH": "/usr/bin:/bin"}, stdin=subprocess.DEVNULL)
    return [path.name for path in names]


def test_a_host_that_is_started_again_before_the_proof_takes_keyveto_out(machine):
    """The next rollout removes what is left, and proves it."""
    keys_before, before = ROOT_KEYS.read_bytes(), state_of_host()
    Module(machine).begin()
    # While the proof is under way, nothing is left over.
    machine.ok("doctor")
    unit = Path("/etc/systemd/system/keyveto-unproved.service")
    verified = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    lacks(verified.stderr, "keyveto-unproved")
    os.kill(watcher(), signal.SIGKILL)
    contains(machine.fails("doctor"), "broken: proof: a rollout has not proved by logins",
             "run keyveto.keyveto.rollout again")
    machine.server.stop()
    equal(at_boot(), ["keyveto-unproved.service"])
    machine.server.start()
    sshd = {path for path in before if path.startswith(("/etc/ssh", "/etc/pam.d"))}
    restored({path: before[path] for path in sshd}, {path: state_of_host().get(path) for path in sshd})
    equal(at_boot(), [])
    contains(machine.fails("doctor"), "broken: proof:")
    done = machine.ok("rollout")
    equal(proof_of(done), {"proved": True, "own": True, "clean": True, "listed": False})
    equal((ROOT_KEYS.read_bytes(), at_boot()), (keys_before, []))
    nothing_is_left()
    machine.ok("doctor")
    # Another proof, which is not needed, is cut off. It is made up for, and the unit goes.
    Module(machine).begin(probe="always")
    os.kill(watcher(), signal.SIGKILL)
    assert unit.exists()
    equal(proof_of(machine.ok("rollout"))["proved"], True)
    equal(at_boot(), [])
    assert machine.guarded()


@pytest.mark.parametrize("playbook", ["rollout", "disable"])
def test_nobody_who_gives_up_the_proof_is_taken_by_surprise(machine, playbook):
    """At the next start of the host, keyveto stays if it is to stay without a proof."""
    Module(machine).begin()
    os.kill(watcher(), signal.SIGKILL)
    machine.ok(playbook, keyveto_probe=False)
    equal(at_boot(), [])
    equal(machine.guarded(), playbook == "rollout")


def test_lines_that_others_add_meanwhile_stay(machine):
    ROOT_KEYS.write_text(ROOT_KEYS.read_text(encoding="ascii").rstrip("\n"), encoding="ascii")
    before = ROOT_KEYS.read_text(encoding="ascii")
    Module(machine).begin()
    with open(ROOT_KEYS, "a", encoding="ascii") as file:
        file.write("# from somebody else\n")
    os.kill(watcher(), signal.SIGTERM)
    wait_until_it_ends()
    contains(ROOT_KEYS.read_text(encoding="ascii"), before)
    lacks(ROOT_KEYS.read_text(encoding="ascii"), "keyveto-probe")
    contains(ROOT_KEYS.read_text(encoding="ascii"), "# from somebody else\n")


def test_two_proofs_do_not_mix(machine):
    module = Module(machine)
    module.begin()
    contains(module.run(probe="always")["msg"], "another proof is under way")
    os.kill(watcher(), signal.SIGTERM)
    wait_until_it_ends()
    nothing_is_left()
