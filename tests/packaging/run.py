#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The packages and the samples of packaging/: built, checked, and put to use.

Builds the Debian packages, then installs, uses, upgrades, removes and purges
them in throw-away copies of this machine.
Needs root and `scripts/deps packages`. A missing tool is a failure that names it.
"""

import argparse
import re
import shutil
import sys
import tempfile
from pathlib import Path

from steps import ROOT, Part, call, check, clean_environment, refusal

HERE = Path(__file__).resolve().parent
SANDBOX = ROOT / "tests/e2e/sandbox.py"
TOOLS = ("dpkg-buildpackage", "dh", "lintian", "rpmbuild", "rpmlint", "checkmodule", "semodule_package",
         "apparmor_parser", "fail2ban-regex", "rsyslogd", "pam-auth-update", "sshd", "make", "strace")
# build-essential, which every Debian build has.
ESSENTIAL = {"gcc", "libc6-dev", "make"}


def in_sandbox(*argv, shared=(), **options):
    """Runs a command in a throw-away root, whose network is loopback alone."""
    shares = [word for folder in shared for word in ("--share", folder)]
    return call(sys.executable, SANDBOX, *shares, "--", *argv, **options)


def copy_tree(target):
    """A clean copy of the sources, as a clone has them."""
    shutil.rmtree(target, ignore_errors=True)       # a copy of an earlier run with --keep
    shutil.copytree(ROOT, target, symlinks=True, ignore=lambda folder, names: {
        name for name in names if name in (".git", "__pycache__") or (name == "build" and Path(folder) == ROOT)})
    return target


def version():
    return re.search(r"^VERSION = (\S+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]


def builds(part, folder):
    """Builds the packages. tests/packaging/reproducible.py builds them once more, and compares the bytes."""
    tree = copy_tree(folder / "one")
    in_sandbox("make", "deb", shared=[folder], cwd=tree, env=clean_environment())
    made = [path.name for path in (tree / "build/deb").glob("*.deb")]
    wanted = {f"{name}_{version()}-" for name in ("keyveto", "keyveto-fleet", "libpam-keyveto")}
    check(all(any(name.startswith(stem) for name in made) for stem in wanted), f"only {sorted(made)} was built")
    part.ok(f"make deb, without a network: {', '.join(sorted(wanted))}, whose unit tests pass")
    levels = {re.findall(r"_FORTIFY_SOURCE(?:=\d)?", line)[-1]
              for line in (tree / "build/deb/build.log").read_text(encoding="utf-8").splitlines()
              if " -c " in line and "_FORTIFY_SOURCE" in line}
    check(levels == {"_FORTIFY_SOURCE=3"}, f"compiled with {levels}")
    part.ok("all is compiled with _FORTIFY_SOURCE=3")
    make_upgrade(folder)


def lint(part, folder):
    said = call("lintian", "--allow-root", "-EvIL", "+pedantic", "--fail-on", "error,warning,info,pedantic",
                *sorted((folder / "one/build/deb").glob("*.changes")))
    found = [line for line in said.splitlines() if re.match(r"[EWIPX]: ", line)]
    check(not found, "\n".join(found))
    part.ok("lintian has nothing to say, down to pedantic")


def metadata(part, _folder):
    """Lists that stand in two files agree."""
    deps = re.search(r"^build='([^']*)'", (ROOT / "scripts/deps").read_text(encoding="utf-8"), re.MULTILINE)[1]
    control = (ROOT / "packaging/debian/control").read_text(encoding="utf-8").split("\n\n", 1)[0]
    named = set(re.findall(r"^ ([a-z0-9.+-]+)", control, re.MULTILINE))
    missing = set(deps.split()) - ESSENTIAL - named
    check(not missing, f"Build-Depends lacks what scripts/deps installs: {missing}")
    part.ok("the build dependencies agree with scripts/deps")


def rpms(part, folder):
    tree = copy_tree(folder / "rpm")
    call("packaging/build-rpm", version(), "--nodeps", cwd=tree, env=clean_environment())
    made = sorted((tree / "build/rpm").rglob("*.rpm"))
    check(len(made) == 4, f"only {made} was built")
    part.ok(f"rpmbuild: {', '.join(path.name for path in made)}")
    call("rpmlint", "--strict", "--rpmlintrc", tree / "packaging/rpm/keyveto.rpmlintrc", *made)
    part.ok("rpmlint says what keyveto.rpmlintrc explains, and nothing else")


def confinement(part, folder):
    made = folder / "selinux"
    shutil.copytree(ROOT / "packaging/selinux", made, dirs_exist_ok=True)
    # The commands are those in the comments of keyveto.te.
    told = [line[1:].strip() for line in (made / "keyveto.te").read_text(encoding="utf-8").splitlines()
            if re.match(r"#\s+(checkmodule|semodule_package) ", line)]
    check(len(told) == 2, f"keyveto.te tells {told}")
    for command in told:
        call(*command.split(), cwd=made)
    check((made / "keyveto.pp").stat().st_size > 0, "the policy package is empty")
    part.ok("SELinux: the module compiles, and makes a package")

    profile = ROOT / "packaging/apparmor/usr.libexec.keyveto-authorized-keys"
    call("apparmor_parser", "-Q", "-K", profile)
    broken = folder / "broken"
    broken.write_text(profile.read_text(encoding="utf-8").replace("capability setuid", "capability setuidd"),
                      encoding="utf-8")
    call("apparmor_parser", "-Q", "-K", broken, status="failure")
    part.ok("AppArmor: the profile compiles")


def make_upgrade(folder):
    """Builds the same packages under the next version, for an upgrade."""
    target = folder / "upgrade"
    target.mkdir()
    (folder / "unpacked").mkdir()
    for path in (folder / "one/build/deb").glob("*.deb"):
        if "dbgsym" in path.name:
            continue
        tree = folder / "unpacked" / path.name
        call("dpkg-deb", "-R", path, tree)
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(rf"(Version: |\(= ){re.escape(version())}-\d+", r"\g<1>999.0",
                                  control.read_text(encoding="utf-8")), encoding="utf-8")
        call("dpkg-deb", "--root-owner-group", "-b", tree, target)


def life(part, folder, stage):
    """Runs a stage of stages.py in its own throw-away root."""
    said = in_sandbox(sys.executable, HERE / "stages.py", stage, folder, shared=[], env=clean_environment(), cwd=ROOT)
    print(said, end="")
    counted = re.search(r"(\d+) passed, 0 failed\s*$", said)
    check(counted and int(counted[1]) > 0, f"{stage} says nothing of its result")
    part.passed += int(counted[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the built programs are")
    parser.add_argument("--keep", type=Path, help="work in this folder, and keep what it holds already built")
    options = parser.parse_args()
    if reason := refusal(TOOLS):
        print(f"packages: {reason}")
        return 1
    part = Part()
    # Not below /tmp or /root: the comparisons leave these out.
    folder = options.keep or Path(tempfile.mkdtemp(prefix="kvt-packages-", dir="/var/lib"))
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    try:
        if not (folder / "upgrade").exists():
            part.run(builds, folder)
        for check_it in (lint, metadata, rpms, confinement):
            part.run(check_it, folder)
        (folder / "programs").mkdir(exist_ok=True)
        for name in ("keyveto", "keyveto-authorized-keys", "pam_keyveto.so"):
            shutil.copy2(options.build / name, folder / "programs")
        for stage in ("packages", "readme", "orders", "profile", "rpm", "operations", "samples", "settings"):
            part.run(life, folder, stage)
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    return part.status()


if __name__ == "__main__":
    sys.exit(main())
