# SPDX-License-Identifier: ISC
"""keyveto update: bad settings, full disks, terminals, other programs, signals."""

import fcntl
import json
import os
import re
import signal
import stat
import threading
import time

import pytest

from program import KEYVETO, PATIENCE, ROOT, attempt, contains, equal, mount_namespace, preload, wait_until
from runs import run
from samples import write
from terminal import Terminal
from update_place import a_filter, authority, large, received, revision_of


def test_a_mistake_in_the_settings_is_reported(place):
    """The message names file, line and reason. No filter is fetched."""
    for line, reason in (("Nonsense x", 'unknown keyword "Nonsense"'), ("URL", "URL needs an argument"),
                         ("url a b", "URL takes one argument"), ('URL ""', "URL needs a URL"),
                         ('URL "x', "unterminated quote"), ("CAFile ca.pem", "CAFile needs an absolute path"),
                         ("MaxSize 12Q", "MaxSize needs a number of bytes, K, M, G or T after it"),
                         ("MaxSize 99999999T", "MaxSize needs a number of bytes, K, M, G or T after it"),
                         ("Timeout 0", "Timeout needs seconds, 1 to 604800"),
                         ("StallTimeout 1h", "StallTimeout needs seconds, 1 to 604800"),
                         ("MaxFalsePositives 1", "MaxFalsePositives needs a number between 0 and 1"),
                         ("MaxFalsePositives nan", "MaxFalsePositives needs a number between 0 and 1")):
        place.settings.write_text(f"# first\n{line}\n", encoding="utf-8")
        result = run("update", "--settings", place.settings, "--filter", place.target, place.site.url(), status=2)
        equal(result.problems, [f"{place.settings}:2: {reason}"])
    place.settings.write_bytes(b"URL \0\n")
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    equal(result.problems, [f"{place.settings}:1: NUL byte"])
    place.settings.write_bytes(b"#" * 70_000)
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    equal(result.problems, [f"{place.settings}:1: file too large"])
    place.settings.write_bytes(b"")
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    equal(result.problems, [f"no URL to fetch a filter from: give one, or set URL in {place.settings}, or fetch "
                            "the free list with --source badkeys"])
    place.settings.unlink()
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    equal(result.problems, [f"{place.settings}: No such file or directory"])
    equal(place.site.requests, [])


def test_cas_that_others_may_write_are_refused(place):
    own = place.settings.with_name("ca.pem")
    write(own, authority().certificate.read_bytes()).chmod(0o666)
    place.lines["CAFile"] = own
    contains(place.refuse(early=True), "ca.pem: writable by group or others; correct owner and mode")
    equal(place.site.requests, [])
    own.chmod(0o644)
    place.update()


def test_settings_or_a_place_that_others_may_write_are_refused(place):
    place.write_settings()
    place.settings.chmod(0o666)
    result = run("update", "--settings", place.settings, "--filter", place.target, status=2)
    contains(result.problems[0], "update.conf: writable by group or others; correct owner and mode")
    place.settings.chmod(0o600)
    place.state.chmod(0o777)
    contains(place.run(status=2).problems[0], "its directory is somebody else's, or others may write there")
    place.state.chmod(0o1777)
    place.run(status=0)


@pytest.mark.serves(body=large())
def test_a_file_in_the_place_of_the_lock_is_not_used(place):
    """keyveto neither writes through it nor trusts its content."""
    victim = place.state.parent / "victim"
    write(victim, b"untouched").chmod(0o600)
    place.part.symlink_to(victim)
    place.update()
    os.link(victim, place.part)
    place.update("--force")
    write(place.part, large()).chmod(0o666)
    place.update("--force")
    os.mkfifo(place.part)
    place.update("--force")
    equal(victim.read_bytes(), b"untouched")
    equal(place.target.read_bytes(), large())
    place.part.mkdir()
    equal(place.run("--force", status=2).problems[0],
          f"{place.target}: cannot make .filter.pkbf.keyveto-part beside it: Is a directory")


