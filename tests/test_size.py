# SPDX-License-Identifier: ISC
"""scripts/size counts as git, wc and nm do, and fails above scripts/size.max."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SIZE = ROOT / "scripts" / "size"
of_a_clone = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone")      # but a tarball


def run(*argv, status=0, **options):
    done = subprocess.run([str(word) for word in argv], stdout=subprocess.PIPE, text=True, check=False, **options)
    assert done.returncode == status, done.stdout
    return done.stdout


def allow(place, figure):
    size = place / "scripts/size.max"
    size.write_text(re.sub(r" \d+", f" {figure}", size.read_text(encoding="ascii")), encoding="ascii")


def copied(build, tmp_path):
    """A copy of the sources and of what scripts/size asks of the build."""
    run("sh", "-c", 'git ls-files -z | tar -c --null -T - | tar -x -C "$1"', "sh", tmp_path, cwd=ROOT)
    (tmp_path / "build").symlink_to(build)
    return tmp_path


@of_a_clone
def test_the_figures_are_those_of_git_and_wc(build):
    said = subprocess.run([SIZE, build], stdout=subprocess.PIPE, text=True, check=False).stdout
    counted = {name: int(number) for name, number in re.findall(r"^(\S+) +(\d+) ", said, re.MULTILINE)}

    def lines(*words):
        return len(run("sh", "-c", 'git ls-files -z -- "$@" | xargs -0 cat', "sh", *words, cwd=ROOT).splitlines())

    login, beside = ("lib", "sshd-helper", "pam"), ("tests", "fuzz", "prove", "bench", "testdata", "demo")

    def below(folders, *kinds):
        return [f":(glob){folder}/**/{kind}" for folder in folders for kind in kinds]

    def without(folders):
        return [f":(exclude){folder}" for folder in folders]

    assert counted["login-path"] == lines(*below(login, "*.c", "*.h"))
    assert counted["command"] == lines("*.c", "*.h", *without((*login, *beside)))
    assert counted["pages"] == len(run("git", "ls-files", "man/*.[1-8]", cwd=ROOT).splitlines())
    # Beside these, scripts of Python without a suffix count.
    assert 0 <= counted["tests"] - lines(*below(beside, "*.c", "*.h", "*.py")) < 500


@of_a_clone
def test_a_line_above_the_most_fails_and_a_figure_never_rises(build, tmp_path):
    place = copied(build, tmp_path)
    size = place / "scripts/size.max"
    allow(place, 1000000)
    run(place / "scripts/size", "--lower")
    assert run(place / "scripts/size", "--check") == ""
    with open(place / "cli/main.c", "a", encoding="ascii") as file:
        file.write("\n")
    said = run(place / "scripts/size", "--check", status=1)
    assert said.startswith("command: ") and "\nrun-by-root: " in said and said.count("\n") == 2, said
    lowered = size.read_text(encoding="ascii")
    run(place / "scripts/size", "--lower")
    assert size.read_text(encoding="ascii") == lowered


@of_a_clone
def test_a_function_that_nothing_calls_fails(build, tmp_path):
    place = copied(build, tmp_path)
    (place / "build").unlink()
    run("cp", "-R", build, place / "build")
    (tmp_path / "forgotten.c").write_text("int forgotten(void)\n{\n\treturn 0;\n}\n", encoding="ascii")
    run("cc", "-c", "-o", place / "build/cli/forgotten.o", tmp_path / "forgotten.c")
    (tmp_path / "forgotten.c").rename(place / "cli/forgotten.c")
    allow(place, 1000000)
    assert run(place / "scripts/size", "--check", status=1) == "cli/forgotten.c: nothing calls forgotten: remove it\n"
