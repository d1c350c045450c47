"""Logs of containers, and what runs in them: `docker logs`, `run`, `exec` and `build`."""

from __future__ import annotations

import os

from operable.kernel.errors import Fail
from operable.kernel.redact import redact_text
from operable.tool.framework import Change
from operable.wire.lines import split_lines
from operable.wrap.runs import ran
from operable.wrap.upstream import RECORD_LIMIT, StderrChunk
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# docker itself failed; a command that ends with it looks the same.
_OWN = (125,)
_FORMAT = "--format={{json .}}"
_TIME_LENGTH = 20  # 2026-01-01T00:00:00Z, and mostly a fraction in it
# What is held while the two streams of a container are put in order.
_LARGEST = 4 * RECORD_LIMIT


# -- logs


def logs(upstream: Upstream) -> Iterator[Any]:
    """The lines of both streams by their times: docker prints each stream by itself, in any order."""
    found: list[tuple[str, str, int, str]] = []
    counts = {"stdout": 0, "stderr": 0}
    rests: dict[str, bytes] = {"stdout": b"", "stderr": b""}
    kept = 0
    for chunk in upstream.chunks(both=True):
        stream = "stderr" if chunk.__class__ is StderrChunk else "stdout"
        kept += len(chunk)
        if kept > _LARGEST:
            hint = "ask for less: --tail, --since, --until"
            message = f"the log has more than {_LARGEST} bytes"
            raise Fail("validation", "LOG_TOO_LONG", message, hint=hint, target="docker")
        lines, rest = split_lines(rests[stream] + chunk)
        rests[stream] = bytes(rest)
        for line in lines:
            counts[stream] += 1
            _put(found, stream, counts[stream], bytes(line))
    for stream, left in rests.items():
        _put(found, stream, counts[stream] + 1, left)
    found.sort(key=lambda line: line[:3])
    for time, stream, number, text in found:
        yield {"type": "line", "number": number, "stream": stream, "time": time, "text": text}


def _put(found: list[tuple[str, str, int, str]], stream: str, number: int, line: bytes) -> None:
    """A line with its time in front; what docker says itself on stderr has none, and belongs to how it ends."""
    time, _, text = line.decode("utf-8", "replace").partition(" ")
    if len(time) >= _TIME_LENGTH and time[:4].isdigit() and "T" in time:
        found.append((time, stream, number, redact_text(text.removesuffix("\r"))))


# -- commands in containers


def plan_run(upstream: Upstream) -> Iterator[Change]:
    upstream.words()
    inputs = upstream.inputs
    details = {name: inputs[name] for name in ("volume", "publish", "network") if inputs.get(name)}
    yield Change("run", inputs["image"], words=inputs["command"], **details)


def run(upstream: Upstream) -> Iterator[Any]:
    yield from ran(upstream, name=f"{upstream.inputs['image']} {_shown(upstream)}".strip(), own=_OWN)


def plan_exec(upstream: Upstream) -> Iterator[Change]:
    """The container by its whole id, which is what the second phase names; one that does not run is refused."""
    upstream.words()
    name = upstream.inputs["container"]
    try:
        found = decode(upstream.ask(["inspect", "--type=container", _FORMAT, "--", name]).strip())
    except ValueError as problem:
        raise Fail("internal", "UPSTREAM_NON_JSON", "docker inspect printed no JSON") from problem
    if not (found.get("State") or {}).get("Running"):
        raise Fail("conflict", "NOT_RUNNING", f"the container {name} does not run", target=name)
    yield Change("exec", name, id=found["Id"], words=upstream.inputs["command"])


def exec_(upstream: Upstream) -> Iterator[Any]:
    yield from ran(upstream, name=f"{upstream.inputs['container']} {_shown(upstream)}", own=_OWN)


def _shown(upstream: Upstream) -> str:
    return redact_text(" ".join(upstream.inputs["command"]))


# -- images


def plan_build(upstream: Upstream) -> Iterator[Change]:
    upstream.words()
    inputs = upstream.inputs
    folder, file = inputs["dir"], inputs.get("file")
    file = os.path.join(folder, "Dockerfile") if file is None else file
    for path in (folder, file):
        if not os.path.exists(path):
            raise Fail("not_found", "PATH_NOT_FOUND", f"there is no {path}", target=path)
    yield Change("build", os.path.abspath(folder), file=file, tags=inputs["tag"])


def build(upstream: Upstream) -> Iterator[Any]:
    """What a build prints is for people; which image it made is in a file that docker writes for us."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="operable-build-") as folder:
        path = os.path.join(folder, "image")
        first, *rest = upstream.words()
        yield from ran(upstream, [first, f"--iidfile={path}", *rest], name=f"build {upstream.inputs['dir']}")
        with open(path, encoding="ascii") as file:
            yield {"type": "image_built", "id": file.read().strip(), "tags": upstream.inputs["tag"]}
