#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Makes the seeds in fuzz/corpus: one small input of each kind, valid or nearly valid.

Other seeds were written by hand, as those named mistake-1, or found by fuzzing: they are named by their SHA-1.
"""

import base64
import gzip
import hashlib
import json
import lzma
import random
import struct
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / folder) for folder in ("oracle", "cli", "e2e")]

# pylint: disable=wrong-import-position
import nosecret
import proofs
import raw_rsa
import sshkey
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from patches import no_patches, patches_by_hand
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
    yield "cert", sshkey.build_cert("ssh-ed25519-cert-v01@openssh.com", sshkey.fields_raw(bytes(32)), plain["rsa"])


def make_nosecret():
    """Whether the key (0) or the CA (1) is compared, and a blob: of each class and type, and beside it."""
    names = set()
    for name, fields in nosecret.keys(random.Random(29)):
        blob = sshkey.build_plain(name, fields)
        title = f"{nosecret.source(blob) or 'sound'}-{name.split('@')[0]}"
        if len(blob) > 1500 or title in names:
            continue
        names.add(title)
        seed("nosecret", title, b"\0" + blob)
        if title == "ed25519-order-ssh-ed25519":
            name = "ssh-ed25519-cert-v01@openssh.com"
            seed("nosecret", "ca", b"\1" + sshkey.build_cert(name, sshkey.fields_raw(bytes(range(32))), blob))


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


def make_pem_of_openssl():
    """Keys, certificates and requests, each with a private key in its own form and in PKCS#8."""
    dsa = openssl("dsa", text=openssl("dsaparam", "-genkey", "-noout", "1024"))
    for name, own in (("rsa", openssl("genrsa", "-traditional", "1024")), ("dsa", dsa),
                      ("ec", openssl("ecparam", "-genkey", "-noout", "-name", "prime256v1")),
                      ("ed448", openssl("genpkey", "-algorithm", "ED448"))):
        seed("pem", f"own-{name}", own)
        seed("pem", f"pkcs8-{name}", openssl("pkcs8", "-topk8", "-nocrypt", text=own))
        seed("pem", f"public-{name}", openssl("pkey", "-pubout", text=own))
        with tempfile.NamedTemporaryFile() as file:
            file.write(own)
            file.flush()
            request = ("req", "-new", "-key", file.name, "-subj", "/CN=a")
            seed("pem", f"request-{name}", openssl(*request))
            seed("pem", f"certificate-{name}", openssl(*request, "-x509"))
    seed("pem", "encrypted", openssl("pkcs8", "-topk8", "-passout", "pass:a", text=dsa))


def make_lists():
    """A hash to look up, then a list."""
    hashes = sorted(hashlib.sha256(b"%d" % i).digest()[:15] for i in range(600))
    records = b"".join(h + bytes([i % 17]) for i, h in enumerate(hashes))
    seed("blocklist", "hit", hashes[37] + records[:64 * 16])
    seed("blocklist", "miss", b"\x80" * 15 + records[:64 * 16])
    seed("blocklist", "several-windows", hashes[500] + records)
    seed("blocklist", "unsorted", hashes[500] + records[4000:] + records[:4000])
    seed("blocklist", "cut", hashes[1] + records[:33])


def make_many_sources():
    """A manifest whose sources do not all fit into LIST.sources, and that expires."""
    lists = [{"id": n, "name": 60 * "n", "repo": 80 * "r", "path": 80 * "p"} for n in range(256)]
    seed("manifest", "many", json.dumps({"bkformat": 0, "date": "2026-11-20", "expires": "2026-12-20T10:00:00Z",
                                         "blocklist_url": "l.xz", "blocklist_sha256": 64 * "0", "blocklists": lists}))
    for expires in ("soon", 5, None):
        seed("manifest", f"expires-{expires}", json.dumps({"bkformat": 0, "date": "2026-11-20", "expires": expires,
                                                           "blocklist_url": "l.xz", "blocklist_sha256": 64 * "0"}))


def make_odd_filters():
    """Filters that do not open."""
    good = Filter(3, 8, 1, 0, 0, bytearray(32)).to_bytes()
    for name, odd in (("empty", b""), ("cut", good[:20]), ("short", good[:-1]), ("long", good + b"x"),
                      ("marker", b"pkbfv2" + good[6:]), ("no-hashes", good[:22] + b"\0" + good[23:]),
                      ("length-2", good[:23] + b"\2" + good[24:]), ("length-41", good[:23] + b"\x29" + good[24:])):
        seed("pkbf", name, odd)


