# SPDX-License-Identifier: ISC
"""Builds mutants, and runs the unit tests on them.

Each test program of tests/unit is linked with two shared libraries: libmutant.so, the object of the file that the
mutant is of, and libsubject.so, all objects of the login path but main. The loader takes a function from the first
that has it. So a mutant costs one compilation and one link, whatever number of tests it meets. The unit tests run
twice: `unit` with the flags of the Makefile, `sanitized` with ASan and UBSan, as `make sanitize` does.
"""

import hashlib
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("lib", "pam", "sshd-helper")
MAIN = "sshd-helper/keyveto-authorized-keys.c"
# What the tests of files begin with that are named otherwise.
NAMED = {"sshd-helper": "test_guard", "pam_keyveto": "test_pam_retval",
         "kv_wildcards": ("test_wildcards", "test_guard_userfiles")}
RENAMED = {MAIN: ["-Dmain=guard_main"]}
SHARED = "-fPIC -fno-semantic-interposition"
SANITIZE = f"-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=address,undefined {SHARED}"
FLAGS = {"unit": [f"CFLAGS=-O2 -w {SHARED}"],
         "sanitized": [f"CFLAGS={SANITIZE} -w", "HARDENING="],
         "coverage": [f"CFLAGS=-O0 --coverage -w {SHARED}", "HARDENING="]}
# Left out of a stage: each mutates proofs, or reads PAM's stacks, and has nothing of the login path.
LEFT_OUT = {"test_pam_decision", "test_pam_stack", "test_proof", "test_ways", "test_fetch_place", "test_http_header"}
QUICKLY = {"unit": ["-O0", "-U_FORTIFY_SOURCE", "-fno-stack-protector"], "sanitized": []}
BYTES = 2 << 30             # of memory that a test may write to; sanitizers bound it themselves
QUICK = 0.5                 # seconds of a test that every mutant of what it calls meets
STDERR_TAIL = 4000


def sources():
    return sorted(str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).glob("*.c"))


def unit_tests():
    return sorted(path.stem for path in (ROOT / "tests/unit").glob("test_*.c") if path.stem not in LEFT_OUT)


def version_of(test):
    """Changes if the test or the program does."""
    total = hashlib.sha256()
    help_of_all = [path for path in (ROOT / "tests/unit").glob("*.[ch]") if not path.name.startswith("test_")]
    for path in [f"tests/unit/{test}.c", *sorted(help_of_all), *sources(), *sorted((ROOT / "lib").glob("*.h"))]:
        total.update((ROOT / path).read_bytes())
    return total.hexdigest()[:16]


def own_tests(path):
    """The tests whose name says that they are of this file."""
    folder, stem = Path(path).parent.name, Path(path).stem
    begins = NAMED.get(folder) or NAMED.get(stem) or f"test_{stem.removeprefix('kv_')}"
    return [test for test in unit_tests() if test.startswith(begins)]


def run(argv, **how):
    """Runs a program that must succeed."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=ROOT, **how)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, argv))}:\n{done.stderr.decode(errors='replace')[-STDERR_TAIL:]}")
    return done.stdout.decode()


def ended_well(argv, seconds, cpu, environment):
    """Whether a program succeeds before this time. It and its group are killed if it does not end."""
    with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True, env=environment) as process:
        try:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (cpu, cpu))
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
            if not environment["ASAN_OPTIONS"]:
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (BYTES, BYTES))
        except ProcessLookupError:
            pass
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def seconds_of_children():
    """The processor time of the processes that ended. It is the same on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def is_made(made, parts):
    """Whether a file is newer than all its parts."""
    return made.exists() and all(made.stat().st_mtime_ns > Path(part).stat().st_mtime_ns for part in parts)


