# SPDX-License-Identifier: ISC
"""Keys in the forms of OpenSSL, through keyveto check and keyveto spki."""

import fcntl
import hashlib
import json
import os
import pty
import subprocess
import termios

import pytest

import pkbf
import sshkey
from pem_keys import (CURVES, Made, blob_of, der_find, findings, forms, looked_up, made, number, one_key, pem, refused,
                      run, same_blob, same_spki, ssh_keygen, write)
from program import KEYVETO, PATIENCE, check, equal
from runs import tool
from samples import empty_filter

ENCRYPTED = "encrypted, its public half too: give its public key (.pub) instead"
TYPES = {           # name: type and bits that keyveto shows
    "rsa": ("ssh-rsa", 2048), "rsa-odd": ("ssh-rsa", 1031), "dsa": ("ssh-dss", 1024),
    "P-256": ("ecdsa-sha2-nistp256", 256), "P-384": ("ecdsa-sha2-nistp384", 384),
    "P-521": ("ecdsa-sha2-nistp521", 521),
    "ed25519": ("ssh-ed25519", 256), "ed448": ("ssh-ed448", 456),
    "rsa-pss": ("RSA-PSS", 1024), "secp256k1": ("EC-secp256k1", 256),
    "brainpoolP256r1": ("EC-brainpoolP256r1", 256), "sect233k1": ("EC-sect233k1", 232),
    "x25519": ("X25519", 253), "x448": ("X448", 448),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", TYPES)
def test_keys_in_every_form_that_openssl_writes(scratch, name):
    key = Made(scratch, name)
    for form, data in forms(key):
        path = write(scratch / "file", data)
        try:
            same_spki(path, key.spki)
            found = one_key(path)
            equal(found[:4], (1, "clean", *TYPES[name]), "finding")
            if name in (*CURVES, "rsa", "rsa-odd", "dsa", "ed25519", "ed448"):
                equal(found[4], sshkey.fingerprint(blob_of(name, key.spki)), "fingerprint")
            else:
                equal(found[4], "-", "fingerprint")
        except AssertionError as error:
            raise AssertionError(f"{form}: {error}") from None


def test_ssh_keygen_agrees_on_fingerprints_of_pem_keys(scratch):
    for kind in ("rsa", "ecdsa"):
        for form in ("PEM", "PKCS8"):
            path, blob = ssh_keygen(scratch, kind, "-m", form)
            same_blob(path, blob)
            public = write(scratch / "public", sshkey.key_line(blob), "\n")
            same_blob(write(scratch / "spki", tool("ssh-keygen", "-e", "-m", form, "-f", public)), blob)


def test_a_listed_key_is_found_in_every_form_of_it(scratch):
    for name in ("rsa", "P-256", "ed25519", "secp256k1"):
        key = Made(scratch, name)
        bad = pkbf.Filter.create(10, 14)
        bad.add(key.spki)
        bad.write(scratch / "bad.pkbf")
        for form, data in forms(key):
            path = write(scratch / "file", data)
            out, _ = run("check", "--filter", scratch / "bad.pkbf", path, status=(1,))
            check(out.startswith(f"{path}:1: listed: {TYPES[name][0]} ") and out.endswith(f" [{scratch}/bad.pkbf]\n"),
                  f"{name}, {form}: {out}")


def test_findings_in_pem_as_json(scratch):
    for name in ("rsa", "x25519"):
        key = Made(scratch, name)
        out, _ = run("check", "--all", "--json", "--filter", empty_filter(), key.private)
        found = json.loads(out)
        equal((found["line"], found["verdict"], found["type"], found["bits"], found["spki_sha256"]),
              (1, "clean", *TYPES[name], hashlib.sha256(key.spki).hexdigest()), "JSON")


def test_versions_1_and_3_of_x_509_are_read(scratch):
    """A certificate of openssl x509 -trustout is read, too."""
    key, = made(scratch, "P-256")
    request = write(scratch / "request", key.certificate())
    first = tool("openssl", "x509", "-req", "-in", request, "-signkey", key.private, "-set_serial", "0")
    if b"Version: 3" in tool("openssl", "x509", "-noout", "-text", input=first):    # OpenSSL 3.4 and later
        first = tool("openssl", "req", "-x509", "-x509v1", "-key", key.private, "-subj", "/CN=name", "-config",
                     "/dev/null")
    check(b"Version: 1" in tool("openssl", "x509", "-noout", "-text", input=first), "not version 1")
    write(scratch / "v1", first)
    write(scratch / "v1.der", tool("openssl", "x509", "-outform", "DER", input=first))
    write(scratch / "trusted", tool("openssl", "x509", "-trustout", "-setalias", "name", input=first))
    for path in ("v1", "v1.der", "trusted"):
        same_spki(scratch / path, key.spki)


def test_older_labels_of_certificates_and_requests(scratch):
    key, = made(scratch, "ed25519")
    for label, data in (("X509 CERTIFICATE", key.certificate("-x509", "-outform", "DER")),
                        ("NEW CERTIFICATE REQUEST", key.certificate("-outform", "DER"))):
        same_spki(write(scratch / "file", pem(label, data)), key.spki)


def test_an_ec_key_whose_curve_has_no_name(scratch):
    # P-256 with twice its generator is a group without a name in OpenSSL.
    p = 2**256 - 2**224 + 2**192 + 2**96 - 1
    b = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b
    gx = 0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296
    gy = 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5
    n = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
    slope = (3 * gx * gx - 3) * pow(2 * gy, -1, p) % p
    x = (slope * slope - 2 * gx) % p
    y = (slope * (gx - x) - gy) % p
    point = b"\4" + x.to_bytes(32, "big") + y.to_bytes(32, "big")
    d = sshkey
    group = d.der_seq(d.der_int(1), d.der_seq(d.der_oid("1.2.840.10045.1.1"), d.der_int(p)),
                      d.der_seq(d.der(4, (p - 3).to_bytes(32, "big")), d.der(4, b.to_bytes(32, "big"))),
                      d.der(4, point), d.der_int(n), d.der_int(1))
    spki = d.der_seq(d.der_seq(d.der_oid("1.2.840.10045.2.1"), group), d.der(3, b"\0", point))
    for path in (write(scratch / "der", spki), write(scratch / "pem", pem("PUBLIC KEY", spki))):
        same_spki(path, spki)
        equal(one_key(path)[2:4], ("EC-explicit", 256), "type")


def test_odd_encodings_of_one_rsa_key_are_one_key(scratch):
    key, = made(scratch, "rsa")
    n, e = (number(der_find(key.spki, 0, 1)[1:] and der_find(der_find(key.spki, 0, 1)[1:], 0, i)) for i in (0, 1))
    d = sshkey
    oid, null = d.der_oid("1.2.840.113549.1.1.1"), d.der(5)
    for algorithm in (d.der_seq(oid, null), d.der_seq(oid)):
        spki = d.der_seq(algorithm, d.der(3, b"\0", d.der_seq(d.der_int(n), d.der_int(e))))
        same_spki(write(scratch / "file", spki), key.spki)
    # BER: a length of four bytes.
    inner = key.spki[4:]
    same_spki(write(scratch / "file", b"\x30\x84", len(inner).to_bytes(4, "big"), inner), key.spki)


def test_encrypted_private_keys_say_what_to_give_instead(scratch):
    rsa, ed25519 = made(scratch, "rsa", "ed25519")
    secret = ("-passout", "pass:secret")
    for data in (rsa.convert("-aes128", *secret), ed25519.convert("-aes128", *secret),
                 rsa.command("rsa", "-traditional", "-aes128", *secret),
                 rsa.command("pkcs8", "-topk8", "-outform", "DER", *secret)):
        refused(write(scratch / "file", data), ENCRYPTED)
    path, _ = ssh_keygen(scratch, "ecdsa", "-m", "PEM", passphrase="secret")
    check(b"Proc-Type: 4,ENCRYPTED" in path.read_bytes(), "not a legacy PEM")
    refused(path, ENCRYPTED)
    refused(write(scratch / "file", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\nP2/56wAA\n"
                  "---- END SSH2 ENCRYPTED PRIVATE KEY ----\n"), "private key of the program from ssh.com")


def test_keys_in_der_that_cannot_be_read_are_problems_in_a_directory_too(scratch):
    """DER in other forms may be anything: only a file that is named says that it is a key."""
    path, secret = scratch / "d" / "file", ("-passout", "pass:secret")

    def told(data):
        write(path, data)
        found = run("check", "--all", "--filter", empty_filter(), path.parent, status=(0, 2))[1].splitlines()
        return [line.removeprefix(f"keyveto: {path}:1: ") for line in found if str(path) in line]

    path.parent.mkdir()
    for key in made(scratch, "rsa", "P-256", "ed25519"):
        for words in (("-v2", "aes-256-cbc"), ("-v1", "PBE-SHA1-3DES")):
            equal(told(key.command("pkcs8", "-topk8", "-outform", "DER", *words, *secret)), [ENCRYPTED], str(words))
        pkcs8 = key.command("pkcs8", "-topk8", "-nocrypt", "-outform", "DER")
        for data in (pkcs8[:-1], pkcs8[:40], key.spki[:-1]):
            equal(told(data), ["DER is cut short"], key.name)
        if key.name != "ed25519":           # any bytes are one
            equal(told(pkcs8[:36] + bytes(len(pkcs8) - 36)), ["private key is malformed"], f"{key.name}: damaged")
        equal(told(pkcs8), [], key.name)
    digest = sshkey.der_seq(sshkey.der_seq(sshkey.der_oid("2.16.840.1.101.3.4.2.1"), sshkey.der(5)),
                            sshkey.der(4, bytes(32)))
    equal(told(digest), [], "a digest")


def test_keyveto_asks_for_no_passphrase_even_on_a_terminal(scratch):
    key, = made(scratch, "rsa")
    paths = []
    for i, words in enumerate((("pkey", "-aes128"), ("pkey", "-aes128", "-traditional"),
                               ("pkcs8", "-topk8", "-outform", "DER"))):
        paths.append(write(scratch / f"file{i}", key.command(*words, "-passout", "pass:secret")))
    path, _ = ssh_keygen(scratch, "ed25519", passphrase="secret")
    master, slave = pty.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    process = subprocess.Popen([KEYVETO, "check", "--all", "--filter", empty_filter(), *paths, path], stdin=slave,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=take_terminal)
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("it waits for a passphrase") from None
    finally:
        os.close(slave)
        os.set_blocking(master, False)
        try:
            shown = os.read(master, 1000)
        except OSError:
            shown = b""
        os.close(master)
    equal(shown, b"", "text on the terminal")
    equal((process.returncode, out.count(b"\n"), err.count(ENCRYPTED.encode())), (2, 1, 3), "result")


def test_openssls_configuration_file_changes_nothing(scratch):
    config = write(scratch / "openssl.cnf", "openssl_conf = all\n[all]\nproviders = providers\n[providers]\n"
                   "null = on\nmissing = on\n[on]\nactivate = 1\n")
    for key in made(scratch, "rsa", "secp256k1", "ed25519"):
        for _, data in forms(key):
            out, _ = run("spki", "--sha256", write(scratch / "file", data),
                         env={**os.environ, "OPENSSL_CONF": str(config)})
            equal(out.split(), [hashlib.sha256(key.spki).hexdigest()], "SPKI")


def test_parameters_beside_a_key_are_passed_over_in_silence(scratch):
    both = tool("openssl", "ecparam", "-name", "prime256v1", "-genkey")
    path = write(scratch / "file", both)
    check(b"EC PARAMETERS" in both, "openssl wrote no parameters")
    found = one_key(path)
    equal(found[:3], (4, "clean", "ecdsa-sha2-nistp256"), "finding")
    made(scratch, "dsa")
    equal(findings(scratch / "dsa.param"), ([], []), "DSA PARAMETERS")


def test_kinds_of_keys_that_openssl_may_not_know(scratch):
    mldsa, ed25519 = bytes(i % 251 for i in range(1312)), bytes(range(32))
    blob = sshkey.build_plain(sshkey.MLDSA, sshkey.fields_raw(mldsa + ed25519))
    composite = sshkey.spki_raw("mldsa44-ed25519", mldsa + ed25519)
    for path in (write(scratch / "composite", composite),
                 write(scratch / "composite.pem", pem("PUBLIC KEY", composite))):
        equal(same_blob(path, blob)[2], sshkey.MLDSA, "type")
    single = sshkey.spki_raw("mldsa44", mldsa)
    same_spki(write(scratch / "single", pem("PUBLIC KEY", single)), single)
    own = sshkey.der_seq(sshkey.der_seq(sshkey.der_oid("1.3.6.1.4.1.99999.7")), sshkey.der(3, b"\0" + bytes(20)))
    same_spki(write(scratch / "own", own), own)
    equal(one_key(scratch / "own")[2:5], ("1.3.6.1.4.1.99999.7", 160, "-"), "type")
    # keyveto reads the output of keyveto spki.
    line = write(scratch / "line", sshkey.key_line(blob), "\n")
    equal(looked_up(write(scratch / "again", run("spki", "--pem", line)[0])),
          [*looked_up(line), hashlib.sha256(single).hexdigest(),
           hashlib.sha256(sshkey.spki_raw("ed25519", ed25519)).hexdigest()], "SPKIs read again")
    short = sshkey.spki_raw("mldsa44-ed25519", mldsa)
    refused(write(scratch / "short", short), "public key has the wrong length")
    tool("openssl", "genpkey", "-algorithm", "DH", "-pkeyopt", "group:ffdhe2048", "-out", scratch / "dh")
    refused(scratch / "dh", "private key of a type unknown here (dhKeyAgreement): give its public key")
    spki = tool("openssl", "pkey", "-in", scratch / "dh", "-pubout", "-outform", "DER")
    same_spki(write(scratch / "dh.pub", spki), spki)
