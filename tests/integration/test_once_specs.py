"""`once` and `lint` on specs as real name servers serve them: spellings,
cuts, several documents, discovery. The heavy sweeps are unit tests."""

import json
import socket
import threading

import pytest

import servers
from ispconfig.zonefile import txt_field
from test_once import KINDS, WWW, refused, told
from world import (  # noqa: F401
    ZONE, build, checked, pair, records, rows, spec, spec_owner, target, txt,
    www_rows, zone_text,
)

BARE_DROPS = str.maketrans("", "", '" ')


def bare(text):
    return text.translate(BARE_DROPS)


def raw_line(owner, text, lead=0):
    """The line that ISPConfig's zone writer makes of raw JSON; lead blanks
    behind the first byte move its cut, which falls every 255 bytes."""
    moved = text[0] + " " * lead + text[1:]
    return f"{spec_owner(owner)} 300 TXT " + txt_field(moved).decode()


# -- spellings -----


def spell_json(text):
    return txt("_failover.www", text)


def spell_escaped(text):
    return txt("_failover.www", text.replace('"', '\\"'))


def spell_quoted(text):
    return txt("_failover.www", f'"{text}"')


def spell_quoted_escaped(text):
    return txt("_failover.www", '"' + text.replace('"', '\\"') + '"')


def spell_bare(text):
    return txt("_failover.www", bare(text))


def spell_raw(text):
    return raw_line("www", text)


def spell_bytes(text):
    return txt("_failover.www", text, cut=1)


SPELLINGS = [
    (spell_json, "JSON;"), (spell_escaped, "JSON with escaped quotes;"),
    (spell_quoted, "JSON with escaped quotes;"),
    (spell_quoted_escaped, "JSON with escaped quotes;"),
    (spell_bare, "bare;"), (spell_raw, "bare;"), (spell_bytes, "JSON;"),
]


@KINDS
@pytest.mark.parametrize("form", ["rows", "object"])
def test_spellings(build, target, kind, form):
    """Each spelling is served, read, named by lint, and acts."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    text = www_rows(one, two) if form == "rows" else spec(*checked(one, two))
    for spell, name in SPELLINGS:
        w = build(kind=kind, zones={ZONE: zone_text(
            ZONE, records("www", one, two) + "\n" + spell(text))})
        got = w.run("lint", "www.example.org")
        assert got.returncode == 0, (spell, got.stdout)
        assert f"spelled as {name}" in got.stdout, (spell, got.stdout)
        w.quiet()
        one.close()
        told(w.once(), refused(one),
             f"{WWW} A 127.0.0.2 withdrawn: its checks fail")
        assert w.values("www") == ["127.0.0.3"], spell
        w.ns.stop()
        one.open()


def many(n, port):
    return rows(*((f"{i}.www.{ZONE}.", f"192.0.2.{i}", f"{port}")
                  for i in range(1, n + 1)))


@pytest.mark.parametrize("n, shifts", [(4, 255), (7, 255), (40, 90)])
def test_raw_rows_with_the_cut_at_every_byte(build, n, shifts):
    """Raw JSON as ISPConfig writes it into a BIND zone file, its cut moved by
    one byte from owner to owner."""
    owners = [f"c{lead}" for lead in range(shifts)]
    lines = []
    for lead, owner in enumerate(owners):
        text = rows(*((f"{owner}.{ZONE}.", f"192.0.2.{i}", 443, 300)
                      for i in range(1, n + 1)))
        lines.append(raw_line(owner, text, lead))
    w = build(zones={ZONE: zone_text(ZONE, "\n".join(lines))})
    got = w.run("lint", *(f"{owner}.{ZONE}" for owner in owners))
    wanted = [f"{owner}.{ZONE}: ok: rows, spelled as bare; 1 set, {n} records"
              for owner in owners]
    said = got.stdout.splitlines()
    if n == 40:  # longer than an answer by UDP: lint advises so
        warned = [line.split(" bytes; above 1232 ")[0] for line in said[::2]]
        assert [line.rsplit(" ", 1)[0] for line in warned] == [
            f"{owner}.{ZONE}: warning: _failover.{owner}.{ZONE}: the answer has"
            for owner in owners]
        said = said[1::2]
    assert said == wanted
    assert got.returncode == 0


@pytest.mark.parametrize("n", [4, 7, 40])
def test_raw_rows_act(build, target, n):
    """The whole round on a raw text that was cut."""
    up, down = target("127.0.0.2"), target("127.0.0.3")
    text = rows(*((WWW, f"192.0.2.{i}",
                   f"tcp:{up.port}@127.0.0.2" if i > 1
                   else f"tcp:{down.port}@127.0.0.3")
                  for i in range(1, n + 1)))
    w = build(zones={ZONE: zone_text(
        ZONE, records("www", *(f"192.0.2.{i}" for i in range(1, n + 1)))
        + "\n" + raw_line("www", text))})
    w.quiet()
    down.close()
    told(w.once(), refused(down, data="192.0.2.1"),
         f"{WWW} A 192.0.2.1 withdrawn: its checks fail")
    assert len(w.values("www")) == n - 1


def test_knot_by_transfer(build, target):
    """Knot refuses raw JSON in a file of its own and serves it by transfer."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(axfr=True, zones={ZONE: zone_text(
        ZONE, records("www", one, two) + "\n"
        + raw_line("www", www_rows(one, two)) + "\n"
        + txt("_failover.mail", rows((f"mail.{ZONE}.", "127.0.0.2",
                                      one.port)))
        + "\n" + records("mail", one))})
    with servers.Knot(w.dir / "k", {ZONE: servers.Primary(
            w.ns.addr, w.ns.port)}, axfr=True) as knot:
        w.configure(servers=[knot.server])
        got = w.run("lint", "www.example.org", "mail.example.org")
        assert got.returncode == 0, got.stdout
        assert "spelled as bare" in got.stdout
        assert "spelled as JSON" in got.stdout
        for discover in ("axfr", "provider"):
            w.configure(discover=discover)
            got = w.once("-v")
            assert got.returncode == 0, got.stderr
            assert "127.0.0.3 tcp" in got.stdout
            assert "mail.example.org. A found: 127.0.0.2" in got.stdout


