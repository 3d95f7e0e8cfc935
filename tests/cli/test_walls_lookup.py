# SPDX-License-Identifier: ISC
"""Filters and lists that are in use are looked into behind the wall, whichever command asks.

test_walls.py tells how a process that an attacker has taken over is played. Here it reads a record of a list, the
header of a filter, or what stands beside a list: the names of its sources, or where private halves lie.
"""

import shutil
from pathlib import Path

import pytest

import blocklist
import sshkey
from brake_machine import FILTER, GUARD, LIST, machine
from hostile import each_user, need_root
from program import KEYVETO, contains, keyveto, lacks
from samples import write
from test_walls import MARK, exploit_in, no_asan

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

# The fifteen bytes of a hash, and the start of every filter.
MARKS = {"list": b"\xa5of others, too", "filter": b"pkbfv1"}
# A filter is asked for its size when its header is read, and with that call for paths, as a worker may.
READER = {"list": set(), "filter": {("keyveto-reader", "asks for paths")}}
WORKER = {("keyveto-worker", "writes elsewhere"), ("keyveto-worker", "asks for paths")}


@pytest.fixture(name="exploits", scope="module")
def fixture_exploits(tmp_path_factory):
    exploits = {kind: exploit_in(tmp_path_factory.mktemp(kind), '-DMARK="' + "".join(f"\\{b:03o}" for b in mark) + '"')
                for kind, mark in MARKS.items()}
    return {**exploits, "beside": exploit_in(tmp_path_factory.mktemp("beside"))}


@pytest.fixture(name="here")
def fixture_here(scratch):
    need_root()
    with machine(scratch) as here:
        here.authorize_root(here.world.clean)
        key = here.write("bad.pub", here.world.bad)
        key.chmod(0o644)
        here.scratch.chmod(0o755)
        bad = blocklist.Blocklist(LIST.read_bytes())
        bad.records.add(MARKS["list"] + b"\1")
        bad.add(sshkey.parse_line(str(here.world.bad).encode()), 1)
        LIST.write_bytes(bad.encode())
        keyveto("filter", "add", FILTER, key, status=0)
        Path(GUARD).parent.mkdir(exist_ok=True)
        shutil.copy(KEYVETO.parent / Path(GUARD).name, GUARD)
        write(here.scratch / "canaries", str(here.world.bad) + "\n").chmod(0o644)
        yield here


# The words, by what is looked into; and what these commands have a worker read as well.
USERS = {
    "check": ("check", "--quiet", "bad.pub"),
    "why": ("why", "bad.pub"),
    "confirm": ("confirm", "--dry-run", "--url", "https://[::1]:1", "bad.pub"),
}
ROOTS = {
    "audit": ("audit", "--quiet"),
    "audit of one": ("audit", "--user", "root"),
    "audit for report": ("audit", "--json", "--user", "root"),
    "doctor": ("doctor", "--canary", "canaries"),
    "rehearsal": ("sshd", "enable", "--guard", "--dry-run"),
}
# They ask what the files are, and look no key up.
HEADERS = {
    "scan": ("scan", "127.0.0.1:1"),
}
BY_WORKERS = {"audit for report", "doctor"}


def words_of(here, words):
    return [here.scratch / word if word in ("bad.pub", "canaries") else word for word in words]


@pytest.mark.sample(6)
@no_asan
@pytest.mark.parametrize("kind", MARKS)
@pytest.mark.parametrize("name, user", [(name, False) for name in (*USERS, *ROOTS, *HEADERS)] +
                         [(name, True) for name in USERS])
def test_a_lookup_that_is_taken_over_has_no_power(here, exploits, kind, name, user):
    words = {**USERS, **ROOTS, **HEADERS}[name]
    could, names, done = exploits[kind].run(*words_of(here, words), user=user)
    allowed = {"keyveto-reader"} | ({"keyveto-worker"} if name in BY_WORKERS else set())
    assert names <= allowed, f"the exploit ran in {names}: {done}"
    assert could <= READER[kind] | WORKER, done
    # Headers are always read, and the record in the middle wherever a key is looked up.
    assert names or (kind == "list" and name in HEADERS), f"nothing was looked up: {done}"


@each_user
def test_what_stands_beside_a_list_is_read_by_a_worker(here, exploits, user):
    """And why prints it, without its controls."""
    digest = blocklist.hashes(sshkey.parse_line(str(here.world.bad).encode()))[0]
    sources = write(LIST.with_name(LIST.name + ".sources"), b"# date 2026-11-01\n1 own " + MARK + b"\x1b[2J\n")
    lookup = write(LIST.with_name(LIST.name + ".lookup"), digest[:8].hex().encode() + b";" + MARK + b"\x1b[2J\n")
    for path in (sources, lookup):
        path.chmod(0o644)
    could, names, done = exploits["beside"].run("why", here.scratch / "bad.pub", user=user)
    assert names == {"keyveto-reader", "keyveto-worker"}, done
    assert could <= WORKER, done
    said = keyveto("why", here.scratch / "bad.pub", status=0).stdout
    contains(said, "source       own", "list made    2026-11-01",
             "private half https://github.com/%A5marked/blob/by%20somebody%20else%A5%1B%5B2J/%A5marked")
    lacks(said, "\x1b")
