# SPDX-License-Identifier: ISC
"""keyveto check, from the outside: lines and files of every form that sshd and
ssh read, findings as text and as JSON, exit status, streams, large inputs.
(test_pem.py has the forms that are not lines of text.)

    python3 tests/cli/test_check.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto). Keys are made anew by
ssh-keygen, filters by the oracle; both also say what is right. Prints a line
for each case; the exit status is 1 if any failed. What a case cannot do fails,
too.
"""

import concurrent.futures
import contextlib
import fcntl
import functools
import itertools
import json
import os
import pty
import random
import re
import resource
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unicodedata
from pathlib import Path

from cases import KEYVETO, PATIENCE, ROOT, case, contains, equal, lacks, run_all, wait_until_read
from clilib import (JSON_KEYS, KNOWN, MIB, Key, as_nobody, built, certificate, ed25519_line, empty_filter, every_key,
                    findings, folder, listing, made, nothing_raw, oracle_reads, pkbf, problems, random_blob, run,
                    some, ssh_keygen_reads, sshkey, tool, write)
from openssh import keygen_reads_cr


def check(*words, filters=None, **more):
    """keyveto check, by default with a filter that lists nothing."""
    named = [empty_filter()] if filters is None else filters
    return run("check", *(word for path in named for word in ("--filter", path)), *words, **more)


def check_all(path, *words, **more):
    """Every key in a file, and every problem: ([Found], [(line, reason)])."""
    result = check("--all", *words, path, **more)
    return findings(result, path), problems(result, path)


def objects(result):
    """The objects of a run with --json, with exactly the keys of the contract, and nothing that acts on a terminal."""
    found = []
    text = result.out.decode("utf-8")
    assert not text or text.endswith("\n"), f"no newline at the end: {text[-100:]!r}"
    for line in text.split("\n")[:-1]:
        raw = {char for char in line if unicodedata.category(char) == "Cc"}
        assert not raw, f"raw control characters {raw!r} in {line!r}"
        found.append(json.loads(line))
        equal(list(found[-1]), JSON_KEYS, line)
    return found


def one(found, path):
    equal(len(found), 1, f"keys in {path}: {found}")
    return found[0]


# --- lines of authorized_keys ------------------------------------------------

@case("keys of every type in .pub files: type, bits, fingerprint and comment are those of ssh-keygen")
def _(tmp):
    for name, key in every_key().items():
        path = write(tmp / f"{name}.pub", key.line, "\n")
        clean = one(check_all(path, status=0)[0], path)
        equal(clean, (1, "clean", key.type, key.bits, key.fingerprint, key.comment), name)
        bad = listing(tmp / "bad.pkbf", key)
        result = check(path, filters=[bad], status=1)
        equal(result.lines, [f"{path}:1: listed: {key.type} {key.bits} {key.fingerprint} {key.comment} [{bad}]"], name)
        if key.path is None and not name.startswith("sk-"):
            continue                # this ssh-keygen may not know the type; the oracle does
        words = tool("ssh-keygen", "-l", "-f", path).decode().split()
        equal([int(words[0]), words[1]], [clean.bits, clean.fingerprint], f"{name}: ssh-keygen")


# sshd allows for several blanks after the options, ssh-keygen -l for one.
TWO_BLANKS = re.compile(rb"[ \t][ \t]")


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
        if words == 'command="':    # goes on: a quote that ends behind what looks like a key
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
    yield "NUL in the comment", f"{ed.plain} a\0{rsa.plain}", ed, "a"
    for token in ("rsa-sha2-256", "rsa-sha2-512"):
        yield f"token {token}", f"{token} {rsa.base64} c", rsa, "c"
        yield f"options and token {token}", f"no-pty {token} {rsa.base64} c", rsa, "c"
    yield "token webauthn-sk", f"webauthn-sk-ecdsa-sha2-nistp256@openssh.com {sk.base64} c", sk, "c"
    yield "a quote in the comment", f'{ed.plain} my "key', ed, 'my "key'
    yield "a hash in the comment", f"{ed.plain} #1", ed, "#1"
    yield "a key in the comment", f"{ed.plain} {rsa.plain}", ed, rsa.plain
    yield "a type as option", f"ssh-rsa, {ed.plain} c", ed, "c"


def odd_blobs():
    """(title, line, key, comment) of blobs with more than one encoding: some of these only older sshds take."""
    ed, rsa = made()["ed25519"], made()["rsa"]
    fields = sshkey.Reader(rsa.blob)
    fields.string()
    e, n = fields.mpint(), fields.mpint()

    def row(title, key, name, fields, nuls=0):
        return title, sshkey.key_line(sshkey.build_plain(name, fields, nuls), key.token, "c"), key, "c"

    for pad in (1, 2, 7):
        yield row(f"{pad} zero bytes too many", rsa, "ssh-rsa", sshkey.fields_rsa(e, n, pad))
    for name in ("RSA", "rsa", "rSa", "rsa-sha2-512"):
        yield row(f"name {name} inside", rsa, name, sshkey.fields_rsa(e, n))
    for name in ("ED25519", "eD25519"):
        yield row(f"name {name} inside", ed, name, sshkey.fields_raw(ed.blob[-32:]))
    yield row("NUL after the name", ed, "ssh-ed25519", sshkey.fields_raw(ed.blob[-32:]), nuls=1)


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


@case("authorized_keys lines that sshd takes a key from, whatever stands around it")
def _(tmp):
    rows = list(accepted_lines())
    path = write(tmp / "authorized_keys", *(f"{line}\n" for _, line, _, _ in rows))
    found, wrong = check_all(path, status=0)
    equal(wrong, [], "problems")
    by_line = {one.line: one for one in found}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        seen_by_ssh_keygen = list(pool.map(ssh_keygen_reads, (line.encode() for _, line, _, _ in rows)))
    for number, ((title, line, key, comment), seen) in enumerate(zip(rows, seen_by_ssh_keygen), 1):
        wanted = (number, "clean", key.type, key.bits, key.fingerprint, comment)
        equal(by_line.get(number), wanted, f"{title}: {line!r}")
        if not TWO_BLANKS.search(line.encode()) and (keygen_reads_cr() or "\r" not in line.rstrip("\r")):
            equal(seen, (key.bits, key.fingerprint), f"ssh-keygen: {title}: {line!r}")
    equal(len(found), len(rows), "number of keys")


@case("encodings of one key that differ are one key")
def _(tmp):
    rows = list(odd_blobs())
    path = write(tmp / "authorized_keys", *(f"{line}\n" for _, line, _, _ in rows))
    found, wrong = check_all(path, status=0)
    equal(wrong, [], "problems")
    for number, (title, line, key, comment) in enumerate(rows, 1):
        equal(found[number - 1], (number, "clean", key.type, key.bits, key.fingerprint, comment), f"{title}: {line!r}")


@case("lines that sshd refuses are reported with file, line and reason")
def _(tmp):
    rows = list(refused_lines())
    path = write(tmp / "authorized_keys", *(f"{line}\n" for _, line in rows))
    found, wrong = check_all(path, status=2)
    equal(found, [], "keys")
    equal([number for number, _ in wrong], list(range(1, len(rows) + 1)), f"lines of {wrong}")
    for number, (title, line) in enumerate(rows, 1):
        equal(ssh_keygen_reads(line.encode()), None, f"ssh-keygen: {title}: {line!r}")
        alone = write(tmp / "alone", line)
        equal(check_all(alone, status=2), ([], [(1, wrong[number - 1][1])]), f"{title}, alone")


@case("reasons say what is wrong")
def _(tmp):
    ed = made()["ed25519"]
    for line, reason in (
            (f"ssh-rsa {ed.base64}", "key type differs from the type inside the key"),
            (f"ssh-ed25519 {ed.base64[:-1]}", "invalid base64"),
            (f"ssh-ed25519 {ed.base64[:-4]}", "key data ends too early"),
            ("ssh-ed25519 " + sshkey.key_line(ed.blob + b"x").split()[1], "data after the end of the key"),
            (f'from="a {ed.plain}', "unterminated quote in the options"),
            ("hello world", "no key on this line"),
            ("1024 65537 1234567890", "SSH protocol 1 key, which no current sshd accepts"),
            (f'from="a b" 2048 35 {2**2047 + 1} old@host', "SSH protocol 1 key, which no current sshd accepts"),
            (f"host,192.0.2.1 1024 65537 {2**1023 + 1}", "SSH protocol 1 key, which no current sshd accepts")):
        path = write(tmp / "file", line, "\n")
        equal(check_all(path, status=2), ([], [(1, reason)]), repr(line))


@case("comments, blank lines and an empty file are nothing to speak of")
def _(tmp):
    for text in ("", "\n", "\n\n\n", "# a\n", " \t # b\n\t\n", "\r\n \r\n#x\r\n", f"#{made()['ed25519'].plain}\n", "#",
                 "\0junk\n"):
        path = write(tmp / "file", text)
        result = check(path, status=0)
        equal((result.out, result.problems), (b"", []), repr(text))
        equal((result.summary["keys"], result.summary["files"]), (0, 1), repr(text))


@case("a byte order mark never hides a key silently")
def _(tmp):
    # No sshd takes a line with a mark before it. But as a .pub file, or saved by an editor, it is still a key.
    for line in (made()["ed25519"].line, f'from="a" {made()["ed25519"].line}'):
        write(tmp / "walked" / "key.pub", "\ufeff", line, "\r\n")
        for path in (tmp / "walked" / "key.pub", tmp / "walked"):
            result = check("--all", path)
            assert result.out or f"{tmp}/walked/key.pub:1: " in result.err.decode(), f"nothing said of {path}"


