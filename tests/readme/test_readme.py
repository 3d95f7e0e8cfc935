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
    """README.md: the list of badkeys, `keyveto sshd enable`, and back."""
    before = snapshot(*TOUCHED)
    reader.start_badkeys(3_700_000)
    reader.expect("before keyveto", listed_enter=True)
    reader.first_minute()
    reader.follow("install")
    said = reader.follow("list", status=1)
    assert reader.debora.name in said and "debianssl" in said, f"it does not name debora's key: {said}"
    assert reader.alice.name not in said, f"it names alice: {said}"
    reader.follow("consult")
    once = snapshot("/etc/keyveto")
    reader.follow("consult")
    assert snapshot("/etc/keyveto") == once, "the step consult cannot be typed twice"
    reader.follow("deny")
    assert reader.follow("probe") == "the guard reaches a verdict\n", "the probe of the guard says nothing"
    reader.probe_without_lists()
    reader.stay_current()
    once = snapshot("/etc/keyveto")
    reader.follow("timer")
    assert snapshot("/etc/keyveto") == once, "the step timer cannot be typed twice"
    installed = snapshot(*TOUCHED, "/etc/keyveto", "/var/lib/keyveto")
    said = reader.follow("warn")
    assert reader.mallory.name in said and reader.debora.name in said, f"it does not name who is refused: {said}"
    assert reader.alice.name not in said, f"it names alice: {said}"
    reader.expect("rehearsal", listed_enter=True)
    reader.expect_logged(action="warn", via="guard", authorized="yes")
    reader.expect_logged(action="warn", via="pam")
    assert "uid=" in reader.follow("try"), "the demo's key does not get in"
    reader.try_from_elsewhere()
    reader.clean_while_logged_in()
    rehearsed = snapshot(*TOUCHED, "/etc/keyveto")
    said = reader.follow("enable", status=1)
    assert reader.mallory.name in said and reader.debora.name in said, f"it does not name who is refused: {said}"
    assert snapshot(*TOUCHED, "/etc/keyveto") == rehearsed, "it stopped, but changed something"
    reader.follow("enable", " --yes")
    reader.expect("enforced", listed_enter=False)
    reader.expect_logged(action="deny", via="guard", authorized="yes")
    said = reader.follow("try")
    assert said.rstrip().endswith("refused") and "Permission denied" in said, f"the demo's key: {said}"
    reader.follow("clean")
    reader.tell_why()
    reader.follow("disable")
    reader.expect("after the way back", listed_enter=True)
    assert snapshot(*TOUCHED, "/etc/keyveto", "/var/lib/keyveto") == installed, "disable does not restore the files"
    reader.follow("uninstall")
    assert snapshot(*TOUCHED) == before, "the way back does not restore the files"
    reader.ok("/etc/ssh, /etc/pam.d, /etc/keyveto and /var/lib/keyveto are what they were")
