# SPDX-License-Identifier: ISC
"""README.md in a container: root may not mount, as Docker and Podman have it."""

import ctypes
import os
from pathlib import Path

import pytest

import paths
import sandbox
from stock import snapshot

pytestmark = pytest.mark.throwaway

# What Docker leaves root, by the numbers of linux/capability.h: from CAP_CHOWN to CAP_SETFCAP, without CAP_SYS_ADMIN.
KEPT = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
PR_CAPBSET_DROP = 24


@pytest.fixture(autouse=True, scope="module")
def fixture_container():
    """No program that starts from now on in this root may do more."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text(encoding="ascii"))
    libc = ctypes.CDLL(None, use_errno=True)
    for number in set(range(last + 1)) - KEPT:
        if libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), f"capability {number}")


def test_keyveto_sshd_enable_and_back(reader):
    """The demonstration, which skips the logins and says so; an ordinary user; root from source, and back."""
    before = snapshot(*paths.TOUCHED)
    said = demonstrate(reader)
    assert "The logins are skipped: no throw-away root" in said and "2 listed, 1 clean" in said, said
    reader.start_badkeys(1000)
    reader.first_minute()
    reader.follow("install")
    line = Path("/etc/cron.d/keyveto-update")
    paths.follow_main_path(reader)
    assert "no line of cron runs keyveto update" not in reader.keyveto("status").stdout
    line.unlink()
    assert "no line of cron runs keyveto update" in reader.keyveto("status").stdout
    reader.follow("uninstall")
    assert snapshot(*paths.TOUCHED) == before, "the way back does not restore the files"


def demonstrate(reader):
    # The packages are there. A container is no throw-away root.
    reader.steps["demo"] = reader.steps["demo"].splitlines()[0].rpartition(" && ")[2]
    assert reader.steps["demo"] == "make demo"
    marker = Path(sandbox.MARKER)
    os.rename(marker, f"{marker}.away")
    try:
        return reader.follow("demo")
    finally:
        os.rename(f"{marker}.away", marker)
