# SPDX-License-Identifier: ISC
"""keyveto sessions: which open connections came in by a listed key, by real logins; and which of them it ends."""

import contextlib
import json
import os
import signal
import socket
import subprocess
from datetime import datetime, timezone
from pathlib import Path

import pytest

import keys
from logbook import Logbook
from openssh import root_has_process
from program import KEYVETO, PATIENCE, contains, equal, keyveto, wait_until
from test_audit_logins import journal_has, journald, people, real_sshd, ssh
from test_walls import MARK, fixture_exploit, no_asan  # noqa: F401 (the fixture)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

NOBODY = 65534


@contextlib.contextmanager
def opened(port, name, identity, options=(), command="echo up; exec sleep 1000"):
    """A session that is open: .client is the port from which it came, .sshd the process that serves the account."""
    words = ssh(port, name, identity, f'echo "$SSH_CONNECTION $PPID"; {command}')
    words[1:1] = options
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as process:
        try:
            _, client, *_, sshd = process.stdout.readline().split()
            process.client, process.sshd = int(client), int(sshd)
            equal(process.stdout.readline().strip(), "up")
            yield process
        finally:
            process.kill()


def parent_of(pid):
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def that_let_in_root(root):
    """The process that let a session of root's in."""
    return parent_of(root.sshd) if root_has_process() else root.sshd


def rows_of(world, *words, status=None, by=("--listed",), **options):
    """The objects of --json, by the client's port; and standard error."""
    done = keyveto("sessions", *by, "--json", "--filter", world.filter, *words, status=status, **options)
    return {one["port"]: one for one in map(json.loads, done.stdout.splitlines())}, done.stderr


@pytest.fixture(name="texts")
def fixture_texts():
    """Writes what sshd logged so far, and more lines behind it, as a text log."""
    logbook = Logbook()

    def write(path, *more, without=None):
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        lines = [one.text[16:] for one in logbook.about("") if without is None or without not in one.text]
        path.write_text("".join(f"{now} host {line}\n" for line in (*lines, *more)))
        return path
    yield write
    logbook.close()


def test_the_open_connections_of_a_listed_key_are_told_and_ended(world):
    """By the real journal: of an account, of root, and of a certificate; a clean one beside them stays."""
    identities, listed, authority = people(world)
    authorize_root(world, identities["alice"])
    with journald(), real_sshd(world) as port, contextlib.ExitStack() as stack:
        alice, bob, carol = (stack.enter_context(opened(port, name, identities[name]))
                             for name in ("alice", "bob", "carol"))
        root = stack.enter_context(opened(port, "root", identities["alice"]))
        journal_has("Accepted publickey for", 4)
        rows, err = rows_of(world, status=1)
        equal({client: (row["account"], row["fingerprint"], row["ca"], row["process"], row["from"], row["ended"])
               for client, row in rows.items() if row["verdict"] == "listed"},
              {alice.client: ("alice", listed, False, parent_of(alice.sshd), "127.0.0.1", None),
               carol.client: ("carol", authority, True, parent_of(carol.sshd), "127.0.0.1", None),
               root.client: ("root", listed, False, that_let_in_root(root), "127.0.0.1", None)})
        assert bob.client not in rows
        contains(err, "keyveto: 4 connections, 4 by a key: 3 listed, 0 not checked\n")
        text = keyveto("sessions", "--filter", world.filter, status=1).stdout
        contains(text, f"{bob.client}  ", f"clean: ssh-ed25519 {identities['bob'].key.fingerprint}\n",
                 f"listed: ssh-ed25519 {listed} [{world.filter}]\n")
        rows, err = rows_of(world, "--end", "--yes", status=1)
        equal({client: row["ended"] for client, row in rows.items() if row["verdict"] == "listed"},
              {alice.client: True, carol.client: True, root.client: True})
        for ended in (alice, carol, root):
            equal(ended.wait(PATIENCE), 255)
        equal(bob.poll(), None)
        rows, err = rows_of(world, status=0)
        contains(err, "keyveto: 1 connection, 1 by a key: 0 listed, 0 not checked\n")


def authorize_root(world, identity):
    folder = world.folder / "root/.ssh"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "authorized_keys").write_text(f"{identity.key}\n")
    for path in (folder, folder.parent):
        os.chown(path, 0, 0)


def only_listed(world, texts, *more, **options):
    """The rows by a text log with more lines: {client: row}, standard error."""
    return rows_of(world, "--log", texts(world.folder / "log", *more), **options)


