# SPDX-License-Identifier: ISC
"""The guard prints exactly the files of an account that sshd would read.

Each arrangement of files is tried with this machine's sshd alone, and with the same sshd and the guard. Both must
agree.
"""

import hashlib
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

import openssh
import server
from guard import run_guard

pytestmark = pytest.mark.throwaway

HUGE_BYTES = 200 << 20
SMALL_MEMORY_KIB = 64 << 10     # address space: much less than a huge file

IN, OUT = True, False
IN_IF_GROUPS_MAY_WRITE = openssh.strictmodes() == "private-group"


# Arrangements: changes to an account whose file lists the key.

def nothing(_bench, _account, _key):
    pass


def instead(put):
    """put is called when the file is gone."""
    def arrange(bench, account, key):
        account.authorized_keys.unlink()
        put(bench, account, key)
    return arrange


def fifo(_bench, account, _key):
    os.mkfifo(account.authorized_keys, 0o600)
    os.chown(account.authorized_keys, account.uid, account.gid)


def link_to(target):
    """The file is a link to what target returns."""
    return instead(lambda bench, account, key: account.authorized_keys.symlink_to(target(bench, account, key)))


def file_of_root(mode):
    return lambda bench, _account, key: bench.write("keys", f"{key.key}\n", mode)


def file_in_open_folder(bench, _account, key):
    folder = bench.path("open")
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "keys").write_text(f"{key.key}\n", encoding="ascii")
    return folder / "keys"


def link_inside_home(_bench, account, _key):
    account.authorized_keys.rename(account.home / "keys")
    account.authorized_keys.symlink_to("../keys")


# In the next three, part is authorized_keys, ssh or home: the path of the account that is changed.

def with_mode(part, mode):
    return lambda _bench, account, _key: getattr(account, part).chmod(mode)


def of_shared_group(part, mode):
    def arrange(bench, account, _key):
        path = getattr(account, part)
        os.chown(path, account.uid, bench.machine.add_group(account, bench.account()))
        path.chmod(mode)
    return arrange


def of_another(part, mode):
    def arrange(bench, account, _key):
        other, path = bench.account(), getattr(account, part)
        os.chown(path, other.uid, other.gid)
        path.chmod(mode)
    return arrange


def file_of_group_alone(bench, account, _key):
    """A group whose only member is the account, but not the account's primary group."""
    os.chown(account.authorized_keys, account.uid, bench.machine.add_group(account))
    account.authorized_keys.chmod(0o664)


def private_group_with_a_guest(bench, account, _key):
    bench.machine.add_to_group(account.gid, bench.account())
    account.authorized_keys.chmod(0o664)


def home_behind_a_link(bench, account, _key):
    real = account.home.with_name(f"{account.name}.real")
    account.home.rename(real)
    account.home.symlink_to(real)

    def put_back():
        account.home.unlink()
        real.rename(account.home)
    bench.at_end(put_back)


def home_without_slash(bench, account, _key):
    """sshd takes it from /."""
    bench.machine.set_home(account, str(account.home).lstrip("/"))


def home_without_slash_writable(bench, account, key):
    home_without_slash(bench, account, key)
    account.home.chmod(0o777)


def folder_above_home_without_slash_writable(bench, account, key):
    """What is above a home does not count, also if its name is no absolute path."""
    above = account.home.with_name(f"{account.name}.above")
    above.mkdir()
    above.chmod(0o777)
    account.home.rename(above / "home")
    account.home = above / "home"
    home_without_slash(bench, account, key)


def home_by_name(name):
    """A home that sshd finds at /NAME, whatever a shell would make of the name."""
    def arrange(bench, account, _key):
        old, account.home = account.home, Path("/", name)
        if name != ".":
            old.rename(account.home)
        else:
            old.joinpath(".ssh").rename(account.ssh)
        bench.at_end(lambda: shutil.rmtree(account.ssh if name == "." else account.home))
        bench.machine.set_home(account, name)
    return arrange


def of_root(mode):
    def arrange(_bench, account, _key):
        os.chown(account.authorized_keys, 0, 0)
        account.authorized_keys.chmod(mode)
    return arrange


def readable_by_supplementary_group(bench, account, _key):
    """Only a program with all of the account's groups can read this."""
    os.chown(account.authorized_keys, 0, bench.machine.add_group(account, bench.account()))
    account.authorized_keys.chmod(0o640)


def second_file_alone(_bench, account, _key):
    account.authorized_keys.rename(account.ssh / "authorized_keys2")


def first_file_without_line_end(bench, account, key):
    account.write(".ssh/authorized_keys", str(bench.key().key))
    account.write(".ssh/authorized_keys2", f"{key.key}\n")


def content(template):
    """Writes the file, with KEY replaced by the key's line."""
    def arrange(_bench, account, key):
        account.write(".ssh/authorized_keys", template.replace("KEY", str(key.key)))
    return arrange


def between_junk(_bench, account, key):
    junk = random.Random(1).randbytes(1 << 20)
    account.write(".ssh/authorized_keys", junk + f"\n{key.key}\n".encode() + junk)


