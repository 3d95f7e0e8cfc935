# SPDX-License-Identifier: ISC
"""keyveto status: keyveto.conf, the filters and the canaries."""

import os
import time
from pathlib import Path

import pytest

from doctor_machine import CANARIES, CONFIG, DAY, FILTER, expect, expect_all_well
from program import contains, equal, lacks

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def test_config_missing_mistaken_or_writable_by_others(scratch, machine):
    machine.canaries(machine.listed)
    unseen = ["policy", "exceptions", "filter", "filter-age", "filter-rate", "list", "list-age", "update", "canaries"]
    CONFIG.chmod(0o666)
    expect("config", "broken", "writable by group or others", others=unseen)
    CONFIG.chmod(0o644)
    machine.config("OnHit deny", "Nonsense")
    expect("config", "broken", f"{CONFIG}:2: ", others=unseen)
    CONFIG.unlink()
    expect("config", "broken", "No such file", others=[*unseen, "guard-user"])
    # Of a configuration with a mistake, doctor knows only what a login makes of it.
    machine.config("OnHit deny", "OnError deny", "Nonsense")
    found = expect("policy", "warning", "not looked at", "OnError deny: no key is let in",
                   others=["config", *unseen[1:]])
    lacks(str(found["policy"]), "OnHit deny: ")
    machine.config("OnError allow", "Nonsense")
    expect("policy", "warning", "OnError allow: listed keys are let in", others=["config", *unseen[1:]])
    CONFIG.unlink()
    other = scratch / "other.conf"
    other.write_text("", encoding="utf-8")
    # Logins read another one, which is not there.
    expect("config", "broken", f"{CONFIG}: No such file", arguments=("--config", other))


def test_policy_that_lets_keys_in_is_a_warning(machine):
    """The warnings are for OnHit warn, and for a login that is let in without a verdict."""
    machine.config("OnHit warn")
    expect("policy", "warning", "OnHit warn")
    machine.config("OnError allow")
    expect("policy", "warning", "OnError allow")


def test_exceptions_past_their_date_are_named(machine):
    digest = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
    machine.config(f"AllowKey {digest} until=2020-01-01 over")
    expect("exceptions", "warning", "1 of 1")
    machine.config(f"AllowKey {digest} until=9999-01-01 not yet")
    contains(expect_all_well()["exceptions"][0]["found"], "1 AllowKey line, 0 without an end date")


def test_an_account_with_a_listed_key_that_is_allowed_is_no_well_being(world, machine):
    alice, bob = world.account("alice"), world.account("bob")
    for account in (alice, bob):
        account.authorize("# of old", machine.listed)
    machine.config(f"AllowKey {(allowed := machine.listed.fingerprint)} until=9999-01-01 not yet")
    found = expect("exceptions", "warning", *(
        f"{one.home}/.ssh/authorized_keys:2: {one.name}'s key {allowed} is listed, and an AllowKey line lets it in"
        for one in (alice, bob)))
    contains(str(found["exceptions"][-1]["remedy"]), "keyveto allow --remove")
    machine.config(f"AllowKey {allowed} until=2020-01-01 over")
    expect("exceptions", "warning", "1 of 1")
    machine.config(f"AllowKey {machine.clean.fingerprint} until=9999-01-01 not listed")
    bob.authorize(machine.clean)
    expect_all_well()