def accepted(process, name, port, key):
    return f"sshd[{process}]: Accepted publickey for {name} from 127.0.0.1 port {port} ssh2: ED25519 {key}"


def test_a_session_of_an_account_that_was_removed_is_ended(world):
    identities, listed, _ = people(world)
    with journald(), real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        journal_has("Accepted publickey for", 1)
        passwd = Path("/etc/passwd")
        before = passwd.read_text()
        passwd.write_text("".join(line for line in before.splitlines(True) if not line.startswith("alice:")))
        try:
            done = keyveto("sessions", "--key", listed, "--end", "--yes", status=1)
        finally:
            passwd.write_text(before)
        contains(done.stdout, "ended: alice")
        equal(alice.wait(PATIENCE), 255)


def test_a_forged_line_that_does_not_fit_accuses_nobody(world, texts):
    identities, listed, _ = people(world)
    with real_sshd(world) as port, opened(port, "bob", identities["bob"]) as bob:
        monitor = parent_of(bob.sshd)
        forged = (
            accepted(monitor, "bob", bob.client + 1, listed),
            accepted(bob.sshd, "bob", bob.client, listed),
            accepted(1, "bob", bob.client, listed),
            accepted(parent_of(monitor), "bob", bob.client, listed),
            accepted(monitor, "alice", bob.client, listed),
            accepted(monitor, "root", bob.client, listed),
            accepted(monitor, "nobody-at-all", bob.client, listed),
            accepted(monitor, "bob", bob.client, listed).replace("127.0.0.1", "127.0.0.2"),
        )
        rows, err = only_listed(world, texts, *forged, status=0)
        equal(rows, {})
        contains(err, "1 connection, 1 by a key: 0 listed, 0 not checked")


def test_a_forged_line_that_fits_ends_nothing(world, texts):
    """Any account can write it with logger(1), and see the rest in /proc. Nor does it make a session clean."""
    identities, listed, _ = people(world)
    reasons = {"Accepted": "its lines in the log contradict each other",
               "Partial": 'only a line "Partial" of a text log tells of it, which anybody may have written'}
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        alice, bob = (stack.enter_context(opened(port, name, identities[name])) for name in ("alice", "bob"))
        for method, reason in reasons.items():
            log = texts(world.folder / "log",
                        accepted(parent_of(bob.sshd), "bob", bob.client, listed).replace("Accepted", method),
                        accepted(parent_of(alice.sshd), "alice", alice.client, identities["bob"].key.fingerprint))
            rows, err = rows_of(world, "--log", log, "--end", "--yes", status=2)
            equal({client: (row["verdict"], row["ended"], row["reason"]) for client, row in rows.items()},
                  {alice.client: ("error", None, reasons["Accepted"]), bob.client: ("error", None, reason)})
            contains(err, ": 0 listed, 2 not checked")
        equal((alice.poll(), bob.poll()), (None, None))


def test_copies_of_a_line_contradict_nothing(world, texts):
    identities, _, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        one = texts(world.folder / "one")
        rows, _ = rows_of(world, "--log", one, "--log", texts(world.folder / "two"), status=1)
        equal([row["verdict"] for row in rows.values()], ["listed"])
        assert alice.client in rows


def test_a_text_log_is_read_beside_an_empty_journal(world, texts):
    """As in a container: the journal's folder is there, and syslogd writes the log."""
    identities, _, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]):
        Path("/run/log/journal").mkdir(parents=True, exist_ok=True)
        Path("/var/log/auth.log").write_bytes(texts(world.folder / "log").read_bytes())
        try:
            rows, _ = rows_of(world, status=1)
        finally:
            Path("/var/log/auth.log").unlink()
        equal([(row["account"], row["verdict"]) for row in rows.values()], [("alice", "listed")])


def test_a_line_of_an_earlier_process_with_this_number_does_not_count(world, texts):
    """Although it came from the same address and port."""
    identities, _, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        log = texts(world.folder / "log")
        text = log.read_text()
        log.write_text("".join(f"2020-01-01{line[10:]}\n" for line in text.splitlines()))
        os.utime(log)
        rows, _ = rows_of(world, "--log", log, status=2)
        equal([(row["account"], row["verdict"], row["reason"]) for row in rows.values()],
              [("alice", "error", "no line of the log tells how it came in")])
        assert alice.client in rows


