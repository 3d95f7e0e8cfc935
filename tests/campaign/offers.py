# SPDX-License-Identifier: ISC
"""The keys and certificates that a client may offer: a key pair in every encoding, alone or certified.

An encoding is a way to write a public key. sshd decides whether it is right, odd
or wrong.  It may stand in a line, in an offer, inside a certificate, or in a
certificate as the CA's key.
"""

import copy
import functools
import random
from dataclasses import dataclass, field

import keypairs
import nosecret
import sshkey
from sshkey import string

MPINT_MOST = sshkey.MPINT_MAX       # the most bytes of an integer that sshd reads
CERT_PRINCIPALS_MOST = 256          # sshkey.h: SSHKEY_CERT_MAX_PRINCIPALS
USER, HOST = 1, 2
ALWAYS = 2**64 - 1
LONG_APPLICATIONS = (1000, 60_000, 97_000, 99_000, 180_000)
SEED = "keyveto"                    # for the keys, which do not depend on the campaign's seed


class Pool:
    """The key pairs of a campaign: users, their CAs, and keys of others."""

    def __init__(self):
        rng = random.Random(SEED)
        self.users = _one_of_each(rng)
        self.users["rsa16384"] = keypairs.PublicRSA(rng, 16384)
        self.authorities = _one_of_each(rng)
        self.strangers = [keypairs.Ed25519(rng) for _ in range(8)] + [keypairs.ECDSA(rng)]
        # Only security keys can have any length, as they carry a text.
        self.long = [keypairs.SecurityEd25519(rng, b"ssh:" + b"x" * size) for size in LONG_APPLICATIONS]

    def without(self, types):
        """The same pairs without those types, which some sshd does not know."""
        kept = copy.copy(self)
        kept.users, kept.authorities = (
            {name: pair for name, pair in pairs.items() if pair.type not in types}
            for pairs in (self.users, self.authorities))
        return kept

    def all(self):
        return [*self.users.values(), *self.authorities.values(), *self.long]


def _one_of_each(rng):
    return {
        "rsa": keypairs.RSA(rng, 2048),
        "rsa1024": keypairs.RSA(rng, 1024),
        "dsa": keypairs.DSA(rng),
        "p256": keypairs.ECDSA(rng, "nistp256"),
        "p384": keypairs.ECDSA(rng, "nistp384"),
        "p521": keypairs.ECDSA(rng, "nistp521"),
        "ed25519": keypairs.Ed25519(rng),
        "sk-ed25519": keypairs.SecurityEd25519(rng),
        "sk-ecdsa": keypairs.SecurityECDSA(rng),
    }


# --- encodings ---------------------------------------------------------------

@dataclass(frozen=True)
class Encoding:
    """A key under a name, with its fields and what follows them."""
    title: str
    name: str
    fields: bytes
    nuls: int = 0           # behind the name
    tail: bytes = b""

    def plain(self):
        return sshkey.build_plain(self.name, self.fields, self.nuls, self.tail)


def canonical(pair):
    return Encoding("canonical", pair.type, pair.fields())


@functools.cache
def encodings(pair):
    """All encodings of a pair, the canonical one first."""
    usual = canonical(pair)
    found = [usual]
    for name in _names(pair):
        found.append(Encoding(f"name {name!r}", name, usual.fields))
    for nuls in (1, 2):
        found.append(Encoding(f"{nuls} NUL behind the name", pair.type, usual.fields, nuls=nuls))
    found += [Encoding(title, pair.type, fields) for title, fields in _odd_fields(pair)]
    found.append(Encoding("a byte after the last field", pair.type, usual.fields, tail=b"\0"))
    found.append(Encoding("a string after the last field", pair.type, usual.fields, tail=string(b"")))
    found.append(Encoding("a byte short", pair.type, usual.fields[:-1]))
    found.append(Encoding("nothing behind the name", pair.type, b""))
    return [one for one in found if not _needs_no_secret(one.plain())]


def _needs_no_secret(blob):
    """Such a key is listed, whoever offers it: tests/e2e/test_nosecret.py has these."""
    try:
        return nosecret.source(sshkey.parse(blob).blob) is not None
    except sshkey.BadKey:
        return False


