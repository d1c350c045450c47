"""`operable flow init`: begin a manifest, with one workflow and one shell task that runs as it is.

An existing file is never overwritten. What is missing on PATH is warned about: the manifest may be for another machine.
"""

from __future__ import annotations

import os

from operable.cli.flow.command import FlowCall, flow_command
from operable.cli.flow.events import ScaffoldedFlow
from operable.kernel.errors import Fail
from operable.tool import Change, Warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@flow_command(
    "init",
    mutates=True,
    columns=("path",),
    examples=["flow init", "flow init nightly.json --tool make --workflow-id nightly --dry-run"],
)
def init(call: FlowCall) -> Iterator[Change[dict[str, Any]] | Warn]:
    """Begin a manifest."""
    import shutil

    from operable.cli.flow.input import addressed
    from operable.flow.canonical import canonical_digest
    from operable.flow.manifest.scaffold import scaffold

    file, tool = call["output"], call["tool"]
    with addressed(file):
        manifest = scaffold(tool, call["workflowId"], call["taskId"])
    _require_free(file)
    if tool is not None and shutil.which(tool) is None:
        yield Warn("TOOL_NOT_FOUND", f"{tool} was not found on PATH")
    yield Change("create", file, digest=canonical_digest(manifest)).carry(manifest)


@init.apply
def write(changes: list[Change[dict[str, Any]]]) -> Iterator[ScaffoldedFlow]:
    for change in changes:
        yield _written(change.target, change.payload)


def _written(file: str, manifest: dict[str, Any]) -> ScaffoldedFlow:
    from operable.cli.flow.input import addressed
    from operable.flow.output_files import write_document

    _require_free(file)
    with addressed(file):
        return ScaffoldedFlow(path=write_document(file, manifest, cwd=os.getcwd()), manifest=manifest)


def _require_free(file: str) -> None:
    if os.path.lexists(file):
        raise Fail("conflict", "FILE_EXISTS", f"{file} already exists", target=file, hint="name another file")


COMMAND = init
