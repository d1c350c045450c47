"""What streams of the daemon cost: a burst of events to many readers, of which some stall; idle readers; idle sessions.

- delivery: 50 readers of one session, of which 5 never read. Events come as an agent's output does, a chunk at a time, and
  are on disk before a reader gets them. CPU seconds of the server, without those of the same burst with no reader. The
  reference is the usual relay: Starlette's StreamingResponse with a queue per client, one message per event; it gets a
  part of the events, and figures are per event. Every live reader must get every event, in order.
- many: the same, 50 readers of 50 sessions.
- latency: from the append of an event to its arrival at a reader, one event at a time; 99th percentile.
- memory: of an idle reader, and of an idle session of a real daemon with a real agent process.
- live: a real daemon with 200 live sessions, of which one agent sends a burst to 50 readers, of which 5 never read: CPU of
  the daemon beyond that of the same burst with no reader, and the latency from the agent's write to the reader.
"""

import asyncio
import json
import os
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench._figures import Row, print_rows

EVENTS = 50_000
REFERENCE_EVENTS = {"one": 2_000, "many": 20_000}  # as many as take a few seconds
READERS, STALLED = 50, 5
CHUNK = 400  # events of one chunk of output: 64 KiB of short pieces of text
LATENCIES = 500
SESSIONS = (20, 200)
TARGET = 0.06
IDLE_LIMIT = 60_000  # bytes
_WAIT = 300


def main() -> int:
    """Print the table; 1 when a target is missed."""
    if sys.argv[1:2] == ["--side"]:
        asyncio.run(_side(*sys.argv[2:]))
        return 0
    one, many = _ratio("one"), _ratio("many")
    latency = _measure("ours", "latency", 0, 1)["latency"]
    live = _live()
    relayed = one[2]
    idle = [_measure("ours", "one", 0, count)["rss"] for count in (10, 210)]
    sessions = [_sessions(count) for count in SESSIONS]
    each = (sessions[1][0] - sessions[0][0]) / (SESSIONS[1] - SESSIONS[0])
    growth = sessions[1][1] / sessions[0][1]
    status = print_rows(
        [
            Row("delivery to 50 readers of one session / queue per client", one[0], TARGET, one[1]),
            Row("delivery to 50 readers of 50 sessions / queue per client", many[0], TARGET, many[1]),
            Row(
                "delivery by a daemon with 200 live sessions / queue per client",
                live["delivery"] / relayed,
                TARGET,
                f"{live['delivery'] * 1e6:.1f} µs of CPU an event",
            ),
            Row("an idle session / 60 kB", each / IDLE_LIMIT, 1.0, f"{each:,.0f} bytes"),
            Row(
                "GET /sessions with 200 sessions / with 20",
                growth,
                None,
                f"{sessions[1][1] * 1000:.1f} ms of CPU",
            ),
        ]
    )
    print(f"p99 from append to arrival: {latency * 1000:.2f} ms")
    print(f"p99 from an agent's write to a reader, 200 live sessions: {live['latency'] * 1000:.2f} ms")
    print(f"an idle reader: {(idle[1] - idle[0]) / 200:,.0f} bytes of the server")
    return status


def _ratio(scene: str) -> tuple[float, str, float]:
    """CPU per event, ours over the reference, both without what the burst costs by itself."""
    ours = _measure("ours", scene, EVENTS, READERS)["cpu"] - _measure("ours", scene, EVENTS, 0)["cpu"]
    count = REFERENCE_EVENTS[scene]
    queue = _measure("queue", scene, count, READERS)["cpu"] - _measure("queue", scene, count, 0)["cpu"]
    note = f"{ours / EVENTS * 1e6:.1f} µs of CPU an event here, {queue / count * 1e6:.0f} there"
    return (ours / EVENTS) / (queue / count), note, queue / count


