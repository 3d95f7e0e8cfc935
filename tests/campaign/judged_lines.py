# SPDX-License-Identifier: ISC
"""Hundreds of thousands of lines: keyveto check finds each key that ssh-keygen finds.

ssh-keygen -lf reads a line as sshd does, but ignores the meaning of options.
Many lines are in one file, with a known key between each two.
"""

import base64
import multiprocessing
import os
import random
import re
import subprocess
import time
from dataclasses import dataclass, field

import files
import keypairs
import offers
import openssh

BATCH = 500
SEED = "keyveto lines"
PIECE_MOST = 4096       # longer pieces are tried with sshd only
FAILURES_SHOWN = 10


@dataclass
class Tally:
    passed: int = 0
    failed: int = 0
    keys: int = 0           # found by ssh-keygen
    more: int = 0           # lines on which keyveto check finds a key and ssh-keygen none
    failures: list = field(default_factory=list)

    def add(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Lines:
    """Makes lines, most of them slightly odd."""

    def __init__(self, pool, seed):
        self._pool, self._rng = pool, random.Random(f"{seed}/lines")
        self._pairs = [*pool.users.values(), *pool.authorities.values()]

    def one(self):
        rng = self._rng
        pair = rng.choice(self._pairs)
        encoding = offers.random_encoding(rng, pair, 0.2)
        pieces = {}
        key = base64.b64encode(encoding.plain())
        stranger = rng.choice(self._pool.strangers)
        for where, chance, choices in (
                ("lead", 0.1, lambda: files.LEADS), ("before", 0.1, lambda: files.SEPARATORS),
                ("options", 0.5, lambda: files.options(stranger, b"user")), ("token", 0.1, lambda: files.tokens(pair)),
                ("between", 0.1, lambda: files.SEPARATORS), ("after", 0.1, lambda: files.SEPARATORS),
                ("key", 0.1, lambda: files.base64_texts(key)), ("comment", 0.2, lambda: files.COMMENTS),
                ("end", 0.2, lambda: files.ENDS)):
            if rng.random() < chance:
                _, piece = rng.choice(choices())
                # sshd refuses a type in the place of the options, and keyveto need not find the key.
                if len(piece) <= PIECE_MOST and not (where == "options" and _starts_as_key(piece)):
                    pieces[where] = piece
        text = files.line_of(pair, encoding, **pieces).text()
        if rng.random() < 0.3:
            text = files.mutate(rng, text)
        text = text.replace(b"\n", b"")
        return text if openssh.keygen_reads_cr() else text.replace(b"\r", b"")


def _starts_as_key(options):
    return offers.sshkey.type_of_token(options.split()[0].decode("latin-1")) if options.split() else False


def judge(keyveto, empty_filter, folder, lines):
    """Compares the findings of both programs for some lines."""
    sentinel = keypairs.Ed25519(random.Random(SEED))
    text = files.text_of(sentinel)
    path = folder / f"lines-{os.getpid()}"
    path.write_bytes(b"".join(b"%s mark-%d\n%s\n" % (text, number, line) for number, line in enumerate(lines)))
    shown = subprocess.run(["ssh-keygen", "-lf", path], stdin=subprocess.DEVNULL, capture_output=True).stdout
    checked = subprocess.run([keyveto, "check", "--all", "--filter", empty_filter, path],
                             stdin=subprocess.DEVNULL, capture_output=True).stdout
    path.unlink()
    tally = Tally()
    theirs = _by_sentinel(shown, offers.sshkey.fingerprint(sentinel.blob).encode(), len(lines))
    ours = _by_line(checked, len(lines))
    for line, wanted, found in zip(lines, theirs, ours):
        tally.keys += len(wanted)
        tally.more += not wanted and bool(found)
        if wanted <= found:
            tally.passed += 1
        else:
            tally.failed += 1
            tally.failures.append((line, wanted - found))
    return tally


def _by_sentinel(output, sentinel, count):
    found = [set() for _ in range(count)]
    current, marks = None, 0
    # ssh-keygen cuts off a comment of thousands of characters, and its line end with it.
    for fingerprint, mark in re.findall(rb"\d+ (SHA256:\S{43}) (?:mark-(\d+) \(ED25519\)$)?", output, re.MULTILINE):
        if fingerprint == sentinel and mark:
            current = int(mark)
            marks += 1
        else:
            found[current].add(fingerprint)
    if marks != count:
        raise RuntimeError(f"ssh-keygen shows {marks} marks of {count}")
    return found


def _by_line(output, count):
    """The keys in keyveto check's output. The tested lines have even numbers."""
    found = [set() for _ in range(count)]
    pattern = rb"^\S+:(\d+): (?:clean|listed): \S+ \d+ (SHA256:\S{43})"
    for number, fingerprint in re.findall(pattern, output, re.MULTILINE):
        if int(number) % 2 == 0:
            found[int(number) // 2 - 1].add(fingerprint)
    return found


def run(world, pool, count, seed):
    """Compares the findings for count lines, in as many processes as there are processors."""
    started = time.monotonic()
    folder = world.scratch / "lines"
    folder.mkdir()
    workers = os.cpu_count() or 1
    with multiprocessing.get_context("fork").Pool(workers) as processes:
        shares = [(world.build / "keyveto", world.filters[None], pool, count // workers, f"{seed}/{number}", folder)
                  for number in range(workers)]
        tallies = processes.starmap(_run_share, shares)
    total = Tally()
    for tally in tallies:
        total.add(tally)
    print(f"ssh-keygen -lf, {time.monotonic() - started:.0f} s")
    print(f"  {total.passed + total.failed:8} lines\n  {total.keys:8} keys found by ssh-keygen\n"
          f"  {total.more:8} lines with a key for keyveto check alone\n  {total.failed:8} failed")
    for line, missed in total.failures[:FAILURES_SHOWN]:
        print(f"FAILED keyveto check does not find {missed} on {line!r}")
    return total


def _run_share(keyveto, empty_filter, pool, count, seed, folder):
    lines, total = Lines(pool, seed), Tally()
    for start in range(0, count, BATCH):
        batch = [lines.one() for _ in range(min(BATCH, count - start))]
        total.add(judge(keyveto, empty_filter, folder, batch))
    return total
