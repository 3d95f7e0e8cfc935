# SPDX-License-Identifier: ISC
"""The generator knows each keyword of the manual, and draws it."""

import re
from pathlib import Path

import policy

MANUAL = Path(__file__).resolve().parent.parent.parent / "man/keyveto.conf.5"


def keywords_of_manual():
    text = MANUAL.read_text(encoding="utf-8")
    listed = text[text.index("The keywords are:"):text.index(".Ss Mistakes")]
    return set(re.findall(r"^\.It Cm (\w+)", listed, re.MULTILINE))


def test_the_oracle_knows_the_keywords_of_the_manual():
    assert {*policy.MANY, *policy.SINGLE} == keywords_of_manual()


def test_each_keyword_is_drawn_in_both_configurations():
    drawn = {policy.CONFIG: set(), policy.OTHER: set()}
    for seed in range(400):
        for one in policy.make(seed)["policies"]:
            drawn[one["path"]] |= {keyword for keyword, _ in one["lines"]}
    for path, keywords in drawn.items():
        assert keywords_of_manual() <= keywords, path


def test_a_draw_has_guards_and_modules_that_an_administrator_wrote():
    found = {tuple(policy.configs_by_hand(policy.make(seed))) for seed in range(200)}
    assert {(), (policy.CONFIG,), (policy.OTHER,)} <= found
    assert any(policy.make(seed)["modules"] for seed in range(100))


def test_what_a_policy_does_with_a_key_is_what_the_manual_says():
    """One line a sentence of keyveto.conf(5)."""
    filters = [{"path": policy.DEFAULT_FILTER, "keys": ["listed0"], "state": "good"}]
    exact = [{"path": "/exact", "keys": ["listed1"], "state": "good"}]
    broken = [{"path": "/broken", "keys": ["listed1"], "state": "cut off"}]

    def actions(lines, *names):
        draw = {"lists": filters + exact + broken, "policies": [
            {"path": policy.CONFIG, "lines": [line.split(" ", 1) for line in lines], "spelling": ""}]}
        return policy.Policy(draw).actions(names)
    both = [f"Filter {policy.DEFAULT_FILTER}", "Blocklist /exact"]
    deny, enter = {policy.DENY}, {policy.ENTER}
    assert actions([], "listed0") == deny
    assert actions([], "listed1") == enter
    assert actions(["Blocklist /exact"], "listed0") == enter
    assert actions([*both, "OnHit warn"], "listed0", "listed1") == enter
    assert actions([*both, "OnHit warn", "OnProbable deny"], "listed0") == deny
    assert actions([*both, "OnHit warn", "OnProbable deny"], "listed1") == enter
    assert actions([*both, "OnProbable warn"], "listed0") == enter
    assert actions([*both, "OnProbable warn"], "listed0", "listed1") == deny
    assert actions([*both, "OnHit deny", "OnHit warn"], "listed1") == deny
    assert actions([*both, "AllowKey <listed0> reason"], "listed0") == enter
    assert actions([*both, f"AllowKey <listed0> until={policy.TODAY_IS_AFTER}"], "listed0") == deny
    assert actions([*both, "AllowKey <listed0>"], "listed0", "listed1") == deny
    assert actions([*both, "Blocklist /broken"], "clean0") == deny
    assert actions([*both, "Blocklist /broken", "AllowKey <clean0>"], "clean0") == enter
    assert actions([*both, "Blocklist /broken", "OnError allow"], "clean0") == enter
    assert actions([*both, "Blocklist /broken", "OnError allow"], "listed1") == deny
    assert actions([*both, "Blocklist /broken", "OnProbable warn"], "listed0") == deny
    assert actions([*both, "Blocklist /broken", "OnHit warn"], "listed1", "clean0") == enter
    assert actions([*both, "Blocklist /broken"], "listed0") == deny
    assert actions(["Fliter x", "AllowKey <clean0>"], "clean0") == deny
    assert actions(["Fliter x", "OnError allow"], "listed0") == enter
    assert policy.Policy({"lists": filters, "policies": []}).actions(["clean0"]) == deny
