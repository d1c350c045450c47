"""`operable flow compile`: a manifest as a backend wants it, in one `compiled_flow` event."""

from __future__ import annotations

from operable.cli.flow_events import CompiledFlow
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
    from operable.cli.flow_input import addressed, read_manifest
    from operable.flow.compile.target import compile_manifest

    manifest = read_manifest(file)
    with addressed(file):
        yield CompiledFlow(target=target, output=compile_manifest(manifest, target, explain=explain))


COMMAND = compile_
