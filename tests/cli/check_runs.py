# SPDX-License-Identifier: ISC
"""Runs of keyveto check, their parsed output, and input files that several tests share."""

import base64
import contextlib
import functools
import json
import random
import re
import subprocess
import threading
import unicodedata

import sshkey
from program import PATIENCE, equal
from runs import JSON_KEYS, findings, problems, run, tool
from samples import MIB, built, certificate, ed25519_line, empty_filter, every_key, folder, made, random_blob


def check(*words, filters=None, **more):
    """Runs keyveto check, by default with a filter that lists nothing."""
    named = [empty_filter()] if filters is None else filters
    return run("check", *(word for path in named for word in ("--filter", path)), *words, **more)


def check_all(path, *words, **more):
    """Every key and every problem that keyveto check --all reports for a file: ([Found], [(line, reason)])."""
    result = check("--all", *words, path, **more)
    return findings(result, path), problems(result, path)


def objects(result):
    """The JSON objects that a run with --json printed.

    Fails if an object has other keys than JSON_KEYS, or if a raw control character is in the output.
    """
    found = []
    text = result.out.decode("utf-8")
    assert not text or text.endswith("\n"), f"no newline at the end: {text[-100:]!r}"
    for line in text.split("\n")[:-1]:
        raw = {char for char in line if unicodedata.category(char) == "Cc"}
        assert not raw, f"raw control characters {raw!r} in {line!r}"
        found.append(json.loads(line))
        equal(list(found[-1]), JSON_KEYS, line)
    return found


def only(found, path):
    equal(len(found), 1, f"keys in {path}: {found}")
    return found[0]


