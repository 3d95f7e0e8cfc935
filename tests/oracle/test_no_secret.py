"""Checks the oracle's keys that need no secret against published values, OpenSSL and the curves' equations."""

import subprocess

import pytest

import nosecret
import sshkey

# As they let everybody in at sshd 9.2, 10.0 and 10.6. Each stands for two, with the top bit set or not.
SMALL_ORDER = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
)


def test_small_order_encodings_are_the_published_ones():
    plain = {bytes.fromhex(text) for text in SMALL_ORDER}
    signed = {key[:31] + bytes([key[31] | 0x80]) for key in plain}
    points = nosecret.small_order_points()
    found = [encoded for point in points for encoded in nosecret.ed_encodings(point)]
    assert len(set(points)) == 8
    assert len(found) == 14
    assert set(found) == plain | signed
    assert all(map(nosecret.is_small_order, found))


def test_small_order_points_are_on_the_curve():
    for x, y in nosecret.small_order_points():
        assert (y * y - x * x - 1 - nosecret.D * x * x * y * y) % nosecret.P == 0
        assert nosecret.ed_multiply(8, (x, y)) == nosecret.NEUTRAL


def test_base_point_has_a_large_order():
    base = nosecret.ed_decode((4 * pow(5, -1, nosecret.P) % nosecret.P).to_bytes(32, "little"))
    assert nosecret.ed_multiply(nosecret.L, base) == nosecret.NEUTRAL
    assert nosecret.ed_multiply(8, base) != nosecret.NEUTRAL
    # A sum of both is of mixed order: it needs its secret.
    mixed = nosecret.ed_add(base, nosecret.small_order_points()[1])
    assert not any(map(nosecret.is_small_order, nosecret.ed_encodings(mixed)))


@pytest.mark.parametrize("curve", nosecret.CURVES)
def test_multiples_are_the_public_keys_of_small_secrets(curve):
    oid, size = sshkey.CURVES[curve]
    for secret, (x, y) in enumerate(nosecret.ec_multiples(curve), 1):
        assert nosecret.ec_is_on_curve(curve, x, y)
        # SEC 1 section C.4, without the public key: OpenSSL computes it.
        private = sshkey.der_seq(sshkey.der_int(1), sshkey.der(0x04, secret.to_bytes(size, "big")),
                                 sshkey.der(0xa0, sshkey.der_oid(oid)))
        public = subprocess.run(["openssl", "ec", "-inform", "DER", "-pubout", "-outform", "DER"], input=private,
                                capture_output=True, check=True).stdout
        assert public == sshkey.spki_ec(curve, sshkey.ec_point(curve, x, y))


def test_sound_keys_of_ssh_keygen_are_in_no_class(tmp_path):
    for kind in ("rsa", "ecdsa", "ed25519"):
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", tmp_path / kind], check=True)
        key = sshkey.parse_line((tmp_path / f"{kind}.pub").read_bytes())
        assert nosecret.source(key.blob) is None
