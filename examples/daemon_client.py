"""A daemon that ends with its owner, and requests to it: what a client of `operable serve` needs, in one page of code."""

import contextlib
import json
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

LIMIT = 60  # seconds


class DaemonClient:
    """Requests with the token of this user's programs."""

    class Refused(Exception):  # noqa: N818 - an answer, not a fault
        """The daemon answered with an error; the text is its message."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, self._headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise self.Refused(json.load(error)["error"]["message"]) from None


@contextlib.contextmanager
def start_daemon(folder: str, environment: Mapping[str, str]) -> Iterator[DaemonClient]:
    """A daemon on a free port. At the end of the block it has ended, with every session."""
    process = subprocess.Popen(
        mortal("operable", "serve", "--listen", "127.0.0.1:0", "--output", "jsonl"),
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] == "daemon_serving":
                with open(event["token_file"]) as file:
                    yield DaemonClient(event["url"], file.read().strip())
                return
        raise SystemExit("operable serve did not start; what it said is above")
    finally:
        process.terminate()
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def mortal(*words: str) -> list[str]:
    """The same command, which Linux ends when its parent is gone, in whatever way; where setpriv is missing, as it is."""
    return ["setpriv", "--pdeathsig", "TERM", *words] if shutil.which("setpriv") else list(words)
