# SPDX-License-Identifier: ISC
"""keyveto update: killed at any system call, or with a system call that fails."""

import itertools
import os
import re
import signal

import pytest
from patches import patch, patch_path
from program import ROOT, contains, equal, lacks
from runs import run
from update_place import Signer, a_filter, large, revision_of, traced, with_signers


CALLS = ("umask", "openat", "flock", "fstat", "newfstatat", "statx", "pwrite64", "pread64", "fallocate", "ftruncate",
         "fchmod",
         "fsync", "linkat", "unlinkat", "rename", "renameat", "renameat2", "write", "close", "memfd_create", "pipe2",
         "vfork", "fork", "clone", "clone3", "wait4", "execve")


def numbers_of_calls(place, words):
    """The numbers of the system calls that keyveto makes after the loader, by name: a sample, and all of the last ones.

    The names come from a trace: strace's when= counts each name for itself, and the C library chooses the calls
    (fstat is newfstatat with glibc 2.36, and fstat with 2.41).
    """
    equal(traced(place, ["-e", "trace=" + ",".join(CALLS)], *words), (0, ""))
    trace = place.settings.with_name("trace").read_text(encoding="utf-8", errors="replace")
    lacks(trace, "EBADF")       # each is closed once: a second time, it may be another file's
    names = re.findall(r"^(\w+)\(", trace, re.MULTILINE)
    begun = names.index("umask")
    found = {}
    for name in dict.fromkeys(names[begun:]):
        mine = range(names[:begun].count(name) + 1, names.count(name) + 1)
        found[name] = sorted({*mine[::max(1, len(mine) // 6)], *mine[-8:]})
    return found


def at_each_call(place, injected, judge, one_in, patched=False):
    """Updates from revision 1 to 2 again and again, with a fault in another system call each time: how often.

    The whole file comes by --force, the other by a patch.
    """
    older, old, new = large(0), large(1), large(2)
    signer = Signer(place.settings.parent, "publisher")
    with_signers(place, f"keyveto {signer.public}")
    source = place.state.parent / "source"
    source.write_bytes(new)
    source.with_name("source.sig").write_bytes(signer.sign(new))
    words = (source,) if patched else ("--force", source)
    if patched:
        (source.parent / patch_path("source", old)).write_bytes(patch(old, new))

    def reset():
        place.clear()
        place.put(old)
        place.previous.write_bytes(older)
        place.previous.chmod(0o644)

    reset()
    turns = 0
    for first, (call, numbers) in enumerate(numbers_of_calls(place, words).items()):
        for number in numbers[first % one_in::one_in]:
            # strace would leave the descriptor open, which Linux never does: whoever waits for its end waits forever.
            if call == "close" and injected.startswith("error"):
                continue
            reset()
            status, messages = traced(place, ["-e", f"trace={call}", "-e", f"inject={call}:{injected}:when={number}"],
                                      *words)
            turns += 1
            what = f"{call} {number}: status {status}: {messages}"
            now, before = place.target.read_bytes(), place.previous.read_bytes()
            assert now in (old, new) and before in (older, old), what
            assert now == new or before == older, f"the older one is lost: {what}"
            assert now != new or before == old or place.old.read_bytes() == old, f"the old one is lost: {what}"
            judge(status, messages, now == new, what)
            place.update("--force", source)
            equal((place.target.read_bytes() == new, place.previous.read_bytes() == old), (True, True), what)
            # If the killed run had installed the filter, the next run writes nothing, and leaves the lock file.
            left = set(place.names()) - ({".filter.pkbf.lock"} if now == new else set())
            equal(left, {".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"}, what)
    return turns


@pytest.mark.long
@pytest.mark.parametrize("patched", (False, True), ids=("whole", "patched"))
def test_killed_at_each_system_call_it_leaves_a_whole_filter(place, one_in, patched):
    def judge(status, _messages, new, what):
        # How many files are opened depends on the processes of this machine: the brake looks at each.
        reached = status != 0 or not what.startswith(("openat", "read", "close", "fstat", "newfstatat"))
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL) if reached else new, what

    turns = at_each_call(place, "signal=KILL", judge, one_in, patched)
    assert turns > 60 // one_in, f"only {turns} calls"


PLACING = ("linkat", "renameat", "renameat2", "unlinkat", "fsync")


def killed_while_placing(place, prepare, *words):
    """Kills an update at each call that renames or syncs. Yields the call after each kill."""
    for call in PLACING:
        for number in itertools.count(1):
            place.clear()
            prepare()
            status, messages = traced(place, ["-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={number}"],
                                      *words)
            assert status in (0, -signal.SIGKILL, 128 + signal.SIGKILL), messages
            if status == 0:
                break
            yield f"{call} {number}"


def three_revisions(place):
    """Installs revisions 1 and 2. The server has 3."""
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    place.page.body, place.page.etag = a_filter(3), '"3"'


@pytest.mark.long
def test_killed_while_placing_a_rollback_returns_to_the_filter_before(place):
    """The update is killed while it puts the new filter in place."""
    seen = set()
    for what in killed_while_placing(place, lambda: three_revisions(place)):
        now = revision_of(place.target)
        contains(place.update("--rollback"), f"rolled back, revision {now} -> {now - 1}, ")
        equal((revision_of(place.target), revision_of(place.previous)), (now - 1, now), what)
        lacks(" ".join(place.names()), "keyveto-old")
        seen.add(now)
    equal(seen, {2, 3})


def test_the_former_previous_filter_is_removed_after_the_new_one_is_on_disk(place):
    place.put(a_filter(0))
    equal(traced(place, ["-y", "-e", "trace=linkat,renameat,fsync"]), (0, ""))
    calls = re.findall(r"^(\w+)\((.*)\) += 0$", place.settings.with_name("trace").read_text(encoding="utf-8"),
                       re.MULTILINE)
    # The new one has no name of its own.
    what_of = {"the new one": r"/proc/self/fd/\d+$|#\d+>\(deleted$"}
    steps = [(call, *(next((said for said, known in what_of.items() if re.search(known, name)), name)
                      for name in re.findall(r'"(.*?)"', what) or [what[:-1].rpartition("/")[2]]))
             for call, what in calls]
    equal([step for step in steps if not any("keyveto-update" in name for name in step)], [
        ("linkat", "the new one", ".filter.pkbf.keyveto-new"),
        ("fsync", "the new one"),
        ("linkat", "filter.pkbf", ".filter.pkbf.keyveto-old"),
        ("renameat", ".filter.pkbf.keyveto-new", "filter.pkbf"),
        ("fsync", "state"),
        ("renameat", ".filter.pkbf.keyveto-old", "filter.pkbf.previous"),
        ("fsync", "state")])


@pytest.mark.long
def test_killed_while_placing_the_notes_fit_the_installed_filter(place):
    """The notes have the ETag that the next run sends."""
    seen = set()
    for what in killed_while_placing(place, lambda: three_revisions(place)):
        now = revision_of(place.target)
        place.update()
        asked = place.site.requests[-1].headers["If-None-Match"]
        assert asked in (None, f'"{now}"'), f"{what}: revision {now}, {asked}"
        equal((revision_of(place.target), revision_of(place.previous)), (3, 2), what)
        seen.add((now, asked))
    equal(seen, {(2, '"2"'), (3, None), (3, '"3"')})


def test_only_a_replaced_filter_becomes_the_previous_one(place):
    """A killed run may leave other files under the hidden names."""
    def make_fifo():
        os.mkfifo(place.old)

    def give_away():
        place.old.write_bytes(a_filter(7))
        os.chown(place.old, 65534, 65534)

    three_revisions(place)
    place.update()
    for leave in (lambda: os.link(place.target, place.old), lambda: place.old.symlink_to(place.previous), make_fifo,
                  *([give_away] if os.geteuid() == 0 else [])):
        leave()
        equal(place.update(), "already current, revision 3")
        equal((revision_of(place.target), revision_of(place.previous)), (3, 2))
        lacks(" ".join(place.names()), "keyveto-old", ".lock")
    # A replacement that did not happen. Then another program replaces the filter, and keeps no previous one.
    os.link(place.target, place.old)
    run("filter", "add", place.target, ROOT / "testdata/demo/publisher-examples.pub", status=0)
    equal((revision_of(place.target), revision_of(place.previous)), (4, 2))
    lacks(" ".join(place.names()), "keyveto-old")
    place.old.mkdir()
    contains(place.refuse("--force", early=True), "cannot rename or remove .filter.pkbf.keyveto-old "
             "beside it, left by a run that "
             "was killed: Is a directory")


def test_the_previous_filter_may_be_a_link_to_the_installed_one(place):
    three_revisions(place)
    place.previous.unlink()
    os.link(place.target, place.previous)
    place.update()
    equal((revision_of(place.target), revision_of(place.previous)), (3, 2))
    equal(place.names(), [".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"])


def test_killed_in_a_rollback_both_filters_are_exchanged_or_neither(place):
    """The filter that was rolled back from does not return."""
    def two_revisions():
        three_revisions(place)
        place.page.body, place.page.etag = a_filter(2), '"2"'

    seen = set()
    for what in killed_while_placing(place, two_revisions, "--rollback"):
        both = (revision_of(place.target), revision_of(place.previous))
        if both == (2, 1):
            contains(place.update(), "already current, revision 2")
        else:
            contains(place.refuse(), "still has the revision 2 that was rolled back here, ")
        equal((revision_of(place.target), revision_of(place.previous)), both, what)
        seen.add(both)
    equal(seen, {(1, 2), (2, 1)})


@pytest.mark.parametrize("patched", (False, True), ids=("whole", "patched"))
def test_a_failed_system_call_is_reported(place, one_in, patched):
    """The filter is the old one or the new one."""
    def judge(status, messages, new, what):
        assert status in (0, 2), what
        assert status == 0 or messages.startswith("keyveto: "), what
        assert status != 0 or new, f"success without the new one: {what}"
        assert "stays as it is" not in messages or not new, what

    turns = at_each_call(place, "error=EIO", judge, one_in, patched)
    assert turns > 60 // one_in, f"only {turns} calls"


def test_a_filter_that_is_damaged_is_replaced(place):
    """The previous filter stays."""
    for revision in (1, 2):
        place.page.body, place.page.etag = a_filter(revision), f'"{revision}"'
        place.update()
    place.put(a_filter(2)[:-9])
    result = place.run(status=0)
    contains(result.out.decode(), "installed, revision 2")
    contains(result.err.decode(), "what is installed is no good filter")
    equal((revision_of(place.target), revision_of(place.previous)), (2, 1))
