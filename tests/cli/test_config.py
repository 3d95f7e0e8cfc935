# SPDX-License-Identifier: ISC
"""keyveto config and keyveto allow, judged by the guard itself.

    python3 tests/cli/test_config.py [TITLE-PART...]

KEYVETO names the program (default build/keyveto), KEYVETO_PAM_MODULE the module
(default build/pam_keyveto.so, with the guard beside it). Needs root.
"""

import contextlib
import datetime
import json
import os
import pty
import random
import re
import select
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from cases import KEYVETO, PATIENCE, ROOT, case, contains, equal, keyveto, make_filter, run_in_sandbox, wait_until
import keys

MODULE = Path(os.environ.get("KEYVETO_PAM_MODULE", ROOT / "build/pam_keyveto.so")).resolve()
BUILT_GUARD = MODULE.parent / "keyveto-authorized-keys"
GUARD = Path("/usr/libexec/keyveto-authorized-keys")
FOLDER, STATE = Path("/etc/keyveto"), Path("/var/lib/keyveto")
CONFIG, COPY = FOLDER / "keyveto.conf", FOLDER / "keyveto.conf.edit"
FILTER = STATE / "filter.pkbf"
SAMPLE = (ROOT / "etc/keyveto.conf").read_text(encoding="utf-8")
MARKED = ('# BEGIN keyveto: written by "keyveto sshd enable", taken out by "keyveto sshd disable"\n'
          "AuthorizedKeysFile .ssh/authorized_keys\n# END keyveto\n")
NOBODY = 65534
TODAY = datetime.datetime.now(datetime.timezone.utc).date()
LATER = str(TODAY + datetime.timedelta(days=30))
AFTER_THAT = str(TODAY + datetime.timedelta(days=60))
YESTERDAY = str(TODAY - datetime.timedelta(days=1))
FINGERPRINT = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
TEMPORARY = {".keyveto.conf.lock", ".keyveto.conf.keyveto-new", ".keyveto.conf.edit.lock"}


class World:
    """/etc/keyveto with a filter that lists one of root's two keys; what is in it goes in the end."""

    def __init__(self, scratch, text=SAMPLE):
        self.scratch = scratch
        self.clean, self.leaked = keys.generate(scratch).key, keys.generate(scratch).key
        for folder in (FOLDER, STATE):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(mode=0o755)
        # Where everybody can run it, which may not hold for the folder of the build.
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
        """Whether the guard itself prints the files for that key."""
        done = subprocess.run([str(word) for word in (GUARD, "--config", config, "--user", "root", "--home", self.home,
                                                      "--type", key.type, "--key", key.blob)],
                              capture_output=True, text=True, check=False, timeout=PATIENCE, **options)
        assert done.returncode in (0, 1), done
        equal(done.stdout != "", done.returncode == 0 and str(key) in done.stdout)
        return done.stdout != ""

    def editor(self, script):
        """An editor: a shell script whose first argument is the file."""
        path = self.scratch / "editor"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    def edit(self, script, *arguments, status=0, **environment):
        """keyveto config edit by somebody without a terminal."""
        done = keyveto("config", "edit", *arguments, env={**os.environ, "VISUAL": str(self.editor(script)), **environment})
        equal(done.returncode, status, done.stdout + done.stderr)
        return done

    def nothing_left(self, *but):
        equal(sorted(path.name for path in FOLDER.iterdir()), sorted(["keyveto.conf", *but]))


def append(line):
    return f"printf '%s\\n' {shlex.quote(line)} >>\"$1\""


# --- config check --------------------------------------------------------------------

@case("check: the sample is fine, a login's actions and filters are told")
def _(scratch):
    world = World(scratch)
    done = keyveto("config", "check", status=0)
    contains(done.stdout, f"{CONFIG}: each key gets a verdict\n", "refused (OnHit deny)", "refused (OnError deny)",
             "let in (OnUnsupported allow)", f"{FILTER}: revision 1, 1 entries\n", "AuthorizedKeysFile   .ssh/authorized_keys\n")
    equal(done.stderr, "")
    assert world.lets_in(world.clean) and not world.lets_in(world.leaked)


GOOD_LINES = ("OnHit warn", "onhit DENY", "OnError=allow", "# OnHitt", "", "AllowKey " + FINGERPRINT,
              f"AllowKey {FINGERPRINT} until=2030-12-31 some \"words # here\"", f"Filter {FILTER}",
              "StrictModes no", "Message \"a \\\" b\"", "SyslogFacility LOCAL7", "AuthorizedKeysFile none",
              "AuthorizedKeysFile .ssh/%u /etc/%%", "OnUnsupported deny\r")
