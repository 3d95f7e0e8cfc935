#!/usr/bin/env python3
# SPDX-License-Identifier: ISC
"""Runs the proofs in this folder with CBMC, in parallel, and prints a table of them.

  prove/run.py                 all of them; make prove
  prove/run.py --quick         the small ones
  prove/run.py --planted       each bug in planted/ must make its proof fail; with
                               --quick or UNIT those of these proofs
  prove/run.py --list          the table without running anything
  prove/run.py UNIT[:PROOF]... some of them

The exit status is 1 if a proof fails, or takes longer than its time limit.
README.md in this folder says how a proof is written."""

import argparse
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import cbmc

PROVE = pathlib.Path(__file__).resolve().parent
TOP = PROVE.parent
# The programs that are made of a harness. REACHED shows that no PROVE is vacuous, and UNSET
# that no local is read before it is set.
PROOF, REACHED, UNSET = "proof.goto", "reached.goto", "unset.goto"
HEAD = ("unit", "proof", "for every input within this bound", "properties", "seconds")
RULE = ("---", "---", "---", "---:", "---:")
# Kissat is faster where nothing fails; MiniSat, which CBMC has inside, where much does. MiniSat's
# preprocessor takes ten times as long as it saves.
SOLVER = ["--external-sat-solver", "kissat"]
COMMON = """--malloc-may-fail --malloc-fail-null --object-bits 12 --drop-unused-functions
  --slice-formula --no-sat-preprocessor""".split()
UNCHECKED = ["--no-standard-checks", *COMMON]
CHECKS = [*COMMON, *"""--bounds-check --pointer-check --pointer-primitive-check --pointer-overflow-check
  --signed-overflow-check --conversion-check --undefined-shift-check --div-by-zero-check
  --unwinding-assertions""".split()]
DEFINES = ["-D_GNU_SOURCE", '-DKEYVETO_VERSION="0"', "-D_FORTIFY_SOURCE=0"]
FOLDERS = ("prove", "lib", "sshd-helper", "pam")
INCLUDES = ["-I.", *(f"-I{folder}" for folder in FOLDERS)]
READ_OF_UNSET = re.compile(r"^Property (\S+):\n  file (?:\./)?(\S+) line (\d+) function (\w+)\n"
                           r"  use of uninitialized local variable \S*::(\w+)$", re.M)


class Mistake(Exception):
    """A harness or a planted bug that cannot be read."""


class Proof:
    """One line `proof` of a harness."""

    def __init__(self, unit, name, quick, flags, bound):
        self.unit, self.name, self.quick, self.flags, self.bound = unit, name, quick, flags, bound

    def __str__(self):
        return f"{self.unit.name}:{self.name}"


class Unit:
    """A harness, prove/NAME.c: what its first comment says."""

    def __init__(self, path):
        self.name, self.path = path.stem, path
        self.sources, self.shrunk, self.proofs = [], [], []
        self.tree, self.unset, self.lock = None, {}, threading.Lock()
        text = path.read_text()
        self.numbers = dict(re.findall(r"^#define ([A-Z][A-Z_0-9]*) (\d+)$", text, re.M))
        for line in re.findall(r"^ \* ((?:source|shrink|proof) .*)$", text.split("*/", 2)[1], re.M):
            try:
                self.read(line)
            except ValueError as error:
                raise Mistake(f"{path}: cannot be read: {line}") from error
        if not self.proofs:
            raise Mistake(f"{path}: no line `proof`")

    def read(self, line):
        word, rest = line.split(None, 1)
        if word == "source":
            self.sources += rest.split()
        elif word == "shrink":
            file, rest = rest.split(": ", 1)
            old, new = rest.split(" -> ")
            self.shrunk.append((file, old, new))
            if (number := re.search(r"(\w+) (\d+)$", new)):
                self.numbers[number[1]] = number[2]
        else:
            head, bound = rest.split(": ", 1)
            name, *flags = head.split()
            quick = "[quick]" in flags
            self.proofs.append(Proof(self, name, quick, [f for f in flags if f != "[quick]"], bound))

    def number(self, word):
        """The value of a bound such as TEXT+2."""
        text = re.sub(r"[A-Z][A-Z_0-9]*", lambda m: self.numbers.get(m[0], m[0]), word)
        if not re.fullmatch(r"[0-9+*/ -]+", text):
            raise Mistake(f"{self.path}: {word} is not a number")
        return str(eval(text.replace("/", "//")))

    def flags(self, proof, checks):
        result = list(checks)
        for flag in proof.flags:
            if flag.startswith("--no-"):
                result = [f for f in result if f != "--" + flag[5:]]
            else:
                result.append(",".join(map(self.evaluate, flag.split(","))))
        return result

    def evaluate(self, flag):
        """Makes LOOP:9 of LOOP:TEXT+2, and 9 of TEXT+2."""
        name, colon, value = flag.rpartition(":")
        return name + colon + self.number(value) if re.search(r"[A-Z]", value) else flag

    def bound(self, proof):
        """The bound in words, with the numbers."""
        return re.sub(r"\b[A-Z][A-Z_0-9]+\b", lambda m: self.numbers.get(m[0], m[0]), proof.bound)


