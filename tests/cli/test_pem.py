# SPDX-License-Identifier: ISC
"""Key files that are not lines of text, through keyveto check and keyveto spki:
PEM, DER, X.509, private keys, RFC 4716, PuTTY.

    python3 tests/cli/test_pem.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto). The keys are made anew by
openssl and ssh-keygen, which also say what is right; what they cannot make is
built by the oracle. Prints a line for each case; the exit status is 1 if any
failed. What a case cannot do fails, too.
"""

import base64
import fcntl
import functools
import hashlib
import json
import os
import pty
import random
import re
import subprocess
import sys
import termios
from pathlib import Path

from cases import KEYVETO, PATIENCE, case, check, equal, run_all
from clilib import empty_filter, tool
import pkbf  # noqa: E402  (clilib has set the path)
import sshkey  # noqa: E402

ENCRYPTED = "encrypted, its public half too: give its public key (.pub) instead"

CURVES = {"P-256": "nistp256", "P-384": "nistp384", "P-521": "nistp521"}
ALGORITHMS = {      # name: arguments of openssl genpkey
    "rsa": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
    "rsa-odd": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1031"),
    "rsa-pss": ("-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:1024"),
    **{curve: ("-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{curve}")
       for curve in (*CURVES, "secp256k1", "brainpoolP256r1", "sect233k1")},
    **{name: ("-algorithm", name) for name in ("ed25519", "ed448", "x25519", "x448")},
}
TYPES = {           # name: type and bits that keyveto shows
    "rsa": ("ssh-rsa", 2048), "rsa-odd": ("ssh-rsa", 1031), "dsa": ("ssh-dss", 1024),
    "P-256": ("ecdsa-sha2-nistp256", 256), "P-384": ("ecdsa-sha2-nistp384", 384),
    "P-521": ("ecdsa-sha2-nistp521", 521),
    "ed25519": ("ssh-ed25519", 256), "ed448": ("ssh-ed448", 456),
    "rsa-pss": ("RSA-PSS", 1024), "secp256k1": ("EC-secp256k1", 256),
    "brainpoolP256r1": ("EC-brainpoolP256r1", 256), "sect233k1": ("EC-sect233k1", 232),
    "x25519": ("X25519", 253), "x448": ("X448", 448),
}


# --- running it ------------------------------------------------------------

def run(*words, stdin=b"", status=(0,), **more):
    """(standard output, standard error) of keyveto."""
    try:
        done = subprocess.run([KEYVETO, *map(str, words)], input=stdin, capture_output=True,
                              timeout=PATIENCE, check=False, **more)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"keyveto {words} hangs") from None
    for text in (done.stdout, done.stderr):
        check(all(byte == 10 or 32 <= byte < 127 for byte in text), f"raw bytes are printed: {text!r}")
    out, err = done.stdout.decode(), done.stderr.decode()
    check(done.returncode in status, f"keyveto {words}: status {done.returncode}, not {status}: {out}{err}")
    return out, err


def findings(path, status=(0,), **more):
    """What check says of a file: a list of (line, verdict, type, bits,
    fingerprint, comment) and a list of (line, reason)."""
    out, err = run("check", "--all", "--filter", empty_filter(), path, status=status, **more)
    keys = []
    for line in out.splitlines():
        m = re.fullmatch(r".*?:(\d+): (\w+): (\S+) (\d+) (\S+)(?: (.*))?", line)
        check(m, f"odd line {line!r}")
        number, verdict, kind, bits, fingerprint, comment = m.groups()
        keys.append((int(number), verdict, kind, int(bits), fingerprint, comment or ""))
    problems = [(int(number), reason) for number, reason in
                re.findall(rf"^keyveto: {re.escape(str(path))}:(\d+): (.*)$", err, re.MULTILINE)]
    return keys, problems


def one_key(path, **more):
    keys, problems = findings(path, **more)
    equal(problems, [], f"problems in {path}")
    equal(len(keys), 1, f"keys in {path}")
    return keys[0]


def refused(path, reason, line=1):
    """The file holds no key that can be read, for a reason that starts so."""
    keys, problems = findings(path, status=(2,))
    equal(keys, [], f"keys in {path}")
    check(len(problems) == 1 and problems[0][0] == line and problems[0][1].startswith(reason),
          f"{path}: {problems}, not {line}: {reason}")


def looked_up(path, status=(0,)):
    """SHA-256 of what is looked up for the keys in a file."""
    return run("spki", "--sha256", path, status=status)[0].split()


def same_spki(path, spki):
    equal(looked_up(path), [hashlib.sha256(spki).hexdigest()], f"SPKI of {path}")


def same_blob(path, blob):
    """The file holds this SSH key and no other."""
    key = sshkey.parse(blob)
    equal(looked_up(path), [hashlib.sha256(spki).hexdigest() for spki in key.spkis], f"SPKI of {path}")
    found = one_key(path)
    equal(found[4], sshkey.fingerprint(blob), f"fingerprint of {path}")
    return found


def write(path, *parts):
    path.write_bytes(b"".join(part.encode() if isinstance(part, str) else part for part in parts))
    return path


