# SPDX-License-Identifier: ISC
"""keyveto sshd: --reload, and the arguments and units with which sshd is started."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from private_logins import listening
from program import KEYVETO, ROOT, SSHD, TRACED, attempt, contains, equal, lacks
from samples import write
from server import free_port
from sshd_machine import DROP_IN, INCLUDE, TOP, Image, clean_key, host_key, restored, this_machine, with_mounts

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]


@contextlib.contextmanager
def systemd(scratch, active):
    """A systemctl that says that these units are active, and records its arguments."""
    program, folder = Path("/usr/bin/systemctl"), Path("/run/systemd/system")
    kept = program.read_bytes() if program.exists() else None
    write(program, f'#!/bin/sh\necho "$*" >>{scratch}/told\n'
                   f'[ "$1" != --quiet ] || case " {active} " in *" $3 "*) ;; *) exit 3;; esac\n').chmod(0o755)
    (scratch / "told").write_text("", encoding="ascii")
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield lambda: (scratch / "told").read_text(encoding="ascii").splitlines()
    finally:
        if kept is None:
            program.unlink()
        else:
            program.write_bytes(kept)
        if made:
            folder.rmdir()


@pytest.mark.long
def test_reload_asks_systemd_for_the_unit_that_is_active(scratch):
    """disable reloads before it changes keyveto.conf."""
    with this_machine(scratch, config=INCLUDE + "AuthorizedKeysFile .ssh/k\n") as machine:
        snapshot = machine.snapshot()
        for active, last in (("ssh.service", "reload ssh.service"), ("sshd.service", "reload sshd.service"),
                             # A reload would end an sshd started by ssh.socket. If none runs, nothing is to do.
                             ("ssh.service ssh.socket", "try-restart ssh.service"),
                             ("ssh.socket", "is-active ssh.socket"), ("sshd.socket", "is-active sshd.socket")):
            with systemd(scratch, active) as told:
                contains(machine.run("enable", "--reload", status=0).stdout, "sshd uses these lines now")
                equal(told()[-1], f"--quiet {last}")
                said = machine.run("disable", "--reload", status=0).stdout
                contains(said, f"{DROP_IN}: removed\n", "/etc/pam.d/sshd: keyveto's lines taken out\n",
                         "sshd has read its configuration again")
                lacks(said, "reload")
                equal(told()[-1], f"--quiet {last}")
                restored(snapshot, machine.snapshot())
        # systemd knows no active sshd, and there is no PID file.
        with systemd(scratch, "") as told:
            done = machine.run("enable", "--reload", status=2)
            contains(done.stderr, "names no running sshd; nothing was reloaded")
            contains(done.stdout, "lines put into", "once it is reloaded")
            lacks("".join(told()), "reload", "restart")
            done = machine.run("disable", "--reload", status=2)
            contains(done.stderr, "names no running sshd", "stay for now")
            equal(machine.settings()["authorizedkeysfile"], ".ssh/k")
            equal(machine.first_session_line(), "session requisite pam_keyveto.so")
            # The running sshd still runs the guard, although sshd's files no longer name it.
            contains(machine.run("disable", "--reload", status=2).stderr, "names no running sshd", "stay for now")
            equal(machine.first_session_line(), "session requisite pam_keyveto.so")
            contains(machine.run("disable", status=0).stdout, "until it is reloaded")
            restored(snapshot, machine.snapshot())
            done = machine.run("disable", "--reload", status=2)
            contains(done.stderr, "names no running sshd", "sshd was not reloaded")


@contextlib.contextmanager
def unit(text):
    """A systemctl that prints this text for ssh.service, as `systemctl show --property=ExecStart` does."""
    program, folder = Path("/usr/bin/systemctl"), Path("/run/systemd/system")
    kept = program.read_bytes() if program.exists() else None
    write(program, "#!/bin/sh\ncase $* in\n*is-active*) exit 3;;\n"
                   f"*' ssh.service') cat <<'EOF'\n{text}\nEOF\nesac\n").chmod(0o755)
    folder.mkdir(parents=True)
    try:
        yield
    finally:
        folder.rmdir()
        program.unlink()
        if kept is not None:
            write(program, kept).chmod(0o755)


@contextlib.contextmanager
def defaults(text):
    path = Path("/etc/default/ssh")
    kept = path.read_bytes() if path.exists() else None
    path.write_text(text, encoding="ascii")
    try:
        yield
    finally:
        path.unlink()
        if kept is not None:
            path.write_bytes(kept)


EIC = '"AuthorizedKeysCommand /usr/share/eic/run %u %f" -o "AuthorizedKeysCommandUser eic"'


@pytest.mark.long
def test_options_in_sshds_arguments_stop_enable(scratch):
    """status reports them."""
    start = "ExecStart={{ path=/usr/sbin/sshd ; argv[]=/usr/sbin/sshd -D -o {} $SSHD_OPTS ; ignore_errors=no ; pid=0 }}"
    with this_machine(scratch) as machine:
        wholes = [(unit(start.format(words)), "ssh.service", parts)
                  for words, parts in (
                      (EIC, ("AuthorizedKeysCommand=/usr/share/eic/run", "AuthorizedKeysCommandUser=eic")),
                      (EIC.replace('"', ""), ("AuthorizedKeysCommand=/usr/share/eic/run",)),
                      (EIC.replace('"', "'"), ("AuthorizedKeysCommand=/usr/share/eic/run",)))]
        wholes += [(defaults(f'SSHD_OPTS="-4 -o {keyword}={value}"\n'), "/etc/default/ssh", (f"{keyword}={value}",))
                   for keyword, value in (
                       ("authorizedkeysfile", "/etc/keys/%u"), ("UsePAM", "no"), ("StrictModes", "no"),
                       ("Include", "/etc/ssh/more"), ("AuthenticationMethods", "publickey"),
                       ("TrustedUserCAKeys", "/etc/ssh/ca"), ("PubkeyAuthentication", "no"),
                       ("AuthorizedPrincipalsFile", "none"), ("HostbasedAuthentication", "yes"))]
        for number, (where, place, parts) in enumerate(wholes):
            with where:
                before = machine.snapshot()
                for options in (("--warn", "--yes"), ("--dry-run",))[:1 if number else 2]:
                    done = machine.run("enable", *options, status=2)
                    contains(done.stderr, *(f"{place}: -o {part} counts before" for part in parts),
                             "nothing was changed",
                             "at the top of /etc/ssh/sshd_config")
                    restored(before, machine.snapshot())
                if number:
                    continue
                contains(machine.run("status", "--json", status=2).stdout, f"{place}: -o {parts[0]} bypasses keyveto")
        with defaults("SSHD_OPTS='-o UsePAM=yes -o StrictModes=yes -o LogLevel=VERBOSE -4'\n"):
            machine.run("enable", status=0)
            machine.run("status", status=0)
        with defaults("SSHD_OPTS=-oUsePAM=no\n"):
            contains(machine.run("status", "--json", status=2).stdout, "-o UsePAM=no bypasses keyveto",
                     "keyveto disable --reload")
            contains(machine.run("enable", status=2).stderr, "run 'keyveto disable --reload'")
            machine.run("disable", status=0)


@pytest.mark.long
def test_a_unit_that_starts_sshd_with_another_file_stops_enable(scratch):
    """It does so if the other file includes keyveto's file, or cannot be read."""
    other = scratch / "other"
    with this_machine(scratch) as machine:
        for text, part in ((None, "No such file"),
                           ("Include sshd_config.d/*.conf\n", "includes /etc/ssh/sshd_config.d/00"),
                           ("Include /etc/ssh/sshd_config\n", "includes /etc/ssh/sshd_config"),
                           ("Include ~/x\n", "cannot be told")):
            if text is not None:
                other.write_text(text, encoding="ascii")
            with defaults(f"SSHD_OPTS='-f {other}'\n"):
                before = machine.snapshot()
                contains(machine.run("enable", "--warn", status=2).stderr,
                         f"/etc/default/ssh: its configuration is {other}", part)
                restored(before, machine.snapshot())
                # enable --pam writes none of sshd's files.
                machine.run("enable", "--pam", status=2 if part in ("No such file", "cannot be told") else 0)
                machine.run("disable", status=0)
        with defaults("SSHD_OPTS='-f other'\n"):
            contains(machine.run("enable", status=2).stderr, "nobody can tell where that is")
        link = scratch / "link"
        link.symlink_to("/etc/ssh/sshd_config")
        for path in ("/etc/ssh/sshd_config", "/etc/ssh/../ssh/sshd_config", link):
            with defaults(f"SSHD_OPTS='-f {path}'\n"):
                machine.run("enable", status=0)
                machine.run("status", status=0)
                machine.run("disable", status=0)
        other.write_text("UsePAM no\n", encoding="ascii")
        for path in (other, "none"):
            with defaults(f"SSHD_OPTS='-o UsePAM=no -f {path}'\n"):
                contains(machine.run("enable", status=0).stderr, f"note: /etc/default/ssh: its configuration is {path}")
                contains(machine.run("status", "--json", status=2).stdout, f"its configuration is {path}, which")
                machine.run("disable", status=0)


