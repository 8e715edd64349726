#!/usr/bin/python3
"""A hook for zones that octoDNS keeps: the sets that fail over have a source
of their own, and octodns-sync brings them to the target.

    provider "octo" {
        type = hook
        command = "/usr/local/lib/dnsfailover/hook_octodns.py
            --config /etc/octodns/config.yaml --source-dir /etc/octodns/failover
            --target route53"
        environment = "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY"
        timeout = 5m
    }

In octoDNS's configuration a second YAML source stands beside the zone's own,
and no set is in both:

    providers:
      failover:
        class: octodns.provider.yaml.YamlProvider
        directory: /etc/octodns/failover
        enforce_order: false
    zones:
      example.org.:
        sources: [main, failover]
        targets: [route53]

Each set is put whole into the file ZONE.yaml of that directory, and is listed
as octodns-dump reads it from the target. octoDNS refuses a sync that would
change too much of a zone (its "safety" limits): the changes then fail, the
file is put back, and the message says why. Needs python3-yaml.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile

import yaml

import hookframe
from hookframe import Refused

COMMAND_S = 240
TYPES = ("A", "AAAA", "CNAME")


def relative(name, zone):
    return "" if name == zone else name[:-len(zone) - 1]


def absolute(name, zone):
    return f"{name}.{zone}".lower() if name else zone


def entries(data):
    """Of one name, as a list: octoDNS takes one set without its brackets."""
    return list(data) if isinstance(data, list) else [data]


def values_of(entry):
    values = entry.get("values", entry.get("value", []))
    return [str(x).lower() for x in
            (values if isinstance(values, list) else [values])]


class OctoDns:
    def __init__(self, options):
        self.options = options

    def _run(self, program, *more):
        argv = [program, "--config-file", self.options.config, *more]
        try:
            return subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                                  capture_output=True, timeout=COMMAND_S)
        except FileNotFoundError as e:
            raise Refused("retry", f"{program}: {e.strerror}") from e
        except subprocess.TimeoutExpired as e:
            raise Refused("unknown", f"{program}: no answer") from e

    @staticmethod
    def _why(program, done):
        lines = (done.stderr or done.stdout).strip().splitlines()
        return (f"{program}: exit status {done.returncode}: "
                f"{lines[-1] if lines else 'no message'}")

    def records(self, zone):
        """The target's sets: {(name, type): (ttl, values)}."""
        with tempfile.TemporaryDirectory() as d:
            done = self._run("octodns-dump", "--output-dir", d, zone,
                             self.options.target)
            file = pathlib.Path(d) / f"{zone}yaml"
            if done.returncode != 0:
                raise Refused("retry", self._why("octodns-dump", done))
            if not file.exists():
                raise Refused("notFound", f"octodns-dump wrote no {zone}yaml")
            data = yaml.safe_load(file.read_text()) or {}
        return {(absolute(name, zone), e["type"]): (e.get("ttl", 3600),
                                                    values_of(e))
                for name, v in data.items() for e in entries(v)
                if e["type"] in TYPES}

    def file(self, zone):
        return pathlib.Path(self.options.source_dir) / f"{zone}yaml"

    def sync(self, zone):
        done = self._run("octodns-sync", "--doit", zone)
        if done.returncode != 0:
            raise Refused("unknown", self._why("octodns-sync", done))


def write(path, text):
    """In the place of the old one at once."""
    fd, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(fd, "w") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    os.chmod(new, 0o644)
    os.replace(new, path)


def merged(data, zone, sets, now):
    """The source's data with these sets as they are to be."""
    data = dict(data)
    for s in sets:
        key = (s["name"], s["type"])
        label = relative(s["name"], zone)
        kept = [e for e in entries(data.get(label, []))
                if e["type"] != s["type"]]
        if s["to"]:
            values = ({"value": s["to"][0]} if s["type"] == "CNAME"
                      else {"values": s["to"]})
            kept.append({"type": s["type"],
                         "ttl": s.get("ttl", now.get(key, (3600,))[0]),
                         **values})
        if kept:
            data[label] = kept
        else:
            data.pop(label, None)
    return data


class Hook:
    def __init__(self, octodns):
        self.octodns = octodns

    def list_records(self, request):
        found = self.octodns.records(request["zone"])
        return {"records": [
            {"name": name, "type": rdtype, "ttl": ttl, "data": x}
            for (name, rdtype), (ttl, values) in found.items()
            if name in request["names"] for x in values]}

    def apply(self, request):
        zone = request["zone"]
        path = self.octodns.file(zone)
        old = path.read_text() if path.exists() else "---\n{}\n"
        now = self.octodns.records(zone)
        for s in request["sets"]:
            if s["type"] == "CNAME" and len(s["to"]) > 1:
                raise Refused("input", f"{s['name']}: a CNAME has one target")
        data = merged(yaml.safe_load(old) or {}, zone, request["sets"], now)
        write(path, yaml.safe_dump(data, explicit_start=True))
        failed = None
        try:
            self.octodns.sync(zone)
        except Refused as e:
            failed = e
        values = {k: v for k, (_, v) in self.octodns.records(zone).items()}
        done = hookframe.results(request, values)
        if failed and any(r["state"] != "done" for r in done):
            # Or the next sync would make the change that failed now.
            write(path, old)
            raise failed
        return {"results": done}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--config", required=True, help="octoDNS's configuration")
    p.add_argument("--source-dir", required=True,
                   help="directory of the source that this hook writes")
    p.add_argument("--target", required=True,
                   help="the provider of that configuration to list from")
    h = Hook(OctoDns(p.parse_args()))
    hookframe.serve({"list-records": h.list_records, "apply": h.apply},
                    {"disables": False, "atomic": False})


if __name__ == "__main__":
    main()
