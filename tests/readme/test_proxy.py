# SPDX-License-Identifier: ISC
"""README.md where a proxy alone knows the way to badkeys' server."""

import contextlib
import re

import pytest

import paths
from badkeys import HOST, name_host
from reader import ROOT, UPDATE
from stock import snapshot
from website import Proxy

pytestmark = pytest.mark.throwaway


@pytest.mark.long
def test_behind_a_proxy(reader):
    """An ordinary user, by the environment, and as a failed update says; root, from source, and back."""
    before = snapshot(*paths.TOUCHED)
    name_host("proxy.example.com")
    reader.start_badkeys(1000, direct=False)
    with contextlib.closing(Proxy(3128)) as proxy:
        variable = re.search("`(https_proxy=.*?)`", (ROOT / "README.md").read_text(encoding="utf-8"))[1]
        reader.first_minute(f"{variable} {UPDATE}")
        assert set(proxy.asked) == {f"{HOST}:443"}
        reader.first_minute(f"""{UPDATE} 2>said || grep -q 'below it a Proxy' said || exit
            printf '%s\\n' 'Source badkeys' 'Proxy http://proxy.example.com:3128' >settings
            {UPDATE} --settings settings""")
        reader.follow("install")
        reader.follow("proxy")
        paths.follow_main_path(reader)
        assert set(proxy.asked) == {f"{HOST}:443"}
    reader.follow("uninstall")
    assert snapshot(*paths.TOUCHED) == before, "the way back does not restore the files"
