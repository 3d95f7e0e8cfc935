# SPDX-License-Identifier: ISC
"""The steps of README.md, executed exactly on a stock sshd.

The sshd listens on port 22 of a network of its own. Accounts log in between the steps. At the end, /etc must be
unchanged.
"""

import pytest

import paths
from stock import snapshot

pytestmark = pytest.mark.throwaway


def test_keyveto_sshd_enable_and_back(reader):
    """An ordinary user with a list as large as that of badkeys; then root, from source, and back."""
    before = snapshot(*paths.TOUCHED)
    reader.start_badkeys(3_700_000)
    reader.expect("before keyveto", listed_enter=True)
    reader.first_minute()
    reader.follow("install")
    paths.follow_main_path(reader)
    reader.follow("uninstall")
    assert snapshot(*paths.TOUCHED) == before, "the way back does not restore the files"
    reader.ok("/etc/ssh and /etc/pam.d are what they were")
