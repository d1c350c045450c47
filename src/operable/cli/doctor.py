"""What `operable doctor` looks at: what is missing here would otherwise show in the middle of a call.

Only what the base install needs is an error. An extra that is not installed, and a state directory that cannot be used,
are warnings: most commands work without them.
"""

from __future__ import annotations

import os
import sys

from operable.kernel.extras import install_hint
from operable.tool import Check, Fail

OLDEST = (3, 11)


def python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST:
        return Check(
            ok=False, detail=f"{version} is too old", hint=f"use Python {OLDEST[0]}.{OLDEST[1]} or newer"
        )
    return Check(ok=True, detail=f"{sys.implementation.name} {version}")


def msgspec() -> Check:
    return _package("msgspec", needed_for="reading streams", severity="error", hint="pip install msgspec")


def validation() -> Check:
    return _package("jsonschema_rs", needed_for="checking events against a schema", hint=install_hint(""))


def people() -> Check:
    return _package("rich", needed_for="colour and progress bars", hint=install_hint(""))


def state() -> Check:
    """Where recorded results of `--idempotency-key` are kept, and what tools say about themselves."""
    from operable.state.paths import make_state

    try:
        place = make_state("operable")
    except Fail as problem:
        return Check(ok=False, severity="warning", detail=problem.message, hint=problem.hint)
    if not os.access(place, os.W_OK | os.X_OK):
        return Check(
            ok=False,
            severity="warning",
            detail=f"{place} cannot be written to",
            hint="set OPERABLE_HOME to a writable directory",
        )
    return Check(ok=True, detail=place)


def tracing() -> Check:
    """Where a variable names a collector, calls are spans; that needs an extra."""
    from operable.gate.spans import names_collector

    if not names_collector(os.environ):
        return Check(ok=True, detail="no variable names a collector")
    return _package(
        "opentelemetry.exporter.otlp.proto.http", needed_for="spans of calls", hint=install_hint("otel")
    )


def processes() -> Check:
    """A tool that is run is ended with us, also when we are killed; that needs a shell (see `operable.proc.tree.warden`)."""
    if not os.access("/bin/sh", os.X_OK):
        return Check(
            ok=False, severity="warning", detail="no /bin/sh: tools can go on running if Operable is killed"
        )
    if not sys.platform.startswith("linux"):
        return Check(
            ok=True, detail="process groups: a process that makes its own session can outlive its tool"
        )
    return Check(ok=True, detail="no orphans")


def _package(name: str, *, needed_for: str, severity: str = "warning", hint: str) -> Check:
    """Imports it: one that is there but does not load (the wrong machine, half an upgrade) is as good as missing."""
    try:
        module = __import__(name)  # of a dotted name, the first part
    except ImportError as problem:
        found = name.startswith(problem.name or " ")
        detail = f"not installed: no {needed_for}" if found else f"does not load: {problem}"
        return Check(ok=False, severity=severity, detail=detail, hint=hint)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Check(ok=True, detail=f"{module.__name__} {version(name)}")
    except PackageNotFoundError:
        return Check(ok=True, detail=module.__name__)
