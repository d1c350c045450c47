"""Two releases of a tool: compatible, minor or breaking, and why (AOI section 5.1).

Theory of operation. Data flow in two directions, and the same change means the opposite in each. What a tool *emits* may
become narrower: consumers of the old release understand all of it. What it *accepts* may become wider: callers of the old
release are still understood. So `difference` says only wider or narrower, and `_LEVELS` turns that into a level by
direction. A named field that goes is breaking in both; a new event type is minor, because consumers ignore unknown types.

The draft demands that a breaking change of the output changes the major schema version. That rule is itself checked: a break
without it is the worst kind, because callers were not warned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from operable.kernel.data_class import dataclass
from operable.kernel.errors import EX_DATAERR, EX_OK, Fail
from operable.run.alternatives import SchemaDocument
from operable.run.contract import Contract, contract_of
from operable.run.difference import Difference, Effect, differences
from operable.run.surface import Level, surface_changes
from operable.run.validator import declared_types

_ORDER: tuple[Level, ...] = ("compatible", "minor", "breaking")
_OUTPUT: dict[Effect, Level] = {
    "wider": "breaking",
    "narrower": "minor",
    "removed": "breaking",
    "added": "minor",
    "unclear": "breaking",
    "default": "compatible",  # of an output, a default is a remark
}
_INPUT: dict[Effect, Level] = {
    "wider": "minor",
    "narrower": "breaking",
    "removed": "breaking",
    "added": "minor",
    "unclear": "breaking",
    "default": "breaking",  # the same call means something else now
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason. `where` is a command, an event type, or a path below one."""

    level: Level
    code: str
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict on two releases; the findings are sorted, worst first."""

    level: Level
    findings: tuple[Finding, ...]
    old_version: str | None = None
    new_version: str | None = None

    def exit_code(self, fail_on: Literal["minor", "breaking"] = "breaking") -> int:
        """For continuous integration: 65 when the level is `fail_on` or worse."""
        return EX_DATAERR if _ORDER.index(self.level) >= _ORDER.index(fail_on) else EX_OK


def compare_tools(old: str | Sequence[str], new: str | Sequence[str]) -> Comparison:
    """Compare two releases, each given as a JSON file, an executable, or the words that a tool is called with."""
    return compare(contract_of(old), contract_of(new))


def compare(old: Contract, new: Contract) -> Comparison:
    """Compare two contracts. What only one of them says cannot be compared, and is said to be missing."""
    if (old.schema is None or new.schema is None) and (old.capabilities is None or new.capabilities is None):
        raise Fail("validation", "NOTHING_TO_COMPARE", "the two have no schema and no capabilities in common")
    output = list(_outputs(old, new))
    findings = {*output, *_inputs(old, new), *_surfaces(old, new), *_versions(old, new, output)}
    ordered = sorted(findings, key=lambda one: (-_ORDER.index(one.level), one.where, one.code, one.message))
    level = ordered[0].level if ordered else "compatible"
    return Comparison(level, tuple(ordered), schema_version(old), schema_version(new))


def schema_version(contract: Contract) -> str | None:
    """The version of the event schema: as the manifest says, else the schema itself, else its `$id`."""
    for entry in _schemas(contract):
        if isinstance(entry.get("default"), str):
            return str(entry["default"])
    schema = contract.schema or {}
    if isinstance(schema.get("version"), str):
        return str(schema["version"])
    # https://schemas.example.com/outline/events/1.0.0/schema.json, urn:aoi:schema:x:1.0.0
    parts = str(schema.get("$id", "")).replace(":", "/").split("/")
    return next(
        (part for part in reversed(parts) if part[:1].isdigit() and part.replace(".", "").isdigit()), None
    )


def _outputs(old: Contract, new: Contract) -> Iterator[Finding]:
    if old.schema is None or new.schema is None:
        if old.schema is not None:
            yield Finding("breaking", "SCHEMA_REMOVED", "schema", "there is no event schema any more")
        return
    before, after = event_definitions(old.schema), event_definitions(new.schema)
    for name in before:
        if name not in after:
            yield Finding("breaking", "EVENT_REMOVED", name, "the event type is gone")
    for name in after:
        if name not in before:
            yield Finding("minor", "EVENT_ADDED", name, "the event type is new")
    for name in before:
        if name in after:
            found = differences(old.schema, new.schema, before[name], after[name])
            yield from _judged(found, name, _OUTPUT)


def _inputs(old: Contract, new: Contract) -> Iterator[Finding]:
    for name, before in old.inputs.items():
        after = new.inputs.get(name)
        if after is not None:
            yield from _judged(differences(before, after, before, after), f"{name} input", _INPUT)
        elif new.inputs and name.endswith("(items)"):
            yield Finding("breaking", "INPUT_REMOVED", name, "takes no structured input any more")


def _surfaces(old: Contract, new: Contract) -> Iterator[Finding]:
    if old.capabilities is not None and new.capabilities is not None:
        yield from (Finding(*change) for change in surface_changes(old.capabilities, new.capabilities))
    elif old.capabilities is not None:
        yield Finding(
            "breaking", "CAPABILITIES_REMOVED", "capabilities", "there are no capabilities any more"
        )


def _judged(found: list[Difference], where: str, levels: dict[Effect, Level]) -> Iterator[Finding]:
    for one in found:
        level = levels[one.effect]
        if level != "compatible":
            yield Finding(level, one.code, f"{where}{one.path}", one.message)


def _versions(old: Contract, new: Contract, output: list[Finding]) -> Iterator[Finding]:
    before, after = schema_version(old), schema_version(new)
    names, new_names = ({entry.get("name") for entry in _schemas(one)} for one in (old, new))
    for name in sorted(str(name) for name in names - new_names if new_names):
        yield Finding("breaking", "SCHEMA_RENAMED", name, "there is no schema of this name any more (5.2)")
    yield from _dropped_versions(old, new)
    if before is None or after is None:
        return
    was, now = _numbers(before), _numbers(after)
    breaks = any(finding.level == "breaking" for finding in output)
    if now < was:
        yield Finding(
            "breaking", "VERSION_WENT_BACK", "schema", f"the schema version was {before}, is {after}"
        )
    elif now[0] > was[0]:
        yield Finding("breaking", "MAJOR_CHANGED", "schema", f"the schema version was {before}, is {after}")
    elif breaks:
        message = (
            f"the output breaks consumers, but the schema version only went from {before} to {after} (5.1)"
        )
        yield Finding("breaking", "MAJOR_NOT_CHANGED", "schema", message)
    elif output and was == now:
        yield Finding(
            "minor", "VERSION_NOT_CHANGED", "schema", f"the schema changed, its version is still {after}"
        )


def _dropped_versions(old: Contract, new: Contract) -> Iterator[Finding]:
    offered = {entry.get("name"): entry.get("versions") for entry in _schemas(new)}
    for entry in _schemas(old):
        versions, still = entry.get("versions"), offered.get(entry.get("name"))
        if isinstance(versions, list) and isinstance(still, list):
            majors = {_numbers(str(version))[0] for version in still}
            for version in versions:
                # A later minor version serves those who ask for an earlier one.
                if version not in still and _numbers(str(version))[0] not in majors:
                    yield Finding(
                        "breaking",
                        "SCHEMA_VERSION_DROPPED",
                        "schema",
                        f"version {version} is no longer offered",
                    )


def event_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Event type -> its definition: by the `type` that definitions demand, in `$defs` or in a union at the root."""
    document = SchemaDocument(schema)
    definitions = schema.get("$defs") if isinstance(schema.get("$defs"), dict) else {}
    branches = [branch for key in ("oneOf", "anyOf") for branch in schema.get(key) or ()]
    found: dict[str, Any] = {}
    for definition in (*(definitions or {}).values(), *branches):
        resolved = document.resolve(definition)
        for name in declared_types(resolved):
            found.setdefault(name, resolved)
    return found or dict(definitions or {}) or {"*": schema}


def _schemas(contract: Contract) -> list[dict[str, Any]]:
    entries = (contract.capabilities or {}).get("schemas")
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _numbers(version: str) -> tuple[int, ...]:
    release = version.partition("+")[0].partition("-")[0]
    numbers = tuple(int(part) if part.isdecimal() else 0 for part in release.split("."))
    return (*numbers, 0, 0, 0)[:3]
