# SPDX-License-Identifier: ISC
"""The samples of packaging/ with their daemons, on real log lines.

sshd, the guard and the module write to a real journald, which forwards to a
real rsyslogd, as on Debian. fail2ban reads the file that rsyslogd writes.
"""

import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import logbook
from patience import PATIENCE
from steps import ROOT, call, check

PACKAGING = ROOT / "packaging"
SHIPPED = Path("/usr/share/keyveto")
GUARD = "/usr/libexec/keyveto-authorized-keys"
JOURNAL, RSYSLOG = Path("/run/systemd/journal"), Path("/etc/rsyslog.conf")
CGROUPS, QUEUE = Path("/sys/fs/cgroup"), Path("/proc/sys/net/unix/max_dgram_qlen")
AUTH_LOG, KEYVETO_LOG = Path("/var/log/auth.log"), Path("/var/log/keyveto.log")
# Addresses for documentation. fail2ban must never find the last one.
KNOCKER, USER, INNOCENT = "192.0.2.7", "198.51.100.4", "203.0.113.9"


def do_as_systemd_does():
    """Prepares what systemd would have prepared for journald at boot."""
    if not CGROUPS.is_mount():
        call("mount", "-t", "cgroup2", "none", CGROUPS)
    # With the default queue, journald drops a line if ten others wait for rsyslogd.
    QUEUE.write_text("512\n", encoding="ascii")


class Daemons:
    """journald and rsyslogd in the places of the machine's own."""

    def __init__(self):
        do_as_systemd_does()
        JOURNAL.mkdir(parents=True)
        machine = Path("/etc/machine-id")
        if not machine.exists() or len(machine.read_bytes()) != 33:
            # journald does not start without a machine id, which an image may lack.
            machine.write_text(f"{os.urandom(16).hex()}\n", encoding="ascii")
        folder = Path("/etc/systemd/journald.conf.d")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(SHIPPED / "journald/keyveto.conf", folder)
        (folder / "forward.conf").write_text("[Journal]\nForwardToSyslog=yes\n", encoding="ascii")
        shutil.copy(SHIPPED / "rsyslog/30-keyveto.conf", "/etc/rsyslog.d/30-keyveto.conf")
        config = RSYSLOG.read_text(encoding="utf-8")
        # No systemd passes the socket, and the kernel's log belongs to the machine.
        config = config.replace('module(load="imuxsock")', f'module(load="imuxsock" SysSock.Name="{JOURNAL}/syslog")')
        RSYSLOG.write_text(config.replace('module(load="imklog")', "#"), encoding="utf-8")
        for path in (AUTH_LOG, KEYVETO_LOG):
            path.unlink(missing_ok=True)
        call("rsyslogd", "-N1")
        self.running = {}
        self.start("rsyslogd", "-n", "-iNONE")
        self.wait(lambda: (JOURNAL / "syslog").exists(), "rsyslogd does not listen")
        self.start("/lib/systemd/systemd-journald")
        self.wait(lambda: (JOURNAL / "dev-log").exists(), "journald does not listen")
        Path("/dev/log").symlink_to(JOURNAL / "dev-log")

    def start(self, *argv):
        # Output goes to a file, as nobody would read a pipe.
        said = Path("/run", Path(argv[0]).name + ".said")
        with said.open("w", encoding="utf-8") as output:
            self.running[said] = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def wait(self, until, what):
        deadline = time.monotonic() + PATIENCE
        while not until():
            for said, process in self.running.items():
                check(process.poll() is None, f"{what}: {process.args[0]} has ended: {said.read_text()}")
            check(time.monotonic() < deadline, what)
            time.sleep(0.02)

    def settle(self):
        """Returns once all lines written before have arrived."""
        mark = f"settled {time.monotonic_ns()}"
        call("logger", "-p", "auth.info", "-t", "mark", mark)
        self.wait(lambda: AUTH_LOG.exists() and mark in AUTH_LOG.read_text(errors="replace"), "a line was lost")
        call("journalctl", "--sync")

    def decisions(self, *_):
        raise AssertionError("the lines are in files here")

    def close(self):
        for process in self.running.values():
            process.terminate()
            process.wait()


