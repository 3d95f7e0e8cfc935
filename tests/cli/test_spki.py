# SPDX-License-Identifier: ISC
"""keyveto spki: the SPKIs that keyveto looks up for keys of every type."""

import base64
import hashlib
import os
import random
import shutil
from pathlib import Path

import sshkey
from program import KEYVETO, attempt, contains, equal
from runs import oracle_reads, run, tool
from samples import KNOWN, KNOWN_RSA, MIB, built, certificate, every_key, made, random_blob, some, write
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
    """Fails unless spki prints these SPKIs for a file, in each form of output."""
    equal(spki("--der", path, **more).out, b"".join(expected), f"{path} --der")
    digests = [hashlib.sha256(one).hexdigest() for one in expected]
    equal(spki("--sha256", path, **more).lines, digests, f"{path} --sha256")
    equal(spki("--xxh64", path, **more).lines, [xxh64_line(one) for one in expected], f"{path} --xxh64")
    pem = spki("--pem", path, **more)
    equal(pem.out, b"".join(pem_of(one) for one in expected), f"{path} --pem")
    equal(spki(path, **more), pem, f"{path}: PEM is the default")
    equal(pem.err, b"", f"{path}: messages")


def by_openssl(pem):
    return tool("openssl", "pkey", "-pubin", "-outform", "DER", input=pem)


def test_spki_is_that_of_ssh_keygen_and_openssl():
    """The programs are ssh-keygen -e -m PKCS8 and openssl pkey."""
    for key in some("rsa", "rsa-3072", "dsa", "p256", "p384", "p521"):
        pem = tool("ssh-keygen", "-e", "-m", "PKCS8", "-f", key.public)
        der = by_openssl(pem)
        prints(key.public, [der])
        equal(pem_of(der), pem, f"{key.name}: the same PEM")
        equal(list(key.oracle.spkis), [der], f"{key.name}: the oracle")


def test_spki_of_ed25519_and_ed448_is_that_of_openssl(scratch):
    """ssh-keygen cannot write the DER of these types."""
    for name in ("ed25519", "ed448"):
        private = scratch / name
        tool("openssl", "genpkey", "-algorithm", name, "-out", private)
        der = tool("openssl", "pkey", "-in", private, "-pubout", "-outform", "DER")
        size = sshkey.RAW_SIZES[name]
        line = sshkey.key_line(sshkey.build_plain(f"ssh-{name}", sshkey.fields_raw(der[-size:])))
        prints(write(scratch / "key.pub", line, "\n"), [der])
        prints(private, [der])
        equal(pem_of(der), tool("openssl", "pkey", "-in", private, "-pubout"), f"{name}: the same PEM")
    key = made()["ed25519"]
    prints(key.public, [bytes.fromhex("302a300506032b6570032100") + key.blob[-32:]])


def test_the_published_keys_have_the_published_hashes(scratch):
    """The hashes are SHA-256 and XXH64."""
    for line, (sha256, xxh) in KNOWN.items():
        path = write(scratch / "key", line, "\n")
        equal(spki("--sha256", path).lines, [sha256], "SHA-256")
        equal(spki("--xxh64", path).lines, [xxh], "XXH64")
        equal(hashlib.sha256(spki("--der", path).out).hexdigest(), sha256, "DER")
    path = write(scratch / "both", *(f"{line}\n" for line in KNOWN))
    equal(spki("--sha256", path).lines, [sha256 for sha256, _ in KNOWN.values()], "both")


def test_a_composite_key_is_looked_up_as_the_whole(scratch):
    """Both halves are looked up, too."""
    key = built()["mldsa"]
    equal(len(key.oracle.spkis), 3, "the oracle's")
    path = write(scratch / "key", key.line, "\n")
    prints(path, key.oracle.spkis)
    out = spki("--der", path).out
    whole, lattice, curve = out[:1366], out[1366:-44], out[-44:]
    raw = key.blob[-1344:]
    contains(whole.hex(), "300a06082b06010505070627", raw.hex())
    contains(lattice.hex(), "300b0609608648016503040311", raw[:1312].hex())
    equal(curve.hex(), "302a300506032b6570032100" + raw[1312:].hex(), "Ed25519")


