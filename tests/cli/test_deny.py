# SPDX-License-Identifier: ISC
"""keyveto deny: the guard's verdict after each change of keyveto.conf."""

import json
import random
import subprocess

import pytest

import keys
from brake_machine import machine
from config_machine import CONFIG, FILTER, FINGERPRINT, MARKED, SAMPLE, World, day
from program import KEYVETO, PATIENCE, contains, equal, keyveto, make_filter
from runs import tool

pytestmark = pytest.mark.throwaway

NOT_YET = "sshd does not ask keyveto yet: type keyveto enable\n"


def test_the_guard_refuses_the_key_until_it_is_removed(scratch):
    """All other bytes of keyveto.conf stay."""
    for number, text in enumerate((SAMPLE, MARKED + SAMPLE, "OnError allow", b"OnError allow\r\n# \xff\n", "",
                                   SAMPLE + MARKED)):
        text = text if isinstance(text, bytes) else text.encode()
        folder = scratch / str(number)
        folder.mkdir(mode=0o755)
        world = World(folder, text)
        assert world.lets_in(world.clean)
        done = keyveto("deny", world.clean.fingerprint, "incident", "4711", status=0)
        contains(done.stdout, f"once sshd asks keyveto, {world.clean.fingerprint} is refused\n{NOT_YET}"
                 f"to take this back: keyveto deny --remove {world.clean.fingerprint}\n")
        end = b"" if text == b"" or text.endswith(b"\n") else b"\n"
        equal(CONFIG.read_bytes(), text + end + f"DenyKey {world.clean.fingerprint} incident 4711\n".encode())
        assert not world.lets_in(world.clean)
        contains(keyveto("check", world.clean.path, status=1).stdout, ": listed: ",
                 "[keyveto.conf DenyKey] (incident 4711)")
        found = json.loads(keyveto("check", "--json", world.clean.path, status=1).stdout.splitlines()[0])
        equal((found["verdict"], found["lists"], found["sources"], found["reason"]),
              ("listed", ["keyveto.conf"], ["DenyKey"], "incident 4711"))
        contains(keyveto("why", world.clean.path, status=0).stdout, "A DenyKey line of keyveto.conf names it.\n",
                 "incident 4711", f"Once sshd asks keyveto, a login with it is refused.\n{NOT_YET}")
        contains(keyveto("deny", world.clean.fingerprint, "incident 4711", status=0).stdout, "named already")
        contains(keyveto("deny", "--remove", world.clean.fingerprint, status=0).stdout, "taken out: DenyKey")
        equal(CONFIG.read_bytes(), text + end)
        assert world.lets_in(world.clean)
        contains(keyveto("deny", "--remove", world.clean.fingerprint, status=2).stderr, "no DenyKey line of")
        world.nothing_left()


def test_it_wins_over_allow_and_needs_no_filter(scratch):
    world = World(scratch)
    mine = world.leaked.fingerprint
    keyveto("allow", mine, "--forever", "x", status=0)
    assert world.lets_in(world.leaked)
    keyveto("deny", mine, status=0)
    assert not world.lets_in(world.leaked)
    contains(keyveto("status", "--json").stdout, "this AllowKey line has no effect: a DenyKey line names")
    world.write(f"OnError allow\nDenyKey {mine}\n")
    FILTER.unlink()
    assert world.lets_in(world.clean) and not world.lets_in(world.leaked)
    world.write(f"OnError allow\nNoSuchKeyword\nDenyKey {mine}\n")
    assert world.lets_in(world.clean) and not world.lets_in(world.leaked)


def test_since_says_from_which_day_on(scratch):
    world = World(scratch)
    for date, is_in in ((day(1), True), (day(), False), (day(-1), False)):
        done = keyveto("deny", "--since", date, world.clean.fingerprint, "x", status=0)
        contains(world.text, f"DenyKey {world.clean.fingerprint} since={date} x\n")
        equal(world.lets_in(world.clean), is_in)
        contains(done.stdout, f"is refused from {date} on (UTC)" if is_in else "is refused\n")
    contains(keyveto("deny", "--since", date, "--remove", FINGERPRINT, status=2).stderr, "neither --since nor --yes")


