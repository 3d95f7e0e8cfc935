# SPDX-License-Identifier: ISC
"""keyveto check and spki: PEM blocks among lines, DER, and hostile input."""

import base64
import hashlib
import random
import re

import nosecret
import sshkey
from pem_keys import (ED25519, Made, blob_of, der_find, findings, forms, made, openssh_pem, pem, ppk, refused, run,
                      same_blob, same_spki, ssh2, write)
from program import check, equal
from samples import empty_filter


def test_blocks_among_lines_are_found_at_their_line(scratch):
    key, = made(scratch, "rsa")
    line = sshkey.key_line(ED25519, comment="x") + "\n"
    path = write(scratch / "file", line, key.convert("-pubout"), "# comment\n\n", ssh2(ED25519), line, ppk(ED25519),
                 openssh_pem(ED25519), key.convert(), line)
    keys, problems = findings(path)
    text = path.read_text().splitlines()
    starts = [i for i, t in enumerate(text, 1) if "BEGIN" in t or "PuTTY-" in t or t.startswith("ssh-ed25519 ")]
    equal(([key[0] for key in keys], problems), (starts, []), "lines")
    with open(path, "rb") as stream:
        equal(run("check", "--all", "--filter", empty_filter(), "-", stdin=stream.read())[0].count("\n"), len(starts),
              "keys from standard input")


def test_byte_order_marks_crlf_indents_and_blanks_at_line_ends(scratch):
    key, = made(scratch, "P-256")
    text = key.convert("-pubout").decode()
    for data in ("\ufeff" + text, text.replace("\n", "\r\n"), text.replace("\n", " \t\n"),
                 "".join("    " + line for line in text.splitlines(True)), text.replace("KEY-----\n", "KEY-----\n\n"),
                 text.rstrip("\n"), text.replace("\n-----END", "-----END", 0),
                 "\ufeff" + ssh2(blob_of(key.name, key.spki))):
        same_spki(write(scratch / "file", data), key.spki)


def test_an_unfinished_or_unknown_block_hides_no_key(scratch):
    spki = Made(scratch, "P-256").spki
    line, good = sshkey.key_line(ED25519) + "\n", pem("PUBLIC KEY", spki)
    for text, wanted in ((f"-----BEGIN NOTHING-----\n{line}", [2]),
                         (f"-----BEGIN NOTHING-----\n{line}-----END NOTHING-----\n{line}", [2, 4]),
                         (f"-----BEGIN NOTHING-----\n{good}{line}", [2, 6]),
                         (ssh2(ED25519, f"Comment: x\nenvironment=\"A:B\" {line}"), [1, 3]),
                         ("-----BEGIN NOTHING-----\n" + "A" * 70 * 20_000 + f"\n{line}", [3])):
        keys, _ = findings(write(scratch / "file", text), status=(0, 2))
        equal(sorted(key[0] for key in keys), wanted, f"lines of keys in {text[:500]!r}")
    hidden = sshkey.der_seq(sshkey.der_seq(sshkey.der_oid("1.3.6.1.4.1.99999.7")),
                            sshkey.der(3, b"\0\n" + line.encode()))
    keys, _ = findings(write(scratch / "file", hidden))
    equal([key[4] for key in keys], ["-", sshkey.fingerprint(ED25519)], "keys in text inside DER")


def test_broken_blocks_are_refused_with_the_reason(scratch):
    spki = Made(scratch, "P-256").spki
    good = pem("PUBLIC KEY", spki)
    for text, reason in (
            (good.replace("END PUBLIC", "END PRIVATE"), "the END line does not match the BEGIN line"),
            (good.replace("-----END PUBLIC KEY-----", "---- END PUBLIC KEY ----"),
             "the END line does not match the BEGIN"),
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
            (pem("NO SUCH THING", spki), "NO SUCH THING: keyveto reads no key from this kind of PEM block"),
            (pem("public key", spki), "public key: keyveto reads no key from this kind of PEM block")):
        refused(write(scratch / "file", text), reason)
    # OpenSSL refuses a point that is not on the curve.
    refused(write(scratch / "file", pem("PUBLIC KEY", spki[:-1] + bytes([spki[-1] ^ 1]))), "public key is malformed")


