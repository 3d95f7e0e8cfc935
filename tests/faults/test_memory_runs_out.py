# SPDX-License-Identifier: ISC
"""The guard and the PAM module when memory runs out.

A preloaded library makes the first allocation fail, then the second, and so on
until a run has no more; then each one and all after it. The outcomes must obey
the rules of guard_runs.py and pam_runs.py.
"""

import guard_runs
import pam_runs
import pytest

pytestmark = pytest.mark.throwaway

SETTINGS = {"one allocation fails": "AT", "an allocation and all after it fail": "FROM"}

# Without memory, glibc's look-ups in /etc/passwd and /etc/group crash, and so
# does its loader. No key is let in by that, and it is no fault of
# keyveto's.
LOADER_STATUS = 127
NAME_SERVICE = frozenset("getpwnam getpwuid getgrgid initgroups setpwent getpwent endpwent".split())


def with_settings(titles):
    """Each title with each setting. The short form tries one of both, which depends on OnError."""
    def marks(title, setting):
        return () if (setting == "AT") is not ("OnError allow" in title) else pytest.mark.campaign
    return pytest.mark.parametrize("title, setting", [
        pytest.param(title, setting, id=f"{title}: {words}", marks=marks(title, setting))
        for title in titles for words, setting in SETTINGS.items()])


# Started by an account, the guard makes the same allocations.
STARTED_BY_ROOT = [title for title in guard_runs.TITLES if "started as account" not in title]
WITH_LISTED_KEY = [title for title in pam_runs.TITLES if not title.startswith("a clean key, OnError")]


@pytest.fixture(scope="module", name="guard_scenarios")
def fixture_guard_scenarios(stage):
    return guard_runs.make_scenarios(stage)


@pytest.fixture(scope="module", name="pam_scenarios")
def fixture_pam_scenarios(stage):
    return pam_runs.make_scenarios(stage)


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


@with_settings(STARTED_BY_ROOT)
def test_without_memory_the_guard_lets_no_listed_key_in(stage, guard_scenarios, check_runs, title, setting):
    """Every allocation of the guard and of its libraries."""
    scenario = guard_scenarios[title]

    def one(number):
        run = stage.name_run()
        settings = {setting: number, "IN": stage.guard.name}
        done, said = stage.run_preloaded("failalloc.c", scenario.argv_of(run), settings)
        decisions = stage.log.decisions(run)
        if ends_in_libc(done, said, stage.guard.name):
            return said, [f"allocation {number}: printed before the crash: {done}"] if done.stdout else []
        judge = guard_runs.Judge(scenario, f"allocation {number}", log_may_be_lost=setting == "FROM")
        judge.verdict(done, decisions)
        return said, [f"{why}, {said}" for why in judge.whys]
    check_runs(whys for _, whys in stage.until_unhit(one))


@with_settings(pam_runs.TITLES)
def test_without_memory_the_module_lets_no_listed_key_in(stage, pam_scenarios, check_runs, title, setting):
    """Every allocation of the module and, on its behalf, of libpam and libc."""
    scenario = pam_scenarios[title]

    def one(number):
        run = stage.name_run()
        settings = {setting: number, "HOLD": 1, "IN": stage.module.name}
        done, said = stage.run_preloaded("failalloc.c", scenario.argv_of(run), settings)
        # A phase does not fail if there is no memory for a message to the user.
        whys = pam_runs.complaints(scenario, done, stage.log.decisions(run), log_may_be_lost=setting == "FROM")
        return said, [f"allocation {number}: {why}: {done}, {said}" for why in whys]
    check_runs(whys for _, whys in stage.until_unhit(one))


@pytest.mark.campaign
@pytest.mark.parametrize("title", WITH_LISTED_KEY)
def test_without_memory_for_libpam_no_listed_key_is_let_in(stage, pam_scenarios, check_runs, title):
    """Every allocation of all of PAM: libpam may fail, hang or crash by itself."""
    scenario = pam_scenarios[title]

    def one(number):
        run = stage.name_run()
        settings = {"AT": number, "HOLD": 1}
        done, said = stage.run_preloaded("failalloc.c", scenario.argv_of(run), settings, seconds=2)
        decisions = stage.log.decisions(run)
        whys = [f"{phase}: a listed key is let in" for phase, code in pam_runs.read_codes(done).items()
                if code == 0 and not (scenario.allow and ("error", "allow") in pam_runs.said_in(phase, decisions))]
        if done.returncode and done.returncode < 0 and f" {stage.module.name}:" in said:
            whys.append("it crashed in the module")
        return said, [f"allocation {number}: {why}: {done}, {said}" for why in whys]
    check_runs(whys for _, whys in stage.until_unhit(one))
