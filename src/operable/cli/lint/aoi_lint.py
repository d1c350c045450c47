"""The `aoi-lint` command: `aoi-lint TOOL…` lints, `aoi-lint explain N` explains a check. A tool of its own, with its own
schema, so that a user of only the linter gets a small contract.

A first word that is not one of our commands is a tool to lint; a tool whose name is one of ours is linted with
`aoi-lint lint schema`.
"""

from __future__ import annotations

import sys

from operable.cli import VERSION
from operable.cli.lint.events import CharacteristicVerdict, Explanation, FindingEvent
from operable.tool import Context, Progress, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

SCHEMA_NAME = "org.operable.lint.events"
SCHEMA_VERSION = "1.0.0"

tool = Tool(
    "aoi-lint",
    version=VERSION,
    schema_name=SCHEMA_NAME,
    schema_version=SCHEMA_VERSION,
    summary="Prove, per characteristic and per command, what a tool really does.",
)


@tool.command(
    limit=None,
    timeout=3600.0,
    examples=[
        "lint outline --output jsonl",
        "lint ./my-tool --profile aoi-lint.toml --report sarif=lint.sarif --report html=lint.html",
        "lint ./my-tool --only 3 --only 11 --command list",
    ],
)
def lint(
    *tools: str,
    profile: str | None = None,
    only: list[str] | None = None,
    skip: list[str] | None = None,
    command: list[str] | None = None,
    fail_on: Literal["must", "should"] = "must",
    baseline: str | None = None,
    save_baseline: str | None = None,
    report: list[str] | None = None,
    jobs: int = 0,
    patience: float = 3.0,
    confine: bool = True,
    context: Context,
) -> Iterator[FindingEvent | CharacteristicVerdict | Progress]:
    """Lint tools: run them for real, confined, and say what conforms and what does not.

    tools: programs
    profile: what discovery cannot say: arguments that work, setup, state; aoi-lint.toml beside the tool by default
    only: run only this check, by number or name; may be repeated
    skip: leave this check out; may be repeated
    command: look only at this command; may be repeated
    fail_on: the least level that makes the run fail
    baseline: failures that are written in this file do not make the run fail
    save_baseline: write the failures of this run into this file
    report: write a report, as FORMAT=FILE: json, sarif, junit, markdown, html or badge; may be repeated
    jobs: how many commands are looked at side by side; 0: as suits this machine
    patience: seconds of silence that are waited for
    confine: do not use a sandbox; what needs one is then untested
    """
    from operable.cli.lint.session import linted
    from operable.lint.engine import LintOptions

    yield from linted(
        context,
        tools,
        LintOptions(
            profile=profile,
            only=tuple(only or ()),
            skip=tuple(skip or ()),
            commands=tuple(command or ()),
            jobs=jobs,
            confine=confine,
            patience=patience,
        ),
        fail_on=fail_on,
        baseline=baseline,
        save_baseline=save_baseline,
        report=report or (),
    )


@tool.command(
    columns=("check", "name", "title", "level", "section"),
    examples=["explain 3", "explain 3 --output jsonl"],
)
def explain(*checks: str, context: Context) -> Iterator[Explanation]:
    """Explain checks: what each looks for, why, and how to fix what it finds.

    checks: numbers of section 18.2 or names; all of them by default
    """
    from operable.cli.lint.session import explained

    return explained(context, checks)


def main() -> None:
    """Entry point of the console script."""
    words = sys.argv[1:]
    if words and not words[0].startswith("-") and not tool.knows(words[0]):
        words.insert(0, "lint")
    tool.main(words)
