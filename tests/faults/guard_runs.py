# SPDX-License-Identifier: ISC
"""Calls of the guard, and which outcomes are allowed if a fault hits one.

Whatever fails, the outcome is one that the configuration allows:
  - a listed key gets nothing, unless OnError is allow and the log says that
    there was no verdict;
  - a clean key gets all bytes of its files, or a status that makes sshd ignore them;
  - a file that could not be opened is left out, and the log says so;
  - a refusal without a verdict leaves a line with the reason in the log.
The guard never crashes or hangs. A fault before main may keep the guard
from starting. A log line may be lost if the call that sends it fails.
"""

import functools
from dataclasses import dataclass

import keys
import tracer
from logbook import Malformed
from stage import DEFAULT_FILTER

ERRORS = [tracer.error(name) for name in ("EIO", "ENOMEM", "EINTR", "EACCES", "EMFILE")]
# A transfer of no bytes: the end of a file, or a write that must be repeated.
NOTHING = tracer.result(0)
NOTHING_CALLS = ("read", "pread64", "write")
# A change of identity that reports success, and was not made.
UNEARNED = tracer.result(0)
UNEARNED_CALLS = ("setresuid", "setresgid")
SIGNALS = [tracer.kill_by(name) for name in ("SIGKILL", "SIGTERM", "SIGPIPE", "SIGALRM")]
HARMLESS = [tracer.kill_by(name) for name in ("SIGCHLD", "SIGWINCH", "SIGCONT")]

KINDS = ("clean key", "listed key", "certificate by a listed CA")
STARTS = ("root", "account")
ON_ERROR = ("deny", "allow")
# keyveto.conf for an account's file that its own group may write. Only calls after setresuid are tried with these.
OTHER_FILES = {
    "a file that the account's own group may write": ("StrictModes private-group",),
    "a pattern with a wildcard": ("AuthorizedKeysFile .ssh/authorized_key[s]", "StrictModes no"),
}


# With an exact list and no filter.
WITH_LIST = ("clean key", "listed key")


def name(kind, start, on_error, command=False):
    """The title of a scenario."""
    return f"{kind}, started as {start}, OnError {on_error}{', -- COMMAND' if command else ''}"


def name_with_list(kind, on_error):
    return f"{kind}, by an exact list, OnError {on_error}"


OF_OTHER_FILES = [f"clean key, {words}" for words in OTHER_FILES]
OF_LISTS = [name_with_list(kind, on_error) for on_error in ON_ERROR for kind in WITH_LIST]
TITLES = [name(kind, start, on_error, command) for on_error in ON_ERROR for start in STARTS for kind in KINDS
          for command in (False, True)] + OF_OTHER_FILES + OF_LISTS


@dataclass
class Scenario:
    """One way to call the guard, and the outcomes that are allowed."""
    title: str
    argv: list              # without --connection, which is different in each run
    listed: bool
    allow: bool             # OnError
    files: list             # the contents of the account's files, or what the command prints
    user: str = None        # started as this account, not as root
    command: tuple = ()
    behind: str = None      # only calls after the last call of this name are tried

    def argv_of(self, run):
        return [*self.argv, "--connection", f"192.0.2.1 22 {run} 22", *(["--", *self.command] if self.command else [])]

    @property
    def whole(self):
        return join(self.files)


def join(files):
    """Several files as the guard prints them: each begins on a line of its own."""
    out = b""
    for content in files:
        if out and content and not out.endswith(b"\n"):
            out += b"\n"
        out += content
    return out


def subsets(files):
    """The outputs that are allowed if any of the files is left out."""
    if not files:
        return {b""}
    return {join(list(part)) for part in _choices(files)}


def _choices(files):
    if not files:
        return [()]
    rest = _choices(files[1:])
    return [(files[0], *one) for one in rest] + rest


