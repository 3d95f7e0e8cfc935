# SPDX-License-Identifier: ISC
"""What a publisher answers to keyveto confirm is read by a process that has nothing, and so is a proof that is kept.

test_walls.py tells how a process that an attacker has taken over is played. Hostile programs are in the place of
keyveto-network and of keyveto-worker, too.
"""

import json
import os
import shutil
import sys

import pytest

from hostile import HOSTILE as WORKER_HOSTILE, each_user, need_root
from program import attempt, copy_programs, equal
from pwned_api import Api, Key, page, small_filter
from samples import write
from test_walls import MARK, Exploit, SHORT_WAITS, is_printable, no_asan, preload
from test_walls_network import HOSTILE as NETWORK_HOSTILE
from test_walls_network import ITS_JOB
from update_place import authority


class Place:
    """A filter with one key, about which an API is asked."""

    def __init__(self, folder):
        self.folder, self.key = folder, Key()
        folder.chmod(0o755)
        self.filter = folder / "filter.pkbf"
        small_filter(self.key).write(self.filter)
        self.filter.chmod(0o644)
        self.settings = write(folder / "update.conf", f"Proxy none\nCAFile {authority().certificate}\n")
        self.keys = write(folder / "keys", f"{self.key.line}\n")
        self.state = folder / "state"
        self.state.mkdir()
        self.kept = self.state / f"proofs/{self.key.id}.json"

    def words(self, url):
        return ["confirm", "--settings", self.settings, "--filter", self.filter, "--state", self.state, "--json",
                "--url", url, self.keys]


def verdict(done):
    lines = done.stdout.splitlines()
    equal(len(lines), 1, done)
    one = json.loads(lines[0])
    return one["verdict"], one["reason"]


@pytest.fixture(name="place")
def fixture_place(scratch):
    return Place(scratch)


@pytest.fixture(name="api")
def fixture_api():
    api = Api()
    yield api
    api.close()


@each_user
def test_what_reads_an_answer_or_a_proof_has_no_power_when_it_is_taken_over(place, api, user):
    need_root()
    authority().certificate.parent.chmod(0o755)
    (place.folder / "exploit").mkdir()
    exploit = Exploit(place.folder / "exploit")
    os.chown(place.state, 65534 if user else 0, -1)
    proof = place.key.proof()
    for status, body in ((200, b'{"a": "' + MARK + b'"}'), (404, MARK), (200, proof + b"\n" + MARK)):
        api.site.pages[f"/{place.key.id}"] = page(body, status)
        could, names, done = exploit.run(*place.words(api.url), "--again", user=user)
        equal(names, {"keyveto-network", "keyveto-worker"}, done)
        assert {power for _, power in could} <= ITS_JOB, done
        assert ("keyveto-worker", "opens a socket") not in could, done
        # The exploit sends an empty packet, too.
        equal(verdict(done)[0], "no answer", done)
    # One that is kept is read before anybody is asked.
    api.site.pages[f"/{place.key.id}"] = page(proof)
    write(place.kept, proof + b"\n" + MARK)
    for path in (place.kept.parent, place.kept):
        os.chown(path, 65534 if user else 0, 65534 if user else 0)
    could, names, done = exploit.run(*place.words(api.url), user=user)
    assert "keyveto-worker" in names and "keyveto" not in names, done
    assert {power for _, power in could} <= ITS_JOB, done
    equal(verdict(done), ("confirmed", None))
    equal(place.kept.read_bytes(), proof, done)


# --- in the place of keyveto-network -------------------------------------------

REFUSED = {
    "announces nothing": "head(type='application/json'); arrived(0); end()",
    "announces more than one part has": "head(type='application/json'); arrived((1 << 18) + 1); end()",
    "announces before a head": "arrived(1); os.write(fd, b'x'); head(); end()",
    "announces with more": "head(); arrived(1, b'x'); os.write(fd, b'x'); end()",
    "sends less": "head(type='application/json'); arrived(100); os.write(fd, b'x'); os.close(fd); end()",
    "goes on after less": "head(); arrived(9); os.write(fd, b'x'); os.close(fd); arrived(1); end()",
}


