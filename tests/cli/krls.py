# SPDX-License-Identifier: ISC
"""KRLs of OpenSSH: made and asked by ssh-keygen, or put together from sections (PROTOCOL.krl)."""

import struct
import subprocess

KEYS, SIGNATURE, SHA256, EXTENSION = 2, 4, 5, 255


def make_krl(path, *specification, ca=None):
    text = path.with_name(f"{path.name}.txt")
    text.write_text("".join(f"{line}\n" for line in specification), encoding="ascii")
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", path, *(("-s", ca) if ca else ()), text], check=True)
    return path


def revokes(krl, public):
    """ssh-keygen's answer."""
    status = subprocess.run(["ssh-keygen", "-Q", "-f", krl, public], stdout=subprocess.DEVNULL, check=False).returncode
    assert status in (0, 1)
    return status == 1


def string(data):
    return struct.pack(">I", len(data)) + data


def section(kind, *strings):
    return bytes([kind]) + string(b"".join(string(one) for one in strings))


HEADER = b"SSHKRL\n\0" + struct.pack(">IQQQ", 1, 0, 0, 0) + string(b"") + string(b"")


def signature(key):
    """Beyond its first string, which is the signer, it has the signature."""
    return bytes([SIGNATURE]) + string(key) + string(b"a signature")
