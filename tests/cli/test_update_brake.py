# SPDX-License-Identifier: ISC
"""keyveto update audits this machine's accounts with a new list before it takes effect."""

import contextlib
import hashlib
import json
import os
import re
import socket
from pathlib import Path

import pytest

import keys
import sshkey
from patches import patch_path
from program import contains, equal, keyveto, lacks, preload
from publisher import LIST, MANIFEST, ListPlace, fixture_named_list, listing, records  # noqa: F401 (the fixture)
from runs import run
from update_place import Place
from website import Page

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def serve(place, *listed, date="2026-11-02"):
    """Serves a list with these keys (keys.PublicKey) among others."""
    made = [sshkey.parse_line(str(key).encode()) for key in listed]
    place.publisher.serve(listing(*made, source=1, n=1000), f"{date}T00:00:00Z")


def offer(place, *listed, **options):
    """The same, where another list is installed."""
    place.update()
    serve(place, *listed, **options)


def test_keys_in_use_that_a_new_list_lists_are_told_once(place, world):
    """The new list takes effect, and the status is 1."""
    alice, bob = world.account("alice"), world.account("bob")
    alice.authorize(world.clean, f"{world.bad} old laptop")
    bob.authorize(world.clean)
    offer(place, world.bad)
    result = place.run(status=1)
    contains(result.trouble, f"alice's key ({alice.keys_path}:2) will be refused: ssh-ed25519 {world.bad.fingerprint}"
             ", listed by debianssl, old laptop")
    lacks(result.err.decode(), "bob", world.clean.fingerprint)
    contains(result.out.decode(), "updated, ")
    # It is told when it comes, not each night.
    equal(place.update().split(",")[0], "already current")
    place.publisher.serve(listing(sshkey.parse_line(str(world.bad).encode()), source=1, n=1150), "2026-11-03T00:00:00Z")
    contains(place.update(), "updated, ")


def test_the_new_list_is_held_if_it_refuses_root(place, world):
    place.update()
    root = world.folder / "root/.ssh"
    root.mkdir(parents=True, mode=0o700)
    (root / "authorized_keys").write_text(f"{world.clean}\n{world.bad}\n", encoding="ascii")
    serve(place, world.bad)
    before = place.snapshot()
    for words in ((), ("--force",), ("--dry-run",)):
        result = place.run(*words, status=2)
        contains(result.trouble, "root's key ", "the new one would refuse a key of root",
                 "the old one stays in use", "keyveto allow", "give --yes", f"{place.target}: stays as it is, ")
        equal(place.snapshot(), before)
    contains(place.run("--yes", status=1).out.decode(), "updated, ")
    run("check", "--blocklist", place.target, root / "authorized_keys", status=1)


def test_no_key_of_a_member_of_a_group_is_taken(place, world):
    alice, bob = world.account("alice"), world.account("bob")
    world.append("/etc/group", "wheel:x:29999:alice")
    alice.authorize(world.bad)
    bob.authorize(world.bad)
    offer(place, world.bad)
    contains(place.run(status=2).trouble, "the new one would refuse a key of alice, an administrator (group wheel)\n")
    # Neither another key nor an option of the line makes a difference.
    for lines in ([world.bad, world.clean], [f'command="/bin/true" {world.bad}'],
                  [f'expiry-time="20200101" {world.bad}'], [f'from="192.0.2.1" {world.bad}', world.clean]):
        alice.authorize(*lines)
        contains(place.run(status=2).trouble, "the new one would refuse a key of alice")
    place.top["HoldIfRefused"] = "5 nobody-is-in-it"
    place.run("--force", status=1)


def test_a_list_that_refuses_too_many_accounts_is_held(place, world):
    for i in range(4):
        world.account(f"user{i}").authorize(world.bad, world.clean)
    offer(place, world.bad)
    place.top["HoldIfRefused"] = 3
    contains(place.run(status=2).trouble,
             "the new one would refuse keys of 4 accounts, more than HoldIfRefused allows (3)")
    place.top["HoldIfRefused"] = 4
    contains(place.run("--dry-run", status=1).out.decode(), "would be updated")
    place.top["HoldIfRefused"] = "never"
    place.run(status=1)


def test_exceptions_and_rehearsals_hold_nothing(place, world):
    """AllowKey counts, and OnHit warn refuses nobody."""
    alice = world.account("alice")
    alice.authorize(world.bad)
    world.append("/etc/group", "sudo:x:29999:alice")
    offer(place, world.bad)
    place.run(status=2)
    text = place.config.read_text(encoding="utf-8")
    place.config.write_text(text + f"AllowKey {world.bad.fingerprint}\n", encoding="utf-8")
    contains(place.update("--dry-run"), "would be updated")
    place.config.write_text(text + "OnHit warn\n", encoding="utf-8")
    contains(place.run(status=1).trouble,  ") will be logged: ssh-ed25519")


