# SPDX-License-Identifier: ISC
"""Draws a machine, and a command that changes which keys its logins refuse.

A draw has what grammar.py and policy.py describe, and:

    settings    the lines of update.conf
    enable      the options with which keyveto is enabled, or None
    printed     a command that prints keys: its arguments, what becomes of it, and the lines for each account
    revoked     what RevokedKeys names: a path, or None; which kind of file; and the keys in it
    second      a second sshd: the settings of its file, or None for the first one's, and its -o options
    change      the command; the keys that it lists, in each night; and a link by which it names the file
"""

import random
import re

import grammar
import policy

KEYS = tuple(f"key{number}" for number in range(16))
RSA, ECDSA, CAS = ("rsa0",), ("ecdsa0", "ecdsa1"), ("ca0", "ca1")
OLD, HOLDER = "old0", "holder"     # listed from the beginning; in each certificate: nobody has either in a file
NAMES = (*KEYS, *RSA, *ECDSA, *CAS, OLD, HOLDER)
KINDS = {**dict.fromkeys(RSA, "rsa"), **dict.fromkeys(ECDSA, "ecdsa")}
PEOPLE = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi")
ODD_PEOPLE = ("john smith", "Frank", "dot.ted", "per%cent", "hash#tag")
SECOND_PORT = 2200
CLIENTS = 44                    # at most so many logins
PATTERNS = (".ssh/authorized_keys", "/etc/ssh/keys/%u", "%h/.ssh/mine", "/etc/ssh/other/%u")
STATE, ELSEWHERE = "/var/lib/keyveto", "/etc/keyveto"
LIST_CHANGES = ("list add", "list create", "list merge", "update list", "rollback list")
FILTER_CHANGES = ("filter add", "filter create", "filter merge", "update filter", "rollback filter")
NIGHTLY = ("list add", "list merge", "update list", "filter add", "filter merge", "update filter")
LINK = "/etc/keyveto/link"
PRINTER = "/usr/lib/keys-of-others"
DEFAULT_GROUPS = ("sudo", "wheel", "admin")
GIDS = {"sudo": 4100, "wheel": 4101, "admin": 4102, "operators": 4001}

# Options of a line that let nobody in with a shell, from any address of these clients.
NO_WAY_IN = ('expiry-time="20200101"', f'command="{grammar.PROBE} forced-1"', "restrict", "no-pty",
             'from="10.9.0.0/16"', f'restrict,command="{grammar.PROBE} forced-2"')
# RevokedKeys: the word in sshd_config, the file, and its kind.
REVOKED = {
    ("/dev/null", None, None): 3,
    ("none", None, None): 1,
    ("/etc/ssh/revoked", "/etc/ssh/revoked", "text"): 3,
    ("/etc/ssh/revoked", "/etc/ssh/revoked", "krl"): 2,
    ("/etc/ssh/revoked", "/etc/ssh/revoked", "null"): 1,
    ('"/etc/ssh/revoked keys"', "/etc/ssh/revoked keys", "text"): 2,
    ('"/etc/ssh/revoked\\"keys"', '/etc/ssh/revoked"keys', "text"): 1,
    ("etc/ssh/revoked", "/etc/ssh/revoked", "text"): 1,
    ("/etc/ssh/revoked", "/etc/ssh/revoked", "folder"): 0.3,
    ("/etc/ssh/revoked", None, None): 0.3,
}
SOME_WAY_IN = ('from="127.0.2.0/24"', 'from="127.0.1.*"', 'expiry-time="20400101"', "restrict,pty",
               "no-agent-forwarding")


