# SPDX-License-Identifier: ISC
"""The samples for journald, rsyslog and fail2ban, with the real services."""

import grp
import os
import re
import shutil
import subprocess
from pathlib import Path

from steps import call, check
from world import SHARE, Journal, World, reloaded, unit, wait_for

LOG = Path("/var/log/keyveto.log")


def logs(part):
    world = World(part)
    world.put_filter()
    with reloaded():
        call("keyveto", "sshd", "enable", "--yes", "--reload")
    journald(world)
    rsyslog(world)
    fail2ban(world)


def journald(world):
    sample = SHARE / "journald/keyveto.conf"
    folder = Path("/etc/systemd/journald.conf.d")
    folder.mkdir(exist_ok=True)
    shutil.copy(sample, folder)
    call("systemctl", "restart", "systemd-journald")
    check(unit("systemd-journald", "ActiveState")["ActiveState"] == "active", "journald does not start")
    journal = Journal()
    world.expect("journald with the sample")
    journal.expect("verdict=listed", "user=mallory")
    check(any(Path("/var/log/journal").rglob("*.journal")), "the journal is not kept")
    world.ok("the journal is kept on disk")
    queries = re.findall(r"^#   \S.*?  +(journalctl .*)$", sample.read_text(encoding="utf-8"), re.MULTILINE)
    check(len(queries) == 5, f"the sample has {queries}")
    for query in queries:
        bounded = query.replace("-f ", "-n 5 ").replace("alice", "mallory")
        said = subprocess.run(["sh", "-c", bounded], capture_output=True, text=True, check=False)
        check(said.returncode in (0, 1) and not said.stderr, f"{query}: {said}")
        # The query for errors finds nothing if no stage before had a broken filter.
        check("verdict=" in said.stdout or "-p err" in query, f"{query} finds nothing")
    world.ok(f"each of the {len(queries)} queries that the sample names is answered")
    lines = 12000
    journal = Journal()
    call("systemd-run", "--quiet", "--wait", "--unit=keyveto-flood", "sh", "-c",
         f"for i in $(seq {lines}); do echo flood $i; done")
    found = sum(text.startswith("flood ") for text in journal.messages(_SYSTEMD_UNIT="keyveto-flood.service"))
    check(found == lines, f"of {lines} lines journald has kept {found}")
    world.ok(f"{lines} lines of one service at once: all kept")


def rsyslog(world):
    shutil.copy(SHARE / "rsyslog/30-keyveto.conf", "/etc/rsyslog.d/")
    call("rsyslogd", "-N1")
    call("systemctl", "restart", "rsyslog")
    world.expect("rsyslog with the sample")

    def lines():
        text = LOG.read_text(encoding="utf-8") if LOG.exists() else ""
        return [line for line in text.splitlines() if "user=mallory" in line]
    wait_for(f"a line in {LOG}", lines)
    check(all("verdict=" in line for line in LOG.read_text(encoding="utf-8").splitlines()), "other lines in it")
    info = LOG.stat()
    check((info.st_mode & 0o777, info.st_uid, info.st_gid) == (0o640, 0, grp.getgrnam("adm").gr_gid),
          f"{LOG}: {oct(info.st_mode)} {info.st_uid}:{info.st_gid}")
    wait_for("the line in auth.log", lambda: lines()[-1].split("verdict=")[1] in Path("/var/log/auth.log").read_text(
        encoding="utf-8"))
    world.ok(f"{LOG}, 0640 root:adm, and auth.log have it: {lines()[-1]}")


def is_shut_out(world):
    """Whether the client is banned. A ban during a connection leaves the client waiting."""
    try:
        return not world.login(world.alice, world.clean).entered
    except subprocess.TimeoutExpired:
        return True


def fail2ban(world):
    call("apt-get", "install", "-y", "-q", "--no-install-recommends", "fail2ban", "python3-systemd", "nftables",
         env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    call("systemctl", "stop", "fail2ban")
    shutil.copy(SHARE / "fail2ban/keyveto.conf", "/etc/fail2ban/filter.d/keyveto.conf")
    # With sshd 9.2, the guard does not know the address. The module's lines have it, for mode=all. fail2ban
    # usually ignores loopback, and other jails are off.
    text = (SHARE / "fail2ban/jail.local").read_text(encoding="utf-8").replace("mode=knocking", "mode=all")
    Path("/etc/fail2ban/jail.d/keyveto.local").write_text(
        f"{text}ignoreself = false\nbanaction = nftables-multiport\n\n[sshd]\nenabled = false\n", encoding="utf-8")
    call("systemctl", "start", "fail2ban")
    wait_for("the jail", lambda: subprocess.run(["fail2ban-client", "status", "keyveto"], capture_output=True,
                                                check=False).returncode == 0)
    # The module works alone, as its lines name the client.
    with reloaded():
        call("keyveto", "sshd", "disable", "--reload")
    with reloaded():
        call("keyveto", "sshd", "enable", "--pam", "--yes", "--reload")
    try:
        world.expect("fail2ban watches, the module alone")

        def banned():
            return "127.0.0.1" in call("fail2ban-client", "get", "keyveto", "banip")
        wait_for("the ban", banned)
        # fail2ban reports the ban before the kernel has it.
        wait_for("the end of the logins", lambda: is_shut_out(world))
        world.ok("the jail bans the client by what journald has of ssh.service")
    finally:
        call("systemctl", "stop", "fail2ban")
        call("keyveto", "sshd", "disable")
    world.expect("fail2ban is stopped, and has taken its ban back; the module is out", mallory=True)
