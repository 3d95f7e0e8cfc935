"""SSH public keys: parse them, build them (oddly, if asked), give their SPKI.

Wire formats: RFC 4253 §6.6 (RSA, DSA), RFC 5656 §3.1 (ECDSA), RFC 8709 §4
(Ed25519, Ed448), OpenSSH's PROTOCOL.u2f (sk keys) and PROTOCOL.certkeys
(certificates); ssh-mldsa44-ed25519 (with @openssh.com in OpenSSH 10.5) is one
string holding an ML-DSA-44 key and then an Ed25519 key.

SubjectPublicKeyInfo: RFC 3279 §2.3 (RSA, DSA), RFC 5480 (EC, both point
forms), RFC 8410 (Ed25519, Ed448), RFC 9881 (ML-DSA) and the LAMPS composite
signatures document (id-MLDSA44-Ed25519-SHA512).

This accepts what sshd accepts: leading zero bytes of integers, one
trailing NUL of a name, alias and short type names inside a blob.  It does not
check that a point is on its curve, or that a certificate's signature is right,
because no lookup depends on that.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass

CERT_SUFFIX = "-cert-v01@openssh.com"
MPINT_MAX = 2049  # bytes on the wire: 16384 bits and one leading zero

CURVES = {  # name: (object identifier, bytes in a coordinate)
    "nistp256": ("1.2.840.10045.3.1.7", 32),
    "nistp384": ("1.3.132.0.34", 48),
    "nistp521": ("1.3.132.0.35", 66),
}
RAW_OIDS = {  # keys that are a bare byte string, without parameters
    "ed25519": "1.3.101.112",
    "ed448": "1.3.101.113",
    "mldsa44": "2.16.840.1.101.3.4.3.17",
    "mldsa44-ed25519": "1.3.6.1.5.5.7.6.39",
}
RAW_SIZES = {"ed25519": 32, "ed448": 57, "mldsa44": 1312}

MLDSA = "ssh-mldsa44-ed25519"
MLDSA_OLD = "ssh-mldsa44-ed25519@openssh.com"  # in OpenSSH 10.5
SK_ED25519 = "sk-ssh-ed25519@openssh.com"
SK_ECDSA = "sk-ecdsa-sha2-nistp256@openssh.com"
PLAIN_TYPES = ("ssh-rsa", "ssh-dss", "ecdsa-sha2-nistp256",
               "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-ed25519",
               "ssh-ed448", SK_ED25519, SK_ECDSA, MLDSA, MLDSA_OLD)
ALIASES = {"rsa-sha2-256": "ssh-rsa", "rsa-sha2-512": "ssh-rsa",
           "webauthn-sk-ecdsa-sha2-nistp256@openssh.com": SK_ECDSA}
ANY_ECDSA = "ecdsa-sha2-*"  # the short name leaves the curve to the blob
SHORT_NAMES = {"rsa": "ssh-rsa", "dsa": "ssh-dss", "ecdsa": ANY_ECDSA,
               "ed25519": "ssh-ed25519", "ed25519-sk": SK_ED25519,
               "ecdsa-sk": SK_ECDSA}


class BadKey(ValueError):
    """Bytes that are not a key."""


# --- DER ---------------------------------------------------------------------

def der(tag, *parts):
    body = b"".join(parts)
    if len(body) < 128:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + body


def der_int(value):
    return der(0x02, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def der_seq(*parts):
    return der(0x30, *parts)


def der_oid(dotted):
    first, second, *rest = (int(arc) for arc in dotted.split("."))
    out = b""
    for arc in [40 * first + second, *rest]:
        septets = [arc & 0x7F]
        while arc := arc >> 7:
            septets.insert(0, 0x80 | arc & 0x7F)
        out += bytes(septets)
    return der(0x06, out)


# --- SPKI from raw values ----------------------------------------------------

def _spki(algorithm, key):
    return der_seq(der_seq(*algorithm), der(0x03, b"\0", key))


def spki_rsa(n, e):
    return _spki((der_oid("1.2.840.113549.1.1.1"), der(0x05)), der_seq(der_int(n), der_int(e)))


def spki_dsa(p, q, g, y):
    parameters = der_seq(der_int(p), der_int(q), der_int(g))
    return _spki((der_oid("1.2.840.10040.4.1"), parameters), der_int(y))


def spki_ec(curve, point):
    """SPKI of an encoded point, in whichever form the point is in."""
    return _spki((der_oid("1.2.840.10045.2.1"), der_oid(CURVES[curve][0])), point)


def spki_raw(kind, key):
    """SPKI of a kind in RAW_OIDS: ed25519, ed448, mldsa44, mldsa44-ed25519."""
    return _spki((der_oid(RAW_OIDS[kind]),), key)


def ec_point(curve, x, y, form="uncompressed"):
    """X9.62 point encoding; form: uncompressed, compressed or hybrid."""
    size = CURVES[curve][1]
    xs, ys = x.to_bytes(size, "big"), y.to_bytes(size, "big")
    if form == "compressed":
        return bytes([2 | y & 1]) + xs
    return bytes([{"uncompressed": 4, "hybrid": 6 | y & 1}[form]]) + xs + ys


def compress(point):
    """The compressed form of an uncompressed point."""
    return bytes([2 | point[-1] & 1]) + point[1:1 + len(point) // 2]


# --- names -------------------------------------------------------------------

def cert_name(name):
    """The certificate type name that belongs to a plain type name."""
    return name + "-cert" if name == MLDSA else name.partition("@")[0] + CERT_SUFFIX


_EXACT = {name: (name, False) for name in PLAIN_TYPES}
_EXACT.update((alias, (name, False)) for alias, name in ALIASES.items())
_EXACT.update([(cert_name(alias), (name, True))
               for alias, (name, _) in _EXACT.items()])


def type_of_token(token):
    """(plain type, is a certificate) of the word before the blob, or None."""
    return _EXACT.get(token)


def type_of_name(name):
    """The same for the name inside a blob, where short names work too."""
    short = SHORT_NAMES.get(name.lower())
    return _EXACT.get(name) or (short and (short, False))


# --- parsing -----------------------------------------------------------------

@dataclass(frozen=True)
class Key:
    """A public key, with its CA's key if it came in a certificate."""
    type: str           # canonical plain type name
    blob: bytes         # canonical plain blob: what a fingerprint is taken of
    spkis: tuple        # what is looked up, in order
    compressed: tuple   # SPKI with the compressed point, EC keys only
    ca: "Key | None" = None

    @property
    def fingerprint(self):
        return fingerprint(self.blob)

    @property
    def published(self):
        """Every SPKI that a publisher puts into a filter for this key."""
        return self.spkis + self.compressed


