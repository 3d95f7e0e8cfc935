# SPDX-License-Identifier: ISC
"""keyveto check: whose the keys are, in the JSON of Git forges and the LDIF of directories."""

import base64
import functools
import gzip
import json
import random
import re
from pathlib import Path

import check_runs
import pytest
import sshkey
from check_runs import check, started
from program import KEYVETO, PATIENCE, equal
from runs import JSON_KEYS
from samples import MIB, certificate, empty_filter, every_key, listing, made, random_blob, write

inside = functools.cache(check_runs.inside)
SAMPLES = Path(__file__).resolve().parent.parent.parent / "testdata" / "elsewhere"


def objects(result):
    """The JSON objects of a run. Fails if one has other members than it should."""
    found = [json.loads(line) for line in result.out.decode("ascii").splitlines()]
    for row in found:
        more = list(row)[len(JSON_KEYS):]
        equal(list(row)[:len(JSON_KEYS)], JSON_KEYS, "members")
        assert more in ([], ["owner"], ["owner", "dn"]), row
    return found


def owners(*words, **more):
    """(fingerprint, owner, dn) of each key."""
    result = check("--all", "--json", *words, **more)
    return [(row["fingerprint"], row.get("owner"), row.get("dn")) for row in objects(result) if row["fingerprint"]]


# --- a second implementation of the rule in keys/owner.h, over Python's own JSON ---

BEST = ("login", "username", "samaccountname", "uid", "user", "owner", "account", "/person", "addedby", "/project",
        "email", "mail")
OF_KEY = ("pathwithnamespace", "fullname", "displayname", "name", "nickname")
TITLES = ("title", "label", "keyname")
PERSONS = ("user", "owner", "account", "member", "creator")
PROJECTS = ("repository", "project", "projectswithwriteaccess", "projectswithreadonlyaccess")


class Object(list):
    """An object: a list of its members. Names may occur more than once."""


def plain(name):
    return re.sub("[_-]", "", "".join(char.lower() if char.isascii() else char for char in name))


def elements(value):
    """The objects in an array, and in arrays in it."""
    if isinstance(value, Object):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from elements(each)


def names(members, project=False):
    """{what says it: the name} of an object."""
    found = {}
    for name, value in members:
        name = plain(name)
        if isinstance(value, str) and value and not inside(value):
            if project and name in OF_KEY[:2]:
                found["login"] = value
            elif name in BEST + OF_KEY or (name in TITLES and " AAAA" not in value):
                found[name] = value
        kind = "/person" if name in PERSONS else "/project" if name in PROJECTS else None
        for each in elements(value) if kind else ():
            inner = best(names(each, kind == "/project"), BEST + OF_KEY)
            if inner and (kind == "/person" or kind not in found):
                found[kind] = inner
    return found


def best(found, order):
    return next((found[name] for name in order if name in found), None)


def owner_of(around, direct):
    """The owner of a key; around: the objects around it and whether each is a project, nearest first."""
    title = None
    for members, project in around:
        found = names(members, project)
        owner = best(found, BEST if direct else BEST + OF_KEY)
        if owner:
            return owner
        title = title or (best(found, OF_KEY) if direct and best(found, OF_KEY) else best(found, TITLES))
        direct = False
    return title


def walk(value, around=(), direct=False, project=False):
    """(fingerprint, owner) of each key, in order."""
    if isinstance(value, Object):
        around = ((value, project), *around)
        for name, member in value:
            for each in inside(name):
                yield each, owner_of(around, True)
            yield from walk(member, around, True, plain(name) in PROJECTS)
    elif isinstance(value, list):
        for each in value:
            yield from walk(each, around, False, project)
    elif isinstance(value, str):
        for each in inside(value):
            yield each, owner_of(around, direct)


def documents(text):
    """The values in a text, one after the other."""
    decoder = json.JSONDecoder(object_pairs_hook=Object)
    at = 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        value, at = decoder.raw_decode(text, at)
        yield value


def cut(name):
    """As a long name is shown."""
    data = name.encode()
    return name if len(data) <= 256 else data[:253].decode(errors="ignore") + "..."


