# SPDX-License-Identifier: ISC
"""keyveto filter leaves the old filter or the new one: with other writers, and with signals.

tests/faults kills it at each system call, and fills the disk.
"""

import fcntl
import os
import random
import resource
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import threading
from pathlib import Path

import pkbf
from filter_runs import (EPOCH, PUBLISHED, any_line, as_nobody, environment, information, key_lines, make, names,
                         published, run, start, without_proc)
from program import KEYVETO, PATIENCE, attempt, check, equal, wait_until, wait_until_read


def wait_until_later(path):
    """Waits until the clock of the file system passes the file's last change, so that the next one is visible."""
    with tempfile.NamedTemporaryFile(dir=path.parent.parent) as other:
        def is_later():
            os.utime(other.name)
            return os.stat(other.name).st_ctime_ns > os.stat(path).st_ctime_ns
        wait_until(is_later, "the clock goes on")


def has_open(process, path):
    """Whether a process has this file open. If so, it has taken the lock."""
    for fd in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            # Not compared by name: the process may be in another mount namespace.
            if os.path.samefile(fd, path):
                return True
        except FileNotFoundError:       # the process has closed it meanwhile
            pass
    return False


def lock_of(path):
    return path.with_name(f".{path.name}.lock")


def test_two_hundred_writers_at_once_lose_no_key(scratch):
    """A reader always sees a whole filter."""
    lines = key_lines(random.Random(20), 200)
    f = make(scratch / "f", 20, 18)
    stop, broken, seen = threading.Event(), [], []

    def read():
        while not stop.is_set():
            try:
                now = pkbf.Filter.read(f)
                if now.revision != now.entries or (seen and now.entries < seen[-1]):
                    broken.append(f"revision {now.revision}, entries {now.entries}, before {seen[-1:]}")
                seen.append(now.entries)
            except (pkbf.BadFilter, OSError, struct.error) as error:
                broken.append(repr(error))

    reader = threading.Thread(target=read)
    reader.start()
    writers = []
    try:
        # In groups, as else all writers could end before the reader reads.
        for first in range(0, len(lines), 40):
            before = seen[-1] if seen else 0
            group = [start("add", f, stdout=subprocess.DEVNULL) for _ in lines[first:first + 40]]
            for writer, line in zip(group, lines[first:]):
                writer.stdin.write(line.encode())
                writer.stdin.close()
            writers += group
            wait_until(lambda before=before: broken or seen and seen[-1] > before, "the reader sees what they write")
        errors = [writer.stderr.read() for writer in writers]
        statuses = {writer.wait(PATIENCE) for writer in writers}
    finally:
        stop.set()
        reader.join()
    equal(statuses, {0}, f"statuses ({[error for error in errors if b'1 added' not in error][:3]})")
    oracle = pkbf.Filter.create(20, 18)
    for line in lines:
        oracle.add_run(published([line]), EPOCH)
    check(f.read_bytes() == oracle.to_bytes(), f"differs from the oracle's: {information(f)}")
    check(not broken, f"a reader saw {broken[:3]}")
    check(len(set(seen)) > 3, f"the reader saw too little to tell: {set(seen)}")
    equal(names(scratch), ["f"], "files")


def test_a_signal_leaves_no_file_behind_with_and_without_o_tmpfile(scratch):
    """While keys are read. tests/faults sends signals while the new file has a name."""
    line = key_lines(random.Random(23), 1)[0].encode()
    f = make(scratch / "f", 3, 10)
    before = f.read_bytes()
    for prefix in ([], without_proc()):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            process = subprocess.Popen([*prefix, KEYVETO, "filter", "add", f], stdin=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=environment(EPOCH))
            process.stdin.write(line)
            process.stdin.flush()
            wait_until(lambda: has_open(process, f), "it has opened the filter")
            # It reads its input after it has set its signal handlers.
            wait_until_read(process.stdin)
            process.send_signal(number)
            process.wait(PATIENCE)
            process.stdin.close()
            process.stderr.close()
            equal(process.returncode, -number, "status")
            equal(names(scratch), ["f"], f"files after signal {number}")
            equal(f.read_bytes(), before, "the filter")


