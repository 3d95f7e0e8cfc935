# SPDX-License-Identifier: ISC
"""Policies: draws keyveto.conf and its lists, and says what they do with a key.

What they do with a key is written from keyveto.conf(5) alone: no code of keyveto's is asked.

    lists       the filters and exact lists: their path, the keys that they list, their state
    policies    each configuration: its path, its lines, and how they are spelt
    modules     lines for pam_keyveto.so that an administrator wrote into sshd's PAM stack

A line's value may hold <name>, which stands for the fingerprint of that key.
"""

import random
import re
import shlex

import blocklist
import grammar
import pkbf
import sshkey

CONFIG, OTHER = "/etc/keyveto/keyveto.conf", "/etc/keyveto/other.conf"
DROP_IN = "/etc/ssh/sshd_config.d/00-keyveto.conf"
DEFAULT_FILTER = "/var/lib/keyveto/filter.pkbf"
FILTERS = (DEFAULT_FILTER, "/var/lib/keyveto/second.pkbf", "/etc/keyveto/third.pkbf")
LISTS = ("/var/lib/keyveto/own.dat", "/var/lib/keyveto/exact.dat", "/etc/keyveto/more.dat")
GUARD = "/usr/libexec/keyveto-authorized-keys"
MODULE = "pam_keyveto.so"
LISTED = (*grammar.LISTED_KEYS, grammar.LISTED_CA)
HASHES, LENGTH = 20, 14         # of filters: a key that is not listed is found in one of 10**30 draws

# Each keyword of keyveto.conf(5). test_policies.py compares this with the manual.
MANY = ("Filter", "Blocklist", "AllowKey", "DenyKey")
SINGLE = ("OnHit", "OnProbable", "OnError", "OnUnsupported", "AuthorizedKeysFile", "AuthorizedKeysFileWildcards",
          "StrictModes", "SyslogFacility", "Message")
FACILITIES = ("DAEMON", "USER", "AUTH", "AUTHPRIV", *(f"LOCAL{number}" for number in range(8)))

DENY, ENTER = "deny", "enter"
FILTER_TIME = 1555799917
TODAY_IS_AFTER, TODAY_IS_BEFORE = "2020-02-29", "2039-12-31"


# What a policy does with a key

class Policy:
    """The configuration at a path, by keyveto.conf(5)."""

    def __init__(self, draw, path=CONFIG):
        found = [one for one in draw["policies"] if one["path"] == path]
        self.missing = not found
        self.lines = found[0]["lines"] if found else []
        self.lists = {one["path"]: one for one in draw["lists"]}

    def _values(self, keyword):
        return [value for name, value in self.lines if name == keyword]

    def _first(self, keyword, default):
        return next(iter(self._values(keyword)), default).lower()

    @property
    def has_mistake(self):
        return any(name not in (*MANY, *SINGLE) for name, _ in self.lines)

    @property
    def filters(self):
        named = self._values("Filter")
        return named or ([] if self.lists_named else [DEFAULT_FILTER])

    @property
    def lists_named(self):
        return self._values("Blocklist")

    def _is_readable(self, path):
        return path in self.lists and self.lists[path]["state"] == "good"

    def _is_in(self, paths, name):
        return any(self._is_readable(path) and name in self.lists[path]["keys"] for path in paths)

    def _is_allowed(self, name):
        for value in self._values("AllowKey"):
            key, _, rest = value.partition(" ")
            if key == f"<{name}>" and f"until={TODAY_IS_AFTER}" not in rest:
                return True
        return False

    def _is_denied(self, name):
        for value in self._values("DenyKey"):
            key, _, rest = value.partition(" ")
            if key == f"<{name}>" and f"since={TODAY_IS_BEFORE}" not in rest:
                return True
        return False

    @property
    def _error(self):
        """What happens without a verdict."""
        return {DENY} if self.missing or self._first("OnError", "deny") == "deny" else {ENTER}

    def _judge(self, name):
        """(whether the key is listed, the possible actions)."""
        on_hit = self._first("OnHit", "deny")
        on_probable = self._first("OnProbable", on_hit)
        lists_read = all(map(self._is_readable, self.lists_named))
        filters_read = all(map(self._is_readable, self.filters))
        if self._is_denied(name) and on_hit == "deny":
            return True, {DENY}
        if self.missing or self.has_mistake:
            return False, self._error
        if self._is_allowed(name):
            return False, {ENTER}
        if self._is_in(self.lists_named, name):
            return True, {DENY} if on_hit == "deny" else {ENTER}
        if self._is_in(self.filters, name):
            if on_probable == "deny":
                return True, {DENY}
            if lists_read:
                return True, {ENTER}
            # There is no verdict; but with OnHit warn a listed key counts before an error.
            return False, self._error if on_hit == "deny" else {ENTER} | self._error
        return False, {ENTER} if lists_read and filters_read else self._error

    def actions(self, names):
        """What may happen to an offered key by this policy: {DENY}, {ENTER} or both.

        names are the key's and, for a certificate, its CA's.
        """
        parts = [self._judge(name) for name in names]
        if self._first("OnHit", "deny") == "warn":
            # A listed key counts before an error: this also lets in a certificate of which one key could not be
            # looked up. But a key that OnProbable refuses is refused.
            listed = [actions for is_listed, actions in parts if is_listed]
            if listed and any(DENY in actions and not is_listed for is_listed, actions in parts):
                return {DENY} if {DENY} in listed else {ENTER}
        if any(actions == {DENY} for _, actions in parts):
            return {DENY}
        return set.union(*(actions for _, actions in parts)) if parts else {ENTER}

    def may_deny(self, names):
        return DENY in self.actions(names)


