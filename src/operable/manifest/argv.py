"""Command lines from inputs: `["log", "--max-count=${input.limit | default('20')}", "${input.path}"]`.

`${input.x}` is replaced by the value of an input, `${input.x | default('v')}` by `v` when it is absent. Each replacement
stays within its element of argv, whatever the value contains, and is not read again; there is no shell and no other syntax.
An element is a flat text: lists and mappings cannot be put in.
"""

from __future__ import annotations

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, NamedTuple
else:
    from operable.kernel.named_tuple import NamedTuple

_OPENS, _CLOSES, _INPUT = "${", "}", "input."
_DEFAULT, _DEFAULT_ENDS = "default('", "')"


class Hole(NamedTuple):
    """A place for an input: `element[start:end]`."""

    start: int
    end: int
    name: str
    default: str | None  # None: it has none


def holes(element: str) -> Iterator[Hole]:
    """The places for inputs in one element, from left to right. Read without `re`: every wrapped call comes here."""
    start = element.find(_OPENS)
    while start >= 0:
        hole = _hole(element, start)
        if hole is not None:
            yield hole
        start = element.find(_OPENS, start + 1 if hole is None else hole.end)


def _hole(element: str, start: int) -> Hole | None:
    """The place that begins here. Neither a name nor a default contains a brace, so it ends at the next one."""
    end = element.find(_CLOSES, start)
    named, bar, rest = element[start + len(_OPENS) : end].partition("|")
    named, rest = named.lstrip(), rest.strip()
    name = named[len(_INPUT) :].rstrip()
    if end < 0 or not named.startswith(_INPUT) or not _is_name(name):
        return None
    if not bar:
        return Hole(start, end + 1, name, None)
    default = rest[len(_DEFAULT) : -len(_DEFAULT_ENDS)]
    quoted = rest.startswith(_DEFAULT) and rest.endswith(_DEFAULT_ENDS) and len(rest) > len(_DEFAULT) + 1
    if not quoted or "'" in default or "{" in default:
        return None
    return Hole(start, end + 1, name, default)


def _is_name(text: str) -> bool:
    """Whether these are ASCII letters, digits, underscores and dashes that begin with a letter or an underscore."""
    plain = text.replace("_", "a")
    return plain.isascii() and plain[:1].isalpha() and plain.replace("-", "a").isalnum()


def _filled(element: str, text_of: Callable[[Hole], str]) -> str:
    pieces, done = [], 0
    for hole in holes(element):
        pieces += [element[done : hole.start], text_of(hole)]
        done = hole.end
    return "".join([*pieces, element[done:]])


def mistakes(element: str) -> Iterator[str]:
    """What is wrong with one element of a template."""
    rest = _filled(element, lambda _: "")
    if "${" in rest:
        yield f"{rest[rest.index('${') :][:60]!r} is not of the form ${{input.name}} or ${{input.name | default('text')}}"
    if "\x00" in element:
        yield "an argument cannot contain a null character"


def names(argv: Sequence[str]) -> Iterator[str]:
    """The inputs that a template uses, as often as it uses them."""
    for element in argv:
        yield from (hole.name for hole in holes(element))


def expand(argv: Sequence[str], inputs: Mapping[str, Any]) -> list[str]:
    """The command line for these inputs; an absent input without a default is a usage error."""
    return [_filled(element, lambda hole: _put_in(hole, inputs)) for element in argv]


def _put_in(hole: Hole, inputs: Mapping[str, Any]) -> str:
    name, default = hole.name, hole.default
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
