"""Random specs and worlds for the comparison with the reference."""

import json

ZONE = "example.org."
OWNER = "www.example.org."
ADDRESSES = [f"192.0.2.{i}" for i in range(1, 7)]
OUTSIDE = [f"198.51.100.{i}" for i in range(1, 5)]
V6 = [f"2001:db8::{i}" for i in range(1, 4)]
TARGETS = ["web.example.net.", "web2.example.net.", "cdn.example.com."]
DIMENSIONS = ["wanAccess", "lanAccess", "access", "internet"]
STATES = ["ok", "noLan", "noWan", "noAccess", "noInternet"]


class Case:
    def __init__(self, rng):
        self.rng = rng
        self.checks, self.dcs, self.scenarios = [], [], []
        self.local = set()  # names whose truth belongs to an address

    def chance(self, percent):
        return self.rng.random() * 100 < percent

    # -- named things --

    def target(self):
        return f"tcp:{self.rng.choice([22, 443])}@{self.rng.choice(OUTSIDE)}"

    def check(self, name):
        kind = self.rng.randrange(6)
        if kind < 2:
            self.local.add(name)
            return self.rng.choice([80, "tcp:443", {"type": "tcp",
                                                    "port": 8080}])
        if kind == 2:
            some = self.rng.sample(OUTSIDE, self.rng.randint(2, 3))
            return {"type": "tcp", "port": 53, "targets": some,
                    "need": self.rng.randint(1, len(some))}
        if kind == 3:
            return {"type": "tcp", "port": 25,
                    "target": self.rng.choice(OUTSIDE)}
        return self.target()

    def dimension(self):
        some = [self.target() for _ in range(self.rng.randint(1, 3))]
        some = sorted(set(some))
        if self.chance(30):
            return {"need": self.rng.randint(1, len(some)), "of": some}
        return some

    def dc(self, fresh):
        given = [d for d in DIMENSIONS
                 if self.chance(75 if d == "wanAccess" else 30)]
        dc = {d: self.dimension() for d in given}
        if self.chance(8):
            dc["maintenanceMode"] = True
        if self.chance(25):
            dc["noResponse"] = True
        if given and self.chance(30):
            dc["needs"] = self.rng.sample(given,
                                          self.rng.randint(1, len(given)))
        if self.chance(45):
            dc["onlyNew"] = self.rng.choice([True, "500ms", "5s", "30s", 60])
            if fresh and self.chance(30):
                dc["fresh"] = self.rng.choice(fresh)
        return dc

    def atom(self, local=True, depth=0):
        names = [n for n in self.checks + self.scenarios
                 if local or n not in self.local]
        kind = self.rng.randrange(10)
        if kind < 3 and self.dcs:
            dc = self.rng.choice(self.dcs)
            text = self.rng.choice(
                [dc, f"{dc}.{self.rng.choice(STATES)}",
                 f"auto|{dc}|maintenanceMode"] + self.dimensions_of(dc))
        elif kind == 3 and depth < 2:
            of = [self.atom(local, depth + 1)
                  for _ in range(self.rng.randint(2, 3))]
            return {"need": self.rng.randint(1, len(of)), "of": of}
        elif names:
            text = self.rng.choice(names)
        elif self.dcs:
            text = self.rng.choice(self.dcs)
        else:
            return None
        return ("!" if self.chance(30) else "") + text

    def dimensions_of(self, dc):
        return [f"auto|{dc}|{d}" for d in DIMENSIONS
                if d in self.written["dcs"][dc]]

    def scenario(self, local=True):
        return [[self.atom(local) for _ in range(self.rng.randint(1, 2))]
                for _ in range(self.rng.randint(1, 2))]

    def condition(self):
        if self.chance(25):
            return self.scenario()
        return self.atom()

    @staticmethod
    def names_in(condition):
        text = json.dumps(condition)
        return {part.lstrip("!") for part in text.split('"')}

    # -- records --

    def record(self, data, dr):
        rng, r = self.rng, {"data": data}
        if self.chance(55):
            r["check"] = rng.choice([80, "tcp:443"] + self.checks)
            if self.chance(15):
                r["check"] = [r["check"], 8080]
        if self.dcs and self.chance(50):
            r["dc"] = rng.choice(self.dcs)
        if (self.checks or self.dcs) and self.chance(30):
            r["if"] = self.condition()
        if dr and self.chance(30):
            if self.chance(60):
                r["drIfNoRecords"] = True
            if (self.checks or self.dcs) and self.chance(60):
                r["drCond"] = self.condition()
            if len(r.keys() & {"drIfNoRecords", "drCond"}) == 0:
                r["dr"] = True
        if self.chance(30):
            r["returnAfter"] = rng.choice([5, "15s", "1m", "20m"])
        if self.chance(10):
            r["return"] = "manual"
        if self.chance(15):
            r["prio"] = rng.randint(1, 5)
        return r

    def rules(self):
        r = {"damping": False}
        if self.chance(45):
            r["order"] = self.rng.choice(["all", "priority"])
        if self.chance(25):
            r["take"] = self.rng.randint(1, 3)
        if self.chance(70):
            r["allDown"] = self.rng.choice(["keep", "all", "none"])
        return r

    def records(self):
        rng = self.rng
        main, spare = [], []
        for data in rng.sample(ADDRESSES, rng.randint(1, 5)):
            main.append(self.record(data, True))
        if self.chance(45):
            for data in rng.sample(ADDRESSES, rng.randint(1, 2)):
                spare.append(self.record(data, False))
        if self.chance(15):
            for data in rng.sample(V6, rng.randint(1, 3)):
                main.append(self.record(data, True))
        if self.chance(15):
            for data in rng.sample(TARGETS, rng.randint(1, 3)):
                r = self.record(data, True)
                r["name"] = "cdn.www"
                r["type"] = "CNAME"
                main.append(r)
        return main, spare

    # -- the whole --

    def named(self, suffix):
        """checks, dcs and scenarios of one spec."""
        rng, out = self.rng, {"checks": {}, "dcs": {}, "scenarios": {}}
        self.written = {k: {**self.written.get(k, {})} for k in out}
        for i in range(rng.randint(0, 3)):
            name = f"c{i}{suffix}"
            out["checks"][name] = self.written["checks"][name] = \
                self.check(name)
            self.checks.append(name)
        fresh = [n for n in self.checks if n not in self.local]
        for i in range(rng.randint(0, 3)):
            name = f"d{i}{suffix}"
            out["dcs"][name] = self.written["dcs"][name] = self.dc(fresh)
            self.dcs.append(name)
        for i in range(rng.randint(0, 3)):
            if not self.checks and not self.dcs:
                break
            name = f"s{i}{suffix}"
            value = self.scenario()
            if self.names_in(value) & self.local:
                self.local.add(name)
            out["scenarios"][name] = self.written["scenarios"][name] = value
            self.scenarios.append(name)
        return {k: v for k, v in out.items() if v}

    def make(self):
        self.written = {}
        apex = None
        if self.chance(25):
            apex = self.named("x")
        spec = self.named("")
        spec.update(self.rules())
        spec["records"], spare = self.records()
        if spare:
            spec["fallbackRecords"] = spare
        if self.chance(15):
            some = self.rules()
            some.pop("damping")
            if some:
                spec["sets"] = {"www A": some}
        return apex, spec