@contextlib.contextmanager
def listener(scratch, *words, root=None):
    """A process of root's that looks like a listening sshd that was started with these words."""
    program = scratch / "sshd"
    shutil.copy("/bin/sleep", program)
    title = " ".join(("sshd: /usr/sbin/sshd -D", *words, "[listener] 0 of 10-100 startups"))
    with subprocess.Popen([title, "1000"], executable=program,
                          preexec_fn=root and (lambda: os.chroot(root))) as process:
        try:
            yield f"sshd, process {process.pid}"
        finally:
            process.kill()


def test_words_like_options_in_a_value_hide_no_option(scratch):
    """The words are in the value of an option of a running sshd."""
    with this_machine(scratch) as machine:
        for words in (("-o AuthorizedKeysCommand /opt/keys -t %t -u %u",),
                      ("-o ForceCommand=/bin/x -t", "-o UsePAM=no"),
                      ("-o AuthorizedKeysCommand=/opt/keys -f /etc/ssh/moduli %u",),
                      ("-o AuthorizedKeysFile\\t/etc/keys",), ("-o \\011UsePAM=no",),
                      ("-o ForceCommand /bin/x -f /etc/ssh/moduli", "-oStrictModes=no")):
            with listener(scratch, *words) as place:
                contains(machine.run("enable", "--warn", status=2).stderr, f"{place}: -o ", "counts before",
                         "nothing was changed")
        with listener(scratch, "-o ForceCommand=/bin/x -t", "-oCiphers=aes256-ctr"):
            lacks(machine.run("enable", "--dry-run", status=0).stderr, "sshd, process")


