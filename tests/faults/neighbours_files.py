# SPDX-License-Identifier: ISC
"""Hostile neighbours with files: locks, names taken first, exchanged links and FIFOs, huge files, a full disk."""

import contextlib
import os
import shutil
import stat
import subprocess
import time

from neighbourhood import QUICK_SECONDS, SECRET, neighbour
from stage import PATIENCE, as_account, run

FILTER = "filter.pkbf"
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

def locks_on_the_filter(hood, report):
    for kind in LOCKS:
        with report.case(f"neighbours: a user holds a lock ({kind}) on the filter and keyveto.conf") as case:
            with neighbour(hood.account, HOLDER, hood.filter, hood.config, LOCK=kind) as (_, held):
                # Only the owner of a file can take a lease.
                case.check(int(held) == (0 if kind == "lease" else 2), f"the user could take {held} of 2 locks")
                hood.check_both(case, "while locked")
                case.note = f"{held} of 2 were to be had"


def locks_on_the_accounts_file(hood, report):
    for kind in LOCKS:
        with report.case(f"neighbours: the account holds a lock ({kind}) on its own authorized_keys") as case:
            with neighbour(hood.account, HOLDER, hood.account.authorized_keys, LOCK=kind) as (_, held):
                case.check(held == "1", "the account could not take the lock")
                done, said = hood.ask(hood.clean)
                left_out = done.stdout == b"" and any(one.verdict == "error" for one in said)
                case.check(done.returncode == 0 and (done.stdout == hood.lines or left_out), f"a clean key: {done}")
                case.check(done.seconds < QUICK_SECONDS, f"a clean key waits {done.seconds:.1f} s")
                done, said = hood.ask(hood.listed)
                case.check((done.returncode, done.stdout) == (0, b""), f"a listed key: {done}")
                case.check([one.verdict for one in said] == ["listed"], f"a listed key, logged: {said}")
                case.check(done.seconds < QUICK_SECONDS, f"a listed key waits {done.seconds:.1f} s")


def lock_on_a_filter_being_written(hood, report):
    with report.case("neighbours: a user holds a lock on the filter that is being written") as case:
        folder = hood.stage.make_folder("written")
        path = folder / FILTER
        shutil.copy(hood.filter, path)
        with neighbour(hood.account, HOLDER, path, LOCK="flock") as (_, held):
            case.check(held == "1", "the user could not take the lock")
            done = run([hood.stage.keyveto, "filter", "add", path, hood.clean.key.path])
            case.check(done.returncode == 0 and done.seconds < QUICK_SECONDS, f"{done.seconds:.1f} s: {done}")
        case.check(os.listdir(folder) == [FILTER], f"left behind: {os.listdir(folder)}")


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


def names_taken_first(hood, report):
    stage = hood.stage
    for name in (f".{FILTER}.lock", f".{FILTER}.keyveto-new"):
        with report.case(f"neighbours: {name} was there first, in a folder that all may write") as case:
            for how in ("link", "FIFO", "folder", "hard link", "file"):
                victim = stage.write("victim", b"untouched", 0o600)
                folder = stage.make_folder("sticky", 0o1777)
                path = folder / FILTER
                shutil.copy(hood.filter, path)
                old = path.read_bytes()
                _plant(folder / name, how, victim, hood.account)
                done = run([stage.keyveto, "filter", "add", path, hood.clean.key.path])
                case.check(not done.hung, f"{how}: it hangs")
                case.check(done.returncode == 0 or (done.returncode, path.read_bytes()) == (2, old), f"{how}: {done}")
                case.check(done.returncode == 0 or FILTER.encode() in done.stderr, f"{how}: names no file: {done}")
                info = victim.stat()
                case.check((victim.read_bytes(), stat.S_IMODE(info.st_mode), info.st_uid) == (b"untouched", 0o600, 0),
                           f"{how}: the file that it points to is another: {info}")