def test_a_later_date_lets_in_no_key_that_is_refused_now(scratch):
    """A feed with it may come with a date, and somebody may have put it after a line that does not count yet."""
    world, other = World(scratch), keys.generate(scratch).key
    mine, feed = world.clean.fingerprint, scratch / "feed"
    feed.write_text(f"{other.fingerprint}\n{mine}\n", encoding="ascii")
    for lines in (f"DenyKey {mine} stolen # 4711\n", f"DenyKey {mine} since={day()} stolen\r\n",
                  f"DenyKey {mine} since={day(1)}\nDenyKey {mine} since={day(-1)} stolen\n"):
        world.write(SAMPLE + lines)
        before = CONFIG.read_bytes()
        done = keyveto("deny", "--since", "2100-01-01", feed, "retired", status=0)
        equal(CONFIG.read_bytes(), before + f"DenyKey {other.fingerprint} since=2100-01-01 retired\n".encode())
        assert not world.lets_in(world.clean)
        contains(done.stderr, f"note: {CONFIG}: a DenyKey line of {mine} counts now, and stays as it is",
                 f"type keyveto deny --remove {mine} first")
        contains(done.stdout, "1 key is refused from 2100-01-01 on (UTC)\n", "--remove (a file of only these keys)")
        before = CONFIG.read_bytes()
        done = keyveto("deny", "--since", day(1), mine, status=0)
        equal(CONFIG.read_bytes(), before)
        contains(done.stderr, f"type keyveto deny --remove {mine} first")
        contains(done.stdout, f"{mine} is named already")
        keyveto("deny", "--remove", mine, status=0)
        keyveto("deny", "--since", day(1), mine, status=0)
        assert world.lets_in(world.clean)
        equal(keyveto("deny", "--since", "2100-01-01", mine, status=0).stderr, "")
        contains(world.text, f"DenyKey {mine} since=2100-01-01\n")


def test_keys_and_fingerprints_come_in_any_form(scratch):
    """As words, in a file of keys, a list of fingerprints, a log, or on standard input."""
    some = [keys.generate(scratch) for _ in range(3)]
    marks = [one.key.fingerprint for one in some]
    certificate = keys.certify(some[1], some[0], "root").certificate
    files = {
        "keys": ("".join(f"{one.key}\n" for one in some), 3),
        "NUL": ("\0".join(f"{one.key} x" for one in some), 3),
        "bare": ("".join(f"{str(one.key).split()[1]}\n" for one in some), 3),
        "certificate": (f"{certificate}\n", 1),
        "list": ("# banned\n\n" + "".join(f"{mark}\n" for mark in marks), 3),
        "yaml": ("---\nbanned:\n" + "".join(f"  - {mark} # why\r\n" for mark in marks), 3),
        "ssh-keygen": ("".join(f"256 {mark} a comment (ED25519)\n" for mark in marks), 3),
        "log": (f"verdict=listed key_type=ssh-ed25519 key_fp={marks[0]} part=key\n", 1),
        "one line": (f"{marks[0]},{marks[1]}={marks[2]}", 3),
        "private": (some[0].path.read_text(encoding="ascii"), 1),
        "twice": (f"{marks[0]}\n{marks[0]}\n", 1),
    }
    for name, (text, count) in files.items():
        path = scratch / name
        path.write_text(text, encoding="utf-8")
        for word, given in ((path, None), ("-", text)):
            folder = scratch / f"{name} {given is None}"
            folder.mkdir(mode=0o755)
            world = World(folder)
            keyveto("deny", word, "x", status=0, input=given)
            equal(sorted(world.text.removeprefix(SAMPLE).splitlines()),
                  sorted(f"DenyKey {mark} x" for mark in marks[:count]), name)
            keyveto("deny", "--remove", word, status=0, input=given)
            equal(world.text, SAMPLE)
    for words in ((f"key_fp={marks[0]}",), (f"{some[0].key} a comment",), tuple(str(some[0].key).split()[:2])):
        keyveto("deny", *words, status=0)
        contains(world.text, f"DenyKey {marks[0]}\n")
        keyveto("deny", "--remove", *words, status=0)


