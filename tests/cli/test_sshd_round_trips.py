# SPDX-License-Identifier: ISC
"""keyveto enable and disable on many configurations. sshd -T says what changed."""

import os
import random
import re
import shutil

import pytest

from openssh import version
from program import SSHD, contains, equal, lacks
from samples import write
from sshd_machine import (ALONE, COMMAND, CONNECTION, DEFAULT_FILES, DROP_IN, FILES_COMMAND, GUARD, INCLUDE,
                          MODULE_LINE, STOCK_CONFIG, STRICTMODES, TOP, WITHOUT_INCLUDE, WITH_COMMAND, Machine,
                          by_files, leftovers, restored, this_machine)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]

CHAIN = f"{GUARD} --user %u --type %t --key %k{CONNECTION} -- "

# The settings of sshd -T that enable may change.
CHANGED = ("authorizedkeysfile", "authorizedkeyscommand", "authorizedkeyscommanduser", "authorizedprincipalscommand",
           "authorizedprincipalscommanduser")
FIRST_TRIP = int(os.environ.get("FIRST_TRIP", "0"))
TRIPS = int(os.environ.get("TRIPS", "16"))
EMPTY = ""
BY_GUARD = {"authorizedkeysfile": "none", "authorizedkeyscommanduser": "root"}
CHAINED = {"authorizedkeyscommand": CHAIN + COMMAND, "authorizedkeyscommanduser": "nobody"}


class Shape:
    """A configuration of sshd, and what a round trip makes of it.

    options are those of enable. after and users hold what sshd -T prints after enable, for all and for each user.
    """

    def __init__(self, title, config, *options, files=None, after=None, users=None, place=DROP_IN, status=0, conf=None,
                 prepare=None, pam=True, alone=False):
        self.title, self.config, self.options, self.files = title, config, options, files
        self.after, self.users, self.place = BY_GUARD if after is None else after, users or {}, place
        self.status, self.conf, self.prepare, self.pam = status, conf, prepare, pam
        self.alone = alone      # enable leaves the guard out


def link_config(target):
    def prepare(machine):
        path = machine.path("/etc/ssh/sshd_config")
        real = machine.path("/etc/site/sshd_config.real")
        real.parent.mkdir(exist_ok=True)
        path.rename(real)
        path.symlink_to(target)
    return prepare


def protect(mode, uid, gid):
    def prepare(machine):
        path = machine.path("/etc/ssh/sshd_config")
        os.chown(path, uid, gid)
        path.chmod(mode)
    return prepare


def loosen(path):
    """Makes a command writable for root's group. Debian's sshd runs it, the guard refuses to."""
    def prepare(machine):
        machine.path(path).chmod(0o775)
    return prepare


# Later versions of sshd take "none" only alone.
NONE_BESIDE = "" if version() >= (10, 1) else " none"
MANY_FILES = " ".join(f".ssh/keys{number}" for number in range(200))


