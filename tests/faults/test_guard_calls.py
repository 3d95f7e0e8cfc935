# SPDX-License-Identifier: ISC
"""The guard when a system call fails, or moves less than it was asked to. guard_runs.py says what is allowed."""

import os

import guard_runs
import pytest
import tracer
from guard_runs import ERRORS, KINDS, Baseline, name, try_one

pytestmark = pytest.mark.throwaway

SHORT_SHARE = 40        # the short form makes one run in so many
STARTED_BY_ROOT = [name(kind, "root", "deny", command) for kind in KINDS for command in (False, True)]
SHORT_TRANSFERS = [name(kind, "root", "deny") for kind in KINDS] + guard_runs.OF_LISTS[:2]
SHORT_TRANSFERS += [pytest.param(name(kind, "account", "deny"), marks=pytest.mark.campaign) for kind in KINDS]


@pytest.fixture(scope="module", name="scenarios")
def fixture_scenarios(stage):
    return guard_runs.make_scenarios(stage)


def run_plan(stage, scenario, baseline, plan):
    return stage.each(lambda one: try_one(stage, scenario, baseline, *one), plan)


@pytest.mark.sample(3)
@pytest.mark.parametrize("title", guard_runs.TITLES)
def test_no_failing_call_lets_a_listed_key_in_or_cuts_the_output(stage, scenarios, check_runs, title):
    scenario = scenarios[title]
    baseline = Baseline(stage, scenario)
    plan = [(call, fault) for call in baseline.guards_own for fault in guard_runs.faults_of(call)]
    plan = stage.some(plan, 4 if scenario.behind else SHORT_SHARE)
    check_runs(run_plan(stage, scenario, baseline, plan))


@pytest.mark.parametrize("title", STARTED_BY_ROOT + guard_runs.OF_OTHER_FILES + guard_runs.OF_LISTS)
def test_no_call_that_fails_from_then_on_lets_a_listed_key_in_or_cuts_the_output(stage, scenarios, check_runs, title):
    """As with a broken disk, or a limit."""
    scenario = scenarios[title]
    baseline = Baseline(stage, scenario)
    plan = [(call, fault, True) for call in baseline.guards_own if call.index >= baseline.begin
            for fault in ERRORS if fault.title != "EINTR" and tracer.applies(fault, call)]
    check_runs(run_plan(stage, scenario, baseline, stage.some(plan, SHORT_SHARE)))


def is_cut_from(part, whole):
    """Whether a part of one piece is missing. A line end may stand in its place."""
    before = len(os.path.commonprefix([part, whole]))
    after = len(os.path.commonprefix([part[::-1], whole[::-1]]))
    return len(part) <= len(whole) and before + after >= len(part) - 1


@pytest.mark.parametrize("title", SHORT_TRANSFERS)
def test_short_reads_and_writes_change_neither_verdict_nor_output(stage, scenarios, check_runs, title):
    """All transfers move a few bytes only, or one transfer is short or empty."""
    scenario = scenarios[title]

    def one(setting):
        size, at = setting
        run = stage.name_run()
        done, hit = stage.run_preloaded("shortio.c", scenario.argv_of(run), {"BYTES": size, "AT": at})
        decisions = stage.log.decisions(run)
        said = {(found.verdict, found.action) for found in decisions}
        whole = b"" if scenario.listed else scenario.whole
        right = done.returncode == 0 and done.stdout == whole and said == ({("listed", "deny")} if scenario.listed
                                                                           else set())
        if size == 0 and not right:
            # The file that ended early may be one without which there is no verdict, or the account's.
            right = (done.returncode == 1 and ("error", "deny") in said if scenario.listed or done.returncode
                     else is_cut_from(done.stdout, whole))
            right = right and not (scenario.listed and done.stdout)
        whys = [] if right else [f"{size} bytes at transfer {at or 'any'}: {done}, logged {said}"]
        return hit, whys + ([] if at or hit == "!" else ["never hit"])
    results = [one((1, 0)), one((7, 0)), one((4096, 0)), *stage.until_unhit(lambda at: one((0, at))),
               *stage.until_unhit(lambda at: one((1, at)))]
    check_runs(whys for _, whys in results)


def test_without_standard_descriptors_the_guard_refuses_and_logs_why(stage, scenarios, check_runs):
    """A descriptor that seems to be closed and cannot be opened ends the guard before anything else."""
    scenario = scenarios[name("clean key", "root", "deny")]
    baseline = Baseline(stage, scenario)
    check_runs(try_one(stage, scenario, baseline, baseline.first, fault) for fault in ERRORS)


def test_a_directory_on_the_way_is_opened_without_a_look_at_it_before(stage, scenarios):
    """What is opened is judged by its descriptor. Each file takes one look, as its name may be a link."""
    calls = Baseline(stage, scenarios[name("clean key", "root", "deny")]).calls
    opened = [call for call in calls if "O_NOFOLLOW" in call.text and "O_PATH" not in call.text]
    looks = [call for call in calls if "AT_SYMLINK_NOFOLLOW" in call.text]
    assert len(opened) >= 2
    assert len(looks) == len(opened)
