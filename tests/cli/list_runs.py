# SPDX-License-Identifier: ISC
"""Runs with exact lists, and the lists that they use."""

import blocklist
import sshkey
from runs import run
from samples import Key


def write_list(path, records, sources=None):
    """Writes a list of (hash, id), in ascending order, and the lines of its sources."""
    path.write_bytes(b"".join(sorted({digest + bytes([number]) for digest, number in records})))
    if sources is not None:
        path.with_name(f"{path.name}.sources").write_text(sources, encoding="ascii")
    return path


def hashes(key):
    """The hashes of a Key, an sshkey.Key or the line of one, by the oracle."""
    if isinstance(key, (str, bytes)):
        key = sshkey.parse_line(key.encode() if isinstance(key, str) else key)
    return blocklist.hashes(key.oracle if isinstance(key, Key) else key)


def random_records(rnd, count, ids=(1,)):
    return [(rnd.randbytes(blocklist.HASH), rnd.choice(ids)) for _ in range(count)]


def check(path, *words, lists=(), **more):
    """Runs keyveto check with these lists and no filter."""
    return run("check", *(word for one in lists for word in ("--blocklist", one)), *words, path, **more)


def keyveto_list(*words, status=0, **more):
    """Runs keyveto list: (standard output, messages without "keyveto: ")."""
    done = run("list", *words, status=status, **more)
    return done.out.decode(), [line.removeprefix("keyveto: ") for line in done.messages]


def oracle_list(lines, number=0, base=b""):
    """The bytes of a list to which these lines' keys are added, if it has no record of them."""
    made_list = blocklist.Blocklist(base)
    known = {record[:blocklist.HASH] for record in made_list.records}
    made_list.records |= {digest + bytes([number]) for line in lines for digest in hashes(line)
                          if digest not in known}
    return made_list.encode()
