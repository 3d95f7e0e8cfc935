# SPDX-License-Identifier: ISC
"""The services of packaging/systemd: their limits let the programs behind the walls give up what they have."""

import json
import re
import subprocess

import pytest

from program import ADDRESS_SANITIZER, KEYVETO, ROOT, attempt

SERVICES = sorted((ROOT / "packaging/systemd").glob("*.service"))


def expand(name):
    """The calls of a group of systemd's, or of one call."""
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, check=True, text=True)
    words = re.findall(r"^ +([@\w-]+)$", said.stdout, re.MULTILINE)
    return set().union(*(expand(word) for word in words))


def settings(service, name):
    return re.findall(rf"^{name}=(.*)$", service.read_text(encoding="utf-8"), re.MULTILINE)


def calls_of(service):
    allowed = set()
    for value in settings(service, "SystemCallFilter"):
        names = set().union(*(expand(name) for name in value.lstrip("~").split()))
        allowed = allowed - names if value.startswith("~") else allowed | names
    # systemd always adds these.
    return allowed | expand("@default")


@pytest.mark.skipif(ADDRESS_SANITIZER, reason="built with AddressSanitizer, which needs what the wall takes")
@pytest.mark.parametrize("service", SERVICES, ids=lambda path: path.stem)
def test_the_walls_stand_in_a_service(service, scratch):
    subprocess.run(["cc", "-o", scratch / "only_calls", ROOT / "tests/cli/only_calls.c", "-lseccomp"], check=True)
    (scratch / "calls").write_text("\n".join(sorted(calls_of(service))), encoding="ascii")
    kept, = settings(service, "CapabilityBoundingSet")
    kept = ",".join(["-all", *(f"+{name.lower().removeprefix('cap_')}" for name in kept.split())])
    done = attempt("setpriv", "--no-new-privs", "--bounding-set", kept, "--inh-caps", "-all", "--",
                   scratch / "only_calls", scratch / "calls", KEYVETO, "doctor", "--json", text=False)
    assert done.stdout, done
    found = [(one["status"], one["found"]) for one in json.loads(done.stdout)["checks"] if one["check"] == "walls"]
    assert found == [("ok", "files of others are read behind account, privileges, seccomp, landlock")]
