"""As much of a Docker engine as its client asks for: version 1.41 of the API, with containers, images and events of a test."""

import json
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.wrap.wrappers.loopback import Handler, called_with, serve
from tests.wrap.wrappers.loopback import serving as serving_with

CREATED = 1_700_000_000


def container(
    name: str, number: int, *, state: str = "running", labels: dict[str, str] | None = None
) -> dict[str, Any]:
    return {
        "Id": f"{number:064x}",
        "Name": f"/{name}",
        "Image": f"sha256:{9:064x}",
        "State": {"Status": state, "Running": state == "running"},
        "Config": {
            "Image": "nginx:1",
            "Cmd": ["nginx", "-g", "daemon off;"],
            "Labels": labels or {},
            "Env": ["PATH=/bin", "API_TOKEN=topsecret1"],
        },
    }


class Engine:
    """What the engine knows; one for each test."""

    def __init__(self) -> None:
        self.containers = {
            each["Id"]: each
            for each in (
                container("web", 1, labels={"a": "1,b=2", "odd": 'x\n"}{'}),
                container("db", 2, state="exited"),
            )
        }
        self.events: list[dict[str, Any]] = []
        self.more = threading.Condition()
        self.seen: list[tuple[str, str]] = []
        self.built = 0
        self.commands: dict[str, list[str]] = {}  # of what was made to run: id -> words

    def happened(self, action: str, key: str, number: int) -> None:
        """An event, with a time of its own that only grows."""
        nanoseconds = CREATED * 1_000_000_000 + number
        event = {
            "status": action,
            "id": key,
            "Type": "container",
            "Action": action,
            "Actor": {"ID": key, "Attributes": {"name": 'we"b\n'}},
            "scope": "local",
            "time": CREATED,
            "timeNano": nanoseconds,
        }
        with self.more:
            self.events.append(event)
            self.more.notify_all()

    def note(self, what: str, number: int) -> None:
        """What was done is seen in the list of containers, at the first of them."""
        for each in list(self.containers.values())[:1]:
            each["Config"]["Labels"][what] = str(number)

    def find(self, name: str) -> dict[str, Any] | None:
        same = [each for key, each in self.containers.items() if key == name or each["Name"] == f"/{name}"]
        return same[0] if same else None


