# SPDX-License-Identifier: ISC
"""keyveto scan against a private sshd, and against servers that misbehave.

    python3 tests/cli/test_scan.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto). Run by root, the cases are in
a throw-away root with a network of its own.
"""

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from cases import KEYVETO, PATIENCE, SSHD, case, contains, equal, keyveto, lacks, make_filter, run_in_sandbox
import keys
from openssh import without_penalties

JSON_KEYS = {"file", "line", "verdict", "type", "bits", "fingerprint", "spki_sha256", "part", "comment",
             "filters", "reason"}
FOUR_TYPES = (("ed25519", None), ("ecdsa", 256), ("ecdsa", 521), ("rsa", 3072))


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


@contextlib.contextmanager
def closed_port():
    """A port that nobody listens on, nor can while it is ours."""
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
    """A private sshd with these host keys; gives its port, and its log once it has ended."""
    port = free_port()
    config, log = folder / f"sshd{port}", folder / f"log{port}"
    lines = [f"Port {port}", "ListenAddress 127.0.0.1", "ListenAddress ::1", "PidFile none", "LogLevel DEBUG2",
             "MaxStartups 100", "UsePAM no", "StrictModes no", *without_penalties(), *(f"HostKey {one.path}" for one in identities), *options]
    config.write_text("".join(f"{line}\n" for line in lines))
    with open(log, "wb") as sink, subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stdin=subprocess.DEVNULL,
                                                   stderr=sink) as process:
        try:
            wait_for(port, process, log)
            yield port, log
        finally:
            process.terminate()


class Server:
    """A server of ours: calls talk(connection) for each client."""

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
    """An SSH_MSG_KEXINIT packet that offers what everybody has, and these host keys."""
    lists = [b"curve25519-sha256,ecdh-sha2-nistp256", host_key_algorithms, b"aes128-ctr", b"aes128-ctr", b"hmac-sha2-256",
             b"hmac-sha2-256", b"none", b"none", b"", b""]
    return packet(b"\x14" + bytes(16) + b"".join(string(one) for one in lists) + bytes(5))


def offer(host_key_algorithms):
    """A server that gets as far as saying what it offers."""
    def talk(connection):
        connection.sendall(b"SSH-2.0-made-up\r\n" + kexinit(host_key_algorithms))
        say_nothing(connection)
    return talk


def fixture(folder, listed=1, kinds=FOUR_TYPES):
    """Host keys, and a filter with one of them (None: with another key)."""
    identities = [keys.generate(folder, *kind) for kind in kinds]
    chosen = keys.generate(folder) if listed is None else identities[listed]
    return identities, make_filter(folder / "bad.pkbf", chosen.key)


def name(port):
    return f"127.0.0.1:{port}"


def scan(*arguments, **options):
    """keyveto scan, of servers that answer in time, on a machine with other things to do, too."""
    return keyveto("scan", "--timeout", PATIENCE, *arguments, **options)


def fingerprints(text):
    return sorted(word for word in text.split() if word.startswith("SHA256:"))


@case("one of four host keys is listed, and the exit status is 1")
def _(folder):
    identities, bad = fixture(folder)
    with sshd(folder, identities) as (port, _log):
        done = scan("--filter", bad, name(port), status=1)
    equal(done.stdout, f"{name(port)}: listed: ecdsa-sha2-nistp256 256 {identities[1].key.fingerprint} [{bad}]\n")
    contains(done.stderr, "4 keys of 1 server", "1 listed, 3 clean")


@case("--all shows every type, --quiet none, and nobody logs in")
def _(folder):
    identities, bad = fixture(folder)
    with sshd(folder, identities) as (port, log):
        every = scan("--all", "--filter", bad, name(port), status=1)
        quiet = scan("--quiet", "--filter", bad, name(port), status=1)
    equal(fingerprints(every.stdout), sorted(one.key.fingerprint for one in identities))
    equal(len(every.stdout.splitlines()), 4)
    equal(quiet.stdout, "")
    lacks(quiet.stderr, "listed", "clean")
    lacks(log.read_text(), "userauth-request")


@case("nothing listed is a status of 0")
def _(folder):
    identities, bad = fixture(folder, listed=None)
    with sshd(folder, identities) as (port, _log):
        done = scan("--filter", bad, name(port), status=0)
    equal(done.stdout, "")


