"""What a program runs of its own arguments: other commands, scripts, or what the line does not show.

The readers of single programs (`operable.gate.policy.shell.known_programs`, `…shell_builtins`) return it.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from operable.gate.policy.shell.grammar import ShellWord
from operable.kernel.data_class import dataclass

Words = Sequence[ShellWord]


@dataclass(slots=True)
class ProgramUse:
    """What a command runs beside its own program."""

    is_opaque: bool = False
    is_unknown: bool = False  # each word behind the program may be a program or a script
    commands: Sequence[Words] = ()
    scripts: list[str] = field(default_factory=list)
    values: Words = ()  # variables that it sets for other programs, which may run them


NOTHING: Final = ProgramUse()
ANYTHING: Final = ProgramUse(is_opaque=True)


def opaque_if(condition: bool) -> ProgramUse:
    return ANYTHING if condition else NOTHING


def has_option_by_chance(words: Words) -> bool:
    """Whether a variable or a substitution before `--` may become an option that the line does not show."""
    for word in words:
        if word.raw == "--":
            return False
        if word.may_be_option:
            return True
    return False


def texts_of(words: Words) -> list[str | None]:
    return [word.text for word in words]
