"""The contract between a check and its runner.

A check is a generator of problems: it asks its `Case` for observations and yields what is wrong. What it does not
complain about has passed, provided that it has looked at anything; raising `Untested` or `NotApplicable` ends it with
that result and the reason. It has no access to processes, files or the clock: those belong to the `Lab` behind the
case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from typing import Any, Literal, Protocol

from operable.kernel.data_class import dataclass
from operable.lint.evidence import Invocation, Observation, excerpt
from operable.lint.plan import CommandPlan, ToolPlan

Level = Literal["MUST", "SHOULD"]
Result = Literal["pass", "fail", "untested", "not_applicable"]
# The ten of the manifesto, in its order.
CHARACTERISTICS = (
    "Typed Discoverable Streamable Bounded Safe Idempotent Auditable Verifiable Composable Versioned".split()
)


class Untested(Exception):  # noqa: N818 - a result, not an error
    """It could not be tried; the reason is for the tool's author."""


class NotApplicable(Exception):  # noqa: N818 - a result, not an error
    """There is nothing here that the rule speaks of."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One result of one check on one command (None: the tool as a whole)."""

    check: str
    number: int | None
    characteristics: tuple[str, ...]
    command: str | None
    level: Level
    result: Result
    message: str
    section: str
    reproduce: str | None = None
    excerpt: str | None = None
    line: int | None = None
    status: int | None = None
    hint: str | None = None
    timed: bool = False  # it was too slow: that must happen twice before a tool is blamed for it

    @property
    def label(self) -> str:
        """How people name the check: by its number in section 18.2, else by its id."""
        return str(self.number) if self.number is not None else self.check


@dataclass(frozen=True, slots=True)
class RoomChange:
    """One difference between a room before and after a call."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Room(Protocol):
    """A throw-away work dir and HOME after the profile's setup; what is run in it sees what was run before."""

    def run(self, invocation: Invocation) -> Observation: ...
    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        """Run it, and say what it changed: files by content, and the state that the tool reports."""

    def together(self, invocation: Invocation) -> tuple[Observation, Observation]:
        """The same call twice at once."""

    def furnish(self, beside: Sequence[Sequence[str]] = ()) -> None:
        """Start what runs beside a call already now: it may hold the state that is asked for."""

    def state(self) -> tuple[str, ...] | None:
        """What the tool says its state is; None when there is no way to ask."""


class Lab(Protocol):
    """Runs invocations, each in a fresh room; equal ones only once."""

    def observe(self, invocation: Invocation) -> Observation: ...
    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]: ...
    def room(self) -> AbstractContextManager[Room]: ...
    def anew(self) -> Lab:
        """The same, with nothing run yet."""

    @property
    def confined(self) -> str | None:
        """Why the tool is not confined; None when it is."""

    @property
    def patience(self) -> float:
        """How many seconds of silence are waited for."""


@dataclass
class Case:
    """One check on one command, or on the tool when `command` is None."""

    check: LintCheck
    plan: ToolPlan
    command: CommandPlan | None
    lab: Lab
    seen: list[Observation] = field(default_factory=list)

    @property
    def target(self) -> CommandPlan:
        assert self.command is not None  # noqa: S101 - only checks on commands ask for it
        return self.command

    def observe(self, invocation: Invocation) -> Observation:
        observation = self.lab.observe(invocation)
        self.seen.append(observation)
        return observation

    def effect(self, invocation: Invocation) -> tuple[Observation, tuple[RoomChange, ...]]:
        observation, changes = self.lab.effect(invocation)
        self.seen.append(observation)
        return observation, changes

    def sample(self) -> Observation:
        """The call that stands for the command: one that works, or that fails in no due form. Else `Untested`."""
        return self.observe(self.sample_invocation())

    def sample_invocation(self) -> Invocation:
        """As `sample`, but what to run; for a command that destroys it has the confirmation."""
        invocation, problem = self.target.settled(self.lab.observe)
        if invocation is None:
            raise Untested(problem)
        if not self.lab.observe(invocation).events:
            raise Untested("stdout contains no readable event; see check 2")
        return invocation

    def fail_as_a_whole(self, message: str, seen: Observation, *, section: str) -> Iterator[LintFinding]:
        """Advice about what all commands have in common: given once, whichever command shows it first."""
        if self.plan.reported.setdefault((self.check.name, message), self) is self:
            found = self.fail(message, seen, level="SHOULD", section=section, excerpt=excerpt(seen.stderr))
            yield replace(found, command=None)

    def fail(
        self,
        message: str,
        observation: Observation | None = None,
        *,
        level: Level | None = None,
        section: str | None = None,
        excerpt: str | None = None,
        line: int | None = None,
    ) -> LintFinding:
        if observation is None and self.seen:
            observation = self.seen[-1]
        return self.finding("fail", message, observation, level, section, excerpt, line)

    def finding(
        self,
        result: Result,
        message: str,
        observation: Observation | None = None,
        level: Level | None = None,
        section: str | None = None,
        excerpt: str | None = None,
        line: int | None = None,
    ) -> LintFinding:
        check = self.check
        return LintFinding(
            check=check.name,
            number=check.number,
            characteristics=check.characteristics,
            command=None if self.command is None else self.command.name,
            level=level or check.level,
            result=result,
            message=message,
            section=section or check.section,
            reproduce=None if observation is None else observation.command_line,
            excerpt=excerpt,
            line=line,
            status=None if observation is None else observation.status,
            hint=check.hint if result == "fail" else None,
            timed=result == "fail" and observation is not None and observation.ended == "deadline",
        )


Judge = Callable[[Case], Iterator[LintFinding]]


@dataclass(frozen=True)
class LintCheck:
    """The descriptor that ends the file of a check. `name` is the file's."""

    name: str
    number: int | None
    title: str
    characteristics: tuple[str, ...]
    level: Level
    section: str
    passing: str
    failing: str
    hint: str
    tool: Judge | None = None
    command: Judge | None = None
    page: str = ""  # the module's docstring: rationale and reference

    @property
    def label(self) -> str:
        return str(self.number) if self.number is not None else self.name

    def describe(self) -> dict[str, Any]:
        return {
            "check": self.number if self.number is not None else self.name,
            "name": self.name,
            "title": self.title,
            "characteristics": list(self.characteristics),
            "level": self.level,
            "section": self.section,
            "rationale": self.page,
            "passing": self.passing,
            "failing": self.failing,
            "fix": self.hint,
        }
