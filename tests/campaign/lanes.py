# SPDX-License-Identifier: ISC
"""Lanes: an account, and the sshds that are asked about it, with one question at a time.

A campaign runs several lanes at once, each in its own process: sshd delays
a refusal, and Python runs one thread at a time.
"""

import contextlib
import glob
import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[1:1] = [str(HERE.parent / name) for name in ("e2e", "oracle")]
import keys  # noqa: E402
import pkbf  # noqa: E402
import product  # noqa: E402
import sandbox  # noqa: E402
import server  # noqa: E402
import sshkey  # noqa: E402
from clients import Clients  # noqa: E402
from logbook import line_of, read_decision  # noqa: E402
from machine import Machine  # noqa: E402
from patience import PATIENCE  # noqa: E402
from tinyclient import Connection, Lost, Session  # noqa: E402

BUILD = HERE.parent.parent / "build"
SSHDS = ("/usr/sbin/sshd", "/usr/local/sbin/sshd", "/opt/*/sbin/sshd")
FILES = ("authorized_keys", "authorized_keys2")
SYSLOG = "/dev/log"
REFUSED_SESSION = 254           # sshd's, when open_session fails
NO_SESSION = Session(None, b"", b"")
QUESTIONS_PER_CONNECTION = 500  # sshd ends a connection with too many

# sshd accepts every algorithm that it has, and does not delay or limit clients.
OPEN_HANDED = ("PubkeyAcceptedAlgorithms *", "CASignatureAlgorithms *", "PermitUserEnvironment yes",
               "AuthenticationMethods publickey", "MaxAuthTries 1000000", "LoginGraceTime 0", "MaxStartups 1000")
READ_FILES = "AuthorizedKeysFile " + " ".join(f".ssh/{name}" for name in FILES)
# The module between two modules that permit. tests/e2e tries other stacks.
PAM_STACK = """\
auth required pam_permit.so
account required pam_permit.so
session requisite pam_keyveto.so config={config}
session required pam_permit.so
"""


@dataclass(frozen=True)
class Program:
    """An installed sshd, and the key types that it knows."""
    path: str
    version: str
    keywords: frozenset
    algorithms: frozenset

    @property
    def unknown_types(self):
        return [name for name in sshkey.PLAIN_TYPES if name not in self.algorithms]


def installed(host_key):
    """Every sshd of this machine, each once."""
    found = {}
    for path in itertools.chain.from_iterable(sorted(glob.glob(pattern)) for pattern in SSHDS):
        found.setdefault(os.path.realpath(path), path)
    return [_describe(path, host_key) for path in found.values()]


def _describe(path, host_key):
    version = subprocess.run([path, "-V"], capture_output=True, text=True).stderr
    shown = subprocess.run([path, "-T", "-f", "/dev/null", "-h", host_key, "-o", "PubkeyAcceptedAlgorithms=*"],
                           capture_output=True, text=True)
    if shown.returncode != 0:
        raise product.CannotRun(f"{path}: {shown.stderr.strip()}")
    rows = (line.partition(" ") for line in shown.stdout.splitlines())
    settings = {keyword.lower(): value for keyword, _, value in rows}
    name = re.search(r"OpenSSH_[^\s,]+", version)
    return Program(path, name[0] if name else path, frozenset(settings),
                   frozenset(settings["pubkeyacceptedalgorithms"].split(",")))


class Daemon:
    """An sshd of any version, running."""

    def __init__(self, machine, folder, host_key, program, deployment):
        self.port = server.free_port()
        service = f"sshd-kvc-{self.port}"
        self._log = folder / f"{service}.log"
        link, config = folder / service, folder / f"{service}.conf"
        link.symlink_to(program.path)       # sshd's PAM service has the name of the program
        machine.write(f"/etc/pam.d/{service}", deployment.stack)
        options = [*deployment.options, f"Port {self.port}", f"HostKey {host_key}", f"PidFile {link}.pid"]
        if "pamservicename" in program.keywords:
            options.append(f"PAMServiceName {service}")
        if "persourcepenalties" in program.keywords:
            options.append("PerSourcePenalties no")
        config.write_text("\n".join((*options, server.BASE)), encoding="utf-8")
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen([link, "-D", "-e", "-f", config],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._reader = open(self._log, "rb")
        self._wait()

    def _wait(self):
        deadline, said = time.monotonic() + PATIENCE, b""
        while b"Server listening" not in said:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"sshd did not start: {said.decode(errors='replace')}")
            time.sleep(0.005)
            said += self.news()

    def stop(self):
        self._process.terminate()
        self._process.wait()
        self._reader.close()

    def news(self):
        """The log that it has written since the last call."""
        return self._reader.read()


