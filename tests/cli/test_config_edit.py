# SPDX-License-Identifier: ISC
"""keyveto config edit never installs a mistake, and never loses text."""

import contextlib
import os
import shlex
import signal
import stat
import subprocess

import pytest

from config_machine import BAD_LINES, CONFIG, COPY, FINGERPRINT, FOLDER, MARKED, NOBODY, SAMPLE, STATE, World
from program import KEYVETO, PATIENCE, attempt, contains, equal, keyveto, lacks
from terminal import Terminal
from samples import write

pytestmark = pytest.mark.throwaway

TEMPORARY = {".keyveto.conf.lock", ".keyveto.conf.keyveto-new", ".keyveto.conf.edit.lock"}


def append(line):
    return f"printf '%s\\n' {shlex.quote(line)} >>\"$1\""


@pytest.fixture(name="world")
def fixture_world(scratch):
    return World(scratch)


def test_a_change_is_saved_to_the_byte_owner_and_mode_stay(world):
    """No other file is left behind."""
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


def test_a_mistake_that_refuses_everybody_is_not_saved(world):
    """The test shows with the guard that the mistake would refuse everybody."""
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


class Edit(Terminal):
    """keyveto config edit on a terminal."""

    def __init__(self, editor, *arguments):
        super().__init__(KEYVETO, "config", "edit", *arguments, env={**os.environ, "VISUAL": str(editor)})

    def answer(self, question, letter):
        self.wait_for(question)
        self.text = ""
        self.type(f"{letter}\n")

    def must_end(self, status):
        equal(self.end(), status, self.text)
        return self.text


def test_on_a_terminal_a_mistake_is_edited_again_or_dropped(world):
    # This editor makes a mistake in its first run, and corrects it in its second.
    editor = world.editor('if grep -q Hitt "$1"; then sed -i s/Hitt/Hit/ "$1"; else echo "OnHitt warn" >>"$1"; fi')
    terminal = Edit(editor)
    terminal.answer("What now? (e)dit again, (x)it without saving, (?)", "?")
    terminal.answer("drop the change", "")
    terminal.answer("What now?", "s")               # "s" is not offered
    terminal.answer("What now?", "e")
    contains(terminal.must_end(0), "saved")
    equal(world.text, SAMPLE + "OnHit warn\n")
    world.write(SAMPLE)
    terminal = Edit(editor)
    terminal.answer("What now?", "x")
    contains(terminal.must_end(2), "unchanged")
    equal(world.text, SAMPLE)
    world.nothing_left()


def test_a_hang_up_keeps_the_edited_text(world):
    terminal = Edit(world.editor(append("OnHitt warn")))
    terminal.wait_for("What now?")
    os.close(terminal.fd)
    os.waitpid(terminal.pid, 0)
    equal(world.text, SAMPLE)
    equal(COPY.read_text(encoding="utf-8"), SAMPLE + "OnHitt warn\n")


def test_a_change_that_locks_everybody_out_is_saved_only_on_request(world):
    """The change has no mistake: it names a missing filter."""
    nowhere = 'sed -i "1i Filter /nowhere.pkbf" "$1"'
    done = world.edit(nowhere, status=2)
    contains(done.stderr, "/nowhere.pkbf: No such file or directory", "each login by key would be refused", "--yes")
    equal(world.text, SAMPLE)
    for letter, status in (("x", 2), ("s", 0)):
        terminal = Edit(world.editor(nowhere))
        terminal.answer("(s)ave all the same", letter)
        terminal.must_end(status)
        equal("/nowhere" in world.text, letter == "s")
    assert not world.lets_in(world.clean)
    # A lock-out that is there already does not stop a change that ends it.
    world.edit('sed -i "1i OnError allow" "$1"')
    assert world.lets_in(world.clean)
    world.write(SAMPLE)
    world.edit(nowhere, "--yes")
    contains(world.text, "/nowhere")


