# SPDX-License-Identifier: ISC
"""keyveto filter: which files it replaces: links, owners, modes, files that are not filters."""

import itertools
import os
import random
import shutil
import signal
import socket
import stat
import time
from pathlib import Path

import pytest

import pkbf
from filter_runs import PUBLISHED, as_nobody, make, names, run, start, without_proc
from program import KEYVETO, PATIENCE, check, equal
from runs import tool
from samples import write


def test_through_a_symbolic_link_its_target_is_replaced(scratch):
    """The new file is made in the folder of the target."""
    (scratch / "a").mkdir()
    (scratch / "b").mkdir()
    make(scratch / "b" / "real", 3, 10)
    (scratch / "a" / "middle").symlink_to("../b/real")
    (scratch / "link").symlink_to("a/middle")
    for k in (3, 4):
        run("add", scratch / "link", stdin=PUBLISHED.encode())
        check((scratch / "link").is_symlink() and (scratch / "a" / "middle").is_symlink(), "a link was replaced")
        f = pkbf.Filter.read(scratch / "b" / "real")
        equal((f.k, f.entries), (k, 3), "the target")
        equal((names(scratch), names(scratch / "a"), names(scratch / "b")), (["a", "b", "link"], ["middle"], ["real"]),
              "files")
        make(scratch / "link", 4, 10)
    (scratch / "dangling").symlink_to("b/nothing")
    for words in (["create", "--hashes", 3, "--length", 10, "--force"], ["add"]):
        _, err = run(words[0], scratch / "dangling", *words[1:], status=2)
        check("symbolic link" in err, err)
    equal(names(scratch / "b"), ["real"], "files")


def test_owner_and_mode_stay_and_a_new_file_follows_the_umask(scratch):
    f = make(scratch / "f", 3, 10)
    for mode in (0o600, 0o640, 0o644, 0o444):
        f.chmod(mode)
        if os.geteuid() == 0:
            os.chown(f, 0, 12346)
        elif mode == 0o444:
            continue
        for name, *rest in (["add"], ["merge", f], ["create", "--hashes", 3, "--length", 10, "--force"]):
            before = f.stat()
            run(name, f, *rest, stdin=PUBLISHED.encode())
            after = f.stat()
            check(after.st_ino != before.st_ino, f"{name} wrote in place")
            equal((after.st_mode, after.st_uid, after.st_gid), (before.st_mode, before.st_uid, before.st_gid), name)
    for mask, prefix in ((0o022, []), (0o077, []), (0o002, []), (0o027, without_proc())):
        f.unlink()
        tool(*prefix, KEYVETO, "filter", "create", f, "--hashes", "3", "--length", "10", umask=mask)
        equal(stat.S_IMODE(f.stat().st_mode), 0o644 & ~mask, f"mode with umask {mask:o}")


FORCED = (["create", "--hashes", 3, "--length", 10, "--force"], ["merge", "--force"])


def forced(words, target, other):
    """words with --force and paths, so that the command writes target. other is the path of a filter."""
    return [words[0], target, *([other] if words[0] == "merge" else []), *words[1:]]


def test_a_file_that_is_not_a_filter_is_never_replaced(scratch):
    """With --force it is renamed and kept."""
    other = make(scratch / "other", 3, 10)
    damaged = other.read_bytes()[:-1]
    for words in FORCED:
        for content in (b"127.0.0.1 localhost\n", b"", b"pkbf", damaged):
            folder = scratch / "folder"
            folder.mkdir()
            f = folder / "f"
            write(f, content).chmod(0o640)
            before = f.stat()
            unforced = forced(words, f, other)[:-1]
            for bad in (unforced, ["add", f], ["merge", f, f]):
                _, err = run(*bad, status=2, stdin=PUBLISHED.encode())
                equal((f.read_bytes(), f.stat().st_ino, names(folder)), (content, before.st_ino, ["f"]), err)
            _, err = run(*unforced, status=2)
            check(f"{f}: is not a filter" in err and "--force" in err, err)
            _, err = run(*forced(words, f, other))
            check(f"{f}: what was there is kept beside it as f.kept" in err, err)
            kept = folder / "f.kept"
            equal((kept.read_bytes(), kept.stat().st_ino, kept.stat().st_mode),
                  (content, before.st_ino, before.st_mode))
            pkbf.Filter.read(f)
            f.write_bytes(b"another")
            _, err = run(*forced(words, f, other))
            check("as f.kept2" in err, err)
            equal((names(folder), kept.read_bytes(), (folder / "f.kept2").read_bytes()),
                  (["f", "f.kept", "f.kept2"], content, b"another"), "files")
            # A filter is replaced, and no copy is kept.
            _, err = run(*forced(words, f, other))
            equal((names(folder), "kept" in err), (["f", "f.kept", "f.kept2"], False), err)
            shutil.rmtree(folder)


