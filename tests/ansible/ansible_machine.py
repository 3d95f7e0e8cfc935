# SPDX-License-Identifier: ISC
"""This throw-away root as a host of Ansible's, with a real sshd, and as the controller."""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import keys
from program import KEYVETO, PATIENCE, ROOT, STARTED, equal
from sshd_machine import leaked_filter, prepare_machine
from stock import StockServer

COLLECTION = ROOT / "fleet/ansible"
ADMIN = "ops"
# Whatever Ansible changes on a host. The lock of keyveto config edit and sshd's state stay, as keyveto leaves them.
WATCHED = ("/etc", "/root/.ssh", "/home", "/var/lib/keyveto")
CALLBACK = '''
import json, os
from ansible.plugins.callback import CallbackBase
DOCUMENTATION = """
name: told
type: aggregate
short_description: results as JSON
description: One line for each result of a task.
"""
class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME, CALLBACK_NEEDS_ENABLED = 2.0, "aggregate", "told", True
    def _tell(self, outcome, result):
        with open(os.environ["TOLD"], "a") as file:
            file.write(json.dumps([result._host.get_name(), outcome, result._result]) + "\\n")
    def v2_runner_on_ok(self, result): self._tell("ok", result)
    def v2_runner_on_failed(self, result, ignore_errors=False): self._tell("failed", result)
    def v2_runner_on_unreachable(self, result): self._tell("unreachable", result)
    def v2_runner_on_skipped(self, result): self._tell("skipped", result)
'''


class Told:
    """What Ansible printed, and the results of the host, by outcome."""

    def __init__(self, status, text, results):
        self.status, self.text, self.results = status, text, results

    def last(self, outcome="ok", host="here"):
        """The last result of that outcome; the whole output if there is none."""
        found = [result for name, kind, result in self.results if (name, kind) == (host, outcome)]
        assert found, f"nothing is {outcome} on {host}:\n{self.text}"
        return found[-1]

    @property
    def changed(self):
        return any(result.get("changed") for _, _, result in self.results)


class Machine:
    """The controller, and the host `here`: root logs in by the clean key admin."""

    def __init__(self, scratch):
        self.scratch, self.server = scratch, StockServer()
        self.admin = keys.generate(scratch)
        collections = scratch / "collections/ansible_collections/keyveto"
        collections.mkdir(parents=True)
        (collections / "keyveto").symlink_to(COLLECTION)
        (scratch / "callback").mkdir()
        # Each account makes a folder of its own there.
        (scratch / "remote").mkdir()
        (scratch / "remote").chmod(0o1777)
        (scratch / "callback/told.py").write_text(CALLBACK, encoding="ascii")
        self.inventory = scratch / "hosts.ini"
        self.known = scratch / "known_hosts"
        self.inventory.write_text("here ansible_host=127.0.0.1 ansible_user=root ansible_python_interpreter="
                                  f"/usr/bin/python3 ansible_ssh_private_key_file={self.admin.path}\n",
                                  encoding="ascii")

    def run(self, *words, **variables):
        """Runs ansible-playbook, with these variables. words[0] is a playbook of the collection, or the path of one."""
        told = self.scratch / "told"
        told.unlink(missing_ok=True)
        playbook = words[0] if "/" in str(words[0]) else f"keyveto.keyveto.{words[0]}"
        done = subprocess.run(
            ["ansible-playbook", "-i", self.inventory, playbook, *words[1:], "-e", json.dumps(variables)],
            env={**os.environ, "LC_ALL": "C.UTF-8", "ANSIBLE_COLLECTIONS_PATH": str(self.scratch / "collections"),
                 "ANSIBLE_CALLBACK_PLUGINS": str(self.scratch / "callback"), "ANSIBLE_CALLBACKS_ENABLED": "told",
                 "TOLD": str(told), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(self.scratch / "home"),
                 "ANSIBLE_LOCAL_TEMP": str(self.scratch / "tmp"), "ANSIBLE_REMOTE_TEMP": str(self.scratch / "remote"),
                 "ANSIBLE_SSH_CONTROL_PATH_DIR": str(self.scratch / "cp"),
                 "ANSIBLE_SSH_COMMON_ARGS": f"-o UserKnownHostsFile={self.known} -o StrictHostKeyChecking=accept-new",
                 "ANSIBLE_SSH_ARGS": "-o ControlMaster=auto -o ControlPersist=5s"},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=10 * PATIENCE)
        lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
        return Told(done.returncode, done.stdout, [json.loads(line) for line in lines])

    def ok(self, *words, **variables):
        done = self.run(*words, **variables)
        equal(done.status, 0, done.text)
        return done

    def fails(self, *words, **variables):
        """The message of the host that must fail."""
        done = self.run(*words, **variables)
        equal(done.status, 2, done.text)
        return done.last("failed")["msg"]

    def enters(self, identity, account="root"):
        """Whether a login with this key alone runs a command."""
        options = [word for option in ("IdentitiesOnly=yes", "IdentityAgent=none", "BatchMode=yes",
                                       "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null")
                   for word in ("-o", option)]
        # A server that was told to reload does not listen for a moment, on a busy machine for seconds.
        done = subprocess.run(["ssh", "-F", "none", "-i", identity.path, "-oConnectionAttempts=20", *options,
                               f"{account}@127.0.0.1", "echo entered"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, timeout=PATIENCE)
        return "entered" in done.stdout

    @staticmethod
    def guarded():
        """Whether each open way in is guarded, as keyveto itself says."""
        done = subprocess.run([KEYVETO, "status", "--json"], capture_output=True, check=False)
        return json.loads(done.stdout)["guarded"] is True


def authorize(account, home, *lines):
    """Writes the account's authorized_keys."""
    folder = Path(home) / ".ssh"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / "authorized_keys"
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    path.chmod(0o600)
    for one in (folder, path):
        shutil.chown(one, account, account)
    return path


@contextlib.contextmanager
def machine(scratch):
    """Makes it. The root has to be a throw-away one."""
    prepare_machine()
    shutil.copy(KEYVETO, "/usr/bin/keyveto")
    Path("/usr/libexec/keyveto").mkdir(exist_ok=True)
    for started in STARTED:
        shutil.copy(started, "/usr/libexec/keyveto")
    Path("/etc/ssh/sshd_config").write_text("Include /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\n"
                                            "Subsystem sftp /usr/lib/openssh/sftp-server\n", encoding="ascii")
    for path in Path("/var/lib/keyveto").glob("*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copy(ROOT / "etc/keyveto.conf", "/etc/keyveto/keyveto.conf")
    Path("/var/lib/keyveto/filter.pkbf").write_bytes(leaked_filter())
    made = Machine(scratch)
    authorize("root", "/root", made.admin.key)
    made.server.start()
    try:
        yield made
    finally:
        made.server.stop()
        # The PAM stack, too, is as before for the next test.
        subprocess.run([KEYVETO, "sshd", "disable"], check=False, capture_output=True)
