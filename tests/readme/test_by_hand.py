# SPDX-License-Identifier: ISC
"""The steps of docs/by-hand.md, executed exactly on a stock sshd.

The sshd listens on port 22 of a network of its own. Accounts log in between the steps. At the end, /etc must be
unchanged.
"""

from pathlib import Path

import pytest

import paths
from stock import snapshot

pytestmark = pytest.mark.throwaway

TOUCHED = ("/etc/ssh", "/etc/pam.d")


def test_line_by_line_and_back(reader):
    """docs/by-hand.md: line by line, and back."""
    before = snapshot(*TOUCHED)
    reader.start_badkeys(1000)
    reader.expect("before keyveto", listed_enter=True)
    reader.follow("install")
    reader.follow("list", status=1)
    paths.follow_twice(reader, "consult")
    reader.follow("deny")
    assert reader.follow("probe") == "the guard reaches a verdict\n"
    reader.probe_without_lists()
    paths.follow_twice(reader, "timer")
    reader.follow("cron")
    Path("/etc/cron.d/keyveto-update").unlink()
    for name in ("rehearse", "guard", "pam", "validate", "reload"):
        reader.follow(name)
    reader.expect("rehearsal", listed_enter=True)
    reader.expect_logged(action="warn", via="guard", authorized="yes")
    reader.expect_logged(action="warn", via="pam")
    reader.follow("enforce")
    reader.expect("enforced", listed_enter=False)
    reader.expect_logged(action="deny", via="guard")
    for name in ("back", "reload", "uninstall"):
        reader.follow(name)
    reader.expect("after the way back", listed_enter=True)
    assert snapshot(*TOUCHED) == before, "the way back does not restore the files"
    reader.ok("/etc/ssh and /etc/pam.d are what they were")