@pytest.fixture(name="hostile_network")
def fixture_hostile_network(place):
    copy_programs(place.folder)

    def run(says, **options):
        text = NETWORK_HOSTILE.format(python=sys.executable, good=str(place.filter)) + "asked()\n" + says + "\n"
        write(place.folder / "keyveto-network", text).chmod(0o755)
        return attempt(place.folder / "keyveto", *place.words("https://localhost"), text=False, **options)
    return run


def test_an_obedient_network_is_believed(place, hostile_network):
    done = hostile_network("head(status=404); end()")
    equal(verdict(done), ("not confirmed", None), done)
    shutil.rmtree(place.state)
    place.state.mkdir()
    proof = place.key.proof()
    done = hostile_network(f"proof = {proof!r}; head(type='application/json'); data(proof[:9]); "
                           "data(proof[9:]); end()")
    equal(verdict(done), ("confirmed", None), done)
    equal(place.kept.read_bytes(), proof, done)


@pytest.mark.parametrize("says", REFUSED.values(), ids=REFUSED)
def test_a_body_that_is_none_is_no_answer(hostile_network, says):
    done = hostile_network(says)
    assert is_printable(done.stderr) and done.returncode == 2, done
    equal(verdict(done), ("no answer", "keyveto-network sent what it never sends"), done)


@pytest.mark.parametrize("says, reason", (
    ("head(type='application/json')\nwhile True: data(9999 * b'x')", "the answer is longer than 16384 bytes"),
    ("head(); arrived(9); os.write(fd, b'x'); os.kill(os.getpid(), signal.SIGSEGV)",
     "keyveto-network was ended by signal 11 (Segmentation fault)")), ids=("without end", "ended"))
def test_a_body_that_is_not_whole_is_no_answer(hostile_network, says, reason):
    equal(verdict(hostile_network(says)), ("no answer", reason))


@no_asan
def test_a_body_that_does_not_come_is_waited_for_in_vain(place, hostile_network):
    done = hostile_network("head(); arrived(9); os.write(fd, b'x'); signal.pause()",
                           env=preload(place.folder, SHORT_WAITS.replace("ms / 1000", "ms / 30")))
    equal(verdict(done), ("no answer", "keyveto-network did not end in time"), done)


# --- in the place of keyveto-worker --------------------------------------------

BAD_RESULTS = {
    "says nothing": "hello()",
    "ends": "",
    "is killed": "hello(); os.kill(os.getpid(), signal.SIGSEGV)",
    "fails": "hello(); result(3); sys.exit(2)",
    "says that it is not read": "hello(); result(0)",
    "says what is none": "hello(); result(4)",
    "says half of it": "hello(); tell(16, number(3))",
    "says more": "hello(); tell(16, number(3), text(''), b'x')",
    "says too much": "hello(); result(3, 256 * 'w')",
    "says it twice": "hello(); result(3); result(3)",
    "wants a file": "hello(); opened('/etc/shadow')",
}


@pytest.fixture(name="hostile_worker")
def fixture_hostile_worker(place):
    copy_programs(place.folder)
    write(place.kept, place.key.proof())

    def run(says):
        lines = "def result(kind, why=''): tell(16, number(kind), text(why))\n" + says + "\n"
        write(place.folder / "keyveto-worker", WORKER_HOSTILE.format(python=sys.executable) + lines).chmod(0o755)
        return attempt(place.folder / "keyveto", *place.words("https://localhost:1"), text=False)
    return run


def test_an_obedient_worker_is_believed(hostile_worker):
    equal(verdict(hostile_worker("hello(); result(3)")), ("confirmed", None))
    equal(verdict(hostile_worker("hello(); result(1, 'no')"))[0], "no answer")


@pytest.mark.parametrize("says", BAD_RESULTS.values(), ids=BAD_RESULTS)
def test_a_worker_that_is_none_of_ours_confirms_no_key(place, hostile_worker, says):
    done = hostile_worker(says)
    assert is_printable(done.stderr) and done.returncode == 2, done
    assert f"keyveto: {place.kept}: cannot be read: the worker ".encode() in done.stderr, done
    equal(verdict(done)[0], "no answer", done)
