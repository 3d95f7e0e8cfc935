# SPDX-License-Identifier: ISC
"""The steps of README.md and docs/by-hand.md, executed exactly on a stock sshd.

The sshd listens on port 22 of a network of its own. Accounts log in between the steps. At the end, /etc must be
unchanged. One test uses `keyveto sshd enable`, the other the steps by hand.
"""

import contextlib

import pytest

import product
from logbook import Logbook
from machine import Machine
from reader import ROOT, Reader
from stock import StockServer, snapshot

pytestmark = pytest.mark.throwaway

TOUCHED = ("/etc/ssh", "/etc/pam.d")


@pytest.fixture(name="reader")
def fixture_reader():
    """A machine that runs its own sshd, without keyveto. The steps install what `make` built."""
    try:
        product.check_machine(ROOT / "build")
    except product.CannotRun as reason:
        pytest.fail(str(reason), pytrace=False)
    machine = Machine(True)
    machine.make_folder("/run/sshd")
    StockServer().start()
    with contextlib.closing(Logbook()) as log:
        yield Reader(machine, log, product.make_scratch())
    StockServer.stop()


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
