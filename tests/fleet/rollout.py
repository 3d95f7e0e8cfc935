# SPDX-License-Identifier: ISC
"""The parts of the rollout, in their order. Each takes the counts of the run, and the world.

The commands are those of the collection's README: see readme.py.
"""

import concurrent.futures
import re

from bench import check
from shapes import BROKEN, CLEAN, GUARDED, LOCKED_OUT, OWNED, SILENT

# What a host has of sshd and PAM. A host that is left as it was has these bytes as before.
WATCHED = ("/etc/ssh", "/etc/pam.d")
# Here a rollout has keys of its own for a minute.
ADMIN = "/root/.ssh"
PING = "ansible -i hosts.ini all -m ping"
DISABLE = "ansible-playbook -i hosts.ini keyveto.keyveto.disable"
DOCTOR = "ansible-playbook -i hosts.ini keyveto.keyveto.doctor"
# Of the proof by logins: what it would do at the next start of the host, and what it has put where.
UNITS = "/etc/systemd/system/multi-user.target.wants"
UNIT, STATE, LOCK = f"{UNITS}/keyveto-unproved.service", *(f"/var/lib/keyveto/ansible-probe/{name}" for name in (
    "state.json", "lock"))
ACCEPT = "keyveto_accept_refused: true\n"
# Words with which the reason of a host must be told.
REASONS = {BROKEN: "NoSuchKeyword", LOCKED_OUT: "root"}


def plain_ssh(part, world):
    """Before the rollout, each login does what its account's keys say."""
    world.before = world.visit_all(world.fleet.hosts)
    world.etc = {name: host.snapshot(*WATCHED) for name, host in world.fleet.hosts.items()}
    world.admin = {name: host.snapshot(ADMIN) for name, host in world.fleet.hosts.items()}
    for name, host in world.fleet.hosts.items():
        for visit in host.visits:
            seen = world.before[name, visit.title]
            check(seen.entered == visit.known, f"{name}: {visit.title}: {seen}")
        part.ok(f"{name} ({world.fleet.shapes[name].about}): {len(host.visits)} logins as before keyveto")


def ping(part, world):
    """Ansible reaches every host but the one that says nothing."""
    with world.silence():
        said = world.ansible(PING)
    silent = set(world.of_fate(SILENT))
    check(said.hosts("unreachable") == silent and said.hosts("ok") == set(world.fleet.hosts) - silent,
          f"ping: {said.text}")
    part.ok(f"Ansible's ping: {len(said.hosts('ok'))} answer, {len(silent)} does not")


def install(part, world):
    """The collection, and the packages on all hosts. Nothing of sshd changes."""
    for words in (("galaxy", "build", "!install"), ("galaxy", "install")):
        world.ansible(world.readme.command(*words), 0)
    with world.silence():
        said = world.ansible(world.readme.command("keyveto.keyveto.install"))
    silent = set(world.of_fate(SILENT))
    check(said.hosts("unreachable") == silent, f"install: {said.text}")
    check(not said.hosts("failed"), f"install: {said.text}")
    for name, host in world.fleet.hosts.items():
        check(host.path("/usr/bin/keyveto").exists() == (name not in silent), f"{name}: install: {said.text}")
    unchanged(part, world, world.fleet.hosts, "keyveto is installed")


def told_before(part, world):
    """README's rollout, as it stands, tells whom it would refuse, and who cannot be asked; and goes no further there.

    A host that nobody's key stops is not told by --check, and is then guarded.
    """
    kept = {name: host.snapshot("/etc", "/var/lib/keyveto") for name, host in world.fleet.hosts.items()}
    for words in (("rollout", "--check"), ("rollout", "!--check")):
        when = "rollout --check --diff" if "--check" in words else "rollout"
        with world.silence():
            said = world.ansible(world.readme.command(*words))
        check(said.status != 0, f"{when} reports no failure: {said.text}")
        for name, shape in world.fleet.shapes.items():
            wanted = REASONS.get(shape.fate, "bob")
            if shape.fate == CLEAN:
                check(not said.of(name, "failed", "unreachable"), f"{when}: {name}: {said.failures(name)}")
                check(name in said.changed(), f"{when}: {name}: nothing changes: {said.text}")
            else:
                _must_tell(said, name, shape, wanted, when)
            if when != "rollout":
                same(kept[name], world.fleet.hosts[name].snapshot("/etc", "/var/lib/keyveto"), f"{name}: {when}")
        part.ok(f"README's {when}: {len(said.hosts('failed'))} hosts are told with a reason, "
                f"{len(said.hosts('unreachable'))} does not answer")
    clean = world.of_fate(CLEAN)
    unchanged(part, world, [name for name in world.fleet.hosts if name not in clean], "somebody would be refused")
    guarded(part, world, clean, "nobody would be refused")


