# SPDX-License-Identifier: ISC
"""User certificates that ssh-keygen would not write, and that sshd accepts.

sshd passes a certificate on as the client sent it. Its parser accepts several encodings of a key. ssh-agent makes
the CA's signature, because it signs any data.
"""

import base64
import contextlib
import os
import socket
import struct
import subprocess
import time

from keys import Identity, PublicKey
from patience import PATIENCE

# PROTOCOL.certkeys, and the ssh-agent protocol (draft-ietf-sshm-ssh-agent)
USER_CERTIFICATE = 1
FOREVER = 0xFFFFFFFFFFFFFFFF
SIGN_REQUEST, SIGN_RESPONSE = 13, 14
SIGN_WITH_SHA512 = 4


def string(data):
    return struct.pack(">I", len(data)) + data


def split_string(data):
    """The first string of a blob, and the bytes after it."""
    length, = struct.unpack_from(">I", data)
    return data[4:4 + length], data[4 + length:]


class Agent:
    """An ssh-agent that holds one key and signs with it."""

    def __init__(self, folder, identity):
        self._path = str(folder / f"agent-{identity.path.name}")
        self._blob = base64.b64decode(identity.key.blob)
        self._process = subprocess.Popen(["ssh-agent", "-D", "-a", self._path], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        self._wait()
        subprocess.run(["ssh-add", "-q", str(identity.path)], check=True, capture_output=True,
                       env={"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": self._path})

    def close(self):
        self._process.terminate()
        self._process.wait()

    def _wait(self):
        """Waits until the agent listens, which is after its socket exists."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with socket.socket(socket.AF_UNIX) as probe:
                if probe.connect_ex(self._path) == 0:
                    return
            if time.monotonic() > deadline:
                raise RuntimeError("ssh-agent did not start")
            time.sleep(0.005)

    def sign(self, data, flags=SIGN_WITH_SHA512):
        request = struct.pack(">B", SIGN_REQUEST) + string(self._blob) + string(data)
        request += struct.pack(">I", flags)
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(PATIENCE)
            agent.connect(self._path)
            agent.sendall(string(request))
            answer = agent.makefile("rb")
            length, = struct.unpack(">I", answer.read(4))
            body = answer.read(length)
        if body[0] != SIGN_RESPONSE:
            raise RuntimeError(f"ssh-agent does not sign: {body!r}")
        return split_string(body[1:])[0]


def odd_name(name):
    """A change of the name of the type in a blob."""
    return lambda blob: string(name) + split_string(blob)[1]


def odd_curve(name):
    """A change of the name of the curve in the blob of an ECDSA key."""
    def change(blob):
        kind, rest = split_string(blob)
        return string(kind) + string(name) + split_string(rest)[1]
    return change


def padded(zeros):
    """A change that puts zero bytes before the integers of an RSA or DSA key."""
    def change(blob):
        kind, rest = split_string(blob)
        changed = string(kind)
        while rest:
            number, rest = split_string(rest)
            changed += string(b"\0" * zeros + number)
        return changed
    return change


def unchanged(blob):
    return blob


def certify(folder, ca, identity, principal, change_key=unchanged, change_ca=unchanged):
    """The identity with a certificate. change_key changes its key, change_ca its CA's key.

    change_key gets a key blob that begins with the name of the certificate's type.
    """
    plain, fields = split_string(base64.b64decode(identity.key.blob))
    kind = plain + b"-cert-v01@openssh.com"
    name, fields = split_string(change_key(string(kind) + fields))
    body = string(name) + string(os.urandom(32)) + fields
    body += struct.pack(">QI", 1, USER_CERTIFICATE) + string(b"odd") + string(string(principal.encode()))
    # Validity, critical options, extensions, and a reserved field.
    body += struct.pack(">QQ", 0, FOREVER) + string(b"") + string(b"") + string(b"")
    body += string(change_ca(base64.b64decode(ca.key.blob)))
    with contextlib.closing(Agent(folder, ca)) as agent:
        body += string(agent.sign(body))
    path = folder / f"odd-{identity.path.name}-cert.pub"
    path.write_text(f"{kind.decode()} {base64.b64encode(body).decode()}\n", encoding="ascii")
    return Identity(identity.path, PublicKey(path))
