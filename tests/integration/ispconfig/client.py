"""A bare client of the double: SOAP by hand, for the double's own tests."""

import http.client
import ssl
import urllib.parse
import xml.etree.ElementTree as ET

import pytest

XSI = "{http://www.w3.org/2001/XMLSchema-instance}"
SOAP_HEAD = (
    '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"'
    ' xmlns:i="http://www.w3.org/2001/XMLSchema-instance"'
    ' xmlns:x="http://www.w3.org/2001/XMLSchema"'
    ' xmlns:m="http://xml.apache.org/xml-soap"><s:Body>'
)
SOAP_TAIL = "</s:Body></s:Envelope>"


def post(isp, path, body, address=None, plain=False, headers=None,
         method="POST"):
    """One request; returns (status, headers, body as bytes)."""
    source = (address, 0) if address else None
    if plain:
        port = urllib.parse.urlsplit(isp.http_url).port
        connection = http.client.HTTPConnection(
            "127.0.0.1", port, timeout=20, source_address=source)
    else:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", isp.port, timeout=20, source_address=source,
            context=ssl.create_default_context(cafile=isp.ca_file))
    try:
        if headers is None:
            headers = {"Content-Type": "text/xml; charset=utf-8"}
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def tagged(name, value):
    attributes, inner = encode(value)
    return f"<{name}{attributes}>{inner}</{name}>"


def encode(value):
    """A Python value as the XML inside a parameter, and its attributes."""
    if isinstance(value, dict):
        items = "".join(
            f"<item><key>{key}</key>{tagged('value', v)}</item>"
            for key, v in value.items())
        return ' i:type="m:Map"', items
    if isinstance(value, bool):
        return ' i:type="x:boolean"', "true" if value else "false"
    if value is None:
        return ' i:nil="true"', ""
    text = str(value).replace("&", "&amp;").replace("<", "&lt;")
    return "", text


def decode(element):
    """The value of a <return>, <value> or <item> element."""
    kind = element.get(XSI + "type", "")
    if element.get(XSI + "nil") == "true":
        return None
    if kind.endswith(":Map"):
        return {i.find("key").text: decode(i.find("value"))
                for i in element.findall("item")}
    if kind.endswith(":Array"):
        return [decode(i) for i in element.findall("item")]
    text = element.text or ""
    if kind.endswith(":int"):
        return int(text)
    if kind.endswith(":boolean"):
        return text == "true"
    return text


class Fault(Exception):
    def __init__(self, code, text):
        super().__init__(code, text)
        self.code = code
        self.text = text


class Html(Exception):
    pass


def call(isp, method, *args, address=None, plain=True):
    """One SOAP call; raises Fault, or Html when the answer is a page."""
    parts = "".join(tagged(f"p{n}", v) for n, v in enumerate(args))
    status, headers, answer = post(
        isp, "/remote/index.php",
        envelope(f"<{method}>{parts}</{method}>"), address, plain)
    kind = headers["Content-Type"]
    if kind is None:
        raise http.client.HTTPException("the answer's head is cut short")
    if not kind.startswith("text/xml"):
        raise Html(status, answer)
    root = ET.fromstring(answer)
    fault = root.find(".//{*}Fault")
    if fault is not None:
        assert status == 500
        raise Fault(fault.findtext("faultcode"), fault.findtext("faultstring"))
    assert status == 200
    return decode(root.find(".//return"))


def fault_of(isp, method, *args, **how):
    with pytest.raises(Fault) as caught:
        call(isp, method, *args, **how)
    return caught.value.code


def log_in(isp, user=None, password=None, **how):
    return call(isp, "login", user or isp.user, password or isp.password,
                **how)


def envelope(inner, head=SOAP_HEAD):
    """A request body around hand-written XML."""
    return (head + inner + SOAP_TAIL).encode()


def ids(rows):
    return [int(row["id"]) for row in rows]
