# SPDX-License-Identifier: ISC
"""Reads a published folder as keyveto-index(5) describes it, without keyveto: the answer that tests compare with."""

import hashlib
import json
import lzma
import re
import stat
import subprocess
from datetime import datetime, timezone

import delta
from program import PATIENCE, check, equal

BEGIN = b"-----BEGIN SSH SIGNATURE-----\n"
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}")
SHA256 = re.compile(r"[0-9a-f]{64}")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def seconds(text):
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())


def no_duplicates(pairs):
    equal(len(dict(pairs)), len(pairs), f"a key is there twice: {pairs}")
    return dict(pairs)


class Published:
    """The folder at one moment. Fails if it is not whole: all that the index names is there, and is what it says."""

    def __init__(self, folder, signers=None):
        """With signers, the lines of an allowed_signers file, the signature must be good."""
        self.folder = folder
        data = (folder / "index").read_bytes()
        self.text, self.signature = data, b""
        if BEGIN in data:
            self.text, rest = data.split(BEGIN, 1)
            self.signature = BEGIN + rest
        if signers is not None:
            self.verify(signers)
        self.index = json.loads(self.text, object_pairs_hook=no_duplicates)
        # Compact, with a line end.
        equal(self.text.decode("ascii"), json.dumps(self.index, separators=(",", ":")) + "\n", "the form of the index")
        equal(self.index["format"], "keyveto-index-1")
        self.serial = self.index["serial"]
        check(seconds(self.index["expires"]) >= seconds(self.index["date"]), "expires before its date")
        self.files = {one["name"]: one for one in self.index["files"]}
        equal(len(self.files), len(self.index["files"]), "a name is there twice")
        self.named = {"index"}
        self.contents = {name: self.content(one) for name, one in self.files.items()}

    def verify(self, signers):
        allowed = self.folder.with_name("allowed-for-published")
        allowed.write_text(signers, encoding="ascii")
        signature = self.folder.with_name("signature-for-published")
        signature.write_bytes(self.signature)
        done = subprocess.run(["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "publisher", "-n", "keyveto-index",
                               "-s", signature], input=self.text, capture_output=True, timeout=PATIENCE, check=False)
        equal(done.returncode, 0, f"ssh-keygen: {done.stdout}{done.stderr}")

    def read(self, path):
        """A file below the folder, which anybody may read."""
        self.named.add(path)
        full = self.folder / path
        mode = full.lstat().st_mode
        check(stat.S_ISREG(mode), f"{path} is not a regular file")
        equal(stat.S_IMODE(mode), 0o644, f"the mode of {path}")
        return full.read_bytes()

    def content(self, one):
        """The unpacked file of an entry, with its companions and deltas checked."""
        check(NAME.fullmatch(one["name"]) and SHA256.fullmatch(one["sha256"]), f"a name or hash of {one}")
        packed = self.read(f"files/{one['sha256']}.xz")
        equal(len(packed), one["packed_size"], "packed size")
        data = lzma.decompress(packed, format=lzma.FORMAT_XZ)
        equal((len(data), sha256(data)), (one["size"], one["sha256"]), one["name"])
        equal(one["type"], "pkbf" if data.startswith(b"pkbfv1") else "blocklist")
        if one["type"] == "pkbf":
            equal(one["revision"], int.from_bytes(data[6:10], "big"))
        for companion in ("manifest", "sources"):
            if companion in one:
                self.companion(one["name"], companion, one)
        for step in one["deltas"]:
            size = len(self.read(self.delta_path(step)))
            equal(size, step["size"], "the size of a delta")
        check(sum(step["size"] for step in one["deltas"]) < one["packed_size"] or not one["deltas"],
              "a chain that is not cheaper than the file")
        # They are a chain, oldest first, that ends at the file.
        ends = [step["to"] for step in one["deltas"]]
        equal([step["from"] for step in one["deltas"]][1:] + [one["sha256"]] if ends else [], ends, "the chain")
        return data

    @staticmethod
    def delta_path(step):
        return f"deltas/{step['from'][:32]}-{step['to'][:32]}.delta"

    def companion(self, name, kind, one=None):
        expected = (one or self.files[name])[kind]
        data = self.read(f"files/{expected['sha256']}")
        equal((len(data), sha256(data)), (expected["size"], expected["sha256"]), kind)
        return data

    def follow(self, name, old):
        """The newest bytes, by the deltas from an older file. None if no chain begins there."""
        steps = self.files[name]["deltas"]
        begins = [number for number, step in enumerate(steps) if step["from"] == sha256(old)]
        if sha256(old) == self.files[name]["sha256"]:
            return old
        if not begins:
            return None
        for step in steps[begins[-1]:]:
            old = delta.patch(old, self.read(self.delta_path(step)))
            equal(sha256(old), step["to"], "a delta leads elsewhere")
        return old

    def surplus(self):
        """The files in the folder that the index does not name."""
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if not path.is_dir()} - self.named
