# SPDX-License-Identifier: ISC
"""keyveto check --weak: RSA keys that anybody factors."""

import sshkey
import weak_keys
from check_runs import check, objects
from program import contains, equal, lacks
from runs import findings, problems, run
from samples import Key, listing, made, write


def weak_file(path, *more):
    return write(path, *(f"{key.line}\n" for _, key in weak_keys.weak()), *(f"{key.line}\n" for key in more))


def in_order(found):
    return sorted(found, key=lambda one: one.line)


def test_each_class_is_found_and_named(scratch):
    path = weak_file(scratch / "file")
    result = check("--weak", path, status=1)
    equal([(one.verdict, one.fingerprint, one.rest) for one in in_order(findings(result, path))],
          [("listed", key.fingerprint, f"{key.comment} [built-in {source}]") for source, key in weak_keys.weak()])
    equal((result.summary["listed"], result.summary["clean"]), (len(weak_keys.weak()), 0))


def test_without_weak_they_are_clean(scratch):
    """Only a factor below 1,000 is found without a bignum library, and none of these has one."""
    path = weak_file(scratch / "file")
    equal(check(path, status=0).out, b"")


def test_sound_keys_are_clean(scratch):
    """The sound ones stand beside weak ones that have almost their numbers; ssh-keygen's keys are sound, too."""
    keys = [*weak_keys.sound(), *made().values()]
    path = write(scratch / "file", *(f"{key.line}\n" for key in keys))
    result = check("--weak", path, status=0)
    equal(result.out, b"")
    equal(result.summary["clean"], len(keys))


def test_all_prints_each_key_once(scratch):
    path = weak_file(scratch / "file", *weak_keys.sound(), made()["ed25519"])
    found = in_order(findings(check("--weak", "--all", path, status=1), path))
    equal([one.line for one in found], list(range(1, len(found) + 1)))
    equal([one.verdict for one in found], ["listed"] * len(weak_keys.weak()) + ["clean"] * (len(weak_keys.sound()) + 1))


def test_json_has_the_source(scratch):
    path = weak_file(scratch / "file")
    rows = sorted(objects(check("--weak", "--json", path, status=1)), key=lambda row: row["line"])
    equal([(row["verdict"], row["lists"], row["source"], row["sources"], row["fingerprint"], row["filters"])
           for row in rows],
          [("listed", ["built-in"], source, [source], key.fingerprint, []) for source, key in weak_keys.weak()])
    equal([row["spki_sha256"] for row in rows], [key.spki_sha256[0] for _, key in weak_keys.weak()])


def test_what_another_key_says_of_one_lists_nothing(scratch):
    """A stranger may publish a multiple of a modulus. So a factor in common, alone, says nothing."""
    first, second, third = weak_keys.sharing()
    path = write(scratch / "file", *(f"{one.line}\n" for one in (first, second, third, weak_keys.multiple())))
    equal(check("--weak", path, status=0).out, b"")


def test_allowkey_allows_and_quiet_is_quiet(scratch):
    _, key = weak_keys.weak()[0]
    path = write(scratch / "file", f"{key.line}\n")
    config = write(scratch / "conf", f"Filter {listing(scratch / 'filter')}\nAllowKey {key.fingerprint} known\n")
    equal(run("check", "--weak", "--config", config, path, status=0).summary["allowed"], 1)
    result = check("--weak", "--quiet", path, status=1)
    equal((result.out, result.err), (b"", b""))


def test_a_ca_of_this_kind_is_found_in_a_certificate(scratch):
    _, ca = weak_keys.weak()[0]
    ed = made()["ed25519"]
    blob = sshkey.build_cert("ssh-ed25519-cert-v01@openssh.com", sshkey.fields_raw(ed.blob[-32:]), ca.blob)
    path = write(scratch / "cert.pub", f"{sshkey.key_line(blob)}\n")
    result = check("--weak", path, status=1)
    contains(result.out.decode(), ca.fingerprint, "(CA)", "[built-in rsa-prime]")


def test_tiny_and_huge_moduli_end_in_time(scratch):
    """Numbers that are no RSA key, and the longest that sshd reads."""
    moduli = (0, 1, 2, 3, 9, 255, 65535, 65537, 1 << 16383, (1 << 16384) - 1)
    keys = [weak_keys.key(str(n.bit_length()), n, e) for n in moduli
            for e in (0, 1, 3, 65537, (1 << 64) - 1, (1 << 16384) - 1)]
    path = write(scratch / "file", *(f"{key.line}\n" for key in keys))
    result = check("--weak", "--all", path)
    equal(len({one.line for one in findings(result, path)}) + len(problems(result, path)), len(keys))
    lacks(result.err.decode(), "GNU MP")


def test_without_filter_and_list_these_keys_are_found(scratch):
    path = weak_file(scratch / "file")
    config = write(scratch / "conf", f"Filter {scratch}/none.pkbf\n")
    result = run("check", "--weak", "--config", config, path, status=1)
    equal([one.rest.rpartition("[")[2] for one in in_order(findings(result, path))],
          [f"built-in {source}]" for source, _ in weak_keys.weak()])


def test_the_names_are_key_names_of_the_oracle():
    """Each key is one that sshd's own parser would read, so that finding it means something."""
    for _, key in [*weak_keys.weak(), *((None, one) for one in weak_keys.sound())]:
        equal(Key("again", key.blob).fingerprint, key.fingerprint)
