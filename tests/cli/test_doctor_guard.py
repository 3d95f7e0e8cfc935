# SPDX-License-Identifier: ISC
"""keyveto status: the guard in sshd_config, compared with what a real sshd does."""

import os
import shutil
import signal

import pytest

import keys
from doctor_machine import (CONFIG, FILTER, GUARD, GUARDED, RANK, SESSION, STOCK_STACK, doctor, expect, injected,
                            running_sshd, expect_all_well)
from program import attempt, contains, equal, lacks

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def test_sshd_a_bad_configuration_or_a_missing_sshd_is_broken(scratch, machine):
    rest = ["guard", "guard-path", "guard-user", "match", "user-ca", "hostbased", "tunnel"]
    machine.sshd_config(*GUARDED, "Nonsense yes")
    expect("sshd", "broken", "Nonsense", others=rest)
    machine.sshd_config(*GUARDED)
    expect("sshd", "broken", "No such file", arguments=("--sshd", "/nowhere/sshd"), others=rest)
    other = scratch / "sshd_config"
    other.write_text("UsePAM yes\n", encoding="utf-8")
    expect("guard", "ok", "the PAM module alone judges keys", arguments=("--sshd-config", other))


def test_guard_absent_or_without_its_arguments_is_broken(machine):
    """Also with AuthorizedKeysFile beside the guard."""
    machine.sshd_config()
    expect("guard", "ok", "the PAM module alone judges keys")
    machine.pam(STOCK_STACK)
    expect("guard", "broken", "neither the guard nor the module", others=["pam"])
    machine.sshd_config(*GUARDED[1:])
    found = expect("guard", "broken", "neither the guard nor the module", others=["pam"])
    lacks(str(found), "AuthorizedKeysFile none")
    machine.pam(SESSION + STOCK_STACK)
    expect("guard", "ok", "the PAM module judges the keys in AuthorizedKeysFile")
    machine.sshd_config(GUARDED[0], f"AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t", GUARDED[2])
    expect("guard", "broken", "lacks --key")
    machine.sshd_config(GUARDED[0], f"AuthorizedKeysCommand {GUARD} --user %u --type %t --key %k", GUARDED[2])
    expect("guard", "broken", "lacks --home")
    machine.sshd_config(GUARDED[0], f"AuthorizedKeysCommand {GUARD} --user %u --type %t --key %k -- /bin/cat /dev/null",
                        GUARDED[2])
    expect("guard", "ok", "before another command")
    machine.sshd_config(GUARDED[0], f"AuthorizedKeysCommand {GUARD} --user %u --type %t -- /bin/echo --key %k",
                        GUARDED[2])
    expect("guard", "broken", "lacks --key")
    machine.sshd_config(GUARDED[0], "AuthorizedKeysCommand /bin/echo %u", GUARDED[2])
    expect("guard", "ok", "the PAM module alone judges keys")


def test_guard_its_own_config_is_looked_at(machine):
    machine.sshd_config(GUARDED[0], f"{GUARDED[1]} --config /etc/keyveto/other.conf", GUARDED[2])
    expect("config", "broken", "/etc/keyveto/other.conf: No such file")


def test_guard_path_what_sshd_itself_would_refuse_to_run(machine):
    os.chown(GUARD, 0, 65534)
    GUARD.chmod(0o775)
    expect("guard-path", "broken", f"{GUARD} is writable by group")
    os.chown(GUARD, 0, 0)
    expect("guard-path", "warning", f"{GUARD} is writable by root's group")
    GUARD.chmod(0o755)
    os.chown(GUARD, 65534, 0)
    expect("guard-path", "broken", f"{GUARD} is not owned by root")
    os.chown(GUARD, 0, 0)
    GUARD.parent.chmod(0o777)
    expect("guard-path", "broken", f"{GUARD.parent} is writable")
    # sshd refuses a sticky folder that others may write. For a filter, keyveto accepts one.
    GUARD.parent.chmod(0o1777)
    expect("guard-path", "broken", f"{GUARD.parent} is writable")
    GUARD.parent.chmod(0o775)
    expect("guard-path", "warning", f"{GUARD.parent} is writable by root's group")
    GUARD.parent.chmod(0o755)
    expect_all_well()
    moved = GUARD.with_name("moved")
    GUARD.rename(moved)
    expect("guard-path", "broken", "No such file", others=["guard-user"])
    found = expect("guard-user", "warning", f"root has no {GUARD} to execute", others=["guard-path"])
    lacks(str(found["guard-user"]), "can run the guard")
    GUARD.symlink_to(moved)
    expect_all_well()
    moved.chmod(0o757)
    expect("guard-path", "broken", f"{moved} is writable")
    moved.unlink()
    GUARD.unlink()
    assert machine.listed


def test_guard_user_must_exist_and_read_the_files(machine):
    """AuthorizedKeysCommandUser must also be able to run the guard."""
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser nobody")
    expect_all_well()
    FILTER.chmod(0o600)
    expect("guard-user", "broken", f"nobody cannot read {FILTER}")
    FILTER.chmod(0o644)
    CONFIG.parent.chmod(0o700)
    expect("guard-user", "broken", f"nobody cannot read {CONFIG}")
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser %u")
    expect("guard-user", "broken", f"nobody cannot read {CONFIG}")
    machine.sshd_config(*GUARDED)
    expect_all_well()
    CONFIG.parent.chmod(0o755)
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser missing")
    expect("guard-user", "broken", "no such account")
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser nobody")
    GUARD.chmod(0o700)
    expect("guard-user", "broken", f"nobody cannot execute {GUARD}")


