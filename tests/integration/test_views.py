"""Views: who asks gets the nearest first. One BIND that chooses the view by
the key, kept by dynamic updates or in one zone file for each view."""

import json
import re

import dns.flags
import dns.message
import dns.name
import dns.query
import dns.tsig
import pytest

import net
import servers
import world
from service import Service

ZONE = "example.org"
WWW = f"www.{ZONE}."
VIEWS = ("eu", "us", "main")  # main: whoever has none of the keys
ONE, TWO = "127.0.0.2", "127.0.0.3"
TIMEOUT_S = 20


class ViewBind(servers.Bind):
    """Views eu and us by key, and one for everybody else, whose key is main.

    texts    {"eu": records, …} beside SOA, NS and specs
    """

    def __init__(self, directory, texts, specs, dynamic):
        self.dynamic = dynamic
        super().__init__(directory, {ZONE: ""},
                         keys={v: servers.new_key() for v in VIEWS})
        for view in VIEWS:
            self.file(view).parent.mkdir()
            self.file(view).write_text(world.zone_text(
                ZONE, texts[view], specs if view == "main" else None))

    def file(self, view):
        return self.dir / view / f"{ZONE}.zone"

    def key_file(self, view):
        path = self.dir / f"{view}.key"
        path.touch(mode=0o600)
        path.write_text(f'key "{view}" {{ algorithm {self.keys[view][0]}; '
                        f'secret "{self.keys[view][1]}"; }};\n')
        return path

    def _prepare(self):
        command = super()._prepare()
        path = self.dir / "named.conf"
        text = re.sub(r'^zone .*\n', "", path.read_text(), flags=re.M)
        for view in VIEWS:
            clients = "any" if view == "main" else f'key "{view}"'
            grant = (f'update-policy {{ grant {view} zonesub ANY; }};'
                     if self.dynamic else "")
            text += (f'view "{view}" {{ match-clients {{ {clients}; }}; '
                     f'zone "{ZONE}" {{ type primary; file '
                     f'"{self.file(view)}"; {grant} allow-transfer '
                     f'{{ key "{view}"; }}; }}; }};\n')
        path.write_text(text)
        return command

    def reload_view(self, view):
        return (f"{servers.find('rndc')} -c {self.dir}/rndc.conf reload "
                f"{{zone}} IN {view}")

    def seen_by(self, view, name="www", rdtype="A"):
        """The values that the view's audience gets, as its answer says."""
        q = dns.message.make_query(f"{name}.{ZONE}", rdtype)
        q.flags &= ~dns.flags.RD
        if view != "main":
            algorithm, secret = self.keys[view]
            q.use_tsig({dns.name.from_text(view): dns.tsig.Key(
                view, secret, algorithm)})
        answer = dns.query.tcp(q, self.addr, port=self.port,
                               timeout=TIMEOUT_S)
        return sorted(d.to_text() for rrset in answer.answer for d in rrset)


class Scene:
    def __init__(self, agent, ns, directory):
        self.agent, self.ns, self.dir = agent, ns, directory
        self.config = directory / "dnsfailover.conf"
        self.configure()

    def provider(self, view):
        if self.ns.dynamic:
            return f"""\
  type = rfc2136
  server = "{self.ns.server}"
  key-file = "{self.ns.key_file(view)}"
  sign-queries = yes"""
        return f"""\
  type = zonefile
  file = "{self.ns.file(view)}"
  check = "{servers.find('named-checkzone')} -q {{zone}} {{file}}"
  reload = "{self.ns.reload_view(view)}"
  key-file = "{self.ns.key_file(view)}" """

    def configure(self, views=("eu", "us"), mode="enforce", eu=""):
        text = f"""\
agent {{
  state = "{self.dir / 'state' / 'state.db'}"
  allow-targets = {{"127.0.0.0/8"}}
  min-period = "10ms"
}}
"""
        if world.USER:
            text = text.replace("agent {\n", "agent {\n  user = "
                                f'"{world.USER}"\n')
        for view in VIEWS:
            text += f"provider at-{view} {{\n{self.provider(view)}\n}}\n"
        inner = "".join(f'  view "{v}" {{ provider = at-{v}\n'
                        f'    {eu if v == "eu" else ""} }}\n' for v in views)
        self.config.write_text(text + f"""\
zone "{ZONE}" {{
  provider = at-main
  discover = names
  names = {{"www"}}
  servers = {{"{self.ns.server}"}}
  mode = {mode}
{inner}}}
""")

    def run(self, command, *arguments, **how):
        return self.agent(command, *arguments, config=self.config, **how)

    def once(self, code=0):
        got = self.run("once")
        assert got.returncode == code, got.stdout + got.stderr
        return got.stdout.splitlines()

    def json(self, command, *arguments):
        got = self.run(command, *arguments, "--json")
        assert got.returncode == 0, got.stderr
        return [json.loads(x) for x in got.stdout.splitlines()]

    def seen(self):
        return tuple(self.ns.seen_by(v) for v in VIEWS)