@pytest.mark.serves(body=large())
def test_a_file_system_without_modes_ends_the_run(place, scratch):
    """On one such as vfat no file is ever its owner's alone."""
    env = preload(scratch, "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <sys/stat.h>\n"
                           "int fstat(int fd, struct stat *st) {\n"
                           "  int (*next)(int, struct stat *) = dlsym(RTLD_NEXT, \"fstat\"), result = next(fd, st);\n"
                           "  st->st_mode |= 055;\n  return result;\n}\n")
    run = place.run(status=2, env=env)
    contains(run.problems[0], f"{place.target}: .filter.pkbf.keyveto-part beside it is never a file of this user alone")


@pytest.mark.serves(body=large())
def test_on_a_file_system_without_o_tmpfile_a_copy_becomes_the_filter(place, scratch):
    """What lost its name cannot get another one there."""
    env = preload(scratch, "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n"
                           "#define TMPFILE 020000000\n#define OPENAT(name)\\\n"
                           "int name(int dir, const char *path, int flags, unsigned int mode) {\\\n"
                           "  int (*next)(int, const char *, int, unsigned int) = dlsym(RTLD_NEXT, #name);\\\n"
                           "  if (flags & TMPFILE) { errno = EOPNOTSUPP; return -1; }\\\n"
                           "  return next(dir, path, flags, mode);\\\n}\nOPENAT(openat)\nOPENAT(openat64)\n")
    contains(place.update(env=env), "installed, revision 1")
    place.page.body, place.page.etag = large(2), '"two"'
    contains(place.update(env=env), "updated, revision 1 -> 2")
    equal((place.target.read_bytes(), place.previous.read_bytes()), (large(2), large()))
    equal(stat.S_IMODE(place.target.stat().st_mode), 0o644)
    # The notes are about the copy.
    contains(place.update(), "already current, revision 2")
    equal(place.site.requests[-1].headers["If-None-Match"], '"two"')
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_damaged_or_forged_notes_do_no_harm(place):
    state = place.state / ".filter.pkbf.keyveto-update"
    place.update()
    good = json.loads(state.read_text(encoding="utf-8"))
    equal(stat.S_IMODE(state.stat().st_mode), 0o600)
    for bad in (b"", b"{", b"[]", b"\xff\xfe", b"null", b"x" * 100_000, b'{"etag": 5, "size": "x", "mtime": []}',
                json.dumps({**good, "etag": '"one"\r\nX-Evil: 1'}).encode(),
                json.dumps({**good, "etag": "x" * 5000}).encode(),
                json.dumps({**good, "size": good["size"] + 1}).encode()):
        state.write_bytes(bad)
        place.update()
        asked = place.site.requests[-1].headers
        equal((asked["If-None-Match"], asked["X-Evil"]), (None, None))
    place.update()
    equal(place.site.requests[-1].headers["If-None-Match"], '"one"')


@pytest.mark.serves(body=large())
def test_a_full_disk_fails_cleanly_and_leaves_no_part_behind(place):
    # Without settings: in a user namespace, files of the caller do not count as trusted.
    small, old, source = (place.state / name for name in ("small", "old", "source"))
    small.mkdir()
    old.write_bytes(a_filter(0))
    source.write_bytes(large())
    script = (f"mount -t tmpfs -o size=600k,mode=755 none {small}; install -m 644 {old} {small}/f; "
              f"{KEYVETO} update --filter {small}/f {source} >{place.state}/said 2>&1 && exit 7; "
              f"cmp {old} {small}/f; ls -A {small} >{place.state}/left")
    done = attempt(*mount_namespace(), "sh", "-euc", script, text=False)
    said = (place.state / "said").read_text(encoding="utf-8")
    equal(done.returncode, 0, f"{done.stderr} {said}")
    contains(said, "No space left on device; it needs 1048600 bytes", "stays as it is, revision 0")
    equal((place.state / "left").read_text(encoding="utf-8").split(), ["f"])


@pytest.mark.serves(body=large())
def test_a_limit_on_the_size_of_files_fails_cleanly(place):
    place.put(a_filter(0))
    arguments = " ".join(f"'{word}'" for word in place.arguments())
    done = attempt("bash", "-c", f"ulimit -f 300; '{KEYVETO}' {arguments}")
    equal(done.returncode, 2, done.stderr)
    contains(done.stderr, "File too large; it needs 1048600 bytes", "stays as it is, revision 0")
    assert not place.part.exists()


