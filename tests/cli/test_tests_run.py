# SPDX-License-Identifier: ISC
"""tests/run: a group of tests that does not exist is a failure, not a success without a test."""

import re
import subprocess

import pytest

from program import KEYVETO, ROOT, STARTED, contains, equal, lacks
from samples import write


@pytest.fixture(name="build")
def fixture_build(tmp_path):
    """A folder that looks like a finished build, with one test that passes."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "keyveto").symlink_to(KEYVETO)
    for started in (*STARTED, KEYVETO.parent / "keyveto-authorized-keys"):
        (tmp_path / started.name).symlink_to(started)
    write(tmp_path / "tests/test_nothing", "#!/bin/sh\necho well\n", mode=0o755)
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
    assert {"unit", "cli", "e2e", "campaign", "vm"} <= wanted <= named, (wanted, named)
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


def test_make_check_and_make_check_long_are_all_tests_and_none_twice():
    """A test with rows has one in some of them in make check, and always the same."""
    def collected(*words):
        pytest = ("/usr/bin/python3", "-m", "pytest", "-q", "--collect-only", "tests/cli/test_walls.py", *words)
        done = subprocess.run(pytest, cwd=ROOT, capture_output=True, text=True, check=True)
        return [line for line in done.stdout.splitlines() if "::" in line]

    short, rest = collected(), collected("--long")
    assert short and rest and short == collected(), (short, rest)
    equal(sorted(short + rest), sorted(collected("--all")))
    sampled = "tests/cli/test_walls.py::test_a_reader_that_is_none_of_ours_is_an_error["
    assert 0 < sum(map(lambda name: name.startswith(sampled), short)) < sum(name.startswith(sampled) for name in rest)


def test_each_source_has_tests_and_each_of_them_is_there():
    rows = [line.split() for line in (ROOT / "tests/for.txt").read_text(encoding="utf-8").splitlines()
            if not line.startswith("#")]
    missing = [pattern for _, *patterns in rows for pattern in patterns if not list((ROOT / "tests").glob(pattern))]
    equal(missing, [], "tests/for.txt names what is not there")
    equal([path for path, *_ in rows if not list(ROOT.glob(f"{path.removesuffix('/')}*"))], [], "sources")
    starts = tuple(path for path, *_ in rows)
    tops = ("lib", "sshd-helper", "pam", "cli", "reader", "worker", "network", "publisher")
    folders = {path.parent.relative_to(ROOT).as_posix() + "/" for top in tops for path in (ROOT / top).rglob("*.c")}
    equal([folder for folder in sorted(folders) if folder not in starts and folder != "cli/doctor/"], [],
          "folders without a row in tests/for.txt")
