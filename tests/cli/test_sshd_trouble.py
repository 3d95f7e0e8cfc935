# SPDX-License-Identifier: ISC
"""keyveto sshd restores the files if a step fails."""

import contextlib
import glob
import os
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest

from program import KEYVETO, PATIENCE, TRACED, attempt, contains, equal, lacks
from sshd_machine import (DROP_IN, INCLUDE, TOP, WITHOUT_INCLUDE, Image, leftovers, must_refuse, restored, this_machine,
                          wrapper)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]

NO_ID = 0xffffffff


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.long
def test_on_a_full_disk_nothing_is_half_done(scratch):
    with small_disk(scratch / "image", "16m"):
        image = Image(scratch, INCLUDE + "Match User nobody\nAuthorizedKeysFile .ssh/n\n")
        snapshot, filler = image.snapshot(), image.path("/filler")
        ends = set()
        for pages in range(0, 24):
            with open(filler, "wb", buffering=0) as out:
                with contextlib.suppress(OSError):
                    while out.write(bytes(4096)):
                        pass
            os.truncate(filler, filler.stat().st_size - pages * 4096)
            done = image.run("enable")
            ends.add(done.returncode)
            image.must_start()
            if done.returncode == 0:
                filler.unlink()
                image.run("status", status=0)
                image.run("disable", status=0)
            else:
                contains(done.stderr, "No space left on device")
                filler.unlink()
            restored(snapshot, image.snapshot())
        equal(ends, {0, 2})


def test_everything_is_put_back_if_sshd_refuses_it(scratch):
    """keyveto restores them itself."""
    image = Image(scratch, WITHOUT_INCLUDE)
    sshd = wrapper(scratch, 'case " $* " in *" -t "*) [ $n -lt 2 ] || { echo no such thing; exit 255; };; esac')
    must_refuse(image, "--sshd", sshd, says=("no such thing", "everything was put back as it was"))
    # If keyveto was enabled before, the former lines stay.
    image.run("enable", "--warn", status=0)
    (scratch / "asked").write_text("", encoding="ascii")
    must_refuse(image, "--sshd", sshd, says=("everything was put back as it was",))
    image.run("status", status=1)


def test_an_included_file_that_appears_during_enable_is_noticed(scratch):
    """The file appears while enable writes."""
    image = Image(scratch)
    sshd = wrapper(scratch, f'[ $n -lt 1 ] || echo "AuthorizedKeysFile .ssh/late" '
                   f'>{image.path("/etc/ssh/sshd_config.d/00-a.conf")}')
    done = image.run("enable", "--guard", "--sshd", sshd, status=2)
    contains(done.stderr, "was changed meanwhile", "everything was put back as it was")
    lacks(image.read("/etc/keyveto/keyveto.conf"), "# BEGIN keyveto")


def test_what_appears_in_the_place_of_a_file_is_refused_unless_it_is_a_file(scratch):
    """It appears after enable has read everything. A lock is not even made beside it."""
    image = Image(scratch)
    place, snapshot = image.path(DROP_IN), image.snapshot()
    bind = f"import os, socket; os.chdir('{place.parent}'); socket.socket(socket.AF_UNIX).bind('{place.name}')"
    for make in (f"mkfifo {place}", f"ln -s nowhere {place}", f'python3 -c "{bind}"'):
        sshd = wrapper(scratch, f"[ $n -lt 1 ] || [ -e {place} ] || [ -L {place} ] || {make}")
        done = image.run("enable", "--guard", "--sshd", sshd, status=2)
        contains(done.stderr, f"{DROP_IN}: a symbolic link to a file that does not exist" if "nowhere" in make else
                 f"{DROP_IN}: not a regular file")
        place.unlink()
        restored(snapshot, image.snapshot())


def test_parts_that_were_rolled_back_do_not_return_in_the_next_run(scratch):
    image = Image(scratch)
    image.run("enable", "--guard", status=0)
    sshd = wrapper(scratch, 'case " $* " in *" -t "*) [ $n -lt 2 ] || { echo no such thing; exit 255; };; esac')
    contains(image.run("enable", "--pam", "--sshd", sshd, status=2).stderr, "everything was put back as it was")
    image.run("enable", "--guard", status=0)
    equal(image.first_session_line(), "@include common-auth")


def test_enabled_parts_stay_enabled_if_the_kept_state_is_lost(scratch):
    image = Image(scratch)
    image.run("enable", "--pam", status=0)
    shutil.rmtree(image.path("/var/lib/keyveto/sshd-state"))
    image.run("enable", "--guard", status=0)
    equal(image.first_session_line(), "session requisite pam_keyveto.so")
    contains(image.read(DROP_IN), "AuthorizedKeysCommand")


