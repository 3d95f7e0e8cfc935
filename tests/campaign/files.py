# SPDX-License-Identifier: ISC
"""The authorized keys files that an account may have around one key.

A file is made of pieces, each usual or odd: the lines before the key's
line, its options, type, base64 and comment, the line's end, the lines
after it.  sshd decides whether it still finds the key.
"""

import base64
import functools
from dataclasses import dataclass

import offers
import sshkey

NOWHERE = b'from="192.0.2.1"'       # no client of the tests has this address
KIB = 1024


@dataclass(frozen=True)
class Files:
    """The contents of ~/.ssh/authorized_keys and perhaps authorized_keys2."""
    title: str
    first: bytes
    second: "bytes | None" = None


@dataclass(frozen=True)
class Line:
    """The pieces of a line, in order."""
    lead: bytes = b""
    options: bytes = b""
    before: bytes = b" "        # between the options and the type
    token: bytes = b""
    between: bytes = b" "
    key: bytes = b""
    after: bytes = b" "
    comment: bytes = b"user@example.org"
    end: bytes = b"\n"

    def text(self):
        options = self.options + self.before if self.options else b""
        comment = self.after + self.comment if self.comment else b""
        return self.lead + options + self.token + self.between + self.key + comment + self.end


def line_of(pair, encoding=None, **pieces):
    """The usual line of a key, with these pieces changed."""
    blob = encoding.plain() if encoding else pair.blob
    usual = {"token": pair.type.encode(), "key": base64.b64encode(blob)}
    return Line(**{**usual, **pieces})


def text_of(pair):
    """The type and the base64, as in a .pub file."""
    return line_of(pair, comment=b"", end=b"").text()


# --- pieces: lists of (title, bytes), without the usual piece ---------------

def _named(*pieces):
    return [(repr(piece) if len(piece) <= 60 else f"{len(piece)} bytes, {piece[:40]!r}…", piece) for piece in pieces]


LEADS = _named(
    b" ", b"\t", b" \t \t", b"\v", b"\f", b"\r", b"\xef\xbb\xbf", b"\xc2\xa0", b"\0", b"\x1a", b"'", b'"', b"-",
    b"@cert-authority ", b"@revoked ", b"@cert-authority * ", b"* ", b"localhost ", b"# ")

SEPARATORS = _named(
    b"\t", b"  ", b" \t ", b"\v", b"\f", b"\r", b"\xc2\xa0", b",", b"", b" \r ", b" \v", b"\0", b" \0 ", b" " * 5000)

COMMENTS = _named(
    b"", b"# no comment", b'"', b'"unfinished', b"\\", b"\xff\xfe\x80", b"\x1b[31m", b"\0", b"\0junk", b"a\0b\0c",
    b"verdict=clean", b"==", b"AAAA", b"-----END PUBLIC KEY-----", b"-----BEGIN PUBLIC KEY-----",
    b"x" * 8192, b"x" * (100 * KIB), b"x" * (300 * KIB), bytes(range(1, 10)) + bytes(range(11, 256)))

ENDS = _named(
    b"", b"\r\n", b"\r", b"\r\r\n", b"\n\r", b" \n", b"\t\r\n", b"\v\n", b"\f\n", b"\0\n", b"\0", b"\0junk\n",
    b"\0\r\n", b"\x1a", b"\x1a\n", b"\xe2\x80\xa8", b"\xc2\x85", b"\\\n", b",\n", b"\n\n\n", b"\n" + b"\0" * 4096)


@functools.lru_cache(maxsize=16)
def tokens(pair):
    """The word before the base64."""
    names = [*sshkey.PLAIN_TYPES, *sshkey.ALIASES, "RSA", "rsa", "ed25519", "ED25519", "ecdsa", "DSA",
             pair.type.upper(), pair.type.capitalize(), pair.type + "\0", pair.type[:-1], pair.type + "x", "",
             sshkey.cert_name(pair.type), "cert-authority", "1024", "ssh-ed25519,ssh-rsa", f'"{pair.type}"']
    return _named(*(name.encode() for name in names if name != pair.type))


