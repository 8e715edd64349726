"""Sockets for the tests: free ports and listeners that can be switched off.

Every port is chosen by the kernel and every address is on loopback.
"""

import socket
import threading
import time


def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET


def free_port(addr="127.0.0.1"):
    """A port that is free for UDP and TCP on addr at this moment.

    Another program may take it before the caller does: whoever uses it must
    be ready to try again.
    """
    for _ in range(50):
        with socket.socket(family(addr), socket.SOCK_DGRAM) as udp:
            udp.bind((addr, 0))
            port = udp.getsockname()[1]
            with socket.socket(family(addr), socket.SOCK_STREAM) as tcp:
                try:
                    tcp.bind((addr, port))
                except OSError:
                    continue
                return port
    raise RuntimeError(f"no port free for UDP and TCP on {addr}")


def wait_until(what, condition, timeout_s=10.0, every_s=0.02):
    """Polls condition() until it is true and returns its value."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {timeout_s} s")
        time.sleep(every_s)


class Listener:
    """A TCP listener, the target of a probe.

    with Listener("127.0.0.7") as l:
        l.port          # chosen by the kernel, kept over close() and open()
        l.accepts       # connections accepted so far
        l.close()       # from now on connections are refused
        l.open()        # and accepted again, on the same port

    hang=True: a listener whose backlog is full, so that a SYN gets no answer
    and a connect runs into its timeout. close() and open() work as above.
    """

    def __init__(self, addr="127.0.0.1", port=0, hang=False, greeting=b""):
        self.addr = addr
        self.port = port
        self.hang = hang
        self.greeting = greeting
        self.accepts = 0
        self._keeper = None
        self._socket = None
        self._thread = None
        self._fill = []
        self._stop = threading.Event()
        self.open()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self._keeper.close()

    def _bound(self):
        s = socket.socket(family(self.addr), socket.SOCK_STREAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((self.addr, self.port))
        except OSError:
            s.close()
            raise
        self.port = s.getsockname()[1]
        return s

    def open(self):
        if self._socket is not None:
            return self
        # Bound and never listening, it refuses; and while it is there, the
        # kernel gives the port to nobody who asks for any.
        if self._keeper is None:
            self._keeper = self._bound()
        s = self._bound()
        try:
            s.listen(0 if self.hang else 1024)
        except OSError:
            s.close()
            raise
        self._socket = s
        if self.hang:
            self._fill_backlog()
        else:
            self._stop = threading.Event()
            s.settimeout(0.05)
            self._thread = threading.Thread(
                target=self._serve, args=(s, self._stop), daemon=True
            )
            self._thread.start()
        return self

    def _fill_backlog(self):
        """Connects until the kernel no longer completes a handshake."""
        for _ in range(16):
            c = socket.socket(family(self.addr), socket.SOCK_STREAM)
            c.settimeout(0.1)
            self._fill.append(c)
            try:
                c.connect((self.addr, self.port))
            except (TimeoutError, socket.timeout):
                return
        raise RuntimeError(f"the backlog of {self.addr} never became full")

    def _serve(self, listening, stop):
        while not stop.is_set():
            try:
                c, _ = listening.accept()
            except (TimeoutError, socket.timeout):
                continue
            except OSError:
                # A client that reset the connection before it was accepted
                # ends here too; only close() ends the thread.
                continue
            self.accepts += 1
            with c:
                if self.greeting:
                    try:
                        c.sendall(self.greeting)
                    except OSError:
                        pass

    def close(self):
        """Refuses connections from now on; the port stays ours to re-open."""
        if self._socket is None:
            return
        if self._thread is not None:
            self._stop.set()
            try:
                self._socket.shutdown(socket.SHUT_RDWR)  # wakes accept()
            except OSError:
                pass  # where it does not, accept() has a timeout
            self._thread.join(10)
            self._thread = None
        for c in self._fill:
            c.close()
        self._fill = []
        self._socket.close()
        self._socket = None
