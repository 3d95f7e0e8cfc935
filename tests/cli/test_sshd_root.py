# SPDX-License-Identifier: ISC
"""keyveto sshd --root: a machine below another root directory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from program import contains, equal, keyveto, make_library
from sshd_machine import INCLUDE, TOP, Image, by_files, clean_key, leaked_key, restored, this_machine

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]

ROOT_ROUNDS = int(os.environ.get("ROOT_ROUNDS", "40"))


def test_an_absolute_link_of_an_image_leads_to_a_place_in_the_image(scratch):
    """Include follows such links, too."""
    image = Image(scratch, "Include /etc/ssh/site/*.conf\nUsePAM yes\n")
    outside = f"/tmp/site-{os.getpid()}"
    image.path("/etc/ssh/site").symlink_to(outside)
    image.write(f"{outside}/10-in.conf", "AuthorizedKeysFile .ssh/in\n")
    Path(outside).mkdir()
    try:
        Path(outside, "10-out.conf").write_text("AuthorizedKeysFile .ssh/out\n", encoding="ascii")
        image.run("enable", "--guard", status=0)
    finally:
        shutil.rmtree(outside)
    equal(image.settings()["authorizedkeyscommand"], by_files(".ssh/in"))


def test_no_link_of_an_image_leads_out_of_it(scratch):
    image = Image(scratch)
    outside = scratch / "outside"
    outside.write_text(f"{leaked_key()}\n", encoding="ascii")
    outside.chmod(0o644)
    home = image.account("mallory", clean_key())
    (home / ".ssh/authorized_keys").unlink()
    (home / ".ssh/authorized_keys").symlink_to(outside)
    # Within the image this link has no target.
    contains(image.run("enable", "--dry-run", status=0).stderr, "symbolic link to nothing")
    (scratch / "sshd.conf").write_text(INCLUDE)
    image.path(TOP).unlink()
    image.path(TOP).symlink_to(scratch / "sshd.conf")
    contains(image.run("enable", status=2).stderr, f"{TOP}: No such file or directory")


EXCHANGER = """
import ctypes, random, sys, time
libc = ctypes.CDLL(None, use_errno=True)
one, other = (name.encode() for name in sys.argv[1:])
print(flush=True)
while True:
    if libc.renameat2(-100, one, -100, other, 2):
        raise OSError(ctypes.get_errno(), "renameat2")
    time.sleep(random.choice((0, 0, 0.0001, 0.001, 0.01)))
"""


def test_this_machines_root_directory_is_refused(scratch):
    """The directory has many names: links, bind mounts, dots."""
    with this_machine(scratch, config=INCLUDE) as machine:
        before = machine.snapshot()
        link, bind = scratch / "link", scratch / "bind"
        link.symlink_to("/")
        bind.mkdir()
        subprocess.run(["mount", "--bind", "/", bind], check=True)
        try:
            for root in ("/", "//", link, f"{link}/", bind, f"{bind}/.", "/proc/self/root", "/etc/.."):
                for verb in ("status", "enable", "disable"):
                    done = keyveto("sshd", verb, "--root", root, status=2)
                    contains(done.stderr, "this is the root directory of this machine; leave out --root")
                    equal(done.stdout, "")
        finally:
            subprocess.run(["umount", bind], check=True)
        restored(before, machine.snapshot())


def test_a_folder_exchanged_for_a_link_does_not_change_this_machine(scratch):
    """The exchange happens while keyveto works below --root."""
    with this_machine(scratch, config=INCLUDE) as machine:
        before = machine.snapshot()
        folder = scratch / "there"
        folder.mkdir()
        image = Image(folder)
        image.account("alice", clean_key())
        pristine = image.snapshot()
        link = folder / "link"
        link.symlink_to("/")
        ends = {"done": 0, "refused": 0}
        with subprocess.Popen([sys.executable, "-c", EXCHANGER, image.root, link], stdout=subprocess.PIPE) as exchanger:
            try:
                exchanger.stdout.readline()
                for number in range(ROOT_ROUNDS):
                    verb = ("enable", "disable")[number % 2]
                    done = keyveto("sshd", verb, "--root", image.root)
                    restored(before, machine.snapshot())
                    assert done.returncode in (0, 2), done.stdout + done.stderr
                    ends["done" if done.returncode == 0 else "refused"] += 1
            finally:
                exchanger.kill()
        assert ends["done"] and ends["refused"], f"no race: {ends}"
        if link.is_dir() and not link.is_symlink():
            image.root.unlink()
            link.rename(image.root)
        image.run("disable", status=0)
        restored(pristine, image.snapshot())


HOSTILE = """
#include <fcntl.h>
__attribute__((constructor)) static void run(void) { (void)creat("/was-run", 0600); }
"""


def test_no_library_of_an_image_is_loaded(scratch):
    """The image names a service for accounts and groups, and has its library. Without /etc/group libc is asked."""
    image = Image(scratch)
    image.path("/etc/group").unlink()
    services = "passwd: files kvhostile\ngroup: files kvhostile\ninitgroups: kvhostile\n"
    image.write("/etc/nsswitch.conf", services)
    own = Path("/etc/nsswitch.conf").read_text(encoding="ascii")
    folder = subprocess.run(["cc", "-print-multiarch"], check=True, capture_output=True, text=True).stdout.strip()
    library = image.path(f"/usr/lib/{folder}/libnss_kvhostile.so.2")
    library.parent.mkdir(parents=True, exist_ok=True)
    (scratch / "hostile.c").write_text(HOSTILE, encoding="ascii")
    make_library(library, scratch / "hostile.c")
    # libc can read this machine's before it is below the image.
    Path("/etc/nsswitch.conf").write_text(services, encoding="ascii")
    try:
        for verb in ("enable", "status", "disable"):
            image.run(verb, status=0)
    finally:
        Path("/etc/nsswitch.conf").write_text(own, encoding="ascii")
    assert not image.path("/was-run").exists()


def test_below_another_root_a_note_says_whose_groups_count(scratch):
    image = Image(scratch, INCLUDE + "Match Group staff\nAuthorizedKeysFile .ssh/s\n")
    contains(image.run("enable", status=0).stderr,
             "sshd_config:3: Match Group is answered by the groups of this machine")
    contains(image.run("status", status=2).stderr, "Match Group")


def test_an_image_without_host_keys_can_be_asked_about(scratch):
    """The image has no accounts either."""
    image = Image(scratch)
    equal(list(image.path("/etc/ssh").glob("ssh_host*")), [])
    image.path("/etc/passwd").unlink()
    contains(image.run("enable", "--pam", status=0).stderr, "/etc/passwd: not there")
    image.run("status", status=0)


def test_disable_of_an_image_says_that_ssh_keygen_fails(scratch):
    """Without a host key sshd cannot be asked about an image that has none."""
    image = Image(scratch)
    before = image.snapshot()
    image.run("enable", "--guard", status=0)
    keygen = image.scratch / "ssh-keygen"
    keygen.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    keygen.chmod(0o755)
    subprocess.run(["mount", "--bind", keygen, "/usr/bin/ssh-keygen"], check=True)
    try:
        done = image.run("disable", status=0)
    finally:
        subprocess.run(["umount", "/usr/bin/ssh-keygen"], check=True)
    contains(done.stderr, "warning: ssh-keygen cannot make a host key")
    restored(before, image.snapshot())