BAD_LINES = ("OnHitt deny", "OnHit", "OnHit deny deny", "OnError maybe", "Filter relative", "Filter", "AllowKey",
             "AllowKey SHA256:x", f"AllowKey {FINGERPRINT} until=2030-02-30", "AuthorizedKeysFile %z", "Message \"open",
             "StrictModes 1", "SyslogFacility MAIL", "NUL\0byte", "\xe9t\xe9", "deny")


@case("check: every mistake is named by its line, and the guard agrees about each text")
def _(scratch):
    world, rnd = World(scratch), random.Random(1)
    seen = {True: 0, False: 0}
    for _ in range(150):
        lines = [rnd.choice(BAD_LINES if rnd.random() < 0.1 else GOOD_LINES) for _ in range(rnd.randrange(8))]
        wrong = [number for number, line in enumerate(lines, 1) if line in BAD_LINES]
        # OnError deny counts, so that the guard's status tells whether there was a verdict.
        world.write("\n".join(["OnError deny", *lines]).encode("utf-8") + rnd.choice((b"", b"\n")))
        done = keyveto("config", "check")
        named = [int(n) for n in re.findall(rf"^keyveto: {CONFIG}:(\d+): (?!this )", done.stderr, re.MULTILINE)]
        equal(named, [number + 1 for number in wrong], f"{lines}\n{done.stderr}")
        equal(done.returncode == 2, bool(wrong), f"{lines}\n{done.stderr}")
        verdict = subprocess.run([GUARD, "--config", CONFIG, "--user", "root", "--home", world.home, "--type",
                                  world.clean.type, "--key", world.clean.blob], capture_output=True, check=False)
        equal(verdict.returncode, 1 if wrong else 0, f"the guard says otherwise of {lines}")
        seen[bool(wrong)] += 1
    assert min(seen.values()) > 30, seen


@case("check: a filter that a login cannot use is named, and the status is 2")
def _(scratch):
    world = World(scratch)
    for spoil in (lambda: FILTER.unlink(), lambda: FILTER.write_bytes(FILTER.read_bytes()[:100]),
                  lambda: FILTER.chmod(0o666), lambda: os.chown(FILTER, NOBODY, NOBODY), lambda: STATE.chmod(0o777)):
        good = FILTER.read_bytes()
        spoil()
        done = keyveto("config", "check", status=2)
        contains(done.stderr, str(STATE), "a login has no verdict without this filter")
        contains(done.stdout, "no key gets a verdict, so each login by key is refused (OnError deny)")
        assert not world.lets_in(world.clean)
        FILTER.unlink(missing_ok=True)
        FILTER.write_bytes(good)
        FILTER.chmod(0o644)
        os.chown(FILTER, 0, 0)
        STATE.chmod(0o755)
    keyveto("config", "check", status=0)


@case("check: a file that a login does not read is named; its mistakes too")
def _(scratch):
    world = World(scratch, "OnError allow\n")
    for spoil in (lambda: CONFIG.chmod(0o666), lambda: os.chown(CONFIG, NOBODY, NOBODY), lambda: FOLDER.chmod(0o777)):
        world.write("OnError allow\n")
        os.chown(CONFIG, 0, 0)
        FOLDER.chmod(0o755)
        keyveto("config", "check", status=1)
        spoil()
        done = keyveto("config", "check", status=2)
        contains(done.stderr, "a login does not read this file")
        contains(done.stdout, "refused (OnError deny)")
        assert not world.lets_in(world.clean)
    FOLDER.chmod(0o755)
    fifo = scratch / "fifo"
    os.mkfifo(fifo)
    contains(keyveto("config", "check", fifo, status=2).stderr, "not a regular file")
    contains(keyveto("config", "check", scratch, status=2).stderr, "directory")
    contains(keyveto("config", "check", scratch / "none", status=2).stderr, "No such file or directory")


@case("check: what deserves a look is status 1, in a file that works")
def _(scratch):
    world = World(scratch)
    for text, message in (("OnHit warn\n", "OnHit warn: a listed key is let in"),
                          ("OnError allow\n", "OnError allow: listed keys are let in while"),
                          (f"AllowKey {FINGERPRINT} until={YESTERDAY} x\n", f"{CONFIG}:1: this AllowKey line is past its date"),
                          ("OnHit deny\n\nonhit warn\n", f"{CONFIG}:3: this OnHit does not count, since line 1 has one"),
                          ("Message a b\nMessage a  c\n", f"{CONFIG}:2: this Message does not count")):
        world.write(text)
        contains(keyveto("config", "check", status=1).stderr, message)
        assert world.lets_in(world.clean)
    for text in ("OnHit deny\nonhit DENY\n", f"AllowKey {FINGERPRINT} until={TODAY}\n", f"AllowKey {FINGERPRINT}\n" * 2):
        world.write(text)
        equal(keyveto("config", "check", status=0).stderr, "")