@case("unknown types are reported by name and count as unchecked")
def _(tmp):
    blob = sshkey.build_plain("ssh-new@example.org", sshkey.string(b"x"))
    path = write(tmp / "file", sshkey.key_line(blob, comment="c"), "\n", sshkey.key_line(blob, options="no-pty"), "\n")
    result = check("--all", path, status=2)
    equal((result.out, problems(result, path)),
          (b"", [(1, "unknown key type ssh-new@example.org"), (2, "unknown key type ssh-new@example.org")]), "report")
    equal((result.summary["keys"], result.summary["unknown"], result.summary["problems"]), (0, 2, 0), "summary")
    rows = objects(check("--json", path, status=2))
    equal([(row["line"], row["verdict"], row["type"], row["reason"]) for row in rows],
          [(1, "unsupported", "ssh-new@example.org", "unknown key type"),
           (2, "unsupported", "ssh-new@example.org", "unknown key type")], "JSON")
    # A word that is no type, before base64 that does not name it, is no key at all.
    write(path, f"ssh-new@example.org {made()['rsa'].base64}\n")
    equal(check_all(path, status=2), ([], [(1, "no key on this line")]), "another name inside")


# --- lines too long ----------------------------------------------------------

@case("lines over 1 MiB are reported with file and line, and what follows is read")
def _(tmp):
    ed = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", ed)
    for size in (MIB + 1, MIB + 2, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 3 * MIB + 12345):
        for before, after in ((f"{ed.line}\n", f"\n{ed.line}\n"), ("", f"\n{ed.line}"), (f"{ed.line}\n", ""),
                              ("# x\n", "\n")):
            data = f"{before}{'x' * size}{after}".encode()
            path = write(tmp / "file", data)
            number = 1 + before.count("\n")
            for jobs in (1, 2):
                for source, stdin in ((path, b""), ("-", data)):
                    result = check("--jobs", jobs, source, filters=[bad], stdin=stdin)
                    what = f"{size} bytes, {before[:10]!r}, {after[:10]!r}, jobs {jobs}, {source}"
                    equal(problems(result, source), [(number, "line too long")], what)
                    lines = [n for n, text in enumerate(data.decode().split("\n"), 1) if text == ed.line]
                    equal([one.line for one in findings(result, source)], lines, what)
                    equal(result.status, 1 if lines else 2, what)


@case("lines of up to 1 MiB are read")
def _(tmp):
    ed = made()["ed25519"]
    for size in (MIB - 1, MIB - 2, MIB // 2):
        comment = "c" * (size - len(ed.plain) - 1)
        for end in ("", "\n", f"\n{made()['rsa'].line}\n"):
            path = write(tmp / "file", f"{ed.plain} {comment}{end}")
            found, wrong = check_all(path, status=0)
            equal((wrong, found[0].fingerprint, len(found[0].rest), len(found)),
                  ([], ed.fingerprint, len(comment), 1 + ("rsa" in end)), f"{size} {end[:5]!r}")
    # And options of that length, with a key behind them.
    path = write(tmp / "file", f'command="{"x" * (MIB - 300)}" {ed.plain}\n')
    equal(one(check_all(path, status=0)[0], path).fingerprint, ed.fingerprint, "long options")


@case("a key in a line over 1 MiB is never passed over: before a comment or a NUL, behind options or blanks")
def _(tmp):
    ed = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", ed)
    size = MIB + MIB // 2
    rows = {"a comment": (f"{ed.plain} {'x' * size}", True), "NUL": (f"{ed.plain}\0{'x' * size}", True),
            "zeros": (ed.plain + "\0" * size, True), "options": (f'command="{"x" * size}" {ed.plain}', False),
            "blanks": (" " * size + ed.plain, False), "tabs": ("\t" * size + f"no-pty {ed.plain}", False),
            "blanks in the middle": (f"no-pty {' ' * size}{ed.plain}", False),
            "CR in the base64": (f"ssh-ed25519 {ed.base64[:20]}{chr(13) * size}{ed.base64[20:]}", False)}
    for title, (line, found) in rows.items():
        unread = {"blanks in the middle"} if keygen_reads_cr() else {"blanks in the middle", "CR in the base64"}
        equal(ssh_keygen_reads(line.encode()) is not None, title not in unread, f"{title}: ssh-keygen")
        path = write(tmp / "walked" / "file", line, "\n")
        for words in ((path,), (tmp / "walked",), ("--jobs", 2, path), ("-",)):
            result = check(*words, filters=[bad], stdin=path.read_bytes())
            said = result.lines or [message for message in result.problems if ":1: " in message]
            assert said, f"{title}: nothing said, {words}"
            assert result.status in ((1,) if found else (1, 2)), f"{title}, {words}: status {result.status}"
    # A comment of that length is nothing to speak of.
    check_all(write(tmp / "comment", "#", "x" * size, "\n"), status=0)


@case("several long lines, one after the other and apart, keep the count of lines right")
def _(tmp):
    ed = made()["ed25519"]
    long = "y" * (MIB + 77)
    data = "\n".join((long, long, ed.line, long, "", long + long, ed.line, "broken", long))
    path = write(tmp / "file", data)
    for jobs in (1, 3):
        found, wrong = check_all(path, "--jobs", jobs, status=2)
        equal([one.line for one in found], [3, 7], "keys")
        equal([number for number, _ in wrong], [1, 2, 4, 6, 8, 9], "problems")


# --- known_hosts -------------------------------------------------------------

@case("known_hosts: names, ports, hashed names, markers")
def _(tmp):
    ed, rsa, p256 = (made()[name] for name in ("ed25519", "rsa", "p256"))
    write(tmp / "plain", f"host.example.org,192.0.2.7 {ed.plain}\n", f"[host.example.org]:2222 {rsa.plain} c\n",
          f"*.x,!y {p256.plain}\n")
    shutil.copy(tmp / "plain", tmp / "hashed")
    tool("ssh-keygen", "-H", "-f", tmp / "hashed")
    contains((tmp / "hashed").read_text(encoding="ascii"), "|1|")
    for name in ("plain", "hashed"):
        found, wrong = check_all(tmp / name, status=0)
        equal(wrong, [], f"{name}: problems")
        equal({one.fingerprint for one in found}, {ed.fingerprint, rsa.fingerprint, p256.fingerprint}, name)
    hashed = (tmp / "hashed").read_text(encoding="ascii").split()[0]
    rows = [f"@cert-authority *.example.org {ed.plain} c", f"@revoked * {ed.plain} c",
            f"@revoked {hashed} {ed.plain} c",
            f"@revoked\t*\t{ed.plain} c", f" \t@cert-authority \t a,b \t {ed.plain} c", f"@revoked * {ed.plain} c\r"]
    path = write(tmp / "marked", *(f"{row}\n" for row in rows))
    found, wrong = check_all(path, status=0)
    equal(wrong, [], "problems")
    equal(found, [(n, "clean", ed.type, ed.bits, ed.fingerprint, "c") for n in range(1, len(rows) + 1)], "marked")
    bad = listing(tmp / "bad.pkbf", ed)
    equal(len(check(path, filters=[bad], status=1).lines), len(rows), "listed ones")


@case("known_hosts: unknown markers and lines without a key are reported")
def _(tmp):
    ed = made()["ed25519"]
    rows = {f"@nonsense * {ed.plain}": "unknown marker", f"@ * {ed.plain}": "unknown marker",
            f"@Revoked * {ed.plain}": "unknown marker", "@revoked * ssh-ed25519": "no key on this line",
            "@revoked *": "no key on this line", f"@revoked @revoked * {ed.plain}": "no key on this line",
            "@cert-authority * ssh-ed25519 AAAA": "key data ends too early", f"@revoked * ssh-rsa {ed.base64}":
            "key type differs from the type inside the key", f"two hosts {ed.plain}": "no key on this line"}
    path = write(tmp / "known_hosts", *(f"{row}\n" for row in rows))
    found, wrong = check_all(path, status=2)
    equal((found, wrong), ([], list(enumerate(rows.values(), 1))), "report")
    # Right before a key, a mistyped marker may be options for all one knows.
    line = f"@cert-authoity {ed.plain}"
    assert ssh_keygen_reads(line.encode()) is not None
    path = write(tmp / "authorized_keys", line, "\n")
    equal(one(check_all(path, status=0)[0], path).fingerprint, ed.fingerprint, "mistyped marker")


@case("what ssh-keyscan prints, comments and all")
def _(tmp):
    keys = [made()[name] for name in ("rsa", "p256", "ed25519")]
    lines = []
    for key in keys:
        lines += ["# 192.0.2.7:22 SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3", f"192.0.2.7 {key.plain}",
                  f"[192.0.2.7]:2222 {key.plain}", f"[2001:db8::1%eth0]:22 {key.plain}"]
    text = "".join(f"{line}\n" for line in lines)
    found, wrong = check_all("-", stdin=text.encode(), status=0)
    equal(wrong, [], "problems")
    equal([(one.line, one.fingerprint) for one in found],
          [(4 * i + j, key.fingerprint) for i, key in enumerate(keys) for j in (2, 3, 4)], "keys")


# --- certificates ------------------------------------------------------------

@case("certificates of users and hosts: the key and the CA are both judged")
def _(tmp):
    ca = made()["other"]
    bad_ca = listing(tmp / "ca.pkbf", ca)
    for key in some("rsa", "dsa", "p256", "p384", "p521", "ed25519"):
        bad_key = listing(tmp / "key.pkbf", key)
        for options in ((), ("-h",)):
            path = certificate(key, ca, *options)
            where = f"{key.name} {options}"
            inside = (1, "clean", key.type, key.bits, key.fingerprint, key.comment)
            signer = (1, "clean", ca.type, ca.bits, ca.fingerprint, f"{key.comment} (CA)")
            equal(check_all(path, status=0), ([inside, signer], []), where)
            equal(tool("ssh-keygen", "-l", "-f", path).decode().split()[1], key.fingerprint, f"{where}: ssh-keygen")
            signed_by = re.search(r"Signing CA: \S+ (SHA256:\S+)", tool("ssh-keygen", "-L", "-f", path).decode())[1]
            equal(signed_by, ca.fingerprint, f"{where}: ssh-keygen's CA")
            listed = f"{path}:1: listed: {key.type} {key.bits} {key.fingerprint} {key.comment} [{bad_key}]"
            equal(check(path, filters=[bad_key], status=1).lines, [listed], where)
            listed_ca = f"{path}:1: listed: {ca.type} {ca.bits} {ca.fingerprint} {key.comment} (CA) [{bad_ca}]"
            equal(check(path, filters=[bad_ca], status=1).lines, [listed_ca], where)
            equal(check(path, filters=[bad_key, bad_ca], status=1).lines, [listed, listed_ca], where)


@case("certificates as JSON, in authorized_keys and known_hosts, signed by CAs of every type")
def _(tmp):
    key = made()["ed25519"]
    for name in ("rsa-3072", "p256", "p384", "p521", "other"):
        ca = made()[name]
        line = certificate(key, ca).read_text(encoding="utf-8").rstrip("\n")
        path = write(tmp / "file", f"no-pty {line}\n", f"[host]:22 {line}\n")
        rows = objects(check("--json", "--all", path, status=0))
        names = ("line", "part", "type", "bits", "fingerprint", "spki_sha256")
        equal([tuple(row[name] for name in names) for row in rows],
              [(n, *part) for n in (1, 2) for part in
               (("key", key.type, key.bits, key.fingerprint, key.spki_sha256[0]),
                ("ca", ca.type, ca.bits, ca.fingerprint, ca.spki_sha256[0]))], name)


@case("a composite key is listed when either half of it is, on its own or with the other")
def _(tmp):
    key = built()["mldsa"]
    half = Key("half", sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(key.blob[-32:])))
    path = write(tmp / "file", f"{key.line}\n{half.line}\n")
    for number, spki in enumerate(key.oracle.spkis):
        bad = pkbf.Filter.create(20, 16)
        bad.add(spki)
        bad.write(tmp / "bad.pkbf")
        found = findings(check("--all", path, filters=[tmp / "bad.pkbf"], status=1), path)
        equal([one.verdict for one in found], ["listed", "listed" if number == 2 else "clean"], f"SPKI {number}")


