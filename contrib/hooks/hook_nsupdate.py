#!/usr/bin/python3
"""A hook for zones with dynamic updates (RFC 2136): BIND, Knot, PowerDNS.

    provider "ns" {
        type = hook
        command = "/usr/local/lib/dnsfailover/hook_nsupdate.py --server 192.0.2.53
            --key /etc/dnsfailover/update.key example.org"
        requests = "list-zones list-specs list-records apply write-spec"
    }

It reads a zone by transfer (dig) and changes it with nsupdate, both of the
package bind9-dnsutils. The key, a file as tsig-keygen(8) writes it, must be
permitted to transfer and to update the zones.

Each UPDATE says what the sets must be for it to hold, so that nothing that
somebody else changed meanwhile is lost; afterwards the zone is read again,
because a server may pass over an addition in silence (an A beside a CNAME).
"""

import argparse
import ipaddress
import re
import subprocess

import hookframe
from hookframe import Refused

VALUES_PER_UPDATE = 400  # far below the 64 KiB of a message
COMMAND_S = 30
ESCAPE = re.compile(r"\\(\d{3}|.)")


class Zone:
    """One reading: {(name, type): [ttl, values]}, TXT values decoded."""

    def __init__(self, name, text):
        self.name = name
        self.sets = {}
        self.serial = None
        for line in text.splitlines():
            if line.startswith(";") or not line.strip():
                continue
            owner, ttl, _, rdtype, data = line.split(None, 4)
            if rdtype == "SOA":
                self.serial = int(data.split()[2])
            one = self.sets.setdefault((owner.lower(), rdtype), [int(ttl), []])
            value = self.value(rdtype, data)
            if value not in one[1]:
                one[1].append(value)

    @staticmethod
    def value(rdtype, data):
        if rdtype == "TXT":
            return txt_decode(data)
        if rdtype in ("A", "AAAA"):
            return str(ipaddress.ip_address(data))
        return data.lower() if rdtype == "CNAME" else data

    def values(self):
        return {key: values for key, (_, values) in self.sets.items()}


def txt_decode(data):
    """The text of quoted character-strings, joined."""
    out = bytearray()
    for part in re.findall(r'"((?:[^"\\]|\\.)*)"', data):
        at = 0
        for m in ESCAPE.finditer(part):
            out += part[at:m.start()].encode()
            out += (bytes([int(m[1])]) if m[1].isdigit() and len(m[1]) == 3
                    else m[1].encode())
            at = m.end()
        out += part[at:].encode()
    return out.decode("utf-8", "surrogateescape")


def txt_encode(text):
    data = text.encode("utf-8", "surrogateescape")
    parts = [data[i:i + 255] for i in range(0, len(data), 255)] or [b""]
    return " ".join(
        '"' + "".join(chr(c) if 32 <= c < 127 and c not in b'"\\'
                      else f"\\{c:03d}" for c in part) + '"' for part in parts)


class Server:
    def __init__(self, options):
        self.options = options
        self.key = ["-k", options.key] if options.key else []

    def _run(self, argv, text=""):
        try:
            return subprocess.run(argv, input=text, text=True,
                                  capture_output=True, timeout=COMMAND_S)
        except FileNotFoundError as e:
            raise Refused("retry", f"{argv[0]}: {e.strerror}") from e

    def _dig(self, key, *what):
        o = self.options
        return self._run(["dig", f"@{o.server}", "-p", str(o.port), *key,
                          "+nocmd", "+nomultiline", "+time=5", "+tries=1",
                          "+norecurse", *what])

    def read(self, zone):
        try:
            done = self._dig(self.key, "+noall", "+answer", "AXFR", zone)
        except subprocess.TimeoutExpired as e:
            raise Refused("retry", f"transfer of {zone}: no answer") from e
        if done.returncode == 0:
            found = Zone(zone, done.stdout)
            # The SOA stands at both ends: without the second it was cut.
            if len(re.findall(r"\sIN\s+SOA\s", done.stdout)) == 2:
                return found
        why = "; ".join(x.lstrip("; ") for x in
                        (done.stdout + done.stderr).splitlines()
                        if x.startswith(";"))
        if done.returncode != 0 or "timed out" in why or "refused" in why:
            raise Refused("retry", f"transfer of {zone}: {why}")
        there = self._dig([], "+noall", "+answer", "SOA", zone).stdout
        if " SOA " not in there.replace("\t", " "):
            raise Refused("notFound", f"the server has no zone {zone}: {why}")
        raise Refused("auth", f"transfer of {zone}: {why}")

    def update(self, zone, lines):
        o = self.options
        text = "\n".join([f"server {o.server} {o.port}", f"zone {zone}",
                          *lines, "send", ""])
        try:
            done = self._run(["nsupdate", "-v", "-t", "15", *self.key], text)
        except subprocess.TimeoutExpired as e:
            raise Refused("unknown", f"update of {zone}: no answer") from e
        if done.returncode == 0:
            return
        why = " ".join(done.stderr.split())
        if re.search(r"REFUSED|NOTAUTH|BADSIG|BADKEY|TSIG|tsig", why):
            raise Refused("auth", f"update of {zone}: {why}")
        if re.search(r"NXRRSET|YXRRSET", why):
            raise Refused("conflict", f"update of {zone}: {why}")
        raise Refused("unknown" if "timed out" in why else "retry",
                      f"update of {zone}: {why}")


