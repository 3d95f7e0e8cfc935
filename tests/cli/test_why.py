# SPDX-License-Identifier: ISC
"""keyveto why."""

import os
import random
import re
from pathlib import Path

import pytest

from filter_runs import any_line
from list_runs import hashes, random_records, write_list
from program import KEYVETO, TRACED, attempt, contains, equal, lacks, on_a_machine
from runs import run, tool
from samples import listing, made, write

NAMES = "# date 2026-01-31\n13 debianssl badkeys/debianopenssl main/rsa\n14 site\n15 other\n"


def why(*words, blocklist, status=0, **more):
    """(standard output, standard error) of keyveto why."""
    done = run("why", "--blocklist", blocklist, *words, status=status, **more)
    return done.out.decode(), done.said


def lookup_lines(records, path="p/%d"):
    """Sorted lines of a lookup file for (hash, id)s: the first 8 bytes of each, and a path with its number."""
    return sorted(f"{digest[:8].hex()};{path % number}\n" for number, (digest, _) in enumerate(records))


def write_lookup(blocklist, lines):
    blocklist.with_name(f"{blocklist.name}.lookup").write_text("".join(lines), encoding="ascii")


@pytest.fixture(name="world")
def fixture_world(scratch):
    """A list with the key rsa from Debian and ed25519 from the site, and a lookup file that has the first."""
    rnd = random.Random(1)
    records = random_records(rnd, 5000, ids=(13, 15))
    digest = hashes(made()["rsa"])[0]
    path = write_list(scratch / "list", [*records, (digest, 13), (hashes(made()["ed25519"])[0], 14)], NAMES)
    write_lookup(path, sorted([*lookup_lines(records), f"{digest[:8].hex()};2048/i386/1.key\n"]))
    return path


def test_says_which_list_since_when_what_leak_and_where_the_private_half_lies(world):
    out, _ = why(made()["rsa"].public, blocklist=world)
    contains(out, f"{made()['rsa'].fingerprint}\n", f"  exact list   {world}\n", "  list made    2026-01-31\n",
             "  source       debianssl\n", "CVE-2008-0166", "Where sshd asks keyveto, a login with it is refused.\n",
             "Make a new key",
             "  private half https://github.com/badkeys/debianopenssl/blob/main/rsa/2048/i386/1.key\n")
    out, _ = why(made()["ed25519"].public, blocklist=world)
    contains(out, "  source       site\n", "  private half the list does not say where\n")
    lacks(out, "https://", "  leak")
    world.with_name("list.lookup").unlink()
    contains(why(made()["rsa"].public, blocklist=world)[0],
             "  private half not known here; keyveto update --lookup fetches where it lies\n")
    world.with_name("list.sources").unlink()
    out, _ = why(made()["rsa"].public, blocklist=world)
    contains(out, "  source       id13\n")
    lacks(out, "list made")


def test_a_key_is_given_as_text_file_line_or_fingerprint(scratch, world):
    key, other = made()["rsa"], made()["p256"]
    path = write(scratch / "keys", f"{other.line}\n{key.line}\n{other.line}\n")
    expected = "https://github.com/badkeys/debianopenssl/blob/main/rsa/2048/i386/1.key"
    for words in ([key.plain], key.plain.split(), [f'command="a b" {key.line}'], [f"{path}:2"], [f"{path}:2:"],
                  [key.fingerprint, path], [key.fingerprint, scratch]):
        out, _ = why(*words, blocklist=world)
        equal((out.count(expected), out.count("SHA256:")), (1, 1), f"{words}: {out}")
        lacks(out, "no filter and no list")
    contains(why(path, blocklist=world)[0], expected, "\n2 keys are in no filter and no list.\n")
    contains(why("-", blocklist=world, stdin=key.line.encode())[0], expected)
    clean = "No filter and no list has this key: keyveto does not refuse it.\n"
    for words in ([f"{path}:1"], [other.plain]):
        equal(why(*words, blocklist=world)[0], clean, words)
    equal(why(other.fingerprint, path, blocklist=world)[0],
          f"{path}:1: {other.type} {other.bits} {other.fingerprint}\n{clean}"
          f"The same key is also in:\n  {path}:3\n", "a clean key by its fingerprint")
    for text in (f"key_fp={key.fingerprint}", f"{key.fingerprint}=", key.fingerprint.removeprefix("SHA256:")):
        contains(why(text, path, blocklist=world)[0], f"{path}:2: ", expected)


def test_an_md5_fingerprint_and_damaged_ones_are_no_fingerprints(scratch, world):
    key = made()["rsa"]
    path = write(scratch / "keys", f"{key.line}\n")
    md5 = tool("ssh-keygen", "-E", "md5", "-lf", path).decode().split()[1]
    for text in (md5, md5.removeprefix("MD5:"), "key_fp=", "SHA256:", key.fingerprint + "A", key.fingerprint + "==",
                 key.fingerprint[:-1], key.fingerprint[:-1] + "!", "SHA256:" + "A" * 5000):
        out, err = why(text, path, blocklist=world, status=2)
        equal((out, err), ("", f"keyveto: {text}: not a SHA256 fingerprint; that is SHA256: and 43 characters, "
                               "as ssh-keygen -l prints it"), text)