def test_a_connection_without_a_line_is_not_called_clean(world, texts):
    identities, listed, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        partial = accepted(parent_of(alice.sshd), "alice", alice.client, listed).replace("Accepted", "Partial")
        log = texts(world.folder / "log", partial, without="Accepted")
        for by in (("--listed",), (), ("--key", listed)):
            rows, err = rows_of(world, "--log", log, by=by, status=2)
            equal([(client, row["account"], row["from"], row["fingerprint"], row["verdict"])
                   for client, row in rows.items()], [(alice.client, "alice", "127.0.0.1", None, "error")])
            contains(err, "1 connection, ", " by a key: 0 ", ", 1 not checked")
        texts(log, without="Accepted")
        contains(keyveto("sessions", "--log", log, "--filter", world.filter, status=2).stdout,
                 "not checked: no line of the log tells how it came in\n")


def test_a_login_by_password_is_no_matter_of_keys(world, texts):
    identities, _, _ = people(world)
    with real_sshd(world) as port, opened(port, "bob", identities["bob"]) as bob:
        for method in ("password", "keyboard-interactive/pam", "gssapi-with-mic"):
            line = accepted(parent_of(bob.sshd), "bob", bob.client, "").replace("publickey", method)
            log = texts(world.folder / "log", line[:line.index(": ED")], without="Accepted")
            rows, err = rows_of(world, "--log", log, by=(), status=0)
            equal(rows, {})
            contains(err, "1 connection, 0 by a key: 0 listed, 0 not checked")


def test_who_was_not_let_in_yet_is_no_session(world, texts):
    """One that says nothing, and one that asks for keys."""
    identities, _, _ = people(world)
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        for sent in (b"", b"SSH-2.0-x\r\n"):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            client.sendall(sent)
            equal(client.recv(4), b"SSH-")
        stack.enter_context(opened(port, "bob", identities["bob"]))
        contains(only_listed(world, texts, status=0)[1], "1 connection, 1 by a key: 0 listed, 0 not checked")


def test_a_session_of_roots_through_whose_port_somebody_comes_is_told(world, texts):
    """Its process has then both a port where it listens and a connection there, as the sshd that waits may have."""
    identities, _, _ = people(world)
    authorize_root(world, identities["alice"])
    with socket.create_server(("127.0.0.1", 0)) as unused:
        forwarded = unused.getsockname()[1]
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        behind = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        root = stack.enter_context(opened(port, "root", identities["alice"],
                                          ("-R", f"{forwarded}:127.0.0.1:{behind.getsockname()[1]}")))
        stack.enter_context(socket.create_connection(("127.0.0.1", forwarded)))
        stack.enter_context(behind.accept()[0])
        rows, _ = only_listed(world, texts, status=1)
        equal(list(rows), [root.client])


def test_a_session_of_roots_that_forwards_the_port_of_sshd_is_told(world, texts):
    """The port is free on another address. Then its process listens where its own connection came in."""
    identities, _, _ = people(world)
    authorize_root(world, identities["alice"])
    with real_sshd(world) as port, opened(port, "root", identities["alice"], (
            "-o", "ExitOnForwardFailure=yes", "-R", f"{port}:127.0.0.1:1")) as root:
        equal(list(only_listed(world, texts, status=1)[0]), [root.client])


