#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Boots a Debian 12 in a virtual machine, for tests that need more than a chroot and a namespace.

Makes a disk image with systemd, AppArmor, SELinux and the stock sshd, boots it
in qemu, installs the packages of `make deb` there, and logs in. Needs root,
`scripts/deps vm`, and the archive that apt is configured with. A missing tool is
a failure that names it. tests/README.md lists the tests.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import image

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOOLS = ("qemu-system-x86_64", "mmdebstrap", "mke2fs", "apt-config", "dpkg-deb", "unshare", "cc", "cp")
# Each machine boots from a fresh copy of the image. A boot is a kernel command line and its stages.
MACHINES = {
    "apparmor": (("", ("packages", "switch", "doctor", "update", "apparmor", "logs", "removal")),),
    "selinux": (("security=selinux selinux=1 enforcing=0", ("selinux_permissive",)),
                ("security=selinux selinux=1 enforcing=1", ("selinux_enforcing",))),
}
CONSOLE = "root=/dev/vda rw console=ttyS0 quiet systemd.show_status=no printk.time=1"


def accelerator(folder):
    """KVM, if it boots this kernel on this machine. Else qemu's interpreter, which is slow."""
    console = folder / "accelerator.console"
    for how in ("host", "host,-arch-capabilities"):
        argv = ["qemu-system-x86_64", "-accel", "kvm", "-cpu", how, "-m", "512", "-display", "none", "-nodefaults",
                "-no-reboot", "-kernel", folder / "vmlinuz", "-append", "console=ttyS0 panic=-1",
                "-serial", f"file:{console}"]
        console.write_bytes(b"")
        try:
            # Without a root file system the kernel panics, and qemu ends.
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=False)
        except subprocess.TimeoutExpired:
            pass
        if b"Kernel panic" in console.read_bytes():
            return ["-accel", "kvm", "-cpu", how], 1
    return ["-accel", "tcg,thread=multi", "-cpu", "max"], 4


def make_payload(folder, debs, build):
    """Makes the second disk: the packages, the tests, and the keys for logins."""
    payload = folder / "payload"
    shutil.rmtree(payload, ignore_errors=True)
    shutil.copytree(HERE / "guest", payload / "guest", ignore=shutil.ignore_patterns("__pycache__", "*.c"))
    for path in ("tests/packaging/steps.py", *(f"tests/e2e/{name}.py" for name in (
            "clients", "keys", "openssh", "patience"))):
        shutil.copy(ROOT / path, payload / "guest")
    for name in ("README.md", "docs/by-hand.md", "docs/operations.md", "testdata/demo"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, payload / name.rsplit("/", maxsplit=1)[-1])
    (payload / "debs").mkdir()
    for deb in debs:
        shutil.copy(deb, payload / "debs")
    # The virtual machine has no compiler.
    subprocess.run(["cc", "-O1", "-static", "-o", payload / "guest/intruder", HERE / "guest/intruder.c"], check=True)
    # Several revisions, for the tests of keyveto update.
    make_filters(payload / "filters", build / "keyveto")
    disk = folder / "payload.img"
    image.make_disk(payload, disk, "64M", "payload")
    return disk


def make_filters(folder, keyveto):
    folder.mkdir()
    demo = ROOT / "testdata/demo"
    newer = folder / "newer.pkbf"
    shutil.copy(demo / "demo.pkbf", folder / "demo.pkbf")
    shutil.copy(demo / "demo.pkbf", newer)
    more = folder / "more"
    for number in (1, 2, 3):
        more.unlink(missing_ok=True)
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", more], check=True)
        subprocess.run([keyveto, "filter", "add", newer, f"{more}.pub"], check=True, capture_output=True)
        shutil.copy(newer, folder / f"newer{number}.pkbf")
        for name in (more, Path(f"{more}.pub")):
            name.unlink()
    newer.unlink()


