"""Records of the contract tests from DNS and as master file lines."""

import ipaddress

import dns.rdatatype
import dns.zone

from .backend import Record

STRING_MAX = 255


def strings(text):
    """TXT data as quoted character-strings."""
    data = text.encode()
    parts = [data[i:i + STRING_MAX]
             for i in range(0, len(data), STRING_MAX)] or [b""]
    return " ".join(
        '"' + "".join(f"\\{c:03d}" if c in b'"\\' or not 32 <= c < 127
                      else chr(c) for c in part) + '"' for part in parts)


def line(r):
    """One record as a line of a master file."""
    data = strings(r.data) if r.type == "TXT" else r.data
    return f"{r.name}. {r.ttl} IN {r.type} {data}"


def data_text(rdata):
    """A dnspython rdata as Record.data."""
    if rdata.rdtype == dns.rdatatype.TXT:
        return b"".join(rdata.strings).decode("utf-8", "surrogateescape")
    if rdata.rdtype in (dns.rdatatype.A, dns.rdatatype.AAAA):
        return str(ipaddress.ip_address(rdata.address))
    return rdata.to_text().lower()


LEFT_OUT = {dns.rdatatype.SOA, dns.rdatatype.RRSIG, dns.rdatatype.NSEC,
            dns.rdatatype.NSEC3, dns.rdatatype.NSEC3PARAM,
            dns.rdatatype.DNSKEY, dns.rdatatype.CDS, dns.rdatatype.CDNSKEY,
            65534}  # BIND's notes of what is signed


def records_of(zone):
    """A dns.zone.Zone (absolute names) as Backend.truth() gives it: without
    SOA, NS, ns1 and DNSSEC."""
    found = []
    for name, rdataset in zone.iterate_rdatasets():
        text = name.to_text().rstrip(".").lower()
        if (rdataset.rdtype in LEFT_OUT or rdataset.rdtype == dns.rdatatype.NS
                or text.startswith("ns1.")):
            continue
        for rdata in rdataset:
            found.append(Record(
                text, dns.rdatatype.to_text(rdataset.rdtype), rdataset.ttl,
                data_text(rdata)))
    return sorted(found)


def from_text(text, origin):
    """A master file's text as dns.zone.Zone with absolute names."""
    return dns.zone.from_text(text, origin=origin, relativize=False)
