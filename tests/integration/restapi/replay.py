"""A server that gives the answers of a recorded session."""

import json
import urllib.parse

from .server import Answer, Server


class Replay(Server):
    """Each request gets the next recorded answer for its method and path (the
    last one again when they are used up); queries differ between clients and
    are not compared."""

    def __init__(self, path):
        super().__init__()
        self.answers = {}
        for x in json.loads(path.read_text())["exchanges"]:
            url = urllib.parse.urlsplit(x["request"]["url"])
            self.origin = f"{url.scheme}://{url.netloc}"
            key = (x["request"]["method"],
                   urllib.parse.unquote(url.path).replace("//", "/"))
            self.answers.setdefault(key, []).append(x["response"])

    def bodies(self, part):
        """The JSON of the GETs whose path ends so."""
        return [json.loads(r["body"]) for (method, path), rs
                in self.answers.items()
                if method == "GET" and path.endswith(part) for r in rs]

    def move(self, old, new):
        """Answers of paths that begin so stand at others too."""
        for (method, path), rs in list(self.answers.items()):
            if path.startswith(old):
                key = (method, new + path[len(old):])
                self.answers.setdefault(key, []).extend(rs)

    def handle(self, request):
        found = self.answers.get((request.method, request.path))
        if not found:
            return Answer(404, {"message": f"not recorded: {request.path}"})
        r = found.pop(0) if len(found) > 1 else found[0]
        kept = {k: v.replace(self.origin, self.url)
                for k, v in r["headers"].items()
                if k in ("link", "total-count")}
        return Answer(r["status"], r["body"].replace(self.origin, self.url),
                      kept, r["headers"].get("content-type",
                                             "application/json"))
