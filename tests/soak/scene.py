"""What the soak probes: targets that live, die, hang and lie, each at an
address of its own, and the zones that name them."""

import contextlib
import json
import pathlib
import random
import socket
import socketserver
import ssl
import subprocess
import threading

import net
import world

PERIODS = (1, 2, 3)  # accessPeriod in seconds, by turns
# group: (network, how many)
GROUPS = {
    "steady": ("127.0.1", 40),  # always answers
    "dead": ("127.128.1", 10),  # always a black hole
    "flap": ("127.0.2", 20),    # its listener is closed and opened
    "vanish": ("127.0.3", 10),  # a black hole now and then
    "http": ("127.0.4", 10),    # says 500 now and then
    "https": ("127.0.5", 6),    # the same under TLS
    "icmp": ("127.0.6", 10),    # a black hole now and then
    "udp": ("127.0.7", 6),      # silent now and then
    "edited": ("127.0.8", 12),  # always answers; its specs are edited
}
ALIVE = ("steady", "edited")
FIXED = ("steady", "dead")  # nothing about them changes
ZONES = {"example.org": [g for g in GROUPS if g != "edited"],
         "example.net": ["edited"]}

DEAD = "127.128.0.0/16"
RULES = f"""
table ip soak {{
 set holes {{ type ipv4_addr; flags interval; elements = {{ {DEAD} }}; }}
 chain in {{ type filter hook input priority 0;
  ip daddr @holes drop
 }}
}}
"""


def addresses(group):
    network, n = GROUPS[group]
    return [f"{network}.{1 + i}" for i in range(n)]


def period(address):
    return PERIODS[int(address.rsplit(".", 1)[1]) % len(PERIODS)]


def nft(text):
    subprocess.run(["nft", "-f", "-"], input=text, text=True, check=True)


def hole(address, on):
    nft(f"{'add' if on else 'delete'} element ip soak holes {{ {address} }}\n")


# -- servers -------------------------------------------------------------------

class Web(socketserver.ThreadingTCPServer):
    """HTTP on every address; ill: those that say 500."""

    allow_reuse_address = daemon_threads = True
    request_queue_size = 128

    def __init__(self, context=None):
        self.context, self.ill = context, set()
        super().__init__(("0.0.0.0", 0), WebAnswer)
        threading.Thread(target=self.serve_forever, args=(0.1,),
                         daemon=True).start()


class WebAnswer(socketserver.BaseRequestHandler):
    def handle(self):
        s = self.request
        s.settimeout(5)
        with contextlib.suppress(OSError):
            here = s.getsockname()[0]
            if self.server.context:
                s = self.server.context.wrap_socket(s, server_side=True)
            s.recv(65536)
            status = 500 if here in self.server.ill else 200
            s.sendall(b"HTTP/1.1 %d X\r\nContent-Length: 2\r\n"
                      b"Connection: close\r\n\r\nok" % status)
            s.recv(65536)


class Echo:
    """UDP on some addresses, one port; mute: those that do not answer."""

    def __init__(self, addrs):
        self.mute, self.port = set(), 0
        for addr in addrs:
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((addr, self.port))
            self.port = s.getsockname()[1]
            threading.Thread(target=self._serve, args=(s, addr),
                             daemon=True).start()

    def _serve(self, s, addr):
        while True:
            data, who = s.recvfrom(2048)
            if addr not in self.mute:
                s.sendto(data, who)


def certificate(directory):
    key, crt = directory / "key.pem", directory / "crt.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:P-256", "-nodes", "-days", "9", "-keyout", key,
         "-out", crt, "-subj", "/CN=soak"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, key)
    return context


