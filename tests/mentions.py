#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Finds what text of ours names and what is there no more.

    tests/mentions.py [FOLDER]    prints each place in this clone, or FOLDER; nothing: all is well

Three kinds: a word of the table gone[] in cli/main.c, said of the command that had it; a file below one of our folders;
a function in a comment of C that no code defines or calls. What changed, that table and its test may name what is gone.
"""

import os
import re
import sys
from pathlib import Path

MAY = {"CHANGES.md", "fleet/ansible/CHANGELOG.md", "tests/cli/test_gone.py", "tests/test_mentions.py"}
TABLE = "cli/main.c"
# A comment of C. A string or character comes first, because it may hold what looks like one.
COMMENT = re.compile(r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')|/\*.*?\*/""", re.DOTALL)
FUNCTION = re.compile(r"(?<![\w/.-])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?!\w)")
FILE = re.compile(r"(?<![\w./-])((?:[\w.-]+/)+[\w-]+\.(?:c|h|py|md|sh|yml|[158]))\b")
# Functions and types of OpenSSH, Linux-PAM, systemd, SUPERCOP and cmocka that a comment names.
OTHERS = set("""
    argv_split assert_in_range auth2_update_session_info auth_check_authkey_line auth_log auth_openfile b64_pton
    cert_parse do_log expand_authorized_keys ga_init ga_match_pattern_list ge25519_unpackneg_vartime get_ec
    match_pattern match_pattern_list pam_dispatch pam_handlers pam_start pam_syslog private2_check_public
    safe_path sd_booted secure_permissions sshbuf_get_bignum2_bytes_direct sshbuf_get_cstring
    sshkey_advance_past_options sshkey_ec_validate_public sshkey_fingerprint_raw sshkey_from_blob_internal
    sshkey_read sshkey_type sshpam_init u_int user_key_allowed user_key_allowed2 user_key_command_allowed2
    vdollar_percent_expand
    """.split())


def sources(root):
    """Each file of text, by its path below root. What begins with a dot holds no text of ours that names files."""
    found = {}
    for base, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in ("build", "__pycache__") and not name.startswith(".")]
        for name in names:
            path = Path(base, name)
            try:
                found[str(path.relative_to(root))] = path.read_text(encoding="utf-8")
            except (UnicodeDecodeError, FileNotFoundError):
                found[str(path.relative_to(root))] = ""
    return found


def gone_words(text):
    """What finds each word of the table, with the command that had it."""
    table = text.partition("gone[] = {")[2].partition("\n};")[0]
    for command, word in re.findall(r'{ "([\w-]*)", "([\w-]+)",', table):
        had = f"keyveto {command} {word}".replace("  ", " ")
        if word.startswith("-"):
            # As one types it, as a test in Python does, and in the command's manual page.
            yield had, re.compile(rf'keyveto\W+{command}\b[^|;&]*(?<![\w-]){word}(?![\w-])'), command, "Fl " + word[1:]
        else:
            words = r'[ "\',`(]{1,4}'.join(["keyveto", command, word] if command else ["keyveto", word])
            yield had, re.compile(rf"\b{words}\b(?!-)"), command, None


def said_of_gone(texts):
    for had, pattern, command, flag in gone_words(texts[TABLE]):
        for path, text in texts.items():
            if path in MAY or path == TABLE:
                continue
            page = flag and re.fullmatch(rf"man/keyveto-{command}\.\d", path)
            for number, line in enumerate(text.split("\n"), 1):
                if pattern.search(line) or (page and re.search(rf"{flag}(?![\w-])", line)):
                    yield f"{path}:{number}: {had} is gone"


def files_not_there(texts):
    # A comment of C names a file as #include does, or without its folder's parents.
    there = {"/".join(parts[i:]) for parts in (path.split("/") for path in texts) for i in range(len(parts))}
    tops = {path.split("/")[0] for path in texts if "/" in path}
    tops |= {path.split("/")[1] for path in texts if path.startswith("cli/")}
    for path, text in texts.items():
        if path in MAY or path.startswith("tests/"):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            for name in FILE.findall(line):
                if name not in there and name.split("/")[0] in tops and "NAME" not in name:
                    yield f"{path}:{number}: there is no {name}"


def functions_not_there(texts):
    of_c = {path: text for path, text in texts.items() if path.endswith((".c", ".h"))}
    code = OTHERS | {Path(path).stem for path in texts}
    for path, text in texts.items():
        if path not in MAY and (path in of_c or path.endswith((".py", ".sh", ".txt")) or "." not in path):
            code.update(re.findall(r"\w+", COMMENT.sub(r"\g<text> ", text) if path in of_c else text))
    for path, text in of_c.items():
        for comment in COMMENT.finditer(text):
            for name in [] if comment["text"] else FUNCTION.findall(comment.group()):
                if name not in code:
                    number = text.count("\n", 0, comment.start()) + 1
                    yield f"{path}:{number}: a comment names {name}, which no code does"


def main(words):
    root = Path(words[0]) if words else Path(__file__).resolve().parent.parent
    texts = sources(root)
    found = [*said_of_gone(texts), *files_not_there(texts), *functions_not_there(texts)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
