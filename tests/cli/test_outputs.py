# SPDX-License-Identifier: ISC
"""What commands that change a file say, and which file they may write."""

import os

import pytest

from brake_machine import CONFIG, FILTER, LIST
from program import KEYVETO, attempt, contains, equal, keyveto, lacks
from samples import write
from sshd_machine import INCLUDE, Image
from update_place import Place, a_filter
from website import Page

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]
SAYS = "the change was made all the same"


def unheard(*words, machine=None, **environment):
    """Runs keyveto with a standard output that takes nothing: its status, and what it says."""
    argv = machine.inside(KEYVETO, *words) if machine else [KEYVETO, *words]
    with open("/dev/full", "wb") as full:
        done = attempt(*argv, stdout=full, env={**os.environ, **environment})
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
    write(editor, '#!/bin/sh\necho "OnHit warn" >>"$1"\n').chmod(0o755)
    must_tell(CONFIG, "config", "edit", "--yes", VISUAL=str(editor))


def test_where_nothing_was_changed_nothing_is_said_of_a_change(here):
    mine = here.world.clean.fingerprint
    keyveto("deny", mine, status=0)
    for words in (("deny", mine), ("status",), ("list", "info", LIST)):
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
        done = attempt(KEYVETO, "deny", here.world.clean.fingerprint, stdout=writing, restore_signals=True)
    finally:
        os.close(writing)
    equal(done.returncode, 2, done.stderr)
    contains(done.stderr, f"keyveto: standard output: Broken pipe; {SAYS}: {CONFIG} has it\n")
    contains(CONFIG.read_text(encoding="utf-8"), here.world.clean.fingerprint)


@pytest.mark.usefixtures("installed")
def test_enable_and_disable_say_it_too(scratch):
    image = Image(scratch, INCLUDE)
    for more in ((), ("--json",)):
        status, text = unheard("sshd", "enable", *more, machine=image)
        equal(status, 2, text)
        contains(text, SAYS)
        image.run("status", status=0)
        status, text = unheard("sshd", "disable", *more, machine=image)
        equal(status, 2, text)
        contains(text, SAYS)
        image.run("status", status=1)
    lacks(unheard("sshd", "enable", "--dry-run", machine=image)[1], SAYS)


def test_update_says_it_too(scratch):
    place = Place(scratch, a_filter(2))
    place.write_settings()
    words = ("update", "--settings", place.settings, "--filter", place.target)
    must_tell(place.target, *words)
    place.site.pages["/filter.pkbf"] = Page(a_filter(3), '"two"')
    must_tell(place.target, *words)
    must_tell(place.target, *words, "--rollback")
    equal(place.target.read_bytes(), a_filter(2))


def beside(path):
    return {one: one.read_bytes() for one in path.parent.iterdir() if one.is_file()}


def refused(path, *words, says, **environment):
    """Fails unless the command changes neither the file nor what lies beside it."""
    before = beside(path)
    done = keyveto(*words, status=2, env={**os.environ, **environment})
    equal(beside(path), before, f"{words}\n{done.stderr}")
    contains(done.stderr, says)


@pytest.mark.parametrize("as_what", ["exact list", "filter", "keyveto.conf"])
def test_what_logins_consult_is_replaced_by_its_like_alone(here, as_what):
    """Nobody would get a verdict, and OnError would lock out all, or let in all: --yes does not help."""
    path = {"exact list": LIST, "filter": FILTER, "keyveto.conf": CONFIG}[as_what]
    alike = here.scratch / "alike"
    mine = here.write("mine.pub", here.world.clean)
    keyveto("filter", "create", alike, "--entries", 10, "--fpr", "1e-6", status=0)
    says = f"{path}: stays as it is: logins consult it as "
    for words in (("list", "create", "--force", "--yes", path, mine),
                  ("filter", "create", "--force", "--yes", path, "--entries", 10, "--fpr", "1e-6"),
                  ("filter", "merge", "--force", "--yes", path, alike, alike),
                  ("list", "merge", "--force", "--yes", path, LIST, LIST)):
        if words[0] not in as_what:
            refused(path, *words, says=says)
    if path != CONFIG:
        editor = here.scratch / "editor"
        write(editor, '#!/bin/sh\necho OnHit deny >"$1"\n').chmod(0o755)
        refused(path, "config", "edit", "--yes", "--config", path, says=says, EDITOR=str(editor), VISUAL="")
        for words in (("deny", "--yes", mine), ("allow", "--forever", mine, "ours")):
            refused(path, *words, "--config", path, says=str(path))


def test_a_list_that_no_login_consults_needs_no_leave(here):
    own = here.scratch / "own.dat"
    keyveto("list", "create", own, here.unused, status=0)
    keyveto("list", "create", "--force", own, here.unused, status=0)
