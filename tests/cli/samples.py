# SPDX-License-Identifier: ISC
"""Keys of every type, made once for a run, and files and filters that hold them."""

import atexit
import base64
import functools
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import nosecret
import pkbf
import sshkey
from openssh import has_dsa
from program import ROOT
from runs import tool

MIB = 1 << 20

# The publisher's two example keys, and the SHA-256 and XXH64 of their SPKI.
KNOWN_RSA, KNOWN_P256 = (line.rpartition(" ")[0] for line in (
    ROOT / "testdata/demo/publisher-examples.pub").read_text(encoding="ascii").splitlines())
KNOWN = {
    KNOWN_RSA: ("9e03b56749abe821a6f5299d6f634b35404975f0552eb3347bf3adfad9af1109",
                "7f41d67420810de8 89f7fb41341d0581"),
    KNOWN_P256: ("819f7d1dcd9f07bfcb59b7699f68994d89390c3bcd498cf7fb2e1ef3d272b89b",
                 "890fd1597a06a235 f70bde4c65a7a9f4"),
}


class Key:
    """A public key, and the values that keyveto must show for it."""

    def __init__(self, name, blob, path=None, comment=""):
        self.name, self.blob, self.path, self.comment = name, blob, path, comment
        self.oracle = sshkey.parse(blob)
        self.type = self.oracle.type
        self.token = sshkey.Reader(blob).name()
        self.fingerprint = self.oracle.fingerprint
        self.base64 = base64.b64encode(blob).decode()
        self.plain = f"{self.token} {self.base64}"

    @property
    def line(self):
        return f"{self.plain} {self.comment}".rstrip(" ")

    @property
    def public(self):
        return Path(f"{self.path}.pub")

    @property
    def bits(self):
        fixed = {"ssh-ed448": 456, sshkey.MLDSA: 512, "ecdsa-sha2-nistp384": 384, "ecdsa-sha2-nistp521": 521}
        if self.type not in ("ssh-rsa", "ssh-dss"):
            return fixed.get(self.type, 256)
        fields = sshkey.Reader(self.oracle.blob)
        fields.string()
        first = fields.mpint()
        return (first if self.type == "ssh-dss" else fields.mpint()).bit_length()

    @property
    def spki_sha256(self):
        return [hashlib.sha256(spki).hexdigest() for spki in self.oracle.spkis]


@functools.cache
def folder():
    """The folder of the keys. It is removed when the tests end."""
    path = tempfile.mkdtemp(prefix="keyveto-keys-")
    atexit.register(shutil.rmtree, path)
    os.chmod(path, 0o755)
    return Path(path)


def generate(name, kind, *options, comment):
    path = folder() / name
    tool("ssh-keygen", "-q", "-t", kind, *options, "-N", "", "-C", comment, "-f", path)
    return Key(name, base64.b64decode(Path(f"{path}.pub").read_text(encoding="utf-8").split()[1]), path, comment)


@functools.cache
def made():
    """Keys by ssh-keygen, one of every type that it makes without hardware."""
    rows = (("rsa", "rsa", "-b", "2048"), ("rsa-3072", "rsa", "-b", "3072"), ("dsa", "dsa"),
            ("p256", "ecdsa", "-b", "256"), ("p384", "ecdsa", "-b", "384"), ("p521", "ecdsa", "-b", "521"),
            ("ed25519", "ed25519"), ("other", "ed25519"))
    return {name: generate(name, *words, comment=f"{name} made by test") for name, *words in rows
            if name != "dsa" or has_dsa()}


def some(*names):
    """The keys of made() with these names. DSA is left out if this OpenSSH has dropped it."""
    return [made()[name] for name in names if name != "dsa" or has_dsa()]


@functools.cache
def built():
    """Keys made by the oracle, of the types for which ssh-keygen needs hardware, or which it lacks."""
    point = sshkey.Reader(made()["p256"].blob)
    point.string()
    point = point.point()[1]
    rows = {
        "sk-ed25519": sshkey.build_plain(sshkey.SK_ED25519, sshkey.fields_sk_ed25519(os.urandom(32))),
        "sk-p256": sshkey.build_plain(sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point)),
        "ed448": sshkey.build_plain("ssh-ed448", sshkey.fields_raw(os.urandom(57))),
        "mldsa": sshkey.build_plain(sshkey.MLDSA, sshkey.fields_raw(os.urandom(1344))),
        "mldsa-old": sshkey.build_plain(sshkey.MLDSA_OLD, sshkey.fields_raw(os.urandom(1344))),
    }
    return {name: Key(name, blob, comment=f"{name} built") for name, blob in rows.items()}


def every_key():
    return {**made(), **built()}


def certificate(key, ca, *options):
    """A certificate for a key by ssh-keygen: its path."""
    scratch = Path(tempfile.mkdtemp(dir=folder()))
    shutil.copy(key.public, scratch / "key.pub")
    tool("ssh-keygen", "-q", "-s", ca.path, "-I", "some id", "-n", "somebody,else", *options, scratch / "key.pub")
    return scratch / "key-cert.pub"


def ed25519_line(data, comment=""):
    """The line of an Ed25519 key. Any 32 bytes can be such a key."""
    return sshkey.key_line(sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(data)), comment=comment)


def random_blob(rnd, rsa_bits=(512, 1024, 1031, 2048, 3071, 4096, 8192, 16384)):
    """A blob of a random type with random fields, which needs its secret."""
    def number(bits):
        return rnd.getrandbits(bits) | 1 << (bits - 1) | 1

    def point(curve):
        return b"\4" + rnd.randbytes(2 * sshkey.CURVES[curve][1])

    kind = rnd.randrange(8)
    if kind == 0:
        n = nosecret.sound_number(rnd, rnd.choice(rsa_bits))
        return sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(rnd.choice((3, 35, 65537)), n))
    if kind == 1:
        return sshkey.build_plain("ssh-dss", sshkey.fields_dsa(number(1024), number(160), number(1023), number(1022)))
    if kind in (2, 3):
        curve = rnd.choice(list(sshkey.CURVES))
        return sshkey.build_plain(f"ecdsa-sha2-{curve}", sshkey.fields_ecdsa(curve, point(curve)))
    if kind == 4:
        return sshkey.build_plain(sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point("nistp256"), b"ssh:x"))
    if kind == 5:
        return sshkey.build_plain(sshkey.SK_ED25519, sshkey.fields_sk_ed25519(rnd.randbytes(32)))
    if kind == 6:
        return sshkey.build_plain(rnd.choice((sshkey.MLDSA, sshkey.MLDSA_OLD)), sshkey.fields_raw(rnd.randbytes(1344)))
    return sshkey.build_plain("ssh-ed448", sshkey.fields_raw(rnd.randbytes(57)))


def write(path, *parts, mode=None):
    """Writes a file from bytes and text: its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(part.encode() if isinstance(part, str) else part for part in parts))
    if mode is not None:
        path.chmod(mode)
    return path


def listing(path, *keys, k=20, p=16):
    """A filter that lists these keys (of a certificate: the key inside)."""
    f = pkbf.Filter.create(k, p, revision=1)
    for key in keys:
        for spki in (key.oracle if isinstance(key, Key) else key).published:
            f.add(spki)
    f.write(path)
    path.chmod(0o644)
    return path


@functools.cache
def empty_filter():
    """A filter that lists nothing."""
    return listing(folder() / "empty.pkbf")
