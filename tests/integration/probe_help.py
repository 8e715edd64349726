"""One probe at a time, against servers that a test writes line by line."""

import contextlib
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading

import net

SANITIZER = re.compile(r"(Address|Leak)Sanitizer|: runtime error: ")


class Probe:
    """probe("https", "127.0.0.1:443", "path=/x", …): one result as a dict;
    with repeat=N: the list of results."""

    def __init__(self, tools):
        self.path = tools / "probe_one"

    def __call__(self, kind, target, *words, command=None, prefix=(), **named):
        args = [*map(str, prefix), str(self.path), kind, str(target),
                *words, *(f"{k}={v}" for k, v in named.items())]
        if command is not None:
            args += ["--", *map(str, command)]
        for _ in range(10):
            got = subprocess.run(args, capture_output=True, text=True,
                                 timeout=60, errors="replace")
            assert not SANITIZER.search(got.stderr), got.stderr[-8000:]
            assert got.returncode == 0, got.stderr
            rows = [json.loads(line) for line in got.stdout.splitlines()]
            # A machine so busy that the probe itself was late: once more.
            if all(r["reason"] != "late" for r in rows):
                break
        return rows if "repeat" in named else rows[0]


def says(row):
    """What a result amounts to, for comparisons."""
    return row["verdict"], row["reason"]


class Server:
    """A TCP server whose handler(connection, number) says what it likes.

    with Server(handler) as s: s.target is "address:port". The connection is
    closed when the handler returns; what it raises on a lost connection is
    nobody's business. tls: an ssl.SSLContext.
    """

    def __init__(self, handler, addr="127.0.0.1", tls=None):
        self.handler = handler
        self.tls = tls
        self.count = 0
        self.over = threading.Event()
        self.threads = []
        self.socket = socket.socket(net.family(addr), socket.SOCK_STREAM)
        self.socket.bind((addr, 0))
        self.socket.listen(64)
        self.socket.settimeout(0.05)
        self.port = self.socket.getsockname()[1]
        self.target = (f"[{addr}]" if ":" in addr else addr) + f":{self.port}"

    def __enter__(self):
        self.threads.append(threading.Thread(target=self.accept, daemon=True))
        self.threads[0].start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(10)
        self.socket.close()

    def accept(self):
        while not self.over.is_set():
            try:
                c, _ = self.socket.accept()
            except (TimeoutError, socket.timeout):
                continue
            except OSError:
                continue
            self.count += 1
            t = threading.Thread(target=self.serve, args=(c, self.count),
                                 daemon=True)
            self.threads.append(t)
            t.start()

    def serve(self, c, number):
        c.settimeout(10)
        with contextlib.suppress(OSError, ssl.SSLError), contextlib.closing(c):
            if self.tls is not None:
                c = self.tls.wrap_socket(c, server_side=True)
            with contextlib.closing(c):
                self.handler(c, number)


def sends(data, *, then=None, read=False):
    """A handler that sends data; read: after the request; then "hang": keeps
    the connection until the client ends it."""

    def handler(c, _):
        if read:
            read_request(c)
        c.sendall(data)
        if then == "hang":
            hang(c)
    return handler


def hang(c):
    """Reads until the other side has gone."""
    with contextlib.suppress(OSError):
        while c.recv(4096):
            pass


def read_request(c):
    """The request's header, as text."""
    got = b""
    while b"\r\n\r\n" not in got:
        more = c.recv(4096)
        if not more:
            break
        got += more
    return got.decode("latin-1")


# -- certificates --------------------------------------------------------------

def openssl(*args):
    path = shutil.which("openssl")
    if path is None:
        import pytest
        pytest.skip("openssl is not installed")
    subprocess.run([path, *map(str, args)], check=True, capture_output=True)


class Authority:
    """A test CA in a folder; cert(names) makes one certificate of it."""

    def __init__(self, folder):
        self.folder = folder
        self.n = 0
        self.ca = folder / "ca.pem"
        self.key = folder / "ca.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:P-256", "-nodes", "-days", "30", "-keyout",
                self.key, "-out", self.ca, "-subj", "/CN=test CA", "-addext",
                "basicConstraints=critical,CA:true")

    def cert(self, names, days=20, start=None, end=None):
        """out: (certificate, key); start, end: YYYYMMDDHHMMSSZ instead of
        days."""
        self.n += 1
        stem = self.folder / f"cert{self.n}"
        key, csr, crt = (stem.with_suffix(s) for s in (".key", ".csr", ".pem"))
        ext = stem.with_suffix(".ext")
        san = ",".join(("IP:" if re.fullmatch(r"[0-9.]+|.*:.*", n) else "DNS:")
                       + n for n in names)
        ext.write_text(f"subjectAltName={san}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", key, "-out", csr, "-subj", "/CN=test")
        if end is None:
            openssl("x509", "-req", "-in", csr, "-CA", self.ca, "-CAkey",
                    self.key, "-CAcreateserial", "-days", days, "-extfile",
                    ext, "-out", crt)
        else:
            self.sign_between(csr, crt, ext, start, end)
        return crt, key

    def sign_between(self, csr, crt, ext, start, end):
        """openssl x509 of Debian 12 knows only whole days from now."""
        index = self.folder / f"index{self.n}"
        index.write_text("")
        config = self.folder / f"ca{self.n}.cnf"
        config.write_text(
            "[ca]\ndefault_ca=x\n[x]\n"
            f"database={index}\nrand_serial=yes\nnew_certs_dir={self.folder}\n"
            "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n")
        openssl("ca", "-batch", "-config", config, "-cert", self.ca,
                "-keyfile", self.key, "-in", csr, "-out", crt, "-extfile", ext,
                "-startdate", start, "-enddate", end, "-notext")

    def context(self, names, **how):
        crt, key = self.cert(names, **how)
        c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        c.load_cert_chain(crt, key)
        return c


def program(name):
    """A server's path, or a skip."""
    path = shutil.which(name, path=os.environ.get("PATH", "")
                        + ":/usr/sbin:/sbin:/usr/local/sbin")
    if path is None:
        import pytest
        pytest.skip(f"{name} is not installed")
    return path


@contextlib.contextmanager
def running(args, ready, log, **how):
    """A server in the foreground; ready(): it answers. Ended by its pid."""
    with open(log, "wb") as out:
        p = subprocess.Popen([str(a) for a in args], stdin=subprocess.DEVNULL,
                             stdout=out, stderr=out, **how)
    try:
        net.wait_until(f"{args[0]} answers",
                       lambda: p.poll() is not None or ready(), 20)
        if p.poll() is not None:
            raise RuntimeError(f"{args[0]} ended: "
                               + open(log, errors="replace").read()[-2000:])
        yield p
    finally:
        p.terminate()
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()


def listens(port, addr="127.0.0.1"):
    """Whether somebody accepts connections there."""
    with contextlib.suppress(OSError):
        socket.create_connection((addr, port), 1).close()
        return True
    return False
