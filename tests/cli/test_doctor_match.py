# SPDX-License-Identifier: ISC
"""keyveto status: Match blocks, and other ways in that bypass the guard."""

import os
import shutil
from pathlib import Path

import pytest

import nosecret
import sshkey
from doctor_machine import DROP_IN, GUARD, GUARDED, SESSION, SSHD_CONFIG, STOCK_STACK, doctor, expect, expect_all_well
from program import SSHD, contains, equal, keyveto, preload
from samples import write

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def test_match_accounts_and_clients_that_get_past_the_guard(machine):
    with open("/etc/passwd", "a", encoding="utf-8") as file:
        file.write("backup2:x:21000:21000::/nonexistent:/bin/sh\n")
    machine.sshd_config(*GUARDED, "Match User backup2", " AuthorizedKeysFile .ssh/authorized_keys")
    expect("match", "ok")
    machine.pam(STOCK_STACK)
    expect("guard", "broken", "1 account can be entered with a key that nothing judges: backup2")
    machine.sshd_config(*GUARDED, "Match User backup2", " AuthorizedKeysCommand none")
    expect_all_well()      # without files and command, no key is accepted
    machine.sshd_config(*GUARDED, "Match User backup2", " AuthorizedKeysFile none # as ever")
    expect_all_well()
    # sshd uses the first block that sets a keyword.
    machine.sshd_config(*GUARDED, "Match User backup2", " AuthorizedKeysFile none", "Match User backup2",
                        " AuthorizedKeysFile .ssh/authorized_keys")
    expect_all_well()
    machine.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", " AuthorizedKeysFile .ssh/authorized_keys")
    expect("match", "broken", f"{DROP_IN}:5: ", "for some clients")
    machine.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", " X11Forwarding no")
    expect_all_well()
    machine.sshd_config(*GUARDED, "Match User backup2", " TrustedUserCAKeys /etc/ssh/ca.pub")
    expect("user-ca", "broken", "backup2")
    machine.pam(SESSION + STOCK_STACK)
    expect_all_well()


def test_match_asks_about_every_block_for_accounts_or_groups(machine):
    """Also about a block that only sets PubkeyAuthentication: AuthorizedKeysFile then counts for its accounts."""
    with open("/etc/passwd", "a", encoding="utf-8") as file:
        file.write("backup2:x:21000:60::/nonexistent:/bin/sh\n")
    machine.pam(STOCK_STACK)
    for criterion, count, names in (("User backup2", "1 account", "backup2"),
                                    ("Group games", "2 accounts", "games, backup2")):
        machine.sshd_config("PubkeyAuthentication no", *GUARDED[1:], f"Match {criterion}", " PubkeyAuthentication yes")
        expect("guard", "broken", f"{count} can be entered with a key that nothing judges: {names}", others=["pam"])
        machine.sshd_config("PubkeyAuthentication no", *GUARDED, f"Match {criterion}", " PubkeyAuthentication yes")
        expect("match", "ok", others=["pam"])
    machine.sshd_config("PubkeyAuthentication no", *GUARDED[1:], "Match User backup2", " PubkeyAuthentication yes")
    machine.pam(SESSION + STOCK_STACK)
    expect_all_well()


def test_match_a_guard_only_in_match_blocks_leaves_others_unguarded(machine):
    with open("/etc/passwd", "a", encoding="utf-8") as file:
        file.write("backup2:x:21000:21000::/nonexistent:/bin/sh\n")
    machine.pam(STOCK_STACK)
    guarded = [f" {line}" for line in GUARDED]
    machine.sshd_config("Match User *,!backup2", *guarded)
    expect("guard", "broken", "1 account can be entered with a key that nothing judges: backup2")
    machine.sshd_config("Match User root", *guarded)
    expect("guard", "broken", " accounts can be entered with a key that nothing judges: ", "...")
    # A client from another machine is not in the block.
    machine.sshd_config("Match Address 127.0.0.1,::1", *guarded)
    expect("match", "broken", f"{DROP_IN}:2: the guard is set for some clients only")
    machine.sshd_config("Match all", *guarded)
    expect_all_well()
    machine.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", GUARDED[0])
    expect_all_well()
    machine.pam(SESSION + STOCK_STACK)
    machine.sshd_config("Match Address 127.0.0.1,::1", *guarded)
    expect_all_well()


HIDING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pwd.h>
#include <string.h>
struct passwd *getpwent(void)
{
    struct passwd *(*next)(void) = (struct passwd *(*)(void))dlsym(RTLD_NEXT, "getpwent"), *pw;