def make_patches():
    """The length of the old file, that, and a patch of it, or what is none."""
    records = [hashlib.sha256(b"%d" % i).digest()[:16] for i in range(40)]
    old, new = b"".join(sorted(records[:30])), b"".join(sorted(records[5:]))
    start = struct.pack(">H", len(old)) + old
    seed("patch", "make", start + new)
    for name, made in {**patches_by_hand(old, new), **no_patches(old, new)}.items():
        seed("patch", name.replace(" ", "-"), start + made)


def make_inside():
    """How the text is stored, where the key goes, and the text."""
    key = sshkey.key_line(dict(plain_blobs())["ed25519"])
    texts = {"json": '[{"id": 1, "key": ""}, {"id": 2, "key": "' + key.replace("/", "\\/") + '\\n"}]\n',
             "yaml": f"users:\n- keys:\n  - \n  - {key}\n  more: |\n    x\n",
             "base64": f"a: {base64.b64encode(key.encode()).decode()}\nb: \n",
             "lines": f"{key}\n\n{key}\n",
             "pem": "a: -----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\nb: \n",
             "binary": f"SQLite\0\1{key}\0\0\n\0x"}
    block = texts["pem"].replace(": -", ': "\n-').replace("-----\n", '-----\\n"\n')
    long = block.partition("\n")[2].replace("MCow", 8 * "MCow")
    folded = textwrap.fill(base64.b64encode(key.encode()).decode(), 64) + "\n\n" + long
    diff, mail = (textwrap.indent(folded, mark, lambda line: True) for mark in ("+", "> "))
    numbered = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(
        ["-----BEGIN PUBLIC KEY-----", 16 * "MCow", "MCow", "-----END PUBLIC KEY-----"], 9))
    prose = f"see -----BEGIN RSA PRIVATE KEY-----\nparent {20 * '1f'}\n"
    comment = "".join(f" * {line}\r\n" for line in (
        "---- BEGIN SSH2 PUBLIC KEY ----", 'Comment: "a b"', 16 * "AAAA", "", "---- END SSH2 PUBLIC KEY ----"))
    for name, text in {**texts, "block": block, "diff": diff, "mail": mail, "numbered": numbered, "prose": prose,
                       "comment": comment}.items():
        for flags in range(6):
            seed("lines", f"{name}-{flags}", bytes((flags, 1)) + text.encode())
    foreign, json_text = "-----BEGIN PGP MESSAGE-----\n", f'[{{"key": "{key}"}}]'
    in_block = f"-----BEGIN PUBLIC KEY-----\n{key}\n{16 * 'MCow'}\n-----END PUBLIC KEY-----\n"
    leak = f"> -----BEGIN RSA PRIVATE KEY-----\n> {16 * 'MCow'}\n"
    for name, text in (("foreign", f"{foreign}{key}\n{foreign}x {foreign}{key}\n"), ("nul", f"{key}\0{key}\n"),
                       ("mails", textwrap.indent(long.partition("-----END")[0], "> ") + textwrap.indent(long, ">> ")),
                       ("json-cut", f"{json_text} x {key}\n"), ("in-block", in_block), ("leak", leak),
                       ("in-line", "a&nbsp;\"" + in_block.replace("\n", "\\n") + "\"\n")):
        seed("lines", name, b"\0\1" + text.encode())
    for name, text in (("options", f'from="a b" {key}'), ("host", f"@revoked a,b {key}"), ("text", f"- {key} x"),
                       ("mark", "\ufeff" + key), ("macro", "#define K x"), ("new", "sk-new@x AAAACHNrLW5ld0B4")):
        seed("shape", name, text)
    for name, text in texts.items():
        for storage in range(3):
            seed("inside", f"{name}-{storage}", bytes((storage, 0, min(len(text), 20))) + text.encode())
    begin = "-----BEGIN RSA PRIVATE KEY-----"
    private = f"{begin}\n{16 * 'MCow'}\n"
    encoded = base64.b64encode(f"x\n{private}".encode()).decode()
    for name, text in (("mail", textwrap.indent(private, "> ")), ("tags", f"<b>{begin}</b>\n<a id='1'>{16 * 'MCow'}\n"),
                       ("records", "".join(f'{{"m": "{line}", "o": "x"}}\n' for line in private.splitlines())),
                       ("escapes", private.replace("\n", "\\n\\/")), ("bare", f"{begin}\n{80 * 'word '}\n"),
                       ("pgp", private.replace("RSA", "PGP")), ("public", f"{begin}\n{key}\n"),
                       ("base64", f"{encoded}\n"), ("folded", textwrap.fill(encoded, 40) + "\n")):
        for flags in range(8):
            seed("mention", f"{name}-{flags}", bytes((flags,)) + text.encode())
    for code in ("utf-16-le", "utf-16-be"):
        seed("mention", code, b"\0" + private.encode(code))
    # gzip of text that begins with the mark of UTF-16, and goes on in ASCII.
    seed("inside", "mark-1", b"\1\0\4\xfe\xff\0\0\nmore texts\n")