def test_keyvetos_marks_are_removed_only_on_request(scratch):
    """The same holds for the lines between the marks, and for AuthorizedKeysFile."""
    world = World(scratch, MARKED + SAMPLE)
    for script, message in (('sed -i "/^# END keyveto/d" "$1"', f"{COPY}:1: a mark of keyveto's without the other one"),
                            ('sed -i "/keyveto: written/d" "$1"',
                             f"{COPY}:2: a mark of keyveto's without the other one"),
                            ('sed -i "1,3d" "$1"', "the lines between keyveto's marks are gone"),
                            ('sed -i "2d" "$1"', "lines between keyveto's marks were changed"),
                            ('sed -i "2i OnHit warn" "$1"', "lines between keyveto's marks were changed"),
                            ('sed -i "1i AuthorizedKeysFile /etc/keys/%u" "$1"',
                             "AuthorizedKeysFile differs from what sshd had")):
        contains(world.edit(script, status=2).stderr, message)
        equal(world.text, MARKED + SAMPLE)
        world.edit(script, "--yes")
        assert world.text != MARKED + SAMPLE
        world.write(MARKED + SAMPLE)
    for script in (append("OnUnsupported deny"), 'sed -i "1i OnHit warn" "$1"', 'sed -i "4,$ d" "$1"'):
        world.edit(script)
        world.write(MARKED + SAMPLE)
    # Marks that were broken before can be repaired.
    world.write(MARKED.split("# END")[0] + SAMPLE)
    world.edit('sed -i "2a # END keyveto" "$1"')
    equal(world.text, MARKED + SAMPLE)


def test_an_editor_that_fails_leaves_the_file(world):
    """Also an editor that is killed or missing. The edited text is kept beside the file."""
    for script, message in (("exit 3", "ended with status 3"), ("kill -9 $$", "ended by signal 9"),
                            ('rm "$1"', "No such file")):
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
        terminal = Edit("true")
        terminal.answer("(c)ontinue with it, (d)elete it", "c" if end == "exit 1" else "d")
        terminal.must_end(0)
        world.nothing_left()
        equal(world.text, SAMPLE + ("OnHit warn\n" if end == "exit 1" else ""))


def test_an_editor_that_leaves_no_text_leaves_the_file(world):
    """Without its DenyKey line the key would be let in. visudo refuses such a text, too."""
    text = SAMPLE + f"DenyKey {world.clean.fingerprint} leaked\n"
    for script in (': >"$1"', "printf ' \\r\\n\\n' >\"$1\""):
        for words in ((), ("--yes",)):
            world.write(text)
            contains(world.edit(script, *words, status=2).stderr, f"{COPY}: the editor left no text",
                     "leave a comment", f"{CONFIG}: unchanged")
            equal(world.text, text)
            assert not world.lets_in(world.clean)
            world.nothing_left()
    terminal = Edit(world.editor(': >"$1"'))
    terminal.answer("What now? (e)dit again, (x)it without saving, (?)", "x")
    terminal.must_end(2)
    equal(world.text, text)
    # Who means it writes a comment. An empty file may stay empty.
    world.edit('echo "# defaults" >"$1"')
    equal(world.text, "# defaults\n")
    world.write("")
    world.edit('echo >"$1"')
    equal(world.text, "\n")


def test_a_copy_that_cannot_be_read_is_not_deleted(world):
    """It may be the edited text. The next edit does not touch it either."""
    for script, message in ((f'{append("OnHit warn")}; chown nobody "$1"', "not a file of yours; move it away"),
                            (f'{append("OnHit warn")}; chown nobody "$1"; exit 1', "not a file of yours"),
                            ('rm "$1"; ln -s /etc/passwd "$1"', "a symbolic link; move it away"),
                            ('rm "$1"; mkfifo "$1"', "not a file of yours; move it away")):
        contains(world.edit(script, status=2).stderr, message, f"{CONFIG}: unchanged")
        left = COPY.lstat()
        contains(world.edit("true", status=2).stderr, "move it away")
        equal((COPY.lstat().st_ino, world.text), (left.st_ino, SAMPLE))
        if stat.S_ISREG(left.st_mode):
            equal(COPY.read_text(encoding="utf-8"), SAMPLE + "OnHit warn\n")
        COPY.unlink()
        world.nothing_left()


