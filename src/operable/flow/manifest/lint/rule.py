"""What a manifest that validates may still get wrong: rules, one per file in `lints/`, and how they are asked.

Lint is separate from `validate`, whose results other programs compare: nothing here changes what is a manifest. Rules
look at any JSON value, valid or not, and never raise. What they say never repeats a secret that they found.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from operable.flow import lints
from operable.kernel import catalogue
from operable.kernel.redact.shapes import mask_shapes

Level = Literal["error", "warning"]


class Sighting(NamedTuple):
    """Where a rule found something, and what can be done about it."""

    path: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Lint:
    """One rule. An `error` is something that cannot work or must not be; a `warning` is perhaps meant so."""

    level: Level
    summary: str
    look: Callable[[Any], Iterator[Sighting]]


@dataclass(frozen=True, slots=True)
class FlowFinding:
    rule: str
    level: Level
    path: str
    message: str
    hint: str


def rules() -> list[str]:
    return [name for directory in lints.__path__ for name in catalogue.names(directory)]


def rule(name: str) -> Lint:
    """One rule by its name; Raises Fail if it does not exist."""
    found: Lint = catalogue.load("operable.flow.lints", name, "LINT", kind="lint rule")
    return found


def lint(manifest: Any, only: Sequence[str] = ()) -> list[FlowFinding]:
    """What the rules find, in the order of the rules' names."""
    found = []
    for name in only or rules():
        asked = rule(name)
        # Names of members are shown, and a name can be a secret as well.
        found += [FlowFinding(name, asked.level, *map(mask_shapes, seen)) for seen in asked.look(manifest)]
    return found