class Build:
    """Objects, libraries and test programs of one stage, in a folder of their own."""

    def __init__(self, folder, stage):
        self.folder, self.stage = folder / stage, stage
        self.objects = {path: self.folder / f"{path[:-2]}.o" for path in sources()}
        wanted = "$(KV_CPPFLAGS) @ $(KV_CFLAGS) @ $(CLI_LIBS) $(NETWORK_LIBS) @ $(TEST_HELP_OBJ) @ $(CLI_OBJ)"
        said = self.make("--eval", f"mutants-flags:;@printf '%s\\n' {wanted}", "mutants-flags").split("\n")
        self.cppflags, self.cflags, self.libs, self.help, self.cli = (
            list(part) for marker, part in itertools.groupby(said[:-1], lambda word: word == "@") if not marker)

    def make(self, *targets):
        return run(["make", "-s", f"BUILD={self.folder}", *FLAGS[self.stage], *map(str, targets)])

    def plain(self):
        """Compiles what is not mutated."""
        self.make(*self.objects.values(), self.folder / "tests/guard.o")
        self.shared("libsubject.so", (self.objects | {MAIN: self.folder / "tests/guard.o"}).values())
        empty = self.folder / "empty.c"
        empty.write_text("int keyveto_no_mutant;\n", encoding="ascii")
        self.shared("libmutant.so", [empty])
        self.module({})

    def shared(self, name, objects):
        sanitize = [flag for flag in self.cflags if flag.startswith(("-fsanitize", "--coverage"))]
        run(["gcc", "-shared", *sanitize, "-o", self.folder / name, *objects, "-lpam", "-lmd"])

    def module(self, mutant):
        """Links the PAM module; mutant: {path: its object}."""
        objects = self.objects | mutant
        self.shared("pam_keyveto.so", [objects[path] for path in self.objects if not path.startswith("sshd-helper")] +
                    ["-Wl,--version-script=pam/pam_keyveto.map"])

    def tests(self, archive):
        """Links the test programs. archive has the objects of the command."""
        names = unit_tests()
        self.make(*(self.folder / f"tests/unit/{name}.o" for name in names), *self.help)
        sanitize = [flag for flag in self.cflags if flag.startswith("-fsanitize")]
        (self.folder / "bin").mkdir(exist_ok=True)
        options = []
        if sanitize:
            options = [self.folder / "asan_options.o"]
            run(["gcc", "-c", "-fPIC", "-o", options[0], "tests/asan_options.c"])
        for name in names:
            made, own = self.folder / f"bin/{name}", self.folder / f"tests/unit/{name}.o"
            if is_made(made, [own, archive, *self.help]):
                continue
            run(["gcc", "-pie", "-rdynamic", *sanitize, "-o", made, own, *self.help, *options, f"-L{self.folder}",
                 "-Wl,--no-as-needed", "-lmutant", "-lsubject", "-Wl,--as-needed", archive, "-lcmocka", *self.libs,
                 "-lpthread", "-lm", "-ldl"])

    def compile(self, path, text, name, *more):
        """The object of a changed file; None if the compiler refuses it."""
        source, made = self.folder / f"{name}.c", self.folder / f"{name}.o"
        source.write_bytes(text)
        argv = ["gcc", *self.cppflags, f"-I{Path(path).parent}", *self.cflags, "-g0", *more, "-c", "-o", made, source]
        done = subprocess.run(argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False)
        return made if done.returncode == 0 else None

    def environment(self):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
                "LD_LIBRARY_PATH": str(self.folder),
                "CMOCKA_TEST_ABORT": "1", "KEYVETO_PAM_MODULE": str(self.folder / "pam_keyveto.so"),
                "ASAN_OPTIONS": "detect_leaks=1:hard_rss_limit_mb=3000" if self.stage == "sanitized" else ""}