@case("check: as whom sshd runs the guard, that user must be able to read it all")
def _(scratch):
    world = World(scratch)
    sshd_config = Path("/etc/ssh/sshd_config")
    good = sshd_config.read_text(encoding="utf-8")
    guard = f"AuthorizedKeysCommand {GUARD} --user %u --type %t --key %k -- /bin/true\n"
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        for settings, concerned in ((f"{guard}AuthorizedKeysCommandUser nobody\n", True),
                                    (f"{guard}AuthorizedKeysCommandUser %u\n", True),
                                    (f"Match User nobody\n{guard}AuthorizedKeysCommandUser nobody\n", True),
                                    (f"{guard}AuthorizedKeysCommandUser root\n", False),
                                    ("AuthorizedKeysCommand /bin/true\nAuthorizedKeysCommandUser nobody\n", False),
                                    ("", False)):
            sshd_config.write_text(good + settings, encoding="utf-8")
            for path in (FILTER, CONFIG):
                equal(keyveto("config", "check", status=0).stderr, "")
                path.chmod(0o600)
                done = keyveto("config", "check", status=2 if concerned else 0)
                if concerned:
                    contains(done.stderr, f"{path}: Permission denied", "as whom sshd runs the guard: a login has no verdict")
                    assert not world.lets_in(world.clean, **as_nobody)
                # A draft, which only root reads where it is.
                draft = scratch / "draft"
                draft.write_text("OnHit deny\n", encoding="ascii")
                draft.chmod(0o600)
                keyveto("config", "check", draft, status=2 if concerned and path is FILTER else 0)
                path.chmod(0o644)
    finally:
        sshd_config.write_text(good, encoding="utf-8")


# --- config edit -----------------------------------------------------------------------

@case("edit: a change is saved, to the byte; owner and mode stay, nothing else is left")
def _(scratch):
    world = World(scratch)
    os.chown(CONFIG, 0, NOBODY)
    CONFIG.chmod(0o640)
    contains(world.edit(append(f"AllowKey {world.leaked.fingerprint} a trial")).stdout, f"{CONFIG}: saved")
    equal(world.text, SAMPLE + f"AllowKey {world.leaked.fingerprint} a trial\n")
    info = CONFIG.stat()
    equal((info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)), (0, NOBODY, 0o640))
    assert world.lets_in(world.leaked)
    world.nothing_left()
    inode = info.st_ino
    contains(world.edit("true").stderr, "unchanged")
    equal(CONFIG.stat().st_ino, inode)
    world.nothing_left()


@case("edit: with the mistake in place everybody would be refused; it never gets there")
def _(scratch):
    world = World(scratch)
    for line in BAD_LINES[:-3]:
        world.write(SAMPLE + line + "\n")
        assert not world.lets_in(world.clean), line
        world.write(SAMPLE)
        done = world.edit(append(line), status=2)
        contains(done.stderr, f"{COPY}:{SAMPLE.count(chr(10)) + 1}: ", "unchanged")
        equal(world.text, SAMPLE)
        assert world.lets_in(world.clean)
        world.nothing_left()
    world.edit(append("OnHitt"), "--yes", status=2)
    equal(world.text, SAMPLE)


class Terminal:
    """keyveto config edit on a terminal."""

    def __init__(self, editor, *arguments):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["VISUAL"] = str(editor)
            os.execv(KEYVETO, [str(KEYVETO), "config", "edit", *arguments])

    def answer(self, question, letter):
        self.wait_for(question)
        self.text = ""
        os.write(self.fd, letter.encode() + b"\n")

    def wait_for(self, wanted):
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.text:
            ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"no {wanted!r} in\n{self.text}"
            self.text += os.read(self.fd, 4096).decode(errors="replace")

    def end(self, status):
        with contextlib.suppress(OSError):          # EIO, when the other end is closed
            while data := os.read(self.fd, 4096):
                self.text += data.decode(errors="replace")
        _, ended = os.waitpid(self.pid, 0)
        os.close(self.fd)
        equal(os.waitstatus_to_exitcode(ended), status, self.text)
        return self.text


