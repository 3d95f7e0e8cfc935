#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The PAM module when a system call fails: strace makes each call of the module fail.

A small program calls PAM as sshd does, in all three phases. Whichever call fails,
a listed key is let in only if OnError is allow and the log says that there
was no verdict. A clean key is let in, or the log says why not. Phases in which
nothing failed answer as usual.
"""

import re
import sys
from dataclasses import dataclass

import tracer
from stage import DEFAULT_FILTER, Malformed, keys, play

PHASES = ("auth", "account", "session")
PERM_DENIED = 6
NO_VERDICT = {"auth": 9, "account": 9, "session": 14}       # AUTHINFO_UNAVAIL, SESSION_ERR

ERRORS = [tracer.error(name) for name in ("EIO", "ENOMEM", "EINTR", "EACCES", "EMFILE")]
NOTHING = tracer.result(0)
HARMLESS = [tracer.kill_by(name) for name in ("SIGCHLD", "SIGWINCH")]

SHORT_SHARE = 30


@dataclass
class Scenario:
    """A login, and the answers that its configuration allows."""
    title: str
    listed: bool
    allow: bool             # OnError
    argv: list              # of pamdriver; RUN stands for the client address of the run

    def argv_of(self, name):
        return [name if word == "RUN" else word for word in self.argv]


def make_scenarios(stage):
    """Logins by each kind of key, under each OnError."""
    clean, listed, ca = stage.key(), stage.key(), stage.key()
    certificate = keys.certify(ca, clean, "somebody").certificate
    stage.machine.write(DEFAULT_FILTER, stage.filter(listed, ca).read_bytes())
    driver = stage.compile("pamdriver.c", "-lpam")
    infos = {
        "a clean key": (False, f"publickey {clean.key}\n"),
        "a listed key": (True, f"publickey {listed.key}\n"),
        "a certificate by a listed CA": (True, f"publickey {certificate}\n"),
        "a clean key, then a listed one": (True, f"publickey {clean.key}\nhostbased {listed.key}\n"),
    }
    found = []
    for on_error in ("deny", "allow"):
        config = stage.config(f"OnError {on_error}", listed=[listed, ca])
        folder = stage.make_folder("pam.d")
        stack = "".join(f"{phase} requisite {stage.module} config={config}\n{phase} required pam_permit.so\n"
                        for phase in PHASES)
        (folder / "kvt").write_text(stack, encoding="ascii")
        for title, (is_listed, info) in infos.items():
            argv = [driver, folder, "kvt", "somebody", "RUN", info, *PHASES]
            found.append(Scenario(f"{title}, OnError {on_error}", is_listed, on_error == "allow", argv))
    return found


def read_codes(done):
    """The answer of each phase that was called."""
    return {name: int(code) for name, code in re.findall(r"^([a-z]+) ([0-9]+)$", done.stdout.decode(), re.MULTILINE)}


def said_in(phase, decisions):
    """The decisions of a phase."""
    found = [one for one in decisions if f":{phase}): verdict=" in one.line.text]
    return {(one.verdict, one.action) for one in found if one.verdict != "error" or one.reason}


def complaints(scenario, done, decisions, faulty=PHASES, log_may_be_lost=False):
    """The reasons why the outcome is not allowed, if a fault hit the given phases."""
    if done.hung or done.returncode < 0:
        return ["it hangs" if done.hung else "it crashed"]
    codes, found = read_codes(done), []
    for phase in PHASES:
        if phase not in codes:
            found.append(f"{phase}: no answer")
            continue
        found += [f"{phase}: {why}" for why in
                  _phase_complaints(scenario, phase, codes[phase], said_in(phase, decisions),
                                    phase in faulty, log_may_be_lost)]
    return found


def _phase_complaints(scenario, phase, code, said, faulty, log_may_be_lost):
    usual = PERM_DENIED if scenario.listed else 0
    error_said = any(verdict == "error" for verdict, _ in said)
    if not faulty:
        return [] if code == usual else [f"answers {code} though nothing failed in it"]
    if scenario.listed and code == 0:
        return [] if scenario.allow and ("error", "allow") in said else ["a listed key is let in"]
    if log_may_be_lost or (code == 0 and not scenario.listed):
        return []
    if code == PERM_DENIED and scenario.listed:
        return [] if ("listed", "deny") in said else ["refused without a line in the log"]
    if not error_said:
        return [f"answers {code}, and no reason in the log"]
    return [] if code == NO_VERDICT[phase] else [f"answers {code}, not {NO_VERDICT[phase]}"]


def calls_by_phase(calls):
    """The calls of the module in each phase. libpam's report to the kernel's audit comes after them."""
    found = {}
    for phase in PHASES:
        begin, end = (next(call.index for call in calls if call.name == "write" and f'"{edge} {phase}"' in call.text)
                      for edge in ("begin", "end"))
        inside = calls[begin + 1:end]
        audit = next((n for n, call in enumerate(inside) if "NETLINK_AUDIT" in call.text), len(inside))
        # The driver's own output is not the module's.
        found[phase] = [one for one in inside[:audit] if not (one.name == "write" and one.text.startswith("1,"))]
    return found


class Baseline:
    """The calls of a login without a fault, by phase."""

    def __init__(self, stage, scenario):
        name = stage.name_run()
        done, calls = tracer.list_calls(stage.path("trace"), scenario.argv_of(name))
        whys = complaints(scenario, done, stage.log.decisions(name), faulty=())
        if whys:
            raise AssertionError(f"without any fault: {whys}: {done}")
        self.phase_of = {call: phase for phase, own in calls_by_phase(calls).items() for call in own}
        self.calls, self.logging = list(self.phase_of), set()
        for call in self.calls:
            if call.name == "connect" and '"/dev/log"' in call.text:
                sockets = [one for one in self.calls if one.name == "socket" and one.index < call.index]
                self.logging |= {sockets[-1], call}
            if call.name == "sendto":
                self.logging.add(call)


def faults_of(call):
    faults = [fault for fault in ERRORS if tracer.applies(fault, call)]
    return faults + ([NOTHING] if call.name in ("read", "pread64") else []) + HARMLESS


def try_one(stage, scenario, baseline, call, fault):
    """Makes one run: the reasons why its outcome is not allowed."""
    name = stage.name_run()
    try:
        done, _ = tracer.inject(stage.path("trace"), scenario.argv_of(name), call, fault)
        decisions = stage.log.decisions(name)
        whys = complaints(scenario, done, decisions, (baseline.phase_of[call],), call in baseline.logging)
    except (AssertionError, Malformed) as why:
        return [str(why)]
    logged = "; ".join(one.line.text[one.line.text.find("(kvt:"):][:60] for one in decisions) or "nothing"
    return [f"{fault} at {call}: {why}: {done}, logged {logged}" for why in whys]


def try_calls(stage, report, scenario):
    with report.case(f"pam: {scenario.title}: every call in turn") as case:
        baseline = Baseline(stage, scenario)
        plan = [(call, fault) for call in baseline.calls for fault in faults_of(call)]
        plan = stage.some(plan, SHORT_SHARE)
        report.count(case, stage.each(lambda one: try_one(stage, scenario, baseline, *one), plan))


def try_short_transfers(stage, report, scenario):
    """All reads return a few bytes only, or one read is short or empty."""
    with report.case(f"pam: {scenario.title}: short reads") as case:
        def one(setting):
            size, at = setting
            name = stage.name_run()
            settings = {"BYTES": size, "AT": at, "HOLD": 1}
            done, hit = stage.run_preloaded("shortio.c", scenario.argv_of(name), settings)
            whys = complaints(scenario, done, stage.log.decisions(name), faulty=PHASES if size == 0 else ())
            whys += [] if at or hit == "!" else ["never hit"]
            return hit, [f"{size} bytes at transfer {at or 'any'}: {why}: {done}" for why in whys]
        results = [one((1, 0)), one((7, 0)), *stage.until_unhit(lambda at: one((0, at))),
                   *stage.until_unhit(lambda at: one((1, at)))]
        report.count(case, [whys for _, whys in results])


def try_without_key(stage, report, scenario):
    """For a login without a key, the module makes no system call that could fail."""
    with report.case("pam: a login without a key makes no system call") as case:
        argv = [*scenario.argv_of(stage.name_run())]
        argv[5] = "password\n"
        done, calls = tracer.list_calls(stage.path("trace"), argv)
        case.check(read_codes(done) == dict.fromkeys(PHASES, 0), f"not let in: {done}")
        own = [str(call) for calls in calls_by_phase(calls).values() for call in calls]
        case.check(not own, f"it calls {own}")


def cases(stage, report):
    scenarios = [one for one in make_scenarios(stage) if report.wants(one.title)]
    for scenario in scenarios:
        try_calls(stage, report, scenario)
        if stage.long or not scenario.allow and "certificate" not in scenario.title:
            try_short_transfers(stage, report, scenario)
    if scenarios:
        try_without_key(stage, report, scenarios[0])


if __name__ == "__main__":
    sys.exit(play(__doc__, cases))
