"""An HTTP server on loopback that a double or a relay answers from.

    class Api(Server):
        def handle(self, request): return Answer(200, {"data": …})

`fault` makes it misbehave, see FAULTS; `requests` holds what came in.
"""

import collections
import http.server
import json
import socket
import threading
import time
import urllib.parse

FAULTS = {
    "lost": "the next write is carried out, and nobody is told",
    "cut": "the next write's connection ends unread",
    "forbidden": "writes: 403",
    "refused": "writes: refused for what is in them",
    "broken": "everything: 500 with a page in HTML",
    "garbled": "everything: 200 with JSON that is cut",
    "busy": "the next write: 429, Retry-After: 1",
    "busy_long": "writes: 429, Retry-After: 3600",
    "budget": "answers say that no calls are left",
}
PAGE = "<html><head><title>500</title></head><body>Server Error</body></html>"

Request = collections.namedtuple(
    "Request", "method path query headers text at")


class Answer:
    def __init__(self, status, body=None, headers=(), kind=None):
        self.status = status
        self.headers = dict(headers)
        if body is None:
            self.body = b""
        elif isinstance(body, str):
            self.body = body.encode()
            self.headers.setdefault("Content-Type", kind or "text/plain")
        else:
            self.body = json.dumps(body).encode()
            self.headers.setdefault("Content-Type", "application/json")


class Server:
    def __init__(self):
        self.lock = threading.RLock()
        self.requests = []
        self.writes = 0
        self.fault = None
        self.met_at = None
        self.before_write = None  # called before one is looked at
        self.states = None  # a list: truth() after each write goes there
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                     self._handler())
        self._http.daemon_threads = True
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever,
                                        args=(0.01,))
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    # -- a double's own --------------------------------------------------------

    def handle(self, request):
        raise NotImplementedError

    def truth(self):
        return None

    def is_write(self, request):
        return request.method != "GET"

    def forbidden(self):
        return Answer(403, {"message": "forbidden"})

    def refused(self):
        return Answer(422, {"message": "refused by the test"})

    def busy(self):
        return Answer(429, {"message": "too many requests"})

    def budget(self, spent):
        """Headers of every answer."""
        return {}

    # -- what came in ----------------------------------------------------------

    def calls(self, method=None):
        """["GET /path", …] so far."""
        return [f"{r.method} {r.path}" for r in self.requests
                if method in (None, r.method)]

    def times_since_met(self):
        return [r.at for r in self.requests
                if self.met_at is not None and r.at >= self.met_at]

    def misbehave(self, fault):
        assert fault is None or fault in FAULTS
        self.fault = fault
        self.met_at = None

    def _faulty(self, request):
        """An Answer, None (all is well), or "close"."""
        f, write = self.fault, self.is_write(request)
        if f == "broken":
            return Answer(500, PAGE, kind="text/html")
        if f == "garbled":
            return Answer(200, '{"result": [', kind="application/json")
        if not write or f in (None, "lost", "budget"):
            return None
        self.met_at = self.met_at or request.at
        if f == "cut":
            self.fault = None
            return "close"
        if f == "busy":
            self.fault = None
        if f in ("busy", "busy_long"):
            answer = self.busy()
            answer.headers["Retry-After"] = "1" if f == "busy" else "3600"
            return answer
        return self.forbidden() if f == "forbidden" else self.refused()

    def answer(self, request):
        if self.before_write is not None and self.is_write(request):
            self.before_write()
        with self.lock:
            self.requests.append(request)
            answer = self._faulty(request)
            if answer is None:
                answer = self.handle(request)
                if self.is_write(request) and 200 <= answer.status < 300:
                    self.writes += 1
                    if self.states is not None:
                        self.states.append(self.truth())
                    if self.fault == "lost":
                        self.fault = None
                        return "close"
            if answer != "close":
                answer.headers.update(self.budget(self.fault == "budget"))
            return answer

    def _handler(self):
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def respond(self):
                size = int(self.headers.get("Content-Length") or 0)
                text = self.rfile.read(size).decode()
                path, _, query = self.path.partition("?")
                answer = server.answer(Request(
                    self.command, urllib.parse.unquote(path),
                    dict(urllib.parse.parse_qsl(query,
                                                keep_blank_values=True)),
                    self.headers, text, time.monotonic()))
                if answer == "close":
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                self.send_response(answer.status)
                for k, v in answer.headers.items():
                    self.send_header(k, v)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                self.wfile.write(answer.body)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = respond

        return Handler
