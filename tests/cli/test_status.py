# SPDX-License-Identifier: ISC
"""keyveto status: each way in for each kind of account, and keyveto.conf, compared with what the guard does."""

import json
import os
import random
import re
from pathlib import Path

import pytest

from config_machine import BAD_LINES, CONFIG, FILTER, FINGERPRINT, FOLDER, NOBODY, World, day
from doctor_machine import GUARDED
from program import SSHD, attempt, contains, equal, keyveto
from sshd_machine import COMMAND, DROP_IN, GUARD, INCLUDE, STOCK_STACK, TOP, WITH_COMMAND, Image

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]


def found_by(done):
    """What is not well, in words."""
    return "\n".join(f"{one['check']}: {one['found']}" for one in json.loads(done.stdout)["checks"]
                     if one["status"] != "ok")


def says(image, status, *parts):
    found = found_by(image.run("status", "--json", status=status))
    contains(found, *parts)
    equal(found != "", status != 0)


def ways(image, status):
    """{(account or "", way): (open, guard, pam)}."""
    found = {}
    for one in json.loads(image.run("status", "--json", status=status).stdout)["ways"]:
        for name in one["accounts"] or [""]:
            found[name, one["way"]] = (one["open"], one["guard"], one["pam"])
        equal(one["guarded"], not one["open"] or one["guard"] or one["pam"])
    return found


def test_each_way_in_for_each_kind_of_account(scratch):
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
    # The table says the same.
    table = image.run("status", "--all", status=1).stdout
    contains(table, "\naccounts: root nobody sshd alice\nway in ", "\naccounts: mallory\nway in ",
             "TrustedUserCAKeys      yes   no     no   NO\n", "authorized_keys        yes   yes    no   yes\n")
    equal([line for line in table.splitlines() if len(line) > 100], [])
    image.run("enable", "--pam", status=0)
    found = ways(image, 0)
    equal(found["mallory", "authorized_keys"], (True, False, True))
    equal(found["alice", "hostbased"], (True, False, True))


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
def test_no_match_block_for_addresses_is_overlooked(scratch):
    """The block is written in many ways."""
    for number, (config, files) in enumerate(ESCAPES.values()):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number), config, files=files)
        contains(image.run("enable", "--guard", status=0).stderr, ", which bypasses the guard")
        contains(found_by(image.run("status", "--json", status=1)), "for some clients (Match ")
        image.run("enable", "--pam", status=0)
        image.run("status", status=0)


def test_an_account_name_that_contains_host_is_not_an_origin(scratch):
    """A Match block for addresses that closes a way in is not reported."""
    image = Image(scratch, INCLUDE + "Match User hostmaster\nAuthorizedKeysFile \"none\" # by nobody\n"
                  "Match Address 192.0.2.0/24\nAuthorizedKeysFile none\nHostbasedAuthentication \"no\"\n"
                  "AuthorizedPrincipalsFile .ssh/principals\n")
    image.account("hostmaster")
    image.run("enable", "--guard", status=0)
    says(image, 0)


@pytest.mark.long
def test_a_match_block_for_an_unlisted_account_counts_as_open(scratch):
    """No name service lists the account."""
    for number, (lines, head) in enumerate((("AuthorizedKeysFile .ssh/far", ""), ("HostbasedAuthentication yes", ""),
                                            (CA, BY_COMMAND), (BY_COMMAND, ""))):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number), f"{INCLUDE}{head}Match User far*\n{lines}\n")
        image.run("enable", "--guard", status=0)
        says(image, 2, "for accounts that no name service lists (Match User far*)")
        image.account("faraway")
        says(image, 1, "1 account can be entered with a key that nothing judges: faraway")
        image.run("enable", "--pam", status=0)
        image.run("status", status=0)


def test_keys_that_are_taken_from_some_clients_only_are_a_way_in(scratch):
    image = Image(scratch, INCLUDE + "PubkeyAuthentication no\n")
    equal(ways(image, 1)["", "authorized_keys"], (False, False, False))     # a warning: PAM has no module
    image.write(TOP, image.read(TOP) + "Match Address 192.0.2.0/24\nPubkeyAuthentication yes\n")
    equal(ways(image, 1)["", "authorized_keys"], (True, False, False))
    image.run("enable", status=0)
    image.run("status", status=0)


