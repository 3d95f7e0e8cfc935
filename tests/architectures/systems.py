# SPDX-License-Identifier: ISC
"""The libraries of another architecture, programs built with them, and the kernel's way to run those.

Debian's cross compilers run on this machine. The libraries come from Debian's archive by an apt of their own, and are
unpacked into a folder: dpkg of this machine does not learn of them.
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "build/architectures"
BINFMT = Path("/proc/sys/fs/binfmt_misc")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = ("libc6-dev", "libpam0g-dev", "libmd-dev", "libssh-dev", "libssl-dev", "libjansson-dev",
            "libcurl4-openssl-dev", "liblzma-dev", "libzstd-dev", "zlib1g-dev", "libgmp-dev",
            "libseccomp-dev", "libxxhash-dev", "libcmocka-dev", "libpam-modules")
APT = """APT::Architecture "{name}";
APT::Architectures {{ "{name}"; }};
APT::Install-Recommends "false";
Acquire::Retries "3";
Acquire::Languages "none";
Dir::State "{place}/apt";
Dir::State::status "{place}/apt/status";
Dir::Cache "{place}/apt";
Dir::Etc::sourcelist "{place}/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
"""


class Impossible(Exception):
    """This machine cannot run programs of the architecture; the text says why."""


@dataclass(frozen=True)
class Architecture:
    """A name of Debian's, and what others call it."""
    name: str
    suite: str              # the release that the libraries are from
    compiler: str           # the prefix of gcc's name
    libraries: str          # the folder in /usr/lib
    emulator: str = ""      # none: the processor itself runs its programs

    @property
    def place(self):
        return PLACE / self.name

    @property
    def root(self):
        return self.place / "root"

    @property
    def build(self):
        return self.place / "build"


# Debian 13 is the first with 64-bit time on armhf, and the first with riscv64.
ARCHITECTURES = {one.name: one for one in (
    Architecture("s390x", "bookworm", "s390x-linux-gnu", "s390x-linux-gnu", "qemu-s390x"),
    Architecture("i386", "bookworm", "i686-linux-gnu", "i386-linux-gnu"),
    Architecture("arm64", "bookworm", "aarch64-linux-gnu", "aarch64-linux-gnu", "qemu-aarch64"),
    Architecture("armhf", "trixie", "arm-linux-gnueabihf", "arm-linux-gnueabihf", "qemu-arm"),
    Architecture("riscv64", "trixie", "riscv64-linux-gnu", "riscv64-linux-gnu", "qemu-riscv64"),
    Architecture("ppc64el", "bookworm", "powerpc64le-linux-gnu", "powerpc64le-linux-gnu", "qemu-ppc64le"),
)}


def _archive():
    """Where this machine's apt finds Debian."""
    said = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Origin: Debian",
                           "Label: Debian"], capture_output=True, text=True, check=True).stdout.split()
    if not said:
        raise Impossible("apt has no list of a Debian archive: type apt-get update")
    return said[0]


def _download(place, name, suite, *packages):
    """The packages of an architecture and all that they depend on, as files."""
    apt = place / "apt"
    for folder in (apt / "lists/partial", apt / "archives/partial"):
        folder.mkdir(parents=True, exist_ok=True)
    (apt / "status").touch()
    (apt / "sources.list").write_text(f"deb [signed-by={KEYRING}] {_archive()} {suite} main\n", encoding="utf-8")
    (apt / "conf").write_text(APT.format(name=name, place=place), encoding="utf-8")
    environment = {**os.environ, "APT_CONFIG": str(apt / "conf")}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, check=True)
    subprocess.run(["apt-get", "install", "-qq", "-y", "--download-only", *packages], env=environment, check=True,
                   stdout=subprocess.DEVNULL)
    return sorted((apt / "archives").glob("*.deb"))


def _of_this_machine():
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


def _unpack(package, folder):
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as unpacking:
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", folder], stdin=unpacking.stdout, check=True)


