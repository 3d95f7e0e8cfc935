# SPDX-License-Identifier: ISC
"""The packages on a stock machine: installed by apt, used by the steps of the documents, removed."""

import json
import os
import subprocess
from pathlib import Path

from steps import call, check, difference, snapshot
from world import FILTER, GUARD, Journal, World, reloaded, unit

UNITS = ("keyveto-update",)
TIMERS = [f"{name}.timer" for name in UNITS]


def removes(*packages, purge=False):
    return subprocess.run(["apt-get", "purge" if purge else "remove", "-y", "-q", *packages], capture_output=True,
                          text=True, check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def packages(part):
    world = World(part, fresh=False)
    version = Path("/etc/debian_version").read_text(encoding="ascii").strip()
    print(f"note   Debian {version}, Linux {os.uname().release}, systemd "
          f"{call('systemctl', '--version').split()[1]}, {call('ssh', '-V').strip()}", flush=True)
    state = subprocess.run(["systemctl", "is-system-running", "--wait"], capture_output=True, text=True, check=False)
    check(state.stdout.strip() == "running", f"{state.stdout}{call('systemctl', '--failed', '--no-legend')}")
    part.ok("the machine is up, and no unit has failed")

    before, settings = snapshot("/etc"), call("sshd", "-T")
    started = unit("ssh.service", "MainPID", "ExecMainStartTimestampMonotonic")
    said = world.install()
    found = [line for line in difference(before, snapshot("/etc")) if "/etc/keyveto" not in line
             and "ld.so.cache" not in line]
    # dh_installsystemd records the timer. The timer is not active.
    check(not found, f"the installation changes {found}")
    check(call("sshd", "-T") == settings, "sshd has other settings")
    check(unit("ssh.service", "MainPID", "ExecMainStartTimestampMonotonic") == started, "sshd was started anew")
    check("Setting up libpam-keyveto" in said, said)
    part.ok("apt installs both packages, with what they depend on; sshd, PAM and /etc stay as they are")
    for name in UNITS:
        check(unit(f"{name}.timer", "UnitFileState", "ActiveState") ==
              {"UnitFileState": "disabled", "ActiveState": "inactive"}, f"{name}.timer is on by itself")
        check(unit(f"{name}.service", "LoadState", "ActiveState") ==
              {"LoadState": "loaded", "ActiveState": "inactive"}, f"{name}.service runs by itself, or is not there")
    part.ok("the timers are there, disabled and inactive")
    world.expect("installed, not active", mallory=True)
    by_the_readme(world)
    in_an_emergency(world)
    way_back(world, before)


def by_the_readme(world):
    world.put_filter()
    for name in ("rehearse", "guard", "pam", "validate"):
        world.follow(name)
    main = unit("ssh.service", "MainPID")
    journal = Journal()
    world.follow("reload")
    check(unit("ssh.service", "MainPID") == main, "the reload has made another sshd")
    world.expect("rehearsal", mallory=True)
    journal.expect("verdict=listed", "action=warn", "user=mallory", "via=guard", "authorized=yes")
    journal.expect("verdict=listed", "action=warn", "user=mallory", "via=pam")
    check(not journal.decisions("user=alice"), "a clean key leaves a trace")
    world.ok("the journal has both decisions of the rehearsal, and none of the clean key")
    entries = [entry for entry in journal.entries() if "verdict=listed" in str(entry.get("MESSAGE"))]
    for tag in ("keyveto-authorized-keys", "sshd"):
        of_tag = [entry for entry in entries if entry.get("SYSLOG_IDENTIFIER") == tag]
        check(of_tag and all(entry["PRIORITY"] == "4" and entry["SYSLOG_FACILITY"] == "10" for entry in of_tag),
              f"{tag}: {of_tag}")
        units = {entry.get("_SYSTEMD_UNIT") for entry in of_tag}
        # The guard may have ended before journald looks up its unit.
        check(units <= ({"ssh.service"} if tag == "sshd" else {"ssh.service", None}), f"{tag}: units {units}")
        named = sum("_SYSTEMD_UNIT" in entry for entry in of_tag)
        world.ok(f"{tag}: warning, authpriv; journald has the unit of {named} lines of {len(of_tag)}")
    journal = Journal()
    world.follow("enforce")
    world.expect("enforced")
    journal.expect("verdict=listed", "action=deny", "user=mallory", "via=guard", "authorized=yes")
    world.ok("the refusal is in the journal")


def in_an_emergency(world):
    good = FILTER.read_bytes()
    FILTER.write_bytes(good[:100])
    world.expect("filter truncated", alice=False, mallory=False)
    said = world.follow("look")
    check("reason=" in said and str(FILTER) in said, f"journalctl does not tell why: {said}")
    world.follow("open")
    world.expect("glass broken", mallory=True)
    said = world.follow("close")
    check("verdict=error action=allow" in said, f"journalctl does not tell who came in: {said}")
    world.expect("glass mended", alice=False, mallory=False)
    FILTER.write_bytes(good)
    world.expect("filter put back")


def way_back(world, before):
    done = removes("keyveto", "libpam-keyveto")
    check(done.returncode != 0 and GUARD.exists(), f"apt removes what logins need: {done}")
    check("not removed" in done.stdout + done.stderr, f"{done}")
    world.ok("apt does not remove the packages while sshd and PAM name them")
    world.expect("removal refused")
    world.follow("back")
    world.follow("reload")
    world.expect("the way back", mallory=True)
    call("systemctl", "enable", "--now", *TIMERS)
    done = removes("keyveto", "libpam-keyveto")
    check(done.returncode == 0 and not GUARD.exists(), f"{done}")
    for timer in TIMERS:
        check(unit(timer, "ActiveState")["ActiveState"] == "inactive", f"{timer} outlives the package")
    world.ok("then it does, and stops the timers")
    world.expect("removed", mallory=True)
    done = removes("keyveto", "libpam-keyveto", purge=True)
    check(done.returncode == 0, f"{done}")
    left = [line for line in difference(before, snapshot("/etc")) if "ld.so.cache" not in line]
    check(not left, f"the purge leaves {left}")
    world.ok("the purge leaves nothing in /etc")


def removal(part):
    """The last stage: apt removes what the other stages have installed."""
    world = World(part)
    with reloaded():
        call("keyveto", "sshd", "enable", "--yes", "--reload")
    done = removes("keyveto", "libpam-keyveto")
    check(done.returncode != 0 and GUARD.exists(), f"apt removes what logins need: {done}")
    with reloaded():
        call("keyveto", "sshd", "disable", "--reload")
    call("systemctl", "enable", "--now", *TIMERS)
    done = removes("keyveto", "libpam-keyveto", purge=True)
    check(done.returncode == 0, f"{done}")
    for timer in TIMERS:
        check(unit(timer, "LoadState", "ActiveState") == {"LoadState": "not-found", "ActiveState": "inactive"},
              f"{timer} is left: {unit(timer, 'LoadState', 'ActiveState')}")
    failed = json.loads(call("systemctl", "list-units", "--failed", "--output=json"))
    check(not failed, f"units that failed: {failed}")
    world.expect("purged with the timers on", mallory=True)
