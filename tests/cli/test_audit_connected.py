# SPDX-License-Identifier: ISC
"""keyveto audit --logins: which listed keys are still connected, by real logins, and by lines that others made up."""

import contextlib
import os
import socket
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import keys
from logbook import Logbook
from openssh import root_has_process
from program import KEYVETO, attempt, contains, equal, wait_until
from runs import tool
from samples import write
from test_audit_logins import denied, journal_has, journald, people, real_sshd, ssh, told

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

NOBODY = 65534
CONTRADICT = "its lines contradict each other"


@contextlib.contextmanager
def opened(port, name, identity, options=(), command="echo up; exec sleep 1000"):
    """A connection: .client is the port from which it came, .let_in the process of sshd that let it in."""
    words = ssh(port, name, identity, f'echo "$SSH_CONNECTION $PPID"; {command}')
    words[1:1] = options
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as process:
        try:
            _, client, *_, sshd = process.stdout.readline().split()
            process.client, process.serves = int(client), int(sshd)
            alone = name == "root" and not root_has_process()
            process.let_in = process.serves if alone else parent_of(process.serves)
            equal(process.stdout.readline().strip(), "up")
            yield process
        finally:
            process.kill()


def fields_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def parent_of(pid):
    return int(fields_of(pid)[1])


def start_of(pid):
    return int(fields_of(pid)[19])


@pytest.fixture(name="texts")
def fixture_texts():
    """Writes what sshd logged so far, and more lines behind it, as a text log."""
    logbook = Logbook()

    def write(path, *more, without=None, at=None):
        now = (at or datetime.now(timezone.utc)).strftime("%Y-%m-%dT%H:%M:%SZ")
        lines = [one.text[16:] for one in logbook.about("") if without is None or without not in one.text]
        path.write_text("".join(f"{now} host {line}\n" for line in (*lines, *more)))
        return path
    yield write
    logbook.close()


def accepted(process, name, port, key):
    return f"sshd[{process}]: Accepted publickey for {name} from 127.0.0.1 port {port} ssh2: ED25519 {key}"


def connected(world, *words, **options):
    """{(account, fingerprint): connections} of the rows that have one, and the rows."""
    rows, _ = told(world, *words, **options)
    return {(one["account"], one["fingerprint"]): one["connected"] for one in rows if one["connected"]}, rows


def pids(found):
    """{pid: doubt} of connected()."""
    return {one["pid"]: one["doubt"] for many in found[0].values() for one in many}


def by_text(world, texts, *more, without=None, at=None, words=()):
    """{pid: doubt} by a text log with more lines."""
    log = texts(world.folder / "log", *more, without=without, at=at)
    return pids(connected(world, "--logins", log, *words))