class Grammar(grammar.Dice):
    def __init__(self, seed):
        self.r = random.Random(f"brake {seed}")
        self.unused = list(KEYS)
        self.r.shuffle(self.unused)
        self.draw = {"accounts": [], "groups": [], "files": [], "commands": [], "cas": {}, "clients": [], "modules": [],
                     "lists": [], "policies": [], "settings": [], "second": None, "enable": None, "revoked": None,
                     "printed": None,
                     "config": {"include": True, "main": [], "drop_ins": [], "matches": []}}

    def make(self):
        self.nights = self.maybe(0.1)
        self.add_accounts()
        self.add_policies()
        self.add_config()
        self.add_files()
        self.add_revoked()
        self.add_printed()
        self.add_masks()
        self.add_change()
        self.add_clients()
        return self.draw

    # Accounts

    def add_accounts(self):
        draw = self.draw
        draw["accounts"].append(self.account("root", 0, "/root"))
        if self.maybe(0.08):
            draw["accounts"].append(self.account("toor", 0, "/home/toor"))
        count = self.r.randint(5, 8) if self.nights else self.r.randint(2, 4)
        people = self.r.sample(PEOPLE, count)
        if self.maybe(0.12):
            people[0] = self.r.choice(ODD_PEOPLE)
        for number, name in enumerate(people):
            draw["accounts"].append(self.account(name, 3000 + number, f"/home/{name}"))
        groups = DEFAULT_GROUPS
        if self.nights or self.maybe(0.4):
            groups = self.r.choice((("operators",), ("wheel", "operators"), DEFAULT_GROUPS))
            number = self.r.randint(1, 3) if self.nights else self.r.randint(0, 4)
            draw["settings"].append(["HoldIfRefused", f"{number} {' '.join(groups)}"])
        for name in self.r.sample(people, 0 if self.nights else self.r.randint(1, 2)):
            self.make_administrator(name, self.r.choice(groups))
        self.limit, self.administrators = limit(draw), administrators(draw)

    def account(self, name, uid, home):
        if uid != 0 and self.maybe(0.15):
            home = self.pick(grammar.odd_homes(uid, home))
        return {"name": name, "uid": uid, "gid": uid, "home": home, "home_mode": self.pick({0o755: 6, 0o700: 4}),
                "shared_group": False, "password": self.pick({"good": 20, "expired": 0.5 if uid else 0}),
                "shell": "/bin/sh"}

    def make_administrator(self, name, group):
        entry = next((one for one in self.draw["groups"] if one["name"] == group), None)
        if entry is None:
            entry = {"name": group, "gid": GIDS[group], "members": []}
            self.draw["groups"].append(entry)
        if self.maybe(0.2):
            next(one for one in self.draw["accounts"] if one["name"] == name)["gid"] = entry["gid"]
        else:
            entry["members"].append(name)

    # Policies

    def add_policies(self):
        """keyveto.conf, perhaps another configuration, and their lists, which list one key that nobody has."""
        self.draw["policies"] = [self.a_policy(policy.CONFIG)]
        if self.maybe(0.5):
            self.draw["policies"].append(self.a_policy(policy.OTHER))
        used = [value for one in self.draw["policies"] for name, value in one["lines"]
                if name in ("Filter", "Blocklist")]
        for path in dict.fromkeys(used or [policy.DEFAULT_FILTER]):
            self.draw["lists"].append({"path": path, "keys": [OLD], "state": "good"})

    def a_policy(self, path):
        lists = [f"{STATE}/own.dat", f"{ELSEWHERE}/own.dat", f"{STATE}/exact.dat"]
        filters = [policy.DEFAULT_FILTER, f"{STATE}/second.pkbf", f"{ELSEWHERE}/third.pkbf"]
        lines = []
        for keyword, paths, weights in (("Filter", filters, {0: 3, 1: 4, 2: 1}),
                                        ("Blocklist", lists, {0: 1, 1: 5, 2: 2})):
            lines += [[keyword, one] for one in self.r.sample(paths, self.pick(weights))]
        if not lines:
            lines.append(["Filter", policy.DEFAULT_FILTER])
        for share, keyword, weights in ((0.5, "OnHit", {"deny": 2, "warn": 2}),
                                        (0.4, "OnProbable", {"deny": 2, "warn": 1}),
                                        (0.2, "OnError", {"deny": 1, "allow": 1}),
                                        (0.1, "SyslogFacility", {"LOCAL3": 1}), (0.1, "Message", {"no": 1})):
            if self.maybe(share):
                lines.append([keyword, self.pick(weights)])
        self.r.shuffle(lines)
        return {"path": path, "lines": lines, "spelling": self.pick({"": 4, "lower": 1, "=": 1})}

    # sshd

    def add_config(self):
        config = self.draw["config"]
        main = config["main"] = [["UsePAM", "yes"], ["PasswordAuthentication", "no"]]
        if self.maybe(0.35):
            main.append(["AuthorizedKeysFile", self.patterns()])
        if self.maybe(0.1):
            main.append(["StrictModes", "no"])
        if self.maybe(0.2):
            main.append(self.pick({("PubkeyAcceptedAlgorithms", "-ecdsa-sha2-*"): 2, ("RequiredRSASize", "4096"): 1}))
        if self.maybe(0.12):
            main += self.trust()
        if self.maybe(0.05):
            main.append(["PermitRootLogin", "forced-commands-only"])
        if self.maybe(0.08):
            main.append(self.who())
        for _ in range(0 if self.nights else self.pick({0: 4, 1: 5, 2: 2})):
            config["matches"].append({"criteria": self.criterion(), "settings": self.match_settings()})
        if not self.nights and self.maybe(0.12):
            settings = self.guard([["AuthorizedKeysFile", self.patterns()]]) if self.maybe(0.4) else [
                ["AuthorizedKeysFile", self.patterns()]]
            self.draw["second"] = {"file": settings, "options": []} if self.maybe(0.6) else {
                "file": None, "options": settings}
        # enable refuses where a server's options name files.
        by_options = bool(self.draw["second"] and self.draw["second"]["options"])
        how = self.pick({"enable": 0 if by_options else 6, "guard": 4, "module": 2, "none": 0 if self.nights else 0.7})
        if how == "enable":
            flags = {(): 6, ("--pam",): 1, ("--guard",): 2, ("--warn",): 0 if self.nights else 0.5}
            self.draw["enable"] = list(self.pick(flags))
        elif how == "guard":
            config["main"] = [one for one in main if one[0] != "AuthorizedKeysFile"] + self.guard(main)
        elif how == "module":
            self.draw["modules"].append({"config": self.a_config(), "phase": "session", "options": ""})

    def who(self):
        """A line that lets some accounts in from nowhere, or from some addresses only."""
        name = grammar.quote(self.r.choice(self.draw["accounts"][1:])["name"])
        return list(self.pick({("DenyUsers", name): 2, ("AllowUsers", "root *@127.0.2.*"): 1,
                               ("DenyUsers", "root@127.0.1.*"): 1, ("DenyGroups", "operators"): 1}))

    def patterns(self):
        return " ".join(self.r.sample(PATTERNS, self.pick({1: 3, 2: 1})))

    def a_config(self):
        """Which configuration a line names: "" for the default."""
        return policy.OTHER if len(self.draw["policies"]) > 1 and self.maybe(0.6) else ""

    def guard(self, settings):
        """The guard, for the files that settings name."""
        named = next((value for name, value in settings if name == "AuthorizedKeysFile"), PATTERNS[0])
        config = self.a_config()
        words = [policy.GUARD, *(["--config", config] if config else []), "--user", "%u", "--home", "%h",
                 "--type", "%t", "--key", "%k", *(f"--file {one}" for one in named.split())]
        return [["AuthorizedKeysFile", "none"], ["AuthorizedKeysCommand", " ".join(words)],
                ["AuthorizedKeysCommandUser", "root"]]

    def trust(self):
        path = f"/etc/ssh/cas{len(self.draw['cas'])}.pub"
        self.draw["cas"][path] = list(self.r.sample(CAS, self.r.randint(1, 2)))
        return [["TrustedUserCAKeys", path]]

    def criterion(self):
        name = self.r.choice(self.draw["accounts"])["name"]
        group = self.r.choice([one["name"] for one in self.draw["groups"]] or ["nogroup"])
        name = grammar.quote(name)
        found = self.pick({"Address 127.0.2.0/24": 3, f"LocalPort {grammar.PORTS[1]}": 3,
                           f"LocalAddress {grammar.LOCAL_ADDRESSES[1]}": 1.5, f"User {name}": 1.5, "User root": 2,
                           f"Group {group}": 1, "Host *.trusted.example": 1, "Address !127.0.1.0/24,*": 1})
        if self.maybe(0.2) and not found.startswith("User"):
            found = f"User root {found}"
        return found

    def match_settings(self):
        kind = self.pick({"files": 6, "guard": 3, "trust": 1, "root": 0.7, "no key": 0.3, "who": 0.4, "none": 0.3})
        if kind == "files":
            return [["AuthorizedKeysFile", self.patterns()]]
        if kind == "guard":
            return self.guard([["AuthorizedKeysFile", self.patterns()]])
        if kind == "root":
            return [["PermitRootLogin", self.r.choice(("no", "forced-commands-only", "yes"))]]
        if kind == "trust":
            return self.trust()
        if kind == "who":
            return [self.who()]
        return [["PubkeyAuthentication", "no"] if kind == "no key" else ["AuthorizedKeysFile", "none"]]

    # Files

    def named_patterns(self):
        """Each pattern that some sshd may read, of AuthorizedKeysFile and of a guard."""
        main = [name for name, _ in self.draw["config"]["main"]]
        found = [] if "AuthorizedKeysFile" in main else [PATTERNS[0]]
        for name, value in [*grammar.settings_of(self.draw), *second_settings(self.draw)]:
            if name == "AuthorizedKeysFile" and value != "none":
                found += value.split()
            if name == "AuthorizedKeysCommand":
                words = value.split()
                found += [words[place + 1] for place, word in enumerate(words) if word == "--file"]
        return list(dict.fromkeys(found))

    def add_files(self):
        patterns = self.named_patterns()
        for account in self.draw["accounts"]:
            wanted = patterns[:1] if self.nights else patterns
            for pattern in wanted:
                if pattern == patterns[0] or self.maybe(0.6):
                    self.add_file(account, grammar.file_of(pattern, account))

    def add_file(self, account, path):
        administrator = account["name"] in self.administrators
        lines = [self.key_line(administrator)
                 for _ in range(1 if self.nights else self.pick({1: 3, 2: 4, 3: 1} if administrator else {1: 3, 2: 1}))]
        # sshd reads them as the account.
        readable = {0o644: 16, 0o600: 0.5} if path.startswith("/etc") else {0o600: 12, 0o644: 4}
        mode = {**readable, 0o666: 1 if administrator else 0.2, 0o664: 0.3}
        self.draw["files"].append({
            "path": path, "account": account["name"], "lines": lines, "mode": self.pick(mode), "folder_mode": 0o755,
            "owner": "root" if path.startswith("/etc") else "account", "kind": self.pick({"file": 30, "link": 1}),
            "eol": self.pick({"\n": 20, "\r\n": 1}), "final": not self.maybe(0.05)})

    def add_revoked(self):
        """RevokedKeys, perhaps with a key that somebody has."""
        if not self.maybe(0.2) or self.nights:
            return
        word, path, kind = self.pick(REVOKED)
        held = [line["key"] for one in self.draw["files"] for line in one["lines"] if "key" in line]
        keys = self.r.sample(held, 1) if kind in ("text", "krl") and held and self.maybe(0.6) else ["key0"]
        self.draw["config"]["main"].append(["RevokedKeys", word])
        self.draw["revoked"] = {"path": path, "kind": kind, "keys": keys}

    def add_printed(self):
        """An AuthorizedKeysCommand of another program, where no guard stands yet, or behind one."""
        main = self.draw["config"]["main"]
        if self.nights or not self.maybe(0.2) or any(name == "AuthorizedKeysCommand" for name, _ in main):
            return
        arguments = self.pick({"%u": 5, "": 2, "%u %h %U": 2, "%u %k": 1, "%u %f %t": 1})
        guard = f"{policy.GUARD} --user %u --type %t --key %k -- " if self.maybe(0.4) else ""
        main += [["AuthorizedKeysCommand", f"{guard}{PRINTER} {arguments or '%u' if guard else arguments}".strip()],
                 ["AuthorizedKeysCommandUser", self.pick({"nobody": 3, "root": 1})]]
        lines = {one["name"]: [self.key_line(one["name"] in self.administrators)] for one in self.draw["accounts"]
                 if self.maybe(0.7)}
        self.draw["printed"] = {"arguments": arguments, "fails": self.maybe(0.1), "lines": lines}

    def add_masks(self):
        self.draw["masks"] = [{"path": path, "kind": self.pick(grammar.MASK_KINDS)}
                              for path, share in grammar.MASKS.items() if self.maybe(share)]

    def key_line(self, administrator):
        if self.maybe(0.08) and not self.nights:
            return {"key": self.r.choice(CAS), "options": ["cert-authority"], "comment": ""}
        key = self.r.choice(ECDSA + RSA) if self.maybe(0.15) else \
            self.r.choice(KEYS) if self.maybe(0.1) or not self.unused else self.unused.pop()
        options = []
        if not self.nights and self.maybe(0.5 if administrator else 0.2):
            options = [self.r.choice(NO_WAY_IN if self.maybe(0.65) else SOME_WAY_IN)]
        return {"key": key, "options": options, "comment": self.pick({"": 2, "me@home": 1})}

    # Changes

    def keys_of(self, account):
        printed = (self.draw["printed"] or {"lines": {}})["lines"].get(account, [])
        return list(dict.fromkeys(line["key"] for lines in (
            *(one["lines"] for one in self.draw["files"] if one["account"] == account), printed)
            for line in lines if "key" in line))

    def victims(self):
        """The keys to list: one of root, of an administrator or of a user, a CA, and perhaps others."""
        draw = self.draw
        roots = [one["name"] for one in draw["accounts"] if one["uid"] == 0]
        users = [one["name"] for one in draw["accounts"] if one["name"] not in (*roots, *self.administrators)]
        kind = self.pick({"root": 4, "administrator": 6 if self.administrators else 0, "user": 3 if users else 0,
                          "ca": 4 if draw["cas"] else 0, "nobody": 0.5})
        names = {"root": roots, "administrator": self.administrators, "user": users}.get(kind, [])
        found = []
        if kind == "ca":
            found = [self.r.choice([one for cas in draw["cas"].values() for one in cas])]
        for name in self.r.sample(names, self.r.randint(1, min(2, len(names)))) if names else ():
            mine = self.keys_of(name)
            found += self.r.sample(mine, self.r.randint(1, len(mine))) if mine and self.maybe(0.6) else mine[:1]
        if self.maybe(0.2) and users:
            found += self.keys_of(self.r.choice(users))[:1]
        return list(dict.fromkeys(found)) or ["key0"]

    def add_change(self):
        draw = self.draw
        if self.nights:
            users = [one["name"] for one in draw["accounts"] if one["uid"] != 0]
            self.r.shuffle(users)
            nights, step = [], self.r.randint(1, self.limit)
            for start in range(0, len(users), step):
                nights.append([key for name in users[start:start + step] for key in self.keys_of(name)])
            target = self.target(".dat") or self.target(".pkbf")
            known = LIST_CHANGES if target.endswith(".dat") else FILTER_CHANGES
            command = self.pick({one: 4 if one.startswith("update") else 1 for one in NIGHTLY if one in known})
            draw["change"] = {"command": command, "target": target, "nights": nights}
            return
        command = self.pick({**dict.fromkeys(LIST_CHANGES, 3), **dict.fromkeys(FILTER_CHANGES, 2), "update list": 5,
                             "update filter": 3, "filter create": 0.4, "rollback list": 1.5, "rollback filter": 1,
                             "config edit": 4, "allow --remove": 4})
        change = {"command": command, "nights": [self.victims()]}
        if command in ("config edit", "allow --remove"):
            self.add_config_change(change)
        else:
            change["target"] = self.target(".dat" if command in LIST_CHANGES else ".pkbf")
        if change.get("target", "") is None:
            change["command"], change["target"] = "update filter", self.target(".pkbf") or self.a_new_filter()
        if "target" in change and not command.startswith("rollback") and self.maybe(0.1):
            change["link"] = LINK + (".dat" if change["target"].endswith(".dat") else ".pkbf")
        draw["change"] = change

    def target(self, suffix):
        found = [one["path"] for one in self.draw["lists"] if one["path"].endswith(suffix)]
        return self.r.choice(found) if found else None

    def a_new_filter(self):
        """A filter below /var/lib/keyveto, which keyveto.conf does not name yet."""
        self.draw["lists"].append({"path": f"{STATE}/second.pkbf", "keys": [OLD], "state": "good"})
        return f"{STATE}/second.pkbf"

    def add_config_change(self, change):
        """The keys are listed from the beginning; the policy lets them in, and the change ends that."""
        changed = self.r.choice(self.draw["policies"])
        change["config"] = changed["path"]
        lists = [value for name, value in changed["lines"] if name in ("Filter", "Blocklist")]
        keys = change["nights"][0]
        if change["command"] == "allow --remove":
            keys = change["nights"][0] = keys[:1]
            for one in self.draw["policies"]:
                one["lines"].append(["AllowKey", f"<{keys[0]}> a reason"])
        how = self.pick({"enforce": 2, "another list": 2}) if change["command"] == "config edit" else None
        if how == "another list":
            path = f"{STATE}/late.dat"
            self.draw["lists"].append({"path": path, "keys": [OLD, *keys], "state": "good"})
            change["lines"] = [["Blocklist", path]] + [["Filter", policy.DEFAULT_FILTER]] * (
                not any(name in ("Filter", "Blocklist") for name, _ in changed["lines"]))
            return
        for one in self.draw["lists"]:
            if one["path"] == self.r.choice(lists) or one["path"] == lists[0]:
                one["keys"] = [OLD, *keys]
        if how == "enforce":
            for one in self.draw["policies"]:
                one["lines"] = [line for line in one["lines"] if line[0] not in ("OnHit", "OnProbable")]
                one["lines"].append(["OnHit", "warn"])
            change["drop"] = "OnHit"

    # Clients

    def origins(self):
        ports = [*grammar.PORTS, *([SECOND_PORT] if self.draw["second"] else [])]
        return [(net, to, port) for net in grammar.NETS[:2] for to in grammar.LOCAL_ADDRESSES for port in ports]

    def add_clients(self):
        """For each key some logins: one that is listed comes from everywhere, another one from two addresses."""
        first, listed, others = self.origins()[0], [], []
        for account in self.draw["accounts"]:
            for identity in self.identities(account["name"]):
                is_listed = identity["key"] in sum(self.draw["change"]["nights"], []) or "certificate" in identity
                origins = self.r.sample(self.origins(), 1 if self.nights else 2)
                origins[0] = origins[0] if first in origins else first
                origins = self.origins() if is_listed and not self.nights else origins
                (listed if is_listed else others).extend(client(account["name"], identity, one) for one in origins)
        self.draw["clients"] = (listed + others)[:CLIENTS]

    def identities(self, name):
        cas = list(dict.fromkeys([key for key in self.keys_of(name) if key in CAS] +
                                 sum(self.draw["cas"].values(), [])))
        return [{"key": key} for key in self.keys_of(name) if key not in CAS] + [certified(name, ca) for ca in cas]