@KINDS
def test_long_txt(build, target, kind):
    """60,000 bytes: beyond UDP, many strings, one spec."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    text = spec(*checked(one, two), comment="x" * 59500)
    w = build(kind=kind, records=records("www", one, two),
              specs={"www": text})
    w.quiet()
    one.close()
    told(w.once(), refused(one),
         f"{WWW} A 127.0.0.2 withdrawn: its checks fail")


# -- several documents, foreign records -----


FOREIGN = ["v=spf1 -all", "site-verify=" + "k" * 200, "MS=ms1234", ""]


@KINDS
def test_several_documents_are_one_spec(build, target, kind):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(kind=kind, records=records("www", one, two), specs={"www": (
        FOREIGN[0], www_rows(one), FOREIGN[1], www_rows(two), FOREIGN[3])})
    w.quiet()
    two.close()
    told(w.once(), refused(two),
         f"{WWW} A 127.0.0.3 withdrawn: its checks fail")


def test_documents_that_contradict(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={"www": (
        json.dumps({"order": "all", "records": [
            {"data": one.addr, "check": one.port}]}),
        json.dumps({"order": "priority", "records": [
            {"data": two.addr, "check": two.port}]}))})
    before = w.files()
    got = w.once()
    assert got.returncode == 1
    assert got.stdout == ""
    assert "_failover.www.example.org " in got.stderr
    assert "order" in got.stderr
    assert w.files() == before


def test_priority_over_documents_needs_prio(build, target):
    """DNS keeps no order among TXT records."""
    one, two = target("127.0.0.2"), target("127.0.0.3")

    def documents(**prio):
        return tuple(spec({"data": t.addr, "check": t.port,
                           **({"prio": p} if prio else {})},
                          order="priority")
                     for p, t in ((2, one), (1, two)))

    w = build(records=records("www", one, two),
              specs={"www": documents()})
    got = w.once()
    assert got.returncode == 1
    assert "prio" in got.stderr
    w.spec("www", documents(prio=True))
    got = w.once()
    assert got.returncode == 0, got.stderr
    assert w.values("www") == ["127.0.0.3"]


def test_only_foreign_texts_is_no_spec(build, target):
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two), specs={"www": FOREIGN[0]})
    before = w.files()
    got = w.once()
    assert got.stdout == ""
    assert "_failover.www.example.org" in got.stderr
    assert w.files() == before


def test_t1_split(build, target):
    """One record of three strings, one empty, cut inside words."""
    one, two = target("127.0.0.2"), target("127.0.0.3")
    text = spec((one.addr, f"tcp:{one.port}"), (two.addr, f"tcp:{two.port}"))
    word = text.index("tcp:") + 2
    number = text.rindex(str(two.port)) + 2
    w = build(records=records("www", one, two), specs={"www": [
        text[:word], "", text[word:number], text[number:]]})
    # A list at build() is one record of these strings.
    w.quiet()
    one.close()
    told(w.once(), refused(one),
         f"{WWW} A 127.0.0.2 withdrawn: its checks fail")


def t3_documents(port, order=1):
    note = {"x-note": "n" * 140}
    docs = [spec({"data": f"192.0.2.{i}", "check": f"tcp:{port}@127.0.0.2"},
                 **note) for i in range(10, 16)]
    docs.append(docs[0].replace(",", ", "))
    return tuple((FOREIGN[:2] + docs)[::order])


@pytest.mark.parametrize("order", [1, -1])
def test_t3_too_long_for_udp(build, target, order):
    t = target("127.0.0.2")
    data = [f"192.0.2.{i}" for i in range(10, 16)]
    w = build(records=records("www", *data),
              specs={"www": t3_documents(t.port, order)})
    got = w.ns.query(f"_failover.{WWW}", "TXT")
    assert got.flags & servers.dns.flags.TC
    got = w.once("-v")
    assert got.returncode == 0, got.stderr
    for d in data:
        assert f" {d}" in got.stdout.split("wanted:")[1]
    w.quiet()


class UdpOnly:
    """A server's UDP side only: TCP to this port is refused."""

    def __init__(self, ns):
        self.ns = ns
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)

    @property
    def server(self):
        return f"127.0.0.1:{self.socket.getsockname()[1]}"

    def serve(self):
        while not self.stop.is_set():
            try:
                data, who = self.socket.recvfrom(65535)
            except TimeoutError:
                continue
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.settimeout(2)
                s.sendto(data, (self.ns.addr, self.ns.port))
                self.socket.sendto(s.recv(65535), who)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(10)
        self.socket.close()


