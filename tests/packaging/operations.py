# SPDX-License-Identifier: ISC
"""The steps of docs/operations.md and docs/locked-out.md to the letter: the filter breaks, and people get in again."""

import os
import re
from pathlib import Path

from steps import ROOT, call, check

STEP = re.compile(r"<!-- step: ([a-z]+) -->\n```sh\n(.*?)```", re.DOTALL)
CONFIG = Path("/etc/keyveto/keyveto.conf")
FILTER = Path("/var/lib/keyveto/filter.pkbf")
GUARD = Path("/usr/libexec/keyveto-authorized-keys")


class Emergency:
    """A server on which keyveto enforces, and the three accounts that log in."""

    def __init__(self, host):
        self.host = host
        # This machine has its log in a file, and no journal.
        # The steps of other sections are followed by tests/readme.
        text = (ROOT / "docs/operations.md").read_text(encoding="utf-8").split("\n## ")[1]
        text += (ROOT / "docs/locked-out.md").read_text(encoding="utf-8")
        self.steps = {name: re.sub(r"journalctl .*", "true", step) for name, step in STEP.findall(text)}
        del self.steps["out"]       # of what keyveto enable wrote: tests/cli/test_sshd_emergency.py
        self.followed = set()
        self.good_config, self.good_filter = CONFIG.read_text(encoding="utf-8"), FILTER.read_bytes()
        self.bob = host.machine.add_account(password="open sesame")

    def follow(self, name, **environment):
        self.followed.add(name)
        call("bash", "-euo", "pipefail", "-c", self.steps[name], env={**os.environ, **environment})
        self.host.ok(f"step {name}")

    def expect(self, when, alice, mallory):
        for account, key, enters in ((self.host.alice, self.host.clean, alice),
                                     (self.host.mallory, self.host.leaked, mallory)):
            outcome = self.host.clients.login(self.host.server, account, [key])
            check(outcome.entered == enters, f"{when}: {account.name}: {outcome}")
        self.host.ok(f"{when}: clean key {'in' if alice else 'out'}, leaked key {'in' if mallory else 'out'}")

    def mend(self):
        CONFIG.write_text(self.good_config, encoding="utf-8")
        CONFIG.chmod(0o644)
        FILTER.write_bytes(self.good_filter)
        FILTER.chmod(0o644)


def break_filter_truncated():
    FILTER.write_bytes(FILTER.read_bytes()[:100])


def break_filter_missing():
    FILTER.unlink()


def break_filter_writable():
    FILTER.chmod(0o666)


def break_config():
    CONFIG.write_text(CONFIG.read_text(encoding="utf-8") + "OnHitt deny\n", encoding="utf-8")


def config_missing():
    CONFIG.unlink()


def config_writable():
    CONFIG.chmod(0o666)


def filter_breaks(emergency):
    host = emergency.host
    for damage in (break_filter_truncated, break_filter_missing, break_filter_writable, break_config):
        damage()
        name = damage.__name__.replace("_", " ")
        emergency.expect(name, alice=False, mallory=False)
        call("keyveto", "config", "check", status=2)
        reasons = [decision.reason for decision in host.log.decisions(host.alice) if decision.verdict == "error"]
        wanted = "keyveto.conf" if damage is break_config else str(FILTER)
        check(reasons and wanted in reasons[-1], f"the reasons do not name {wanted}: {reasons}")
        emergency.follow("open")
        emergency.expect(f"{name}, glass broken", alice=True, mallory=True)
        emergency.follow("close")
        emergency.expect(f"{name}, glass mended", alice=False, mallory=False)
        emergency.mend()
        emergency.expect(f"{name}, no more", alice=True, mallory=False)


def config_is_lost(emergency):
    for damage in (config_missing, config_writable):
        damage()
        name = damage.__name__.replace("_", " ")
        emergency.expect(name, alice=False, mallory=False)
        emergency.follow("renew")
        # The filter is good: OnError allow lets in a key only without a verdict.
        emergency.expect(f"{name}, made anew", alice=True, mallory=False)
        emergency.mend()


def passwords_still_work(emergency):
    host = emergency.host
    break_filter_missing()
    outcome = host.clients.login(host.server, emergency.bob, environment=host.clients.password("open sesame"))
    check(outcome.entered, f"no login by password without a filter: {outcome}")
    outcome = host.clients.login(host.server, emergency.bob, environment=host.clients.password("open, please"))
    check(not outcome.entered, f"a wrong password gets in: {outcome}")
    host.ok("passwords still work without a filter")
    emergency.mend()


def prepared(emergency):
    host = emergency.host
    emergency.follow("prepare", ADMIN_KEY=str(host.clean.key.path))
    break_filter_truncated()
    emergency.expect("an AllowKey line, and no filter", alice=True, mallory=False)
    emergency.mend()


def install_by_rename(part, folder):
    """During make install, a login finds the old guard or the new one, never a part of it."""
    trace = folder / "install.trace"
    call("strace", "-f", "-qq", "-o", trace, "-e", "trace=/open|unlink|rename|creat|truncate", "make", "install",
         cwd=ROOT, env={"PATH": os.environ["PATH"]})
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    for name in (str(GUARD), next(Path("/lib").glob("*/security/pam_unix.so")).with_name("pam_keyveto.so")):
        touched = [line for line in lines if f'"{name}"' in line and " = 0" in line
                   or f'"{name}"' in line and re.search(r"O_WRONLY|O_RDWR|O_TRUNC", line)]
        check(len(touched) == 1 and "rename" in touched[0], f"{name} is made otherwise: {touched}")
    part.ok("make install puts guard and module in place by one rename each")


def operations(part, folder):
    from stages import Host
    host = Host(part, folder)
    host.install()
    host.install_filter()
    for name in ("guard", "pam", "validate", "reload"):
        host.follow(name)
    emergency = Emergency(host)
    emergency.expect("in force", alice=True, mallory=False)
    filter_breaks(emergency)
    config_is_lost(emergency)
    passwords_still_work(emergency)
    prepared(emergency)
    check(emergency.followed == set(emergency.steps), f"not tried: {set(emergency.steps) - emergency.followed}")
    install_by_rename(part, host.scratch)
    host.close()
