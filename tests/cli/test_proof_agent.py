# SPDX-License-Identifier: ISC
"""A proof can be made by an ssh-agent alone, as one that was forwarded: keyveto-proof(5) says so."""

import base64
import os
import socket
import struct
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

from program import keyveto
from proofs import ALGORITHM, HALF, Key, jws, proved, verify, write
from raw_rsa import AFTER_KEY, BEFORE_KEY, SHA256_RSA, element
from runs import tool

SIGN_REQUEST, SIGN_RESPONSE = 13, 14    # draft-miller-ssh-agent
RSA_SHA2_256 = 2
ALGORITHM_OF_REQUEST = {"rsa": SHA256_RSA, "p256": element(0x30, bytes.fromhex("06082a8648ce3d040302")),
                        "p384": element(0x30, bytes.fromhex("06082a8648ce3d040303")),
                        "p521": element(0x30, bytes.fromhex("06082a8648ce3d040304")),
                        "ed25519": element(0x30, bytes.fromhex("06032b6570"))}


def string(data):
    return struct.pack(">I", len(data)) + data


def read_string(data):
    size = struct.unpack(">I", data[:4])[0]
    return data[4:4 + size], data[4 + size:]


class Agent:
    """An ssh-agent that holds one key. Only its socket is used."""

    def __init__(self, folder, key):
        self.path, self.kind = str(folder / "agent"), key.kind
        self.blob = base64.b64decode(key.line.split()[1])
        self.process = subprocess.Popen(["ssh-agent", "-D", "-a", self.path], stdout=subprocess.PIPE, text=True)
        assert "SSH_AUTH_SOCK" in self.process.stdout.readline()
        tool("ssh-add", "-q", "-", input=key.pem(), env={**os.environ, "SSH_AUTH_SOCK": self.path}, text=True)

    def stop(self):
        self.process.terminate()
        self.process.communicate()

    def sign(self, data):
        """The signature of these bytes in SSH's form, without the name of its algorithm."""
        message = bytes([SIGN_REQUEST]) + string(self.blob) + string(data) + struct.pack(">I", RSA_SHA2_256)
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(self.path)
            peer.sendall(string(message))
            with peer.makefile("rb") as file:
                answer = file.read(struct.unpack(">I", file.read(4))[0])
        assert answer[0] == SIGN_RESPONSE
        return read_string(read_string(read_string(answer[1:])[0])[1])[0]

    def numbers(self, data):
        r, rest = read_string(self.sign(data))
        return int.from_bytes(r, "big"), int.from_bytes(read_string(rest)[0], "big")

    def sign_jws(self, data):
        if self.kind == "rsa":
            return self.sign(data)
        return b"".join(number.to_bytes(HALF[self.kind], "big") for number in self.numbers(data))

    def request(self, spki):
        info = element(0x30, BEFORE_KEY, spki, AFTER_KEY)
        signature = self.sign(info) if self.kind in ("rsa", "ed25519") else encode_dss_signature(*self.numbers(info))
        return element(0x30, info, ALGORITHM_OF_REQUEST[self.kind], element(3, b"\0", signature))


@pytest.mark.parametrize("kind", ALGORITHM_OF_REQUEST)
def test_an_agent_alone_makes_a_proof(scratch, kind):
    key = Key(kind)
    agent = Agent(scratch, key)
    try:
        made = {"PKCS#10": agent.request(key.spki)}
        if kind in ALGORITHM:
            made["JWS"] = jws(key, sign=agent.sign_jws)
    finally:
        agent.stop()
    for form, proof in made.items():
        path = write(scratch / "proof", proof)
        assert proved(verify(path, key.public_file(scratch), status=0)) == [(key.fingerprint, form, key.id)]


@pytest.mark.parametrize("command", ["confirm", "proof verify", "filter add", "list add", "list create"])
def test_the_help_says_so(command):
    text = keyveto(*command.split(), "--help", status=0).stdout
    assert "forwarded agent or a" in " ".join(text.split())
