# SPDX-License-Identifier: ISC
"""Each command that changes a list or filter which logins consult asks first whether it locks somebody out."""

import os
import random
import shutil

import pytest

import keys
import sshkey
from brake_machine import CONFIG, FILTER, LIST, OURS, SETTINGS, STATE
from config_machine import BUILT_GUARD, GUARD
from hostile import put_worker
from program import KEYVETO, TRACED, attempt, contains, copy_programs, equal, keyveto, lacks
from samples import ed25519_line

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]


def other(here, path, *inputs):
    """Another list or filter: what is at path, and the keys of the inputs."""
    made = here.scratch / f"other{path.suffix}"
    shutil.copy(path, made)
    keyveto("filter" if path == FILTER else "list", "add", made, *inputs, status=0)
    return made


# The words of each command that has it put a key into the file; the path of the file.
COMMANDS = {
    "list add": (LIST, lambda here, key: (LIST, key)),
    "list create": (LIST, lambda here, key: (LIST, "--force", here.unused, key)),
    "list merge": (LIST, lambda here, key: (LIST, LIST, other(here, LIST, key))),
    "list merge --force": (LIST, lambda here, key: (LIST, other(here, LIST, key))),
    "filter add": (FILTER, lambda here, key: (FILTER, key)),
    "filter merge": (FILTER, lambda here, key: (FILTER, FILTER, other(here, FILTER, key))),
}


def words_of(here, command, key):
    return command.split() + list(COMMANDS[command][1](here, key))


def refuse_root(here):
    key = here.authorize_root(here.world.clean, here.world.bad)
    return here.write("bad.pub", here.world.bad), [f"root's key ({key}:2) will be refused: ssh-ed25519 ",
                                                   here.world.bad.fingerprint,
                                                   "the new one would refuse a key of root"]


def refuse_last(here):
    here.administrator().authorize(here.world.bad)
    return here.write("bad.pub", here.world.bad), ["the new one would refuse a key of alice, an administrator (group"]


def refuse_ca(here):
    ca = here.write("ca.pub", here.world.bad)
    here.world.sshd_config(f"TrustedUserCAKeys {ca}")
    return ca, ["would refuse all certificates of 1 CA in TrustedUserCAKeys"]


def refuse_many(here):
    for i in range(6):
        here.world.account(f"user{i}").authorize(here.world.bad, here.world.clean)
    return here.write("bad.pub", here.world.bad), ["would refuse keys of 6 accounts, more than HoldIfRefused"]


def hide_root(here):
    here.authorize_root().unlink()
    (here.world.folder / "root/.ssh/authorized_keys").symlink_to("/nonexistent")
    return here.write("bad.pub", here.world.bad), ["symbolic link to nothing", "not all keys of root could be compared"]


def hide_sshd(here):
    here.world.sshd_config("NonsenseKeyword yes")
    return here.write("bad.pub", here.world.bad), ["NonsenseKeyword", "not all keys that sshd lets in"]


REASONS = (refuse_root, refuse_last, refuse_ca, refuse_many, hide_root, hide_sshd)


@pytest.mark.sample(12)
@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_held_for_each_reason(here, command, reason):
    """Nothing is written, and --yes goes on."""
    key, messages = reason(here)
    words, path = words_of(here, command, key), COMMANDS[command][0]
    said = here.is_held(*words)
    contains(said, *messages, f"{path}: the old one stays in use", "keyveto allow", "give --yes")
    lacks(said, " added", "merged")
    assert not here.lists(key, path)
    keyveto(*words, "--yes", status=0)
    assert here.lists(key, path)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_refuses_nobody_passes_without_a_word(here, command):
    """The output has one line, as before there was a brake."""
    here.authorize_root(here.world.clean)
    here.administrator().authorize(here.world.clean)
    words, path = words_of(here, command, here.write("bad.pub", here.world.bad)), COMMANDS[command][0]
    done = keyveto(*words, status=0)
    equal((done.stdout, done.stderr.count("\n"), done.stderr.startswith(f"keyveto: {path}: ")), ("", 1, True),
          done.stderr)