@case("certificates of types that need hardware, and odd or broken ones")
def _(tmp):
    ca = made()["other"]
    for name, key in built().items():
        fields = key.blob[4 + len(key.token):]
        blob = sshkey.build_cert(sshkey.cert_name(key.token), fields, ca.blob, principals=(b"u",))
        path = write(tmp / "file", sshkey.key_line(blob), "\n")
        found, _ = check_all(path, status=0)
        equal([(one.type, one.fingerprint, one.rest) for one in found],
              [(key.type, key.fingerprint, ""), (ca.type, ca.fingerprint, "(CA)")], name)
    fields = made()["ed25519"].blob[-36:]
    kind = sshkey.cert_name("ssh-ed25519")
    other = sshkey.build_cert(kind, fields, ca.blob)
    for title, blob in (("neither user nor host", sshkey.build_cert(kind, fields, ca.blob, kind=3)),
                        ("signed by a certificate", sshkey.build_cert(kind, fields, other)),
                        ("CA of an unknown type", sshkey.build_cert(kind, fields, sshkey.build_plain("x", b""))),
                        ("cut short", other[:-1]),
                        ("longer", sshkey.build_cert(kind, fields, ca.blob, trailing=b"x"))):
        path = write(tmp / "file", sshkey.key_line(blob, kind), "\n")
        result = check("--all", path)
        equal((result.status, len(result.problems)), (2, 1), f"{title}: {result}")


# --- directories -------------------------------------------------------------

@case("a directory is walked, hidden files too; links, FIFOs and sockets are passed over")
def _(tmp):
    home, elsewhere = tmp / "home", tmp / "elsewhere"
    keys = [made()[name] for name in ("ed25519", "rsa", "p256", "p384")]
    names = (".ssh/authorized_keys", ".ssh/known_hosts", "a/b/c/.d/key.pub", "id_ecdsa")
    write(home / ".ssh" / "authorized_keys", keys[0].line, "\n")
    write(home / ".ssh" / "known_hosts", f"host {keys[1].plain}\n")
    write(home / "a" / "b" / "c" / ".d" / "key.pub", keys[2].line)
    shutil.copy(keys[3].path, home / "id_ecdsa")
    (home / "empty").mkdir()
    write(elsewhere / "secret.pub", made()["other"].line, "\n")
    (home / "link.pub").symlink_to(elsewhere / "secret.pub")
    (home / "linked").symlink_to(elsewhere)
    (home / "loop").symlink_to(home)
    (home / "dangling").symlink_to("nowhere")
    os.mkfifo(home / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(home / "socket"))
        for root in (f"{home}", f"{home}/"):
            result = check("--all", root, status=0)
            seen = sorted(re.match(r"(\S+): clean: \S+ \d+ (\S+)", line).groups() for line in result.lines)
            equal(seen, sorted((f"{home}/{name}:1", key.fingerprint) for name, key in zip(names, keys)), root)
            equal((result.problems, result.summary["files"]), ([], 4), root)
    # But a link that is named is followed, as a file and as a directory.
    for name, label in (("link.pub", "link.pub"), ("linked", "linked/secret.pub")):
        contains(check("--all", home / name, status=0).out.decode(), f"{home}/{label}:1: clean: ")


# What is in people's home directories, and is no key.
NO_KEYS = {
    "text": b"Dear Sir,\nthis is \"a letter.\n-----\n@home\n",
    "numbers": b"2024 11 20 backup done\n1 2 3\n12 34 56 78\n",
    "table": b"a,b,c\n1,2,3\n1 2 3\n4 5 6\n",
    "config": b"Host *\n  HostKeyAlgorithms ssh-rsa\n  PubkeyAcceptedAlgorithms +ssh-rsa,ssh-dss\n  Port 22\n",
    "random": random.Random(5).randbytes(3 << 20),
    "html": b"<html><body class=\"x y\">&nbsp;</body></html>\n",
    "script": b"#!/bin/sh\nset -eu\necho \"$@\" 'x\n",
    "empty": b"", "newline": b"\n",
}


@case("files without keys are silent in a directory")
def _(tmp):
    for name, data in NO_KEYS.items():
        write(tmp / name / "file", data)
        result = check("--all", tmp / name)
        equal((result.status, result.out, result.problems), (0, b"", []), name)
        equal((result.summary["keys"], result.summary["files"]), (0, 1), name)


@case("prose that names key types is silent in a directory")
def _(tmp):
    write(tmp / "walked" / "README", "ssh-rsa is old\nuse ssh-ed25519 keys instead\nThe ssh-dss type is gone.\n")
    result = check("--all", tmp / "walked")
    equal((result.status, result.problems), (0, []), "README")
    # Which must not make half a key silent.
    for line in (f"ssh-ed25519 {made()['ed25519'].base64[:-3]}", f"no-pty ssh-rsa {made()['rsa'].base64[:200]}"):
        write(tmp / "walked" / "README", line, "\n")
        check("--all", tmp / "walked", status=2)


@case("a large file of zeros is silent in a directory")
def _(tmp):
    # A line ends at its first NUL: there is nothing on this one, however long it is.
    write(tmp / "walked" / "image", bytes(3 << 20))
    result = check("--all", tmp / "walked")
    equal((result.status, result.problems), (0, []), "image")


@case("broken keys in a directory are reported")
def _(tmp):
    ed = made()["ed25519"]
    path = write(tmp / "walked" / "file", f"{ed.line}\nssh-rsa {ed.base64}\nssh-ed25519 {ed.base64[:-2]}\n",
                 f"2048 35 {2**2047 + 1}\n", sshkey.key_line(sshkey.build_plain("ssh-new", b"")), "\n")
    result = check("--all", tmp / "walked", status=2)
    equal([number for number, _ in problems(result, path)], [2, 3, 4, 5], "problems")
    equal([one.line for one in findings(result, path)], [1], "keys")


@case("directories too deep or files gone do not end the walk")
def _(tmp):
    deep = tmp / "walked"
    for _ in range(80):
        deep = deep / "d"
    write(deep / "key.pub", made()["ed25519"].line)
    write(tmp / "walked" / "z.pub", made()["rsa"].line)
    result = check("--all", tmp / "walked", status=2)
    contains(result.out.decode(), made()["rsa"].fingerprint)
    equal(len(result.problems), 1, f"problems {result.problems}")


def for_anybody(tmp):
    """A copy of the program where anybody can run it."""
    program = tmp / "keyveto"
    shutil.copy(KEYVETO, program)
    program.chmod(0o755)
    return program


def check_as_nobody(program, *words):
    """Status, standard output and standard error of keyveto check without privileges."""
    done = subprocess.run(as_nobody(str(program), "check", *map(str, words)), stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE, check=False)
    return done.returncode, done.stdout.decode("ascii"), done.stderr.decode("ascii")


@case("files and directories that may not be read are problems")
def _(tmp):
    program, home = for_anybody(tmp), tmp / "home"
    bad = listing(tmp / "bad.pkbf", made()["ed25519"])
    write(home / "open.pub", made()["ed25519"].line)
    write(home / "secret" / "key.pub", made()["rsa"].line)
    closed = write(home / "closed.pub", made()["p256"].line)
    closed.chmod(0)
    (home / "secret").chmod(0)
    try:
        status, out, err = check_as_nobody(program, "--filter", bad, home)
        equal(status, 1, err)
        contains(out, f"{home}/open.pub:1: listed: ")
        contains(err, f"keyveto: {home}/closed.pub: Permission denied\n",
                 f"keyveto: {home}/secret: Permission denied\n", "2 problems\n")
        for path in (closed, home / "secret", home / "secret" / "key.pub"):
            status, out, err = check_as_nobody(program, "--filter", bad, path)
            equal((status, out), (2, ""), f"{path}: {err}")
            contains(err, f"keyveto: {path}: Permission denied\n")
        status, _, err = check_as_nobody(program, "--filter", closed, home / "open.pub")
        equal(status, 2, err)
        contains(err, str(closed), "Permission denied")
    finally:
        (home / "secret").chmod(0o755)