def test_a_listed_ca_of_user_certificates_holds_the_list(place, world):
    ca = world.folder / "ca.pub"
    ca.write_text(f"{world.bad}\n", encoding="ascii")
    world.sshd_config(f"TrustedUserCAKeys {ca}")
    offer(place, world.bad)
    contains(place.run(status=2).trouble, "would refuse all certificates of 1 CA in TrustedUserCAKeys")


def test_what_a_filter_lists_already_is_not_new(place, world):
    alice = world.account("alice")
    alice.authorize(world.bad)
    os.chown(world.filter, 0, 0)
    world.filter.chmod(0o644)
    place.config.write_text(f"Blocklist {place.target}\nFilter {world.filter}\n", encoding="utf-8")
    offer(place, world.bad)
    contains(place.update(), "updated, ")


def test_a_filter_is_held_in_the_same_way(world, scratch):
    with contextlib.closing(Place(scratch)) as place:
        root = world.folder / "root/.ssh"
        root.mkdir(parents=True, mode=0o700)
        (root / "authorized_keys").write_text(f"{world.bad}\n", encoding="ascii")
        place.site.pages["/filter.pkbf"] = Page(world.filter.read_bytes())
        config = scratch / "keyveto.conf"
        config.write_text(f"Filter {place.target}\n", encoding="utf-8")
        place.lines["MaxFalsePositives"] = 0.5
        contains(place.run("--config", config, status=2).trouble,
                 "the new one would refuse a key of root", "there is still no filter")
        place.run("--config", config, "--yes", status=1)
        equal(place.target.read_bytes(), world.filter.read_bytes())


def test_each_key_is_logged_and_noted(place, world):
    world.account("alice").authorize(f"{world.bad} x")
    offer(place, world.bad)
    Path("/dev/log").unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind("/dev/log")
        place.run(status=1)
        line = log.recv(65536, socket.MSG_DONTWAIT).decode()
    Path("/dev/log").unlink()
    contains(line, "verdict=listed action=deny user=alice via=update key_type=ssh-ed25519 "
             f"key_fp={world.bad.fingerprint} part=key authorized=yes", f"list={place.target} source=debianssl")
    notes = json.loads((place.state / ".badkeys.dat.keyveto-update").read_text(encoding="utf-8"))
    equal((notes["in_use"], notes["held"]), (1, 0))


def test_the_metrics_of_doctor_say_what_is_held(place, world):
    root = world.folder / "root/.ssh"
    root.mkdir(parents=True, mode=0o700)
    (root / "authorized_keys").write_text(f"{world.bad}\n", encoding="ascii")
    place.update()

    def metrics():
        text = keyveto("doctor", "--prometheus", "--config", place.config).stdout
        return tuple(re.search(rf'^keyveto_update_{name}{{file="{place.target}"}} (\d+)$', text, re.MULTILINE)[1]
                     for name in ("keys_in_use", "held"))

    equal(metrics(), ("0", "0"))
    serve(place, world.bad)
    place.run(status=2)
    equal(metrics(), ("0", "1"))
    place.run("--yes", status=1)
    equal(metrics(), ("1", "0"))


def files_of_root(world, *lines):
    """Writes root's authorized_keys: its path."""
    path = world.folder / "root/.ssh/authorized_keys"
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    return path


def test_a_first_list_is_held_too(place, world):
    """Whether keyveto.conf names it, or whether it is in keyveto's own folder, where it may be named soon."""
    files_of_root(world, world.bad)
    serve(place, world.bad)
    messages = place.run(status=2).trouble
    contains(messages, "the new one would refuse a key of root", f"{place.target}: it is not installed. Correct that",
             "there is still no list")
    equal(place.target.exists(), False)
    place.config.write_text("Filter /nonexistent\n", encoding="utf-8")
    place.section["Target"] = "/var/lib/keyveto/attack.dat"
    Path("/var/lib/keyveto").mkdir(parents=True, exist_ok=True)
    contains(place.run(status=2).trouble, "the new one would refuse a key of root")
    equal(Path("/var/lib/keyveto/attack.dat").exists(), False)


@pytest.mark.parametrize("name", ("link", "spelling", "relative"))
def test_a_list_is_known_by_any_path_that_leads_to_it(place, world, scratch, name):
    """What keyveto.conf names may be a link to the Target, or another spelling of it."""
    files_of_root(world, world.bad)
    link = scratch / "link"
    link.symlink_to(place.state)
    path = {"link": link / "badkeys.dat", "spelling": f"{place.state}//badkeys.dat", "relative": place.target}[name]
    words = ("--blocklist", os.path.relpath(place.target), "--source", "badkeys") if name == "relative" else ()
    place.config.write_text(f"Blocklist {path}\n", encoding="utf-8")
    serve(place, world.bad)
    contains(place.run(*words, status=2).trouble, "the new one would refuse a key of root")
    equal(place.target.exists(), False)