def test_root_that_the_kernel_does_not_show_sockets_does_not_call_all_clean(world, texts):
    """As in a container without CAP_SYS_PTRACE."""
    identities, _, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]):
        done = subprocess.run(["setpriv", "--bounding-set=-sys_ptrace", KEYVETO, "sessions", "--filter", world.filter,
                               "--log", texts(world.folder / "log")],
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        equal((done.returncode, done.stdout, done.stderr), (2, "", "keyveto: the processes: Permission denied\n"))


def test_a_certificate_whose_ca_the_log_has_cut_off_is_not_checked(world, texts):
    """Who has the key of a CA chooses an ID of any length: sshd logs the first 500 bytes of a message."""
    identities, _, authority = people(world)
    with real_sshd(world) as port, opened(port, "bob", identities["bob"]) as bob:
        line = accepted(parent_of(bob.sshd), "bob", bob.client, identities["bob"].key.fingerprint)
        line = line.replace("ED25519 ", "ED25519-CERT ") + " ID " + "x" * 500
        start = line.index("Accepted")
        log = texts(world.folder / "log", line[:start + 500], without="Accepted")
        for by in (("--key", authority), ("--listed",)):
            rows, _ = rows_of(world, "--log", log, by=by, status=2)
            equal([(client, row["verdict"], row["reason"]) for client, row in rows.items()],
                  [(bob.client, "error", "the log does not have the CA of its certificate")])


def test_an_md5_fingerprint_of_a_first_step_is_not_called_clean(world, texts):
    """With AuthenticationMethods publickey,password; the last line tells of no key."""
    identities, _, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        monitor = parent_of(alice.sshd)
        key = accepted(monitor, "alice", alice.client, "MD5:" + ":".join(["aa"] * 16)).replace("Accepted", "Partial")
        whole = accepted(monitor, "alice", alice.client, "").replace("publickey", "password")
        password = whole.partition(": ED25519")[0]
        log = texts(world.folder / "log", key, password, without="Accepted")
        rows, err = rows_of(world, "--log", log, status=2)
        equal(rows[alice.client]["reason"], "the log has an MD5 fingerprint of its key")
        contains(err, "1 not checked")


def test_a_certificate_names_its_own_key_alone(world, texts):
    """Not its CA, by whose certificates other accounts came in."""
    authority = keys.generate(world.folder)
    identities = {}
    for name in ("alice", "bob"):
        world.account(name).authorize(f"cert-authority {authority.key}")
        identities[name] = keys.certify(authority, keys.generate(world.folder), name)
    certificate = identities["alice"].options[-1].partition("=")[2]
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        alice, bob = (stack.enter_context(opened(port, name, identity)) for name, identity in identities.items())
        log = texts(world.folder / "log")
        done = keyveto("sessions", "--key", certificate, "--log", log, "--end", "--yes", status=1)
        contains(done.stdout, "ended: alice")
        equal(alice.wait(PATIENCE), 255)
        equal(bob.poll(), None)
        public = world.folder / "ca.pub"
        public.write_text(f"{authority.key}\n")
        contains(keyveto("sessions", "--key", public, "--log", log, status=1).stdout, "bob")


def test_the_id_of_a_hostbased_certificate_does_not_hide_its_ca(world, texts):
    """Who has the key of the CA chooses the ID, and the client the name behind it: each may look like a CA."""
    identities, listed, authority = people(world)
    clean = identities["bob"].key.fingerprint
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        line = accepted(parent_of(alice.sshd), "alice", alice.client,
                        f'{clean} ID x (serial 0) CA ED25519 {clean}, client user "y (serial 1) CA ED25519 '
                        f'{authority}, client user "root", client host "h"')
        line = line.replace("publickey", "hostbased").replace("ED25519 ", "ED25519-CERT ", 1)
        log = texts(world.folder / "log", line, without="Accepted")
        for key in (authority, listed):
            rows, _ = rows_of(world, "--log", log, by=("--key", key), status=2)
            equal(rows[alice.client]["reason"], "the log does not have the CA of its certificate")


def test_a_key_that_is_in_no_file_any_more_is_not_checked(world, texts):
    """Unless --key names it, or a DenyKey line."""
    identities, listed, _ = people(world)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        log = texts(world.folder / "log")
        (world.folder / "home/alice/.ssh/authorized_keys").write_text("")
        rows, err = rows_of(world, "--log", log, status=2)
        equal([(row["fingerprint"], row["verdict"], row["reason"]) for row in rows.values()],
              [(listed, "error", "no file of the account has it")])
        contains(err, "0 listed, 1 not checked")
        config = world.folder / "keyveto.conf"
        config.write_text(f"Filter {world.filter}\nDenyKey {listed} leaked\n", encoding="utf-8")
        done = keyveto("sessions", "--log", log, "--listed", "--config", config, status=1)
        contains(done.stdout, f"listed: {listed} [keyveto.conf DenyKey]\n")
        for key in (listed, identities["alice"].key.path):
            rows, err = rows_of(world, "--log", log, by=("--key", key), status=1)
            equal([(client, row["verdict"], row["named"]) for client, row in rows.items()],
                  [(alice.client, "named", True)])
            contains(err, "1 named, 0 not checked")
        rows, _ = rows_of(world, "--log", log, by=("--key", identities["bob"].key.fingerprint), status=0)
        equal(rows, {})


@pytest.mark.long
def test_a_session_that_its_account_has_stopped_is_ended(world, texts):
    """SIGTERM would wait there for ever. What the session leaves behind is counted."""
    identities, _, _ = people(world)
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        alice = stack.enter_context(opened(port, "alice", identities["alice"],
                                           command="setsid sleep 1000 & echo up; exec sleep 1000"))
        bob = stack.enter_context(opened(port, "bob", identities["bob"]))
        monitor = parent_of(alice.sshd)
        os.kill(alice.sshd, signal.SIGSTOP)
        done = end(world, texts)
        contains(done.stdout,
                 f"ended: alice from 127.0.0.1, process {monitor}; 2 processes that it had started still run\n")
        equal(alice.wait(PATIENCE), 255)
        equal(bob.poll(), None)


def end(world, texts, *words):
    log = texts(world.folder / "log")
    return keyveto("sessions", "--log", log, "--filter", world.filter, "--end", "--yes", *words, status=1)


@pytest.mark.long
def test_connections_of_other_forms_are_ended(world, texts):
    """A terminal, a port that sshd listens on for root's client, and several sessions in a connection."""
    identities, _, _ = people(world)
    authorize_root(world, identities["alice"])
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        def begin(name, *options):
            return stack.enter_context(opened(port, name, identities["alice"], options))
        clients = [begin("alice", "-tt"), begin("root", "-R", "0:127.0.0.1:1"),
                   begin("alice", "-M", "-S", f"{world.folder}/mux")]
        words = ssh(port, "alice", identities["alice"], "echo through; exec sleep 1000")
        words[1:1] = ["-S", f"{world.folder}/mux"]
        second = stack.enter_context(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                                      stderr=subprocess.DEVNULL, text=True))
        equal(second.stdout.readline(), "through\n")
        equal(sorted(only_listed(world, texts, status=1)[0]), sorted(one.client for one in clients))
        end(world, texts)
        for client in (*clients, second):
            equal(client.wait(PATIENCE), 255)