def test_sighup_stays_ignored_under_nohup(scratch):
    f = make(scratch / "f", 3, 10)
    process = start("add", f, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_until(lock_of(f).exists, "it runs")
    process.send_signal(signal.SIGHUP)
    process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
    equal((process.returncode, pkbf.Filter.read(f).entries), (0, 3), "status and entries")


def test_a_reader_cannot_keep_writers_out(scratch):
    """A reader who locks the filter does not stop writers."""
    f = make(scratch / "f", 3, 10)
    with open(f, "rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_EX)
        fcntl.lockf(os.open(f, os.O_RDWR), fcntl.LOCK_EX)
        run("add", f, stdin=PUBLISHED.encode())
    process = start("add", f)
    wait_until(lock_of(f).exists, "the lock file is there")
    mode = lock_of(f).stat().st_mode
    process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
    equal(stat.S_IMODE(mode), 0o600, "mode of the lock file")


def test_a_writer_that_waits_for_a_folder_that_is_removed_ends(scratch):
    folder = scratch / "folder"
    folder.mkdir()
    f = make(folder / "f", 3, 10)
    with lock_of(f).open("xb") as held:
        lock_of(f).chmod(0o600)
        fcntl.flock(held, fcntl.LOCK_EX)
        process = start("add", f)
        wait_until(lambda: f" {process.pid} " in Path("/proc/locks").read_text(encoding="ascii"), "it waits")
        shutil.rmtree(folder)
    _, message = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
    equal(process.returncode, 2, message)
    check("cannot make or open the lock file .f.lock beside it: No such file" in message.decode(), message)


def test_a_lock_file_that_is_a_trap_is_refused(scratch):
    f = make(scratch / "f", 3, 10)
    lock, before = lock_of(f), f.read_bytes()

    def link():
        (scratch / "victim").touch()
        lock.symlink_to("victim")

    def readable():
        lock.touch()
        lock.chmod(0o644)

    traps = [link, lambda: os.mkfifo(lock, 0o600), lambda: lock.mkdir(0o700), readable]
    if os.geteuid() == 0:
        traps.append(lambda: (lock.touch(0o600), os.chown(lock, 12345, 12345)))
    for trap in traps:
        trap()
        was = os.lstat(lock)
        _, err = run("add", f, stdin=PUBLISHED.encode(), status=2)
        check(lock.name in err, f"does not name it: {err}")
        equal((os.lstat(lock).st_ino, os.lstat(lock).st_mode), (was.st_ino, was.st_mode), "the trap")
        equal(f.read_bytes(), before, "the filter")
        if lock.is_dir() and not lock.is_symlink():
            lock.rmdir()
        else:
            lock.unlink()
    run("add", f, stdin=PUBLISHED.encode())


def test_a_change_by_another_program_during_the_run_is_not_lost(scratch):
    f, line = make(scratch / "f", 3, 10), key_lines(random.Random(24), 1)[0].encode()
    other = pkbf.Filter.create(3, 10, revision=99).to_bytes()

    def replace():
        (scratch / "other").write_bytes(other)
        (scratch / "other").replace(f)

    for meddle, expected in ((replace, other), (lambda: f.write_bytes(other), other), (f.unlink, None),
                             (lock_of(f).unlink, pkbf.Filter.create(3, 10).to_bytes())):
        make(f, 3, 10)
        wait_until_later(f)
        process = start("add", f)
        process.stdin.write(line)
        process.stdin.flush()
        # keyveto reads its input after it has examined the filter, not only opened it.
        wait_until_read(process.stdin)
        meddle()
        _, err = process.communicate(b"", timeout=PATIENCE)
        equal(process.returncode, 2, f"status ({err})")
        check(any(word in err for word in (b"again", b"cannot be", b"cut short")), err)
        equal(f.read_bytes() if f.exists() else None, expected, "the filter")
        equal(names(scratch), ["f"] if expected else [], "files")


def test_a_filter_cut_short_during_the_run_is_an_error(scratch):
    """keyveto does not crash."""
    f = scratch / "f"
    for bits in (bytes(2 ** 17), b"\x11" * 2 ** 17):     # with holes and without
        f.write_bytes(struct.pack(">6sIQIBB", b"pkbfv1", 1, EPOCH, 9, 9, 20) + bits)
        process = start("add", f)
        wait_until(lambda: has_open(process, f), "it has opened the filter")
        # keyveto waits for input now. It may or may not have mapped the filter.
        os.truncate(f, 24)
        _, err = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
        equal(process.returncode, 2, f"status ({err})")
        check(err.count(b"\n") == 1 and str(f).encode() in err, err)
        equal((f.stat().st_size, names(scratch)), (24, ["f"]), "the file as it was left")


def test_closed_standard_descriptors_are_not_mistaken_for_the_filter(scratch):
    (scratch / "keys").write_text(PUBLISHED)
    other = make(scratch / "other", 3, 12, scratch / "keys")
    f = scratch / "f"
    for words in (["create", f, "--hashes", 3, "--length", 12], ["create", f, "--hashes", 3, "--length", 12, "--force"],
                  ["add", f, scratch / "keys"], ["merge", f, other, f], ["merge", f, other, other], ["add", f]):
        for closed in range(8):
            make(f, 3, 12)
            before = f.read_bytes()
            if "--force" not in words and f not in words[2:] and words[0] != "add":
                f.unlink()
            stdin = PUBLISHED.encode() if len(words) == 2 else b""
            redirection = " ".join(f"{fd}>&-" for fd in range(3) if closed & 1 << fd)
            done = attempt("sh", "-c", f'exec "$@" {redirection}', "sh", KEYVETO, "filter", *words, text=False,
                           input=stdin, env=environment(EPOCH))
            content = f.read_bytes()
            if len(words) == 2 and closed & 1:
                expected = (2, before)      # standard input is closed, so there are no keys
            elif closed == 0:
                good, expected = content, (0, content)
            else:
                expected = (0, good)
            equal((done.returncode, content), expected, f"{words} {redirection}: {done.stderr}")
            equal(done.stdout, b"", "standard output")
            check(bool(done.stderr) != bool(closed & 4), f"{words} {redirection}: {done.stderr}")
            pkbf.Filter.read(f)
            equal(names(scratch), ["f", "keys", "other"], "files")


def test_what_the_user_may_not_write_is_refused_with_the_reason(scratch):
    f = make(scratch / "f", 3, 10)
    before = f.read_bytes()
    f.chmod(0o444)
    scratch.chmod(0o777)    # the account nobody could replace the file in this directory
    status, err = as_nobody("add", f)
    equal((status, "ermission denied" in err), (2, True), err)
    scratch.chmod(0o555)
    f.chmod(0o666)
    if os.geteuid() == 0:
        status, err = as_nobody("add", f)
        equal((status, lock_of(f).name in err), (2, True), err)
        # Root's file in a directory of the user's: a replacement would belong to the user.
        scratch.chmod(0o777)
        status, err = as_nobody("add", f)
        equal((status, "owner" in err), (2, True), err)
    scratch.chmod(0o755)
    equal(f.read_bytes(), before, "the filter")
    equal(names(scratch), ["f"], "files")


def test_a_file_size_limit_is_reported(scratch):
    f = make(scratch / "f", 3, 20)
    before = f.read_bytes()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    for words in (["add", f], ["create", scratch / "g", "--hashes", "3", "--length", "20"]):
        process = start(*words, preexec_fn=limit)
        _, err = process.communicate(PUBLISHED.encode(), timeout=PATIENCE)
        equal(process.returncode, 2, f"status ({err})")
        check(b"File too large" in err, err)
    equal((names(scratch), f.read_bytes()), (["f"], before), "the filter")


def test_the_same_inputs_and_time_make_the_same_bytes(scratch):
    (scratch / "keys").write_text("".join(any_line(random.Random(27)) for _ in range(50)))
    for name in ("a", "b"):
        make(scratch / name, 9, 16, scratch / "keys")
        run("merge", scratch / f"{name}{name}", scratch / name)
    equal((scratch / "a").read_bytes(), (scratch / "b").read_bytes(), "add")
    equal((scratch / "aa").read_bytes(), (scratch / "bb").read_bytes(), "merge")
