# SPDX-License-Identifier: ISC
"""The keys in a directory, and whose they are: Debian's slapd, ldapadd, docs/elsewhere.md's ldapsearch, slapcat."""

import json
import random
import re
import sys
from base64 import b64encode
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path += [str(ROOT / "tests" / folder) for folder in ("packaging", "oracle")]

import host
import nosecret
import sandbox
from machine import write_as_root
from steps import Part, check

FOLDER = Path("/srv/directory")
BASE, URI = "dc=example,dc=org", "ldap://127.0.0.1"
ADMIN, SECRET = f"cn=admin,{BASE}", "secret"
STEP = re.compile(r"^<!-- step: ldap -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# The schema openssh-lpk, with the attributes of FreeIPA and Active Directory beside it.
SLAPD = f"""\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
attributetype ( 1.3.6.1.4.1.24552.500.1.1.1.13 NAME 'sshPublicKey' DESC 'MANDATORY: OpenSSH Public key'
  EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
attributetype ( 2.16.840.1.113730.3.8.11.31 NAME 'ipaSshPubKey'
  EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
attributetype ( 1.2.840.113556.1.4.867 NAME 'altSecurityIdentities'
  EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.2.840.113556.1.4.221 NAME 'sAMAccountName'
  EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
objectclass ( 1.3.6.1.4.1.24552.500.1.1.2.0 NAME 'ldapPublicKey' DESC 'MANDATORY: OpenSSH LPK objectclass'
  SUP top AUXILIARY MAY ( sshPublicKey $ ipaSshPubKey $ altSecurityIdentities $ sAMAccountName $ uid ) )
pidfile {FOLDER}/slapd.pid
modulepath /usr/lib/ldap
moduleload back_mdb
database mdb
suffix "{BASE}"
rootdn "{ADMIN}"
rootpw {SECRET}
directory {FOLDER}/db
access to * by * read
"""


def made_key(draw):
    head = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
    return f"ssh-ed25519 {b64encode(head + draw.randbytes(32)).decode()}"


def wide_key(draw):
    """An RSA key whose line is folded many times. Without a small factor, so that no list has it."""
    parts = (b"ssh-rsa", b"\1\0\1", b"\0" + nosecret.sound_number(draw, 4096).to_bytes(512, "big"))
    return "ssh-rsa " + b64encode(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).decode()


def entry(dn, *attributes):
    """An entry of LDIF. All values are in base64, so that they may hold anything."""
    rows = [f"{name}:: {b64encode(value.encode()).decode()}" for name, value in (("dn", dn), *attributes)]
    return "\n".join([*rows, "objectClass: inetOrgPerson", "objectClass: ldapPublicKey", "", ""])


def entries(draw):
    """(LDIF, {attribute: {key without its comment: the dn of its entry}})"""
    text = "".join((f"dn: {BASE}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: Example\n\n",
                    f"dn: ou=People,{BASE}\nobjectClass: organizationalUnit\nou: People\n\n"))
    found_in = {}
    for number in range(60):
        name = draw.choice((f"Person {number}", f"Jürgen Ö {number}", f"x{number}" * 40, f"a+b {number}"))
        uid = draw.choice((None, f"user{number}"))
        dn = f"cn={name.replace('+', chr(92) + '2B')},ou=People,{BASE}"
        keys = [draw.choice((made_key, wide_key))(draw) for _ in range(draw.choice((0, 1, 3)))]
        kind = draw.choice(("sshPublicKey", "sshPublicKey", "ipaSshPubKey", "altSecurityIdentities"))
        end = " trailing \n" if kind != "altSecurityIdentities" else ""
        values = [key + draw.choice(("", " laptop", " bü ro", end)) for key in keys]
        account = f"sam{number}" if kind == "altSecurityIdentities" and uid is None else None
        text += entry(dn, ("cn", name), ("sn", "x"), ("description", "uid: nobody"), *((kind, one) for one in values),
                      *((("uid", uid),) if uid else ()), *((("sAMAccountName", account),) if account else ()))
        found_in.setdefault(kind, {}).update(dict.fromkeys(keys, dn))
    return text, found_in


def found(output):
    """{fingerprint: the dn at the end of the comment} of what keyveto check --json printed."""
    rows = [json.loads(line) for line in output.splitlines()]
    return {row["fingerprint"]: row["comment"][row["comment"].index("cn="):] for row in rows}


def wanted(keys):
    """The same of the keys that were added, by ssh-keygen. Names are compared as the directory writes them."""
    file = write_as_root(FOLDER / "keys", "".join(f"{key}\n" for key in keys))
    names = [line.split()[1] for line in host.run("ssh-keygen", "-lf", file).splitlines()]
    return dict(zip(names, keys.values()))


def same(ours, theirs, what):
    """Compares, but for how slapd writes a plus in a dn."""
    def plain(names):
        return {key: name.replace("\\2B", "\\+").replace("\\2b", "\\+") for key, name in names.items()}
    check(plain(ours) == plain(theirs), f"{what}: {set(plain(ours).items()) ^ set(plain(theirs).items())}")


def keys_of_the_directory(part):
    build = Path(sys.argv[sys.argv.index("--build") + 1]).resolve()
    host.install("slapd", "ldap-utils")
    (FOLDER / "db").mkdir(parents=True)
    config = write_as_root(FOLDER / "slapd.conf", SLAPD)
    host.run("chown", "-R", "openldap:openldap", FOLDER)
    host.run("slapd", "-u", "openldap", "-g", "openldap", "-f", config, "-h", f"{URI}/")
    text, keys = entries(random.Random(17))
    ldif = write_as_root(FOLDER / "people.ldif", text)
    host.wait_until(lambda: host.attempt("ldapsearch", "-x", "-H", URI, "-b", "", "-s", "base").returncode == 0,
                    "slapd answers")
    host.run("ldapadd", "-x", "-H", URI, "-D", ADMIN, "-w", SECRET, "-f", ldif)
    empty = FOLDER / "empty.pkbf"
    host.run(build / "keyveto", "filter", "create", empty, "--hashes", "7", "--length", "10")
    write_as_root("/usr/bin/keyveto",
                  f"#!/bin/sh\nshift\nexec {build}/keyveto check --all --json --filter {empty} \"$@\"\n", 0o755)
    step = STEP.search((ROOT / "docs/elsewhere.md").read_text(encoding="utf-8"))[1]
    for kind, ours in keys.items():
        searched = host.run("bash", "-euo", "pipefail", "-c", f"LDAP={URI} BASE={BASE} ATTRIBUTE={kind}; {step}")
        same(found(searched), wanted(ours), f"ldapsearch, {kind}")
        part.ok(f"docs/elsewhere.md's ldapsearch names the entries of {len(ours)} keys of slapd in {kind}")
        search = step[step.index("ldapsearch"):step.index(" |")]
        dumped = host.run("bash", "-euo", "pipefail", "-c", f"ATTRIBUTE={kind}; "
                          + step.replace(search, f"slapcat -o ldif-wrap=no -f {config}"))
        same(found(dumped), wanted(ours), f"slapcat, {kind}")
        part.ok("and so does it with slapcat")


def play():
    """Plays in a throw-away root."""
    if not sandbox.inside():
        return sandbox.run([sys.executable, *sys.argv])
    part = Part()
    part.run(keys_of_the_directory)
    return part.status()