def units():
    found = [Unit(path) for path in sorted(PROVE.glob("*.c"))]
    names = [unit.name for unit in found]
    if len(set(names)) != len(names):
        raise Mistake("two units have one name")
    return found


@functools.cache
def table_of_points():
    return subprocess.run([sys.executable, TOP / "tests/oracle/nosecret.py", "table"], check=True,
                          capture_output=True).stdout


def copy_sources(tree):
    for folder in FOLDERS:
        (tree / folder).mkdir(parents=True)
        for file in (TOP / folder).glob("*.[ch]"):
            shutil.copy(file, tree / folder)
    (tree / "prove" / "nosecret_table.h").write_bytes(table_of_points())


def plant(tree, patch):
    # Git must not take the tree for a part of this repository.
    subprocess.run(["git", "apply", patch], cwd=tree, check=True,
                   env=dict(os.environ, GIT_CEILING_DIRECTORIES=str(tree.parent)))


def edit(tree, unit):
    """Makes the constants of a unit smaller. Each must stand there once."""
    for file, old, new in unit.shrunk:
        path = tree / file
        text = path.read_text()
        if text.count(old) != 1:
            raise Mistake(f"{unit.path}: {file} has {text.count(old)} times: {old}")
        path.write_text(text.replace(old, new))


def prepare(tools, unit, planted=None):
    """Copies the sources to where CBMC runs, and compiles them. Returns the folder."""
    tree = tools.folder / (planted.stem if planted else unit.name)
    shutil.rmtree(tree, ignore_errors=True)
    copy_sources(tree)
    if planted:
        plant(tree, planted)
    edit(tree, unit)
    for program, defines in (PROOF, []), (REACHED, ["-DREACHED"]):
        command = ["goto-cc", "-std=gnu11", "-o", program, *DEFINES, *defines, *INCLUDES, f"prove/{unit.name}.c",
                   *unit.sources]
        compiled = tools.run(tree, command)
        if compiled.returncode != 0:
            raise Mistake(f"{unit.path} cannot be compiled\n{compiled.stdout[-2000:]}")
    return tree


def address_is_taken(text, function, name):
    """Whether this function of a source takes the address of its local, or the local is an array."""
    body = text.partition(f"\n{function}(")[2].partition("\n}")[0]
    return re.search(rf"&{name}\b|\b{name}\[", body)


def unset_locals(tools, tree):
    """Makes UNSET. Returns a dict: each property of it that says whether a local of the login path
    is set before it is read, with a text for the case that it is not. CBMC does not follow an
    address, so locals whose address is taken are left out."""
    tools.run(tree, ["goto-instrument", "--uninitialized-check", PROOF, UNSET], check=True)
    said = tools.run(tree, ["goto-instrument", "--show-properties", UNSET], check=True).stdout
    return {prop: f"    {file}:{line}: {function}: {name} may be read before it is set"
            for prop, file, line, function, name in READ_OF_UNSET.findall(said)
            if not file.startswith(("prove/", "<")) and
            not address_is_taken((tree / file).read_text(), function, name)}


class Property:
    """A line of CBMC's answer."""

    def __init__(self, file, name, line, text, status):
        self.file, self.name, self.line, self.text, self.status = file, name, line, text, status

    @property
    def function(self):
        return self.name.split(".")[0]

    @property
    def of_harness(self):
        """Whether it is a line PROVE."""
        return ".assertion." in self.name and self.file.startswith("prove/")

    def __str__(self):
        return f"    {self.file}:{self.line}: {self.name}: {self.text}"


