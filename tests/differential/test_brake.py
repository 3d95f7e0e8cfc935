# SPDX-License-Identifier: ISC
"""The brake's generator draws what its README promises."""

import brake_grammar
import brake_trial
import grammar
import policy

DRAWS = [brake_grammar.make(seed) for seed in range(600)]


def settings_in_matches(draw):
    return [(block["criteria"], name, value) for block in draw["config"]["matches"]
            for name, value in block["settings"]]


def test_each_command_is_drawn():
    assert {draw["change"]["command"] for draw in DRAWS} == {
        *brake_grammar.LIST_CHANGES, *brake_grammar.FILTER_CHANGES, "config edit", "allow --remove"}


def test_each_command_can_be_prepared():
    assert {draw["change"]["command"] for draw in DRAWS} <= set(brake_trial.COMMANDS)


def test_the_same_seed_gives_the_same_draw():
    assert [brake_grammar.make(seed) for seed in range(20)] == DRAWS[:20]


def test_ways_in_depend_on_the_address():
    for criterion in ("Address", "LocalPort", "LocalAddress", "User", "Group", "Host"):
        for keyword in ("AuthorizedKeysFile", "AuthorizedKeysCommand"):
            assert any(criterion in criteria and name == keyword
                       for draw in DRAWS for criteria, name, _ in settings_in_matches(draw)), (criterion, keyword)


def test_other_configurations_are_in_use():
    for place in ("main", "matches"):
        assert any(policy.OTHER in str(draw["config"][place]) for draw in DRAWS), place
    assert any(one["config"] == policy.OTHER for draw in DRAWS for one in draw["modules"])
    seconds = [draw["second"] for draw in DRAWS if draw["second"]]
    assert any(policy.OTHER in str(one) for one in seconds)
    assert any(one["options"] and policy.GUARD not in str(one) for one in seconds)
    assert any(one["file"] and policy.GUARD not in str(one) for one in seconds)


def test_administrators_have_keys_that_let_nobody_in():
    options, modes, kinds = set(), set(), set()
    for draw in DRAWS:
        for one in draw["files"]:
            if one["account"] in brake_grammar.administrators(draw):
                modes.add(one["mode"])
                options |= {option for line in one["lines"] for option in line["options"]}
                kinds |= {line["key"] for line in one["lines"]}
    assert {*brake_grammar.NO_WAY_IN, "cert-authority"} <= options
    assert 0o666 in modes
    assert {*brake_grammar.RSA, *brake_grammar.ECDSA} <= kinds
    refused = {name for draw in DRAWS for name, _ in grammar.settings_of(draw)}
    assert {"PubkeyAcceptedAlgorithms", "RequiredRSASize"} <= refused


def test_each_shape_of_revoked_keys_is_drawn():
    words = {value for draw in DRAWS for name, value in draw["config"]["main"] if name == "RevokedKeys"}
    assert words == {word for word, _, _ in brake_grammar.REVOKED}
    kinds = {draw["revoked"]["kind"] for draw in DRAWS if draw["revoked"]}
    assert kinds == {kind for _, _, kind in brake_grammar.REVOKED}


def test_commands_that_print_keys_are_drawn():
    printed = [draw["printed"] for draw in DRAWS if draw["printed"]]
    assert {one["arguments"] for one in printed} == {"%u", "", "%u %h %U", "%u %k", "%u %f %t"}
    assert {one["fails"] for one in printed} == {True, False}
    commands = [value for draw in DRAWS if draw["printed"] for name, value in draw["config"]["main"]
                if name == "AuthorizedKeysCommand"]
    assert {policy.GUARD in one for one in commands} == {True, False}


def test_some_changes_must_be_held_for_a_key_that_does_not_let_in():
    held = [draw for draw in DRAWS if brake_trial.must_hold(draw)]
    assert len(held) > 60 and all(map(brake_trial.concerned, held))
    assert any(line["options"] and line["options"][0] in brake_grammar.NO_WAY_IN
               for draw in held for one in draw["files"] for line in one["lines"]
               if (one["account"], line.get("key")) in brake_trial.must_hold(draw))


def test_several_nights_refuse_more_accounts_than_one_may():
    nights = [draw for draw in DRAWS if len(draw["change"]["nights"]) > 1]
    commands = {draw["change"]["command"] for draw in nights}
    assert {"update list", "list add"} <= commands <= set(brake_grammar.NIGHTLY)
    for draw in nights:
        users = [one for one in draw["accounts"] if one["uid"] != 0]
        assert len(users) > brake_grammar.limit(draw)


def test_administrators_are_members_of_the_groups_of_hold_if_refused():
    accounts = [{"name": name, "uid": uid, "gid": gid} for name, uid, gid in (
        ("root", 0, 0), ("a", 1, 5), ("b", 2, 2), ("c", 3, 3))]
    groups = [{"name": "staff", "gid": 5, "members": ["b"]}, {"name": "sudo", "gid": 6, "members": ["c"]}]
    draw = {"settings": [["HoldIfRefused", "3 staff"]], "accounts": accounts, "groups": groups}
    assert brake_grammar.administrators(draw) == ["a", "b"]
    assert brake_grammar.limit(draw) == 3
    assert brake_grammar.administrators({**draw, "settings": []}) == ["c"]
    assert brake_grammar.limit({**draw, "settings": []}) == 5


def test_half_of_the_changes_concern_somebody():
    assert 200 < sum(map(brake_trial.concerned, DRAWS)) < 500
