# SPDX-License-Identifier: ISC
"""The SELinux module under Debian's policy: permissive at first, then enforced."""

import contextlib
import re
import shutil
from pathlib import Path

from steps import call, check
from world import DISK, FILTER, SHARE, SCRATCH, Journal, World, changed, reloaded

ENFORCE = Path("/sys/fs/selinux/enforce")
STATE = Path("/var/lib/keyveto")
# The programs as which the guard and the module run.
OURS = re.compile(r'comm="(sshd|keyveto-author[^"]*|unix_chkpwd)"')


# The context of an administrator's shell, not of this test's unit.
ADMIN = ("runcon", "unconfined_u:unconfined_r:unconfined_t:s0")


def as_admin(*argv):
    with reloaded() if "--reload" in argv else contextlib.nullcontext():
        return call(*ADMIN, *argv)


def context(path):
    return call("stat", "-c", "%C", path).strip()


def denials(journal):
    """The denials in sshd's domains, also those of permissive mode: from the kernel's log, or from audit."""
    lines = {line for line in journal.messages() if "avc:" in line and "denied" in line and OURS.search(line)}
    return sorted({" ".join(re.findall(r"(?:\{[^}]*\}|(?:comm|name|path|scontext|tcontext|tclass)=\S+)", line))
                   for line in lines})


def of_keyveto(found):
    return [line for line in found if "keyveto" in line]


def load_module():
    """Loads the module by the commands in keyveto.te."""
    folder = SCRATCH / "selinux"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SHARE / "selinux", folder)
    text = (folder / "keyveto.te").read_text(encoding="utf-8")
    told = re.findall(r"^#   ((?:checkmodule|semodule_package|semodule) .*)$", text, re.MULTILINE)
    check(len(told) == 3, f"keyveto.te tells {told}")
    for command in told:
        call(*ADMIN, "sh", "-ec", command, cwd=folder)


def selinux_permissive(part):
    check(ENFORCE.exists() and ENFORCE.read_text(encoding="ascii").strip() == "0", "SELinux is not there, or enforces")
    world = World(part, fresh=False)
    world.install()
    world.put_filter()
    main = call("ps", "-o", "label=", "-C", "sshd").split()[0]
    check(":sshd_t:" in main, f"sshd runs as {main}")
    part.ok(f"SELinux is permissive; sshd is {main}")
    call("restorecon", "-R", "/etc", "/usr/libexec", "/var/lib/keyveto", "/usr/bin/keyveto", "/var/tmp")
    journal = Journal()
    as_admin("keyveto", "sshd", "enable", "--yes", "--reload")
    world.expect("permissive, without the module")
    without = denials(journal)
    print(f"note   would be denied without the module: {without}", flush=True)
    load_module()
    check(":keyveto_var_lib_t:" in context(FILTER), f"the filter is {context(FILTER)}")
    check("keyveto" in call("semodule", "-l").split(), "the module is not in the list")
    part.ok(f"keyveto.te's commands load the module; the filter is {context(FILTER)}")
    journal = Journal()
    logins(world, "permissive")
    found = denials(journal)
    print(f"note   would be denied with the module: {found}", flush=True)
    check(not of_keyveto(found), f"the module lacks: {of_keyveto(found)}")
    part.ok("permissive: nothing that guard and module do would be denied")


def logins(world, how):
    world.expect(how)
    journal = Journal()
    world.expect(f"{how}, again")
    journal.expect("verdict=listed", "action=deny", "user=mallory", "via=guard", "authorized=yes")
    good = FILTER.read_bytes()
    FILTER.write_bytes(good[:100])
    world.expect(f"{how}, filter truncated", alice=False)
    FILTER.write_bytes(good)
    as_admin("keyveto", "sshd", "disable", "--reload")
    as_admin("keyveto", "sshd", "enable", "--pam", "--yes", "--reload")
    world.expect(f"{how}, the module alone")
    journal.expect("verdict=listed", "action=deny", "user=mallory", "via=pam")
    # sshd's files do not change, so sshd is not reloaded.
    as_admin("keyveto", "sshd", "disable")
    as_admin("keyveto", "sshd", "enable", "--yes", "--reload")
    world.expect(f"{how}, both")


def by_the_service(world):
    """keyveto-update.service writes in a folder with the module's type, and the filter keeps that type."""
    newer = Path("/usr/local/share/newer.pkbf")
    shutil.copy(DISK / "filters/newer2.pkbf", newer)
    before = FILTER.read_bytes()
    with changed("/etc/keyveto/update.conf", f"URL {newer}\n"):
        journal = Journal()
        call("systemctl", "start", "keyveto-update.service")
    check(FILTER.read_bytes() != before and ":keyveto_var_lib_t:" in context(FILTER),
          f"{context(FILTER)}: {journal.messages(_SYSTEMD_UNIT='keyveto-update.service')}")
    world.ok(f"enforcing: keyveto-update.service brings a filter, which is {context(FILTER)}")


def selinux_enforcing(part):
    check(ENFORCE.read_text(encoding="ascii").strip() == "1", "SELinux does not enforce")
    world = World(part, fresh=False)
    check(":keyveto_var_lib_t:" in context(FILTER), f"the filter is {context(FILTER)}")
    part.ok(f"after a reboot SELinux enforces, the module is loaded, the filter is {context(FILTER)}")
    journal = Journal()
    logins(world, "enforcing")
    found = of_keyveto(denials(journal))
    check(not found, f"denied: {found}")
    part.ok("enforcing: guard and module are denied nothing")
    # The policy has an effect: sshd can read the filter because of its type.
    journal = Journal()
    call("chcon", "-t", "auditd_log_t", FILTER)
    world.expect("enforcing, the filter with a type that the guard has no business with", alice=False)
    reason = journal.expect("verdict=error", "user=alice")[0]
    found = denials(journal)
    check(any("auditd_log_t" in line for line in found), f"the kernel denies nothing: {found}")
    part.ok(f"denied, and logged: {reason}")
    call("restorecon", FILTER)
    by_the_service(world)
    world.expect("enforcing, the label restored")
    call("systemctl", "restart", "ssh")
    world.expect("enforcing, ssh.service restarted")
