#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Measures keyveto together with a reference for each figure, and prints a table.

    bench/run.py [--build DIR] [--quick] [--csv] [--only WORD]

The figures are medians of whole runs, in alternation with the reference. No time makes the run fail. Writes
table.csv to BUILD/bench. Needs root, and what scripts/deps all installs.
"""

import argparse
import contextlib
import csv
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import data

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MILLION = 1_000_000


@dataclass
class Row:
    metric: str
    ours: str
    reference: str
    ratio: "float | None" = None
    goal: str = ""


def compare(took, place, draws=1000):
    """How many times the first time a later one is, by the medians of all rounds; and the bounds of 95% of the answers
    if rounds are drawn anew from these (bootstrap)."""
    def ratio(rounds):
        return statistics.median(times[place] for times in rounds) / statistics.median(times[0] for times in rounds)
    rng = random.Random(data.SEED)
    drawn = sorted(ratio(rng.choices(took, k=len(took))) for _ in range(draws))
    return ratio(took), drawn[draws // 40], drawn[-1 - draws // 40]


@dataclass
class MemoryGroup:
    """A control group: the file with its limit in bytes, and that with its processes."""
    limit: Path
    members: Path


@contextlib.contextmanager
def memory_group():
    """A control group of this run, of either version; None if it cannot be made."""
    for root, limit in (("memory", "memory.limit_in_bytes"), ("", "memory.max")):
        path = Path("/sys/fs/cgroup") / root / f"keyveto-bench-{os.getpid()}"
        try:
            path.mkdir()
        except OSError:
            continue
        try:
            if (path / limit).exists():
                yield MemoryGroup(path / limit, path / "cgroup.procs")
                return
        finally:
            path.rmdir()
    yield None


class Bench:
    """The programs, the data, and a folder that passes the checks of a login."""

    def __init__(self, build, quick, scratch):
        self.build, self.scratch, self.quick = build, scratch, quick
        self.data = build / "bench/data"
        self.rows = []
        self.count = MILLION // 20 if quick else MILLION
        self.lengths = (28, 30) if quick else (31, 33)
        # A list of 60 MB, as badkeys', and of 600 MB.
        self.records = (370_000, 3_700_000) if quick else (3_700_000, 37_000_000)
        self.keyveto = build / "keyveto"
        self.guard = self._installed(build / "keyveto-authorized-keys")

    def tool(self, name):
        return self.build / "bench" / name

    def _installed(self, program):
        """Copies the program to a folder that every account can pass, as an installed program is."""
        path = self.scratch / program.name
        shutil.copy(program, path)
        path.chmod(0o755)
        return path

    def rounds(self, count):
        return max(3, count // 10) if self.quick else count

    def pairs(self, rounds, *commands, user=None):
        """Median microseconds and peak KiB of each command."""
        return [(time, peak) for time, peak, _ in self.compared(rounds, *commands, user=user)]

    def compared(self, rounds, *commands, user=None):
        """The same, and the median of how many microseconds more than the first it took, round by round."""
        argv = [self._installed(self.tool("pairs")), str(rounds)]
        for number, command in enumerate(commands):
            argv += ["--and--"] * bool(number) + [str(word) for word in command]
        if user:
            argv = ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", *argv]
        done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
        return [(float(time), int(peak), float(more))
                for time, peak, more in (line.split() for line in done.stdout.splitlines())]

    def add(self, metric, ours, reference, goal="", unit="µs"):
        """Adds a row of two times in the same unit."""
        ratio = ours / reference
        self.rows.append(Row(metric, f"{ours:.5g} {unit}", f"{reference:.5g} {unit}", ratio, goal))

    def report(self, metric, ours, reference, goal=""):
        self.rows.append(Row(metric, ours, reference, None, goal))

    # The guard

    def trusted(self, source):
        """A copy of the file which a login trusts, and which is in the page cache."""
        path = self.scratch / source.name
        if not path.exists():
            shutil.copy(source, path)
            path.chmod(0o644)
        return path

    def config(self, length, records=0):
        """A configuration with a filter of 2**length bits and, with records, a list of so many."""
        path = self.scratch / f"keyveto-{length}-{records}.conf"
        if not path.exists():
            lines = [f"Filter {self.trusted(data.filter_file(self.data, length))}\n"]
            if records:
                listed = self.trusted(data.list_file(self.data, records))
                Path(f"{listed}.sources").write_text("".join(f"{number} source{number}\n" for number in range(17)))
                lines.append(f"Blocklist {listed}\n")
            path.write_text("".join(lines))
        return path

    def home(self, lines, user):
        """A home of user, with an authorized_keys of so many lines."""
        home = self.scratch / f"home-{user}-{lines}"
        if not home.exists():
            (home / ".ssh").mkdir(parents=True)
            with open(data.key_file(self.data, lines, (("ed25519", 1),), "guard"), "rb") as file:
                (home / ".ssh/authorized_keys").write_bytes(file.read())
            for path in (home, home / ".ssh", home / ".ssh/authorized_keys"):
                shutil.chown(path, user)
                path.chmod(0o755 if path.is_dir() else 0o644)
        return home

    def guard_command(self, length, lines, user, records=0):
        """The guard's command line for a clean key, with a configuration of config()."""
        with open(self.home(lines, user) / ".ssh/authorized_keys", encoding="ascii") as file:
            kind, text, _ = file.readline().split()
        return [self.guard, "--config", self.config(length, records), "--user", user, "--home", self.home(lines, user),
                "--type", kind, "--key", text]

    def measure_guard(self):
        rounds = self.rounds(1000)
        static, dynamic, account = (self._installed(self.tool(name)) for name in ("static", "dynamic", "account"))
        small, large = self.lengths
        for user in ("nobody", "root"):
            (nothing, least), (loaded, _), (found, _), (guard, peak) = self.pairs(
                rounds, [static], [dynamic], [account, user], self.guard_command(small, 10, user),
                user=user if user != "root" else None)
            who = "started as the account (%u)" if user == "nobody" else "started as root"
            self.add(f"guard, clean key, {who}: whole process", guard, nothing, "≤ 2.4" if user == "root" else "≤ 1.9")
            self.add("  of which libc being loaded: the same program, dynamic", loaded, nothing)
            self.add("  and the account being looked up" + ", with its groups" * (user == "root"), found, nothing)
            self.report(f"guard, {who}: peak memory", f"{peak} KiB", f"{least} KiB", f"+ ≤ 2048 KiB: {peak - least:+}")
        (one, least), (big, of_big), (long, of_long) = self.pairs(
            rounds, self.guard_command(small, 10, "nobody"), self.guard_command(large, 10, "nobody"),
            self.guard_command(small, 10_000, "nobody"), user="nobody")
        self.add(f"guard, filter of {2 ** (large - 23)} MiB instead of {2 ** (small - 23)}", big, one, "≤ 1.1")
        self.add("guard, 10,000 lines instead of 10", long, one, "≤ 2")
        self.report("guard, peak memory with that filter, and with those lines", f"{of_big} and {of_long} KiB",
                    f"{least} KiB", "flat")

    def measure_pam(self):
        folder = self.scratch / "pam.d"
        folder.mkdir()
        module = self.scratch / "pam_keyveto.so"
        shutil.copy(self.build / "pam_keyveto.so", module)
        config = self.config(self.lengths[0])
        (folder / "ours").write_text(f"session requisite {module} config={config}\n")
        (folder / "permit").write_text("session requisite pam_permit.so\n")
        key = " ".join(self.guard_command(self.lengths[0], 10, "nobody")[8:11:2])
        done = subprocess.run([self.tool("session"), folder, "ours", "permit", f"SSH_AUTH_INFO_0=publickey {key}\n",
                               str(self.rounds(2000))], check=True, stdout=subprocess.PIPE, text=True)
        ours, permit = map(float, done.stdout.split())
        self.report("PAM session check", f"{ours:.1f} µs", f"{permit:.1f} µs (pam_permit)",
                    f"≤ 50 µs more: {ours - permit:+.1f}")

    # The command

    def checked(self, *words):
        return [self.keyveto, "check", *words, "--filter", data.filter_file(self.data, self.lengths[0]),
                data.key_file(self.data, self.count)]

    def checked_tree(self, tree, *words):
        """By chance the filter may list a key of a large tree, and check then exits with 1."""
        return ["/bin/sh", "-c", '"$0" check "$@" >/dev/null 2>&1 || [ $? = 1 ]', self.keyveto, *words,
                "--filter", data.filter_file(self.data, self.lengths[0]), tree]

    def measure_check(self):
        keys, listed = data.key_file(self.data, self.count), data.filter_file(self.data, self.lengths[0])
        (ours, _), (least, _) = self.pairs(self.rounds(15), self.checked(), [self.tool("least"), listed, keys])
        self.add(f"check, {self.count:,} mixed lines (the least: lines, one hash, one random read)", ours / 1000,
                 least / 1000, "≤ 8", "ms")

    def measure_dense(self):
        """Every key is listed, and printed."""
        count = self.count // 5
        keys, empty = data.key_file(self.data, count), data.empty_file(self.data, 28)
        full = self.build / "bench/dense.pkbf"
        shutil.copy(empty, full)
        subprocess.run([self.keyveto, "filter", "add", full, keys], check=True, stderr=subprocess.DEVNULL)
        check = ["/bin/sh", "-c", '"$0" check --filter "$1" "$2" >/dev/null 2>&1 || :', self.keyveto]
        (listed, _), (clean, _) = self.pairs(self.rounds(11), [*check, full, keys], [*check, empty, keys])
        self.report(f"check, {count:,} listed keys, {data.HASHES} probes each", f"{listed / count:.2f} µs a key",
                    f"{clean / count:.2f} µs (none listed)", "≤ 2 µs")
        full.unlink()

    def measure_tree(self):
        homes = 2000 if self.quick else 20_000
        tree = data.homes(self.data, homes)
        (ours, _), (grep, _) = self.pairs(self.rounds(9), self.checked_tree(tree),
                                          ["/bin/sh", "-c", 'grep -rc ssh- "$0" >/dev/null', tree])
        self.add(f"check, {5 * homes:,} small files (grep -rc)", ours / 1000, grep / 1000, "≤ 1.3", "ms")

    def measure_add(self):
        folder = self.build / "bench"
        empty, work = folder / "empty.pkbf", folder / "work.pkbf"
        keys = data.key_file(self.data, self.count)
        subprocess.run([self.keyveto, "filter", "create", "--force", empty, "--entries", str(self.count), "--fpr",
                        "1e-9"],
                       check=True, stderr=subprocess.DEVNULL)
        adding = ["/bin/sh", "-c", 'cp "$1" "$2" && exec "$0" filter add "$2" "$3"', self.keyveto, empty, work, keys]
        (ours, _), (check, _) = self.pairs(self.rounds(11), adding, self.checked())
        self.add(f"filter add of these, into a filter for {self.count:,} at 1e-9 (check of them)", ours / 1000,
                 check / 1000, "≤ 1.5", "ms")
        large = data.filter_file(self.data, self.lengths[0])
        # The reference, because the new file must be a copy of the old one that has been flushed to disk.
        adding[4] = large
        copying = ["/bin/sh", "-c", 'cp "$1" "$2" && cp "$2" "$2.new" && sync "$2.new"', "sh", large, work]
        (ours, _), (copy, _) = self.pairs(max(3, self.rounds(5)), adding, copying)
        self.add(f"the same into the half-full {2 ** (self.lengths[0] - 23)} MiB filter (cp and sync of it)",
                 ours / 1000, copy / 1000, "", "ms")
        for path in (empty, work, Path(f"{work}.new")):
            path.unlink()
        self.measure_add_in_little_memory(work)

    def measure_add_in_little_memory(self, work):
        """Into filters larger than memory. The pages of a file count as memory, too."""
        count, length, room = 5 * self.count, 28 if self.quick else 32, 64 if self.quick else 256
        large = data.filter_file(self.data, length)
        with memory_group() as group:
            if group is None:
                self.report("filter add in little memory", "not measured", "no control group for memory")
                return
            # "$1": the limit in bytes, "$2": the filter, "$3": the keys; it begins with what makes the filter.
            script = (f'%s && sync "$2" && echo "$1" >{group.limit} && echo $$ >{group.members} && '
                      f'exec "$0" filter add "$2" "$3"')
            make = {large: f'cp {large} "$2"',
                    None: f'rm -f "$2" && "$0" filter create "$2" --hashes {data.HASHES} --length 36'}

            def adding(old, keys, mib):
                return ["/bin/sh", "-c", script % make[old], self.keyveto, mib << 20, work, keys]

            keys = data.ed25519_file(self.data, count)
            (ours, peak), (spare, _) = self.pairs(3, adding(large, keys, room), adding(large, keys, 16384))
            self.add(f"filter add of {count:,} into {2 ** (length - 23)} MiB, in {room} MiB (with memory to spare); "
                     f"{peak / 1024:.0f} MiB of its own", ours / 1000, spare / 1000, "≤ 2", "ms")
            (ours, _), = self.pairs(3, adding(None, data.ed25519_file(self.data, 1000), 2048))
            self.report("filter add of 1,000 into an empty one of 8 GiB, in 2 GiB", f"{ours / 1000:.0f} ms",
                        f"{work.stat().st_blocks // 2048} MiB of disk", "≤ 3000 ms, ≤ 79 MiB: a page for each bit")
        work.unlink()

    def measure_memory(self):
        """Peaks of much work and of little. A mapped filter's pages count, so the filter is small."""
        small, few, many = data.filter_file(self.data, 20), self.count // 100, self.count
        trees = [data.homes(self.data, 20), data.homes(self.data, 2000 if self.quick else 20_000)]
        listed = data.list_file(self.data, self.records[0])

        def check(*words):
            return ["/bin/sh", "-c", '"$0" "$@" >/dev/null 2>&1 || [ $? = 1 ]', self.keyveto, "check", "--filter",
                    small, *words]

        def adding(count):
            return ["/bin/sh", "-c", 'rm -f "$1" && "$0" filter create "$1" --hashes 20 --length 24 && '
                    '"$0" filter add "$1" "$2"', self.keyveto, self.build / "bench/work.pkbf",
                    data.ed25519_file(self.data, count)]

        def compressed(count):
            packed = data.write_once(self.data / f"mixed-{count}.gz",
                                     lambda file: subprocess.run(["gzip", "-1c", data.key_file(self.data, count)],
                                                                 stdout=file, check=True))
            return check(packed)

        for what, little, much in (
                (f"check, {many:,} lines (of {few:,})", *(check(data.key_file(self.data, n)) for n in (few, many))),
                ("  of which every key is printed", *(check("--all", data.key_file(self.data, n))
                                                      for n in (few, many))),
                ("  packed by gzip", compressed(few), compressed(many)),
                ("check of a tree of homes (of a thousandth of them)", *(check(tree) for tree in trees)),
                (f"check with a list of {self.records[0]:,} records, {many:,} lines (of {few:,})",
                 *(check("--blocklist", listed, data.key_file(self.data, n)) for n in (few, many))),
                (f"filter add of {5 * many:,} keys (of {few:,})", adding(few), adding(5 * many))):
            (_, first), (_, last) = self.pairs(1, little, much)
            self.report(f"peak memory of {what}" if what[0] != " " else what, f"{last / 1024:.1f} MiB",
                        f"{first / 1024:.1f} MiB", "flat")
        (self.build / "bench/work.pkbf").unlink()

    def measure_logins(self):
        self.measure_logins_large()
        self.measure_logins_krl()

    def logins(self, rounds, *words):
        """The lines that logins.py prints, in words."""
        done = subprocess.run([sys.executable, HERE / "logins.py", "--build", self.build, "--rounds", str(rounds),
                               *map(str, words)], check=True, stdout=subprocess.PIPE, text=True)
        return [line.split() for line in done.stdout.splitlines()]

    def measure_logins_large(self):
        length, records = self.lengths[1], self.records[0]
        lines = self.logins(self.rounds(200), "--config", self.config(length, records))
        names = next(number for number, words in enumerate(lines) if words[0] == "stock")
        spent, *took = (tuple(map(float, words)) for words in lines[names + 1:])
        stock = statistics.median(times[0] for times in took)
        for place, name in enumerate(lines[names][1:], 1):
            ratio, low, high = compare(took, place)
            who = {"again": "the stock sshd again", "cat": "cat as AuthorizedKeysCommand"}.get(name, name)
            self.add(f"a login, filter of {2 ** (length - 23)} MiB and list of {records:,}, {who} (the stock sshd; "
                     f"95% of draws: {low:.3f} to {high:.3f})", ratio * stock * 1000, stock * 1000,
                     "report" if name in ("again", "cat") else "≤ 1.01", "ms")
            self.add("  of which processor time of sshd and all that it starts", spent[place] * 1000, spent[0] * 1000,
                     "report", "ms")

    def measure_logins_krl(self):
        counts = (1000, 2000) if self.quick else (10_000, 20_000, 40_000)
        rows = [tuple(map(float, words)) for words in self.logins(self.rounds(9), *counts) if words[0].isdigit()]
        for count, without, krl, guard in rows:
            self.add(f"a login, {count:,.0f} keys: the guard (RevokedKeys with a KRL)", guard * 1000, krl * 1000,
                     f"report; neither: {without * 1000:.0f} ms", "ms")

    def measure_audit(self):
        counts = (500, 1000) if self.quick else (2000, 20_000, 100_000)
        done = subprocess.run([sys.executable, HERE / "audit.py", "--build", self.build, *map(str, counts)],
                              check=True, stdout=subprocess.PIPE, text=True)
        times = [(kind, int(count), float(time)) for kind, count, time in map(str.split, done.stdout.splitlines())]
        for kind, count, time in times:
            few = next(time for first, _, time in times if first == kind)
            self.add(f"audit, each account of {count:,}, {kind} (of {counts[0]:,}), processor time", time, few,
                     "≤ 400 µs")

    # Exact lists

    def measure_list(self):
        self.measure_list_guard()
        self.measure_list_check()
        self.measure_list_add()

    def measure_list_guard(self):
        length = self.lengths[0]
        (none, _, _), *others = self.compared(
            self.rounds(2000), *(self.guard_command(length, 10, "nobody", records) for records in (0, *self.records)),
            user="nobody")
        for records, (time, _, more) in zip(self.records, others):
            self.report(f"guard, a filter and a list of {records * data.RECORD // 1_000_000} MB", f"{time:.1f} µs",
                        f"{none:.1f} µs (the filter)", f"≤ 20 µs more: {more:+.1f}")

    def measure_list_check(self):
        listed = data.list_file(self.data, self.records[0])
        (ours, _), (alone, _) = self.pairs(self.rounds(15), self.checked("--blocklist", listed), self.checked())
        self.add(f"check, {self.count:,} mixed lines, a filter and a list of {self.records[0]:,} records (the filter)",
                 ours / 1000, alone / 1000, "≤ 1.35", "ms")

    def measure_list_add(self):
        count = 4 * self.count
        work = self.build / "bench/work.dat"
        adding = ["/bin/sh", "-c", 'cp "$1" "$2" && exec "$0" list add "$2" "$3"', self.keyveto,
                  data.list_file(self.data, self.records[0]), work, data.ed25519_file(self.data, count)]
        (time, peak), = self.pairs(3, adding)
        self.report(f"list add, {count:,} keys into {self.records[0]:,} records: peak memory", f"{peak / 1024:.0f} MiB",
                    f"({time / 1_000_000:.1f} s)", "≤ 1024 MiB")
        work.unlink()

    # RSA keys that anybody factors

    def measure_weak(self):
        for bits in (2048, 4096):
            done = subprocess.run([self.tool("weak"), str(bits), "20", str(self.rounds(9))], check=True,
                                  stdout=subprocess.PIPE, text=True)
            alone, prime, power = map(float, done.stdout.split())
            self.report(f"check --weak, a sound key of {bits} bits, but for the test for being prime",
                        f"{alone:.1f} µs", f"{power:.0f} µs (a power, as a signature without the primes)",
                        "≤ 150 µs" if bits == 2048 else "report")
            self.add("  the test for being prime (that power)", prime, power, "report")

    # Results

    def print_table(self, as_csv):
        header = ("metric", "ours", "reference", "ratio", "goal")
        rows = [(row.metric, row.ours, row.reference, "" if row.ratio is None else f"{row.ratio:.2f}", row.goal)
                for row in self.rows]
        with open(self.build / "bench/table.csv", "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([header, *rows])
        if as_csv:
            csv.writer(sys.stdout).writerows([header, *rows])
            return
        widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
        for row in [header, *rows]:
            print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the built programs are")
    parser.add_argument("--quick", action="store_true", help="small data and few rounds: whether it runs at all")
    parser.add_argument("--csv", action="store_true", help="the table as CSV")
    parser.add_argument("--only", default="", metavar="WORD", help="only this part: guard, pam, check, …")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench/run.py: the guard's part needs root: run it as root")
    with contextlib.ExitStack() as stack:
        # Not /tmp: sshd and keyveto also check the folders above.
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keyveto-bench-", dir="/var/lib")))
        scratch.chmod(0o755)
        bench = Bench(options.build.resolve(), options.quick, scratch)
        for part in ("guard", "pam", "check", "dense", "tree", "add", "memory", "list", "weak", "logins",
                     "audit"):
            if options.only in part:
                getattr(bench, f"measure_{part}")()
        bench.print_table(options.csv)


if __name__ == "__main__":
    main()
