# SPDX-License-Identifier: ISC
"""keyveto scan against a private sshd, and against servers that misbehave."""

import contextlib
import json
import os
import socket
import struct
import subprocess
import threading
import time

import pytest

import keys
import nosecret_keys
from openssh import without_penalties
from program import KEYVETO, PATIENCE, SSHD, contains, equal, keyveto, lacks, make_filter
from runs import tool
from samples import write

# As root, sshd and port 22 of the machine are used. Another user's servers disturb nothing.
pytestmark = [pytest.mark.throwaway] if os.geteuid() == 0 else []

JSON_KEYS = {"file", "line", "verdict", "type", "bits", "fingerprint", "spki_sha256", "part", "comment",
             "filters", "lists", "source", "sources", "reason"}
FOUR_TYPES = (("ed25519", None), ("ecdsa", 256), ("ecdsa", 521), ("rsa", 3072))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


@contextlib.contextmanager
def closed_port():
    """A bound port that nobody listens on, or can listen on meanwhile."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


def wait_for(port, process, log):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE):
            return
        time.sleep(0.05)
    raise AssertionError(f"sshd does not answer: {log.read_text()}")


@contextlib.contextmanager
def sshd(folder, identities, *options):
    """A private sshd with these host keys: (its port, the path of its log)."""
    port = free_port()
    config, log = folder / f"sshd{port}", folder / f"log{port}"
    lines = [f"Port {port}", "ListenAddress 127.0.0.1", "ListenAddress ::1", "PidFile none", "LogLevel DEBUG2",
             "MaxStartups 100", "UsePAM no", "StrictModes no", *without_penalties(),
             *(f"HostKey {one.path}" for one in identities), *options]
    config.write_text("".join(f"{line}\n" for line in lines))
    with open(log, "wb") as sink, subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL,
                                                   stderr=sink) as process:
        try:
            wait_for(port, process, log)
            yield port, log
        finally:
            process.terminate()


class Server:
    """A server that calls talk(connection) for each client."""

    def __init__(self, talk):
        self._talk = talk
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def _handle(self, connection):
        with connection, contextlib.suppress(OSError):
            self._talk(connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()


def say_nothing(connection):
    while connection.recv(4096):
        pass


def trickle(data):
    """Send data byte by byte, again and again."""
    def talk(connection):
        while True:
            for byte in data:
                connection.sendall(bytes([byte]))
                time.sleep(0.05)
    return talk


def packet(payload):
    padding = 8 - (len(payload) + 5) % 8 + 8
    return struct.pack(">IB", len(payload) + padding + 1, padding) + payload + bytes(padding)


def string(data):
    return struct.pack(">I", len(data)) + data


def kexinit(host_key_algorithms):
    """An SSH_MSG_KEXINIT packet with usual algorithms, and these host key algorithms."""
    lists = [b"curve25519-sha256,ecdh-sha2-nistp256", host_key_algorithms, b"aes128-ctr", b"aes128-ctr",
             b"hmac-sha2-256",
             b"hmac-sha2-256", b"none", b"none", b"", b""]
    return packet(b"\x14" + bytes(16) + b"".join(string(one) for one in lists) + bytes(5))


def offer(host_key_algorithms):
    """A function for Server: sends the list of algorithms, and then nothing more."""
    def talk(connection):
        connection.sendall(b"SSH-2.0-made-up\r\n" + kexinit(host_key_algorithms))
        say_nothing(connection)
    return talk


def keys_and_filter(folder, listed=1, kinds=FOUR_TYPES):
    """(host keys, a filter that lists the one at that index). With None, the filter lists another key."""
    identities = [keys.generate(folder, *kind) for kind in kinds]
    chosen = keys.generate(folder) if listed is None else identities[listed]
    return identities, make_filter(folder / "bad.pkbf", chosen.key)


def name(port):
    return f"127.0.0.1:{port}"


def scan(*arguments, **options):
    """Runs keyveto scan with a timeout that is long enough on a busy machine."""
    return keyveto("scan", "--timeout", PATIENCE, *arguments, **options)


def fingerprints(text):
    return sorted(word for word in text.split() if word.startswith("SHA256:"))


def test_one_of_four_host_keys_is_listed(scratch):
    """The exit status is 1."""
    identities, bad = keys_and_filter(scratch)
    with sshd(scratch, identities) as (port, _log):
        done = scan("--filter", bad, name(port), status=1)
    equal(done.stdout, f"{name(port)}: listed: ecdsa-sha2-nistp256 256 {identities[1].key.fingerprint} [{bad}]\n")
    contains(done.stderr, "4 keys of 1 server", "1 listed, 3 clean")


def test_all_shows_every_type_quiet_none_and_nobody_logs_in(scratch):
    identities, bad = keys_and_filter(scratch)
    with sshd(scratch, identities) as (port, log):
        every = scan("--all", "--filter", bad, name(port), status=1)
        quiet = scan("--quiet", "--filter", bad, name(port), status=1)
    equal(fingerprints(every.stdout), sorted(one.key.fingerprint for one in identities))
    equal(len(every.stdout.splitlines()), 4)
    equal(quiet.stdout, "")
    lacks(quiet.stderr, "listed", "clean")
    lacks(log.read_text(), "userauth-request")


def test_nothing_listed_is_status_0(scratch):
    identities, bad = keys_and_filter(scratch, listed=None)
    with sshd(scratch, identities) as (port, _log):
        done = scan("--filter", bad, name(port), status=0)
    equal(done.stdout, "")


@pytest.fixture(name="ipv6")
def fixture_ipv6():
    """Skips a test where there is no IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as sock:
            sock.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 on this machine")


