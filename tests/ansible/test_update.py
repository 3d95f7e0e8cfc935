# SPDX-License-Identifier: ISC
"""update.conf and what belongs to it: keyveto update, its secrets, the CAs of its server, the timer."""

import contextlib
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

import keys
from logbook import Logbook
from program import ROOT, contains, equal, keyveto, lacks
from sshd_machine import leaked_filter

pytestmark = pytest.mark.throwaway

STATE = Path("/var/lib/keyveto")
SETTINGS = Path("/etc/keyveto/update.conf")
CONFIG = Path("/etc/keyveto/keyveto.conf")
CRON = Path("/etc/cron.d/keyveto-update")
TIMER = "keyveto-update.timer"


@pytest.fixture(autouse=True, name="clean")
def fixture_clean():
    yield
    for path in (SETTINGS, SETTINGS.with_name("ca.pem")):
        path.unlink(missing_ok=True)


def source(path):
    """An update.conf that takes the filter from a file."""
    return f"URL {path}\nMaxFalsePositives 0.9\n"


def test_an_update_that_failed_is_not_forgotten(machine):
    """The filter is there from before. Each run fails until an update has succeeded."""
    away, wanted = machine.scratch / "new.pkbf", {"keyveto_update_conf": source(machine.scratch / "new.pkbf")}
    for _ in range(2):
        contains(machine.fails("rollout", **wanted), "keyveto update:", str(away))
    assert machine.ok("rehearse", "--check", **wanted).last()["incomplete"]
    away.write_bytes(leaked_filter())
    keyveto("filter", "add", away, keys.generate(machine.scratch).key.path, status=0)
    machine.ok("rehearse", **wanted)
    equal((STATE / "filter.pkbf").read_bytes(), away.read_bytes())
    assert not machine.ok("rehearse", **wanted).changed
    # It does not run again.
    away.unlink()
    machine.ok("rehearse", **wanted)


def test_secrets_of_update_conf_are_in_no_output(machine):
    """In no diff, with no number of -v, in no message, and not in the host's log."""
    text = "URL https://reader:{}@127.0.0.1:9/l.pkbf?token={}\nMaxSize {}\n"
    words = ("sesame-old", "t0ken-old", "1M"), ("sesame-new", "t0ken-new", "2M")
    with contextlib.closing(Logbook()) as log:
        for user, token, size in words:
            wanted = {"keyveto_update_conf": text.format(user, token, size)}
            for more in (("--check",), ()):
                done = machine.run("rehearse", "--diff", "-vvvv", *more, **wanted)
                # Ansible repeats its own command line, in which this test has them.
                said = re.sub("(?m)^extra_vars: .*", "", done.text) + str([result for _, _, result in done.results])
                lacks(said, *(word for both in words for word in both[:2]))
                contains(said, f"MaxSize {size}", "https://********@127.0.0.1:9/l.pkbf?********")
            contains(done.last("failed")["msg"], "keyveto update:")
            contains(SETTINGS.read_text(encoding="ascii"), user, token)
            equal(stat.S_IMODE(SETTINGS.stat().st_mode), 0o600)
        logged = "".join(line.text for line in log.about("keyveto"))
        contains(logged, "update_config=NOT_LOGGING_PARAMETER")
        lacks(logged, *(word for both in words for word in both[:2]))


def test_update_conf_without_secrets_is_shown(machine):
    (machine.scratch / "f.pkbf").write_bytes(leaked_filter())
    text = source(machine.scratch / "f.pkbf")
    done = machine.ok("rehearse", "--diff", keyveto_update_conf=text)
    equal([one["after"] for one in done.last()["diff"] if one["after_header"] == str(SETTINGS)], [text])


