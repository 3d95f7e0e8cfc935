# SPDX-License-Identifier: ISC
"""keyveto list of a KRL of OpenSSH, with ssh-keygen and the oracle's lists beside it."""

import base64
import gzip
import hashlib
import random
import subprocess

import keys
from krls import EXTENSION, HEADER, KEYS, SHA256, make_krl, revokes, section, signature, string
from list_runs import keyveto_list, oracle_list, random_records, write_list
from program import KEYVETO, PATIENCE, contains, equal

CERTIFICATES = "revokes certificates by serial number or key ID, which keyveto cannot: keep it in RevokedKeys"
SHA1 = "revokes keys by SHA-1, which keyveto cannot: keep it in RevokedKeys"
UNKNOWN = "has a section that keyveto does not know: keep it in RevokedKeys"


def by_hash(count):
    return f"revokes {count} keys by SHA-256 fingerprint alone: 'keyveto deny FILE' refuses them"


def test_the_keys_of_a_krl_are_added_and_the_rest_is_named(scratch):
    """ssh-keygen says which keys it revokes. It comes as a file, packed, in a pipe, and in a folder."""
    some = [keys.generate(scratch, kind) for kind in ("rsa", "ed25519", "ecdsa", "ed25519", "ed25519", "ed25519")]
    lines = [f"{one.key}\n" for one in some]
    ca, plain = some[5], [f"key: {one.key}" for one in some[:3]]
    sha1, sha256 = [f"sha1: {some[3].key}"], [f"sha256: {some[3].key}", f"hash: {some[4].key.fingerprint}"]
    certificate = str(keys.certify(ca, some[1], "x").certificate)
    # What it revokes, how many of the first keys it has, and how many it revokes.
    cases = {"keys": (plain, 3, 3, []),
             "certificate": ([certificate], 0, 0, [CERTIFICATES]),
             "serials": (["serial: 5-9", "serial: 11", *plain[:1]], 1, 1, [CERTIFICATES]),
             "sha1": ([*plain, *sha1], 3, 4, [SHA1]),
             "sha256": ([*plain, *sha256], 3, 5, [by_hash(2)]),
             "hashes": (sha256, 0, 2, [by_hash(2)]),
             "all": (["id: alice", *plain, *sha1, *sha256], 3, 5, [by_hash(2), CERTIFICATES, SHA1])}
    for name, (specification, count, revoked, reasons) in cases.items():
        folder = scratch / name
        folder.mkdir()
        krl = make_krl(folder / "krl", *specification, ca=ca.path)
        krl.with_name("krl.txt").unlink()
        answers = [revokes(krl, one.key.path) for one in some]
        equal((answers[:count], sum(answers)), ([True] * count, revoked), name)
        packed = scratch / f"{name}.gz"
        packed.write_bytes(gzip.compress(krl.read_bytes()))
        for words, shown, given in (([krl], krl, b""), ([], "-", krl.read_bytes()), ([packed], packed, b""),
                                    ([folder], krl, b"")):
            path = write_list(scratch / "l", random_records(random.Random(30), 10))
            old = path.read_bytes()
            _, messages = keyveto_list("add", path, "--id", 7, *words, stdin=given, status=2 if reasons else 0)
            equal(messages[:-1], [f"{shown}: {reason}" for reason in reasons])
            equal(path.read_bytes(), oracle_list(lines[:count], 7, old), name)


def test_a_krl_that_is_cut_adds_nothing_of_it(scratch):
    """Behind a section it cannot be told from a whole one."""
    some = [keys.generate(scratch) for _ in range(4)]
    blobs = [base64.b64decode(one.key.blob) for one in some]
    sections = [section(KEYS, *blobs[:2]), section(SHA256, hashlib.sha256(blobs[2]).digest()), section(KEYS, blobs[3]),
                section(EXTENSION, b"x@example.org", b""), signature(blobs[0])]
    whole = HEADER + b"".join(sections)
    ends = {len(HEADER + b"".join(sections[:n])): n for n in range(len(sections) + 1)}
    path, part = scratch / "l", scratch / "part"
    lines = [f"{one.key}\n" for one in some]
    keyveto_list("create", scratch / "whole", "-", stdin=whole, status=2)
    equal((scratch / "whole").read_bytes(), oracle_list([*lines[:2], lines[3]]))
    for cut in [*range(8, len(whole), 3), *ends]:
        write_list(path, random_records(random.Random(31), 10))
        old = path.read_bytes()
        part.write_bytes(whole[:cut])
        _, messages = keyveto_list("add", path, part, status=None)
        n = ends.get(cut)
        if n is None:
            equal(messages[0], f"{part}: not a whole KRL of OpenSSH", f"{cut} bytes")
        expected = [] if n is None or n == 0 else lines[:2] if n < 3 else [*lines[:2], lines[3]]
        equal(path.read_bytes(), oracle_list(expected, 0, old), f"{cut} bytes")


def test_a_hostile_krl_adds_none_but_its_keys(scratch):
    good = [f"{keys.generate(scratch).key}\n" for _ in range(2)]
    blobs = [base64.b64decode(line.split()[1]) for line in good]
    path, krl = scratch / "l", scratch / "krl"
    for data, added, said in (
            (section(KEYS, b"", blobs[0][:-1], blobs[0]), good[:1], ["krl:1: ", "krl:1: "]),
            (section(KEYS, string(b"ssh-new") + b"x", blobs[1]), good[1:], ["krl:1: unknown key type"]),
            (section(KEYS, b"\x1b[31m", blobs[0]), good[:1], ["krl:1: "]),
            (section(200, blobs[0]) + section(KEYS, blobs[1]), good[1:], [UNKNOWN]),
            (section(KEYS, blobs[0]) + section(SHA256, b"x" * 31), [], ["not a whole KRL"]),
            (section(KEYS, blobs[0]) + b"\x02\xff\xff\xff\xff", [], ["not a whole KRL"]),
            (section(KEYS, blobs[0]) + good[1].encode(), [], ["not a whole KRL"])):
        krl.write_bytes(HEADER + data)
        write_list(path, random_records(random.Random(32), 3))
        old = path.read_bytes()
        _, messages = keyveto_list("add", path, krl, status=2)
        equal(len(messages), len(said) + 1, messages)
        for message, part in zip(messages, said):
            contains(message, part)
            assert "\x1b" not in message
        equal(path.read_bytes(), oracle_list(added, 0, old), str(said))
    # A stream without an end is given up.
    with subprocess.Popen(["cat", krl, "/dev/zero"], stdout=subprocess.PIPE) as endless:
        done = subprocess.run([KEYVETO, "list", "add", path, "-"], stdin=endless.stdout, stderr=subprocess.PIPE,
                              check=False, timeout=PATIENCE)
        endless.stdout.close()
        endless.kill()
    equal(done.returncode, 2)
    contains(done.stderr.decode(), "-: File too large")
