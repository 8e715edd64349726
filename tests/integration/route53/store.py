"""Hosted zones and their record sets, by Route 53's rules.

source: API Reference (2013-04-01), Developer Guide; the texts of errors as
they were seen in recorded sessions and issues.
"""

import collections
import copy
import ipaddress
import itertools
import re

RECORDS_MAX = 1000
CHARS_MAX = 32000
VALUE_MAX = 4000
PLAIN = set("abcdefghijklmnopqrstuvwxyz0123456789-_")

# ttl and values: None for an alias; more: the other members, {name: text}
Set = collections.namedtuple("Set", "name type set_id ttl values more")


# What an identifier goes with; one of these.
ROUTING = ["Weight", "Region", "Failover", "GeoLocation", "MultiValueAnswer",
           "CidrRoutingConfig", "GeoProximityLocation"]


class Refused(Exception):
    """An answer that is no 200."""

    def __init__(self, code, text, status=400):
        super().__init__(f"{code}: {text}")
        self.code, self.text, self.status = code, text, status


def unescape(name):
    """Labels of a name as bytes in Latin-1; \\ooo is a byte, also a dot."""
    labels, label, i = [], "", 0
    while i < len(name):
        if name[i] == "\\":
            digits = name[i + 1:i + 4]
            if not re.fullmatch("[0-3][0-7]{2}", digits):
                raise Refused("InvalidInput", f"bad escape in {name}")
            label += chr(int(digits, 8))
            i += 4
        elif name[i] == ".":
            labels.append(label)
            label, i = "", i + 1
        else:
            label += name[i]
            i += 1
    return labels + ([label] if label else [])


def escape(labels):
    """As answers have names: lower case, a final dot, octal."""
    return "".join("".join(c if c in PLAIN else f"\\{ord(c):03o}"
                           for c in label.lower()) + "." for label in labels)


def normal(name):
    return escape(unescape(name))


def order(name):
    """Sorts names as lists do: by labels from the right."""
    return name.rstrip(".").split(".")[::-1]


def set_order(s):
    return (order(s.name), s.type, s.set_id or "")


class Zone:
    def __init__(self, zone_id, name, private):
        self.id, self.name, self.private = zone_id, normal(name), private
        self.sets = {}
        self.put(self.name, "NS", 172800,
                 ["ns-1.awsdns-00.org.", "ns-2.awsdns-00.net."])
        self.put(self.name, "SOA", 900, [
            "ns-1.awsdns-00.org. awsdns-hostmaster.amazon.com. 1 7200 900 "
            "1209600 86400"])

    def put(self, name, rdtype, ttl, values, set_id=None, **more):
        """Stores a set as it is; a test's own way in."""
        s = Set(normal(name), rdtype, set_id, ttl,
                None if values is None else list(values), more)
        self.sets[s.name, s.type, s.set_id] = s

    def listed(self, name=None, rdtype=None, set_id=None):
        """The sets from a place on, in order."""
        if rdtype is not None and name is None:
            raise Refused("InvalidInput", "type is given without name")
        if set_id is not None and rdtype is None:
            raise Refused("InvalidInput", "identifier without type")
        place = ([] if name is None else order(normal(name)), rdtype or "",
                 set_id or "")
        return [s for s in sorted(self.sets.values(), key=set_order)
                if set_order(s) >= place]

    # -- changes -----------------------------------------------------------------

    def change(self, changes):
        """[(action, Set)], all or none."""
        _check_size(changes)
        before = self.sets
        self.sets = copy.copy(before)
        wrong = []
        try:
            for action, s in changes:
                wrong += self._one(action, s)
            wrong += self._whole()
            if wrong:
                raise Refused("InvalidChangeBatch", f"[{', '.join(wrong)}]")
        except Refused:
            self.sets = before
            raise

    def _one(self, action, s):
        s = s._replace(name=normal(s.name))
        key = s.name, s.type, s.set_id
        what = f"[name='{s.name}', type='{s.type}'" + (
            f", set-identifier='{s.set_id}']" if s.set_id else "]")
        there = self.sets.get(key)
        wrong = list(_check_set(s))
        if s.name != self.name and not s.name.endswith("." + self.name):
            wrong.append(f"RRSet with DNS name {s.name} is not permitted in "
                         f"zone {self.name}")
        if wrong:
            return wrong
        if action == "DELETE":
            if there is None:
                return [f"Tried to delete resource record set {what} but it "
                        "was not found"]
            if not same(there, s):
                return [f"Tried to delete resource record set {what} but the "
                        "values provided do not match the current values"]
            del self.sets[key]
            return []
        if action == "CREATE" and there is not None:
            return [f"Tried to create resource record set {what} but it "
                    "already exists"]
        mixed = [x for x in self.sets.values()
                 if (x.name, x.type) == key[:2]
                 and (x.set_id is None) != (s.set_id is None)]
        if mixed:
            return [f"RRSet with DNS name {s.name}, type {s.type} cannot be "
                    "created as other RRSets exist with the same name and "
                    "type"]
        self.sets[key] = s
        return []

    def _whole(self):
        """What only the whole tells: CNAMEs, the apex."""
        names = {}
        for s in self.sets.values():
            names.setdefault(s.name, set()).add(s.type)
        for name, types in names.items():
            if "CNAME" in types and name == self.name:
                yield (f"RRSet of type CNAME with DNS name {name} is not "
                       f"permitted at apex in zone {self.name}")
            elif "CNAME" in types and len(types) > 1:
                other = sorted(types - {"CNAME"})[0]
                yield (f"RRSet of type {other} with DNS name {name} is not "
                       "permitted because a conflicting RRSet of type  CNAME "
                       "with the same DNS name already exists in zone "
                       f"{self.name}")
        yield from self._routing()
        if not {"NS", "SOA"} <= names.get(self.name, set()):
            yield "A HostedZone must contain one SOA and at least one NS record"


    def _routing(self):
        """Sets of a name and type that have identifiers: one kind of routing,
        each place once."""
        kinds, places = {}, set()
        for s in self.sets.values():
            if s.set_id is None:
                continue
            what = f"[name='{s.name}', type='{s.type}'"
            kind = [k for k in ROUTING if k in s.more]
            if len(kind) != 1:
                yield (f"Invalid request: Expected exactly one of {ROUTING}, "
                       f"but found {len(kind) or 'none'} in Change with "
                       f"{what}, set-identifier='{s.set_id}']")
                continue
            if kinds.setdefault((s.name, s.type), kind[0]) != kind[0]:
                yield (f"RRSet {what}, set-identifier='{s.set_id}'] cannot be "
                       "created as a non-matching routing policy exists with "
                       "the same name and type")
            place = s.name, s.type, s.more.get("GeoLocation", s.set_id)
            if place in places:
                yield (f"Tried to create a geolocation set {what}, "
                       f"set-identifier='{s.set_id}'] but a set with the same "
                       "location exists")
            places.add(place)