@pytest.mark.parametrize("command", ("list add", "list create", "list merge", "filter add", "filter merge"))
def test_a_worker_that_is_taken_over_is_held(here, command):
    """It has no say in whether the file is one that logins consult, nor in whether --yes was given."""
    key, messages = refuse_root(here)
    words, path = words_of(here, command, key), COMMANDS[command][0]
    bad, before = other(here, path, key).read_bytes(), path.read_bytes()
    programs = here.scratch / "programs"
    programs.mkdir()
    copy_programs(programs)
    put_worker(programs / "keyveto-worker",
               f"hello(); promise({str(path)!r}); replace({str(path)!r}); os.write(begin()[1][0], {bad!r})\n"
               "commit(1, 1); commit(); close()")
    argv = [str(word) for word in (programs / "keyveto", *words)]
    done = attempt(*argv)
    contains(done.stderr, *messages, f"{path}: the old one stays in use")
    equal(path.read_bytes(), before)
    done = attempt(*argv, "--ye")
    equal((done.returncode, path.read_bytes()), (0, bad), done)


def test_the_key_of_another_account_is_named_and_refused(here):
    """No administrator is locked out: the change is made, and says whom it refuses."""
    alice = here.world.account("alice")
    alice.authorize(f"{here.world.bad} laptop")
    said = keyveto("list", "add", LIST, alice.keys_path, status=0).stderr
    contains(said, f"alice's key ({alice.keys_path}:1) will be refused: ssh-ed25519 "
             f"{here.world.bad.fingerprint}, listed by id0, laptop", "1 added")
    # It is known then.
    second = keys.generate(here.scratch).key
    lacks(keyveto("list", "add", LIST, here.write("second.pub", second), status=0).stderr, "alice")


def test_a_new_name_of_a_source_is_said(here):
    alice = here.world.account("alice")
    alice.authorize(here.world.bad)
    contains(keyveto("list", "add", LIST, "--id", 7, "--name", "own", alice.keys_path, status=0).stderr,
             f"{here.world.bad.fingerprint}, listed by own\n")


def test_a_file_that_is_no_filter_any_more_is_refused(here):
    """A filter whose place an exact list takes is an error in each login."""
    here.authorize_root(here.world.clean)
    contains(here.is_held("list", "create", FILTER, "--force", here.unused), "logins consult it as a filter")
    keyveto("filter", "create", FILTER, "--force", "--hashes", 2, "--length", 10, status=0)


def test_holdifrefused_of_the_settings_counts(here):
    """Its groups, its number and never; a file that cannot be read counts as if it were not there."""
    here.world.account("alice").authorize(here.world.bad)
    here.world.append("/etc/group", "ops:x:29998:alice")
    key = here.write("bad.pub", here.world.bad)
    here.configure("HoldIfRefused 5 ops", path=SETTINGS)
    contains(here.is_held("list", "add", LIST, key), "would refuse a key of alice")
    here.configure("HoldIfRefused 0", path=SETTINGS)
    contains(here.is_held("list", "add", LIST, key), "would refuse keys of 1 accounts, more than HoldIfRefused allows")
    root = here.authorize_root(here.world.bad)
    here.configure("Nonsense", path=SETTINGS)
    contains(here.is_held("list", "add", LIST, key), "would refuse a key of root")
    here.configure("HoldIfRefused never", path=SETTINGS)
    contains(keyveto("list", "add", LIST, key, status=0).stderr, f"root's key ({root}:1) will", "1 added")


