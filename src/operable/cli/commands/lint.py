"""`operable lint`: the same as `aoi-lint`; its events are passed on as they are, under its own schema.

`aoi-lint` is a tool with a schema of its own, in which `verdict` is the verdict on a characteristic of a command; in the
schema of `operable` a `verdict` is one on a stream. So this is a relay, like `operable run`: our meta says in `upstream`
whose events follow.
"""

from __future__ import annotations

from operable.cli.lint.events import SCHEMA_NAME, SCHEMA_VERSION, LintRequest
from operable.tool import Relay, command


@command(
    runs_tools=True,
    limit=None,
    timeout=3600.0,
    examples=[
        "lint outline --output jsonl",
        "lint ./my-tool --profile aoi-lint.toml --report sarif=lint.sarif --report html=lint.html",
    ],
)
def lint(
    *tools: str,
    request: LintRequest,
    relay: Relay,
) -> None:
    """Lint tools: run them for real, confined, and say what conforms and what does not. The same as aoi-lint.

    tools: programs; behind --, one program with its first arguments, as in: lint -- python todo.py
    """
    from operable.cli.lint.session import linted, passed_on

    relay.introduce(
        upstream={"tool": "aoi-lint", "schema_name": SCHEMA_NAME, "schema_version": SCHEMA_VERSION}
    )
    passed_on(relay, linted(relay, tools, request))


COMMAND = lint
