# SPDX-License-Identifier: ISC
"""fleet/prove_leak.py: the request that a finder's private key signs, verified by keyveto, cryptography and openssl."""


import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import PrivateFormat, PublicFormat

from program import ROOT, attempt, contains, equal
from proofs import DER, MAKE, NO_SECURITY_AFFORDED, SUBJECT, TRUE, Key, proved, verify, write
from runs import tool
from terminal import Terminal

SCRIPT = ("/usr/bin/python3", str(ROOT / "fleet/prove_leak.py"))
OPENSSH, PKCS8, TRADITIONAL = PrivateFormat.OpenSSH, PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL
FORMS = [(form, kind) for form, kinds in ((OPENSSH, ("rsa", "p256", "p384", "p521", "ed25519")), (PKCS8, MAKE),
                                          (TRADITIONAL, ("rsa", "p256", "p384", "p521"))) for kind in kinds]


def prove(path):
    """Runs it without a terminal."""
    return attempt(*SCRIPT, path, text=False, start_new_session=True)


def prove_on_terminal(path, passphrase):
    """(what it wrote to its standard output, what its terminal showed)"""
    made = path.with_name("made")
    terminal = Terminal("sh", "-c", 'exec "$@" >"$0"', made, *SCRIPT, path)
    terminal.wait_for("Passphrase")
    terminal.type(f"{passphrase}\n")
    terminal.end()
    return made.read_bytes(), terminal.text


def check(key, proof, folder):
    """Fails unless it is a proof by this key, to all three."""
    path = write(folder / "leaked.proof.pem", proof)
    request = x509.load_pem_x509_csr(proof)
    assert request.is_signature_valid
    equal(request.public_key().public_bytes(DER, PublicFormat.SubjectPublicKeyInfo), key.spki)
    equal([(name.oid, name.value) for name in request.subject], [(x509.NameOID.COMMON_NAME, SUBJECT)])
    extension, = request.extensions
    equal((extension.oid, extension.critical, extension.value.value), (NO_SECURITY_AFFORDED, True, TRUE))
    tool("openssl", "req", "-in", path, "-noout", "-verify")
    equal(proved(verify(path, key.public_file(folder), status=0))[0][2], key.id)


@pytest.mark.parametrize("form, kind", FORMS)
def test_each_form_of_a_private_key_proves_itself(form, kind, scratch):
    key = Key(kind)
    done = prove(write(scratch / "stolen", key.private_bytes(form)))
    equal((done.returncode, done.stderr), (0, b""))
    check(key, done.stdout, scratch)


@pytest.mark.parametrize("form", (OPENSSH, PKCS8, TRADITIONAL))
def test_the_passphrase_is_asked_for_on_the_terminal(form, scratch):
    key = Key("p256")
    path = write(scratch / "stolen", key.private_bytes(form, passphrase=b"secret words"))
    proof, seen = prove_on_terminal(path, "secret words")
    check(key, proof, scratch)
    assert "secret" not in seen
    proof, seen = prove_on_terminal(path, "wrong")
    equal(proof, b"", seen)
    contains(seen, "stolen: no proof was made: ")


def test_what_is_no_private_key_proves_nothing(scratch):
    key = Key("rsa")
    private = key.private_bytes(PKCS8)
    for name, data in (("public", key.line.encode()), ("empty", b""), ("cut", private[:900]), ("dsa", tool(
            "openssl", "genpkey", "-genparam", "-algorithm", "DSA", "-pkeyopt", "dsa_paramgen_bits:1024"))):
        done = prove(write(scratch / name, data))
        equal((done.returncode, done.stdout), (1, b""))
        contains(done.stderr.decode(), f"{scratch / name}: no proof was made: ")
    contains(prove(scratch / "absent").stderr.decode(), "No such file")
