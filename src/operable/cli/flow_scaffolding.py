"""What `operable flow init` does: plan a first manifest, and write it where nothing is yet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

from operable.cli.flow_events import ScaffoldedFlow
from operable.cli.flow_input import addressed
from operable.flow.canonical import canonical_digest
from operable.flow.manifest.scaffold import scaffold
from operable.flow.output_files import write_document
from operable.kernel.errors import Fail
from operable.tool import Change, Warn


class Begun(Change):
    """A file that is not there yet; the manifest goes along out of sight."""

    __slots__ = ("manifest",)

    def __init__(self, file: str, manifest: Any) -> None:
        super().__init__("create", file, digest=canonical_digest(manifest))
        self.manifest = manifest


def planned(file: str, tool: str | None, workflow_id: str, task_id: str) -> Iterator[Change | Warn]:
    with addressed(file):
        manifest = scaffold(tool, workflow_id, task_id)
    _require_free(file)
    if tool is not None and shutil.which(tool) is None:
        yield Warn("TOOL_NOT_FOUND", f"{tool} was not found on PATH")
    yield Begun(file, manifest)


def written(change: Change) -> ScaffoldedFlow:
    assert isinstance(change, Begun)  # noqa: S101 - this command plans no other
    _require_free(change.target)
    with addressed(change.target):
        path = write_document(change.target, change.manifest, cwd=os.getcwd())
    return ScaffoldedFlow(path=path, manifest=change.manifest)


def _require_free(file: str) -> None:
    if os.path.lexists(file):
        raise Fail(
            "conflict", "FILE_EXISTS", f"{file} is there already", target=file, hint="name another file"
        )