@case("IPv6 addresses with a port, and names")
def _(folder):
    identities, bad = fixture(folder)
    with sshd(folder, identities) as (port, _log):
        done = scan("--filter", bad, f"[::1]:{port}", f"localhost:{port}", status=1)
    equal(sorted(line.split(": ")[0] for line in done.stdout.splitlines()), [f"[::1]:{port}", f"localhost:{port}"])


@case("an IPv6 address without a port gets port 22")
def _(folder):
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    done = scan("--filter", bad, "::1", "[::1]", status=2)
    equal(done.stderr.count("keyveto: [::1]:22: cannot connect: Connection refused\n"), 2, done.stderr)


@case("host keys of RSA with 1024 bits, by old algorithms")
def _(folder):
    identities, bad = fixture(folder, 0, (("rsa", 1024),))
    with sshd(folder, identities, "HostKeyAlgorithms ssh-rsa", "KexAlgorithms diffie-hellman-group14-sha1",
              "Ciphers aes128-cbc", "MACs hmac-sha1") as (port, _log):
        done = scan("--filter", bad, name(port), status=1)
    contains(done.stdout, f"listed: ssh-rsa 1024 {identities[0].key.fingerprint}")


@case("a host certificate is passed over")
def _(folder):
    identities, bad = fixture(folder, 0, FOUR_TYPES[:1])
    ca = keys.generate(folder)
    subprocess.run(["ssh-keygen", "-q", "-h", "-s", ca.path, "-I", "host", identities[0].key.path], check=True,
                   stdin=subprocess.DEVNULL)
    with sshd(folder, identities, f"HostCertificate {identities[0].path}-cert.pub") as (port, _log):
        done = scan("--all", "--filter", bad, name(port), status=1)
    equal(len(done.stdout.splitlines()), 1, done.stdout)
    contains(done.stderr, "1 key of 1 server: 1 listed, 0 clean\n")


@case("the scanner's own ssh configuration does not count")
def _(folder):
    identities, bad = fixture(folder)
    home = folder / "home/.ssh"
    home.mkdir(parents=True)
    (home / "config").write_text("Host *\n ProxyCommand false\n HostKeyAlgorithms ssh-rsa\n HostName 192.0.2.1\n")
    with sshd(folder, identities) as (port, _log):
        (home / "known_hosts").write_text(f"[127.0.0.1]:{port} {keys.generate(folder).key}\n")
        before = sorted(path.name for path in home.iterdir())
        done = scan("--all", "--filter", bad, name(port), status=1, env={**os.environ, "HOME": str(home.parent)})
    equal(len(done.stdout.splitlines()), 4)
    equal(sorted(path.name for path in home.iterdir()), before)


@case("JSON lines, with findings and with problems")
def _(folder):
    identities, bad = fixture(folder)
    with closed_port() as closed, sshd(folder, identities) as (port, _log):
        done = scan("--json", "--all", "--filter", bad, name(port), name(closed), status=1)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(set(one) == JSON_KEYS for one in found), found
    verdicts = sorted((one["file"], one["verdict"], one["fingerprint"]) for one in found if one["verdict"] != "error")
    equal(verdicts, sorted((name(port), "listed" if one is identities[1] else "clean", one.key.fingerprint)
                           for one in identities))
    equal([(one["file"], one["reason"]) for one in found if one["verdict"] == "error"],
          [(name(closed), "cannot connect: Connection refused")])


@case("what cannot be reached does not stop the rest")
def _(folder):
    identities, bad = fixture(folder)
    clean = make_filter(folder / "other.pkbf", keys.generate(folder).key)
    with closed_port() as closed, sshd(folder, identities) as (port, _log):
        hosts = (name(closed), "no-such-host.invalid", "[::1", "someone@host", "host:0", "host:65536", "host:ssh", "",
                 name(port))
        listed = scan("--filter", bad, *hosts, status=1)
        unchecked = scan("--filter", clean, *hosts, status=2)
    equal(len(listed.stdout.splitlines()), 1)
    equal(unchecked.stdout, "")
    contains(unchecked.stderr, f"keyveto: {name(closed)}: cannot connect: Connection refused\n",
             "keyveto: no-such-host.invalid:22: cannot look up the name: ", "keyveto: [::1: ", "keyveto: someone@host: ",
             "keyveto: host:0: a port is", "keyveto: host:65536: a port is", "keyveto: host:ssh: a port is",
             "8 problems")


