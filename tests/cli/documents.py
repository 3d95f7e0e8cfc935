# SPDX-License-Identifier: ISC
"""The manual pages, --help and the documents, taken apart."""

import re

from program import keyveto

# Commands that have commands of their own.
GROUPS = ("filter", "sshd", "config")

# The page has these beside the commands' own options, once for all.
EVERYWHERE = {"--help"}


def options_in(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def help_of(command):
    return keyveto(*command.split(), "--help", status=0).stdout


def subcommands(text):
    """The names in the list of commands that --help prints."""
    return re.findall(r"^  (\w+) +[A-Z]", text, re.MULTILINE)


def commands():
    """All commands that take options: "check", "filter add"..."""
    found = []
    for name in subcommands(keyveto("--help", status=0).stdout):
        below = subcommands(help_of(name)) if name in GROUPS else []
        found += [f"{name} {word}" for word in below] or [name]
    assert len(found) > 5, f"--help lists only {found}"
    return found


def same(what, actual, expected):
    missing, surplus = set(expected) - set(actual), set(actual) - set(expected)
    assert not missing and not surplus, f"{what}: lacks {sorted(missing)}, has besides {sorted(surplus)}"
