# SPDX-License-Identifier: ISC
"""check, the guard and the module agree with the oracle about an exact list of a million records, key for key."""

import json
import random
import subprocess
from pathlib import Path

import pytest

import blocklist
import nosecret
import sshkey
from guard import run, start
from logbook import read_decision
from machine import write_as_root

pytestmark = pytest.mark.throwaway

RECORDS = 1_000_000
CLEAN_LINES = 5000      # so many that check reads the list once, and keeps bits of it
DRIVER = Path(__file__).resolve().parent.parent / "faults" / "pamdriver.c"
PERM_DENIED = 6


def odd(rnd, bits):
    return rnd.getrandbits(bits) | 1 << bits - 1 | 1


def plain_keys(rnd):
    """Fields of keys of every type, several with leading zero bytes in the number that is hashed."""
    for bits in (1024, 1025, 2047, 2048, 3072, 4096, 8192, 16384):
        for e in (3, 35, 65537):
            yield "ssh-rsa", sshkey.fields_rsa(e, nosecret.sound_number(rnd, bits))
    p, q = odd(rnd, 1024), odd(rnd, 160)
    for bits in (1024, 1023, 1008, 1001):
        yield "ssh-dss", sshkey.fields_dsa(p, q, odd(rnd, 1000), odd(rnd, bits))
    for curve, (_, size) in sshkey.CURVES.items():
        for zeroes in (0, 1, 2, size // 2, size - 1):
            x = 1 + rnd.getrandbits(8 * (size - zeroes) - 8 if curve == "nistp521" and not zeroes else
                                    8 * (size - zeroes) - 1)
            point = sshkey.ec_point(curve, x, rnd.getrandbits(8 * size - 8))
            yield f"ecdsa-sha2-{curve}", sshkey.fields_ecdsa(curve, point)
            if curve == "nistp256":
                yield sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point)
    for zeroes in (0, 1, 2, 31):
        raw = bytes(zeroes) + bytes([1 + rnd.randrange(255)]) + rnd.randbytes(31 - zeroes)
        yield "ssh-ed25519", sshkey.fields_raw(raw)
        yield sshkey.SK_ED25519, sshkey.fields_sk_ed25519(raw)
        yield "ssh-ed448", sshkey.fields_raw(bytes(zeroes) + rnd.randbytes(57 - zeroes))
        for name in (sshkey.MLDSA, sshkey.MLDSA_OLD):
            yield name, sshkey.fields_raw(bytes(zeroes) + rnd.randbytes(1312 - zeroes) + raw)


def all_blobs(rnd):
    """Blobs of keys of every type, and of a certificate for each, by a CA of another type."""
    plain = [(name, fields, sshkey.build_plain(name, fields)) for name, fields in plain_keys(rnd)]
    for turn, (name, fields, blob) in enumerate(plain):
        yield blob
        if name not in (sshkey.MLDSA, sshkey.MLDSA_OLD):
            yield sshkey.build_cert(sshkey.cert_name(name), fields, plain[(turn + 7) % len(plain)][2])


def blob_with(rnd, first_byte):
    """A key whose hash begins with this byte."""
    while True:
        blob = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(rnd.randbytes(32)))
        if blocklist.hashes(sshkey.parse(blob))[0][0] == first_byte:
            return blob


def neighbours(rnd, digest):
    """Hashes beside this one: the next and the one before, and some with one other bit."""
    number = int.from_bytes(digest, "big")
    near = [number + 1, number - 1, *(number ^ 1 << bit for bit in (0, 119, rnd.randrange(120), rnd.randrange(120)))]
    return [one.to_bytes(blocklist.HASH, "big") for one in near if 0 < one < (1 << 120) - 1]


def make_list(rnd, listed, others):
    """A million records: of listed hashes under several sources, neighbours of those and of others, random ones."""
    own = {digest + bytes([source]) for digest in listed for source in rnd.sample(range(256), rnd.randrange(1, 4))}
    near = {digest + bytes([rnd.randrange(256)]) for one in listed | others for digest in neighbours(rnd, one)}
    records = own | {record for record in near if record[:blocklist.HASH] not in listed | others}
    # The first and the last record of the file are of keys.
    first, last = min(listed), max(listed)
    records = {record for record in records if first <= record[:blocklist.HASH] <= last}
    while len(records) < RECORDS:
        record = rnd.randbytes(blocklist.RECORD)
        if first < record < last:
            records.add(record)
    return b"".join(sorted(records))


