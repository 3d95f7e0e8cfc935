# SPDX-License-Identifier: ISC
"""The host's side of the proof by logins.

Probe gives the connecting account two throw-away keys for a minute, of which one is listed, and starts a process that
takes them away again. If that process is not told to keep keyveto within its time, it takes out keyveto, too. So the
host is as before if the controller is gone. If the host is started again meanwhile, a unit of systemd's takes out
keyveto.
"""

import fcntl
import json
import os
import pwd
import re
import select
import shlex
import shutil
import signal
import subprocess
import time

from ansible_collections.keyveto.keyveto.plugins.module_utils.engine import (
    CONFIG, PATHS, STATE, EngineError, last_words, read_text, save_config, with_lines_for)

FOLDER = STATE + "/ansible-probe"
PROBE_LIST = STATE + "/ansible-probe.dat"
PROVED = STATE + "/ansible-proved.json"
BEGIN, END = "# keyveto probe: begin", "# keyveto probe: end"
CONFIG_BLOCK = re.compile(r"\n?%s.*?%s\n" % (re.escape(BEGIN), re.escape(END)), re.DOTALL)
KEY_COMMENT = "keyveto-probe-"
CHILD_SECONDS = 30
# systemd starts this unit if the host is started again before the proof has ended. UNIT is enabled by WANTED.
UNITS = "/etc/systemd/system"
UNIT = UNITS + "/keyveto-unproved.service"
WANTED = UNITS + "/multi-user.target.wants/keyveto-unproved.service"
AT_BOOT = FOLDER + "/at-boot"
UNIT_TEXT = """[Unit]
Description=Take keyveto out of sshd, since no login has proved that it works
RequiresMountsFor=%s
Before=ssh.service sshd.service

[Service]
Type=oneshot
ExecStart=/bin/sh %s

[Install]
WantedBy=multi-user.target
""" % (FOLDER, AT_BOOT)
AT_BOOT_TEXT = """PATH=$PATH%s
export PATH
%s sshd disable --yes --sshd %s || exit 1
rm -f %s %s %s
"""


class CannotProve(Exception):
    """Why a login cannot prove anything on this host."""


def connecting_account(name=None):
    """The account that Ansible logged in as: the one given, or who called sudo, or this one."""
    for candidate in (name, os.environ.get("SUDO_USER"), os.environ.get("DOAS_USER")):
        if candidate:
            return candidate
    uid = os.getuid()
    try:
        # Who logged in, whatever became of the session since; -1 without an audit of logins.
        with open("/proc/self/loginuid", encoding="ascii") as file:
            uid = int(file.read())
        return pwd.getpwuid(uid).pw_name
    except (OSError, ValueError, KeyError, OverflowError):
        return pwd.getpwuid(os.getuid()).pw_name


