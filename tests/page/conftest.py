# SPDX-License-Identifier: ISC
"""A browser for all tests of a process, pages in it, and the figures that they measure."""

import fleets
import pytest
from browser import browser


@pytest.fixture(scope="session", name="chromium")
def fixture_chromium():
    """The browser."""
    with browser() as made:
        yield made


@pytest.fixture(name="show")
def fixture_show(chromium, build, scratch):
    """Opens the page of some data, in a window of 1280 × 1000. Nothing of an earlier page is left."""
    def show(data, fragment=""):
        file = scratch / "page.html"
        file.write_bytes(fleets.page(build, data))
        chromium.open("about:blank")
        chromium.emulate()
        chromium.resize(1280, 1000)
        chromium.log()
        chromium.log("performance")
        chromium.open(f"file://{file}{fragment}")
        return chromium
    return show


def pytest_terminal_summary(terminalreporter):
    """Prints what tests measured. tests/run prints these lines."""
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                for name, value in report.user_properties:
                    terminalreporter.write_line(f"figure: {name}: {value}")
