# SPDX-License-Identifier: ISC
"""What commands that change a file say, and which file they may write."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from brake_machine import CONFIG, FILTER, LIST, machine
from program import KEYVETO, PATIENCE, contains, equal, keyveto, lacks
from sshd_machine import INCLUDE, Image
from update_place import Place, a_filter
from website import Page

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]
SAYS = "the change was made all the same"


@pytest.fixture(name="here")
def fixture_here(scratch):
    with machine(scratch) as made:
        yield made


def unheard(*words, **environment):
    """Runs keyveto with a standard output that takes nothing: its status, and what it says."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([KEYVETO, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
                              text=True, check=False, timeout=PATIENCE, env={**os.environ, **environment})
    return done.returncode, done.stderr


def must_tell(path, *words, **environment):
    """Fails unless the command says that standard output is full, and that path has changed."""
    before = path.read_bytes() if path.exists() else None
    status, text = unheard(*words, **environment)
    assert before != (path.read_bytes() if path.exists() else None), f"{words} changed nothing: {text}"
    equal(status, 2, text)
    contains(text, f"keyveto: standard output: No space left on device; {SAYS}: {path} has it\n")


def test_a_change_that_cannot_be_told_is_not_called_a_failure_alone(here):
    mine = here.world.clean.fingerprint
    for words in (("deny", mine, "4711"), ("deny", "--remove", mine), ("allow", "--forever", mine, "x"),
                  ("allow", "--remove", mine)):
        must_tell(CONFIG, *words)
    editor = here.scratch / "editor"
    editor.write_text('#!/bin/sh\necho "OnHit warn" >>"$1"\n', encoding="ascii")
    editor.chmod(0o755)
    must_tell(CONFIG, "config", "edit", "--yes", VISUAL=str(editor))


def test_where_nothing_was_changed_nothing_is_said_of_a_change(here):
    mine = here.world.clean.fingerprint
    keyveto("deny", mine, status=0)
    for words in (("deny", mine), ("config", "check"), ("list", "info", LIST)):
        status, text = unheard(*words)
        equal(status, 2, text)
        contains(text, "keyveto: standard output: No space left on device\n")


def test_what_changes_and_prints_nothing_needs_no_output(here):
    mine = here.write("mine.pub", here.world.clean)
    for words in (("list", "add", LIST, mine), ("filter", "add", FILTER, mine)):
        equal(unheard(*words)[0], 0)