@pytest.mark.parametrize("host", (
    pytest.param("[::1]", marks=pytest.mark.usefixtures("ipv6")),
    pytest.param("localhost", marks=pytest.mark.throwaway)))        # where /etc/hosts has it
def test_ipv6_addresses_and_names_are_scanned(scratch, host):
    identities, bad = keys_and_filter(scratch)
    with sshd(scratch, identities) as (port, _log):
        done = scan("--filter", bad, f"{host}:{port}", status=1)
    equal([line.split(": ")[0] for line in done.stdout.splitlines()], [f"{host}:{port}"])


@pytest.mark.usefixtures("ipv6")
def test_an_ipv6_address_without_a_port_gets_port_22(scratch):
    _, bad = keys_and_filter(scratch, kinds=FOUR_TYPES[:2])
    done = scan("--filter", bad, "::1", "[::1]", status=2)
    equal(done.stderr.count("keyveto: [::1]:22: cannot connect: Connection refused\n"), 2, done.stderr)


def test_rsa_host_keys_of_1024_bits_and_old_algorithms_are_scanned(scratch):
    identities, bad = keys_and_filter(scratch, 0, (("rsa", 1024),))
    with sshd(scratch, identities, "HostKeyAlgorithms ssh-rsa", "KexAlgorithms diffie-hellman-group14-sha1",
              "Ciphers aes128-cbc", "MACs hmac-sha1") as (port, _log):
        done = scan("--filter", bad, name(port), status=1)
    contains(done.stdout, f"listed: ssh-rsa 1024 {identities[0].key.fingerprint}")


def test_a_host_certificate_is_passed_over(scratch):
    identities, bad = keys_and_filter(scratch, 0, FOUR_TYPES[:1])
    ca = keys.generate(scratch)
    tool("ssh-keygen", "-q", "-h", "-s", ca.path, "-I", "host", identities[0].key.path)
    with sshd(scratch, identities, f"HostCertificate {identities[0].path}-cert.pub") as (port, _log):
        done = scan("--all", "--filter", bad, name(port), status=1)
    equal(len(done.stdout.splitlines()), 1, done.stdout)
    contains(done.stderr, "1 key of 1 server: 1 listed, 0 clean\n")


def test_the_scanners_own_ssh_configuration_does_not_count(scratch):
    identities, bad = keys_and_filter(scratch)
    home = scratch / "home/.ssh"
    home.mkdir(parents=True)
    (home / "config").write_text("Host *\n ProxyCommand false\n HostKeyAlgorithms ssh-rsa\n HostName 192.0.2.1\n")
    with sshd(scratch, identities) as (port, _log):
        (home / "known_hosts").write_text(f"[127.0.0.1]:{port} {keys.generate(scratch).key}\n")
        before = sorted(path.name for path in home.iterdir())
        done = scan("--all", "--filter", bad, name(port), status=1, env={**os.environ, "HOME": str(home.parent)})
    equal(len(done.stdout.splitlines()), 4)
    equal(sorted(path.name for path in home.iterdir()), before)