class Machine:
    """One virtual machine, over its boots."""

    def __init__(self, options, name, base, payload, how):
        self.folder, self.name, self.payload = options.folder, name, payload
        self.accelerate, self.slower = how
        self.disk = self.folder / f"{name}.img"
        self.disk.unlink(missing_ok=True)
        subprocess.run(["cp", "--sparse=always", "--reflink=auto", base, self.disk], check=True)

    def boot(self, arguments, stages):
        """Boots the machine: the text that the guest wrote to its second serial port."""
        results, console = self.folder / f"{self.name}.results", self.folder / f"{self.name}.console"
        command = f"{CONSOLE} {arguments} keyveto.stages={','.join(stages)} keyveto.slower={self.slower}"
        argv = ["qemu-system-x86_64", *self.accelerate, "-m", "1024", "-smp", "2", "-display", "none", "-no-reboot",
                "-nodefaults", "-monitor", "none", "-nic", "none",
                "-kernel", self.folder / "vmlinuz", "-initrd", self.folder / "initrd.img", "-append", command,
                "-drive", f"file={self.disk},format=raw,if=virtio,cache=unsafe",
                "-drive", f"file={self.payload},format=raw,if=virtio,readonly=on",
                "-serial", f"file:{console}", "-serial", f"file:{results}",
                "-object", "rng-random,id=rng0,filename=/dev/urandom", "-device", "virtio-rng-pci,rng=rng0"]
        try:
            subprocess.run(list(map(str, argv)), stdin=subprocess.DEVNULL, timeout=900 * self.slower, check=False)
        except subprocess.TimeoutExpired:
            print(f"FAILED {self.name}: the machine did not end in time")
        said = results.read_text(encoding="utf-8", errors="replace") if results.exists() else ""
        if "end of the tests" not in said:
            tail = console.read_text(encoding="utf-8", errors="replace")[-3000:] if console.exists() else ""
            said += f"\nFAILED {self.name}: the machine never came to the end of its tests; its console:\n{tail}\n"
        return said.replace("\r", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the built programs are")
    parser.add_argument("--keep", type=Path, help="work in this folder, and keep the image for another run")
    parser.add_argument("--machine", choices=sorted(MACHINES), help="this one only")
    parser.add_argument("--stages", help="these stages of the first boot only, separated by commas")
    options = parser.parse_args()
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    debs = sorted(path for path in (ROOT / "build/deb").glob("*.deb") if "dbgsym" not in path.name)
    if len(debs) != 2:
        missing.append("build/deb/*.deb (make deb)")
    if not (options.build / "keyveto").exists():
        missing.append(f"{options.build}/keyveto (make)")
    if os.geteuid() != 0 or missing:
        print("vm: " + (f"missing: {' '.join(missing)}" if missing else "run this as root"))
        return 1
    # Not below /tmp, which may be in memory.
    options.folder = options.keep or Path(tempfile.mkdtemp(prefix="kvt-vm-", dir="/var/tmp"))
    options.folder.mkdir(exist_ok=True, parents=True)
    # apt downloads as its own user.
    options.folder.chmod(0o755)
    try:
        return run(options, debs)
    finally:
        if not options.keep:
            shutil.rmtree(options.folder)


def run(options, debs):
    base = image.make_base(options.folder, debs)
    payload = make_payload(options.folder, debs, options.build)
    how = accelerator(options.folder)
    print(f"note   qemu {' '.join(how[0])}", flush=True)
    passed = failed = 0
    for name, boots in MACHINES.items():
        if options.machine not in (None, name):
            continue
        machine = Machine(options, name, base, payload, how)
        for arguments, stages in boots:
            said = machine.boot(arguments, options.stages.split(",") if options.stages else stages)
            print(said, end="", flush=True)
            passed += len(re.findall(r"^ok ", said, re.MULTILINE))
            failed += len(re.findall(r"^FAILED ", said, re.MULTILINE))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
