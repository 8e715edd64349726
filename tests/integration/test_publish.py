"""publish: the text a place is given is the text that DNS then serves.

Printed records are put into real zones and read back as bytes; --write goes
the whole way through the provider."""

import json
import random
import re
import shutil
import string
import subprocess

import dns.rdatatype
import pytest

import net
import servers
from ispconfig import double
from ispconfig.scene import EMPTY, Machine, Scene, escaped
from ispconfig.zonefile import render_zone
from world import WWW, build, checked, records, rows, spec, target  # noqa: F401,E501

ORG = "example.org"
OWNER = f"_failover.www.{ORG}."
A, B, C = "192.0.2.1", "192.0.2.2", "192.0.2.3"
SMALL = rows((WWW, A, 443), (WWW, B, 443))
KINDS = [servers.Bind, servers.Nsd, servers.Knot]
PDNS = "/usr/sbin/pdns_server"


def document(*data, **members):
    return json.dumps({"records": [{"data": d, "check": 443} for d in data],
                       **members})


# What a text may hold that some reader on the way takes for its own.
HARD = document(A, B, checks={"web": {
    "type": "http", "port": 80, "path": "/a;b(c)$d@e'f",
    "host": "www.example.org",
    "body": 'é "quoted" \\ back\tslash \U0001f642 ; ( ) \x7f'}})


@pytest.fixture
def print_as(agent, tmp_path):
    """print_as(format, text) → (standard output, standard error)"""

    def publish(form, text, *arguments, code=0, name="www.example.org"):
        path = tmp_path / "spec.json"
        path.write_text(text)
        got = agent("publish", name, path, "--format", form, *arguments,
                    "--zone", ORG)
        assert got.returncode == code, got.stdout + got.stderr
        return got.stdout, got.stderr

    return publish


def served(ns, name=OWNER):
    """The texts (bytes) at a name, and the lengths of their strings."""
    answer = ns.query(name, "TXT", tcp=True).answer
    texts = [b"".join(r.strings) for s in answer for r in s
             if s.rdtype == dns.rdatatype.TXT]
    lengths = [len(x) for s in answer for r in s
               if s.rdtype == dns.rdatatype.TXT for x in r.strings]
    return texts, lengths


def canonical(print_as, text):
    return print_as("raw", text)[0].removesuffix("\n").encode()


def words(rng, n):
    letters = string.ascii_letters + ' ;()"\\äß€\U0001f642$@{}[]:,\t'
    return "".join(rng.choice(letters) for _ in range(n))


def random_spec(rng, size):
    """A valid spec of about that many bytes."""
    checks, records = {}, []
    while len(json.dumps([checks, records], ensure_ascii=False)) < size:
        name = f"c{len(checks)}"
        checks[name] = {"type": "http", "port": rng.randrange(1, 65536),
                        "path": f"/{name}", "body": words(
                            rng, rng.randrange(1, 400))}
        records.append({
            "data": f"198.51.{len(records) // 250}.{len(records) % 250 + 1}",
            "check": rng.choice([name, [name, 443], 80])})
    return json.dumps({"checks": checks, "records": records},
                      ensure_ascii=rng.random() < 0.5)


def zone_with(*records):
    return EMPTY + "".join(records)


# -- printed --------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_bind_format_survives_the_server(kind, print_as, short_dir):
    rng = random.Random(7)
    wanted, lines = {}, []
    for i in range(24):
        text = HARD if i == 0 else random_spec(
            rng, 20000 if i % 8 == 1 else rng.randrange(10, 4000))
        name = f"n{i}.example.org"
        record, _ = print_as("bind", text, name=name)
        wanted[f"_failover.{name}."] = print_as("raw", text, name=name)[0]
        lines.append(record)
    with kind(short_dir / "ns", {ORG: zone_with(*lines)}) as ns:
        for name, text in wanted.items():
            texts, lengths = served(ns, name)
            assert texts == [text.removesuffix("\n").encode()]
            assert all(n == 255 for n in lengths[:-1])


