#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Encodings: keyveto judges a key as sshd reads it, in whatever form a client sends it.

    python3 tests/campaign/encodings.py                 the short form
    python3 tests/campaign/encodings.py --long [--count N] [--seed S]
    python3 tests/campaign/encodings.py --only N [--long] [--seed S]

A variant is an offer of a client (a key or certificate in some encoding), and
the contents of the account's files.  An sshd without keyveto decides it
first.  Then the same sshd is asked with the guard, and with PAM:

- a clean key gets the same answer from the guard, by the same line;
- a listed key, or a listed CA, is never let in, by the guard alone or by PAM
  alone, and the log says so;
- keyveto check reports the line by which sshd would have let the key in.

sshd is asked "would you accept this key?" for every variant, over connections that
stay open.  A share of the variants also logs in, some of them with ssh itself.
The short form tries one oddity at a time and a few hundred combinations, the
long form many more.  Variants are numbered: --only repeats one and shows it.
"""

import argparse
import base64
import collections
import contextlib
import multiprocessing
import os
import queue
import random
import re
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import lanes        # sets the path of what comes next
import files
import judged_lines
import keypairs
import offers

SHORT_COUNT, LONG_COUNT = 200, 60_000       # combinations at random
SHORT_LINES, LONG_LINES = 20_000, 1_000_000  # lines for ssh-keygen
LANES = 3 * (os.cpu_count() or 1) + 1
# One in so many accepted variants also logs in.  LANES is odd, so that
# each lane has its share of them.
LOGIN_OF_OFFERS, LOGIN_OF_OTHERS, LOGIN_BY_SSH = 4, 32, 128
GREETING = b"let in"
COMMAND = "echo let in; echo $SSH_ORIGINAL_COMMAND $A"
CHECK_BATCH = 100
ARGUMENT_MOST = 128 * 1024      # Linux: MAX_ARG_STRLEN, with the NUL
FAILURES_SHOWN = 20
TEXT_SHOWN = 1500
PROGRESS_SECONDS = 60

FIGURES = {     # what is counted, and what it is called
    "variants": "variants tried",
    "accepted": "accepted by vanilla sshd",
    "refused": "refused by vanilla sshd",
    "lost": "of these with the connection",
    "certificates": "certificates among the variants",
    "certificates accepted": "of these accepted by vanilla sshd",
    "agreed on the line": "clean keys let in by the guard, by the same line",
    "refused by the guard": "listed keys that vanilla sshd accepts, refused by the guard",
    "refused by PAM": "sessions with a listed key, refused by PAM",
    "named": "lines reported by keyveto check",
    "unread": "of these as too long to be read",
    "logins": "logins with a signature",
    "no session": "of these broken off by sshd itself, whose monitor takes no message of a command so long",
    "logins with ssh": "logins by ssh itself",
    "failed": "disagreements",
}


@dataclass(frozen=True)
class Variant:
    """One question: an offer, and the contents of the files."""
    number: int
    title: str
    offer: offers.Offer
    files: files.Files
    logs_in: bool = False       # through each sshd
    by_ssh: bool = False        # also with ssh


@dataclass
class Failure:
    variant: Variant
    complaints: list
    answer: str = ""


@dataclass
class Result:
    """The counts and the failures of a lane."""
    figures: collections.Counter = field(default_factory=collections.Counter)
    failures: list = field(default_factory=list)

    def add(self, other):
        self.figures += other.figures
        self.failures += other.failures


# --- variants ----------------------------------------------------------------

def catalogue(pool, user, long):
    """Variants with one oddity: (title, a function that gives offer and files)."""
    for make in offers.catalogue(pool, user):
        yield "offer", lambda make=make: _with_its_line(make())
    for name in pool.users if long else ("ed25519", "rsa", "p256"):
        pair = pool.users[name]
        for one in files.catalogue(pair, pool.strangers[0], user):
            yield f"line, {name}", lambda pair=pair, one=one: (offers.plain_offer(pair), one)
    for name in pool.authorities if long else ("ed25519",):
        ca, pair = pool.authorities[name], pool.users["ed25519"]
        for one in files.catalogue(ca, pool.strangers[0], user, authority=True):
            yield (f"CA line, {name}",
                   lambda ca=ca, pair=pair, one=one: (offers.certificate_offer(pair, ca, user), one))
    for title, offer, line in _crossed(pool, user):
        yield "crossed", lambda one=files.Files(title, line), offer=offer: (offer, one)
    for pair in pool.long:
        yield "long", lambda pair=pair: _with_its_line(offers.plain_offer(pair))


def _with_its_line(offer):
    options = b"cert-authority" if offer.ca else b""
    return offer, files.Files("its usual line", files.line_of(offer.ca or offer.pair, options=options).text())


def _crossed(pool, user):
    """Plain lines with certificates, CA lines with plain keys, and keys inside other keys."""
    pair, ca = pool.users["ed25519"], pool.authorities["ed25519"]
    certified, own = offers.certificate_offer(pair, ca, user), offers.certificate_offer(pair, pair, user)

    def authority(pair):
        return files.line_of(pair, options=b"cert-authority").text()

    yield "the key's own line, a certificate offered", certified, files.line_of(pair).text()
    yield "the CA's own line, a certificate offered", certified, files.line_of(ca).text()
    yield "a CA line for the key inside", certified, authority(pair)
    yield "a CA line, the CA's own key offered", offers.plain_offer(ca), authority(ca)
    yield "a key that certifies itself", own, authority(pair)
    line = files.Line(token=b"ssh-ed25519-cert-v01@openssh.com", key=base64.b64encode(certified.blob)).text()
    yield "a certificate in the file", certified, line
    yield "a certificate in the file, its key offered", offers.plain_offer(pair), line
    yield "a certificate in the file, its CA offered", offers.plain_offer(ca), line


def combination(pool, user, rng):
    """A few oddities at once."""
    offer = offers.random_offer(rng, pool, user)
    stranger = rng.choice(pool.strangers)
    if offer.ca and rng.random() < 0.95:
        return offer, files.random_files(rng, offer.ca, stranger, user, authority=True)
    return offer, files.random_files(rng, offer.pair, stranger, user)


def variants(pool, user, options, lane, of_lanes):
    """The share of a lane, or the one variant of --only."""
    number = -1
    for number, (title, make) in enumerate(catalogue(pool, user, options.long)):
        if _is_mine(number, options, lane, of_lanes):
            offer, one = make()
            # The sessions of PAM depend on the offer alone.
            logs_in = number % (LOGIN_OF_OFFERS if title == "offer" else LOGIN_OF_OTHERS) == 0
            yield Variant(number, f"{title}: {offer.title}; {one.title}", offer, one, logs_in,
                          by_ssh=number % LOGIN_BY_SSH == 0)
    for number in range(number + 1, number + 1 + options.count):
        if _is_mine(number, options, lane, of_lanes):
            rng = random.Random(f"{options.seed}/{number}")
            offer, one = combination(pool, user, rng)
            yield Variant(number, f"random: {offer.title}; {one.title}", offer, one,
                          number % LOGIN_OF_OTHERS == 0, number % LOGIN_BY_SSH == 0)


def _is_mine(number, options, lane, of_lanes):
    if options.only is not None:
        return number == options.only and lane == 0
    return number % of_lanes == lane


# --- judging -----------------------------------------------------------------

class Judge:
    """Asks the sshds of a lane about variants, and runs keyveto check on their files."""

    def __init__(self, lane, keyveto):
        self.lane, self.keyveto = lane, keyveto
        self.result = Result()
        self._to_check = []

    def judge(self, variant):
        """Asks all sshds about a variant. check() runs keyveto check later."""
        lane, offer = self.lane, variant.offer
        lane.write(variant.files)
        vanilla = lane.ask("vanilla", offer)
        self._count(variant, vanilla)
        logs_in = variant.logs_in and vanilla.accepted and offer.can_sign
        lane.list_only(None)
        complaints = self._compare(variant, vanilla, lane.ask("guard", offer))
        if logs_in:
            wrong, logs_in = self._log_in(variant)
            complaints += wrong
        for part in offer.parts:
            lane.list_only(part[1])
            complaints += self._refuse(part, vanilla, offer)
            if logs_in:
                complaints += self._refuse_login(variant, part)
        if vanilla.accepted:
            self._to_check.append((variant, vanilla, complaints))
            if len(self._to_check) >= CHECK_BATCH:
                self.check()
        else:
            self.settle(variant, complaints, vanilla)

    def settle(self, variant, complaints, vanilla):
        self.result.figures["failed" if complaints else "passed"] += 1
        if complaints and len(self.result.failures) < FAILURES_SHOWN:
            self.result.failures.append(Failure(variant, complaints, str(vanilla)))

    def _count(self, variant, vanilla):
        figures = self.result.figures
        figures["variants"] += 1
        figures["accepted" if vanilla.accepted else "refused"] += 1
        figures["lost"] += bool(vanilla.lost)
        if variant.offer.ca:
            figures["certificates"] += 1
            figures["certificates accepted"] += vanilla.accepted

    def _compare(self, variant, vanilla, guard):
        """(a) A clean key: the same answer, by the same line."""
        if _too_long_to_pass(variant.offer):
            return ["the guard takes a key that it cannot be told of"] if guard.accepted else []
        if guard.accepted != vanilla.accepted:
            return [f"clean key: vanilla sshd says {vanilla}, by the guard it says {guard}"]
        if not vanilla.line or not guard.line:
            return []
        first = variant.files.first
        above = 0
        if vanilla.place.endswith(lanes.FILES[1]):
            above = first.count(b"\n") + (first != b"" and not first.endswith(b"\n"))
        if guard.line != vanilla.line + above:
            return [f"clean key: vanilla sshd takes line {vanilla.line} (+{above}), by the guard {guard.line}"]
        self.result.figures["agreed on the line"] += 1
        return []

    def _refuse(self, part, vanilla, offer):
        """(b) A listed key: refused by the guard alone, and logged."""
        lane, figures = self.lane, self.result.figures
        lane.decisions()
        answer = lane.ask("guard", offer)
        found = lane.decisions()
        if answer.accepted:
            return [f"listed {part[0]}: the guard lets it in: {answer}"]
        if not vanilla.accepted:
            return []
        figures["refused by the guard"] += 1
        return [] if _too_long_to_pass(offer) else _wrong_log(found, part, "guard")

    def _log_in(self, variant):
        """Logins with a key that is not listed: the same command runs, and prints the same.

        Returns the complaints, and whether sshd starts the session.
        """
        lane, offer = self.lane, variant.offer
        # sshd cannot run the guard for a key that is too long for it.
        names = ("vanilla", "PAM") if _too_long_to_pass(offer) else ("vanilla", "guard", "PAM")
        outcomes = {name: lane.login(name, offer, COMMAND) for name in names}
        self.result.figures["logins"] += len(outcomes)
        complaints = [f"clean key: logged in, vanilla gives {outcomes['vanilla']}, {name} {outcomes[name]}"
                      for name in names[1:] if outcomes[name] != outcomes["vanilla"]]
        if outcomes["vanilla"] is lanes.NO_SESSION:
            self.result.figures["no session"] += len(outcomes)
            return complaints, False
        # ssh reports a session that ends with 255 as a failed login: sshd does so for too many variables.
        ended_by_sshd = outcomes["vanilla"] is not None and outcomes["vanilla"].status == 255
        if variant.by_ssh and hasattr(offer.pair, "private_fields") and not ended_by_sshd:
            entered = [name for name in outcomes if self._ssh(name, offer)]
            if entered != list(outcomes):
                complaints.append(f"clean key: ssh gets in by {entered} only")
        return complaints, True

    def _refuse_login(self, variant, part):
        """(b) A listed key, with a signature: refused with the guard; no session with PAM."""
        lane, offer = self.lane, variant.offer
        complaints = []
        self.result.figures["logins"] += 2
        if lane.login("guard", offer, COMMAND) is not None:
            complaints.append(f"listed {part[0]}: logged in by the guard")
        lane.decisions()
        session = lane.login("PAM", offer, COMMAND)
        if session is None or session.status != lanes.REFUSED_SESSION or GREETING in session.stdout:
            complaints.append(f"listed {part[0]}: PAM lets it in: {session}")
        else:
            self.result.figures["refused by PAM"] += 1
        complaints += _wrong_log(lane.decisions(), part, "pam")
        if variant.by_ssh and hasattr(offer.pair, "private_fields"):
            complaints += [f"listed {part[0]}: ssh gets in by {name}" for name in ("guard", "PAM")
                           if self._ssh(name, offer)]
        return complaints

    def _ssh(self, name, offer):
        """Whether the real client gets in."""
        self.result.figures["logins with ssh"] += 1
        identity = _Identity(self.lane.folder, offer)
        target = _Target(self.lane.port(name))
        outcome = self.lane.world.clients.login(target, self.lane.account, [identity], command=(COMMAND,))
        return outcome.status not in (255, lanes.REFUSED_SESSION)

    # keyveto check

    def check(self):
        """(c) keyveto check reports the lines of all variants that were accepted so far."""
        by_pair = collections.defaultdict(list)
        for entry in self._to_check:
            offer = entry[0].offer
            by_pair[offer.ca or offer.pair].append(entry)
        self._to_check = []
        for pair, entries in by_pair.items():
            named = self._named_lines(pair, [entry[0] for entry in entries])
            for variant, vanilla, complaints in entries:
                if _names(named, variant, vanilla):
                    self.result.figures["named"] += 1
                else:
                    complaints.append("keyveto check does not report the line")
                self.settle(variant, complaints, vanilla)

    def _named_lines(self, pair, chosen):
        folder = self.lane.folder / "check"
        folder.mkdir(exist_ok=True)
        paths = []
        for variant in chosen:
            for which, content in enumerate((variant.files.first, variant.files.second)):
                if content is not None:
                    paths.append(folder / f"{variant.number}-{which}")
                    paths[-1].write_bytes(content)
        done = subprocess.run([self.keyveto, "check", "--filter", self.lane.world.filters[pair], *paths],
                              stdin=subprocess.DEVNULL, capture_output=True)
        for path in paths:
            path.unlink()
        named = {tuple(int(number) for number in found)
                 for found in re.findall(rb"/check/(\d+)-(\d):(\d+): listed: ", done.stdout)}
        if done.returncode not in (0, 1, 2) or (done.returncode == 1) != bool(named):
            raise RuntimeError(f"keyveto check exits with {done.returncode} and names {len(named)} lines")
        # keyveto check does not read megabytes of options, or a key too long for any guard.  It reports that.
        unread = {tuple(int(number) for number in found)
                  for found in re.findall(rb"/check/(\d+)-(\d):(\d+): (?:line )?too long", done.stderr)}
        self.result.figures["unread"] += len(unread)
        return named | unread


def _names(named, variant, answer):
    """Whether the line of the answer is among the named ones (variant, file, line)."""
    if not answer.line:
        return any(number == variant.number for number, _, _ in named)
    return (variant.number, lanes.FILES.index(os.path.basename(answer.place)), answer.line) in named


def _too_long_to_pass(offer):
    """Whether %k is longer than an argument can be. sshd runs no command then."""
    return len(base64.b64encode(offer.blob)) >= ARGUMENT_MOST


def _wrong_log(found, part, via):
    """The errors in the log of one refusal."""
    name, _, fingerprint = part
    if len(found) != 1:
        return [f"listed {name}: {len(found)} decisions logged via {via}, not 1"]
    decision, = found
    wanted = {"verdict": "listed", "action": "deny", "via": via, "part": name, "key_fp": fingerprint,
              "authorized": "yes" if via == "guard" else None}
    return [f"listed {name}: the log has {key}={getattr(decision, key)}, not {value}: {decision.line.text}"
            for key, value in wanted.items() if getattr(decision, key) != value]


@dataclass
class _Target:
    port: int


class _Identity:
    """An offer in files, for ssh."""

    def __init__(self, folder, offer):
        path = folder / "identity"
        path.unlink(missing_ok=True)
        path.touch(0o600)
        path.write_text(keypairs.private_key_file(offer.pair), encoding="ascii")
        self.options = ["-i", str(path), "-o", "PubkeyAcceptedAlgorithms=*"]
        if offer.ca:
            certificate = folder / "identity-cert.pub"
            text = base64.b64encode(offer.blob).decode()
            certificate.write_text(f"{offer.algorithm} {text}\n", encoding="ascii")
            self.options += ["-o", f"CertificateFile={certificate}"]


# --- running -----------------------------------------------------------------

def run_lane(lane, pool, options, of_lanes, results, progress):
    """The work of a process: its share of the variants."""
    judge = Judge(lane, lane.world.build / "keyveto")
    try:
        for variant in variants(pool, lane.account.name, options, lane.number, of_lanes):
            try_variant(judge, variant)
            with progress.get_lock():
                progress.value += 1
        judge.check()
    except Exception:
        results.put(traceback.format_exc())
        return
    results.put(judge.result)


def try_variant(judge, variant):
    try:
        judge.judge(variant)
    except Exception:       # whatever goes wrong, the next variant must still be tried
        judge.settle(variant, [traceback.format_exc()], "")
        judge.lane.start_over()


def run_sshd(world, program, pool, options):
    """The campaign against one sshd."""
    of_lanes = 1 if options.only is not None else LANES
    made = [lanes.Lane(world, number, program) for number in range(of_lanes)]
    fork = multiprocessing.get_context("fork")
    results, progress = fork.Queue(), fork.Value("l", 0)
    workers = [fork.Process(target=run_lane, args=(lane, pool, options, of_lanes, results, progress), daemon=True)
               for lane in made]
    for worker in workers:
        worker.start()
    total = collect(workers, results, progress)
    for worker in workers:
        worker.join()
    for lane in made:
        lane.stop()
    return total


def collect(workers, results, progress):
    """Adds up the results of all lanes, and prints the progress at times."""
    total, told, missing = Result(), time.monotonic(), len(workers)
    while missing:
        with contextlib.suppress(queue.Empty):
            result = results.get(timeout=1)
            if isinstance(result, str):
                raise RuntimeError(f"a lane broke down: {result}")
            total.add(result)
            missing -= 1
        if any(worker.exitcode not in (None, 0) for worker in workers):
            raise RuntimeError("a lane was killed")
        if time.monotonic() - told > PROGRESS_SECONDS:
            told = time.monotonic()
            print(f"  {progress.value} variants so far", flush=True)
    return total


def report(program, total, seconds, options):
    figures = total.figures
    print(f"{program.version} ({program.path}), {seconds:.0f} s")
    for name, words in FIGURES.items():
        print(f"  {figures[name]:8} {words}")
    shown = total.failures[:FAILURES_SHOWN]
    for failure in shown:
        show(failure, options)
    if figures["failed"] > len(shown):
        print(f"… and {figures['failed'] - len(shown)} more")


def show(failure, options):
    variant = failure.variant
    form = " --long" if options.long else ""
    print(f"FAILED --only {variant.number}{form} --seed {options.seed}: {variant.title}")
    print(f"       vanilla sshd: {failure.answer}")
    for part, content in (("first", variant.files.first), ("second", variant.files.second)):
        print(f"       {part} file: {_shorten(content)}")
    print(f"       offered: {variant.offer.algorithm} {_shorten(base64.b64encode(variant.offer.blob))}")
    for complaint in failure.complaints:
        print(f"       {complaint}")


def _shorten(content):
    text = repr(content)
    return text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN // 2]} … {text[-TEXT_SHOWN // 2:]}"


def campaign(options):
    pool = offers.Pool()
    failed = passed = 0
    with lanes.world(options.build, lanes.Dispatcher) as world:
        world.add_filters(pool.all())
        for program in lanes.installed(world.host_key):
            known = pool.without(program.unknown_types)
            started = time.monotonic()
            total = run_sshd(world, program, known, options)
            report(program, total, time.monotonic() - started, options)
            passed += total.figures["passed"]
            failed += total.figures["failed"]
        if options.only is None:
            lines = judged_lines.run(world, pool, options.lines, options.seed)
            passed, failed = passed + lines.passed, failed + lines.failed
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--long", action="store_true", help="the long form")
    parser.add_argument("--count", type=int, help="how many combinations at random")
    parser.add_argument("--lines", type=int, help="how many lines for ssh-keygen to judge")
    parser.add_argument("--seed", default="1", help="the start of chance")
    parser.add_argument("--build", type=Path, default=lanes.BUILD, help="where the built programs are")
    parser.add_argument("--only", type=int, metavar="N", help="one variant")
    options = parser.parse_args()
    if options.count is None:
        options.count = LONG_COUNT if options.long else SHORT_COUNT
    if options.only is not None:
        options.count = options.only + 1        # so that it occurs
    if options.lines is None:
        options.lines = LONG_LINES if options.long else SHORT_LINES
    return options


def main():
    options = parse_arguments()
    return lanes.run_isolated(__file__, options.build, lambda: campaign(options))


if __name__ == "__main__":
    sys.exit(main())
