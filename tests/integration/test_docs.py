"""README, manual pages and examples say what the program does."""

import base64
import hashlib
import json
import pathlib
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import threading

import dns.zone
import pytest

import net
import servers

MAN8 = "contrib/man/dnsfailover.8"
MAN5 = "contrib/man/dnsfailover.conf.5"


def read(root, path):
    return (root / path).read_text(encoding="utf-8")


# -- what is in them ----------------------------------------------------------


def fences(text, kind):
    """The ```kind blocks of a Markdown text, their indent removed."""
    found = re.findall(rf"^( *)```{kind}\n(.*?)^\1```$", text, re.M | re.S)
    return [re.sub(rf"^{indent}", "", body, flags=re.M)
            for indent, body in found]


def literals(text):
    """The literal displays of a manual page, as a reader sees them."""
    found = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed$", text, re.M | re.S)
    return [f.replace(r"\&", "").replace(r"\(dq", '"') for f in found]


def configurations(root):
    readme = fences(read(root, "README.md"), "conf")
    manual = [x for x in literals(read(root, MAN5)) if "provider " in x]
    example = read(root, "contrib/dnsfailover.conf.example")
    # What the example shows in comments must be right, too.
    every = re.sub(r"^( *)# ?(?=[}]|[a-z-]+ = |provider |zone |    )", r"\1",
                   example, flags=re.M)
    return readme, manual, example, every


def specs(root):
    readme = fences(read(root, "README.md"), "spec")
    manual = [x for x in literals(read(root, MAN8)) if x[0] in "[{"]
    return readme + manual


def zones(root):
    return fences(read(root, "README.md"), "zone")


def commands(root):
    """The command lines that README and manual show."""
    readme = re.findall(r"^ {4,}([a-z(][^\n]*)$", re.sub(
        r"^( *)```.*?^\1```$", "", read(root, "README.md"),
        flags=re.M | re.S), re.M)
    inline = re.findall(r"`((?:dnsfailover|make|sh) [^`]*)`",
                        read(root, "README.md"))
    manual = re.findall(r"^\.Dl (.*)$", read(root, MAN8), re.M)
    return [c.partition("  #")[0].strip() for c in readme + inline + manual]


# -- configuration ------------------------------------------------------------


def parse(agent, directory, text):
    """What the program says to a configuration, with a state of its own."""
    state = f'state = "{directory}/state/state.db"\n'
    text = re.sub(r"^ *state = .*\n", "", text, flags=re.M)
    if re.search(r"^agent \{", text, re.M):
        text = re.sub(r"^agent \{", "agent {\n" + state, text, count=1,
                      flags=re.M)
    else:
        text += "\nagent {\n" + state + "}\n"
    path = directory / "dnsfailover.conf"
    path.write_text(text)
    path.chmod(0o600)
    return agent("status", config=path)


def test_configurations(root, agent, tmp_path):
    readme, manual, example, every = configurations(root)
    assert len(readme) >= 4 and len(manual) >= 4
    assert "provider panel" in example and "provider panel" in every
    for i, text in enumerate(readme + manual + [example, every]):
        directory = tmp_path / str(i)
        directory.mkdir()
        got = parse(agent, directory, text)
        assert "there is no state" in got.stderr, (text, got.stderr)
        assert got.returncode == 1


def accepted(agent, directory, text):
    path = directory / "wrong.conf"
    path.write_text(text)
    got = agent("status", config=path)
    assert got.returncode == 2, got.stderr
    names = re.search(r"accepted: (.*)", got.stderr).group(1).split(", ")
    return {n.removesuffix(" NAME") for n in names}


def documented(text, start, end):
    """The .It Cm names between two headings."""
    part = text[text.index(start):]
    part = part[:part.index(end, len(start))]
    return set(re.findall(r"^\.It Cm (\S+)", part, re.M))


