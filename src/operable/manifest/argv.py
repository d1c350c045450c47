"""Command lines from inputs: `["log", "--max-count=${input.limit | default('20')}", "${input.path}"]`.

`${input.x}` is replaced by the value of an input, `${input.x | default('v')}` by `v` when it is absent. Each replacement
stays within its element of argv, whatever the value contains, and is not read again; there is no shell and no other syntax.
An element is a flat text: lists and mappings cannot be put in.
"""

from __future__ import annotations

import re

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

_HOLE = re.compile(
    r"\$\{\s*input\.(?P<name>[A-Za-z_][A-Za-z0-9_-]*)\s*(?:\|\s*default\('(?P<default>[^'{}]*)'\)\s*)?\}"
)


def mistakes(element: str) -> Iterator[str]:
    """What is wrong with one element of a template."""
    rest = _HOLE.sub("", element)
    if "${" in rest:
        yield f"{rest[rest.index('${') :][:60]!r} is not of the form ${{input.name}} or ${{input.name | default('text')}}"
    if "\x00" in element:
        yield "an argument cannot contain a null character"


def names(argv: Sequence[str]) -> Iterator[str]:
    """The inputs that a template uses, as often as it uses them."""
    for element in argv:
        yield from (found["name"] for found in _HOLE.finditer(element))


def expand(argv: Sequence[str], inputs: Mapping[str, Any]) -> list[str]:
    """The command line for these inputs; an absent input without a default is a usage error."""
    return [_HOLE.sub(lambda found: _put_in(found, inputs), element) for element in argv]


def _put_in(found: re.Match[str], inputs: Mapping[str, Any]) -> str:
    name, default = found["name"], found["default"]
    value = inputs.get(name)
    if value is None:
        if default is None:
            raise Fail("usage", "INPUT_MISSING", f"the input {name!r} is needed", target=name)
        return default
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise Fail("usage", "INPUT_NOT_FLAT", f"the input {name!r} cannot be one argument", target=name)
    text = str(value)
    if "\x00" in text:
        raise Fail("usage", "INPUT_NULL", f"the input {name!r} contains a null character", target=name)
    return text
