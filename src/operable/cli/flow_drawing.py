"""What `operable flow graph` does: a manifest's file to the text of a drawing."""

from __future__ import annotations

from operable.cli.flow_input import addressed, read_manifest
from operable.flow.graph.mermaid import mermaid
from operable.flow.graph.model import graph
from operable.flow.graph.svg import svg
from operable.flow.manifest.schedules import moment
from operable.kernel.errors import Fail

_RUNS = 20  # more would make boxes that nobody reads


def drawing(file: str, language: str, runs: int, after: str | None) -> str:
    if not 0 <= runs <= _RUNS:
        raise Fail("usage", "RUNS_OUT_OF_RANGE", f"--runs is between 0 and {_RUNS}", target=str(runs))
    try:
        start = moment(after)
    except ValueError as problem:
        raise Fail(
            "usage", "TIME_INVALID", f"{after} is no time", hint="2026-11-15T09:00", target=after
        ) from problem
    with addressed(file):
        workflows = graph(read_manifest(file), start, runs)
    return svg(workflows) if language == "svg" else mermaid(workflows)