def make_sources():
    """Which form it is, how much is read at a time, and the bytes."""
    key = sshkey.key_line(dict(plain_blobs())["ed25519"]).encode() + b"\n"
    wide = key.decode().encode("utf-16")
    forms = {"plain": (5, key), "pack": (6, key), "gzip": (1, gzip.compress(key, mtime=0)),
             "gzip-utf16": (1, gzip.compress(wide, mtime=0)), "xz": (2, lzma.compress(key)),
             "members": (1, gzip.compress(key[:9], mtime=0) + gzip.compress(key[9:], mtime=0) + bytes(9)),
             "utf16": (3, wide), "ends-in-ascii": (3, wide + key)}
    for name, (form, data) in forms.items():
        for cap in (0, 15):
            seed("source", f"{name}-{cap}", bytes((form, cap, 0)) + data)


def openssl(*words, text=None):
    return subprocess.run(["openssl", *words], input=text, capture_output=True, check=True).stdout


def stores():
    """PKCS #12, and a Java store."""
    with tempfile.NamedTemporaryFile() as key:
        key.write(openssl("genpkey", "-algorithm", "ED25519"))
        key.flush()
        certificate = openssl("req", "-new", "-x509", "-key", key.name, "-subj", "/CN=a")
        plain = ("-passout", "pass:", "-certpbe", "NONE", "-keypbe", "NONE", "-nomac")
        yield "pkcs12", openssl("pkcs12", "-export", "-inkey", key.name, *plain, text=certificate)
    yield "java", bytes.fromhex("feedfeed0000000200000001") + b"\0\0\0\2\0\1a" + bytes(40)


PUTTY = """PuTTY-User-Key-File-3: ssh-ed25519
Encryption: none
Comment: a
Public-Lines: 2
AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhsc
HR4f
Private-Lines: 1
AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f
Private-MAC: 00
"""


