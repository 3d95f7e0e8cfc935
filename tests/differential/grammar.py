# SPDX-License-Identifier: ISC
"""Draws a server from a grammar: its configuration, accounts, files and clients.

A draw consists of dicts, lists, strings and numbers, so that shrink.py can
remove any part of it. The same seed gives the same draw everywhere.

    config      include, main, drop_ins, matches: what stands in sshd_config
    accounts    the lines of passwd, group and shadow, and the home
    groups      groups beside the accounts' own
    files       files with keys or principals, each for one account
    commands    the commands of AuthorizedKeysCommand and AuthorizedPrincipalsCommand
    cas         the files that TrustedUserCAKeys names
    masks       links to /dev/null and folders where sshd, or PAM, includes a file
    options     what sshd is started with: the values of -o
    clients     the logins: to which account, from where, with which keys
    marks       whose marks are taken out by hand after enable, and the command that follows

policy.py adds what keyveto.conf says.
"""

import random
import shlex

CLEAN_KEYS, LISTED_KEYS = ("clean0", "clean1", "clean2", "clean3"), ("listed0", "listed1", "listed2")
CLEAN_CAS, LISTED_CA = ("ca0", "ca1"), "listedca"

HOME = "/opt/kvd"               # the harness's own folder in the throw-away root
PROBE = f"{HOME}/probe"
ECHO_PORT = 7007                # the target of direct forwardings
ROLE = "webadmin"               # a principal that is not the name of an account
CLIENTS = (11, 13)             # experiment.py tries a part of them to the end
NEED_MARKS = 0.3

ODD_NAMES = ("john smith", "restrict alice", "dot.ted", "DOM\\erin", "Frank", "x" * 32, "hash#tag", "per%cent",
             "star*", "jos\u00e9", "dash-_", "m$")
PLAIN_NAMES = ("alice", "bob", "carol", "dave")

# The networks of clients. They are loopback addresses. The second has names in /etc/hosts.
NETS = (1, 2, 3)
LOCAL_ADDRESSES, PORTS = ("127.0.0.1", "127.0.0.9"), (22, 2222)


def quote(text):
    """A word of sshd_config."""
    return f'"{text}"' if any(c in text for c in " #'") else text


def keys_patterns(draw):
    """Each pattern of AuthorizedKeysFile that the draw's configuration names."""
    return _file_patterns(draw, "AuthorizedKeysFile") or [".ssh/authorized_keys"]


def _file_patterns(draw, keyword):
    found = []
    for name, value in settings_of(draw):
        if name == keyword:
            found += [word for word in shlex.split(value) if word != "none"]
    return list(dict.fromkeys(found))


def settings_of(draw):
    """Each setting of the configuration, wherever it stands."""
    config = draw["config"]
    yield from config["main"]
    for block in config["matches"]:
        yield from block["settings"]
    for drop_in in config["drop_ins"]:
        yield from drop_in["settings"]
        for block in drop_in["matches"]:
            yield from block["settings"]


def file_of(pattern, account):
    """The file that a pattern names for an account. For a wildcard, one file that matches."""
    path = pattern.replace("*", "any").replace("?", "1")
    for token, value in (("%h", account["home"]), ("%u", account["name"]), ("%U", str(account["uid"])), ("%%", "%")):
        path = path.replace(token, value)
    return place(path if path.startswith("/") else f"{account['home']}/{path}")


def place(path):
    """Where sshd finds a path: it runs in /."""
    return path if path.startswith("/") else f"/{path}"


# How often a mask lies where sshd, or PAM, includes a file.
MASKS = {"/etc/ssh/sshd_config.d/50-masked.conf": 0.15, "/etc/pam.d/kvd-masked": 0.1}
MASK_KINDS = {"null": 3, "folder": 1}


def odd_homes(uid, home):
    """Homes that are no absolute paths, and how often."""
    return {home[1:]: 4, f"./{home[1:]}": 1, f"~{uid}": 1, f"-{uid}": 1, f"h{uid}/": 1}


class Dice:
    """Whatever draws by the random numbers of its r."""

    def maybe(self, share):
        return self.r.random() < share

    def pick(self, weights):
        """One of the keys of a table of weights."""
        return self.r.choices(list(weights), list(weights.values()))[0]


