"""Daytona: a container or virtual machine (`mastra-daytona` in the standard), through the SDK `daytona`.

`config.snapshot` names what is installed on it, `config.target` the region. The network is closed, or open to a list of host
names. Input is carried line by line, which is what agents speak; the end of input cannot be signalled to a command
there, so that the machine ends with it. Variables travel in a file that the command's shell reads and removes: the
provider's records of the machine have none of them. Daytona counts in minutes: an unused machine stops after five, and
is then deleted.
"""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from typing import Any

from operable.proc.machine import LIFETIME, MachineJob, Out
from operable.proc.remote import Cloud, names_only, plain_hosts, remote
from operable.wire.lines import BlockSplitter

_SESSION = "operable"
_VARIABLES = "/tmp/.operable-env"  # noqa: S108 - on the machine, which is ours alone
_MINUTES = LIFETIME // 60


class DaytonaMachine:
    """One Daytona sandbox, and one session in it."""

    def __init__(self) -> None:
        self._daytona: Any = None
        self._box: Any = None
        self._command = ""
        self._following: asyncio.Task[None] | None = None
        self._lines = BlockSplitter()

    @property
    def id(self) -> str | None:
        return None if self._box is None else str(self._box.id)

    async def open(self, job: MachineJob) -> None:
        from daytona import AsyncDaytona, CreateSandboxFromSnapshotParams, DaytonaConfig

        self._daytona = AsyncDaytona(DaytonaConfig(target=job.config.get("target")))
        hosts = ",".join(names_only(job.egress))
        self._box = await self._daytona.create(
            CreateSandboxFromSnapshotParams(
                snapshot=job.config.get("snapshot"),
                labels={"operable": "session"},
                auto_stop_interval=_MINUTES,
                auto_delete_interval=0,
                network_block_all=None if hosts else True,
                domain_allow_list=hosts or None,
            )
        )

    async def put(self, source: str, place: str) -> None:
        await self._box.fs.upload_file(source, place)

    async def call(self, line: str) -> tuple[int, str]:
        done = await self._box.process.exec(f"sh -c {shlex.quote(line)}")
        return int(done.exit_code or 0), str(done.result)

    async def start(self, job: MachineJob, out: Out, err: Out) -> None:
        from daytona import SessionExecuteRequest

        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as variables:
            variables.writelines(f"export {name}={shlex.quote(text)}\n" for name, text in job.env.items())
            variables.flush()
            await self.put(variables.name, _VARIABLES)
        await self._box.process.create_session(_SESSION)
        # In parentheses: the line is read by the session's own shell, which has the status to keep.
        line = f"( . {_VARIABLES}; rm -f {_VARIABLES}; {job.line} )"
        request = SessionExecuteRequest(command=line, run_async=True, suppress_input_echo=True)
        self._command = (await self._box.process.execute_session_command(_SESSION, request)).cmd_id
        following = self._box.process.get_session_command_logs_async(
            _SESSION, self._command, lambda text: out(text.encode()), lambda text: err(text.encode())
        )
        self._following = asyncio.ensure_future(following)

    async def write(self, data: bytes) -> None:
        # Daytona ends every piece with a line end of its own: only whole lines may be sent.
        if whole := self._lines.feed(data):
            text = whole.decode("utf-8", "replace")
            await self._box.process.send_session_command_input(_SESSION, self._command, text)

    async def finish(self) -> bool:
        return False

    async def wait(self) -> int:
        if self._following is not None:
            await self._following
        ended = await self._box.process.get_session_command(_SESSION, self._command)
        if ended.exit_code is None:
            raise ConnectionError("the machine went away before the command had ended")
        return int(ended.exit_code)

    async def renew(self) -> None:
        await self._box.refresh_activity()

    async def close(self) -> None:
        box, self._box = self._box, None
        if self._following is not None:
            self._following.cancel()
        await asyncio.shield(box.delete())
        await self._daytona.close()


MACHINE = DaytonaMachine

SANDBOX = remote(
    Cloud(
        name="daytona",
        module="daytona",
        key=("DAYTONA_API_KEY",),
        settings=("DAYTONA_API_URL",),
        config=("snapshot", "target"),
        refused={
            "workspace_id": "a workspace that is there already has a network of its own and outlives the session;"
            " name a snapshot (config.snapshot of the provider daytona)"
        },
        network=lambda egress: plain_hosts(egress, wildcards=True),
        end=f"by Daytona, {_MINUTES} minutes after the last message",
    )
)
