# SPDX-License-Identifier: ISC
"""keyveto sshd status reports each way in for each kind of account."""

import json

import pytest

from program import SSHD, contains, equal, lacks
from sshd_machine import COMMAND, DROP_IN, GUARD, INCLUDE, STOCK_STACK, TOP, WITH_COMMAND, Image

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]


def ways(image, status):
    """status --json: {(account or "", way): (open, guard, pam)}."""
    found = {}
    for line in image.run("status", "--json", status=status).stdout.splitlines():
        one = json.loads(line)
        for name in one["accounts"] or [""]:
            found[name, one["way"]] = (one["open"], one["guard"], one["pam"])
        equal(one["guarded"], not one["open"] or one["guard"] or one["pam"])
    return found


def test_status_reports_each_way_in_for_each_kind_of_account(scratch):
    image = Image(scratch, INCLUDE + "HostbasedAuthentication yes\n"
                  "Match User mallory\nAuthorizedKeysFile .ssh/m\nMatch User bob\nPubkeyAuthentication no\n"
                  "HostbasedAuthentication no\n")
    for name in ("alice", "bob", "mallory"):
        image.account(name)
    found = ways(image, 1)
    equal(found["alice", "authorized_keys"], (True, False, False))
    equal(found["bob", "authorized_keys"], (False, False, False))
    image.run("enable", "--guard", status=0)
    # enable would not put the guard in with TrustedUserCAKeys.
    image.write(TOP, image.read(TOP).replace(INCLUDE, f"{INCLUDE}{CA}"))
    found = ways(image, 1)
    equal(found["alice", "authorized_keys"], (True, True, False))
    equal(found["alice", "cert-authority line"], (True, True, False))
    equal(found["alice", "TrustedUserCAKeys"], (True, False, False))
    equal(found["alice", "hostbased"], (True, False, False))
    equal(found["bob", "hostbased"], (False, False, False))
    equal(found["mallory", "authorized_keys"], (True, False, False))
    image.run("enable", "--pam", status=0)
    found = ways(image, 0)
    equal(found["mallory", "authorized_keys"], (True, False, True))
    equal(found["alice", "hostbased"], (True, False, True))


def test_status_reports_match_blocks_for_addresses(scratch):
    """status does not ask sshd about clients from there."""
    image = Image(scratch, INCLUDE + "Match Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n")
    image.run("enable", "--guard", status=0)
    equal(image.settings("root", "192.0.2.1")["authorizedkeysfile"], ".ssh/far")
    contains(image.run("status", status=1).stderr, "sshd_config:7: not guarded: Match Address 192.0.2.0/24")
    image.run("enable", "--pam", status=0)
    image.run("status", status=0)


# In a Match block for addresses, each of these lines bypasses the guard. sshd is not asked about it.
CA = "TrustedUserCAKeys /etc/ssh/ca\n"
BY_COMMAND = f"AuthorizedKeysFile none\n{WITH_COMMAND}"
ESCAPES = {
    "a quote in a keyword": (INCLUDE + 'Mat"ch" Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n', {}),
    "an equals sign before a keyword": (INCLUDE + "=Match Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n", {}),
    "an empty word before a keyword": (INCLUDE + '"" Match Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n', {}),
    "an Include with a quote": (INCLUDE + 'Inc"lude" /etc/ssh/far\n', {
        "/etc/ssh/far": "Match Address 192.0.2.0/24\nAuthorizedKeysFile .ssh/far\n"}),
    "a Match block within one": (INCLUDE + "Match Address 192.0.2.0/24\nInclude /etc/ssh/far\n", {
        "/etc/ssh/far": "Match User root\nAuthorizedKeysFile .ssh/far\n"}),
    "principals by the name alone": (
        f"{INCLUDE}{CA}{BY_COMMAND}AuthorizedPrincipalsCommand {COMMAND}\nAuthorizedPrincipalsCommandUser nobody\n"
        "Match Address 192.0.2.0/24\nAuthorizedPrincipalsCommand none\n", {}),
    "hostbased": (INCLUDE + "Match Host far\nHostbasedAuthentication yes\n", {}),
}


