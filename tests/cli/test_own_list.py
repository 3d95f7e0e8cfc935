# SPDX-License-Identifier: ISC
"""The free list of an ordinary user: keyveto update and keyveto check without arguments."""

import os
import pty
import shutil
import stat
import subprocess
import threading
from pathlib import Path

import pytest

import sshkey
from program import KEYVETO, PATIENCE, ROOT, attempt, contains, copy_programs, equal, keyveto, lacks, wait_until
from publisher import LIST, MANIFEST, Publisher, listing, records
from runs import as_nobody, nothing_raw
from samples import empty_filter, write
from update_place import authority

DEMO = ROOT / "testdata/demo/compromised.pub"
NOBODY = 65534 if os.geteuid() == 0 else os.geteuid()


class User:
    """An ordinary user with a home, and the publisher of the free list."""

    def __init__(self, scratch):
        self.scratch, self.home = scratch, scratch / "home"
        self.ssh, self.cache = self.home / ".ssh", self.home / ".cache"
        self.folder = self.cache / "keyveto"
        self.list = self.folder / "badkeys.dat"
        self.settings = scratch / "update.conf"
        self.publisher = Publisher(listing(sshkey.parse_line(DEMO.read_bytes())))
        self.program = copy_programs(scratch)
        shutil.copy(authority().certificate, scratch / "ca.pem")
        (scratch / "ca.pem").chmod(0o644)
        for folder in (self.home, self.ssh):
            self.make(folder)
        self.write_settings(self.settings)

    def make(self, folder, mode=0o755, owner=NOBODY):
        folder.mkdir(mode=mode, parents=True)
        folder.chmod(mode)
        os.chown(folder, owner, owner)
        return folder

    def write_settings(self, path, more=""):
        write(path, f"CAFile {self.scratch}/ca.pem\nProxy none\nTimeout 20\nSource badkeys\n"
                    f"URL {self.publisher.site.url(MANIFEST)}\n{more}").chmod(0o644)

    def environment(self, changes):
        made = {"PATH": os.environ["PATH"], "HOME": str(self.home), **changes}
        return {name: str(value) for name, value in made.items() if value is not None}

    def arguments(self, *words):
        return as_nobody(str(self.program), *map(str, words))

    def run(self, *words, status=None, stdin=subprocess.DEVNULL, cwd="/", **environment):
        done = attempt(*self.arguments(*words), env=self.environment(environment), cwd=cwd,
                       **{"input": stdin} if isinstance(stdin, str) else {"stdin": stdin})
        nothing_raw((done.stdout + done.stderr).encode())
        if status is not None:
            equal(done.returncode, status, done.stdout + done.stderr)
        return done

    def update(self, *words, **options):
        return self.run("update", "--settings", self.settings, *words, **options)

    def close(self):
        self.publisher.site.close()


@pytest.fixture(name="user")
def fixture_user(scratch):
    made = User(scratch)
    yield made
    made.close()


def mode_of(path):
    seen = path.lstat()
    return seen.st_uid, stat.S_IMODE(seen.st_mode)


def add_demo_key(user):
    shutil.copy(DEMO, user.ssh / "authorized_keys")


def test_the_list_lies_below_the_own_cache_and_check_reads_the_own_keys_with_it(user):
    add_demo_key(user)
    done = user.update(status=0)
    contains(done.stdout, f"{user.list}: installed, 101 records of 2026-11-01\n")
    # No login consults it, and none is meant to.
    equal(done.stderr, "")
    equal([mode_of(path) for path in (user.cache, user.folder, user.list)],
          [(NOBODY, 0o700), (NOBODY, 0o700), (NOBODY, 0o644)])
    done = user.run("check", status=1)
    contains(done.stdout, f"{user.ssh}/authorized_keys:1: listed: ", f"[{user.list} git]\n")
    equal(done.stderr, f"keyveto: checking {user.ssh} with {user.list}\n"
                       "keyveto: 1 key in 1 file: 1 listed, 0 clean\n")
    equal(user.run("check", "--quiet", status=1).stderr, "")
    contains(user.run("check", user.ssh / "authorized_keys", status=1).stdout, f"[{user.list} git]\n")
    contains(user.run("why", DEMO.read_text(encoding="ascii"), status=0).stdout, str(user.list))
    contains(user.update(status=0).stdout, ": already current")


