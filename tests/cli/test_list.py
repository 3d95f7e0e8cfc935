# SPDX-License-Identifier: ISC
"""keyveto list, with the oracle's lists beside it."""

import json
import os
import random
import subprocess

import blocklist
import pytest
import sshkey
from filter_runs import any_line, key_lines, names
from list_runs import check, hashes, keyveto_list, oracle_list, random_records, write_list
from program import KEYVETO, PATIENCE, ROOT, contains, equal, keyveto
from runs import tool
from samples import made


def write_lines(path, lines):
    path.write_text("".join(lines), encoding="ascii")
    return path


def test_create_makes_the_bytes_of_the_oracle_in_any_order_of_keys(scratch):
    rnd = random.Random(1)
    lines = [any_line(rnd) for _ in range(300)]
    expected = oracle_list(lines, 42)
    for turn in range(3):
        rnd.shuffle(lines)
        path = scratch / f"l{turn}"
        keyveto_list("create", path, "--id", 42, write_lines(scratch / "keys", lines + lines[:50]))
        equal(path.read_bytes(), expected, f"turn {turn}")
    tool("/usr/bin/python3", ROOT / "tests/oracle/blocklist.py", "create", scratch / "theirs", "--id", 42,
         scratch / "keys")
    # The oracle's command adds the CA of a certificate neither.
    equal((scratch / "theirs").read_bytes(), expected, "the oracle's command")


def test_add_continues_a_list_of_the_oracle_and_keeps_its_sources(scratch):
    rnd = random.Random(2)
    lines = [any_line(rnd) for _ in range(400)]
    path = write_list(scratch / "l", [(digest, 7) for line in lines[:200] for digest in hashes(line)])
    for turn in range(4):
        before = path.read_bytes()
        some = rnd.sample(lines, 150)
        _, messages = keyveto_list("add", path, "--id", turn, stdin="".join(some).encode())
        expected = oracle_list(some, turn, before)
        equal(path.read_bytes(), expected, f"turn {turn}")
        count = (len(expected) - len(before)) // blocklist.RECORD
        contains(messages[-1], f"{path}: {count} added, ", f"now {len(expected) // blocklist.RECORD} records")


def test_a_run_that_adds_nothing_leaves_the_file_alone(scratch):
    lines = key_lines(random.Random(3), 5)
    path = scratch / "l"
    keyveto_list("create", path, write_lines(scratch / "keys", lines))
    before = path.stat()
    _, messages = keyveto_list("add", path, "--id", 9, scratch / "keys")
    equal(messages, [f"{path}: nothing added, 5 there already; left as it was"], "message")
    after = path.stat()
    equal((after.st_ino, after.st_ctime_ns), (before.st_ino, before.st_ctime_ns), "the file")
    equal(names(scratch), ["keys", "l"], "files")


def test_a_run_that_adds_nothing_still_writes_the_name(scratch):
    """A run before may have written the list, and not the name: the disk was full."""
    path = scratch / "l"
    keys = write_lines(scratch / "keys", key_lines(random.Random(3), 5))
    keyveto_list("create", path, "--id", 7, keys)
    before = path.stat().st_ino
    keyveto_list("add", path, "--id", 7, "--name", "incident", keys)
    equal(path.with_name("l.sources").read_text(encoding="ascii"), "7 incident\n", "names")
    keyveto_list("add", path, "--id", 8, "--name", "none-of-its-keys", keys)
    equal(path.with_name("l.sources").read_text(encoding="ascii"), "7 incident\n", "names")
    equal((path.stat().st_ino, names(scratch)), (before, ["keys", "l", "l.sources"]), "files")


def test_the_names_are_readable_as_their_list_is(scratch):
    """Logins read both as accounts, whatever the umask of a later run."""
    path = scratch / "l"
    keys = write_lines(scratch / "keys", [made()["ed25519"].line + "\n"])
    keyveto("list", "create", path, "--id", 7, keys, status=0)
    for mode in (0o644, 0o600):
        path.chmod(mode)
        keyveto("list", "add", path, "--id", 7, "--name", "incident", keys, status=0, umask=0o077)
        sources = path.with_name("l.sources")
        equal(oct(sources.stat().st_mode & 0o777), oct(mode))
        sources.unlink()


