# SPDX-License-Identifier: ISC
"""The steps of docs/by-hand.md, executed exactly on a stock sshd.

The sshd listens on port 22 of a network of its own. Accounts log in between the steps. At the end, /etc must be
unchanged.
"""

import pytest

from stock import snapshot

pytestmark = pytest.mark.throwaway

TOUCHED = ("/etc/ssh", "/etc/pam.d")


def test_line_by_line_and_back(reader):
    """docs/by-hand.md: line by line, and back."""
    before = snapshot(*TOUCHED)
    reader.expect("before keyveto", mallory_enters=True)
    for name in ("install", "filter", "rehearse", "guard", "pam", "validate", "reload"):
        reader.follow(name)
    reader.expect("rehearsal", mallory_enters=True)
    reader.expect_logged(verdict="listed", action="warn", via="guard", authorized="yes")
    reader.expect_logged(verdict="listed", action="warn", via="pam")
    reader.follow("enforce")
    reader.expect("enforced", mallory_enters=False)
    reader.expect_logged(verdict="listed", action="deny", via="guard")
    for name in ("back", "reload", "uninstall"):
        reader.follow(name)
    reader.expect("after the way back", mallory_enters=True)
    assert snapshot(*TOUCHED) == before, "the way back does not restore the files"
    reader.ok("/etc/ssh and /etc/pam.d are what they were")