def test_a_reader_that_goes_ends_no_change_unsaid(here):
    """SIGPIPE would end it without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([KEYVETO, "deny", here.world.clean.fingerprint], stdin=subprocess.DEVNULL, stdout=writing,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=PATIENCE, restore_signals=True)
    finally:
        os.close(writing)
    equal(done.returncode, 2, done.stderr)
    contains(done.stderr, f"keyveto: standard output: Broken pipe; {SAYS}: {CONFIG} has it\n")
    contains(CONFIG.read_text(encoding="utf-8"), here.world.clean.fingerprint)


@pytest.mark.usefixtures("installed")
def test_enable_and_disable_say_it_too(scratch):
    image = Image(scratch, INCLUDE)
    where = ("--root", image.root)
    for more in ((), ("--json",)):
        status, text = unheard("sshd", "enable", *more, *where)
        equal(status, 2, text)
        contains(text, SAYS)
        image.run("status", status=0)
        status, text = unheard("sshd", "disable", *more, *where)
        equal(status, 2, text)
        contains(text, SAYS)
        image.run("status", status=1)
    lacks(unheard("sshd", "enable", "--dry-run", *where)[1], SAYS)


def test_update_says_it_too(scratch):
    place = Place(scratch, a_filter(2))
    place.write_settings()
    words = ("update", "--settings", place.settings, "--filter", place.target)
    must_tell(place.target, *words)
    place.site.pages["/filter.pkbf"] = Page(a_filter(3), '"two"')
    must_tell(place.target, *words)
    must_tell(place.target, *words, "--rollback")
    equal(place.target.read_bytes(), a_filter(2))


def audit_of(here):
    path = here.scratch / "audit.json"
    path.write_text(json.dumps({"host": "a"}) + "\n", encoding="ascii")
    return path


def beside(path):
    return {one: one.read_bytes() for one in path.parent.iterdir() if one.is_file()}


def refused(path, *words, says, **environment):
    """Fails unless the command changes neither the file nor what lies beside it."""
    before = beside(path)
    done = keyveto(*words, status=2, env={**os.environ, **environment})
    equal(beside(path), before, f"{words}\n{done.stderr}")
    contains(done.stderr, says)


OTHER = "is there, and no such file as is written here"


def test_a_report_replaces_a_report_alone(here):
    audit = audit_of(here)
    page, sarif = here.scratch / "page.html", here.scratch / "report.sarif"
    for option, path, other in (("--html", page, sarif), ("--sarif", sarif, page)):
        path.write_bytes(b"")       # as mktemp makes it
        for _ in range(2):
            keyveto("report", option, path, audit, status=2)        # that is no whole audit
            assert path.stat().st_size > 0
        if other.exists():
            refused(other, "report", option, other, audit, says=OTHER)
    for name in ("/etc/ssh/sshd_config", "/etc/pam.d/sshd", audit, here.authorize_root(here.world.clean),
                 CONFIG.with_name("update.conf"), f"{LIST}.sources"):
        path = Path(name)
        if not path.exists():
            path.write_text("x\n", encoding="ascii")
        for option in ("--html", "--sarif"):
            refused(path, "report", option, path, audit, says=OTHER)


@pytest.mark.parametrize("as_what", ["exact list", "filter", "keyveto.conf"])
def test_what_logins_consult_is_replaced_by_its_like_alone(here, as_what):
    """Nobody would get a verdict, and OnError would lock out all, or let in all: --yes does not help."""
    path = {"exact list": LIST, "filter": FILTER, "keyveto.conf": CONFIG}[as_what]
    audit, alike = audit_of(here), here.scratch / "alike"
    mine = here.write("mine.pub", here.world.clean)
    keyveto("filter", "create", alike, "--entries", 10, "--fpr", "1e-6", status=0)
    says = f"{path}: stays as it is: logins consult it as "
    for words in (("list", "create", "--force", "--yes", path, mine),
                  ("filter", "create", "--force", "--yes", path, "--entries", 10, "--fpr", "1e-6"),
                  ("filter", "merge", "--force", "--yes", path, alike, alike),
                  ("list", "merge", "--force", "--yes", path, LIST, LIST),
                  ("list", "diff", "--force", LIST, LIST, path), ("filter", "diff", "--force", FILTER, FILTER, path)):
        if words[0] not in as_what:
            refused(path, *words, says=says)
    if path != CONFIG:
        editor = here.scratch / "editor"
        editor.write_text('#!/bin/sh\necho OnHit deny >"$1"\n', encoding="ascii")
        editor.chmod(0o755)
        refused(path, "config", "edit", "--yes", "--config", path, says=says, EDITOR=str(editor), VISUAL="")
        for words in (("deny", "--yes", mine), ("allow", "--forever", mine, "ours")):
            refused(path, *words, "--config", path, says=str(path))
    for option, begin in (("--html", b"<!DOCTYPE html>"), ("--sarif", b'{"$schema"')):
        refused(path, "report", option, path, audit, says=OTHER)
        kept = path.read_bytes()
        path.write_bytes(begin)     # damaged, and like what is written
        path.chmod(0o644)
        if path != CONFIG:
            refused(path, "report", option, path, audit, says=says)
        path.write_bytes(kept)
    path.unlink()                   # to come, but awaited already
    for option in ("--html", "--sarif"):
        refused(path, "report", option, path, audit, says=says)
    assert not path.exists()


def test_a_list_that_no_login_consults_needs_no_leave(here):
    own = here.scratch / "own.dat"
    keyveto("list", "create", own, here.unused, status=0)
    keyveto("list", "create", "--force", own, here.unused, status=0)
    refused(own, "report", "--html", own, audit_of(here), says=OTHER)