def test_visual_comes_before_editor_and_no_shell_reads_them(scratch, world):
    """Both may have arguments."""
    editor = world.editor('printf "# %s\\n" "$#" "$1" >>"${3-${2-$1}}"')
    rows = (({"VISUAL": str(editor), "EDITOR": "false"}, f"# 1\n# {COPY}\n"),
            ({"VISUAL": " ", "EDITOR": str(editor)}, f"# 1\n# {COPY}\n"),
            ({"VISUAL": f"{editor} '-a  b'"}, "# 2\n# -a  b\n"),
            ({"VISUAL": f'{editor} $(id)\\;"`ls` " x'}, None),
            ({"VISUAL": f'{editor} "\\"q" $HOME;id'}, "# 3\n# \"q\n"))
    for environment, added in rows:
        others = {name: value for name, value in os.environ.items() if name not in ("VISUAL", "EDITOR")}
        environment = others | environment
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
        write(fallback / name, f'#!/bin/sh\necho "# {name}" >>"$1"\n').chmod(0o755)
        environment = {"PATH": f"{fallback}:/nowhere"}
        (fallback / "sh").exists() or (fallback / "sh").symlink_to("/bin/sh")
        keyveto("config", "edit", env=environment, status=0)
        equal(world.text, SAMPLE + f"# {name}\n")
        world.write(SAMPLE)


def test_a_change_by_another_program_during_the_edit_is_not_lost(world):
    """The edited text is not lost either."""
    for theirs in (f"echo '# theirs' >>{CONFIG}", f"{KEYVETO} allow {FINGERPRINT} --forever theirs", f"rm {CONFIG}"):
        world.write(SAMPLE)
        contains(world.edit(f"{append('# mine')}\n{theirs}", status=2).stderr, "changed it meanwhile",
                 f"your text is kept in {COPY}")
        equal(COPY.read_text(encoding="utf-8"), SAMPLE + "# mine\n")
        equal(CONFIG.exists() and "theirs" in world.text, "theirs" in theirs)
        COPY.unlink()


def test_lines_that_came_after_a_kept_text_are_not_dropped_unasked(world):
    """The kept text was not made from the file of today. Here it has no line that refuses a key that leaked since."""
    leaked, trial = world.clean.fingerprint, world.leaked.fingerprint
    world.edit(f"{append('# mine')}\n{KEYVETO} deny {leaked} leaked\n{KEYVETO} allow {trial} --forever trial", status=2)
    theirs = world.text
    assert not world.lets_in(world.clean)
    lines = [f"{CONFIG}:{number}: the text that was left lacks this line, which may be newer: {line}"
             for number, line in enumerate(theirs.splitlines(), 1) if line.startswith(("DenyKey", "AllowKey"))]
    equal(len(lines), 2)
    for letter, status in (("x", 2), ("s", 0)):
        COPY.write_text(SAMPLE + "# mine\n", encoding="utf-8")
        terminal = Edit("true")
        terminal.answer("(c)ontinue with it", "c")
        terminal.wait_for("(s)ave all the same")
        contains(terminal.text, *lines)
        equal(world.text, theirs)
        terminal.answer("(s)ave all the same", letter)
        terminal.must_end(status)
        equal(world.text, theirs if letter == "x" else SAMPLE + "# mine\n")
    # Many such lines are not all shown.
    world.write(SAMPLE + "".join(f"DenyKey {FINGERPRINT} number {i}\n" for i in range(25)))
    COPY.write_text(SAMPLE + "# mine\n", encoding="utf-8")
    terminal = Edit("true")
    terminal.answer("(c)ontinue with it", "c")
    terminal.wait_for("(s)ave all the same")
    contains(terminal.text, "number 19", "it lacks 5 more lines")
    lacks(terminal.text, "number 20")
    terminal.answer("(s)ave all the same", "x")
    terminal.must_end(2)
    # A text that has them, however it puts the blanks, and a new one are saved at once.
    COPY.write_text(theirs.replace("DenyKey", "  DenyKey") + "# mine\n", encoding="utf-8")
    world.write(theirs)
    terminal = Edit("true")
    terminal.answer("(c)ontinue with it", "c")
    contains(terminal.must_end(0), "saved")
    COPY.write_text(SAMPLE, encoding="utf-8")
    terminal = Edit(world.editor('sed -i /DenyKey/d "$1"'))
    terminal.answer("(d)elete it", "d")
    contains(terminal.must_end(0), "saved")
    world.nothing_left()


