# SPDX-License-Identifier: ISC
"""keyveto check: lines of authorized_keys in every form that sshd and ssh-keygen read."""

import concurrent.futures
import os
import random
import re

import sshkey
from check_runs import accepted_lines, check, check_all, inside, objects, only, refused_lines
from openssh import keygen_reads_cr
from program import equal
from runs import findings, oracle_reads, problems, ssh_keygen_reads, tool
from samples import MIB, Key, certificate, every_key, listing, made, write


def test_pub_files_of_every_type_are_read_as_ssh_keygen_does(scratch):
    """Type, bits, fingerprint and comment are those of ssh-keygen -l."""
    for name, key in every_key().items():
        path = write(scratch / f"{name}.pub", key.line, "\n")
        clean = only(check_all(path, status=0)[0], path)
        equal(clean, (1, "clean", key.type, key.bits, key.fingerprint, key.comment), name)
        bad = listing(scratch / "bad.pkbf", key)
        result = check(path, filters=[bad], status=1)
        equal(result.lines, [f"{path}:1: listed: {key.type} {key.bits} {key.fingerprint} {key.comment} [{bad}]"], name)
        if key.path is None and not name.startswith("sk-"):
            continue                # this ssh-keygen may not know the type
        words = tool("ssh-keygen", "-l", "-f", path).decode().split()
        equal([int(words[0]), words[1]], [clean.bits, clean.fingerprint], f"{name}: ssh-keygen")


# sshd takes several blanks after the options, ssh-keygen -l takes one.
TWO_BLANKS = re.compile(rb"[ \t][ \t]")


def odd_blobs():
    """(title, line, key, comment) of odd encodings of a key. Only older sshds take some of them."""
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


def test_keys_that_sshd_takes_are_found(scratch):
    rows = list(accepted_lines())
    path = write(scratch / "authorized_keys", *(f"{line}\n" for _, line, _, _ in rows))
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


def test_encodings_of_one_key_that_differ_are_one_key(scratch):
    rows = list(odd_blobs())
    path = write(scratch / "authorized_keys", *(f"{line}\n" for _, line, _, _ in rows))
    found, wrong = check_all(path, status=0)
    equal(wrong, [], "problems")
    for number, (title, line, key, comment) in enumerate(rows, 1):
        equal(found[number - 1], (number, "clean", key.type, key.bits, key.fingerprint, comment), f"{title}: {line!r}")


# A broken key at its place is a problem only. Elsewhere on a line that sshd refuses, a whole key is judged, too.
JUDGED_TOO = ("token in capitals", "short token", "no type", "VT between type and base64", "FF between type and base64",
              "unterminated quote", "a quote that an escape keeps open", "options in two words")


def test_lines_that_sshd_refuses_are_reported(scratch):
    """The message names file, line and reason."""
    rows, ed = list(refused_lines()), made()["ed25519"]
    path = write(scratch / "authorized_keys", f"{ed.line}\n", *(f"{line}\n" for _, line in rows))
    found, wrong = check_all(path, status=2)
    equal([number for number, _ in wrong], list(range(2, len(rows) + 2)), f"lines of {wrong}")
    by_line = {one.line: one.fingerprint for one in found}
    for number, (title, line) in enumerate(rows, 2):
        equal(ssh_keygen_reads(line.encode()), None, f"ssh-keygen: {title}: {line!r}")
        wanted = inside(line) if title in JUDGED_TOO else []
        assert bool(wanted) == (title in JUDGED_TOO), title
        equal([by_line[number]] if number in by_line else [], wanted, title)
        if not wanted:
            alone = write(scratch / "alone", line)
            equal(check_all(alone, status=2), ([], [(1, wrong[number - 2][1])]), f"{title}, alone")


