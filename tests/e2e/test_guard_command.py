# SPDX-License-Identifier: ISC
"""The guard's command line: its arguments, its identity, and the command it becomes."""

import keys
import server
from bench import add_case, case, check
from guard import offer, run, run_guard, start


def run_as(account):
    """Options that start the guard as an account."""
    return {"user": account.uid, "group": account.gid, "extra_groups": []}


# Bad usage

BAD_USAGE = {
    "no arguments": lambda good: [],
    "an unknown option": lambda good: [*good, "--nonsense", "1"],
    "an option of one letter": lambda good: [*good, "-x"],
    "a stray word": lambda good: [*good, "stray"],
    "an option without its value": lambda good: [*good, "--uid"],
    "a bad uid": lambda good: [*good, "--uid", "12x"],
    "nothing behind --": lambda good: [*good, "--"],
    "no --user": lambda good: _without("--user", good),
    "no --home and no command": lambda good: _without("--home", good),
    "no --type": lambda good: _without("--type", good),
    "no --key": lambda good: _without("--key", good),
    "an empty key": lambda good: [*_without("--key", good), "--key", ""],
}


def _without(option, arguments):
    index = arguments.index(option)
    return arguments[:index] + arguments[index + 2:]


def refuse_usage(bench, spoil):
    """Exit status 2, a reason on standard error and in the log, and no output."""
    account, key = bench.account(), bench.key()
    account.authorize("line")
    done = run(spoil(offer(account, key, bench.config("OnError allow", listed=[bench.key()]))))
    check((done.returncode, done.stdout) == (2, b""), f"not refused: {done}")
    check(done.stderr.strip(), "no reason on standard error")
    said = [line.text for line in bench.log.about(f"[{done.pid}]")]
    check(any("bad usage" in text for text in said), f"no reason in the log: {said}")


for _title, _spoil in BAD_USAGE.items():
    add_case(f"guard usage: {_title} is refused", lambda bench, spoil=_spoil: refuse_usage(bench, spoil))


@case("guard usage: the good arguments, of which the others are spoilt")
def good_usage(bench):
    account = bench.account()
    account.authorize("line")
    done = run_guard(account, bench.key(), bench.config(listed=[bench.key()]))
    check((done.returncode, done.stdout, done.stderr) == (0, b"line\n", b""), f"{done}")


@case("guard usage: a uid that is not the account's is no verdict")
def wrong_uid(bench):
    account = bench.account()
    account.authorize("line")
    config = bench.config(listed=[bench.key()])
    right = run_guard(account, bench.key(), config, "--uid", str(account.uid))
    check((right.returncode, right.stdout) == (0, b"line\n"), f"the right one: {right}")
    wrong = run_guard(account, bench.key(), config, "--uid", str(account.uid + 1))
    check((wrong.returncode, wrong.stdout) == (1, b""), f"the wrong one: {wrong}")


@case("guard usage: an account that does not exist is no verdict")
def no_account(bench):
    key = bench.key()
    done = run(["--config", bench.config(listed=[bench.key()]), "--user", "kvt-nobody-at-all", "--home", "/",
                "--type", key.key.type, "--key", key.key.blob])
    check((done.returncode, done.stdout) == (1, b""), f"{done}")


# AuthorizedKeysCommandUser

def logins(bench, run_as_name, world_readable):
    """A clean key in and a listed one out, whoever the guard is started as."""
    account, clean, listed = bench.account(), bench.key(), bench.key()
    account.authorize(clean.key, listed.key)
    if world_readable:
        for path, mode in ((account.home, 0o755), (account.ssh, 0o755), (account.authorized_keys, 0o644)):
            path.chmod(mode)
    sshd = bench.server(server.guard(bench.config(listed=[listed]), run_as=run_as_name))
    bench.must_enter(bench.login(sshd, account, clean))
    bench.must_be_silent(account)
    bench.must_not_enter(bench.login(sshd, account, listed))
    bench.decision(account, verdict="listed", action="deny", authorized="yes")


@case("guard identity: AuthorizedKeysCommandUser root")
def started_as_root(bench):
    logins(bench, "root", world_readable=False)


@case("guard identity: AuthorizedKeysCommandUser %u")
def started_as_the_account(bench):
    logins(bench, "%u", world_readable=False)


@case("guard identity: a dedicated AuthorizedKeysCommandUser, for files that all may read")
def started_as_somebody_else(bench):
    logins(bench, bench.account().name, world_readable=True)


@case("guard identity: a dedicated AuthorizedKeysCommandUser cannot read private files")
def dedicated_user_and_private_files(bench):
    account, clean = bench.account(), bench.key()
    account.authorize(clean.key)
    sshd = bench.server(server.guard(bench.config(listed=[bench.key()]), run_as=bench.account().name))
    bench.must_not_enter(bench.login(sshd, account, clean))


