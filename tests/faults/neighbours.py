#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Hostile neighbours: what a local user can do to the guard, and to a program that writes a filter.

Locks, links, FIFOs and folders that change during a run, huge files, a full disk,
limits, crafted arguments and environments, ptrace and core dumps. None of it
may let a listed key in, read what only others may read, forge a log line, or
hold up a login.
"""

import sys

import neighbours_files
import neighbours_process
from neighbourhood import Neighbourhood
from stage import play


def cases(stage, report):
    stage.swapper = stage.compile("swapper.c")
    hood = Neighbourhood(stage)
    functions = [*neighbours_files.ALL, *neighbours_process.ALL, *(neighbours_files.LONG if stage.long else ())]
    for function in functions:
        if report.wants(function.__name__.replace("_", " ")):
            function(hood, report)


if __name__ == "__main__":
    sys.exit(play(__doc__, cases))
