#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Measures logins by ssh, which take turns. Needs root.

    logins.py [--rounds N] [--build DIR] COUNT...
    logins.py [--rounds N] [--build DIR] --config KEYVETO.CONF [--old GUARD]

With COUNT: with RevokedKeys and a KRL of COUNT hashes, and with the guard and such a filter. Prints a line for each
COUNT: COUNT, and the seconds without either, with the KRL and with the guard, medians of N logins.

With --config: the stock sshd, the same once more, cat as AuthorizedKeysCommand, which shows what any command costs,
the guard, the module in PAM, and guard and module. Prints these names; the seconds of processor time of a login, by
sshd and all that it starts; and a line for each of N rounds with their seconds. With --old: the same of the stock
sshd, the guard of another build, and that of this one.
"""

import argparse
import base64
import random
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests/campaign"))

import keypairs     # noqa: E402
import lanes        # noqa: E402
import pkbf         # noqa: E402
from lanes import server    # noqa: E402

from logbook import Logbook     # noqa: E402


class Identity:
    def __init__(self, folder, pair):
        path = folder / "key"
        path.touch(0o600)
        path.write_text(keypairs.private_key_file(pair), encoding="ascii")
        self.options = ["-i", str(path)]


def write_krl(folder, rng, count):
    spec, krl = folder / f"spec{count}", folder / f"krl{count}"
    spec.write_text("".join(f"hash: SHA256:{base64.b64encode(rng.randbytes(32)).decode().rstrip('=')}\n"
                            for _ in range(count)))
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", krl, spec], check=True)
    return krl


def write_filter(folder, rng, count):
    made = pkbf.Filter.create(20, max(8, (count * 29).bit_length()), revision=1)
    for _ in range(count):
        made.add(rng.randbytes(44))
    path = folder / f"filter{count}.pkbf"
    path.write_bytes(made.to_bytes())
    config = folder / f"keyveto{count}.conf"
    config.write_text(f"Filter {path}\n")
    return config


def spent_by_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def time_logins(world, deployments, rounds):
    """The seconds of each login, in a tuple for each round; and each sshd's processor time for a login."""
    account = world.machine.add_account()
    pair = keypairs.Ed25519(random.Random(5))
    identity = Identity(world.scratch, pair)
    account.authorize(f"ssh-ed25519 {base64.b64encode(pair.blob).decode()}")
    servers = [server.Server(world.machine, world.scratch, world.host_key, one) for one in deployments]
    took, spent = [], []
    try:
        for one in servers:
            one.start()
        for number in range(rounds + 1):
            times = {}
            # Every other round goes backwards, so that none always follows the same one.
            for place in sorted(range(len(servers)), reverse=number % 2 == 1):
                begin = time.perf_counter()
                outcome = world.clients.login(servers[place], account, [identity])
                times[place] = time.perf_counter() - begin
                if not outcome.entered:
                    raise RuntimeError(f"refused: {outcome}")
            if number:
                took.append(tuple(times[place] for place in range(len(servers))))
    finally:
        for one in servers:
            before = spent_by_children()
            one.stop()
            spent.append((spent_by_children() - before) / (rounds + 1))
    return took, spent


def measure_counts(world, counts, rounds):
    rng = random.Random(5)
    folder = world.scratch
    for count in counts:
        took, _ = time_logins(world, (server.vanilla(),
                                      server.vanilla().adding(f"RevokedKeys {write_krl(folder, rng, count)}"),
                                      server.guard(write_filter(folder, rng, count))), rounds)
        print(count, *(f"{statistics.median(times):.4f}" for times in zip(*took)), flush=True)
    return 0


def another_guard(world, guard, path):
    world.machine.write(f"{server.GUARD}.old", path.read_bytes(), 0o711)
    return server.Deployment(tuple(line.replace(server.GUARD, f"{server.GUARD}.old") for line in guard.options),
                             guard.stack)


def measure_config(world, config, old, rounds):
    guard, module = server.guard(config), server.pam_session(config)
    cat = server.vanilla().adding("AuthorizedKeysFile none", "AuthorizedKeysCommandUser root",
                                  "AuthorizedKeysCommand /usr/bin/cat %h/.ssh/authorized_keys")
    ways = {"stock": server.vanilla(), "again": server.vanilla(), "cat": cat, "guard": guard, "PAM": module,
            "both": server.Deployment(guard.options, module.stack)}
    if old:
        ways = {"stock": server.vanilla(), "old": another_guard(world, guard, old), "guard": guard}
    took, spent = time_logins(world, ways.values(), rounds)
    print(*ways)
    for times in (spent, *took):
        print(*(f"{seconds:.6f}" for seconds in times))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", type=Path, default=lanes.BUILD)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--old", type=Path)
    parser.add_argument("counts", type=int, nargs="*")
    options = parser.parse_args()

    def isolated():
        with lanes.world(options.build.resolve(), Logbook) as world:
            if options.config:
                return measure_config(world, options.config, options.old, options.rounds)
            return measure_counts(world, options.counts, options.rounds)
    return lanes.run_isolated(__file__, options.build, isolated)


if __name__ == "__main__":
    sys.exit(main())
