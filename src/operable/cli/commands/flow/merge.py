"""`operable flow merge`: several manifests as one, in one `merged_flow` event.

Workflows come in order, equal profiles once. Manifests of different versions, workflows with the same id and profiles that
differ under one id are refused.
"""

from __future__ import annotations

from operable.cli.flow.backend_events import MergedFlow
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow merge disk.json backup.json --output jsonl"])
def merge(*files: str) -> Iterator[MergedFlow]:
    """Merge manifests of one version.

    files: the manifests, two or more; - is standard input
    """
    from operable.cli.flow.input import answer, read_manifest

    manifests = [read_manifest(file) for file in files]
    yield MergedFlow(manifest=answer("merge", " ".join(files), manifests=manifests)["manifest"])


COMMAND = merge
