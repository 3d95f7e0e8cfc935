# SPDX-License-Identifier: ISC
"""What the manual pages, --help and the documents name: commands and options."""

import re

from program import keyveto

# Commands that have subcommands.
GROUPS = ("filter", "list", "proof", "config")

# The manual page describes these once for all commands.
EVERYWHERE = {"--help"}


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def help_of(command):
    return keyveto(*command.split(), "--help", status=0).stdout


def subcommands(text):
    """The names in the list of commands that --help prints."""
    return re.findall(r"^  (\w+) +[A-Z]", text, re.MULTILINE)


def commands():
    """All commands that take options, such as "check" and "filter add"."""
    found = []
    for name in subcommands(keyveto("--help", status=0).stdout):
        below = subcommands(help_of(name)) if name in GROUPS else []
        found += [f"{name} {word}" for word in below] or [name]
    assert len(found) > 5, f"--help lists only {found}"
    return found


def same_names(what, actual, expected):
    missing, surplus = set(expected) - set(actual), set(actual) - set(expected)
    assert not missing and not surplus, f"{what}: lacks {sorted(missing)}, should not have {sorted(surplus)}"
