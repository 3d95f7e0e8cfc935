# SPDX-License-Identifier: ISC
"""keyveto check: known_hosts, and certificates in it and elsewhere."""

import re
import shutil

import pkbf
import sshkey
from check_runs import check, check_all, inside, objects, only
from program import contains, equal, lacks
from runs import findings, ssh_keygen_reads, tool
from samples import Key, built, certificate, listing, made, some, write


def test_known_hosts_names_ports_hashed_names_markers(scratch):
    ed, rsa, p256 = (made()[name] for name in ("ed25519", "rsa", "p256"))
    write(scratch / "plain", f"host.example.org,192.0.2.7 {ed.plain}\n", f"[host.example.org]:2222 {rsa.plain} c\n",
          f"*.x,!y {p256.plain}\n")
    shutil.copy(scratch / "plain", scratch / "hashed")
    tool("ssh-keygen", "-H", "-f", scratch / "hashed")
    contains((scratch / "hashed").read_text(encoding="ascii"), "|1|")
    for name in ("plain", "hashed"):
        found, wrong = check_all(scratch / name, status=0)
        equal(wrong, [], f"{name}: problems")
        equal({one.fingerprint for one in found}, {ed.fingerprint, rsa.fingerprint, p256.fingerprint}, name)
    hashed = (scratch / "hashed").read_text(encoding="ascii").split()[0]
    rows = [f"@cert-authority *.example.org {ed.plain} c", f"@revoked * {ed.plain} c",
            f"@revoked {hashed} {ed.plain} c",
            f"@revoked\t*\t{ed.plain} c", f" \t@cert-authority \t a,b \t {ed.plain} c", f"@revoked * {ed.plain} c\r"]
    path = write(scratch / "marked", *(f"{row}\n" for row in rows))
    found, wrong = check_all(path, status=0)
    equal(wrong, [], "problems")
    comments = ["c", "* (revoked here) c", "hashed (revoked here) c", "* (revoked here) c", "c", "* (revoked here) c"]
    equal(found, [(n, "clean", ed.type, ed.bits, ed.fingerprint, comment)
                  for n, comment in enumerate(comments, 1)], "marked")
    bad = listing(scratch / "bad.pkbf", ed)
    equal(len(check(path, filters=[bad], status=1).lines), len(rows), "listed ones")


def test_a_line_of_known_hosts_says_of_which_host_it_is(scratch):
    ed = made()["ed25519"]
    hashed = "|1|JfKTdBh7rNbXkVAQCRp4OQoPfmI=|USECr3SWf1JUPsms5AqfD5QfxkM="
    path = write(scratch / "known_hosts.old", f"a.example,192.0.2.7 {ed.plain}\n", f"{hashed} {ed.plain} c\n",
                 f"@revoked [b]:22 {ed.plain}\n", f"{'h' * 2000} {ed.plain} c\n")
    equal([one[-1] for one in check_all(path, status=0)[0]],
          ["a.example,192.0.2.7", "hashed c", "[b]:22 (revoked here)", f"{'h' * 512} c"])


def test_a_key_in_allowed_signers_is_judged_and_no_problem(scratch):
    ed = made()["ed25519"]
    rows = [f"a@example.com {ed.plain} c\n", f'b@example.com namespaces="git" {ed.plain} c\n']
    found, wrong = check_all(write(scratch / "allowed_signers", *rows), status=0)
    equal((wrong, [one.line for one in found]), ([], [1, 2]))
    check_all(write(scratch / "authorized_keys", *rows), status=2)


def test_archives_in_a_folder_are_counted(scratch):
    for name in "ab":
        write(scratch / "folder" / name, b"PK\3\4 something")
    result = check(scratch / "folder", status=2)
    contains(result.err.decode(), "keyveto: 2 archives were not looked into; --all names them\n", ", 2 problems\n")
    lacks(result.err.decode(), "zip")
    equal(len(objects(check("--json", scratch / "folder", status=2))), 2)
    for words in (["--all", scratch / "folder"], ["--quiet", scratch / "folder"], [scratch / "folder/a"]):
        contains(check(*words, status=2).err.decode(), "a: zip archive: keyveto does not look into it")


def test_unknown_markers_and_lines_without_a_key_are_reported(scratch):
    ed = made()["ed25519"]
    rows = {f"@nonsense * {ed.plain}": "unknown marker", f"@ * {ed.plain}": "unknown marker",
            f"@Revoked * {ed.plain}": "unknown marker", "@revoked * ssh-ed25519": "no key on this line",
            "@revoked *": "no key on this line", f"@revoked @revoked * {ed.plain}": "no key on this line",
            "@cert-authority * ssh-ed25519 AAAA": "key data ends too early", f"@revoked * ssh-rsa {ed.base64}":
            "key type differs from the type inside the key", f"two hosts {ed.plain}": "no key on this line"}
    path = write(scratch / "known_hosts", f"host {ed.plain}\n", *(f"{row}\n" for row in rows))
    found, wrong = check_all(path, status=2)
    equal(wrong, list(enumerate(rows.values(), 2)), "report")
    # A key on a line that ssh does not read is judged all the same.
    wanted = [1] + [number for number, row in enumerate(rows, 2) if inside(row) and "ssh-rsa" not in row]
    equal([(one.line, one.fingerprint) for one in found], [(number, ed.fingerprint) for number in wanted], "keys")
    # Before a key, a mistyped marker could also be options.
    line = f"@cert-authoity {ed.plain}"
    assert ssh_keygen_reads(line.encode()) is not None
    path = write(scratch / "authorized_keys", line, "\n")
    equal(only(check_all(path, status=0)[0], path).fingerprint, ed.fingerprint, "mistyped marker")


