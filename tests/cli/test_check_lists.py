# SPDX-License-Identifier: ISC
"""keyveto check with exact lists."""

import hashlib
import json
import random
import re

import pytest

import blocklist
import pkbf
import sshkey
from filter_runs import any_line, key_lines
from list_runs import check, hashes, random_records, write_list
from pem_keys import Made, forms, pem, write
from program import equal
from runs import findings, tool
from samples import listing, made


def shown_number(text, name):
    """A number that openssl pkey -text shows as bytes in hexadecimal."""
    digits = re.search(rf"^{name}:\s*\n((?: +[0-9a-f:]+\n)+)", text, re.MULTILINE)[1]
    return bytes.fromhex(re.sub(r"[\s:]", "", digits))


@pytest.mark.parametrize("name", ("secp256k1", "brainpoolP256r1", "sect233k1", "rsa-pss"))
def test_a_key_without_an_ssh_form_is_listed_by_the_number_that_openssl_shows(scratch, name):
    rnd = random.Random(1)
    key = Made(scratch, name)
    text = key.convert("-text", "-noout").decode()
    if name == "rsa-pss":
        digest = blocklist.hash_number(int.from_bytes(shown_number(text, "modulus"), "big"))
    else:
        point = shown_number(text, "pub")
        digest = blocklist.hash_number(int.from_bytes(point[1:1 + len(point) // 2], "big"))
    others = random_records(rnd, 1000)
    clean = write_list(scratch / "clean", others)
    listed = write_list(scratch / "listed", [*others, (digest, 13)], "13 debianssl\n")
    for form, data in forms(key):
        path = write(scratch / "file", data)
        equal(check(path, lists=[clean]).status, 0, form)
        row = json.loads(check(path, "--json", lists=[clean, listed], status=1).out)
        equal((row["lists"], row["source"], row["sources"]), ([str(listed)], "debianssl", ["debianssl"]), form)


def test_plain_ml_dsa_and_ml_kem_are_listed_by_their_public_key_with_leading_zero_bytes(scratch):
    rnd = random.Random(2)
    sizes = {"2.16.840.1.101.3.4.3.17": 1312, "2.16.840.1.101.3.4.3.18": 1952, "2.16.840.1.101.3.4.3.19": 2592,
             "2.16.840.1.101.3.4.4.1": 800, "2.16.840.1.101.3.4.4.2": 1184, "2.16.840.1.101.3.4.4.3": 1568}
    others = random_records(rnd, 1000)
    for oid, size in sizes.items():
        raw = b"\0" + rnd.randbytes(size - 1)
        spki = sshkey.der_seq(sshkey.der_seq(sshkey.der_oid(oid)), sshkey.der(3, b"\0", raw))
        digest = hashlib.sha256(raw).digest()[:blocklist.HASH]
        listed = write_list(scratch / "listed", [*others, (digest, 7)])
        path = write(scratch / "file", pem("PUBLIC KEY", spki))
        equal(check(path, lists=[write_list(scratch / "clean", others)]).status, 0, oid)
        equal(json.loads(check(path, "--json", lists=[listed], status=1).out)["source"], "id7", oid)


def test_a_type_that_lists_do_not_have_is_clean_only_by_a_filter(scratch):
    """A list alone was not asked about it, so it is not said to be clean."""
    key = Made(scratch, "x25519")
    path = write(scratch / "file", tool("openssl", "pkey", "-in", key.private, "-pubout"))
    held = write_list(scratch / "l", random_records(random.Random(3), 10))
    row = json.loads(check(path, "--json", lists=[held], status=2).out)
    equal((row["verdict"], row["reason"]), ("unsupported", "exact lists have no keys of this type"), "verdict")
    check(path, "--filter", listing(scratch / "f.pkbf", made()["rsa"]), lists=[held], status=0)


def test_a_long_text_has_the_listed_keys_of_lists_and_filters_in_order(scratch):
    """Keys of every type, some of them in several of the files."""
    rnd = random.Random(4)
    lines = key_lines(rnd, 30000)
    for place in range(0, 30000, 100):
        lines[place] = any_line(rnd)
    chosen = sorted(rnd.sample(range(30000), 300))
    in_first, in_second, in_filter = chosen[:120], chosen[100:200], chosen[180:]
    others = random_records(rnd, 20000, ids=(1, 2))
    first, second = (
        write_list(scratch / name, others + [(digest, number) for place in places for digest in hashes(lines[place])],
                   f"{number} source{number}\n")
        for name, number, places in (("first", 13, in_first), ("second", 14, in_second)))
    f = pkbf.Filter.create(20, 18)
    for place in in_filter:
        for spki in sshkey.parse_line(lines[place].encode().rstrip(b"\n")).published:
            f.add(spki)
    f.write(scratch / "f")
    path = write(scratch / "keys", "".join(lines))
    marks = {f"[{scratch}/f]": in_filter, f"[{first} source13]": in_first, f"[{second} source14]": in_second}
    expected = [(place + 1, [mark for mark, places in marks.items() if place in places]) for place in chosen]
    result = check(path, "--filter", scratch / "f", lists=[first, second], status=1)
    found = [(one.line, [mark for mark in marks if mark in one.rest]) for one in findings(result, path)]
    equal(found, expected, "findings")
    alone = check(path, lists=[first], status=1)
    equal([one.line for one in findings(alone, path)], [place + 1 for place in in_first], "with one list")
    equal(alone.summary["keys"], result.summary["keys"], "keys")


def test_no_key_is_clean_by_a_list_that_is_not_in_order(scratch):
    rnd = random.Random(5)
    lines = key_lines(rnd, 5000)
    data = write_list(scratch / "l", random_records(rnd, 5000)).read_bytes()
    (scratch / "l").write_bytes(b"".join(data[i:i + 16] for i in reversed(range(0, len(data), 16))))
    result = check(write(scratch / "keys", "".join(lines)), lists=[scratch / "l"], status=2)
    equal((result.summary["clean"], result.summary["problems"]), (0, 5000), "summary")
