# SPDX-License-Identifier: ISC
"""A home directory in user space, as gocryptfs or sshfs makes it: only processes of its owner may look inside.

With `stuck`, nobody gets an answer: whoever looks inside hangs in the kernel, and survives SIGKILL.

The kernel compares the real, effective and saved ids: fs/fuse/dir.c, fuse_permissible_uidgid.
"""

import contextlib
import ctypes
import errno
import os
import select
import stat
import struct
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
ROOT_NODE, FILE_NODE = 1, 2
HEADER = "<IIQQIIII"
BUFFER = 1 << 17


class Home:
    """Answers the kernel's requests for a directory with one file. on_request gets the process that asks."""

    def __init__(self, device, name, content, uid, gid, on_request=None):
        self.device, self.name, self.content, self.uid, self.gid = device, name, content, uid, gid
        self.on_request = on_request
        self.stop = os.eventfd(0)       # readable: serve() ends

    def attributes(self, node):
        size, mode = (0, stat.S_IFDIR | 0o700) if node == ROOT_NODE else (len(self.content), stat.S_IFREG | 0o600)
        times = (0, 0, 0, 0, 0, 0)
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, 1, *times, mode, 1, self.uid, self.gid, 0, 4096, 0)

    def answer(self, code, node, body):
        """What follows the header, or an errno."""
        if code == INIT:
            return struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 0, 0, BUFFER // 2, 1, 0, 0, 0)
        if code == LOOKUP:
            if body.rstrip(b"\0") != self.name:
                return errno.ENOENT
            return struct.pack("<QQQQII", FILE_NODE, 0, 0, 0, 0, 0) + self.attributes(FILE_NODE)
        if code == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(node)
        if code == OPEN:
            return struct.pack("<QII", 0, 0, 0)
        if code == READ:
            offset, size = struct.unpack_from("<8xQI", body)
            return self.content[offset:offset + size]
        return b"" if code in (RELEASE, FLUSH) else errno.ENOSYS

    def reply(self, request):
        _, code, unique, node, _, _, process, _ = struct.unpack_from(HEADER, request)
        if code == FORGET:
            return b""
        if self.on_request:
            self.on_request(process)
        body = self.answer(code, node, request[struct.calcsize(HEADER):])
        error, body = (-body, b"") if isinstance(body, int) else (0, body)
        return struct.pack("<IiQ", 16 + len(body), error, unique) + body

    def requests(self):
        """Until stop can be read, or the file system is gone."""
        while self.stop not in select.select([self.device, self.stop], [], [])[0]:
            try:
                request = os.read(self.device, BUFFER)
            except OSError:
                return
            yield request

    def serve(self):
        for request in self.requests():
            if reply := self.reply(request):
                # The one who asked may have been killed.
                with contextlib.suppress(FileNotFoundError):
                    os.write(self.device, reply)


class Stuck(Home):
    """Reads each request, so that the kernel waits for the answer whatever happens, and answers none but the first."""

    def __init__(self, device, uid, gid):
        super().__init__(device, b"", b"", uid, gid)
        self.asked = threading.Event()

    def serve(self):
        for number, request in enumerate(self.requests()):
            if number == 0:
                os.write(self.device, self.reply(request))
            else:
                self.asked.set()


@contextlib.contextmanager
def mounted(folder, name, content, uid, gid, on_request=None):
    """Mounts it over the folder. OSError if there is no FUSE."""
    with serving(folder, uid, gid, lambda device: Home(device, name, content, uid, gid, on_request)):
        yield


@contextlib.contextmanager
def stuck(folder, uid, gid):
    """The same, of a home that gives no answer. Yields the event that somebody has asked."""
    with serving(folder, uid, gid, lambda device: Stuck(device, uid, gid)) as home:
        yield home.asked


@contextlib.contextmanager
def serving(folder, uid, gid, make_home):
    """Whoever hangs there goes on, with an error, once the device is closed."""
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    try:
        options = f"fd={device},rootmode=40700,user_id={uid},group_id={gid}".encode()
        if libc.mount(b"home", os.fsencode(folder), b"fuse", 6, options) != 0:
            raise OSError(ctypes.get_errno(), "mount")
        home = make_home(device)
        server = threading.Thread(target=home.serve)
        server.start()
        try:
            yield home
        finally:
            libc.umount2(os.fsencode(folder), 2)
            os.eventfd_write(home.stop, 1)
            server.join()
            os.close(home.stop)
    finally:
        os.close(device)
