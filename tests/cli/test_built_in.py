# SPDX-License-Identifier: ISC
"""Keys that need no secret in keyveto check and why, against tests/oracle/nosecret.py."""

import random
import re

import pytest

import nosecret
import sshkey
from check_runs import check, objects
from program import contains, equal, lacks
from runs import Found, findings, run
from samples import certificate, empty_filter, listing, made, write

NEUTRAL = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(bytes([1, *bytes(31)])))
COMPOSITE = sshkey.build_plain(sshkey.MLDSA, sshkey.fields_raw(bytes(1312) + bytes([1, *bytes(31)])))
BROKEN = ("Filter /nonexistent\n", "Blocklist /nonexistent\n", "NoSuchKeyword\n")


def line_of(blob, comment=""):
    return sshkey.key_line(blob, comment=comment)


def one_of(source):
    """A key of a class, as a blob."""
    return next(blob for blob in blobs() if nosecret.source(blob) == source)


def blobs():
    for name, fields in nosecret.keys(random.Random(29)):
        yield sshkey.build_plain(name, fields)


SOURCES = ("rsa-exponent", "rsa-factor", "ed25519-order", "ecdsa-generator", "dsa-group")


@pytest.mark.parametrize("form", ("{}", "restrict {}", "  {}", "{} a comment"))
def test_check_agrees_with_the_oracle_about_every_form_of_line(scratch, form):
    keys = list(blobs())
    path = write(scratch / "file", *(form.format(line_of(blob)) + "\n" for blob in keys))
    done = check("--all", path, status=1)
    found = {one.line: one for one in findings(done, path)}
    for number, blob in enumerate(keys, 1):
        one, source = found[number], nosecret.source(blob)
        equal(one.verdict, "listed" if source else "clean", f"{source}: {blob.hex()}")
        if source:
            assert one.rest.endswith(f"[built-in {source}]"), one
    equal(done.summary["listed"], sum(nosecret.source(blob) is not None for blob in keys))


def test_json_names_the_list_and_the_source(scratch):
    path = write(scratch / "file", *(line_of(one_of(source)) + "\n" for source in SOURCES))
    found = objects(check("--json", path, status=1))
    equal([(one["verdict"], one["filters"], one["lists"], one["source"], one["sources"], one["reason"])
           for one in found], [("listed", [], ["built-in"], source, [source], "") for source in SOURCES])


def test_files_that_list_it_are_named_behind_it(scratch):
    path = write(scratch / "key.pub", line_of(NEUTRAL), "\n")
    bad = scratch / "bad"
    run("filter", "create", bad, "--hashes", 12, "--length", 18, status=0)
    run("filter", "add", bad, path, status=0)
    listed = scratch / "list"
    run("list", "create", listed, path, status=0)
    done = run("check", "--filter", bad, "--blocklist", listed, path, status=1)
    equal(findings(done, path)[0].rest, f"[{bad}] [built-in ed25519-order] [{listed} id0]")
    found = objects(run("check", "--json", "--filter", bad, "--blocklist", listed, path, status=1))
    equal((found[0]["lists"], found[0]["source"], found[0]["sources"]),
          (["built-in", str(listed)], "ed25519-order", ["ed25519-order", "id0"]))


def test_pem_and_certificates_are_judged_too(scratch):
    point = sshkey.ec_point("nistp384", *nosecret.ec_multiples("nistp384")[2])
    for spki, source in ((sshkey.spki_raw("ed25519", bytes([1, *bytes(31)])), "ed25519-order"),
                         (sshkey.spki_ec("nistp384", point), "ecdsa-generator"),
                         (sshkey.spki_rsa(nosecret.sound_number(random.Random(1), 2048), 1), "rsa-exponent"),
                         (sshkey.spki_rsa(3 * nosecret.sound_number(random.Random(1), 2048), 3), "rsa-factor")):
        path = write(scratch / "file", spki)
        assert findings(check(path, status=1), path)[0].rest.endswith(f"[built-in {source}]"), source
    sound = made()["ed25519"]
    signed = sshkey.build_cert("ssh-ed25519-cert-v01@openssh.com", sshkey.fields_raw(sound.blob[-32:]), NEUTRAL)
    path = write(scratch / "file", sshkey.key_line(signed), "\n")
    contains(check(path, status=1).out.decode(), "(CA) [built-in ed25519-order]\n")
    path = certificate(sound, made()["other"])
    equal(check(path, status=0).lines, [])


