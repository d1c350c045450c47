"""`operable app validate`: judge packages, every problem at once with file, line, rule and fix.

Gives one `app_problem` per complaint and one `app_verdict` per package. Exit status 65 when one does not conform, and also
for an APP.md of another format, or prose, which is said (`related`). Nothing is run.
"""

from __future__ import annotations

from operable.cli.app.events import AppProblem, AppVerdict
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    columns=("path", "line", "level", "rule", "message", "hint", "ok", "errors", "warnings"),
    examples=["app validate", "app validate apps/one apps/two --output jsonl"],
)
def validate(*paths: str, context: Context) -> Iterator[AppProblem | AppVerdict]:
    """Judge packages: every problem at once, with its file and its line.

    paths: folders, or their APP.md; the folder we are in by default
    """
    from operable.cli.app.packages import validated

    return validated(context, paths)


COMMAND = validate
