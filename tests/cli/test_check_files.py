# SPDX-License-Identifier: ISC
"""keyveto check: directories, FIFOs, missing and unreadable files."""

import os
import random
import re
import shutil
import socket
import stat
import subprocess
import threading

import pytest
import sshkey
from check_runs import check, check_all, objects, only
from program import KEYVETO, TRACED, attempt, contains, copy_programs, equal, mount_namespace
from runs import as_nobody, findings, problems, tool
from samples import empty_filter, listing, made, write


def test_a_directory_is_walked_and_hidden_files_are_read(scratch):
    """Links, FIFOs and sockets in a directory are passed over."""
    home, elsewhere = scratch / "home", scratch / "elsewhere"
    keys = [made()[name] for name in ("ed25519", "rsa", "p256", "p384")]
    names = (".ssh/authorized_keys", ".ssh/known_hosts", "a/b/c/.d/key.pub", "id_ecdsa")
    write(home / ".ssh" / "authorized_keys", keys[0].line, "\n")
    write(home / ".ssh" / "known_hosts", f"host {keys[1].plain}\n")
    write(home / "a" / "b" / "c" / ".d" / "key.pub", keys[2].line)
    shutil.copy(keys[3].path, home / "id_ecdsa")
    (home / "empty").mkdir()
    write(elsewhere / "secret.pub", made()["other"].line, "\n")
    (home / "link.pub").symlink_to(elsewhere / "secret.pub")
    (home / "linked").symlink_to(elsewhere)
    (home / "loop").symlink_to(home)
    (home / "dangling").symlink_to("nowhere")
    os.mkfifo(home / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(home / "socket"))
        for root in (f"{home}", f"{home}/"):
            result = check("--all", root, status=0)
            seen = sorted(re.match(r"(\S+): clean: \S+ \d+ (\S+)", line).groups() for line in result.lines)
            equal(seen, sorted((f"{home}/{name}:1", key.fingerprint) for name, key in zip(names, keys)), root)
            equal((result.problems, result.summary["files"]), ([], 4), root)
    # A link given as an argument is followed, to a file and to a directory.
    for name, label in (("link.pub", "link.pub"), ("linked", "linked/secret.pub")):
        contains(check("--all", home / name, status=0).out.decode(), f"{home}/{label}:1: clean: ")


# Files of home directories that hold no key.
NO_KEYS = {
    "text": b"Dear Sir,\nthis is \"a letter.\n-----\n@home\n",
    "numbers": b"2024 11 20 backup done\n1 2 3\n12 34 56 78\n",
    "table": b"a,b,c\n1,2,3\n1 2 3\n4 5 6\n",
    "config": b"Host *\n  HostKeyAlgorithms ssh-rsa\n  PubkeyAcceptedAlgorithms +ssh-rsa,ssh-dss\n  Port 22\n",
    "random": random.Random(5).randbytes(3 << 20),
    "html": b"<html><body class=\"x y\">&nbsp;</body></html>\n",
    "script": b"#!/bin/sh\nset -eu\necho \"$@\" 'x\n",
    "empty": b"", "newline": b"\n",
}


def test_files_without_keys_are_silent_in_a_directory(scratch):
    for name, data in NO_KEYS.items():
        write(scratch / name / "file", data)
        result = check("--all", scratch / name)
        equal((result.status, result.out, result.problems), (0, b"", []), name)
        equal((result.summary["keys"], result.summary["files"]), (0, 1), name)


def test_prose_that_names_key_types_is_silent_in_a_directory(scratch):
    write(scratch / "walked" / "README", "ssh-rsa is old\nuse ssh-ed25519 keys instead\nThe ssh-dss type is gone.\n")
    result = check("--all", scratch / "walked")
    equal((result.status, result.problems), (0, []), "README")
    # A line with a broken key must still be reported.
    for line in (f"ssh-ed25519 {made()['ed25519'].base64[:-3]}", f"no-pty ssh-rsa {made()['rsa'].base64[:200]}"):
        write(scratch / "walked" / "README", line, "\n")
        check("--all", scratch / "walked", status=2)


