# SPDX-License-Identifier: ISC
"""Logins through the PAM module, and which outcomes are allowed if a fault hits one.

A small program, pamdriver.c, calls PAM as sshd does, in all three phases. Whatever
fails, a listed key is let in only if OnError is allow and the log says that there
was no verdict. A clean key is let in, or the log says why not. Phases in which
nothing failed answer as usual.
"""

import re
from dataclasses import dataclass

import keys
import tracer
from logbook import Malformed
from stage import DEFAULT_FILTER

PHASES = ("auth", "account", "session")
PERM_DENIED = 6
NO_VERDICT = {"auth": 9, "account": 9, "session": 14}       # AUTHINFO_UNAVAIL, SESSION_ERR

ERRORS = [tracer.error(name) for name in ("EIO", "ENOMEM", "EINTR", "EACCES", "EMFILE")]
NOTHING = tracer.result(0)
HARMLESS = [tracer.kill_by(name) for name in ("SIGCHLD", "SIGWINCH")]

BY_LIST = "a key in an exact list"
KINDS = ("a clean key", "a listed key", "a certificate by a listed CA", "a clean key, then a listed one", BY_LIST)
ON_ERROR = ("deny", "allow")


def name(kind, on_error):
    """The title of a scenario."""
    return f"{kind}, OnError {on_error}"


TITLES = [name(kind, on_error) for on_error in ON_ERROR for kind in KINDS]


@dataclass
class Scenario:
    """A login, and the answers that its configuration allows."""
    title: str
    listed: bool
    allow: bool             # OnError
    argv: list              # of pamdriver; RUN stands for the client address of the run

    def argv_of(self, run):
        return [run if word == "RUN" else word for word in self.argv]


def make_scenarios(stage):
    """Logins by each kind of key, under each OnError, by their titles."""
    clean, listed, ca = stage.key(), stage.key(), stage.key()
    certificate = keys.certify(ca, clean, "somebody").certificate
    stage.machine.write(DEFAULT_FILTER, stage.filter(listed, ca).read_bytes())
    driver = stage.compile("pamdriver.c", "-lpam")
    infos = ((False, f"publickey {clean.key}\n"), (True, f"publickey {listed.key}\n"),
             (True, f"publickey {certificate}\n"), (True, f"publickey {clean.key}\nhostbased {listed.key}\n"),
             (True, f"publickey {listed.key}\n"))
    blocklist = stage.blocklist(listed)
    found = {}
    for on_error in ON_ERROR:
        folders = [make_stack(stage, config) for config in (
            stage.config(f"OnError {on_error}", listed=[listed, ca]),
            stage.config(f"OnError {on_error}", f"Blocklist {blocklist}"))]
        for kind, (is_listed, info) in zip(KINDS, infos):
            folder = folders[kind == BY_LIST]
            argv = [driver, folder, "kvt", "somebody", "RUN", info, *PHASES]
            title = name(kind, on_error)
            found[title] = Scenario(title, is_listed, on_error == "allow", argv)
    return found


def make_stack(stage, config):
    """A folder with a stack that asks the module in each phase."""
    folder = stage.make_folder("pam.d")
    stack = "".join(f"{phase} requisite {stage.module} config={config}\n{phase} required pam_permit.so\n"
                    for phase in PHASES)
    (folder / "kvt").write_text(stack, encoding="ascii")
    return folder


def read_codes(done):
    """The answer of each phase that was called."""
    return {phase: int(code) for phase, code in re.findall(r"^([a-z]+) ([0-9]+)$", done.stdout.decode(), re.MULTILINE)}


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
        run = stage.name_run()
        done, calls = tracer.list_calls(stage.path("trace"), scenario.argv_of(run))
        whys = complaints(scenario, done, stage.log.decisions(run), faulty=())
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
    run = stage.name_run()
    try:
        done, _ = tracer.inject(stage.path("trace"), scenario.argv_of(run), call, fault)
        decisions = stage.log.decisions(run)
        whys = complaints(scenario, done, decisions, (baseline.phase_of[call],), call in baseline.logging)
    except (AssertionError, Malformed) as why:
        return [str(why)]
    logged = "; ".join(one.line.text[one.line.text.find("(kvt:"):][:60] for one in decisions) or "nothing"
    return [f"{fault} at {call}: {why}: {done}, logged {logged}" for why in whys]