def test_what_ssh_keyscan_prints_comments_and_all():
    keys = [made()[name] for name in ("rsa", "p256", "ed25519")]
    lines = []
    for key in keys:
        lines += ["# 192.0.2.7:22 SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3", f"192.0.2.7 {key.plain}",
                  f"[192.0.2.7]:2222 {key.plain}", f"[2001:db8::1%eth0]:22 {key.plain}"]
    text = "".join(f"{line}\n" for line in lines)
    found, wrong = check_all("-", stdin=text.encode(), status=0)
    equal(wrong, [], "problems")
    equal([(one.line, one.fingerprint) for one in found],
          [(4 * i + j, key.fingerprint) for i, key in enumerate(keys) for j in (2, 3, 4)], "keys")


def test_the_key_and_the_ca_of_a_certificate_are_judged(scratch):
    """Certificates of users and of hosts."""
    ca = made()["other"]
    bad_ca = listing(scratch / "ca.pkbf", ca)
    for key in some("rsa", "dsa", "p256", "p384", "p521", "ed25519"):
        bad_key = listing(scratch / "key.pkbf", key)
        for options in ((), ("-h",)):
            path = certificate(key, ca, *options)
            where = f"{key.name} {options}"
            inside = (1, "clean", key.type, key.bits, key.fingerprint, key.comment)
            signer = (1, "clean", ca.type, ca.bits, ca.fingerprint, f"{key.comment} (CA)")
            equal(check_all(path, status=0), ([inside, signer], []), where)
            equal(tool("ssh-keygen", "-l", "-f", path).decode().split()[1], key.fingerprint, f"{where}: ssh-keygen")
            signed_by = re.search(r"Signing CA: \S+ (SHA256:\S+)", tool("ssh-keygen", "-L", "-f", path).decode())[1]
            equal(signed_by, ca.fingerprint, f"{where}: ssh-keygen's CA")
            listed = f"{path}:1: listed: {key.type} {key.bits} {key.fingerprint} {key.comment} [{bad_key}]"
            equal(check(path, filters=[bad_key], status=1).lines, [listed], where)
            listed_ca = f"{path}:1: listed: {ca.type} {ca.bits} {ca.fingerprint} {key.comment} (CA) [{bad_ca}]"
            equal(check(path, filters=[bad_ca], status=1).lines, [listed_ca], where)
            equal(check(path, filters=[bad_key, bad_ca], status=1).lines, [listed, listed_ca], where)


def test_certificates_as_json_in_authorized_keys_and_known_hosts(scratch):
    """The certificates are signed by CAs of every type."""
    key = made()["ed25519"]
    for name in ("rsa-3072", "p256", "p384", "p521", "other"):
        ca = made()[name]
        line = certificate(key, ca).read_text(encoding="utf-8").rstrip("\n")
        path = write(scratch / "file", f"no-pty {line}\n", f"[host]:22 {line}\n")
        rows = objects(check("--json", "--all", path, status=0))
        names = ("line", "part", "type", "bits", "fingerprint", "spki_sha256")
        equal([tuple(row[name] for name in names) for row in rows],
              [(n, *part) for n in (1, 2) for part in
               (("key", key.type, key.bits, key.fingerprint, key.spki_sha256[0]),
                ("ca", ca.type, ca.bits, ca.fingerprint, ca.spki_sha256[0]))], name)


def test_a_composite_key_is_listed_when_either_half_of_it_is(scratch):
    key = built()["mldsa"]
    half = Key("half", sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(key.blob[-32:])))
    path = write(scratch / "file", f"{key.line}\n{half.line}\n")
    for number, spki in enumerate(key.oracle.spkis):
        bad = pkbf.Filter.create(20, 16)
        bad.add(spki)
        bad.write(scratch / "bad.pkbf")
        found = findings(check("--all", path, filters=[scratch / "bad.pkbf"], status=1), path)
        equal([one.verdict for one in found], ["listed", "listed" if number == 2 else "clean"], f"SPKI {number}")


def test_certificates_of_types_that_need_hardware_and_odd(scratch):
    ca = made()["other"]
    for name, key in built().items():
        fields = key.blob[4 + len(key.token):]
        blob = sshkey.build_cert(sshkey.cert_name(key.token), fields, ca.blob, principals=(b"u",))
        path = write(scratch / "file", sshkey.key_line(blob), "\n")
        found, _ = check_all(path, status=0)
        equal([(one.type, one.fingerprint, one.rest) for one in found],
              [(key.type, key.fingerprint, ""), (ca.type, ca.fingerprint, "(CA)")], name)
    fields = made()["ed25519"].blob[-36:]
    kind = sshkey.cert_name("ssh-ed25519")
    other = sshkey.build_cert(kind, fields, ca.blob)
    for title, blob in (("neither user nor host", sshkey.build_cert(kind, fields, ca.blob, kind=3)),
                        ("signed by a certificate", sshkey.build_cert(kind, fields, other)),
                        ("CA of an unknown type", sshkey.build_cert(kind, fields, sshkey.build_plain("x", b""))),
                        ("cut short", other[:-1]),
                        ("longer", sshkey.build_cert(kind, fields, ca.blob, trailing=b"x"))):
        path = write(scratch / "file", sshkey.key_line(blob, kind), "\n")
        result = check("--all", path)
        equal((result.status, len(result.problems)), (2, 1), f"{title}: {result}")