def test_what_a_broken_keyveto_conf_names_is_audited(place, world):
    files_of_root(world, world.bad)
    place.config.write_text("Nonsense\n", encoding="utf-8")
    serve(place, world.bad)
    contains(place.run(status=2).trouble, "the new one would refuse a key of root")


def test_a_list_is_held_if_sshd_does_not_say_which_files_it_reads(place, world):
    """Its answer may name files that lock an administrator out."""
    place.update()
    place.publisher.serve(records(1100, seed=7), "2026-11-02T00:00:00Z")
    world.sshd_config("NonsenseKeyword yes")
    messages = place.run(status=2).trouble
    contains(messages, "/usr/sbin/sshd: ", "NonsenseKeyword",
             "not all keys that sshd lets in could be compared with the new one", "give --yes")
    place.top["HoldIfRefused"] = "never"
    contains(place.run("--dry-run", status=0).out.decode(), "would be updated")
    del place.top["HoldIfRefused"]
    contains(place.run("--yes", status=0).out.decode(), "updated, ")


def test_a_first_list_is_not_held_for_want_of_an_audit(place, world):
    """Nothing is in use yet that could stay. On a machine whose sshd never ran, sshd -T fails."""
    world.sshd_config("NonsenseKeyword yes")
    result = place.run(status=0)
    contains(result.trouble, "NonsenseKeyword", "not all keys that sshd lets in could be compared")
    contains(result.out.decode(), "installed, ")


def test_a_list_is_held_if_an_administrators_file_cannot_be_read(place, world):
    """A file of anybody else is named, and does not stop the update. A line that is no key is none for sshd, too."""
    alice, bob = world.account("alice"), world.account("bob")
    world.append("/etc/group", "wheel:x:29999:alice")
    alice.authorize("this is no key", world.clean)
    bob.keys_path.mkdir(parents=True)
    messages = place.run(status=0).problems
    contains("\n".join(messages), f"{bob.keys_path}: ")
    lacks("\n".join(messages), "alice")
    serve(place, world.clean, date="2026-11-03")
    alice.keys_path.unlink()
    alice.keys_path.mkdir()
    messages = place.run(status=2).trouble
    contains(messages, f"{alice.keys_path}: ", "not all keys of alice could be compared with the new one",
             "the old one stays in use")
    lacks(messages, "not all keys of bob")
    alice.keys_path.rmdir()
    root = files_of_root(world)
    root.unlink()
    root.symlink_to("/nonexistent")
    contains(place.run(status=2).trouble, "symbolic link to nothing", "not all keys of root")


def test_a_command_of_others_is_named_and_without_sshd_keyveto_conf_counts(place, world):
    """The keys that the command prints cannot be known. A machine without sshd lets nobody in by SSH."""
    place.update()
    world.sshd_config("AuthorizedKeysCommand /usr/bin/other %u", "AuthorizedKeysCommandUser nobody")
    place.publisher.serve(records(1100, seed=7), "2026-11-02T00:00:00Z")
    equal(place.run("--dry-run", status=0).problems,
          ["note: AuthorizedKeysCommand /usr/bin/other %u: it is not there, or not root's alone; so nobody can know "
           "beforehand which of the keys it prints would be refused"])
    sshd = Path("/usr/sbin/sshd")
    kept = sshd.rename("/usr/sbin/sshd.kept")
    try:
        equal(place.run("--dry-run", status=0).problems,
              ["note: /usr/sbin/sshd: No such file or directory: the accounts' files are taken from keyveto.conf"])
        files_of_root(world, world.bad)
        serve(place, world.bad)
        contains(place.run(status=2).trouble, "the new one would refuse a key of root")
    finally:
        kept.rename(sshd)


def test_number_0_allows_no_account(place, world):
    world.account("alice").authorize(world.bad, world.clean)
    place.top["HoldIfRefused"] = 0
    offer(place, world.bad)
    contains(place.run(status=2).trouble, "would refuse keys of 1 accounts, more than HoldIfRefused allows (0)")


def test_members_of_a_group_count_though_the_system_does_not_list_them(place, world, scratch):
    """A name service such as SSSD finds an account by its name, and lists none."""
    hidden = preload(scratch, "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <pwd.h>\n#include <string.h>\n"
                              "struct passwd *getpwent(void) {\n"
                              "  struct passwd *(*next)(void) = dlsym(RTLD_NEXT, \"getpwent\"), *pw;\n"
                              "  while ((pw = next()) != NULL && strcmp(pw->pw_name, \"alice\") == 0) ;\n"
                              "  return pw;\n}\n")
    world.account("alice").authorize(world.bad)
    offer(place, world.bad)
    contains(place.update("--dry-run", env=hidden), "would be updated")
    world.append("/etc/group", "wheel:x:29999:nobody-of-that-name,alice")
    contains(place.run(status=2, env=hidden).trouble, "would refuse a key of alice")