def write_real_lines(host, daemons):
    """Writes the lines of a refusal by the guard, one by the module, and of guards that know the client."""
    host.install()
    host.install_filter()
    for name in ("guard", "reload"):
        host.follow(name)
    host.expect("the guard refuses", listed_enter=False)
    key_type, key = (host.scratch / "leaked.pub").read_text(encoding="ascii").split()[:2]
    for account, address in ((host.alice, KNOCKER), (host.mallory, USER)):
        call(GUARD, "--user", account.name, "--home", account.home, "--type", key_type, "--key", key,
             "--connection", f"192.0.2.1 22 {address} 40022")
    Path("/etc/ssh/sshd_config.d/00-keyveto.conf").unlink()
    for name in ("pam", "reload"):
        host.follow(name)
    host.expect("the module refuses", listed_enter=False)
    config = Path("/etc/keyveto/keyveto.conf")
    config.write_text("no such keyword\n", encoding="ascii")
    host.clients.login(host.server, host.alice, [host.clean])
    daemons.settle()


def rsyslog(part):
    text = KEYVETO_LOG.read_text(encoding="utf-8")
    lines = text.splitlines()
    found = [logbook.read_decision(logbook.Line(0, 0, line)) for line in lines]
    check(all(found), f"not all of these are decisions: {lines}")
    wanted = AUTH_LOG.read_text(encoding="utf-8").count("verdict=")
    check(len(found) == wanted > 3, f"{len(found)} of {wanted} decisions are in {KEYVETO_LOG}")
    check({d.via for d in found} == {"guard", "pam"}, f"not from both: {text}")
    check(KEYVETO_LOG.stat().st_mode & 0o777 == 0o640, "others may read the file")
    part.ok(f"rsyslog: {KEYVETO_LOG} has all {len(found)} decisions of {AUTH_LOG}, and nothing else")


def journald(part, host):
    """The queries in the sample find the lines."""
    sample = (SHIPPED / "journald/keyveto.conf").read_text(encoding="utf-8")
    queries = dict(re.findall(r"^#   (\w.*?)  +(journalctl .*)$", sample, re.MULTILINE))
    check(len(queries) == 5, f"the sample has {queries}")
    answers = {}
    for name, query in queries.items():
        query = query.replace("user=alice", f"user={host.alice.name}").replace(" -f ", " ")
        answers[name] = [line for line in call("sh", "-c", f"{query} --no-pager").splitlines() if "verdict=" in line]
    total = AUTH_LOG.read_text(encoding="utf-8").count("verdict=")
    check(len(answers["every decision"]) == total, f"{answers['every decision']}")
    check(len(answers["live, for jq"]) == total and
          all("MESSAGE" in json.loads(line) for line in answers["live, for jq"]), "no JSON")
    world = answers["open to the world"]
    check(world and all("authorized=yes" in line or "via=pam" in line for line in world), f"{world}")
    check(world and all("authorized=no" not in line for line in world), f"{world}")
    check(answers["no verdict"] and all("verdict=error" in line for line in answers["no verdict"]), f"{answers}")
    mine = answers["one account"]
    check(mine and all(f"user={host.alice.name} " in line for line in mine), f"{mine}")
    part.ok(f"journald: the sample's {len(queries)} queries find what they say")


def banned(mode):
    """The addresses that fail2ban counts, each as often as it counts it."""
    said = call("fail2ban-regex", "--out=ip", AUTH_LOG, f"keyveto[mode={mode}]")
    return sorted(said.split())


