# SPDX-License-Identifier: ISC
"""keyveto enable --warn where logins get no verdict, which keeps everybody out: it lets everybody in."""

import contextlib
import json
import re
import subprocess

import pytest

from keys import generate
from private_logins import comes_in, listening
from program import ROOT, attempt, contains, copy_programs, equal, keyveto, lacks
from server import free_port
from sshd_machine import GUARD, INCLUDE, PAM_FOLDER, Image, host_key, leaked_filter, restored, this_machine, wrapper

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]

CONF, FILTER = "/etc/keyveto/keyveto.conf", "/var/lib/keyveto/filter.pkbf"
LINES = "OnHit warn\nOnProbable warn\nOnError allow\nOnUnsupported allow\n"
LARGE = "# long\n" * 150_000


def spoil(machine, how):
    """Takes every verdict away. The text of keyveto.conf that stays, or None."""
    text = {"typo": machine.read(CONF) + "OnHits deny\n", "refuses": "OnError deny\nOnHits\n", "large": LARGE,
            "huge": LARGE * 5}.get(how, machine.read(CONF))
    machine.write(CONF, text)
    if how == "missing":
        machine.path(CONF).unlink()
    elif how == "filter":
        machine.path(FILTER).unlink()
    elif how == "list":
        machine.write(CONF, f"{text}Blocklist /var/lib/keyveto/lost.dat\n")
        return f"{text}Blocklist /var/lib/keyveto/lost.dat\n"
    return None if how in ("missing", "large", "huge") else text


@contextlib.contextmanager
def enforced(scratch):
    """A machine on which keyveto enforces, what runs its sshd, and what tells whether somebody comes in."""
    port, mine, account = free_port(), generate(scratch), "kvt-mine"
    config = f"{INCLUDE}Port {port}\nListenAddress 127.0.0.1\nPidFile {scratch}/pid\nPermitRootLogin yes\n"
    with this_machine(scratch / "machine", config=config) as machine:
        subprocess.run(["useradd", "--create-home", "--user-group", account], check=True)
        try:
            machine.write(f"/home/{account}/.ssh/authorized_keys", f"{mine.key}\n", 0o644)
            machine.path(f"/home/{account}").chmod(0o755)
            subprocess.run(["chown", "-R", f"{account}:{account}", f"/home/{account}"], check=True)
            before = machine.settings()
            machine.run("enable", status=0)
            assert machine.settings() != before
            yield machine, lambda: listening(scratch, "-h", host_key()), lambda: comes_in(mine, account, port)
            equal(machine.settings(), before)
        finally:
            subprocess.run(["userdel", "--remove", account], capture_output=True, check=True)


@pytest.mark.parametrize("how", ("typo", "huge", "missing", "filter", *(
    pytest.param(how, marks=pytest.mark.long) for how in ("refuses", "large", "list"))))
def test_a_real_login_comes_in_again(scratch, how):
    with enforced(scratch) as (machine, running, somebody_comes_in):
        with running():
            assert somebody_comes_in()
            stays = spoil(machine, how)
            assert not somebody_comes_in()
            before = machine.snapshot()
            contains(machine.run("enable", "--warn", "--dry-run", status=0).stderr, "nothing is rehearsed")
            equal(json.loads(machine.run("enable", "--warn", "--dry-run", "--json", status=0).stdout
                             .splitlines()[-1])["refused"], None)
            restored(before, machine.snapshot())
            done = machine.run("enable", "--warn", status=0)
            contains(done.stderr, "keyveto: note: ", ": until that is corrected, no key gets a verdict, and ",
                     "nothing is rehearsed")
            assert somebody_comes_in(), done.stderr
        said = machine.read(CONF)
        contains(said, LINES)
        if stays is not None:
            assert said.endswith(stays), said
        large = {"large": LARGE, "huge": LARGE * 5}.get(how)
        for name in ("kept", "kept2") if large else ():
            if name == "kept2":     # once more
                machine.write(CONF, large)
                contains(machine.run("enable", "--warn", status=0).stderr, "kept beside it as keyveto.conf.kept2")
            equal(machine.read(f"{CONF}.{name}"), large)
        # What it takes to enforce again.
        machine.write(CONF, machine.read(CONF).replace("OnHits deny\n", "").replace("OnHits\n", ""))
        if how == "filter":
            machine.write(FILTER, leaked_filter())
        elif how == "list":
            machine.write(CONF, machine.read(CONF).replace("Blocklist /var/lib/keyveto/lost.dat\n", ""))
        machine.run("enable", "--warn", status=0)
        machine.run("enable", status=0)
        lacks(machine.read(CONF), LINES)
        with running():
            assert somebody_comes_in()
        machine.run("disable", status=0)


