# SPDX-License-Identifier: ISC
"""Hostile neighbours with files: locks, names taken first, exchanged links and FIFOs, huge files, a full disk."""

import contextlib
import os
import shutil
import stat
import subprocess
import time

import pytest
from neighbourhood import QUICK_SECONDS, SECRET, neighbour
from patience import PATIENCE
from stage import as_account, run

pytestmark = pytest.mark.throwaway

FILTER = "filter.pkbf"
LOCK_FILE, NEW_FILE = f".{FILTER}.lock", f".{FILTER}.keyveto-new"
LOCKS = ("flock", "fcntl", "open file description", "lease")

# Takes a lock of one kind on each file: an exclusive one if it may write the file.
HOLDER = """
import fcntl, os, struct, sys, time
OFD_SETLK = 37
def take(fd, writes):
    exclusive = fcntl.F_WRLCK if writes else fcntl.F_RDLCK
    lock = struct.pack("hhqqi4x", exclusive, os.SEEK_SET, 0, 0, 0)
    if os.environ["LOCK"] == "flock":
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif os.environ["LOCK"] == "fcntl":
        fcntl.fcntl(fd, fcntl.F_SETLK, lock)
    elif os.environ["LOCK"] == "lease":
        fcntl.fcntl(fd, fcntl.F_SETLEASE, exclusive)
    else:
        fcntl.fcntl(fd, OFD_SETLK, lock)
held = []
for path in sys.argv[1:]:
    writes = os.access(path, os.W_OK)
    fd = os.open(path, os.O_RDWR if writes else os.O_RDONLY)
    try:
        take(fd, writes)
        held.append(fd)
    except OSError:
        os.close(fd)
print("held", len(held), flush=True)
time.sleep(600)
"""


# Locks

@pytest.mark.parametrize("kind", LOCKS)
def test_a_lock_of_a_user_on_the_filter_and_keyveto_conf_holds_up_no_login(hood, kind):
    with neighbour(hood.account, HOLDER, hood.filter, hood.config, LOCK=kind) as (_, held):
        # Only the owner of a file can take a lease.
        assert int(held) == (0 if kind == "lease" else 2), f"the user could take {held} of 2 locks"
        hood.check_both("while locked")


@pytest.mark.parametrize("kind", LOCKS)
def test_a_lock_of_the_account_on_authorized_keys_lets_no_listed_key_in(hood, kind):
    with neighbour(hood.account, HOLDER, hood.account.authorized_keys, LOCK=kind) as (_, held):
        assert held == "1", "the account could not take the lock"
        done, said = hood.ask(hood.clean)
        left_out = done.stdout == b"" and any(one.verdict == "error" for one in said)
        assert done.returncode == 0 and (done.stdout == hood.lines or left_out), f"a clean key: {done}"
        assert done.seconds < QUICK_SECONDS, f"a clean key waits {done.seconds:.1f} s"
        done, said = hood.ask(hood.listed)
        assert (done.returncode, done.stdout) == (0, b""), f"a listed key: {done}"
        assert [one.verdict for one in said] == ["listed"], f"a listed key, logged: {said}"
        assert done.seconds < QUICK_SECONDS, f"a listed key waits {done.seconds:.1f} s"


# Names that the writer of a filter uses, in a folder that everybody may write

def _plant(path, how, victim, account):
    if how == "hard link":
        os.link(victim, path)
        return
    if how == "link":
        path.symlink_to(victim)
    elif how == "FIFO":
        os.mkfifo(path, 0o600)
    elif how == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"")
        path.chmod(0o600)
    os.chown(path, account.uid, account.gid, follow_symlinks=False)