def make_files():
    """How fuzz_input.c reads it, how often the text is there, and the text."""
    walked, plain, wary, _, _, blocks, pipe, hole = (1 << bit for bit in range(8))
    keys = dict(plain_blobs())
    key = sshkey.key_line(keys["ed25519"])
    lines = "".join(f"{sshkey.key_line(blob)} a b\n" for name, blob in keys.items()
                    if name in ("ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ed448"))
    new = "sk-new@x " + base64.b64encode(b"\0\0\0\x08sk-new@x").decode()
    block = "-----BEGIN PUBLIC KEY-----\n" + "MCowBQYDK2VwAyEA" + "A" * 43 + "=\n-----END PUBLIC KEY-----\n"
    pgp = f"-----BEGIN PGP SIGNATURE-----\n\n{key}\n=aaaa\n-----END PGP SIGNATURE-----\n"
    packed = {"gzip": gzip.compress(key.encode(), mtime=0), "xz": lzma.compress(b"x"),
              "wide": key.encode("utf-16"), "wide-be": b"\xfe\xff" + key.encode("utf-16-be"),
              "bomb": gzip.compress(bytes(1 << 20), mtime=0), **dict(stores())}
    marks = (f"a {key.replace('+', '&#43;').replace('/', '&#x2F;').replace(' ', '%20')} b {new} "
             "\\x2f\\u002f &#x;&#9z;&#1")
    raw = base64.b64decode("MCowBQYDK2VwAyEA" + "A" * 43 + "=")

    def file(name, data, how=0, copies=0):
        seed("input", name, bytes((how, copies)) + (data if isinstance(data, bytes) else data.encode()))
    file("lines", lines)
    file("lines-plain", lines, plain)
    file("walked", f"text\n{key}x\n{key} y\n", walked)
    file("pipe", lines, pipe)
    file("blocks", lines + block, blocks, 248)
    file("blocks-unlike", f"{key}\nx\n{new}\nssh-rsa AAAA\n", blocks, 252)
    file("long", f"{key} x ", 0, 252)
    file("long-nul", f"x\0{key},", hole, 252)
    file("long-text", "abc ", 0, 255)
    file("long-block", f"{block[:27]}".encode() + b"\xff" + b"A" * 70 + b"\n", 0, 255)
    file("json-long", f'["{key}", 1] ', 0, 251)
    file("json-bad", '{"a": [tru, 01, 1.5, -2e+3, "\\u12", "\\q", {"b" 1}, nul]}\n{"a": 1.}\n[1e]\n{"a",\n"\x01"\n')
    file("marks", marks)
    file("marked", f'\ufeff{key}\n{key}\n{new}\n"x\n{key}')
    file("putty", PUTTY)
    file("ssh-com", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nAAAA\n---- END SSH2 ENCRYPTED PRIVATE KEY ----\n")
    file("pgp", pgp)
    file("uncut", f"{block[:60]}\n{block}")
    file("wary", packed["bomb"], wary)
    file("bz2", b"BZh91AY&SY")
    file("thrice", gzip.compress(gzip.compress(packed["gzip"], mtime=0), mtime=0))
    file("der", raw)
    file("der-bad", b"\x30\x03\x02\x01\x05")
    file("der-cut", raw[:-4])
    for name in ("gzip", "wide", "wide-be", "pkcs12", "java"):
        file(name, packed[name])


def make_utf16():
    """The order of bytes, how many are converted at a time, and the bytes."""
    text = "ssh-rsa \u00e9\u20ac\U0001f600 key"
    for big, code in enumerate(("utf-16-le", "utf-16-be")):
        for name, data in (("text", text.encode(code)), ("mark", "\ufeffa\ufeffb".encode(code)),
                           ("alone", "\ud83da".encode(code, "surrogatepass")), ("half", text.encode(code)[:-1])):
            seed("utf16", f"{name}-{big}", bytes((big, 2)) + data)


def text(value):
    return len(value).to_bytes(4, "big") + value


def numbers(*values):
    return b"".join(value.to_bytes(8, "big") for value in values)


# What keyveto-reader says of logs.
LOGIN = numbers(7, 1763866800) + text(b"a") + text(b"::1") + numbers(22, 0, 0, 0, 0, 1, 0) + 2 * text(bytes(32))
LOG_KEY, LOG_END, LOG_SINCE = numbers(1) + text(bytes(32)), numbers(0, 0) + text(b""), numbers(1763866800)


def make_findings():
    """Payloads of records of keyveto-reader, and a stream of two."""
    def finding(filters, lists, built_in, source, *sources):
        return (text(b"/a b/c") + numbers(3, 0) + text(b"ssh-rsa") + numbers(2048) + text(b"SHA256:" + b"A" * 43)
                + text(bytes(32)) + text(b"comment\x1b") + numbers(1, 1, filters, lists, 0, built_in) + text(source)
                + b"".join(numbers(14) + text(name) for name in sources) + text(b"reason"))
    listed, built_in = finding(3, 2, 0, b"git", b"git"), finding(0, 0, 1, b"rsa-factor")
    problem = text(b"/a") + numbers(7, 1) + text(b"ssh-odd") + text(b"unknown type")
    blob = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(bytes(range(32))))
    for name, parts in (("key", (blob, b"", b"")), ("spki", (b"", b"\x30\0", bytes(15))),
                        ("spki-odd", (b"", b"\x30\0", bytes(16)))):
        seed("finding", name, text(b"/a") + numbers(1, 0) + b"".join(map(text, parts)) + text(b"x448") + numbers(448)
             + text(b"comment"))
    seed("finding", "listed", listed)
    seed("finding", "built-in", built_in)
    seed("finding", "problem", problem)
    seed("finding", "stream", text(b"\2" + listed) + text(b"\3" + problem))
    for name, payload in (("login", LOGIN), ("outcome", numbers(7, 1763866800, 3)), ("log-key", LOG_KEY),
                          ("log-end", LOG_END), ("log-since", LOG_SINCE), ("facts", facts(2)),
                          ("problem-known", text(b"/a") + numbers(0, 0) + text(b"") + text(b"x"))):
        seed("finding", name, payload)
    make_conversations(finding(1, 1, 0, b"git", b"git"))