def test_an_empty_list_takes_keys_but_no_login_takes_it(scratch):
    path = scratch / "l"
    _, messages = keyveto_list("create", path)
    contains(messages[-1], "an empty list; logins refuse it")
    equal(path.read_bytes(), b"", "the file")
    line = key_lines(random.Random(4), 1)[0]
    for verb in ("info", "verify"):
        contains(keyveto_list(verb, path, status=2)[1][0], f"{path}: has no records, and logins refuse such a list")
    equal(check(write_lines(scratch / "keys", [line]), lists=[path]).status, 2, "check with an empty list")
    keyveto_list("add", path, scratch / "keys")
    check(scratch / "keys", lists=[path], status=1)


def test_create_never_empties_a_list_that_is_there(scratch):
    path = write_list(scratch / "l", random_records(random.Random(5), 10))
    before = path.read_bytes()
    (scratch / "nothing").write_text("# no key\n", encoding="ascii")
    for words in ([], ["--force"], ["--force", scratch / "nothing"], [scratch / "nothing"]):
        keyveto_list("create", path, *words, status=2)
        equal(path.read_bytes(), before, f"the list after {words}")
    keyveto_list("merge", path, "--force", "/dev/null", scratch / "nothing", status=2)
    keyveto_list("create", scratch / "empty")
    keyveto_list("merge", path, "--force", scratch / "empty", scratch / "empty", status=2)
    equal(path.read_bytes(), before, "the list after merges")


def test_force_replaces_a_list_and_keeps_any_other_file(scratch):
    line = key_lines(random.Random(6), 1)[0]
    keys = write_lines(scratch / "keys", [line])
    path = write_list(scratch / "l", random_records(random.Random(7), 10))
    contains(keyveto_list("create", path, keys, status=2)[1][0], "exists; 'keyveto list add' adds to it")
    keyveto_list("create", path, "--force", keys)
    equal(path.read_bytes(), oracle_list([line]), "the list")
    path.write_bytes(b"precious")
    contains(keyveto_list("create", path, keys, status=2)[1][0], "is not an exact list")
    keyveto_list("create", path, "--force", keys)
    equal((path.with_name("l.kept").read_bytes(), path.read_bytes()), (b"precious", oracle_list([line])), "files")


def test_a_name_is_written_beside_the_list_and_never_changed(scratch):
    path = scratch / "l"
    keys = write_lines(scratch / "keys", key_lines(random.Random(8), 3))
    sources = path.with_name("l.sources")
    sources.write_text("# date 2026-01-31\n13 debianssl badkeys/debian main\n14 git", encoding="ascii")
    keyveto_list("create", path, "--id", 200, "--name", "our-incident", keys)
    expected = "# date 2026-01-31\n13 debianssl badkeys/debian main\n14 git\n200 our-incident\n"
    equal(sources.read_text(encoding="ascii"), expected, "names")
    row = json.loads(check(keys, "--json", lists=[path], status=1).out.splitlines()[0])
    equal(row["source"], "our-incident", "source")
    more = write_lines(scratch / "more", key_lines(random.Random(9), 3))
    before = path.read_bytes()
    contains(keyveto_list("add", path, "--id", 13, "--name", "other", more, status=2)[1][0],
             f"{sources}: calls source 13 debianssl, not other")
    equal((path.read_bytes(), sources.read_text(encoding="ascii")), (before, expected), "files")
    keyveto_list("add", path, "--id", 13, "--name", "debianssl", more)
    equal(sources.read_text(encoding="ascii"), expected, "names")
    for bad in ("", "a b", "a\x1b", "x" * 64, "a/b"):
        keyveto_list("add", path, "--name", bad, more, status=2)
    for bad in ("256", "-1", "x", "1 "):
        keyveto_list("add", path, "--id", bad, more, status=2)


def test_a_certificates_ca_is_added_only_with_ca(scratch):
    rnd = random.Random(10)
    ca = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(rnd.randbytes(32)))
    blob = sshkey.build_cert(sshkey.cert_name("ssh-ed25519"), sshkey.fields_raw(rnd.randbytes(32)), ca)
    line, key = sshkey.key_line(blob).encode() + b"\n", sshkey.parse(blob)
    for words, parts in (([], [key]), (["--ca"], [key, key.ca])):
        path = scratch / f"l{len(words)}"
        keyveto_list("create", path, "--id", 3, *words, "-", stdin=line)
        equal(path.read_bytes(), b"".join(sorted(digest + b"\3" for part in parts for digest in hashes(part))), words)


def test_what_cannot_be_read_is_named_and_the_rest_is_added(scratch):
    good = key_lines(random.Random(11), 2)
    tool("openssl", "genpkey", "-algorithm", "x25519", "-out", scratch / "x25519")
    keys = write_lines(scratch / "keys", [good[0], "ssh-rsa AAAA\n", good[1]])
    path = scratch / "l"
    _, messages = keyveto_list("create", path, keys, scratch / "x25519", scratch / "none", status=2)
    contains("\n".join(messages), f"{keys}:2: ", f"{scratch}/x25519:1: exact lists have no keys of type X25519",
             f"{scratch}/none: No such file or directory", "2 added")
    equal(path.read_bytes(), oracle_list(good), "the list")


