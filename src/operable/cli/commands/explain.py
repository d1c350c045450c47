"""`operable explain`: what a code, an exit status or a check means, and what to do.

Error codes, categories, exit statuses, verdicts and notes are explained with the texts of the reference, and checks of the
linter as by `aoi-lint explain`. A number that is both is explained as both.
"""

from __future__ import annotations

from operable.cli.explanations import CodeExplanation
from operable.cli.lint.events import Explanation
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    columns=("check", "name", "title", "level", "section"),
    examples=["explain EXTRA_MISSING", "explain 78", "explain 3 --output jsonl"],
)
def explain(*words: str, context: Context) -> Iterator[Explanation | CodeExplanation]:
    """Explain error codes, exit statuses and checks of the linter: what each means, and what to do about it.

    words: codes, exit statuses, categories, verdicts, or checks by number or name; all checks by default
    """
    from operable.cli.explanations import explanations, page, unknown
    from operable.cli.lint.session import explained
    from operable.lint.engine import checks

    if not words:
        yield from explained(context, ())
        return
    labels = {label for check in checks() for label in (check.label, check.name)}
    for word in words:
        found = explanations(word)
        if not found and word not in labels:
            raise unknown(word, sorted(labels))
        for each in found:
            if context.machine:
                yield each
            else:
                context.show(page(each))
        if word in labels:
            yield from explained(context, (word,))


COMMAND = explain
