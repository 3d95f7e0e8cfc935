# SPDX-License-Identifier: ISC
"""docs/elsewhere.md, "Larger than one machine", over three hosts by Debian's GNU parallel.

Each host is a network namespace with a name, a home and a /tmp of its own, and a real sshd, behind one bridge. All are
in one throw-away root.
"""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from base64 import b64encode
from pathlib import Path

import pytest

pytestmark = pytest.mark.throwaway

ROOT = Path(__file__).resolve().parent.parent.parent
STEP = re.compile(r"^<!-- step: (\S+) -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEPS = dict(STEP.findall((ROOT / "docs/elsewhere.md").read_text(encoding="utf-8")))
HOSTS = {"build1": "192.0.2.11", "build2": "192.0.2.12", "build3": "192.0.2.13"}
HERE, BRIDGE = "192.0.2.1", "kv-parallel"
PATIENCE = 300
HEADER = 24     # bytes of a filter before its bits


def run(*argv, status=0, **options):
    done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, check=False, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, **options)
    assert status in (None, done.returncode), f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done


def wait_for_port(address):
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection((address, 22), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, f"{address} does not listen"
            time.sleep(0.05)


class Hosts:
    """Three hosts, and the commands of the document on this one."""

    def __init__(self, folder):
        self.folder, self.sshd = folder, {}
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "id")
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{HERE}/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        for name, address in HOSTS.items():
            self._start(name, address)
        with open("/etc/hosts", "a", encoding="ascii") as hosts:
            hosts.writelines(f"{address} {name}\n" for name, address in HOSTS.items())
        for name in ("builders", "scanners"):
            (folder / name).write_text("".join(f"2/root@{host}\n" for host in HOSTS), encoding="ascii")
        # What an administrator's ~/.ssh/config and ssh-agent do.
        (folder / "ssh").write_text(
            f"#!/bin/sh\nexec /usr/bin/ssh -F none -i {folder}/id -o StrictHostKeyChecking=yes -o BatchMode=yes "
            f"-o UserKnownHostsFile={folder}/known_hosts \"$@\"\n", encoding="ascii")
        (folder / "ssh").chmod(0o755)
        for address in HOSTS.values():
            wait_for_port(address)

    def _start(self, name, address):
        home = self.folder / name
        (home / ".ssh").mkdir(mode=0o700, parents=True)
        shutil.copy(self.folder / "id.pub", home / ".ssh/authorized_keys")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / "host_key")
        kind, blob = (home / "host_key.pub").read_text(encoding="ascii").split()[:2]
        with open(self.folder / "known_hosts", "a", encoding="ascii") as known:
            known.write(f"{name} {kind} {blob}\n")
        (home / "sshd_config").write_text(
            "HostKey /root/host_key\nPermitRootLogin prohibit-password\nAuthorizedKeysFile /root/.ssh/authorized_keys\n"
            "UsePAM no\nStrictModes no\nMaxStartups 100\nPidFile none\n", encoding="ascii")
        run("ip", "netns", "add", name)
        run("ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        run("ip", "link", "set", name, "up", "master", BRIDGE)
        for words in (("address", "add", f"{address}/24", "dev", "eth0"), ("link", "set", "eth0", "up"),
                      ("link", "set", "lo", "up")):
            run("ip", "-n", name, *words)
        inside = (f"mount --bind {home} /root && mount -t tmpfs tmpfs /tmp && hostname {name} && "
                  "mkdir -p /run/sshd && exec /usr/sbin/sshd -D -e -f /root/sshd_config")
        with open(self.folder / f"{name}.log", "wb") as log:
            self.sshd[name] = subprocess.Popen(
                ["ip", "netns", "exec", name, "unshare", "--mount", "--uts", "--propagation", "private", "sh", "-c",
                 inside], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def logins(self):
        """How often each host was logged in to."""
        return {name: (self.folder / f"{name}.log").read_text(errors="replace").count("Accepted publickey")
                for name in HOSTS}

    def left(self):
        """What is in the homes of the hosts besides what was there."""
        mine = {".ssh", "host_key", "host_key.pub", "sshd_config", ".parallel"}
        return {f"{name}/{path.name}" for name in HOSTS for path in (self.folder / name).iterdir()} - {
            f"{name}/{file}" for name in HOSTS for file in mine}

    def follow(self, step, work, status=0, **variables):
        """Runs a step of the document in the folder work."""
        for name in ("builders", "scanners"):
            shutil.copy(self.folder / name, work / name)
        home = self.folder / "home"
        (home / ".parallel").mkdir(parents=True, exist_ok=True)
        (home / ".parallel/will-cite").touch()
        return run("bash", "-euo", "pipefail", "-c", STEPS[step], cwd=work, status=status, env={
            **os.environ, "HOME": str(home), "PARALLEL_SSH": str(self.folder / "ssh"),
            "PARALLEL_RSYNC_OPTS": f"-rlDzR -e {self.folder}/ssh", **variables})


@pytest.fixture(scope="module", autouse=True)
def installed(build):
    """Where a login without /usr/local/bin in its PATH finds it, too. The root is thrown away."""
    shutil.copy(build / "keyveto", "/usr/bin/keyveto")
    Path("/usr/libexec/keyveto").mkdir(exist_ok=True)
    for name in ("keyveto-reader", "keyveto-worker", "keyveto-network"):
        shutil.copy(build / name, "/usr/libexec/keyveto")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    assert shutil.which("parallel") and shutil.which("rsync"), "scripts/deps fleet installs parallel and rsync"
    folder = tmp_path_factory.mktemp("parallel")
    found = Hosts(folder)
    yield found
    for process in found.sshd.values():
        process.send_signal(signal.SIGTERM)
        process.wait()


@pytest.fixture
def work(tmp_path):
    return tmp_path


def line_of(rnd):
    """A line of a random key: Ed25519 or P-256, whose point need not be on the curve."""
    if rnd.randrange(3):
        name, parts = b"ssh-ed25519", [rnd.randbytes(32)]
    else:
        name, parts = b"ecdsa-sha2-nistp256", [b"nistp256", b"\4" + rnd.randbytes(64)]
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in (name, *parts))
    return f"{name.decode()} {b64encode(blob).decode()} c{rnd.randrange(100)}\n"


def write_keys(path, seed, count):
    """Lines of keys; some stand several times, and so in several parts."""
    rnd = random.Random(seed)
    lines = [line_of(rnd) for _ in range(count)]
    lines += rnd.choices(lines, k=count // 10)
    rnd.shuffle(lines)
    path.write_text("".join(lines), encoding="ascii")


def digest(data):
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_filter_made_on_three_hosts_has_the_bits_of_one_made_here(hosts, work, seed):
    write_keys(work / "keys", seed, 30000)
    before = hosts.logins()
    hosts.follow("parallel-filter", work, ENTRIES="50000")
    assert all(count > before[name] for name, count in hosts.logins().items()), "a host did nothing"
    run("keyveto", "filter", "create", work / "one", "--entries", 50000, "--fpr", "1e-9")
    # The sshd of the hosts are processes of this root, too, and what they are told cannot be read from here.
    run("keyveto", "filter", "add", "--yes", work / "one", work / "keys")
    ours, one = (work / "all.pkbf").read_bytes(), (work / "one").read_bytes()
    assert digest(ours[HEADER:]) == digest(one[HEADER:]), "bits"
    assert ours[:6] + ours[22:HEADER] == one[:6] + one[22:HEADER], "k and p"
    assert int.from_bytes(ours[18:22], "big") >= int.from_bytes(one[18:22], "big"), "entries are an upper bound"
    assert not hosts.left(), "files are left on the hosts"


@pytest.mark.parametrize("seed", [3, 4])
def test_a_list_made_on_three_hosts_is_the_file_of_one_made_here(hosts, work, seed):
    write_keys(work / "keys", seed, 20000)
    hosts.follow("parallel-list", work)
    run("keyveto", "list", "create", work / "one", "--id", 7, work / "keys")
    assert digest((work / "all.dat").read_bytes()) == digest((work / "one").read_bytes())
    assert not hosts.left(), "files are left on the hosts"


@pytest.mark.parametrize("seed", range(3))
def test_a_merge_does_not_depend_on_the_parts_their_order_or_brackets(work, seed):
    rnd = random.Random(seed)
    write_keys(work / "keys", seed, 3000)
    lines = (work / "keys").read_text(encoding="ascii").splitlines(keepends=True)
    run("keyveto", "filter", "create", work / "empty", "--hashes", rnd.choice((1, 7, 20)), "--length", 18)
    one = shutil.copy(work / "empty", work / "one")
    run("keyveto", "filter", "add", "--yes", one, work / "keys")
    run("keyveto", "list", "create", work / "one.dat", "--id", 7, work / "keys")
    parts = []
    while lines:
        name = work / f"part{len(parts)}"
        cut = rnd.choice((1, 100, rnd.randrange(1, 2000)))
        name.write_text("".join(lines[:cut]), encoding="ascii")
        lines = lines[cut:]
        shutil.copy(work / "empty", f"{name}.pkbf")
        run("keyveto", "filter", "add", "--yes", f"{name}.pkbf", name)
        run("keyveto", "list", "create", f"{name}.dat", "--id", 7, name)
        parts.append(name)
    while len(parts) > 1:
        some = [parts.pop(rnd.randrange(len(parts))) for _ in range(min(len(parts), rnd.choice((2, 3))))]
        name = work / f"merged{len(parts)}-{rnd.randrange(10**9)}"
        for kind, suffix in (("filter", "pkbf"), ("list", "dat")):
            run("keyveto", kind, "merge", f"{name}.{suffix}", *(f"{part}.{suffix}" for part in some))
        parts.append(name)
    assert Path(f"{parts[0]}.pkbf").read_bytes()[HEADER:] == Path(one).read_bytes()[HEADER:], "bits"
    assert Path(f"{parts[0]}.dat").read_bytes() == (work / "one.dat").read_bytes(), "list"


def test_nothing_is_merged_if_a_part_fails(hosts, work):
    """A part with a line that is no key: its records are made, and the exit status tells."""
    write_keys(work / "keys", 5, 200)
    with open(work / "keys", "a", encoding="ascii") as keys:
        keys.write("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIdamaged\n")
    done = hosts.follow("parallel-list", work, status=None)
    assert done.returncode == 1, done
    assert not (work / "all.dat").exists()


def test_a_scan_of_one_list_of_hosts_from_three_hosts(hosts, work):
    """1,200 names: those of the three hosts, and of nobody. Each scanner has a list of its own."""
    bad = (hosts.folder / "build2/host_key.pub").read_text(encoding="ascii")
    (work / "bad").write_text(bad, encoding="ascii")
    run("keyveto", "list", "create", work / "bad.dat", "--id", 7, work / "bad")
    Path("/etc/keyveto").mkdir(exist_ok=True)
    shutil.copy(work / "bad.dat", "/etc/keyveto/bad.dat")
    Path("/etc/keyveto/keyveto.conf").write_text("Blocklist /etc/keyveto/bad.dat\n", encoding="ascii")
    names = list(HOSTS.values()) + [f"127.0.0.1:{port}" for port in range(2000, 3197)]
    random.Random(6).shuffle(names)
    (work / "hosts").write_text("".join(f"{name}\n" for name in names), encoding="ascii")
    before = hosts.logins()
    done = hosts.follow("parallel-scan", work, status=None)
    rows = [json.loads(line) for line in (work / "found.json").read_text(encoding="ascii").splitlines()]
    found = {row["file"] for row in rows if row["verdict"] == "listed"}
    assert found == {f"{HOSTS['build2']}:22"}, (found, done)
    assert {row["file"] for row in rows if row["verdict"] == "error"} == {name for name in names if ":" in name}, done
    assert all(count > before[name] for name, count in hosts.logins().items()), "a host did nothing"
    assert done.returncode == 3, done
    # The same as one scan, but for the order.
    one = run("keyveto", "scan", "--json", *names, status=1).stdout.splitlines()
    assert sorted(map(str, rows)) == sorted(str(json.loads(line)) for line in one)
