# SPDX-License-Identifier: ISC
"""keyveto enable: the rehearsal, and what enable refuses before it changes a file."""

import json
import os
import re
import shutil
import subprocess

import pytest

import keys
from program import ROOT, SSHD, attempt, contains, equal, lacks
from samples import write
from sshd_machine import (ALONE, DROP_IN, GUARD, INCLUDE, MODULE_LINE, PAM_FOLDER, STOCK_CONFIG, STOCK_STACK, TOP,
                          WITH_COMMAND, Image, clean_key, leaked_key, must_refuse, restored, this_machine)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]


def test_the_rehearsal_names_who_would_be_refused(scratch):
    """enable stops then."""
    image = Image(scratch)
    image.account("alice", clean_key())
    image.account("mallory", "# comment", leaked_key())
    image.account("bob", leaked_key(), clean_key())
    done = must_refuse(image, status=1, says=(
        "/home/mallory/.ssh/authorized_keys:2: listed: ",
        "each key would be refused of: mallory\n", "a key would be refused, and not each, of: bob\n",
        "2 accounts with a key that would be refused, 1 of them with no other", "--yes"))
    lacks(done.stdout, "alice")
    image.run("enable", "--dry-run", status=0)
    image.run("enable", "--yes", status=0)
    image.run("disable", status=0)


@pytest.mark.long
def test_a_key_that_the_policy_lets_in_stops_nothing(scratch):
    """enable counts accounts whose keys OnHit and OnProbable refuse. Only these need --yes."""
    image = Image(scratch, INCLUDE + "Match User nobody\nTrustedUserCAKeys /etc/ssh/ca.pub\n")
    image.write("/etc/ssh/ca.pub", f"{leaked_key()}\n")
    image.account("mallory", leaked_key())
    image.account("bob", leaked_key(), clean_key())
    conf = image.read("/etc/keyveto/keyveto.conf")
    for lines, stops in (("OnHit warn\n", False), ("OnProbable warn\n", False),
                         ("OnHit warn\nOnProbable deny\n", True), ("OnHit deny\nOnProbable warn\n", False)):
        image.write("/etc/keyveto/keyveto.conf", lines + conf)
        plan = json.loads(image.run("enable", "--dry-run", "--json", status=0).stdout.splitlines()[-1])["refused"]
        equal((plan["stops"], sorted((one["account"], one["locked_out"]) for one in plan["accounts"])),
              (stops, [("bob", False), ("mallory", True)] if stops else []), lines)
        if stops:
            must_refuse(image, status=1, says=("2 accounts with a key that would be refused, 1 of them with no other",
                                               "1 listed CA in", "each key would be refused of: mallory\n"))
            continue
        done = image.run("enable", status=0)
        contains(done.stdout + done.stderr, "/home/mallory/.ssh/authorized_keys:1: listed: ",
                 "1 listed CA in TrustedUserCAKeys that OnHit or OnProbable lets in")
        lacks(done.stdout + done.stderr, "would be refused", "--yes")
        # What an earlier --warn wrote is no policy: it goes.
        image.run("enable", "--warn", status=0)
        image.run("enable", status=0)
        image.run("disable", status=0)
    # A list refuses the key for certain, although the filter has it, too.
    image.write("/var/lib/keyveto/own.dat", keys.write_blocklist(scratch / "own", [leaked_key()]).read_bytes())
    image.write("/etc/keyveto/keyveto.conf", "Filter /var/lib/keyveto/filter.pkbf\nBlocklist /var/lib/keyveto/own.dat\n"
                "OnProbable warn\n")
    image.run("enable", "--warn", status=0)
    done = image.run("enable", status=1)
    contains(done.stdout, "a key would be refused, and not each, of: bob\n",
             "each key would be refused of: mallory\n")


def test_enable_says_that_certificates_cannot_be_judged_beforehand(scratch):
    said = "note: root or an administrator may come in by a certificate"
    ways = (("", "TrustedUserCAKeys /etc/ssh/ca.pub\n"), ("/root", ""), ("/root", None))
    for number, (home, line) in enumerate(ways):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number), INCLUDE + (line or ""))
        image.write("/etc/ssh/ca.pub", f"{clean_key()}\n")
        if home:
            image.write("/root/.ssh/authorized_keys", f"{'cert-authority ' if line is not None else ''}{clean_key()}\n")
        done = image.run("enable", "--dry-run", status=0)
        equal(done.stderr.count(said), 1 if line is not None else 0, done.stderr)


