"""E2B: a micro virtual machine (`mastra-e2b` in the standard), through the SDK `e2b`.

`config.template` names what is installed on it; the agent is part of the template. The network is closed, or open to a list
of host names (`*.example.com` too, on the ports of the web). Its machines have the size of the template: a limit of memory
is refused. Renewed while the bridge lives; E2B ends no machine later than its account allows (1 or 24 hours).
"""

from __future__ import annotations

import asyncio
import shlex
from typing import Any

from operable.proc.machine import LIFETIME, MachineJob, Out
from operable.proc.remote import Cloud, names_only, plain_hosts, remote

_EVERYWHERE = "0.0.0.0/0"


class E2bMachine:
    """One E2B sandbox."""

    def __init__(self) -> None:
        self._box: Any = None
        self._command: Any = None

    @property
    def id(self) -> str | None:
        return None if self._box is None else str(self._box.sandbox_id)

    async def open(self, job: MachineJob) -> None:
        from e2b import AsyncSandbox

        rules: dict[str, Any] = {"allow_internet_access": False}
        if job.egress:
            rules = {"network": {"allow_out": names_only(job.egress), "deny_out": [_EVERYWHERE]}}
        self._box = await AsyncSandbox.create(
            template=job.config.get("template"),
            timeout=LIFETIME,
            lifecycle={"on_timeout": "kill"},
            metadata={"operable": "session"},
            **rules,
        )

    async def put(self, source: str, place: str) -> None:
        with open(source, "rb") as file:  # noqa: ASYNC230 - only opened; the SDK streams it
            await self._box.files.write(place, file)

    async def call(self, line: str) -> tuple[int, str]:
        from e2b import CommandExitException

        try:
            done = await self._box.commands.run(line, timeout=0)
        except CommandExitException as ended:
            return ended.exit_code, ended.stderr
        return done.exit_code, done.stderr

    async def start(self, job: MachineJob, out: Out, err: Out) -> None:
        # The SDK gives the line to a login shell, which becomes the command.
        self._command = await self._box.commands.run(
            f"exec {shlex.join(job.argv)}",
            background=True,
            envs=dict(job.env),
            cwd=job.cwd,
            stdin=True,
            timeout=0,
            on_stdout=lambda text: out(text.encode()),
            on_stderr=lambda text: err(text.encode()),
            retain_output=False,
        )

    async def write(self, data: bytes) -> None:
        await self._command.send_stdin(data)

    async def finish(self) -> bool:
        await self._command.close_stdin()
        return True

    async def wait(self) -> int:
        from e2b import CommandExitException

        try:
            return int((await self._command.wait()).exit_code)
        except CommandExitException as ended:
            return int(ended.exit_code)

    async def renew(self) -> None:
        await self._box.set_timeout(LIFETIME)

    async def close(self) -> None:
        box, self._box = self._box, None
        await asyncio.shield(box.kill())


MACHINE = E2bMachine

SANDBOX = remote(
    Cloud(
        name="e2b",
        module="e2b",
        key=("E2B_API_KEY",),
        settings=("E2B_DOMAIN", "E2B_API_URL", "E2B_SANDBOX_URL", "E2B_HTTP_VERSION"),
        config=("template",),
        refused={"region": "an E2B account has its region; the SDK cannot choose one"},
        network=lambda egress: plain_hosts(egress, wildcards=True),
    )
)