def make_scenarios(stage):
    """The scenarios by their titles."""
    account, clean, listed, ca = stage.account(), stage.key(), stage.key(), stage.key()
    certificate = keys.certify(ca, clean, account.name).certificate
    stage.machine.write(DEFAULT_FILTER, stage.filter(listed, ca).read_bytes())
    # Two files, the first without a last line end, and long enough for two reads.
    first = f"{clean.key}\n{listed.key}\ncert-authority {ca.key}\n# " + "x" * (70_000 if stage.long else 300)
    second = f"{clean.key} again\n"
    account.authorize()
    account.write(".ssh/authorized_keys", first)
    account.write(".ssh/authorized_keys2", second)
    files = [first.encode(), second.encode()]
    shared = stage.account()
    shared.write(".ssh/authorized_keys", second, 0o664)

    found = []
    for on_error in ON_ERROR:
        config = stage.config(f"OnError {on_error}", listed=[listed, ca])
        for start in STARTS:
            for kind, public in zip(KINDS, (clean.key, listed.key, certificate)):
                argv = [stage.guard, "--config", config, "--user", account.name, "--home", account.home,
                        "--type", public.type, "--key", public.blob]
                make = functools.partial(Scenario, argv=argv, listed=kind != "clean key", allow=on_error == "allow",
                                         user=account.name if start == "account" else None)
                found.append(make(name(kind, start, on_error), files=files))
                found.append(make(name(kind, start, on_error, True), files=[b"ran\n"], command=("/bin/echo", "ran")))
    blocklist = stage.blocklist(listed)
    for on_error in ON_ERROR:
        config = stage.config(f"OnError {on_error}", f"Blocklist {blocklist}")
        for kind, public in zip(WITH_LIST, (clean.key, listed.key)):
            argv = [stage.guard, "--config", config, "--user", account.name, "--home", account.home,
                    "--type", public.type, "--key", public.blob]
            found.append(Scenario(name_with_list(kind, on_error), argv, listed=kind != "clean key",
                                  allow=on_error == "allow", files=files))
    found += _of_other_files(stage, shared, clean.key, second.encode(), listed)
    return {scenario.title: scenario for scenario in found}


def _of_other_files(stage, shared, public, content, listed):
    """The calls for the account's file, apart from opening it."""
    argv = [stage.guard, "--user", shared.name, "--home", shared.home, "--type", public.type, "--key", public.blob]
    return [Scenario(title, [*argv, "--config", stage.config(*lines, listed=[listed])],
                     listed=False, allow=False, files=[content], behind="setresuid")
            for title, lines in zip(OF_OTHER_FILES, OTHER_FILES.values())]


class Baseline:
    """The calls of a run without a fault, sorted by their purpose."""

    def __init__(self, stage, scenario):
        done, self.calls = tracer.list_calls(stage.path("trace"), scenario.argv_of(stage.name_run()),
                                             user=scenario.user)
        expected = b"" if scenario.listed else scenario.whole
        if (done.returncode, done.stdout) != (0, expected):
            raise AssertionError(f"without any fault: {done}")
        # The first thing that the guard does.
        self.first = next(call for call in self.calls if call.name == "fcntl" and call.text.startswith("0, F_GETFD"))
        self.begin = self.first.index
        self.interesting = max((call.index for call in self.calls if call.name == scenario.behind), default=0) + 1
        self.end = self._end(bool(scenario.command) and not scenario.listed)
        self.logging = self._find_logging()

    def _end(self, becomes_command):
        """The guard's last call. Calls after it are those of the command behind --."""
        if not becomes_command:
            return len(self.calls)
        return next(call.index for call in self.calls if call.name == "execve" and call.nth == 2) + 1

    def _find_logging(self):
        """The calls that a log line needs."""
        found = set()
        for call in self.calls:
            if call.name == "connect" and '"/dev/log"' in call.text:
                sockets = [one.index for one in self.calls[:call.index] if one.name == "socket"]
                found |= {sockets[-1], call.index}
            if call.name in ("sendto", "sendmsg"):
                found.add(call.index)
        return found

    @property
    def guards_own(self):
        """All calls except the execve that started the guard, and the first call, which has its own case."""
        return [call for call in self.calls[self.interesting:self.end] if call is not self.first]


