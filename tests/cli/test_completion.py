# SPDX-License-Identifier: ISC
"""The completion for bash, against --help and in a terminal."""

import os
import pty
import re
import select
import shlex
import subprocess
import time

from documents import EVERYWHERE, GROUPS, commands, help_of, options_in, same_names
from program import PATIENCE, ROOT, contains, equal

COMPLETION = ROOT / "completion/keyveto.bash"


def complete(*words, cwd=None, **environment):
    """The words that bash offers for the last of these words; "" begins a new word."""
    script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1));'
              ' _keyveto; ((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "--norc", "-uc", script, "bash", str(COMPLETION), "keyveto", *words], cwd=cwd,
                          env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""))
    return set(done.stdout.splitlines())


def test_bash_loads_the_completion_for_keyveto_alone():
    done = subprocess.run(["bash", "--norc", "-euc", 'source "$1"; complete -p', "bash", str(COMPLETION)],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout, done.stderr), (0, "complete -F _keyveto keyveto\n", ""))


def test_the_completion_offers_all_commands_and_options():
    """The completion offers no other words."""
    same_names("the commands", complete(""), {command.split()[0] for command in commands()})
    for name in GROUPS:
        same_names(f"the {name} commands", complete(name, ""),
                   {c.split()[1] for c in commands() if c.startswith(f"{name} ")})
        same_names(f"the options of {name}", complete(name, "-"), {"--help"})
    same_names("the options before a command", complete("-"), {"--help", "--version"})
    for command in commands():
        same_names(f"the options of {command}", complete(*command.split(), "-"),
                   options_in(help_of(command)) | EVERYWHERE)


def test_the_completion_knows_which_options_take_a_value():
    for command in commands():
        usage = help_of(command).split("\n", 1)[0]
        for option in options_in(usage):
            takes = re.search(rf"{option} [A-Z]", usage) is not None
            offered = complete(*command.split(), option, "--")
            equal(offered == set(), takes, f"{command} {option}: {offered}")


def test_the_completion_offers_files_filters_accounts_and_hosts(scratch):
    for name in ("a.pub", "a.pkbf", "b c.pub"):
        (scratch / name).touch()
    (scratch / "d").mkdir()
    everything, filters = {"a.pub", "a.pkbf", "b c.pub", "d"}, {"a.pkbf", "d"}
    for words, expected in ((("check", ""), everything), (("update", ""), filters),
                            (("check", "--all", "a"), {"a.pub", "a.pkbf"}),
                            (("check", "--filter", ""), filters), (("check", "--filter", "=", ""), filters),
                            (("check", "--filter", "="), filters), (("check", "--config", "a.pu"), {"a.pub"}),
                            (("filter", "add", ""), filters), (("filter", "add", "x", "b"), {"b c.pub"}),
                            (("filter", "add", "--ca", "x", "--spki", ""), everything),
                            (("filter", "explain", ""), filters), (("filter", "explain", "x", ""), everything),
                            (("filter", "explain", "x", "y", ""), set()), (("filter", "merge", "x", "y", ""), filters),
                            (("filter", "verify", "x", ""), set()), (("spki", "--der", ""), everything),
                            (("config", "check", ""), everything), (("config", "check", "x", ""), set()),
                            (("config", "edit", ""), set()), (("allow", "--until", "2030-01-01", ""), everything),
                            (("allow", "x", ""), set()), (("sshd", "status", "--root", ""), {"d"}),
                            (("sshd", "enable", ""), set()),
                            (("check", "--", "--"), set()), (("audit", ""), set()), (("nothing", ""), set()),
                            (("audit", "--logins", ""), everything | {"journal"}),
                            (("audit", "--logins", "j"), {"journal"}),
                            (("audit", "--known", "a.pu"), {"a.pub"})):
        equal(complete(*words, cwd=scratch), expected, str(words))
    contains(complete("audit", "--user", "nobo"), "nobody")
    (scratch / "hosts").write_text("192.0.2.1 some-host.example\n", encoding="ascii")
    contains(complete("scan", "some-h", HOSTFILE=str(scratch / "hosts")), "some-host.example")


class Terminal:
    """An interactive bash with the completion, and a keyveto that prints its arguments."""

    def __init__(self, cwd):
        self.text = ""
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(cwd)
            os.environ.update(PS1="", TERM="dumb", INPUTRC="/dev/null", HOME=str(cwd))
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.pid = pid

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, wanted):
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.text:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {wanted!r} in\n{self.text}"
            self.text += os.read(self.fd, 4096).decode(errors="replace")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def test_in_a_terminal_a_name_with_a_blank_becomes_one_argument(scratch):
    (scratch / "some keys.pub").touch()
    (scratch / "folder").mkdir()
    (scratch / "folder/odd name").touch()
    terminal = Terminal(scratch)
    try:
        terminal.type(f"keyveto() {{ printf '<%s>' \"$@\"; }}; source {shlex.quote(str(COMPLETION))}\n")
        for typed, arguments in (("keyveto ch\tsome\t\n", "<check><some keys.pub>"),
                                 ("keyveto check some\\ k\t\n", "<check><some keys.pub>"),
                                 ("keyveto check --fil\tfo\todd.pkbf\n", "<check><--filter><folder/odd.pkbf>"),
                                 ("keyveto filter ad\tfo\todd\t\n", "<filter><add><folder/odd name>")):
            terminal.type(typed)
            terminal.wait_for(arguments)
            terminal.text = ""
    finally:
        terminal.close()