class Case:
    """Keys, a list, and what the oracle says of each key in it."""

    def __init__(self, world, build):
        self.keyveto = build / "keyveto"
        self.folder = world.scratch / "million"
        self.folder.mkdir()
        rnd = random.Random(13)
        ends = [blob_with(rnd, 0), blob_with(rnd, 0xff)]
        self.blobs = [*ends, *all_blobs(rnd)]
        keys = [sshkey.parse(blob) for blob in self.blobs]
        digests = {digest for one in keys for part in (one, one.ca) if part for digest in blocklist.hashes(part)}
        first, last = (blocklist.hashes(sshkey.parse(blob))[0] for blob in ends)
        digests = {digest for digest in digests if first <= digest <= last}
        listed = {first, last, *rnd.sample(sorted(digests), len(digests) // 4)}
        data = make_list(rnd, listed, digests - listed)
        assert len(data) == RECORDS * blocklist.RECORD and (data[:15], data[-16:-1]) == (first, last)
        oracle = blocklist.Blocklist(data)
        self.expected = [self.what_is_listed(oracle, key) for key in keys]
        assert sum(one is None for one in self.expected) > 20 and sum(one is not None for one in self.expected) > 20
        self.path = write_as_root(self.folder / "list", data)
        self.config = write_as_root(self.folder / "keyveto.conf", f"Blocklist {self.path}\n")

    @staticmethod
    def what_is_listed(oracle, key):
        """The part that a login refuses and its source, or None."""
        for part, one in (("key", key), ("ca", key.ca)):
            if one and oracle.source(one) is not None:
                return part, f"id{oracle.source(one)}"
        return None

    def offers(self):
        """Name, type and base64 of each key, and what is expected of it."""
        for number, (blob, expected) in enumerate(zip(self.blobs, self.expected)):
            yield (f"key{number}", *sshkey.key_line(blob).split(), expected)


@pytest.fixture(scope="module", name="case")
def fixture_case(world, build):
    return Case(world, build)


def logged(world, name):
    """What the log says of a run: the part that is refused and its source, or None."""
    found = [read_decision(line) for line in world.log.about(f"rhost={name} ")]
    assert all((one.verdict, one.action) == ("listed", "deny") for one in found), found
    return found and (found[0].part, found[0].source) or None


def test_check_agrees(case):
    rnd = random.Random(14)
    clean = [sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(rnd.randbytes(32))) for _ in range(CLEAN_LINES)]
    for before in ([], clean):
        lines = "".join(f"{sshkey.key_line(blob)}\n" for blob in (*before, *case.blobs))
        done = subprocess.run([case.keyveto, "check", "--json", "--blocklist", case.path, "-"],
                              input=lines.encode(), stdout=subprocess.PIPE)
        assert done.returncode == 1
        found = {}
        for row in map(json.loads, done.stdout.splitlines()):
            # A login tells the key of a certificate before its CA.
            found.setdefault(row["line"], (row["part"], row["source"]))
        assert found == {len(before) + number: one for number, one in enumerate(case.expected, 1) if one}, len(before)


def test_the_guard_agrees(world, case):
    for name, kind, text, expected in case.offers():
        done = run(["--config", case.config, "--user", "somebody", "--type", kind, "--key", text,
                    "--connection", f"192.0.2.1 22 {name} 22", "--", "/bin/echo", "ran"])
        assert (done.returncode, done.stdout) == (0, b"" if expected else b"ran\n"), f"{kind}: {done}"
        assert logged(world, name) == expected, kind


def test_the_module_agrees(world, case):
    driver = case.folder / "pamdriver"
    subprocess.run(["cc", "-o", driver, DRIVER, "-lpam"], check=True)
    services = case.folder / "pam.d"
    services.mkdir()
    lines = f"session requisite pam_keyveto.so config={case.config}\nsession required pam_permit.so\n"
    write_as_root(services / "kvt", lines)
    for name, kind, text, expected in case.offers():
        name = f"pam{name}"
        done = start([driver, services, "kvt", "somebody", name, f"publickey {kind} {text}\n", "session"])
        code = int(done.stdout.split()[-1])
        assert code == (PERM_DENIED if expected else 0), f"{kind}: {done}"
        assert logged(world, name) == expected, kind
