#!/usr/bin/env python3
"""gen_once.py DIR NAMES [PORT]: the scenario of one `once` over many names.

Writes DIR/db.example.org: NAMES names with two rows each in the rows form,
the first row's target in 127.0.1.1... (a listener on 0.0.0.0:PORT answers
there), the second's in 127.128.1.1... (a black hole, made by whoever runs
this). Each name has both A records and its rows in a TXT record at _failover.
"""

import pathlib
import sys

ZONE = "example.org"


def target(net, i):
    """Address i of a block, last octet 1 to 250 as in the other benches."""
    return f"127.{net}.{1 + i // 250}.{1 + i % 250}"


def living(i):
    return target(0, i)


def dead(i):
    return target(128, i)


def owner(i):
    return f"h{i:05d}"


def spec(i, port):
    """The rows of name i as JSON text."""
    rows = (
        f'{{"name":"{owner(i)}.{ZONE}.","data":"{data}","check":"{port}",'
        '"ttl":"60"}'
        for data in (living(i), dead(i))
    )
    return f"[{','.join(rows)}]"


def character_strings(text):
    """As master files hold them: quoted, quotes escaped, 255 bytes each."""
    parts = (text[at:at + 255] for at in range(0, len(text), 255))
    return " ".join('"' + p.replace('"', '\\"') + '"' for p in parts)


def zone_text(names, port):
    lines = [
        "$TTL 60",
        f"$ORIGIN {ZONE}.",
        "@ IN SOA ns hostmaster 1 3600 600 86400 60",
        "@ IN NS ns",
        "ns IN A 127.0.0.1",
    ]
    for i in range(names):
        lines += [
            f"{owner(i)} IN A {living(i)}",
            f"{owner(i)} IN A {dead(i)}",
            f"_failover.{owner(i)} IN TXT {character_strings(spec(i, port))}",
        ]
    return "\n".join(lines) + "\n"


def addresses(names, with_dead):
    """{(owner, address)} of the zone before (with_dead) or after `once`."""
    rows = {("ns", "127.0.0.1")}
    for i in range(names):
        rows.add((owner(i), living(i)))
        if with_dead:
            rows.add((owner(i), dead(i)))
    return rows


def config_text(directory, server, reload_command):
    """The agent's file. server: address:port of the name server."""
    return f"""\
agent {{
  state         = "{directory}/state.db"
  allow-targets = {{"127.0.0.0/8"}}
}}
provider files {{
  type   = zonefile
  file   = "{directory}/db.{{zone}}"
  check  = "named-checkzone -q {{zone}} {{file}}"
  reload = "{reload_command}"
}}
zone "{ZONE}" {{
  provider = files
  discover = provider
  servers  = {{"{server}"}}
}}
"""


def write_zone(directory, names, port):
    path = pathlib.Path(directory) / f"db.{ZONE}"
    path.write_text(zone_text(names, port))
    return path


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    write_zone(sys.argv[1], int(sys.argv[2]),
               int(sys.argv[3]) if len(sys.argv) == 4 else 8000)
