# SPDX-License-Identifier: ISC
"""The rules make exactly the mutants that they say; a mutant that a test notices is told from one that none does."""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import rules
import trial

TEN = """\
#define MOST 10
int ten(int n);
int ten(int n)
{
  for (int i = 0; i < n && n > 0; i++)
    if (i == MOST)
      return MOST;
  return n < 0 ? 0 : n;
}
"""
# line, rule, before, after
MADE = [
    (1, "constant", "10", "(10 + 1)"),
    (1, "constant", "10", "(10 - 1)"),
    (5, "comparison", "<", "<="),
    (5, "comparison", "<", ">="),
    (5, "comparison", ">", "<="),
    (5, "comparison", ">", ">="),
    (5, "condition", "i < n && n > 0", "0"),
    (5, "condition", "i < n", "1"),
    (5, "condition", "n > 0", "1"),
    (5, "constant", "0", "(0 + 1)"),
    (5, "constant", "0", "(0 + 1)"),
    (5, "constant", "0", "(0 - 1)"),
    (5, "constant", "0", "(0 - 1)"),
    (6, "comparison", "==", "!="),
    (6, "condition", "i == MOST", "0"),
    (6, "condition", "i == MOST", "1"),
    (7, "return", "return MOST", ""),
    (8, "comparison", "<", "<="),
    (8, "comparison", "<", ">="),
    (8, "condition", "n < 0", "0"),
    (8, "condition", "n < 0", "1"),
    (8, "constant", "0", "(0 + 1)"),
    (8, "constant", "0", "(0 + 1)"),
    (8, "constant", "0", "(0 - 1)"),
    (8, "constant", "0", "(0 - 1)"),
]
TEST = """\
int ten(int n);
int main(void)
{
  return ten(5) != 5 || ten(-3) != 0 || ten(20) != 10;
}
"""
# What the test cannot see: numbers that it does not try, and what makes no difference.
UNSEEN = {(5, "<", "<="), (5, "0", "(0 + 1)"), (5, "0", "(0 - 1)"), (5, ">", ">="), (5, "n > 0", "1"), (8, "<", "<="),
          (8, "0", "(0 + 1)"), (8, "0", "(0 - 1)")}


def mutants_of_ten(root):
    (root / "lib").mkdir()
    (root / "lib/kv_ten.c").write_text(TEN, encoding="ascii")
    return rules.of_file(root, "lib/kv_ten.c", ["-std=c11"])


def test_the_rules_make_exactly_these_mutants(tmp_path):
    made = mutants_of_ten(tmp_path)
    assert sorted((one.line, one.rule, one.before, one.after) for one in made) == sorted(MADE)
    assert len({one.number for one in made}) == len(MADE)
    assert len({one.apply() for one in made}) == len(MADE)
    assert TEN.encode() not in {one.apply() for one in made}


def test_numbers_of_mutants_stay_when_other_lines_move(tmp_path):
    before = {one.number for one in mutants_of_ten(tmp_path)}
    (tmp_path / "lib/kv_ten.c").write_text(f"\n/* A comment. */\n{TEN}", encoding="ascii")
    assert {one.number for one in rules.of_file(tmp_path, "lib/kv_ten.c", ["-std=c11"])} == before


def test_killed_mutants_and_survivors_are_told_apart(tmp_path, monkeypatch):
    mutants = mutants_of_ten(tmp_path)
    files = {"tests/unit/test_ten.c": TEST, "cli/main.c": "int main(void) { return 0; }\n", "cli/other.c": "int o;\n",
             "pam/nothing.c": "int pam;\n", "tests/unit/testlib.c": "int testlib;\n",
             trial.MAIN: "int main(void) { return 0; }\n"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    for name in ("Makefile", "fleet", "pam/pam_keyveto.map"):
        copy = shutil.copytree if (trial.ROOT / name).is_dir() else shutil.copy
        copy(trial.ROOT / name, tmp_path / name)
    monkeypatch.setattr(trial, "ROOT", tmp_path)
    one = trial.Trial(tmp_path / "build", "unit")
    one.prepare()
    one.read()
    assert one.calls == {"test_ten": {("lib/kv_ten.c", "ten")}}
    outcomes = [(mutant, *one.try_mutant(mutant)) for mutant in mutants]
    for mutant, outcome, by in outcomes:
        unseen = (mutant.line, mutant.before, mutant.after) in UNSEEN
        assert outcome in (("killed", "survived", "same") if unseen else ("killed",)), f"{mutant}: {outcome} {by}"
    told = {(mutant.line, mutant.before, mutant.after): outcome for mutant, outcome, _ in outcomes}
    assert told[8, "<", "<="] == "same"             # 0 is 0
    assert told[5, "<", "<="] == "survived"         # a turn more that changes nothing
