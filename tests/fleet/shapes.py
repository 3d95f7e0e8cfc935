# SPDX-License-Identifier: ISC
"""The hosts: how each differs, who has an account there, and what a rollout must make of it."""

import random
from base64 import b64encode
from dataclasses import dataclass
from functools import partial

import keys
from openssh import without_penalties
from readme import PACKAGES, ROOT
from visits import Visit

# What a rollout makes of a host.
GUARDED, BROKEN, SILENT, LOCKED_OUT, CLEAN = "guarded", "broken", "silent", "locked out", "clean"

HEAD = "Include /etc/ssh/sshd_config.d/*.conf\n"
TAIL = "".join(f"{line}\n" for line in (
    "KbdInteractiveAuthentication no", "PasswordAuthentication no", "UseDNS no", "PrintMotd no",
    "AcceptEnv LANG LC_*", "Subsystem sftp /usr/lib/openssh/sftp-server", *without_penalties()))
STOCK = f"{HEAD}UsePAM yes\n{TAIL}"
CROWD = 300
LIST_AGE = 400      # days

# Comments of keys, as bytes: what would do harm in a page, a template, a shell, a terminal, a table.
HOSTILE = (
    b"</script><script>document.title='owned'</script>", b"<img src=x onerror=document.title='owned'>",
    b"{{ lookup('pipe', 'touch /tmp/owned') }}", b"{% raw %}", b"$(touch /tmp/owned)", b"'; touch /tmp/owned; '",
    b'","verdict":"clean","x":"', b"\x1b]0;owned\x07\x1b[2J", b"\xff\xfe\x80\xc3", b"=cmd|' /C touch /tmp/owned'!A0",
    "\u202egnp.exe\u2028\u2029\u0085".encode(), b"\\u003cb\\u003e", b"&lt;b&gt;&amp;", b"a" * 8000, b"a\rb",
    b"\x01\x7f", b"!unsafe x", b"- name: x",
)
OWNED = "/tmp/owned"


@dataclass(frozen=True)
class Shape:
    """A host before the rollout."""
    name: str
    about: str
    prepare: object         # makes the host; returns its visits
    fate: str = GUARDED
    inventory: str = ""     # variables of this host


def _visit(host, title, account, identity, **how):
    return Visit(title, account, partial(host.shell, account, identity), **how)


def _people(host, fleet):
    """alice has a clean key, bob a listed one, carol a clean one with restrictions, dora both."""
    clean, listed = fleet.clean, fleet.listed
    host.add_account("alice", f"{clean.key} alice@example.org")
    host.add_account("bob", f"{listed.key} bob@example.org")
    host.add_account("carol", f'restrict,command="id -un; echo forced; echo let in" {clean.key}')
    host.add_account("dora", f"{listed.key} old laptop", f"{clean.key} new laptop")
    return (
        _visit(host, "a clean key", "alice", clean),
        _visit(host, "a listed key", "bob", listed, listed=True),
        _visit(host, "a clean key with a forced command", "carol", clean),
        _visit(host, "two keys, by the clean one", "dora", clean),
        _visit(host, "two keys, by the listed one", "dora", listed, listed=True),
        _visit(host, "a stranger", "alice", fleet.stranger, known=False),
        _visit(host, "the administrator", "root", fleet.admin),
    )


def _plain(host, fleet):
    host.start_sshd(STOCK)
    return _people(host, fleet)


def _fresh(host, fleet):
    """Nobody has a listed key."""
    host.add_account("alice", f"{fleet.clean.key} alice@example.org")
    host.start_sshd(STOCK)
    return (
        _visit(host, "a clean key", "alice", fleet.clean),
        _visit(host, "a listed key that nobody has", "alice", fleet.listed, listed=True, known=False),
        _visit(host, "the administrator", "root", fleet.admin),
    )


def _directory(host, fleet):
    """Keys come from a command, as with SSSD, beside the accounts' files."""
    host.write("/usr/libexec/directory-keys", '#!/bin/sh\ncat "/srv/directory/$1" 2>/dev/null\n', 0o755)
    people = {"lena": (fleet.clean,), "ludo": (fleet.listed,), "lars": (fleet.listed, fleet.clean)}
    for name, identities in people.items():
        host.add_account(name)
        host.write(f"/srv/directory/{name}", "".join(f"{one.key} {name}@directory\n" for one in identities))
    host.start_sshd(f"{STOCK}AuthorizedKeysCommand /usr/libexec/directory-keys %u\nAuthorizedKeysCommandUser nobody\n")
    return (
        _visit(host, "the directory's clean key", "lena", fleet.clean),
        _visit(host, "the directory's listed key", "ludo", fleet.listed, listed=True),
        _visit(host, "the directory's two keys, by the clean one", "lars", fleet.clean),
        _visit(host, "the directory's two keys, by the listed one", "lars", fleet.listed, listed=True),
        *_people(host, fleet))


