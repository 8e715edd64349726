"""What the example hooks have in common: requests in, answers out.

A hook reads one request as JSON from its standard input and writes one answer
to its standard output; "THE HOOK'S REQUESTS" in dnsfailover.conf(5) says what
stands in them. Messages for people go to standard error.

    def list_records(request): return {"records": […], "serial": 7}
    hookframe.serve({"list-records": list_records, …}, {"atomic": True})
"""

import json
import sys

VERSION = 1


class Refused(Exception):
    """Nothing was changed. code: retry, auth, notFound, input, conflict,
    limit, unsupported; or unknown: it may have been."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def answer(handlers, capabilities, request):
    """The answer to one request, as a dict."""
    if request.get("version") != VERSION:
        raise Refused("unsupported", f"version {request.get('version')!r}")
    kind = request.get("request")
    if kind == "capabilities":
        return {"capabilities": dict(capabilities, requests=list(handlers))}
    if kind not in handlers:
        raise Refused("unsupported", f"request {kind!r}")
    return handlers[kind](request)


def serve(handlers, capabilities):
    """Answers the request on standard input, and ends the program."""
    try:
        out = answer(handlers, capabilities, json.load(sys.stdin))
    except Refused as e:
        out = {"error": {"code": e.code, "message": str(e)}}
    json.dump(dict(out, version=VERSION), sys.stdout)
    sys.stdout.flush()
    sys.exit(1 if "error" in out else 0)


def results(request, values):
    """One result for each change, by what is there now.

    values: {(name, type): the set's values, as the request writes them}
    """
    done = []
    for c in request["changes"]:
        there = c["data"] in values.get((c["name"], c["type"]), ())
        done.append({"state": "done"} if there == (c["op"] == "publish") else
                    {"state": "failed", "message": "the server did not do it"})
    return done


def is_foreign(text):
    """A TXT at a _failover name that is another tool's."""
    return text.lstrip("\ufeff \t\r\n")[:1] not in ("[", "{", '"')
