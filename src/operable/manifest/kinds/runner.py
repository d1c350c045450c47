"""RUNNER.md (AIP-17): the process boundary of a program, in a file of its own.

The older `runtime` block (`mode`, `env`, `network`, `resources`) is read with a warning: `mode` is the engine, `resources`
are the limits; `env` and `network` have moved out of the runner and are kept as extras for a person to move.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from operable.manifest.blocks import Runner
from operable.manifest.kind import Kind
from operable.manifest.rules.runner import ENGINES, migrated, runner_rules


class RunnerFile(Runner, frozen=True, kw_only=True):
    """A runner block with the identity that a file has."""

    name: str | None = None
    id: str | None = None
    description: str = ""
    version: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    def block(self) -> Runner:
        """What another manifest gets from referring to this file."""
        return Runner(engine=self.engine, image=self.image, needs=self.needs, limits=self.limits)


def _recognise(data: Mapping[str, Any]) -> bool:
    return data.get("engine") in ENGINES and "bin" not in data


KIND = Kind(
    name="runner",
    file_name="RUNNER.md",
    schema="manifest-runner",
    model=RunnerFile,
    summary="A process boundary: engine, image, needs, limits.",
    recognise=_recognise,
    rules=(runner_rules,),
    normalise=migrated,
)