@case("edit: on a terminal a mistake is edited again, or dropped")
def _(scratch):
    world = World(scratch)
    # The first time it makes a mistake, the second time it mends it.
    editor = world.editor('if grep -q Hitt "$1"; then sed -i s/Hitt/Hit/ "$1"; else echo "OnHitt warn" >>"$1"; fi')
    terminal = Terminal(editor)
    terminal.answer("What now? (e)dit again, (x)it without saving, (?)", "?")
    terminal.answer("drop the change", "")
    terminal.answer("What now?", "s")               # which is not offered
    terminal.answer("What now?", "e")
    contains(terminal.end(0), "saved")
    equal(world.text, SAMPLE + "OnHit warn\n")
    world.write(SAMPLE)
    terminal = Terminal(editor)
    terminal.answer("What now?", "x")
    contains(terminal.end(2), "unchanged")
    equal(world.text, SAMPLE)
    world.nothing_left()


@case("edit: whoever hangs up loses nothing")
def _(scratch):
    world = World(scratch)
    terminal = Terminal(world.editor(append("OnHitt warn")))
    terminal.wait_for("What now?")
    os.close(terminal.fd)
    os.waitpid(terminal.pid, 0)
    equal(world.text, SAMPLE)
    equal(COPY.read_text(encoding="utf-8"), SAMPLE + "OnHitt warn\n")


@case("edit: a change that locks everybody out without a mistake is saved only on request")
def _(scratch):
    world = World(scratch)
    nowhere = 'sed -i "1i Filter /nowhere.pkbf" "$1"'
    done = world.edit(nowhere, status=2)
    contains(done.stderr, "/nowhere.pkbf: No such file or directory", "each login by key would be refused", "--yes")
    equal(world.text, SAMPLE)
    for letter, status in (("x", 2), ("s", 0)):
        terminal = Terminal(world.editor(nowhere))
        terminal.answer("(s)ave all the same", letter)
        terminal.end(status)
        equal("/nowhere" in world.text, letter == "s")
    assert not world.lets_in(world.clean)
    # What is so already does not hold up whoever mends it, or breaks the glass.
    world.edit('sed -i "1i OnError allow" "$1"')
    assert world.lets_in(world.clean)
    world.write(SAMPLE)
    world.edit(nowhere, "--yes")
    contains(world.text, "/nowhere")


@case("edit: keyveto's marks, what is between them, and AuthorizedKeysFile are not lost unasked")
def _(scratch):
    world = World(scratch, MARKED + SAMPLE)
    for script, message in (('sed -i "/^# END keyveto/d" "$1"', f"{COPY}:1: a mark of keyveto's without the other one"),
                            ('sed -i "/keyveto: written/d" "$1"', f"{COPY}:2: a mark of keyveto's without the other one"),
                            ('sed -i "1,3d" "$1"', "the lines between keyveto's marks are gone"),
                            ('sed -i "2d" "$1"', "lines between keyveto's marks were changed"),
                            ('sed -i "2i OnHit warn" "$1"', "lines between keyveto's marks were changed"),
                            ('sed -i "1i AuthorizedKeysFile /etc/keys/%u" "$1"', "AuthorizedKeysFile is another one")):
        contains(world.edit(script, status=2).stderr, message)
        equal(world.text, MARKED + SAMPLE)
        world.edit(script, "--yes")
        assert world.text != MARKED + SAMPLE
        world.write(MARKED + SAMPLE)
    for script in (append("OnUnsupported deny"), 'sed -i "1i OnHit warn" "$1"', 'sed -i "4,$ d" "$1"'):
        world.edit(script)
        world.write(MARKED + SAMPLE)
    # Marks that were broken before can be mended.
    world.write(MARKED.split("# END")[0] + SAMPLE)
    world.edit('sed -i "2a # END keyveto" "$1"')
    equal(world.text, MARKED + SAMPLE)


