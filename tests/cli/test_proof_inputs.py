# SPDX-License-Identifier: ISC
"""Proofs as inputs: where they and their keys are found, and filter add --proofs, list add --proofs."""

import gzip
import json
import lzma
import os
import subprocess
import threading

import pkbf
import pytest
import sshkey
from list_runs import hashes, keyveto_list
from program import KEYVETO, contains, equal, keyveto
from proofs import ALGORITHM, DER, MAKE, Key, b64url, jws, members, proved, request, verify, write
from runs import as_nobody, tool


@pytest.fixture(scope="module", name="keys")
def fixture_keys():
    return {kind: Key(kind) for kind in MAKE if kind != "ed448"}


def bad(key):
    """A JWS that another key signed, with the kid of this one."""
    return jws(key, sign=Key(key.kind).signature)


def new_filter(path):
    keyveto("filter", "create", path, "--hashes", 5, "--length", 16, status=0)
    return path


def listed(path, lines):
    return [pkbf.Filter.read(path).contains_key(sshkey.parse_line(line)) for line in lines]


# --- where proofs and keys are found


def test_a_file_may_hold_many_proofs_their_keys_and_comments(keys, scratch):
    text = b"# leaked in 2026\n\n"
    for kind, key in keys.items():
        text += key.line.encode() + b" comment\n" if kind in ALGORITHM else b""
        text += json.dumps(members(key), indent=1).encode() + b"\n" if kind in ALGORITHM else b""
        text += request(key)
    found = proved(verify(write(scratch / "proofs", text), status=0))
    equal(sorted(found), sorted([(key.fingerprint, "PKCS#10", key.id) for key in keys.values()]
                                + [(keys[kind].fingerprint, "JWS", keys[kind].id) for kind in ALGORITHM]))


def test_the_line_of_each_proof_is_printed(keys, scratch):
    text = b"\n\n" + json.dumps(members(keys["rsa"]), indent=1).encode() + b"\n" + request(keys["rsa"])
    done = verify(write(scratch / "proofs", text), status=0)
    equal([line.split(":")[1] for line in done.stdout.splitlines()], ["8", "3"])


def test_the_key_of_a_jws_may_be_in_another_input(keys, scratch):
    proof, other = write(scratch / "a.json", jws(keys["p256"])), write(scratch / "b.json", jws(keys["rsa"]))
    pem = write(scratch / "rsa.pem", tool("ssh-keygen", "-e", "-m", "PKCS8", "-f", keys["rsa"].public_file(scratch)))
    both = write(scratch / "more", keys["p256"].line.encode() + b"\n" + request(keys["p384"]))
    equal(len(proved(verify(proof, other, pem, both, status=0))), 3)
    equal(len(proved(verify(proof, both, status=0))), 2)
    contains(verify(proof, other, both, status=2).stderr, "b.json:1: not verified, for lack of the key")


def test_standard_input_and_directories_are_read(keys, scratch):
    (scratch / "d/e").mkdir(parents=True)
    write(scratch / "d/e/proof", jws(keys["p256"]))
    write(scratch / "d/key", keys["p256"].line.encode())
    write(scratch / "d/attestation", request(keys["rsa"], encoding=DER))
    write(scratch / "d/noise", b"hello\n\0{")
    write(scratch / "d/large", b"x" * 100000)
    equal(len(proved(verify(scratch / "d", status=0))), 2)
    done = keyveto("proof", "verify", "-", input=f'{jws(keys["p521"]).decode()}\n{keys["p521"].line}\n', status=0)
    equal(proved(done), [(keys["p521"].fingerprint, "JWS", keys["p521"].id)])
    done = keyveto("proof", "verify", scratch / "d/e/proof", "-", input=keys["p256"].line, status=0)
    equal(len(proved(done)), 1)