def test_a_fingerprint_alone_is_for_root(world):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    done = attempt("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", KEYVETO, "why", "--blocklist", world,
                   made()["rsa"].fingerprint)
    equal(done.returncode, 2, done.stderr)
    contains(done.stderr, "only root can look for a fingerprint among the keys of this machine; name the file")


def test_what_cannot_be_answered_is_said_with_status_2(scratch, world):
    path = write(scratch / "keys", f"{made()['rsa'].line}\n")
    for words, part in ((["SHA256:short"], "not a SHA256 fingerprint"), ([scratch / "none"], "No such file"),
                        ([f"{scratch}/none:3"], "No such file"), ([f"{path}:2"], "no key in it"),
                        ([made()["p256"].fingerprint, path], "no key with this fingerprint was found"),
                        (["ssh-rsa AAAAB3NzaC1yc2EAAAAB"], "the key:1: "), ([], "give a key"),
                        (["--blocklist", scratch / "none", path], "No such file")):
        contains(why(*words, blocklist=world, status=2)[1], part)


@on_a_machine
def test_a_fingerprint_alone_is_looked_for_among_the_keys_of_this_machine(scratch, world):
    """sshd's answer says in which files. Without an answer it is keyveto.conf."""
    key, other = made()["rsa"], made()["ed25519"]
    path, guarded = write(scratch / "keys", f"{key.line}\n"), write(scratch / "guarded", f"{other.line}\n")
    config = write(scratch / "conf", f"AuthorizedKeysFile {guarded}\n")
    sshd_config = Path("/etc/ssh/sshd_config")
    stock = sshd_config.read_bytes()
    try:
        write(sshd_config, f"AuthorizedKeysFile {path}\n")
        out, _ = why("--config", config, key.fingerprint, blocklist=world)
        contains(out, f"{path}:1: ssh-rsa 2048 {key.fingerprint}\n", "2048/i386/1.key")
        equal(out.count("SHA256:"), 1, out)
        # All accounts share the file.
        lacks(out, "also in")
        missed = why("--config", config, other.fingerprint, blocklist=world, status=2)
        contains(missed[1], "no key with this fingerprint was found;")
        write(sshd_config, "no such keyword\n")
        out, messages = why("--config", config, other.fingerprint, blocklist=world)
        contains(out, f"{guarded}:1: ssh-ed25519 256 {other.fingerprint}\n")
        contains(messages, "the accounts' files are taken from keyveto.conf until 'sshd -T' works")
    finally:
        sshd_config.write_bytes(stock)


def test_all_places_of_a_key_are_told(scratch, world):
    key = made()["rsa"]
    one, two = (write(scratch / name, f"{key.line}\n# none\n{key.line}\n") for name in ("one", "two"))
    out, _ = why(key.fingerprint, one, two, one, blocklist=world)
    contains(out, f"{one}:1: ssh-rsa 2048 {key.fingerprint}\n",
             f"\nThe same key is also in:\n  {one}:3\n  {two}:1\n  {two}:3\n")


def test_a_list_that_gives_no_answer_is_status_2(scratch):
    """In the reverse order no look-up is clean; a fingerprint must not hide it."""
    key = made()["rsa"]
    path = write_list(scratch / "list", random_records(random.Random(4), 5000))
    data = path.read_bytes()
    path.write_bytes(b"".join(data[at:at + 16] for at in range(len(data) - 16, -1, -16)))
    for words in ([key.public], [key.fingerprint, key.public]):
        out, err = why(*words, blocklist=path, status=2)
        contains(err, f"{path}: the records of the list are not in order")
        lacks(out, "no list has")
    config = write(scratch / "conf", f"AllowKey {key.fingerprint} for now\n")
    out, _ = why("--config", config, key.public, blocklist=path)
    contains(out, "Not every filter and list gave an answer.\n", "AllowKey in keyveto.conf lets it in all the same: ")
    lacks(out, "no list has")


def test_a_filter_alone_says_probably(scratch):
    path = listing(scratch / "f.pkbf", made()["rsa"])
    done = run("why", "--filter", path, made()["rsa"].public, status=0)
    contains(done.out.decode(), "It is probably compromised: a filter lists it.", f"  filter       {path}\n",
             "  revision     1")


def test_the_policy_of_keyveto_conf_is_told(scratch, world):
    key = made()["rsa"]
    for text, part in (("OnHit warn\n", "is logged, and let in for now"), ("OnHit deny\n", "is refused"),
                       (f"AllowKey {key.fingerprint} until=2999-01-01 soon replaced\n", "all the same: soon replaced")):
        contains(why("--config", write(scratch / "conf", text), key.public, blocklist=world)[0], part)


