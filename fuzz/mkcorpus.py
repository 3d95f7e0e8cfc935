#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Makes the seeds in fuzz/corpus: one small input of each kind, valid or nearly valid."""

import base64
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "oracle"))

# pylint: disable=wrong-import-position
import sshkey
from pkbf import Filter

EXAMPLES = HERE.parent / "testdata" / "demo" / "publisher-examples.pub"


def seed(target, name, content):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def plain_blobs():
    yield "rsa", sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(65537, 2**1023 + 5, pad=3))
    yield "dsa", sshkey.build_plain("ssh-dss", sshkey.fields_dsa(2**511 + 9, 2**159 + 3, 2, 7))
    for line in EXAMPLES.read_text(encoding="ascii").splitlines():
        yield line.split()[0], base64.b64decode(line.split()[1])
    key = bytes(range(32))
    yield "ed25519", sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(key))
    yield "short-name", sshkey.build_plain("eD25519", sshkey.fields_raw(key), nuls=1)
    yield "ed448", sshkey.build_plain("ssh-ed448", sshkey.fields_raw(bytes(57)))
    yield "sk", sshkey.build_plain("sk-ssh-ed25519@openssh.com", sshkey.fields_sk_ed25519(key))
    yield "mldsa", sshkey.build_plain(sshkey.MLDSA_OLD, sshkey.fields_raw(bytes(1344)))
    yield "mldsa-10.6", sshkey.build_plain(sshkey.MLDSA, sshkey.fields_raw(bytes(1344)))


def blobs():
    plain = dict(plain_blobs())
    yield from plain.items()
    yield "cert", sshkey.build_cert("ssh-ed25519-cert-v01@openssh.com",
                                    sshkey.fields_raw(bytes(32)), plain["rsa"])


def make_pem():
    with tempfile.TemporaryDirectory() as folder:
        for kind, options in (("rsa", ["-b", "1024"]), ("ecdsa", []), ("ed25519", [])):
            path = Path(folder) / kind
            subprocess.run(["ssh-keygen", "-q", "-t", kind, *options, "-N", "", "-f", path], check=True)
            seed("pem", f"openssh-{kind}", path.read_bytes())
            public = path.with_suffix(".pub")
            for form in ("PKCS8", "PEM", "RFC4716"):
                made = subprocess.run(["ssh-keygen", "-e", "-m", form, "-f", public], capture_output=True,
                                      check=False).stdout
                if made:
                    seed("pem", f"{form.lower()}-{kind}", made)
        der = subprocess.run(["openssl", "pkey", "-outform", "DER", "-pubout", "-algorithm", "ED25519"],
                             capture_output=True, check=False).stdout
        if der:
            seed("pem", "der", der)


def main():
    for name, blob in blobs():
        text = base64.b64encode(blob).decode()
        kind = sshkey.parse(blob).type
        seed("blob", name, blob)
        seed("base64", name, text)
        seed("line", name, f'from="*",command="a \\" b" {kind} {text} comment')
        seed("auth_info", name, f"publickey {kind} {text}\npassword\nhostbased {kind} {text}\n")
    seed("auth_info", "unknown", "publickey foo AAAAA2Zvbw==\nkeyboard-interactive/pam\n")
    seed("line", "ssh1", "1024 65537 1234567 comment")
    seed("line", "comment", "# a comment")
    seed("pkbf", "small", Filter.create(2, 4, revision=1).to_bytes())
    seed("pkbf", "larger", Filter.create(12, 10, revision=1).to_bytes())
    seed("config", "sample", (HERE.parent / "etc" / "keyveto.conf").read_bytes().replace(b"\n#", b"\n"))
    seed("config", "all", "Filter /a\nfilter=\"/b c\"\nAllowKey SHA256:" + "A" * 43
         + " until=2026-02-28 because\nOnHit warn\nOnError allow\nOnUnsupported deny\n"
         "AuthorizedKeysFile .ssh/%u %h/x %% none\nStrictModes no\nSyslogFacility LOCAL3\nMessage \"%f \\\" %t\"\n")
    seed("pam_stack", "lines", "# a comment\n-auth [success=1 default=ignore] pam_unix.so [a b] nullok\n"
         "account required \\\n pam_permit.so # more\n@include sshd\nsession substack /etc/pam.d/missing\n")
    seed("pam_stack", "include", "session requisite pam_keyveto.so\nsession include sshd\n")
    make_pem()


if __name__ == "__main__":
    main()