def check_time_out(folder, talk, seconds=1):
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    with Server(talk) as server:
        done = keyveto("scan", "--filter", bad, "--timeout", seconds, name(server.port), status=2)
    contains(done.stderr, f"keyveto: {name(server.port)}: no answer within {seconds} seconds")
    assert seconds <= done.seconds, f"it took {done.seconds} s"


@case("a server that says nothing is given up in time")
def _(folder):
    check_time_out(folder, say_nothing)


@case("a server that trickles its banner is given up in time")
def _(folder):
    check_time_out(folder, trickle(b"SSH-2.0-" + 200 * b"slow"))


@case("a server that trickles lines before its banner is given up in time")
def _(folder):
    check_time_out(folder, trickle(b"hello\r\n"))


@case("a server that trickles its packets is given up in time")
def _(folder):
    def talk(connection):
        connection.sendall(b"SSH-2.0-slow\r\n")
        trickle(kexinit(b"ssh-ed25519"))(connection)
    check_time_out(folder, talk, 2)


@case("a server that stalls after it has said what it offers is given up in time")
def _(folder):
    check_time_out(folder, offer(b"ssh-ed25519"))


@case("a server that talks without end is given up in time")
def _(folder):
    def talk(connection):
        while True:
            connection.sendall(65536 * b"\0")
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    with Server(talk) as server:
        done = keyveto("scan", "--filter", bad, "--timeout", 2, name(server.port), status=2)
    contains(done.stderr, "1 problem")