def faults_of(call):
    """The faults that are tried on a call."""
    faults = [fault for fault in ERRORS if tracer.applies(fault, call)]
    if call.name in NOTHING_CALLS:
        faults.append(NOTHING)
    if call.name in UNEARNED_CALLS:
        faults.append(UNEARNED)
    return faults + SIGNALS + HARMLESS


class Judge:
    """Judges an outcome. whys has the reasons why it is not allowed."""

    def __init__(self, scenario, where, fault=None, before_main=False, log_may_be_lost=False):
        self.scenario, self.where, self.fault = scenario, where, fault
        self.before_main, self.log_may_be_lost = before_main, log_may_be_lost or before_main
        self.whys = []

    @classmethod
    def of_call(cls, scenario, baseline, call, fault, onwards):
        """For a system call that failed."""
        judge = cls(scenario, f"{fault} {'from here on at' if onwards else 'at'} {call}", fault,
                    call.index < baseline.begin, onwards or call.index in baseline.logging)
        judge.file_may_end = call.name == "read" and not fault.is_signal
        judge.file_may_end_unseen = judge.file_may_end and fault is NOTHING
        return judge

    file_may_end = file_may_end_unseen = False

    def say(self, what, done, decisions):
        logged = "; ".join(one.line.text[one.line.text.find("verdict="):] for one in decisions) or "nothing"
        self.whys.append(f"{self.where}: {what}: {done}, logged {logged}")

    def verdict(self, done, decisions):
        said = {(one.verdict, one.action) for one in decisions if one.verdict != "error" or one.reason}
        complain = functools.partial(self.say, done=done, decisions=decisions)
        if done.hung:
            complain("it hangs")
        elif done.returncode < 0:
            self._killed(done, complain)
        elif self.scenario.listed:
            self._listed(done, said, complain)
        else:
            self._clean(done, said, complain)

    def _killed(self, done, complain):
        expected = self.fault and self.fault.is_signal and self.fault not in HARMLESS
        if not expected and not self.before_main:
            complain("it crashed")
        if self.scenario.listed and done.stdout:
            complain("something was printed for a listed key")

    def _listed(self, done, said, complain):
        if done.stdout:
            if not (self.scenario.allow and ("error", "allow") in said):
                complain("something was printed for a listed key")
            return
        if self.log_may_be_lost:
            return
        if done.returncode == 0 and ("listed", "deny") not in said:
            complain("refused without a line in the log")
        if done.returncode != 0 and not any(verdict == "error" for verdict, _ in said):
            complain("no verdict, and no reason in the log")

    def _clean(self, done, said, complain):
        if done.returncode != 0:
            if not self.log_may_be_lost and not any(verdict == "error" for verdict, _ in said):
                complain("no verdict, and no reason in the log")
            return
        if done.stdout == self.scenario.whole:
            return
        if self.scenario.command or done.stdout not in self._may_be_printed():
            complain("not the whole output, and success")
        elif not self.log_may_be_lost and not self.file_may_end_unseen and not any(v == "error" for v, _ in said):
            complain("a file was left out, and the log does not say so")

    def _may_be_printed(self):
        found = subsets(self.scenario.files)
        if self.file_may_end:
            # A read of no bytes looks like the end of the file, and sshd, too, takes an error for it. The output is
            # cut there.
            step = 64 * 1024
            cut = [self.scenario.files[0][:n] for n in range(0, len(self.scenario.files[0]), step)]
            found |= {join([one, *rest]) for one in cut for rest in _choices(self.scenario.files[1:])}
        return found


def try_one(stage, scenario, baseline, call, fault, onwards=False):
    """Makes one run: the reasons why its outcome is not allowed."""
    judge = Judge.of_call(scenario, baseline, call, fault, onwards)
    run = stage.name_run()
    try:
        done, _ = tracer.inject(stage.path("trace"), scenario.argv_of(run), call, fault, onwards, user=scenario.user)
        judge.verdict(done, stage.log.decisions(run))
    except (AssertionError, Malformed) as why:
        judge.whys.append(str(why))
    return judge.whys
