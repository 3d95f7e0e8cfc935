# SPDX-License-Identifier: ISC
"""keyveto check: findings as text and as JSON, exit status, options, escapes."""

import itertools
import os
import random
import re
import shutil

import sshkey
from check_runs import check, objects, only
from program import KEYVETO, attempt, contains, equal
from runs import findings, oracle_reads, problems, run
from samples import KNOWN, MIB, built, every_key, listing, made, write


def test_bytes_that_act_on_a_terminal_are_escaped(scratch):
    """keyveto check prints them as \\xNN, in comments, types and paths."""
    ed = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", ed)
    comment = b"a\x1b[31mb\x07\x7f\x9b\xc3\xa9\t\\x1b\x01"
    shown = "a\\x1b[31mb\\x07\\x7f\\x9b\\xc3\\xa9\\x09\\x1b\\x01"
    path = write(scratch / "file", ed.plain, b" ", comment, b"\n")
    equal(only(findings(check(path, filters=[bad], status=1), path), path).rest, f"{shown} [{bad}]", "comment")
    row, = objects(check("--json", path, filters=[bad], status=1))
    equal(row["comment"], shown, "comment in JSON")
    for name in (b"new\nline", b"esc\x1b]0;x\x07", b"latin\xe9", b"quote\"back\\slash", b"caf\xc3\xa9",
                 b"-:1: listed: "):
        odd = os.fsencode(scratch) + b"/" + name
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
        # The same name as a file in a directory, as a missing file, and as a filter.
        os.mkdir(scratch / "walked")
        os.rename(odd, os.fsencode(scratch / "walked") + b"/" + name)
        contains(check(scratch / "walked", filters=[bad], status=1).out.decode(),
                 f"{safe[len(str(scratch)):]}:1: listed")
        shutil.rmtree(scratch / "walked")
        contains(check(odd, status=2).err.decode(), f"keyveto: {safe}: No such file")
        contains(check(path, filters=[odd], status=2).err.decode(), safe)
        shutil.copy(bad, odd)
        contains(check(path, filters=[odd], status=1).out.decode(), f"[{safe}]")
    unknown = sshkey.key_line(sshkey.build_plain("ssh-\x1b[1m\xe9", b"")).encode("latin-1")
    write(path, unknown, b"\n")
    contains(check(path, status=2).err.decode(), "unknown key type ssh-\\x1b[1m\\xe9\n")
    equal(objects(check("--json", path, status=2))[0]["type"], "ssh-\\x1b[1m\\xe9", "type in JSON")


def test_control_characters_of_any_kind_in_json_are_escaped(scratch):
    for char in (*range(1, 10), *range(11, 32), *range(0x7f, 0xa0)):
        if char == 13:
            continue
        comment = f"a{chr(char)}b"
        path = write(scratch / "file", f"{made()['ed25519'].plain} {comment}\n")
        row, = objects(check("--json", "--all", path, status=0))
        escaped = "".join(f"\\x{byte:02x}" for byte in chr(char).encode())
        assert row["comment"] in (comment, f"a{escaped}b"), row["comment"]


def test_each_line_of_random_bytes_is_a_key_or_a_problem(scratch):
    """The output has no raw control characters, and --json prints valid JSON."""
    rnd = random.Random(4)
    ed = made()["ed25519"].line.encode()
    lines = []
    for _ in range(3000):
        noise = rnd.randbytes(rnd.randrange(60)).replace(b"\n", b"")
        line = rnd.choice((noise, b"ssh-rsa " + noise, ed + b" " + noise, noise + b" " + ed, b"@" + noise, b'"' + noise,
                           ed[:40] + noise, b"1 2 " + noise))
        lines.append(line)
    path = write(scratch / "file", b"\n".join(lines), b"\n")
    result = check("--all", path)
    found, wrong = findings(result, path), problems(result, path)
    rows = objects(check("--all", "--json", path))
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