def test_a_second_edit_at_the_same_time_is_refused(scratch, world):
    fifo = scratch / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen([KEYVETO, "config", "edit"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          env={**os.environ, "VISUAL": str(world.editor(f"cat {fifo} >>\"$1\""))}) as first:
        with open(fifo, "w", encoding="ascii") as pipe:     # open waits for the first run's editor
            done = keyveto("config", "edit", status=2, env={**os.environ, "VISUAL": "true"})
            contains(done.stderr, "somebody else is at work on it")
            pipe.write("OnHit warn\n")
        equal(first.wait(PATIENCE), 0)
    equal(world.text, SAMPLE + "OnHit warn\n")
    world.nothing_left()


def test_a_link_is_followed_and_a_new_file_is_for_all_to_read(world):
    """The link stays. The mode does not depend on the umask."""
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
        contains(world.edit(append("OnHit warn")).stderr, "does not exist yet")
    finally:
        os.umask(was)
    equal((world.text, stat.S_IMODE(CONFIG.stat().st_mode), CONFIG.stat().st_uid), ("OnHit warn\n", 0o644, 0))
    assert world.lets_in(world.leaked)


def test_a_file_that_a_login_does_not_read_is_not_edited(world):
    """config edit and allow say how to give the file back to root."""
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
    """/etc/keyveto on a small file system of its own."""
    texts = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=0755", "none", FOLDER], check=True)
    try:
        for name, text in texts.items():
            write(FOLDER / name, text).chmod(0o644)
        yield
    finally:
        subprocess.run(["umount", FOLDER], check=True)


def fill():
    """Fills that file system."""
    with open(FOLDER / "full", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


def test_edit_and_allow_a_full_disk_leaves_the_file(world):
    """The edited text is kept."""
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
        terminal = Edit("true")
        terminal.answer("(c)ontinue", "c")
        terminal.must_end(0)
        equal(world.text, SAMPLE + "OnHit warn\n")
        world.nothing_left()


CALLS = ("openat", "write", "fchmod", "fsync", "linkat", "renameat", "unlinkat", "flock", "wait4", "execve", "pipe2")


def killed_at(call, number, *arguments):
    """Runs keyveto with a SIGKILL at that call: whether it was killed before its end.

    LeakSanitizer does not work under strace, so it is off.
    """
    done = attempt("strace", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e",
                   f"inject={call}:signal=KILL:when={number}", KEYVETO, *arguments, text=False,
                   env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode in (0, -signal.SIGKILL, 128 + signal.SIGKILL), done
    return done.returncode != 0


@pytest.mark.long
def test_edit_and_allow_killed_anywhere_leave_a_whole_file(world, one_in):
    """The file is the old one or the new one, and the next run works."""
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
                    # The copy holds a part of the old text, or all of the edited text.
                    assert edited.startswith(COPY.read_text(encoding="utf-8")), COPY.read_text(encoding="utf-8")
                    COPY.unlink()
                world.write(SAMPLE)
                keyveto(*words, status=0)
                equal(world.text, new)
                equal({path.name for path in FOLDER.iterdir()} - {".keyveto.conf.keyveto-new"}, {"keyveto.conf"})
                world.write(SAMPLE)
                number += one_in
                kills += 1
            equal(world.text, new)
            world.write(SAMPLE)
    assert kills > 40 // one_in, kills
