# SPDX-License-Identifier: ISC
"""In what this machine's OpenSSH differs from 9.2, which Debian 12 has.

Each was seen with the 10.0 of Debian 13.
"""

import functools
import re
import subprocess


@functools.cache
def version():
    said = subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr
    major, minor = re.match(r"OpenSSH_(\d+)\.(\d+)", said).groups()
    return int(major), int(minor)


@functools.cache
def has_dsa():
    return "ssh-dss" in subprocess.run(["ssh", "-Q", "key"], capture_output=True, text=True, check=True).stdout.split()


def takes_short_names():
    """A blob may call its type RSA, or eD25519."""
    return version() < (10, 0)


def password_step_shows_key():
    """With publickey,password the PAM auth phase is told of the key."""
    return version() >= (10, 0)


def takes_wildcards():
    """AuthorizedKeysFile may hold wildcards, which sshd looks for after it has put in the home."""
    return version() >= (10, 0)


def has_connection_token():
    """AuthorizedKeysCommand can be told of the connection, by %C."""
    return version() >= (9, 4)


def tunnels_after_refusal():
    """ssh -w gets root a tunnel in a session that PAM refused."""
    return version() < (10, 5)


def asks_root_no_old_password():
    """When a password has expired, sshd runs passwd as the account, which asks root for no old one.

    Both do so in a session that PAM refused. The sshd before has PAM change it, and PAM asks.
    """
    return version() >= (9, 8)


def keygen_reads_cr():
    """ssh-keygen takes a CR within base64 as sshd does; later it ends the line for ssh-keygen alone."""
    return version() < (10, 0)


def dsa_only(*options):
    """Options, or lines, that make ssh and sshd take DSA keys, where they can."""
    return options if has_dsa() else ()


def without_penalties():
    """Options for a sshd that many clients of one address come to, some in vain."""
    return ("PerSourcePenalties no",) if version() >= (9, 8) else ()
