# SPDX-License-Identifier: ISC
"""make uninstall refuses while a login would fail without the files that it removes."""

import contextlib
import glob
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import keys
from program import KEYVETO, ROOT, SSHD, attempt, contains, equal, keyveto, lacks, make_filter, wait_until

pytestmark = pytest.mark.throwaway

MODULE = Path(os.environ.get("KEYVETO_PAM_MODULE", ROOT / "build/pam_keyveto.so")).resolve()
GUARD = Path("/usr/libexec/keyveto-authorized-keys")
PAM_FOLDER = Path(glob.glob("/usr/lib/*/security/pam_unix.so")[0]).parent
INSTALLED = {Path("/usr/bin/keyveto"): KEYVETO, GUARD: MODULE.parent / GUARD.name,
             PAM_FOLDER / "pam_keyveto.so": MODULE}
CONFIG, DROP_INS, PAM = Path("/etc/ssh/sshd_config"), Path("/etc/ssh/sshd_config.d"), Path("/etc/pam.d")
LINE = f"AuthorizedKeysCommand {GUARD} --user %u --home %h --type %t --key %k\n"
RUN_AS = "AuthorizedKeysCommandUser root\n"


@contextlib.contextmanager
def machine():
    """Installs keyveto in this throw-away root. Restores /etc/ssh and /etc/pam.d at the end."""
    with tempfile.TemporaryDirectory() as kept:
        for number, folder in enumerate((CONFIG.parent, PAM)):
            subprocess.run(["cp", "-a", folder, f"{kept}/{number}"], check=True)
        for target, source in INSTALLED.items():
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
            target.chmod(0o755)
        DROP_INS.mkdir(exist_ok=True)
        try:
            yield
        finally:
            for number, folder in enumerate((CONFIG.parent, PAM)):
                shutil.rmtree(folder)
                subprocess.run(["cp", "-a", f"{kept}/{number}", folder], check=True)


def uninstall(*settings):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return attempt("make", "-s", "uninstall", f"PAMDIR={PAM_FOLDER}", *settings, cwd=ROOT, env=environment)


def refused(*parts, settings=()):
    done = uninstall(*settings)
    assert done.returncode != 0, f"it is uninstalled all the same: {done.stdout}{done.stderr}"
    contains(done.stderr, "keyveto is not uninstalled", "Nothing was removed", *parts)
    for path in INSTALLED:
        assert path.exists(), f"{path} is gone"
    return done.stderr


def done(*settings):
    ended = uninstall(*settings)
    equal((ended.returncode, ended.stderr), (0, ""), ended.stdout)


def gone():
    left = [path for path in INSTALLED if path.exists()]
    equal(left, [])


def test_uninstall_removes_keyveto_if_nothing_needs_it():
    """The configuration and the filters stay."""
    with machine():
        for folder in ("/etc/keyveto", "/var/lib/keyveto"):
            Path(folder).mkdir(exist_ok=True)
            Path(folder, "mine").touch()
        CONFIG.write_text(CONFIG.read_text(encoding="utf-8") + f"#{LINE}# {LINE}", encoding="utf-8")
        (PAM / "sshd").write_text(f"# pam_keyveto.so\n-session optional pam_keyveto.so\n"
                                  "-session [success=ok module_unknown=ignore default=die] pam_keyveto.so\n"
                                  f"{(PAM / 'sshd').read_text()}", encoding="utf-8")
        (DROP_INS / "off.conf.disabled").write_text(LINE + RUN_AS, encoding="ascii")
        done()
        gone()
        assert Path("/etc/keyveto/mine").exists() and Path("/var/lib/keyveto/mine").exists()


@pytest.mark.long
def test_uninstall_refuses_while_sshds_files_name_the_guard():
    """In any of sshd's files."""
    more, deep = Path("/etc/ssh/more"), Path("/srv/deep.conf")
    for path, text in ((CONFIG, LINE + RUN_AS),
                       (DROP_INS / "00-keyveto.conf", "AuthorizedKeysFile none\n" + LINE + RUN_AS),
                       (DROP_INS / "x.conf", f"Match User alice\n{LINE}"),
                       (CONFIG, f"  authorizedkeyscommand\t{GUARD} --user %u -- /bin/true\n{RUN_AS}"),
                       (CONFIG, f"AuthorizedPrincipalsCommand {GUARD} --user %u -- /bin/echo %u\n"
                                "AuthorizedPrincipalsCommandUser nobody\n"),
                       (DROP_INS / "x.conf", "Match Address 192.0.2.0/24\nInclude more/*.conf\n"),
                       (CONFIG, f"include\t{deep}\n"), (CONFIG, f'Include "{deep}" /nowhere\n')):
        with machine():
            more.mkdir()
            (more / "a.conf").write_text(f"Include {deep}\n", encoding="ascii")
            deep.write_text(f"Match User alice\n  {LINE}", encoding="ascii")
            was = path.read_text(encoding="utf-8") if path.exists() else ""
            # sshd's first lines, before any Match block.
            path.write_text(text + was, encoding="utf-8")
            equal(subprocess.run([SSHD, "-t"], check=False).returncode, 0, text)
            concerned = deep if "nclude" in text else path
            contains(refused(f"{concerned}:", str(GUARD), "    keyveto disable --reload\n"),
                     "AuthorizedKeysFile none")


