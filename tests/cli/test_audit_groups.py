# SPDX-License-Identifier: ISC
"""keyveto audit opens files with an account's uid and gid alone, and again with all groups that libc tells."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from audit_machine import places
from program import KEYVETO, SSHD, STARTED, TRACED, attempt, equal
from runs import tool

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("host_keys")]

NSSWITCH = Path("/etc/nsswitch.conf")
GROUP = Path("/etc/group")
NAMES = ("ann", "bob", "cy", "dee", "eve", "fay")
# What a person, a broken script or NIS may have left in the file.
ODD_GROUPS = """\
# a comment
   # another one: ann

twice:x:41000:ann,bob,ann,ann
twice:x:41001:cy
sameid:x:41001:dee,cy
  indented:x:41002:ann
blanks:x:41003:ann , bob, cy,dee\x20
empty:x:41004:
commas:x:41005:,,bob,,dee,
nomembers:x:41006
nogid:x::bob
wordgid:x:abc:bob
minusgid:x:-1:bob
:x:41007:eve
colons:x:41008:bob:cy
junk
+:::
+nis::41009:fay
-nis:x:41010:fay
+nisnogid:::fay
high:x:4294967294:ann
shared:x:{bob}:ann,bob
passwordless::41011:cy
absent:x:41012:nobody-of-that-name,eve
long:x:41013:{long},eve
many:x:41014:ann,bob,cy,dee,eve,fay
last:x:41015:dee"""


@contextlib.contextmanager
def group_line(*lines):
    """These lines instead of those of group and initgroups in /etc/nsswitch.conf."""
    kept = NSSWITCH.read_text(encoding="utf-8")
    others = [line for line in kept.splitlines() if not re.match(r"\s*(init)?groups?\b", line)]
    NSSWITCH.write_text("\n".join([*others, *lines, ""]), encoding="utf-8")
    try:
        yield
    finally:
        NSSWITCH.write_text(kept, encoding="utf-8")


def libc_groups(name, gid):
    """The groups by getgrouplist, in a new process: nsswitch.conf is read once for each."""
    script = "import os, sys; print(*os.getgrouplist(sys.argv[1], int(sys.argv[2])))"
    said = tool(sys.executable, "-c", script, name, gid, text=True)
    return {int(word) for word in said.split()}


def traced(world, calls):
    """The system calls of an audit's processes, by strace: a list of lines for each process."""
    folder = world.folder / "trace"
    folder.mkdir()
    attempt("strace", "-ff", "-qq", "-v", "-s", "10000", "-e", f"trace={calls}", "-o", folder / "of", KEYVETO, "audit",
            "--filter", world.filter, text=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=TRACED)
    lines = [path.read_text(encoding="utf-8", errors="replace").splitlines() for path in folder.iterdir()]
    shutil.rmtree(folder)
    return lines


def closed_files(scratch, world):
    """Has sshd read each account's keys in a folder that only root can search."""
    (scratch / "closed").mkdir(mode=0o700)
    world.sshd_config(f"AuthorizedKeysFile {scratch}/closed/%u")


def audited_groups(world):
    """The groups with which the audit became each account for now, and those for good, by uid."""
    for_now, for_good = {}, {}
    for calls in traced(world, "/^set(groups|resuid)"):
        groups = None
        for call in calls:
            if made := re.search(r"setgroups(?:32)?\((\d+), \[(.*?)\]\) += 0", call):
                numbers = [int(word) for word in re.split(r"[ ,]+", made[2])]
                equal(len(numbers), int(made[1]))
                groups = set(numbers)
            # Back to root, an account's groups are of no use.
            elif (made := re.search(r"setresuid(?:32)?\((-?\d+), (\d+), (-?\d+)\) += 0", call)) and int(made[2]) != 0:
                (for_now if made[1] == "-1" else for_good)[int(made[2])] = groups
    return for_now, for_good


def odd_groups(accounts, end):
    return ODD_GROUPS.format(bob=accounts[1].gid, long=",".join(f"somebody{number}" for number in range(9000))) + end


@pytest.mark.sample(2)
@pytest.mark.parametrize("lines", [["group: files"], ["group: files [SUCCESS=merge] systemd"], ["group: systemd files"],
                                   ["group: compat"], ["group: files", "initgroups: systemd"], []])
def test_after_eacces_an_account_has_the_groups_of_libc(scratch, world, lines):
    """Before that it has its gid alone."""
    accounts = [world.account(name) for name in NAMES]
    closed_files(scratch, world)
    with open(GROUP, "a", encoding="utf-8") as file:
        file.write(odd_groups(accounts, "\n"))
    with group_line(*lines):
        for_now, for_good = audited_groups(world)
        for account in accounts:
            equal(for_now[account.uid], {account.gid}, account.name)
            equal(for_good[account.uid], libc_groups(account.name, account.gid), account.name)
    if lines[:1] == ["group: files"]:
        assert len(lines) > 1 or (len(for_good[accounts[0].uid]) > 4 and 41013 in for_good[accounts[4].uid]), for_good


