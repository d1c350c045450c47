"""`operable flow validate`: judge workflow manifests, with the paths, messages and order that other readers use.

Gives one `flow_problem` per complaint and one `flow_verdict` per file. Exit status 65 when one of them cannot be used.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import FlowProblem, FlowVerdict
from operable.tool import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command(
    "validate",
    limit=None,
    columns=("source", "path", "level", "message", "ok", "errors", "warnings"),
    examples=["flow validate workflow.json", "flow validate - --output jsonl < workflow.json"],
)
def validate(call: FlowCall, context: Context) -> Iterator[FlowProblem | FlowVerdict]:
    """Judge workflow manifests: all problems at once."""
    from operable.cli.flow.input import read_manifest

    all_ok = True
    for source in call["manifest"] or ("-",):
        found = call.answer(source, manifest=read_manifest(source))
        for level in ("error", "warning"):
            for problem in found[f"{level}s"]:
                yield FlowProblem(
                    source=source, path=problem["path"], level=level, message=problem["message"]
                )
        all_ok = all_ok and found["ok"]
        yield FlowVerdict(
            source=source, ok=found["ok"], errors=len(found["errors"]), warnings=len(found["warnings"])
        )
    if not all_ok:
        context.conclude(exit_code=65)


COMMAND = validate
