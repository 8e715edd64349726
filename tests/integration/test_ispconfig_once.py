"""`dnsfailover once` with ISPConfig, end to end: the double behind TLS, its
rows, its zone files on a real name server."""

import json

import pytest

import servers
from ispconfig import scene as scene_
from ispconfig.scene import (NET, ORG, WWW, Machine, Scene, bare, escaped,
                             machine, rows, scene)

# pytest finds fixtures by their names here.
assert machine and scene


def out_line(target, why="refused"):
    return f"{WWW} ({target.addr}) becomes unavailable: tcp:{target.port} {why}"


# ---- out and back ---------------------------------------------------------------


def test_out_and_back(scene):
    a, b = scene.pair()
    foreign = scene.add("www", "A", "192.0.2.9")
    scene.serve()
    scene.quiet()
    scene.session_is_clean()
    start = scene.dump()
    serial = scene.isp.serial(scene.zone)
    log = len(scene.isp.datalog())

    a.close()
    assert scene.lines() == [
        out_line(a), f"{WWW} A {a.addr} withdrawn: its checks fail"]
    scene.session_is_clean()
    raised = scene.isp.serial(scene.zone)
    assert raised > serial
    assert scene.changed(start) == {
        ("dns_rr", scene.rows[0]): {"active": "N"},
        ("dns_soa", scene.zone): {"serial": raised}}
    assert [e["dbtable"] for e in scene.isp.datalog()[log:]] == [
        "dns_rr", "dns_soa"]
    assert scene.values() == [a.addr, b.addr, "192.0.2.9"]
    scene.cron()
    assert scene.values() == [b.addr, "192.0.2.9"]
    got = scene.lines()
    assert len(got) == 1
    assert got[0].startswith(f"{WWW} A shown by 1 of 1 authoritative servers")
    for _ in range(3):
        scene.quiet()
        scene.session_is_clean()

    a.open()
    assert scene.lines() == [
        f"{WWW} ({a.addr}) becomes available: tcp:{a.port} ok",
        f"{WWW} A {a.addr} published: healthy records"]
    scene.session_is_clean()
    again = scene.isp.serial(scene.zone)
    assert again > raised
    assert scene.changed(start) == {
        ("dns_soa", scene.zone): {"serial": again}}
    assert scene.active(*scene.rows, foreign) == "YYY"
    scene.cron()
    assert scene.values() == [a.addr, b.addr, "192.0.2.9"]
    assert len(scene.lines()) == 1
    scene.quiet()
