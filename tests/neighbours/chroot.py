# SPDX-License-Identifier: ISC
"""A group that gets only sftp in a chroot, as in sshd_config(5)."""

import grp
import os
from functools import partial
from pathlib import Path

from machine import write_as_root
from switch import Arrangement
from visits import Visit, sftp, shell

PACKAGES = ("openssh-sftp-server",)

KEYS = Path("/etc/ssh/authorized_keys")
INCOMING = "incoming"
HEAD = ("Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nKbdInteractiveAuthentication no\n"
        "Subsystem sftp /usr/lib/openssh/sftp-server\n")
MATCH = ("Match Group {group}\n    ChrootDirectory %h\n    ForceCommand internal-sftp\n"
         "    AllowTcpForwarding no\n    X11Forwarding no\n")


def _confine(account):
    """Root owns the home, as sshd requires of a chroot. The account owns a folder in it."""
    os.chown(account.home, 0, 0)
    account.home.chmod(0o755)
    incoming = account.home / INCOMING
    incoming.mkdir()
    os.chown(incoming, account.uid, account.gid)


def arrange(world):
    clean, listed = world.clean.key, world.listed.key
    ines, otto, alice, bob = (world.machine.add_account() for _ in range(4))
    for account, key in ((ines, clean), (otto, listed), (alice, clean), (bob, listed)):
        account.authorize(key)
    group = grp.getgrgid(world.machine.add_group(ines, otto)).gr_name
    _confine(ines)
    _confine(otto)

    def copies(title, account, identity, **how):
        return Visit(title, account.name, partial(sftp, world, account.name, identity, INCOMING), **how)

    def asks(title, account, identity, **how):
        return Visit(title, account.name, partial(shell, world, account.name, identity), **how)
    outside = (
        asks("an account outside of the group with a clean key", alice, world.clean),
        asks("an account outside of the group with a listed key", bob, world.listed, listed=True),
    )

    def inside(past_guard):
        return (
            copies("sftp with a clean key", ines, world.clean),
            copies("sftp with a listed key", otto, world.listed, listed=True, past_guard=past_guard),
            copies("sftp with a stranger's key", ines, world.stranger, known=False),
            asks("a shell with a clean key, which the group does not get,", ines, world.clean, known=False),
        )
    match = MATCH.format(group=group)
    yield Arrangement("chrooted sftp, keys in the homes", HEAD + match, inside(False) + outside, otto.name)
    # sshd reads the keys from another folder: the homes have none.
    for account, key in ((ines, clean), (otto, listed)):
        world.machine.make_folder(KEYS)
        write_as_root(KEYS / account.name, f"{key}\n")
        account.authorized_keys.unlink()
    yield Arrangement("chrooted sftp, keys in /etc/ssh", f"{HEAD}{match}    AuthorizedKeysFile {KEYS}/%u\n",
                      inside(True) + outside, otto.name)
