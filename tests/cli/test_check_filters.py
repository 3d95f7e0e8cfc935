# SPDX-License-Identifier: ISC
"""keyveto check: which filters and settings count, and the messages about bad ones."""

import itertools
import os
import random
import re
from pathlib import Path

import pkbf
import sshkey
from check_runs import check, objects
from program import ROOT, contains, equal
from runs import findings, run, tool
from samples import Key, empty_filter, listing, made, random_blob, write


def test_several_filters_any_hit_counts(scratch):
    """The output names each filter that lists the key."""
    a, b, c = (made()[name] for name in ("ed25519", "rsa", "p256"))
    path = write(scratch / "file", f"{a.line}\n{b.line}\n{c.line}\n")
    first, second = listing(scratch / "1", a, b, k=7, p=14), listing(scratch / "2", b, k=3, p=20)
    third = listing(scratch / "3")
    result = check("--all", path, filters=[first, second, third], status=1)
    equal([(one.verdict, one.rest) for one in findings(result, path)],
          [("listed", f"{a.comment} [{first}]"), ("listed", f"{b.comment} [{first}] [{second}]"),
           ("clean", c.comment)], "text")
    rows = objects(check("--json", "--all", path, filters=[third, second, first], status=1))
    equal([row["filters"] for row in rows], [[str(first)], [str(second), str(first)], []], "JSON")
    check(path, filters=[third], status=0)
    check(path, filters=[first] * 64, status=1)
    contains(check(path, filters=[first] * 65, status=2).err.decode(), "keyveto: more than 64 filters\n")


def test_a_filter_of_the_oracles_command_is_the_same(scratch):
    """keyveto check finds the same keys in a filter that the oracle's command made, with compressed points."""
    names = ("p256", "p384", "rsa")
    tool("/usr/bin/python3", ROOT / "tests/oracle/pkbf.py", "create", scratch / "f", "--hashes", 20, "--length", 16,
         *(made()[name].public for name in names))
    path = write(scratch / "file", *(f"{key.line}\n" for key in made().values()))
    found = findings(check("--all", path, filters=[scratch / "f"], status=1), path)
    equal([(one.fingerprint, one.verdict) for one in found],
          [(key.fingerprint, "listed" if name in names else "clean") for name, key in made().items()], "verdicts")


def test_false_positives_are_those_of_the_filter(scratch):
    """keyveto check and the oracle agree about each key."""
    rnd = random.Random(6)
    small = pkbf.Filter.create(2, 10)
    for _ in range(200):
        small.add(sshkey.spkis(random_blob(rnd))[0])
    small.write(scratch / "small")
    keys = [Key(str(number), random_blob(rnd)) for number in range(400)]
    path = write(scratch / "file", *(f"{key.line}\n" for key in keys))
    found = findings(check("--all", path, filters=[scratch / "small"], status=1), path)
    equal([one.verdict == "listed" for one in found], [small.contains_key(key.oracle) for key in keys], "verdicts")
    assert 20 < sum(one.verdict == "listed" for one in found) < 380, "nothing to tell apart"


def test_the_configurations_filters_and_allowkey_count(scratch):
    """--filter replaces the filters of the configuration."""
    a, b, c = (made()[name] for name in ("ed25519", "rsa", "p256"))
    bad, empty = listing(scratch / "bad.pkbf", a, b), listing(scratch / "empty.pkbf")
    path = write(scratch / "file", f"{a.line}\n{c.line}\n")
    config = write(scratch / "conf", f"Filter {bad}\nAllowKey {a.fingerprint} reason is here\n")
    result = run("check", "--config", config, path, status=0)
    equal(result.out, b"", "an allowed key is no hit")
    equal((result.summary["listed"], result.summary["allowed"], result.summary["clean"]), (0, 1, 1), "summary")
    result = run("check", "--config", config, "--all", path, status=0)
    equal([(one.verdict, one.rest) for one in findings(result, path)][1], ("clean", c.comment), "clean one")
    equal(findings(result, path)[0].verdict, "allowed", "allowed one")
    contains(result.lines[0], a.fingerprint, "reason is here")
    row = objects(run("check", "--config", config, "--all", "--json", path, status=0))[0]
    equal((row["verdict"], row["fingerprint"], row["reason"]), ("allowed", a.fingerprint, "reason is here"), "JSON")
    # Another key is still listed. --filter replaces Filter, not AllowKey.
    both = write(scratch / "both", f"{a.line}\n{b.line}\n")
    equal(len(run("check", "--config", config, both, status=1).lines), 1, "the other key")
    run("check", "--config", config, "--filter", empty, both, status=0)
    for status, text, words in ((0, f"Filter {empty}\nAllowKey {a.fingerprint}\n", ("--filter", bad)),
                                (1, f"Filter {empty}\nFilter {bad}\n", ()),
                                (1, f"Filter {bad}\nAllowKey {a.fingerprint} until=2000-01-01 too late\n", ()),
                                (0, f"Filter {bad}\nAllowKey {a.fingerprint} until=2999-01-01\n", ())):
        run("check", "--config", write(scratch / "conf2", text), *words, path, status=status)