@functools.lru_cache(maxsize=16)
def base64_texts(key):
    """Other ways to write the base64 of a key."""
    middle = len(key) // 2
    bare = key.rstrip(b"=")
    pads = len(key) - len(bare)

    def inside(piece, at=middle):
        return key[:at] + piece + key[at:]

    found = [(f"{piece!r} inside", inside(piece)) for piece in (
        b"\r", b"\v", b"\f", b"\r\v\f", b" ", b"\t", b"\0", b"=", b"==", b"-", b"_", b"\x80", b"\xa0", b"#", b",",
        b'"', b"\\", b"\\n", b"%")]
    found += [(f"{piece!r} in front", piece + key) for piece in (b"\r", b"\v", b"\f", b"=", b"\0", b"A", b'"')]
    found += [(f"{piece!r} behind", key + piece) for piece in (
        b"\r", b"\v", b"\f", b"=", b"==", b"====", b"A", b"AAAA", b"AA==", b"#", b",", b"\0", b"\0=", b"\x80", b'"')]
    found += [
        ("CR after every character", b"\r".join(key[i:i + 1] for i in range(len(key)))),
        ("CR before the padding", bare + b"\r" + b"=" * pads),
        ("VT inside the padding", bare + b"\v".join([b"="] * pads)),
        ("100 KiB of FF inside", inside(b"\f" * (100 * KIB))),
        ("300 KiB of VT inside", inside(b"\v" * (300 * KIB))),
        ("padding left out", bare), ("URL alphabet", key.translate(bytes.maketrans(b"+/", b"-_"))),
        ("spare bits set", bare[:-1] + _successor(bare[-1:]) + b"=" * pads),
        ("last character changed", key[:-1] + b"A"), ("cut by 4", key[:-4]), ("cut by 1", key[:-1]),
        ("twice", key + key), ("nothing", b""), ("in lower case", key.lower()), ("in quotes", b'"' + key + b'"'),
    ]
    return [(title, text) for title, text in found if text != key]


def _successor(character):
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return alphabet[(alphabet.index(character) + 1) % 64:][:1]


@functools.lru_cache(maxsize=16)
def options(stranger, user):
    """Options of lines with a plain key. stranger is the key of another account."""
    other = text_of(stranger)
    simple = [
        b"restrict", b",restrict", b"restrict,", b"no-pty,,no-user-rc", b",", b",,", b",,,restrict,,,", b"RESTRICT",
        b"ReStRiCt,PtY", b"restrict ,pty", b"restrict, pty", b"restrict\t", b"restrict\r", b"\vrestrict",
        b"no-restrict", b"restrict=", b'restrict="x"', b'"restrict"', b'""', b'"', b'"" restrict', b"=", b'=""', b"\\",
        b"magic", b"no-magic", b"pty,magic", b"x" * 100, b"\xff", b"#restrict", b"-", b"!restrict", b"restrict;pty",
        b'command="echo forced"', b'COMMAND="echo forced"', b'command="echo \\"forced\\""', b'command=""',
        b"command=echo", b"command=", b"command", b'command="a",command="b"', b'command="unfinished',
        b'command="unfinished\\"', b'command="a"b', b'command="a" b', b'command="a\\', b"command='a'",
        b'command="a\\\\"', b'command="\\\\\\""', b'command="\tblank \\t \x01"', b'command="a,b=c"', b'command ="a"',
        b'command="' + other + b'"', b'command="x ' + other + b' "', b'command="\\" ' + other + b'"',
        b'command="echo A\\\\" ' + other + b' B"', b'command="' + other + b'\\"', b'command=" ' + other,
        other, other + b",restrict", b"restrict " + other, b'restrict,command="x" ' + other,
        b'environment="A=b"', b'environment="A"', b'environment="=b"', b'environment="A=b",environment="A=c"',
        b'environment="A=' + other + b'"', b'environment="A B=c"', b"environment=A=b", b'environment="9=x"',
        b",".join(b'environment="A%d=b"' % n for n in range(1024)),
        b",".join(b'environment="A%d=b"' % n for n in range(1025)),
        b'from="127.0.0.1"', b'from="127.0.0.0/8"', b'from="*"', b'from="!127.0.0.1,*"', b'from="*,!127.0.0.1"',
        NOWHERE,
        b'from=""', b'from="localhost"', b'from="127.0.0.1/33"', b'from="127.0.0.1/8"', b'from="::1,127.?.0.1"',
        b'from="192.0.2.1,127.0.0.1"', b'from="127.0.0.1",from="127.0.0.1"', b"from=127.0.0.1", b"from",
        b'FROM="127.0.0.1"', b'from="127.0.0.1,"', b'from=" 127.0.0.1"', b'from="' + b"127.0.0.1," * 200 + b'*"',
        b'expiry-time="20371231"', b'expiry-time="19700102"', b'expiry-time="203712312359"',
        b'expiry-time="20371231235959Z"', b'expiry-time="99991231"', b'expiry-time="never"', b'expiry-time=""',
        b'expiry-time="20371231",expiry-time="19700102"', b"expiry-time=20371231",
        b'principals="' + user + b'"', b'principals="other"', b'principals=""', b"cert-authority", b"no-cert-authority",
        b'tunnel="1"', b'tunnel="any"', b"tunnel=1", b'tunnel="-1"', b'tunnel="99999999999"',
        b'permitopen="localhost:22"', b'permitopen="*:*"', b'permitopen="[::1]:22"', b'permitopen="nonsense"',
        b'permitopen="h:0"', b'permitopen="h:99999"', b'permitlisten="22"', b'permitlisten="*:22"', b'permitlisten=""',
        b",".join(b'permitopen="h:%d"' % n for n in range(1, 5000)),
        b"agent-forwarding,no-agent-forwarding", b"port-forwarding", b"NO-X11-forwarding", b"x11-forwarding",
        b"user-rc",
        b"no-touch-required", b"touch-required", b"verify-required", b"no-verify-required",
        b"zos-key-ring-label", b'from="127.0.0.1" ,restrict', b"ssh-ed25519", b"1024 65537", b"0", b"1024 65537 12345",
        b"ssh-rsa AAAA", b"ssh-ed25519 " + other.split()[1][:-4], b'restrict,"command="x', b"cert-authority,restrict ",
    ]
    found = _named(*simple)
    found += [(f"{size} bytes of command", b'command="echo forced #' + b"x" * size + b'"')
              for size in (1000, 8190, 65535, 70 * KIB, 255 * KIB, 300 * KIB, 900 * KIB, 1200 * KIB)]
    found += [(f"{count} times restrict", b"restrict," * count) for count in (100, 40000)]
    return found


