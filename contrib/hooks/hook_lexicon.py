#!/usr/bin/python3
"""A hook for each provider that lexicon knows, through its command.

    provider "shop" {
        type = hook
        command = "/usr/local/lib/dnsfailover/hook_lexicon.py gandi"
        environment = "LEXICON_GANDI_AUTH_TOKEN"
        timeout = 3m
        publish-time = 1m
    }

lexicon (packages lexicon and publicsuffix; without the latter it asks the
network for that list at each call) takes its credentials from the environment,
as LEXICON_PROVIDER_OPTION, which `environment` passes on.

What lexicon's command can not do, this hook can not do either:
- It makes and deletes single records: a publish comes first, a withdrawal of
  the same set only after it. It is not atomic. Most calls take a second.
- It can not change the TTL of a record without deleting it first, so the TTL
  of a value that is there stays; the change fails and says so.
- It does not tell records that are switched off from others.
- How a TXT record has to be written differs from provider to provider: specs
  are neither listed nor written; give them by `names` and by hand.
"""

import argparse
import ipaddress
import json
import subprocess

import hookframe
from hookframe import Refused

TYPES = ("A", "AAAA", "CNAME")
CALL_S = 60


def absolute(name):
    return name.rstrip(".").lower() + "."


def canonical(rdtype, data):
    if rdtype == "CNAME":
        return absolute(data)
    return str(ipaddress.ip_address(data))


def code_of(text):
    """What the last line of lexicon's error is about."""
    for code, signs in (("auth", ("401", "403", "Authentication",
                                  "Unauthorized", "Forbidden")),
                        ("notFound", ("404", "No domain", "Not Found")),
                        ("limit", ("429", "Too Many"))):
        if any(x in text for x in signs):
            return code
    return "retry"


def answer_of(action, text):
    """The JSON of the last line; complaints of a library may stand before."""
    lines = text.strip().splitlines() or [""]
    try:
        return json.loads(lines[-1])
    except ValueError as e:
        raise Refused("retry" if action == "list" else "unknown",
                      f"lexicon {action}: the answer is no JSON: "
                      f"{lines[-1][:200]}") from e


class Lexicon:
    def __init__(self, provider, options):
        self.provider = provider
        self.options = options

    def call(self, zone, action, rdtype, *more):
        plain = zone.rstrip(".")
        argv = ["lexicon", "--delegated", plain, self.provider, action, plain,
                rdtype, "--output", "JSON", *more, *self.options]
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                                  capture_output=True, timeout=CALL_S)
        except FileNotFoundError as e:
            raise Refused("retry", f"lexicon: {e.strerror}") from e
        except subprocess.TimeoutExpired as e:
            raise Refused("unknown" if action != "list" else "retry",
                          f"lexicon {action}: no answer") from e
        if done.returncode == 0:
            return answer_of(action, done.stdout)
        lines = done.stderr.strip().splitlines() or ["exit status "
                                                     f"{done.returncode}"]
        raise Refused(code_of(lines[-1]), f"lexicon {action}: {lines[-1]}")

    def records(self, zone, types):
        found = []
        for rdtype in types:
            for r in self.call(zone, "list", rdtype):
                if r["type"] == rdtype:
                    found.append({
                        "name": absolute(r["name"]), "type": rdtype,
                        "ttl": int(r["ttl"]), "id": str(r["id"]),
                        "data": canonical(rdtype, r["content"])})
        return found


class Hook:
    def __init__(self, lexicon):
        self.lexicon = lexicon

    def list_records(self, request):
        found = self.lexicon.records(request["zone"], TYPES)
        return {"records": [
            {k: r[k] for k in ("name", "type", "ttl", "data")}
            for r in found if r["name"] in request["names"]]}

    def change(self, zone, c, found):
        """Raises Refused; found: the records before."""
        same = [r for r in found if (r["name"], r["type"], r["data"])
                == (c["name"], c["type"], c["data"])]
        if c["op"] == "withdraw":
            for r in same:
                self.lexicon.call(zone, "delete", c["type"], "--identifier",
                                  r["id"])
            return
        if same and same[0]["ttl"] != c.get("ttl", same[0]["ttl"]):
            raise Refused("unsupported", "lexicon cannot change the TTL from "
                          f"{same[0]['ttl']} to {c['ttl']}")
        if not same:
            ttl = ["--ttl", str(c["ttl"])] if "ttl" in c else []
            self.lexicon.call(zone, "create", c["type"], "--name",
                              c["name"].rstrip("."), "--content", c["data"],
                              *ttl)

    def apply(self, request):
        zone = request["zone"]
        types = sorted({c["type"] for c in request["changes"]})
        found = self.lexicon.records(zone, types)
        failed_sets, out = set(), []
        for c in request["changes"]:
            if c["op"] == "withdraw" and c["set"] in failed_sets:
                out.append({"state": "skipped"})
                continue
            try:
                self.change(zone, c, found)
                out.append({"state": "done"})
            except Refused as e:
                failed_sets.add(c["set"])
                # Whether a write that failed half-way was made is not known.
                known = e.code in ("auth", "unsupported", "limit")
                out.append({"state": "failed" if known else "unknown",
                            "code": e.code, "message": str(e)})
        return {"results": out}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("provider", help="as lexicon names it: gandi, ovh, …")
    p.add_argument("options", nargs=argparse.REMAINDER,
                   help="further options of lexicon's, never secrets")
    options = p.parse_args()
    h = Hook(Lexicon(options.provider, options.options))
    hookframe.serve({"list-records": h.list_records, "apply": h.apply},
                    {"disables": False, "atomic": False})


if __name__ == "__main__":
    main()