@contextlib.contextmanager
def text_logs():
    """/var/log without a journal."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/var/log"], check=True)
    try:
        yield Path("/var/log/auth.log")
    finally:
        subprocess.run(["umount", "/var/log"], check=True)


def authorize_root(world, identity):
    folder = world.folder / "root/.ssh"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "authorized_keys").write_text(f"{identity.key}\n")
    for path in (folder, folder.parent):
        os.chown(path, 0, 0)


def test_by_the_journal_each_connection_of_a_listed_key_is_told(world):
    """Of an account, of root, and of a certificate; not once it has ended. What others log there changes nothing."""
    identities, listed, authority = people(world)
    authorize_root(world, identities["alice"])
    with journald(), real_sshd(world) as port, contextlib.ExitStack() as stack:
        alice, bob, carol = (stack.enter_context(opened(port, name, identities[name]))
                             for name in ("alice", "bob", "carol"))
        root = stack.enter_context(opened(port, "root", identities["alice"]))
        journal_has("Accepted publickey for", 4)
        for forged in (accepted(bob.let_in, "bob", bob.client, listed),
                       accepted(alice.let_in, "alice", alice.client, identities["bob"].key.fingerprint)):
            tool("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "logger", "-t",
                 forged.partition(":")[0], forged.partition(": ")[2])
        journal_has("Accepted publickey for", 6)
        found, rows = connected(world, "--logins", "journal", status=1)
        equal({who: [(one["pid"], one["start"], one["from"], one["log"], one["sent"], one["doubt"]) for one in many]
               for who, many in found.items()},
              {who: [(one.let_in, start_of(one.let_in), "127.0.0.1", "journal", True, None)] for who, one in (
                  (("alice", listed), alice), (("carol", authority), carol), (("root", listed), root))})
        last = {(one["account"], one["fingerprint"]): one["last"] for one in rows}
        equal({who: many[0]["since"] for who, many in found.items()}, {who: last[who] for who in found})
        text = world.audit("--logins", "journal", status=1).stdout
        since = found["alice", listed][0]["since"]
        contains(text, f"alice: listed: ED25519 {listed}: 1 login, the last {since} from 127.0.0.1; "
                       f"still connected: pid {alice.let_in} since {since} from 127.0.0.1\n")
        alice.kill()
        wait_until(lambda: not Path(f"/proc/{alice.let_in}").exists(), "alice's connection has ended")
        equal(pids(connected(world, "--logins", "journal", status=1)), {carol.let_in: None, root.let_in: None})


def test_a_denied_key_in_no_file_is_told(world, texts):
    """By the key, and by the CA of a certificate; also after the account was removed."""
    identities, listed, authority = people(world)
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        alice, carol = (stack.enter_context(opened(port, name, identities[name])) for name in ("alice", "carol"))
        log = texts(world.folder / "log")
        for name in ("alice", "carol"):
            (world.folder / f"home/{name}/.ssh/authorized_keys").write_text("")
        passwd = Path("/etc/passwd")
        before = passwd.read_text()
        passwd.write_text("".join(line for line in before.splitlines(True) if not line.startswith("alice:")))
        try:
            found = connected(world, "--logins", log, "--config", denied(world.folder, listed, authority), status=0)
        finally:
            passwd.write_text(before)
        equal({who: [one["pid"] for one in many] for who, many in found[0].items()},
              {("alice", listed): [alice.let_in], ("carol", authority): [carol.let_in]})


def test_a_text_log_is_told_as_one_that_others_may_write(world, texts):
    identities, listed, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        log, copy = (texts(world.folder / name) for name in ("log", "copy"))
        found, _ = connected(world, f"--logins={log}", copy, status=1)
        equal([(one["pid"], one["log"], one["sent"], one["doubt"]) for one in found["alice", listed]],
              [(alice.let_in, str(log), False, None)])
        contains(world.audit("--logins", log, status=1).stdout,
                 f"; still connected: pid {alice.let_in} since ",
                 f" from 127.0.0.1 (by {log}, which others may write)\n")


def test_of_a_journal_in_memory_connections_are_told_beside_text_logs(world):
    """What sshd sent counts, not what is beside it in the text; and a login is counted once."""
    identities, listed, _ = people(world)
    with journald(), text_logs() as auth, real_sshd(world) as port, contextlib.ExitStack() as stack:
        alice, bob = (stack.enter_context(opened(port, name, identities[name])) for name in ("alice", "bob"))
        journal_has("Accepted publickey for", 2)
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        for key in (listed, identities["bob"].key.fingerprint):
            auth.write_text(f"{now} host {accepted(alice.let_in, 'alice', alice.client, key)}\n"
                            f"{now} host {accepted(bob.let_in, 'bob', bob.client, listed)}\n")
            found, rows = connected(world, "--logins", status=1)
            equal([(who, one["pid"], one["log"], one["sent"], one["doubt"]) for who, many in found.items()
                   for one in many], [(("alice", listed), alice.let_in, "journal", True, None)])
            equal({one["account"]: one["logins"] for one in rows}, {"alice": int(key == listed), "bob": 1, "carol": 0})


def test_a_text_log_is_read_beside_an_empty_journal(world, texts):
    """As in a container: the journal's folder is there, and syslogd writes the log."""
    identities, _, _ = people(world)
    with text_logs() as auth, real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        Path("/run/log/journal").mkdir(parents=True, exist_ok=True)
        auth.write_bytes(texts(world.folder / "log").read_bytes())
        equal(pids(connected(world, "--logins", status=1)), {alice.let_in: None})