def test_the_owner_of_a_key_does_not_choose_which_one_is_refused(scratch):
    """Comments that name another key's fingerprint."""
    world = World(scratch)
    owner, victim = keys.generate(scratch), world.clean.fingerprint
    key, private = owner.key, owner.path.read_text(encoding="ascii")
    for number, text in enumerate((f"{key} {victim}\n", f"restrict {key} {victim}\n", f"{key} SHA256:none\n",
                                   f"host {key} {victim}\n", f"# {victim}\n{key}\n", private)):
        path = scratch / f"comment{number}"
        path.write_text(text, encoding="ascii")
        keyveto("deny", path, status=0)
        equal(world.text.removeprefix(SAMPLE), f"DenyKey {key.fingerprint}\n", text)
        keyveto("deny", "--remove", path, status=0)
    path.write_text(f"{victim}\n{key}\n", encoding="ascii")
    contains(keyveto("deny", path, status=2).stderr, f"{path}:2: a key, and the file has other fingerprints")
    path.write_text(f"{private}comment: {victim}\n", encoding="ascii")
    contains(keyveto("deny", path, status=2).stderr, f"{path}:1: a key, and the file has other fingerprints")
    equal(world.text, SAMPLE)


def test_an_md5_fingerprint_in_a_file_gets_the_form_that_is_needed(scratch):
    World(scratch)
    path = scratch / "marks"
    for line in ("MD5:" + "aa:" * 15 + "aa", "256 MD5:" + "bb:" * 15 + "bb someone (ED25519)", "SHA256:short"):
        path.write_text(f"# banned\n{line}\n", encoding="ascii")
        contains(keyveto("deny", path, status=2).stderr, f"{path}:2: not SHA256: and 43 characters: type ssh-keygen -l")


def test_fingerprints_beside_keys_in_a_line_of_json_are_refused(scratch):
    """Else some of what is named would not be denied. A key's own fingerprint, and what its owner wrote, are none."""
    world = World(scratch)
    key, other, victim = keys.generate(scratch).key, keys.generate(scratch).key, world.clean.fingerprint
    rows = [{"k": str(key), "fp": key.fingerprint}, {"fp": other.fingerprint, "k": f'{other} "{victim}"'}]
    path = scratch / "file"
    for separators in (None, (",", ":")):
        for text in (json.dumps(rows, separators=separators),
                     "".join(f"{json.dumps(row, separators=separators)}\n" for row in rows)):
            path.write_text(text, encoding="ascii")
            keyveto("deny", path, status=0)
            equal(sorted(world.text.removeprefix(SAMPLE).splitlines()),
                  sorted(f"DenyKey {one.fingerprint}" for one in (key, other)), text)
            keyveto("deny", "--remove", path, status=0)
        for more in ({"fp": victim}, [victim]):
            path.write_text(f"{json.dumps(rows + [more], separators=separators)}\n", encoding="ascii")
            contains(keyveto("deny", path, status=2).stderr, f"{path}:1: a key, and the file has other fingerprints")
            equal(world.text, SAMPLE)


def test_allow_says_that_deny_wins(scratch):
    world = World(scratch)
    keyveto("deny", world.clean.fingerprint, status=0)
    done = keyveto("allow", "--forever", world.clean.fingerprint, "x", status=2)
    contains(done.stderr, f"type keyveto deny --remove {world.clean.fingerprint} first")
    other = scratch / "other.conf"
    other.write_text(f"OnHit deny\nDenyKey {world.clean.fingerprint}\n", encoding="ascii")
    for words in (("allow", "--forever"), ("deny", "--since", "2100-01-01")):
        done = keyveto(*words, "--config", other, world.clean.fingerprint, *(("x",) if "allow" in words else ()))
        contains(done.stderr, f"type keyveto deny --remove {world.clean.fingerprint} --config {other} first")
    equal(world.text, f"{SAMPLE}DenyKey {world.clean.fingerprint}\n")


