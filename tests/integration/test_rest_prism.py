"""Hetzner's double behind a proxy that holds each request and each answer
against Hetzner's OpenAPI description (npm prism)."""

import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest

import net
import npm
from rest_help import ZONE, states, tool  # noqa: F401
from restapi import hetzner

WWW = f"www.{ZONE}"
A, B = "192.0.2.1", "192.0.2.2"
CLI = "@stoplight/prism-cli"


@pytest.fixture
def proxied(root, shared, tmp_path):
    """The double; .options lead through the proxy."""
    spec = shared / "providers" / "api-specs" / "hetzner-cloud-dns-openapi.json"
    if not spec.exists():
        pytest.skip("no OpenAPI description of Hetzner's API")
    place = npm.modules(root, "prism", CLI, 20)
    text = json.loads(spec.read_text())
    text["servers"] = []
    text["paths"] = {"/v1" + k: v for k, v in text["paths"].items()}
    (tmp_path / "spec.json").write_text(json.dumps(text))
    log = tmp_path / "log"
    with hetzner.Hetzner() as api, open(log, "w") as out:
        process = subprocess.Popen(
            ["node", f"{place}/{CLI}/dist/index.js", "proxy", "--errors",
             "-h", "127.0.0.1", "-p", "0", str(tmp_path / "spec.json"),
             api.url], stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, cwd=tmp_path)
        try:
            found = net.wait_until("prism", lambda: re.search(
                r"listening on (http://127\.0\.0\.1:\d+)", log.read_text()),
                timeout_s=60)
            api.options = {"url": found[1], "token": api.token}
            yield api
        finally:
            process.terminate()
            process.wait(20)


def test_requests_and_answers_are_as_described(tool, proxied):  # noqa: F811
    api = proxied
    api.seed(ZONE, [("www", "A", 300, A), ("old", "A", 300, A),
                    ("alias", "CNAME", 300, f"{WWW}.")])
    api.running = 1

    def done(*command):
        got = tool("hetzner", api.options, *command)
        assert all(x == "done" for a in got if "results" in a
                   for x in states(a)), got
        return got

    assert done("zones")[0]["zones"] == [ZONE + "."]
    done("create", ZONE, "publish", WWW, "A", B, "60",
         "publish", ZONE, "AAAA", "2001:db8::1", "60",
         "publish", f"*.{ZONE}", "A", B, "-",
         "withdraw", WWW, "A", A, "-", "withdraw", f"old.{ZONE}", "A", A, "-")
    assert api.zones[ZONE]["www", "A"].values == [B]
    assert api.zones[ZONE]["www", "A"].ttl == 60
    assert ("old", "A") not in api.zones[ZONE]
    assert done("write", ZONE, WWW, '[{"data":"192.0.2.1"}]', "60")[0][
        "changed"]
    assert done("specs", ZONE)[0]["specs"]
    assert {r.method for r in api.requests} == {"GET", "POST", "DELETE"}

    # what is not in the description does not pass
    n = len(api.requests)
    with pytest.raises(urllib.error.HTTPError, match="422"):
        urllib.request.urlopen(urllib.request.Request(
            f"{api.options['url']}/v1/zones/{ZONE}/rrsets/www/A/actions/"
            "change_ttl", method="POST", data=b'{"ttl": 5}', headers={
                "Authorization": f"Bearer {api.token}",
                "Content-Type": "application/json"}), timeout=20)
    assert len(api.requests) == n
