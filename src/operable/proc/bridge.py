"""The program between a host and a command on a provider's machine: our standard input and output are its own.

Theory of operation. The host starts it like any agent, below the keeper, with the job in variables that are taken out of the
environment at once. It makes the machine, unpacks the copies of the mounts there, starts the command, and then only carries
bytes: what the host writes goes there as it comes, what the command writes comes back and is read no faster than the host
reads. The status of the command becomes its own.

Whatever happens, the machine is destroyed: at the command's end, at SIGTERM or SIGINT, at an error. SIGKILL leaves it to
the provider, whose limit is renewed only while this lives. An SDK that prints does so on stderr: descriptor 1 is not its.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import shlex
import signal
import tarfile
import tempfile
import threading
from base64 import b64decode
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from operable.kernel.catalogue import load
from operable.kernel.redact import redact_text
from operable.proc.machine import COPY_LIMIT, LIFETIME, Machine, MachineJob, from_variables

_CHUNK = 64 * 1024
# A goodbye that is not answered in this time is left to the provider's own limit: the host's SIGKILL is near.
_GOODBYE = 4.0
_PACKED = "/tmp/.operable-mounts.tar"  # noqa: S108 - on the machine, which is ours alone
_FAILED = 70  # EX_SOFTWARE: the bridge itself, not the command
_QUOTED = 500


def main(name: str, argv: list[str]) -> None:
    """Run the job on a new machine of this provider, and exit with its status."""
    reported = json.loads(from_variables(os.environ))
    secrets = tuple(reported.pop("secrets"))
    files = tuple((place, source) for place, source in reported.pop("files"))
    contents = tuple((place, held) for place, held in reported.pop("contents"))
    job = MachineJob(
        tuple(argv), files=files, contents=contents, egress=tuple(reported.pop("egress")), **reported
    )
    stdout = os.dup(1)
    os.dup2(2, 1)
    machine: Machine = load("operable.proc.sandboxes", name, "MACHINE", kind="sandbox")()
    bridge = MachineBridge(name, machine, job, stdout, secrets)
    status = asyncio.run(bridge.run())
    os._exit(status)  # the thread that reads stdin may wait forever


class MachineBridge:
    """One run. `secrets`: masked in everything that is said on stderr."""

    def __init__(
        self, name: str, machine: Machine, job: MachineJob, stdout: int, secrets: tuple[str, ...]
    ) -> None:
        self._name, self._machine, self._job = name, machine, job
        self._stdout, self._secrets = stdout, secrets
        self._stop = asyncio.Event()
        self._signal = 0

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopped, number)
        status = _FAILED
        try:
            status = await self._work()
        except Exception as error:  # noqa: BLE001 - an SDK raises what it likes; it is reported, and the machine destroyed
            self._say(f"{type(error).__name__}: {error}")
        finally:
            await self._destroy()
        return status & 0xFF

    async def _work(self) -> int:
        # A machine that is being made cannot be destroyed yet: this one step is not interrupted.
        await self._machine.open(self._job)
        renewing = asyncio.create_task(self._renew())
        try:
            working = asyncio.create_task(self._converse())
            stopping = asyncio.create_task(self._stop.wait())
            await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not working.done():
                working.cancel()
                await asyncio.wait([working])
                return 128 + self._signal if self._signal else 0
            return working.result()
        finally:
            renewing.cancel()

    async def _converse(self) -> int:
        if self._job.files or self._job.contents:
            await _copy(self._machine, self._job)
        await self._machine.start(self._job, self._writer(self._stdout), self._writer(2))
        ending = asyncio.create_task(self._machine.wait())
        reader = threading.Thread(target=self._read, args=(asyncio.get_running_loop(), ending), daemon=True)
        reader.start()
        return await ending

    def _read(self, loop: asyncio.AbstractEventLoop, ending: asyncio.Task[int]) -> None:
        """Of a thread: standard input may be a pipe, a file or /dev/null, and not all of them can be polled."""

        def do(work: Coroutine[Any, Any, object]) -> object:
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        try:
            while data := os.read(0, _CHUNK):
                do(self._machine.write(data))
            if not do(self._finish(ending)):
                # Without an end of input, only ending the command can signal that no more input comes.
                loop.call_soon_threadsafe(self._stopped, 0)
        except Exception as error:  # noqa: BLE001 - the command is gone, or the SDK gave up: reported once
            self._say(f"its input is lost: {type(error).__name__}: {error}")

    async def _finish(self, ending: asyncio.Task[int]) -> bool:
        """End the input. A command that has ended meanwhile has no input to end: an SDK that says so has lost nothing."""
        try:
            return await self._machine.finish()
        except Exception:
            await asyncio.wait([ending], timeout=_GOODBYE)
            if not ending.done():
                raise
            return True

    def _writer(self, fd: int) -> Callable[[bytes], Coroutine[Any, Any, None]]:
        async def write(data: bytes) -> None:
            if self._stop.is_set():
                return  # an SDK that is cancelled while it hands on flushes what it buffers: said already, cut anywhere
            try:
                await asyncio.get_running_loop().run_in_executor(None, _write_all, fd, data)
            except OSError:
                self._stopped(signal.SIGPIPE)  # the host no longer reads

        return write

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LIFETIME / 3)
            try:
                await self._machine.renew()
            except Exception as error:  # noqa: BLE001 - tried again; when it never works the machine ends, and that is seen
                self._say(f"its time could not be renewed: {type(error).__name__}: {error}")

    async def _destroy(self) -> None:
        named = self._machine.id
        if named is None:
            return
        try:
            async with asyncio.timeout(_GOODBYE):
                await self._machine.close()
        except Exception as error:  # noqa: BLE001 - reported: it costs money
            why = type(error).__name__
            self._say(f"machine {named} was not destroyed ({why}); it ends by itself within {LIFETIME} s")

    def _stopped(self, number: int) -> None:
        self._signal = self._signal or number
        self._stop.set()

    def _say(self, text: str) -> None:
        # Masked before it is cut: half of a secret would not be known as one.
        shown = " ".join(redact_text(text, self._secrets).split())[:_QUOTED]
        _write_all(2, f"operable: {self._name}: {shown}\n".encode("utf-8", "replace"))


async def _copy(machine: Machine, job: MachineJob) -> None:
    """Everything at its place there: one archive, unpacked by the machine's own tar."""
    with _archive() as path:
        await asyncio.to_thread(pack, path, job.files, job.contents)
        await machine.put(path, _PACKED)
    folders = [_folder(place, source) for place, source in job.files]
    folders += [os.path.dirname(place) for place, _ in job.contents]
    lines = [_writable(folder) for folder in folders]
    status, said = await machine.call(
        " && ".join([*dict.fromkeys(lines), f"tar -xof {_PACKED} -C /"]) + f"; s=$?; rm -f {_PACKED}; exit $s"
    )
    if status:
        raise OSError(f"the mounts could not be unpacked there (status {status}): {said}")