SHAPES = [
    Shape("Debian's own", STOCK_CONFIG, conf=DEFAULT_FILES),
    Shape("no Include", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES),
    Shape("an empty file", EMPTY, place=TOP, conf=DEFAULT_FILES, pam=False),
    Shape("Include after AuthorizedKeysFile", "AuthorizedKeysFile .ssh/one\n" + INCLUDE, place=TOP, conf=".ssh/one"),
    Shape("Include after other settings", "Port 22\nPermitRootLogin no\n" + INCLUDE, conf=DEFAULT_FILES),
    Shape("Include within a Match block",
          "Port 22\nUsePAM yes\nMatch User daemon\n" + INCLUDE.split("\n", maxsplit=1)[0] + "\n", place=TOP,
          conf=DEFAULT_FILES),
    Shape("several files with tokens",
          INCLUDE + "AuthorizedKeysFile /etc/ssh/keys/%u %h/.ssh/authorized_keys .ssh/%u-100%%\n",
          conf="/etc/ssh/keys/%u %h/.ssh/authorized_keys .ssh/%u-100%%"),
    Shape("a drop-in that comes before ours", INCLUDE, files={
        "/etc/ssh/sshd_config.d/00-first.conf": "AuthorizedKeysFile .ssh/first\n",
        "/etc/ssh/sshd_config.d/50-later.conf": "AuthorizedKeysFile .ssh/later\n"}, place=TOP, conf=".ssh/first"),
    Shape("a drop-in that comes after ours", INCLUDE, files={
        "/etc/ssh/sshd_config.d/50-cloud.conf": "PasswordAuthentication no\nAuthorizedKeysFile .ssh/cloud\n"},
          conf=".ssh/cloud"),
    Shape("a 00-keyveto.conf of the administrator's", INCLUDE, files={DROP_IN: "# mine\nPermitRootLogin no\n"},
          conf=DEFAULT_FILES),
    Shape("a 00-keyveto.conf of the administrator's with a Match block", INCLUDE, files={
        DROP_IN: "Match User daemon\nAuthorizedKeysFile /etc/ssh/daemon_keys\n"}, place=TOP, conf=DEFAULT_FILES, users={
            "daemon": {"authorizedkeysfile": "/etc/ssh/daemon_keys", "authorizedkeyscommand": "none"},
            "root": BY_GUARD}),
    Shape("an empty 00-keyveto.conf", INCLUDE, files={DROP_IN: ""}, conf=DEFAULT_FILES),
    Shape("an AuthorizedKeysCommand, no files", INCLUDE + "AuthorizedKeysFile none\n" + WITH_COMMAND,
          after={"authorizedkeysfile": "none", **CHAINED}),
    Shape("an AuthorizedKeysCommand and files", INCLUDE + WITH_COMMAND, "--guard", "--pam",
          after={"authorizedkeysfile": DEFAULT_FILES, **CHAINED}),
    Shape("an AuthorizedKeysCommand with quotes and tokens, as %u",
          INCLUDE + 'AuthorizedKeysFile none\nAuthorizedKeysCommand /usr/bin/printf "%%s\\n" "%u of %h" %f\n'
          "AuthorizedKeysCommandUser %u\n", "--yes",
          after={"authorizedkeysfile": "none", "authorizedkeyscommanduser": "%u",
                 "authorizedkeyscommand": CHAIN + '/usr/bin/printf "%%s\\n" "%u of %h" %f'}),
    Shape("an AuthorizedPrincipalsCommand and TrustedUserCAKeys",
          INCLUDE + f"TrustedUserCAKeys /etc/ssh/ca.pub\nAuthorizedPrincipalsCommand {COMMAND} %i\n"
          "AuthorizedPrincipalsCommandUser daemon\n", after={}, alone=True),
    Shape("an AuthorizedPrincipalsCommand without TrustedUserCAKeys",
          INCLUDE + f"AuthorizedPrincipalsCommand {COMMAND} %i\n"
          "AuthorizedPrincipalsCommandUser daemon\n", conf=DEFAULT_FILES,
          after={**BY_GUARD, "authorizedprincipalscommand": f"{CHAIN}{COMMAND} %i",
                 "authorizedprincipalscommanduser": "daemon"}),
    Shape("an AuthorizedPrincipalsCommand, and keys by a command alone",
          INCLUDE + f"TrustedUserCAKeys /etc/ssh/ca.pub\nAuthorizedPrincipalsCommand {COMMAND}\n"
          f"AuthorizedPrincipalsCommandUser daemon\nAuthorizedKeysFile none\n{WITH_COMMAND}",
          after={**CHAINED, "authorizedprincipalscommand": f"{CHAIN}{COMMAND}",
                 "authorizedprincipalscommanduser": "daemon"}),
    Shape("TrustedUserCAKeys", INCLUDE + "TrustedUserCAKeys /etc/ssh/ca.pub\n", after={}, alone=True),
    Shape("TrustedUserCAKeys in a Match block", INCLUDE + "Match User daemon\n  TrustedUserCAKeys /etc/ssh/ca.pub\n",
          after={}, alone=True),
    Shape("a file with a blank in its name", INCLUDE + 'AuthorizedKeysFile ".ssh/my keys"\n', "--yes", after={},
          alone=True),
    Shape("two hundred files", INCLUDE + f"AuthorizedKeysFile {MANY_FILES}\n", conf=MANY_FILES),
    Shape("none beside other files", INCLUDE + f"AuthorizedKeysFile{NONE_BESIDE.upper()} .ssh/one{NONE_BESIDE}\n",
          conf=".ssh/one"),
    Shape("a file with a token that sshd does not know there", INCLUDE + "AuthorizedKeysFile .ssh/one .ssh/%k\n",
          "--yes", after={},
          alone=True),
    Shape("files with wildcards", INCLUDE + "AuthorizedKeysFile .ssh/*.pub\n", conf=".ssh/*.pub"),
    Shape("an AuthorizedKeysCommand without arguments",
          INCLUDE + "AuthorizedKeysFile none\nAuthorizedKeysCommand /usr/bin/env\nAuthorizedKeysCommandUser nobody\n",
          "--yes", after={"authorizedkeyscommand": CHAIN + "/usr/bin/env %u", "authorizedkeyscommanduser": "nobody"}),
    Shape("an AuthorizedKeysCommand that others may write",
          INCLUDE + "AuthorizedKeysFile none\nAuthorizedKeysCommand /etc/ssh/keys %u\n"
          "AuthorizedKeysCommandUser nobody\n", "--yes",
          files={"/etc/ssh/keys": "#!/bin/sh\n"}, prepare=loosen("/etc/ssh/keys"), after={}, alone=True),
    Shape("a Match block with a command, but no user to run it as",
          INCLUDE + f"Match Address 192.0.2.0/24\nAuthorizedKeysCommand {COMMAND}\n", "--yes", after={}, alone=True),
    Shape("a Match block with a user for no command",
          INCLUDE + "Match Address 192.0.2.0/24\nAuthorizedKeysCommandUser nobody\n", after={}, alone=True),
    Shape("Match blocks that set files and commands by themselves",
          INCLUDE + f"Match User a\nAuthorizedKeysFile .ssh/a\nMatch User b\n{WITH_COMMAND}", after={}, alone=True),
    Shape("AuthenticationMethods", INCLUDE + "AuthenticationMethods publickey,password publickey,publickey\n",
          conf=DEFAULT_FILES),
    Shape("UsePAM no, the guard alone", INCLUDE.replace("yes", "no"), "--guard", conf=DEFAULT_FILES, pam=False),
    Shape("StrictModes no", INCLUDE + "StrictModes no\n", conf=DEFAULT_FILES),
    Shape("hostbased, the guard alone", INCLUDE + "HostbasedAuthentication yes\n", "--guard", conf=DEFAULT_FILES,
          status=1, pam=False),
    Shape("hostbased, guard and PAM", INCLUDE + "HostbasedAuthentication yes\n", conf=DEFAULT_FILES),
    Shape("Match blocks about other things",
          INCLUDE + "Match User daemon\n  ForceCommand internal-sftp\n  ChrootDirectory /srv\n"
          "Match Address 10.0.0.0/8\n  PasswordAuthentication no\n",
          conf=DEFAULT_FILES, users={"daemon": BY_GUARD, "root": BY_GUARD}),
    Shape("a Match block with AuthorizedKeysFile",
          INCLUDE + "Match User daemon\n\tAuthorizedKeysFile /etc/ssh/daemon_keys\n"
          "Match Group root\n\tX11Forwarding no\n",
          conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": "/etc/ssh/daemon_keys", "authorizedkeyscommand": "none"},
              "root": BY_GUARD}),
    Shape("a Match block with AuthorizedKeysFile, no Include",
          WITHOUT_INCLUDE + "Match User daemon\n\tAuthorizedKeysFile /etc/ssh/daemon_keys\n", place=TOP,
          conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": "/etc/ssh/daemon_keys", "authorizedkeyscommand": "none"},
              "root": BY_GUARD}),
    Shape("a Match block with AuthorizedKeysCommand",
          INCLUDE + "AuthorizedKeysFile .ssh/k\nMatch User daemon\n" + WITH_COMMAND, conf=".ssh/k", users={
              "daemon": {"authorizedkeysfile": ".ssh/k", "authorizedkeyscommand": COMMAND}, "root": BY_GUARD}),
    Shape("a Match block with a principals command that sshd overlooks",
          INCLUDE + f"Match User daemon\n{WITH_COMMAND}AuthorizedPrincipalsCommand {COMMAND} p\n"
          "AuthorizedPrincipalsCommandUser daemon\n", conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": DEFAULT_FILES, "authorizedkeyscommand": COMMAND,
                         "authorizedprincipalscommand": "none" if version() < (10, 0) else f"{COMMAND} p"},
              "root": BY_GUARD}),
    Shape("a Match block with both", INCLUDE + "Match User daemon\nAuthorizedKeysFile none\n" + WITH_COMMAND,
          conf=DEFAULT_FILES, users={"daemon": {"authorizedkeysfile": "none", "authorizedkeyscommand": COMMAND},
                                     "root": BY_GUARD}),
    Shape("a Match block in an included file", INCLUDE, files={
        "/etc/ssh/sshd_config.d/70-sftp.conf": "Match User daemon\n    AuthorizedKeysFile /etc/ssh/daemon_keys"},
          conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": "/etc/ssh/daemon_keys", "authorizedkeyscommand": "none"},
              "root": BY_GUARD}),
    Shape("two Match blocks for one account", INCLUDE + "Match User daemon\nAuthorizedKeysFile .ssh/a\n"
          "Match User dae*\nAuthorizedKeysFile .ssh/b\n", conf=DEFAULT_FILES, users={
              "daemon": {"authorizedkeysfile": ".ssh/a", "authorizedkeyscommand": "none"}, "root": BY_GUARD}),
    Shape("Match all at the end", INCLUDE + "Match all\nAuthorizedKeysFile .ssh/all\n", conf=".ssh/all",
          after={"authorizedkeysfile": ".ssh/all", "authorizedkeyscommand": "none"}),
    Shape("CR LF", (INCLUDE + "PermitRootLogin no\nAuthorizedKeysFile .ssh/x\n").replace("\n", "\r\n"), conf=".ssh/x"),
    Shape("CR LF, no Include", "UsePAM yes\r\nPermitRootLogin no\r\nAuthorizedKeysFile .ssh/x\r\n", conf=".ssh/x",
          place=TOP),
    Shape("no newline at the end", "UsePAM yes\nPermitRootLogin no\nAuthorizedKeysFile .ssh/x", conf=".ssh/x",
          place=TOP),
    Shape("a link, relative", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES,
          prepare=link_config("../site/sshd_config.real")),
    Shape("a link, absolute", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES,
          prepare=link_config("/etc/site/sshd_config.real")),
    Shape("mode 0400", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES, prepare=protect(0o400, 0, 0)),
    Shape("mode 0640 and another group", WITHOUT_INCLUDE, place=TOP, conf=DEFAULT_FILES, prepare=protect(0o640, 0, 2)),
    Shape("Include written in other ways",
          'usePAM = yes\ninclude="sshd_config.d/*.conf" # not this: Include nowhere\n'
          "INCLUDE sshd_config.d/../more/a.conf /etc/none/*\n",
          files={"/etc/ssh/more/a.conf": "Include /etc/ssh/more/b*\n",
                 "/etc/ssh/more/b 1": "AuthorizedKeysFile .ssh/b\n",
                 "/etc/ssh/more/b2": "AuthorizedKeysFile .ssh/c\n"}, conf=".ssh/b"),
    Shape("no such folder as sshd_config.d", INCLUDE, place=TOP, conf=DEFAULT_FILES,
          prepare=lambda machine: shutil.rmtree(machine.path("/etc/ssh/sshd_config.d"))),
]