def test_a_key_that_onunsupported_refuses_stops_enable(scratch):
    image = Image(scratch)
    image.account("alice", clean_key(), "ssh-of-tomorrow AAAAD3NzaC1vZi10b21vcnJvdw== later")
    conf = image.read("/etc/keyveto/keyveto.conf")
    image.run("enable", status=0)
    image.run("disable", status=0)
    image.write("/etc/keyveto/keyveto.conf", "OnUnsupported deny\n" + conf)
    must_refuse(image, status=1, says=("a key would be refused, and not each, of: alice\n", "--yes"))
    image.run("enable", "--yes", status=0)


# What refuses a key besides keyveto, or seems to: lines of sshd_config, or options of the key.
BESIDES = ('expiry-time="20200101"', 'from="192.0.2.1"', 'command="/bin/false"', "RevokedKeys /dev/null",
           "DenyUsers kvt-gone", "AllowUsers root", "DenyGroups kvt-gone", "PubkeyAuthentication no",
           "Match Address 192.0.2.0/24\nDenyUsers kvt-gone")


@pytest.mark.parametrize("how", BESIDES, ids=lambda how: re.sub(r"\W+", "-", how))
def test_no_other_refusal_of_sshd_is_taken_for_granted(scratch, how):
    """enable stops for a listed key, whatever else stands against it."""
    image = Image(scratch, INCLUDE + (f"{how}\n" if how[0].isupper() else ""))
    image.account("kvt-gone", f"{'' if how[0].isupper() else how} {leaked_key()}")
    must_refuse(image, status=1, says=("each key would be refused of: kvt-gone\n", "--yes"))
    plan = json.loads(image.run("enable", "--dry-run", "--json", status=0).stdout.splitlines()[-1])["refused"]
    equal((plan["stops"], plan["accounts"]), (True, [{"account": "kvt-gone", "locked_out": True}]))


