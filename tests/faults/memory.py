#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The guard and the PAM module when memory runs out.

A preloaded library makes the first allocation fail, then the second, and so on
until a run has no more; then each one and all after it. The outcomes must obey
the rules of guard.py and pam.py.
"""

import sys

import guard
import pam
from stage import play

SETTINGS = {"one allocation fails": "AT", "an allocation and all after it fail": "FROM"}

# Without memory, glibc's look-ups in /etc/passwd and /etc/group crash, and so
# does its loader. No key is let in by that, and it is no fault of
# keyveto's.
LOADER_STATUS = 127
NAME_SERVICE = frozenset("getpwnam getpwuid getgrgid initgroups setpwent getpwent endpwent".split())


def crash_site(report, own):
    """The function of another library in which a program crashed. None if it crashed in keyveto's own code."""
    frames = [frame.partition(":") for frame in report.partition("crash ")[2].split()]
    called = None
    for frame_object, _, function in frames:
        if frame_object == own:
            return called
        called = function
    return called


def ends_in_libc(done, report, own):
    """Whether libc crashed, in a look-up of names, or while it loaded a library for one."""
    if done.returncode == LOADER_STATUS:
        return b"cannot allocate memory" in done.stderr
    return done.returncode is not None and done.returncode < 0 and crash_site(report, own) in NAME_SERVICE


def try_guard(stage, report, scenario, title, setting):
    """Every allocation of the guard and of its libraries."""
    with report.case(f"memory: guard, {scenario.title}: {title}") as case:
        crashes = []

        def one(number):
            name = stage.name_run()
            settings = {setting: number, "IN": stage.guard.name}
            done, said = stage.run_preloaded("failalloc.c", scenario.argv_of(name), settings)
            decisions = stage.log.decisions(name)
            if ends_in_libc(done, said, stage.guard.name):
                crashes.append(number)
                return said, [f"allocation {number}: printed before the crash: {done}"] if done.stdout else []
            judge = guard.Judge(scenario, f"allocation {number}", log_may_be_lost=setting == "FROM")
            judge.verdict(done, decisions)
            return said, [f"{why}, {said}" for why in judge.whys]
        report.count(case, [whys for _, whys in stage.until_unhit(one)],
                     "runs" + (f", {len(crashes)} ended by libc" if crashes else ""))


def try_pam(stage, report, scenario, title, setting):
    """Every allocation of the module and, on its behalf, of libpam and libc."""
    with report.case(f"memory: pam, {scenario.title}: {title}") as case:
        def one(number):
            name = stage.name_run()
            settings = {setting: number, "HOLD": 1, "IN": stage.module.name}
            done, said = stage.run_preloaded("failalloc.c", scenario.argv_of(name), settings)
            # A phase does not fail if there is no memory for a message to the user.
            whys = pam.complaints(scenario, done, stage.log.decisions(name), log_may_be_lost=setting == "FROM")
            return said, [f"allocation {number}: {why}: {done}, {said}" for why in whys]
        report.count(case, [whys for _, whys in stage.until_unhit(one)])


def try_starting_pam(stage, report, scenario):
    """Every allocation of all of PAM: libpam may fail, hang or crash by itself, but must let nobody in."""
    with report.case(f"memory: pam, {scenario.title}: an allocation of all PAM fails") as case:
        def one(number):
            name = stage.name_run()
            settings = {"AT": number, "HOLD": 1}
            done, said = stage.run_preloaded("failalloc.c", scenario.argv_of(name), settings, seconds=2)
            decisions = stage.log.decisions(name)
            whys = [f"{phase}: a listed key is let in" for phase, code in pam.read_codes(done).items()
                    if code == 0 and not (scenario.allow and ("error", "allow") in pam.said_in(phase, decisions))]
            if done.returncode and done.returncode < 0 and f" {stage.module.name}:" in said:
                whys.append("it crashed in the module")
            return said, [f"allocation {number}: {why}: {done}, {said}" for why in whys]
        report.count(case, [whys for _, whys in stage.until_unhit(one)])


def cases(stage, report):
    for scenario in guard.make_scenarios(stage):
        started_as_root = scenario.user is None        # started by an account, the guard makes the same allocations
        if not started_as_root or not report.wants(scenario.title):
            continue
        for title, setting in SETTINGS.items():
            if stage.long or (setting == "AT") is not scenario.allow:
                try_guard(stage, report, scenario, title, setting)
    for scenario in pam.make_scenarios(stage):
        if not report.wants(scenario.title):
            continue
        for title, setting in SETTINGS.items():
            if stage.long or (setting == "AT") is not scenario.allow:
                try_pam(stage, report, scenario, title, setting)
        if scenario.listed and stage.long:
            try_starting_pam(stage, report, scenario)


if __name__ == "__main__":
    sys.exit(play(__doc__, cases))