@pytest.mark.long
def test_uninstall_refuses_if_sshd_is_gone_and_its_drop_ins_name_the_guard(scratch):
    """The next sshd would read them, and without the guard refuse every key."""
    program, more = Path(SSHD), Path("/etc/ssh/more/a.conf")
    with machine():
        for lost in ((program,), (CONFIG,), (program, CONFIG)):
            for path in (DROP_INS / "00-keyveto.conf", more, CONFIG.with_name("sshd_config.mine")):
                if path.parent != DROP_INS and CONFIG not in lost:
                    continue
                path.parent.mkdir(exist_ok=True)
                path.write_text("AuthorizedKeysFile none\n" + LINE + RUN_AS, encoding="ascii")
                for number, file in enumerate(lost):
                    shutil.move(file, scratch / str(number))
                try:
                    contains(refused(f"{path}:2:"), "    keyveto disable --reload\n")
                    path.unlink()
                    # Copies that dpkg and rpm leave do not count.
                    (CONFIG.with_name("sshd_config.rpmsave")).write_text(LINE, encoding="ascii")
                finally:
                    for number, file in enumerate(lost):
                        shutil.move(scratch / str(number), file)
        shutil.move(CONFIG, scratch / "config")
        done()
        gone()
        shutil.move(scratch / "config", CONFIG)
    # A drop-in counts, too, while sshd_config does not include it.
    with machine():
        CONFIG.write_text("UsePAM yes\n", encoding="ascii")
        (DROP_INS / "x.conf").write_text(LINE + RUN_AS, encoding="ascii")
        refused(f"{DROP_INS}/x.conf:1:")


@pytest.mark.long
def test_uninstall_refuses_while_pams_files_name_the_module():
    """In the files of any service."""
    for path, text in ((PAM / "sshd", "session requisite pam_keyveto.so\n"),
                       (PAM / "login", "auth required pam_keyveto.so debug\n"),
                       (PAM / "common-session", "session\t[success=ok default=die] pam_keyveto.so\n"),
                       (PAM / "sshd", f"session requisite {PAM_FOLDER}/pam_keyveto.so\n"),
                       (PAM / "mine", "session requisite \\\n  pam_keyveto.so\n"),
                       # A missing module on such a line refuses the login, too. PAM only does not log it.
                       (PAM / "sshd", "-session requisite pam_keyveto.so\n"),
                       (PAM / "sshd", " -session\t[success=ok default=die] pam_keyveto.so\n"),
                       (Path("/etc/pam.conf"), "sshd session requisite pam_keyveto.so\n")):
        with machine():
            was = path.read_text(encoding="utf-8") if path.exists() else None
            path.write_text(text + (was or ""), encoding="utf-8")
            refused(f"{path}:", "pam_keyveto.so", "    keyveto disable --reload\n")
            if was is None:
                path.unlink()
            else:
                path.write_text(was, encoding="utf-8")
            done()
            gone()