@dataclass(frozen=True)
class Answer:
    """The answer of an sshd to a key, and the file and line of the key, if the log has them."""
    accepted: bool
    place: str = ""
    line: "int | None" = None
    lost: str = ""      # why it ended the connection, if it did

    def __str__(self):
        if self.accepted:
            return f"yes, by {self.place}:{self.line}" if self.line else "yes"
        return f"connection lost ({self.lost})" if self.lost else "no"


# Not anchored at the line's beginning: a certificate's id comes before, and may contain line ends.
_FOUND = re.compile(rb" found at (.*):([0-9]+)\r?$", re.MULTILINE)


class Lane:
    """One account with its sshds: vanilla, with the guard alone, with PAM alone."""

    def __init__(self, world, number, program):
        self.number, self.program, self.world = number, program, world
        # With a password, as sshd without PAM treats an account without one as locked.
        self.account = world.machine.add_account(password=str(number))
        self.folder = world.scratch / self.account.name
        self.folder.mkdir()
        self.account.write(".ssh/authorized_keys", b"")
        self._filter = self.folder / "filter"
        self.list_only(None)
        config = self.folder / "keyveto.conf"
        config.write_text(f"Filter {self._filter}\n", encoding="ascii")
        deployments = {
            "vanilla": server.Deployment((*OPEN_HANDED, READ_FILES, "UsePAM no")),
            "guard": server.guard(config).adding(*OPEN_HANDED, "UsePAM no"),
            "PAM": server.Deployment((*OPEN_HANDED, READ_FILES, "UsePAM yes"), PAM_STACK.format(config=config)),
        }
        self._daemons = {name: Daemon(world.machine, self.folder, world.host_key, program, one)
                         for name, one in deployments.items()}
        self._connections = {}
        self._asked = dict.fromkeys(deployments, 0)
        self._log = world.log.add(self.account.name)

    def start_over(self):
        """Forgets the connections and the log so far."""
        for name in list(self._connections):
            self._hang_up(name)
        self.decisions()

    def stop(self):
        for daemon in self._daemons.values():
            daemon.stop()
        self.world.log.remove(self.account.name)

    def port(self, name):
        return self._daemons[name].port

    def write(self, files):
        """The account's keys files."""
        for name, content in zip(FILES, (files.first, files.second)):
            path = self.account.ssh / name
            if content is None:
                path.unlink(missing_ok=True)
            else:
                self.account.write(f".ssh/{name}", content)

    def list_only(self, pair):
        """Installs the filter that lists this pair, or the one that lists nothing."""
        fresh = self._filter.with_suffix(".new")
        shutil.copyfile(self.world.filters[pair], fresh)
        fresh.replace(self._filter)

    def ask(self, name, offer):
        """Whether this sshd would take the key."""
        try:
            return self._ask(name, offer)
        except Lost:
            # Asked again: sshd may have closed the connection because of earlier questions.
            try:
                return self._ask(name, offer)
            except Lost as reason:
                return Answer(False, lost=str(reason))

    def _ask(self, name, offer):
        self._asked[name] += 1
        if self._asked[name] % QUESTIONS_PER_CONNECTION == 0:
            self._hang_up(name)
        daemon = self._daemons[name]
        if name not in self._connections:
            self._connections[name] = Connection(daemon.port)
        daemon.news()
        try:
            accepted = self._connections[name].ask(self.account.name, offer.algorithm, offer.blob)
        except Lost:
            self._hang_up(name)
            raise
        if not accepted:
            return Answer(False)
        found = _FOUND.findall(daemon.news())
        if not found:
            return Answer(True)     # sshd cuts long lines of its log
        return Answer(True, found[-1][0].decode(errors="replace"), int(found[-1][1]))

    def _hang_up(self, name):
        if name in self._connections:
            self._connections.pop(name).close()

    def login(self, name, offer, command):
        """Logs in and runs a command. None: the key is refused. NO_SESSION: sshd hangs up after that."""
        with Connection(self._daemons[name].port) as connection:
            def sign(data):
                return offer.pair.sign(data, _signature_algorithm(offer))
            if not connection.authenticate(self.account.name, offer.algorithm, offer.blob, sign):
                return None
            try:
                return connection.run(command)
            except Lost:
                return NO_SESSION

    def decisions(self):
        """keyveto's decisions about the account since the last call."""
        mark = f"{self.account.name} mark {time.monotonic_ns()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(f"<15>{mark}".encode(), SYSLOG)
        found = []
        while (line := self._log.next()).text != mark:
            if decision := read_decision(line):
                found.append(decision)
        return found


