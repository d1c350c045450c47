"""`operable wrap verify`: run the tests of a wrapper, its examples, and take the mark of a draft off when all of them pass.

Every command needs an example (a `note` in its TOOL.md); one that changes things is run as a dry run. What comes out is held
to the wrapper's own schema. With `--dry-run` the wrapper keeps its mark.
"""

from __future__ import annotations

from operable.cli.app.events import FileWritten
from operable.tool import Change, Fail, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    mutates=True,
    runs_tools=True,
    timeout=600.0,
    examples=["wrap verify tally", "wrap verify tally --dry-run"],
)
def verify(tool: str) -> Iterator[Change]:
    """Run the examples of a wrapped tool.

    tool: the name of the tool
    """
    from operable.wrap import load
    from operable.wrap.author.verification import tried

    results = list(tried(load(tool)))
    failed = [each for each in results if not each.ok]
    if failed:
        raise Fail(
            "validation",
            "EXAMPLES_FAILED",
            f"{len(failed)} of {len(results)} tests of {tool} failed: "
            + "; ".join(f"{each.example or each.command}: {each.reason}" for each in failed[:5]),
            target=tool,
            failed=[each._asdict() for each in failed[:100]],
        )
    yield Change("verify", tool, tests=[each.example for each in results])


@verify.apply
def mark(changes: list[Change]) -> Iterator[FileWritten]:
    from operable.wrap import load
    from operable.wrap.author.verification import mark as take_mark_off

    for change in changes:
        tool = load(str(change.target))
        if tool.plan.unverified:
            yield FileWritten(path=take_mark_off(tool))


COMMAND = verify
