# SPDX-License-Identifier: ISC
"""After a refusal in the PAM session phase nothing usable is left of a login.

Each probe tries to transfer something: with a clean key it must arrive, with a listed key it must not. If the module
ends the connection with the session (disconnect=), the client must end too.
"""

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

import openssh
import peers
import server
from clients import GREETING
from kinds import EXACT_LIST
from patience import PATIENCE
from remote_probe import TOLD_TO_XAUTH

pytestmark = pytest.mark.throwaway

PROBE = Path(__file__).with_name("remote_probe.py").read_text(encoding="utf-8")
ANSWER = peers.ANSWER.decode()


OLD_PASSWORD, NEW_PASSWORD = "an-0ld-Password-of-keyveto", "a-New-passw0rd-of-keyvet0"

# What ssh prints when the server is gone. It depends on what is in progress.
GONE = ("closed by remote host", "Connection closed", "Connection reset", "Broken pipe")

# For which accounts the module ends the connection: as root or not, and the options on the module's line.
LIVES_ON = {"": (False, ()), "root, disconnect=never": (True, ("disconnect=never",))}
ENDS = {"root": (True, ()), "disconnect=always": (False, ("disconnect=always",))}


class Setting:
    """An account, a server with the module, and a key."""

    def __init__(self, bench, listed, as_root=False, arguments=(), options=()):
        self.bench = bench
        self.account = bench.account(OLD_PASSWORD, as_root)
        self.key = bench.key()
        self.account.authorize(self.key.key)
        self.listed = listed
        self.ended = listed and (as_root, arguments) in ENDS.values()
        config = bench.config(listed=[self.key if listed else bench.key()])
        self.server = bench.server(server.pam_session(config, *arguments).adding(
            *options, "X11Forwarding yes", f"XAuthLocation {bench.script(f'cat > ~/{TOLD_TO_XAUTH}')}"))

    def run(self, *command, options=(), **how):
        return self.bench.login(self.server, self.account, self.key, command=command, options=options, **how)

    def ssh(self, *options, stdin):
        """ssh without a command."""
        argv = self.bench.clients.ssh_argv(self.server, self.account, [self.key], options)
        return self.bench.clients.run(argv, stdin=stdin)

    def connection(self, *options):
        """A client that only forwards (ssh -N)."""
        return self.bench.clients.connection(self.server, self.account, self.key, options,
                                             self.bench.path("client.log"))

    def peer(self, path=None):
        peer = peers.Peer(path)
        self.bench.at_end(peer.close)
        return peer


# Probes. Each returns whether something was transferred.

def command(setting):
    return GREETING in setting.run(f"echo {GREETING}").stdout


def shell(setting):
    """No command: the shell reads its orders from standard input."""
    return GREETING in setting.ssh("-T", stdin=f"echo {GREETING}\n").stdout


def terminal(setting):
    return GREETING in setting.run(f"echo {GREETING}", options=["-tt"]).stdout


def unseen_command(setting):
    """Whether the command ran, by its effect."""
    setting.run("touch was-here")
    return (setting.account.home / "was-here").exists()


def sftp_upload(setting):
    source = setting.bench.write("source", GREETING)
    setting.bench.clients.sftp(setting.server, setting.account, setting.key, f"put {source} arrived\n")
    return (setting.account.home / "arrived").exists()


def sftp_download(setting):
    setting.account.write("secret", GREETING)
    target = setting.bench.path("arrived")
    setting.bench.clients.sftp(setting.server, setting.account, setting.key, f"get secret {target}\n")
    return target.exists()


def scp(setting, *options):
    source = setting.bench.write("source", GREETING)
    setting.bench.clients.scp(setting.server, setting.account, setting.key, source, "arrived", options)
    return (setting.account.home / "arrived").exists()


def scp_old_protocol(setting):
    return scp(setting, "-O")


def local_port(setting):
    peer, port = setting.peer(), server.free_port()
    with setting.connection("-L", f"127.0.0.1:{port}:127.0.0.1:{peer.port}") as connection:
        return _came_through(setting, connection, peer, lambda: peers.is_answered(peers.connect(port)))


def local_port_to_socket(setting):
    peer, port = setting.peer(setting.bench.path("far")), server.free_port()
    with setting.connection("-L", f"127.0.0.1:{port}:{peer.path}") as connection:
        return _came_through(setting, connection, peer, lambda: peers.is_answered(peers.connect(port)))


def local_socket(setting):
    peer, near = setting.peer(setting.bench.path("far")), setting.bench.path("near")
    with setting.connection("-L", f"{near}:{peer.path}") as connection:
        return _came_through(setting, connection, peer, lambda: peers.is_answered(peers.connect(near)))