def differences(before, after):
    return {keyword for keyword in before.keys() | after.keys() if before.get(keyword) != after.get(keyword)}


def expect_enabled(machine, shape, before):
    machine.must_start()
    after = machine.settings()
    for keyword, value in shape.after.items():
        equal(after[keyword], value, keyword)
    surplus = differences(before, after) - set(CHANGED)
    assert not surplus, f"enable changed {surplus}"
    for user, expected in shape.users.items():
        said = machine.settings(user)
        for keyword, value in expected.items():
            equal(said[keyword], value, f"{keyword} of {user}")
        if expected == BY_GUARD:
            equal(said["authorizedkeyscommand"], after["authorizedkeyscommand"], f"of {user}")
    if shape.alone:
        equal(differences(before, after), set())
    else:
        contains(machine.read(shape.place), "# BEGIN keyveto", "# END keyveto")
    if shape.conf and shape.after.get("authorizedkeyscommand") != "none":
        equal(after["authorizedkeyscommand"],
              by_files(shape.conf, "no" if before["strictmodes"] == "no" else STRICTMODES))
    lacks(machine.read("/etc/keyveto/keyveto.conf"), "# BEGIN keyveto")
    equal(machine.first_session_line() == MODULE_LINE + (ALONE if shape.alone else ""), shape.pam)