def check_keys(reference, spec):
    """Every check that the spec can ask for, at each of its addresses."""
    keys = set()
    texts = list(spec.named["checks"].values())
    for dc in spec.named["dcs"].values():
        for d in DIMENSIONS:
            some = dc.get(d, [])
            texts += some["of"] if isinstance(some, dict) else some
    for r in spec.records + spec.fallback:
        texts += [c for c in r.checks if c not in spec.named["checks"]]
    for text in texts:
        check = reference.Check(text)
        for r in spec.records + spec.fallback:
            keys.add(check.key(r.data))
    return sorted(keys)


def random_steps(rng, keys, dcs):
    """Worlds one after the other, each a little different."""
    letters = {k: rng.choice("TTTTFFUN") for k in keys}
    ever = {k for k in keys if letters[k] == "T"}
    now_ms, maintenance, steps = 1_000_000, set(), []
    for _ in range(rng.randint(3, 9)):
        now_ms += rng.choice([1000, 4000, 20_000, 61_000, 601_000])
        shaken = rng.choice(["", "", "", "TF", "TTTF", "T"])
        for k in keys:
            # A data centre is more often up, or down, than half of it.
            if k.split(":")[0] == "tcp" and k in ever and shaken:
                letters[k] = rng.choice(shaken)
            elif rng.random() < 0.35:
                letters[k] = rng.choice("TTTFFFU" if k in ever else "TTFNNU")
            if letters[k] == "T":
                ever.add(k)
            if letters[k] == "N" and k in ever:
                letters[k] = "F"
            if letters[k] == "F" and k not in ever:
                letters[k] = "N"
        for d in dcs:
            if rng.random() < 0.13:
                maintenance ^= {d}
        step = {"now_ms": now_ms, "checks": dict(letters),
                "maintenance": sorted(maintenance)}
        if dcs and rng.random() < 0.08:
            step["readmit"] = [rng.choice(dcs)]
        if rng.random() < 0.15:
            step["restart"] = True
        steps.append(step)
    return steps


def documents(rng, written):
    """The spec as several TXT records, in any order, when it can be: where
    the chain matters every record says its place."""
    if rng.random() < 0.7:
        return [json.dumps(written)]
    docs = [{} for _ in range(rng.randint(2, 3))]
    for member in ("records", "fallbackRecords"):
        for i, record in enumerate(written.get(member, [])):
            record["prio"] = i + 1
            rng.choice(docs).setdefault(member, []).append(record)
    for member, value in written.items():
        if member not in ("records", "fallbackRecords"):
            rng.choice(docs)[member] = value
    docs = [d for d in docs if d]
    rng.shuffle(docs)
    return [json.dumps(d) for d in docs]


def random_case(rng, reference):
    """returns the case for the program, and the reference's specs"""
    case = Case(rng)
    apex, written = case.make()
    apex_text = json.dumps(apex) if apex is not None else None
    texts = documents(rng, written)
    text = json.dumps(written)
    above = reference.Spec(apex_text, ZONE, ZONE) if apex_text else None
    spec = reference.Spec(text, OWNER, ZONE, above)
    published = {}
    for r in spec.records + spec.fallback:
        if rng.random() < 0.5:
            some = published.setdefault(r.set_key(), [])
            if r.data not in some and not (some and r.type == "CNAME"):
                some.append(r.data)
    return {
        "zone": ZONE, "apex": apex_text, "owner": OWNER, "texts": texts,
        "agent_dc": rng.choice([None, None] + case.dcs),
        "published": published,
        "steps": random_steps(rng, check_keys(reference, spec), case.dcs),
    }, spec