class Grammar(Dice):
    """Makes one draw. has_glob: the local sshd has wildcards in AuthorizedKeysFile."""

    def __init__(self, seed, has_glob=False):
        self.r = random.Random(seed)
        self.has_glob = has_glob
        # Whether marks that are taken out matter: few draws are so by themselves.
        self.needs_marks = random.Random(f"marks {seed}").random() < NEED_MARKS
        self.draw = {"config": {}, "accounts": [], "groups": [], "files": [], "commands": [], "cas": {}, "masks": [],
                     "options": [], "clients": [],
                     "warn": ["--warn", *self.pick({(): 5, ("--guard",): 4, ("--pam",): 1})]}

    def make(self):
        """The draw."""
        self.add_accounts()
        self.add_config()
        for account in self.draw["accounts"]:
            self.add_files(account)
        self.add_masks()
        self.add_options()
        self.add_clients()
        self.add_marks()
        return self.draw

    # Accounts

    def add_accounts(self):
        names = self.r.sample(PLAIN_NAMES, self.r.randint(1, 2))
        if self.maybe(0.5):
            names += self.r.sample(ODD_NAMES, self.r.choice((1, 1, 2)))
        if "restrict alice" in names and "alice" not in names:
            names.append("alice")
        self.draw["accounts"].append(self.account("root", 0, "/root"))
        for number, name in enumerate(names):
            self.draw["accounts"].append(self.account(name, 3000 + number, f"/home/{name}"))
        if self.maybe(0.1):
            self.draw["accounts"].append(self.account("toor", 0, "/home/toor"))
        for name, gid in (("staffers", 4000), ("operators", 4001)):
            members = [a["name"] for a in self.draw["accounts"] if self.maybe(0.4)]
            if members:
                self.draw["groups"].append({"name": name, "gid": gid, "members": members})

    def account(self, name, uid, home):
        private = uid != 0
        if private and self.maybe(0.04):
            home = "/nonexistent"
        elif private and self.maybe(0.15):
            home = self.pick(odd_homes(uid, home))
        return {
            "name": name, "uid": uid, "gid": uid, "home": home,
            "home_mode": self.pick({0o755: 8, 0o700: 4, 0o775: 2 if private else 0, 0o777: 0.5 if private else 0}),
            # Whether another account is a member of its private group.
            "shared_group": private and self.maybe(0.08),
            "password": self.pick({"good": 12, "change": 1, "expired": 0.3, "locked": 1}),
            "shell": self.pick({"/bin/bash": 6, "/bin/sh": 6, "/usr/sbin/nologin": 0.4 if private else 0}),
        }

    # What stands beside the configuration

    def add_masks(self):
        for path, share in MASKS.items():
            if self.maybe(share):
                self.draw["masks"].append({"path": path, "kind": self.pick(MASK_KINDS)})

    def add_options(self):
        """What sshd says of the spelling is what counts: enable must see it, or stay out."""
        for _ in range(self.pick({0: 8, 1: 1, 2: 0.5})):
            self.draw["options"].append(self.pick({
                "UsePAM=no": 1, "\tUsePAM=no": 2, "\t\tUsePAM\tno ": 1, "=UsePAM no": 1, 'Use"PAM" no': 1, "": 1,
                "UsePAM=yes": 1, "\tusepam yes": 1, "LogLevel=VERBOSE": 1, "#UsePAM=no": 1, "\tStrictModes=no": 1,
                "\tAuthorizedKeysFile .ssh/authorized_keys": 1, "Banner -f/none": 0.5}))

    # Configuration

    def add_config(self):
        main = []
        if self.maybe(0.55):
            main += self.keys_file()
        if self.maybe(0.4):
            # The guard can replace either the files or the command, not both.
            main = [["AuthorizedKeysFile", "none"]] if self.maybe(0.45) else main
            main += self.keys_command()
        if self.maybe(0.45):
            main += self.trust()
        if self.maybe(0.07):
            main.append(["UsePAM", "no"])
        else:
            main.append(["UsePAM", "yes"])
        if self.maybe(0.15):
            main.append(["StrictModes", "no"])
        if self.maybe(0.15):
            main.append(["PermitUserEnvironment", "yes"])
        for share, setting in ((0.4, self.password), (0.13, self.methods), (0.5, self.root_login), (0.15, self.tunnel),
                               (0.3, self.restriction), (0.15, self.restriction), (0.06, self.who)):
            if self.maybe(share):
                main += setting()
        self.r.shuffle(main)
        main = _keep_pairs(main)
        config = {"include": self.maybe(0.85), "main": main, "drop_ins": [], "matches": []}
        self.draw["config"] = config
        for _ in range(self.pick({0: 4, 1: 4, 2: 3, 3: 1.5, 4: 0.5})):
            config["matches"].append(self.match())
        for number in range(self.pick({0: 6, 1: 3, 2: 1})):
            config["drop_ins"].append(self.drop_in(number, config))
        if self.needs_marks:
            self.need_marks(config)
        _allow_methods(config)

    def need_marks(self, config):
        """Makes enable write a line into a Match block: one that sets files or a command for an account, not both.

        Without that line, or with it alone, the account's keys would come from other places. It has a key in each.
        """
        by_files = self.maybe(0.7)
        gone = ("TrustedUserCAKeys", "AuthorizedKeysCommand", "AuthorizedKeysCommandUser", "AuthenticationMethods",
                "PubkeyAuthentication", "AllowUsers", "DenyUsers", "DenyGroups", "UsePAM",
                *([] if by_files else ["AuthorizedKeysFile"]))
        blocks = config["matches"] + [block for drop_in in config["drop_ins"] for block in drop_in["matches"]]
        for place in (*blocks, *config["drop_ins"]):
            place["settings"] = [setting for setting in place["settings"] if setting[0] not in gone]
        config["main"] = [setting for setting in config["main"] if setting[0] not in (*gone, "AuthorizedKeysFile")]
        config["main"] += [["UsePAM", "yes"], ["AuthorizedKeysFile", ".ssh/authorized_keys"]]
        account = next(one for one in self.draw["accounts"] if one["name"] in PLAIN_NAMES)
        name = account["name"]
        account.update(home=f"/home/{name}", home_mode=0o755, password="good", shell="/bin/bash")
        own = self.r.choice(("/etc/ssh/keys/%u", "%h/.ssh/mine", ".ssh/keys-%U"))
        criteria = self.pick({f"User {name}": 4, f"Group {name}": 1, "Address 127.0.1.0/24": 2, self.criterion(): 1})
        config["matches"].insert(0, {"criteria": criteria, "settings": [
            ["AuthorizedKeysFile", own]] if by_files else self.keys_command()})
        for drop_in in config["drop_ins"]:
            if "block" in drop_in:
                drop_in["block"] += 1
        keys = self.r.sample(CLEAN_KEYS, 2)
        for pattern, key in zip((own, ".ssh/authorized_keys"), keys):
            self.draw["files"].append({
                "path": file_of(pattern, account), "account": name,
                "lines": [{"key": key, "options": [], "comment": ""}], "mode": 0o600, "folder_mode": 0o700,
                "owner": "account", "kind": "file", "eol": "\n", "final": True})
        self.draw["clients"] = [self.placed(_client(name, [{"key": key}])) for key in keys]
        for client in self.draw["clients"]:
            client["net"] = 1

    def drop_in(self, number, config):
        """A file that is included: by the first line of sshd_config, by another one, or in a Match block."""
        place = self.pick({"first": 5, "nested": 1, "match": 1.5})
        if place == "match" and not config["matches"]:
            place = "first"
        drop_in = {"name": f"{self.r.choice((5, 50, 95))}-{number}", "place": place, "settings": [], "matches": []}
        for _ in range(self.r.randint(1, 2)):
            drop_in["settings"] += self.match_settings() if place == "match" else self.any_setting()
        if place == "match":
            drop_in["block"] = self.r.randrange(len(config["matches"]))
        elif self.maybe(0.4):
            drop_in["matches"].append(self.match())
        return drop_in

    def any_setting(self):
        return self.pick({self.keys_file: 3, self.keys_command: 2, self.trust: 2, self.password: 1, self.root_login: 1,
                          self.restriction: 1, self.methods: 1, self.principals: 1})()

    def match(self):
        settings = []
        for _ in range(self.pick({1: 5, 2: 4, 3: 1})):
            settings += self.match_settings()
        return {"criteria": self.criteria(), "settings": settings}

    def match_settings(self):
        return self.pick({
            self.keys_file: 5, self.keys_command: 3, self.trust: 3, self.principals: 2, self.password: 1,
            self.methods: 1.5, self.root_login: 1.5, self.tunnel: 0.7, self.restriction: 3, self.forced: 1.5,
            self.who: 0.4, self.pubkey: 0.6, self.sftp_only: 0.7,
        })()

    def criteria(self):
        if self.maybe(0.05):
            return "all"
        found = self.criterion()
        if self.maybe(0.2):
            other = self.criterion()
            if other.split()[0] != found.split()[0]:
                found += " " + other
        return found

    def criterion(self):
        accounts = [a["name"] for a in self.draw["accounts"]]
        groups = [g["name"] for g in self.draw["groups"]] or ["staffers"]
        name, other, group = self.r.choice(accounts), self.r.choice(accounts), self.r.choice(groups)
        negated = quote(f"!{name},*")
        return self.pick({
            f"User {quote(name)}": 4, f"User {quote(f'{name},{other}')}": 1, f"User {negated}": 1.5,
            f"User {quote(name[:1] + '*')}": 1, f"Group {group}": 2, f"Group {quote(name)}": 1, f"Group !{group},*": 1,
            "Address 127.0.2.0/24": 2, "Address !127.0.2.0/24,*": 1, "Address 127.0.1.*,127.0.3.*": 1,
            "Host *.trusted.example": 1, "Host !*.trusted.example,*": 0.5, f"LocalAddress {LOCAL_ADDRESSES[1]}": 1,
            f"LocalPort {PORTS[1]}": 1.5, f"LocalPort {PORTS[0]}": 0.5,
        })

    def keys_file(self):
        return [["AuthorizedKeysFile", self.pick({
            ".ssh/authorized_keys": 1, ".ssh/authorized_keys .ssh/authorized_keys2": 2, "/etc/ssh/keys/%u": 3,
            ".ssh/authorized_keys /etc/ssh/keys/%u": 4, "/etc/ssh/keys/%u %h/.ssh/mine": 1, "%h/.ssh/mine": 2,
            ".ssh/keys-%U": 1, "none": 1.2, '"/etc/ssh/keys/of %u"': 0.3, "/etc/ssh/keys/100%%-%u": 0.3,
            ".ssh/keys.d/*": 2 if self.has_glob else 0, "/etc/ssh/keys/%u.*": 1 if self.has_glob else 0,
        })]]

    def keys_command(self):
        if self.maybe(0.1):
            return [["AuthorizedKeysCommand", "none"]]
        arguments = self.pick({"": 4, "%u": 4, "%u %k": 1, "%U": 1, "%h": 1, "%t": 1, "%f": 1, "%k": 1,
                               "%u %h %t %f": 0.7,
                               '"two words" %u': 0.5, "100%% %u": 0.5})
        return self.command("keys", "AuthorizedKeysCommand", arguments)

    def command(self, kind, keyword, arguments):
        user = self.pick({"nobody": 4, "kvd-reader": 2, "%u": 1 if kind == "keys" else 0, "root": 1})
        number = len(self.draw["commands"])
        serves = {}
        for account in self.draw["accounts"]:
            if self.maybe(0.7):
                serves[account["name"]] = self.key_lines() if kind == "keys" else self.principal_lines(account)
        self.draw["commands"].append({"number": number, "kind": kind, "arguments": arguments,
                                      "user": user, "serves": serves})
        line = f"{HOME}/command{number} {arguments}".strip()
        pair = [[keyword, line], [f"{keyword}User", user]]
        self.r.shuffle(pair)
        return pair

    def trust(self):
        number = len(self.draw["cas"])
        path = f"/etc/ssh/cas{number}.pub"
        self.draw["cas"][path] = self.pick({("ca0",): 4, ("ca0", LISTED_CA): 2, ("ca0", "ca1"): 1,
                                           (LISTED_CA,): 1, (): 0.2})
        trusted = [["TrustedUserCAKeys", path]]
        return trusted + self.principals() if self.maybe(0.5) else trusted

    def principals(self):
        if self.maybe(0.5):
            return [["AuthorizedPrincipalsFile", self.pick({"/etc/ssh/principals/%u": 3, "%h/.ssh/principals": 2,
                                                            ".ssh/principals": 1, "none": 0.7})]]
        arguments = self.pick({"%u": 4, "": 1, "%u %i": 1, "%U": 0.5, "%u %k": 1, "%h %t %f": 1, "%u %K %F %T": 0.5,
                               "%s %u": 0.5})
        return self.command("principals", "AuthorizedPrincipalsCommand", arguments)

    def password(self):
        return [["PasswordAuthentication", self.r.choice(("yes", "yes", "no"))]] + (
            [["KbdInteractiveAuthentication", "yes"]] if self.maybe(0.2) else [])

    def methods(self):
        return [["AuthenticationMethods", self.pick({
            "publickey": 2, "publickey,publickey": 1, "publickey,password": 2, "publickey password": 1,
            "publickey,keyboard-interactive:pam": 1, "password,publickey": 1})]]

    def pubkey(self):
        return [["PubkeyAuthentication", self.r.choice(("yes", "no"))]]

    def root_login(self):
        return [["PermitRootLogin", self.pick({"yes": 4, "prohibit-password": 2, "forced-commands-only": 1.5,
                                               "no": 0.5})]]

    def tunnel(self):
        return [["PermitTunnel", self.r.choice(("yes", "yes", "point-to-point", "ethernet", "no"))]]

    def forced(self):
        return [["ForceCommand", f"{PROBE} forced-by-sshd"]]

    def sftp_only(self):
        return [["ForceCommand", "internal-sftp"]] + ([["ChrootDirectory", f"{HOME}/jail"]] if self.maybe(0.6) else [])

    def restriction(self):
        keyword, value = self.pick({
            ("AllowTcpForwarding", "no"): 2, ("AllowTcpForwarding", "local"): 1, ("AllowTcpForwarding", "remote"): 1,
            ("AllowAgentForwarding", "no"): 1, ("X11Forwarding", "no"): 1, ("X11Forwarding", "yes"): 1,
            ("PermitTTY", "no"): 1, ("DisableForwarding", "yes"): 1, ("PermitOpen", f"127.0.0.1:{ECHO_PORT}"): 1,
            ("PermitOpen", "none"): 1, ("PermitListen", "none"): 1, ("ExposeAuthInfo", "yes"): 1,
            ("AcceptEnv", "KVD_*"): 2, ("SetEnv", "KVD_SERVER=set"): 1,
            ("MaxAuthTries", "3"): 0.5, ("Banner", f"{HOME}/banner"): 0.5, ("PermitUserRC", "no"): 0.5,
        })

        return [[keyword, value]]

    def who(self):
        names = [a["name"] for a in self.draw["accounts"]]
        return [list(self.pick({
            ("AllowUsers", " ".join(quote(n) for n in names[:-1]) or "root"): 1, ("DenyUsers", quote(names[-1])): 1,
            ("AllowGroups", "*"): 0.5, ("DenyGroups", "operators"): 1, ("AllowUsers", "*@127.0.2.*"): 0.5,
        }))]

    # Files

    def add_files(self, account):
        patterns = keys_patterns(self.draw)
        if ".ssh/authorized_keys" not in patterns and self.maybe(0.6):
            patterns = [*patterns, ".ssh/authorized_keys"]
        for pattern in patterns:
            if self.maybe(0.85):
                self.add_file(account, file_of(pattern, account), self.key_lines())
        for pattern in _file_patterns(self.draw, "AuthorizedPrincipalsFile"):
            if self.maybe(0.85):
                self.add_file(account, file_of(pattern, account), self.principal_lines(account))
        if self.maybe(0.07):
            self.add_file(account, place(f"{account['home']}/.ssh/environment"), [{"text": "KVD_HOME=environment"}])

    def add_file(self, account, path, lines):
        if any(one["path"] == path for one in self.draw["files"]):
            return
        self.draw["files"].append({
            "path": path, "account": account["name"], "lines": lines,
            "mode": self.pick({0o600: 8, 0o644: 6, 0o664: 1, 0o666: 0.4, 0o400: 0.4}),
            "folder_mode": self.pick({0o700: 8, 0o755: 3, 0o775: 0.7}),
            "owner": self.pick({"account": 8, "root": 2}),
            "kind": self.pick({"file": 30, "link": 1.5, "folder": 0.3}),
            "eol": self.pick({"\n": 12, "\r\n": 1}), "final": not self.maybe(0.1),
        })

    def key_lines(self):
        lines = [self.key_line() for _ in range(self.pick({1: 2, 2: 4, 3: 3, 4: 1}))]
        if self.maybe(0.2):
            again = dict(self.r.choice(lines))
            again["options"] = self.line_options(False)
            lines.insert(self.r.randrange(len(lines) + 1), again)
        if self.maybe(0.15):
            lines.insert(self.r.randrange(len(lines) + 1), {"text": self.r.choice(
                ("", "# a comment", "   ", "command=\"unclosed ssh-ed25519 AAAA", "nonsense",
                 "ssh-ed25519 AAAAC3Nza"))})
        return lines

    def key_line(self):
        if self.maybe(0.22):
            ca = self.pick({"ca0": 4, "ca1": 1, LISTED_CA: 1.5})
            options = ["cert-authority"] + self.line_options(True)
            self.r.shuffle(options)
            return {"key": ca, "options": options, "comment": ""}
        key = self.r.choice(CLEAN_KEYS if self.maybe(0.6) else LISTED_KEYS)
        return {"key": key, "options": self.line_options(False),
                "comment": self.pick({"": 2, "me@home": 1, "a b": 0.5})}

    def line_options(self, certificates):
        options = []
        if self.maybe(0.45):
            for _ in range(self.pick({1: 5, 2: 3, 3: 1})):
                options.append(self.pick({
                    'from="127.0.2.0/24"': 2, 'from="*.trusted.example"': 0.7, 'from="!127.0.1.*,*"': 0.7,
                    f'command="{PROBE} forced-{self.r.randint(1, 5)}"': 4, "restrict": 2, "no-pty": 1,
                    "no-port-forwarding": 1, "no-agent-forwarding": 1, "no-X11-forwarding": 0.5, "restrict,pty": 0.7,
                    "Restrict,port-forwarding": 0.5, 'environment="KVD_LINE=it is \\"so\\""': 1,
                    'expiry-time="20200101"': 0.7, 'expiry-time="20400101"': 0.5,
                    f'permitopen="127.0.0.1:{ECHO_PORT}"': 0.7, 'permitopen="127.0.0.1:9"': 0.7,
                    'permitlisten="localhost:8080"': 0.5, 'tunnel="7"': 0.3, "no-user-rc": 0.3, "unknown-option": 0.2,
                }))
        if certificates and self.maybe(0.5):
            options.append('principals="%s"' % self.pick({ROLE: 2, f"{ROLE},other": 1, "*": 0.3}))
        # sshd refuses a line with the same option twice.
        return list({option.partition("=")[0]: option for option in options}.values())

    def principal_lines(self, account):
        lines = []
        for _ in range(self.pick({0: 0.5, 1: 4, 2: 2})):
            name = self.pick({account["name"]: 4, ROLE: 4, "somebody": 1})
            options = self.pick({"": 6, f'command="{PROBE} forced-by-principal" ': 2, "restrict ": 1, "no-pty ": 1,
                                 'from="127.0.2.0/24" ': 1, "# ": 0.5})
            lines.append({"text": options + name})
        return lines

    # Clients

    def add_clients(self):
        """Some logins that fit the files and CAs of the draw, of each kind in turn."""
        kinds = [self.listing_clients(), self.certificate_clients(), self.password_clients(), self.several_clients(),
                 self.wrong_clients()]
        for kind in kinds:
            self.r.shuffle(kind)
        wanted, weights = self.r.randint(*CLIENTS), (6, 4, 1, 2, 0.3)
        while len(self.draw["clients"]) < wanted and any(kinds):
            kind = self.r.choices(kinds, [w if k else 0 for w, k in zip(weights, kinds)])[0]
            client = self.placed(kind.pop())
            if client not in self.draw["clients"]:
                self.draw["clients"].append(client)

    def placed(self, client):
        client["net"] = self.pick({1: 4, 2: 4, 3: 1})
        client["to"] = self.pick({LOCAL_ADDRESSES[0]: 5, LOCAL_ADDRESSES[1]: 1.5})
        client["port"] = self.pick({PORTS[0]: 4, PORTS[1]: 1.5})
        client["tty"] = self.maybe(0.6)
        if client["password"] is None and self.maybe(0.7) and any(
                name == "AuthenticationMethods" and "password" in value for name, value in settings_of(self.draw)):
            client["password"] = "good"
        # Such a client asks for a tunnel, and runs nothing.
        client["tunnel"] = self.maybe(0.3) and any(name == "PermitTunnel" for name, _ in settings_of(self.draw))
        return client

    def lines_for(self, name):
        """Each line that may let a client into the account."""
        for one in self.draw["files"]:
            if one["account"] == name:
                yield from one["lines"]
        for command in self.draw["commands"]:
            if command["kind"] == "keys":
                yield from command["serves"].get(name, ())

    def keys_for(self, name):
        return list(dict.fromkeys(line["key"] for line in self.lines_for(name) if "key" in line))

    def listing_clients(self):
        return [_client(account["name"], [{"key": key}]) for account in self.draw["accounts"]
                for key in self.keys_for(account["name"]) if not key.endswith(("ca", "ca0", "ca1"))]

    def certificate_clients(self):
        found = []
        trusted = [ca for cas in self.draw["cas"].values() for ca in cas]
        for account in self.draw["accounts"]:
            lines = [key for key in self.keys_for(account["name"]) if key.endswith(("ca", "ca0", "ca1"))]
            for ca in dict.fromkeys(trusted + lines * 2):
                found += [_client(account["name"], [self.certified(account, ca)]) for _ in range(2)]
        return found

    def certified(self, account, ca):
        others = [a["name"] for a in self.draw["accounts"]]
        principals = [self.pick({account["name"]: 6, ROLE: 3, self.r.choice(others): 1, "somebody": 0.5})]
        if self.maybe(0.2):
            principals.append(ROLE)
        options = []
        if self.maybe(0.4):
            options.append(self.pick({f"force-command={PROBE} forced-by-certificate": 2,
                                      "source-address=127.0.2.0/24": 1,
                                      "no-pty": 1, "clear": 1, "no-port-forwarding": 1, "no-agent-forwarding": 0.5}))
        return {"key": self.r.choice(CLEAN_KEYS if self.maybe(0.65) else LISTED_KEYS),
                "certificate": {"ca": ca, "principals": list(dict.fromkeys(principals)), "options": options,
                                "expired": self.maybe(0.03)}}

    def password_clients(self):
        found = [_client(account["name"], [], "good") for account in self.draw["accounts"]]
        for client in self.listing_clients():
            if self.maybe(0.5):
                found.append({**client, "password": self.pick({"good": 4, "wrong": 1})})
        return found

    def several_clients(self):
        found = []
        for account in self.draw["accounts"]:
            mine = self.keys_for(account["name"])
            plain = [key for key in mine if not key.endswith(("ca", "ca0", "ca1"))]
            if not plain:
                continue
            for _ in range(2):
                keys = [self.r.choice(plain), self.r.choice(plain + list(CLEAN_KEYS)),
                        self.r.choice(CLEAN_KEYS + LISTED_KEYS)]
                self.r.shuffle(keys)
                found.append(_client(account["name"], [{"key": key} for key in dict.fromkeys(keys)],
                                     self.pick({None: 4, "good": 1})))
        return found

    def wrong_clients(self):
        return [_client(account["name"], [{"key": self.r.choice(CLEAN_KEYS + LISTED_KEYS)}])
                for account in self.draw["accounts"]]

    # Marks

    def add_marks(self):
        """Which pairs of marks an administrator takes out. The first one is around the guard's lines."""
        taken = self.pick({(0,): 6, (0, 1): 1.5, (1,): 1, (0, 2): 1, (1, 2): 0.5, (0, 1, 2, 3, 4): 0.5})
        self.draw["marks"] = {"enable": self.pick({(): 2, ("--guard",): 3}), "taken": list(taken),
                              "then": self.pick({"enable": 1, "disable": 1})}


def _client(account, identities, password=None):
    return {"account": account, "identities": identities, "password": password}


def _keep_pairs(settings):
    """Keeps the first line of each keyword outside Match blocks. sshd ignores later ones."""
    once, kept = set(), []
    for keyword, value in settings:
        if keyword not in once or keyword in ("AcceptEnv", "AllowUsers", "DenyUsers"):
            kept.append([keyword, value])
        once.add(keyword)
    return kept


def _allow_methods(config):
    """Enables the methods that AuthenticationMethods names outside Match blocks. Else sshd does not start."""
    everywhere = [*config["main"]]
    for drop_in in config["drop_ins"]:
        everywhere += drop_in["settings"] if drop_in["place"] != "match" else []
    named = " ".join(value for keyword, value in everywhere if keyword == "AuthenticationMethods")
    for setting in everywhere:
        if setting[0] == "PasswordAuthentication" and "password" in named:
            setting[1] = "yes"
        if setting[0] == "UsePAM" and "pam" in named:
            setting[1] = "yes"
    if "keyboard" in named:
        config["main"].append(["KbdInteractiveAuthentication", "yes"])


def make(seed, has_glob=False):
    """The machine of a seed, without its policies."""
    return Grammar(seed, has_glob).make()
