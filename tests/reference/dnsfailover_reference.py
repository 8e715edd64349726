"""The spec language a second time, as plainly as possible.

Written from sections 3 to 6 (and what of 2, 7 and 8 they need) of the
language's definition, not from the program: it is slow, naive, and compared
with the program decision by decision (tests/integration/test_reference.py).

Truth is True, False or None (unknown). A check's state is one of the letters
T (up), F (down), N (down, and has never been up), U (no verdict yet).
"""

import ipaddress
import json
import re

DIMENSIONS = ("wanAccess", "lanAccess", "access", "internet")
STATES = ("ok", "noLan", "noWan", "noAccess", "noInternet")
UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


# --- three-valued logic ------------------------------------------------------


def not_(a):
    return None if a is None else not a


def and_(values):
    values = list(values)
    if False in values:
        return False
    return None if None in values else True


def or_(values):
    return not_(and_([not_(v) for v in values]))


def at_least(need, values):
    values = list(values)
    if values.count(True) >= need:
        return True
    return None if values.count(True) + values.count(None) >= need else False


# --- reading -----------------------------------------------------------------


def duration_ms(value):
    if isinstance(value, str):
        match = re.fullmatch(r"([0-9]+)(ms|s|m|h)?", value)
        return int(match[1]) * UNITS[match[2] or "s"]
    return value * 1000


def canonical(data):
    try:
        return str(ipaddress.ip_address(data))
    except ValueError:
        return data.lower()


def type_of(data):
    try:
        return "A" if ipaddress.ip_address(data).version == 4 else "AAAA"
    except ValueError:
        return "CNAME"


def full_name(name, owner, zone):
    if name is None:
        return owner
    if name == "@":
        return zone
    return name.lower() if name.endswith(".") else f"{name.lower()}.{zone}"


class Check:
    """Where it is probed, and how many of the targets must answer."""

    def __init__(self, written):
        self.need, self.targets = 1, []
        if isinstance(written, dict):
            self.kind = f"{written['type']}:{written['port']}"
            if "targets" in written:
                self.targets = [canonical(t) for t in written["targets"]]
                self.need = written.get("need", 1)
            elif "target" in written:
                self.targets = [canonical(written["target"])]
            return
        text = str(written)
        kind, _, address = text.partition("@")
        self.kind = f"tcp:{kind}" if kind.isdigit() else kind
        if address:
            self.targets = [canonical(address)]

    def is_local(self):
        return not self.targets

    def key(self, address):
        if len(self.targets) > 1:
            where = f"{','.join(self.targets)} need {self.need}"
        else:
            where = self.targets[0] if self.targets else address
        return f"{self.kind}@{where}"


class Record:
    def __init__(self, written, owner, zone, position):
        self.name = full_name(written.get("name"), owner, zone)
        self.data = canonical(written["data"])
        self.type = written.get("type") or type_of(self.data)
        check = written.get("check", [])
        self.checks = check if isinstance(check, list) else [check]
        self.when = written.get("if")
        self.dc = written.get("dc")
        self.dr_cond = written.get("drCond")
        self.if_no_records = written.get("drIfNoRecords", False) or (
            written.get("dr", False) and self.dr_cond is None)
        self.is_dr = self.if_no_records or self.dr_cond is not None
        self.return_after_ms = duration_ms(written.get("returnAfter", 0))
        self.manual = written.get("return", "auto") == "manual"
        self.chain = (int(written.get("prio", position)), position)

    def set_key(self):
        return f"{self.name} {self.type}"


class Spec:
    """The spec of one owner; apex: of the zone, or None."""

    def __init__(self, text, owner, zone, apex=None):
        written = json.loads(text)
        self.owner = owner
        self.named = {}
        for kind in ("checks", "dcs", "scenarios"):
            self.named[kind] = dict(apex.named[kind]) if apex else {}
            self.named[kind].update(written.get(kind, {}))
        self.rules = written
        self.records = self.read(written, "records", zone)
        self.fallback = self.read(written, "fallbackRecords", zone)

    def read(self, written, member, zone):
        records = [Record(r, self.owner, zone, i + 1)
                   for i, r in enumerate(written.get(member, []))]
        return sorted(records, key=lambda r: r.chain)

    def set_keys(self):
        return sorted({r.set_key() for r in self.records + self.fallback})

    def rule(self, record_set, member, otherwise):
        for name, rules in self.rules.get("sets", {}).items():
            owner, _, kind = name.rpartition(" ")
            zone = self.owner.split(".", 1)[1]
            if f"{full_name(owner, self.owner, zone)} {kind}" == record_set:
                if member in rules:
                    return rules[member]
        return self.rules.get(member, otherwise)


