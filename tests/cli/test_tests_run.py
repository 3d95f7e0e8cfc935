# SPDX-License-Identifier: ISC
"""tests/run: a group of tests that does not exist is a failure, not a success without a test."""

import re
import subprocess

import pytest

from program import KEYVETO, ROOT, STARTED, contains, equal, lacks


@pytest.fixture(name="build")
def fixture_build(tmp_path):
    """A folder that looks like a finished build, with one test that passes."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "keyveto").symlink_to(KEYVETO)
    for started in (*STARTED, KEYVETO.parent / "keyveto-authorized-keys"):
        (tmp_path / started.name).symlink_to(started)
    test = tmp_path / "tests/test_nothing"
    test.write_text("#!/bin/sh\necho well\n", encoding="ascii")
    test.chmod(0o755)
    return tmp_path


def run(*words):
    return subprocess.run([ROOT / "tests/run", *words], capture_output=True, text=True, check=False)


def test_a_group_that_does_not_exist_fails_before_any_test_runs(build):
    done = run(build, "unit", "uint")
    equal((done.returncode, done.stdout), (2, ""), done.stderr)
    named = set(done.stderr.partition("the groups are: ")[2].split())
    text = "".join((ROOT / name).read_text(encoding="utf-8")
                   for name in ("Makefile", "CONTRIBUTING.md", "tests/README.md"))
    wanted = set(" ".join(re.findall(r"tests/run (?:build[\w/]*|\$\(BUILD\))((?: [a-z0-9]+)*)", text)).split())
    assert {"unit", "cli", "e2e", "long", "vm"} <= wanted <= named, (wanted, named)
    contains(done.stderr, "tests/run: uint: there is no such group")


def test_a_group_that_exists_is_run(build):
    done = run(build, "unit")
    equal(done.returncode, 0, done.stderr)
    contains(done.stdout, "test_nothing", "1 passed, 0 failed")


def test_a_folder_without_a_build_is_named(build):
    done = run(build / "tests", "unit")
    equal(done.returncode, 2)
    contains(done.stderr, f"{build}/tests/keyveto is not there: type make")
    lacks(done.stdout, "passed")


def test_shares_of_the_tests_are_all_of_them_and_none_twice():
    def collected(*words):
        pytest = ("/usr/bin/python3", "-m", "pytest", "-q", "--collect-only", "tests/cli/test_list.py")
        done = subprocess.run([*pytest, *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return [line for line in done.stdout.splitlines() if "::" in line]

    shares = [collected("--share", f"{number}/3") for number in range(3)]
    assert all(shares), shares
    equal(sorted(sum(shares, [])), sorted(collected()))
