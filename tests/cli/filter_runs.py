# SPDX-License-Identifier: ISC
"""Runs of keyveto filter, with the filters and keys that they use."""

import json
import os
import subprocess
import sys

import nosecret
import pkbf
import sshkey
from program import ADDRESS_SANITIZER, KEYVETO, PATIENCE, check, equal, mount_namespace

EPOCH = 1555799917

PUBLISHED = """\
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQCdjWIIuoUy+RGCPtkPGcZtZSk437aUFB2CgIkvfiA5H3iB+mg6yk8yotIf0tVVYMy16h7Yr1zm\
yLAngTIUpoBzuQg5E66wn70QxkB065sy3FYM8D4wkMW9OP2J91SoeoYnkwJ0nu8LHTF/T9GpTvxJCVvSMoYEsF1GHFFCwl4YQOYPscerqxr7dfP/\
mwlulLrwBxYmbXcDRtukf8eANy6Xo8ckesGhJ9ndhe/W600n6xZTNToBXiWyI1/jWkzvRj3NvgAvPH2ypJm6AQD1wkNVFp+yNVqoL9xZJS+LLh2N\
u3cwGucS9QI7Rg4f4M/naL065eDYLxEFegSM5ZfAp9cn
ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBB1cUco3MYNAAsJnijrjErO+nmYcbp3KvL2DyX7t\
BDc2LRzEgW2/9DvIO9z2waIgAHxiQXpnadjchiy3DzmaSfk=
"""


def environment(epoch):
    env = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    if epoch is not None:
        env["SOURCE_DATE_EPOCH"] = str(epoch)
    return env


def start(*words, epoch=EPOCH, **more):
    """A running keyveto filter whose three standard streams are pipes."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([KEYVETO, "filter", *map(str, words)], env=environment(epoch),
                            **{**streams, **more})


def run(*words, status=0, stdin=b"", epoch=EPOCH):
    """Runs keyveto filter, which must end with status: (standard output, standard error)."""
    process = start(*words, epoch=epoch)
    try:
        out, err = process.communicate(stdin, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{words} hangs") from None
    for text in (out, err):
        check(all(byte == 10 or 32 <= byte < 127 for byte in text), f"{words} prints raw bytes: {text!r}")
    out, err = out.decode(), err.decode()
    check(all(line.startswith(("keyveto: ", "usage: ", "  ", "'")) or not line for line in err.split("\n")),
          f"{words}: odd message {err!r}")
    check(process.returncode == status, f"{words}: status {process.returncode}, not {status}: {err.strip()}")
    return out, err


def make(path, k, p, *inputs):
    run("create", path, "--hashes", k, "--length", p, "--force")
    if inputs:
        run("add", path, *inputs)
    return path


def information(path):
    return json.loads(run("info", "--json", path)[0])


def names(folder):
    return sorted(os.listdir(folder))


# AddressSanitizer has a shadow of the memory, and keeps what was freed.
MEMORY_TIMES = 2 if ADDRESS_SANITIZER else 1


def peak_memory(*words):
    """Runs keyveto filter, which must succeed: its peak memory in KiB.

    The kernel starts a child's count at the memory of its parent, so a small
    process starts it.
    """
    spawn = ("import os, resource, sys\n"
             "pid = os.fork() or os.execv(sys.argv[1], sys.argv[1:])\n"
             "_, status, usage = os.wait4(pid, 0)\n"
             "print(usage.ru_maxrss)\n"
             "sys.exit(os.waitstatus_to_exitcode(status))")
    done = subprocess.run([sys.executable, "-ISc", spawn, KEYVETO, "filter", *map(str, words)], check=False,
                          capture_output=True, env=environment(EPOCH), timeout=PATIENCE)
    equal(done.returncode, 0, f"status ({done.stderr})")
    return int(done.stdout.split()[-1])


def ed25519_blob(data):
    return sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(data))


def key_lines(rnd, n):
    """Lines of n different Ed25519 keys. Any 32 bytes can be such a key."""
    return [sshkey.key_line(ed25519_blob(rnd.randbytes(32))) + "\n" for _ in range(n)]


def parse(line):
    return sshkey.parse_line(line.encode().rstrip(b"\n"))


def any_blob(rnd):
    """A blob of a random type with random fields."""
    def number(bits):
        return rnd.getrandbits(bits) | 1 << (bits - 1) | 1

    def point(curve):
        size = sshkey.CURVES[curve][1]
        return b"\4" + rnd.randbytes(2 * size)

    kind = rnd.randrange(8)
    if kind == 0:
        return sshkey.build_plain("ssh-rsa", sshkey.fields_rsa(
            65537, nosecret.sound_number(rnd, rnd.choice((1024, 2048, 3071, 4096)))))
    if kind == 1:
        return sshkey.build_plain("ssh-dss", sshkey.fields_dsa(number(1024), number(160), number(1023), number(1022)))
    if kind in (2, 3):
        curve = rnd.choice(list(sshkey.CURVES))
        return sshkey.build_plain(f"ecdsa-sha2-{curve}", sshkey.fields_ecdsa(curve, point(curve)))
    if kind == 4:
        return sshkey.build_plain(sshkey.SK_ECDSA, sshkey.fields_sk_ecdsa(point("nistp256")))
    if kind == 5:
        return sshkey.build_plain(sshkey.SK_ED25519, sshkey.fields_sk_ed25519(rnd.randbytes(32)))
    if kind == 6:
        return sshkey.build_plain(sshkey.MLDSA, sshkey.fields_raw(rnd.randbytes(1344)))
    return sshkey.build_plain("ssh-ed448", sshkey.fields_raw(rnd.randbytes(57)))


def any_line(rnd):
    """A line with a key of a random type, sometimes in a certificate."""
    if rnd.randrange(5) > 0:
        return sshkey.key_line(any_blob(rnd), comment="c", options=rnd.choice(("", 'command="a b"'))) + "\n"
    fields = sshkey.fields_raw(rnd.randbytes(32))
    name = sshkey.cert_name("ssh-ed25519")
    blob = sshkey.build_cert(name, fields, any_blob(rnd), principals=(b"u",))
    return sshkey.key_line(blob) + "\n"


def published(lines):
    return [spki for line in lines for spki in parse(line).published]


def listed(f, lines):
    """How many of these lines' keys the filter lists."""
    path = f.with_name("lines")
    path.write_text("".join(lines))
    done = subprocess.run([KEYVETO, "check", "--json", "--filter", f, path], capture_output=True, check=False,
                          timeout=PATIENCE)
    check(done.returncode in (0, 1), f"status {done.returncode}: {done.stderr[:500]}")
    return done.stdout.count(b'"verdict":"listed"')


# Without /proc, keyveto cannot give a name to an O_TMPFILE file. It writes a
# named file then, as on file systems that lack O_TMPFILE.
WITHOUT_PROC = ["sh", "-euc", 'mount -t tmpfs none /proc; exec "$@"', "sh"]


def without_proc():
    return [*mount_namespace(), *WITHOUT_PROC]


def as_nobody(*words):
    """Runs keyveto filter as nobody, or as the caller if that is not root: (status, standard error)."""
    who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    done = subprocess.run([*who, KEYVETO, "filter", *map(str, words)], input=PUBLISHED.encode(),
                          capture_output=True, check=False, timeout=PATIENCE)
    return done.returncode, done.stderr.decode()


def some_filter(rnd, path, k, p, n, **header):
    f = pkbf.Filter.create(k, p, **header)
    spkis = published([any_line(rnd) for _ in range(n)])
    for spki in spkis:
        f.add(spki)
    f.write(path)
    return f, spkis
