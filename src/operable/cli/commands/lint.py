"""`operable lint`: the same as `aoi-lint`; its events are passed on as they are, under its own schema.

`aoi-lint` is a tool with a schema of its own, in which `verdict` is the verdict on a characteristic of a command; in the
schema of `operable` a `verdict` is one on a stream. So this is a relay, like `operable run`: our meta says in `upstream`
whose events follow.
"""

from __future__ import annotations

from operable.tool import Relay, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


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
    relay: Relay,
) -> None:
    """Lint tools: run them for real, confined, and say what conforms and what does not. The same as aoi-lint.

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
    from operable.cli.lint.aoi_lint import SCHEMA_NAME, SCHEMA_VERSION
    from operable.cli.lint.session import linted, passed_on
    from operable.lint.engine import LintOptions

    relay.introduce(
        upstream={"tool": "aoi-lint", "schema_name": SCHEMA_NAME, "schema_version": SCHEMA_VERSION}
    )
    options = LintOptions(
        profile=profile,
        only=tuple(only or ()),
        skip=tuple(skip or ()),
        commands=tuple(command or ()),
        jobs=jobs,
        confine=confine,
        patience=patience,
    )
    events = linted(
        relay,
        tools,
        options,
        fail_on=fail_on,
        baseline=baseline,
        save_baseline=save_baseline,
        report=report or (),
    )
    passed_on(relay, events)


COMMAND = lint
