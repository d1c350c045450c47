"""`operable app list`: the application packages that can be found from here.

Looks through the project (`.apps/`, `apps/` and the root of each folder up to the one with `.git`) and the user's own
folder. Frontmatter is read: no body, no skill. What is below `app/` is read only of a package with an approval, to say
whether it has changed since. Packages that mean to be ones and are wrong are listed with their problem; other files called
APP.md are left out.
"""

from __future__ import annotations

from operable.cli.app.events import AppEvent
from operable.tool import Context, Page, Warn, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    cursor=("slug", "path"),
    columns=("slug", "version", "source", "trust", "commands", "description"),
    examples=["app list", "app list --source user --output jsonl"],
)
def list_(
    *,
    workspace: str = ".",
    source: Literal["project", "user", "explicit"] | None = None,
    page: Page,
    context: Context,
) -> Iterator[AppEvent | Warn]:
    """List the application packages that can be found from here.

    workspace DIR: the project whose own applications are listed, too
    source: only those of this place
    """
    from operable.cli.app.packages import listed, places

    found = False
    for each in listed(workspace):
        behind = page.after is None or [each.slug, each.path] > list(page.after)
        if behind and source in (None, each.source):
            found = True
            yield each
            if context.machine:
                continue
            if each.problem is not None:  # a table has no room for it
                yield Warn("APP_INVALID", f"{each.slug}: {each.problem}")
            elif each.trust == "changed":
                yield Warn("APP_CHANGED", f"{each.slug} may not run: {each.standing}")
    if not found and page.after is None:
        context.conclude(message=f"looked in {', '.join(places(workspace))}")


COMMAND = list_
