# SPDX-License-Identifier: ISC
"""What the collection's audit makes of what a hostile host could answer. No host is asked here."""

import base64
import importlib.util
import json
import sys
import zlib

import pytest

from program import ROOT, equal


def load():
    """The action plugin, of which only functions are called."""
    for path in ("/usr/lib/python3/dist-packages",):
        if path not in sys.path:
            sys.path.append(path)
    spec = importlib.util.spec_from_file_location("audit_action", ROOT / "fleet/ansible/plugins/action/audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def packed(data):
    return base64.b64encode(zlib.compress(data)).decode()


def test_what_a_host_sends_is_bounded():
    action = load()
    for size in (0, 1, 1 << 20, (1 << 20) + 1, 5 << 20):
        data = bytes(size)
        equal(b"".join(action.unpacked(packed(data), 1 << 24)) == data, True, size)
    with pytest.raises(ValueError, match="more than"):
        for block in action.unpacked(packed(bytes(1 << 26)), 1 << 22):
            assert len(block) <= action.BLOCK
    for bad in (packed(b"x" * 1000)[:-8], "", "!"):
        with pytest.raises((ValueError, zlib.error)):
            list(action.unpacked(bad, 1 << 20))


@pytest.mark.parametrize(("sent", "header", "rest"), [
    (b'{"header":true,"host":"a","answered":false}\n{"end":true}\n', {"host": "h", "hostname": "a"}, b'{"end":true}\n'),
    (b'{"header":true,"host":"h"}\n', {"host": "h"}, b""),
    (b'{"file":"x"}\n{"file":"y"}\n', {"host": "h", "format": 1}, b'{"file":"x"}\n{"file":"y"}\n'),
])
def test_the_header_has_the_name_of_the_inventory(sent, header, rest):
    """No host can say that it, or another one, did not answer."""
    first, _, left = b"".join(load().with_host([sent[:7], sent[7:]], "h")).partition(b"\n")
    told = json.loads(first)
    equal({name: told[name] for name in header}, header)
    equal((told["header"], "answered" in told, left), (True, False, rest))


def test_no_name_of_a_host_leads_out_of_the_folder():
    names = ["a", "A", "..", ".", "-x", "/etc/passwd", "a/b", "a%2fb", "\n", "é", "_..", ""]
    made = [load().file_name(name) for name in names]
    equal(len(set(made)), len(names))
    assert not [name for name in made if "/" in name or name.startswith((".", "-"))]
