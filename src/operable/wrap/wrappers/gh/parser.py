"""What gh prints with `--json` and `api`. GitHub's names become those of every event: `createdAt` is `created_at`."""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.framework import Change
from operable.wrap.parsers.json import PARSER
from operable.wrap.values import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from operable.wrap.upstream import Upstream

# GitHub finds no more than this at once, and gh asks for no more than the option says.
_MOST = 1000
_LISTS = ("issue list", "pr list", "run list")


def listed(upstream: Upstream) -> Iterator[Any]:
    kind = upstream.command.events[0]["properties"]["type"]["const"]
    words = upstream.words()
    if upstream.inputs.get("body"):
        words = [f"{word},body" if word.startswith("--json=") else word for word in words]
    if upstream.command.name in _LISTS:
        # A page that goes on somewhere has to find its place first.
        wanted = _MOST if upstream.after is not None or upstream.fetch is None else min(upstream.fetch, _MOST)
        words.append(f"--limit={wanted}")
    found = _document(upstream, words)
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, dict):
            yield {"type": kind, **{_snake(name): value for name, value in one.items()}}


def _document(upstream: Upstream, words: list[str]) -> Any:
    """The one document that gh prints; None where it prints none."""
    raw = b"".join(upstream.chunks(words))
    if not raw.strip():
        if upstream.end is not None and upstream.end.status == 0:
            upstream.cut_off()  # `--json` always prints something
        return None
    try:
        return decode(raw)
    except ValueError:
        upstream.foreign += 1
        upstream.cut_off()
        return None


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def api(upstream: Upstream) -> Iterator[Any]:
    """The elements of the answer. The last one is held back until gh has said whether it is an answer at all."""
    held: list[Any] = []
    for row in PARSER(upstream, {"kind": "json", "as": "value"}):
        yield from held
        held = [row]
    if not _is_error(upstream, held):
        yield from held


def _is_error(upstream: Upstream, held: list[Any]) -> bool:
    """Whether the last value is what GitHub says of an error: gh prints that too, and ends with another status."""
    failed = upstream.end is not None and upstream.end.status != 0
    last = held[0].get("value") if held and held[0].__class__ is dict else None
    return failed and isinstance(last, dict) and "message" in last


def body(inputs: dict[str, Any]) -> bytes:
    return str(inputs["body"]).encode("utf-8", "surrogateescape")


def plan_send(upstream: Upstream) -> Iterator[Change]:
    inputs = upstream.inputs
    upstream.words()  # inputs that cannot be put on a command line are refused before anything is planned
    if inputs["body"]:
        try:
            decode(body(inputs))
        except ValueError:
            raise Fail("validation", "BODY_INVALID", "the body is not JSON", target="body") from None
    yield Change("send", inputs["endpoint"], method=inputs["method"], bytes=len(body(inputs)))


def sent(upstream: Upstream) -> Iterator[Any]:
    inputs = upstream.inputs
    raw = b"".join(upstream.chunks())
    if upstream.end is None or upstream.end.status != 0:
        return  # what it printed is what GitHub says of the error; how it ended says which
    try:
        value = decode(raw) if raw.strip() else None
    except ValueError:
        yield upstream.foreign_line(raw)
        value = None
    yield {"type": "answer", "method": inputs["method"], "path": inputs["endpoint"], "value": value}
