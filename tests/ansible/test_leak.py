# SPDX-License-Identifier: ISC
"""The playbook leak: a key that leaked is refused on a host. tests/fleet/drill.py has a hundred, and a publisher."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import pytest

import keys
from ansible_machine import COLLECTION, authorize
from logbook import Logbook
from program import PATIENCE, contains, equal, keyveto

pytestmark = pytest.mark.throwaway
CONFIG = Path("/etc/keyveto/keyveto.conf")


@pytest.fixture(name="leaked")
def fixture_leaked(machine):
    """A key that dora has beside that of the administrator. keyveto is enabled."""
    keyveto("sshd", "enable", "--reload", status=0)
    leaked = keys.generate(machine.scratch)
    for name in ("dora", "bob"):
        if not Path(f"/home/{name}").exists():
            subprocess.run(["useradd", "-m", name], check=True)
        authorize(name, f"/home/{name}")
    authorize("dora", "/home/dora", machine.admin.key, leaked.key)
    assert machine.enters(leaked, "dora")
    return leaked


def leak(machine, key, *words, **variables):
    """Runs the playbook. Returns what Ansible told, and what the report says of the host."""
    folder = machine.scratch / "leak"
    shutil.rmtree(folder, ignore_errors=True)
    done = machine.run("leak", *words, keyveto_leak_key=str(key), keyveto_leak_dir=str(folder), **variables)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    lines = (folder / "report.txt").read_text(encoding="utf-8").splitlines()
    contains(done.text, *lines)
    return done, {one["host"]: one for one in report["hosts"]}["here"]


@pytest.mark.parametrize("form", ["public", "private", "fingerprint"])
def test_a_key_in_any_form_is_refused(machine, leaked, form):
    key = {"public": leaked.key.path, "private": leaked.path, "fingerprint": leaked.key.fingerprint}[form]
    before = CONFIG.read_bytes()
    done, told = leak(machine, key, "--check")
    equal((told["outcome"], told["accounts"]), ("asked", [{"account": "dora", "locked_out": False}]))
    assert CONFIG.read_bytes() == before and machine.enters(leaked, "dora")
    done, told = leak(machine, key, keyveto_leak_reason="found in a log")
    equal((told["outcome"], told["listed"], told["guarded"], told["keys"]), (
        "refused", True, True, [leaked.key.fingerprint]))
    contains(CONFIG.read_text(encoding="ascii"), f"DenyKey {leaked.key.fingerprint} found in a log\n")
    assert not machine.enters(leaked, "dora") and machine.enters(machine.admin)
    assert leaked.path.read_text(encoding="ascii").splitlines()[1] not in done.text
    assert not leak(machine, key, keyveto_leak_reason="found in a log")[0].changed


def test_nobody_is_locked_out_unasked(machine, leaked):
    """Neither bob nor root unless somebody accepts it, and never the account that Ansible comes as."""
    for name, home, lines, reason in (("bob", "/home/bob", [leaked.key], "bob would be locked out"),
                                      ("root", "/root", [machine.admin.key, leaked.key], "root has the key")):
        authorize(name, home, *lines)
        done, told = leak(machine, leaked.key.path)
        equal((done.status, told["outcome"], told["reason"]), (
            2, "stopped", f"{reason}; keyveto_accept_refused goes on"))
        assert machine.enters(leaked, name)
        done, told = leak(machine, leaked.key.path, keyveto_accept_refused=True)
        equal((done.status, told["outcome"]), (0, "refused"))
        assert not machine.enters(leaked, name)
        keyveto("deny", "--remove", leaked.key.fingerprint, status=0)
        authorize(name, home, machine.admin.key)
    done, told = leak(machine, machine.admin.key.path, keyveto_accept_refused=True)
    equal((done.status, told["outcome"]), (2, "stopped"))
    contains(told["reason"], "root, the account that Ansible logs in as, would be locked out")
    assert machine.enters(machine.admin)


def test_a_claim_needs_a_proof_where_that_is_asked_for(machine, leaked):
    other = keys.generate(machine.scratch)
    for one in (leaked, other):
        keys.prove_leak(one)
    both = machine.scratch / "both.pub"
    both.write_text(f"{leaked.key}\n{machine.admin.key}\n", encoding="ascii")
    proof, of_another = (f"{one.path}.proof.pem" for one in (leaked, other))
    for key, proofs in ((leaked.key.path, []), (leaked.key.path, [of_another]), (both, [proof]),
                        (leaked.key.fingerprint, [proof])):
        done, told = leak(machine, key, keyveto_leak_proof_required=True, keyveto_leak_proofs=proofs)
        equal((done.status, told["outcome"]), (2, "failed"), done.text)
        assert machine.enters(leaked, "dora") and machine.enters(machine.admin)
    _, told = leak(machine, leaked.key.path, keyveto_leak_proof_required=True, keyveto_leak_proofs=[proof])
    equal(told["outcome"], "refused")
    assert not machine.enters(leaked, "dora") and machine.enters(machine.admin)


def test_a_host_that_is_not_guarded_is_told(machine, leaked):
    keyveto("sshd", "disable", "--reload", status=0)
    done, told = leak(machine, leaked.key.path)
    equal((done.status, told["outcome"], told["listed"], told["refused"]), (2, "failed", True, False))
    contains(told["reason"], "not enabled in sshd")


# Connections that are open

def fields_of(pid):
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()


@contextlib.contextmanager
def opened(name, identity):
    """A connection of ssh: .serves is the process of sshd that serves the account, .let_in the one that let it in."""
    with subprocess.Popen(["ssh", "-F", "none", "-i", identity.path, "-oIdentitiesOnly=yes", "-oIdentityAgent=none",
                           "-oBatchMode=yes", "-oStrictHostKeyChecking=no", "-oUserKnownHostsFile=/dev/null",
                           f"{name}@127.0.0.1", "echo $PPID; exec sleep 1000"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            process.serves = int(process.stdout.readline())
            process.let_in = int(fields_of(process.serves)[1])
            yield process
        finally:
            process.kill()


def test_open_sessions_of_the_key_are_ended(machine, leaked):
    """Also one that its account has stopped, and once the key is in no file any more; none of a forged line."""
    log, logbook = machine.scratch / "auth.log", Logbook()

    def texts(*more):
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        lines = [one.text[16:] for one in logbook.about("")]
        log.write_text("".join(f"{now} host {line}\n" for line in (*lines, *more)), encoding="ascii")
    try:
        with contextlib.ExitStack() as stack:
            first, second = (stack.enter_context(opened("dora", leaked)) for _ in range(2))
            clean = stack.enter_context(opened("dora", machine.admin))
            options = {"keyveto_leak_logs": [str(log)]}
            texts()
            done, told = leak(machine, leaked.key.path, **options)
            equal((done.status, told["outcome"], told["ended"], {one["pid"] for one in told["sessions"]}),
                  (0, "refused", False, {first.let_in, second.let_in}))
            contains(done.text, "2 sessions open")
            forged = f"sshd[{clean.let_in}]: Accepted publickey for dora from ::1 port 9 ssh2: ED25519 "
            texts(forged + leaked.key.fingerprint)
            authorize("dora", "/home/dora", machine.admin.key)
            os.kill(first.serves, signal.SIGSTOP)
            done, told = leak(machine, leaked.key.path, keyveto_leak_sessions="end", **options)
            equal((done.status, told["outcome"], told["ended"]), (2, "failed", False))
            contains(told["reason"], f"process {clean.let_in} by {log}: its lines contradict each other")
            equal({one["pid"]: one["ended"] for one in told["sessions"]},
                  {first.let_in: True, second.let_in: True, clean.let_in: False})
            for one in (first, second):
                equal(one.wait(PATIENCE), 255)
            equal(clean.poll(), None)
            texts()
            done, told = leak(machine, leaked.key.path, keyveto_leak_sessions="end", **options)
            equal((done.status, told["outcome"], told["ended"], told["sessions"]), (0, "refused", True, []))
            log.unlink()
            done, told = leak(machine, leaked.key.path, keyveto_leak_sessions="end", **options)
            equal((done.status, told["ended"]), (2, False))
            contains(told["reason"], f"{log}: cannot be read")
    finally:
        logbook.close()


@pytest.mark.parametrize("instead", ('"connected":null', '"older":1'))
def test_connections_that_keyveto_does_not_tell_are_not_ended(machine, leaked, instead):
    """An older keyveto has no member for them."""
    log, command = machine.scratch / "auth.log", machine.scratch / "keyveto"
    log.write_text("2026-11-01T00:00:00Z host sshd[1]: Accepted publickey for dora from ::1 port 9 ssh2: ED25519 "
                   f"{leaked.key.fingerprint}\n", encoding="ascii")
    command.write_text(f"""#!/bin/sh\nkeyveto "$@" | sed 's/"connected":\\[[^]]*]/{instead}/'\n""", encoding="ascii")
    command.chmod(0o755)
    done, told = leak(machine, leaked.key.path, keyveto_leak_sessions="end", keyveto_leak_logs=[str(log)],
                      keyveto_command=str(command))
    equal((done.status, told["outcome"], told["ended"]), (2, "failed", False), done.text)
    contains(told["reason"], "may still be open")


def test_only_the_process_that_was_told_is_ended():
    """By its number and its start. Neither its parent nor the shell itself, as Ansible's connection has them."""
    text = (COLLECTION / "plugins/action/leak.py").read_text(encoding="utf-8")
    script = re.search('^END = r"""(.*?)^"""', text, re.DOTALL | re.MULTILINE)[1]
    with subprocess.Popen(["sleep", "1000"]) as process:
        try:
            start, own = int(fields_of(process.pid)[19]), int(fields_of(os.getpid())[19])
            for pid, of, ended in ((process.pid, start - 1, True), (os.getpid(), own, False)):
                done = subprocess.run(["sh", "-c", f"set -- {pid}:{of}\n{script}"], stdout=subprocess.PIPE, check=True)
                equal(json.loads(done.stdout), {"pid": pid, "start": of, "ended": ended})
                equal(process.poll(), None)
            done = subprocess.run(["sh", "-c", f"set -- {process.pid}:{start} 1:1\n{script}"], stdout=subprocess.PIPE,
                                  check=True)
            equal(process.wait(PATIENCE), -signal.SIGTERM)
        finally:
            process.kill()
