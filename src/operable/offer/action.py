"""The words of an offer: an `Action` is one command, an `Adapter` calls it, a `Result` is what the call gave.

An action promises what its owner declares; nothing is guessed in its favour. Names for models are made here as well,
because every provider and client has the same limits.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Literal, Protocol, runtime_checkable

from operable.kernel.data_class import dataclass
from operable.kernel.errors import Fail
from operable.offer.entry_schema import result_types
from operable.run.validator import self_contained
from operable.tool.declaration import ALIAS, BUILT_IN
from operable.tool.discovery.capabilities import is_read_only

Risk = Literal["read-only", "changes", "destructive", "unknown"]
Progress = Callable[[float, float | None, str | None], Awaitable[None]]
# What a person or a model agreed to: True is a plain yes, text is the digest of the plan that was shown.
Confirmation = bool | str

NAME_LIMIT = 64  # characters; of most providers and clients
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
# Words with one space between, none of them an option.
_COMMAND = re.compile(r"\w[\w.:-]*(?: \w[\w.:-]*)*")
_SUMMARY = 1000  # characters: models are given all of them at once


@dataclass(frozen=True, slots=True)
class Action:
    """One command. What it promises is what its owner declares."""

    name: str
    summary: str = ""
    read_only: bool = False
    destructive: bool = False
    confirm: bool = False  # it does not run without the user's confirmation
    dry_run: bool = False  # it can say what it would do
    idempotent: bool = False
    unbounded: bool = False
    structured_input: bool = False  # it takes JSON lines on stdin
    # What enforces `read_only`: "" means that it is its owner's word.
    enforced_by: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)  # what it needs nevertheless -> why
    project_code: str = ""  # code of the project that it runs
    # Its dry run runs some as well: "required" means always, "optional" only with an approval (else it refuses what
    # needs it).
    plan_consent: str = ""
    is_undeclared: bool = False  # nothing declares what it does: an agent does what it is asked to
    event_types: tuple[str, ...] = ()  # of its results; empty: it does not say
    below: tuple[str, ...] = ()  # the longer commands that its words may reach, where they are its caller's

    @property
    def assurance(self) -> str:
        """For people and models: what its promise rests on."""
        parts = (
            [f"Read-only (enforcement: {self.enforced_by})."] if self.read_only and self.enforced_by else []
        )
        parts += [f"Needs {need}: {reason}." for need, reason in self.needs.items()]
        parts += [f"Runs code of the project: {self.project_code}."] if self.project_code else []
        return " ".join(parts)

    @property
    def risk(self) -> Risk:
        if self.destructive or self.confirm:
            return "destructive"
        if self.is_undeclared:
            return "unknown"
        return "read-only" if self.read_only else "changes"


@dataclass(frozen=True, slots=True)
class Result:
    """What one call gave. `spool` has all of it, event by event, when `entries` is only the beginning."""

    ok: bool
    entries: list[Any] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    code: str = "OK"
    truncated: bool = False
    spool: str | None = None  # a file with every event, when not all of them are here


class Adapter(Protocol):
    """How the commands of one operable are called."""

    async def input_schema(self, action: Action) -> dict[str, Any]:
        """What a call takes: a strict JSON Schema of one object."""
        ...

    def entry_schema(self, action: Action) -> dict[str, Any] | None:
        """What one result is, as its owner declares it; None: that is not known."""
        ...

    def program_line(self, action: Action, arguments: Mapping[str, Any]) -> tuple[str, ...]:
        """The words of the program that a call runs, for rules and people; empty: it runs no program of its own."""
        ...

    async def call(
        self, action: Action, arguments: Mapping[str, Any], *, confirmed: Confirmation, progress: Progress
    ) -> Result:
        """Call it once. Cancelling the task ends everything that was started, before the cancellation goes on."""
        ...


@runtime_checkable
class ChangingAdapter(Protocol):
    """An adapter whose commands run what is defined elsewhere, and may be defined anew between a question and its answer."""

    def definition(self) -> str:
        """The digest of what a call would run now."""
        ...


def actions(capabilities: Mapping[str, Any]) -> Iterator[Action]:
    """The commands of a capability manifest, without those by which a tool describes itself."""
    entries = command_entries(capabilities)
    names = {entry["name"] for entry in entries}
    about_itself = {f"{ALIAS}{name}" if f"{ALIAS}{name}" in names else name for name in BUILT_IN}
    # What enforces a promise is for us to say, not for the tool.
    return (
        replace(declared_action(entry), enforced_by="")
        for entry in entries
        if entry["name"] not in about_itself
    )


def command_entries(capabilities: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries that can be called: their names are words, not options."""
    return [
        entry
        for entry in capabilities.get("commands") or ()
        if isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and _COMMAND.fullmatch(entry["name"])
    ]


