# SPDX-License-Identifier: ISC
"""keyveto update does not take a home that is not mounted for one without keys."""

import contextlib
import ctypes
import json
import os
import sys
from pathlib import Path

import pytest

from program import KEYVETO, attempt, contains, equal, lacks
from publisher import ListPlace, listing

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

FSTAB = Path("/etc/fstab")
UNJUDGED = "not all keys of alice could be compared with the new one"
libc = ctypes.CDLL(None, use_errno=True)


@pytest.fixture(name="place")
def fixture_place(scratch):
    made = ListPlace(scratch)
    made.config.write_text(f"Blocklist {made.target}\n", encoding="utf-8")
    made.update()
    made.publisher.serve(listing(n=1000, seed=5), "2026-11-02T00:00:00Z")
    yield made
    made.close()


@pytest.fixture(name="fstab")
def fixture_fstab():
    """Writes lines into /etc/fstab, instead of those that are there."""
    kept = FSTAB.read_bytes() if FSTAB.exists() else None

    def write(*lines):
        FSTAB.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    write()
    yield write
    if kept is None:
        FSTAB.unlink()
    else:
        FSTAB.write_bytes(kept)


@contextlib.contextmanager
def mounted(kind, folder, options=""):
    done = libc.mount(b"none", os.fsencode(folder), kind.encode(), 0, options.encode())
    equal(done, 0, os.strerror(ctypes.get_errno()))
    try:
        yield
    finally:
        equal(libc.umount2(os.fsencode(folder), 2), 0)


def administrator(world, home):
    world.append("/etc/group", "wheel:x:29999:alice")
    return world.account("alice", home=home)


def answer(place, status):
    return place.run("--dry-run", status=status).trouble


def test_a_home_below_a_mount_point_of_fstab_is_unjudged_until_it_is_mounted(place, world, scratch, fstab):
    disk, link = scratch / "disk", scratch / "link"
    disk.mkdir()
    link.symlink_to(disk)
    administrator(world, disk / "alice")
    reason = f"{disk} is in /etc/fstab, and is not mounted"
    # A home that is nowhere has no keys: pam_mkhomedir makes it at the first login.
    lacks(answer(place, 0), "alice")
    for line in (f"none {disk} tmpfs defaults", f"UUID=0-0 {disk}\t nfs noauto,nofail 0 0", f"none {disk}/ tmpfs",
                 f"/dev/none {link} ext4 defaults 0 2"):
        fstab("# ours", "proc /proc proc", line)
        contains(answer(place, 2), f"{disk}/alice/.ssh/authorized_keys: {reason}", UNJUDGED)
    with mounted("tmpfs", disk):
        lacks(answer(place, 0), "alice")
    contains(answer(place, 2), UNJUDGED)
    for line in (f"none {disk}/other tmpfs", f"none {disk}/alic tmpfs", "none none swap sw", f"none {disk} swap sw",
                 "/dev/none / ext4", f"#none {disk} tmpfs"):
        fstab(line)
        lacks(answer(place, 0), "alice")


def test_mount_points_in_other_forms(place, world, scratch, fstab):
    """A home that is a mount point itself, a home behind a link, a name with a blank; files outside the home."""
    disk, home = scratch / "a disk", scratch / "homes"
    disk.mkdir()
    home.symlink_to(disk)
    alice = administrator(world, home / "alice")
    fstab(f"none {scratch}/a\\040disk tmpfs")
    contains(answer(place, 2), f"{disk} is in /etc/fstab", UNJUDGED)
    (disk / "alice").mkdir()
    alice.own(disk / "alice")
    fstab(f"none {scratch}/a\\040disk/alice tmpfs")
    contains(answer(place, 2), f"{disk}/alice is in /etc/fstab", UNJUDGED)
    fstab(f"none {scratch}/keys tmpfs")
    lacks(answer(place, 0), "alice")
    world.sshd_config(f"AuthorizedKeysFile {scratch}/keys/%u .ssh/authorized_keys")
    contains(answer(place, 2), f"{scratch}/keys is in /etc/fstab", UNJUDGED, "not all keys of root")


def test_a_home_that_is_no_administrators_is_named_and_holds_nothing(place, world, scratch, fstab):
    world.account("bob", home=scratch / "disk/bob")
    fstab(f"none {scratch}/disk tmpfs")
    contains(answer(place, 0), f"{scratch}/disk/bob/.ssh/authorized_keys: {scratch}/disk is in /etc/fstab")
    done = world.audit(status=2)
    equal(done.stderr.count("is in /etc/fstab"), 1, done.stderr)


# Mounts an autofs of its own process group on the folder, for which the kernel has it mount nothing, as for a server
# that is down. Runs the command with nothing mounted for the home, and then with a file system there.
AUTOFS = """
import ctypes, json, os, subprocess, sys
folder, home, *command = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
def mount(kind, where, options):
    if libc.mount(b"none", where.encode(), kind, 0, options.encode()) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
def run():
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr
mount(b"autofs", folder, f"fd={os.pipe()[1]},pgrp={os.getpgrp()},minproto=5,maxproto=5,indirect")
found = [run()]
os.mkdir(home)
found.append(run())
mount(b"tmpfs", home, "")
found.append(run())
libc.umount2(home.encode(), 2)
libc.umount2(folder.encode(), 2)
json.dump(found, sys.stdout)
"""


def test_a_home_that_autofs_could_not_mount_is_unjudged(place, world, scratch, fstab):
    fstab()
    auto = scratch / "auto"
    auto.mkdir()
    administrator(world, auto / "alice")
    lacks(answer(place, 0), "alice")
    words = [str(word) for word in (auto, auto / "alice", KEYVETO, *place.arguments("--dry-run"))]
    done = attempt(sys.executable, "-c", AUTOFS, *words, start_new_session=True)
    equal(done.returncode, 0, done.stderr)
    nothing, empty, there = json.loads(done.stdout)
    for status, messages in (nothing, empty):
        equal(status, 2, messages)
        contains(messages, f"{auto}/alice/.ssh/authorized_keys: autofs has mounted no file system", UNJUDGED)
    equal(there[0], 0, there[1])
    lacks(there[1], "alice")


def test_what_a_service_has_mounted_for_itself_is_no_mount(place, world, scratch, fstab):
    """ProtectHome=read-only of the update's service mounts the folder over itself."""
    disk = scratch / "disk"
    disk.mkdir()
    administrator(world, disk / "alice")
    fstab(f"none {disk} tmpfs")
    script = 'mount --bind "$0" "$0" && exec "$@"'
    arguments = [str(word) for word in place.arguments("--dry-run")]
    done = attempt("unshare", "--mount", "sh", "-c", script, disk, KEYVETO, *arguments)
    equal(done.returncode, 2, done.stderr)
    contains(done.stderr, f"{disk} is in /etc/fstab, and is not mounted", UNJUDGED)
