# SPDX-License-Identifier: ISC
"""A run of this test that is killed leaves nothing behind."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from bench import check
from patience import PATIENCE
from world import HERE


def descendants(pid):
    """The processes that this one has started, and theirs."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text(encoding="ascii").split()):
            found += [child, *descendants(child)]
    return found


def started_at(pid):
    """When a process was started, which tells it from a later one with its number. None if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields[19]


def killed(part, world):
    """All processes of a fleet end with the one that made it. Namespaces and mounts end with their processes."""
    command = [sys.executable, HERE / "run.py", "--build", world.build, "--stay"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        said = run.stdout.readline()
        check(said.startswith("ok"), f"another fleet does not start: {said}")
        inside = {pid: started_at(pid) for pid in descendants(run.pid)}
        run.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while left := [pid for pid, start in inside.items() if start and started_at(pid) == start]:
        check(time.monotonic() < deadline, f"processes of a killed run are left: {left}")
        time.sleep(0.05)
    part.ok(f"a run that is killed leaves none of its {len(inside)} processes")
