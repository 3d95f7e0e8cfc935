# SPDX-License-Identifier: ISC
"""fuzz/build, by the variables of OSS-Fuzz, with compilers that only write what they were told."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TARGETS = sorted(path.stem for path in (ROOT / "fuzz").glob("fuzz_*.c"))
# What it writes has its options and, so that a program tells how its objects were compiled, its inputs.
COMPILER = """#!/bin/sh
printf '%s\\n' "$*" >"$0.told"
for word; do
    case $last$word in
    -o*) out=$word ;;
    */fuzz_*.o | *.a) inputs="$inputs $word" ;;
    esac
    last=
    [ "$word" != -o ] || last=-o
done
[ -z "$out" ] || [ "$out" = /dev/null ] || cat "$0.told" $inputs >"$out"
"""


@pytest.fixture(name="fuzz_build")
def fixture_fuzz_build(tmp_path):
    """Runs fuzz/build with these variables, in a folder with a blank in its name."""
    here = tmp_path / "a folder"
    for path in (here, tmp_path / "bin"):
        path.mkdir()
    for name, text in (("cc", COMPILER), ("c++", COMPILER), ("nproc", "#!/bin/sh\necho 1\n")):
        (tmp_path / "bin" / name).write_text(text, encoding="utf-8")
        (tmp_path / "bin" / name).chmod(0o755)

    def build(**variables):
        usual = {"CC": str(tmp_path / "bin/cc"), "CXX": str(tmp_path / "bin/c++"), "WORK": str(tmp_path / "work"),
                 "LIB_FUZZING_ENGINE": "-fsanitize=fuzzer", "OUT": "out",
                 "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS")}
        subprocess.run([ROOT / "fuzz/build"], check=True, cwd=here, env={**environment, **usual, **variables},
                       capture_output=True)
        return here / "out"
    return build


@pytest.mark.long
def test_another_sanitizer_compiles_again(fuzz_build):
    """OSS-Fuzz's helper.py keeps WORK and OUT."""
    fuzz_build(CFLAGS="-fsanitize=address", CXXFLAGS="-fsanitize=address")
    out = fuzz_build(CFLAGS="-fsanitize=undefined", CXXFLAGS="-fsanitize=undefined")
    for target in TARGETS:
        program = (out / target).read_bytes()
        assert program.count(b"-fsanitize=undefined") > 2 and b"-fsanitize=address" not in program, target


@pytest.mark.long
def test_out_is_of_the_callers_folder_and_has_what_oss_fuzz_looks_for(fuzz_build, tmp_path):
    (tmp_path / "engine.a").write_text("the engine")
    out = fuzz_build(LIB_FUZZING_ENGINE=str(tmp_path / "engine.a"))
    wanted = {f"{target}{end}" for target in TARGETS for end in ("", "_seed_corpus.zip", ".options")}
    dictionaries = {f"fuzz_{path.name}.dict" for path in (ROOT / "fuzz/dict").iterdir()}
    assert {path.name for path in out.iterdir()} == wanted | dictionaries | {"lib"}
    assert all(b"the engine" in (out / target).read_bytes() for target in TARGETS)
    for name in dictionaries:
        assert f"dict = {name}\n" in (out / name.replace(".dict", ".options")).read_text(encoding="ascii")
