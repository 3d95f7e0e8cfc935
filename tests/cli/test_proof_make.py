# SPDX-License-Identifier: ISC
"""keyveto proof make: proofs from private keys in each form, verified without keyveto; and what it refuses."""

import base64
import errno
import gzip
import json
import os
import pty
import stat
import subprocess

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

import sshkey
from pem_keys import openssh_pem, ppk
from program import KEYVETO, contains, equal, keyveto, lacks
from proofs import ALGORITHM, DER, MAKE, NO_SECURITY_AFFORDED, SUBJECT, TRUE, Key, proved, unb64url, verify, write
from runs import tool

OPENSSH = serialization.PrivateFormat.OpenSSH
PKCS8 = serialization.PrivateFormat.PKCS8
TRADITIONAL = serialization.PrivateFormat.TraditionalOpenSSL
FORMS = {   # name: (form, encoding, kinds of keys)
    "openssh": (OPENSSH, serialization.Encoding.PEM, ["rsa", "p256", "p384", "p521", "ed25519"]),
    "pkcs8": (PKCS8, serialization.Encoding.PEM, list(MAKE)),
    "pkcs8-der": (PKCS8, DER, list(MAKE)),
    "traditional": (TRADITIONAL, serialization.Encoding.PEM, ["rsa", "p256", "p384", "p521"]),
    "traditional-der": (TRADITIONAL, DER, ["rsa", "p256", "p384", "p521"]),
}


@pytest.fixture(scope="module", name="keys")
def fixture_keys():
    return {kind: Key(kind) for kind in MAKE}


def make(*words, status=0, **options):
    return keyveto("proof", "make", *words, status=status, **options)


def is_jws_by(key, path):
    """Fails unless the file is the publisher's form of a proof by this key."""
    members = json.loads(path.read_text())
    equal(sorted(members), ["payload", "protected", "signature"])
    equal(json.loads(unb64url(members["protected"])), {"alg": ALGORITHM[key.kind], "kid": key.id})
    payload = unb64url(members["payload"])
    assert b"key is pwned" in payload and len(payload) <= 1024
    key.verify(unb64url(members["signature"]), f"{members['protected']}.{members['payload']}".encode())


def is_attestation_by(key, path):
    """Fails unless the file is an attestation by this key, to cryptography and to openssl."""
    request = x509.load_pem_x509_csr(path.read_bytes())
    assert request.is_signature_valid
    equal(request.public_key().public_bytes(DER, serialization.PublicFormat.SubjectPublicKeyInfo), key.spki)
    equal([(name.oid, name.value, name._type.name) for name in request.subject],
          [(x509.NameOID.COMMON_NAME, SUBJECT, "UTF8String")])
    extension, = request.extensions
    equal((extension.oid, extension.critical, extension.value.value), (NO_SECURITY_AFFORDED, True, TRUE))
    text = tool("openssl", "req", "-in", path, "-noout", "-verify", "-text").decode()
    # OpenSSL 3.2 and later print no blanks beside the sign.
    contains(text.replace("CN = ", "CN="), f"Subject: CN={SUBJECT}", "1.3.6.1.5.5.7.1.23: critical")


@pytest.mark.parametrize("name, kind", [(name, kind) for name, (_, _, kinds) in FORMS.items() for kind in kinds])
def test_each_form_of_a_private_key_makes_proofs(keys, name, kind, scratch):
    key, (form, encoding, _) = keys[kind], FORMS[name]
    private = write(scratch / "stolen", key.private_bytes(form, encoding))
    done = make(private)
    has_jws = kind in ALGORITHM
    names = [f"{private}.proof.json"] * has_jws + [f"{private}.proof.pem"]
    equal(done.stdout.splitlines(), names)
    contains(done.stderr, "cannot be taken back")
    if kind != "ed448":
        contains(done.stderr, key.fingerprint)
    is_attestation_by(key, scratch / "stolen.proof.pem")
    if has_jws:
        is_jws_by(key, scratch / "stolen.proof.json")
    else:
        contains(done.stderr, "no JWS: there is none for keys of type ssh-ed")
    equal(len(proved(verify(*names, status=0))), len(names))
    equal(len(proved(verify(*names, key.public_file(scratch), status=0))), len(names))
    equal(proved(verify(names[0], status=0))[0][2], key.id)


def test_blocks_before_the_private_key_are_no_matter(scratch):
    private = write(scratch / "stolen", tool("openssl", "ecparam", "-genkey", "-name", "prime256v1"))
    contains(private.read_text(), "EC PARAMETERS")
    key = Key("p256", serialization.load_pem_private_key(tool("openssl", "pkey", "-in", private), None))
    make(private)
    is_attestation_by(key, scratch / "stolen.proof.pem")
    is_jws_by(key, scratch / "stolen.proof.json")


