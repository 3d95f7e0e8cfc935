# SPDX-License-Identifier: ISC
"""keyveto spki, from the outside: what is looked up for keys of every type.

    python3 tests/cli/test_spki.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto). OpenSSL, ssh-keygen and the
oracle say what is right. Prints a line for each case; the exit status is 1 if
any failed. What a case cannot do fails, too.
"""

import base64
import hashlib
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from cases import KEYVETO, PATIENCE, case, contains, equal, run_all
from clilib import (KNOWN, KNOWN_RSA, MIB, built, certificate, every_key, made, oracle_reads, random_blob, run, some,
                    sshkey, tool, write)
from xxh64 import xxh64

FORMS = ("--pem", "--der", "--sha256", "--xxh64")


def spki(*words, status=0, **more):
    return run("spki", *words, status=status, **more)


def xxh64_line(data):
    return f"{xxh64(data, 0):016x} {xxh64(data, 1):016x}"


def pem_of(der):
    """A PEM block, as OpenSSL writes it."""
    text = base64.b64encode(der).decode()
    lines = [text[place:place + 64] for place in range(0, len(text), 64)]
    return "".join(f"{line}\n" for line in ("-----BEGIN PUBLIC KEY-----", *lines, "-----END PUBLIC KEY-----")).encode()


def prints(path, expected, **more):
    """spki says of a file that these are looked up, in all of its forms."""
    equal(spki("--der", path, **more).out, b"".join(expected), f"{path} --der")
    digests = [hashlib.sha256(one).hexdigest() for one in expected]
    equal(spki("--sha256", path, **more).lines, digests, f"{path} --sha256")
    equal(spki("--xxh64", path, **more).lines, [xxh64_line(one) for one in expected], f"{path} --xxh64")
    pem = spki("--pem", path, **more)
    equal(pem.out, b"".join(pem_of(one) for one in expected), f"{path} --pem")
    equal(spki(path, **more), pem, f"{path}: PEM is the default")
    equal(pem.err, b"", f"{path}: messages")


def by_openssl(pem):
    return tool("openssl", "pkey", "-pubin", "-outform", "DER", stdin=pem)


@case("keys of ssh-keygen: what ssh-keygen -e -m PKCS8 and openssl pkey make of them")
def _(tmp):
    for key in some("rsa", "rsa-3072", "dsa", "p256", "p384", "p521"):
        pem = tool("ssh-keygen", "-e", "-m", "PKCS8", "-f", key.public)
        der = by_openssl(pem)
        prints(key.public, [der])
        equal(pem_of(der), pem, f"{key.name}: the same PEM")
        equal(list(key.oracle.spkis), [der], f"{key.name}: the oracle")


@case("Ed25519 and Ed448: what openssl pkey makes of them, whose DER ssh-keygen cannot write")
def _(tmp):
    for name in ("ed25519", "ed448"):
        private = tmp / name
        tool("openssl", "genpkey", "-algorithm", name, "-out", private)
        der = tool("openssl", "pkey", "-in", private, "-pubout", "-outform", "DER")
        size = sshkey.RAW_SIZES[name]
        line = sshkey.key_line(sshkey.build_plain(f"ssh-{name}", sshkey.fields_raw(der[-size:])))
        prints(write(tmp / "key.pub", line, "\n"), [der])
        prints(private, [der])
        equal(pem_of(der), tool("openssl", "pkey", "-in", private, "-pubout"), f"{name}: the same PEM")
    key = made()["ed25519"]
    prints(key.public, [bytes.fromhex("302a300506032b6570032100") + key.blob[-32:]])


@case("the published keys: SHA-256 and XXH64 are the known answers")
def _(tmp):
    for line, (sha256, xxh) in KNOWN.items():
        path = write(tmp / "key", line, "\n")
        equal(spki("--sha256", path).lines, [sha256], "SHA-256")
        equal(spki("--xxh64", path).lines, [xxh], "XXH64")
        equal(hashlib.sha256(spki("--der", path).out).hexdigest(), sha256, "DER")
    path = write(tmp / "both", *(f"{line}\n" for line in KNOWN))
    equal(spki("--sha256", path).lines, [sha256 for sha256, _ in KNOWN.values()], "both")


@case("a composite key is looked up as the whole and as both of its halves")
def _(tmp):
    key = built()["mldsa"]
    equal(len(key.oracle.spkis), 3, "the oracle's")
    path = write(tmp / "key", key.line, "\n")
    prints(path, key.oracle.spkis)
    out = spki("--der", path).out
    whole, lattice, curve = out[:1366], out[1366:-44], out[-44:]
    raw = key.blob[-1344:]
    contains(whole.hex(), "300a06082b06010505070627", raw.hex())
    contains(lattice.hex(), "300b0609608648016503040311", raw[:1312].hex())
    equal(curve.hex(), "302a300506032b6570032100" + raw[1312:].hex(), "Ed25519")


