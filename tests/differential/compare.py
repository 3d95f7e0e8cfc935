# SPDX-License-Identifier: ISC
"""Which results a login may have with keyveto enabled, given its result before."""

import json
import re
from dataclasses import dataclass

import policy

# The ways in for which a note of `keyveto status` about a Match block makes no claim.
_WAYS_OF = {
    "authorizedkeysfile": ("authorized_keys", "cert-authority line"),
    "authorizedkeyscommand": ("AuthorizedKeysCommand", "cert-authority line"),
    "trustedusercakeys": ("TrustedUserCAKeys",), "authorizedprincipalsfile": ("TrustedUserCAKeys",),
    "authorizedprincipalscommand": ("TrustedUserCAKeys",),
    "pubkeyauthentication": ("authorized_keys", "AuthorizedKeysCommand", "cert-authority line", "TrustedUserCAKeys"),
}


@dataclass
class Difference:
    """A breach of the rules in README.md."""
    kind: str
    phase: str
    client: object = None       # its number; None if no login is concerned
    text: str = ""


class Claims:
    """The ways in that are guarded according to `keyveto status`."""

    def __init__(self, output):
        told = json.loads(output)
        self.rows, self.open_questions = told["ways"], set()
        for keyword in re.findall(r"(\w+) [^\n]* bypasses the guard", "\n".join(
                one["found"].partition(": ")[2] for one in told["checks"] if one["check"] == "match")):
            self.open_questions.update(_WAYS_OF.get(keyword.lower(), ()))

    def guards(self, account, way):
        """Whether the way is guarded for the account. None if status makes no claim."""
        if way in self.open_questions:
            return None
        for row in self.rows:
            if row["way"] == way and (row["accounts"] is None or account in row["accounts"]):
                return row["guarded"] and row["open"] or None
        return None


def reduced(client, rules):
    """The client without the keys that the policy refuses. None if it has no others."""
    kept = []
    for identity in client["identities"]:
        if rules.may_deny([identity["key"]]):
            continue
        refused = rules.may_deny(policy.names_of(identity))
        kept.append({"key": identity["key"]} if refused else identity)
    if kept == client["identities"] or not (kept or client["password"]):
        return None
    return {**client, "identities": kept}


def refused_ways(record, rules):
    """{way: whether it must be refused} for the ways by which sshd accepted a key that the policy may refuse."""
    ways = {}
    for one in record.accepted:
        actions = rules.actions(one.fingerprints)
        if policy.DENY in actions:
            ways[one.way] = ways.get(one.way, False) or actions == {policy.DENY}
    return ways


def same(before, after):
    """Whether two logins are equal.

    If sshd breaks off (255, and no "Permission denied"), the client may miss its last
    message. 9.2 to 10.6 break off in monitor.c, "unexpected authentication", if root
    may log in by a forced command only, has none, and has an expired password.
    """
    if before == after:
        return True
    broken_off = all(one.is_nothing and one.status == 255 and not any("Permission denied" in word for word in one.words)
                     for one in (before, after))
    return broken_off and (set(before.words) <= set(after.words) or set(after.words) <= set(before.words))


def judge(client, before, without, after, enforced, claims, rules, by_hand=False):
    """The error in a login after enable. None if it obeys the rules.

    without is the result of the same client, before, without the keys that rules, a
    policy, refuses: None if it has no others. by_hand: status may speak of a guard or
    module that an administrator wrote, which reads another policy.
    """
    offers_refused = any(rules.may_deny(policy.names_of(identity)) for identity in client["identities"])
    ways = refused_ways(before, rules)
    if enforced and offers_refused and before.is_nothing and after.is_nothing:
        return None                 # refused before and after, with another message
    if not enforced or not ways:
        return None if same(before, after) else _name(before, after)
    claimed = {way: claims.guards(client["account"], way) for way in ways}
    refused = after.is_nothing or without is not None and same(after, without)
    if any(claimed[way] and ways[way] for way in ways) and not by_hand:
        return None if refused else "to be refused, and let in"
    if any(claimed[way] is not False for way in ways):
        return None if refused or same(before, after) else _name(before, after)
    return None if same(before, after) else "refused, where status says it is not"


def _name(before, after):
    if before.is_nothing and not after.is_nothing:
        return "let in"
    return "locked out" if after.is_nothing and not before.is_nothing else "changed"
