# SPDX-License-Identifier: ISC
"""keyveto status: whether anything keeps filters and lists current."""

import contextlib
import shutil
import subprocess
from pathlib import Path

import pytest

from doctor_machine import CONFIG, FILTER, doctor, expect, expect_all_well
from program import ROOT, contains, equal, keyveto

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys", "machine")]

DEMO = ROOT / "testdata/demo/compromised.pub"
SETTINGS = Path("/etc/keyveto/update.conf")
CRON = Path("/etc/cron.d/keyveto-update")
SYSTEMD = Path("/run/systemd/system")
SYSTEMCTL = Path("/usr/bin/systemctl")
FOLLOWS = "URL https://example.com/filter.pkbf\n"


@pytest.fixture(autouse=True, name="clean")
def fixture_clean():
    """Neither cron nor systemd starts anything."""
    CRON.parent.mkdir(exist_ok=True)
    yield
    for path in (SETTINGS, CRON):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def booted_by_systemd(*states):
    """systemctl says yes to these questions about the timer."""
    kept = SYSTEMCTL.with_name("systemctl.kept")
    if SYSTEMCTL.exists():
        SYSTEMCTL.rename(kept)
    cases = "|".join((*states, "none"))
    SYSTEMCTL.write_text('#!/bin/sh\n[ "$*" = "--quiet $2 keyveto-update.timer" ] || exit 9\n'
                         f"case $2 in {cases}) exit 0;; esac\nexit 3\n", encoding="utf-8")
    SYSTEMCTL.chmod(0o755)
    made = not SYSTEMD.exists()
    SYSTEMD.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        SYSTEMCTL.unlink()
        if kept.exists():
            kept.rename(SYSTEMCTL)
        if made:
            SYSTEMD.rmdir()


@contextlib.contextmanager
def cron_daemon(folder):
    """A process of that name."""
    shutil.copy("/bin/sleep", folder / "cron")
    with subprocess.Popen([folder / "cron", "1000"]) as process:
        yield
        process.kill()


def finds(status, *parts):
    """The one finding of the check. Another one may need more of systemd than there is."""
    found, _ = doctor()
    equal([one["status"] for one in found["update"]], [status], found["update"])
    contains(found["update"][0]["found"], *parts)
    return found["update"][0]


@pytest.mark.parametrize("text, reason", [("Source badkeys\nSource badkeys\n", ":2: a second Source badkeys"),
                                          ("Nonsense 1\n", ':1: unknown keyword "Nonsense"')])
def test_settings_that_update_cannot_read_are_a_finding(text, reason):
    """Also in the metrics, on the first day."""
    SETTINGS.write_text(text, encoding="utf-8")
    expect("update", "warning", f"{SETTINGS}{reason}: keyveto update cannot read its settings")
    contains(keyveto("doctor", "--prometheus").stdout, '\nkeyveto_check_status{check="update"} 1\n')
    contains(keyveto("update", "--dry-run", status=2).stderr, reason)


def test_a_filter_that_nobody_fetches_is_no_finding():
    """Its maker brings it by other ways."""
    expect_all_well()
    with booted_by_systemd():
        finds("ok")


def test_without_systemd_cron_keeps_a_filter_current(scratch):
    SETTINGS.write_text(FOLLOWS, encoding="utf-8")
    found = expect("update", "warning", f"no line of cron runs keyveto update: nobody keeps {FILTER} current")
    contains(found["update"][0]["remedy"], "copy /usr/share/keyveto/cron/keyveto-update to /etc/cron.d")
    for line in ("# 1 2 * * * root keyveto update", "1 2 * * * root keyveto update --dry-run"):
        CRON.write_text(f"{line}\n", encoding="utf-8")
        expect("update", "warning", "no line of cron runs keyveto update")
    shutil.copy(ROOT / "packaging/cron/keyveto-update", CRON)
    finds("warning", f"a line of cron runs keyveto update, but no cron daemon was seen: nobody keeps {FILTER} current")
    with cron_daemon(scratch):
        expect_all_well()


def test_a_line_of_cron_fetches_only_what_it_or_the_settings_name(scratch):
    """Without a source it fetches the free list, and nothing else."""
    free = FILTER.with_name("badkeys.dat")
    keyveto("list", "create", free, DEMO, status=0)
    for path in (FILTER, free):
        path.with_name(f".{path.name}.keyveto-update").write_text('{"held": 0}\n', encoding="utf-8")
    with cron_daemon(scratch):
        for line, settings, consulted, lost in (
                ("keyveto update", "", f"Blocklist {free}", None), ("keyveto update", "", f"Filter {FILTER}", FILTER),
                ("keyveto update", f"Source x\n{FOLLOWS}Target /x\n", f"Blocklist {free}", free),
                ("keyveto update", "Source badkeys\n", f"Blocklist {free}", None),
                ("keyveto update --source badkeys", FOLLOWS, f"Blocklist {free}", None),
                ("keyveto update && curl https://example.com", "", f"Filter {FILTER}", FILTER),
                ("/usr/bin/keyveto update https://example.com/x", "", f"Filter {FILTER}", None)):
            CRON.write_text(f"1 2 * * * root {line}\n", encoding="utf-8")
            SETTINGS.write_text(settings, encoding="utf-8")
            CONFIG.write_text(f"{consulted}\n", encoding="utf-8")
            finds(*("warning", f"no source in {SETTINGS} fetches {lost}, as keyveto update did once") if lost else
                  ("ok",))
    free.unlink()


def test_with_systemd_the_timer_or_a_line_of_cron_keeps_it_current(scratch):
    SETTINGS.write_text(FOLLOWS, encoding="utf-8")
    shutil.copy(ROOT / "packaging/cron/keyveto-update", CRON)       # does nothing where systemd is
    for states in ((), ("is-active",), ("is-enabled",)):
        with booted_by_systemd(*states):
            found = finds("warning", f"keyveto-update.timer is off, and no line of cron runs keyveto update: nobody "
                          f"keeps {FILTER} current")
            equal(found["remedy"], "systemctl enable --now keyveto-update.timer")
    with booted_by_systemd("is-active", "is-enabled"):
        finds("ok")
    CRON.write_text("1 2 * * * root keyveto update --quiet\n", encoding="utf-8")
    with booted_by_systemd(), cron_daemon(scratch):
        finds("ok")


def test_the_timer_fetches_only_what_the_settings_name():
    """The filter was fetched once, by hand."""
    FILTER.with_name(f".{FILTER.name}.keyveto-update").write_text('{"held": 0}\n', encoding="utf-8")
    with booted_by_systemd("is-active", "is-enabled"):
        for text in (None, "", "Source badkeys\n", FOLLOWS + "Target /var/lib/keyveto/another.pkbf\n"):
            if text is not None:
                SETTINGS.write_text(text, encoding="utf-8")
            found = finds("warning", f"no source in {SETTINGS} fetches {FILTER}, as keyveto update did once: nobody "
                          "keeps it current")
            contains(found["remedy"], "Source badkeys")
        for text in (FOLLOWS, FOLLOWS + f"Target {FILTER}\n", f"Source x\n{FOLLOWS}Target {FILTER}\n"):
            SETTINGS.write_text(text, encoding="utf-8")
            finds("ok")