def test_json_prints_findings_and_problems_one_on_a_line(scratch):
    identities, bad = keys_and_filter(scratch)
    with closed_port() as closed, sshd(scratch, identities) as (port, _log):
        done = scan("--json", "--all", "--filter", bad, name(port), name(closed), status=1)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(set(one) == JSON_KEYS for one in found), found
    verdicts = sorted((one["file"], one["verdict"], one["fingerprint"]) for one in found if one["verdict"] != "error")
    equal(verdicts, sorted((name(port), "listed" if one is identities[1] else "clean", one.key.fingerprint)
                           for one in identities))
    equal([(one["file"], one["reason"]) for one in found if one["verdict"] == "error"],
          [(name(closed), "cannot connect: Connection refused")])


def test_a_server_that_cannot_be_reached_does_not_stop_the_rest(scratch):
    identities, bad = keys_and_filter(scratch)
    clean = make_filter(scratch / "other.pkbf", keys.generate(scratch).key)
    with closed_port() as closed, sshd(scratch, identities) as (port, _log):
        hosts = (name(closed), "no-such-host.invalid", "[::1", "someone@host", "host:0", "host:65536", "host:ssh", "",
                 name(port))
        listed = scan("--filter", bad, *hosts, status=1)
        unchecked = scan("--filter", clean, *hosts, status=2)
    equal(len(listed.stdout.splitlines()), 1)
    equal(unchecked.stdout, "")
    contains(unchecked.stderr, f"keyveto: {name(closed)}: cannot connect: Connection refused\n",
             "keyveto: no-such-host.invalid:22: cannot look up the name: ", "keyveto: [::1: ",
             "keyveto: someone@host: ",
             "keyveto: host:0: a port is", "keyveto: host:65536: a port is", "keyveto: host:ssh: a port is",
             "8 problems")


def problem_of(folder, talk, *words, seconds=PATIENCE, **options):
    """Scans a server that talks so, which is a problem: how that ended, and the server's name."""
    _, bad = keys_and_filter(folder, kinds=FOUR_TYPES[:2])
    with Server(talk) as server:
        done = keyveto("scan", "--filter", bad, "--timeout", seconds, *words, name(server.port), status=2, **options)
    return done, name(server.port)


def trickle_packets(connection):
    connection.sendall(b"SSH-2.0-slow\r\n")
    trickle(kexinit(b"ssh-ed25519"))(connection)


SLOW = {
    "says nothing": say_nothing,
    "trickles its banner": trickle(b"SSH-2.0-" + 200 * b"slow"),
    "trickles lines before the banner": trickle(b"hello\r\n"),
    "trickles its packets": trickle_packets,
    "stalls after its offer": offer(b"ssh-ed25519"),
}


@pytest.mark.parametrize("talk", SLOW.values(), ids=SLOW)
def test_a_slow_server_is_given_up_in_time(scratch, talk):
    done, host = problem_of(scratch, talk, seconds=2)
    contains(done.stderr, f"keyveto: {host}: no answer within 2 seconds")
    assert done.seconds >= 2, f"it took {done.seconds} s"


def test_a_server_that_talks_without_end_is_given_up_in_time(scratch):
    def talk(connection):
        while True:
            connection.sendall(65536 * b"\0")
    contains(problem_of(scratch, talk, seconds=2)[0].stderr, "1 problem")


