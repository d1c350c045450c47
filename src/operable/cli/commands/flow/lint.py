"""`operable flow lint`: what a manifest that validates may still get wrong, one `flow_lint` event a finding.

Cron and time zones, trigger cycles, unreachable tasks, dead handlers, typos, destructive shells without approval, secrets.
The validator's verdict is another question: `operable flow validate`. Exit status 65 when a rule of the level `error` found
something; with `--strict` warnings also count.
"""

from __future__ import annotations

from operable.cli.flow.events import FlowLint, FlowLintVerdict
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    columns=("source", "level", "rule", "path", "message", "hint", "ok", "errors", "warnings"),
    examples=["flow lint workflow.json", "flow lint workflow.json --rule cron-syntax --strict"],
)
def lint(
    *files: str,
    rule: list[str] | None = None,
    strict: bool = False,
    context: Context,
) -> Iterator[FlowLint | FlowLintVerdict]:
    """Look for mistakes that the validator does not know.

    files: the manifests; - or none is standard input
    rule RULE: only this rule; may be repeated
    strict: fail on warnings, too
    """
    from operable.cli.flow.input import read_manifest
    from operable.flow.manifest.lint import lint as looked
    from operable.flow.manifest.lint import rule as known

    for name in rule or ():
        known(name)  # an unknown name is refused before anything is read
    all_ok = True
    for source in files or ("-",):
        found = looked(read_manifest(source), rule or ())
        for seen in found:
            yield FlowLint(
                source=source,
                rule=seen.rule,
                level=seen.level,
                path=seen.path,
                message=seen.message,
                hint=seen.hint,
            )
        errors = sum(seen.level == "error" for seen in found)
        ok = not found if strict else not errors
        all_ok = all_ok and ok
        yield FlowLintVerdict(source=source, ok=ok, errors=errors, warnings=len(found) - errors)
    if not all_ok:
        context.conclude(exit_code=65)


COMMAND = lint
