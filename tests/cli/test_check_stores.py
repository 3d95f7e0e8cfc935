# SPDX-License-Identifier: ISC
"""keyveto check: key stores, PKCS #12 and Java's, are named unless they hold certificates only."""

import base64
import gzip
import struct
import subprocess

import pytest
from check_runs import check
from program import PATIENCE, ROOT, equal
from samples import write

LEFT = "keyveto does not look into it"
EXPORT = f"{LEFT}: export its certificates as PEM"
PASSWORD = "abcdef"


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=PATIENCE)


@pytest.fixture
def pair(scratch):
    """A private key and a certificate of it."""
    key, certificate = scratch / "key.pem", scratch / "cert.pem"
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
            certificate, "-subj", "/CN=x", "-days", "10")
    return key, certificate


def pkcs12(path, pair, *words):
    path.parent.mkdir(exist_ok=True)
    key, certificate = pair
    openssl("pkcs12", "-export", *(() if "-nokeys" in words else ("-inkey", key)), "-in", certificate, "-passout",
            f"pass:{PASSWORD}", "-out", path, *words)
    return path


def der(certificate):
    text = certificate.read_text(encoding="ascii").split("-----")[2]
    return base64.b64decode(text)


def java_store(certificate, magic=0xfeedfeed, version=2, private=0):
    """A store with two certificates (JavaKeyStore.engineStore), and with private keys in front."""
    def text(name):
        return struct.pack(">H", len(name)) + name

    def cert():
        return (text(b"X.509") if version == 2 else b"") + struct.pack(">I", len(certificate)) + certificate

    out = struct.pack(">III", magic, version, private + 2)
    for number in range(private):
        out += struct.pack(">I", 1) + text(b"k%d" % number) + bytes(8)
        out += struct.pack(">I", 70) + bytes(70) + struct.pack(">I", 1) + cert()
    for number in range(2):
        out += struct.pack(">I", 2) + text(b"c%d" % number) + bytes(8) + cert()
    return out + bytes(20)


def expect(path, reason):
    """What a run says of a store that is named, and of its directory."""
    for words in (path, path.parent):
        equal(check(words, status=2).problems, [f"{path}: {reason}"], words)


@pytest.mark.parametrize("words", [(), ("-keypbe", "NONE", "-certpbe", "NONE"), ("-nokeys",),
                                   ("-nokeys", "-certpbe", "NONE")], ids=" ".join)
def test_a_pkcs12_store_is_named(scratch, pair, words):
    expect(pkcs12(scratch / "d" / "a.p12", pair, *words), f"PKCS #12 key store: {EXPORT}")


@pytest.mark.parametrize("magic", [0xfeedfeed, 0xcececece])
def test_a_java_store_is_named(scratch, pair, magic):
    cert = der(pair[1])
    name = "Java key store"
    for version in (1, 2):
        store = java_store(cert, magic, version)
        for data in (store, java_store(cert, magic, version, private=1), store[:-1], store[:11] + b"\xff"):
            expect(write(scratch / "d" / "file", data), f"{name}: {EXPORT}")
    expect(write(scratch / "d" / "file", java_store(cert, magic) + bytes(2 << 20)), f"{name}: {EXPORT}")


@pytest.mark.parametrize("name", ("certificates.jks", "key.jks", "key.jceks"))
def test_the_stores_of_keytool_are_recognised(scratch, name):
    """keytool of OpenJDK 17 made them, with -importcert and -importkeystore."""
    store = write(scratch / "d" / "file", (ROOT / "testdata" / "java-stores" / name).read_bytes())
    expect(store, f"Java key store: {EXPORT}")


def test_stores_in_gzip_are_named(scratch, pair):
    data = pkcs12(scratch / "a.p12", pair).read_bytes()
    java = java_store(der(pair[1]), private=1)
    for store, name in ((data, "PKCS #12 key store"), (java, "Java key store")):
        expect(write(scratch / "d" / "file", gzip.compress(store)), f"{name}: {EXPORT}")


def test_an_indefinite_length_of_pkcs12_is_recognised(scratch):
    """As pk12util of older NSS wrote it: BER."""
    data = bytes.fromhex("3080020103308006092a864886f70d010701a0802480") + bytes(60)
    expect(write(scratch / "d" / "file", data), f"PKCS #12 key store: {EXPORT}")