def names_of(identity):
    """The keys of what a client offers: its key, and the CA of its certificate."""
    certificate = identity.get("certificate")
    return (identity["key"], certificate["ca"]) if certificate else (identity["key"],)


def configs_by_hand(draw):
    """The configurations of the guards and modules that enable did not write."""
    return [one["config"] or CONFIG for one in draw["modules"]] + configs_of_guards(
        value for _, value in grammar.settings_of(draw))


def configs_of_guards(values):
    """The configurations of those of the command lines that call the guard."""
    found = [shlex.split(value) for value in values if value.startswith(GUARD)]
    return [words[words.index("--config") + 1] if "--config" in words else CONFIG for words in found]


# Drawing

class Drawer(grammar.Dice):
    """Draws the policies of a machine."""

    def __init__(self, draw, seed):
        self.draw, self.r = draw, random.Random(f"policy {seed}")

    def add(self):
        """Adds lists, policies and lines that were written by hand."""
        self.draw["lists"], self.draw["modules"] = [], []
        for path in (*FILTERS, *LISTS):
            self.draw["lists"].append(self.a_list(path))
        self.draw["policies"] = [self.a_policy(CONFIG, self.maybe(0.25))]
        if self.maybe(0.25):
            if self.maybe(0.95):
                self.draw["policies"].append(self.a_policy(OTHER, self.maybe(0.15)))
            self.add_lines_by_hand()
        self.drop_unused_lists()

    def a_list(self, path):
        share = 0.8 if path == DEFAULT_FILTER else 0.5
        keys = [name for name in LISTED if self.maybe(share)] or [self.r.choice(LISTED)]
        return {"path": path, "keys": keys, "state": self.pick({
            "good": 60, "missing": 1, "cut off": 1, "insecure": 1, "empty": 0.5 if path in LISTS else 0})}

    def drop_unused_lists(self):
        used = {path for one in self.draw["policies"] for name, path in one["lines"] if name in ("Filter", "Blocklist")}
        self.draw["lists"] = [one for one in self.draw["lists"] if one["path"] in used | {DEFAULT_FILTER}]

    def a_policy(self, path, plain):
        lines = [] if plain else self.lines()
        return {"path": path, "lines": lines, "spelling": self.pick({"": 6, "lower": 1, "upper": 1, "=": 1, '"': 1})}

    def lines(self):
        lines = []
        if self.maybe(0.45):
            lines += [["Filter", path] for path in self.r.sample(FILTERS, self.pick({1: 4, 2: 3, 3: 1}))]
        if self.maybe(0.6):
            lines += [["Blocklist", path] for path in self.r.sample(LISTS, self.pick({1: 5, 2: 2, 3: 1}))]
        for share, keyword, weights in (
                (0.5, "OnHit", {"deny": 3, "warn": 2, "Warn": 0.3}), (0.5, "OnProbable", {"deny": 3, "warn": 3}),
                (0.4, "OnError", {"deny": 2, "allow": 3}), (0.3, "OnUnsupported", {"deny": 1, "allow": 1}),
                (0.2, "StrictModes", {"yes": 1, "private-group": 1, "no": 1}),
                (0.2, "AuthorizedKeysFileWildcards", {"yes": 1, "no": 1}),
                (0.2, "SyslogFacility", dict.fromkeys(FACILITIES, 1)),
                (0.2, "Message", {"no": 1, '"%t %f: ask \\"us\\", 100%%"': 1, "a word or two": 1})):
            if self.maybe(share):
                lines.append([keyword, self.pick(weights)])
        if self.maybe(0.25):
            lines.append(["AuthorizedKeysFile", self.a_pattern()])
        for _ in range(self.pick({0: 5, 1: 4, 2: 2})):
            lines.append(["AllowKey", self.an_exception()])
        for _ in range(self.pick({0: 12, 1: 2, 2: 1})):
            lines.append(["DenyKey", self.a_refusal()])
        self.r.shuffle(lines)
        if lines and self.maybe(0.1):           # the first line of such a keyword counts
            lines += [[keyword, {"deny": "warn", "warn": "deny"}[value]] for keyword, value in lines
                      if keyword in ("OnHit", "OnProbable") and value in ("deny", "warn")]
        if self.maybe(0.02):
            lines.append([self.r.choice(("Nonsense", "On", "Fliter")), "yes"])
        return lines

    def a_pattern(self):
        patterns = grammar.keys_patterns(self.draw)
        return self.pick({" ".join(map(_quoted, patterns)): 4, ".ssh/authorized_keys": 2, "none": 1,
                          "/etc/ssh/keys/%u": 1})

    def an_exception(self):
        name = self.r.choice(LISTED if self.maybe(0.8) else (*grammar.CLEAN_KEYS, *grammar.CLEAN_CAS))
        until = self.pick({"": 3, f" until={TODAY_IS_BEFORE}": 3, f" until={TODAY_IS_AFTER}": 2})
        return f"<{name}>{until}" + self.pick({"": 2, " build host": 1, ' "a # reason"': 0.5})

    def a_refusal(self):
        name = self.r.choice(LISTED if self.maybe(0.7) else (*grammar.CLEAN_KEYS, *grammar.CLEAN_CAS))
        since = self.pick({"": 3, f" since={TODAY_IS_AFTER}": 3, f" since={TODAY_IS_BEFORE}": 2})
        return f"<{name}>{since}" + self.pick({"": 2, " incident 7": 1, ' "a # reason"': 0.5})

    # Lines of an administrator

    def add_lines_by_hand(self):
        if self.maybe(0.35):
            self.draw["modules"].append({"config": self.pick({OTHER: 4, "": 2}), "phase": self.pick({
                "session": 6, "account": 1}), "options": self.pick({"": 3, " disconnect=always": 1, " debug": 0.5})})
            return
        config = self.draw["config"]
        command = self.guard()
        user = self.pick({"root": 5, "%u": 1, "nobody": 0.5})
        pair = [["AuthorizedKeysCommand", command], ["AuthorizedKeysCommandUser", user]]
        if self.maybe(0.8):
            pair.insert(0, ["AuthorizedKeysFile", "none"])
        if config["matches"] and self.maybe(0.5):
            block = self.r.choice(config["matches"])
            block["settings"] = _without_keys(block["settings"]) + pair
        else:
            config["main"] = _without_keys(config["main"]) + pair

    def guard(self):
        words = [GUARD, *self.pick({(): 2, ("--config", OTHER): 5}), "--user", "%u", "--home", "%h", "--type", "%t",
                 "--key", "%k", *self.pick({(): 3, ("--uid", "%U"): 1})]
        if self.maybe(0.5):
            for pattern in grammar.keys_patterns(self.draw):
                if " " not in pattern:
                    words += ["--file", pattern]
            words += ["--wildcards", "yes"] if "*" in " ".join(words) else []
            words += self.pick({(): 3, ("--strictmodes", "private-group"): 2, ("--strictmodes", "no"): 0.5})
        return " ".join(words)


