# SPDX-License-Identifier: ISC
"""The timers of keyveto on a host, when keyveto update runs, and cron where systemd does not run.

Python 3.6 and its standard library only: this runs on the hosts.
"""

import os
import re
import subprocess

from ansible_collections.keyveto.keyveto.plugins.module_utils.engine import PATHS, EngineError, last_words

UPDATE_TIMER = "keyveto-update.timer"
# Beside what the administrator may have there by systemctl edit.
DROP_IN = "/etc/systemd/system/%s.d/keyveto-ansible.conf" % UPDATE_TIMER
CRON = "/etc/cron.d/keyveto-update"
LONGEST_DELAY = 86400
# What packaging/cron has.
CRON_TIME, CRON_DELAY = "17 4 * * *", 3599
CRON_TEXT = """\
# Written by Ansible, from keyveto_update_timer and keyveto_update_schedule.
SHELL=/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
%s root test -d /run/systemd/system || { sleep "$(shuf -i 0-%d -n 1)"; keyveto update --quiet; }
"""
# The fields of crontab(5), each with its least and greatest number.
CRON_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of the month", 1, 31), ("month", 1, 12),
               ("day of the week", 0, 7))


def systemd_runs():
    return os.path.isdir("/run/systemd/system")


def systemd(*words):
    """(status, output) of a program of systemd's."""
    environment = dict(os.environ, LC_ALL="C.UTF-8", PATH=os.environ.get("PATH", "") + PATHS)
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60, check=False)
    except OSError as error:
        raise EngineError("%s cannot be run: %s" % (words[0], error.strerror))
    except subprocess.TimeoutExpired:
        raise EngineError("%s did not end within 60 seconds" % " ".join(words))
    return done.returncode, done.stdout.decode("utf-8", "replace")


def systemctl(*words):
    """EngineError if systemctl fails."""
    status, said = systemd("systemctl", *words)
    if status != 0:
        raise EngineError("%s: systemctl says: %s" % (words[-1], last_words(said)))


def timer_states(timer):
    """[whether it is enabled, whether it runs]."""
    return [systemd("systemctl", verb, "--quiet", timer)[0] == 0 for verb in ("is-enabled", "is-active")]


def check_calendar(text):
    """EngineError if systemd could not go by it."""
    if not re.match(r"[0-9A-Za-z*/:.,~_+ -]+\Z", text):
        raise EngineError("update_schedule: calendar is no time of systemd.time(7): %r" % text)
    status, said = systemd("systemd-analyze", "calendar", "--", text)
    if status != 0 or re.search("Next elapse: never", said):
        raise EngineError("update_schedule: calendar never comes, or is no time of systemd.time(7): %s" %
                          last_words(said))


def check_cron(text):
    """EngineError if it is not five fields of crontab(5), of numbers."""
    fields = text.split(" ")
    if len(fields) != len(CRON_FIELDS):
        raise EngineError("update_schedule: cron must be five fields of crontab(5), such as '*/5 * * * *': %r" % text)
    for field, (name, least, greatest) in zip(fields, CRON_FIELDS):
        for part in field.split(","):
            found = re.match(r"(?:(?:\*|(\d{1,2})-(\d{1,2}))(?:/0*[1-9]\d?)?|(\d{1,2}))\Z", part)
            numbers = [int(one) for one in found.groups() if one] if found else []
            if not found or numbers != sorted(numbers) or not all(least <= one <= greatest for one in numbers):
                raise EngineError("update_schedule: cron: %r is no %s" % (part, name))


def check_schedule(timer, schedule):
    """EngineError if this host cannot go by what update_timer and update_schedule say."""
    if timer and not systemd_runs() and not os.path.isdir(os.path.dirname(CRON)):
        raise EngineError("update_timer needs systemd or cron, and neither is on this host")
    if not schedule or timer is False:
        return
    if timer is None:
        raise EngineError("update_schedule is for update_timer: true")
    if not 0 <= schedule["delay"] <= LONGEST_DELAY:
        raise EngineError("update_schedule: delay must be 0 to %d seconds" % LONGEST_DELAY)
    mine, other = ("calendar", "cron") if systemd_runs() else ("cron", "calendar")
    if schedule.get(mine):
        (check_calendar if systemd_runs() else check_cron)(schedule[mine])
    elif schedule.get(other):
        raise EngineError("update_schedule has no %s, and systemd %s on this host" % (
            mine, "runs" if systemd_runs() else "does not run"))


def drop_in(schedule):
    """The text for the timer; None without a schedule."""
    if not schedule:
        return None
    calendar = schedule.get("calendar")
    return "# Written by Ansible, from keyveto_update_schedule.\n[Timer]\n%sRandomizedDelaySec=%d\n" % (
        "OnCalendar=\nOnCalendar=%s\n" % calendar if calendar else "", schedule["delay"])


def cron_text(schedule):
    """The text for cron, once a day without a schedule."""
    schedule = schedule or {}
    return CRON_TEXT % (schedule.get("cron") or CRON_TIME, schedule.get("delay", CRON_DELAY))
