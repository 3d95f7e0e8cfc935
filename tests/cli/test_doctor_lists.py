# SPDX-License-Identifier: ISC
"""keyveto status: exact lists."""

import random
import re
import time

import pytest

from doctor_machine import CANARIES, DAY, FILTER, doctor, expect, expect_all_well
from list_runs import hashes, random_records, write_list
from program import contains, equal, keyveto, lacks

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

LIST = FILTER.with_name("blocklist.dat")
SOURCES = LIST.with_name("blocklist.dat.sources")


def day(days):
    return time.strftime("%Y-%m-%d", time.gmtime(time.time() - days * DAY))


def put_list(*keys, days=1, count=1000):
    records = random_records(random.Random(1), count) + [(digest, 13) for key in keys for digest in hashes(key)]
    write_list(LIST, records, f"# date {day(days)}\n13 debianssl\n")
    for path in (LIST, SOURCES):
        path.chmod(0o644)
    return LIST


def configure(machine, *lines):
    """Names the list. Without a line for it, the default filter goes away."""
    machine.config(f"Blocklist {LIST}", *lines)
    if not lines:
        FILTER.unlink(missing_ok=True)


def test_a_list_alone_is_enough(machine):
    put_list(machine.listed.path.read_text(encoding="ascii"))
    configure(machine)
    found = expect_all_well()
    contains(found["list"][0]["found"], f"{LIST}: 1001 records in order")
    contains(found["list-age"][0]["found"], f"{LIST}: was made {day(1)}")
    for check in ("filter", "filter-age", "filter-rate"):
        contains(found[check][0]["found"], "there is no filter")
    contains(doctor()[0]["list"][0]["found"], "look-ups find them")


def test_a_default_filter_that_a_list_switched_off_is_a_warning(machine):
    put_list()
    machine.config(f"Blocklist {LIST}")
    found = expect("filter", "warning", f"no login consults {FILTER}")
    contains(found["filter"][0]["remedy"], f"add the line 'Filter {FILTER}' to keyveto.conf")
    doctor_of_list = doctor("--blocklist", LIST)[0]
    contains(doctor_of_list["filter"][0]["found"], "there is no filter")
    machine.config(f"Blocklist {LIST}", f"Filter {FILTER}")
    expect_all_well()


def test_a_list_missing_cut_short_insecure_or_out_of_order_is_broken(machine):
    put_list()
    configure(machine)
    expect_all_well()
    data = LIST.read_bytes()
    swapped = data[:8000] + data[8016:8032] + data[8000:8016] + data[8032:]
    for content, parts in ((data[:-1], ["no exact list: it is empty, or not whole records"]), (b"", ["it is empty"]),
                           (swapped, ["record 502, at byte 8016, is below"])):
        LIST.write_bytes(content)
        expect("list", "broken", str(LIST), *parts, others=["list-age"])
    LIST.write_bytes(data)
    LIST.chmod(0o664)
    expect("list", "broken", "writable by group", others=["list-age"])
    LIST.unlink()
    expect("list", "broken", "No such file", others=["list-age", "guard-user"])


def test_old_and_future_dates_are_warnings_and_no_date_is_none(machine):
    configure(machine)
    put_list(days=119)
    expect_all_well()
    put_list(days=122)
    expect("list-age", "warning", "is 122 days old")
    doctor_age = ("--max-age", "200")
    equal(doctor(*doctor_age)[1]["status"], "ok", "with --max-age 200")
    equal(doctor("--max-age", "0")[1]["status"], "ok", "with --max-age 0")
    put_list(days=40)
    expect("list-age", "warning", "is 40 days old", arguments=("--max-age", "35"))
    put_list(days=-3)
    expect("list-age", "warning", "was made in the future")
    for text in ("13 debianssl\n", "# date 2026-02-30\n", "# date soon\n"):
        SOURCES.write_text(text, encoding="ascii")
        contains(expect_all_well()["list-age"][0]["found"], "its age is not known")


def test_names_that_no_login_would_use_are_a_warning(machine):
    put_list()
    configure(machine)
    SOURCES.chmod(0o666)
    expect("list", "warning", str(SOURCES), "writable by group or others")
    SOURCES.unlink()
    expect_all_well()


def test_a_canary_may_be_in_a_list_or_in_a_filter(machine):
    machine.canaries(machine.listed, machine.clean)
    configure(machine, f"Filter {FILTER}")
    put_list()
    expect("canaries", "broken", "is not listed")
    put_list(machine.clean.path.read_text(encoding="ascii"))
    contains(expect_all_well()["canaries"][0]["found"], f"{CANARIES}: its 2 keys are listed")


def test_metrics_and_json_tell_records_and_age(machine):
    put_list(days=2)
    configure(machine)
    one = doctor()[1]["lists"][0]
    equal((one["file"], one["records"]), (str(LIST), 1000), "JSON")
    assert 2 * DAY <= one["age_seconds"] < 3 * DAY + 60, one
    text = keyveto("doctor", "--prometheus").stdout
    figures = dict(re.findall(rf'^(keyveto_list_\w+){{list="{re.escape(str(LIST))}"}} (\S+)$', text, re.MULTILINE))
    equal(figures["keyveto_list_records"], "1000", "metric")
    equal(float(figures["keyveto_list_timestamp_seconds"]), float(one["time_seconds"]), "metric")
    SOURCES.unlink()
    text = keyveto("doctor", "--prometheus").stdout
    contains(text, "keyveto_list_records{")
    lacks(text, "keyveto_list_timestamp_seconds{", "keyveto_list_age_seconds{")
    equal(doctor()[1]["lists"][0]["age_seconds"], None, "JSON")


def test_the_list_of_weak_keys_of_an_older_version_counts_by_its_line(machine):
    weak = put_list().rename(FILTER.with_name("weak.dat"))
    SOURCES.unlink()
    lacks(str(doctor()[0]["list"]), str(weak))
    machine.config(f"Blocklist {weak}", f"Filter {FILTER}")
    contains(str(doctor()[0]["list"]), f"{weak}: 1000 records in order")
    expect_all_well()