def test_merge_has_each_record_once_whatever_the_order_of_lists(scratch):
    rnd = random.Random(12)
    pool = random_records(rnd, 3000, ids=(1, 2, 255))
    pool += [(digest, 9) for digest, _ in pool[:100]]
    parts = [write_list(scratch / f"l{i}", rnd.sample(pool, 1500)) for i in range(3)]
    expected = b"".join(sorted({part.read_bytes()[i:i + 16] for part in parts
                                for i in range(0, part.stat().st_size, 16)}))
    for turn in range(3):
        rnd.shuffle(parts)
        keyveto_list("merge", scratch / f"out{turn}", *parts, parts[0])
        equal((scratch / f"out{turn}").read_bytes(), expected, f"turn {turn}")
    contains(keyveto_list("merge", parts[0], *parts[1:], status=2)[1][0], "is not among the lists to merge")
    keyveto_list("merge", parts[0], *parts)
    equal(parts[0].read_bytes(), expected, "merged in place")


def test_merge_tells_of_sources_that_get_another_name(scratch):
    rnd = random.Random(29)
    ours = write_list(scratch / "ours", random_records(rnd, 5, ids=(1, 2)) + [(b"o" * 15, 3)], "1 laptop\n2 git\n")
    theirs = write_list(scratch / "theirs", random_records(rnd, 9, ids=(1,)) + [(b"x" * 15, 2), (b"y" * 15, 4)],
                        "1 phone\n2 git\n3 none-of-these\n4 new\n")
    plain = write_list(scratch / "plain", [(b"z" * 15, 1)])
    equal(keyveto_list("merge", ours, ours, theirs, plain)[1],
          [f"{ours}: merged: 18 records",
           f"note: source 1 is phone in {theirs}; in {ours} it is called laptop",
           f"note: source 1 is id1 in {plain}; in {ours} it is called laptop"], "messages")
    equal(len(keyveto_list("merge", scratch / "new", ours, theirs)[1]), 1, "messages about a new list")


def test_random_runs_make_the_lists_of_the_oracle(scratch):
    """Keys come several times, under several ids, from files, folders and standard input; lists are merged."""
    rnd = random.Random(21)
    lines = [any_line(rnd) for _ in range(200)]
    paths, model = [scratch / f"l{i}" for i in range(3)], {}
    for turn in range(60):
        path = rnd.choice(paths)
        held = [one for one in paths if one in model]
        if len(held) > 1 and path in model and rnd.randrange(4) == 0:
            others = rnd.sample(held, 2)
            keyveto_list("merge", path, *others, path)
            model[path] = blocklist.Blocklist(model[path] + b"".join(model[one] for one in others)).encode()
        else:
            some = rnd.choices(lines, k=rnd.randrange(1, 40))
            number, cut = rnd.randrange(256), rnd.randrange(len(some))
            folder = scratch / f"inputs{turn}"
            (folder / "below").mkdir(parents=True)
            write_lines(folder / "below/one", some[:cut])
            inputs = [folder, "-"]
            rnd.shuffle(inputs)
            keyveto_list("add" if path in model else "create", path, "--id", number, *inputs,
                         stdin="".join(some[cut:]).encode())
            model[path] = oracle_list(some, number, model.get(path, b""))
        equal(path.read_bytes(), model[path], f"turn {turn}")


def test_two_that_add_at_once_both_count(scratch):
    lines = key_lines(random.Random(22), 80)
    path = write_list(scratch / "l", random_records(random.Random(23), 1000))
    expected = oracle_list(lines, 5, path.read_bytes())
    running = []
    for at in range(0, 80, 10):
        keys = write_lines(scratch / f"keys{at}", lines[at:at + 10])
        running.append(subprocess.Popen([KEYVETO, "list", "add", path, "--id", "5", "--name", "x", keys],
                                        stderr=subprocess.PIPE))
    for process in running:
        _, message = process.communicate(timeout=PATIENCE)
        equal(process.returncode, 0, message)
    equal(path.read_bytes(), expected, "the list")
    equal(path.with_name("l.sources").read_text(encoding="ascii"), "5 x\n", "names")


