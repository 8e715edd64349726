"""A small relay that puts TLS before PHP's built-in web server.

It also does to the wire what a PHP program cannot: cut an answer short,
refuse, hang. One thread for each connection, one request on each.
"""

import socket
import ssl
import struct
import threading

UPSTREAM_TIMEOUT_S = 60
CLIENT_TIMEOUT_S = 60
HEAD_BYTES_MAX = 65536
ORDER = b"x-double:"


class Relay:
    """Listens on a port of 127.0.0.1 that the kernel chooses.

    upstream: (address, port) of the web server. certificate: path of a PEM
    file with key and certificate, read anew for each connection; None for
    plain http. mode is one of
      "normal"  relays
      "refuse"  closes each connection at once
      "hang"    accepts and says nothing
      "no-http" speaks TLS, then closes without an answer
    """

    def __init__(self, upstream, certificate=None, min_tls=None):
        self.upstream = upstream
        self.certificate = certificate
        self.min_tls = min_tls
        self.mode = "normal"
        self.connections = 0
        self._stop = threading.Event()
        self._threads = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.settimeout(0.2)
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)

    def _start(self, target, *args):
        thread = threading.Thread(target=target, args=args, daemon=True)
        thread.start()
        self._threads = [t for t in self._threads if t.is_alive()]
        self._threads.append(thread)

    def close(self):
        self._stop.set()
        self._listener.close()
        for thread in list(self._threads):
            thread.join(timeout=1)

    def _accept(self):
        while not self._stop.is_set():
            try:
                client, address = self._listener.accept()
            except socket.timeout:
                continue
            except OSError:
                return
            self.connections += 1
            self._start(self._serve, client, address[0])

    def _serve(self, client, address):
        try:
            client.settimeout(CLIENT_TIMEOUT_S)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.mode == "refuse":
                return
            if self.mode == "hang":
                self._stop.wait(CLIENT_TIMEOUT_S)
                return
            if self.certificate is not None:
                client = self._context().wrap_socket(client, server_side=True)
            if self.mode != "no-http":
                self._exchange(client, address)
        except (OSError, ValueError):
            pass  # the client went away or spoke nonsense
        finally:
            client.close()

    def _context(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        if self.min_tls is not None:
            context.minimum_version = self.min_tls
        return context

    def _exchange(self, client, address):
        request = read_request(client)
        answer = self._ask(request, address)
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        orders = [x for x in lines if x.lower().startswith(ORDER)]
        lines = [x for x in lines if x not in orders]
        answer = b"\r\n".join(lines) + b"\r\n\r\n" + body
        if not orders:
            client.sendall(answer)
            if isinstance(client, ssl.SSLSocket):
                client.unwrap()
            return
        how = orders[0].split(b"cut=", 1)[1].strip().decode()
        if how.endswith("%"):
            length = len(answer) * int(how[:-1]) // 100
        else:
            length = int(how or 0)
        client.sendall(answer[:length])
        # A reset, so that the client cannot take the rest for a short body.
        client.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )

    def _ask(self, request, address):
        # PHP sees the client's own address: all of 127/8 is this host.
        with socket.create_connection(
            self.upstream, UPSTREAM_TIMEOUT_S, source_address=(address, 0)
        ) as server:
            server.sendall(request)
            parts = []
            while True:
                part = server.recv(65536)
                if not part:
                    return b"".join(parts)
                parts.append(part)


def read_request(client):
    """One HTTP request, with its head's Connection set to close."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(65536)
        if not part or len(data) > HEAD_BYTES_MAX:
            raise ValueError("no complete request head")
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    names = {
        line.split(b":", 1)[0].strip().lower(): line.split(b":", 1)[1].strip()
        for line in lines[1:]
    }
    if names.get(b"expect", b"").lower() == b"100-continue":
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    length = int(names.get(b"content-length", b"0"))
    while len(body) < length:
        part = client.recv(65536)
        if not part:
            raise ValueError("request body cut short")
        body += part
    drop = (b"connection:", b"expect:", ORDER)
    lines = [x for x in lines if not x.lower().startswith(drop)]
    lines.append(b"Connection: close")
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
