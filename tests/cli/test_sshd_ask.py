# SPDX-License-Identifier: ISC
"""keyveto sshd: the questions to sshd -T, and when sshd is not asked."""

import os
import re
import subprocess

import pytest

from program import ROOT, SSHD, contains, equal, lacks
from runs import tool
from samples import write
from sshd_machine import (DEFAULT_FILES, FILES_COMMAND, HOST_KEY, INCLUDE, Image, by_files, clean_key, must_refuse,
                          restored, this_machine, wrapper)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]


def test_with_match_localport_sshd_is_asked_with_a_port_of_no_block(scratch):
    far = "".join(f"Match LocalPort {port}\nAuthorizedKeysFile .ssh/far\n" for port in (65534, 65535, 22))
    image = Image(scratch, INCLUDE + far)
    image.account("alice", clean_key())
    image.run("status", status=1)
    image.run("enable", "--guard", status=0)
    equal(image.settings()["authorizedkeyscommand"], by_files(DEFAULT_FILES))
    image.run("disable", status=0)
    with this_machine(scratch, config=INCLUDE + far) as machine:
        before = machine.snapshot()
        machine.run("status", status=1)
        machine.run("enable", "--pam", status=0)
        machine.run("status", status=0)
        machine.run("disable", status=0)
        restored(before, machine.snapshot())


def test_an_accounts_name_with_a_comma_is_not_asked_about(scratch):
    """A message names the account."""
    image = Image(scratch, INCLUDE + "Match User *b\nAuthorizedKeysFile .ssh/b\n")
    image.account("a,b", clean_key())
    contains(must_refuse(image, status=1).stderr, "a,b: sshd cannot be asked about a name with a comma")


def other_sshd(scratch, config):
    """An sshd that was built for another prefix: without -f it reads another file."""
    path = write(scratch / "other-sshd",
                 f'#!/bin/sh\ncase " $* " in *" -f "*) exec {SSHD} "$@";; esac\nexec {SSHD} -f {config} "$@"\n',
                 mode=0o755)
    return path


def test_an_sshd_that_reads_another_file_is_refused(scratch):
    """The usual file is /etc/ssh/sshd_config."""
    config = scratch / "sshd_config"
    with this_machine(scratch, config=INCLUDE) as machine:
        config.write_text(INCLUDE, encoding="ascii")    # today its content is the same
        other = other_sshd(scratch, config)
        before = machine.snapshot()
        contains(machine.run("enable", "--sshd", other, status=2).stderr, f"{other} reads {config}",
                 "put keyveto in by hand there")
        silent = wrapper(scratch, f'case " $* " in *" -dd "*) {SSHD} "$@" 2>/dev/null; exit;; esac')
        contains(machine.run("enable", "--sshd", silent, status=2).stderr, "does not tell (sshd -dd -T)")
        restored(before, machine.snapshot())
        config.unlink()
        config.symlink_to("/etc/ssh/sshd_config")       # another name for the same file
        lacks(machine.run("status", "--sshd", other).stdout, "Match blocks cannot be seen")


def test_a_hostkey_that_would_hold_sshd_up_is_named(scratch):
    """sshd is not asked then."""
    os.mkfifo(scratch / "fifo")
    os.mkfifo(scratch / "half.pub")
    for number, name in enumerate(("fifo", "half")):
        line = f"HostKey {scratch}/{name}"
        image = Image(scratch / str(number), INCLUDE,
                      files={"/etc/ssh/sshd_config.d/50-keys.conf": f"# keys\n{line}\n"})
        for verb in ("status", "enable"):
            done = image.run(verb, status=2)
            contains(" ".join((done.stdout + done.stderr).split()),
                     f"/etc/ssh/sshd_config.d/50-keys.conf:2: {line}", "is a FIFO or a device")
            assert done.seconds < 9, f"{done.seconds} seconds"
        with this_machine(scratch / str(number), config=f"{line}\n{INCLUDE}") as machine:
            for verb in ("status", "enable"):
                done = machine.run(verb, status=2)
                contains(" ".join((done.stdout + done.stderr).split()), f"/etc/ssh/sshd_config:1: {line}")


def test_a_machine_without_host_keys_can_be_asked_about(scratch):
    image = Image(scratch)
    image.path(HOST_KEY).unlink()
    image.run("enable", "--pam", status=0)
    contains(image.run("status", status=2).stdout, "no hostkeys available")     # it would not start