def facts(n):
    """That the files of a judge are no filters and lists, and that they are."""
    header = b"pkbfv1" + (1).to_bytes(4, "big") + bytes(8) + (5).to_bytes(4, "big") + b"\2\x0a"
    filters = numbers(0) + text(b"no filter"), numbers(1) + text(header)
    lists = numbers(0) + text(b"no list"), numbers(1, 600, 1, 1763866800)
    return text(b"") + b"".join(filters[-n:]) + b"".join(lists[-n:])


def make_conversations(found):
    """Which command listens to keyveto-reader, and the records that it gets."""
    def say(*records):
        return b"".join(text(bytes((tag,)) + payload) for tag, payload in records)
    blob = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(bytes(range(32))))
    key = (text(b"/a") + numbers(1, 0) + text(blob) + text(b"") + text(b"") + text(b"") + numbers(0) + text(b"c"))
    problem = text(b"/a") + numbers(7, 0) + text(b"") + text(b"not a key")
    keys = say((9, text(b"/a")), (8, key), (10, b""), (3, problem), (11, b""))
    log = say((19, LOG_SINCE), (16, LOGIN), (17, numbers(7, 1763866800, 1)), (18, LOG_KEY), (10, b""), (20, LOG_END),
              (11, b""))
    verdict = numbers(4, 2, 0, 0, 0, 0) + text(b"") + text(b"")
    listed = numbers(1, 1, 1, 1, 0, 0) + text(b"git") + numbers(14) + text(b"git") + text(b"")
    verdicts = say((21, facts(1)), (22, listed), (22, verdict), (11, b""))
    for name, listener, said in (("keys", 0, keys), ("keys-ill", 0x80, keys), ("keys-killed", 0x40, keys),
                                 ("keys-twice", 0, keys + keys), ("problem-odd", 0, say((3, b"x"))),
                                 ("file-odd", 0, say((9, b""))),
                                 ("verdict-odd", 2, say((21, facts(1)), (22, b"x"))),
                                 ("keys-waiting", 0, say((6, b""))), ("keys-unknown", 0, say((99, b""))),
                                 ("keys-cut", 0, keys[:-3]), ("keys-long", 0, b"\xff" * 9), ("log", 1, log),
                                 ("log-more", 1, log + keys), ("log-key", 1, say((8, key))), ("verdicts", 2, verdicts),
                                 ("verdicts-late", 2, say((22, verdict))), ("verdicts-found", 2, say((2, found))),
                                 ("verdicts-cut", 2, verdicts[:-80]), ("silence", 2, b""),
                                 ("verdicts-killed", 0x42, verdicts), ("verdicts-absent", 0x82, verdicts),
                                 ("verdicts-configured", 0x22, say((21, facts(1)[:40]), (22, verdict))),
                                 ("log-late", 0x41, log), ("hello-odd", 8, say((1, b""))), ("keys-reset", 0x10, keys),
                                 ("hello", 8, say((1, numbers(5, 15)))), ("walls", 3, say((11, b""))),
                                 ("walls-more", 3, say((8, key)))):
        seed("reader", name, bytes((listener,)) + said)