NOBODY = 65534


class Victim:
    """Files of root's that must not change."""

    def __init__(self, tmp):
        self.folder = tmp / "victim"
        self.folder.mkdir(mode=0o755)
        self.secret = self.folder / "shadow"
        write(self.secret, b"root:*:19000:0:99999:7:::\n").chmod(0o600)
        self.filter = make(self.folder / "filter", 3, 12)
        self.before = self.state()

    def state(self):
        return {path.name: (path.read_bytes(), path.lstat()[:6], path.lstat().st_mtime_ns, path.lstat().st_ctime_ns)
                for path in self.folder.iterdir()}

    def check_untouched(self, what):
        equal(self.state(), self.before, what)


@pytest.mark.throwaway
def test_root_follows_no_link_that_is_not_roots(scratch):
    """Another user follows any link."""
    victim = Victim(scratch)
    other = make(scratch / "other", 3, 10)
    theirs, mine, sticky = scratch / "theirs", scratch / "mine", scratch / "sticky"
    for folder in (theirs, mine, sticky):
        folder.mkdir()
    sticky.chmod(0o1777)
    os.chown(theirs, NOBODY, NOBODY)

    def plant(folder, target, owner):
        link = folder / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        os.chown(link, owner, owner, follow_symlinks=False)
        return link

    # The owner of a folder may have moved root's link into it.
    for folder, owner in ((theirs, NOBODY), (sticky, NOBODY), (mine, NOBODY), (theirs, 0)):
        for target, below in ((victim.secret, ""), (victim.filter, ""), (victim.folder, "shadow"),
                              (victim.folder, "filter"),
                              (victim.folder, "new"), (scratch, "victim/filter"), ("../victim", "filter")):
            link = plant(folder, target, owner)
            (scratch / "root-link").unlink(missing_ok=True)
            (scratch / "root-link").symlink_to(link)
            for path in (link / below, Path(os.path.relpath(link)) / below, scratch / "root-link" / below):
                for words in (*(forced(words, path, other) for words in FORCED), ["add", path]):
                    _, err = run(*words, status=2, stdin=PUBLISHED.encode())
                    check("root does not follow the symbolic link" in err and "'link'" in err, f"{words}: {err}")
                    victim.check_untouched(f"{words}")
            equal(names(folder), ["link"], "files")
    # Root follows root's links in root's folder, and in a sticky folder.
    for folder in (mine, sticky):
        for words in FORCED:
            run(*forced(words, plant(folder, victim.filter, 0), other))
            check(victim.state() != victim.before, "nothing was written")
            check((folder / "link").is_symlink(), "the link was replaced")
        run(*forced(FORCED[0], plant(folder, scratch, 0) / "victim" / "filter", other))
    # The account nobody may follow its own links.
    os.chmod(scratch, 0o755)
    os.chown(victim.folder, NOBODY, NOBODY)
    os.chown(victim.filter, NOBODY, NOBODY)
    status, err = as_nobody("create", plant(theirs, victim.filter, NOBODY), "--hashes", 4, "--length", 11, "--force")
    equal((status, pkbf.Filter.read(victim.filter).p), (0, 11), err)


@pytest.mark.throwaway
def test_roots_filters_never_get_another_owner(scratch):
    """Neither do they get a mode that lets others write."""
    other = make(scratch / "other", 3, 10)
    sticky = scratch / "sticky"
    sticky.mkdir()
    sticky.chmod(0o1777)
    f = sticky / "f"
    for uid, gid, mode, expected, told in ((NOBODY, NOBODY, 0o666, (0, 0, 0o644), f"belonged to user {NOBODY}"),
                                           (NOBODY, 0, 0o600, (0, 0, 0o644), f"belonged to user {NOBODY}"),
                                           (0, 12346, 0o660, (0, 12346, 0o640), "had mode 0660, and has 0640 now"),
                                           (0, 0, 0o4755, (0, 0, 0o755), "had mode 4755"),
                                           (0, 12346, 0o640, (0, 12346, 0o640), None)):
        for words in (*(forced(words, f, other) for words in FORCED), ["merge", f, f], ["add", f]):
            shutil.copy(other, f)
            os.chown(f, uid, gid)
            f.chmod(mode)
            _, err = run(*words, stdin=PUBLISHED.encode())
            seen = f.stat()
            equal((seen.st_uid, seen.st_gid, stat.S_IMODE(seen.st_mode)), expected, f"{words}: {err}")
            check(told in err if told else "mode" not in err and "owner" not in err, f"{words}: {err}")
            check("trust" not in run("verify", f)[0], "a login would not trust it")
    f.unlink()
    run("create", f, "--hashes", 3, "--length", 10)
    equal((f.stat().st_uid, stat.S_IMODE(f.stat().st_mode)), (0, 0o644), "a new one")