@contextmanager
def _archive() -> Iterator[str]:
    """The path of an empty file for it: in memory if the system offers that, because it may contain secrets."""
    if not hasattr(os, "memfd_create"):
        with tempfile.NamedTemporaryFile(suffix=".tar") as packed:
            yield packed.name
        return
    descriptor = os.memfd_create("operable-archive")
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _folder(place: str, source: str) -> str:
    return place if os.path.isdir(source) else os.path.dirname(place)


def _writable(folder: str) -> str:
    place = shlex.quote(folder)
    own = f'sudo -n mkdir -p {place} && sudo -n chown "$(id -u)" {place}'
    return f"{{ {{ mkdir -p {place} && test -w {place}; }} 2>/dev/null || {{ {own}; }}; }}"


def pack(path: str, files: tuple[tuple[str, str], ...], contents: tuple[tuple[str, str], ...] = ()) -> None:
    """The archive of what is to be copied. OSError when it is larger than what may travel."""
    left = COPY_LIMIT

    def admitted(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        nonlocal left
        left -= member.size
        if left < 0:
            raise OSError(f"the mounts are larger than {COPY_LIMIT} bytes")
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        # Sockets, pipes and devices mean nothing on another machine.
        return member if member.isfile() or member.isdir() or member.issym() or member.islnk() else None

    with tarfile.open(path, "w") as archive:
        for place, source in files:
            archive.add(source, arcname=place.lstrip("/"), filter=admitted)
        for place, held in contents:
            content = b64decode(held)
            member = tarfile.TarInfo(place.lstrip("/"))
            member.size, member.mode = len(content), 0o600
            if admitted(member) is not None:
                archive.addfile(member, io.BytesIO(content))


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