def test_private_keys_under_the_label_of_another_type_are_refused(scratch):
    dsa, p256 = made(scratch, "dsa", "P-256")
    for label in ("RSA PRIVATE KEY", "EC PRIVATE KEY"):
        refused(write(scratch / "file", pem(label, dsa.convert("-outform", "DER"))), label[:3].strip())
    refused(write(scratch / "file", pem("DSA PRIVATE KEY", p256.convert("-outform", "DER"))), "DSA")


def test_lines_that_only_resemble_begin_lines_begin_no_block(scratch):
    line = sshkey.key_line(ED25519) + "\n"
    for start in ("-----BEGIN ssh-rsa-----", "-----BEGIN -----", "-----BEGIN PUBLIC KEY----", "BEGIN PUBLIC KEY",
                  "-----BEGIN " + "X" * 65 + "-----", "-----BEGIN \x07-----", "-----END PUBLIC KEY-----",
                  "PuTTY-User-Key-File-3 ssh-rsa", "-----BEGIN", "-----BEGIN X ----"):
        keys, _ = findings(write(scratch / "file", start, "\n", line), status=(0, 2))
        equal([key[0] for key in keys], [2], f"after {start!r}")


def test_der_from_a_pipe_with_a_line_end_behind_it_and_cut_short(scratch):
    for key in made(scratch, "rsa", "P-256", "ed25519"):
        equal(run("spki", "--sha256", "-", stdin=key.spki)[0].strip(), hashlib.sha256(key.spki).hexdigest(), "pipe")
        for end in (b"\n", b"\r\n"):
            same_spki(write(scratch / "file", key.spki, end), key.spki)
        for size in (1, 2, 4, len(key.spki) // 2, len(key.spki) - 1):
            refused(write(scratch / "file", key.spki[:size]), "DER is cut short")
    refused(write(scratch / "file", sshkey.der_seq(*map(sshkey.der_int, range(4)))),
            "DER in none of the forms of a key that keyveto reads")


def test_text_is_not_taken_for_der(scratch):
    line = sshkey.key_line(ED25519)
    for host in ("0", "00", "000", "0.0.0.0", "0x0", "0x01", "0P0", "000102.example.org", "0000000000000", "0-0a",
                 "0z0\xa0", "0\x81x", "0\x82\x01\x01x", "0d\x30", "0z0X\xa0"):
        for text in (f"{host} {line}", f"{host} {line}\n", f"{host} {line}\n" * 3):
            keys, _ = findings(write(scratch / "file", text.encode("latin-1")), status=(0, 2))
            equal(len(keys), text.count("ssh-ed25519"), f"keys in lines of host {host!r}")
            out, _ = run("check", "--all", "--filter", empty_filter(), "-", stdin=text.encode("latin-1"), status=(0, 2))
            equal(len(out.splitlines()), len(keys), f"keys from a pipe, host {host!r}")


def test_lines_after_a_der_key_are_not_hidden_by_it(scratch):
    # The last byte may look like the opening of another text.
    for last in b"{[(>x":
        spki = sshkey.spki_raw("ed25519", bytes(range(100, 131)) + bytes([last]))
        keys, _ = findings(write(scratch / "file", spki, "\n", sshkey.key_line(ED25519), "\n"), status=(2,))
        equal([key[4] for key in keys], [sshkey.fingerprint(ED25519)], "keys")


def test_rsa_keys_are_read_up_to_16384_bits_and_refused_above(scratch):
    for bits in (512, 16384):
        n = nosecret.sound_number(random.Random(1), bits)
        blob = sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(65537, n))
        spki = sshkey.spki_rsa(n, 65537)
        for data in (spki, pem("PUBLIC KEY", spki)):
            equal(same_blob(write(scratch / "file", data), blob)[3], bits, "bits")
    for bits in (16385, 2**20, 4_000_000):
        spki = sshkey.spki_rsa(2**(bits - 1) + 1, 65537)
        for data in (spki, pem("PUBLIC KEY", spki), pem("RSA PUBLIC KEY", der_find(spki, 0, 1)[1:])):
            refused(write(scratch / "file", data), f"key of {bits} bits; the most that any sshd takes is 16384")
    refused(write(scratch / "file", sshkey.spki_rsa(2**1023 + 1, 2**16385 + 1)), "integer of more than 16384 bits")
    refused(write(scratch / "file", sshkey.spki_rsa(0, 3)), "")