@pytest.mark.throwaway
def test_root_is_warned_if_others_can_exchange_the_filter(scratch):
    theirs = scratch / "theirs"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    _, err = run("create", theirs / "f", "--hashes", 3, "--length", 10)
    check(f"warning: {theirs}: directory is not owned by root: a login would not trust this file" in err, err)
    equal((names(theirs), (theirs / "f").stat().st_uid), (["f"], 0), "files")


def test_what_is_not_a_regular_file_is_refused_not_waited_for(scratch):
    """The file stays."""
    other = make(scratch / "other", 3, 10)
    os.mkfifo(scratch / "fifo")
    (scratch / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(scratch / "socket"))
        if os.geteuid() == 0:
            os.mknod(scratch / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        before = {path.name: path.lstat()[:2] for path in scratch.iterdir()}
        for name in sorted(before.keys() - {"other"}):
            for words in (*(forced(words, scratch / name, other) for words in FORCED), ["add", scratch / name]):
                _, err = run(*words, status=2, stdin=PUBLISHED.encode())
                check(f"{scratch / name}: not a regular file" in err, err)
        equal({path.name: path.lstat()[:2] for path in scratch.iterdir()}, before, "files")


def test_the_other_name_of_a_file_with_two_names_is_not_changed(scratch):
    other, f = make(scratch / "other", 4, 10), make(scratch / "f", 3, 10)
    for content in (f.read_bytes(), b"no filter"):
        for words in FORCED:
            for name in ("f", "second", "f.kept"):
                (scratch / name).unlink(missing_ok=True)
            f.write_bytes(content)
            os.link(f, scratch / "second")
            run(*forced(words, f, other))
            equal(((scratch / "second").read_bytes(), pkbf.Filter.read(f).p), (content, 10), "the other name")
            check(f.stat().st_ino != (scratch / "second").stat().st_ino, "written in place")


def exchanging(steps, owner=NOBODY):
    """A process of that user's that calls these functions over and over, until it is killed."""
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(owner, owner, owner)
            os.setresuid(owner, owner, owner)
            os.write(told, b"x")
            while True:
                # It sometimes pauses after a random step, so that a command can also end undisturbed.
                last = random.choice((None, None, *steps))
                for step in steps:
                    try:
                        step()
                    except OSError:     # at the moment somebody else owns the file
                        pass
                    if step is last:
                        time.sleep(0.02)
        finally:
            os._exit(1)
    os.close(told)
    os.read(ready, 1)
    os.close(ready)
    return child


@pytest.mark.long
@pytest.mark.throwaway
def test_a_link_exchanged_during_the_run_does_not_redirect_root(scratch):
    """Another process exchanges a link and a file all the time."""
    victim, other = Victim(scratch), make(scratch / "other", 3, 10)
    content = other.read_bytes()
    sticky, theirs = scratch / "sticky", scratch / "theirs"
    for folder in (sticky, theirs, theirs / "way"):
        folder.mkdir()
        os.chown(folder, NOBODY, NOBODY)
    os.chown(sticky, 0, 0)
    sticky.chmod(0o1777)
    shutil.copy(other, theirs / "way" / "filter")

    def put(folder, name, make_it):
        def step():
            new = folder / ".new"
            new.unlink(missing_ok=True)
            make_it(new)
            os.rename(new, folder / name)
        return step

    def swap_folder(target):
        def step():
            os.rename(theirs / "way", theirs / "real")
            os.symlink(target, theirs / "way")
            (theirs / "way").unlink()
            os.rename(theirs / "real", theirs / "way")
        return step

    seen = set()
    for folder, f, steps in (
            (sticky, sticky / "f", [put(sticky, "f", lambda new: new.symlink_to(victim.secret)),
                                    put(sticky, "f", lambda new: new.symlink_to(victim.filter)),
                                    put(sticky, "f", lambda new: new.write_bytes(content)),
                                    put(sticky, "f", lambda new: new.write_bytes(b"text"))]),
            (theirs, theirs / "way" / "filter", [swap_folder(victim.folder), swap_folder("../victim")])):
        child, deadline = exchanging(steps), time.monotonic() + PATIENCE
        try:
            for turn in itertools.count():
                ends = sum(name == folder.name for name, _ in seen)
                if turn >= 300 and (ends == 2 or time.monotonic() > deadline):
                    break
                words = (*(forced(words, f, other) for words in FORCED), ["add", f])[turn % 3]
                with start(*words) as process:
                    _, err = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
                check(process.returncode in (0, 2), f"{words}: status {process.returncode}: {err}")
                seen.add((folder.name, process.returncode))
                if folder == sticky:
                    for path in sticky.iterdir():
                        path.unlink(missing_ok=True)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        victim.check_untouched(f"{f}")
    check(len(seen) == 4, f"not each of them came to both ends: {seen}")
