# SPDX-License-Identifier: ISC
"""What a guard can do that an attacker has taken over, by a key or by a file of the account; and that whatever is
refused to it changes nothing of what it answers."""

import os
import shutil
import struct
import subprocess

import pytest
from program import KEYVETO, PATIENCE, ROOT
from samples import empty_filter, made, write
from test_walls import ENTRY, MARK, POWERS, no_asan

GUARD = KEYVETO.parent / "keyveto-authorized-keys"
ACCOUNT = "nobody"
# It writes to sshd and syslogd, by descriptors that are open.
LEFT = {"writes elsewhere", "maps code"}
ALL_POWERS = set(POWERS.values()) - {"is root", "attacks the front"}


class Guard:
    """An account whose file has the mark, a filter that lists a key, and libraries that play the exploit."""

    def __init__(self, folder):
        self.folder, self.results = folder, folder / "results"
        self.secret = write(folder / "secret", "secret\n")
        self.secret.chmod(0o600)
        shutil.chown(self.secret, ACCOUNT)
        write(folder / "open/old", "old\n").chmod(0o666)
        (folder / "open").chmod(0o777)
        self.clean, self.listed = made()["ed25519"], made()["rsa"]
        filters = folder / "filter.pkbf"
        shutil.copy(empty_filter(), filters)
        filters.chmod(0o644)
        subprocess.run([KEYVETO, "filter", "add", filters, write(folder / "listed", self.listed.line)],
                       check=True, capture_output=True)
        self.program = folder / GUARD.name
        shutil.copy(GUARD, self.program)
        self.program.chmod(0o755)
        self.config = write(folder / "keyveto.conf", f"Filter {filters}\nOnProbable warn\n")
        self.keys = write(folder / "home/.ssh/authorized_keys",
                          b"# " + MARK + b"\n" + f"{self.listed.line}\n{self.clean.line}\n".encode())
        for path in (folder, folder / "home", folder / "home/.ssh"):
            path.chmod(0o755)
        for path in (self.config, self.keys):
            path.chmod(0o644)

    def library(self, *flags):
        made_of = self.folder / f"exploit{len(flags)}.so"
        if not made_of.exists():
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", f'-DRESULTS="{self.results}"',
                            f'-DSECRET="{self.secret}"', f'-DFOLDER="{self.folder}/open"', *flags, "-o", made_of,
                            ROOT / "tests/cli/exploit.c", "-ldl"], check=True)
        return made_of

    def argv(self, key, *more):
        kind, blob = key.line.split()[:2]
        return [str(word) for word in (self.program, "--config", self.config, "--user", ACCOUNT, "--home",
                                       self.folder / "home", "--type", kind, "--key", blob, *more)]

    def run(self, key, *more, before=(), **settings):
        return subprocess.run([*before, *self.argv(key, *more)], stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=PATIENCE, **settings)

    def exploited(self, key, *more, flags=()):
        """What the guard could do once it had read the mark, and how it ended."""
        self.results.write_bytes(bytes(4 + 64 * ENTRY.size))
        self.results.chmod(0o666)
        done = self.run(key, *more, before=("env", f"LD_PRELOAD={self.library(*flags)}"))
        found = self.results.read_bytes()
        entries = [ENTRY.unpack_from(found, 4 + i * ENTRY.size) for i in range(struct.unpack_from("I", found)[0] + 1)]
        assert any(tried for _, tried, _ in entries), f"the mark was not read: {done}"
        return {text for _, _, powers in entries for bit, text in POWERS.items() if powers & bit}, done


@pytest.fixture(scope="module", name="guard")
def fixture_guard(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.fail("this test needs root: sshd starts the guard as root")
    folder = tmp_path_factory.mktemp("guard")
    for parent in folder.parents:
        if parent.stat().st_uid == 0 and len(parent.parts) > 2:
            parent.chmod(0o755)
    return Guard(folder)


@no_asan
@pytest.mark.parametrize("which", ("clean", "listed"))
def test_a_guard_that_is_taken_over_can_open_and_start_nothing(guard, which):
    could, _ = guard.exploited(getattr(guard, which))
    assert could <= LEFT


@no_asan
@pytest.mark.parametrize("which", ("clean", "listed"))
def test_without_seccomp_it_can_do_all_that_the_account_can(guard, which):
    """The attack is one."""
    could, _ = guard.exploited(getattr(guard, which), flags=("-DNO_SECCOMP",))
    assert could >= ALL_POWERS


@no_asan
def test_where_the_kernel_refuses_the_answer_is_the_same(guard):
    for key in (guard.clean, guard.listed):
        plain = guard.run(key)
        assert (plain.returncode, plain.stdout) == (0, guard.keys.read_bytes())
        without = guard.run(key, before=("env", f"LD_PRELOAD={guard.library('-DNO_SECCOMP')}"))
        assert (without.returncode, without.stdout) == (plain.returncode, plain.stdout)


@no_asan
def test_walls_are_told(guard):
    told = subprocess.run([guard.program, "--walls"], capture_output=True, check=True)
    assert told.stdout == b"seccomp\n"
    refused = subprocess.run(["env", f"LD_PRELOAD={guard.library('-DNO_SECCOMP')}", guard.program, "--walls"],
                             capture_output=True, check=True)
    assert refused.stdout == b"none\n"


def test_a_command_gets_no_wall_of_the_guard(guard):
    """Neither seccomp, nor no_new_privs, which would take set-user-ID from what it runs."""
    script = "grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status"
    ours = subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout
    done = guard.run(guard.clean, "--", "/bin/sh", "-c", script)
    assert (done.returncode, done.stdout) == (0, ours)


def test_more_files_than_are_opened_ahead_are_printed_as_ever(guard):
    """Also where the limit of open files is lower than their number."""
    folder = guard.folder / "home/many"
    for i in range(200):
        write(folder / f"keys{i:03}", f"# {i}\n").chmod(0o644)
    folder.chmod(0o755)
    for before in ((), ("sh", "-c", 'ulimit -n 16; exec "$@"', "sh")):
        done = guard.run(guard.clean, "--file", "many/keys*", "--wildcards", "yes", before=before)
        assert (done.returncode, done.stdout) == (0, b"".join(b"# %d\n" % i for i in range(200)))
    done = guard.run(guard.clean, "--file", "many/keys00?", "--wildcards", "yes",
                     before=("sh", "-c", 'ulimit -n 10; exec "$@"', "sh"))
    assert (done.returncode, done.stdout) == (0, b"".join(b"# %d\n" % i for i in range(10)))
