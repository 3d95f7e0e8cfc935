# SPDX-License-Identifier: ISC
"""SSSD with slapd: accounts and keys from LDAP, beside accounts of this machine."""

import os
from functools import partial
from pathlib import Path

from host import attempt, run, wait_until
from machine import write_as_root
from switch import NO_GUARD_ALONE, Arrangement
from visits import Visit, shell

PACKAGES = ("slapd", "ldap-utils", "sssd-ldap", "libnss-sss", "libpam-sss")

FOLDER = Path("/srv/ldap")
BASE = "dc=example,dc=org"
URI = "ldap://127.0.0.1"

SLAPD = f"""\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
# Where SSSD looks for keys unless told otherwise, in the form that most use.
attributetype ( 1.3.6.1.4.1.24552.500.1.1.1.13 NAME 'sshPublicKey'
  EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
objectclass ( 1.3.6.1.4.1.24552.500.1.1.2.0 NAME 'ldapPublicKey'
  SUP top AUXILIARY MAY ( sshPublicKey $ uid ) )
pidfile {FOLDER}/slapd.pid
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "{BASE}"
directory {FOLDER}/db
access to * by * read
"""

TREE = f"""\
dn: {BASE}
objectClass: dcObject
objectClass: organization
dc: example
o: Example

"""

PERSON = """\
dn: uid={name},{base}
objectClass: account
objectClass: posixAccount
objectClass: ldapPublicKey
cn: {name}
uid: {name}
uidNumber: {number}
gidNumber: 100
homeDirectory: /home/{name}
loginShell: /bin/sh
{keys}
"""

SSSD = f"""\
[sssd]
services = nss, pam, ssh
domains = example

[domain/example]
id_provider = ldap
auth_provider = none
access_provider = permit
ldap_uri = {URI}
ldap_search_base = {BASE}
"""

STOCK = "Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\nKbdInteractiveAuthentication no\n"
COMMAND = "/usr/bin/sss_ssh_authorizedkeys"


def _start_slapd(people):
    database = FOLDER / "db"
    database.mkdir(parents=True)
    config, tree = write_as_root(FOLDER / "slapd.conf", SLAPD), FOLDER / "tree.ldif"
    entries = [PERSON.format(name=name, base=BASE, number=20001 + number, keys="".join(
        f"sshPublicKey: {key}\n" for key in listed)) for number, (name, listed) in enumerate(people.items())]
    write_as_root(tree, TREE + "".join(entries))
    run("slapadd", "-f", config, "-l", tree)
    run("chown", "-R", "openldap:openldap", FOLDER)
    run("slapd", "-u", "openldap", "-g", "openldap", "-f", config, "-h", f"{URI}/")
    wait_until(lambda: attempt("ldapsearch", "-x", "-H", URI, "-b", BASE).returncode == 0, "slapd answers")


def _start_sssd(people):
    write_as_root("/etc/sssd/sssd.conf", SSSD, 0o600)
    run("sssd", "-D")
    for number, (name, listed) in enumerate(people.items()):
        wanted = sorted(str(key) for key in listed)
        wait_until(lambda name=name, wanted=wanted: sorted(attempt(COMMAND, name).stdout.splitlines()) == wanted,
                   f"SSSD has the keys of {name}")
        home = Path(f"/home/{name}")
        home.mkdir()
        os.chown(home, 20001 + number, 100)


def arrange(world):
    clean, listed = world.clean.key, world.listed.key
    people = {"lena": [clean], "ludo": [listed], "lars": [listed, clean]}
    _start_slapd(people)
    _start_sssd(people)
    alice, bob, carol = (world.machine.add_account() for _ in range(3))
    alice.authorize(clean)
    bob.authorize(listed)
    carol.authorize(f'restrict,command="id -un; echo forced; echo let in" {clean}')

    def visit(title, account, identity, **how):
        return Visit(title, account, partial(shell, world, account, identity), **how)
    ldap = (
        visit("an account of LDAP with a clean key", "lena", world.clean),
        visit("an account of LDAP with a listed key", "ludo", world.listed, listed=True),
        visit("an account of LDAP with two keys, by the clean one", "lars", world.clean),
        visit("an account of LDAP with two keys, by the listed one", "lars", world.listed, listed=True),
        visit("a stranger at an account of LDAP", "lena", world.stranger, known=False),
        visit("a listed key that LDAP does not have", "lena", world.listed, listed=True, known=False),
    )
    local = (
        visit("an account of this machine with a clean key", alice.name, world.clean),
        visit("an account of this machine with a listed key", bob.name, world.listed, listed=True),
        visit("an account of this machine with a forced command", carol.name, world.clean),
        visit("a stranger at an account of this machine", alice.name, world.stranger, known=False),
    )
    lines = f"{STOCK}AuthorizedKeysCommand {COMMAND}{{}}\nAuthorizedKeysCommandUser nobody\n"
    yield Arrangement("SSSD, without arguments", lines.format(""), ldap + local, bob.name, NO_GUARD_ALONE)
    yield Arrangement("SSSD, with %u", lines.format(" %u"), ldap[:4] + local[:2], bob.name, NO_GUARD_ALONE)
    yield Arrangement("SSSD alone, without arguments", lines.format("") + "AuthorizedKeysFile none\n", ldap)
