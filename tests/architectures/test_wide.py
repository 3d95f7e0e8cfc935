# SPDX-License-Identifier: ISC
"""Dates after 2038, and files of more than 2 GiB: what processors of 32 bits cannot count in a long."""

import json
import os
import struct
import subprocess
from datetime import datetime, timezone

import pkbf
import pytest
import sshkey
from keys import generate

PATIENCE = 600
AFTER_2038 = datetime(2040, 3, 1, 10, tzinfo=timezone.utc).timestamp()


def run(*words, status=0):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == status, (words, done)
    return done


@pytest.fixture(name="identity")
def fixture_identity(scratch):
    return generate(scratch)


def guard(build, scratch, identity, conf):
    """What the guard prints for the account root with a home in scratch."""
    config = scratch / "keyveto.conf"
    config.write_text(conf, encoding="ascii")
    return run(build / "keyveto-authorized-keys", "--config", config, "--user", "root", "--home", scratch / "home",
               "--type", identity.key.type, "--key", identity.key.blob).stdout


def home(scratch, text):
    keys = scratch / "home/.ssh/authorized_keys"
    keys.parent.mkdir(parents=True)
    keys.write_text(text, encoding="ascii")
    for path in (keys, keys.parent, keys.parent.parent):
        path.chmod(0o755 if path.is_dir() else 0o600)
        os.utime(path, (AFTER_2038, AFTER_2038))
    return keys


def a_filter(path, p=16, *listed):
    """A filter of 2**p bits in a sparse file, made here."""
    bits = sorted(bit for key in listed for spki in sshkey.parse_line(str(key).encode()).spkis
                  for bit in pkbf.positions(spki, 10, p))
    path.write_bytes(struct.pack(">6sIQIBB", b"pkbfv1", 1, int(AFTER_2038), len(listed), 10, p))
    os.truncate(path, 24 + 2 ** p // 8)
    with open(path, "r+b") as file:
        for bit in bits:
            file.seek(24 + bit // 8)
            byte = file.read(1)[0] | 1 << (7 - bit % 8)
            file.seek(24 + bit // 8)
            file.write(bytes([byte]))
    path.chmod(0o644)
    return path


def test_files_of_2040_are_read_by_the_guard(build, scratch, identity):
    text = f"# mine\n{identity.key}\n"
    home(scratch, text)
    clean = a_filter(scratch / "f.pkbf")
    os.utime(clean, (AFTER_2038, AFTER_2038))
    assert guard(build, scratch, identity, f"Filter {clean}\n") == text


def test_key_is_allowed_until_2050(build, scratch, identity):
    text = f"{identity.key}\n"
    home(scratch, text)
    listed = a_filter(scratch / "f.pkbf", 16, identity.key)
    assert guard(build, scratch, identity, f"Filter {listed}\n") == ""
    allowed = f"Filter {listed}\nAllowKey {identity.key.fingerprint} until=2050-01-01\n"
    assert guard(build, scratch, identity, allowed) == text


def test_certificate_valid_until_2050(build, scratch, identity):
    ca = generate(scratch)
    path = identity.key.path
    subprocess.run(["ssh-keygen", "-q", "-s", ca.path, "-I", "later", "-n", "root", "-V", "20400101:20500101", path],
                   check=True)
    certificate = path.with_name(f"{path.stem}-cert.pub")
    os.utime(certificate, (AFTER_2038, AFTER_2038))
    listed = a_filter(scratch / "f.pkbf", 16, ca.key)
    done = run(build / "keyveto", "check", "--json", "--all", "--filter", listed, certificate, status=1)
    seen = {one["part"]: (one["verdict"], one["fingerprint"]) for one in map(json.loads, done.stdout.splitlines())}
    assert seen == {"key": ("clean", identity.key.fingerprint), "ca": ("listed", ca.key.fingerprint)}


def test_login_of_2040_in_the_log(build, scratch, identity):
    config = scratch / "keyveto.conf"
    config.write_text(f"DenyKey {identity.key.fingerprint}\n", encoding="ascii")
    log = scratch / "auth.log"
    log.write_text("2040-03-01T10:00:00.000000+00:00 host sshd[42]: Accepted publickey for root from 192.0.2.7 "
                   f"port 50022 ssh2: ED25519 {identity.key.fingerprint}\n", encoding="ascii")
    os.utime(log, (AFTER_2038, AFTER_2038))
    done = subprocess.run([build / "keyveto", "audit", "--json", "--user", "root", "--filter",
                           a_filter(scratch / "f.pkbf"), "--config", config, "--logins", log], capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    logins = [one for one in map(json.loads, done.stdout.splitlines()) if one.get("login")]
    assert [(one["account"], one["last_seconds"]) for one in logins] == [("root", AFTER_2038)], done


def test_filter_of_8_gib(build, scratch, identity):
    """Positions beyond 2 GiB, and beyond 4 GiB, in bytes; a key that has none of its bits set there is clean."""
    other = generate(scratch)
    big = a_filter(scratch / "f.pkbf", 36, identity.key)
    assert max(bit // 8 for spki in sshkey.parse_line(str(identity.key).encode()).spkis
               for bit in pkbf.positions(spki, 10, 36)) > 1 << 32
    home(scratch, f"{identity.key}\n{other.key}\n")
    assert guard(build, scratch, identity, f"Filter {big}\n") == ""
    assert guard(build, scratch, other, f"Filter {big}\n") == f"{identity.key}\n{other.key}\n"
    done = run(build / "keyveto", "check", "--json", "--all", "--filter", big, scratch / "home/.ssh/authorized_keys",
               status=1)
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["listed", "clean"]
