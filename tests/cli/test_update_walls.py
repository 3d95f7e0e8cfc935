# SPDX-License-Identifier: ISC
"""A patch is applied by keyveto-worker, in a process that has nothing else.

test_walls.py tells how a parser that an attacker has taken over is played. Here are also programs in the worker's
place: whatever they say, keyveto believes and installs nothing that the publisher did not sign.
"""

import os
import re
import shutil
import sys

import pytest

from hostile import WORKER, each_user, need_root
from patches import patch_path, serve_patch
from program import KEYVETO, ROOT, STARTED, attempt, equal
from samples import write
from test_walls import MARK, Exploit, is_printable
from update_place import Place, Signer, authority, grown, with_signers
from website import Page

FILTER, SIGNATURE = "/filter.pkbf", "/filter.pkbf.sig"


@pytest.fixture(name="place")
def fixture_place(scratch):
    """Revision 1 is installed, and the server has 2 and a patch."""
    made = Place(scratch)
    signer = Signer(scratch, "publisher")
    with_signers(made, f"keyveto {signer.public}")
    made.put(grown())
    made.page.body = grown(2)
    made.site.pages[SIGNATURE] = Page(signer.sign(grown(2)))
    made.patch = serve_patch(made.site, FILTER, grown(), grown(2))
    yield made
    made.close()


@pytest.fixture(scope="module", name="exploit")
def fixture_exploit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exploit")
    for parent in [folder, *folder.parents]:
        if parent.stat().st_uid == os.getuid() and len(parent.parts) > 2:
            parent.chmod(0o755)
    return Exploit(folder)


@each_user
def test_a_parser_of_a_patch_that_is_taken_over_has_no_power(exploit, place, user):
    need_root()
    place.patch.body = place.patch.body[:7] + MARK + place.patch.body[7 + len(MARK):]
    del place.site.pages[FILTER]
    os.chmod(place.state.parent, 0o755)
    authority().certificate.parent.chmod(0o755)
    if user:
        os.chown(place.state, 65534, 65534)
        os.chown(place.target, 65534, 65534)
    could, names, done = exploit.run(*place.arguments(), user=user)
    assert names == {"keyveto-network", "keyveto-worker"}, f"the exploit ran in {names}: {done}"
    # It writes into the file that it got.
    assert {text for name, text in could if name == "keyveto-worker"} <= {"writes elsewhere", "asks for paths"}
    assert b": a patch is not used: the worker " in done.stderr, done
    assert place.target.read_bytes() == grown()


# --- a program in the worker's place ---------------------------------------------

def number_of(name):
    """The number of a question in wire/working.h."""
    text = (ROOT / "cli/wire/working.h").read_text(encoding="ascii")
    names = re.findall(r"^\t(WORKING_\w+)", text[text.index("enum working_question"):], re.MULTILINE)
    return names.index(name) + 1


# What it says: lines of Python, after these. It does one task; ours does the others.
HOSTILE = WORKER + """
def result(*fields): tell({result}, *fields)
data = front.recv(1 << 17, socket.MSG_PEEK)
if data[9:].split(b"\\0")[0] != b"apply": os.execv("{worker}", ["keyveto-worker"])
data, fds, _, _ = socket.recv_fds(front, 1 << 17, 64)
front.recv(1 << 17)
def hello(): tell(1, number(5), number(15))
SIZE = {size}
"""
DIES = {
    "says nothing": "",
    "says nothing of it": "hello()",
    "is killed": "hello(); os.kill(os.getpid(), signal.SIGSEGV)",
    "ends with a status": "hello(); sys.exit(3)",
    "does not do it": "hello(); sys.exit(2)",
    "asks for a file": "hello(); tell(3, text('/etc/shadow'), number(0)); front.recv(1)",
    "sends noise": "hello(); front.send(os.urandom(100)); front.recv(1)",
    "sends an empty result": "hello(); result(); front.recv(1)",
    "sends a huge record": "hello(); front.send(struct.pack('>I', 1 << 31) + b'x'); front.recv(1)",
}
PATCH = {
    "says more": "hello(); result(number(1), b'x')",
    "says two": "hello(); result(number(2))",
    "says it twice": "hello(); result(number(1)); result(number(1))",
    "writes nothing": "hello(); result(number(1))",
    "writes another file": "hello(); os.write(fds[2], bytes(SIZE)); result(number(1))",
    "writes a long file": "hello()\ntry: os.pwrite(fds[2], b'x', 1 << 30)\nexcept OSError: result(number(1))",
    "writes the installed file": "hello(); os.sendfile(fds[2], fds[0], 0, SIZE); result(number(1))",
    "writes what is installed": "hello()\ntry: os.pwrite(fds[0], b'x', 0)\n"
                                "except OSError: result(number(0))\nelse: result(number(1))",
}


