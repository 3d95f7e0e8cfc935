# SPDX-License-Identifier: ISC
"""systemd's user records: accounts and keys from /etc/userdb, by userdbctl."""

import json
import os
import socket
import subprocess
from functools import partial
from pathlib import Path

from bench import check
from host import run, wait_until
from machine import write_as_root
from switch import NO_GUARD_ALONE, Arrangement
from visits import Visit, shell

PACKAGES = ("systemd-userdbd", "libnss-systemd")

RECORDS = Path("/etc/userdb")
SOCKETS = Path("/run/systemd/userdb")
SERVED = SOCKETS / "io.systemd.Multiplexer"
# The links that systemd-userdbd.socket makes beside the socket.
LINKS = ("io.systemd.NameServiceSwitch", "io.systemd.DropIn")
FIRST_NUMBER = 20101

STOCK = "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nKbdInteractiveAuthentication no\n"
COMMAND = "/usr/bin/userdbctl ssh-authorized-keys %u"


def _add_record(name, number, lines):
    home = Path(f"/home/{name}")
    home.mkdir()
    os.chown(home, number, number)
    user = {"userName": name, "uid": number, "gid": number, "homeDirectory": str(home), "shell": "/bin/sh",
            "disposition": "regular"}
    secret = {"privileged": {"sshAuthorizedKeys": lines}}
    group = {"groupName": name, "gid": number, "disposition": "regular"}
    for suffix, record, mode in (("user", user, 0o644), ("user-privileged", secret, 0o600), ("group", group, 0o644)):
        write_as_root(RECORDS / f"{name}.{suffix}", json.dumps(record), mode)
        (RECORDS / f"{number}.{suffix}").symlink_to(f"{name}.{suffix}")


def _start_userdbd():
    """Starts systemd-userdbd by its socket, as systemd does."""
    SOCKETS.mkdir(parents=True)
    subprocess.Popen(["systemd-socket-activate", "-l", SERVED,
                      "/lib/systemd/systemd-userdbd"],
                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(_is_listening, "systemd-socket-activate listens")
    SERVED.chmod(0o666)
    for link in LINKS:
        (SOCKETS / link).symlink_to(SERVED.name)


def _is_listening():
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(SERVED)) == 0


def arrange(world):
    clean, listed = str(world.clean.key), str(world.listed.key)
    people = {"uwe": [clean], "ulla": [listed], "uma": [f'restrict,command="id -un; echo forced; echo let in" {clean}']}
    RECORDS.mkdir()
    for number, (name, lines) in enumerate(people.items()):
        _add_record(name, FIRST_NUMBER + number, lines)
    _start_userdbd()
    for name, lines in people.items():
        told = run("userdbctl", "ssh-authorized-keys", name).splitlines()
        check(told == lines, f"userdbctl has other keys of {name}: {told}")
    alice, bob = world.machine.add_account(), world.machine.add_account()
    alice.authorize(clean)
    bob.authorize(listed)
    chained = write_as_root(world.scratch / "chained", f"{world.stranger.key}\n")

    def visit(title, account, identity, **how):
        return Visit(title, account, partial(shell, world, account, identity), **how)
    recorded = (
        visit("a user record with a clean key", "uwe", world.clean),
        visit("a user record with a listed key", "ulla", world.listed, listed=True),
        visit("a user record with a forced command", "uma", world.clean),
    )
    local = (
        visit("an account of this machine with a clean key", alice.name, world.clean),
        visit("an account of this machine with a listed key", bob.name, world.listed, listed=True),
    )
    other = "another key of a user record"
    lines = f"{STOCK}AuthorizedKeysCommand {COMMAND}{{}}\nAuthorizedKeysCommandUser root\n"
    yield Arrangement("userdbctl", lines.format(""), (
        *recorded, visit(other, "uwe", world.stranger, known=False), *local), bob.name, NO_GUARD_ALONE)
    yield Arrangement("userdbctl, chained and alone", lines.format(f" --chain /bin/cat {chained}") +
                      "AuthorizedKeysFile none\n", (*recorded, visit(other, "uwe", world.stranger)))
