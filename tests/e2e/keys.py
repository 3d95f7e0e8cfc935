# SPDX-License-Identifier: ISC
"""Makes keys and certificates with ssh-keygen, filters and exact lists with the oracle."""

import base64
import hashlib
import itertools
import subprocess
import sys
from pathlib import Path

ORACLE = Path(__file__).resolve().parent.parent / "oracle" / "pkbf.py"
LIST_ORACLE = ORACLE.with_name("blocklist.py")
PROVE_LEAK = ORACLE.parent.parent.parent / "fleet/prove_leak.py"

_serial = itertools.count(1)


class PublicKey:
    """A public key file: its path, type and base64."""

    def __init__(self, path):
        self.path = Path(path)
        self.type, self.blob = self.path.read_text(encoding="ascii").split()[:2]

    def __str__(self):
        return f"{self.type} {self.blob}"

    @property
    def fingerprint(self):
        digest = hashlib.sha256(base64.b64decode(self.blob)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class Identity:
    """What a client logs in with: a private key, and possibly a certificate."""

    def __init__(self, path, certificate=None):
        self.path = Path(path)
        self.key = PublicKey(f"{path}.pub")
        self.certificate = certificate

    @property
    def options(self):
        """Options for the ssh command line."""
        options = ["-i", str(self.path)]
        if self.certificate:
            options += ["-o", f"CertificateFile={self.certificate.path}"]
        return options


def generate(folder, kind="ed25519", bits=None):
    """A fresh key pair."""
    path = Path(folder) / f"key{next(_serial)}"
    _ssh_keygen("-q", "-t", kind, *(["-b", str(bits)] if bits else []), "-N", "", "-C", "", "-f", path)
    return Identity(path)


def prove_leak(identity):
    """Does what a finder does: PATH.proof.pem is the proof that the key is compromised."""
    with open(f"{identity.path}.proof.pem", "wb") as proof:
        subprocess.run(["/usr/bin/python3", PROVE_LEAK, identity.path], stdout=proof, check=True)


def certify(ca, identity, principal):
    """The identity with a user certificate, signed by ca for principal."""
    number = next(_serial)
    _ssh_keygen("-q", "-s", ca.path, "-I", f"certificate {number}", "-n", principal, identity.key.path)
    made = identity.path.with_name(f"{identity.path.name}-cert.pub")
    certificate = made.rename(made.with_name(f"cert{number}.pub"))
    return Identity(identity.path, PublicKey(certificate))


def write_filter(path, listed, revision=1):
    """A filter that lists the given public keys."""
    path = Path(path)
    scratch = path.with_name(f"{path.name}.{next(_serial)}")
    _run(sys.executable, ORACLE, "create", scratch, "--hashes", "20", "--length", "16",
         "--revision", str(revision), *(key.path for key in listed))
    scratch.chmod(0o644)
    # As keyveto update does, replaces the old filter in one step.
    return scratch.replace(path)


def write_blocklist(path, listed, source=1):
    """An exact list that has the given public keys, all from one source."""
    path = Path(path)
    scratch = path.with_name(f"{path.name}.{next(_serial)}")
    _run(sys.executable, LIST_ORACLE, "create", scratch, "--id", str(source), *(key.path for key in listed))
    scratch.chmod(0o644)
    return scratch.replace(path)


def from_pem(folder, text):
    """The identity of a private key in PEM."""
    path = Path(folder) / f"key{next(_serial)}"
    path.write_text(text, encoding="ascii")
    path.chmod(0o600)
    path.with_name(f"{path.name}.pub").write_text(_run("ssh-keygen", "-y", "-f", path), encoding="ascii")
    return Identity(path)


def _ssh_keygen(*arguments):
    _run("ssh-keygen", *arguments)


def _run(*argv):
    done = subprocess.run([str(word) for word in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, argv))}: {done.stderr.strip()}")
    return done.stdout
