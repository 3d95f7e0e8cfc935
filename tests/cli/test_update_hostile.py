# SPDX-License-Identifier: ISC
"""What a publisher cannot do, even one who signs: freeze updates, bring old keys back, refuse good keys."""

import hashlib
import json
import math
import random
import time
from fractions import Fraction

import pytest

import blocklist
import pkbf
import sshkey
from program import ROOT, contains, equal, lacks
from publisher import listing, records
from runs import tool
from samples import write
from update_place import Place, a_filter, revision_of, update_findings

DAY = 86400
LAST = 2 ** 32 - 1
DEMO = ROOT / "testdata/demo/compromised.pub"


def publish(place, body):
    place.page.body, place.page.etag = body, f'"{hashlib.sha256(body).hexdigest()}"'


def keys(first, last):
    """SPKIs, of which any part of any range is the same each time."""
    return [b"key %d" % number for number in range(first, last)]


def filter_of(revision, *spkis, k=10, p=16, time=1700000000):
    made = pkbf.Filter.create(k, p, revision, time)
    for spki in spkis:
        made.add(spki)
    return made.to_bytes()


def with_header(body, **values):
    made = pkbf.Filter.from_bytes(body)
    for name, value in values.items():
        setattr(made, name, value)
    return made.to_bytes()


def notes_of(place):
    return json.loads((place.state / f".{place.target.name}.keyveto-update").read_text(encoding="ascii"))


# --- 1. going back ---------------------------------------------------------------

@pytest.mark.parametrize("by_force", (True, False))
def test_the_last_revision_that_was_rolled_back_freezes_nothing(place, by_force):
    """Whether it came by --force or, from near it, without."""
    publish(place, a_filter(1 if by_force else LAST - 5))
    place.update()
    publish(place, a_filter(LAST, seed="1" if by_force else 0))
    place.update(*["--force"] * by_force)
    place.update("--rollback")
    for _ in range(2):
        contains(place.refuse(), f"still has the revision {LAST} that was rolled back here", "use --force")
    # The same file under another ETag, or none, is the same file.
    for place.page.etag in ('"other"', None, '"third"'):
        said = place.refuse("--quiet")
        assert "that was rolled back here" in said or by_force and "above the latest so far, 1" in said, said
    # Any later one is taken.
    publish(place, a_filter(2 if by_force else LAST - 4))
    contains(place.update(), "updated, revision ")
    publish(place, a_filter(LAST, seed="1" if by_force else 0))
    said = place.refuse("--dry-run")
    if by_force:
        contains(said, f"is revision {LAST}, more than 100000000 above the latest so far, 2: ")
    else:
        contains(said, "that was rolled back here")
    contains(place.update("--force"), f"-> {LAST}, ")
    contains(place.update(), f"already current, revision {LAST}")


def test_of_several_that_were_rolled_back_from_the_last_one_stays_away(place):
    """Also after another one was installed. The others are files as any."""
    publish(place, a_filter(1))
    place.update()
    for revision in (5, 4):
        publish(place, a_filter(revision))
        place.update()
        place.update("--rollback")
        equal(revision_of(place.target), 1)
    publish(place, a_filter(2))
    contains(place.update(), "updated, revision 1 -> 2")
    publish(place, a_filter(4))
    contains(place.refuse(), "that was rolled back here")
    # An older keyveto noted several, of lists without a revision.
    several = {"unwanted_sha256": f"{64 * '0'} {notes_of(place)['unwanted_sha256']}", "unwanted_revision": -1}
    (place.state / ".filter.pkbf.keyveto-update").write_text(json.dumps(notes_of(place) | several | {"etag": ""}))
    contains(place.refuse(), "that was rolled back here")
    contains(place.update("--force"), "updated, revision 2 -> 4")
    contains(place.update(), "already current, revision 4")
    publish(place, a_filter(5))
    contains(place.update(), "updated, revision 4 -> 5")


def test_notes_of_an_older_keyveto_still_count(place):
    """They have the revision that was rolled back, or of a list the hash, and nothing else."""
    for revision in (1, LAST):
        publish(place, a_filter(revision))
        place.update("--force")
    place.update("--rollback")
    path = place.state / ".filter.pkbf.keyveto-update"
    old = {name: value for name, value in notes_of(place).items()
           if name not in ("unwanted_sha256", "rolled_back", "highest", "asked")}
    path.write_text(json.dumps(old | {"unwanted_sha256": "", "etag": ""}), encoding="ascii")
    contains(place.refuse(), f"still has the revision {LAST} that was rolled back here")
    publish(place, a_filter(2))
    contains(place.update(), "updated, revision 1 -> 2")


