# SPDX-License-Identifier: ISC
"""keyveto update follows a published folder: killed at any moment, with failing calls, on a full disk, many at once."""

import os
import random
import re
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from follow_publisher import BASE, FollowPlace, delta_name, packed_name, serve
from program import KEYVETO, PATIENCE, contains, equal, mount_namespace
from test_update_follow import grown
from test_update_killed import CALLS
from update_place import traced
from website import Page

NEWEST = 4


@pytest.fixture(name="place")
def fixture_place(scratch):
    made = FollowPlace(scratch)
    yield made
    made.close()


def mirror_of(place, deltas):
    """A folder of this machine with the newest revision; the deltas to it, or none."""
    for revision in range(1, NEWEST + 1):
        place.folder.put("filter.pkbf", grown(revision))
    if not deltas:
        place.folder.entries["filter.pkbf"]["deltas"] = []
        place.folder.index()
    mirror = place.state.parent / "mirror"
    place.folder.write(mirror)
    place.lines["Index"] = mirror
    return mirror


def numbers_of_calls(place):
    """The numbers of the system calls after the loader, by name: a sample, and all of the last ones."""
    equal(traced(place, ["-e", "trace=" + ",".join(CALLS)]), (0, ""))
    names = re.findall(r"^(\w+)\(", place.settings.with_name("trace").read_text(encoding="utf-8", errors="replace"),
                       re.MULTILINE)
    begun = names.index("umask")
    found = {}
    for name in dict.fromkeys(names[begun:]):
        mine = range(names[:begun].count(name) + 1, names.count(name) + 1)
        found[name] = sorted({*mine[::max(1, len(mine) // 5)], *mine[-2:]})
    return found


def at_each_call(place, deltas, injected, judge, one_in):
    """Updates again and again, with a fault in another system call each time: how often."""
    def reset():
        place.clear()
        place.put_by_hand(grown(1))

    mirror_of(place, deltas)
    reset()
    turns = 0
    for first, (call, numbers) in enumerate(numbers_of_calls(place).items()):
        for number in numbers[first % one_in::one_in]:
            # strace would leave the descriptor open, which Linux never does: whoever waits for its end waits forever.
            if call == "close" and injected.startswith("error"):
                continue
            reset()
            status, messages = traced(place, ["-e", f"trace={call}", "-e", f"inject={call}:{injected}:when={number}"])
            turns += 1
            what = f"{call} {number}: status {status}: {messages}"
            now = place.target.read_bytes()
            assert now in (grown(1), grown(NEWEST)), what
            judge(status, messages, now == grown(NEWEST), what)
            place.update()
            place.holds(grown(NEWEST))
            left = set(place.names()) - ({".filter.pkbf.lock"} if now == grown(NEWEST) else set())
            equal(left, {".filter.pkbf.keyveto-update", "filter.pkbf", "filter.pkbf.previous"}, what)
            equal(place.previous.read_bytes() == grown(1), True, what)
    return turns


@pytest.mark.long
@pytest.mark.parametrize("deltas", [True, False], ids=["deltas", "packed"])
def test_killed_at_a_system_call_the_file_is_old_or_new(place, deltas, one_in):
    def judge(status, _messages, new, what):
        # How often the filter is read depends on random keys that are looked up in it. How many files are opened
        # depends on the processes of this machine: the brake looks at each.
        reached = status != 0 or not what.startswith(("pread64", "openat", "read", "close"))
        assert status in (-signal.SIGKILL, 128 + signal.SIGKILL) if reached else new, what

    turns = at_each_call(place, deltas, "signal=KILL", judge, one_in)
    assert turns > 50 // one_in, f"only {turns} calls"


@pytest.mark.long
def test_a_failed_system_call_is_reported_or_no_matter(place, one_in):
    """A delta that cannot be read is as one that is missing."""
    def judge(status, messages, new, what):
        assert status in (0, 2), what
        assert status == 0 or messages.startswith("keyveto: "), what
        assert status != 0 or new, f"success without the new one: {what}"

    turns = at_each_call(place, True, "error=EIO", judge, one_in)
    assert turns > 50 // one_in, f"only {turns} calls"


@pytest.mark.parametrize("deltas", [True, False], ids=["deltas", "packed"])
def test_a_full_disk_keeps_the_old_file(place, deltas):
    """With more room the next run succeeds."""
    mirror_of(place, deltas)
    small = place.state.parent / "small"
    small.mkdir()
    size = len(grown(1)) * 2 // 4096 * 4096
    place.target = small / "filter.pkbf"
    words = [str(word) for word in (KEYVETO, *place.arguments())]
    old = place.state.parent / "old"
    old.write_bytes(grown(1))
    quoted = " ".join(f"'{word}'" for word in words)
    script = (f"mount -t tmpfs -o size={size},mode=755 none {small}; install -m 644 {old} {small}/filter.pkbf; "
              f"{quoted}; echo status $?; cmp {old} {small}/filter.pkbf && echo kept; ls -A {small}; "
              f"mount -o remount,size=10m {small}; {quoted} --quiet; echo status $?; "
              f"cat {small}/filter.pkbf >{old}.now")
    done = subprocess.run([*mount_namespace(), "sh", "-c", script], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    contains(done.stderr, "No space left on device", f"{place.target}: stays as it is, revision 1")
    equal(done.stdout, "status 2\nkept\n.filter.pkbf.keyveto-update\nfilter.pkbf\nstatus 0\n")
    equal((place.state.parent / "old.now").read_bytes() == grown(NEWEST), True)


# --- many who follow -------------------------------------------------------------

def liar(rnd, body, others):
    """What a server may send in place of a file."""
    kind = rnd.randrange(6)
    if kind == 0:
        return body[:rnd.randrange(len(body))]
    if kind == 1:
        return rnd.choice(others)
    if kind == 2:
        at = rnd.randrange(len(body))
        return body[:at] + bytes([body[at] ^ 1 << rnd.randrange(8)]) + body[at + 1:]
    if kind == 3:
        return body + rnd.randbytes(1 + rnd.randrange(100))
    if kind == 4:
        return b""
    return None


@pytest.mark.long
def test_each_client_ends_with_the_publishers_bytes_or_keeps_its_own(place):
    """Twenty clients at random revisions; a server that lies about some of its files, and differently each time."""
    rnd = random.Random(15)
    indexes = [place.folder.put("filter.pkbf", grown(n)) or place.folder.names["index"] for n in range(1, NEWEST + 1)]
    clients, begun = [], []
    for number in range(20):
        state = place.state.parent / f"client{number}"
        state.mkdir(mode=0o755)
        revision = rnd.randrange(NEWEST)
        if revision > 0:
            (state / "filter.pkbf").write_bytes(grown(revision))
            (state / "filter.pkbf").chmod(0o644)
        clients.append(state / "filter.pkbf")
        begun.append(revision)
    place.write_settings()

    def update(target):
        process = subprocess.Popen([KEYVETO, "update", "--settings", place.settings, "--filter", target],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=rnd.random() / 4 if rnd.random() < 0.2 else PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return process.returncode

    whole = [None, *(grown(n) for n in range(1, NEWEST + 1))]
    seen = list(begun)
    for _ in range(6):
        serve(place.site, place.folder)
        pages = {path: page for path, page in place.site.pages.items() if path.startswith(BASE)}
        bodies = [page.body for page in pages.values()] + indexes
        for path in rnd.sample(sorted(pages), 5):
            lie = liar(rnd, pages[path].body, bodies)
            place.site.pages[path] = Page(lie, '"lie"') if lie is not None else None
        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(update, clients))
        for number, target in enumerate(clients):
            now = whole.index(target.read_bytes() if target.exists() else None)
            assert now >= seen[number], f"client {number}: from {seen[number]} back to {now}"
            assert statuses[number] != 0 or now in (seen[number], *range(1, NEWEST + 1)), number
            seen[number] = now
    serve(place.site, place.folder)
    for target in clients:
        equal(update_until_done(place, target), 0)
        assert target.read_bytes() == grown(NEWEST)
        assert not [name for name in os.listdir(target.parent) if "part" in name or "delta" in name]


def update_until_done(place, target):
    done = subprocess.run([KEYVETO, "update", "--settings", place.settings, "--filter", target], check=False,
                          capture_output=True, timeout=PATIENCE)
    return done.returncode


def test_swapped_files_of_two_revisions_are_found_out(place):
    for revision in (1, 2, 3):
        place.put(grown(revision))
    place.target.write_bytes(grown(1))
    place.target.chmod(0o644)
    one, two = delta_name(grown(1), grown(2)), delta_name(grown(2), grown(3))
    bodies = {name: place.page_of(name).body for name in (one, two)}
    place.page_of(one).body, place.page_of(two).body = bodies[two], bodies[one]
    files = {name: place.page_of(name).body for name in (packed_name(grown(n)) for n in (2, 3))}
    place.page_of(packed_name(grown(3))).body = files[packed_name(grown(2))]
    place.refuse(kept=None)
    place.serve()
    place.update()
    place.holds(grown(3))
    shutil.rmtree(place.state.parent / "mirror", ignore_errors=True)
