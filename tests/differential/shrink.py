# SPDX-License-Identifier: ISC
"""Cuts a failing draw down to the smallest one that fails in the same way.

An element of a list is removed if the draw still fails without it, the
larger ones first. The values that are left become plain. Each try runs the draw.
"""

import copy
import time

PLAIN = {
    "home_mode": 0o755, "password": "good", "shared_group": False, "shell": "/bin/bash", "mode": 0o600,
    "folder_mode": 0o700, "owner": "account", "kind": "file", "eol": "\n", "final": True, "net": 1, "to": "127.0.0.1",
    "port": 22, "tty": False, "tunnel": False, "comment": "", "include": True, "expired": False,
}
_LAST = ("identities", "principals", "warn", "clients", "nights")        # these lists keep one element


def shrink(draw, client, fails, seconds):
    """The smallest draw found in that time. client is the number of the failing client, or None."""
    deadline = time.monotonic() + seconds
    draw = copy.deepcopy(draw)

    def attempt(change):
        if time.monotonic() > deadline:
            return False
        smaller = copy.deepcopy(draw)
        if change(smaller) is False or smaller == draw or not fails(smaller):
            return False
        draw.clear()
        draw.update(smaller)
        return True

    if client is not None:
        attempt(lambda d: d.update(clients=[d["clients"][client]]))
    while time.monotonic() < deadline:
        before = copy.deepcopy(draw)
        for place in ("matches", "drop_ins", "main"):
            attempt(lambda d, p=place: d["config"].update({p: []}))
        for path in list(_lists(draw)):
            _thin(draw, path, attempt)
        for path in list(_scalars(draw)):
            attempt(lambda d, p=path: _get(d, p[:-1]).update({p[-1]: PLAIN[p[-1]]}))
        if draw == before:
            break
    return draw


def _thin(draw, path, attempt):
    """Removes elements of one list, from its end."""
    def without(d, number):
        found = _get(d, path)
        if len(found) == 1 and path[-1] in _LAST:
            return False
        del found[number]
        return True
    try:
        number = len(_get(draw, path)) - 1
    except (KeyError, IndexError):
        return                      # the list was removed with its parent
    while number >= 0:
        attempt(lambda d, n=number: without(d, n))
        number -= 1


def _get(node, path):
    for step in path:
        node = node[step]
    return node


def _lists(node, path=()):
    """The lists in a draw, by their paths, outer ones first."""
    if isinstance(node, list) and node and not _is_setting(node):
        yield path
    for step, inner in _steps(node):
        yield from _lists(inner, (*path, step))


def _is_setting(node):
    """Whether the node is a keyword with its value, which belong together."""
    return len(node) == 2 and all(isinstance(word, str) for word in node) and node[0][:1].isupper()


def _scalars(node, path=()):
    """The paths of values that have a plain form."""
    for step, inner in _steps(node):
        if step in PLAIN and inner != PLAIN[step] and not (step == "kind" and inner in ("keys", "principals")):
            yield (*path, step)
        elif not (step == "kind"):
            yield from _scalars(inner, (*path, step))


def _steps(node):
    if isinstance(node, dict):
        return list(node.items())
    return list(enumerate(node)) if isinstance(node, list) else []
