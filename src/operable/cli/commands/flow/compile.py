"""`operable flow compile`: a manifest as a backend wants it, in one `compiled_flow` event."""

from __future__ import annotations

from operable.cli.flow.events import CompiledFlow
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    examples=[
        "flow compile workflow.json --output jsonl",
        "flow compile workflow.json --target openclaw-scheduler --explain",
    ],
)
def compile_(
    file: str = "-",
    *,
    target: Literal["operable", "standalone", "openclaw-scheduler"] = "operable",
    explain: bool = False,
) -> Iterator[CompiledFlow]:
    """Compile a manifest for a backend.

    file: the manifest; - is standard input
    target: the backend
    explain: say for each task how it was mapped
    """
    from operable.cli.flow.input import answer, read_manifest

    found = answer("compile", file, manifest=read_manifest(file), target=target, explain=explain)
    yield CompiledFlow(target=found["target"], output=found["output"])


COMMAND = compile_
