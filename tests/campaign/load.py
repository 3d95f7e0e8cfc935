#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Load: many logins at a time, half with listed keys, while the filter is replaced.

    python3 tests/campaign/load.py [--long] [--logins N] [--at-once N]

One sshd with the guard, then one with the PAM module, in the session phase of
the stock stack.  Every verdict must be right, and for each refused login the
log must have one decision, and nothing else.  Each login has its own key, so
that no login can be mistaken for another.  The client is ssh.

Meanwhile the filter is replaced a hundred times, by a rename, with one that
lists the same keys and, every other time, some more.
"""

import argparse
import base64
import collections
import concurrent.futures
import itertools
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import keypairs
import lanes
import pkbf
import sshkey
from lanes import server

import clients
from logbook import Logbook

SEED = "keyveto load"
SHORT, LONG = (100, 20), (500, 50)      # logins, and how many at once
REPLACEMENTS = 100
ACCOUNTS = 5
EXTRA_ENTRIES = 200
FILTER = 20, 16                         # k, p
PATIENCE = 300                          # seconds for one client
UNHURRIED = ("MaxStartups 1000", "LoginGraceTime 240")
FAILURES_SHOWN = 20


@dataclass(frozen=True)
class Login:
    """A planned login: an account, a key of its own, and whether the key is listed."""
    account: object
    pair: object
    path: Path
    listed: bool

    @property
    def options(self):
        return ["-i", str(self.path)]

    @property
    def fingerprint(self):
        return sshkey.fingerprint(self.pair.blob)


class Replacer:
    """Installs one filter after the other in the same place."""

    def __init__(self, path, listed, more, replacements, logins):
        self._path, self._due = path, [-(-logins * n // replacements) for n in range(1, replacements + 1)]
        self._contents = [_filter(listed), _filter([*listed, *more])]
        self.revision = 0
        self.replace()

    def replace(self):
        self.revision += 1
        made = self._contents[self.revision % 2]
        made.revision = self.revision
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(made.to_bytes())
        fresh.replace(self._path)

    def advance(self, done):
        """Replaces the filter as often as is due after so many logins."""
        while self._due and self._due[0] <= done:
            self._due.pop(0)
            self.replace()


def _filter(pairs):
    made = pkbf.Filter.create(*FILTER)
    for pair in pairs:
        for spki in sshkey.parse(pair.blob).published:
            made.add(spki)
    return made


def prepare(world, folder, count):
    """The logins, every other one with a key that is to be listed."""
    rng = random.Random(SEED)
    accounts = [world.machine.add_account() for _ in range(ACCOUNTS)]
    logins = []
    for number, account in zip(range(count), itertools.cycle(accounts)):
        pair = keypairs.Ed25519(rng)
        path = folder / f"key{number}"
        path.touch(0o600)
        path.write_text(keypairs.private_key_file(pair), encoding="ascii")
        # Half of the logins of each account. The number of accounts is odd.
        logins.append(Login(account, pair, path, listed=number // ACCOUNTS % 2 == 0))
    for account in accounts:
        account.authorize(*(f"ssh-ed25519 {base64.b64encode(login.pair.blob).decode()}"
                            for login in logins if login.account is account))
    return logins


def run_logins(world, sshd, logins, replacer, at_once):
    """Logs in: yields an error for each wrong outcome, or nothing."""
    def one(login):
        outcome = world.clients.login(sshd, login.account, [login])
        expected = outcome.refused and not outcome.entered if login.listed else outcome.entered
        return [] if expected else [f"a {'listed' if login.listed else 'clean'} key: {outcome}"]

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(one, login) for login in logins]
        for done, future in enumerate(concurrent.futures.as_completed(running), 1):
            replacer.advance(done)
            yield future.result()


def judge_log(log, logins, via, revisions):
    """The errors in the log. It must have a decision for each refused login, and no other."""
    accounts = {login.account.name: login.account for login in logins}
    decisions = [decision for account in accounts.values() for decision in log.decisions(account)]
    by_key = collections.defaultdict(list)
    for decision in decisions:
        by_key[decision.key_fp].append(decision)
    for login in logins:
        found = by_key.pop(login.fingerprint, [])
        wanted = 1 if login.listed else 0
        if len(found) != wanted:
            yield f"{len(found)} decisions about a key where {wanted} should be: {[each.line.text for each in found]}"
        for decision in found:
            right = (decision.verdict, decision.action, decision.via, decision.user) == (
                "listed", "deny", via, login.account.name)
            if not right or not 1 <= int(decision.revision) <= revisions:
                yield f"a wrong decision: {decision.line.text}"
    for others in by_key.values():
        yield from (f"a decision about nobody's key: {decision.line.text}" for decision in others)


def run_deployment(world, name, options):
    """All logins against one sshd; returns how many passed and what failed."""
    folder = world.scratch / f"load-{name}"
    folder.mkdir()
    logins = prepare(world, folder, options.logins)
    filter_path, config = folder / "filter.pkbf", folder / "keyveto.conf"
    config.write_text(f"Filter {filter_path}\n", encoding="ascii")
    rng = random.Random(f"{SEED} more")
    replacer = Replacer(filter_path, [login.pair for login in logins if login.listed],
                        [keypairs.Ed25519(rng) for _ in range(EXTRA_ENTRIES)], options.replacements, len(logins))
    deployment = {"guard": server.guard, "pam": server.pam_session}[name](config).adding(*UNHURRIED)
    sshd = server.Server(world.machine, folder, world.host_key, deployment).start()
    started = time.monotonic()
    try:
        wrong = [each for complaints in run_logins(world, sshd, logins, replacer, options.at_once)
                 for each in complaints]
        seconds = time.monotonic() - started
        in_log = list(judge_log(world.log, logins, name, replacer.revision))
        dropped = sshd.read_log().count("drop connection")
    finally:
        sshd.stop()
    print(f"{name}: {len(logins)} logins, {options.at_once} at a time, {sum(login.listed for login in logins)} with "
          f"listed keys, {seconds:.0f} s, {len(logins) / seconds:.1f} a second; filter replaced "
          f"{replacer.revision - 1} times; {dropped} connections dropped", flush=True)
    failed = [*wrong, *in_log]
    for complaint in failed[:FAILURES_SHOWN]:
        print(f"FAILED {name}: {complaint}")
    # Each login counts twice: for its verdict, and for its log line.
    return max(0, 2 * len(logins) - len(failed)), len(failed)


def campaign(options):
    clients.PATIENCE = PATIENCE
    passed = failed = 0
    with lanes.world(options.build, Logbook) as world:
        for name in ("guard", "pam"):
            counts = run_deployment(world, name, options)
            passed, failed = passed + counts[0], failed + counts[1]
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--long", action="store_true", help="the long form")
    parser.add_argument("--logins", type=int, help="how many")
    parser.add_argument("--at-once", type=int, help="how many at a time")
    parser.add_argument("--replacements", type=int, default=REPLACEMENTS, help="of the filter meanwhile")
    parser.add_argument("--build", type=Path, default=lanes.BUILD, help="where the built programs are")
    options = parser.parse_args()
    logins, at_once = LONG if options.long else SHORT
    options.logins, options.at_once = options.logins or logins, options.at_once or at_once
    return options


def main():
    options = parse_arguments()
    return lanes.run_isolated(__file__, options.build, lambda: campaign(options))


if __name__ == "__main__":
    sys.exit(main())
