"""SANDBOX.md (AIP-36): a compute environment, in a file of its own.

The same block may be inline in another manifest; the file adds `schema: sandbox/v1`, `id: @owner/slug` and `version`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from operable.manifest.blocks import SandboxBlock
from operable.manifest.kind import Kind
from operable.manifest.rules.sandbox import sandbox_file, sandbox_tolerances


def _recognise(data: Mapping[str, Any]) -> bool:
    return data.get("schema") == "sandbox/v1" or ({"provider", "config"} <= data.keys() and "bin" not in data)


KIND = Kind(
    name="sandbox",
    file_name="SANDBOX.md",
    schema="manifest-sandbox",
    model=SandboxBlock,
    summary="A compute environment: provider, mounts, network, limits.",
    recognise=_recognise,
    rules=(sandbox_file,),
    extensions=sandbox_tolerances(),
)
