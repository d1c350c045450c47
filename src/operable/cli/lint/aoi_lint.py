"""The `aoi-lint` command: `aoi-lint TOOL…` lints, `aoi-lint explain N` explains a check. A tool of its own, with its own
schema, so that a user of only the linter gets a small contract.

A first word that is not one of our commands is a tool to lint; a tool whose name is one of ours is linted with
`aoi-lint lint schema`.
"""

from __future__ import annotations

import sys

from operable.cli import VERSION
from operable.cli.lint.events import (
    SCHEMA_NAME,
    SCHEMA_VERSION,
    CharacteristicVerdict,
    Explanation,
    FindingEvent,
    LintRequest,
)
from operable.tool import Context, Progress, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

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
        "lint --only 3 -- python todo.py",
    ],
)
def lint(
    *tools: str,
    request: LintRequest,
    context: Context,
) -> Iterator[FindingEvent | CharacteristicVerdict | Progress]:
    """Lint tools: run them for real, confined, and say what conforms and what does not.

    tools: programs; behind --, one program with its first arguments, as in: lint -- python todo.py
    """
    from operable.cli.lint.session import linted

    yield from linted(context, tools, request)


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
    if "--" in words:
        from operable.cli.lint.words import with_one_tool

        words = with_one_tool(words)
    named = bool(words) and not words[0].startswith("-")
    if (named or "--" in words) and not tool.knows(words[0]):
        words.insert(0, "lint")
    tool.main(words)