def make_more_pem():
    """Keys that no sshd takes, and keys that are malformed."""
    def pem(title, der):
        return f"-----BEGIN {title}-----\n{base64.encodebytes(der).decode()}-----END {title}-----\n"
    element = raw_rsa.element
    for curve in ("secp256k1", "brainpoolP256r1"):
        own = openssl("ecparam", "-genkey", "-noout", "-name", curve)
        seed("pem", f"own-{curve}", own)
        seed("pem", f"public-{curve}", openssl("pkey", "-pubout", text=own))
    explicit = openssl("ecparam", "-genkey", "-name", "secp112r1", "-param_enc", "explicit", "-noout")
    seed("pem", "explicit", openssl("pkey", "-pubout", "-ec_param_enc", "explicit", text=explicit))
    seed("pem", "compressed", openssl("ec", "-pubout", "-conv_form", "compressed", text=openssl(
        "ecparam", "-genkey", "-noout", "-name", "prime256v1")))
    pss = openssl("genpkey", "-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:1024")
    seed("pem", "pss", openssl("pkey", "-pubout", text=pss))
    for kind in ("X25519", "X448"):
        own = openssl("genpkey", "-algorithm", kind)
        seed("pem", f"own-{kind.lower()}", own)
        seed("pem", f"public-{kind.lower()}", openssl("pkey", "-pubout", text=own))

    def spki(algorithm, bits):
        return element(0x30, element(0x30, element(6, algorithm)), element(3, b"\0", bits))
    seed("pem", "spki-mldsa", pem("PUBLIC KEY", spki(bytes.fromhex("608648016503040311"), bytes(1312))))
    seed("pem", "spki-unknown", pem("PUBLIC KEY", spki(bytes.fromhex("2a0304"), b"key")))
    seed("pem", "spki-composite", pem("PUBLIC KEY", spki(bytes.fromhex("2b06010505070627"), bytes(1344))))
    seed("pem", "spki-bad", pem("PUBLIC KEY", spki(bytes.fromhex("2b6570"), b"short")))
    seed("pem", "spki-large", pem("PUBLIC KEY", raw_rsa.RawKey([2**8191 + 1, 2**8300 + 1]).spki))
    seed("pem", "spki-dsa", pem("PUBLIC KEY", spki(bytes.fromhex("2a8648ce380401"), b"\2\1\5")))
    for name, algorithm, private in (("unknown", "2a0304", b"x"), ("long", "2a8648ce380401", bytes(400))):
        seed("pem", f"pkcs8-{name}", pem("PRIVATE KEY", element(0x30, element(2, b"\0"), element(
            0x30, element(6, bytes.fromhex(algorithm))), element(4, private))))
    for title in ("PUBLIC KEY", "PRIVATE KEY", "CERTIFICATE", "CERTIFICATE REQUEST", "RSA PRIVATE KEY",
                  "RSA PUBLIC KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY"):
        seed("pem", f"bad-{title.replace(' ', '-').lower()}", pem(title, element(0x30, element(2, b"\5"))))
    for kind in ("rsa", "ec", "dsa"):
        own = (HERE / "corpus" / "pem" / f"own-{kind}").read_bytes()
        seed("pem", f"der-own-{kind}", openssl("pkey", "-traditional", "-outform", "DER", text=own))
    seed("pem", "putty", PUTTY)


def make_raw_proofs():
    """Proofs by RSA keys that a careful library does not make."""
    p, q = raw_rsa.primes(2)
    prime, even = raw_rsa.RawKey([int(openssl("prime", "-generate", "-bits", "1024"))]), raw_rsa.RawKey([p, q, 2])
    wide = raw_rsa.RawKey([p, q], (1 << 70) + 1)
    for name, key in (("prime", prime), ("even", even), ("wide", wide), ("short", raw_rsa.RawKey([p]))):
        seed("proof", f"rsa-{name}", b"\0" + 2 * key.request_pem())
    seed("proof", "rsa-short-jws", b"\0" + raw_rsa.RawKey([p]).jws() + raw_rsa.RawKey([p]).pem)


def make_weak():
    """A modulus with a factor, one that is prime, a private exponent; and a prime that nobody asked about."""
    seed("weak", "some", b"".join(text(numbers(*one)) for one in ((0, 1), (1, 2), (3, 6))))
    seed("weak", "refused", text(numbers(0, 2)))
    seed("weak", "each", b"".join(text(numbers(*one)) for one in ((0, 1), (1, 5), (2, 4), (3, 3), (4, 7))))
    head = numbers(2, 1, 1, 0)
    asked = (b"\1" + head, b"\2" + numbers(1) + text(b"\5\7"), b"\2" + numbers(0) + text(b"\3"),
             b"\3" + numbers(1) + text(b"\2"))
    seed("weak", "asked", b"".join(map(text, asked)))
    seed("weak", "asked-late", b"".join(map(text, asked[:3])) + text(b"\3" + numbers(2) + text(b"")))


def make_proofs():
    """One of the keys is that of fuzz_jws.c."""
    known = proofs.Key("p256", ec.derive_private_key(1, ec.SECP256R1()))
    keys = {"known": known, **{kind: proofs.Key(kind) for kind in proofs.MAKE}}
    for name, key in keys.items():
        seed("attestation", name, proofs.request(key, encoding=proofs.DER))
        seed("proof", f"pem-{name}", b"\0" + proofs.request(key))
        if key.kind in proofs.ALGORITHM:
            seed("jws", "answer", numbers(2) + text(b"no proof"))
            seed("jws", name, proofs.jws(key))
            seed("proof", f"jws-{name}", b"\0" + proofs.jws(key) + b"\n" + key.line.encode() + b"\n")
    seed("attestation", "normal", proofs.request(known, subject="example.com", encoding=proofs.DER))
    seed("jws", "none", proofs.jws(known, alg="none", sign=lambda data: b""))
    make_files_of_proofs(known)


