# SPDX-License-Identifier: ISC
"""The completions for bash, zsh and fish, against --help, and that for bash in a terminal."""

import contextlib
import os
import re
import select
import shlex
import shutil
import subprocess
import time

import pytest
from documents import EVERYWHERE, GROUPS, commands, help_of, options_in, same_names
from program import KEYVETO, PATIENCE, ROOT, equal
from terminal import Terminal

FOLDER = ROOT / "completion"
COMPLETION = FOLDER / "keyveto.bash"
# The completions ask this program.
ENVIRONMENT = {**os.environ, "PATH": f"{KEYVETO.parent}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


class Bash:
    """bash with the completion."""

    def __init__(self, cwd):
        self.cwd = cwd

    def offers(self, *words, **environment):
        """The words that it offers for the last of these; "" begins a new word."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1));'
                  ' _keyveto; ((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-uc", script, "bash", str(COMPLETION), "keyveto", *words],
                              env={**ENVIRONMENT, **environment}, cwd=self.cwd, capture_output=True, text=True,
                              check=False)
        equal((done.returncode, done.stderr), (0, ""))
        return dict.fromkeys(done.stdout.splitlines(), "")

    def close(self):
        """There is nothing to close."""


class Fish(Bash):
    """fish with the completion."""

    def offers(self, *words):
        """The words that it offers for the last of these, and what it says of each."""
        script = f"source {FOLDER}/keyveto.fish; complete -C {shlex.quote(' '.join(('keyveto', *words)))}"
        done = subprocess.run(["fish", "--no-config", "-c", script], cwd=self.cwd, capture_output=True, text=True,
                              env={**ENVIRONMENT, "HOME": str(self.cwd)}, check=False)
        equal((done.returncode, done.stderr), (0, ""))
        return {name.rstrip("/"): text for name, _, text in (line.partition("\t") for line in done.stdout.splitlines())}


class Zsh:
    """An interactive zsh with the completion. A key has it write what it offers for the words of a file."""

    SETUP = r"""
fpath=($FOLDER $fpath); autoload -Uz compinit; compinit -u -D
compadd() {
    [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] || {
        local -a offered
        builtin compadd -A offered "$@"
        print -rl -- $offered >>$OFFERS
    }
    builtin compadd "$@"
}
offer() { BUFFER=$(<$WORDS); CURSOR=$#BUFFER; zle list_them; print -r -- . >>$OFFERS; BUFFER= }
zle -C list_them list-choices _main_complete
zle -N offer
bindkey '^T' offer
print -r -- . >>$OFFERS
"""

    def __init__(self, cwd):
        self.words, self.offered, setup = (cwd / name for name in (".words", ".offers", ".setup"))
        setup.write_text(self.SETUP, encoding="ascii")
        self.offered.touch()
        self.terminal = Terminal("zsh", "-f", "-i", cwd=cwd, env={
            **ENVIRONMENT, "FOLDER": str(FOLDER), "WORDS": str(self.words), "OFFERS": str(self.offered),
            "TERM": "dumb", "HOME": str(cwd)})
        self.close = self.terminal.close
        self.do(f"source {setup}\n")

    def do(self, typed):
        self.terminal.type(typed)
        deadline = time.monotonic() + PATIENCE
        while not (lines := self.offered.read_text(encoding="utf-8").splitlines()) or lines[-1] != ".":
            assert time.monotonic() < deadline, lines
            if select.select([self.terminal.fd], [], [], 0.01)[0]:
                os.read(self.terminal.fd, 4096)
        return lines[:-1]

    def offers(self, *words):
        """The words that it offers for the last of these."""
        self.words.write_text(" ".join(("keyveto", *words)), encoding="ascii")
        self.offered.write_text("", encoding="ascii")
        return dict.fromkeys(filter(None, self.do("\x14")), "")


@pytest.fixture(name="shell", params=[Bash, Zsh, Fish])
def running_shell(request, scratch):
    if shutil.which(request.param.__name__.lower()) is None:
        pytest.skip(f"there is no {request.param.__name__.lower()}")
    shell = request.param(scratch)
    yield shell
    shell.close()


def test_bash_loads_the_completion_for_keyveto_alone():
    done = subprocess.run(["bash", "--norc", "-euc", 'source "$1"; complete -p', "bash", str(COMPLETION)],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout, done.stderr), (0, "complete -F _keyveto keyveto\n", ""))


def test_a_shell_offers_all_commands_and_options_and_no_others(shell):
    same_names("the commands", shell.offers(""), {command.split()[0] for command in commands()})
    same_names("the commands behind help", shell.offers("help", "s"), {"scan", "setup", "spki", "status"})
    for name in GROUPS:
        same_names(f"the {name} commands", shell.offers(name, ""),
                   {c.split()[1] for c in commands() if c.startswith(f"{name} ")})
    same_names("the options before a command", shell.offers("-"), {"--help", "--version"})
    for command in commands():
        same_names(f"the options of {command}", shell.offers(*command.split(), "--"),
                   options_in(help_of(command)) | EVERYWHERE)
    same_names("nothing", set(shell.offers("nothing", "-")) - {"--help"}, ())


@pytest.mark.long
def test_a_shell_knows_which_options_take_a_value(shell):
    for command in commands():
        usage = help_of(command).split("\n", 1)[0]
        for option in options_in(usage):
            takes = re.search(rf"{option} [A-Z]", usage) is not None
            offered = set(shell.offers(*command.split(), option, "--"))
            equal("--help" not in offered, takes, f"{command} {option}: {offered}")


def test_a_shell_offers_files_filters_and_accounts(shell, scratch):
    for name in ("a.pub", "a.pkbf"):
        (scratch / name).touch()
    (scratch / "d").mkdir()
    everything, filters = {"a.pub", "a.pkbf", "d"}, {"a.pkbf", "d"}
    for words, expected in ((("check", ""), everything), (("check", "--all", "a"), {"a.pub", "a.pkbf"}),
                            (("check", "--filter", ""), filters), (("check", "--config", "a.pu"), {"a.pub"}),
                            (("filter", "info", ""), filters), (("update", ""), filters),
                            (("filter", "add", "x", ""), everything), (("confirm", "--state", ""), {"d"}),
                            (("scan", "--timeout", ""), set()), (("audit", "a"), set()),
                            (("sshd", "enable", "a"), set()),
                            (("nothing", ""), set()), (("audit", "--logins", ""), everything | {"journal"}),
                            (("check", "--", ""), everything), (("check", "--", "-"), set()),
                            (("audit", "--user", "nobo"), {"nobody"})):
        equal(set(shell.offers(*words)), expected, words)


def test_fish_says_what_a_command_or_an_option_does(scratch):
    if shutil.which("fish") is None:
        pytest.skip("there is no fish")
    for words in ((), ("filter",), ("check",), ("audit",), ("list", "create")):
        word = r"[a-z]+|--[a-z-]+(?: [A-Z]+| \[.*?\]\.*)?"
        lines = re.findall(rf"^  ({word}) +(.*)$", help_of(" ".join(words)), re.MULTILINE)
        said = {name.split()[0]: text for name, text in lines}
        found = Fish(scratch).offers(*words, "-" if next(iter(said))[0] == "-" else "")
        equal({name: text for name, text in found.items() if name != "--help"}, said)


def test_bash_offers_only_the_operands_that_a_command_takes(scratch):
    bash = Bash(scratch)
    for name in ("a.pub", "a.pkbf", "b c.pub"):
        (scratch / name).touch()
    (scratch / "d").mkdir()
    everything, filters = {"a.pub", "a.pkbf", "b c.pub", "d"}, {"a.pkbf", "d"}
    for words, expected in ((("check", "--filter", "=", ""), filters), (("check", "--filter", "="), filters),
                            (("filter", "add", ""), filters), (("filter", "add", "x", "b"), {"b c.pub"}),
                            (("filter", "add", "--ca", "x", "--spki", ""), everything),
                            (("filter", "explain", ""), filters), (("filter", "explain", "x", ""), everything),
                            (("filter", "explain", "x", "y", ""), set()), (("filter", "merge", "x", "y", ""), filters),
                            (("filter", "verify", "x", ""), set()), (("spki", "--der", ""), everything),
                            (("config", "edit", ""), set()), (("allow", "--until", "2030-01-01", ""), everything),
                            (("allow", "x", ""), set()), (("sshd", "enable", ""), set()),
                            (("check", "--", "--"), set()), (("audit", ""), set()),
                            (("audit", "--logins", "j"), {"journal"})):
        equal(set(bash.offers(*words)), expected, str(words))
    for name in GROUPS:
        same_names(f"the options of {name}", bash.offers(name, "-"), {"--help"})
    (scratch / "hosts").write_text("192.0.2.1 some-host.example\n", encoding="ascii")
    assert "some-host.example" in bash.offers("scan", "some-h", HOSTFILE=str(scratch / "hosts"))


def test_in_a_terminal_a_name_with_a_blank_becomes_one_argument(scratch):
    (scratch / "some keys.pub").touch()
    (scratch / "folder").mkdir()
    (scratch / "folder/odd name").touch()
    environment = {**ENVIRONMENT, "PS1": "", "TERM": "dumb", "INPUTRC": "/dev/null", "HOME": str(scratch)}
    with contextlib.closing(Terminal("bash", "--norc", "--noprofile", "-i", cwd=scratch, env=environment)) as terminal:
        terminal.type(f"keyveto() {{ printf '<%s>' \"$@\"; }}; source {shlex.quote(str(COMPLETION))}\n")
        for typed, arguments in (("keyveto ch\tsome\t\n", "<check><some keys.pub>"),
                                 ("keyveto check some\\ k\t\n", "<check><some keys.pub>"),
                                 ("keyveto check --fil\tfo\todd.pkbf\n", "<check><--filter><folder/odd.pkbf>"),
                                 ("keyveto filter ad\tfo\todd\t\n", "<filter><add><folder/odd name>")):
            terminal.type(typed)
            terminal.wait_for(arguments)
            terminal.text = ""