def test_an_absolute_xdg_cache_home_counts_and_a_relative_one_does_not(user):
    other = user.make(user.home / "elsewhere")
    for value, folder in (("relative/cache", user.cache), ("", user.cache), (other / "deep/er", other / "deep/er")):
        contains(user.update(status=0, XDG_CACHE_HOME=value).stdout, f"{folder}/keyveto/badkeys.dat: installed, ")
        equal(mode_of(folder / "keyveto"), (NOBODY, 0o700))
        contains(user.run("check", XDG_CACHE_HOME=value).stderr, f"with {folder}/keyveto/badkeys.dat")
        shutil.rmtree(folder)
    assert not list(user.home.rglob("relative"))


def test_without_home_the_password_database_says_where(user):
    import pwd
    home = pwd.getpwuid(NOBODY).pw_dir
    for value in (None, "", "not/absolute"):
        done = user.run("check", HOME=value)
        contains(done.stderr, f"{home}/.ssh")


def test_a_folder_that_cannot_be_made_is_named(user):
    if os.geteuid() != 0:
        pytest.skip("needs a folder of somebody else")
    theirs = user.make(user.scratch / "theirs", 0o755, 0)
    done = user.update(status=2, XDG_CACHE_HOME=theirs / "cache")
    equal(done.stderr, f"keyveto: {theirs}/cache: cannot be made: Permission denied\n")


def refused(user, *parts, **environment):
    """Nothing is fetched, and no list is used. There must be one."""
    user.publisher.asked()
    for words in (("update", "--settings", user.settings), ("check", DEMO)):
        done = user.run(*words, status=2, **environment)
        equal(done.stdout, "")
        contains(done.stderr, *parts)
    equal(user.publisher.asked(), [])


def test_a_cache_that_others_can_change_is_not_used(user):
    if os.geteuid() != 0:
        pytest.skip("needs another user")
    stranger = 65533
    # A folder of somebody else, who put a list there.
    theirs = user.make(user.scratch / "theirs", 0o777, stranger)
    (theirs / "badkeys.dat").write_bytes(records())
    os.chown(theirs / "badkeys.dat", stranger, stranger)
    user.make(user.cache, 0o700)
    user.folder.symlink_to(theirs)
    os.chown(user.folder, NOBODY, NOBODY, follow_symlinks=False)
    refused(user, f"{theirs}: directory is not owned by root; your list and each folder above it must be yours")
    user.folder.unlink()
    # A link of somebody else, which leads to a folder of this user.
    mine = user.make(user.home / "mine", 0o700)
    sticky = user.make(user.scratch / "sticky", 0o1777, 0)
    (sticky / "cache").symlink_to(mine)
    os.chown(sticky / "cache", stranger, stranger, follow_symlinks=False)
    contains(user.update(status=2, XDG_CACHE_HOME=sticky / "cache").stderr, "symbolic link is not owned by root")
    equal(list(mine.iterdir()), [])
    user.update(status=0, XDG_CACHE_HOME=mine)
    refused(user, "symbolic link is not owned by root", XDG_CACHE_HOME=sticky / "cache")
    user.update(status=0)
    # A folder that its group may write, at each height.
    for folder in (user.cache, user.home):
        folder.chmod(0o775)
        refused(user, f"{folder}: directory is writable by group or others")
        folder.chmod(0o755)
    # A list of somebody else in the right place, or one that anybody may write, or none at all.
    user.list.chmod(0o666)
    refused(user, f"{user.list}: writable by group or others")
    user.list.chmod(0o644)
    os.chown(user.list, stranger, stranger)
    refused(user, f"{user.list}: not owned by root")
    user.list.unlink()
    user.list.mkdir()
    refused(user, f"{user.list}: not a regular file")


