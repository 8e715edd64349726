"""What the tests of publish share: specs, the printed text, DNS's bytes."""

import json
import string

import dns.rdatatype
import pytest

from world import WWW, rows

ORG = "example.org"
OWNER = f"_failover.www.{ORG}."
A, B, C = "192.0.2.1", "192.0.2.2", "192.0.2.3"
SMALL = rows((WWW, A, 443), (WWW, B, 443))


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