def test_a_large_file_of_zeros_is_silent_in_a_directory(scratch):
    # A line ends at its first NUL, so this long line is empty.
    write(scratch / "walked" / "image", bytes(3 << 20))
    result = check("--all", scratch / "walked")
    equal((result.status, result.problems), (0, []), "image")


def test_broken_keys_in_a_directory_are_reported(scratch):
    ed = made()["ed25519"]
    path = write(scratch / "walked" / "file", f"{ed.line}\nssh-rsa {ed.base64}\nssh-ed25519 {ed.base64[:-2]}\n",
                 f"2048 35 {2**2047 + 1}\n", sshkey.key_line(sshkey.build_plain("ssh-new", b"")), "\n")
    result = check("--all", scratch / "walked", status=2)
    equal([number for number, _ in problems(result, path)], [2, 3, 4, 5], "problems")
    equal([one.line for one in findings(result, path)], [1], "keys")


def test_directories_too_deep_or_files_gone_do_not_end_the_walk(scratch):
    deep = scratch / "walked"
    for _ in range(80):
        deep = deep / "d"
    write(deep / "key.pub", made()["ed25519"].line)
    write(scratch / "walked" / "z.pub", made()["rsa"].line)
    result = check("--all", scratch / "walked", status=2)
    contains(result.out.decode(), made()["rsa"].fingerprint)
    equal(len(result.problems), 1, f"problems {result.problems}")


def check_as_nobody(program, *words):
    """Runs keyveto check without privileges: (status, standard output, standard error)."""
    done = attempt(*as_nobody(str(program), "check", *map(str, words)), text=False)
    return done.returncode, done.stdout.decode("ascii"), done.stderr.decode("ascii")


def test_files_and_directories_that_may_not_be_read_are_problems(scratch):
    program, home = copy_programs(scratch), scratch / "home"
    bad = listing(scratch / "bad.pkbf", made()["ed25519"])
    write(home / "open.pub", made()["ed25519"].line)
    write(home / "secret" / "key.pub", made()["rsa"].line)
    closed = write(home / "closed.pub", made()["p256"].line)
    closed.chmod(0)
    (home / "secret").chmod(0)
    try:
        status, out, err = check_as_nobody(program, "--filter", bad, home)
        equal(status, 1, err)
        contains(out, f"{home}/open.pub:1: listed: ")
        contains(err, f"keyveto: {home}/closed.pub: Permission denied\n",
                 f"keyveto: {home}/secret: Permission denied\n", "2 problems\n")
        for path in (closed, home / "secret", home / "secret" / "key.pub"):
            status, out, err = check_as_nobody(program, "--filter", bad, path)
            equal((status, out), (2, ""), f"{path}: {err}")
            contains(err, f"keyveto: {path}: Permission denied\n")
        status, _, err = check_as_nobody(program, "--filter", closed, home / "open.pub")
        equal(status, 2, err)
        contains(err, str(closed), "Permission denied")
    finally:
        (home / "secret").chmod(0o755)


def test_a_missing_file_is_a_problem_and_the_others_are_checked(scratch):
    ed = made()["ed25519"]
    bad = listing(scratch / "bad.pkbf", ed)
    good = write(scratch / "good", ed.line)
    result = check(scratch / "missing", good, "", scratch / "good" / "x", filters=[bad], status=1)
    equal(len(result.lines), 1, "findings")
    equal(result.problems, [f"{scratch}/missing: No such file or directory", ": No such file or directory",
                            f"{scratch}/good/x: Not a directory"], "problems")
    check(scratch / "missing", status=2)
    row, = objects(check("--json", scratch / "missing", status=2))
    equal((row["file"], row["line"], row["verdict"], row["reason"]),
          (f"{scratch}/missing", 0, "error", "No such file or directory"), "JSON")