def test_a_connection_without_a_command_is_ended(world, texts):
    """ssh -N, of an account and of root, whose process has no other title then."""
    identities, listed, _ = people(world)
    authorize_root(world, identities["alice"])
    with real_sshd(world) as port, contextlib.ExitStack() as stack:
        clients = []
        for name in ("alice", "root"):
            words = ssh(port, name, identities["alice"])
            words[1:1] = ["-N"]
            clients.append(stack.enter_context(subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                                                stderr=subprocess.DEVNULL)))
            stack.callback(clients[-1].kill)
        wait_until(lambda: len(only_listed(world, texts)[0]) == 2, "both are told")
        rows, _ = only_listed(world, texts, status=1)
        equal(sorted(row["account"] for row in rows.values()), ["alice", "root"])
        end(world, texts, "--key", listed)
        for client in clients:
            equal(client.wait(PATIENCE), 255)


def test_the_own_session_is_left_unless_own_is_asked_for(world, texts):
    identities, listed, _ = people(world)
    authorize_root(world, identities["alice"])
    words = ("sessions", "--key", listed, "--log", world.folder / "log", "--end", "--yes")
    run = " ".join(str(word) for word in (KEYVETO, *words))
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]) as alice:
        go = world.folder / "go"
        command = f"echo up; until test -e {go}; do sleep 0.02; done; cd /; {run}; echo status $?; {run} --own"
        with opened(port, "root", identities["alice"], command=command) as root:
            texts(world.folder / "log")
            own = that_let_in_root(root)
            go.touch()
            text = root.stdout.read()
            contains(text, "ended: alice from 127.0.0.1, process ",
                     f"left: root from 127.0.0.1, process {own}: "
                     "it is your own session; --own ends it, too\n",
                     "status 2\n")
            equal(root.wait(PATIENCE), 255)
            equal(alice.wait(PATIENCE), 255)


def test_a_process_of_an_account_is_no_session_of_sshds(world, texts):
    """It has sshd's name, such a name that a reader of /proc goes wrong, and a connection; a line tells of it."""
    _, listed, _ = people(world)
    program = world.folder / "sshd"
    program.write_bytes(Path("/usr/bin/python3").resolve().read_bytes())
    program.chmod(0o755)
    world.folder.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        says = ("import ctypes, socket, time; ctypes.CDLL(None).prctl(15, b'sshd) S 1 (\\n\x1b')\n"
                f"s = socket.create_connection(('127.0.0.1', {server.getsockname()[1]})); time.sleep(1000)")
        with subprocess.Popen(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", program, "-c",
                               says], stdin=subprocess.DEVNULL) as process:
            try:
                _, (_, port) = server.accept()
                rows, err = only_listed(world, texts, accepted(process.pid, "nobody", port, listed), status=0)
                equal(rows, {})
                contains(err, "0 connections, 0 by a key")
            finally:
                process.kill()


