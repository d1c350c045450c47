"""What crosses the fields of an AIP-17 runner block, and how its older form, `runtime`, is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from operable.manifest.part import ManifestPart, block, embedded, one_form
from operable.manifest.problem import Problem

ENGINES = ("subprocess", "sandbox", "in-process")
_MOVED = {"env": "the manifest's secrets", "network": "the sandbox"}


def runner_rules(part: ManifestPart) -> Iterator[Problem]:
    """Of a `runner` field, or of a whole RUNNER.md."""
    yield from one_form(part)
    runner = block(part)
    if not isinstance(runner.value, dict):
        return
    engine = runner.at("engine").text or "subprocess"
    image = runner.at("image")
    if image.present and engine != "sandbox":
        message = f"image has no meaning for the engine {engine}"
        yield image.problem("RUNNER_IMAGE", message, "take it out, or write engine: sandbox", "warning")
    if engine == "in-process":
        yield runner.at("engine").problem(
            "RUNNER_IN_PROCESS",
            "in-process is for trusted origins; from others it runs as a subprocess, marked as downgraded",
            level="warning",
        )
    yield from _legacy(runner.at("runtime"))


def _legacy(runtime: ManifestPart) -> Iterator[Problem]:
    if not runtime.present:
        return
    yield runtime.problem(
        "RUNNER_LEGACY",
        "the block runtime is an older form of the runner",
        "write engine for mode and limits for resources, beside it",
        "warning",
    )
    for key, place in _MOVED.items():
        if runtime.at(key).present:
            message = f"{key} does not belong to the runner any more and is not used"
            yield runtime.at(key).problem("RUNNER_LEGACY", message, f"move it to {place}", "warning")


def migrated(data: dict[str, Any]) -> dict[str, Any]:
    """A runner block with what its older form said, where the newer one says nothing."""
    runtime = data.get("runtime")
    plain = {key: value for key, value in data.items() if key != "runtime"}
    if isinstance(runtime, dict):
        for old, new in (("mode", "engine"), ("resources", "limits")):
            if old in runtime:
                plain.setdefault(new, runtime[old])
    return plain


def embedded_runner(data: dict[str, Any]) -> dict[str, Any]:
    """A manifest whose `runner` is the block in its newer form, or the reference as text."""
    plain = embedded(data, "runner")
    if isinstance(plain.get("runner"), dict):
        plain["runner"] = migrated(plain["runner"])
    return plain
