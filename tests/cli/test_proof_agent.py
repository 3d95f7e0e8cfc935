# SPDX-License-Identifier: ISC
"""A proof can be made by an ssh-agent alone, as one that was forwarded: keyveto-proof(5) says so."""

import contextlib

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

import keys
import oddcerts
from oddcerts import split_string
from program import keyveto
from proofs import ALGORITHM, HALF, Key, jws, proved, verify, write
from raw_rsa import AFTER_KEY, BEFORE_KEY, SHA256_RSA, element

RSA_SHA2_256 = 2    # draft-miller-ssh-agent
ALGORITHM_OF_REQUEST = {"rsa": SHA256_RSA, "p256": element(0x30, bytes.fromhex("06082a8648ce3d040302")),
                        "p384": element(0x30, bytes.fromhex("06082a8648ce3d040303")),
                        "p521": element(0x30, bytes.fromhex("06082a8648ce3d040304")),
                        "ed25519": element(0x30, bytes.fromhex("06032b6570"))}


class Agent(oddcerts.Agent):
    """An ssh-agent that holds one key. Only its socket is used."""

    def __init__(self, folder, key):
        super().__init__(folder, keys.from_pem(folder, key.pem()))
        self.kind = key.kind

    def sign(self, data, flags=RSA_SHA2_256):
        """The signature of these bytes in SSH's form, without the name of its algorithm."""
        return split_string(split_string(super().sign(data, flags))[1])[0]

    def numbers(self, data):
        r, rest = split_string(self.sign(data))
        return int.from_bytes(r, "big"), int.from_bytes(split_string(rest)[0], "big")

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
    with contextlib.closing(Agent(scratch, key)) as agent:
        made = {"PKCS#10": agent.request(key.spki)}
        if kind in ALGORITHM:
            made["JWS"] = jws(key, sign=agent.sign_jws)
    for form, proof in made.items():
        path = write(scratch / "proof", proof)
        assert proved(verify(path, key.public_file(scratch), status=0)) == [(key.fingerprint, form, key.id)]


@pytest.mark.parametrize("command", ["confirm", "proof verify", "filter add", "list add", "list create"])
def test_the_help_says_so(command):
    text = keyveto(*command.split(), "--help", status=0).stdout
    assert "forwarded agent or a" in " ".join(text.split())