def remote_port(setting):
    peer, port = setting.peer(), server.free_port()
    with setting.connection("-R", f"127.0.0.1:{port}:127.0.0.1:{peer.port}") as connection:
        return _came_through(setting, connection, peer, lambda: _asked_remotely(connection, port))


def remote_socket(setting):
    peer, far = setting.peer(), setting.account.home / "far"
    with setting.connection("-R", f"{far}:127.0.0.1:{peer.port}") as connection:
        return _came_through(setting, connection, peer, lambda: _asked_remotely(connection, far))


def socks(setting):
    peer, port = setting.peer(), server.free_port()
    with setting.connection("-D", f"127.0.0.1:{port}") as connection:
        return _came_through(setting, connection, peer, lambda: peers.is_answered_through_socks(port, peer.port))


def standard_streams(setting):
    peer = setting.peer()
    setting.ssh("-W", f"127.0.0.1:{peer.port}", stdin=peers.QUESTION.decode())
    return peer.reached


def agent(setting):
    peer = setting.peer(setting.bench.path("agent"))
    # ForwardAgent alone is not enough: ssh needs another agent to log in with.
    other = setting.peer(setting.bench.path("agent"))
    answer = setting.run(_probe(setting), "agent", environment={"SSH_AUTH_SOCK": str(other.path)},
                         options=["-o", f"ForwardAgent={peer.path}", "-o", "IdentityAgent=SSH_AUTH_SOCK"])
    return peer.reached or ANSWER in answer.stdout


def x11(setting):
    peer, display = peers.display()
    setting.bench.at_end(peer.close)
    answer = setting.run(_probe(setting), "x11", environment={"DISPLAY": display},
                         options=["-o", "ForwardX11=yes", "-o", "ForwardX11Trusted=yes"])
    return peer.reached or ANSWER in answer.stdout


def _probe(setting):
    return str(setting.bench.write("probe", PROBE, 0o755))


def _asked_remotely(connection, target):
    connection.wait_for("remote forward success", "remote forward failure")
    return peers.is_answered_at(target)


def _came_through(setting, connection, peer, is_answered):
    """Whether something was transferred. A client that stays connected asks; one that was disconnected cannot."""
    if setting.ended:
        connection.wait_for_end()
        return peer.reached
    answered = is_answered()
    assert connection.stays, f"the client should stay connected: {connection.words()}"
    return answered or peer.reached


PROBES = {
    "command": command,
    "command, by its effect": unseen_command,
    "shell": shell,
    "terminal": terminal,
    "sftp upload": sftp_upload,
    "sftp download": sftp_download,
    "scp": scp,
    "scp, old protocol": scp_old_protocol,
    "-L, port to port": local_port,
    "-L, port to socket": local_port_to_socket,
    "-L, socket to socket": local_socket,
    "-R, port": remote_port,
    "-R, socket": remote_socket,
    "-D": socks,
    "-W": standard_streams,
    "agent forwarding": agent,
    "X11 forwarding": x11,
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
@pytest.mark.parametrize("whom", (LIVES_ON | ENDS).values(), ids=[whom or "an account" for whom in LIVES_ON | ENDS])
def test_refused_session_nothing_comes_through(bench, whom, probe):
    nothing_comes_through(bench, whom, probe)


@pytest.mark.parametrize("probe", [PROBES[name] for name in ("command", "sftp upload", "-L, port to port")])
@pytest.mark.parametrize("bench", [EXACT_LIST], indirect=True)
def test_refused_session_by_an_exact_list_nothing_comes_through(bench, probe):
    nothing_comes_through(bench, LIVES_ON[""], probe)


def nothing_comes_through(bench, whom, probe):
    assert probe(Setting(bench, False, *whom)), "the probe must work with a clean key, to prove anything"
    refused = Setting(bench, True, *whom)
    assert not probe(refused), "it works with a listed key"
    bench.decision(refused.account, verdict="listed", action="deny", disconnected="yes" if refused.ended else None)


# What sshd leaves open after a refused session. Only the end of the connection closes it.

def tunnel(setting):
    with setting.connection("-w", "any:any") as connection:
        if setting.ended:
            connection.wait_for_end()
            return "open confirm" in connection.words()
        connection.wait_for("open confirm", "open failed")
        return "open confirm" in connection.words()


def stays(setting):
    with setting.connection() as connection:
        if setting.ended:
            connection.wait_for_end()
            return False
        connection.wait_for("Entering interactive session")
        time.sleep(0.1)
        return connection.stays


def new_password(setting):
    """Whether sshd lets a client change an expired password."""
    subprocess.run(["chage", "-d", "0", setting.account.name], check=True)
    # passwd uses the uid, so it may change the password of root.
    before, root = _shadow(setting.account.name), _shadow("root")
    setting.bench.at_end(lambda: subprocess.run(["usermod", "-p", root, "root"], check=True))
    argv = setting.bench.clients.ssh_argv(setting.server, setting.account, [setting.key], ["-tt"], ["true"])
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        too_long = threading.Timer(PATIENCE, process.kill)
        too_long.start()
        said = b""
        while chunk := os.read(process.stdout.fileno(), 1 << 10):
            said += chunk
            if said.rstrip().endswith(b"assword:"):
                # An intruder with a listed key does not know the old password.
                answer = OLD_PASSWORD if b"urrent" in said and not setting.listed else NEW_PASSWORD
                process.stdin.write(f"{answer}\n".encode())
                process.stdin.flush()
                said = b""
        too_long.cancel()
    return (_shadow(setting.account.name), _shadow("root")) != (before, root)


def _shadow(name):
    return next(line.split(":")[1] for line in Path("/etc/shadow").read_text(encoding="utf-8").splitlines()
                if line.startswith(f"{name}:"))


def hole(bench, probe, options, is_open):
    """Logs in as root: probe works with a clean key. With a listed key it works as is_open says, but not with the
    default disconnect=."""
    assert probe(Setting(bench, False, True, (), options)), "the probe must work with a clean key, to prove anything"
    refused = Setting(bench, True, *LIVES_ON["root, disconnect=never"], options)
    assert probe(refused) == is_open, f"without the end of the connection this should be {is_open}"
    bench.decision(refused.account, verdict="listed", disconnected=None)
    for whom in ENDS.values():
        if not whom[0]:
            continue
        refused = Setting(bench, True, *whom, options)
        assert not probe(refused), "it works with a listed key"
        bench.decision(refused.account, verdict="listed", action="deny", disconnected="yes")


@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="left out, since there is no /dev/net/tun here")
def test_refused_session_of_root_no_tunnel_by_ssh_w(bench):
    hole(bench, tunnel, ("PermitTunnel yes",), openssh.tunnels_after_refusal())