    do
        pw = next();
    while (pw != NULL && strcmp(pw->pw_name, "backup2") == 0);
    return pw;
}
"""


def test_match_knows_accounts_that_are_not_listed(scratch, machine):
    """getpwnam finds such an account, getpwent does not."""
    hidden = {"env": {**preload(scratch, HIDING), "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}}
    groups = Path("/etc/group").read_bytes()
    with open("/etc/passwd", "a", encoding="utf-8") as file:
        file.write("backup2:x:21000:21000::/nonexistent:/bin/sh\n")
    with open("/etc/group", "a", encoding="utf-8") as file:
        file.write("backups:x:21001:backup2\n")
    for criterion in ("User backup2", "User nobody,backup2", "Group backups"):
        machine.sshd_config(*GUARDED, f"Match {criterion}", " AuthorizedKeysFile .ssh/authorized_keys")
        machine.pam(STOCK_STACK)
        found, _ = doctor(**hidden)
        contains(str(found["guard"]), "can be entered with a key that nothing judges: ", "backup2")
    machine.sshd_config(*GUARDED, "Match User absent", " AuthorizedKeysCommand none")
    equal(doctor(**hidden)[1]["status"], "ok")
    Path("/etc/group").write_bytes(groups)


def test_match_is_not_ok_if_the_configuration_cannot_be_read(scratch, machine):
    another = scratch / "sshd"
    shutil.copy(SSHD, another)
    expect("match", "ok", arguments=("--sshd", another))
    # This one does not tell (-dd) which file it reads.
    another = write(another, f'#!/bin/sh\nexec {SSHD} "$@" 2>/dev/null\n', mode=0o755)
    expect("match", "warning", "Match blocks cannot be seen", arguments=("--sshd", another))
    expect("match", "ok", arguments=("--sshd", another, "--sshd-config", SSHD_CONFIG))
    assert machine.listed


def test_match_with_localport_asks_about_those_without_a_block(machine):
    machine.sshd_config(*GUARDED, "Match LocalPort 65535", " AuthorizedKeysFile none")
    expect_all_well()
    machine.sshd_config("Match LocalPort 22", *(f" {line}" for line in GUARDED))
    expect_all_well()
    machine.pam(STOCK_STACK)
    expect("match", "broken", "the guard is set for some clients only")
    assert machine.listed


def test_sshd_a_hostkey_that_is_a_fifo_is_named_with_its_line(scratch, machine):
    fifo = scratch / "fifo"
    os.mkfifo(fifo)
    machine.sshd_config(*GUARDED, f"HostKey {fifo}")
    found, _ = doctor()
    contains(found["sshd"][0]["found"], f"{DROP_IN}:{len(GUARDED) + 1}: HostKey {fifo} is a FIFO")


def test_match_a_block_ends_with_its_file(machine):
    machine.sshd_config("Match Address 192.0.2.1", " X11Forwarding no")
    SSHD_CONFIG.write_text(f"Include {DROP_IN}\nUsePAM yes\n" + "".join(f"{line}\n" for line in GUARDED)
                           + "AuthorizedKeysFile .ssh/authorized_keys\n", encoding="utf-8")
    expect_all_well()
    assert machine.listed


def test_user_ca_and_hostbased_without_guard_and_module_are_found(machine):
    guarded = (*GUARDED, "TrustedUserCAKeys /etc/ssh/ca.pub")
    machine.sshd_config(*guarded)
    contains(expect_all_well()["user-ca"][0]["found"], "the module judges")
    # A module that other lines can bypass does not count.
    machine.pam(STOCK_STACK + SESSION)
    expect("user-ca", "broken", "nothing judges", others=["pam-order"])
    machine.pam(SESSION.replace("requisite", "optional") + STOCK_STACK)
    expect("user-ca", "broken", "nothing judges", others=["pam-control"])
    machine.pam(STOCK_STACK)
    expect("user-ca", "broken", "nothing judges")
    principals = (f"AuthorizedPrincipalsCommand {GUARD} --user %u --type %t --key %k -- /bin/echo %u",
                  "AuthorizedPrincipalsCommandUser nobody")
    machine.sshd_config(*principals, *guarded)
    contains(expect_all_well()["user-ca"][0]["found"], "the guard judges")
    for command, lack in ((f"{GUARD} --user %u --type %t -- /bin/echo %u --key", "--key"),
                          (f"{GUARD} --user %u --home %h --type %t --key %k", "--")):
        machine.sshd_config(f"AuthorizedPrincipalsCommand {command}", principals[1], *guarded)
        expect("user-ca", "broken", f"lacks {lack}: sshd takes no such certificate")
    machine.sshd_config(principals[0], "AuthorizedPrincipalsCommandUser missing", *guarded)
    expect("guard-user", "broken", "AuthorizedPrincipalsCommandUser missing: there is no such account")
    machine.sshd_config(principals[0].replace(str(GUARD), f"/nowhere{GUARD}"), principals[1], *guarded)
    expect("guard-path", "broken", f"/nowhere{GUARD}: No such file", others=["guard-user"])
    machine.sshd_config(*principals, *guarded, "AuthorizedPrincipalsFile .ssh/principals")
    expect("user-ca", "broken", "nothing judges")
    machine.sshd_config(*GUARDED, "HostbasedAuthentication yes")
    expect("hostbased", "broken", "nothing judges")
    machine.pam(SESSION + STOCK_STACK)
    contains(expect_all_well()["hostbased"][0]["found"], "the module judges")


def test_tunnel_a_tunnel_that_outlives_a_refused_session_is_found(machine):
    machine.sshd_config("PermitTunnel ethernet")
    contains(expect_all_well()["tunnel"][0]["found"], "no connection of root's outlives a refusal")
    machine.pam(SESSION.replace(".so", ".so disconnect=never") + STOCK_STACK)
    expect("tunnel", "broken", "although PAM refuses")
    machine.sshd_config(*GUARDED, "PermitTunnel yes")
    expect("tunnel", "warning", "PermitTunnel is on")
    machine.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", " PermitTunnel point-to-point")
    expect("tunnel", "warning", "PermitTunnel is on")
    machine.sshd_config(*GUARDED, "Match User root", " PermitTunnel yes")
    expect("tunnel", "warning", "PermitTunnel is on")
    machine.sshd_config(*GUARDED, "Match Address 192.0.2.0/24", " PermitTunnel no")
    expect_all_well()
    machine.sshd_config("PermitTunnel yes", "KbdInteractiveAuthentication yes",
                        "AuthenticationMethods publickey,keyboard-interactive:pam")
    machine.pam("auth requisite pam_keyveto.so\n" + SESSION.replace(".so", ".so disconnect=never") + STOCK_STACK)
    expect("tunnel", "warning")


def no_secret(curve):
    """A CA that needs none, as a line of its file."""
    return sshkey.key_line(sshkey.build_plain(f"ecdsa-sha2-{curve}", sshkey.fields_ecdsa(
        curve, sshkey.ec_point(curve, *nosecret.ec_multiples(curve)[0]))))


def test_user_ca_a_ca_that_needs_no_secret_is_named(machine):
    """Wherever a CA is trusted; keyveto audit names the same ones, in the same places."""
    first, second, sound = (machine.folder / f"{name} ca.pub" for name in ("first", "second", "sound"))
    first.write_text(f"# ours\n{machine.clean}\n{no_secret('nistp256')}\n", encoding="ascii")
    second.write_text(f"{no_secret('nistp384')}\n", encoding="ascii")
    sound.write_text(f"{machine.clean}\n", encoding="ascii")

    def trusts(*paths):
        lines = [f'TrustedUserCAKeys "{paths[0]}"']
        for account, path in zip(("daemon", "nobody"), paths[1:]):
            lines += [f"Match User {account}", f' TrustedUserCAKeys "{path}"']
        machine.sshd_config(*GUARDED, *lines)
        return [line for line in keyveto("audit").stdout.splitlines() if "[built-in" in line]
    equal(trusts(sound), [])
    expect_all_well()
    for paths, number in (((first,), 1), ((sound, second), 1), ((first, second, first), 2)):
        named = trusts(*paths)
        equal(len(named), number, str(named))
        found = [one for one in expect("user-ca", "warning")["user-ca"] if one["status"] != "ok"]
        equal([one["found"].split(": anybody makes certificates of this CA, ")[0] for one in found],
              [line.split(": listed: ")[0] for line in named])
        for one, line in zip(found, named):
            contains(line, one["found"].split()[-2], "[built-in ecdsa-generator]")
            contains(one["found"], " ecdsa-sha2-nistp", " (ecdsa-generator)")
            contains(one["remedy"], "take that line out")
    # Who is let in by it is let in.
    machine.config("OnHit warn")
    expect("user-ca", "broken", f"{first}:3: anybody makes certificates", others=["policy"])
    machine.config("OnHit deny")
    machine.pam(STOCK_STACK)
    expect("user-ca", "broken", f"{first}:3: anybody makes certificates")
    machine.pam(SESSION + STOCK_STACK)
    machine.config(*(f"AllowKey {word}" for line in named for word in line.split() if word.startswith("SHA256:")))
    expect_all_well()


@pytest.mark.long
def test_user_ca_a_file_that_cannot_be_read_ends_nothing(machine):
    """sshd refuses it, too, and has nothing of it."""
    fifo = machine.folder / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, machine.folder / "none", machine.folder):
        machine.sshd_config(*GUARDED, f"TrustedUserCAKeys {path}")
        expect_all_well()
