"""Reading manifests for `operable flow`: a file or standard input, bounded, as JavaScript reads JSON."""

from __future__ import annotations

import os
import shlex
from typing import Any

from operable.flow.canonical import parse
from operable.flow.contracts import FlowError
from operable.kernel.errors import Fail
from operable.tool.descriptors import complain, input_descriptor

_LIMIT = 16 * 1024 * 1024


def read_manifest(source: str) -> Any:
    """The JSON in this file; `-` is standard input."""
    shown = "standard input" if source == "-" else source
    try:
        if source == "-":
            descriptor = input_descriptor()
            if os.isatty(descriptor):
                complain("reading a manifest from the terminal; Ctrl-D ends it")
            with open(descriptor, "rb", closefd=False) as file:
                data = file.read(_LIMIT + 1)
        else:
            with open(os.path.expanduser(source), "rb") as file:
                data = file.read(_LIMIT + 1)
    except OSError as problem:
        category = "not_found" if isinstance(problem, FileNotFoundError) else "io"
        raise Fail(
            category, "MANIFEST_UNREADABLE", f"{shown} cannot be read: {problem.strerror}", target=source
        ) from problem
    if len(data) > _LIMIT:
        raise Fail(
            "validation", "MANIFEST_TOO_LARGE", f"{shown} is larger than {_LIMIT} bytes", target=source
        )
    try:
        return parse(data.decode("utf-8"))
    except ValueError as problem:
        raise Fail(
            "validation",
            "MANIFEST_NOT_JSON",
            f"{shown} is {f'not JSON: {str(problem)[:200]}' if data.strip() else 'empty'}",
            target=source,
            hint="name the file of the manifest, or send it there" if source == "-" else None,
        ) from problem


def as_fail(problem: FlowError, source: str) -> Fail:
    """A failure of a flow as one of ours; what the manifest's validator found goes along."""
    validation = problem.details.get("validation")
    if not validation:
        refused = problem.code == "invalid_argument"
        return Fail(
            "usage" if refused else "validation",
            "FLOW_ARGUMENT_INVALID" if refused else "FLOW_FAILED",
            problem.message,
            target=source,
            flow_code=problem.code,
        )
    first = validation["errors"][0]
    return Fail(
        "validation",
        "MANIFEST_INVALID",
        # The name comes last: after "token.json: " or "authorization.json: " everything would look like a secret.
        f"{first['path']} {first['message']} (in {source})",
        target=source,
        hint=shlex.join(["operable", "flow", "validate", source]),
        problems=validation["errors"],
    )