def _quoted(pattern):
    return f'"{pattern}"' if " " in pattern else pattern


def _without_keys(settings):
    return [setting for setting in settings if not setting[0].startswith("AuthorizedKeys")]


def make(seed, has_glob=False):
    """The draw of a seed."""
    draw = grammar.make(seed, has_glob)
    Drawer(draw, seed).add()
    return draw


# Writing

def config_text(policy, pool):
    """The lines of a configuration."""
    lines = []
    for keyword, value in policy["lines"]:
        value = re.sub(r"<(\w+)>", lambda match: pool.keys[match.group(1)].fingerprint, value)
        spelling = policy["spelling"]
        if spelling in ("lower", "upper"):
            keyword = getattr(keyword, spelling)()
        if spelling == '"' and " " not in value and '"' not in value:
            value = f'"{value}"'
        lines.append(f"{keyword}{' = ' if spelling == '=' else ' '}{value}\n")
    return "".join(lines)


def list_bytes(one, pool):
    """The filter or exact list."""
    found = [sshkey.parse_line(pool.keys[name].line.encode()) for name in one["keys"]]
    if one["path"].endswith(".pkbf"):
        made = pkbf.Filter.create(HASHES, LENGTH)
        revision = one.get("revision", 1)
        made.add_run([spki for key in found for spki in key.spkis], now=FILTER_TIME + revision)
        made.revision = revision
        data = made.to_bytes()
    else:
        made = blocklist.Blocklist()
        for key in found:
            made.add(key, 1)
        data = made.encode()
    return {"cut off": data[:-5], "empty": b""}.get(one["state"], data)


def stack_with(stack, modules):
    """A PAM stack with the modules' lines, each before the first line of its phase."""
    for one in modules:
        words = [one["phase"], "requisite", MODULE] + ([f"config={one['config']}"] if one["config"] else [])
        line = " ".join(words) + one["options"] + "\n"
        match = re.search(rf"^{one['phase']}\b", stack, re.MULTILINE)
        place = match.start() if match else len(stack)
        stack = stack[:place] + line + stack[place:]
    return stack


def describe(draw):
    """(title, text) for each file."""
    out = [(f"{one['path']} ({one['spelling'] or 'plain'})" if one["lines"] else one["path"],
            "".join(f"{keyword} {value}\n" for keyword, value in one["lines"])) for one in draw["policies"]]
    out += [(f"{one['path']} ({one['state']})", "".join(f"<{name}>\n" for name in one["keys"]))
            for one in draw["lists"]]
    if draw["modules"]:
        out.append(("/etc/pam.d/sshd, added", stack_with("", draw["modules"])))
    return out
