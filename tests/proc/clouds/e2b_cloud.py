"""E2B on loopback: its REST interface for machines, and `envd` on the same port (Connect RPC for processes, HTTP for files)."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs

import uvicorn
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from e2b.envd.process import process_connect, process_pb
from protobuf import Oneof

from tests.proc.clouds.room import KEY, Machine, Room, folder, port_of

ROOM = Room(folder())
TOKEN = "envd-token"


def _machine() -> Machine:
    return next(iter(ROOM.machines.values()))


class Processes(process_connect.Process):  # type: ignore[misc]
    """The part of envd that runs commands."""

    async def start(self, request: Any, ctx: Any) -> AsyncIterator[Any]:
        if ctx.request_headers.get("x-access-token") != TOKEN:
            raise ConnectError(Code.UNAUTHENTICATED, "no token")
        config = request.process
        argv = [config.cmd, *config.args]
        machine = _machine()
        process = await machine.start("0", argv, dict(config.envs), config.cwd or None)
        machine.processes[str(process.pid)] = process
        yield _event(Oneof("start", process_pb.ProcessEvent.StartEvent(pid=process.pid)))
        queue: asyncio.Queue[Any] = asyncio.Queue(4)

        async def sink(name: str, data: bytes) -> None:
            await queue.put(Oneof("data", process_pb.ProcessEvent.DataEvent(output=Oneof(name, data))))

        async def run() -> None:
            status = await machine.follow(process, sink)
            end = process_pb.ProcessEvent.EndEvent(
                exit_code=status, exited=True, status=f"exit status {status}"
            )
            await queue.put(Oneof("end", end))
            await queue.put(None)

        running = asyncio.create_task(run())
        while (event := await queue.get()) is not None:
            yield _event(event)
        await running

    async def send_input(self, request: Any, ctx: Any) -> Any:
        process = _process(request)
        process.stdin.write(request.input.input.value)
        await process.stdin.drain()
        return process_pb.SendInputResponse()

    async def close_stdin(self, request: Any, ctx: Any) -> Any:
        ROOM.journal.note("closed stdin")
        _process(request).stdin.close()
        return process_pb.CloseStdinResponse()


def _process(request: Any) -> Any:
    pid = str(request.process.selector.value)
    for machine in ROOM.machines.values():
        if pid in machine.processes:
            return machine.processes[pid]
    raise ConnectError(Code.NOT_FOUND, f"process {pid} not found")


def _event(event: Any) -> Any:
    return process_pb.StartResponse(event=process_pb.ProcessEvent(event=event))


ENVD = process_connect.ProcessASGIApplication(Processes())


async def app(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http":
        return
    path, method = scope["path"], scope["method"]
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    if path.startswith("/process.Process/"):
        await ENVD(scope, receive, send)
        return
    body = await _body(receive)
    status, answer = _answer(method, path, headers, body, parse_qs(scope["query_string"].decode()))
    data = b"" if answer is None else json.dumps(answer).encode()
    kind = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": kind})
    await send({"type": "http.response.body", "body": data})


def _answer(method: str, path: str, headers: Any, body: bytes, query: Any) -> tuple[int, Any]:
    if path == "/files":
        place = ROOM.machines[next(iter(ROOM.machines))].place(query["path"][0])
        place.write_bytes(body)
        return 200, [{"name": place.name, "path": str(place), "type": "file"}]
    if path == "/health":
        return 204, None
    if headers.get("x-api-key") != KEY:
        return 401, {"code": 401, "message": f"wrong key {headers.get('x-api-key')}"}
    match method, path.strip("/").split("/"):
        case "POST", ["v2", "sandboxes"]:
            machine = Machine(ROOM, json.loads(body))
            facts = {"templateID": "t", "sandboxID": machine.id, "clientID": "c", "envdVersion": "0.6.7"}
            return 201, facts | {"envdAccessToken": TOKEN, "domain": "127.0.0.1"}
        case "DELETE", ["sandboxes", name] if name in ROOM.machines:
            ROOM.machines[name].destroy()
            return 204, None
        case "POST", ["sandboxes", name, "timeout"]:
            ROOM.journal.note("renewed", id=name, asked=json.loads(body))
            return 204, None
    return 404, {"code": 404, "message": f"no {method} {path}"}


async def _body(receive: Any) -> bytes:
    found = bytearray()
    while True:
        message = await receive()
        found += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(found)


async def main() -> None:
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    )
    serving = asyncio.create_task(server.serve())
    ROOM.ready(await port_of(server))
    await serving


if __name__ == "__main__":
    asyncio.run(main())
