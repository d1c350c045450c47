"""What `metadata.operable` of an AGENT-CLI.md says about tools and questions, checked: rules of a session depend on it.

`tools` maps names of tools to a kind and to the members that contain their arguments; `unasking_modes` and
`unasked_kinds` say what the agent does without asking, and `own_permissions` where a user may have allowed it more.
A slip there would make a rule bind too little, so that it is an error with its line. Other
members of `metadata.operable` are for the arms, and are not judged here.
"""

from __future__ import annotations

from collections.abc import Iterator

from operable.kernel.catalogue import nearest
from operable.manifest.kind import Rule
from operable.manifest.part import ManifestPart
from operable.manifest.problem import Problem
from operable.wire.events import TOOL_KINDS

TOOL_FIELDS = ("kind", "command", "path", "address", "aliases")
ALL_KINDS = "*"


def _tools(root: ManifestPart) -> Iterator[Problem]:
    tools = root.at("metadata", "operable", "tools")
    if tools.present and not isinstance(tools.value, dict):
        yield tools.problem("TOOL_MAP_INVALID", "tools maps names of tools to what they do", _EXAMPLE)
    for _, entry in tools.entries():
        if isinstance(entry.value, str):
            yield from _kind(entry, "TOOL_MAP_INVALID")
        elif not isinstance(entry.value, dict) or not entry.value:
            yield entry.problem(
                "TOOL_MAP_INVALID", "a tool has a kind, or a table of kind and arguments", _EXAMPLE
            )
        else:
            yield from _fields(entry)


def _fields(entry: ManifestPart) -> Iterator[Problem]:
    for name, part in entry.entries():
        if name not in TOOL_FIELDS:
            near = nearest(name, list(TOOL_FIELDS), limit=1)
            hint = f"did you mean {near[0]}?" if near else f"fields are {', '.join(TOOL_FIELDS)}"
            yield part.problem("TOOL_MAP_INVALID", f"{name!r} is not a field of a tool", hint)
        elif name == "kind":
            yield from _kind(part, "TOOL_MAP_INVALID")
        elif name == "aliases":
            if not isinstance(part.value, list) or not all(item.text for item in part.items()):
                yield part.problem("TOOL_MAP_INVALID", "aliases is a list of further names of the tool")
        elif not part.text or not all(part.text.split(".")):
            message = f"{name} is the name of a member of the arguments, such as path or arguments.path"
            yield part.problem("TOOL_MAP_INVALID", message)


def _kind(part: ManifestPart, rule: str) -> Iterator[Problem]:
    if part.value not in TOOL_KINDS:
        yield part.problem(rule, f"there is no kind {part.value!r}", f"kinds are {' '.join(TOOL_KINDS)}")


def _unasked(root: ManifestPart) -> Iterator[Problem]:
    operable = root.at("metadata", "operable")
    kinds, modes, asks = operable.at("unasked_kinds"), operable.at("unasking_modes"), operable.at("asks")
    if asks.present and asks.value != "never":
        yield asks.problem("UNASKED_INVALID", "asks can only be `never`")
    if kinds.present and not isinstance(kinds.value, list):
        yield kinds.problem(
            "UNASKED_INVALID", "unasked_kinds is a list of kinds", "unasked_kinds: [read, search]"
        )
    for item in kinds.items():
        yield from _kind(item, "UNASKED_INVALID")
    if modes.present and not isinstance(modes.value, (list, dict)):
        hint = "unasking_modes: {accept-edits: [edit], yolo: '*'}"
        yield modes.problem(
            "UNASKED_INVALID", "unasking_modes is a list of modes, or a table of modes and kinds", hint
        )
    declared = {mode.at("id").text for mode in root.at("modes").items()} | {None, "default"}
    for item in modes.items():
        yield from _mode(item, item.value, declared)
    for name, part in modes.entries():
        yield from _mode(part, name, declared)
        if part.value != ALL_KINDS and not isinstance(part.value, list):
            yield part.problem("UNASKED_INVALID", f"{name} has a list of kinds, or '*' for all", "[edit]")
        for item in part.items():
            yield from _kind(item, "UNASKED_INVALID")


def _mode(part: ManifestPart, name: object, declared: set[str | None]) -> Iterator[Problem]:
    if not (name is None or isinstance(name, str)) or name not in declared:
        yield part.problem("UNASKED_INVALID", f"there is no mode {name!r}", "modes are declared in `modes`")


_EXAMPLE = "shell: {kind: execute, command: command}"


def _own_permissions(root: ManifestPart) -> Iterator[Problem]:
    files = root.at("metadata", "operable", "own_permissions")
    hint = "own_permissions: {~/.agent/settings.json: [permissions.allow]}"
    if files.present and not isinstance(files.value, dict):
        yield files.problem("OWN_PERMISSIONS_INVALID", "own_permissions maps files to members in them", hint)
    for _, entry in files.entries():
        names = entry.value if isinstance(entry.value, list) else []
        if not names or not all(isinstance(name, str) and all(name.split(".")) for name in names):
            yield entry.problem("OWN_PERMISSIONS_INVALID", "a file has a list of names of members", hint)


GOVERNANCE_RULES: tuple[Rule, ...] = (_tools, _unasked, _own_permissions)
