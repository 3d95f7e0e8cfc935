# SPDX-License-Identifier: ISC
"""README.md where only a mirror of one's own can be reached, which is behind a proxy."""

import contextlib
import shutil
from pathlib import Path

import pytest

import paths
from badkeys import HOST, MIRROR, name_host
from stock import snapshot
from website import Proxy

pytestmark = pytest.mark.throwaway

PUBLIC = Path("/etc/keyveto/publisher.pub")


@pytest.mark.long
def test_with_a_mirror(reader):
    """Root, from source, and back."""
    before = snapshot(*paths.TOUCHED)
    name_host("proxy.example.com")
    name_host(MIRROR)
    reader.start_badkeys(1000, direct=False)
    public = make_mirror(reader)
    reader.follow("install")
    PUBLIC.write_bytes(public)
    paths.names_only_debora(reader, reader.follow("mirrored", status=1))
    paths.watch(reader)
    reader.follow_service("already current")
    paths.enforce(reader)
    reader.follow("disable")
    reader.expect("after the way back", listed_enter=True)
    reader.follow("uninstall")
    assert snapshot(*paths.TOUCHED) == before, "the way back does not restore the files"


def make_mirror(reader):
    """On another machine, which is this one before it is as new. Returns the mirror's public key."""
    reader.follow("install")
    with contextlib.closing(Proxy(3128)) as proxy:
        reader.follow("proxy")
        # debora has an account there, too, and so the first line ends with status 1.
        reader.steps["mirror"] = "set +e\n" + reader.steps["mirror"]
        reader.follow("mirror")
        assert set(proxy.asked) == {f"{HOST}:443"}
    reader.badkeys.serve_folder(Path("/var/www/keyveto"), "/keyveto/")
    public = PUBLIC.read_bytes()
    for folder in paths.OURS:
        shutil.rmtree(folder)
    return public
