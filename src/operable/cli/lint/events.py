"""The events of `aoi-lint`: what one check found, and what follows for one characteristic of one command."""

from __future__ import annotations

from operable.tool import Event, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class Evidence(Record):
    """What was seen, and how to see it again."""

    prepare: str | None = (
        None  # the line to paste before, in a shell of its own: a folder like the one it was run in
    )
    command_line: str | None = None
    exit_status: int | None = None
    excerpt: str | None = None  # the offending bytes, printable
    line: int | None = None  # of stdout, from 1


class FindingEvent(Event, type="finding"):
    """One result of one check."""

    tool: str
    check: int | str  # 1 to 13 of section 18.2, or the id of a further check
    name: str  # the id of the check
    characteristic: str
    command: str | None = None  # none: the tool as a whole
    level: Literal["MUST", "SHOULD"]
    result: Literal["pass", "fail", "untested", "not_applicable"]
    message: str
    evidence: Evidence | None = None
    section: str  # of the AOI-CLI specification
    fix: str | None = None
    known: bool = False  # in the baseline: does not make the run fail


class CharacteristicVerdict(Event, type="verdict"):
    """What is to be said of one characteristic of one command."""

    tool: str
    characteristic: str
    command: str | None = None
    result: Literal["pass", "fail", "untested", "not_applicable"]
    checks: list[str]  # that decided


class Explanation(Event):
    """One check: what it looks for, why, and how to fix what it finds."""

    check: int | str
    name: str
    title: str
    characteristics: list[str]
    level: Literal["MUST", "SHOULD"]
    section: str
    rationale: str
    passing: str
    failing: str
    fix: str
