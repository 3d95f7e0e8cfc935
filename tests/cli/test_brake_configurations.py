# SPDX-License-Identifier: ISC
"""A change is judged by each keyveto.conf by which a guard or a module of this machine judges."""

import contextlib
import os
import subprocess
from pathlib import Path

import pytest

import keys
from brake_machine import CONFIG, FILTER, GUARD, LIST, OURS
from program import SSHD, contains, equal, keyveto, lacks, wait_until
from publisher import ListPlace
from test_brake_config import ADDED, edit
from test_update_brake import serve

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

OTHER = Path("/etc/keyveto/other.conf")
STACK = Path("/etc/pam.d/sshd")
ARGUMENTS = "--user %u --home %h --type %t --key %k"


def guard(here, *lines, keyword="AuthorizedKeysCommand", more="", before=""):
    """Writes a guard with a --config of its own into sshd's configuration."""
    here.world.sshd_config(*lines, f"{before}{keyword} {GUARD} --config {OTHER} {ARGUMENTS}{more}",
                           f"{before}{keyword}User nobody")


def module(line):
    STACK.write_text(f"{line}\n{STACK.read_text(encoding='utf-8')}", encoding="utf-8")


def include(here):
    made = here.scratch / "included.conf"
    made.write_text(f"AuthorizedKeysCommand {GUARD} --config {OTHER} {ARGUMENTS}\nAuthorizedKeysCommandUser nobody\n",
                    encoding="ascii")
    here.world.sshd_config(f"Include {made}")


def substack(_):
    Path("/etc/pam.d/ours").write_text(f"session requisite pam_keyveto.so config={OTHER}\n", encoding="ascii")
    module("session substack ours")


SOURCES = {
    "guard": guard,
    "guard in a Match block": lambda here: guard(here, "Match User root", before="  "),
    "guard in a Match block by origin": lambda here: guard(here, "Match Address 192.0.2.0/24", before="  "),
    "guard in front of a command": lambda here: guard(here, more=" -- /usr/bin/other %u"),
    "guard of principals": lambda here: guard(here, keyword="AuthorizedPrincipalsCommand",
                                              more=" -- /usr/bin/other %u"),
    "included file": include,
    "module": lambda here: module(f"session requisite pam_keyveto.so config={OTHER}"),
    "module in brackets": lambda here: module(f"session requisite pam_keyveto.so [config={OTHER}]"),
    "module in auth": lambda here: module(f"auth requisite pam_keyveto.so debug config={OTHER}"),
    "module in a substack": substack,
}


@pytest.mark.parametrize("folder", (False, True))
def test_a_masked_file_holds_nothing(here, folder):
    """sshd and libpam read a link to /dev/null, and a folder, as an empty file."""
    masked = Path("/etc/ssh/sshd_config.d/50-cloud-init.conf"), Path("/etc/pam.d/masked")
    here.authorize_root(here.world.clean)
    module("@include masked")
    try:
        for path in masked:
            if folder:
                path.mkdir()
            else:
                path.symlink_to("/dev/null")
        subprocess.run([SSHD, "-t"], check=True)
        equal(keyveto("list", "add", LIST, here.write("bad.pub", here.world.bad), status=0).stderr.count("masked"), 0)
        keyveto("deny", here.write("other.pub", keys.generate(here.scratch).key), status=0)
    finally:
        for path in masked:
            (os.rmdir if folder else os.unlink)(path)


@pytest.mark.sample(2)
@pytest.mark.parametrize("source", SOURCES)
def test_a_list_that_another_configuration_refuses_by_is_held(here, source):
    """Our keyveto.conf only logs its keys, or does not name it; the other one says OnHit deny."""
    here.authorize_root(here.world.clean, here.world.bad)
    key = here.write("bad.pub", here.world.bad)
    here.configure(f"Blocklist {LIST}", "OnHit warn")
    here.configure(f"Blocklist {LIST}", path=OTHER)
    # Nobody reads the other one yet.
    spare = here.scratch / "spare"
    spare.write_bytes(LIST.read_bytes())
    contains(keyveto("list", "add", LIST, key, status=0).stderr, "will be logged", "1 added")
    LIST.write_bytes(spare.read_bytes())
    SOURCES[source](here)
    contains(here.is_held("list", "add", LIST, key), "root's key", "would refuse a key of root")
    here.configure(f"Filter {FILTER}")
    contains(here.is_held("list", "add", LIST, key), "would refuse a key of root")
    keyveto("list", "add", LIST, key, "--yes", status=0)


@pytest.mark.parametrize("source", ("guard", "module"))
def test_an_update_and_a_change_of_that_file_are_held_as_well(here, scratch, source):
    here.authorize_root(here.world.bad)
    SOURCES[source](here)
    with contextlib.closing(ListPlace(scratch)) as place:
        here.configure(f"Blocklist {place.target}", path=OTHER)
        place.update()
        serve(place, here.world.bad)
        before = place.snapshot()
        contains(place.run(status=2).trouble, "would refuse a key of root")
        equal(place.snapshot(), before)
        place.run("--yes", status=1)
        here.configure("OnHit warn", f"Blocklist {place.target}", path=OTHER)
        editor = here.write("editor", "#!/bin/sh", "sed -i /warn/d \"$1\"")
        editor.chmod(0o755)
        text = OTHER.read_bytes()
        done = keyveto("config", "edit", "--config", OTHER, env={"VISUAL": str(editor), "PATH": "/usr/bin:/bin"},
                       status=2)
        contains(done.stderr, f"{OTHER}: the change would refuse a key of root")
        equal(OTHER.read_bytes(), text)


