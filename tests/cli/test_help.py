# SPDX-License-Identifier: ISC
"""keyveto help, version, their short forms."""

from documents import GROUPS, commands, help_of
from program import ROOT, contains, equal, keyveto


def test_help_and_version_have_several_forms():
    overview, version = keyveto("--help", status=0).stdout, keyveto("--version", status=0).stdout
    for words in (("-h",), ("help",), ("help", "help")):
        equal(keyveto(*words, status=0).stdout, overview, words)
    for words in (("-V",), ("version",), ("check", "--version"), ("sshd", "-V")):
        equal(keyveto(*words, status=0).stdout, version, words)
    for command in [*GROUPS, *commands()]:
        words = command.split()
        equal(keyveto("help", *words, status=0).stdout, help_of(command), command)
        equal(keyveto(*words, "-h", status=0).stdout, help_of(command), command)
    contains(keyveto("help", "nothing", status=2).stderr, "keyveto: unknown command nothing\n")


def test_a_file_can_have_the_name_of_a_word_for_the_version(scratch):
    (scratch / "version").write_text("no key\n", encoding="ascii")
    demo = ROOT / "testdata/demo/demo.pkbf"
    contains(keyveto("check", "--filter", demo, "version", cwd=scratch, status=2).stderr, "version:1: no key on this")


def test_the_overview_of_commands_names_their_page():
    for group in GROUPS:
        page = f"keyveto-{group}({8 if group in ('sshd', 'config') else 1})"
        equal(help_of(group).splitlines()[-1], f"'keyveto {group} COMMAND --help' tells more; so does {page}.")
    equal(keyveto("--help").stdout.splitlines()[-1], "'keyveto COMMAND --help' tells more; so does keyveto(1).")
