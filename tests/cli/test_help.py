# SPDX-License-Identifier: ISC
"""keyveto help, version, their short forms, and what is said of a mistyped word."""

import re

from documents import GROUPS, commands, help_of, options_in
from program import ROOT, contains, equal, keyveto


def test_help_and_version_have_several_forms():
    overview, version = keyveto("--help", status=0).stdout, keyveto("--version", status=0).stdout
    for words in (("-h",), ("help",), ("help", "help")):
        equal(keyveto(*words, status=0).stdout, overview, words)
    for words in (("-V",), ("version",), ("check", "--version"), ("doctor", "-V")):
        equal(keyveto(*words, status=0).stdout, version, words)
    for command in [*GROUPS, *commands()]:
        words = command.split()
        equal(keyveto("help", *words, status=0).stdout, help_of(command), command)
        equal(keyveto(*words, "-h", status=0).stdout, help_of(command), command)
    contains(keyveto("help", "nothing", status=2).stderr, "keyveto: unknown command nothing\n")
    equal(keyveto("check", "--help", "--nonsense", status=0).stdout, help_of("check"))
    assert all(len(line) <= 80 for text in (overview, *map(help_of, GROUPS)) for line in text.splitlines())


def test_a_file_can_have_the_name_of_a_word_for_the_version(scratch):
    (scratch / "version").write_text("no key\n", encoding="ascii")
    demo = ROOT / "testdata/demo/demo.pkbf"
    contains(keyveto("check", "--filter", demo, "version", cwd=scratch, status=2).stderr, "version:1: no key on this")


def test_the_overview_of_commands_names_their_page():
    for group in GROUPS:
        page = {"config": "keyveto-config(8)"}.get(group, f"keyveto-{group}(1)")
        equal(help_of(group).splitlines()[-1], f"'keyveto {group} COMMAND --help' tells more; so does {page}.")
    equal(keyveto("--help").stdout.splitlines()[-1], "'keyveto COMMAND --help' tells more; so does keyveto(1).")


def mistyped(word):
    """The word with two letters swapped, with one too many, with a wrong one, and without one."""
    for i in range(1, len(word) - 1):
        yield word[:i] + word[i + 1] + word[i] + word[i + 2:]
        yield word[:i] + "z" + word[i:]
        yield word[:i] + "z" + word[i + 1:]
        yield word[:i] + word[i + 1:]


def test_a_command_that_is_mistyped_is_asked_for():
    names = {command.split()[0] for command in commands()}
    for name in sorted(names - {"why"}):
        for word in set(mistyped(name)) - names:
            contains(keyveto(word, status=2).stderr, f"keyveto: unknown command {word}; did you mean {name}?\n")
    equal(keyveto("filter", "inof", status=2).stderr, "keyveto: unknown command filter inof; did you mean info?\n"
                                                      "keyveto: type keyveto filter --help, which names all\n")
    for word, name in (("explain", "why"), ("ban", "deny"), ("block", "deny"), ("revoke", "deny")):
        equal(keyveto(word, status=2).stderr, f"keyveto: unknown command {word}; did you mean {name}?\n"
                                              "keyveto: type keyveto --help, which names all\n")
    for word in ("x", "ch", "zzz", "files", "checking-keys", "", "c" * 300):
        assert "did you mean" not in keyveto(word, status=2).stderr, word


def test_a_command_has_its_old_name_too():
    for old, now in (("sshd enable", "enable"), ("sshd disable", "disable"), ("doctor", "status")):
        for words in (("--help",), ("--nonsense",), ("surplus",), ("-V",)):
            done, as_now = (keyveto(*name.split(), *words) for name in (old, now))
            equal((done.stdout, done.stderr, done.returncode), (as_now.stdout, as_now.stderr, as_now.returncode), old)
        equal(keyveto("help", *old.split(), status=0).stdout, help_of(now))


def test_an_option_that_is_mistyped_is_asked_for():
    for command in ("check", "sshd enable", "filter create", "list info"):
        options = options_in(help_of(command).split("\n", 1)[0])
        for option in sorted(options - {"--all", "--yes"}):
            # No letters that begin the option alone: these are taken for it.
            word = option[2:4][::-1] + option[4:]
            for written in (f"--{word}", f"--{word}=3"):
                said = keyveto(*command.split(), written, status=2).stderr
                if f"--{word}" not in options:
                    contains(said, f"keyveto: bad option {written}; did you mean {option}?\n")
    for written in ("--nonsense", "--json=3", "--" + "x" * 300, "--=json"):
        said = keyveto("check", written, status=2).stderr
        equal(re.findall("^keyveto: .*", said), [f"keyveto: bad option {written}"])