class Result:
    """What CBMC says of one program."""

    def __init__(self, proof, said, seconds, megabytes, killed):
        self.proof, self.seconds, self.megabytes = proof, seconds, megabytes
        self.properties, self.problem, self.unreached = [], "", []
        file = "?"
        for line in said.splitlines():
            if (head := re.fullmatch(r"(\S+) function \S+", line)):
                file = head[1].removeprefix("./")
            elif (found := re.fullmatch(r"\[(\S+)\] (?:line (\d+) )?(.*): (SUCCESS|FAILURE|UNKNOWN|ERROR)", line)):
                self.properties.append(Property(file, *found.groups()))
        if killed:
            self.problem = f"killed after {seconds:.0f} s of processor time"
        elif not re.search(r"^VERIFICATION (SUCCESSFUL|FAILED)$", said, re.M) or not self.properties:
            self.problem = said[-500:] or "no output"

    @property
    def failed(self):
        return [p for p in self.properties if p.status != "SUCCESS"]

    @property
    def ok(self):
        return not self.problem and not self.failed and not self.unreached

    def describe(self):
        if self.problem:
            return self.problem
        return "\n".join([str(p) for p in self.failed] + [f"{p}: is never reached" for p in self.unreached])


def ask(tools, tree, proof, limit, program, flags, solver=()):
    while "--replace" in flags:
        at = flags.index("--replace")
        replaced = f"{proof.name}-{program}"
        tools.run(tree, ["goto-instrument", "--replace-calls", flags[at + 1], program, replaced], check=True)
        program = replaced
        del flags[at:at + 2]
    if "--minisat" in flags:
        flags.remove("--minisat")
    elif "--z3" not in flags:
        flags += solver
    command = ["cbmc", program, "--function", proof.name, *flags]
    return Result(proof, *tools.ask(tree, command, limit))


def run_proof(tools, tree, proof, limit, solver=()):
    return ask(tools, tree, proof, limit, PROOF, proof.unit.flags(proof, CHECKS), solver)


def find_unreached(tools, tree, result, limit):
    """In REACHED each line PROVE fails as soon as an input gets there."""
    proof = result.proof
    found = ask(tools, tree, proof, limit, REACHED, proof.unit.flags(proof, UNCHECKED))
    result.seconds += found.seconds
    result.megabytes = max(result.megabytes, found.megabytes)
    result.problem = found.problem and f"not known whether each PROVE is reached: {found.problem}"
    own = [p for p in found.properties if p.of_harness]
    result.reached = {p.name for p in own if p.status == "FAILURE"}
    # Functions that several proofs may call: units_reached.
    result.elsewhere = {p.name: p for p in own if p.status == "SUCCESS" and p.function != proof.name}
    result.unreached = [p for p in own if p.status == "SUCCESS" and p.function == proof.name]
    if not result.problem and not result.reached:
        result.problem = "no PROVE is reached"


def find_unset(tools, tree, unset, proof, limit):
    """Returns what CBMC says of UNSET, and the texts of unset that came true."""
    result = ask(tools, tree, proof, limit, UNSET, proof.unit.flags(proof, UNCHECKED))
    return result, [unset[p.name] for p in result.failed if p.name in unset]


def run_in_tree(tools, proof, limit):
    """Runs a proof. The first one of a unit compiles it."""
    unit = proof.unit
    with unit.lock:
        if unit.tree is None:
            unit.tree = prepare(tools, unit)
            unit.unset = unset_locals(tools, unit.tree)
    result = run_proof(tools, unit.tree, proof, limit, SOLVER)
    if unit.unset and result.ok:
        found, unset = find_unset(tools, unit.tree, unit.unset, proof, limit)
        result.seconds += found.seconds
        result.problem = found.problem or "\n".join(unset)
    if result.ok:
        find_unreached(tools, unit.tree, result, limit)
    return result


def print_table(rows):
    for row in rows:
        print(f"| {' | '.join(row)} |")


def units_reached(results):
    """Whether each PROVE that proofs of a unit share is reached by one of them, if all were run."""
    good = True
    for unit in {r.proof.unit for r in results}:
        mine = [r for r in results if r.proof.unit == unit and r.ok]
        if len(mine) < len(unit.proofs):
            continue
        reached = set().union(*(r.reached for r in mine))
        for name, prop in {n: p for r in mine for n, p in r.elsewhere.items()}.items():
            if name not in reached:
                print(f"FAILED  {unit.name}\n{prop}: is never reached")
                good = False
    return good