def chains(one, two):
    """Each centre first in its own view, the other behind it; everybody else
    gets both."""
    def record(listener, **more):
        return {"data": listener.addr, "check": listener.port, **more}
    return world.spec(record(one, view="eu", prio=1),
                      record(two, view="eu", prio=2),
                      record(two, view="us", prio=1),
                      record(one, view="us", prio=2),
                      record(one, prio=1), record(two, prio=2),
                      order="priority")


@pytest.fixture(params=["rfc2136", "zonefile"])
def scene(request, agent, short_dir):
    if servers.find("named") is None:
        pytest.skip("no named")
    with net.Listener(ONE) as one, net.Listener(TWO) as two:
        texts = {"eu": f"www 60 IN A {ONE}", "us": f"www 60 IN A {TWO}",
                 "main": f"www 60 IN A {ONE}\nall 60 IN A {ONE}"}
        specs = {"@": json.dumps({"debounce": "0s"}),
                 "www": chains(one, two)}
        with ViewBind(short_dir / "ns", texts, specs,
                      request.param == "rfc2136") as ns:
            yield Scene(agent, ns, short_dir), one, two


def test_each_view_has_its_own_order(scene):
    s, one, _ = scene
    assert s.once() == [] and s.seen() == ([ONE], [TWO], [ONE])
    one.close()
    got = s.once()
    for view in ("", " view eu"):
        assert f"{WWW} A{view} {TWO} published: healthy records" in got
        assert f"{WWW} A{view} {ONE} withdrawn: its checks fail" in got
        assert any(re.match(
            rf"{re.escape(WWW)} A{view} shown by 1 of 1 authoritative", x)
            for x in got), got
    assert f"{WWW} ({ONE}, view eu) becomes unavailable: " in str(got)
    assert not any("view us" in x and "ublished" in x for x in got)
    assert s.seen() == ([TWO], [TWO], [TWO])
    assert s.once() == []  # another process: the state keeps them apart
    one.open()
    assert f"{WWW} A view eu {ONE} published: healthy records" in s.once()
    assert s.seen() == ([ONE], [TWO], [ONE])


def test_what_is_shown(scene):
    s, one, _ = scene
    s.once()
    one.close()
    got = s.run("plan")
    assert f"{WWW} A view eu {ONE} would be withdrawn: its checks fail" \
        in got.stdout
    assert "view us" not in got.stdout.replace(", view us)", "")
    s.once()
    status = json.loads(s.run("status", "--json").stdout)
    shown = {(v.get("view"), v["data"]): v["published"]
             for v in status["records"]}
    assert shown == {("eu", ONE): False, ("eu", TWO): True,
                     ("us", ONE): False, ("us", TWO): True,
                     (None, ONE): False, (None, TWO): True}
    assert {v["type"] for v in status["records"]} == {"A"}
    assert "A view eu" in s.run("status").stdout
    got = s.run("explain", f"www.{ZONE}").stdout
    assert "A view eu" in got and "A view us" in got
    events = s.json("history")
    assert {"eu", None} == {e.get("view") for e in events
                            if e["event"] == "withdrawn"}
    assert {e["type"] for e in events if e["event"] == "withdrawn"} == {"A"}
    assert "A view eu" in s.run("history").stdout