@pytest.mark.parametrize("how", ["link", "FIFO", "folder", "hard link", "file"])
@pytest.mark.parametrize("name", [LOCK_FILE, NEW_FILE])
def test_filter_add_writes_through_no_name_that_was_there_first(hood, name, how):
    """In a folder that everybody may write."""
    stage = hood.stage
    victim = stage.write("victim", b"untouched", 0o600)
    folder = stage.make_folder("sticky", 0o1777)
    path = folder / FILTER
    shutil.copy(hood.filter, path)
    old = path.read_bytes()
    _plant(folder / name, how, victim, hood.account)
    done = run([stage.keyveto, "filter", "add", path, hood.clean.key.path])
    assert not done.hung, "it hangs"
    assert done.returncode == 0 or (done.returncode, path.read_bytes()) == (2, old), f"{done}"
    assert done.returncode == 0 or FILTER.encode() in done.stderr, f"names no file: {done}"
    info = victim.stat()
    assert (victim.read_bytes(), stat.S_IMODE(info.st_mode), info.st_uid) == (b"untouched", 0o600, 0)


def test_a_lock_file_of_a_user_that_is_locked_is_reported(hood):
    folder = hood.stage.make_folder("sticky", 0o1777)
    path, lock = folder / FILTER, folder / LOCK_FILE
    shutil.copy(hood.filter, path)
    _plant(lock, "file", None, hood.account)
    with neighbour(hood.account, HOLDER, lock, LOCK="flock") as (_, held):
        assert held == "1", "the user could not take the lock"
        done = run([hood.stage.keyveto, "filter", "add", path, hood.clean.key.path])
        assert done.returncode == 2 and b"lock file" in done.stderr, f"{done}"


# Races

@contextlib.contextmanager
def swapping(hood, account, name, others):
    """The account exchanges a name with others, over and over. Fails if that process has ended before the block."""
    argv = [hood.swapper, name, *others]
    with subprocess.Popen(argv, stderr=subprocess.PIPE, cwd="/", **as_account(account)) as process:
        try:
            time.sleep(0.02)
            yield
            if process.poll() is not None:
                raise AssertionError(f"the swapper stopped: {process.stderr.read().decode()}")
        finally:
            process.kill()


def _make_stock(hood, account):
    """Files of many kinds to stand in the place of authorized_keys."""
    stock = []

    def add(make):
        path = account.ssh / f"stock{len(stock)}"
        make(path)
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
        stock.append(path)

    add(lambda path: (path.write_bytes(b"# another file\n"), path.chmod(0o600)))
    for target in (hood.secret, "/dev/zero", "/etc/shadow", "/proc/self/fd/3", "nowhere"):
        add(lambda path, target=target: path.symlink_to(target))
    add(lambda path: os.mkfifo(path, 0o600))
    add(lambda path: path.mkdir(0o700))
    add(lambda path: path.symlink_to(path))
    return stock


def _run_the_race(hood, check_runs, prepare):
    """Runs the guard many times while one name in the home is exchanged with others."""
    stage = hood.stage
    account = stage.account()
    home, name, others = prepare(account)
    # Only root may read these files. The guard has them open.
    private = stage.write("private", hood.filter.read_bytes(), 0o600)
    configs = [stage.config(f"Filter {private}", f"StrictModes {mode}") for mode in ("yes", "no")]
    for config in configs:
        config.chmod(0o600)
    outputs = set()
    may_come = {b"", hood.lines, b"# another file\n"}

    def one(number):
        key = hood.listed if number % 4 == 3 else hood.clean
        instead = {"config": configs[number % 2], "user": account.name, "home": home}
        done, said = hood.ask(key, instead=instead)
        if key is hood.clean:
            outputs.add(done.stdout)
        whys = []
        if done.hung or done.returncode not in (0, 1):
            whys.append(f"it hangs or crashes: {done}")
        if SECRET in done.stdout or done.stdout not in may_come:
            whys.append(f"printed what it may not: {done}")
        if key is hood.listed and (done.stdout or "listed" not in {one.verdict for one in said}):
            whys.append(f"a listed key: {done}, logged {said}")
        return whys

    with swapping(hood, account, name, others):
        runs, enough = [], time.monotonic() + PATIENCE
        # On a busy machine the swapper may get little time.
        while not runs or len(outputs) == 1 and time.monotonic() < enough:
            runs += stage.each(one, range(4000 if stage.long else 160))
    check_runs(runs)
    assert len(outputs) > 1, f"there was no race: {outputs}"