def lock_file_held_by_a_user(hood, report):
    with report.case("neighbours: a user holds a lock file of his own beside the filter") as case:
        folder = hood.stage.make_folder("sticky", 0o1777)
        path, lock = folder / FILTER, folder / f".{FILTER}.lock"
        shutil.copy(hood.filter, path)
        _plant(lock, "file", None, hood.account)
        with neighbour(hood.account, HOLDER, lock, LOCK="flock") as (_, held):
            case.check(held == "1", "the user could not take the lock")
            done = run([hood.stage.keyveto, "filter", "add", path, hood.clean.key.path])
            case.check(done.returncode == 2 and b"lock file" in done.stderr, f"{done}")


# Races

@contextlib.contextmanager
def swapping(hood, account, name, others):
    """The account exchanges a name with others, over and over. Fails if that process has ended before the block."""
    argv = [hood.stage.swapper, name, *others]
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


def _run_the_race(hood, report, title, prepare):
    """Runs the guard many times while one name in the home is exchanged with others."""
    stage = hood.stage
    with report.case(f"neighbours: {title}, in a tight loop") as case:
        account = stage.account()
        home, name, others = prepare(account)
        # Only root may read these files. The guard has them open.
        private = stage.write("private", hood.filter.read_bytes(), 0o600)
        configs = [stage.config(f"Filter {private}", f"StrictModes {mode}") for mode in ("yes", "no")]
        for config in configs:
            config.chmod(0o600)
        outputs, slowest = set(), [0]
        may_come = {b"", hood.lines, b"# another file\n"}

        def one(number):
            key = hood.listed if number % 4 == 3 else hood.clean
            instead = {"config": configs[number % 2], "user": account.name, "home": home}
            done, said = hood.ask(key, instead=instead)
            slowest[0] = max(slowest[0], done.seconds)
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
            report.count(case, runs)
        case.check(len(outputs) > 1, f"there was no race: {outputs}")
        case.note += f", the slowest {slowest[0]:.2f} s"


def races(hood, report):
    """The file, its folder and the home are exchanged while the guard opens them."""
    private_home = hood.stage.make_folder("home", 0o700)
    (private_home / ".ssh").mkdir()
    for place in (private_home, private_home / ".ssh"):
        (place / "authorized_keys").write_bytes(SECRET)

    def own(account, *paths):
        for path in paths:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)

    def file(account):
        account.write(".ssh/authorized_keys", hood.lines)
        return account.home, account.authorized_keys, _make_stock(hood, account)

    def folder(account):
        account.write(".ssh/authorized_keys", hood.lines)
        other, link, fifo = (account.home / name for name in ("folder", "link", "fifo"))
        other.mkdir(mode=0o700)
        (other / "authorized_keys").symlink_to(hood.secret)
        link.symlink_to(private_home)
        os.mkfifo(fifo)
        own(account, other, other / "authorized_keys", link, fifo)
        return account.home, account.ssh, [other, link, fifo]

    def home(account):
        account.write("home/authorized_keys", b"")
        account.write("home/.ssh/authorized_keys", hood.lines)
        link, alias, empty = (account.home / name for name in ("link", "alias", "empty"))
        link.symlink_to(private_home)
        alias.symlink_to(hood.other.home)
        empty.mkdir()
        own(account, link, alias, empty)
        return account.home / "home", account.home / "home", [link, alias, empty]

    _run_the_race(hood, report, "authorized_keys is exchanged with links, FIFOs and folders", file)
    _run_the_race(hood, report, ".ssh is exchanged with links, FIFOs and folders", folder)
    _run_the_race(hood, report, "the home is exchanged with links and folders", home)


def links_into_proc(hood, report):
    """The account cannot use the guard's open files to read what it may not read."""
    stage, account = hood.stage, hood.other
    with report.case("neighbours: authorized_keys is a link into /proc/self") as case:
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
            case.check(not done.hung, f"{target}: it hangs")
            for what in (SECRET.strip(), b"pkbfv1", b"root:"):
                case.check(what not in done.stdout, f"{target}: prints {what!r}: {done}")
        account.authorized_keys.unlink()
        account.write(".ssh/authorized_keys", hood.lines)


# Sizes