def test_doctor_looks_at_views(scene):
    s, _, _ = scene
    got = s.run("doctor", "-v", ZONE)
    for view in ("eu", "us"):
        assert re.search(rf"zone {ZONE}\. view {view}.*provider at-{view} "
                         "shows its records", got.stdout), got.stdout
    assert "nobody can be asked" not in got.stdout
    s.config.write_text("".join(
        x for x in s.config.read_text().splitlines(True)
        if "sign-queries" not in x and not (
            "key-file" in x and not s.ns.dynamic)))
    got = s.run("doctor", "-v", ZONE)
    assert ("sign-queries = yes" if s.ns.dynamic else
            "nobody can be asked what the audience sees") in got.stdout


def test_doctor_asks_the_provider_of_each_view(scene):
    """As deeply as the zone's own, each for what its audience is served."""
    s, one, _ = scene
    s.once()
    one.close()
    s.once()  # eu's and everybody else's serials go on, us's does not
    got = s.run("doctor", "-v", ZONE)
    may = ("key-file: {zone}: the key {view}. may change A, AAAA, CNAME, TXT"
           if s.ns.dynamic else "zone passes the check command as it is")
    for view, serial in (("eu", 2), ("us", 1), ("main", 2)):
        told = [x for x in got.stdout.splitlines() if f" at-{view}: " in x]
        assert any(may.format(zone=f"{ZONE}.", view=view) in x
                   for x in told), got.stdout
        assert any(f"serves serial {serial} of the " in x
                   for x in told), got.stdout


def test_doctor_tells_what_a_view_lacks(scene):
    """Once, and of each view although the words are the same."""
    s, _, _ = scene
    text = s.config.read_text()
    wrong = s.dir / "bad.key"
    wrong.touch(mode=0o600)
    wrong.write_text(s.ns.key_file("eu").read_text().replace(
        s.ns.keys["eu"][1], servers.new_key()[1]))
    for view in ("eu", "us"):
        old = s.ns.key_file(view) if s.ns.dynamic else s.ns.file(view)
        text = text.replace(f'"{old}"',
                            f'"{wrong if s.ns.dynamic else "/nonexistent"}"')
    s.config.write_text(text)
    got = s.run("doctor", ZONE)
    assert got.returncode == 1
    option = "key-file" if s.ns.dynamic else "file"
    for view in ("eu", "us"):
        told = [x for x in got.stdout.splitlines()
                if x.startswith("error: ") and f"at-{view}" in x]
        assert len(told) == 1, got.stdout
        assert f"provider at-{view}: {option}: " in told[0], told
    assert "at-main" not in got.stdout


def test_doctor_wants_no_transfer_of_a_view(scene):
    """Specs are looked for at the zone's own provider, and not by a transfer
    where they are named."""
    s, _, _ = scene
    if not s.ns.dynamic:
        pytest.skip("a file is read, not transferred")
    conf = s.ns.dir / "named.conf"
    conf.write_text(re.sub(r"allow-transfer \{ key[^}]*\};",
                           "allow-transfer { none; };", conf.read_text()))
    s.ns.reload()
    named = s.config.read_text()
    s.config.write_text(named.replace("discover = names",
                                      "discover = provider"))
    told = net.wait_until("no transfer", lambda: [
        x for x in s.run("doctor", ZONE).stdout.splitlines()
        if "its specs cannot be found by a transfer" in x])
    assert [re.search("at-[a-z]+", x)[0] for x in told] == ["at-main"]
    s.config.write_text(named)
    assert "transfer" not in s.run("doctor", ZONE).stdout


def test_a_view_that_the_section_lacks(scene):
    s, one, _ = scene
    s.configure(views=["us"])
    got = s.run("once")
    assert got.returncode == 1
    assert (f"{WWW} A view eu held: _failover.www.{ZONE} /records/0/view: the "
            f'section of zone {ZONE}. has no view "eu"; accepted: "us"'
            ) in got.stderr
    got = s.run("lint", f"www.{ZONE}")
    assert got.returncode == 1
    assert (f": error: _failover.www.{ZONE} /records/0/view: the section of "
            f'zone {ZONE}. in the agent\'s file has no view "eu"; accepted: '
            '"us"') in got.stdout
    one.close()
    s.run("once")
    assert s.seen() == ([ONE], [TWO], [TWO])  # the rest goes on
    s.configure()
    s.once()
    assert s.seen() == ([TWO], [TWO], [TWO])


