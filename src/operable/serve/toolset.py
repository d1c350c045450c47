"""Chosen commands of this machine as tools of another program's model loop, called in the process of that program.

    async with Toolset("wrap/git/log", "tool/outline", caller="report") as tools:
        answer = await tools["git_log"].call({"max-count": 5})

Names, schemas, results and the gate are those of the MCP server (`operable.serve.mcp_tools`): a command means the same from
every side. A call does not raise for what a tool did or a rule said: its answer has the verdict, for the model to read. What
the rules leave to people waits in the queue of `operable inbox list`, beside `on_ask`.

A toolset is open inside `async with` or `with`. `call_now` is for callers without an event loop: such calls share one loop
in a thread of the toolset. `operable.frameworks` turns the tools into those of a framework.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import field
from fnmatch import fnmatchcase
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from operable.gate.approvals import OnAsk
from operable.gate.call import CallerId
from operable.gate.call_gate import CallGate
from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.offer.action import Action, Result, check_arguments
from operable.serve.catalog import Operable, catalog, kinds
from operable.serve.mcp_tools import (
    CommandFilter,
    McpTool,
    Toolbox,
    described,
    structured,
    structured_failure,
)

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What one call gave. `content` is what a model reads, with the verdict in `ok` and `code`."""

    ok: bool
    code: str
    content: dict[str, Any]
    result: Result | None = field(default=None, repr=False)  # None: it was not called

    @property
    def text(self) -> str:
        """The content as JSON."""
        return json.dumps(self.content, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class ModelTool:
    """One command, as a framework needs it: a name, a description, a JSON Schema, and a call."""

    offer: McpTool
    _toolset: Toolset = field(repr=False)

    @property
    def name(self) -> str:
        return self.offer.name

    @property
    def description(self) -> str:
        return self.offer.description

    @property
    def input_schema(self) -> dict[str, Any]:
        return self.offer.schema

    @property
    def annotations(self) -> dict[str, Any]:
        """What it promises, in the words of MCP: readOnlyHint, destructiveHint, idempotentHint."""
        hints: dict[str, Any] = described(self.offer)["annotations"]
        return hints

    async def call(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call it, if its schema and the gate let it. Cancelling the task ends everything that was started."""
        return await self._toolset._call(self.offer, arguments)  # noqa: SLF001 - one mechanism in two classes

    def call_now(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        """The same for a thread that has no event loop, or may not use it."""
        return self._toolset._call_now(self, arguments)  # noqa: SLF001


@dataclass(frozen=True, slots=True)
class Framework:
    """How one framework takes the tools. `package` is what has to be installed."""

    package: str
    tools: Callable[[Toolset], list[Any]]


class Toolset:
    """The commands that `wanted` names: `KIND/NAME`, `KIND/NAME/COMMAND` or a pattern of these; or the path of a tool.

    `caller` is the name of the program in rules and records, as `program:NAME`; "" takes that of the script. What cannot be
    undone, and what is not known (agents), is offered with `allow_destructive` only, and nothing that changes anything with
    `read_only`.
    """

    def __init__(
        self,
        *wanted: str,
        caller: str = "",
        workspace: str = ".",
        allow_destructive: bool = False,
        read_only: bool = False,
        on_ask: OnAsk | None = None,
        gate: CallGate | None = None,
    ) -> None:
        if not wanted:
            raise Fail("usage", "NOTHING_CHOSEN", "a toolset needs the name of a thing", hint=_LIST)
        self._wanted = wanted
        self._caller = CallerId("program", caller or os.path.basename(sys.argv[0]) or "python")
        self._workspace = os.path.realpath(workspace)
        self._allow, self._read_only = allow_destructive, read_only
        self._on_ask = on_ask
        self._gate = gate if gate is not None else CallGate()
        self._toolbox: Toolbox | None = None
        self._tools: dict[str, ModelTool] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    # --- open and closed

    async def __aenter__(self) -> Self:
        choices = await asyncio.to_thread(self._chosen)
        # A tool that two words name is one tool.
        operables = {
            (each.kind, each.name, each.place): each for choice in choices for each in choice.operables
        }
        toolbox = Toolbox(
            operables.values(),
            gate=self._gate,
            workspace=self._workspace,
            enabled=self._allow,
            read_only=self._read_only,
            commands=CommandFilter(tuple(each for choice in choices for each in choice.commands.only)),
        )
        for choice in choices:
            self._require(choice, toolbox.listed())
        self._tools = {name: ModelTool(offer, self) for name, offer in (await toolbox.tools()).items()}
        self._toolbox = toolbox
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def __enter__(self) -> Self:
        try:
            return self._wait(self.__aenter__())
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write the ends of calls, and remove the results that were kept. May be called twice."""
        loop, self._loop = self._loop, None
        if loop is not None and self._thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()
        if self._toolbox is not None:
            self._gate.close()
            self._toolbox.results.close()
        self._toolbox = None

    # --- the tools

    def __iter__(self) -> Iterator[ModelTool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __getitem__(self, name: str) -> ModelTool:
        """One by the name that models know it by. Raises KeyError if it does not exist."""
        return self._tools[name]

    def read(self, more: str) -> str:
        """The whole of a result that was too long for a model, as JSON lines: `more` is in its content."""
        return self._opened().results.read(more)

    def _opened(self) -> Toolbox:
        if self._toolbox is None:
            raise Fail(
                "conflict",
                "TOOLSET_CLOSED",
                "the toolset is not open",
                hint="async with Toolset(…) as tools:",
            )
        return self._toolbox

    async def _call(self, tool: McpTool, arguments: Mapping[str, Any]) -> ToolAnswer:
        toolbox = self._opened()
        try:
            check_arguments(tool.name, tool.schema, arguments)
            call = toolbox.call_of(tool, arguments, self._caller)
            result = await toolbox.call(tool, call, progress=_silent, on_ask=self._on_ask)
        except Fail as failure:
            return ToolAnswer(ok=False, code=failure.code, content=structured_failure(failure))
        uri = toolbox.results.keep(result.spool) if result.spool is not None else None
        return ToolAnswer(result.ok, result.code, structured(result, uri), result)

    def _call_now(self, tool: ModelTool, arguments: Mapping[str, Any]) -> ToolAnswer:
        self._opened()
        return self._wait(tool.call(arguments))

    def _wait(self, work: Coroutine[Any, Any, _Value]) -> _Value:
        """The value, from the loop of the toolset. An interrupt of the caller cancels the work."""
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="toolset", daemon=True)
                self._thread.start()
            running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    # --- choosing

    def _chosen(self) -> list[_Choice]:
        """What each word names."""
        return [self._choice(word) for word in self._wanted]

    def _choice(self, word: str) -> _Choice:
        from operable.serve.sources.tool import described_tool

        if word.startswith(("/", "./", "../", "~")):
            path = os.path.abspath(os.path.expanduser(word))
            tool = described_tool(os.path.basename(path), path, self._workspace)
            return _Choice(word, [tool], CommandFilter((f"tool/{tool.name}/*",)))
        kind, _, name = word.partition("/")
        if not name or kind not in kinds():
            reason = f"{word!r} is not KIND/NAME with a kind of {', '.join(kinds())}"
            raise Fail("usage", "UNKNOWN_OPERABLE", reason, target=word, hint=_LIST)
        commands = CommandFilter((word, f"{word}/*"))
        found = [each for each in catalog(self._workspace, only=(kind,)) if _is_meant(each, word, commands)]
        if not found:
            reason = f"there is no {kind} that {word} names"
            raise Fail("not_found", "UNKNOWN_OPERABLE", reason, target=word, hint=_LIST)
        return _Choice(word, found, commands)

    def _require(self, choice: _Choice, offered: list[tuple[str, Operable, Action]]) -> None:
        """Raises Fail if a word gives no tool: a program that lacks one of its tools should not start."""
        word, takes = choice.word, choice.commands.takes
        if any(takes(operable, action) for _, operable, action in offered):
            return
        here = [each for each in choice.operables if each.adapter is not None]
        if not any(takes(each, action) for each in here for action in each.actions):
            problem = next((each.problem for each in choice.operables if each.problem), None)
            reason = f"{word} cannot be called: {problem or 'it has no such command'}"
            raise Fail("config", "NOT_OPERABLE", reason, target=word, hint=_LIST)
        if self._read_only:
            reason, hint = f"{word} may change something, and this toolset only reads", "read_only=False"
        else:
            reason, hint = f"{word} cannot be undone, or is not known", "allow_destructive=True"
        raise Fail("authz", "DESTRUCTIVE_DISABLED", reason, target=word, hint=f"Toolset(…, {hint})")


class _Choice(NamedTuple):
    word: str
    operables: list[Operable]
    commands: CommandFilter


_LIST = "operable catalog"


def _is_meant(operable: Operable, word: str, commands: CommandFilter) -> bool:
    """Whether a word names a thing or a command of it; or something below it, which is then missing or broken."""
    name = f"{operable.kind}/{operable.name}"
    return (
        fnmatchcase(name, word)
        or word.startswith(f"{name}/")
        or any(commands.takes(operable, action) for action in operable.actions)
    )


async def _silent(_done: float, _total: float | None, _message: str | None) -> None: ...