def test_options(root, agent, tmp_path):
    """Every option that the program knows is in the manual, and no other."""
    text = read(root, MAN5)
    later = {"listen", "view"}  # view: a section, under VIEWS
    for section, end in (("agent", ".Sh RESOLVER"),
                         ("resolver", ".Sh PROVIDER"), ("zone", ".Sh FILES")):
        title = "" if section != "zone" else '"example.org"'
        knows = accepted(agent, tmp_path, f"{section} {title} {{ no = 1 }}")
        has = documented(text, f".Sh {section.upper()}", end)
        assert has == knows - later, section
    types = [json.loads(x) for x in
             agent("providers", "--json").stdout.splitlines()]
    for one in types:
        part = re.search(rf"^\.Ss {one['type']}\n(.*?)^\.S[sh] ", text,
                         re.M | re.S).group(1)
        has = re.findall(r"^\.It Cm (\S+)", part, re.M)
        assert has == [o["name"] for o in one["options"]], one["type"]
    kinds = accepted(agent, tmp_path, "provider a { type = no }")
    assert kinds == set(re.findall(r"^\.Ss (\S+)", text, re.M))
    sections = accepted(agent, tmp_path, "no { }")
    caveats = text[text.index(".Sh CAVEATS"):]
    for name in sections:
        assert f".Ic {name}" in text, name
    assert "listen" in caveats
    assert ".Ic view" in text[text.index(".Sh VIEWS"):]


# -- specs --------------------------------------------------------------------


def lint(agent, text):
    return agent("lint", "--name", "www.example.org", "--zone", "example.org",
                 "-", input=text)


def test_specs(root, agent):
    texts = specs(root)
    assert len(texts) == 5
    for text in texts:
        got = lint(agent, text)
        assert got.returncode == 0, (text, got.stdout)
        assert "warning" not in got.stdout


def test_zone_texts(root, agent):
    assert len(zones(root)) == 2
    for text in zones(root):
        zone = dns.zone.from_text(
            "$TTL 300\n@ IN SOA ns hostmaster 1 2 3 4 5\n@ IN NS ns\n"
            "ns IN A 192.0.2.53\n" + text, origin="example.org")
        txt = zone.get_rdataset("_failover.www", "TXT")
        assert len(txt) == 1
        got = lint(agent, b"".join(txt[0].strings).decode())
        assert got.returncode == 0, got.stdout


# -- commands -----------------------------------------------------------------


def test_command_lines(root, agent):
    """Each command line shown is one that the program takes."""
    shown = [re.search(r"(?:^|/)(dnsfailover [-a-z].*)", c)
             for c in commands(root)]
    shown = [m.group(1) for m in shown if m]
    assert len(shown) > 12
    for line in shown:
        words = shlex.split(line)
        got = agent(*words[1:], "--help")
        assert got.returncode == 0, (line, got.stderr)
        assert got.stdout.startswith(f"usage: dnsfailover {words[1]} "), line


def test_make_and_files(root):
    readme = read(root, "README.md")
    makefile = read(root, "Makefile")
    for target in re.findall(r"\bmake ([a-z-]+)\b",
                             "\n\n".join(commands(root))):
        assert re.search(rf"^{target}:", makefile, re.M), target
    for path in re.findall(r"\b(?:contrib|specs)/[\w./-]+", readme):
        assert (root / path).exists(), path
    cron = read(root, "contrib/cron.d/dnsfailover")
    line = [x for x in cron.splitlines() if not x.startswith("#")][0]
    assert line in read(root, MAN8)


