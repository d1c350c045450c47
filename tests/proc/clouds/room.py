"""What every cloud on loopback has: machines that are local processes, and a journal of what was asked of it."""

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

KEY = "cloud-key-4711-not-for-logs"
Sink = Callable[[str, bytes], Awaitable[None]]


class Journal:
    """One JSON object per line, appended with one write each."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "journal"

    def note(self, what: str, **facts: Any) -> None:
        with self._path.open("ab", buffering=0) as file:
            file.write(json.dumps({"what": what, **facts}).encode() + b"\n")


class Machine:
    """One machine: a home, and the processes that were started on it. It has nothing of the cloud's own environment."""

    def __init__(self, room: "Room", asked: Any) -> None:
        self.id = f"sb-{secrets.token_hex(4)}"
        self.home = room.folder / self.id
        self.home.mkdir()
        self.env: dict[str, str] = {}
        self.processes: dict[str, Any] = {}
        self._room = room
        room.machines[self.id] = self
        room.journal.note("created", id=self.id, asked=asked)

    async def start(self, key: str, argv: list[str], env: dict[str, str], cwd: str | None) -> Any:
        machine = {
            "PATH": f"{self._room.folder}/bin:{os.environ['PATH']}",
            "HOME": str(self.home),
            "MACHINE": self.id,
        }
        process = await asyncio.create_subprocess_exec(
            *argv,
            env=machine | self.env | env,
            cwd=cwd or str(self.home),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**26,
            start_new_session=True,
        )
        self.processes[key] = process
        self._room.journal.note("started", id=self.id, argv=argv, env=env, cwd=cwd, pid=process.pid)
        return process

    async def follow(self, process: Any, sink: Sink) -> int:
        """Hand on everything that it writes, as it comes, then its status."""

        async def copy(name: str, stream: asyncio.StreamReader) -> None:
            while data := await stream.read(65536):
                await sink(name, data)

        await asyncio.gather(copy("stdout", process.stdout), copy("stderr", process.stderr))
        status: int = await process.wait()
        return status if status >= 0 else 128 - status

    def kept(self, name: str, text: str) -> Path:
        """A file in its home."""
        (self.home / name).write_text(text)
        return self.home / name

    def destroy(self) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self._room.machines.pop(self.id, None)
        self._room.journal.note("destroyed", id=self.id)

    def place(self, path: str) -> Path:
        """Where a file of the machine lies: as it says, since its folders are the test's own."""
        found = Path(path)
        found.parent.mkdir(parents=True, exist_ok=True)
        return found


class Room:
    """All machines of one cloud."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.journal = Journal(self.folder)
        self.machines: dict[str, Machine] = {}

    def ready(self, port: int) -> None:
        """Tell the test where it is."""
        (self.folder / "port.new").write_text(str(port))
        (self.folder / "port.new").rename(self.folder / "port")


async def port_of(server: Any) -> int:
    """The port of an uvicorn server, once it listens. It has nothing to wait for."""
    while not server.started:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    found: int = server.servers[0].sockets[0].getsockname()[1]
    return found


def folder() -> str:
    return sys.argv[1]
