# SPDX-License-Identifier: ISC
"""A small SSH client that sends any bytes as a key.

ssh parses a key before it offers the key, so it cannot ask sshd about a key that
ssh itself refuses.  This client sends any bytes under any name.
It also asks hundreds of questions ("would you accept this key?") over one connection,
each in a few milliseconds. A login takes half a second.

It knows one algorithm of each kind: curve25519-sha256 (RFC 8731), ssh-ed25519,
aes128-ctr and hmac-sha2-256.  It does not check who the server is.
"""

import ctypes
import ctypes.util
import hashlib
import hmac
import os
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / name) for name in ("e2e", "oracle")]
from patience import PATIENCE  # noqa: E402
from sshkey import mpint, string  # noqa: E402

# RFC 4250 §4.1
DISCONNECT, IGNORE, UNIMPLEMENTED, DEBUG, SERVICE_REQUEST, SERVICE_ACCEPT, EXT_INFO = 1, 2, 3, 4, 5, 6, 7
KEXINIT, NEWKEYS, KEX_ECDH_INIT, KEX_ECDH_REPLY = 20, 21, 30, 31
USERAUTH_REQUEST, USERAUTH_FAILURE, USERAUTH_SUCCESS, USERAUTH_BANNER, USERAUTH_PK_OK = 50, 51, 52, 53, 60
GLOBAL_REQUEST, CHANNEL_OPEN, CHANNEL_OPEN_CONFIRMATION, CHANNEL_OPEN_FAILURE = 80, 90, 91, 92
CHANNEL_DATA, CHANNEL_EXTENDED_DATA, CHANNEL_CLOSE = 94, 95, 97
CHANNEL_REQUEST, CHANNEL_SUCCESS, CHANNEL_FAILURE = 98, 99, 100

NOISE = (IGNORE, DEBUG, EXT_INFO, USERAUTH_BANNER, GLOBAL_REQUEST)
VERSION = b"SSH-2.0-keyveto_campaign"
WINDOW = 1 << 20
BLOCK, MAC = 16, 32


class Lost(Exception):
    """The server ended the connection, or sent an unexpected packet."""


@dataclass
class Session:
    """How a command ended. The status is None if the server did not run it."""
    status: "int | None"
    stdout: bytes
    stderr: bytes


class Connection:
    """A connection to an sshd on loopback."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")
        self._seal, self._unseal = _Plain(), _Plain()
        self._sent = self._received = 0
        try:
            self._exchange_keys()
            self._send(bytes([SERVICE_REQUEST]) + string(b"ssh-userauth"))
            self._expect(SERVICE_ACCEPT)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._stream.close()
        self._socket.close()

    # Questions

    def ask(self, user, algorithm, blob):
        """Whether the server would accept this key."""
        self._send(_request(user, algorithm, blob, signed=False))
        return self._expect(USERAUTH_PK_OK, USERAUTH_FAILURE)[0] == USERAUTH_PK_OK

    def authenticate(self, user, algorithm, blob, sign):
        """Log in with this key; sign(data, algorithm) proves that it is ours."""
        request = _request(user, algorithm, blob, signed=True)
        self._send(request + string(sign(string(self._session) + request)))
        return self._expect(USERAUTH_SUCCESS, USERAUTH_FAILURE)[0] == USERAUTH_SUCCESS

    def run(self, command):
        """Run a command in a session of its own."""
        self._send(bytes([CHANNEL_OPEN]) + string(b"session") + struct.pack(">III", 0, WINDOW, 1 << 15))
        if self._expect(CHANNEL_OPEN_CONFIRMATION, CHANNEL_OPEN_FAILURE)[0] == CHANNEL_OPEN_FAILURE:
            return Session(None, b"", b"")
        self._send(bytes([CHANNEL_REQUEST]) + bytes(4) + string(b"exec") + b"\1" + string(command.encode()))
        output = {CHANNEL_DATA: b"", CHANNEL_EXTENDED_DATA: b""}
        status = None
        while True:
            packet = self._receive()
            kind = packet[0]
            if kind in output:
                text = packet[5:] if kind == CHANNEL_DATA else packet[9:]
                output[kind] += _take_string(text)[0]
            elif kind == CHANNEL_REQUEST:
                name, rest = _take_string(packet[5:])
                if name == b"exit-status":
                    status, = struct.unpack(">I", rest[1:5])
            elif kind in (CHANNEL_CLOSE, CHANNEL_FAILURE):
                return Session(status, output[CHANNEL_DATA], output[CHANNEL_EXTENDED_DATA])

    # Transport

    def _exchange_keys(self):
        self._socket.sendall(VERSION + b"\r\n")
        while not (server_version := self._stream.readline().rstrip(b"\r\n")).startswith(b"SSH-"):
            if not server_version:
                raise Lost("no version line")
        ours, secret = _kexinit(), os.urandom(32)
        self._send(ours)
        theirs = self._expect(KEXINIT)
        public = x25519(secret, _BASE_POINT)
        self._send(bytes([KEX_ECDH_INIT]) + string(public))
        reply = self._expect(KEX_ECDH_REPLY)
        host_key, rest = _take_string(reply[1:])
        server_public, _ = _take_string(rest)
        shared = mpint(int.from_bytes(x25519(secret, server_public), "big"))
        parts = (VERSION, server_version, ours, theirs, host_key, public, server_public)
        digest = hashlib.sha256(b"".join(string(part) for part in parts) + shared).digest()
        self._session = digest
        self._send(bytes([NEWKEYS]))
        self._expect(NEWKEYS)
        self._seal = _Cipher(*(_derive(shared, digest, letter) for letter in "ACE"))
        self._unseal = _Cipher(*(_derive(shared, digest, letter) for letter in "BDF"))

    def _send(self, payload):
        try:
            self._socket.sendall(self._seal.seal(payload, self._sent))
        except OSError as error:
            raise Lost(str(error)) from error
        self._sent += 1

    def _receive(self):
        """The next packet, without those that need no answer."""
        while True:
            try:
                payload = self._unseal.unseal(self._read, self._received)
            except OSError as error:
                raise Lost(str(error)) from error
            self._received += 1
            if payload[0] == DISCONNECT:
                raise Lost(_take_string(payload[5:])[0].decode("utf-8", "replace"))
            if payload[0] not in NOISE:
                return payload

    def _expect(self, *kinds):
        payload = self._receive()
        if payload[0] not in kinds:
            raise Lost(f"message {payload[0]} where one of {kinds} was due")
        return payload

    def _read(self, size):
        data = self._stream.read(size)
        if len(data) < size:
            raise Lost("connection closed")
        return data


def _take_string(data):
    length, = struct.unpack_from(">I", data)
    return data[4:4 + length], data[4 + length:]


def _request(user, algorithm, blob, signed):
    """RFC 4252 §7."""
    return (bytes([USERAUTH_REQUEST]) + string(user.encode()) + string(b"ssh-connection") + string(b"publickey")
            + bytes([signed]) + string(algorithm.encode("latin-1")) + string(blob))


def _kexinit():
    lists = ["curve25519-sha256", "ssh-ed25519"] + ["aes128-ctr"] * 2
    lists += ["hmac-sha2-256"] * 2 + ["none"] * 2 + [""] * 2
    return bytes([KEXINIT]) + os.urandom(16) + b"".join(string(names.encode()) for names in lists) + bytes(5)


def _derive(shared, digest, letter):
    """RFC 4253 §7.2; the session's first digest is its id."""
    key = hashlib.sha256(shared + digest + letter.encode() + digest).digest()
    return key if letter in "EF" else key[:BLOCK]