@case("guard identity: it reads as the account, not as root")
def reads_as_the_account(bench):
    account = bench.account()
    account.ssh.mkdir()
    account.authorized_keys.symlink_to(bench.write("secret", "secret\n", 0o600))
    done = run_guard(account, bench.key(), bench.config("StrictModes no", listed=[bench.key()]))
    check((done.returncode, done.stdout) == (0, b""), f"it read what only root may read: {done}")


# -- COMMAND

def chained(bench, *command, start_as=None):
    """What a command says that the guard becomes for a clean key."""
    account = bench.account()
    done = run_guard(account, bench.key(), bench.config(listed=[bench.key()]), "--", *command,
                     **(run_as(start_as) if start_as else {}))
    check(done.returncode == 0, f"{command}: {done}")
    return done.stdout.decode()


@case("guard -- COMMAND: keeps the identity the guard was started with")
def command_identity(bench):
    check(chained(bench, "/usr/bin/id", "-u").strip() == "0", "not root any more")
    somebody = bench.account()
    check(chained(bench, "/usr/bin/id", "-u", start_as=somebody).strip() == str(somebody.uid), "not that account")
    check(chained(bench, "/usr/bin/id", "-G", start_as=somebody).split() == [str(somebody.gid)], "not its groups")


@case("guard -- COMMAND: gets its arguments as they are")
def command_arguments(bench):
    words = ["", "a b", "--user", "--", "%u", "*", "é", "'\"\\"]
    said = chained(bench, bench.script("""printf '<%s>\\n' "$@" """), *words)
    check(said == "".join(f"<{word}>\n" for word in words), f"not the arguments: {said!r}")


@case("guard -- COMMAND: gets no open file of the guard's")
def command_files(bench):
    # ls itself opens the folder that it lists.
    said = chained(bench, "/bin/ls", "/proc/self/fd")
    check(said.split() == ["0", "1", "2", "3"], f"open files: {said.split()}")


# What a process hands on through exec: none of it the guard's to change.
STATE = """
umask; pwd; env | sort
grep -E '^(Sig|Shd|Cap|Groups|Uid|Gid|NoNewPrivs|Seccomp)' /proc/self/status | grep -v SigQ
grep '^Max' /proc/self/limits
python3 -c 'import ctypes; n = ctypes.c_int(-1); ctypes.CDLL(None).prctl(2, ctypes.byref(n)); print("dies by", n.value)'
"""


@case("guard -- COMMAND: finds signals, limits, environment and folder as they were")
def command_state(bench):
    script = bench.script(STATE)
    account = bench.account()
    alone = start([script]).stdout.decode().splitlines()
    behind = run_guard(account, bench.key(), bench.config(listed=[bench.key()]), "--", script)
    behind = behind.stdout.decode().splitlines()
    check(len(alone) > 10 and behind == alone, f"changed: {sorted(set(behind) ^ set(alone))}")


@case("guard -- COMMAND: its output and exit status are the guard's")
def command_status(bench):
    done = run_guard(bench.account(), bench.key(), bench.config(listed=[bench.key()]),
                     "--", bench.script("echo out; exit 7"))
    check((done.returncode, done.stdout) == (7, b"out\n"), f"{done}")


@case("guard -- COMMAND: is not run for a listed key")
def command_and_listed_key(bench):
    account, listed = bench.account(), bench.key()
    done = run_guard(account, listed, bench.config(listed=[listed]), "--", "/bin/echo", "ran")
    check((done.returncode, done.stdout) == (0, b""), f"{done}")
    bench.decision(account, verdict="listed", action="deny")


@case("guard -- COMMAND: one that cannot be run is an error")
def command_missing(bench):
    account = bench.account()
    config = bench.config("OnError allow", listed=[bench.key()])
    for command in ("/nonexistent", "/etc", "relative", bench.write("plain", "#!/bin/sh\n")):
        done = run_guard(account, bench.key(), config, "--", command)
        check(done.returncode == 1 and done.stdout == b"", f"{command}: {done}")


@case("guard -- COMMAND: --home and --user are not needed for principals")
def command_for_principals(bench):
    account, ca, listed = bench.account(), bench.key(), bench.key()
    config = bench.config(listed=[listed])
    for inside, output in ((bench.key(), b"principal\n"), (listed, b"")):
        certificate = keys.certify(ca, inside, account.name).certificate
        done = run(["--config", config, "--user", account.name, "--type", certificate.type,
                    "--key", certificate.blob, "--", "/bin/echo", "principal"])
        check((done.returncode, done.stdout) == (0, output), f"{done}")
