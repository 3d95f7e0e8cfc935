# SPDX-License-Identifier: ISC
"""Proves that an SSH key is compromised: its private half signs a request that says so.

    python3 prove_leak.py PRIVATE-KEY >leaked.proof.pem

The request is PKCS#10, as draft-mpalmer-key-compromise-attestation-00 has it. Send it with the public key; the
private key stays where it is. This needs python3-cryptography, and python3-bcrypt for a key of OpenSSH's form that
has a passphrase.
"""

import getpass
import sys
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

SUBJECT = "kca=v1 This Key Is Compromised"
NO_SECURITY_AFFORDED, TRUE = x509.ObjectIdentifier("1.3.6.1.5.5.7.1.23"), b"\x01\x01\xff"    # RFC 7169


def load(data, passphrase=None):
    """The private key, in OpenSSH's form or another in PEM. Asks for its passphrase."""
    is_ssh = b"BEGIN OPENSSH PRIVATE KEY" in data
    read = serialization.load_ssh_private_key if is_ssh else serialization.load_pem_private_key
    try:
        return read(data, passphrase)
    except (TypeError, ValueError) as reason:
        if passphrase is not None or "password" not in str(reason).lower():
            raise
        return load(data, getpass.getpass("Passphrase of the private key: ").encode())


def prove(private):
    """The request, signed."""
    algorithm = hashes.SHA256() if isinstance(private, rsa.RSAPrivateKey) else None
    if isinstance(private, ec.EllipticCurvePrivateKey):
        algorithm = {256: hashes.SHA256, 384: hashes.SHA384, 521: hashes.SHA512}[private.key_size]()
    request = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, SUBJECT)]))
    request = request.add_extension(x509.UnrecognizedExtension(NO_SECURITY_AFFORDED, TRUE), critical=True)
    return request.sign(private, algorithm).public_bytes(serialization.Encoding.PEM)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: prove_leak.py PRIVATE-KEY >leaked.proof.pem")
    try:
        proof = prove(load(Path(sys.argv[1]).read_bytes()))
    except (OSError, TypeError, ValueError, KeyError, UnsupportedAlgorithm) as reason:
        sys.exit(f"{sys.argv[1]}: no proof was made: {reason}")
    sys.stdout.buffer.write(proof)


if __name__ == "__main__":
    main()