_BASE_POINT = (9).to_bytes(32, "little")
_P = 2**255 - 19


def x25519(scalar, point):
    """RFC 7748 §5."""
    k = int.from_bytes(scalar, "little") & (1 << 254) - 8 | 1 << 254
    x1 = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3, swapped = 1, 0, x1, 1, 0
    for bit in range(254, -1, -1):
        now = k >> bit & 1
        if now != swapped:
            x2, z2, x3, z3, swapped = x3, z3, x2, z2, now
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % _P, b * b % _P, d * a % _P, c * b % _P
        x3, z3 = (da + cb) ** 2 % _P, x1 * (da - cb) ** 2 % _P
        difference = aa - bb
        x2, z2 = aa * bb % _P, difference * (aa + 121665 * difference) % _P
    if swapped:
        x2, z2 = x3, z3
    return (x2 * pow(z2, -1, _P) % _P).to_bytes(32, "little")


class _Plain:
    """Packets before the keys are known (RFC 4253 §6)."""

    def seal(self, payload, _number):
        return _frame(payload)

    def unseal(self, read, _number):
        length, = struct.unpack(">I", read(4))
        return _unframe(read(length))


class _Cipher:
    """aes128-ctr (RFC 4344) with hmac-sha2-256 (RFC 6668)."""

    def __init__(self, vector, key, mac_key):
        self._stream, self._mac_key = _CounterMode(key, vector), mac_key

    def seal(self, payload, number):
        packet = _frame(payload)
        return self._stream.change(packet) + self._mac(packet, number)

    def unseal(self, read, number):
        first = self._stream.change(read(BLOCK))
        length, = struct.unpack_from(">I", first)
        packet = first + self._stream.change(read(4 + length - BLOCK))
        if read(MAC) != self._mac(packet, number):
            raise Lost("a packet with a wrong MAC")
        return _unframe(packet[4:])

    def _mac(self, packet, number):
        return hmac.digest(self._mac_key, struct.pack(">I", number) + packet, "sha256")


def _frame(payload):
    padding = BLOCK - (5 + len(payload)) % BLOCK
    padding += BLOCK if padding < 4 else 0
    return struct.pack(">IB", 1 + len(payload) + padding, padding) + payload + bytes(padding)


def _unframe(body):
    return body[1:len(body) - body[0]]


_crypto = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
for _name in ("EVP_CIPHER_CTX_new", "EVP_aes_128_ctr"):
    getattr(_crypto, _name).restype = ctypes.c_void_p


class _CounterMode:
    """AES in counter mode, which Python's standard library lacks."""

    def __init__(self, key, vector):
        self._context = ctypes.c_void_p(_crypto.EVP_CIPHER_CTX_new())
        cipher = ctypes.c_void_p(_crypto.EVP_aes_128_ctr())
        if _crypto.EVP_EncryptInit_ex(self._context, cipher, None, key, vector) != 1:
            raise RuntimeError("libcrypto has no aes128-ctr")

    def __del__(self):
        _crypto.EVP_CIPHER_CTX_free(self._context)

    def change(self, data):
        out, length = ctypes.create_string_buffer(len(data)), ctypes.c_int()
        if _crypto.EVP_EncryptUpdate(self._context, out, ctypes.byref(length), data, len(data)) != 1:
            raise RuntimeError("libcrypto does not encrypt")
        return out.raw
