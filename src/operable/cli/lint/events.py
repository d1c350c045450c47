"""The events of `aoi-lint`: what one check found, and what follows for one characteristic of one command.

`LintRequest` is what `aoi-lint` and `operable lint` are asked for.
"""

from __future__ import annotations

from operable.tool import Event, Options, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


SCHEMA_NAME = "org.operable.lint.events"
SCHEMA_VERSION = "1.0.0"


class LintRequest(Options):
    """Which checks run, on what, and what becomes of the findings.

    profile FILE: what discovery cannot say: arguments that work, setup, state; aoi-lint.toml beside the tool by default
    only NAME: run only this check, by number or name; may be repeated
    skip CHECK: leave this check out; may be repeated
    command: look only at this command; may be repeated
    fail_on: the least level that makes the run fail
    baseline FILE: failures that are written in this file do not make the run fail
    save_baseline FILE: write the failures of this run into this file
    report FORMAT=FILE: write a report, as FORMAT=FILE: json, sarif, junit, markdown, html or badge; may be repeated
    jobs: how many commands are looked at side by side; 0: as suits this machine
    patience: seconds of silence that are waited for
    confine: use a sandbox; without one, what needs it is untested
    """

    profile: str | None = None
    only: list[str] | None = None
    skip: list[str] | None = None
    command: list[str] | None = None
    fail_on: Literal["must", "should"] = "must"
    baseline: str | None = None
    save_baseline: str | None = None
    report: list[str] | None = None
    jobs: int = 0
    patience: float = 3.0
    confine: bool = True


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