def test_the_last_operand_is_the_key_that_all_proofs_must_be_of(keys, scratch):
    rsa, p256 = (write(scratch / f"{kind}.json", jws(keys[kind])) for kind in ("rsa", "p256"))
    one = keys["rsa"].public_file(scratch)
    both = write(scratch / "both", keys["p256"].line.encode() + b"\n" + keys["rsa"].line.encode() + b"\n")
    equal(len(proved(verify(rsa, one, status=0))), 1)
    equal(len(proved(verify(rsa, p256, both, status=0))), 2)
    done = verify(rsa, p256, one, status=1)
    equal(len(proved(done)), 1)
    contains(done.stderr, "p256.json:1: proves nothing: it is about another key")
    contains(verify(rsa, scratch / "absent", status=2).stderr, "absent: No such file")
    contains(verify(rsa, write(scratch / "empty", b"# no key\n"), status=2).stderr, "empty: no key in it")


def test_the_key_may_be_a_private_one_or_a_certificate(keys, scratch):
    proof = write(scratch / "proof", jws(keys["p256"]))
    verify(proof, write(scratch / "private", keys["p256"].private_bytes()), status=0)
    tool("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", scratch / "ca")
    public = keys["p256"].public_file(scratch)
    tool("ssh-keygen", "-q", "-s", scratch / "ca", "-I", "x", "-n", "x", public)
    verify(proof, scratch / "p256-cert.pub", status=0)


def test_a_proof_of_the_ca_is_not_one_of_the_certificate(keys, scratch):
    ca = write(scratch / "ca", keys["p256"].private_bytes(), 0o600)
    tool("ssh-keygen", "-q", "-s", ca, "-I", "x", "-n", "x", keys["rsa"].public_file(scratch))
    for proof in (jws(keys["p256"]), request(keys["p256"])):
        done = verify(write(scratch / "proof", proof), scratch / "rsa-cert.pub", status=1)
        contains(done.stderr, "it is about another key")


def test_the_key_may_be_inside_another_text(keys, scratch):
    """As check reads it."""
    inventory = write(scratch / "inventory.json", json.dumps({"keys": [keys["p256"].line]}, indent=1).encode())
    verify(write(scratch / "proof", jws(keys["p256"])), inventory, status=0)
    verify(write(scratch / "proof", jws(keys["rsa"])), inventory, status=1)


