# SPDX-License-Identifier: ISC
"""Private keys of OpenSSH and PuTTY, and public keys of RFC 4716."""

import sshkey
from pem_keys import (ED25519, Made, blob_of, der_find, findings, one_key, openssh_container, openssh_pem, pem, ppk,
                      refused, same_blob, ssh2, ssh_keygen, wrap, write)
from program import check, equal
from runs import tool


def test_openssh_private_keys_of_every_type_encrypted_or_not(scratch):
    for kind in ("rsa", "ecdsa", "ed25519"):
        for passphrase in ("", "secret"):
            for cipher in ((), ("-Z", "aes256-gcm@openssh.com"), ("-Z", "chacha20-poly1305@openssh.com")):
                path, blob = ssh_keygen(scratch, kind, *cipher, passphrase=passphrase)
                check(path.read_bytes().startswith(b"-----BEGIN OPENSSH PRIVATE KEY"), "another form")
                same_blob(path, blob)


def test_openssh_private_keys_of_types_that_need_hardware(scratch):
    point = der_find(Made(scratch, "P-256").spki, 0, 1)[1:]
    for name, fields in (("ssh-ed448", sshkey.fields_raw(bytes(57))),
                         ("ssh-dss", sshkey.fields_dsa(2**1023 + 1, 2**159 + 1, 3, 5)),
                         (sshkey.SK_ED25519, sshkey.fields_sk_ed25519(bytes(range(32)))),
                         (sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point)),
                         (sshkey.MLDSA, sshkey.fields_raw(bytes(range(64)) * 21)),
                         (sshkey.MLDSA_OLD, sshkey.fields_raw(bytes(range(64)) * 21))):
        blob = sshkey.build_plain(name, fields)
        for cipher in (b"none", b"aes256-ctr", b"a cipher of the future"):
            found = same_blob(write(scratch / "file", openssh_pem(blob, cipher=cipher)), blob)
            equal(found[2], name, "type")


def test_a_certificate_in_an_openssh_private_key(scratch):
    """The key and the CA are both shown."""
    ca = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(bytes(range(1, 33))))
    cert = sshkey.build_cert(sshkey.cert_name("ssh-ed25519"), sshkey.fields_raw(bytes(range(32))), ca)
    for text in (openssh_pem(cert), ssh2(cert)):
        keys, problems = findings(write(scratch / "file", text))
        equal([key[4] for key in keys], [sshkey.fingerprint(ED25519), sshkey.fingerprint(ca)], "fingerprints")
        equal(problems, [], "problems")


def test_an_openssh_private_key_holds_one_key(scratch):
    """A file with another number of keys is refused."""
    for count in (0, 2, 2**32 - 1):
        refused(write(scratch / "file", openssh_pem(ED25519, ED25519, count=count)),
                f"OpenSSH private key file with {count} keys; OpenSSH reads only files with one")


def test_damaged_openssh_private_keys_are_refused(scratch):
    whole = openssh_container(ED25519, tail=b"")
    for size in range(len(whole)):
        refused(write(scratch / "file", pem("OPENSSH PRIVATE KEY", whole[:size])),
                ("the block does not hold an OpenSSH private key", "OpenSSH private"))
    refused(write(scratch / "file", openssh_pem(ED25519, magic=b"openssh-key-v2\0")),
            "the block does not hold an OpenSSH private key")
    refused(write(scratch / "file", openssh_pem(ED25519 + b"x")), "data after the end of the key")
    refused(write(scratch / "file", openssh_pem(ED25519[:-1])), "")
    refused(write(scratch / "file", openssh_pem(b"")), "")
    refused(write(scratch / "file", openssh_pem(sshkey.string(b"ssh-new\x1b[2J@example.org") + b"xx")),
            "unknown key type ssh-new\\x1b[2J@example.org")
    refused(write(scratch / "file", openssh_pem(sshkey.string(b"n" * 500))), "unknown key type")


def test_the_files_that_ssh_keygen_e_writes_are_read(scratch):
    for kind in ("rsa", "ecdsa", "ed25519"):
        path, blob = ssh_keygen(scratch, kind)
        public = write(scratch / "public", sshkey.key_line(blob, comment="x"), "\n")
        text = tool("ssh-keygen", "-e", "-f", public)
        check(text.startswith(b"---- BEGIN SSH2 PUBLIC KEY ----\n"), "another form")
        found = same_blob(write(scratch / "file", text), blob)
        check("converted by" in found[5], f"comment {found[5]!r}")
        equal(one_key(write(scratch / "file", text.replace(b"\n", b"\r\n")))[2:], found[2:], "CRLF")


def test_headers_of_rfc_4716_are_read(scratch):
    for headers, comment in (("", ""), ("Comment: plain words\n", "plain words"),
                             ('Comment: "in quotes"\n', "in quotes"),
                             ('COMMENT: "go on \\\nand on \\\nagain"\n', "go on and on again"),
                             ("Subject: me\nx-Command: a: b \\\nssh: c\nComment: after\n", "after"),
                             ("Comment:\n", ""), ('Comment: "\n', '"'), ("Comment: \\\n\\\n\\\nend\n", "end"),
                             ("Comment: \x1b[31m\n", "\\x1b[31m"), ("Comment: caf\xe9\n", "caf\\xc3\\xa9"),
                             (f"Comment: {'long' * 200}\n", ("long" * 200)[:255]),
                             (f"Comment: {'a' * 250}\\\n{'b' * 250}\n", "a" * 250 + "b" * 5),
                             ("Comment: a\0b\n", "a")):
        found = same_blob(write(scratch / "file", ssh2(ED25519, headers)), ED25519)
        equal(found[5], comment, f"comment of {headers!r}")
    # A header that continues on every line ends with the block.
    refused(write(scratch / "file", "---- BEGIN SSH2 PUBLIC KEY ----\nComment: \\\n" + wrap(ED25519)[:-1] + "\\\n"
                  "---- END SSH2 PUBLIC KEY ----\n"), "")


def test_puttys_private_keys_of_every_version_encrypted_or_not(scratch):
    rsa = blob_of("rsa", Made(scratch, "rsa").spki)
    for blob in (ED25519, rsa):
        for version in (1, 2, 3):
            for encryption in ("none", "aes256-cbc"):
                text = ppk(blob, version, encryption=encryption)
                for data in (text, text.replace("\n", "\r\n"), text.replace("-MAC", "-Hash")):
                    equal(same_blob(write(scratch / "file", data), blob)[5], "of PuTTY", "comment")
    equal(one_key(write(scratch / "file", ppk(ED25519, comment="C:\\keys\\")))[5], "C:\\keys\\", "comment")


def test_damaged_putty_keys_are_refused(scratch):
    """The key after a damaged one is found."""
    good = ppk(ED25519)
    for text in (ppk(ED25519, lines=0), ppk(ED25519, lines=1), ppk(ED25519, lines=99), ppk(ED25519, lines="x"),
                 ppk(ED25519, lines=10**30), ppk(ED25519, lines=-1), good.replace("Public-Lines", "Lines"), ppk(b""),
                 ppk(ED25519[:-1])):
        keys, problems = findings(write(scratch / "file", text, sshkey.key_line(ED25519), "\n"), status=(2,))
        equal(([key[4] for key in keys], len(problems)), ([sshkey.fingerprint(ED25519)], 1), text)
