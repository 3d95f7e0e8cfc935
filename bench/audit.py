#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Measures keyveto audit of many accounts, in a throw-away root.

    bench/audit.py --build DIR COUNT...

Prints a line for each kind of machine and each count: the kind, the count, and the microseconds of processor time
for an account. private: homes that the account's private group may write. match: a Match Group block.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/e2e"))

import sandbox     # noqa: E402

FIRST_ID = 30_000
NEEDED = ("root", "daemon", "nobody", "sshd", "nogroup")
KINDS = ("plain", "private", "match")


def make_account(folder, number, line, private):
    """Makes a home, and returns its line of passwd."""
    home = folder / str(number // 1000) / f"m{number}"
    (home / ".ssh").mkdir(parents=True)
    file = home / ".ssh/authorized_keys"
    file.write_bytes(line)
    for path, mode in ((home, 0o775 if private else 0o755), (home / ".ssh", 0o700), (file, 0o600)):
        os.chown(path, FIRST_ID + number, FIRST_ID + number)
        path.chmod(mode)
    return f"m{number}:x:{FIRST_ID + number}:{FIRST_ID + number}::{home}:/bin/sh\n"


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(keyveto, kind, count, folder):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"], check=True)
    line = (folder / "key.pub").read_bytes()
    listed = folder / "empty.pkbf"
    subprocess.run([keyveto, "filter", "create", listed, "--entries", "1000", "--fpr", "1e-9"], check=True,
                   stderr=subprocess.DEVNULL)
    for path in (Path("/etc/passwd"), Path("/etc/group")):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if line.split(":")[0] in NEEDED), encoding="utf-8")
    with open("/etc/passwd", "a", encoding="utf-8") as passwd, open("/etc/group", "a", encoding="utf-8") as group:
        for number in range(count):
            passwd.write(make_account(folder, number, line, kind == "private"))
            group.write(f"m{number}:x:{FIRST_ID + number}:\n")
        group.write("staffers:x:29999:m1\n")
    block = "Match Group staffers\n AuthorizedKeysFile .ssh/authorized_keys2\n"
    config = Path("/etc/ssh/sshd_config")
    config.write_text(f"HostKey {folder}/key\n{block if kind == 'match' else ''}", encoding="utf-8")
    before = processor_seconds()
    subprocess.run([keyveto, "audit", "--quiet", "--filter", listed], check=True)
    print(kind, count, (processor_seconds() - before) / count * 1e6, flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=HERE.parent / "build")
    parser.add_argument("counts", type=int, nargs="+")
    options = parser.parse_args()
    keyveto = options.build.resolve() / "keyveto"
    for kind in KINDS:
        for count in options.counts:
            with tempfile.TemporaryDirectory(prefix="keyveto-audit-", dir="/var/lib") as name:
                folder = Path(name)
                folder.chmod(0o755)
                status = sandbox.call(lambda kind=kind, count=count, at=folder: measure(keyveto, kind, count, at),
                                      [str(folder)])
            if status != 0:
                return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