# Lines that sshd ignores, and a link to nothing: what enable cannot judge, and what puts nobody out.
KEYLESS = {"junk": "junk", "cut": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILis", "link": None}


def keyless(image, name, how):
    home = image.account(name, clean_key(), *([KEYLESS[how]] if KEYLESS[how] else []))
    if how == "link":
        (home / ".ssh/authorized_keys").unlink()
        (home / ".ssh/authorized_keys").symlink_to("nothing")


def test_what_lets_nobody_in_stops_enable_for_administrators_alone(scratch):
    image = Image(scratch)
    for name, how in (("alice", "junk"), ("bob", "cut"), ("mallory", "link")):
        keyless(image, name, how)
    done = image.run("enable", status=0)
    contains(done.stdout, "could not all be judged: alice bob mallory\n")
    contains(done.stderr, "alice/.ssh/authorized_keys:2: ", "symbolic link to nothing")
    lacks(done.stderr, "there may be more")
    image.run("disable", status=0)
    # There may be keys in what could not be read.
    image.account("zoe")
    image.path("/home/zoe/.ssh/authorized_keys").unlink()
    image.path("/home/zoe/.ssh/authorized_keys").mkdir()
    must_refuse(image, status=1, says=("could not all be judged: alice bob mallory zoe\n", "there may be more"))


@pytest.mark.parametrize("how", KEYLESS)
def test_an_account_that_cannot_be_judged_does_not_count_as_clean(scratch, how):
    image = Image(scratch)
    keyless(image, "alice", how)
    image.write("/etc/group", image.read("/etc/group") + "sudo:x:27:alice\n")
    done = must_refuse(image, status=1, says=("could not all be judged: alice\n", "--yes"))
    lacks(done.stdout, "refused")
    image.run("enable", "--dry-run", status=0)
    for option in ("--warn", "--yes"):
        image.run("enable", option, status=0)
        image.run("disable", status=0)


def test_if_sshd_gives_no_answer_no_account_counts_as_clean(scratch):
    image = Image(scratch, INCLUDE + "Match User *\nX11Forwarding no\nMatch Group nogroup\nAuthorizedKeysFile .ssh/a\n")
    odd = write(scratch / "odd",
                f'#!/bin/sh\ncase "$*" in *user=nobody,*) echo gone; exit 255;; esac\nexec {SSHD} "$@"\n', mode=0o755)
    must_refuse(image, "--sshd", odd, status=1, says=("gone", "--yes"))


def test_a_listed_ca_stops_the_rehearsal(scratch):
    """All its certificates would be refused."""
    image = Image(scratch, INCLUDE + "Match User nobody\nTrustedUserCAKeys /etc/ssh/ca.pub\n")
    image.write("/etc/ssh/ca.pub", f"{clean_key()}\n")
    image.run("enable", "--dry-run", status=0)
    image.write("/etc/ssh/ca.pub", f"{clean_key()}\n{leaked_key()}\n")
    must_refuse(image, status=1, says=("/etc/ssh/ca.pub:2: listed: ", "1 listed CA in TrustedUserCAKeys", "--yes"))
    image.run("enable", "--yes", status=0)


def test_warn_goes_on_although_an_account_has_a_listed_key(scratch):
    """Without --warn, enable enforces if no account has a listed key."""
    image = Image(scratch)
    image.account("mallory", leaked_key())
    snapshot = image.snapshot()
    image.run("enable", "--warn", status=0)
    contains(image.read("/etc/keyveto/keyveto.conf"),
             "\nOnHit warn\nOnProbable warn\nOnError allow\nOnUnsupported allow\n")
    contains(image.run("status", status=1).stdout, "OnHit warn: a listed key is let in")
    contains(image.run("enable", status=1).stderr,
             "nothing was changed, and listed keys are still let in (OnHit warn): have those keys replaced first, or ")
    contains(image.read("/etc/keyveto/keyveto.conf"), "\nOnHit warn\n")
    image.path("/home/mallory/.ssh/authorized_keys").write_text(f"{clean_key()}\n", encoding="ascii")
    image.run("enable", status=0)
    lacks(re.sub("^#.*", "", image.read("/etc/keyveto/keyveto.conf"), flags=re.MULTILINE), "OnHit")
    image.run("status", status=0)
    image.way_back(snapshot)
    # Without a rehearsal that goes on, nobody is told so.
    image.path("/home/mallory/.ssh/authorized_keys").write_text(f"{leaked_key()}\n", encoding="ascii")
    lacks(image.run("enable", status=1).stderr, "still let in")


def test_enable_says_what_becomes_of_listed_keys(scratch):
    image = Image(scratch)
    refused, put = "listed keys are refused from the next login on\n", ("guard: lines put into ", "PAM: a line put ")
    lacks(image.run("enable", "--dry-run", status=0).stdout, "listed keys are")
    contains(image.run("enable", status=0).stdout, refused, *put)
    again = image.run("enable", status=0).stdout
    contains(again, refused)
    lacks(again, "put into")
    contains(image.run("enable", "--warn", status=0).stdout,
             "listed keys are logged from the next login on, and refused by: keyveto enable\n")
    image.run("disable", status=0)
    contains(image.run("enable", "--guard", status=0).stdout, "listed keys are refused once sshd is reloaded\n")
    image.run("disable", status=0)
    image.write(CONF, "OnHit warn\n" + image.read(CONF))
    lacks(image.run("enable", status=0).stdout, "listed keys are")


CONF = "/etc/keyveto/keyveto.conf"
BY_HAND = f"AuthorizedKeysFile none\nAuthorizedKeysCommand {GUARD}{{}} --user %u --home %h --type %t --key %k\n" \
          "AuthorizedKeysCommandUser root\n"
BEFORE_PRINCIPALS = f"AuthorizedPrincipalsCommand {GUARD} --user %u --type %t --key %k -- /usr/bin/printf %u\n" \
                    "AuthorizedPrincipalsCommandUser nobody\n"
OF_OTHER = "session required pam_permit.so\naccount required pam_keyveto.so{}\n"
DROPPED_IN = "/etc/ssh/sshd_config.d/50-site.conf"
# Guards and modules that somebody wrote by hand and that read keyveto.conf: the lines of each file, and the place that
# enable --warn names.
STRICT_BY_HAND = {
    "guard": ({TOP: INCLUDE + BY_HAND.format("")}, f"{TOP}:4"),
    "guard-that-names-the-file": ({TOP: INCLUDE + BY_HAND.format(f" --config {CONF}")}, f"{TOP}:4"),
    "guard-that-names-a-link": ({TOP: INCLUDE + BY_HAND.format(" --config /etc/keyveto/link.conf")}, f"{TOP}:4"),
    "guard-in-a-drop-in": ({DROPPED_IN: BY_HAND.format("")}, f"{DROPPED_IN}:2"),
    "guard-in-a-match-block": ({TOP: INCLUDE + "Match User bob\n" + BY_HAND.format("")}, f"{TOP}:5"),
    "guard-before-principals": ({TOP: INCLUDE + BEFORE_PRINCIPALS}, f"{TOP}:3"),
    "module": ({"/etc/pam.d/sshd": f"{MODULE_LINE}\n{STOCK_STACK}"}, "/etc/pam.d/sshd:1"),
    "module-of-another-service": ({"/etc/pam.d/sshd2": OF_OTHER.format("")}, "/etc/pam.d/sshd2:2"),
}
REFUSE = ("", "OnHit warn\n", "OnHit warn\nOnProbable deny\nOnError allow\n", "OnProbable warn\n",
          "OnHit warn\nOnError allow\nOnUnsupported deny\n")
LET_IN = "OnHit warn\nOnError allow\n"


def image_by_hand(scratch, files):
    image = Image(scratch, files=files, config=files.get(TOP, INCLUDE))
    image.path("/etc/keyveto/link.conf").symlink_to("keyveto.conf")
    return image


@pytest.mark.sample(4)
@pytest.mark.parametrize("how", STRICT_BY_HAND)
def test_warn_refuses_where_what_was_put_in_by_hand_would_let_in_more(scratch, how):
    """Nothing changes. A keyveto.conf that refuses nobody already is no reason."""
    files, place = STRICT_BY_HAND[how]
    image = image_by_hand(scratch, files)
    shipped = image.read(CONF)
    for lines in REFUSE:
        image.write(CONF, shipped + lines)
        for options in ((), ("--dry-run",), ("--yes",)):
            done = must_refuse(image, "--warn", *options, says=(
                f"{place}: this line is not one of keyveto's, and its ",
                f" goes by {CONF}: with --warn, it would let in keys that it refuses now",
                "nothing was changed. Leave out --warn: "))
            equal(done.stderr.count("it would let in keys that it refuses now"), 1, done.stderr)
    image.write(CONF, shipped + LET_IN)
    snapshot = image.snapshot()
    image.run("enable", "--warn", status=0)
    lacks(image.run("enable", "--warn", status=0).stderr, "this line is not one of keyveto's, and")
    image.way_back(snapshot)


@pytest.mark.long
def test_warn_goes_on_where_what_was_put_in_by_hand_reads_another_file(scratch):
    """So do enable and enable --warn over keyveto's own lines, in either order."""
    with this_machine(scratch, config=INCLUDE, files={
            "/etc/keyveto/mine.conf": (ROOT / "etc/keyveto.conf").read_text(encoding="utf-8"),
            "/etc/pam.d/sshd2": OF_OTHER.format(" config=/etc/keyveto/mine.conf")}) as machine:
        for by_hand in (BY_HAND.format(" --config /etc/keyveto/mine.conf"), ""):
            machine.write(TOP, INCLUDE + by_hand)
            snapshot = machine.snapshot()
            for options in (("--warn",), ("--warn",), (), ("--warn",)):
                machine.run("enable", *options, status=0)
                equal("\nOnHit warn\nOnProbable warn\n" in machine.read(CONF), bool(options))
            machine.way_back(snapshot)


def test_warn_goes_on_where_its_lines_are_in_keyveto_conf_already(scratch):
    """The guard by hand came later. It goes by the lines of --warn from the beginning."""
    image = image_by_hand(scratch, {})
    image.run("enable", "--warn", status=0)
    image.write(DROPPED_IN, "Match User bob\n" + BY_HAND.format(""))
    image.run("enable", "--warn", status=0)
    # Lines of --warn as they were before they named OnProbable.
    image.write(CONF, image.read(CONF).replace("OnProbable warn\n", "") + "OnProbable deny\n")
    must_refuse(image, "--warn", says=(f"{DROPPED_IN}:3: this line is not one of keyveto's",))


@pytest.mark.parametrize("how", ["guard", "guard-before-principals", "module", "module-of-another-service"])
def test_the_advice_of_warn_keeps_what_was_put_in_by_hand(scratch, how):
    """The words of the message, typed as they stand, give the line a keyveto.conf of its own."""
    files, _ = STRICT_BY_HAND[how]
    image = image_by_hand(scratch, files)
    advice = must_refuse(image, "--warn").stderr
    copy = re.search(r": (cp -pi \S+ \S+); write (--config \S+) behind (\S+), or (config=\S+) behind (\S+);", advice)
    subprocess.run(image.inside(*copy[1].split()), check=True, stdin=subprocess.DEVNULL)
    for path in files:
        image.write(path, re.sub("(keyveto-authorized-keys|pam_keyveto.so)", lambda found: f"{found[0]} " + {
            copy[3]: copy[2], copy[5]: copy[4]}[found[0]], image.read(path)))
    own = copy[2].split()[1]
    equal(image.read(own), image.read(CONF))
    image.must_start()
    snapshot = image.snapshot()
    image.run("enable", "--warn", status=0)
    lacks(image.read(own), "\nOnHit warn\n")
    image.way_back(snapshot)


def test_the_rehearsal_reads_the_files_that_sshd_would(scratch):
    """A key that AllowKey names is not refused."""
    image = Image(scratch, INCLUDE + "AuthorizedKeysFile /etc/ssh/keys/%u\n")
    image.account("mallory", leaked_key(), where="/etc/ssh/keys/mallory")
    image.path("/etc/ssh/keys/mallory").chmod(0o644)
    os.chown(image.path("/etc/ssh/keys"), 0, 0)
    image.path("/etc/ssh/keys").chmod(0o755)
    must_refuse(image, status=1, says=("/etc/ssh/keys/mallory:1: listed: ", ": mallory\n"))
    image.write("/etc/keyveto/keyveto.conf", f"AllowKey {leaked_key().fingerprint} for now\n")
    image.run("enable", status=0)
    image.run("disable", status=0)


FILTER = "/var/lib/keyveto/filter.pkbf"
# What is done to the image, and what enable says of it.
HINDRANCES = {
    "broken_guard": (lambda image: image.path(GUARD).unlink(), f"{GUARD}: No such file"),
    "loose_guard": (lambda image: image.path(GUARD).chmod(0o775), GUARD),
    "loose_folder": (lambda image: image.path(GUARD).parent.chmod(0o777), "/usr/libexec"),
    "no_module": (lambda image: image.path(PAM_FOLDER / "pam_keyveto.so").unlink(), "pam_keyveto.so: No such file"),
    "no_filter": (lambda image: image.path(FILTER).unlink(), "filter.pkbf: No such file"),
    "loose_filter": (lambda image: image.path(FILTER).chmod(0o666), "filter.pkbf"),
    "short_filter": (lambda image: image.path(FILTER).write_bytes(b"pkbf"), "filter.pkbf"),
    "bad_config": (lambda image: image.write(CONF, "OnHit perhaps\n"), f"{CONF}:1:"),
    "bad_stack": (lambda image: image.write("/etc/pam.d/sshd", "session whatever pam_unix.so\n"), "/etc/pam.d/sshd:1:"),
    "bad_sshd_config": (lambda image: image.write(TOP, INCLUDE + "NoSuchKeyword yes\n"),
                        f"{TOP}: line 3: Bad configuration option"),
    "mark_without_end": (lambda image: image.write(TOP, INCLUDE + "# BEGIN keyveto\nPort 22\n"),
                         f"{TOP}:3: a mark of keyveto's without the other"),
}


@pytest.mark.parametrize("prepare, says", HINDRANCES.values(), ids=HINDRANCES)
def test_enable_does_nothing_with(scratch, prepare, says):
    image = Image(scratch)
    prepare(image)
    must_refuse(image, says=(says,))


def test_enable_does_nothing_where_the_guard_cannot_take_over(scratch):
    for number, (config, options, says) in enumerate((
            (INCLUDE + WITH_COMMAND, ("--guard",), "only the PAM module sees both"),
            (INCLUDE.replace("yes", "no") + WITH_COMMAND, (), "With UsePAM yes it can; read first what else"),
            (INCLUDE.replace("yes", "no"), ("--pam",), "UsePAM is no"),
            (INCLUDE.replace("yes", "no") + "TrustedUserCAKeys /etc/ssh/ca\n", (), "TrustedUserCAKeys is set"),
            (INCLUDE + "TrustedUserCAKeys /etc/ssh/ca\n", ("--guard", "--yes"), "use --pam, or leave out --guard"),
            (INCLUDE + "Match User daemon\nTrustedUserCAKeys /etc/ssh/ca\n", ("--guard", "--pam", "--yes"),
             "TrustedUserCAKeys is set"),
            (INCLUDE + 'AuthorizedKeysFile ".ssh/my keys"\n', ("--guard",), "a file with a blank"),
            (INCLUDE + "Include ~/.ssh/more\n", (), "sshd_config:3: Include ~/.ssh/more: not an absolute path"),
            (INCLUDE + "AuthorizedKeysFile .ssh/my\\ keys\n", ("--guard", "--pam"), "a file with a blank"),
            (INCLUDE + 'AuthorizedKeysFile ".ssh/a" "#b"\n', ("--guard",), "a file with a blank"),
            (INCLUDE + f"Match User a\nAuthorizedKeysFile .ssh/a\nMatch User b\n{WITH_COMMAND}", ("--guard",),
             "this Match block and another one set one of"),
            (INCLUDE + WITH_COMMAND.replace("nobody", "no-such-user"), (), "no-such-user: there is none"))):
        (scratch / str(number)).mkdir()
        must_refuse(Image(scratch / str(number), config), *options, says=(says,))


SUFFICIENT = "session sufficient pam_succeed_if.so quiet user = alice\n"
WITHOUT_SESSION = "@include common-auth\n@include common-account\n"
# sshd's PAM stack, and the reason that enable gives.
UNDECIDED = (
    (SUFFICIENT, "no session line is sure to decide"),
    ("session optional pam_permit.so\n", "no session line is sure to decide"),
    ("session required pam_loginuid.so\n", "no session line is sure to decide"),
    ("session substack common-session\n", "no session line is sure to decide"),
    ("session [success=1 default=ignore] pam_env.so\nsession required pam_permit.so\n", "no session line is sure to"),
    (WITHOUT_SESSION, "has no session line, so that PAM opens sessions by /etc/pam.d/other"),
    (None, "not there, so that PAM opens sessions by /etc/pam.d/other"),
)


@pytest.mark.long
def test_the_module_is_not_added_to_a_stack_that_its_line_would_decide(scratch):
    """PAM would then let in somebody whom the stack refuses."""
    for number, (stack, says) in enumerate(UNDECIDED):
        (scratch / str(number)).mkdir()
        image = Image(scratch / str(number))
        if stack is None:
            image.path("/etc/pam.d/sshd").unlink()
        else:
            image.write("/etc/pam.d/sshd", stack)
        snapshot = image.snapshot()
        must_refuse(image, "--pam", says=(says, "/etc/pam.d/sshd", "nothing was changed"))
        must_refuse(image, "--pam", "--guard", says=(says,))
        # Without --pam, the guard is enabled alone.
        contains(image.run("enable", status=0).stderr, "note: the PAM module is left out: ", says)
        lacks(image.run("enable", "--guard", status=0).stderr, says)
        equal(image.path("/etc/pam.d/sshd").exists() and image.read("/etc/pam.d/sshd"), stack or False)
        contains(image.read(DROP_IN), "AuthorizedKeysCommand")
        image.way_back(snapshot)
        # If the guard is unfit, too, enable refuses.
        image.write(TOP, INCLUDE + "TrustedUserCAKeys /etc/ssh/ca.pub\n")
        must_refuse(image, says=("TrustedUserCAKeys is set", "nor can the PAM module: ", says))
        image.write(TOP, INCLUDE + "AuthorizedKeysFile none\n")
        must_refuse(image, says=(says, "nothing was changed"))


def test_the_advised_session_line_makes_a_stack_for_the_module(scratch):
    """The stack had no session lines. With the line that enable advises, enable works."""
    image = Image(scratch)
    image.write("/etc/pam.d/sshd", WITHOUT_SESSION + "session include other\n")
    image.run("enable", "--pam", status=0)
    equal(image.first_session_line(), MODULE_LINE + ALONE)


def test_a_module_in_a_stack_that_its_line_decides_is_reported(scratch):
    """The next enable removes the line."""
    image = Image(scratch)
    image.run("enable", status=0)
    lacks(image.run("status", status=0).stdout, "decides the stack")
    image.write("/etc/pam.d/sshd", image.read("/etc/pam.d/sshd").replace(STOCK_STACK, SUFFICIENT))
    contains(image.run("status", status=1).stdout, "/etc/pam.d/sshd:2: this line decides the stack")
    must_refuse(image, "--pam", says=("no session line is sure to decide",))
    contains(image.run("enable", status=0).stderr, "the PAM module is left out")
    equal(image.read("/etc/pam.d/sshd"), SUFFICIENT)
    image.run("status", status=0)


def test_the_keyveto_conf_that_a_guard_by_hand_names_says_where_the_keys_are(scratch):
    own = "/etc/keyveto/by-hand.conf"
    image = Image(scratch, INCLUDE + BY_HAND.format(f" --config {own}"))
    image.account("mallory", leaked_key(), where=".ssh/mine")
    image.write(own, "AuthorizedKeysFile .ssh/mine\n")
    must_refuse(image, status=1, says=("/home/mallory/.ssh/mine:1: listed: ", ": mallory\n"))
    image.path(own).unlink()
    must_refuse(image, status=1, says=(f"{own}: No such file", "not everything could be judged"))


def test_a_filter_that_the_commands_user_cannot_read_is_refused(scratch):
    """The user is that of a chained command."""
    image = Image(scratch, INCLUDE + "AuthorizedKeysFile none\n" + WITH_COMMAND)
    image.path("/var/lib/keyveto/filter.pkbf").chmod(0o600)
    must_refuse(image, says=("filter.pkbf", "read as nobody"))
    image.path("/var/lib/keyveto/filter.pkbf").chmod(0o644)
    image.run("enable", status=0)


def test_an_sshd_that_is_not_there_is_named(scratch):
    for verb in ("enable", "status"):
        done = Image(scratch / verb).run(verb, "--sshd", "/no/sshd", status=2)
        contains(done.stdout + done.stderr, "/no/sshd: No such file")


def test_only_root_may_enable_and_options_are_checked(scratch):
    image = Image(scratch)
    for words in (("status", "--reload"), ("status", "--yes"), ("disable", "--guard"), ("enable", "thing"),
                  ("enable", "--sshd", "sshd"), ("enable", "--timeout", "0"), ("sing",), ()):
        image.run(*words, status=2)
    done = attempt("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                   shutil.copy(os.environ.get("KEYVETO", ROOT / "build/keyveto"), "/usr/bin/keyveto"), "sshd", "status")
    os.unlink("/usr/bin/keyveto")
    equal(done.returncode, 2)
    contains(done.stdout, "sshd was not asked", "only root")


def test_a_nis_line_in_etc_passwd_is_not_an_account(scratch):
    image = Image(scratch, STOCK_CONFIG)
    image.write("/etc/passwd", image.read("/etc/passwd") + "-guest::::::\n+::::::\n")
    lacks(image.run("enable", "--dry-run", status=0).stderr, "+", "-guest")
    image.run("enable", status=0)
    image.run("status", status=0)


@pytest.mark.parametrize("home", ("srv/app", "x", "~", "."))
def test_an_account_whose_home_is_no_absolute_path_stops_nothing(scratch, home):
    """sshd takes its home from /, from wherever enable is called. Its shell lets nobody in."""
    image = Image(scratch, INCLUDE)
    image.write("/etc/passwd", image.read("/etc/passwd") + f"app:x:20001:20001::{home}:/usr/sbin/nologin\n")
    where = image.path(f"/{home}/.ssh/authorized_keys")
    image.over.append(os.path.normpath(f"/{home}/.ssh"))

    def authorize(key):
        image.write(where.relative_to(image.root), f"{key}\n", 0o600)
        for path in (where, where.parent):
            os.chown(path, 20001, 20001)
    authorize(clean_key())
    snapshot = image.snapshot()
    image.run("enable", status=0, cwd=scratch)
    image.run("status", status=0, cwd=scratch)
    image.run("disable", status=0, cwd=scratch)
    restored(snapshot, image.snapshot())
    authorize(leaked_key())
    for folder in (scratch, "/"):
        contains(image.run("enable", status=1, cwd=folder).stdout, "/.ssh/authorized_keys:1: listed: ", " app\n")
