"""Modal: a gVisor container (`mastra-modal` in the standard), through the SDK `modal`.

`config.app_name` is the app that the machine belongs to, `config.image` what is installed on it (a name in a registry;
without one Modal's own Debian). The network is closed, or open to a list of host names. Memory is the container's limit.
Modal ends a machine after a time that is said when it is made and cannot be renewed: `config.timeout`, in seconds, an hour
if it says nothing; a session ends with it. The secret that `api_token_ref` names holds both halves of a token: `ID:SECRET`.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from typing import Any

from operable.proc.machine import MachineJob, Out
from operable.proc.remote import Cloud, names_only, plain_hosts, remote

_TIMEOUT = 3600
_CHUNK = 64 * 1024


class ModalMachine:
    """One Modal sandbox, and the processes in it."""

    def __init__(self) -> None:
        self._box: Any = None
        self._process: Any = None
        self._reading: asyncio.Future[Any] | None = None

    @property
    def id(self) -> str | None:
        return None if self._box is None else str(self._box.object_id)

    async def open(self, job: MachineJob) -> None:
        import modal

        app = await modal.App.lookup.aio(job.config.get("app_name", "operable"), create_if_missing=True)
        image = job.config.get("image")
        hosts = names_only(job.egress)
        self._box = await modal.Sandbox.create.aio(
            app=app,
            image=modal.Image.from_registry(image) if image else None,
            timeout=int(job.config.get("timeout", _TIMEOUT)),
            memory=job.memory_mb if job.memory_mb is None else (job.memory_mb, job.memory_mb),
            block_network=not hosts,
            outbound_domain_allowlist=hosts or None,
            tags={"operable": "session"},
        )

    async def put(self, source: str, place: str) -> None:
        process = await self._box.exec.aio("sh", "-c", f"cat > {shlex.quote(place)}", text=False)
        with open(source, "rb") as file:  # noqa: ASYNC230 - only opened; read in a thread
            while data := await asyncio.to_thread(file.read, _CHUNK):
                process.stdin.write(data)
                await process.stdin.drain.aio()
        process.stdin.write_eof()
        await process.stdin.drain.aio()
        status = await process.wait.aio()
        if status:
            raise OSError(f"{place} could not be written there (status {status})")

    async def call(self, line: str) -> tuple[int, str]:
        process = await self._box.exec.aio("sh", "-c", line, text=False)
        said = await process.stderr.read.aio()
        return int(await process.wait.aio()), bytes(said).decode("utf-8", "replace")

    async def start(self, job: MachineJob, out: Out, err: Out) -> None:
        self._process = await self._box.exec.aio(*job.argv, env=dict(job.env), workdir=job.cwd, text=False)
        self._reading = asyncio.gather(_follow(self._process.stdout, out), _follow(self._process.stderr, err))

    async def write(self, data: bytes) -> None:
        self._process.stdin.write(data)
        await self._process.stdin.drain.aio()

    async def finish(self) -> bool:
        self._process.stdin.write_eof()
        await self._process.stdin.drain.aio()
        return True

    async def wait(self) -> int:
        status = int(await self._process.wait.aio())
        if self._reading is not None:
            await self._reading
        return status

    async def renew(self) -> None:
        """Its time is fixed when it is made."""

    async def close(self) -> None:
        box, self._box = self._box, None
        if self._reading is not None:
            self._reading.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reading
        await asyncio.shield(box.terminate.aio())


async def _follow(stream: Any, sink: Out) -> None:
    async for data in stream:
        await sink(bytes(data))


MACHINE = ModalMachine

SANDBOX = remote(
    Cloud(
        name="modal",
        module="modal",
        key=("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET"),
        settings=("MODAL_SERVER_URL", "MODAL_ENVIRONMENT"),
        config=("app_name", "image", "timeout"),
        refused={
            "function_name": "a sandbox runs commands of an image; a deployed function is something else"
        },
        network=lambda egress: plain_hosts(egress, wildcards=True),
        memory="the limit of the container",
        end=f"by Modal, when config.timeout is over ({_TIMEOUT} s)",
    )
)