def configs(draw):
    """The configurations that the logins of this machine go by."""
    return {policy.CONFIG, *policy.configs_by_hand(draw),
            *policy.configs_of_guards(value for _, value in second_settings(draw))}


def sure_patterns(draw):
    """The patterns that the first sshd reads for each account, from some client."""
    for block in draw["config"]["matches"]:
        if re.fullmatch(r'(User|Group) (\S+|"[^"]*")', block["criteria"]):
            return []
    main = draw["config"]["main"]
    named = next((value for name, value in main if name == "AuthorizedKeysFile"), PATTERNS[0])
    command = next((value for name, value in main if name == "AuthorizedKeysCommand"), "").split()
    return [one for one in named.split() if one != "none"] + [
        command[place + 1] for place, word in enumerate(command) if word == "--file"]


def sure_lines(draw, account):
    """The lines that a command is sure to print for the account, and that keyveto can know beforehand."""
    printed = draw["printed"]
    overridden = any(name.startswith("AuthorizedKeysCommand") for block in draw["config"]["matches"]
                     for name, _ in block["settings"])
    if not printed or overridden or printed["fails"] or "%k" in printed["arguments"] or "%f" in printed["arguments"]:
        return []
    return printed["lines"].get(account["name"], [])


def second_settings(draw):
    """The settings of the second sshd that the first one does not have."""
    return (draw["second"]["file"] or []) + draw["second"]["options"] if draw["second"] else []


def limit(draw):
    """The number of HoldIfRefused."""
    return int(_hold_words(draw)[0])


def administrators(draw):
    """The members of the groups of HoldIfRefused."""
    groups = [one for one in draw["groups"] if one["name"] in _hold_words(draw)[1:]]
    gids, members = {one["gid"] for one in groups}, {name for one in groups for name in one["members"]}
    return [one["name"] for one in draw["accounts"]
            if one["uid"] != 0 and (one["gid"] in gids or one["name"] in members)]


def _hold_words(draw):
    return next((value.split() for name, value in draw["settings"] if name == "HoldIfRefused"), ["5", *DEFAULT_GROUPS])


def certified(name, ca):
    return {"key": HOLDER, "certificate": {
        "ca": ca, "principals": [name], "options": [], "expired": False}}


def client(name, identity, origin):
    net, to, port = origin
    return {"account": name, "identities": [identity], "password": None, "net": net, "to": to, "port": port,
            "tty": True, "tunnel": False}


def make(seed):
    """The draw of a seed."""
    return Grammar(seed).make()
