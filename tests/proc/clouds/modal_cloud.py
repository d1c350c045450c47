"""Modal on loopback: its control plane and the command router of a machine: gRPC, with the provider's generated code."""
# ruff: noqa: N802 - the methods have their names from the protocol

import asyncio
import base64
import inspect
import json
import time
from typing import Any

from grpclib import GRPCError, Status
from grpclib.server import Server
from modal_proto import api_grpc, api_pb2, task_command_router_grpc
from modal_proto import task_command_router_pb2 as router_pb2

from tests.proc.clouds.room import KEY, Machine, Room, folder

ROOM = Room(folder())
OUTPUT: dict[tuple[str, int], asyncio.Queue[bytes | None]] = {}
STATUS: dict[str, asyncio.Task[int]] = {}
PORT = [0]


def _complete(base: Any) -> Any:
    """A service in which everything that is not defined answers that it is not: the generated class wants all of it."""

    async def unknown(self: Any, stream: Any) -> None:
        raise GRPCError(Status.UNIMPLEMENTED, "not on loopback")

    names = [
        name for name, member in inspect.getmembers(base) if getattr(member, "__isabstractmethod__", False)
    ]
    return type(base.__name__, (base,), dict.fromkeys(names, unknown))


class Control(_complete(api_grpc.ModalClientBase)):  # type: ignore[misc]
    """The part of the control plane that a sandbox needs."""

    async def ClientHello(self, stream: Any) -> None:
        await stream.recv_message()
        _admit(stream)
        await stream.send_message(api_pb2.ClientHelloResponse())

    async def AuthTokenGet(self, stream: Any) -> None:
        await stream.recv_message()
        await stream.send_message(api_pb2.AuthTokenGetResponse(token=_token()))

    async def AppGetOrCreate(self, stream: Any) -> None:
        request = await stream.recv_message()
        _admit(stream)
        ROOM.journal.note("app", name=request.app_name)
        await stream.send_message(api_pb2.AppGetOrCreateResponse(app_id="ap-1"))

    async def EnvironmentGetOrCreate(self, stream: Any) -> None:
        await stream.recv_message()
        await stream.send_message(_environment())

    async def ImageGetOrCreate(self, stream: Any) -> None:
        request = await stream.recv_message()
        ROOM.journal.note("image", commands=list(request.image.dockerfile_commands))
        done = api_pb2.GenericResult(status=api_pb2.GenericResult.GENERIC_STATUS_SUCCESS)
        await stream.send_message(api_pb2.ImageGetOrCreateResponse(image_id="im-1", result=done))

    async def SandboxCreateV2(self, stream: Any) -> None:
        asked = (await stream.recv_message()).definition
        network = asked.network_access
        kind = api_pb2.NetworkAccess.NetworkAccessType.Name(network.network_access_type)
        facts = {"timeout": asked.timeout_secs, "network": kind, "domains": list(network.allowed_domains)}
        machine = Machine(
            ROOM, facts | {"memory": asked.resources.memory_mb, "memory_max": asked.resources.memory_mb_max}
        )
        access = api_pb2.CommandRouterAccess(url=f"http://127.0.0.1:{PORT[0]}", jwt=_token())
        answer = api_pb2.SandboxCreateV2Response(
            sandbox_id=machine.id, task_id=f"ta-{machine.id}", command_router_access=access
        )
        await stream.send_message(answer)

    async def SandboxTerminateV2(self, stream: Any) -> None:
        request = await stream.recv_message()
        ROOM.machines[request.sandbox_id].destroy()
        await stream.send_message(api_pb2.SandboxTerminateV2Response())


class Router(_complete(task_command_router_grpc.TaskCommandRouterBase)):  # type: ignore[misc]
    """What a machine itself answers."""

    async def TaskExecStart(self, stream: Any) -> None:
        request = await stream.recv_message()
        machine = ROOM.machines[request.task_id.removeprefix("ta-")]
        env = dict(request.env)
        for source in request.secret_sources:
            env |= dict(source.env.contents) if source.HasField("env") else {}
        key = request.exec_id
        process = await machine.start(key, list(request.command_args), env, request.workdir or None)
        pipes = {"stdout": router_pb2.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDOUT}
        pipes["stderr"] = router_pb2.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR
        for number in pipes.values():
            OUTPUT[key, number] = asyncio.Queue()

        async def sink(name: str, data: bytes) -> None:
            await OUTPUT[key, pipes[name]].put(data)

        async def follow() -> int:
            status = await machine.follow(process, sink)
            for number in pipes.values():
                await OUTPUT[key, number].put(None)
            return status

        STATUS[key] = asyncio.create_task(follow())
        await stream.send_message(router_pb2.TaskExecStartResponse())

    async def TaskExecStdioRead(self, stream: Any) -> None:
        request = await stream.recv_message()
        queue = OUTPUT[request.exec_id, request.file_descriptor]
        while (data := await queue.get()) is not None:
            await stream.send_message(router_pb2.TaskExecStdioReadResponse(data=data))

    async def TaskExecStdinWrite(self, stream: Any) -> None:
        request = await stream.recv_message()
        process = ROOM.machines[request.task_id.removeprefix("ta-")].processes[request.exec_id]
        process.stdin.write(request.data)
        await process.stdin.drain()
        if request.eof:
            ROOM.journal.note("closed stdin")
            process.stdin.close()
        await stream.send_message(router_pb2.TaskExecStdinWriteResponse())

    async def TaskExecWait(self, stream: Any) -> None:
        request = await stream.recv_message()
        status = await asyncio.shield(STATUS[request.exec_id])
        await stream.send_message(router_pb2.TaskExecWaitResponse(code=status))


def _token() -> str:
    """As its owner reads it, without looking at the signature: when it ends."""
    claims = json.dumps({"exp": int(time.time()) + 86400}).encode()
    return f"e30.{base64.urlsafe_b64encode(claims).rstrip(b'=').decode()}.e30"


def _environment() -> Any:
    settings = api_pb2.EnvironmentSettings(image_builder_version="2025.06")
    facts = api_pb2.EnvironmentMetadata(name="main", settings=settings)
    return api_pb2.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=facts)


def _admit(stream: Any) -> None:
    if stream.metadata.get("x-modal-token-secret") != KEY:
        raise GRPCError(Status.UNAUTHENTICATED, f"wrong key {stream.metadata.get('x-modal-token-secret')}")


async def main() -> None:
    server = Server([Control(), Router()])
    await server.start("127.0.0.1", 0)
    PORT[0] = server._server.sockets[0].getsockname()[1]
    ROOM.ready(PORT[0])
    await server.wait_closed()


if __name__ == "__main__":
    asyncio.run(main())