def test_a_key_behind_the_name_of_a_type_and_other_words_is_judged_too(scratch):
    """ssh-keygen -l reads the first of these lines, sshd none."""
    rsa, ed = made()["rsa-3072"], made()["ed25519"]
    for line in (f"ssh-rsa {rsa.plain}", f"ssh-rsa : {rsa.base64}", f"ssh-rsa keys are: {rsa.plain}",
                 f"no-pty ssh-ed25519 {rsa.plain}"):
        for before, keys in (("", [rsa]), (f"{ed.line}\n", [ed, rsa])):
            path = write(scratch / "d" / "file", before, line, "\n")
            wanted = [key.fingerprint for key in keys]
            found, wrong = check_all(path, status=2)
            equal(([one.fingerprint for one in found], [number for number, _ in wrong]), (wanted, [len(keys)]), line)
            result = check("--all", path.parent, status=0)
            equal([one.fingerprint for one in findings(result, path)], wanted, f"{line}, in a directory")


def test_reasons_say_what_is_wrong(scratch):
    ed = made()["ed25519"]
    for line, reason in (
            (f"ssh-rsa {ed.base64}", "key type differs from the type inside the key"),
            (f"ssh-ed25519 {ed.base64[:-1]}", "invalid base64"),
            (f"ssh-ed25519 {ed.base64[:-4]}", "key data ends too early"),
            ("ssh-ed25519 " + sshkey.key_line(ed.blob + b"x").split()[1], "data after the end of the key"),
            ("hello world", "no key on this line"),
            (f"1024 65537 {2**1023 + 5}", "SSH protocol 1 key, which no current sshd accepts"),
            (f'from="a b" 2048 35 {2**2047 + 1} old@host', "SSH protocol 1 key, which no current sshd accepts"),
            (f"host,192.0.2.1 1024 65537 {2**1023 + 1}", "SSH protocol 1 key, which no current sshd accepts")):
        path = write(scratch / "file", line, "\n")
        equal(check_all(path, status=2), ([], [(1, reason)]), repr(line))
    found, wrong = check_all(write(path, f'from="a {ed.plain}\n'), status=2)
    equal(([one.fingerprint for one in found], wrong), ([ed.fingerprint], [(1, "unterminated quote in the options")]),
          "a quote")


def test_comments_and_blank_lines_are_passed_over_in_silence(scratch):
    """An empty file is passed over, too."""
    for text in ("", "\n", "\n\n\n", "# a\n", " \t # b\n\t\n", "\r\n \r\n#x\r\n", f"#{made()['ed25519'].plain}\n", "#",
                 "\0junk\n"):
        path = write(scratch / "file", text)
        result = check(path, status=0)
        equal((result.out, result.problems), (b"", []), repr(text))
        equal((result.summary["keys"], result.summary["files"]), (0, 1), repr(text))


def test_a_byte_order_mark_never_hides_a_key_silently(scratch):
    # sshd refuses such a line. But the key in it may be used elsewhere: the file may be a .pub file.
    for line in (made()["ed25519"].line, f'from="a" {made()["ed25519"].line}'):
        write(scratch / "walked" / "key.pub", "\ufeff", line, "\r\n")
        for path in (scratch / "walked" / "key.pub", scratch / "walked"):
            result = check("--all", path)
            assert result.out or f"{scratch}/walked/key.pub:1: " in result.err.decode(), f"nothing said of {path}"


def test_unknown_types_are_named_and_count_as_unchecked(scratch):
    blob = sshkey.build_plain("ssh-new@example.org", sshkey.string(b"x"))
    path = write(scratch / "file", sshkey.key_line(blob, comment="c"), "\n", sshkey.key_line(blob, options="no-pty"),
                 "\n")
    result = check("--all", path, status=2)
    equal((result.out, problems(result, path)),
          (b"", [(1, "unknown key type ssh-new@example.org"), (2, "unknown key type ssh-new@example.org")]), "report")
    equal((result.summary["keys"], result.summary["unknown"], result.summary["problems"]), (0, 2, 0), "summary")
    rows = objects(check("--json", path, status=2))
    equal([(row["line"], row["verdict"], row["type"], row["reason"]) for row in rows],
          [(1, "unsupported", "ssh-new@example.org", "unknown key type"),
           (2, "unsupported", "ssh-new@example.org", "unknown key type")], "JSON")
    # A word that is not the type named in the base64 after it makes no key of an unknown type.
    write(path, f"ssh-new@example.org {made()['rsa'].base64}\n")
    equal(only(check_all(path, status=0)[0], path).fingerprint, made()["rsa"].fingerprint, "another name inside")


