"""`operable wrap list`: the command-line tools that can be called in machine mode from here.

Those that come with the package, the user's own (`~/.config/operable/wrappers`), and those in the folders that
OPERABLE_WRAPPERS names; each with the characteristics that the linter found in all of its commands. A wrapper that cannot be
used is listed with its problem. No program is run.
"""

from __future__ import annotations

from operable.cli.wrap.events import Wrapper
from operable.tool import Context, Page, Warn, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    cursor="name",
    columns=("name", "summary", "lint", "origin"),
    examples=["wrap list", "wrap list --output jsonl"],
)
def list_(*, page: Page, context: Context) -> Iterator[Wrapper | Warn]:
    """List the tools that can be called with `operable wrap TOOL …`."""
    from operable.wrap.places import folder_of, names, origin
    from operable.wrap.tools import judged_or_problem, loaded_or_problem

    for name in names():
        if page.after is not None and name <= page.after:
            continue
        tool, problem = loaded_or_problem(name)
        path = folder_of(name)
        conformance, unreadable = judged_or_problem(path)
        problem = problem or unreadable
        yield Wrapper(
            name=name,
            version="" if tool is None else tool.version,
            summary="" if tool is None else tool.summary,
            commands=[] if tool is None else tool.names(),
            origin=origin(path),  # type: ignore[arg-type]  # one of the three
            path=path,
            verified=tool is not None and not tool.plan.unverified,
            lint=conformance.text(),
            passes=conformance.passes,
            fails=conformance.fails,
            untested=conformance.untested,
            problem=None if problem is None else problem.message,
        )
        if problem is not None and not context.machine:  # a table has no room for it
            yield Warn(problem.code, f"{name}: {problem.message}")


COMMAND = list_
