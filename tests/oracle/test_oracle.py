"""Checks the oracle against known answers, OpenSSL and ssh-keygen.

The known answers are the publisher's two example keys and four example
filters, and published XXH64 values.  Fresh keys of each type that the tools
can make are then compared with what the tools say of them.  Needs `openssl`
and `ssh-keygen`; without them it fails.
"""

import hashlib
import math
import os
import random
import subprocess
import sys

import pytest

import pkbf
import sshkey
from xxh64 import xxh64

HERE = os.path.dirname(os.path.abspath(__file__))

RSA_LINE = b"ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCdjWIIuoUy+RGCPtkPGcZtZSk437aUFB2CgIkvfiA5H3iB+mg6yk8yotIf0tVVYMy16h7Yr1zmyLAngTIUpoBzuQg5E66wn70QxkB065sy3FYM8D4wkMW9OP2J91SoeoYnkwJ0nu8LHTF/T9GpTvxJCVvSMoYEsF1GHFFCwl4YQOYPscerqxr7dfP/mwlulLrwBxYmbXcDRtukf8eANy6Xo8ckesGhJ9ndhe/W600n6xZTNToBXiWyI1/jWkzvRj3NvgAvPH2ypJm6AQD1wkNVFp+yNVqoL9xZJS+LLh2Nu3cwGucS9QI7Rg4f4M/naL065eDYLxEFegSM5ZfAp9cn"  # noqa: E501
EC_LINE = b"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBB1cUco3MYNAAsJnijrjErO+nmYcbp3KvL2DyX7tBDc2LRzEgW2/9DvIO9z2waIgAHxiQXpnadjchiy3DzmaSfk="  # noqa: E501

EXAMPLES = (  # SHA-256 of SPKI, XXH64 under 0 and 1, positions
    ("9e03b56749abe821a6f5299d6f634b35404975f0552eb3347bf3adfad9af1109",
     0x7f41d67420810de8, 0x89f7fb41341d0581,
     [8, 9], [40, 41, 43], [3560, 873, 2283, 3695, 1014]),
    ("819f7d1dcd9f07bfcb59b7699f68994d89390c3bcd498cf7fb2e1ef3d272b89b",
     0x890fd1597a06a235, 0xf70bde4c65a7a9f4,
     [5, 10], [53, 42, 32], [565, 3114, 1568, 24, 2579]),
    ("316194405bf1c56c3395c4b6fcf32af83ca0e273fbf0832ef8364069a178ad75",
     0x473f7d4c2d70f3c1, 0xbb9ca61f8da6db25,
     [1, 6], [1, 38, 12], [961, 3814, 2572, 1332, 95]),
)
POSITION_SIZES = ((2, 4), (3, 6), (5, 12))

FILTER_TIME = 1555799917
FILTERS = (  # k, p, bits if few, SHA-256 of the file
    (2, 4, "46e0",
     "2940693fc9323eb32c667a815f509cbd8a1ea76db19a4c81360ccabfe7a23b9b"),
    (3, 6, "4008000082f00400",
     "ff43f04da5688bec98f26f3753ca4493200fc89129b96d4b39893be22a1bfe8b"),
    (5, 12, None,
     "f0c0b0c9ddd052ceea4b95adbfd39d5c56ffc2136e3a4f0d095079757d287f34"),
    (12, 18, None,
     "9186b2081855bf9c2942c8a6ae7466c8aee9ffa8a20126901a9589f8323a51c3"),
)
PARAMETERS = ((42, 0.1, 2, 8), (1000, 0.01, 3, 14), (1_200_000, 0.01, 3, 24))
RATES = ((4, 2, 1, 0.01466), (32, 20, 440_000_000, 0.0633),
         (32, 20, 220_000_000, 0.000137), (32, 20, 110_000_000, 1.14e-8),
         (32, 20, 80_000_000, 7.2e-11))
