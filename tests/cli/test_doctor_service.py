# SPDX-License-Identifier: ISC
"""keyveto status: the running sshd, its service, and syslog."""

import errno
import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from doctor_machine import (
    DEFAULTS, GUARD, GUARDED, SSHD_CONFIG, doctor, expect, expect_all_well, injected, running_sshd)
from openssh import has_service_name
from program import SSHD, contains, equal, keyveto, lacks, wait_until
from samples import write

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys", "machine")]


def test_service_names_arguments_that_bypass_the_guard(scratch):
    """The arguments are those of a running sshd."""
    contains(expect_all_well()["service"][0]["found"], "no sshd listens")
    with running_sshd(scratch):
        contains(expect_all_well()["service"][0]["found"], "1 sshd listens")
    for words, status, part in ((("-o", "AuthorizedKeysFile=.ssh/x"), "broken", "AuthorizedKeysFile=.ssh/x"),
                                (("-oAuthorizedKeysFile .ssh/x",), "broken", "AuthorizedKeysFile=.ssh/x"),
                                (("-o", "authorizedkeysfile none"), "ok", ""),
                                (("-o", "UsePAM=no"), "broken", "UsePAM=no"),
                                (("-o", "UsePAM=yes"), "ok", ""),
                                (("-o", f"AuthorizedKeysCommand={GUARD} --user %u"), "ok", ""),
                                (("-o", "AuthorizedKeysCommand=none"), "broken", "none"),
                                (("-o", "PermitTunnel=yes"), "warning", "PermitTunnel=yes"),
                                (("-4o", "UsePAM=no"), "broken", "UsePAM=no"),
                                (("-4oUsePAM=no",), "broken", "UsePAM=no"),
                                (("-4f", str(SSHD_CONFIG)), "ok", ""),
                                (("-E", f"{scratch}/-oUsePAM=no"), "ok", ""),
                                (("-o", "LogLevel=VERBOSE", "-o", "PermitTunnel yes"), "warning", "PermitTunnel")):
        with running_sshd(scratch, *words) as process:
            expect("service", status, part)
            if status != "ok":
                expect("service", status, f"process {process.pid}")


# Spellings of UsePAM=no, alone and behind an option that is empty or whose value looks like an option.
SPELLINGS = [("-o", spelling) for spelling in (
    "\tUsePAM=no", "\t\tUsePAM\tno\t", "\r\nUsePAM\nno", "UsePAM=no\f", "UsePAM = no", "=UsePAM=no", " = UsePAM no",
    'Use"PAM" no', '"" UsePAM no', 'UsePAM="no"', "UsePAM='no'", "UsePAM no # yes")] + [
    ("-o\tUsePAM=no",), ("-o=UsePAM=no",), ("-o", "", "-o", "UsePAM=no"), ("-o", "\t", "-o\tUsePAM no"),
    ("-o", "=", "-o", "UsePAM=no"), ("-o", "#", "-o", "UsePAM=no"), ("-o", "Banner=-x", "-o", "UsePAM=no"),
    ("-o", "Banner -f/none", "-o", "UsePAM=no"), ("-o", "AcceptEnv \\t\\\\ -T", "-o", "UsePAM=no")]


@pytest.mark.sample(3)
@pytest.mark.parametrize("words", SPELLINGS, ids=ascii)
def test_service_reads_an_option_as_sshd_does(scratch, words):
    """However it is spelt: sshd's title has it by strnvis(3), and without the quotes around it."""
    asked = subprocess.run([SSHD, "-T", *words], capture_output=True, text=True, check=False)
    assert "usepam no" in asked.stdout.lower().splitlines(), asked
    with running_sshd(scratch, *words) as process:
        expect("service", "broken", f"process {process.pid}: -o UsePAM=no", "bypasses keyveto")
        contains(keyveto("sshd", "enable", "--dry-run", status=2).stderr, f"process {process.pid}: -o UsePAM=no",
                 "counts before")


def test_service_advises_disable_before_an_option_is_moved(scratch):
    with running_sshd(scratch, "-o", "AuthorizedKeysCommand /usr/bin/eic %u %f"):
        remedy = doctor()[0]["service"][0]["remedy"]
        steps = ("keyveto disable --reload", "take the option out", "at the top of sshd_config", "restart sshd",
                 "keyveto enable")
        places = [remedy.find(step) for step in steps]
        assert -1 not in places and places == sorted(places), remedy


def test_service_an_sshd_that_is_only_asked_does_not_listen(scratch):
    """sshd -T and the like answer a question, and end."""
    fifo, other = scratch / "included", scratch / "asked"
    os.mkfifo(fifo)
    other.write_text(f"Include {fifo}\n", encoding="ascii")
    for question in ("-T", "-t", "-4T"):
        # sshd waits for the FIFO that it includes.
        with subprocess.Popen([SSHD, question, "-o", "UsePAM=no", "-f", other], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda process=process: Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(
                    SSHD.encode()), "sshd is started")
                contains(expect_all_well()["service"][0]["found"], "no sshd listens")
                equal(process.poll(), None, f"sshd {question} has ended")
            finally:
                process.kill()


