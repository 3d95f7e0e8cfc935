# SPDX-License-Identifier: ISC
"""Runs the keyveto command, and reads and replaces the few files around it, for the modules of this collection.

Python 3.6 and its standard library only: this runs on the hosts.
"""

import hashlib
import json
import os
import re
import stat
import subprocess
import tempfile

CONFIG = "/etc/keyveto/keyveto.conf"
STATE = "/var/lib/keyveto"
PATHS = ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
DEFAULT_FILTER = STATE + "/filter.pkbf"
# The block that `keyveto enable` writes into keyveto.conf.
BLOCK = re.compile(r"^# BEGIN keyveto.*?^# END keyveto[^\n]*\n?", re.MULTILINE | re.DOTALL)


class EngineError(Exception):
    """Something that makes the host fail, in words."""


def last_words(text, lines=20):
    """The end of what a program printed, short enough for a message."""
    return "\n".join(text.strip().splitlines()[-lines:])


class Engine:
    """The keyveto command of this host."""

    def __init__(self, command="keyveto", timeout=300):
        self.command, self.timeout = command, timeout

    def run(self, *words, **options):
        """(status, standard output, standard error); EngineError if it is not installed or takes too long."""
        environment = dict(os.environ, LC_ALL="C.UTF-8")
        environment.update(options.pop("environment", {}))
        environment["PATH"] = environment.get("PATH", "") + PATHS
        try:
            process = subprocess.Popen([self.command] + [str(word) for word in words], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        except OSError as error:
            raise EngineError("%s cannot be run: %s; is it installed?" % (self.command, error.strerror))
        try:
            out, err = process.communicate(timeout=options.get("timeout", self.timeout))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise EngineError("%s %s did not end within %s seconds" % (
                self.command, " ".join(str(word) for word in words), options.get("timeout", self.timeout)))
        return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def version(self):
        """The version as a string, or None if keyveto is not installed."""
        try:
            status, out, _ = self.run("--version")
        except EngineError:
            return None
        found = re.search(r"(\d+\.\d+\S*)", out)
        return found.group(1) if status == 0 and found else None

    def objects(self, *words, **options):
        """(status, the JSON objects that it prints a line each, standard error)."""
        status, out, err = self.run(*words, **options)
        found = []
        for line in out.splitlines():
            if line.startswith("{"):
                try:
                    found.append(json.loads(line))
                except ValueError:
                    raise EngineError("keyveto %s printed no JSON: %s" % (" ".join(words), line[:200]))
        return status, found, err

    def status(self, sshd, *words):
        """What `keyveto status --json` tells."""
        _, found, err = self.objects("status", "--json", "--sshd", sshd, *words)
        if not found or "ways" not in found[0]:
            raise EngineError("keyveto status: %s" % last_words(err))
        return found[0]

    def sshd(self, verb, *words):
        """What `keyveto enable --json` or `disable --json` tells: its last object, with the keys under "keys"."""
        status, found, err = self.objects("sshd", verb, "--json", *words)
        if not found or found[-1].get("sshd") != verb:
            raise EngineError("keyveto sshd %s: %s" % (verb, last_words(err) or "status %d" % status))
        told = found.pop()
        told["keys"] = [one for one in found if one.get("verdict") == "listed"]
        told["problems"] = [one for one in found if one.get("verdict") == "error"]
        told["stderr"] = err
        return told


def sha256(path):
    """The SHA-256 of a regular file in hexadecimal; None if there is nothing of this name."""
    digest = hashlib.sha256()
    try:
        # A named pipe would wait for ever.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise EngineError("%s is not a regular file" % path)
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def read_text(path):
    """The text of a file; None if there is none. Bytes that are not UTF-8 survive write_text."""
    try:
        with open(path, "rb") as file:
            return file.read().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def replace(path, source, mode=0o644, digest=None):
    """Puts the bytes of the binary file source in the place of path, in one step, owned by root.

    The name appears only when the bytes are on disk and, if digest is given, have that SHA-256.
    """
    seen = hashlib.sha256()
    folder = os.path.dirname(path)
    handle, name = tempfile.mkstemp(prefix=".%s.keyveto-" % os.path.basename(path), dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            for block in iter(lambda: source.read(1 << 20), b""):
                seen.update(block)
                file.write(block)
            if digest not in (None, seen.hexdigest()):
                raise EngineError("%s was changed on its way to the host" % path)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fchown(file.fileno(), os.geteuid(), os.getegid())
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    where = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(where)
    except OSError:
        pass
    finally:
        os.close(where)


def words_of(line):
    """The words of a line of keyveto.conf or update.conf, the keyword in lower case; [] for a comment."""
    found = re.match(r"\s*([A-Za-z]+)(?:\s*=\s*|\s+)(.*)", line)
    if not found:
        return []
    rest = re.findall(r'"((?:[^"\\]|\\.)*)"|([^\s"#]\S*)', found.group(2))
    return [found.group(1).lower()] + [quoted or bare for quoted, bare in rest]


def consulted(text):
    """The filters and lists that a keyveto.conf names: {path: "filter" or "blocklist"}, without the default."""
    found = {}
    for line in text.splitlines():
        words = words_of(line)
        if len(words) > 1 and words[0] in ("filter", "blocklist"):
            found[words[1]] = words[0]
    return found


def kind_of(path):
    """Whether a file is a filter or an exact list, by its first bytes."""
    with open(path, "rb") as file:
        return "filter" if file.read(6) == b"pkbfv1" else "blocklist"


def with_lines_for(text, wanted):
    """The keyveto.conf with lines that name the files of wanted, {path: kind}, too.

    A Blocklist line takes the default filter away, so that one gets a line if it is in use.
    """
    named = consulted(text)
    missing = [(path, kind) for path, kind in sorted(wanted.items()) if path not in named]
    if not named:
        if not [path for path, _ in missing if path != DEFAULT_FILTER]:
            return text
        if os.path.exists(DEFAULT_FILTER) and DEFAULT_FILTER not in dict(missing):
            missing.insert(0, (DEFAULT_FILTER, "filter"))
    lines = ["%s %s\n" % (kind.capitalize(), '"%s"' % path if re.search(r"[\s#]", path) else path)
             for path, kind in missing]
    if lines and text and not text.endswith("\n"):
        text += "\n"
    return text + "".join(lines)


def with_block(text, now):
    """The administrator's text with the block that `keyveto enable` wrote into the present one, at its place."""
    found = BLOCK.search(now or "")
    text = BLOCK.sub("", text)
    return (found.group(0) if found.group(0).endswith("\n") else found.group(0) + "\n") + text if found else text


def save_config(engine, text, path=CONFIG, yes=False):
    """Saves keyveto.conf by `keyveto config edit`, which refuses mistakes, and what locks people out without yes."""
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix="keyveto-conf-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        editor = {"VISUAL": "cp %s" % name, "EDITOR": "cp %s" % name}
        status, out, err = engine.run("config", "edit", *["--yes"] * yes, "--config", path, environment=editor)
    finally:
        os.unlink(name)
    if status != 0:
        raise EngineError("%s was not changed: keyveto config edit says\n%s" % (path, last_words(out + err)))


def check_config(engine, text):
    """EngineError if this keyveto.conf has a mistake; for check mode."""
    handle, name = tempfile.mkstemp(prefix="keyveto-conf-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))
        os.chmod(name, 0o644)
        status, out, err = engine.run("config", "check", name)
    finally:
        os.unlink(name)
    if status == 2:
        raise EngineError("this keyveto.conf would not be saved:\n%s" % last_words((out + err).replace(name, CONFIG)))


def describe_key(one):
    """Where a listed key is, and which one, for a message."""
    return " ".join(part for part in ("%s:%s:" % (one.get("file"), one.get("line")), one.get("type"),
                                      one.get("fingerprint"), one.get("comment")) if part)
