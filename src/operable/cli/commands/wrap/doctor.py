"""`operable wrap doctor`: whether each wrapped program is there, in the range of versions that its wrapper was made for, and
which characteristics the linter found in the wrapper.

For one tool, or for all of them. A program that is not installed is a warning when all are asked for: no machine has
them all.
"""

from __future__ import annotations

from operable.tool import Check, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(has_results=False, limit=None, examples=["wrap doctor git", "wrap doctor --output jsonl"])
def doctor(tool: str | None = None) -> Iterator[Check]:
    """Check the programs behind the wrapped tools.

    tool: only this one
    """
    from operable.tool import Fail
    from operable.wrap import load, names

    for name in names() if tool is None else [tool]:
        try:
            wrapped, there = load(name), True
            for what, check in wrapped.checks.items():
                if not there and what != "lint":
                    continue  # a program that is not there has neither a version nor a sandbox
                found = check()
                found.fields["name"] = f"{name}.{what}"
                if tool is None and found.fields["severity"] == "error":
                    found.fields["severity"] = "warning"
                yield found
                there = there and (what != "binary" or found.fields["ok"])
        except Fail as fail:
            if tool is not None:
                raise
            broken = Check(ok=False, detail=fail.message, hint=fail.hint)
            broken.fields["name"] = name
            yield broken


COMMAND = doctor
