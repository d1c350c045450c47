"""The words of the catalog: an `Operable` is one thing that can be operated, its `Action`s are its commands.

A `Source` finds operables of one kind, without running anything but tools that were declared to speak AOI. A `Door` calls
one command of an operable and gives a bounded `Result`, whoever asks: MCP, HTTP, Python.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Risk = Literal["read-only", "changes", "destructive", "unknown"]
Health = Literal["ok", "missing", "broken", "unapproved", "unknown"]
Progress = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Action:
    """One command. What it promises is what its owner declares; nothing is guessed in its favour."""

    name: str
    summary: str = ""
    read_only: bool = False
    destructive: bool = False
    confirm: bool = False  # it does not run without the user's confirmation
    idempotent: bool = False
    unbounded: bool = False
    # What holds a command to `read_only`: "" means that it is its owner's word.
    enforced_by: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)  # what it needs nevertheless -> why
    project_code: str = ""  # code of the project that it runs
    # Its dry run runs some too: "required" means always, "optional" only with a yes (else it refuses what needs it).
    plan_consent: str = ""

    @property
    def assurance(self) -> str:
        """For people and models: what its promise rests on."""
        parts = [f"Read-only, enforced by {self.enforced_by}."] if self.read_only and self.enforced_by else []
        parts += [f"Needs {need}: {reason}." for need, reason in self.needs.items()]
        parts += [f"Runs code of the project: {self.project_code}."] if self.project_code else []
        return " ".join(parts)

    @property
    def risk(self) -> Risk:
        if self.destructive or self.confirm:
            return "destructive"
        return "read-only" if self.read_only else "changes"


@dataclass(frozen=True, slots=True)
class Result:
    """What one call gave. `lines` gives all of it again, event by event, when `entries` is only the beginning."""

    ok: bool
    entries: list[Any] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    code: str = "OK"
    truncated: bool = False
    spool: str | None = None  # a file with every event, when not all of them are here


class Door(Protocol):
    """How the commands of one operable are called."""

    async def input_schema(self, action: Action) -> dict[str, Any]:
        """What a call takes: a strict JSON Schema of one object."""
        ...

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: bool, progress: Progress
    ) -> Result:
        """Call it once. Cancelling the task ends everything that was started, before the cancellation goes on."""
        ...


@dataclass(frozen=True, slots=True)
class Operable:
    """One thing that can be operated."""

    kind: str  # the name of its source: tool, wrap, app, agent
    name: str
    version: str = ""
    description: str = ""
    place: str = ""
    actions: tuple[Action, ...] = ()
    capabilities: tuple[str, ...] = ()  # what it or any of its commands can do beyond running, in words
    auth: str = "none"  # none: it needs no login; required; authed, unauthed, unknown: the state of the one that it needs
    health: Health = "ok"
    problem: str | None = None
    door: Door | None = None  # None: it is not called command by command

    @property
    def risk(self) -> Risk:
        """The worst of its commands."""
        order: tuple[Risk, ...] = ("read-only", "changes", "unknown", "destructive")
        found: list[Risk] = [action.risk for action in self.actions] or ["unknown"]
        return max(found, key=order.index)


# What a command says of itself -> the word for it.
_WORDS = {
    "supports_dry_run": "dry-run",
    "supports_cursor": "cursor",
    "supports_idempotency_key": "idempotency-key",
    "requires_confirm": "confirm",
    "unbounded": "unbounded",
}


def capabilities_of(commands: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """What any of these commands can do, by what they say of themselves (`TOOL capabilities`)."""
    return tuple(sorted({_WORDS[name] for each in commands for name in _WORDS if each.get(name) is True}))


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of operables. A broken one is found with its problem; it never hides the others."""

    kind: str
    summary: str
    find: Callable[[str], Iterator[Operable]]
    """From the folder of the workspace."""
