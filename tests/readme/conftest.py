# SPDX-License-Identifier: ISC
"""The fixture reader: a stock machine on which a reader follows the steps of a document.

badkeys' server is played on loopback, under its own name.
"""

import contextlib

import pytest

import product
from logbook import Logbook
from machine import Machine
from reader import ROOT, Reader
from stock import StockServer


@pytest.fixture(name="reader")
def fixture_reader():
    """A machine that runs its own sshd, without keyveto. The steps install what `make` built."""
    try:
        product.check_machine(ROOT / "build")
    except product.CannotRun as reason:
        pytest.fail(str(reason), pytrace=False)
    machine = Machine()
    machine.make_folder("/run/sshd")
    StockServer().start()
    with contextlib.closing(Logbook()) as log:
        reader = Reader(machine, log, product.make_scratch())
        yield reader
        reader.close()
    StockServer.stop()
