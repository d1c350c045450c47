"""`operable flow merge`: several manifests as one, in one `merged_flow` event.

Workflows come in order, equal profiles once. Manifests of different versions, workflows with the same id and profiles that
differ under one id are refused.
"""

from __future__ import annotations

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import MergedFlow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@flow_command("merge", limit=None, examples=["flow merge disk.json backup.json --output jsonl"])
def merge(call: FlowCall) -> Iterator[MergedFlow]:
    """Merge manifests of one version."""
    from operable.cli.flow.input import read_manifest

    manifests = [read_manifest(file) for file in call["manifests"] or ()]
    yield MergedFlow(manifest=call.answer(manifests=manifests)["manifest"])


COMMAND = merge