def test_a_fifo_that_is_named_is_read(scratch):
    os.mkfifo(scratch / "fifo")
    threading.Thread(target=write, args=(scratch / "fifo", made()["ed25519"].line, "\n"), daemon=True).start()
    equal(only(check_all(scratch / "fifo", status=0)[0], "fifo").fingerprint, made()["ed25519"].fingerprint, "key")


def test_findings_of_a_directory_come_in_the_order_of_the_names(scratch):
    """Byte by byte, whatever the order in which the system lists them."""
    rnd = random.Random(3)
    names = sorted({rnd.choice("abzAZ.-_ é0") * rnd.randrange(1, 4) + str(rnd.randrange(100)) for _ in range(60)})
    paths = [scratch / "d" / name for name in names]
    paths += [scratch / "d" / f"sub{n}" / name for n in range(3) for name in names[:9]]
    for path in rnd.sample(paths, len(paths)):
        write(path, f"{made()['ed25519'].line}\n" * rnd.choice((1, 3)))

    def walk(folder):
        for name in sorted(os.listdir(os.fsencode(folder))):
            path = os.path.join(os.fsencode(folder), name)
            if os.path.isdir(path):
                yield from walk(path)
            else:
                yield path

    wanted = list(walk(scratch / "d"))
    seen = []
    for row in objects(check("--all", "--json", scratch / "d", status=0)):
        if not seen or seen[-1] != row["file"]:
            seen.append(row["file"])
    equal(seen, [path.decode() for path in wanted], "order")


def kernel_file_systems():
    """The mount points of this machine's file systems that the kernel makes up."""
    kinds = ("proc", "sysfs", "cgroup", "cgroup2", "devpts", "mqueue", "debugfs", "tracefs", "securityfs", "bpf",
             "pstore")
    with open("/proc/self/mounts", encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return {kind: place for _, place, kind, *_ in reversed(rows) if kind in kinds and os.path.isdir(place)}


def test_file_systems_of_the_kernel_are_left_out(scratch):
    found = kernel_file_systems()
    assert "proc" in found, found
    for kind, place in found.items():
        result = check(place)
        equal((result.status, result.out, result.problems),
              (2, b"", [f"{place}: a file system of the kernel ({kind}): not searched"]), kind)
    link = scratch / "link"
    link.symlink_to("/proc/self")
    equal(check(link, status=2).problems, [f"{link}: a file system of the kernel (proc): not searched"], "link")
    # A file there that is named is read.
    check("/proc/self/status", status=2)


def test_file_systems_of_the_kernel_are_left_out_of_a_walk(scratch):
    write(scratch / "d" / "key.pub", made()["ed25519"].line, "\n")
    (scratch / "d" / "proc").mkdir()
    done = attempt(*mount_namespace(), "sh", "-c", 'mount --rbind /proc "$1/proc" && shift && exec "$@"', "sh",
                   scratch / "d", KEYVETO, "check", "--all", "--filter", empty_filter(), scratch / "d", text=False)
    equal((done.returncode, done.stderr), (0, b"keyveto: 1 key in 1 file: 0 listed, 1 clean\n"), "walk")


@pytest.mark.long
def test_fifos_sockets_and_devices_that_are_named_end_with_a_problem(scratch):
    os.mkfifo(scratch / "fifo")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(scratch / "socket"))
        for path, reason in ((scratch / "fifo", "nobody writes to this FIFO"),
                             (scratch / "socket", "a socket, not a file"),
                             ("/dev/zero", "a device, not a file"), ("/dev/urandom", "a device, not a file"),
                             ("/dev/full", "a device, not a file")):
            result = check("--all", path, status=2)
            equal((result.out, result.problems), (b"", [f"{path}: {reason}"]), path)
    check("--all", "/dev/null", status=0)
    with open("/dev/zero", "rb") as zero:
        done = attempt(KEYVETO, "check", "--filter", empty_filter(), "-", text=False, stdin=zero)
    equal((done.returncode, b"-: a device, not a file" in done.stderr), (2, True), "/dev/zero as standard input")