@functools.lru_cache(maxsize=16)
def authority_options(user):
    """Options of lines with a CA's key."""
    right = b'principals="' + user + b'"'
    pieces = [
        b"cert-authority,", b",cert-authority", b"Cert-Authority", b"CERT-AUTHORITY", b"cert-authority,restrict",
        b"restrict,cert-authority", b"cert-authority,cert-authority", b"cert-authority,,,pty", b"cert-authority=",
        b'cert-authority="x"', b"cert-authority=yes", b"no-cert-authority", b"cert-authority,no-cert-authority",
        b"cert-authorit", b"cert-authority2", b"cert_authority", b'"cert-authority"', b"cert-authority\r",
        b"\tcert-authority", b"cert-authority pty", b"pty cert-authority", b'command="cert-authority"',
        b'command="x",cert-authority', b'cert-authority,command="echo \\"forced, by the line\\""',
        b'environment="A=b",cert-authority', b'from="127.0.0.1",cert-authority', b'cert-authority,from="!127.0.0.1,*"',
        b'cert-authority,expiry-time="20371231"', b'cert-authority,expiry-time="19700102"',
        b"cert-authority," + right, right + b",cert-authority", b'cert-authority,principals="other"',
        b'cert-authority,principals="a,b,' + user + b',c"', b'cert-authority,principals=" ' + user + b'"',
        b'cert-authority,principals="' + user + b' "', b'cert-authority,principals=""',
        b'cert-authority,principals="*"', b'cert-authority,principals="' + user.upper() + b'"',
        b'cert-authority,principals="!other"', b"cert-authority," + right + b"," + right, b"cert-authority,principals",
        b"cert-authority,PRINCIPALS=" + right[len(b"principals="):],
        b"cert-authority," + b"no-pty," * 30000, b'cert-authority,command="' + b"x" * (300 * KIB) + b'"',
        b"@cert-authority", b"cert-authority,magic", b"cert-authority;", b"", right,
    ]
    return _named(*pieces)