@case("keys on hardware are the keys inside, whatever their application")
def _(tmp):
    raw = os.urandom(32)
    plain = sshkey.spkis(sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(raw)))
    for application in (b"ssh:", b"", b"ssh:some\xc3\xa9 thing", b"x" * 1000, b"ssh:\0"):
        for nuls in (0, 1):
            blob = sshkey.build_plain(sshkey.SK_ED25519, sshkey.fields_sk_ed25519(raw, application), nuls=nuls)
            prints(write(tmp / "key", sshkey.key_line(blob, sshkey.SK_ED25519), "\n"), plain)
    p256 = made()["p256"]
    der = by_openssl(tool("ssh-keygen", "-e", "-m", "PKCS8", "-f", p256.public))
    for application in (b"ssh:", b""):
        blob = sshkey.build_plain(sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(p256.blob[-65:], application))
        for token in (sshkey.SK_ECDSA, "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"):
            prints(write(tmp / "key", sshkey.key_line(blob, token), "\n"), [der])


@case("a certificate is looked up as its key and its CA's, of every type")
def _(tmp):
    for ca in (made()[name] for name in ("rsa-3072", "p384", "other")):
        wanted, certificates = [], []
        for number, key in enumerate(some("rsa", "dsa", "p256", "p384", "p521", "ed25519")):
            path = certificate(key, ca, *(("-h",) if number % 2 else ()))
            wanted.append(key.oracle.spkis + ca.oracle.spkis)
            certificates.append(path.read_bytes())
        prints(path, wanted[-1])
        for key in built().values():
            blob = sshkey.build_cert(sshkey.cert_name(key.token), key.blob[4 + len(key.token):], ca.blob)
            wanted.append(key.oracle.spkis + ca.oracle.spkis)
            certificates.append(f"{sshkey.key_line(blob)}\n".encode())
        prints(write(tmp / "certificates", *certificates), [one for spkis in wanted for one in spkis])
    # A CA whose key is a composite one has three.
    ca, key = built()["mldsa"], made()["ed25519"]
    blob = sshkey.build_cert(sshkey.cert_name("ssh-ed25519"), key.blob[-36:], ca.blob)
    prints(write(tmp / "cert", sshkey.key_line(blob), "\n"), key.oracle.spkis + ca.oracle.spkis)


@case("odd encodings of a key are looked up as the key")
def _(tmp):
    fields = sshkey.Reader(made()["rsa"].blob)
    fields.string()
    e, n = fields.mpint(), fields.mpint()
    for pad in (0, 1, 100):
        for name, nuls in (("ssh-rsa", 0), ("ssh-rsa", 1), ("RSA", 0), ("rsa-sha2-256", 0)):
            blob = sshkey.build_plain(name, sshkey.fields_rsa(e, n, pad), nuls)
            prints(write(tmp / "key", sshkey.key_line(blob, "ssh-rsa"), "\n"), made()["rsa"].oracle.spkis)
            cert = sshkey.build_cert(sshkey.cert_name("ssh-rsa"), sshkey.fields_rsa(e, n, pad), blob)
            prints(write(tmp / "key", sshkey.key_line(cert), "\n"), made()["rsa"].oracle.spkis * 2)


@case("numbers at the edges: small ones, a set top bit, exponents of all lengths, 16384 bits")
def _(tmp):
    blobs, wanted = [], []
    for e in (1, 3, 127, 128, 255, 256, 65537, 2**32 + 1, 2**255 + 1, 2**2047 + 1):
        for n in (1, 127, 128, 2**1024 - 1, 2**1024 + 1, 2**2047 + 1, 2**16383 + 1, 2**16384 - 1):
            blobs.append(sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(e, n)))
            wanted.append(sshkey.spki_rsa(n, e))
    for numbers in ((0, 0, 0, 0), (2**1023 + 1, 2**159 + 1, 2, 2**1022 + 5), (128, 127, 255, 256)):
        blobs.append(sshkey.build_plain("ssh-dss", sshkey.fields_dsa(*numbers)))
        wanted.append(sshkey.spki_dsa(*numbers))
    prints(write(tmp / "keys", *(f"{sshkey.key_line(blob)}\n" for blob in blobs)), wanted)


@case("400 random keys of all types: all forms as the oracle has them")
def _(tmp):
    rnd = random.Random(3)
    lines = [sshkey.key_line(random_blob(rnd), comment="c") for _ in range(400)]
    wanted = [one for line in lines for one in oracle_reads(line.encode()).spkis]
    path = write(tmp / "keys", *(f"{line}\n" for line in lines))
    equal(spki("--der", path).out, b"".join(wanted), "--der")
    equal(spki("--sha256", path).lines, [hashlib.sha256(one).hexdigest() for one in wanted], "--sha256")
    equal(spki("--xxh64", path).lines, [xxh64_line(one) for one in wanted], "--xxh64")
    equal(spki("--pem", path).out, b"".join(pem_of(one) for one in wanted), "--pem")


