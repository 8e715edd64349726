"""Fixtures of the double's own tests: one double, emptied for each test."""

import pytest

from . import double
from .client import log_in

TABLES = ("dns_rr", "dns_soa", "sys_datalog", "variant", "call_log",
          "remote_session", "attempts_login", "config")
# What a client sends to switch a record off.
OFF = {"zone": "1", "active": "N"}


@pytest.fixture(autouse=True, scope="module")
def needs_php():
    reason = double.missing()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with double.IspConfig(tmp_path_factory.mktemp("own")) as isp:
        yield isp


@pytest.fixture
def isp(running):
    """A double with one zone: 1 A www, 2 A relative, 3 AAAA, 4 TXT, 5 MX."""
    for table in TABLES:
        running.sql(f"DELETE FROM {table}")
    running.sql("DELETE FROM sqlite_sequence WHERE name IN "
                "('dns_rr', 'dns_soa', 'sys_datalog')")
    running.sql("UPDATE server SET updated = 0")
    running.set_functions(double.MINIMUM)
    running.add_zone("domain.example.")
    running.add_rr(1, "www.domain.example.", "A", "192.0.2.1")
    running.add_rr(1, "www", "A", "192.0.2.2")
    running.add_rr(1, "www.domain.example.", "AAAA", "2001:DB8:0:0::1")
    running.add_rr(1, "_failover.www.domain.example.", "TXT",
                   '[{"name":"www.domain.example."}]')
    running.add_rr(1, "domain.example.", "MX", "mail.domain.example.",
                   aux=10)
    return running


@pytest.fixture
def sid(isp):
    return log_in(isp)