def test_a_forged_line_that_does_not_fit_accuses_nobody(world, texts):
    """Another account, another process of sshd, one that waits for connections, and none of sshd."""
    identities, listed, _ = people(world)
    authorize_root(world, identities["alice"])
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        bob = stack.enter_context(opened(port, "bob", identities["bob"]))
        root = stack.enter_context(opened(port, "root", identities["alice"]))
        waits = parent_of(bob.let_in)
        title = Path(f"/proc/{waits}/cmdline").read_bytes().rstrip(b"\0").decode().partition("sshd: ")[2]
        forged = [accepted(bob.serves, "bob", bob.client, listed), accepted(1, "bob", bob.client, listed),
                  accepted(os.getpid(), "root", bob.client, listed), accepted(1 << 70, "bob", bob.client, listed),
                  *(accepted(bob.let_in, name, bob.client, listed) for name in (
                      "alice", "root", "bo", "bobb", "nobody-at-all", "[priv]")),
                  *(accepted(waits, name, bob.client, listed) for name in ("bob", "root", title.rstrip()))]
        if root_has_process():
            forged.append(accepted(root.serves, "root", root.client, listed))
        equal(by_text(world, texts, *forged), {root.let_in: None})
        # On purpose without those of sshd, that would contradict them.
        equal(by_text(world, texts, *forged, without="Accepted"), {})


def test_a_forged_line_that_fits_is_told_as_doubtful(world, texts):
    """Any account can write it with logger(1), and see the rest in /proc. It hides nothing either."""
    identities, listed, _ = people(world)
    clean = identities["bob"].key.fingerprint
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        alice, bob = (stack.enter_context(opened(port, name, identities[name])) for name in ("alice", "bob"))
        of_bob, of_alice = accepted(bob.let_in, "bob", bob.client, listed), accepted(alice.let_in, "alice", 1, clean)
        equal(by_text(world, texts, of_bob, of_alice), {alice.let_in: CONTRADICT, bob.let_in: CONTRADICT})
        log = world.folder / "log"
        contains(world.audit("--logins", log, status=1).stdout, f" (by {log}, which others may write: {CONTRADICT})\n")
        # In front of what sshd writes.
        text = log.read_text().splitlines(True)
        log.write_text("".join(text[::-1]))
        equal(pids(connected(world, "--logins", log, status=1)), {alice.let_in: CONTRADICT, bob.let_in: CONTRADICT})
        equal(by_text(world, texts, of_bob.replace("Accepted", "Partial")),
              {alice.let_in: None, bob.let_in: 'only a line "Partial" tells of it'})
        # As if bob had come in by a password.
        password = accepted(bob.let_in, "bob", bob.client, "").replace("publickey", "password").partition(": ED")[0]
        equal(by_text(world, texts, of_bob, password, without="Accepted"), {bob.let_in: CONTRADICT})


def test_a_line_of_an_earlier_process_with_this_number_does_not_count(world, texts):
    """Although it came from the same address and port. A line of the future is not believed either."""
    identities, _, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        with open("/proc/uptime", encoding="ascii") as uptime:
            up = float(uptime.read().split()[0])
        start = datetime.now(timezone.utc) - timedelta(seconds=up - start_of(alice.let_in) / os.sysconf("SC_CLK_TCK"))
        for seconds, wanted in ((-86400 * 365, False), (-60, False), (-3, False), (1, True), (86400, False)):
            equal((seconds, by_text(world, texts, at=start + timedelta(seconds=seconds))),
                  (seconds, {alice.let_in: None} if wanted else {}))


def test_a_process_that_ran_before_with_this_number_is_not_named(world, texts):
    """The kernel gives the number once more, to a connection of the same account by another key."""
    identities, _, _ = people(world)
    other = keys.generate(world.folder)
    (world.folder / "home/alice/.ssh/authorized_keys").write_text(f"{identities['alice'].key}\n{other.key}\n")
    with real_sshd(world) as port:
        with opened(port, "alice", identities["alice"]) as alice:
            pid = alice.let_in
            log = texts(world.folder / "log")
            equal(pids(connected(world, "--logins", log, status=1)), {pid: None})
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the process has ended")
        # The kernel's clocks and the log's second tell the two apart.
        wait_until(lambda: datetime.now(timezone.utc).timestamp() > log.stat().st_mtime + 3, "some seconds have passed")
        # ssh gets a number, too.
        for before in range(1, 41):
            Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - before % 5))
            with opened(port, "alice", other) as again:
                if again.let_in == pid:
                    equal(pids(connected(world, "--logins", log, status=1)), {})
                    break
        else:
            raise AssertionError("the number did not come again")


