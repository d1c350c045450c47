"""Calling the commands of application packages: the same admission as everywhere, the same judgement, a bounded result."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from typing import Any

from operable.app.calling import acall
from operable.app.packages import Package
from operable.app.trust import Approvals
from operable.serve.aoi_door import KEPT
from operable.serve.operables import Action, Progress, Result
from operable.serve.words import unspecified


class AppDoor:
    """The commands of one package, as it is when it is called."""

    def __init__(
        self, package: Package, *, approvals: Approvals | None = None, folder: str | None = None
    ) -> None:
        self._package = package
        self._approvals = approvals
        self._folder = folder

    async def input_schema(self, action: Action) -> dict[str, Any]:  # noqa: ARG002 - APP.md describes no arguments
        return unspecified()

    async def call(
        self,
        action: Action,
        arguments: Mapping[str, Any],
        *,
        confirmed: bool,
        progress: Progress,  # noqa: ARG002 - a JSON answer comes at the end, at once
    ) -> Result:
        words = [*action.name.split(), *map(str, arguments.get("arguments", ()))]
        answer = await acall(self._package, words, self._approvals, confirmed=confirmed)
        if not answer.ok:
            failure = answer.failure(self._package.slug)
            return Result(ok=False, errors=[_without_type(failure.event())], code=failure.code)
        if answer.stream is not None:
            lines = [json.loads(line) for line in answer.stream.splitlines() if line.strip()]
            events = [each for each in lines if not str(each.get("type")).startswith("aoi:")]
            warnings = [each for each in lines if each.get("type") == "aoi:warning"]
            return self._bounded(events, _without_type(lines[-1]), warnings)
        entries, beside = answer.entries()
        return self._bounded(entries, beside, [])

    def _bounded(self, entries: list[Any], summary: dict[str, Any], warnings: list[dict[str, Any]]) -> Result:
        texts = [json.dumps(each, ensure_ascii=False) for each in entries]
        room, kept = KEPT, 0
        for text in texts:
            room -= len(text)
            if room < 0:
                break
            kept += 1
        cut = kept < len(entries)
        return Result(
            ok=True,
            entries=entries[:kept],
            summary=summary,
            warnings=warnings[:100],
            truncated=cut,
            spool=self._spooled(texts) if cut else None,
        )

    def _spooled(self, texts: list[str]) -> str:
        descriptor, path = tempfile.mkstemp(prefix="result-", suffix=".jsonl", dir=self._folder)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(text.encode("utf-8", "surrogatepass") + b"\n" for text in texts)
        return path


def _without_type(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name != "type"}
