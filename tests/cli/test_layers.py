# SPDX-License-Identifier: ISC
"""scripts/layers.py, which make lint runs: an include against the layers fails, and so does an exception too many."""

import subprocess

import pytest

from program import ROOT, equal

LAYERS = """# From the bottom.
lib
cli/base  # what everything uses
cli/keys/der
cli/keys
cli/check cli/audit
cli
"""
FILES = {
    "lib/kv_line.h": "",
    "cli/base/io.h": "",
    "cli/keys/der.h": "",
    "cli/keys/pem.c": '#include <zlib.h>\n#include "base/io.h"\n#include "keys/der.h"\n#include "kv_line.h"\n',
    "cli/keys/pem.h": "",
    "cli/check/check.c": '#include "keys/pem.h"\n#include "check/part.h"\n',
    "cli/check/part.h": "",
    "cli/audit/audit.h": '#include "base/io.h"\n',
    "cli/main.c": '#include "check/part.h"\n#include "curl.h"\n',
}


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    """Small sources that are as their list says."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/layers.txt").write_text(LAYERS, encoding="ascii")
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    return tmp_path


def said(tree):
    """What the check prints. It fails if, and only if, it prints something."""
    done = subprocess.run([ROOT / "scripts/layers.py", tree], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (int(done.stdout != ""), ""))
    return done.stdout.replace(f"{tree}/", "")


def add(file, text):
    with open(file, "a", encoding="ascii") as out:
        out.write(text)


def test_includes_that_point_downwards_are_well(tree):
    equal(said(tree), "")


@pytest.mark.parametrize("file, included, there, here", [
    ("cli/base/io.h", "keys/pem.h", "cli/keys", "cli/base"),            # upwards, and back: a circle
    ("cli/keys/pem.h", "check/part.h", "cli/check", "cli/keys"),
    ("cli/check/part.h", "audit/audit.h", "cli/audit", "cli/check"),    # beside it
    ("cli/keys/der.h", "keys/pem.h", "cli/keys", "cli/keys/der"),       # in its own folder, but higher
    ("lib/kv_line.h", "base/io.h", "cli/base", "lib"),
])
def test_a_planted_include_against_the_layers_fails(tree, file, included, there, here):
    add(tree / file, f'\t# include "{included}"\n')
    equal(said(tree), f"{file}: includes {included}, but {there} is not below {here} in scripts/layers.txt\n")
    add(tree / "scripts/layers.txt", f"! {file} {included}\n")
    equal(said(tree), "")


def test_an_exception_that_is_not_needed_fails(tree):
    add(tree / "scripts/layers.txt", "! cli/base/io.h keys/pem.h\n! cli/keys/pem.c base/io.h\n")
    equal(said(tree), "".join(
        f"scripts/layers.txt:{line}: {file} does not include {included} against the layers any more; remove the line\n"
        for line, file, included in ((8, "cli/base/io.h", "keys/pem.h"), (9, "cli/keys/pem.c", "base/io.h"))))


def test_the_list_has_each_folder_once_and_no_other(tree):
    (tree / "cli/why").mkdir()
    (tree / "cli/why/why.c").touch()
    add(tree / "scripts/layers.txt", "cli/list\ncli/base\n")
    equal(said(tree), "scripts/layers.txt:9: cli/base stands in line 3, too\n"
                      "scripts/layers.txt:8: there is no cli/list; remove it\n"
                      "cli/why: is in no line of scripts/layers.txt\n")
