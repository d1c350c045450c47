"""`operable wrap show`: the commands of a wrapped tool: what they change, what they run, what its exit statuses mean, which
variables the program gets, and which characteristics the linter found in each.
"""

from __future__ import annotations

from operable.cli.wrap.events import WrappedCommandInfo
from operable.tool import command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@command(
    columns=("name", "summary", "read_only", "rights", "lint"),
    examples=["wrap show git", "wrap show git --output jsonl"],
)
def show(tool: str) -> Iterator[WrappedCommandInfo]:
    """Show what a wrapped tool can do.

    tool: the name of the tool
    """
    from operable.tool.discovery.capabilities import is_read_only
    from operable.tool.discovery.help_text import summary
    from operable.wrap import load
    from operable.wrap.assurance import assurance, rights, stays_open
    from operable.wrap.doctor import Conformance, verdicts

    wrapped = load(tool)
    judged = verdicts(wrapped.plan.folder)
    for name, plan in wrapped.plan.commands.items():
        found = wrapped.find(name)
        if found is None:
            continue
        conformance = Conformance([judged.get(name, {})])
        assured = assurance(wrapped.plan, plan)
        yield WrappedCommandInfo(
            name=name,
            summary=summary(found),
            read_only=is_read_only({"read_only": not found.mutates, **assured}),
            destructive=found.destructive,
            supports_cursor=bool(found.cursor),
            supports_dry_run=found.mutates,
            timeout=found.timeout,
            source="program" if plan.argv else "system",
            argv=[wrapped.plan.bin, *wrapped.plan.bin_args, *plan.argv] if plan.argv else [],
            sandbox=assured["limits"],
            enforced_by=assured["enforced_by"],
            stays_open=stays_open(plan.sandbox) if plan.argv else [],
            needs=assured["needs"],
            project_code=assured.get("project_code", ""),
            dry_run=assured.get("dry_run"),
            rights=rights(assured),
            event_types=[schema["properties"]["type"]["const"] for schema in plan.events],
            env=wrapped.plan.env_pass if plan.argv else [],
            exits={str(code): meaning for code, meaning in plan.exits.items()},
            lint=conformance.text(),
            passes=conformance.passes,
            fails=conformance.fails,
            untested=conformance.untested,
        )


COMMAND = show