def test_exceptions_and_warnings_refuse_nobody(here):
    here.authorize_root(here.world.bad)
    key = here.write("bad.pub", here.world.bad)
    names = (f"Blocklist {LIST}", f"Filter {FILTER}")
    here.is_held("list", "add", LIST, key)
    here.is_held("filter", "add", FILTER, key)
    here.configure(*names, "OnProbable warn")
    here.is_held("list", "add", LIST, key)
    contains(keyveto("filter", "add", FILTER, key, status=0).stderr, "will be logged", "1 added")
    here.configure(*names, f"AllowKey {here.world.bad.fingerprint} a trial")
    said = keyveto("list", "add", LIST, key, status=0).stderr
    equal(said.count("\n"), 1, said)


def test_a_key_that_was_let_in_with_a_warning_counts_when_it_is_refused(here):
    """An administrator's other key, which nothing lists, makes no difference."""
    first, second = (keys.generate(here.scratch).key for _ in range(2))
    here.administrator().authorize(first, second)
    here.configure(f"Blocklist {LIST}", f"Filter {FILTER}", "OnProbable warn")
    key = here.write("first.pub", first)
    keyveto("filter", "add", FILTER, key, status=0)
    contains(here.is_held("list", "add", LIST, key), "would refuse a key of alice")


def test_a_list_in_the_state_folder_is_held_before_it_is_named(here):
    here.authorize_root(here.world.bad)
    path = STATE / "soon.dat"
    said = here.is_held("list", "create", path, here.write("bad.pub", here.world.bad))
    contains(said, "would refuse a key of root", f"{path}: it is not installed")
    assert not path.exists()


def test_other_files_are_made_without_a_question(here):
    """No login consults them: as root and as another user, in any form."""
    here.authorize_root(here.world.bad)
    here.world.sshd_config("NonsenseKeyword yes")
    key = here.write("bad.pub", here.world.bad)
    path = here.scratch / "draft.dat"
    equal(keyveto("list", "create", path, key, status=0).stderr, f"keyveto: {path}: 1 added, 0 there already; "
          "now 1 record\n")
    here.scratch.chmod(0o777)
    mine = here.scratch / "nobodys.dat"
    keyveto("list", "create", mine, key, status=0, user=65534, group=65534, extra_groups=[])


@pytest.mark.parametrize("spelling", ("link", "relative", "slashes"))
def test_any_path_that_leads_to_the_list_is_held(here, spelling):
    here.authorize_root(here.world.bad)
    link = here.scratch / "link"
    link.symlink_to(OURS)
    path = {"link": link / LIST.name, "relative": os.path.relpath(LIST), "slashes": f"{OURS}//{LIST.name}"}[spelling]
    contains(here.is_held("list", "add", path, here.write("bad.pub", here.world.bad)), "would refuse a key of root")


def test_a_link_to_a_list_that_is_not_there_yet_is_followed(here):
    here.authorize_root(here.world.bad)
    link, path = OURS / "link.dat", OURS / "folder/real.dat"
    path.parent.mkdir()
    (OURS / "middle.dat").symlink_to(path)
    link.symlink_to("middle.dat")
    here.configure(f"Blocklist {link}")
    contains(here.is_held("list", "create", path, here.write("bad.pub", here.world.bad)), "would refuse a key of root",
             f"{path}: it is not installed")


def test_a_sources_name_is_not_written_either(here):
    here.authorize_root(here.world.bad)
    here.is_held("list", "add", LIST, "--id", 7, "--name", "ours", here.write("bad.pub", here.world.bad))


# --- who may read ------------------------------------------------------------

def nobody_lets_in(key):
    """Whether the guard, run as nobody, lets a key in: it does not without a verdict."""
    shutil.copy(BUILT_GUARD, GUARD)
    GUARD.chmod(0o711)
    words = [GUARD, "--config", CONFIG, "--user", "nobody", "--type", key.type, "--key", key.blob, "--", "/bin/true"]
    return attempt(*words, text=False, user=65534, group=65534, extra_groups=[]).returncode == 0