@pytest.mark.long
def test_an_sshd_that_does_not_answer_is_not_asked_again(scratch):
    """sshd hangs for each of forty accounts. It is asked for a few of them at most."""
    image = Image(scratch, INCLUDE + "".join(f"Match User u{n}\nAuthorizedKeysFile .ssh/{n}\n" for n in range(40)))
    for number in range(40):
        image.account(f"u{number}", clean_key())
    for verb, status in (("status", 2), ("enable", 1)):
        sshd = wrapper(scratch, f'case "$*" in *user=u[0-9]*) echo >>{scratch}/hung; exec sleep 1000;; esac')
        (scratch / "hung").write_text("", encoding="ascii")
        done = image.run(verb, "--sshd", sshd, status=status)
        contains(" ".join((done.stdout + done.stderr).split()), "no answer within 10 seconds")
        assert len((scratch / "hung").read_text(encoding="ascii")) <= 16, "sshd was asked again and again"


MIXED = {name.lower(): name for name in """AuthorizedKeysFile AuthorizedKeysCommand AuthorizedKeysCommandUser
AuthorizedPrincipalsCommand AuthorizedPrincipalsCommandUser AuthorizedPrincipalsFile HostKey TrustedUserCAKeys UsePAM
StrictModes ListenAddress Port PubkeyAuthentication HostbasedAuthentication""".split()}


def mixed_case_sshd(folder):
    """An sshd that prints keywords in mixed case, as OpenSSH 10.5 and later do."""
    path = folder / "sshd"
    words = ";".join(f"s/^{lower} /{name} /I" for lower, name in MIXED.items())
    path.write_text(f'#!/bin/sh\nout=$({SSHD} "$@" 2>&1); status=$?\nprintf "%s\\n" "$out" | sed "{words}"\n'
                    "exit $status\n", encoding="ascii")
    path.chmod(0o755)
    return path


def test_keywords_in_mixed_case_are_understood(scratch):
    with this_machine(scratch, config=INCLUDE + "Port 2222\nAuthorizedKeysFile .ssh/mine\n") as machine:
        before = machine.snapshot()
        sshd = mixed_case_sshd(scratch)
        contains(subprocess.run([sshd, "-T"], capture_output=True, text=True, check=True).stdout,
                 "AuthorizedKeysFile .ssh/mine")
        machine.run("enable", "--sshd", sshd, status=0)
        equal(machine.settings()["authorizedkeyscommand"], by_files(".ssh/mine"))
        machine.run("status", "--sshd", sshd, status=0)
        machine.run("disable", "--sshd", sshd, status=0)
        restored(before, machine.snapshot())


def test_the_steps_by_hand_take_over_sshds_settings(scratch):
    """The case in which sshd prints keywords has no influence."""
    steps = dict(re.findall(r"<!-- step: (guard|validate) -->\n```sh\n(.*?)```",
                            (ROOT / "docs/by-hand.md").read_text("utf-8"), re.DOTALL))
    config = INCLUDE + ("AuthorizedKeysFile .ssh/mine\nTrustedUserCAKeys /etc/ssh/ca.pub\n"
                        "AuthorizedPrincipalsCommand /bin/echo %u\nAuthorizedPrincipalsCommandUser nobody\n"
                        "Match LocalPort 2222\nX11Forwarding no\n")
    mixed_case_sshd(scratch)
    for search in (os.environ["PATH"], f"{scratch}:{os.environ['PATH']}"):
        with this_machine(scratch / str(len(search)), config=config) as machine:
            before = {name: value for name, value in machine.settings("root").items()}
            tool("bash", "-euo", "pipefail", "-c", steps["guard"], env={**os.environ, "PATH": search})
            contains(machine.read("/etc/keyveto/keyveto.conf"), "\nAuthorizedKeysFile .ssh/mine\n")
            after = machine.settings("root")
            equal(after["authorizedkeyscommand"], FILES_COMMAND)
            for keyword in ("authorizedprincipalscommand", "authorizedprincipalscommanduser"):
                equal(after[keyword], before[keyword])
            last = steps["validate"].rstrip().splitlines()[-1]
            tool("bash", "-euo", "pipefail", "-c", last, env={**os.environ, "PATH": search})