def _own(account, *paths):
    for path in paths:
        os.chown(path, account.uid, account.gid, follow_symlinks=False)


def _exchange_file(hood, account, _):
    account.write(".ssh/authorized_keys", hood.lines)
    return account.home, account.authorized_keys, _make_stock(hood, account)


def _exchange_folder(hood, account, private_home):
    account.write(".ssh/authorized_keys", hood.lines)
    other, link, fifo = (account.home / name for name in ("folder", "link", "fifo"))
    other.mkdir(mode=0o700)
    (other / "authorized_keys").symlink_to(hood.secret)
    link.symlink_to(private_home)
    os.mkfifo(fifo)
    _own(account, other, other / "authorized_keys", link, fifo)
    return account.home, account.ssh, [other, link, fifo]


def _exchange_home(hood, account, private_home):
    account.write("home/authorized_keys", b"")
    account.write("home/.ssh/authorized_keys", hood.lines)
    link, alias, empty = (account.home / name for name in ("link", "alias", "empty"))
    link.symlink_to(private_home)
    alias.symlink_to(hood.other.home)
    empty.mkdir()
    _own(account, link, alias, empty)
    return account.home / "home", account.home / "home", [link, alias, empty]


@pytest.mark.parametrize("exchange", [
    pytest.param(_exchange_file, id="authorized_keys with links, FIFOs and folders"),
    pytest.param(_exchange_folder, id=".ssh with links, FIFOs and folders"),
    pytest.param(_exchange_home, id="the home with links and folders")])
def test_no_exchange_while_the_guard_opens_files_shows_a_secret_or_lets_a_listed_key_in(hood, check_runs, exchange):
    private_home = hood.stage.make_folder("home", 0o700)
    (private_home / ".ssh").mkdir()
    for place in (private_home, private_home / ".ssh"):
        (place / "authorized_keys").write_bytes(SECRET)
    _run_the_race(hood, check_runs, lambda account: exchange(hood, account, private_home))


def test_a_link_into_proc_shows_no_file_that_the_guard_has_open(hood):
    stage, account = hood.stage, hood.other
    private_filter = stage.write("private", hood.filter.read_bytes(), 0o600)
    private = stage.write("private.conf", f"Filter {private_filter}\nStrictModes no\n# {SECRET.decode()}", 0o600)
    targets = [f"/proc/self/fd/{fd}" for fd in range(10)]
    targets += [f"/proc/self/{name}" for name in ("mem", "environ", "maps", "stat", "pagemap", "root/etc/shadow")]
    targets += ["/dev/stdin", "/dev/stdout", "/dev/mem", "/dev/tty", "/proc/kmsg", "/proc/kcore"]
    for target in targets:
        account.authorized_keys.unlink()
        account.authorized_keys.symlink_to(target)
        instead = {"config": private, "user": account.name, "home": account.home}
        if target.endswith("pagemap"):
            continue                # /dev/zero and the like have no end
        done, _ = hood.ask(hood.clean, instead=instead)
        assert not done.hung, f"{target}: it hangs"
        for what in (SECRET.strip(), b"pkbfv1", b"root:"):
            assert what not in done.stdout, f"{target}: prints {what!r}: {done}"
    account.authorized_keys.unlink()
    account.write(".ssh/authorized_keys", hood.lines)


# Sizes

@pytest.fixture(name="huge")
def fixture_huge(hood):
    """An account whose authorized_keys is a sparse file of 1 TiB."""
    account = hood.stage.account()
    account.write(".ssh/authorized_keys", b"")
    os.truncate(account.authorized_keys, 1 << 40)
    return {"user": account.name, "home": account.home}