def test_files_that_the_account_may_open_cost_no_groups(world):
    account = world.account("ann")
    account.authorize(world.clean)
    world.append("/etc/group", "readers:x:50003:ann")
    for_now, for_good = audited_groups(world)
    equal((for_now[account.uid], for_good.get(account.uid)), ({account.gid}, None))


def test_places_that_a_group_may_search_are_searched_for_wildcards(scratch, world):
    """Also if the pattern matches files elsewhere. Each file counts once."""
    world.account("ann")
    world.append("/etc/group", "readers:x:50003:ann")
    files = []
    for name, group, mode in (("closed", 50003, 0o750), ("open", 0, 0o755)):
        folder = scratch / "keys" / name
        folder.mkdir(parents=True)
        (folder / "ann").write_text(f"{world.bad}\n")
        os.chown(folder, 0, group)
        folder.chmod(mode)
        files.append(folder / "ann")
    guard = "/usr/libexec/keyveto-authorized-keys --user %u --home %h --type %t --key %k"
    world.sshd_config("AuthorizedKeysFile none", "AuthorizedKeysCommandUser root",
                      f"AuthorizedKeysCommand {guard} --file {scratch}/keys/*/%u --wildcards yes")
    findings, _, errors = world.findings("--user", "ann", status=1)
    equal(places(findings), [f"{path}:1" for path in files], errors)
    equal(len([one for one in findings if one.get("account") == "ann"]), 2)


SERVICE = r"""
#include <grp.h>
#include <nss.h>
#include <stdlib.h>
#include <string.h>
enum nss_status _nss_SERVICE_initgroups_dyn(const char *user, gid_t group, long *start, long *size, gid_t **groups,
    long limit, int *errnop)
{
    (void)group, (void)limit, (void)errnop;
    if (strcmp(user, "ann") != 0)
        return NSS_STATUS_NOTFOUND;
    if (*start == *size)
        *groups = realloc(*groups, (size_t)(*size *= 2) * sizeof(gid_t));
    (*groups)[(*start)++] = NUMBER;
    return NSS_STATUS_SUCCESS;
}
"""


@pytest.fixture(name="services")
def fixture_services(scratch):
    """Two name services that list no group, but know one of ann each: 50001 and 50002."""
    libc = tool("sh", "-c", "ldd /bin/true | sed -n 's,.*=> \\(/.*/\\)libc.so.*,\\1,p'", text=True).strip()
    made = []
    for number, name in ((50001, "kvone"), (50002, "kvtwo")):
        (scratch / "nss.c").write_text(SERVICE.replace("SERVICE", name).replace("NUMBER", str(number)))
        made.append(Path(libc) / f"libnss_{name}.so.2")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", made[-1], scratch / "nss.c"], check=True)
    yield ("kvone", "kvtwo")
    for path in made:
        path.unlink()


@pytest.mark.parametrize("line", ["files kvone kvtwo", "files [SUCCESS=merge] kvtwo [success=merge] kvone"])
def test_services_that_list_no_groups_are_asked_about_each_account(scratch, world, services, line):
    """Also about the second one after a success of the first."""
    ann, bob = world.account("ann"), world.account("bob")
    closed_files(scratch, world)
    world.append("/etc/group", "readers:x:50003:ann,bob", "again:x:50001:ann")
    with group_line(f"group: {line}"):
        _, found = audited_groups(world)
        equal(found[ann.uid], libc_groups("ann", ann.gid))
    equal((found[ann.uid], found[bob.uid]), ({ann.gid, 50001, 50002, 50003}, {bob.gid, 50003}))
    assert services


def test_groups_of_a_service_decide_which_files_are_read(scratch, world, services):
    ann, bob = world.account("ann"), world.account("bob")
    (scratch / "keys").mkdir(mode=0o755)
    paths = [scratch / "keys" / account.name for account in (ann, bob)]
    for path in paths:
        path.write_text(f"{world.bad}\n")
        os.chown(path, 0, 50002)
        path.chmod(0o640)
    world.sshd_config(f"AuthorizedKeysFile {scratch}/keys/%u")
    with group_line(f"group: files {' '.join(services)}"):
        findings, _, errors = world.findings(status=1)
    equal(places(findings), [f"{paths[0]}:1"])
    assert f"{paths[1]}: Permission denied" in errors, errors


