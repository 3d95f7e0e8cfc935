# SPDX-License-Identifier: ISC
"""keyveto disable, after others have changed files since enable."""

import contextlib
import json
import os
import re
import shutil
import socket
import stat
import subprocess

import pytest

from program import PATIENCE, ROOT, SSHD, contains, equal, keyveto, lacks, wait_until
from samples import write
from sshd_machine import (ALONE, DEFAULT_FILES, DROP_IN, FILES_COMMAND, HOST_KEY, INCLUDE, MODULE_LINE, STOCK_STACK,
                          TOP, WITHOUT_INCLUDE, Image, by_files, host_key, restored, this_machine)

pytestmark = [pytest.mark.throwaway, pytest.mark.usefixtures("installed")]


def test_changes_of_the_administrator_since_enable_stay(scratch):
    """disable removes keyveto's lines alone."""
    image = Image(scratch, WITHOUT_INCLUDE)
    image.run("enable", status=0)
    config = image.read(TOP)
    image.write(TOP, config + "PrintMotd no\n", 0o600)
    image.write("/etc/pam.d/sshd", "# on top\n" + image.read("/etc/pam.d/sshd"))
    done = image.run("disable", status=0)
    contains(done.stderr, f"{TOP}: was changed since", "/etc/pam.d/sshd: was changed since")
    equal(image.read(TOP), WITHOUT_INCLUDE + "PrintMotd no\n")
    equal(stat.S_IMODE(image.path(TOP).stat().st_mode), 0o600)
    equal(image.read("/etc/pam.d/sshd"), "# on top\n" + STOCK_STACK)


def test_lines_that_were_added_to_keyvetos_own_file_stay_in_it(scratch):
    image = Image(scratch)
    image.run("enable", status=0)
    image.write(DROP_IN, image.read(DROP_IN) + "PrintMotd no\n")
    contains(image.run("disable", status=0).stderr, f"{DROP_IN}: has other lines")
    equal(image.read(DROP_IN), "PrintMotd no\n")


def test_lines_that_were_added_between_keyvetos_marks_stay(scratch):
    """They still have their effect."""
    image = Image(scratch, INCLUDE)
    image.run("enable", "--warn", status=0)
    conf = "/etc/keyveto/keyveto.conf"
    kept = {DROP_IN: "AllowUsers root\n", "/etc/pam.d/sshd": "account required pam_access.so\n",
            conf: f"AllowKey SHA256:{'A' * 43} until=2999-01-01 mine\n"}
    for path, line in kept.items():
        image.write(path, image.read(path).replace("# END keyveto", f"{line}# END keyveto"))
    for words, before in ((("enable",), True), (("enable", "--warn"), True), (("disable",), False)):
        image.run(*words, status=0)
        equal(image.settings()["allowusers"], "root")
        for path, line in kept.items():
            contains(re.sub("(?ms)^# BEGIN keyveto.*?^# END keyveto\n", "", image.read(path)), line)
            equal("# BEGIN keyveto" in image.read(path), before and (path != conf or "--warn" in words))


def test_disable_refuses_if_authorizedkeysfile_none_would_stay_alone(scratch):
    """The line was moved out of keyveto's marks. Without the guard it would lock everybody out."""
    none = "AuthorizedKeysFile none\n"
    image = Image(scratch, INCLUDE)
    for options in ((), ("--warn",)):
        image.run("enable", *options, status=0)
        drop_in, top = image.read(DROP_IN), image.read(TOP)
        for place, text in ((DROP_IN, none + drop_in.replace(none, "")), (TOP, top + none)):
            image.write(place, text)
            snapshot = image.snapshot()
            for words in (("disable",), ("enable",), ("enable", "--pam")):
                contains(image.run(*words, status=2).stderr, f"{place}: AuthorizedKeysFile is none here",
                         "nothing was changed")
                restored(snapshot, image.snapshot())
            image.write(TOP, top)
            image.write(DROP_IN, drop_in)
        image.run("disable", status=0)
    # If sshd takes no keys anyway, disable goes on.
    image.write(TOP, INCLUDE + none)
    image.run("enable", "--pam", status=0)
    image.run("disable", status=0)