class Trial:
    """Tries mutants by the unit tests of one stage."""

    def __init__(self, folder, stage, rest=False):
        self.build = Build(folder, stage)
        self.folder, self.stage, self.rest = folder, stage, rest
        self.archive = folder / "libcommand.a"
        self.seconds, self.calls, self.quick = {}, {}, set()

    def prepare(self):
        """Builds all, runs every test on the unchanged files, and notes which functions it calls.

        What is noted in a file holds until a test or the program changes.
        """
        kept = self.build.folder / "tests.json"
        known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        self.build.plain()
        self._command()
        self.build.tests(self.archive)
        coverage = Build(self.folder, "coverage")
        coverage.plain()
        for test in unit_tests():
            if known.get(test, {}).get("version") != version_of(test):
                known[test] = self._try_test(test, coverage)
                kept.write_text(json.dumps(known), encoding="utf-8")
        return 0

    def read(self):
        """What prepare noted, perhaps in another process."""
        known = json.loads((self.build.folder / "tests.json").read_text(encoding="utf-8"))
        # Sanitizers make tests slower, but the same tests are quick.
        usual = json.loads((self.folder / "unit/tests.json").read_text(encoding="utf-8"))
        self.quick = {test for test in unit_tests() if usual[test]["seconds"] < QUICK}
        for test in unit_tests():
            self.seconds[test] = known[test]["seconds"]
            self.calls[test] = set(map(tuple, known[test]["calls"]))
        return self

    def _try_test(self, test, coverage):
        started = seconds_of_children()
        if not self.passes(test, 600, 600):
            raise SystemExit(f"{test} fails without a mutant ({self.stage})")
        seconds = seconds_of_children() - started
        return {"version": version_of(test), "seconds": seconds, "calls": sorted(self.calls_of(test, coverage))}

    def _command(self):
        """The objects of the command, but main."""
        if self.stage == "unit":
            self.build.make(*self.build.cli)
            parts = [path for path in self.build.cli if path != str(self.build.folder / "cli/main.o")]
            if not is_made(self.archive, parts):
                self.archive.unlink(missing_ok=True)
                run(["ar", "qcs", self.archive, *parts])

    def calls_of(self, test, coverage):
        """{(file, function)} that the test calls."""
        for path in coverage.folder.rglob("*.gcda"):
            path.unlink()
        environment = self.build.environment() | {"LD_LIBRARY_PATH": f"{coverage.folder}:{self.build.folder}",
                                                  "KEYVETO_PAM_MODULE": str(coverage.folder / "pam_keyveto.so")}
        ended_well([self.build.folder / f"bin/{test}"], 600, 600, environment)
        counts = list(coverage.folder.rglob("*.gcda"))
        found = set()
        if counts:
            for line in run(["gcov", "--json-format", "--stdout", *counts]).splitlines():
                for file in json.loads(line)["files"]:
                    found |= {(file["file"], function["name"]) for function in file["functions"]
                              if function["execution_count"]}
        return found

    def passes(self, test, seconds, cpu):
        return ended_well([self.build.folder / f"bin/{test}"], seconds, cpu, self.build.environment())

    def tests_of(self, mutant):
        """Tests that may notice this mutant: first the file's own, then others that are quick; in the stage rest those
        that are not quick."""
        own = own_tests(mutant.path)
        functions = {function for path, function in set().union(*self.calls.values()) if path == mutant.path}
        if mutant.function in functions:
            tests = {test for test, calls in self.calls.items() if (mutant.path, mutant.function) in calls}
        else:                   # a variable, a macro, or a function that only a process calls that is not counted
            tests = {test for test, calls in self.calls.items() if any(path == mutant.path for path, _ in calls)}
        chosen = {test for test in tests.union(own) if self.rest != (test in own or test in self.quick)}
        return sorted(chosen, key=lambda test: (test not in own, self.seconds[test]))

    def try_mutant(self, mutant):
        """(outcome, by what): refused (by the compiler), same (code), killed or survived."""
        after = mutant.apply()
        # Most mutants are killed at once, so what is done for each of them is quick.
        made = self.build.compile(mutant.path, after, "mutant", *QUICKLY[self.stage], *RENAMED.get(mutant.path, ()))
        if made is None:
            return "refused", "the compiler"
        tests = self.tests_of(mutant)
        self.build.shared("libmutant.so", [made])
        if "test_pam_retval" in tests:
            self.build.module({mutant.path: made})
        try:
            for test in tests:
                usual = self.seconds[test]
                if not self.passes(test, 20 + 20 * usual, int(1 + 4 * usual)):
                    return "killed", test
        finally:
            for left in Path("/tmp").glob("keyveto-test*"):
                shutil.rmtree(left, ignore_errors=True)
        if self.code(mutant.path, after) == self.code(mutant.path, mutant.text):
            return "same", "the compiler"
        return "survived", f"{len(tests)} tests"

    def code(self, path, text):
        """What the compiler makes of a file for a login."""
        return self.build.compile(path, text, "mutant").read_bytes() if self.stage == "unit" else text