def test_commands_and_options(root, agent):
    text = read(root, MAN8)
    synopsis = text[text.index(".Sh SYNOPSIS"):text.index(".Sh DESCRIPTION")]
    listed = agent("--help").stdout
    names = re.findall(r"^  ([a-z]+) ", listed, re.M)
    assert names == ["once", "run", "plan", "lint", "publish", "status",
                     "history", "explain", "maintenance", "freeze", "thaw", "readmit",
                     "simulate", "providers", "doctor"]
    for name in names:
        assert f"\n.It Cm {name}\n" in text
        entry = re.search(rf"^\.Cm {name}\n(.*?)(?=^\.Nm|\Z)", synopsis,
                          re.M | re.S).group(1)
        options = agent(name, "--help").stdout
        for short, long in re.findall(r"^  (-\w)?,? *--([a-z-]+)", options,
                                      re.M):
            if long in ("help", "config", "version"):
                continue
            shown = short[1] if short else "-" + long
            assert f"Fl {shown}" in entry, (name, long)
            assert f"-{long}" in text, (name, long)
    # … and none that it does not take.
    for name in names:
        entry = re.search(rf"^\.Cm {name}\n(.*?)(?=^\.Nm|\Z)", synopsis,
                          re.M | re.S).group(1)
        for option in re.findall(r"\bFl (-?[\w-]+)", entry.partition("\n.Nm")[0]):
            if option in ("c",):
                continue
            assert f"-{option}" in agent(name, "--help").stdout, (name, option)


def test_exit_codes(root, agent):
    says = agent("--help").stdout
    readme = read(root, "README.md")
    manual = read(root, MAN8)
    for code in (0, 1, 2, 3, 75):
        assert re.search(rf"\b{code} [a-z]", says), code
        assert f"| {code} |" in readme
        assert f"\n.It {code}\n" in manual


def test_no_configuration(root, agent, tmp_path):
    """The lines to paste that the program prints are right."""
    if pathlib.Path("/etc/dnsfailover.conf").exists():
        pytest.skip("there is an /etc/dnsfailover.conf here")
    got = agent("plan")
    assert got.returncode == 2
    lines = [x[2:] for x in got.stderr.splitlines() if x.startswith("  ")]
    assert len(lines) == 6
    shown = parse(agent, tmp_path, "\n".join(lines) + "\n")
    assert "there is no state" in shown.stderr, shown.stderr


# -- manual pages, and the pin -------------------------------------------------


def test_manual_pages(root):
    if shutil.which("mandoc") is None:
        pytest.skip("mandoc is not installed")
    got = subprocess.run(
        ["mandoc", "-Tlint", "-Wwarning", str(root / MAN8), str(root / MAN5)],
        capture_output=True, text=True, timeout=30)
    assert got.returncode == 0, got.stdout + got.stderr
    for page in (MAN8, MAN5):
        shown = subprocess.run(["mandoc", "-Tutf8", str(root / page)],
                               capture_output=True, text=True, timeout=30)
        assert shown.returncode == 0 and len(shown.stdout) > 5000