def test_disable_works_if_files_or_blocks_were_removed_by_hand(scratch):
    image = Image(scratch)
    image.run("enable", status=0)
    image.path(DROP_IN).unlink()
    image.write("/etc/pam.d/sshd", STOCK_STACK)
    image.run("status", status=1)
    contains(image.run("disable", status=0).stderr, "/etc/pam.d/sshd: keyveto's lines were not in it any more")
    equal(image.run("disable", status=0).stdout, "no keyveto lines found\n")


def test_disable_says_what_it_did_to_each_file(scratch):
    image = Image(scratch)
    image.run("enable", "--warn", status=0)
    files = (DROP_IN, "/etc/pam.d/sshd", "/etc/keyveto/keyveto.conf")
    mine = "AllowKey SHA256:" + "A" * 43 + " mine\n"
    image.write(files[2], image.read(files[2]).replace("# END keyveto", f"{mine}# END keyveto"))
    # What stands between the marks, but for the line that stays.
    blocks = {path: re.search("(?ms)^# BEGIN keyveto[^\n]*\n(.*?)^# END keyveto", image.read(path))[1]
              for path in files}
    said = image.run("disable", status=0).stdout
    equal(said.splitlines()[-1], "what keyveto enable wrote guards sshd no more: listed keys get in, unless other "
          "lines refuse them")
    for path, text in blocks.items():
        taken = "".join(f"  {line}\n" for line in text.replace(mine, "").splitlines())
        contains(said, f"{path}: " + ("removed" if path == DROP_IN else "keyveto's lines taken out") +
                 f"\n{taken}")
    lacks(said, "AllowKey")
    contains(said, "  AuthorizedKeysCommand ", "  session requisite pam_keyveto.so\n", "  OnHit warn\n")


def test_without_the_kept_state_disable_works_by_the_marks(scratch):
    image = Image(scratch)
    snapshot = image.snapshot()
    image.run("enable", status=0)
    shutil.rmtree(image.path("/var/lib/keyveto/sshd-state"))
    image.way_back(snapshot)


def test_the_kept_files_are_the_former_ones_and_only_root_can_read_them(scratch):
    image = Image(scratch, WITHOUT_INCLUDE)
    os.chown(image.path(TOP), 0, 4)
    image.path(TOP).chmod(0o640)
    image.run("enable", "--warn", status=0)
    state = image.path("/var/lib/keyveto/sshd-state")
    equal((state.stat().st_uid, stat.S_IMODE(state.stat().st_mode)), (0, 0o700))
    kept = {one["path"]: one for one in json.loads((state / "manifest.json").read_text(encoding="utf-8"))["files"]}
    equal(set(kept), {TOP, "/etc/pam.d/sshd", "/etc/keyveto/keyveto.conf"})
    equal((state / kept[TOP]["bytes"]).read_text(encoding="utf-8"), WITHOUT_INCLUDE)
    equal([kept[TOP][name] for name in ("mode", "uid", "gid")], [0o640, 0, 4])
    (state / "manifest.json").write_text("{", encoding="ascii")
    contains(image.run("disable", status=2).stderr, "manifest.json: damaged")


def test_guard_and_module_can_be_enabled_one_after_the_other(scratch):
    image = Image(scratch)
    snapshot = image.snapshot()
    image.run("enable", "--guard", status=0)
    equal(image.first_session_line(), "@include common-auth")
    image.run("enable", "--pam", status=0)
    equal(image.first_session_line(), "session requisite pam_keyveto.so")
    equal(image.settings()["authorizedkeyscommand"], by_files(DEFAULT_FILES))
    image.way_back(snapshot)


def test_enable_notes_a_keyveto_conf_that_only_warns(scratch):
    """The line is not one of keyveto's own."""
    image = Image(scratch)
    conf = image.read("/etc/keyveto/keyveto.conf")
    lacks(image.run("enable", status=0).stderr, "OnHit")
    image.write("/etc/keyveto/keyveto.conf", conf + "OnHit warn\n")
    contains(image.run("enable", status=0).stderr, "/etc/keyveto/keyveto.conf says OnHit warn: listed keys are let in")
    lacks(image.run("enable", "--warn", status=0).stderr, "says OnHit")
    image.run("disable", status=0)


