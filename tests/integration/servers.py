"""Real name servers for the tests: Bind, Nsd and Knot.

    with Bind(directory, {"example.org": ZONE_TEXT}) as ns:
        ns.addr, ns.port                 # 127.0.0.1 and a port of its own
        ns.query("www.example.org", "A") # dns.message.Message
        ns.zone_file("example.org")      # path; edit it, then
        ns.reload("example.org")
        ns.reload_command                # for the agent's `reload` option

A value of `zones` is the text of the zone (str), a pathlib.Path that is
served where it lies, or Primary(addr, port): a secondary zone.

Each server runs in the foreground in a directory of its own, as the user who
runs the tests, on a port the kernel chose; a port lost in a race is chosen
again. It is ended by its process id.
"""

import base64
import collections
import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import time

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.zone

import net

START_S = 20
PORT_TRIES = 8

Primary = collections.namedtuple("Primary", "addr port")


def find(program):
    """The program's path, or None; sbin is not on every user's PATH."""
    path = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
    return shutil.which(program, path=path)


def _apparmor():
    try:
        with open("/sys/module/apparmor/parameters/enabled") as f:
            return f.read().startswith("Y")
    except OSError:
        return False


class Server:
    """What the three have in common. Options:

    addr      the loopback address to listen on
    port      a fixed port, for tests in a network namespace of their own
    axfr      True: whole-zone transfers to everybody; False: to nobody; the
              name of a key in `keys`: to whoever signs with it
    keys      {"name": ("hmac-sha256", base64 secret)}
    update    as axfr, for dynamic updates (Bind and Knot)
    broken    zones that are expected not to load (answered with SERVFAIL)
    options   further lines for the server's main section
    config    further lines at the end of the configuration
    """

    program = ""

    def __init__(self, directory, zones, *, addr="127.0.0.1", port=None,
                 axfr=False, keys=None, update=False, broken=(), options="",
                 config=""):
        self.dir = pathlib.Path(directory)
        self.dir.mkdir(parents=True, exist_ok=True)
        self.addr = addr
        self.port = port
        self.axfr = axfr
        self.keys = dict(keys or {})
        self.update = update
        self.broken = {z.rstrip(".").lower() for z in broken}
        self.options = options
        self.config = config
        self._fixed_port = port is not None
        self.identity = secrets.token_hex(8)
        self._process = None
        self._known = False
        self._zones = {}
        self.log_file = self.dir / f"{type(self).__name__.lower()}.log"
        for zone, source in zones.items():
            self._add_zone(zone.rstrip(".").lower(), source)

    # -- zones ---------------------------------------------------------------

    def _add_zone(self, zone, source):
        if isinstance(source, (Primary, pathlib.Path)):
            self._zones[zone] = source
            return
        path = self.dir / f"{zone}.zone"
        if isinstance(source, bytes):
            path.write_bytes(source)
        else:
            path.write_text(source)
        self._zones[zone] = path

    def zone_file(self, zone):
        """The path of the zone's file (a secondary's copy included)."""
        zone = zone.rstrip(".").lower()
        source = self._zones[zone]
        if isinstance(source, Primary):
            return self.dir / f"{zone}.secondary"
        return source

    # -- life ----------------------------------------------------------------

    @property
    def pid(self):
        return self._process.pid if self._process else None

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Starts the server; again after stop(): on the same port."""
        for _ in range(PORT_TRIES):
            again = self._fixed_port or self.port is not None
            if not again:
                self.port = net.free_port(self.addr)
            if self._start_once():
                self._fixed_port = True
                return self
            if not self._fixed_port:
                self.port = None
        raise RuntimeError(f"{self.program}: no port to listen on\n{self.log()}")

    def _start_once(self):
        """True when it answers, False when its port was taken."""
        command = self._prepare()
        self._known = False
        with open(self.log_file, "ab") as log:
            mark = log.tell()
            self._process = subprocess.Popen(
                command, cwd=self.dir, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )
        self._write_reload()
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            ended = self._process.poll() is not None
            if self._port_lost(self.log()[mark:]):
                self.stop()
                return False
            if ended:
                raise RuntimeError(
                    f"{self.program} ended with "
                    f"{self._process.returncode}\n{self.log()[-4000:]}"
                )
            if self._ready():
                return True
            time.sleep(0.02)
        raise RuntimeError(
            f"{self.program} does not answer\n{self.log()[-4000:]}"
        )

    @staticmethod
    def _port_lost(log):
        return any(
            text in log.lower()
            for text in ("address in use", "address already in use")
        )

    def _is_me(self):
        """Another test's server may have the port: each knows its name. By
        TCP, because BIND answers this at most three times a second by UDP."""
        if not self._known:
            answer = self.query("id.server", "TXT", tcp=True, timeout_s=1,
                                rdclass="CH")
            self._known = any(
                self.identity in rdata.to_text()
                for rrset in answer.answer for rdata in rrset
            )
        return self._known

    def _ready(self):
        try:
            if not self._is_me():
                return False
        except (OSError, dns.exception.DNSException):
            return False
        for zone in self._zones:
            wanted = (
                (dns.rcode.SERVFAIL,) if zone in self.broken
                else (dns.rcode.NOERROR,)
            )
            try:
                if self.query(zone, "SOA", timeout_s=1).rcode() not in wanted:
                    return False
            except (OSError, dns.exception.DNSException):
                return False
        return True

    def stop(self):
        """Ends the server by its process id; fine when it has ended."""
        p, self._process = self._process, None
        if p is None:
            return
        if p.poll() is None:
            p.terminate()
            try:
                p.wait(10)
            except subprocess.TimeoutExpired:
                pass
        # NSD's children share the session; nobody else is in it.
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        p.wait(10)

    def log(self):
        try:
            return self.log_file.read_text(errors="replace")
        except OSError:
            return ""

    # -- use -----------------------------------------------------------------

    @property
    def server(self):
        """The server as the agent's `servers` option takes it."""
        host = f"[{self.addr}]" if ":" in self.addr else self.addr
        return f"{host}:{self.port}"

    def query(self, name, rdtype, tcp=False, timeout_s=5.0, **how):
        """One question; a truncated answer is returned as it is."""
        q = dns.message.make_query(name, rdtype, **how)
        q.flags &= ~dns.flags.RD
        ask = dns.query.tcp if tcp else dns.query.udp
        with contextlib.suppress(ConnectionResetError, EOFError):
            return ask(q, self.addr, timeout=timeout_s, port=self.port)
        # NSD ends its connections when it reloads: once more.
        return ask(q, self.addr, timeout=timeout_s, port=self.port)

    def values(self, name, rdtype, tcp=True):
        """The data of the answer's set as sorted strings."""
        answer = self.query(name, rdtype, tcp=tcp).answer
        want = dns.rdatatype.from_text(rdtype)
        return sorted(
            rdata.to_text() for rrset in answer if rrset.rdtype == want
            for rdata in rrset
        )

    def serial(self, zone):
        """The served SOA serial, or None."""
        for rrset in self.query(zone, "SOA").answer:
            if rrset.rdtype == dns.rdatatype.SOA:
                return rrset[0].serial
        return None

    def wait_serial(self, zone, serial, timeout_s=10.0):
        net.wait_until(
            f"{zone} with serial {serial}",
            lambda: self.serial(zone) == serial, timeout_s,
        )

    def reload(self, zone=None):
        """Asks the server to read the zone again; see wait_serial."""
        subprocess.run(
            self.reload_command.replace("{zone}", zone or "").split(),
            check=True, timeout=20, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    @property
    def reload_command(self):
        """What the agent runs: no shell quoting needed. Debian's kill
        program is not on every system, the shell's own is."""
        return f"/bin/sh {self.dir}/reload {{zone}}"

    def _write_reload(self):
        (self.dir / "reload").write_text(f"kill -HUP {self.pid}\n")

    # -- for the three below ---------------------------------------------------

    def _binary(self, program):
        """AppArmor profiles go by path and keep a packaged server out of the
        test's directory: a copy runs unconfined."""
        path = find(program)
        if path is None:
            raise FileNotFoundError(f"{program} is not installed")
        if not _apparmor():
            return path
        copy = self.dir / program
        if not copy.exists():
            shutil.copy(path, copy)
        return str(copy)


def new_key(algorithm="hmac-sha256"):
    """A fresh TSIG key for `keys`."""
    return algorithm, base64.b64encode(secrets.token_bytes(32)).decode()


class Bind(Server):
    program = "named"

    def _grant(self, who):
        if who is True:
            return "{ any; }"
        return f'{{ key "{who}"; }}' if who else "{ none; }"

    def _prepare(self):
        self._control_port = net.free_port()
        self._control_key = new_key()[1]
        lines = [
            f'key "{name}" {{ algorithm {alg}; secret "{secret}"; }};'
            for name, (alg, secret) in self.keys.items()
        ]
        control = (
            'key "control" { algorithm hmac-sha256; '
            f'secret "{self._control_key}"; }};\n'
        )
        v6 = ":" in self.addr
        listen = f"port {self.port} {{ {self.addr}; }};"
        lines += [
            control,
            "controls { inet 127.0.0.1 port "
            f'{self._control_port} allow {{ 127.0.0.1; }} '
            'keys { "control"; }; };',
            "options {",
            f'  directory "{self.dir}";',
            f"  listen-on {'{ none; };' if v6 else listen}",
            f"  listen-on-v6 {listen if v6 else '{ none; };'}",
            "  pid-file none; session-keyfile none; lock-file none;",
            "  recursion no; notify no; dnssec-validation no; reuseport no;",
            f'  server-id "{self.identity}";',
            "  empty-zones-enable no; minimal-responses no;",
            f"  allow-transfer {self._grant(self.axfr)};",
            f"  {self.options}",
            "};",
        ]
        for zone, source in self._zones.items():
            body = f'file "{self.zone_file(zone)}"; '
            if isinstance(source, Primary):
                body += "type secondary; masterfile-format text; primaries { "
                body += f"{source.addr} port {source.port}; }}; "
            else:
                body += "type primary; "
                if self.update:
                    body += f"allow-update {self._grant(self.update)}; "
            lines.append(f'zone "{zone}" {{ {body}}};')
        lines.append(self.config)
        (self.dir / "named.conf").write_text("\n".join(lines) + "\n")
        (self.dir / "rndc.conf").write_text(
            control + 'options { default-key "control"; default-server '
            f"127.0.0.1; default-port {self._control_port}; }};\n"
        )
        return [self._binary("named"), "-g", "-n", "1", "-c",
                str(self.dir / "named.conf")]

    def _port_lost(self, log):
        # named goes on without a listener or a control channel.
        return super()._port_lost(log) or "could not listen on" in log

    @property
    def reload_command(self):
        return f"{find('rndc')} -c {self.dir}/rndc.conf reload {{zone}}"


class Nsd(Server):
    program = "nsd"

    def _prepare(self):
        lines = [
            "server:",
            f"  ip-address: {self.addr}@{self.port}",
            '  username: ""',
            '  database: ""',
            f'  zonesdir: "{self.dir}"',
            f'  pidfile: "{self.dir}/nsd.pid"',
            f'  xfrdfile: "{self.dir}/xfrd.state"',
            f'  zonelistfile: "{self.dir}/zone.list"',
            f'  xfrdir: "{self.dir}"',
            f'  cookie-secret-file: "{self.dir}/cookies"',
            "  zonefiles-write: 0",
            "  server-count: 1",
            "  xfrd-reload-timeout: 0",
            "  rrl-ratelimit: 0",
            "  verbosity: 1",
            f"  identity: {self.identity}",
            self.options,
            "remote-control:",
            "  control-enable: no",
        ]
        for name, (algorithm, secret) in self.keys.items():
            lines += ["key:", f'  name: "{name}"', f"  algorithm: {algorithm}",
                      f'  secret: "{secret}"']
        for zone, source in self._zones.items():
            lines += ["zone:", f'  name: "{zone}"',
                      f'  zonefile: "{self.zone_file(zone)}"']
            if isinstance(source, Primary):
                lines.append(
                    f"  request-xfr: AXFR {source.addr}@{source.port} NOKEY"
                )
            if self.axfr:
                key = "NOKEY" if self.axfr is True else self.axfr
                lines += [f"  provide-xfr: 127.0.0.0/8 {key}",
                          f"  provide-xfr: ::1 {key}"]
        lines.append(self.config)
        (self.dir / "nsd.conf").write_text("\n".join(lines) + "\n")
        return [self._binary("nsd"), "-d", "-c", str(self.dir / "nsd.conf")]


class Knot(Server):
    program = "knotd"

    def _prepare(self):
        (self.dir / "db").mkdir(exist_ok=True)
        self._socket = self.dir / "k.sock"
        lines = [
            "server:",
            f"  rundir: {self.dir}",
            f"  identity: {self.identity}",
            f"  listen: {self.addr}@{self.port}",
            "  udp-workers: 1",
            "  tcp-workers: 1",
            "  background-workers: 1",
            self.options,
            "control:",
            f"  listen: {self._socket}",
            "log:",
            "  - target: stderr",
            "    any: info",
            "database:",
            f"  storage: {self.dir}/db",
        ]
        if self.keys:
            lines.append("key:")
        for name, (algorithm, secret) in self.keys.items():
            lines += [f"  - id: {name}", f"    algorithm: {algorithm}",
                      f"    secret: {secret}"]
        primaries = [s for s in self._zones.values() if isinstance(s, Primary)]
        if primaries:
            lines.append("remote:")
        for p in sorted(set(primaries)):
            lines += [f"  - id: p{p.port}", f"    address: {p.addr}@{p.port}"]
        rules = []
        for action, who in (("transfer", self.axfr), ("update", self.update)):
            if who:
                rules += [f"  - id: {action}", f"    action: {action}"]
                rules.append(
                    "    address: [127.0.0.0/8, ::1]" if who is True
                    else f"    key: {who}"
                )
        if rules:
            lines += ["acl:"] + rules
        lines.append("zone:")
        for zone, source in self._zones.items():
            lines += [f"  - domain: {zone}",
                      f"    file: {self.zone_file(zone)}",
                      "    zonefile-load: whole",
                      "    journal-content: none"]
            if isinstance(source, Primary):
                lines.append(f"    master: p{source.port}")
            granted = [a for a, w in (("transfer", self.axfr),
                                      ("update", self.update)) if w]
            if granted:
                lines.append(f"    acl: [{', '.join(granted)}]")
        lines.append(self.config)
        (self.dir / "knot.conf").write_text("\n".join(lines) + "\n")
        return [self._binary("knotd"), "-c", str(self.dir / "knot.conf")]

    @property
    def reload_command(self):
        return f"{find('knotc')} -s {self._socket} zone-reload {{zone}}"


def axfr(server, zone):
    """The zone's names and sets by a whole transfer (dns.zone.Zone)."""
    return dns.zone.from_xfr(
        dns.query.xfr(server.addr, zone, port=server.port, lifetime=10)
    )