AROUND = {
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "line ends of Windows": lambda text: text.replace(b"\n", b"\r\n"),
    "indented": lambda text: b"key: |\n" + b"".join(b"    " + line + b"\n" for line in text.splitlines()),
    "JSON": lambda text: json.dumps({"type": "service_account", "private_key": text.decode()}).encode(),
    ".env": lambda text: b'NAME=x\nKEY="' + text.replace(b"\n", b"\\n") + b'"\n',
    "base64": base64.b64encode,
    "gzip": gzip.compress,
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "behind its public half": lambda text: tool("ssh-keygen", "-y", "-f", "/dev/stdin", stdin=text) + text,
}


@pytest.mark.parametrize("name", AROUND)
def test_a_private_key_is_found_wherever_check_finds_it(keys, name, scratch):
    for kind, form in (("rsa", OPENSSH), ("ed25519", OPENSSH), ("p256", TRADITIONAL), ("p384", PKCS8)):
        if "public" in name and form != OPENSSH:
            continue
        private = write(scratch / kind, AROUND[name](keys[kind].private_bytes(form)))
        make(private)
        is_attestation_by(keys[kind], scratch / f"{kind}.proof.pem")


def test_a_jws_alone_needs_the_key(keys, scratch):
    write(scratch / "stolen", keys["rsa"].private_bytes())
    make(scratch / "stolen")
    (scratch / "stolen.proof.pem").unlink()
    done = verify(scratch / "stolen.proof.json", status=2)
    contains(done.stderr, "give its public key too", keys["rsa"].id)
    verify(scratch / "stolen.proof.json", keys["rsa"].public_file(scratch), status=0)


def test_the_proofs_go_where_output_says_and_only_their_owner_may_read_them(keys, scratch):
    done = make("--output", scratch / "proof", "-", input=keys["p256"].private_bytes().decode())
    equal(done.stdout.split(), [f"{scratch}/proof.json", f"{scratch}/proof.pem"])
    for path in done.stdout.split():
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)


def test_standard_input_needs_a_name_for_the_output(keys):
    contains(make("-", input=keys["p256"].private_bytes().decode(), status=2).stderr, "--output NAME")


def test_files_that_exist_are_replaced_only_with_force(keys, scratch):
    write(scratch / "stolen", keys["p256"].private_bytes())
    write(scratch / "stolen.proof.pem", b"precious")
    contains(make(scratch / "stolen", status=2).stderr, "stolen.proof.pem: exists; --force")
    equal((scratch / "stolen.proof.pem").read_bytes(), b"precious")
    assert not (scratch / "stolen.proof.json").exists()
    done = make("--force", scratch / "stolen")
    is_attestation_by(keys["p256"], scratch / "stolen.proof.pem")
    lacks(done.stderr, "root")
    for path in done.stdout.split():        # the file that was there could be read by all
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o600)


def on_terminal(words, *answers, program=KEYVETO):
    """Runs keyveto with a terminal of its own, and answers each passphrase prompt: (output, status)."""
    words = [str(word) for word in ((program, *words) if program else words)]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(words[0], words)
    seen, answers = b"", list(answers)
    asked = 0
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError as error:
            assert error.errno == errno.EIO
            break
        if not data:
            break
        seen += data
        if seen.lower().count(b"passphrase: ") > asked and answers:
            asked += 1
            os.write(terminal, answers.pop(0).encode() + b"\n")
    os.close(terminal)
    return seen.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def encrypted(key, form, scratch, cipher=None):
    if form != "openssh":
        return write(scratch / "stolen", key.private_bytes(FORMS[form][0], FORMS[form][1], b"secret words"))
    path = write(scratch / "stolen", key.private_bytes())
    path.chmod(0o600)
    tool("ssh-keygen", "-q", "-p", "-P", "", "-N", "secret words", "-f", path, *(("-Z", cipher) if cipher else ()))
    return path


ENCRYPTED = [("openssh", "rsa", None), ("openssh", "p521", None), ("openssh", "ed25519", None),
             ("openssh", "ed25519", "aes256-gcm@openssh.com"), ("openssh", "p256", "chacha20-poly1305@openssh.com"),
             ("openssh", "rsa", "3des-cbc"), ("pkcs8", "rsa", None), ("pkcs8", "ed25519", None),
             ("pkcs8-der", "p256", None), ("traditional", "p256", None), ("traditional", "rsa", None)]


@pytest.mark.parametrize("form, kind, cipher", ENCRYPTED)
def test_the_passphrase_is_asked_for_on_the_terminal(keys, form, kind, cipher, scratch):
    private = encrypted(keys[kind], form, scratch, cipher)
    before = private.read_bytes()
    seen, status = on_terminal(("proof", "make", private), "secret words")
    equal(status, 0, seen)
    is_attestation_by(keys[kind], scratch / "stolen.proof.pem")
    equal(private.read_bytes(), before)