@contextlib.contextmanager
def running(*arguments):
    """An sshd of root's, listening on a port of the loopback."""
    keys_folder = tempfile.mkdtemp()
    host_key = keys.generate(keys_folder)
    with subprocess.Popen([SSHD, "-D", "-h", host_key.path, "-p", "2201", "-o", "ListenAddress=127.0.0.1",
                           "-o", f"PidFile={keys_folder}/pid", *map(str, arguments)],
                          stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(Path(keys_folder, "pid").exists, "sshd listens")
            yield process
        finally:
            process.terminate()


def test_uninstall_refuses_while_a_running_sshd_names_the_guard(scratch):
    """In its arguments, or in another file that it reads."""
    other = scratch / "other_config"
    other.write_text(LINE + RUN_AS, encoding="ascii")
    for arguments in (("-f", other), (f"-f{other}",), ("-o", LINE.strip(), "-o", RUN_AS.strip())):
        with machine(), running(*arguments):
            refused(str(GUARD))
            if "-o" not in arguments:
                other.write_text("", encoding="ascii")
                done()
                other.write_text(LINE + RUN_AS, encoding="ascii")
    with machine():
        default = Path("/etc/default/ssh")
        was = default.read_bytes() if default.exists() else b""
        default.write_text(f'SSHD_OPTS="-4 -f {other}"\n', encoding="ascii")
        refused(f"{other}:1:")
        default.write_bytes(was)
        unit = Path("/etc/systemd/system/ssh.service.d/mine.conf")
        unit.parent.mkdir(parents=True)
        unit.write_text(f"[Service]\nExecStart=\nExecStart={SSHD} -D -f {other}\n", encoding="ascii")
        refused(f"{other}:1:")
        shutil.rmtree(unit.parent)
        # A process of another user with that name does not count.
        fake = scratch / "sshd"
        shutil.copy("/bin/sleep", fake)
        with subprocess.Popen([str(fake), "60"], user=65534, group=65534, extra_groups=[]) as process:
            done()
            process.kill()


def test_uninstall_refuses_until_sshd_has_reloaded_its_files():
    pid_file = Path("/run/sshd.pid")
    with machine():
        DROP_INS.joinpath("00-keyveto.conf").write_text(LINE + RUN_AS, encoding="ascii")
        with running() as process:
            pid_file.write_text(f"{process.pid}\n", encoding="ascii")
            (DROP_INS / "00-keyveto.conf").unlink()
            later = time.time() + 10
            os.utime(DROP_INS, (later, later))
            refused("may still run the guard", "    sshd -t && systemctl reload ssh\n")
            os.utime(pid_file, (later + 1, later + 1))
            done()
            gone()
        pid_file.unlink()


@pytest.mark.long
def test_with_destdir_the_files_below_it_count(scratch):
    """This machine's files do not count."""
    root = scratch / "image"
    for path in INSTALLED:
        (root / str(path)[1:]).parent.mkdir(parents=True)
        (root / str(path)[1:]).touch()
    config, pam = root / "etc/ssh/sshd_config", root / "etc/pam.d/sshd"
    config.parent.mkdir(parents=True)
    pam.parent.mkdir()
    (root / "etc/ssh/more.conf").write_text(LINE, encoding="ascii")
    with machine():
        CONFIG.write_text(LINE + RUN_AS + CONFIG.read_text(encoding="utf-8"), encoding="utf-8")
        for path, text, told in ((config, LINE, config), (config, "Include more.conf\n", root / "etc/ssh/more.conf"),
                                 (config, "Include /etc/ssh/m*.conf\n", root / "etc/ssh/more.conf"),
                                 (pam, "session requisite pam_keyveto.so\n", pam)):
            path.write_text(text, encoding="ascii")
            refused(f"{told}:1:", f"    unshare --mount sh -c 'mount --rbind /dev {root}/dev",
                    f"\n    chroot {root} keyveto sshd disable'\n",
                    settings=[f"DESTDIR={root}"])
            path.write_text("", encoding="ascii")
            for installed in INSTALLED:
                assert (root / str(installed)[1:]).exists(), installed
        done(f"DESTDIR={root}")
        equal([path for path in INSTALLED if (root / str(path)[1:]).exists()], [])
        refused(f"{CONFIG}:1:")
        # DESTDIR=/ is this machine.
        refused(f"{CONFIG}:1:", "--reload", settings=["DESTDIR=/"])
    # A DESTDIR without /etc belongs to a package build.
    (scratch / "empty").mkdir()
    done(f"DESTDIR={scratch / 'empty'}")


def test_uninstall_refuses_after_sshd_enable_and_works_after_disable(scratch):
    with machine():
        for folder in ("/etc/keyveto", "/var/lib/keyveto"):
            shutil.rmtree(folder, ignore_errors=True)
            Path(folder).mkdir()
        shutil.copy(ROOT / "etc/keyveto.conf", "/etc/keyveto")
        shutil.copy(make_filter(scratch / "filter.pkbf", keys.generate(scratch).key), "/var/lib/keyveto")
        for options, told in (((), "00-keyveto.conf:"), (("--guard",), "00-keyveto.conf:"),
                              (("--pam",), "/etc/pam.d/sshd:")):
            keyveto("sshd", "enable", *options, status=0)
            refused(told)
            keyveto("sshd", "disable", status=0)
        done()
        gone()


def test_uninstall_removes_a_copy_in_another_prefix():
    with machine():
        CONFIG.write_text(LINE + RUN_AS + CONFIG.read_text(encoding="utf-8"), encoding="utf-8")
        other = Path("/opt/bin/keyveto")
        other.parent.mkdir(parents=True)
        other.touch()
        done("PREFIX=/opt", "PAMDIR=/opt/security")
        assert not other.exists() and GUARD.exists()
        lacks(refused(), "/opt")
