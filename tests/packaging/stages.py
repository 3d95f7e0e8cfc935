#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""The packages on a machine: installed, used, upgraded, removed. run.py runs this in a throw-away root.

    python3 stages.py STAGE FOLDER
"""

import contextlib
import itertools
import os
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path

from steps import ROOT, Part, call, check, difference, same, snapshot

sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests/readme")]

import paths
import product
import reader
import sandbox
from logbook import Logbook
from machine import Machine
from stock import PID_FILE

DEMO_FILTER = ROOT / "testdata/demo/demo.pkbf"
GUARD = "/usr/libexec/keyveto-authorized-keys"
DROP_IN = Path("/etc/ssh/sshd_config.d/00-keyveto.conf")
STACK, COMMON_SESSION = Path("/etc/pam.d/sshd"), Path("/etc/pam.d/common-session")
ACTIVE = ("/etc/ssh", "/etc/pam.d", "/etc/keyveto", "/etc/systemd/system", "/etc/cron.d")


class Host(reader.Reader):
    """A machine with two accounts and a running sshd, and packages to install."""
    by = {"filter": "/var/lib/keyveto/filter.pkbf"}

    def __init__(self, part, folder, log=None):
        self.part, self.folder = part, folder
        machine = Machine()
        machine.make_folder("/run/sshd")
        super().__init__(machine, log or Logbook(), product.make_scratch())
        self.server.start()

    def ok(self, what):
        self.part.ok(what)

    @staticmethod
    def install_filter():
        call("install", "-m", "0644", DEMO_FILTER, "/var/lib/keyveto/filter.pkbf")
        Path("/etc/keyveto/keyveto.conf").write_text("Filter /var/lib/keyveto/filter.pkbf\n", encoding="ascii")

    def debs(self, of="one/build/deb"):
        """What a server has."""
        return sorted(path for path in (self.folder / of).glob("*.deb")
                      if "dbgsym" not in path.name and not path.name.startswith("keyveto-fleet"))

    def install(self, of="one/build/deb"):
        call("dpkg", "-i", *self.debs(of))

    def refused(self, *argv, because):
        said = call(*argv, status="failure")
        check(because in said, f"{' '.join(argv)}: {because!r} is not in\n{said}")
        for package in ("keyveto", "libpam-keyveto"):
            state = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package], capture_output=True,
                                   text=True, check=False).stdout
            check(package not in argv or state == "installed", f"{package} is {state}")

    def status(self, package):
        return subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status}", package], capture_output=True,
                              text=True, check=False).stdout

    def close(self):
        super().close()
        self.server.stop()
        self.log.close()
        shutil.rmtree(self.scratch)


class Newcomer(Host):
    """Follows README.md, and nothing else. `make deb` ran before, and takes a minute."""
    by = reader.Reader.by

    def __init__(self, part, folder):
        super().__init__(part, folder)
        lines = self.steps["packages"].splitlines()
        lines.remove("make deb")
        self.steps["packages"] = "\n".join(lines)
        shutil.rmtree(ROOT / "build/deb", ignore_errors=True)
        shutil.copytree(folder / "one/build/deb", ROOT / "build/deb")


def active():
    """The files that an installation or an upgrade must not change."""
    return {name: what for top in ACTIVE for name, what in snapshot(top).items()}


def check_installed(host):
    """Each file is in its place, belongs to root, and nobody else may write it."""
    call("dpkg", "--verify", "keyveto", "libpam-keyveto")
    module = next(Path("/usr/lib").glob("*/security/pam_unix.so")).with_name("pam_keyveto.so")
    for path in (Path("/usr/bin/keyveto"), Path(GUARD), module, Path("/etc/keyveto"),
                 Path("/var/lib/keyveto"), Path("/usr/share/bash-completion/completions/keyveto"),
                 Path("/usr/share/zsh/vendor-completions/_keyveto"),
                 Path("/usr/share/fish/vendor_completions.d/keyveto.fish"),
                 *(Path(f"/usr/share/man/man{page.suffix[1:]}/{page.name}.gz")
                   for page in (ROOT / "man").glob("*.[1-8]")
                   if page.name not in ("keyveto-publish.1", "keyveto-report.1"))):
        info = path.stat()
        check((info.st_uid, info.st_gid, info.st_mode & 0o022) == (0, 0, 0), f"{path}: {info}")
    check(Path(GUARD).stat().st_mode & 0o777 == 0o711, f"{GUARD} may be read by those who run it")
    for path in (ROOT / "packaging").glob("*/*"):
        target = Path("/usr/share/keyveto") / path.parent.name / path.name
        check(path.parent.name in ("debian", "rpm", "systemd", "sysusers") or
              target.read_bytes() == path.read_bytes(), f"{target} is not {path}")
    version = call("keyveto", "--version").split()
    check(version[0] == "keyveto" and version[1] in call("dpkg-query", "-W", "keyveto"), f"it calls itself {version}")


ACCOUNT_FILES = ("/etc/passwd", "/etc/shadow", "/etc/group", "/etc/gshadow")


def accounts():
    """The lines of the files of accounts, but for that of the programs behind the walls."""
    return {path: [line for line in Path(path).read_text(encoding="utf-8").splitlines()
                   if not line.startswith("_keyveto:")] for path in ACCOUNT_FILES}


def but_accounts(found):
    """As Debian's policy wants it, an account stays: its number could become somebody else's."""
    passed = {*ACCOUNT_FILES, *(f"{path}-" for path in ACCOUNT_FILES), "/etc/.pwd.lock"}
    return {path: what for path, what in found.items() if path not in passed}


def check_account(host, before):
    """The packages make the account of the programs that read what others wrote, and these are its."""
    account = pwd.getpwnam("_keyveto")
    check(account.pw_uid != 0 and account.pw_gid != 0 and account.pw_shell == "/usr/sbin/nologin", f"{account}")
    check(call("passwd", "--status", "_keyveto").split()[1] == "L", "_keyveto has a password")
    check(accounts() == before, "the installation has changed another account")
    trace = Path(host.scratch) / "trace"
    call("strace", "-f", "-qq", "-e", "trace=setresuid", "-o", trace, "keyveto", "check", "--filter", DEMO_FILTER,
         *Path("/etc/ssh").glob("ssh_host_*_key.pub"))
    check(f"setresuid({account.pw_uid}, {account.pw_uid}, {account.pw_uid})" in trace.read_text(encoding="utf-8"),
          "keyveto-reader does not become _keyveto")
    host.part.ok("the account _keyveto is locked, and keyveto-reader is its")


def check_drop_in(host):
    """The shipped drop-in has the lines of the steps by hand."""
    shipped = Path("/usr/share/keyveto/sshd/00-keyveto.conf").read_text(encoding="utf-8")
    lines = [line for line in shipped.splitlines() if line and not line.startswith("#")]
    check("\n".join(lines) in host.steps["guard"], f"docs/by-hand.md does not have {lines}")


def check_fleet(host):
    """What an administrator's desk needs comes with a package of its own, which needs no other."""
    before = snapshot()
    call("dpkg", "-i", *(host.folder / "one/build/deb").glob("keyveto-fleet_*.deb"))
    page = Path("/tmp/fleet.html")
    call("keyveto-report", "--html", page, ROOT / "packaging/debian/control", status="failure")
    check(page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>"), "keyveto-report writes no page")
    page.unlink()
    check("Makes a folder from" in call("keyveto-publish", "--help"), "keyveto-publish does not run")
    call("dpkg", "--purge", "keyveto-fleet")
    same(before, snapshot(), "keyveto-fleet leaves something, or took too much")
    host.part.ok("keyveto-report and keyveto-publish run with keyveto-fleet")


def packages(part, folder):
    """The packages are installed, used by the steps by hand, upgraded, removed and purged."""
    host = Host(part, folder)
    before, before_active, before_accounts = snapshot(), active(), accounts()
    host.expect("before keyveto", listed_enter=True)
    host.install()
    check_installed(host)
    check_drop_in(host)
    added = [line for line in difference(before_active, active()) if not line.startswith("+ /etc/keyveto")]
    check(not added, f"the installation has changed {added}")
    host.expect("installed, and not active", listed_enter=True)
    check_fleet(host)
    check_account(host, before_accounts)
    if (ROOT / "packaging/systemd").exists():
        # An administrator enables the timer. Upgrade and purge must handle that.
        call("systemctl", "enable", "keyveto-update.timer")
        part.ok("the timer of keyveto update is off until it is enabled")

    host.install_filter()
    for name in ("rehearse", "guard", "pam", "validate", "reload"):
        host.follow(name)
    host.expect("rehearsal", listed_enter=True)
    host.expect_logged(action="warn", via="guard", authorized="yes")
    host.expect_logged(action="warn", via="pam")
    host.follow("enforce")
    host.expect("enforced", listed_enter=False)

    with former_timer(host, "an upgrade of the packages"):
        host.install()
    upgrade(host)
    removal_is_refused(host)
    remove_step_by_step(host)

    Path("/etc/keyveto/canaries").write_text("left by somebody\n", encoding="ascii")
    call("dpkg", "--purge", "keyveto", "libpam-keyveto")
    host.expect("purged", listed_enter=True)
    same(but_accounts(before), but_accounts(snapshot()), "the purge leaves something, or took too much")
    check(accounts() == before_accounts, "the purge has changed another account")
    part.ok("the purge leaves nothing but the account _keyveto, which owns nothing")
    host.close()


def readme(part, folder):
    """README.md by packages, and back by purge."""
    host = Newcomer(part, folder)
    host.start_badkeys(1000)
    paths.follow_from_packages(host, paths.install_packages(host))
    host.close()


@contextlib.contextmanager
def former_timer(host, what):
    """An older version's keyveto-weak.timer is enabled, runs and has made a list; what is done here ends that.
    dpkg deletes the old version's unit before the new scripts run, rpm afterwards."""
    name, folder = "keyveto-weak.timer", Path("/run/systemd/system")
    unit, link = Path("/usr/lib/systemd/system") / name, Path("/etc/systemd/system/timers.target.wants") / name
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text("[Timer]\nOnCalendar=daily\n[Install]\nWantedBy=timers.target\n", encoding="ascii")
    call("systemctl", "enable", name)
    check(link.is_symlink(), f"{link} is not there")
    states = []
    if host.status("keyveto") == "installed":
        call("deb-systemd-helper", "update-state", name, env={**os.environ, "DPKG_MAINTSCRIPT_PACKAGE": "keyveto"})
        states = list(Path("/var/lib/systemd").glob(f"deb-systemd-helper-enabled/**/{name}*"))
        check(states, "deb-systemd-helper keeps no state")
        unit.unlink()
    weak, config = Path("/var/lib/keyveto/weak.dat"), Path("/etc/keyveto/keyveto.conf")
    weak.write_bytes(bytes(range(16)))
    before = config.read_text(encoding="utf-8")
    config.write_text(f"{before}Blocklist {weak}\n", encoding="utf-8")
    # A systemd that runs, as these scripts see it. No policy keeps it from stopping what runs.
    policy = Path("/usr/sbin/policy-rc.d")
    kept = policy.exists() and policy.rename(host.scratch / policy.name)
    asked, program = host.scratch / "asked", Path("/usr/bin/systemctl")
    real = program.rename(host.scratch / "systemctl")
    program.write_text(f'#!/bin/sh\necho "$*" >>{asked}\n'
                       f'case $* in *disable*) SYSTEMD_OFFLINE=1 exec {real} "$@";; esac\n', encoding="ascii")
    program.chmod(0o755)
    folder.mkdir(parents=True)
    try:
        yield
    finally:
        folder.rmdir()
        shutil.move(real, program)
        unit.unlink(missing_ok=True)
        if kept:
            shutil.move(kept, policy)
    said = asked.read_text(encoding="ascii").splitlines()
    check(any(line.startswith("stop ") and name in line for line in said), f"{what} does not stop {name}: {said}")
    check(not link.is_symlink(), f"{what} leaves {link}")
    check(not any(path.exists() for path in states), f"{what} leaves {states}")
    check(weak.read_bytes() == bytes(range(16)) and f"Blocklist {weak}" in config.read_text(encoding="utf-8"),
          f"{what} takes {weak}, or its line")
    call("keyveto", "list", "verify", weak)
    weak.unlink()
    config.write_text(before, encoding="utf-8")
    host.ok(f"{what} stops and disables {name}; its list and the line for that stay")


def upgrade(host):
    before, pid = active(), PID_FILE.read_text(encoding="ascii")
    host.install("upgrade")
    check(call("dpkg-query", "-W", "-f=${Version}", "keyveto") == "999.0", "the upgrade is no upgrade")
    same(before, active(), "the upgrade changes what is active")
    check(PID_FILE.read_text(encoding="ascii") == pid, "sshd was restarted")
    host.ok("an upgrade changes neither sshd's configuration nor PAM's, and restarts nothing")
    host.expect("upgraded", listed_enter=False)


def removal_is_refused(host):
    before = active()
    host.refused("dpkg", "--remove", "libpam-keyveto", because="/etc/pam.d/sshd:")
    # The prerm script refuses even if dpkg is told to break dependencies.
    host.refused("dpkg", "--force-depends", "--remove", "keyveto", because="00-keyveto.conf:")
    host.refused("apt-get", "-y", "--no-download", "purge", "keyveto", "libpam-keyveto", because="is not removed")
    same(before, active(), "a removal that is refused changes something")
    host.ok("no removal while PAM and sshd name module and guard, and the reason is told")
    host.expect("removal refused", listed_enter=False)


def remove_step_by_step(host):
    stack = STACK.read_text(encoding="utf-8")
    STACK.write_text(stack.replace("session requisite pam_keyveto.so", "session requisite \\\n    pam_keyveto.so"),
                     encoding="utf-8")
    host.refused("dpkg", "--remove", "libpam-keyveto", because="/etc/pam.d/sshd:")
    STACK.write_text(stack.replace("session requisite pam_keyveto.so\n", "# no pam_keyveto.so here\n"),
                     encoding="utf-8")
    call("dpkg", "--remove", "libpam-keyveto")
    host.expect("without the module", listed_enter=False)
    STACK.write_text(stack.replace("session requisite pam_keyveto.so\n", ""), encoding="utf-8")

    # A file elsewhere, which sshd_config includes, names the guard.
    elsewhere = Path("/etc/ssh/elsewhere.conf")
    DROP_IN.rename(elsewhere)
    DROP_IN.write_text(f"Include {elsewhere}\n", encoding="ascii")
    host.refused("dpkg", "--remove", "keyveto", because="authorizedkeyscommand")
    elsewhere.unlink()

    DROP_IN.unlink()
    host.expect("sshd not reloaded", listed_enter=False)
    host.refused("dpkg", "--remove", "keyveto", because="reload")
    host.ok("no removal while sshd has not been told that the guard is gone")
    host.follow("reload")
    call("dpkg", "--remove", "keyveto")
    host.expect("removed", listed_enter=True)


def repacked(package, folder):
    """The installed package as a file of dpkg's, so that it can be installed again without a network."""
    tree, info = folder / f"{package}.tree", Path("/var/lib/dpkg/info")
    (tree / "DEBIAN").mkdir(parents=True)
    names = folder / f"{package}.names"
    # /lib is a link of this machine, not of the package.
    names.write_text("".join(f"{path}\n" for path in call("dpkg", "-L", package).splitlines()
                             if path != "/." and not (os.path.islink(path) and os.path.isdir(path))), encoding="utf-8")
    call("tar", "-C", "/", "--no-recursion", "-T", names, "-cf", f"{tree}.tar")
    call("tar", "-C", tree, "-xpf", f"{tree}.tar")
    for path in info.glob(f"{package}.*"):
        if path.suffix not in (".list", ".md5sums"):
            shutil.copy2(path, tree / "DEBIAN" / path.suffix[1:])
    # The entries that only an installed package has.
    control = re.sub(r"(?m)^(Status|Conffiles):.*\n( .*\n)*", "", call("dpkg-query", "-s", package))
    (tree / "DEBIAN/control").write_text(control, encoding="utf-8")
    call("dpkg-deb", "--root-owner-group", "-b", tree, folder / f"{package}.deb")
    return folder / f"{package}.deb"


SSH_SERVER = "openssh-server"


class Removal:
    """Removes packages one after the other, and types what a refused removal says."""

    def __init__(self, host):
        self.host, self.ssh_server = host, repacked(SSH_SERVER, host.scratch)
        # The services neither start nor stop by themselves. This class stops and starts sshd.
        policy = Path("/usr/sbin/policy-rc.d")
        policy.write_text("#!/bin/sh\nexit 101\n", encoding="ascii")
        policy.chmod(0o755)
        # dpkg makes no index of manuals after each step.
        Path("/var/lib/man-db/auto-update").unlink(missing_ok=True)

    def install_sshd(self):
        if self.host.status(SSH_SERVER) != "installed":
            call("dpkg", "-i", self.ssh_server)
            self.host.server.start()

    def remove(self, verb, package):
        """Whether the package was removed at once."""
        if package == SSH_SERVER:
            self.host.server.stop()
        # libpam-keyveto depends on keyveto: apt-get would remove both.
        more = ["libpam-keyveto"] if package == "keyveto" and self.host.status("libpam-keyveto") == "installed" else []
        argv = ("dpkg", f"--{verb}", package, *more)
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        check(done.returncode == 0 or "is not removed" in done.stdout, done.stdout)
        return done.returncode == 0, done.stdout

    def remove_all(self, order, verbs):
        """Returns the packages whose removal was refused."""
        refusals = []
        for package in order:
            removed, said = self.remove(verbs[package], package)
            if removed:
                continue
            refusals.append(package)
            gone = self.host.status(SSH_SERVER)
            if gone != "installed":
                # If the administrator installs sshd again instead, keyveto keeps listed keys out, and nobody else.
                self.install_sshd()
                self.host.expect(f"{package} stays, {SSH_SERVER} is back", listed_enter=False)
                check(self.remove(verbs[SSH_SERVER], SSH_SERVER)[0], f"{SSH_SERVER} is not removed again")
            call("sh", "-c", re.search(r"(?m)^    (keyveto disable.*)$", said)[1])
            if gone == "installed":
                self.host.server.wait()
            removed, said = self.remove(verbs[package], package)
            check(removed, f"{package} is still not removed:\n{said}")
        return refusals


def without_host_keys(found):
    """The purge of openssh-server removes the host keys, and an installation makes new ones."""
    return {path: what for path, what in found.items() if "/ssh_host_" not in path}


def orders(part, folder):
    """In every order and way of removal, logins work in the end, also if sshd comes back later."""
    host = Host(part, folder)
    removal = Removal(host)
    before = without_host_keys(snapshot("/etc/ssh", "/etc/pam.d"))
    packages_to_remove = (SSH_SERVER, "keyveto", "libpam-keyveto")
    for order in itertools.permutations(packages_to_remove):
        for verbs in itertools.product(("remove", "purge"), repeat=2):
            of = dict(zip(packages_to_remove, (verbs[0], verbs[1], verbs[1])))
            said = ", ".join(f"{of[package]} {package}" for package in order)
            host.install()
            host.install_filter()
            call("keyveto", "sshd", "enable", "--yes", "--reload")
            host.server.wait()
            host.expect("enabled", listed_enter=False)
            refusals = removal.remove_all(order, of)
            check("keyveto" in refusals or "libpam-keyveto" in refusals, f"{said}: nothing was refused")
            for package in packages_to_remove:
                check(host.status(package) != "installed", f"{said}: {package} is {host.status(package)}")
            removal.install_sshd()
            host.expect(f"{said}; sshd installed again", listed_enter=True)
            same(before, without_host_keys(snapshot("/etc/ssh", "/etc/pam.d")), said)
    part.ok("the files of sshd and PAM are as before")
    host.close()


def profile(part, folder):
    """The profile of pam-auth-update: off, on, with changes by hand, and removed."""
    host = Host(part, folder)
    before, stacks = snapshot(), snapshot("/etc/pam.d")
    host.install()
    host.install_filter()
    same(stacks, snapshot("/etc/pam.d"), "the profile is on by itself")
    host.expect("profile off", listed_enter=True)

    call("pam-auth-update", "--package", "--enable", "keyveto")
    found = [line for line in difference(stacks, snapshot("/etc/pam.d")) if line.startswith("!")]
    check(found == ["! /etc/pam.d/common-session"], f"the profile changes {found}")
    host.expect("profile on", listed_enter=False)
    host.expect_logged(action="deny", via="pam")
    host.mallory.write(".pam_environment", f'SSH_AUTH_INFO_0 OVERRIDE="publickey {host.clean.key}"\n', 0o644)
    host.expect("profile on, and a ~/.pam_environment that lies", listed_enter=False)

    config = Path("/etc/keyveto/keyveto.conf")
    good = config.read_text(encoding="utf-8")
    config.write_text("no such keyword\n", encoding="ascii")
    check(not host.clients.login(host.server, host.alice, [host.clean]).entered, "a key gets in without a verdict")
    call("su", "-", host.alice.name, "-c", "true")
    part.ok("other services that include common-session do not depend on keyveto.conf")
    config.write_text(good, encoding="utf-8")

    with_profile = snapshot("/etc/pam.d")
    host.install("upgrade")
    same(with_profile, snapshot("/etc/pam.d"), "the upgrade changes the stacks")
    host.expect("upgraded with the profile on", listed_enter=False)

    # pam-auth-update does not change these two, so the module must stay.
    changed = COMMON_SESSION.read_text(encoding="utf-8")
    line = next(line for line in changed.splitlines() if "pam_keyveto" in line)
    for why, text in (("a line of somebody's own", f"session requisite pam_keyveto.so debug\n{changed}"),
                      ("a managed part changed by hand",
                       changed.replace(line, f"session optional pam_permit.so\n{line}"))):
        COMMON_SESSION.write_text(text, encoding="utf-8")
        host.refused("dpkg", "--remove", "libpam-keyveto", because="common-session:")
        check(COMMON_SESSION.read_text(encoding="utf-8").count("pam_keyveto") == text.count("pam_keyveto"),
              f"{why}: the profile was taken out all the same")
        host.expect(f"common-session with {why}, removal refused", listed_enter=False)
    COMMON_SESSION.write_text(changed, encoding="utf-8")

    call("dpkg", "--remove", "libpam-keyveto", "keyveto")
    check("keyveto" not in COMMON_SESSION.read_text(encoding="utf-8"), "the line is still there")
    host.expect("removed with the profile on", listed_enter=True)
    call("dpkg", "--purge", "libpam-keyveto", "keyveto")
    (host.mallory.home / ".pam_environment").unlink()
    same(but_accounts(before), but_accounts(snapshot()), "the purge leaves something, or took too much")
    part.ok("the profile goes with the package, and the purge leaves nothing")
    host.close()


def rpm(part, folder):
    """The RPMs install their files, and refuse removal while logins need them."""
    host = Host(part, folder)
    made = sorted((folder / "rpm/build/rpm/RPMS").rglob("*.rpm"))
    call("rpm", "--initdb")
    # On an RPM system, other packages own these folders.
    for needed in ("/usr/lib64/security", "/usr/share/licenses"):
        Path(needed).mkdir(parents=True, exist_ok=True)
    before = snapshot()
    call("rpm", "-i", "--nodeps", *made)
    call("keyveto", "--version")
    host.expect("the RPMs are installed, and not active", listed_enter=True)
    host.install_filter()
    with former_timer(host, "an upgrade of the RPMs"):
        call("rpm", "-U", "--nodeps", "--force", *made)
    host.follow("guard")
    host.follow("reload")
    host.expect("guard put in", listed_enter=False)
    stack = STACK.read_text(encoding="utf-8")
    STACK.write_text(stack + "session requisite pam_keyveto.so\n", encoding="utf-8")
    rpm_stays(host, "pam_keyveto", "/etc/pam.d/sshd:")
    STACK.write_text(stack, encoding="utf-8")
    call("rpm", "-e", "pam_keyveto", "keyveto-fleet")
    rpm_stays(host, "keyveto", "00-keyveto.conf:")
    # Nor after openssh-server was removed: the next one would read the drop-in again.
    for path in ("/usr/sbin/sshd", "/etc/ssh/sshd_config"):
        os.rename(path, f"{path}.away")
    rpm_stays(host, "keyveto", "00-keyveto.conf:")
    for path in ("/usr/sbin/sshd", "/etc/ssh/sshd_config"):
        os.rename(f"{path}.away", path)
    DROP_IN.unlink()
    rpm_stays(host, "keyveto", "still run the guard")
    host.follow("reload")
    call("rpm", "-e", "keyveto")
    host.expect("removed", listed_enter=True)
    left = [line for line in difference(but_accounts(before), but_accounts(snapshot()))
            if "/var/lib/keyveto" not in line and "/etc/keyveto" not in line and "/rpm" not in line]
    check(not left, f"left behind: {left}")
    part.ok("the RPMs leave the filters and a changed keyveto.conf, and nothing else")
    host.close()


def rpm_stays(host, package, because):
    said = call("rpm", "-e", package, status="failure")
    check(because in said and package in call("rpm", "-qa"), said)
    host.ok(f"{package} is not removed, since: {because}")


def main():
    if not sandbox.inside():
        print("stages.py makes accounts and installs packages: run.py runs it in a throw-away root")
        return 1
    import operations
    import samples
    import settings
    stages = {"packages": packages, "readme": readme, "orders": orders, "profile": profile, "rpm": rpm,
              "operations": operations.operations, "samples": samples.samples, "settings": settings.settings}
    os.environ["DEBIAN_FRONTEND"] = "noninteractive"
    part = Part()
    part.run(stages[sys.argv[1]], Path(sys.argv[2]))
    return part.status()


if __name__ == "__main__":
    sys.exit(main())
