# SPDX-License-Identifier: ISC
"""What commands that change a file say, and which file they may write."""

import os
import subprocess

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
    path = here.write("k", here.world.clean)
    for words in (("list", "add", LIST, path), ("filter", "add", FILTER, path)):
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