def declared_action(entry: Mapping[str, Any]) -> Action:
    """The action of one entry of a capability manifest."""
    needs, plan = entry.get("needs"), entry.get("dry_run")
    modes = entry.get("input_modes")
    read_only = is_read_only(entry)
    return Action(
        entry["name"],
        summary=str(entry.get("summary") or "")[:_SUMMARY],
        read_only=read_only,
        destructive=entry.get("destructive") is True,
        confirm=entry.get("requires_confirm") is True,
        dry_run=entry.get("supports_dry_run") is True,
        idempotent=read_only or entry.get("supports_idempotency_key") is True,
        unbounded=entry.get("unbounded") is True,
        structured_input=isinstance(modes, list) and "jsonl" in modes,
        enforced_by=str(entry.get("enforced_by") or ""),
        needs={str(need): str(reason) for need, reason in needs.items()} if isinstance(needs, dict) else {},
        project_code=str(entry.get("project_code") or ""),
        plan_consent=str(plan.get("consent") or "") if isinstance(plan, dict) else "",
        # What it relays is another tool's, and has any type.
        event_types=() if entry.get("relays") is True else result_types(entry.get("event_types")),
    )


def with_any_words(action: Action, actions: Iterable[Action]) -> Action:
    """What a command is whose words are its caller's: the worst of it and of those below it, which the words may name."""
    path = action.name.split()
    reached = [each for each in actions if each.name.split()[: len(path)] == path]
    return replace(
        action,
        below=tuple(each.name for each in reached if each.name != action.name),
        read_only=all(each.read_only for each in reached),
        destructive=any(each.destructive for each in reached),
        confirm=any(each.confirm for each in reached),
        idempotent=all(each.idempotent for each in reached),
    )


# What a command says of itself -> the word for it.
_ABILITIES = {
    "supports_dry_run": "dry-run",
    "supports_cursor": "cursor",
    "supports_idempotency_key": "idempotency-key",
    "requires_confirm": "confirm",
    "unbounded": "unbounded",
}


def capabilities_of(entries: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """What any of these commands can do, by what they say of themselves (`TOOL capabilities`)."""
    return tuple(
        sorted({_ABILITIES[name] for entry in entries for name in _ABILITIES if entry.get(name) is True})
    )


def tool_name(*words: str, kind: str = "", taken: Container[str] = ()) -> str:
    """A name that models and clients accept, made of these words, and that is not taken."""
    wanted = "_".join(words)
    name = _NOT_IN_A_NAME.sub("_", wanted)
    if len(name) > NAME_LIMIT:
        name = _shortened(name, wanted)
    if name in taken:
        name = _shortened(name, f"{kind} {wanted}")
    # `a` `b_c` and `a_b` `c` are one name, and would be one identity also: a call must never mean another command.
    for number in itertools.count():
        if name not in taken:
            return name
        name = _shortened(name, f"{kind} {number} " + "\0".join(words))
    raise AssertionError


def _shortened(name: str, identity: str) -> str:
    return f"{name[: NAME_LIMIT - 9]}_{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


_NAME = 64  # characters of a name that a caller made up
_FAULTS = 5  # are enough to fix a call


def check_arguments(name: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> None:
    """Raise Fail INVALID_ARGUMENTS if they are not what the schema of `name` allows.

    Values are not repeated in the error: they may be secrets.
    """
    import jsonschema_rs

    errors = jsonschema_rs.validator_for(dict(schema), retriever=self_contained).iter_errors(dict(arguments))
    faults = [_fault(error) for error in errors]
    if faults:
        raise Fail(
            "usage",
            "INVALID_ARGUMENTS",
            f"{name} does not take these arguments: {'; '.join(faults[:_FAULTS])}",
            target=name,
            hint=f"it takes {', '.join(schema['properties']) or 'none'}",
        )


def _fault(error: Any) -> str:
    """What is wrong with one argument, by its name."""
    name, kind = "/".join(map(str, error.instance_path))[:_NAME], error.kind
    if kind.name == "additionalProperties":
        return f"there is no {', '.join(repr(each[:_NAME]) for each in kind.unexpected[:_FAULTS])}"
    if kind.name == "required":
        return f"{kind.property!r} is missing"
    if kind.name == "type":
        return f"{name or 'the whole'} must be of type {' or '.join(kind.types)}"
    if kind.name == "enum":
        return f"{name} must be one of {', '.join(map(str, kind.options))}"
    return f"{name}: {kind.name}"