def _authorities(host, fleet):
    """Certificates of a CA, beside the accounts' files."""
    host.write("/etc/ssh/users.pub", f"{fleet.ca.key}\n")
    for name in ("cleo", "carl"):
        host.add_account(name)
    clean, listed = (keys.certify(fleet.ca, identity, name)
                     for identity, name in ((fleet.clean, "cleo"), (fleet.listed, "carl")))
    host.start_sshd(f"{STOCK}TrustedUserCAKeys /etc/ssh/users.pub\n")
    return (
        _visit(host, "a certificate of a clean key", "cleo", clean),
        _visit(host, "a certificate of a listed key", "carl", listed, listed=True),
        _visit(host, "somebody else's certificate", "cleo", listed, listed=True, known=False),
        *_people(host, fleet))


def _matches(host, fleet):
    """A group's keys are elsewhere, and a Match block forces a command."""
    for name, identity in (("olga", fleet.clean), ("oleg", fleet.listed)):
        host.add_account(name, group="operators")
        host.write(f"/etc/ssh/operators/{name}", f"{identity.key} {name}@example.org\n")
    host.add_account("keeper", fleet.clean.key)
    host.start_sshd(f"{STOCK}Match Group operators\n\tAuthorizedKeysFile /etc/ssh/operators/%u\n"
                    "Match User keeper\n\tForceCommand id -un; echo backup; echo let in\n\tPermitTTY no\n"
                    "\tAllowTcpForwarding no\n")
    return (
        _visit(host, "a Match block's clean key", "olga", fleet.clean),
        _visit(host, "a Match block's listed key", "oleg", fleet.listed, listed=True),
        _visit(host, "a Match block's command", "keeper", fleet.clean),
        *_people(host, fleet))


def _no_pam(host, fleet):
    host.start_sshd(f"{HEAD}UsePAM no\n{TAIL}")
    return _people(host, fleet)


def _broken(host, fleet):
    """The sshd that runs would not start again: somebody has changed a file since."""
    visits = _plain(host, fleet)
    host.write("/etc/ssh/sshd_config.d/50-site.conf", "NoSuchKeyword yes\n")
    return visits


def _locked_out(host, fleet):
    """root, as whom the controller comes, has no key but a listed one."""
    *visits, _ = _plain(host, fleet)
    host.authorize("root", f"{fleet.leaked_admin.key} admin@leaked")
    return (*visits, _visit(host, "the administrator, by a listed key", "root", fleet.leaked_admin, listed=True))


def made_keys(n, seed):
    """That many Ed25519 keys, of which nobody has the private half."""
    draw = random.Random(seed)
    head = b"\0\0\0\x0bssh-ed25519\0\0\0\x20"
    return [f"ssh-ed25519 {b64encode(head + draw.randbytes(32)).decode()}" for _ in range(n)]


def _crowd(host, fleet):
    """Many accounts, and comments that are made to do harm."""
    for number, key in enumerate(made_keys(CROWD, "crowd")):
        comment = HOSTILE[number % len(HOSTILE)]
        lines = [key.encode() + b" " + comment]
        if number < len(HOSTILE):       # each comment once beside a key that is listed
            lines.append(str(fleet.listed.key).encode() + b" " + comment)
        host.add_account(f"user{number:03}", *lines)
    host.start_sshd(STOCK)
    return (_visit(host, "a listed key with a hostile comment", "user000", fleet.listed, listed=True),
            *_people(host, fleet))


def _old_list(host, fleet):
    """keyveto is there already, with a list of its own, which the rollout leaves alone."""
    host.run(f"cd {ROOT} && dpkg -i {PACKAGES} >/dev/null && cd /var/lib/keyveto && "
             f"keyveto list create own.dat --id 1 --name own /dev/stdin <<<'{fleet.listed.key}' && "
             f"echo \"# date $(date -u -d '{LIST_AGE} days ago' +%F)\" >>own.dat.sources && "
             "echo 'Blocklist /var/lib/keyveto/own.dat' >>/etc/keyveto/keyveto.conf")
    return _plain(host, fleet)


SHAPES = (
    Shape("plain", "Debian's sshd as it comes", _plain),
    Shape("directory", "an AuthorizedKeysCommand, as with SSSD", _directory),
    Shape("authorities", "TrustedUserCAKeys", _authorities),
    Shape("matches", "Match blocks", _matches),
    Shape("nopam", "UsePAM no", _no_pam),
    Shape("broken", "an sshd_config that sshd -t refuses", _broken, BROKEN),
    Shape("hanging", "accepts connections, and says nothing", _plain, SILENT),
    Shape("lockedout", "root's only key is listed", _locked_out, LOCKED_OUT,
          "ansible_ssh_private_key_file=/root/.ssh/leaked"),
    Shape("oldlist", "has a list of last year", _old_list, inventory="keyveto_lists=[]"),
    Shape("fresh", "nobody has a listed key", _fresh, CLEAN),
    Shape("crowd", f"{CROWD} accounts and hostile comments", _crowd),
)