@pytest.mark.long
def test_an_endless_stream_without_a_key_ends():
    for words, much in ((["yes", "no key here"], "8 million lines"), (["cat", "/dev/zero"], "2 GiB")):
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as endless:
            done = attempt(KEYVETO, "check", "--filter", empty_filter(), "-", text=False, stdin=endless.stdout)
            endless.stdout.close()
        equal(done.returncode, 2, words)
        contains(done.stderr.decode(), f"keyveto: -: no key in {much} of it; the rest was not read\n")


def test_a_file_of_the_kernel_that_has_no_end_ends(scratch):
    """/proc/kmsg waits for the next message."""
    if os.access("/proc/kmsg", os.R_OK):
        result = check("/proc/kmsg")
        equal((result.status, result.out), (2, b""), "kmsg")


def test_a_device_in_a_directory_is_not_even_opened(scratch):
    """Opening a device can do something: that of a watchdog starts it."""
    write(scratch / "d" / "key.pub", made()["ed25519"].line, "\n")
    os.mkfifo(scratch / "d" / "fifo")
    try:
        os.mknod(scratch / "d" / "null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pass                    # in most containers; the FIFO remains
    trace = scratch / "trace"
    tool("strace", "-f", "-e", "trace=openat,openat2", "-o", trace, KEYVETO, "check", "--filter", empty_filter(),
         scratch / "d", env=TRACED)
    opened = re.findall(r'openat2?\(\d+, "([^"]*)"', trace.read_text(encoding="utf-8"))
    assert "key.pub" in opened and "fifo" not in opened and "null" not in opened, opened


# Text that a Debian system has in /etc, by the packages that put it there.
ETC = {
    "ssh/moduli": "#    $OpenBSD$\n# Time Type Tests Tries Size Generator Modulus\n"
                  f"20230317021000 2 6 100 2047 2 {(1 << 2047) + 5:X}\n"
                  f"20230317021000 2 6 100 1535 5 {(1 << 1535) + 9:x}\n",
    "unbound/root.key": ". 172800 IN DNSKEY 257 3 8 AwEAAaz/tAm8yTn4Mfeh5eyI96WSVexTBAvkMgJzkKTOiW1vkIbzxeF3\n",
    "bind/db.root": "example.org. 3600 IN DNSKEY 257 3 8 (\n    257 3 8\n"
                    "    AwEAAaz/tAm8yTn4Mfeh5eyI96WSVexTBAvkMgJz )\n",
    "protocols": "ip 0 IP\nicmp 1 ICMP\n1 2 3\n7 3 100\n",
    "postfix/main.cf": "smtpd_tls_cert_file=/etc/ssl/certs/ssl-cert-snakeoil.pem\n"
                       "mydestination = $myhostname, localhost\n",
    "apt/apt.conf.d/50unattended-upgrades": '// "origin=Debian,codename=${distro_codename}";\n'
                                            'Unattended-Upgrade {\n  "x";\n};\n',
    "ssh/ssh_config": "Include /etc/ssh/ssh_config.d/*.conf\nHost *\n#   IdentityFile ~/.ssh/id_rsa\n"
                      "    HashKnownHosts yes\n",
}


def test_the_etc_of_debian_has_no_problems(scratch):
    for name, text in ETC.items():
        write(scratch / "etc" / name, text)
    (scratch / "etc" / "apt" / "trusted.gpg.d").mkdir(parents=True)
    write(scratch / "etc" / "apt" / "trusted.gpg.d" / "debian.asc",
          "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINBF\n=aBcD\n",
          "-----END PGP PUBLIC KEY BLOCK-----\n")
    result = check("--all", scratch / "etc", status=0)
    equal((result.problems, result.summary["keys"]), ([], 0), "problems")
    for name in ("ssh/moduli", "unbound/root.key", "protocols"):
        path = scratch / "etc" / name
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")]
        reason = f"{path}: no key in this file" if len(lines) > 1 else f"{path}:{1}: no key on this line"
        equal(check(path, status=2).problems, [reason], name)