def round_trip(machine, shape):
    if shape.prepare:
        shape.prepare(machine)
    before, snapshot = machine.settings(), machine.snapshot()
    said = {user: machine.settings(user) for user in ("root", "daemon")}
    machine.run("status", status=1)
    dry = machine.run("enable", "--dry-run", *shape.options, status=0)
    contains(dry.stdout, "pam_keyveto.so" if shape.alone else "AuthorizedKeysCommand ")
    restored(snapshot, machine.snapshot())
    machine.run("enable", *shape.options, status=0)
    expect_enabled(machine, shape, before)
    machine.run("status", status=shape.status)
    enabled = machine.snapshot()
    # A second enable adds no line twice, and disable still restores everything.
    machine.run("enable", *shape.options, status=0)
    restored(enabled, machine.snapshot())
    machine.way_back(snapshot)
    equal(machine.settings(), before)
    for user, settings in said.items():
        equal(machine.settings(user), settings)
    equal(leftovers(), [])


def every_shape(first):
    """Every second shape, from the one of this number, and with --campaign the others, too."""
    return pytest.mark.parametrize("shape", [
        pytest.param(shape, id=re.sub(r"\W+", "-", shape.title.lower()),
                     marks=[] if number % 2 == first else [pytest.mark.campaign])
        for number, shape in enumerate(SHAPES)])