def test_the_keyveto_conf_that_the_guard_or_the_module_is_told_to_read_counts(scratch):
    """Its filters are read as the guard's user."""
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
        says(image, 1, "/etc/other.conf: OnHit warn")
        image.write("/etc/other.conf", "OnHit warn\nNonsense\n")
        says(image, 2, "/etc/other.conf:2: ", "/etc/other.conf: no key gets a verdict, and OnError deny decides")
        image.write(path, content)
        image.write("/etc/other.conf", "OnHit warn\n")
        image.run("status", status=0)
    # In front of another command, the guard runs as that command's user.
    image.run("disable", status=0)
    image.write(TOP, f"{INCLUDE}AuthorizedKeysFile none\n{WITH_COMMAND}")
    image.write("/etc/keyveto/keyveto.conf", "OnHit deny\n")
    image.run("enable", "--guard", status=0)
    content = image.read(DROP_IN)
    for config, said in (("", "nobody cannot read /var/lib/keyveto/filter.pkbf"),
                         (" --config /etc/other.conf", "filter.pkbf: Permission denied, read as nobody, as whom sshd")):
        image.write(DROP_IN, content.replace(" -- ", f"{config} -- "))
        image.write("/etc/other.conf", "OnHit deny\n")
        image.run("status", status=0)
        image.path("/var/lib/keyveto/filter.pkbf").chmod(0o600)
        says(image, 2, said)
        image.path("/var/lib/keyveto/filter.pkbf").chmod(0o644)


def test_a_guard_or_a_module_in_another_place_is_looked_at_there(scratch):
    """Also a guard that stands in a Match block alone."""
    image = Image(scratch)
    image.account("alice")
    other = "/opt/keyveto-authorized-keys"
    image.run("enable", "--guard", status=0)
    lines = image.read(DROP_IN)
    image.write(DROP_IN, lines.replace(GUARD, other))
    says(image, 2, f"{other}: No such file")
    contains(image.run("status").stdout, f"every login by key is refused: {other}: No such file")
    image.write(DROP_IN, f"Match User alice\n{lines}".replace(GUARD, other))
    says(image, 2, f"{other}: No such file", "3 accounts can be entered with a key that nothing judges: root")
    contains(image.run("status").stdout, f"every login by key that keyveto guards is refused: {other}: No such file")
    image.write(DROP_IN, lines)
    image.run("disable", status=0)
    image.run("enable", "--pam", status=0)
    image.write("/etc/pam.d/sshd", image.read("/etc/pam.d/sshd").replace("pam_keyveto.so", "/opt/pam_keyveto.so"))
    says(image, 2, "/opt/pam_keyveto.so: No such file")


def test_a_match_blocks_pam_service_counts(scratch):
    """PAMServiceName is a keyword of later versions."""
    image = Image(scratch)
    image.account("alice")
    image.account("bob")
    image.write("/etc/pam.d/other", STOCK_STACK)
    image.run("enable", "--pam", status=0)
    # 9.2 lacks the keyword. This sshd reads its file without it, and adds it to its answer.
    odd = scratch / "odd"
    odd.write_text(f"""#!/bin/sh
case "$*" in *user=bob,*) echo pamservicename other;; *-T*) echo pamservicename sshd;; esac
sed /PAMServiceName/d {TOP} >{scratch}/without
exec unshare --mount sh -c 'mount --bind {scratch}/without {TOP} && exec {SSHD} "$@"' sh "$@"
""", encoding="ascii")
    odd.chmod(0o755)
    image.run("status", status=0)
    image.write(TOP, image.read(TOP) + "Match User bob\nPAMServiceName other\n")
    rows = json.loads(image.run("status", "--json", "--sshd", odd, "--sshd-config", TOP, status=1).stdout)["ways"]
    equal({tuple(row["accounts"]): row["pam"] for row in rows if row["way"] == "authorized_keys"},
          {("root", "nobody", "sshd", "alice"): True, ("bob",): False})


# --- keyveto.conf -------------------------------------------------------------------------------------------------

GOOD_LINES = ("OnHit warn", "onhit DENY", "OnError=allow", "# OnHitt", "", "AllowKey " + FINGERPRINT,
              f"AllowKey {FINGERPRINT} until=2030-12-31 some \"words # here\"", f"Filter {FILTER}",
              "StrictModes no", "Message \"a \\\" b\"", "SyslogFacility LOCAL7", "AuthorizedKeysFile none",
              "AuthorizedKeysFile .ssh/%u /etc/%%", "OnUnsupported deny\r")


def config_findings(status):
    """What the check of keyveto.conf finds."""
    return [one["found"] for one in json.loads(keyveto("status", "--json", status=status).stdout)["checks"]
            if one["check"] in ("config", "exceptions", "filter", "policy") and one["status"] != "ok"]