class Reader:
    """Takes RFC 4251 §5 values off the front of a byte string."""

    def __init__(self, data):
        self.rest = data

    def take(self, size):
        if size > len(self.rest):
            raise BadKey("truncated")
        out, self.rest = self.rest[:size], self.rest[size:]
        return out

    def string(self, size=None):
        out = self.take(int.from_bytes(self.take(4), "big"))
        if size is not None and len(out) != size:
            raise BadKey("wrong length of a field")
        return out

    def name(self):
        out = self.string()
        out = out[:-1] if out.endswith(b"\0") else out
        if b"\0" in out:
            raise BadKey("NUL inside a name")
        return out.decode("latin-1")

    def mpint(self):
        out = self.string()
        if out[:1] >= b"\x80":
            raise BadKey("negative integer")
        if len(out) > MPINT_MAX or (len(out) == MPINT_MAX and out[0] != 0):
            raise BadKey("integer too long")
        return int.from_bytes(out, "big")

    def point(self, want=None):
        """(curve, point): a curve name, which must be want, and its point."""
        curve = self.name()
        if curve not in CURVES or want not in (None, curve):
            raise BadKey("wrong curve")
        point = self.string(1 + 2 * CURVES[curve][1])
        if point[0] != 4:
            raise BadKey("point is not uncompressed")
        return curve, point

    def end(self):
        if self.rest:
            raise BadKey("bytes after the last field")


