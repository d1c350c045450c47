"""A web server whose pages are known beforehand, and which writes down what it is told to change.

The pages stand in a file (`--pages`): each by the path of the request, or by the path and a word that the request's body
has. Anything else is answered with `{"ok": true}`. Every request that is no question makes a line in another file
(`--received`), so that whoever looks at files sees whether a tool has changed something here. A question of GraphQL comes by
POST, too; it is one as long as it is no mutation.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.wrap.wrappers.loopback import Handler, called_with, serve


class _Asked(Handler):
    pages: dict[str, Any]
    received: Path | None

    def answer(self) -> None:
        body = self.body().decode("utf-8", "replace")
        path = urlsplit(self.path).path
        found = self.pages.get(path, {"ok": True})
        for key, page in self.pages.items():
            place, _, word = key.partition(" ")
            if word and place == path and word in body:
                found = page
        asks = self.command in ("GET", "HEAD") or (path == "/graphql" and not _mutates(body))
        if self.received is not None and not asks:
            with self.received.open("a") as file:
                file.write(json.dumps([self.command, path, body]) + "\n")
        self.send(found)


def _mutates(body: str) -> bool:
    return str(json.loads(body).get("query", "")).lstrip().startswith("mutation")


if __name__ == "__main__":
    called = called_with("pages", "received")
    known = {} if called.pages is None else json.loads(called.pages.read_text())
    serve(type("Asked", (_Asked,), {"pages": known, "received": called.received}), called.port)
