# SPDX-License-Identifier: ISC
"""journalctl, which reads what every account can log, is a process that may read journals and print, and nothing else.

test_walls.py tells how a process that an attacker has taken over is played. Here it is journalctl, behind the wall that
keyveto-worker builds: it says on its standard error what it could do.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from audit_machine import World
from hostile import need_root, put_worker
from program import KEYVETO, attempt, contains, copy_programs, equal, lacks, mount_namespace
from samples import made, write
from sshd_logs import JOURNALCTL, fake_journalctl
from test_audit_logins import journal_has, journald, log_in_until, people, real_sshd
from test_walls import MARK, POWERS, REFUSALS, SETRESUID, fixture_exploit, no_asan  # noqa: F401 (the fixture)
from test_walls_keygen import ITS_JOB, LOADED, strace

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

FORMS = ("journal", "folder", "file")


@pytest.fixture(name="journal")
def fixture_journal(world):
    """A real journal of this machine with a login, and what somebody logged; its forms by their names."""
    need_root()
    identities, _, _ = people(world)
    with journald():
        with real_sshd(world) as port:
            log_in_until(port, "alice", identities["alice"], "Accepted publickey for alice")
        subprocess.run(["logger", "-t", "anybody"], input=MARK + b"\n", check=True)
        journal_has("marked by somebody else")
        folder = next(Path("/run/log/journal").glob("?*"))
        yield {"journal": "journal", "folder": folder, "file": next(folder.glob("system.journal"))}


def audit(world, log, *before):
    words = ("audit", "--filter", world.filter, "--user", "alice", "--logins", str(log))
    return attempt(*before, KEYVETO, *words, errors="replace")


def powers(world, exploit, log, *refused):
    exploit.secret.chmod(0o600)
    done = audit(world, log, *mount_namespace(), "sh", "-c", LOADED, "sh", exploit.folder, *refused)
    shutil.rmtree(exploit.folder / "etc", ignore_errors=True)
    told = re.findall(r"^powers: (\d+)$", done.stderr, re.MULTILINE)
    equal(len(told), 1, done)
    contains(done.stderr, f"keyveto: {log}: /usr/bin/journalctl fails")
    return {text for bit, text in POWERS.items() if int(told[0]) & bit}


@no_asan
@pytest.mark.parametrize("form", FORMS)
def test_a_journalctl_that_is_taken_over_has_no_power(world, journal, exploit, form):
    """It is not root's."""
    assert powers(world, exploit, journal[form]) <= ITS_JOB


@pytest.mark.long
@no_asan
def test_each_wall_alone_holds_a_journalctl_of_roots(world, journal, exploit):
    without_landlock = powers(world, exploit, "journal", *strace("landlock_restrict_self"))
    assert without_landlock <= ITS_JOB | {"reads a file"}
    without_seccomp = powers(world, exploit, journal["file"], *strace("seccomp"))
    assert "opens a socket" in without_seccomp, "the attack is one"
    # It can change the modes of files of root's, and read and write none.
    assert "reads a file" not in without_seccomp


@pytest.mark.sample(4)
@no_asan
def test_the_group_of_the_journal_is_enough(world, journal, exploit):
    """Then it has no capability, and without Landlock it still reads nothing else."""
    World.append("/etc/group", "systemd-journal:x:4242:")
    for path in (journal["folder"], *journal["folder"].iterdir()):
        path.chmod(0o750 if path.is_dir() else 0o640)
        os.chown(path, 0, 4242)
    for log in journal.values():
        contains(audit(world, log).stdout, ": 1 login, the last ")
    assert powers(world, exploit, "journal", *strace("landlock_restrict_self")) <= ITS_JOB


# Without them no capability outlives a change of account: then it stays root's. prctl(2) is refused with seccomp(2).
MORE = {"capset": {"account"}, "seccomp": {"account", "privileges"}}
STAYS_ROOTS = (*strace(SETRESUID), "-e", "inject=landlock_restrict_self:error=ENOSYS")


@no_asan
@pytest.mark.parametrize("call, wall", [(call, wall) for call, wall in REFUSALS if wall != "account"])
@pytest.mark.parametrize("error", ("ENOSYS", "EPERM"))
def test_a_wall_that_cannot_stand_stops_no_journal(world, journal, call, wall, error):
    for log in journal.values():
        done = audit(world, log, *strace(call, error))
        contains(done.stdout + done.stderr, ": 1 login, the last ")
        warnings = set(re.findall(r"runs without the wall (\w+), which this system refuses", done.stderr))
        equal(warnings - MORE.get(call, set()), {wall} - {None}, done.stderr)