def fed(path, data):
    """A FIFO with this in it, for one reader."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return path


def test_each_pipe_is_read_once_and_counts_as_proofs_and_keys(keys, scratch):
    """As with <(...) of a shell."""
    proof, public = jws(keys["p256"]), keys["p256"].line.encode() + b"\n"
    expected = [(keys["p256"].fingerprint, "JWS", keys["p256"].id)]
    file = write(scratch / "proof", proof)
    equal(proved(verify(file, fed(scratch / "1", public), status=0)), expected)
    equal(proved(verify(fed(scratch / "2", proof), fed(scratch / "3", public), status=0)), expected)
    equal(proved(verify(fed(scratch / "4", proof + b"\n" + public), status=0)), expected)
    other = verify(file, fed(scratch / "5", keys["rsa"].line.encode()), status=1)
    contains(other.stderr, "it is about another key")
    keyveto_list("create", scratch / "list", "--proofs", fed(scratch / "6", proof + b"\n" + public))
    equal(len((scratch / "list").read_bytes()), 16)


PACK = {"gzip": gzip.compress, "xz": lzma.compress, "UTF-16": lambda text: text.decode().encode("utf-16"),
        "byte order mark": lambda text: b"\xef\xbb\xbf" + text}


@pytest.mark.parametrize("form", PACK)
def test_proofs_are_unpacked_as_check_unpacks_keys(keys, form, scratch):
    text = jws(keys["p256"]) + b"\n" + keys["p256"].line.encode() + b"\n" + request(keys["rsa"])
    equal(len(proved(verify(write(scratch / "proofs", PACK[form](text)), status=0))), 2)
    (scratch / "d").mkdir()
    (scratch / "proofs").rename(scratch / "d/proofs")
    equal(len(proved(verify(scratch / "d", status=0))), 2)


def test_a_file_that_is_too_long_is_named_and_not_read_in_part(keys, scratch):
    text = request(keys["p256"]) + b"#" + (os.urandom(1024 * 1024) * 32).hex().encode()
    for name, data in (("plain", text), ("packed", gzip.compress(text, 1))):
        done = verify(write(scratch / name, data), status=2)
        contains(done.stderr, f"{name}: longer than 64 MiB: split it")
        equal(done.stdout, "")


def test_what_is_no_proof_in_a_directory_is_skipped(keys, scratch):
    """A folder of an incident has sources, settings and reports, too."""
    (scratch / "d").mkdir()
    write(scratch / "d/a.c", b"int main(void)\n{\n\treturn 0;\n}\n")
    write(scratch / "d/package.json", b'{"name": "x", "version": "1"}\n')
    write(scratch / "d/branch.json", b'{"branch": {"protected": true}}\n')
    write(scratch / "d/proof.json", jws(keys["p256"]))
    write(scratch / "d/key.pub", keys["p256"].line.encode())
    done = verify(scratch / "d", status=0)
    equal((len(proved(done)), done.stderr), (1, ""))
    write(scratch / "d/forged.json", bad(keys["p256"]))
    contains(verify(scratch / "d", status=1).stderr, "forged.json:1: proves nothing: the key did not make")
    write(scratch / "d/forged.json", jws(keys["p256"])[:100])
    contains(verify(scratch / "d", status=2).stderr, "forged.json:1: a proof in JSON that is damaged")


def test_proofs_behind_a_damaged_one_are_read(keys, scratch):
    p256, p384 = jws(keys["p256"]), jws(keys["p384"])
    public = f'{keys["p256"].line}\n{keys["p384"].line}\n'.encode()
    text = b"\n".join((p256[:100], p384, p256[:20] + b'",', p256, p384[:-1] + b",", public))
    done = verify(write(scratch / "proofs", text), status=2)
    equal([line.split(":")[1] for line in done.stdout.splitlines()], ["4", "2"])
    equal([line.split(":")[2] for line in done.stderr.splitlines()], ["1", "3", "5"])
    contains(done.stderr, "damaged or too long")
    target = scratch / "list"
    keyveto("list", "create", target, "--proofs", scratch / "proofs", status=2)
    digests = [hashes(keys[kind].line.encode())[0] for kind in ("p256", "p384")]
    equal(target.read_bytes(), b"".join(sorted(digest + b"\0" for digest in digests)))


def nobodys_proof(number):
    """A JWS whose key nobody has."""
    header = json.dumps({"alg": "ES256", "kid": f"{number:064x}"}).encode()
    return json.dumps({"protected": b64url(header), "payload": b64url(b"key is pwned"), "signature": b64url(bytes(64))})


def test_time_does_not_grow_with_proofs_times_keys(scratch):
    """Four times as many of both take four times the time, not sixteen times."""
    seconds = []
    for n in (10000, 40000):
        proofs = "\n".join(nobodys_proof(i) for i in range(n)) + "\n"
        blobs = (sshkey.build_plain("ssh-ed25519", sshkey.fields_raw(i.to_bytes(32, "big"))) for i in range(n))
        lines = "".join(sshkey.key_line(blob) + "\n" for blob in blobs)
        done = verify(write(scratch / "proofs", (proofs + lines).encode()), status=2)
        equal(done.stderr.count("for lack of the key"), n)
        seconds.append(done.cpu_seconds)
    assert seconds[1] < 7 * seconds[0], seconds


@pytest.mark.parametrize("text", [b"", b"hello\n", b"<html><body>{</body></html>\n", b"[1, 2]\n", b"\0\1\2"],
                         ids=["empty", "text", "html", "array", "binary"])
def test_a_file_without_a_proof_cannot_be_read_as_one(text, scratch):
    contains(verify(write(scratch / "file", text), status=2).stderr, "no proof of compromise in it")


@pytest.mark.parametrize("size", [1, 20, 200, 400])
def test_a_proof_that_is_cut_cannot_be_read(keys, size, scratch):
    contains(verify(write(scratch / "file", jws(keys["rsa"])[:size]), status=2).stderr, "damaged or too long")


def test_json_of_any_depth_and_length_ends(scratch):
    for text in (b'{"a":' * 100000, b"{" + b'"a":1,' * 100000, b"{\n" * 100000, b"{}\n" * 5000):
        verify(write(scratch / "file", text), status=1 if text.startswith(b"{}") else 2)


def test_what_cannot_be_opened_is_reported(keys, scratch):
    write(scratch / "closed", jws(keys["rsa"]), 0)
    done = keyveto("proof", "verify", scratch / "absent", status=2)
    contains(done.stderr, "absent: No such file")
    words = as_nobody(str(KEYVETO), "proof", "verify", str(scratch / "closed"))
    if words[0] == "setpriv":
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        equal(done.returncode, 2)
        contains(done.stderr, "Permission denied")


# --- proofs as inputs of filters and lists


def test_filter_add_takes_what_the_keys_themselves_would_add(keys, scratch):
    text = b"".join(request(key) for key in keys.values())
    ours, other = new_filter(scratch / "ours"), new_filter(scratch / "other")
    keyveto("filter", "add", ours, "--proofs", write(scratch / "proofs", text), status=0)
    lines = "".join(key.line + "\n" for key in keys.values())
    keyveto("filter", "add", other, write(scratch / "keys", lines.encode()), status=0)
    assert pkbf.Filter.read(ours).bits == pkbf.Filter.read(other).bits
    equal(listed(ours, [key.line.encode() for key in keys.values()]), [True] * len(keys))


def test_list_add_takes_what_the_keys_themselves_would_add(keys, scratch):
    proofs = [write(scratch / f"{kind}.proof", request(key)) for kind, key in keys.items()]
    keyveto_list("create", scratch / "list", "--proofs", *proofs[:2])
    keyveto_list("add", scratch / "list", "--proofs", *proofs)
    equal((scratch / "list").read_bytes(),
          b"".join(sorted(digest + b"\0" for key in keys.values() for digest in hashes(key.line.encode()))))


@pytest.mark.parametrize("what", ["filter", "list"])
def test_only_keys_that_are_proved_are_added(keys, what, scratch):
    """Neither keys beside the proofs, nor keys of bad proofs."""
    good, beside, forged = keys["p256"], Key("p256"), keys["rsa"]
    text = b"\n".join((good.line.encode(), jws(good), beside.line.encode(), forged.line.encode(), bad(forged), b""))
    target = new_filter(scratch / "target") if what == "filter" else scratch / "target"
    done = keyveto(what, "add" if what == "filter" else "create", target, "--proofs",
                   write(scratch / "proofs", text), status=2)
    contains(done.stderr, "proofs:5: proves nothing: the key did not make this signature",
             "2 added" if what == "filter" else "1 added")       # a point counts twice in a filter
    if what == "filter":
        equal(listed(target, [key.line.encode() for key in (good, beside, forged)]), [True, False, False])
    else:
        digest, = hashes(good.line.encode())
        equal(target.read_bytes(), digest + b"\0")


def test_inputs_without_proofs_add_nothing(keys, scratch):
    target = new_filter(scratch / "target")
    before = target.read_bytes()
    for words in ((keys["rsa"].public_file(scratch),), (write(scratch / "jws", jws(keys["rsa"])),),
                  (write(scratch / "csr", request(keys["rsa"], subject="example.com")),), (scratch / "absent",)):
        keyveto("filter", "add", target, "--proofs", *words, status=2)
        equal(target.read_bytes(), before)


def test_a_jws_and_its_key_in_two_inputs_are_added(keys, scratch):
    target = new_filter(scratch / "target")
    keyveto("filter", "add", target, "--proofs", write(scratch / "proof", jws(keys["p384"])),
            keys["p384"].public_file(scratch), status=0)
    equal(listed(target, [keys["p384"].line.encode()]), [True])


def test_raw_spkis_are_no_proofs(keys, scratch):
    done = keyveto("filter", "add", new_filter(scratch / "target"), "--proofs", "--spki",
                   write(scratch / "spki", keys["rsa"].spki), status=2)
    contains(done.stderr, "--spki and --proofs")
