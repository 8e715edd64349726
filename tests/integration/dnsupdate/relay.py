"""A relay for DNS that knows messages, and can misbehave over TCP.

    with Relay(server) as r:          # r.addr, r.port, r.server
        r.on_answer = lose            # called for each answer

on_query(query) and on_answer(query, answer) get message bytes and return
bytes to send on (to the server; to the client), or LOSE (the connection is
closed at once), or STALL (nothing is sent on), or for on_query a
Reply(bytes): the server never sees it.
"""

import collections
import select
import socket
import threading

Reply = collections.namedtuple("Reply", "wire")
LOSE = object()
STALL = object()
UPDATE = 5
CONNECT_S = 20


def opcode(wire):
    return wire[2] >> 3 & 15


def rcode(wire):
    return wire[3] & 15


class Relay:
    def __init__(self, upstream):
        self.upstream = upstream  # with addr and port
        self.messages = []        # (query, answer) seen so far
        self.connections = 0
        self.heal()
        self._stop = threading.Event()
        self._threads = []

    def heal(self):
        self.on_query = lambda query: query
        self.on_answer = lambda query, answer: answer

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._listener.settimeout(0.1)
        self.addr, self.port = self._listener.getsockname()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind((self.addr, self.port))
        self._udp.settimeout(0.1)
        self._begin(self._accept)
        self._begin(self._serve_udp)
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._listener.close()
        self._udp.close()
        for thread in self._threads:
            thread.join(5)

    @property
    def server(self):
        return f"{self.addr}:{self.port}"

    def _begin(self, target, *args):
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads = [t for t in self._threads if t.is_alive()] + [thread]
        thread.start()

    def _accept(self):
        while not self._stop.is_set():
            try:
                client, _ = self._listener.accept()
            except socket.timeout:
                continue
            except OSError:
                return
            self.connections += 1
            self._begin(self._serve, client)

    def _serve_udp(self):
        """Datagrams pass as they are."""
        while not self._stop.is_set():
            try:
                wire, client = self._udp.recvfrom(65535)
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                    s.settimeout(CONNECT_S)
                    s.sendto(wire, (self.upstream.addr, self.upstream.port))
                    self._udp.sendto(s.recv(65535), client)
            except OSError:
                continue  # nothing came, or it is over

    def _serve(self, client):
        try:
            with client, socket.create_connection(
                    (self.upstream.addr, self.upstream.port),
                    CONNECT_S) as server:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._relay(client, server)
        except OSError:
            pass  # one of them went away

    def _relay(self, client, server):
        asked = {}  # id: query
        buffers = {client: b"", server: b""}
        while not self._stop.is_set():
            ready, _, _ = select.select([client, server], [], [], 0.1)
            for s in ready:
                part = s.recv(262144)
                if not part:
                    return
                buffers[s] += part
                while len(buffers[s]) >= 2:
                    n = int.from_bytes(buffers[s][:2], "big")
                    if len(buffers[s]) < 2 + n:
                        break
                    wire = buffers[s][2:2 + n]
                    buffers[s] = buffers[s][2 + n:]
                    if s is client:
                        asked[wire[:2]] = wire
                        out = self.on_query(wire)
                    else:
                        query = asked.get(wire[:2], b"")
                        self.messages.append((query, wire))
                        out = self.on_answer(query, wire)
                    if out is LOSE:
                        return
                    if out is STALL:
                        continue
                    to = server if s is client else client
                    if isinstance(out, Reply):
                        to, out = client, out.wire
                    to.sendall(len(out).to_bytes(2, "big") + out)

    def updates(self):
        """The (query, answer) pairs of UPDATE messages."""
        return [x for x in self.messages if x[0] and opcode(x[0]) == UPDATE]


def flip(wire, at=-1):
    """One bit of the byte at this place turned over."""
    at %= len(wire)
    return wire[:at] + bytes([wire[at] ^ 1]) + wire[at + 1:]


def servfail(query):
    """An unsigned SERVFAIL for it, with nothing but its zone or question."""
    end = 12
    while query[end]:
        end += query[end] + 1
    end += 5
    head = query[:2] + bytes([0x80 | query[2] & 0x79, 2]) + b"\0\1" + bytes(6)
    return head + query[12:end]