def test_lines_that_were_written_by_hand_stay(scratch):
    image = Image(scratch, INCLUDE + f"AuthorizedKeysFile none\nAuthorizedKeysCommand {FILES_COMMAND}\n"
                  "AuthorizedKeysCommandUser root\n")
    image.write("/etc/pam.d/sshd", "session requisite pam_keyveto.so\n" + STOCK_STACK)
    snapshot = image.snapshot()
    image.run("status", status=0)
    contains(image.run("enable", status=0).stderr, "is the guard already", "is its first session line already")
    equal(image.settings()["authorizedkeyscommand"], FILES_COMMAND)
    image.way_back(snapshot)


def test_without_sshd_or_sshd_config_disable_takes_out_what_is_left(scratch):
    """And everything is as before once sshd is installed again."""
    blocks = "/etc/ssh/more/x.conf"
    for config, more in ((INCLUDE, None), (WITHOUT_INCLUDE, None),
                         (INCLUDE, "Match User nobody\nAuthorizedKeysFile .ssh/n\n")):
        image = Image(scratch, config)
        if more:
            image.write(blocks, more)
            image.write(TOP, config + f"Include {blocks}\n")
        stock, snapshot = {TOP: image.read(TOP), "/etc/pam.d/sshd": STOCK_STACK}, image.snapshot()
        for top, program in ((True, False), (False, True), (False, False)):
            image.run("enable", "--warn", status=0)
            if not top:
                for path in stock:
                    image.path(path).unlink()
            words = () if program else ("--sshd", "/nowhere/sshd")
            planned = image.run("disable", "--dry-run", *words, status=0).stdout.split()
            assert all("# BEGIN keyveto" in image.path(path).read_text() for path in planned)
            done = image.run("disable", *words, status=0)
            equal("/nowhere/sshd: not there" in done.stderr, not program, done.stderr)
            equal(f"{TOP}: is not there any more: keyveto does not put it back" in done.stderr,
                  not top and config == WITHOUT_INCLUDE, done.stderr)
            assert not image.path("/var/lib/keyveto/sshd-state").exists()
            equal([path for path in stock if image.path(path).exists()], list(stock) if top else [])
            if not top:
                for path, text in stock.items():
                    image.write(path, text)
            restored(snapshot, image.snapshot())
        shutil.rmtree(image.root)


def test_without_sshd_config_and_kept_state_disable_works_by_the_drop_ins(scratch):
    image = Image(scratch)
    image.write("/etc/ssh/sshd_config.d/50-mine.conf", "Match User nobody\nAuthorizedKeysFile .ssh/n\n")
    snapshot = image.snapshot()
    image.run("enable", status=0)
    contains(image.read("/etc/ssh/sshd_config.d/50-mine.conf"), "# BEGIN keyveto")
    shutil.rmtree(image.path("/var/lib/keyveto/sshd-state"))
    image.path(TOP).unlink()
    # Only disable works without it.
    contains(image.run("enable", status=2).stderr, f"{TOP}: No such file or directory")
    image.run("disable", status=0)
    image.write(TOP, INCLUDE)
    restored(snapshot, image.snapshot())


def test_without_sshd_disable_refuses_if_authorizedkeysfile_none_would_stay_alone(scratch):
    """Whoever installs sshd again would not get in."""
    none = "AuthorizedKeysFile none\n"
    image = Image(scratch, INCLUDE)
    image.run("enable", status=0)
    image.write(DROP_IN, none + image.read(DROP_IN).replace(none, ""))
    for lost in (False, True):
        if lost:
            image.path(TOP).unlink()
        snapshot = image.snapshot()
        contains(image.run("disable", "--sshd", "/nowhere/sshd", status=2).stderr,
                 f"{DROP_IN}: AuthorizedKeysFile is none here", "nothing was changed")
        restored(snapshot, image.snapshot())
    image.write(DROP_IN, image.read(DROP_IN).removeprefix(none))
    image.run("disable", "--sshd", "/nowhere/sshd", status=0)
    assert not image.path(DROP_IN).exists()