# --- what is remembered ------------------------------------------------------


class DcMemory:
    def __init__(self):
        self.out = False  # since it was last in service
        self.out_ms = 0
        self.last_ms = None
        self.in_maintenance = False
        self.other_published = False
        self.barred = False


class ValueMemory:
    def __init__(self):
        self.healthy_since_ms = None
        self.was_down = False  # since it was last published
        self.shut = False  # return: manual, withdrawn because of its checks


# --- judging -----------------------------------------------------------------


class Judge:
    """One spec in its world: truth of conditions, decisions of sets."""

    def __init__(self, spec, agent_dc=None):
        self.spec = spec
        self.agent_dc = agent_dc
        self.truths = {}
        self.dc_memory = {}
        self.values = {}

    # world: "checks": {key: letter}, "maintenance": [names], "now_ms"
    # published: {set: [data]}
    def step(self, world, published):
        self.world, self.published = world, published
        self.dcs = {name: self.dc(name) for name in self.spec.named["dcs"]}
        for name in self.dcs:
            self.count_absence(name)
        out = {"records": {}, "sets": {}}
        for key in self.spec.set_keys():
            out["sets"][key] = self.decide(key, out["records"])
        return out

    # -- conditions --

    def check_state(self, written, record):
        if isinstance(written, str) and written in self.spec.named["checks"]:
            written = self.spec.named["checks"][written]
        check = Check(written)
        address = record.data if record is not None else None
        return self.world["checks"].get(check.key(address), "U")

    def check(self, written, record, strict):
        """Never up knows nothing, but for the record whose check it is."""
        letter = self.check_state(written, record)
        if letter == "N":
            return False if strict else None
        return {"T": True, "F": False, "U": None}[letter]

    def remembered(self, slot, truth, strict):
        """An unknown result keeps the previous one."""
        if truth is None:
            return self.truths.get(slot)
        if not strict:
            self.truths[slot] = truth
        return truth

    def condition(self, written, record, strict):
        if isinstance(written, list):
            return or_([and_([self.condition(c, record, strict) for c in row])
                        for row in written])
        if isinstance(written, dict):
            return at_least(written["need"],
                            [self.condition(c, record, strict)
                             for c in written["of"]])
        if written.startswith("!"):
            return not_(self.condition(written[1:], record, strict))
        return self.plain_condition(written, record, strict)

    def plain_condition(self, text, record, strict):
        named = self.spec.named
        if text.startswith("auto|"):
            _, name, what = text.split("|")
            dc = self.dc(name, strict)
            return dc["maintenance"] if what == "maintenanceMode" \
                else dc["dims"][what]
        if text in named["scenarios"]:
            slot = ("scenario", text, record and record.data,
                    record and record.name)
            truth = self.condition(named["scenarios"][text], record, strict)
            return self.remembered(slot, truth, strict)
        if text in named["dcs"]:
            return self.dc(text, strict)["service"]
        name, _, state = text.partition(".")
        if name in named["dcs"] and state in STATES:
            return self.dc(name, strict)["states"][state]
        return self.check(text, record, strict)

    # -- data centres --

    def dc(self, name, strict=False):
        written = self.spec.named["dcs"][name]
        dims = {d: self.dimension(written[d], strict)
                for d in DIMENSIONS if d in written}
        down = {d: not_(dims[d]) if d in dims else False for d in DIMENSIONS}
        if self.agent_dc != name:
            down["internet"] = False
        maintenance = bool(written.get("maintenanceMode", False)
                           or name in self.world["maintenance"])
        applies = [
            ("noInternet", down["internet"]),
            ("noAccess", or_([down["access"],
                              and_([down["wanAccess"], down["lanAccess"]])])),
            ("noWan", down["wanAccess"]),
            ("noLan", down["lanAccess"]),
            ("ok", True),
        ]
        states = {}
        earlier = False
        for state, truth in applies:
            states[state] = and_([not_(earlier), truth])
            earlier = or_([earlier, truth])
        out_of_reach = or_([truth for state, truth in applies
                            if state not in ("ok", "noLan")])
        needs = [d for d in written.get("needs", ["wanAccess"]) if d in dims]
        service = and_([not_(out_of_reach), not maintenance]
                       + [dims[d] for d in needs])
        return {"dims": {d: dims.get(d, True) for d in DIMENSIONS},
                "states": states, "service": service,
                "maintenance": maintenance}

    def dimension(self, written, strict):
        need = 1
        if isinstance(written, dict):
            need, written = written.get("need", 1), written["of"]
        return at_least(need,
                        [self.check(w, None, strict) for w in written])

    def count_absence(self, name):
        """onlyNew: how long it was out, maintenance not counted."""
        written, dc = self.spec.named["dcs"][name], self.dcs[name]
        m = self.dc_memory.setdefault(name, DcMemory())
        now_ms = self.world["now_ms"]
        if m.out and not m.in_maintenance:
            m.out_ms += now_ms - m.last_ms
        m.last_ms, m.in_maintenance = now_ms, dc["maintenance"]
        if not dc["maintenance"] and dc["service"] is False and not m.out:
            m.out, m.out_ms = True, 0
        if m.out and self.others_published(name):
            m.other_published = True
        if m.out and dc["service"] is True:
            only_new = written.get("onlyNew", False)
            if only_new is not False:
                longest = 600_000 if only_new is True \
                    else duration_ms(only_new)
                if m.out_ms > longest and m.other_published:
                    m.barred = True
            m.out = m.other_published = False
        if "fresh" in written:
            if self.condition(written["fresh"], None, False) is True:
                m.barred = False

    def others_published(self, name):
        return any(r.dc not in (None, name)
                   and r.data in self.published.get(r.set_key(), [])
                   for r in self.spec.records)

    # -- records --

    def truth(self, record, strict):
        parts = [self.check(c, record, strict) for c in record.checks]
        if record.when is not None:
            slot = ("if", id(record))
            parts.append(self.remembered(
                slot, self.condition(record.when, record, strict), strict))
        if record.dc is not None:
            parts.append(self.dc(record.dc, strict)["service"])
        return and_(parts)

    def look(self, record, standing, twin):
        """What is known of a record; as a dict. twin: of fallbackRecords, and
        in records too: one value, whose memory is that of the first."""
        m = self.values.setdefault(record.set_key() + record.data,
                                   ValueMemory())
        published = record.data in standing
        healthy = self.truth(record, False)
        never_up = healthy is None and self.truth(record, True) is False
        dc = self.dcs[record.dc] if record.dc is not None else None
        maintenance = dc is not None and dc["maintenance"]
        if never_up:
            healthy = False
        dr_cond = False
        if record.dr_cond is not None:
            dr_cond = self.remembered(
                ("drCond", id(record)),
                self.condition(record.dr_cond, record, False), False)
        passive = dc is not None and self.spec.named["dcs"][record.dc].get(
            "noResponse", False)
        away = dc is not None and self.dc_memory[record.dc].barred
        return {"record": record, "healthy": healthy, "never_up": never_up,
                "published": published, "maintenance": maintenance,
                "dr_cond": dr_cond, "passive": passive, "memory": m,
                "barred": away or m.shut, "twin": twin,
                "waiting": not twin and self.waits(record, m, healthy,
                                                   maintenance, published)}

    def waits(self, record, m, healthy, maintenance, published):
        """returnAfter; what is known of maintenance says nothing of health."""
        now_ms = self.world["now_ms"]
        if published:
            m.was_down = False
        if not maintenance:
            if healthy is False:
                m.healthy_since_ms, m.was_down = None, True
            elif healthy is True and m.healthy_since_ms is None:
                m.healthy_since_ms = now_ms
        if healthy is not True or published or not m.was_down:
            return False
        return now_ms - m.healthy_since_ms < record.return_after_ms

    # -- sets: section 4 --

    def decide(self, key, letters):
        """returns {"tier", "publish", "rule"}; tier 0: left as it is."""
        standing = self.published.get(key, [])
        looks = [self.look(r, standing, False) for r in self.spec.records
                 if r.set_key() == key]
        first = [v["record"].data for v in looks]
        fallback = [self.look(r, standing, r.data in first)
                    for r in self.spec.fallback if r.set_key() == key]
        for v in looks + fallback:
            letter = "N" if v["never_up"] else \
                {True: "T", False: "F", None: "U"}[v["healthy"]]
            letters.setdefault(f"{key} {v['record'].data}", letter)
        decision = decide(Rules(self.spec, key), looks, fallback)
        if decision["publish"] is None:
            decision["publish"] = [v["record"].data
                                   for v in looks + fallback
                                   if v["published"]]
        decision["publish"] = sorted(set(decision["publish"]))
        self.remember(looks + fallback, decision["publish"])
        return decision

    def remember(self, looks, publish):
        for v in looks:
            off = v["published"] and v["record"].data not in publish
            if off and v["healthy"] is False and not v["maintenance"] \
                    and v["record"].manual and not v["twin"]:
                v["memory"].shut = True

    def readmit(self, dc):
        if dc in self.dc_memory:
            m = self.dc_memory[dc]
            m.barred = m.out = m.other_published = False
        for r in self.spec.records + self.spec.fallback:
            if r.dc == dc and r.set_key() + r.data in self.values:
                m = self.values[r.set_key() + r.data]
                m.shut = m.was_down = False