@no_asan
def test_what_root_may_read_is_read(world, journal, scratch):
    """Files of an account that nobody else may read, by a relative path, and by links out of the folder."""
    folder = scratch / "journals"
    folder.mkdir()
    there = Path(shutil.copy(journal["file"], folder / "copied.journal"))
    for path in (there, folder):
        os.chown(path, 12345, 12345)
    there.chmod(0o600)
    folder.chmod(0o700)
    links = scratch / "links"
    links.mkdir()
    (links / "linked.journal").symlink_to(there)
    for log in (there, folder, os.path.relpath(there), links):
        contains(audit(world, log).stdout, ": 1 login, the last ")


@pytest.mark.long
@no_asan
def test_it_needs_nothing_that_is_refused(world, journal, scratch):
    """As journalctl itself opens and asks: what the walls refuse is not missed."""
    for log in journal.values():
        done = audit(world, log, "strace", "-f", "-qq", "-o", scratch / "trace", "-e", "trace=all")
        contains(done.stdout, ": 1 login, the last ")
        lines = (scratch / "trace").read_text(encoding="utf-8", errors="replace").splitlines()
        starts = f'execveat(6, "", ["{JOURNALCTL}"'
        started = next(line.split()[0] for line in lines if starts in line)
        its = [line for line in lines if line.startswith(f"{started} ")]
        its = its[[starts in line for line in its].index(True):]
        refused = [line for line in its if "EACCES" in line or "EPERM" in line or "ENOSYS" in line]
        # It asks for more files than an ordinary user may have open, and goes on without.
        refused = [line for line in refused if "RLIMIT_NOFILE" not in line and "prlimit64 resumed" not in line]
        equal(refused, [], "\n".join(refused))


# Says whether it can open a file of root's for writing.
WRITER = """
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
int main(void)
{
    static const int flags[] = { O_WRONLY, O_RDWR };

    for (int i = 0; i < 2; i++)
        fprintf(stderr, "%s ", open("/etc/passwd", flags[i]) != -1 ? "opened" : "refused");
    fprintf(stderr, "by %d\\n", errno);
    return 1;
}
"""


@no_asan
@pytest.mark.parametrize("refused, said", (
    ((), "refused refused by "), (STAYS_ROOTS, "refused refused by "),
    ((*STAYS_ROOTS, *strace("seccomp")[5:]), "opened opened by ")), ids=("all walls", "seccomp alone", "no wall"))
def test_a_journalctl_of_roots_opens_no_file_for_writing(world, scratch, refused, said):
    """Root owns /etc/passwd, and needs no capability to write it."""
    world.account("alice").authorize(world.bad)
    write(scratch / "writer.c", WRITER)
    with fake_journalctl("exit 1"):
        JOURNALCTL.unlink()
        subprocess.run(["cc", "-o", JOURNALCTL, scratch / "writer.c"], check=True)
        done = audit(world, "journal", *refused)
    contains(done.stderr, said)


def test_messages_of_journalctl_come_without_controls(world):
    world.account("alice").authorize(world.bad)
    with fake_journalctl("printf '\\033[2Jcannot\\n' >&2; exit 1"):
        done = audit(world, "journal")
    contains(done.stderr, "\\x1b[2Jcannot\n", "journal: /usr/bin/journalctl fails")
    lacks(done.stderr, "\x1b")


ENDED = "def ended(error, status, *more): tell(16, number(error), number(status), *more)\n"
REFUSED = {
    "says nothing": ("", "the worker ended too early"),
    "does not say how it ended": ("hello()", "the worker told nothing"),
    "ends with a status": ("hello(); ended(0, 0); sys.exit(2)", "the worker could not do it"),
    "says it twice": ("hello(); ended(0, 0); ended(0, 0)", "the worker says what it never says"),
    "says more": ("hello(); ended(0, 0, b'x')", "the worker says what it never says"),
    "opens a file": ("hello(); tell(3, text(b'/etc/passwd'), number(0))", "the worker says what it never says"),
    "says a huge error": ("hello(); ended((1 << 64) - 1, 0)", "Unknown error -1; name the file of the log"),
}


@pytest.mark.parametrize("says, why", REFUSED.values(), ids=REFUSED)
def test_a_worker_that_is_none_of_ours_is_a_problem(world, scratch, says, why):
    program = copy_programs(scratch)
    put_worker(scratch / "keyveto-worker", f"{ENDED}{says}\n")
    world.account("alice").authorize(made()["ed25519"].line)
    words = ("audit", "--filter", world.filter, "--user", "alice", "--logins=journal")
    done = attempt(program, *words)
    said = done.stderr.replace("No error information", "Unknown error -1")      # musl's text
    contains(said, f"keyveto: journal: /usr/bin/journalctl fails: {why}\n", "1 problem")
    equal(done.returncode, 2, done)
