"""`operable explain`: what a check of the linter looks for, why, and how to fix what it finds; as `aoi-lint explain`."""

from __future__ import annotations

from operable.cli.lint.events import Explanation
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    columns=("check", "name", "title", "level", "section"),
    examples=["explain 3", "explain 3 --output jsonl"],
)
def explain(*checks: str, context: Context) -> Iterator[Explanation]:
    """Explain checks of the linter: what each looks for, why, and how to fix what it finds.

    checks: numbers of section 18.2 or names; all of them by default
    """
    from operable.cli.lint.session import explained

    return explained(context, checks)


COMMAND = explain
