# SPDX-License-Identifier: ISC
"""The AppArmor profile, enforced by the kernel on the guard that sshd runs."""

import contextlib
import re
import shutil
from pathlib import Path

from steps import call, check
from world import CONFIG, DISK, FILTER, GUARD, SHARE, Journal, World, changed, reloaded, wait_for

PROFILE = Path("/etc/apparmor.d/usr.libexec.keyveto-authorized-keys")
LOCAL = Path("/etc/apparmor.d/local/usr.libexec.keyveto-authorized-keys")
NAME = "keyveto-authorized-keys"
DROP_IN = Path("/etc/ssh/sshd_config.d/00-keyveto.conf")
LINES = """\
AuthorizedKeysFile none
AuthorizedKeysCommand /usr/libexec/keyveto-authorized-keys {arguments}
AuthorizedKeysCommandUser {user}
"""
USUAL = "--user %u --home %h --type %t --key %k"


def mode():
    text = Path("/sys/kernel/security/apparmor/profiles").read_text(encoding="ascii")
    found = re.search(rf"^{NAME} \((\w+)\)$", text, re.MULTILINE)
    return found and found[1]


def load():
    call("apparmor_parser", "-r", PROFILE)


def denials(journal):
    """The denials by the profile: lines of the kernel, from its log or from audit."""
    lines = {line for line in journal.messages() if f'profile="{NAME}"' in line and 'apparmor="DENIED"' in line}
    return sorted({" ".join(re.findall(r'(?:operation|name|requested_mask|family|sock_type|capname|capability)='
                                       r'"?[^" ]*"?', line)) for line in lines})


class Watch:
    """Checks which denials the kernel has logged since it began."""

    def __init__(self):
        self.journal = Journal()

    def none(self, when):
        found = denials(self.journal)
        check(not found, f"{when}: denied: {found}")

    def some(self, *wanted):
        found = denials(self.journal)
        for word in wanted:
            check(any(word in line for line in found), f"nothing with {word} was denied: {found}")
        return found


def apparmor(part):
    world = World(part)
    check(Path("/sys/module/apparmor/parameters/enabled").read_text(encoding="ascii").strip() == "Y",
          "the kernel has no AppArmor")
    world.put_filter()
    with reloaded():
        call("keyveto", "sshd", "enable", "--yes", "--reload")
    shutil.copy(SHARE / "apparmor" / PROFILE.name, PROFILE)
    try:
        complains(world)
        load()
        check(mode() == "enforce", f"the profile is loaded as {mode()}")
        check(f"   {NAME}\n" in call("aa-status").split("complain mode")[0], call("aa-status"))
        part.ok("the packaged profile is loaded, and aa-status has it in enforce mode")
        logins(world)
        no_verdict(world)
        other_users(world)
        behind_dashes(world)
        other_places(world)
        taken_over(world)
        after_a_restart(world)
    finally:
        if mode():
            call("apparmor_parser", "-R", PROFILE)
        PROFILE.unlink()
        with reloaded():
            call("keyveto", "sshd", "disable", "--reload")


@contextlib.contextmanager
def drop_in(text):
    """sshd with another drop-in, for the time of the block."""
    with changed(DROP_IN, text):
        call("sshd", "-t")
        with reloaded():
            call("systemctl", "reload", "ssh")
        yield
    with reloaded():
        call("systemctl", "reload", "ssh")


def complains(world):
    text = PROFILE.read_text(encoding="utf-8")
    with changed(PROFILE, re.sub(r"^(profile .*) \{", r"\1 flags=(complain) {", text, flags=re.MULTILINE)):
        load()
        check(mode() == "complain", f"loaded as {mode()}")
        journal = Journal()
        world.expect("complain mode")
        allowed = [line for line in journal.messages() if 'apparmor="ALLOWED"' in line and NAME in line]
        check(not allowed, f"a login does what the profile does not name: {allowed}")
        world.ok("complain mode has nothing to complain of")


def logins(world):
    watch = Watch()
    world.expect("enforced")
    watch.journal.expect("verdict=listed", "action=deny", "user=mallory", "via=guard", "authorized=yes")
    # A client tries a leaked key.
    check(world.login(world.alice, world.leaked).refused, "the leaked key gets into alice's account")
    watch.journal.expect("verdict=listed", "user=alice", "authorized=no")
    world.ok("enforced: both decisions are logged")
    keys_file = world.alice.home / ".ssh/authorized_keys"
    keys_file.chmod(0o666)
    check(not world.login(world.alice, world.clean).entered, "StrictModes does not hold")
    watch.journal.expect("verdict=error", "user=alice")
    keys_file.chmod(0o600)
    world.ok("enforced: the check of the account's files works")
    keys_file.rename(keys_file.with_name("authorized_keys2"))
    world.expect("enforced, authorized_keys2")
    keys_file.with_name("authorized_keys2").rename(keys_file)
    root = Path("/root/.ssh")
    root.mkdir(mode=0o700, exist_ok=True)
    (root / "authorized_keys").write_text(f"{world.clean.key}\n", encoding="ascii")
    world.alice.name, name = "root", world.alice.name
    check(world.login(world.alice, world.clean).entered, "root cannot log in")
    world.alice.name = name
    (root / "authorized_keys").unlink()
    world.ok("enforced: root logs in by a key")
    watch.none("logins")
    world.ok("the kernel has denied the guard nothing")