@pytest.mark.sample(6)
@every_shape(1)
def test_an_image_is_what_it_was_after_enable_and_disable(scratch, shape):
    round_trip(Machine(scratch, scratch / "image", shape.config, shape.files), shape)


@pytest.mark.sample(13)
@every_shape(0)
def test_this_machine_is_what_it_was_after_enable_and_disable(scratch, shape):
    with this_machine(scratch, config=shape.config, files=shape.files) as machine:
        round_trip(machine, shape)


def sshd_of_version(folder, name):
    """This machine's sshd, under another version's name."""
    path = write(folder / "sshd",
                 f'#!/bin/sh\n[ "$1" = -V ] && {{ echo "{name}, OpenSSL" >&2; exit 0; }}\nexec {SSHD} "$@"\n',
                 mode=0o755)
    return path


def test_the_guard_gets_connection_and_wildcards_where_sshd_has_them(scratch):
    """That depends on the version that sshd prints."""
    for number, (name, connection, wildcards) in enumerate((
            ("OpenSSH_9.3p2 Debian-1", False, False), ("OpenSSH_9.4p1", True, False), ("OpenSSH_9.9p2", True, False),
            ("OpenSSH_10.0p2 Debian-7", True, True), ("OpenSSH_11.1", True, True), ("another sshd", False, False))):
        folder = scratch / str(number)
        folder.mkdir()
        image = Machine(folder, folder / "image", INCLUDE)
        image.run("enable", "--sshd", sshd_of_version(folder, name), status=0)
        equal(" --connection %C" in image.settings()["authorizedkeyscommand"], connection, name)
        equal(image.settings()["authorizedkeyscommand"].endswith(f" --wildcards {'yes' if wildcards else 'no'}"), True,
              name)


def random_settings(rnd):
    """Random lines: some set what keyveto looks at, some do not."""
    pool = ("PermitRootLogin no", "# a comment", "", "\tX11Forwarding  yes", "AuthorizedKeysFile .ssh/a .ssh/b",
            "authorizedkeysfile=/etc/keys/%u", 'AuthorizedKeysFile "%h/.ssh/c"', "AuthorizedKeysFile none",
            "=AuthorizedKeysFile .ssh/d", 'Authorized"KeysFile".ssh/e', ' "AuthorizedKeysFile" .ssh/f \f',
            WITH_COMMAND.rstrip("\n"), "AuthorizedKeysCommand none", "TrustedUserCAKeys /etc/ssh/ca",
            "AuthorizedPrincipalsFile .ssh/principals",
            f"AuthorizedPrincipalsCommand {COMMAND} p\nAuthorizedPrincipalsCommandUser daemon",
            "PasswordAuthentication no")
    return [rnd.choice(pool) for _ in range(rnd.randrange(4))]


