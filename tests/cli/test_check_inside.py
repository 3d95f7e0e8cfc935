# SPDX-License-Identifier: ISC
"""keyveto check: keys inside JSON, YAML, Terraform, base64, UTF-16, gzip, xz and binary data."""

import base64
import bz2
import gzip
import io
import json
import lzma
import random
import re
import resource
import subprocess
import tarfile
import textwrap
import zipfile

import pytest
import sshkey
from check_runs import check, objects
from pem_keys import openssh_pem, pem, ppk, ssh2
from program import ADDRESS_SANITIZER, equal
from runs import findings, problems, tool
from samples import MIB, certificate, every_key, listing, made, random_blob, write

# --- the forms: each embeds the lines of some keys in a text, as another program would write it ---


def indented(text, blanks):
    return textwrap.indent(text, " " * blanks)


def b64(text):
    return base64.b64encode(text.encode()).decode()


def every_letter(text):
    """A JSON string in which every letter is an escape."""
    return '"' + "".join(f"\\u{ord(char):04{'x' if ord(char) % 2 else 'X'}}" for char in text) + '"'


def as_json(rnd, lines):
    rows = [{"id": number, "key": line, "verified": True} for number, line in enumerate(lines)]
    text = json.dumps(rows, indent=rnd.choice((None, 2, "\t")))
    if rnd.randrange(2):
        text = text.replace("/", "\\/")
    if rnd.randrange(2):
        text = text.replace("+", rnd.choice(("\\u002b", "\\u002B"))).replace("=", "\\u003d")
    return text


def as_json_lines(rnd, lines):
    """All keys in one string, with line ends."""
    return json.dumps({"content": rnd.choice(("\n", "\r\n")).join(lines) + "\n", "path": "/root/.ssh/authorized_keys"})


def as_yaml_list(rnd, lines):
    quote = rnd.choice(("", "'", '"'))
    return "#cloud-config\nusers:\n  - name: x\n    ssh_authorized_keys:\n" + "".join(
        f"      - {quote}{line}{quote}\n" for line in lines) + "runcmd: [ls]\n"


def as_yaml_flow(rnd, lines):
    quote = rnd.choice(("", "'", '"'))
    return "keys: [" + ", ".join(f"{quote}{line}{quote}" for line in lines) + "]\n"


def as_yaml_block(rnd, lines):
    sign = rnd.choice(("|", "|-", ">"))
    block = indented("\n".join(lines), rnd.choice((2, 4, 9)))
    return f"write_files:\n- path: /x\n  content: {sign}\n{block}\nend: 1\n"


def as_html(_rnd, lines):
    return "<pre>" + "<br/>".join(line.replace("+", "&#43;").replace("/", "&#x2F;").replace("=", "&#61;")
                                  for line in lines) + "</pre>"


def as_url(_rnd, lines):
    codes = {"+": "%2B", "/": "%2F", "=": "%3D", " ": "%20"}
    return "&".join(f"key{number}=" + "".join(codes.get(char, char) for char in line)
                    for number, line in enumerate(lines))


def as_binary(rnd, lines):
    """Rows of a database: numbers, then the text of the columns, one after the other."""
    out = [b"SQLite format 3\0", rnd.randbytes(100)]
    for line in lines:
        word = line.split()
        out += [bytes([rnd.randrange(32)]), b"\0\1", f"{word[0]} {word[1]}\0laptop\0".encode(), rnd.randbytes(200)]
    return b"".join(out)