def test_refused_session_of_root_no_connection_that_stays_by_ssh_n(bench):
    hole(bench, stays, (), True)


def test_refused_session_of_root_an_expired_password_is_not_changed(bench):
    hole(bench, new_password, (), openssh.asks_root_no_old_password())


def test_refused_session_that_ends_the_connection_shows_no_broken_protocol(bench):
    setting = Setting(bench, True, *ENDS["root"])
    clients = bench.clients
    source = bench.write("source", GREETING)
    for what, outcome in {
        "shell": setting.ssh("-T", stdin="exit\n"),
        "command": setting.run("true"),
        "sftp": clients.sftp(setting.server, setting.account, setting.key, "pwd\n"),
        "scp": clients.scp(setting.server, setting.account, setting.key, source, "arrived"),
    }.items():
        assert outcome.status == 255, f"{what}: status {outcome.status}: {outcome}"
        assert any(words in outcome.stderr for words in GONE), f"{what}: not the end of a connection: {outcome}"
        assert "bad line length" not in outcome.stderr and "too long" not in outcome.stderr, \
            f"{what}: a broken protocol: {outcome}"


def test_refused_session_that_ends_the_connection_frees_its_slot_and_causes_no_penalty(bench):
    options = ["MaxStartups 1"]
    if openssh.version() >= (9, 8):
        # If one refusal counted, the next client would be refused.
        options += [f"PerSourcePenalties {one}" for one in
                    ("yes", "min:1s", *(f"{kind}:60s" for kind in ("crash", "authfail", "noauth")))]
    setting = Setting(bench, True, *ENDS["root"], options)
    clean = bench.key()
    setting.account.authorize(setting.key.key, clean.key)
    for _ in range(5):
        outcome = setting.run("true")
        assert any(words in outcome.stderr for words in GONE), f"not the end of a connection: {outcome}"
    deadline = time.monotonic() + PATIENCE
    while setting.server.children():
        assert time.monotonic() < deadline, f"processes are left: {setting.server.children()}"
        time.sleep(0.01)
    bench.must_enter(bench.login(setting.server, setting.account, clean))
    found = [one for one in bench.log.decisions(setting.account) if one.disconnected == "yes"]
    assert len(found) == 5, f"not a line for each: {found}"


def test_refused_session_that_ends_the_connection_no_entry_in_utmp_and_wtmp(bench):
    for listed, expected in ((False, True), (True, False)):
        setting = Setting(bench, listed, *ENDS["root"])
        setting.ssh("-tt", stdin="exit\n")
        entries = b"".join(Path(path).read_bytes() for path in ("/var/run/utmp", "/var/log/wtmp")
                           if os.path.exists(path))
        assert (setting.account.name.encode() in entries) == expected or not expected or not entries, \
            f"listed {listed}: an entry should be there: {expected}"
