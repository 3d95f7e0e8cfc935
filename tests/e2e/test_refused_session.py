# SPDX-License-Identifier: ISC
"""What is left of a login that the PAM session phase refused: nothing usable.

Each probe really tries to move something, once with a clean key, where it must
arrive, and once with a listed one, where it must not.
"""

from pathlib import Path

import peers
import server
from bench import add_case, check
from clients import GREETING
from remote_probe import TOLD_TO_XAUTH

PROBE = Path(__file__).with_name("remote_probe.py").read_text(encoding="utf-8")
ANSWER = peers.ANSWER.decode()


class Setting:
    """An account, a server with the module, and the key to come with."""

    def __init__(self, bench, listed):
        self.bench = bench
        self.account = bench.account()
        self.key = bench.key()
        self.account.authorize(self.key.key)
        config = bench.config(listed=[self.key if listed else bench.key()])
        self.server = bench.server(server.pam_session(config).adding(
            "X11Forwarding yes", f"XAuthLocation {bench.script(f'cat > ~/{TOLD_TO_XAUTH}')}"))

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


# Probes: each tells whether something came through.

def command(setting):
    return GREETING in setting.run(f"echo {GREETING}").stdout


def shell(setting):
    """No command: a shell that reads its orders from standard input."""
    return GREETING in setting.ssh("-T", stdin=f"echo {GREETING}\n").stdout


def terminal(setting):
    return GREETING in setting.run(f"echo {GREETING}", options=["-tt"]).stdout


def unseen_command(setting):
    """Without looking at any output: did the command run?"""
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
        return _came_through(connection, peer, peers.ask(peers.connect(port)))


def local_port_to_socket(setting):
    peer, port = setting.peer(setting.bench.path("far")), server.free_port()
    with setting.connection("-L", f"127.0.0.1:{port}:{peer.path}") as connection:
        return _came_through(connection, peer, peers.ask(peers.connect(port)))


def local_socket(setting):
    peer, near = setting.peer(setting.bench.path("far")), setting.bench.path("near")
    with setting.connection("-L", f"{near}:{peer.path}") as connection:
        return _came_through(connection, peer, peers.ask(peers.connect(near)))


def remote_port(setting):
    peer, port = setting.peer(), server.free_port()
    with setting.connection("-R", f"127.0.0.1:{port}:127.0.0.1:{peer.port}") as connection:
        _wait_for_remote_forward(connection)
        return _came_through(connection, peer, peers.ask_at(port))


def remote_socket(setting):
    peer, far = setting.peer(), setting.account.home / "far"
    with setting.connection("-R", f"{far}:127.0.0.1:{peer.port}") as connection:
        _wait_for_remote_forward(connection)
        return _came_through(connection, peer, peers.ask_at(far))


def socks(setting):
    peer, port = setting.peer(), server.free_port()
    with setting.connection("-D", f"127.0.0.1:{port}") as connection:
        return _came_through(connection, peer, peers.ask_through_socks(port, peer.port))


def standard_streams(setting):
    peer = setting.peer()
    setting.ssh("-W", f"127.0.0.1:{peer.port}", stdin=peers.QUESTION.decode())
    return peer.reached


def agent(setting):
    peer = setting.peer(setting.bench.path("agent"))
    # ssh forwards one agent and would log in with another, which it insists on.
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


def _wait_for_remote_forward(connection):
    connection.wait_for("remote forward success", "remote forward failure")


def _came_through(connection, peer, answered):
    """A refused session is not cut off: the client idles, and nothing passes."""
    check(connection.stays, f"the client should stay connected: {connection.words()}")
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


def nothing_comes_through(bench, probe):
    check(probe(Setting(bench, listed=False)), "the probe must work with a clean key, to prove anything")
    refused = Setting(bench, listed=True)
    check(not probe(refused), "it works with a listed key")
    bench.decision(refused.account, verdict="listed", action="deny")


for _name, _probe_function in PROBES.items():
    add_case(f"refused session: no {_name}",
             lambda bench, probe=_probe_function: nothing_comes_through(bench, probe))
