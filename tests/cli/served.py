# SPDX-License-Identifier: ISC
"""Reads a folder of keyveto-publish as a host that follows it does, without keyveto: what tests compare with."""

import hashlib
import json
import lzma
import re
import stat
from datetime import datetime

from program import attempt, check, equal
from runs import tool

FRAME = 0xfd2fb528


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def seconds(text):
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def frame(patch):
    """(content size, content checksum) of a frame of zstd, by RFC 8878."""
    equal(int.from_bytes(patch[:4], "little"), FRAME, "the magic number")
    flags = patch[4]
    at = 5 + (0 if flags & 0x20 else 1) + (0, 1, 2, 4)[flags & 3]
    size = (1 if flags & 0x20 else 0, 2, 4, 8)[flags >> 6]
    content = int.from_bytes(patch[at:at + size], "little") + (256 if size == 2 else 0)
    return content if size else None, bool(flags & 4)


class Torn(AssertionError):
    """A file and its signature are not a pair."""


class Served:
    """The folder at one moment. Fails if it is not whole: each file is there, and is what the small ones say."""

    def __init__(self, folder, signers=None):
        """With signers, the lines of an allowed_signers file, all must have a good signature."""
        self.folder, self.signers = folder, signers
        self.named, self.contents, self.manifests, self.bases = set(), {}, {}, {}
        for path in sorted(folder.iterdir()):
            if path.suffix == ".json":
                self.read_list(path.name)
            elif path.is_file() and not path.name.startswith(".") and path.read_bytes()[:6] == b"pkbfv1":
                self.contents[path.name] = self.read(path.name)
                self.verify(path.name, "keyveto-filter")
                self.bases[path.name] = path.name

    def read(self, name):
        """A file in the folder, which anybody may read."""
        self.named.add(name)
        mode = (self.folder / name).lstat().st_mode
        check(stat.S_ISREG(mode), f"{name} is not a regular file")
        equal(stat.S_IMODE(mode), 0o644, f"the mode of {name}")
        return (self.folder / name).read_bytes()

    def verify(self, name, namespace):
        signature = self.folder / f"{name}.sig"
        if self.signers is None:
            return
        allowed = self.folder.with_name("allowed-for-served")
        allowed.write_text(self.signers, encoding="ascii")
        self.read(signature.name)
        done = attempt("ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "publisher", "-n", namespace, "-s", signature,
                       text=False, input=self.read(name))
        if done.returncode != 0:
            raise Torn(f"{name}: {done.stdout}{done.stderr}")

    def read_list(self, name):
        self.verify(name, "keyveto-list")
        manifest = self.manifests[name] = json.loads(self.read(name))
        url = manifest["blocklist_url"].rpartition("/")[2]
        data = lzma.decompress(self.read(url), format=lzma.FORMAT_XZ)
        if sha256(data) != manifest["blocklist_sha256"]:
            raise Torn(f"{name}: {url} is another list")
        equal(manifest["bkformat"], 0)
        self.contents[name], self.bases[name] = data, url.removesuffix(".xz")

    def patch(self, name, old):
        """The patch from an older file. None if there is none."""
        patch = f"{self.bases[name]}.from-{sha256(old)[:16]}.zst"
        return self.read(patch) if (self.folder / patch).exists() else None

    def patches(self, name):
        return sorted(self.folder.glob(f"{self.bases[name]}.from-*.zst"))

    def follow(self, name, old):
        """What the patch from an older file gives. None if there is no patch."""
        patch = self.patch(name, old)
        if patch is None:
            return None
        equal(frame(patch), (len(self.contents[name]), True), "content size, content checksum")
        base = self.folder.with_name("base-for-served")
        base.write_bytes(old)
        return tool("zstd", "-q", "-dc", "--long=31", f"--patch-from={base}", input=patch)

    def surplus(self):
        """What nobody who reads the folder now asks for, but patches. Lists before the newest must be what they say."""
        left = {path.name for path in self.folder.iterdir()} - self.named
        for name in sorted(left):
            found = re.fullmatch(r"(.+)-([0-9a-f]{16})\.dat\.xz", name)
            if found and f"{found[1]}.json" in self.manifests:
                equal(sha256(lzma.decompress((self.folder / name).read_bytes()))[:16], found[2], name)
        return {name for name in left if not re.fullmatch(r".+\.from-[0-9a-f]{16}\.zst", name)}
