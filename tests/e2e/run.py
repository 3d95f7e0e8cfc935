#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""keyveto end to end: real logins, through a real sshd and the real PAM stack.

Prints a line for each case, the table of ways in, and a summary; exits with 1
if anything failed.
"""

import argparse
import concurrent.futures
import glob
import importlib
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import product
import sandbox
from bench import CASES, LEFT_OUT, World, run_case
from clients import Clients
from logbook import Logbook
from machine import Machine

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build"
SCRATCH_PARENT = "/var/lib"     # root's all the way up, as sshd wants it for commands


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("-k", metavar="SUBSTRING", default="", help="only cases whose title contains this")
    parser.add_argument("--except", dest="left_out", metavar="SUBSTRING", action="append", default=[],
                        help="all but these cases; they are counted")
    parser.add_argument("--list", action="store_true", help="print the titles and stop")
    parser.add_argument("--keep", action="store_true", help="keep the folder with configurations and logs")
    parser.add_argument("--jobs", type=int, default=2 * (os.cpu_count() or 1), help="cases at a time")
    parser.add_argument("--build", type=Path, default=BUILD, help="where the built programs are")
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def load_cases():
    for path in sorted(glob.glob(str(HERE / "test_*.py"))):
        importlib.import_module(Path(path).stem)


def run_cases(world, chosen, jobs):
    """Run the cases side by side, and yield how each went as it ends."""
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        running = [pool.submit(run_case, world, number, one) for number, one in enumerate(chosen)]
        for done in concurrent.futures.as_completed(running):
            yield done.result()
    finally:
        # Interrupted: what has not begun never does.
        pool.shutdown(cancel_futures=True)


def report(result):
    print(f"{'FAILED' if result.failure else 'ok':6} {result.case.title}", flush=True)
    if result.failure:
        print("\n".join(f"       {line}" for line in result.failure.splitlines()), flush=True)


def print_table(results):
    """Ways in, one a row, against the deployments."""
    cells = {(r.case.way, r.case.deployment): "FAILED" if r.failure else r.words for r in results if r.case.way}
    ways = list(dict.fromkeys(one.way for one in CASES if one.way))
    deployments = list(dict.fromkeys(one.deployment for one in CASES if one.way))
    rows = [("way in", *deployments)]
    rows += [(way, *(cells.get((way, name), "not run") for name in deployments)) for way in ways]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print("\nA listed key, or a key by a listed CA, where clean ones get in:\n")
    for row in rows:
        print("  " + "   ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def run_suite(options, chosen, throwaway):
    """The suite itself, in the sandbox or, failing that, on the machine."""
    machine = Machine(throwaway)
    scratch = options.scratch or make_scratch()
    log = Logbook()
    results = []
    try:
        product.install(machine, options.build, scratch)
        world = World(machine, log, Clients(scratch), scratch)
        for result in run_cases(world, chosen, options.jobs):
            report(result)
            results.append(result)
    finally:
        log.close()
        machine.restore()
        if not options.keep:
            shutil.rmtree(scratch)
    if any(result.case.way for result in results):
        print_table(results)
    failed = sum(bool(result.failure) for result in results)
    if options.left_out:
        print(f"\nleft out on request: {sum(any(w in one.title for w in options.left_out) for one in CASES)}")
    for thing in sorted(set(LEFT_OUT.values())):
        print(f"\nleft out, since there is no {thing} here: {list(LEFT_OUT.values()).count(thing)}")
    print(f"\n{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


def make_scratch():
    """A folder that sshd trusts and every account can look into."""
    scratch = Path(tempfile.mkdtemp(prefix="kvt-e2e-", dir=SCRATCH_PARENT))
    scratch.chmod(0o755)
    return scratch


def run_isolated(options, chosen):
    """Run the suite in a throw-away root, or on a machine where that can do no harm."""
    if sandbox.inside():
        return run_suite(options, chosen, throwaway=True)
    argv, shared = [sys.executable, str(HERE / "run.py"), *sys.argv[1:]], []
    if options.keep:
        options.scratch = make_scratch()
        print(f"configurations and logs are kept in {options.scratch}", flush=True)
        argv += ["--scratch", str(options.scratch)]
        shared.append(str(options.scratch))
    try:
        return sandbox.run(argv, shared)
    except sandbox.Refused as reason:
        print(f"no throw-away root can be had ({reason}): working on the machine itself", flush=True)
    product.check_untouched()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))      # leave through the clean-up
    return run_suite(options, chosen, throwaway=False)


def main():
    options = parse_arguments()
    load_cases()
    chosen = [one for one in CASES if options.k in one.title and not any(words in one.title
                                                                         for words in options.left_out)]
    if options.list:
        print("\n".join(one.title for one in chosen))
        return 0
    try:
        if not chosen:
            raise product.CannotRun(f"no case has {options.k!r} in its title")
        product.check_machine(options.build)
        return run_isolated(options, chosen)
    except product.CannotRun as reason:
        print(f"end-to-end tests: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("end-to-end tests: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