@case("edit: an editor that fails, is killed, or is not there leaves the file; its text is kept")
def _(scratch):
    world = World(scratch)
    for script, message in (("exit 3", "ended with status 3"), ("kill -9 $$", "ended by signal 9"),
                            ('rm "$1"', "No such file"), ('rm "$1"; ln -s /etc/passwd "$1"', "symbolic links"),
                            ('rm "$1"; mkfifo "$1"', "not a file of yours")):
        contains(world.edit(script, status=2).stderr, message)
        equal(world.text, SAMPLE)
        world.nothing_left()
    contains(world.edit("", status=2, VISUAL="/nowhere/editor").stderr, "cannot be run", "VISUAL or EDITOR")
    contains(world.edit("", status=2, VISUAL="ed 'it").stderr, "no command can be made of it")
    world.nothing_left()
    for end in ("kill -9 $$", "exit 1"):
        done = world.edit(f"{append('OnHit warn')}\n{end}", status=2)
        contains(done.stderr, f"your text is kept in {COPY}")
        equal((world.text, COPY.read_text(encoding="utf-8")), (SAMPLE, SAMPLE + "OnHit warn\n"))
        equal(stat.S_IMODE(COPY.stat().st_mode), 0o600)
        contains(world.edit(append("OnHit deny"), status=2).stderr, "did not come to its end")
        equal(COPY.read_text(encoding="utf-8"), SAMPLE + "OnHit warn\n")
        terminal = Terminal("true")
        terminal.answer("(c)ontinue with it, (d)elete it", "c" if end == "exit 1" else "d")
        terminal.end(0)
        world.nothing_left()
        equal(world.text, SAMPLE + ("OnHit warn\n" if end == "exit 1" else ""))


@case("edit: VISUAL comes before EDITOR, both may have arguments, and no shell reads them")
def _(scratch):
    world = World(scratch)
    editor = world.editor('printf "# %s\\n" "$#" "$1" >>"${3-${2-$1}}"')
    rows = (({"VISUAL": str(editor), "EDITOR": "false"}, f"# 1\n# {COPY}\n"),
            ({"VISUAL": " ", "EDITOR": str(editor)}, f"# 1\n# {COPY}\n"),
            ({"VISUAL": f"{editor} '-a  b'"}, "# 2\n# -a  b\n"),
            ({"VISUAL": f'{editor} $(id)\\;"`ls` " x'}, None),
            ({"VISUAL": f'{editor} "\\"q" $HOME;id'}, "# 3\n# \"q\n"))
    for environment, added in rows:
        environment = {name: value for name, value in os.environ.items() if name not in ("VISUAL", "EDITOR")} | environment
        if added is None:
            environment["VISUAL"] = f'{editor} "$(touch {scratch}/ran)`ls`"'
            added = f"# 2\n# $(touch {scratch}/ran)`ls`\n"
        keyveto("config", "edit", env=environment, status=0)
        equal(world.text, SAMPLE + added)
        world.write(SAMPLE)
    assert not (scratch / "ran").exists()
    fallback = scratch / "bin"
    fallback.mkdir()
    for name in ("vi", "editor", "sensible-editor"):
        (fallback / name).write_text(f'#!/bin/sh\necho "# {name}" >>"$1"\n', encoding="ascii")
        (fallback / name).chmod(0o755)
        environment = {"PATH": f"{fallback}:/nowhere"}
        (fallback / "sh").exists() or (fallback / "sh").symlink_to("/bin/sh")
        keyveto("config", "edit", env=environment, status=0)
        equal(world.text, SAMPLE + f"# {name}\n")
        world.write(SAMPLE)


@case("edit: what somebody else writes meanwhile is not lost, nor is the text")
def _(scratch):
    world = World(scratch)
    for theirs in (f"echo '# theirs' >>{CONFIG}", f"{KEYVETO} allow {FINGERPRINT} --forever theirs", f"rm {CONFIG}"):
        world.write(SAMPLE)
        contains(world.edit(f"{append('# mine')}\n{theirs}", status=2).stderr, "changed it meanwhile",
                 f"your text is kept in {COPY}")
        equal(COPY.read_text(encoding="utf-8"), SAMPLE + "# mine\n")
        equal(CONFIG.exists() and "theirs" in world.text, "theirs" in theirs)
        COPY.unlink()


