"""Checks signatures: a second reading of Amazon's text, in Python, and a third
program, npm aws4, where Node is installed."""

import base64
import hashlib
import hmac
import json
import subprocess
import threading
import urllib.parse


def _quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


def canonical(method, path, query, headers, body):
    """headers: {lower name: value} of the signed ones."""
    pairs = sorted((_quote(k), _quote(v)) for k, v in
                   urllib.parse.parse_qsl(query, keep_blank_values=True,
                                          strict_parsing=bool(query)))
    names = sorted(headers)
    lines = "".join(f"{n}:{' '.join(headers[n].split())}\n" for n in names)
    return "\n".join([
        method, _quote(path, "/"), "&".join(f"{k}={v}" for k, v in pairs),
        lines, ";".join(names), hashlib.sha256(body).hexdigest()])


def signature(secret, time, region, text):
    scope = f"{time[:8]}/{region}/route53/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", time, scope,
                         hashlib.sha256(text.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in (time[:8], region, "route53", "aws4_request", to_sign):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


class Aws4:
    """npm aws4 in a Node program that answers line by line."""

    def __init__(self, script, modules):
        self._lock = threading.Lock()
        self._node = subprocess.Popen(
            ["node", str(script), str(modules)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.checked = 0

    def authorization(self, method, target, headers, body, key, region):
        """The Authorization header that aws4 makes of the request."""
        ask = json.dumps({
            "method": method, "path": target, "headers": headers,
            "body": base64.b64encode(body).decode(), "region": region,
            "id": key[0], "secret": key[1], "token": key[2]})
        with self._lock:
            self._node.stdin.write(ask + "\n")
            self._node.stdin.flush()
            line = self._node.stdout.readline()
            self.checked += 1
        return json.loads(line)["authorization"]

    def close(self):
        self._node.stdin.close()
        self._node.wait(10)
        self._node.stdout.close()