@functools.lru_cache(maxsize=16)
def before(pair, stranger):
    """Lines before the line of the key."""
    usual, other = line_of(pair), line_of(stranger).text()
    refused = line_of(pair, options=NOWHERE).text()
    blocks = [
        ("an empty line", b"\n"), ("a lone CR LF", b"\r\n"), ("a lone CR", b"\r"), ("a comment", b"# comment\n"),
        ("a comment that ends in CR", b"# comment\r"), ("a blank", b" \n"), ("NULs", b"\0\0\n"),
        ("rubbish", b"rubbish\n"), ("an odd quote", b'"\n'),
        ("a byte order mark", b"\xef\xbb\xbf"), ("a byte order mark alone", b"\xef\xbb\xbf\n"),
        ("an unfinished command", b'command="x\n'), ("an unfinished string and a key", b'command="x ' + other),
        ("a backslash at the line's end", b"rubbish \\\n"), ("form feed", b"\f\n"), ("all bytes", _ALL_BYTES + b"\n"),
        ("another key", other), ("another key without line end", other[:-1]),
        ("another key and NUL", other[:-1] + b"\0"),
        ("100 other keys", other * 100), ("5000 comments", b"# comment\n" * 5000), ("20000 empty lines", b"\n" * 20000),
        ("a comment of 300 KiB", b"#" * (300 * KIB) + b"\n"), ("rubbish of 1200 KiB", b"x" * (1200 * KIB) + b"\n"),
        ("the key, not from here", refused), ("the key, not from here, 50 times", refused * 50),
        ("the key, expired", line_of(pair, options=b'expiry-time="19700102"').text()),
        ("the key as a CA", line_of(pair, options=b"cert-authority").text()),
        ("the key with an unknown option", line_of(pair, options=b"magic").text()),
        ("the key with an unfinished option", line_of(pair, options=b'command="x').text()),
        ("the key, cut", line_of(pair, key=usual.key[:-4]).text()),
        ("the key under a wrong type", line_of(pair, token=tokens(pair)[0][1]).text()),
        ("the key with a command", line_of(pair, options=b'command="echo forced"').text()),
        ("the key in a comment", b"#" + usual.text()),
        ("a line of protocol 1", b"1024 65537 1234567890123456789 user@host\n"),
        ("a known_hosts line", b"|1|AAAA|BBBB " + other), ("a marker", b"@revoked * " + other),
        ("a line that starts as DER", b"0\x82\x01\x0a\x02\x82\n"), ("a line that starts as short DER", b"0\x0a\n"),
        ("a byte order mark of UTF-16", b"\xff\xfe\n"),
        ("the head of a PuTTY key", b"PuTTY-User-Key-File-3: ssh-rsa\n"),
        ("the head of a gzip file", b"\x1f\x8b\x08\0\n"),
    ]
    for label in ("OPENSSH PRIVATE KEY", "PUBLIC KEY", "RSA PRIVATE KEY", "CERTIFICATE", "SSH CERTIFICATE", "X"):
        head, tail = f"-----BEGIN {label}-----\n".encode(), f"-----END {label}-----\n".encode()
        blocks += [(f"BEGIN {label}", head), (f"an empty {label}", head + tail),
                   (f"BEGIN {label} after a hash", b"# " + head), (f"BEGIN {label} after a blank", b" " + head),
                   (f"BEGIN {label} with CR", head[:-1] + b"\r\n")]
    head, tail = b"---- BEGIN SSH2 PUBLIC KEY ----\n", b"---- END SSH2 PUBLIC KEY ----\n"
    body = base64.encodebytes(stranger.blob)
    blocks += [("BEGIN SSH2 PUBLIC KEY", head), ("a key of the form of RFC 4716", head + body + tail)]
    return blocks


