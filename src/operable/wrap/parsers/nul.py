"""`nul`: records of a fixed number of fields, each ended by a NUL byte, as `git log -z --format=…%x00` prints them.

    parse:
      kind: nul
      event: commit
      fields: [hash, {name: time, type: integer}, {name: parents, type: list}, subject]

No name, message or path can contain a NUL byte, so no value can be taken for two, or for the end of a record. A field of
type `integer` is a number (null when empty), `boolean` is true when it is not empty, `list` is split at blanks; anything
else is text, with `<name>_b64` beside it if the bytes are not UTF-8.
"""

from __future__ import annotations

from operable.wrap.fields import put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from operable.wrap.upstream import Upstream


def _parse(upstream: Upstream, rules: Mapping[str, Any]) -> Iterator[Any]:
    setters = [_setter(field) for field in rules["fields"]]
    count, kind = len(setters), rules["event"]
    pending: list[bytes] = []
    for tokens in upstream.records():
        pending += tokens
        whole = len(pending) - len(pending) % count
        rows = []
        for index in range(0, whole, count):
            event: dict[str, Any] = {"type": kind}
            for setter, raw in zip(setters, pending[index : index + count], strict=True):
                setter(event, raw)
            rows.append(event)
        del pending[:whole]
        if rows:
            yield rows
    if pending:
        upstream.cut_off()


def _setter(field: Any) -> Callable[[dict[str, Any], bytes], None]:
    name, kind = (field, "text") if isinstance(field, str) else (field["name"], field.get("type", "text"))

    def text(event: dict[str, Any], raw: bytes) -> None:
        put(event, name, raw)

    def integer(event: dict[str, Any], raw: bytes) -> None:
        event[name] = int(raw) if raw else None

    def boolean(event: dict[str, Any], raw: bytes) -> None:
        event[name] = bool(raw.strip())

    def listed(event: dict[str, Any], raw: bytes) -> None:
        event[name] = raw.decode("utf-8", "replace").split()

    return {"integer": integer, "boolean": boolean, "list": listed}.get(kind, text)


PARSER = _parse
