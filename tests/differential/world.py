# SPDX-License-Identifier: ISC
"""Writes a draw into the throw-away root that this process is in."""

import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

import grammar
import openssh
import policy
import product
from machine import Machine, write_as_root
from server import STOCK_STACK

PASSWORD = "right-one"
# openssl passwd -5 -salt differential right-one
PASSWORD_HASH = "$5$differential$vWlzwWH/GaBPretuTLhcooO9nUZIi/VQFB4KWhNYtO1"
READER = 2900                   # the uid of kvd-reader, whom sshd runs commands as
SHELL_FILES = (".profile", ".bash_profile", ".bash_login", ".bashrc")
TODAY = 20000                   # in days: for expired accounts, and for the dates of passwords
CONFIG = Path("/etc/ssh/sshd_config")
DROP_INS = "/etc/ssh/sshd_config.d"
TUN = os.makedev(10, 200)

# Settings that follow those of a draw. sshd uses the first value of a keyword.
FRAME = f"""\
AddressFamily inet
HostKey /etc/ssh/ssh_host_ed25519_key
Port {grammar.PORTS[0]}
Port {grammar.PORTS[1]}
AcceptEnv KVD_CLIENT
KbdInteractiveAuthentication no
X11Forwarding yes
XAuthLocation {grammar.HOME}/xauth
UseDNS yes
PrintMotd no
PrintLastLog no
LoginGraceTime 60
MaxStartups 100
LogLevel VERBOSE
Subsystem sftp internal-sftp
"""


# sshd_config

def _lines(settings):
    return [f"{keyword} {value}" for keyword, value in settings]


def _block(block, includes=()):
    return [f"Match {block['criteria']}", *(f"    {line}" for line in [*_lines(block["settings"]), *includes])]


def config_files(draw, frame):
    """Each file of sshd's configuration, as text by its path."""
    config, files, top, nested = draw["config"], {}, [], {}
    if config["include"]:
        top.append(f"Include {DROP_INS}/*.conf")
    for drop_in in config["drop_ins"]:
        text = _lines(drop_in["settings"])
        for block in drop_in["matches"]:
            text += _block(block)
        place, name = drop_in["place"], drop_in["name"]
        if place == "match":
            path = f"/etc/ssh/in-match/{name}.conf"
            nested.setdefault(drop_in["block"], []).append(f"Include {path}")
        elif place == "nested":
            path = f"/etc/ssh/nested/{name}.conf"
            outer = f"{DROP_INS}/{name}.conf" if config["include"] else f"/etc/ssh/extra/{name}.conf"
            files[outer] = f"Include {path}\n"
        else:
            path = f"{DROP_INS}/{name}.conf" if config["include"] else f"/etc/ssh/extra/{name}.conf"
        files[path] = "".join(f"{line}\n" for line in text)
        if place != "match" and not config["include"]:
            top.append(f"Include /etc/ssh/extra/{name}.conf")
    top += [*_lines(config["main"]), *frame.splitlines()]
    for number, block in enumerate(config["matches"]):
        top += _block(block, nested.get(number, ()))
    files[str(CONFIG)] = "".join(f"{line}\n" for line in top)
    return files


# Lines of keys and principals

def line_text(line, pool):
    """A line of an account's file."""
    if "text" in line:
        return line["text"]
    return " ".join(filter(None, (",".join(line["options"]), pool.keys[line["key"]].line, line["comment"])))


def file_text(lines, pool, eol="\n", final=True):
    text = eol.join(line_text(line, pool) for line in lines)
    return text + eol if final and lines else text


# Commands

_ARGUMENT_PATTERNS = {"%t": "ssh-*|ecdsa-*", "%f": "SHA256:*", "%k": "AAAA*", "%K": "AAAA*", "%T": "ssh-*|ecdsa-*",
                      "%F": "SHA256:*", "%i": "id-*", "%s": "*", "100%%": "'100%'"}
_ACCOUNT_TOKENS = {"%u": "name", "%U": "uid", "%h": "home"}