def test_a_server_that_does_not_speak_ssh_is_a_problem(scratch):
    def talk(connection):
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 400 Bad \x1b[31mRequest\r\n\r\n")
    done, host = problem_of(scratch, talk)
    contains(done.stderr, f"keyveto: {host}: asking which keys it has: ", "1 problem")
    lacks(done.stderr, "\x1b")


def test_a_servers_reason_to_disconnect_is_printed_escaped(scratch):
    def talk(connection):
        connection.recv(4096)
        connection.sendall(b"SSH-2.0-made-up\r\n" + packet(b"\x02" + string(b"ignore this")) +
                           packet(b"\x01" + struct.pack(">I", 11) + string(b"go \x1b[31maway") + string(b"")))
        connection.recv(4096)
    done, _ = problem_of(scratch, talk)
    contains(done.stderr, r"asking which keys it has: Received SSH_MSG_DISCONNECT: 11:go \x1b[31maway")


def test_malformed_packets_and_closed_connections_are_problems(scratch):
    whole = kexinit(b"ssh-ed25519")
    for words in (b"\xff" * 64, bytes(64), whole[:4] + b"\xff" + whole[5:], whole[:60], packet(b"\x14" + bytes(20)),
                  packet(b"\x14" + bytes(16) + b"\0\0\xff\xff" + bytes(40))):
        def talk(connection, words=words):
            connection.recv(4096)
            connection.sendall(b"SSH-2.0-made-up\r\n" + words)
            connection.recv(4096)
        done, host = problem_of(scratch, talk)
        contains(done.stderr, f"{host}: asking which keys it has: ", "0 listed, 0 clean, 1 problem")


def test_unknown_host_key_algorithms_are_printed_escaped(scratch):
    talk = offer(b"new-\x1b[31m@example.com,ssh-ed25519-cert-v01@openssh.com,ssh-ed448")
    done, _ = problem_of(scratch, talk, "--json")
    lacks(done.stderr + done.stdout, "\x1b")
    lacks(done.stderr, "cert-v01")
    contains(done.stderr, r"unknown key type new-\x1b[31m@example.com", "ssh-ed448: the server offers such a key")
    verdicts = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
    equal(sorted(verdicts), ["error", "unsupported"])


def test_a_server_that_offers_no_host_key_at_all_is_a_problem(scratch):
    problem_of(scratch, offer(b""))


@contextlib.contextmanager
def running(*arguments, stdin=subprocess.DEVNULL):
    """A running keyveto scan whose standard output and standard error are pipes."""
    with subprocess.Popen([str(word) for word in (KEYVETO, "scan", "--timeout", PATIENCE, *arguments)],
                          stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


def test_many_stalled_servers_cost_the_time_of_one(scratch):
    """The other servers are scanned meanwhile."""
    identities, bad = keys_and_filter(scratch)
    with socket.create_server(("127.0.0.1", 0), backlog=200) as stalled, sshd(scratch, identities) as (port, _log):
        hosts = 60 * [name(stalled.getsockname()[1])] + [name(port)]
        with running("--filter", bad, *hosts) as process:
            stalled.settimeout(PATIENCE)
            # All of them are asked although none has answered.
            asked = [stalled.accept()[0] for _ in range(60)]
            contains(process.stdout.readline(), f"{name(port)}: listed: ")
            for connection in asked:
                connection.close()
            out, told = process.communicate(timeout=PATIENCE)
    equal((process.returncode, out), (1, ""))
    contains(told, "of 61 servers", "60 problems")


def test_64_servers_are_asked_at_a_time(scratch):
    _, bad = keys_and_filter(scratch, kinds=FOUR_TYPES[:2])
    # Only this server closes connections, so it knows how many are open.
    with socket.create_server(("127.0.0.1", 0), backlog=200) as server:
        hosts = 67 * [name(server.getsockname()[1])]
        with running("--filter", bad, *hosts) as command:
            server.settimeout(PATIENCE)
            asked = [server.accept()[0] for _ in range(64)]
            for _ in hosts[64:]:
                server.settimeout(0.5)
                with contextlib.suppress(TimeoutError):
                    server.accept()
                    raise AssertionError("one more server is asked while 64 have not answered")
                asked.pop(0).close()
                server.settimeout(PATIENCE)
                asked.append(server.accept()[0])
            for connection in asked:
                connection.close()
            _, told = command.communicate(timeout=PATIENCE)
    equal(command.returncode, 2)
    contains(told, "of 67 servers", "67 problems")


def test_many_servers_at_once_print_whole_lines(scratch):
    identities, bad = keys_and_filter(scratch)
    with sshd(scratch, identities) as (port, _log):
        done = scan("--all", "--filter", bad, *40 * [name(port)], status=1)
    lines = [f"{name(port)}: {'listed' if one is identities[1] else 'clean'}: " for one in identities]
    equal(len(done.stdout.splitlines()), 160, done.stderr)
    assert all(line.startswith(tuple(lines)) for line in done.stdout.splitlines()), done.stdout


def test_hosts_are_read_from_standard_input_without_comments_and_blank_lines(scratch):
    identities, bad = keys_and_filter(scratch)
    with sshd(scratch, identities) as (port, _log):
        text = f"# servers\n\n  {name(port)}  # the first\r\n\t\n{name(port)}\nhost:no\n{5000 * 'x'}\n{name(port)}"
        done = scan("--filter", bad, "-", status=1, input=text)
    equal(len(done.stdout.splitlines()), 3, done.stderr)
    contains(done.stderr, "2 problems", "keyveto: host:no: a port", "keyveto: -: ")


def test_hosts_of_standard_input_and_of_arguments_are_both_scanned(scratch):
    identities, bad = keys_and_filter(scratch)
    with sshd(scratch, identities) as (port, _log):
        done = scan("--filter", bad, name(port), "-", name(port), status=1, input=f"{name(port)}\n")
        closed = keyveto("scan", "--filter", bad, "-", status=0, input="")
    equal(len(done.stdout.splitlines()), 3, done.stderr)
    equal(closed.stdout, "")


def test_a_host_is_scanned_as_soon_as_its_line_comes(scratch):
    identities, bad = keys_and_filter(scratch)
    with sshd(scratch, identities) as (port, _log), \
            running("--filter", bad, "-", stdin=subprocess.PIPE) as process:
        for _ in range(3):
            process.stdin.write(f"{name(port)}\n")
            process.stdin.flush()
            contains(process.stdout.readline(), f"{name(port)}: listed: ")
        process.communicate(timeout=PATIENCE)
        equal(process.returncode, 1)


def test_bad_usage_is_status_2(scratch):
    _, bad = keys_and_filter(scratch, kinds=FOUR_TYPES[:2])
    for arguments in ((), ("--timeout", "0", "h"), ("--timeout", "1.5", "h"), ("--nonsense", "h")):
        done = keyveto("scan", "--filter", bad, *arguments, status=2)
        equal(done.stdout, "")
        assert done.stderr, arguments
    done = keyveto("scan", "--filter", scratch / "missing.pkbf", "127.0.0.1:1", status=2)
    contains(done.stderr, "missing.pkbf")
    contains(keyveto("scan", "--help", status=0).stdout, "--timeout S", "Exit status")


NO_SECRET = {
    "RSA, exponent 1": nosecret_keys.rsa_exponent_of_1,
    "RSA, 3 times a prime": nosecret_keys.rsa_small_factor(3),
    "Ed25519, the neutral element": nosecret_keys.ed25519(bytes([1, *bytes(31)])),
    "ECDSA P-256, G": nosecret_keys.ecdsa("nistp256", 1),
    "RSA, a prime": nosecret_keys.rsa_prime_modulus,
}


@pytest.mark.parametrize("make", NO_SECRET.values(), ids=NO_SECRET)
def test_a_host_key_that_needs_no_secret_is_listed(scratch, make):
    """sshd has no private half of it either: an agent signs by formula, and libssh takes that for this host."""
    key, sound = make(scratch), keys.generate(scratch, "ecdsa", 521)
    source = key.source or "rsa-prime"
    path, empty = write(scratch / "host.pub", f"{key}\n"), make_filter(scratch / "empty.pkbf")
    with contextlib.closing(nosecret_keys.Agent(scratch, key)) as agent, \
            sshd(scratch, [sound], f"HostKey {path}", f"HostKeyAgent {agent.path}") as (port, _):
        done = scan("--filter", empty, "--json", name(port), status=1)
        found = {one["type"]: one for one in map(json.loads, done.stdout.splitlines()) if one["verdict"] == "listed"}
        equal(list(found), [key.type], done.stdout)
        equal([found[key.type][what] for what in ("fingerprint", "lists", "source", "verdict")],
              [key.fingerprint, ["built-in"], source, "listed"])
        contains(done.stderr, "1 listed, 1 clean")
        contains(scan("--filter", empty, name(port), status=1).stdout, f"{key.fingerprint} [built-in {source}]\n")