def test_t3_without_tcp(build, target):
    """A cut answer that TCP does not complete is a failed lookup, never "no
    spec"."""
    t, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", "192.0.2.10", "192.0.2.11"),
              specs={"www": t3_documents(t.port)})
    before = w.files()
    with UdpOnly(w.ns) as relay:
        w.configure(servers=[relay.server])
        got = w.once("--deadline", "5s")
    assert got.returncode == 1
    assert "_failover.www.example.org lookup failed" in got.stderr
    assert w.files() == before
    del two


# -- discovery -----


def both(target):
    return target("127.0.0.2"), target("127.0.0.3")


@pytest.mark.parametrize("discover", ["provider", "axfr", "names"])
def test_discovery(build, target, discover):
    one, two = both(target)
    w = build(axfr=True, records="\n".join(
        records(n, one, two) for n in ("www", "a.b")), specs={
            n: rows(*((f"{n}.{ZONE}.", t.addr, t.port) for t in (one, two)))
            for n in ("www", "a.b")})
    # Names in any spelling: relative, absolute, in capitals.
    names = ["WWW", "a.b.example.org."] if discover == "names" else None
    w.configure(discover=discover, names=names)
    w.quiet()
    one.close()
    got = w.once()
    assert got.returncode == 0, got.stderr
    for name in ("www", "a.b"):
        assert f"{name}.{ZONE}. A 127.0.0.2 withdrawn" in got.stdout
        assert w.values(name) == ["127.0.0.3"]