def opened_by_each(world, path):
    """How many of keyveto's own processes open the file how often; what reads for it aside."""
    programs = (SSHD, *STARTED)
    return Counter(sum(f'"{path}"' in call for call in calls) for calls in traced(world, "openat,execve")
                   if not any(f'"{program}"' in call for call in calls for program in programs))


def test_etc_group_is_read_for_each_account_only_for_match_group(world):
    for number in range(40):
        world.account(f"u{number}").authorize(world.clean)
    world.append("/etc/group", "staffers:x:60001:u1", "root:x:0:")
    with group_line("group: files"):
        assert max(opened_by_each(world, GROUP)) <= 2
        world.sshd_config("Match Group staffers", " AuthorizedKeysFile none")
        assert max(opened_by_each(world, GROUP)) >= 40


MATCHES = ("many", "sameid", "twice", "nis*", "+*", "last", "cy", "shared,!bob", "tw?ce,high", "blanks", "?",
           "indented")


@pytest.mark.long
def test_match_group_by_odd_groups(world):
    """sshd -T -C tells the file of each account."""
    accounts = [world.account(name) for name in NAMES]
    with open(GROUP, "a", encoding="utf-8") as file:
        file.write(odd_groups(accounts, ""))
    for account in accounts:
        for number in range(len(MATCHES) + 1):
            account.write(f"k{number}", world.clean)
    for number, match in enumerate(MATCHES):
        Path(f"/etc/ssh/sshd_config.d/{number}.conf").unlink(missing_ok=True)
        with group_line("group: files systemd"):
            Path("/etc/ssh/sshd_config").write_text(
                f"Match Group {match}\n AuthorizedKeysFile k{number}\nMatch all\n AuthorizedKeysFile k{len(MATCHES)}\n")
            findings, _, _ = world.findings(status=0)
            for account in accounts:
                said = tool(SSHD, "-T", "-C", f"user={account.name},host=localhost,addr=127.0.0.1", text=True)
                name, = re.findall(r"^authorizedkeysfile (.*)", said, re.M | re.I)
                equal([one["file"] for one in findings if one.get("account") == account.name],
                      [f"{account.home}/{name}"], f"{account.name}, {match}")


def notes(done):
    return sorted(re.findall(r"note: bad ownership or modes for directory .*/(\w+): sshd does not use", done.stderr))


@pytest.mark.sample(4)
@pytest.mark.parametrize("line", ["files", "files systemd", "files [SUCCESS=merge] systemd", "systemd files"])
def test_a_group_is_private_as_libc_tells(world, line):
    """--user audits one account; hand-made is the other answer."""
    private = {"own": True, "listed": True, "shared": False, "guest": False, "strange": False, "nameless": False,
               "foreign": False, "twin": True, "odd": True}
    accounts = {name: world.account(name) for name in private}
    for account in accounts.values():
        account.authorize(world.clean)
        account.home.chmod(0o775)
    group = GROUP.read_text(encoding="utf-8")
    for name, members in (("listed", "listed"), ("guest", "own"), ("strange", "strange,own")):
        group = re.sub(f"(?m)^({name}:x:\\d+:)$", f"\\1{members}", group)
    group = re.sub(r"(?m)^nameless:.*\n", "", group)
    odd = accounts["odd"].gid
    GROUP.write_text(group + f"again:x:{odd}:own,guest\n+nis::{accounts['own'].gid}:guest\n", encoding="utf-8")
    with open("/etc/passwd", "a", encoding="utf-8") as file:
        file.write(f"another:x:{accounts['shared'].uid + 500}:{accounts['shared'].gid}::/nonexistent:/bin/sh\n"
                   f"double:x:{accounts['twin'].uid}:{accounts['twin'].gid}::/nonexistent:/bin/sh\n")
    os.chown(accounts["foreign"].home, accounts["foreign"].uid, accounts["own"].gid)
    with group_line(f"group: {line}"):
        together = notes(world.audit(status=0))
        alone = [name for name in private if notes(world.audit("--user", name, status=0))]
    equal(together, sorted(name for name, good in private.items() if not good))
    equal(sorted(alone), together)


def test_a_nis_line_in_passwd_makes_no_group_shared(world):
    ann, bob = world.account("ann"), world.account("bob")
    for account in (ann, bob):
        account.authorize(world.clean)
        account.home.chmod(0o775)
    world.append("/etc/passwd", f"+nis:x:{bob.uid}:{ann.gid}::/:", "+::::::")
    alone = [name for name in ("ann", "bob") if notes(world.audit("--user", name, status=0))]
    equal(notes(world.audit(status=0)), alone)
    equal(alone, ["ann"])