def wrap(data, width=64):
    text = base64.b64encode(data).decode()
    return "".join(text[i:i + width] + "\n" for i in range(0, len(text), width))


def pem(label, data, headers=""):
    return f"-----BEGIN {label}-----\n{headers}{wrap(data)}-----END {label}-----\n"


def ssh2(blob, headers=""):
    return f"---- BEGIN SSH2 PUBLIC KEY ----\n{headers}{wrap(blob, 70)}---- END SSH2 PUBLIC KEY ----\n"


# --- keys --------------------------------------------------------------------

class Made:
    """A key of openssl's, and its SPKI."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.private = folder / f"{name}.key"
        if name == "dsa":
            tool("openssl", "dsaparam", "-out", folder / "dsa.param", "1024")
            tool("openssl", "genpkey", "-paramfile", folder / "dsa.param", "-out", self.private)
        else:
            tool("openssl", "genpkey", *ALGORITHMS[name], "-out", self.private)
        self.spki = self.convert("-pubout", "-outform", "DER")

    def convert(self, *words):
        return tool("openssl", "pkey", "-in", self.private, *words)

    def command(self, *words):
        return tool("openssl", words[0], "-in", self.private, *words[1:])

    def certificate(self, *words):
        return tool("openssl", "req", "-new", "-key", self.private, "-subj", "/CN=example", *words)


def made(tmp, *names):
    return [Made(tmp, name) for name in names]


def ssh_keygen(tmp, kind, *words, comment="a comment", passphrase=""):
    """(private key file, blob) of a new key."""
    path = tmp / f"ssh-{kind}-{len(list(tmp.iterdir()))}"
    tool("ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", comment, "-f", path, *words)
    blob = base64.b64decode((tmp / f"{path.name}.pub").read_bytes().split()[1])
    (tmp / f"{path.name}.pub").unlink()
    return path, blob


def der_items(data):
    """(tag, content) of each element in DER data."""
    while data:
        tag, size, start = data[0], data[1], 2
        if size & 0x80:
            start += size & 0x7F
            size = int.from_bytes(data[2:start], "big")
        yield tag, data[start:start + size]
        data = data[start + size:]


def der_find(data, *path):
    """The content at a path of indexes into nested elements."""
    for index in path:
        data = list(der_items(data))[index][1]
    return data


def number(content):
    return int.from_bytes(content, "big")


def blob_of(name, spki):
    """The SSH blob for an SPKI, built without keyveto."""
    key = der_find(spki, 0, 1)[1:]
    if name.startswith("rsa"):
        n, e = (number(der_find(key, 0, i)) for i in (0, 1))
        return sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(e, n))
    if name == "dsa":
        p, q, g = (number(der_find(spki, 0, 0, 1, i)) for i in range(3))
        return sshkey.build_plain("ssh-dss", sshkey.fields_dsa(p, q, g, number(der_find(key, 0))))
    if name in CURVES:
        curve = CURVES[name]
        return sshkey.build_plain(f"ecdsa-sha2-{curve}", sshkey.fields_ecdsa(curve, key))
    return sshkey.build_plain(f"ssh-{name}", sshkey.fields_raw(key))


def openssh_container(*blobs, cipher=b"none", magic=b"openssh-key-v1\0", count=None, tail=None):
    s = sshkey.string
    return b"".join((magic, s(cipher), s(b"none"), s(b""),
                     (len(blobs) if count is None else count).to_bytes(4, "big"),
                     *map(s, blobs), s(bytes(64)) if tail is None else tail))


def openssh_pem(*blobs, **more):
    return pem("OPENSSH PRIVATE KEY", openssh_container(*blobs, **more))


ED25519 = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(bytes(range(32))))


# --- cases: OpenSSL's forms ------------------------------------------------------

def forms(key):
    """Every form that openssl writes a key in, and must be understood."""
    yield "SPKI", key.convert("-pubout")
    yield "SPKI in DER", key.spki
    yield "PKCS#8", key.convert()
    yield "PKCS#8 in DER", key.convert("-outform", "DER")
    if not key.name.startswith("x"):
        yield "certificate", key.certificate("-x509")
        yield "certificate in DER", key.certificate("-x509", "-outform", "DER")
        yield "request", key.certificate()
        yield "request in DER", key.certificate("-outform", "DER")
    if key.name.startswith("rsa") and key.name != "rsa-pss":
        yield "PKCS#1 public", key.command("rsa", "-RSAPublicKey_out")
        yield "PKCS#1 public in DER", key.command("rsa", "-RSAPublicKey_out", "-outform", "DER")
        yield "PKCS#1 private", key.command("rsa", "-traditional")
        yield "PKCS#1 private in DER", key.command("rsa", "-traditional", "-outform", "DER")
    if key.name == "dsa":
        yield "traditional private", key.convert("-traditional")
        yield "traditional private in DER", key.command("dsa", "-outform", "DER")
    if key.name in CURVES or key.name == "secp256k1":
        yield "SEC 1 private", key.convert("-traditional")
        yield "SEC 1 private in DER", key.command("ec", "-outform", "DER")
        yield "SEC 1 private without public half", key.command("ec", "-no_public")
        yield "compressed", key.command("ec", "-pubout", "-conv_form", "compressed")
        yield "hybrid", key.command("ec", "-pubout", "-conv_form", "hybrid")
        yield "compressed private in DER", key.command("ec", "-conv_form", "compressed", "-outform", "DER")
        yield "explicit parameters", key.command("ec", "-pubout", "-param_enc", "explicit")
        yield "explicit parameters, private", key.command("ec", "-param_enc", "explicit")


def test_forms(name, tmp):
    key = Made(tmp, name)
    for form, data in forms(key):
        path = write(tmp / "file", data)
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


for _name in TYPES:
    case(f"{_name} keys in every form that openssl writes")(functools.partial(test_forms, _name))


@case("ssh-keygen agrees on fingerprints of PEM keys")
def _(tmp):
    for kind in ("rsa", "ecdsa"):
        for form in ("PEM", "PKCS8"):
            path, blob = ssh_keygen(tmp, kind, "-m", form)
            same_blob(path, blob)
            public = write(tmp / "public", sshkey.key_line(blob), "\n")
            same_blob(write(tmp / "spki", tool("ssh-keygen", "-e", "-m", form, "-f", public)), blob)


@case("a listed key is found in every form of it")
def _(tmp):
    for name in ("rsa", "P-256", "ed25519", "secp256k1"):
        key = Made(tmp, name)
        bad = pkbf.Filter.create(10, 14)
        bad.add(key.spki)
        bad.write(tmp / "bad.pkbf")
        for form, data in forms(key):
            path = write(tmp / "file", data)
            out, _ = run("check", "--filter", tmp / "bad.pkbf", path, status=(1,))
            check(out.startswith(f"{path}:1: listed: {TYPES[name][0]} ") and out.endswith(f" [{tmp}/bad.pkbf]\n"),
                  f"{name}, {form}: {out}")


@case("findings in PEM as JSON")
def _(tmp):
    for name in ("rsa", "x25519"):
        key = Made(tmp, name)
        out, _ = run("check", "--all", "--json", "--filter", empty_filter(), key.private)
        found = json.loads(out)
        equal((found["line"], found["verdict"], found["type"], found["bits"], found["spki_sha256"]),
              (1, "clean", *TYPES[name], hashlib.sha256(key.spki).hexdigest()), "JSON")


@case("versions 1 and 3 of X.509, and what openssl x509 -trustout adds")
def _(tmp):
    key, = made(tmp, "P-256")
    request = write(tmp / "request", key.certificate())
    first = tool("openssl", "x509", "-req", "-in", request, "-signkey", key.private, "-set_serial", "0")
    if b"Version: 3" in tool("openssl", "x509", "-noout", "-text", stdin=first):    # OpenSSL 3.4 and later
        first = tool("openssl", "req", "-x509", "-x509v1", "-key", key.private, "-subj", "/CN=name", "-config", "/dev/null")
    check(b"Version: 1" in tool("openssl", "x509", "-noout", "-text", stdin=first), "not version 1")
    write(tmp / "v1", first)
    write(tmp / "v1.der", tool("openssl", "x509", "-outform", "DER", stdin=first))
    write(tmp / "trusted", tool("openssl", "x509", "-trustout", "-setalias", "name", stdin=first))
    for path in ("v1", "v1.der", "trusted"):
        same_spki(tmp / path, key.spki)


@case("older labels of certificates and requests")
def _(tmp):
    key, = made(tmp, "ed25519")
    for label, data in (("X509 CERTIFICATE", key.certificate("-x509", "-outform", "DER")),
                        ("NEW CERTIFICATE REQUEST", key.certificate("-outform", "DER"))):
        same_spki(write(tmp / "file", pem(label, data)), key.spki)


@case("an EC key whose curve has no name")
def _(tmp):
    # P-256 with twice its generator: OpenSSL knows no such group.
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
    for path in (write(tmp / "der", spki), write(tmp / "pem", pem("PUBLIC KEY", spki))):
        same_spki(path, spki)
        equal(one_key(path)[2:4], ("EC-explicit", 256), "type")


@case("odd encodings of one RSA key are one key")
def _(tmp):
    key, = made(tmp, "rsa")
    n, e = (number(der_find(key.spki, 0, 1)[1:] and der_find(der_find(key.spki, 0, 1)[1:], 0, i)) for i in (0, 1))
    d = sshkey
    oid, null = d.der_oid("1.2.840.113549.1.1.1"), d.der(5)
    for algorithm in (d.der_seq(oid, null), d.der_seq(oid)):
        spki = d.der_seq(algorithm, d.der(3, b"\0", d.der_seq(d.der_int(n), d.der_int(e))))
        same_spki(write(tmp / "file", spki), key.spki)
    # BER: a length of four bytes.
    inner = key.spki[4:]
    same_spki(write(tmp / "file", b"\x30\x84", len(inner).to_bytes(4, "big"), inner), key.spki)


@case("encrypted private keys say what to give instead")
def _(tmp):
    rsa, ed25519 = made(tmp, "rsa", "ed25519")
    secret = ("-passout", "pass:secret")
    for data in (rsa.convert("-aes128", *secret), ed25519.convert("-aes128", *secret),
                 rsa.command("rsa", "-traditional", "-aes128", *secret),
                 rsa.command("pkcs8", "-topk8", "-outform", "DER", *secret)):
        refused(write(tmp / "file", data), ENCRYPTED)
    path, _ = ssh_keygen(tmp, "ecdsa", "-m", "PEM", passphrase="secret")
    check(b"Proc-Type: 4,ENCRYPTED" in path.read_bytes(), "not a legacy PEM")
    refused(path, ENCRYPTED)
    refused(write(tmp / "file", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: x\nP2/56wAA\n"
                  "---- END SSH2 ENCRYPTED PRIVATE KEY ----\n"), "private key of the program from ssh.com")


@case("nobody is asked for a passphrase, terminal or not")
def _(tmp):
    key, = made(tmp, "rsa")
    paths = []
    for i, words in enumerate((("pkey", "-aes128"), ("pkey", "-aes128", "-traditional"),
                               ("pkcs8", "-topk8", "-outform", "DER"))):
        paths.append(write(tmp / f"file{i}", key.command(*words, "-passout", "pass:secret")))
    path, _ = ssh_keygen(tmp, "ed25519", passphrase="secret")
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


@case("OpenSSL's configuration file changes nothing")
def _(tmp):
    config = write(tmp / "openssl.cnf", "openssl_conf = all\n[all]\nproviders = providers\n[providers]\n"
                   "null = on\nmissing = on\n[on]\nactivate = 1\n")
    for key in made(tmp, "rsa", "secp256k1", "ed25519"):
        for _, data in forms(key):
            out, _ = run("spki", "--sha256", write(tmp / "file", data), env={**os.environ, "OPENSSL_CONF": str(config)})
            equal(out.split(), [hashlib.sha256(key.spki).hexdigest()], "SPKI")


@case("parameters beside a key are passed over in silence")
def _(tmp):
    both = tool("openssl", "ecparam", "-name", "prime256v1", "-genkey")
    path = write(tmp / "file", both)
    check(b"EC PARAMETERS" in both, "openssl wrote no parameters")
    found = one_key(path)
    equal(found[:3], (4, "clean", "ecdsa-sha2-nistp256"), "finding")
    made(tmp, "dsa")
    equal(findings(tmp / "dsa.param"), ([], []), "DSA PARAMETERS")


@case("kinds of keys that OpenSSL may not know")
def _(tmp):
    mldsa, ed25519 = bytes(i % 251 for i in range(1312)), bytes(range(32))
    blob = sshkey.build_plain(sshkey.MLDSA, sshkey.fields_raw(mldsa + ed25519))
    composite = sshkey.spki_raw("mldsa44-ed25519", mldsa + ed25519)
    for path in (write(tmp / "composite", composite), write(tmp / "composite.pem", pem("PUBLIC KEY", composite))):
        equal(same_blob(path, blob)[2], sshkey.MLDSA, "type")
    single = sshkey.spki_raw("mldsa44", mldsa)
    same_spki(write(tmp / "single", pem("PUBLIC KEY", single)), single)
    own = sshkey.der_seq(sshkey.der_seq(sshkey.der_oid("1.3.6.1.4.1.99999.7")), sshkey.der(3, b"\0" + bytes(20)))
    same_spki(write(tmp / "own", own), own)
    equal(one_key(tmp / "own")[2:5], ("1.3.6.1.4.1.99999.7", 160, "-"), "type")
    # What spki prints can be read again.
    line = write(tmp / "line", sshkey.key_line(blob), "\n")
    equal(looked_up(write(tmp / "again", run("spki", "--pem", line)[0])),
          [*looked_up(line), hashlib.sha256(single).hexdigest(),
           hashlib.sha256(sshkey.spki_raw("ed25519", ed25519)).hexdigest()], "SPKIs read again")
    short = sshkey.spki_raw("mldsa44-ed25519", mldsa)
    refused(write(tmp / "short", short), "public key has the wrong length")
    tool("openssl", "genpkey", "-algorithm", "DH", "-pkeyopt", "group:ffdhe2048", "-out", tmp / "dh")
    refused(tmp / "dh", "private key of a type unknown here (dhKeyAgreement): give its public key")
    spki = tool("openssl", "pkey", "-in", tmp / "dh", "-pubout", "-outform", "DER")
    same_spki(write(tmp / "dh.pub", spki), spki)


# --- cases: OpenSSH's private keys ----------------------------------------------

@case("OpenSSH private keys of every type, encrypted or not")
def _(tmp):
    for kind in ("rsa", "ecdsa", "ed25519"):
        for passphrase in ("", "secret"):
            for cipher in ((), ("-Z", "aes256-gcm@openssh.com"), ("-Z", "chacha20-poly1305@openssh.com")):
                path, blob = ssh_keygen(tmp, kind, *cipher, passphrase=passphrase)
                check(path.read_bytes().startswith(b"-----BEGIN OPENSSH PRIVATE KEY"), "another form")
                same_blob(path, blob)


@case("types in an OpenSSH private key that ssh-keygen needs hardware for")
def _(tmp):
    point = der_find(Made(tmp, "P-256").spki, 0, 1)[1:]
    for name, fields in (("ssh-ed448", sshkey.fields_raw(bytes(57))),
                         ("ssh-dss", sshkey.fields_dsa(2**1023 + 1, 2**159 + 1, 3, 5)),
                         (sshkey.SK_ED25519, sshkey.fields_sk_ed25519(bytes(range(32)))),
                         (sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point)),
                         (sshkey.MLDSA, sshkey.fields_raw(bytes(1344))),
                         (sshkey.MLDSA_OLD, sshkey.fields_raw(bytes(1344)))):
        blob = sshkey.build_plain(name, fields)
        for cipher in (b"none", b"aes256-ctr", b"a cipher of the future"):
            found = same_blob(write(tmp / "file", openssh_pem(blob, cipher=cipher)), blob)
            equal(found[2], name, "type")


@case("a certificate in an OpenSSH private key: the key and its CA")
def _(tmp):
    ca = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(bytes(32)))
    cert = sshkey.build_cert(sshkey.cert_name("ssh-ed25519"), sshkey.fields_raw(bytes(range(32))), ca)
    for text in (openssh_pem(cert), ssh2(cert)):
        keys, problems = findings(write(tmp / "file", text))
        equal([key[4] for key in keys], [sshkey.fingerprint(ED25519), sshkey.fingerprint(ca)], "fingerprints")
        equal(problems, [], "problems")


@case("an OpenSSH private key with another number of keys than one is refused")
def _(tmp):
    for count in (0, 2, 2**32 - 1):
        refused(write(tmp / "file", openssh_pem(ED25519, ED25519, count=count)),
                f"OpenSSH private key file with {count} keys; OpenSSH reads only files with one")


@case("damaged OpenSSH private keys are refused")
def _(tmp):
    whole = openssh_container(ED25519, tail=b"")
    for size in range(len(whole)):
        refused(write(tmp / "file", pem("OPENSSH PRIVATE KEY", whole[:size])), ("not an OpenSSH", "OpenSSH private"))
    refused(write(tmp / "file", openssh_pem(ED25519, magic=b"openssh-key-v2\0")), "not an OpenSSH private key")
    refused(write(tmp / "file", openssh_pem(ED25519 + b"x")), "data after the end of the key")
    refused(write(tmp / "file", openssh_pem(ED25519[:-1])), "")
    refused(write(tmp / "file", openssh_pem(b"")), "")
    refused(write(tmp / "file", openssh_pem(sshkey.string(b"ssh-new\x1b[2J@example.org") + b"xx")),
            "unknown key type ssh-new\\x1b[2J@example.org")
    refused(write(tmp / "file", openssh_pem(sshkey.string(b"n" * 500))), "unknown key type")


# --- cases: RFC 4716, PuTTY ------------------------------------------------------

@case("what ssh-keygen -e writes")
def _(tmp):
    for kind in ("rsa", "ecdsa", "ed25519"):
        path, blob = ssh_keygen(tmp, kind)
        public = write(tmp / "public", sshkey.key_line(blob, comment="x"), "\n")
        text = tool("ssh-keygen", "-e", "-f", public)
        check(text.startswith(b"---- BEGIN SSH2 PUBLIC KEY ----\n"), "another form")
        found = same_blob(write(tmp / "file", text), blob)
        check("converted by" in found[5], f"comment {found[5]!r}")
        equal(one_key(write(tmp / "file", text.replace(b"\n", b"\r\n")))[2:], found[2:], "CRLF")


@case("headers of RFC 4716")
def _(tmp):
    for headers, comment in (("", ""), ("Comment: plain words\n", "plain words"),
                             ('Comment: "in quotes"\n', "in quotes"),
                             ('COMMENT: "go on \\\nand on \\\nagain"\n', "go on and on again"),
                             ("Subject: me\nx-Command: a: b \\\nssh: c\nComment: after\n", "after"),
                             ("Comment:\n", ""), ('Comment: "\n', '"'), ("Comment: \\\n\\\n\\\nend\n", "end"),
                             ("Comment: \x1b[31m\n", "\\x1b[31m"), ("Comment: caf\xe9\n", "caf\\xc3\\xa9"),
                             (f"Comment: {'long' * 200}\n", ("long" * 200)[:255]),
                             (f"Comment: {'a' * 250}\\\n{'b' * 250}\n", "a" * 250 + "b" * 5),
                             ("Comment: a\0b\n", "a")):
        found = same_blob(write(tmp / "file", ssh2(ED25519, headers)), ED25519)
        equal(found[5], comment, f"comment of {headers!r}")
    # A header that goes on for ever ends with the block.
    refused(write(tmp / "file", "---- BEGIN SSH2 PUBLIC KEY ----\nComment: \\\n" + wrap(ED25519)[:-1] + "\\\n"
                  "---- END SSH2 PUBLIC KEY ----\n"), "")


def ppk(blob, version=3, lines=None, encryption="none", end="Private-MAC", comment="of PuTTY"):
    body = wrap(blob)
    derivation = "Key-Derivation: Argon2id\nArgon2-Memory: 8192\nArgon2-Passes: 13\nArgon2-Parallelism: 1\n" \
        "Argon2-Salt: 00112233\n" if version == 3 and encryption != "none" else ""
    return f"PuTTY-User-Key-File-{version}: ssh-ed25519\nEncryption: {encryption}\nComment: {comment}\n" \
        f"Public-Lines: {body.count(chr(10)) if lines is None else lines}\n{body}{derivation}" \
        f"Private-Lines: 1\n{wrap(bytes(32))}{end}: {'00' * 20}\n"


@case("PuTTY's private keys of every version, encrypted or not")
def _(tmp):
    rsa = blob_of("rsa", Made(tmp, "rsa").spki)
    for blob in (ED25519, rsa):
        for version in (1, 2, 3):
            for encryption in ("none", "aes256-cbc"):
                text = ppk(blob, version, encryption=encryption)
                for data in (text, text.replace("\n", "\r\n"), text.replace("-MAC", "-Hash")):
                    equal(same_blob(write(tmp / "file", data), blob)[5], "of PuTTY", "comment")
    equal(one_key(write(tmp / "file", ppk(ED25519, comment="C:\\keys\\")))[5], "C:\\keys\\", "comment")


@case("damaged PuTTY keys are refused, and do not hide what follows")
def _(tmp):
    good = ppk(ED25519)
    for text in (ppk(ED25519, lines=0), ppk(ED25519, lines=1), ppk(ED25519, lines=99), ppk(ED25519, lines="x"),
                 ppk(ED25519, lines=10**30), ppk(ED25519, lines=-1), good.replace("Public-Lines", "Lines"), ppk(b""),
                 ppk(ED25519[:-1])):
        keys, problems = findings(write(tmp / "file", text, sshkey.key_line(ED25519), "\n"), status=(2,))
        equal(([key[4] for key in keys], len(problems)), ([sshkey.fingerprint(ED25519)], 1), text)


# --- cases: blocks -------------------------------------------------------------

@case("blocks among lines are found at their line")
def _(tmp):
    key, = made(tmp, "rsa")
    line = sshkey.key_line(ED25519, comment="x") + "\n"
    path = write(tmp / "file", line, key.convert("-pubout"), "# comment\n\n", ssh2(ED25519), line, ppk(ED25519),
                 openssh_pem(ED25519), key.convert(), line)
    keys, problems = findings(path)
    text = path.read_text().splitlines()
    starts = [i for i, t in enumerate(text, 1) if "BEGIN" in t or "PuTTY-" in t or t.startswith("ssh-ed25519 ")]
    equal(([key[0] for key in keys], problems), (starts, []), "lines")
    with open(path, "rb") as stream:
        equal(run("check", "--all", "--filter", empty_filter(), "-", stdin=stream.read())[0].count("\n"), len(starts),
              "keys from standard input")


@case("byte order marks, CRLF, indents and blanks at line ends")
def _(tmp):
    key, = made(tmp, "P-256")
    text = key.convert("-pubout").decode()
    for data in ("\ufeff" + text, text.replace("\n", "\r\n"), text.replace("\n", " \t\n"),
                 "".join("    " + line for line in text.splitlines(True)), text.replace("KEY-----\n", "KEY-----\n\n"),
                 text.rstrip("\n"), text.replace("\n-----END", "-----END", 0), "\ufeff" + ssh2_of(key)):
        same_spki(write(tmp / "file", data), key.spki)


def ssh2_of(key):
    return ssh2(blob_of(key.name, key.spki))


@case("a block that does not end, or is none, hides no key")
def _(tmp):
    spki = Made(tmp, "P-256").spki
    line, good = sshkey.key_line(ED25519) + "\n", pem("PUBLIC KEY", spki)
    for text, wanted in ((f"-----BEGIN NOTHING-----\n{line}", [2]),
                         (f"-----BEGIN NOTHING-----\n{line}-----END NOTHING-----\n{line}", [2, 4]),
                         (f"-----BEGIN NOTHING-----\n{good}{line}", [2, 6]),
                         (ssh2(ED25519, f"Comment: x\nenvironment=\"A:B\" {line}"), [1, 3]),
                         ("-----BEGIN NOTHING-----\n" + "A" * 70 * 20_000 + f"\n{line}", [3])):
        keys, _ = findings(write(tmp / "file", text), status=(0, 2))
        equal(sorted(key[0] for key in keys), wanted, f"lines of keys in {text[:500]!r}")
    hidden = sshkey.der_seq(sshkey.der_seq(sshkey.der_oid("1.3.6.1.4.1.99999.7")),
                            sshkey.der(3, b"\0\n" + line.encode()))
    keys, _ = findings(write(tmp / "file", hidden))
    equal([key[4] for key in keys], ["-", sshkey.fingerprint(ED25519)], "keys in text inside DER")


@case("broken blocks are refused with the reason")
def _(tmp):
    spki = Made(tmp, "P-256").spki
    good = pem("PUBLIC KEY", spki)
    for text, reason in (
            (good.replace("END PUBLIC", "END PRIVATE"), "BEGIN and END lines are not of one kind"),
            (good.replace("-----END PUBLIC KEY-----", "---- END PUBLIC KEY ----"), "BEGIN and END lines are not"),
            (good.replace("M", "*", 1), "damaged: "), (good.replace("\n-----END", "\0\n-----END"), "damaged: "),
            (good.replace("=", ""), "damaged: "), (good.replace("-----\nM", "-----\nssh-rsa AAAA\nM"), "damaged: "),
            ("-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n", "public key is malformed"),
            (pem("PUBLIC KEY", b"\0" * 100), "public key is malformed"),
            (pem("PUBLIC KEY", spki[:-1]), "public key is malformed"),
            (pem("RSA PUBLIC KEY", spki), "RSA public key is malformed"),
            (pem("RSA PRIVATE KEY", spki), "RSA private key is malformed"),
            (pem("DSA PRIVATE KEY", spki), "DSA private key is malformed"),
            (pem("EC PRIVATE KEY", spki), "EC private key is malformed"),
            (pem("PRIVATE KEY", spki), "private key is malformed"),
            (pem("CERTIFICATE", spki), "X.509 certificate is malformed"),
            (pem("CERTIFICATE REQUEST", spki), "certificate request is malformed"),
            (pem("PGP MESSAGE", spki), "PGP MESSAGE: not a kind of PEM block that holds a key known here"),
            (pem("public key", spki), "public key: not a kind")):
        refused(write(tmp / "file", text), reason)
    # On the curve, or not: OpenSSL sees to it.
    refused(write(tmp / "file", pem("PUBLIC KEY", spki[:-1] + bytes([spki[-1] ^ 1]))), "public key is malformed")


@case("private keys of one type under the label of another are refused")
def _(tmp):
    dsa, p256 = made(tmp, "dsa", "P-256")
    for label in ("RSA PRIVATE KEY", "EC PRIVATE KEY"):
        refused(write(tmp / "file", pem(label, dsa.convert("-outform", "DER"))), label[:3].strip())
    refused(write(tmp / "file", pem("DSA PRIVATE KEY", p256.convert("-outform", "DER"))), "DSA")


@case("lines that only resemble BEGIN lines begin nothing")
def _(tmp):
    line = sshkey.key_line(ED25519) + "\n"
    for start in ("-----BEGIN ssh-rsa-----", "-----BEGIN -----", "-----BEGIN PUBLIC KEY----", "BEGIN PUBLIC KEY",
                  "-----BEGIN " + "X" * 65 + "-----", "-----BEGIN \x07-----", "-----END PUBLIC KEY-----",
                  "PuTTY-User-Key-File-3 ssh-rsa", "-----BEGIN", "-----BEGIN X ----"):
        keys, _ = findings(write(tmp / "file", start, "\n", line), status=(0, 2))
        equal([key[0] for key in keys], [2], f"after {start!r}")


# --- cases: DER ------------------------------------------------------------------

@case("DER from a pipe, with a line end behind it, and cut short")
def _(tmp):
    for key in made(tmp, "rsa", "P-256", "ed25519"):
        equal(run("spki", "--sha256", "-", stdin=key.spki)[0].strip(), hashlib.sha256(key.spki).hexdigest(), "pipe")
        for end in (b"\n", b"\r\n"):
            same_spki(write(tmp / "file", key.spki, end), key.spki)
        for size in (1, 2, 4, len(key.spki) // 2, len(key.spki) - 1):
            refused(write(tmp / "file", key.spki[:size]), "DER is cut short")
    refused(write(tmp / "file", sshkey.der_seq(*map(sshkey.der_int, range(4)))), "DER of no kind")


@case("text is not taken for DER")
def _(tmp):
    line = sshkey.key_line(ED25519)
    for host in ("0", "00", "000", "0.0.0.0", "0x0", "0x01", "0P0", "000102.example.org", "0000000000000", "0-0a",
                 "0z0\xa0", "0\x81x", "0\x82\x01\x01x", "0d\x30", "0z0X\xa0"):
        for text in (f"{host} {line}", f"{host} {line}\n", f"{host} {line}\n" * 3):
            keys, _ = findings(write(tmp / "file", text.encode("latin-1")), status=(0, 2))
            equal(len(keys), text.count("ssh-ed25519"), f"keys in lines of host {host!r}")
            out, _ = run("check", "--all", "--filter", empty_filter(), "-", stdin=text.encode("latin-1"), status=(0, 2))
            equal(len(out.splitlines()), len(keys), f"keys from a pipe, host {host!r}")


@case("lines after a DER key are not hidden by it")
def _(tmp):
    spki = Made(tmp, "ed25519").spki
    keys, _ = findings(write(tmp / "file", spki, "\n", sshkey.key_line(ED25519), "\n"), status=(2,))
    equal([key[4] for key in keys], [sshkey.fingerprint(ED25519)], "keys")


# --- cases: hostile input ------------------------------------------------------------

@case("RSA keys are read up to 16384 bits and refused above")
def _(tmp):
    for bits in (512, 16384):
        blob = sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(65537, 2**(bits - 1) + 1))
        spki = sshkey.spki_rsa(2**(bits - 1) + 1, 65537)
        for data in (spki, pem("PUBLIC KEY", spki)):
            equal(same_blob(write(tmp / "file", data), blob)[3], bits, "bits")
    for bits in (16385, 2**20, 4_000_000):
        spki = sshkey.spki_rsa(2**(bits - 1) + 1, 65537)
        for data in (spki, pem("PUBLIC KEY", spki), pem("RSA PUBLIC KEY", der_find(spki, 0, 1)[1:])):
            refused(write(tmp / "file", data), f"key of {bits} bits; the most that any sshd takes is 16384")
    refused(write(tmp / "file", sshkey.spki_rsa(2**1023 + 1, 2**16385 + 1)), "integer of more than 16384 bits")
    refused(write(tmp / "file", sshkey.spki_rsa(0, 3)), "")


@case("private keys that would take long are refused at once")
def _(tmp):
    d = sshkey
    p = 2**200_000 + 1
    for size, kind in ((200_000, "private key is too long"), (12_000, "private key is too long")):
        p = 2**size - 1
        pkcs8 = d.der_seq(d.der_int(0), d.der_seq(d.der_oid("1.2.840.10040.4.1"),
                          d.der_seq(d.der_int(p), d.der_int(2**159 + 1), d.der_int(p - 2))),
                          d.der(4, d.der_int(p - 4)))
        for data in (pkcs8, pem("PRIVATE KEY", pkcs8)):
            refused(write(tmp / "file", data), kind)
    primes = d.der_seq(*[d.der_seq(d.der_int(3), d.der_int(3), d.der_int(3))] * 50_000)
    many = d.der_seq(d.der_int(1), *map(d.der_int, range(3, 11)), primes)
    refused(write(tmp / "file", pem("RSA PRIVATE KEY", many)), "RSA private key is too long")


@case("blocks of a megabyte, deep nesting, and no END")
def _(tmp):
    refused(write(tmp / "file", pem("PUBLIC KEY", bytes(700_000))), "public key is malformed")
    refused(write(tmp / "file", pem("PUBLIC KEY", bytes(800_000))), "PEM block is too long")
    nest = b""
    for _ in range(50_000):
        nest = sshkey.der(0x30, nest) if len(nest) < 200_000 else nest
    for label in ("PUBLIC KEY", "PRIVATE KEY", "CERTIFICATE", "RSA PRIVATE KEY", "CERTIFICATE REQUEST"):
        findings(write(tmp / "file", pem(label, nest)), status=(2,))
        findings(write(tmp / "file", pem(label, b"\x30\x80" * 100_000)), status=(2,))
    findings(write(tmp / "file", nest), status=(2,))
    refused(write(tmp / "file", "-----BEGIN PUBLIC KEY-----\n" + "A" * 70 + "\n"), "")
    findings(write(tmp / "file", "-----BEGIN PUBLIC KEY-----\n" * 30_000), status=(2,))
    findings(write(tmp / "file", "---- BEGIN SSH2 PUBLIC KEY ----\n" + "Comment: x\\\n" * 60_000
                   + "---- END SSH2 PUBLIC KEY ----\n"), status=(2,))


def mutate(rng, data):
    """A few bits, bytes or ends of data changed."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at = rng.randrange(len(data)) if data else 0
        what = rng.randrange(5)
        if what == 0 and data:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1 and data:
            data[at] = rng.choice((0, 1, 2, 3, 4, 0x30, 0x80, 0x84, 0xFF))
        elif what == 2:
            del data[at:at + rng.choice((1, 2, 30))]
        elif what == 3:
            data[at:at] = rng.randbytes(rng.choice((1, 2, 30)))
        else:
            del data[at:]
    return bytes(data)


@case("3000 damaged files: no crash, and every one is accounted for")
def _(tmp):
    rng = random.Random(20190419)
    seeds = [data for key in made(tmp, "rsa", "dsa", "P-384", "secp256k1", "ed25519") for _, data in forms(key)]
    seeds += [openssh_pem(ED25519).encode(), ssh2(ED25519, "Comment: x\n").encode(), ppk(ED25519).encode()]
    folder = tmp / "damaged"
    folder.mkdir()
    for i in range(3000):
        seed = rng.choice(seeds)
        if seed.startswith(b"-----BEGIN ") and i % 2:
            label, body = re.match(rb"-----BEGIN ([^-]*)-----\n(.*?)-----END", seed, re.DOTALL).groups()
            data = pem(label.decode(), mutate(rng, base64.b64decode(body))).encode()
        else:
            data = mutate(rng, seed)
        write(folder / str(i), data)
    out, err = run("check", "--all", "--filter", empty_filter(), folder, status=(0, 2))
    check("in 3000 files:" in err, f"summary: {err[-200:]}")
    check(len(out.splitlines()) > 100, "hardly any key was left")


if __name__ == "__main__":
    sys.exit(run_all())
