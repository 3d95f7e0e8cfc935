#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Builds keyveto for other architectures, and runs its tests there: `make check-architectures`.

    python3 tests/architectures/run.py [--build DIR] [--quick] [--share N] [ARCHITECTURE...]      as root

Each has a throw-away copy of this machine, in which its libraries are, too. Python and sshd there are this machine's
own, and only keyveto's programs are of the architecture: qemu-user runs them, by the kernel's binfmt_misc. Without
binfmt_misc an architecture is skipped, and the reason says how to get it. What keyveto writes is compared with what
the build of this machine in DIR writes. --quick leaves out what takes minutes, and of tests/cli all where qemu-user
runs them, and what cli.txt does not mark where not. With --share, each runs one in N tests of tests/cli, and no two
of the first N architectures the same.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))

import sandbox              # noqa: E402
import systems              # noqa: E402
from systems import ARCHITECTURES, ROOT, Impossible    # noqa: E402

CLI = ROOT / "tests/cli"
TABLE = HERE / "cli.txt"
# Each takes an emulator minutes: --quick leaves them out.
SLOW_UNITS = ("test_blocklist test_fingerprint test_nosecret test_pam_retval test_proof "
              "test_spki test_sshkey test_verdict test_verdict_denied test_verdict_lists test_weak")
COUNTS = re.compile(r"(\d+) (passed|failed|error|errors|skipped)\b")


class Problem(Exception):
    """The tests could not be run, and should have been."""


class Table:
    """cli.txt: which of tests/cli an architecture runs, and why not the others."""

    def __init__(self, arch, quick):
        self.arch, self.files, self.left_out, self.problems = arch, [], [], []
        named = set()
        for line in TABLE.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            test, where = line.split()[:2]
            file, _, part = test.partition("::")
            if not (CLI / file).exists() or part and f"def {part}(" not in (CLI / file).read_text(encoding="utf-8"):
                self.problems.append(f"{TABLE}: there is no {test}")
            elif part and self._is_left_out(where):
                self.left_out.append(f"tests/cli/{test}")
            elif not part:
                named.add(file)
                if (where == "quick" and not arch.emulator) if quick else not self._is_left_out(where):
                    self.files.append(f"tests/cli/{file}")
        self.problems += [f"{TABLE}: {path.name} is missing: does it run on other architectures?"
                          for path in sorted(CLI.glob("test_*.py")) if path.name not in named]

    def _is_left_out(self, where):
        return where in ("*", self.arch.name) or where == "emulated" and self.arch.emulator


def _run(argv, **environment):
    """Runs tests, and shows what they print. Returns their last line, or a failure if they did not come to one."""
    last = ""
    with subprocess.Popen([str(word) for word in argv], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, **environment}) as running:
        for last in running.stdout:
            print(last, end="", flush=True)
    counts = COUNTS.findall(last)
    failed = any(number != "0" and what not in ("passed", "skipped") for number, what in counts)
    return last if counts and failed == (running.returncode != 0) else "1 failed\n"


def _test(arch, table, options, results):
    """In the throw-away root: runs the tests, and writes their last lines."""
    systems.install_libraries(arch)
    # So each file of tests in need of one gets a throw-away root of its own.
    os.unlink(sandbox.MARKER)
    build = arch.build.relative_to(ROOT)
    left_out = SLOW_UNITS if options.quick else ""
    lines = [_run(["tests/run", build, "unit"], TEST_LEFT_OUT=left_out)]
    environment = {"KEYVETO": str(arch.build / "keyveto"), "KEYVETO_SLOWER": "10", "KEYVETO_BUILD": options.build,
                   "KEYVETO_PAM_MODULE": str(arch.build / "pam_keyveto.so"),
                   # Its cc comes before this machine's.
                   "PATH": f"/usr/local/bin:{os.environ['PATH']}"}
    pytest = ("/usr/bin/python3", "-m", "pytest", "-q", "--all", "-n", os.environ.get("JOBS", str(2 * os.cpu_count())))
    lines.append(_run([*pytest, "tests/architectures", "--build", build], **environment))
    if table.files:
        deselected = [word for test in table.left_out for word in ("--deselect", test)]
        share = f"{list(ARCHITECTURES).index(arch.name) % options.share}/{options.share}"
        lines.append(_run([*pytest, *table.files, "--build", build, "--share", share, *deselected], **environment))
    results.write_text("".join(lines), encoding="utf-8")
    return 0


def check(arch, options):
    """Returns how many tests passed, failed, and were skipped."""
    table = Table(arch, options.quick)
    if table.problems:
        raise Problem("\n".join(table.problems))
    systems.make_root(arch)
    systems.make_programs(arch)
    results = arch.place / "results"
    results.unlink(missing_ok=True)
    with systems.emulation(arch):
        sandbox.call(lambda: _test(arch, table, options, results), shared=[str(systems.PLACE)])
    said = results.read_text(encoding="utf-8") if results.exists() else "1 failed"
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for number, what in COUNTS.findall(said):
        counts[what if what in counts else "failed"] += int(number)
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", default=ROOT / "build", type=os.path.abspath, help="this machine's own (build)")
    parser.add_argument("--quick", action="store_true", help="the short form")
    parser.add_argument("--share", type=int, default=1, metavar="N", help="one in N tests of tests/cli (1)")
    parser.add_argument("architecture", nargs="*", default=[], metavar="ARCHITECTURE", help=", ".join(ARCHITECTURES))
    options = parser.parse_args()
    unknown = set(options.architecture) - set(ARCHITECTURES)
    if options.share < 1:
        parser.error("--share is 1 or more")
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(ARCHITECTURES)}")
    # So an end from outside takes the emulator from the kernel's list, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    totals = {"passed": 0, "failed": 0, "skipped": 0}
    for name in options.architecture or ARCHITECTURES:
        print(f"== {name}", flush=True)
        try:
            counts = check(ARCHITECTURES[name], options)
        except (sandbox.Refused, Impossible) as reason:
            print(f"skipped {name}: {reason}")
            counts = {"skipped": 1}
        except (Problem, subprocess.CalledProcessError) as problem:
            print(f"FAILED {name}: {problem}")
            counts = {"failed": 1}
        print(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()), flush=True)
        for what, count in counts.items():
            totals[what] += count
    print(", ".join(f"{count} {what}" for what, count in totals.items()))
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