@pytest.mark.parametrize("mask", (0o077, 0o027, 0o777))
def test_what_logins_consult_can_be_read_whatever_the_umask(here, mask):
    """A guard that runs as nobody has no verdict without it."""
    key = here.write("bad.pub", here.world.bad)
    made = {name: OURS / name for name in ("a.dat", "b.dat", "a.pkbf", "b.pkbf")}
    here.configure(f"Blocklist {LIST}", f"Filter {FILTER}",
                   *(f"{'Filter' if path.suffix == '.pkbf' else 'Blocklist'} {path}" for path in made.values()))
    options = {"umask": mask}
    keyveto("list", "create", made["a.dat"], "--name", "ours", key, status=0, **options)
    keyveto("list", "merge", made["b.dat"], LIST, made["a.dat"], status=0, **options)
    keyveto("filter", "create", made["a.pkbf"], "--hashes", 2, "--length", 10, status=0, **options)
    keyveto("filter", "merge", made["b.pkbf"], FILTER, status=0, **options)
    for path in (*made.values(), OURS / "a.dat.sources"):
        equal(oct(path.stat().st_mode & 0o7777), "0o644", path)
    assert nobody_lets_in(here.world.clean)
    made["b.dat"].chmod(0o600)
    assert not nobody_lets_in(here.world.clean)
    # What no login consults is as readable as the output of any other tool.
    draft = here.scratch / "draft.dat"
    keyveto("list", "create", draft, key, status=0, **options)
    equal(draft.stat().st_mode & 0o7777, 0o644 & ~mask)
    # In the state folder it may be named soon.
    soon = STATE / "soon.dat"
    keyveto("list", "create", soon, key, status=0, **options)
    equal(soon.stat().st_mode & 0o7777, 0o644)


def test_the_mode_of_a_file_that_is_there_stays(here):
    """An administrator may have closed it to all but the guard's group."""
    LIST.chmod(0o640)
    os.chown(LIST, 0, 65534)
    keyveto("list", "add", LIST, here.write("bad.pub", here.world.bad), status=0, umask=0o077)
    equal((oct(LIST.stat().st_mode & 0o7777), LIST.stat().st_gid), ("0o640", 65534))
    equal(CONFIG.stat().st_mode & 0o7777, 0o644)


NO_SECRET = sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(bytes([1, *bytes(31)])))


@pytest.fixture(name="no_secret")
def fixture_no_secret(here):
    """The file of a key that needs no secret. It is root's, six accounts', an administrator's last one, and a CA."""
    line = sshkey.key_line(NO_SECRET)
    here.authorize_root(here.world.clean, line)
    here.administrator().authorize(line)
    for i in range(6):
        here.world.account(f"user{i}").authorize(line)
    path = here.write("none.pub", line)
    here.world.sshd_config(f"TrustedUserCAKeys {path}")
    return path