def huge_files(hood, report):
    """The file has no end. The guard decides in time, and with little memory."""
    account = hood.stage.account()
    account.write(".ssh/authorized_keys", b"")
    instead = {"user": account.name, "home": account.home}
    os.truncate(account.authorized_keys, 1 << 40)
    with report.case("neighbours: a sparse authorized_keys of 1 TiB: a listed key is soon in the log") as case:
        done, said = hood.ask(hood.listed, instead=instead, seconds=QUICK_SECONDS)
        case.check((done.returncode, done.stdout) == (0, b""), f"after {done.seconds:.1f} s: {done}")
        case.check([one.verdict for one in said] == ["listed"], f"logged: {said}")
        case.note = f"{done.seconds:.1f} s"
    with report.case("neighbours: a sparse authorized_keys of 1 TiB: the guard ends with its reader") as case:
        reader, writer = os.pipe()
        with subprocess.Popen(hood.argv(hood.clean, "run0", **instead), stdout=writer, cwd="/") as process:
            os.close(writer)
            got = len(os.read(reader, 1 << 16))
            os.close(reader)
            begin = time.monotonic()
            try:
                status = process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                status = 0
            case.check(got > 0 and status != 0, f"{got} bytes were read, then it ended with {status}")
            case.note = f"{time.monotonic() - begin:.2f} s"


def many_files(hood, report):
    """An administrator's wildcard, and an account with a great many files that match it."""
    with report.case("neighbours: a wildcard that matches 20000 files") as case:
        account = hood.stage.account()
        folder = account.home / "keys.d"
        account.write("keys.d/0", b"")
        for number in range(1, 20_001):
            (folder / str(number)).symlink_to("0")
        config = hood.stage.config("AuthorizedKeysFile keys.d/*", listed=[hood.listed])
        instead = {"user": account.name, "home": account.home, "config": config}
        hood.check_both(case, "20000 files", seconds=PATIENCE, output=b"", instead=instead)


# A full disk

@contextlib.contextmanager
def small_disk(stage, options):
    folder = stage.make_folder("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def _write_on(hood, case, folder, source, arguments, what):
    """One run of the writer: a new filter and success, or the old one and a message."""
    path = folder / FILTER
    if source:
        subprocess.run(["cp", "--sparse=always", source, path], check=True)
    old = path.read_bytes() if source else None
    done = run([hood.stage.keyveto, "filter", *(path if word == FILTER else word for word in arguments)])
    now = path.read_bytes() if path.exists() else None
    left = set(os.listdir(folder)) - {FILTER}
    case.check(not left, f"{what}: leaves {left} behind: {done}")
    if done.returncode == 0:
        return case.check(now != old, f"{what}: success, and the filter is the old one: {done}")
    case.check(done.returncode == 2 and FILTER.encode() in done.stderr, f"{what}: {done}")
    case.check(now == old, f"{what}: failed, and the filter is another: {done}")
    return False


def full_disks(hood, report):
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
    commands = {
        "filter add, no holes": (dense, ["add", FILTER, hood.clean.key.path]),
        "filter add, holes": (sparse, ["add", FILTER, hood.clean.key.path]),
        "filter merge": (sparse, ["merge", FILTER, FILTER, second]),
        "filter create": (None, ["create", FILTER, "--hashes", "3", "--length", "30"]),
    }
    for title, (source, arguments) in commands.items():
        with report.case(f"neighbours: a full disk under {title}") as case:
            worked = []
            pages = range(17, 60) if source is dense else range(1, 60)
            for count in pages if stage.long else list(pages)[::5]:
                with small_disk(stage, f"size={count * 4}k") as folder:
                    try:
                        worked.append(_write_on(hood, case, folder, source, arguments, f"{count} pages"))
                    except subprocess.CalledProcessError:
                        continue        # the old filter does not fit either
            for inodes in range(2, 6):
                with small_disk(stage, f"size=4m,nr_inodes={inodes}") as folder:
                    worked.append(_write_on(hood, case, folder, source, arguments, f"{inodes} inodes"))
            case.check(True in worked and False in worked, f"never full, or always: {worked}")
            case.note = f"{worked.count(False)} of {len(worked)} runs failed"


# These run in the short form, too. The others take long.
ALL = (locks_on_the_filter, locks_on_the_accounts_file, lock_on_a_filter_being_written, names_taken_first,
       lock_file_held_by_a_user, links_into_proc, huge_files, full_disks, races)
LONG = (many_files,)