COUNTED = ((2, 6, 3), (3, 6, 2), (5, 6, 5), (12, 6, 5), (30, 6, 1), (60, 6, 1), (8, 5, 3), (12, 5, 1), (4, 7, 6),
           (10, 7, 8), (30, 7, 3), (30, 8, 5))
XXH64_VALUES = ((b"", 0, 0xef46db3751d8e999), (b"", 1, 0xd5afba1336a3be4b),
                (b"a", 0, 0xd24ec4f1a98c6e5b), (b"abc", 0, 0x44bc2cf5ad770999),
                (b"Nobody inspects the spammish repetition", 0,
                 0xfbcea83c8a378bf1))

# Gone from ssh-keygen 10.0.
DSA = (("dsa", 1024),) if b"ssh-dss" in subprocess.run(
    ["ssh", "-Q", "key"], stdout=subprocess.PIPE, check=True).stdout.split() else ()


def run(*command, stdin=None):
    done = subprocess.run(command, input=stdin, capture_output=True)
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)}: exit status {done.returncode}\n" + done.stderr.decode(errors="replace"))
    return done.stdout


def openssl(*args, stdin=None):
    return run("openssl", *args, stdin=stdin)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def keygen_fingerprint(blob, name=None):
    line = sshkey.key_line(blob, name).encode()
    return run("ssh-keygen", "-lf", "-", stdin=line).split()[1].decode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("data, seed, want", XXH64_VALUES)
def test_xxh64_of_published_values(data, seed, want):
    assert xxh64(data, seed) == want


def test_xxh64_as_python3_xxhash():
    xxhash = pytest.importorskip("xxhash", reason="no python3-xxhash, only known XXH64 values are compared")
    data = hashlib.shake_256(b"keyveto").digest(300)
    for seed in (0, 1, 2**32, 2**64 - 1):
        for size in range(len(data) + 1):
            assert xxh64(data[:size], seed) == xxhash.xxh64_intdigest(data[:size], seed), (size, seed)


def counted_rate(k, p, n, filters=40):
    """The share of all patterns that filters of n random ones list, as every pattern is equally likely for a key."""
    rnd = random.Random(f"{k} {p} {n}")
    total, every = 0, [set(pkbf.pattern(h1, h2, k, p)) for h1 in range(2 ** p) for h2 in range(1, 2 ** p, 2)]
    for _ in range(filters):
        bits = set().union(*rnd.sample(every, n))
        total += sum(one <= bits for one in every)
    return total / filters / len(every)


def published():
    """The SPKIs of the two example keys."""
    return [*sshkey.parse_line(RSA_LINE).published, *sshkey.parse_line(EC_LINE).published]


def test_spkis_of_the_examples():
    assert len(published()) == len(EXAMPLES)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number):
    spki, (digest, h1, h2, *places) = published()[number], EXAMPLES[number]
    assert sha256(spki) == digest
    assert (xxh64(spki, 0), xxh64(spki, 1)) == (h1, h2)
    assert [pkbf.positions(spki, k, p) for k, p in POSITION_SIZES] == places


@pytest.fixture(name="example")
def fixture_example(scratch):
    """Files with the example keys, and with a filter of this size that lists them."""
    cli = (sys.executable, f"{HERE}/pkbf.py")
    lines = write(f"{scratch}/examples", RSA_LINE + b"\n" + EC_LINE + b"\n")

    def create(k, p):
        path = f"{scratch}/example.pkbf"
        run(*cli, "create", path, "--hashes", str(k), "--length", str(p),
            "--time", str(FILTER_TIME), "--revision", "1", lines)
        return path, run(*cli, "contains", path, lines).decode()
    return create


@pytest.mark.parametrize("k, p, bits, digest", FILTERS, ids=[f"{k}-{p}" for k, p, *_ in FILTERS])
def test_filter(example, k, p, bits, digest):
    path, said = example(k, p)
    f = pkbf.Filter.read(path)
    assert sha256(f.to_bytes()) == digest
    assert bits in (None, f.bits.hex())
    assert f.entries == 3
    assert f.add_run(published(), 5) == 0, "it adds something twice"
    assert sha256(f.to_bytes()) == digest
    assert said == "".join(f"listed {sshkey.parse_line(line).fingerprint}\n" for line in (RSA_LINE, EC_LINE))


