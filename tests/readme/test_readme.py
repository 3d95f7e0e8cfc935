# SPDX-License-Identifier: ISC
"""The steps of README.md, executed exactly on a stock sshd.

The sshd listens on port 22 of a network of its own. Accounts log in between the steps. At the end, /etc must be
unchanged.
"""

import pytest

from stock import snapshot

pytestmark = pytest.mark.throwaway

TOUCHED = ("/etc/ssh", "/etc/pam.d")


def test_keyveto_sshd_enable_and_back(reader):
    """README.md: `keyveto sshd enable`, and back."""
    before = snapshot(*TOUCHED)
    reader.expect("before keyveto", mallory_enters=True)
    for name in ("install", "filter"):
        reader.follow(name)
    installed = snapshot(*TOUCHED, "/etc/keyveto", "/var/lib/keyveto")
    said = reader.follow("warn")
    assert reader.mallory.name in said, f"it does not name mallory: {said}"
    assert reader.alice.name not in said, f"it names alice: {said}"
    reader.expect("rehearsal", mallory_enters=True)
    reader.expect_logged(verdict="listed", action="warn", via="guard", authorized="yes")
    reader.expect_logged(verdict="listed", action="warn", via="pam")
    assert "uid=" in reader.follow("try"), "the demo's key does not get in"
    reader.try_from_elsewhere()
    reader.clean_while_logged_in()
    rehearsed = snapshot(*TOUCHED, "/etc/keyveto")
    assert reader.mallory.name in reader.follow("enable", status=1), "it does not name mallory"
    assert snapshot(*TOUCHED, "/etc/keyveto") == rehearsed, "it stopped, but changed something"
    reader.follow("enable", " --yes")
    reader.expect("enforced", mallory_enters=False)
    reader.expect_logged(verdict="listed", action="deny", via="guard", authorized="yes")
    said = reader.follow("try")
    assert said.rstrip().endswith("refused") and "Permission denied" in said, f"the demo's key: {said}"
    reader.follow("clean")
    reader.follow("disable")
    reader.expect("after the way back", mallory_enters=True)
    assert snapshot(*TOUCHED, "/etc/keyveto", "/var/lib/keyveto") == installed, "disable does not restore the files"
    reader.follow("uninstall")
    assert snapshot(*TOUCHED) == before, "the way back does not restore the files"
    reader.ok("/etc/ssh, /etc/pam.d, /etc/keyveto and /var/lib/keyveto are what they were")
