# SPDX-License-Identifier: ISC
"""How this machine's OpenSSH differs from 9.2, which Debian 12 has.

Each difference was observed with 10.0, which Debian 13 has, or with the version that the function names.
"""

import functools
import re
import subprocess


@functools.cache
def _said():
    return subprocess.run(["ssh", "-V"], capture_output=True, text=True, check=True).stderr


@functools.cache
def version():
    major, minor = re.match(r"OpenSSH_(\d+)\.(\d+)", _said()).groups()
    return int(major), int(minor)


def strictmodes():
    """What StrictModes yes of this sshd is called in keyveto.conf.

    Debian's sshd accepts files that an account's own group may write. OpenSSH's own (make check-openssh) does not.
    """
    return "private-group" if "Debian" in _said() else "yes"


def root_has_process():
    """Whether a session of root's has a process beside the one that let it in, as other accounts' sessions have."""
    return version() >= (9, 8)


@functools.cache
def has_dsa():
    return "ssh-dss" in subprocess.run(["ssh", "-Q", "key"], capture_output=True, text=True, check=True).stdout.split()


def takes_short_names():
    """Whether sshd accepts a blob that names its type RSA, or eD25519. 9.9 does not."""
    return version() < (9, 9)


def password_step_shows_key():
    """Whether the PAM auth phase sees the key in publickey,password. It does from 9.8 on."""
    return version() >= (9, 8)


def takes_wildcards():
    """Whether AuthorizedKeysFile may have wildcards. sshd expands the home before it looks for wildcards."""
    return version() >= (10, 0)


def has_service_name():
    """Whether PAMServiceName, by default sshd, is the PAM service. Before, it is the name that sshd was started by."""
    return version() >= (9, 8)


def has_connection_token():
    """Whether AuthorizedKeysCommand accepts %C, the addresses of the connection."""
    return version() >= (9, 4)


def tunnels_after_refusal():
    """Whether ssh -w gets root a tunnel in a session that PAM refused. 10.5 lets it, and 10.6 does not."""
    return version() < (10, 6)


def asks_root_no_old_password():
    """Whether root can change an expired password without the old one, in a session that PAM refused.

    From 9.8 on sshd runs passwd as the account, and passwd asks root for no old password. Before, sshd had PAM
    change the password, and PAM asked for the old one.
    """
    return version() >= (9, 8)


def keygen_reads_cr():
    """Whether ssh-keygen accepts a CR within base64, as sshd does. From 10.0 on a CR ends the line for ssh-keygen."""
    return version() < (10, 0)


def dsa_only(*options):
    """These options or lines if ssh and sshd support DSA, else none."""
    return options if has_dsa() else ()


def without_penalties():
    """Options for an sshd that refuses many clients from one address."""
    return ("PerSourcePenalties no",) if version() >= (9, 8) else ()
