# SPDX-License-Identifier: ISC
"""How the binaries are built: their libraries, their exported symbols, their hardening."""

import platform
import re
import shlex
import subprocess
from pathlib import Path

import pytest

GUARD, MODULE, COMMAND, READER, WORKER, NETWORK = BINARIES = (
    "keyveto-authorized-keys", "pam_keyveto.so", "keyveto", "keyveto-reader", "keyveto-worker", "keyveto-network")

ENTRY_POINTS = {"pam_sm_authenticate", "pam_sm_setcred", "pam_sm_acct_mgmt", "pam_sm_open_session",
                "pam_sm_close_session", "pam_sm_chauthtok"}
# What readelf prints of an object whose jumps the processor may watch.
MARKS = {"x86_64": "x86 feature: IBT, SHSTK", "aarch64": "AArch64 feature: BTI, PAC"}
ROOT = Path(__file__).resolve().parent.parent
HOW_IT_WORKS = (ROOT / "docs/how-it-works.md").read_text(encoding="utf-8")
# The start-up files of the compiler put this much into writable sections.
START_UP_BYTES = 8


def read(*arguments):
    return subprocess.run([str(word) for word in arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture(name="binary", params=BINARIES)
def fixture_binary(request, build):
    return build / request.param


def test_is_position_independent(binary):
    assert "DYN (" in read("readelf", "-Wh", binary)


def test_has_full_relro(binary):
    assert "GNU_RELRO" in read("readelf", "-Wl", binary)
    assert "BIND_NOW" in read("readelf", "-Wd", binary)


def test_has_no_executable_stack(binary):
    assert re.search(r"GNU_STACK.* RW +0x", read("readelf", "-Wl", binary))


def test_has_no_segment_that_is_writable_and_executable(binary):
    assert not re.search(r"LOAD.* RWE ", read("readelf", "-Wl", binary))


def test_has_no_text_relocations(binary):
    assert "TEXTREL" not in read("readelf", "-Wd", binary)


def test_has_no_search_path_of_its_own(binary):
    assert not re.search("RPATH|RUNPATH", read("readelf", "-Wd", binary))


def test_has_the_stack_protector(binary):
    assert "__stack_chk_fail" in read("readelf", "-Ws", binary)


def test_is_fortified(binary):
    assert re.search(r"__\w+_chk\b", read("readelf", "-Ws", binary).replace("__stack_chk", ""))


def compile_command(*settings):
    """How make compiles a file with these settings, as words."""
    said = read("make", "-s", "-n", "-C", ROOT, "-W", "lib/kv_log.c", "V=1", *settings, "build/lib/kv_log.o")
    return shlex.split(next(line for line in said.splitlines() if line.endswith("lib/kv_log.c")))


def fortified(command):
    """The level that the C library takes from a command's settings."""
    macros = read(*command[:command.index("-MMD")], "-include", "stdlib.h", "-dM", "-E", "-x", "c", "/dev/null")
    return int(re.search(r"#define __USE_FORTIFY_LEVEL (\d)", macros).group(1))


def known(flag):
    """Whether this machine's compiler takes it without a word."""
    return subprocess.run(("cc", "-Werror", flag, "-x", "c", "-S", "-o", "/dev/null", "/dev/null"), check=False,
                          capture_output=True).returncode == 0


def test_is_fortified_as_far_as_the_library_knows():
    most = ["cc", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=3", "-MMD"]
    assert fortified(compile_command()) == fortified(most) >= 2


@pytest.mark.parametrize("setting, level", (("CPPFLAGS=-D_FORTIFY_SOURCE=1", 1),
                                            ("CFLAGS=-O2 -Wp,-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2", 2)))
def test_is_fortified_as_a_distribution_says(setting, level):
    assert fortified(compile_command(setting)) == level


def test_is_hardened_where_cflags_say_where_the_headers_are():
    """Without headers, no flag would seem to be known."""
    words = compile_command("CC=cc --sysroot=/nonexistent", "CFLAGS=-O2 --sysroot=/")
    assert set(compile_command("CFLAGS=-O2")) <= set(words)


@pytest.mark.parametrize("flag", ("-fcf-protection=none", "-fno-stack-clash-protection", "-fno-stack-protector"))
def test_what_cflags_say_of_hardening_comes_last(flag):
    words = compile_command(f"CFLAGS=-O2 {flag}")
    name = re.sub("-f(no-)?|=.*", "", flag)
    assert [word for word in words if name in word][-1] == flag


def newer_than(path, other):
    """An older object is of a file that is gone: all that exist depend on the Makefile."""
    return path.stat().st_mtime >= other.stat().st_mtime


# Debian 12's own start-up files and libmd.a have no marks, so the programs have none.
@pytest.mark.skipif(platform.machine() not in MARKS, reason="this processor has no such marks")
def test_every_object_is_marked_for_the_processor_to_watch_its_jumps(build):
    objects = [path for part in ("lib", "sshd-helper", "pic", "cli", "reader", "worker", "network")
               for path in (build / part).rglob("*.o") if newer_than(path, ROOT / "Makefile")]
    assert len(objects) > 250
    assert read("readelf", "-n", *objects).count(MARKS[platform.machine()]) == len(objects)


# gcc tells debuggers its options.
def test_is_compiled_with_what_this_compiler_knows(binary):
    told = read("readelf", "--debug-dump=info", "--dwarf-depth=1", binary)
    producers = re.findall(r"DW_AT_producer.*: (GNU C11.*)", told)
    flags = [flag for flag in ("-fstack-clash-protection", "-ftrivial-auto-var-init=zero") if known(flag)]
    assert producers and flags
    assert all(flag in producer for producer in producers for flag in flags)


def test_links_what_the_page_says_and_nothing_else(binary):
    row = re.search(rf"^\| `{binary.name}` \| (.*) \|$", HOW_IT_WORKS, re.MULTILINE)
    said = set(re.findall(r"\blib\w+(?=[,| ]|$)", row[1])) | {"libc"}
    linked = set(re.findall(r"\(NEEDED\).*\[(.*)\.so\.\d+\]", read("readelf", "-Wd", binary)))
    # The guard has libmd in itself where it can.
    assert linked in ((said, said - {"libmd"}) if binary.name == GUARD else (said,))


# What parsed what others wrote before there were walls, and what builds them.
@pytest.mark.parametrize("library", ("crypto", "curl", "gmp", "lzma", "seccomp", "ssh", "ssl", "z", "zstd"))
def test_the_command_does_not_map_what_parses(build, library):
    """Not by way of another library either."""
    mapped = re.findall(r"lib([\w+-]+)\.so", read("ldd", build / COMMAND))
    assert {"c", "jansson", "md", "pam"} <= set(mapped)
    assert library not in mapped


def test_the_guard_does_not_wait_for_the_loading_of_libmd(build):
    if read("cc", "-print-file-name=libmd.a").startswith("/"):
        assert re.findall(r"\(NEEDED\).*\[(.*)\]", read("readelf", "-Wd", build / GUARD)) == ["libc.so.6"]


def test_the_module_shows_the_entry_points_of_pam_alone(build):
    assert set(re.findall(r" T (\w+)", read("nm", "-D", "--defined-only", build / MODULE))) == ENTRY_POINTS


# Constants are in .data.rel.ro. Variables that keep their value between calls are in these sections.
@pytest.mark.parametrize("section", (".data", ".bss"))
def test_the_module_keeps_no_state_between_calls(build, section):
    size = re.search(rf"\s\{section}\s+\w+\s+\w+\s+\w+\s+(\w+)", read("readelf", "-WS", build / MODULE))
    assert size is None or int(size.group(1), 16) <= START_UP_BYTES


# If an account could read the guard, it could trace the guard before guard_harden prevents that.
@pytest.mark.parametrize("name, mode", ((GUARD, 0o711), (MODULE, 0o644), (COMMAND, 0o755), (READER, 0o755),
                                        (WORKER, 0o755), (NETWORK, 0o755)))
def test_is_installed_with_its_mode(build, scratch, pytestconfig, name, mode):
    read("make", "-s", "-C", pytestconfig.rootpath, "-o", "all", f"BUILD={build}", "install", f"DESTDIR={scratch}")
    found = [path.stat().st_mode & 0o7777 for path in scratch.rglob(name)
             if path.is_file() and path.parent.name in ("libexec", "security", "bin", "keyveto")]
    assert found == [mode]
