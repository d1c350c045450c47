"""Blaxel on loopback: its REST interface for machines and the interface of a machine, under their real names.

The SDK knows no other address than api.blaxel.ai over HTTPS. So this is also the proxy that every connection goes through
(HTTPS_PROXY), and the certificate is of an authority of its own (FOLDER/ca.pem, for SSL_CERT_FILE).
"""

import asyncio
import codecs
import datetime as dt
import json
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.proc.clouds.room import KEY, Machine, Room, folder, port_of

ROOM = Room(folder())
NAMES = ("api.blaxel.ai", "run.blaxel.ai")


def _admitted(request: Request) -> bool:
    return any(KEY in value for value in request.headers.values())


async def create(request: Request) -> Response:
    if not _admitted(request):
        return JSONResponse(
            {"error": "unauthorized", "code": 401, "message": f"wrong key {dict(request.headers)}"}, 401
        )
    asked = await request.json()
    machine = Machine(ROOM, asked)
    asked["metadata"] = {"name": machine.id, "url": f"https://run.blaxel.ai/ws/sandboxes/{machine.id}"}
    return JSONResponse(asked | {"status": "DEPLOYED"})


async def delete(request: Request) -> Response:
    machine = ROOM.machines[request.path_params["id"]]
    machine.destroy()
    return JSONResponse({"metadata": {"name": machine.id}, "spec": {}, "status": "DELETING"})


async def upload(request: Request) -> Response:
    form: Any = await request.form()
    place = ROOM.machines[request.path_params["id"]].place(form["path"])
    place.write_bytes(await form["file"].read())
    return JSONResponse({"message": "ok", "path": str(place)})


async def run(request: Request) -> Response:
    machine, asked = ROOM.machines[request.path_params["id"]], await request.json()
    ROOM.journal.note("process", asked=asked)
    name = asked.get("name", "call")
    process = await machine.start(
        name, ["sh", "-c", asked["command"]], asked.get("env", {}), asked.get("workingDir")
    )
    if not asked.get("stdin"):
        process.stdin.close()
    if "text/event-stream" in request.headers.get("accept", ""):
        return StreamingResponse(_streamed(machine, name, process), media_type="application/x-ndjson")
    said = {"stdout": b"", "stderr": b""}

    async def sink(which: str, data: bytes) -> None:
        said[which] += data

    status = await machine.follow(process, sink)
    return JSONResponse(_facts(name, process, status, {key: value.decode() for key, value in said.items()}))


async def _streamed(machine: Machine, name: str, process: Any) -> AsyncIterator[bytes]:
    queue: asyncio.Queue[Any] = asyncio.Queue(4)
    # Whole characters: what is cut within one waits for the rest of it.
    decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}

    async def sink(which: str, data: bytes) -> None:
        await queue.put({"type": which, "data": decoders[which].decode(data)})

    async def follow() -> None:
        status = await machine.follow(process, sink)
        await queue.put({"type": "result", "data": json.dumps(_facts(name, process, status, {}))})
        await queue.put(None)

    following = asyncio.create_task(follow())
    while (record := await queue.get()) is not None:
        yield json.dumps(record).encode() + b"\n"
    await following


def _facts(name: str, process: Any, status: int | None, said: dict[str, str]) -> dict[str, Any]:
    state = "running" if status is None else "completed" if status == 0 else "failed"
    told = {
        "command": "c",
        "completedAt": "",
        "exitCode": status or 0,
        "logs": "",
        "name": name,
        "pid": str(process.pid),
    }
    told |= {"startedAt": "", "status": state, "workingDir": "/", "stdout": "", "stderr": ""}
    return told | said


async def listed(request: Request) -> Response:
    machine = ROOM.machines[request.path_params["id"]]
    return JSONResponse([_facts(name, each, each.returncode, {}) for name, each in machine.processes.items()])


async def write(request: Request) -> Response:
    process = ROOM.machines[request.path_params["id"]].processes[request.path_params["name"]]
    process.stdin.write(await request.body())
    await process.stdin.drain()
    return JSONResponse({"message": "ok"})


async def close(request: Request) -> Response:
    ROOM.journal.note("closed stdin")
    ROOM.machines[request.path_params["id"]].processes[request.path_params["name"]].stdin.close()
    return JSONResponse({"message": "ok"})


BOX = "/ws/sandboxes/{id}"
APP = Starlette(
    routes=[
        Route("/v0/sandboxes", create, methods=["POST"]),
        Route("/v0/sandboxes/{id}", delete, methods=["DELETE"]),
        Route(BOX + "/filesystem/{path:path}", upload, methods=["PUT"]),
        Route(BOX + "/process", run, methods=["POST"]),
        Route(BOX + "/process", listed, methods=["GET"]),
        Route(BOX + "/process/{name}/stdin", write, methods=["POST"]),
        Route(BOX + "/process/{name}/stdin", close, methods=["DELETE"]),
    ]
)


def _certificates() -> None:
    """An authority, and a certificate of its for the two names."""
    now = dt.datetime.now(dt.UTC)
    span = (now - dt.timedelta(days=1), now + dt.timedelta(days=30))
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("loopback", NAMES[0])]

    def made(subject: int) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder(names[0], names[subject], keys[subject].public_key())
        return builder.serial_number(subject + 1).not_valid_before(span[0]).not_valid_after(span[1])

    basic = x509.BasicConstraints(ca=True, path_length=None)
    authority = made(0).add_extension(basic, critical=True).sign(keys[0], hashes.SHA256())
    alternative = x509.SubjectAlternativeName([x509.DNSName(name) for name in NAMES])
    leaf = made(1).add_extension(alternative, critical=False).sign(keys[0], hashes.SHA256())
    pem = serialization.Encoding.PEM
    (ROOM.folder / "ca.pem").write_bytes(authority.public_bytes(pem))
    (ROOM.folder / "leaf.pem").write_bytes(leaf.public_bytes(pem))
    private = keys[1].private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (ROOM.folder / "leaf.key").write_bytes(private)


async def _proxied(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    ROOM.journal.note("connected", to=head.split()[1].decode())
    inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

    async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()

    await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))


async def main() -> None:
    _certificates()
    config = uvicorn.Config(
        APP,
        host="127.0.0.1",
        port=0,
        log_level="warning",
        ssl_certfile=str(ROOM.folder / "leaf.pem"),
        ssl_keyfile=str(ROOM.folder / "leaf.key"),
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    inner = await port_of(server)
    proxy = await asyncio.start_server(lambda reader, writer: _proxied(inner, reader, writer), "127.0.0.1", 0)
    ROOM.ready(proxy.sockets[0].getsockname()[1])
    await serving


if __name__ == "__main__":
    asyncio.run(main())