def wanted(text):
    return [(key, owner and cut(owner)) for value in documents(text) for key, owner in walk(value)]


NAMES = ("login", "username", "userName", "user_name", "UserName", "uid", "sAMAccountName", "user", "owner", "account",
         "member", "creator", "added_by", "repository", "project", "projects_with_write_access", "email", "mail",
         "full_name", "path_with_namespace", "displayName", "name", "nickname", "title", "label", "key-name", "key",
         "id", "keys", "nodes", "publicKeys", "data", "x" * 40, "")
TEXTS = ("alice", "Björn Ö", "a\nb\x1b[31m", "\0", "x" * 256, "é" * 127 + "abc", "é" * 200, 'q"\\/', "ssh-rsa AAAAB3Nz",
         "\U0001f511", "[", "{}", "]}", "https://example.org/%41?a=b&amp;c=d")


def random_value(rnd, keys, depth):
    kind = rnd.randrange(10 if depth < 6 else 4)
    if kind < 2:
        return rnd.choice(TEXTS)
    if kind < 3:
        return rnd.choice(keys) + rnd.choice(("", " c"))
    if kind < 4:
        return rnd.choice((None, True, False, 0, -1.5e-7, 10**20, []))
    if kind < 6:
        return [random_value(rnd, keys, depth + 1) for _ in range(rnd.randrange(4))]
    return random_object(rnd, keys, depth)


def random_object(rnd, keys, depth=0):
    names = list(NAMES) if rnd.randrange(4) else [*NAMES, rnd.choice(keys)]
    return Object((rnd.choice(names), random_value(rnd, keys, depth + 1)) for _ in range(rnd.randrange(7)))


def dumped(rnd, value, indent, level=0):
    """JSON of a value, with names that occur twice, in a style of its own."""
    gap = "\n" + " " * indent * (level + 1) if indent else ""
    end = gap[:1] + gap[1:][indent:]

    def text(string):
        out = json.dumps(string, ensure_ascii=bool(rnd.randrange(2)))
        return out.replace("/", "\\/") if rnd.randrange(2) else out
    if isinstance(value, Object):
        colon = rnd.choice((":", ": ", " :\t"))
        return "{" + ",".join(gap + text(name) + colon + dumped(rnd, member, indent, level + 1)
                              for name, member in value) + (end if value else "") + "}"
    if isinstance(value, list):
        inner = ",".join(gap + dumped(rnd, each, indent, level + 1) for each in value)
        return "[" + inner + (end if value else "") + "]"
    return text(value) if isinstance(value, str) else json.dumps(value)


def random_keys(rnd, count):
    keys = list(every_key().values())
    return [rnd.choice((rnd.choice(keys).plain, sshkey.key_line(random_blob(rnd)))) for _ in range(count)]


def some_documents(rnd, keys):
    """A text of JSON values, one after the other."""
    indent = rnd.choice((0, 0, 1, 2))
    parts = []
    for _ in range(rnd.choice((1, 1, 2, 5))):
        value = random_object(rnd, keys) if rnd.randrange(2) else [random_object(rnd, keys) for _ in range(3)]
        parts.append(dumped(rnd, value, indent))
    return rnd.choice(("", "\n", "\r\n", " ", "\n\n")).join(parts) + rnd.choice(("", "\n"))


@pytest.mark.long
def test_owners_in_json_are_those_of_a_second_reader(scratch):
    """250 texts of objects in objects, with names in every place, twice, escaped, huge and hostile."""
    seen = set()
    for seed in range(250):
        rnd = random.Random(seed)
        text = some_documents(rnd, random_keys(rnd, 4))
        path = write(scratch / "file", text)
        for words, stdin in (([path], b""), (["-"], gzip.compress(text.encode()))):
            result = owners(*words, stdin=stdin)
            equal([(key, owner) for key, owner, _ in result], wanted(text), f"seed {seed}: {text}")
        seen |= {owner for _, owner in wanted(text)}
    assert len(seen) > 10, seen