def test_an_sshd_in_a_chroot_counts_if_it_reads_this_machines_file(scratch):
    """An sshd in a chroot with its own sshd_config is noted."""
    room = scratch / "room"
    (room / "etc/ssh").mkdir(parents=True)
    # The chroot has the loader, the libraries and the program under the same paths.
    for place in ("usr", "lib", "lib64", scratch.relative_to("/")):
        (room / place).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", f"/{place}", room / place], check=True)
    with this_machine(scratch / "here") as machine, contextlib.ExitStack() as mounts:
        for place in (scratch.relative_to("/"), "lib64", "lib", "usr"):
            mounts.callback(subprocess.run, ["umount", "--lazy", room / place], check=True)
        (room / "etc/ssh/sshd_config").write_text("Port 2222\n", encoding="ascii")
        with listener(scratch, "-o UsePAM=no", root=room) as place:
            contains(machine.run("enable", "--dry-run", status=0).stderr,
                     f"note: {place}: it has another root directory or other mounts")
        # Not a link: /tmp may be another file system.
        subprocess.run(["mount", "--bind", "/etc/ssh/sshd_config", room / "etc/ssh/sshd_config"], check=True)
        mounts.callback(subprocess.run, ["umount", room / "etc/ssh/sshd_config"], check=True)
        with listener(scratch, "-o UsePAM=no", root=room) as place:
            contains(machine.run("enable", "--dry-run", status=2).stderr, f"{place}: -o UsePAM=no counts before")


@pytest.mark.parametrize("mounts", ("mount --bind /etc /etc && mount -o remount,bind,ro /etc",
                                    "rm -rf $0 && cp -a /etc/ssh $0 && mount --bind $0 /etc/ssh"),
                         ids=("read-only", "copy"))
