"""`operable diff`: what a new release of a tool means for those who call the old one (AOI section 5.1).

Compares event schema, capabilities and input schemas, and gives one `difference` event per reason, worst first, then
one `comparison` event with the level of the whole: compatible, minor or breaking. Exit status 65 when the level is
`--fail-on` or worse, else 0: for continuous integration, against a snapshot of the last release that is kept in the
repository.
"""

from __future__ import annotations

from operable.cli.call.events import ComparisonEvent, DifferenceEvent
from operable.tool import Context, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal


@command(
    limit=None,
    columns=("level", "code", "where", "message", "breaking", "minor", "old_version", "new_version"),
    examples=[
        "diff ./outline-1.8 outline",
        "diff contract.json ./build/outline --fail-on minor --output jsonl",
        "diff released/ ./build/outline",
    ],
)
def diff(
    old: str, new: str, *, fail_on: Literal["minor", "breaking"] = "breaking", context: Context
) -> Iterator[DifferenceEvent | ComparisonEvent]:
    """Compare two releases of a tool: compatible, minor or breaking.

    old: a program; or a JSON file (an event schema, a capability manifest, or a contract); or a directory of such files
    new: the same
    fail_on: the least level that makes it fail
    """
    from operable.run import compare
    from operable.run.contract import contract_at

    found = compare(contract_at(old), contract_at(new))
    exit_code = found.exit_code(fail_on)
    levels = [finding.level for finding in found.findings]
    result = ComparisonEvent(
        level=found.level,
        ok=not exit_code,
        breaking=levels.count("breaking"),
        minor=levels.count("minor"),
        old=old,
        new=new,
        old_version=found.old_version,
        new_version=found.new_version,
    )
    # Before the first event: a limit may end the list, but not change the judgement.
    context.conclude(
        exit_code=exit_code, message=f"{found.level}: {result.breaking} breaking, {result.minor} minor"
    )
    if exit_code:
        context.conclude(reason=f"{found.level}_change")
    for finding in found.findings:
        yield DifferenceEvent(
            level=finding.level, code=finding.code, where=finding.where, message=finding.message
        )
    yield result


COMMAND = diff