@case("edit: one at a time")
def _(scratch):
    world = World(scratch)
    fifo = scratch / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen([KEYVETO, "config", "edit"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          env={**os.environ, "VISUAL": str(world.editor(f"cat {fifo} >>\"$1\""))}) as first:
        with open(fifo, "w", encoding="ascii") as pipe:     # which waits for the first's editor
            done = keyveto("config", "edit", status=2, env={**os.environ, "VISUAL": "true"})
            contains(done.stderr, "somebody else is at work on it")
            pipe.write("OnHit warn\n")
        equal(first.wait(PATIENCE), 0)
    equal(world.text, SAMPLE + "OnHit warn\n")
    world.nothing_left()


@case("edit: a link is followed, and stays; a new file is for all to read, whatever the umask")
def _(scratch):
    world = World(scratch)
    place = STATE / "shared.conf"
    CONFIG.rename(place)
    CONFIG.symlink_to(place)
    world.edit(append("OnHit warn"))
    assert CONFIG.is_symlink()
    equal(place.read_text(encoding="utf-8"), SAMPLE + "OnHit warn\n")
    equal(sorted(path.name for path in STATE.iterdir()), ["filter.pkbf", "shared.conf"])
    place.unlink()
    contains(world.edit(append("OnHit warn"), status=2).stderr, "a symbolic link to a file that does not exist")
    CONFIG.unlink()
    world.edit("true")
    assert not CONFIG.exists()
    was = os.umask(0o077)
    try:
        contains(world.edit(append("OnHit warn")).stderr, "not there yet")
    finally:
        os.umask(was)
    equal((world.text, stat.S_IMODE(CONFIG.stat().st_mode), CONFIG.stat().st_uid), ("OnHit warn\n", 0o644, 0))
    assert world.lets_in(world.leaked)


@case("edit: a file that a login does not read is not edited, but given back to root first")
def _(scratch):
    world = World(scratch)
    for path, spoil, mend in ((CONFIG, lambda path: path.chmod(0o666), lambda path: path.chmod(0o644)),
                              (FOLDER, lambda path: path.chmod(0o777), lambda path: path.chmod(0o755)),
                              (CONFIG, lambda path: os.chown(path, NOBODY, NOBODY), lambda path: os.chown(path, 0, 0))):
        spoil(path)
        contains(world.edit(append("OnHit warn"), status=2).stderr, "chown root and chmod go-w")
        contains(keyveto("allow", FINGERPRINT, "--forever", "x", status=2).stderr, "chown root and chmod go-w")
        equal(world.text, SAMPLE)
        mend(path)
        world.nothing_left()
    for words in (("config", "edit"), ("allow", FINGERPRINT, "--forever", "x")):
        done = keyveto(*words, status=2, user=NOBODY, group=NOBODY, extra_groups=[])
        contains(done.stderr, "run this as root")


@contextlib.contextmanager
def small_folder(kilobytes):
    """/etc/keyveto on a file system of its own, with little room."""
    texts = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=0755", "none", FOLDER], check=True)
    try:
        for name, text in texts.items():
            (FOLDER / name).write_bytes(text)
            (FOLDER / name).chmod(0o644)
        yield
    finally:
        subprocess.run(["umount", FOLDER], check=True)


def fill():
    """Until there is no room any more."""
    with open(FOLDER / "full", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


@case("edit and allow: a full disk leaves the file, and keeps the text")
def _(scratch):
    world = World(scratch)
    with small_folder(40):
        fill()
        contains(world.edit(append("OnHit warn"), status=2).stderr, "No space left on device", "nothing was changed")
        world.nothing_left("full")
        contains(keyveto("allow", FINGERPRINT, "--forever", "x", status=2).stderr, "No space left on device")
        equal(world.text, SAMPLE)
        world.nothing_left("full")
        (FOLDER / "full").unlink()
        done = world.edit(f"{append('OnHit warn')}\ncat /dev/zero >{FOLDER}/full 2>/dev/null; true", status=2)
        contains(done.stderr, "No space left on device", f"your text is kept in {COPY}")
        equal((world.text, COPY.read_text(encoding="utf-8")), (SAMPLE, SAMPLE + "OnHit warn\n"))
        assert world.lets_in(world.clean)
        (FOLDER / "full").unlink()
        terminal = Terminal("true")
        terminal.answer("(c)ontinue", "c")
        terminal.end(0)
        equal(world.text, SAMPLE + "OnHit warn\n")
        world.nothing_left()


CALLS = ("openat", "write", "fchmod", "fsync", "linkat", "renameat", "unlinkat", "flock", "wait4", "execve", "pipe2")


def killed_at(call, number, *arguments):
    """Whether keyveto was killed at that call, or came to its end before."""
    done = subprocess.run(["strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                           f"inject={call}:signal=KILL:when={number}", KEYVETO, *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False, timeout=PATIENCE,
                          env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})     # which cannot be with strace
    assert done.returncode in (0, -signal.SIGKILL, 128 + signal.SIGKILL), done
    return done.returncode != 0


@case("edit and allow: killed anywhere, the file is the old one or the new, and the next run works")
def _(scratch):
    world = World(scratch)
    os.environ["VISUAL"] = str(world.editor(append("OnHit warn")))
    edited, allowed = SAMPLE + "OnHit warn\n", f"{SAMPLE}AllowKey {FINGERPRINT} x\n"
    kills = 0
    for words, new in ((("config", "edit"), edited), (("allow", FINGERPRINT, "--forever", "x"), allowed)):
        for call in CALLS:
            number = 1
            while killed_at(call, number, *words):
                assert world.text in (SAMPLE, new), world.text
                assert world.lets_in(world.clean)
                left = {path.name for path in FOLDER.iterdir()} - TEMPORARY - {"keyveto.conf"}
                assert left <= {COPY.name}, left
                if COPY.exists():
                    # The old text, as far as it was copied, or the new.
                    assert edited.startswith(COPY.read_text(encoding="utf-8")), COPY.read_text(encoding="utf-8")
                    COPY.unlink()
                world.write(SAMPLE)
                keyveto(*words, status=0)
                equal(world.text, new)
                equal({path.name for path in FOLDER.iterdir()} - {".keyveto.conf.keyveto-new"}, {"keyveto.conf"})
                world.write(SAMPLE)
                number += 1
                kills += 1
            equal(world.text, new)
            world.write(SAMPLE)
    assert kills > 40, kills


# --- allow -----------------------------------------------------------------------------

@case("allow: the guard lets the key in from then on, until it is taken back; all other bytes stay")
def _(scratch):
    for number, text in enumerate((SAMPLE, MARKED + SAMPLE, "OnError deny", b"OnError deny\r\n# \xff\n", "", SAMPLE + MARKED)):
        text = text if isinstance(text, bytes) else text.encode()
        folder = scratch / str(number)
        folder.mkdir(mode=0o755)
        world = World(folder, text)
        assert not world.lets_in(world.leaked)
        done = keyveto("allow", world.leaked.fingerprint, "--until", LATER, "build host,", "ticket 4711", status=0)
        contains(done.stdout, f"through {LATER} (UTC)", f"keyveto allow --remove {world.leaked.fingerprint}\n")
        end = b"" if text in (b"",) or text.endswith(b"\n") else b"\n"
        line = f"AllowKey {world.leaked.fingerprint} until={LATER} build host, ticket 4711\n".encode()
        equal(CONFIG.read_bytes(), text + end + line)
        assert world.lets_in(world.leaked) and world.lets_in(world.clean)
        contains(keyveto("check", "--all", world.leaked.path, status=0).stdout, ": allowed: ", "(build host, ticket 4711)")
        contains(keyveto("allow", world.leaked.fingerprint, "--until", LATER, "build host, ticket 4711", status=0).stdout,
                 "already")
        contains(keyveto("allow", "--remove", world.leaked.fingerprint, status=0).stdout, "taken out: AllowKey")
        equal(CONFIG.read_bytes(), text + end)
        assert not world.lets_in(world.leaked)
        contains(keyveto("allow", "--remove", world.leaked.fingerprint, status=2).stderr, "no AllowKey line of")
        world.nothing_left()


@case("allow: a key that is allowed already is updated in its place, once")
def _(scratch):
    world = World(scratch)
    mine = world.leaked.fingerprint
    head, tail = SAMPLE[:400], SAMPLE[400:]
    head, tail = head[:head.rindex("\n") + 1], head[head.rindex("\n") + 1:] + tail
    world.write(f"{head}  allowkey = {mine} until={YESTERDAY} old # why\n{tail}AllowKey \"{mine}\"\nAllowKey {FINGERPRINT}")
    done = keyveto("allow", mine, "--until", AFTER_THAT, "new", status=0)
    contains(done.stdout, f"before:   allowkey = {mine} until={YESTERDAY} old # why\n")
    equal(world.text, f"{head}AllowKey {mine} until={AFTER_THAT} new\n{tail}AllowKey {FINGERPRINT}")
    keyveto("allow", mine, "--forever", "for ever", status=0)
    equal(world.text, f"{head}AllowKey {mine} for ever\n{tail}AllowKey {FINGERPRINT}")
    assert world.lets_in(world.leaked)
    keyveto("allow", "--remove", FINGERPRINT, status=0)
    equal(world.text, f"{head}AllowKey {mine} for ever\n{tail}")


@case("allow: from a file with a key, and from standard input; several keys are refused")
def _(scratch):
    world = World(scratch)
    keyveto("allow", world.leaked.path, "--until", str(TODAY), "x", status=0)
    contains(world.text, f"AllowKey {world.leaked.fingerprint} until={TODAY} x\n")
    keyveto("allow", "--remove", "-", status=0, input=f"# a key\nrestrict {world.leaked} c\n")
    equal(world.text, SAMPLE)
    certificate = keys.certify(keys.generate(scratch), keys.Identity(str(world.leaked.path)[:-4]), "root").certificate
    keyveto("allow", certificate.path, "--forever", "x", status=0)
    contains(world.text, f"AllowKey {world.leaked.fingerprint} x\n")
    for text, message in ((f"{world.leaked}\n{world.clean}\n", "2 SSH keys in it"), ("", "0 SSH keys in it"),
                          ("ssh-ed25519 AAAA\n", "-:1: ")):
        contains(keyveto("allow", "-", "--forever", "x", status=2, input=text).stderr, message)
    contains(keyveto("allow", scratch / "none", "--forever", "x", status=2).stderr, "No such file")


@case("allow: what cannot be meant is refused, and nothing is written")
def _(scratch):
    world = World(scratch)
    before = CONFIG.stat()
    for words, message in (((FINGERPRINT, "x"), "say until when"), ((FINGERPRINT, "--forever"), "give a reason"),
                           ((FINGERPRINT, "--forever", " "), "give a reason"),
                           ((FINGERPRINT, "--forever", "a\nOnHit warn"), "control character"),
                           ((FINGERPRINT, "--forever", "a\tb"), "control character"),
                           ((FINGERPRINT, "--forever", "\x7f"), "control character"),
                           ((FINGERPRINT, "--forever", "until=tomorrow"), "cannot begin with until="),
                           ((FINGERPRINT, "--forever", "x" * 513), "more than 512 bytes"),
                           ((FINGERPRINT, "--forever", "--until", LATER, "x"), "say until when"),
                           ((FINGERPRINT, "--until", YESTERDAY, "x"), "is past"), ((), "allow needs a fingerprint"),
                           ((FINGERPRINT[:-1], "--forever", "x"), "not a fingerprint"),
                           (("--remove", FINGERPRINT, "x"), "and nothing else"),
                           *(((FINGERPRINT, "--until", date, "x"), "takes a date") for date in
                             ("2030-02-30", "2030-1-1", "tomorrow", "2030-01-01 ", "2030-01-01\n", "", "2030/01/01"))):
        done = keyveto("allow", *words, status=2)
        contains(done.stderr, message)
    equal((CONFIG.stat().st_ino, world.text), (before.st_ino, SAMPLE))
    world.nothing_left()


@case("allow: any reason is logged as it was given")
def _(scratch):
    world, rnd = World(scratch), random.Random(2)
    for _ in range(60):
        reason = "".join(rnd.choice("ab #\"\\'=,$%;é ") for _ in range(rnd.randrange(1, 12)))
        if not reason.strip(" "):
            continue
        keyveto("allow", world.leaked.fingerprint, "--until", LATER, *reason.split(" "), status=0)
        done = keyveto("check", "--json", "--all", world.leaked.path, status=0)
        contains(done.stdout, '"verdict":"allowed"')
        logged = re.search(r'"reason":("(?:[^"\\]|\\.)*")', done.stdout)[1]
        equal(json.loads(logged), reason, world.text.splitlines()[-1])
        assert world.lets_in(world.leaked)


@case("allow: in a file with a mistake no AllowKey line counts, so it refuses and tells how to mend it")
def _(scratch):
    world = World(scratch)
    for text, message in ((SAMPLE + "OnHitt deny\n", "mend it with keyveto config edit"),
                          (MARKED.split("# END")[0] + SAMPLE, "a mark of keyveto's without the other one"),
                          (MARKED.replace("# END", f"AllowKey {FINGERPRINT}\n# END") + SAMPLE, "between keyveto's marks")):
        world.write(text)
        contains(keyveto("allow", FINGERPRINT, "--forever", "x", status=2).stderr, message)
        equal(world.text, text)
    # A filter that is lost does not hold it up: that is what AllowKey is for.
    world.write(SAMPLE)
    FILTER.unlink()
    assert not world.lets_in(world.clean)
    keyveto("allow", world.clean.fingerprint, "--until", LATER, "the administrator", status=0)
    assert world.lets_in(world.clean) and not world.lets_in(world.leaked)
    CONFIG.unlink()
    contains(keyveto("allow", FINGERPRINT, "--forever", "x", status=2).stderr, "not there; make one")
    assert not CONFIG.exists()


@case("allow: of twenty at the same time none is lost")
def _(scratch):
    world = World(scratch)
    some = [keys.generate(scratch).key.fingerprint for _ in range(20)]
    running = [subprocess.Popen([KEYVETO, "allow", one, "--until", LATER, "x"], stdout=subprocess.DEVNULL)  # pylint: disable=consider-using-with
               for one in some]
    for process in running:
        equal(process.wait(PATIENCE), 0)
    added = world.text.removeprefix(SAMPLE).splitlines()
    equal(sorted(added), sorted(f"AllowKey {one} until={LATER} x" for one in some))
    world.nothing_left()


if __name__ == "__main__":
    sys.exit(run_in_sandbox(needs_root=True))
