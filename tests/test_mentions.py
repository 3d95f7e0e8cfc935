# SPDX-License-Identifier: ISC
"""tests/mentions.py, of lint, finds what is named and gone, wherever it is planted, and nothing else."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def mentions(place, path, line):
    """What it says of a copy of the sources in which the line stands at the file's end, and its status."""
    shutil.copytree(ROOT, place, symlinks=True, ignore=shutil.ignore_patterns("build", ".git", "__pycache__"))
    with (place / path).open("a", encoding="utf-8") as file:
        print(line, file=file)
    done = subprocess.run([place / "tests/mentions.py"], stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout, done.returncode


@pytest.mark.parametrize("path, line, said", (
    ("README.md", "Type sudo keyveto proof make KEY.", "keyveto proof make is gone"),
    ("tests/cli/test_spki.py", 'keyveto("proof", "make", "x")', "keyveto proof make is gone"),
    ("docs/operations.md", "    keyveto audit --json --known=old.json --all", "keyveto audit --known is gone"),
    ("man/keyveto-audit.8", ".It Fl -since Ar FILE", "keyveto audit --since is gone"),
    ("cli/spki.c", "/* As net/bygone.c has it. */", "there is no net/bygone.c"),
    ("SECURITY.md", "See docs/bygone.md.", "there is no docs/bygone.md"),
    ("lib/kv_line.h", "/* The caller has asked\n * kv_bygone. */", "a comment names kv_bygone, which no code does"),
))
def test_what_is_gone_is_found_where_it_is_named(tmp_path, path, line, said):
    number = len((ROOT / path).read_text(encoding="utf-8").splitlines()) + 1
    assert mentions(tmp_path / "clone", path, line) == (f"{path}:{number}: {said}\n", 1)


@pytest.mark.parametrize("path, line", (
    ("README.md", "keyveto-report --since OLD; keyveto proof verify makes no proof; keyveto audit | grep --known"),
    ("man/keyveto-report.1", ".It Fl -since Ar FILE"),
    ("CHANGES.md", "keyveto proof make is gone, and cli/net/bygone.c"),
    ("lib/kv_line.h", "/* As OpenSSH's sshkey_read. */"),
    ("lib/kv_line.c", 'static const char *all = "keys/*.pub", *kv_bygone = "*/";'),
))
def test_what_is_there_may_be_named(tmp_path, path, line):
    assert mentions(tmp_path / "clone", path, line) == ("", 0)