def test_lines_over_1_mib_are_reported_with_file_and_line(scratch):
    """The lines after a line over 1 MiB are read."""
    ed = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", ed)
    for size in (MIB + 1, MIB + 2, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1, 3 * MIB + 12345):
        for before, after in ((f"{ed.line}\n", f"\n{ed.line}\n"), ("", f"\n{ed.line}"), (f"{ed.line}\n", ""),
                              ("# x\n", "\n")):
            data = f"{before}{'x' * size}{after}".encode()
            path = write(scratch / "file", data)
            number = 1 + before.count("\n")
            for source, stdin in ((path, b""), ("-", data)):
                result = check(source, filters=[bad], stdin=stdin)
                what = f"{size} bytes, {before[:10]!r}, {after[:10]!r}, {source}"
                equal(problems(result, source), [(number, "line too long")], what)
                lines = [n for n, text in enumerate(data.decode().split("\n"), 1) if text == ed.line]
                equal([one.line for one in findings(result, source)], lines, what)
                equal(result.status, 1 if lines else 2, what)


def test_lines_of_up_to_1_mib_are_read(scratch):
    ed = made()["ed25519"]
    for size in (MIB - 1, MIB - 2, MIB // 2):
        comment = "c" * (size - len(ed.plain) - 1)
        for end in ("", "\n", f"\n{made()['rsa'].line}\n"):
            path = write(scratch / "file", f"{ed.plain} {comment}{end}")
            found, wrong = check_all(path, status=0)
            equal((wrong, found[0].fingerprint, len(found[0].rest), len(found)),
                  ([], ed.fingerprint, len(comment), 1 + ("rsa" in end)), f"{size} {end[:5]!r}")
    # Options of that length, with a key after them.
    path = write(scratch / "file", f'command="{"x" * (MIB - 300)}" {ed.plain}\n')
    equal(only(check_all(path, status=0)[0], path).fingerprint, ed.fingerprint, "long options")


def test_a_key_in_a_line_over_1_mib_is_never_passed_over(scratch):
    """The key stands before a long comment or a NUL, or after long options or blanks."""
    ed = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", ed)
    size = MIB + MIB // 2
    rows = {"a comment": (f"{ed.plain} {'x' * size}", True), "NUL": (f"{ed.plain}\0{'x' * size}", True),
            "zeros": (ed.plain + "\0" * size, True), "options": (f'command="{"x" * size}" {ed.plain}', False),
            "blanks": (" " * size + ed.plain, False), "tabs": ("\t" * size + f"no-pty {ed.plain}", False),
            "blanks in the middle": (f"no-pty {' ' * size}{ed.plain}", False),
            "CR in the base64": (f"ssh-ed25519 {ed.base64[:20]}{chr(13) * size}{ed.base64[20:]}", False)}
    for title, (line, found) in rows.items():
        unread = {"blanks in the middle"} if keygen_reads_cr() else {"blanks in the middle", "CR in the base64"}
        equal(ssh_keygen_reads(line.encode()) is not None, title not in unread, f"{title}: ssh-keygen")
        path = write(scratch / "walked" / "file", line, "\n")
        for words in ((path,), (scratch / "walked",), ("-",)):
            result = check(*words, filters=[bad], stdin=path.read_bytes())
            said = result.lines or [message for message in result.problems if ":1: " in message]
            assert said, f"{title}: nothing said, {words}"
            assert result.status in ((1,) if found else (1, 2)), f"{title}, {words}: status {result.status}"
    # A comment line of that length is no problem.
    check_all(write(scratch / "comment", "#", "x" * size, "\n"), status=0)


def test_keys_behind_a_nul_are_found_once(scratch):
    """sshd ends a line there. A list that find -print0 or sort -z made goes on, and so does an image of a disk."""
    ed, rsa, p256 = (made()[name] for name in ("ed25519", "rsa-3072", "p256"))
    bad = listing(scratch / "bad.pkbf", rsa)
    for before in ("", f"{p256.line}\n", "keys {\n", "# a\n"):
        for between in ("\0", " c\0", "\0" * 9, " c\0x ", "\0" * (3 * MIB), " " + "c" * (2 * MIB) + "\0\0"):
            path = write(scratch / "d" / "file", f"{before}{ed.plain}{between}{rsa.line}\0{p256.plain}\0")
            wanted = ["p256"] * (p256.line in before) + ["ed25519", "rsa-3072", "p256"]
            for words in (path, path.parent):
                result = check("--all", words, status=0)
                what = f"{before!r}, {between[:9]!r}, {words}"
                equal([one.fingerprint for one in findings(result, path)], [made()[one].fingerprint for one in wanted],
                      what)
                equal(len(check(words, filters=[bad], status=1).lines), 1, what)
    # In a file of keys, the comment of a key stays one.
    path = write(scratch / "file", f"{ed.plain} {p256.plain}\0{rsa.plain}\n" * 3)
    equal(len(check("--all", path, status=0).lines), 6, "comment")


def test_a_key_before_a_long_comment_in_another_text_is_told_once(scratch):
    ed, rsa = made()["ed25519"], made()["rsa"]
    path = write(scratch / "file", f'keys {{\nenvironment="A={rsa.plain}" {ed.plain} {"x" * (2 * MIB)}\n}}\n')
    found = [one.fingerprint for one in findings(check("--all", path, status=0), path)]
    equal(sorted(found), sorted([ed.fingerprint, rsa.fingerprint]), "keys")


def test_several_long_lines_keep_the_count_of_lines(scratch):
    """The long lines stand together and apart."""
    ed = made()["ed25519"]
    long = "y" * (MIB + 77)
    data = "\n".join((long, long, ed.line, long, "", long + long, ed.line, "broken", long))
    path = write(scratch / "file", data)
    found, wrong = check_all(path, status=2)
    equal([one.line for one in found], [3, 7], "keys")
    equal([number for number, _ in wrong], [1, 2, 4, 6, 8, 9], "problems")


INTERESTING = [b" ", b"\t", b'"', b"\\", b'\\"', b"\r", b"\v", b"\f", b"\0", b"=", b",", b"#", b"@", b"A", b"/", b"+",
               b"-", b"1", b"  ", b"\xff", b"\xc3\xa9", b"ssh-rsa ", b"no-pty ", b'command="a b" ', b'"a b"',
               b"host,* "]
TOKENS = [b"ssh-rsa", b"rsa-sha2-256", b"rsa-sha2-512", b"ssh-ed25519", b"ecdsa-sha2-nistp256", b"ssh-dss", b"SSH-RSA",
          b"ssh-rsa-cert-v01@openssh.com"]


def mutate(rnd, line):
    """A line with one to four small changes, mostly where the key may survive them."""
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


# keyveto and ssh-keygen -l differ on purpose here:
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


def test_what_ssh_keygen_accepts_of_mutated_lines_is_shown(scratch):
    """For each of 500 mutated lines that ssh-keygen -l accepts, check --all shows the same fingerprint."""
    seed = int(os.environ.get("SEED", "1"))     # the keys are new in each run
    rnd = random.Random(seed)
    bases = [key.line.encode() for key in every_key().values()]
    bases += [line.encode() for _, line, _, _ in accepted_lines()]
    bases += [certificate(made()[name], made()["other"]).read_bytes().rstrip(b"\n")
              for name in ("rsa", "ed25519", "p256")]
    bases += [b"host " + made()["p384"].line.encode(), b'from="x" ' + made()["rsa"].line.encode()]
    lines = [mutate(rnd, rnd.choice(bases)) for _ in range(500)]
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        seen = list(pool.map(ssh_keygen_reads, lines))
    path = write(scratch / "file", b"".join(line + b"\n" for line in lines))
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
        if row is not None and key is None and row["fingerprint"] in inside(line.decode("latin-1")):
            continue                # not as sshd reads the line, but a key is on it
        if row is not None and not line.lstrip(b" \t").startswith(b"@"):
            assert key is not None and key.fingerprint == row["fingerprint"], f"{where}, oracle {key}"
            equal(row["spki_sha256"], Key("", key.blob).spki_sha256[0], where)
    assert accepted > 100, f"SEED={seed}: only {accepted} lines were accepted"
