# SPDX-License-Identifier: ISC
"""What was a word of keyveto once says what to use now."""

import pytest

from program import contains, equal, keyveto

GONE = {
    ("check", "--jobs"): "one thread reads; for many folders, printf '%s\\0' /srv/*/ | xargs -0 -n 1 -P 4 keyveto "
                         "check",
    ("scan", "--jobs"): "64 servers are asked at a time; leave it out",
    ("audit", "--deny-weak"): "keyveto audit names such keys, and keyveto deny refuses them: docs/no-secret.md has the "
                              "line that does both",
    ("audit", "--known"): "audit --logins tells of the keys of files and of DenyKey; look for any other in the log: "
                          "journalctl | grep -F SHA256:...",
    ("audit", "--since"): "keyveto-report --since compares the audits of hosts; for one host, diff two of keyveto "
                          "audit --json --all",
    ("enable", "--root"): "keyveto enable --warn at the first boot puts keyveto into a machine from an image "
                          "(docs/operations.md); keyveto check DIR/home looks into one; chroot DIR keyveto disable "
                          "takes it out of one",
}


@pytest.mark.parametrize("words, use", (
    (("sessions",), "keyveto audit --logins names the processes that are still connected; docs/drill.md says how to "
                    "end them"),
    (("filter", "diff"), "zstd --patch-from=OLD NEW -o PATCH makes a patch"),
    (("filter", "patch"), "zstd -d --long=31 --patch-from=OLD PATCH -o NEW applies a patch"),
    (("list", "diff"), "zstd --patch-from=OLD NEW -o PATCH makes a patch; diff <(xxd -p -c 16 OLD) <(xxd -p -c 16 NEW) "
                       "shows the records"),
    (("list", "patch"), "zstd -d --long=31 --patch-from=OLD PATCH -o NEW applies a patch"),
    (("report",), "keyveto-report, of the package keyveto-fleet, joins the audits of hosts"),
    (("proof", "make"), "fleet/prove_leak.py makes such a proof; docs/drill.md says how"),))
def test_a_command_that_is_gone_says_what_to_use(words, use):
    for more in ((), ("--force", "x"), ("--help",)):
        equal(keyveto(*words, *more, status=2).stderr, f"keyveto: {' '.join(words)} is gone: {use}\n")


@pytest.mark.parametrize("command, word", GONE, ids=map(" ".join, GONE))
def test_an_option_that_is_gone_says_what_to_use(command, word):
    """Wherever it stands, and whatever goes with it, also in a unit that was copied."""
    for words in ((word,), ("--quiet", word), (word, "--yes"), (f"{word}=yes",), (word, "x", "--logins")):
        done = keyveto(command, *words, status=2)
        equal(done.stdout, "")
        equal(done.stderr, f"keyveto: {command} {word} is gone: {GONE[command, word]}\n")
    # It is none of another command, none behind the options, nor the beginning of another word.
    contains(keyveto("spki", word, status=2).stderr, f"bad option {word}")
    said = {"check": "--jobs: No such file", "scan": "--jobs:"}.get(command, f"takes no argument {word}")
    contains(keyveto(command, "--", word, status=2).stderr, said)
    contains(keyveto(command, f"{word}er", status=2).stderr, f"bad option {word}er")
