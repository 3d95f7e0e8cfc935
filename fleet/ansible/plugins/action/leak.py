# SPDX-License-Identifier: ISC
"""From a claim that a key leaked to its refusal on a host: who would be locked out, the refusal, the open sessions."""

import hashlib
import json
import os
import re
import shlex
import subprocess

from ansible.plugins.action import ActionBase
from ansible_collections.keyveto.keyveto.plugins.modules.leak import ARGUMENTS
from ansible_collections.keyveto.keyveto.plugins.plugin_utils.this_run import once

FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
# Of a line of authorized_keys or of ssh-keygen -y, the key alone.
LINE = re.compile(r"(?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[a-z0-9@.-]+ AAAA[A-Za-z0-9+/]+={0,2}")
# A line of keyveto proof verify.
PROVED = re.compile(r": proved compromised: \S+ \d+ (SHA256:[A-Za-z0-9+/]{43}) ")
CONFIG = "/etc/keyveto/keyveto.conf"
# What a login would answer if keyveto.conf had these lines, too.
ASK = """f=$(mktemp) || exit 2
trap 'rm -f "$f"' EXIT
if test -e {config}; then cat {config} || exit 2; fi >"$f"
printf '\\nDenyKey %s\\n' {keys} >>"$f"
{audit} --config "$f"
"""
# Ends connections by the process of sshd that let them in. The shell itself compares its start with the one that
# keyveto told, right before each signal. sshd hands SIGTERM on to the process that serves the account, and closes
# terminals. An account can stop that process: after five seconds both are killed. Ansible's own connection stays.
END = r"""set -f
read_start() {
    start=
    read -r line 2>/dev/null <"/proc/$1/stat" || return 1
    set -- ${line##*)}
    [ "$1" != Z ] && start=${20} parent=$2
}
send() {
    any=1
    for each in $2; do
        read_start "${each%:*}" && [ "$start" = "${each#*:}" ] && any=0 && kill -s "$1" "${each%:*}"
    done
    return $any
}
finish() {
    case $own in *" $1:$2 "*) return 1 ;; esac
    send 0 "$1:$2" || return 0
    all=$1:$2
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
        [ "/proc/$child/exe" -ef "/proc/$1/exe" ] && read_start "$child" && [ "$parent" = "$1" ] &&
            all="$all $child:$start"
    done
    i=0
    send TERM "$1:$2"
    while send 0 "$all"; do
        [ "$((i += 1))" -ne 50 ] || send KILL "$all"
        [ "$i" -lt 100 ] || return 1
        sleep 0.1
    done
}
own=" " parent=$$
while [ "$parent" -gt 0 ] && up=$parent && read_start "$up"; do own="$own$up:$start "; done
for one in "$@"; do
    ended=true
    finish "${one%:*}" "${one#*:}" || ended=false
    printf '{"pid":%s,"start":%s,"ended":%s}\n' "${one%:*}" "${one#*:}" "$ended"
done
"""
# With become, Ansible has a terminal on the host: keyveto tells its progress there, and ssh that it closes.
TERMINAL = re.compile(r"^[^\n]*\x1b\[K|^Shared connection to \S+ closed\.\r?$|\r", re.MULTILINE)