class Scene:
    """All targets, all alive. turn(n) changes one of them or a spec."""

    def __init__(self, directory, seed):
        nft(RULES)
        self.chance = random.Random(seed)
        self.down = set()
        self.plain = net.Listener("0.0.0.0")  # steady, vanish, edited
        # Nobody listens there, but the port stays ours.
        self.nobody = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.nobody.bind(("0.0.0.0", 0))
        self.web = Web()
        self.tls = Web(certificate(pathlib.Path(directory)))
        self.echo = Echo(addresses("udp"))
        self.listeners = {}
        port = 0
        for a in addresses("flap"):
            self.listeners[a] = net.Listener(a, port)
            port = self.listeners[a].port
        self.checks = {
            "flap": port, "icmp": "icmp",
            "dead": self.nobody.getsockname()[1],
            "http": {"type": "http", "port": self.web.server_address[1]},
            "https": {"type": "https", "port": self.tls.server_address[1],
                      "verify": False},
            "udp": {"type": "udp", "port": self.echo.port, "send": "x",
                    "expect": "x"},
        }

    # -- life and death

    def set_alive(self, group, address, alive):
        if alive != (address in self.down):
            return
        (self.down.discard if alive else self.down.add)(address)
        if group == "flap":
            listener = self.listeners[address]
            (listener.open if alive else listener.close)()
        elif group in ("vanish", "icmp"):
            hole(address, not alive)
        else:
            ill = {"http": self.web.ill, "https": self.tls.ill,
                   "udp": self.echo.mute}[group]
            (ill.discard if alive else ill.add)(address)

    @contextlib.contextmanager
    def no_waiting(self):
        """What is dead refuses meanwhile: no probe is out for long."""
        hole(DEAD, False)
        try:
            yield
        finally:
            hole(DEAD, True)

    def flip(self):
        """One target changes its state."""
        group = self.chance.choice(
            [g for g in GROUPS if g not in ALIVE + FIXED])
        address = self.chance.choice(addresses(group))
        self.set_alive(group, address, address in self.down)

    def revive(self):
        for group in GROUPS:
            if group not in ALIVE + FIXED:
                for address in addresses(group):
                    self.set_alive(group, address, True)

    # -- zones

    def sets(self, zone):
        """{name: [(group, address), …]} of a zone: four targets each."""
        found = {}
        for group in ZONES[zone]:
            if group == "dead":
                continue
            each = addresses(group)
            for i in range(0, len(each), 4):
                found[f"{group}{i // 4}"] = [(group, a) for a in each[i:i + 4]]
        if "dead" in ZONES[zone]:
            for i, a in enumerate(addresses("dead")):
                found[f"steady{i}"].append(("dead", a))
        return found

    def spec(self, targets, **members):
        return json.dumps({
            "defaults": {"timeout": "800ms", "requiredFailure": 2,
                         "requiredSuccess": 2, "retryPeriod": "200ms"},
            "damping": False,
            "records": [{
                "data": a, "check": self.check(group, a)}
                for group, a in targets], **members}, separators=(",", ":"))

    def check(self, group, address):
        check = self.checks.get(group, self.plain.port)
        if group == "icmp":
            check = {"type": "icmp"}
        elif not isinstance(check, dict):
            check = {"type": "tcp", "port": check}
        return {**check, "accessPeriod": f"{int(period(address) * 1000)}ms"}

    def zone(self, zone, edits=None):
        """The zone's text. edits: {name: members}; None for a name: only
        half of its records are in the spec."""
        edits = edits or {}
        specs = {"@": json.dumps({"debounce": "1s", "maxChange": "100%",
                                  "allDown": "none"})}
        records = []
        for name, targets in self.sets(zone).items():
            records += [f"{name} 60 IN A {a}" for _, a in targets]
            more = edits.get(name, {})
            specs[name] = (self.spec(targets[:2]) if more is None
                           else self.spec(targets, **more))
        return world.zone_text(zone, "\n".join(records), specs).replace(
            " IN TXT", " 2 IN TXT")

    def published(self, zone):
        """{name: addresses} once all that can live does."""
        return {name: sorted(a for group, a in targets if group != "dead")
                for name, targets in self.sets(zone).items()}
