# SPDX-License-Identifier: ISC
"""Finds CBMC 6 on this machine, or makes a throw-away Debian 13 that has it."""

import os
import pathlib
import re
import shutil
import subprocess

SUITE = "trixie"
# CBMC, its solvers, and the headers that the login path includes.
PACKAGES = "cbmc gcc libc6-dev libmd-dev libpam0g-dev libxxhash-dev kissat z3".split()


class Missing(Exception):
    """There is no CBMC, and none could be had."""


class Tools:
    """Runs CBMC's programs in folder or below, in root or (None) on this machine."""

    def __init__(self, folder, root=None):
        self.folder, self.root = folder, root
        folder.mkdir(parents=True, exist_ok=True)

    def command(self, tree, command):
        if self.root is None:
            return ["env", "-C", str(tree), *command]
        inside = "/" + str(tree.relative_to(self.root))
        return ["chroot", str(self.root), "/usr/bin/env", "-C", inside, *command]

    def run(self, tree, command, **options):
        return subprocess.run(self.command(tree, command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, **options)

    def ask(self, tree, command, limit):
        """Returns what the command printed, the processor time that it took, in seconds, its
        memory in MB, and whether it was killed. It is once it has taken limit seconds."""
        command = ["prlimit", f"--cpu={limit}", "--", *self.command(tree, command)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            said = process.stdout.read()
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        return said, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024, process.returncode < 0


def is_new_enough():
    if not all(map(shutil.which, ("cbmc", "goto-cc", "goto-instrument", "kissat", "z3"))):
        return False
    version = subprocess.run(["cbmc", "--version"], stdout=subprocess.PIPE, text=True).stdout
    return int((re.match(r"\d+", version) or ["0"])[0]) >= 6


def mirror():
    """The first Debian mirror that this machine's apt uses."""
    said = subprocess.run(["apt-get", "indextargets", "--format", "$(SITE) $(ORIGIN) $(LABEL)"],
                          stdout=subprocess.PIPE, text=True).stdout
    for line in said.splitlines():
        site, _, label = line.partition(" ")
        if label == "Debian Debian":
            return [site]
    return []


def make_root(root):
    """Makes the system below a name of its own first, so that a broken one is made again."""
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise Missing("needs cbmc 6 or later, kissat and z3 on PATH; or root and debootstrap, to make a throw-away "
                      f"Debian ({SUITE}) that has it")
    making = root.with_name(f"{root.name}.new")
    # One that was interrupted may have /proc mounted.
    subprocess.run(["rm", "-rf", "--one-file-system", str(making)], check=True)
    making.parent.mkdir(parents=True, exist_ok=True)
    print(f"making a throw-away {SUITE} in {root}", flush=True)
    log = root.with_name("making.log")
    with open(log, "w", encoding="utf-8") as said:
        for command in (["debootstrap", "--variant=minbase", SUITE, str(making), *mirror()],
                        ["chroot", str(making), "apt-get", "install", "-q", "-y", "--no-install-recommends",
                         *PACKAGES]):
            if subprocess.run(command, stdout=said, stderr=said, env=dict(os.environ, LC_ALL="C"),
                              check=False).returncode != 0:
                raise Missing(f"{' '.join(command)} failed: see {log}")
    making.rename(root)


def find_cbmc(build):
    """build is the folder for everything that a run leaves."""
    if is_new_enough():
        return Tools(build)
    root = pathlib.Path(os.environ.get("PROVE_ROOT", build / SUITE)).resolve()
    if not root.exists():
        make_root(root)
    return Tools(root / "prove", root)