def make_root(arch):
    """The folder arch.root, with the libraries. One that is there stays as it is."""
    if arch.root.exists():
        return
    packages = _download(arch.place, arch.name, arch.suite, *PACKAGES)
    making = arch.root.with_name("root.new")
    shutil.rmtree(making, ignore_errors=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (making / "usr" / name).mkdir(parents=True)
        (making / name).symlink_to(f"usr/{name}")
    for package in packages:
        _unpack(package, making)
    # The linker would find the file of this machine.
    for link in (*making.glob("usr/lib/**/*"), *making.glob("usr/lib64/*")):
        if link.is_symlink() and os.path.isabs(os.readlink(link)):
            target = os.path.relpath(making / os.readlink(link).lstrip("/"), link.parent)
            link.unlink()
            link.symlink_to(target)
    making.rename(arch.root)


def make_programs(arch):
    """The programs and the unit tests, in arch.build. A warning of the compiler is an error."""
    folders = f"{arch.root}/usr/lib/{arch.libraries}/pkgconfig:{arch.root}/usr/share/pkgconfig"
    environment = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(arch.root), "PKG_CONFIG_LIBDIR": folders}
    subprocess.run(["make", "--no-print-directory", "-s", "CI=1", f"BUILD={arch.build.relative_to(ROOT)}",
                    f"CC={arch.compiler}-gcc --sysroot={arch.root}", f"AR={arch.compiler}-ar",
                    f"PAMDIR=/usr/lib/{arch.libraries}/security", "all", "unit-tests"],
                   cwd=ROOT, env=environment, check=True)


def install_libraries(arch):
    """In a throw-away root: the libraries, where the programs look for them."""
    libraries = Path("/usr/lib") / arch.libraries
    shutil.rmtree(libraries, ignore_errors=True)
    subprocess.run(["cp", "-a", arch.root / "usr/lib" / arch.libraries, "/usr/lib/"], check=True)
    for loader in (*arch.root.glob("usr/lib/ld*.so.*"), *arch.root.glob("usr/lib64/ld*.so.*")):
        there = Path("/") / loader.relative_to(arch.root)
        there.unlink(missing_ok=True)
        there.symlink_to(Path("/") / loader.resolve().relative_to(arch.root.resolve()))
    # Tests compile libraries that keyveto's programs load.
    compiler = Path("/usr/local/bin/cc")
    compiler.unlink(missing_ok=True)
    compiler.write_text(f'#!/bin/sh\nexec {arch.compiler}-gcc --sysroot={arch.root} "$@"\n', encoding="utf-8")
    compiler.chmod(0o755)
    if arch.emulator:
        _replace_seccomp(arch, libraries)


def _replace_seccomp(arch, libraries):
    """See seccomp.c. Debian's library gets another name, and the new one needs it."""
    name, debians = "libseccomp.so.2", "libseccomp-debian.so.2"
    compile_ = (f"{arch.compiler}-gcc", "-shared", "-fPIC", "-nostdlib", "-Wl,--no-as-needed")
    (libraries / name).resolve().rename(libraries / debians)
    (libraries / name).unlink()
    with tempfile.TemporaryDirectory() as scratch:
        stub = Path(scratch) / debians
        subprocess.run([*compile_, f"-Wl,-soname,{debians}", "-x", "c", "/dev/null", "-o", stub], check=True)
        subprocess.run([*compile_, f"-Wl,-soname,{name}", Path(__file__).with_name("seccomp.c"), stub, "-o",
                        libraries / name], check=True)


def make_emulator(arch):
    """Returns the emulator of the architecture. Debian 12's does not know openat2(2), which reads PAM's stacks."""
    found = PLACE / "qemu" / arch.emulator
    if not found.exists():
        place = PLACE / "qemu"
        packages = _download(place, _of_this_machine(), "trixie", "qemu-user")
        _unpack(next(one for one in packages if one.name.startswith("qemu-user_")), place)
        (place / "usr/bin" / arch.emulator).rename(found)
    return found


def _registration(name, program, emulator):
    """A line for binfmt_misc: by which bytes the kernel knows the programs that the emulator is for."""
    magic = program.read_bytes()[:20]
    mask = bytearray(b"\xff" * len(magic))
    mask[7:16] = bytes(9)                                   # the system, and what is unused
    mask[17 if magic[5] == 2 else 16] = 0xfe                # position independent or not
    fields = ("".join(f"\\x{byte:02x}" for byte in data) for data in (magic, mask))
    return f":{name}:M::{':'.join(fields)}:{emulator}:POF"


@contextlib.contextmanager
def emulation(arch):
    """While this lasts, the kernel runs programs of the architecture. Raises Impossible if it cannot."""
    if not arch.emulator:
        yield
        return
    if not (BINFMT / "register").exists():
        done = subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise Impossible("the kernel has no binfmt_misc here. On the machine's own system, as root, type modprobe "
                             f"binfmt_misc; a container needs the right to mount it: {done.stderr.strip()}")
    # The kernel opens the emulator now, so it also works in other roots.
    name = f"keyveto-{arch.name}-{os.getpid()}"
    try:
        (BINFMT / "register").write_text(_registration(name, arch.build / "keyveto", make_emulator(arch)),
                                         encoding="ascii")
    except OSError as error:
        raise Impossible(f"{BINFMT}/register: {error.strerror}") from None
    try:
        yield
    finally:
        (BINFMT / name).write_text("-1", encoding="ascii")
