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
import tempfile

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

passed = failed = 0


def check(title, got, want):
    global passed, failed
    if got == want:
        passed += 1
    else:
        failed += 1
        print(f"FAIL {title}\n  got  {got!r}\n  want {want!r}")


def refused(title, error, call, *args):
    try:
        got = call(*args)
    except error:
        got = "refused"
    check(title, got, "refused")


def run(*command, stdin=None):
    done = subprocess.run(command, input=stdin, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"FAIL {' '.join(command)}: exit status {done.returncode}\n"
                 + done.stderr.decode(errors="replace"))
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


def test_xxh64():
    for data, seed, want in XXH64_VALUES:
        check(f"XXH64 of {data!r}, seed {seed}", xxh64(data, seed), want)
    try:
        import xxhash
    except ImportError:
        print("note: no python3-xxhash, only known XXH64 values were compared")
        return
    data = hashlib.shake_256(b"keyveto").digest(300)
    for seed in (0, 1, 2**32, 2**64 - 1):
        for size in range(len(data) + 1):
            check(f"XXH64 of {size} bytes, seed {seed}", xxh64(data[:size], seed),
                  xxhash.xxh64_intdigest(data[:size], seed))


def counted_rate(k, p, n, filters=40):
    """The share of all patterns that filters of n random ones list, as every pattern is equally likely for a key."""
    rnd = random.Random(f"{k} {p} {n}")
    total, every = 0, [set(pkbf.pattern(h1, h2, k, p)) for h1 in range(2 ** p) for h2 in range(1, 2 ** p, 2)]
    for _ in range(filters):
        bits = set().union(*rnd.sample(every, n))
        total += sum(one <= bits for one in every)
    return total / filters / len(every)


def test_known_answers(directory):
    rsa, ec = sshkey.parse_line(RSA_LINE), sshkey.parse_line(EC_LINE)
    spkis = [*rsa.published, *ec.published]
    check("SPKIs of the examples", len(spkis), len(EXAMPLES))
    for spki, (digest, h1, h2, *places) in zip(spkis, EXAMPLES):
        check("SPKI " + digest, sha256(spki), digest)
        check("hash 1 of " + digest, xxh64(spki, 0), h1)
        check("hash 2 of " + digest, xxh64(spki, 1), h2)
        for (k, p), want in zip(POSITION_SIZES, places):
            check(f"positions of {digest}, {k} {p}",
                  pkbf.positions(spki, k, p), want)

    lines = write(f"{directory}/examples", RSA_LINE + b"\n" + EC_LINE + b"\n")
    path = f"{directory}/example.pkbf"
    cli = (sys.executable, f"{HERE}/pkbf.py")
    for k, p, bits, digest in FILTERS:
        run(*cli, "create", path, "--hashes", str(k), "--length", str(p),
            "--time", str(FILTER_TIME), "--revision", "1", lines)
        f = pkbf.Filter.read(path)
        check(f"filter {k} {p}", sha256(f.to_bytes()), digest)
        check(f"bits of filter {k} {p}", bits in (None, f.bits.hex()), True)
        check(f"entries of filter {k} {p}", f.entries, 3)
        check(f"filter {k} {p} adds nothing twice", f.add_run(spkis, 5), 0)
        check(f"filter {k} {p} unchanged", sha256(f.to_bytes()), digest)
        check(f"filter {k} {p} lists", run(*cli, "contains", path, lines).decode(),
              f"listed {rsa.fingerprint}\nlisted {ec.fingerprint}\n")
    check("a run counts once",
          (f.add_run([b"one", b"two"], 7), f.revision, f.time, f.entries),
          (2, 2, 7, 5))

    for n, rate, k, p in PARAMETERS:
        check(f"parameters for {n}, {rate}", pkbf.parameters(n, rate), (k, p))
    for p, k, n, want in RATES:
        got = pkbf.predicted_rate(k, p, n)
        check(f"rate for p {p}, k {k}, n {n}: {got}",
              math.isclose(got, want, rel_tol=0.01), True)

    for k, p, n in COUNTED:
        rate, most = pkbf.predicted_rate(k, p, n), pkbf.rate_at_most(k, p, n)
        counted = counted_rate(k, p, n)
        check(f"rate for p {p}, k {k}, n {n}: {counted}, from {rate} to {most}",
              pkbf.patterns_rate(p, n) <= counted and 0.8 * rate < counted < 1.03 * most, True)

    good = pkbf.Filter.create(2, 4).to_bytes()
    for title, bad in (("no bytes", b""), ("short header", good[:23]),
                       ("short bits", good[:-1]), ("long bits", good + b"\0"),
                       ("magic", b"pkbfv2" + good[6:]),
                       ("k 0", good[:22] + b"\0" + good[23:]),
                       ("p 2", good[:23] + b"\2" + good[24:-1]),
                       ("p 255", good[:23] + b"\xff" + good[24:])):
        refused("filter with bad " + title, pkbf.BadFilter,
                pkbf.Filter.from_bytes, bad)