def test_a_view_that_cannot_be_read_stops_no_other(scene):
    s, one, _ = scene
    assert s.once() == []
    text = s.config.read_text()
    if s.ns.dynamic:
        bad = text.replace(str(s.ns.key_file("eu")), str(s.dir / "bad.key"))
        path = s.dir / "bad.key"
        path.touch(mode=0o600)
        path.write_text(s.ns.key_file("eu").read_text().replace(
            s.ns.keys["eu"][1], servers.new_key()[1]))
    else:
        bad = text.replace(str(s.ns.file("eu")), "/nonexistent/zone")
    s.config.write_text(bad)
    one.close()
    got = s.run("once")
    assert got.returncode == 1
    assert f"{ZONE}. records of view eu at provider at-eu: " in got.stderr
    assert s.seen() == ([ONE], [TWO], [TWO])
    s.config.write_text(text)
    assert f"{WWW} A view eu {ONE} withdrawn: its checks fail" in s.once()
    assert s.seen() == ([TWO], [TWO], [TWO])


def test_a_server_that_does_not_know_the_key(scene):
    """What it says is not believed: the view stays unseen, and its file, of
    which the serial must be served, is put back."""
    s, one, _ = scene
    assert s.once() == []
    stranger = servers.Bind(s.dir / "stranger", {ZONE: world.zone_text(
        ZONE, f"www 60 IN A {TWO}", serial=4294967000)})
    with stranger:
        s.configure(eu=f'servers = {{"{stranger.server}"}}')
        s.config.write_text(s.config.read_text().replace(
            "type = zonefile", 'type = zonefile\n  serial-timeout = "3s"'))
        one.close()
        got = s.run("once", "-v")
    assert f"{WWW} A shown by 1 of 1 authoritative servers" in got.stdout
    assert f"{WWW} A view eu shown by" not in got.stdout
    if s.ns.dynamic:
        assert (f"{WWW} A view eu is not shown by {stranger.server} yet"
                in got.stdout)
        assert s.seen() == ([TWO], [TWO], [TWO])
    else:
        assert "no authoritative server answered" in got.stderr
        assert s.seen() == ([ONE], [TWO], [TWO])


def test_a_record_without_view_is_in_every_view(agent, short_dir):
    if servers.find("named") is None:
        pytest.skip("no named")
    with net.Listener(ONE) as one, net.Listener(TWO) as two:
        spec = world.spec((ONE, one.port), (TWO, two.port))
        texts = {v: f"www 60 IN A {ONE}\nwww 60 IN A {TWO}" for v in VIEWS}
        with ViewBind(short_dir / "ns", texts, {"www": spec}, True) as ns:
            s = Scene(agent, ns, short_dir)
            assert s.once() == []
            one.close()
            s.once()
            assert s.seen() == ([TWO], [TWO], [TWO])
            one.open()
            s.once()
            assert s.seen() == ([ONE, TWO], [ONE, TWO], [ONE, TWO])


def test_the_service_keeps_views_apart(scene):
    """It sees, writes and verifies each view; a restart changes nothing."""
    w, one, _ = scene
    with Service(w) as s:
        one.close()
        s.until("all have the other", lambda: w.seen() == (
            [TWO], [TWO], [TWO]))
        s.wait(f"{WWW} A view eu shown by 1 of 1 authoritative servers")
        assert s.stop() == 0
    with Service(w) as s:
        one.open()
        s.until("the nearest again", lambda: w.seen() == (
            [ONE], [TWO], [ONE]))
        for view in ("", " view eu"):
            s.wait(f"{WWW} A{view} shown by 1 of 1 authoritative servers")
        assert s.err == []
        assert s.stop() == 0
    assert w.once() == []