@pytest.fixture
def panel(tmp_path):
    """A TLS server with a certificate of its own: its port and key pin."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=panel", "-keyout", key, "-out", cert],
        check=True, capture_output=True, timeout=60)
    public = subprocess.run(
        ["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"],
        check=True, capture_output=True, timeout=30).stdout
    pin = base64.b64encode(hashlib.sha256(public).digest()).decode()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.05)
    stop = threading.Event()

    def serve():
        while not stop.is_set():
            try:
                client, _ = listening.accept()
            except OSError:
                continue
            try:
                client.settimeout(5)
                with context.wrap_socket(client, server_side=True) as tls:
                    tls.recv(65536)
            except OSError:
                client.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listening.getsockname()[1], pin
    stop.set()
    thread.join(10)
    listening.close()


def test_pin(root, agent, panel, tmp_path):
    """README: leave the pin out, and `plan` prints the line to paste."""
    port, pin = panel
    secret = tmp_path / "password"
    secret.write_text("secret\n")
    secret.chmod(0o600)
    text = fences(read(root, "README.md"), "conf")[0]
    text = text.replace("panel.example.org:8080", f"127.0.0.1:{port}")
    text = text.replace("/etc/dnsfailover/panel.password", str(secret))
    text = re.sub(r"^ *# anchors = .*$", f'state = "{tmp_path}/s/state.db"',
                  text, flags=re.M)
    text = text.replace("mode = observe", f'servers = {{"127.0.0.1:{port}"}}')
    path = tmp_path / "dnsfailover.conf"
    path.write_text(text)
    got = agent("plan", "--deadline", "8s", config=path)
    assert got.returncode == 1
    assert f'pin-sha256 = "{pin}"' in got.stderr, got.stderr


# -- the five minutes with BIND, as the README says them ------------------------


@pytest.mark.skipif(servers.find("named") is None,
                    reason="named is not installed")
def test_bind_start(root, agent, short_dir, tmp_path):
    snippet = zones(root)[0]
    assert fences(read(root, "README.md"), "zone")[1].split() == \
        snippet[snippet.index("_failover"):].split()
    with net.Listener("127.0.0.2") as one, \
            net.Listener("127.0.0.3", one.port) as two:
        snippet = snippet.replace("192.0.2.1", one.addr)
        snippet = snippet.replace("192.0.2.2", two.addr)
        snippet = snippet.replace("check:443", f"check:{one.port}")
        zone = ("$TTL 300\n@ IN SOA ns hostmaster ( 1 ; serial\n"
                " 3600 600 604800 60 )\n@ IN NS ns\nns IN A 127.0.0.1\n"
                + snippet)
        with servers.Bind(short_dir, {"example.org": zone}) as ns:
            follow_bind_start(root, agent, tmp_path, ns, two)


def follow_bind_start(root, agent, directory, ns, two):
    text = fences(read(root, "README.md"), "conf")[1]
    file = ns.zone_file("example.org")
    path = directory / "dnsfailover.conf"

    def configure(mode):
        made = re.sub(
            r"^ *# anchors = .*$", f'state = "{directory}/s/state.db"\n'
            'allow-targets = {"127.0.0.0/8"}', text, flags=re.M)
        made = made.replace("/etc/bind/db.{zone}", str(file))
        made = made.replace("/usr/bin/named-checkzone",
                            servers.find("named-checkzone"))
        made = made.replace("/usr/sbin/rndc reload {zone}", ns.reload_command)
        made = made.replace("mode = observe",
                            f'mode = {mode} servers = {{"{ns.server}"}}')
        path.write_text(made)

    def run(*arguments, code=0):
        got = agent(*arguments, config=path)
        assert got.returncode == code, got.stdout + got.stderr
        return got.stdout

    configure("observe")
    assert "ok: rows, spelled as bare" in run("lint", "www.example.org")
    assert "healthy records" in run("plan", "-v")
    assert run("once") == ""
    two.close()
    would = "www.example.org. A 127.0.0.3 would be withdrawn: "
    assert would in run("plan", "--exit-code", code=3)
    assert would in run("once")
    assert run("once") == "" and len(ns.values("www.example.org", "A")) == 2
    configure("enforce")
    assert "www.example.org. A 127.0.0.3 withdrawn: " in run("once")
    assert ns.values("www.example.org", "A") == ["127.0.0.2"]
    assert "127.0.0.3" in run("status", "www.example.org")
    assert "withdrawn" in run("history", "-n", "20")
    undo_by_hand(agent, ns, file, configure, run)


def undo_by_hand(agent, ns, file, configure, run):
    """README: hold the zone, remove what stands before the record, raise the
    serial, reload."""
    configure("observe")
    lines = file.read_text().splitlines()
    marked = [i for i, x in enumerate(lines) if x.startswith(";dnsfailover")]
    assert len(marked) == 1
    line = lines[marked[0]]
    lines[marked[0]] = line[line.index(";", 1) + 1:]
    text, n = re.subn(r"\d+( ; serial)", r"4000000000\1", "\n".join(lines))
    assert n == 1
    serial = ns.serial("example.org")
    text = text.replace("4000000000", str(serial + 1))
    file.write_text(text + "\n")
    ns.reload("example.org")
    ns.wait_serial("example.org", serial + 1)
    assert ns.values("www.example.org", "A") == ["127.0.0.2", "127.0.0.3"]
    assert "would be withdrawn" in run("once")
    assert len(ns.values("www.example.org", "A")) == 2
