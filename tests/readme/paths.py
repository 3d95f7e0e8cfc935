# SPDX-License-Identifier: ISC
"""The main path of README.md, from keyveto setup to the way back, for whoever has installed keyveto."""

from pathlib import Path

from bench import check
from stock import snapshot

TOUCHED = ("/etc/ssh", "/etc/pam.d")
OURS = ("/etc/keyveto", "/var/lib/keyveto")


def follow_main_path(reader):
    """Steps 2 to 5, and the way back but for the installation. badkeys' server must play."""
    installed = snapshot(*TOUCHED)
    watch(reader)
    reader.stay_current()
    enforce(reader)
    reader.follow("list")
    reader.tell_why()
    reader.follow("disable")
    reader.expect("after the way back", listed_enter=True)
    check(snapshot(*TOUCHED) == installed, "disable does not restore the files")
    reader.ok("the files of sshd and PAM are what they were")


def install_packages(reader):
    """Step 1. Returns what sshd and PAM had before."""
    before = snapshot(*TOUCHED)
    said = reader.follow("packages")
    check(reader.steps["setup"].strip() in said, f"the packages do not print the next step: {said}")
    check(snapshot(*TOUCHED) == before, "the packages change sshd or PAM")
    return before


def follow_from_packages(reader, before):
    """The main path, and back by purge."""
    reader.expect("installed", listed_enter=True)
    follow_main_path(reader)
    reader.follow("purge")
    reader.expect("purged", listed_enter=True)
    check(snapshot(*TOUCHED) == before, "the way back does not restore the files")
    check(not any(Path(path).exists() for path in (*OURS, "/usr/bin/keyveto")), "the purge leaves something")
    reader.ok("the purge leaves nothing")


def follow_twice(reader, name):
    reader.follow(name)
    once = snapshot("/etc/keyveto")
    reader.follow(name)
    check(snapshot("/etc/keyveto") == once, f"the step {name} cannot be typed twice")


def names_the_listed(reader, said):
    for account, _, _ in reader.listed:
        check(account.name in said, f"it does not name {account.name}: {said}")
    check(reader.alice.name not in said, f"it names alice: {said}")


def names_only_debora(reader, said):
    check(reader.debora.name in said and "debianssl" in said, f"it does not name debora's key: {said}")
    check(reader.alice.name not in said, f"it names alice: {said}")


def watch(reader):
    names_only_debora(reader, reader.follow("setup"))
    reader.server.wait()
    once = snapshot(*TOUCHED, *OURS)
    check("listed keys get in, and are logged" in reader.follow("setup"), "setup says something else the second time")
    check(snapshot(*TOUCHED, *OURS) == once, "the second setup changes something")
    reader.follow("deny")
    reader.expect("rehearsal", listed_enter=True)
    reader.expect_logged(action="warn", via="guard", authorized="yes")
    reader.expect_logged(action="warn", via="pam")
    check("uid=" in reader.follow("try"), "the demo's key does not get in")
    reader.try_from_elsewhere()
    reader.clean_while_logged_in()


def enforce(reader):
    rehearsed = snapshot(*TOUCHED, "/etc/keyveto")
    names_the_listed(reader, reader.follow("enable", status=1))
    check(snapshot(*TOUCHED, "/etc/keyveto") == rehearsed, "it stopped, but changed something")
    reader.follow("enable", " --yes")
    reader.expect("enforced", listed_enter=False)
    reader.expect_logged(action="deny", via="guard", authorized="yes")
    said = reader.follow("try")
    check(said.rstrip().endswith("refused") and "Permission denied" in said, f"the demo's key: {said}")
    reader.follow("clean")
