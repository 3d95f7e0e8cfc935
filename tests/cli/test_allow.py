# SPDX-License-Identifier: ISC
"""keyveto allow: the guard's verdict after each change of keyveto.conf."""


import pytest

import keys
from config_machine import CONFIG, FILTER, FINGERPRINT, MARKED, SAMPLE, World, day
from program import contains, equal, keyveto

pytestmark = pytest.mark.throwaway


def test_the_guard_lets_the_key_in_until_it_is_removed(scratch):
    """All other bytes of keyveto.conf stay."""
    for number, text in enumerate((SAMPLE, MARKED + SAMPLE, "OnError deny", b"OnError deny\r\n# \xff\n", "",
                                   SAMPLE + MARKED)):
        text = text if isinstance(text, bytes) else text.encode()
        folder = scratch / str(number)
        folder.mkdir(mode=0o755)
        world = World(folder, text)
        assert not world.lets_in(world.leaked)
        done = keyveto("allow", world.leaked.fingerprint, "--until", day(30), "build host,", "ticket 4711", status=0)
        contains(done.stdout, f"through {day(30)} (UTC)", f"keyveto allow --remove {world.leaked.fingerprint}\n")
        end = b"" if text in (b"",) or text.endswith(b"\n") else b"\n"
        line = f"AllowKey {world.leaked.fingerprint} until={day(30)} build host, ticket 4711\n".encode()
        equal(CONFIG.read_bytes(), text + end + line)
        assert world.lets_in(world.leaked) and world.lets_in(world.clean)
        contains(keyveto("check", "--all", world.leaked.path, status=0).stdout, ": allowed: ",
                 "(build host, ticket 4711)")
        contains(keyveto("allow", world.leaked.fingerprint, "--until", day(30), "build host, ticket 4711",
                         status=0).stdout,
                 "already")
        contains(keyveto("allow", "--remove", world.leaked.fingerprint, status=0).stdout, "taken out: AllowKey")
        equal(CONFIG.read_bytes(), text + end)
        assert not world.lets_in(world.leaked)
        contains(keyveto("allow", "--remove", world.leaked.fingerprint, status=2).stderr, "no AllowKey line of")
        world.nothing_left()


def test_a_key_that_is_allowed_already_is_updated_in_its_place(scratch):
    """The AllowKey line is replaced where it stands, and further lines with the key go."""
    world = World(scratch)
    mine = world.leaked.fingerprint
    head, tail = SAMPLE[:400], SAMPLE[400:]
    head, tail = head[:head.rindex("\n") + 1], head[head.rindex("\n") + 1:] + tail
    world.write(f"{head}  allowkey = {mine} until={day(-1)} old # why\n"
                f"{tail}AllowKey \"{mine}\"\nAllowKey {FINGERPRINT}")
    done = keyveto("allow", mine, "--until", day(60), "new", status=0)
    contains(done.stdout, f"before:   allowkey = {mine} until={day(-1)} old # why\n")
    equal(world.text, f"{head}AllowKey {mine} until={day(60)} new\n{tail}AllowKey {FINGERPRINT}")
    keyveto("allow", mine, "--forever", "for ever", status=0)
    equal(world.text, f"{head}AllowKey {mine} for ever\n{tail}AllowKey {FINGERPRINT}")
    assert world.lets_in(world.leaked)
    keyveto("allow", "--remove", FINGERPRINT, status=0)
    equal(world.text, f"{head}AllowKey {mine} for ever\n{tail}")


def test_one_key_is_taken_from_a_file_or_standard_input(scratch):
    """A file or standard input with several keys is refused."""
    world = World(scratch)
    keyveto("allow", world.leaked.path, "--until", day(), "x", status=0)
    contains(world.text, f"AllowKey {world.leaked.fingerprint} until={day()} x\n")
    keyveto("allow", "--remove", "-", status=0, input=f"# a key\nrestrict {world.leaked} c\n")
    equal(world.text, SAMPLE)
    certificate = keys.certify(keys.generate(scratch), keys.Identity(str(world.leaked.path)[:-4]), "root").certificate
    keyveto("allow", certificate.path, "--forever", "x", status=0)
    contains(world.text, f"AllowKey {world.leaked.fingerprint} x\n")
    for text, message in ((f"{world.leaked}\n{world.clean}\n", "2 SSH keys in it"), ("", "0 SSH keys in it"),
                          ("ssh-ed25519 AAAA\n", "-:1: ")):
        contains(keyveto("allow", "-", "--forever", "x", status=2, input=text).stderr, message)
    contains(keyveto("allow", scratch / "none", "--forever", "x", status=2).stderr, "No such file")


def test_bad_requests_are_refused_and_nothing_is_written(scratch):
    world = World(scratch)
    before = CONFIG.stat()
    for words, message in (((FINGERPRINT, "x"), "say until when"), ((FINGERPRINT, "--forever"), "give a reason"),
                           ((FINGERPRINT, "--forever", " "), "give a reason"),
                           ((FINGERPRINT, "--forever", "a\nOnHit warn"), "control character"),
                           ((FINGERPRINT, "--forever", "a\tb"), "control character"),
                           ((FINGERPRINT, "--forever", "\x7f"), "control character"),
                           ((FINGERPRINT, "--forever", "until=tomorrow"), "cannot begin with until="),
                           ((FINGERPRINT, "--forever", "x" * 513), "more than 512 bytes"),
                           ((FINGERPRINT, "--forever", "--until", day(30), "x"), "say until when"),
                           ((FINGERPRINT, "--until", day(-1), "x"), "is past"), ((), "allow needs a fingerprint"),
                           ((FINGERPRINT[:-1], "--forever", "x"), "not a fingerprint"),
                           (("--remove", FINGERPRINT, "x"), "and nothing else"),
                           *(((FINGERPRINT, "--until", date, "x"), "takes a date") for date in
                             ("2030-02-30", "2030-1-1", "tomorrow", "2030-01-01 ", "2030-01-01\n", "", "2030/01/01"))):
        done = keyveto("allow", *words, status=2)
        contains(done.stderr, message)
    equal((CONFIG.stat().st_ino, world.text), (before.st_ino, SAMPLE))
    world.nothing_left()


def test_in_a_file_with_a_mistake_no_allowkey_line_counts(scratch):
    """keyveto allow refuses such a file, and says how to correct it."""
    world = World(scratch)
    for text, message in ((SAMPLE + "OnHitt deny\n", "correct it with keyveto config edit"),
                          (MARKED.split("# END")[0] + SAMPLE, "a mark of keyveto's without the other one"),
                          (MARKED.replace("# END", f"AllowKey {FINGERPRINT}\n# END") + SAMPLE,
                           "between keyveto's marks")):
        world.write(text)
        contains(keyveto("allow", FINGERPRINT, "--forever", "x", status=2).stderr, message)
        equal(world.text, text)
    # A missing filter does not stop it: an administrator may need AllowKey just then.
    world.write(SAMPLE)
    FILTER.unlink()
    assert not world.lets_in(world.clean)
    keyveto("allow", world.clean.fingerprint, "--until", day(30), "the administrator", status=0)
    assert world.lets_in(world.clean) and not world.lets_in(world.leaked)
    CONFIG.unlink()
    keyveto("allow", FINGERPRINT, "--forever", "x", status=0)       # no sshd asks keyveto
    equal(world.text, f"AllowKey {FINGERPRINT} x\n")