def make_files_of_proofs(known):
    """How fuzz_proof.c reads it, and a file."""
    of_key, only_keys, pipe = 1, 2, 4
    jws, request, line = proofs.jws(known), proofs.request(known), known.line.encode()
    weak = proofs.Key("rsa", rsa.generate_private_key(65537, 1024))
    for name, how, text in (("both", 0, b"# comment\n" + jws + b"\n" + request + b"{}\n"),
                            ("of-key", of_key, jws + b"\n\0" + line), ("of-no-key", of_key, request + b"\0x"),
                            ("of-other", of_key, jws + b"\n" + request + b"\0" + weak.line.encode()),
                            ("of-proof", of_key, jws + b"\0" + request), ("request", of_key, request + b"\0" + line),
                            ("of-jws", of_key, request + b"\0" + jws), ("of-json", of_key, request + b"\0{}\n{}\n"),
                            ("pipe-of-proof", pipe | of_key, request + b"\0" + jws + request),
                            ("keys", only_keys, jws + b"\n" + line + b"\n{\"protected\": \"x\"}\n"),
                            ("pipe", pipe, jws + b"\n" + line), ("pipe-keys", pipe | only_keys, request),
                            ("pipe-of-key", pipe | of_key, jws + b"\0" + line), ("weak", 0, proofs.request(weak)),
                            ("weak-jws", 0, proofs.jws(weak) + b"\n" + weak.line.encode()),
                            ("der", 0, proofs.request(known, encoding=proofs.DER)), ("nothing", 0, b"x\n"),
                            ("mark", 0, b"\xef\xbb\xbf" + request), ("empty", 0, b""),
                            ("cut", 0, request[:-40]), ("gzip", 0, gzip.compress(jws + b"\n" + line, mtime=0)),
                            ("large", 0, gzip.compress(random.Random(5).randbytes(2400) + 33000 * b"x\n", mtime=0)),
                            ("gzip-cut", 0, gzip.compress(line, mtime=0)[:-9]),
                            ("gzip-bomb", 0, gzip.compress(bytes(1 << 20), mtime=0)),
                            ("not-base64", 0, request.replace(b"M", b"!"))):
        seed("proof", name, bytes((how,)) + text)


def make_pam_sessions():
    """Options, then configuration, user, rhost, tty and service, and what sshd tells PAM."""
    plain = dict(plain_blobs())
    key, rsa = ((name.decode() if isinstance(name, bytes) else name) + " " + base64.b64encode(blob).decode()
                for name, blob in (("ssh-ed25519", plain["ed25519"]), ("ssh-rsa", plain["rsa"])))
    print_of = base64.b64encode(hashlib.sha256(plain["ed25519"]).digest()).decode().rstrip("=")
    filters = "Filter /f\n"
    denied, broken = f"{filters}DenyKey SHA256:{print_of} why not\n", "Filter f\n"
    allowed = f"{filters}AllowKey SHA256:{print_of} until=2999-01-01 because\nMessage \"%t %f\"\n"
    for name, how, config, user, tty, info in (
            ("clean", 4, filters, "a", "ssh", f"publickey {key}\n"), ("none", 0, filters, "a", "ssh", "password\n"),
            ("denied", 0, denied, "a", "ssh", f"publickey {key}\nhostbased/x {rsa}\n"),
            ("denied-root", 0, denied, "root", "ssh", f"publickey {key}\n"),
            ("denied-nobody", 0, denied, "", "ssh", f"publickey {key}\n"),
            ("denied-always", 1, denied, "a", "ssh", f"publickey {key}"),
            ("denied-never", 2, denied, "root", "ssh", f"publickey {key}"),
            ("denied-sudo", 9, denied, "root", "/dev/pts/1", f"publickey {key}"),
            ("allowed", 0, allowed, "a", "ssh", f"publickey {key}\n"),
            ("broken", 0, broken, "a", "ssh", f"publickey {rsa}\n"),
            ("option", 3, filters, "a", "ssh", f"publickey {rsa}\n"),
            ("list", 0, "Blocklist /l\nOnError deny\n", "a", "ssh", f"publickey {rsa}\n"),
            ("unsupported", 0, "Filter /f\nOnUnsupported deny\n", "a", "ssh", "publickey sk-new@x AAAACHNrLW5ld0B4\n"),
            ("auth", 16, denied, "a", "ssh", f"publickey {key}\n"),
            ("auth-clean", 20, filters, "a", "ssh", f"publickey {key}\n"),
            ("account", 32, broken, "a", "", f"publickey {key}\n"),
            ("cut", 0, filters, "a", "ssh", f"publickey {key[:30]}\npublickey\npublickey  \n")):
        seed("pam_session", name, bytes([how]) + "\0".join((config, user, "::1", tty, "sshd", info)).encode())