def conditions(zone, s):
    """What the set must be for the update to hold."""
    if not s["from"]:
        return [f"prereq nxrrset {s['name']} IN {s['type']}"]
    return [f"prereq yxrrset {s['name']} IN {s['type']} {x}"
            for x in s["from"]]


def update_lines(zone, sets):
    """One message: all that goes before all that comes."""
    lines = [x for s in sets for x in conditions(zone, s)]
    lines += [f"update delete {s['name']} IN {s['type']}"
              for s in sets if s["from"]]
    for s in sets:
        ttl, _ = zone.sets.get((s["name"], s["type"]), (3600, []))
        lines += [f"update add {s['name']} {s.get('ttl', ttl)} IN {s['type']} "
                  f"{x}" for x in s["to"]]
    return lines


def messages(sets):
    """The sets in portions; those with one number stay together."""
    groups = {}
    for s in sets:
        groups.setdefault(s["set"], []).append(s)
    portion, n = [], 0
    for group in groups.values():
        size = sum(1 + len(s["from"]) + len(s["to"]) for s in group)
        if portion and n + size > VALUES_PER_UPDATE:
            yield portion
            portion, n = [], 0
        portion += group
        n += size
    if portion:
        yield portion


class Hook:
    def __init__(self, server, zones):
        self.server = server
        self.zones = zones

    def list_zones(self, _):
        return {"zones": self.zones}

    def list_records(self, request):
        zone = self.server.read(request["zone"])
        return {"serial": zone.serial, "records": [
            {"name": name, "type": rdtype, "ttl": ttl, "data": x}
            for (name, rdtype), (ttl, values) in zone.sets.items()
            if name in request["names"] and rdtype in ("A", "AAAA", "CNAME")
            for x in values]}

    def list_specs(self, request):
        zone = self.server.read(request["zone"])
        return {"specs": [
            {"name": name, "text": x}
            for (name, rdtype), (_, values) in zone.sets.items()
            if rdtype == "TXT" and name.startswith("_failover.")
            for x in values]}

    def apply(self, request):
        zone = self.server.read(request["zone"])
        failed = None
        for portion in messages(request["sets"]):
            try:
                self.server.update(zone.name, update_lines(zone, portion))
            except Refused as e:
                if e.code == "unknown" or portion[0] is request["sets"][0]:
                    raise  # as a whole: nothing was changed
                failed = e
                break
        now = self.server.read(zone.name)
        done = hookframe.results(request, now.values())
        for r in done:
            if r["state"] == "failed" and failed:
                r.update(code=failed.code, message=str(failed))
        return {"results": done, "serial": now.serial}

    def write_spec(self, request):
        zone = self.server.read(request["zone"])
        name, text = request["name"], request["text"]
        ttl, values = zone.sets.get((name, "TXT"), (request["ttl"], []))
        ours = [x for x in values if not hookframe.is_foreign(x)]
        if ours == [text]:
            return {"changed": False, "serial": zone.serial}
        lines = [f"update delete {name} IN TXT {txt_encode(x)}" for x in ours]
        lines.append(f"update add {name} {ttl} IN TXT {txt_encode(text)}")
        self.server.update(zone.name, lines)
        return {"changed": True, "serial": self.server.read(zone.name).serial}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--server", required=True, help="address of the primary")
    p.add_argument("--port", type=int, default=53)
    p.add_argument("--key", help="TSIG key file, as tsig-keygen writes it")
    p.add_argument("zones", nargs="*", help="zones that list-zones answers")
    options = p.parse_args()
    h = Hook(Server(options), options.zones)
    hookframe.serve({"list-zones": h.list_zones, "list-specs": h.list_specs,
                     "list-records": h.list_records, "apply": h.apply,
                     "write-spec": h.write_spec},
                    {"disables": False, "atomic": False})


if __name__ == "__main__":
    main()
