# SPDX-License-Identifier: ISC
"""The PAM module when a system call fails, or reads less than it asked for. pam_runs.py says what is allowed."""

import pam_runs
import pytest
import tracer
from pam_runs import PHASES, Baseline, complaints, name, try_one

pytestmark = pytest.mark.throwaway

SHORT_SHARE = 30        # the short form makes one run in so many


SHORT_READS = [pytest.param(title, marks=() if "certificate" not in title and title.endswith("OnError deny")
                            else pytest.mark.campaign)
               for title in pam_runs.TITLES]


@pytest.fixture(scope="module", name="scenarios")
def fixture_scenarios(stage):
    return pam_runs.make_scenarios(stage)


@pytest.mark.sample(3)
@pytest.mark.parametrize("title", pam_runs.TITLES)
def test_no_failing_call_lets_a_listed_key_in(stage, scenarios, check_runs, title):
    scenario = scenarios[title]
    baseline = Baseline(stage, scenario)
    plan = [(call, fault) for call in baseline.calls for fault in pam_runs.faults_of(call)]
    plan = stage.some(plan, SHORT_SHARE)
    check_runs(stage.each(lambda one: try_one(stage, scenario, baseline, *one), plan))


@pytest.mark.parametrize("title", SHORT_READS)
def test_short_reads_change_no_answer(stage, scenarios, check_runs, title):
    """All reads return a few bytes only, or one read is short or empty."""
    scenario = scenarios[title]

    def one(setting):
        size, at = setting
        run = stage.name_run()
        settings = {"BYTES": size, "AT": at, "HOLD": 1}
        done, hit = stage.run_preloaded("shortio.c", scenario.argv_of(run), settings)
        whys = complaints(scenario, done, stage.log.decisions(run), faulty=PHASES if size == 0 else ())
        whys += [] if at or hit == "!" else ["never hit"]
        return hit, [f"{size} bytes at transfer {at or 'any'}: {why}: {done}" for why in whys]
    results = [one((1, 0)), one((7, 0)), *stage.until_unhit(lambda at: one((0, at))),
               *stage.until_unhit(lambda at: one((1, at)))]
    check_runs(whys for _, whys in results)


def test_a_login_without_a_key_makes_no_system_call(stage, scenarios):
    """So nothing can fail."""
    argv = scenarios[name("a clean key", "deny")].argv_of(stage.name_run())
    argv[5] = "password\n"
    done, calls = tracer.list_calls(stage.path("trace"), argv)
    assert pam_runs.read_codes(done) == dict.fromkeys(PHASES, 0), f"not let in: {done}"
    assert [str(call) for own in pam_runs.calls_by_phase(calls).values() for call in own] == []