@case("a missing file is a problem, and the others are checked")
def _(tmp):
    ed = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", ed)
    good = write(tmp / "good", ed.line)
    for jobs in (1, 2):
        result = check("--jobs", jobs, tmp / "missing", good, "", tmp / "good" / "x", filters=[bad], status=1)
        equal(len(result.lines), 1, "findings")
        equal(result.problems, [f"{tmp}/missing: No such file or directory", ": No such file or directory",
                                f"{tmp}/good/x: Not a directory"], "problems")
    check(tmp / "missing", status=2)
    row, = objects(check("--json", tmp / "missing", status=2))
    equal((row["file"], row["line"], row["verdict"], row["reason"]),
          (f"{tmp}/missing", 0, "error", "No such file or directory"), "JSON")


@case("a FIFO that is named is read")
def _(tmp):
    os.mkfifo(tmp / "fifo")
    threading.Thread(target=write, args=(tmp / "fifo", made()["ed25519"].line, "\n"), daemon=True).start()
    equal(one(check_all(tmp / "fifo", status=0)[0], "fifo").fingerprint, made()["ed25519"].fingerprint, "key")


# --- standard input ----------------------------------------------------------

@case("standard input: named, not named, among files, without a newline at its end")
def _(tmp):
    ed, rsa = made()["ed25519"], made()["rsa"]
    path = write(tmp / "file", rsa.line)
    data = ed.line.encode()
    for words, stdin, names in ((["-"], data, ["-"]), ([], data, ["-"]), ([], data + b"\n", ["-"]),
                                ([path, "-"], data, [path, "-"]), (["-", path], data, ["-", path]),
                                (["-", "-"], data, ["-"])):
        result = check("--all", *words, stdin=stdin, status=0)
        equal([line.split(":")[0] for line in result.lines], [str(name) for name in names], f"{words}")
    # A file called "-" has a name, too.
    write(tmp / "-", rsa.line)
    result = check("--all", "./-", stdin=data, status=0, cwd=tmp)
    contains(result.out.decode(), f"./-:1: clean: ssh-rsa 2048 {rsa.fingerprint}")


@contextlib.contextmanager
def started(argv, **streams):
    """A running program, which is killed when it hangs."""
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


def wait_for(stream, needle):
    """What a pipe gives until needle is in it."""
    text, end = b"", time.monotonic() + PATIENCE
    while needle not in text:
        ready, _, _ = select.select([stream], [], [], max(0, end - time.monotonic()))
        assert ready, f"in vain: {text!r}, no {needle!r}"
        more = os.read(stream.fileno(), 65536)
        assert more, f"ended with {text!r}, no {needle!r}"
        text += more
    return text