def _measure(side: str, scene: str, events: int, readers: int) -> dict[str, float]:
    """One server, one burst. The readers are in this process."""
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable,
            "-m",
            "bench.serve",
            "--side",
            side,
            scene,
            str(events),
            str(readers),
            folder,
        ]
        server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            port = int(server.stdout.readline())
            sockets = [_connected(port, number if scene == "many" else 0) for number in range(readers)]
            live = sockets[: max(0, readers - STALLED)] if events else []
            arrivals = _read(live, events if scene != "many" else events // READERS, server)
            if scene == "latency":
                arrivals = _read_latency(sockets[0], server)
            server.stdin.write("done\n")
            server.stdin.flush()
            figures: dict[str, float] = json.loads(server.stdout.readline())
            if scene == "latency":
                figures["latency"] = sorted(arrivals)[int(len(arrivals) * 0.99)]
            for each in sockets:
                each.close()
            return figures
        finally:
            server.kill()
            server.wait()


def _connected(port: int, number: int) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=_WAIT)
    made.sendall(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
    made.recv(1)  # the head has begun: the reader is there
    made.setblocking(False)
    return made


def _read(live: list[socket.socket], events: int, server: Any) -> list[float]:
    """Read everything, and check that it is all there, in order."""
    server.stdin.write("go\n")
    server.stdin.flush()
    received = {each: bytearray() for each in live}
    last = b"id: %d\n" % events
    open_ones = set(live)
    ends = time.monotonic() + _WAIT
    with selectors.DefaultSelector() as selector:
        for each in live:
            selector.register(each, selectors.EVENT_READ)
        while open_ones:
            assert time.monotonic() < ends, "the readers did not get everything"
            for key, _ in selector.select(1):
                chosen: Any = key.fileobj
                data = received[chosen]
                data += chosen.recv(1 << 20)
                if last in data[-(1 << 21) :]:
                    open_ones.discard(chosen)
                    selector.unregister(chosen)
    wanted = list(range(1, events + 1))
    for data in received.values():
        found = [int(number) for number in re.findall(rb"^id: (\d+)$", bytes(data), re.MULTILINE)]
        assert found == wanted, "an event is missing, or not in its place"
    return []


def _read_latency(reader: socket.socket, server: Any) -> list[float]:
    reader.settimeout(_WAIT)
    found = []
    for _ in range(LATENCIES):
        server.stdin.write("one\n")
        server.stdin.flush()
        data = b""
        while not data.endswith(b"\n\n\r\n"):
            data += reader.recv(1 << 16)
        sent = float(data.rpartition(b"at ")[2].partition(b" ")[0])
        found.append(time.clock_gettime(time.CLOCK_MONOTONIC) - sent)
    return found


async def _side(side: str, scene: str, events: str, readers: str, folder: str) -> None:
    """The server: ours, or the usual relay. It takes words on stdin: go, one, done."""
    import uvicorn

    from operable.host.session.log import SessionLog
    from operable.serve.http.connection import StreamConnection
    from operable.wire.events import TextDelta

    count = READERS if scene == "many" else 1
    logs = [SessionLog(os.path.join(folder, str(number))) for number in range(count)]
    relay = _Ours(logs) if side == "ours" else _Queues(logs)
    http: Any = StreamConnection if side == "ours" else "h11"
    config = uvicorn.Config(relay.app, http=http, log_config=None, lifespan="off", interface="asgi3")
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    print(listener.getsockname()[1], flush=True)
    loop = asyncio.get_running_loop()

    async def word() -> str:
        line: str = await loop.run_in_executor(None, sys.stdin.readline)
        return line.strip()

    assert await word() == "go"
    while relay.count < int(readers):  # noqa: ASYNC110 - they come from another process
        await asyncio.sleep(0.01)
    before = time.process_time()
    number, total = 0, int(events) // count
    while number < total:
        batch = [
            TextDelta("s", f"piece {each} of an answer") for each in range(number, min(total, number + CHUNK))
        ]
        for index, log in enumerate(logs):
            relay.append(index, log.append(batch))
        number += CHUNK
        await asyncio.sleep(0)
    while (said := await word()) == "one":
        text = f"at {time.clock_gettime(time.CLOCK_MONOTONIC)} now"
        relay.append(0, logs[0].append([TextDelta("s", text)]))
    assert said == "done"
    assert not serving.done()
    rss = _resident("self")
    print(json.dumps({"cpu": time.process_time() - before, "rss": rss}), flush=True)
    sys.stdout.flush()
    os._exit(0)  # the readers are of this benchmark, and nothing is to be kept


class _Ours:
    def __init__(self, logs: list[Any]) -> None:
        from operable.serve.http.feed import Feeds

        self.feeds, self._logs = Feeds(), logs

    @property
    def count(self) -> int:
        return self.feeds.count

    def append(self, index: int, records: Any) -> None:
        """The feeds follow the logs by themselves."""

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        from operable.serve.http.feed import OwnLog
        from operable.serve.http.sse import EventStream, TypedMessages

        name = scope["path"][1:]
        feed = self.feeds.feed(name, lambda: OwnLog(self._logs[int(name)]), TypedMessages())
        await EventStream(self.feeds, name, feed, 0)(scope, receive, send)


class _Queues:
    def __init__(self, logs: list[Any]) -> None:
        self._queues: list[list[asyncio.Queue[Any]]] = [[] for _ in logs]

    @property
    def count(self) -> int:
        return sum(map(len, self._queues))

    def append(self, index: int, records: Any) -> None:
        for queue in self._queues[index]:
            for record in records:
                queue.put_nowait(record)

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        import msgspec
        from starlette.responses import StreamingResponse

        queue: asyncio.Queue[Any] = asyncio.Queue()
        self._queues[int(scope["path"][1:])].append(queue)

        async def messages() -> Any:
            while True:
                record = await queue.get()
                data = msgspec.json.encode(record.event).decode()
                yield f"id: {record.id}\nevent: text-delta\ndata: {data}\n\n"

        await StreamingResponse(messages(), media_type="text/event-stream")(scope, receive, send)


TINY = r"""#!/bin/sh
case "$*" in *--version*) echo 1.0.0; exit;; esac
read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}'
read -r line; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read -r line
"""


ACP = """---
name: tiny
id: tiny-acp
description: Waits.
version: 1.0.0
kind: client
transport: stdio
metadata:
  aip44:
    acp_rev: 064ee1ffe194cdb14e1d45d66875ce74a14933c3
    tier: governance-aware
    capabilities: {client: {}, agent: {}}
---
Waits.
"""


# What it is asked: `burst N` sends N pieces of text at once, `tick N` one each few milliseconds with the time in it.
BUSY = rf"""#!{sys.executable} -IS
import json, sys, time
if "--version" in sys.argv:
    print("1.0.0")
    sys.exit()
def say(**message):
    sys.stdout.write(json.dumps({{"jsonrpc": "2.0", **message}}) + "\n")
def piece(text):
    content = {{"type": "text", "text": text}}
    update = {{"sessionUpdate": "agent_message_chunk", "content": content}}
    say(method="session/update", params={{"sessionId": "s", "update": update}})
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        say(id=asked["id"], result={{"protocolVersion": 1, "agentCapabilities": {{}}, "authMethods": []}})
    elif asked.get("method") == "session/new":
        say(id=asked["id"], result={{"sessionId": "s"}})
    elif asked.get("method") == "session/prompt":
        kind, count = asked["params"]["prompt"][0]["text"].split()
        for number in range(int(count)):
            if kind == "tick":
                time.sleep(0.004)
                piece(f"at {{time.clock_gettime(time.CLOCK_MONOTONIC)}} now")
                sys.stdout.flush()
            else:
                piece(f"piece {{number}} of an answer")
        say(id=asked["id"], result={{"stopReason": "end_turn"}})
    sys.stdout.flush()
"""


def _add_agent(home: str, name: str, text: str) -> None:
    folder = Path(home) / "config" / "agents" / name
    folder.mkdir(parents=True)
    program = folder / name
    program.write_text(text)
    program.chmod(0o755)
    check = {"cmd": f"{program} --version", "parse": r"(\d+\.\d+\.\d+)", "range": ">=1.0.0"}
    given = {
        "name": name,
        "id": name,
        "description": "Waits.",
        "version": "1.0.0",
        "bin": str(program),
        "install": [{"method": "vendored", "path": name}],
        "version_check": check,
        "sandbox": {"provider": "local", "config": {}},
        "protocol": "acp",
        "acp": "./ACP.md",
    }
    (folder / "AGENT-CLI.md").write_text(f"---\n{json.dumps(given, indent=1)}\n---\nWaits.\n")
    (folder / "ACP.md").write_text(ACP)


def _started(daemon: Any, home: str, name: str) -> str:
    answer = daemon.admin("POST", "/sessions/agent", {"adapter": name, "cwd": f"{home}/work"})
    assert answer.status == 201, answer
    session_id: str = answer.json["id"]
    return session_id


def _live() -> dict[str, float]:
    """CPU seconds of a daemon to deliver one event of a burst to 50 readers, with 200 live sessions; and its latency."""
    from tests.serve.daemon import serving

    with tempfile.TemporaryDirectory() as home:
        _add_agent(home, "tiny", TINY)
        _add_agent(home, "busy", BUSY)
        (Path(home) / "work").mkdir()
        with serving(Path(home)) as daemon:
            for _ in range(SESSIONS[1] - 1):
                _started(daemon, home, "tiny")
            path = f"/sessions/{_started(daemon, home, 'busy')}"
            alone = _burst(daemon, path, 0)
            read = _burst(daemon, path, READERS)
            latencies = _ticks(daemon, path)
            daemon.process.terminate()
            daemon.process.wait(_WAIT)
    p99 = sorted(latencies)[int(len(latencies) * 0.99)]
    return {"delivery": max(0.0, read - alone) / EVENTS, "latency": p99}


def _burst(daemon: Any, path: str, readers: int) -> float:
    """CPU seconds of the daemon for one burst. The readers that read get all of it, in order."""
    first = daemon.admin.get(path).json["lastId"] + 1
    sockets = [_following(daemon, path, first - 1) for _ in range(readers)]
    live = sockets[: max(0, readers - STALLED)]
    before = _cpu(daemon.process.pid)
    assert daemon.admin("POST", f"{path}/prompt", {"prompt": f"burst {EVENTS}"}).status == 200
    received = {each: bytearray() for each in live}
    with selectors.DefaultSelector() as selector:
        for each in live:
            selector.register(each, selectors.EVENT_READ)
        waiting = set(live)
        ends = time.monotonic() + _WAIT
        while waiting:
            assert time.monotonic() < ends, "the readers did not get everything"
            for key, _ in selector.select(1):
                chosen: Any = key.fileobj
                received[chosen] += chosen.recv(1 << 20)
                if b"event: turn-end" in received[chosen][-4096:]:
                    waiting.discard(chosen)
                    selector.unregister(chosen)
    while daemon.admin.get(path).json["state"] != "idle":
        time.sleep(0.05)
    spent = _cpu(daemon.process.pid) - before
    for data in received.values():
        ids = [int(number) for number in re.findall(rb"^id: (\d+)$", bytes(data), re.MULTILINE)]
        assert ids == list(range(first, first + len(ids))), "an event is missing, or not in its place"
        assert data.count(b"event: text-delta") == EVENTS
    for each in sockets:
        each.close()
    return spent


def _following(daemon: Any, path: str, after: int) -> socket.socket:
    made = socket.create_connection((daemon.admin.host, daemon.admin.port), timeout=_WAIT)
    head = f"GET {path}/stream?typed=1&after={after} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    made.sendall(f"{head}Authorization: Bearer {daemon.admin.token}\r\n\r\n".encode())
    made.recv(1)
    made.setblocking(False)
    return made


def _ticks(daemon: Any, path: str) -> list[float]:
    found: list[float] = []
    last = daemon.admin.get(path).json["lastId"]
    with daemon.admin.stream(f"{path}/stream?typed=1&after={last}") as stream:
        daemon.admin("POST", f"{path}/prompt", {"prompt": f"tick {LATENCIES}"})
        while len(found) < LATENCIES:
            said = stream.message()
            now = time.clock_gettime(time.CLOCK_MONOTONIC)
            if said.event == "text-delta":
                found.append(now - float(said.data["text"].split()[1]))
    return found


def _sessions(count: int) -> tuple[float, float]:
    """Resident bytes of a daemon with so many idle sessions, and CPU seconds of one list of them."""
    from tests.serve.daemon import serving

    with tempfile.TemporaryDirectory() as home:
        _add_agent(home, "tiny", TINY)
        (Path(home) / "work").mkdir()
        with serving(Path(home)) as daemon:
            for _ in range(count):
                _started(daemon, home, "tiny")
            daemon.admin.get("/sessions?limit=1000")
            before = _cpu(daemon.process.pid)
            for _ in range(10):
                daemon.admin.get("/sessions?limit=1000")
            spent = (_cpu(daemon.process.pid) - before) / 10
            resident = _resident(daemon.process.pid)
            daemon.process.terminate()
            daemon.process.wait(_WAIT)
        return resident, spent


def _resident(pid: int | str) -> int:
    """Bytes."""
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) * 1024


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