def test_the_cas_of_the_server_come_before_the_update(machine):
    (machine.scratch / "f.pkbf").write_bytes(leaked_filter())
    wanted = {"keyveto_update_conf": source(machine.scratch / "f.pkbf") + "CAFile /etc/keyveto/ca.pem\n",
              "keyveto_update_ca": "-----BEGIN CERTIFICATE-----\n"}
    assert machine.ok("rehearse", "--check", **wanted).changed
    assert not SETTINGS.with_name("ca.pem").exists()
    assert machine.ok("rehearse", **wanted).changed
    equal(SETTINGS.with_name("ca.pem").read_text(encoding="ascii"), wanted["keyveto_update_ca"])
    assert not machine.ok("rehearse", **wanted).changed


@contextlib.contextmanager
def systemd(scratch):
    """A systemctl that keeps the state of one timer in files. Yields its calls that change something."""
    program, folder, kept = Path("/usr/bin/systemctl"), Path("/run/systemd/system"), scratch / "systemctl"
    is_there, made = program.exists(), not folder.exists()
    if is_there:
        os.rename(program, kept)
    (scratch / "asked").write_text("", encoding="ascii")
    program.write_text(f"""#!/bin/sh
case $1 in
is-*) [ -e {scratch}/$1-$3 ]; exit;;
enable) [ ! -e {scratch}/broken ] || {{ echo Unit $3 does not exist >&2; exit 1; }}
    touch {scratch}/is-enabled-$3 {scratch}/is-active-$3;;
disable) rm -f {scratch}/is-enabled-$3 {scratch}/is-active-$3;;
daemon-reload | restart) ;;
*) exit;;
esac
echo "$*" >>{scratch}/asked
""", encoding="ascii")
    program.chmod(0o755)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield lambda: (scratch / "asked").read_text(encoding="ascii").splitlines()
    finally:
        program.unlink()
        if is_there:
            os.rename(kept, program)
        if made:
            folder.rmdir()


def test_the_timer_is_enabled_and_disabled(machine):
    with systemd(machine.scratch) as told:
        machine.ok("rehearse")
        assert machine.ok("rehearse", "--check", keyveto_update_timer=True).changed
        equal(told(), [])
        for wanted, word in ((True, "enable"), (False, "disable")):
            assert machine.ok("rehearse", keyveto_update_timer=wanted).changed
            equal(told()[-1], f"{word} --now {TIMER}")
            assert not machine.ok("rehearse", keyveto_update_timer=wanted).changed
        equal(len(told()), 2)
        # It is enabled, and has not been started since.
        (machine.scratch / f"is-enabled-{TIMER}").touch()
        assert machine.ok("rehearse", keyveto_update_timer="yes").changed
        machine.ok("rehearse", keyveto_update_timer="no")
        (machine.scratch / "broken").touch()
        contains(machine.fails("rehearse", keyveto_update_timer=True), f"{TIMER}: systemctl says: Unit", "not exist")


def schedule(**said):
    return {"keyveto_update_timer": True, "keyveto_update_schedule": {"delay": 240, **said}}


