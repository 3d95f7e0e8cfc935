# SPDX-License-Identifier: ISC
"""How the cost of a work grows, beside programs of Debian that do the same work: a row for each size, and a plot."""

import random
import shutil
import subprocess
import time
from base64 import b64encode
from pathlib import Path

import data

ROUNDS = 5
PORT = 21022


def measure(bench):
    for name, unit, sizes, commands, titles in (_lines(bench), _files(bench), _records(bench)):
        _grow(bench, name, unit, sizes, commands, titles)
    _servers(bench)


def _grow(bench, name, unit, sizes, commands, titles):
    """commands(size) has ours, then those of others; None for one that would take too long."""
    points, before = [], None
    for size in sizes:
        wanted = commands(size)
        times = iter([took / 1000 for took, _ in bench.pairs(bench.rounds(ROUNDS), *filter(None, wanted))])
        took = [next(times) if command else None for command in wanted]
        grown = f"report; {took[0] / before[1]:.1f} × the time for {size / before[0]:.0f} × the {unit}" if before \
            else "report"
        if not any(took[1:]):
            bench.report(f"{titles[0]}, {size:,} {unit}", f"{took[0]:.4g} ms", "", grown)
        for title, other in zip(titles[1:], took[1:]):
            if other is not None:
                bench.add(f"{titles[0]}, {size:,} {unit} ({title})", took[0], other, grown, "ms")
        points.append((size, *("?" if one is None else one for one in took)))
        before = size, took[0]
    bench.plot(f"growth-{name}", points, unit, "ms", titles, logx=True, logy=True)


def _sizes(bench, most):
    return [most // 1000 // (10 if bench.quick else 1), most // 100, most // 10, most][:3 if bench.quick else 4]


def _lines(bench):
    """Keys in one file. ssh-keygen hashes each key, too."""
    def commands(size):
        keys = data.key_file(bench.data, size)
        return bench.checked(count=size), [shutil.which("ssh-keygen"), "-lf", keys]
    return "lines", "lines", _sizes(bench, 1_000_000), commands, ("check", "ssh-keygen -lf")


def _files(bench):
    """Keys in a tree of homes, warm."""
    def commands(size):
        tree = _tree(bench.data / f"tree-{size}", size)
        each = [shutil.which("find"), tree, "-name", "*keys", "-exec", "ssh-keygen", "-lf", "{}", ";"]
        return bench.checked_tree(tree), [shutil.which("grep"), "-rc", "ssh-", tree], each if size <= 1000 else None
    return "files", "files", _sizes(bench, 100_000), commands, ("check", "grep -rc", "find -exec ssh-keygen -lf")


def _tree(folder, size):
    """Homes with one file of a few keys each."""
    if not folder.exists():
        rng, part = random.Random(f"{data.SEED} tree"), folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        for number in range(size):
            home = part / f"{number // 1000}" / f"user{number}/.ssh"
            home.mkdir(parents=True)
            (home / "authorized_keys").write_bytes(b"".join(data.lines(rng, rng.randrange(1, 5))))
        part.rename(folder)
    return folder


def _records(bench):
    """One key and a list of so many. A KRL is read whole; ssh-keygen takes ten minutes to make one of a million."""
    key = bench.scratch / "one.pub"
    key.write_bytes(next(iter(data.lines(random.Random(f"{data.SEED} one"), 1))))

    def commands(size):
        other = None
        if size <= 100_000:
            krl = data.write_once(bench.data / f"krl-{size}", lambda file: _make_krl(Path(file.name), size))
            other = [shutil.which("ssh-keygen"), "-Q", "-f", krl, key]
        return [bench.keyveto, "check", "--blocklist", data.list_file(bench.data, size), key], other
    return "records", "records", _sizes(bench, 10_000_000), commands, (
        "check with a list", "ssh-keygen -Q with a KRL")


def _make_krl(path, size):
    rng = random.Random(f"{data.SEED} krl {size}")
    spec = path.with_suffix(".spec")
    with open(spec, "w", encoding="ascii") as file:
        file.writelines(f"hash: SHA256:{b64encode(rng.randbytes(32)).decode().rstrip('=')}\n" for _ in range(size))
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", path, spec], check=True)
    spec.unlink()


def _servers(bench):
    """One sshd with many addresses, each of which is a server for the client."""
    key = bench.scratch / "host_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", key, "-p", str(PORT), "-o",
                               "ListenAddress=0.0.0.0", "-o", "MaxStartups=1000", "-o", "PidFile=none"],
                              stderr=subprocess.DEVNULL)

    def commands(size):
        hosts = [f"127.1.{number // 250}.{number % 250 + 1}" for number in range(size)]
        named = [f"{host}:{PORT}" for host in hosts]
        return ([bench.keyveto, "scan", "--filter", data.filter_file(bench.data, bench.lengths[0]), *named],
                [shutil.which("ssh-keyscan"), "-t", "ed25519", "-p", str(PORT), *hosts])
    try:
        _wait_for(["ssh-keyscan", "-p", str(PORT), "127.0.0.1"])
        _grow(bench, "servers", "servers", (1, 10, 100), commands, ("scan", "ssh-keyscan"))
    finally:
        server.kill()
        server.wait()


def _wait_for(command):
    for _ in range(100):
        if subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout:
            return
        time.sleep(0.1)
    raise SystemExit("bench/growth.py: sshd does not answer")
