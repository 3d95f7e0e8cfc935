# SPDX-License-Identifier: ISC
"""`keyveto enable` and `disable` through systemctl, and what `keyveto status` sees of a running system."""

import contextlib
import json
import subprocess
from pathlib import Path

from steps import call, check, same, snapshot
from world import DISK, Journal, World, changed, reloaded, unit, wait_for

SERVICE, SOCKET = "ssh.service", "ssh.socket"


def keyveto(*argv, status=0):
    # A run that fails or refuses does not reload sshd.
    with reloaded() if "--reload" in argv and status == 0 else contextlib.nullcontext():
        return call("keyveto", *argv, status=status)


def switch(part):
    world = World(part)
    world.put_filter()
    before = snapshot("/etc/ssh", "/etc/pam.d")
    main = unit(SERVICE, "MainPID")
    enable_and_disable(world)
    check(unit(SERVICE, "MainPID") == main, "sshd was started anew, not reloaded")
    same(before, snapshot("/etc/ssh", "/etc/pam.d"), "disable leaves something")
    part.ok("sshd is the same process as before, and its files are the same to the byte")
    sshd_that_does_not_reload(world)
    same(before, snapshot("/etc/ssh", "/etc/pam.d"), "disable leaves something")
    with by_socket():
        keyveto("sshd", "enable", "--yes", "--reload")
        check(unit(SERVICE, "MainPID")["MainPID"] == "0", "this was to be tried without an sshd")
        world.expect("by socket, enabled while no sshd runs")
        keyveto("sshd", "disable", "--reload")
        enable_and_disable(world, "by socket: ")
        check(unit(SERVICE, "ActiveState")["ActiveState"] == "active", f"{SERVICE} has failed")
        same(before, snapshot("/etc/ssh", "/etc/pam.d"), "disable leaves something")
        part.ok("by socket: enable and disable --reload, the files the same to the byte")
    with stopped():
        said = keyveto("sshd", "enable", "--yes", "--reload", status="failure")
        check("no running sshd" in said or "nothing was reloaded" in said, said)
        part.ok("with no sshd at all, --reload says so")
    keyveto("sshd", "disable", "--reload")
    world.expect("and back", mallory=True)


def enable_and_disable(world, how=""):
    said = keyveto("sshd", "enable", "--reload", status=1)
    check("mallory" in said, said)
    world.expect(f"{how}enable declines, since mallory would be refused", mallory=True)
    journal = Journal()
    keyveto("sshd", "enable", "--warn", "--reload")
    world.expect(f"{how}enable --warn --reload", mallory=True)
    journal.expect("verdict=listed", "action=warn", "via=guard")
    keyveto("sshd", "enable", "--yes", "--reload")
    world.expect(f"{how}enable --yes --reload")
    worst, checks, _ = examine()
    check(worst["guard"] == "ok", f"{how}status: {checks}")
    keyveto("sshd", "disable", "--reload")
    world.expect(f"{how}disable --reload", mallory=True)


def sshd_that_does_not_reload(world):
    """If the reload by systemd fails, keyveto must report that."""
    with changed("/etc/systemd/system/ssh.service.d/no.conf", "[Service]\nExecReload=\nExecReload=/bin/false\n"):
        call("systemctl", "daemon-reload")
        # Without systemd, keyveto uses the PID file.
        keyveto("sshd", "enable", "--yes", "--reload")
        world.expect("systemctl reload fails, SIGHUP by the process id file does not")
    call("systemctl", "daemon-reload")
    keyveto("sshd", "disable", "--reload")
    world.expect("and back", mallory=True)


@contextlib.contextmanager
def by_socket():
    """sshd by ssh.socket: the first connection starts it."""
    call("systemctl", "disable", "--now", SERVICE)
    call("systemctl", "enable", "--now", SOCKET)
    wait_for("the socket", lambda: unit(SOCKET, "ActiveState")["ActiveState"] == "active")
    try:
        yield
    finally:
        call("systemctl", "disable", "--now", SOCKET)
        call("systemctl", "stop", SERVICE)
        call("systemctl", "enable", "--now", SERVICE)
        wait_for("sshd", lambda: unit(SERVICE, "ActiveState")["ActiveState"] == "active")


