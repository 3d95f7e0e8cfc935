# SPDX-License-Identifier: ISC
"""Runs the tests that are marked `throwaway` in a throw-away root: see e2e/sandbox.py.

Each file has one root, from its first test to its last. A child of this process lives in the root, runs the tests,
and sends their reports back. No other file sees what a test changes, and a process that a test leaves running ends
with the root. With xdist each worker has roots of its own.

Where no throw-away root is possible, these tests are skipped.
"""

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

import sandbox

# Folders, separated by colons, in which tests in a throw-away root write to the real machine.
SHARED = "KEYVETO_SHARED"
REFUSED = pytest.StashKey()     # why no root is possible


def pytest_configure(config):
    config.pluginmanager.register(Roots(config))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Skips a throwaway test that is not inside a root. This runs before the fixtures of the test."""
    if item.get_closest_marker("throwaway") and not sandbox.inside():
        pytest.skip(f"no throw-away root is possible here: {item.config.stash[REFUSED]}")


class Roots:
    """Runs each throwaway test in the root of its file."""

    def __init__(self, config):
        self.config = config
        self.root = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if not item.get_closest_marker("throwaway") or sandbox.inside() or REFUSED in self.config.stash:
            return None
        # A test outside the root may have been the last one of its file here.
        if self.root and self.root.file != item.fspath:
            self.close()
        if self.root is None:
            try:
                self.root = Root(item.session, item.fspath)
            except sandbox.Refused as reason:
                self.config.stash[REFUSED] = str(reason)
                return None
        # The root ends after the last test of the file.
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
        # What earlier tests of this file, outside the root, have set up here.
        item.session._setupstate.teardown_exact(nextitem)
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
    """A throw-away root, and the process inside that runs tests."""

    def __init__(self, session, file):
        self.session, self.file, self.died = session, file, False
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
        """Runs one test in the root and returns its reports."""
        items = self.session.items
        self._order([items.index(item), items.index(nextitem) if nextitem else None])
        line = self._reports.readline()
        if not line:
            self.died = True
            return [pytest.TestReport(item.nodeid, item.location, {}, outcome="failed", when="call",
                                      longrepr="the process that ran this test has died")]
        hook = self.session.config.hook
        return [hook.pytest_report_from_serializable(config=self.session.config, data=data)
                for data in json.loads(line)]

    def _order(self, order):
        # If the process inside has died, nobody reads the order.
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(order), file=self._orders, flush=True)

    def close(self):
        """Lets the process inside return, which ends the root."""
        self._order(None)
        sandbox.wait(self._process)
        self._end_pipes()

    def kill(self):
        """Ends the root in the middle of a test."""
        os.kill(self._process, signal.SIGKILL)
        sandbox.wait(self._process)
        self._end_pipes()

    def _end_pipes(self):
        with contextlib.suppress(BrokenPipeError):
            self._orders.close()
        self._reports.close()


def _serve(session, orders, reports):
    """Inside the root: runs the tests that are ordered."""
    _open_ways_to(_shared(session.config))
    hook = session.config.hook
    with os.fdopen(orders, encoding="utf-8") as told, os.fdopen(reports, "w", encoding="utf-8") as answer:
        # The processes around this one also hold the pipes open, so the end is sent as null.
        while order := json.loads(told.readline()):
            item, following = (session.items[index] if index is not None else None for index in order)
            made = runtestprotocol(item, log=False, nextitem=following)
            data = [hook.pytest_report_to_serializable(config=session.config, report=report) for report in made]
            print(json.dumps(data, default=os.fspath), file=answer, flush=True)
    return 0


def _shared(config):
    """The folders that are the machine's own inside a throw-away root."""
    return [*filter(None, os.environ.get(SHARED, "").split(":")), *filter(None, [config.getoption("--keep")])]


def _open_ways_to(folders):
    """Inside the root, lets accounts pass the folders above these, which may be /root."""
    for folder in {above for each in folders for above in Path(each).parents}:
        folder.chmod(folder.stat().st_mode | 0o111)
