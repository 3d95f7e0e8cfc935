#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The guard's wildcards against a second implementation, on drawn trees and patterns.

    wildcards.py [BUILD [PATTERNS [SEED]]]

How sshd from 10.0 on reads AuthorizedKeysFile is implemented here a second
time, with regular expressions.  Each file holds its own path, so that the
guard's output says which files it read, and in which order.
"""

import os
import random
import re
import string
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ORACLE = Path(__file__).with_name("pkbf.py")
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build")
PATTERNS = int(sys.argv[2]) if len(sys.argv) > 2 else 2000
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)

KEY = ("ssh-ed25519", "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f")
NAMES = "ab^!-][\\*?.:"
PIECES = ("a", "b", "^", "!", "-", "]", "[", "\\", "*", "?", ".", "/", ":", "[ab]", "[^a]", "[!a]", "[]a]", "[a-]",
          "[!]b]", "[[:alpha:]]", "[[:punct:]b]", "[[:none:]]", "[a-b]", "\\*", "\\[", "\\\\", "[\\]a]", "**", "a/")

POSIX = {
    "alnum": string.ascii_letters + string.digits, "alpha": string.ascii_letters, "blank": " \t",
    "cntrl": "".join(map(chr, [*range(32), 127])), "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation, "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ", "punct": string.punctuation,
    "space": " \t\n\v\f\r", "upper": string.ascii_uppercase, "xdigit": string.hexdigits,
}


class Nothing(Exception):
    """The pattern matches nothing at all."""


def characters(pattern):
    """The pattern as a list of (character, whether it was escaped)."""
    found, rest = [], iter(pattern)
    for one in rest:
        if one == "\\":
            found.append((next(rest, "\\"), True))
        else:
            found.append((one, False))
    return found


def read_set(chars, start):
    """(members, end) of the set whose bracket is at start. None if no set is there."""
    i = start + 1
    negated = chars[i:i + 1] == [("!", False)]
    i += negated
    if i >= len(chars) or ("]", False) not in chars[i + 1:]:
        return None
    members, first = set(), True
    while first or chars[i] != ("]", False):
        first = False
        if chars[i] == ("[", False) and chars[i + 1:i + 2] == [(":", False)]:
            later = [j for j in range(i + 2, len(chars)) if chars[j] == (":", False)]
            if later and chars[later[0] + 1:later[0] + 2] == [("]", False)]:
                name = "".join(one for one, escaped in chars[i + 2:later[0]] if not escaped)
                if len(name) != later[0] - i - 2 or name not in POSIX:
                    raise Nothing
                members |= set(POSIX[name])
                i = later[0] + 2
                if i >= len(chars):
                    raise Nothing
                continue
        low = chars[i][0]
        if chars[i + 1:i + 2] == [("-", False)] and i + 2 < len(chars) and chars[i + 2] != ("]", False):
            high = chars[i + 2][0]
            i += 3
            members |= {chr(code) for code in range(ord(low), ord(high) + 1)}
            if "/" in (low, high):
                raise Nothing
        else:
            if low == "/":
                raise Nothing
            members.add(low)
            i += 1
        if i >= len(chars):
            raise Nothing
    return members, negated, i


def segments(pattern):
    """The parts between slashes, each a name or a regular expression."""
    chars, parts, regex, name, wild = characters(pattern), [], "", "", False
    i = 0
    while i <= len(chars):
        if i == len(chars) or chars[i][0] == "/":
            parts.append(re.compile(regex + r"\Z", re.S) if wild else name)
            regex, name, wild = "", "", False
            i += 1
            continue
        one, escaped = chars[i]
        found = read_set(chars, i) if (one, escaped) == ("[", False) else None
        if found:
            members, negated, i = found
            listed = "".join(f"\\x{ord(each):02x}" for each in members)
            # An empty set has no regular expression of its own.
            regex += (f"[^{listed}]" if negated else f"[{listed}]") if members else ("." if negated else "(?!)")
            wild = True
        elif not escaped and one in "*?":
            regex += ".*" if one == "*" else "."
            wild = True
        else:
            regex += re.escape(one)
            name += one
        i += 1
    return parts


def find(path, parts):
    if not parts:
        return [path] if os.path.lexists(path) else []
    part, rest = parts[0], parts[1:]
    slash = "/" if rest else ""
    if isinstance(part, str):
        return find(f"{path}{part}{slash}", rest)
    try:
        names = [".", "..", *os.listdir(path)]
    except OSError:
        return []
    return [one for name in names if part.match(name) and (name[0] != "." or part.pattern.startswith("\\."))
            for one in find(f"{path}{name}{slash}", rest)]


def files(pattern):
    try:
        return sorted(find("", segments(pattern)))
    except Nothing:
        return []


def draw_tree(rng, folder, depth=2):
    for _ in range(6):
        path = folder / "".join(rng.choices(NAMES, k=rng.randint(1, 2)))
        if path.exists() or path.name in (".", ".."):
            continue
        if depth and rng.random() < 0.4:
            path.mkdir()
            draw_tree(rng, path, depth - 1)
        else:
            path.write_text("file\n", encoding="ascii")


def printed(home, config):
    """The paths of the files that the guard reads."""
    done = subprocess.run([BUILD / "keyveto-authorized-keys", "--config", config, "--user", "root", "--home", home,
                           "--type", KEY[0], "--key", KEY[1]], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"status {done.returncode}: {done}")
    return done.stdout.splitlines()


def main():
    if os.geteuid() != 0:
        sys.exit("wildcards: the guard reads only a keyveto.conf that root owns: run this as root")
    rng = random.Random(SEED)
    failures = read = 0
    # A pattern may lead to what stands beside a home, so nothing else does.
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        top = Path(folder)
        empty, config = Path(other) / "filter.pkbf", Path(other) / "keyveto.conf"
        subprocess.run([sys.executable, ORACLE, "create", empty, "--hashes", "2", "--length", "8"], check=True)
        for number in range(PATTERNS):
            if number % 50 == 0:
                home = top / f"home{number}"
                home.mkdir()
                draw_tree(rng, home)
                for path in home.rglob("*"):
                    if path.is_file():
                        path.write_text(f"{path}\n", encoding="ascii")
            pattern = "".join(rng.choices(PIECES, k=rng.randint(1, 5))).lstrip("/")
            if not pattern:
                continue
            quoted = pattern.replace("\\", "\\\\")
            config.write_text(f'Filter {empty}\nStrictModes no\nAuthorizedKeysFileWildcards yes\n'
                              f'AuthorizedKeysFile "{quoted}"\n', encoding="ascii")
            expected = [str(Path(os.path.realpath(one))) for one in files(f"{home}/{pattern}") if os.path.isfile(one)]
            got = printed(home, config)
            read += len(got)
            if got != expected:
                failures += 1
                print(f"FAILED {pattern!r} in {sorted(map(str, home.rglob('*')))}: {got} instead of {expected}")
    print(f"{PATTERNS - failures} of {PATTERNS} patterns agree, {read} files were read (seed {SEED})")
    return 1 if failures or not read else 0


sys.exit(main())