def _must_tell(said, name, shape, wanted, when):
    if shape.fate == SILENT:
        check(said.of(name, "unreachable"), f"{when}: {name} is not told unreachable: {said.text}")
        return
    failed = said.of(name, "failed")
    check(failed, f"{when}: {name} is not told: {said.text}")
    reason = failed[-1]["result"].get("msg", "")
    check(wanted in reason, f"{when}: of {name} the reason has no {wanted}: {reason}")


def rollout(part, world):
    """The administrator has talked to people, and goes on."""
    world.set_variables(world.readme.variables + ACCEPT)
    with world.silence():
        checked = world.ansible(world.readme.command("rollout", "--check"))
        said = world.ansible(world.readme.command("rollout", "!--check") + " --diff")
    for name, shape in world.fleet.shapes.items():
        if shape.fate == GUARDED:
            check(not said.of(name, "failed", "unreachable"), f"{name} failed: {said.failures(name)}\n{said.text}")
            check(name in said.changed(), f"{name}: nothing has changed: {said.text}")
            proofs = [one["result"]["proof"] for one in said.of(name) if one["result"].get("proof")]
            check([proof["proved"] for proof in proofs] == [True], f"{name} is not proved by logins: {proofs}")
            check(name in checked.changed(), f"{name}: --check did not say that anything changes: {checked.text}")
            check(checked.diffs(name) == said.diffs(name) and said.diffs(name), f"{name}: --check --diff and the run "
                  f"differ: {_short(checked.diffs(name))}\n{_short(said.diffs(name))}")
        elif shape.fate == CLEAN:
            check(not said.of(name, "failed", "unreachable"), f"{name} failed: {said.failures(name)}\n{said.text}")
            check(name not in said.changed() | checked.changed(), f"{name} is changed again: {said.text}")
        else:
            for one in (checked, said):
                _must_tell(one, name, shape, REASONS.get(shape.fate), "rollout")
    part.ok(f"rolled out to {len(world.of_fate(GUARDED))} hosts, each proved by logins of the controller, and "
            "--check --diff said before what changed")
    hosts = world.of_fate(GUARDED, CLEAN)
    unchanged(part, world, [name for name in world.fleet.hosts if name not in hosts], "told by the rollout")
    guarded(part, world, hosts, "rolled out")


def _short(diffs):
    """The files that diffs are of, and how long each side is."""
    return [(one.get("after_header"), len(one.get("before", "")), len(one.get("after", "")))
            for diff in diffs for one in (diff if isinstance(diff, list) else [diff])]


def again(part, world):
    """A second run changes nothing, also if nobody accepts any more that somebody is refused."""
    hosts = world.of_fate(GUARDED, CLEAN)
    world.set_variables(world.readme.variables)
    before = {name: world.fleet.hosts[name].snapshot("/etc", "/var/lib/keyveto") for name in hosts}
    with world.silence():
        said = world.ansible(world.readme.command("rollout", "!--check"))
    check(not said.changed() & set(hosts), f"a second run says that it changes {said.changed()}: {said.text}")
    for name in hosts:
        check(not said.of(name, "failed", "unreachable"), f"{name} failed: {said.failures(name)}")
        now = world.fleet.hosts[name].snapshot("/etc", "/var/lib/keyveto")
        same(before[name], now, f"{name}: a second run")
    part.ok(f"a second run changes nothing on {len(hosts)} hosts")
    guarded(part, world, hosts, "after a second run")