def objects(text):
    """The JSON objects in what keyveto printed, a line each."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return [one for one in found if isinstance(one, dict)]


def words_in(text):
    """The end of what keyveto said to people."""
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("{"))[-1000:]


def here(*words):
    """(status, output) of a program on the controller."""
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def read_claim(command, key, proofs, required):
    """The fingerprints and the public halves of the claimed keys; with "wrong" if the claim is refused."""
    if FINGERPRINT.fullmatch(key):
        return {"wrong": "a fingerprint cannot be proved: give the key"} if proofs or required else {
            "keys": [key], "lines": []}
    path = os.path.abspath(os.path.expanduser(key))
    _, said = here(command, "check", "--json", "--all", path)
    # The controller need not have a list, so the verdicts do not matter.
    keys = sorted({one.get("fingerprint") or "" for one in objects(said) if "verdict" in one})
    if not keys or "" in keys:
        return {"wrong": "%s has no key, or one that cannot be read: %s" % (path, words_in(said))}
    if required and not proofs:
        return {"wrong": "no proof was given, and keyveto_leak_proof_required is set"}
    if proofs:
        status, said = here(command, "proof", "verify", *map(os.path.abspath, proofs), path)
        unproved = sorted(set(keys).difference(PROVED.findall(said)))
        if status != 0 or unproved:
            return {"wrong": "the claim is refused, since a proof does not hold: %s" % (
                words_in(said) or ", ".join(unproved))}
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = sorted(set(LINE.findall(file.read())))
    if not lines:
        status, said = here("ssh-keygen", "-y", "-P", "", "-f", path)
        lines = LINE.findall(said) if status == 0 else []
    return {"keys": keys, "lines": lines}


class ActionModule(ActionBase):
    """The action of the task keyveto.keyveto.leak."""

    _supports_check_mode = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, self.wanted = self.validate_argument_spec(ARGUMENTS)
        result["directory"] = os.path.abspath(self.wanted["directory"])
        claim = self.claim()
        if "wrong" in claim:
            result.update(failed=True, msg=claim["wrong"], leak={"state": self.wanted["state"], "wrong": True})
            return result
        self.leak = result["leak"] = {"state": self.wanted["state"], "keys": claim["keys"]}
        self.keys, self.lines = claim["keys"], claim["lines"]
        result["changed"] = False
        if self._play_context.check_mode and self.wanted["state"] != "asked":
            result["skipped"] = True
            return result
        wrong = getattr(self, self.wanted["state"])(result)
        if wrong:
            result.update(failed=True, msg=wrong)
        return result

    def claim(self):
        """The claim, read and verified once in a run."""
        asked = [self.wanted[name] for name in ("command", "key", "proofs", "proof_required")]
        name = "claim-" + hashlib.sha256(repr(asked).encode()).hexdigest()
        return json.loads(once(name, lambda: json.dumps(read_claim(*asked))))

    def there(self, script):
        """(status, standard output, what was said in words) of shell commands on the host."""
        done = self._low_level_execute_command("export LC_ALL=C.UTF-8\n" + script.strip())
        out, err = (TERMINAL.sub("", done[stream]) for stream in ("stdout", "stderr"))
        return done["rc"], out, words_in(out + err)

    def words(self, *words):
        """A command line of keyveto's on the host."""
        return " ".join(map(shlex.quote, (self.wanted["command"],) + words))

    def ask(self, audit):
        """An audit of the host, as if it denied the keys."""
        return ASK.format(config=CONFIG, keys=" ".join(map(shlex.quote, self.keys)), audit=audit)

    # The four steps. Each returns what is wrong, if anything is.

    def asked(self, result):
        """Which accounts have the key, and which have no other."""
        status, out, said = self.there(self.ask(self.words("audit", "--json")))
        found = objects(out)
        if not [one for one in found if one.get("end") and one.get("reason") is None]:
            return "who has the key is not known: keyveto audit says %s" % said
        has = {one.get("account") for one in found if one.get("fingerprint") in self.keys and one.get("account")
               and one.get("verdict") == "listed"}
        self.leak["accounts"] = [
            {"account": one["account"], "locked_out": one["usable"] == 0} for one in found
            if one.get("summary") and one.get("what") == "account" and one.get("account") in has]
        if status == 2:
            result.setdefault("warnings", []).append("not all keys could be judged: %s" % said)
        lost = [one["account"] for one in self.leak["accounts"] if one["locked_out"]]
        try:
            own = self._connection.get_option("remote_user")
        except KeyError:
            own = None
        if own in lost:
            self.leak["stopped"] = True
            return "%s, the account that Ansible logs in as, would be locked out: give it another key first" % own
        # keyveto on the host holds back what refuses a key of root's, whatever else root has.
        held = ["%s would be locked out" % name for name in lost]
        held += ["root has the key"] * ("root" in has.difference(lost))
        self.leak["stopped"] = bool(held) and not self.wanted["accept_refused"]
        return "%s; keyveto_accept_refused goes on" % ", ".join(held) if self.leak["stopped"] else None

    def published(self, result):
        """Puts the key into the publisher's list, and publishes that."""
        if not self.lines:
            return "a list needs the public key, and %s has none" % self.wanted["key"]
        texts = ["".join(line + "\n" for line in self.lines)]
        for path in self.wanted["proofs"]:
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
        files = "".join("printf %%s %s >\"$d/%d\"\n" % (shlex.quote(text), number) for number, text in enumerate(texts))
        name = ("--name", self.wanted["list_name"]) if self.wanted["list_name"] else ()
        add = self.words("list", "add", self.wanted["list"], "--id", str(self.wanted["list_id"]), *name,
                         *["--proofs"] * bool(self.wanted["proofs"]))
        sign = ("--sign", self.wanted["signing_key"]) if self.wanted["signing_key"] else ()
        status, _, said = self.there("d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT || exit 2\n%s%s \"$d\" && %s\n" % (
            files, add, " ".join(map(shlex.quote, (self.wanted["command"] + "-publish", "--quiet", *sign,
                                                   self.wanted["folder"], self.wanted["list"])))))
        result["changed"] = status == 0
        self.leak["published"] = status == 0
        return "the key was not published: %s" % said if status else None

    def refused(self, result):
        """Has the host refuse the key."""
        yes = ("--yes",) * self.wanted["accept_refused"]
        if self.wanted["way"] == "deny":
            reason = self.wanted["reason"].split()
            script = " &&\n".join(self.words("deny", *yes, "--", key, *reason) for key in self.keys)
        else:
            sources = [word for name in self.wanted["sources"] for word in ("--source", name)]
            script = self.words("update", *yes, *sources)
        status, out, said = self.there(script)
        self.leak["said"] = said
        result["changed"] = any("already" not in line for line in out.splitlines() if line)
        # An update tells by 1 that a key in use is listed now.
        if status not in ((0,) if self.wanted["way"] == "deny" else (0, 1)):
            return "the key is not refused: keyveto %s says %s" % (self.wanted["way"], said)
        return None

    def verified(self, result):
        """Judges the key on the host, and looks at its open sessions."""
        self.judge()
        self.look_for_sessions(result)
        if self.wanted["sessions"] == "end" and not self.leak["ended"]:
            return "sessions that came in by the key may still be open: %s" % (self.leak.get(
                "sessions_unknown") or ", ".join("process %s" % one["pid"] for one in self.leak["sessions"]
                                                 if not one["ended"]))
        if not self.leak["listed"]:
            return "the key is still let in: no list of this host has it"
        return None if self.leak["guarded"] else "the key is still let in: keyveto is not enabled in sshd here"

    def judge(self):
        """Notes whether the host's keyveto refuses all the keys, on each way in."""
        judge = "printf '%%s\\n' %s | %s\n" % (
            " ".join(map(shlex.quote, self.lines)), self.words("check", "--json", "--all", "-")) if self.lines else ""
        _, out, _ = self.there(judge + self.words("status", "--json"))
        told = objects(out)
        self.leak["guarded"] = any("ways" in one and one["guarded"] is True for one in told)
        verdicts = [one["verdict"] for one in told if "verdict" in one]
        # Of a fingerprint alone, the DenyKey line that was written is all there is to know.
        known = len(verdicts) == len(self.lines) if self.lines else self.wanted["way"] == "deny"
        self.leak["listed"] = known and all(verdict == "listed" for verdict in verdicts)
        self.leak["refused"] = self.leak["listed"] and self.leak["guarded"]

    def look_for_sessions(self, result):
        """The open sessions that came in by the key. They are ended if that is asked for."""
        logs = ["--logins=%s" % log for log in self.wanted["logs"]] or ["--logins"]
        # Logs are read for all accounts. The files of the others do not matter: the keys are known.
        audit = self.words("audit", "--json", "--user", "root", *logs)
        _, out, said = self.there(self.ask(audit))
        found = objects(out)
        rows = [one for one in found if one.get("login") and one.get("fingerprint") in self.keys]
        self.leak["sessions"] = [
            dict(one, account=row["account"], fingerprint=row["fingerprint"], ended=False)
            for row in rows for one in row.get("connected") or ()]
        doubts = ["process %(pid)s by %(log)s: %(doubt)s" % one for one in self.leak["sessions"] if one["doubt"]]
        # An older keyveto says nothing of connections; null is not known.
        known = any(one.get("end") and one.get("reason") is None and not one["problems"] for one in found) and all(
            row.get("connected") is not None for row in rows)
        if not known or doubts:
            self.leak["sessions_unknown"] = "; ".join(doubts) or said or "keyveto audit does not say which they are"
            result.setdefault("warnings", []).append(
                "open sessions are not all known: %s" % self.leak["sessions_unknown"])
        self.leak["ended"] = False
        if self.wanted["sessions"] == "end":
            self.end_sessions(result)
            self.leak["ended"] = known and all(one["ended"] for one in self.leak["sessions"])

    def end_sessions(self, result):
        """Ends those of which there is no doubt."""
        sure = sorted({"%d:%d" % (one["pid"], one["start"]) for one in self.leak["sessions"] if not one["doubt"]})
        if not sure:
            return
        _, out, _ = self.there("set -- %s\n%s" % (" ".join(sure), END))
        ended = {(one["pid"], one["start"]) for one in objects(out) if one.get("ended")}
        for one in self.leak["sessions"]:
            one["ended"] = (one["pid"], one["start"]) in ended
        result["changed"] = bool(ended)