@pytest.mark.long
def test_status_overlooks_no_match_block_for_addresses(scratch):
    """The block is written in many ways."""
    for number, (title, (config, files)) in enumerate(ESCAPES.items()):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number), config, files=files)
        contains(image.run("enable", "--guard", status=0).stderr, ", which bypasses the guard")
        done = image.run("status")
        equal(done.returncode, 1, f"{title}\n{done.stdout}{done.stderr}")
        contains(done.stderr, "not guarded: Match ")
        image.run("enable", "--pam", status=0)
        image.run("status", status=0)


def test_an_account_name_that_contains_host_is_not_an_origin(scratch):
    """A Match block for addresses that closes a way in is not reported."""
    image = Image(scratch, INCLUDE + "Match User hostmaster\nAuthorizedKeysFile \"none\" # by nobody\n"
                  "Match Address 192.0.2.0/24\nAuthorizedKeysFile none\nHostbasedAuthentication \"no\"\n"
                  "AuthorizedPrincipalsFile .ssh/principals\n")
    image.account("hostmaster")
    image.run("enable", "--guard", status=0)
    equal(image.run("status", status=0).stderr, "")


@pytest.mark.long
def test_a_match_block_for_an_unlisted_account_counts_as_open(scratch):
    """No name service lists the account."""
    for number, (lines, head) in enumerate((("AuthorizedKeysFile .ssh/far", ""), ("HostbasedAuthentication yes", ""),
                                            (CA, BY_COMMAND), (BY_COMMAND, ""))):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number), f"{INCLUDE}{head}Match User far*\n{lines}\n")
        image.run("enable", "--guard", status=0)
        contains(image.run("status", status=2).stderr,
                 "not guarded, for accounts that no name service lists: Match User far*")
        image.account("faraway")
        lacks(image.run("status", status=1).stderr, "not listed")
        image.run("enable", "--pam", status=0)
        image.run("status", status=0)


def test_keys_that_are_taken_from_some_clients_only_are_a_way_in(scratch):
    image = Image(scratch, INCLUDE + "PubkeyAuthentication no\n")
    image.run("status", status=0)
    image.write(TOP, image.read(TOP) + "Match Address 192.0.2.0/24\nPubkeyAuthentication yes\n")
    equal(ways(image, 1)["", "authorized_keys"], (True, False, False))
    image.run("enable", status=0)
    image.run("status", status=0)


def test_status_reads_the_keyveto_conf_that_the_guard_is_told_to_read(scratch):
    """Also the one that the module is told to read. status reads the filters as the guard's user."""
    image = Image(scratch)
    image.write("/etc/other.conf", "OnHit warn\n")
    image.run("enable", status=0)
    for path, old, new in ((DROP_IN, " --key %k", " --key\t%k\t--config /etc/other.conf"),
                           ("/etc/pam.d/sshd", "keyveto.so", "keyveto.so debug config=/etc/other.conf"),
                           ("/etc/pam.d/sshd", "keyveto.so", "keyveto.so [config=/etc/other.conf]"),
                           ("/etc/pam.d/sshd", "keyveto.so",
                            "keyveto.so config=/etc/keyveto/keyveto.conf config=/etc/other.conf")):
        content = image.read(path)
        image.write(path, content.replace(old, new, 1))
        contains(image.run("status", status=1).stderr, "/etc/other.conf: OnHit warn")
        image.write(path, content)
        image.run("status", status=0)
    # In front of another command, the guard runs as that command's user.
    image.run("disable", status=0)
    image.write(TOP, f"{INCLUDE}AuthorizedKeysFile none\n{WITH_COMMAND}")
    image.write("/etc/keyveto/keyveto.conf", "OnError allow\n")
    image.run("enable", "--guard", status=0)
    image.run("status", status=0)
    image.path("/var/lib/keyveto/filter.pkbf").chmod(0o600)
    contains(image.run("status", status=2).stderr, "(read as nobody)")


