# SPDX-License-Identifier: ISC
"""The commands of docs/elsewhere.md, to the letter, with programs in place of gh, curl and ldapsearch.

Each answers with the samples in testdata/elsewhere, by the words that it gets; the last page is empty.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from program import KEYVETO, PATIENCE, equal
from samples import empty_filter

ROOT = Path(__file__).resolve().parent.parent.parent
STEP = re.compile(r"^<!-- step: (\S+) -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEPS = dict(STEP.findall((ROOT / "docs/elsewhere.md").read_text(encoding="utf-8")))

# What is asked, and the sample that answers it, or the answer.
ANSWERS = (
    (r"gh api graphql --paginate -F org=example -f query=query.*membersWithRole.*publicKeys.*",
     "github-graphql-paginate.json"),
    (r"gh repo list example .*", "octocat/Hello-World\n"),
    (r"gh api --paginate repos/octocat/Hello-World/keys --jq map\(.login = \"octocat/Hello-World\"\)",
     "github-deploy-keys.json"),
    (r"curl .* ?https://github\.com/octocat\.keys", "github-octocat.keys"),
    (r"curl .*PRIVATE-TOKEN: secret https://git\.example/api/v4/users\?per_page=100&page=1",
     '[{"id":1,"username":"john_smith","name":"John"},{"id":2,"username":"nobody"}]'),
    (r"curl .*https://git\.example/api/v4/users\?per_page=100&page=2", "[]"),
    (r"curl .*https://git\.example/api/v4/users/john_smith/keys\?per_page=100", "gitlab-users-keys.json"),
    (r"curl .*https://git\.example/api/v4/users/nobody/keys\?per_page=100", "[]"),
    (r"curl .*PRIVATE-TOKEN: secret https://git\.example/api/v4/deploy_keys\?per_page=100", "gitlab-deploy-keys.json"),
    (r"curl .*Authorization: token secret https://git\.example/api/v1/admin/users\?limit=50&page=1",
     '[{"id":2,"login":"gusted","email":"x","username":"gusted"}]\n'),
    (r"curl .*https://git\.example/api/v1/admin/users\?limit=50&page=2", "[]\n"),
    (r"curl .*https://git\.example/api/v1/users/gusted/keys\?limit=50", "gitea-users-keys.json"),
    (r"ldapsearch -LLL -x -o ldif-wrap=no -H ldap://directory -b dc=example,dc=org "
     r"\(sshPublicKey=\*\) uid sshPublicKey",
     "ldapsearch.ldif"),
)

# step: [(type, owner, comment)]
WANTED = {
    "github": [("ssh-rsa", "octocat", ""), ("ssh-ed25519", "octocat", ""), ("ecdsa-sha2-nistp256", "monalisa", "")],
    "github-deploy": [("ssh-ed25519", "octocat/Hello-World", ""), ("ecdsa-sha2-nistp256", "octocat/Hello-World", "")],
    "github-plain": [("ssh-rsa", None, "octocat"), ("ecdsa-sha2-nistp256", None, "octocat"),
                     ("ssh-ed25519", None, "octocat")],
    "gitlab": [("ssh-rsa", "john_smith", ""), ("ssh-ed25519", "john_smith", "")],
    "gitlab-deploy": [("ssh-rsa", "sidney_jones/project2", ""), ("ssh-ed25519", "sidney_jones/project4", "")],
    "gitea": [("ecdsa-sha2-nistp256", "gusted", "")],
    "ldap": [("ssh-rsa", "alice", "alice@laptop"), ("ssh-ed25519", "alice", "alice@büro"),
             ("ecdsa-sha2-nistp256", "bjoern", ""),
             ("ecdsa-sha2-nistp521", "cn=build,ou=Services,dc=example,dc=org", "build")],
}


def answer(words):
    """What a program prints: the stand-ins below are this file."""
    asked = " ".join(words)
    for pattern, text in ANSWERS:
        if not re.fullmatch(pattern, asked, re.DOTALL):
            continue
        sample = ROOT / "testdata/elsewhere" / text
        text = sample.read_text(encoding="utf-8") if "\n" not in text and sample.is_file() else text
        changed = re.search(r"map\(\.login = \"(.*)\"\)", asked)
        if changed:
            text = json.dumps([{**row, "login": changed[1]} for row in json.loads(text)])
        sys.stdout.write(text)
        return 0
    print(f"no answer for {asked}", file=sys.stderr)
    return 22


def stand_in(path, text):
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
    path.chmod(0o755)


@pytest.mark.parametrize("step", WANTED)
def test_a_command_tells_the_owners_of_keys(step, scratch):
    for name in ("gh", "curl", "ldapsearch"):
        stand_in(scratch / "bin" / name, f'exec /usr/bin/python3 "{__file__}" {name} "$@"')
    stand_in(scratch / "bin" / "keyveto", f'shift; exec "{KEYVETO}" check --all --json --filter {empty_filter()} "$@"')
    (scratch / "logins").write_text("octocat\n", encoding="ascii")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", STEPS[step]], cwd=scratch, capture_output=True, timeout=PATIENCE,
        check=False, stdin=subprocess.DEVNULL, env={
            **os.environ, "PATH": f"{scratch}/bin:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path),
            "ORG": "example", "TOKEN": "secret", "GITLAB": "https://git.example", "GITEA": "https://git.example",
            "LDAP": "ldap://directory", "BASE": "dc=example,dc=org"})
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    equal([(row["type"], row.get("owner"), row["comment"]) for row in rows], WANTED[step], done.stderr.decode())
    equal((done.returncode, done.stderr.decode().count("\n")), (0, 1), done.stderr.decode())


def test_every_command_is_tested():
    """Here, or by tests/fleet."""
    equal(sorted(STEPS), sorted([*WANTED, "parallel-filter", "parallel-list", "parallel-scan"]), "steps")


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:]))
