"""A plan that names something else than what is done.

What it does
    Compares what `--dry-run` plans with what the same call does. A resource that the call names, or that is gone
    afterwards, and that the events of the call report, must be in the plan, if the plan names anything. A plan that
    names some of the resources names all of them, or says how many there are.

Why is this bad?
    A plan is what a person agrees to. One that shows another target gets a yes for what that person has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from operable.lint.check import Case, LintCheck, LintFinding, NotApplicable, RoomChange, Untested
from operable.lint.evidence import Observation, encode, excerpt
from operable.lint.example import ENTRY, error, meta, summary, transcript
from operable.lint.identity import identities, identity
from operable.lint.variants import dry_run

_TARGETS = ("target", "targets", "name", "from", "to", "source", "destination")


def _command(case: Case) -> Iterator[LintFinding]:
    command = case.target
    if not command.mutates:
        raise NotApplicable("it is read-only" if command.read_only else "it makes no change of its own")
    if not command.claims_flag("supports_dry_run"):
        raise NotApplicable("it has no --dry-run")
    plan = case.observe(dry_run(case))
    done, changes = case.effect(case.sample_invocation())
    case.seen.append(done)
    planned = plan.of("aoi:plan")
    if not (plan.succeeded and done.succeeded) or not planned or not done.domain:
        raise Untested("there is no plan and deed to compare; see checks 3, 6 and 8")
    named = {name for event in planned for name in _targets(event)}
    names = {name for event in done.domain if (name := identity(event)) is not None}
    known = {name for name in names if _was_there(name, done, changes)}
    text, reported = encode(planned), encode(done.domain)
    unplanned = sorted(name for name in known if name not in text)
    if not named or not unplanned:
        return
    if len(unplanned) == len(known) and not any(name in reported for name in named):
        message = f"the plan names `{min(named)}`, and `{unplanned[0]}` is what it is done to"
        yield case.fail(message, plan, excerpt=excerpt(encode(planned[0])))
    elif len(unplanned) < len(known) and not _counted(planned, len(names)):
        message = f"it is also done to `{unplanned[0]}`, which is not in the plan"
        yield case.fail(message, plan, excerpt=excerpt(encode(planned[0])))


def _targets(event: dict[str, Any]) -> Iterator[str]:
    """What a plan names: resources, and what it calls its target."""
    fields = {name: value for name, value in event.items() if name != "type"}
    yield from identities(fields).values()
    for name in _TARGETS:
        value = fields.get(name)
        yield from (item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str))


def _was_there(name: str, done: Observation, changes: tuple[RoomChange, ...]) -> bool:
    """Whether the name is not one that the call has only just given."""
    lost = any(
        change.where == "state" and change.what.startswith("lost ") and f'"{name}"' in change.what
        for change in changes
    )
    return name in done.invocation.words or lost


def _counted(planned: tuple[dict[str, Any], ...], number: int) -> bool:
    return any(value == number and value is not True for event in planned for value in event.values())


CHECK = LintCheck(
    name="plan-against-deed",
    number=None,
    title="what is planned is what is done",
    characteristics=("Safe",),
    level="MUST",
    section="14.2",
    passing=transcript(
        "delete n1 --dry-run",
        meta("delete"),
        {"type": "aoi:plan", "action": "delete", "target": "n1"},
        summary(True, count=1),
    )
    + "\n"
    + transcript(
        "delete n1 --confirm", meta("delete"), {"type": "deleted", "id": "n1"}, summary(True, count=1)
    )
    + "\n"
    + transcript("delete n1", meta("delete"), error("CONFIRMATION_REQUIRED"), summary(False), "# exit 64")
    + "\n"
    + transcript("list", meta("list"), ENTRY | {"id": "n2"}, summary(True, count=1)),
    failing=transcript(
        "delete n1 --dry-run",
        meta("delete"),
        {"type": "aoi:plan", "action": "delete", "target": "n2"},
        summary(True, count=1),
    )
    + "\n"
    + transcript(
        "delete n1 --confirm", meta("delete"), {"type": "deleted", "id": "n1"}, summary(True, count=1)
    ),
    hint="compute the plan once, print it with --dry-run, and carry out the same value",
    command=_command,
    page=__doc__,
)