def fail2ban(part):
    shutil.copy(SHIPPED / "fail2ban/keyveto.conf", "/etc/fail2ban/filter.d/keyveto.conf")
    shutil.copy(SHIPPED / "fail2ban/jail.local", "/etc/fail2ban/jail.d/keyveto.local")
    said = call("fail2ban-client", "-d")
    check("'keyveto'" in said, f"fail2ban does not know the jail:\n{said}")
    log = AUTH_LOG.read_text(encoding="utf-8")
    check(f"rhost={KNOCKER}" in log and f"rhost={USER}" in log and "rhost=127.0.0.1 via=pam" in log, log)
    check(banned("knocking") == [KNOCKER], f"knocking: {banned('knocking')}")
    every = banned("all")
    check(set(every) == {KNOCKER, USER, "127.0.0.1"}, f"all: {every}")
    check("verdict=error" in log, "there is no error that could be mistaken")
    part.ok("fail2ban: finds the clients of refused listed keys, by mode, and nobody else's")
    line = next(line for line in log.splitlines() if f"rhost={KNOCKER}" in line)
    forged = re.sub(r"user=\S+", f'user="x rhost={INNOCENT} via=guard authorized=no "', line)
    other = re.sub(r"keyveto-authorized-keys", "somebody", line)
    warned = line.replace("action=deny", "action=warn")
    AUTH_LOG.write_text("\n".join((forged, other, warned)) + "\n", encoding="utf-8")
    for mode in ("knocking", "all"):
        check(banned(mode) == [KNOCKER], f"{mode}, forged: {banned(mode)}")
    part.ok("fail2ban: a name that looks like pairs puts the ban on nobody else")


def metric_names():
    """The names of the metrics that keyveto status writes for Prometheus."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "cli/doctor").glob("*.c"))
    return set(re.findall(r'"(?:# [A-Z]+ )?(keyveto_[a-z_]+)', sources))


def dashboards(part):
    pairs = {name for name, _, _ in logbook._PAIRS}
    metrics, labels = set(), set()
    for path in (PACKAGING / "grafana").glob("*.json"):
        board = json.loads(path.read_text(encoding="utf-8"))
        kinds = {variable["name"]: variable.get("query") for variable in board["templating"]["list"]}
        check(len({panel["id"] for panel in board["panels"]}) == len(board["panels"]), f"{path}: an id twice")
        for panel in board["panels"]:
            check(panel["targets"] and panel["title"], f"{path}: an empty panel")
            check(panel["datasource"]["type"] == kinds["source"], f"{path}: {panel['title']}: another source")
            for target in panel["targets"]:
                metrics |= set(re.findall(r"\bkeyveto_[a-z_]+", target["expr"]))
                labels |= set(re.findall(r"(?:\| |or )(\w+)=`", target["expr"]))
                labels |= {name.strip() for group in re.findall(r" by \(([^)]*)\)", target["expr"])
                           for name in group.split(",")}
                check(target["expr"].count("(") == target["expr"].count(")"), f"{path}: {target['expr']}")
    check(labels and labels <= pairs, f"not in the log line: {labels - pairs}")
    rules = (PACKAGING / "prometheus/keyveto.rules.yml").read_text(encoding="utf-8")
    metrics |= set(re.findall(r"\bkeyveto_[a-z_]+", rules))
    known = metric_names()
    if (ROOT / "cli/doctor/doctor.c").exists():
        check(metrics <= known, f"keyveto status does not write {metrics - known}")
    part.ok(f"dashboards: JSON, {len(labels)} fields of the log line, {len(metrics)} metrics")


def samples(part, folder):
    from stages import Host
    for deb in (folder / "one/build/deb").glob("keyveto_*.deb"):
        call("dpkg", "-i", deb)
    daemons = Daemons()
    host = Host(part, folder, daemons)
    write_real_lines(host, daemons)
    rsyslog(part)
    journald(part, host)
    fail2ban(part)
    dashboards(part)
    host.close()