def test_a_file_that_cannot_be_replaced_stops_enable(scratch):
    """The other files are restored."""
    image = Image(scratch)
    snapshot = image.snapshot()
    # rename fails if its target is a mount point.
    for path in ("/etc/pam.d/sshd", "/etc/keyveto/keyveto.conf"):
        target = str(image.path(path))
        subprocess.run(["mount", "--bind", target, target], check=True)
        try:
            done = image.run("enable", "--warn", status=2)
            contains(done.stderr, "cannot be replaced", "everything was put back")
            restored(snapshot, image.snapshot())
        finally:
            subprocess.run(["umount", target], check=True)
    image.run("enable", status=0)


def test_a_file_that_was_replaced_but_perhaps_not_flushed_is_put_back(scratch):
    """fsync(2) of its folder fails, after the new file is in place."""
    image = Image(scratch)
    snapshot, replaced = image.snapshot(), 0
    for number in range(1, 40):
        done = attempt(*image.inside("strace", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e",
                                     f"inject=fsync:error=EIO:when={number}", KEYVETO, "sshd", "enable", "--warn"),
                       env=TRACED)
        if done.returncode == 0:        # there was no such call
            break
        equal(done.returncode, 2, done.stderr)
        contains(done.stderr, "Input/output error")
        lacks(done.stderr, "not everything could be put back")
        if "not sure to survive a crash" in done.stderr:
            replaced += 1
            contains(done.stderr, "everything was put back as it was")
        if "everything was put back as it was" in done.stderr:
            restored(snapshot, image.snapshot())
        image.run("disable", status=0)
    equal(replaced, 3, "keyveto.conf, PAM's file and the drop-in")
    image.way_back(snapshot)


CALLS = ("mkdirat", "linkat", "renameat", "renameat2", "unlinkat", "fsync")


def kills(image, verb, one_in):
    """Runs verb again and again, and kills each run at another system call that makes, renames or removes a file.

    At one in that many, and at the first of each name.
    """
    count = 0
    for call in CALLS:
        number = 1
        while killed_at(image, verb, call, number):
            equal(leftovers(), [])
            yield count
            count += 1
            number += one_in
        yield None