def _signature_algorithm(offer):
    """The signature algorithm of the pair that fits the announced algorithm."""
    for algorithm in offer.pair.algorithms:
        if offer.algorithm in (algorithm, sshkey.cert_name(algorithm)):
            return algorithm
    return None


class Dispatcher:
    """A syslog daemon that hands each line to the lane of the account in it."""

    def __init__(self):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(SYSLOG)
        os.chmod(SYSLOG, 0o666)
        self._lanes = {}
        threading.Thread(target=self._collect, daemon=True).start()

    def close(self):
        os.unlink(SYSLOG)

    def add(self, name):
        reader, writer = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lanes[name] = writer
        return _LaneLog(reader)

    def remove(self, name):
        del self._lanes[name]

    def _collect(self):
        while True:
            data = self._socket.recv(1 << 16)
            for name, writer in list(self._lanes.items()):
                if name.encode() in data:
                    writer.send(data)


class _LaneLog:
    def __init__(self, reader):
        self._socket = reader
        reader.settimeout(PATIENCE)

    def next(self):
        return line_of(self._socket.recv(1 << 16))


class World:
    """What all lanes share. log is a Dispatcher, or another reader of syslog."""

    def __init__(self, build, log):
        self.build, self.log = build, log
        self.scratch = Path(tempfile.mkdtemp(prefix="kvc-", dir="/var/lib"))
        self.scratch.chmod(0o755)
        self.machine = Machine()
        self.filters = {}
        product.install(self.machine, build, self.scratch)
        self.host_key = keys.generate(self.scratch).path
        self.clients = Clients(self.scratch)

    def close(self):
        self.log.close()
        shutil.rmtree(self.scratch)

    def add_filters(self, pairs):
        """Makes a filter for each pair, and one that lists no pair."""
        for number, pair in enumerate([None, *pairs]):
            made = pkbf.Filter.create(20, 12, revision=1)
            for spki in sshkey.parse(pair.blob).published if pair else ():
                made.add(spki)
            path = self.scratch / f"listed{number}.pkbf"
            path.write_bytes(made.to_bytes())
            path.chmod(0o644)
            self.filters[pair] = path


@contextlib.contextmanager
def world(build, make_log):
    """The world, in a throw-away root."""
    with contextlib.closing(World(build, make_log())) as made:
        yield made


def run_isolated(program, build, main):
    """Calls main in a throw-away root: the exit status, which is 1 if no such root is possible."""
    try:
        product.check_machine(build)
        if sandbox.inside():
            return main()
        return sandbox.run([sys.executable, program, *sys.argv[1:]])
    except sandbox.Refused as reason:
        print(f"{os.path.basename(program)}: no throw-away root is possible here: {reason}", file=sys.stderr)
        return 1
    except product.CannotRun as reason:
        print(f"{os.path.basename(program)}: {reason}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{os.path.basename(program)}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
