# SPDX-License-Identifier: ISC
"""Runs of keyveto filter, with the filters and keys that they use."""

import json
import os
import subprocess

import pkbf
import sshkey
from program import ADDRESS_SANITIZER, KEYVETO, PATIENCE, attempt, check, mount_namespace
from runs import peak_of
from samples import KNOWN_P256, KNOWN_RSA, random_blob

EPOCH = 1555799917

PUBLISHED = f"{KNOWN_RSA}\n{KNOWN_P256}\n"


def environment(epoch):
    env = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    if epoch is not None:
        env["SOURCE_DATE_EPOCH"] = str(epoch)
    return env


def start(*words, epoch=EPOCH, **more):
    """A running keyveto filter whose three standard streams are pipes."""
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([KEYVETO, "filter", *map(str, words)], env=environment(epoch), **{**streams, **more})


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
    """Runs keyveto filter, which must succeed: its peak memory in KiB."""
    return peak_of(KEYVETO, "filter", *words, env=environment(EPOCH))[0]


def ed25519_blob(data):
    return sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(data))


def key_lines(rnd, n):
    """Lines of n different Ed25519 keys. Any 32 bytes can be such a key."""
    return [sshkey.key_line(ed25519_blob(rnd.randbytes(32))) + "\n" for _ in range(n)]


def parse(line):
    return sshkey.parse_line(line.encode().rstrip(b"\n"))


def any_blob(rnd):
    return random_blob(rnd, (1024, 2048, 3071, 4096))


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
    done = attempt(KEYVETO, "check", "--json", "--filter", f, path, text=False)
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
    done = attempt(*who, KEYVETO, "filter", *words, text=False, input=PUBLISHED.encode())
    return done.returncode, done.stderr.decode()


def some_filter(rnd, path, k, p, n, **header):
    f = pkbf.Filter.create(k, p, **header)
    spkis = published([any_line(rnd) for _ in range(n)])
    for spki in spkis:
        f.add(spki)
    f.write(path)
    return f, spkis