@case("what spki prints, spki reads, and so does check")
def _(tmp):
    for key in some("rsa", "dsa", "p256", "p384", "p521", "ed25519"):
        for form in ("--pem", "--der"):
            path = write(tmp / "key", spki(form, key.public).out)
            prints(path, key.oracle.spkis)
            prints("-", key.oracle.spkis, stdin=path.read_bytes())


@case("lines with options, known_hosts, private keys and RFC 4716 are looked up as the key in them")
def _(tmp):
    for name in ("rsa", "ed25519", "p521"):
        key = made()[name]
        for text in (f'from="a b",no-pty {key.line}\r\n', f"@revoked host {key.plain}\n",
                     f"# x\n\nhost,[b]:22 {key.line}"):
            prints(write(tmp / "file", text), key.oracle.spkis)
        prints(key.path, key.oracle.spkis)
        prints(write(tmp / "file", tool("ssh-keygen", "-e", "-f", key.public)), key.oracle.spkis)
        secret = tmp / f"{name}-encrypted"
        shutil.copy(key.path, secret)
        secret.chmod(0o600)
        tool("ssh-keygen", "-q", "-p", "-P", "", "-N", "a passphrase", "-f", secret)
        prints(secret, key.oracle.spkis)


@case("standard input, named or not, and several keys in a file")
def _(tmp):
    keys = list(every_key().values())
    text = "".join(f"{key.line}\n" for key in keys)
    wanted = [one for key in keys for one in key.oracle.spkis]
    path = write(tmp / "file", text)
    for words in ((), ("-",), (path,)):
        equal(spki("--der", *words, stdin=text.encode()).out, b"".join(wanted), f"{words}")
    equal(spki("--sha256", "--xxh64", "--der", path).out, b"".join(wanted), "the last form counts")


@case("a file with a broken line: that is reported, the rest is printed, status 2")
def _(tmp):
    key = made()["ed25519"]
    unknown = sshkey.key_line(sshkey.build_plain("ssh-new\x1b", b""))
    lines = (key.line, "broken", key.line, f"ssh-rsa {key.base64}", unknown, "x" * (MIB + 9), key.line)
    path = write(tmp / "file", *(f"{line}\n" for line in lines))
    result = spki("--sha256", path, status=2)
    equal(result.lines, key.spki_sha256 * 3, "keys")
    numbers = [line.removeprefix(f"keyveto: {path}:").split(":")[0] for line in result.messages]
    equal(numbers, ["2", "4", "5", "6"], "messages")
    contains(result.messages[1], "key type differs from the type inside the key")
    contains(result.messages[2], "unknown key type")


@case("nothing to print: status 2, and the file is named with the reason")
def _(tmp):
    closed = write(tmp / "closed", made()["rsa"].line)
    for text in (b"", b"\n", b"# comment\n"):
        path = write(tmp / "file", text)
        result = spki(path, status=2)
        equal((result.out, result.messages), (b"", [f"keyveto: {path}: no key in it"]), repr(text))
        equal(spki(stdin=text, status=2).messages, ["keyveto: -: no key in it"], repr(text))
    for path, reason in ((tmp / "missing", "No such file or directory"), (closed / "x", "Not a directory")):
        equal(spki(path, status=2).messages, [f"keyveto: {path}: {reason}"], reason)
    err = spki(os.fsencode(tmp) + b"/\x1b[0m\xe9", status=2).err.decode()
    contains(err, f"keyveto: {tmp}/\\x1b[0m\\xe9: No such file")


@case("bad usage: status 2 and the usage; --help: status 0")
def _(tmp):
    path = write(tmp / "file", KNOWN_RSA)
    for words in (("--nonsense", path), (path, path), ("--pem=x", path), ("-x",), ("--filter", path, path)):
        result = spki(*words, status=2)
        equal(result.out, b"", f"{words}")
        assert "usage: keyveto spki " in result.messages[-1] and all(
            line.startswith(("keyveto: ", "usage: ")) for line in result.messages), f"{words}: {result.messages}"
    result = spki("--help")
    contains(result.lines[0], "usage: keyveto spki ", *FORMS)
    equal(result.err, b"", "--help")


@case("write errors on standard output: status 2 and a message, in every form")
def _(tmp):
    large = write(tmp / "large", f"{KNOWN_RSA}\n" * 3000)
    for path in (write(tmp / "small", KNOWN_RSA), large, Path("--help")):
        for form in FORMS:
            with open("/dev/full", "wb") as full:
                done = subprocess.run([KEYVETO, "spki", form, path], stdin=subprocess.DEVNULL, stdout=full,
                                      stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
            equal(done.returncode, 2, f"{form} {path}")
            contains(done.stderr.decode(), "keyveto: standard output: No space left on device\n")


if __name__ == "__main__":
    sys.exit(run_all())
