# SPDX-License-Identifier: ISC
"""No shape of RevokedKeys is a reason to let a change refuse a key of root: only sshd knows how it reads them."""

import os
import subprocess
from pathlib import Path

import pytest

import keys
import sshkey
from brake_machine import LIST
from private_logins import comes_in, listening, settle
from program import contains, equal, keyveto
from publisher import fixture_named_list, listing  # noqa: F401 (the fixture)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys", "installed")]


def krl(path, *listed):
    path.unlink(missing_ok=True)
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", path, *(key.path for key in listed)], check=True)


def lines(path, *listed):
    path.write_text("# gone\n" + "".join(f"{key}\n" for key in listed), encoding="ascii")


def in_folder(path):
    path.mkdir(exist_ok=True)
    return path


# What the line says, and what makes the file; the folder is {}, the listed key is the first argument of what makes it.
SHAPES = {
    "none": ("none", None),
    "dev-null": ("/dev/null", None),
    "link-to-dev-null": ("{}/r", lambda path, key, other: path.symlink_to("/dev/null")),
    "blank-in-the-name": ('"{}/r r"', lambda path, key, other: lines(path, other)),
    "blank-in-the-name-and-nothing-there": ('"{}/r r"', None),
    "quote-in-the-name": ('"{}/r\\"r"', lambda path, key, other: lines(path, other)),
    "relative": ("etc/ssh/r", lambda path, key, other: lines(Path("/etc/ssh/r"), other)),
    "empty": ("{}/r", lambda path, key, other: path.touch()),
    "another-key": ("{}/r", lambda path, key, other: lines(path, other)),
    "the-key": ("{}/r", lambda path, key, other: lines(path, key)),
    "a-krl-of-another-key": ("{}/r", lambda path, key, other: krl(path, other)),
    "a-krl-of-the-key": ("{}/r", lambda path, key, other: krl(path, key)),
    "half-a-krl": ("{}/r", lambda path, key, other: path.write_bytes(b"SSHKRL\n\0\0\0")),
    "nonsense": ("{}/r", lambda path, key, other: path.write_bytes(bytes(range(256)))),
    "missing": ("{}/r", None),
    "a-folder": ("{}/r", lambda path, key, other: in_folder(path)),
    "a-fifo": ("{}/r", lambda path, key, other: os.mkfifo(path)),
    "a-link-to-nothing": ("{}/r", lambda path, key, other: path.symlink_to("/nonexistent")),
    "for-some-clients": ("none\nMatch Address 192.0.2.0/24\n RevokedKeys {}/r",
                         lambda path, key, other: lines(path, key)),
}
# sshd opens a FIFO, and waits; a relative name is read from the folder where sshd started.
UNTRIED = ("a-fifo", "relative", "quote-in-the-name", "nonsense")
ENTERS = {"none", "dev-null", "link-to-dev-null", "blank-in-the-name", "empty", "another-key", "a-krl-of-another-key",
          "for-some-clients"}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_key_of_root_holds_whatever_revoked_keys_are(here, place, scratch, shape):
    """deny, list add, update and enable: each stops, and the same with --yes goes on."""
    bad = keys.generate(scratch)
    root = here.authorize_root(here.world.clean, bad.key)
    line, make = SHAPES[shape]
    folder = scratch / "revoked"
    folder.mkdir()
    named = line.format(folder).partition("\n")[0].strip('"').replace('\\"', '"') if "\n" not in line else f"{folder}/r"
    if make is not None:
        make(Path(named), bad.key, keys.generate(scratch).key)
    try:
        ports = settle(f"RevokedKeys {line}".replace("{}", str(folder)))
        if shape not in UNTRIED:
            with listening(scratch):
                equal(comes_in(bad, "root", ports[0]), shape in ENTERS)
        key = here.write("bad.pub", bad.key)
        for words in (("deny", bad.key.fingerprint), ("list", "add", LIST, key)):
            contains(here.is_held(*words), f"root's key ({root}:2) will be refused: ssh-ed25519 {bad.key.fingerprint}",
                     "would refuse a key of root")
        place.update()
        place.publisher.serve(listing(sshkey.parse_line(str(bad.key).encode()), source=1, n=1000),
                              "2026-11-02T00:00:00Z")
        contains(place.run(status=2).trouble, "the new one would refuse a key of root")
        keyveto("list", "add", "--yes", LIST, key, status=0)
        before = here.snapshot()
        done = keyveto("sshd", "enable", status=1)
        contains(done.stdout + done.stderr, f"{root}:2: listed: ", "1 account with a key that would be refused",
                 "go on with --yes")
        equal(here.snapshot(), before)
        keyveto("sshd", "enable", "--yes", "--dry-run", status=0)
    finally:
        Path("/etc/ssh/r").unlink(missing_ok=True)