def test_keys_on_hardware_are_the_keys_inside(scratch):
    """The application has no influence."""
    raw = os.urandom(32)
    plain = sshkey.spkis(sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(raw)))
    for application in (b"ssh:", b"", b"ssh:some\xc3\xa9 thing", b"x" * 1000, b"ssh:\0"):
        for nuls in (0, 1):
            blob = sshkey.build_plain(sshkey.SK_ED25519, sshkey.fields_sk_ed25519(raw, application), nuls=nuls)
            prints(write(scratch / "key", sshkey.key_line(blob, sshkey.SK_ED25519), "\n"), plain)
    p256 = made()["p256"]
    der = by_openssl(tool("ssh-keygen", "-e", "-m", "PKCS8", "-f", p256.public))
    for application in (b"ssh:", b""):
        blob = sshkey.build_plain(sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(p256.blob[-65:], application))
        for token in (sshkey.SK_ECDSA, "webauthn-sk-ecdsa-sha2-nistp256@openssh.com"):
            prints(write(scratch / "key", sshkey.key_line(blob, token), "\n"), [der])


def test_a_certificate_is_looked_up_as_its_key_and_its_cas(scratch):
    """Keys and CAs of every type."""
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
        prints(write(scratch / "certificates", *certificates), [one for spkis in wanted for one in spkis])
    # A CA with a composite key has three SPKIs.
    ca, key = built()["mldsa"], made()["ed25519"]
    blob = sshkey.build_cert(sshkey.cert_name("ssh-ed25519"), key.blob[-36:], ca.blob)
    prints(write(scratch / "cert", sshkey.key_line(blob), "\n"), key.oracle.spkis + ca.oracle.spkis)


def test_odd_encodings_of_a_key_are_looked_up_as_the_key(scratch):
    fields = sshkey.Reader(made()["rsa"].blob)
    fields.string()
    e, n = fields.mpint(), fields.mpint()
    for pad in (0, 1, 100):
        for name, nuls in (("ssh-rsa", 0), ("ssh-rsa", 1), ("RSA", 0), ("rsa-sha2-256", 0)):
            blob = sshkey.build_plain(name, sshkey.fields_rsa(e, n, pad), nuls)
            prints(write(scratch / "key", sshkey.key_line(blob, "ssh-rsa"), "\n"), made()["rsa"].oracle.spkis)
            cert = sshkey.build_cert(sshkey.cert_name("ssh-rsa"), sshkey.fields_rsa(e, n, pad), blob)
            prints(write(scratch / "key", sshkey.key_line(cert), "\n"), made()["rsa"].oracle.spkis * 2)


def test_numbers_at_the_edges_are_encoded_as_the_oracle_does(scratch):
    """Small numbers, a set top bit, exponents of all lengths, 16384 bits."""
    blobs, wanted = [], []
    for e in (1, 3, 127, 128, 255, 256, 65537, 2**32 + 1, 2**255 + 1, 2**2047 + 1):
        for n in (1, 127, 128, 2**1024 - 1, 2**1024 + 1, 2**2047 + 1, 2**16383 + 1, 2**16384 - 1):
            blobs.append(sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(e, n)))
            wanted.append(sshkey.spki_rsa(n, e))
    for numbers in ((0, 0, 0, 0), (2**1023 + 1, 2**159 + 1, 2, 2**1022 + 5), (128, 127, 255, 256)):
        blobs.append(sshkey.build_plain("ssh-dss", sshkey.fields_dsa(*numbers)))
        wanted.append(sshkey.spki_dsa(*numbers))
    prints(write(scratch / "keys", *(f"{sshkey.key_line(blob)}\n" for blob in blobs)), wanted)


def test_random_keys_of_all_types_have_the_oracles_forms(scratch):
    rnd = random.Random(3)
    lines = [sshkey.key_line(random_blob(rnd), comment="c") for _ in range(400)]
    wanted = [one for line in lines for one in oracle_reads(line.encode()).spkis]
    path = write(scratch / "keys", *(f"{line}\n" for line in lines))
    equal(spki("--der", path).out, b"".join(wanted), "--der")
    equal(spki("--sha256", path).lines, [hashlib.sha256(one).hexdigest() for one in wanted], "--sha256")
    equal(spki("--xxh64", path).lines, [xxh64_line(one) for one in wanted], "--xxh64")
    equal(spki("--pem", path).out, b"".join(pem_of(one) for one in wanted), "--pem")


def test_spki_and_check_read_the_output_of_spki(scratch):
    for key in some("rsa", "dsa", "p256", "p384", "p521", "ed25519"):
        for form in ("--pem", "--der"):
            path = write(scratch / "key", spki(form, key.public).out)
            prints(path, key.oracle.spkis)
            prints("-", key.oracle.spkis, stdin=path.read_bytes())


