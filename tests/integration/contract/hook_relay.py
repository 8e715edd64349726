"""Stands before a hook and makes what can go wrong with one happen.

    hook_relay.py DIRECTORY COMMAND…

DIRECTORY/fault names the fault; without it COMMAND is simply run.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

WRITES = ("apply", "write-spec")
ONCE = ("lost", "cut", "hang", "half")
ERRORS = {
    "refused": ("input", "the record is not permitted"),
    "busy-long": ("limit", "too many calls, again in an hour"),
    "budget": ("limit", "no calls are left"),
}
ANSWERS = {
    "empty": "",
    "not-json": "records: none",
    "array": "[]",
    "no-version": '{"records":[]}',
    "next-version": '{"version":2,"records":[]}',
    "no-list": '{"version":1}',
    "two": '{"version":1,"records":[]}{"version":1,"records":[]}',
    "bad-ttl": '{"version":1,"records":[{"name":"www.example.org.",'
               '"type":"A","ttl":-1,"data":"192.0.2.1"}]}',
    "bad-data": '{"version":1,"records":[{"name":"www.example.org.",'
                '"type":"A","ttl":60,"data":"192.0.2.300"}]}',
    "other-zone": '{"version":1,"records":[{"name":"www.example.net.",'
                  '"type":"A","ttl":60,"data":"192.0.2.3"}]}',
    "huge": '{"version":1,"records":[' + " " * (5 << 20) + "]}",
}


def main():
    where, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    text = sys.stdin.read()
    request = json.loads(text)
    (where / "requests").open("a").write(text + "\n")
    (where / "environment").write_text(json.dumps(dict(os.environ)))
    file = where / "fault"
    fault = file.read_text() if file.exists() else ""
    is_write = request["request"] in WRITES
    if fault == "broken":
        print("the server is down", file=sys.stderr)
        sys.exit(3)
    if fault in ANSWERS:
        sys.stdout.write(ANSWERS[fault])
        sys.exit(0)
    if fault and is_write:
        if fault in ONCE:
            file.unlink()
        if fault in ERRORS:
            code, message = ERRORS[fault]
            json.dump({"version": 1, "error": {"code": code,
                                               "message": message}},
                      sys.stdout)
            sys.exit(1)
        if fault == "cut":
            sys.exit(1)
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE)
    if fault == "lost" and is_write:
        sys.exit(1)
    if fault == "half" and is_write:
        sys.stdout.write(done.stdout[:len(done.stdout) // 2])
        sys.exit(0)
    if fault == "hang" and is_write:
        child = subprocess.Popen(["sleep", "600"])
        (where / "child").write_text(str(child.pid))
        time.sleep(600)
    sys.stdout.write(done.stdout)
    sys.exit(done.returncode)


main()
