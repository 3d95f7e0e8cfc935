# SPDX-License-Identifier: ISC
"""keyveto enable: when the listed keys last came in, by the journal."""

import subprocess
from datetime import datetime, timedelta, timezone

import pytest

from program import contains, equal, lacks
from sshd_logs import entry, fake_journalctl, no_journal
from sshd_machine import clean_key, leaked_key, this_machine

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]

NOW = datetime(2026, 11, 23, 13, 20, tzinfo=timezone.utc)
NAMES = ("kvt-in", "kvt-idle", "kvt-clean")


@pytest.fixture(name="machine", scope="module")
def fixture_machine(tmp_path_factory):
    """This machine, with an account whose listed key comes in, one whose does not, and one with a clean key."""
    with this_machine(tmp_path_factory.mktemp("machine") / "x") as machine:
        for name, key in zip(NAMES, (leaked_key(), leaked_key(), clean_key())):
            subprocess.run(["useradd", "--create-home", "--user-group", name], check=True)
            machine.write(f"/home/{name}/.ssh/authorized_keys", f"{key}\n", 0o600)
            subprocess.run(["chown", "-R", f"{name}:{name}", f"/home/{name}"], check=True)
            machine.path(f"/home/{name}").chmod(0o755)
        machine.path("/var/log/journal").mkdir(exist_ok=True)
        yield machine
        for name in NAMES:
            subprocess.run(["userdel", "--remove", name], capture_output=True, check=True)


def came_in(name, key, when):
    return entry(f"Accepted publickey for {name} from 192.0.2.7 port 50022 ssh2: ED25519 {key.fingerprint}", when)


def entries():
    return "\n".join((came_in("kvt-in", leaked_key(), NOW), came_in("kvt-clean", clean_key(), NOW),
                      came_in("kvt-in", leaked_key(), NOW - timedelta(days=9))))


def test_the_rehearsal_tells_when_the_listed_keys_last_came_in(machine):
    """The newest entries come first, because the journal may be too long for the time."""
    with fake_journalctl(f'case "$*" in *--reverse*) ;; *) exit 9 ;; esac\ncat <<\'EOF\'\n{entries()}\nEOF'):
        done = machine.run("enable", status=1)
    contains(done.stdout,
             f"\nkvt-in: listed: ED25519 {leaked_key().fingerprint}: 2 logins, the last 2026-11-23T13:20:00Z "
             "from 192.0.2.7\n", f"\nkvt-idle: listed: ED25519 {leaked_key().fingerprint}: no login\n",
             "each key would be refused of: kvt-in kvt-idle\n")
    lacks(done.stdout, clean_key().fingerprint)
    contains(done.stderr, "keyveto: logins: by the journal since 2026-11-14T13:20:00Z\n", "go on with --yes")


@pytest.mark.parametrize("script", ["exit 1", "kill -9 $$", "echo '{'; yes | head -c 999999; exit 3", "exit 0"],
                         ids=["fails", "killed", "nonsense", "empty"])
def test_a_journal_that_fails_changes_nothing(machine, script):
    """What enable does and prints is as without a journal."""
    with no_journal():
        wanted = machine.run("enable", status=1)
    with fake_journalctl(script):
        done = machine.run("enable", status=1)
    equal((done.stdout, done.stderr), (wanted.stdout, wanted.stderr))


@pytest.mark.long
@pytest.mark.parametrize("rest", ["exec sleep 9999", "exec >&-; exec sleep 9999",
                                  f"while :; do echo '{'x' * 9999}'; done"], ids=["silent", "closed", "endless"])
def test_a_journal_that_hangs_holds_up_enable_for_a_while_only(machine, rest):
    """What it told so far is printed, and what enable does is the same."""
    with fake_journalctl(f"cat <<'EOF'\n{entries()}\nEOF\n{rest}"):
        done = machine.run("enable", status=1)
    contains(done.stdout, "kvt-in: listed: ", ": 2 logins, the last 2026-11-23T13:20:00Z")
    contains(done.stderr, "by the journal since 2026-11-14T13:20:00Z; not all of it could be read in time",
             "go on with --yes")


def test_enable_goes_on_with_yes_and_warn_as_before(machine):
    for option in ("--yes", "--warn"):
        with fake_journalctl(f"cat <<'EOF'\n{entries()}\nEOF"):
            contains(machine.run("enable", option, status=0).stdout, ": 2 logins, the last")
            machine.run("disable", status=0)
