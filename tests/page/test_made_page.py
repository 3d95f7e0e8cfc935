# SPDX-License-Identifier: ISC
"""The page that keyveto-report itself makes of audits, in Chromium."""

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pages
from patience import PATIENCE

sys.path.append(str(Path(__file__).resolve().parents[1] / "cli"))
from fleet_audits import random_fleet  # noqa: E402


@pytest.mark.parametrize("seed", range(12))
def test_the_command_and_the_browser_say_the_same(chromium, build, scratch, seed):
    paths, hosts = random_fleet(random.Random(seed), scratch, int(time.time()))
    page = scratch / "page.html"
    words = [build / "keyveto-report", "--hosts", hosts, "--html", page, *(["--all"] if seed % 2 else []), *paths]
    done = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode in (0, 1, 2) and page.exists(), done.stderr
    text = page.read_text(encoding="utf-8")
    slots = dict(re.findall(r'<(?:strong|span) id="number-([a-z-]+)">(\d+)</', text))
    assert len(slots) == 16
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    chromium.open("about:blank")
    chromium.log()
    chromium.open(f"file://{page}")
    # The numbers of the command's own, and those that the page counts in its data.
    assert chromium.run("return Object.fromEntries([...document.querySelectorAll('[id^=number-]')].map((one) => "
                        "[one.id.slice(7), one.textContent.replaceAll(',', '')]))") == slots
    cells = dict(chromium.run("return [...document.querySelectorAll('.cell')].map((cell) => [Number(cell.id.slice(1)), "
                              "cell.className.match(/s-(\\w+)/)[1]])"))
    assert cells == {index: states[0] for index, states in enumerate(pages.all_states(data))}
    for index in cells:
        chromium.run(f"document.getElementById('h{index}').click()")
        census = chromium.run(pages.CENSUS)
        assert census["handlers"] == census["twice"] == census["dangling"] == []
    assert chromium.run("return document.getElementById('gone').checkVisibility()") == bool(data["gone"])
    assert chromium.run(pages.NAMELESS) == []
    assert chromium.log() == []