def test_a_guard_or_a_module_in_another_place_is_looked_at_there(scratch):
    image = Image(scratch)
    other = "/opt/keyveto-authorized-keys"
    image.run("enable", "--guard", status=0)
    image.write(DROP_IN, image.read(DROP_IN).replace(GUARD, other))
    contains(image.run("status", status=2).stderr, f"{other}: No such file")
    image.run("disable", status=0)
    image.run("enable", "--pam", status=0)
    image.write("/etc/pam.d/sshd", image.read("/etc/pam.d/sshd").replace("pam_keyveto.so", "/opt/pam_keyveto.so"))
    contains(image.run("status", status=1).stderr, "/opt/pam_keyveto.so: No such file")


def test_a_match_blocks_pam_service_counts(scratch):
    """PAMServiceName is a keyword of later versions."""
    image = Image(scratch)
    image.account("alice")
    image.account("bob")
    image.write("/etc/pam.d/other", STOCK_STACK)
    image.run("enable", "--pam", status=0)
    # 9.2 lacks the keyword. This sshd reads its file, and copies of it, without it, and adds it to its answer.
    odd = scratch / "odd"
    odd.write_text(f"""#!/bin/sh
for word; do case $word in */0.conf) sed -i /PAMServiceName/d "${{word%/*}}"/*.conf;; esac; done
case "$*" in *user=bob,*) echo pamservicename other;; *-T*) echo pamservicename sshd;; esac
case " $* " in *" -f "*) exec {SSHD} "$@";; esac
sed /PAMServiceName/d {TOP} >{scratch}/without
exec unshare --mount sh -c 'mount --bind {scratch}/without {TOP} && exec {SSHD} "$@"' sh "$@"
""", encoding="ascii")
    odd.chmod(0o755)
    image.run("status", status=0)
    image.write(TOP, image.read(TOP) + "Match User bob\nPAMServiceName other\n")
    done = image.run("status", "--json", "--sshd", odd, status=1)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    equal({tuple(row["accounts"]): row["pam"] for row in rows if row["way"] == "authorized_keys"},
          {("root", "nobody", "sshd", "alice"): True, ("bob",): False})


def test_a_module_after_the_first_session_line_does_not_count(scratch):
    """A module that is not requisite does not count either."""
    image = Image(scratch)
    for stack, says in (("session optional pam_env.so user_readenv=1\nsession requisite pam_keyveto.so\n",
                         "/etc/pam.d/sshd:2: pam_keyveto.so is not the first session line"),
                        ("session required pam_keyveto.so\n", "/etc/pam.d/sshd:1: pam_keyveto.so is not requisite"),
                        ("account requisite pam_keyveto.so\n", "")):
        image.write("/etc/pam.d/sshd", stack)
        contains(image.run("status", status=1).stderr, says)
    image.write("/etc/pam.d/sshd", "@include other\n")
    image.write("/etc/pam.d/other", "session requisite pam_keyveto.so\n")
    image.run("status", status=0)


def test_status_does_not_vouch_for_a_guard_that_does_not_work(scratch):
    """The status is 2, and a message names the guard or the filter."""
    image = Image(scratch)
    image.run("enable", status=0)
    image.run("status", status=0)
    filter_path = image.path("/var/lib/keyveto/filter.pkbf")
    kept = filter_path.read_bytes()
    filter_path.unlink()
    contains(image.run("status", status=2).stderr, "filter.pkbf: No such file")
    filter_path.write_bytes(kept)
    image.path(GUARD).chmod(0o777)
    contains(image.run("status", status=2).stderr, GUARD)
    image.path(GUARD).chmod(0o755)
    # sshd makes no exception for a sticky folder.
    image.path(GUARD).parent.chmod(0o1777)
    contains(image.run("status", status=2).stderr, "is writable by group or others: sshd does not run the guard")
    image.path(GUARD).parent.chmod(0o755)
    image.run("status", status=0)
