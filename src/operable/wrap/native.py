"""The options of the program itself, where a caller uses them out of habit: `rg -i`, `ls -la`, `git commit -m`.

A TOOL.md says what each means here (`metadata.operable.native`, with those of CLI.md for all commands):

    native:
      -i: --ignore-case             # an option of ours, with its value if it takes one
      -n: --limit                   # a standard one
      -NUMBER: --limit              # `-5`
      -m: operand                   # its value is the first operand
      -l: null                      # it is about the look of the output: every event has that already
      -x: --max-failures=1          # an option of ours with this value
      -r: {instead: '...'}          # it is refused, with what to write instead

Short ones may be written together (`-rn`), and with their value (`-C3`), as the program allows. An option that is not in
the table is passed on as it is, and the SDK refuses it: an option never means something else than for the program.
"""

from __future__ import annotations

from operable.kernel.errors import Fail
from operable.tool.arguments import DIGEST_PREFIX, option_names
from operable.tool.kinds import FLAG, STANDARD
from operable.wrap.places import invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from operable.tool.signature import Command

NUMBER = "-NUMBER"
OPERAND = "operand"
_INSTEAD = "instead"


def read_native(path: str, given: Any, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The table of one command; Fail WRAPPER_INVALID if it names what the command does not have."""
    if not isinstance(given, dict):
        raise invalid(path, "metadata.operable.native is a mapping from options of the program")
    known = {name.replace("_", "-") for name in inputs} | set(STANDARD)
    for name, meaning in given.items():
        if not isinstance(name, str) or not name.startswith("-") or name == "--":
            raise invalid(path, f"metadata.operable.native: {name!r} is not an option of a program")
        if isinstance(meaning, dict):
            good = meaning.keys() == {_INSTEAD} and isinstance(meaning[_INSTEAD], str)
        elif isinstance(meaning, str):
            flag = meaning[2:].partition("=")[0]
            good = meaning == OPERAND or (meaning[:2] == "--" and flag in known)
        else:
            good = meaning is None
        if not good:
            raise invalid(
                path, f"metadata.operable.native: {name} is an option (--…), operand, null, or instead: TEXT"
            )
    return dict(given)


class NativeOptions:
    """The table of one command, and the words of one call."""

    def __init__(self, command: Command, table: Mapping[str, Any]) -> None:
        self._table = table
        self._own = option_names(command)
        self._program = ""
        self._given: set[str] = set()
        self._operands: list[str] = []

    def translate(self, words: Sequence[str], program: str) -> list[str]:
        """The words with our options in place of those of the program; Fail for one that is to be written otherwise."""
        self._program = program
        rest = list(words[::-1])
        options: list[str] = []
        operands: list[str] = []
        while rest:
            word = rest.pop()
            if word == "--":
                operands += rest[::-1]
                break
            if word.startswith("-") and word != "-":
                options += self._option(word, rest)
            else:
                operands.append(word)
        return [*options, "--", *self._operands, *operands] if self._operands or operands else options

    def expects_value(self, word: str) -> bool:
        """Whether the word behind this option is its value."""
        return self._is_valued(word) if word in self._table else self._takes_value(word[2:])

    def _option(self, word: str, rest: list[str]) -> list[str]:
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            if name in self._table:
                return self._meant(name, value if equals else None, rest)
            digest = name == "--confirm" and rest and rest[-1].startswith(DIGEST_PREFIX)
            if not equals and rest and (digest or self._takes_value(name[2:])):
                return [word, rest.pop()]
            return [word]
        if name in self._table:
            return self._meant(name, value if equals else None, rest)
        if word[1:].isdigit() and NUMBER in self._table:
            return self._meant(NUMBER, word[1:], rest)
        return self._bundle(word, rest)

    def _bundle(self, word: str, rest: list[str]) -> list[str]:
        """`-rn`, `-C3`, `-am TEXT`: letter by letter; what is not one is left to the SDK, which refuses it."""
        found: list[str] = []
        letters = word[1:]
        for place, letter in enumerate(letters):
            name, behind = f"-{letter}", letters[place + 1 :]
            if name not in self._table:
                if found or place:
                    raise self._refusal(name, f"{self._program} takes it; see --help for what there is here")
                return [word]
            if behind and self._is_valued(name):
                return [*found, *self._meant(name, behind.removeprefix("="), rest)]
            found += self._meant(name, None, rest)
        return found

    def _is_valued(self, name: str) -> bool:
        meaning = self._table[name]
        return meaning == OPERAND or (isinstance(meaning, str) and self._takes_value(meaning[2:]))

    def _meant(self, name: str, value: str | None, rest: list[str]) -> list[str]:
        meaning = self._table[name]
        if meaning is None:
            return []
        if isinstance(meaning, dict):
            raise self._refusal(name, meaning[_INSTEAD])
        if not self._is_valued(name):
            if meaning in self._given and value is None:
                return []  # `-a -A`: once is enough
            self._given.add(meaning)
            return [meaning if value is None else f"{meaning}={value}"]
        if value is None:
            if not rest:
                raise Fail("usage", "MISSING_VALUE", f"{name} needs a value", target=name)
            value = rest.pop()
        if meaning == OPERAND:
            self._operands.append(value)
            return []
        return [f"{meaning}={value}"]

    def _takes_value(self, flag: str) -> bool:
        param = self._own.get(flag)
        if param is None:
            form = STANDARD.get(flag)
            return form is not None and form is not FLAG and flag != "confirm"
        return param.kind.base != "boolean" and not param.counted

    def _refusal(self, name: str, hint: str) -> Fail:
        shown = "-5" if name == NUMBER else name
        message = f"{shown} of {self._program} does not mean the same here"
        return Fail("usage", "NATIVE_OPTION", message, hint=hint, target=shown)
