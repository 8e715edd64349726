"""What the doubles' servers check of a record."""

import ipaddress
import re

NAME = re.compile(r"^(\*|[a-z0-9_-]+)(\.(\*|[a-z0-9_-]+))*$", re.I)


def content_fault(rdtype, content):
    """Why the content is no good, or None."""
    if rdtype in ("A", "AAAA"):
        try:
            address = ipaddress.ip_address(content)
        except ValueError:
            return "is not an IP address"
        if address.version != (4 if rdtype == "A" else 6):
            return f"is not an IPv{4 if rdtype == 'A' else 6} address"
    if rdtype == "CNAME" and not NAME.match(content.rstrip(".")):
        return "is not a host name"
    if rdtype == "TXT" and not content:
        return "is empty"
    return None


def conflict(records, rdtype, me=None):
    """Does a record of this type clash with those at the same name?"""
    others = [r for r in records if r is not me]
    if rdtype == "CNAME":
        return any(r["type"] in ("A", "AAAA", "CNAME") for r in others)
    return rdtype in ("A", "AAAA") and any(
        r["type"] == "CNAME" for r in others)


def txt_bytes(content):
    """The text of a TXT content, in quotes or bare."""
    found = re.findall(r'"((?:[^"\\]|\\.)*)"', content)
    if not re.fullmatch(r'\s*("(?:[^"\\]|\\.)*"\s*)+', content):
        return content
    out = bytearray()
    for part in found:
        i = 0
        data = part.encode()
        while i < len(data):
            if data[i] == 0x5c and data[i + 1:i + 4].isdigit():
                out.append(int(data[i + 1:i + 4]))
                i += 4
            elif data[i] == 0x5c:
                out.append(data[i + 1])
                i += 2
            else:
                out.append(data[i])
                i += 1
    return out.decode()
