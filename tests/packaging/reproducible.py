#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Builds a release twice, compares the bytes, and builds and installs the tarball.

These are the tarball, the Debian packages, the RPMs, the programs and the SBOM. The second build is another user's,
with another umask, locale, time zone, year, host name and HOME, on one processor, in a folder whose name is longer and
whose files come in another order, without a network. Both builds are of the commit that is checked out. Needs root and
`scripts/deps release`.
"""

import argparse
import difflib
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from run import in_sandbox, version
from steps import ROOT, Part, call, check, clean_environment, refusal

TOOLS = ("disorderfs", "faketime", "dpkg-buildpackage", "rpmbuild", "taskset")
BUILD = f"make -o placed dist deb all sbom && packaging/build-rpm {version()} --nodeps"
PATIENCE = 7200         # seconds, on a busy machine
JOBS = {"DEB_BUILD_OPTIONS": "nocheck parallel=3", "MAKEFLAGS": "-j3", "RPM_BUILD_NCPUS": "3"}
PROGRAMS = ("keyveto", "keyveto-authorized-keys", "keyveto-network", "keyveto-reader",
            "keyveto-worker", "pam_keyveto.so")
# Runs in a throw-away root. /mnt shows the files of $1 in another order.
ELSEWHERE = f"""
hostname elsewhere
mkdir -p /mnt/a-path-of-another-length
disorderfs -q --multi-user=yes --sort-dirents=yes --reverse-dirents=yes "$1" /mnt/a-path-of-another-length
cd /mnt/a-path-of-another-length
exec taskset -c 0 setpriv --reuid=nobody --regid=nogroup --clear-groups faketime '2031-02-03 04:05:06' \
    sh -euc 'umask 077; {BUILD}'
"""


def clone(target):
    call("git", "clone", "-q", "--no-hardlinks", ROOT, target)
    return target


def made(tree):
    """What a release consists of, by name."""
    files = [path for folder, pattern in (("dist", "keyveto-*"), ("deb", "*.*"), ("rpm", "**/*.rpm"))
             for path in (tree / "build" / folder).glob(pattern)
             # These tell of the machine that built: its packages, the clock and the folder.
             if not path.name.endswith((".buildinfo", ".changes", ".log"))]
    return {path.name: path for path in sorted((*files, *(tree / "build" / name for name in PROGRAMS)))}


def difference(one, two):
    """Where two files differ, by diffoscope if it is installed."""
    if shutil.which("diffoscope"):
        done = subprocess.run(["diffoscope", "--max-report-size", "4000", one, two], check=False, capture_output=True)
        return done.stdout.decode(errors="replace")
    return f"{one} {two}: to see where, install diffoscope"


def compare(part, one, two):
    check(set(one) == set(two), "\n".join(difflib.ndiff(sorted(one), sorted(two))))
    kinds = (".tar.gz", ".dsc", ".deb", ".src.rpm", ".json")
    check(all(any(name.endswith(kind) for name in one) for kind in kinds), f"only {sorted(one)} was built")
    for name, path in one.items():
        same = path.read_bytes() == two[name].read_bytes()
        check(same, f"{name} has other bytes\n{'' if same else difference(path, two[name])}")
    part.ok(f"two builds, the same bytes: {', '.join(one)}")


def from_the_tarball(part, folder):
    """Without git, a network or root, the tarball builds and installs, twice into the same folder."""
    one, tree, sbom = made(folder / "one"), folder / f"keyveto-{version()}", f"keyveto-{version()}.spdx.json"
    call("tar", "-x", "--no-same-owner", "-C", folder, "-f", one[f"keyveto-{version()}.tar.gz"])
    call("chown", "-R", "nobody:nogroup", tree)
    said = in_sandbox("sh", "-euc", """
        rm -f /usr/bin/git
        exec setpriv --reuid=nobody --regid=nogroup --clear-groups sh -euc '
            make && make install DESTDIR="$PWD/root" && make install DESTDIR="$PWD/root" && make sbom'
        """, shared=[folder], cwd=tree, timeout=PATIENCE,
                      env=clean_environment(**JOBS, HOME="/nonexistent"))
    check("warning" not in said, said)
    same = one[sbom].read_bytes() == (tree / "build/dist" / sbom).read_bytes()
    check(same, "the SBOM of the tarball has other bytes")
    installed = {path.read_bytes() for path in (tree / "root").rglob("*") if path.is_file()}
    for name in PROGRAMS:
        check(one[name].read_bytes() in installed, f"{name} of the tarball has other bytes")
    part.ok("the tarball builds and installs without git, a network or root, and gives the same programs")


def build_here(tree):
    call("sh", "-euc", f"umask 022; {BUILD}", cwd=tree, timeout=PATIENCE, env=clean_environment(**JOBS))


def build_elsewhere(tree):
    call("chown", "-R", "nobody:nogroup", tree)
    in_sandbox("sh", "-euc", ELSEWHERE, "sh", tree, shared=[tree.parent], timeout=PATIENCE, env=clean_environment(
        **JOBS, TZ="Pacific/Kiritimati", LC_ALL="C", LANG="tr_TR.UTF-8", USER="nobody", LOGNAME="nobody",
        HOME="/nonexistent"))


def builds(part, folder):
    one, two = clone(folder / "one"), clone(folder / "two")
    with ThreadPoolExecutor() as pool:
        for build in (pool.submit(build_here, one), pool.submit(build_elsewhere, two)):
            build.result()
    compare(part, made(one), made(two))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--keep", type=Path, help="build in this folder, which must not exist, and keep it")
    options = parser.parse_args()
    if reason := refusal(TOOLS):
        print(f"reproducible: {reason}")
        return 1
    part = Part()
    folder = options.keep or Path(tempfile.mkdtemp(prefix="kvt-reproducible-", dir="/var/lib"))
    folder.mkdir(exist_ok=not options.keep)
    folder.chmod(0o755)
    try:
        part.run(builds, folder)
        part.run(from_the_tarball, folder)
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    return part.status()


if __name__ == "__main__":
    sys.exit(main())
