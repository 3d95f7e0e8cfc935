# SPDX-License-Identifier: ISC
"""A kernel or a container that refuses calls, as an old one does, takes walls away and nothing else.

Each command runs with random calls refused, and does what it does without: the same status, output and files. It says
once which wall does not stand.
"""

import collections
import contextlib
import errno
import gzip
import json
import random
import re
import shutil
import subprocess

import pytest

import test_confirm
from patches import serve_patch
from program import KEYVETO, PATIENCE, ROOT, attempt, equal, on_a_machine
from pwned_api import p_key
from samples import listing, made, write
from test_scan import keys_and_filter, name, sshd
from test_walls import no_asan
from update_place import Place, Signer, grown, with_signers
from website import Page

# What the walls are made of, and those that are missing without it. libseccomp takes prctl(2) where there is no
# seccomp(2), and sets no_new_privs (38) first.
WALLS = {("seccomp", "prctl:22"): {"seccomp"}, ("capset",): {"privileges"}, ("prctl:38",): {"privileges", "seccomp"}}
# What each command does without. A libc takes no other errno than ENOSYS for some of them.
OTHERS = ("close_range", "copy_file_range", "dup3", "fadvise64", "landlock_add_rule",
          "landlock_create_ruleset", "landlock_restrict_self", "memfd_create", "openat2", "pidfd_open",
          "pidfd_send_signal", "prctl:1", "prctl:4", "sched_getaffinity", "seccomp", "splice",
          "sync_file_range")
ONLY_ENOSYS = ("clone3", "faccessat2", "fallocate", "rseq", "statx")
ROUNDS = 8
WARNING = re.compile(r"^keyveto: warning: (.*) runs without the wall (\w+), which this system refuses: .*\n",
                     re.MULTILINE)


@pytest.fixture(scope="module", name="program")
def fixture_program(tmp_path_factory):
    made_here = tmp_path_factory.mktemp("refuse") / "refuse_calls"
    subprocess.run(["cc", "-o", made_here, ROOT / "tests/cli/refuse_calls.c", "-lseccomp"], check=True)
    return made_here


def some_refusals(rnd, needed=()):
    """An errno, calls that it refuses, but for those that are needed, and the walls that are missing then."""
    error = rnd.choice((errno.ENOSYS, errno.EPERM))
    calls = rnd.sample(OTHERS + (ONLY_ENOSYS if error == errno.ENOSYS else ()), rnd.randint(1, 4))
    wall, missing = rnd.choice([((), set()), *WALLS.items()])
    return error, [*(call for call in calls if call not in needed), *wall], missing


class Asker:
    """Runs commands of keyveto in a folder that is as it was for each."""

    def __init__(self, folder, program):
        self.folder, self.kept, self.program = folder / "now", folder / "kept", program
        self.folder.mkdir()

    def run(self, words, data, refused=()):
        if not self.kept.exists():
            shutil.copytree(self.folder, self.kept)
        shutil.rmtree(self.folder)
        shutil.copytree(self.kept, self.folder)
        done = attempt(*refused, KEYVETO, *words, text=False, input=data or b"", cwd=self.folder)
        # How long an update took stands in its notes.
        files = {str(path.relative_to(self.folder)): path.suffix != ".keyveto-update" and path.stat().st_size
                 for path in self.folder.rglob("*") if path.is_file()}
        errors = done.stderr.decode()
        out = re.sub(rb"\d{4}-\d\d-\d\dT[\d:]+Z", b"TIME", done.stdout)
        return (done.returncode, out, WARNING.sub("", errors), files), WARNING.findall(errors)

    def compare(self, seed, words, data=None, rounds=ROUNDS, needed=()):
        """It does the same with calls refused, and says which walls are missing, once for each program."""
        rnd = random.Random(seed)
        plain, warnings = self.run(words, data)
        assert warnings == [], words
        for _ in range(rounds):
            error, calls, missing = some_refusals(rnd, needed)
            found, warnings = self.run(words, data, [self.program, str(error), *calls, "--"])
            case = f"{words} without {calls} ({errno.errorcode[error]})"
            assert found == plain, case
            assert set(collections.Counter(warnings).values()) <= {1}, f"{case}: {warnings}"
            assert {wall for _, wall in warnings} == missing, f"{case}: {warnings}"
        return plain


@pytest.fixture(name="asker")
def fixture_asker(scratch, program):
    return Asker(scratch, program)


WITH_FILES = 15


