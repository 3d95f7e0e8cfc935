# SPDX-License-Identifier: ISC
"""keyveto-update.service in its sandbox, with a publisher on loopback. Also the timer, and rollback."""

import contextlib
import functools
import http.server
import json
import re
import shutil
import ssl
import subprocess
import threading
from pathlib import Path

from steps import call, check
from world import DISK, FILTER, SCRATCH, Journal, World, changed, unit, wait_for

SETTINGS = Path("/etc/keyveto/update.conf")
SIGNERS = Path("/etc/keyveto/allowed_signers")
SERVICE, TIMER = "keyveto-update.service", "keyveto-update.timer"
PORT = 8443
# Texts in the output if the sandbox denies a system call or a path.
DENIALS = re.compile(r"not permitted|permission denied|read-only file system|seccomp|apparmor=", re.IGNORECASE)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and writes no log."""

    def log_message(self, *arguments):
        pass


class Publisher:
    """A server with a certificate of its own CA, and a key that signs filters."""

    def __init__(self):
        self.folder = SCRATCH / "published"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        made = SCRATCH / "ca"
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir()
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
        call("openssl", "req", "-x509", *key, "-keyout", made / "ca.key", "-out", made / "ca.pem",
             "-subj", "/CN=keyveto test CA")
        call("openssl", "req", *key[:-2], "-keyout", made / "server.key", "-out", made / "server.csr",
             "-subj", "/CN=localhost")
        (made / "extensions").write_text("subjectAltName=DNS:localhost\n", encoding="ascii")
        call("openssl", "x509", "-req", "-in", made / "server.csr", "-CA", made / "ca.pem", "-CAkey", made / "ca.key",
             "-CAcreateserial", "-days", "2", "-extfile", made / "extensions", "-out", made / "server.pem")
        shutil.copy(made / "ca.pem", "/etc/keyveto/ca.pem")
        call("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", made / "signer")
        self.made = made
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made / "server.pem", made / "server.key")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), functools.partial(
            Quiet, directory=str(self.folder)))
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def publish(self, name, signed=True):
        target = self.folder / "keys.pkbf"
        shutil.copy(DISK / "filters" / name, target)
        Path(f"{target}.sig").unlink(missing_ok=True)
        if signed:
            call("ssh-keygen", "-q", "-Y", "sign", "-n", "keyveto-filter", "-f", self.made / "signer", target)

    def signer(self):
        return (self.made / "signer.pub").read_text(encoding="ascii").strip()


def settings(*more):
    return "\n".join((f"URL https://localhost:{PORT}/keys.pkbf", "CAFile /etc/keyveto/ca.pem", "Proxy none", *more, ""))


def revision():
    return json.loads(call("keyveto", "filter", "info", "--json", FILTER))["revision"]


def start(succeeds=True):
    """Starts the service once: its output."""
    journal = Journal()
    done = subprocess.run(["systemctl", "start", SERVICE], capture_output=True, text=True, check=False)
    said = journal.messages(_SYSTEMD_UNIT=SERVICE)
    state = unit(SERVICE, "Result", "ExecMainStatus")
    check((done.returncode == 0) == succeeds, f"systemctl start: {done.returncode}, {state}: {said}")
    check((state["Result"] == "success") == succeeds, f"{state}: {said}")
    denied = [line for line in [*said, *journal.messages(_TRANSPORT="kernel")] if DENIALS.search(line)]
    check(not denied, f"the sandbox stands in the way: {denied}")
    if not succeeds:
        call("systemctl", "reset-failed", SERVICE)
    return "\n".join(said)


def update(part):
    world = World(part)
    world.put_filter()
    call("groupadd", "-f", "filters")
    publisher = Publisher()
    try:
        with changed(SETTINGS, settings()):
            from_the_publisher(world, publisher)
            signed(world, publisher)
            timer(world, publisher)
        without_settings(world)
        sandboxed(world)
    finally:
        publisher.close()
        world.put_filter()


def from_the_publisher(world, publisher):
    call("chgrp", "filters", FILTER)
    FILTER.chmod(0o640)
    first = revision()
    publisher.publish("newer1.pkbf", signed=False)
    said = start()
    check(revision() > first, f"the filter is the old one: {said}")
    check(call("stat", "-c", "%U:%G %a", FILTER).strip() == "root:filters 640",
          f"owner, group and mode are lost: {call('stat', '-c', '%U:%G %a', FILTER)}")
    world.ok(f"systemctl start {SERVICE}: a filter over HTTPS, its group and mode kept; the journal: {said}")
    world.ok(f"a run with nothing new: {start()}")
    newer = revision()
    call("keyveto", "update", "--rollback")
    check(revision() == first, "no rollback")
    said = start(succeeds=False)
    check(revision() == first, f"the update brings back what was rolled back from: {said}")
    world.ok(f"rollback, and the service leaves it at that: {said}")
    publisher.publish("newer2.pkbf", signed=False)
    start()
    check(revision() > newer, "the next filter is not taken")
    world.ok("the next revision is taken after a rollback")
    whole = (DISK / "filters/newer3.pkbf").read_bytes()
    (publisher.folder / "keys.pkbf").write_bytes(whole[:len(whole) // 2])
    before = FILTER.read_bytes()
    said = start(succeeds=False)
    check(FILTER.read_bytes() == before, "half a filter was installed")
    world.ok(f"half a filter: the unit fails, the filter stays: {said}")
    with changed(SETTINGS, settings().replace("CAFile /etc/keyveto/ca.pem\n", "")):
        said = start(succeeds=False)
        check("certificate" in said, said)
        world.ok(f"a CA that the system does not know: {said}")


def signed(world, publisher):
    world.put_filter()
    publisher.publish("newer1.pkbf")
    with changed(SIGNERS, f'keyveto namespaces="keyveto-filter" {publisher.signer()}\n'), \
            changed(SETTINGS, settings(f"AllowedSigners {SIGNERS}")):
        first = revision()
        said = start()
        check(revision() > first, f"the filter is the old one: {said}")
        world.ok(f"signed: ssh-keygen -Y verify works in the sandbox: {said}")
        publisher.publish("newer2.pkbf", signed=False)
        before = FILTER.read_bytes()
        said = start(succeeds=False)
        check(FILTER.read_bytes() == before, "a filter without a signature was installed")
        world.ok(f"no signature: the unit fails, the filter stays: {said}")
        publisher.publish("newer2.pkbf")
        with changed(SIGNERS, f'keyveto namespaces="keyveto-filter" {world.clean.key}\n'):
            said = start(succeeds=False)
            check("no good signature" in said and FILTER.read_bytes() == before, said)
            world.ok(f"signed by somebody else: {said}")
        start()
        check(FILTER.read_bytes() != before, "the signed filter is not installed")
        world.ok("signed by the publisher: installed")


def timer(world, publisher):
    world.put_filter()
    publisher.publish("newer2.pkbf", signed=False)
    first = revision()
    call("systemctl", "enable", "--now", TIMER)
    said = call("systemctl", "list-timers", "--no-legend", TIMER)
    check(TIMER in said and SERVICE in said, said)
    state = unit(TIMER, "ActiveState", "NextElapseUSecRealtime", "Persistent", "RandomizedDelayUSec")
    check(state["ActiveState"] == "active" and state["NextElapseUSecRealtime"], f"{state}")
    world.ok(f"the timer waits: {' '.join(said.split())}")
    # The timer starts the service now, not after a day.
    with changed(f"/etc/systemd/system/{TIMER}.d/now.conf",
                 "[Timer]\nOnCalendar=\nOnActiveSec=1s\nAccuracySec=1s\nRandomizedDelaySec=0\nPersistent=no\n"):
        call("systemctl", "daemon-reload")
        call("systemctl", "restart", TIMER)
        wait_for("the timer's run", lambda: revision() > first, 60)
        world.ok("the timer starts the service, which brings the filter")
        wait_for("the end of it", lambda: unit(SERVICE, "ActiveState")["ActiveState"] == "inactive")
    call("systemctl", "daemon-reload")
    call("systemctl", "disable", "--now", TIMER)


def without_settings(world):
    said = start(succeeds=False)
    world.ok(f"without update.conf it asks for the free list, and this machine has no network: {said}")


def sandboxed(world):
    """The same unit with a command that tries forbidden actions."""
    tries = {
        "write /etc": "touch /etc/keyveto/touched", "write /usr": "touch /usr/bin/touched",
        "write /var/lib": "touch /var/lib/touched", "homes": "touch /home/alice/touched", "devices": "ls /dev/vda",
        "mount": "mount -t tmpfs none /mnt", "kernel log": "dmesg", "clock": "date -s 2001-01-01",
        "namespaces": "unshare -n true",
        "set-user-id": "chmod u+s /var/lib/keyveto/f", "host name": "hostname other",
        "kernel settings": "sh -c 'echo 1 >/proc/sys/kernel/dmesg_restrict'",
        "raw packets": "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
    }
    # The sandbox has its own /var/tmp, so the script is elsewhere.
    script = Path("/usr/local/lib/keyveto-tries")
    # The group of a filter is kept, and the accounts' keys are read as the accounts.
    lines = ["touch /var/lib/keyveto/f && chgrp filters /var/lib/keyveto/f && "
             "python3 -c 'import os; os.setgroups([]); os.setgid(1); os.setuid(1)' && echo 'needed: done'"]
    lines += [f"if {command}; then echo 'TRY {name}: done'; else echo 'TRY {name}: denied'; fi"
              for name, command in tries.items()]
    script.write_text("\n".join(["#!/bin/sh", "exec 2>&1", *lines, "rm -f /var/lib/keyveto/f", ""]), encoding="ascii")
    script.chmod(0o755)
    with contextlib.ExitStack() as stack:
        stack.enter_context(changed(SETTINGS, settings()))
        stack.enter_context(changed(f"/etc/systemd/system/{SERVICE}.d/tries.conf",
                                    f"[Service]\nExecStart=\nExecStart=/bin/sh {script}\n"))
        call("systemctl", "daemon-reload")
        journal = Journal()
        call("systemctl", "start", SERVICE)
        said = journal.messages(_SYSTEMD_UNIT=SERVICE)
        done = [line for line in said if line.startswith("TRY") and line.endswith("done")]
        denied = [line for line in said if line.startswith("TRY") and line.endswith("denied")]
        check("needed: done" in said, f"a filter's group cannot be set, or no account become: {said}")
        check(not done and len(denied) == len(tries), f"the sandbox lets it: {done}; {said}")
        world.ok(f"the sandbox denies all of {len(tries)}: {', '.join(sorted(tries))}")
    call("systemctl", "daemon-reload")
    exposure = call("systemd-analyze", "security", "--no-pager", SERVICE).strip().splitlines()[-1]
    world.ok(f"systemd-analyze security: {exposure.lstrip('→ ')}")