def killed_at(image, verb, call, number):
    """Runs verb with a SIGKILL at that call: whether the run was killed before its end."""
    done = attempt(*image.inside("strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                                 f"inject={call}:signal=KILL:when={number}", KEYVETO, "sshd", verb),
                   text=False, env=TRACED)
    assert done.returncode in (0, -9, 137), done
    return done.returncode != 0


def remove_litter(image):
    """Removes the files that a killed run may leave: lock files and unfinished files."""
    equal(leftovers(), [])
    for path in image.path("/").rglob(".*.lock"):
        path.unlink()
    for path in image.path("/").rglob(".*.keyveto-new"):
        path.unlink()
    shutil.rmtree(image.path("/var/lib/keyveto/sshd-state.new"), ignore_errors=True)


@pytest.mark.long
def test_killed_anywhere_disable_leads_back_and_enable_leads_on(scratch, one_in):
    image = Image(scratch, INCLUDE + "Match User nobody\nAuthorizedKeysFile .ssh/n\n")
    snapshot = image.snapshot()
    image.run("enable", status=0)
    enabled = image.snapshot()
    image.way_back(snapshot)
    most = 0
    for number in kills(image, "enable", one_in):
        image.must_start()
        if number is None:              # the run came to its end
            restored(enabled, image.snapshot())
        elif number % 2:
            image.run("enable", status=0)
            remove_litter(image)
            restored(enabled, image.snapshot())
        most = max(most, number or 0)
        image.run("disable", status=0)
        remove_litter(image)
        restored(snapshot, image.snapshot())
    assert most > 20 // one_in, f"killed only {most} times"
    most = 0
    image.run("enable", status=0)
    for number in kills(image, "disable", one_in):
        image.must_start()
        if number is not None:
            image.run("disable" if number % 2 else "enable", status=0)
            image.run("disable", status=0)
        most = max(most, number or 0)
        remove_litter(image)
        restored(snapshot, image.snapshot())
        image.run("enable", status=0)
    assert most > 12 // one_in, f"killed only {most} times"


@pytest.mark.long
def test_killed_while_it_removes_what_it_kept_disable_runs_again(scratch):
    """disable removes the kept files in any order."""
    image = Image(scratch)
    state = image.path("/var/lib/keyveto/sshd-state")
    for number in range(1, 20):
        image.run("enable", "--warn", status=0)
        # The order of a directory depends on the file system. Here the manifest is not the first file to go.
        manifest = state / "manifest.json"
        for path in sorted(state.iterdir(), key=lambda path: path != manifest,
                           reverse=next(state.iterdir()) != manifest):
            content = path.read_bytes()
            path.unlink()
            path.write_bytes(content)
        assert next(state.iterdir()) != manifest
        came_through = not killed_at(image, "disable", "unlinkat", number)
        image.run("disable", status=0)
        assert not state.exists()
        if came_through:
            break
    assert number > 5


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()


def leads_to(link, file):
    """Whether a link in /proc leads to the file. Its text is a name in the process's mount namespace."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samefile(link, file)
    return False


def test_a_killed_run_leaves_no_lock_to_its_children(scratch):
    """They have its descriptors until they close them: here much later."""
    image = Image(scratch)
    lock, late = image.path("/var/lib/keyveto/.sshd-state.lock"), 3
    with subprocess.Popen(image.inside("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=close_range", "-e",
                                       f"inject=close_range:delay_enter={late}s", KEYVETO, "sshd", "enable"),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=TRACED) as tracer:
        deadline = time.monotonic() + PATIENCE
        child = []
        while not (lock.exists() and child):
            assert time.monotonic() < deadline and tracer.poll() is None
            time.sleep(0.01)
            pid = next(iter(children(tracer.pid)), None)
            child = children(pid) if pid and leads_to(f"/proc/{pid}/exe", KEYVETO) else []
        assert any(leads_to(path, lock) for path in Path(f"/proc/{child[0]}/fd").iterdir())
        os.kill(int(pid), signal.SIGKILL)
        while Path(f"/proc/{pid}/exe").exists():
            time.sleep(0.001)
        image.run("enable", status=0)
        assert Path(f"/proc/{child[0]}").exists(), "the child ended before the next run"
        tracer.wait(PATIENCE)
    remove_litter(image)


def test_a_signal_leaves_no_copy_of_keyveto_conf(scratch):
    """The copy that the guard and the module are tried with is no more readable than keyveto.conf itself."""
    config = INCLUDE + "AuthorizedKeysCommand /usr/bin/sleep 600\nAuthorizedKeysCommandUser root\n"
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL):
        with this_machine(scratch / sent.name, config=config) as machine:
            machine.path("/etc/keyveto/keyveto.conf").chmod(0o640)
            snapshot = machine.snapshot()
            process = subprocess.Popen([KEYVETO, "sshd", "enable", "--yes", "--timeout", "600"],
                                       stdout=subprocess.DEVNULL, start_new_session=True)
            try:
                deadline = time.monotonic() + PATIENCE
                while not (found := glob.glob("/tmp/keyveto-tryout.*/sshd")):
                    assert process.poll() is None and time.monotonic() < deadline, found
                    time.sleep(0.01)
                stack = Path(found[0])
                equal([oct(path.stat().st_mode & 0o777) for path in (stack, stack.with_name("keyveto.conf"))],
                      ["0o600", "0o640"])
                # A terminal sends its signals to every process of the group.
                (os.kill if sent == signal.SIGKILL else os.killpg)(process.pid, sent)
                equal(process.wait(PATIENCE), -sent)
            finally:
                process.kill()      # not the group: what removes the copy may be at work
                process.wait()
            equal(leftovers(), [])
            for path in machine.path("/var/lib/keyveto").glob(".*.lock"):
                path.unlink()
            restored(snapshot, machine.snapshot())


def test_two_runs_at_the_same_time_do_not_mix(scratch):
    image = Image(scratch)
    sshd = wrapper(scratch, 'sleep 0.2')
    argv = image.inside(KEYVETO, "sshd", "enable", "--sshd", sshd)
    runs = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    ends = [(one.communicate()[1], one.returncode) for one in runs]
    assert any(status == 0 for _, status in ends), ends
    for text, status in ends:
        assert status == 0 or "another keyveto changes sshd's files" in text, text
    image.run("status", status=0)


def test_access_control_lists_of_files_stay(scratch):
    image = Image(scratch, WITHOUT_INCLUDE)
    # Version 2: owner rw, user 2 r, group r, mask r, others r.
    entries = ((1, 6, NO_ID), (2, 4, 2), (4, 4, NO_ID), (16, 4, NO_ID), (32, 4, NO_ID))
    wanted = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)
    os.setxattr(image.path(TOP), "system.posix_acl_access", wanted)
    for verb in ("enable", "disable"):
        image.run(verb, status=0)
        equal(os.getxattr(image.path(TOP), "system.posix_acl_access"), wanted)