def test_disable_reloads_no_sshd_that_would_end(scratch):
    """Without its program or its file, sshd cannot read its configuration again."""
    pid_file = scratch / "pid"
    for lost in (TOP, SSHD):
        with this_machine(scratch / lost.strip("/"), config=INCLUDE + f"PidFile {pid_file}\n") as machine:
            snapshot = machine.snapshot()
            machine.run("enable", status=0)
            kept = scratch / "kept"
            with subprocess.Popen([SSHD, "-D", "-h", host_key(), "-p", "2201", "-o", "ListenAddress=127.0.0.1"],
                                  stderr=subprocess.DEVNULL) as process:
                wait_until(pid_file.exists, "sshd listens")
                shutil.copy2(lost, kept)
                os.unlink(lost)
                try:
                    done = machine.run("disable", "--reload", status=2)
                    contains(done.stderr, f"{lost}: not there: a reload would end the sshd that runs here",
                             "PAM's lines and those in keyveto.conf stay for now")
                    equal(machine.first_session_line(), MODULE_LINE)
                    assert process.poll() is None
                    process.terminate()
                    process.wait(timeout=PATIENCE)
                    contains(machine.run("disable", "--reload", status=0).stderr,
                             f"{lost}: not there, and no sshd runs: there is nothing to reload")
                finally:
                    shutil.move(kept, lost)
                    process.kill()
            restored(snapshot, machine.snapshot())


def without_marks(text):
    return "".join(line for line in text.splitlines(keepends=True) if not re.match("# (BEGIN|END) keyveto", line))


def test_disable_refuses_if_a_module_would_refuse_what_was_only_logged(scratch):
    """The module stays by a line that is not keyveto's. OnHit warn would go with keyveto's lines."""
    image = Image(scratch)
    image.run("enable", "--pam", "--warn", status=0)
    stack, line = image.read("/etc/pam.d/sshd"), MODULE_LINE + ALONE
    for text, place in ((f"{line}\n" + stack.replace(f"{line}\n", ""), 1),
                        (stack + "account required /lib/security/pam_keyveto.so\n", len(stack.splitlines()) + 1)):
        image.write("/etc/pam.d/sshd", text)
        snapshot = image.snapshot()
        done = image.run("disable", status=2)
        contains(done.stderr, f"/etc/pam.d/sshd:{place}: pam_keyveto.so stays", "refuse the keys that are only logged",
                 "nothing was changed")
        restored(snapshot, image.snapshot())
    # A module with another keyveto.conf is no reason to refuse.
    image.write("/etc/pam.d/sshd", stack + "account required pam_keyveto.so config=/etc/other.conf\n")
    done = image.run("disable", status=0)
    contains(done.stderr,
             f"note: /etc/pam.d/sshd:{len(STOCK_STACK.splitlines()) + 1}: pam_keyveto.so stays")
    lacks(image.read("/etc/keyveto/keyveto.conf"), "\nOnHit warn\n")


@pytest.mark.parametrize("how", ("link", "folder"))
def test_a_link_that_root_does_not_follow_stops_disable_before_it_begins(scratch, how):
    """Whoever owns the link, or may write its folder, says where it leads."""
    image = Image(scratch)
    image.run("enable", status=0)
    stack = image.path("/etc/pam.d/sshd")
    shutil.move(stack, f"{stack}.real")
    stack.symlink_to("sshd.real")
    if how == "link":
        os.chown(stack, 1000, 1000, follow_symlinks=False)
    else:
        stack.parent.chmod(0o775)
    before = image.snapshot()
    contains(image.run("disable", status=2).stderr, "/etc/pam.d/sshd", "nothing was changed: make each such file",
             "chown -h root the link and chmod go-w its folder, and run this again")
    restored(before, image.snapshot())
    os.chown(stack, 0, 0, follow_symlinks=False)
    stack.parent.chmod(0o755)
    image.run("disable", status=0)
    lacks(image.read("/etc/pam.d/sshd"), "keyveto")


def test_disable_sees_the_module_in_other_services_too(scratch):
    """A service that is a link to keyveto's file does not count."""
    image = Image(scratch)
    image.path("/etc/pam.d/alias").symlink_to("sshd")
    snapshot = image.snapshot()
    image.run("enable", "--pam", "--warn", status=0)
    equal(image.run("disable", status=0).stderr, "")
    restored(snapshot, image.snapshot())
    image.write("/etc/pam.d/shared", "session required pam_permit.so\n")
    for service in ("sshd2", "sshd3"):
        image.write(f"/etc/pam.d/{service}", "session include shared\n")
    for options, status in (("--warn",), 2), ((), 0):
        image.run("enable", "--pam", *options, status=0)
        image.write("/etc/pam.d/shared", "session required pam_permit.so\nsession requisite pam_keyveto.so\n")
        snapshot = image.snapshot()
        said = image.run("disable", status=status).stderr
        equal(said.count("/etc/pam.d/shared:2: pam_keyveto.so stays"), 1, said)
        if status == 2:
            restored(snapshot, image.snapshot())
    equal(image.read("/etc/pam.d/sshd"), STOCK_STACK)