@pytest.mark.serves(body=large())
def test_on_a_terminal_progress_is_shown(place):
    """The progress is erased before a message."""
    def on_terminal():
        terminal = Terminal(KEYVETO, *place.arguments())
        return terminal.end(), terminal.text

    over = threading.Event()
    place.page.cut = 700_000
    place.page.pause = (400_000, over)
    threading.Timer(1, over.set).start()
    status, shown = on_terminal()
    equal(status, 2)
    assert re.search(r"\rfetching|\033\[Kfetching \d\.\d MiB of 1\.0 MiB ", shown), shown
    assert re.search(r"\r\033\[Kkeyveto: https", shown), shown
    place.page.cut = place.page.pause = None
    status, shown = on_terminal()
    equal(status, 0, shown)
    assert shown.endswith("false positives 5.68e-11\r\n"), shown


@pytest.mark.serves(body=large())
def test_a_second_run_at_the_same_time_is_refused(place):
    over = threading.Event()
    place.page.pause = (300_000, over)
    with place.start() as first:
        wait_until(lambda: received(first) > 1000, "the first receives")
        second = place.run(status=2)
        equal(second.problems[0], f"{place.target}: another keyveto update of it is running; wait for its end")
        over.set()
        first.communicate(timeout=PATIENCE)
        equal(first.returncode, 0)
    equal(place.target.read_bytes(), large())


@pytest.mark.serves(body=large(7))
def test_a_change_by_another_program_during_the_run_is_not_lost(place):
    place.put(a_filter(0))
    over = threading.Event()
    place.page.pause = (300_000, over)
    with place.start() as process:
        wait_until(lambda: received(process) > 1000, "it receives")
        run("filter", "add", place.target, ROOT / "testdata/demo/publisher-examples.pub", status=0)
        changed = place.target.read_bytes()
        over.set()
        _, messages = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 2, messages)
    contains(messages, "another program changed it meanwhile; nothing was written, run this again")
    equal(place.target.read_bytes(), changed)
    place.page.pause = None
    place.update()


def test_an_update_waits_for_the_lock_of_other_writers(place):
    place.put(a_filter(0))
    lock = place.state / ".filter.pkbf.lock"
    lock.touch(mode=0o600)
    with open(lock, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with place.start() as process:
            wait_until(lambda: len(place.site.requests) == 1, "it asks")
            time.sleep(0.3)
            equal(process.poll(), None)
            equal(revision_of(place.target), 0)
            fcntl.flock(held, fcntl.LOCK_UN)
            process.communicate(timeout=PATIENCE)
            equal(process.returncode, 0)
    equal(revision_of(place.target), 1)


@pytest.mark.serves(body=large())
def test_a_signal_ends_an_update_with_that_signal(place):
    """Nothing stays of it."""
    place.put(a_filter(0))
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        over = threading.Event()
        place.page.pause = (300_000, over)
        # Also if an update first finishes the work of a killed run, under the lock.
        os.link(place.target, place.old)
        with place.start() as process:
            wait_until(lambda: received(process) > 1000, "it receives")
            process.send_signal(sig)
            _, messages = process.communicate(timeout=PATIENCE)
            over.set()
            equal(process.returncode, -sig, messages)
        contains(messages, "interrupted", "stays as it is, revision 0")
        equal([name for name in place.names() if name != ".filter.pkbf.keyveto-update"], ["filter.pkbf"])
        equal(revision_of(place.target), 0)


def test_closed_standard_descriptors_are_not_mistaken_for_the_filter(place):
    for closed in range(8):
        for old in (None, a_filter(0), b"text"):
            place.clear()
            if old is not None:
                place.put(old)
            redirection = " ".join(f"{fd}>&-" for fd in range(3) if closed & 1 << fd)
            done = attempt("sh", "-c", f'exec "$@" {redirection}', "sh", KEYVETO, *place.arguments("--force"),
                           text=False)
            # If the result cannot be printed, the status is 2, although the filter is the new one.
            equal(done.returncode, 2 if closed & 2 else 0, f"{redirection}: {done.stderr}")
            equal(place.target.read_bytes(), a_filter(), redirection)
            kept = {None: [], a_filter(0): ["filter.pkbf.previous"], b"text": ["filter.pkbf.kept"]}[old]
            equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", *kept], redirection)
            equal((place.state / kept[0]).read_bytes() if kept else None, old)