TEXTS = {
    "as_json": as_json,
    "as_escaped_json": lambda _, lines: '{"keys":[' + ",".join(map(every_letter, lines)) + "]}",
    "as_json_in_json": lambda rnd, lines: json.dumps({"user_data": as_json(rnd, lines), "more": None}),
    "as_json_lines": as_json_lines,
    "as_yaml_list": as_yaml_list,
    "as_yaml_flow": as_yaml_flow,
    "as_yaml_row": lambda _, lines: "keys: " + ", ".join(lines) + "\n",
    "as_yaml_block": as_yaml_block,
    # As PyYAML folds a long line: at the blanks.
    "as_yaml_folded": lambda _, lines: "keys:\n" + "".join(
        f"- {line.replace(' ', chr(10) + '  ')}\n" for line in lines),
    "as_terraform": lambda _, lines: "".join(f'resource "x" "k{number}" {{\n  public_key = "{line}"\n}}\n'
                                             for number, line in enumerate(lines)),
    "as_heredoc": lambda rnd, lines: f"keys = {rnd.choice(('<<EOT', '<<-EOT'))}\n" + "\n".join(lines) + "\nEOT\n",
    "as_csv": lambda _, lines: "name,key\n" + "".join(f'user{n},"{line}"\n' for n, line in enumerate(lines)),
    "as_shell": lambda _, lines: "#!/bin/sh\nset -eu\n" + "".join(
        f"echo '{line}' >>~/.ssh/authorized_keys; " for line in lines) + "\n",
    "as_puppet": lambda _, lines: "".join(
        "ssh_authorized_key {{ 'x':\n  type => '{0}',\n  key  => '{1}',\n}}\n".format(*line.split()[:2])
        for line in lines),
    "as_c": lambda _, lines: "#include <stdio.h>\n" + "".join(
        (f'#define KEY{number} "{line}"\n' if number % 2 else f'static const char *key{number} = "{line}\\n";\n')
        for number, line in enumerate(lines)),
    "as_html": as_html,
    "as_url": as_url,
    "as_signed": lambda _, lines: "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\n" + "\n".join(lines) + (
        "\n-----BEGIN PGP SIGNATURE-----\n\niQ==\n=abcd\n-----END PGP SIGNATURE-----\n"),
    "as_binary": as_binary,
    "as_text": lambda _, lines: "\n".join(lines) + "\n",
}


def as_utf16(rnd, text):
    code, mark = rnd.choice((("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")))
    return (mark if rnd.randrange(3) else b"") + text.decode("latin-1").encode(code)


def members(rnd, data):
    """gzip of several members, as cat a.gz b.gz makes it, with zeros behind."""
    at = rnd.randrange(len(data))
    return gzip.compress(data[:at]) + gzip.compress(data[at:]) + bytes(rnd.choice((0, 1, 512)))


def packed(rnd, data):
    """data in none to three of the forms that are unpacked."""
    if rnd.randrange(4) == 0 and all(byte < 128 for byte in data):
        data = as_utf16(rnd, data)
    for _ in range(rnd.choice((0, 0, 1, 1, 2))):
        pack = rnd.choice((gzip.compress, lzma.compress, lambda data: members(rnd, data)))
        data = pack(data)
    return data


def some_keys(rnd, count):
    """Keys of every type: those of ssh-keygen, and random ones."""
    keys = list(every_key().values())
    out = []
    for _ in range(count):
        if rnd.randrange(2):
            key = rnd.choice(keys)
            out.append((key.fingerprint, key.line))
        else:
            blob = random_blob(rnd)
            out.append((sshkey.fingerprint(blob), sshkey.key_line(blob, comment=rnd.choice(("", "a@b", "Ann B")))))
    return out


def fingerprints(result):
    return re.findall(r"SHA256:\S{43}", result.out.decode())


def finds(path, *keys):
    """check finds these keys, in any order, in a file that is named, and in its folder."""
    for words in (path, path.parent):
        equal(sorted(fingerprints(check("--all", words, status=0))), sorted(key.fingerprint for key in keys),
              path.read_bytes())


@pytest.mark.sample(6)
@pytest.mark.parametrize("form", TEXTS)
def test_keys_inside_other_texts_are_found(form, scratch):
    """In the text as it is, as UTF-16 and packed; in a file that is named, in a directory, and from a pipe."""
    rnd = random.Random(form)
    for number in range(12):
        keys = some_keys(rnd, rnd.choice((1, 2, 3, 5)))
        text = TEXTS[form](rnd, [line for _, line in keys])
        data = packed(rnd, text if isinstance(text, bytes) else text.encode())
        path = write(scratch / f"d{number}" / "file", data)
        wanted = [fingerprint for fingerprint, _ in keys]
        for result in (check("--all", path), check("--all", path.parent),
                       check("--all", "-", stdin=data)):
            where = f"{number}: {data[:3000]!r}: {result.err}"
            # A file may hold a key twice in a packed form, never less often.
            equal(sorted(fingerprints(result)), sorted(wanted), where)
            equal(result.status, 0, where)