def _names(pair):
    """Other names: aliases, short names in any case, and names of no key type."""
    known = {"ssh-rsa": ("rsa-sha2-256", "rsa-sha2-512", "RSA", "rsa", "rSa"),
             "ssh-dss": ("DSA", "dsa", "dSa"),
             "ssh-ed25519": ("ED25519", "ed25519", "eD25519"),
             sshkey.SK_ED25519: ("ED25519-SK", "ed25519-sk"),
             sshkey.SK_ECDSA: (keypairs.WEBAUTHN, "ECDSA-SK", "ecdsa-sk")}
    names = known.get(pair.type, ("ECDSA", "ecdsa", "eCDSA"))
    return (*names, pair.type.upper(), pair.type + " ", pair.type[:-1], "", "none", "RSA1", "ssh-ed25519-cert",
            "\xe9", pair.type[:3] + "\0" + pair.type[3:], "ssh-rsa" if pair.type != "ssh-rsa" else "ssh-dss",
            "ecdsa-sha2-nistp224", "RSA-CERT")


def _odd_fields(pair):
    if hasattr(pair, "integers"):
        return _odd_integers(pair.integers())
    if pair.type == "ssh-ed25519":
        return _odd_bytes(pair.public, b"")
    if pair.type == sshkey.SK_ED25519:
        return _odd_bytes(pair.inner.public, string(pair.application)) + _odd_application(pair)
    if pair.type == sshkey.SK_ECDSA:
        return _odd_points(pair.inner, string(pair.application)) + _odd_application(pair)
    return _odd_points(pair, b"")