class Hostile:
    """A folder with the programs."""

    def __init__(self, folder, place):
        self.folder, self.place = folder / "bin", place
        self.folder.mkdir()
        shutil.copy(KEYVETO, self.folder)
        for started in STARTED:
            (self.folder / started.name).symlink_to(started)

    def run(self, says, start=HOSTILE):
        worker = next(path for path in STARTED if path.name == "keyveto-worker")
        start = start.format(python=sys.executable, worker=worker, result=number_of("WORKING_RESULT"),
                             size=len(grown(2)))
        (self.folder / "keyveto-worker").unlink()
        write(self.folder / "keyveto-worker", start + says + "\n").chmod(0o755)
        environment = {name: value for name, value in os.environ.items() if name not in ("TZ", "SOURCE_DATE_EPOCH")}
        return attempt(self.folder / "keyveto", *self.place.arguments(), text=False, env=environment)


@pytest.fixture(name="hostile")
def fixture_hostile(scratch, place):
    return Hostile(scratch, place)


# Looks at what a task is handed, and hands it on to ours, and what each of the two says to the other.
LOOKS = WORKER + """
import fcntl, select
data, fds, _, _ = socket.recv_fds(front, 1 << 17, 64)
print("handed", data[9:9 + data[8]].decode(), *(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE for fd in fds),
      file=sys.stderr, flush=True)
ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
socket.send_fds(ours, [data], fds)
pid = os.fork()
if pid == 0:
    os.dup2(its.fileno(), 0)
    os.execv("{worker}", ["keyveto-worker"])
its.close()
while True:
    for one in select.select([front, ours], [], [])[0]:
        data = one.recv(1 << 17)
        if not data and one is ours: os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        if data: (ours if one is front else front).send(data)
"""


@pytest.mark.parametrize("patched", (True, False), ids=("patched", "whole"))
def test_who_judges_the_new_filter_cannot_write_it(place, hostile, patched):
    """A parser that is taken over after the signature was verified changes nothing of what has it."""
    if not patched:
        del place.site.pages[patch_path(FILTER, grown())]
    done = hostile.run("", LOOKS)
    equal(done.returncode, 0, done.stderr)
    equal(place.target.read_bytes(), grown(2))
    handed = [line.split() for line in re.findall("^handed (.*)", done.stderr.decode(), re.MULTILINE)]
    names = {name for name, *_ in handed}
    assert names >= {"filter-head", "hash", "judge-filter", "keygen"} and ("apply" in names) == patched, handed
    judging = {mode for name, *modes in handed if name in ("filter-head", "judge-filter") for mode in modes}
    equal(judging, {str(os.O_RDONLY)}, handed)
    # The signature, which is nothing without the file, may be written.
    assert all(modes[0] == "0" for name, *modes in handed if name == "keygen"), handed


FILLS = """hello()
size = 0
try:
    while True: size += os.pwrite(fds[2], bytes(8192), size)
except OSError as error: print("wrote", size, os.strerror(error.errno), file=sys.stderr, flush=True)
"""


def test_a_worker_fills_no_disk(hostile):
    """It writes no more than twice the installed file."""
    done = hostile.run(FILLS)
    assert f"wrote {2 * len(grown())} File too large\n" in done.stderr.decode(), done
    assert hostile.place.target.read_bytes() == grown(2)
    assert [name for name in hostile.place.names() if "part" in name] == []


# It says what ours says of another patch.
PLAUSIBLE = {"writes nothing", "writes another file", "writes a long file", "writes what is installed",
             "writes the installed file"}


@pytest.mark.sample(4)
@pytest.mark.parametrize("signed", (True, False), ids=("signed", "unsigned"))
@pytest.mark.parametrize("case", {**DIES, **PATCH})
def test_a_worker_that_is_none_of_ours_applies_no_patch(hostile, case, signed):
    place = hostile.place
    if not signed:
        del place.lines["AllowedSigners"]
    done = hostile.run({**DIES, **PATCH}[case])
    assert is_printable(done.stderr), done
    warning = f"keyveto: warning: {place.site.url()}: a patch is not used: the worker ".encode()
    assert (warning in done.stderr) == (case not in PLAUSIBLE), done
    if signed or case not in ("writes another file", "writes the installed file"):
        assert done.returncode == 0, done
        assert place.target.read_bytes() == grown(2)
        assert place.previous.read_bytes() == grown()
        assert place.site.paths[-2:] == [patch_path(FILTER, grown()), FILTER]
    else:
        # What is no filter is refused, and what is installed is current.
        assert place.target.read_bytes() == grown()
        assert place.site.paths[-1] == patch_path(FILTER, grown())


def test_an_obedient_worker_in_its_place_is_believed(hostile):
    """So that what the others do is what is refused."""
    done = hostile.run(f"hello(); os.pwrite(fds[2], bytes.fromhex('{grown(2).hex()}'), 0); result(number(1))")
    assert (done.returncode, done.stderr) == (0, b""), done
    assert hostile.place.target.read_bytes() == grown(2)
    assert hostile.place.site.paths[-1] == patch_path(FILTER, grown())
