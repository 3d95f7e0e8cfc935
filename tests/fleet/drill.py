# SPDX-License-Identifier: ISC
"""The drill: a key leaks, and a hundred hosts refuse it.

Each host is a throw-away root with its own sshd, and follows one publisher over TLS: the controller. The playbook leak
of the collection does what docs/drill.md says. How long that takes is measured by logins with the key, and what it
costs by what the publisher's server has sent to each host.
"""

import collections
import concurrent.futures
import contextlib
import ctypes
import functools
import http.server
import json
import os
import socket
import ssl
import statistics
import struct
import subprocess
import threading
import time
from pathlib import Path

from bed import CONTROLLER, SYSLOG
from bench import check
from clients import Connection
from keys import prove_leak
from server import GUARD
from shapes import STOCK, Shape, made_keys
from visits import Person
from website import Authority
from world import SCRATCH

HOSTS, FORKS = 100, 20
SECONDS, BYTES = 60, 5000       # what the drill may take, and fetch, on each host
LOCKED_OUT = 3                  # hosts on which an account has no other key
WITH_SESSIONS = 10              # hosts on which the key has a session open
KNOWN = 5000                    # keys on the list before
PORT = 443
LIST, SITE, SIGNER = "/srv/keyveto/ours.dat", "/srv/keyveto/site", "/root/signing_key"
INSTALLED = "/var/lib/keyveto/ours.dat"
PAM_FOLDER = next(Path("/usr/lib").glob("*/security/pam_unix.so")).parent
CLONE_NEWNET = 0x40000000
# struct tcp_info of linux/tcp.h
TCP_INFO_SIZE, BYTES_SENT = 232, 200
UPDATE_CONF = f"""\
Source ours
    URL https://{CONTROLLER}/ours.json
    Format badkeys
    Target {INSTALLED}
    AllowedSigners /etc/keyveto/allowed_signers
    CAFile /etc/keyveto/ca.pem
    Proxy none
"""


