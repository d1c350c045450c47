"""Blaxel: a micro virtual machine (`mastra-blaxel` in the standard), through the SDK `blaxel`.

`config.workspace` is the account's workspace, `config.image` what is installed on the machine, `config.region` where it is.
Egress to a list of host names goes through Blaxel's proxy, behind a firewall that lets nothing else out; a machine without
any network is not something that it offers, and is refused. Memory is the machine's size. A machine that receives nothing
from its bridge for five minutes is deleted by Blaxel, whatever runs on it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable
from typing import Any

from operable.proc.machine import LIFETIME, MachineJob, Out
from operable.proc.remote import Cloud, names_only, plain_hosts, remote

_NAME = "agent"
# The SDK hands output on without waiting: so much may be here until the host has read it.
_BACKLOG = 64 * 1024 * 1024
# How often it is asked whether the process can be written to yet, and for how long.
_LOOK_INTERVAL = 0.05
_LOOKS = 600


class BlaxelMachine:
    """One Blaxel sandbox, and one process in it."""

    def __init__(self) -> None:
        self._box: Any = None
        self._running: asyncio.Task[int] | None = None
        self._backlog = 0

    @property
    def id(self) -> str | None:
        return None if self._box is None else str(self._box.metadata.name)

    async def open(self, job: MachineJob) -> None:
        if "workspace" in job.config:
            os.environ["BL_WORKSPACE"] = job.config["workspace"]  # read when the SDK is imported
        from blaxel.core import SandboxInstance

        wanted: dict[str, Any] = {
            "labels": {"operable": "session"},
            "lifecycle": {
                "expirationPolicies": [{"type": "ttl-idle", "value": f"{LIFETIME}s", "action": "delete"}]
            },
            "network": {
                "firewall": {"rulesets": ["proxy"]},
                "proxy": {"allowedDomains": names_only(job.egress)},
            },
            **{key: job.config[key] for key in ("image", "region") if key in job.config},
        }
        if job.memory_mb is not None:
            wanted["memory"] = job.memory_mb
        self._box = await SandboxInstance.create(wanted)

    async def put(self, source: str, place: str) -> None:
        await self._box.fs.write_binary(place, source)

    async def call(self, line: str) -> tuple[int, str]:
        command = f"sh -c {shlex.quote(line)}"
        done = await self._box.process.exec({"command": command, "waitForCompletion": True})
        return int(done.exit_code), str(done.stderr)

    async def start(self, job: MachineJob, out: Out, err: Out) -> None:
        self._running = asyncio.create_task(self._run(job, out, err))
        for _ in range(_LOOKS):
            if self._running.done() or await self._is_there():
                return
            await asyncio.sleep(_LOOK_INTERVAL)
        raise TimeoutError("the process did not appear on the machine")

    async def _is_there(self) -> bool:
        return any(each.name == _NAME for each in await self._box.process.list())

    async def _run(self, job: MachineJob, out: Out, err: Out) -> int:
        said: asyncio.Queue[tuple[Out, bytes] | None] = asyncio.Queue()
        handing = asyncio.create_task(self._hand_on(said))
        try:
            done = await self._box.process.exec(
                {
                    "name": _NAME,
                    "command": shlex.join(job.argv),
                    "env": dict(job.env),
                    "workingDir": job.cwd,
                    "stdin": True,
                    "timeout": 0,
                    "waitForCompletion": True,
                    "on_stdout": self._kept(said, out),
                    "on_stderr": self._kept(said, err),
                }
            )
        finally:
            said.put_nowait(None)
            await handing
        return int(done.exit_code)

    def _kept(self, said: asyncio.Queue[tuple[Out, bytes] | None], sink: Out) -> Callable[[str], None]:
        def keep(text: str) -> None:
            data = text.encode()
            self._backlog += len(data)
            if self._backlog > _BACKLOG:
                raise BufferError(f"more than {_BACKLOG} bytes of output wait to be read")
            said.put_nowait((sink, data))

        return keep

    async def _hand_on(self, said: asyncio.Queue[tuple[Out, bytes] | None]) -> None:
        while (piece := await said.get()) is not None:
            sink, data = piece
            await sink(data)
            self._backlog -= len(data)

    async def write(self, data: bytes) -> None:
        await self._box.process.write_stdin(_NAME, data)

    async def finish(self) -> bool:
        await self._box.process.close_stdin(_NAME)
        return True

    async def wait(self) -> int:
        if self._running is None:
            raise RuntimeError("nothing was started")
        return await self._running

    async def renew(self) -> None:
        await self._box.process.list()

    async def close(self) -> None:
        box, self._box = self._box, None
        if self._running is not None:
            self._running.cancel()
        await asyncio.shield(box.delete())


def _network(egress: tuple[str, ...]) -> str | None:
    if not egress:
        return "it has no machine without a network; name the hosts that are needed"
    return plain_hosts(egress, wildcards=True)


MACHINE = BlaxelMachine

SANDBOX = remote(
    Cloud(
        name="blaxel",
        module="blaxel",
        key=("BL_API_KEY",),
        settings=("BL_WORKSPACE", "BL_ENV", "BL_REGION"),
        config=("workspace", "image", "region"),
        network=_network,
        memory="the size of the machine",
    )
)
