# SPDX-License-Identifier: ISC
"""What secret scanners and forges report, with ssh-keygen's fingerprints of the keys in it beside keyveto's."""

import base64
import gzip
import json
import os
import re
import subprocess

import pytest

import keys
from check_runs import check
from list_runs import keyveto_list, oracle_list
from program import KEYVETO, PATIENCE, contains, equal, keyveto
from runs import findings
from samples import write

COMMIT = "0123456789abcdef0123456789abcdef01234567"
AWS = "AKIAIOSFODNN7EXAMPLE"


def ssh(folder, name, *options):
    """A private key of ssh-keygen: its text, and the fingerprint that ssh-keygen prints."""
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-f", path, "-C", "c", *options], check=True, stdin=subprocess.DEVNULL)
    printed = subprocess.run(["ssh-keygen", "-lf", f"{path}.pub"], check=True, capture_output=True, text=True).stdout
    return path.read_text(), printed.split()[1]


@pytest.fixture(scope="module", name="leaked")
def fixture_leaked(tmp_path_factory):
    """Private keys by their names: (text, fingerprint)."""
    folder = tmp_path_factory.mktemp("leaked")
    return {"ed25519": ssh(folder, "ed25519", "-t", "ed25519", "-N", ""),
            "ecdsa": ssh(folder, "ecdsa", "-t", "ecdsa", "-N", "passphrase"),
            "rsa": ssh(folder, "rsa", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", ""),
            "pkcs8": ssh(folder, "pkcs8", "-t", "rsa", "-b", "2048", "-m", "PKCS8", "-N", "")}


# --- the forms: each gives the text of a report with these (rule, secret, file, line) ---

def gitleaks(some, **more):
    return json.dumps([{"RuleID": rule, "Description": "x", "StartLine": line, "EndLine": line, "StartColumn": 1,
                        "EndColumn": 2, "Match": f'"{secret}"', "Secret": secret, "File": file, "SymlinkFile": "",
                        "Commit": COMMIT, "Entropy": 5.9, "Author": "A", "Date": "2026-01-01T00:00:00Z",
                        "Message": "x", "Tags": [], "Fingerprint": f"{COMMIT}:{file}:{rule}:{line}", **more}
                       for rule, secret, file, line in some], indent=1)


def gitleaks_old(some):
    """RuleID comes behind the secret and the message."""
    return json.dumps([{"Description": "x", "StartLine": line, "Match": secret, "Secret": secret, "File": file,
                        "Commit": COMMIT, "Message": "x", "Tags": [], "RuleID": rule}
                       for rule, secret, file, line in some])


def betterleaks(some):
    return json.dumps([{"ruleID": rule, "description": "x", "confidence": "high", "match": secret, "secret": secret,
                        "attributes": {"git.sha": COMMIT, "path": file, "git.message": "x"},
                        "location": {"startLine": line, "endLine": line}, "tags": []}
                       for rule, secret, file, line in some], indent=2)


def trufflehog(some, message="x"):
    """An object a line. The scanner ends each line of a key, and the last one twice."""
    return "".join(json.dumps({"SourceMetadata": {"Data": {"Git": {
        "commit": COMMIT, "file": file, "email": message, "repository": "https://example.org/r", "line": line}}},
        "SourceID": 1, "SourceType": 16, "SourceName": "trufflehog - git", "DetectorType": 15, "DetectorName": rule,
        "DecoderName": "PLAIN", "Verified": False, "Raw": secret + "\n", "RawV2": "", "Redacted": secret[:64],
        "ExtraData": None, "StructuredData": None}) + "\n" for rule, secret, file, line in some)


def github(some):
    return json.dumps([{"number": number, "url": "https://api.example.org/1", "html_url": "https://example.org/1",
                        "locations_url": "https://api.example.org/1/locations", "state": "open", "resolution": None,
                        "secret_type": rule, "secret_type_display_name": "x", "secret": secret,
                        "first_location_detected": {"path": file, "start_line": line, "end_line": line,
                                                    "blob_sha": "f" * 40, "commit_sha": COMMIT},
                        "has_more_locations": False}
                       for number, (rule, secret, file, line) in enumerate(some)])


def gitlab(some):
    return json.dumps({"version": "15.1.4", "vulnerabilities": [
        {"id": "1", "category": "secret_detection", "name": rule, "description": "x", "severity": "Critical",
         "raw_source_code_extract": secret, "scanner": {"id": "gitleaks", "name": "Gitleaks"},
         "location": {"file": file, "commit": {"author": "A", "message": "x", "sha": COMMIT}, "start_line": line},
         "identifiers": [{"type": "gitleaks_rule_id", "name": "Gitleaks rule ID x", "value": "x"}]}
        for rule, secret, file, line in some], "scan": {"type": "secret_detection", "status": "success"}})


FORMS = {form.__name__: form for form in (gitleaks, gitleaks_old, betterleaks, trufflehog, github, gitlab)}


def place(rule, file, line):
    return f"{rule} at {file}:{line}, commit {COMMIT[:12]}"


def rows(leaked):
    """Findings: those of the keys, and two of other secrets."""
    some = [("private-key", text, f"deploy/{name}", number)
            for number, (name, (text, _)) in enumerate(leaked.items(), 7)]
    return [some[0], ("aws-access-token", AWS, "env", 3), *some[1:], ("aws-access-token", AWS, "env", 4)]


def expected(leaked):
    return [(leaked[name][1], place("private-key", f"deploy/{name}", number))
            for number, name in enumerate(leaked, 7)]


def fingerprints_of(config):
    return dict(re.findall(r"^DenyKey (\S+) ?(.*)$", config.read_text(), re.MULTILINE))


def deny(config, *words, status=0, **more):
    return keyveto("deny", "--config", config, *words, status=status, **more)


# --- the keys ---

@pytest.mark.parametrize("form", FORMS)
def test_each_key_is_one_key_with_its_place(scratch, leaked, form):
    """In a file, in a pipe, and packed. Findings that are no SSH keys are counted."""
    text = FORMS[form](rows(leaked))
    path, packed = write(scratch / "report.json", text), scratch / "report.json.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for words, shown, given in (([path], path, b""), ([], "-", text.encode()), ([packed], packed, b"")):
        result = check("--all", *words, status=0, stdin=given)
        equal([(one.fingerprint, one.rest) for one in findings(result, shown)], expected(leaked), form)
        contains(result.err.decode(), f"keyveto: {shown}: 2 findings are no SSH keys\n", "4 keys in 1 file")
    found = [json.loads(line) for line in check("--all", "--json", path, status=0).out.splitlines()]
    equal([(one["fingerprint"], one["comment"]) for one in found], expected(leaked))


@pytest.mark.parametrize("form", FORMS)
def test_deny_and_lists_have_the_keys(scratch, leaked, form):
    path = write(scratch / "report.json", FORMS[form](rows(leaked)))
    config = write(scratch / "keyveto.conf", "OnHit deny\n")
    note = f"keyveto: note: {path}: 2 findings are no SSH keys\n"
    contains(deny(config, path).stderr, note)
    equal(fingerprints_of(config), dict(expected(leaked)))
    # A reason that is given counts more. The same file takes the lines out.
    deny(config, path, "incident", "7")
    equal(fingerprints_of(config), {fingerprint: "incident 7" for _, fingerprint in leaked.values()})
    deny(config, "--remove", path)
    equal(config.read_text(), "OnHit deny\n")
    lines = []
    for name, (text, _) in leaked.items():
        private = write(scratch / name, text)
        private.chmod(0o600)
        lines.append(subprocess.run(["ssh-keygen", "-y", "-P", "passphrase" if name == "ecdsa" else "", "-f", private],
                                    check=True, capture_output=True, text=True).stdout)
    _, messages = keyveto_list("create", scratch / "l", path)
    contains("\n".join(messages), "2 findings are no SSH keys", "4 added")
    equal((scratch / "l").read_bytes(), oracle_list(lines))
    filters = scratch / "f"
    keyveto("filter", "create", filters, "--hashes", 10, "--length", 20, status=0)
    contains(keyveto("filter", "add", filters, path, status=0).stderr, note, "added")
    equal(len(findings(check(path, filters=[filters], status=1), path)), 4)


def backwards(pairs):
    return dict(reversed(pairs))


# jq -S sorts the members of each object, and other programs have an order of their own.
ORDERS = {"as it is": lambda one: one, "sorted": lambda one: json.dumps(json.loads(one), sort_keys=True),
          "backwards": lambda one: json.dumps(json.loads(one, object_pairs_hook=backwards))}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_keys_that_others_wrote_into_a_report_do_not_count(scratch, leaked, order):
    """Whoever commits writes the message, the name of the file and his own: not what was found."""
    victim = keys.generate(scratch).key
    line = f"{victim} {victim.fingerprint}"
    secret = leaked["ed25519"][0]
    row = [("private-key", secret, "k", 1)]
    huge = line + "x" * (5 << 20)
    project = {"repository": {"full_name": "o/r", "owner": {"login": "o", "bio": line}, "description": line}}
    reports = {"message": gitleaks(row, Message=line), "author": gitleaks(row, Author=line, Email=line, Date=line),
               "name": gitleaks(row, **{line: "x", "Tags": [line, {"owner": "me", "key": line}]}),
               "huge": gitleaks(row, Message=huge), "file": gitleaks([("private-key", secret, line, 1)]),
               "email": trufflehog(row, line), "huge email": trufflehog(row, huge),
               "truffle file": trufflehog([("PrivateKey", secret, line, 1)]),
               "path": github([("rsa_private_key", secret, line, 1)]),
               "repository": github(row).replace('"state"', f"{json.dumps(project)[1:-1]}, \"state\""),
               "commit": gitlab(row).replace('"message": "x"', f'"message": "{line}"')}
    for name, text in reports.items():
        if "huge" not in name:
            text = "\n".join(map(order, text.splitlines())) if name in ("email", "truffle file") else order(text)
        path = write(scratch / f"{name}.json", text)
        config = write(scratch / "keyveto.conf", "OnHit deny\n")
        deny(config, path)
        equal(list(fingerprints_of(config)), [leaked["ed25519"][1]], name)
        equal([one.fingerprint for one in findings(check("--all", path, status=0), path)], [leaked["ed25519"][1]], name)


def test_a_key_that_is_cut_or_left_out_is_named(scratch, leaked):
    secret = leaked["ed25519"][0]
    first = secret.splitlines()[0]
    part = "the report has only a part of the key: run this command with all of it, as 'git show COMMIT:FILE' prints it"
    none = "the report does not have the key: have the scanner write it, or run this command with the key"
    config = write(scratch / "keyveto.conf", "OnHit deny\n")
    for form, rule, text, reason in (("gitlab", "SSH private key", first, part),
                                     ("gitleaks", "private-key", first, part),
                                     ("gitleaks", "private-key", secret[:200] + "...", part),
                                     ("gitleaks", "private-key", "REDACTED", none),
                                     ("github", "openssh_private_key", None, none)):
        made = [("x", AWS, "a", 1), (rule, text, "deploy/k", 3), ("private-key", leaked["rsa"][0], "r", 4)]
        if text is None:
            report = github([(rule, "x", file, line) if value is None else (rule_, value, file, line)
                             for rule_, value, file, line in made]).replace('"secret": "x"', '"secret": null')
        else:
            report = FORMS[form](made)
        path = write(scratch / "report", report)
        for done in (check("--all", path, status=2), deny(config, path, status=2)):
            err = done.stderr if isinstance(done, subprocess.CompletedProcess) else done.err.decode()
            assert re.search(rf"^keyveto: {path}:\d+: finding 2 \({re.escape(place(rule, 'deploy/k', 3))}\): "
                             rf"{re.escape(reason)}$", err, re.MULTILINE), err
    equal(config.read_text(), "OnHit deny\n")
    # The rest of a report is added all the same.
    _, messages = keyveto_list("create", scratch / "l", path, status=2)
    contains("\n".join(messages), none, "1 added")


def test_other_findings_are_no_problem(scratch):
    pgp = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdGBGaaaaaaaaaa\n=aaaa\n-----END PGP PRIVATE KEY BLOCK-----\n"
    digest = "SHA256:" + "a" * 64
    path = write(scratch / "r", gitleaks([("aws", AWS, "a", 1), ("pgp-private-key", pgp, "b", 2),
                                          ("x", digest, "c", 3)]))
    equal(check(path, status=0).messages[0], f"keyveto: {path}: 3 findings are no SSH keys")
    path = write(scratch / "r", gitleaks([("aws", AWS, "a", 1)]))
    equal(check(path, status=0).messages[0], f"keyveto: {path}: 1 finding is no SSH key")
    config = write(scratch / "keyveto.conf", "OnHit deny\n")
    contains(deny(config, path, status=2).stderr, f"{path}: no SSH key and no fingerprint in it")


def test_fingerprints_become_deny_lines(scratch, leaked):
    """A list needs the key itself, and says who does not. Half a fingerprint is none."""
    some = [keys.generate(scratch).key.fingerprint for _ in range(20)]
    text = gitlab([("SSH key", f"uses {one} here", "f", number) for number, one in enumerate(some)] +
                  [("SSH key", "SHA256:abc", "g", 1), ("private-key", leaked["rsa"][0], "h", 2)])
    path, config = write(scratch / "r", text.replace("/", "\\/")), write(scratch / "keyveto.conf", "OnHit deny\n")
    deny(config, path)
    reasons = {one: place("SSH key", "f", number) for number, one in enumerate(some)}
    equal(fingerprints_of(config), {**reasons, leaked["rsa"][1]: place("private-key", "h", 2)})
    deny(config, "--remove", path)
    equal(config.read_text(), "OnHit deny\n")
    alone = "names a key by its fingerprint alone: 'keyveto deny FILE' refuses it"
    _, messages = keyveto_list("create", scratch / "l", path, status=2)
    equal(messages[:-2], [f"{path}:1: finding {n} ({one}): {alone}" for n, one in enumerate(reasons.values(), 1)])
    equal(len([line for line in check(path, status=2).messages if alone in line]), 20)


def test_a_log_in_json_still_has_fingerprints(scratch):
    one = keys.generate(scratch).key
    path = write(scratch / "log", json.dumps({"MESSAGE": f"Accepted publickey {one.fingerprint}"}) + "\n")
    config = write(scratch / "keyveto.conf", "OnHit deny\n")
    deny(config, path)
    equal(fingerprints_of(config), {one.fingerprint: ""})


# --- what is hostile ---

def test_json_of_another_form_is_named(scratch):
    forms = "no key in this JSON, and it is no report of gitleaks, betterleaks, TruffleHog, GitHub or GitLab"
    config = write(scratch / "keyveto.conf", "OnHit deny\n")
    for number, text in enumerate(('{"secret": "x", "rule": "y"}', '[{"type": "commit", "details": {"path": "x"}}]',
                                   "[1]\n")):
        path = write(scratch / str(number), text)
        equal(check(path, status=2).problems, [f"{path}: {forms}"], text)
        contains(deny(config, path, status=2).stderr, f"keyveto: {path}: {forms}\n")


@pytest.mark.parametrize("hides", ('"source_metadata": {"key": "KEY"}', '"SourceMetadata": [{"x": {"KEY": 1}}]',
                                   '"match": "x", "secret": "y", "key": "KEY"'))
def test_a_member_with_a_scanners_name_hides_no_key(scratch, hides):
    """An object is a finding if it has all members of one."""
    key, other = keys.generate(scratch).key, keys.generate(scratch).key
    text = '[{"name": "a", "key": "%s"}, {"name": "b", %s}]' % (other, hides.replace("KEY", str(key)))
    path = write(scratch / "hosts.json", text)
    equal({one.fingerprint for one in findings(check("--all", path, status=0), path)},
          {key.fingerprint, other.fingerprint})


def test_hostile_reports_give_their_keys_and_no_more(scratch, leaked):
    secret, fingerprint = leaked["ed25519"]
    row = ("private-key", secret, "k", 1)
    good = json.dumps(json.loads(gitleaks([row]))[0])
    twice = good[:-1] + ', "RuleID": "b\\u001b[2J\\n", "File": "\\ud800\\u0000\xff", "Commit": "\\u202e"}'
    lines = trufflehog([("PrivateKey", secret, "k", 1)])
    cases = {"surrogate": (twice, 1, 0), "lines": ("garbage\n" + lines + "{\"level\":\n" + "}{\n" + lines, 2, None),
             "deep": ("[" * 90 + good + "]" * 90, 1, 0), "too deep": ("[" * 200 + good + "]" * 200, 2, None),
             "open": ("[" + good + ",", 1, 0), "many": ("[" + ",".join([good] * 500) + "]", 500, 0),
             "bom": ("\ufeff[" + good + "]", 1, 0), "nul": (good.replace('"Tags"', '"\0": 1, "Tags"'), 2, None),
             "huge": (good[:-1] + ', "x": "' + "y" * (3 << 20) + '"}', 1, None),
             "number": (good[:-1] + ', "StartLine": ' + "9" * 5000 + "}", 1, 0)}
    for name, (text, count, status) in cases.items():
        path = write(scratch / "r", text)
        result = check("--all", path, status=status)
        equal({one.fingerprint for one in findings(result, path)}, {fingerprint}, name)
        equal(len(findings(result, path)), count, name)
        config = write(scratch / "keyveto.conf", "OnHit deny\n")
        keyveto("deny", "--config", config, path)
        assert re.fullmatch(r"OnHit deny\n(DenyKey SHA256:\S+( [^\x00-\x1f]*)?\n)?", config.read_text()), name


# --- the private halves ---

def secrets_of(leaked):
    """Parts of each private key that only its private half has, in base64 and as bytes."""
    parts = []
    for text, _ in leaked.values():
        body = [line for line in text.splitlines() if line and not line.startswith("-") and ":" not in line]
        parts += [line.encode() for line in body[-5:-1]] + [base64.b64decode("".join(body))[-150:-60]]
    return parts


@pytest.mark.parametrize("form", FORMS)
def test_no_byte_of_a_private_key_is_written(scratch, leaked, form):
    """To no file, pipe, socket or message, but into the memory of the process that reads it."""
    path = write(scratch / "report", FORMS[form](rows(leaked)))
    config = write(scratch / "keyveto.conf", "OnHit deny\n")
    keyveto("filter", "create", scratch / "f", "--hashes", 10, "--length", 20, status=0)
    secrets = secrets_of(leaked)
    for words, piped in ((("check", "--all", "--filter", scratch / "f", path), False),
                         (("deny", "--config", config, path), False), (("filter", "add", scratch / "f", path), False),
                         (("list", "create", scratch / "l", path), False),
                         (("check", "--filter", scratch / "f"), True)):
        log = scratch / "log"
        done = subprocess.run(["strace", "-ff", "-qq", "-xx", "-s", "1000000", "-e",
                               "trace=write,writev,pwrite64,sendmsg,sendto,sendmmsg", "-o", log, KEYVETO,
                               *map(str, words)], input=path.read_bytes() if piped else b"", capture_output=True,
                              check=False, timeout=PATIENCE)
        assert done.returncode in (0, 1), done
        written = b"".join(
            bytes.fromhex(one.replace("\\x", "")) for log_file in scratch.glob("log.*")
            for one in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', log_file.read_text()))
        assert len(written) > 100 and all(part not in written for part in secrets), words
        for part in secrets:
            assert part not in done.stdout + done.stderr, words
    for file in scratch.iterdir():
        if file != path and not file.name.startswith("log"):
            assert not any(part in file.read_bytes() for part in secrets), file
    assert not [name for name in os.listdir("/tmp") if name.startswith("core")]