def random_config(rnd, names=()):
    """A random file. It may include the files of these names, at its top, in its middle, or in a Match block."""
    lines = random_settings(rnd)
    for _ in range(rnd.randrange(3)):
        match = rnd.choice(("Match ", "Match ", "Match=", "=Match ", 'Mat"ch" ', '"" match\t'))
        lines.append(match + rnd.choice(("User daemon", "User root,nobody", "Group root", "all", "Address 127.0.0.0/8",
                                        "User !root,*", 'User "daemon"', "Address 192.0.2.0/24")))
        lines += random_settings(rnd)
    for name in names:
        include = rnd.choice(("Include", "include", "\tInclude ", " = Include", 'Incl"ude"'))
        lines.insert(rnd.randrange(len(lines) + 1), f"{include} {name}")
    end = rnd.choice(("\n", "\r\n"))
    return end.join("\n".join(lines).split("\n")) + rnd.choice((end, ""))


def sources(settings):
    """The places from which sshd gets keys and principals for an account. The guard counts as what it prints."""
    files, command = settings["authorizedkeysfile"], settings["authorizedkeyscommand"]
    user = settings["authorizedkeyscommanduser"]
    if command.startswith(CHAIN):
        command = command.removeprefix(CHAIN)
    elif command.startswith(FILES_COMMAND):
        equal(files, "none", "the guard hands out files, and sshd reads some too")
        files, command = " ".join(re.findall(" --file ([^ ]*)", command)), "none"
    principals = settings["authorizedprincipalscommand"].removeprefix(CHAIN)
    if principals == "/bin/echo %u":
        equal(settings["authorizedprincipalsfile"], "none", "names by themselves beside a file")
        principals = "none"
    return (files, command, user if command != "none" else "", principals,
            settings["authorizedprincipalscommanduser"] if principals != "none" else "")


def all_text(machine):
    return "\n".join(f"--- {path}\n{path.read_text(encoding='utf-8')}" for path in
                     (machine.path(TOP), *sorted(machine.path("/etc/ssh/sshd_config.d").glob("*")),
                      machine.path("/etc/ssh/other")))


REFUSALS = ("TrustedUserCAKeys is set", "this Match block and another one",
            "this Match block sets AuthorizedKeysCommand", "sshd would overlook this line",
            "only the PAM module sees both", "nothing for the guard to do")


def random_trip(machine, rnd):
    """Enables and disables. Fails if an account's keys come from another place: whether enable went on."""
    folder = machine.path("/etc/ssh/sshd_config.d")
    for path in folder.glob("*"):
        path.unlink()
    for name in rnd.sample(("00-a.conf", "10-b.conf", "zz.conf"), rnd.randrange(4)):
        machine.write(folder / name, random_config(rnd))
    machine.write("/etc/ssh/other", random_config(rnd))
    machine.write(TOP, "UsePAM yes\n" + random_config(rnd, rnd.sample(
        ("/etc/ssh/sshd_config.d/*.conf", "other", "sshd_config.d/zz* /nowhere/*"), rnd.randrange(3))))
    if machine.sshd("-t").returncode != 0:
        return False
    users = ("root", "daemon", "nobody")
    where = [(user, address) for user in users for address in ("127.0.0.1", "192.0.2.9")]
    before, snapshot = [machine.settings(*one) for one in where], machine.snapshot()
    done = machine.run("enable", "--pam", "--guard")
    if done.returncode != 0:
        assert any(words in done.stderr for words in REFUSALS), done.stderr
        restored(snapshot, machine.snapshot())
        return False
    machine.must_start()
    for one, was in zip(where, before):
        now = machine.settings(*one)
        equal(sources(now), sources(was), f"{one}\n{all_text(machine)}\n{done.stderr}")
        surplus = differences(was, now) - set(CHANGED)
        assert not surplus, f"enable changed {surplus} for {one}"
    machine.run("status", status=0)
    machine.way_back(snapshot)
    return True


@pytest.mark.long
def test_random_configurations_keep_the_sources_of_keys(scratch):
    """disable restores each file to the byte."""
    with this_machine(scratch) as machine:
        enabled = sum(random_trip(machine, random.Random(seed)) for seed in range(FIRST_TRIP, FIRST_TRIP + TRIPS))
    assert enabled > TRIPS / 4, f"only {enabled} of {TRIPS} were enabled"
