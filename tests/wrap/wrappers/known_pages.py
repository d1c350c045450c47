"""A web server whose pages are known beforehand, and which counts what it is told to change.

The pages stand in a file: each by the path of the request, or by the path and a word that the request's body has. Anything
else is answered with `{"ok": true}`. `/changes` tells how many requests were no question: what a tool that talks with it has
changed there, as far as this server knows.
"""

import json
from typing import Any, ClassVar
from urllib.parse import urlsplit

from tests.wrap.wrappers.loopback import Handler, arguments, serve


class _Asked(Handler):
    pages: ClassVar[dict[str, Any]] = {}
    changes: ClassVar[list[str]] = []

    def answer(self) -> None:
        body = self.body().decode("utf-8", "replace")
        path = urlsplit(self.path).path
        found = self.pages.get(path, {"ok": True})
        for key, page in self.pages.items():
            place, _, word = key.partition(" ")
            if word and place == path and word in body:
                found = page
        if path == "/changes":
            found = {"changes": len(self.changes)}
        elif self.command not in ("GET", "HEAD"):
            self.changes.append(path)
        self.send(found)


if __name__ == "__main__":
    called = arguments("pages")
    if called.pages is not None:
        _Asked.pages.update(json.loads(called.pages.read_text()))
    serve(_Asked, called.port)