class Rules:
    def __init__(self, spec, key):
        self.order = spec.rule(key, "order", "all")
        self.take = int(spec.rule(key, "take", 0))
        self.all_down = spec.rule(key, "allDown", "keep")
        self.single = key.endswith(" CNAME")

    def pick(self, looks):
        most = self.take or (1 if self.order == "priority" else len(looks))
        if self.single:
            most = min(most, 1)
        return [v["record"].data for v in looks[:most]]


def membership(v, tier):
    """True, False, or None: a drCond without truth may put it into tier 1."""
    record = v["record"]
    if not record.is_dr:
        return tier == (2 if v["passive"] else 1)
    if tier == 1:
        return v["dr_cond"]
    return tier == 3 and record.if_no_records


def resolve_never_up(looks, tiers):
    """A check that has never been up speaks only while another record of the
    set, of a tier that is not below the second, is confirmed up."""
    for v in looks:
        others = [o for o in looks if o is not v and o["healthy"] is True
                  and not o["waiting"] and not o["barred"]
                  and (not tiers or True in
                       (membership(o, 1), membership(o, 2)))]
        v["open"] = v["healthy"] is None or (v["never_up"] and not others)
        v["truth"] = None if v["open"] else v["healthy"]


def split(looks, tier):
    """Those of a tier that are up, that may yet be, that only wait."""
    up, unknown, waiting = [], [], []
    for v in looks:
        truth = v["truth"]
        if tier is not None:
            truth = and_([truth, membership(v, tier)])
        if truth is False or v["barred"]:
            continue
        if truth is None:
            (up if v["published"] else unknown).append(v)
        else:
            (waiting if v["waiting"] else up).append(v)
    return up, unknown, waiting


