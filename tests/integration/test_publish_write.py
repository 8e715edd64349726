"""publish --write: through the provider, and read back from every server."""

import random
import re
import subprocess

import pytest

import servers
from ispconfig import double
from ispconfig.scene import Machine, Scene, escaped
from publish_help import (  # noqa: F401
    A, B, C, HARD, ORG, OWNER, SMALL, canonical, document, print_as,
    random_spec, served)
from world import (  # noqa: F401
    WWW, build, checked, records, rows, spec, target)

KINDS = [servers.Bind, servers.Nsd, servers.Knot]

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


# -- a panel that does not play along ---------------------------------------------


@pytest.mark.parametrize("method", ["dns_txt_add", "dns_txt_update"])
@pytest.mark.parametrize("variant", ["cut", "false"])
def test_panel_whose_answer_is_lost(method, variant, scene, print_as):
    """What is there counts, not what was said."""
    if method == "dns_txt_update":
        scene.add("_failover.www", "TXT", SMALL)
        scene.serve()
    # The trial of the permission ends before "false" is asked for.
    trials = method == "dns_txt_update" and variant == "cut"
    scene.isp.set_variant(variant, "0", method, times=1, skip=int(trials))
    out, _ = publish(scene, document(B, C))
    row, = spec_rows(scene)
    assert row["data"] == print_as(
        "ispconfig", document(B, C))[0].removesuffix("\n")
    assert " shows it after " in out
    assert [v["times"] for v in scene.isp.sql("SELECT * FROM variant")] == [0]
    scene.isp.clear_variants()


def test_panel_that_refuses_the_write(scene):
    row_id = scene.add("_failover.www", "TXT", SMALL)
    scene.serve()
    before = scene.dump()
    scene.isp.set_variant("fault", "database_error|out of space",
                          "dns_txt_update", times=-1, skip=1)
    _, err = publish(scene, document(B, C), code=1)
    assert "out of space" in err and "nothing was written" in err
    assert scene.changed(before) == {}
    scene.isp.clear_variants()
    assert scene.isp.rr(row_id)["data"] == SMALL


def test_panel_that_cannot_be_read_back_leaves_a_doubt(scene):
    scene.add("_failover.www", "TXT", SMALL)
    scene.serve()
    # Searches first: two spellings of the name.
    scene.isp.set_variant("empty500", "", "dns_txt_get", times=-1, skip=2)
    _, err = publish(scene, document(B, C), code=1)
    assert "reading it back" in err and "nothing was written" not in err
    scene.isp.clear_variants()


def test_panel_with_an_empty_list_is_not_believed(scene):
    before = scene.dump()
    scene.isp.set_variant("empty_list", "", "dns_txt_get", times=-1)
    scene.isp.set_variant("empty_list", "", "dns_rr_get_all_by_zone", times=-1)
    _, err = publish(scene, SMALL, code=1)
    assert 'that is not taken for "no records"' in err
    assert scene.changed(before) == {}
    scene.isp.clear_variants()


def test_old_panel_gets_its_serial_raised(scene):
    serial = scene.isp.serial(scene.zone)
    scene.isp.set_variant("old_server", "", "*", times=-1)
    out, _ = publish(scene, SMALL)
    assert scene.isp.serial(scene.zone) > serial
    assert " shows it after " in out
    scene.isp.clear_variants()