def test_the_advice_for_a_module_that_stays_keeps_its_behaviour(scratch):
    """The advice is to move OnHit warn out of keyveto's marks."""
    image = Image(scratch)
    image.run("enable", "--pam", "--warn", status=0)
    image.write("/etc/pam.d/sshd", without_marks(image.read("/etc/pam.d/sshd")))
    image.run("disable", status=2)
    conf = without_marks(image.read("/etc/keyveto/keyveto.conf"))
    image.write("/etc/keyveto/keyveto.conf", conf)
    contains(image.run("disable", status=0).stderr, "note: ", "/etc/pam.d/sshd:1: pam_keyveto.so stays")
    contains("\n" + conf, "\nOnHit warn\n")
    equal(image.read("/etc/keyveto/keyveto.conf"), conf)
    # While keyveto enforces, disable changes nothing for a module that stays.
    image.write("/etc/keyveto/keyveto.conf", (ROOT / "etc/keyveto.conf").read_bytes())
    image.write("/etc/pam.d/sshd", STOCK_STACK)
    image.run("enable", "--pam", status=0)
    image.write("/etc/pam.d/sshd", without_marks(image.read("/etc/pam.d/sshd")))
    contains(image.run("disable", status=0).stderr, "/etc/pam.d/sshd:1: pam_keyveto.so stays")


def test_disable_refuses_if_a_guard_would_refuse_what_was_only_logged(scratch):
    """The guard stays by a line that is not keyveto's."""
    image = Image(scratch, INCLUDE + "AuthorizedKeysFile .ssh/k\n")
    image.run("enable", "--guard", "--warn", status=0)
    image.write(DROP_IN, without_marks(image.read(DROP_IN)))
    snapshot = image.snapshot()
    done = image.run("disable", status=2)
    contains(done.stderr, f"{DROP_IN}:2: the guard stays", "refuse the keys that are only logged",
             "nothing was changed")
    restored(snapshot, image.snapshot())
    conf = without_marks(image.read("/etc/keyveto/keyveto.conf"))
    image.write("/etc/keyveto/keyveto.conf", conf)
    contains(image.run("disable", status=0).stderr, f"{DROP_IN}:2: the guard stays")
    equal(image.read("/etc/keyveto/keyveto.conf"), conf)


def test_disable_refuses_if_a_guard_would_print_other_files(scratch):
    """The first builds wrote AuthorizedKeysFile into keyveto.conf."""
    image = Image(scratch)
    image.run("enable", "--guard", "--warn", status=0)
    image.write(DROP_IN, without_marks(image.read(DROP_IN)))
    conf = image.read("/etc/keyveto/keyveto.conf").replace("# END keyveto", "AuthorizedKeysFile .ssh/k\n# END keyveto")
    image.write("/etc/keyveto/keyveto.conf", conf + "OnHit warn\nOnError allow\n")
    contains(image.run("disable", status=2).stderr, f"{DROP_IN}:2: the guard stays", "would hand out other keys")
    image.write("/etc/keyveto/keyveto.conf",
                conf.replace("AuthorizedKeysFile .ssh/k", "OnHit warn") + "OnHit warn\nOnError allow\n")
    image.run("disable", status=0)


# What sshd and libpam read as an empty file.
MASKS = {"null": lambda path: path.symlink_to("/dev/null"), "folder": lambda path: path.mkdir(),
         "link-to-folder": lambda path: path.symlink_to("/usr")}


@pytest.mark.parametrize("mask", MASKS)
def test_a_masked_file_is_an_empty_one(scratch, mask):
    """In sshd_config.d, and as an @include of PAM's; there before enable, and made after it."""
    def put():
        for path in masked:
            MASKS[mask](machine.path(path))

    masked = ("/etc/ssh/sshd_config.d/50-cloud-init.conf", "/etc/pam.d/masked")
    with this_machine(scratch, config=INCLUDE) as machine:
        machine.write("/etc/pam.d/sshd", STOCK_STACK + "@include masked\n")
        for early in (True, False):
            if early:
                put()
            else:
                machine.write(masked[1], "")
            snapshot = machine.snapshot()
            for _ in range(2):
                machine.run("enable", status=0)
            if not early:
                machine.path(masked[1]).unlink()
                put()
            machine.must_start()
            equal(machine.run("status", status=0).stderr, "")
            lacks(keyveto("audit", "--filter", "/var/lib/keyveto/filter.pkbf").stderr, "masked", "50-cloud-init")
            equal(machine.run("disable", status=0).stderr, "")
            for path in masked:
                (os.rmdir if mask == "folder" else os.unlink)(machine.path(path))
                if path == masked[1] and not early:
                    machine.write(path, "")
            restored({path: one for path, one in snapshot.items() if path not in masked},
                     {path: one for path, one in machine.snapshot().items() if path not in masked})
            machine.path(masked[1]).unlink(missing_ok=True)