def test_stream(jobs, tmp):
    ed, rsa = made()["ed25519"], made()["rsa"]
    bad = listing(tmp / "bad.pkbf", ed, rsa)
    for form in ((), ("--json",)):
        with started([KEYVETO, "check", "--jobs", jobs, *form, "--filter", bad, "-"], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for number, key in enumerate((ed, rsa, ed), 1):
                process.stdin.write(f"{key.line}\n".encode())
                process.stdin.flush()
                text = wait_for(process.stdout, key.fingerprint.encode())
                contains(text.decode(), f"-:{number}: " if not form else f'"line":{number},')
            process.stdin.write(b"broken\n")
            process.stdin.flush()
            wait_for(process.stderr, b"-:4: no key on this line")
            equal(process.poll(), None, "ended early")
            process.stdin.close()
            equal(process.wait(PATIENCE), 1, "status")


for _jobs in (1, 2):
    case(f"a slow pipe gets its findings before it ends, --jobs {_jobs}")(functools.partial(test_stream, _jobs))


@case("a filter that is cut short while it is asked makes no key clean, and what was listed stays listed")
def _(tmp):
    ed, rsa = made()["ed25519"], made()["rsa"]
    # Within its last page there are zeros then; beyond it, no memory at all.
    for jobs, (first, status), length in itertools.product((1, 2), (([ed], 1), ([], 2)), (12, 24)):
        bad = listing(tmp / f"bad-{jobs}-{status}-{length}.pkbf", ed, p=length)
        with started([KEYVETO, "check", "--jobs", jobs, "--filter", bad, "-"], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for key in first:
                process.stdin.write(f"{key.line}\n".encode())
                process.stdin.flush()
                wait_for(process.stdout, key.fingerprint.encode())
            # Whoever reads has opened its filters.
            process.stdin.write(b"# a comment\n")
            process.stdin.flush()
            wait_until_read(process.stdin)
            os.truncate(bad, 24)
            process.stdin.write(f"{rsa.line}\n".encode())
            process.stdin.close()
            text = process.stderr.read().decode()
            contains(text, f"-:{len(first) + 2}: {bad}: file size does not match", " 0 clean", "1 problem")
            equal(process.wait(PATIENCE), status, "status")


@case("a burst of any length gets its findings before the pipe ends")
def _(tmp):
    ed = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", ed)
    line = f"{ed.line}\n".encode()
    for size in (MIB - 1, MIB, MIB + 1, MIB + 50, 2 * MIB, 3 * MIB - 1):
        for jobs in (1, 2):
            pad = b"#" * 99 + b"\n"
            data = pad * ((size - len(line) - 100) // 100)
            data += b"#" * (size - len(line) - len(data) - 1) + b"\n" + line
            with started([KEYVETO, "check", "--jobs", jobs, "--filter", bad], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
                process.stdin.write(data)
                process.stdin.flush()
                try:
                    wait_for(process.stdout, f"-:{data.count(bytes([10]))}: listed: ".encode())
                except AssertionError as error:
                    raise AssertionError(f"{size} bytes, --jobs {jobs}: {error}") from None
                process.stdin.close()
                process.wait(PATIENCE)


@case("a stream in pieces of any size is the same as a file")
def _(tmp):
    rnd = random.Random(2)
    data = mixed_text(rnd, 200_000)
    path = write(tmp / "file", data)
    wanted = check("--all", path)
    for jobs in (1, 2):
        with started([KEYVETO, "check", "--all", "--jobs", jobs, "--filter", empty_filter()], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            def feed():
                place = 0
                while place < len(data):
                    size = rnd.choice((1, 7, 80, 1000, 5000))
                    process.stdin.write(data[place:place + size])
                    process.stdin.flush()
                    place += size
                process.stdin.close()

            feeder = threading.Thread(target=feed, daemon=True)
            feeder.start()
            errors = threading.Thread(target=process.stderr.read, daemon=True)
            errors.start()
            out = process.stdout.read()
            process.wait(PATIENCE)
        equal(out.replace(b"-:", f"{path}:".encode()), wanted.out, f"jobs {jobs}")


# --- nothing is printed raw --------------------------------------------------

@case("bytes of comments, types and paths that could act on a terminal come out as \\xNN")
def _(tmp):
    ed = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", ed)
    comment = b"a\x1b[31mb\x07\x7f\x9b\xc3\xa9\t\\x1b\x01"
    shown = "a\\x1b[31mb\\x07\\x7f\\x9b\\xc3\\xa9\\x09\\x1b\\x01"
    path = write(tmp / "file", ed.plain, b" ", comment, b"\n")
    equal(one(findings(check(path, filters=[bad], status=1), path), path).rest, f"{shown} [{bad}]", "comment")
    row, = objects(check("--json", path, filters=[bad], status=1))
    equal(row["comment"], shown, "comment in JSON")
    for name in (b"new\nline", b"esc\x1b]0;x\x07", b"latin\xe9", b"quote\"back\\slash", b"caf\xc3\xa9",
                 b"-:1: listed: "):
        odd = os.fsencode(tmp) + b"/" + name
        with open(odd, "wb") as file:
            file.write(f"{ed.plain}\nbroken\n".encode())
        safe = "".join(chr(c) if 32 <= c < 127 else f"\\x{c:02x}" for c in odd)
        result = check(odd, filters=[bad], status=1)
        equal(result.lines, [f"{safe}:1: listed: {ed.type} {ed.bits} {ed.fingerprint} [{bad}]"], repr(name))
        equal(result.problems, [f"{safe}:2: no key on this line"], repr(name))
        rows = objects(check("--json", odd, filters=[bad], status=1))
        try:
            wanted = odd.decode("utf-8")
        except UnicodeDecodeError:
            wanted = safe
        equal([row["file"] for row in rows], [wanted] * 2, repr(name))
        # The same found in a directory, missing, and as a filter.
        os.mkdir(tmp / "walked")
        os.rename(odd, os.fsencode(tmp / "walked") + b"/" + name)
        contains(check(tmp / "walked", filters=[bad], status=1).out.decode(), f"{safe[len(str(tmp)):]}:1: listed")
        shutil.rmtree(tmp / "walked")
        contains(check(odd, status=2).err.decode(), f"keyveto: {safe}: No such file")
        contains(check(path, filters=[odd], status=2).err.decode(), safe)
        shutil.copy(bad, odd)
        contains(check(path, filters=[odd], status=1).out.decode(), f"[{safe}]")
    unknown = sshkey.key_line(sshkey.build_plain("ssh-\x1b[1m\xe9", b"")).encode("latin-1")
    write(path, unknown, b"\n")
    contains(check(path, status=2).err.decode(), "unknown key type ssh-\\x1b[1m\\xe9\n")
    equal(objects(check("--json", path, status=2))[0]["type"], "ssh-\\x1b[1m\\xe9", "type in JSON")


@case("control characters of any kind in JSON are escaped")
def _(tmp):
    for char in (*range(1, 10), *range(11, 32), *range(0x7f, 0xa0)):
        if char == 13:
            continue
        comment = f"a{chr(char)}b"
        path = write(tmp / "file", f"{made()['ed25519'].plain} {comment}\n")
        row, = objects(check("--json", "--all", path, status=0))
        escaped = "".join(f"\\x{byte:02x}" for byte in chr(char).encode())
        assert row["comment"] in (comment, f"a{escaped}b"), row["comment"]


@case("lines of random bytes: nothing raw, every line accounted for, JSON stays JSON")
def _(tmp):
    rnd = random.Random(4)
    ed = made()["ed25519"].line.encode()
    lines = []
    for _ in range(3000):
        noise = rnd.randbytes(rnd.randrange(60)).replace(b"\n", b"")
        line = rnd.choice((noise, b"ssh-rsa " + noise, ed + b" " + noise, noise + b" " + ed, b"@" + noise, b'"' + noise,
                           ed[:40] + noise, b"1 2 " + noise))
        lines.append(line)
    path = write(tmp / "file", b"\n".join(lines), b"\n")
    for jobs in (1, 2):
        result = check("--all", "--jobs", jobs, path)
        found, wrong = findings(result, path), problems(result, path)
        rows = objects(check("--all", "--jobs", jobs, "--json", path))
        equal(sorted(row["line"] for row in rows),
              sorted([one.line for one in found] + [number for number, _ in wrong]), "JSON")
    spoken_of = {one.line for one in found} | {number for number, _ in wrong}
    seen = {(one.line, one.fingerprint) for one in found}
    for number, line in enumerate(lines, 1):
        blank = line.partition(b"\0")[0].strip(b" \t\r")
        if number not in spoken_of:
            assert not blank or blank.startswith(b"#") or blank in (b"@revoked", b"@cert-authority"), \
                f"nothing said of {line!r}"
        key = None if blank.startswith(b"@") else oracle_reads(line)
        if key is not None:
            assert (number, key.fingerprint) in seen, f"no key seen in {line!r}"


# --- JSON --------------------------------------------------------------------

@case("JSON: one object a line, its values those of the oracle and of ssh-keygen")
def _(tmp):
    keys = list(every_key().values())
    # The P-256 key too, since the built security key has the same point.
    bad_ones = [made()["rsa"], made()["p256"], *built().values()]
    bad = listing(tmp / "bad.pkbf", *bad_ones)
    path = write(tmp / "file", *(f"{key.line}\n" for key in keys))
    for words, shown in ((("--all",), keys), ((), bad_ones)):
        rows = objects(check("--json", *words, path, filters=[bad], status=1))
        wanted = []
        for number, key in enumerate(keys, 1):
            listed = key in bad_ones
            wanted.append({"file": str(path), "line": number, "verdict": "listed" if listed else "clean",
                           "type": key.type, "bits": key.bits, "fingerprint": key.fingerprint,
                           "spki_sha256": key.spki_sha256[0], "part": "key", "comment": key.comment,
                           "filters": [str(bad)] if listed else [], "reason": ""})
        equal(rows, [row for row, key in zip(wanted, keys) if key in shown], f"{words}")
    known = write(tmp / "known", *(f"{line}\n" for line in KNOWN))
    equal([row["spki_sha256"] for row in objects(check("--json", "--all", known, status=0))],
          [sha256 for sha256, _ in KNOWN.values()], "known answers")


@case("JSON: problems have the same keys, null where there is no key")
def _(tmp):
    path = write(tmp / "file", "broken\n", f"ssh-rsa {made()['ed25519'].base64}\n", "x" * (MIB + 5), "\n")
    rows = objects(check("--json", path, status=2))
    equal(rows, [{"file": str(path), "line": line, "verdict": "error", "type": None, "bits": None, "fingerprint": None,
                  "spki_sha256": None, "part": None, "comment": None, "filters": [], "reason": reason}
                 for line, reason in ((1, "no key on this line"), (2, "key type differs from the type inside the key"),
                                      (3, "line too long"))], "problems")


@case("JSON: comments in UTF-8 stay, what is no UTF-8 becomes \\xNN")
def _(tmp):
    ed = made()["ed25519"]
    rows = {b"Jos\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x94\x91": "José ✓ 🔑", b'"quoted" \\back/': '"quoted" \\back/',
            b"latin\xe9": "latin\\xe9", b"half\xc3": "half\\xc3", b"\xc0\xaf": "\\xc0\\xaf",
            b"\xed\xa0\x80": "\\xed\\xa0\\x80", b"\xf5\x80\x80\x80": "\\xf5\\x80\\x80\\x80",
            b"ok \xc3\xa9 bad \xff": "ok \\xc3\\xa9 bad \\xff",
            b"\xef\xbf\xbe\xef\xbb\xbf": "\ufffe\ufeff", b"tab\there": "tab\there"}
    path = write(tmp / "file", *(part for comment in rows for part in (ed.plain, b" ", comment, b"\n")))
    seen = objects(check("--json", "--all", path, status=0))
    equal([row["comment"] for row in seen], list(rows.values()), "comments")


# --- status, options ---------------------------------------------------------

@case("exit status: 1 when something is listed, else 2 when something could not be checked, else 0")
def _(tmp):
    listed, clean, allowed = (made()[name] for name in ("ed25519", "rsa", "p256"))
    bad = listing(tmp / "bad.pkbf", listed, allowed)
    config = write(tmp / "conf", f"Filter {bad}\nAllowKey {allowed.fingerprint}\n")
    lines = {"listed": listed.line, "clean": clean.line, "allowed": allowed.line, "broken": "ssh-rsa AAAA", "unknown":
             sshkey.key_line(sshkey.build_plain("ssh-new", b""))}
    forms = [(), ("--json",), ("--all",), ("--quiet",), ("--jobs", "2"), ("--quiet", "--json", "--all")]
    for size in range(len(lines) + 1):
        for number, names in enumerate(itertools.combinations(lines, size)):
            wanted = 1 if "listed" in names else 2 if {"broken", "unknown"} & set(names) else 0
            path = write(tmp / "file", "".join(f"{lines[name]}\n" for name in names))
            run("check", "--config", config, *forms[number % len(forms)], path, status=wanted)
            separate = [write(tmp / name, lines[name]) for name in names] or [path]
            run("check", "--config", config, *forms[(number + 1) % len(forms)], *separate, status=wanted)
            stdin = "".join(f"{lines[name]}\n" for name in reversed(names)).encode()
            run("check", "--config", config, stdin=stdin, status=wanted)


@case("bad usage: status 2, the reason and the usage on standard error, nothing on standard output")
def _(tmp):
    path = write(tmp / "file", made()["ed25519"].line)
    for words in (("check", "--nonsense", path), ("check", "--json=yes", path), ("check", "--filter"),
                  ("check", "-x", path), ("check", "--jobs", "0", path), ("check", "--jobs", "-1", path),
                  ("check", "--jobs", "", path),
                  ("check", "--jobs", "two", path), ("check", "--jobs", "1000", path), ("check", "--jobs", "4x", path),
                  ("check", "--jobs", str(2**64 + 1), path), ("check", "--jobs"), (), ("chekc", path), ("--nonsense",),
                  ("check", "--a\x1b[0m\n", path), ("\x1b\n",)):
        result = run(*words, status=2)
        equal(result.out, b"", f"{words}")
        assert result.messages and all(re.match(r"keyveto: |usage: |  |'|$", line) for line in result.messages), \
            f"{words}: {result.messages}"


@case("--quiet prints nothing on standard output, and errors still")
def _(tmp):
    ed = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", ed)
    path = write(tmp / "file", f"{ed.line}\nbroken\n")
    for words in ((), ("--json",), ("--all",), ("--jobs", "2")):
        result = check("--quiet", *words, path, filters=[bad], status=1)
        equal((result.out, result.messages), (b"", [f"keyveto: {path}:2: no key on this line"]), f"{words}")
    good = write(tmp / "file", ed.line)
    result = check("--quiet", good, status=0)
    equal((result.out, result.messages), (b"", []), "nothing wrong")


@case("--all shows every key, without it only listed ones; the summary counts")
def _(tmp):
    listed, clean = made()["ed25519"], made()["rsa"]
    bad = listing(tmp / "bad.pkbf", listed)
    one_file, two = write(tmp / "one", f"{clean.line}\n{listed.line}\n"), write(tmp / "two", f"{clean.line}\n")
    result = check(one_file, two, filters=[bad], status=1)
    equal([line.split(": ")[:2] for line in result.lines], [[f"{one_file}:2", "listed"]], "listed")
    equal(result.messages, ["keyveto: 3 keys in 2 files: 1 listed, 2 clean"], "summary")
    result = check("--all", one_file, two, filters=[bad], status=1)
    equal([line.split(": ")[:2] for line in result.lines],
          [[f"{one_file}:1", "clean"], [f"{one_file}:2", "listed"], [f"{two}:1", "clean"]], "all")
    equal(check(two, filters=[bad], status=0).messages, ["keyveto: 1 key in 1 file: 0 listed, 1 clean"], "summary")


@case("--help of every command: status 0, usage on standard output, lines that fit")
def _(tmp):
    for words in (("--help",), ("help",), *((name, "--help") for name in ("check", "audit", "scan", "spki", "filter")),
                  ("check", "--help", "--nonsense"), *(("filter", name, "--help") for name in
                                                       ("create", "add", "merge", "info", "verify", "explain"))):
        result = run(*words, status=0)
        assert result.lines[0].startswith("usage: keyveto ") and not result.err, f"{words}: {result}"
        assert all(len(line) <= 80 for line in result.lines[1:]), f"{words}: a line over 80 characters"
    equal(run("--version", status=0).lines[0].split()[0], "keyveto", "version")
    contains(run("check", "--help").out.decode(), "--json", "--all", "--quiet", "--jobs", "--config", "--filter",
             "Exit status")


@case("write errors on standard output: status 2 and a message, also when something is listed")
def _(tmp):
    ed = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", ed)
    path = write(tmp / "file", ed.line, "\n")
    large = write(tmp / "large", f"{ed.line}\n" * 30000)
    for words in ([path], ["--json", path], ["--all", path], [large], ["--jobs", "2", large],
                  ["--json", "--jobs", "2", large], [path, tmp / "missing"], ["--help"]):
        for out in ("/dev/full", None):
            with open(out or "/dev/null", "wb") as stdout:
                argv = [KEYVETO, "check", "--filter", bad, *map(str, words)]
                if out is None:     # closed
                    argv = ["sh", "-c", 'exec "$@" >&-', "sh", *argv]
                done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                                      timeout=PATIENCE, check=False)
            equal(done.returncode, 2, f"{words} to {out}: {done.stderr!r}")
            reason = "No space left on device" if out else "Bad file descriptor"
            contains(done.stderr.decode(), f"keyveto: standard output: {reason}\n")


# --- filters and configuration -----------------------------------------------

@case("several filters: any hit counts, and each that has the key is named")
def _(tmp):
    a, b, c = (made()[name] for name in ("ed25519", "rsa", "p256"))
    path = write(tmp / "file", f"{a.line}\n{b.line}\n{c.line}\n")
    first, second, third = listing(tmp / "1", a, b, k=7, p=14), listing(tmp / "2", b, k=3, p=20), listing(tmp / "3")
    result = check("--all", path, filters=[first, second, third], status=1)
    equal([(one.verdict, one.rest) for one in findings(result, path)],
          [("listed", f"{a.comment} [{first}]"), ("listed", f"{b.comment} [{first}] [{second}]"),
           ("clean", c.comment)], "text")
    rows = objects(check("--json", "--all", path, filters=[third, second, first], status=1))
    equal([row["filters"] for row in rows], [[str(first)], [str(second), str(first)], []], "JSON")
    check(path, filters=[third], status=0)
    check(path, filters=[first] * 64, status=1)
    contains(check(path, filters=[first] * 65, status=2).err.decode(), "keyveto: more than 64 filters\n")


@case("a filter made by the oracle's command, with compressed points, is the same")
def _(tmp):
    names = ("p256", "p384", "rsa")
    tool("/usr/bin/python3", ROOT / "tests/oracle/pkbf.py", "create", tmp / "f", "--hashes", 20, "--length", 16,
         *(made()[name].public for name in names))
    path = write(tmp / "file", *(f"{key.line}\n" for key in made().values()))
    found = findings(check("--all", path, filters=[tmp / "f"], status=1), path)
    equal([(one.fingerprint, one.verdict) for one in found],
          [(key.fingerprint, "listed" if name in names else "clean") for name, key in made().items()], "verdicts")


@case("false positives are those of the filter, key by key as the oracle sees them")
def _(tmp):
    rnd = random.Random(6)
    small = pkbf.Filter.create(2, 10)
    for _ in range(200):
        small.add(sshkey.spkis(random_blob(rnd))[0])
    small.write(tmp / "small")
    keys = [Key(str(number), random_blob(rnd)) for number in range(400)]
    path = write(tmp / "file", *(f"{key.line}\n" for key in keys))
    found = findings(check("--all", path, filters=[tmp / "small"], status=1), path)
    equal([one.verdict == "listed" for one in found], [small.contains_key(key.oracle) for key in keys], "verdicts")
    assert 20 < sum(one.verdict == "listed" for one in found) < 380, "nothing to tell apart"


@case("configuration: its filters, AllowKey, and --filter instead of its filters")
def _(tmp):
    a, b, c = (made()[name] for name in ("ed25519", "rsa", "p256"))
    bad, empty = listing(tmp / "bad.pkbf", a, b), listing(tmp / "empty.pkbf")
    path = write(tmp / "file", f"{a.line}\n{c.line}\n")
    config = write(tmp / "conf", f"Filter {bad}\nAllowKey {a.fingerprint} reason is here\n")
    result = run("check", "--config", config, path, status=0)
    equal(result.out, b"", "an allowed key is no hit")
    equal((result.summary["listed"], result.summary["allowed"], result.summary["clean"]), (0, 1, 1), "summary")
    result = run("check", "--config", config, "--all", path, status=0)
    equal([(one.verdict, one.rest) for one in findings(result, path)][1], ("clean", c.comment), "clean one")
    equal(findings(result, path)[0].verdict, "allowed", "allowed one")
    contains(result.lines[0], a.fingerprint, "reason is here")
    row = objects(run("check", "--config", config, "--all", "--json", path, status=0))[0]
    equal((row["verdict"], row["fingerprint"], row["reason"]), ("allowed", a.fingerprint, "reason is here"), "JSON")
    # Another key is still listed; --filter takes the place of Filter, not of AllowKey.
    both = write(tmp / "both", f"{a.line}\n{b.line}\n")
    equal(len(run("check", "--config", config, both, status=1).lines), 1, "the other key")
    run("check", "--config", config, "--filter", empty, both, status=0)
    for status, text, words in ((0, f"Filter {empty}\nAllowKey {a.fingerprint}\n", ("--filter", bad)),
                                (1, f"Filter {empty}\nFilter {bad}\n", ()),
                                (1, f"Filter {bad}\nAllowKey {a.fingerprint} until=2000-01-01 too late\n", ()),
                                (0, f"Filter {bad}\nAllowKey {a.fingerprint} until=2999-01-01\n", ())):
        run("check", "--config", write(tmp / "conf2", text), *words, path, status=status)


@case("OnHit, OnError and OnUnsupported do not matter here")
def _(tmp):
    a = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", a)
    listed, unknown = write(tmp / "a", a.line), write(tmp / "u", sshkey.key_line(sshkey.build_plain("ssh-new", b"")))
    choices = itertools.product(("deny", "warn"), ("deny", "allow"), ("deny", "allow"))
    for hit, error, unsupported in choices:
        config = write(tmp / "conf", f"Filter {bad}\nOnHit {hit}\nOnError {error}\nOnUnsupported {unsupported}\n")
        run("check", "--config", config, listed, status=1)
        run("check", "--config", config, unknown, status=2)
        run("check", "--config", config, "--filter", tmp / "missing", listed, status=2)


@case("a bad configuration: status 2, with file, line and reason")
def _(tmp):
    path = write(tmp / "file", made()["ed25519"].line)
    for text, line in (("Nonsense yes\n", 1), ("# x\nOnHit maybe\n", 2), ("AllowKey MD5:00\n", 1),
                       (f"Filter {empty_filter()}\n\nFilter\n", 3), ('Filter "x\n', 1), ("\x1b[0m\n", 1)):
        config = write(tmp / "conf", text)
        result = run("check", "--config", config, path, status=2)
        equal(result.out, b"", text)
        assert any(re.match(rf"keyveto: {re.escape(str(config))}:{line}: .", message) for message in result.messages), \
            f"{text!r}: {result.messages}"
    for config in (tmp / "missing", tmp):
        contains(run("check", "--config", config, path, status=2).err.decode(), f"{config}: ")


@case("a filter that others may write is only warned of")
def _(tmp):
    a = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", a)
    path = write(tmp / "file", a.line)
    root = os.geteuid() == 0        # whoever else runs this owns the filter, and is warned of that
    if root:
        equal(check(path, filters=[bad], status=1).warnings, [], "warnings")
    bad.chmod(0o666)
    result = check(path, filters=[bad], status=1)
    equal(len(result.warnings), 1, "warnings")
    assert result.warnings[0].startswith(f"keyveto: warning: {bad if root else ''}"), result.warnings
    equal(len(result.lines), 1, "findings")
    open_folder = tmp / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    inside = listing(open_folder / "bad.pkbf", a)
    contains(check(path, filters=[inside], status=1).err.decode(), "keyveto: warning: ")
    (tmp / "link").symlink_to(bad)
    check(path, filters=[tmp / "link"], status=1)


@case("a filter that is missing or corrupt: status 2, file and reason, nothing checked")
def _(tmp):
    a = made()["ed25519"]
    good = listing(tmp / "good.pkbf", a)
    data = good.read_bytes()
    path = write(tmp / "file", a.line)
    broken = {"missing": None, "empty": b"", "short header": data[:23], "short": data[:-1], "long": data + b"\0",
              "no filter": b"x" * len(data), "another version": b"pkbfv2" + data[6:],
              "no hashes": data[:22] + b"\0" + data[23:],
              "p of 2": data[:23] + b"\2" + data[24:24], "p of 255": data[:23] + b"\xff" + data[24:],
              "header only": data[:24]}
    for title, content in broken.items():
        bad = tmp / "bad.pkbf"
        bad.unlink(missing_ok=True)
        if content is not None:
            write(bad, content)
        for filters in ([bad], [good, bad], [bad, good]):
            for words in ((), ("--json",), ("--quiet",)):
                result = check(*words, path, filters=filters, status=2)
                equal(result.out, b"", title)
                assert any(re.match(rf"keyveto: {re.escape(str(bad))}: .", message) for message in result.messages), \
                    f"{title}: {result.messages}"
        config = write(tmp / "conf", f"Filter {bad}\n")
        contains(run("check", "--config", config, path, status=2).err.decode(), f"keyveto: {bad}: ", "--filter")
    os.mkfifo(tmp / "fifo")
    for what in (tmp, tmp / "fifo", Path("/dev/null")):
        contains(check(path, filters=[what], status=2).err.decode(), f"keyveto: {what}: not a regular file")


# --- many threads ------------------------------------------------------------

def pem_blocks():
    """Blocks of text that hold one key each."""
    rsa, ed = made()["rsa"], made()["ed25519"]
    exported = [tool("ssh-keygen", "-e", "-m", form, "-f", key.public)
                for form, key in (("PKCS8", rsa), ("PEM", rsa), ("RFC4716", ed))]
    return exported + [ed.path.read_bytes()]


def ppk():
    """A PuTTY key file."""
    ed = made()["ed25519"]
    text = ed.base64
    return (f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: c\n"
            f"Public-Lines: 2\n{text[:64]}\n{text[64:]}\nPrivate-Lines: 1\nAAAA\nPrivate-MAC: 00\n").encode()


@functools.cache
def pieces():
    """Lines and blocks of every kind, to be mixed."""
    rnd = random.Random(7)
    rows = [key.line.encode() for key in every_key().values()] * 2
    rows += [sshkey.key_line(random_blob(rnd), comment=f"c{number}").encode() for number in range(300)]
    rows += [line.encode() for _, line, _, _ in accepted_lines()]
    rows += [line.encode() for _, line in refused_lines()]
    rows += [certificate(made()["ed25519"], made()["rsa"]).read_bytes().rstrip(b"\n")] * 3
    rows += [b"# a comment", b"", b"@revoked * x", b"1024 35 12345", b"\x1b\xff\0\x80"] * 3
    return [row + b"\n" for row in rows], pem_blocks()


def mixed_text(rnd, size):
    """So many bytes, or some more, of lines and blocks in any order."""
    lines, blocks = pieces()
    parts, have = [], 0
    while have < size:
        part = rnd.choice(lines) if rnd.randrange(400) else rnd.choice(blocks)
        parts.append(part)
        have += len(part)
    return b"".join(parts)


@functools.cache
def sixty_megabytes():
    """A file of 60 MB, and the totals that must come out: ordinary keys, some listed, every kind of problem, PEM in the
    middle, a line over 1 MiB, no newline at the end."""
    rnd = random.Random(8)
    path = folder() / "sixty"
    plain = b"".join(ed25519_line(rnd.randbytes(32), f"c{number}").encode() + b"\n" for number in range(30000))
    # Each kind of block at least once, whatever is drawn.
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


@case("--jobs 1, 2 and 4: the same output byte for byte, and the same totals, on 60 MB of everything")
def _(tmp):
    path = sixty_megabytes()
    bad = listing(tmp / "bad.pkbf", *(made()[name] for name in ("rsa", "ed25519", "p521")))
    results = {jobs: check("--jobs", jobs, path, filters=[bad], status=1) for jobs in (1, 2, 4)}
    text = path.read_bytes()
    counts = results[1].summary
    assert counts["keys"] > 500_000 and counts["listed"] > 500 and counts["problems"] > 1000, f"{counts}"
    # Of the PEM blocks, and of all lines, the last: the count of lines is right to the end.
    seen = [found.line for found in findings(results[1], path)]
    equal(seen[-1], text.count(b"\n") + 1, "the last line")
    for begin in (b"\n-----BEGIN PUBLIC KEY", b"\n---- BEGIN SSH2 PUBLIC KEY", b"\n-----BEGIN OPENSSH PRIVATE"):
        place = text.rindex(begin)
        number = text.count(b"\n", 0, place) + 2
        assert number in seen, f"{begin} in line {number} was not seen"
    for jobs in (2, 4):
        assert results[jobs].out == results[1].out, f"--jobs {jobs}: other findings"
        equal(results[jobs].summary, counts, f"--jobs {jobs}: totals")
        assert results[jobs].err == results[1].err, f"--jobs {jobs}: other messages"


@case("--jobs 1, 2 and 4: the same with --all, as JSON, and from a pipe")
def _(tmp):
    rnd = random.Random(9)
    data = b"".join(mixed_text(rnd, 100_000) for _ in range(50))
    path = write(tmp / "file", data)
    for words in (("--all",), ("--all", "--json")):
        wanted = check(*words, path)
        for jobs in (2, 4):
            same = check(*words, "--jobs", jobs, path)
            assert (same.out, same.err) == (wanted.out, wanted.err), f"{words} --jobs {jobs}: another output"
        for jobs in (1, 2, 4):
            piped = check(*words, "--jobs", jobs, stdin=data)
            equal(piped.out.count(b"\n"), wanted.out.count(b"\n"), f"pipe, --jobs {jobs}: lines")
            equal(piped.summary, wanted.summary, f"pipe, --jobs {jobs}: totals")


@case("--jobs: many files and directories come out in their order")
def _(tmp):
    rnd = random.Random(10)
    for number in range(300):
        write(tmp / "d" / f"{number % 7}" / f"{number}", mixed_text(rnd, rnd.choice((100, 3000, 30000))))
    for number in range(4):
        write(tmp / f"large{number}", mixed_text(rnd, 2 * MIB))
    paths = [tmp / "large0", tmp / "d", tmp / "large1", tmp / "missing", tmp / "large2", tmp / "large3"]
    wanted = check("--all", *paths)
    for jobs in (2, 3, 7):
        same = check("--all", "--jobs", jobs, *paths)
        assert same.out == wanted.out, f"--jobs {jobs}: another output"
        equal(same.summary, wanted.summary, f"--jobs {jobs}: totals")


def test_borders(kind, tmp):
    """A key at every place around the border of what is read at once."""
    ed = made()["ed25519"]
    data = {"line": ed.line.encode() + b"\n", "PEM": pem_blocks()[0], "OpenSSH": pem_blocks()[3], "PuTTY": ppk()}[kind]
    size = len(data)
    places = sorted({0, 1, 2, size - 2, size - 1, size, size + 1, *range(0, size + 5, max(1, size // 12))})
    fingerprint = made()["rsa"].fingerprint if kind == "PEM" else ed.fingerprint
    pad = b"# " + b"." * 97 + b"\n"
    for place in places:
        before = pad * ((MIB - place) // len(pad))
        before += b"#" * (MIB - place - len(before) - 1) + b"\n" if len(before) < MIB - place else b""
        equal(len(before), MIB - place, "length")
        path = write(tmp / "file", before, data, pad * 12000)
        for jobs in (1, 2):
            found, wrong = check_all(path, "--jobs", jobs)
            where = f"{place} bytes before the border, --jobs {jobs}"
            equal(wrong, [], f"problems, {where}")
            equal([(one.line, one.fingerprint) for one in found], [(before.count(b"\n") + 1, fingerprint)], where)


for _kind in ("line", "PEM", "OpenSSH", "PuTTY"):
    case(f"a key across the border of two blocks is found: {_kind}")(functools.partial(test_borders, _kind))


# --- progress ----------------------------------------------------------------

@functools.cache
def twenty_megabytes():
    """The first part of that, which is enough to see a bar."""
    with open(sixty_megabytes(), "rb") as file:
        return write(folder() / "twenty", file.read(20_000_000))


class Screen:
    """A terminal of one line: what is on it, and what has scrolled off."""

    def __init__(self):
        self.above, self.line, self.column, self.bars = [], "", 0, []

    def feed(self, text):
        for token in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|[\s\S]", text):
            if token == "\r":
                if self.line.startswith("checking"):
                    self.bars.append(self.line)
                self.column = 0
            elif token == "\n":
                self.above.append(self.line)
                self.line, self.column = "", 0
            elif token == "\x1b[K":
                self.line = self.line[:self.column]
            else:
                assert token[0] != "\x1b", f"odd control sequence {token!r}"
                self.line = self.line[:self.column] + token + self.line[self.column + 1:]
                self.column += 1


def on_terminal(argv, stdout_too, feed=None):
    """What a program leaves on a terminal that is its standard error: (Screen, what else it prints, status)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, b"\x18\0\x50\0\0\0\0\0")
    with started(argv, stdin=subprocess.PIPE if feed else subprocess.DEVNULL,
                 stdout=slave if stdout_too else subprocess.PIPE, stderr=slave) as process:
        os.close(slave)
        if feed:
            threading.Thread(target=feed, args=(process.stdin,), daemon=True).start()
        other = []
        if not stdout_too:
            drain = threading.Thread(target=lambda: other.append(process.stdout.read()), daemon=True)
            drain.start()
        data = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:         # that is how a terminal says that nobody has it open any more
                break
            if not more:
                break
            data += more
        process.wait(PATIENCE)
        if not stdout_too:
            drain.join(PATIENCE)
    os.close(master)
    screen = Screen()
    screen.feed(data.decode("ascii").replace("\r\n", "\n"))
    equal(screen.line, "", "left on the last line")
    return screen, b"".join(other), process.returncode


BAR = re.compile(r"checking \d+\.\d MiB( of \d+\.\d MiB +\d+%)? \d+\.\d MiB/s( \d+:\d\d left)?")


@case("progress on a terminal: a bar with rate and time left, and findings not glued to it")
def _(tmp):
    path = twenty_megabytes()
    bad = listing(tmp / "bad.pkbf", made()["ed25519"])
    wanted = check(path, filters=[bad], status=1)
    messages = wanted.warnings + wanted.messages
    for jobs in (1, 2):
        argv = [KEYVETO, "check", "--jobs", jobs, "--filter", bad, path]
        for together in (True, False):
            screen, out, status = on_terminal(argv, together)
            equal(status, 1, "status")
            if together:
                assert sorted(screen.above) == sorted(wanted.lines + messages), "other lines are on the terminal"
            else:
                equal(screen.above, messages, "messages")
                assert out == wanted.out, "other findings"
            assert screen.bars, "no bar"
            for bar in screen.bars:
                assert BAR.fullmatch(bar) and len(bar) < 80, f"odd bar {bar!r}"
            assert any(" of " in bar and bar.endswith(" left") for bar in screen.bars), f"no time left: {screen.bars}"
            shares = [int(re.search(r"(\d+)%", bar)[1]) for bar in screen.bars if "%" in bar]
            assert shares == sorted(shares) and shares[-1] <= 100, f"shares {shares}"


@case("progress of a stream has a rate and no time left")
def _(tmp):
    data = sixty_megabytes().read_bytes()[:8_000_000]

    def feed(stdin):
        for place in range(0, len(data), 400_000):
            stdin.write(data[place:place + 400_000])
            stdin.flush()
            time.sleep(0.03)
        stdin.close()

    screen, _, _ = on_terminal([KEYVETO, "check", "--filter", empty_filter()], False, feed)
    assert len(screen.bars) > 2, f"bars {screen.bars}"
    for bar in screen.bars:
        assert BAR.fullmatch(bar) and "left" not in bar and "of" not in bar, f"odd bar {bar!r}"


@case("no progress in a pipe, and none with --quiet")
def _(tmp):
    path = twenty_megabytes()
    result = check(path)
    lacks(result.err.decode(), "MiB", "\r")
    screen, out, _ = on_terminal([KEYVETO, "check", "--quiet", "--filter", empty_filter(), path], False)
    equal((screen.bars, out), ([], b""), "with --quiet")
    # Standard output on a terminal, messages in a pipe: no bar either.
    master, slave = pty.openpty()
    done = subprocess.run([KEYVETO, "check", "--filter", empty_filter(), path], stdin=subprocess.DEVNULL, stdout=slave,
                          stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    os.close(slave)
    os.close(master)
    nothing_raw(done.stderr)


# --- a gigabyte --------------------------------------------------------------

GIGABYTE = 1 << 30
# AddressSanitizer takes its own.
FACTOR = 8 if b"__asan_init" in KEYVETO.read_bytes() else 1
MEMORY = FACTOR * 64 << 10      # KiB
SECONDS = FACTOR * 25


def large_stream(parts, *words, filters):
    """Feeds keyveto with parts: its findings, and how much memory and time it took.

    The time is that of the processor, since others may want it, too.
    """
    argv = [KEYVETO, "check", *(word for path in filters for word in ("--filter", path)), *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with started(argv, stdin=subprocess.PIPE, stdout=out, stderr=err) as process:
            fcntl.fcntl(process.stdin, fcntl.F_SETPIPE_SZ, MIB)
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[os.write(process.stdin.fileno(), view):]
            # A megabyte fits into the pipe while it has yet to begin.
            wait_until_read(process.stdin)
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            process.stdin.close()
            _, code, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(code)
        peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
        out.seek(0), err.seek(0)
        seconds = usage.ru_utime + usage.ru_stime
        assert peak < MEMORY, f"{peak} KiB of memory"
        assert seconds < SECONDS, f"{seconds} s"
        return process.returncode, out.read().decode(), err.read().decode()


@case("1 GB of keys through a pipe, in bounded memory and time")
def _(tmp):
    rnd = random.Random(11)
    last = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", last)
    lines = [sshkey.key_line(random_blob(rnd), comment=f"c{number}") for number in range(200)]
    lines += [ed25519_line(rnd.randbytes(32), f"c{number}") for number in range(5000)]
    numbers = [rnd.getrandbits(2048) | 1 << 2047 for _ in range(3000)]
    lines += [sshkey.key_line(sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(65537, n))) for n in numbers]
    rnd.shuffle(lines)
    chunk = "".join(f"{line}\n" for line in lines).encode()
    times = GIGABYTE // len(chunk) + 1
    clean = times * len(lines)
    parts = itertools.chain(itertools.repeat(chunk, times), [last.line.encode()])
    status, out, err = large_stream(parts, filters=[bad])
    equal(status, 1, err)
    equal(out, f"-:{clean + 1}: listed: {last.type} {last.bits} {last.fingerprint} {last.comment} [{bad}]\n", "finding")
    contains(err, f"keyveto: {clean + 1} keys in 1 file: 1 listed, {clean} clean\n")


@case("a line of 1 GB, in bounded memory and time, and what follows it is read")
def _(tmp):
    last = made()["ed25519"]
    bad = listing(tmp / "bad.pkbf", last)
    chunk = b"ssh-ed25519 AAAA" * (MIB // 4)
    line = last.line.encode()
    parts = itertools.chain([line, b"\n"], itertools.repeat(chunk, GIGABYTE // len(chunk)), [b"\n", line])
    status, out, err = large_stream(parts, filters=[bad])
    equal(status, 1, err)
    equal([line.split(": ")[0] for line in out.splitlines()], ["-:1", "-:3"], "findings")
    contains(err, "keyveto: -:2: line too long\n", "2 listed, 0 clean, 1 problem\n")


@case("nothing but problems: bounded memory")
def _(tmp):
    for words in ((), ("--json",), ("--json", "--jobs", "2")):
        large_stream([b"y\n" * (MIB // 2)], *words, filters=[empty_filter()])


@case("several threads, PEM without end, blank lines: bounded memory")
def _(tmp):
    plain = b"".join(ed25519_line(bytes([n % 256, n // 256] * 16)).encode() + b"\n" for n in range(10000))
    bad = [empty_filter()]
    large_stream(itertools.repeat(plain, 100), "--jobs", "4", filters=bad)
    large_stream(itertools.repeat(b"\n" * MIB, 20), filters=bad)
    endless = itertools.repeat((b"A" * 64 + b"\n") * 10_000, 50)
    large_stream(itertools.chain([b"-----BEGIN PUBLIC KEY-----\n"], endless), filters=bad)


# --- anything that ssh-keygen accepts ----------------------------------------

INTERESTING = [b" ", b"\t", b'"', b"\\", b'\\"', b"\r", b"\v", b"\f", b"\0", b"=", b",", b"#", b"@", b"A", b"/", b"+",
               b"-", b"1", b"  ", b"\xff", b"\xc3\xa9", b"ssh-rsa ", b"no-pty ", b'command="a b" ', b'"a b"',
               b"host,* "]
TOKENS = [b"ssh-rsa", b"rsa-sha2-256", b"rsa-sha2-512", b"ssh-ed25519", b"ecdsa-sha2-nistp256", b"ssh-dss", b"SSH-RSA",
          b"ssh-rsa-cert-v01@openssh.com"]


def mutate(rnd, line):
    """A line with one to four small changes, mostly where they may do no harm."""
    for _ in range(rnd.choice((1, 1, 1, 2, 2, 3, 4))):
        words = line.split(b" ")
        start = len(line) - len(line.lstrip(b" \t"))
        ends = [0, start, len(line), line.find(b" "), line.rfind(b" ")]
        place = rnd.choice((*(end for end in ends if end >= 0), rnd.randrange(len(line) + 1)))
        kind = rnd.randrange(9)
        if kind < 4:
            line = line[:place] + rnd.choice(INTERESTING) + line[place:]
        elif kind == 4:
            line = line[:place] + line[place + 1:]
        elif kind == 5:
            line = line[:place] + bytes([rnd.randrange(256)]) + line[place + 1:]
        elif kind == 6:
            words[rnd.randrange(len(words))] = rnd.choice(TOKENS)
            line = b" ".join(words)
        elif kind == 7:
            line = line[:place] + line[rnd.randrange(len(line) + 1):] if rnd.randrange(3) == 0 else line + b" " + line
        else:
            line = rnd.choice(INTERESTING).strip(b" ") + b" " + line
    return line.replace(b"\n", b"")


# Where keyveto and ssh-keygen -l differ, and are meant to:
# - ssh-keygen knows no markers: "@revoked KEY" is a key with options for it, "@revoked HOST KEY" is none.
# - after options ssh-keygen expects no more than one blank.
# - after a number ssh-keygen expects an SSH-1 key, and gives up: "1 ssh-rsa AAAA..." is none. sshd takes the number for
#   options, and so does keyveto.
# - ssh-keygen refuses RSA keys below 1024 bits, points that are not on their curve, and certificates whose signature is
#   wrong. For keyveto a leaked key is a leaked key.
# - ssh-keygen 9.2 has neither Ed448 nor ML-DSA-44 with Ed25519.
# - a type's name as host name, "ssh-rsa ssh-ed25519 AAAA...", is a broken RSA key for keyveto; ssh-keygen reads on.
#   sshd refuses it: there is no such option.
def only_ssh_keygen_reads(line):
    text = line.lstrip(b" \t")
    if b"\r" in line and not keygen_reads_cr():
        return True
    return sshkey.type_of_token(re.split(rb"[ \t]", text)[0].decode("latin-1")) is not None


def only_keyveto_reads(line, key):
    text = line.lstrip(b" \t")
    if b"\r" in line and not keygen_reads_cr():
        return True
    return (text.startswith(b"@") or TWO_BLANKS.search(text) or re.match(rb"[ \t\v\f\r+-]*[0-9]+[ \t]", line) or
            key is None or key.ca is not None or
            key.type.startswith(("ecdsa-", "sk-ecdsa-", "ssh-ed448", "ssh-mldsa")) or
            (key.type == "ssh-rsa" and len(key.blob) < 150))


@case("500 mutated lines: what ssh-keygen -l accepts, check --all shows with the same fingerprint")
def _(tmp):
    seed = int(os.environ.get("SEED", "1"))     # the keys differ in any case
    rnd = random.Random(seed)
    bases = [key.line.encode() for key in every_key().values()]
    bases += [line.encode() for _, line, _, _ in accepted_lines()]
    bases += [certificate(made()[name], made()["other"]).read_bytes().rstrip(b"\n")
              for name in ("rsa", "ed25519", "p256")]
    bases += [b"host " + made()["p384"].line.encode(), b'from="x" ' + made()["rsa"].line.encode()]
    lines = [mutate(rnd, rnd.choice(bases)) for _ in range(500)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        seen = list(pool.map(ssh_keygen_reads, lines))
    path = write(tmp / "file", b"".join(line + b"\n" for line in lines))
    rows = objects(check("--json", "--all", path))
    shown = {row["line"]: row for row in rows if row["part"] == "key"}
    spoken_of = {row["line"] for row in rows}
    accepted = 0
    for number, (line, wanted) in enumerate(zip(lines, seen), 1):
        row, key = shown.get(number), oracle_reads(line)
        where = f"SEED={seed}: line {line!r}: ssh-keygen {wanted}, keyveto {row}"
        if row is None and wanted is not None:
            assert only_ssh_keygen_reads(line) and number in spoken_of, where
        elif wanted is not None:
            accepted += 1
            equal((row["bits"], row["fingerprint"]), wanted, where)
        if row is not None and wanted is None:
            assert only_keyveto_reads(line, key), where
        if row is not None and not line.lstrip(b" \t").startswith(b"@"):
            assert key is not None and key.fingerprint == row["fingerprint"], f"{where}, oracle {key}"
            equal(row["spki_sha256"], Key("", key.blob).spki_sha256[0], where)
    assert accepted > 100, f"SEED={seed}: only {accepted} lines were accepted"


if __name__ == "__main__":
    # A line on standard output for each case, also when one takes long.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(run_all())
