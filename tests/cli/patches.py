# SPDX-License-Identifier: ISC
"""Patches of filters and lists, which the program zstd makes, and where they are published."""

import functools
import hashlib
import lzma
import tempfile
from pathlib import Path

import xxhash

from runs import tool
from website import Page

MAGIC = b"\x28\xb5\x2f\xfd"


@functools.cache
def patch(old, new, *words):
    """zstd --patch-from, with these words more."""
    with tempfile.TemporaryDirectory() as name:
        before, after = Path(name, "old"), Path(name, "new")
        before.write_bytes(old)
        after.write_bytes(new)
        return tool("zstd", "-q", "-c", *(words or ("-3",)), f"--patch-from={before}", after)


def identity(old):
    return hashlib.sha256(old).hexdigest()[:16]


def patch_path(path, old):
    """Where the patch from old is, of the file at path."""
    return f"{path.removesuffix('.xz')}.from-{identity(old)}.zst"


def serve_patch(site, path, old, new, *words):
    """Serves the patch from old to new, the file at path: its page."""
    page = site.pages[patch_path(path, old)] = Page(patch(old, new, *words))
    return page


# --- frames by hand (RFC 8878) -------------------------------------------------------

BLOCK = 128 * 1024
CHECKSUM, SINGLE = 4, 32


def block(kind, size, data, last=False):
    return (last | kind << 1 | size << 3).to_bytes(3, "little") + data


def blocks_of(made):
    """The blocks of a frame."""
    single, size = made[4] & SINGLE, made[4] >> 6
    return made[5 + (not single) + ((1 if single else 0), 2, 4, 8)[size]:-4]


def repeated(total):
    """Blocks that give so many zeroes."""
    n = -(-total // BLOCK)
    return b"".join(block(1, BLOCK, b"\0", i == n - 1) for i in range(n))


def frame(content, blocks, window=None, size=-1, check=True, dictionary=False):
    """A frame of these blocks, which give content. size: what it says of the length; None: nothing."""
    size = len(content) if size == -1 else size
    flags = (CHECKSUM if check else 0) | (SINGLE if window is None else 0) | (0 if size is None else 0xc0) | dictionary
    end = xxhash.xxh64(content).intdigest().to_bytes(8, "little")[:4] if check else b""
    return b"".join((MAGIC, bytes([flags]), b"" if window is None else bytes([window]), b"\x07" if dictionary else b"",
                     b"" if size is None else size.to_bytes(8, "little"), blocks, end))


def window(log, eighths=0):
    return log - 10 << 3 | eighths


def skippable(data=b"passed over"):
    return b"\x53\x2a\x4d\x18" + len(data).to_bytes(4, "little") + data


def no_patches(old, new):
    """What is no patch from old to new, by what is wrong with it."""
    good = patch(old, new)
    assert good[4] & CHECKSUM and not good[4] & 3
    blocks, half = blocks_of(good), len(new) // 2
    log = max(10, (len(old) - 1).bit_length())      # 2 ** log spans the old file
    return {
        "nothing": b"",
        "a byte": MAGIC[:1],
        "the magic number": MAGIC,
        "a header": good[:6],
        "cut short": good[:-7],
        "cut in its checksum": good[:-1],
        "its checksum cut off": good[:4] + bytes([good[4] & ~CHECKSUM]) + good[5:-4],
        "another checksum": good[:-1] + bytes([good[-1] ^ 1]),
        "a bit flipped": good[:len(good) // 2] + bytes([good[len(good) // 2] ^ 4]) + good[len(good) // 2 + 1:],
        "from another file": patch(new, new),
        "no checksum": frame(new, blocks, check=False),
        "to a longer file": patch(old, new + new + bytes(16)),
        "to an empty file": frame(b"", block(0, 0, b"", True)),
        "no size": frame(new, blocks, window=window(log + 1), size=None),
        "a size too small": frame(new, blocks, window=window(log + 1), size=len(new) - 1),
        "a size too large": frame(new, blocks, window=window(log + 1), size=len(new) + 1),
        "the largest size": frame(new, blocks, window=window(log + 1), size=2 ** 64 - 1),
        "a size of errors": frame(new, blocks, window=window(log + 1), size=2 ** 64 - 2),
        "a large window": frame(new, blocks, window=window(log + 1, 1)),
        "the largest window": frame(new, blocks, window=255),
        "a dictionary": frame(new, blocks, window=window(log + 1), dictionary=True),
        "a frame to pass over before": skippable() + good,
        "a frame to pass over behind": good + skippable(),
        "only a frame to pass over": skippable(),
        "two frames": patch(old, new[:half]) + patch(old, new[half:]),
        "twice": good + good,
        "bytes behind": good + b"\0",
        "a bomb": frame(new, repeated(2 ** 24), size=2 ** 24),
        "a bomb of the right size": frame(new, repeated(2 ** 24)),
        "a reserved block": frame(new, block(3, 10, bytes(10), True)),
        "the file itself": new[:len(old) - 1],
        "xz": lzma.compress(new),
        "zeroes": bytes(100),
        "ones": b"\xff" * 100,
    }


def patches_by_hand(old, new):
    """What differs from no_patches in nothing but that nothing is wrong."""
    blocks, log = blocks_of(patch(old, new)), max(10, (len(old) - 1).bit_length())
    return {
        "one segment": frame(new, blocks),
        "a small window": frame(new, blocks, window=window(log)),
        "the largest window that is none too large": frame(new, blocks, window=window(log + 1)),
        "by zstd -19": patch(old, new, "-19"),
        "by zstd --ultra -22": patch(old, new, "--ultra", "-22"),
        "by zstd --long": patch(old, new, "--long=31"),
        "by zstd -1": patch(old, new, "-1"),
    }
