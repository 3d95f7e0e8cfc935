# SPDX-License-Identifier: ISC
"""keyveto enable --json and disable --json: what they tell is what happens to the files, by reading them."""

import json

import pytest

from program import equal
from sshd_machine import DROP_IN, INCLUDE, Image, clean_key, leaked_key, must_refuse, restored

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]


def told(done):
    """The last object, and those of the keys before it."""
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    return objects[-1], objects[:-1]


def texts(machine):
    """{path: text} of all files below /etc."""
    return {f"/{path.relative_to(machine.root)}": path.read_text(encoding="utf-8", errors="replace")
            for path in machine.path("/etc").rglob("*") if path.is_file() and not path.is_symlink()}


def difference(before, after):
    """What --json must tell of the files, from the files themselves."""
    return {path: (before.get(path), after.get(path)) for path in {*before, *after}
            if before.get(path) != after.get(path)}


def by_path(plan):
    return {one["path"]: (one["before"], one["after"]) for one in plan["files"]}


def test_a_dry_run_predicts_each_byte_and_a_second_run_changes_nothing(scratch):
    image = Image(scratch)
    image.account("alice", clean_key())
    for verb, words in (("enable", ("--warn",)), ("enable", ()), ("disable", ())):
        before, snapshot = texts(image), image.snapshot()
        plan, keys = told(image.run(verb, *words, "--dry-run", "--json", status=0))
        restored(snapshot, image.snapshot())
        equal((plan["sshd"], plan["dry_run"], plan["changed"], keys), (verb, True, True, []))
        done, _ = told(image.run(verb, *words, "--json", status=0))
        equal(by_path(plan), difference(before, texts(image)), f"{verb} --dry-run --json")
        equal(by_path(done), by_path(plan), f"{verb} --json")
        equal((done["dry_run"], done["changed"], done["reloaded"]), (False, True, False))
        for again in (("--dry-run",), ()):
            plan, _ = told(image.run(verb, *words, *again, "--json", status=0))
            equal((plan["changed"], plan["files"]), (False, []), f"{verb} {words} {again}, once more")


def test_the_refused_are_told_and_stop_it(scratch):
    image = Image(scratch)
    image.account("alice", clean_key())
    image.account("mallory", leaked_key())
    image.account("bob", leaked_key(), clean_key())
    home = image.account("carol", clean_key())
    (home / ".ssh/authorized_keys").unlink()
    (home / ".ssh/authorized_keys").symlink_to("nothing")
    done, keys = told(must_refuse(image, "--json", status=1))
    refused = done["refused"]
    equal({one["account"]: one["locked_out"] for one in refused["accounts"]}, {"mallory": True, "bob": False})
    equal((refused["unjudged"], refused["listed_cas"], refused["stops"]), (["carol"], 0, True))
    equal((done["status"], done["changed"], done["files"]), (1, False, []))
    equal(sorted(key["account"] for key in keys if key["verdict"] == "listed"), ["bob", "mallory"])
    plan, _ = told(image.run("enable", "--dry-run", "--json", status=0))
    equal((plan["status"], plan["refused"]["stops"], plan["changed"]), (0, True, True))


def test_what_fails_is_told_too(scratch):
    image = Image(scratch, INCLUDE + "Nonsense yes\n")
    done, _ = told(must_refuse(image, "--json", status=2))
    equal((done["status"], done["changed"], done["refused"]), (2, False, None))


def test_a_file_that_others_hold_in_latin_1_is_still_json(scratch):
    image = Image(scratch)
    image.write("/etc/ssh/sshd_config", INCLUDE.encode() + b"# caf\xe9\n")
    plan, _ = told(image.run("enable", "--dry-run", "--json", status=0))
    equal([one["before"] for one in plan["files"] if one["path"] == DROP_IN], [None])