@pytest.mark.long
def test_keys_are_the_same_with_and_without_their_owners(scratch):
    """What a text of JSON lacks at its end, or has in excess, hides no key."""
    for seed in range(80):
        rnd = random.Random(seed)
        text = some_documents(rnd, random_keys(rnd, 4))
        for damaged in (text[:rnd.randrange(len(text) + 1)], text.replace(",", rnd.choice((",,", ";", ",\n#\n")), 1),
                        "x\n" + text, text + "\nssh-rsa\n" + text, "[" * rnd.choice((1, 99, 101)) + text):
            kept = [key.fingerprint for key in every_key().values()]
            found = [key for key, _, _ in owners(write(scratch / "file", damaged)) if key in kept]
            equal(sorted(found), sorted(key for key in inside(damaged.replace("\\/", "/").replace("\\u0026", "&"))
                                        if key in kept), f"seed {seed}: {damaged}")


# --- answers of the APIs ---

def sample(name):
    """(type, comment, owner, dn) of the keys in a sample."""
    return [(row["type"], row["comment"], row.get("owner"), row.get("dn"))
            for row in objects(check("--all", "--json", SAMPLES / name, status=0))]


RSA, P256, P521, ED = "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp521", "ssh-ed25519"
ALICE = "uid=alice,ou=People,dc=example,dc=org"
# The answers as the forges' documentation shows them, with keys of ssh-keygen.
ANSWERS = {
    "github-users-keys.json": [(RSA, "", None, None), (ED, "", None, None)],
    "github-user-keys.json": [(RSA, "", None, None), (P256, "", "octocat's laptop", None)],
    "github-deploy-keys.json": [(ED, "", "octocat", None), (P256, "", "build", None)],
    "github-enterprise-admin-keys.json": [(RSA, "", "octocat", None), (ED, "", "monalisa", None)],
    "github-graphql-paginate.json": [(RSA, "", "octocat", None), (ED, "", "octocat", None),
                                     (P256, "", "monalisa", None)],
    "github-octocat.keys": [(RSA, "", None, None), (P256, "", None, None), (ED, "", None, None)],
    "gitlab-keys-1.json": [(RSA, "", "john_smith", None)],
    "gitlab-users-keys.json": [(RSA, "", "Public key", None), (ED, "", "Another Public key", None)],
    "gitlab-deploy-keys.json": [(RSA, "", "sidney_jones/project2", None), (ED, "", "sidney_jones/project4", None)],
    "gitlab-john_smith.keys": [(RSA, "John Smith (gitlab.example.com)", None, None),
                               (ED, "John Smith (gitlab.example.com)", None, None)],
    "gitea-users-keys.json": [(P256, "", "gusted", None)],
    "gitea-repos-keys.json": [(P521, "", "infra/site", None)],
    "ldapsearch.ldif": [(RSA, "alice@laptop", "alice", ALICE), (ED, "alice@büro", "alice", ALICE),
                        (P256, "", "bjoern", "cn=Björn,ou=People,dc=example,dc=org"),
                        (P521, "build", "cn=build,ou=Services,dc=example,dc=org",
                         "cn=build,ou=Services,dc=example,dc=org")],
    "freeipa.ldif": [(ED, "", "jdoe", "uid=jdoe,cn=users,cn=accounts,dc=ipa,dc=test"),
                     (RSA, "", "jdoe", "uid=jdoe,cn=users,cn=accounts,dc=ipa,dc=test"),
                     (P256, "", *["fqdn=host1.ipa.test,cn=computers,cn=accounts,dc=ipa,dc=test"] * 2)],
    "active-directory.ldif": [(ED, "jane", "jdoe", "CN=Jane Doe,OU=Staff,DC=corp,DC=example,DC=com"),
                              (RSA, "", *["CN=Robot,OU=Staff,DC=corp,DC=example,DC=com"] * 2)],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_forges_and_directories_tell_owners(name):
    equal(sample(name), ANSWERS[name], name)


def test_every_sample_is_tested():
    equal(sorted(path.name for path in SAMPLES.iterdir()), sorted(ANSWERS), "samples")


# --- LDIF ---

def fold(text, width):
    return "\n".join([text[:width]] + [" " + text[i:i + width - 1] for i in range(width, len(text), width - 1)])


def attribute(rnd, name, value, width):
    plain_value = value.isascii() and value.isprintable() and value[:1] not in " :<" and not value.endswith(" ")
    if plain_value and rnd.randrange(3):
        return fold(f"{name}:{' ' * rnd.choice((0, 1, 1, 3))}{value}", width)
    return fold(f"{name}:: {base64.b64encode(value.encode()).decode()}", width)


def test_owners_in_ldif_are_the_entries_that_were_written(scratch):
    """150 exports: attributes in any order, folded anywhere, in base64, with more attributes between."""
    for seed in range(150):
        rnd = random.Random(seed)
        width = rnd.choice((20, 60, 76, 78, 10**6))
        text, want = rnd.choice(("", "version: 1\n\n", "# extended LDIF\n#\n\n")), []
        for number in range(rnd.choice((1, 2, 5))):
            dn = rnd.choice((f"cn=u{number},dc=example", f"cn=Jürgen {number},dc=ä", "cn=" + "x" * 300))
            uids = [f"user{number}", "zwei"][:rnd.choice((0, 1, 1, 2))]
            keys = random_keys(rnd, rnd.choice((0, 1, 3)))
            want += [(inside(key)[0], cut(uids[0] if uids else dn), cut(dn)) for key in keys]
            rows = [attribute(rnd, rnd.choice(("sshPublicKey", "ipaSshPubKey", "altSecurityIdentities")), key, width)
                    for key in keys]
            rows += [attribute(rnd, name, value, width) for name, value in (
                ("cn", "Somebody"), ("description", "no\nuid: here"), ("uidNumber", "7"), ("mail", "a@b"),
                ("jpegPhoto", "é" * 500))]
            # The order of values of one name stays.
            at = sorted(rnd.randrange(len(rows) + 1) for _ in uids)
            for place, uid in reversed(list(zip(at, uids))):
                rows.insert(place, attribute(rnd, rnd.choice(("uid", "UID")), uid, width))
            text += "\n".join([attribute(rnd, rnd.choice(("dn", "dn", "DN")), dn, width), *rows]) + "\n\n"
        text = text.replace("\n", rnd.choice(("\n", "\r\n")))
        equal(owners(write(scratch / "file", text)), want, f"seed {seed}: {text}")


def test_an_account_name_names_an_entry_without_uid(scratch):
    ed = made()["ed25519"]
    for rows, owner in ((("sAMAccountName: jane", "uid: j"), "j"), (("uid: j", "sAMAccountName: jane"), "j"),
                        (("sAMAccountName: jane",), "jane"), (("uidNumber: 7", "uid;lang-de: x"), "cn=x")):
        text = "\n".join(("dn: cn=x", f"sshPublicKey: {ed.line}", *rows, ""))
        equal(owners(write(scratch / "file", text)), [(ed.fingerprint, owner, "cn=x")], text)


def test_a_change_record_of_ldif_keeps_its_owner(scratch):
    """Behind a line with a hyphen the entry goes on."""
    ed, rsa = made()["ed25519"], made()["rsa"]
    text = (f"dn: uid=a\nchangetype: modify\nadd: sshPublicKey\nsshPublicKey: {ed.plain}\n-\nadd: sshPublicKey\n"
            f"sshPublicKey: {rsa.plain}\n-\n\n{ed.plain}\n")
    equal(owners(write(scratch / "file", text)), [
        (ed.fingerprint, "uid=a", "uid=a"), (rsa.fingerprint, "uid=a", "uid=a"), (ed.fingerprint, None, None)], text)


def test_exports_of_several_kinds_follow_one_another(scratch):
    """As cat and several commands in one pipe make them."""
    rnd = random.Random(3)
    for seed in range(30):
        parts, want = [], []
        for _ in range(4):
            key, name = random_keys(rnd, 1)[0], f"u{rnd.randrange(9)}"
            kind = rnd.randrange(4)
            if kind == 0:
                parts.append(json.dumps([{"login": name, "key": key}], indent=rnd.choice((None, 1))))
            elif kind == 1:
                parts.append(f"dn: cn=x\nsshPublicKey: {key}\nuid: {name}\n")
            elif kind == 2:
                parts.append(f"# {name}\nHTTP/2 200\nserver: x\n")
                continue
            else:
                parts.append(json.dumps({"user": {"username": name}, "data": {"keys": [{"key": key, "title": "t"}]}}))
            want.append((inside(key)[0], name, "cn=x" if kind == 1 else None))
        text = "\n".join(parts) + "\n"
        equal(owners(write(scratch / "file", text)), want, f"{seed}: {text}")


# --- what is printed ---

def test_the_text_names_the_owner_behind_the_comment(scratch):
    ed, rsa = made()["ed25519"], made()["rsa"]
    bad = listing(scratch / "bad.pkbf", ed)
    path = write(scratch / "file", json.dumps([{"login": "a\nb\x1b[2J\x7f\u202e", "key": ed.plain + " c d"}]))
    name = "a\\x0ab\\x1b[2J\\x7f\\xe2\\x80\\xae"
    equal(check(path, filters=[bad], status=1).lines,
          [f"{path}:1: listed: ssh-ed25519 256 {ed.fingerprint} c d (owner: {name}) [{bad}]"], "text")
    path = write(scratch / "file", f"dn: cn=x,dc=y\nuid: x\nsshPublicKey: {rsa.plain} c\n")
    equal(check("--all", path).lines,
          [f"{path}:3: clean: ssh-rsa 2048 {rsa.fingerprint} c (owner: x, cn=x,dc=y)"], "dn")
    path = write(scratch / "file", f"dn: cn=x,dc=y\nsshPublicKey: {rsa.plain} c\n")
    equal(check("--all", path).lines,
          [f"{path}:2: clean: ssh-rsa 2048 {rsa.fingerprint} c (owner: cn=x,dc=y)"], "no uid")


def test_both_keys_of_a_certificate_and_a_block_of_pem_have_the_owner(scratch):
    ed, rsa = made()["ed25519"], made()["rsa"]
    line = certificate(ed, rsa).read_text().rstrip("\n")
    value = {"keys": [line, rsa.path.read_text(), "-----BEGIN OPENSSH PRIVATE KEY-----"], "login": "x"}
    for indent in (None, 1):
        path = write(scratch / "file", json.dumps(value, indent=indent))
        equal(owners(path), [(key.fingerprint, "x", None) for key in (ed, rsa, rsa)], "keys")


def test_lines_of_keys_have_no_owner(scratch):
    """known_hosts begins as JSON does. A key that sshd reads in such a file counts, too."""
    ed, rsa = made()["ed25519"], made()["rsa"]
    for text, keys in ((f"[::1]:22 {ed.plain}\n[127]:22 {rsa.plain}\n", [ed, rsa]), (f"[] {ed.plain}\n", [ed]),
                       (f"[\n{ed.plain}\n", [ed]), (f'{{"login":\n"x" {ed.plain}\n', [ed]),
                       (f'["a\\\\"," {ed.plain}"]\n', [ed])):
        for words in ([write(scratch / "d" / "file", text)], [scratch / "d"], ["--jobs", 2, scratch / "d"]):
            equal(owners(*words), [(key.fingerprint, None, None) for key in keys], text)


# --- large and endless ---

def large_answer(rnd, count):
    """JSON on one line: an array of keys and their owners, behind them."""
    rows, want = [], []
    for number in range(count):
        line = sshkey.key_line(random_blob(rnd))
        rows.append({"id": number, "key": line, "bio": "x" * rnd.choice((0, 0, 3000)),
                     "user": {"username": f"u{number}"}})
        want.append((inside(line)[0], f"u{number}"))
    return json.dumps(rows), want


@pytest.mark.long
def test_a_line_of_many_megabytes_tells_all_owners(scratch):
    rnd = random.Random(1)
    text, want = large_answer(rnd, 6000)
    assert len(text) > 5 * MIB
    for data in (text, text + text + "\n[]\n"):
        for words, stdin in (([write(scratch / "file", data)], b""), (["-"], data.encode())):
            result = owners(*words, stdin=stdin)
            equal([row[:2] for row in result], want * data.count('{"id": 0,'), "owners")


def test_a_string_larger_than_the_buffer_is_told_and_hides_no_key(scratch):
    ed, rsa = made()["ed25519"], made()["rsa"]
    text = json.dumps([{"login": "x", "key": ed.plain}, {"bio": "y" * 3 * MIB, "key": rsa.plain, "login": "z"}])
    path = write(scratch / "file", text)
    result = check("--all", "--json", path, status=0)
    rows = [(row["fingerprint"], row.get("owner")) for row in objects(result)]
    equal(rows, [(ed.fingerprint, "x"), (rsa.fingerprint, None)], "keys")
    assert "owners of keys may be missing" in result.err.decode(), result.err


@pytest.mark.long
def test_keys_that_wait_too_long_are_judged_without_an_owner(scratch):
    """An object with 100,000 keys, and its name behind them: 4 MiB of them wait, not more."""
    rnd = random.Random(2)
    lines = [sshkey.key_line(sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(rnd.randbytes(32))))
             for _ in range(100000)]
    for value, first in (({"keys": lines, "login": "x"}, None), ({"login": "x", "keys": lines}, "x"),
                         ({"keys": [{"key": line} for line in lines], "login": "x"}, None)):
        path = write(scratch / "file", json.dumps(value))
        result = check("--all", "--json", path, status=0)
        rows = objects(result)
        equal(len(rows), len(lines), "keys")
        equal(rows[0].get("owner"), first, "the first")
        equal(rows[-1].get("owner"), first, "the last")
        equal([row["fingerprint"] for row in rows], [inside(line)[0] for line in lines], "order")
        equal("has over 4 MiB" in result.err.decode(), True, result.err[-200:])