def test_two_updates_at_once_leave_one_whole_list(user):
    event = threading.Event()
    user.publisher.list.pause = (10, event)
    first = subprocess.Popen(user.arguments("update", "--settings", user.settings), cwd="/", text=True,
                             env=user.environment({}), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: LIST in user.publisher.site.paths, "the first fetches the list")
    second = user.update(status=2)
    contains(second.stderr, f"{user.list}: another keyveto update of it is running; wait for its end\n")
    lacks(second.stderr, "firewall")
    event.set()
    out, err = first.communicate(timeout=PATIENCE)
    equal((first.returncode, err), (0, ""), out)
    equal(user.list.read_bytes(), listing(sshkey.parse_line(DEMO.read_bytes())))


def test_without_any_list_each_says_what_to_type(user):
    add_demo_key(user)
    done = user.run("check", status=2)
    contains(done.stderr, f"keyveto: checking {user.ssh} with no list\n",
             "keyveto: no list is installed yet: type keyveto setup\n")
    lacks(done.stderr, "No such file")
    user.publisher.site.pages.clear()
    done = user.update(status=2)
    contains(done.stderr, "HTTP status 404", "where a firewall stands, put a Proxy or the URL of a mirror "
             f"below \"Source badkeys\" in {user.settings}\n", f"{user.list}: there is still no list\n")


def test_verdicts_have_colours_if_they_are_asked_for(user):
    add_demo_key(user)
    user.update(status=0)
    plain = user.run("check", "--all", status=1).stdout
    lacks(plain, "\033")
    done = attempt(*user.arguments("check", "--all", "--color=always"), env=user.environment({}), cwd="/")
    equal(done.stdout, plain.replace(": listed: ", ": \033[1;31mlisted\033[0m: "))


def test_what_is_piped_in_is_read(user):
    add_demo_key(user)
    user.update(status=0)
    line = DEMO.read_text(encoding="ascii")
    for stdin, expected in ((line, "-:1: listed: "), ("", f"{user.ssh}/authorized_keys:1: listed: ")):
        assert user.run("check", status=1, stdin=stdin).stdout.startswith(expected)
    equal(user.run("check", "--blocklist", user.list, status=0, stdin="").stderr,
          "keyveto: 0 keys in 1 file: 0 listed, 0 clean\n")
    with open(DEMO, "rb") as file:
        assert user.run("check", status=1, stdin=file).stdout.startswith("-:1: listed: ")
    shutil.rmtree(user.ssh)
    equal(user.run("check", status=2).stderr, f"keyveto: there is no {user.ssh}: name files or directories\n")


