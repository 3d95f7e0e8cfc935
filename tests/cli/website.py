# SPDX-License-Identifier: ISC
"""An HTTPS server on loopback whose answers a test chooses, its CA, and a
proxy.

openssl makes the CA and the certificates anew for each run.
"""

import contextlib
import http.server
import socket
import ssl
import subprocess
import threading
from pathlib import Path

from program import PATIENCE


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=PATIENCE)


class Authority:
    """A CA that issues certificates."""

    def __init__(self, folder, name):
        self.folder, self.name = Path(folder), name
        self.certificate, self.key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign", "-keyout", self.key, "-out", self.certificate)

    def issue(self, name, hosts="DNS:localhost", days="2"):
        """(certificate, key) of a server. A negative number of days makes an expired certificate."""
        key, request, certificate, extensions = (self.folder / f"{self.name}-{name}.{end}"
                                                 for end in ("key", "csr", "pem", "ext"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
                "-keyout", key, "-out", request)
        extensions.write_text(f"subjectAltName={hosts}\n", encoding="ascii")
        sign = ("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                "-extfile", extensions, "-out", certificate)
        try:
            openssl(*sign, "-days", days)
        except subprocess.CalledProcessError:       # OpenSSL 3.4 and later refuse a negative number
            openssl(*sign, "-not_before", "20200101000000Z", "-not_after", "20200102000000Z")
        return certificate, key


class Page:
    """The content of a path of the server, and how the server sends it.

    By default the server behaves well; a test sets attributes to change that.
    If answer is set, the server calls it with the request's handler, and
    ignores the other attributes.
    """

    def __init__(self, body=b"", etag=None, modified=None):
        self.body, self.etag, self.modified = body, etag, modified
        self.cut = None         # bytes of the body after which the connection ends
        self.pause = None       # (bytes, event): waits there for the event
        self.headers = {}
        self.answer = None

    def send(self, handler):
        if self.answer:
            self.answer(handler)
            return
        asked = handler.headers
        if self.etag and asked.get("If-None-Match") == self.etag:
            self.head(handler, 304)
            return
        if not asked.get("If-None-Match") and self.modified and asked.get("If-Modified-Since") == self.modified:
            self.head(handler, 304)
            return
        self.head(handler, 200, {"Content-Length": str(len(self.body))})
        self.send_body(handler)

    def head(self, handler, status, more=()):
        handler.send_response(status)
        known = {"ETag": self.etag, "Last-Modified": self.modified, **dict(more), **self.headers}
        for name, value in known.items():
            if value is not None:
                handler.send_header(name, value)
        handler.end_headers()

    def send_body(self, handler):
        part = self.body if handler.command == "GET" else b""
        stop = len(part) if self.cut is None else min(self.cut, len(part))
        if self.pause:
            first, event = self.pause
            handler.wfile.write(part[:first])
            handler.wfile.flush()
            event.wait(PATIENCE)
            handler.wfile.write(part[first:stop])
        else:
            handler.wfile.write(part[:stop])
        if stop < len(part):
            handler.close_connection = True


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        site = self.server.site
        site.requests.append(self)
        site.paths.append(self.path)
        page = site.pages.get(self.path, site.missing)
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            if page is None:
                self.send_error(404)
            else:
                page.send(self)

    def do_HEAD(self):
        self.do_GET()

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    site = None

    def handle_error(self, *_):
        """Prints nothing: tests make clients that hang up, or refuse the certificate."""


class Site:
    """A running server.

    .pages has each Page by its path; .missing is the Page of all other paths, and without one they are 404. .requests
    has the requests in their order. A connection has one request object, so .paths has the path of each.
    """

    def __init__(self, certificate=None, port=0):
        self.pages, self.requests, self.paths, self.missing = {}, [], [], None
        self.server = Server(("127.0.0.1", port), Handler)
        self.server.site = self
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            # The thread of the connection does the handshake.
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
            self.scheme = "https"
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def url(self, path="/filter.pkbf", host="localhost"):
        return f"{self.scheme}://{host}:{self.port}{path}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Proxy:
    """A proxy that knows CONNECT. .asked has the targets that clients asked for."""

    def __init__(self, port=0):
        self.asked = []
        self.socket = socket.create_server(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.socket.accept()
                threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        with contextlib.suppress(OSError), client:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            target = head.split()[1].decode()
            self.asked.append(target)
            # Servers of the tests listen here, also where /etc/hosts lacks localhost.
            with socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2]))) as server:
                client.sendall(b"HTTP/1.1 200 yes\r\n\r\n")
                back = threading.Thread(target=self.copy, args=(server, client), daemon=True)
                back.start()
                self.copy(client, server)
                back.join(PATIENCE)

    @staticmethod
    def copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)      # ends the wait in accept
        self.socket.close()