@pytest.mark.parametrize("discover", ["provider", "axfr", "names"])
@pytest.mark.parametrize("owner", ["wild", "*.wild"])
def test_wildcard_owner(build, target, owner, discover):
    one, two = both(target)
    name = f"*.wild.{ZONE}."
    w = build(axfr=True, records=records("*.wild", one, two), specs={
        owner: rows(*((name, t.addr, t.port) for t in (one, two)))})
    w.configure(discover=discover,
                names=[owner] if discover == "names" else None)
    w.quiet()
    one.close()
    told(w.once(), refused(one, name),
         f"{name} A 127.0.0.2 withdrawn: its checks fail")
    assert w.values("*.wild") == w.values("x.wild") == ["127.0.0.3"]


def test_discovery_by_the_apex(build, target):
    """The list too lives in DNS."""
    one, two = both(target)
    names = ["a", "b"]
    w = build(records="\n".join(records(n, one, two) for n in names), specs={
        "@": json.dumps({"names": ["a"]}),
        **{n: rows(*((f"{n}.{ZONE}.", t.addr, t.port) for t in (one, two)))
           for n in names}})
    w.configure(discover="names")
    w.quiet()
    one.close()
    got = w.once()
    assert "a.example.org. A 127.0.0.2 withdrawn" in got.stdout
    assert "b.example.org" not in got.stdout
    w.spec("@", json.dumps({"names": ["a", "b"]}))
    got = w.once()
    assert "b.example.org. A 127.0.0.2" in got.stdout


def test_transfer_refused(build, target):
    """Discovery that fails is told; known names are looked up all the same."""
    one, two = both(target)
    w = build(axfr=True, records=records("www", one, two),
              specs={"www": www_rows(one, two)})
    w.configure(discover="axfr")
    w.settle()
    w.ns.stop()
    w.ns.axfr = False
    w.ns.start()
    w.configure()
    one.close()
    got = w.once()
    assert got.returncode == 1
    assert "transfer" in got.stderr and "REFUSED" in got.stderr
    assert w.values("www") == ["127.0.0.3"]
    assert w.once().stderr == ""


def test_apex_defaults(build, target):
    """Rows keep their own built-in values below the apex spec's."""
    one, two = both(target)
    w = build(records=records("www", one, two), specs={
        "@": json.dumps({"defaults": {
            "requiredFailure": 2, "requiredSuccess": 2, "ttl": 33,
            "retryPeriod": "300ms"}}),
        "www": www_rows(one, two)})
    w.settle()
    one.close()
    got = w.once()
    assert refused(one) in got.stdout
    assert w.values("www") == ["127.0.0.3"]
    one.open()
    w.settle()
    answer = w.ns.query(WWW, "A").answer[0]
    assert answer.ttl == 33


def test_cname_at_the_spec_is_not_followed(build, target):
    one, two = both(target)
    w = build(records=records("www", one, two)
              + "\n_failover.www IN CNAME _failover.other",
              specs={"other": rows((f"other.{ZONE}.", one.addr, one.port))})
    w.configure(discover="names", names=["www"])
    got = w.once()
    assert "_failover.www.example.org" in got.stderr
    assert w.values("www") == ["127.0.0.2", "127.0.0.3"]


def test_one_owner_for_each_set(build, target):
    """The nearest owner has the set; the other claim is an error without
    effect."""
    one, two = both(target)
    w = build(records=records("a.www", one, two), specs={
        "a.www": rows(*((f"a.{WWW}", t.addr, t.port) for t in (one, two))),
        "www": rows((f"a.{WWW}", "192.0.2.66", one.port))})
    got = w.once()
    assert got.returncode == 1
    assert f"a.{WWW}" in got.stderr
    assert "_failover.www.example.org" in got.stderr
    assert w.values("a.www") == ["127.0.0.2", "127.0.0.3"]
    one.close()
    w.once()
    assert w.values("a.www") == ["127.0.0.3"]
