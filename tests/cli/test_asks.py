# SPDX-License-Identifier: ISC
"""What commands say of logins holds only where sshd asks keyveto, so they ask sshd first."""

import os
from pathlib import Path

import pytest

from config_machine import CONFIG, GUARD, NOBODY, SAMPLE, World
from program import attempt, contains, copy_programs, equal, keyveto, lacks

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

NOT_YET = "sshd does not ask keyveto yet: type keyveto enable\n"
PARTLY = "sshd does not ask keyveto on every way in: keyveto status names them\n"
DROP_IN = Path("/etc/ssh/sshd_config.d/00-asks.conf")
PAM, MODULE_LINE = Path("/etc/pam.d/sshd"), "session requisite pam_keyveto.so{}\n"
COMMAND = f"AuthorizedKeysCommand {GUARD}{{}} --user %u --home %h --type %t --key %k\nAuthorizedKeysCommandUser root\n"
GUARDED = "AuthorizedKeysFile none\n" + COMMAND
NEXT = " from the next login on"


@pytest.fixture(name="world")
def fixture_world(scratch):
    stack = PAM.read_text(encoding="utf-8")
    yield World(scratch)
    DROP_IN.unlink(missing_ok=True)
    PAM.write_text(stack, encoding="utf-8")


def commands(world, *config):
    """What deny, why, deny --remove, allow, allow --remove and config edit say."""
    key = world.clean.fingerprint
    for words in (("deny", *config, key, "x"), ("why", *config, world.clean.path), ("deny", "--remove", *config, key),
                  ("allow", "--forever", *config, key, "x"), ("allow", "--remove", *config, key)):
        yield keyveto(*words, status=0).stdout
    yield world.edit('echo "# more" >>"$1"', *config).stdout


def sentences(world, where, when):
    """The sentence of each of them."""
    key, login = world.clean.fingerprint, f"{where[:1].upper()}{where[1:]}a" if where else "A"
    return [f"{where}{key} is refused{when}\n", f"{login} login with it is refused.\n",
            f"{where}{key} is judged as any other key{when}\n", f"{where}{key} is let in{when}, for ever",
            f"{where}{key} is judged as any other key{when}\n", f"saved; {where}it counts{when}\n"]


@pytest.mark.parametrize("deployment", ("guard", "module"))
def test_before_enable_and_after_disable_no_login_is_said_to_be_refused(world, deployment):
    def disabled():
        for said, sentence in zip(commands(world), sentences(world, "once sshd asks keyveto, ", "")):
            contains(said, sentence, NOT_YET)
            lacks(said, NEXT, "A login with it is refused")

    disabled()
    if deployment == "guard":
        DROP_IN.write_text(GUARDED.format(""), encoding="ascii")
    else:
        PAM.write_text(MODULE_LINE.format("") + PAM.read_text(encoding="utf-8"), encoding="utf-8")
    for said, sentence in zip(commands(world), sentences(world, "", NEXT)):
        assert f"\n{sentence}" in f"\n{said}" or sentence.startswith("saved"), said
        contains(said, sentence)
        lacks(said, "sshd asks", "sshd does not ask")
    DROP_IN.unlink(missing_ok=True)
    PAM.write_text(PAM.read_text(encoding="utf-8").replace(MODULE_LINE.format(""), ""), encoding="utf-8")
    disabled()


@pytest.mark.parametrize("title, text, line, note", (
    ("a file beside the guard", COMMAND.format(""), "", PARTLY),
    ("a CA beside the guard", GUARDED.format("") + "TrustedUserCAKeys /etc/ssh/ca\n", "", PARTLY),
    ("the guard by another file", GUARDED.format(" --config /etc/keyveto/other.conf"), "", ""),
    ("the module by another file", "", MODULE_LINE.format(" config=/etc/keyveto/other.conf"), ""),
    ("a module that sshd does not ask", "UsePAM no\n", MODULE_LINE.format(""), NOT_YET),
    ("a module behind another line", "", "session optional pam_permit.so\n" + MODULE_LINE.format(""), NOT_YET),
    ("sshd that gives no answer", "NoSuchKeyword\n", "", ""),
    ("a stack that cannot be read", "", "@include none-of-these\n", ""),
), ids=lambda text: text if " " in text and "\n" not in text else "")
def test_what_is_between_is_said_with_a_condition(world, title, text, line, note):
    (CONFIG.with_name("other.conf")).write_text(SAMPLE, encoding="utf-8")
    DROP_IN.write_text(text, encoding="ascii")
    PAM.write_text(line + PAM.read_text(encoding="utf-8"), encoding="utf-8")
    said = keyveto("why", "--config", CONFIG, world.leaked.path, status=0).stdout
    lacks(said, "A login with it is refused")
    contains(said, f"{'Once' if note == NOT_YET else 'Where'} sshd asks keyveto, a login with it is refused.\n{note}")
    equal("sshd does not ask" in said, note != "", title)


def test_who_cannot_ask_says_where(world, scratch):
    """An ordinary user asks no sshd; and options stand in the place of what logins consult."""
    DROP_IN.write_text(GUARDED.format(""), encoding="ascii")
    contains(keyveto("why", world.leaked.path, status=0).stdout, "A login with it is refused.\n")
    contains(keyveto("why", "--filter", "/var/lib/keyveto/filter.pkbf", world.leaked.path, status=0).stdout,
             "Where sshd asks keyveto, a login with it is refused.\n")
    scratch.chmod(0o755)
    key = scratch / "leaked.pub"
    key.write_text(f"{world.leaked}\n", encoding="ascii")
    done = attempt(copy_programs(scratch), "why", key, user=NOBODY, group=NOBODY, extra_groups=[],
                   env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    contains(done.stdout, "Where sshd asks keyveto, a login with it is refused.\n")
    lacks(done.stdout, "sshd does not ask", "A login with it")
