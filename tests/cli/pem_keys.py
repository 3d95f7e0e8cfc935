# SPDX-License-Identifier: ISC
"""Keys in the forms of OpenSSL, OpenSSH, RFC 4716 and PuTTY, and runs of keyveto that read them."""

import base64
import hashlib
import re
import subprocess

import sshkey
from program import KEYVETO, attempt, check, equal
from runs import tool
from samples import empty_filter

CURVES = {"P-256": "nistp256", "P-384": "nistp384", "P-521": "nistp521"}
ALGORITHMS = {      # name: arguments of openssl genpkey
    "rsa": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
    "rsa-odd": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1031"),
    "rsa-pss": ("-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:1024"),
    **{curve: ("-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{curve}")
       for curve in (*CURVES, "secp256k1", "brainpoolP256r1", "sect233k1")},
    **{name: ("-algorithm", name) for name in ("ed25519", "ed448", "x25519", "x448")},
}


def run(*words, stdin=b"", status=(0,), **more):
    """Runs keyveto: (standard output, standard error)."""
    try:
        done = attempt(KEYVETO, *words, text=False, input=stdin, **more)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"keyveto {words} hangs") from None
    for text in (done.stdout, done.stderr):
        check(all(byte == 10 or 32 <= byte < 127 for byte in text), f"raw bytes are printed: {text!r}")
    out, err = done.stdout.decode(), done.stderr.decode()
    check(done.returncode in status, f"keyveto {words}: status {done.returncode}, not {status}: {out}{err}")
    return out, err


def findings(path, status=(0,), **more):
    """The output of keyveto check for a file: a list of (line, verdict, type, bits,
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
    """Fails unless keyveto check finds no key in the file, and gives a reason that starts so."""
    keys, problems = findings(path, status=(2,))
    equal(keys, [], f"keys in {path}")
    check(len(problems) == 1 and problems[0][0] == line and problems[0][1].startswith(reason),
          f"{path}: {problems}, not {line}: {reason}")


def looked_up(path, status=(0,)):
    """The SHA-256 values that keyveto spki prints for a file: what keyveto looks up."""
    return run("spki", "--sha256", path, status=status)[0].split()


def same_spki(path, spki):
    equal(looked_up(path), [hashlib.sha256(spki).hexdigest()], f"SPKI of {path}")


def same_blob(path, blob):
    """Fails unless the file holds this SSH key and no other."""
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


class Made:
    """A key made by openssl, and its SPKI."""

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


def forms(key):
    """The key in every form that openssl writes. keyveto must read them all."""
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


def ppk(blob, version=3, lines=None, encryption="none", end="Private-MAC", comment="of PuTTY"):
    body = wrap(blob)
    derivation = "Key-Derivation: Argon2id\nArgon2-Memory: 8192\nArgon2-Passes: 13\nArgon2-Parallelism: 1\n" \
        "Argon2-Salt: 00112233\n" if version == 3 and encryption != "none" else ""
    return f"PuTTY-User-Key-File-{version}: ssh-ed25519\nEncryption: {encryption}\nComment: {comment}\n" \
        f"Public-Lines: {body.count(chr(10)) if lines is None else lines}\n{body}{derivation}" \
        f"Private-Lines: 1\n{wrap(bytes(32))}{end}: {'00' * 20}\n"