def test_an_sshd_with_mounts_of_its_own_counts(scratch, mounts):
    """So does a unit with BindPaths or ReadOnlyPaths: it is this machine's, whatever file it reads.

    If that is another, status is not the answer about it.
    """
    note = "it has mounts of its own, and reads another /etc/ssh/sshd_config there: only its arguments are looked at"
    own = write(scratch / "own", f"#!/bin/sh\nexec unshare --mount sh -c '{mounts} && exec {SSHD} \"$@\"' "
                                 f"{scratch}/copy \"$@\"\n")
    own.chmod(0o755)
    config = f"{INCLUDE}Port {free_port()}\nListenAddress 127.0.0.1\n"
    with this_machine(scratch / "host", config=config) as machine:
        with listening(scratch, "-h", host_key(), "-o", "UsePAM=no", program=own) as process:
            contains(machine.run("enable", status=2).stderr,
                     f"sshd, process {process.pid}: -o UsePAM=no counts before {TOP}")
        with listening(scratch, "-h", host_key(), program=own) as process:
            said = [machine.run("enable", status=0).stderr,
                    machine.run("status", "--json", status=2 if "cp" in mounts else 0).stdout]
        for text in said:
            (contains if "cp" in mounts else lacks)(text, f"sshd, process {process.pid}: {note}")
        (contains if "cp" in mounts else lacks)(said[1], "no sshd listens that reads")


@pytest.mark.long
def test_etc_default_ssh_is_read_as_the_shell_does(scratch):
    """Comments, export, continued lines."""
    with this_machine(scratch) as machine:
        for text, status in (('SSHD_OPTS="-4" # such as -o UsePAM=no\n', 0), ("SSHD_OPTS= # -o UsePAM=no\n", 0),
                             ('SSHD_OPTS="-4 # -o UsePAM=no"\n', 2), ("export SSHD_OPTS=-oUsePAM=no\n", 2),
                             ('SSHD_OPTS="-4 \\\n -o UsePAM=no"\n', 2), ('SSHD_OPTS+=" -o UsePAM=no"\n', 2),
                             ("SSHD_OPTS=-o\\ UsePAM=no\n", 2), ("A=\0\nSSHD_OPTS=-oUsePAM=no\n", 2),
                             ("exported=-oUsePAM=no\nexport\n", 0)):
            with defaults(text):
                done = machine.run("enable", "--dry-run", status=status)
                (contains if status else lacks)(done.stderr, "/etc/default/ssh: -o UsePAM=no counts before")
        with defaults('SSHD_OPTS="$MORE"\n'):
            contains(machine.run("enable", "--dry-run", status=0).stderr,
                     "note: /etc/default/ssh: it takes options from elsewhere")
        with defaults("#" * 70000):
            contains(machine.run("enable", "--dry-run", status=0).stderr, "note: /etc/default/ssh: File too large")


def test_arguments_of_sshd_that_cannot_be_read_are_noted(scratch):
    """enable goes on."""
    with this_machine(scratch) as machine:
        for path, call in (("/proc", "getdents64"), ("/etc/default/ssh", "read")):
            with defaults("SSHD_OPTS=-4\n"):
                done = attempt("strace", "-qq", "-o", "/dev/null", "-P", path, "-e", f"trace={call}", "-e",
                               f"inject={call}:error=EIO", os.environ.get("KEYVETO", ROOT / "build/keyveto"), "sshd",
                               "enable", env=TRACED)
                equal(done.returncode, 0, done.stderr)
                contains(done.stderr,
                         f"note: {path}: Input/output error: what sshd is started with cannot be seen there")
                machine.run("status", status=0)
                machine.run("disable", status=0)


PID_FILE = Path("/run/sshd.pid")
# /run has the PID file of the host's sshd. In /tmp are the keys and the programs of the tests.
SHARED = [place for place in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc", "/run", "/tmp",
                              str(KEYVETO.parent)) if Path(place).exists()]


class Chroot(Image):
    """A system whose files are its own, and whose programs and processes are the host's."""
    shared = SHARED

    def inside(self, *words):
        return with_mounts([(place, f"{self.root}{place}") for place in self.shared], "chroot", self.root, *words)


