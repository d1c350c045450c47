"""The events of `operable wrap list` and `operable wrap show`."""

from __future__ import annotations

from operable.tool import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal


class Wrapper(Event):
    """A tool that can be called through `operable wrap`."""

    name: str
    version: str
    summary: str
    commands: list[str]
    origin: Literal["named", "user", "bundled"]
    path: str
    verified: bool  # not an unfinished draft
    lint: str  # the same as the next three, for people; "not linted" if it was not linted
    passes: list[str]  # characteristics that every command passes to which they apply
    fails: list[str]
    untested: list[str]
    problem: str | None = None  # why it cannot be used


class WrappedCommandInfo(Event, type="wrapped_command"):
    """One command of a wrapped tool, and what it promises."""

    name: str
    summary: str
    read_only: bool
    destructive: bool
    supports_cursor: bool
    supports_dry_run: bool
    timeout: float | None
    source: Literal["program", "system"]  # whether the program is run, or the system asked in its place
    argv: list[str]
    sandbox: list[str]  # what the program may not do; empty: it has the rights of its caller
    enforced_by: str  # what holds it to that on this machine
    stays_open: list[str]  # what nothing holds: classes of the sandbox's ledger
    needs: dict[str, str]  # what it needs although it changes nothing, and why
    project_code: str  # code of the project that it runs; empty: none
    dry_run: dict[str, Any] | None  # the same for its dry run; `consent` where that runs code of the project
    rights: str  # the same as the last five, for people, without the reasons
    env: list[str]  # variables that it gets beside a search path, a home and a locale; `*` ends a beginning
    event_types: list[str]
    exits: dict[str, Any]
    lint: str  # the same as the next three, for people; "not linted" if it was not linted
    passes: list[str]  # characteristics of AOI-CLI
    fails: list[str]
    untested: list[str]


class Shim(Event):
    """A program that is the wrapped tool."""

    name: str
    program: str