def test_private_keys_that_would_take_long_are_refused_at_once(scratch):
    d = sshkey
    p = 2**200_000 + 1
    for size, kind in ((200_000, "private key is too long"), (12_000, "private key is too long")):
        p = 2**size - 1
        pkcs8 = d.der_seq(d.der_int(0), d.der_seq(d.der_oid("1.2.840.10040.4.1"),
                          d.der_seq(d.der_int(p), d.der_int(2**159 + 1), d.der_int(p - 2))),
                          d.der(4, d.der_int(p - 4)))
        for data in (pkcs8, pem("PRIVATE KEY", pkcs8)):
            refused(write(scratch / "file", data), kind)
    primes = d.der_seq(*[d.der_seq(d.der_int(3), d.der_int(3), d.der_int(3))] * 50_000)
    many = d.der_seq(d.der_int(1), *map(d.der_int, range(3, 11)), primes)
    refused(write(scratch / "file", pem("RSA PRIVATE KEY", many)), "RSA private key is too long")


def test_blocks_of_a_megabyte_deep_nesting_and_no_end(scratch):
    refused(write(scratch / "file", pem("PUBLIC KEY", bytes(700_000))), "public key is malformed")
    refused(write(scratch / "file", pem("PUBLIC KEY", bytes(800_000))), "PEM block is too long")
    nest = b""
    for _ in range(50_000):
        nest = sshkey.der(0x30, nest) if len(nest) < 200_000 else nest
    for label in ("PUBLIC KEY", "PRIVATE KEY", "CERTIFICATE", "RSA PRIVATE KEY", "CERTIFICATE REQUEST"):
        findings(write(scratch / "file", pem(label, nest)), status=(2,))
        findings(write(scratch / "file", pem(label, b"\x30\x80" * 100_000)), status=(2,))
    findings(write(scratch / "file", nest), status=(2,))
    refused(write(scratch / "file", "-----BEGIN PUBLIC KEY-----\n" + "A" * 70 + "\n"), "")
    findings(write(scratch / "file", "-----BEGIN PUBLIC KEY-----\n" * 30_000), status=(2,))
    findings(write(scratch / "file", "---- BEGIN SSH2 PUBLIC KEY ----\n" + "Comment: x\\\n" * 60_000
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


def test_each_damaged_file_gives_a_key_or_a_problem(scratch):
    """keyveto does not crash on 3000 damaged files. Of the RSA keys some need no secret any more."""
    rng = random.Random(20190419)
    seeds = [data for key in made(scratch, "rsa", "dsa", "P-384", "secp256k1", "ed25519") for _, data in forms(key)]
    seeds += [openssh_pem(ED25519).encode(), ssh2(ED25519, "Comment: x\n").encode(), ppk(ED25519).encode()]
    folder = scratch / "damaged"
    folder.mkdir()
    for i in range(3000):
        seed = rng.choice(seeds)
        if seed.startswith(b"-----BEGIN ") and i % 2:
            label, body = re.match(rb"-----BEGIN ([^-]*)-----\n(.*?)-----END", seed, re.DOTALL).groups()
            data = pem(label.decode(), mutate(rng, base64.b64decode(body))).encode()
        else:
            data = mutate(rng, seed)
        write(folder / str(i), data)
    out, err = run("check", "--all", "--filter", empty_filter(), folder, status=(1,))
    check("in 3000 files:" in err, f"summary: {err[-200:]}")
    check(len(out.splitlines()) > 100, "hardly any key was left")
