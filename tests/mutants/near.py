# SPDX-License-Identifier: ISC
"""Runs the tests of the programs on a mutant: those near to a file, and those far from it."""

import os
import signal
import subprocess

from trial import FOLDERS, ROOT, run

FAULTS = ("tests/faults/test_memory_runs_out.py", "tests/faults/test_pam_calls.py", "tests/faults/test_guard_calls.py")
GUARD = ("tests/e2e/test_guard_command.py", "tests/faults/test_guard_calls.py", "tests/faults/test_memory_runs_out.py",
         "tests/e2e/test_guard_files.py")
PAM = FAULTS[:2]
# Files of lib/ with tests of their own.
LIB = {"lib/kv_config.c": (*FAULTS, "tests/cli/test_status.py"),
       "lib/kv_line.c": ("tests/cli/test_check_lines.py",),
       "lib/kv_trusted.c": (*FAULTS, "tests/e2e/test_errors.py"),
       "lib/kv_userfile.c": (*FAULTS, "tests/e2e/test_guard_files.py"),
       "lib/kv_wildcards.c": ("tests/oracle/wildcards.py",),
       "lib/kv_spki.c": ("tests/cli/test_spki.py", *FAULTS)}
FAR = {"pam": ("tests/e2e/test_policy.py", "tests/e2e/test_refused_session.py", "tests/e2e/test_pam_environment.py",
               "tests/e2e/test_what_people_see.py", "tests/e2e/test_other_logins.py", "tests/faults"),
       "sshd-helper": ("tests/e2e/test_policy.py", "tests/e2e/test_guard_neighbours.py",
                       "tests/e2e/test_confirmed_keys.py", "tests/faults", "tests/e2e/test_errors.py"),
       "lib": ("tests/e2e/test_policy.py", "tests/e2e/test_errors.py", "tests/e2e/test_odd_certificates.py",
               "tests/e2e/test_key_types.py")}
SECONDS = {"near": 120, "far": 900}


def tests_of(path, stage):
    folder = path.split("/", 1)[0]
    if stage == "far":
        return FAR[folder]
    return {"pam": PAM, "sshd-helper": GUARD}.get(folder) or LIB.get(path, FAULTS)


def files_of(path, stage):
    """The files whose change lets a survivor of this stage be tried again."""
    if stage in ("unit", "sanitized", "rest"):
        return sorted((ROOT / "tests/unit").glob("*.[ch]"))
    return sorted(file for name in tests_of(path, stage) for file in
                  ([ROOT / name] if name.endswith(".py") else (ROOT / name).glob("*.[cp]*")))


class Programs:
    """The three programs, linked from the objects of a trial.Build and that of a mutant."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        folder.mkdir(exist_ok=True)
        self.changed = set(FOLDERS)     # folders whose programs are not those of the unchanged files

    def link(self, path, made):
        objects = self.build.objects | ({path: made} if made else {})
        lib = [objects[name] for name in objects if name.startswith("lib/")]
        guard = [objects[name] for name in objects if name.startswith("sshd-helper/")]
        module = [objects[name] for name in objects if name.startswith("pam/")]
        folder = path.split("/", 1)[0]
        for changed in {folder, *self.changed}:
            if changed in ("lib", "sshd-helper"):
                run(["gcc", "-pie", "-o", self.folder / "keyveto-authorized-keys", *guard, *lib, "-lmd"])
            if changed in ("lib", "pam"):
                run(["gcc", "-shared", "-o", self.folder / "pam_keyveto.so", *module, *lib,
                     "-Wl,--version-script=pam/pam_keyveto.map", "-lpam", "-lmd"])
            if changed == "lib":
                run(["gcc", "-pie", "-o", self.folder / "keyveto", *self.build.cli, *lib, *self.build.libs,
                     "-lpthread", "-lm"])
        self.changed = {folder} if made else set()

    def try_mutant(self, mutant, stage):
        """(outcome, by what)."""
        made = self.build.compile(mutant.path, mutant.apply(), "program")
        self.link(mutant.path, made)
        tests = tests_of(mutant.path, stage)
        for test in tests:
            if not self.passes(test, SECONDS[stage]):
                return "killed", test
        return "survived", f"{len(tests)} files"

    def check(self, stage, paths):
        """Without a mutant all tests pass."""
        for path in paths:
            self.changed.add(path.split("/", 1)[0])
            self.link(path, None)
        for test in sorted({test for path in paths for test in tests_of(path, stage)}):
            if not self.passes(test, SECONDS[stage]):
                raise SystemExit(f"{test} fails without a mutant")

    def passes(self, test, seconds):
        argv = ["/usr/bin/python3", "-m", "pytest", "-x", "-q", "--all", "-n0", "-p", "no:cacheprovider", "--build",
                str(self.folder), test]
        if "/test_" not in test and test.endswith(".py"):       # a campaign; its last argument is the seed
            argv = ["/usr/bin/python3", test, str(self.folder), "1000", "1"]
        environment = os.environ | {"KEYVETO_SHARED": str(self.folder)}
        with subprocess.Popen(argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True, env=environment) as process:
            try:
                return process.wait(seconds) == 0
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return False