def rebooted(part, world, name="plain"):
    """The power of a host fails after keyveto was enabled, and before that was proved."""
    host, limit = world.fleet.hosts[name], f" --limit {name}"
    world.set_variables(world.readme.variables + ACCEPT)
    world.ansible(DISABLE + limit, 0)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        run = pool.submit(world.ansible, world.readme.command("rollout", "!--check") + limit)
        host.wait(lambda: host.path(UNIT).is_symlink(), "the proof begins")
        # No login can prove it now.
        host.freeze_sshd(True)
        host.wait(lambda: '"lines"' in host.attempt(f"cat {STATE}").stdout, "the throw-away keys are in their place")
        check(host.attempt("keyveto status | grep '^guarded;'").returncode == 0, f"{name} is not guarded yet")
        host.run(f"kill -KILL $(pgrep -x sshd) $(fuser {LOCK} 2>/dev/null)")
        said = run.result()
    check(said.of(name, "failed", "unreachable"), f"the rollout does not tell that {name} is gone: {said.text}")
    # The host is started again.
    host.run("rm -f /run/sshd.pid")
    text = host.run(f"cat {UNITS}/keyveto*")
    host.run(re.search("^ExecStart=(.*)$", text, re.MULTILINE)[1])
    host.run("/usr/sbin/sshd >/dev/null 2>&1")
    host.wait(lambda: host.sshd_pid() is not None, "sshd listens")
    same(world.etc[name], host.snapshot(*WATCHED), f"{name}: started again:")
    for (_, title), seen in world.visit_all([name]).items():
        check(seen == world.before[name, title], f"{name}: started again: {title}: {seen}")
    check("has not proved" in world.ansible(DOCTOR + limit).text, f"{name}: doctor does not tell of the proof")
    part.ok(f"{name} was started again before the proof: keyveto is out, and everybody logs in as before")
    said = world.ansible(world.readme.command("rollout", "!--check") + limit, 0)
    proofs = [one["result"]["proof"]["proved"] for one in said.of(name) if one["result"].get("proof")]
    check(proofs == [True], f"{name} is not proved: {said.text}")
    guarded(part, world, [name], "rolled out again")


def disable(part, world):
    """The way back restores the bytes, and each login."""
    with world.silence():
        said = world.ansible(DISABLE)
    for name in world.of_fate(GUARDED, CLEAN):
        check(not said.of(name, "failed", "unreachable"), f"{name} failed: {said.failures(name)}")
    unchanged(part, world, world.fleet.hosts, "disabled")


def same(before, now, what):
    changed = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
    check(not changed, f"{what} changes {changed[:20]}")


def unchanged(part, world, hosts, when):
    """Each login is as before keyveto, and sshd's and PAM's files have the bytes that they had."""
    for name in hosts:
        same(world.etc[name], world.fleet.hosts[name].snapshot(*WATCHED), f"{name}: {when}:")
        same(world.admin[name], world.fleet.hosts[name].snapshot(ADMIN), f"{name}: {when}:")
    now = world.visit_all(hosts)
    for pair, seen in now.items():
        check(seen == world.before[pair], f"{when}: {pair}: before {world.before[pair]}, now {seen}")
    not_owned(world)
    part.ok(f"{when}: {len(now)} logins on {len(hosts)} hosts, and their files of sshd and PAM, are as before")


def guarded(part, world, hosts, when):
    """Each login by a listed key is refused, and each other is as before, with its command and restrictions."""
    refused = 0
    for (name, title), seen in world.visit_all(hosts).items():
        visit = next(one for one in world.fleet.hosts[name].visits if one.title == title)
        if visit.listed and visit.known:
            check(seen.refused and not seen.entered, f"{when}: {name}: {title} is let in: {seen}")
            refused += 1
        else:
            before = world.before[name, title]
            check(seen == before, f"{when}: {name}: {title}: before {before}, now {seen}")
    for name in hosts:
        same(world.admin[name], world.fleet.hosts[name].snapshot(ADMIN), f"{name}: {when}:")
        said = world.fleet.hosts[name].attempt("keyveto status | grep '^guarded;'")
        check(said.returncode == 0, f"{when}: {name}: keyveto status: {said.stdout}")
    not_owned(world)
    part.ok(f"{when}: {refused} logins by listed keys are refused on {len(hosts)} hosts, all others are as before")


def not_owned(world):
    """No comment of a key was taken for a command or a template."""
    for box in (world.fleet.controller, *world.fleet.hosts.values()):
        check(not box.path(OWNED).exists(), f"{box.name}: a comment was executed")
