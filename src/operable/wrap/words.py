"""The command line of a wrapped program, from the template of its TOOL.md and the inputs of a call. No shell, ever.

`${input.x}` stays within its element of argv (`operable.manifest.argv`); an element that is nothing else takes a list as
several elements, and vanishes for an empty one. The elements of `options` for an input are there only when it was given;
they go behind the fixed words, before the first element that takes an input or ends the options.

A text that begins with a dash must not become an option of the program: where nothing in the template keeps it from being
read as one (`--`, `--end-of-options`, or something before it in its element), it is refused.
"""

from __future__ import annotations

from operable.kernel.errors import Fail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

_ENDS_OPTIONS = ("--", "--end-of-options")


def expand(argv: Sequence[str], options: Mapping[str, Sequence[str]], inputs: Mapping[str, Any]) -> list[str]:
    """The words after the program for these inputs."""
    place = next(
        (index for index, element in enumerate(argv) if element in _ENDS_OPTIONS or "${input." in element),
        len(argv),
    )
    template = [
        *((element, inputs) for element in argv[:place]),
        *_given(options, inputs),
        *((element, inputs) for element in argv[place:]),
    ]
    found: list[str] = []
    guarded = False
    for element, values in template:
        guarded = guarded or element in _ENDS_OPTIONS
        for word in _element(element, values):
            if word.startswith("-") and not guarded and _begins_with_input(element) and not _is_number(word):
                raise Fail(
                    "validation",
                    "INPUT_LOOKS_LIKE_OPTION",
                    "an input begins with a dash and would be an option of the program",
                    hint="for a file, write ./ before it",
                    target=word[:80],
                )
            found.append(word)
    return found


def _given(
    options: Mapping[str, Sequence[str]], inputs: Mapping[str, Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The elements of the options whose input was given; of one that takes a list, once for each item."""
    for name, elements in options.items():
        value = inputs.get(name)
        if value is None or value is False or value == []:
            continue
        for one in value if isinstance(value, list) else [value]:
            for element in elements:
                yield element, {**inputs, name: one}


def _element(element: str, inputs: Mapping[str, Any]) -> list[str]:
    if "${" not in element:
        return [element]

    from operable.manifest.argv import expand as expand_flat
    from operable.manifest.argv import holes

    first = next(holes(element), None)
    if first is None or (first.start, first.end) != (0, len(element)) or first.default is not None:
        return expand_flat([element], inputs)
    value = inputs.get(first.name)
    if isinstance(value, list):
        return [word for one in value for word in expand_flat([element], {first.name: one})]
    return [] if value is None else expand_flat([element], inputs)


def _begins_with_input(element: str) -> bool:
    return element.startswith("${") and element[2:].lstrip().startswith("input.")


def _is_number(word: str) -> bool:
    return word[1:].isdigit()