def test_a_session_that_pam_was_opening_is_not_called_clean(world):
    """It is of root's at first, and of the account before the log has been read. Its line does not fit."""
    program = world.folder / "sshd"
    program.write_bytes(Path("/usr/bin/python3").resolve().read_bytes())
    program.chmod(0o755)
    log = world.folder / "log"
    os.mkfifo(log)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        says = ("import os, socket, time\n"
                f"s = socket.create_connection(('127.0.0.1', {port}))\n"
                f"if os.fork() == 0: input(); os.setuid({NOBODY}); print('now', flush=True)\n"
                "time.sleep(1000)")
        with subprocess.Popen([program, "-c", says], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              start_new_session=True) as process:
            try:
                server.accept()
                words = [KEYVETO, "sessions", "--json", "--log", log, "--key", world.clean.path]
                with subprocess.Popen(words, stdout=subprocess.PIPE) as run:
                    with log.open("w"):
                        process.stdin.write(b"\n")
                        process.stdin.flush()
                        equal(process.stdout.readline(), b"now\n")
                    row = json.loads(run.stdout.readline())
                    equal((row["process"], row["port"], row["account"], row["verdict"], run.wait(PATIENCE)),
                          (process.pid, port, "nobody", "error", 2))
            finally:
                os.killpg(process.pid, signal.SIGKILL)


# OpenSSH cuts its title off where the room for it ends, and sets none if its words are too long.
@pytest.mark.parametrize("title", ("sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups",
                                   "sshd: /usr/sbin/sshd -D -f /e", "/usr/sbin/sshd"))
def test_the_sshd_that_waits_is_no_session_wherever_it_is_connected(world, texts, title):
    """NSS may connect it to a server of accounts: a forged line can tell of that."""
    _, listed, _ = people(world)
    program = world.folder / "sshd"
    program.write_bytes(Path("/usr/bin/python3").resolve().read_bytes())
    program.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        says = ("import socket, time; s = socket.create_server(('127.0.0.1', 0)); "
                f"c = socket.create_connection(('127.0.0.1', {port})); time.sleep(1000)")
        with subprocess.Popen([title, "-c", says], executable=program, stdin=subprocess.DEVNULL) as process:
            try:
                server.accept()
                log = texts(world.folder / "log", accepted(process.pid, "root", port, listed))
                rows, err = rows_of(world, "--log", log, "--end", "--yes", by=("--key", listed), status=0)
                equal((rows, process.poll()), ({}, None))
                contains(err, "0 connections, 0 by a key")
            finally:
                process.kill()


@no_asan
def test_a_parser_of_the_log_that_is_taken_over_has_no_power(world, texts, exploit):
    """And the listed session is told."""
    identities, listed, _ = people(world)
    world.folder.chmod(0o755)
    with real_sshd(world) as port, opened(port, "alice", identities["alice"]):
        log = texts(world.folder / "log")
        log.write_bytes(MARK + b"\n" + log.read_bytes())
        for words in (("--listed", "--filter", world.filter), ("--key", listed)):
            could, names, done = exploit.run("sessions", *words, "--log", log)
            equal((names, could), ({"keyveto-reader"}, set()), done)
            contains(done.stdout.decode(), listed)


def test_usage(world):
    contains(keyveto("sessions", "x", status=2).stderr, "sessions takes no argument")
    contains(keyveto("sessions", "--yes", status=2).stderr, "--own and --yes go with --end")
    contains(keyveto("sessions", "--end", status=2).stderr, "it needs --yes")
    contains(keyveto("sessions", "--listed", "--key", "x", status=2).stderr, "leave out --listed")
    contains(keyveto("sessions", "--key", world.folder / "none", status=2).stderr, "No such file")
    equal(keyveto("sessions", "--key", world.clean.path, status=0).stdout, "")
    done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", KEYVETO, "sessions"],
                          capture_output=True, text=True, check=False, timeout=PATIENCE)
    equal(done.returncode, 2)
    contains(done.stderr, "only root can tell whose connections are open")