def test_other_forms_are_looked_up_as_the_key_in_them(scratch):
    """Lines with options, known_hosts, private keys, RFC 4716."""
    for name in ("rsa", "ed25519", "p521"):
        key = made()[name]
        for text in (f'from="a b",no-pty {key.line}\r\n', f"@revoked host {key.plain}\n",
                     f"# x\n\nhost,[b]:22 {key.line}"):
            prints(write(scratch / "file", text), key.oracle.spkis)
        prints(key.path, key.oracle.spkis)
        prints(write(scratch / "file", tool("ssh-keygen", "-e", "-f", key.public)), key.oracle.spkis)
        secret = scratch / f"{name}-encrypted"
        shutil.copy(key.path, secret)
        secret.chmod(0o600)
        tool("ssh-keygen", "-q", "-p", "-P", "", "-N", "a passphrase", "-f", secret)
        prints(secret, key.oracle.spkis)


def test_standard_input_named_or_not_and_several_keys_in_a_file(scratch):
    keys = list(every_key().values())
    text = "".join(f"{key.line}\n" for key in keys)
    wanted = [one for key in keys for one in key.oracle.spkis]
    path = write(scratch / "file", text)
    for words in ((), ("-",), (path,)):
        equal(spki("--der", *words, stdin=text.encode()).out, b"".join(wanted), f"{words}")
    equal(spki("--sha256", "--xxh64", "--der", path).out, b"".join(wanted), "the last form counts")


def test_a_broken_line_is_reported_and_the_rest_is_printed(scratch):
    """The status is 2."""
    key = made()["ed25519"]
    unknown = sshkey.key_line(sshkey.build_plain("ssh-new\x1b", b""))
    lines = (key.line, "broken", key.line, f"ssh-rsa {key.base64}", unknown, "x" * (MIB + 9), key.line)
    path = write(scratch / "file", *(f"{line}\n" for line in lines))
    result = spki("--sha256", path, status=2)
    equal(result.lines, key.spki_sha256 * 3, "keys")
    numbers = [line.removeprefix(f"keyveto: {path}:").split(":")[0] for line in result.messages]
    equal(numbers, ["2", "4", "5", "6"], "messages")
    contains(result.messages[1], "key type differs from the type inside the key")
    contains(result.messages[2], "unknown key type")


def test_nothing_to_print_is_status_2(scratch):
    """The message names the file and the reason."""
    closed = write(scratch / "closed", made()["rsa"].line)
    for text in (b"", b"\n", b"# comment\n"):
        path = write(scratch / "file", text)
        result = spki(path, status=2)
        equal((result.out, result.messages), (b"", [f"keyveto: {path}: no key in it"]), repr(text))
        equal(spki(stdin=text, status=2).messages, ["keyveto: -: no key in it"], repr(text))
    for path, reason in ((scratch / "missing", "No such file or directory"), (closed / "x", "Not a directory")):
        equal(spki(path, status=2).messages, [f"keyveto: {path}: {reason}"], reason)
    err = spki(os.fsencode(scratch) + b"/\x1b[0m\xe9", status=2).err.decode()
    contains(err, f"keyveto: {scratch}/\\x1b[0m\\xe9: No such file")


def test_bad_usage_is_status_2_and_help_0(scratch):
    path = write(scratch / "file", KNOWN_RSA)
    for words in (("--nonsense", path), (path, path), ("--pem=x", path), ("-x",), ("--filter", path, path)):
        result = spki(*words, status=2)
        equal(result.out, b"", f"{words}")
        assert "usage: keyveto spki " in result.messages[-1] and all(
            line.startswith(("keyveto: ", "usage: ")) for line in result.messages), f"{words}: {result.messages}"
    result = spki("--help")
    contains(result.lines[0], "usage: keyveto spki ", *FORMS)
    equal(result.err, b"", "--help")


def test_write_errors_are_status_2(scratch):
    """In each form of output. The message names standard output."""
    large = write(scratch / "large", f"{KNOWN_RSA}\n" * 3000)
    for path in (write(scratch / "small", KNOWN_RSA), large, Path("--help")):
        for form in FORMS:
            with open("/dev/full", "wb") as full:
                done = attempt(KEYVETO, "spki", form, path, text=False, stdout=full)
            equal(done.returncode, 2, f"{form} {path}")
            contains(done.stderr.decode(), "keyveto: standard output: No space left on device\n")
