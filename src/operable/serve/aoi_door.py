"""Calling agent-operable tools, native or wrapped: their stream, judged, becomes a bounded result (`gathering`).

A stream that has no end of its own is ended after a number of results or a time. Progress is passed on as it comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from operable.kernel.errors import Fail
from operable.kernel.nesting import DEEPEST, too_deep
from operable.proc.ladder import INTERRUPT_GRACE, Graces
from operable.proc.output import aoutput
from operable.proc.spawn import prepare
from operable.run import acall
from operable.run.validator import self_contained
from operable.serve.gathering import ENDLESS_RESULTS, Gathering
from operable.serve.operables import Action, Progress, Result
from operable.serve.words import command_words, offered, unspecified
from operable.state.paths import VARIABLES

TIMEOUT = 600.0
ENDLESS_TIMEOUT = 30.0


class AoiDoor:
    """The commands of one tool. `words` begin every call; nothing of our environment but places, its own variables, and
    `inherit`. `grace`: how long it may take to end what it has started, when a call is cancelled.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        name: str,
        schemas: Mapping[str, dict[str, Any]] | None = None,
        inherit: Sequence[str] = (),
        grace: float = INTERRUPT_GRACE,
        cwd: str | None = None,
    ) -> None:
        self._words = tuple(words)
        self._inherit = (*VARIABLES, own_variables(name), *inherit)
        self._schemas: dict[str, dict[str, Any] | None] = dict(schemas or {})
        self._graces = Graces(interrupt=grace)
        self._cwd = cwd

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
            graces=self._graces,
            tree=True,
            timeout=ENDLESS_TIMEOUT if action.unbounded else TIMEOUT,
            unbounded=True if action.unbounded else None,
        )
        with Gathering(ENDLESS_RESULTS if action.unbounded else None) as gathering:
            async with running:
                async for event in running:
                    told = gathering.keep(event)
                    if told is not None:
                        await progress(*told)
                    if gathering.enough:
                        break
            return gathering.judged(running.verdict, ok=running.ok, endless=action.unbounded)

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
            if (
                isinstance(document, dict)
                and isinstance(document.get("properties"), dict)
                and _usable(document)
            ):
                self._schemas[command] = document
        return self._schemas[command]


def _usable(document: dict[str, Any]) -> bool:
    """Whether arguments can be checked by it, and clients can be told it."""
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(offered(document), retriever=self_contained)
    except ValueError:
        return False
    return not too_deep(document, DEEPEST // 2)


def own_variables(name: str) -> str:
    """The variables that are called after a tool: `my-tool` has MY_TOOL_*."""
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper() + "_*"