@pytest.mark.parametrize("text", BROKEN)
def test_without_a_readable_file_only_such_keys_have_a_verdict(scratch, text):
    config = write(scratch / "keyveto.conf", text)
    path = write(scratch / "file", f"{line_of(NEUTRAL)}\n{made()['ed25519'].line}\n{made()['rsa'].line}\n")
    done = run("check", "--config", config, path, status=1)
    equal([(one.line, one.verdict) for one in findings(done, path)], [(1, "listed")])
    equal({name: done.summary[name] for name in ("keys", "listed", "clean", "problems")},
          {"keys": 3, "listed": 1, "clean": 0, "problems": 2})
    # Why the others have none is said once.
    equal(len(done.problems), 2, done.problems)
    contains(done.problems[1], f"correct it with keyveto config edit --config {config}")
    sound = write(scratch / "sound", f"{made()['ed25519'].line}\n")
    equal(run("check", "--config", config, sound, status=2).out, b"")
    equal(run("check", "--quiet", "--config", config, path, status=1).out, b"")


def test_a_filter_that_was_named_must_be_readable(scratch):
    path = write(scratch / "file", line_of(NEUTRAL), "\n")
    equal(run("check", "--filter", "/nonexistent", path, status=2).out, b"")
    equal(run("why", "--filter", "/nonexistent", path, status=2).out, b"")


def test_keyveto_conf_decides_as_for_an_exact_list(scratch):
    path = write(scratch / "file", line_of(NEUTRAL), "\n")
    config = write(scratch / "keyveto.conf", f"Filter {empty_filter()}\nOnProbable warn\n"
                   f"AllowKey {sshkey.fingerprint(NEUTRAL)} for a test\n")
    found = findings(run("check", "--all", "--config", config, path, status=0), path)
    equal(found, [Found(1, "allowed", "ssh-ed25519", 256, sshkey.fingerprint(NEUTRAL),
                        "[built-in ed25519-order] (for a test)")])
    contains(run("why", "--config", config, path, status=0).out.decode(), "AllowKey in keyveto.conf lets it in")


@pytest.mark.parametrize("source", SOURCES)
def test_why_says_in_two_sentences_what_the_class_is(scratch, source):
    path = write(scratch / "file", line_of(one_of(source)), "\n")
    for files in (["--filter", empty_filter()], ["--config", write(scratch / "conf", "Filter /nonexistent\n")]):
        out = run("why", *files, path, status=0).out.decode()
        contains(out, "It needs no secret: anybody can sign with it.\n", "  exact list   built-in\n",
                 f"  source       {source}\n", " login with it is refused.\n", "keyveto audit --logins")
        lacks(out, "private half is known to others")
        said = re.search(rf"{source}\n((?:Its|A small prime).*?)\nNo program", out, re.S)[1]
        equal(len(re.findall(r"\.(?=\s|$)", said)), 2, said)


def test_why_says_that_half_of_a_composite_key_still_needs_its_secret(scratch):
    path = write(scratch / "file", line_of(COMPOSITE), "\n")
    out = run("why", "--filter", listing(scratch / "bad", made()["rsa"]), path, status=0).out.decode()
    contains(out, "Its Ed25519 half needs no secret.", "ML-DSA half", "ed25519-order")
    lacks(out, "anybody can sign with it.\n")
