"""Calling agent-operable tools, native or wrapped: their stream, judged, becomes a bounded result (`offer.result`).

A stream that has no end of its own is ended after a number of results or a time. Progress is passed on as it comes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from operable.kernel.json import DEEPEST, too_deep
from operable.offer.action import Action, Confirmation, Progress, Result
from operable.offer.entry_schema import entry_schema
from operable.offer.result import ENDLESS_RESULTS, ResultCollector
from operable.offer.words import command_words, confirmation_words, offered, operand_names, unspecified
from operable.proc.tree.escalation import Graces
from operable.run import acall
from operable.run.discovery import ToolSource, adocument
from operable.run.validator import self_contained
from operable.state.paths import VARIABLES

TIMEOUT = 600.0
_MACHINE = "--output=jsonl"
EventSchema = Callable[[], Mapping[str, Any] | None]
ProgramLine = Callable[[str, Mapping[str, Any]], tuple[str, ...]]
ENDLESS_TIMEOUT = 30.0


class AoiAdapter:
    """The commands of one tool. `words` begin every call; of our environment it gets `inherit`, and `env` on top.

    `name` is the tool's own; `program` gives the words of the program behind a wrapper, by command and arguments.

    `events` gives the schema of its events.
    `graces`: how long it may take to end what it has started, when a call is cancelled.
    """

    def __init__(
        self,
        words: Sequence[str],
        *,
        schemas: Mapping[str, dict[str, Any]] | None = None,
        inherit: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        graces: Graces | None = None,
        timeout: float = TIMEOUT,
        cwd: str | None = None,
        name: str = "",
        program: ProgramLine | None = None,
        events: EventSchema | None = None,
    ) -> None:
        self._words = tuple(words)
        self._name = name or os.path.basename(words[-1])
        self._program = program
        self._events = events
        self._inherit = tuple(inherit)
        self._env = env
        self._schemas: dict[str, dict[str, Any] | None] = dict(schemas or {})
        self._item_schemas: dict[str, dict[str, Any] | None] = {}
        self._graces = graces
        self._timeout = timeout
        self._cwd = cwd

    async def input_schema(self, action: Action) -> dict[str, Any]:
        schema = await self._schema(action)
        if schema is None:
            return unspecified()
        items = await self._item_schema(action)
        return offered(schema) if items is None else offered(schema, items)

    async def operand_names(self, action: Action) -> list[str]:
        """Which arguments of the input schema are operands on the command line, in their order."""
        schema = await self._schema(action)
        return [] if schema is None else operand_names(schema)

    def entry_schema(self, action: Action) -> dict[str, Any] | None:
        if self._events is None or not action.event_types:
            return None
        schema = entry_schema(self._events(), action.event_types)
        return schema if schema is not None and _is_schema(schema) else None

    def program_line(self, action: Action, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        if self._program is not None:
            return self._program(action.name, arguments)
        schema = self._schemas.get(action.name)
        if schema is None:
            words = [*map(str, arguments.get("arguments", ()))]
        else:
            words = command_words(schema, arguments, confirmed=False)[0]
        spoken = (word for word in words if word != _MACHINE)
        return (self._name, *action.name.split(), *spoken)

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: Confirmation, progress: Progress
    ) -> Result:
        schema = await self._schema(action)
        if schema is None:
            given = [*map(str, arguments.get("arguments", ())), *confirmation_words(confirmed)]
            words, stdin = [*given, _MACHINE], None
        else:
            words, stdin = command_words(schema, arguments, confirmed=confirmed)
        running = acall(
            [*self._words, *action.name.split(), *words],
            stdin=stdin,
            inherit=self._inherit,
            env=self._env,
            exact=True,
            cwd=self._cwd,
            graces=self._graces,
            tree=True,
            timeout=ENDLESS_TIMEOUT if action.unbounded else self._timeout,
            unbounded=True if action.unbounded else None,
        )
        with ResultCollector(ENDLESS_RESULTS if action.unbounded else None) as collector:
            async with running:
                async for event in running:
                    advance = collector.keep(event)
                    if advance is not None:
                        await progress(*advance)
                    if collector.enough:
                        break
            return collector.judged(
                running.verdict, ok=running.ok, endless=action.unbounded, stderr=running.stderr
            )

    async def _schema(self, action: Action) -> dict[str, Any] | None:
        """What the tool says about the arguments of a command; None if it says nothing that can be used."""
        command = action.name
        if command not in self._schemas:
            document = None
            if action.structured_input:  # then the schema without this flag is that of its input (12.1)
                document = await self._document(command, "--arguments")
            if document is None:
                document = await self._document(command)
            usable = (
                document is not None and isinstance(document.get("properties"), dict) and _usable(document)
            )
            self._schemas[command] = document if usable else None
        return self._schemas[command]

    async def _item_schema(self, action: Action) -> dict[str, Any] | None:
        """What the tool says about one item of the structured input of a command; None if it says nothing usable."""
        if not action.structured_input:
            return None
        if action.name not in self._item_schemas:
            schema = self._schemas[action.name] or {}
            document = await self._document(action.name, "--items")
            usable = document is not None and _usable(schema, document)
            self._item_schemas[action.name] = document if usable else None
        return self._item_schemas[action.name]

    async def _document(self, command: str, *options: str) -> dict[str, Any] | None:
        source = ToolSource(self._words, env=self._env, inherit=self._inherit, cwd=self._cwd)
        return await adocument(source, "input-schema", "--output", "json", "--command", command, *options)


def _usable(document: dict[str, Any], items: dict[str, Any] | None = None) -> bool:
    """Whether arguments can be checked by it, and clients can be sent it."""
    if too_deep(document, DEEPEST // 2) or (items is not None and too_deep(items, DEEPEST // 2)):
        return False
    return _is_schema(offered(document, items))


def _is_schema(schema: dict[str, Any]) -> bool:
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for(schema, retriever=self_contained)
    except ValueError:
        return False
    return True


def own_variables(name: str) -> tuple[str, ...]:
    """What a tool may inherit: where things are, and the variables named after it (`my-tool` has MY_TOOL_*)."""
    return (*VARIABLES, _prefix(name))


def _prefix(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name).upper() + "_*"