def prove(tools, proofs, options):
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(run_in_tree, tools, p, options.limit) for p in proofs]
        results = []
        for job in concurrent.futures.as_completed(jobs):
            result = job.result()
            results.append(result)
            word = "ok" if result.ok else "FAILED"
            print(f"{word:8}{result.proof} ({result.seconds:.0f} s, {result.megabytes} MB)", flush=True)
            if not result.ok:
                print(result.describe(), flush=True)
    good = units_reached(results)
    results.sort(key=lambda r: proofs.index(r.proof))
    print()
    print_table([HEAD, RULE] + [
        (r.proof.unit.name, r.proof.name, r.proof.unit.bound(r.proof),
         str(len(r.properties)) if r.ok else "FAILED", f"{r.seconds:.0f}") for r in results])
    bad = sum(not r.ok for r in results)
    print(f"\n{len(results) - bad} proofs hold, {bad} do not; "
          f"{sum(len(r.properties) for r in results if r.ok)} properties")
    return bad == 0 and good


def planted_in(everything):
    """Returns a list of pairs: a patch, and the proof that must find its bug."""
    by_name = {str(proof): proof for proof in everything}
    pairs = []
    for patch in sorted((PROVE / "planted").glob("*.patch")):
        name = re.search(r"^proof: (\S+)$", patch.read_text(), re.M)
        if not name or name[1] not in by_name:
            raise Mistake(f"{patch}: no line `proof: UNIT:PROOF` of a proof that exists")
        pairs.append((patch, by_name[name[1]]))
    without = set(by_name.values()) - {proof for _, proof in pairs}
    if without:
        raise Mistake(f"no planted bug for {' '.join(sorted(map(str, without)))}")
    return pairs


def planted_bug(tools, patch, proof, limit):
    """Returns what the proof says of the bug, or None, and how long it took, or why it does not see the bug."""
    tree, text = prepare(tools, proof.unit, patch), patch.read_text()
    if "\nunset\n" in text:
        result, unset = find_unset(tools, tree, unset_locals(tools, tree), proof, limit)
        return (unset[0].strip(), "") if unset else (None, f"{proof}: {result.problem or 'every local is set'}")
    # Few bugs take MiniSat long.
    result = run_proof(tools, tree, proof, limit, SOLVER if "\nsolver: kissat\n" in text else ())
    if result.problem or not result.failed:
        return None, f"{proof}: {result.problem or 'holds with the bug'}"
    return result.failed[0].text, f" ({result.seconds:.0f} s)"


def prove_planted(tools, pairs, options):
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(planted_bug, tools, patch, proof, options.limit): patch for patch, proof in pairs}
        for job in concurrent.futures.as_completed(jobs):
            patch = jobs[job]
            found, more = job.result()
            bad += found is None
            print(f"found   {patch.stem}{more}: {found}" if found else f"FAILED  {patch.stem}: {more}", flush=True)
    print(f"\n{len(pairs) - bad} planted bugs found, {bad} not")
    return bad == 0


def chosen(everything, names):
    if not names:
        return everything
    proofs = [p for name in names for p in everything if name in (str(p), p.unit.name)]
    unknown = set(names) - {str(p) for p in proofs} - {p.unit.name for p in proofs}
    if unknown:
        raise Mistake(f"no such proof: {' '.join(sorted(unknown))}")
    return proofs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="UNIT[:PROOF]")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build", default=TOP / "build", type=pathlib.Path)
    parser.add_argument("--jobs", default=os.cpu_count(), type=int, help="how many run at once")
    parser.add_argument("--limit", default=1200, type=int, help="seconds of processor time for one proof")
    options = parser.parse_args()
    everything = [proof for unit in units() for proof in unit.proofs]
    proofs = [p for p in chosen(everything, options.names) if p.quick or not options.quick]
    if options.list:
        print_table([(p.unit.name, p.name, p.unit.bound(p), "quick" if p.quick else "") for p in proofs])
        return True
    tools = cbmc.find_cbmc(options.build.resolve() / "prove")
    if options.planted:
        return prove_planted(tools, [pair for pair in planted_in(everything) if pair[1] in proofs], options)
    return prove(tools, proofs, options)


if __name__ == "__main__":
    try:
        sys.exit(0 if main() else 1)
    except (Mistake, cbmc.Missing) as mistake:
        sys.exit(f"{sys.argv[0]}: {mistake}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{sys.argv[0]}: {' '.join(map(str, error.cmd))}\n{error.stdout or ''}{error.stderr or ''}")
