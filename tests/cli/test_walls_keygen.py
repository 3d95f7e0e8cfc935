# SPDX-License-Identifier: ISC
"""ssh-keygen, which reads a publisher's signature, is a process that has nothing.

test_walls.py tells how a process that an attacker has taken over is played. Here it is ssh-keygen, behind the wall that
keyveto-worker builds: it says on its standard output what it could do.
"""

import os
import re
import shutil
import subprocess

import pytest

from hostile import each_user, need_root
from program import KEYVETO, PATIENCE, ROOT, attempt, mount_namespace
from runs import as_nobody
from samples import write
from test_walls import MARK, POWERS, REFUSALS, SETRESUID, Exploit, no_asan
from update_place import Signer, a_filter, with_signers

# Its libraries are code, which it maps, and have paths. Its output has two descriptors.
ITS_JOB = {"maps code", "asks for paths", "writes elsewhere"}

# ssh-keygen gets no variable of ours: the exploit is loaded by /etc/ld.so.preload, from where libraries are.
LOADED = """set -e
mount -t tmpfs none /usr/local/lib
cp "$1/exploit.so" /usr/local/lib/
cp -a /etc "$1/etc"
echo /usr/local/lib/exploit.so >"$1/etc/ld.so.preload"
mount --bind "$1/etc" /etc
shift
exec "$@"
"""


@pytest.fixture(name="signed")
def fixture_signed(place):
    """A filter of this machine with a good signature, which everybody may read: its files by their names."""
    need_root()
    place.settings.parent.chmod(0o755)
    signer = Signer(place.settings.parent, "publisher")
    data = place.settings.parent / "source.pkbf"
    data.write_bytes(a_filter())
    signature = data.with_name("source.pkbf.sig")
    signature.write_bytes(signer.sign(a_filter()))
    place.lines = {"URL": data}
    with_signers(place, f"keyveto {signer.public}")
    return {"signature": signature, "data": data}


def run(place, *words, user=False, before=()):
    place.write_settings()
    os.chown(place.state, 65534 if user else 0, -1)
    words = (*words, KEYVETO, *map(str, place.arguments("--force")))
    words = as_nobody(*words) if user else words
    return attempt(*before, *words, errors="replace")


@pytest.fixture(name="exploit")
def fixture_exploit(place):
    folder = place.settings.parent / "exploit"
    folder.mkdir()
    return Exploit(folder)


def powers(place, exploit, *refused, user):
    os.chown(exploit.secret, 65534 if user else 0, -1)
    exploit.secret.chmod(0o600)
    namespace = (*mount_namespace(), "sh", "-c", LOADED, "sh", exploit.folder)
    done = run(place, *refused, user=user, before=namespace)
    shutil.rmtree(exploit.folder / "etc", ignore_errors=True)
    told = re.findall(r"\(ssh-keygen: powers: (\d+)\)", done.stderr)
    assert len(told) == 1, done
    assert done.returncode == 2 and not place.target.exists(), done
    return {text for bit, text in POWERS.items() if int(told[0]) & bit}


def mark(file):
    """ssh-keygen reads on behind what it wants."""
    with open(file, "ab") as out:
        out.write(b"\n#" + MARK + b"\n")


@each_user
def test_an_ssh_keygen_that_is_taken_over_has_no_power(place, signed, exploit, user):
    mark(signed["signature"])
    assert run(place, user=user).returncode == 0, "what follows a signature is no part of it"
    place.target.unlink()
    assert powers(place, exploit, user=user) <= ITS_JOB


def strace(call, error="ENOSYS"):
    words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:error={error}"]
    # libseccomp falls back to prctl(2). Its first calls start programs, and the worker's.
    return words + (["-e", f"inject=prctl:error={error}:when=3+"] if call == "seccomp" else [])


@no_asan
def test_each_wall_alone_holds_an_ssh_keygen_of_roots(place, signed, exploit):
    mark(signed["signature"])
    assert powers(place, exploit, *strace("landlock_restrict_self"), user=False) <= ITS_JOB
    assert powers(place, exploit, *strace(SETRESUID), user=False) <= ITS_JOB | {"is root"}
    without_seccomp = powers(place, exploit, *strace("seccomp"), user=False)
    assert "opens a socket" in without_seccomp, "the attack is one"
    # A namespace in which it is root gives it nothing outside. Landlock knows no attributes: where everybody may write,
    # it can set one.
    assert "reads a file" not in without_seccomp


@pytest.mark.sample(5)
@each_user
@pytest.mark.parametrize("call, wall", REFUSALS)
@pytest.mark.parametrize("error", ("ENOSYS", "EPERM"))
def test_a_wall_that_cannot_stand_stops_no_signature(place, signed, call, wall, error, user):
    done = run(place, *strace(call, error), user=user)
    assert done.returncode == 0, done.stderr
    assert place.target.read_bytes() == a_filter()
    warnings = set(re.findall(r"runs without the wall (\w+), which this system refuses", done.stderr))
    wall = None if user and call == SETRESUID else wall
    assert warnings - ({"privileges"} if call == "seccomp" else set()) == ({wall} if wall else set()), done.stderr
    place.target.unlink()
    signed["data"].write_bytes(a_filter(2))
    done = run(place, *strace(call, error), user=user)
    assert done.returncode == 2 and not place.target.exists(), done.stderr
    assert "no good signature by keyveto for this filter (ssh-keygen: " in done.stderr


def test_an_account_that_etc_passwd_does_not_have_verifies_as_before(place, signed):
    """A directory server has it: ssh-keygen needs its socket. Here nobody has it, and ssh-keygen says so."""
    os.chown(place.state, 54321, -1)
    place.write_settings()
    words = ["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "strace", "-f", "-qq", "-e",
             "trace=socket,execve", "-o", place.state / "trace", KEYVETO, *map(str, place.arguments())]
    done = attempt(*words)
    assert "runs without" not in done.stderr
    assert "ssh-keygen: No user exists for uid 54321)" in done.stderr, done
    calls = (place.state / "trace").read_text(encoding="ascii", errors="replace")
    assert " socket(AF_UNIX, " in calls, "nscd is asked"
    assert "ENOSYS" not in calls and signed["data"].exists()


@no_asan
@pytest.mark.parametrize("error", ("ENOSYS", "EACCES", "EPERM"))
def test_where_no_copy_can_be_executed_the_program_is(place, signed, error):
    """Of SELinux, say, or of a kernel before 3.19."""
    assert signed["signature"].exists() and run(place, *strace("execveat", error)).returncode == 0


# Has worker/system.c run a program that closes its output, and lives on.
LINGERS = """
#include "system.h"
#include <errno.h>
int main(void)
{
    static const char *const argv[] = { "/bin/sh", "-c", "exec >&- 2>&-; exec sleep 1000", NULL };
    struct program p = { .argv = argv };
    char text[8];
    int status;

    program_fds(&p, PROGRAM_NULL, SYSTEM_PIPE, SYSTEM_PIPE);
    return system_run(&p, 1, text, sizeof(text), &status) == ETIMEDOUT ? 0 : 1;
}
"""


@no_asan
def test_a_program_that_says_no_more_still_has_to_end(scratch, build):
    words = ["cc", "-D_GNU_SOURCE", *(f"-I{ROOT / one}" for one in ("lib", "cli", "worker")), "-o", scratch / "lingers",
             write(scratch / "lingers.c", LINGERS), build / "worker/system.o", build / "libcommand.a",
             build / "libkeyveto.a", "-lseccomp"]
    subprocess.run(words, check=True)
    assert subprocess.run([scratch / "lingers"], check=False, timeout=PATIENCE).returncode == 0