def test_a_list_that_was_rolled_back_is_told_at_each_run(lists):
    lists.update()
    lists.publisher.serve(records(1200), "2026-11-02T00:00:00Z")
    lists.update()
    lists.update("--rollback")
    for words in ((), ("--quiet",), ("--dry-run",)):
        contains(lists.refuse(*words), "still has the list of 2026-11-02 that was rolled back here", "use --force")
    # Also if it has another date now.
    lists.publisher.publish(date="2026-11-03T00:00:00Z")
    contains(lists.refuse(), "that was rolled back here")
    lists.publisher.serve(records(1400), "2026-11-06T00:00:00Z")
    contains(lists.update(), "updated, 1000 -> 1400 records")


def updates_in_doctor(scratch, word, target):
    config = scratch / "doctor.conf"
    write(config, f"{word} {target}\n").chmod(0o644)
    return update_findings(config)


def test_doctor_says_that_the_newest_filter_was_rolled_back(place, scratch):
    for revision in (1, 2):
        publish(place, a_filter(revision))
        place.update()
    equal([one["status"] for one in updates_in_doctor(scratch, "Filter", place.target)], ["ok"])
    place.update("--rollback")
    for _ in range(2):
        found = updates_in_doctor(scratch, "Filter", place.target)
        equal([one["status"] for one in found], ["warning"])
        contains(found[0]["found"], f"{place.target}: was rolled back from revision 2, and no update has found another")
        contains(found[0]["remedy"], "--force")
        place.refuse()
    publish(place, a_filter(3))
    place.update()
    equal([one["status"] for one in updates_in_doctor(scratch, "Filter", place.target)], ["ok"])


def test_doctor_says_that_the_newest_list_was_rolled_back(lists, scratch):
    lists.update()
    lists.publisher.serve(records(1200), "2026-11-02T00:00:00Z")
    lists.update()
    lists.update("--rollback")
    lists.refuse()
    found = updates_in_doctor(scratch, "Blocklist", lists.target)
    equal([one["status"] for one in found], ["warning"])
    contains(found[0]["found"], f"{lists.target}: was rolled back, and no update has found another one since")
    # The publisher withdraws it, too.
    lists.publisher.serve(records(), "2026-11-03T00:00:00Z")
    lists.update()
    equal([one["status"] for one in updates_in_doctor(scratch, "Blocklist", lists.target)], ["ok"])


# --- 2. jumps --------------------------------------------------------------------

def test_a_revision_far_above_the_others_needs_force(place):
    publish(place, a_filter(7))
    place.update()
    for revision in (LAST, 100_000_008):
        publish(place, a_filter(revision))
        contains(place.refuse(), f"is revision {revision}, more than 100000000 above the latest so far, 7: ",
                 "use --force")
    publish(place, a_filter(100_000_007))
    contains(place.update(), "updated, revision 7 -> 100000007")
    publish(place, a_filter(LAST))
    contains(place.update("--force"), f"updated, revision 100000007 -> {LAST}")
    contains(place.update(), f"already current, revision {LAST}")


def test_a_header_from_the_future_needs_force(place):
    publish(place, a_filter(1))
    place.update()
    ahead = with_header(a_filter(2), time=int(time.time()) + DAY + 600)
    for body in (ahead, with_header(a_filter(2), time=2 ** 64 - 1)):
        publish(place, body)
        contains(place.refuse(), "its header's time is in the future", "use --force")
    # A clock may be a little wrong.
    publish(place, with_header(a_filter(2), time=int(time.time()) + DAY - 600))
    contains(place.update(), "updated, revision 1 -> 2")
    publish(place, with_header(ahead, revision=3))
    contains(place.update("--force"), "updated, revision 2 -> 3")
    # It is in place now, so that this is no longer the question.
    place.page.etag = None
    contains(place.update(), "already current, revision 3")


# --- 3. MaxAge -------------------------------------------------------------------