def test_the_search_agrees_with_a_linear_one(scratch):
    rnd = random.Random(2)
    lines = [any_line(rnd) for _ in range(60)]
    records = [(digest, 13) for line in lines for digest in hashes(line)]
    path = write_list(scratch / "list", records, NAMES)
    for count in (0, 1, 100, 4000):
        others = random_records(rnd, count)
        held = [record for record in records if rnd.randrange(2)]
        table = lookup_lines([*others, *held], path="x" * rnd.randrange(200) + "/%d")
        table = sorted([*table, *lookup_lines(held[:20], path="again/%d")])
        write_lookup(path, table)
        for line in rnd.sample(lines, 12):
            out, err = why(write(scratch / "key", line), blocklist=path)
            prefix = "https://github.com/badkeys/debianopenssl/blob/main/rsa/"
            expected = sorted(row[17:-1] for digest in hashes(line) for row in table if row[:16] == digest[:8].hex())
            equal(sorted(re.findall(re.escape(prefix) + r"(\S+)$", out, re.MULTILINE)), expected, f"{line}: {err}")


def test_a_damaged_lookup_file_is_named_and_controls_no_terminal(world):
    key, lookup = made()["rsa"], world.with_name("list.lookup")
    data = lookup.read_bytes()
    own = hashes(key)[0][:8].hex().encode()
    hostile = own + b";a\x1b[31m\x00\xff/" + b"y" * 100 + b"\n"
    lookup.write_bytes(hostile)
    contains(why(key.public, blocklist=world)[0], "blob/main/rsa/a%1B%5B31m%00%FF/y")
    for content in (b"\n", b"x" * 100000, data.replace(b";", b":"), data.upper(), b"\0" * 50000,
                    own + b";" + b"z" * 5000 + b"\n", b"<html>\n" * 9000,
                    b"0" * 15 + b"2;x\n" + b"0" * 15 + b"1;x\n"):
        lookup.write_bytes(content)
        out, err = why(key.public, blocklist=world, status=2)
        contains(err, f"keyveto: {lookup}: ", "get it again with keyveto update --lookup")
        contains(out, "  source       debianssl\n")
    for content in (b"", data[:len(data) // 2].rpartition(b"\n")[0]):
        lookup.write_bytes(content)
        why(key.public, blocklist=world)
    lookup.unlink()
    lookup.symlink_to(lookup)
    out, err = why(key.public, blocklist=world, status=2)
    contains(err, f"{lookup}: Too many levels of symbolic links")
    contains(out, "  private half not known here\n")
    lookup.unlink()
    lookup.mkdir()
    contains(why(key.public, blocklist=world, status=2)[1], "not a regular file")


@pytest.mark.parametrize("path, shown", (
    ("a b/c#d?e%2e&é.key", "https://github.com/badkeys/debianopenssl/blob/main/rsa/a%20b/c%23d%3Fe%252e%26%C3%A9.key"),
    ("..\\..\\evil", "https://github.com/badkeys/debianopenssl/blob/main/rsa/..%5C..%5Cevil"),
    ("a/../../../../evil/repo/x", "a/../../../../evil/repo/x in badkeys/debianopenssl main/rsa"),
    ("..", ".. in badkeys/debianopenssl main/rsa"),
    ("./x", "./x in badkeys/debianopenssl main/rsa"),
    ("a/.../..b/.c", "https://github.com/badkeys/debianopenssl/blob/main/rsa/a/.../..b/.c")),
    ids=("escapes", "backslashes", "up", "up-only", "here", "dots"))
def test_a_link_to_the_private_half_stays_in_its_folder(world, path, shown):
    digest = hashes(made()["rsa"])[0]
    world.with_name("list.lookup").write_bytes(f"{digest[:8].hex()};{path}\n".encode())
    contains(why(made()["rsa"].public, blocklist=world)[0], f"  private half {shown}\n")


def test_only_a_publishers_list_is_said_to_have_a_lookup_file(world):
    world.with_name("list.lookup").unlink()
    contains(why(made()["ed25519"].public, blocklist=world)[0], "  private half not known here\n")


def test_a_list_of_keys_that_share_primes_is_explained(scratch):
    """An older version made it, as weak.dat: it is consulted as before."""
    key, path = made()["rsa"], scratch / "weak.dat"
    write_list(path, [(digest, 7) for digest in hashes(key)], "7 rsa-shared-prime\n")
    contains(why(key.public, blocklist=path)[0], "rsa-shared-prime", "An older keyveto put it into this list",
             "a multiple of a modulus", "keyveto allow lets it in")


def test_the_lookup_file_is_not_read_whole(scratch, world):
    rnd = random.Random(3)
    own = f"{hashes(made()['rsa'])[0][:8].hex()};found\n"
    write_lookup(world, sorted([*lookup_lines(random_records(rnd, 300000)), own]))
    trace = scratch / "trace"
    said = tool("strace", "-f", "-qq", "-e", "trace=pread64", "-P", f"{world}.lookup", "-o", trace, KEYVETO, "why",
                "--blocklist", world, made()["rsa"].public, text=True, env=TRACED)
    contains(said, "/main/rsa/found\n")
    reads = [int(size) for size in re.findall(r"= (\d+)$", trace.read_text(encoding="ascii"), re.MULTILINE)]
    assert 1 <= len(reads) <= 20 and sum(reads) < 200000, reads
