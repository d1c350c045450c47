"""Events that are not what their schema says.

What it does
    Validates every event of the sample call, of refused calls and of dry runs against the schema that the tool
    publishes, and framework events also against AOI's own. A schema that would take any of these events with all of its
    fields spoilt says nothing of them, and is reported. Types that the schema does not define, although it
    distinguishes types, are reported; so are types that the command does not announce in its capabilities (SHOULD).

Why is this bad?
    Consumers generate code and decide what to keep from the schema. An event that departs from it fails there, far from
    its cause.
"""

from __future__ import annotations

from collections.abc import Iterator

from operable.lint.check import Case, LintCheck, LintFinding
from operable.lint.evidence import Observation, encode, excerpt
from operable.lint.example import CREATED, meta, summary, transcript
from operable.lint.schemas import events, flaw, framework
from operable.lint.variants import demand_sample, some_stream
from operable.run.validator import Validator
from operable.wire.framework import FRAMEWORK
from operable.wire.reserved_names import event_types

# What no field of an event is meant to be.
_NOTHING = {"aoi-lint": [None]}


def _command(case: Case) -> Iterator[LintFinding]:
    own = events(case.plan.schema)
    defined = event_types(case.plan.schema) if case.plan.schema is not None else set()
    reported: set[tuple[str, str]] = set()
    streams = some_stream(case)
    sampled = case.target.settled(case.lab.observe)[0] is not None
    # A schema that leaves refusals to the framework may still say everything of the results.
    judged = own if sampled and not case.target.relays else None
    if judged is not None and not any(_governed(judged, seen) for _, seen in streams):
        yield case.fail(
            "the tool's schema says nothing of any event that it emits", streams[0][1], section="1.1"
        )
    for what, seen in streams:
        for event in seen.events:
            name = event["type"]
            flaws = []
            # Which categories there are is only advised (section 9); check 5 says so.
            if (
                name in FRAMEWORK
                and (found := flaw(framework(), event))
                and not found.startswith("/category")
            ):
                flaws.append(("aoi", f"`{name}` is not valid under AOI's own schema: {found}"))
            # What a relay passes on is described by the tool that it comes from.
            foreign = case.target.relays and name not in FRAMEWORK
            if own is not None and not foreign and not flaws and (found := flaw(own, event)) is not None:
                flaws.append(("own", f"`{name}` is not valid under the tool's schema: {found}"))
            if defined and name not in defined and not case.target.relays and not name.startswith("aoi:"):
                flaws.append(("undefined", f"the tool's schema does not define the event type `{name}`"))
            for kind, message in flaws:
                if (kind, name) not in reported:
                    reported.add((kind, name))
                    yield _problem(case, f"{what}: {message}", seen, event)
            if ("announced", name) not in reported and not flaws and _unannounced(case, name):
                reported.add(("announced", name))
                yield case.fail(
                    f"{what}: capabilities do not announce the event type `{name}` for this command",
                    seen,
                    level="SHOULD",
                    section="17",
                )
    demand_sample(case)


def _governed(own: Validator, seen: Observation) -> bool:
    """Whether the schema would refuse at least one of these events, had it other fields."""
    return not seen.events or any(
        flaw(own, {name: value if name == "type" else _NOTHING for name, value in event.items()}) is not None
        or flaw(own, {"type": event["type"]}) is not None
        for event in seen.events
    )


def _unannounced(case: Case, name: str) -> bool:
    announced = case.target.event_types
    return (
        bool(announced) and name not in announced and not name.startswith("aoi:") and not case.target.relays
    )


def _problem(case: Case, message: str, seen: Observation, event: dict[str, object]) -> LintFinding:
    line = next((line.number for line in seen.lines if line.event == event), None)
    return case.fail(message, seen, excerpt=excerpt(encode(event)), line=line)


CHECK = LintCheck(
    name="event-against-schema",
    number=4,
    title="events are what their schema says",
    characteristics=("Typed", "Verifiable"),
    level="MUST",
    section="1.1",
    passing=transcript("create a", meta("create"), CREATED, summary(True, count=1)),
    failing=transcript("create a", meta("create"), CREATED, summary(True, count="1")),
    hint="generate schema and events from the same declarations, and validate the events in the tool's own tests",
    command=_command,
    page=__doc__,
)