# Where sshd finds, or does not find, a CA's file; {0} is a folder: the lines, what makes the file, and what is said.
CAS = {
    "relative": ("TrustedUserCAKeys ca-of-keyveto.pub", "/ca-of-keyveto.pub", "1 CA in TrustedUserCAKeys"),
    "relative in a block": ("Match User root\nTrustedUserCAKeys ca-of-keyveto.pub", "/ca-of-keyveto.pub",
                            "1 CA in TrustedUserCAKeys"),
    "quotes in a block by origin": ('Match Address 192.0.2.1\nTrustedUserCAKeys "{0}/a ca"', "{0}/a ca",
                                    "1 CA in TrustedUserCAKeys"),
    "relative in a block by origin": ("Match Address 192.0.2.1\nTrustedUserCAKeys ca-of-keyveto.pub",
                                      "/ca-of-keyveto.pub", "is no absolute path"),
    "a link to itself": ("TrustedUserCAKeys {0}/loop", None, "Too many levels of symbolic links"),
    "a FIFO": ("TrustedUserCAKeys {0}/fifo", None, "nobody writes to this FIFO"),
    "missing": ("TrustedUserCAKeys {0}/none", None, None),
    "below a file": ("TrustedUserCAKeys /etc/passwd/none", None, None),
    "a folder": ("TrustedUserCAKeys {0}", None, None),
    "/dev/null": ("TrustedUserCAKeys /dev/null", None, None),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", CAS)
def test_cas_count_as_sshd_finds_them(here, name):
    """Whoever calls keyveto from where. A file that sshd finds nothing in holds nothing; one unread holds."""
    lines, path, said = CAS[name]
    here.authorize_root(here.world.clean)
    here.write("ca-of-keyveto.pub", here.world.clean)
    (here.scratch / "loop").symlink_to("loop")
    os.mkfifo(here.scratch / "fifo")
    path = path and path.format(here.scratch)
    if path:
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{here.world.bad}\n")
    here.world.sshd_config(lines.format(here.scratch))
    words = "list", "add", LIST, here.write("bad.pub", here.world.bad)
    try:
        if said:
            contains(keyveto(*words, status=2, cwd=here.scratch).stderr, said)
            contains(here.is_held(*words), said)
            keyveto(*words, "--yes", status=0)
        else:
            equal(keyveto(*words, status=0, cwd=here.scratch).stderr, f"keyveto: {LIST}: 1 added, 0 there already; "
                  "now 2 records\n")
    finally:
        if path:
            os.unlink(path)


@pytest.mark.sample(4)
@pytest.mark.parametrize("own", (True, False), ids=("that key", "another key"))
@pytest.mark.parametrize("command", COMMANDS)
def test_a_key_that_needs_no_secret_holds_nothing(here, command, no_secret, own):
    """It is refused already, so no list locks anybody out by it."""
    key = no_secret if own else here.write("bad.pub", here.world.bad)
    before, path = {name: name.read_bytes() for name in (LIST, FILTER)}, COMMANDS[command][0]
    done = keyveto(*words_of(here, command, key), status=0)
    equal((done.stdout, done.stderr.count("\n"), done.stderr.startswith(f"keyveto: {path}: ")), ("", 1, True),
          done.stderr)
    equal([name for name, data in before.items() if name.read_bytes() != data], [path])


def test_a_key_that_needs_no_secret_and_is_let_in_holds_as_any_other(here, no_secret):
    """While AllowKey lets it in, a keyveto.conf without that line refuses it."""
    fingerprint = sshkey.fingerprint(NO_SECRET)
    here.configure(*CONFIG.read_text(encoding="ascii").splitlines(), f"AllowKey {fingerprint}")
    contains(here.is_held("allow", "--remove", fingerprint), "would refuse a key of root",
             "would refuse a key of alice", "would refuse keys of 8 accounts",
             "would refuse all certificates of 1 CA in TrustedUserCAKeys")
    contains(keyveto("check", "--config", CONFIG, "--all", no_secret, status=0).stdout, ": allowed: ")
    keyveto("allow", "--remove", "--yes", fingerprint, status=0)


def sends(here, keys_of_root):
    """How many packets list add sends to keyveto-reader, while root has so many keys."""
    rnd, log = random.Random(keys_of_root), here.scratch / "calls"
    here.authorize_root(*(ed25519_line(rnd.randbytes(32)) for _ in range(keys_of_root)))
    done = attempt("strace", "-f", "-qq", "-e", "trace=sendmsg", "-o", log, KEYVETO, "list", "add", LIST,
                   here.write("new.pub", ed25519_line(rnd.randbytes(32))), env=TRACED)
    equal(done.returncode, 0, done.stderr)
    return log.read_text(encoding="latin-1").count("sendmsg(")


def test_of_a_key_that_changes_nothing_only_the_new_files_are_asked(here):
    """Not the old ones, too: that takes twice as long. The account's first key is asked of both."""
    more = sends(here, 330) - sends(here, 30)
    assert more <= 310, more