def test_keygen_types(directory):
    """RSA, DSA and ECDSA: ssh-keygen can say both forms."""
    for kind, bits in (("rsa", 1024), ("rsa", 1025), ("rsa", 2048),
                       ("rsa", 3072), ("rsa", 4096), *DSA,
                       ("ecdsa", 256), ("ecdsa", 384), ("ecdsa", 521)):
        path = f"{directory}/{kind}{bits}"
        run("ssh-keygen", "-q", "-t", kind, "-b", str(bits), "-N", "",
            "-m", "PKCS8", "-f", path)
        with open(path + ".pub", "rb") as file:
            key = sshkey.parse_line(b'command="say \\"hi\\" ssh-rsa",pty ' +
                                    file.read())
        title = f"{kind} {bits}"
        exported = run("ssh-keygen", "-e", "-m", "PKCS8", "-f", path + ".pub")
        check(title + ", ssh-keygen -e", key.spkis,
              (openssl("pkey", "-pubin", "-outform", "DER", stdin=exported),))
        check(title + ", openssl -pubout", key.spkis,
              (openssl("pkey", "-in", path, "-pubout", "-outform", "DER"),))
        if kind == "ecdsa":
            check(title + ", compressed", key.compressed,
                  (openssl("ec", "-in", path, "-pubout", "-outform", "DER",
                           "-conv_form", "compressed"),))
        check(title + ", fingerprint", key.fingerprint,
              keygen_fingerprint(key.blob))
        check(title + ", rebuilt", sshkey.parse(key.blob), key)


def new_raw_key(path, kind):
    """(SPKI, raw key) of a fresh Ed25519 or Ed448 key in a file."""
    openssl("genpkey", "-algorithm", kind, "-out", path)
    spki = openssl("pkey", "-in", path, "-pubout", "-outform", "DER")
    return spki, spki[-sshkey.RAW_SIZES[kind]:]


def test_raw_types(directory):
    spki, raw = new_raw_key(f"{directory}/ed448", "ed448")
    blob = sshkey.build_plain("ssh-ed448", sshkey.fields_raw(raw))
    check("ed448", sshkey.spkis(blob), [spki])

    spki, raw = new_raw_key(f"{directory}/ed25519", "ed25519")
    blob = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(raw))
    check("ed25519", sshkey.spkis(blob), [spki])
    check("ed25519 fingerprint", sshkey.fingerprint(blob),
          keygen_fingerprint(blob))

    ec = sshkey.parse_line(EC_LINE)
    point = ec.blob[-65:]
    for name, fields, want in (
            (sshkey.SK_ED25519, sshkey.fields_sk_ed25519(raw), spki),
            (sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point), ec.spkis[0])):
        blob = sshkey.build_plain(name, fields)
        check(name, sshkey.spkis(blob), [want])
        check(name + " fingerprint", sshkey.fingerprint(blob),
              keygen_fingerprint(blob))

    half = hashlib.shake_256(b"ML-DSA-44").digest(1312)
    for name in (sshkey.MLDSA, sshkey.MLDSA_OLD):
        blob = sshkey.build_plain(name, sshkey.fields_raw(half + raw))
        check(name, sshkey.spkis(blob), [
            bytes.fromhex("30820551300a06082b0601050507062703820541" "00") + half + raw,
            bytes.fromhex("30820532300b060960864801650304031103820521" "00") + half,
            spki])
        check("no compressed form", sshkey.compressed_spkis(blob), [])


def test_openssh_10_6():
    """Lines that its ssh-keygen made, and the fingerprint that it prints."""
    keys = {}
    for name in ("composite", "composite-cert", "plain-cert"):
        path = os.path.join(HERE, f"../../testdata/openssh-10.6/{name}.pub")
        with open(path, "rb") as file:
            keys[name] = sshkey.parse_line(file.read())
    composite = keys["composite"]
    check("fingerprint", composite.fingerprint,
          "SHA256:YVP+is6TTsDTh/h4QOxOCMCDm7ywita4ZM4CT4mO6pU")
    check("key of a certificate", keys["composite-cert"].blob, composite.blob)
    check("CA of a certificate", keys["plain-cert"].ca, composite)
    check("SPKIs of a CA", keys["plain-cert"].ca.spkis, composite.spkis)