def test_of_two_names_for_one_source_the_first_is_kept(scratch):
    """Two runs at once: the one that comes second is told, though it found no name when it began."""
    path, fifo = scratch / "l", scratch / "keys"
    os.mkfifo(fifo)
    lines = key_lines(random.Random(28), 2)
    keyveto_list("create", path, "--id", 4, "-", stdin=lines[0].encode())
    with subprocess.Popen([KEYVETO, "list", "add", path, "--id", "4", "--name", "late", fifo], stderr=subprocess.PIPE,
                          text=True) as late, fifo.open("w", encoding="ascii") as out:
        # It has opened the file of keys, so it has looked at the names.
        path.with_name("l.sources").write_text("4 early\n", encoding="ascii")
        out.write(lines[1])
        out.close()
        _, message = late.communicate(timeout=PATIENCE)
    contains(message, f"{path}.sources: calls source 4 early, not late")
    equal(late.returncode, 2, message)
    equal(path.with_name("l.sources").read_text(encoding="ascii"), "4 early\n", "names")
    equal(path.read_bytes(), oracle_list(lines, 4), "the list")


def test_who_reads_a_list_while_keys_are_added_finds_what_it_had(scratch):
    lines = key_lines(random.Random(24), 60)
    path = scratch / "l"
    known = write_lines(scratch / "known", lines[:20])
    keyveto_list("create", path, known)
    script = f'for i in $(seq 20 59); do sed -n "$((i + 1))p" lines | "{KEYVETO}" list add l 2>/dev/null || exit; done'
    write_lines(scratch / "lines", lines)
    with subprocess.Popen(["sh", "-c", script], cwd=scratch) as adding:
        turns = 0
        while adding.poll() is None or turns == 0:
            rows = check(known, "--json", lists=[path], status=1).out.splitlines()
            equal([json.loads(row)["verdict"] for row in rows], ["listed"] * 20, f"turn {turns}")
            turns += 1
        equal(adding.returncode, 0, "the runs that add")
    equal(path.read_bytes(), oracle_list(lines), "the list")