def _odd_integers(numbers):
    """Leading zeros, as many as sshd reads and one more, in all integers or in one."""
    canonical_bytes = [number.to_bytes(number.bit_length() // 8 + 1, "big") for number in numbers]
    room = MPINT_MOST - max(map(len, canonical_bytes))

    def padded(*pads):
        return b"".join(string(bytes(pad) + number) for pad, number in zip(pads, canonical_bytes))

    count = len(numbers)
    found = [(f"{pad} needless zero bytes", padded(*[pad] * count))
             for pad in sorted({1, 2, 17, room // 2, room, room + 1, room + 2}) if pad > 0]
    for which in range(count):
        most = MPINT_MOST - len(canonical_bytes[which])
        for pad in (most, most + 1):
            pads = [pad if index == which else 0 for index in range(count)]
            found.append((f"{pad} needless zero bytes in integer {which}", padded(*pads)))
    for which in range(count):
        for title, value in (("negative", canonical_bytes[which].lstrip(b"\0") or b"\0"), ("empty", b""),
                             ("minus one", b"\xff"), ("zero", b"\0")):
            fields = [value if index == which else number for index, number in enumerate(canonical_bytes)]
            found.append((f"integer {which} {title}", b"".join(map(string, fields))))
    return found


def _odd_bytes(public, rest):
    return [("a byte less in the key", string(public[:-1]) + rest),
            ("a byte more in the key", string(public + b"\0") + rest),
            ("a zero byte before the key", string(b"\0" + public) + rest)]


def _odd_points(pair, rest):
    curve, point = pair.curve.encode(), pair.point()

    def written(name, data):
        return string(name) + string(data) + rest

    return [("1 NUL behind the curve", written(curve + b"\0", point)),
            ("2 NUL behind the curve", written(curve + b"\0\0", point)),
            ("NUL inside the curve", written(curve[:4] + b"\0" + curve[4:], point)),
            ("curve in capitals", written(curve.upper(), point)),
            ("another curve", written(b"nistp384" if curve != b"nistp384" else b"nistp256", point)),
            ("curve by its other name", written(b"prime256v1", point)),
            ("compressed point", written(curve, pair.point("compressed"))),
            ("hybrid point", written(curve, pair.point("hybrid"))),
            ("point at infinity", written(curve, b"\0")),
            ("point off the curve", written(curve, point[:-1] + bytes([point[-1] ^ 1]))),
            ("zero byte before the point", written(curve, b"\0" + point)),
            ("zero byte after the point", written(curve, point + b"\0"))]


def _odd_application(pair):
    fields = pair.fields()
    start = fields[:-len(string(pair.application))]
    return [("1 NUL behind the application", start + string(pair.application + b"\0")),
            ("2 NUL behind the application", start + string(pair.application + b"\0\0")),
            ("another application", start + string(b"ssh:other")),
            ("no application", start + string(b"")),
            ("application of 1 NUL", start + string(b"\0")),
            ("NUL inside the application", start + string(b"ssh\0:"))]


# --- offers ------------------------------------------------------------------

@dataclass(frozen=True)
class Offer:
    """What a client sends: an algorithm, and a blob made from these pairs."""
    title: str
    algorithm: str
    blob: bytes
    pair: object
    ca: object = None       # the pair that signed it, for a certificate

    @functools.cached_property
    def parts(self):
        """The parts that may be listed: (the part's name in the log, its pair, its fingerprint).

        An encoding may have turned the pair's key into another key, which is not listed
        with the pair.  A security key is listed by the plain key inside it.
        """
        try:
            key = sshkey.parse(self.blob)
        except sshkey.BadKey:
            # sshd refuses it, too.  If sshd takes it, the pair's keys must be refused.
            return [(name, pair, sshkey.parse(pair.blob).fingerprint)
                    for name, pair in (("key", self.pair), ("ca", self.ca)) if pair]
        found = [("key", self.pair, key), ("ca", self.ca if self.ca is not self.pair else None, key.ca)]
        return [(name, pair, inside.fingerprint) for name, pair, inside in found
                if pair and set(inside.spkis) & set(sshkey.parse(pair.blob).spkis)]

    @functools.cached_property
    def can_sign(self):
        """Whether this process has the private key of the offer."""
        try:
            return self.pair.can_sign and sshkey.parse(self.blob).blob == self.pair.blob
        except sshkey.BadKey:
            return False


def plain_offer(pair, encoding=None, algorithm=None):
    encoding = encoding or canonical(pair)
    algorithm = algorithm or pair.algorithms[0]
    return Offer(f"{algorithm}, {encoding.title}", algorithm, encoding.plain(), pair)


@dataclass(frozen=True)
class Certificate:
    """How the rest of a certificate is written."""
    title: str = "usual"
    fields: dict = field(default_factory=dict)      # for sshkey.build_cert
    signature: "str | None" = None                  # the CA's algorithm
    change: object = None                           # of the signature blob
    keep_principals: bool = True                    # the account's name is the first principal


def certificate_offer(pair, ca, user, encoding=None, ca_encoding=None, certificate=Certificate(), algorithm=None):
    """A certificate for the account that is called user."""
    encoding, ca_encoding = encoding or canonical(pair), ca_encoding or canonical(ca)
    fields = {"kind": USER, "nonce": bytes(32), "extensions": PERMIT_PTY, **certificate.fields}
    principals = fields.pop("principals", ())
    if certificate.keep_principals:
        principals = (user.encode(), *principals)

    def sign(data):
        made = ca.sign(data, certificate.signature)
        return certificate.change(made) if certificate.change else made

    blob = sshkey.build_cert(sshkey.cert_name(encoding.name), encoding.fields, ca_encoding.plain(),
                             nuls=encoding.nuls, trailing=encoding.tail, principals=principals, sign=sign, **fields)
    algorithm = sshkey.cert_name(algorithm or pair.algorithms[0])
    title = (f"{algorithm}, {encoding.title}; CA {ca.type}, {ca_encoding.title}; "
             f"certificate {certificate.title}")
    return Offer(title, algorithm, blob, pair, ca)


def _options(*pairs):
    return b"".join(string(name) + string(value) for name, value in pairs)


PERMIT_PTY = _options((b"permit-pty", b""))
_FORCED = (b"force-command", string(b"echo forced by the certificate"))


@functools.cache
def certificates():
    """The ways to write the rest of a certificate, without key and CA, the usual one first."""
    odd = [
        ("host certificate", {"kind": HOST}), ("of kind 0", {"kind": 0}), ("of kind 3", {"kind": 3}),
        ("empty nonce", {"nonce": b""}), ("nonce of 1 byte", {"nonce": b"\0"}),
        ("nonce like a key", {"nonce": sshkey.build_plain("ssh-ed25519", string(bytes(32)))}),
        ("nonce of 60 KiB", {"nonce": bytes(60 * 1024)}),
        ("greatest serial", {"serial": 2**64 - 1}),
        ("empty key id", {"key_id": b""}), ("odd key id", {"key_id": b"\xff\n\x1b[1m\" verdict=clean"}),
        ("NUL behind the key id", {"key_id": b"id\0"}), ("NUL inside the key id", {"key_id": b"a\0b"}),
        ("key id of 20 KiB", {"key_id": b"x" * 20480}),
        ("principals, many", {"principals": [b"p%d" % n for n in range(CERT_PRINCIPALS_MOST - 1)]}),
        ("principals, too many", {"principals": [b"p%d" % n for n in range(CERT_PRINCIPALS_MOST)]}),
        ("principals, an empty one", {"principals": [b""]}),
        ("principals, NUL behind one", {"principals": [b"other\0"]}),
        ("principals, NUL inside one", {"principals": [b"ot\0her"]}),
        ("principals, odd bytes", {"principals": [b"\xff\xfe *,!\n"]}),
        ("principals, wildcard", {"principals": [b"*"]}),
        ("expired", {"before": 1}), ("not valid yet", {"after": ALWAYS - 1}),
        ("valid backwards", {"after": ALWAYS, "before": 0}), ("until 2106", {"before": 2**32}),
        ("until the end of signed time", {"before": 2**63 - 1}), ("until just after it", {"before": 2**63}),
        ("forced command", {"critical": _options(_FORCED)}),
        ("forced command twice", {"critical": _options(_FORCED, _FORCED)}),
        ("from here", {"critical": _options((b"source-address", string(b"127.0.0.0/8")))}),
        ("from elsewhere", {"critical": _options((b"source-address", string(b"192.0.2.0/24")))}),
        ("from nonsense", {"critical": _options((b"source-address", string(b"here")))}),
        ("must be verified", {"critical": _options((b"verify-required", b""))}),
        ("unknown critical option", {"critical": _options((b"magic@example.org", b""))}),
        ("critical option cut", {"critical": _options(_FORCED)[:-1]}),
        ("critical option without value", {"critical": string(b"force-command")}),
        ("no extension", {"extensions": b""}),
        ("unknown extension", {"extensions": _options((b"magic@example.org", string(b"1"))) + PERMIT_PTY}),
        ("extensions out of order", {"extensions": PERMIT_PTY + _options((b"permit-agent-forwarding", b""))}),
        ("extension twice", {"extensions": PERMIT_PTY * 2}),
        ("extension with a value", {"extensions": _options((b"permit-pty", string(b"yes")))}),
        ("extension cut", {"extensions": PERMIT_PTY[:-1]}),
        ("many extensions", {"extensions": _options(*((b"x%05d" % n, b"") for n in range(2000)))}),
    ]
    found = [Certificate()]
    found += [Certificate(title, fields) for title, fields in odd]
    found += [
        Certificate("no principals", keep_principals=False),
        Certificate("another's principals", {"principals": [b"root", b"somebody"]}, keep_principals=False),
        Certificate("principals, account last", {"principals": [b"a", b"b"]}),
        Certificate("signature cut", change=lambda made: made[:-1]),
        Certificate("signature with a byte more", change=lambda made: made + b"\0"),
        Certificate("signature of nothing", change=lambda made: b""),
        Certificate("signature by nobody", change=lambda made: made[:-8] + bytes(8)),
    ]
    return found


def signature_styles(ca):
    """The algorithms by which a CA may sign, apart from its usual one."""
    return [Certificate(f"signed by {algorithm}", signature=algorithm) for algorithm in ca.algorithms[1:]]


def catalogue(pool, user):
    """Every class of offer, with one oddity each: functions that make an offer."""
    ca, pair = pool.authorities["ed25519"], pool.users["ed25519"]

    def plain(*arguments, **oddities):
        return functools.partial(plain_offer, *arguments, **oddities)

    def certified(pair, ca, **oddities):
        return functools.partial(certificate_offer, pair, ca, user, **oddities)

    for other in pool.users.values():
        for encoding in encodings(other):
            yield plain(other, encoding)
            yield certified(other, ca, encoding=encoding)
        for algorithm in other.algorithms[1:]:
            yield plain(other, algorithm=algorithm)
            yield certified(other, ca, algorithm=algorithm)
    for other in pool.authorities.values():
        for encoding in encodings(other):
            yield certified(pair, other, ca_encoding=encoding)
        for style in signature_styles(other):
            yield certified(pair, other, certificate=style)
    for certificate in certificates():
        yield certified(pair, ca, certificate=certificate)
    yield functools.partial(_nested, pool, user)


def _nested(pool, user):
    """A certificate signed by a certificate."""
    pair, ca = pool.users["ed25519"], pool.authorities["ed25519"]
    inner = certificate_offer(pair, ca, user)
    name = sshkey.cert_name(pair.type)
    fields = inner.blob[len(string(name.encode())):]
    return certificate_offer(pair, ca, user, ca_encoding=Encoding("itself a certificate", name, fields))


# --- chance ------------------------------------------------------------------

def random_encoding(rng, pair, odd=0.5):
    return rng.choice(encodings(pair)) if rng.random() < odd else canonical(pair)


def random_offer(rng, pool, user):
    """A random combination. Quick keys occur more often than slow ones."""
    pair = _random_pair(rng, pool.users)
    algorithm = rng.choice(pair.algorithms)
    if rng.random() < 0.5:
        return plain_offer(pair, random_encoding(rng, pair, 0.2), algorithm)
    ca = _random_pair(rng, pool.authorities)
    style = Certificate()
    if rng.random() < 0.4:
        style = rng.choice(certificates() + signature_styles(ca))
    return certificate_offer(pair, ca, user, random_encoding(rng, pair, 0.3), random_encoding(rng, ca, 0.3),
                             style, algorithm)


def _random_pair(rng, pairs):
    return pairs["ed25519"] if rng.random() < 0.4 else rng.choice(list(pairs.values()))