@pytest.mark.long
def test_damaged_packed_and_nested_texts_never_pass_in_silence(scratch):
    """400 files with keys, changed at random: what is not found is a problem, or the key is gone."""
    for seed in range(400):
        rnd = random.Random(seed)
        keys = some_keys(rnd, rnd.choice((1, 2)))
        form = rnd.choice(list(TEXTS))
        text = TEXTS[form](rnd, [line for _, line in keys])
        data = bytearray(packed(rnd, text if isinstance(text, bytes) else text.encode()))
        is_packed = data[:2] in (b"\x1f\x8b", b"\xfd7")
        if is_packed:
            # One bit, or the end, of packed data.
            if rnd.randrange(2):
                data[rnd.randrange(12, len(data))] ^= 1 << rnd.randrange(8)
            else:
                del data[rnd.randrange(12, len(data)):]
        write(scratch / "d" / "file", bytes(data))
        result = check("--all", scratch / "d")
        found = set(fingerprints(result))
        if {fingerprint for fingerprint, _ in keys} - found:
            equal(result.status, 2, f"seed {seed}, {form}: found {found}, {result.err}")


# --- private keys and certificates ---

def blocks():
    """(a PEM block or the like, the fingerprint of its key)"""
    rsa, ed = made()["rsa"], made()["ed25519"]
    spki = rsa.oracle.spkis[0]
    yield pem("PUBLIC KEY", spki), rsa.fingerprint
    yield openssh_pem(ed.blob), ed.fingerprint
    yield rsa.path.read_text(), rsa.fingerprint
    yield ssh2(ed.blob), ed.fingerprint
    yield ppk(ed.blob), ed.fingerprint


def places(block):
    """(title, text) of files that hold the block."""
    if "PuTTY" not in block:
        yield "JSON", json.dumps({"a": 1, "private_key": block})
        yield "JSON with line ends of Windows", json.dumps({"private_key": block.replace("\n", "\r\n")}, indent=1)
        yield "JSON in JSON", json.dumps({"x": json.dumps({"private_key": block})})
    yield "YAML", "key: |\n" + indented(block, 4) + "other: x\n"
    yield "shell", f"cat >key <<'EOF'\n{block}EOF\n"
    yield "words", f"some words\n{block}and others\n"
    if "-----BEGIN" in block:
        yield "one line", "KEY=" + block.replace("\n", " ") + "\n"
        yield "a string that begins with an escape", "x = `\\n" + block.replace("\n", "\\n") + "`;\n"


def test_pem_inside_other_texts_is_found(scratch):
    for block, fingerprint in blocks():
        for title, text in places(block):
            path = write(scratch / "d" / "file", text)
            for words in ([path], [path.parent]):
                result = check("--all", *words)
                equal((fingerprints(result), result.status), ([fingerprint], 0), f"{title}: {text}: {result.err}")


def test_text_before_and_behind_pem_is_no_problem(scratch):
    rsa = made()["rsa"]
    command = ["openssl", "req", "-x509", "-key", str(rsa.path), "-subj", "/CN=x", "-days", "9", "-text"]
    key = scratch / "key"
    write(key, rsa.path.read_bytes()).chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "", "-m", "PEM", "-f", str(key)], check=True, capture_output=True)
    command[4] = str(key)
    text = subprocess.run(command, check=True, capture_output=True).stdout
    for data in (text, text + text, b"subject=x\n\n" + text + b"\nBag Attributes\n  friendlyName: y\n"):
        result = check("--all", write(scratch / "file", data), status=0)
        equal(set(fingerprints(result)), {rsa.fingerprint}, result.err)


FOREIGN = ("PGP PUBLIC KEY BLOCK", "PGP PRIVATE KEY BLOCK", "PGP MESSAGE", "PGP SIGNATURE", "SSH SIGNATURE", "PKCS7",
           "CMS", "PKCS #7 SIGNED DATA", "X509 CRL", "EC PARAMETERS", "DH PARAMETERS", "AGE ENCRYPTED FILE")