def test_filter_missing_truncated_insecure_empty_full(machine):
    gone = ["filter-age", "filter-rate"]
    FILTER.chmod(0o664)
    expect("filter", "broken", "writable by group", others=gone)
    FILTER.chmod(0o644)
    whole = FILTER.read_bytes()
    FILTER.write_bytes(whole[:-1])
    expect("filter", "broken", str(FILTER), others=gone)
    FILTER.unlink()
    expect("filter", "broken", "No such file", others=[*gone, "guard-user"])
    FILTER.write_bytes(whole[:18] + bytes(4) + whole[22:24] + bytes(len(whole) - 24))
    expect("filter", "broken", "is empty: it lists no key")
    FILTER.write_bytes(b"")
    expect("filter", "broken", str(FILTER), others=gone)
    FILTER.write_bytes(whole + b"x")
    expect("filter", "broken", str(FILTER), others=gone)
    FILTER.write_bytes(whole[:24] + bytes(len(whole) - 24))
    expect("filter", "broken", str(FILTER))
    FILTER.write_bytes(whole[:24] + b"\xff" * (len(whole) - 24))
    expect("filter", "broken", "every bit is set", others=["filter-rate"])
    FILTER.write_bytes(whole)
    expect_all_well()
    assert machine.listed


def test_filter_of_several_each_counts(machine):
    machine.config(f"Filter {FILTER}", "Filter /var/lib/keyveto/other.pkbf")
    found = expect("filter", "broken", "other.pkbf", others=["guard-user"])
    equal([one["status"] for one in found["filter"]], ["ok", "broken"])
    machine.make_filter(path=FILTER.with_name("other.pkbf"))
    expect_all_well()


def test_filter_age_too_old_undated_from_the_future(machine):
    now = int(time.time())
    machine.make_filter("--time", now - 31 * DAY)
    expect("filter-age", "warning", "31 days old")
    expect("filter-age", "ok", arguments=("--max-age", "32"))
    expect("filter-age", "ok", arguments=("--max-age", "0"))
    machine.make_filter("--time", now - 29 * DAY)
    expect("filter-age", "ok")
    expect("filter-age", "warning", "29 days old", arguments=("--max-age", "28"))
    machine.make_filter("--time", now + 3 * DAY)
    expect("filter-age", "warning", "future")
    machine.make_filter("--time", 0)
    expect("filter-age", "warning", "when it was made")


def test_filter_rate_by_the_bits_that_are_set(machine):
    machine.make_filter(hashes=1, length=12)      # 1 bit of 4096: 2.4e-4
    expect("filter-rate", "warning", "0.000244")
    machine.make_filter(hashes=1, length=4)       # 1 of 16
    expect("filter-rate", "broken", "0.0625")
    machine.make_filter(hashes=2, length=12)      # (2 of 4096) squared
    expect("filter-rate", "ok", "2.38e-07")
    machine.make_filter(hashes=12, length=6)      # there are only 2^11 patterns, however many bits a key sets
    expect("filter-rate", "warning", "chance of 0.000")


def test_canaries_each_key_in_the_file_must_be_listed(scratch, machine):
    contains(expect_all_well()["canaries"][0]["found"], f"no {CANARIES}")
    CANARIES.symlink_to("missing")
    expect("canaries", "warning", "No such file")
    CANARIES.unlink()
    machine.canaries(machine.listed)
    contains(expect_all_well()["canaries"][0]["found"], "its 1 key is listed")
    machine.canaries(machine.listed, machine.clean)
    expect("canaries", "broken", f"{CANARIES}:2: ", machine.clean.fingerprint, "not listed")
    machine.canaries()
    expect("canaries", "warning", "no key")
    CANARIES.write_text("ssh-ed25519 AAAA\n", encoding="utf-8")
    expect("canaries", "warning", f"{CANARIES}:1: ")
    expect("canaries", "ok", arguments=("--canary", machine.listed.path))
    expect("canaries", "broken", arguments=("--canary", machine.clean.path))
    expect("canaries", "warning", "No such file", arguments=("--canary", scratch / "missing"))
    for path in ("/dev/zero", scratch, scratch / "fifo"):
        if not Path(path).exists():
            os.mkfifo(path)
        expect("canaries", "warning", "not a regular file", arguments=("--canary", path))
    # A canary that AllowKey names is still looked up in the filters.
    CANARIES.unlink()
    machine.config(f"AllowKey {machine.listed.fingerprint}")
    expect("canaries", "ok", arguments=("--canary", machine.listed.path))