def test_a_full_disk_leaves_the_list_as_it_was(scratch):
    """The same run adds all once there is room."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small disk")
    lines = key_lines(random.Random(25), 100)
    old = write_list(scratch / "old", random_records(random.Random(26), 1500))
    write_lines(scratch / "keys", lines)
    # A disk of 16 blocks; the old list takes 6 of them, the new one 7.
    script = f"""
        cd {scratch}
        mkdir disk
        mount -t tmpfs -o size=64k none disk
        cp old disk/l
        for blocks in 10 9 8 7 6 5 4; do
            dd if=/dev/zero of=disk/fill bs=4k count=$blocks status=none
            ! "{KEYVETO}" list add disk/l --id 3 --name new keys 2>>messages
            rm disk/fill
            cmp old disk/l
            [ "$(ls -A disk)" = l ]
        done
        "{KEYVETO}" list add disk/l --id 3 --name new keys
        cp disk/l disk/l.sources .
    """
    tool("unshare", "-m", "sh", "-euc", script)
    equal((scratch / "l").read_bytes(), oracle_list(lines, 3, old.read_bytes()), "the list")
    equal((scratch / "l.sources").read_text(encoding="ascii"), "3 new\n", "names")
    equal((scratch / "messages").read_text(encoding="ascii"),
          "keyveto: disk/l: cannot be written: No space left on device\n" * 7, "messages")


def test_a_list_beyond_the_limit_of_a_login_is_refused_unread(scratch):
    path = write_list(scratch / "l", random_records(random.Random(27), 10))
    huge = scratch / "huge"
    with huge.open("wb") as file:
        file.truncate((1 << 32) + 16)
    for words in (["merge", path, path, huge], ["add", huge, made()["rsa"].public], ["verify", huge],
                  ["explain", huge, made()["rsa"].public]):
        contains(keyveto_list(*words, status=2)[1][0], f"{huge}: has 268435457 records; the most that a login takes is "
                                                       "268435456")


def test_info_tells_date_size_and_sources(scratch):
    rnd = random.Random(14)
    records = random_records(rnd, 100, ids=(1,)) + random_records(rnd, 20, ids=(13,))
    records.append((records[0][0], 13))
    path = write_list(scratch / "l", records, "# date 2026-01-31\n13 debianssl a/b c\n")
    report = json.loads(keyveto_list("info", "--json", path)[0])
    equal(report, {"file": str(path), "date": "2026-01-31", "records": 121, "hashes": 120, "size": 121 * 16,
                   "sources": [{"id": 1, "source": "id1", "records": 100},
                               {"id": 13, "source": "debianssl", "records": 21}]}, "JSON")
    contains(keyveto_list("info", path)[0], "date               2026-01-31\n", "  13 debianssl    21\n")
    for bad in ("2026-02-30", "2026-1-31", "2026-01-31T00:00", ""):
        path.with_name("l.sources").write_text(f"# date {bad}\n", encoding="ascii")
        equal(json.loads(keyveto_list("info", "--json", path)[0])["date"], None, bad)


def test_verify_finds_any_damage_and_names_the_record(scratch):
    rnd = random.Random(15)
    path = write_list(scratch / "l", random_records(rnd, 10000))
    contains(keyveto_list("verify", path)[0], f"{path}: ok: 10000 records in order")
    data = path.read_bytes()
    for place in (1, 4096, 9999):
        at = place * 16
        path.write_bytes(data[:at - 16] + data[at:at + 16] + data[at - 16:at] + data[at + 16:])
        contains(keyveto_list("verify", path, status=2)[1][0], f"record {place + 1}, at byte {at}, is below")
    for place, byte in ((0, b"\0"), (9998, b"\xff")):
        at = place * 16
        path.write_bytes(data[:at] + byte * 32 + data[at + 32:])
        contains(keyveto_list("verify", path, status=2)[1][0],
                 f"record {place + 2}, at byte {at + 16}, is in a hole of the file")
    for size in (len(data) - 1, 15, 1):
        path.write_bytes(data[:size])
        contains(keyveto_list("verify", path, status=2)[1][0], f"has {size} bytes, which are no whole records")
    for other in (scratch, scratch / "none", "/dev/null"):
        for words in (["verify", other], ["info", other], ["explain", other, "/dev/null"],
                      ["merge", scratch / "out", other]):
            contains(keyveto_list(*words, status=2)[1][0], f"{other}: ")


@pytest.mark.parametrize("name", ("rsa", "p256", "p521", "ed25519"))
def test_explain_shows_the_record_of_a_key_or_its_neighbours(scratch, name):
    key = made()[name]
    others = random_records(random.Random(16), 5000)
    digest = hashes(key)[0]
    path = write_list(scratch / "l", others)
    out, _ = keyveto_list("explain", path, key.public)
    below = sorted(h for h, _ in others if h < digest)
    above = sorted(h for h, _ in others if h > digest)
    contains(out, f" {key.fingerprint}\n", f"hash {digest.hex()}\n", f" {below[-1].hex()} id1\n",
             f"after {len(below):11} {len(below) * 16:12} {above[0].hex()} id1\n", "\nnot listed\n")
    write_list(path, [*others, (digest, 13), (digest, 14)], "14 git\n")
    out, _ = keyveto_list("explain", path, key.public)
    equal([line.split()[1:] for line in out.splitlines() if line.startswith("equal")],
          [[str(len(below)), str(len(below) * 16), digest.hex(), "id13"],
           [str(len(below) + 1), str(len(below) * 16 + 16), digest.hex(), "git"]], "records")
    contains(out, "\nlisted\n")


def test_explain_fails_for_a_list_that_is_not_in_order(scratch):
    data = write_list(scratch / "l", random_records(random.Random(17), 5000)).read_bytes()
    (scratch / "l").write_bytes(data[40000:] + data[:40000])
    contains(keyveto_list("explain", scratch / "l", made()["rsa"].public, status=2)[1][0], "is below the one before")


def test_a_run_that_is_refused_leaves_nothing_behind(scratch):
    path = write_list(scratch / "l", random_records(random.Random(18), 10))
    before = path.read_bytes()
    for words in (["add", path, scratch / "none"], ["add", scratch / "none"], ["merge", path, path],
                  ["create"], ["add"], ["merge", path], ["info"], ["verify"], ["explain", path]):
        done = keyveto_list(*words, status=0 if words == ["merge", path, path] else 2)
        assert done[1], f"no message about {words}"
    equal((names(scratch), path.read_bytes()), (["l"], before), "files")


def test_a_list_for_logins_is_root_owned_and_not_writable_by_others(scratch):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    path = scratch / "l"
    keys = write_lines(scratch / "keys", key_lines(random.Random(19), 1))
    os.umask(0o002)
    keyveto_list("create", path, "--name", "x", keys)
    os.chown(path, 65534, 65534)
    path.chmod(0o666)
    keyveto_list("add", path, made()["rsa"].public)
    os.umask(0o022)
    for one in (path, path.with_name("l.sources")):
        stat = one.stat()
        equal((stat.st_uid, stat.st_gid, stat.st_mode & 0o777), (0, 0, 0o644), one)