def no_verdict(world):
    watch = Watch()
    good, config = FILTER.read_bytes(), CONFIG.read_text(encoding="utf-8")
    for name, damage in (("filter truncated", lambda: FILTER.write_bytes(good[:100])),
                         ("filter missing", FILTER.unlink),
                         ("keyveto.conf with a mistake", lambda: CONFIG.write_text(f"{config}OnHitt deny\n"))):
        damage()
        world.expect(f"enforced, {name}", alice=False)
        watch.journal.expect("verdict=error", "action=deny", "user=alice")
        CONFIG.write_text(f"OnError allow\n{CONFIG.read_text(encoding='utf-8')}", encoding="utf-8")
        world.expect(f"enforced, {name}, OnError allow", mallory=True)
        FILTER.write_bytes(good)
        FILTER.chmod(0o644)
        CONFIG.write_text(config, encoding="utf-8")
    watch.none("no verdict")
    world.ok("and the reasons are keyveto's, not the profile's")


def other_users(world):
    watch = Watch()
    with drop_in(LINES.format(arguments=USUAL, user="%u")):
        world.expect("enforced, AuthorizedKeysCommandUser %u")
    watch.none("AuthorizedKeysCommandUser %u")


def behind_dashes(world):
    chained = "--user %u --type %t --key %k -- "
    watch = Watch()
    with drop_in(LINES.format(arguments=f"{chained}/bin/echo restrict,pty %t %k", user="nobody")):
        # This command prints any key, so that every client gets in, except by a listed key.
        world.expect("enforced, -- /bin/echo")
    watch.none("-- /bin/echo")
    helper = Path("/usr/local/bin/keys-of")
    helper.write_text('#!/bin/sh\ncat "/home/$1/.ssh/authorized_keys"\n', encoding="ascii")
    helper.chmod(0o755)
    with drop_in(LINES.format(arguments=f"{chained}{helper} %u", user="%u")):
        watch = Watch()
        world.expect("enforced, -- a command that the profile does not name", alice=False)
        world.ok(f"denied: {'; '.join(watch.some(str(helper)))}")
        with changed(LOCAL, f"{helper} PUx,\n"):
            load()
            watch = Watch()
            world.expect("enforced, -- a command that the local file names")
            watch.none("the local file names it")
        load()
    helper.unlink()


def other_places(world):
    place = Path("/srv/keys")
    place.mkdir(exist_ok=True)
    for account, key in ((world.alice, world.clean), (world.mallory, world.leaked)):
        (place / account.name).write_text(f"{key.key}\n", encoding="ascii")
    config = CONFIG.read_text(encoding="utf-8")
    # The line that keyveto enable wrote names the files itself.
    with changed(CONFIG, f"AuthorizedKeysFile {place}/%u\n{config}"), \
            drop_in(LINES.format(arguments=USUAL, user="root")):
        watch = Watch()
        world.expect("enforced, keys in a place that the profile does not name", alice=False)
        watch.some(str(place))
        reason = watch.journal.expect("verdict=error", "user=alice")[0]
        world.ok(f"denied, and logged: {reason}")
        with changed(LOCAL, f"{place}/ r,\n{place}/* r,\n"):
            load()
            watch = Watch()
            world.expect("enforced, keys in a place that the local file names")
            watch.none("the local file names it")
        load()
    shutil.rmtree(place)


def put_in_place(program):
    fresh = GUARD.with_name(".new")
    fresh.write_bytes(program)
    fresh.chmod(0o755)
    fresh.rename(GUARD)


def intrude(world):
    """Runs the intruder in the guard's place: (what it could do, the kernel's denials)."""
    watch = Watch()
    check(not world.login(world.alice, world.clean).entered, "the intruder lets somebody in")

    def said():
        return watch.journal.messages(SYSLOG_IDENTIFIER="keyveto-intruder")
    wait_for("the intruder's end", lambda: any("intruder: end" in line for line in said()))
    results = dict(line.removeprefix("intruder: ").split(": ") for line in said() if line.count(": ") == 2)
    return sorted(name for name, result in results.items() if result == "done"), len(results), denials(watch.journal)


def taken_over(world):
    """Another program in the guard's place, which sshd starts as root: the profile limits what it can do."""
    good = GUARD.read_bytes()
    secrets = [Path("/root", name) for name in (".ssh/id_ed25519", ".ssh/authorized_keys", "secret")]
    secrets[0].parent.mkdir(mode=0o700, exist_ok=True)
    for path in secrets:
        path.write_text("secret\n", encoding="ascii")
    try:
        put_in_place((DISK / "guest/intruder").read_bytes())
        done, tried, denied = intrude(world)
        check(done == ["config", "internet-socket"], f"under the profile it does {done}")
        check(any("/etc/shadow" in line for line in denied), f"the kernel logs {denied}")
        world.ok(f"an intruder in the guard's place does of {tried} things only: {', '.join(done)}; "
                 f"the kernel logs {len(denied)} denials")
        with changed(LOCAL, "deny network inet,\ndeny network inet6,\n"):
            load()
            done = intrude(world)[0]
            check(done == ["config"], f"without the internet it does {done}")
            world.ok(f"with a local file that denies the internet: {', '.join(done)}")
        call("apparmor_parser", "-R", PROFILE)
        done = intrude(world)[0]
        check(len(done) == tried >= 13, f"without the profile it should do all {tried}: {done}")
        world.ok(f"without the profile: all of the {tried}")
    finally:
        put_in_place(good)
        for path in [*secrets, Path("/tmp/intruder")]:
            path.unlink(missing_ok=True)
        load()
    with changed(LOCAL, "deny network inet,\ndeny network inet6,\n"):
        load()
        world.expect("the guard is back, without the internet")
    load()


def after_a_restart(world):
    call("systemctl", "restart", "apparmor")
    call("systemctl", "restart", "ssh")
    check(mode() == "enforce", f"after a restart of the service: {mode()}")
    watch = Watch()
    world.expect("apparmor.service and ssh.service restarted")
    watch.none("restarted")
