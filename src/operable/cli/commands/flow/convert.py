"""`operable flow convert`: a 0.1 manifest in the words of 0.2, in one `converted_flow` event."""

from __future__ import annotations

from operable.cli.flow.events import ConvertedFlow
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(limit=None, examples=["flow convert old.json --output jsonl"])
def convert(file: str = "-") -> Iterator[ConvertedFlow]:
    """Convert a 0.1 manifest to 0.2.

    file: the manifest; - is standard input
    """
    from operable.cli.flow.input import answer, read_manifest

    yield ConvertedFlow(manifest=answer("convert", file, manifest=read_manifest(file))["manifest"])


COMMAND = convert