def test_service_names_another_configuration_file(scratch):
    """Also one that the defaults of the service name."""
    other = scratch / "sshd_config"
    other.write_text("UsePAM yes\n" + "".join(f"{line}\n" for line in GUARDED), encoding="utf-8")
    with running_sshd(scratch, "-f", str(other)):
        expect("service", "warning", str(other))
        expect("service", "ok", arguments=("--sshd-config", other))
    DEFAULTS.write_text("# SSHD_OPTS=-oUsePAM=no\nSSHD_OPTS='-oUsePAM=no -4'\n", encoding="utf-8")
    expect("service", "broken", f"{DEFAULTS}: -o UsePAM=no")
    DEFAULTS.write_text("SSHD_OPTS=\"-4\"\n", encoding="utf-8")
    expect_all_well()


def test_service_an_sshd_by_another_name_may_have_another_pam_service(scratch):
    alias = scratch / "other-sshd"
    alias.symlink_to(SSHD)
    # A later sshd shows its PAM service, which its name does not change.
    later = write(scratch / "sshd",
                  f"#!/bin/sh\ncase $* in *-T*) echo pamservicename sshd;; esac\nexec {SSHD} \"$@\"\n", mode=0o755)
    with running_sshd(scratch, executable=alias) as process:
        if not has_service_name():
            expect("service", "warning", f"process {process.pid}: its PAM service is other-sshd")
        expect("service", "ok", arguments=("--sshd", later, "--sshd-config", SSHD_CONFIG))


def test_service_a_process_that_calls_itself_sshd_is_none(scratch, machine):
    """Neither the title nor the name of a process makes it an sshd."""
    mine, theirs = scratch / "mine", scratch / "theirs"
    for place, owner in ((mine, 0), (theirs, 65534)):
        place.mkdir(mode=0o755)
        shutil.copy("/bin/sleep", place / "sshd")
        os.chown(place / "sshd", owner, owner)
    words = ["sshd: /usr/sbin/sshd -o UsePAM=no -o AuthorizedKeysCommand=/tmp/x [listener] 0 of 10-100 startups",
             "1000"]
    # An account runs root's file, an account runs its own file, root runs an account's file.
    for place, user in ((mine, 65534), (theirs, 65534), (theirs, 0)):
        with subprocess.Popen(words, executable=place / "sshd", user=user, group=user) as process:
            try:
                # Popen returns when exec(3) has closed its pipe, which is before the kernel sets the name.
                name = Path(f"/proc/{process.pid}/comm")
                wait_until(lambda name=name: name.read_text(encoding="ascii") == "sshd\n", f"sshd stands in {name}")
                contains(expect_all_well()["service"][0]["found"], "no sshd listens")
            finally:
                process.kill()
    assert machine.listed


def test_service_reports_what_it_cannot_read(scratch):
    def spoilt(path, call, error):
        return injected("-P", path, "-e", f"trace={call}", "-e", f"inject={call}:error={error}")["service"]

    def unseen(path, call, error):
        found = spoilt(path, call, error)
        assert all(one["status"] == "warning" for one in found), f"{path}, {call}: {found}"
        contains(str(found), os.strerror(getattr(errno, error)))

    with running_sshd(scratch) as process:
        expect_all_well()
        for path, calls in (("/proc", ("openat", "getdents64")), (f"/proc/{process.pid}/cmdline", ("openat", "read")),
                            (DEFAULTS, ("openat", "read")), ("/etc/sysconfig/sshd", ("openat",))):
            DEFAULTS.write_text("SSHD_OPTS=-4\n", encoding="utf-8")
            for call in calls:
                unseen(path, call, "EIO")
        # Root goes by the name of a process that shows no links.
        for link in ("exe", "ns/pid"):
            found = spoilt(f"/proc/{process.pid}/{link}", "readlink", "EACCES")
            assert "1 sshd listens" in str(found), found
        # A process that has ended meanwhile is no problem.
        contains(str(spoilt(f"/proc/{process.pid}/exe", "readlink", "ENOENT")), "no sshd listens")


def test_service_a_listener_with_a_cut_title_is_one(scratch):
    with running_sshd(scratch, "-o", "UsePAM=no", env={}) as process:
        lacks(Path(f"/proc/{process.pid}/cmdline").read_text(encoding="utf-8"), "[listener]")
        expect("service", "warning", f"process {process.pid}: its arguments are cut off: sshd: {SSHD} -D")


def test_syslog_without_a_listener_is_reported():
    Path("/dev/log").unlink()
    expect("syslog", "warning", "/dev/log: No such file")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind("/dev/log")
    expect("syslog", "warning", "/dev/log: Connection refused")
    Path("/dev/log").unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as log:
        log.bind("/dev/log")
        log.listen()
        expect_all_well()