@case("a server that is none of SSH is a problem")
def _(folder):
    def talk(connection):
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 400 Bad \x1b[31mRequest\r\n\r\n")
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    with Server(talk) as server:
        done = scan("--filter", bad, name(server.port), status=2)
    contains(done.stderr, f"keyveto: {name(server.port)}: asking which keys it has: before it said that it speaks SSH: ",
             r"it said: HTTP/1.1 400 Bad \x1b[31mRequest", "1 problem")
    lacks(done.stderr, "\x1b")


@case("a server's reason to disconnect is told, escaped")
def _(folder):
    def talk(connection):
        connection.recv(4096)
        connection.sendall(b"SSH-2.0-made-up\r\n" + packet(b"\x02" + string(b"ignore this")) +
                           packet(b"\x01" + struct.pack(">I", 11) + string(b"go \x1b[31maway") + string(b"")))
        connection.recv(4096)
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    with Server(talk) as server:
        done = scan("--filter", bad, name(server.port), status=2)
    contains(done.stderr, r"asking which keys it has: it disconnected: go \x1b[31maway")


@case("packets that are none, and servers that break off, are problems")
def _(folder):
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    whole = kexinit(b"ssh-ed25519")
    for words in (b"\xff" * 64, bytes(64), whole[:4] + b"\xff" + whole[5:], whole[:60], packet(b"\x14" + bytes(20)),
                  packet(b"\x14" + bytes(16) + b"\0\0\xff\xff" + bytes(40))):
        def talk(connection, words=words):
            connection.recv(4096)
            connection.sendall(b"SSH-2.0-made-up\r\n" + words)
            connection.recv(4096)
        with Server(talk) as server:
            done = scan("--filter", bad, name(server.port), status=2)
        contains(done.stderr, f"{name(server.port)}: asking which keys it has: ", "0 listed, 0 clean, 1 problem")


@case("offered algorithms that nobody here knows are told, escaped")
def _(folder):
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    with Server(offer(b"new-\x1b[31m@example.com,ssh-ed25519-cert-v01@openssh.com,ssh-ed448")) as server:
        done = scan("--json", "--filter", bad, name(server.port), status=2)
    lacks(done.stderr + done.stdout, "\x1b")
    lacks(done.stderr, "cert-v01")
    contains(done.stderr, r"unknown key type new-\x1b[31m@example.com", "ssh-ed448: the server offers such a key")
    verdicts = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
    equal(sorted(verdicts), ["error", "unsupported"])


@case("a server that offers no host key at all is a problem")
def _(folder):
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    with Server(offer(b"")) as server:
        scan("--filter", bad, name(server.port), status=2)


@contextlib.contextmanager
def running(*arguments, stdin=subprocess.DEVNULL):
    """keyveto scan at work; its standard output and standard error are pipes."""
    with subprocess.Popen([str(word) for word in (KEYVETO, "scan", "--timeout", PATIENCE, *arguments)],
                          stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        try:
            yield process
        finally:
            watchdog.cancel()
            process.kill()


@case("many stalled servers cost the time of one, and hold up no other")
def _(folder):
    identities, bad = fixture(folder)
    with socket.create_server(("127.0.0.1", 0), backlog=200) as stalled, sshd(folder, identities) as (port, _log):
        hosts = 60 * [name(stalled.getsockname()[1])] + [name(port)]
        with running("--filter", bad, "--jobs", 64, *hosts) as process:
            stalled.settimeout(PATIENCE)
            # Each is asked while none of them answers.
            asked = [stalled.accept()[0] for _ in range(60)]
            contains(process.stdout.readline(), f"{name(port)}: listed: ")
            for connection in asked:
                connection.close()
            out, told = process.communicate(timeout=PATIENCE)
    equal((process.returncode, out), (1, ""))
    contains(told, "of 61 servers", "60 problems")


@case("--jobs bounds how many servers are asked at a time")
def _(folder):
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    # Only this server ends a connection, so it knows at each moment how many are open.
    with socket.create_server(("127.0.0.1", 0), backlog=200) as server:
        hosts = 7 * [name(server.getsockname()[1])]
        with running("--filter", bad, "--jobs", 3, *hosts) as command:
            server.settimeout(PATIENCE)
            asked = [server.accept()[0] for _ in range(3)]
            for _ in hosts[3:]:
                server.settimeout(0.5)
                with contextlib.suppress(TimeoutError):
                    server.accept()
                    raise AssertionError("a fourth server is asked while three have not answered")
                asked.pop(0).close()
                server.settimeout(PATIENCE)
                asked.append(server.accept()[0])
            for connection in asked:
                connection.close()
            _, told = command.communicate(timeout=PATIENCE)
    equal(command.returncode, 2)
    contains(told, "of 7 servers", "7 problems")


@case("many servers at once, and no line is torn")
def _(folder):
    identities, bad = fixture(folder)
    with sshd(folder, identities) as (port, _log):
        done = scan("--all", "--filter", bad, "--jobs", 8, *40 * [name(port)], status=1)
    lines = [f"{name(port)}: {'listed' if one is identities[1] else 'clean'}: " for one in identities]
    equal(len(done.stdout.splitlines()), 160, done.stderr)
    assert all(line.startswith(tuple(lines)) for line in done.stdout.splitlines()), done.stdout


@case("hosts from standard input, with comments and blank lines")
def _(folder):
    identities, bad = fixture(folder)
    with sshd(folder, identities) as (port, _log):
        text = f"# servers\n\n  {name(port)}  # the first\r\n\t\n[::1]:{port}\nhost:no\n{5000 * 'x'}\n{name(port)}"
        done = scan("--filter", bad, "-", status=1, input=text)
    equal(len(done.stdout.splitlines()), 3, done.stderr)
    contains(done.stderr, "2 problems", "keyveto: host:no: a port", "keyveto: -: ")


@case("standard input and arguments together")
def _(folder):
    identities, bad = fixture(folder)
    with sshd(folder, identities) as (port, _log):
        done = scan("--filter", bad, name(port), "-", name(port), status=1, input=f"{name(port)}\n")
        closed = keyveto("scan", "--filter", bad, "-", status=0, input="")
    equal(len(done.stdout.splitlines()), 3, done.stderr)
    equal(closed.stdout, "")


@case("a host is scanned as soon as its line comes")
def _(folder):
    identities, bad = fixture(folder)
    with sshd(folder, identities) as (port, _log), \
            running("--filter", bad, "-", stdin=subprocess.PIPE) as process:
        for _ in range(3):
            process.stdin.write(f"{name(port)}\n")
            process.stdin.flush()
            contains(process.stdout.readline(), f"{name(port)}: listed: ")
        process.communicate(timeout=PATIENCE)
        equal(process.returncode, 1)


@case("bad usage is a status of 2")
def _(folder):
    _, bad = fixture(folder, kinds=FOUR_TYPES[:2])
    for arguments in ((), ("--jobs", "0", "h"), ("--jobs", "x", "h"), ("--timeout", "0", "h"), ("--timeout", "1.5", "h"),
                      ("--nonsense", "h")):
        done = keyveto("scan", "--filter", bad, *arguments, status=2)
        equal(done.stdout, "")
        assert done.stderr, arguments
    done = keyveto("scan", "--filter", folder / "missing.pkbf", "127.0.0.1:1", status=2)
    contains(done.stderr, "missing.pkbf")
    contains(keyveto("scan", "--help", status=0).stdout, "--timeout S", "--jobs N", "Exit status")


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[2])
    sys.exit(run_in_sandbox(needs_root=False))