def test_pem_blocks_of_other_programs_are_no_problems(scratch):
    ed = made()["ed25519"]
    for label in FOREIGN:
        body = "Version: GnuPG v2\n\n" if label.startswith("PGP") else ""
        block = pem(label, bytes(range(200)), body).replace("-----END", "=aBcD\n-----END" if body else "-----END")
        for data, keys in ((block, 0), (block + ed.line + "\n", 1), (ed.line + "\n" + block, 1),
                           (block.split("-----END", maxsplit=1)[0], 0)):
            path = write(scratch / "d" / "file", data)
            for words in ([path], [path.parent]):
                result = check("--all", *words, status=0)
                equal(len(result.lines), keys, f"{label}: {data}")
        # A key inside such a block is not hidden by it, nor told twice.
        for row in (json.dumps({"k": ed.line}), ed.line):
            hidden = write(scratch / "d" / "file", f"-----BEGIN {label}-----\n", row, f"\n-----END {label}-----\n")
            equal(fingerprints(check("--all", hidden, status=0)), [ed.fingerprint], label)


def test_keys_behind_other_blocks_in_a_block_of_another_program_are_found_once(scratch):
    """A BEGIN line and whole blocks inside the block hide nothing, and nothing is found again for each of them."""
    keys = made()["ed25519"], made()["rsa"]
    inner = "x -----BEGIN CMS-----AAAA-----END CMS-----\n"
    for between in ('a: "-----BEGIN PUBLIC KEY-----"\n', inner, inner * 3):
        rows = [json.dumps({"k": key.line}) + "\n" for key in keys]
        path = write(scratch / "file", "-----BEGIN PGP MESSAGE-----\n", rows[0], between, rows[1], between,
                     "-----END PGP MESSAGE-----\n")
        assert fingerprints(check("--all", path, status=0)) == [key.fingerprint for key in keys], between


@pytest.mark.long
def test_a_block_of_another_program_without_an_end_hides_no_key(scratch):
    """Up to the next BEGIN line, to the end of the file, or to a long line."""
    ed, rsa, other = (made()[name] for name in ("ed25519", "rsa-3072", "other"))

    def rows(key):
        yield f'key: "{key.line}"\n'
        yield f"{key.line}\n"
        yield json.dumps({"k": key.line}) + "\n"
        yield json.dumps({"k": openssh_pem(key.blob)}) + "\n"

    for label in FOREIGN:
        begin = f"-----BEGIN {label}-----\n"
        for row, another in zip(rows(ed), rows(other)):
            for text, more in ((begin + "a: b\n" + row, []), (begin + row + begin + another, [other]),
                               (begin + row + pem("PUBLIC KEY", rsa.oracle.published[0]), [rsa]),
                               (f"{rsa.line}\n{begin}key: '{ed.line}'\n", [rsa])):
                finds(write(scratch / "d" / "file", text), ed, *more)
    # What is in a line that is too long, nobody knows.
    for text, status in ((f"-----BEGIN CMS-----\nx: {ed.line}\n" + "x" * (2 * MIB) + "\n", 2),
                         ("-----BEGIN CMS-----\n" + f"{'x' * 1000}\n" * 1048 + f"x: {ed.line}\n" + "y\n" * 100, 0)):
        path = write(scratch / "d" / "file", text)
        equal(fingerprints(check("--all", path.parent, status=status)), [ed.fingerprint], "long")


def test_a_block_of_another_program_on_one_line_hides_no_key(scratch):
    ed, other = made()["ed25519"], made()["other"]
    for label in FOREIGN:
        for text in (ed.line, f"cut\n{openssh_pem(ed.blob)}-----BEGIN {label}-----\nAAAA"):
            block = f"x -----BEGIN {label}-----\nfoo\n{text}\n-----END {label}-----\n"
            path = write(scratch / "d" / "file", json.dumps({"d": block, "k": other.line}) + "\n")
            for words in (path, path.parent):
                equal(fingerprints(check("--all", words, status=0)), [ed.fingerprint, other.fingerprint], block)
        path = write(scratch / "d" / "file", json.dumps({"d": pem(label, bytes(range(200))), "k": other.line}) + "\n")
        equal(fingerprints(check("--all", path.parent, status=0)), [other.fingerprint], label)


