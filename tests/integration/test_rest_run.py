"""`run` with PowerDNS: the service switches records through its API, and its
DNS shows them at once."""

import types

import pytest

import net
from contract import dnsdata
from rest_help import ZONE
from restapi import powerdns
from service import Service, first_look
from test_rest_once import configure, key_file, pair, pdns, served
from world import spec

# pytest finds fixtures by their names here.
assert pair and pdns

pytestmark = pytest.mark.skipif(powerdns.missing() is not None,
                                reason=str(powerdns.missing()))
WWW = f"www.{ZONE}."


def test_out_and_back(agent, short_dir, pair, pdns):  # noqa: F811
    a, b = pair
    text = spec(*((t.addr, t.port) for t in pair),
                defaults={"accessPeriod": "300ms"})
    pdns.make_zone(ZONE, [
        (WWW, "A", 60, [(a.addr, False), (b.addr, False)]),
        (f"_failover.{WWW}", "TXT", 60, [(dnsdata.strings(text), False)])])
    config = configure(short_dir, {
        "type": "powerdns", "url": pdns.url,
        "api-key-file": key_file(short_dir, powerdns.KEY)},
        f"127.0.0.1:{pdns.port}")
    serial = pdns.serial(ZONE)
    world = types.SimpleNamespace(dir=short_dir, agent=agent, config=config,
                                  state=short_dir / "state" / "state.db")
    with Service(world) as s:
        first_look(s)
        a.close()
        net.wait_until("out", lambda: served(pdns) == [b.addr], timeout_s=20)
        s.wait(f"{WWW} A {a.addr} withdrawn")
        a.open()
        net.wait_until("back", lambda: served(pdns) == [a.addr, b.addr],
                       timeout_s=20)
        assert s.stop() == 0
    assert s.err == []
    assert pdns.serial(ZONE) == serial + 2