@contextlib.contextmanager
def host(scratch, link=None):
    """This machine, with an sshd that listens: the process, and what it logs. link: sshd_config is one to there."""
    config = f"{INCLUDE}Port {free_port()}\nListenAddress 127.0.0.1\nPidFile {PID_FILE}\n"
    with this_machine(scratch / "host", config=config) as machine, contextlib.ExitStack() as after:
        if link:
            after.callback(shutil.rmtree, link.parent)
            link_config(machine, link)
        # An option that counts before the files would stop enable on the host.
        with listening(scratch, "-h", host_key(), "-o", "UsePAM=no") as process:
            assert PID_FILE.read_text(encoding="ascii").strip() == str(process.pid)
            snapshot = machine.snapshot()
            yield process
            equal(process.poll(), None)
            lacks("".join(path.read_text(errors="replace") for path in scratch.glob("sshd*.log")), "SIGHUP", "signal")
            restored(snapshot, machine.snapshot())


def link_config(machine, link):
    """Makes sshd_config an absolute link."""
    machine.path(link).parent.mkdir()
    shutil.move(machine.path(TOP), machine.path(link))
    machine.path(TOP).symlink_to(link)


@pytest.mark.parametrize("link", [None, Path("/etc/site/sshd_config")], ids=["file", "link"])
def test_in_a_chroot_the_hosts_sshd_is_left_alone(scratch, link):
    """The link leads to one file on the host, and to another one in the chroot."""
    inside = Chroot(scratch / "in", INCLUDE + f"PidFile {PID_FILE}\n")
    if link:
        link_config(inside, link)
    inside.account("alice", clean_key())
    before = inside.snapshot()
    with host(scratch, link) as process:
        note = f"sshd, process {process.pid}: it has another root directory or other mounts, and reads another {TOP} " \
            "there"
        said = inside.run("enable", status=0).stderr
        contains(said, note)
        lacks(said, "counts before")
        contains(inside.read(DROP_IN), "AuthorizedKeysCommand ")
        contains(inside.run("status", "--json", status=0).stdout, note)
        said = inside.run("enable", "--reload", status=2).stderr
        contains(said, f"PidFile {PID_FILE} names no running sshd; nothing was reloaded")
        contains(inside.run("disable", "--reload", status=2).stderr, "names no running sshd", "stay for now")
        inside.run("disable", status=0)
    restored(before, inside.snapshot())


def test_with_other_mounts_the_hosts_sshd_is_left_alone(scratch):
    """The root directory is the host's; /etc lies over the host's."""
    inside = Image(scratch / "in", INCLUDE + f"PidFile {PID_FILE}\n")
    with host(scratch) as process:
        contains(inside.run("enable", status=0).stderr, f"note: sshd, process {process.pid}: it has another root")
        contains(inside.run("enable", "--reload", status=2).stderr, "names no running sshd; nothing was reloaded")


@pytest.mark.parametrize("kind", (Chroot, Image), ids=("chroot", "mounts"))
def test_in_a_chroot_systemctl_is_not_believed(scratch, kind):
    """There it answers yes to every question, and does nothing. With other mounts, it reloads the host's sshd."""
    with systemd(scratch, "ssh.service sshd.service") as told:
        done = kind(scratch / "in").run("enable", "--reload", status=2)
    contains(done.stderr, "names no running sshd; nothing was reloaded: reload sshd by hand")
    lacks(done.stdout, "sshd uses these lines now")
    lacks("".join(told()), "reload", "restart")


def test_without_proc_enable_says_what_it_cannot_see(scratch):
    inside = Chroot(scratch / "in")
    inside.shared = [place for place in SHARED if place != "/proc"]
    stack = inside.read("/etc/pam.d/sshd")
    # The file is known by another path, too.
    inside.write("/etc/pam.d/sshd", stack + "account required pam_keyveto.so config=/etc/keyveto/./keyveto.conf\n")
    contains(inside.run("enable", "--warn", status=2).stderr, "/etc/pam.d/sshd:", "let in keys that it refuses now")
    inside.write("/etc/pam.d/sshd", stack)
    contains(inside.run("enable", status=0).stderr, "note: /proc: ", "what sshd is started with cannot be seen there")
