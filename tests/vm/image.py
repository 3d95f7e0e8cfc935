# SPDX-License-Identifier: ISC
"""Makes a disk image with a stock Debian 12, from the archive that this machine's apt uses."""

import os
import shutil
import subprocess
import uuid
from pathlib import Path

SUITE = "bookworm"
SOURCES = ("/etc/apt/sources.list", "/etc/apt/sources.list.d")
# A Debian server, with AppArmor and SELinux.
PACKAGES = ("systemd-sysv", "udev", "dbus", "libpam-systemd", "linux-image-cloud-amd64", "initramfs-tools", "kmod",
            "openssh-server", "openssh-sftp-server", "rsyslog", "logrotate", "apparmor", "selinux-policy-default",
            "policycoreutils", "checkpolicy", "semodule-utils", "python3", "openssl", "procps", "iproute2",
            "ca-certificates", "netbase")
# Downloaded, and installed later: the virtual machine has no network.
FETCHED = ("fail2ban", "python3-systemd", "nftables")
# How apt reaches the archive, and which errors it ignores.
APT_OPTIONS = ("Acquire::Check-Valid-Until", "Acquire::Check-Date", "Acquire::http::Proxy", "Acquire::https::Proxy",
               "Acquire::ftp::Proxy", "Acquire::Retries")

FSTAB = "/dev/vda / ext4 rw,errors=remount-ro 0 1\n"
# Runs the program on the second disk. The machine ends with it.
UNIT = """\
[Unit]
Description=keyveto: tests of this machine
After=multi-user.target ssh.service rsyslog.service
SuccessAction=poweroff-force
FailureAction=poweroff-force

[Service]
Type=simple
Environment=HOME=/root LC_ALL=C.UTF-8
ExecStartPre=/bin/mount -o ro /dev/vdb /mnt
ExecStart=/usr/bin/python3 -B /mnt/guest/boot.py
StandardOutput=journal+console
StandardError=journal+console
"""


def apt_options():
    said = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if line.split(" ", 1)[0] in APT_OPTIONS]


def sources():
    """This machine's sources of packages, for the suite of the image."""
    found = []
    for place in map(Path, SOURCES):
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        found += [path for path in files if path.is_file() and path.suffix in (".list", ".sources")
                  and SUITE in path.read_text(encoding="utf-8", errors="replace")]
    return found


def dependencies(debs):
    """The names of the packages that keyveto's packages depend on."""
    names = set()
    for deb in debs:
        said = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], capture_output=True, text=True, check=True).stdout
        names |= {word.split()[0].split(":")[0] for word in said.replace("|", ",").split(",")}
    return sorted(name for name in names if "keyveto" not in name)


def make_root(root, debs):
    """Installs the system with mmdebstrap, which uses apt's own sources."""
    if not sources():
        raise AssertionError(f"no list of packages of {SUITE} in {' '.join(SOURCES)}")
    fetch = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "--download-only", *FETCHED,
             *dependencies(debs)]
    argv = ["mmdebstrap", "-q", "--variant=apt", "--format=directory", "--skip=cleanup/apt",
            '--aptopt=APT::Install-Recommends "false"', *(f"--aptopt={line}" for line in apt_options()),
            f"--include={','.join(PACKAGES)}", f'--customize-hook=chroot "$1" {" ".join(fetch)}',
            SUITE, str(root), *map(str, sources())]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    if done.returncode != 0:
        raise AssertionError(f"mmdebstrap: status {done.returncode}\n{done.stdout[-4000:]}")
    configure(root)
    label(root)


def configure(root):
    etc = root / "etc"
    (etc / "fstab").write_text(FSTAB, encoding="ascii")
    (etc / "hostname").write_text("keyveto-vm\n", encoding="ascii")
    (etc / "hosts").write_text("127.0.0.1 localhost keyveto-vm\n::1 localhost\n", encoding="ascii")
    # Without a machine id, systemd would treat the first boot as an installation.
    (etc / "machine-id").write_text(f"{uuid.uuid4().hex}\n", encoding="ascii")
    system = etc / "systemd/system"
    (system / "keyveto-vm.service").write_text(UNIT, encoding="ascii")
    wants = system / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "keyveto-vm.service").symlink_to("/etc/systemd/system/keyveto-vm.service")


def label(root):
    """Sets the SELinux contexts in the image. setfiles needs /proc for that."""
    subprocess.run(["unshare", "-m", "sh", "-ec", 'mount -t proc proc "$0/proc"; exec chroot "$0" setfiles -F -e /proc '
                    "/etc/selinux/default/contexts/files/file_contexts /", root], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def make_disk(folder, disk, size, name):
    """Makes an ext4 image of a folder, without a mount."""
    disk.unlink(missing_ok=True)
    subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", name, "-d", folder, disk, size], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def make_base(folder, debs):
    """Makes disk, kernel and initrd below folder, unless they are there."""
    disk = folder / "base.img"
    if disk.exists():
        return disk
    root = folder / "root"
    shutil.rmtree(root, ignore_errors=True)
    make_root(root, debs)
    for name in ("vmlinuz", "initrd.img"):
        shutil.copy(max((root / "boot").glob(f"{name}-*")), folder / name)
    making = folder / "base.img.new"
    make_disk(root, making, "3G", "root")
    os.replace(making, disk)
    shutil.rmtree(root)
    return disk