def test_a_signature_of_ssh_keygen_is_no_problem(scratch):
    key = scratch / "key"
    write(key, made()["ed25519"].path.read_bytes()).chmod(0o600)
    write(scratch / "d" / "text", "hello\n")
    tool("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", "file", scratch / "d" / "text")
    check("--all", scratch / "d", status=0)
    check("--all", scratch / "d" / "text.sig", status=0)


# --- what a finding says ---

def test_findings_name_the_line_in_the_text(scratch):
    ed, rsa = made()["ed25519"], made()["rsa"]
    text = json.dumps([{"id": 1, "key": ed.line}, {"id": 2, "key": rsa.line}], indent=1)
    rows = text.split("\n")
    wanted = [number for number, row in enumerate(rows, 1) if "AAAA" in row]
    for data in (text.encode(), gzip.compress(text.encode()), lzma.compress(text.encode()), text.encode("utf-16")):
        path = write(scratch / "file", data)
        bad = listing(scratch / "bad.pkbf", rsa)
        result = check(path, filters=[bad], status=1)
        finding = f"{path}:{wanted[1]}: listed: ssh-rsa 2048 {rsa.fingerprint} {rsa.comment} [{bad}]"
        equal(result.lines, [finding], "line")
        equal([one.line for one in findings(check("--all", path, status=0), path)], wanted, "lines")


def test_a_certificate_inside_json_is_two_keys(scratch):
    line = certificate(made()["ed25519"], made()["rsa"]).read_text().rstrip("\n")
    rows = objects(check("--all", "--json", write(scratch / "file", json.dumps({"cert": line})), status=0))
    equal([(row["fingerprint"], row["part"]) for row in rows],
          [(made()["ed25519"].fingerprint, "key"), (made()["rsa"].fingerprint, "ca")], "parts")


def test_an_unknown_type_inside_json_is_told(scratch):
    line = sshkey.key_line(sshkey.build_plain("ssh-new", b"\0\0\0\4abcd" * 8))
    result = check(write(scratch / "file", json.dumps({"key": line})), status=2)
    equal(problems(result, scratch / "file"), [(1, "unknown key type ssh-new")], "problem")


def test_damaged_keys_inside_json_are_problems(scratch):
    ed, rsa = made()["ed25519"], made()["rsa"]
    for line in (ed.plain[:-2], rsa.plain[:200], f"ssh-rsa {ed.base64}", rsa.plain[:300]):
        for name in ("file", "d/file"):
            path = write(scratch / name, json.dumps({"key": line}))
            result = check("--all", path if name == "file" else path.parent, status=2)
            equal((result.out, [number for number, _ in problems(result, path)]), (b"", [1]), line)


# --- comments ---

def test_a_key_in_a_comment_is_passed_over_as_sshd_does(scratch):
    ed, rsa, other = made()["ed25519"], made()["rsa"], made()["other"]
    for data in (f"#{ed.line}\n", f"  # {ed.line}\n", f"{rsa.line}\n# {ed.line}\n", f"{rsa.plain} {ed.plain}\n",
                 f"{rsa.plain} was {ed.plain}\n{other.line}\n"):
        for words in (["file"], ["d"]):
            write(scratch / "file", data)
            write(scratch / "d" / "file", data)
            result = check("--all", scratch / words[0], status=0)
            assert ed.fingerprint not in fingerprints(result), data
    # The comment of a line in another text is no comment of a key.
    path = write(scratch / "file", f"keys: {rsa.plain} a, {ed.plain} b\n")
    equal(fingerprints(check("--all", path, status=0)), [rsa.fingerprint, ed.fingerprint], "keys")


# --- archives and other data that is not looked into ---

