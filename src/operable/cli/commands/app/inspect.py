"""`operable app inspect`: what an agent reads before it uses an application, and whether it may run.

Gives the body of APP.md, the skills that it names, the words of `entry.command`, and the digest that an approval would be
for. With `--resource` it gives one other file of the package. Nothing is run.
"""

from __future__ import annotations

from operable.cli.app.events import AppDetails, AppResource
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    limit=None,
    examples=[
        "app inspect todo-app",
        "app inspect ./apps/todo-app --resource schemas/item.json --output jsonl",
    ],
)
def inspect(
    name: str, *, resource: list[str] | None = None, workspace: str = ".", context: Context
) -> Iterator[AppDetails | AppResource]:
    """Show an application: its text, its skills, what it runs, and whether it may.

    name: its slug, or the path of its folder
    resource FILE: give this file of the package instead
    workspace DIR: the project
    """
    from operable.cli.app.packages import details, in_words, one_file

    if not resource:
        found = details(name, workspace)
        context.show(in_words(found))
        if context.machine:
            yield found
    for path in resource or ():
        yield one_file(name, path, workspace)


COMMAND = inspect