def _read_fields(r, plain):
    """The type's own fields, as a Key."""
    compressed = ()
    if plain == "ssh-rsa":
        e, n = r.mpint(), r.mpint()
        fields, spkis = fields_rsa(e, n), (spki_rsa(n, e),)
    elif plain == "ssh-dss":
        numbers = [r.mpint() for _ in range(4)]
        fields, spkis = fields_dsa(*numbers), (spki_dsa(*numbers),)
    elif plain.startswith("ecdsa-") or plain == SK_ECDSA:
        want = None if plain == ANY_ECDSA else plain.split("@")[0].split("-")[-1]
        curve, point = r.point(want)
        spkis = (spki_ec(curve, point),)
        compressed = (spki_ec(curve, compress(point)),)
        if plain == SK_ECDSA:
            fields = fields_sk_ecdsa(point, r.name().encode("latin-1"))
        else:
            plain = "ecdsa-sha2-" + curve
            fields = fields_ecdsa(curve, point)
    elif plain == SK_ED25519:
        key = r.string(RAW_SIZES["ed25519"])
        spkis = (spki_raw("ed25519", key),)
        fields = fields_sk_ed25519(key, r.name().encode("latin-1"))
    elif plain in (MLDSA, MLDSA_OLD):
        split = RAW_SIZES["mldsa44"]
        key = r.string(split + RAW_SIZES["ed25519"])
        spkis = (spki_raw("mldsa44-ed25519", key),
                 spki_raw("mldsa44", key[:split]),
                 spki_raw("ed25519", key[split:]))
        fields = fields_raw(key)
    else:
        kind = plain.removeprefix("ssh-")
        key = r.string(RAW_SIZES[kind])
        fields, spkis = fields_raw(key), (spki_raw(kind, key),)
    return Key(plain, build_plain(plain, fields), spkis, compressed)


def parse(blob, plain_only=False):
    """The Key in a plain or certificate blob; BadKey if there is none."""
    r = Reader(blob)
    found = type_of_name(r.name())
    if found is None:
        raise BadKey("unknown key type")
    plain, is_cert = found
    if is_cert and plain_only:
        raise BadKey("a certificate where a plain key belongs")
    if is_cert:
        r.string()                              # nonce
    key = _read_fields(r, plain)
    if is_cert:
        r.take(8 + 4)                           # serial, kind
        r.string(), r.string()                  # key id, principals
        r.take(8 + 8)                           # valid after, before
        r.string(), r.string(), r.string()      # options, extensions, reserved
        ca = parse(r.string(), plain_only=True)
        r.string()                              # signature
        key = Key(key.type, key.blob, key.spkis, key.compressed, ca)
    r.end()
    return key


def spkis(blob):
    """List of SPKI DER of the key in blob (of a certificate: the key inside)."""
    return list(parse(blob).spkis)


def cert_spkis(blob):
    """(SPKIs of the key inside, SPKIs of the CA's key) of a certificate."""
    key = parse(blob)
    if key.ca is None:
        raise BadKey("not a certificate")
    return list(key.spkis), list(key.ca.spkis)


def compressed_spkis(blob):
    """SPKIs with compressed points: one for an EC key, none for others."""
    return list(parse(blob).compressed)


def fingerprint(blob):
    """SHA256:… of these bytes; Key.fingerprint is the one sshd would log."""
    digest = base64.b64encode(hashlib.sha256(blob).digest())
    return "SHA256:" + digest.decode().rstrip("=")


# --- lines of text -----------------------------------------------------------

def decode_base64(text):
    """Base64 as sshd reads it: CR, VT and FF mean nothing, the rest is exact."""
    text = text.translate(None, b"\r\v\f")
    try:
        out = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise BadKey("bad base64") from error
    if base64.b64encode(out) != text:
        raise BadKey("base64 is not canonical")
    return out