class Site(http.server.ThreadingHTTPServer):
    """The published folder over TLS, in the network of the controller. .sent has the bytes by address, TLS included."""
    daemon_threads = True

    def __init__(self, controller, certificate):
        self.controller, self.sent = controller, collections.Counter()
        super().__init__((CONTROLLER, PORT), functools.partial(
            Files, directory=str(controller.path(SITE))), bind_and_activate=False)
        # A socket belongs to the network of the thread that makes it.
        binder = threading.Thread(target=self._bind)
        binder.start()
        binder.join()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()

    def _bind(self):
        with open(f"/proc/{self.controller.pid}/ns/net", "rb") as network:
            if ctypes.CDLL(None, use_errno=True).setns(network.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        self.socket.close()
        self.socket = socket.socket(self.address_family, self.socket_type)
        self.server_bind()
        self.server_activate()

    def server_bind(self):
        """Without a question to the name service."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)

    def shutdown_request(self, request):
        with contextlib.suppress(OSError):
            info = request.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_SIZE)
            self.sent[request.getpeername()[0]] += struct.unpack_from("Q", info, BYTES_SENT)[0]
        super().shutdown_request(request)

    def handle_error(self, *_):
        """Prints nothing."""


class Files(http.server.SimpleHTTPRequestHandler):
    """The files of the folder, with Last-Modified."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass


def shapes(count):
    """The hosts: dora has the key and another one; on some, bob has nothing but the key."""
    def prepare(number, host, fleet):
        host.add_account("dora", f"{fleet.listed.key} dora@old", f"{fleet.clean.key} dora@new")
        if number < LOCKED_OUT:
            host.add_account("bob", f"{fleet.listed.key} bob@old")
        host.start_sshd(STOCK)
        return ()
    return [Shape(f"host{number:03}", "a follower", functools.partial(prepare, number)) for number in range(count)]


class Drill:
    """The publisher and its followers."""

    def __init__(self, world):
        self.world, self.fleet = world, world.fleet
        self.hosts = list(self.fleet.hosts.values())
        self.leaked = self.fleet.listed
        self.site = None

    # Before

    def prepare(self):
        self._stripped()
        self._install(self.fleet.controller)
        self._publish_first()
        authority = Authority(SCRATCH, "ca")
        self.site = Site(self.fleet.controller, authority.issue("publisher", f"IP:{CONTROLLER}"))
        self.ca = authority.certificate.read_bytes()
        self.each(self._follow)
        lines = ["[fleet]", *(host.name for host in self.hosts), "[fleet:vars]", "ansible_user=root",
                 "[publishers]", "publisher ansible_connection=local",
                 "[all:vars]", "ansible_python_interpreter=/usr/bin/python3", ""]
        self.fleet.controller.path(f"{self.world.folder}/hosts.ini").write_text("\n".join(lines), encoding="ascii")
        for words in (("galaxy", "build", "!install"), ("galaxy", "install")):
            self.world.ansible(self.world.readme.command(*words), 0)

    def each(self, function):
        with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
            return list(pool.map(function, self.hosts))

    def _stripped(self):
        """The programs without what a debugger needs: a hundred hosts have them in memory."""
        self.programs = {}
        for name in ("keyveto", "keyveto-authorized-keys", "keyveto-reader", "keyveto-worker", "keyveto-network",
                     "pam_keyveto.so"):
            subprocess.run(["strip", "-o", SCRATCH / name, self.world.build / name], check=True)
            self.programs[name] = (SCRATCH / name).read_bytes()
        self.programs["keyveto-publish"] = (self.world.build / "keyveto-publish").read_bytes()

    def _install(self, box):
        for name, data in self.programs.items():
            path = box.path({"keyveto": "/usr/bin/keyveto", "keyveto-publish": "/usr/bin/keyveto-publish",
                             "keyveto-authorized-keys": GUARD, "pam_keyveto.so": PAM_FOLDER / "pam_keyveto.so"}.get(
                                 name, f"/usr/libexec/keyveto/{name}"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(0o711 if "authorized" in name else 0o755)
        for folder in ("/etc/keyveto", "/var/lib/keyveto", "/srv/keyveto"):
            box.path(folder).mkdir(parents=True, exist_ok=True)

    def _publish_first(self):
        box = self.fleet.controller
        box.path("/root/known").write_text("\n".join(made_keys(KNOWN, "drill")) + "\n", encoding="ascii")
        box.run(f"ssh-keygen -q -t ed25519 -N '' -f {SIGNER} && keyveto list create {LIST} --id 1 --name ours "
                f"/root/known && keyveto-publish --quiet --sign {SIGNER} {SITE} {LIST}")
        self.signer = box.path(f"{SIGNER}.pub").read_text(encoding="ascii")

    def _follow(self, host):
        """keyveto is enabled on the host, and has the publisher's list."""
        self._install(host)
        host.write("/etc/keyveto/keyveto.conf", f"Blocklist {INSTALLED}\n")
        host.write("/etc/keyveto/update.conf", UPDATE_CONF)
        host.write("/etc/keyveto/allowed_signers", f"keyveto {self.signer}")
        host.write("/etc/keyveto/ca.pem", self.ca)
        host.run("keyveto update && keyveto enable --reload && keyveto status | grep '^guarded;'")

    # The drill

    def leak(self, status, key, **variables):
        """Runs the playbook. Returns what Ansible says, and the report."""
        controller = self.fleet.controller
        said = SCRATCH / "leak.json"
        said.write_text(json.dumps({
            "keyveto_hosts": "fleet", "keyveto_leak_publisher": "publishers", "keyveto_leak_key": str(key.key.path),
            "keyveto_leak_signing_key": SIGNER, "keyveto_leak_proof_required": True,
            "keyveto_leak_proofs": [f"{self.leaked.path}.proof.pem"], **variables}), encoding="ascii")
        told = self.world.ansible(f"ansible-playbook -i hosts.ini -f {FORKS} keyveto.keyveto.leak -e @{said}"
                                  + " --check" * (status == "check"), 0 if status == "check" else status)
        report = json.loads(controller.path(f"{self.world.folder}/keyveto-leak/report.json").read_text("utf-8"))
        return told, report

    def enters(self, host, identity):
        """Whether dora gets in with this key; None if neither that nor a refusal is what happened."""
        seen = host.shell("dora", identity, command="echo let in")
        return True if seen.entered else False if seen.refused else None

    def published(self):
        return self.fleet.controller.path(f"{SITE}/ours.json.sig").stat().st_mtime_ns

    def measure(self, run):
        """Calls run in a thread. Returns its result, and how many seconds after the publication each host refused."""
        files = {host: host.path(INSTALLED) for host in self.hosts}
        before, old = {host: files[host].stat().st_ino for host in self.hosts}, self.published()
        published, refused = None, {}

        def try_key(host):
            refused[host] = time.time() if self.enters(host, self.leaked) is False else None

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            ansible = pool.submit(run)
            waiting = set(self.hosts)
            while waiting and not (ansible.done() and published is None):
                if published is None and self.published() != old:
                    published = self.published() / 1e9
                for host in [one for one in waiting if files[one].stat().st_ino != before[one]]:
                    waiting.discard(host)
                    pool.submit(try_key, host)
                if ansible.done():
                    break
                time.sleep(0.1)
            result = ansible.result()
        check(not waiting, f"the list of {len(waiting)} hosts is as before: {result[0].text[-3000:]}")
        let_in = [host.name for host, when in refused.items() if when is None]
        check(not let_in, f"the key gets in after the list has come: {let_in}")
        return result, sorted(when - published for when in refused.values())


def drill(part, world):
    """All of it, on hosts that exist."""
    one, began = Drill(world), time.monotonic()
    one.prepare()
    part.ok(f"{len(one.hosts)} hosts follow one publisher, {time.monotonic() - began:.0f} s")
    check(all(one.each(lambda host: one.enters(host, one.leaked))), "the key does not get in everywhere before")
    for identity in (one.leaked, world.fleet.stranger):
        prove_leak(identity)
    told_before(part, one)
    false_claim(part, one)
    refusal(part, one)


def told_before(part, one):
    """--check says who would be locked out, and changes nothing."""
    old = one.published()
    _, report = one.leak("check", one.leaked, keyveto_accept_refused=True)
    lost = {host["host"] for host in report["hosts"] for account in host.get("accounts", ())
            if account["locked_out"] and account["account"] == "bob"}
    has = [host["host"] for host in report["hosts"] for account in host.get("accounts", ())
           if not account["locked_out"] and account["account"] == "dora"]
    check(lost == {f"host{number:03}" for number in range(LOCKED_OUT)}, f"locked out would be {lost}")
    check(len(has) == len(one.hosts), f"{len(has)} hosts tell of dora")
    check(one.published() == old, "--check has published")
    part.ok(f"told before: bob would be locked out on {len(lost)} hosts, and dora has another key on {len(has)}")


def false_claim(part, one):
    """Somebody claims dora's new key, and proves another one."""
    old = one.published()
    told, report = one.leak(2, one.fleet.clean, keyveto_leak_proofs=[f"{one.fleet.stranger.path}.proof.pem"])
    check("the claim is refused" in told.text, told.text[-2000:])
    check(set(report["totals"]) == {"failed"} and one.published() == old, f"a false claim: {report['totals']}")
    part.ok("a claim whose proof is of another key is refused, and nothing is published")


def refusal(part, one):
    """From the publication to the refusal."""
    site, sent = one.site, None
    with contextlib.ExitStack() as stack:
        open_ones = sessions(stack, one)
        site.sent.clear()
        began = time.monotonic()
        (_, report), seconds = one.measure(lambda: one.leak(
            None, one.leaked, keyveto_accept_refused=True, keyveto_leak_sessions="end", keyveto_leak_logs=[SYSLOG]))
        took = time.monotonic() - began
        sent = sorted(site.sent[host.address] for host in one.hosts)
        p95 = statistics.quantiles(seconds, n=20)[-1]
        part.ok(f"{len(seconds)} hosts refuse the key: from published to refused "
                f"p50 {statistics.median(seconds):.1f} s, p95 {p95:.1f} s, the last {seconds[-1]:.1f} s; "
                f"the playbook took {took:.0f} s")
        part.ok(f"fetched by each host, with TLS: p50 {statistics.median(sent):.0f} bytes, at most {sent[-1]}")
        check(p95 <= SECONDS, f"p95 is above {SECONDS} s")
        check(0 < sent[0] and sent[-1] < BYTES, f"a host fetched {sent[0]} to {sent[-1]} bytes")
        check(report["totals"] == {"refused": len(one.hosts), "published": 1},
              f"the report says {report['totals']}: {report['hosts'][:2]}")
        text = one.fleet.controller.path(f"{one.world.folder}/keyveto-leak/report.txt").read_text("utf-8")
        check(all(f"{host.name}: refused" in text for host in one.hosts), text[:2000])
        check(all(one.each(lambda host: one.enters(host, one.fleet.clean))), "a clean key does not get in afterwards")
        part.ok(f"one report, of {len(report['hosts'])} lines: {text.splitlines()[-1]}; clean keys get in everywhere")
        ended(part, one, open_ones, report)
        named(part, one)


def named(part, one):
    """The log of a host says by which list the key was refused."""
    log = one.hosts[0].path(SYSLOG).read_text("utf-8", "replace")
    lines = [line for line in log.splitlines()
             if "verdict=listed" in line and one.leaked.key.fingerprint in line]
    check(lines and all("source=ours" in line for line in lines), f"the log says {lines[-1:] or log[-2000:]}")
    part.ok("the log names the list: source=ours")


def sessions(stack, one):
    """On some hosts dora has a session open by each key: [(host, identity, connection)]."""
    found = []
    for host in one.hosts[:WITH_SESSIONS]:
        for identity in (one.leaked, one.fleet.clean):
            errors = SCRATCH / f"session-{host.name}-{identity.path.name}"
            argv = host.clients.ssh_argv(host.server, Person("dora"), [identity], ["-vv", "-N"])
            with open(errors, "wb") as stderr:
                process = stack.enter_context(subprocess.Popen(
                    [*one.fleet.controller.entry, *argv], stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr))
            stack.callback(process.terminate)
            found.append((host, identity, Connection(process, errors)))
    for _, _, connection in found:
        connection.wait_for("Entering interactive session")
    return found


def ended(part, one, open_ones, report):
    """The sessions of the key have ended, and no other."""
    told = {host["host"]: host for host in report["hosts"]}
    for host, identity, connection in open_ones:
        if identity is one.leaked:
            check(len(told[host.name]["sessions"]) == 1, f"{host.name}: told of sessions: {told[host.name]}")
            connection.wait_for_end()
        else:
            check(connection.stays, f"{host.name}: a session by a clean key has ended: {connection.words()[-500:]}")
    part.ok(f"the key's {len(open_ones) // 2} open sessions were listed and ended, and the others stay")
