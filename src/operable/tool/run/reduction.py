"""Smaller results, as the caller asks: `--fields a,b.c` and `--compact`. Loaded only for a call that has one of them.

`--fields` keeps of each result the named members, in the order of the event, and its `type`. A dot goes into an object,
and into each object of a list. `--compact` leaves out members that are null, an empty text, an empty list or an empty
object, at any depth; false and 0 stay, and no item of a list is left out. Both are for results alone: framework events
(`aoi:…`) are what the contract needs, and stay as they are.

A name that no result of the command can have is refused before the command runs. Where the declaration does not say
which members there are, a warning at the end names what no result had.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.annotations import field_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from operable.tool.declaration import Declaration
    from operable.tool.kinds import ValueKind
    from operable.tool.records import Event
    from operable.tool.signature import Command

    Convert = Callable[[dict[str, Any]], dict[str, Any] | None]
    Tree = dict[str, Any]  # name -> the tree of its members, or None for all of it

OPTIONS = ("fields", "compact")
# As many names as one message has: a model that guessed one needs to see them all, and few events have more.
_SHOWN = 60
_JSON = (dict, list, str, int, float, bool, type(None))
_EMPTY: tuple[Any, ...] = ("", [], {}, None)
_ABSENT = object()


class Reduction:
    """What is left of each result of one run."""

    def __init__(
        self, tool: Declaration, command: Command, options: dict[str, Any], version: str | None = None
    ) -> None:
        self._compact = "compact" in options
        self._paths = _paths(options["fields"]) if "fields" in options else []
        self._tree = _tree(self._paths) if "fields" in options else None
        self._known: set[str] = set()
        self._missing: set[str] = set()  # of which only the results can say whether they exist
        self._results = 0
        events = _events(tool, command, version)
        for path in self._paths:
            found = {_member(event, path.split(".")) for event in events}
            if True in found:
                continue
            if events and None not in found and not command.relays:
                raise _unknown(command, path, events)
            self._missing.add(path)

    def after(self, convert: Convert | None) -> Convert:
        """The reduction of what `convert`, for an older schema, gives."""

        def reduced(event: dict[str, Any]) -> dict[str, Any] | None:
            converted = event if convert is None else convert(event)
            return None if converted is None else self.reduced(converted)

        return reduced

    def reduced(self, event: dict[str, Any]) -> dict[str, Any]:
        """What is left of one result. A document of another tool is whole, or it is not that document."""
        if event.get("type") == "discovery_document":
            return event
        self._results += 1
        if self._missing:
            self._known.update(list(event)[:_SHOWN])
            self._missing -= {path for path in self._missing if _present(event, path.split("."))}
        kept = event if self._tree is None else _chosen(event, self._tree)
        if self._compact:
            kept = {name: inner for name, value in kept.items() if (inner := _filled(value)) not in _EMPTY}
        return {"type": event["type"], **kept} if "type" in event else kept

    def missing(self) -> dict[str, Any] | None:
        """The warning about names that no result had; None if there is nothing to say."""
        if not (self._missing and self._results):
            return None
        names = ", ".join(path for path in self._paths if path in self._missing)
        known = ", ".join(sorted(self._known - {"type"})[:_SHOWN])
        message, hint = f"No result has {names}", f"their fields are {known}"
        return {
            "type": "aoi:warning",
            "code": "FIELDS_NOT_FOUND",
            "message": message,
            "hint": hint,
            "target": "--fields",
        }


def top_level(text: str) -> list[str]:
    """The members that a value of `--fields` begins with, in its order: the columns for people."""
    return list(dict.fromkeys(path.partition(".")[0] for path in text.replace(" ", "").split(",") if path))


def _paths(text: str) -> list[str]:
    paths = [path.strip() for path in text.split(",")]
    if not all(part for path in paths for part in path.split(".")):
        message = "--fields needs names with commas between, such as a,b.c"
        raise Fail("usage", "INVALID_VALUE", message, target="--fields")
    return list(dict.fromkeys(path for path in paths if path != "type"))


def _tree(paths: Iterable[str]) -> Tree:
    """The paths by their parts; a member that is named whole stays whole, whatever else of it is named."""
    root: Tree = {}
    for path in paths:
        *parts, last = path.split(".")
        node: Tree | None = root
        for part in parts:
            node = node.setdefault(part, {}) if node is not None else None
        if node is not None:
            node[last] = None
    return root


def _json(value: Any) -> Any:
    """A value with its parts to look at: a record, a dataclass or a time as what it is in JSON."""
    if isinstance(value, _JSON) or value.__class__ in _JSON:
        return value
    from operable.tool.encoders import plain

    return plain(value)


def _chosen(value: Any, tree: Tree) -> Any:
    """What the tree names of an object, or of each object of a list; nothing of what has no parts."""
    value = _json(value)
    if isinstance(value, dict):
        parts = ((name, _kept(inner, tree[name])) for name, inner in value.items() if name in tree)
        return {name: inner for name, inner in parts if inner is not _ABSENT}
    if isinstance(value, list | tuple):
        return [inner for item in value if (inner := _chosen(item, tree)) is not _ABSENT]
    return _ABSENT


def _kept(value: Any, tree: Tree | None) -> Any:
    return value if tree is None else _chosen(value, tree)


def _filled(value: Any) -> Any:
    """The value without its empty members."""
    value = _json(value)
    if isinstance(value, dict):
        return {name: inner for name, each in value.items() if (inner := _filled(each)) not in _EMPTY}
    if isinstance(value, list | tuple):
        return [_filled(item) for item in value]
    return value


def _present(value: Any, parts: list[str]) -> bool:
    value = _json(value)
    if isinstance(value, list | tuple):
        return any(_present(item, parts) for item in value)
    if not isinstance(value, dict) or parts[0] not in value:
        return False
    return len(parts) == 1 or _present(value[parts[0]], parts[1:])


def _events(tool: Declaration, command: Command, version: str | None) -> list[type[Event]]:
    """The classes of the results, in the version of the schema that the caller speaks."""
    return list(tool.older[version][0]) if version in tool.older else command.event_classes()


def _member(model: Any, parts: list[str]) -> bool | None:
    """Whether events of this class have a member; None where the declaration leaves it open."""
    kinds, names = field_kinds(model), model.__wire_names__
    fields = [field for field, name in names.items() if name == parts[0]]
    if not fields:
        return False
    return True if len(parts) == 1 else _inside(kinds[fields[0]], parts[1:])


def _inside(kind: ValueKind, parts: list[str]) -> bool | None:
    if kind.base == "record" and kind.model is not None:
        return _member(kind.model, parts)
    if kind.base == "array":
        return None if kind.item is None else _inside(kind.item, parts)
    if kind.base == "object" and kind.item is not None and len(parts) > 1:
        return _inside(kind.item, parts[1:]) and None  # which keys there are is not declared
    if kind.base in ("any", "object"):
        return None
    if kind.base == "union":
        found = [_inside(option, parts) for option in kind.options]
        return True if True in found else None if None in found else False
    return False


def _unknown(command: Command, path: str, events: list[type[Event]]) -> Fail:
    from operable.kernel.catalogue import nearest

    known = list(dict.fromkeys(name for event in events for name in _written(event)))
    near = nearest(path, known)
    hint = f"did you mean {near[0]}? The fields are" if near else "the fields are"
    hint = f"{hint} {', '.join(known[:_SHOWN])}"
    message = f"A result of {command.name} has no field {path[:80]!r}"
    return Fail("usage", "UNKNOWN_FIELD", message, hint=hint, target="--fields", fields=known[:_SHOWN])


def _written(model: Any, prefix: str = "", depth: int = 0) -> list[str]:
    """The names as `--fields` takes them, two levels deep."""
    found = []
    for field, kind in field_kinds(model).items():
        name = f"{prefix}{model.__wire_names__[field]}"
        found.append(name)
        inner = kind.item if kind.base == "array" and kind.item is not None else kind
        if depth == 0 and inner.base == "record" and inner.model is not None:
            found += _written(inner.model, f"{name}.", depth + 1)
    return found