def test_a_device_is_refused_and_a_slow_pipe_is_waited_for(scratch):
    world = World(scratch)
    trap = scratch / "trap"
    trap.symlink_to("/dev/zero")
    contains(keyveto("deny", trap, status=2).stderr, f"{trap}: neither a file nor a pipe")
    subprocess.run(["bash", "-c", f'"$1" deny <(sleep 1; echo {FINGERPRINT})', "bash", KEYVETO], check=True)
    equal(world.text.removeprefix(SAMPLE), f"DenyKey {FINGERPRINT}\n")


def test_the_keys_of_a_krl_are_refused_by_what_ssh_keygen_lists(scratch):
    """A KRL itself is a problem that says what to type, for each command that reads keys."""
    world = World(scratch)
    some = [keys.generate(scratch) for _ in range(4)]
    krl = scratch / "krl"
    tool("ssh-keygen", "-q", "-k", "-f", krl, "-s", some[3].path, "-",
         input="serial: 5-9\n" + "".join(f"key: {one.key}\n" for one in some[:3]), text=True)
    for words in (("deny", krl), ("check", krl), ("check", "-"), ("list", "create", scratch / "l", krl)):
        done = keyveto(*words, status=2, stdin=krl.open("rb"))
        contains(done.stderr, "KRL of OpenSSH: keyveto does not look into it: type ssh-keygen -Ql -f FILE | grep "
                 "^hash: | keyveto deny -")
    equal(world.text, SAMPLE)
    equal(keyveto("check", scratch, "--filter", FILTER).stderr.count("KRL"), 0)
    subprocess.run(["sh", "-c", f'ssh-keygen -Ql -f {krl} | grep ^hash: | "$1" deny -', "sh", KEYVETO], check=True)
    equal(sorted(world.text.removeprefix(SAMPLE).splitlines()),
          sorted(f"DenyKey {one.key.fingerprint}" for one in some[:3]))


def test_bad_requests_are_refused_and_nothing_is_written(scratch):
    world = World(scratch)
    before = CONFIG.stat()
    files = {"half": f"{FINGERPRINT}\nSHA256:abc\n", "empty": "", "text": "no key\n", "long": f"x{FINGERPRINT}A\n",
             "md5": "MD5:" + ":".join(["00"] * 16) + "\n"}
    for name, text in files.items():
        (scratch / name).write_text(text, encoding="ascii")
    for words, message in (((), "deny needs a fingerprint"), ((FINGERPRINT[:-1],), "not a fingerprint"),
                           ((FINGERPRINT, "a\nOnHit warn"), "control character"),
                           ((FINGERPRINT, "since=tomorrow"), "cannot begin with since="),
                           ((FINGERPRINT, "x" * 513), "more than 512 bytes"), (("MD5:00:11",), "-E sha256"),
                           (("--remove", FINGERPRINT, "x"), "takes no reason"),
                           (("--since", "soon", FINGERPRINT), "takes a date"),
                           ((scratch / "half",), "half:2: "), ((scratch / "long",), "long:1: "),
                           ((scratch / "empty",), "no SSH key and no fingerprint"),
                           ((scratch / "none",), "No such file"), ((scratch / "text",), "text:1: "),
                           ((scratch / "md5",), "md5:1: "), ((scratch,), "neither a file nor a pipe")):
        contains(keyveto("deny", *words, status=2).stderr, message)
    equal((CONFIG.stat().st_ino, world.text), (before.st_ino, SAMPLE))
    world.nothing_left()