def test_json_has_the_oracles_values(scratch):
    """One object a line, with the values of the oracle and of ssh-keygen."""
    keys = list(every_key().values())
    # The P-256 key is listed, too: the built security key has the same point.
    bad_ones = [made()["rsa"], made()["p256"], *built().values()]
    bad = listing(scratch / "bad.pkbf", *bad_ones)
    path = write(scratch / "file", *(f"{key.line}\n" for key in keys))
    for words, shown in ((("--all",), keys), ((), bad_ones)):
        rows = objects(check("--json", *words, path, filters=[bad], status=1))
        wanted = []
        for number, key in enumerate(keys, 1):
            listed = key in bad_ones
            wanted.append({"file": str(path), "line": number, "verdict": "listed" if listed else "clean",
                           "type": key.type, "bits": key.bits, "fingerprint": key.fingerprint,
                           "spki_sha256": key.spki_sha256[0], "part": "key", "comment": key.comment,
                           "filters": [str(bad)] if listed else [], "lists": [], "source": None, "sources": [],
                           "reason": ""})
        equal(rows, [row for row, key in zip(wanted, keys) if key in shown], f"{words}")
    known = write(scratch / "known", *(f"{line}\n" for line in KNOWN))
    equal([row["spki_sha256"] for row in objects(check("--json", "--all", known, status=0))],
          [sha256 for sha256, _ in KNOWN.values()], "known answers")


def test_json_problems_have_the_same_keys(scratch):
    """The values are null where the problem has no SSH key."""
    path = write(scratch / "file", "broken\n", f"ssh-rsa {made()['ed25519'].base64}\n", "x" * (MIB + 5), "\n")
    rows = objects(check("--json", path, status=2))
    equal(rows, [{"file": str(path), "line": line, "verdict": "error", "type": None, "bits": None, "fingerprint": None,
                  "spki_sha256": None, "part": None, "comment": None, "filters": [], "lists": [],
                  "source": None, "sources": [], "reason": reason}
                 for line, reason in ((1, "no key on this line"), (2, "key type differs from the type inside the key"),
                                      (3, "line too long"))], "problems")


def test_json_comments_in_utf_8_stay_as_they_are(scratch):
    """Bytes that are not UTF-8 become \\xNN."""
    ed = made()["ed25519"]
    rows = {b"Jos\xc3\xa9 \xe2\x9c\x93 \xf0\x9f\x94\x91": "José ✓ 🔑", b'"quoted" \\back/': '"quoted" \\back/',
            b"latin\xe9": "latin\\xe9", b"half\xc3": "half\\xc3", b"\xc0\xaf": "\\xc0\\xaf",
            b"\xed\xa0\x80": "\\xed\\xa0\\x80", b"\xf5\x80\x80\x80": "\\xf5\\x80\\x80\\x80",
            b"ok \xc3\xa9 bad \xff": "ok \\xc3\\xa9 bad \\xff",
            b"\xef\xbf\xbe\xef\xbb\xbf": "\ufffe\ufeff", b"tab\there": "tab\there"}
    path = write(scratch / "file", *(part for comment in rows for part in (ed.plain, b" ", comment, b"\n")))
    seen = objects(check("--json", "--all", path, status=0))
    equal([row["comment"] for row in seen], list(rows.values()), "comments")


def test_exit_status_1_wins_over_2_and_2_over_0(scratch):
    """1: something is listed. Else 2: something could not be checked. Else 0."""
    listed, clean, allowed = (made()[name] for name in ("ed25519", "rsa", "p256"))
    bad = listing(scratch / "bad.pkbf", listed, allowed)
    config = write(scratch / "conf", f"Filter {bad}\nAllowKey {allowed.fingerprint}\n")
    lines = {"listed": listed.line, "clean": clean.line, "allowed": allowed.line, "broken": "ssh-rsa AAAA", "unknown":
             sshkey.key_line(sshkey.build_plain("ssh-new", b""))}
    forms = [(), ("--json",), ("--all",), ("--quiet",), ("--quiet", "--json", "--all")]
    for size in range(len(lines) + 1):
        for number, names in enumerate(itertools.combinations(lines, size)):
            wanted = 1 if "listed" in names else 2 if {"broken", "unknown"} & set(names) else 0
            path = write(scratch / "file", "".join(f"{lines[name]}\n" for name in names))
            run("check", "--config", config, *forms[number % len(forms)], path, status=wanted)
            separate = [write(scratch / name, lines[name]) for name in names] or [path]
            run("check", "--config", config, *forms[(number + 1) % len(forms)], *separate, status=wanted)
            stdin = "".join(f"{lines[name]}\n" for name in reversed(names)).encode()
            run("check", "--config", config, stdin=stdin, status=wanted)