def enclosed(target, with_colon, stranger):
    """The line inside a block of another form. sshd does not know blocks."""
    spki = base64.encodebytes(sshkey.parse(stranger.blob).spkis[0])
    ssh = base64.encodebytes(stranger.blob)
    blocks = []
    for label, body in (("PUBLIC KEY", spki), ("SSH2 PUBLIC KEY", ssh), ("X509 CRL", spki), ("EC PARAMETERS", spki),
                        ("CERTIFICATE", spki), ("OPENSSH PRIVATE KEY", ssh), ("ENCRYPTED PRIVATE KEY", spki)):
        dashes, end = ("---- ", " ----") if label.startswith("SSH2") else ("-----", "-----")
        head, tail = (f"{dashes}{word} {label}{end}\n".encode() for word in ("BEGIN", "END"))
        encrypted = b"Proc-Type: 4,ENCRYPTED\nDEK-Info: DES,00\n"
        blocks += [
            (f"{label}, alone", head + target + tail), (f"{label}, first", head + target + body + tail),
            (f"{label}, last", head + body + target + tail), (f"{label}, as a header", head + with_colon + body + tail),
            (f"{label}, as a header before a blank line", head + with_colon + b"\n" + body + tail),
            (f"{label}, as the rest of a header", head + b"Comment: x\\\n" + target + body + tail),
            (f"{label}, encrypted", head + encrypted + with_colon + b"\n" + body + tail),
            (f"{label}, ended by another", head + with_colon + body + b"-----END X-----\n"),
            (f"{label}, of 1200 KiB", head + b"#" * 70 * (17 * KIB) + b"\n" + with_colon + body + tail),
            (f"{label}, of 1200 KiB in lines", head + (b"A" * 63 + b"\n") * (19 * KIB) + with_colon + tail),
        ]
    putty = b"PuTTY-User-Key-File-2: ssh-ed25519\nEncryption: none\nComment: x\n"
    public = b"Public-Lines: %d\n" % ssh.count(b"\n")
    blocks += [
        ("PuTTY, as a header", putty + with_colon + public + ssh + b"Private-Lines: 0\nPrivate-MAC: 00\n"),
        ("PuTTY, among the public lines", putty + public + with_colon + ssh + b"Private-MAC: 00\n"),
        ("PuTTY, among the private lines",
         putty + public + ssh + b"Private-Lines: 1\n" + with_colon + b"Private-MAC: 00\n"),
        ("PuTTY, its end on the line", putty + public + ssh + b"Private-MAC: " + target),
    ]
    size = len(target) + 2
    blocks += [(f"DER, {title}", b"0\x82" + (size + more).to_bytes(2, "big") + inner + b"\n" + target)
               for title, inner, more in (("bare", b"\x02", 0), ("short", b"\x02", 300), ("sequence", b"0", 0),
                                          ("two sequences", b"0\x82" + (size - 4).to_bytes(2, "big"), 4))]
    return blocks


_ALL_BYTES = bytes(byte for byte in range(256) if byte != 10)

AFTER = [
    ("rubbish", b"rubbish"), ("NULs", b"\0" * 100), ("an unfinished string", b'command="x'),
    ("1200 KiB", b"#" * (1200 * KIB)), ("BEGIN PUBLIC KEY", b"-----BEGIN PUBLIC KEY-----\n"),
    ("the end of a block", b"-----END PUBLIC KEY-----\n"), ("5000 lines", b"rubbish\n" * 5000),
]


# --- files -------------------------------------------------------------------

def catalogue(pair, stranger, user, authority=False):
    """Every class of file around one key, with one oddity each."""
    user = user.encode()
    usual = {"options": b"cert-authority"} if authority else {}
    for where, pieces in (("lead", LEADS), ("between", SEPARATORS), ("after", SEPARATORS), ("comment", COMMENTS),
                          ("end", ENDS), ("token", tokens(pair)), ("key", base64_texts(line_of(pair).key))):
        for title, piece in pieces:
            yield Files(f"{where}: {title}", line_of(pair, **{**usual, where: piece}).text())
    for title, piece in SEPARATORS:
        options_piece = usual.get("options", b"no-pty")
        yield Files(f"behind the options: {title}", line_of(pair, options=options_piece, before=piece).text())
    for title, piece in authority_options(user) if authority else options(stranger, user):
        yield Files(f"options: {title}", line_of(pair, options=piece).text())
    for encoding in offers.encodings(pair):
        yield Files(f"encoding: {encoding.title}", line_of(pair, encoding, **usual).text())
        if encoding.name != pair.type:
            token = encoding.name.encode("latin-1")
            yield Files(f"encoding and token: {encoding.title}", line_of(pair, encoding, token=token, **usual).text())
    target = line_of(pair, **usual).text()
    for title, block in before(pair, stranger):
        yield Files(f"before: {title}", block + target)
        yield Files(f"between: {title}", line_of(stranger).text() + block + target)
    for title, block in AFTER:
        yield Files(f"after: {title}", target + block)
        yield Files(f"after, on the line: {title}", target[:-1] + block)
    with_colon = line_of(pair, options=(b"cert-authority," if authority else b"") + b'from="::1,*"').text()
    for title, block in enclosed(target, with_colon, stranger):
        yield Files(f"enclosed: {title}", block)
    yield from _whole_files(pair, stranger, target, authority)