def command_script(command, draw, pool):
    """A program that prints the lines of the draw if sshd calls it, with the right arguments, and else fails."""
    folder = f"{grammar.HOME}/command{command['number']}.d"
    # Called without arguments, a keys command is given the account's name.
    arguments = shlex.split(command["arguments"]) or (["%u"] if command["kind"] == "keys" else [])
    text = ["#!/bin/bash", f"[ $# -eq {len(arguments)} ] || exit 1"]
    if command["user"] != "%u":
        text.append(f"[ \"$LOGNAME\" = {command['user']} ] || exit 1")
    served = f"{folder}/all"
    for number, argument in enumerate(arguments, 1):
        text.append(f"case ${{{number}}} in")
        if argument in _ACCOUNT_TOKENS:
            for account in draw["accounts"]:
                value = shlex.quote(str(account[_ACCOUNT_TOKENS[argument]]))
                text.append(f"{value}) served={shlex.quote(folder + '/' + account['name'])} ;;")
        else:
            text.append(f"{_ARGUMENT_PATTERNS.get(argument, shlex.quote(argument))}) ;;")
        text += ["*) exit 1 ;;", "esac"]
    text += [f'served=${{served-{served}}}', 'if [ -e "$served" ]; then exec cat "$served"; fi']
    return "".join(f"{line}\n" for line in text)


def command_files(command, draw, pool):
    """The files with the lines that the command prints for each account, by path."""
    folder = f"{grammar.HOME}/command{command['number']}.d"
    files = {f"{folder}/{name}": file_text(lines, pool) for name, lines in command["serves"].items()}
    files[f"{folder}/all"] = "".join(files.values())
    return files


# The machine

def describe(draw, pool, frame=FRAME):
    """The draw as text, without the clients."""
    out = []
    for path, text in config_files(draw, "" if frame is FRAME else frame).items():
        out.append((path, text))
    for account in draw["accounts"]:
        out.append((f"account {account['name']}", "".join(f"{key} {oct(value) if key == 'home_mode' else value}\n"
                    for key, value in account.items() if key not in ("name", "gid"))))
    for group in draw["groups"]:
        out.append((f"group {group['name']}", " ".join(group["members"]) + "\n"))
    for mask in draw.get("masks", ()):
        out.append((mask["path"], f"a mask: {mask['kind']}\n"))
    if draw.get("options"):
        out.append(("the -o options of sshd", "".join(f"{option!r}\n" for option in draw["options"])))
    for path, names in draw["cas"].items():
        out.append((path, "".join(f"{name}\n" for name in names)))
    for one in draw["files"]:
        notes = f" (mode {one['mode']:o}, folder {one['folder_mode']:o}, of {one['owner']}, a {one['kind']}" + (
            ", CRLF" if one["eol"] == "\r\n" else "") + (", no final newline" if not one["final"] else "") + ")"
        out.append((one["path"] + notes, "".join(f"{_named(line)}\n" for line in one["lines"])))
    for command in draw["commands"]:
        for name, lines in command["serves"].items():
            out.append((f"{grammar.HOME}/command{command['number']} for {name}",
                        "".join(f"{_named(line)}\n" for line in lines)))
    out += policy.describe(draw)
    return "".join(f"== {title}\n{text}" for title, text in out)


def _named(line):
    if "text" in line:
        return line["text"]
    return " ".join(filter(None, (",".join(line["options"]), f"<{line['key']}>", line["comment"])))


