# SPDX-License-Identifier: ISC
"""/etc/keyveto of a throw-away root, and the guard that reads it."""

import datetime
import os
import shutil
from pathlib import Path

import keys
from program import ROOT, attempt, equal, keyveto, make_filter
from samples import write

MODULE = Path(os.environ.get("KEYVETO_PAM_MODULE", ROOT / "build/pam_keyveto.so")).resolve()
BUILT_GUARD = MODULE.parent / "keyveto-authorized-keys"
GUARD = Path("/usr/libexec/keyveto-authorized-keys")
FOLDER, STATE = Path("/etc/keyveto"), Path("/var/lib/keyveto")
CONFIG, COPY = FOLDER / "keyveto.conf", FOLDER / "keyveto.conf.edit"
FILTER = STATE / "filter.pkbf"
SAMPLE = (ROOT / "etc/keyveto.conf").read_text(encoding="utf-8")
MARKED = ('# BEGIN keyveto: written by "keyveto enable", taken out by "keyveto disable"\n'
          "AuthorizedKeysFile .ssh/authorized_keys\n# END keyveto\n")
NOBODY = 65534
FINGERPRINT = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"


def day(distance=0):
    """The date so many days from now, as keyveto reckons. A test may run at midnight, so nobody keeps it for long."""
    return str(datetime.datetime.now(datetime.timezone.utc).date() + datetime.timedelta(distance))


class World:
    """/etc/keyveto with a filter that lists one of root's two keys.

    Removes everything that was in /etc/keyveto and /var/lib/keyveto.
    """

    def __init__(self, scratch, text=SAMPLE):
        self.scratch = scratch
        self.clean, self.leaked = keys.generate(scratch).key, keys.generate(scratch).key
        for folder in (FOLDER, STATE):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o755)
        # Every account can run the guard there. The folder of the build may be closed to others.
        GUARD.parent.mkdir(exist_ok=True)
        shutil.copy(BUILT_GUARD, GUARD)
        GUARD.chmod(0o711)
        shutil.copy(make_filter(scratch / "filter.pkbf", self.leaked), FILTER)
        self.home = scratch / "home"
        (self.home / ".ssh").mkdir(parents=True)
        (self.home / ".ssh/authorized_keys").write_text(f"{self.clean}\n{self.leaked}\n", encoding="ascii")
        self.home.chmod(0o755)
        self.write(text)

    def write(self, text):
        CONFIG.write_bytes(text if isinstance(text, bytes) else text.encode())
        CONFIG.chmod(0o644)

    @property
    def text(self):
        return CONFIG.read_text(encoding="utf-8")

    def lets_in(self, key, config=CONFIG, **options):
        """Whether the guard prints root's keys file for that key."""
        done = attempt(GUARD, "--config", config, "--user", "root", "--home", self.home, "--type", key.type, "--key",
                       key.blob, **options)
        assert done.returncode in (0, 1), done
        equal(done.stdout != "", done.returncode == 0 and str(key) in done.stdout)
        return done.stdout != ""

    def editor(self, script):
        """The path of an editor: a shell script whose first argument is the file to edit."""
        path = write(self.scratch / "editor", f"#!/bin/sh\n{script}\n", mode=0o755)
        return path

    def edit(self, script, *arguments, status=0, **environment):
        """Runs keyveto config edit with that script as the editor, without a terminal."""
        done = keyveto("config", "edit", *arguments,
                       env={**os.environ, "VISUAL": str(self.editor(script)), **environment})
        equal(done.returncode, status, done.stdout + done.stderr)
        return done

    def nothing_left(self, *but):
        equal(sorted(path.name for path in FOLDER.iterdir()), sorted(["keyveto.conf", *but]))


BAD_LINES = ("OnHitt deny", "OnHit", "OnHit deny deny", "OnError maybe", "Filter relative", "Filter", "AllowKey",
             "AllowKey SHA256:x", f"AllowKey {FINGERPRINT} until=2030-02-30", "AuthorizedKeysFile %z", "Message \"open",
             "StrictModes 1", "SyslogFacility MAIL", "NUL\0byte", "\xe9t\xe9", "deny")