@pytest.mark.parametrize("gone", (GUARD, PAM_FOLDER / "pam_keyveto.so"), ids=("guard", "module"))
def test_by_hand_somebody_comes_in_where_keyveto_itself_is_gone(scratch, gone):
    """The lines of docs/locked-out.md, but for the reload: another sshd is started."""
    text = (ROOT / "docs/locked-out.md").read_text(encoding="utf-8")
    step = re.search("<!-- step: out -->\n```sh\n(.*?)```", text, re.DOTALL)[1]
    with enforced(scratch) as (machine, running, somebody_comes_in):
        machine.path(gone).rename(f"{gone}.away")
        try:
            with running():
                assert not somebody_comes_in()
            equal(attempt("bash", "-euo", "pipefail", "-c", f"systemctl() {{ [ $2 = ssh ]; }}\n{step}").stderr, "")
            with running():
                assert somebody_comes_in()
        finally:
            machine.path(f"{gone}.away").rename(machine.path(gone))
        lacks(attempt("grep", "-rn", "keyveto", "/etc/ssh", "/etc/pam.d").stdout, "keyveto-authorized-keys", ".so")


def test_where_keyveto_is_not_in_yet_nothing_changes(scratch):
    """Nor without --warn. Nobody is out there who needs a way in."""
    for how in ("typo", "huge", "filter"):
        image = Image(scratch / how, INCLUDE)
        spoil(image, how)
        before = image.snapshot()
        done = image.run("enable", "--warn", status=2)
        lacks(done.stderr, "nothing is rehearsed")
        restored(before, image.snapshot())
    image = Image(scratch / "in", INCLUDE)
    image.run("enable", status=0)
    spoil(image, "typo")
    before = image.snapshot()
    contains(image.run("enable", status=2).stderr, f"{CONF}:", "unknown keyword")
    restored(before, image.snapshot())


def test_a_keyveto_conf_that_is_not_there_yet_is_made(scratch):
    """A lost one is not: it may have refused more than a new one."""
    image = Image(scratch, INCLUDE)
    spoil(image, "missing")
    before = image.snapshot()
    for words in (("--dry-run",), (), (), ("--warn",), ()):
        image.run("enable", *words, status=0)
        equal(image.path(CONF).exists(), words != ("--dry-run",))
        equal(words == ("--warn",), image.path(CONF).exists() and LINES in image.read(CONF))
    image.run("status", status=0)
    image.run("disable", status=0)
    equal(image.read(CONF), "")     # a guard may run that has not been reloaded
    image.path(CONF).unlink()
    restored(before, image.snapshot())
    image.path(FILTER).unlink()
    contains(image.run("enable", status=2).stderr, f"{FILTER}: No such file", "no login would get a verdict")
    image.write(FILTER, leaked_filter())
    image.run("enable", status=0)
    spoil(image, "missing")
    before = image.snapshot()
    contains(image.run("enable", status=2).stderr, f"{CONF}: does not exist",
             "write a whole one with keyveto config edit")
    restored(before, image.snapshot())


def test_after_disable_a_guard_that_still_runs_has_a_keyveto_conf(scratch):
    """Where enable made it."""
    with enforced(scratch) as (machine, running, somebody_comes_in):
        machine.run("disable", status=0)
        machine.path(CONF).unlink()
        machine.run("enable", status=0)
        with running():
            assert somebody_comes_in()
            machine.run("disable", status=0)
            assert somebody_comes_in()


def test_a_file_that_logins_do_not_trust_is_named(scratch):
    """The lines would not count in it."""
    image = Image(scratch, INCLUDE)
    image.run("enable", status=0)
    image.path(CONF).chmod(0o666)
    before = image.snapshot()
    contains(image.run("enable", "--warn", status=2).stderr, f"{CONF}: ", "logins do not go by that file, and refuse "
             "every key: chown root and chmod go-w it and each folder above it, and run this again")
    restored(before, image.snapshot())


def test_a_folder_that_logins_do_not_trust_is_named_though_the_file_is_missing(scratch):
    image = Image(scratch, INCLUDE)
    image.run("enable", status=0)
    image.path(CONF).unlink()
    image.path(CONF).parent.chmod(0o775)
    before = image.snapshot()
    contains(image.run("enable", "--warn", status=2).stderr, "/etc/keyveto: ", "run this again")
    restored(before, image.snapshot())


def test_a_reader_that_does_not_start_is_no_emergency(scratch):
    """Logins do not ask it."""
    image = Image(scratch, INCLUDE)
    image.run("enable", status=0)
    before = image.snapshot()
    program = copy_programs(scratch)
    (program.parent / "keyveto-reader").unlink()
    done = keyveto(*image.inside(program, "sshd", "enable", "--warn")[1:],
                   program=image.inside(program, "sshd", "enable", "--warn")[0])
    equal(done.returncode, 2, done.stderr)
    contains(done.stderr, "keyveto-reader")
    lacks(done.stderr, "nothing is rehearsed")
    restored(before, image.snapshot())


@pytest.mark.parametrize("large", (LARGE, LARGE * 5), ids=("large", "huge"))
def test_what_is_kept_is_put_back_if_enable_fails(scratch, large):
    image = Image(scratch, INCLUDE)
    image.run("enable", status=0)
    image.write(CONF, large)
    late = image.path("/etc/ssh/sshd_config.d/00-a.conf")
    sshd = wrapper(scratch, f'[ $n -lt 1 ] || echo "AuthorizedKeysFile .ssh/late" >{late}')
    before = image.snapshot()
    done = image.run("enable", "--warn", "--sshd", sshd, status=2)
    contains(done.stderr, "kept beside it as keyveto.conf.kept\n", "everything was put back as it was")
    late.unlink()
    restored(before, image.snapshot())