def archives(line):
    """(name, data) of files that hold the line, and are not unpacked."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("key.pub", line)
    yield "zip archive", out.getvalue()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("key.pub.gz")
        data = gzip.compress(line.encode())
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    yield "tar archive", out.getvalue()
    yield "tar archive", gzip.compress(out.getvalue())
    yield "tar archive", lzma.compress(out.getvalue())
    yield "bzip2 file", bz2.compress(line.encode())
    yield "zstd file", b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello"
    yield "7z archive", b"7z\xbc\xaf\x27\x1c\0\4" + bytes(50)
    yield "rpm package", b"\xed\xab\xee\xdb\3\0" + bytes(90)
    yield "ar archive", b"!<arch>\ndebian-binary   "
    yield "lzma file", lzma.compress(line.encode(), format=lzma.FORMAT_ALONE, preset=6)
    yield "UTF-32 text", line.encode("utf-32")


def test_archives_are_named_as_not_looked_into(scratch):
    for name, data in archives(made()["ed25519"].line):
        path = write(scratch / "d" / "file", data)
        for words in ([path], [path.parent]):
            result = check("--all", *words, status=2)
            equal(result.problems, [f"{path}: {name}: keyveto does not look into it: unpack it first"], name)


def test_text_packed_more_than_twice_is_a_problem(scratch):
    data = made()["ed25519"].line.encode()
    for _ in range(3):
        data = gzip.compress(data)
    path = write(scratch / "d" / "file", data)
    for words in ([path], [path.parent]):
        equal(check(*words, status=2).problems, [f"{path}: packed more than twice: unpack it first"], "problem")


def test_packed_data_that_is_cut_short_or_damaged_is_a_problem(scratch):
    text = "\n".join(key.line for key in every_key().values()).encode() + b"\n"
    for name, data in (("gzip", gzip.compress(text)), ("xz", lzma.compress(text))):
        for damaged, reason in ((data[:-1], "cut short"), (data[:len(data) // 2], "cut short"),
                                (data[:20] + bytes([data[20] ^ 0x55]) + data[21:], "damaged")):
            path = write(scratch / "d" / "file", damaged)
            result = check(path.parent, status=2)
            equal(result.problems, [f"{path}: its {name} data is {reason}"], name)
    path = write(scratch / "file", gzip.compress(text) + b"xyz")
    equal(check(path, status=2).problems, [f"{path}: other data behind its gzip data"], "behind")


def bomb(pack, text):
    """Over 1 GiB that packs to little, with text at its start."""
    out = io.BytesIO()
    with pack(out) as file:
        file.write(text)
        zeros = bytes(16 * MIB)
        for _ in range(66):
            file.write(zeros)
    return out.getvalue()


@pytest.mark.long
def test_a_file_that_unpacks_to_more_than_a_gibibyte_ends(scratch):
    """The keys at its start are judged. Memory does not grow."""
    ed = made()["ed25519"]
    text = f"{ed.line}\n".encode()
    for data in (bomb(lambda out: gzip.open(out, "w", 1), text), bomb(lambda out: lzma.open(out, "w", preset=0), text)):
        path = write(scratch / "d" / "file", data)
        result = check("--all", path.parent, status=2, preexec_fn=None if ADDRESS_SANITIZER else lambda:
                       resource.setrlimit(resource.RLIMIT_AS, (400 * MIB, 400 * MIB)))
        equal(fingerprints(result), [ed.fingerprint], "keys")
        assert "unpacks to more than 1 GiB" in result.problems[0], result.problems


def test_lines_that_sshd_reads_in_a_packed_file_count(scratch):
    """A gzip header holds a file name, which may hold a line with a key. sshd knows no gzip."""
    ed, rsa = made()["ed25519"], made()["rsa"]
    name = f"\n{ed.line}\n".encode() + b"\0"
    packed_text = gzip.compress(f"{rsa.line}\n".encode())
    data = b"\x1f\x8b\x08\x08" + packed_text[4:10] + name + packed_text[10:]
    equal(gzip.decompress(data), f"{rsa.line}\n".encode(), "gzip")
    finds(write(scratch / "d" / "file", data), ed, rsa)


def test_long_lines_of_json_are_searched_to_their_end(scratch):
    """The line is longer than what is read at a time; no key is lost or found twice where it is cut."""
    keys = list(every_key().values())
    for seed in range(3):
        rnd = random.Random(seed)
        rows = [{"id": number, "t": "x" * rnd.randrange(300), "key": rnd.choice(keys).line} for number in range(9000)]
        wanted = sorted(sshkey.parse(base64.b64decode(row["key"].split()[1])).fingerprint for row in rows)
        for path in (write(scratch / "file", json.dumps(rows)), write(scratch / "d" / "file", json.dumps(rows))):
            result = check("--all", path if path.name == "file" and path.parent == scratch else path.parent, status=0)
            equal(sorted(fingerprints(result)), wanted, f"seed {seed}")


def test_a_file_that_is_named_and_holds_nothing_like_a_key_is_one_problem(scratch):
    passwd = "".join(f"user{number}:x:{number}:{number}:A, B:/home/{number}:/bin/sh\n" for number in range(400))
    for data, place in (("hello world\n", ":1: no key on this line"), ("hello\nworld\n", ": no key in this file"),
                        ('{"keys": [],\n "x": 1}\n', ": no key in this file"), (passwd, ": no key in this file"),
                        ('a "b\n' * 9, ": no key in this file"), ("x\n" * 12_000, ": no key in this file")):
        path = write(scratch / "d" / "file", data)
        equal(check(path, status=2).problems, [f"{path}{place}"], data[:40])
        equal(check(path.parent, status=0).problems, [], data[:40])


def test_each_line_without_a_key_is_a_problem_in_a_file_of_keys(scratch):
    """Also if the key comes last, or is a broken one."""
    ed = made()["ed25519"]
    for line, reason in ((ed.line, None), (f"ssh-ed25519 {ed.base64[:-4]}", "key data ends too early"),
                         (f'from="a {ed.plain}', "unterminated quote in the options")):
        path = write(scratch / "file", "a b\nc d\n", line, "\ne f\n")
        wanted = [(number, "no key on this line") for number in (1, 2, 4)] + ([(3, reason)] if reason else [])
        equal(problems(check(path, status=2), path), sorted(wanted), line)


def test_a_key_in_binary_data_behind_a_line_end_and_a_hash_is_found(scratch):
    """For sshd this is a comment; but the data is not lines."""
    ed = made()["ed25519"]
    path = write(scratch / "d" / "file", f"SQLite\0\n#\0\1{ed.plain}\0\2")
    equal(fingerprints(check("--all", path.parent, status=0)), [ed.fingerprint], "key")


def test_a_key_is_found_behind_utf_16_that_goes_on_in_ascii(scratch):
    """As >> of another shell leaves it."""
    ed, rsa = made()["ed25519"], made()["rsa"]
    data = b"\xff\xfe" + f'"{rsa.line}"\r\n'.encode("utf-16-le") + f"key: '{ed.line}'\n".encode()
    path = write(scratch / "d" / "file", data)
    found = fingerprints(check("--all", path.parent, status=0))
    equal(sorted(found), sorted([ed.fingerprint, rsa.fingerprint]), "keys")


def test_utf_16_that_goes_on_in_ascii_and_cannot_be_read_again_is_a_problem(scratch):
    """A plain file is read again as it is; what is packed or comes by a pipe is not, and its keys would be missed."""
    ed, reason = made()["ed25519"], "begins as UTF-16, but goes on as 8-bit text: remove its first two bytes"
    for mark, coding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        for before in ("", "a note\r\n", "x" * 70_001):
            data = mark + before.encode(coding) + f"{ed.line}\n".encode() + b"more text\n" * 5
            for name, packed in (("gzip", gzip.compress(data)), ("xz", lzma.compress(data))):
                path = write(scratch / name / "file", packed)
                equal(check(path.parent, status=2).problems, [f"{path}: {reason}"], name)
            result = check("-", status=2, stdin=data)
            equal([line.split(": ", 1)[1] for line in result.problems], [reason], "pipe")
    # Both bytes of the first letter are ASCII, and of a double line.
    text = ("# " + "\u4e2d\u6587" * 99 + "\n# \u2554" + "\u2550" * 76 + f"\u2557\n{ed.line}\n").encode("utf-16")
    equal(fingerprints(check("--all", "-", status=0, stdin=text)), [ed.fingerprint], "UTF-16")


def test_bare_base64_of_keys_on_lines_is_found_behind_any_other(scratch):
    """As awk prints the second word of each line; items of a list, of one length."""
    keys = [made()[name] for name in ("ed25519", "p256", "rsa", "rsa-3072", "p384", "p521", "other")]
    for one in keys:
        for other in keys:
            if one is other:
                continue
            for text in (f"{one.base64}\n{other.base64}\n", f"ann\n{one.base64}\nbob\n{other.base64}\ncarol\n",
                         f"- {one.base64}\n- {other.base64}\n",
                         json.dumps({"keys": f"{one.base64}\n{other.base64}"})):
                finds(write(scratch / "d" / "file", text), one, other)
    certs = [certificate(key, made()["rsa"]).read_text().split()[1] for key in (made()["ed25519"], made()["other"])]
    for items, count in ((certs, 4), ([certs[0], "ann"], 2)):
        for text in ("keys:\n" + "".join(f"- {item}\n" for item in items), json.dumps({"keys": "\n".join(items)})):
            result = check("--all", write(scratch / "d" / "file", text).parent, status=0)
            equal(len(fingerprints(result)), count, text)


def test_keys_on_lines_behind_a_begin_line_in_words_are_no_block_of_it(scratch):
    keys = [made()[name] for name in ("ed25519", "other")]
    for begin in ("see -----BEGIN RSA PRIVATE KEY-----", "keys: # ---- BEGIN team ----"):
        for start in ("- ", "x ssh-ed25519 "):
            path = write(scratch / "d" / "file", f"{begin}\n" + "".join(f"{start}{key.base64}\n" for key in keys))
            result = check("--all", path.parent, status=0)
            equal((fingerprints(result), result.problems), ([key.fingerprint for key in keys], []), begin + start)


def test_prose_that_names_begin_lines_is_no_problem(scratch):
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    for text in (f"// {begin}\n//\n// other words\n", f"// {begin}\n// {end}\n", f"> {begin}\n>\n> other words\n",
                 f'+  "{begin}"\n+  "{end}"\n', f"look for {begin}\n\ncommit {'0a' * 20}\n",
                 f"a {begin}\nb {'0a' * 32}\n"):
        equal(check(write(scratch / "d" / "file", text).parent, status=0).problems, [], text)


def test_a_block_without_an_end_in_a_mail_hides_none_behind_it(scratch):
    ed, rsa = made()["ed25519"], made()["rsa"]
    cut = openssh_pem(ed.blob).split("-----END")[0]
    path = write(scratch / "d" / "file", textwrap.indent(cut, "> "), textwrap.indent(rsa.path.read_text(), ">> "))
    result = check("--all", path.parent, status=2)
    equal([line for line, _ in problems(result, path)], [1, cut.count("\n") + 1], "two keys that are not read")


@pytest.mark.long
def test_hostile_texts_take_no_time(scratch):
    """Many starts of keys in one word, many BEGIN lines in one line: a few seconds at most."""
    start = "AAAAB3NzaC1yc2E"
    packed = base64.b64encode(gzip.compress((start * 70_000).encode(), 9)).decode()
    for text in (start * 40_000, (start + "/") * 40_000, "-----BEGIN PUBLIC KEY-----" * 40_000,
                 "-----BEGIN PGP MESSAGE-----" * 40_000, "\\u0041" * 200_000, "A" * 1_000_000,
                 ("-----BEGIN X-----" + start) * 30_000, "PuTTY-User-Key-File-2: x\\nPrivate-MAC: " * 30_000,
                 "dn: x\n" + " AAAA\n" * 100_000, ("A" * 60 + "\n") * 20_000, (packed + " ") * 4,
                 "-----BEGIN PGP MESSAGE-----\n" + "x -----BEGIN CMS-----AAAA-----END CMS-----\n" * 40 +
                 "-----END PGP MESSAGE-----", "-----BEGIN CMS-----\n" * 200_000,
                 "-----BEGIN CMS-----" * 40_000 + "-----END CMS-----", "-----BEGIN CMS-----\n" +
                 "\"-----BEGIN PUBLIC KEY-----\"\n\"-----BEGIN CMS-----\"\n" * 18_000):
        check("--all", write(scratch / "d" / "file", text + "\n").parent)