def test_on_a_terminal_check_says_that_it_reads_standard_input(user):
    user.update(status=0)
    leader, follower = pty.openpty()
    with subprocess.Popen(user.arguments("check", "-"), cwd="/", text=True, env=user.environment({}),
                          stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        os.close(follower)
        os.write(leader, DEMO.read_bytes() + b"\4")
        out, err = run.communicate(timeout=PATIENCE)
    os.close(leader)
    contains(err, "keyveto: reading keys from standard input, up to Ctrl-D\n")
    equal(run.returncode, 1)
    assert out.startswith("-:1: listed: ")


def test_only_what_concerns_the_user_is_said_of_a_list(user):
    """Root is told what a login would refuse, once, and other users what others may change."""
    user.update(status=0)
    add_demo_key(user)
    words = ("check", "--blocklist", user.list, user.ssh)
    equal(user.run(*words, status=1).stderr, "keyveto: 1 key in 1 file: 1 listed, 0 clean\n")
    if os.geteuid() != 0:
        return
    done = keyveto(*words)
    equal(done.stderr, f"keyveto: warning: {user.home}: directory is not owned by root: a login would not trust this "
                       "file\nkeyveto: 1 key in 1 file: 1 listed, 0 clean\n")
    user.folder.chmod(0o777)
    contains(user.run(*words, status=1).stderr, f"keyveto: warning: {user.folder}: directory is writable by group or "
             "others: other users may change this file\nkeyveto: 1 key")


CONFIG = Path("/etc/keyveto/keyveto.conf")


DEMO_KEYS = ROOT / "testdata/demo/home/.ssh/authorized_keys"


def configure(user):
    """Returns the list of the machine: it has the RSA key of DEMO_KEYS, and the own one will have the other."""
    machine = user.scratch / "machine.dat"
    write(machine, listing(*[sshkey.parse_line(line) for line in DEMO_KEYS.read_bytes().splitlines()
                             if line.startswith(b"ssh-rsa")])).chmod(0o644)
    shutil.copy(DEMO_KEYS, user.ssh / "authorized_keys")
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.parent.chmod(0o755)
    write(CONFIG, f"Blocklist {machine}\n").chmod(0o644)
    return machine


@pytest.mark.throwaway
def test_without_an_own_list_nobody_is_asked_for_a_place_for_one(user):
    machine = configure(user)
    listed = f"{user.ssh}/authorized_keys"
    theirs = user.make(user.scratch / "theirs", 0o755, 0)
    closed = user.make(user.scratch / "closed", 0o700, 0)
    user.home.chmod(0o775)
    (user.home / "file").write_text("", encoding="ascii")
    for home in (user.home, theirs, closed, user.home / "file", "/nowhere", f"/{'x' * 5000}"):
        done = user.run("check", listed, status=1, HOME=home)
        contains(done.stdout, f"[{machine} id13]")
        equal(done.stderr.splitlines()[1:], [], done.stderr)
        assert done.stderr.startswith("keyveto: "), done.stderr
        done = user.run("why", f"{listed}:{done.stdout.split(':')[1]}", status=0, HOME=home)
        equal(done.stderr, "")
    # Nor whoever has no home at all.
    for words, out in ((("check", listed), f"[{machine} id13]"), (("scan", "localhost:1"), "")):
        done = attempt("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", user.program, *words,
                       env={"PATH": os.environ["PATH"]}, cwd="/")
        contains(done.stdout, out)
        lacks(done.stderr, "HOME")
    contains(user.run("scan", "--timeout", "1", "localhost:1", HOME=theirs).stderr, "1 server: ")


@pytest.mark.throwaway
def test_a_broken_file_does_not_keep_check_from_the_others(user):
    machine = configure(user)
    user.update(status=0)
    missing = user.scratch / "missing.pkbf"
    CONFIG.write_text(f"Blocklist {machine}\nFilter {missing}\n", encoding="ascii")
    done = user.run("check", user.ssh, status=1)
    contains(done.stdout, f"[{machine} id13]", f"[{user.list} git]")
    said = done.stderr
    # As without the own list.
    user.list.rename(user.folder / "aside")
    alone = user.run("check", user.ssh, status=1)
    lacks(alone.stdout, str(user.list))
    contains(alone.stderr, *said.splitlines()[:1])
    contains(said, f"keyveto: {missing}: No such file or directory\n")
    # Neither does a broken one of the user's own.
    CONFIG.write_text(f"Blocklist {machine}\n", encoding="ascii")
    user.list.write_bytes(os.urandom(99))
    os.chown(user.list, NOBODY, NOBODY)
    done = user.run("check", user.ssh, status=1)
    contains(done.stdout, f"[{machine} id13]")
    contains(done.stderr, f"keyveto: {user.list}: ", f"keyveto: {user.list}: remove it, or type keyveto update\n")
    clean = user.scratch / "clean.pub"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", user.scratch / "clean"], check=True)
    user.run("check", clean, status=2)
    user.run("why", clean, status=2)
    # What it says helps.
    user.update(status=0)
    user.run("check", clean, status=0)


@pytest.mark.throwaway
def test_the_lists_of_the_machine_count_beside_the_own_one(user):
    machine = configure(user)
    user.update(status=0)
    done = user.run("check", status=1)
    contains(done.stdout, f"[{machine} id13]", f"[{user.list} git]")
    contains(done.stderr, f"checking {user.ssh} with {machine}, {user.list}\n")
    # Root's check is that of the machine alone, and so is one with a named configuration.
    lacks(user.run("check", "--config", CONFIG, status=1).stdout, str(user.list))
    done = keyveto("check", env=user.environment({}))
    contains(done.stderr, f"checking {user.ssh} with {machine}\n")
    # What keyveto.conf allows is allowed.
    fingerprint = subprocess.run(["ssh-keygen", "-lf", DEMO], capture_output=True, text=True, check=True)
    CONFIG.write_text(f"Blocklist {machine}\nAllowKey {fingerprint.stdout.split()[1]}\n", encoding="ascii")
    contains(user.run("check", "--all", status=1).stdout, ": allowed: ssh-ed25519")
    # A mistake there is told.
    CONFIG.write_text("Blocklists\n", encoding="ascii")
    contains(user.run("check", status=2).stderr, f"{CONFIG}:1: ")


@pytest.mark.throwaway
def test_update_without_arguments(user):
    """The settings of the machine count, as far as this user may read them."""
    machine = Path("/etc/keyveto/update.conf")
    machine.parent.mkdir(exist_ok=True)
    machine.parent.chmod(0o755)
    machine.unlink(missing_ok=True)
    done = user.run("update", status=2)
    contains(done.stderr, "note: where a firewall stands, write \"Source badkeys\" into a file, ",
             "keyveto update --settings FILE\n", f"{user.list}: there is still no list\n")
    # What is no source leaves the free list.
    write(machine, "Timeout 20\nProxy none\n").chmod(0o644)
    contains(user.run("update", status=2).stderr, f"{user.list}: there is still no list\n")
    user.write_settings(machine)
    contains(user.run("update", status=0).stdout, f"{user.list}: installed, 101 records")
    contains(user.run("update", "--rollback", status=2).stderr, f"{user.list}: there is no previous one")
    user.publisher.serve(records(), "2026-11-02T00:00:00Z")
    contains(user.run("update", "--dry-run", status=0).stdout, f"{user.list}: would be updated, ")
    machine.chmod(0o600)
    contains(user.run("update", status=2).stderr, f"note: {machine} cannot be read by you, and does not count\n",
             f"{user.list}: stays as it is")


def as_root(user, *words, status):
    done = subprocess.run([KEYVETO, *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          stdin=subprocess.DEVNULL, env=user.environment({}), umask=0o077)
    equal(done.returncode, status, done.stdout + done.stderr)
    return done


@pytest.mark.throwaway
def test_root_without_a_configuration_gets_the_free_list(user):
    """Its folder is made. Commands that only look consult it, and say that no login does."""
    add_demo_key(user)
    state, listed = Path("/var/lib/keyveto"), Path("/var/lib/keyveto/badkeys.dat")
    shutil.rmtree(state, ignore_errors=True)
    shutil.rmtree(CONFIG.parent, ignore_errors=True)
    equal(as_root(user, "check", status=2).stderr.splitlines()[0],
          "keyveto: no list is installed yet: type keyveto setup")
    as_root(user, "update", "--dry-run", status=2)
    assert not state.exists()
    for line in ("AllowedSigners /etc/keyveto/signers", f"Target {listed}", "Format badkeys"):
        write(CONFIG.parent / "update.conf", f"{line}\n").chmod(0o644)
        lacks(as_root(user, "update", status=2).stderr, "there is still no list\n", "badkeys.info")
    (CONFIG.parent / "update.conf").unlink()
    contains(as_root(user, "update", status=2).stderr, f"{listed}: there is still no list\n")
    user.write_settings(write(CONFIG.parent / "update.conf"))
    contains(as_root(user, "update", status=0).stdout, f"{listed}: installed, 101 records of 2026-11-01\n")
    equal([mode_of(path) for path in (state, listed)], [(0, 0o755), (0, 0o644)])
    for words in (("check",), ("scan", "localhost:1"), ("why", DEMO.read_text(encoding="ascii"))):
        done = as_root(user, *words, status={"check": 1, "scan": 2, "why": 0}[words[0]])
        contains(done.stderr, f"keyveto: note: no login consults {listed}\n")
    contains(as_root(user, "check", status=1).stdout, f"{user.ssh}/authorized_keys:1: listed: ", f"[{listed} git]\n")
    lacks(done.stdout, "is refused")
    contains(done.stdout, "No login consults that list.\n")
    for words in (("check",), ("scan", "localhost:1")):
        lacks(as_root(user, *words, "--quiet", status=1 if words[0] == "check" else 2).stderr, "no login")
    # An ordinary user without a list has that of the machine.
    contains(user.run("check", status=1).stderr, f"checking {user.ssh} with {listed}\n")
    # A filter of the machine counts beside it, as before a line names one.
    shutil.copy(empty_filter(), state / "filter.pkbf")
    contains(as_root(user, "check", status=1).stderr, f"with {state}/filter.pkbf, {listed}\n")
    # Of logins audit says what they do. A broken list that none consults stops nothing.
    lacks(as_root(user, "audit", "--user", "root", status=0).stderr, str(listed))
    whole = listed.read_bytes()
    listed.write_bytes(b"x")
    contains(as_root(user, "check", status=0).stderr, f"keyveto: note: {listed}: ",
             ": not consulted; type keyveto update, or remove it\n")
    listed.write_bytes(whole)
    # A line that names a file which got lost is told. Nothing stands in for it.
    for line in (f"Filter {state}/filter.pkbf\n", f"Blocklist {listed}.lost\n"):
        (state / "filter.pkbf").unlink(missing_ok=True)
        CONFIG.write_text(line, encoding="ascii")
        done = as_root(user, "check", status=2)
        contains(done.stderr, f"{line.split()[1]}: No such file or directory\n",
                 "keyveto: correct it with keyveto config edit, or name a filter with --filter FILE, ")
        lacks(done.stdout + done.stderr, f"{listed} ", "no list is installed")
    CONFIG.write_text("", encoding="ascii")
    contains(as_root(user, "check", status=1).stdout, f"[{listed} git]\n")
    for path in (CONFIG, CONFIG.parent / "update.conf", listed):
        path.unlink()


@pytest.mark.throwaway
def test_update_fetches_what_the_settings_of_the_machine_name(user):
    machine = Path("/etc/keyveto/update.conf")
    machine.parent.mkdir(exist_ok=True)
    machine.parent.chmod(0o755)
    mine = user.home / "mine.pkbf"
    nothing = user.publisher.site.url("/nothing")
    for lines in (f"URL {nothing}\nTarget {mine}\n", f"Source mine\nURL {nothing}\nTarget {mine}\n"):
        write(machine, f"CAFile {user.scratch}/ca.pem\nProxy none\n{lines}").chmod(0o644)
        user.publisher.asked()
        done = user.run("update", status=2)
        contains(done.stderr, "HTTP status 404", f"{mine}: there is still no filter\n")
        equal(user.publisher.asked(), ["/nothing"])
        contains(user.run("update", "--rollback", status=2).stderr, f"{mine}: there is no previous one")
    assert not user.list.exists()
    # Whoever asks for the free list gets it.
    user.publisher.asked()
    user.write_settings(machine, f"Source mine\nURL {nothing}\nTarget {mine}\n")
    contains(user.run("update", "--source", "badkeys", status=0).stdout, f"{user.list}: installed, 101 records")