def build(draw, pool, binaries, settings):
    """Makes the machine of the draw. keyveto is installed and not enabled."""
    machine = Machine()
    os.mkdir(grammar.HOME, 0o755)
    with tempfile.TemporaryDirectory() as scratch:
        product.install(machine, binaries, Path(scratch))
    shutil.rmtree(DROP_INS, ignore_errors=True)
    os.mkdir(DROP_INS, 0o755)
    _write_policies(draw, pool, settings)
    _make_tun()
    _write_programs(machine)
    _write_accounts(draw)
    _write_hosts()
    for path, text in config_files(draw, FRAME + "".join(f"{line}\n" for line in openssh.without_penalties())).items():
        machine.write(path, text)
    for path, names in draw["cas"].items():
        machine.write(path, "".join(f"{pool.keys[name].line}\n" for name in names))
    for command in draw["commands"]:
        for path, text in command_files(command, draw, pool).items():
            machine.write(path, text)
        machine.write(f"{grammar.HOME}/command{command['number']}", command_script(command, draw, pool), 0o755)
    for one in draw["files"]:
        _write_file(one, draw, pool)
    for mask in draw.get("masks", ()):
        _write_mask(Path(mask["path"]), mask["kind"])


def _write_mask(path, kind):
    """sshd and libpam read it as an empty file."""
    if kind == "null":
        path.symlink_to("/dev/null")
    else:
        path.mkdir()
    if path.parent == Path(STOCK_STACK).parent:
        text = Path(STOCK_STACK).read_text(encoding="utf-8")
        write_as_root(STOCK_STACK, f"{text.rstrip()}\n@include {path.name}\n")


def _write_policies(draw, pool, settings):
    """Writes the configurations, after the comments of the one that is installed, and their filters and lists."""
    for one in draw["policies"]:
        write_as_root(one["path"], settings + policy.config_text(one, pool).encode())
    for one in draw["lists"]:
        if one["state"] != "missing":
            write_as_root(one["path"], policy.list_bytes(one, pool), 0o666 if one["state"] == "insecure" else 0o644)
    if draw["modules"]:
        write_as_root(STOCK_STACK, policy.stack_with(STOCK_STACK.read_text(encoding="utf-8"), draw["modules"]))


def _make_tun():
    if os.path.exists("/dev/net/tun"):      # the throw-away root has the machine's device
        return
    os.makedirs("/dev/net", exist_ok=True)
    os.mknod("/dev/net/tun", 0o666 | stat.S_IFCHR, TUN)


def _write_programs(machine):
    machine.write(grammar.PROBE, PROBE_TEXT, 0o755)
    machine.write(f"{grammar.HOME}/xauth", "#!/bin/sh\nexec cat >/dev/null\n", 0o755)
    machine.write(f"{grammar.HOME}/banner", "a banner\n")
    machine.make_folder(f"{grammar.HOME}/jail")
    shutil.rmtree("/etc/update-motd.d", ignore_errors=True)


# Read now: the path does not exist in another root.
PROBE_TEXT = (Path(__file__).resolve().parent / "probe").read_bytes()


def _write_hosts():
    names = ["127.0.0.1 localhost"]
    for number in range(1, 255):
        names += [f"127.0.{net}.{number} h{number}.{'trusted' if net == 2 else f'net{net}'}.example"
                  for net in grammar.NETS]
    write_as_root("/etc/hosts", "".join(f"{line}\n" for line in names))
    write_as_root("/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n")


def _shadow(account):
    hashed = {"locked": "!" + PASSWORD_HASH}.get(account["password"], PASSWORD_HASH)
    changed = 0 if account["password"] == "change" else TODAY
    expires = TODAY if account["password"] == "expired" else ""
    return f"{account['name']}:{hashed}:{changed}:0:99999:7::{expires}:\n"