class _Asked(Handler):
    engine: Engine

    def answer(self) -> None:
        self.said = self._whole()
        parts = urlsplit(self.path)
        self.engine.seen.append((self.command, parts.path))
        path = [unquote(part) for part in parts.path.split("/") if part]
        if path and path[0].startswith("v1."):
            path = path[1:]
        match self.command, path:
            case "HEAD" | "GET", ["_ping"]:
                self.send(None, Api_Version="1.41", Ostype="linux")
            case "GET", ["version"]:
                self.send(
                    {
                        "Version": "20.10.24",
                        "ApiVersion": "1.41",
                        "MinAPIVersion": "1.12",
                        "Os": "linux",
                        "Arch": "amd64",
                    }
                )
            case "GET", ["containers", "json"]:
                everything = "all" in parse_qs(parts.query)
                self.send(
                    [
                        _row(each)
                        for each in self.engine.containers.values()
                        if everything or each["State"]["Running"]
                    ]
                )
            case "GET", ["images", "json"]:
                self.send(_IMAGES)
            case "GET", ["volumes"]:
                self.send(
                    {
                        "Volumes": [
                            {
                                "Name": name,
                                "Driver": "local",
                                "Mountpoint": f"/v/{name}",
                                "Scope": "local",
                                "Labels": None,
                                "Options": None,
                            }
                            for name in ("data", "more")
                        ]
                    }
                )
            case "GET", ["networks"]:
                self.send(
                    [
                        {"Name": name, "Id": f"{number:064x}", "Driver": "bridge", "Scope": "local"}
                        for number, name in enumerate(("bridge", "inner"), 50)
                    ]
                )
            case "GET", ["events"]:
                self._stream(parse_qs(parts.query))
            case _ if self._ran(path, parse_qs(parts.query)):
                pass
            case _, ["containers", name, *rest]:
                self._container(name, rest)
            case _:
                self.send({"message": f"No such image: {'/'.join(path)}"}, 404)

    def _ran(self, path: list[str], query: dict[str, list[str]]) -> bool:
        """What is about commands in containers, their logs and builds."""
        match self.command, path:
            case "POST", ["build"]:
                self._build(query)
            case "POST", ["containers", "create"]:
                self._create(query)
            case "GET", ["containers", name, "logs"]:
                self._logs(name, query)
            case "POST", ["containers", _, "attach"] | ["exec", _, "start"]:
                self._attached(path[1])
            case "POST", ["containers", key, "wait"] if key in self.engine.commands:
                self.send({"StatusCode": _status(self.engine.commands[key])})
            case "POST", ["containers", key, "start"] if key in self.engine.commands:
                self.send(None, 204)
            case "GET", ["exec", key, "json"]:
                status = _status(self.engine.commands[key])
                self.send({"ID": key, "Running": False, "ExitCode": status, "Pid": 1})
            case "POST", ["containers", name, "exec"] if self.engine.find(name):
                self.send({"Id": self._made(json.loads(self.said)["Cmd"])}, 201)
            case _:
                return False
        return True

    def _container(self, name: str, rest: list[str]) -> None:
        found = self.engine.find(name)
        if found is None:
            self.send({"message": f"No such container: {name}"}, 404)
        elif rest == ["json"]:
            self.send(found)
        elif self.command == "DELETE":
            if found["State"]["Running"] and "force=1" not in self.path:
                self.send({"message": f"You cannot remove a running container {found['Id']}"}, 409)
            else:
                del self.engine.containers[found["Id"]]
                self.send(None, 204)
        elif rest in (["start"], ["stop"]):
            running = rest == ["start"]
            found["State"] = {"Status": "running" if running else "exited", "Running": running}
            self.send(None, 204)
        else:
            self.send({"message": "page not found"}, 404)

    def _whole(self) -> bytes:
        """The body; what is built comes in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.body()
        found = b""
        while size := int(self.rfile.readline(), 16):
            found += self.rfile.read(size + 2)[:size]
        self.rfile.readline()
        return found

    def _made(self, words: list[str]) -> str:
        key = f"{1000 + len(self.engine.commands):064x}"
        self.engine.commands[key] = words
        self.engine.note("commands", len(self.engine.commands))
        return key

    def _create(self, query: dict[str, list[str]]) -> None:
        wanted = json.loads(self.said)
        if wanted["Image"] not in ("nginx:1", "nginx:latest"):
            self.send({"message": f"No such image: {wanted['Image']}"}, 404)
        else:
            self.send({"Id": self._made(wanted["Cmd"] or []), "Warnings": []}, 201)

    def _attached(self, key: str) -> None:
        """What a command prints: its words on stdout, and on stderr that it ran; the connection becomes a stream."""
        head = b"HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
        self.wfile.write(head + b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n")
        self.wfile.write(_frame(1, " ".join(self.engine.commands[key]) + "\n") + _frame(2, "it ran\n"))
        self.wfile.flush()
        self.close_connection = True

    def _logs(self, name: str, query: dict[str, list[str]]) -> None:
        if self.engine.find(name) is None:
            self.send({"message": f"No such container: {name}"}, 404)
            return
        tail = query["tail"][0]
        lines = LOG if tail == "all" else LOG[len(LOG) - min(int(tail), len(LOG)) :]
        self.begin_stream()
        # First all of one stream, then all of the other: their order is in the times.
        for stream in (2, 1):
            for when, text in [(when, text) for number, when, text in lines if number == stream]:
                self.chunk(_frame(stream, f"{when} {text}\n"))
        self.wfile.write(b"0\r\n\r\n")

    def _build(self, query: dict[str, list[str]]) -> None:
        self.engine.built += 1
        self.engine.note("built", self.engine.built)
        self.begin_stream()
        if "broken:1" in query.get("t", []):
            lines: list[dict[str, Any]] = [
                {"errorDetail": {"code": 1, "message": "it broke"}, "error": "it broke"}
            ]
        else:
            lines = [{"stream": "Step 1/1 : FROM nginx:1\n"}, {"aux": {"ID": _IMAGES[0]["Id"]}}]
        self.chunk(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        self.wfile.write(b"0\r\n\r\n")

    def _stream(self, query: dict[str, list[str]]) -> None:
        engine = self.engine
        whole, _, rest = query.get("since", ["0"])[0].partition(".")
        since = int(whole) * 1_000_000_000 + int(rest.ljust(9, "0") or 0)
        self.begin_stream()
        told = 0
        while True:
            with engine.more:
                if "until" not in query and len(engine.events) == told:
                    engine.more.wait(0.2)
                new = engine.events[told:]
            told += len(new)
            lines = [json.dumps(event).encode() + b"\n" for event in new if event["timeNano"] >= since]
            self.chunk(b"".join(lines) or b"\n")  # also to notice a client that has gone
            if "until" in query:
                break
        self.wfile.write(b"0\r\n\r\n")


LOG = [
    (1, "2026-01-01T00:00:00.000000001Z", "begin é"),
    (2, "2026-01-01T00:00:00.000000002Z", "a warning"),
    (1, "2026-01-01T00:00:00.000000003Z", "2026-01-01T00:00:00.9Z end"),
]


def _frame(stream: int, text: str) -> bytes:
    """How the engine marks what belongs to which stream."""
    raw = text.encode()
    return bytes([stream, 0, 0, 0]) + len(raw).to_bytes(4, "big") + raw


def _status(words: list[str]) -> int:
    return 3 if "fail" in words else 0


def _row(each: dict[str, Any]) -> dict[str, Any]:
    return {
        "Id": each["Id"],
        "Names": [each["Name"]],
        "Image": each["Config"]["Image"],
        "ImageID": each["Image"],
        "Command": " ".join(each["Config"]["Cmd"]),
        "Created": CREATED,
        "Ports": [],
        "Labels": each["Config"]["Labels"],
        "State": each["State"]["Status"],
        "Status": "Up",
        "HostConfig": {"NetworkMode": "default"},
        "NetworkSettings": {"Networks": {}},
        "Mounts": [],
    }


_IMAGES = [
    {
        "Id": f"sha256:{number:064x}",
        "RepoTags": tags,
        "RepoDigests": [],
        "Created": CREATED,
        "Size": 1234567,
        "VirtualSize": 1234567,
        "SharedSize": -1,
        "Containers": -1,
        "Labels": None,
        "ParentId": "",
    }
    for number, tags in ((9, ["nginx:1", "nginx:latest"]), (10, ["redis:7"]))
]


def serving(engine: Engine, path: Path | None = None) -> AbstractContextManager[str]:
    """The address of an engine: the path of its socket, or host:port."""
    return serving_with(_asking(engine), path)


def _asking(engine: Engine) -> type[Handler]:
    return type("Asked", (_Asked,), {"engine": engine})


def _with_a_past() -> Engine:
    engine = Engine()
    for number, action in enumerate(("create", "start", "die"), 1):
        engine.happened(action, f"{1:064x}", number)
    return engine


if __name__ == "__main__":
    serve(_asking(_with_a_past()), called_with().port)