def test_with_a_huge_authorized_keys_a_listed_key_is_soon_in_the_log(hood, huge):
    done, said = hood.ask(hood.listed, instead=huge, seconds=QUICK_SECONDS)
    assert (done.returncode, done.stdout) == (0, b""), f"after {done.seconds:.1f} s: {done}"
    # The log does not say whether the key is in a line of that length.
    assert [(one.verdict, one.authorized) for one in said] == [("listed", None)]


def test_with_a_huge_authorized_keys_the_guard_ends_with_its_reader(hood, huge):
    reader, writer = os.pipe()
    with subprocess.Popen(hood.argv(hood.clean, "run0", **huge), stdout=writer, cwd="/") as process:
        os.close(writer)
        got = len(os.read(reader, 1 << 16))
        os.close(reader)
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert got > 0
    assert status != 0


# A full disk

DISK_COMMANDS = ("filter add, no holes", "filter add, holes", "filter merge", "filter create")


@contextlib.contextmanager
def small_disk(stage, options):
    folder = stage.make_folder("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _write_on(hood, folder, source, arguments, what):
    """One run of the writer: a new filter and success, or the old one and a message. Returns whether it succeeded."""
    path = folder / FILTER
    if source:
        subprocess.run(["cp", "--sparse=always", source, path], check=True)
    old = path.read_bytes() if source else None
    done = run([hood.stage.keyveto, "filter", *(path if word == FILTER else word for word in arguments)])
    now = path.read_bytes() if path.exists() else None
    left = set(os.listdir(folder)) - {FILTER}
    assert not left, f"{what}: leaves {left} behind: {done}"
    if done.returncode == 0:
        assert now != old, f"{what}: success, and the filter is the old one: {done}"
        return True
    assert done.returncode == 2 and b"No space left" in done.stderr, f"{what}: {done}"
    assert FILTER.encode() in done.stderr, f"{what}: {done}"
    assert now == old, f"{what}: failed, and the filter is another: {done}"
    return False


@pytest.fixture(scope="module", name="disk_commands")
def fixture_disk_commands(hood):
    """Each command of DISK_COMMANDS: the filter that it finds, and its arguments."""
    stage = hood.stage
    dense = stage.path("dense")
    run([stage.keyveto, "filter", "create", dense, "--hashes", "3", "--length", "19"])
    data = bytearray(dense.read_bytes())
    data[24:] = b"\xaa" * (len(data) - 24)
    dense.write_bytes(data)
    sparse = stage.path("sparse")
    run([stage.keyveto, "filter", "create", sparse, "--hashes", "20", "--length", "24"])
    second = stage.path("second")
    shutil.copy(sparse, second)
    run([stage.keyveto, "filter", "add", second, hood.clean.key.path])
    return {
        "filter add, no holes": (dense, ["add", FILTER, hood.clean.key.path]),
        "filter add, holes": (sparse, ["add", FILTER, hood.clean.key.path]),
        "filter merge": (sparse, ["merge", FILTER, FILTER, second]),
        "filter create": (None, ["create", FILTER, "--hashes", "3", "--length", "30"]),
    }


@pytest.mark.parametrize("title", DISK_COMMANDS)
def test_on_a_full_disk_the_old_filter_stays_and_a_message_names_it(hood, disk_commands, title):
    stage = hood.stage
    source, arguments = disk_commands[title]
    worked = []
    pages = range(17, 60) if title == "filter add, no holes" else range(1, 60)
    for count in pages if stage.long else list(pages)[::5]:
        with small_disk(stage, f"size={count * 4}k") as folder:
            try:
                worked.append(_write_on(hood, folder, source, arguments, f"{count} pages"))
            except subprocess.CalledProcessError:
                continue        # the old filter does not fit either
    for inodes in range(2, 6):
        with small_disk(stage, f"size=4m,nr_inodes={inodes}") as folder:
            worked.append(_write_on(hood, folder, source, arguments, f"{inodes} inodes"))
    assert True in worked and False in worked, f"never full, or always: {worked}"
