"""A machine at a cloud provider, as the bridge uses one: made, filled, talked to, and destroyed, always in that order.

`MachineJob` is what the host hands to the bridge; `Machine` is what a provider's file in `sandboxes` implements with the
provider's own SDK, and names as its `MACHINE`. A machine is made for one command and ends with it. It has a life of its
own that is short (`LIFETIME`) and is renewed while the bridge lives: when the bridge is killed, the provider ends the
machine, and no other process has to.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Protocol

from operable.kernel.data_class import dataclass

# Seconds that a machine may live without word from its bridge. Long enough for a network that is away for a minute, short
# enough that an unused machine costs next to nothing. Renewed three times within it.
LIFETIME = 300
# What a copy of the mounts may contain: it travels whenever a session starts.
COPY_LIMIT = 256 * 1024 * 1024
# Where the bridge finds its job. Not in argv, which every user of this machine can read, nor in a file, which a host that
# is killed would leave behind. In parts: Linux takes 128 KiB in one variable, and some MiB in all of them.
_JOB = "OPERABLE_BRIDGE_JOB"
_PART = 30_000  # characters, of at most 4 bytes

Out = Callable[[bytes], Awaitable[None]]
"""Takes what the command wrote; returns when its reader has room for more."""


@dataclass(frozen=True, slots=True)
class MachineJob:
    """One command on one machine. `env`, `files` and `contents` may contain secrets: never shown, never in argv."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    config: Mapping[str, str]
    egress: tuple[str, ...] = ()  # host names that may be reached; none: no network
    memory_mb: int | None = None
    files: tuple[tuple[str, str], ...] = ()  # (place there, file or folder here)
    contents: tuple[tuple[str, str], ...] = ()  # (place there, what the file contains, in base64)

    @property
    def line(self) -> str:
        """The command for a shell that is to become it, in its working directory."""
        return f"cd {shlex.quote(self.cwd)} && exec {shlex.join(self.argv)}"


def to_variables(job: str) -> dict[str, str]:
    """A job in words as variables of the bridge."""
    starts = range(0, len(job), _PART)
    return {f"{_JOB}_{number}": job[start : start + _PART] for number, start in enumerate(starts)}


def from_variables(variables: MutableMapping[str, str]) -> str:
    """The job in words. It is taken out: nothing that the bridge starts may see it."""
    parts: list[str] = []
    while (part := variables.pop(f"{_JOB}_{len(parts)}", None)) is not None:
        parts.append(part)
    return "".join(parts)


class Machine(Protocol):
    """One machine of one provider. Everything may raise whatever the SDK raises; the bridge reports it and ends."""

    @property
    def id(self) -> str | None: ...  # None: not made yet, or already deleted
    async def open(self, job: MachineJob) -> None: ...
    async def put(self, source: str, place: str) -> None: ...  # a file of ours, to a path there
    async def call(self, line: str) -> tuple[int, str]: ...  # a short shell line: its status, what it said
    async def start(self, job: MachineJob, out: Out, err: Out) -> None: ...
    async def write(self, data: bytes) -> None: ...
    async def finish(self) -> bool: ...  # end of input; False: this provider cannot signal it to a command
    async def wait(self) -> int: ...  # until the command has ended and everything it wrote was handed on
    async def renew(self) -> None: ...
    async def close(self) -> None: ...
