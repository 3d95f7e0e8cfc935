# SPDX-License-Identifier: ISC
"""The far ends of forwardings: they answer a message, and remember that one came."""

import contextlib
import itertools
import os
import socket
import threading
import time

from patience import PATIENCE

QUESTION, ANSWER = b"is anybody there?", b"somebody is"

_display = itertools.count(50)


class Peer:
    """A listener, on TCP or on a path, that answers any message."""

    def __init__(self, path=None, port=0):
        self.reached = False
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self._socket.bind(str(path) if path else ("127.0.0.1", port))
        if path:
            os.chmod(path, 0o777)
        else:
            self.port = self._socket.getsockname()[1]
        self._socket.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):      # the socket was closed
            while True:
                connection, _ = self._socket.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(PATIENCE)
                    if connection.recv(1 << 16):
                        self.reached = True
                        connection.sendall(ANSWER)

    def close(self):
        # shutdown wakes the thread in accept(); close does not.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def display():
    """A substitute for an X server, and the DISPLAY for it."""
    while True:
        number = next(_display)
        with contextlib.suppress(OSError):
            return Peer(port=6000 + number), f"127.0.0.1:{number}"


def connect(target, seconds=PATIENCE):
    """A connection to a port or a path. Waits until it listens."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return _connect_once(target)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _connect_once(target):
    connection = socket.socket(socket.AF_INET if isinstance(target, int) else socket.AF_UNIX)
    try:
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1", target) if isinstance(target, int) else str(target))
    except OSError:
        connection.close()
        raise
    return connection


def is_answered(connection):
    """Whether the far end of a connection answers."""
    with connection:
        try:
            connection.sendall(QUESTION)
            return connection.recv(1 << 10) == ANSWER
        except (ConnectionError, BrokenPipeError):
            return False


def is_answered_at(target):
    """Whether a port or a path answers now."""
    try:
        return is_answered(_connect_once(target))
    except OSError:
        return False


def is_answered_through_socks(port, destination):
    """Whether a SOCKS proxy connects to a port of this machine."""
    connection = connect(port)
    try:
        connection.sendall(b"\x05\x01\x00")             # version 5, one method: none
        connection.recv(2)
        connection.sendall(b"\x05\x01\x00\x01\x7f\0\0\x01" + destination.to_bytes(2, "big"))
        if connection.recv(10)[1:2] != b"\0":           # anything but "succeeded"
            connection.close()
            return False
    except ConnectionError:
        connection.close()
        return False
    return is_answered(connection)