ARRANGEMENTS = {
    "a plain file": (nothing, IN),
    "no file": (instead(nothing), OUT),
    "no .ssh": (instead(lambda _bench, account, _key: account.ssh.rmdir()), OUT),
    "an empty file": (lambda _bench, account, _key: account.authorize(), OUT),
    "a FIFO": (instead(fifo), OUT),
    "a folder in its place": (instead(lambda _, account, _key: account.write(".ssh/authorized_keys/keys", "")), OUT),
    "a dangling link": (link_to(lambda *_: "/nonexistent/keys"), OUT),
    "a link to itself": (link_to(lambda _bench, account, _key: account.authorized_keys), OUT),
    "a link inside the home": (link_inside_home, IN),
    "a link to a public file of root": (link_to(file_of_root(0o644)), IN),
    "a link to a private file of root": (link_to(file_of_root(0o600)), OUT),
    "a link through a folder that all may write": (link_to(file_in_open_folder), OUT),
    "file 0664, private group": (with_mode("authorized_keys", 0o664), IN_IF_GROUPS_MAY_WRITE),
    "file 0666": (with_mode("authorized_keys", 0o666), OUT),
    "file 0000": (with_mode("authorized_keys", 0), OUT),
    "file 0664, shared group": (of_shared_group("authorized_keys", 0o664), OUT),
    "file 0664, a group of its own that is not the primary one": (file_of_group_alone, IN_IF_GROUPS_MAY_WRITE),
    "file 0664, private group with a guest": (private_group_with_a_guest, OUT),
    "file of another account": (of_another("authorized_keys", 0o644), OUT),
    "file of root": (of_root(0o644), IN),
    "file of root, 0600": (of_root(0o600), OUT),
    "file readable by a supplementary group": (readable_by_supplementary_group, IN),
    ".ssh 0775, private group": (with_mode("ssh", 0o775), IN_IF_GROUPS_MAY_WRITE),
    ".ssh 0777": (with_mode("ssh", 0o777), OUT),
    ".ssh 0775, shared group": (of_shared_group("ssh", 0o775), OUT),
    ".ssh of another account": (of_another("ssh", 0o755), OUT),
    "home 0775, private group": (with_mode("home", 0o775), IN_IF_GROUPS_MAY_WRITE),
    "home 0777": (with_mode("home", 0o777), OUT),
    "home 0775, shared group": (of_shared_group("home", 0o775), OUT),
    "home of another account": (of_another("home", 0o755), OUT),
    "home behind a link": (home_behind_a_link, IN),
    "home without a slash": (home_without_slash, IN),
    "home without a slash, 0777": (home_without_slash_writable, OUT),
    "home without a slash, below a folder 0777": (folder_above_home_without_slash_writable, IN),
    "home x": (home_by_name("x"), IN),
    "home ~": (home_by_name("~"), IN),
    "home .": (home_by_name("."), IN),
    "home -x": (home_by_name("-x"), IN),
    "authorized_keys2 alone": (second_file_alone, IN),
    "two files, the first without a line end": (first_file_without_line_end, IN),
    "no line end": (content("KEY"), IN),
    "CRLF": (content("# comment\r\nKEY\r\n"), IN),
    "NUL and junk behind the key": (content("KEY\0junk\n"), IN),
    "a byte order mark": (content("\ufeffKEY\n"), OUT),
    "a line of 200 000 bytes before": (content("#" * 200_000 + "\nKEY\n"), IN),
    "options": (content('restrict,command="echo \\"let in\\"" KEY\n'), IN),
    "from= that does not match": (content('from="192.0.2.1" KEY\n'), OUT),
    "from= that does not match, then a plain line": (content('from="192.0.2.1" KEY\nKEY\n'), IN),
    "between junk": (between_junk, IN),
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("arrange, expected", ARRANGEMENTS.values(), ids=[
    f"{title}: {'in' if expected else 'out'}" for title, (_, expected) in ARRANGEMENTS.items()])
def test_guard_files_let_in_as_sshd_alone_does(bench, arrange, expected):
    account, key = bench.someone()
    arrange(bench, account, key)
    agree(bench, account, key, expected)


def agree(bench, account, key, expected, sshd_options=(), config=()):
    alone = bench.server(server.vanilla().adding(*sshd_options))
    guarded = bench.server(server.guard(bench.config(*config, listed=[bench.key()])))
    bench.expect(bench.login(alone, account, key), expected, "sshd alone does something unexpected")
    bench.expect(bench.login(guarded, account, key), expected, "sshd with the guard does not do what sshd alone does")


def test_guard_files_strictmodes_no_accepts_a_0666_file_as_sshd_does(bench):
    account, key = bench.someone()
    account.authorized_keys.chmod(0o666)
    agree(bench, account, key, IN, ["StrictModes no"], ["StrictModes no"])


def test_guard_files_patterns_of_authorizedkeysfile_mean_what_they_mean_to_sshd(bench):
    folder = bench.path("keys")
    folder.mkdir()
    for pattern, name in ((".keys/%u", ".keys/{0.name}"), ("%h/.keys/%U", ".keys/{0.uid}"),
                          (".keys/100%%", ".keys/100%"), (f"{folder}/%u /nonexistent", None)):
        account, key = bench.account(), bench.key()
        if name:
            account.write(name.format(account), f"{key.key}\n")
        else:
            (folder / account.name).write_text(f"{key.key}\n", encoding="ascii")
        line = f"AuthorizedKeysFile {pattern}"
        agree(bench, account, key, IN, [line], [line])


@pytest.mark.parametrize("place, expected", (("keys", OUT), ("{0}/keys", IN)), ids=("once", "twice"))
def test_guard_files_a_home_without_slash_stands_twice_where_a_pattern_names_it(bench, place, expected):
    """sshd takes what it expanded for relative to the home."""
    account, key = bench.account(), bench.key()
    relative = str(account.home).lstrip("/")
    bench.machine.set_home(account, relative)
    path = account.home / place.format(relative)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{key.key}\n", encoding="ascii")
    agree(bench, account, key, expected, ["AuthorizedKeysFile %h/keys"], ["AuthorizedKeysFile %h/keys"])


# The guard without sshd.

def test_guard_output_a_huge_file_is_streamed_in_little_memory(bench):
    account = bench.account()
    account.authorize("ssh-ed25519 AAAA first")
    os.truncate(account.authorized_keys, HUGE_BYTES)
    with open(account.authorized_keys, "rb") as file:
        expected = hashlib.file_digest(file, "sha256").hexdigest()
    limited = ["/bin/sh", "-c", f'ulimit -v {SMALL_MEMORY_KIB} && exec "$@"', "sh"]
    done = run_guard(account, bench.key(), bench.config(listed=[bench.key()]), prefix=limited,
                     collect=lambda stdout: hashlib.file_digest(stdout, "sha256").hexdigest())
    assert done.returncode == 0 and done.stdout == expected, f"not the file: {done}"


# Wildcards

WILD_NAMES = ("a", "b", "^", "*", "[a]", "\\a")


@pytest.mark.sample(3)
@pytest.mark.parametrize("pattern", ("[^b]", "[!b]", "*", "\\a", "\\*", "[ab]", "[a]", "?", "[[:alpha:]]"))
def test_guard_files_wildcards_mean_what_they_mean_to_sshd(bench, pattern):
    """The guard reads the same files for a pattern as this machine's sshd."""
    account, folder = bench.account(), "k"
    offered = {name: bench.key() for name in WILD_NAMES}
    for name, key in offered.items():
        account.write(f"{folder}/{name}", f"{key.key}\n")
    pattern = f"{folder}/{pattern}"
    setting = "yes" if openssh.takes_wildcards() else "no"
    config = bench.config(f"AuthorizedKeysFile {pattern}", f"AuthorizedKeysFileWildcards {setting}",
                          listed=[bench.key()])
    vanilla = bench.server(server.vanilla().adding(f"AuthorizedKeysFile {pattern}"))
    guarded = bench.server(server.guard(config))
    read = [name for name, key in offered.items() if bench.login(vanilla, account, key).entered]
    found = [name for name, key in offered.items() if bench.login(guarded, account, key).entered]
    assert found == read, f"sshd reads {read}, the guard {found}"


def test_guard_files_wildcards_a_home_with_brackets_is_read_as_by_sshd(bench):
    account, clean = bench.someone()
    home = account.home.with_name(f"{account.name}[x]")
    subprocess.run(["usermod", "--home", home, "--move-home", account.name], check=True)
    setting = "yes" if openssh.takes_wildcards() else "no"
    config = bench.config(f"AuthorizedKeysFileWildcards {setting}", listed=[bench.key()])
    alone = bench.login(bench.server(server.vanilla()), account, clean)
    bench.expect(alone, not openssh.takes_wildcards(), "this is what sshd is thought to do")
    bench.expect(bench.login(bench.server(server.guard(config)), account, clean), alone.entered, "not as sshd alone")


def test_guard_files_a_read_error_does_not_hide_the_next_file(bench):
    account, clean, listed = bench.account(), bench.key(), bench.key()
    account.authorize()
    account.authorized_keys.unlink()
    # Reading the speed of a loopback fails.
    account.authorized_keys.symlink_to("/sys/class/net/lo/speed")
    account.write(".ssh/authorized_keys2", f"{clean.key}\n")
    bench.must_enter(bench.login(bench.server(server.vanilla()), account, clean), "sshd alone must take it")
    sshd = bench.server(server.guard(bench.config(listed=[listed])))
    bench.must_enter(bench.login(sshd, account, clean), "the guard must not hide the second file")
    said = bench.decision(account, verdict="error")
    assert "authorized_keys: cannot be read to its end: " in said.reason, f"not the file and the reason: {said}"
    bench.must_not_enter(bench.login(sshd, account, listed))
    bench.decision(account, verdict="listed", authorized=None)