def _key_at(text):
    words = text.replace(b"\t", b" ").split(b" ", 1)
    token = type_of_token(words[0].decode("latin-1"))
    if token is None or len(words) < 2:
        raise BadKey("no key on this line")
    field = words[1].lstrip(b" ").partition(b" ")[0]
    key = parse(decode_base64(field))
    if (key.type, key.ca is not None) != token:
        raise BadKey("the type before the blob is not the type inside")
    return key


def _after_options(text):
    quoted, pos = False, 0
    while pos < len(text) and (quoted or text[pos] not in b" \t"):
        if text[pos:pos + 2] == b'\\"':
            pos += 1
        elif text[pos] == ord('"'):
            quoted = not quoted
        pos += 1
    if quoted:
        raise BadKey("unbalanced quote")
    return text[pos:].lstrip(b" \t")


def parse_line(line):
    """The Key on an authorized_keys or .pub line (bytes); None if it is blank
    or a comment."""
    line = line.partition(b"\n")[0].partition(b"\0")[0].lstrip(b" \t")
    if not line.strip(b"\r") or line.startswith(b"#"):
        return None
    try:
        return _key_at(line)
    except BadKey as first:
        try:
            return _key_at(_after_options(line))
        except BadKey as second:
            raise BadKey(f"{first}; past options: {second}") from None


# --- building, for tests -----------------------------------------------------

def string(data):
    return len(data).to_bytes(4, "big") + data


def mpint(value, pad=0):
    """RFC 4251 mpint, with pad needless zero bytes in front."""
    size = value.bit_length() // 8 + 1 if value else 0
    return string(bytes(pad) + value.to_bytes(size, "big"))


def fields_rsa(e, n, pad=0):
    return mpint(e, pad) + mpint(n, pad)


def fields_dsa(p, q, g, y, pad=0):
    return b"".join(mpint(value, pad) for value in (p, q, g, y))


def fields_raw(key):
    """Ed25519, Ed448, and ML-DSA-44 followed by Ed25519."""
    return string(key)


def fields_ecdsa(curve, point, nuls=0):
    """nuls: NUL bytes after the curve's name."""
    return string(curve.encode() + bytes(nuls)) + string(point)


def fields_sk_ecdsa(point, application=b"ssh:", nuls=0):
    return fields_ecdsa("nistp256", point, nuls) + string(application)


def fields_sk_ed25519(key, application=b"ssh:"):
    return string(key) + string(application)


def build_plain(name, fields, nuls=0, trailing=b""):
    """A plain blob under any name, with nuls NUL bytes after the name and
    trailing bytes after the last field."""
    return string(name.encode("latin-1") + bytes(nuls)) + fields + trailing


def build_cert(name, fields, ca_blob, *, nuls=0, nonce=bytes(32), serial=0,
               kind=1, key_id=b"test", principals=(), after=0,
               before=2**64 - 1, critical=b"", extensions=b"",
               sign=lambda tbs: string(b"none") + string(bytes(64)),
               trailing=b""):
    """A certificate blob; name as is (see cert_name), fields without a name.

    sign takes the bytes to be signed and returns a signature blob; without it
    the certificate parses but no sshd will trust it.
    """
    tbs = b"".join((
        string(name.encode("latin-1") + bytes(nuls)), string(nonce), fields,
        serial.to_bytes(8, "big"), kind.to_bytes(4, "big"), string(key_id),
        string(b"".join(string(principal) for principal in principals)),
        after.to_bytes(8, "big"), before.to_bytes(8, "big"),
        string(critical), string(extensions), string(b""), string(ca_blob)))
    return tbs + string(sign(tbs)) + trailing


def key_line(blob, name=None, comment="", options=""):
    """The text line for a blob; name is the word before it, by default the
    name inside."""
    name = name or Reader(blob).name()
    words = (options, name, base64.b64encode(blob).decode(), comment)
    return " ".join(word for word in words if word)
