"""Daytona on loopback: its REST interface for machines, and the toolbox of a machine (files, sessions, logs by WebSocket)."""

import asyncio
import json
from typing import Any

from aiohttp import web

from tests.proc.clouds.room import KEY, Machine, Room, folder

ROOM = Room(folder())
ROUTES = web.RouteTableDef()
MARKS = {"stdout": b"\x01\x01\x01", "stderr": b"\x02\x02\x02"}
LOGS: dict[str, asyncio.Queue[bytes | None]] = {}
ENDED: dict[str, int] = {}


@web.middleware
async def _admit(request: web.Request, handler: Any) -> Any:
    if request.headers.get("Authorization") != f"Bearer {KEY}":
        return web.json_response({"message": f"wrong key {request.headers.get('Authorization')}"}, status=401)
    return await handler(request)


def _facts(machine: Machine, request: web.Request) -> dict[str, Any]:
    told: dict[str, Any] = {"env": {}, "labels": {}, "public": False, "networkBlockAll": False, "kvm": False}
    told |= {"id": machine.id, "name": machine.id, "organizationId": "o", "user": "u", "target": "eu"}
    told |= dict.fromkeys(("cpu", "gpu", "memory", "disk"), 1)
    return told | {"state": "started", "toolboxProxyUrl": f"http://{request.host}/toolbox"}


@ROUTES.post("/api/sandbox")
async def create(request: web.Request) -> web.Response:
    return web.json_response(_facts(Machine(ROOM, await request.json()), request))


@ROUTES.get("/api/sandbox/{id}")
async def look(request: web.Request) -> web.Response:
    return web.json_response(_facts(ROOM.machines[request.match_info["id"]], request))


@ROUTES.delete("/api/sandbox/{id}")
async def delete(request: web.Request) -> web.Response:
    machine = ROOM.machines[request.match_info["id"]]
    machine.destroy()
    return web.json_response(_facts(machine, request) | {"state": "destroyed"})


@ROUTES.post("/api/sandbox/{id}/last-activity")
async def renew(request: web.Request) -> web.Response:
    ROOM.journal.note("renewed", id=request.match_info["id"])
    return web.json_response({})


@ROUTES.post("/toolbox/{id}/files/bulk-upload")
async def upload(request: web.Request) -> web.Response:
    place = ""
    async for part in await request.multipart():
        if part.name.endswith(".path"):
            place = (await part.read()).decode()
        else:
            ROOM.machines[request.match_info["id"]].place(place).write_bytes(await part.read())
    return web.Response()


@ROUTES.post("/toolbox/{id}/process/execute")
async def execute(request: web.Request) -> web.Response:
    machine, asked = ROOM.machines[request.match_info["id"]], await request.json()
    process = await machine.start("call", ["sh", "-c", asked["command"]], {}, None)
    said: list[bytes] = []

    async def sink(_: str, data: bytes) -> None:
        said.append(data)

    process.stdin.close()
    status = await machine.follow(process, sink)
    return web.json_response({"exitCode": status, "result": b"".join(said).decode()})


@ROUTES.post("/toolbox/{id}/process/session")
async def session(_: web.Request) -> web.Response:
    return web.Response(status=201)


@ROUTES.post("/toolbox/{id}/process/session/{session}/exec")
async def session_execute(request: web.Request) -> web.Response:
    machine, asked = ROOM.machines[request.match_info["id"]], await request.json()
    ROOM.journal.note("session", asked=asked)
    log = LOGS[machine.id] = asyncio.Queue()
    # As the daemon has it: the line is sourced by the session's own shell.
    file = machine.kept("cmd.sh", asked["command"])
    process = await machine.start("agent", ["sh", "-c", '{ . "$0"; }', str(file)], {}, None)
    partial = {"stdout": b"", "stderr": b""}

    async def sink(name: str, data: bytes) -> None:
        # Every line has its mark.
        *lines, partial[name] = (partial[name] + data).split(b"\n")
        for line in lines:
            await log.put(MARKS[name] + line + b"\n")

    async def run() -> None:
        ENDED[machine.id] = await machine.follow(process, sink)
        for name, rest in partial.items():
            if rest:
                await log.put(MARKS[name] + rest + b"\n")
        await log.put(None)

    request.app["running"].add(asyncio.create_task(run()))
    return web.json_response({"cmdId": "cmd-1"}, status=202)


@ROUTES.get("/toolbox/{id}/process/session/{session}/command/{command}/logs")
async def logs(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    log = LOGS[request.match_info["id"]]
    while (data := await log.get()) is not None:
        # In pieces that do not care for lines, marks or characters.
        for start in range(0, len(data), 1000):
            await socket.send_bytes(data[start : start + 1000])
    await socket.close()
    return socket


@ROUTES.get("/toolbox/{id}/process/session/{session}/command/{command}")
async def command(request: web.Request) -> web.Response:
    found: dict[str, Any] = {"id": "cmd-1", "command": "c"}
    if request.match_info["id"] in ENDED:
        found["exitCode"] = ENDED[request.match_info["id"]]
    return web.json_response(found)


@ROUTES.post("/toolbox/{id}/process/session/{session}/command/{command}/input")
async def send(request: web.Request) -> web.Response:
    text = json.loads(await request.read())["data"]
    process = ROOM.machines[request.match_info["id"]].processes["agent"]
    process.stdin.write((text if text.endswith("\n") else text + "\n").encode())
    await process.stdin.drain()
    return web.Response(status=204)


async def main() -> None:
    app = web.Application(middlewares=[_admit], client_max_size=2**30)
    app["running"] = set()
    app.add_routes(ROUTES)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    ROOM.ready(runner.addresses[0][1])
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
