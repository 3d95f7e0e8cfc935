#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Makes docs/report.png: the page of keyveto-report --since, of the hosts of fleets.few()."""

import base64
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/e2e"))

import fleets  # noqa: E402
from browser import browser  # noqa: E402


def main():
    with tempfile.TemporaryDirectory() as folder, browser() as chromium:
        file = Path(folder) / "page.html"
        file.write_bytes(fleets.page(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build", fleets.few()))
        chromium.resize(1000, 1000)
        chromium.open(f"file://{file}")
        end = chromium.run("return document.getElementById('search').getBoundingClientRect().top + scrollY")
        made = chromium.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                                 clip={"x": 0, "y": 0, "width": 1000, "height": end, "scale": 1})
        (ROOT / "docs/report.png").write_bytes(base64.b64decode(made["data"]))


if __name__ == "__main__":
    main()