@pytest.fixture(name="guarded")
def fixture_guarded(scratch, host_keys):
    """A keyveto.conf that the guard reads, in sshd_config too."""
    kept = Path(TOP).read_bytes()
    Path(TOP).write_text("".join(f"{line}\n" for line in GUARDED), encoding="ascii")
    yield World(scratch)
    Path(TOP).write_bytes(kept)


def test_every_mistake_is_named_by_its_line(guarded):
    """The guard refuses exactly the texts in which status finds a mistake."""
    rnd = random.Random(1)
    seen = {True: 0, False: 0}
    for _ in range(100):
        lines = [rnd.choice(BAD_LINES if rnd.random() < 0.1 else GOOD_LINES) for _ in range(rnd.randrange(8))]
        wrong = [number for number, line in enumerate(lines, 1) if line in BAD_LINES]
        # The first OnError counts. With deny, the guard's exit status shows whether it had a verdict.
        guarded.write("\n".join(["OnError deny", *lines]).encode("utf-8") + rnd.choice((b"", b"\n")))
        found = config_findings(None)
        named = [int(one[1]) for one in (re.match(rf"{CONFIG}:(\d+): (?!this )", text) for text in found) if one]
        equal(named, [number + 1 for number in wrong], f"{lines}\n{found}")
        equal(keyveto("status").returncode == 2, bool(wrong), f"{lines}\n{found}")
        verdict = attempt(GUARD, "--config", CONFIG, "--user", "root", "--home", guarded.home, "--type",
                          guarded.clean.type, "--key", guarded.clean.blob, text=False)
        equal(verdict.returncode, 1 if wrong else 0, f"the guard says otherwise of {lines}")
        seen[bool(wrong)] += 1
    assert min(seen.values()) > 20, seen


def test_a_file_that_a_login_does_not_read_is_named(guarded):
    for spoil in (lambda: CONFIG.chmod(0o666), lambda: os.chown(CONFIG, NOBODY, NOBODY), lambda: FOLDER.chmod(0o777)):
        guarded.write("OnError allow\n")
        os.chown(CONFIG, 0, 0)
        FOLDER.chmod(0o755)
        config_findings(1)
        spoil()
        contains(config_findings(2)[0], str(FOLDER))
        assert not guarded.lets_in(guarded.clean)


def test_a_line_without_effect_is_a_warning(guarded):
    for text, message in ((f"AllowKey {FINGERPRINT} until={day(-1)} x\n", "1 of 1 AllowKey line is past its date"),
                          ("OnHit deny\n\nonhit warn\n", f"{CONFIG}:3: this OnHit has no effect: line 1 has one"),
                          (f"Filter {FILTER}\nOnProbable warn\nOnProbable deny\n",
                           f"{CONFIG}:3: this OnProbable has no effect: line 2 has one"),
                          ("Message a b\nMessage a  c\n", f"{CONFIG}:2: this Message has no effect: line 1 has one")):
        guarded.write(text)
        contains("\n".join(config_findings(1)), message)
        assert guarded.lets_in(guarded.clean)
    for text in ("OnHit deny\nonhit DENY\n", f"AllowKey {FINGERPRINT} until={day()}\n",
                 f"AllowKey {FINGERPRINT}\n" * 2):
        guarded.write(text)
        equal(config_findings(0), [])


def test_each_user_of_the_guard_must_be_able_to_read(guarded):
    guard = f"AuthorizedKeysCommand {GUARD} --user %u --type %t --key %k -- /bin/true\n"
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    for settings, concerned in ((f"{guard}AuthorizedKeysCommandUser nobody\n", True),
                                (f"{guard}AuthorizedKeysCommandUser %u\n", True),
                                (f"Match User nobody\n{guard}AuthorizedKeysCommandUser nobody\n", True),
                                (f"{guard}AuthorizedKeysCommandUser root\n"
                                 "Match User nobody\nAuthorizedKeysCommandUser nobody\n", True),
                                (f"{guard}AuthorizedKeysCommandUser root\n", False),
                                ("AuthorizedKeysCommand /bin/true\nAuthorizedKeysCommandUser nobody\n", False)):
        Path(TOP).write_text(f"AuthorizedKeysFile none\n{settings}", encoding="utf-8")
        for path in (FILTER, CONFIG):
            path.chmod(0o600)
            done = keyveto("status", "--json")
            equal(done.returncode == 2, concerned, settings)
            if concerned:
                contains(found_by(done), f"nobody cannot read {path}: Permission denied")
                assert not guarded.lets_in(guarded.clean, **as_nobody)
            path.chmod(0o644)