def main():
    for name, blob in blobs():
        text = base64.b64encode(blob).decode()
        kind = sshkey.parse(blob).type
        seed("blob", name, blob)
        seed("base64", name, text)
        seed("line", name, f'from="*",command="a \\" b" {kind} {text} comment')
        seed("auth_info", name, f"publickey {kind} {text}\npassword\nhostbased {kind} {text}\n")
    seed("auth_info", "unknown", "publickey foo AAAAA2Zvbw==\nkeyboard-interactive/pam\n")
    seed("line", "ssh1", f"512 65537 {2**511 + 1} comment")
    seed("line", "comment", "# a comment")
    seed("pkbf", "small", Filter.create(2, 4, revision=1).to_bytes())
    seed("pkbf", "larger", Filter.create(12, 10, revision=1).to_bytes())
    seed("list", "records", b"".join(bytes([i] * 15 + [13]) for i in range(8)))
    seed("list", "sources", "# date 2026-01-31\n13 debianssl badkeys/debianopenssl main/rsa\n14 git\n")
    seed("list", "lookup", "".join(f"{i:016x};rsa/{i}.key\n" for i in range(0, 1 << 63, 1 << 59)))
    key = "SHA256:" + "A" * 43
    accepted = f"Accepted publickey for a from ::1 port 1 ssh2: ED25519-CERT {key} ID x (serial 1) CA RSA {key}"
    seed("login", "old", f"Dec 31 23:59:59 h sshd[1]: {accepted}\nJan  1 00:00:00 h sshd[1]: {accepted}\n")
    seed("login", "new", f"2024-02-29T12:00:00.1+01:00 h sshd-session[1]: {accepted.replace('for a', 'for a b')}")
    seed("login", "message", accepted)
    seed("login", "hostbased", f'Accepted hostbased for a from ::1 port 1 ssh2: RSA {key}, client user "x", client')
    seed("login", "json", '{"_UID":"0","SYSLOG_IDENTIFIER":"sshd","_TRANSPORT":"syslog","__REALTIME_TIMESTAMP":"17000",'
         f'"MESSAGE":"{accepted}"}}')
    seed("log", "line", "sshd[1]: verdict=listed action=warn user=x rhost=::1 via=guard key_type=ssh-rsa key_fp=SHA256:"
         + "A" * 43 + " part=key authorized=yes filter=/f revision=1 list=/l source=s")
    seed("log", "quoted", "verdict=listed user=\"x key_fp=SHA256:y\" key_fp=SHA256:" + "A" * 43 + " filter=/f")
    seed("log", "json", '{"_PID":"1","MESSAGE":"verdict=listed user=\\"a b\\" key_fp=SHA256:' + "A" * 43
         + ' filter=/f"}')
    seed("config", "sample", (HERE.parent / "etc" / "keyveto.conf").read_bytes().replace(b"\n#", b"\n"))
    seed("config", "all", "Filter /a\nfilter=\"/b c\"\nAllowKey SHA256:" + "A" * 43
         + " until=2026-02-28 because\nOnHit warn\nOnError allow\nOnUnsupported deny\n"
         "Blocklist /l\nOnProbable warn\n"
         "AuthorizedKeysFile .ssh/%u %h/x %% none\nStrictModes no\nSyslogFacility LOCAL3\nMessage \"%f \\\" %t\"\n")
    seed("pam_stack", "lines", "# a comment\n-auth [success=1 default=ignore] pam_unix.so [a b] nullok\n"
         "account required \\\n pam_permit.so # more\n@include sshd\nsession substack /etc/pam.d/missing\n")
    seed("pam_stack", "include", "session requisite pam_keyveto.so\nsession include sshd\n")
    make_nosecret()
    make_pem()
    make_pem_of_openssl()
    make_more_pem()
    make_lists()
    make_inside()
    make_files()
    make_sources()
    make_utf16()
    make_findings()
    make_weak()
    make_many_sources()
    make_odd_filters()
    make_patches()
    make_proofs()
    make_raw_proofs()
    make_pam_sessions()


if __name__ == "__main__":
    main()
