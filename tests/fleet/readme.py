# SPDX-License-Identifier: ISC
"""The commands and the group_vars of the collection's README, taken from it exactly."""

import re
from pathlib import Path

from bench import check

FILE = "fleet/ansible/README.md"
ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = "build/deb/keyveto_*.deb build/deb/libpam-keyveto_*.deb"
_SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
_VARIABLES = re.compile(r"with, say, this `(group_vars/all\.yml)`:\n\n```yaml\n(.*?)```", re.DOTALL)


class Readme:
    """What an administrator copies from the README."""

    def __init__(self):
        text = (ROOT / FILE).read_text(encoding="utf-8")
        self.commands = [line for block in _SHELL.findall(text) for line in block.splitlines() if line.strip()]
        found = _VARIABLES.search(text)
        check(found is not None, f"{FILE} has no group_vars")
        self.variables_file, self.variables = found.groups()

    def command(self, *words):
        """The one command line that has all of these words, and none that begins with '!'."""
        wanted = [word for word in words if not word.startswith("!")]
        unwanted = [word[1:] for word in words if word.startswith("!")]
        found = [line for line in self.commands if all(word in line for word in wanted)
                 and not any(word in line for word in unwanted)]
        check(len(found) == 1, f"{FILE}: not one command with {words}, but {found}")
        return found[0]