@contextlib.contextmanager
def stopped():
    call("systemctl", "stop", SERVICE)
    try:
        yield
    finally:
        call("systemctl", "start", SERVICE)


# --- doctor ---------------------------------------------------------------------


def examine():
    """Runs keyveto status: (the worst status of each check, the findings, the exit status)."""
    done = subprocess.run(["keyveto", "doctor", "--json"], capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    worst = {}
    order = ("ok", "warning", "broken")
    for item in said["checks"]:
        worst[item["check"]] = max(worst.get(item["check"], "ok"), item["status"], key=order.index)
    return worst, said["checks"], done.returncode


def found(checks, name):
    return " / ".join(item["found"] for item in checks if item["check"] == name)


def doctor(part):
    world = World(part)
    world.put_filter(DISK / "filters/newer2.pkbf")
    worst, checks, status = examine()
    check(worst["guard"] == "broken" and status != 0, f"without keyveto: {checks}")
    part.ok("before: no key is judged, and doctor says so")
    keyveto("sshd", "enable", "--yes", "--reload")
    worst, checks, status = examine()
    bad = [item for item in checks if item["status"] != "ok"]
    check(not bad and status == 0, f"in force: status {status}: {bad}")
    check("1 sshd listens" in found(checks, "service"), found(checks, "service"))
    part.ok(f"in force: {len(checks)} checks ok; {found(checks, 'service')}")
    arguments_of_the_service(world)
    socket_activation(world)
    world.expect("in force still")
    keyveto("sshd", "disable", "--reload")


def arguments_of_the_service(world):
    option = "-o AuthorizedKeysFile=.ssh/authorized_keys"
    with changed("/etc/default/ssh", f'SSHD_OPTS="{option}"\n'):
        worst, checks, _ = examine()
        check(worst["service"] == "broken", f"/etc/default/ssh: {checks}")
        world.ok(f"an option in /etc/default/ssh, not yet in force: {found(checks, 'service')}")
        call("systemctl", "restart", SERVICE)
        worst, checks, _ = examine()
        check(worst["service"] == "broken" and "process" in found(checks, "service"), f"{checks}")
        world.ok("in force: seen in the running process as well")
    # Now only the running process has the argument.
    worst, checks, _ = examine()
    check(worst["service"] == "broken", f"{checks}")
    world.ok(f"taken out, not yet restarted: {found(checks, 'service')}")
    call("systemctl", "restart", SERVICE)
    worst, checks, _ = examine()
    check(worst["service"] == "ok", f"{checks}")
    drop_in = "/etc/systemd/system/ssh.service.d/options.conf"
    with changed(drop_in, f"[Service]\nExecStart=\nExecStart=/usr/sbin/sshd -D {option}\n"):
        call("systemctl", "daemon-reload")
        call("systemctl", "restart", SERVICE)
        worst, checks, _ = examine()
        check(worst["service"] == "broken", f"{checks}")
        world.ok(f"an option in a drop-in of the unit: {found(checks, 'service')}")
    call("systemctl", "daemon-reload")
    call("systemctl", "restart", SERVICE)


def socket_activation(world):
    drop_in = Path("/etc/systemd/system/ssh.service.d/options.conf")
    with by_socket():
        check(unit(SERVICE, "MainPID")["MainPID"] == "0", "this was to be tried without an sshd")
        worst, checks, status = examine()
        check(status == 0, f"{[item for item in checks if item['status'] != 'ok']}")
        world.ok(f"by socket, before the first connection: {found(checks, 'service')}")
        with changed(drop_in, "[Service]\nExecStart=\nExecStart=/usr/sbin/sshd -D "
                              "-o AuthorizedKeysFile=.ssh/authorized_keys\n"):
            call("systemctl", "daemon-reload")
            worst, checks, _ = examine()
            check(worst["service"] == "broken", f"a drop-in of {SERVICE} goes unseen: {found(checks, 'service')}")
            world.ok(f"by socket, an option in a drop-in, before the first connection: {found(checks, 'service')}")
        call("systemctl", "daemon-reload")
        world.expect("by socket")
        worst, checks, status = examine()
        check(status == 0 and "1 sshd listens" in found(checks, "service"), f"{checks}")
        world.ok(f"by socket, after it: {found(checks, 'service')}")
