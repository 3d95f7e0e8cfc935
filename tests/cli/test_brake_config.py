# SPDX-License-Identifier: ISC
"""keyveto config edit and allow lock nobody out unasked."""

import os

import pytest

import keys
from audit_machine import CONFIG as SSHD_CONFIG
from brake_machine import CONFIG, FILTER, GUARD, LIST
from config_machine import day
from program import contains, equal, keyveto, lacks

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def edit(here, script, *words, status):
    editor = here.write("editor", "#!/bin/sh", script)
    editor.chmod(0o755)
    return keyveto("config", "edit", *words, env={**os.environ, "VISUAL": str(editor)}, status=status).stderr


def list_key(here, path=LIST):
    """Root has a key that the list or filter has, and that nothing refuses."""
    root = here.authorize_root(here.world.clean, here.world.bad)
    what = "filter" if path == FILTER else "list"
    here.configure("Filter /nonexistent")
    keyveto(what, "add", path, here.write("bad.pub", here.world.bad), status=0)
    return root


ADDED, REMOVED = "echo '{}' >>\"$1\"", "sed -i '/{}/d' \"$1\""
GUARDED = ("AuthorizedKeysFile none", f"AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t --key %k")
# For each change: the file that has the key, keyveto.conf before, and what the editor does.
CHANGES = {
    "a Blocklist line comes": (LIST, (f"Filter {FILTER}",), ADDED.format(f"Blocklist {LIST}")),
    "a Filter line comes": (FILTER, (f"Blocklist {LIST}",), ADDED.format(f"Filter {FILTER}")),
    "OnHit warn goes": (LIST, (f"Blocklist {LIST}", "OnHit warn"), REMOVED.format("OnHit")),
    "OnHit becomes deny": (LIST, (f"Blocklist {LIST}", "OnHit warn"), "sed -i s/warn/deny/ \"$1\""),
    "OnProbable warn goes": (FILTER, (f"Filter {FILTER}", "OnProbable warn"), REMOVED.format("OnProbable")),
    "OnProbable deny comes": (FILTER, (f"Filter {FILTER}", "OnHit warn"), ADDED.format("OnProbable deny")),
    "AllowKey goes": (LIST, (f"Blocklist {LIST}", "AllowKey {} a trial"), REMOVED.format("AllowKey")),
    "AllowKey ends": (LIST, (f"Blocklist {LIST}", "AllowKey {} a trial"),
                      "sed -i 's/ a trial/ until=2020-01-01 a trial/' \"$1\""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_keyveto_conf_that_refuses_root_is_held(here, change):
    path, before, script = CHANGES[change]
    root = list_key(here, path)
    here.configure(*(line.format(here.world.bad.fingerprint) for line in before))
    was = here.snapshot()
    said = edit(here, script, status=2)
    contains(said, f"root's key ({root}:2) will be refused: ssh-ed25519 {here.world.bad.fingerprint}",
             f"{CONFIG}: the change would refuse a key of root", "--yes saves it all the same")
    equal(here.snapshot(), was)
    contains(edit(here, script, "--yes", status=0), "would refuse a key of root")
    assert CONFIG.read_bytes() != was[str(CONFIG)][3]


@pytest.mark.parametrize("command", ["allow", "edit"])
def test_an_allowkey_line_that_ends_earlier_is_asked_about(here, command):
    """Also if the end is not today: root would be locked out on the day after."""
    root, mine = list_key(here), here.world.bad.fingerprint
    days = [day(n) for n in range(4)]

    def end(date, *words, status):
        if command == "allow":
            return keyveto("allow", mine, "--until", date, "a trial", *words, status=status).stderr
        return edit(here, f"sed -i 's|^AllowKey.*|AllowKey {mine} until={date} a trial|' \"$1\"", *words, status=status)

    for before in ("", f" until={days[3]}"):
        here.configure(f"Blocklist {LIST}", f"AllowKey {mine}{before} a trial")
        for date in days[:2]:
            was = here.snapshot()
            contains(end(date, status=2), f"root's key ({root}:2) will be refused: ssh-ed25519 {mine}",
                     f"{CONFIG}: the change would refuse a key of root", "--yes")
            equal(here.snapshot(), was)
        contains(end(days[1], "--yes", status=0), "would refuse a key of root")
        # Later is no question, nor is what was agreed to, nor an end that refuses nobody.
        equal(end(days[2], status=0), "")
        keyveto("deny", keys.generate(here.scratch).key.fingerprint, status=0)
        equal(edit(here, ADDED.format("Message hello"), status=0), "")
        other = keys.generate(here.scratch).key.fingerprint
        keyveto("allow", other, "--forever", "x", status=0)
        equal(keyveto("allow", other, "--until", days[1], "x", status=0).stderr, "")


def test_an_exception_with_an_end_beside_a_new_list_is_asked_about(here):
    """Until then it lets root in."""
    root, mine, tomorrow = list_key(here), here.world.bad.fingerprint, day(1)
    here.configure(f"Filter {FILTER}")
    script = f"printf 'Blocklist {LIST}\\nAllowKey {mine} until={tomorrow}\\n' >>\"$1\""
    contains(edit(here, script, status=2), f"root's key ({root}:2) will be refused: ssh-ed25519 {mine}")
    equal(edit(here, script.replace(f" until={tomorrow}", ""), status=0), "")


def test_onunsupported_deny_is_held(here):
    """For a key of a type that no list has."""
    root = here.authorize_root("ssh-of-tomorrow AAAAD3NzaC1vZi10b21vcnJvdwAAAAEB root's", here.world.clean)
    said = edit(here, ADDED.format("OnUnsupported deny"), status=2)
    contains(said, f"{root}:1: ", "the change would refuse a key of root")
    root.write_text(f"{here.world.clean}\n", encoding="ascii")
    lacks(edit(here, ADDED.format("OnUnsupported deny"), status=0), "root")
    # It holds already: other changes are free.
    here.authorize_root("ssh-of-tomorrow AAAAD3NzaC1vZi10b21vcnJvdwAAAAEB root's")
    lacks(edit(here, ADDED.format(f"Blocklist {LIST}"), status=0), "root")


def test_what_refuses_nobody_is_saved_without_a_word(here):
    list_key(here)
    here.authorize_root(here.world.clean)
    here.configure(f"Blocklist {LIST}")
    here.administrator().authorize(here.world.clean)
    equal(edit(here, ADDED.format("Message hello"), status=0), "")
    equal(edit(here, ADDED.format(f"AllowKey {here.world.bad.fingerprint} a trial"), status=0), "")


def test_a_key_that_was_let_in_with_a_warning_counts_when_it_is_refused(here):
    """An administrator's other key, which nothing lists, makes no difference."""
    list_key(here, FILTER)
    here.authorize_root(here.world.clean)
    here.configure(f"Filter {FILTER}", "OnProbable warn")
    here.administrator().authorize(here.world.bad, here.world.clean)
    edit(here, ADDED.format(f"Blocklist {LIST}"), status=0)
    contains(edit(here, REMOVED.format("OnProbable"), status=2), "the change would refuse a key of alice")


def test_what_is_refused_already_holds_nothing(here):
    list_key(here)
    here.configure(f"Blocklist {LIST}")
    lacks(edit(here, ADDED.format("OnProbable deny"), status=0), "root")


@pytest.mark.parametrize("change", (REMOVED.format("AllowKey"), ADDED.format("DenyKey {} leaked")))
def test_root_who_comes_in_without_a_filter_is_not_locked_out(here, change):
    """AllowKey lets root in while the filter is missing: see keyveto.conf(5). The missing filter is mended freely."""
    here.authorize_root(here.world.clean)
    fingerprint = here.world.clean.fingerprint
    here.configure("Filter /nonexistent", f"AllowKey {fingerprint} an emergency")
    was = here.snapshot()
    contains(edit(here, change.format(fingerprint), status=2), "--yes saves it all the same")
    equal(here.snapshot(), was)
    edit(here, f"sed -i 's,^Filter.*,Filter {FILTER},' \"$1\"", status=0)
    contains(CONFIG.read_text(encoding="ascii"), str(FILTER))
    here.configure("Filter /nonexistent", f"AllowKey {fingerprint} an emergency")
    edit(here, change.format(fingerprint), "--yes", status=0)


def test_a_filter_that_one_guard_cannot_read_hides_no_lock_out(here):
    """The guard of bob cannot read it, and that of root can."""
    here.authorize_root(here.world.clean)
    here.world.account("bob")
    here.world.sshd_config(*GUARDED, "AuthorizedKeysCommandUser root", "Match User bob", *GUARDED,
                           "AuthorizedKeysCommandUser nobody")
    FILTER.chmod(0o600)
    here.configure(f"Filter {FILTER}")
    contains(keyveto("status", status=2).stdout, f"nobody cannot read {FILTER}: Permission denied")
    said = edit(here, ADDED.format(f"DenyKey {here.world.clean.fingerprint} leaked"), status=2)
    contains(said, "the change would refuse a key of root")
    # What refuses root nothing is free.
    edit(here, ADDED.format("Message hello"), status=0)


def test_a_second_guard_that_gets_no_verdict_is_a_lock_out_too(here):
    """The guard of bob gets none already; that of all others would lose its own."""
    here.world.account("bob")
    carol = here.world.account("carol")
    here.world.sshd_config(*GUARDED, "AuthorizedKeysCommandUser carol", "Match User bob", *GUARDED,
                           "AuthorizedKeysCommandUser nobody")
    for path, mode in ((FILTER, 0o640), (LIST, 0o600)):
        os.chown(path, 0, carol.gid)
        path.chmod(mode)
    here.configure(f"Filter {FILTER}")
    contains(edit(here, ADDED.format(f"Blocklist {LIST}"), status=2), "read as carol",
             "each login by key would be refused")
    edit(here, ADDED.format("Message hello"), status=0)
    # Without the filter of before nobody had a verdict: now some have.
    here.configure("Filter /nonexistent")
    edit(here, f"echo Filter {LIST.with_name('own.pkbf')} >\"$1\"", status=0)


# For each change: what the editor does to StrictModes no, and what is said.
FILES = {
    "StrictModes": ("sed -i 's/StrictModes no/StrictModes yes/' \"$1\"", "StrictModes yes is stricter than before"),
    "a private group": ("sed -i 's/StrictModes no/StrictModes private-group/' \"$1\"", "is stricter than before"),
    "another file": (ADDED.format("AuthorizedKeysFile .ssh/none_such"), "no longer has .ssh/authorized_keys:"),
    "one file less": (ADDED.format("AuthorizedKeysFile .ssh/authorized_keys"), "no longer has .ssh/authorized_keys2:"),
    "wildcards": (ADDED.format("AuthorizedKeysFileWildcards no"), "AuthorizedKeysFileWildcards differs"),
}


@pytest.mark.parametrize("change", FILES)
def test_a_change_by_which_the_guard_may_read_no_file_is_held(here, change):
    """Where somebody wrote the guard into sshd_config by hand, without keyveto's marks. The brake judges only keys."""
    script, said = FILES[change]
    here.configure(f"Filter {FILTER}", "StrictModes no")
    # No guard reads the file: nobody is asked.
    edit(here, script, status=0)
    for lines in ((*GUARDED, "AuthorizedKeysCommandUser root"), ("Match User !root,*", *GUARDED)):
        here.configure(f"Filter {FILTER}", "StrictModes no")
        kept = SSHD_CONFIG.read_bytes()
        here.world.sshd_config(*lines)
        was = here.snapshot()
        contains(edit(here, script, status=2), said, "--yes saves it all the same")
        equal(here.snapshot(), was)
        edit(here, ADDED.format("AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2 .ssh/more"), status=0)
        here.configure(f"Filter {FILTER}", "StrictModes no")
        contains(edit(here, script, "--yes", status=0), said)
        SSHD_CONFIG.write_bytes(kept)
    # StrictModes that becomes weaker is free.
    here.world.sshd_config(*GUARDED, "AuthorizedKeysCommandUser root")
    here.configure(f"Filter {FILTER}", "StrictModes yes")
    edit(here, "sed -i s/yes/no/ \"$1\"", status=0)


def test_a_draft_is_edited_without_a_question(here):
    list_key(here)
    draft = here.configure(f"Filter {FILTER}", path=CONFIG.with_name("draft.conf"))
    lacks(edit(here, ADDED.format(f"Blocklist {LIST}"), "--config", draft, status=0), "root")


def test_the_first_keyveto_conf_is_judged_too(here):
    """Without one, the defaults hold for the command."""
    list_key(here)
    CONFIG.unlink()
    contains(edit(here, ADDED.format(f"Blocklist {LIST}"), status=2), "would refuse a key of root")
    assert not CONFIG.exists()


def test_allow_remove_is_held(here):
    root = list_key(here)
    fingerprint = here.world.bad.fingerprint
    here.configure(f"Blocklist {LIST}", f"AllowKey {fingerprint} a trial")
    contains(here.is_held("allow", "--remove", fingerprint),
             f"root's key ({root}:2) will be refused: ssh-ed25519 {fingerprint}",
             f"{CONFIG}: the change would refuse a key of root", f"{CONFIG}: stays as it is", "give --yes")
    contains(keyveto("allow", "--remove", fingerprint, "--yes", status=0).stdout, "taken out: ")
    # Exceptions come and change freely, and so do those that no key of here needs.
    keyveto("allow", "--forever", fingerprint, "a", "trial", status=0)
    other = keys.generate(here.scratch).key
    keyveto("allow", "--forever", other.fingerprint, "a", "trial", status=0)
    equal(keyveto("allow", "--remove", other.fingerprint, status=0).stderr, "")
    contains(keyveto("allow", "--forever", fingerprint, "a", "trial", "--yes", status=2).stderr,
             "--yes goes with --until or --remove")


def test_allow_remove_of_another_accounts_key_is_made(here):
    """It says whom it refuses."""
    list_key(here)
    here.authorize_root(here.world.clean)
    alice = here.world.account("alice")
    alice.authorize(here.world.bad)
    fingerprint = here.world.bad.fingerprint
    here.configure(f"Blocklist {LIST}", f"AllowKey {fingerprint} a trial")
    contains(keyveto("allow", "--remove", fingerprint, status=0).stderr, f"alice's key ({alice.keys_path}:1) will")