def inside(line):
    """The fingerprints of the keys anywhere in a line, found by their base64 alone."""
    found = []
    for word in re.findall(r"(?=(AAAA[A-Za-z0-9+/]+=*))", line):
        # Other letters may follow a key.
        for end in (len(word), *range(len(word) // 4 * 4, 4, -4)):
            try:
                found.append(sshkey.parse(base64.b64decode(word[:end], validate=True)).fingerprint)
                break
            except (sshkey.BadKey, ValueError):
                pass
    return found


def accepted_lines():
    """(title, line, key, comment) of lines that sshd takes a key from."""
    ed, rsa, p256 = made()["ed25519"], made()["rsa"], made()["p256"]
    sk = built()["sk-p256"]
    kind, data = ed.plain.split()
    options = ('no-pty', 'NO-PTY,Restrict', ',restrict', 'restrict,', 'a,,b', ',', 'command="echo a b"',
               'command="x \\"y z\\" w",no-pty', 'from="*.example.org,!bad",environment="A=b c"', 'from="a"b"c d"',
               'command="ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAA"', 'command="', 'tunnel="0"',
               'cert-authority,principals="a b"')
    for words in options:
        if words == 'command="':    # the quote goes on, and ends behind the text of a key
            words = f'command="{rsa.plain} x"'
        for blank in (" ", "\t", " \t "):
            yield f"options {words!r} and {blank!r}", f"{words}{blank}{ed.plain} a b", ed, "a b"
    yield "the escape trap", f'command="echo A\\\\" {rsa.plain} B" {ed.plain} c', ed, "c"
    yield "a backslash before other letters", f'command="\\a\\\\n" {ed.plain} c', ed, "c"
    yield "nothing but the key", ed.plain, ed, ""
    yield "blanks everywhere", f" \t {kind} \t {data} \t  some  comment", ed, "some  comment"
    yield "tabs everywhere", f"\t{kind}\t{data}\tcomment", ed, "comment"
    yield "CRLF", f"{ed.plain}\r", ed, ""
    yield "CRLF after a comment", f"{ed.plain} comment\r", ed, "comment"
    yield "CRLF after options", f"no-pty {ed.plain} c\r", ed, "c"
    for name, code in (("CR", "\r"), ("VT", "\v"), ("FF", "\f")):
        for place in (0, 1, 17, len(data) // 2, len(data)):
            yield f"{name} in the base64 at {place}", f"{kind} {data[:place]}{code}{data[place:]} c", ed, "c"
        yield f"many {name} in the base64", f"{kind} {code.join(data)} c", ed, "c"
    yield "CR before padding", f"{p256.token} {p256.base64[:-1]}\r=\f\v c", p256, "c"
    yield "NUL after the key", f"{ed.plain}\0junk", ed, ""
    yield "NUL in the comment", f"{ed.plain} a\0{rsa.token} x", ed, "a"
    for token in ("rsa-sha2-256", "rsa-sha2-512"):
        yield f"token {token}", f"{token} {rsa.base64} c", rsa, "c"
        yield f"options and token {token}", f"no-pty {token} {rsa.base64} c", rsa, "c"
    yield "token webauthn-sk", f"webauthn-sk-ecdsa-sha2-nistp256@openssh.com {sk.base64} c", sk, "c"
    yield "a quote in the comment", f'{ed.plain} my "key', ed, 'my "key'
    yield "a hash in the comment", f"{ed.plain} #1", ed, "#1"
    yield "a key in the comment", f"{ed.plain} {rsa.plain}", ed, rsa.plain
    yield "a type as option", f"ssh-rsa, {ed.plain} c", ed, "c"


def refused_lines():
    """(title, line) of lines that no sshd takes a key from."""
    ed, rsa, p256, p384 = (made()[name] for name in ("ed25519", "rsa", "p256", "p384"))
    kind, data = ed.plain.split()
    point = p256.blob[-65:]
    build, fields = sshkey.build_plain, sshkey.fields_ecdsa
    numbers = sshkey.Reader(rsa.blob)
    numbers.string()
    e, n = numbers.mpint(), numbers.mpint()
    yield "token in capitals", f"SSH-ED25519 {data}"
    yield "short token", f"ed25519 {data}"
    yield "no type", data
    yield "no base64", kind
    yield "type of another key", f"ssh-rsa {data}"
    yield "other curve's type", f"{p256.token} {p384.base64}"
    yield "certificate type before a plain key", f"{sshkey.cert_name(kind)} {data}"
    yield "padding missing", f"{p256.token} {p256.base64.rstrip('=')}"
    yield "padding too long", f"{p256.token} {p256.base64}="
    yield "padding that is not needed", f"{kind} {data}===="
    yield "one character missing", f"{kind} {data[:-1]}"
    yield "a group missing", f"{kind} {data[:-4]}"
    yield "a blank in the middle", f"{kind} {data[:40]} {data[40:]}"
    yield "the URL alphabet", f"{rsa.token} {rsa.base64[:40]}-_{rsa.base64[42:]}"
    yield "a character that is none", f"{kind} {data[:40]}*{data[41:]}"
    yield "spare bits", f"{p256.token} {p256.base64[:-2]}{chr(ord(p256.base64[-2]) + 1)}="
    yield "bytes after the last field", sshkey.key_line(ed.blob + b"\0", kind)
    yield "VT between type and base64", f"{kind}\v{data}"
    yield "FF between type and base64", f"{kind}\f{data}"
    yield "NUL in the base64", f"{kind} {data[:30]}\0{data[30:]}"
    yield "unterminated quote", f'command="x {ed.plain}'
    yield "a quote that an escape keeps open", f'command="x\\" {ed.plain}'
    yield "options in two words", f"no-pty no-x11 {ed.plain}"
    yield "compressed point", sshkey.key_line(build(p256.token, fields("nistp256", sshkey.compress(point))))
    yield "hybrid point", sshkey.key_line(build(p256.token, fields("nistp256", bytes([6 | point[-1] & 1]) + point[1:])))
    yield "other curve's name inside", sshkey.key_line(build(p256.token, fields("nistp384", point)))
    yield "top bit set", sshkey.key_line(build("ssh-rsa", sshkey.mpint(e) + sshkey.string(b"\x80" + bytes(255))))
    yield "2050 bytes of modulus", sshkey.key_line(build("ssh-rsa", sshkey.mpint(e) + sshkey.mpint(n, 2050 - 257)))
    yield "31 bytes of Ed25519", sshkey.key_line(build(kind, sshkey.fields_raw(bytes(31))))


@contextlib.contextmanager
def started(argv, **streams):
    """A running program. It is killed if it hangs."""
    with subprocess.Popen([str(word) for word in argv], **streams) as process:
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()


def pem_blocks():
    """Blocks of text that each hold one key."""
    rsa, ed = made()["rsa"], made()["ed25519"]
    exported = [tool("ssh-keygen", "-e", "-m", form, "-f", key.public)
                for form, key in (("PKCS8", rsa), ("PEM", rsa), ("RFC4716", ed))]
    return exported + [ed.path.read_bytes()]


@functools.cache
def pieces():
    """Lines and blocks of every kind, for mixed_text."""
    rnd = random.Random(7)
    rows = [key.line.encode() for key in every_key().values()] * 2
    rows += [sshkey.key_line(random_blob(rnd), comment=f"c{number}").encode() for number in range(300)]
    rows += [line.encode() for _, line, _, _ in accepted_lines()]
    rows += [line.encode() for _, line in refused_lines()]
    rows += [certificate(made()["ed25519"], made()["rsa"]).read_bytes().rstrip(b"\n")] * 3
    rows += [b"# a comment", b"", b"@revoked * x", b"1024 35 12345", b"\x1b\xff\0\x80"] * 3
    return [row + b"\n" for row in rows], pem_blocks()


def mixed_text(rnd, size):
    """At least size bytes of lines and blocks in random order."""
    lines, blocks = pieces()
    parts, have = [], 0
    while have < size:
        part = rnd.choice(lines) if rnd.randrange(400) else rnd.choice(blocks)
        parts.append(part)
        have += len(part)
    return b"".join(parts)


@functools.cache
def sixty_megabytes():
    """A file of 60 MB, and the totals that keyveto check must report for it.

    It has clean and listed keys, every kind of problem, PEM in the middle, and a line over 1 MiB. It ends without a
    newline.
    """
    rnd = random.Random(8)
    path = folder() / "sixty"
    plain = b"".join(ed25519_line(rnd.randbytes(32), f"c{number}").encode() + b"\n" for number in range(30000))
    # Each kind of block occurs at least once, whatever the generator draws.
    odd = b"".join(pem_blocks()) + mixed_text(rnd, 400_000)
    with open(path, "wb") as file:
        while file.tell() < 60_000_000:
            file.write(odd)
            file.write(plain)
            file.write(b"#" * rnd.randrange(3000) + b"\n")
            if file.tell() < 10_000_000:
                file.write(b"z" * (MIB + rnd.randrange(MIB)) + b"\n")
        file.write(made()["ed25519"].line.encode())
    return path