def ssh_connection():
    """SSH_CONNECTION of the login that this process belongs to (sudo drops the variable): four words, or None."""
    pid = os.getpid()
    while pid > 1:
        try:
            with open("/proc/%d/environ" % pid, "rb") as file:
                found = re.search(rb"(?:^|\0)SSH_CONNECTION=([^\0]*)", file.read())
            if found:
                words = found.group(1).decode("ascii", "replace").split()
                return words if len(words) == 4 else None
            with open("/proc/%d/stat" % pid, "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return None
    return None


def sshd_settings(sshd, account):
    """What sshd -T says for a login of the account from where Ansible comes: {keyword: value}."""
    words = ssh_connection()
    where = "host=%s,addr=%s,laddr=%s,lport=%s" % (words[0], words[0], words[2], words[3]) if words else (
        "host=localhost,addr=127.0.0.1,laddr=127.0.0.1,lport=22")
    done = subprocess.run([sshd, "-T", "-C", "user=%s,%s" % (account, where)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    if done.returncode != 0:
        raise CannotProve("sshd -T fails: %s" % last_words(done.stderr.decode("utf-8", "replace"), 3))
    found = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        keyword, _, value = line.partition(" ")
        found.setdefault(keyword.lower(), value)
    return found


def key_files(settings, account):
    """The names of the account's files of keys, by sshd's settings with or without the guard."""
    patterns = settings.get("authorizedkeysfile", ".ssh/authorized_keys").split()
    command = settings.get("authorizedkeyscommand", "none").split()
    if patterns == ["none"]:
        patterns = []
        if command and os.path.basename(command[0]) == "keyveto-authorized-keys" and "--" not in command:
            patterns = [command[i + 1] for i in range(len(command) - 1) if command[i] == "--file"]
            patterns = patterns or [".ssh/authorized_keys", ".ssh/authorized_keys2"]
    names = []
    for pattern in patterns:
        if re.search(r"[*?\[\\\"']", pattern):
            continue
        values = {"h": account.pw_dir, "u": account.pw_name, "U": str(account.pw_uid), "%": "%"}
        name = re.sub("%(.)", lambda found: values.get(found.group(1), ""), pattern)
        names.append(os.path.join(account.pw_dir, name))
    return names


def as_account(account, function, *arguments):
    """Runs function in a process that is the account for good; returns what it returns, or raises CannotProve.

    As root, it follows no link of the account's to a place that the account could not write itself. A file server that
    hangs ends the process, and not this one.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            for name in os.listdir("/proc/self/fd"):
                if int(name) > 2 and int(name) != writer:
                    try:
                        os.close(int(name))
                    except OSError:
                        pass
            if os.geteuid() == 0:
                os.initgroups(account.pw_name, account.pw_gid)
                os.setgid(account.pw_gid)
                os.setuid(account.pw_uid)
            os.umask(0o077)
            signal.alarm(CHILD_SECONDS)
            try:
                answer = {"ok": function(*arguments)}
            except (OSError, CannotProve) as error:
                answer = {"error": str(error)}
            os.write(writer, json.dumps(answer).encode())
        finally:
            os._exit(0)
    os.close(writer)
    said = b""
    deadline = time.time() + CHILD_SECONDS + 5
    try:
        while time.time() < deadline:
            if not select.select([reader], [], [], max(0, deadline - time.time()))[0]:
                break
            block = os.read(reader, 65536)
            if not block:
                break
            said += block
    finally:
        os.close(reader)
        try:
            os.kill(child, signal.SIGKILL)
        except OSError:
            pass
        # A process that waits for a dead file server cannot be waited for.
        for _ in range(20):
            if os.waitpid(child, os.WNOHANG)[0] == child:
                break
            time.sleep(0.05)
    if not said:
        raise CannotProve("the files of %s do not answer" % account.pw_name)
    answer = json.loads(said.decode())
    if "error" in answer:
        raise CannotProve(answer["error"])
    return answer["ok"]


def _only_roots(name):
    """Whether only root can write the file and all folders above it, without a link on the way."""
    if os.path.realpath(name) != name:
        return False
    while True:
        info = os.lstat(name)
        if info.st_uid != 0 or info.st_mode & 0o022:
            return False
        if name == "/":
            return True
        name = os.path.dirname(name)


def _may_plant(names):
    """Raises an error if _plant could not write."""
    existing = [name for name in names if os.path.lexists(name)]
    if existing:
        os.close(os.open(existing[0], os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC))
        if not os.path.isfile(existing[0]):
            raise CannotProve("%s is no file" % existing[0])
        return True
    folder = os.path.dirname(names[0])
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CannotProve("%s cannot be written" % folder)
    return True


def _plant(names, lines):
    """Appends lines to the first of the files that exists, or makes the first one. Returns what _remove needs."""
    planted = {"made": False, "folder": None, "lines": lines}
    existing = [name for name in names if os.path.lexists(name)]
    name = planted["name"] = (existing or names)[0]
    if not existing:
        folder = os.path.dirname(name)
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
            planted["folder"] = folder
        planted["made"] = True
    handle = os.open(name, os.O_RDWR | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | (
        os.O_CREAT | os.O_EXCL if planted["made"] else 0), 0o600)
    with os.fdopen(handle, "r+b", buffering=0) as file:
        if not os.path.isfile(name):
            raise CannotProve("%s is no file" % name)
        size = planted["size"] = os.fstat(handle).st_size
        if size > 0:
            file.seek(size - 1)
            if file.read(1) != b"\n":
                planted["lines"] = "\n" + lines
        file.write(planted["lines"].encode())
        os.fsync(handle)
    return planted


def _remove(planted):
    """Takes the lines out again. What others wrote meanwhile stays."""
    name, lines = planted["name"], planted["lines"].encode()
    try:
        with open(name, "r+b") as file:
            content = file.read()
            if content[planted["size"]:] == lines:
                if not planted["made"]:
                    file.truncate(planted["size"])
                else:
                    os.unlink(name)
            elif lines in content:
                left = content.replace(lines, b"", 1)
                new = name + ".keyveto-new"
                with open(new, "xb") as copy:
                    copy.write(left)
                    os.fchmod(copy.fileno(), os.fstat(file.fileno()).st_mode & 0o7777)
                    os.fsync(copy.fileno())
                os.replace(new, name)
    except FileNotFoundError:
        pass
    if planted["folder"]:
        try:
            os.rmdir(planted["folder"])
        except OSError:
            pass
    return True


def expiry_option(seconds):
    """The option after which sshd takes a key no more, or nothing for an OpenSSH before 7.7."""
    done = subprocess.run(["ssh", "-V"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    found = re.search(rb"OpenSSH_(\d+)\.(\d+)", done.stdout)
    if not found or (int(found.group(1)), int(found.group(2))) < (7, 7):
        return ""
    return time.strftime(',expiry-time="%Y%m%d%H%M%S"', time.localtime(time.time() + seconds))


def take_lock():
    """The lock of the proofs of this host. CannotProve if there is one at present."""
    os.makedirs(FOLDER, mode=0o700, exist_ok=True)
    lock = open(FOLDER + "/lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise CannotProve("another proof is under way on this host: try again in a minute")
    return lock


def clean_up(engine, state):
    """Takes away what the state names: the keys first, then the line, then the list. Returns what went wrong."""
    wrong = []
    planted = state.get("planted")
    if planted:
        try:
            account = pwd.getpwnam(state.get("writer") or state["account"])
            if "lines" in planted:
                as_account(account, _remove, planted)
            else:
                as_account(account, _remove_by_nonce, planted["names"], planted["nonce"])
        except (CannotProve, KeyError) as error:
            wrong.append("the throw-away keys of %s could not be taken out: %s" % (state["account"], error))
    try:
        now = read_text(CONFIG) or ""
        block = state.get("config")
        left = now.replace(block, "", 1) if block and block in now else CONFIG_BLOCK.sub("\n", now)
        if left != now:
            save_config(engine, left)
        # A list that a line names stays: without it no login would have a verdict.
        if state.get("list") and PROBE_LIST not in (read_text(CONFIG) or ""):
            for name in (PROBE_LIST, PROBE_LIST + ".sources", PROBE_LIST + ".previous"):
                if os.path.exists(name):
                    os.unlink(name)
    except (EngineError, OSError) as error:
        wrong.append("keyveto.conf still names %s: %s" % (PROBE_LIST, error))
    if not wrong:
        for name in ("state.json", "listed.pub"):
            if os.path.exists(os.path.join(FOLDER, name)):
                os.unlink(os.path.join(FOLDER, name))
    return wrong


def _write(path, text):
    """Writes a file of root's."""
    with open(path + ".new", "w") as file:
        file.write(text)
        os.fchmod(file.fileno(), 0o644)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def arm(command, sshd):
    """Has systemd take keyveto out if the host is started again before disarm.

    There is no such unit without systemd, or if its folder cannot be written.
    """
    words = [shlex.quote(word) for word in (command, sshd, UNIT, WANTED, PROVED)]
    try:
        if os.path.isdir(UNITS):
            os.makedirs(os.path.dirname(WANTED), mode=0o755, exist_ok=True)
            _write(AT_BOOT, AT_BOOT_TEXT % tuple([PATHS] + words))
            _write(UNIT, UNIT_TEXT)
            if not os.path.lexists(WANTED):
                os.symlink(UNIT, WANTED)
    except OSError:
        disarm()


def disarm():
    """The proof has ended, or nobody wants one."""
    for name in (WANTED, UNIT, AT_BOOT):
        if os.path.lexists(name):
            os.unlink(name)


def unfinished():
    """Whether a proof was begun here, and its process is gone."""
    if not os.path.exists(FOLDER + "/state.json") and not os.path.exists(UNIT):
        return False
    try:
        with open(FOLDER + "/lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return True
    except FileNotFoundError:
        return True
    except OSError:
        return False


def clean_leftovers(engine):
    """Takes away what a killed process has left. Returns what went wrong. CannotProve if a proof is under way.

    Nothing is proved then. The unit stays until a proof ends.
    """
    if not os.path.exists(FOLDER + "/state.json") and not os.path.exists(UNIT):
        return []
    with take_lock():
        if os.path.exists(PROVED):
            os.unlink(PROVED)
        for name in os.listdir(FOLDER):
            if os.path.isdir(os.path.join(FOLDER, name)):
                shutil.rmtree(os.path.join(FOLDER, name), ignore_errors=True)
        noted = read_text(FOLDER + "/state.json")
        return clean_up(engine, json.loads(noted)) if noted else []


class Probe:
    """The keys and the list of one proof, and how all of it is taken away again."""

    def __init__(self, engine, account, seconds, nonce, sshd="/usr/sbin/sshd"):
        self.engine, self.seconds, self.nonce, self.sshd = engine, seconds, nonce, sshd
        try:
            self.account = pwd.getpwnam(account)
        except KeyError:
            raise CannotProve("there is no account %s, as which Ansible would log in" % account)
        self.lock = self.keys = self.names = self.begun = None
        self.heard = False      # the controller has said how it ends
        self.state = {"account": account, "writer": None, "planted": None, "config": None, "list": False}

    def begin(self):
        """Takes the lock, which the process of the proof keeps until its end."""
        self.lock = take_lock()

    def _note(self):
        """Writes down what must be taken away, before it is put there."""
        name = FOLDER + "/state.json"
        with open(name + ".new", "w") as file:
            json.dump(self.state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name + ".new", name)

    def may_prove(self, key_type):
        """CannotProve if sshd's settings do not let a plain key alone in."""
        settings = sshd_settings(self.sshd, self.account.pw_name)
        if settings.get("pubkeyauthentication", "yes") == "no":
            raise CannotProve("PubkeyAuthentication is no for %s" % self.account.pw_name)
        methods = settings.get("authenticationmethods", "any").split()
        if methods and not set(methods) & {"any", "publickey"}:
            raise CannotProve("AuthenticationMethods asks %s for more than a key" % self.account.pw_name)
        algorithms = settings.get("pubkeyacceptedalgorithms", settings.get("pubkeyacceptedkeytypes", key_type))
        if key_type not in algorithms.split(","):
            raise CannotProve("sshd takes no key of the type %s: see keyveto_probe_key_type" % key_type)
        names = key_files(settings, self.account)
        if not names:
            raise CannotProve("%s has no file of keys that could be written: sshd gets its keys from elsewhere" %
                              self.account.pw_name)
        return names

    def prepare(self, clean, listed, own_list):
        """Lists one key on a list of its own, unless a list has it already. The account gets no key yet."""
        self.names = self.may_prove(clean.split()[0])
        self._writer()
        if own_list:
            self._list(listed)
        self.keys = (("clean", clean), ("listed", listed))

    def _lines(self):
        """The lines for the account's file. sshd takes them no longer than the proof may take."""
        options = expiry_option(self.seconds + 60)
        return "".join('restrict,command="echo keyveto-probe:%s:%s"%s %s %s%s\n' % (
            what, self.nonce, options, " ".join(key.split()[:2]), KEY_COMMENT, self.nonce)
            for what, key in self.keys)

    def _writer(self):
        """The account that can write the first of its files of keys, itself or root. CannotProve if neither can."""
        try:
            as_account(self.account, _may_plant, self.names)
            return self.account
        except CannotProve:
            # Keys in /etc/ssh, say, belong to root.
            self.names = [name for name in self.names if os.path.lexists(name)]
            if not self.names or not _only_roots(self.names[0]):
                raise
            self.state["writer"] = "root"
            return pwd.getpwnam("root")

    def plant(self):
        """Gives the account both keys. A rehearsal would find the listed one, so this is for after it."""
        # A planted line is found by its nonce, if this process is killed while it writes.
        writer = self._writer()
        self.state["planted"] = {"names": self.names, "nonce": self.nonce}
        self._note()
        self.state["planted"] = as_account(writer, _plant, self.names, self._lines())
        self._note()

    def _list(self, listed):
        """Makes a list of one key, and has keyveto.conf name it. The list is there before the line."""
        key = FOLDER + "/listed.pub"
        with open(key, "w") as file:
            file.write(listed + "\n")
        self.state["list"] = True
        self._note()
        status, out, err = self.engine.run("list", "create", PROBE_LIST, "--id", "1", "--name", "keyveto-probe",
                                           "--force", key)
        if status != 0:
            raise EngineError("keyveto list create: %s" % last_words(out + err))
        os.chmod(PROBE_LIST, 0o644)
        now = read_text(CONFIG) or ""
        lines = with_lines_for(now, {PROBE_LIST: "blocklist"})[len(now):].lstrip("\n")
        glue = "" if now.endswith("\n") or not now else "\n"
        block = "%s\n%s%s\n" % (BEGIN, lines, END)
        save_config(self.engine, now + glue + block)
        self.state["config"] = glue + block
        self._note()

    def clean(self):
        """Takes away what was put here, as far as it was written down. Returns what went wrong."""
        noted = read_text(FOLDER + "/state.json")
        return clean_up(self.engine, json.loads(noted)) if noted else []

    def watch(self, undo):
        """Starts the process that ends the proof, by itself after its time. Returns the folder to talk to it.

        Whoever opens the FIFO verdict for writing says keep or undo; the FIFO result then has one JSON object.
        """
        folder = os.path.join(FOLDER, self.nonce)
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder, 0o700)
        for name in ("verdict", "result"):
            os.mkfifo(os.path.join(folder, name), 0o600)
        # Read and write, so that neither side waits for the other to open it.
        verdict = os.open(os.path.join(folder, "verdict"), os.O_RDWR | os.O_NONBLOCK)
        arm(self.engine.command, self.sshd)
        # Closed when this module ends, however it does.
        begun, self.begun = os.pipe()
        child = os.fork()
        if child > 0:
            os.close(verdict)
            os.close(begun)
            os.waitpid(child, 0)
            self.lock.close()
            return folder
        try:
            os.setsid()
            if os.fork() > 0:
                os._exit(0)
            self._detach((verdict, begun, self.lock.fileno()))
            self._end(folder, self._hear(verdict, begun), undo)
        finally:
            os._exit(0)

    @staticmethod
    def _detach(kept):
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2 and int(name) not in kept:
                try:
                    os.close(int(name))
                except OSError:
                    pass
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)

    def _hear(self, verdict, begun):
        """What the controller says: keep and what is proved, leave (ends the proof alone), or undo.

        It is undo after the time, which counts from the end of the module, and at SIGTERM.
        """
        told = []
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer)
        signal.signal(signal.SIGTERM, lambda *_: told.append("undo"))
        deadline, said = None, b""
        while not told and (deadline is None or time.monotonic() < deadline):
            ready = select.select([verdict, reader] + [begun] * (deadline is None), [], [],
                                  None if deadline is None else max(0, deadline - time.monotonic()))[0]
            if begun in ready:
                deadline = time.monotonic() + self.seconds
            if verdict in ready:
                said += os.read(verdict, 4096)
                if b"\n" in said:
                    self.heard = True
                    return said.decode("ascii", "replace").strip()
        return "undo"

    def _end(self, folder, told, undo):
        """Does what is told, and hands out the result to whoever reads it within a minute."""
        keep, _, proof = told.partition(" ")
        result = {"kept": keep in ("keep", "leave"), "wrong": []}
        try:
            if not result["kept"]:
                undo()
            disarm()
        except (EngineError, OSError) as error:
            result["wrong"].append(str(error))
        result["wrong"] += self.clean()
        if keep == "keep":
            try:
                with open(PROVED + ".new", "w") as file:
                    file.write(json.dumps({"time": int(time.time()), "account": self.account.pw_name, "proof": proof}))
                os.replace(PROVED + ".new", PROVED)
            except OSError as error:
                result["wrong"].append(str(error))
        # Whoever said how it ends reads this. Nobody else does.
        deadline = time.monotonic() + (60 if self.heard else 0)
        while time.monotonic() < deadline:
            try:
                writer = os.open(os.path.join(folder, "result"), os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.02)
                continue
            os.write(writer, (json.dumps(result) + "\n").encode())
            os.close(writer)
            break
        shutil.rmtree(folder, ignore_errors=True)


def end_probe(folder, word):
    """Tells the process of a proof how it ends, and returns its result."""
    with open(os.path.join(folder, "verdict"), "wb", buffering=0) as file:
        file.write(word.encode() + b"\n")
    reader = os.open(os.path.join(folder, "result"), os.O_RDONLY | os.O_NONBLOCK)
    try:
        deadline = time.monotonic() + 300
        said = b""
        while b"\n" not in said and time.monotonic() < deadline:
            try:
                said += os.read(reader, 65536)
            except BlockingIOError:
                pass
            time.sleep(0.05)
    finally:
        os.close(reader)
    return json.loads(said.decode()) if said else {"kept": False, "wrong": ["the process of the proof does not answer"]}


def _remove_by_nonce(names, nonce):
    """Takes out lines that a killed process may have written."""
    for name in names:
        try:
            with open(name, "rb") as file:
                content = file.read()
        except FileNotFoundError:
            continue
        end = (KEY_COMMENT + nonce).encode()
        lines = [line for line in content.splitlines(True) if line.rstrip(b"\n").endswith(end)]
        if lines:
            _remove({"name": name, "lines": b"".join(lines).decode(), "size": len(content) - len(b"".join(lines)),
                     "made": False, "folder": None})
    return True
