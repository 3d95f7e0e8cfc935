# SPDX-License-Identifier: ISC
"""Tests marked `throwaway` run in a throw-away root: see e2e/sandbox.py.

Each file has one root, which a child of this process lives in from the file's
first test to its last. The child runs the test and sends its reports back.
Whatever a test does to the machine, no other file ever meets, and whatever it
leaves running ends with the root. With xdist each worker has its own roots.

Where no throw-away root can be had, these tests are skipped.
"""

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

import sandbox

# Folders that tests in a throw-away root write to for good, separated by colons.
SHARED = "KEYVETO_SHARED"
REFUSED = pytest.StashKey()     # why no root can be had


def pytest_configure(config):
    config.pluginmanager.register(Roots(config))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Before anything of a throwaway test runs: it is inside, or it does not run at all."""
    if item.get_closest_marker("throwaway") and not sandbox.inside():
        pytest.skip(f"no throw-away root can be had: {item.config.stash[REFUSED]}")


class Roots:
    """Hands each throwaway test to the root of its file."""

    def __init__(self, config):
        self.config = config
        self.root = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if not item.get_closest_marker("throwaway") or sandbox.inside() or REFUSED in self.config.stash:
            return None
        if self.root is None:
            try:
                self.root = Root(item.session)
            except sandbox.Refused as reason:
                self.config.stash[REFUSED] = str(reason)
                return None
        # The file's root ends with the last of its tests in a row.
        stays = nextitem if nextitem and nextitem.fspath == item.fspath else None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        try:
            for report in self.root.run(item, stays):
                item.ihook.pytest_runtest_logreport(report=report)
        except BaseException:
            self.root.kill()
            self.root = None
            raise
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if stays is None or self.root.died:
            self.close()
        return True

    def close(self):
        self.root.close()
        self.root = None

    def pytest_sessionfinish(self):
        if self.root:
            self.close()


class Root:
    """A throw-away root, and the process in there that runs tests."""

    def __init__(self, session):
        self.session, self.died = session, False
        orders, self._orders = os.pipe()
        self._reports, reports = os.pipe()

        def serve():
            os.close(self._orders)
            os.close(self._reports)
            return _serve(session, orders, reports)
        try:
            self._process = sandbox.start(serve, _shared(session.config))
        finally:
            os.close(orders)
            os.close(reports)
        self._orders = os.fdopen(self._orders, "w", encoding="utf-8")
        self._reports = os.fdopen(self._reports, encoding="utf-8")

    def run(self, item, nextitem):
        """The reports of one test, as the root sends them."""
        items = self.session.items
        self._order([items.index(item), items.index(nextitem) if nextitem else None])
        line = self._reports.readline()
        if not line:
            self.died = True
            return [pytest.TestReport(item.nodeid, item.location, {}, outcome="failed", when="call",
                                      longrepr="the process that ran this test died")]
        hook = self.session.config.hook
        return [hook.pytest_report_from_serializable(config=self.session.config, data=data)
                for data in json.loads(line)]

    def _order(self, order):
        # A root that died cannot read what it is told.
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(order), file=self._orders, flush=True)

    def close(self):
        """Let the process in there return: the root goes with it."""
        self._order(None)
        sandbox.wait(self._process)
        self._end_pipes()

    def kill(self):
        """The same in the middle of a test."""
        os.kill(self._process, signal.SIGKILL)
        sandbox.wait(self._process)
        self._end_pipes()

    def _end_pipes(self):
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()
        self._reports.close()


def _serve(session, orders, reports):
    """Run the tests that are asked for, in the throw-away root."""
    _open_ways_to(_shared(session.config))
    hook = session.config.hook
    with os.fdopen(orders, encoding="utf-8") as told, os.fdopen(reports, "w", encoding="utf-8") as answer:
        # The processes around this one hold the pipes open, too: an end is told.
        while order := json.loads(told.readline()):
            item, following = (session.items[index] if index is not None else None for index in order)
            made = runtestprotocol(item, log=False, nextitem=following)
            data = [hook.pytest_report_to_serializable(config=session.config, report=report) for report in made]
            print(json.dumps(data, default=os.fspath), file=answer, flush=True)
    return 0


def _shared(config):
    """The folders in a throw-away root that are the real ones."""
    return [*filter(None, os.environ.get(SHARED, "").split(":")), *filter(None, [config.getoption("--keep")])]


def _open_ways_to(folders):
    """Accounts may pass the folders above these, which may be /root. Only in there."""
    for folder in {above for each in folders for above in Path(each).parents}:
        folder.chmod(folder.stat().st_mode | 0o111)