def test_who_was_not_let_in_yet_is_not_connected(world, texts):
    _, listed, _ = people(world)
    with real_sshd(world) as port, socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"SSH-2.0-x\r\n")
        equal(client.recv(4), b"SSH-")
        here = client.getsockname()[1]
        forged = [accepted(int(pid.name), name, here, listed) for pid in Path("/proc").glob("[0-9]*")
                  for name in ("root", "alice", "unknown")]
        equal(by_text(world, texts, *forged), {})


def test_connections_of_other_forms_are_told(world, texts):
    """A terminal, ports that sshd listens on for root, several sessions in one, and none."""
    identities, _, _ = people(world)
    authorize_root(world, identities["alice"])
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        wanted = {stack.enter_context(opened(port, name, identities["alice"], options)).let_in: None
                  for name, options in (("alice", ("-tt",)), ("root", ("-tt",)), ("root", ("-R", "0:127.0.0.1:1")),
                                        ("alice", ("-M", "-S", f"{world.folder}/mux")))}
        equal(by_text(world, texts), wanted)
        for name in ("alice", "root"):
            words = ssh(port, name, identities["alice"])
            words[1:1] = ["-N"]
            client = stack.enter_context(subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            stack.callback(client.kill)
        wait_until(lambda: len(by_text(world, texts)) == len(wanted) + 2, "those without a command are told")


def test_a_process_of_an_account_is_not_sshds(world, texts):
    """It has sshd's name and title, and such a name in /proc that a reader goes wrong; a line tells of it."""
    _, listed, _ = people(world)
    program = world.folder / "sshd"
    write(program, Path("/usr/bin/python3").resolve().read_bytes()).chmod(0o755)
    world.folder.chmod(0o755)
    says = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b'sshd) S 1 (\\n\x1b'); print(flush=True); sys.stdin.read()"
    for title in ("sshd: nobody [priv]", "sshd-session: nobody@pts/0"):
        with subprocess.Popen(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "bash", "-c",
                               'exec -a "$0" "$1" -c "$2"', title, program, says], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            equal(by_text(world, texts, accepted(process.pid, "nobody", 50022, listed)), {})
            process.stdin.close()


# OpenSSH cuts its title off where the room for it ends, and sets none if its words are too long.
@pytest.mark.parametrize("title, names", (
    ("sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", False), ("sshd: /usr/sbin/sshd -D -f /e", False),
    ("/usr/sbin/sshd", False), ("sshd: ", False), ("sshd: root [priv]", True), ("sshd: ro", True),
    ("sshd-session: root [postauth]", True)))
def test_the_sshd_that_waits_is_named_by_no_line(world, texts, title, names):
    """And a title that was cut off is the account's."""
    _, listed, _ = people(world)
    program = world.folder / "sshd"
    write(program, Path("/usr/bin/python3").resolve().read_bytes()).chmod(0o755)
    with subprocess.Popen([title, "-c", "print(flush=True); input()"], executable=program, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        forged = [accepted(process.pid, name, 50022, listed) for name in ("root", title.partition("sshd: ")[2] or "x")]
        equal(set(by_text(world, texts, *forged)), {process.pid} if names else set())
        process.stdin.close()


def test_accounts_that_others_made_up_hide_no_connection(world, texts):
    """More accounts than are kept follow it in the log."""
    identities, listed, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        forged = [accepted(1, f"u{number}", 50022, listed) for number in range(3000)]
        equal(by_text(world, texts, *forged, words=("--config", denied(world.folder, listed), "--user", "bob")),
              {alice.let_in: None})


def test_root_that_the_kernel_does_not_show_links_tells_all_the_same(world, texts):
    """As in a container without CAP_SYS_PTRACE. Who is not root is told that it is not known."""
    identities, listed, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        log = texts(world.folder / "log")
        words = [KEYVETO, "audit", "--filter", world.filter, "--logins", log]
        done = attempt("setpriv", "--bounding-set=-sys_ptrace", *words)
        contains(done.stdout, f"; still connected: pid {alice.let_in} since ")
        for path in (world.folder, log, world.filter):
            path.chmod(0o755)
        done = attempt("setpriv", "--reuid=alice", "--regid=alice", "--clear-groups", *words, "--json", "--user",
                       "alice")
        contains(done.stdout, '"connected":null')
