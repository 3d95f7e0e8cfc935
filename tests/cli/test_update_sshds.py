# SPDX-License-Identifier: ISC
"""keyveto update sees the ways in by each sshd that runs, with its own arguments."""

import re
import shutil
from pathlib import Path

import pytest

import keys
from audit_machine import CONFIG
from private_logins import comes_in, listening, settle
from program import KEYVETO, ROOT, SSHD, attempt, contains, equal, lacks
from publisher import listing
from server import free_port
from sshd_machine import GUARD
from test_sshd_service import unit
from test_update_sight import fixture_bad, fixture_named_list, of_root, serve    # noqa: F401

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys", "installed")]

GUARD_WORDS = f"{GUARD} --user %u --home %h --type %t --key %k"
UNSEEN = "not all keys that sshd lets in could be compared with the new one"


def own_file(path, *lines, port):
    """A configuration of its own, beside the usual one."""
    settle(*lines)
    path.write_text(CONFIG.read_text().replace(CONFIG.read_text().splitlines()[0], f"Port {port}", 1), encoding="utf-8")
    settle()
    return path


# The arguments of the other sshd beside its port; {own} has "AuthorizedKeysFile there".
OTHERS = {
    "file": ["-f", "{own}"],
    "file-in-one-word": ["-f{own}"],
    "file-behind-flags": ["-4f", "{own}"],
    "last-file": ["-f", "/etc/ssh/sshd_config", "-f", "{own}"],
    "first-file": ["-f", "{own}", "-f", "/etc/ssh/sshd_config"],
    "option": ["-o", "AuthorizedKeysFile=there"],
    "option-in-one-word": ["-oAuthorizedKeysFile=there"],
    "option-with-blanks": ["-o", "AuthorizedKeysFile .ssh/authorized_keys there", "-o", "LogLevel=VERBOSE"],
    "option-with-equals-sign": ["-o", "authorizedkeysfile = .ssh/authorized_keys there"],
    "option-behind-a-tab": ["-o", "\tAuthorizedKeysFile\tthere"],
    "option-behind-an-equals-sign": ["-o=AuthorizedKeysFile=there"],
    "option-in-quotes": ["-o", 'Authorized"KeysFile" "there"'],
    "option-behind-an-empty-one": ["-o", "", "-o", "AuthorizedKeysFile=there"],
    "first-option": ["-o", "AuthorizedKeysFile=.ssh/authorized_keys", "-o", "AuthorizedKeysFile=there"],
    "guard": ["-o", "AuthorizedKeysFile=none", "-o", "AuthorizedKeysCommandUser=root",
              "-o", f"AuthorizedKeysCommand={GUARD_WORDS} --file there"],
    "nothing-that-matters": ["-o", "LogLevel=VERBOSE", "-u0", "-f", "/etc/ssh/../ssh/sshd_config"],
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", OTHERS)
def test_a_list_is_held_if_root_comes_in_by_another_sshd(place, world, bad, scratch, name):
    of_root(world, ".ssh/authorized_keys", world.clean)
    there = of_root(world, "there", world.bad)
    Path("/etc/keyveto/keyveto.conf").write_text("OnError allow\n", encoding="ascii")
    port = free_port()
    own = own_file(scratch / "own", "AuthorizedKeysFile there", port=port)
    words = [word.format(own=own) for word in OTHERS[name]]
    serve(place, world.bad)
    with listening(scratch, "-p", port, *words):
        came = comes_in(bad, "root", port)
        equal(came, name not in ("first-file", "first-option", "nothing-that-matters"))
        result = place.run("--dry-run", status=2 if came else 0)
    messages = result.trouble
    if came:
        contains(messages, f"root's key ({there}:1) will be refused: ssh-ed25519 {world.bad.fingerprint}",
                 "the new one would refuse a key of root")
    else:
        lacks(messages, "root", UNSEEN)


def test_another_program_is_asked_itself(place, world, bad, scratch):
    """The file that it runs may belong to nobody but root."""
    of_root(world, "there", world.bad)
    port = free_port()
    own = own_file(scratch / "own", "AuthorizedKeysFile there", port=port)
    folder = Path("/usr/local/keyveto-test")
    folder.mkdir()
    other = Path(shutil.copy2(SSHD, folder / "sshd"))
    serve(place, world.bad)
    try:
        with listening(scratch, "-f", own, program=other):
            equal(comes_in(bad, "root", port), True)
            contains(place.run(status=2).trouble, "the new one would refuse a key of root")
        folder.chmod(0o777)
        of_root(world, "there", world.clean)
        with listening(scratch, "-f", own, program=other):
            contains(place.run(status=2).trouble, f"{folder}", UNSEEN)
    finally:
        shutil.rmtree(folder)


def test_an_sshd_that_cannot_be_asked_holds_the_list(place, scratch, monkeypatch):
    """Nothing in use is listed: only what cannot be seen holds."""
    port = free_port()
    own = own_file(scratch / "own", "AuthorizedKeysFile there", port=port)
    place.update()
    place.publisher.serve(listing(n=1000, seed=5), "2026-11-02T00:00:00Z")
    with listening(scratch, "-f", own) as process:
        lacks(place.run("--dry-run", status=0).trouble, UNSEEN)
        own.write_text("NonsenseKeyword yes\n", encoding="ascii")
        contains(place.run("--dry-run", status=2).trouble, f"sshd, process {process.pid}: ", "NonsenseKeyword", UNSEEN)
    own = own_file(scratch / "own", "AuthorizedKeysFile there", port=port)
    for words, why in ((["-f", "own"], "nobody can tell where that is"),
                       (["-o", "AuthorizedKeysCommandUser=root", "-o", "AuthorizedKeysCommand=/bin/echo %u", "-f", own],
                        "where the value of an -o option ends cannot be seen")):
        monkeypatch.chdir(scratch)
        with listening(scratch, "-p", port, *words):
            contains(place.run("--dry-run", status=2).trouble, why, UNSEEN)


def test_a_command_in_an_option_is_named(place, world, scratch):
    """As Amazon's EC2 Instance Connect has it."""
    of_root(world, ".ssh/authorized_keys", world.bad, world.clean)
    place.update()
    place.publisher.serve(listing(n=1000, seed=5), "2026-11-02T00:00:00Z")
    words = ["-o", "AuthorizedKeysCommand /usr/share/eic/run %u %f", "-o", "AuthorizedKeysCommandUser eic"]
    note = ["note: AuthorizedKeysCommand /usr/share/eic/run %u %f: it is asked with more than the account (%u, %h, %U);"
            " so nobody can know beforehand which of the keys it prints would be refused"]
    shown = "ExecStart={{ path=/usr/sbin/sshd ; argv[]=/usr/sbin/sshd -D {} $SSHD_OPTS ; ignore_errors=no ; pid=0 }}"
    for quote in "\"'":
        with unit(shown.format(" ".join(word if word == "-o" else f"{quote}{word}{quote}" for word in words))):
            equal(place.run("--dry-run", status=0).problems, note)
    with unit(shown.format(" ".join(words))):
        equal(place.run("--dry-run", status=0).problems, note)
    world.append("/etc/passwd", "eic:x:29998:29998::/nonexistent:/bin/false")
    with listening(scratch, "-p", free_port(), *words):
        equal(place.run("--dry-run", status=0).problems, note)


def test_match_blocks_of_another_sshd(place, world, scratch):
    """A file that only the other sshd reads, from some addresses, counts while it runs."""
    alice, other = world.account("alice"), keys.generate(scratch).key
    world.append("/etc/group", "wheel:x:29999:alice")
    own = own_file(scratch / "own", "Match Address 192.0.2.0/24 User alice", " AuthorizedKeysFile there",
                   port=free_port())
    serve(place, world.bad)
    alice.authorize(other)
    alice.write("there", world.bad)
    lacks(place.run("--dry-run", status=0).trouble, "alice")
    with listening(scratch, "-f", own):
        contains(place.run("--dry-run", status=2).trouble, "would refuse a key of alice")


def test_what_units_and_defaults_give_to_the_next_sshd_counts(place, world, scratch):
    of_root(world, ".ssh/authorized_keys", world.clean)
    of_root(world, "there", world.bad)
    own = own_file(scratch / "own", "AuthorizedKeysFile there", port=free_port())
    serve(place, world.bad)
    shown = "ExecStart={{ path=/usr/sbin/sshd ; argv[]=/usr/sbin/sshd -D {} $SSHD_OPTS ; ignore_errors=no ; pid=0 }}"
    for words in (f"-f {own}", "-o AuthorizedKeysFile=there", "-o AuthorizedKeysFile=.ssh/authorized_keys there"):
        with unit(shown.format(words)):
            contains(place.run("--dry-run", status=2).trouble, "the new one would refuse a key of root")
    with unit(shown.format("-o LogLevel=VERBOSE")):
        lacks(place.run("--dry-run", status=0).trouble, "root")
    defaults = Path("/etc/default/ssh")
    kept = defaults.read_bytes() if defaults.exists() else None
    try:
        for line in (f"SSHD_OPTS='-f {own}'", f"SSHD_OPTS=-f{own}", f'SSHD_OPTS="-4 -f {own}"  # ours'):
            defaults.write_text(f"{line}\n", encoding="ascii")
            contains(place.run("--dry-run", status=2).trouble, "the new one would refuse a key of root")
    finally:
        if kept is None:
            defaults.unlink()
        else:
            defaults.write_bytes(kept)


def test_the_audit_shows_keys_of_another_sshd_but_not_if_one_is_named(world, scratch):
    tom = world.account("tom")
    tom.authorize(world.clean)
    tom.write("there", world.bad)
    own = own_file(scratch / "own", "AuthorizedKeysFile there .ssh/authorized_keys", port=free_port())
    with listening(scratch, "-f", own):
        findings, summaries, _ = world.findings(status=1)
        equal([(one["file"], one["verdict"]) for one in findings if one.get("account") == "tom"],
              [(str(tom.keys_path), "clean"), (f"{tom.home}/there", "listed")])
        equal(summaries["tom"]["keys"], 2)
        equal(world.findings("--sshd-config", CONFIG, status=0)[1]["tom"]["keys"], 1)


def test_the_updates_service_sees_the_other_sshd(place, world, scratch):
    """With the capabilities of keyveto-update.service, with which the kernel shows no file that an sshd runs."""
    text = (ROOT / "packaging/systemd/keyveto-update.service").read_text(encoding="utf-8")
    named = re.search("^CapabilityBoundingSet=(.*)$", text, re.MULTILINE).group(1).lower().split()
    of_root(world, ".ssh/authorized_keys", world.clean)
    there = of_root(world, "there", world.clean)
    own = own_file(scratch / "own", "AuthorizedKeysFile there", port=free_port())
    serve(place, world.bad)

    def update(*names):
        names = ",".join(f"+{name.removeprefix('cap_')}" for name in names)
        return attempt("setpriv", "--bounding-set", f"-all,{names}", "--inh-caps", "-all", KEYVETO,
                       *place.arguments("--dry-run"))
    with listening(scratch, "-f", own):
        done = update(*named)
        equal(done.returncode, 0, done.stderr)
        there.write_text(f"{world.bad}\n", encoding="ascii")
        contains(update(*named).stderr, "the new one would refuse a key of root")
        there.write_text(f"{world.clean}\n", encoding="ascii")
    assert "cap_sys_ptrace" not in named
