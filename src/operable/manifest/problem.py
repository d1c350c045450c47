"""What is wrong with a manifest: every problem with its place, its rule and its remedy, and the one error that carries them.

`Problem.rule` is a stable code of `operable.manifest.rules`. A document is judged whole: problems are collected, never
raised one by one, and `ManifestError` is raised at the end when one of them is an error. Its `code` is the rule when a
single rule is broken (a host can then distinguish PROTOCOL_UNKNOWN from the rest), else MANIFEST_INVALID.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from operable.kernel.errors import Fail

Level = Literal["error", "warning"]

# A person reads a few; an agent reads `problems`, which has all of them.
_SHOWN = 20
# The specification makes these hard errors by name: whatever else is wrong, the caller must see them.
_FIRST = ("PROTOCOL_UNKNOWN",)


class Problem(NamedTuple):
    """One complaint about one place of one file. Line and column count from 1."""

    path: str
    line: int
    column: int
    rule: str
    message: str
    hint: str | None = None
    level: Level = "error"
    key: str = ""
    """Which field, dotted: `modes.0.id`."""

    def __str__(self) -> str:
        mark = "" if self.level == "error" else "warning: "
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.path}:{self.line}: {mark}{self.message}{hint}"

    def fields(self) -> dict[str, object]:
        """As JSON; absent fields are left out."""
        return {name: value for name, value in self._asdict().items() if value not in (None, "")}


class ManifestError(Fail):
    """A manifest that cannot be used. `problems` has all that was found, warnings included, sorted by place."""

    def __init__(self, problems: Iterable[Problem], *, category: str = "validation") -> None:
        self.problems = ordered(problems)
        errors = [problem for problem in self.problems if problem.level == "error"]
        first = errors[0]
        super().__init__(
            category,
            _code({problem.rule for problem in errors}),
            summary(errors),
            hint=first.hint,
            target=first.path,
            problems=[problem.fields() for problem in self.problems],
        )

    def __str__(self) -> str:
        return rendered(self.problems)


def ordered(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted by place, without repetitions."""
    return tuple(
        sorted(set(problems), key=lambda each: (each.path, each.line, each.column, each.key, each.rule))
    )


def rendered(problems: Iterable[Problem]) -> str:
    """For people: one `file:line: message (hint)` each."""
    return "\n".join(map(str, problems))


def summary(errors: list[Problem]) -> str:
    """One line for one problem, several for a few; the rest is counted."""
    if len(errors) == 1:
        return f"{errors[0].path}:{errors[0].line}: {errors[0].message}"
    shown = [f"{each.path}:{each.line}: {each.message}" for each in errors[:_SHOWN]]
    more = len(errors) - len(shown)
    return "\n".join([f"{len(errors)} problems:", *shown, *([f"and {more} more"] if more else [])])


def _code(rules: set[str]) -> str:
    for rule in _FIRST:
        if rule in rules:
            return rule
    return rules.pop() if len(rules) == 1 else "MANIFEST_INVALID"
