# SPDX-License-Identifier: ISC
"""What keyveto writes has the same bytes on each architecture: this machine's own build writes them for comparison."""

import base64
import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(os.environ.get("KEYVETO_BUILD", ROOT / "build")) / "keyveto"
DEMO = ROOT / "testdata/demo"
PATIENCE = 600
# Of 2100: more than 31 bits count.
ENVIRONMENT = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": "4102444800", "TZ": "UTC"}


def lines(seed, number):
    """Lines of keys that nobody has."""
    rnd = random.Random(seed)
    made = []
    for _ in range(number):
        ed25519 = struct.pack(">I11sI32s", 11, b"ssh-ed25519", 32, rnd.randbytes(32))
        modulus = b"\0\xff" + rnd.randbytes(255)
        rsa = struct.pack(">I7sI3sI257s", 7, b"ssh-rsa", 3, b"\1\0\1", 257, modulus)
        made += [b"ssh-ed25519 " + base64.b64encode(ed25519), b"ssh-rsa " + base64.b64encode(rsa)]
    return b"\n".join(made) + b"\n"


# Each is a command of keyveto, in the folder of the inputs.
COMMANDS = [line.split() for line in """
filter create a.pkbf --hashes 2 --length 4
filter add a.pkbf examples.pub
filter create b.pkbf --hashes 12 --length 18
filter add b.pkbf examples.pub
filter create c.pkbf --entries 5000 --fpr 1e-6
filter add c.pkbf some.keys
filter create d.pkbf --entries 5000 --fpr 1e-6
filter add d.pkbf more.keys --no-compressed
filter merge e.pkbf c.pkbf d.pkbf
filter info --json e.pkbf
filter explain e.pkbf examples.pub
list create a.list --id 7 --name own some.keys
list create b.list --id 8 --name other more.keys examples.pub
list merge c.list a.list b.list
list info --json c.list
list explain c.list examples.pub
spki some.keys
spki --xxh64 examples.pub
check --json --all --filter c.pkbf --blocklist c.list all.keys
check --json --all --weak --filter demo.pkbf demo.home all.keys
filter add e.pkbf all.keys
list add c.list --id 9 --name third all.keys
""".strip().splitlines()]


def run_all(program, folder):
    """Runs the commands: what each printed, by its words; and all files of the folder."""
    said = []
    for words in COMMANDS:
        done = subprocess.run([program, *words], cwd=folder, env=ENVIRONMENT, capture_output=True, check=False,
                              timeout=PATIENCE)
        said.append((words, done.returncode, done.stdout, done.stderr))
    return said, {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_same_bytes(build, scratch):
    inputs = scratch / "inputs"
    shutil.copytree(DEMO / "home", inputs / "demo.home")
    shutil.copy(DEMO / "demo.pkbf", inputs)
    shutil.copy(DEMO / "publisher-examples.pub", inputs / "examples.pub")
    (inputs / "some.keys").write_bytes(lines("some", 200))
    (inputs / "more.keys").write_bytes(lines("more", 200))
    (inputs / "all.keys").write_bytes(lines("some", 20) + lines("more", 30) + lines("others", 30))
    results = []
    for program in (HERE, build / "keyveto"):
        # The folder of both has the same name, as some messages have it.
        folder = scratch / "work"
        shutil.copytree(inputs, folder)
        results.append(run_all(program, folder))
        folder.rename(scratch / f"done{len(results)}")
    (said, files), (said_there, files_there) = results
    assert said_there == said
    assert sorted(files_there) == sorted(files)
    for name, data in files.items():
        assert files_there[name] == data, name
    # Each command did what it is here for.
    assert all(status == (words[0] == "check") for words, status, *_ in said), said
    assert {"a.pkbf", "c.list", "c.list.sources"} <= set(files)