def test_the_timer_goes_by_the_schedule(machine):
    """systemd reads the drop-in beside that of systemctl edit. What systemd makes of it is what systemd itself says."""
    folder = Path(f"/etc/systemd/system/{TIMER}.d")
    folder.mkdir(parents=True)
    edited = folder / "override.conf"
    edited.write_text("[Timer]\nAccuracySec=1s\n", encoding="ascii")
    drop_in, unit = folder / "keyveto-ansible.conf", folder.parent / TIMER
    with systemd(machine.scratch) as told:
        machine.ok("rehearse", keyveto_update_timer=True)
        assert machine.ok("rehearse", "--check", **schedule(calendar="*:0/5")).changed
        assert not drop_in.exists()
        assert machine.ok("rehearse", **schedule(calendar="*:0/5", cron="*/5 * * * *")).changed
        equal(told()[1:], ["daemon-reload", f"restart {TIMER}"])
        assert not machine.ok("rehearse", **schedule(calendar="*:0/5")).changed
        shutil.copy(ROOT / "packaging/systemd" / TIMER, unit)
        verified = subprocess.run(["systemd-analyze", "cat-config", f"systemd/system/{TIMER}"], capture_output=True,
                                  text=True, check=True)
        settings = re.findall("^(?:OnCalendar|RandomizedDelaySec|AccuracySec)=.*", verified.stdout, re.MULTILINE)
        equal(settings, ["OnCalendar=daily", "RandomizedDelaySec=12h", "OnCalendar=", "OnCalendar=*:0/5",
                         "RandomizedDelaySec=240", "AccuracySec=1s"])
        # Whoever sets a delay alone keeps the time of the unit; and without the variable all is as it was.
        machine.ok("rehearse", **schedule())
        lacks(drop_in.read_text(encoding="ascii"), "OnCalendar")
        assert machine.ok("rehearse", keyveto_update_timer=True).changed
        equal(list(folder.iterdir()), [edited])
        machine.ok("rehearse", **schedule(calendar="Mon..Fri 04:00 Europe/Berlin"))
        machine.ok("rehearse", keyveto_update_timer=False)
        equal(list(folder.iterdir()), [edited])
    shutil.rmtree(folder)
    unit.unlink()


def test_a_schedule_that_cannot_be_is_refused(machine):
    before = CONFIG.read_bytes()
    with systemd(machine.scratch) as told:
        for said in ({"calendar": "often"}, {"calendar": "2020-01-01"}, {"calendar": "daily\nOnCalendar=*:*"},
                     {"calendar": {"no": "text"}}, {"cron": "* * * * *"}, {"delay": -1}, {"delay": 86401}):
            contains(machine.fails("rehearse", keyveto_conf="Message no\n", **schedule(**said)), "update_schedule")
        contains(machine.fails("rehearse", keyveto_update_schedule={"delay": 1}), "update_schedule is for update_timer")
        equal((told(), CONFIG.read_bytes()), ([], before))


def test_cron_does_it_where_systemd_does_not_run(machine):
    """Its line is that of packaging/cron, but for the schedule."""
    line = next(line for line in (ROOT / "packaging/cron/keyveto-update").read_text("ascii").splitlines()
                if line.startswith("17 4 "))
    assert not Path("/run/systemd/system").exists()
    # A folder of the overlay's lower layer cannot be renamed.
    shutil.rmtree(CRON.parent, ignore_errors=True)
    contains(machine.fails("rehearse", keyveto_update_timer=True), "systemd or cron")
    CRON.parent.mkdir()
    assert machine.ok("rehearse", keyveto_update_timer=True).changed
    equal(CRON.read_text(encoding="ascii").splitlines()[-1], line)
    lacks(keyveto("doctor", "--json").stdout, "no line of cron")
    before = CONFIG.read_bytes()
    for cron in ("* * * *", "* * * * * *", "@daily", "60 * * * *", "* * 0 * *", "5-1 * * * *", "*/0 * * * *",
                 "5/10 * * * *", "1,,2 * * * *", "* * * jan *", "* * * * *\n* * * * * root id"):
        contains(machine.fails("rehearse", keyveto_conf="Message no\n", **schedule(cron=cron)), "update_schedule: cron")
    contains(machine.fails("rehearse", **schedule(calendar="*:0/5")), "update_schedule has no cron")
    equal(CONFIG.read_bytes(), before)
    for cron in ("*/5 * * * *", "0,30 1-23/2 1 12 7"):
        assert machine.ok("rehearse", **schedule(cron=cron)).changed
        equal(CRON.read_text(encoding="ascii").splitlines()[-1],
              line.replace("17 4 * * *", cron).replace("0-3599", "0-240"))
        assert not machine.ok("rehearse", **schedule(cron=cron)).changed
    assert machine.ok("rehearse", keyveto_update_timer=False).changed
    assert not CRON.exists()