def test_onhit_onerror_and_onunsupported_do_not_matter_here(scratch):
    a = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", a)
    listed = write(scratch / "a", a.line)
    unknown = write(scratch / "u", sshkey.key_line(sshkey.build_plain("ssh-new", b"")))
    choices = itertools.product(("deny", "warn"), ("deny", "allow"), ("deny", "allow"))
    for hit, error, unsupported in choices:
        config = write(scratch / "conf", f"Filter {bad}\nOnHit {hit}\nOnError {error}\nOnUnsupported {unsupported}\n")
        run("check", "--config", config, listed, status=1)
        run("check", "--config", config, unknown, status=2)
        run("check", "--config", config, "--filter", scratch / "missing", listed, status=2)


def test_a_bad_configuration_status_2_with_file_line_and_reason(scratch):
    path = write(scratch / "file", made()["ed25519"].line)
    for text, line in (("Nonsense yes\n", 1), ("# x\nOnHit maybe\n", 2), ("AllowKey MD5:00\n", 1),
                       (f"Filter {empty_filter()}\n\nFilter\n", 3), ('Filter "x\n', 1), ("\x1b[0m\n", 1)):
        config = write(scratch / "conf", text)
        result = run("check", "--config", config, path, status=2)
        equal(result.out, b"", text)
        assert any(re.match(rf"keyveto: {re.escape(str(config))}:{line}: .", message) for message in result.messages), \
            f"{text!r}: {result.messages}"
    for config in (scratch / "missing", scratch):
        contains(run("check", "--config", config, path, status=2).err.decode(), f"{config}: ")


def test_a_filter_that_others_may_write_is_only_warned_of(scratch):
    a = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", a)
    path = write(scratch / "file", a.line)
    root = os.geteuid() == 0        # another user owns the filter, and is warned of that
    if root:
        equal(check(path, filters=[bad], status=1).warnings, [], "warnings")
    bad.chmod(0o666)
    result = check(path, filters=[bad], status=1)
    equal(len(result.warnings), 1, "warnings")
    assert result.warnings[0].startswith(f"keyveto: warning: {bad if root else ''}"), result.warnings
    equal(len(result.lines), 1, "findings")
    open_folder = scratch / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    inside = listing(open_folder / "bad.pkbf", a)
    contains(check(path, filters=[inside], status=1).err.decode(), "keyveto: warning: ")
    (scratch / "link").symlink_to(bad)
    check(path, filters=[scratch / "link"], status=1)


def test_a_missing_or_corrupt_filter_is_status_2(scratch):
    """The message names the file and the reason. No key is checked."""
    a = made()["ed25519"]
    good = listing(scratch / "good.pkbf", a)
    data = good.read_bytes()
    path = write(scratch / "file", a.line)
    broken = {"missing": None, "empty": b"", "short header": data[:23], "short": data[:-1], "long": data + b"\0",
              "no filter": b"x" * len(data), "another version": b"pkbfv2" + data[6:],
              "no hashes": data[:22] + b"\0" + data[23:],
              "p of 2": data[:23] + b"\2" + data[24:24], "p of 255": data[:23] + b"\xff" + data[24:],
              "header only": data[:24]}
    for title, content in broken.items():
        bad = scratch / "bad.pkbf"
        bad.unlink(missing_ok=True)
        if content is not None:
            write(bad, content)
        for filters in ([bad], [good, bad], [bad, good]):
            for words in ((), ("--json",), ("--quiet",)):
                result = check(*words, path, filters=filters, status=2)
                equal(result.out, b"", title)
                assert any(re.match(rf"keyveto: {re.escape(str(bad))}: .", message) for message in result.messages), \
                    f"{title}: {result.messages}"
        config = write(scratch / "conf", f"Filter {bad}\n")
        contains(run("check", "--config", config, path, status=2).err.decode(), f"keyveto: {bad}: ", "--filter")
    os.mkfifo(scratch / "fifo")
    for what in (scratch, scratch / "fifo", Path("/dev/null")):
        contains(check(path, filters=[what], status=2).err.decode(), f"keyveto: {what}: not a regular file")