def test_certificates(directory):
    """Certificates of ssh-keygen's, and odd ones that ssh-keygen must accept."""
    ca_path = f"{directory}/ca"
    run("ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", ca_path)
    with open(ca_path + ".pub", "rb") as file:
        ca = sshkey.parse_line(file.read())
    for kind in ("rsa", *(kind for kind, _ in DSA), "ecdsa", "ed25519"):
        path = f"{directory}/user_{kind}"
        run("ssh-keygen", "-q", "-t", kind, "-N", "", "-f", path)
        run("ssh-keygen", "-q", "-s", ca_path, "-I", "id", "-n", "a,b",
            "-V", "+1d", path + ".pub")
        with open(path + ".pub", "rb") as file:
            plain = sshkey.parse_line(file.read())
        with open(path + "-cert.pub", "rb") as file:
            cert = sshkey.parse_line(file.read())
        check(kind + " certificate", (cert.spkis, cert.ca), (plain.spkis, ca))
        check(kind + " certificate's fingerprint", cert.fingerprint,
              plain.fingerprint)

    signer = f"{directory}/signer"
    _, raw = new_raw_key(signer, "ed25519")
    ca_blob = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(raw), nuls=1)

    def sign(tbs):
        made = openssl("pkeyutl", "-sign", "-rawin", "-inkey", signer,
                       "-in", write(f"{directory}/tbs", tbs))
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
        blob = sshkey.build_cert(sshkey.cert_name(name), fields, ca_blob,
                                 nuls=nuls, principals=(b"a\0",), sign=sign)
        check(title + " certificate", sshkey.cert_spkis(blob),
              (list(key.spkis), [sshkey.spki_raw("ed25519", raw)]))
        check(title + " certificate, ssh-keygen", key.fingerprint,
              keygen_fingerprint(blob, sshkey.cert_name(key.type)))
        plain = sshkey.build_plain(name, fields, nuls)
        check(title + " plain key", sshkey.parse(plain), key)
        check(title + " plain key, ssh-keygen", key.fingerprint,
              keygen_fingerprint(plain, key.type))

    check("short name", sshkey.parse(
        sshkey.build_plain("rSa", sshkey.fields_rsa(e, n))), rsa)
    check("longest padding", sshkey.parse(sshkey.build_plain(
        "ssh-rsa", sshkey.fields_rsa(e, n, 2049 - 257))), rsa)
    nested = sshkey.build_cert(sshkey.cert_name("ssh-rsa"),
                               sshkey.fields_rsa(e, n), blob)
    x, y = (int.from_bytes(half, "big") for half in (point[1:33], point[33:]))
    for title, bad in (
            ("trailing byte", rsa.blob + b"\0"), ("cut off", rsa.blob[:-1]),
            ("two NULs", sshkey.build_plain("ssh-rsa", fields, 2)),
            ("too much padding", sshkey.build_plain(
                "ssh-rsa", sshkey.fields_rsa(e, n, 2050 - 257))),
            ("negative", sshkey.build_plain("ssh-rsa", sshkey.mpint(e) +
                                            sshkey.string(b"\x80"))),
            ("unknown name", sshkey.build_plain("ssh-foo", b"")),
            ("other curve", sshkey.build_plain("ecdsa-sha2-nistp384",
                                               fields)),
            ("certified CA", nested),
            *((form + " point", sshkey.build_plain(ec.type, sshkey.fields_ecdsa(
                "nistp256", sshkey.ec_point("nistp256", x, y, form))))
              for form in ("compressed", "hybrid"))):
        refused("key with " + title, sshkey.BadKey, sshkey.parse, bad)


def test_lines():
    rsa = sshkey.parse_line(RSA_LINE)
    ec_base64 = EC_LINE.split()[1]
    for title, line in (("CRLF", RSA_LINE + b"\r\n"),
                        ("NUL", RSA_LINE + b"\0junk"),
                        ("tabs", b"\t" + RSA_LINE.replace(b" ", b" \t")),
                        ("FF in base64", RSA_LINE[:50] + b"\f" + RSA_LINE[50:]),
                        ("alias", b"rsa-sha2-256" + RSA_LINE[7:]),
                        ("odd options", b'a,,b="\\" c", ' + RSA_LINE)):
        check("line with " + title, sshkey.parse_line(line), rsa)
    check("only \\\" is an escape", sshkey.parse_line(
        b'command="echo A\\\\" ' + RSA_LINE + b' B" ' + EC_LINE).type,
        "ecdsa-sha2-nistp256")
    for line in (b"", b" \t\r", b"# " + RSA_LINE):
        check(f"no key in {line[:5]!r}", sshkey.parse_line(line), None)
    for title, line in (("BOM", b"\xef\xbb\xbf" + RSA_LINE),
                        ("wrong type", b"ssh-rsa " + ec_base64),
                        ("case", RSA_LINE.replace(b"ssh-rsa", b"SSH-RSA")),
                        ("padding", EC_LINE[:-1]),
                        ("spare bits", EC_LINE[:-2] + b"l="),
                        ("open quote", b'a="b ' + RSA_LINE)):
        refused("line with " + title, sshkey.BadKey, sshkey.parse_line, line)


def main():
    with tempfile.TemporaryDirectory() as directory:
        test_xxh64()
        test_known_answers(directory)
        test_keygen_types(directory)
        test_raw_types(directory)
        test_openssh_10_6()
        test_certificates(directory)
        test_lines()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
