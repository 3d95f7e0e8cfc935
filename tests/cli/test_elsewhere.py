# SPDX-License-Identifier: ISC
"""The commands of docs/elsewhere.md, to the letter, with the real jq, and programs in place of gh, curl and ldapsearch.

Each answers with the samples in testdata/elsewhere, by the words that it gets; the last page is empty.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from check_runs import check, objects
from program import KEYVETO, attempt, equal
from samples import empty_filter, made, write

ROOT = Path(__file__).resolve().parent.parent.parent
STEP = re.compile(r"^<!-- step: (\S+) -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEPS = dict(STEP.findall((ROOT / "docs/elsewhere.md").read_text(encoding="utf-8")))

# What is asked, and the sample that answers it, or the answer.
ANSWERS = (
    (r"gh api graphql --paginate -F org=example -f query=query.*membersWithRole.*publicKeys.*",
     "github-graphql-paginate.json"),
    (r"gh repo list example .*", "octocat/Hello-World\n"),
    (r"gh api --paginate repos/octocat/Hello-World/keys", "github-deploy-keys.json"),
    (r"gh api --paginate admin/keys", "github-enterprise-admin-keys.json"),
    (r"gh api --paginate repos/octocat/Hello-World/secret-scanning/alerts", "alerts"),
    (r"curl .* ?https://github\.com/octocat\.keys", "github-octocat.keys"),
    (r"curl .*PRIVATE-TOKEN: secret https://git\.example/api/v4/users\?per_page=100&page=1",
     '[{"id":1,"username":"john_smith","name":"John"},{"id":2,"username":"nobody"}]\n'),
    (r"curl .*https://git\.example/api/v4/users\?per_page=100&page=2", "[]"),
    (r"curl .*https://git\.example/api/v4/users/john_smith/keys\?per_page=100", "gitlab-users-keys.json"),
    (r"curl .*https://git\.example/api/v4/users/nobody/keys\?per_page=100", "[]"),
    (r"curl .*PRIVATE-TOKEN: secret https://git\.example/api/v4/deploy_keys\?per_page=100", "gitlab-deploy-keys.json"),
    (r"curl .*Authorization: token secret https://git\.example/api/v1/admin/users\?limit=50&page=1",
     '[{"id":2,"login":"gusted","email":"x","username":"gusted"}]\n'),
    (r"curl .*https://git\.example/api/v1/admin/users\?limit=50&page=2", "[]\n"),
    (r"curl .*https://git\.example/api/v1/users/gusted/keys\?limit=50", "gitea-users-keys.json"),
    *((rf"ldapsearch -LLL -x -o ldif-wrap=no -H ldap://directory -b dc=example,dc=org \({name}=\*\) {name}", sample)
      for name, sample in (("sshPublicKey", "ldapsearch.ldif"), ("ipaSshPubKey", "freeipa.ldif"),
                           ("altSecurityIdentities", "active-directory.ldif"))),
)

RSA, P256, P521, ED = "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp521", "ssh-ed25519"
PEOPLE = "ou=People,dc=example,dc=org"
# step: [(type, comment)]
WANTED = {
    "github": [(RSA, "octocat"), (ED, "octocat"), (P256, "monalisa")],
    "github-deploy": [(ED, "octocat/Hello-World"), (P256, "octocat/Hello-World")],
    "github-enterprise": [(RSA, "octocat"), (ED, "monalisa")],
    "github-plain": [(RSA, "octocat"), (P256, "octocat"), (ED, "octocat")],
    "gitlab": [(RSA, "john_smith"), (ED, "john_smith")],
    "gitlab-deploy": [(RSA, "sidney_jones/project2"), (ED, "sidney_jones/project4")],
    "gitea": [(P256, "gusted")],
    "ldap": [(RSA, f"alice@laptop uid=alice,{PEOPLE}"), (ED, f"alice@büro uid=alice,{PEOPLE}"),
             (P256, f"cn=Björn,{PEOPLE}"), (P521, "build cn=build,ou=Services,dc=example,dc=org")],
}
# The same step, of other directories: {attribute: [(type, comment)]}
DIRECTORIES = {
    "ipaSshPubKey": [(ED, "uid=jdoe,cn=users,cn=accounts,dc=ipa,dc=test"),
                     (RSA, "uid=jdoe"),
                     (P256, "fqdn=host1.ipa.test,cn=computers,cn=accounts,dc=ipa,dc=test")],
    "altSecurityIdentities": [(ED, "jane CN=Jane Doe"),
                              (RSA, "CN=Robot,OU=Staff,DC=corp,DC=example,DC=com")],
}
# sample: the types of the keys in it. Nothing in an answer hides a key.
TYPES = {
    "github-users-keys.json": [RSA, ED], "github-user-keys.json": [RSA, P256], "github-deploy-keys.json": [ED, P256],
    "github-enterprise-admin-keys.json": [RSA, ED], "github-graphql-paginate.json": [RSA, ED, P256],
    "github-octocat.keys": [RSA, P256, ED], "gitlab-keys-1.json": [RSA], "gitlab-users-keys.json": [RSA, ED],
    "gitlab-deploy-keys.json": [RSA, ED], "gitlab-john_smith.keys": [RSA, ED], "gitea-users-keys.json": [P256],
    "gitea-repos-keys.json": [P521],
}
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def answer(words):
    """What a program prints: the stand-ins below are this file."""
    asked = " ".join(words)
    for pattern, text in ANSWERS:
        if not re.fullmatch(pattern, asked, re.DOTALL):
            continue
        sample = ROOT / "testdata/elsewhere" / text
        if text == "alerts":
            text = Path(text).read_text(encoding="utf-8")
        text = sample.read_text(encoding="utf-8") if "\n" not in text and sample.is_file() else text
        if words[0] == "ldapsearch":
            text = text.replace("\n ", "")
        sys.stdout.write(text)
        return 0
    print(f"no answer for {asked}", file=sys.stderr)
    return 22


def stand_in(path, text):
    path.parent.mkdir(exist_ok=True)
    write(path, f"#!/bin/sh\n{text}\n").chmod(0o755)


def run_step(step, folder, attribute="sshPublicKey"):
    """The objects that keyveto check --all --json prints in this step."""
    for name in ("gh", "curl", "ldapsearch"):
        stand_in(folder / "bin" / name, f'exec /usr/bin/python3 "{__file__}" {name} "$@"')
    stand_in(folder / "bin" / "keyveto", f'shift; exec "{KEYVETO}" check --all --json --filter {empty_filter()} "$@"')
    (folder / "logins").write_text("octocat\n", encoding="ascii")
    done = attempt("bash", "-euo", "pipefail", "-c", STEPS[step], text=False, cwd=folder, env={
        **os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path),
        "ORG": "example", "TOKEN": "secret", "GITLAB": "https://git.example", "GITEA": "https://git.example",
        "GITHUB": "github.example", "REPO": "octocat/Hello-World", "ATTRIBUTE": attribute,
        "LDAP": "ldap://directory", "BASE": "dc=example,dc=org"})
    equal((done.returncode, done.stderr.decode().count("\n")), (0, 1), done.stderr.decode())
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


@pytest.mark.parametrize("step", WANTED)
def test_a_command_names_whose_the_keys_are(step, scratch):
    equal([(row["type"], row["comment"]) for row in run_step(step, scratch)], WANTED[step], step)


@pytest.mark.parametrize("attribute", DIRECTORIES)
def test_the_keys_of_other_directories_are_read(attribute, scratch):
    equal([(row["type"], row["comment"]) for row in run_step("ldap", scratch, attribute)], DIRECTORIES[attribute],
          attribute)


@pytest.mark.parametrize("name", TYPES)
def test_keys_in_an_answer_as_it_is_are_found(name, scratch):
    result = check("--all", "--json", write(scratch / "file", (ROOT / "testdata/elsewhere" / name).read_text("utf-8")))
    equal([row["type"] for row in objects(result)], TYPES[name], name)


def test_every_sample_is_tested():
    ldif = ["ldapsearch.ldif", "freeipa.ldif", "active-directory.ldif"]
    equal(sorted(path.name for path in (ROOT / "testdata/elsewhere").iterdir()), sorted([*TYPES, *ldif]), "samples")


# --- what scanners found: (rule of a key, of another secret) and the text of a report of (rule, secret) ---

def gitleaks(some, line):
    return json.dumps([{"RuleID": rule, "Description": "x", "StartLine": 1, "Match": f'"{secret}"', "Secret": secret,
                        "File": line, "Commit": COMMIT, "Author": line, "Message": line, "Tags": []}
                       for rule, secret in some], indent=1)


def betterleaks(some, line):
    return json.dumps([{"ruleID": rule, "description": "x", "match": secret, "secret": secret, "location": {},
                        "attributes": {"git.sha": COMMIT, "path": line, "git.message": line}} for rule, secret in some])


def trufflehog(some, line):
    """An object a line. The scanner ends each line of a key, and the last one twice."""
    return "".join(json.dumps({"SourceMetadata": {"Data": {"Git": {"commit": COMMIT, "file": line, "email": line}}},
                               "DetectorName": rule, "Raw": secret + "\n", "RawV2": "", "Redacted": secret[:64]})
                   + "\n" for rule, secret in some)


def alerts(some, line):
    return json.dumps([{"number": 1, "state": "open", "secret_type": rule, "secret": secret,
                        "first_location_detected": {"path": line, "commit_sha": COMMIT}} for rule, secret in some])


def gitlab(some, line):
    return json.dumps({"version": "15.1.4", "vulnerabilities": [
        {"category": "secret_detection", "name": rule, "raw_source_code_extract": secret,
         "location": {"file": line, "commit": {"author": line, "message": line, "sha": COMMIT}}}
        for rule, secret in some]})


SCANNERS = {
    "gitleaks": (gitleaks, "gitleaks.json", "private-key", "aws-access-token"),
    "betterleaks": (betterleaks, "betterleaks.json", "private-key", "aws-access-token"),
    "trufflehog": (trufflehog, "trufflehog.json", "PrivateKey", "AWS"),
    "github-alerts": (alerts, "alerts", "openssh_private_key", "aws_access_key_id"),
    "gitlab-report": (gitlab, "gl-secret-detection-report.json", "SSH private key", "AWS access token"),
}


@pytest.mark.parametrize("step", SCANNERS)
def test_a_command_reads_what_a_scanner_found_and_nothing_else(step, scratch):
    """Whoever commits writes the message, the name of the file and his own."""
    report, name, rule, other = SCANNERS[step]
    victim, some, wanted = made()["p384"], [], []
    for kind, words in (("ed25519", ()), ("ecdsa", ()), ("rsa", ("-m", "PEM")), ("rsa", ("-m", "PKCS8"))):
        path = scratch / f"{kind}{len(some)}"
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", path, "-t", kind, *words], check=True)
        printed = subprocess.run(["ssh-keygen", "-lf", f"{path}.pub"], check=True, capture_output=True, text=True)
        some += [(rule, path.read_text(encoding="ascii")), (other, victim.line)]
        wanted.append(printed.stdout.split()[1])
    (scratch / name).write_text(report(some, victim.line), encoding="utf-8")
    equal([row["fingerprint"] for row in run_step(step, scratch)], wanted, step)


def test_every_command_is_tested():
    """Here, or by tests/fleet."""
    equal(sorted(STEPS), sorted([*WANTED, *SCANNERS, "parallel-filter", "parallel-list", "parallel-scan"]), "steps")


if __name__ == "__main__":
    sys.exit(answer(sys.argv[1:]))