def test_what_only_a_filter_lists_is_not_held_with_onprobable_warn(world, scratch):
    with contextlib.closing(Place(scratch)) as place:
        files_of_root(world, world.bad)
        place.site.pages["/filter.pkbf"] = Page(world.filter.read_bytes())
        config = scratch / "keyveto.conf"
        config.write_text(f"Filter {place.target}\nOnProbable warn\n", encoding="utf-8")
        place.lines["MaxFalsePositives"] = 0.5
        contains(place.run("--config", config, status=1).trouble, "will be logged")


def test_of_two_sources_in_one_run_the_second_is_compared_with_the_first(place, world, scratch):
    """What the first one refuses is told once, and what only the second one refuses holds that one."""
    other = keys.generate(scratch).key
    alice = world.account("alice")
    world.account("bob").authorize(world.bad)
    world.append("/etc/group", "wheel:x:29999:alice")
    alice.authorize(other)
    with contextlib.closing(ListPlace(scratch / "second") if (scratch / "second").mkdir() is None else None) as second:
        place.config.write_text(f"Blocklist {place.target}\nBlocklist {second.target}\n", encoding="utf-8")
        place.update()
        second.config = place.config
        second.update()
        serve(place, world.bad)
        serve(second, other, world.bad)
        place.arguments()
        with place.settings.open("a", encoding="utf-8") as file:
            file.write(f"Source second\n\tFormat badkeys\n\tURL {second.section['URL']}\n\tTarget {second.target}\n")
        messages = run("update", "--settings", place.settings, "--config", place.config, status=2).trouble
        contains(messages, f"{second.target}: the new one would refuse a key of alice")
        equal(messages.count("bob's key"), 1, messages)
        lacks(messages, f"{place.target}: the new one would refuse")


def test_a_rollback_is_audited_too(place, world):
    """The list before may refuse a key that the newer one no longer lists."""
    serve(place, world.bad)
    place.update()
    place.publisher.serve(records(), "2026-11-03T00:00:00Z")
    place.update()
    files_of_root(world, world.bad)
    before = place.snapshot()
    messages = place.run("--rollback", status=2).trouble
    contains(messages, "the previous one would refuse a key of root", "give --yes")
    equal(place.snapshot(), before)
    contains(place.run("--rollback", "--yes", status=1).out.decode(), "rolled back, ")


def test_a_list_that_is_held_leaves_nothing_and_is_judged_each_time(place, world):
    files_of_root(world, world.bad)
    place.update()
    patch = patch_path(LIST, place.target.read_bytes())
    serve(place, world.bad)
    for words in ((), (), ("--dry-run",)):
        place.publisher.asked()
        contains(place.run(*words, status=2).trouble, "the new one would refuse a key of root")
        equal(place.publisher.asked(), [MANIFEST, patch, LIST])
        equal([name for name in os.listdir(place.state) if "part" in name], [])
    place.run("--yes", status=1)
    equal(hashlib.sha256(place.target.read_bytes()).hexdigest(), place.publisher.manifest["blocklist_sha256"])


def test_a_list_that_the_publisher_takes_back_is_no_longer_held(place, world):
    files_of_root(world, world.bad)
    offer(place, world.bad)
    place.run(status=2)
    place.publisher.serve(place.target.read_bytes(), "2026-11-03T00:00:00Z")
    contains(place.update(), "already current")
    equal([name for name in os.listdir(place.state) if "part" in name], [])
    found = keyveto("doctor", "--json", "--config", place.config).stdout
    # Nothing keeps a list current here, which is another finding.
    lacks(json.dumps([one for one in json.loads(found)["checks"] if one["check"] == "update"]), "kept away")


def test_doctor_warns_of_a_list_that_is_held(place, world):
    files_of_root(world, world.bad)
    offer(place, world.bad)
    place.run(status=2)
    # A list that is named twice has its metrics once.
    place.config.write_text(f"Blocklist {place.target}\nBlocklist {place.target}\n", encoding="utf-8")
    checks = json.loads(keyveto("doctor", "--json", "--config", place.config).stdout)["checks"]
    found = [one for one in checks if one["check"] == "update"]
    equal({one["status"] for one in found}, {"warning"})
    found = [one for one in found if f"{place.target}: a newer one is kept away" in one["found"]]
    equal(len(found), 1)
    contains(found[0]["remedy"], "--yes")
    metrics = keyveto("doctor", "--prometheus", "--config", place.config).stdout
    equal(metrics.count(f'keyveto_update_held{{file="{place.target}"}} 1\n'), 1)