def test_a_run_counts_once(example):
    f = pkbf.Filter.read(example(*FILTERS[-1][:2])[0])
    assert (f.add_run([b"one", b"two"], 7), f.revision, f.time, f.entries) == (2, 2, 7, 5)


@pytest.mark.parametrize("n, rate, k, p", PARAMETERS)
def test_parameters(n, rate, k, p):
    assert pkbf.parameters(n, rate) == (k, p)


@pytest.mark.parametrize("p, k, n, want", RATES)
def test_rate(p, k, n, want):
    assert math.isclose(pkbf.predicted_rate(k, p, n), want, rel_tol=0.01), pkbf.predicted_rate(k, p, n)


@pytest.mark.parametrize("k, p, n", COUNTED)
def test_rate_as_counted(k, p, n):
    rate, most = pkbf.predicted_rate(k, p, n), pkbf.rate_at_most(k, p, n)
    counted = counted_rate(k, p, n)
    assert pkbf.patterns_rate(p, n) <= counted
    assert 0.8 * rate < counted < 1.03 * most


GOOD = pkbf.Filter.create(2, 4).to_bytes()
BAD = {
    "no bytes": b"", "short header": GOOD[:23],
    "short bits": GOOD[:-1], "long bits": GOOD + b"\0",
    "magic": b"pkbfv2" + GOOD[6:],
    "k 0": GOOD[:22] + b"\0" + GOOD[23:],
    "p 2": GOOD[:23] + b"\2" + GOOD[24:-1],
    "p 255": GOOD[:23] + b"\xff" + GOOD[24:],
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_filter_is_refused(bad):
    with pytest.raises(pkbf.BadFilter):
        pkbf.Filter.from_bytes(bad)


@pytest.mark.parametrize("kind, bits", (
    ("rsa", 1024), ("rsa", 1025), ("rsa", 2048), ("rsa", 3072), ("rsa", 4096), *DSA,
    ("ecdsa", 256), ("ecdsa", 384), ("ecdsa", 521)))
def test_keygen_type(scratch, kind, bits):
    """RSA, DSA and ECDSA: ssh-keygen can say both forms."""
    path = f"{scratch}/{kind}{bits}"
    run("ssh-keygen", "-q", "-t", kind, "-b", str(bits), "-N", "", "-m", "PKCS8", "-f", path)
    with open(path + ".pub", "rb") as file:
        key = sshkey.parse_line(b'command="say \\"hi\\" ssh-rsa",pty ' + file.read())
    title = f"{kind} {bits}"
    exported = run("ssh-keygen", "-e", "-m", "PKCS8", "-f", path + ".pub")
    assert key.spkis == (openssl("pkey", "-pubin", "-outform", "DER", stdin=exported),), title + ", ssh-keygen -e"
    assert key.spkis == (openssl("pkey", "-in", path, "-pubout", "-outform", "DER"),), title + ", openssl -pubout"
    if kind == "ecdsa":
        compressed = openssl("ec", "-in", path, "-pubout", "-outform", "DER", "-conv_form", "compressed")
        assert key.compressed == (compressed,), title + ", compressed"
    assert key.fingerprint == keygen_fingerprint(key.blob), title + ", fingerprint"
    assert sshkey.parse(key.blob) == key, title + ", rebuilt"


def new_raw_key(path, kind):
    """(SPKI, raw key) of a fresh Ed25519 or Ed448 key in a file."""
    openssl("genpkey", "-algorithm", kind, "-out", path)
    spki = openssl("pkey", "-in", path, "-pubout", "-outform", "DER")
    return spki, spki[-sshkey.RAW_SIZES[kind]:]


def test_raw_types(scratch):
    spki, raw = new_raw_key(f"{scratch}/ed448", "ed448")
    blob = sshkey.build_plain("ssh-ed448", sshkey.fields_raw(raw))
    assert sshkey.spkis(blob) == [spki], "ed448"

    spki, raw = new_raw_key(f"{scratch}/ed25519", "ed25519")
    blob = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(raw))
    assert sshkey.spkis(blob) == [spki], "ed25519"
    assert sshkey.fingerprint(blob) == keygen_fingerprint(blob), "ed25519 fingerprint"

    ec = sshkey.parse_line(EC_LINE)
    point = ec.blob[-65:]
    for name, fields, want in (
            (sshkey.SK_ED25519, sshkey.fields_sk_ed25519(raw), spki),
            (sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point), ec.spkis[0])):
        blob = sshkey.build_plain(name, fields)
        assert sshkey.spkis(blob) == [want], name
        assert sshkey.fingerprint(blob) == keygen_fingerprint(blob), name + " fingerprint"

    half = hashlib.shake_256(b"ML-DSA-44").digest(1312)
    for name in (sshkey.MLDSA, sshkey.MLDSA_OLD):
        blob = sshkey.build_plain(name, sshkey.fields_raw(half + raw))
        assert sshkey.spkis(blob) == \
            [bytes.fromhex("30820551300a06082b0601050507062703820541" "00") + half + raw,
             bytes.fromhex("30820532300b060960864801650304031103820521" "00") + half, spki], name
        assert sshkey.compressed_spkis(blob) == [], "no compressed form"


