# SPDX-License-Identifier: ISC
"""Programs in the places of ours behind the walls, which are none of ours."""

import os
import sys

import pytest

from program import ADDRESS_SANITIZER
from samples import write

# What one says is lines of Python, after these.
PRELUDE = """#!{python}
import array, os, signal, socket, struct, sys, time
def raw(s): return s if isinstance(s, bytes) else s.encode()
def text(s): return struct.pack(">I", len(raw(s))) + raw(s)
def number(n): return struct.pack(">Q", n)
def packed(tag, *fields): body = bytes([tag]) + b"".join(fields); return struct.pack(">I", len(body)) + body
def record(tag, *fields): say(packed(tag, *fields))
def say(data):
    while data: data = data[os.write(1, data):]
"""
# The same of a worker.
WORKER = PRELUDE + """
front = socket.socket(fileno=0)
def tell(tag, *fields): front.send(packed(tag, *fields))
"""
# Of one that runs a command.
HOSTILE = WORKER + """
def answer():
    data, fds, _, _ = socket.recv_fds(front, 1 << 17, 64)
    return data[5:], fds
def ask(tag, *fields):
    tell(tag, *fields)
    return answer()
words = []
while True:
    data, _, _, _ = socket.recv_fds(front, 1 << 17, 64)
    if data[4] == 2: words.append(data[9:].decode())
    if data[4] == 3: break
def hello(version=5, walls=15): tell(1, number(version), number(walls))
def promise(path): return ask(2, text(path))
def opened(path): return ask(3, text(path), number(0))
def stat(path): return ask(4, text(path))
def replace(path): return ask(8, text(path))
def begin(): return ask(9)
def commit(beside=0, readable=0, *more): return ask(12, number(beside), number(readable), text(""), *more)
def close(): return ask(13)
"""


no_asan = pytest.mark.skipif(ADDRESS_SANITIZER, reason="built with AddressSanitizer, which needs what the wall takes")


def each_user(test):
    """A test of walls as root, and as another user."""
    return no_asan(pytest.mark.parametrize("user", (False, True), ids=("root", "user"))(test))


def need_root():
    if os.geteuid() != 0:
        pytest.fail("this test needs root, who has most to lose")


def put_worker(path, says):
    """Writes a worker that does what the lines say."""
    write(path, HOSTILE.format(python=sys.executable) + says + "\n").chmod(0o755)