def _write_accounts(draw):
    passwd = [f"kvd-reader:x:{READER}:{READER}::/:/usr/sbin/nologin\n"]
    group, shadow = [f"kvd-reader:x:{READER}:\n"], ["kvd-reader:*:20000:0:99999:7:::\n"]
    for account in draw["accounts"]:
        passwd.append("{name}:x:{uid}:{gid}::{home}:{shell}\n".format(**account))
        shadow.append(_shadow(account))
        if account["gid"] == account["uid"] != 0:
            members = "kvd-reader" if account["shared_group"] else ""
            group.append(f"{account['name']}:x:{account['gid']}:{members}\n")
    for one in draw["groups"]:
        group.append(f"{one['name']}:x:{one['gid']}:{','.join(one['members'])}\n")
    for path, lines in (("/etc/passwd", passwd), ("/etc/group", group), ("/etc/shadow", shadow)):
        mine = {line.partition(":")[0] for line in lines}
        others = [line for line in Path(path).read_text(encoding="utf-8").splitlines(True)
                  if line.partition(":")[0] not in mine]
        write_as_root(path, "".join(lines + others if path == "/etc/passwd" else others + lines),
                      0o640 if "shadow" in path else 0o644)
    for account in draw["accounts"]:
        _make_home(account)


def _make_home(account):
    home = Path(grammar.place(account["home"]))
    if account["home"] == "/nonexistent":
        return
    home.mkdir(exist_ok=True)
    os.chown(home, account["uid"], account["gid"])
    home.chmod(account["home_mode"])
    # A draw does not use the shell files of this machine's root.
    for name in (".ssh/authorized_keys", ".ssh/authorized_keys2", *SHELL_FILES):
        (home / name).unlink(missing_ok=True)


def _write_file(one, draw, pool):
    """Writes a file of keys or principals, and the folder above it."""
    account = next((a for a in draw["accounts"] if a["name"] == one["account"]), None)
    path = Path(one["path"])
    if account is None or one["path"].startswith("/nonexistent"):
        return
    owner = (account["uid"], account["gid"]) if one["owner"] == "account" else (0, 0)
    in_home = Path(grammar.place(account["home"])) in path.parents
    for folder in reversed(path.parents):
        if not folder.exists():
            folder.mkdir()
            if in_home:
                os.chown(folder, account["uid"], account["gid"])
            folder.chmod(one["folder_mode"] if in_home else 0o755)
    if one["kind"] == "folder":
        path.mkdir(exist_ok=True)
        return
    if one["kind"] == "link":
        target = path.with_name(path.name + ".real")
        path.symlink_to(target.name)
        path = target
    path.write_bytes(file_text(one["lines"], pool, one["eol"], one["final"]).encode())
    os.chown(path, *owner)
    path.chmod(one["mode"])


# What the clients hold

CLIENT_KEYS = Path("/run/kvd-keys")
_TODAY_IS_PAST = "20200101:20210101"


class Identities:
    """The key and certificate files of the clients. Each certificate is made once."""

    def __init__(self, pool):
        self.pool, self._made, self._lock = pool, {}, threading.Lock()
        CLIENT_KEYS.mkdir(mode=0o700)
        for name, key in pool.keys.items():
            path = CLIENT_KEYS / name
            path.write_text(key.private, encoding="ascii")
            path.chmod(0o600)
            path.with_name(f"{name}.pub").write_text(key.line + "\n", encoding="ascii")

    def options(self, identity):
        """The options of ssh for an identity."""
        path = CLIENT_KEYS / identity["key"]
        options = ["-i", str(path)]
        if identity.get("certificate"):
            with self._lock:
                options += ["-o", f"CertificateFile={self._certificate(identity)}"]
        return options

    def _certificate(self, identity):
        wanted = repr(identity)
        if wanted not in self._made:
            certificate, number = identity["certificate"], len(self._made)
            copy = CLIENT_KEYS / f"certified{number}.pub"
            copy.write_text(self.pool.keys[identity["key"]].line + "\n", encoding="ascii")
            argv = ["ssh-keygen", "-q", "-s", CLIENT_KEYS / certificate["ca"], "-I", f"id-{number}",
                    "-n", ",".join(certificate["principals"])]
            for option in certificate["options"]:
                argv += ["-O", option]
            if certificate["expired"]:
                argv += ["-V", _TODAY_IS_PAST]
            subprocess.run([*argv, copy], check=True, stdin=subprocess.DEVNULL, capture_output=True)
            self._made[wanted] = CLIENT_KEYS / f"certified{number}-cert.pub"
        return self._made[wanted]