def test_openssh_10_6():
    """Lines that its ssh-keygen made, and the fingerprint that it prints."""
    keys = {}
    for name in ("composite", "composite-cert", "plain-cert"):
        path = os.path.join(HERE, f"../../testdata/openssh-10.6/{name}.pub")
        with open(path, "rb") as file:
            keys[name] = sshkey.parse_line(file.read())
    composite = keys["composite"]
    assert composite.fingerprint == "SHA256:YVP+is6TTsDTh/h4QOxOCMCDm7ywita4ZM4CT4mO6pU", "fingerprint"
    assert keys["composite-cert"].blob == composite.blob, "key of a certificate"
    assert keys["plain-cert"].ca == composite, "CA of a certificate"
    assert keys["plain-cert"].ca.spkis == composite.spkis, "SPKIs of a CA"


def test_certificates(scratch):
    """Certificates of ssh-keygen's, and odd ones that ssh-keygen must accept."""
    ca_path = f"{scratch}/ca"
    run("ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", ca_path)
    with open(ca_path + ".pub", "rb") as file:
        ca = sshkey.parse_line(file.read())
    for kind in ("rsa", *(kind for kind, _ in DSA), "ecdsa", "ed25519"):
        path = f"{scratch}/user_{kind}"
        run("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path)
        run("ssh-keygen", "-q", "-s", ca_path, "-I", "id", "-n", "a,b", "-V", "+1d", path + ".pub")
        with open(path + ".pub", "rb") as file:
            plain = sshkey.parse_line(file.read())
        with open(path + "-cert.pub", "rb") as file:
            cert = sshkey.parse_line(file.read())
        assert (cert.spkis, cert.ca) == (plain.spkis, ca), kind + " certificate"
        assert cert.fingerprint == plain.fingerprint, kind + " certificate's fingerprint"

    signer = f"{scratch}/signer"
    _, raw = new_raw_key(signer, "ed25519")
    ca_blob = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(raw), nuls=1)

    def sign(tbs):
        made = openssl("pkeyutl", "-sign", "-rawin", "-inkey", signer, "-in", write(f"{scratch}/tbs", tbs))
        return sshkey.string(b"ssh-ed25519") + sshkey.string(made)

    rsa, ec = sshkey.parse_line(RSA_LINE), sshkey.parse_line(EC_LINE)
    r = sshkey.Reader(rsa.blob)
    r.name()
    e, n = r.mpint(), r.mpint()
    point = ec.blob[-65:]
    for title, key, name, fields, nuls in (
            ("padded", rsa, "ssh-rsa", sshkey.fields_rsa(e, n, 100), 0),
            ("alias", rsa, "rsa-sha2-512", sshkey.fields_rsa(e, n), 1),
            ("NULs", ec, ec.type, sshkey.fields_ecdsa("nistp256", point, 1), 1)):
        blob = sshkey.build_cert(sshkey.cert_name(name), fields, ca_blob, nuls=nuls, principals=(b"a\0",), sign=sign)
        assert sshkey.cert_spkis(blob) == (list(key.spkis), [sshkey.spki_raw("ed25519", raw)]), title + " certificate"
        assert key.fingerprint == keygen_fingerprint(blob, sshkey.cert_name(key.type)), \
            title + " certificate, ssh-keygen"
        plain = sshkey.build_plain(name, fields, nuls)
        assert sshkey.parse(plain) == key, title + " plain key"
        assert key.fingerprint == keygen_fingerprint(plain, key.type), title + " plain key, ssh-keygen"

    assert sshkey.parse(sshkey.build_plain("rSa", sshkey.fields_rsa(e, n))) == rsa, "short name"
    assert sshkey.parse(sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(e, n, 2049 - 257))) == rsa, "longest padding"
    nested = sshkey.build_cert(sshkey.cert_name("ssh-rsa"), sshkey.fields_rsa(e, n), blob)
    x, y = (int.from_bytes(half, "big") for half in (point[1:33], point[33:]))
    for title, bad in (
            ("trailing byte", rsa.blob + b"\0"), ("cut off", rsa.blob[:-1]),
            ("two NULs", sshkey.build_plain("ssh-rsa", fields, 2)),
            ("too much padding", sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(e, n, 2050 - 257))),
            ("negative", sshkey.build_plain("ssh-rsa", sshkey.mpint(e) + sshkey.string(b"\x80"))),
            ("unknown name", sshkey.build_plain("ssh-foo", b"")),
            ("other curve", sshkey.build_plain("ecdsa-sha2-nistp384", fields)),
            ("certified CA", nested),
            *((form + " point", sshkey.build_plain(ec.type, sshkey.fields_ecdsa(
                "nistp256", sshkey.ec_point("nistp256", x, y, form))))
              for form in ("compressed", "hybrid"))):
        with pytest.raises(sshkey.BadKey):
            sshkey.parse(bad)
            pytest.fail("key with " + title)