@pytest.mark.sample(2)
@pytest.mark.parametrize("source", SOURCES)
def test_a_lost_file_by_which_logins_are_judged_is_not_made_with_one_line(here, source):
    """It would let in whom the lost one refused. Whoever writes a whole one gives --yes."""
    Path("/etc/pam.d/ours").unlink(missing_ok=True)
    mark = here.world.bad.fingerprint
    SOURCES[source](here)
    for words in (("deny", mark), ("allow", "--forever", mark, "x")):
        contains(here.is_held(*words, "--config", OTHER), f"{OTHER}: does not exist, and logins are judged by it",
                 "write a whole one with keyveto config edit")
    contains(edit(here, ADDED.format("OnHit deny"), "--config", OTHER, status=2),
             f"{OTHER}: does not exist, and logins are judged by it")
    assert not OTHER.exists()
    CONFIG.unlink()
    keyveto("deny", mark, "mine", status=0)
    equal((CONFIG.read_text(encoding="ascii"), oct(CONFIG.stat().st_mode)), (f"DenyKey {mark} mine\n", "0o100644"))
    edit(here, ADDED.format("OnHit deny"), "--yes", "--config", OTHER, status=0)
    keyveto("deny", mark, "--config", OTHER, status=0)


def test_the_exceptions_of_each_configuration_are_its_own(here):
    here.authorize_root(here.world.bad)
    key = here.write("bad.pub", here.world.bad)
    guard(here, "AuthorizedKeysFile none")
    exception = f"AllowKey {here.world.bad.fingerprint} a trial"
    for ours, theirs in (((exception,), ()), ((), (exception,))):
        here.configure(f"Blocklist {LIST}", *ours)
        here.configure(f"Blocklist {LIST}", *theirs, path=OTHER)
        contains(here.is_held("list", "add", LIST, key), "would refuse a key of root")
    here.configure(f"Blocklist {LIST}", exception)
    equal(keyveto("list", "add", LIST, key, status=0).stderr.count("\n"), 1)


def test_a_key_that_several_configurations_refuse_is_named_once(here):
    root = here.authorize_root(here.world.bad)
    here.configure(f"Blocklist {LIST}", path=OTHER)
    guard(here)
    said = here.is_held("list", "add", LIST, here.write("bad.pub", here.world.bad))
    equal((said.count(f"root's key ({root}:1) "), said.count("would refuse a key of root")), (1, 1), said)


def test_a_second_sshd_has_a_guard_of_its_own(here):
    """Its -f is read: it runs beside the machine's own."""
    here.authorize_root(here.world.bad)
    here.configure(f"Blocklist {LIST}", "OnHit warn")
    here.configure(f"Blocklist {LIST}", path=OTHER)
    pid = here.scratch / "sshd.pid"
    config = here.write("sshd_config", "Port 2222", "ListenAddress 127.0.0.1", f"PidFile {pid}",
                        f"AuthorizedKeysCommand /bin/true --config {OTHER}", "AuthorizedKeysCommandUser nobody")
    Path("/run/sshd").mkdir(exist_ok=True)
    with subprocess.Popen([SSHD, "-D", "-f", str(config)]) as process:
        try:
            wait_until(lambda: pid.exists() or process.poll() is not None, "sshd listens")
            equal(process.poll(), None)
            text = config.read_text(encoding="ascii").replace("/bin/true", GUARD)
            config.write_text(text, encoding="ascii")
            contains(here.is_held("list", "add", LIST, here.write("bad.pub", here.world.bad)),
                     "would refuse a key of root")
            config.unlink()
            contains(here.is_held("list", "add", LIST, here.unused, here.write("clean.pub", here.world.clean)),
                     str(config), "it is not known by which keyveto.conf logins are judged")
        finally:
            process.terminate()


def test_configurations_that_cannot_be_found_out_hold(here):
    """A file that sshd includes, or PAM's stack, cannot be read: what refuses nobody is held, too."""
    key = here.write("bad.pub", here.world.bad)
    here.configure("Filter /nonexistent")
    fifo = here.scratch / "fifo.conf"
    os.mkfifo(fifo)
    text = Path("/etc/ssh/sshd_config").read_text(encoding="ascii")
    here.world.sshd_config(f"Include {fifo}")
    said = here.is_held("list", "add", LIST, key)
    contains(said, str(fifo), "it is not known by which keyveto.conf logins are judged", "give --yes")
    Path("/etc/ssh/sshd_config").write_text(text, encoding="ascii")
    module("@include of-nowhere")
    # sshd does not use PAM here.
    spare = LIST.read_bytes()
    lacks(keyveto("list", "add", LIST, key, status=0).stderr, "known")
    LIST.write_bytes(spare)
    here.world.sshd_config("UsePAM yes")
    contains(here.is_held("list", "add", LIST, key), "of-nowhere", "it is not known by which keyveto.conf")
    keyveto("list", "add", LIST, key, "--yes", status=0)
    assert here.lists(key, LIST)


def test_a_new_file_is_made_although_they_cannot_be_found_out(here):
    """Nothing is in use yet that could stay."""
    module("@include of-nowhere")
    here.world.sshd_config("UsePAM yes")
    path = OURS / "new.dat"
    contains(keyveto("list", "create", path, here.unused, status=0).stderr, "it is not known", "1 added")
    equal(CONFIG.stat().st_mode & 0o7777, 0o644)
