# SPDX-License-Identifier: ISC
"""Private keys: their public half is read, and no byte of the private one goes anywhere."""

import base64
import json
import os
import re

import pytest
from program import KEYVETO, attempt, keyveto
from runs import tool
from samples import write


@pytest.fixture(scope="module", name="leaked")
def fixture_leaked(tmp_path_factory):
    """The texts of private keys of ssh-keygen."""
    folder = tmp_path_factory.mktemp("leaked")
    for name, words in (("ed25519", "-t ed25519"), ("ecdsa", "-t ecdsa"), ("rsa", "-t rsa -m PEM"),
                        ("pkcs8", "-t rsa -m PKCS8")):
        tool("ssh-keygen", "-q", "-f", folder / name, "-N", "passphrase" if name == "ecdsa" else "", *words.split())
    return [(folder / name).read_text() for name in ("ed25519", "ecdsa", "rsa", "pkcs8")]


def secrets_of(leaked):
    """Parts of each private key that only its private half has, in base64 and as bytes."""
    parts = []
    for text in leaked:
        body = [line for line in text.splitlines() if line and not line.startswith("-") and ":" not in line]
        parts += [line.encode() for line in body[-5:-1]] + [base64.b64decode("".join(body))[-150:-60]]
    return parts


@pytest.mark.parametrize("form", (False, True), ids=("pem", "json"))
def test_no_byte_of_a_private_key_is_written(scratch, leaked, form):
    """To no file, pipe, socket or message, but into the memory of the process that reads it."""
    path = write(scratch / "keys", json.dumps(leaked) + "\n" if form else "".join(leaked))
    config = write(scratch / "keyveto.conf", "OnHit deny\n")
    keyveto("filter", "create", scratch / "f", "--hashes", 10, "--length", 20, status=0)
    secrets = secrets_of(leaked)
    for words, piped in ((("check", "--all", "--filter", scratch / "f", path), False),
                         (("deny", "--config", config, path), False), (("filter", "add", scratch / "f", path), False),
                         (("list", "create", scratch / "l", path), False),
                         (("check", "--filter", scratch / "f"), True)):
        log = scratch / "log"
        done = attempt("strace", "-ff", "-qq", "-xx", "-s", "1000000", "-e",
                       "trace=write,writev,pwrite64,sendmsg,sendto,sendmmsg", "-o", log, KEYVETO, *words, text=False,
                       input=path.read_bytes() if piped else b"")
        assert done.returncode in (0, 1), done
        written = b"".join(
            bytes.fromhex(one.replace("\\x", "")) for log_file in scratch.glob("log.*")
            for one in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', log_file.read_text()))
        assert len(written) > 100 and all(part not in written for part in secrets), words
        for part in secrets:
            assert part not in done.stdout + done.stderr, words
    for file in scratch.iterdir():
        if file != path and not file.name.startswith("log"):
            assert not any(part in file.read_bytes() for part in secrets), file
    assert not [name for name in os.listdir("/tmp") if name.startswith("core")]