@pytest.mark.parametrize("form, kind", [("openssh", "rsa"), ("pkcs8", "rsa"), ("traditional", "p256")])
@pytest.mark.parametrize("name", ["indented", "JSON"])
def test_an_encrypted_key_is_found_there_too(keys, form, kind, name, scratch):
    private = encrypted(keys[kind], form, scratch)
    private.write_bytes(AROUND[name](private.read_bytes()))
    seen, status = on_terminal(("proof", "make", private), "secret words")
    equal(status, 0, seen)
    is_attestation_by(keys[kind], scratch / "stolen.proof.pem")


@pytest.mark.parametrize("form, kind", [("openssh", "rsa"), ("pkcs8", "rsa"), ("traditional", "p256")])
def test_a_wrong_passphrase_makes_no_proof(keys, form, kind, scratch):
    private = encrypted(keys[kind], form, scratch)
    seen, status = on_terminal(("proof", "make", private), "wrong")
    equal(status, 2, seen)
    contains(seen, "wrong passphrase")
    equal([path.name for path in scratch.iterdir()], ["stolen"])


@pytest.mark.parametrize("form, kind", [("openssh", "rsa"), ("pkcs8", "rsa"), ("pkcs8-der", "p256"),
                                        ("traditional", "p256")])
def test_without_a_terminal_no_passphrase_is_taken_from_anywhere(keys, form, kind, scratch):
    private = encrypted(keys[kind], form, scratch)
    environment = {**os.environ, "SSH_ASKPASS": "/bin/false", "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": ":0"}
    done = make(private, status=2, input="secret words\n", start_new_session=True, env=environment)
    contains(done.stderr, "encrypted, and there is no terminal")
    equal([path.name for path in scratch.iterdir()], ["stolen"])


def security_key():
    """A private key file of a security key, which holds no private half."""
    public, application, text = bytes(range(32)), b"ssh:", sshkey.string
    half = b"\1\2\3\4" * 2 + text(sshkey.SK_ED25519.encode()) + text(public) + text(application) + b"\1" \
        + text(b"handle") + text(b"") + text(b"comment")
    half += bytes(range(1, 1 - len(half) % -8)) if len(half) % 8 else b""
    return openssh_pem(sshkey.build_plain(sshkey.SK_ED25519, sshkey.fields_sk_ed25519(public)), tail=text(half))


def test_keys_whose_compromise_cannot_be_proved(scratch):
    tool("openssl", "dsaparam", "-genkey", "-out", scratch / "dsa", "1024")
    tool("openssl", "genrsa", "-out", scratch / "small", "1000")
    tool("openssl", "ecparam", "-genkey", "-name", "secp256k1", "-out", scratch / "k1")
    tool("openssl", "genpkey", "-algorithm", "X25519", "-out", scratch / "x25519")
    write(scratch / "sk", security_key().encode())
    tool("ssh-keygen", "-y", "-f", write(scratch / "copy", security_key().encode(), 0o600))
    for name, reason in (("dsa", "type ssh-dss cannot be proved"), ("small", "below 1024 bits"),
                         ("k1", "type EC-secp256k1 cannot be proved"), ("x25519", "type X25519 cannot be proved"),
                         ("sk", "of a type whose compromise cannot be proved")):
        contains(make(scratch / name, status=2).stderr, reason)
    assert not list(scratch.glob("*.proof.*"))


def test_what_is_no_private_key_makes_no_proof(keys, scratch):
    private = keys["rsa"].private_bytes().decode()
    cases = {
        "public": (keys["rsa"].line.encode(), "no private key"),
        "empty": (b"", "no private key"),
        "cut": (private[:900].encode(), "damaged"),
        "changed": (private.replace("b3Bl", "b3Bm", 1).encode(), "damaged"),
        "putty": (ppk(b"x").encode(), "puttygen KEY -O private-openssh -o NEW"),
        "store": (pkcs12.serialize_key_and_certificates(None, keys["rsa"].private, None, None,
                                                        serialization.NoEncryption()), "in a PKCS #12 key store"),
        "long": (b"x" * 70000, "longer than any private key"),
    }
    for name, (data, reason) in cases.items():
        contains(make(write(scratch / name, data), status=2).stderr, reason)
    contains(make(scratch / "absent", status=2).stderr, "No such file")
    contains(make(scratch, status=2).stderr, "Is a directory")
    assert not list(scratch.glob("*.proof.*"))


def test_a_proof_does_not_show_the_private_half(keys, scratch):
    write(scratch / "stolen", keys["rsa"].private_bytes())
    done = make(scratch / "stolen")
    for path in done.stdout.split():
        lacks(open(path, encoding="ascii").read(), "PRIVATE")
    assert subprocess.run(["ssh-keygen", "-y", "-f", scratch / "stolen.proof.pem"], capture_output=True,
                          check=False).returncode != 0
