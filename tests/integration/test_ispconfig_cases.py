"""The acceptance cases A1 and A3 with their own recorded answers."""

import http.server
import threading

import pytest

from ispconfig_panel import (  # noqa: F401
    apply, run_tool, withdraw,
)


# ---- the cases' own answers ------------------------------------------------------


class Fake(http.server.BaseHTTPRequestHandler):
    """Answers with recorded files: server.plan maps a method to a list of
    (status, body), the last one for ever."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        method = body.split("<s:Body><", 1)[1].split(">", 1)[0]
        trial = method.endswith("_update") and body.count("<key ") == 1
        self.server.seen.append((method, body))
        plan = self.server.plan[method + ("?" if trial else "")]
        status, answer = plan.pop(0) if len(plan) > 1 else plan[0]
        self.send_response(status)
        self.send_header("Content-Type", "text/xml; charset=utf-8")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


REFUSED_ID = (
    b'<?xml version="1.0"?><SOAP-ENV:Envelope xmlns:SOAP-ENV='
    b'"http://schemas.xmlsoap.org/soap/envelope/"><SOAP-ENV:Body>'
    b"<SOAP-ENV:Fault><faultcode>invalid_id</faultcode><faultstring>The ID "
    b"has to be &gt; 0 or -1.</faultstring></SOAP-ENV:Fault></SOAP-ENV:Body>"
    b"</SOAP-ENV:Envelope>")


@pytest.fixture
def fake(shared):
    folder = shared / "cases" / "files" / "ispconfig"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)

    def read(name):
        return (folder / f"{name}.xml").read_bytes()

    rows = read("rr_all-7")
    row = rows[rows.index(b"<item xsi:type"):]
    row = row[:row.index(b"</item></item>") + len(b"</item></item>")]
    one = read("a_get-false").replace(
        b'<return xsi:type="xsd:boolean">false</return>',
        b'<return SOAP-ENC:arrayType="ns2:Map[1]" xsi:type="SOAP-ENC:Array" '
        b'xmlns:ns2="http://xml.apache.org/xml-soap">' + row + b"</return>")
    empty = one.replace(row, b"")
    zone = read("zone_get-7")
    server.seen = []
    server.plan = {
        "login": [(200, read("login"))],
        "logout": [(200, read("a_get-false"))],
        "dns_zone_get": [(200, zone), (200, zone.replace(
            b"2026113003", b"2026113004"))],
        "dns_zone_update?": [(500, REFUSED_ID)],
        "dns_a_update?": [(500, REFUSED_ID)],
        "dns_rr_get_all_by_zone": [(200, rows)],
        "dns_a_get": [(200, one)],
        "dns_aaaa_get": [(200, empty)],
        "dns_cname_get": [(200, empty)],
        "dns_a_update": [(200, read("a_update-ok"))],
    }
    server.read = read
    server.url = f"http://127.0.0.1:{server.server_port}/remote/index.php"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def fake_run(fake, tools, *arguments):
    return run_tool(tools, fake.url, "u", "made-up", *arguments)


TAKE_OUT = apply(withdraw("192.0.2.10", "www.example.test"),
                 zone="example.test")


def fake_methods(fake):
    return [m for m, _ in fake.seen]


def test_a1_files(fake, tools):
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.states() == ["done"] and got["serial"] == 2026113004
    body = dict(fake.seen)["dns_a_update"]
    assert body.endswith('<p xsi:type="xsd:boolean">true</p></dns_a_update>'
                         "</s:Body></s:Envelope>\n")
    assert ('<key xsi:type="xsd:string">zone</key>'
            '<value xsi:type="xsd:string">7</value>') in body


def test_a3a_files(fake, tools):
    fake.plan["dns_a_get"] = [(200, fake.read("a_get-false"))]
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.states() == ["failed"] and "gone" in got.texts()[0]
    assert fake_methods(fake)[-1] == "logout"
    assert all("false}" not in body for _, body in fake.seen)


def test_a3b_files(fake, tools):
    fake.plan["dns_a_update"].insert(0, (500, fake.read("fault-session")))
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.states() == ["done"]
    assert fake_methods(fake).count("login") == 2
    assert fake_methods(fake)[-1] == "logout"


def test_a3c_files(fake, tools):
    fake.plan["dns_a_update"] = [(500, fake.read("fault-session"))]
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.states() == ["failed"] and got.code == 1
    assert fake_methods(fake).count("login") == 2
    assert fake_methods(fake)[-1] == "logout"


def test_a3d_files(fake, tools):
    fake.plan["dns_a_update?"] = [(500, fake.read("fault-permission"))]
    got = fake_run(fake, tools, *TAKE_OUT)
    assert got.err == "auth" and "dns_a_update" in got.text
    assert fake_methods(fake).count("login") == 1
    assert fake_methods(fake)[-1] == "logout"