def _whole_files(pair, stranger, target, authority):
    other = line_of(stranger).text()
    forced = line_of(pair, options=(b"cert-authority," if authority else b"") + b'command="echo forced"').text()
    yield Files("no files", b"")
    yield Files("only comments", b"#" + target)
    yield Files("UTF-16", target.decode().encode("utf-16"))
    yield Files("UTF-16, big endian", target.decode().encode("utf-16-be"))
    yield Files("CR for every line end", (other + target + other).replace(b"\n", b"\r"))
    yield Files("CR LF for every line end", (other + target + other).replace(b"\n", b"\r\n"))
    yield Files("LF CR for every line end", (other + target + other).replace(b"\n", b"\n\r"))
    yield Files("NUL for every line end", (other + target + other).replace(b"\n", b"\0"))
    yield Files("backwards", target[::-1])
    yield Files("in quotes", b'"' + target + b'"')
    yield Files("line order: with a command first", forced + target)
    yield Files("line order: with a command last", target + forced)
    yield Files("line order: not from here first", line_of(pair, options=NOWHERE).text() + forced)
    yield Files("second file", b"", target)
    yield Files("second file, first without line end", other[:-1], target)
    yield Files("second file, first ends in a NUL", other[:-1] + b"\0", target)
    yield Files("second file, first ends in an open string", b'command="x', target)
    yield Files("second file, first ends in CR", other[:-1] + b"\r", target)
    yield Files("second file, first has the type only", pair.type.encode() + b" ", target)
    yield Files("second file, first has the options only", b"cert-authority ", text_of(pair) + b"\n")
    yield Files("both files", target, forced)
    yield Files("both files, the first not from here", line_of(pair, options=NOWHERE).text(), target)
    yield Files("second file with an open block in the first", b"-----BEGIN PUBLIC KEY-----\n", target)


# --- chance ------------------------------------------------------------------

def random_files(rng, pair, stranger, user, authority=False):
    """A line with a few oddities, among other odd lines."""
    user = user.encode()
    titles, pieces = [], {"options": b"cert-authority"} if authority else {}

    def odd(where, chance, choices):
        if rng.random() < chance:
            title, piece = rng.choice(choices)
            pieces[where] = piece
            titles.append(f"{where} {title}")

    encoding = offers.random_encoding(rng, pair, 0.15)
    key = base64.b64encode(encoding.plain())
    odd("lead", 0.1, LEADS[:4] if rng.random() < 0.7 else LEADS)
    odd("options", 0.4, authority_options(user) if authority else options(stranger, user))
    odd("before", 0.1, SEPARATORS)
    odd("token", 0.1, tokens(pair))
    odd("between", 0.1, SEPARATORS)
    odd("key", 0.15, base64_texts(key) or [("as it is", key)])
    odd("after", 0.1, SEPARATORS)
    odd("comment", 0.2, COMMENTS)
    odd("end", 0.2, ENDS)
    if encoding.title != "canonical":
        titles.append(f"encoding {encoding.title}")
    text = line_of(pair, encoding, **pieces).text()
    while rng.random() < 0.35:
        title, block = rng.choice(before(pair, stranger))
        text = block + text
        titles.append(f"before {title}")
    if rng.random() < 0.15:
        title, block = rng.choice(AFTER)
        text += block
        titles.append(f"after {title}")
    if rng.random() < 0.2:
        text = mutate(rng, text)
        titles.append("bytes changed")
    second = None
    if rng.random() < 0.1:
        cut = text.find(b"\n") + 1
        text, second = text[:cut], text[cut:]
        titles.append("cut into two files")
    return Files("; ".join(titles) or "usual", text, second)


_SPICE = [b'"', b"\\", b'\\"', *(b"%c" % byte for byte in b", \t\r\n\0#@=A-\xff\v\f")]


def mutate(rng, text):
    """A few bytes added, removed or replaced, mostly at quotes, commas and blanks."""
    text = bytearray(text)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(text) + 1)
        if rng.random() < 0.3:
            at = min(at, rng.randrange(200))
        kind = rng.randrange(3)
        width = 0 if kind == 0 else 1
        text[at:at + width] = b"" if kind == 2 else rng.choice(_SPICE)
    return bytes(text)