def same(a, b):
    """As a DELETE needs it: TTL, values in any order, all the rest."""
    return (a.ttl == b.ttl and a.more == b.more
            and sorted(a.values or []) == sorted(b.values or []))


def _check_size(changes):
    records = chars = 0
    for action, s in changes:
        times = 2 if action == "UPSERT" else 1
        records += times * len(s.values or [])
        chars += times * sum(map(len, s.values or []))
    if not changes:
        raise Refused("InvalidInput", "no change in the batch")
    if records > RECORDS_MAX:
        raise Refused("InvalidChangeBatch",
                      f"[Number of records limit of {RECORDS_MAX} exceeded.]")
    if chars > CHARS_MAX:
        raise Refused("InvalidChangeBatch", "[Maximum number of characters "
                      f"limit of {CHARS_MAX} exceeded.]")


STRING = re.compile(r'"((?:[^"\\]|\\"|\\\\|\\[0-3][0-7]{2})*)"')


def txt_bytes(value):
    """The bytes of a TXT value; None when it is none."""
    out, rest = b"", value.strip(" ")
    while True:
        m = STRING.match(rest)
        if m is None:
            return None
        part = re.sub(r'\\([0-3][0-7]{2}|"|\\)',
                      lambda x: x[1] if len(x[1]) == 1
                      else chr(int(x[1], 8)), m[1]).encode("latin-1")
        if len(part) > 255:
            return None
        out += part
        rest = rest[m.end():]
        if rest == "":
            return out
        if rest[0] != " ":
            return None
        rest = rest.lstrip(" ")


def _is_good(rdtype, value):
    try:
        if rdtype == "A":
            return bool(ipaddress.IPv4Address(value))
        if rdtype == "AAAA":
            return bool(ipaddress.IPv6Address(value))
    except ValueError:
        return False
    if rdtype == "TXT":
        return txt_bytes(value) is not None
    return value != ""


def _check_set(s):
    if s.values is None:
        if "AliasTarget" not in s.more:
            yield f"Invalid request: {s.name} {s.type} has no values"
        return
    if s.ttl is None or not 0 <= s.ttl <= 2147483647:
        yield "Expected a TTL"
    if not s.values:
        yield "Invalid request: Expected exactly one of [AliasTarget, all of "\
              "[TTL, and ResourceRecords]"
    for value, again in itertools.groupby(sorted(s.values)):
        if len(list(again)) > 1:
            yield f"Duplicate Resource Record: '{value}'"
        if len(value) > VALUE_MAX:
            yield f"Value too long: {value[:20]}"
        elif not _is_good(s.type, value):
            yield (f"Invalid Resource Record: 'FATAL problem: "
                   f"{s.type}RRDATANotValid encountered with '{value}''")
    if s.type == "CNAME" and len(s.values) > 1:
        yield "Invalid Resource Record: 'FATAL problem: CNAME has more than "\
              "one value'"