@pytest.mark.parametrize("mask", MASKS)
def test_a_file_of_keyvetos_that_is_masked_stops_enable_and_not_disable(scratch, mask):
    with this_machine(scratch, config=INCLUDE) as machine:
        for path, words in (DROP_IN, ()), ("/etc/pam.d/sshd", ("--pam",)):
            machine.run("enable", status=0)
            machine.path(path).unlink()
            MASKS[mask](machine.path(path))
            machine.must_start()
            machine.run("disable", status=0)
            assert not machine.path("/var/lib/keyveto/sshd-state").exists()
            snapshot = machine.snapshot()
            machine.run("enable", *words, status=2)
            restored(snapshot, machine.snapshot())
            (os.rmdir if mask == "folder" else os.unlink)(machine.path(path))
            if path != DROP_IN:
                machine.write(path, STOCK_STACK)


def odd_parts():
    """What makes a part of sshd's configuration that keyveto cannot follow, by its name."""
    odd = "/etc/ssh/sshd_config.d/50-odd.conf"

    def deep(image):
        for number in range(20):
            image.write(f"/etc/ssh/deep{number}", f"Include /etc/ssh/deep{number + 1}\n")
        image.write(odd, "Include /etc/ssh/deep0\n")

    def bound(image):
        with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(image.path(odd).parent):
            one.bind(image.path(odd).name)
    return {
        "fifo": lambda image: os.mkfifo(image.path(odd)),
        "socket": bound,
        "dangling": lambda image: image.path(odd).symlink_to("nowhere"),
        "loop": lambda image: image.path(odd).symlink_to(image.path(odd).name),
        "tilde": lambda image: image.write(odd, "Include ~/none\n"),
        "deep": deep,
        "large": lambda image: image.write(odd, "# x\n" * (2 << 20)),
        "many": lambda image: [image.write(f"/etc/ssh/sshd_config.d/50-{n}.conf", "#\n") for n in range(1100)],
    }


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", odd_parts())
def test_disable_is_the_way_back_whatever_else_stands_there(scratch, name):
    """enable stops there, and changes nothing. Where sshd cannot be asked, disable says so."""
    image = Image(scratch, WITHOUT_INCLUDE + "Match User nobody\nAuthorizedKeysFile .ssh/n\nMatch all\n" + INCLUDE)
    snapshot = image.snapshot()
    image.run("enable", "--warn", status=0)
    odd_parts()[name](image)
    contains(image.run("enable", "--warn", status=2).stderr, "/etc/ssh/")
    done = image.run("disable", status=0)
    contains(done.stderr, "sshd cannot be asked what it would do without keyveto's lines")
    restored(snapshot, {path: one for path, one in image.snapshot().items() if path in snapshot or
                        not re.search(r"/sshd_config\.d/50-|/deep", path)})
    equal(image.run("disable", status=0).stdout, "no keyveto lines found\n")


def test_disable_says_that_ssh_keygen_fails(scratch):
    """sshd cannot be asked without a host key, and the machine has none."""
    image = Image(scratch)
    image.path(HOST_KEY).unlink()
    before = image.snapshot()
    image.run("enable", "--guard", status=0)
    keygen = write(image.scratch / "ssh-keygen", "#!/bin/sh\nexit 1\n", mode=0o755)
    subprocess.run(["mount", "--bind", keygen, "/usr/bin/ssh-keygen"], check=True)
    try:
        done = image.run("disable", status=0)
    finally:
        subprocess.run(["umount", "/usr/bin/ssh-keygen"], check=True)
    contains(done.stderr, "warning: ssh-keygen cannot make a host key")
    restored(before, image.snapshot())