@pytest.mark.parametrize("words, verdict", ((("allow", "--until", day(30)), "allowed"), (("deny",), "listed")))
def test_any_reason_is_logged_as_it_was_given(scratch, words, verdict):
    world, rnd = World(scratch), random.Random(3)
    key = world.leaked if verdict == "allowed" else world.clean
    for _ in range(50):
        reason = "".join(rnd.choice("ab #\"\\'=,$%;é ") for _ in range(rnd.randrange(1, 12)))
        if not reason.strip(" "):
            continue
        keyveto(*words, key.fingerprint, *reason.split(" "), status=0)
        found = json.loads(keyveto("check", "--json", "--all", key.path).stdout.splitlines()[0])
        equal((found["verdict"], found["reason"]), (verdict, reason), world.text.splitlines()[-1])
        equal(world.lets_in(key), verdict == "allowed")


def test_twenty_runs_at_the_same_time_lose_no_line(scratch):
    world = World(scratch)
    some = [keys.generate(scratch).key.fingerprint for _ in range(20)]
    running = [subprocess.Popen([KEYVETO, "deny", one], stdout=subprocess.DEVNULL) for one in some]
    for process in running:
        equal(process.wait(PATIENCE), 0)
    equal(sorted(world.text.removeprefix(SAMPLE).splitlines()), sorted(f"DenyKey {one}" for one in some))
    world.nothing_left()


@pytest.mark.usefixtures("host_keys")
def test_a_key_of_root_is_refused_only_with_yes(scratch):
    with machine(scratch) as here:
        root = here.authorize_root(here.world.clean, here.world.bad)
        mine = here.world.bad.fingerprint
        here.configure(f"Filter {FILTER}", "OnError allow")
        contains(here.is_held("deny", mine), f"root's key ({root}:2) will be refused: ssh-ed25519 {mine}",
                 f"{CONFIG}: the change would refuse a key of root", f"{CONFIG}: stays as it is", "give --yes")
        other = keys.generate(here.scratch).key
        equal(keyveto("deny", other.fingerprint, status=0).stderr, "")
        contains(here.is_held("deny", "--since", day(1), mine), f"will be refused: ssh-ed25519 {mine}", "give --yes")
        keyveto("deny", "--since", day(1), other.fingerprint, status=0)
        keyveto("deny", "--since", day(1), mine, "--yes", status=0)
        # Each day counts: on the last one an AllowKey line helps no more.
        here.configure(f"Filter {make_filter(scratch / 'bad.pkbf', here.world.bad)}", "OnError allow",
                       f"AllowKey {mine} until=2030-01-01", f"DenyKey {other.fingerprint} since=2100-01-01")
        contains(here.is_held("deny", "--since", day(1), mine), f"will be refused: ssh-ed25519 {mine}")
        here.configure(f"Filter {FILTER}", "OnError allow", f"DenyKey {mine} since={day(1)}")
        # What was agreed to is not asked again.
        keyveto("deny", "--since", day(1), keys.generate(here.scratch).key.fingerprint, status=0)
        contains(keyveto("deny", mine, "--yes", status=0).stderr, f"refused: ssh-ed25519 {mine}, listed by DenyKey")
        keyveto("deny", "--remove", mine, status=0)
        contains(keyveto("deny", "--remove", mine, "--yes", status=2).stderr, "neither --since nor --yes")


@pytest.mark.usefixtures("host_keys")
def test_a_key_of_an_account_that_no_list_has_is_refused(scratch):
    """The brake asks keyveto-reader about it, whose answer names no list but the DenyKey line."""
    with machine(scratch) as here:
        path = here.world.account("bob").authorize(here.world.clean)
        done = keyveto("deny", here.world.clean.fingerprint, "x", status=0)
        contains(done.stderr, f"bob's key ({path}:1) will be refused: ssh-ed25519 {here.world.clean.fingerprint}")
        contains(done.stdout, "open sessions stay open: keyveto audit --logins finds them\n")
        contains(done.stdout, f"is refused\n{NOT_YET}")