@pytest.mark.long
def test_many_objects_in_one_wait_for_nothing(scratch):
    """Each object has its name: nothing is kept, however many there are."""
    rows = [{"login": f"u{number}", "keys": [made()["ed25519"].plain]} for number in range(60000)]
    result = check("--all", "--json", write(scratch / "file", json.dumps({"users": rows})), status=0)
    equal([row["owner"] for row in objects(result)], [row["login"] for row in rows], "owners")
    equal(result.problems, [], "messages")


def test_json_that_breaks_off_is_told(scratch):
    ed = made()["ed25519"]
    path = write(scratch / "file", json.dumps([{"login": "x", "key": ed.plain}, {"login": "y"}])[:-9])
    result = check("--all", "--json", path, status=0)
    equal([row.get("owner") for row in objects(result)], ["x"], "owner")
    equal(result.problems, [f"{path}:1: the JSON is damaged or ends here: owners of keys may be missing"], "note")
    # Other texts that have braces are no JSON, and get no message.
    equal(check("--all", write(scratch / "file", "{\n  int x;\n}\n[\n", ed.line, "\n"), status=0).problems, [], "C")


def test_each_object_on_a_pipe_is_judged_as_it_comes():
    ed = made()["ed25519"]
    with started([KEYVETO, "check", "--all", "--json", "--filter", empty_filter(), "-"], stdin=-1, stdout=-1,
                 stderr=-1) as process:
        for name in ("x", "y"):
            process.stdin.write(json.dumps({"key": ed.plain, "login": name}).encode() + b"\n")
            process.stdin.flush()
            equal(json.loads(process.stdout.readline())["owner"], name, "owner")
        process.stdin.close()
        process.wait(timeout=PATIENCE)


def test_an_answer_without_keys_is_no_problem(scratch):
    for text, status in (("[]", 0), ("[]\n", 0), ("[\n]\n[]\n", 0), ('{"message":"Not Found"}', 2), ("[{}]", 2)):
        equal(check(write(scratch / "file", text)).status, status, text)
