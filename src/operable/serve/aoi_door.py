"""Calling agent-operable tools, native or wrapped: their stream, judged, becomes a bounded result.

Events are kept up to a size that a model can read; all of them go to a file, up to a limit, for whoever wants the rest. A
stream that has no end of its own is ended after a number of results or a time. Progress is passed on as it comes.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import IO, Any, Self

import msgspec

from operable.kernel.errors import Fail
from operable.proc.output import aoutput
from operable.proc.spawn import prepare
from operable.run import AsyncCall, acall
from operable.serve.operables import Action, Progress, Result
from operable.serve.words import command_words, offered, unspecified
from operable.wire.framework import Error, Heartbeat, Meta, Open, Summary, Warning, encode  # noqa: A004
from operable.wire.framework import Progress as ProgressEvent

# About 12 000 tokens: what a model can be given at once. The rest is one read away.
KEPT = 50_000
SPOOL_LIMIT = 64 * 1024 * 1024
TIMEOUT = 600.0
ENDLESS_RESULTS, ENDLESS_TIMEOUT = 100, 30.0
_PLACES = ("OPERABLE_HOME", "XDG_*")


class AoiDoor:
    """The commands of one tool. `words` begin every call; nothing of our environment but places and its own variables."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        name: str,
        schemas: Mapping[str, dict[str, Any]] | None = None,
        cwd: str | None = None,
        folder: str | None = None,
    ) -> None:
        self._words = tuple(words)
        self._inherit = (*_PLACES, own_variables(name))
        self._schemas: dict[str, dict[str, Any] | None] = dict(schemas or {})
        self._cwd = cwd
        self._folder = folder

    async def input_schema(self, action: Action) -> dict[str, Any]:
        schema = await self._schema(action.name)
        return unspecified() if schema is None else offered(schema)

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: bool, progress: Progress
    ) -> Result:
        schema = await self._schema(action.name)
        if schema is None:
            given = [*map(str, arguments.get("arguments", ())), *(["--confirm"] if confirmed else [])]
            words, stdin = [*given, "--output=jsonl"], None
        else:
            words, stdin = command_words(schema, arguments, confirmed=confirmed)
        running = acall(
            [*self._words, *action.name.split(), *words],
            stdin=stdin,
            inherit=self._inherit,
            cwd=self._cwd,
            timeout=ENDLESS_TIMEOUT if action.unbounded else TIMEOUT,
            unbounded=True if action.unbounded else None,
        )
        with _Gathering(self._folder, ENDLESS_RESULTS if action.unbounded else None) as gathering:
            async with running:
                async for event in running:
                    await gathering.take(event, progress)
                    if gathering.enough:
                        break
            return gathering.result(running, endless=action.unbounded)

    async def _schema(self, command: str) -> dict[str, Any] | None:
        """What the tool says about the input of a command; None when it says nothing that can be used."""
        if command not in self._schemas:
            words = [*self._words, "input-schema", "--output", "json", "--command", command]
            self._schemas[command] = None
            try:
                answer = await aoutput(prepare(words, inherit=self._inherit, cwd=self._cwd))
                document = msgspec.json.decode(answer.stdout) if answer.status == 0 else None
            except (Fail, ValueError, RecursionError):
                document = None
            if isinstance(document, dict) and isinstance(document.get("properties"), dict):
                self._schemas[command] = document
        return self._schemas[command]


class _Gathering:
    """The events of one call on their way into a result."""

    def __init__(self, folder: str | None, most: int | None) -> None:
        self._folder = folder
        self._most = most
        self._room = KEPT
        self._entries: list[Any] = []
        self._warnings: list[dict[str, Any]] = []
        self._errors: list[dict[str, Any]] = []
        self._count = 0
        self._size = 0
        self._file: IO[bytes] | None = None
        self.enough = False

    def __enter__(self) -> Self:
        descriptor, self._path = tempfile.mkstemp(prefix="result-", suffix=".jsonl", dir=self._folder)
        self._file = os.fdopen(descriptor, "wb")
        self._wanted = False
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
        if not self._wanted:
            os.unlink(self._path)

    async def take(self, event: Any, progress: Progress) -> None:
        if isinstance(event, Meta | Summary | Heartbeat):
            return
        fields = _plain(event)
        if isinstance(event, ProgressEvent):
            await _report(fields, progress)
            return
        line = json.dumps(fields, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
        self._keep(line)
        if isinstance(event, Warning):
            self._warnings += [fields] if len(self._warnings) < 100 else []
        elif isinstance(event, Error):
            self._errors += [fields] if len(self._errors) < 100 else []
        else:
            self._count += 1
            self._room -= len(line)
            if self._room >= 0:
                self._entries.append(fields)
            if self._most is not None and self._count >= self._most:
                self.enough = True

    def result(self, running: AsyncCall, *, endless: bool) -> Result:
        verdict = running.verdict
        cut = len(self._entries) < self._count
        self._wanted = cut
        stopped = endless and (self.enough or verdict.code == "DEADLINE_EXCEEDED")
        ok = stopped or running.ok
        if not ok and not self._errors:
            self._errors.append({"code": verdict.code, "category": "internal", "message": verdict.reason})
        return Result(
            ok=ok,
            entries=self._entries,
            summary=_summary(verdict.summary),
            warnings=self._warnings,
            errors=self._errors,
            code="OK" if ok else verdict.code,
            truncated=cut or stopped,
            spool=self._path if cut else None,
        )

    def _keep(self, line: bytes) -> None:
        self._size += len(line)
        if self._file is not None and self._size <= SPOOL_LIMIT:
            self._file.write(line)


async def _report(fields: Mapping[str, Any], progress: Progress) -> None:
    done, total, message = fields.get("done"), fields.get("total"), fields.get("message")
    if isinstance(done, int | float):
        await progress(
            float(done),
            float(total) if isinstance(total, int | float) else None,
            message if isinstance(message, str) else None,
        )


def _summary(event: Any) -> dict[str, Any]:
    """A stream's last word, without its type."""
    return {} if event is None else {name: value for name, value in _plain(event).items() if name != "type"}


def _plain(event: Any) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.json.decode(encode(event)) if isinstance(event, Open) else dict(event)
    return fields


def own_variables(name: str) -> str:
    """The variables that are called after a tool: `my-tool` has MY_TOOL_*."""
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper() + "_*"