def of_files(folder):
    """Commands with files alone: words, standard input, and the status."""
    line = made()["ed25519"].line + "\n"
    other = write(folder / "other", made()["rsa"].line + "\n").name
    keys = write(folder / "tree/keys", line).parent.name
    (folder / "tree/packed.gz").write_bytes(gzip.compress(20000 * line.encode()))
    listing(folder / "f", made()["ed25519"])
    shutil.copy(listing(folder / "g", made()["rsa"]), folder / "h")
    proves = p_key(256)
    write(folder / "proofs/below/proof.json", proves.proof())
    write(folder / "key", proves.line + "\n")
    write(folder / "l", bytes(16))
    write(folder / "keyveto.conf", "Filter f\n")
    yield ("check", "--filter", "f", keys), None, 1
    yield ("check", "--filter", "f", "--json", "--all", keys, other), None, 1
    yield ("check", "--filter", "f", "-"), gzip.compress(line.encode()), 1
    yield ("check", "--weak", "--filter", "g", "--blocklist", "l", "tree/keys"), None, 0
    yield ("proof", "verify", "proofs"), None, 2
    yield ("spki", other), None, 0
    yield ("why", "--filter", "f", "tree/keys"), None, 0
    yield ("proof", "verify", "proofs/below/proof.json", "key"), None, 0
    yield ("filter", "create", "new", "--hashes", "2", "--length", "10"), None, 0
    yield ("filter", "add", "f", other), None, 0
    yield ("filter", "info", "f"), None, 0
    yield ("filter", "merge", "new", "g", "h"), None, 0
    yield ("list", "create", "new", other), None, 0
    yield ("list", "add", "l", other), None, 0
    yield ("list", "info", "l"), None, 0


@pytest.mark.sample(4)
@no_asan
@pytest.mark.parametrize("number", range(WITH_FILES))
def test_commands_with_files_work_as_ever(asker, number):
    commands = list(of_files(asker.folder))
    equal(len(commands), WITH_FILES)
    words, data, status = commands[number]
    plain = asker.compare(number, words, data)
    assert plain[0] == status, plain


@no_asan
@pytest.mark.parametrize("signed", (False, True), ids=("whole", "signed, by a patch"))
def test_update_works_as_ever(asker, signed):
    with contextlib.closing(Place(asker.folder)) as place:
        if signed:
            signer = Signer(asker.folder, "publisher")
            with_signers(place, f"keyveto {signer.public}")
            place.put(grown())
            place.page.body = grown(2)
            place.site.pages["/filter.pkbf.sig"] = Page(signer.sign(grown(2)))
            serve_patch(place.site, "/filter.pkbf", grown(), grown(2))
        place.arguments()
        # ssh-keygen, as another account, opens its files by their numbers.
        plain = asker.compare(signed, place.arguments(), needed=("memfd_create",) if signed else ())
    assert plain[0] == 0 and "state/filter.pkbf" in plain[3]


@no_asan
def test_confirm_works_as_ever(asker):
    place = test_confirm.Place(asker.folder)
    try:
        plain = asker.compare(1, place.arguments(place.keys))
    finally:
        place.api.close()
    assert plain[0] == 1 and "state/confirmed.dat" in plain[3]


@pytest.mark.long
@no_asan
@pytest.mark.throwaway
def test_scan_works_as_ever(asker):
    identities, bad = keys_and_filter(asker.folder)
    with sshd(asker.folder, identities) as (port, _):
        plain = asker.compare(1, ("scan", "--timeout", PATIENCE, "--filter", bad, name(port)), rounds=4)
    assert plain[0] == 1


@no_asan
@on_a_machine
def test_audit_works_as_ever(asker, world):
    world.account("alice").authorize(world.bad, world.clean)
    words = ("audit", "--filter", world.filter, "--user", "alice")
    assert asker.compare(1, words)[0] == 1
    assert asker.compare(2, (*words, "--all"))[0] == 1


@no_asan
@on_a_machine
def test_doctor_names_what_is_missing(asker):
    """And finds for the rest what it finds without."""
    def checks(done):
        made_of = [(one["check"], one["status"], one["found"]) for one in json.loads(done[1])["checks"]]
        return [one for one in made_of if one[0] != "walls"], [one for one in made_of if one[0] == "walls"]
    plain, walls = checks(asker.run(("doctor", "--json"), None)[0])
    assert walls[0][1] == "ok"
    rnd = random.Random(1)
    for _ in range(ROUNDS):
        error, calls, missing = some_refusals(rnd)
        done, _ = asker.run(("doctor", "--json"), None, [asker.program, str(error), *calls, "--"])
        found, walls = checks(done)
        case = f"without {calls} ({errno.errorcode[error]}): {walls}"
        assert found == plain, case
        assert walls[0][1] == ("warning" if missing else "ok"), case
        found = set(re.sub(".* without |, which.*", "", walls[0][2]).split(", ")) if missing else set()
        assert found - {"landlock"} == missing, case
