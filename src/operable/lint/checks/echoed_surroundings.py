"""Arguments or environment, wholesale, in `aoi:meta`.

What it does
    Looks in the meta event of the sample call for the words of the command line (as a list or as one string) and for the
    values of environment variables.

Why is this bad?
    The caller knows what it passed. What it gets back is copied into logs together with the secrets among it, now or in
    the next release that adds an option.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from operable.lint.check import Case, LintCheck, LintFinding, Untested
from operable.lint.evidence import encode, excerpt
from operable.lint.example import CREATED, meta, summary, transcript

_MARK = ("AOI_LINT_SURROUNDINGS", "a value of the environment")
_NAMES = ("argv", "env", "environ", "environment", "raw_args", "cmdline")


def _command(case: Case) -> Iterator[LintFinding]:
    call = replace(case.sample_invocation(), env=(_MARK,))
    seen = case.observe(call)
    meta = seen.meta
    if meta is None:
        raise Untested("there is no aoi:meta; see check 13")
    words = list(call.words)
    for name, value in meta.items():
        if name == "upstream":
            continue  # what another tool said of itself
        if name in _NAMES and value:
            yield case.fail(f"aoi:meta has a field `{name}`", seen, excerpt=excerpt(encode(value)))
        elif _MARK[1] in encode(value):
            yield case.fail(f"aoi:meta.{name} contains the environment", seen, excerpt=excerpt(encode(value)))
        elif len(words) > 3 and _holds(value, words):
            yield case.fail(
                f"aoi:meta.{name} contains the command line", seen, excerpt=excerpt(encode(value))
            )


def _holds(value: Any, words: list[str]) -> bool:
    """Whether the options and operands are there as they were given."""
    given = words[1:]
    if isinstance(value, list):
        return [word for word in value if word in given][-len(given) :] == given
    if isinstance(value, str):
        return " ".join(given) in value
    return isinstance(value, dict) and any(_holds(inner, words) for inner in value.values())


CHECK = LintCheck(
    name="echoed-surroundings",
    number=None,
    title="meta echoes neither arguments nor environment",
    characteristics=("Safe",),
    level="MUST",
    section="8.3",
    passing=transcript("create a", meta("create", args_redacted=True), CREATED, summary(True, count=1)),
    failing=transcript("create a", meta("create", argv=["create", "a"]), CREATED, summary(True, count=1)),
    hint="build meta from constants; never serialise the parsed arguments or the environment",
    command=_command,
    page=__doc__,
)