def test_bad_usage_is_status_2_with_the_usage(scratch):
    """Standard error has the reason and the usage, standard output nothing."""
    path = write(scratch / "file", made()["ed25519"].line)
    for words in (("check", "--nonsense", path), ("check", "--json=yes", path), ("check", "--filter"),
                  ("check", "-x", path), *(("scan", "--timeout", seconds, "h") for seconds in
                                           ("0", "-1", "", "two", "1000000", "4x", str(2**64 + 1))),
                  ("scan", "--timeout"), ("chekc", path), ("--nonsense",),
                  ("check", "--a\x1b[0m\n", path), ("\x1b\n",)):
        result = run(*words, status=2)
        equal(result.out, b"", f"{words}")
        assert result.messages and all(re.match(r"keyveto: |usage: |  |'|$", line) for line in result.messages), \
            f"{words}: {result.messages}"


def test_quiet_prints_errors_only(scratch):
    """Standard output is empty."""
    ed = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", ed)
    path = write(scratch / "file", f"{ed.line}\nbroken\n")
    for words in ((), ("--json",), ("--all",)):
        result = check("--quiet", *words, path, filters=[bad], status=1)
        equal((result.out, result.messages), (b"", [f"keyveto: {path}:2: no key on this line"]), f"{words}")
    good = write(scratch / "file", ed.line)
    result = check("--quiet", good, status=0)
    equal((result.out, result.messages), (b"", []), "nothing wrong")


def test_all_shows_every_key_and_the_default_only_listed_ones(scratch):
    """The summary counts all keys in both cases."""
    listed, clean = made()["ed25519"], made()["rsa"]
    bad = listing(scratch / "bad.pkbf", listed)
    one_file, two = write(scratch / "one", f"{clean.line}\n{listed.line}\n"), write(scratch / "two", f"{clean.line}\n")
    result = check(one_file, two, filters=[bad], status=1)
    equal([line.split(": ")[:2] for line in result.lines], [[f"{one_file}:2", "listed"]], "listed")
    equal(result.messages, ["keyveto: 3 keys in 2 files: 1 listed, 2 clean"], "summary")
    result = check("--all", one_file, two, filters=[bad], status=1)
    equal([line.split(": ")[:2] for line in result.lines],
          [[f"{one_file}:1", "clean"], [f"{one_file}:2", "listed"], [f"{two}:1", "clean"]], "all")
    equal(check(two, filters=[bad], status=0).messages, ["keyveto: 1 key in 1 file: 0 listed, 1 clean"], "summary")


def test_write_errors_are_status_2(scratch):
    """Also if a key is listed. The message names standard output."""
    ed = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", ed)
    path = write(scratch / "file", ed.line, "\n")
    large = write(scratch / "large", f"{ed.line}\n" * 30000)
    for words in ([path], ["--json", path], ["--all", path], [large], ["--json", large], [path, scratch / "missing"],
                  ["--help"]):
        for out in ("/dev/full", None):
            with open(out or "/dev/null", "wb") as stdout:
                argv = [KEYVETO, "check", "--filter", bad, *map(str, words)]
                if out is None:     # closed
                    argv = ["sh", "-c", 'exec "$@" >&-', "sh", *argv]
                done = attempt(*argv, text=False, stdout=stdout)
            equal(done.returncode, 2, f"{words} to {out}: {done.stderr!r}")
            reason = "No space left on device" if out else "Bad file descriptor"
            contains(done.stderr.decode(), f"keyveto: standard output: {reason}\n")
