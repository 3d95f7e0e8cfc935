# SPDX-License-Identifier: ISC
"""The steps of README.md and docs/by-hand.md, followed to the letter on a stock sshd.

The sshd listens on port 22 of a network of its own. Between the steps, people log
in. At the end, /etc must be what it was. One test uses `keyveto sshd enable`, the
other the steps by hand.
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
    """A machine with its own sshd running, and without keyveto. The steps install what `make` built."""
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
    """`keyveto sshd enable`, and back."""
    before = snapshot(*TOUCHED)
    reader.expect("before keyveto", mallory_enters=True)
    for name in ("install", "filter"):
        reader.follow(name)
    installed = snapshot(*TOUCHED, "/etc/keyveto", "/var/lib/keyveto")
    said = reader.follow("warn")
    assert reader.mallory.name in said and reader.alice.name not in said, f"it does not tell who: {said}"
    reader.expect("rehearsal", mallory_enters=True)
    reader.expect_logged(verdict="listed", action="warn", via="guard", authorized="yes")
    reader.expect_logged(verdict="listed", action="warn", via="pam")
    assert "uid=" in reader.follow("try"), "the demo's key does not get in"
    reader.try_from_elsewhere()
    reader.clean_while_logged_in()
    rehearsed = snapshot(*TOUCHED, "/etc/keyveto")
    assert reader.mallory.name in reader.follow("enable", status=1), "it does not tell who"
    assert snapshot(*TOUCHED, "/etc/keyveto") == rehearsed, "it stopped, but has changed something"
    reader.follow("enable", " --yes")
    reader.expect("enforced", mallory_enters=False)
    reader.expect_logged(verdict="listed", action="deny", via="guard", authorized="yes")
    said = reader.follow("try")
    assert said.rstrip().endswith("refused") and "Permission denied" in said, f"the demo's key: {said}"
    reader.follow("clean")
    reader.follow("disable")
    reader.expect("after the way back", mallory_enters=True)
    assert snapshot(*TOUCHED, "/etc/keyveto", "/var/lib/keyveto") == installed, "something is not what it was"
    reader.follow("uninstall")
    assert snapshot(*TOUCHED) == before, "the way back does not lead to where it began"
    reader.ok("/etc/ssh, /etc/pam.d, /etc/keyveto and /var/lib/keyveto are what they were")


def test_line_by_line_and_back(reader):
    """Line by line, and back."""
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
    assert snapshot(*TOUCHED) == before, "the way back does not lead to where it began"
    reader.ok("/etc/ssh and /etc/pam.d are what they were")