def decide(rules, looks, fallback):
    hold = {"tier": 0, "publish": None, "rule": "hold"}
    resolve_never_up(looks, True)
    resolve_never_up(fallback, False)
    # Starting the agent changes nothing by itself.
    if all(v["truth"] is None for v in looks):
        return hold
    for tier in (1, 2, 3):
        up, unknown, _ = split(looks, tier)
        if up:
            return {"tier": tier, "publish": rules.pick(up),
                    "rule": ("", "healthy", "reserve", "recovery")[tier]}
        if unknown:
            return hold
    for tier in (1, 2, 3):
        waiting = split(looks, tier)[2]
        if waiting:
            return {"tier": 4, "publish": rules.pick(waiting),
                    "rule": "waiting"}
    up, unknown, waiting = split(fallback, None)
    if up or waiting:
        return {"tier": 5, "publish": rules.pick(up or waiting),
                "rule": "fallback"}
    if unknown:
        return hold
    return all_down(rules, looks)


def all_down(rules, looks):
    if rules.all_down == "none":
        return {"tier": 6, "publish": [], "rule": "none"}
    if rules.all_down == "all":
        every = [v["record"].data for v in looks
                 if True in (membership(v, 1), membership(v, 2))]
        # Only allDown: none empties a set.
        if every:
            return {"tier": 6, "rule": "all",
                    "publish": every[:1] if rules.single else every}
    return {"tier": 6, "publish": None, "rule": "keep"}