def test_lines():
    rsa = sshkey.parse_line(RSA_LINE)
    ec_base64 = EC_LINE.split()[1]
    for title, line in (("CRLF", RSA_LINE + b"\r\n"),
                        ("NUL", RSA_LINE + b"\0junk"),
                        ("tabs", b"\t" + RSA_LINE.replace(b" ", b" \t")),
                        ("FF in base64", RSA_LINE[:50] + b"\f" + RSA_LINE[50:]),
                        ("alias", b"rsa-sha2-256" + RSA_LINE[7:]),
                        ("odd options", b'a,,b="\\" c", ' + RSA_LINE)):
        assert sshkey.parse_line(line) == rsa, "line with " + title
    assert sshkey.parse_line(b'command="echo A\\\\" ' + RSA_LINE + b' B" ' + EC_LINE).type == "ecdsa-sha2-nistp256", \
        "only \\\" is an escape"
    for line in (b"", b" \t\r", b"# " + RSA_LINE):
        assert sshkey.parse_line(line) is None, f"no key in {line[:5]!r}"
    for title, line in (("BOM", b"\xef\xbb\xbf" + RSA_LINE),
                        ("wrong type", b"ssh-rsa " + ec_base64),
                        ("case", RSA_LINE.replace(b"ssh-rsa", b"SSH-RSA")),
                        ("padding", EC_LINE[:-1]),
                        ("spare bits", EC_LINE[:-2] + b"l="),
                        ("open quote", b'a="b ' + RSA_LINE)):
        with pytest.raises(sshkey.BadKey):
            sshkey.parse_line(line)
            pytest.fail("line with " + title)
