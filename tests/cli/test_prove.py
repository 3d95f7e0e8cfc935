# SPDX-License-Identifier: ISC
"""The proofs in prove/ fit the sources. make prove runs them."""

import pathlib
import re
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "prove"))

import run  # noqa: E402

UNITS = run.units()
PLANTED = run.planted_in([proof for unit in UNITS for proof in unit.proofs])
# CBMC knows these without a declaration.
KNOWN = ["-D__CPROVER_assert(c,t)=(void)(c)", "-D__CPROVER_assume(c)=(void)(c)", "-D__CPROVER_r_ok(p,n)=((p)&&(n)+1)",
         "-D__CPROVER_w_ok(p,n)=((p)&&(n)+1)", "-D__CPROVER_same_object(p,q)=((p)&&(q))",
         "-D__CPROVER_POINTER_OFFSET(p)=((size_t)(p))"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_harness_fits_the_sources(unit, scratch):
    run.copy_sources(scratch)
    run.edit(scratch, unit)
    # A parameter that the unit promises to be as large as a constant may be smaller once that is shrunk.
    subprocess.run(["gcc", "-std=gnu11", "-fsyntax-only", "-Wall", "-Werror", "-Wno-uninitialized", *KNOWN,
                    *run.DEFINES, *run.INCLUDES, f"prove/{unit.name}.c"], cwd=scratch, check=True)
    for proof in unit.proofs:
        assert unit.flags(proof, run.CHECKS)
    for source in unit.sources:
        assert (TOP / source).exists()


@pytest.mark.parametrize("patch", [patch for patch, _ in PLANTED], ids=lambda patch: patch.stem)
def test_a_planted_bug_can_be_planted(patch, scratch):
    run.copy_sources(scratch)
    run.plant(scratch, patch)


def test_the_table_of_the_readme_is_that_of_the_harnesses():
    """But for the last two columns, which were measured."""
    rows = [[unit.name, proof.name, unit.bound(proof)] for unit in UNITS for proof in unit.proofs]
    lines = [re.split(r" *\| *", line)[1:-1] for line in (TOP / "prove/README.md").read_text().splitlines()
             if re.fullmatch(r"\| .* \| \d+ \| \d+ \|", line)]
    assert [line[:3] for line in lines] == rows