def test_old_revisions_in_their_order_do_not_pass_maxage(place):
    now = int(time.time())
    place.lines["MaxAge"] = 30
    for revision, days in ((1, 90), (2, 80), (3, 70)):
        publish(place, with_header(a_filter(revision), time=now - days * DAY - DAY // 2))
        result = place.run(status=2)
        contains(result.trouble, f"{place.target}: is {days} days old, more than MaxAge allows (30)")
        equal(revision_of(place.target), revision)
    publish(place, with_header(a_filter(4), time=now - 60 * DAY))
    contains(place.run("--dry-run", status=2).trouble, "is 60 days old, more than MaxAge allows (30)")
    publish(place, with_header(a_filter(4), time=now - DAY))
    contains(place.update(), "updated, revision 3 -> 4")
    result = place.run("--rollback", status=2)
    contains(result.out.decode(), "rolled back, revision 4 -> 3")
    contains(result.trouble, "is 70 days old, more than MaxAge allows (30)")


def test_old_lists_in_their_order_do_not_pass_maxage(lists):
    lists.top["MaxAge"] = 30
    for n, date in ((1000, "2025-01-01"), (1100, "2025-02-01"), (1200, "2025-03-01")):
        lists.publisher.serve(records(n), f"{date}T00:00:00Z")
        result = lists.run(status=2)
        contains(result.trouble, "days old, more than MaxAge allows (30)")
        equal(lists.target.read_bytes(), records(n))


# --- 4. keys that go away --------------------------------------------------------

def without_bits(body, lost, seed, **header):
    """A filter that lacks so many of the bits that are set in body."""
    made = pkbf.Filter.from_bytes(body)
    ones = [i for i in range(8 * len(made.bits)) if made.bits[i // 8] & 1 << (7 - i % 8)]
    for i in random.Random(seed).sample(ones, lost):
        made.bits[i // 8] &= ~(1 << (7 - i % 8)) & 0xff
    return with_header(made.to_bytes(), **header)


def a_tenth(n):
    """The fewest of n that are a tenth of them or more."""
    return math.ceil(Fraction(n, 10))


def test_as_many_entries_that_are_other_ones_are_refused(place):
    """The bits are counted, and those of the old filter must still be there."""
    publish(place, filter_of(1, *keys(0, 1000)))
    place.update()
    publish(place, filter_of(2, *keys(1000, 2500)))
    contains(place.refuse(), "bits of the installed one are no longer set, a tenth or more", "use --force")
    # Some keys are missing, among new ones that share a few of their bits.
    publish(place, filter_of(2, *keys(200, 1100)))
    contains(place.refuse(), "bits of the installed one are no longer set, a tenth or more")
    publish(place, filter_of(2, *keys(50, 1500)))
    result = place.run(status=0)
    contains(result.out.decode(), "updated, revision 1 -> 2")
    contains("\n".join(result.warnings), "bits of the installed one are no longer set: some keys may be accepted again")
    publish(place, filter_of(3, *keys(500, 1600)))
    contains(place.update("--force"), "updated, revision 2 -> 3")


@pytest.mark.parametrize("count", (1, 9, 10, 11, 19, 20, 1000, 1001, 1009, 9999))
def test_of_the_bits_of_a_filter_a_tenth_is_refused_and_one_less_is_not(place, count):
    """Bit by bit. Losses do not add up: they are of what is installed."""
    rnd = random.Random(count)
    full = pkbf.Filter.create(10, 16, 1, 1700000000)
    full.entries = a_tenth(count)
    for i in rnd.sample(range(2 ** 16), count):
        full.bits[i // 8] |= 1 << (7 - i % 8)
    equal(full.set_bits(), count)
    place.lines["MaxFalsePositives"] = 0.5
    publish(place, full.to_bytes())
    place.update()
    least = a_tenth(count)
    # At least one bit is set in a filter.
    if count > 1:
        for lost in (least, least + 1):
            publish(place, without_bits(full.to_bytes(), lost, lost, revision=2))
            contains(place.refuse(), f"{lost} of the {count} bits of the installed one are no longer set, a tenth or "
                                     "more: keys would be accepted again", "use --force")
    body = full.to_bytes()
    for revision in (2, 3, 4):
        lost = a_tenth(count) - 1
        body = without_bits(body, lost, revision, revision=revision)
        publish(place, body)
        result = place.run(status=0)
        contains(result.out.decode(), f"updated, revision {revision - 1} -> {revision}")
        equal(len(result.warnings), 1 if lost else 0)
        if lost:
            contains(result.warnings[0], f"{lost} of the {count} bits of the installed one are no longer set: some")
        count -= lost


def test_of_other_k_or_p_the_entries_count_and_a_warning_says_so(place):
    publish(place, filter_of(1, *keys(0, 1000)))
    place.update()
    for revision, more in ((2, {"p": 17}), (3, {"k": 9, "p": 17}), (4, {"k": 10, "p": 16})):
        publish(place, filter_of(revision, *keys(0, 450), **more))
        contains(place.refuse(), "its bits look like ", "entries, those of the installed one like ", "use --force")
        publish(place, filter_of(revision, *keys(5, 1000), **more))
        result = place.run(status=0)
        contains(result.out.decode(), f"updated, revision {revision - 1} -> {revision}")
        contains("\n".join(result.warnings), "its bits cannot be compared with that one's")


@pytest.mark.parametrize("count", (1, 9, 10, 11, 100, 999, 1000, 1001))
def test_of_the_records_of_a_list_a_tenth_is_refused_and_one_less_is_not(lists, count):
    """Of those of the installed one, however many new ones there are."""
    def of(first, last):
        return b"".join(sorted(hashlib.sha256(b"%d" % number).digest()[:15] + b"\x01"
                               for number in range(first, last)))

    lists.publisher.serve(of(0, count), "2026-11-01T00:00:00Z")
    lists.update()
    least = a_tenth(count)
    for new in (1, 3 * count):
        lists.publisher.serve(of(least, count + new), "2026-11-02T00:00:00Z")
        contains(lists.refuse(), f"{least} of the {count} records of the installed one are not in its list, a tenth or "
                                 "more: their keys would be accepted again", "use --force")
    # Losses do not add up.
    first = last = 0
    for day in (2, 3):
        n = (last or count) - first
        first, last = first + a_tenth(n) - 1, (last or count) + 1
        lists.publisher.serve(of(first, last), f"2026-11-0{day}T00:00:00Z")
        contains(lists.update(), f"updated, {n} -> {last - first} records",
                 f"; without {a_tenth(n) - 1} of the old ones" if a_tenth(n) > 1 else "")
    lists.publisher.serve(of(first + 300, last + 300), "2026-11-04T00:00:00Z")
    contains(lists.refuse(), "a tenth or more")
    contains(lists.update("--force"), "updated, ")


def test_a_record_of_another_source_is_the_same_key(lists):
    """badkeys moves records from its source "new" to others."""
    lists.update()
    moved = bytearray(records())
    moved[15::16] = bytes([99 if byte == 1 else 1 for byte in moved[15::16]])
    lists.publisher.serve(bytes(moved), "2026-11-02T00:00:00Z")
    equal(lists.update(), "updated, 1000 -> 1000 records of 2026-11-02")


# --- 5. an installed file that is gone -------------------------------------------

BROKEN = {"removed": None, "empty": 0, "header": 24, "truncated": 4000}


@pytest.mark.parametrize("how", BROKEN)
def test_a_lost_filter_does_not_let_older_ones_in(place, how):
    for revision in (6, 7):
        publish(place, filter_of(revision, *keys(0, 1000)))
        place.update()
    place.previous.unlink()
    if BROKEN[how] is None:
        place.target.unlink()
    else:
        place.put(place.target.read_bytes()[:BROKEN[how]])
    publish(place, filter_of(6, *keys(0, 1000)))
    result = place.run(status=2)
    if how == "empty":      # Nothing says that it was a filter.
        contains(result.trouble, "is not a filter, and stays as it is", "give --force")
        return
    contains(result.trouble, "is revision 6, older than the revision 7 that was installed before", "use --force")
    publish(place, filter_of(7, *keys(0, 1000)))
    contains(place.run(status=0).out.decode(), "installed, revision 7")
    place.target.unlink()
    publish(place, filter_of(6, *keys(0, 1000)))
    contains(place.update("--force"), "installed, revision 6")


def test_an_older_filter_put_there_by_hand_is_no_way_back(place):
    for revision in (6, 7):
        publish(place, a_filter(revision))
        place.update()
    place.put(a_filter(3))
    publish(place, a_filter(5))
    contains(place.refuse(), "is revision 5, older than the revision 7 that was installed before")
    publish(place, a_filter(7))
    contains(place.update(), "updated, revision 3 -> 7")


@pytest.mark.parametrize("how", ("removed", "truncated"))
def test_a_lost_list_does_not_let_older_ones_in(lists, how):
    lists.publisher.serve(records(1000), "2026-11-10T00:00:00Z")
    lists.update()
    if how == "removed":
        lists.target.unlink()
        lists.sources.unlink()
    else:
        lists.target.write_bytes(lists.target.read_bytes()[:-5])
    lists.publisher.serve(records(1001), "2026-11-09T00:00:00Z")
    contains(lists.run(status=2).trouble,
             "its list is of 2026-11-09, older than the one of 2026-11-10 that was installed before", "use --force")
    lists.publisher.serve(records(1001), "2026-11-11T00:00:00Z")
    contains(lists.run(status=0).out.decode(), "installed, 1001 records of 2026-11-11")


# --- 6. false positives ----------------------------------------------------------

# Of 2048 patterns modulo 64, these residues hold 27: 1.3 % of all keys have all of their five bits there.
RESIDUES = (28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 42, 43, 45)


def made_to_refuse(revision=2, p=16):
    """A filter that lists many times as many keys as its bits look like."""
    made = pkbf.Filter.create(5, p, revision, 1700000000)
    made.bits = bytearray(sum(1 << (63 - n) for n in RESIDUES).to_bytes(8, "big") * (2 ** p // 64))
    made.entries = round(math.log1p(-0.25) / (5 * math.log1p(-2.0 ** -p)))
    return made


@pytest.mark.parametrize("p", (16, 26))
def test_a_filter_made_to_refuse_good_keys_is_seen_by_random_ones(place, p):
    """A small one, which is read at once, and a larger one."""
    bad = made_to_refuse(p=p)
    rnd = random.Random(1)
    listed = sum(bad.contains(rnd.randbytes(32)) for _ in range(2000))
    assert listed > 10, listed
    assert pkbf.rate_by_bits(5, p, 0.25) < 0.001
    for words in ((), ("--force",)):
        publish(place, bad.to_bytes())
        contains(place.refuse(*words), "random keys, which is more than MaxFalsePositives allows (0.001), although its "
                                       "bits look like 0.000977; ask its publisher")
    # Filters of that rate by chance are not.
    place.lines["MaxFalsePositives"] = 0.02
    contains(place.update(), "installed, revision 2")


def test_a_filter_whose_keys_came_by_chance_passes_just_below_the_bound(place):
    """A share of bits by which it lists a little less than allowed."""
    made = pkbf.Filter.create(5, 16, 2, 1700000000)
    rnd = random.Random(2)
    while made.set_bits() < 0.245 * 2 ** 16:
        for _ in range(20):
            made.add(rnd.randbytes(20))
    publish(place, made.to_bytes())
    contains(place.update(), "installed, revision 2", "false positives 0.00")


# --- 7. NeverListed --------------------------------------------------------------

def never(place, scratch, *lines, mode=0o644):
    path = scratch / "never_listed"
    path.unlink(missing_ok=True)
    write(path, "".join(f"{line}\n" for line in lines)).chmod(mode)
    (place.lines if isinstance(place, Place) else place.top)["NeverListed"] = path
    return path


@pytest.fixture(name="mine", scope="module")
def fixture_mine(tmp_path_factory):
    """The lines of three public keys, and of a certificate for the third by the first."""
    folder = tmp_path_factory.mktemp("mine")
    for kind in ("ed25519", "ecdsa", "rsa"):
        tool("ssh-keygen", "-q", "-t", kind, "-N", "", "-C", f"{kind} of mine", "-f", folder / kind)
    tool("ssh-keygen", "-q", "-s", folder / "ed25519", "-I", "id", "-n", "me", folder / "rsa.pub")
    return {name: (folder / f"{name}.pub").read_text(encoding="ascii").strip()
            for name in ("ed25519", "ecdsa", "rsa", "rsa-cert")}


def fingerprint(line):
    return tool("ssh-keygen", "-lf", "-", input=f"{line}\n".encode()).decode().split()[1]


@pytest.mark.long
def test_no_filter_with_a_key_of_never_listed_is_installed(place, scratch, mine):
    publish(place, filter_of(1, *keys(0, 300)))
    path = never(place, scratch, "# mine", mine["ed25519"], "", mine["ecdsa"], mine["rsa"])
    place.update()
    for number, kind in ((2, "ed25519"), (4, "ecdsa"), (5, "rsa")):
        spkis = sshkey.parse_line(mine[kind].encode()).spkis
        publish(place, filter_of(2, *keys(0, 300), spkis[0]))
        for words in ((), ("--force",), ("--yes",), ("--force", "--yes"), ("--dry-run",)):
            said = place.refuse(*words)
            contains(said, f"{path}:{number}: ",
                     f" {fingerprint(mine[kind])} is in {place.site.url()}, and NeverListed says that it must not be",
                     f"is not installed: it lists 1 of the keys in {path}")
            equal(said.count("SHA256:"), 1)
    # The administrator takes the key out.
    never(place, scratch, mine["ed25519"], mine["ecdsa"])
    contains(place.update(), "updated, revision 1 -> 2")


def test_certificates_options_and_pem_in_never_listed(place, scratch, mine):
    """The key of a certificate and its CA's count both."""
    pem = tool("ssh-keygen", "-e", "-m", "PKCS8", "-f", "/dev/stdin", input=f"{mine['ecdsa']}\n".encode()).decode()
    publish(place, filter_of(1, *keys(0, 300)))
    place.update()
    for line, kind, more in ((mine["rsa-cert"], "rsa", ""), (mine["rsa-cert"], "ed25519", "(the certificate's CA) "),
                             (f'from="192.0.2.1",restrict {mine["rsa"]}', "rsa", ""), (pem, "ecdsa", "")):
        path = never(place, scratch, line)
        publish(place, filter_of(2, *keys(0, 300), sshkey.parse_line(mine[kind].encode()).spkis[0]))
        contains(place.refuse(), f"{path}:1: ", f"{more}{fingerprint(mine[kind])} is in ")


def test_no_list_with_a_key_of_never_listed_is_installed(lists, scratch, mine):
    lists.update()
    path = never(lists, scratch, mine["ecdsa"], mine["rsa"])
    for number, kind in ((1, "ecdsa"), (2, "rsa")):
        made = blocklist.Blocklist(records())
        made.add(sshkey.parse_line(mine[kind].encode()), 13)
        lists.publisher.serve(made.encode(), "2026-11-02T00:00:00Z")
        for words in ((), ("--force", "--yes")):
            before = lists.snapshot()
            said = lists.run(*words, status=2).trouble
            equal(lists.snapshot(), before)
            contains(said, f"{path}:{number}: ", f"{fingerprint(mine[kind])} is in {lists.publisher.site.url()[:20]}",
                     f"is not installed: it lists 1 of the keys in {path}")
    never(lists, scratch, mine["ecdsa"])
    contains(lists.update(), "updated, 1000 -> 1001 records")
    # A section may name another file.
    demo = lists.section["NeverListed"] = scratch / "demo.pub"
    write(demo, DEMO.read_bytes()).chmod(0o644)
    lists.publisher.serve(listing(sshkey.parse_line(DEMO.read_bytes()), n=1100), "2026-11-03T00:00:00Z")
    contains(lists.run("--force", status=2).trouble, f"{demo}:1: ", "is not installed")


def test_a_rollback_heeds_never_listed(place, scratch, mine):
    spki = sshkey.parse_line(mine["rsa"].encode()).spkis[0]
    for revision in (1, 2):
        publish(place, filter_of(revision, *keys(0, 300), *[spki] * (revision == 1)))
        place.update("--force")
    path = never(place, scratch, mine["rsa"])
    contains(place.refuse("--rollback"), f"{path}:1: ", "is in filter.pkbf.previous, and NeverListed")
    equal(revision_of(place.target), 2)


def test_a_bad_file_of_never_listed_stops_the_update(place, scratch, mine):
    """Before anything is fetched, and although nothing lists a key."""
    truncated = mine["rsa"][:200]
    for lines, mode, why in (((), 0o644, "has no key; put keys into it"), (("# nothing", ""), 0o644, "has no key"),
                             ((mine["ed25519"], "nonsense"), 0o644, ":2: "), (("nonsense", mine["rsa"]), 0o644, ":1: "),
                             ((mine["ed25519"], "", truncated), 0o644, ":3: "),
                             ((mine["ed25519"], "ssh-unknown AAAAC3NzaC1lZDI1NTE5 x"), 0o644, ":2: "),
                             ((mine["ed25519"],), 0o666, "correct owner and mode"),
                             ((mine["ed25519"],), 0o664, "correct owner and mode")):
        path = never(place, scratch, *lines, mode=mode)
        for words in ((), ("--force", "--yes")):
            contains(place.refuse(*words, early=True), str(path), why)
    path.unlink()
    contains(place.refuse(early=True), f"{path}: No such file")
    path.mkdir()
    contains(place.refuse(early=True), str(path))
    equal(place.site.requests, [])
    place.lines["NeverListed"] = "relative"
    contains(place.refuse(early=True), "NeverListed needs an absolute path")
    lacks(" ".join(place.names()), "filter.pkbf ")
