#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Measures this build beside an older one, in turns.

    bench/beside.py --old DIR --build DIR [--rounds N] [WORK...]

DIR is a folder with the programs of a build. Prints for each work the old and the new median of seconds of processor
time, of the command and all that it starts, and of seconds on the clock; and the ratios of both. Needs root,
python3-cryptography and 3 GB in /var/tmp. audit is measured by bench/audit.py.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import data

HERE = Path(__file__).resolve().parent
ACCOUNTS = 20_000


def run(argv):
    """Seconds of processor time, and seconds."""
    began = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, {}, file_actions=[
        (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 2, "/dev/null", os.O_WRONLY, 0)])
    _, status, used = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        sys.exit(f"{argv} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began


def many_lines(kept, name, mixture):
    """A million: some, several times."""
    some = data.key_file(kept, 100_000, mixture, name).read_bytes()
    return data.write_once(kept / f"many-{name}.keys", lambda file: [file.write(some) for _ in range(10)])


def many_files(kept):
    """100,000 in 20,000 homes: some, several times."""
    some, tree = data.homes(kept, 1000), kept / "many-homes"
    if not tree.exists():
        for number in range(20):
            shutil.copytree(some, kept / "part" / str(number))
        (kept / "part").rename(tree)
    return tree


class Works:
    """Each method prepares one run of the programs in a folder, and returns its command."""

    def __init__(self, folder, kept):
        self.folder = folder
        self.filter = data.filter_file(kept, 31)
        self.mixed_keys = many_lines(kept, "mixed", data.MIXTURE)
        self.keys, self.tree = many_lines(kept, "ed25519", (("ed25519", 1),)), many_files(kept)
        self.static = folder / "static"
        subprocess.run(["cc", "-O2", "-static", "-o", self.static, HERE / "static.c"], check=True)
        self.place = None

    def version(self, build):
        return [build / "keyveto", "--version"]

    def mixed(self, build):
        return [build / "keyveto", "check", "--filter", self.filter, self.mixed_keys]

    def lines(self, build):
        return [build / "keyveto", "check", "--filter", self.filter, self.keys]

    def files(self, build):
        return [build / "keyveto", "check", "--filter", self.filter, self.tree]

    def add(self, build):
        target = self.folder / "added.pkbf"
        shutil.copy(self.filter, target)
        os.sync()
        return [build / "keyveto", "filter", "add", target, self.keys]

    def update(self, build):
        """From a server in this process."""
        if self.place is None:
            for name in ("cli", "e2e", "oracle", ""):
                sys.path.insert(0, str(HERE.parent / "tests" / name))
            import update_place
            self.place = update_place.Place(self.folder, body=self.filter.read_bytes())
        shutil.rmtree(self.place.state)
        self.place.state.mkdir(mode=0o755)
        os.sync()
        return [build / "keyveto", *self.place.arguments()]

    def guard(self, build):
        key = self.folder / "key"
        if not key.exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
            (self.folder / "home/.ssh").mkdir(parents=True)
            shutil.copy(self.folder / "key.pub", self.folder / "home/.ssh/authorized_keys")
            (self.folder / "keyveto.conf").write_text(f"Filter {self.filter}\n", encoding="ascii")
        kind, blob = (self.folder / "key.pub").read_text(encoding="ascii").split()[:2]
        return [build / "keyveto-authorized-keys", "--config", self.folder / "keyveto.conf", "--user", "root",
                "--home", self.folder / "home", "--type", kind, "--key", blob]


def audit(build):
    """Seconds of processor time of an audit of plain accounts."""
    done = subprocess.run([HERE / "audit.py", "--build", build, str(ACCOUNTS)], check=True, capture_output=True,
                          text=True)
    return float(done.stdout.split()[2]) * ACCOUNTS / 1e6, 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--old", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("work", nargs="*",
                        default=["version", "guard", "lines", "mixed", "files", "add", "update", "audit"])
    options = parser.parse_args()
    kept = Path("/var/tmp/keyveto-beside")
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="keyveto-beside-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        works = Works(folder, kept)
        for work in options.work:
            builds = [options.old.resolve(), options.build.resolve()]
            took = [[], [], []]
            for _ in range(options.rounds * (30 if work in ("version", "guard") else 1)):
                for measured, build in zip(took, builds):
                    argv = None if work == "audit" else list(map(str, getattr(works, work)(build)))
                    measured.append(run(argv) if argv else audit(build))
                if work == "version":
                    took[2].append(run([str(works.static)]))
            median = [[statistics.median(column) for column in zip(*measured)] for measured in took if measured]
            ratios = [median[1][i] / median[0][i] for i in (0, 1) if median[0][i]]
            print(work, " ".join(f"{value:.4g}" for one in median for value in one), "ratios",
                  " ".join(f"{ratio:.3f}" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
