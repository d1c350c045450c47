"""A client in Python, from what a tool declares of itself: a class with a method for each command, and its events as types.

The module that is written needs `operable.run` and nothing else. What a tool says of itself is text: names become
identifiers, and everything else goes through `repr`, so that no declaration can write code.
"""

from __future__ import annotations

import os
from typing import Any

from operable.cli.starter.python_types import Names, TypeWriter, camel, documented, snake
from operable.kernel.errors import Fail
from operable.run.contract import Contract

# What every tool has to describe itself. A program that has a client does not ask for it.
_DISCOVERY = frozenset(("schema", "input-schema", "capabilities", "completion", "doctor"))
# How the stream is written is settled between the client and the tool. Results that are cut are not what their types say.
_OURS = frozenset(
    "output format no-color debug schema-version accept-schema input-json input-jsonl fail-fast max-lines max-bytes fields"
    " compact".split()
)
_FRAMEWORK = "aoi:"
_WIDTH = 110
_TEMPLATE = os.path.join(os.path.dirname(__file__), "client.py.in")
# Names of the module and of the language that nothing of the tool may take.
_TAKEN = tuple(
    (
        "Answer Any CallOptions Generic Iterable Iterator Literal Mapping NotRequired Plan Result Sequence TypeVar TypedDict"
        " Unpack Verdict"
    ).split()
)


def client_text(call: str, words: list[str], contract: Contract) -> tuple[str, str]:
    """The name of the module, and its text."""
    capabilities = contract.capabilities or {}
    told = [entry for entry in capabilities.get("commands") or () if isinstance(entry, dict)]
    entries = [
        entry for entry in told if isinstance(entry.get("name"), str) and entry["name"] not in _DISCOVERY
    ]
    tool = str(capabilities.get("tool") or "")
    if not entries or not snake(tool).isidentifier():
        raise Fail("validation", "NO_CAPABILITIES", f"{call} does not say which commands it has", target=call)
    names = Names(_TAKEN)
    client = names.take(camel(tool))
    writer = TypeWriter(names, contract.schema or {})
    methods = Names(("str", "int", "float", "bool", "isinstance", "self", "cls"))
    bodies = [_method(methods, writer, entry, contract) for entry in entries]
    with open(_TEMPLATE, encoding="utf-8") as file:
        text = file.read()
    parts = {
        "HEAD": documented(f"A client of {tool} {capabilities.get('tool_version') or ''}".strip() + ".", ""),
        "EVENTS": "\n\n".join(writer.classes),
        "CLIENT": client,
        "ABOUT": documented(str(capabilities.get("summary") or f"The commands of {tool}."), "    "),
        "COMMAND": repr(tuple(words)),
        "OUTPUT": repr(_machine_flag(capabilities)),
        "METHODS": "\n".join(bodies),
    }
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part, 1)
    return f"{snake(tool)}_client", text.rstrip() + "\n"


def _machine_flag(capabilities: dict[str, Any]) -> str:
    flags = capabilities.get("machine_flags")
    return str(flags[0]) if isinstance(flags, list) and flags else "--output"


class _Parameter:
    """One property of the input of a command, as a parameter of a method."""

    def __init__(
        self, name: str, schema: dict[str, Any], *, required: bool, taken: Names, types: TypeWriter
    ) -> None:
        self.name = taken.take(snake(name))
        written = str(schema.get("x-cli") or f"--{name}")
        self.flag = written if written.startswith("-") else ""
        self.required = required
        self.many = not self.flag and schema.get("type") == "array"
        self.hint = types.parameter(schema["items"] if self.many else schema, self.name)
        self.negated = schema.get("type") == "boolean" and schema.get("default") is True
        self.text = " ".join(str(schema.get("description") or "").split())

    def declared(self) -> str:
        if self.many:
            return f"*{self.name}: {self.hint}"
        return f"{self.name}: {self.hint}" if self.required else f"{self.name}: {_or_none(self.hint)} = None"


def _or_none(hint: str) -> str:
    return hint if hint == "Any" or hint.endswith("| None") else f"{hint} | None"


def _method(names: Names, types: TypeWriter, entry: dict[str, Any], contract: Contract) -> str:
    name = str(entry["name"])
    taken = Names(("self", "given"))
    parameters = _parameters(contract.inputs.get(name) or {}, taken, types)
    operands = [each for each in parameters if not each.flag]
    options = [each for each in parameters if each.flag]
    kinds = [kind for kind in entry.get("event_types") or () if not str(kind).startswith(_FRAMEWORK)]
    gives = " | ".join(types.event(str(kind)) for kind in kinds) or "Mapping[str, Any]"
    items = contract.inputs.get(f"{name} (items)")
    stdin = taken.take("items") if items is not None else ""
    declared = ["self", *(each.declared() for each in operands if not each.many)]
    declared += [each.declared() for each in operands if each.many] or (["*"] if options or stdin else [])
    if items is not None:
        declared.append(f"{stdin}: Iterable[{types.item(items, name)}] = ()")
    declared += [each.declared() for each in sorted(options, key=lambda each: not each.required)]
    unbounded = entry.get("unbounded") is True
    given = "".join(f"\n            {each.flag!r}: {each.name}," for each in options)
    spread = ", ".join(f"*{each.name}" if each.many else each.name for each in operands)
    call = "_follow" if unbounded else "_ask"
    negated = [each.flag for each in options if each.negated]
    extra = (f", items={stdin}" if stdin else "") + (f", negated={negated!r}" if negated else "")
    gives = f"{'Iterator' if unbounded else 'Answer'}[{gives}]"
    return (
        f"{_head(names.take(snake(name)), declared, gives)}\n"
        f"{documented(_description(entry, parameters), '        ')}\n"
        f"        given: Mapping[str, Any] = {{{given}{chr(10) + '        ' if given else ''}}}\n"
        f"        return self.{call}({name.split()!r}, [{spread}], given{extra})\n"
    )


def _head(name: str, declared: list[str], gives: str) -> str:
    line = f"    def {name}({', '.join(declared)}) -> {gives}:"
    if len(line) <= _WIDTH:
        return line
    return "\n".join([f"    def {name}(", *(f"        {each}," for each in declared), f"    ) -> {gives}:"])


def _parameters(schema: dict[str, Any], taken: Names, types: TypeWriter) -> list[_Parameter]:
    required = schema.get("required")
    properties = schema.get("properties")
    return [
        _Parameter(
            name,
            each if isinstance(each, dict) else {},
            required=isinstance(required, list) and name in required,
            taken=taken,
            types=types,
        )
        for name, each in (properties.items() if isinstance(properties, dict) else ())
        if name not in _OURS
    ]


def _description(entry: dict[str, Any], parameters: list[_Parameter]) -> str:
    lines = [" ".join(str(entry.get("summary") or entry["name"]).split())]
    if entry.get("destructive") is True:
        lines.append("Destructive: without confirm=True, or the digest of a dry run, nothing happens.")
    lines += [f"{each.name}: {each.text}" for each in parameters if each.text]
    return "\n".join([lines[0], *(["", *lines[1:]] if lines[1:] else [])])