def test_bind_format_passes_every_checker(print_as, tmp_path):
    rng = random.Random(8)
    lines = [print_as("bind", random_spec(rng, 20000 if i == 0 else 900),
                      name=f"n{i}.example.org")[0] for i in range(40)]
    path = tmp_path / "zone"
    path.write_text(zone_with(*lines))
    for command in (["named-checkzone", "-q", ORG, path],
                    ["nsd-checkzone", ORG, path]):
        program = servers.find(command[0])
        assert program is not None, command[0]
        subprocess.run([program, *command[1:]], check=True, timeout=60)
    out = tmp_path / "compiled"
    subprocess.run([servers.find("named-compilezone"), "-q", "-F", "text",
                    "-o", out, ORG, path], check=True, timeout=60)
    assert out.read_text().count("TXT") == 40


def test_bind_format_survives_powerdns(print_as, tmp_path):
    if not shutil.which(PDNS):
        pytest.skip("PowerDNS is not installed")
    record, _ = print_as("bind", HARD)
    zone = tmp_path / "example.org.zone"
    zone.write_text(zone_with(record))
    (tmp_path / "named.conf").write_text(
        f'zone "{ORG}" {{ type primary; file "{zone}"; }};\n')
    port = net.free_port()
    process = subprocess.Popen(
        [PDNS, f"--config-dir={tmp_path}", "--daemon=no", "--guardian=no",
         "--launch=bind", f"--bind-config={tmp_path}/named.conf",
         "--local-address=127.0.0.1", f"--local-port={port}",
         f"--socket-dir={tmp_path}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    try:
        ns = servers.Server(tmp_path, {})
        ns.port = port

        def texts():
            try:
                return served(ns)[0]
            except OSError:
                return None

        assert net.wait_until("PowerDNS answers", texts) == [
            canonical(print_as, HARD)]
    finally:
        process.kill()
        process.wait(10)


@pytest.mark.parametrize("kind", [servers.Bind, servers.Nsd])
@pytest.mark.parametrize("text", [SMALL, "large"])
def test_ispconfig_format_survives_its_zone_writer(kind, text, print_as,
                                                   short_dir, agent):
    if text == "large":
        text = rows(*[(WWW, f"192.0.2.{i}", 443) for i in range(1, 60)])
    out, notes = print_as("ispconfig", text)
    stored = out.removesuffix("\n")
    large = len(stored) > 255

    class Panel:
        def soa(self, _):
            return {"ttl": 60, "ns": f"ns1.{ORG}.", "mbox": f"host.{ORG}.",
                    "serial": 1, "refresh": 7200, "retry": 540,
                    "expire": 604800, "minimum": 60}

        def rrs(self, _):
            rows_ = ((f"{ORG}.", "NS", f"ns1.{ORG}."),
                     ("ns1", "A", "127.0.0.1"), (OWNER, "TXT", stored))
            return [{"name": n, "type": t, "data": d, "ttl": 60,
                     "active": "Y"} for n, t, d in rows_]

    with kind(short_dir / "ns", {ORG: render_zone(Panel(), 1)}) as ns:
        (got,), _ = served(ns)
    if large:
        assert "bare spelling" in notes and '"' not in stored
        assert got == stored.encode()
    else:
        assert "escaped quotes" in notes and "clients and resellers" in notes
        assert got == canonical(print_as, text)
    again = short_dir / "again"
    again.write_bytes(got)
    back = agent("publish", "www.example.org", again, "--format", "raw",
                 "--zone", ORG)
    assert back.stdout.removesuffix("\n").encode() == canonical(print_as, text)


def test_ispconfig_says_what_it_cannot_hold(print_as):
    _, said = print_as("ispconfig", HARD, code=1)
    assert "ISPConfig damages JSON of more than 255 bytes" in said
    assert "/checks/web/" in said


def route53_bytes(value):
    """As Route 53 reads a value: strings, \\ooo octal."""
    strings = re.findall(r'"((?:[^"\\]|\\.)*)"', value)
    assert " ".join(f'"{s}"' for s in strings) == value
    out = [re.sub(rb"\\([0-7]{3})|\\(.)",
                  lambda m: bytes([int(m[1], 8)]) if m[1] else m[2],
                  s.encode("ascii")) for s in strings]
    assert all(len(s) <= 255 for s in out)
    return b"".join(out)


def test_route53_format_is_its_value_syntax(print_as):
    rng = random.Random(9)
    for text in (SMALL, HARD, random_spec(rng, 1500)):
        out, notes = print_as("route53", text)
        assert route53_bytes(out.removesuffix("\n")) == canonical(
            print_as, text)
        assert "of 4000 characters" in notes and "32000" in notes
    _, said = print_as("route53", random_spec(rng, 5000), code=1)
    assert "accepted: at most 4000" in said


def test_bare_is_the_shortest_and_refuses_by_name(print_as):
    out, _ = print_as("bare", SMALL)
    assert out == ("{rows:[{name:www.example.org.,data:192.0.2.1,check:443},"
                   "{name:www.example.org.,data:192.0.2.2,check:443}]}\n")
    assert canonical(print_as, out) == canonical(print_as, SMALL)
    _, said = print_as("bare", HARD, code=1)
    assert "spec.json: error: /checks/web/" in said


def test_size_on_the_wire_is_a_note(print_as):
    assert print_as("raw", SMALL)[1] == ""
    _, notes = print_as("raw", random_spec(random.Random(1), 1300))
    assert re.search(r"note: an answer with this text has \d+ bytes; above "
                     "1232 it takes TCP", notes)
    # Canonical text says more than the file: names.
    large = json.dumps({"records": [
        {"data": f"198.51.{i >> 8}.{i & 255}"} for i in range(1500)]})
    assert len(large) < 65000
    _, said = print_as("raw", large, code=1)
    assert re.search(r"found \d+ bytes of canonical text; accepted: at most "
                     "65000", said)


def test_an_invalid_spec_is_refused_as_lint_does(agent, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"records":[{"data":"192.0.2.1","chek":"443"}]}')
    lint = agent("lint", path, "--name", f"www.{ORG}", "--zone", ORG)
    got = agent("publish", f"www.{ORG}", path, "--zone", ORG)
    assert (got.returncode, got.stdout) == (1, "")
    assert got.stderr == lint.stdout
    assert "/records/0/chek" in got.stderr


def test_standard_input_and_usage(agent, tmp_path):
    got = agent("publish", f"www.{ORG}", "-", "--zone", ORG, input=SMALL)
    assert got.returncode == 0 and got.stdout.startswith(OWNER)
    for arguments, said in (
            ((), "needs a NAME and a FILE"),
            (("www.example.org",), "needs a NAME and a FILE"),
            (("www.example.org", "-", "more"), "needs a NAME and a FILE"),
            (("www.example.org", "-", "--format", "json"),
             "--format: found \"json\"; accepted: bind, ispconfig, route53"),
            (("www.example.org", "-", "--dry-run"), "belongs to --write"),
            (("www.example.org", "-", "--zone", "example.net"),
             "not within --zone"),
            (("www..example.org", "-"), "empty label")):
        got = agent("publish", *arguments, input=SMALL)
        assert got.returncode == 2 and said in got.stderr, got.stderr
    got = agent("publish", f"www.{ORG}", tmp_path / "none", "--zone", ORG)
    assert got.returncode == 1 and "none: error: No such file" in got.stderr


def test_the_configuration_tells_the_zone(build, tmp_path):  # noqa: F811
    """A relative name needs the zone; a name of the apex spec a look at it."""
    w = build(records=f"www 60 IN A {A}", specs={
        "@": '{"checks":{"web":443}}'})
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(
        {"records": [{"name": "www", "data": A, "check": "web"},
                     {"name": "www", "data": B, "check": "web"}]}))
    got = w.run("publish", "www.example.org", path, "--format", "raw")
    assert got.returncode == 0, got.stderr
    assert json.loads(got.stdout)["records"][0]["name"] == WWW
    assert "checks" not in json.loads(got.stdout)
    got = w.agent("publish", "www.example.org", path)
    assert got.returncode == 1 and "--zone tells it" in got.stderr


# -- written, zone file ---------------------------------------------------------


def write(w, text, *arguments, name="www.example.org", code=0, **how):
    got = w.run("publish", name, "-", "--write", *arguments, input=text, **how)
    assert got.returncode == code, got.stdout + got.stderr
    return got


@pytest.mark.parametrize("kind", KINDS)
def test_write_a_new_one_and_another(kind, build, print_as):  # noqa: F811
    w = build(records=f"www 60 IN A {A}", kind=kind)
    before = w.file.read_text()
    got = write(w, SMALL)
    assert got.stderr == ""
    assert got.stdout.splitlines()[:2] == [
        "no spec is published at _failover.www.example.org now",
        f"+ {WWW} A: {A}, {B}"]
    assert re.fullmatch(r"written: provider files, zone example.org., serial "
                        r"\d+, \d+ bytes as JSON", got.stdout.splitlines()[2])
    assert re.fullmatch(rf"{w.ns.server} shows it after \d+\.\d s",
                        got.stdout.splitlines()[3])
    assert served(w.ns)[0] == [canonical(print_as, SMALL)]
    kept = [x for x in w.file.read_text().splitlines()
            if not x.startswith(OWNER)]
    assert [x.split(";")[-1] for x in kept] == [
        x.split(";")[-1] for x in before.splitlines()]

    got = write(w, document(B, C))
    assert got.stdout.splitlines()[0] == f"~ {WWW} A: +{C}, -{A}"
    assert served(w.ns)[0] == [canonical(print_as, document(B, C))]
    assert w.file.read_text().count("_failover") == 1

    got = write(w, document(B, C))
    assert got.stdout.splitlines()[0] == "= the same spec"
    assert got.stdout.splitlines()[1].startswith("as it is: provider files")
    got = write(w, document(B, C, allDown="none"))
    assert got.stdout.splitlines()[0] == (
        "= the same sets and values; other members differ")

    history = w.run("history", "www.example.org").stdout
    assert history.count("spec published") == 3
    assert "bytes as JSON through files" in history


def test_the_agent_acts_on_what_was_written(build, target):  # noqa: F811
    one, two = target("127.0.0.2"), target("127.0.0.3")
    w = build(records=records("www", one, two))
    write(w, spec(*checked(one, two)))
    w.settle()
    one.close()
    assert w.once().returncode == 0
    assert w.values("www") == [two.addr]


@pytest.mark.parametrize("kind", KINDS)
def test_write_texts_of_any_kind(kind, build, print_as):  # noqa: F811
    w = build(records=f"www 60 IN A {A}", kind=kind)
    rng = random.Random(11)
    for text in (HARD, random_spec(rng, 20000), random_spec(rng, 300)):
        got = write(w, text)
        assert " shows it after " in got.stdout
        assert served(w.ns)[0] == [canonical(print_as, text)]


def test_write_keeps_what_others_have_there(build):  # noqa: F811
    w = build(records='_failover.www 77 IN TXT "v=other" ; theirs\n'
              f"www 60 IN A {A}")
    write(w, SMALL, "--format", "bare")
    texts, _ = served(w.ns)
    assert b"v=other" in texts and len(texts) == 2
    assert '_failover.www 77 IN TXT "v=other" ; theirs\n' in w.file.read_text()
    assert any(t.startswith(b"{rows:[{name:") for t in texts)
    # Two of ours become one; whose owner was inherited says it itself.
    w.edit(lambda text: text + '_failover.www TXT "[{}]"\n  TXT "v=third"\n')
    got = write(w, document(A, C))
    assert "the spec published now is not valid: " in got.stdout
    texts, _ = served(w.ns)
    assert sorted(texts)[0] == b"v=other" or b"v=other" in texts
    assert len(texts) == 3 and b"v=third" in texts


def test_dry_run_shows_and_writes_nothing(build):  # noqa: F811
    w = build(records=f"www 60 IN A {A}")
    before = w.files()
    got = write(w, SMALL, "--dry-run")
    assert got.stdout.splitlines()[1:] == [
        f"+ {WWW} A: {A}, {B}", "nothing was written (--dry-run)"]
    assert w.files() == before and not w.state.exists()


def test_a_failed_check_leaves_the_file(build):  # noqa: F811
    w = build(records=f"www 60 IN A {A}")
    w.configure(check="/bin/false")
    before = w.files()
    got = write(w, SMALL, code=1)
    assert "the check of the edited file failed" in got.stderr
    assert "nothing was written" in got.stderr
    assert w.files() == before and served(w.ns)[0] == []
    assert w.run("history").stdout.count("spec published") == 0


def test_a_failed_reload_puts_the_file_back(build):  # noqa: F811
    w = build(records=f"www 60 IN A {A}")
    w.configure(reload="/bin/false")
    before = w.file.read_bytes()
    got = write(w, SMALL, code=1)
    assert "reload failed" in got.stderr
    assert "the old file was put back" in got.stderr
    assert w.file.read_bytes() == before


def test_a_server_that_does_not_follow_is_named(build, short_dir):  # noqa: F811
    w = build(records=f"www 60 IN A {A}")
    with servers.Bind(short_dir / "old", {ORG: w.file.read_text()}) as old:
        w.configure(servers=[w.ns.server, old.server])
        got = write(w, SMALL, "--deadline", "1s", code=1)
        lines = got.stdout.splitlines()
        assert re.fullmatch(rf"{w.ns.server} shows it after \d+\.\d s",
                            lines[-2])
        assert lines[-1].startswith(
            f"written, not yet seen at {old.server}: ")
        assert "NXDOMAIN" in lines[-1]


def test_what_is_there_must_be_seen_first(build):  # noqa: F811
    w = build(records=f"www 60 IN A {A}")
    before = w.files()
    w.ns.stop()
    got = write(w, SMALL, code=1)
    assert "nothing was written" in got.stderr
    assert w.files() == before


def test_write_names_what_is_wrong(build, tmp_path):  # noqa: F811
    w = build(records=f"www 60 IN A {A}")
    before = w.files()
    got = write(w, SMALL, name="www.example.net", code=2)
    assert "no zone of the configuration" in got.stderr
    got = write(w, SMALL, "--format", "route53", code=2)
    assert "takes raw or bare" in got.stderr
    got = write(w, '{"records":[{"data":1}]}', code=1)
    assert "-: error: _failover.www.example.org /records/0/data" in got.stderr
    got = write(w, SMALL, "--zone", ORG, code=2)
    assert "the configuration says which zone" in got.stderr
    assert w.files() == before


def test_a_running_round_is_waited_for(build, agent):  # noqa: F811
    w = build(records=f"www 60 IN A {A}")
    w.settle()
    lock = w.state.with_name("state.db.lock")
    with open(lock, "a") as held:
        subprocess.run(["flock", "-n", str(held.fileno())], check=True,
                       pass_fds=[held.fileno()])
        got = write(w, SMALL, "--wait", "200ms", code=75)
        assert got.stdout.count("written") == 0
    write(w, SMALL)


def test_the_zone_is_the_longest_match(build, short_dir):  # noqa: F811
    zones = {z: f"$TTL 60\n@ SOA ns h ( 1 ; serial\n 1 1 1 1 )\n@ NS ns\n"
             "ns A 127.0.0.1\n" for z in (ORG, f"sub.{ORG}")}
    w = build(zones=zones)
    write(w, document(A, B), name=f"www.sub.{ORG}")
    assert "_failover" not in w.ns.zone_file(ORG).read_text()
    assert f"_failover.www.sub.{ORG}." in w.ns.zone_file(
        f"sub.{ORG}").read_text()


# -- written, ISPConfig ---------------------------------------------------------


@pytest.fixture(scope="module", params=[servers.Bind, servers.Nsd])
def panel(request, tmp_path_factory):
    if double.missing() is not None:
        pytest.skip(double.missing())
    with Machine(tmp_path_factory.mktemp("panel"), kind=request.param) as m:
        yield m


@pytest.fixture
def scene(panel, agent, tmp_path):
    with Scene(panel, agent, tmp_path) as s:
        s.add("www", "A", A)
        s.serve()
        yield s


def publish(scene, text, *arguments, code=0, cron=True, deadline="20s"):
    """publish --write, and the panel's cron as soon as it is written."""
    scene.isp.clear_calls()
    command = [scene.agent.path, "-c", str(scene.config), "publish",
               "www.example.org", "-", "--write", "--deadline", deadline,
               *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    process.stdin.write(text)
    process.stdin.close()
    process.stdin = None
    try:
        said = []
        while True:
            line = process.stdout.readline()
            said.append(line)
            if not line or line.startswith(("written:", "as it is:")):
                break
        if cron and said[-1].startswith("written:"):
            scene.cron()
        out, err = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    out = "".join(said) + out
    assert scene.isp.password not in out + err
    assert process.returncode == code, out + err
    return out, err


def spec_rows(scene):
    return [r for r in scene.isp.rrs(scene.zone) if r["type"] == "TXT"]


def test_panel_gets_a_new_row(scene, print_as):
    serial = scene.isp.serial(scene.zone)
    out, err = publish(scene, SMALL)
    row, = spec_rows(scene)
    assert row["data"] == print_as("ispconfig", SMALL)[0].removesuffix("\n")
    assert row["name"] == OWNER and row["active"] == "Y"
    assert row["ttl"] == 300 and row["server_id"] == 1
    assert served(scene.ns)[0] == [canonical(print_as, SMALL)]
    assert re.search(rf"^{re.escape(scene.ns.server)} shows it after", out,
                     re.M)
    assert scene.isp.serial(scene.zone) > serial
    scene.session_is_clean()


@pytest.mark.parametrize("name", [OWNER, "_failover.www"])
def test_panel_replaces_the_row(name, scene, print_as):
    row_id = scene.add(name, "TXT", SMALL, ttl=120)
    other = scene.add(name, "TXT", "v=other")
    scene.serve()
    before = scene.dump()
    text = document(B, C)
    out, _ = publish(scene, text)
    assert out.splitlines()[0] == f"~ {WWW} A: +{C}, -{A}"
    changed = scene.changed(before)
    assert changed.pop(("dns_rr", row_id)) == {
        "data": escaped(canonical(print_as, text).decode())}
    assert set(changed.pop(("dns_soa", scene.zone))) == {"serial"}
    assert changed == {}
    texts, _ = served(scene.ns)
    assert sorted(texts) == sorted([b"v=other", canonical(print_as, text)])
    assert scene.isp.rr(other)["active"] == "Y"


def test_panel_gets_bare_where_json_would_break(scene, print_as):
    text = rows(*[(WWW, f"192.0.2.{i}", 443) for i in range(1, 40)])
    out, err = publish(scene, text)
    row, = spec_rows(scene)
    assert row["data"] == print_as("bare", text)[0].removesuffix("\n")
    assert served(scene.ns)[0] == [row["data"].encode()]
    assert "bytes as bare" in out and "takes TCP" in err
    # A small one can be bare, too: clients may then edit it.
    out, err = publish(scene, SMALL, "--format", "bare")
    row, = spec_rows(scene)
    assert row["data"].startswith("{rows:[{name:")
    assert served(scene.ns)[0] == [row["data"].encode()]


def test_panel_refuses_what_it_would_damage(scene):
    before = scene.dump()
    out, err = publish(scene, HARD, code=1)
    assert "ISPConfig damages JSON of more than 255 bytes" in err
    assert scene.changed(before) == {} and scene.writes() == []


def test_panel_has_one_spec_afterwards(scene, print_as):
    ids = [scene.add("_failover.www", "TXT", x) for x in (SMALL, "[]", "v=1")]
    off = scene.add("_failover.www", "TXT", "[1]", active="N")
    scene.serve()
    publish(scene, document(B, C))
    assert scene.active(*ids, off) == "YNYN"
    assert len(served(scene.ns)[0]) == 2


def test_panel_as_it_is(scene):
    publish(scene, SMALL)
    before = scene.dump()
    out, _ = publish(scene, SMALL)
    assert "as it is: provider panel" in out and " shows it after " in out
    assert scene.changed(before) == {} and scene.writes() == []


def test_panel_without_its_cron_is_not_yet_seen(scene):
    out, _ = publish(scene, SMALL, code=1, cron=False, deadline="1s")
    assert out.splitlines()[-1].startswith(
        f"written, not yet seen at {scene.ns.server}: ")
    assert len(spec_rows(scene)) == 1
    scene.cron()
    out, _ = publish(scene, SMALL)
    assert "as it is:" in out and " shows it after " in out


def test_panel_without_the_right_says_which(scene):
    scene.isp.set_functions([f for f in double.MINIMUM
                             if f not in ("dns_txt_update", "dns_txt_add")])
    before = scene.dump()
    _, err = publish(scene, SMALL, code=1)
    assert "the remote user lacks 'DNS txt functions'" in err
    assert "nothing was written" in err
    assert scene.changed(before) == {}


def test_panel_dry_run(scene):
    before = scene.dump()
    out, _ = publish(scene, SMALL, "--dry-run")
    assert out.splitlines()[-1] == "nothing was written (--dry-run)"
    assert scene.changed(before) == {}