def test_doctor_works_if_its_parent_ignores_sigchld(machine):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    equal(doctor(preexec_fn=ignore)[1]["status"], "ok")
    machine.sshd_config(*GUARDED, "Nonsense yes")
    found, _ = doctor(preexec_fn=ignore)
    equal(found["sshd"][0]["status"], "broken", str(found["sshd"]))


def test_a_check_whose_child_dies_is_not_ok(machine):
    """The same holds if doctor cannot read the answer of the child."""
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser nobody")
    # guard-user looks at the files in a child that becomes an account. pam-module loads the module in a child. sshd -T
    # itself calls setgroups.
    for call, what, check in (("/^setresgid(32)?$", "signal=KILL", "guard-user"),
                              ("/^setresuid(32)?$", "error=EPERM", "guard-user"),
                              ("/^setresuid(32)?$", "signal=SEGV", "guard-user"),
                              ("close_range", "signal=KILL", "pam-module")):
        found = injected("-f", "-e", f"trace={call}", "-e", f"inject={call}:{what}")[check]
        assert all(one["status"] != "ok" for one in found), f"{call} {what}: {found}"
        # A child that is killed says nothing about permissions.
        if "signal" in what and check == "guard-user":
            equal({(one["status"], one["remedy"]) for one in found}, {("warning", None)}, str(found))
            contains(str(found), "whether nobody can read")


def can_log_in(folder, key, name):
    """Asks a real sshd with the guard to accept a key for an account: (whether it does, its log)."""
    log = folder / "sshd.log"
    log.unlink(missing_ok=True)
    with running_sshd(folder, "-E", str(log), "-o", "LogLevel=VERBOSE", "-o", "UsePAM=no"):
        done = attempt("ssh", "-F", "none", "-p", "20022", "-i", key, "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes",
                       "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o",
                       "PreferredAuthentications=publickey", f"{name}@127.0.0.1", "true", text=False)
    return done.returncode == 0, log.read_text(encoding="utf-8", errors="replace")


def test_what_guard_guard_path_and_guard_user_call_broken(scratch, machine):
    """A real sshd is asked about each configuration that these checks judge."""
    home = scratch / "home"
    (home / ".ssh").mkdir(parents=True)
    made = keys.generate(scratch)
    shutil.copy(made.key.path, home / ".ssh/authorized_keys")
    for path in (home, home / ".ssh", home / ".ssh/authorized_keys"):
        os.chown(path, 21001, 65534)
    with open("/etc/passwd", "a", encoding="utf-8") as file:
        file.write(f"keyowner:x:21001:65534::{home}:/bin/sh\n")

    def compare(check, status):
        found, _ = doctor()
        equal(max((one["status"] for one in found[check]), key=RANK.get), status, str(found[check]))
        logged_in, log = can_log_in(scratch, made.path, "keyowner")
        equal(logged_in, status == "ok", f"{check} is {found[check]}, but sshd says:\n{log}")

    def change(check, path, **new):
        before = os.stat(path)
        os.chown(path, new.get("uid", 0), new.get("gid", 0))
        os.chmod(path, new.get("mode", before.st_mode & 0o7777))
        compare(check, "broken")
        os.chown(path, before.st_uid, before.st_gid)
        os.chmod(path, before.st_mode & 0o7777)

    compare("guard", "ok")
    change("guard-path", GUARD, mode=0o775, gid=65534)
    change("guard-path", GUARD, mode=0o757)
    change("guard-path", GUARD, uid=65534)
    change("guard-path", GUARD.parent, mode=0o1777)
    change("guard-path", GUARD.parent.parent, mode=0o775, gid=1)
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser missing")
    compare("guard-user", "broken")
    machine.sshd_config(*GUARDED[:2], "AuthorizedKeysCommandUser keyowner")
    compare("guard-user", "ok")
    change("guard-user", FILTER, mode=0o600)
    machine.sshd_config(GUARDED[0], GUARDED[1].replace("--key %k", ""), GUARDED[2])
    compare("guard", "broken")
    machine.sshd_config(*GUARDED)
    compare("guard", "ok")


def test_walls_of_the_guard_are_what_it_says(machine):
    expect("walls", "ok", "the guard judges keys behind seccomp")
    for says, found in (("echo none", "without seccomp, which this system refuses"),
                        ("exit 2", f"{GUARD} does not say whether it judges keys behind seccomp"),
                        ("echo seccomp; exit 1", "does not say"),
                        ("yes seccomp", "does not say"),
                        ("echo seccomp and more", "without seccomp")):
        GUARD.write_text(f'#!/bin/sh\n[ "$*" = --walls ] && {says}\n', encoding="utf-8")
        expect("walls", "warning", found)
    # A program that somebody else can write is not run.
    GUARD.chmod(0o777)
    lacks(str(expect("guard-path", "broken", "writable")["walls"]), "the guard")


def test_walls_a_command_behind_the_guard_would_inherit_them(machine):
    machine.sshd_config(*(f"{line} -- /bin/true" if line.startswith("AuthorizedKeysCommand ") else line
                          for line in GUARDED))
    contains(str(doctor()[0]["walls"]), "without seccomp, which the command behind -- would inherit")
